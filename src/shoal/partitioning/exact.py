"""The optimum, with proof: always for few records, and for many if a proof is found in time.

Many records are left to :mod:`shoal.partitioning.covering`. This module solves the problem for few.

An optimal group has k to 2k - 1 records, as a larger one can be split without loss. So the problem is to
choose groups of these sizes that hold every record once, and their number g is from n / (2k - 1) to n / k.
Each g is solved separately; the squared error of the best partition known, the *ceiling*, falls on the way.

1. *Prices.* Give record i the price pi_i and a group as such the price q. A partition into g groups costs

       sum of pi + g q + sum over its groups of (cost - prices of its records - q),

   and if no group has a reduced cost (the bracket) below r, it costs at least sum of pi + g (q + r). The
   best prices solve a linear programme (choose fractions of groups that hold every record once and are g
   together). They are found by column generation: solve it over a few groups, list the groups of negative
   reduced cost at a point between its prices and the best ones so far, add them, repeat. Any prices give a
   valid bound, since r is taken over *all* groups by the enumeration of :mod:`shoal.kernels.branch`: the
   solver need not be trusted.
2. *Search.* A partition that costs at most T consists of groups whose reduced costs, less r, are not
   negative and sum to at most T - bound. So all groups up to that value are listed, and the cheapest
   partition made of them is found by depth first search. T starts near the bound, and its distance is
   doubled until a partition is found or the ceiling is reached; the first one found is optimal for its g.
3. *Two groups* need no prices: see :mod:`shoal.kernels.halving`.

Everything is computed in double precision. The proof states that no partition has a squared error below (1 -
TOLERANCE) times that of the result. For many records it is the (larger) TOLERANCE of
:mod:`shoal.partitioning.covering`, and the proof relies on HiGHS to solve the last mixed-integer programme correctly.
"""

from __future__ import annotations

import time
from math import inf
from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import TooLargeError
from shoal.kernels.branch import MEMORY_BITS, cheapest_cover, descend, groups_below, polish
from shoal.kernels.halving import longest_sum
from shoal.partitioning.maximum_distance import mdav, mdav_star
from shoal.partitioning.paths import cbfs_mhm, mdav_mhm, univariate
from shoal.partitioning.pool import squared_error
from shoal.progress import Progress, part, silent

TOLERANCE = 1e-9
# How close a bound must come to the value of the linear programme. It is valid in any case.
CLOSE = 1e-7
# A mask has 64 bits.
MOST_RECORDS = 62
MOST_GROUPS = 4_000_000
# Kicks of the search before a proof for many records, for every k records.
KICKS = 200
# Weight of the best prices so far against those of the last linear programme.
SMOOTHING = 0.6
NEW_COLUMNS = 300
DESCENTS = 100
MANY_COLUMNS = 4000
FIRST_GAP = 0.0025


def most_records(k: int) -> int:
    """Return the number of records up to which `exact` always proves the optimum, for this k.

    Thirty records take seconds, for any k and any data tried. Fewer than 3k make at most two groups, which is
    easy for as many records as a mask holds. Beyond, up to `covering.MOST_RECORDS`, it depends on the data: for
    k = 2, thousands were solved in less than a minute; for k = 3, a thousand in some minutes or not at all. In
    one coordinate, any number is solved.

    Examples
    --------
    >>> most_records(3), most_records(12), most_records(40)
    (30, 35, 62)
    """
    return min(max(30, 3 * k - 1), MOST_RECORDS)


def exact(X: Array, k: int, *, time_limit: float = 600.0, report: Progress = silent) -> Array:
    """Return a partition of least squared error, proven (relative tolerance 1e-9; 1e-6 for more than `most_records`).

    Set partitioning by column generation, enumeration within the gap and depth-first search (see the
    head of this module); one coordinate is left to `univariate`. Of several optima, any one is returned. For more than
    `most_records` it tries for `time_limit` seconds, with cuts and HiGHS at the end (see
    :mod:`shoal.partitioning.covering`), and raises TooLargeError if there is no proof by then.
    """
    n = len(X)
    if n < 2 * k:
        return np.zeros(n, np.int64)
    if X.shape[1] == 1:
        return univariate(X, k, report=report)
    return _few(X, k, report) if n <= most_records(k) else _many(X, k, time_limit, report)


