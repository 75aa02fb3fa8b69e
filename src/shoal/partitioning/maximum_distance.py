"""Maximum distance methods: groups grow around the records furthest out (T chapter 5).

Sources: T = Thaeter (2021), dissertation; D = Domingo-Ferrer et al. (2006); F = Rodriguez-Hoyos et al.
(2020); K = Khomnotai et al. (2018). See the reference of methods for full titles.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from math import inf
from typing import Literal

import numpy as np

from shoal.arrays import Array
from shoal.kernels import construction as _construction
from shoal.kernels import growth as _growth
from shoal.kernels import star as _star
from shoal.partitioning import plain
from shoal.partitioning.pool import (
    SMALL_TABLE,
    Groups,
    Pool,
    in_threads,
    kinds,
    mapped,
    mean_of,
    square_distances,
    total_cost,
)
from shoal.progress import Progress, silent

Closest = Literal["mean", "record", "cost"]

# Least number of parts of a run, between which progress is reported and Ctrl-C works.
REPORTS = 20
GAMMAS = tuple(i / 10 for i in range(21))


def nearest_neighbours(pool: Pool, groups: Groups, seed: int, k: int) -> None:
    """Open a group of `seed` and its k - 1 nearest neighbours in the pool (NN growth)."""
    pool.remove(np.array([seed]))
    rows = pool.nearest(pool.X[seed], k - 1)
    pool.remove(rows)
    groups.open(np.append(seed, rows))


def grow_groups(
    pool: Pool,
    groups: Groups,
    k: int,
    *,
    seeding: int,
    growth: int = _growth.BY_SEED,
    seeds: Sequence[Array] = (),
    least: int = 0,
    report: Progress = silent,
) -> None:
    """Open groups of k while at least `least` (default k) records are unassigned.

    Parameters
    ----------
    pool : Pool
    groups : Groups
    k : int
    seeding : int
        FROM_LISTS, FROM_MEAN or OPPOSITE of `shoal.kernels.growth`.
    growth : int
        BY_SEED for the nearest neighbours of a seed (NN), BY_MEAN for the record nearest to the moving mean (NC).
    seeds : sequence of int64[n]
        Lists of all records, which take turns.
    least : int
    report : callable
    """
    lists = np.array(seeds) if seeds else np.empty((1, 0), np.int64)
    positions = np.zeros(len(lists) + 1, np.int64)
    positions[-1] = 0 if seeds else -1
    while _growth.grow_steps(
        pool.points, groups.made, lists, positions, seeding, growth, k, least or k, steps_for(pool, k)
    ):
        pool.tidy()
        report(1 - pool.count / len(pool.X))


def steps_for(pool: Pool, k: int) -> int:
    """Return the number of groups to make before progress is reported and the pool is tidied."""
    return max(1, pool.count // (REPORTS * k), len(pool.X) // (10 * REPORTS * k))


def assign_leftovers(pool: Pool, groups: Groups) -> None:
    """Give the remaining records to the groups with the nearest means, always the record nearest to its group first."""
    _star.place_leftovers(pool.X, groups.made, pool.rows(), _star.BY_MEAN)


def outermost_first(X: Array, centre: Array) -> Array:
    """Return all rows by falling distance from `centre`, the lower one first on ties."""
    return np.argsort(-square_distances(X, centre), kind="stable")


def md(X: Array, k: int, *, report: Progress = silent) -> Array:
    """Maximum distance: the two most distant records seed two groups (T algorithm 1, D 4.2.2).

    The pair is found without a distance matrix: each record has an upper bound for the distance to its
    furthest partner, and only the record with the largest bound is measured again, until the largest
    bound is an actual distance. Memory O(n d).

    Where the paper is silent: of the pair, the record with the higher row seeds the first group, as the
    figures show. The record furthest from it then seeds the second group; this is the other record of the
    pair unless ties put that into the first group.
    """
    pool, groups = Pool(X, means=True), Groups(X, k)
    md_groups(pool, groups, k, report)
    if pool.count >= k:
        groups.open(pool.rows())
    else:
        assign_leftovers(pool, groups)
    return groups.labels


def md_groups(pool: Pool, groups: Groups, k: int, report: Progress) -> int:
    """Open two groups per round around the most distant pair while 2k records remain; return the first seed."""
    first = -1
    pairs = FurthestPairs(pool)
    while pool.count >= 2 * k:
        r = pairs.top()[1]
        first = r if first < 0 else first
        nearest_neighbours(pool, groups, r, k)
        nearest_neighbours(pool, groups, pool.furthest(pool.X[r]), k)
        report(1 - pool.count / len(pool.X))
    return first


class FurthestPairs:
    """The most distant pair of a shrinking pool.

    A heap holds, for each record, an upper bound of the distance to its furthest partner: at first the sum
    of its own and the largest distance from the mean, later the last measured value, which removals can only
    lower. Ties go to the lower row, as when the distance matrix is read row by row. Of equal records, only the lowest
    row is in the heap, and the next one takes its place when it is gone.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        centre = pool.mean()
        self._radius = np.sqrt(((pool.X - centre) ** 2).sum(axis=1)) * (1 + pool.X.shape[1] * 1e-15)
        self._outermost = list(np.argsort(self._radius))
        reach = self._reach()
        firsts, self._twins, _ = kinds(pool.X)
        # (negative bound, row, partner): partner -1 marks a bound that is not a distance.
        self._heap = [(-((self._radius[row] + reach) ** 2) * (1 + 1e-12), row, -1) for row in firsts.tolist()]
        heapq.heapify(self._heap)

    def _reach(self) -> float:
        while self._outermost[-1] not in self._pool:
            self._outermost.pop()
        return float(self._radius[self._outermost[-1]])

    def top(self) -> tuple[int, int]:
        """Return the most distant pair of records that are still in the pool, the lower row first."""
        reach = self._reach()
        while True:
            negative, row, partner = self._heap[0]
            if row not in self._pool:
                while row >= 0 and row not in self._pool:
                    row = int(self._twins[row])
                if row < 0:
                    heapq.heappop(self._heap)
                else:
                    heapq.heapreplace(self._heap, (negative, row, partner))
            elif partner >= 0 and partner in self._pool:
                return row, partner
            else:
                bound = -((self._radius[row] + reach) ** 2) * (1 + 1e-12)
                if partner < 0 and bound > negative:
                    heapq.heapreplace(self._heap, (bound, row, -1))
                else:
                    partner, square = self._pool.furthest_distance(self._pool.X[row])
                    heapq.heapreplace(self._heap, (-square, row, partner))


