"""The published groups that are nearest to a record: all of them, where several are as near."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.partitioning.plain import squares_to
from shoal.partitioning.pool import Pool
from shoal.risk.distance import FEW_PAIRS, SLACK

# So many are asked for; only where all of them are equally near, every group is looked at.
MOST_AS_NEAR = 8


class Nearest(NamedTuple):
    """The nearest groups of each record.

    Attributes
    ----------
    record : int64[p]
        Ascending.
    group : int64[p]
        A group that is nearest to this record.
    squares : float64[n]
        The squared distance of each record to its nearest group.
    """

    record: Array
    group: Array
    squares: Array


def nearest_groups(X: Array, points: Array, n_jobs: int = 1) -> Nearest:
    """Return all groups that no other is nearer than, for each record; distances equal but for rounding are equal.

    Parameters
    ----------
    X : float64[n, d]
    points : float64[g, d]
        Of groups, all different.
    n_jobs : int
    """
    g = len(points)
    if len(X) * g <= FEW_PAIRS:
        return _plainly(X, points)
    most = min(MOST_AS_NEAR, g)
    found, squares = Pool(points).nearest_each(np.ascontiguousarray(X), most, n_jobs=n_jobs)
    level = squares <= (1 + SLACK[0]) * squares[:, :1] + SLACK[1]
    unsure = level[:, -1] & (most < g)
    record, place = np.nonzero(level & ~unsure[:, None])
    group = found[record, place]
    if unsure.any():
        again = np.flatnonzero(unsure)
        more = _plainly(X[again], points)
        record, group = np.concatenate([record, again[more.record]]), np.concatenate([group, more.group])
    order = np.lexsort([group, record])
    return Nearest(record[order], group[order], squares[:, 0])


def _plainly(X: Array, points: Array) -> Nearest:
    """Compare each record with each group."""
    columns = np.ascontiguousarray(points.T)
    records, groups, nearest = [], [], np.empty(len(X))
    for at, x in enumerate(X):
        squares = squares_to(columns, x)
        nearest[at] = squares.min()
        found = np.flatnonzero(squares <= (1 + SLACK[0]) * nearest[at] + SLACK[1])
        records.append(np.full(len(found), at))
        groups.append(found)
    return Nearest(np.concatenate(records), np.concatenate(groups), nearest)
