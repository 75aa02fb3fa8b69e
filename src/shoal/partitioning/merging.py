"""Merging groups until none falls short of the requirements.

There is one loop. A strategy decides which groups fall short, and which groups they join.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from shoal.arrays import Array, group_means
from shoal.partitioning.pool import Pool
from shoal.partitioning.requirements import Tally
from shoal.progress import Progress, silent

# Nearest groups that a group may be merged with; more are tried where no union with these is enough.
NEAREST, WIDER = 9, 65
# Up to so many groups, all are looked at, and SciPy, which takes longer to load than they to look at, is done without.
FEW = 500
# Of more groups than this, an index of many coordinates finds the nearest.
MANY = 20_000
# A union that still falls short must be merged again: its cost counts this many times, and more with its shortfall.
AGAIN = 10.0


class Strategy(Protocol):
    """The groups of a partition, numbered from 0 to m - 1, and the choice of which to merge."""

    def falling_short(self) -> Array:
        """Return int64[b]: the groups that fall short, in ascending order."""

    def choose(self, short: Array) -> Array:
        """Return int64[m]: the group that each group joins, or itself if it stays. There are no chains."""

    def merge(self, target: Array) -> None:
        """Merge group g into group target[g] (int64[m]). The new groups are numbered 0, 1, ... without gaps."""


def merge(labels: Array, strategy: Strategy, report: Progress = silent, until: float = np.inf) -> Array:
    """Merge groups in rounds until none falls short or only one is left; return the labels.

    If there is no time left, all groups that fall short become one; if that still falls short, all do.

    Parameters
    ----------
    labels : int64[n]
        From 0 to m - 1 without gaps.
    strategy : Strategy
        Of the same groups.
    report : callable
    until : float
    """
    part_of = np.arange(int(labels.max()) + 1)
    groups, most = len(part_of), 0
    late = False
    while True:
        short = strategy.falling_short()
        most = max(most, len(short))
        if len(short) == 0 or groups == 1:
            return part_of[labels]
        report(1 - len(short) / most)
        if until < np.inf and time.perf_counter() >= until:
            joined = np.zeros(groups, np.int64) if late else _in_one(short, groups)
            late = True
        else:
            joined = strategy.choose(short)
        stay = joined == np.arange(groups)
        target = (np.cumsum(stay) - 1)[joined]
        strategy.merge(target)
        part_of, groups = target[part_of], int(stay.sum())


def _in_one(short: Array, groups: int) -> Array:
    """Return int64[m]: the groups that fall short join the first of them, or the first group if there is only one."""
    joined = np.arange(groups)
    joined[short] = short[0]
    if len(short) == 1:
        joined[1 if short[0] == 0 else short[0]] = 0
    return joined


def _finder(means: Array) -> Callable[[Array, int], tuple[Array, Array]]:
    """Return what finds the distances and numbers of the groups with the means nearest to some, and how many."""
    if len(means) <= FEW:
        return lambda queries, width: _found_plainly(means, queries, width) or _tree(means).query(queries, k=width)
    if len(means) <= MANY:
        tree = _tree(means)
        return lambda queries, width: tree.query(queries, k=width)
    pool = Pool(means)

    def find(queries: Array, width: int) -> tuple[Array, Array]:
        nearest, squares = pool.nearest_each(np.ascontiguousarray(queries), width)
        return np.sqrt(squares), nearest

    return find


def _tree(means: Array) -> Any:
    from scipy.spatial import cKDTree

    return cKDTree(means)


def _found_plainly(means: Array, queries: Array, width: int) -> tuple[Array, Array] | None:
    """Return what the tree would find, to the bit, without loading SciPy; None where ties leave it to the tree."""
    # Four sums side by side, as those of the tree.
    sums, d = [np.zeros((len(queries), len(means))) for _ in range(4)], means.shape[1]
    whole = d - d % 4
    for j in range(d):
        if j == whole:
            sums[0] = sums[0] + sums[1] + sums[2] + sums[3]
        apart = queries[:, j, None] - means[None, :, j]
        with np.errstate(over="ignore"):  # then the tree decides
            sums[j % 4 if j < whole else 0] += apart * apart
    squares = sums[0] if d % 4 else sums[0] + sums[1] + sums[2] + sums[3]
    order = np.argsort(squares, axis=1, kind="stable")[:, : width + 1]
    nearest = np.take_along_axis(squares, order, axis=1)
    if not np.isfinite(nearest).all() or (nearest[:, 1:] == nearest[:, :-1]).any():
        return None
    return np.sqrt(nearest[:, :width]), order[:, :width]


class Cheapest:
    """Merge each group that falls short with a near one, where this costs least.

    The cost is the increase of the squared error. Unions that satisfy everything are preferred where the tally can
    judge them. In each round the cheapest pairs come first, and a group takes part in at most one pair.

    Parameters
    ----------
    X : float64[n, d]
    labels : int64[n]
        From 0 to m - 1 without gaps.
    k : int
    tally : Tally
    """

    def __init__(self, X: Array, labels: Array, k: int, tally: Tally) -> None:
        self.labels, self.k, self.tally = labels, k, tally
        self.sizes, self.means = np.bincount(labels), group_means(X, labels)

    def falling_short(self) -> Array:
        """Return the groups with fewer than k records or another shortfall."""
        return np.flatnonzero(self.tally.falls_short(self.labels, self.means) | (self.sizes < self.k))

    def choose(self, short: Array) -> Array:
        """Return the group that each group joins. Of a pair, the group with the lower number stays."""
        costs, partners = self._partners(short)
        joined, used = np.arange(len(self.sizes)), np.zeros(len(self.sizes), bool)
        for p in np.argsort(costs, kind="stable").tolist():
            a, b = int(short[p]), int(partners[p])
            if not (used[a] or used[b]):
                joined[max(a, b)] = min(a, b)
                used[a] = used[b] = True
        return joined

    def merge(self, target: Array) -> None:
        """Pool labels, sizes, means and the tally."""
        self.tally.merge(target)
        self.labels = target[self.labels]
        sizes = np.bincount(target, self.sizes).astype(np.int64)
        self.means = np.column_stack([np.bincount(target, x * self.sizes) for x in self.means.T]) / sizes[:, None]
        self.sizes = sizes

    def _partners(self, short: Array) -> tuple[Array, Array]:
        """Return float64[b], the least cost of merging each group, and int64[b], its partner."""
        find = _finder(self.means)
        costs, partners = np.full(len(short), np.inf), np.zeros(len(short), np.int64)
        left = np.arange(len(short))
        for wide in (NEAREST, WIDER):
            own, width = short[left], min(len(self.sizes), wide)
            distances, nearest = find(self.means[own], width)
            known = costs[left] if wide == WIDER else None
            amounts, enough = self._costs(own, nearest, distances, known)
            best = amounts.argmin(axis=1)
            line = np.arange(len(own))
            chosen = nearest[line, best]
            # Where all costs overflow, the nearest other group is taken.
            lone = chosen == own
            chosen[lone] = np.where(nearest[lone, 0] == own[lone], nearest[lone, 1], nearest[lone, 0])
            # If none of more groups costs less, the one that is known stays: equally near ones may have crowded it out.
            new = np.isfinite(amounts[line, best]) | ~np.isfinite(costs[left])
            partners[left[new]], costs[left[new]] = chosen[new], amounts[line, best][new]
            if enough is None:
                break
            # Groups with equal means may crowd out all others.
            left = left[~(enough & np.isfinite(amounts)).any(axis=1) & (costs[left] > 0)]
            if width == len(self.sizes) or len(left) == 0:
                break
        return costs, partners

    def _costs(self, own: Array, nearest: Array, distances: Array, known: Array | None) -> tuple[Array, Array | None]:
        """Return float64[b, w], the cost of each union, and bool[b, w], whether it is enough; None if unknown.

        Unions are not judged if that changes nothing: those that cost more than float64[b] `known` count as infinite,
        and of those of a group that can be merged at no cost, with one of the same mean, the first is best anyway.
        """
        a, b = self.sizes[own][:, None], self.sizes[nearest]
        amounts = np.where(nearest == own[:, None], np.inf, a * b / (a + b) * distances**2)
        if known is not None:
            amounts[amounts > known[:, None]] = np.inf
        judged = np.isfinite(amounts) & (amounts > 0).all(axis=1, keepdims=True)
        at, place = np.nonzero(judged)
        gaps = self.tally.gaps(own[at], nearest[at, place])
        if gaps is None:
            return amounts, None
        enough = np.zeros(amounts.shape, bool)
        enough[at, place] = gaps == 0
        enough &= a + b >= self.k
        again = np.full(amounts.shape, AGAIN)
        again[at, place] *= 1 + gaps
        return np.where(enough, amounts, again * amounts), enough


class _Callable:
    """A tally that asks a callable anew in every round."""

    def __init__(self, falls_short: Callable[[Array], Array]) -> None:
        self.of = falls_short

    def falls_short(self, labels: Array, means: Array) -> Array:
        return self.of(labels)

    def gaps(self, first: Array, second: Array) -> None:
        return None

    def merge(self, target: Array) -> None:
        return None

    def refuse(self) -> None:
        return None


class Nearest(Cheapest):
    """`Cheapest` without a tally: a callable decides which groups fall short, and no union is judged in advance.

    Parameters
    ----------
    X : float64[n, d]
    labels : int64[n]
        From 0 to m - 1 without gaps.
    falls_short : callable
        Takes labels, returns bool[m]. A single group must not fall short.
    """

    def __init__(self, X: Array, labels: Array, falls_short: Callable[[Array], Array]) -> None:
        super().__init__(X, labels, 1, _Callable(falls_short))
        self.X = X

    def merge(self, target: Array) -> None:
        """Pool the groups. Means come from the records, so that rounding errors do not add up over the rounds."""
        super().merge(target)
        self.means = group_means(self.X, self.labels)
