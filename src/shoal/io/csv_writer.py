"""Writing CSV so that reading it back gives the same texts and the same nulls.

Arrow joins the lines of a batch, and the buffer of the joined column is the text of the file. No value becomes a Python
object.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any

from shoal.errors import DataError, ShoalError
from shoal.io import formulas
from shoal.io.csv_dialect import DELIMITERS
from shoal.io.source import Dialect, Expected, Writing
from shoal.io.typed import at_midnight

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CsvLines", "bytes_of", "dialect_of", "reading", "text", "texts", "through", "write"]

_ROWS = 2**16


def write(table: pa.Table, job: Writing) -> Expected:
    """Write a table as CSV in the dialect of `job.like`, or as UTF-8 with commas (with tabs to .tsv and .tab)."""
    dialect = dialect_of(job)
    if len(table.column_names) == 0:
        raise DataError("A table must have at least one column to be written as CSV. Got none.")
    wanted = texts(table, dialect.decimal)
    warnings = () if job.escape_formulas else formulas.warning(wanted)
    wanted = formulas.escaped(wanted) if job.escape_formulas else wanted
    with open(job.path, "wb", buffering=0) as file:
        through(file, job.compression, lambda sink: _write_all(wanted, dialect, sink, job))
    return Expected(wanted, (), reading(dialect), warnings)


def dialect_of(job: Writing) -> Dialect:
    """Return the dialect of `job.like`, or UTF-8 with commas (with tabs to .tsv and .tab)."""
    dialect = job.like.dialect if job.like is not None else None
    return dialect or Dialect(delimiter="\t" if job.suffix in (".tsv", ".tab") else ",")


def reading(dialect: Dialect) -> dict[str, Any]:
    """Return how a file in this dialect is read: options of `Reading`."""
    return {
        "delimiter": dialect.delimiter,
        "quote": dialect.quote,
        "encoding": dialect.encoding,
        "decimal": dialect.decimal,
        "header": True,
    }


def texts(table: pa.Table, decimal: str = ".", piece: bool = False) -> pa.Table:
    """Return a table with every column as text, nulls kept; see :func:`text`."""
    import pyarrow as pa

    pairs = zip(table.column_names, table.columns, strict=True)
    columns = [text(column, name, decimal, piece=piece) for name, column in pairs]
    return pa.Table.from_arrays(columns, names=table.column_names)


def text(column: Any, name: str, decimal: str = ".", format: str = "CSV", piece: bool = False) -> Any:
    """Return a column as text, nulls kept; refuse one that does not hold single values.

    In a `piece` of a column, every value is written in the same way, whatever the others are: moments always with their
    time of day, and with fractions of a second where they have some.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_string(kind):
        return column
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise DataError(
            f"A column must hold single values to be written as {format}. Got the column {name!r} of type {kind}.",
            "leave it out, or write Parquet.",
        )
    if not piece and at_midnight(column):
        column = column.cast(pa.date32())
    try:
        text = column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(
            f"A column must have a type that {format} can hold. Got the column {name!r} of type {kind}."
        ) from None
    if pa.types.is_timestamp(kind) and (piece or pc.all(pc.match_substring_regex(text, r"\.0+Z?$")).as_py()):
        text = pc.replace_substring_regex(text, r"\.0+(Z?)$", r"\1")  # digits that the type has, but no value
    if decimal != "." and (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        text = pc.replace_substring(text, ".", decimal)
    return text


def through(file: IO[bytes], compression: str | None, fill: Any) -> None:
    """Call `fill` with a sink that compresses."""
    if compression == "gzip":
        import gzip

        # Without time and name, so that equal tables give equal files. Level 6 is gzip's default.
        with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0) as packed:
            fill(packed)
    elif compression == "zstd":
        import pyarrow as pa

        with pa.CompressedOutputStream(pa.PythonFile(file, mode="w"), "zstd") as packed:
            fill(packed)
    else:
        fill(_Whole(file))


