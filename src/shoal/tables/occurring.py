"""Whole numbers of which few are different: codes, counts, scores, years.

Nobody can tell a code from a count by its digits, and the mean of two codes is no code. So if few numbers are different
for the number of rows, groups publish one that occurs, their median, unless the type is declared. Distances are those
of numbers all the same.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Array

# Few: at most FEW, and no more than half of the rows; or each occurs in at least OFTEN rows on average.
FEW, OFTEN = 24, 4
# Beyond, floats are whole but no longer count.
LARGEST = 2.0**53


def few_whole(numbers: Array, counts: Array | None = None) -> int:
    """Return how many different numbers there are if they are whole and few, else 0.

    Parameters
    ----------
    numbers : float64[n]
        NaN where missing.
    counts : int64[n] or None
        In how many rows each number occurs; None: in one.
    """
    here = ~np.isnan(numbers)
    present, rows = numbers[here], int(here.sum() if counts is None else counts[here].sum())
    if len(present) == 0 or np.abs(present).max() > LARGEST or (present != np.rint(present)).any():
        return 0
    different = len(np.unique(present))
    few = OFTEN * different <= rows or (different <= FEW and 2 * different <= rows)
    return different if few and different > 1 else 0
