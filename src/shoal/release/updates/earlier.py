"""The earlier release of an update: its table as published, and what its record says of how it was made."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, DisclosureError, OptionError
from shoal.io import Source
from shoal.plan import Plan
from shoal.privacy.closeness import NTCloseness, TCloseness
from shoal.privacy.demands import models_of
from shoal.privacy.frequencies import BetaLikeness, DeltaDisclosure, EnhancedBetaLikeness
from shoal.privacy.intersection import refuse_several_types
from shoal.release.groups import full_domain
from shoal.release.job import record_beside
from shoal.tables.apart import apart_in
from shoal.tables.frames import names_of, to_arrow
from shoal.tables.schema import UNPUBLISHED, Column

if TYPE_CHECKING:
    from shoal.release.release import Release
    from shoal.release.updates.update import Update

LONGEST = 2**28  # bytes of a record
# Types that are inferred anew: whole numbers may join numbers with decimals, and the reverse.
NUMERIC = ("integer", "continuous")
# Those that are not declared: an order without levels is that of the categories of a data frame.
INFERRED = (*NUMERIC, "ordinal")
# Models that compare the values of a group with those of the whole table.
OF_THE_TABLE = (TCloseness, DeltaDisclosure, BetaLikeness, EnhancedBetaLikeness)


@dataclass(frozen=True)
class Earlier:
    """An earlier release.

    Attributes
    ----------
    frame : data frame
        The table as published.
    plan : Plan
    columns : columns with their roles, of the table that it was made from
    kinds : {name: kind}
        Types of the quasi-identifiers, but those of places.
    text, decimal : bool, str
        Whether the table contains text, and the decimal mark of numbers in it.
    k_units : int or None
        The k that holds in units.
    warnings : tuple of str
    source : Source or None
        The file, if it was read from one.
    name, sha256 : str or None
        Of the file.
    """

    frame: Any
    plan: Plan
    columns: tuple[Column, ...]
    kinds: dict[str, str]
    text: bool = False
    decimal: str = "."
    k_units: int | None = None
    warnings: tuple[str, ...] = ()
    source: Source | None = None
    name: str | None = None
    sha256: str | None = None
    table: Any = field(init=False, repr=False)  # pyarrow.Table

    def __post_init__(self) -> None:
        _check_plan(self.plan)
        apart = apart_in(self.frame, names_of(self.frame, "update")) if self.source is None else self.source.apart
        refuse_several_types(apart)
        object.__setattr__(self, "table", to_arrow(self.frame, "update"))

    @property
    def published(self) -> list[str]:
        """Return the names of the published columns."""
        return list(self.table.column_names)


def earlier_of(release: Release | Update) -> Earlier:
    """Return a release of this session as an earlier one."""
    written = release.written
    return Earlier(
        frame=release.table,
        plan=release.plan,
        columns=release.columns,
        kinds={one.columns[0]: one.kind for one in release.attributes if len(one.columns) == 1},
        text=release.text,
        decimal="." if release.source is None else release.source.decimal,
        k_units=release.audit.k_units,
        warnings=release.warnings,
        name=None if written is None else str(written.name),
        sha256=None if written is None else written.sha256,
    )


def read_earlier(source: Source, record: str | PathLike[str] | None = None) -> Earlier:
    """Return an earlier release that was read from a file, with what its record says.

    Parameters
    ----------
    source : Source
    record : path or None
        None: beside the file, as ``FILE.record.json``.

    Raises
    ------
    DisclosureError
        If the record belongs to another file.
    """
    path = record if record is not None else _beside(source)
    plain = _record(path)
    try:
        output, rows = plain["output"], plain["rows"]["published"]
        columns = tuple(Column(one["name"], one["role"], one["role_inferred"]) for one in plain["columns"])
        kinds = {one["columns"][0]: one["type"] for one in plain["attributes"] if len(one["columns"]) == 1}
        units, words, job = plain["k"]["held_in_units"], tuple(plain["warnings"]), dict(plain["job"])
    except (KeyError, TypeError, ValueError):
        raise _no_record(path) from None
    promised = None if output is None else output.get("sha256")
    published = [column.name for column in columns if column.role not in UNPUBLISHED]
    foreign = promised and source.sha256 and promised != source.sha256
    if foreign or rows != source.table.num_rows or published != source.table.column_names:
        raise DisclosureError(
            f"The record must be that of {source.name}. Got the record of another file.",
            hint="update the file as it was released, with its own record.",
        )
    return Earlier(
        frame=source.table,
        plan=Plan.of_job(job),
        columns=columns,
        kinds=kinds,
        text=source.text,
        decimal=source.decimal,
        k_units=units,
        warnings=words,
        source=source,
        name=str(source.name),
        sha256=source.sha256,
    )


def _beside(source: Source) -> str:
    path = record_beside(source.name)
    if path is None or not Path(path).is_file():
        raise DataError(
            f"The record of {source.name} must be given: it says how the release was made. Got none beside it.",
            hint="name it with earlier_record (--earlier-record). Without it, a release cannot be updated.",
        )
    return path


def _record(path: str | PathLike[str]) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            content = file.read(LONGEST)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise DataError(f"The record {Path(path).name} cannot be read: {reason}.") from None
    try:
        plain = json.loads(content)
    except (ValueError, RecursionError):
        raise _no_record(path) from None
    if not isinstance(plain, dict):
        raise _no_record(path)
    if "ledger" in plain:
        raise _refused("dp", "each update of a private release spends a budget of its own")
    return plain


def _no_record(path: str | PathLike[str]) -> DataError:
    return DataError(
        f"{Path(path).name} is not the record of a release.",
        hint="it is written beside the release, as OUT.record.json; the certificate does not have the plan.",
    )


def _check_plan(plan: Plan) -> None:
    """Refuse plans whose releases cannot be updated, naming the field."""
    if plan.dp is not None:
        raise _refused("dp", "each update of a private release spends a budget of its own")
    if plan.population is not None:
        field = "presence" if plan.presence is not None else "k_map"
        raise _refused(field, "the population in which matches were counted has changed as well")
    if plan.release == full_domain.FORM:
        raise _refused("release", "a full-domain release has one level for all records, which new ones may not fit")
    if plan.release == "global-recoding":
        raise _refused("release", "equal records, old and new, would be published in several ways")
    for name in plan.demanded_of:
        if any(isinstance(model, NTCloseness) for model in models_of(plan, name)):
            raise _refused("models", "(n, t)-closeness compares groups with their surroundings, which have changed")


def _refused(field: str, why: str) -> OptionError:
    return OptionError(f"A release with {field!r} in its plan cannot be updated: {why}.", hint="publish it anew.")


def plan_for(earlier: Earlier, names: list[str], types: dict[str, str] | None = None) -> Plan:
    """Return the plan for new records: that of the earlier release, with the roles and types that it settled.

    Parameters
    ----------
    earlier : Earlier
    names : names of the columns of the new records
    types : {name: kind} or None
        Further types.

    Raises
    ------
    DataError
        If a published column is missing, or one is there that the earlier table did not have.
    """
    plan = earlier.plan
    known = {column.name: column for column in earlier.columns}
    needed = [*earlier.published, *([] if plan.unit is None else [plan.unit])]
    for name in needed:
        if name not in names:
            raise DataError(f"The new records must have the columns of the earlier release. Got none called {name!r}.")
    for name in names:
        if name not in known:
            raise DataError(
                f"The new records must have the columns of the earlier release. Got {name!r} as well.",
                hint="leave it out.",
            )
    settled = {
        name: kind
        for name, kind in earlier.kinds.items()
        if kind not in INFERRED
        and name not in plan.hierarchies
        and name not in plan.levels
        and name not in plan.formats
    }
    # Updates are made in memory, wherever the earlier release was made.
    fields = plan.model_dump(exclude_unset=True, exclude={"engine", "memory", "master"})
    fields["types"] = {**settled, **(types or {}), **plan.types}
    if plan.quasi_identifiers is None:
        fields["quasi_identifiers"] = [c.name for c in earlier.columns if c.role == "quasi-identifier"]
    for role in ("identifiers", "drop"):
        fields[role] = [name for name in getattr(plan, role) if name in names]
    return Plan.of(**fields)
