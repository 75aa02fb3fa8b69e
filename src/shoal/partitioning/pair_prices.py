"""Prices at which no group is cheaper than its records, from pairs and triangles: for any k and any number of records.

How prices follow from a division of all pairs between their records is told in :mod:`shoal.kernels.pair_prices`. Here
the division is improved, so that the sum of prices rises: by subgradients, with triangles added where they help. That
is the dual of a relaxation of set partitioning that has pairs in place of groups. There are n^2 pairs however large k
is, and hardly any but those of near neighbours matter. So nothing is enumerated, and no solver is needed.
"""

from __future__ import annotations

import logging
import time

import numpy as np

from shoal.arrays import Array
from shoal.kernels import pair_prices as _kernels
from shoal.partitioning.pool import nearest_others
from shoal.progress import Progress, silent

log = logging.getLogger("shoal")

# Neighbours whose pairs with a record are listed, besides 2k; and most of them for all records together.
MORE = 6
MOST_PAIRS = 60_000_000
# Triangles that are added for each record at a time, and the least violation, as a share of 1/k.
TRIANGLES, LEAST_VIOLATION = 12, 0.03
# Steps before triangles are looked for, first and at most; and how much longer each time.
FIRST_STEPS, MOST_STEPS, LONGER = 40, 400, 1.15
# Pairs and triangles that are looked at before the clock is read again.
STRETCH = 4_000_000
# The rise of the sum of prices that is aimed at first, and at least after triangles were added.
RISE, RISE_AGAIN = 0.1, 0.01
# It ends when the last rounds raised the sum by less than this.
SMALL_GAIN, ROUNDS = 1e-3, 10
# Coordinates that are looked at to see how far a record may reach, in each round.
REACHED = 1_000_000_000
# Larger squared distances count as this, which is less.
LARGEST = 1e250


def pair_prices(
    X: Array, k: int, still: Array | None = None, end: float = np.inf, report: Progress = silent, n_jobs: int = 1
) -> Array | None:
    """Return prices of all records, none of which groups of k records or more undercut; None if there are too many.

    Parameters
    ----------
    X : float64[n, d]
        At least 2k records.
    k : int
    still : bool[n], optional
        Records whose price is to be 0.
    end : float
        When to stop, on the clock of `time.monotonic`.
    report : callable
    n_jobs : int
        Threads of the search for neighbours.

    Returns
    -------
    float64[n] or None
    """
    n = len(X)
    width = min(2 * k + MORE, n - 1)
    if n * width > MOST_PAIRS:
        return None
    ascent = _Ascent(X, k, np.zeros(n, bool) if still is None else still, *nearest_others(X, width, n_jobs))
    begun, sums, steps = time.monotonic(), [0.0], float(FIRST_STEPS)
    while time.monotonic() < end:
        ascent.climb(int(steps), end)
        sums.append(float(ascent.control[0]))
        log.debug("pairs: bound up to %.6f, %d triangles", sums[-1] / n, len(ascent.triples))
        if len(sums) > ROUNDS and sums[-1] <= sums[-ROUNDS] * (1 + SMALL_GAIN):
            break
        ascent.widen()
        ascent.extend()
        steps = min(MOST_STEPS, LONGER * steps)
        report(min(1.0, (time.monotonic() - begun) / max(1e-9, end - begun)))
    return ascent.prices()[0]


def compile_pair_prices(X: Array, k: int) -> None:
    """Take a step with a few records: compiling is not to count where time is limited."""
    few = X[: 4 * k]
    ascent = _Ascent(few, k, np.zeros(len(few), bool), *nearest_others(few, min(2 * k + MORE, len(few) - 1)))
    ascent.climb(1, np.inf)
    ascent.widen()
    ascent.extend()


