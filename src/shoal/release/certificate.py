"""The certificate: what was promised of a release and what was counted on it, for everyone.

It is published beside the release, so it tells nothing of the originals that the release does not: no values but
published ones, no columns but published ones, no paths, no counts of what was left out. Figures that depend on the
originals are rounded or left out (:mod:`shoal.release.measures.told`). All else is in the record
(:mod:`shoal.release.record`), which is not published.
"""

from __future__ import annotations

import platform
import re
from functools import cache
from importlib import metadata
from math import isfinite
from os import PathLike
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

import shoal
from shoal.errors import DataError
from shoal.plan import Form, Kind, Marker, Plan
from shoal.tables.coding import in_words
from shoal.tables.schema import UNPUBLISHED

if TYPE_CHECKING:
    from shoal.release.release import Release

FORMAT = 3
PACKAGES = ("numpy", "numba", "scipy", "scikit-learn", "highspy", "narwhals", "pyarrow", "pydantic")
# A longer file is no certificate; one of a column with a million values is shorter.
LONGEST = 2**28

Names = tuple[str, ...]
Count = Annotated[int, Field(ge=0, le=2**53)]
Share = Annotated[float, Field(ge=0, le=1)]


class _Part(BaseModel):
    """A part of a certificate: all of it is checked when it is read, and nothing else may be in it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class OutputPart(_Part):
    """The released file: its name without folders, its SHA-256 and its rows; a database has no SHA-256."""

    name: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None
    rows: Count


class ColumnPart(_Part):
    """A published column; `type` and `published` are those of quasi-identifiers."""

    name: str
    role: str
    type: str | None = None
    published: str


class PromisedK(_Part):
    """The k that was wanted, and what holds: for all quasi-identifiers together, in rows and in units.

    `held_for_all` is that of all published columns together, in rows, and `unique` the number of rows that equal no
    other in all of them. `blocks` are columns within which k is promised. `strata` belong to each of them.
    """

    wanted: Annotated[int, Field(ge=1, le=2**53)]
    held: Count
    held_in_units: Count | None
    held_for_all: Count
    unique: Count
    blocks: Annotated[tuple[Annotated[Names, Field(min_length=1)], ...], Field(min_length=1)]
    strata: Names


class TreePart(_Part):
    """A hierarchy of published values; its other nodes have no names."""

    labels: list[str]
    parents: list[int]


class ReadingPart(_Part):
    """How a sensitive column is read: in terms of published values only."""

    type: Kind | None = None
    format: str | None = None
    thousands: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    levels: tuple[Marker, ...] | None = None
    hierarchy: TreePart | None = None
    missing_values: tuple[Marker, ...] = ()


class ModelPart(_Part):
    """A privacy model, and what holds in the worst group; `attribute` is None if it counts in a population."""

    attribute: str | None
    model: str
    held: float | None


class FiguresPart(_Part):
    """What was lost, rounded; None where it is not told. C_DM and C_AVG are those of the published table."""

    loss: Share | None
    by_attribute: dict[str, Share | None]
    lower_bound: Share | None
    gap: Annotated[float, Field(ge=0)] | None
    certainty_penalty: Share | None
    total_information_loss: Share | None
    discernability: int
    average_group_size: float


class EarlierPart(_Part):
    """The earlier release that this one adds rows to, and what holds for those who have both.

    `kept` and `new` are the smallest numbers of rows of a group that the earlier release has and has not, of groups
    that have any. `newcomers` is how many new ones were wanted. `changed` rows of the earlier release have other
    quasi-identifiers than before; if there are any, its rows come first, in the same order. `parts` is whether the
    models hold among either as well, and `invariance` the m of the rule for sensitive values.
    """

    name: str | None
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None
    rows: Count
    newcomers: Annotated[int, Field(ge=1, le=2**53)]
    kept: Count
    new: Count
    changed: Count
    parts: bool
    invariance: Annotated[int, Field(ge=2, le=2**53)] | None


class Certificate(_Part):
    """The certificate of a release."""

    format: Annotated[int, Field(ge=FORMAT, le=FORMAT)]
    created: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    versions: dict[str, str]
    output: OutputPart | None
    form: Form
    rows: Count
    k: PromisedK
    groups: Count
    group_sizes: dict[str, Count]
    columns: tuple[ColumnPart, ...]
    models: tuple[ModelPart, ...]
    readings: dict[str, ReadingPart]
    methods: tuple[str, ...]
    missing: str
    shuffled: bool
    withheld: Names
    figures: FiguresPart
    warnings: tuple[str, ...]
    earlier: EarlierPart | None = None

    @property
    def quasi_identifiers(self) -> list[str]:
        """Return the columns that others may know, including strata."""
        return [*(name for block in self.k.blocks for name in block), *self.k.strata]

    @model_validator(mode="after")
    def _agrees(self) -> Certificate:
        """Refuse promises on columns that are not those of the release."""
        published = {column.name for column in self.columns}
        demanded = {one.attribute for one in self.models if one.attribute is not None}
        if len(published) < len(self.columns) or not published.issuperset(self.quasi_identifiers):
            raise ValueError("columns")
        if len(set(self.quasi_identifiers)) < len(self.quasi_identifiers):
            raise ValueError("blocks")
        if not (published - set(self.quasi_identifiers)).issuperset(demanded | set(self.readings)):
            raise ValueError("sensitive columns")
        return self


def versions() -> dict[str, str]:
    """Return the versions of Shoal, Python and the packages that affect a release."""
    return {"shoal": shoal.__version__, "python": platform.python_version(), **_installed()}


@cache
def _installed() -> dict[str, str]:
    return {package: _version(package) for package in PACKAGES}


def _version(package: str) -> str:
    """Return the version of a package; its metadata begin with it, and are long to be read as the message they are."""
    text = metadata.distribution(package).read_text("METADATA") or ""
    stated = re.search(r"^Version:[ \t]*(\S+)[ \t]*$", text.partition("\n\n")[0], re.MULTILINE)
    return stated[1] if stated else metadata.version(package)


def certificate_of(release: Release) -> dict[str, Any]:
    """Return the certificate as plain values for JSON."""
    from shoal.release.measures.told import told_of

    certificate = Certificate(
        **promised(release, tuple(tuple(block.columns) for block in release.blocks)),
        methods=tuple(dict.fromkeys(block.method for block in release.blocks)),
        figures=FiguresPart(**_figures(told_of(release)._asdict())),
    )
    # Only an update has an earlier release to tell of.
    return certificate.model_dump(mode="json", exclude={"earlier"})


def promised(release: Release, blocks: tuple[Names, ...]) -> dict[str, Any]:
    """Return the fields that the certificates of a release and of an update have in common.

    Parameters
    ----------
    release : Release or Update
    blocks : tuple of names
        Columns within which k holds.
    """
    from shoal.release.grounds import readings_of

    audit, plan, whole = release.audit, release.plan, release.whole
    written = release.written
    return {
        "format": FORMAT,
        "created": release.created[:10],
        "versions": versions(),
        "output": None
        if written is None
        else OutputPart(name=base_name(written.name), sha256=written.sha256, rows=audit.rows),
        "form": plan.release,
        "rows": audit.rows,
        "k": PromisedK(
            wanted=plan.k,
            held=audit.k,
            held_in_units=audit.k_units,
            held_for_all=whole.k,
            unique=whole.unique,
            blocks=blocks,
            strata=plan.stratum,
        ),
        "groups": audit.classes,
        "group_sizes": {str(size): count for size, count in audit.sizes.items()},
        "columns": columns_of(release),
        "models": tuple(
            ModelPart(
                attribute=finding.attribute,
                model=str(finding.model),
                # How many people of a population match is not on the published table.
                held=finding.held if finding.attribute is not None and isfinite(finding.held) else None,
            )
            for finding in audit.models
        ),
        "readings": told_readings(readings_of(release)),
        "missing": plan.missing,
        "shuffled": plan.shuffle,
        "withheld": withheld(plan),
        "warnings": release.warnings,
    }


# Fields of a plan that may be told. The others hold values of the data, names of columns that are not published, places
# of files and machines, or what does not matter to others; they are told in the record only.
PUBLIC = (
    *("k", "quasi_identifiers", "sensitive_attributes", "other", "weight", "stratum", "places", "blocks"),
    *("l", "t", "models", "enforcement", "k_map", "presence", "release", "cells", "representatives", "trim", "digits"),
    *(
        "types",
        "formats",
        "thousands",
        "importance",
        "coordinates",
        "missing",
        "small_strata",
        "method",
        "refine",
        "time_limit",
    ),
    *("bound", "shuffle", "outward", "rest", "suppress", "top_coding", "bottom_coding", "rounding"),
    "engine",
)


def public_plan(plan: Plan) -> dict[str, Any]:
    """Return the fields of a plan that may be told, as plain values."""
    return {field: value for field, value in plan.job().items() if field in PUBLIC}


def withheld(plan: Plan) -> Names:
    """Return the fields of a plan that were given and are told in the record only."""
    return tuple(field for field in plan.job() if field not in PUBLIC)


def unchanged(plan: Plan, name: str) -> str:
    """Return what a column that is no quasi-identifier publishes: its values, unless the plan changes them."""
    return in_words(plan, name) or "unchanged"


def columns_of(release: Release) -> tuple[ColumnPart, ...]:
    """Return the published columns, with what may be told of them."""
    plan = release.plan
    owner = {name: one for one in release.attributes for name in one.columns}
    return tuple(
        ColumnPart(
            name=column.name,
            role=column.role,
            type=owner[column.name].kind if column.name in owner else None,
            published=owner[column.name].told if column.name in owner else unchanged(plan, column.name),
        )
        for column in release.columns
        if column.role not in UNPUBLISHED
    )


def told_readings(readings: dict[str, dict[str, Any]]) -> dict[str, ReadingPart]:
    """Return how sensitive columns are read, as parts of a certificate."""
    return {name: ReadingPart(**_strictly(fields)) for name, fields in readings.items() if fields}


def _strictly(fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields with tuples for lists, except those of a tree."""
    plain: dict[str, Any] = {name: tuple(x) if isinstance(x, list) else x for name, x in fields.items()}
    return plain | ({"hierarchy": TreePart(**plain["hierarchy"])} if "hierarchy" in plain else {})


