"""Converting data frames to Arrow and back; order, index, types and categories are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.arrays import Array
from shoal.errors import DataError
from shoal.tables.traces import plain, plain_column, plain_pandas, without_traces

# For the types of pandas that cannot hold missing values, those that can.
NULLABLE = {
    "bool": "boolean",
    **{f"int{bits}": f"Int{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"UInt{bits}" for bits in (8, 16, 32, 64)},
}


def to_arrow(native: Any, caller: str, names: list[str] | None = None) -> Any:
    """Return a data frame of pandas, polars, pyarrow or another library that narwhals supports as a pyarrow.Table.

    Parameters
    ----------
    native : data frame
    caller : str
        For messages.
    names : list of str, optional
        The columns to convert. By default all of them.
    """
    import pyarrow as pa

    wanted = names_of(native, caller) if names is None else names
    table = plain(native.select(wanted)) if isinstance(native, pa.Table) else _converted(native, wanted)
    if table.num_rows == 0:
        raise DataError(f"The table of {caller} must have rows. Got none.")
    return table


def names_of(native: Any, caller: str) -> list[str]:
    """Return the names of the columns of a data frame, which must be distinct texts."""
    import pyarrow as pa

    if isinstance(native, pa.Table):
        columns = names = list(native.column_names)
    else:
        columns, names = _names_of_frame(native, caller)
    if len(set(names)) < len(names) or not names:
        raise DataError(f"The table of {caller} must have columns with different names. Got {len(columns)} columns.")
    return names


def _names_of_frame(native: Any, caller: str) -> tuple[Any, list[str]]:
    """Return the names as they are, and as narwhals lists them: none if some are equal."""
    import narwhals as nw

    lazy = hasattr(native, "collect")
    columns = () if lazy else getattr(native, "columns", ())
    if not all(isinstance(name, str) for name in columns):
        raise DataError(f"The table of {caller} must have texts as column names. Got others.")
    try:
        return columns, list(nw.from_native(native, eager_only=True).columns)
    except TypeError:
        hint = "collect it first." if lazy else "to read a file, use shoal.anonymize_file or shoal.io.read."
        raise DataError(
            f"The table of {caller} must be a data frame (pandas, polars, pyarrow). Got {type(native).__name__}.",
            hint=hint,
        ) from None
    except nw.exceptions.DuplicateError:
        return columns, []


def _converted(native: Any, names: list[str]) -> Any:
    import narwhals as nw
    import pyarrow as pa

    frame = nw.from_native(native, eager_only=True)
    arrays = {}
    for name in names:
        try:
            arrays[name] = plain_column(pa.chunked_array([frame[name].to_arrow()]))
        except (pa.ArrowException, TypeError):
            raise DataError(
                f"The column {name!r} must hold values of one type that Arrow has. Got others.",
                hint=f"give it one type first, or pass it on as it is (other=[{name!r}]).",
            ) from None
    return pa.table(arrays)


def has_labels(native: Any) -> bool:
    """Return whether the rows of a data frame have labels (an index), which may identify them."""
    index = getattr(native, "index", None)
    return index is not None and hasattr(native, "iloc") and type(index).__name__ != "RangeIndex"


def duplicate(native: Any) -> Any:
    """Return a data frame of the same content; changing it in place does not change `native`.

    Nothing is copied by libraries whose tables do not change or are copied when they are written to.
    """
    import pyarrow as pa

    if isinstance(native, pa.Table):
        return native
    import narwhals as nw

    frame = nw.from_native(native, eager_only=True)
    if frame.implementation.is_pandas():
        on_write = int(frame.__native_namespace__().__version__.split(".")[0]) >= 3
        return native.copy(deep=not on_write)
    return frame.clone().to_native()


def rebuilt(native: Any, keep: list[str], rows: Array | None, changed: Mapping[str, Any], *, relabel: bool) -> Any:
    """Return a data frame of the same type as `native` with some of its rows and columns, and new values.

    Categories that do not occur any more are removed, and so are attributes that describe the frame.

    Parameters
    ----------
    native : data frame
    keep : names
        The columns to keep, in their order.
    rows : int64[m] or None
        The rows to keep, in their new order; None for all.
    changed : {name: pyarrow.ChunkedArray}
        Columns with new values, one for each row that is kept.
    relabel : bool
        Whether to replace the labels of rows (the index of pandas) by 0, 1, ...
    """
    import pyarrow as pa

    if isinstance(native, pa.Table):
        table = plain(native.select(keep))
        table = table if rows is None else table.take(pa.array(rows))
        for name, array in changed.items():
            at = table.column_names.index(name)
            table = table.set_column(at, table.schema.field(name).with_type(array.type), array)
        return without_traces(table)
    import narwhals as nw

    # Not select, for which polars takes "*" and "^..$" as patterns: it would bring back columns that are dropped.
    frame = nw.from_native(native, eager_only=True)[keep]
    if frame.implementation.is_pandas_like():
        frame = nw.from_native(plain_pandas(frame.to_native()), eager_only=True)
    frame = frame if rows is None else frame[rows]
    if not frame.implementation.is_pandas_like():
        new = [_series(nw, pa, frame, name, array) for name, array in changed.items()]
        return without_traces(frame.with_columns(*new).to_native())
    result = frame.to_native()
    result = result.reset_index(drop=True) if relabel else result.copy()
    for name, array in changed.items():
        result[name] = _pandas_series(array, result[name], words=not _is_text(pa, frame[name].to_arrow().type))
    return without_traces(result)


def _pandas_series(array: Any, before: Any, *, words: bool) -> Any:
    """Return an Arrow array as a series of the type of `before`; `words` is whether `before` held no text."""
    import pyarrow as pa

    # As objects: otherwise integers with missing values would become floats.
    series = array.to_pandas(integer_object_nulls=True)
    if not (words and _is_text(pa, array.type)):
        series = series.astype(NULLABLE.get(before.dtype.name, before.dtype) if array.null_count else before.dtype)
    series.index = before.index
    return series


def _is_text(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _series(nw: Any, pa: Any, frame: Any, name: str, array: Any) -> Any:
    series = nw.from_arrow(pa.table({name: array}), backend=frame.implementation)[name]
    before = frame[name].dtype
    if series.dtype == nw.String and before != nw.String:
        return series  # text, such as intervals, in place of other values
    return series.cast(before) if series.dtype != before else series
