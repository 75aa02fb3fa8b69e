"""Maximum distance methods: groups grow around the records furthest out (T chapter 5).

Sources: T = Thaeter (2021), dissertation; D = Domingo-Ferrer et al. (2006); F = Rodriguez-Hoyos et al.
(2020); K = Khomnotai et al. (2018). See the reference of methods for full titles.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from math import inf
from typing import Any, Literal

import numpy as np

from shoal.kernels import star as _star_kernels
from shoal.partitioning.pool import Groups, Pool, square_distances, total_cost
from shoal.progress import Progress, silent

Array = np.ndarray[Any, Any]
Closest = Literal["mean", "record", "cost"]
Growth = Callable[[Pool, Groups, int, int], None]

# Into how many parts a run of MDAV* is cut, at least, to tell progress and to hear Ctrl-C.
REPORTS = 20
GAMMAS = tuple(i / 10 for i in range(21))


def nearest_neighbours(pool: Pool, groups: Groups, seed: int, k: int) -> None:
    """Open a group of `seed` and its k - 1 nearest neighbours in the pool (NN growth)."""
    pool.remove(np.array([seed]))
    rows = pool.nearest(pool.X[seed], k - 1)
    pool.remove(rows)
    groups.open(np.append(seed, rows))


def nearest_to_mean(pool: Pool, groups: Groups, seed: int, k: int) -> None:
    """Open a group of `seed` that takes, k - 1 times, the record nearest to its moving mean (NC growth)."""
    row = np.array([seed])
    pool.remove(row)
    group = groups.open(row)
    for _ in range(k - 1):
        row = pool.nearest(groups.means[group], 1, spare=k + 4)
        pool.remove(row)
        groups.extend(group, row)


def assign_leftovers(pool: Pool, groups: Groups) -> None:
    """Give the records that are left to the groups with the nearest means: always the one nearest to its group."""
    _star_kernels.place_leftovers(groups.building(pool), _star_kernels.BY_MEAN)


def outermost_first(pool: Pool, centre: Array) -> Iterator[int]:
    """Yield the rows by falling distance from `centre`, leaving out those that were assigned meanwhile."""
    for row in np.argsort(-square_distances(pool.X, centre), kind="stable"):
        if row in pool:
            yield int(row)


def md(X: Array, k: int, *, report: Progress = silent) -> Array:
    """Maximum distance: the two most distant records seed two groups (T algorithm 1, D 4.2.2).

    The pair is found without a distance matrix: each record has an upper bound for the distance to its
    furthest partner, and only the record with the largest bound is measured anew, until the largest
    bound is an actual distance. Memory O(n d).

    Where the paper is silent: of the pair, the record with the higher row seeds the first group (its
    figures show that much); the second group is seeded by the record furthest from it then, which is
    the other one unless ties put that into the first group.
    """
    pool, groups = Pool(X), Groups(X, k)
    md_groups(pool, groups, k, report)
    if pool.count >= k:
        groups.open(pool.rows())
    else:
        assign_leftovers(pool, groups)
    return groups.labels


def md_groups(pool: Pool, groups: Groups, k: int, report: Progress) -> int:
    """Open two groups a round around the most distant pair while 2k records remain; return the first seed."""
    first = -1
    pairs = FurthestPairs(pool)
    while pool.count >= 2 * k:
        r = pairs.top()[1]
        first = r if first < 0 else first
        _opposite_groups(pool, groups, r, k)
        report(1 - pool.count / len(pool.X))
    return first


def _opposite_groups(pool: Pool, groups: Groups, r: int, k: int) -> None:
    """Open the group of r and that of the record furthest from r, with one search for both."""
    pool.remove(np.array([r]))
    rows, s = pool.nearest_and_furthest(pool.X[r], k - 1)
    pool.remove(rows)
    groups.open(np.append(r, rows))
    # Only among ties can the furthest record be one of the nearest.
    nearest_neighbours(pool, groups, s if s in pool else pool.furthest(pool.X[r]), k)


class FurthestPairs:
    """The most distant pair of a shrinking pool.

    A heap holds, for each record, an upper bound of the distance to its furthest partner: at first the
    sum of its own and the largest distance from the mean, later the last measured value, which removals
    can only lower. Ties are settled by row, as in a row by row reading of the distance matrix.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        centre = pool.mean()
        self._radius = np.sqrt(((pool.X - centre) ** 2).sum(axis=1)) * (1 + pool.X.shape[1] * 1e-15)
        self._outermost = list(np.argsort(self._radius))
        reach = self._reach()
        # (negative bound, row, partner): partner -1 marks a bound that is not a distance.
        self._heap = [(-((r + reach) ** 2) * (1 + 1e-12), row, -1) for row, r in enumerate(self._radius)]
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
                heapq.heappop(self._heap)
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
    Below 3k records: one group around the furthest from the mean if there are 2k or more, the rest
    another. The five accelerations of F are in the pool: inner products, one pass for the neighbours
    of r and for the record furthest from it, partial selection, the mean by subtraction (in exact
    sums, so nothing drifts), and single precision that is verified in double.
    """
    pool, groups = Pool(X), Groups(X, k)
    while pool.count >= 3 * k:
        _opposite_groups(pool, groups, pool.furthest(pool.mean()), k)
        report(1 - pool.count / len(X))
    if pool.count >= 2 * k:
        nearest_neighbours(pool, groups, pool.furthest(pool.mean()), k)
    groups.open(pool.rows())
    return groups.labels


def mdav_nc(X: Array, k: int, *, report: Progress = silent) -> Array:
    """MDAV whose groups take the record nearest to their moving mean (K 3.1, 5.2).

    Where the paper is silent: the printed figures come from growing groups of k to the end, and giving
    fewer than k records that are left to the groups with the nearest means.
    """
    pool, groups = Pool(X), Groups(X, k)
    while pool.count >= k:
        r = pool.furthest(pool.mean())
        nearest_to_mean(pool, groups, r, k)
        if pool.count >= k:
            nearest_to_mean(pool, groups, pool.furthest(X[r]), k)
        report(1 - pool.count / len(X))
    assign_leftovers(pool, groups)
    return groups.labels


def mdav_plus(X: Array, k: int, *, report: Progress = silent) -> Array:
    """MDAV+: one seed a round, by falling distance from the mean of *all* records (T algorithm 3)."""
    pool, groups = Pool(X), Groups(X, k)
    for r in outermost_first(pool, pool.mean()):
        if pool.count < k:
            break
        nearest_neighbours(pool, groups, r, k)
        report(1 - pool.count / len(X))
    assign_leftovers(pool, groups)
    return groups.labels


def v_mdav(
    X: Array, k: int, *, gamma: float | Literal["best"] = 0.2, n_jobs: int = 1, report: Progress = silent
) -> Array:
    """MDAV+ whose groups may grow to 2k - 1 records (V-MDAV; T algorithm 4).

    A new group takes in the unassigned record x closest to any of its members while that squared
    distance is below `gamma` times the squared distance of x to its nearest unassigned neighbour.
    """
    if gamma == "best":
        return best_gamma(lambda g, told: v_mdav(X, k, gamma=g, report=told), X, n_jobs, report)
    pool, groups = Pool(X), Groups(X, k)
    for r in outermost_first(pool, pool.mean()):
        if pool.count < k:
            break
        pool.remove(np.array([r]))
        rows = pool.nearest(X[r], k - 1, spare=(8 * k + 60) if gamma > 0 else 0)
        pool.remove(rows)
        members = np.append(r, rows)
        group = groups.open(members)
        if gamma > 0 and k > 1:
            _extend(pool, groups, group, members, k, gamma)
        report(1 - pool.count / len(X))
    assign_leftovers(pool, groups)
    return groups.labels


def _extend(pool: Pool, groups: Groups, group: int, members: Array, k: int, gamma: float) -> None:
    """Let a new group of V-MDAV take in records from the pool."""
    # (squared distance, neighbour, member), or a lower bound with neighbour -1: few of them are ever measured.
    outside = [(*pool.nearest_or_bound(pool.X[row]), int(row)) for row in members]
    while pool.count > 0 and groups.sizes[group] < 2 * k - 1:
        heapq.heapify(outside)
        while outside[0][1] < 0 or outside[0][1] not in pool:
            heapq.heapreplace(outside, _nearest_one(pool, outside[0][2]))
        inner, row, _ = outside[0]
        own = _nearest_one(pool, row)
        if not inner < gamma * own[0]:
            return
        pool.remove(np.array([row]))
        groups.extend(group, np.array([row]))
        outside.append(own)


def _nearest_one(pool: Pool, row: int) -> tuple[float, int, int]:
    """Return (squared distance, neighbour, row) of the pool's record nearest to `row`, infinity if none."""
    ids, squares = pool.nearest_distances(pool.X[row], 1, skip=row)
    return (float(squares[0]), int(ids[0]), row) if len(ids) else (inf, row, row)


