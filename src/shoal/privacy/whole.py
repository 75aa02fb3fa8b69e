"""The whole of a published table: the k that holds for all of its columns together, and values that are nearly unique.

The k of a release is that of its quasi-identifiers. Columns that are published unchanged tell records of a group apart
again, for whoever knows their values. Everything here is counted on the published table, so anyone can count it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError
from shoal.privacy.classes import codes_of, refined
from shoal.tables.frames import to_arrow

# In fewer rows than this, values that all differ say little.
FEW_ROWS = 10
# A column is nearly unique if at least this share of the rows has a value that no other row has.
NEARLY = 0.5
NOTHING: Mapping[str, Any] = {}


class Whole(NamedTuple):
    """All published columns together.

    Attributes
    ----------
    columns : int
        The number of columns.
    k : int
        Every row equals at least k - 1 others in all columns.
    unique : int
        The number of rows that equal no other.
    """

    columns: int
    k: int
    unique: int


def whole_of(
    native: Any,
    names: Sequence[str],
    apart: Mapping[str, Any] = NOTHING,
    known: tuple[Array, Sequence[str]] | None = None,
    counts: Array | None = None,
) -> Whole:
    """Count rows that are alike in all of these columns, as every reader of the table sees them.

    Parameters
    ----------
    native : data frame
    names : names of columns
    apart : {name: pyarrow.Array}
        As in `shoal.io.Source`: values that were different in the file are different here.
    known : (int64[n], names) or None
        Classes of rows that are alike in some of the columns, if they were counted already.
    counts : int64[n] or None
        How many equal rows each row stands for.
    """
    classes, done = (np.zeros(len(native), np.int64), ()) if known is None else known
    count = int(classes.max(initial=0)) + 1
    for name in names:
        if name in done:
            continue
        classes, count = refined(classes, seen(native, name, apart), count)
        if count == len(classes):
            break  # nothing can be told apart any further
    sizes = np.bincount(classes, counts).astype(np.int64)
    return Whole(len(names), int(sizes.min()), int((sizes == 1).sum()))


def seen(native: Any, name: str, apart: Mapping[str, Any] = NOTHING) -> Array:
    """Return int64[n]: equal numbers for values of a column that every reader sees as equal, whatever it holds."""
    try:
        codes = codes_of(to_arrow(native, "verify", [name]).column(name))
    except DataError:
        # Lists, structures, or values of several types: they are told apart by how they are written.
        import narwhals as nw

        values = nw.from_native(native, eager_only=True)[name].to_list()
        numbers: dict[str, int] = {}
        written = (f"{type(value).__name__} {value!r}" for value in values)
        codes = np.array([numbers.setdefault(text, len(numbers)) for text in written], np.int64)
    return refined(codes, codes_of(apart[name]))[0] if name in apart else codes


def nearly_unique(native: Any, names: Sequence[str]) -> dict[str, int]:
    """Return the columns whose values single most records out by themselves, and how many records each of them does."""
    if len(native) < FEW_ROWS:
        return {}
    alone = {name: int((np.bincount(seen(native, name)) == 1).sum()) for name in names}
    return {name: count for name, count in alone.items() if count >= NEARLY * len(native)}
