"""Median cuts: fast, at a higher loss.

Sources: T = Thaeter (2021), dissertation, 7.1; S = Thaeter and Reischuk (2021).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from shoal.kernels import halves as _halves
from shoal.progress import Progress, silent

Array = np.ndarray[Any, Any]

# Parts larger than this are halved one by one, so that progress is told and Ctrl-C is heard.
PART = 20_000


def mondrian(X: Array, k: int, *, n_jobs: int = 1, report: Progress = silent) -> Array:
    """Cut at the median of the coordinate with the widest range (T algorithm 18)."""
    return _cut_down(X, k, _halves.RANGE, n_jobs, report)


def mondrian_v(X: Array, k: int, *, n_jobs: int = 1, report: Progress = silent) -> Array:
    """Cut at the median of the coordinate with the largest variance (T 7.1, S section 4)."""
    return _cut_down(X, k, _halves.VARIANCE, n_jobs, report)


def mondrian_v2d(X: Array, k: int, *, n_jobs: int = 1, report: Progress = silent) -> Array:
    """Cut at the median of the coordinate or 45 degree diagonal with the largest variance (T algorithm 19)."""
    return _cut_down(X, k, _halves.DIAGONALS, n_jobs, report)


def _cut_down(X: Array, k: int, rule: int, n_jobs: int, report: Progress) -> Array:
    """Halve all records down to parts that are final."""
    n = len(X)
    labels = np.empty(n, np.int64)
    large, small = [np.arange(n)], []
    while large:
        rows = large.pop()
        if len(rows) <= max(PART, 2 * k):
            small.append(rows)
            continue
        middle = _halves.halve(X, rows, rule)
        large += [rows[:middle], rows[middle:]]
    done = 0

    def finish(rows: Array) -> int:
        _halves.halve_down(X, rows, 2 * k, rule, labels)
        return len(rows)

    with ThreadPoolExecutor(n_jobs) as threads:
        for count in threads.map(finish, small):
            done += count
            report(done / n)
    return labels
