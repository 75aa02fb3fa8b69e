"""Rows that occur very often, which no cut parts: found exactly, and published as they are.

A row that occurs more often than a block has records is hidden among its equals already. On Spark such rows are dealt
out to several tasks, each of which publishes them unchanged: the result is the same however they are dealt out.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.engines.cuts import Cuts
from shoal.engines.hashing import row_hashes
from shoal.engines.layout import STRATUM, WEIGHT, Layout, numpy_of

# Different rows that are counted at once.
MOST = 100_000


class Heavy(NamedTuple):
    """Rows that occur often.

    Attributes
    ----------
    hashes : uint64[h]
        Of their quasi-identifiers, ascending.
    pieces : int64[h]
        To how many tasks each is dealt out.
    """

    hashes: Array = np.zeros(0, np.uint64)
    pieces: Array = np.zeros(0, np.int64)

    @property
    def total(self) -> int:
        """Return the number of pieces."""
        return int(self.pieces.sum())

    def dealt(self, values: Any, blocks: Array, first: int) -> Array:
        """Return int64[n]: the block of each row of a values table; pieces are numbered from `first`."""
        if len(self.hashes) == 0:
            return blocks
        hashes = hashes_in(values)
        at = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        rows = np.flatnonzero(self.hashes[at] == hashes)
        starts = first + np.cumsum(self.pieces) - self.pieces
        result = blocks.copy()
        result[rows] = starts[at[rows]] + np.arange(len(rows)) % self.pieces[at[rows]]
        return result


def hashes_in(values: Any) -> Array:
    """Return uint64[n]: equal numbers for rows of a values table with equal quasi-identifiers."""
    return row_hashes(values, [name for name in values.column_names if name.startswith("q")])


@dataclass
class Often:
    """Counts rows of some blocks: all different ones, or those that may be among the most frequent.

    If there are too many different rows, the same number is taken off all counts, as by Misra and Gries: whatever
    occurs more often than `lowered` is still there.

    Attributes
    ----------
    layout, cuts : Layout, Cuts
    wanted : bool[blocks]
    only : uint64[h] or None
        The rows to count, exactly; None: all.
    keys, counts, blocks : uint64[m] (ascending), int64[m], int64[m]
    """

    layout: Layout
    cuts: Cuts
    wanted: Array
    only: Array | None = None
    most: int = MOST
    lowered: int = 0
    keys: Array = field(default_factory=lambda: np.zeros(0, np.uint64))
    counts: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    blocks: Array = field(default_factory=lambda: np.zeros(0, np.int64))

    def add(self, table: Any) -> None:
        """Add rows, a pyarrow.Table with the columns that the layout needs."""
        values = self.layout.decode(table)
        strata = numpy_of(values, STRATUM).astype(np.int64) if STRATUM in values.column_names else None
        blocks = self.cuts.blocks[self.cuts.route(self.layout.coordinates(values), strata)]
        rows = np.flatnonzero(self.wanted[blocks])
        hashes = hashes_in(values)[rows]
        if self.only is not None:
            rows, hashes = rows[np.isin(hashes, self.only)], hashes[np.isin(hashes, self.only)]
        keys, first, counts = np.unique(hashes, return_index=True, return_counts=True)
        self._put(keys, counts, blocks[rows[first]])

    def merge(self, other: Often) -> None:
        """Add the counts of other rows."""
        self.lowered += other.lowered
        self._put(other.keys, other.counts, other.blocks)

    def _put(self, keys: Array, counts: Array, blocks: Array) -> None:
        every = np.concatenate([self.keys, keys])
        self.keys, first, place = np.unique(every, return_index=True, return_inverse=True)
        self.counts = np.bincount(place, np.concatenate([self.counts, counts])).astype(np.int64)
        self.blocks = np.concatenate([self.blocks, blocks])[first]
        if len(self.keys) > self.most:
            less = int(np.sort(self.counts)[-self.most - 1])
            kept = self.counts > less
            self.keys, self.counts, self.blocks = self.keys[kept], self.counts[kept] - less, self.blocks[kept]
            self.lowered += less

    def exactly(self) -> Often:
        """Return what counts the same rows exactly, in another pass."""
        empty = Often(self.layout, self.cuts, self.wanted, self.keys)
        return replace(empty, most=self.most)

    def heavy(self, sizes: Array, block_records: int) -> Heavy:
        """Return the rows that occur more often than a block has records, given exact counts and sizes of all blocks.

        A block of which fewer than k other records would be left stays whole.
        """
        k = self.layout.plan.k
        large = self.counts > max(block_records, k)
        left = sizes - np.bincount(self.blocks[large], self.counts[large], len(sizes))
        large &= ~((left > 0) & (left < k))[self.blocks]
        return Heavy(self.keys[large], -(-self.counts[large] // block_records))


def alone(values: Any) -> Any:
    """Return one row, to be published for all its equals: a mean of many might differ from them in its last digit."""
    one = values.slice(0, 1)
    return one.drop_columns([WEIGHT]) if WEIGHT in one.column_names else one
