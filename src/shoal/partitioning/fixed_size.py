"""Methods that build groups of k one after the other and differ in whom they start from.

Sources: K = Khomnotai et al. (2018); T = Thaeter (2021), dissertation; D = Domingo-Ferrer et al. (2006).
"""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np

from shoal.kernels import candidates as _candidates
from shoal.kernels import groups as _groups
from shoal.partitioning.maximum_distance import (
    Growth,
    assign_leftovers,
    nearest_neighbours,
    nearest_to_mean,
    outermost_first,
)
from shoal.partitioning.memory import require
from shoal.partitioning.pool import Groups, Pool
from shoal.progress import Progress, part, silent

Array = np.ndarray[Any, Any]


def cbfs(X: Array, k: int, *, report: Progress = silent) -> Array:
    """Centroid-based fixed-size: one seed a round, furthest from the mean of what remains (K 3.1, 5.2).

    Groups take the record nearest to their moving mean, as in the original of Laszlo and Mukherjee.
    """
    return _from_current_mean(X, k, nearest_to_mean, report)


def cbfs_nn(X: Array, k: int, *, report: Progress = silent) -> Array:
    """CBFS whose groups are a seed and its k - 1 nearest neighbours (K 5.2; the CBFS of D 4.2.3)."""
    return _from_current_mean(X, k, nearest_neighbours, report)


def _from_current_mean(X: Array, k: int, grow: Growth, report: Progress) -> Array:
    pool, groups = Pool(X), Groups(X, k)
    while pool.count >= k:
        grow(pool, groups, pool.furthest(pool.mean()), k)
        report(1 - pool.count / len(X))
    assign_leftovers(pool, groups)
    return groups.labels


def tfrp(X: Array, k: int, *, report: Progress = silent) -> Array:
    """Two fixed reference points: seeds furthest from all maxima and from all minima in turn (K 3.1).

    The reference points are taken attribute by attribute; T 8.2 describes one overall minimum and
    maximum, which does not give the printed figures. The maxima come first.
    """
    return _from_corners(X, k, nearest_neighbours, report)


def tfrp_nc(X: Array, k: int, *, report: Progress = silent) -> Array:
    """TFRP whose groups take the record nearest to their moving mean (K 5.2)."""
    return _from_corners(X, k, nearest_to_mean, report)


def _from_corners(X: Array, k: int, grow: Growth, report: Progress) -> Array:
    pool, groups = Pool(X), Groups(X, k)
    corners = cycle([outermost_first(pool, X.max(axis=0)), outermost_first(pool, X.min(axis=0))])
    while pool.count >= k:
        grow(pool, groups, next(next(corners)), k)
        report(1 - pool.count / len(X))
    assign_leftovers(pool, groups)
    return groups.labels


class Candidates:
    """The candidate group of every unassigned record: itself and its k - 1 nearest unassigned neighbours.

    About 2k neighbours of each record are remembered, so that a search over all records is needed only
    when most of them have been assigned. Memory O(n (d + k)).
    """

    def __init__(self, pool: Pool, k: int, method: str) -> None:
        n, spare = len(pool.X), 2 * k + 10
        length = min(n - 1, k - 1 + spare)
        require(8 * n * (length + k + 2 * pool.X.shape[1]), method, f"neighbour lists of {n} records")
        self.pool = pool
        self._lists = np.empty((n, length), np.int64)
        self._lengths = np.zeros(n, np.int64)
        self._members = np.full((n, k - 1), -1, np.int64)
        self._changed = np.empty(n, np.int64)

    def renew(self, rows: Array) -> Array:
        """Bring the candidate groups of `rows` up to date; return those that changed."""
        count = _candidates.renew(
            self.pool._points, rows, self._lists, self._lengths, self._members, self._changed
        )
        return self._changed[:count].copy()

    def group(self, row: int) -> Array:
        """Return the candidate group of `row`, the row itself first."""
        return np.append(row, self._members[row])


def gsms(X: Array, k: int, *, report: Progress = silent) -> Array:
    """Successive group selection: the candidate group p with the least SSE(p) + SSE(rest) (K 3.1, 5.2).

    With N records left, SSE(p) + SSE(rest) = SSE(all) - k N / (N - k) |mean of p - mean of all|^2, so the
    wanted candidate is the one whose mean is furthest from the mean of all that remain.
    """
    pool, groups = Pool(X), Groups(X, k)
    candidates = Candidates(pool, k, "gsms")
    means = np.zeros_like(X)
    centres = Pool(means, np.empty(0, np.int64), like=X)
    for rows in _in_parts(pool.rows()):
        _move(candidates.renew(rows), candidates, means, centres)
        report(0.5 * (rows[-1] + 1) / len(X))
    told = part(report, 0.5, 1.0)
    while pool.count >= k:
        rows = candidates.group(centres.furthest(pool.mean()))
        groups.open(rows)
        pool.remove(rows)
        centres.remove(rows)
        if pool.count >= k:
            _move(candidates.renew(pool.rows()), candidates, means, centres)
        told(1 - pool.count / len(X))
    assign_leftovers(pool, groups)
    return groups.labels


def _move(changed: Array, candidates: Candidates, means: Array, centres: Pool) -> None:
    """Recompute the means of candidate groups that changed."""
    centres.remove(np.array([row for row in changed if row in centres], np.int64))
    for row in changed:
        means[row] = _groups.mean_of(candidates.pool.X, candidates.group(row))
    centres.add(changed)


def _in_parts(rows: Array, size: int = 1000) -> list[Array]:
    """Cut a long first computation into parts, between which progress is told and Ctrl-C is heard."""
    return [rows[start : start + size] for start in range(0, len(rows), size)]