def mdav_star(X: Array, k: int, *, closest: Closest = "mean", report: Progress = silent) -> Array:
    """MDAV*: before a new group is made, extending the closest one is weighed against it (T algorithm 5).

    `closest` is the definition of the closest group (T 5.1): by its mean, by its nearest record, or by
    the increase of its squared error. Extension needs a group and more than k unassigned records;
    equal costs make a new group.
    """
    return _star(X, k, 1.0, False, closest, report)


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

    def run(factor: float, told: Progress) -> Array:
        return _star(X, k, factor, True, closest, told)

    return best_gamma(run, X, n_jobs, report) if gamma == "best" else run(gamma, report)


def _star(X: Array, k: int, gamma: float, pairs: bool, closest: Closest, report: Progress) -> Array:
    """One run of MDAV* or MDAV*-gamma."""
    pool, groups = Pool(X), Groups(X, k)
    by = {"mean": _star_kernels.BY_MEAN, "record": _star_kernels.BY_RECORD, "cost": _star_kernels.BY_COST}[closest]
    building = groups.building(pool, records=closest == "record")
    seeds = np.argsort(-square_distances(X, pool.mean()), kind="stable")
    position, steps = 0, max(1, len(X) // (REPORTS * k))
    while position < len(seeds):
        position = _star_kernels.star_steps(building, seeds, position, steps, k, gamma, pairs, by)
        report(1 - pool.count / len(X))
    _star_kernels.place_leftovers(building, by)
    return groups.labels


def best_gamma(run: Callable[[float, Progress], Array], X: Array, n_jobs: int, report: Progress) -> Array:
    """Run all of GAMMAS, `n_jobs` at a time, and return the labels of least squared error, the first on ties."""
    done = [0.0] * len(GAMMAS)

    def one(index: int) -> tuple[float, Array]:
        def told(fraction: float) -> None:
            done[index] = fraction
            report(sum(done) / len(done))

        labels = run(GAMMAS[index], told)
        return total_cost(X, labels), labels

    best, chosen = inf, None
    with ThreadPoolExecutor(n_jobs) as threads:
        for error, labels in threads.map(one, range(len(GAMMAS))):
            if chosen is None or error < best:
                best, chosen = error, labels
    return chosen  # type: ignore[return-value]
