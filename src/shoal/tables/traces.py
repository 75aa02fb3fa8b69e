"""What a table still tells of values that are not in it: unused categories, labels, values beneath nulls.

Types of Arrow that most of its functions do not know (views, run-end encoding) become plain ones on the way in. A view
of a few rows also keeps the texts of all rows.
"""

from __future__ import annotations

from typing import Any

__all__ = ["plain", "plain_column", "plain_pandas", "without_hidden", "without_traces", "without_unused"]


def plain(table: Any) -> Any:
    """Return a pyarrow.Table in which every column has a type that can be computed with."""
    for at, field in enumerate(table.schema):
        column = plain_column(table.column(at))
        if column is not table.column(at):
            table = table.set_column(at, field.with_type(column.type), column)
    return table


def plain_pandas(frame: Any) -> Any:
    """Return a data frame of pandas in which every column of Arrow has a type that can be computed with."""
    new = {}
    for name in frame.columns:
        column = getattr(frame[name].array, "_pa_array", None)
        known = column if column is None else plain_column(column)
        if known is not column:
            new[name] = type(frame[name])(type(frame[name].array)(known), index=frame.index)
    return frame.assign(**new) if new else frame


def plain_column(column: Any) -> Any:
    """Return a column without views, run-end encoding and narrow decimals, and with one list of categories."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_run_end_encoded(kind):
        decoded = [pc.run_end_decode(chunk) for chunk in column.chunks]
        return plain_column(pa.chunked_array(decoded, kind.value_type))
    if pa.types.is_dictionary(kind) and is_view(kind.value_type):
        chunks = [
            pa.DictionaryArray.from_arrays(one.indices, _viewless(pa, one.dictionary), ordered=kind.ordered)
            for one in column.chunks
        ]
        whole = pa.dictionary(kind.index_type, whole_type(kind.value_type), kind.ordered)
        return pa.chunked_array(chunks, whole).unify_dictionaries()
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return column.cast(pa.decimal128(kind.precision, kind.scale))
    if pa.types.is_dictionary(kind):
        return column.unify_dictionaries() if column.num_chunks > 1 else column
    return _viewless(pa, column) if is_view(kind) else column


def is_view(kind: Any) -> bool:
    """Return whether a type is one of Arrow's views of texts or bytes."""
    import pyarrow as pa

    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def whole_type(kind: Any) -> Any:
    """Return the type of the texts or bytes that a view is of."""
    import pyarrow as pa

    return pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary()


def _viewless(pa: Any, values: Any) -> Any:
    return values.cast(whole_type(values.type))


def without_unused(column: Any) -> Any:
    """Return a column without the categories that do not occur in it; the others keep their order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if not pa.types.is_dictionary(kind):
        bare = _undictionaried(pa, kind)
        return column if bare == kind else column.cast(bare)
    unified = column.unify_dictionaries()
    if unified.num_chunks == 0:
        return column
    dictionary = unified.chunk(0).dictionary
    indices = pa.chunked_array([chunk.indices for chunk in unified.chunks], kind.index_type)
    used = pc.unique(indices).drop_null()
    used = used.take(pc.sort_indices(used))
    if len(used) == len(dictionary):
        return column
    kept = dictionary.take(used)
    chunks = [
        pa.DictionaryArray.from_arrays(pc.index_in(chunk, used).cast(kind.index_type), kept, ordered=kind.ordered)
        for chunk in indices.chunks
    ]
    return pa.chunked_array(chunks, kind)


def _undictionaried(pa: Any, kind: Any) -> Any:
    """Return a type with plain values in place of categories inside lists and structures."""
    if pa.types.is_dictionary(kind):
        return _undictionaried(pa, kind.value_type)
    if pa.types.is_struct(kind):
        fields = [kind.field(at) for at in range(kind.num_fields)]
        return pa.struct([pa.field(one.name, _undictionaried(pa, one.type), one.nullable) for one in fields])
    for test, build in ((pa.types.is_list, pa.list_), (pa.types.is_large_list, pa.large_list)):
        if test(kind):
            inner = kind.value_field
            return build(pa.field(inner.name, _undictionaried(pa, inner.type), inner.nullable))
    return kind


def without_hidden(column: Any) -> Any:
    """Return a column of Arrow with nothing beneath its nulls, where the values that were there may still lie."""
    import numpy as np
    import pyarrow as pa

    if column.null_count == 0 or pa.types.is_null(column.type):
        return column
    try:
        return column.take(pa.array(np.arange(len(column))))
    except pa.ArrowNotImplementedError:
        return column


def without_traces(native: Any) -> Any:
    """Return a data frame of the same type without unused categories, attributes and names of its axes."""
    import pyarrow as pa

    if isinstance(native, pa.Table):
        for at, field in enumerate(native.schema):
            column = without_hidden(without_unused(native.column(at)))
            native = native.set_column(at, field.with_type(column.type), column)
        return native
    import narwhals as nw

    frame = nw.from_native(native, eager_only=True)
    if frame.implementation.is_pandas_like():
        return _of_pandas(native.copy(deep=False))
    if frame.implementation.is_polars():
        return _of_polars(native)
    return native


def _of_pandas(result: Any) -> Any:
    result.attrs = {}
    # The names of columns may be categories as well, those of dropped columns among them.
    result.columns = list(result.columns)
    result.index = _of_index(result.index)
    for name in result.columns:
        values = result[name].array
        if hasattr(values, "remove_unused_categories"):
            result[name] = result[name].cat.remove_unused_categories()
        elif hasattr(values, "__arrow_array__") and "dictionary" in str(values.dtype):
            result[name] = _of_arrow(result[name])
        elif hasattr(values, "_mask") and result[name].isna().any():
            missing, filled = result[name].isna(), result[name].fillna(values.dtype.type(0))
            result[name] = filled.mask(missing)
    return result


def _of_index(index: Any) -> Any:
    if hasattr(index, "remove_unused_levels"):
        index = index.remove_unused_levels()
        levels = [_of_index(level) for level in index.levels]
        return index.set_levels(levels)
    return index.remove_unused_categories() if hasattr(index, "remove_unused_categories") else index


def _of_arrow(series: Any) -> Any:
    """Return a series of pandas with categories of Arrow without unused ones."""
    import pyarrow as pa

    array = series.array
    column = without_unused(pa.chunked_array([pa.array(array)]) if not hasattr(array, "_pa_array") else array._pa_array)
    return type(series)(type(array)(column), index=series.index, name=series.name)


def _of_polars(frame: Any) -> Any:
    import polars as pl

    new = []
    for series in frame.get_columns():
        if series.dtype == pl.Enum:
            there = set(series.cast(pl.String).unique().drop_nulls().to_list())
            kept = [category for category in series.dtype.categories if category in there]
            if len(kept) < len(series.dtype.categories):
                new.append(series.cast(pl.String).cast(pl.Enum(kept)))
        elif series.dtype == pl.Categorical:
            new.append(series.cast(pl.String).cast(series.dtype))
    return frame.with_columns(new) if new else frame
