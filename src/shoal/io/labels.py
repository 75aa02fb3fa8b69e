"""Labels of variables and values, from files of statistics packages, stored in the metadata of columns.

Under the key ``shoal``, the metadata of a column has a JSON object with ``label`` (of the variable), ``values`` (pairs
of a value and its label), ``format``, ``measure`` and ``missing`` (values that the file declares missing). Parquet and
Arrow files keep them too.

A release passes on these labels and no other metadata, and of the labels of values those of values that occur in it: a
label names a category that somebody may have had.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from shoal.tables.labels import KEY, parsed

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KEY", "field_labels", "kept_labels", "labelled"]


def labelled(field: pa.Field, labels: dict[str, Any]) -> pa.Field:
    """Return a field that carries labels."""
    kept = {name: value for name, value in labels.items() if value}
    if not kept:
        return field
    return field.with_metadata({**(field.metadata or {}), KEY: json.dumps(kept, ensure_ascii=False).encode()})


def field_labels(table: pa.Table, name: str, like: pa.Schema | None) -> dict[str, Any]:
    """Return the labels of a column, its own or those of the column of that name in `like`, as far as they apply."""
    own = parsed(table.schema.field(name).metadata)
    if not own and like is not None and name in like.names:
        own = parsed(like.field(name).metadata)
    return _applying(own, table.column(name))


def kept_labels(table: pa.Table) -> pa.Table:
    """Return a table with the labels of its columns and of the values that occur, and no other metadata."""
    import pyarrow as pa

    fields = [
        labelled(pa.field(field.name, _bare(field.type), field.nullable), field_labels(table, field.name, None))
        for field in table.schema
    ]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))


def _bare(kind: pa.DataType) -> pa.DataType:
    """Return a type without metadata in the fields that it consists of."""
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return kind
    if pa.types.is_struct(kind):
        fields = [kind.field(at) for at in range(kind.num_fields)]
        return pa.struct([pa.field(one.name, _bare(one.type), one.nullable) for one in fields])
    if pa.types.is_map(kind):
        return pa.map_(_bare(kind.key_type), pa.field("value", _bare(kind.item_type)), kind.keys_sorted)
    for test, build in (
        (pa.types.is_list, pa.list_),
        (pa.types.is_large_list, pa.large_list),
        (pa.types.is_fixed_size_list, lambda field: pa.list_(field, kind.list_size)),
    ):
        if test(kind):
            inner = kind.value_field
            return build(pa.field(inner.name, _bare(inner.type), inner.nullable))
    return kind


def _applying(labels: dict[str, Any], column: Any) -> dict[str, Any]:
    """Return the labels that a release may show, in their shape: those of values that occur in the column."""
    kept = {key: labels[key] for key in ("label", "format", "measure") if isinstance(labels.get(key), str)}
    pairs = labels.get("values")
    pairs = pairs if isinstance(pairs, list) else []
    named = [pair for pair in pairs if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[1], str)]
    if named:
        there = _values(column)
        kept["values"] = [pair for pair in named if isinstance(pair[0], str | int | float) and pair[0] in there]
    if isinstance(labels.get("missing"), list):
        kept["missing"] = labels["missing"]
    return kept


def _values(column: Any) -> set[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    try:
        return set(pc.unique(column).to_pylist())
    except (pa.ArrowNotImplementedError, TypeError):
        return set()
