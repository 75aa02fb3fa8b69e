"""Sensitive attributes as models of privacy see them: a code for every record, and how far values lie apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError, near_names
from shoal.tables import columns as _columns
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.values import Codes, Numbers, Values

GROUNDS = ("auto", "equal", "ordered", "numeric")
KINDS = ("continuous", "integer", "ordinal", "nominal", "hierarchical", "boolean", "date", "datetime")


class Line(NamedTuple):
    """Values on a line: the distance of two of them is that of their positions."""

    positions: Array  # float64[values], rising from 0 to 1
    magnitudes: Array | None = None  # float64[values], the same by how large numbers and dates are, not by their rank


class Tree(NamedTuple):
    """Values at the leaves of a tree: the distance of two of them is the height of their closest common ancestor."""

    parents: Array  # int64[nodes], each node after its parent; -1 for the root
    heights: Array  # float64[nodes]: of the nodes above leaves, as a fraction of the root's; 0 for leaves
    leaves: Array  # int64[values]: the node of each value


# None: all values are equally far from each other, at distance 1.
Ground = Line | Tree | None


class Sensitive(NamedTuple):
    """A sensitive attribute.

    Attributes
    ----------
    name : str
    codes : int64[n]
        Value of each record, 0 .. values - 1, in their order where they have one; -1 where it is missing.
    values : int
        How many there are; each of them occurs.
    ground : Line, Tree or None
        How far values are from each other.
    words : tuple of str or None
        What the values are called; None for numbers and dates.
    """

    name: str
    codes: Array
    values: int
    ground: Ground = None
    words: tuple[str, ...] | None = None


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
        One of ``KINDS``; inferred as for quasi-identifiers if not said. Whole numbers that are codes are "nominal" only
        if that is said; between two values it makes no difference.
    levels : values
        Of an ordinal attribute, lowest first.
    hierarchy : Hierarchy or None
        Makes the attribute a hierarchical one.
    ground : str
        How far values are from each other: "auto" by rank where they have an order, by the height at which they meet in
        a hierarchy, else all equally far; "equal", "ordered" (by rank), "numeric" (by magnitude).
    text, decimal : bool, str
        Whether types are read out of text, and its decimal mark.
    markers : values
        What stands for a missing value.
    """
    if name not in table.column_names:
        hint = near_names(name, table.column_names, f"it has {len(table.column_names)} columns.")
        raise OptionError(f"The table has no column {name!r}.", hint=hint)
    column = _columns.without_markers(_with_type(table.column(name)), markers, decimal)
    kind = _kind(column, name, kind, levels, hierarchy, text, decimal)
    values, _ = _columns.decode(column, kind, text=text, decimal=decimal, levels=levels, name=name)
    return sensitive_of(name, values, kind, hierarchy, ground)


def sensitive_of(
    name: str, values: Values, kind: str, hierarchy: Hierarchy | None = None, ground: str = "auto"
) -> Sensitive:
    """Return values that were read as a sensitive attribute; see :func:`sensitive`."""
    if isinstance(values, Numbers):
        return _of_numbers(name, values.values, ground)
    if not isinstance(values, Codes):
        raise OptionError(f"A place is no sensitive attribute. Got {name!r}.", hint="demand nothing of it.")
    codes, found = _occurring(values.codes, len(values.levels))
    words = tuple(values.levels[i] for i in found.tolist())
    own: Ground = None
    if kind == "ordinal":
        own = Line(ranks(len(words)))
    elif kind == "hierarchical" and hierarchy is not None:
        own = tree_of(hierarchy, words, name)
    return Sensitive(name, codes, len(words), grounded(own, len(words), ground, f"column {name!r}"), words)


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
            # The same is said of quasi-identifiers, which this column is not.
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
    for said, wanted, what in (
        (bool(len(levels)), "ordinal", "levels"),
        (hierarchy is not None, "hierarchical", "hierarchy"),
    ):
        if said and kind != wanted:
            raise OptionError(f"The {what!r} must be of {wanted} attributes. Got it for {name!r}, a {kind} one.")
    if kind == "hierarchical" and hierarchy is None:
        raise OptionError(f"A hierarchical attribute must have a hierarchy. Got none for the column {name!r}.")
    return kind


def _of_numbers(name: str, numbers: Array, ground: str) -> Sensitive:
    present = ~np.isnan(numbers)
    found, places = np.unique(numbers[present], return_inverse=True)
    codes = np.full(len(numbers), -1, np.int64)
    codes[present] = places
    magnitudes = np.zeros(len(found))
    if len(found) > 1:
        magnitudes = (found - found[0]) / (found[-1] - found[0])
    line = Line(ranks(len(found)), magnitudes)
    return Sensitive(name, codes, len(found), grounded(line, len(found), ground, f"column {name!r}"))


def _occurring(codes: Array, levels: int) -> tuple[Array, Array]:
    """Return codes that count only the levels that occur, and these levels."""
    found = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=levels))
    new = np.full(levels + 1, -1, np.int64)  # the last is that of code -1
    new[found] = np.arange(len(found))
    return new[codes], found


def ranks(values: int) -> Array:
    """Return float64[values]: the positions of values that are equally far from their neighbours."""
    return np.linspace(0.0, 1.0, values) if values > 1 else np.zeros(values)


def grounded(own: Ground, values: int, wish: str, what: str = "a sensitive attribute") -> Ground:
    """Return how far values are from each other under a wish, one of ``GROUNDS``, given how far they are by nature."""
    if wish not in GROUNDS:
        hint = near_names(wish, GROUNDS, f"the default is {GROUNDS[0]!r}.")
        raise OptionError(f"The 'ground' of values must be one of {', '.join(GROUNDS)}. Got {wish!r}.", hint=hint)
    if wish == "auto":
        return own
    if wish == "equal":
        return None
    positions = None
    if isinstance(own, Line):
        positions = ranks(values) if wish == "ordered" else own.magnitudes
    if not isinstance(own, Line) or positions is None:
        wanted = "have an order" if wish == "ordered" else "be numbers or dates"
        raise OptionError(
            f"The values of {what} must {wanted} for the ground {wish!r}. Got others.",
            hint="leave the ground at 'auto', or say what the levels of the attribute are, lowest first.",
        )
    return own._replace(positions=positions)


def tree_of(hierarchy: Hierarchy, words: Sequence[str], name: str) -> Tree:
    """Return the tree above some values of a hierarchy.

    The height of a node is the number of levels below it; the lengths of edges do not count. A value that is an inner
    node stands for something below it that is not said: it gets a leaf of its own there.
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
