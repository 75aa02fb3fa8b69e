"""What every layer needs to work with arrays: their type, and the means of groups."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Array", "group_means"]

Array = np.ndarray[Any, Any]


def group_means(X: Array, labels: Array) -> Array:
    """Return the mean of each group.

    Sums are plain floating-point sums in the order of the rows. Where the last bit matters, use the exact sums of
    ``shoal.kernels.groups.all_means``.

    Parameters
    ----------
    X : float64[n, d]
    labels : int64[n]
        Group of each record, from 0 to g - 1. No group may be empty.

    Returns
    -------
    float64[g, d]
    """
    sizes = np.bincount(labels)
    return np.column_stack([np.bincount(labels, column) / sizes for column in X.T])
