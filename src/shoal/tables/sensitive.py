"""Sensitive attributes for privacy models: a code for every record, and the distances between values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError, near_names
from shoal.tables import columns as _columns
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.markers import without_markers
from shoal.tables.spelling import read_as_one
from shoal.tables.values import Codes, Numbers, Values

GROUNDS = ("auto", "equal", "ordered", "numeric")
KINDS = ("continuous", "integer", "ordinal", "nominal", "hierarchical", "boolean", "date", "datetime")


class Line(NamedTuple):
    """Values on a line: the distance of two values is that of their positions."""

    positions: Array  # float64[values], rising from 0 to 1
    magnitudes: Array | None = None  # float64[values], the same by magnitude instead of rank; numbers and dates only


class Tree(NamedTuple):
    """Values at the leaves of a tree: the distance of two values is the height of their closest common ancestor."""

    parents: Array  # int64[nodes], each node after its parent; -1 for the root
    heights: Array  # float64[nodes]: height above the leaves, as a fraction of the root's; 0 for leaves
    leaves: Array  # int64[values]: the node of each value


# None: all values are equally far from each other, at distance 1.
Ground = Line | Tree | None


class Sensitive(NamedTuple):
    """A sensitive attribute.

    Attributes
    ----------
    name : str
    codes : int64[n]
        Value of each record, from 0 to values - 1, in order if the values have one; -1 if it is missing.
    values : int
        The number of different values, all of which occur.
    ground : Line, Tree or None
        The distances between values.
    words : tuple of str or None
        The names of the values; None for numbers and dates.
    spellings : int
        The number of different texts if some of them read as one value (`shoal.tables.spelling`), else 0.
    units : int64[n] or None
        The unit of each record, from 0 on, if units are counted instead of records.
    whole : (float64[values], float) or None
        How many records of the table (units, if they are counted) have each value, and how many have none, if the
        records here are only some of the table. None: these are all.
    """

    name: str
    codes: Array
    values: int
    ground: Ground = None
    words: tuple[str, ...] | None = None
    spellings: int = 0
    units: Array | None = None
    whole: tuple[Array, float] | None = None


def sensitive(
    table: Any,
    name: str,
    *,
    kind: str | None = None,
    levels: Sequence[Any] = (),
    hierarchy: Hierarchy | None = None,
    ground: str = "auto",
    text: bool = False,
    decimal: str = ".",
    markers: Sequence[Any] = (),
) -> Sensitive:
    """Return a column of a table as a sensitive attribute.

    Parameters
    ----------
    table : pyarrow.Table
    name : str
    kind : str or None
        One of ``KINDS``; by default inferred as for quasi-identifiers. Integers that are codes must be declared
        "nominal"; with only two values it makes no difference.
    levels : values
        The levels of an ordinal attribute, lowest first.
    hierarchy : Hierarchy or None
        If given, the attribute is hierarchical.
    ground : str
        How to measure distances between values: "equal" (all are equally far apart), "ordered" (by rank), "numeric" (by
        magnitude), or "auto": by rank if they have an order, by the height of their closest common ancestor if they
        have a hierarchy, else "equal".
    text, decimal : bool, str
        Whether types are inferred from text, and its decimal mark.
    markers : values
        The values that mean 'missing'.
    """
    if name not in table.column_names:
        hint = near_names(name, table.column_names, f"it has {len(table.column_names)} columns.")
        raise OptionError(f"The table has no column {name!r}.", hint=hint)
    column = without_markers(_with_type(table.column(name)), markers, decimal)
    kind = _kind(column, name, kind, levels, hierarchy, text, decimal)
    refuse_finer(column, kind, name)
    values, _ = _columns.decode(column, kind, text=text, decimal=decimal, levels=levels, name=name)
    return sensitive_of(name, values, kind, hierarchy, ground, decimal)


def sensitive_of(
    name: str,
    values: Values,
    kind: str,
    hierarchy: Hierarchy | None = None,
    ground: str = "auto",
    decimal: str = ".",
) -> Sensitive:
    """Return decoded values as a sensitive attribute; see :func:`sensitive`.

    Texts that a person reads as one are one value, in the place of the first of them.
    """
    if isinstance(values, Numbers):
        return _of_numbers(name, values.values, ground)
    if not isinstance(values, Codes):
        raise OptionError(f"A sensitive attribute must not be a place. Got {name!r}.", hint="demand nothing of it.")
    codes, occurring = _occurring(values.codes, len(values.levels))
    written = [values.levels[i] for i in occurring.tolist()]
    read = read_as_one(written, decimal)
    codes = np.append(read, -1)[codes]
    first = np.flatnonzero(np.diff(np.maximum.accumulate(read), prepend=-1))
    words = tuple(written[i] for i in first.tolist())
    own: Ground = None
    if kind == "ordinal":
        own = Line(ranks(len(words)))
    elif kind == "hierarchical" and hierarchy is not None:
        own = tree_of(hierarchy, words, name)
    spellings = len(written) if len(words) < len(written) else 0
    return Sensitive(name, codes, len(words), grounded(own, len(words), ground, f"column {name!r}"), words, spellings)


def refuse_finer(column: Any, kind: str, name: str) -> None:
    """Refuse moments that differ by less than a microsecond: they are published, but would count as one value."""
    import pyarrow as pa

    if kind != "datetime" or not pa.types.is_timestamp(column.type) or column.type.unit != "ns":
        return
    moments = column.drop_null().cast(pa.int64()).to_numpy()
    if len(np.unique(moments)) > len(np.unique(moments // 1000)):
        raise DataError(
            f"The moments of the sensitive column {name!r} must differ by a microsecond or more. Got some that are "
            "closer.",
            hint="round them to microseconds.",
        )


def _with_type(column: Any) -> Any:
    """Return the column as text if it has no values, and so no type."""
    import pyarrow as pa

    return column.cast(pa.string()) if pa.types.is_null(column.type) else column


def _kind(
    column: Any,
    name: str,
    kind: str | None,
    levels: Sequence[Any],
    hierarchy: Hierarchy | None,
    text: bool,
    decimal: str,
) -> str:
    if kind is None and hierarchy is not None:
        kind = "hierarchical"
    elif kind is None and len(levels):
        kind = "ordinal"
    elif kind is None:
        try:
            kind = _columns.infer(column, text=text, decimal=decimal, name=name)[0]
        except DataError:
            if text:
                raise
            # The original message is about quasi-identifiers, and this column is not one.
            raise DataError(
                f"A sensitive attribute must hold numbers, texts, booleans or dates. The column {name!r} holds "
                f"{column.type}.",
                hint="convert it, or demand nothing of it.",
            ) from None
    if kind not in KINDS:
        raise OptionError(
            f"The type of a sensitive attribute must be one of {', '.join(KINDS)}. Got {kind!r} for {name!r}.",
            hint=near_names(kind, KINDS, "left out, it is inferred."),
        )
    for given, wanted, what in (
        (bool(len(levels)), "ordinal", "levels"),
        (hierarchy is not None, "hierarchical", "hierarchy"),
    ):
        if given and kind != wanted:
            raise OptionError(f"The {what!r} must be of {wanted} attributes. Got it for {name!r}, a {kind} one.")
    if kind == "hierarchical" and hierarchy is None:
        raise OptionError(f"A hierarchical attribute must have a hierarchy. Got none for the column {name!r}.")
    return kind


def _of_numbers(name: str, numbers: Array, ground: str) -> Sensitive:
    present = ~np.isnan(numbers)
    distinct, places = np.unique(numbers[present], return_inverse=True)
    codes = np.full(len(numbers), -1, np.int64)
    codes[present] = places
    magnitudes = np.zeros(len(distinct))
    if len(distinct) > 1:
        magnitudes = (distinct - distinct[0]) / (distinct[-1] - distinct[0])
    line = Line(ranks(len(distinct)), magnitudes)
    return Sensitive(name, codes, len(distinct), grounded(line, len(distinct), ground, f"column {name!r}"))


def _occurring(codes: Array, levels: int) -> tuple[Array, Array]:
    """Return codes among the levels that occur, and these levels."""
    occurring = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=levels))
    new = np.full(levels + 1, -1, np.int64)  # the last is for code -1
    new[occurring] = np.arange(len(occurring))
    return new[codes], occurring


def ranks(values: int) -> Array:
    """Return float64[values]: equally spaced positions from 0 to 1."""
    return np.linspace(0.0, 1.0, values) if values > 1 else np.zeros(values)


def grounded(own: Ground, values: int, ground: str, what: str = "a sensitive attribute") -> Ground:
    """Return the distances between values for one of ``GROUNDS``, given those that suit their kind."""
    if ground not in GROUNDS:
        hint = near_names(ground, GROUNDS, f"the default is {GROUNDS[0]!r}.")
        raise OptionError(f"The 'ground' of values must be one of {', '.join(GROUNDS)}. Got {ground!r}.", hint=hint)
    if ground == "auto":
        return own
    if ground == "equal":
        return None
    positions = None
    if isinstance(own, Line):
        positions = ranks(values) if ground == "ordered" else own.magnitudes
    if not isinstance(own, Line) or positions is None:
        wanted = "have an order" if ground == "ordered" else "be numbers or dates"
        raise OptionError(
            f"The values of {what} must {wanted} for the ground {ground!r}. Got others.",
            hint="leave the ground at 'auto', or list the levels of the attribute, lowest first.",
        )
    return own._replace(positions=positions)


def tree_of(hierarchy: Hierarchy, words: Sequence[str], name: str) -> Tree:
    """Return the tree above some values of a hierarchy.

    The height of a node is the number of levels below it; the lengths of edges do not count. A value that is an inner
    node stands for an unknown leaf below it, so it gets a leaf of its own there.
    """
    heights = np.zeros(len(hierarchy), np.int64)
    for node in range(len(hierarchy) - 1, 0, -1):
        above = hierarchy.parents[node]
        heights[above] = max(heights[above], heights[node] + 1)
    nodes = hierarchy.nodes_of(list(words), f"column {name!r}")
    needed = np.zeros(len(hierarchy), bool)
    needed[0] = True
    needed[nodes] = True
    for node in range(len(hierarchy) - 1, 0, -1):
        needed[hierarchy.parents[node]] |= needed[node]
    kept = np.flatnonzero(needed)
    place = np.full(len(hierarchy), -1, np.int64)
    place[kept] = np.arange(len(kept))
    parents = np.where(kept > 0, place[hierarchy.parents[kept]], -1)
    inner = np.flatnonzero(heights[nodes] > 0)
    leaves = place[nodes]
    leaves[inner] = len(kept) + np.arange(len(inner))
    return Tree(
        np.concatenate([parents, place[nodes[inner]]]),
        np.concatenate([heights[kept], np.zeros(len(inner))]) / max(1, heights[0]),
        leaves,
    )
