"""Labels of variables and values, from files of statistics packages, stored in the metadata of columns.

Under the key ``shoal``, the metadata of a column has a JSON object with ``label`` (of the variable), ``values`` (pairs
of a value and its label), ``format``, ``measure`` and ``missing`` (values that the file declares missing). The metadata
of the schema has the label of the file. Parquet and Arrow files keep them too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KEY", "field_labels", "labelled", "table_label"]

KEY = b"shoal"


def labelled(field: pa.Field, labels: dict[str, Any]) -> pa.Field:
    """Return a field that carries labels."""
    kept = {name: value for name, value in labels.items() if value}
    if not kept:
        return field
    return field.with_metadata({**(field.metadata or {}), KEY: json.dumps(kept, ensure_ascii=False).encode()})


def field_labels(schema: pa.Schema, name: str, like: pa.Schema | None) -> dict[str, Any]:
    """Return the labels of a column: its own, or those of the column of that name in `like`."""
    own = _parsed(schema.field(name).metadata)
    if own or like is None or name not in like.names:
        return own
    return _parsed(like.field(name).metadata)


def table_label(schema: pa.Schema, like: pa.Schema | None) -> str:
    """Return the label of the file that the table came from."""
    own = _parsed(schema.metadata) or (_parsed(like.metadata) if like is not None else {})
    return str(own.get("label", ""))


def _parsed(metadata: dict[bytes, bytes] | None) -> dict[str, Any]:
    try:
        labels = json.loads((metadata or {}).get(KEY, b"{}"))
    except ValueError:  # another program's key of that name
        return {}
    return labels if isinstance(labels, dict) else {}
