"""Lloyd-based methods: partitions improved in rounds, from good starts and from random ones.

Sources: T = Thaeter (2021), dissertation, chapters 6 and 7; S = Thaeter and Reischuk (2021).
"""

from __future__ import annotations

from concurrent.futures import Future
from threading import Lock
from typing import Literal

import numpy as np

from shoal.arrays import Array
from shoal.kernels import halves as _halves
from shoal.kernels.few_rounds import few_rounds
from shoal.partitioning.maximum_distance import Closest, Star, best_gamma, mdav_star
from shoal.partitioning.pool import SMALL_TABLE, mapped
from shoal.partitioning.refine import MOST_ROUNDS, ona_rounds
from shoal.progress import Progress, part, silent


def ona_star(X: Array, k: int, *, closest: Closest = "mean", n_jobs: int = 1, report: Progress = silent) -> Array:
    """ONA*: from MDAV*, dissolve groups and reassign records in rounds (T algorithms 15 to 17, S algorithm 3).

    The nearest group of a record is the one with the nearest mean, its own excepted. Groups are visited in order of
    creation; the first piece of a split takes the place of its group, the others come last. A move or a dissolution
    needs a strict gain. At most 30 rounds. `closest` is that of MDAV*: "mean" gives the figures of T, "cost" those of
    S.
    """
    start = mdav_star(X, k, closest=closest, n_jobs=n_jobs, report=part(report, 0.0, 0.4))
    return _rounds_from(X, k, start, n_jobs, part(report, 0.4, 1.0))


def _rounds_from(X: Array, k: int, start: Array, n_jobs: int, report: Progress) -> Array:
    """Return the groups after the rounds of ONA*, from groups in order of creation."""
    if len(X) > SMALL_TABLE:
        return ona_rounds(X, k, start, by_row=False, n_jobs=n_jobs, report=report)
    labels: Array = few_rounds(X, k, start, MOST_ROUNDS, 2 * (len(X) // k) + 4 * k + 64)
    report(1.0)
    return labels


def ona_star_gamma(
    X: Array, k: int, *, gamma: float | Literal["best"] = 1.0, n_jobs: int = 1, report: Progress = silent
) -> Array:
    """ONA* from MDAV*-gamma (T 6.4); `gamma="best"` runs 0, 0.1 .. 2 and keeps the lowest loss at the end.

    All runs share the index of the records, and gain factors that lead to the same start share the rounds from it.
    """
    star, lock, ends = Star(X, k), Lock(), dict[bytes, Future[Array]]()

    def run(factor: float, progress: Progress) -> Array:
        start = star.run(factor, True, part(progress, 0.0, 0.4))
        with lock:
            end, first = ends.get(start.tobytes()), start.tobytes() not in ends
            if end is None:
                end = ends[start.tobytes()] = Future()
        if first:
            try:
                end.set_result(_rounds_from(X, k, start, 1, part(progress, 0.4, 1.0)))
            except BaseException as error:
                end.set_exception(error)
                raise
        return end.result()

    return best_gamma(run, X, n_jobs, report) if gamma == "best" else run(gamma, report)


def mona(X: Array, k: int, *, rho: float = 0.5, n_jobs: int = 1, report: Progress = silent) -> Array:
    """Median cuts by variance down to n^rho records, then ONA* in each part (T algorithm 20, S algorithm 6).

    rho = 0 is `mondrian-v`, rho = 1 is `ona*`. Parts of 2k records or fewer stay whole, as in the printed figures.
    """
    return _mona(X, k, rho, _halves.VARIANCE, n_jobs, report)


def mona_2d(X: Array, k: int, *, rho: float = 0.5, n_jobs: int = 1, report: Progress = silent) -> Array:
    """MONA with cuts along the diagonals of two coordinates as well (T 7.2): `mondrian-v2d`, then ONA*."""
    return _mona(X, k, rho, _halves.DIAGONALS, n_jobs, report)


def _mona(X: Array, k: int, rho: float, rule: int, n_jobs: int, report: Progress) -> Array:
    if rho == 1:
        return ona_star(X, k, n_jobs=n_jobs, report=report)
    n = len(X)
    limit = n**rho
    labels = np.full(n, -1, np.int64)
    large, small = [np.arange(n)], []
    while large:
        rows = large.pop()
        if len(rows) <= 2 * k:
            labels[rows] = rows.min()
        elif len(rows) <= limit:
            small.append(np.sort(rows))
        else:
            middle = _halves.halve(X, rows, rule, 1.0)
            large += [rows[:middle], rows[middle:]]
    done = n - sum(len(rows) for rows in small)

    def finish(rows: Array) -> int:
        part_labels = ona_star(np.ascontiguousarray(X[rows]), k)
        # A group is numbered by its first row, so that numbers differ between parts.
        firsts = np.empty(len(rows), np.int64)
        firsts[part_labels[::-1]] = rows[::-1]  # of a group that is met again, the last entry stays
        labels[rows] = firsts[part_labels]
        return len(rows)

    for count in mapped(finish, small, n_jobs):
        done += count
        report(done / n)
    return labels
