"""How large a table is for the methods: not as large as it looks, if records are equal or attributes depend."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import Array

# The principal axes of at most so many records are looked at, those that carry this share of the spread.
SAMPLE, CARRIED = 20_000, 0.9


class Extent(NamedTuple):
    """What the time of most steps follows.

    Attributes
    ----------
    different : int
        Different records.
    axes : int
        Principal axes that carry nearly all of the spread.
    """

    different: int
    axes: int


def extent_of(X: Array) -> Extent:
    """Return how large a table is."""
    from shoal.partitioning.pool import kinds

    return Extent(len(kinds(X).firsts), _axes(X[:: len(X) // SAMPLE + 1]))


def _axes(X: Array) -> int:
    """Return how many principal axes carry nearly all of the spread of some records."""
    Y = X - X.mean(axis=0)
    # Squares of what is at most 1 are finite.
    Y /= max(np.abs(Y).max(), np.finfo(float).tiny)
    spreads = np.maximum(0.0, np.linalg.eigvalsh(Y.T @ Y)[::-1])
    return int(np.count_nonzero(np.cumsum(spreads) < CARRIED * spreads.sum())) + 1
