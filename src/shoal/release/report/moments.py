"""Means, standard deviations and correlations of numbers within a range, from sums that are exact.

Numbers are scaled to [-1, 1] and rounded to 40 binary places; what is added from there on are integers. So the sums are
the same whatever the order of the rows, and into whatever parts a table is cut.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from shoal.arrays import Array

__all__ = ["ROWS", "Moments", "scaled", "unscaled"]

Pair = tuple[float, float]
Matrix = tuple[tuple[float | None, ...], ...]

# Rows that are summed at once: products of 20 bits of so many are exact in float64.
ROWS = 1 << 13
_BITS = 20
_ONE = 1 << 2 * _BITS  # what stands for 1


@dataclass
class Moments:
    """Sums over the rows in which both of two of d columns have values; `add` and `merge` in any order give the same.

    Attributes
    ----------
    d : int
    n, first, second, product : object[d, d]
        Python's integers: how many rows, and their sums of the values of the first column, of its squares, and of the
        products of both columns.
    """

    d: int
    n: Array = field(init=False)
    first: Array = field(init=False)
    second: Array = field(init=False)
    product: Array = field(init=False)

    def __post_init__(self) -> None:
        self.n, self.first, self.second, self.product = (np.zeros((self.d, self.d), object) for _ in range(4))

    def add(self, values: Array) -> None:
        """Add up to `ROWS` rows: float64[d, n], within [-1, 1] or NaN where missing."""
        there = ~np.isnan(values)
        rest = np.where(there, values, 0.0) * 2.0**_BITS
        high = np.rint(rest)
        low = np.rint((rest - high) * 2.0**_BITS)
        cross = high @ low.T
        product = _joined(high @ high.T, cross + cross.T, low @ low.T)
        self.product += product
        if there.all():
            self.n += values.shape[1]
            self.first += _joined(high.sum(axis=1), low.sum(axis=1))[:, None]
            self.second += np.diag(product)[:, None]
            return
        present = there.T.astype(np.float64)
        self.n += (present.T @ present).astype(np.int64).astype(object)
        self.first += _joined(high @ present, low @ present)
        self.second += _joined((high * high) @ present, (2 * high * low) @ present, (low * low) @ present)

    def merge(self, other: Moments) -> None:
        """Add the sums over other rows."""
        self.n, self.first = self.n + other.n, self.first + other.first
        self.second, self.product = self.second + other.second, self.product + other.product

    def mean_and_deviation(self, at: int) -> Pair:
        """Return the mean and the standard deviation of the values of a column, which must have some."""
        n, total = self.n[at, at], self.first[at, at]
        return total / (n * _ONE), math.sqrt((n * self.second[at, at] - total * total) / (n * _ONE) ** 2)

    def correlations(self, of: list[int], least: int) -> Matrix:
        """Return Pearson's correlations of some columns to two decimals; None of fewer than `least` rows."""
        own = np.ix_(of, of)
        n, first = self.n[own], self.first[own]
        spread = _floats(n * self.second[own] - first * first)
        n_float = n.astype(np.float64)
        # The values are in [-1, 1]: a smaller spread is a rounding error.
        spread = np.where((spread > 1e-12 * n_float * n_float) & (n_float >= least), spread, np.nan)
        both = _floats(n * self.product[own] - first * first.T)
        table = np.clip(both / np.sqrt(spread * spread.T), -1.0, 1.0).round(2) + 0.0
        return tuple(tuple(None if math.isnan(r) else r for r in row) for row in table.tolist())


def _joined(*parts: Array) -> Array:
    """Return whole numbers that are written in parts, each `_BITS` further to the right, as Python's integers."""
    total = parts[0].astype(np.int64).astype(object)
    for part in parts[1:]:
        total = total * 2**_BITS + part.astype(np.int64).astype(object)
    return total


def _floats(products: Array) -> Array:
    return np.asarray((products / _ONE**2).astype(np.float64))


def scaled(values: Array, bounds: Pair) -> Array:
    """Return values limited to a range, and that range as [-1, 1]; NaN where missing."""
    low, high, power = _near_one(bounds)
    clipped = np.clip(np.ldexp(np.clip(values, *bounds), power), low, high)
    return np.asarray((clipped - (low + high) / 2) * (2 / (high - low) if high > low else 1.0))


def unscaled(mean: float, deviation: float, bounds: Pair) -> Pair:
    """Return a mean and a standard deviation of scaled values in the units of the values."""
    low, high, power = _near_one(bounds)
    half = (high - low) / 2
    return math.ldexp((low + high) / 2 + mean * half, -power), math.ldexp(deviation * half, -power)


def _near_one(bounds: Pair) -> tuple[float, float, int]:
    """Return a range times a power of two, which is exact, so that neither sums nor quotients overflow."""
    power = -math.frexp(max(abs(bounds[0]), abs(bounds[1])))[1]
    return math.ldexp(bounds[0], power), math.ldexp(bounds[1], power), power
