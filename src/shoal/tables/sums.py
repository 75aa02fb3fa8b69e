"""Sums that do not depend on the order of what is added.

Numbers are split into two integers of 31 bits each, and integers are added without rounding. So the same
table in another order of its rows has the same means, to the bit.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Array

_PART = 2.0**31


def power_above(x: Array) -> Array:
    """Return, for each x >= 0, a power of two that it does not exceed (or the largest there is)."""
    return np.asarray(np.ldexp(1.0, np.minimum(np.frexp(x)[1], 1023)))


def segment_sums(x: Array, starts: Array) -> Array:
    """Return the sum of each segment: float64[m].

    Parameters
    ----------
    x : float64[n]
        Within [-4, 4]; digits beyond 2**-62 are cut off.
    starts : int64[m]
        Where segments begin. None may be empty, the first begins at 0.
    """
    scaled = x * _PART
    high = np.rint(scaled)
    scaled -= high
    scaled *= _PART
    np.rint(scaled, out=scaled)
    highs = np.add.reduceat(high.astype(np.int64), starts)
    lows = np.add.reduceat(scaled.astype(np.int64), starts)
    return np.asarray((highs + lows / _PART) / _PART)


def exact_sum(x: Array) -> float:
    """Return the sum of all x within [-4, 4]."""
    return float(segment_sums(x, np.zeros(1, np.int64))[0])
