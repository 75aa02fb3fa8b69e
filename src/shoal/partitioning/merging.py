"""Merging groups until none falls short of what is required.

There is one loop. Which groups fall short and which others they are merged with is decided by a strategy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from shoal.partitioning.requirements import Tally
from shoal.progress import Progress, silent

Array = np.ndarray[Any, Any]

# Groups around one that falls short with which it may be merged; more of them where no union of these is enough.
NEAREST, WIDER = 9, 65
# A union that still falls short has to be merged again: its cost counts this many times, and more the more it lacks.
AGAIN = 10.0


class Strategy(Protocol):
    """The groups of a partition, numbered 0 .. m - 1, and the choice of what to merge."""

    def falling_short(self) -> Array:
        """Return int64[b]: the groups that fall short, rising."""

    def choose(self, short: Array) -> Array:
        """Return int64[m]: the group that each group joins, itself for those that stay; no chains."""

    def merge(self, target: Array) -> None:
        """Make group g part of group target[g], int64[m]; the new groups are 0, 1, .. without a gap."""


def merge(labels: Array, strategy: Strategy, report: Progress = silent) -> Array:
    """Return the labels after merging groups in rounds, until none falls short or one is left.

    Parameters
    ----------
    labels : int64[n]
        0 .. m - 1 without a gap.
    strategy : Strategy
        Of the same groups.
    report : callable
    """
    part_of = np.arange(int(labels.max()) + 1)
    groups, most = len(part_of), 0
    while True:
        short = strategy.falling_short()
        most = max(most, len(short))
        if len(short) == 0 or groups == 1:
            return part_of[labels]
        report(1 - len(short) / most)
        joined = strategy.choose(short)
        stay = joined == np.arange(groups)
        target = (np.cumsum(stay) - 1)[joined]
        strategy.merge(target)
        part_of, groups = target[part_of], int(stay.sum())


class Cheapest:
    """Merge each group that falls short with a near one, where this costs least.

    The cost is the rise of the squared error. Unions that satisfy everything are preferred where the tally can tell. In
    each round the cheapest pairs come first, and a group takes part in one of them.

    Parameters
    ----------
    X : float64[n, d]
    labels : int64[n]
        0 .. m - 1 without a gap.
    k : int
    tally : Tally
    """

    def __init__(self, X: Array, labels: Array, k: int, tally: Tally) -> None:
        self.labels, self.k, self.tally = labels, k, tally
        self.sizes, self.means = np.bincount(labels), means_of(X, labels)

    def falling_short(self) -> Array:
        """Return the groups with fewer than k records or something else missing."""
        return np.flatnonzero(self.tally.falls_short(self.labels, self.means) | (self.sizes < self.k))

    def choose(self, short: Array) -> Array:
        """Return the group that each joins; of two the one with the lower number stays."""
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
        """Return float64[b]: what merging each group costs at least; int64[b]: with whom."""
        from scipy.spatial import cKDTree

        tree = cKDTree(self.means)
        costs, partners = np.full(len(short), np.inf), np.zeros(len(short), np.int64)
        left = np.arange(len(short))
        for wide in (NEAREST, WIDER):
            own, width = short[left], min(len(self.sizes), wide)
            distances, nearest = tree.query(self.means[own], k=width)
            amounts, enough = self._costs(own, nearest, distances)
            best = amounts.argmin(axis=1)
            line = np.arange(len(own))
            chosen = nearest[line, best]
            # Where all costs overflow, the nearest other group is taken.
            lone = chosen == own
            chosen[lone] = np.where(nearest[lone, 0] == own[lone], nearest[lone, 1], nearest[lone, 0])
            partners[left], costs[left] = chosen, amounts[line, best]
            if enough is None:
                break
            # Groups with equal means may hide all others.
            left = left[~(enough & np.isfinite(amounts)).any(axis=1)]
            if width == len(self.sizes) or len(left) == 0:
                break
        return costs, partners

    def _costs(self, own: Array, nearest: Array, distances: Array) -> tuple[Array, Array | None]:
        """Return float64[b, w]: what each union costs; bool[b, w]: whether it is enough, None if that is not known."""
        a, b = self.sizes[own][:, None], self.sizes[nearest]
        amounts = np.where(nearest == own[:, None], np.inf, a * b / (a + b) * distances**2)
        gaps = self.tally.gaps(np.repeat(own, nearest.shape[1]), nearest.ravel())
        if gaps is None:
            return amounts, None
        gaps = gaps.reshape(amounts.shape)
        enough = (gaps == 0) & (a + b >= self.k)
        return np.where(enough, amounts, AGAIN * (1 + gaps) * amounts), enough


class _Callable:
    """The tally of a callable that is asked anew in every round."""

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
    """The same without a tally: a callable says which groups fall short, and no union is judged in advance.

    Parameters
    ----------
    X : float64[n, d]
    labels : int64[n]
        0 .. m - 1 without a gap.
    falls_short : callable
        Takes labels, returns bool[m]. A single group must not fall short.
    """

    def __init__(self, X: Array, labels: Array, falls_short: Callable[[Array], Array]) -> None:
        super().__init__(X, labels, 1, _Callable(falls_short))
        self.X = X

    def merge(self, target: Array) -> None:
        """Pool the groups; the means are those of the records, without what rounding adds up to over the rounds."""
        super().merge(target)
        self.means = means_of(self.X, self.labels)


def means_of(X: Array, labels: Array) -> Array:
    """Return float64[m, d]: the mean of each group."""
    sizes = np.bincount(labels)
    return np.column_stack([np.bincount(labels, column) / sizes for column in X.T])
