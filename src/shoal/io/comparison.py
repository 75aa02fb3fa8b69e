"""Comparing a table that was read back with the table that was written."""

from __future__ import annotations

from typing import Any

from shoal.errors import ShoalError

__all__ = ["require_same"]


def require_same(wanted: Any, again: Any, name: str) -> None:
    """Raise ShoalError unless the table `again` has the names, the rows and the values of `wanted`."""
    if again.column_names != wanted.column_names or again.num_rows != wanted.num_rows:
        raise _differs(name, "another number of rows or other column names")
    for label in wanted.column_names:
        if not _same(wanted.column(label), again.column(label)):
            raise _differs(name, f"other values in the column {label!r}")


def _same(wanted: Any, again: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(wanted.type):
        # Categories may have other codes.
        wanted = wanted.cast(wanted.type.value_type)
    if again.type != wanted.type:
        try:
            again = again.cast(wanted.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return False
    if again.equals(wanted):
        return True
    if not pa.types.is_floating(wanted.type) or again.null_count != wanted.null_count:
        return False
    # In Arrow, NaN is not equal to NaN.
    equal = pc.or_(pc.equal(again, wanted), pc.and_(pc.is_nan(again), pc.is_nan(wanted)))
    both = pc.and_(pc.is_null(again), pc.is_null(wanted))
    return bool(pc.all(pc.or_(pc.fill_null(equal, False), both)).as_py())


def _differs(name: str, difference: str) -> ShoalError:
    return ShoalError(
        f"The table read back from {name} must equal the table written. Got {difference}; nothing was published.",
        "write Parquet, which keeps every type, and please report this.",
    )
