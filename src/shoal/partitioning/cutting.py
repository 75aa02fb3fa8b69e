"""Cutting groups in two where both sides satisfy the requirements, all groups of a round at once.

A callable decides which groups fall short, so the same cuts serve all kinds of requirements.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.partitioning.requirements import FallsShort
from shoal.progress import Progress, silent

# Power iterations towards the principal axis of a group, starting from its coordinate of largest variance.
STEPS = 8
# Most records checked at once, and for all cuts of one group; in larger groups only some positions are tried.
AT_ONCE, OF_ONE = 1 << 19, 1 << 18
FEWEST = 8
# Most numbers of coordinates copied at once.
COPIED = 1 << 22
# Parts with so many records together are cut at a time.
TOGETHER = 1 << 17
# Coordinates of largest variance at whose median a part may be cut, and how many of these if the time is over.
TRIED, TRIED_LATE = 24, 3
# Tables of at most so many records are cut in two in every possible way, if no other way was found.
FEW_RECORDS = 16
# A cut must save more than this share of the squared error of a group: more than rounding errors.
GAIN = 1e-12


class Pieces(NamedTuple):
    """Records sorted by part.

    Attributes
    ----------
    rows : int64[r]
    own : int64[r]
        The part of each record, from 0 to p - 1, ascending.
    """

    rows: Array
    own: Array

    @property
    def sizes(self) -> Array:
        """Return int64[p]: the number of records in each part."""
        return np.bincount(self.own)

    @property
    def starts(self) -> Array:
        """Return int64[p]: where each part begins."""
        sizes = self.sizes
        return np.cumsum(sizes) - sizes

    def only(self, parts: Array) -> Pieces:
        """Return the parts selected by bool[p], renumbered."""
        kept = parts[self.own]
        return Pieces(self.rows[kept], (np.cumsum(parts) - 1)[self.own[kept]])

    def along(self, values: Array) -> Pieces:
        """Return the same parts, with the records of each sorted by `values` float64[r]."""
        return Pieces(self.rows[np.lexsort((values, self.own))], self.own)


def median_cuts(
    X: Array,
    k: int,
    falls_short: FallsShort,
    report: Progress = silent,
    until: float = np.inf,
    labels: Array | None = None,
) -> Array:
    """Cut parts at the median of the coordinate of largest variance where both sides satisfy the requirements.

    Otherwise other coordinates are tried in turn. Parts that no median divides are left to `recut`. All parts of a
    level are cut at once.

    Parameters
    ----------
    X : float64[n, d]
    k : int
        Least size of a group.
    falls_short : callable
        All records as one group must not fall short.
    report : callable
    until : float
        When only a few coordinates are tried for each part: that takes hardly longer than sorting, and one group of all
        would be of no use to anybody.
    labels : int64[n] or None
        The parts to cut, from 0 to m - 1. None: all records are one.

    Returns
    -------
    int64[n]
        Labels from 0 to m - 1.
    """
    n = len(X)
    labels = np.zeros(n, np.int64) if labels is None else labels.copy()
    count, order = int(labels.max()) + 1, np.argsort(labels, kind="stable")
    level = Pieces(order, labels[order])
    while len(level.rows):
        report(min(0.9, np.log(count) / np.log(max(2.0, n / k))))
        left = level.only(level.sizes >= 2 * k)
        cut: list[Pieces] = []
        falling = np.argsort(-_variances(X, left), axis=1, kind="stable")
        for turn in range(min(TRIED, X.shape[1])):
            if len(left.rows) == 0 or (turn >= TRIED_LATE and not _in_time(until)):
                break
            left = left.along(X[left.rows, falling[left.own, turn]])
            sizes = left.sizes
            upper = np.arange(len(left.rows)) - left.starts[left.own] >= (sizes // 2)[left.own]
            bad = falls_short(left.rows, 2 * left.own + upper)
            good = ~(bad[::2] | bad[1::2])
            labels[left.rows[good[left.own] & upper]] = count + (np.cumsum(good) - 1)[left.own[good[left.own] & upper]]
            count += int(good.sum())
            cut.append(left.only(good))
            falling = falling[~good]
            left = left.only(~good)
        rows = np.concatenate([part.rows for part in cut]) if cut else np.empty(0, np.int64)
        rows = rows[np.argsort(labels[rows], kind="stable")]
        level = Pieces(rows, np.unique(labels[rows], return_inverse=True)[1])
    return recut(X, labels, k, falls_short, until)


def _in_time(until: float) -> bool:
    return until == np.inf or time.perf_counter() < until


def recut(X: Array, labels: Array, k: int, falls_short: FallsShort, until: float = np.inf) -> Array:
    """Cut groups in two, repeatedly, where both sides satisfy the requirements: each at the cut that saves most.

    Cuts are tried along the principal axis of a group and along its coordinate of largest variance, at every position
    (in very large groups, at some positions).

    Parameters
    ----------
    X : float64[n, d]
    labels : int64[n]
        From 0 to m - 1, each group of at least k records.
    k : int
    falls_short : callable
    until : float
        When no more is cut.

    Returns
    -------
    int64[n]
        Labels from 0 on. The squared error is not above that of the given labels.
    """
    labels = labels.copy()
    count = int(labels.max()) + 1
    order = np.argsort(labels, kind="stable")
    level = Pieces(order, labels[order])
    while True:
        level = level.only(level.sizes >= 2 * k)
        if len(level.rows) == 0 or not _in_time(until):
            return labels
        cut, upper = np.zeros(len(level.sizes), bool), np.zeros(len(level.rows), bool)
        for parts, span in runs(level.sizes, TOGETHER):
            some = Pieces(level.rows[span], level.own[span] - parts.start)
            cut[parts], upper[span] = _cheapest(X, some, k, falls_short, until)
        moved = cut[level.own] & upper
        labels[level.rows[moved]] = count + (np.cumsum(cut) - 1)[level.own[moved]]
        count += int(cut.sum())
        rows = level.rows[cut[level.own]]
        rows = rows[np.argsort(labels[rows], kind="stable")]
        level = Pieces(rows, np.unique(labels[rows], return_inverse=True)[1])


def runs(sizes: Array, most: int) -> Iterator[tuple[slice, slice]]:
    """Yield which parts that follow each other have at most so many records together, or one, and their records."""
    ends, first = np.cumsum(sizes), 0
    while first < len(ends):
        start = int(ends[first] - sizes[first])
        last = max(first + 1, int(np.searchsorted(ends, start + most, side="right")))
        yield slice(first, last), slice(start, int(ends[last - 1]))
        first = last


def from_means(X: Array, parts: Pieces) -> Iterator[tuple[slice, Array]]:
    """Yield float64[r, c]: some coordinates at a time, of the records minus the mean of their part."""
    sizes, starts = parts.sizes, parts.starts
    width = max(1, COPIED // max(1, len(parts.rows)))
    for first in range(0, X.shape[1], width):
        some = slice(first, min(first + width, X.shape[1]))
        Y = X[parts.rows, some]
        means = np.add.reduceat(Y, starts, axis=0) / sizes[:, None]
        yield some, Y - means[parts.own]


def _variances(X: Array, parts: Pieces) -> Array:
    """Return float64[p, d]: variances of the coordinates in each part, equal if they differ by rounding only.

    Standardised columns all have the same variance, and rounding errors must not choose among them.
    """
    if len(parts.rows) == 0:
        return np.empty((0, X.shape[1]))
    spread = spread_of(X, parts) / parts.sizes[:, None]
    largest = spread.max(axis=1, keepdims=True)
    return np.where(spread >= largest * (1 - 1e-9), largest, spread)


def best_halves(X: Array, k: int, falls_short: FallsShort) -> Array | None:
    """Return the cut of a few records in two that saves most of all that satisfy the requirements; None if none does.

    Parameters
    ----------
    X : float64[n, d]
        At most `FEW_RECORDS` records: every cut is tried.
    k : int
    falls_short : callable

    Returns
    -------
    int64[n] or None
        0 or 1 for each record.
    """
    n = len(X)
    if n < 2 * k or n > FEW_RECORDS:
        return None
    # The first record is always on the side 0, so that no cut occurs twice.
    sides = (np.arange(1 << (n - 1))[:, None] >> np.arange(n)) & 1
    upper = sides.sum(axis=1)
    sides = sides[(upper >= k) & (n - upper >= k)][:, ::-1]
    sums = sides @ (X - X.mean(axis=0))
    upper = sides.sum(axis=1)
    order = np.argsort(-(sums**2).sum(axis=1) / (upper * (n - upper)), kind="stable")
    for some in np.array_split(order, max(1, len(order) * n // OF_ONE)):
        rows = np.tile(np.arange(n), len(some))
        bad = falls_short(rows, (2 * np.arange(len(some))[:, None] + sides[some]).ravel())
        good = np.flatnonzero(~(bad[::2] | bad[1::2]))
        if len(good):
            best: Array = sides[some[good[0]]].astype(np.int64)
            return best
    return None


def spread_of(X: Array, parts: Pieces) -> Array:
    """Return float64[p, d]: the squared error of each part in each coordinate."""
    spread = np.empty((len(parts.sizes), X.shape[1]))
    for some, centred in from_means(X, parts):
        spread[:, some] = np.add.reduceat(centred * centred, parts.starts, axis=0)
    return spread


def _cheapest(X: Array, parts: Pieces, k: int, falls_short: FallsShort, until: float) -> tuple[Array, Array]:
    """Return bool[p], which parts can be cut, and bool[r], which records are then on the upper side.

    The positions of each part are tried in order of what they save: first one, then two, then four at once.
    """
    sizes, spread = parts.sizes, spread_of(X, parts)
    orders, gains = zip(*(_gains(X, parts, axis, k) for axis in axes_of(X, parts, spread)), strict=True)
    saved = np.concatenate(gains)
    least = GAIN * spread.sum(axis=1)
    candidates = np.flatnonzero(saved > np.tile(least[parts.own], len(orders)))
    # By part, those that save most first.
    owner = np.tile(parts.own, len(orders))[candidates]
    by = np.lexsort((-saved[candidates], owner))
    candidates, owner = candidates[by], owner[by]
    first = np.searchsorted(owner, np.arange(len(sizes) + 1))
    chosen = np.full(len(sizes), -1, np.int64)
    tried, batch = 0, 1
    while True:
        open_parts = np.flatnonzero((chosen < 0) & (first[:-1] + tried < first[1:]))
        if len(open_parts) == 0 or not _in_time(until):
            break
        ends = np.minimum(first[open_parts] + tried + batch, first[open_parts + 1])
        lengths = ends - first[open_parts] - tried
        offsets = np.repeat(ends - np.cumsum(lengths), lengths)
        next_ones = np.arange(lengths.sum()) + offsets
        for some in _slices(next_ones, sizes[owner[next_ones]]):
            if not _in_time(until):
                break
            good = some[_holds(parts, orders, candidates[some], falls_short)]
            own = owner[good]
            lead = np.flatnonzero(np.diff(own, prepend=-1))
            new = lead[chosen[own[lead]] < 0]
            chosen[own[new]] = candidates[good[new]]
        tried, batch = tried + batch, 2 * batch
    upper = np.zeros(len(parts.rows), bool)
    for axis, order in enumerate(orders):
        at = chosen - axis * len(parts.rows)
        mine = (chosen >= 0) & (at >= 0) & (at < len(parts.rows))
        upper[order] |= mine[parts.own] & (np.arange(len(order)) > at[parts.own])
    return chosen >= 0, upper


def axes_of(X: Array, parts: Pieces, spread: Array) -> Iterator[Array]:
    """Yield float64[r]: positions along the coordinate of largest variance, then along the principal axis."""
    starts, sizes = parts.starts, parts.sizes
    widest = spread.argmax(axis=1)
    along = X[parts.rows, widest[parts.own]]
    along = along - (np.add.reduceat(along, starts) / sizes)[parts.own]
    yield along
    if X.shape[1] == 1:
        return
    axes = np.empty(spread.shape)
    held = list(from_means(X, parts)) if len(parts.rows) * X.shape[1] <= COPIED else None
    for _ in range(STEPS):
        for some, centred in from_means(X, parts) if held is None else held:
            axes[:, some] = np.add.reduceat(centred * along[:, None], starts, axis=0)
        lengths = np.sqrt((axes**2).sum(axis=1, keepdims=True))
        axes /= np.where(lengths > 0, lengths, 1.0)
        along = np.zeros(len(parts.rows))
        for some, centred in from_means(X, parts) if held is None else held:
            along += np.einsum("ij,ij->i", centred, axes[parts.own, some])
    yield along


def leading_axes(centred: Array) -> Iterator[Array]:
    """Yield float64[d]: the direction of the coordinate of largest variance of some records, then the principal one.

    Parameters
    ----------
    centred : float64[r, d]
        Less their mean.
    """
    axis = np.zeros(centred.shape[1])
    axis[np.einsum("ij,ij->j", centred, centred).argmax()] = 1.0
    yield axis
    if len(axis) == 1:
        return
    for _ in range(STEPS):
        axis = np.einsum("ij,i->j", centred, np.einsum("ij,j->i", centred, axis))
        length = np.sqrt(axis @ axis)
        axis = axis / (length if length > 0 else 1.0)
    yield axis


def _gains(X: Array, parts: Pieces, along: Array, k: int) -> tuple[Array, Array]:
    """Return the records in their order along an axis, and what a cut after each saves; -1 where no cut is allowed.

    A cut that leaves a of s records with the sum S of their differences from the mean saves |S|^2 s / (a (s - a)).
    """
    order = np.lexsort((along, parts.own))
    sizes, starts = parts.sizes, parts.starts
    square = np.zeros(len(order))
    for _, centred in from_means(X, parts):
        sums = np.cumsum(centred[order], axis=0)
        before = np.where(starts[:, None] > 0, sums[starts - 1], 0.0)
        square += ((sums - before[parts.own]) ** 2).sum(axis=1)
    a = np.arange(len(order)) - starts[parts.own] + 1
    size = sizes[parts.own]
    step = np.maximum(1, size // np.maximum(FEWEST, OF_ONE // size))
    allowed = (a >= k) & (size - a >= k) & ((a - k) % step == 0)
    return order, np.where(allowed, square * size / np.maximum(1, a * (size - a)), -1.0)


def _slices(candidates: Array, sizes: Array) -> Iterator[Array]:
    """Yield runs of candidates whose parts together have about AT_ONCE records at most."""
    turns = np.cumsum(sizes) // AT_ONCE
    yield from np.split(candidates, np.flatnonzero(np.diff(turns)) + 1)


def _holds(parts: Pieces, orders: tuple[Array, ...], candidates: Array, falls_short: FallsShort) -> Array:
    """Return bool[c]: whether both sides of each cut satisfy the requirements."""
    r = len(parts.rows)
    at = candidates % r
    own = parts.own[at]
    lengths = parts.sizes[own]
    ends = np.cumsum(lengths)
    place = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths) + np.repeat(parts.starts[own], lengths)
    axis = np.repeat(candidates // r, lengths)
    rows = parts.rows[np.stack(orders)[axis, place]]
    labels = 2 * np.repeat(np.arange(len(at)), lengths) + (place > np.repeat(at, lengths))
    bad = falls_short(rows, labels)
    return ~(bad[::2] | bad[1::2])
