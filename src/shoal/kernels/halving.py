"""The best division of a few records into two groups.

With the overall mean at the origin and signs +1 for the a records of one group and -1 for the b of the
other, the division lowers the squared error by n / (4 a b) |y|^2, where y is the signed sum of the records.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import kernel


@kernel
def longest_sum(gram, start, least, longest, floor, signs):  # type: ignore[no-untyped-def]
    """Find the signs of records start, start + 1, .. that give the longest sum, by branch and bound.

    Let y be the sum over the records that have their sign, and r the best sum over the others. Then
    |y + r|^2 <= |y|^2 + 2 (sum over the others of |<y, x>|) + |r|^2, and the last term is known from the
    problems solved before, with fewer records.

    Parameters
    ----------
    gram : float64[n, n]
        Inner products of the records.
    start : int
    least : int
        How many of each sign there must be; with 0, the value is the squared length, and otherwise
        n / (4 a b) times it.
    longest : float64[n + 1]
        Greatest squared length over the records from p on, for each p > start.
    floor : float
        Only values above this one count.
    signs : int8[n]
        Overwritten with the best signs, if there are any.

    Returns
    -------
    float
        The greatest value, or `floor` if no signs reach it.
    """
    n = gram.shape[0]
    count = n - start
    # Most that a length can be worth: the most uneven sizes.
    worth = 1.0 if least == 0 else count / (4.0 * least * (count - least))
    now = np.zeros(n, np.int8)
    inner = np.zeros((n + 1, n))
    square = np.zeros(n + 1)
    plus = np.zeros(n + 1, np.int64)
    best = floor
    p = start
    while p >= start:
        # The first sign is +1 only: the other half of the tree mirrors this one.
        if now[p] == -1 or (now[p] == 1 and p == start):
            now[p] = 0
            p -= 1
            continue
        sign = 1 if now[p] == 0 else -1
        now[p] = sign
        plus[p + 1] = plus[p] + (1 if sign > 0 else 0)
        minus = p + 1 - start - plus[p + 1]
        if plus[p + 1] > count - least or minus > count - least:
            continue
        square[p + 1] = square[p] + 2.0 * sign * inner[p, p] + gram[p, p]
        if p + 1 == n:
            value = square[n]
            if least > 0:
                value *= count / (4.0 * plus[n] * (count - plus[n]))
            if value > best:
                best = value
                signs[:] = now
            continue
        across = 0.0
        for j in range(p + 1, n):
            v = inner[p, j] + sign * gram[p, j]
            inner[p + 1, j] = v
            across += abs(v)
        if worth * (square[p + 1] + 2.0 * across + longest[p + 1]) > best:
            p += 1
            now[p] = 0
    return best
