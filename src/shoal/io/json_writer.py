"""Writing JSON lines so that reading them back gives the same values and the same nulls.

Every line has every key, and a missing value is null. Arrow joins the lines of a batch, as for CSV.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError
from shoal.io.csv_writer import bytes_of, through
from shoal.io.csv_writer import text as as_text
from shoal.io.json_dates import dated, moments
from shoal.io.source import Expected, Writing
from shoal.io.typed import at_midnight, plain

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["write"]

_ROWS = 2**14
_CONTROLS = [chr(code) for code in range(32)]


def write(table: pa.Table, job: Writing) -> Expected:
    """Write a table as JSON lines in UTF-8."""
    if table.num_columns == 0 or table.num_rows == 0:
        raise DataError("A table must have a column and a record to be written as JSON lines. Got none.")
    notes: list[str] = []
    shown = _fitting(plain(table, "JSON lines"), notes)
    keys = [json.dumps(name, ensure_ascii=False) for name in shown.column_names]

    def fill(sink: Any) -> None:
        done = 0
        for batch in shown.to_batches(max_chunksize=_ROWS):
            for piece in _lines(batch, keys):
                sink.write(piece)
            done += batch.num_rows
            job.progress(done / shown.num_rows)

    with open(job.path, "wb", buffering=0) as file:
        through(file, job.compression, fill)
    return Expected(_read_again(shown), tuple(notes))


def _fitting(table: pa.Table, notes: list[str]) -> pa.Table:
    """Return the table as it is written: numbers, booleans and texts."""
    for position, field in enumerate(table.schema):
        fitted = _fitted(table.column(position), field.name, notes)
        table = table.set_column(position, field.with_type(fitted.type), fitted)
    return table


def _fitted(values: Any, name: str, notes: list[str]) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_string(kind):
        return values
    if pa.types.is_decimal(kind):
        if kind.scale != 0:
            notes.append(f"column {name!r}: decimals became floating-point numbers")
            return values.cast(pa.float64())
        try:
            return values.cast(pa.int64())
        except pa.ArrowInvalid:
            return values
    if pa.types.is_floating(kind):
        if pc.any(pc.is_inf(values)).as_py():
            raise DataError(f"A number in JSON lines must be finite. Got an infinite one in {name!r}.")
        if pc.any(pc.is_nan(values)).as_py():
            notes.append(f"column {name!r}: NaN became a missing value")
            values = pc.if_else(pc.fill_null(pc.is_nan(values), False), pa.scalar(None, kind), values)
        return values
    if pa.types.is_timestamp(kind) and not at_midnight(values):
        return moments(values, name, notes)
    return as_text(values, name, ".", "JSON lines")


def _read_again(table: pa.Table) -> pa.Table:
    """Return the table as it is read: texts that are dates are dates."""
    import pyarrow as pa

    for position, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            values = dated(table.column(position))
            table = table.set_column(position, field.with_type(values.type), values)
    return table


def _lines(batch: Any, keys: list[str]) -> Iterator[memoryview]:
    """Yield the bytes of the lines of a batch."""
    import pyarrow.compute as pc

    # A batch of very long texts, which escapes make six times as long, does not fit into one array: then in halves.
    if batch.num_rows > 1 and batch.nbytes > 2**27:
        half = batch.num_rows // 2
        yield from _lines(batch.slice(0, half), keys)
        yield from _lines(batch.slice(half), keys)
        return
    pieces: list[Any] = []
    for key, column in zip(keys, batch.columns, strict=True):
        pieces += [f"{',' if pieces else '{'}{key}:", _tokens(column)]
    yield bytes_of(pc.binary_join_element_wise(*pieces, "}\n", ""))


def _tokens(column: Any) -> Any:
    """Return the values of a column as JSON; nulls are the word null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_string(kind):
        tokens = pc.binary_join_element_wise('"', _escaped(column), '"', "")
    else:
        tokens = column.cast(pa.string())
    if pa.types.is_floating(kind):
        # So that it is read as a floating-point number again.
        whole = pc.match_substring_regex(tokens, "^-?[0-9]+$")
        tokens = pc.if_else(whole, pc.binary_join_element_wise(tokens, ".0", ""), tokens)
    return pc.fill_null(tokens, "null")


def _escaped(column: Any) -> Any:
    import pyarrow.compute as pc

    data = column.buffers()[2]
    # Most columns have no such character, and searching the buffer is cheaper than searching each text.
    content = b"" if data is None else memoryview(data).tobytes()
    for character in ("\\", '"', *_CONTROLS):
        if character.encode() in content:
            column = pc.replace_substring(column, character, json.dumps(character)[1:-1])
    return column
