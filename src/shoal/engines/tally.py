"""What every leaf of a plan of cuts holds: records, units, and the values of sensitive attributes.

A block of leaves must be able to stand as one group: only then are there groups within it that keep k and all demands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.engines.layout import UNIT, Layout, numpy_of
from shoal.errors import DataError
from shoal.privacy.demands import models_of
from shoal.privacy.spectrum import spectrum_of

# Different values in all leaves that are counted, each with 16 bytes.
MOST_COUNTED = 1 << 23


@dataclass
class Tally:
    """Counts of each leaf; `add` and `merge` in any order give the same.

    Attributes
    ----------
    layout : Layout
    leaves : int
    counts : int64[leaves]
        Records.
    units : int64[u, 2] or None
        Leaf and number of its first k units at most.
    values : for each sensitive attribute, int64[v, 2]
        How often each value occurs in a leaf, by ``leaf * width + code``: where it occurs at all. Missing is the last.
        With units, the numbers of its first units instead, as many as its models ask for at most.
    """

    layout: Layout
    leaves: int
    counts: Array = field(init=False)
    units: Array | None = None
    values: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.counts = np.zeros(self.leaves, np.int64)
        if self.layout.plan.unit is not None:
            self.units = np.zeros((0, 2), np.int64)
        self.values = [np.zeros((0, 2), np.int64) for _ in self.layout.sensitives]

    def add(self, values: Any, leaves: Array) -> None:
        """Add the rows of a values table, and the leaf of each."""
        self.counts += np.bincount(leaves, minlength=self.leaves)
        units = None
        if self.units is not None:
            units = numpy_of(values, UNIT)
            self.units = _first(self.units, np.column_stack([leaves, units]), self.layout.plan.k)
        for at, width in enumerate(self._widths):
            codes = numpy_of(values, f"s{at}").astype(np.int64)
            keys = leaves * width + np.where(codes < 0, width - 1, codes)
            more = np.unique(keys, return_counts=True) if units is None else (keys, units)
            self.values[at] = self._together(at, self.values[at], np.column_stack(more))

    @property
    def _widths(self) -> list[int]:
        return [one.sensitive.values + 1 for one in self.layout.sensitives]

    def merge(self, other: Tally) -> None:
        """Add the counts of other rows."""
        self.counts += other.counts
        if self.units is not None and other.units is not None:
            self.units = _first(self.units, other.units, self.layout.plan.k)
        pairs = zip(self.values, other.values, strict=True)
        self.values = [self._together(at, one, more) for at, (one, more) in enumerate(pairs)]

    def _together(self, at: int, one: Array, more: Array) -> Array:
        """Return what two parts hold of the values of a sensitive attribute; refuse more than can be held."""
        if self.units is None:
            both = _summed(one, more)
        else:
            models = models_of(self.layout.plan, self.layout.sensitives[at].name)
            # A value with so many units finds one that no other value has taken.
            both = _first(one, more, max((int(model.required) for model in models), default=0))
        if len(both) > MOST_COUNTED:
            raise DataError(
                f"Sensitive attributes with demands must have few values in each part of a table that is read in "
                f"pieces. Got more than {MOST_COUNTED:,} in all parts together.",
                hint="demand nothing of it, or write it more coarsely.",
            )
        return both

    def falls_short(self, blocks: Array) -> Array:
        """Return bool[blocks]: which blocks cannot be one group, given the block of each leaf."""
        m, k = int(blocks.max()) + 1, self.layout.plan.k
        short = np.bincount(blocks, self.counts, m) < k
        if self.units is not None:
            pairs = np.unique(np.column_stack([blocks[self.units[:, 0]], self.units[:, 1]]), axis=0)
            short |= np.bincount(pairs[:, 0], minlength=m) < k
        for one, table, width in zip(self.layout.sensitives, self.values, self._widths, strict=True):
            own, codes = blocks[table[:, 0] // width], table[:, 0] % width
            if self.units is None:
                pooled = _summed(np.zeros((0, 2), np.int64), np.column_stack([own * width + codes, table[:, 1]]))
                present, spectrum = np.arange(m), _spectrum(one.sensitive, pooled, m)
            else:
                present, spectrum = _spectrum_of_units(one.sensitive, own, codes, table[:, 1])
            for model in models_of(self.layout.plan, one.name):
                short[present] |= ~model.holds(spectrum, None)
        # A block without records is no block: it is short of nothing.
        return np.asarray(short & (np.bincount(blocks, self.counts, m) > 0))


def _first(one: Array, other: Array, most: int) -> Array:
    """Return the first units of each key, a given number at most, among those of two lists of keys and units."""
    pairs = np.unique(np.concatenate([one, other]), axis=0)
    starts = np.flatnonzero(np.append(True, pairs[1:, 0] != pairs[:-1, 0])[: len(pairs)])
    place = np.arange(len(pairs)) - np.repeat(starts, np.diff(np.append(starts, len(pairs))))
    return np.asarray(pairs[place < most])


def _summed(one: Array, other: Array) -> Array:
    """Return the counts of both, by keys in ascending order."""
    both = np.concatenate([one, other])
    order = np.argsort(both[:, 0], kind="stable")
    keys = both[order, 0]
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else np.zeros(0, np.int64)
    if len(first) == 0:
        return both
    return np.column_stack([keys[first], np.add.reduceat(both[order, 1], first)])


def _spectrum(sensitive: Any, pooled: Array, blocks: int) -> Any:
    """Return the spectrum of blocks, given how many of their records have each value (missing last)."""
    width = sensitive.values + 1
    own, codes, counts = pooled[:, 0] // width, pooled[:, 0] % width, pooled[:, 1]
    known = codes < width - 1
    missing = np.bincount(own[~known], counts[~known], blocks).astype(np.int64)
    empty = spectrum_of(np.zeros(0, np.int64), sensitive)
    starts = np.searchsorted(own[known], np.arange(blocks + 1))
    return empty._replace(starts=starts, codes=codes[known], counts=counts[known], missing=missing)


def _spectrum_of_units(sensitive: Any, blocks: Array, codes: Array, units: Array) -> tuple[Array, Any]:
    """Return the blocks that have records, and their spectrum, given the first units of each value (missing last)."""
    present, labels = np.unique(blocks, return_inverse=True)
    numbers = np.unique(units, return_inverse=True)[1].astype(np.int64)
    known = np.where(codes < sensitive.values, codes, -1)
    return present, spectrum_of(labels, sensitive._replace(codes=known, units=numbers))
