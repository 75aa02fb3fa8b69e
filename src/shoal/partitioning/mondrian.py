"""Median cuts: fast, at a higher loss.

Sources: T = Thaeter (2021), dissertation, 7.1; S = Thaeter and Reischuk (2021); LeFevre, DeWitt, Ramakrishnan (2006).

Halves have the same size, so a cut may separate equal records: these methods are local recoders. The strict variant
cuts between values only. Equal records stay together, and the release is a global recoding.

Where the papers are silent, or their figures differ from their pseudo-code: records are ranked along the
direction of a cut, ties by the order that earlier cuts left behind, and the lower half is rounded down.
The printed figures leave a part of exactly 2k records whole, which is `whole="2k"`; the pseudo-code cuts it
too, which is `whole="2k-1"` and loses less.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from shoal.arrays import Array
from shoal.kernels import halves as _halves
from shoal.partitioning.pool import mapped
from shoal.progress import Progress, silent

Whole = Literal["2k", "2k-1"]

# Parts larger than this are halved one by one, so that progress is reported and Ctrl-C works.
PART = 20_000


def mondrian(X: Array, k: int, *, whole: Whole = "2k", n_jobs: int = 1, report: Progress = silent) -> Array:
    """Cut at the median of the coordinate with the widest range (T algorithm 18).

    Equal records may end up in different groups; `mondrian-strict` keeps them together.
    """
    return _cut_down(X, _most(k, whole), _halves.RANGE, 1.0, n_jobs, report)


def mondrian_strict(X: Array, k: int, *, n_jobs: int = 1, report: Progress = silent) -> Array:
    """Cut between two values of the coordinate with the widest range (LeFevre et al. 2006, strict partitioning).

    Of the cuts that leave at least k records on either side, the one nearest to the median is made, the lower one on
    ties. If the coordinate has none, the next widest is tried, and a part without any cut is a group. Equal records are
    never separated, whatever their number, so a group may have many more than 2k records.

    The paper cuts above the median value only, and compares normalised ranges; here the coordinates are used as they
    are given.
    """
    return _cut_down(X, 2 * k - 1, _halves.STRICT, 1.0, n_jobs, report)


def mondrian_v(X: Array, k: int, *, whole: Whole = "2k", n_jobs: int = 1, report: Progress = silent) -> Array:
    """Cut at the median of the coordinate with the largest variance (T 7.1, S section 4).

    Variances that differ by rounding only count as equal, and the first coordinate wins.
    """
    return _cut_down(X, _most(k, whole), _halves.VARIANCE, 1.0, n_jobs, report)


def mondrian_v2d(
    X: Array,
    k: int,
    *,
    whole: Whole = "2k",
    weight: float = 1.0,
    n_jobs: int = 1,
    report: Progress = silent,
) -> Array:
    """Cut at the median of the coordinate or 45 degree diagonal with the largest variance (T algorithm 19).

    The variance along a diagonal counts `weight` times. 1 gives the figures of T; 2, which leaves out the
    factor 1 / sqrt(2) of the diagonals, those of S.
    """
    return _cut_down(X, _most(k, whole), _halves.DIAGONALS, weight, n_jobs, report)


def _most(k: int, whole: Whole) -> int:
    return 2 * k if whole == "2k" else 2 * k - 1


def _cut_down(X: Array, most: int, rule: int, weight: float, n_jobs: int, report: Progress) -> Array:
    """Cut all records down to parts of at most `most` records, or to parts that no cut is allowed for."""
    n = len(X)
    labels = np.empty(n, np.int64)
    large, small = [np.arange(n)], []
    while large:
        rows = large.pop()
        middle = 0
        if len(rows) > max(PART, most):
            strict = rule == _halves.STRICT
            middle = (
                _halves.cut_between_values(X, rows, (most + 1) // 2) if strict else _halves.halve(X, rows, rule, weight)
            )
        if middle == 0:
            small.append(rows)
            continue
        large += [rows[:middle], rows[middle:]]
        report(0.5 * sum(len(rows) for rows in small) / n)
    done = 0

    def finish(rows: Array) -> int:
        _halves.halve_down(X, rows, most, rule, weight, labels)
        return len(rows)

    for count in mapped(finish, small, n_jobs):
        done += count
        report(0.5 + 0.5 * done / n)
    return labels