def _many(X: Array, k: int, time_limit: float, report: Progress) -> Array:
    """Return the optimum of many records, if it can be proven in time."""
    from shoal.partitioning import covering
    from shoal.partitioning.anytime import anytime

    begin = time.monotonic()
    if len(X) > covering.MOST_RECORDS:
        raise TooLargeError(
            f"The method 'exact' takes at most {covering.MOST_RECORDS} records. Got {len(X)}.",
            hint="the method 'anytime' comes close to the optimum on many records, and lower_bound shows how close.",
        )
    # The better the partition to start from, the fewer groups are left for the proof.
    rng, steps = np.random.default_rng(0), KICKS * (len(X) // k)
    start = anytime(X, k, rng=rng, max_steps=steps, time_limit=time_limit / 4, report=part(report, 0.0, 0.1))
    if (X[np.unique(start, return_index=True)[1]][start] == X).all():
        return start  # all members are equal: an error of 0, which rounded bounds cannot prove
    left = time_limit - (time.monotonic() - begin)
    cover = covering.solve(X, k, start, max(left, time_limit / 2), part(report, 0.1, 1.0))
    if cover.proven:
        return cover.labels
    total = squared_error(X, np.zeros(len(X), np.int64))
    raise TooLargeError(
        f"The method 'exact' found no proof for {len(X)} records and k = {k} in {time_limit:g} s. No partition has a "
        f"loss below {100 * cover.bound / total:.6g} %; the best one found has {100 * cover.error / total:.6g} %.",
        hint=f"up to {most_records(k)} records always succeed; else take the method 'anytime', which comes close, or a "
        "longer time limit.",
    )


def _few(X: Array, k: int, report: Progress) -> Array:
    """Return the optimum of at most `most_records`."""
    n = len(X)
    D = np.zeros((n, n))
    for column in X.T:
        D += (column[:, None] - column[None, :]) ** 2
    labels, ceiling = _start(X, D, k)
    if ceiling == 0:
        return labels
    # From here on, the best known partition costs n: tolerances are relative to it.
    D *= n / ceiling
    best = float(n)
    numbers = range(n // k, (n - 1) // (2 * k - 1), -1)
    for done, g in enumerate(numbers):
        below = best * (1 - TOLERANCE)
        better = _two_groups(D, k, below) if g == 2 else _Covers(D, k, g).best(labels, below)
        if better is not None:
            labels = better
            best = squared_errors(D, labels)
        report((done + 1) / len(numbers))
    return labels


def squared_errors(D: Array, labels: Array) -> float:
    """Return the squared error of a partition from the squared distances of all pairs."""
    same = labels[:, None] == labels[None, :]
    return float(((D * same).sum(axis=1) / (2 * same.sum(axis=1))).sum())


def _start(X: Array, D: Array, k: int) -> tuple[Array, float]:
    """Return a good partition and its squared error: the best of some methods, polished by moves and swaps."""
    best, chosen = inf, np.zeros(len(X), np.int64)
    for method in (mdav, mdav_star, mdav_mhm, cbfs_mhm):
        labels = np.ascontiguousarray(method(X, k))
        polish(D, labels, np.bincount(labels), k)
        error = squared_errors(D, labels)
        if error < best:
            best, chosen = error, labels
    return chosen, best


def _two_groups(D: Array, k: int, below: float) -> Array | None:
    """Return the best division into two groups if it costs less than `below`."""
    n = len(D)
    means = D.mean(axis=1)
    norms = means - D.mean() / 2
    order = np.argsort(-norms, kind="stable")
    gram = (0.5 * (means[:, None] + means[None, :] - D.mean() - D))[np.ix_(order, order)]
    longest, signs = np.zeros(n + 1), np.zeros(n, np.int8)
    for p in range(n - 1, 0, -1):
        longest[p] = longest_sum(gram, p, 0, longest, 0.0, signs)
    whole = norms.sum()
    floor = whole - below
    if longest_sum(gram, 0, max(k, n - 2 * k + 1), longest, floor, signs) <= floor:
        return None
    labels = np.zeros(n, np.int64)
    labels[order] = signs > 0
    return labels


class _Duals(NamedTuple):
    """Dual prices of records (float64[n]) and of a group, the least reduced cost at them, and their bound."""

    records: Array
    group: float
    least: float
    bound: float


class _Covers:
    """Partitions into exactly g groups of k to 2k - 1 records."""

    def __init__(self, D: Array, k: int, g: int) -> None:
        # A group of s < 2k records costs at least D / s for each of its pairs, and the best known partition costs n:
        # larger entries of D make no difference.
        self.D, self.g, self.n = np.minimum(D, 4.0 * k * len(D)), g, len(D)
        self.sizes = range(k, min(2 * k - 1, self.n - (g - 1) * k) + 1)
        self._masks, self._values = np.empty(1 << 14, np.int64), np.empty(1 << 14)

    def best(self, labels: Array, below: float) -> Array | None:
        """Return the labels of the best partition if it costs less than `below`."""
        prices = self.bound(labels, below)
        gap = FIRST_GAP * prices.bound
        while prices.bound < below:
            ceiling = min(prices.bound + gap, below)
            cheaper = self.search(prices, ceiling)
            if cheaper is not None or ceiling == below:
                return cheaper
            gap *= 2
        return None

    def bound(self, labels: Array, below: float) -> _Duals:
        """Return the prices with the best bound, or with a bound of at least `below`."""
        masks = self._first_masks(labels)
        best: _Duals | None = None
        smoothing, budget = SMOOTHING, 2000
        edge = -TOLERANCE * below / self.g
        while True:
            value, y = self._programme(masks, 10 * below)
            if best is not None and best.bound >= min(below, value - CLOSE * below):
                return best
            point = y if best is None else smoothing * _joined(best) + (1 - smoothing) * y
            listed, reduced, complete = self.groups(point, edge, budget)
            better = False
            if complete:
                least = float(min(reduced.min(), edge)) if len(reduced) else edge
                sure = float(point[:-1].sum() + self.g * (point[-1] + least))
                better = best is None or sure > best.bound + CLOSE * below
                if best is None or sure > best.bound:
                    best = _Duals(point[:-1], float(point[-1]), least, sure)
            new = self._promising(np.concatenate([listed, self._descents(masks, y, edge)]), y, edge)
            new = np.setdiff1d(new, masks)
            if len(new):
                smoothing = SMOOTHING
                masks = np.concatenate([self._fewer(masks, y), new])
            elif best is None or (smoothing == 0.0 and not complete):
                budget *= 10
            elif smoothing == 0.0 and not better:
                return best
            elif not better:
                smoothing = smoothing / 2 if smoothing > 0.1 else 0.0

    def _promising(self, masks: Array, y: Array, edge: float) -> Array:
        """Return the groups with the lowest reduced costs, all of them below `edge`."""
        reduced = self._reduced(masks, y)
        order = np.argsort(reduced, kind="stable")[:NEW_COLUMNS]
        return masks[order[reduced[order] < edge]]

    def _descents(self, masks: Array, y: Array, edge: float) -> Array:
        """Return the groups reached from the cheapest ones by moves and swaps that lower the reduced cost."""
        start = np.argsort(self._reduced(masks, y), kind="stable")[:DESCENTS]
        least, most = self.sizes[0], self.sizes[-1]
        reached: Array = descend(self.D, y[:-1], self._members(masks[start]), least, most, -edge)
        return reached

    def search(self, prices: _Duals, ceiling: float) -> Array | None:
        """Return the labels of the best partition that costs less than `ceiling`, None if there is none."""
        n, g = self.n, self.g
        room = ceiling - prices.bound
        masks, values, _ = self.groups(_joined(prices), prices.least + room, None)
        values = np.maximum(values - prices.least, 0.0)
        # Records in few groups come first, as they leave the fewest choices.
        members = self._members(masks)
        order = np.argsort(members.sum(axis=0), kind="stable")
        members = members[:, order]
        lowest = members.argmax(axis=1)
        ranked = np.lexsort((values, lowest))
        masks, values = (members @ (1 << np.arange(n)))[ranked], values[ranked]
        starts = np.searchsorted(lowest[ranked], np.arange(n + 1))
        chosen, least = np.full(g, -1), room
        memory = np.zeros((1 << MEMORY_BITS, 2), np.int64), np.zeros(1 << MEMORY_BITS)
        for first in range(starts[1]):
            least = cheapest_cover((masks, values, starts), first, g, least, memory, chosen)
        if chosen[0] < 0:
            return None
        labels = np.empty(n, np.int64)
        labels[order] = self._members(masks[chosen]).argmax(axis=0)
        return labels

    def groups(self, point: Array, limit: float, budget: int | None) -> tuple[Array, Array, bool]:
        """List all groups with a reduced cost of at most `limit` at the prices `point` (records, then group).

        Returns
        -------
        masks : int64[c], reduced : float64[c]
        complete : bool
            False if `budget` steps for each size and first record were not enough.
        """
        listed: list[tuple[Array, Array]] = []
        complete, total = True, 0
        steps = budget if budget is not None else 1 << 60
        for size in self.sizes:
            W, halves = self._weights(point[:-1], size)
            for first in range(self.n - 1):
                while True:
                    count, taken = groups_below(
                        W, halves, size, first, limit + point[-1], steps, self._masks, self._values
                    )
                    if count <= len(self._masks) or budget is not None:
                        break
                    self._masks, self._values = np.empty(2 * count, np.int64), np.empty(2 * count)
                complete &= taken <= steps and count <= len(self._masks)
                total += count
                listed.append((self._masks[:count].copy(), self._values[:count] - point[-1]))
                if budget is None and total > MOST_GROUPS:
                    raise TooLargeError(
                        f"The method 'exact' found no proof for {self.n} records in {self.g} groups: more "
                        f"than {MOST_GROUPS} groups would have to be compared.",
                        hint="take fewer records, or a method that proves nothing, such as 'mdav*'.",
                    )
        return np.concatenate([one[0] for one in listed]), np.concatenate([one[1] for one in listed]), complete

    def _weights(self, prices: Array, size: int) -> tuple[Array, Array]:
        """Return the weight of each pair, and half the sums of the smallest weights of each record."""
        W = self.D / size - (prices[:, None] + prices[None, :]) / (size - 1)
        np.fill_diagonal(W, inf)
        halves = np.zeros((size, self.n))
        halves[1:] = 0.5 * np.cumsum(np.sort(W, axis=1)[:, : size - 1], axis=1).T
        np.fill_diagonal(W, 0.0)
        return W, halves

    def _first_masks(self, labels: Array) -> Array:
        """Return the groups to start from: each record with its nearest neighbours, and those of `labels`."""
        masks = {_mask(np.flatnonzero(labels == label)) for label in np.unique(labels)}
        masks = {mask for mask in masks if mask.bit_count() in self.sizes}
        for near in np.argsort(self.D, axis=1, kind="stable"):
            masks |= {_mask(near[:size]) for size in self.sizes}
        return np.array(sorted(masks))

    def _programme(self, masks: Array, penalty: float) -> tuple[float, Array]:
        """Solve the linear programme over the groups `masks`; return its value and the prices.

        Records may be covered too seldom or too often at a penalty, so there is always a solution. This
        only bounds the prices.
        """
        from scipy.optimize import linprog

        n = self.n
        members = self._members(masks).T.astype(float)
        A = np.hstack([np.vstack([members, np.ones(len(masks))]), np.eye(n + 1), -np.eye(n + 1)])
        costs = np.concatenate([self._costs(masks), np.full(2 * n + 2, penalty)])
        solved = linprog(costs, A_eq=A, b_eq=np.append(np.ones(n), self.g), method="highs")
        return float(solved.fun), np.asarray(solved.eqlin.marginals)

    def _fewer(self, masks: Array, y: Array) -> Array:
        """Drop the most expensive groups, if there are many."""
        if len(masks) <= MANY_COLUMNS:
            return masks
        return masks[np.argsort(self._reduced(masks, y), kind="stable")[: MANY_COLUMNS // 2]]

    def _reduced(self, masks: Array, y: Array) -> Array:
        reduced: Array = self._costs(masks) - self._members(masks) @ y[:-1] - y[-1]
        return reduced

    def _costs(self, masks: Array) -> Array:
        members = self._members(masks).astype(float)
        costs: Array = ((members @ self.D) * members).sum(axis=1) / (2 * members.sum(axis=1))
        return costs

    def _members(self, masks: Array) -> Array:
        """Return the members of each group: bool[len(masks), n]."""
        inside: Array = (masks[:, None] >> np.arange(self.n)) & 1 == 1
        return inside


def _joined(prices: _Duals) -> Array:
    return np.append(prices.records, prices.group)


def _mask(rows: Array) -> int:
    return sum(1 << int(row) for row in rows)
