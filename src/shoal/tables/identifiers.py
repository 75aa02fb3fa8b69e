"""Columns that look like identifiers: they are refused unless their role is declared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, Problems
from shoal.tables import columns as _columns
from shoal.tables import texts
from shoal.tables.notation import is_text

if TYPE_CHECKING:
    from shoal.tables.schema import Column

# Texts that differ in nearly every row identify people; in a column with a telling name, most rows are enough.
UNIQUE_SHARE, TELLING_SHARE = 0.9, 0.5
FEW_ROWS = 10
MANY_ROWS = 200  # in fewer rows, consecutive integers may be a coincidence, such as ages
SAMPLE = 1000
TELLING_NAME = re.compile(
    r"(^|[^a-z])(id|ids|uuid|guid|ssn|nin|e-?mail|phone|mobile|name|surname|passport|iban|account)([^a-z]|$)", re.I
)


def refuse_identifiers(table: Any, columns: tuple[Column, ...], *, text: bool, decimal: str) -> None:
    """Raise DataError if columns without a declared role look like identifiers, all of them at once.

    Parameters
    ----------
    table : pyarrow.Table
    columns : tuple of Column
        The columns with their roles.
    text, decimal : bool, str
        Whether types are inferred from text, and its decimal mark.
    """
    problems = Problems()
    for column, different in like_identifiers(table, columns, text=text, decimal=decimal):
        values = table.column(column.name)
        with problems.collected():
            raise _refused(column, different, len(values) - values.null_count)
    problems.refuse()


def like_identifiers(
    table: Any, columns: tuple[Column, ...], *, text: bool, decimal: str
) -> Iterator[tuple[Column, int]]:
    """Yield the columns without a declared role that look like identifiers, and how many values they have."""
    for column in columns:
        if column.inferred and column.role != "dropped" and table.num_rows >= FEW_ROWS:
            different = different_values(table.column(column.name), column.name, text=text, decimal=decimal)
            if different:
                yield column, different


def _refused(column: Column, different: int, present: int) -> DataError:
    what = "would be published unchanged" if column.role == "other" else "would be a quasi-identifier"
    return DataError(
        f"The column {column.name!r} looks like an identifier: it has {different} different values in "
        f"{present} rows. Without a role it {what}.",
        hint=f"give it a role: identifiers=[{column.name!r}] drops it (--id), other=[..] publishes it "
        "unchanged, quasi_identifiers=[..] groups on it.",
    )


def refuse_one(
    column: Column, kind: str, different: int, present: int, ends: tuple[float | None, float | None]
) -> None:
    """Raise DataError if a column looks like an identifier by what is counted of it.

    Parameters
    ----------
    column : Column
    kind : str
        Its kind, or "unclear".
    different, present : int
        The number of different values, which may be an estimate within a tenth, and of rows with one.
    ends : pair of float or None
        The lowest and the highest number, if they are known.
    """
    if present < FEW_ROWS or kind not in ("nominal", "integer", "unclear"):
        return
    telling = TELLING_NAME.search(column.name) is not None and different > TELLING_SHARE * present
    low, high = ends
    numbered = low is not None and high is not None and present == high - low + 1 and different > UNIQUE_SHARE * present
    unique = kind == "nominal" and different > UNIQUE_SHARE * present
    if telling or unique or (kind == "integer" and numbered and (low in (0, 1) or present > MANY_ROWS)):
        raise _refused(column, different, present)


def different_values(values: Any, name: str, *, text: bool, decimal: str) -> int:
    """Return the number of different values of a column if it looks like an identifier, else 0."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind = values.type
    words = is_text(kind)
    few = values.slice(0, SAMPLE)
    if not (words or pa.types.is_integer(kind)) or pc.count_distinct(few).as_py() <= len(few) * TELLING_SHARE:
        return 0
    inferred = "nominal" if words else "integer"
    if words and text:
        try:
            inferred = _columns.infer(values, text=True, decimal=decimal, name=name)[0]
        except DataError:
            inferred = "unclear"  # reported when the column is read, if it is read at all
    present = len(values) - values.null_count
    different = int(pc.count_distinct(values, mode="only_valid").as_py())
    if present < FEW_ROWS:
        return 0
    telling = TELLING_NAME.search(name) is not None and different > TELLING_SHARE * present
    if inferred == "nominal":
        return different if telling or different > UNIQUE_SHARE * present else 0
    if inferred != "integer":
        return different if telling and inferred == "unclear" else 0
    # Integers often differ in all rows of a table; only consecutive ones are taken for row numbers.
    if words:
        values = pa.array(texts.to_numbers(values, decimal, name)[0], from_pandas=True)
    low, high = pc.min(values).as_py(), pc.max(values).as_py()
    numbered = different == present == high - low + 1 and (low in (0, 1) or present > MANY_ROWS)
    return different if telling or numbered else 0
