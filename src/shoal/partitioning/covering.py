"""Set partitioning over all groups of k to 2k - 1 records: a proven bound, and often the optimum.

An optimal group has k to 2k - 1 records, as a larger one can be split without loss. The steps:

1. *Columns.* A linear programme over some groups proposes prices of records; exact pricing lists the groups that
   are cheaper than their records, adds them to the programme, and lowers the prices until there are none, which gives
   a bound (:mod:`shoal.partitioning.cover_prices`). Prices are tried on the way from the best ones so far to those of
   the programme, as far as the list stays short.
2. *Cuts* (:mod:`shoal.partitioning.cover_cuts`, :mod:`shoal.partitioning.cover_separation`) raise the bound, with more
   columns after each round of them.
3. *Partitions.* A mixed-integer programme over the groups of least reduced cost finds a good partition.
4. *Proof.* A partition that costs less than the best one known has only groups whose reduced cost is at most
   the gap between this cost and the bound. All of them are listed, and the mixed-integer programme over them is solved.

At the time limit, the search ends with the best bound and partition so far. The bound rests on prices that were checked
against all groups in double precision, not on a solver. The proof of the optimum also relies on HiGHS to solve the last
mixed-integer programme correctly, within its tolerances. Both hold up to TOLERANCE, relative to the squared error of
the best partition. They are no certificates in exact arithmetic.
"""

from __future__ import annotations

import logging
import time
from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.partitioning.cover_cuts import Cut
from shoal.partitioning.cover_prices import Effort, Listed, Prices, Pricing
from shoal.partitioning.cover_programme import Programme, Solved, best_choice, descents, first_groups
from shoal.partitioning.cover_separation import Separation
from shoal.partitioning.lloyd import ona_star
from shoal.partitioning.maximum_distance import mdav_star
from shoal.partitioning.pool import members, nearest_others, numbered, total_cost
from shoal.progress import Progress, silent

log = logging.getLogger("shoal")

TOLERANCE = 1e-6
# How close the bound must come to the value of the linear programme before cuts are added.
CLOSE = 2e-6
# Reduced costs above -RHO per record count as zero; the bound is lowered accordingly.
RHO = 1e-8
# Weights to compute, for each size, before prices are given up as too hard. Grows if that happens often.
FIRST_WEIGHTS = 60_000_000
# Columns to start from: subsets of the neighbours for each record, and in total where groups are large.
SUBSETS = 80
FIRST_COLUMNS = 60_000
NEW_COLUMNS = 2000
MANY_COLUMNS = 60_000
# Cuts that are kept although they have no price.
IDLE_CUTS = 500
# Groups of a last programme: as long as there are other ways to go on, and when there are none.
SOON_PROVEN, MOST_IN_PROOF = 60_000, 400_000
# Groups for each record among which a better partition is looked for: of the programme, and at most; and the parts of
# the gap up to which reduced costs are looked at.
FIRST_IN_SEARCH, MOST_IN_SEARCH = 2, 16
PARTS = (1 / 16, 1 / 8, 1 / 4, 1 / 2)
# Rounds of cuts between two such searches; cuts end when they raise the bound by less than SMALL_GAIN in as many.
ROUNDS, SMALL_GAIN = 6, 5e-6
# Beyond this, a linear programme over all records at once takes too long.
MOST_RECORDS = 6000


class Cover(NamedTuple):
    """A bound on the squared error of all partitions; the best one found, its error, and whether it is optimal."""

    bound: float
    labels: Array
    error: float
    proven: bool


def solve(
    X: Array,
    k: int,
    labels: Array | None = None,
    time_limit: float = 300.0,
    report: Progress = silent,
    prices: Array | None = None,
) -> Cover:
    """Return a bound on the squared error of all partitions, and a good partition.

    Parameters
    ----------
    X : float64[n, d]
    k : int
    labels : int64[n], optional
        A good partition into groups of at least k.
    time_limit : float
        Seconds.
    report : callable
    prices : float64[n], optional
        Prices of records at which no group is cheaper than its records, to start from.
    """
    end = time.monotonic() + time_limit
    n = len(X)
    X = X - X.mean(axis=0)
    labels = np.zeros(n, np.int64) if n < 2 * k else _small_groups(X, k, ona_star(X, k) if labels is None else labels)
    error = total_cost(X, labels)
    if n < 2 * k or error == 0:
        return Cover(error * (1 - TOLERANCE), labels, error, True)
    # From here on, the best known partition costs n: tolerances are relative to it.
    known = None if prices is None else prices * (n / error)
    search = _Search(np.ascontiguousarray(X * np.sqrt(n / error)), k, labels, end, known)
    search.run(report)
    report(1.0)
    error = total_cost(X, search.labels)
    bound = error if search.proven else search.best.bound * total_cost(X, labels) / n
    return Cover(min(bound, error) * (1 - TOLERANCE), search.labels, error, search.proven)


