"""Validation of input, once, at the door: what has passed here is trusted from here on."""

from __future__ import annotations

import datetime
import numbers
import os
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError

# Squares of differences, summed over any sensible number of coordinates, stay finite below LARGEST, and
# above SMALLEST they do not vanish.
LARGEST = 1e150
SMALLEST = 1e-140
EXACT_INTEGERS = 2**53

_NO_NUMBERS = (str, bytes, datetime.date, datetime.timedelta, np.datetime64, np.timedelta64)
_ENCODE = "turn text, dates and categories into numbers first, or leave those columns out."


def coordinates(X: Any, caller: str) -> Array:
    """Return X as a finite, C-contiguous float64[n, d], else raise DataError.

    Parameters
    ----------
    X : array-like of shape (n, d)
    caller : str
        Name of the caller, for messages.
    """
    name = f"The 'X' of {caller}"
    given = _array(X, name)
    _check_numbers(given, name)
    _check_not_empty(given, name)
    result = own(given)
    check_magnitude(result, name)
    return result


def own(X: Array) -> Array:
    """Return X as a C-contiguous, writeable float64[n, d], copied only where needed.

    Kernels never write to it, but numba would compile each of them once more for read-only arrays.
    """
    with np.errstate(over="ignore"):  # of extended precision; what becomes infinite is refused
        result = np.ascontiguousarray(X, dtype=np.float64)
    return result if result.flags.writeable else result.copy()


def look(X: Any, caller: str) -> None:
    """Refuse input that scikit-learn would accept silently, or refuse with a message that quotes the data.

    Everything else is left to scikit-learn, whose checks of estimators expect its own messages.
    """
    name = f"The 'X' of {caller}"
    given = _array(X, name)
    _check_not_empty(given, name)
    if len(given) == 1:
        raise DataError(f"{name} must have at least two records. Got one sample.")
    if given.dtype.kind == "O":
        for j, column in enumerate(given.T):
            if any(isinstance(value, _NO_NUMBERS) for value in column):
                raise DataError(f"{name} must hold real numbers only. Got text or dates in column {j}.", hint=_ENCODE)
        missing = np.frompyfunc(lambda value: value is None or value != value, 1, 1)(given).astype(bool)
        if all(isinstance(value, numbers.Real) for value in given[~missing]):
            check_finite(_floats(np.where(missing, np.nan, given), name), name)
        return
    _check_numbers(given, name)
    check_finite(own(given), name)


def _floats(values: Array, name: str) -> Array:
    """Return an array of Python's numbers in double precision."""
    try:
        return values.astype(np.float64)
    except (OverflowError, TypeError, ValueError):
        raise DataError(f"{name} must hold numbers that double precision can represent. Got others.") from None


def _array(X: Any, name: str) -> Array:
    """Return X as a two-dimensional array of any type."""
    if hasattr(X, "toarray") or isinstance(X, np.ma.MaskedArray):
        raise DataError(
            f"{name} must be a dense array of numbers, not sparse or masked. Got a {type(X).__name__}.",
            hint="convert it with .toarray(), or fill the masked values.",
        )
    try:
        given = np.asarray(X)
        kinds = getattr(X, "dtypes", ())
        if given.dtype.kind == "O" and len(kinds) and all(getattr(t, "kind", "O") in "iufb" for t in kinds):
            given = X.to_numpy(np.float64, na_value=np.nan)  # pandas makes objects of mixed number types
    except Exception:  # whatever the conversion of the object raises; its message may quote the data
        raise DataError(
            f"{name} must be a two-dimensional array of numbers. Got a {type(X).__name__} that does not form one "
            "(rows of different lengths?)."
        ) from None
    if given.ndim != 2:
        raise DataError(
            f"{name} must have two dimensions, records and coordinates. Got {given.ndim}.",
            hint="X.reshape(-1, 1) makes a single attribute one column." if given.ndim == 1 else None,
        )
    return given


def _check_not_empty(given: Array, name: str) -> None:
    if 0 in given.shape:
        raise DataError(
            f"{name} must have records and coordinates. Got {given.shape[0]} sample(s) and {given.shape[1]} "
            f"feature(s) (shape={given.shape}) while a minimum of 1 is required."
        )


def _check_numbers(given: Array, name: str) -> None:
    """Raise DataError unless the array holds real numbers that double precision can represent."""
    if given.dtype.kind in "iu":
        if given.size and (given.max() > EXACT_INTEGERS or given.min() < -EXACT_INTEGERS):
            raise DataError(
                f"{name} must hold integers within +-2**53, the largest that double precision represents.",
                hint="codes and identifiers are not coordinates; leave them out.",
            )
    elif given.dtype.kind == "c":
        raise DataError(f"{name} must hold real numbers only. Complex data not supported.")
    elif given.dtype.kind not in "fb":
        columns = [j for j, column in enumerate(given.T) if not all(isinstance(v, numbers.Real) for v in column)]
        where = f" in column {columns[0]}" if columns else ""
        raise DataError(f"{name} must hold real numbers only. Got {given.dtype} values{where}.", hint=_ENCODE)


