"""Methods that weigh the candidate groups of all records against each other.

Sources: K = Khomnotai et al. (2018); T = Thaeter (2021), dissertation.
"""

from __future__ import annotations

from math import fsum

import numpy as np

from shoal.arrays import Array
from shoal.kernels import candidates as _candidates
from shoal.kernels import groups as _groups
from shoal.partitioning.maximum_distance import assign_leftovers, mdav
from shoal.partitioning.memory import require
from shoal.partitioning.pool import Groups, Pool, cost_of, kinds, members
from shoal.progress import Progress, part, silent


class Candidates:
    """The candidate group of every unassigned record: itself and its k - 1 nearest unassigned neighbours.

    About 2k neighbours of each record are stored, so that a new search over all records is needed only
    when most of them have been assigned. Memory O(n (d + k)).

    Of equal records, the lowest unassigned row stands for all: if there are k of them or more, the candidate groups of
    all have the same values, and if there are fewer, the same members. What is chosen is that of the lowest row.
    """

    def __init__(self, pool: Pool, k: int, method: str, n_jobs: int) -> None:
        n, spare = len(pool.X), 2 * k + 10
        length = min(n - 1, k - 1 + spare)
        self.pool = pool
        self._rows, self._twins, self.kinds = kinds(pool.X)
        count = len(self._rows)
        require(8 * (2 * n + count * (2 * length + k + 2 * pool.X.shape[1])), method, f"neighbour lists of {n} records")
        self._lists = pool.nearest_each(np.ascontiguousarray(pool.X[self._rows]), length, self._rows, n_jobs)[0]
        self._lengths = np.full(count, length)
        self._members = np.full((count, k - 1), -1, np.int64)
        self._changed = np.empty(count, np.int64)

    @property
    def rows(self) -> Array:
        """The lowest unassigned row of each kind, -1 where there is none: int64[c]."""
        return self._rows

    def renew(self, rows: Array) -> Array:
        """Bring the candidate groups of some of `rows` up to date; return the rows whose groups changed."""
        count = _candidates.renew(
            self.pool.points, rows, self.kinds, self._lists, self._lengths, self._members, self._changed
        )
        return self._changed[:count].copy()

    def group(self, row: int) -> Array:
        """Return the candidate group of `row`, the row itself first."""
        return np.append(row, self._members[self.kinds[row]])

    def remove(self, rows: Array) -> list[int]:
        """Take `rows` out of the pool; return those among them that stood for their kinds."""
        self.pool.remove(rows)
        gone = [row for row in rows.tolist() if self._rows[self.kinds[row]] == row]
        for row in gone:
            kind, after = self.kinds[row], row
            while after >= 0 and after not in self.pool:
                after = int(self._twins[after])
            self._rows[kind] = after
            self._members[kind, 0] = -1
        return gone


def gsms(X: Array, k: int, *, n_jobs: int = 1, report: Progress = silent) -> Array:
    """Successive group selection: the candidate group p with the least SSE(p) + SSE(rest) (K 3.1, 5.2).

    With N records left, SSE(p) + SSE(rest) = SSE(all) - k N / (N - k) |mean of p - mean of all|^2, so the
    wanted candidate is the one whose mean is furthest from the mean of all that remain.
    """
    pool, groups = Pool(X, means=True), Groups(X, k)
    candidates = Candidates(pool, k, "gsms", n_jobs)
    means = np.zeros_like(X)
    centres = Pool(means, np.empty(0, np.int64), like=X)
    for rows in _in_parts(candidates.rows):
        _move(candidates.renew(rows), candidates, means, centres)
        report(0.5 * (rows[-1] + 1) / len(X))
    report_part = part(report, 0.5, 1.0)
    while pool.count >= k:
        rows = candidates.group(centres.furthest(pool.mean()))
        groups.open(rows)
        centres.remove(np.array(candidates.remove(rows), np.int64))
        if pool.count >= k:
            _move(candidates.renew(candidates.rows), candidates, means, centres)
        report_part(1 - pool.count / len(X))
    assign_leftovers(pool, groups)
    return groups.labels


def _move(changed: Array, candidates: Candidates, means: Array, centres: Pool) -> None:
    """Recompute the means of candidate groups that changed."""
    centres.remove(np.array([row for row in changed if row in centres], np.int64))
    for row in changed:
        means[row] = _groups.mean_of(candidates.pool.X, candidates.group(row))
    centres.add(changed)


def _in_parts(rows: Array, size: int = 1000) -> list[Array]:
    """Cut a long first computation into parts, so that progress is reported and Ctrl-C works."""
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def dba(X: Array, k: int, *, n_jobs: int = 1, report: Progress = silent) -> Array:
    """Density-based: the candidate group of least squared error first; then dissolve and split (T algorithm 21).

    Fewer than k unassigned records go to the nearest means. Then groups are dissolved where that lowers the
    squared error, the last one made first: each record goes to the nearest mean, all means taken before any
    record moves. Groups of 2k records or more are split by `mdav`.
    """
    pool, groups = Pool(X), Groups(X, k)
    candidates = Candidates(pool, k, "dba", n_jobs)
    costs = np.full(len(candidates.rows), np.inf)
    for rows in _in_parts(candidates.rows):
        _weigh(candidates.renew(rows), candidates, costs)
        report(0.5 * (rows[-1] + 1) / len(X))
    report_part = part(report, 0.5, 0.9)
    while pool.count >= k:
        rows = candidates.group(int(candidates.rows[costs == costs.min()].min()))
        groups.open(rows)
        costs[candidates.kinds[candidates.remove(rows)]] = np.inf
        if pool.count >= k:
            _weigh(candidates.renew(candidates.rows), candidates, costs)
        report_part(1 - pool.count / len(X))
    assign_leftovers(pool, groups)
    _dissolve(X, groups)
    labels = groups.labels
    for rows in members(labels):
        if len(rows) >= 2 * k:
            labels[rows] = labels.max() + 1 + mdav(X[rows], k)
    return labels


def _weigh(changed: Array, candidates: Candidates, costs: Array) -> None:
    """Recompute the squared errors, one for each kind, of candidate groups that changed."""
    for row in changed:
        costs[candidates.kinds[row]] = cost_of(candidates.pool.X, candidates.group(row))


def _dissolve(X: Array, groups: Groups) -> None:
    """Dissolve groups, the last one first, wherever the squared error falls."""
    rows = members(groups.labels)
    left = groups.count
    for group in reversed(range(groups.count)):
        if left == 1:
            return
        groups.hide(group)
        targets = np.array([groups.nearest(X[row])[1] for row in rows[group]])
        new = {int(t): np.append(rows[t], rows[group][targets == t]) for t in targets}
        kept = fsum([cost_of(X, rows[group]), *(cost_of(X, rows[t]) for t in new)])
        if kept > fsum(cost_of(X, joined) for joined in new.values()):
            for t, joined in new.items():
                groups.extend(t, rows[group][targets == t])
                rows[t] = joined
            left -= 1
        else:
            groups.show(group)