def mdav(X: Array, k: int, *, report: Progress = silent) -> Array:
    """Maximum distance to average vector (T algorithm 2, F algorithm 1).

    The record r furthest from the mean of what remains seeds a group, then the record furthest from r.
    Below 3k records: if there are 2k or more, the record furthest from the mean seeds one more group; the
    rest is the last group. The mean is updated by subtraction in exact sums, so it does not drift.
    """
    if len(X) <= SMALL_TABLE:
        return plain.mdav(X, k)
    pool, groups = Pool(X, means=True), Groups(X, k)
    grow_groups(pool, groups, k, seeding=_growth.OPPOSITE, least=3 * k, report=report)
    if pool.count >= 2 * k:
        nearest_neighbours(pool, groups, pool.furthest(pool.mean()), k)
    groups.open(pool.rows())
    return groups.labels


def mdav_nc(X: Array, k: int, *, report: Progress = silent) -> Array:
    """MDAV whose groups take in the record nearest to their moving mean (K 3.1, 5.2).

    Where the paper is silent: the printed figures come from growing groups of k to the end. The last
    records, if fewer than k, go to the groups with the nearest means.
    """
    pool, groups = Pool(X, means=True), Groups(X, k)
    grow_groups(pool, groups, k, seeding=_growth.OPPOSITE, growth=_growth.BY_MEAN, report=report)
    assign_leftovers(pool, groups)
    return groups.labels


def mdav_plus(X: Array, k: int, *, report: Progress = silent) -> Array:
    """MDAV+: one seed per round, by falling distance from the mean of *all* records (T algorithm 3)."""
    pool, groups = Pool(X), Groups(X, k)
    seeds = outermost_first(X, mean_of(X))
    grow_groups(pool, groups, k, seeding=_growth.FROM_LISTS, seeds=[seeds], report=report)
    assign_leftovers(pool, groups)
    return groups.labels


def v_mdav(
    X: Array, k: int, *, gamma: float | Literal["best"] = 0.2, n_jobs: int = 1, report: Progress = silent
) -> Array:
    """MDAV+ whose groups may grow to 2k - 1 records (V-MDAV; T algorithm 4).

    A new group takes in the unassigned record x closest to any of its members while that squared
    distance is below `gamma` times the squared distance of x to its nearest unassigned neighbour.
    """
    everyone, seeds = Pool(X), outermost_first(X, mean_of(X))

    def run(factor: float, progress: Progress) -> Array:
        pool, groups = everyone.copy(), Groups(X, k)
        position = 0
        while position >= 0:
            steps = steps_for(pool, k)
            position = _growth.vmdav_steps(pool.points, groups.made, seeds, position, k, factor, steps)
            pool.tidy()
            progress(1 - pool.count / len(X))
        assign_leftovers(pool, groups)
        return groups.labels

    return best_gamma(run, X, n_jobs, report) if gamma == "best" else run(gamma, report)