def check_finite(X: Array, name: str) -> None:
    """Raise DataError with the position of the first NaN or infinity, if there is one."""
    bad = ~np.isfinite(X)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        kind = "NaN" if np.isnan(X[row, column]) else "infinity"
        raise DataError(
            f"{name} must be finite. Got {kind} in {int(bad.any(axis=1).sum())} of {len(X)} records, first in "
            f"record {row}, column {column}.",
            hint="fill or remove missing values before partitioning.",
        )


def check_magnitude(X: Array, name: str) -> None:
    """Raise DataError if X is not finite, or if squared distances would overflow or vanish."""
    check_finite(X, name)
    lowest, highest = X.min(axis=0), X.max(axis=0)
    if max(-lowest.min(), highest.max()) > LARGEST:
        column = int(np.argmax(np.maximum(-lowest, highest)))
        raise DataError(
            f"{name} must stay within +-{LARGEST:g}, so that squared distances are finite. Column {column} does not.",
            hint="divide the column, or standardise (Microaggregator does).",
        )
    widest = (highest - lowest).max()
    if 0 < widest < SMALLEST:
        raise DataError(
            f"{name} must differ by more than {SMALLEST:g} somewhere, or squared distances vanish.",
            hint="multiply the columns, or standardise (Microaggregator does).",
        )


def group_size(k: Any, records: int, caller: str) -> int:
    """Return k as an int if it is an integer from 2 to `records`, else raise OptionError."""
    allowed = f"The 'k' option of {caller} must be an integer from 2 to the number of records."
    if isinstance(k, bool | np.bool_) or not isinstance(k, int | np.integer):
        raise OptionError(f"{allowed} Got {type(k).__name__} {k!r}.")
    if k < 2:
        raise OptionError(f"{allowed} Got {k}.", hint="a group of one hides nobody; 3 to 10 are usual.")
    if k > records:
        raise OptionError(
            f"{allowed} Got {k} for {records} records.",
            hint="take a smaller k, or publish fewer details of more people.",
        )
    return int(k)


def threads(n_jobs: Any, caller: str) -> int:
    """Return the number of threads: None is 1, -1 all cores, -2 all but one."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise OptionError(
            f"The 'n_jobs' option of {caller} must be None, a positive integer, or a negative one counted "
            f"from all cores (-1). Got {n_jobs!r}."
        )
    if n_jobs > 0:
        return int(n_jobs)
    return max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))


def seconds(time_limit: Any, caller: str) -> float:
    """Return the time limit in seconds; None is a minute."""
    if time_limit is None:
        return 60.0
    if isinstance(time_limit, bool) or not isinstance(time_limit, int | float) or not time_limit > 0:
        raise OptionError(
            f"The 'time_limit' option of {caller} must be None or a positive number of seconds. Got {time_limit!r}."
        )
    return float(time_limit)


def generator(random_state: Any, caller: str) -> np.random.Generator:
    """Return a generator for None (fresh), an integer seed, a Generator or a RandomState."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.Generator(random_state._bit_generator)
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    if not isinstance(random_state, bool) and isinstance(random_state, int | np.integer) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    raise OptionError(
        f"The 'random_state' option of {caller} must be None, a non-negative integer, or a Generator or "
        f"RandomState of numpy. Got {random_state!r}."
    )


def reporter(progress: Any, caller: str) -> Any:
    """Return `progress` if it is None or callable."""
    if progress is None or callable(progress):
        return progress
    raise OptionError(
        f"The 'progress' option of {caller} must be None or a callable that takes a number from 0 to 1. "
        f"Got {type(progress).__name__}."
    )


def group_numbers(labels: Any, records: int | None = None) -> Array:
    """Return labels of any type as numbers from 0 on: int64[n].

    Parameters
    ----------
    labels : array-like of shape (n,)
    records : int, optional
        Required number of labels.
    """
    if isinstance(labels, np.ma.MaskedArray):
        raise DataError("The labels must name a group for every record. Got a masked array.")
    try:
        given = np.asarray(labels)
        if given.dtype.kind in "US" and isinstance(labels, list | tuple):
            given = np.asarray(labels, dtype=object)  # else a NaN among words would become the word 'nan'
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
        raise DataError("The labels must be of one type. Got values that cannot be compared.") from error
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
