"""Columns that tell people apart: they are not published unless somebody has said what they are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError
from shoal.tables import columns as _columns
from shoal.tables import texts

if TYPE_CHECKING:
    from shoal.tables.schema import Column

# A text that differs in nearly every row tells people apart; one with a telling name if it differs in most of them.
UNIQUE_SHARE, TELLING_SHARE = 0.9, 0.5
FEW_ROWS = 10
MANY_ROWS = 200  # in fewer rows, numbers that happen to follow each other, such as ages, are no numbers of rows
SAMPLE = 1000
TELLING_NAME = re.compile(
    r"(^|[^a-z])(id|ids|uuid|guid|ssn|nin|e-?mail|phone|mobile|name|surname|passport|iban|account)([^a-z]|$)", re.I
)


def refuse_identifiers(table: Any, found: tuple[Column, ...], *, text: bool, decimal: str) -> None:
    """Raise if a column without a declared role looks like an identifier and would be published.

    Parameters
    ----------
    table : pyarrow.Table
    found : columns with their roles
    text, decimal : bool, str
        Whether types are read out of text, and the decimal mark there.
    """
    for column in found:
        if not column.inferred or table.num_rows < FEW_ROWS:
            continue
        values = table.column(column.name)
        different = different_values(values, column.name, text=text, decimal=decimal)
        if different:
            what = "would be published as it is" if column.role == "other" else "would be a quasi-identifier"
            raise DataError(
                f"The column {column.name!r} looks like an identifier: it has {different} different values in "
                f"{len(values) - values.null_count} rows. Without a role of its own it {what}.",
                hint=f"give it a role: identifiers=[{column.name!r}] drops it (--id), other=[..] passes it on, "
                "quasi_identifiers=[..] groups by it.",
            )


def different_values(values: Any, name: str, *, text: bool, decimal: str) -> int:
    """Return how many different values a column has that looks like an identifier, 0 for other columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind = values.type
    words = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    few = values.slice(0, SAMPLE)
    if not (words or pa.types.is_integer(kind)) or pc.count_distinct(few).as_py() <= len(few) * TELLING_SHARE:
        return 0
    inferred = "nominal" if words else "integer"
    if words and text:
        try:
            inferred = _columns.infer(values, text=True, decimal=decimal, name=name)[0]
        except DataError:
            inferred = "unclear"  # what is wrong is said when the column is read, if it is
    present = len(values) - values.null_count
    different = int(pc.count_distinct(values, mode="only_valid").as_py())
    if present < FEW_ROWS:
        return 0
    telling = TELLING_NAME.search(name) is not None and different > TELLING_SHARE * present
    if inferred == "nominal":
        return different if telling or different > UNIQUE_SHARE * present else 0
    if inferred != "integer":
        return different if telling and inferred == "unclear" else 0
    # Whole numbers may well be different in all rows of a table: only numbered rows give themselves away.
    numbers = pc.cast(texts.trimmed(values) if words else values, pa.float64(), safe=False)
    low, high = pc.min(numbers).as_py(), pc.max(numbers).as_py()
    numbered = different == present == high - low + 1 and (low in (0, 1) or present > MANY_ROWS)
    return different if telling or numbered else 0