def _small_groups(X: Array, k: int, labels: Array) -> Array:
    """Split groups of 2k records or more, which never raises the squared error; return the labels."""
    labels = numbered(labels)
    for rows in members(labels):
        if len(rows) >= 2 * k:
            labels[rows] = labels.max() + 1 + mdav_star(np.ascontiguousarray(X[rows]), k)
    return numbered(labels)


class _Search:
    """The state of `solve`: the programme, the best prices and the best partition."""

    def __init__(self, X: Array, k: int, labels: Array, end: float, known: Array | None = None) -> None:
        self.X, self.k, self.n, self.end = X, k, len(X), end
        self.labels, self.ceiling, self.proven = labels, float(len(X)), False
        self.pricing = Pricing(X, k)
        self.programme, self.separation = Programme(X, self.pricing.most), Separation(self.n, k)
        near, squares = nearest_others(X, min(3 * k + 2, self.n - 1))
        self.near = near.astype(np.int32)
        # The neighbour bound: prices at which no group at all is cheaper than its records.
        prices = squares[:, : k - 1].sum(axis=1) / (2 * k) * (1 - 1e-12)
        if known is not None and known.sum() > prices.sum():
            prices = known
        self.best = Prices(prices, np.empty(0), float(prices.sum()))
        self.step, self.weights = 0.5 if k <= 5 else 0.2, FIRST_WEIGHTS
        # How far the prices of the programme may be from the best ones so far.
        self.reach = prices + prices.mean() if k >= 5 else np.full(self.n, 10.0 * self.n)
        self.own = np.full((int(labels.max()) + 1, self.pricing.most), self.n, np.int32)
        for row, rows in enumerate(members(labels)):
            self.own[row, : len(rows)] = rows
        self.programme.add(self.own)
        subsets = SUBSETS if k <= 4 else min(SUBSETS // 2, FIRST_COLUMNS // self.n)
        self.programme.add(first_groups(near, k, self.pricing.most, subsets))

    def run(self, report: Progress) -> None:
        """Raise the bound and look for better partitions until the two meet or the time is up."""
        start = time.monotonic()
        bounds: list[float] = []
        tried = np.inf
        while (solved := self.columns()) is not None:
            seconds, cuts = time.monotonic() - start, self.programme.cuts
            report(0.99 * seconds / max(1e-9, self.end - start))
            log.debug("%.1f s: bound %.7f, %d cuts", seconds, self.best.bound / self.n, len(cuts))
            if len(bounds) % ROUNDS == 0:
                self.incumbent(0.05)
            gap = self.ceiling - self.best.bound
            if gap <= TOLERANCE * self.n:
                self.proven = True
                return
            # While sets of three still help, there are far too many groups.
            if gap < 0.7 * tried and (self.k == 2 or self.separation.level > 0):
                tried = gap
                if self.prove(0.3, SOON_PROVEN):
                    return
            bounds.append(self.best.bound)
            kept = np.flatnonzero(solved.fractions > 1e-6)
            new = self.separation.cuts(self.programme.groups[kept], solved.fractions[kept], cuts.all)
            slow = len(bounds) > ROUNDS and bounds[-1] - bounds[-1 - ROUNDS] < SMALL_GAIN * self.n
            if not new or slow:
                self.incumbent(0.3)
                self.prove(1.0, MOST_IN_PROOF)
                return
            self.add_cuts(new, solved)

    def columns(self) -> Solved | None:
        """Add columns until the bound reaches the value of the programme; return None if the time is up."""
        while True:
            self.programme.limit(self.best.records - self.reach, self.best.records + self.reach)
            solved = self.programme.solve(self.end, self.k >= 5 and not len(self.programme.cuts))
            if solved is None or time.monotonic() > self.end:
                return None
            if self.best.bound >= min(solved.value - CLOSE * self.n, self.ceiling * (1 - TOLERANCE)):
                if not solved.bound:
                    return solved
                self.reach *= 4
                continue
            point = self.best.records + self.step * (solved.records - self.best.records)
            sigma = self.best.cuts + self.step * (solved.cuts - self.best.cuts)
            listed = self.pricing.groups(point, self.programme.cuts, sigma, -RHO, Effort(self.end, self.weights))
            better = False
            if listed.complete:
                prices = self.pricing.feasible(point, self.programme.cuts, sigma, listed, -RHO)
                better = prices.bound > self.best.bound
                self.best = prices if better else self.best
            added = self._extend(solved, point, listed)
            log.debug(
                "  value %.7f bound %.7f step %.3f listed %d %s added %d",
                solved.value / self.n,
                self.best.bound / self.n,
                self.step,
                len(listed.groups),
                listed.complete,
                added,
            )
            if not listed.complete:
                # Closer to the best prices, lists are shorter, but so are the steps.
                self.step, self.weights = (self.step / 2, self.weights) if self.step > 0.1 else (0.1, 4 * self.weights)
            elif not added and self.step == 1.0 and not better:
                if not solved.bound:
                    return solved
                self.reach *= 4
            elif not added:
                self.step = 1.0
            elif len(listed.groups) < NEW_COLUMNS:
                self.step = min(1.0, 1.5 * self.step)

    def _extend(self, solved: Solved, point: Array, listed: Listed) -> int:
        """Add groups that are cheap at the prices of the programme: those listed, and those that descents find."""
        programme = self.programme
        if len(programme.groups) > MANY_COLUMNS:
            reduced = self.pricing.reduced(programme.groups, solved.records, programme.cuts, solved.cuts)
            programme.drop(reduced <= np.partition(reduced, MANY_COLUMNS // 2)[MANY_COLUMNS // 2])
            programme.add(self.own)
        near = [listed.groups] + [
            descents(self.X, prices, programme.groups, self.near, self.k) for prices in (solved.records, point)
        ]
        groups = np.concatenate(near)
        reduced = self.pricing.reduced(groups, solved.records, programme.cuts, solved.cuts)
        order = np.argsort(reduced, kind="stable")[: 2 * NEW_COLUMNS]
        return programme.add(groups[order[reduced[order] < -RHO * self.k]])

    def add_cuts(self, cuts: list[Cut], solved: Solved) -> None:
        """Add cuts, and drop those without a price."""
        programme = self.programme
        idle = (solved.cuts < 1e-9) & (self.best.cuts < 1e-9)
        if idle.sum() > IDLE_CUTS:
            programme.drop_cuts(~idle)
            self.best = self.best._replace(cuts=self.best.cuts[~idle])
        programme.add_cuts(cuts)
        self.best = self.best._replace(cuts=np.append(self.best.cuts, np.zeros(len(cuts))))
        self.step = 1.0

    def incumbent(self, share: float) -> None:
        """Look for a better partition among groups of small reduced cost; each time for a share of the time left.

        These are the least of the programme, and all whose reduced cost is a part of the gap. Among few groups the
        solver is quick; as long as it finishes, more are given to it.
        """
        programme, best = self.programme, self.best
        reduced = self.pricing.reduced(programme.groups, best.records, programme.cuts, best.cuts)
        some = programme.groups[np.argsort(reduced, kind="stable")[: FIRST_IN_SEARCH * self.n]]
        for part_of_gap in PARTS:
            room, now = part_of_gap * (self.ceiling - best.bound), time.monotonic()
            effort = Effort(now + share * (self.end - now), self.weights, MOST_IN_SEARCH * self.n)
            listed = self.pricing.groups(best.records, programme.cuts, best.cuts, 0.0, effort, room)
            few = listed.complete and len(listed.groups) <= effort.groups
            finished = self._choose(np.concatenate([some, listed.groups]) if few else some, share)
            if not (finished and few):
                return

    def prove(self, share: float, most: int) -> bool:
        """List all groups that a better partition could have and choose among them; return whether this is a proof.

        Parameters
        ----------
        share : float
            Of the time left.
        most : int
            More groups are not tried.
        """
        gap = self.ceiling - self.best.bound
        now = time.monotonic()
        effort = Effort(now + share * (self.end - now), 1_000_000_000, most)
        listed = self.pricing.groups(self.best.records, self.programme.cuts, self.best.cuts, 0.0, effort, gap)
        log.debug("  proof: gap %.2e, %d groups %s", gap / self.n, len(listed.groups), listed.complete)
        if not listed.complete or len(listed.groups) > most:
            return False
        self.proven = self._choose(listed.groups, share)
        return self.proven

    def _choose(self, groups: Array, share: float) -> bool:
        """Choose the best partition from some groups and the best known one; return whether the solver finished."""
        now = time.monotonic()
        chosen, finished = best_choice(
            self.X, groups, self.own, self.programme.cuts, self.ceiling, now + share * (self.end - now)
        )
        log.debug("  choice of %d: %s, %.1f s", len(groups), finished, time.monotonic() - now)
        if chosen is not None:
            labels = np.empty(self.n, np.int64)
            for label, rows in enumerate(chosen):
                labels[rows[rows < self.n]] = label
            cost = total_cost(self.X, labels)
            if cost < self.ceiling:
                self.labels, self.ceiling, self.own = labels, cost, chosen
                self.programme.add(chosen)
        return finished
