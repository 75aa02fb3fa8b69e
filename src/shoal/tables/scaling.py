"""Standardising numbers in steps, each of which can be taken on parts of a column and put together exactly.

The constants are the lowest and the highest number, then the sum of all, then the sum of squares. Sums are added as
integers, so they are the same to the bit in whatever parts the numbers come.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.tables.sums import integers_of, power_above, sum_of


class ExactSum(NamedTuple):
    """A sum of numbers within [-4, 4] in two integers, and how many they are."""

    high: int = 0
    low: int = 0
    number: int = 0

    @classmethod
    def of(cls, x: Array, counts: Array | None = None) -> ExactSum:
        """Return the sum of numbers, each of which occurs once, or as often as `counts` int64[n] says."""
        high, low = integers_of(x)
        if counts is None:
            return cls(int(high.sum()), int(low.sum()), len(x))
        # As Python's integers: the products of large counts do not fit into 64 bits.
        many = counts.astype(object)
        return cls(int((high.astype(object) * many).sum()), int((low.astype(object) * many).sum()), int(counts.sum()))

    def plus(self, other: ExactSum) -> ExactSum:
        """Return the sum of both."""
        return ExactSum(self.high + other.high, self.low + other.low, self.number + other.number)

    @property
    def mean(self) -> float:
        """Return the mean of the numbers."""
        return sum_of(self.high, self.low) / self.number


class Standard(NamedTuple):
    """How the numbers of an attribute are standardised; what is None is not known yet.

    Attributes
    ----------
    low, high : float
        The lowest and the highest number.
    mean, deviation : float or None
        Those of the numbers after they were moved and enlarged to [0, 1].
    """

    low: float
    high: float
    mean: float | None = None
    deviation: float | None = None

    @property
    def flat(self) -> bool:
        """Return whether all numbers are equal, so that there is no coordinate."""
        return self.low == self.high

    @property
    def open(self) -> bool:
        """Return whether a sum is still to be taken."""
        return not self.flat and self.deviation is None

    def enlarged(self, x: Array) -> Array:
        """Return numbers moved and enlarged to [0, 1].

        Dividing by a power of two is exact and prevents overflow. Subtracting the lowest value keeps differences exact
        if the offset is large, and dividing them by their own power uses all digits.
        """
        power = power_above(max(abs(self.low), abs(self.high)))
        y = x / power
        y -= self.low / power
        y /= power_above(self.high / power - self.low / power)
        return y

    def next_sum(self, x: Array, counts: Array | None = None) -> ExactSum:
        """Return what these numbers add to the sum that is to be taken next."""
        y = self.enlarged(x)
        if self.mean is None:
            return ExactSum.of(y, counts)
        y -= self.mean
        return ExactSum.of(y * y, counts)

    def with_sum(self, total: ExactSum) -> Standard:
        """Return the same with the constant that follows from the sum over all numbers."""
        if self.mean is None:
            return self._replace(mean=total.mean)
        return self._replace(deviation=math.sqrt(total.mean))

    def points(self, x: Array) -> Array:
        """Return the coordinates of numbers: float64[n, 1], or [n, 0] if all numbers are equal."""
        if self.flat:
            return np.zeros((len(x), 0))
        y = self.enlarged(x)
        y -= self.mean
        y /= self.deviation
        return y[:, None]


def standard_of(x: Array, counts: Array | None = None) -> Standard:
    """Return how numbers are standardised, each of which occurs once, or as often as `counts` says."""
    standard = Standard(float(x.min()), float(x.max()))
    while standard.open:
        standard = standard.with_sum(standard.next_sum(x, counts))
    return standard
