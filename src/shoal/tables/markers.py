"""Markers: values that are declared to mean 'missing'."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.errors import DataError
from shoal.tables import texts
from shoal.tables.columns import decode


def without_markers(column: Any, markers: Sequence[Any], decimal: str = ".") -> Any:
    """Return the column with nulls in place of the `markers`, the values declared to mean 'missing'."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not markers:
        return column
    values = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    hit = None
    for marker in markers:
        same = _equal(values, marker, decimal)
        if same is not None:
            hit = same if hit is None else pc.or_(hit, same)
    if hit is None:
        return column
    hit = pc.fill_null(hit, False)
    if pa.types.is_dictionary(column.type):
        # Not if_else, which would sort the categories by their first rows.
        return column.take(pc.if_else(hit, None, pa.array(np.arange(len(column)))))
    return pc.if_else(hit, pa.scalar(None, column.type), column)


def can_hold(column: Any, marker: Any, kind: str, decimal: str, pattern: str = "") -> bool:
    """Return whether a marker is a value like others in a column of this kind: not if numbers or dates are text."""
    import pyarrow as pa

    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if not is_text or kind not in ("continuous", "integer", "date", "datetime"):
        return True
    word = pa.chunked_array([[str(marker)]], pa.string())
    try:
        decode(word, kind, text=True, decimal=decimal, pattern=pattern)
    except DataError:
        return False
    return True


def _equal(column: Any, marker: Any, decimal: str) -> Any:
    """Return where a column holds a marker, or None if its type cannot hold it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return texts.equal(column, marker, decimal)
    if pa.types.is_boolean(kind):
        return None  # a number would be cast to a boolean
    dated = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    try:
        whole = isinstance(marker, int) and pa.types.is_integer(kind)
        wanted = pa.scalar(str(marker) if dated else marker if whole else float(marker))
        return pc.equal(column, wanted.cast(kind))
    except (ValueError, TypeError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
