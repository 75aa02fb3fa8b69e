"""Strongly-safe releases: every record publishes the cell that contains it, and cells do not depend on the data.

The plan alone defines the cells. What a record publishes is therefore a function of its own values. Other records only
affect whether it is published at all, because records of cells with fewer than k records are removed (Li, Qardaji, Su
2012; Thaeter 2021, definition 3.16).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from typing import Any, NamedTuple, cast

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError
from shoal.partitioning.pool import numbered
from shoal.plan import Plan
from shoal.privacy.classes import classes_of
from shoal.release.groups.blocks import Block
from shoal.tables.calendar import MICROSECONDS_A_DAY
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.ladders import ladder, plain, steps_below
from shoal.tables.representatives import SUPPRESSED
from shoal.tables.schema import Attribute, Read
from shoal.tables.values import Chosen, Codes, Computed, Numbers, Rows, Texts

FORM = "strongly-safe"
METHOD, WHY = "fixed cells", "they do not depend on the data"
# Fields of a plan that this form does not allow, and why.
_NO_METHOD = "records are grouped by their cells, without a method"
_OWN_CELL = "each record publishes its cell"
_NO_CHANGE = "cells do not depend on the data, so they cannot be adapted to demands"
NO_PLACE = {
    **dict.fromkeys(("method", "options", "refine", "time_limit", "random_state", "bound"), _NO_METHOD),
    **dict.fromkeys(("representatives", "digits", "outward", "trim"), _OWN_CELL),
    "blocks": "cells are those of all quasi-identifiers together",
    "suppress": "the records of small cells are removed, however many there are",
    "small_strata": "a stratum is part of the cell, and small cells are removed",
    **dict.fromkeys(("l", "t", "models", "enforcement", "population", "k_map", "presence"), _NO_CHANGE),
}
_DEFAULTS: dict[str, int | str] = {"hierarchical": 1, "nominal": "value", "ordinal": "value", "boolean": "value"}
_WHAT = {
    "hierarchical": "a number of levels, 'value' or '*'",
    **dict.fromkeys(("continuous", "integer"), "a width, 'value' or '*'"),
    **dict.fromkeys(("date", "datetime"), "a whole number of days, 'month', 'year', 'value' or '*'"),
    **dict.fromkeys(("nominal", "ordinal", "boolean"), "'value' or '*'"),
}


class Cell(NamedTuple):
    """The cell of every record in one attribute."""

    codes: Array  # int64[n], -1 where the value is missing
    texts: tuple[str, ...] | None  # of the codes; None if the values themselves are published


class Cells(NamedTuple):
    """The cells of the records that are published.

    Attributes
    ----------
    attributes : {name: Cell}
    labels : int64[n]
        Records have the same label if they share their cells in all attributes and their stratum.
    rows : int64[n] or None
        The positions of these records among all records; None if none was removed.
    everybody : the quasi-identifiers with the values of all records
    method, why : how the cells came about
    """

    attributes: dict[str, Cell]
    labels: Array
    rows: Array | None
    everybody: list[Read]
    method: str = METHOD
    why: str = WHY

    @property
    def removed(self) -> int:
        """Return the number of records that are not published, because their cells have too few records or units."""
        return len(self.everybody[0].values.missing) - len(self.labels)

    def block(self, attributes: Sequence[Attribute]) -> Block:
        """Return the only block, with the cells as its groups."""
        columns = tuple(name for attribute in attributes for name in attribute.columns)
        names = tuple(attribute.name for attribute in attributes)
        return Block(names, columns, self.labels, self.method, self.why)

    def chosen(self, read: Read, first: Array) -> Chosen:
        """Return what each group publishes, given the first row of each group."""
        cell = self.attributes[read.attribute.name]
        codes = cell.codes[first]
        if cell.texts is not None:
            return Texts(tuple(None if code < 0 else cell.texts[code] for code in codes.tolist()))
        if isinstance(read.values, Numbers):
            return Computed(read.values.values[first] + 0.0)
        return Rows(np.where(codes < 0, -1, first))


def cells_of(table: Any, reads: list[Read], plan: Plan, units: Array | None = None) -> Cells:
    """Return the cells that are published.

    Parameters
    ----------
    table : pyarrow.Table
    reads : the quasi-identifiers with their values
    plan : Plan
        A checked plan.
    units : int64[n] or None
        What k counts, if not rows.
    """
    how = {read.attribute.name: _how(read, plan) for read in reads}
    cells = {read.attribute.name: _cell(read, how[read.attribute.name], plan) for read in reads}
    described = [
        replace(read, attribute=replace(read.attribute, representative=_in_words(read, how[read.attribute.name])))
        for read in reads
    ]
    labels = classes_of(table, plan.stratum)
    for cell in cells.values():
        labels = np.unique(labels * (int(cell.codes.max()) + 2) + cell.codes + 1, return_inverse=True)[1]
    sizes = np.bincount(labels if units is None else np.unique(np.column_stack([labels, units]), axis=0)[:, 0])
    large = sizes >= plan.k
    if not large.any():
        raise DataError(
            f"At least one cell must have {plan.k} {'records' if units is None else 'units'}. Got {len(sizes)} cells, "
            "all with fewer.",
            hint="use wider cells, higher levels, fewer quasi-identifiers or a smaller k.",
        )
    if large.all():
        return Cells(cells, numbered(labels), None, described)
    rows = np.flatnonzero(large[labels])
    kept = {name: Cell(cell.codes[rows], cell.texts) for name, cell in cells.items()}
    return Cells(kept, numbered(labels[rows]), rows, described)


# --- the cells of an attribute in the plan ---


def _how(read: Read, plan: Plan) -> int | float | str:
    """Return the cell of an attribute in the plan, or the default of its kind."""
    attribute = read.attribute
    name, kind = attribute.name, attribute.kind
    if kind == "place":
        raise OptionError(
            f"Places have no cells in a strongly-safe release. Got {name}.",
            hint="leave 'places' out and treat both columns as numbers, with cells 0.1 degrees wide, for example.",
        )
    how = plan.cells.get(name, _DEFAULTS.get(kind))
    if how is None:
        example = "month" if kind in ("date", "datetime") else 10
        raise OptionError(
            f"The cells of the {kind} column {name!r} must be given, as they must not depend on the data. Got none.",
            hint=f"pass cells={{{name!r}: {example!r}}} (--cell {name}={example}): {_WHAT[kind]}.",
        )
    whole = isinstance(how, int) or (isinstance(how, float) and how.is_integer())
    fits = {
        "hierarchical": whole,
        **dict.fromkeys(("continuous", "integer"), not isinstance(how, str)),
        **dict.fromkeys(("date", "datetime"), whole or how in ("month", "year")),
    }
    if how in ("value", SUPPRESSED) or fits.get(kind, False):
        return how
    raise OptionError(f"The cells of the {kind} column {name!r} must be {_WHAT[kind]}. Got {how!r}.")


def _in_words(read: Read, how: int | float | str) -> str:
    """Return what an attribute publishes, for the schema and the certificate."""
    if isinstance(how, str):
        return "suppression" if how == SUPPRESSED else how
    if read.attribute.kind == "hierarchical":
        return f"level {how:g}"
    return f"cell of {how}" + (" days" if read.attribute.kind in ("date", "datetime") else "")


# --- from values to cells ---


def value_cell(read: Read) -> Cell:
    """Return the cells of records that publish their values."""
    return _cell(read, "value", None)


def _cell(read: Read, how: int | float | str, plan: Plan | None) -> Cell:
    import pyarrow as pa

    values, kind, writing = read.values, read.attribute.kind, read.writings[0]
    if how == SUPPRESSED:
        # Missing values too, so that nobody can tell that they are missing.
        return Cell(np.zeros(len(values.missing), np.int64), (SUPPRESSED,))
    if isinstance(values, Numbers):
        name = _namer(kind, how, writing.decimal)
        kinds, codes = np.unique(values.values + 0.0, return_inverse=True)  # NaN is the last one
        present = kinds[: len(kinds) - int(values.missing.any())]
        if how == "value" and not writing.text:
            return Cell(np.where(values.missing, -1, codes), None)
        return named_cells(name(present), np.where(values.missing, -1, codes))
    values = cast(Codes, values)
    if how == "value":
        # The type of a categorical column would also contain the categories of removed records.
        return Cell(values.codes, values.levels if pa.types.is_dictionary(writing.type) else None)
    return named_cells(_generalised(read, int(how), cast(Plan, plan)), values.codes)


def named_cells(names: Sequence[str], codes: Array) -> Cell:
    """Return the cells with these names; equal names are the same cell."""
    texts = list(dict.fromkeys(names))
    place = {text: at for at, text in enumerate(texts)}
    at = np.array([place[name] for name in names] + [-1], np.int64)
    return Cell(at[codes], tuple(texts))


def _namer(kind: str, how: int | float | str, mark: str) -> Callable[[Array], list[str]]:
    """Return the function that names the cells of numbers."""
    if kind in ("date", "datetime"):
        return lambda numbers: _periods(numbers, kind, how)
    if isinstance(how, str):
        # The text of a number must not depend on the rest of its column.
        return lambda numbers: [plain(Decimal(repr(x))).replace(".", mark) for x in numbers.tolist()]
    return lambda numbers: _intervals(numbers, how)


def _intervals(numbers: Array, width: float) -> list[str]:
    """Return the names [i w, (i + 1) w) of the cells of numbers: 0.3 is not in [0.2, 0.3)."""
    name, steps = ladder([width], None, 0)[0], steps_below(numbers, width)
    with localcontext(prec=800):
        unit = Decimal(str(width))
        names = {i: name(i * unit) for i in set(steps)}
    return [names[i] for i in steps]


def _periods(numbers: Array, kind: str, how: int | float | str) -> list[str]:
    """Return the names of the cells of days, or of microseconds, since 1970-01-01."""
    if how == "value":
        moments = numbers.astype(np.int64).astype("datetime64[D]" if kind == "date" else "datetime64[us]")
        return [moment.isoformat() for moment in moments.tolist()]
    days = np.floor(numbers / (1 if kind == "date" else MICROSECONDS_A_DAY)).astype(np.int64)
    if isinstance(how, str):
        unit = {"month": "M", "year": "Y"}[how]
        return [str(text) for text in np.datetime_as_string(days.astype("datetime64[D]").astype(f"datetime64[{unit}]"))]
    low = days // int(how) * int(how)
    first, end = (np.datetime_as_string(day.astype("datetime64[D]")) for day in (low, low + int(how)))
    return [f"[{a}, {b})" for a, b in zip(first.tolist(), end.tolist(), strict=True)]


def _generalised(read: Read, up: int, plan: Plan) -> list[str]:
    """Return the generalisation of each level of a column."""
    levels, hierarchy = cast(Codes, read.values).levels, cast(Hierarchy, read.attribute.hierarchy)
    lengths = _prefixes(plan.hierarchies.get(read.attribute.name))
    if lengths is not None:
        return [_prefix(level, up, lengths) for level in levels]
    nodes = hierarchy.nodes_of(levels)
    for _ in range(min(up, len(hierarchy))):
        nodes = np.maximum(hierarchy.parents[nodes], 0)
    return [hierarchy.labels[node] for node in nodes.tolist()]


def _prefixes(hierarchy: Any) -> list[int] | None:
    """Return the lengths of prefixes, an empty list for all lengths; None for another kind of hierarchy."""
    if isinstance(hierarchy, dict) and set(hierarchy) == {"prefixes"}:
        lengths = hierarchy["prefixes"]
    elif isinstance(hierarchy, str) and hierarchy.partition(":")[0] == "prefixes":
        lengths = [text for text in hierarchy.partition(":")[2].split(",") if text]
    else:
        return None
    return sorted((int(length) for length in lengths), reverse=True)


def _prefix(code: str, up: int, lengths: list[int]) -> str:
    """Return a code with its end masked, at its own length; a tree of prefixes would pad it to the longest code."""
    keep = len(code) - up if not lengths else lengths[up - 1] if up <= len(lengths) else 0
    return code[:keep] + SUPPRESSED * (len(code) - keep) if keep > 0 else SUPPRESSED
