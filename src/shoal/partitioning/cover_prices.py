"""Prices of records and of cuts, the groups that are cheaper than their records, and the bound that follows.

Give record i the price pi_i and a cut u (see :mod:`shoal.partitioning.cover_cuts`) the price sigma_u >= 0. The
*reduced cost* of a group is its squared error, less the prices of its records, plus for each cut sigma_u times the
coefficient of the group in it. If no group has a negative reduced cost, then every partition costs at least

    sum of pi - sum over cuts of sigma_u * right_u:

add up the reduced costs of its groups, which hold every record once, and whose coefficients in a cut sum to at most
`right_u`. The list of groups of negative reduced cost comes from :mod:`shoal.kernels.pricing` and is complete. If there
are any, prices are lowered until there are none. So any prices give a bound, and the solver that proposed them need not
be trusted. If only groups below -rho per record were listed, all prices are lowered by rho.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.kernels import pricing as _pricing
from shoal.partitioning.cover_cuts import Cuts

# Weights computed before the clock is read again: about a tenth of a second.
STRETCH = 10_000_000
# Most neighbours of all records together.
MOST_NEIGHBOURS = 60_000_000


class Prices(NamedTuple):
    """Prices at which no group has a negative reduced cost: float64[n], float64[cuts]; and their bound."""

    records: Array
    cuts: Array
    bound: float


class Effort(NamedTuple):
    """Limits of a listing: a time on the clock of `time.monotonic`, and numbers of weights and groups for each size."""

    deadline: float
    weights: int = 200_000_000
    groups: int = 400_000


class Listed(NamedTuple):
    """Groups (int32[c, 2k - 1], padded with n), their reduced costs, and whether these are all."""

    groups: Array
    reduced: Array
    complete: bool


class Pricing:
    """Lists groups at given prices.

    Parameters
    ----------
    X : float64[n, d]
        Scaled so that the best partition known costs n: tolerances are relative to it.
    k : int
    """

    def __init__(self, X: Array, k: int) -> None:
        self.X, self.k, self.n = X, k, len(X)
        self.columns = np.ascontiguousarray(X.T)
        self.most = min(2 * k - 1, self.n - k)
        self._ids = np.empty(64 * self.n, np.int32)

    def groups(
        self, records: Array, cuts: Cuts, sigma: Array, share: float, effort: Effort, room: float = 0.0
    ) -> Listed:
        """List the groups with a reduced cost of at most `share` times their size plus `room`.

        Parameters
        ----------
        records : float64[n], cuts : Cuts, sigma : float64[len(cuts)]
        share : float
        effort : Effort
            If it does not suffice, the list is incomplete.
        room : float
        """
        groups, complete = [np.empty((0, self.most), np.int32)], True
        for size in range(self.k, self.most + 1):
            extra = cuts.spread(sigma, size)
            of_size, complete = self._of_size(records, size, share * size + room, extra, effort)
            padded = np.full((len(of_size), self.most), self.n, np.int32)
            padded[:, :size] = of_size
            groups.append(padded)
            if not complete:
                break
        listed = np.concatenate(groups)
        reduced = self.reduced(listed, records, cuts, sigma)
        inside = reduced <= share * (listed < self.n).sum(axis=1) + room
        return Listed(listed[inside], reduced[inside], complete)

    def reduced(self, groups: Array, records: Array, cuts: Cuts, sigma: Array) -> Array:
        """Return the reduced costs of `groups`, with the exact share of cuts."""
        reduced: Array = _pricing.reduced_costs(self.X, records, groups)[1]
        return reduced + cuts.coefficients(groups).T @ sigma if len(cuts) else reduced

    def feasible(self, records: Array, cuts: Cuts, sigma: Array, listed: Listed, share: float) -> Prices:
        """Lower prices until no group is cheaper than its records, given the complete list at `share`."""
        order = np.argsort(listed.reduced, kind="stable")
        groups, reduced = listed.groups[order], np.minimum(listed.reduced[order], 0.0)
        prices = _pricing.lowered(records, groups, reduced, max(0.0, -share))
        return Prices(prices, sigma, float(prices.sum() - cuts.right @ sigma))

    def bound(self, records: Array, effort: Effort) -> float | None:
        """Return the bound of prices without cuts, after lowering them as needed; None if the list is too long."""
        cuts, none = Cuts(self.n), np.empty(0)
        listed = self.groups(records, cuts, none, 0.0, effort)
        return self.feasible(records, cuts, none, listed, 0.0).bound if listed.complete else None

    def _of_size(self, prices: Array, size: int, limit: float, extra: Any, effort: Effort) -> tuple[Array, bool]:
        """Return all groups of a size (int32[c, size]) whose weights sum to at most `limit`, or (some, False)."""
        halves, theta = _pricing.thresholds(self.columns, prices, size, limit, extra)
        while True:
            starts = _pricing.neighbour_lists(self.columns, prices, size, extra, theta, self._ids)
            if starts[-1] <= len(self._ids):
                break
            if starts[-1] > MOST_NEIGHBOURS:
                return np.empty((0, size), np.int32), False
            self._ids = np.empty(int(starts[-1]) * 2, np.int32)
        return self._grown(self.X, prices, size, limit, extra, (starts, self._ids), halves, effort)

    def _grown(
        self,
        X: Array,
        prices: Array,
        size: int,
        limit: float,
        extra: Any,
        lists: tuple[Array, Array],
        halves: Array,
        effort: Effort,
    ) -> tuple[Array, bool]:
        """Return the groups that grow from pairs of neighbours, and whether the effort sufficed for all of them."""
        parts, total, root, room, spent, stretch = [np.empty((0, size), np.int32)], 0, 0, 20_000, 0, STRETCH
        while root < self.n:
            groups, values = np.empty((room, size), np.int32), np.empty(room)
            steps = min(stretch, effort.weights - spent)
            count, reached, taken = _pricing.sized_groups_below(
                X, prices, size, limit, extra, lists, halves, root, steps, groups, values
            )
            parts.append(groups[:count])
            total += count
            spent += taken
            late = spent > effort.weights or time.monotonic() > effort.deadline
            if late or total > effort.groups:
                return np.concatenate(parts), False
            if reached == root and taken > steps:
                stretch *= 4
            elif reached < self.n:
                room *= 4 if reached == root else 1
            root = reached
        return np.concatenate(parts), True