class _Ascent:
    """A division of all pairs of records, on its way to higher prices.

    Parameters
    ----------
    X : float64[n, d]
    k : int
    still : bool[n]
    near : int64[n, q], squares : float64[n, q]
        The neighbours of all records, and their squared distances.
    """

    def __init__(self, X: Array, k: int, still: Array, near: Array, squares: Array) -> None:
        self.X, self.k, self.n, self.still = X, k, len(X), still
        self.columns = np.ascontiguousarray(X.T)
        self.local = np.minimum(squares[:, : k - 1].sum(axis=1) / (2 * k), LARGEST)
        # A pair that is not listed is no shorter than either radius. If all are, nobody reaches further.
        self.radii = np.minimum(squares[:, -1], LARGEST)
        self.far = np.full(self.n, np.inf) if near.shape[1] == self.n - 1 else 0.5 * self.radii
        self.widened = still.copy()
        rows = np.arange(self.n)[:, None]
        self._set_pairs(np.unique(np.minimum(rows, near) * self.n + np.maximum(rows, near)))
        # Who has the price 0 leaves the whole distance to the other.
        self.skew = 0.5 * self.squares * (still[self.second].astype(float) - still[self.first])
        self.triples, self.tau = np.empty((0, 3), np.int64), np.empty(0)
        self.best = (self.skew.copy(), self.tau.copy())
        self.averages = (np.zeros(len(self.codes)), np.full(self.n, 1.0 / k))
        total = float(self.prices()[0].sum())
        self.control = np.array([total, RISE * abs(total), 0.0, total])

    def _set_pairs(self, codes: Array) -> None:
        """List the pairs of codes first * n + second: int64[m], ascending."""
        n, m = self.n, len(codes)
        self.codes, self.first, self.second = codes, codes // n, codes % n
        squares = ((self.X[self.first] - self.X[self.second]) ** 2).sum(axis=1) if m < STRETCH else self._squares()
        self.squares = np.minimum(squares, LARGEST)
        moving = ~(self.still[self.first] | self.still[self.second])
        self.ease = moving * (self.squares + self.local[self.first] + self.local[self.second])
        owners, others = np.concatenate([self.first, self.second]), np.concatenate([self.second, self.first])
        order = np.argsort(owners * n + others)
        starts = np.append(0, np.cumsum(np.bincount(owners, minlength=n)))
        self.lists = (starts, (order % m).astype(np.int32), order < m)
        self.others = others[order].astype(np.int32)

    def _squares(self) -> Array:
        """Return the squared distances of all pairs, without a copy of both records of each."""
        squares = np.zeros(len(self.codes))
        for column in self.columns:
            squares += (column[self.first] - column[self.second]) ** 2
        return squares

    @property
    def triangles(self) -> Array:
        """Return the triangles with the pairs ij, il and jl: int32[t, 4]."""
        i, j, l = self.triples.T  # noqa: E741
        pairs = [
            np.searchsorted(self.codes, np.minimum(a, b) * self.n + np.maximum(a, b))
            for a, b in ((i, j), (i, l), (j, l))
        ]
        return np.stack([i, *pairs], axis=1).astype(np.int32)

    def prices(self) -> tuple[Array, Array]:
        """Return the best prices so far, and the most that each record pays for a pair."""
        prices, need = np.empty(self.n), np.empty(self.n)
        skew, tau = self.best
        _kernels.pay(self.k, self.lists, self.squares, skew, self.far, self.triangles, tau, prices, need)
        prices[self.still] = 0.0
        return prices, need

    def climb(self, steps: int, end: float) -> None:
        """Take some steps."""
        triangles = self.triangles
        at_once = max(1, STRETCH // (len(self.codes) + len(triangles)))
        now = (self.skew, self.tau)
        while steps > 0 and time.monotonic() < end:
            _kernels.ascend(
                self.k, self.lists, self.squares, self.ease, self.far, triangles, now, self.best, self.averages,
                self.control, min(steps, at_once),
            )  # fmt: skip
            steps -= at_once

    def widen(self) -> None:
        """Let records that would choose pairs that are not listed pay more for these, as far as the others allow."""
        rows = np.flatnonzero(~self.widened & (self.prices()[1] >= self.far))
        rows = rows[np.argsort(-self.radii[rows], kind="stable")][: max(1, REACHED // self.X.size)]
        _kernels.reach(self.columns, rows, self.radii, self.far)
        self.widened[rows] = True

    def extend(self) -> None:
        """Add the triangles that the averages violate most, and drop those without a price."""
        triples, values = np.empty((TRIANGLES * self.n, 3), np.int32), np.empty(TRIANGLES * self.n)
        count = _kernels.violated(
            self.lists, self.others, self.ease, self.averages, LEAST_VIOLATION / self.k, TRIANGLES, triples, values
        )
        kept = (self.tau > 0) | (self.best[1] > 0)
        old, new = self.triples[kept], triples[:count].astype(np.int64)
        both = np.concatenate([old, new])
        order = np.unique((both[:, 0] * self.n + both[:, 1]) * self.n + both[:, 2], return_index=True)[1]
        self.triples = both[order]
        padded = [np.append(x[kept], np.zeros(count))[order] for x in (self.tau, self.best[1])]
        self.tau = padded[0]
        added = len(order) - len(old)
        if added:
            self.control[1] = max(self.control[1], RISE_AGAIN * abs(self.control[0]) * min(1.0, added / self.n))
        codes = np.union1d(self.codes, np.minimum(new[:, 1], new[:, 2]) * self.n + np.maximum(new[:, 1], new[:, 2]))
        place = np.searchsorted(codes, self.codes)
        if len(codes) > len(self.codes):
            self._set_pairs(codes)
        self.skew = self._placed(self.skew, place)
        self.best = (self._placed(self.best[0], place), padded[1])
        self.averages = (self._placed(self.averages[0], place), self.averages[1])

    def _placed(self, values: Array, place: Array) -> Array:
        """Return values of pairs (0 for new ones) at their places among those listed now."""
        result = np.zeros(len(self.codes))
        result[place] = values
        return result
