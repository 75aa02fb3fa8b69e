"""The roles of columns, and the quasi-identifiers with their types and values.

Whatever the plan leaves open is inferred, and reported. A plan that names unknown columns is refused, with similar
names as a hint.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import OptionError, Problems, equal_ones_counted_once, near_names
from shoal.plan import Plan
from shoal.tables import columns as _columns
from shoal.tables.calendar import OF_TIMES
from shoal.tables.given_hierarchies import hierarchy_of
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.labels import said_of
from shoal.tables.markers import can_hold, without_markers
from shoal.tables.notation import Notation
from shoal.tables.occurring import few_whole
from shoal.tables.outward import Step, checked_step, in_words
from shoal.tables.representatives import REPRESENTATIVES
from shoal.tables.values import Codes, Numbers, Values

# Roles of columns that are not published.
UNPUBLISHED = ("identifier", "unit", "dropped")
# What `rest` of a plan makes of columns without a role.
REST = {"qi": "quasi-identifier", "other": "other", "drop": "dropped"}
# Fields of a plan that describe the values of a column, whatever its role.
OF_VALUES = ("types", "levels", "hierarchies", "formats", "missing_values")
LATER = ("digits", "outward", "formats", "cells")  # fields of a plan on how values are published
# What groups publish under the two recodings, by kind.
RECODED = {
    "continuous": "interval",
    "integer": "interval",
    "date": "interval",
    "datetime": "interval",
    "ordinal": "interval",
    "nominal": "set",
    "boolean": "set",
    "hierarchical": "ancestor",
    "place": "mean",
}


@dataclass(frozen=True)
class Column:
    """A column of the table, and its role."""

    name: str
    role: str
    inferred: bool = False  # whether the role is inferred


@dataclass(frozen=True)
class Attribute:
    """A quasi-identifier: a column, or the pair of columns of a place."""

    columns: tuple[str, ...]
    kind: str
    representative: str
    importance: float = 1.0
    hierarchy: Hierarchy | None = field(default=None, repr=False)
    inferred: bool = False  # whether the kind is inferred
    note: str = ""
    outward: Step | None = None  # of which the ends of intervals are multiples
    by_values: bool = False  # whether the values decided between mean and median

    @property
    def name(self) -> str:
        """Return the names of its columns."""
        return ", ".join(self.columns)

    @property
    def published(self) -> str:
        """Return what groups publish, in words."""
        return self.representative if self.outward is None else in_words(self.outward, self.kind)

    @property
    def told(self) -> str:
        """Return the same for everyone: what the values decided would tell something of them."""
        return "mean or median" if self.by_values else self.published


@dataclass(frozen=True)
class Read:
    """An attribute with its values, and how its columns write them.

    `original` are the values before top coding, bottom coding and rounding; None if that changed nothing.
    """

    attribute: Attribute
    values: Values
    writings: tuple[Notation, ...]
    original: Numbers | None = None


def roles(names: list[str], plan: Plan) -> tuple[Column, ...]:
    """Return the columns in their order, with their roles.

    Columns without a role get that of the plan's `rest`. Without it they are quasi-identifiers if the plan names none;
    otherwise they are passed on, if k holds for them too (:mod:`shoal.release.omission`).
    """
    problems = Problems()
    described = list(_described(plan))
    for name, option in (*_named(plan), *described, *((name, coding_field(plan, name)) for name in plan.coded)):
        with problems.collected():
            _known(name, names, option)
    problems.refuse()
    declared = {
        **dict.fromkeys((*plan.sensitive_attributes, *plan.models), "sensitive"),
        **dict.fromkeys(plan.other, "other"),
        **dict.fromkeys(plan.identifiers, "identifier"),
        **dict.fromkeys(plan.drop, "dropped"),
        **dict.fromkeys(plan.stratum, "stratum"),
        **dict.fromkeys(plan.quasi_identifiers or (), "quasi-identifier"),
    }
    if plan.weight is not None:
        declared[plan.weight] = "weight"
    if plan.unit is not None:
        declared[plan.unit] = "unit"
    for pair in plan.places:
        for name in pair:
            declared[name] = "quasi-identifier"
    by_default = "qi" if plan.quasi_identifiers is None else "other"
    rest = REST[plan.rest or by_default]
    for name, option in described:
        # To describe how a column is grouped is to declare its role.
        role = declared.setdefault(name, rest)
        read_too = plan.has_demands and role == "sensitive" and option in OF_VALUES
        with problems.collected():
            if role != "quasi-identifier" and not read_too:
                raise OptionError(
                    f"The {option!r} of a plan must be about quasi-identifiers. Got {name!r}, whose role is {role!r}.",
                    hint="leave it out, or add the column to quasi_identifiers.",
                )
    problems.refuse()
    columns = tuple(Column(name, declared.get(name, rest), name not in declared) for name in names)
    if not any(column.role == "quasi-identifier" for column in columns):
        raise OptionError(
            "A release must have at least one quasi-identifier. Got none.",
            hint="name them with quasi_identifiers (--qi on the command line).",
        )
    return columns


def _named(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the columns that the plan gives a role, each with the option that does."""
    for option in ("quasi_identifiers", "sensitive_attributes", "identifiers", "other", "drop", "stratum", "models"):
        for name in getattr(plan, option) or ():
            yield name, option
    for option in ("weight", "unit"):
        if getattr(plan, option) is not None:
            yield getattr(plan, option), option
    for pair in plan.places:
        for name in pair:
            yield name, "places"


