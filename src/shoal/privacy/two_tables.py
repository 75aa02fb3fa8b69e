"""Rows of two tables: put below each other, and matched with each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError
from shoal.privacy.classes import codes_of


def followed(others: Array, n: int) -> tuple[Array, Array]:
    """Return which rows are kept and gone, as `matched` does, if those of the earlier table come first in the later.

    Parameters
    ----------
    others : int64[n + n2]
        Equal numbers for rows with equal values in all columns but the quasi-identifiers.
    n : int
        The number of rows of the earlier table.
    """
    kept, gone = np.zeros(len(others) - n, bool), np.ones(n, bool)
    first = min(n, len(kept))
    same = others[:first] == others[n : n + first]
    kept[:first], gone[:first] = same, ~same
    return kept, gone


def matched(rows: Array, n: int) -> tuple[Array, Array]:
    """Return which rows of the later table are kept (bool[n2]), and which of the earlier one are gone (bool[n]).

    Parameters
    ----------
    rows : int64[n + n2]
        Equal numbers for rows that are equal, of the earlier table and then of the later one.
    n : int
        The number of rows of the earlier table.
    """
    kinds = int(rows.max()) + 1
    common = np.minimum(np.bincount(rows[:n], minlength=kinds), np.bincount(rows[n:], minlength=kinds))
    # Which of several equal rows are meant makes no difference: the first ones.
    return _rank(rows[n:]) < common[rows[n:]], _rank(rows[:n]) >= common[rows[:n]]


def _rank(keys: Array) -> Array:
    """Return int64[n]: how many rows before have the same key."""
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    ranks = np.empty(len(keys), np.int64)
    ranks[order] = np.arange(len(keys)) - np.repeat(starts, np.diff(np.append(starts, len(keys))))
    return ranks


def stacked(earlier: Any, later: Any) -> Any:
    """Return a pyarrow.Table with the rows of both, which must have the same columns of the same types."""
    import pyarrow as pa

    theirs = set(later.column_names)
    for name in (*earlier.column_names, *later.column_names):
        if name not in theirs or name not in earlier.column_names:
            raise DataError(f"Both releases must have the same columns. Got {name!r} in one of them only.")
    columns = []
    for name in earlier.column_names:
        parts = [_plain(one.column(name)) for one in (earlier, later)]
        if parts[0].type != parts[1].type:
            raise DataError(
                f"The column {name!r} must have the same type in both releases. Got {parts[0].type} and "
                f"{parts[1].type}.",
                hint="publish both in the same format.",
            )
        codes_of(parts[0].slice(0, 1))  # refuses lists and the like
        columns.append(pa.chunked_array([*parts[0].chunks, *parts[1].chunks], parts[0].type))
    return pa.table(columns, names=list(earlier.column_names))


def _plain(column: Any) -> Any:
    """Return a column without a dictionary, and with the same type for texts of any length."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.string()) if pa.types.is_large_string(column.type) else column
