"""Values of a pandas data frame that a reader can tell apart although Arrow has one value for them.

In a column of objects, None, NaN and NA are different, and so are 1 and 1.0; a column of floats can hold several bit
patterns of NaN. Arrow has one null for all of them, and one float for 1 and 1.0. Other data frames are Arrow tables, or
are converted without a loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError

# Types whose values Arrow keeps apart, as long as a column has one of them only.
_PLAIN = (str, int, float, bool, bytes)


def apart_in(native: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return numbers (pyarrow.Array) for the columns in which values that Arrow holds as one differ; see `Source`."""
    import pyarrow as pa

    if isinstance(native, pa.Table):
        return {}
    import narwhals as nw

    if not nw.from_native(native, eager_only=True).implementation.is_pandas():
        return {}
    apart = {}
    for name in names:
        column = native[name]
        numbers = None
        if column.dtype == object:
            numbers = _objects(column.to_numpy())
        elif isinstance(column.dtype, np.dtype) and column.dtype.kind == "f":
            numbers = _nans(column.to_numpy())
        if numbers is not None:
            apart[name] = pa.array(numbers)
    return apart


def refuse_apart(native: Any, names: Sequence[str]) -> None:
    """Refuse columns that are published as they are and hold such values."""
    for name in apart_in(native, names):
        raise DataError(
            f"The column {name!r} must hold values of one type, and one kind of missing value. Got several, which a "
            "reader can tell apart.",
            hint="convert it to one type first, such as with astype('string').",
        )


def _objects(values: Array) -> Array | None:
    types = set(map(type, values))
    if len(types) == 1 and types <= set(_PLAIN):
        return None
    if str in types and len(types) == 2 and types - {str} <= {type(None), float}:
        return None  # texts, and one kind of missing value: Arrow takes no other floats among texts
    keys = [_key(value) for value in values.tolist()]
    kinds = {key: at for at, key in enumerate(dict.fromkeys(keys))}
    return None if len(kinds) == 1 else np.array([kinds[key] for key in keys], np.int64)


def _key(value: Any) -> tuple[type, str]:
    value = value.item() if isinstance(value, np.generic) else value
    return type(value), "" if isinstance(value, _PLAIN) else str(value)


def _nans(values: Array) -> Array | None:
    """Return numbers of the bit patterns of NaN, if there are several."""
    missing = np.isnan(values)
    patterns, numbers = np.unique(values[missing].view(f"i{values.itemsize}"), return_inverse=True)
    if len(patterns) < 2:
        return None
    result = np.zeros(len(values), np.int64)
    result[missing] = numbers + 1
    return result