class _Whole:
    """A raw file whose `write` does not stop before all bytes are written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, data: Any) -> None:
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]


def _write_all(table: pa.Table, dialect: Dialect, sink: Any, job: Writing) -> None:
    lines = CsvLines(table.column_names, dialect, sink, job.name)
    for batch in table.to_batches(max_chunksize=_ROWS):
        lines.write(batch)
        job.progress(lines.rows / max(table.num_rows, 1))


class CsvLines:
    """The lines of a CSV file, written batch by batch; the first line, with the names, at once."""

    def __init__(self, names: Sequence[str], dialect: Dialect, sink: Any, file: str) -> None:
        import pyarrow as pa

        self.rows = 0
        self._dialect, self._sink, self._file = dialect, sink, file
        self._encoder = codecs.getincrementalencoder(dialect.encoding)()
        if dialect.bom:
            sink.write("\ufeff".encode(dialect.encoding))
        header = [pa.array([name], pa.string()) for name in names]
        first = pa.RecordBatch.from_arrays(header, names=[str(i) for i in range(len(header))])
        self._send(first, _of_names(first, dialect))

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows of strings."""
        self._send(batch, self._dialect)
        self.rows += batch.num_rows

    def _send(self, batch: pa.RecordBatch, dialect: Dialect) -> None:
        for piece in _lines(batch, dialect, self._file):
            if dialect.encoding == "utf-8":
                self._sink.write(piece)
                continue
            try:
                self._sink.write(self._encoder.encode(bytes(piece).decode()))
            except UnicodeEncodeError:
                raise _unwritable(batch, dialect.encoding, self.rows, self._file) from None


def _of_names(batch: Any, dialect: Dialect) -> Dialect:
    """Return the dialect of the first line, from which the dialect of the file can be told.

    All names are quoted if one has a character that may be taken for a delimiter or a quote, and always if the quote
    is not the usual one.
    """
    names = "".join(column[0].as_py() for column in batch.columns)
    told = dialect.quote == '"' and not any(character in names for character in (*DELIMITERS, '"', "'"))
    return dialect if told or not dialect.quote else replace(dialect, quoting="all")


def _lines(batch: Any, dialect: Dialect, name: str) -> Iterator[memoryview]:
    """Yield the bytes of the lines of a batch."""
    import pyarrow.compute as pc

    if batch.num_rows == 0:
        return
    columns = [_quoted(column, dialect, name) for column in batch.columns]
    # A batch of very long texts does not fit into one array of strings: then in halves.
    if batch.num_rows > 1 and sum(column.nbytes for column in columns) > 2**30:
        half = batch.num_rows // 2
        yield from _lines(batch.slice(0, half), dialect, name)
        yield from _lines(batch.slice(half), dialect, name)
        return
    joined = columns[0] if len(columns) == 1 else None
    if joined is None:
        joined = pc.binary_join_element_wise(*columns, dialect.delimiter, null_handling="replace", null_replacement="")
    # Joined to an empty text by the line end: each line gets its end, and the nulls of a single column a line.
    joined = pc.binary_join_element_wise(joined, "", dialect.newline, null_handling="replace", null_replacement="")
    yield bytes_of(joined)


def bytes_of(texts: Any) -> memoryview:
    """Return the bytes of an array of strings, one after the other."""
    import pyarrow as pa

    offsets = pa.Array.from_buffers(pa.int32(), len(texts) + 1, [None, texts.buffers()[1]], offset=texts.offset)
    start, end = offsets[0].as_py(), offsets[len(texts)].as_py()
    return memoryview(texts.buffers()[2])[start:end]


def _quoted(column: Any, dialect: Dialect, name: str) -> Any:
    """Return a column of strings with quotes around those that need them."""
    import pyarrow.compute as pc

    special = dialect.delimiter + "\r\n" + (dialect.quote or "")
    empty = pc.equal(pc.binary_length(column), 0)
    data = column.buffers()[2]
    # Most columns have no special character at all, and searching the buffer is cheaper than searching each text.
    content = b"" if data is None else memoryview(data).tobytes()
    if dialect.quoting == "all":
        needs = pc.is_valid(column)
    elif any(character.encode() in content for character in special):
        needs = pc.or_(empty, pc.match_substring_regex(column, f"[{re.escape(special)}]"))
    else:
        needs = empty
    if not pc.any(needs).as_py():
        return column
    if not dialect.quote:
        raise DataError(
            f"Without quotes, no text of {name} may be empty or hold a delimiter or a line end. Got one that does.",
            "read the table with quote='\"', or write another format.",
        )
    doubled = pc.replace_substring(column, dialect.quote, dialect.quote * 2)
    return pc.if_else(needs, pc.binary_join_element_wise(dialect.quote, doubled, dialect.quote, ""), column)


def _unwritable(batch: Any, encoding: str, done: int, name: str) -> ShoalError:
    """Return the error for text that cannot be encoded, with its column."""
    for column, label in zip(batch.columns, batch.schema.names, strict=True):
        for row, text in enumerate(column.to_pylist(), done + 1):
            try:
                (text or "").encode(encoding)
            except UnicodeEncodeError:
                where = f"column {label!r}, row {row}" if done or batch.schema.names[0] != "0" else "a column name"
                return DataError(
                    f"Every text of {name} must be encodable in {encoding}. Got other characters in {where}.",
                    "write UTF-8, for example by passing that encoding when reading.",
                )
    return DataError(f"Every text of {name} must be encodable in {encoding}. Got other characters.")
