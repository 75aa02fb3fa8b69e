"""The documents of a differentially private table: certificate and report for everyone, record for its holder.

Nothing exact of the original leaves: no loss, no number of its records, no sizes, no counts of what was missing or
beyond bounds, no picture of its columns. Every figure of certificate and report is of the release, of the plan, or paid
for in the ledger.
"""

from __future__ import annotations

import platform
from functools import cache
from importlib import metadata
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

import shoal
from shoal.dp.budget import shown
from shoal.errors import DataError

if TYPE_CHECKING:
    from shoal.release.private.table import PrivateTable

KIND = "differential privacy"
FORMAT = 1
PACKAGES = ("numpy", "opendp", "pyarrow")
LONGEST = 2**28


class _Part(BaseModel):
    """A part of a certificate: all of it is checked when it is read, and nothing else may be in it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class OutputPart(_Part):
    """The released file: its name without folders, its SHA-256 and its rows."""

    name: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None
    rows: Annotated[int, Field(ge=0)]


# A share of a budget, as `shown` writes it.
Share = Annotated[str, Field(pattern=r"^\d{1,400}(\.\d{1,400})?(e[+-]?\d{1,3})?$")]


class EntryPart(_Part):
    """A line of the ledger."""

    what: str
    epsilon: Share
    delta: Share
    composed: Literal["sequential", "parallel"]


class SpentPart(_Part):
    """What was spent in all."""

    epsilon: Share
    delta: Share


class PrivateCertificate(_Part):
    """The certificate of a differentially private table."""

    kind: Literal["differential privacy"]
    format: Annotated[int, Field(ge=FORMAT, le=FORMAT)]
    created: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    versions: dict[str, str]
    output: OutputPart | None
    release: str
    options: dict[str, float | str]
    rows: Annotated[int, Field(ge=0)]
    columns: list[str]
    epsilon: Share
    delta: Share
    neighbours: str
    spent: SpentPart
    ledger: list[EntryPart]
    domain: dict[str, Any]
    said: list[str]


def versions() -> dict[str, str]:
    """Return the versions of Shoal, Python and the packages that affect a private release."""
    return {"shoal": shoal.__version__, "python": platform.python_version(), **_installed()}


@cache
def _installed() -> dict[str, str]:
    return {package: metadata.version(package) for package in PACKAGES}


def certificate_of(table: PrivateTable) -> dict[str, Any]:
    """Return the certificate as plain values for JSON."""
    from shoal.release.certificate import base_name
    from shoal.tables import frames

    written, plain = table.written, table.ledger.to_plain()
    certificate = PrivateCertificate(
        kind="differential privacy",
        format=FORMAT,
        created=table.created[:10],
        versions=versions(),
        output=None
        if written is None
        else OutputPart(name=base_name(written.name), sha256=written.sha256, rows=table.rows),
        release=table.release.name,
        options=table.release.checked(table.plan.options),
        rows=table.rows,
        columns=frames.names_of(table.frame, "save"),
        epsilon=plain["epsilon"],
        delta=plain["delta"],
        neighbours=plain["neighbours"],
        spent=SpentPart(**plain["spent"]),
        ledger=[EntryPart(**entry) for entry in plain["entries"]],
        domain=table.domain.to_plain(),
        said=list(table.said),
    )
    return certificate.model_dump(mode="json")


def read_private(path: str | PathLike[str]) -> PrivateCertificate | None:
    """Return the certificate of a private table; None if a file holds something else, such as another certificate."""
    import json

    try:
        with open(path, "rb") as file:
            content = file.read(LONGEST)
        plain = json.loads(content)
    except (OSError, ValueError, RecursionError):
        return None  # whoever reads another certificate says what is wrong
    if not isinstance(plain, dict) or plain.get("kind") != KIND:
        return None
    try:
        return PrivateCertificate.model_validate_json(content)
    except ValidationError:
        raise DataError(
            "The certificate of a differentially private release must be as it was written. Got another.",
            hint="a certificate that was changed, or of another version of Shoal, cannot be used.",
        ) from None


def record_of(table: PrivateTable) -> dict[str, Any]:
    """Return the record as plain values for JSON: exact figures, which are not to be published."""
    source = table.source
    read = None if source is None else {"name": str(source.name), "sha256": source.sha256, "rows": table.rows_in}
    return {
        **certificate_of(table),
        "created": table.created,
        "private": "This record holds exact figures of the original. Do not publish it.",
        "input": read,
        "job": table.plan.job(),
        "rows": {"in": table.rows_in, "left_out": table.rows_left_out, "published": table.rows},
        "seconds": {step: round(seconds, 3) for step, seconds in table.timings.items()},
    }


def report_of(table: PrivateTable) -> str:
    """Return the report as one HTML page."""
    from shoal.release.report.render import environment

    plain, budget = table.ledger.to_plain(), table.ledger.budget
    written = table.written
    page: str = (
        environment()
        .get_template("private.html")
        .render(
            t=table,
            c=certificate_of(table),
            version=shoal.__version__,
            epsilon=shown(budget.epsilon),
            delta=shown(budget.delta) if budget.delta else "",
            ledger=plain,
            sure=f"{100 * table.certainty:.3g}",
            words=meaning(table),
            domain=[(name, one.kind, _in_words(one)) for name, one in table.domain.columns.items()],
            output=None if written is None else certificate_of(table)["output"],
        )
    )
    return page


def meaning(table: PrivateTable) -> tuple[str, ...]:
    """Return what epsilon means here, in sentences."""
    budget, neighbours = table.ledger.budget, table.ledger.neighbours
    who = "one record" if neighbours.unit is None else "all rows of one unit"
    factor = f"{2.718281828459045 ** min(float(budget.epsilon), 50):.3g}"
    delta = f", except with a probability of {shown(budget.delta)}" if budget.delta else ""
    return (
        f"The table was made with noise, so that it could have come out as it did, and about as likely, if {who} had "
        f"not been in the original, or another had been added: no result is more than {factor} times as likely with "
        f"{who} as without{delta}. This factor is exp(epsilon).",
        f"Somebody who holds it for as likely as not that a person is in the original, and who knows everything else "
        f"about it, can be right with a probability of {100 * table.certainty:.3g} % at most after seeing the release. "
        "At 50 %, the release would tell nothing.",
        "This holds whatever others know, and whatever they will learn. It also holds together with other releases of "
        "the same people, but then the epsilons of all of them add up.",
    )


def _in_words(one: Any) -> str:
    plain = one.plain
    if "lower" in plain:
        return f"{plain['lower']} to {plain['upper']}, {one.size:,} values"
    return f"{one.size:,} declared values"
