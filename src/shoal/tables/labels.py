"""What the labels of a statistics package say about the type of a column.

Files of SPSS and Stata say of a variable what its values mean (value labels) and, in SPSS, how it is measured. Both are
kept in the metadata of columns, see :mod:`shoal.io.labels`. Codes with labels are categories, not amounts.
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


def parsed(metadata: dict[bytes, bytes] | None) -> dict[str, Any]:
    """Return the labels in the metadata of a column or of a schema."""
    try:
        labels = json.loads((metadata or {}).get(KEY, b"{}"))
    except ValueError:  # another program's key of that name
        return {}
    return labels if isinstance(labels, dict) else {}


def said_of(column: Any, metadata: dict[bytes, bytes] | None) -> Said:
    """Return what the metadata of a column say about its type.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        Without markers of missing values.
    metadata : mapping or None
        Of its field in the schema of the table.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    labels = parsed(metadata)
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