def _described(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the columns that the plan describes, each with the option that does."""
    for option in ("types", "levels", "hierarchies", "importance", "representatives", *LATER):
        for name in getattr(plan, option):
            if option != "representatives" or name not in REPRESENTATIVES:
                yield name, option
    for name in plan.missing_values if isinstance(plan.missing_values, dict) else ():
        yield name, "missing_values"


def coding_field(plan: Plan, name: str) -> str:
    """Return the field of the plan that changes the values of a column."""
    return next(field for field in ("rounding", "top_coding", "bottom_coding") if name in getattr(plan, field))


def _known(name: str, names: list[str], option: str) -> None:
    if name not in names:
        only = "the table has 1 column: is its delimiter another one?"
        close = near_names(name, names, only if len(names) == 1 else f"the table has {len(names)} columns.")
        raise OptionError(f"The {option!r} of a plan must name columns of the table. Got {name!r}.", hint=close)


def read(table: Any, columns: tuple[Column, ...], plan: Plan, *, text: bool = False, decimal: str = ".") -> list[Read]:
    """Return the quasi-identifiers of a table with their values, in the order of the columns.

    Parameters
    ----------
    table : pyarrow.Table
    columns : tuple of Column
        The columns with their roles.
    plan : Plan
    text : bool
        Whether types are inferred from text.
    decimal : str
        The decimal mark in text.

    Raises
    ------
    DataError, OptionError
        If columns cannot be read as the plan says, or in several ways; the problems of all columns at once.
    """
    second = {pair[1] for pair in plan.places}
    first = {pair[0]: pair for pair in plan.places}
    reads = []
    problems = Problems()
    for column in columns:
        if column.role != "quasi-identifier" or column.name in second:
            continue
        with problems.collected():
            if column.name in first:
                reads.append(_place(table, first[column.name], plan, text, decimal))
            else:
                reads.append(attribute(table, column.name, plan, text=text, decimal=decimal))
    problems.refuse()
    return reads


def markers(plan: Plan, name: str) -> tuple[Any, ...]:
    """Return the values that mean 'missing' in a column."""
    declared = plan.missing_values
    return declared.get(name, ()) if isinstance(declared, dict) else declared


def attribute(
    table: Any,
    name: str,
    plan: Plan,
    *,
    text: bool = False,
    decimal: str = ".",
    sensitive: bool = False,
    counts: Array | None = None,
) -> Read:
    """Return a column with its values, of the kind that the plan declares or that is inferred.

    Markers of missing values are about quasi-identifiers. A `sensitive` column publishes them as values, so they count
    as values. In a column of text that holds numbers or dates otherwise, a marker that is neither is missing.
    If the table holds different rows of a larger one, `counts` int64[n] says how often each occurs there.
    """
    import pyarrow as pa

    column = without_markers(table.column(name), markers(plan, name), decimal)
    if sensitive:
        column = _with_markers(table.column(name), column, plan, name, text, decimal, counts)
    kind, note = _kind_of(column, table.schema, name, plan, text, decimal, counts)
    # Patterns are of dates in text and digits: dates and moments of Arrow are written as they always are.
    pattern = "" if pa.types.is_temporal(column.type) else plan.formats.get(name, "")
    declared = kind == plan.types.get(name) or any(name in d for d in (plan.hierarchies, plan.levels))
    declared = declared or bool(plan.formats.get(name))
    with nullcontext() if counts is None else equal_ones_counted_once():
        values, writing = _columns.decode(
            column,
            kind,
            text=text,
            decimal=decimal,
            digits=plan.digits.get(name),
            pattern=pattern,
            levels=plan.levels.get(name, ()),
            name=name,
            thousands=plan.thousands,
        )
    default = None
    by_values = not declared and kind in ("integer", "continuous") and _is_open(kind, plan, name)
    if by_values and isinstance(values, Numbers):
        kind, default, why = _of_few(values, kind, counts)
        note = why + note.removeprefix("whole numbers, with gaps") if why else note
    if name in plan.digits and kind != "continuous":
        raise OptionError(
            f"The 'digits' of a plan must be about continuous attributes. Got {name!r}, which is {kind}.",
            hint=f"pass types={{{name!r}: 'continuous'}} if it is to have decimals." if kind == "integer" else None,
        )
    if isinstance(values, Codes) and kind != "ordinal" and _different(values) > plan.coordinates:
        note = "; ".join(filter(None, [note, f"many values, compared in {plan.coordinates} random directions"]))
    hierarchy = None
    if kind == "hierarchical" and isinstance(values, Codes):
        with nullcontext() if counts is None else equal_ones_counted_once():
            hierarchy = hierarchy_of(plan, name, values, rows=counts is None)
    how, step = _representative(plan, name, kind, default), plan.outward.get(name)
    step = None if step is None else checked_step(step, kind, how, name)
    importance = plan.importance.get(name, 1.0)
    described = Attribute((name,), kind, how, importance, hierarchy, not declared, note, step, by_values)
    return Read(described, values, (writing,))


def _different(values: Codes) -> int:
    """Return how many different codes there are; that of missing values is one of them."""
    return int(np.count_nonzero(np.bincount(values.codes + 1)))


def _kind_of(
    column: Any, schema: Any, name: str, plan: Plan, text: bool, decimal: str, counts: Array | None
) -> tuple[str, str]:
    """Return the kind of a column, declared or inferred, and a note that explains a kind which may surprise."""
    kind: str | None = plan.types.get(name)
    note, pattern = "", plan.formats.get(name, "")
    if kind == "place":
        raise OptionError(
            f"A place is a pair of columns. Got the type 'place' for {name!r} alone.",
            hint="name the pair: places=[('latitude', 'longitude')] (--place latitude,longitude).",
        )
    if "%Z" in pattern:
        raise OptionError(
            f"The format of dates must have offsets such as +0100 for time zones. Got %Z for {name!r}.",
            hint="names of time zones do not tell which one is meant: write offsets, and %z.",
        )
    if kind is None and name in plan.hierarchies:
        kind = "hierarchical"
    elif kind is None and name in plan.levels:
        kind = "ordinal"
    elif kind is None and pattern:
        kind = "datetime" if any(part in pattern for part in OF_TIMES) else "date"
    elif kind is None:
        said = said_of(column, schema, name)
        kind, note = said.kind, said.note
        if kind is None:
            how: dict[str, Any] = {"text": text, "decimal": decimal, "thousands": plan.thousands}
            kind, why = _columns.infer(column, name=name, counts=counts, **how)
            note = "; ".join(filter(None, [why, note]))
    if "%y" in pattern:
        note = "years of two digits are read as 1969 to 2068"
    for option, wanted in (("levels", "ordinal"), ("hierarchies", "hierarchical")):
        if name in getattr(plan, option) and kind != wanted:
            raise OptionError(f"The {option!r} of a plan are of {wanted} columns. Got them for {name!r}, a {kind} one.")
    return kind, note


def _is_open(kind: str, plan: Plan, name: str) -> bool:
    """Return whether the plan leaves open what groups of numbers publish."""
    said = any(key in plan.representatives for key in (name, kind)) or name in plan.digits
    return not said and plan.release == "microaggregation"


def _of_few(values: Numbers, kind: str, counts: Array | None = None) -> tuple[str, str | None, str]:
    """Return the kind of numbers, what groups publish (None: as usual), and a note on why."""
    few = few_whole(values.values, counts)
    if not few:
        return kind, None, ""
    words = f"{few} different whole numbers: published as they occur (median); 'continuous' averages them"
    return "integer", "median", f"{words}, 'nominal' takes them for codes"


def _with_markers(
    column: Any, without: Any, plan: Plan, name: str, text: bool, decimal: str, counts: Array | None
) -> Any:
    """Return a sensitive column in which only those markers are missing that are no values of its type."""
    if column.null_count == without.null_count:
        return column
    kind: str | None = plan.types.get(name)
    if kind is None:
        how: dict[str, Any] = {"text": text, "decimal": decimal, "thousands": plan.thousands}
        kind = _columns.infer(without, name=name, counts=counts, **how)[0]
    pattern = plan.formats.get(name, "")
    foreign = [one for one in markers(plan, name) if not can_hold(column, one, kind, decimal, pattern)]
    kept = without_markers(column, foreign, decimal)
    if isinstance(plan.missing_values, dict) and kept.null_count < without.null_count:
        raise OptionError(
            f"The 'missing_values' of a plan must be about quasi-identifiers. Got values of {name!r}, which is "
            "sensitive: it publishes them, so that they count as values.",
            hint="leave them out, or make them missing in the table itself.",
        )
    return kept


def _place(table: Any, pair: tuple[str, str], plan: Plan, text: bool, decimal: str) -> Read:
    halves, writings = [], []
    for name in pair:
        column = without_markers(table.column(name), markers(plan, name), decimal)
        writing = Notation(column.type, text, decimal, plan.digits.get(name))
        values, writing = _columns.decode_numbers(column, writing, "continuous", name, plan.thousands)
        halves.append(values.values)
        writings.append(writing)
    name = pair[0]
    for half in set(pair) & set(plan.outward):
        checked_step(plan.outward[half], "place", _representative(plan, name, "place"), half)
    attribute = Attribute(pair, "place", _representative(plan, name, "place"), plan.importance.get(name, 1.0))
    return Read(attribute, _columns.decode_place(halves[0], halves[1], pair), tuple(writings))


def _representative(plan: Plan, name: str, kind: str, default: str | None = None) -> str:
    if plan.release == "full-domain":
        return "level"
    if default is None:
        default = REPRESENTATIVES[kind][0] if plan.release == "microaggregation" else RECODED[kind]
    how = plan.representatives.get(name, plan.representatives.get(kind, default))
    if how not in REPRESENTATIVES[kind]:
        raise OptionError(
            f"What a group publishes of the {kind} column {name!r} must be one of {', '.join(REPRESENTATIVES[kind])}. "
            f"Got {how!r}.",
            hint=near_names(how, REPRESENTATIVES[kind], f"the default is {default!r}."),
        )
    return how
