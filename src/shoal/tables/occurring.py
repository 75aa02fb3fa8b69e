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


def few_whole(numbers: Array) -> int:
    """Return how many different numbers there are if they are whole and few, else 0.

    Parameters
    ----------
    numbers : float64[n]
        NaN where missing.
    """
    present = numbers[~np.isnan(numbers)]
    if len(present) == 0 or np.abs(present).max() > LARGEST or (present != np.rint(present)).any():
        return 0
    different = len(np.unique(present))
    few = OFTEN * different <= len(present) or (different <= FEW and 2 * different <= len(present))
    return different if few and different > 1 else 0