def _figures(told: dict[str, Any]) -> dict[str, Any]:
    return {**told, "by_attribute": dict(told["by_attribute"])}


def base_name(name: str) -> str:
    """Return the last part of a path or an address."""
    return PurePath(name.rstrip("/").rpartition("/")[2]).name


def read_certificate(path: str | PathLike[str]) -> Certificate:
    """Return the certificate in a file; whatever else is in the file is refused."""
    name = Path(path).name
    try:
        with open(path, "rb") as file:
            content = file.read(LONGEST + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise DataError(f"The certificate {name} cannot be read: {reason}.") from None
    try:
        if len(content) > LONGEST:
            raise ValueError("length")
        return Certificate.model_validate_json(content)
    except (ValidationError, ValueError, RecursionError) as error:
        raise DataError(f"{name} is not the certificate of a release{_where(error)}.", hint=_HINT) from None


_HINT = "--certificate writes one; a certificate that was changed, or of another version of Shoal, cannot be used."


def _where(error: Exception) -> str:
    """Return where the first mistake is, in words of the format; what stands there is not quoted."""
    if not isinstance(error, ValidationError):
        return ""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = str(first["loc"][0]) if first["loc"] else ""
    if first["type"] == "json_invalid":
        return ": it is not JSON"
    return f": its {field!r} is not as it must be" if field in Certificate.model_fields else ""
