"""Paths through all records, cut where it costs least (MHM), and the optimum for one coordinate.

Source: D = Domingo-Ferrer et al. (2006), which extends Hansen and Mukherjee (2003) to many coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from shoal.arrays import Array
from shoal.kernels.cuts import cut_in_order, cut_values
from shoal.kernels.growth import FROM_MEAN, OPPOSITE
from shoal.kernels.monotone_cuts import cut_many
from shoal.partitioning.maximum_distance import FurthestPairs, grow_groups, md_groups
from shoal.partitioning.pool import Groups, Pool, by_distance, members
from shoal.progress import Progress, part, silent

# For groups of so many values, a search that makes use of their order takes less time than all cuts do.
LARGE, LARGEST = 100, 100_000


def mhm(X: Array, order: Array, k: int) -> Array:
    """Return the labels of the best cut of `order` into groups of k .. 2k - 1 (D 4.1, lemma 1).

    Parameters
    ----------
    X : float64[n, d]
    order : int64[n]
        All rows, in the order of the path.
    k : int
    """
    labels = np.empty(len(X), np.int64)
    labels[order] = cut_in_order(X[order], k)
    return labels


def univariate(X: Array, k: int, *, report: Progress = silent) -> Array:
    """Return an optimal partition of a single coordinate: the best cut of the sorted values (D 4.1).

    An optimal group is a run of the sorted values with at most 2k - 1 records, so the best cut is the
    optimum. No digits are lost if all values are close to, say, 1e9 (see `shoal.kernels.cuts`). The labels do
    not depend on which search finds it.
    """
    order = ascending(X[:, 0])
    values = X[order, 0]
    found = cut_many(values, k) if LARGE <= k <= LARGEST else np.empty(0, np.int64)
    labels = np.empty(len(X), np.int64)
    labels[order] = found if len(found) else cut_values(values, k)
    return labels


def ascending(x: Array) -> Array:
    """Return the rows by value, the lower one first on ties: int64[n]."""
    order = np.argsort(x)  # three times as fast as a stable sort
    y = x[order]
    different = y[1:] != y[:-1]
    if different.all():
        return order
    tied = np.ones(len(x), bool)
    tied[1:-1] = ~(different[1:] & different[:-1])
    tied[0], tied[-1] = not different[0], not different[-1]
    rows = order[tied]
    if 4 * len(rows) > len(x):
        return np.argsort(x, kind="stable")
    order[tied] = rows[np.lexsort((rows, y[tied]))]
    return order


def npn_mhm(X: Array, k: int, *, start: Literal["pair", "mean"] = "pair", report: Progress = silent) -> Array:
    """Cut the path that always continues to the nearest record (D 4.2.1).

    D describes a start at the record furthest from the mean (`start="mean"`); its printed figures come
    from one end of the most distant pair, the record with the lower row.
    """
    pool = Pool(X, means=True)
    first = FurthestPairs(pool).top()[0] if start == "pair" else pool.furthest(pool.mean())
    return mhm(X, nearest_next(pool, first, report), k)


def nearest_next(pool: Pool, start: int, report: Progress = silent) -> Array:
    """Empty the pool along the path that starts at `start` and always continues to the nearest record."""
    n = pool.count
    path = np.empty(n, np.int64)
    row = np.array([start])
    for step in range(n):
        path[step] = row[0]
        pool.remove(row)
        if pool.count:
            row = pool.nearest(pool.X[row[0]], 1)
        report(step / n)
    return path


def md_mhm(X: Array, k: int, *, report: Progress = silent) -> Array:
    """Cut a path through the groups of `md` (D 4.2.2).

    The last records, if fewer than k, join the group whose mean is nearest to theirs.
    """
    return _cut_groups(X, k, lambda pool, groups: md_groups(pool, groups, k, part(report, 0.0, 0.9)))


def mdav_mhm(X: Array, k: int, *, report: Progress = silent) -> Array:
    """Cut a path through the groups of MDAV (D 4.2.3).

    This MDAV ends as described there: two groups per round while 2k records or more remain; then k to
    2k - 1 records form one group, and fewer join the group whose mean is nearest to theirs.
    """
    return _cut_groups(X, k, lambda pool, groups: _from_current_mean(pool, groups, k, True, report))


def cbfs_mhm(X: Array, k: int, *, report: Progress = silent) -> Array:
    """Cut a path through groups around the record furthest from the mean of what remains (D 4.2.3)."""
    return _cut_groups(X, k, lambda pool, groups: _from_current_mean(pool, groups, k, False, report))


def _from_current_mean(pool: Pool, groups: Groups, k: int, opposite: bool, report: Progress) -> int:
    """Open groups around the record furthest from the mean, and opposite to it; return the first seed."""
    first = pool.furthest(pool.mean()) if pool.count >= 2 * k else -1
    seeding = OPPOSITE if opposite else FROM_MEAN
    grow_groups(pool, groups, k, seeding=seeding, least=2 * k, report=part(report, 0.0, 0.9))
    return first


def _cut_groups(X: Array, k: int, build: Callable[[Pool, Groups], int]) -> Array:
    """Build groups, place the remaining records, lead a path through all groups and cut it."""
    pool, groups = Pool(X, means=True), Groups(X, k)
    first = build(pool, groups)
    rest = pool.rows()
    if len(rest) >= k:
        groups.open(rest)
    elif len(rest):
        groups.extend(groups.nearest(pool.mean())[1], rest)
    return mhm(X, _through_groups(X, groups, first), k)


def _through_groups(X: Array, groups: Groups, first: int) -> Array:
    """Return a path through all records, group by group: int64[n].

    Groups follow each other by the nearest mean, from the first group on. The first group starts at its
    seed, each later one at its record nearest to the mean of the group before; the others of a group
    follow by their distance to that record.
    """
    means = groups.means[: groups.count]
    rows = members(groups.labels)
    path: list[Array] = []
    before = -1
    for group in nearest_next(Pool(means), 0):
        own = rows[group]
        if before < 0:
            head = first if first >= 0 else int(own[0])
        else:
            head = int(by_distance(X, own, means[before])[0])
        path += [np.array([head]), by_distance(X, own[own != head], X[head])]
        before = group
    return np.concatenate(path)
