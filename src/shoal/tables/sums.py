"""Sums that do not depend on the order of summation.

Numbers are split into two integers of 31 bits each, which are added without rounding. So the means of a table are the
same, to the bit, in any order of its rows.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Array

_PART = 2.0**31


def power_above(x: Array | float) -> Array:
    """Return, for each x >= 0, a power of two that it does not exceed (or the largest power of two)."""
    return np.asarray(np.ldexp(1.0, np.minimum(np.frexp(x)[1], 1023)))


def segment_sums(x: Array, starts: Array) -> Array:
    """Return the sum of each segment: float64[m].

    Parameters
    ----------
    x : float64[n]
        Within [-4, 4]; digits beyond 2**-62 are cut off.
    starts : int64[m]
        Where segments begin. No segment may be empty, and the first begins at 0.
    """
    high, low = integers_of(x)
    highs, lows = np.add.reduceat(high, starts), np.add.reduceat(low, starts)
    return np.asarray((highs + lows / _PART) / _PART)


def integers_of(x: Array) -> tuple[Array, Array]:
    """Return numbers within [-4, 4] as two integers each: int64[n], int64[n]."""
    scaled = x * _PART
    high = np.rint(scaled)
    scaled -= high
    scaled *= _PART
    np.rint(scaled, out=scaled)
    return high.astype(np.int64), scaled.astype(np.int64)


def sum_of(high: int, low: int) -> float:
    """Return the number that sums of such integers stand for."""
    return (float(high) + low / _PART) / _PART


def exact_sum(x: Array) -> float:
    """Return the sum of all x within [-4, 4]."""
    return float(segment_sums(x, np.zeros(1, np.int64))[0])
