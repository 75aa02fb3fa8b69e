"""Information loss of replacing records by the mean of their group."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.partitioning import door


def sse(X: Any, labels: Any) -> float:
    """Return the sum of squared distances of all records to the mean of their group.

    Parameters
    ----------
    X : array-like of shape (n, d)
    labels : array-like of shape (n,)
        Group of each record, any integers or names.
    """
    X = door.coordinates(X, "sse")
    return _sse(X, door.group_numbers(labels, len(X)))


def sst(X: Any) -> float:
    """Return the sum of squared distances of all records to their common mean: the SSE of a single group."""
    X = door.coordinates(X, "sst")
    return _sse(X, np.zeros(len(X), np.int64))


def information_loss(X: Any, labels: Any) -> float:
    """Return SSE / SST, from 0 (nothing lost) to 1 (all records look the same).

    Parameters
    ----------
    X : array-like of shape (n, d)
        Coordinates, used as they are. The literature gives percentages on standardised attributes.
    labels : array-like of shape (n,)
        Group of each record.

    Returns
    -------
    float
        0 if all records are equal, since then nothing can be lost.

    Examples
    --------
    >>> import shoal
    >>> shoal.information_loss([[1.0], [2.0], [10.0], [11.0]], [0, 0, 1, 1])
    0.012195121951219513
    """
    X = door.coordinates(X, "information_loss")
    labels = door.group_numbers(labels, len(X))
    total = _sse(X, np.zeros(len(X), np.int64))
    # The mean of equal records is equal to them only up to rounding, so their total need not be 0.
    return 0.0 if total == 0 or bool((X[0] == X).all()) else min(1.0, _sse(X, labels) / total)


def _sse(X: Array, labels: Array) -> float:
    from shoal.partitioning.pool import squared_error

    return squared_error(X, labels)
