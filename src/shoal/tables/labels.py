"""What a file says about the type of a column.

Files of SPSS and Stata say of a variable what its values mean (value labels) and, in SPSS, how it is measured. Both are
kept in the metadata of columns, see :mod:`shoal.io.labels`. Codes with labels are categories, not amounts. A Parquet
file of pandas says which columns were categories; those of numbers come back as plain numbers.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

from shoal.tables.notation import is_text

KEY = b"shoal"


class Said(NamedTuple):
    """What the file says about a column: its kind, or None if that is open, and a note on why."""

    kind: str | None = None
    note: str = ""


def _of_pandas(metadata: dict[bytes, bytes] | None, name: str) -> dict[str, Any]:
    """Return the measure of a column that was one of categories in pandas."""
    try:
        columns = json.loads((metadata or {}).get(b"pandas", b"{}")).get("columns", [])
        told = next((one for one in columns if one["name"] == name and one["pandas_type"] == "categorical"), None)
        return {} if told is None else {"measure": "ordinal" if told["metadata"]["ordered"] else "nominal"}
    except (ValueError, KeyError, TypeError, AttributeError):  # not as pandas writes it
        return {}


def parsed(metadata: dict[bytes, bytes] | None) -> dict[str, Any]:
    """Return the labels in the metadata of a column or of a schema."""
    try:
        labels = json.loads((metadata or {}).get(KEY, b"{}"))
    except ValueError:  # another program's key of that name
        return {}
    return labels if isinstance(labels, dict) else {}


def said_of(column: Any, schema: Any, name: str) -> Said:
    """Return what the metadata of a table say about the type of a column.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        Without markers of missing values.
    schema : pyarrow.Schema
        Of the table.
    name : str
        Of the column.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    labels = parsed(schema.field(name).metadata) or _of_pandas(schema.metadata, name)
    kind = column.type
    words = is_text(kind)
    if not labels or not (words or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return Said()
    present = pc.unique(column.drop_null())
    if not words:
        numbers = pc.cast(present, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        numbers = numbers[~np.isnan(numbers)]
        if (numbers != np.rint(numbers)).any():
            return Said()  # not codes
    measure = labels.get("measure")
    if measure == "ordinal" and not (words and not _are_numbers(present)):
        return Said("ordinal", "ordinal, says the file")
    if measure in ("nominal", "ordinal"):
        return Said("nominal", f"{measure}, says the file")
    pairs = labels.get("values") or []
    known = {value for value, _ in pairs if isinstance(value, str) == words}
    different = present.to_pylist() if words else numbers.tolist()
    with_label = sum(value in known for value in different)
    if 2 * with_label > len(different):
        return Said("nominal", f"{with_label} of {len(different)} different values have labels")
    if with_label:
        return Said(None, f"{with_label} of its values have labels: declare them missing if that is what they mean")
    return Said()


def _are_numbers(texts: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        pc.cast(texts, pa.float64())
    except pa.ArrowInvalid:
        return False
    return True
