"""A lower bound on the squared error of every partition, from the distances of records to their nearest neighbours."""

from __future__ import annotations

from math import fsum
from typing import Any

import numpy as np

from shoal.partitioning.pool import cost_of, nearest_others

Array = np.ndarray[Any, Any]

# Relative, for rounding.
SAFE = 1e-9


def neighbour_bound(X: Array, k: int, n_jobs: int = 1) -> float:
    """Return the sum over records of their k - 1 smallest squared distances, divided by 2k.

    No partition has a smaller squared error: a record shares its group with s - 1 >= k - 1 others, and its part of the
    squared error is the sum of its squared distances to them over 2s. That is half their mean, itself (0) included, and
    the mean of the s smallest numbers does not fall with s.

    Parameters
    ----------
    X : float64[n, d]
    k : int
    n_jobs : int
    """
    return fsum(neighbour_prices(X, k, n_jobs)) if len(X) >= 2 * k else cost_of(X, np.arange(len(X))) * (1 - SAFE)


def neighbour_prices(X: Array, k: int, n_jobs: int = 1) -> Array:
    """Return the part of the neighbour bound of each record: float64[n]."""
    squares = nearest_others(X, k - 1, n_jobs)[1]
    prices: Array = squares.sum(axis=1) / (2 * k) * (1 - SAFE)
    return prices