def mdav_star(X: Array, k: int, *, closest: Closest = "mean", n_jobs: int = 1, report: Progress = silent) -> Array:
    """MDAV*: weigh extending the closest group against making a new one (T algorithm 5).

    `closest` defines the closest group (T 5.1): by its mean, by its nearest record, or by the increase of
    its squared error. A group is only extended while more than k records are unassigned; equal costs make
    a new group.
    """
    return Star(X, k, closest, n_jobs).run(1.0, False, report)


def mdav_star_gamma(
    X: Array,
    k: int,
    *,
    gamma: float | Literal["best"] = 0.8,
    closest: Closest = "mean",
    n_jobs: int = 1,
    report: Progress = silent,
) -> Array:
    """MDAV* with a gain factor and a second test, for two records that belong to a group together (T algorithm 6).

    `gamma="best"` runs 0, 0.1 .. 2 and keeps the lowest loss (the first one on ties), as the printed
    figures do.
    """
    star = Star(X, k, closest)

    def run(factor: float, progress: Progress) -> Array:
        return star.run(factor, True, progress)

    return best_gamma(run, X, n_jobs, report) if gamma == "best" else run(gamma, report)


class Star:
    """Runs of MDAV* and MDAV*-gamma that share the index of the records and the order of the seeds.

    Parameters
    ----------
    X : float64[n, d]
    k : int
    closest : str
        Definition of the closest group.
    n_jobs : int
        Threads of each run. Several threads look ahead for the neighbours of the next seeds.
    """

    def __init__(self, X: Array, k: int, closest: Closest = "mean", n_jobs: int = 1) -> None:
        self.X, self.k, self.n_jobs = X, k, n_jobs
        self._small = len(X) <= SMALL_TABLE and closest == "mean"
        self._by = {"mean": _star.BY_MEAN, "record": _star.BY_RECORD, "cost": _star.BY_COST}[closest]
        if not self._small:
            self._pool = Pool(X)
            self._seeds = outermost_first(X, mean_of(X))

    def run(self, gamma: float, pairs: bool, report: Progress) -> Array:
        """Return the labels for a gain factor, with or without the test for two records."""
        X, k = self.X, self.k
        if self._small:
            labels: Array = _star.star(X, k, gamma, pairs)[0]
            report(1.0)
            return labels
        pool, groups = self._pool.copy(), Groups(X, k)
        building = groups.building(pool, records=self._by == _star.BY_RECORD)
        position = 0
        while position < len(X):
            steps = steps_for(pool, k)
            ahead = self._look_ahead(pool, position, steps)
            position = _star.star_steps(building, ahead, self._seeds, position, steps, k, gamma, pairs, self._by)
            pool.tidy()
            report(1 - pool.count / len(X))
        _star.place_leftovers(X, groups.made, pool.rows(), self._by)
        return groups.labels

    def _look_ahead(self, pool: Pool, position: int, steps: int) -> _star.Ahead:
        """Search for the neighbours of the next seeds on all threads."""
        k = self.k
        wide, narrow = 2 * k + 6, k + 4
        rows = np.empty(0, np.int64)
        if self.n_jobs > 1 and pool.count > 10 * wide:
            rest = self._seeds[position : position + 20 * steps]
            rows = rest[pool.points.slots[rest] >= 0][:steps]
        count = len(rows)
        ahead = _star.Ahead(
            rows,
            np.empty((count, wide), np.int64),
            np.empty((count, wide)),
            np.empty((count, narrow), np.int64),
            np.empty((count, narrow)),
        )

        # Near records one after the other, so that the data of a search is still in the processor's cache.
        order = np.argsort(pool.points.slots[rows])

        def search(part: slice) -> None:
            _star.look_ahead(_construction.for_thread(pool.points), ahead, order[part], k)

        if count:
            in_threads(search, count, self.n_jobs, least=50)
        return ahead


def best_gamma(run: Callable[[float, Progress], Array], X: Array, n_jobs: int, report: Progress) -> Array:
    """Run all of GAMMAS, `n_jobs` at a time, and return the labels of least squared error, the first on ties."""
    done = [0.0] * len(GAMMAS)

    def one(index: int) -> tuple[float, Array]:
        def progress(fraction: float) -> None:
            done[index] = fraction
            report(sum(done) / len(done))

        labels = run(GAMMAS[index], progress)
        return total_cost(X, labels), labels

    best, chosen = inf, None
    for error, labels in mapped(one, range(len(GAMMAS)), n_jobs):
        if chosen is None or error < best:
            best, chosen = error, labels
    return chosen  # type: ignore[return-value]
