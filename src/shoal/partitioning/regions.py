"""A lower bound for many records: prices that hold for all groups, raised region by region.

Prices are *valid* if no group of k to 2k - 1 records is cheaper than its records (see
:mod:`shoal.partitioning.cover_prices`); their sum is then a bound. Those from pairs are valid
(:mod:`shoal.partitioning.pair_prices`). From there they are raised:

1. *A region* is some hundred records that lie together. With the prices of all records around it fixed, a linear
   programme finds the best prices of its own records, by column generation with exact pricing among the region and the
   neighbours of its records (the *rim*). A group that reaches across the edge pays the fixed prices of the rim. So the
   sum of prices never falls, and no region needs to know more than its rim: this is block coordinate ascent on the
   dual of set partitioning, with one block for each region.
2. *A pass* goes through regions that together hold every record. The next pass has other regions, cut in other
   directions, so that records at an edge come to lie inside.
3. *The check* after each pass lists all groups of the whole table that are cheaper than their records
   (:mod:`shoal.partitioning.price_tree`), such as those with members beyond a rim, and lowers prices until there are
   none. Only prices that passed it count. Valid prices form a convex set: if the list is too long, a point on the way
   back to the last valid prices is taken.

Time and memory grow little faster than the number of records. Of k or more equal records each has the price 0 in any
valid and symmetric prices, so they are kept at 0, and 2k - 1 of them stand for all.
"""

from __future__ import annotations

import logging
import time
from math import fsum

import numpy as np

from shoal.arrays import Array
from shoal.kernels import pricing as _pricing
from shoal.partitioning.cover_cuts import Cuts
from shoal.partitioning.cover_prices import Effort, Pricing
from shoal.partitioning.cover_programme import Programme, descents, first_groups
from shoal.partitioning.neighbour_bound import SAFE, neighbour_prices
from shoal.partitioning.pair_prices import compile_pair_prices, pair_prices
from shoal.partitioning.pool import nearest_others
from shoal.partitioning.price_tree import TreePricing
from shoal.progress import Progress, part, silent

log = logging.getLogger("shoal")

# The share of the time for prices from pairs.
FIRST_SHARE = 0.4
# Most records in a region, for k up to 3. Large regions have few records at an edge; but for larger k, there are far
# more groups to price in a region of the same size.
REGION, LEAST_REGION = 3000, 300
# Neighbours of each record that make up the rim, besides 2k.
RIM = 6
# A region is done when its prices are this close to the best possible, relative to their sum.
CLOSE = 1e-3
# Passes end when one raises the bound by less than this.
SMALL_GAIN = 5e-4
# Reduced costs above -RHO per record count as zero; the bound is lowered accordingly.
RHO = 1e-8
# Weights to compute in a region, for each size, before prices are given up as too hard.
FIRST_WEIGHTS = 20_000_000
NEW_COLUMNS = 2000
SUBSETS = 80
# Where a region is cut from its surroundings: shares of the records on either side.
SHARES = (0.35, 0.65)
# Records on which the time of a check is measured.
SOME = 2048
# Weights and groups of the check of all prices.
CHECK = (20_000_000_000, 4_000_000)


