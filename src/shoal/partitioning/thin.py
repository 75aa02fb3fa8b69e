"""Records in a thin form: by what is unusual about them (see `shoal.kernels.rule_moves.Thin`).

An attribute with a hierarchy has a coordinate for each of its nodes, and a record is at the usual place in nearly all
of them. Inner products and distances then need few coordinates instead of all.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Array
from shoal.kernels.rule_moves import Thin

# How many times as many coordinates there must be as unusual ones of any record; and how many at least.
TIMES, LEAST = 3, 24
# Records whose values tell what is usual, and numbers that are looked at at once.
TELLING, AT_ONCE = 1000, 1 << 22


def thin_of(X: Array) -> Thin:
    """Return records in a thin form; of no width if they have none that pays.

    Parameters
    ----------
    X : float64[n, d]
    """
    n, d = X.shape
    if not LEAST <= d <= np.iinfo(np.uint16).max:
        return _without(X)
    usual = np.array([_mode(column) for column in X[:: max(1, n // TELLING)].T])
    parts = np.array_split(np.arange(n), 1 + n * d // AT_ONCE)
    counts = np.concatenate([(X[part] != usual).sum(axis=1) for part in parts])
    width = int(counts.max()) + int(counts.max()) % 2
    if width == 0 or TIMES * width > d:
        return _without(X)
    at, apart = np.zeros((n, width), np.uint16), np.zeros((n, width))
    for part in parts:
        rows, columns = np.nonzero(X[part] != usual)
        rows += part[0]
        ends = np.cumsum(counts[part])
        places = np.arange(len(rows)) - (ends - counts[part])[rows - part[0]]
        at[rows, places] = columns
        apart[rows, places] = X[rows, columns] - usual[columns]
    return Thin(usual[None], at, apart, np.einsum("ij,ij->i", apart, apart))


def thin_rows(thin: Thin, rows: Array) -> Thin:
    """Return the thin form of some records: int64[r]."""
    if thin.at.shape[1] == 0:
        return thin
    return Thin(thin.usual, *(np.ascontiguousarray(some[rows]) for some in thin[1:]))


def _without(X: Array) -> Thin:
    return Thin(np.zeros((1, X.shape[1])), np.empty((0, 0), np.uint16), np.empty((0, 0)), np.empty(0))


def _mode(values: Array) -> float:
    """Return the most frequent value, of equally frequent ones the least."""
    kinds, counts = np.unique(values, return_counts=True)
    return float(kinds[counts.argmax()])
