"""Methods that build groups of k one after the other and differ in the record they start from.

Sources: K = Khomnotai et al. (2018); T = Thaeter (2021), dissertation; D = Domingo-Ferrer et al. (2006).
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Array
from shoal.kernels.growth import BY_MEAN, BY_SEED, FROM_LISTS, FROM_MEAN
from shoal.partitioning.maximum_distance import assign_leftovers, grow_groups, nearest_neighbours, outermost_first
from shoal.partitioning.pool import Groups, Pool
from shoal.progress import Progress, silent


def cbfs(X: Array, k: int, *, report: Progress = silent) -> Array:
    """Centroid-based fixed-size: one seed per round, furthest from the mean of what remains (K 3.1, 5.2).

    Groups take the record nearest to their moving mean, as in the original of Laszlo and Mukherjee.
    """
    return _from_current_mean(X, k, BY_MEAN, report)


def cbfs_nn(X: Array, k: int, *, report: Progress = silent) -> Array:
    """CBFS whose groups are a seed and its k - 1 nearest neighbours (K 5.2; the CBFS of D 4.2.3)."""
    return _from_current_mean(X, k, BY_SEED, report)


def _from_current_mean(X: Array, k: int, growth: int, report: Progress) -> Array:
    pool, groups = Pool(X, means=True), Groups(X, k)
    grow_groups(pool, groups, k, seeding=FROM_MEAN, growth=growth, report=report)
    assign_leftovers(pool, groups)
    return groups.labels


def tfrp(X: Array, k: int, *, report: Progress = silent) -> Array:
    """Two fixed reference points: seeds furthest from all maxima and from all minima in turn (K 3.1).

    The reference points are taken attribute by attribute; T 8.2 describes one overall minimum and
    maximum, which does not give the printed figures. The maxima come first.
    """
    return _from_corners(X, k, BY_SEED, report)


def tfrp_nc(X: Array, k: int, *, report: Progress = silent) -> Array:
    """TFRP whose groups take the record nearest to their moving mean (K 5.2)."""
    return _from_corners(X, k, BY_MEAN, report)


def _from_corners(X: Array, k: int, growth: int, report: Progress) -> Array:
    pool, groups = Pool(X), Groups(X, k)
    corners = [outermost_first(X, X.max(axis=0)), outermost_first(X, X.min(axis=0))]
    grow_groups(pool, groups, k, seeding=FROM_LISTS, growth=growth, seeds=corners, report=report)
    assign_leftovers(pool, groups)
    return groups.labels


def sbm(X: Array, k: int, *, report: Progress = silent) -> Array:
    """Sorting-based: groups around the smallest and the largest record by the sum of ranks (T 8.4).

    Where the description is silent, this follows the figures of T's own implementation: ranks count rows in
    the order (value, row); of equal sums the lower row is taken at both ends; the largest record is set
    aside before the smallest takes its neighbours. The sums are computed once, as removals do not change
    the order.
    """
    pool, groups = Pool(X), Groups(X, k)
    sums = np.zeros(len(X), np.int64)
    for column in X.T:
        sums[np.argsort(column, kind="stable")] += np.arange(len(X))
    smallest, largest = (iter(np.argsort(way, kind="stable")) for way in (sums, -sums))
    while pool.count >= 3 * k:
        low = next(row for row in smallest if row in pool)
        pool.remove(np.array([low]))
        high = next(row for row in largest if row in pool)
        pool.remove(np.array([high]))
        for seed in (low, high):
            rows = pool.nearest(X[seed], k - 1)
            pool.remove(rows)
            groups.open(np.append(seed, rows))
        report(1 - pool.count / len(X))
    if pool.count >= 2 * k:
        nearest_neighbours(pool, groups, int(next(row for row in smallest if row in pool)), k)
    groups.open(pool.rows())
    return groups.labels
