"""Conversions between Arrow and formats with few types or none: workbooks, databases, statistics packages."""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Apart", "at_midnight", "column", "finer", "microseconds", "numbered", "plain"]

Apart = dict[str, Any]
"""Numbers (pyarrow.Array) that tell values of a column apart which were read as one; see `shoal.io.Source`."""

_EXACT = 2**53  # larger integers are not all floats


def column(values: Sequence[Any], name: str, notes: list[str], apart: Apart) -> pa.Array:
    """Return values as a column of the narrowest type that holds all of them.

    Integers and floats together become floats; numbers and texts together become texts, with a note. As 1, 1.0 and '1'
    are different values all the same, their types are added to `apart`.
    """
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1:
        apart[name] = numbered(map(type, values))
    try:
        if not kinds:
            return pa.nulls(len(values), pa.string())
        if kinds == {int, float}:
            if any(type(value) is int and abs(value) > _EXACT for value in values):
                raise OverflowError
            values = [None if value is None else float(value) for value in values]
            return pa.array(values, pa.float64())
        if kinds == {datetime.date, datetime.datetime}:
            midnight = datetime.time()
            values = [datetime.datetime.combine(v, midnight) if type(v) is datetime.date else v for v in values]
            return pa.array(values, pa.timestamp("us"))
        if len(kinds) == 1:
            wanted = {datetime.datetime: pa.timestamp("us"), datetime.time: pa.time64("us"), int: pa.int64()}
            return pa.array(values, wanted.get(kinds.pop()))
    except (pa.ArrowInvalid, OverflowError):
        raise DataError(f"The values of the column {name!r} must fit into one type. Got some that do not.") from None
    if bytes in kinds:
        raise DataError(f"The values of the column {name!r} must be of one kind. Got bytes among other values.")
    notes.append(f"column {name!r}: values of several kinds, read as text")
    return pa.array([None if value is None else _written(value) for value in values], pa.string())


def at_midnight(values: Any) -> bool:
    """Return whether a column holds moments without a time zone that are all at midnight: dates."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if not pa.types.is_timestamp(kind) or kind.tz is not None or values.null_count == len(values):
        return False
    days = pc.cast(pc.cast(values, pa.date32(), safe=False), kind, safe=False)
    return bool(pc.all(pc.equal(days, values)).as_py())


def numbered(keys: Iterable[Hashable]) -> pa.Array:
    """Return int32[n]: equal numbers for equal keys."""
    import pyarrow as pa

    numbers: dict[Hashable, int] = {}
    return pa.array([numbers.setdefault(key, len(numbers)) for key in keys], pa.int32())


def finer(texts: Any, read: Any) -> pa.Array | None:
    """Return numbers of the texts of a column, if some of them differ but were read as one value; else None.

    Parameters
    ----------
    texts, read : pyarrow.ChunkedArray
        A column as it is stored, and as it was read.
    """
    import pyarrow.compute as pc

    if texts.null_count == len(texts) or pc.count_distinct(texts).as_py() == pc.count_distinct(read).as_py():
        return None
    return pc.fill_null(pc.dictionary_encode(texts).combine_chunks().indices, -1)


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def plain(table: pa.Table, format: str) -> pa.Table:
    """Return a table with categories replaced by their values; refuse columns that do not hold single values."""
    import pyarrow as pa

    for position, field in enumerate(table.schema):
        kind = field.type
        if isinstance(kind, pa.BaseExtensionType):
            raise _unfit(field, format)
        if pa.types.is_dictionary(kind):
            column = table.column(position).cast(kind.value_type)
            table = table.set_column(position, field.with_type(kind.value_type), column)
            kind = kind.value_type
        if pa.types.is_nested(kind) or pa.types.is_duration(kind) or pa.types.is_interval(kind):
            raise _unfit(field, format)
        narrow = {pa.large_string(): pa.string(), pa.null(): pa.string()}
        if kind in narrow:
            field = field.with_type(narrow[kind])
            table = table.set_column(position, field, table.column(position).cast(field.type))
    return table


def microseconds(values: Any, name: str, notes: list[str]) -> Any:
    """Return timestamps in microseconds, in UTC if they have a time zone; note if anything finer is lost."""
    import pyarrow as pa

    kind = values.type
    cut = values.cast(pa.timestamp("us", "UTC" if kind.tz else None), safe=False)
    if kind.unit == "ns" and not cut.cast(kind).equals(values):
        notes.append(f"column {name!r}: times were cut to microseconds")
    return cut


def _unfit(field: Any, format: str) -> DataError:
    return DataError(
        f"A column must hold single values to be written as {format}. Got {field.name!r} of type {field.type}.",
        "leave it out, or write Parquet.",
    )
