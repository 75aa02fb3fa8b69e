"""Whether what was read again is what was to be written."""

from __future__ import annotations

from typing import Any

from shoal.errors import ShoalError

__all__ = ["compare"]


def compare(wanted: Any, found: Any, name: str) -> None:
    """Raise unless the table `found` has the names, the rows and the values of `wanted`."""
    if found.column_names != wanted.column_names or found.num_rows != wanted.num_rows:
        raise _differs(name, "another number of rows or other column names")
    for label in wanted.column_names:
        if not _same(wanted.column(label), found.column(label)):
            raise _differs(name, f"other values in the column {label!r}")


def _same(wanted: Any, found: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(wanted.type):
        # Categories may be numbered anew.
        wanted = wanted.cast(wanted.type.value_type)
    if found.type != wanted.type:
        try:
            found = found.cast(wanted.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return False
    if found.equals(wanted):
        return True
    if not pa.types.is_floating(wanted.type) or found.null_count != wanted.null_count:
        return False
    # Arrow takes no NaN for equal to another.
    equal = pc.or_(pc.equal(found, wanted), pc.and_(pc.is_nan(found), pc.is_nan(wanted)))
    both = pc.and_(pc.is_null(found), pc.is_null(wanted))
    return bool(pc.all(pc.or_(pc.fill_null(equal, False), both)).as_py())


def _differs(name: str, found: str) -> ShoalError:
    return ShoalError(
        f"What lies on the disk must be what was to be written to {name}. Got {found}; nothing was published.",
        "write Parquet, which keeps every type, and please report this.",
    )