def regions_bound(
    X: Array, k: int, time_limit: float = 300.0, report: Progress = silent, n_jobs: int = 1, most: int | None = None
) -> float:
    """Return a lower bound on the squared error of all partitions into groups of at least k records.

    Parameters
    ----------
    X : float64[n, d]
        At least 2k records.
    k : int
    time_limit : float
        About how many seconds it may take. The bound is never below the neighbour bound, whatever the time.
    report : callable
    n_jobs : int
        Threads of the check and of the search for neighbours.
    most : int or None
        Most records in a region; None: as suits k.
    """
    if k > 2:
        compile_pair_prices(X, k)
    start = time.monotonic()
    most = min(REGION, max(LEAST_REGION, 27 * REGION // k**3)) if most is None else most
    quick = neighbour_prices(X, k, n_jobs)
    least = fsum(quick)
    if least == 0:
        return 0.0
    rows, still = _distinct(X, k)
    end, points = start + time_limit, np.ascontiguousarray(X[rows])
    first = start + FIRST_SHARE * time_limit
    prices = pair_prices(points, k, still, first, part(report, 0.0, FIRST_SHARE), n_jobs) if k > 2 else None
    prices = quick[rows] if prices is None or fsum(prices) < least else prices
    least = max(least, fsum(prices) * (1 - SAFE))
    scale = len(rows) / least
    ascent = _Ascent(points * np.sqrt(scale), k, prices * scale, still, n_jobs)
    done = 0
    while ascent.improve(done, most, end, report, (time.monotonic() - start) / max(time_limit, 1e-9)):
        done += 1
    report(1.0)
    # Those that were left out have the price 0, less what all were lowered by.
    left_out = ascent.base * (len(X) - len(rows))
    return max(least, (fsum(ascent.valid) - left_out) / scale * (1 - SAFE))


def _distinct(X: Array, k: int) -> tuple[Array, Array]:
    """Return the records to look at (int64[m]), and which of them have k - 1 or more equals (bool[m])."""
    _, kind, counts = np.unique(X + 0.0, axis=0, return_inverse=True, return_counts=True)
    kind = kind.reshape(-1)
    order = np.argsort(kind, kind="stable")
    rank = np.empty(len(X), np.int64)
    rank[order] = np.arange(len(X)) - np.repeat(np.cumsum(counts) - counts, counts)
    many = counts[kind] >= k
    rows = np.flatnonzero(~many | (rank < 2 * k - 1))
    return rows, many[rows]


class _Ascent:
    """Prices of all records, on their way up.

    Parameters
    ----------
    X : float64[n, d]
        Scaled so that the neighbour bound is n.
    k : int
    prices : float64[n]
        Valid ones.
    still : bool[n]
        Records whose prices stay as they are.
    n_jobs : int
    """

    def __init__(self, X: Array, k: int, prices: Array, still: Array, n_jobs: int) -> None:
        self.X, self.k, self.n, self.still = X, k, len(X), still
        self.valid, self.base = prices, 0.0
        self.near = nearest_others(X, min(2 * k + RIM, self.n - 1), n_jobs)[0].astype(np.int32)
        self.check = TreePricing(X, k, n_jobs)
        self.checking = self._seconds()  # for a check

    def _seconds(self) -> float:
        """Return about how long a check takes, from the first step of one for some of the records."""
        some = min(self.n, SOME)
        begun = time.monotonic()
        self.check.look(self.valid, self.k, some)
        return 4 * (time.monotonic() - begun) * self.n / some * (self.check.most - self.k + 1)

    def improve(self, number: int, most: int, end: float, report: Progress, shown: float) -> bool:
        """Make a pass and check its prices; return whether another one may be worth it."""
        begun = time.monotonic()
        prices, before = self.valid.copy(), fsum(self.valid)
        free = np.flatnonzero(~self.still)
        if not len(free) or self.checking > 0.5 * (end - begun):
            return False
        parts = _regions(self.X[free], most, np.random.default_rng(number))
        for done, one in enumerate(parts):
            left = end - time.monotonic() - 1.5 * self.checking
            if left <= 0:
                break
            region = free[one]
            rim = np.setdiff1d(self.near[region], region)
            rows = np.concatenate([region, rim])
            higher = raised(self.X[rows], self.k, prices[rows], len(region), time.monotonic() + left)
            # Records that others stand for must keep the price of those.
            prices[rows] = np.where(self.still[rows], prices[rows], higher)
            report(min(0.99, shown + (1 - shown) * (done + 1) / len(parts) * 0.5))
        passed = time.monotonic()
        self._settle(prices, max(end, passed + 3 * self.checking))
        self.checking = time.monotonic() - passed
        gain = fsum(self.valid) / before - 1
        log.debug("regions: pass %d, bound up by %.3f %%", number + 1, 100 * gain)
        another = 2 * self.checking + 0.3 * (passed - begun)
        return gain > SMALL_GAIN and time.monotonic() + another < end

    def _settle(self, prices: Array, end: float) -> None:
        """Make prices valid by lowering them, or those on the way to them from the last valid ones."""
        step, none = 1.0, np.empty(0)
        for _ in range(4):
            point = self.valid + step * (prices - self.valid)
            listed = self.check.groups(point, Cuts(self.n), none, -RHO, Effort(end, *CHECK))
            if listed.complete:
                lowered = self._lowered(point, listed.groups, listed.reduced)
                if fsum(lowered) > fsum(self.valid):
                    self.valid, self.base = lowered, self.base + RHO
                return
            step /= 2

    def _lowered(self, prices: Array, groups: Array, reduced: Array) -> Array:
        """Return prices at which no group is cheaper than its records; those that stay as they are give nothing.

        A group of such records alone is not cheaper than they are, so that another one always can.
        """
        order = np.argsort(reduced, kind="stable")
        able = np.append(np.where(self.still, self.n, np.arange(self.n)), self.n).astype(np.int32)
        giving = able[groups[order]]
        result: Array = _pricing.lowered(prices, giving, np.minimum(reduced[order], 0.0), RHO)
        return result


def _regions(X: Array, most: int, rng: np.random.Generator) -> list[Array]:
    """Return rows in regions of at most `most` records, cut across directions in which they spread."""
    todo, done = [np.arange(len(X))], []
    while todo:
        rows = todo.pop()
        if len(rows) <= most:
            done.append(rows)
            continue
        points = X[rows] - X[rows].mean(axis=0)
        spread, axes = np.linalg.eigh(points.T @ points)
        direction = axes @ (np.sqrt(np.maximum(spread, 0.0)) * rng.normal(size=len(spread)))
        cut = int(len(rows) * rng.uniform(*SHARES))
        order = rows[np.argsort(points @ direction, kind="stable")]
        todo += [order[:cut], order[cut:]]
    return done


def raised(X: Array, k: int, prices: Array, own: int, end: float) -> Array:
    """Raise the prices of the first records, given those of the others.

    Parameters
    ----------
    X : float64[n, d]
        A region and its rim.
    k : int
    prices : float64[n]
        Valid among these records, up to rounding.
    own : int
        Number of records in the region.
    end : float
        When to stop, on the clock of `time.monotonic`.

    Returns
    -------
    float64[n]
        Valid prices with a sum that is no lower.
    """
    n = len(X)
    if n < 2 * k:
        return prices
    pricing, none, no_cuts = Pricing(X, k), np.empty(0), Cuts(n)
    programme = Programme(X, pricing.most, prices[own:])
    near = nearest_others(X, min(3 * k + 2, n - 1))[0].astype(np.int32)
    programme.add(first_groups(near, k, pricing.most, SUBSETS if k <= 4 else SUBSETS // 2))
    away = 10.0 * max(1.0, float(prices.max()))
    programme.limit(prices[:own] - away, prices[:own] + away)
    step, weights = 0.5, FIRST_WEIGHTS
    while time.monotonic() < end and weights <= 4 * FIRST_WEIGHTS:
        solved = programme.solve(end, k >= 5)
        if solved is None or prices[:own].sum() >= solved.value - CLOSE * abs(solved.value):
            break
        wanted = np.append(solved.records, prices[own:])
        point = prices + step * (wanted - prices)
        listed = pricing.groups(point, no_cuts, none, -RHO, Effort(end, weights))
        better = False
        if listed.complete:
            lowered = pricing.feasible(point, no_cuts, none, listed, -RHO).records
            better = lowered.sum() > prices.sum()
            prices = lowered if better else prices
        groups = np.concatenate([listed.groups, *(descents(X, p, programme.groups, near, k) for p in (wanted, point))])
        reduced = pricing.reduced(groups, wanted, no_cuts, none)
        order = np.argsort(reduced, kind="stable")[: 2 * NEW_COLUMNS]
        added = programme.add(groups[order[reduced[order] < -RHO * k]])
        if not listed.complete:
            step, weights = (step / 2, weights) if step > 0.1 else (0.1, 4 * weights)
        elif not added and step == 1.0 and not better:
            break
        elif not added:
            step = 1.0
        elif len(listed.groups) < NEW_COLUMNS:
            step = min(1.0, 1.5 * step)
    return prices
