"""Pairs of an original table and its release, and the different rows of a release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import Array
from shoal.partitioning.pool import SMALL_TABLE, kinds
from shoal.risk.keys import combined
from shoal.tables.pairs import Attribute, Pair, Settings

__all__ = ["Attribute", "Groups", "Pair", "Settings", "groups_of"]


@dataclass(frozen=True)
class Groups:
    """The different rows of a release.

    Attributes
    ----------
    points : float64[g, d]
    of : int64[n]
        The group of each row.
    sizes : int64[g]
    """

    points: Array
    of: Array
    sizes: Array


def groups_of(Y: Array) -> Groups:
    """Return the different rows of Y float64[n, d], numbered by first appearance."""
    if len(Y) > SMALL_TABLE:
        found = kinds(Y)
        return Groups(Y[found.firsts], found.of, np.bincount(found.of))
    codes = [np.unique(column, return_inverse=True)[1].astype(np.int64) for column in Y.T]
    of, count = combined(codes, [int(column.max()) + 1 for column in codes])
    firsts = np.empty(count, np.int64)
    firsts[of[::-1]] = np.arange(len(Y))[::-1]
    return Groups(Y[firsts], of, np.bincount(of))
