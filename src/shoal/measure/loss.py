"""Information loss: what is lost when records are replaced by the mean of their group."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.errors import DataError
from shoal.partitioning import door

Array = np.ndarray[Any, Any]


def sse(X: Any, labels: Any) -> float:
    """Return the sum of squared distances of all records to the mean of their group.

    Parameters
    ----------
    X : array-like of shape (n, d)
    labels : array-like of shape (n,)
        Group of each record, any integers or names.
    """
    X = door.coordinates(X, "sse")
    return _sse(X, group_numbers(labels, len(X)))


def sst(X: Any) -> float:
    """Return the sum of squared distances of all records to the mean of all: SSE with a single group."""
    X = door.coordinates(X, "sst")
    return _sse(X, np.zeros(len(X), np.int64))


def information_loss(X: Any, labels: Any) -> float:
    """Return SSE / SST, from 0 (nothing lost) to 1 (all records look the same).

    Parameters
    ----------
    X : array-like of shape (n, d)
        Coordinates, used as they are. The figures of the literature are percentages on standardised
        attributes.
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
    labels = group_numbers(labels, len(X))
    total = _sse(X, np.zeros(len(X), np.int64))
    # Of equal records the mean is equal only up to rounding, so that the total need not be 0.
    return 0.0 if total == 0 or bool((X[0] == X).all()) else min(1.0, _sse(X, labels) / total)


def _sse(X: Array, labels: Array) -> float:
    from shoal.kernels.groups import squared_error

    return float(squared_error(X, labels, int(labels.max()) + 1))


def group_numbers(labels: Any, records: int | None = None) -> Array:
    """Return labels of any kind as numbers from 0 on: int64[n].

    Parameters
    ----------
    labels : array-like of shape (n,)
    records : int, optional
        How many there must be.
    """
    if isinstance(labels, np.ma.MaskedArray):
        raise DataError("The labels must name a group for every record. Got a masked array.")
    try:
        given = np.asarray(labels)
        if given.dtype.kind in "US" and isinstance(labels, list | tuple):
            given = np.asarray(labels, dtype=object)  # or a NaN among words would become the word 'nan'
    except ValueError as error:
        raise DataError("The labels must be one-dimensional. Got lists of different lengths.") from error
    if given.ndim != 1 or len(given) == 0 or (records is not None and len(given) != records):
        wanted = "one group for each record" if records is None else f"one group for each of {records} records"
        raise DataError(f"The labels must be a one-dimensional array with {wanted}. Got shape {given.shape}.")
    if _some_missing(given):
        raise DataError("The labels must name a group for every record. Got NaN, infinity or None for some.")
    try:
        numbers: Array = np.unique(given, return_inverse=True)[1]
    except TypeError as error:
        raise DataError("The labels must be of one kind. Got values that cannot be compared.") from error
    return numbers.astype(np.int64)


def _some_missing(labels: Array) -> bool:
    if labels.dtype.kind in "fc":
        return not bool(np.isfinite(labels).all())
    if labels.dtype.kind in "mM":
        return bool(np.isnat(labels).any())
    return labels.dtype.kind == "O" and any(_missing(label) for label in labels)


def _missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA is neither equal nor unequal to itself
        return True
