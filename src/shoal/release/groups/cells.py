"""Strongly-safe releases: every record publishes the cell that it lies in, and cells do not depend on the data.

Where a cell begins and ends is said by the plan alone. What is published of a record is therefore a function of its own
values; all that others can change is whether it is published at all, as records of cells with fewer than k of them are
removed (Li, Qardaji, Su 2012; Thaeter 2021, definition 3.16).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from typing import Any, NamedTuple, cast

import numpy as np

from shoal.errors import DataError, OptionError
from shoal.partitioning.pool import numbered
from shoal.plan import Plan
from shoal.privacy.classes import classes_of
from shoal.release.groups.blocks import Block
from shoal.release.groups.strata import units_of
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.ladders import ladder
from shoal.tables.representatives import SUPPRESSED
from shoal.tables.schema import Attribute, Read
from shoal.tables.texts import MICROSECONDS_A_DAY
from shoal.tables.values import Chosen, Codes, Computed, Numbers, Rows, Texts

Array = np.ndarray[Any, Any]

FORM = "strongly-safe"
METHOD, WHY = "fixed cells", "they do not depend on the data"
# What a plan may not say beside this form, and why.
_NO_METHOD = "records are put together by their cells, without any method"
_OWN_TEXT = "each record publishes its cell"
_NO_MENDING = "cells do not depend on the data, so that they cannot be changed until it holds"
NO_PLACE = {
    **dict.fromkeys(("method", "options", "refine", "time_limit", "random_state", "bound"), _NO_METHOD),
    **dict.fromkeys(("representatives", "digits", "trim"), _OWN_TEXT),
    "blocks": "a cell is one of all quasi-identifiers together",
    "small_strata": "a stratum is part of the cell, and small cells are removed",
    **dict.fromkeys(("l", "t", "models", "enforcement", "population", "k_map", "presence"), _NO_MENDING),
}
_DEFAULTS: dict[str, int | str] = {"hierarchical": 1, "nominal": "value", "ordinal": "value", "boolean": "value"}
_WHAT = {
    "hierarchical": "a number of levels, 'value' or '*'",
    **dict.fromkeys(("continuous", "integer"), "a width, 'value' or '*'"),
    **dict.fromkeys(("date", "datetime"), "a whole number of days, 'month', 'year', 'value' or '*'"),
    **dict.fromkeys(("nominal", "ordinal", "boolean"), "'value' or '*'"),
}
# Nearer to a border than this, in widths, a number is placed in exact arithmetic.
_NEAR = 1e-9


class Cell(NamedTuple):
    """The cell of every record in one attribute."""

    codes: Array  # int64[n], -1 where the value is missing
    texts: tuple[str, ...] | None  # of the codes; None: the values themselves are published


class Cells(NamedTuple):
    """The cells of the records that are published.

    Attributes
    ----------
    attributes : {name: Cell}
    labels : int64[n]
        Records of one cell in all attributes and of one stratum have one number.
    rows : int64[n] or None
        Where these records stood among all of them; None if none was removed.
    everybody : the quasi-identifiers with the values of all records
    """

    attributes: dict[str, Cell]
    labels: Array
    rows: Array | None
    everybody: list[Read]

    @property
    def removed(self) -> int:
        """Return the number of records of cells with fewer than k records (units)."""
        return len(self.everybody[0].values.missing) - len(self.labels)

    def block(self, attributes: Sequence[Attribute]) -> Block:
        """Return the cells as the groups of the only block."""
        columns = tuple(name for attribute in attributes for name in attribute.columns)
        return Block(tuple(attribute.name for attribute in attributes), columns, self.labels, METHOD, WHY)

    def chosen(self, read: Read, first: Array) -> Chosen:
        """Return what each group publishes, by the first row of each."""
        cell = self.attributes[read.attribute.name]
        codes = cell.codes[first]
        if cell.texts is not None:
            return Texts(tuple(None if code < 0 else cell.texts[code] for code in codes.tolist()))
        if isinstance(read.values, Numbers):
            return Computed(read.values.values[first] + 0.0)
        return Rows(np.where(codes < 0, -1, first))


def checked(plan: Plan) -> Plan:
    """Return the plan, or refuse what cannot be said beside its form; there is no bound on the loss of fixed cells."""
    if plan.release != FORM:
        if plan.cells:
            raise OptionError(
                f"The 'cells' of a plan must belong to a strongly-safe release. Got them for {plan.release!r}.",
                hint=f"say release={FORM!r}, or leave them out.",
            )
        return plan
    for field, why in NO_PLACE.items():
        allowed = (Plan.model_fields[field].default, *(["none"] if field == "bound" else []))
        if getattr(plan, field) not in allowed:
            raise OptionError(f"The {field!r} of a plan has no place in a strongly-safe release: {why}.")
    return plan.model_copy(update={"bound": "none"})


def cells_of(table: Any, reads: list[Read], plan: Plan) -> Cells:
    """Return the cells that are published.

    Parameters
    ----------
    table : pyarrow.Table
    reads : the quasi-identifiers with their values
    plan : Plan
        A checked one.
    """
    how = {read.attribute.name: _how(read, plan) for read in reads}
    found = {read.attribute.name: _cell(read, how[read.attribute.name], plan) for read in reads}
    described = [
        replace(read, attribute=replace(read.attribute, representative=_in_words(read, how[read.attribute.name])))
        for read in reads
    ]
    labels = classes_of(table, plan.stratum)
    for cell in found.values():
        labels = np.unique(labels * (int(cell.codes.max()) + 2) + cell.codes + 1, return_inverse=True)[1]
    units = None if plan.unit is None else units_of(table.column(plan.unit), plan)
    sizes = np.bincount(labels if units is None else np.unique(np.column_stack([labels, units]), axis=0)[:, 0])
    large = sizes >= plan.k
    if not large.any():
        raise DataError(
            f"Some cells must have {plan.k} {'records' if units is None else 'units'} to be published. Got "
            f"{len(sizes)} cells, all with fewer.",
            hint="make cells wider, take levels further up, leave quasi-identifiers out, or ask for a smaller k.",
        )
    if large.all():
        return Cells(found, numbered(labels), None, described)
    rows = np.flatnonzero(large[labels])
    kept = {name: Cell(cell.codes[rows], cell.texts) for name, cell in found.items()}
    return Cells(kept, numbered(labels[rows]), rows, described)


def said_of(removed: int, k: int) -> str:
    """Return a number of removed records; a small one would tell that few people are unlike all others."""
    return f"{removed:,}" if removed >= k else f"fewer than {k}"


# --- what the plan says of an attribute ---


def _how(read: Read, plan: Plan) -> int | float | str:
    """Return the cell that the plan says, or the default of the kind."""
    attribute = read.attribute
    name, kind = attribute.name, attribute.kind
    if kind == "place":
        raise OptionError(
            f"Places have no cells in a strongly-safe release. Got {name}.",
            hint="leave 'places' out and cut both columns as numbers, such as 0.1 degrees wide.",
        )
    how = plan.cells.get(name, _DEFAULTS.get(kind))
    if how is None:
        example = "month" if kind in ("date", "datetime") else 10
        raise OptionError(
            f"The cells of the {kind} column {name!r} must be said, as they must not depend on the data. Got none.",
            hint=f"say cells={{{name!r}: {example!r}}} (--cell {name}={example}): {_WHAT[kind]}.",
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
    """Return what is published of an attribute, for the schema and the manifest."""
    if isinstance(how, str):
        return "suppression" if how == SUPPRESSED else how
    if read.attribute.kind == "hierarchical":
        return f"level {how:g}"
    return f"cell of {how}" + (" days" if read.attribute.kind in ("date", "datetime") else "")


# --- from values to cells ---


def _cell(read: Read, how: int | float | str, plan: Plan) -> Cell:
    import pyarrow as pa

    values, kind, writing = read.values, read.attribute.kind, read.writings[0]
    if how == SUPPRESSED:
        # Also where values are missing: that nothing is said says nothing.
        return Cell(np.zeros(len(values.missing), np.int64), (SUPPRESSED,))
    if isinstance(values, Numbers):
        name = _namer(kind, how, writing.decimal)
        kinds, codes = np.unique(values.values + 0.0, return_inverse=True)  # NaN is the last one
        present = kinds[: len(kinds) - int(values.missing.any())]
        if how == "value" and not writing.text:
            return Cell(np.where(values.missing, -1, codes), None)
        return _named(name(present), np.where(values.missing, -1, codes))
    values = cast(Codes, values)
    if how == "value":
        # The type of a column of categories would name those of removed records too.
        return Cell(values.codes, values.levels if pa.types.is_dictionary(writing.type) else None)
    return _named(_generalised(read, int(how), plan), values.codes)


def _named(names: Sequence[str], codes: Array) -> Cell:
    """Return cells by their texts: equal texts are one cell."""
    texts = list(dict.fromkeys(names))
    place = {text: at for at, text in enumerate(texts)}
    at = np.array([place[name] for name in names] + [-1], np.int64)
    return Cell(at[codes], tuple(texts))


def _namer(kind: str, how: int | float | str, mark: str) -> Callable[[Array], list[str]]:
    """Return what names the cells of numbers."""
    if kind in ("date", "datetime"):
        return lambda numbers: _periods(numbers, kind, how)
    if isinstance(how, str):
        return lambda numbers: [_plain(x).replace(".", mark) for x in numbers.tolist()]
    return lambda numbers: _intervals(numbers, how)


def _plain(x: float) -> str:
    """Return a number as it is written whatever the others of its column are."""
    return format(Decimal(repr(x)).normalize() + 0, "f")


def _intervals(numbers: Array, width: float) -> list[str]:
    """Return the names [i w, (i + 1) w) of the cells of numbers: 0.3 is not in [0.2, 0.3)."""
    name = ladder([width], None, 0)[0]
    steps = numbers / width
    # Doubles are exact for whole numbers; others that are near a border are decided as they are written.
    exact = (numbers == np.rint(numbers)) & (float(width).is_integer()) & (np.abs(numbers) < 2.0**53)
    near = ~exact & ~(np.abs(steps - np.rint(steps)) > _NEAR * np.maximum(1.0, np.abs(steps)))
    low = np.floor(np.where(near, 0.0, steps)).astype(np.int64)
    with localcontext(prec=800):
        unit = Decimal(str(width))
        names = {i: name(i * unit) for i in np.unique(low).tolist()}
        pairs = zip(numbers.tolist(), low.tolist(), near.tolist(), strict=True)
        return [name(Decimal(repr(x))) if close else names[i] for x, i, close in pairs]


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
    """Return what each level of a column generalises to."""
    levels, hierarchy = cast(Codes, read.values).levels, cast(Hierarchy, read.attribute.hierarchy)
    lengths = _prefixes(plan.hierarchies.get(read.attribute.name))
    if lengths is not None:
        return [_prefix(level, up, lengths) for level in levels]
    nodes = hierarchy.nodes_of(levels)
    for _ in range(min(up, len(hierarchy))):
        nodes = np.maximum(hierarchy.parents[nodes], 0)
    return [hierarchy.labels[node] for node in nodes.tolist()]


def _prefixes(said: Any) -> list[int] | None:
    """Return the lengths of prefixes that a plan says, none for all; None if it says another hierarchy."""
    if isinstance(said, dict) and set(said) == {"prefixes"}:
        lengths = said["prefixes"]
    elif isinstance(said, str) and said.partition(":")[0] == "prefixes":
        lengths = [text for text in said.partition(":")[2].split(",") if text]
    else:
        return None
    return sorted((int(length) for length in lengths), reverse=True)


def _prefix(code: str, up: int, lengths: list[int]) -> str:
    """Return a code with its end masked; a tree of prefixes would mask it to the length of the longest of all."""
    keep = len(code) - up if not lengths else lengths[up - 1] if up <= len(lengths) else 0
    return code[:keep] + SUPPRESSED * (len(code) - keep) if keep > 0 else SUPPRESSED
