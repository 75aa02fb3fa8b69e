"""Groups of equal records, which nothing can improve: a search need not look at more of them than others could use."""

from __future__ import annotations

import numpy as np

from shoal.arrays import Array
from shoal.partitioning.pool import SMALL_TABLE, Kinds, Pool, kinds


def in_play(X: Array, labels: Array, each: int, n_jobs: int = 1) -> Array:
    """Return the rows that a search for lower loss looks at: all but those of groups of equal records in excess.

    A group of equal records costs nothing, but it can serve others. A record that lies apart costs least among k - 1
    records that are equal, so every record of a mixed group may want a group of the nearest kind for itself. One group
    of each kind is left, the largest, and `each` more for every such record; all others stay as they are. What a search
    costs then follows the number of different records. Small tables are looked at as a whole.

    Parameters
    ----------
    X : float64[n, d]
    labels : int64[n]
        Groups 0, 1, ..
    each : int
    n_jobs : int
    """
    if len(X) <= SMALL_TABLE:
        return np.arange(len(X))
    same, groups = kinds(X), int(labels.max()) + 1
    first, last = np.full(groups, len(X)), np.zeros(groups, np.int64)
    np.minimum.at(first, labels, same.of)
    np.maximum.at(last, labels, same.of)
    pure = np.flatnonzero(first == last)
    values, kind = np.unique(first[pure], return_inverse=True)
    if len(values) == len(pure):
        return np.arange(len(X))
    wanted = np.ones(len(values), np.int64)
    if each > 0:
        wanted += each * _neighbours(X, same, values, first != last, labels, n_jobs)
    # By kind, the largest first: the place of each group among those of its kind.
    order = np.lexsort((-np.bincount(labels)[pure], kind))
    starts = np.searchsorted(kind[order], np.arange(len(values)))
    place = np.arange(len(order)) - starts[kind[order]]
    kept = np.ones(groups, bool)
    kept[pure[order[place >= wanted[kind[order]]]]] = False
    return np.flatnonzero(kept[labels])


def _neighbours(X: Array, same: Kinds, values: Array, mixed: Array, labels: Array, n_jobs: int) -> Array:
    """Return, for each of the kinds `values`, how many records of mixed groups lie nearest to it: int64[v]."""
    rows = same.of[mixed[labels]]
    if len(rows) == 0:
        return np.zeros(len(values), np.int64)
    asking, counts = np.unique(rows, return_counts=True)
    there = np.ascontiguousarray(X[same.firsts[values]])
    nearest = Pool(there).nearest_each(np.ascontiguousarray(X[same.firsts[asking]]), 1, n_jobs=n_jobs)[0]
    return np.bincount(nearest[:, 0], counts, len(values)).astype(np.int64)
