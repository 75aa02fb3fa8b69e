"""Reading CSV: Arrow parses the file, every field stays the text that was written, and what Arrow lets pass is checked.

A null is an empty field without quotes; ``""`` is an empty text. Rows that are not as long as the header, empty or
repeated names, a first line that looks like a record, NUL characters and quotes that are never closed are refused, with
their line where there is one.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from shoal.errors import DataError, OptionError
from shoal.io.csv_dialect import SAMPLE, codec, detect, records, told_by_header
from shoal.io.csv_stream import TIMES, CsvStream, NulError, UndecodableError, UnpackedError, encodings
from shoal.io.csv_writer import write
from shoal.io.headers import check_names, positional, refuse_record
from shoal.io.source import Dialect, Reading, Source
from shoal.io.unpacking import unpacks_to_more

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "check_options",
    "damage_reported",
    "decoded",
    "faulty_row",
    "notes_of",
    "parsing",
    "read",
    "sample",
    "write",
]

T = TypeVar("T")
_BLOCK = 2**22
_LARGEST = 2**31 - 1
_NEWLINES = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}
_DELIMITERS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar"}


def read(job: Reading) -> Source:
    """Read a CSV file, compressed or not."""
    check_options(job)
    return decoded(job, lambda encoding, declared: _read_as(job, encoding, declared))


def decoded(job: Reading, reader: Callable[[str, bool], T]) -> T:
    """Return what a reader makes of the file in the first encoding that fits all of its bytes.

    Parameters
    ----------
    job : Reading
    reader : callable
        Called with an encoding, and whether a byte order mark declares it.
    """
    with damage_reported(job):
        tried, declared = encodings(job.path, job.compression)
    if job.encoding is not None:
        given = codec(job.encoding)
        # Plain "utf-16" leaves the byte order to the byte order mark.
        declared = declared and tried[0].startswith(given)
        if not declared:
            tried = ({"utf-16": "utf-16-le", "utf-32": "utf-32-le"}.get(given, given),)
    for encoding in tried:
        try:
            with damage_reported(job):
                return reader(encoding, declared)
        except UndecodableError:
            continue
        except UnpackedError:
            raise unpacks_to_more(job.name, TIMES, "if you trust it, unpack it yourself.") from None
        except NulError:
            raise DataError(
                f"The CSV file {job.name} must not have NUL characters. Got at least one.",
                "if it is in UTF-16 without a byte order mark, pass encoding='utf-16-le'; "
                "if it is a file of another format, pass format=.",
            ) from None
    raise DataError(
        f"The CSV file {job.name} must be in the encoding {tried[0]}. Got bytes that are not valid in it.",
        "pass the encoding of the file, for example encoding='cp1252'.",
    )


def check_options(job: Reading) -> None:
    """Refuse what cannot be the dialect of a CSV file."""
    for option, value, allowed in (
        ("delimiter", job.delimiter, "one character other than a quote or a line end"),
        ("quote", job.quote, "one character, or '' for no quoting"),
        ("decimal", job.decimal, "'.' or ','"),
    ):
        if value is None or (option == "quote" and value == ""):
            continue
        fine = isinstance(value, str) and len(value) == 1 and value.isascii() and value not in "\r\n\0"
        if option == "delimiter":
            fine = fine and value not in "\"'"
        elif option == "decimal":
            fine = fine and value in ".,"
        if not fine:
            raise OptionError(f"The {option!r} option of read must be {allowed}. Got {value!r}.")
    if job.delimiter is not None and job.delimiter == job.quote:
        raise OptionError("The 'delimiter' and 'quote' options of read must differ. Got the same character twice.")


@contextmanager
def damage_reported(job: Reading) -> Iterator[None]:
    """Say that the file is damaged if the system cannot read it."""
    try:
        yield
    except OSError:
        what = f"compressed with {job.compression}" if job.compression else "readable to its end"
        raise DataError(f"The CSV file {job.name} must be complete and {what}. Got a damaged file.") from None


def _read_as(job: Reading, encoding: str, declared: bool) -> Source:
    text, whole = sample(job, encoding)
    dialect = detect(text, whole, encoding, declared, delimiter=job.delimiter, quote=job.quote)
    if job.decimal is not None:
        dialect = replace(dialect, decimal=job.decimal)
    columns = len(next(records(text.lstrip("\r\n"), dialect.delimiter, dialect.quote))[0])
    table, stream, block = _parsed(job, dialect, columns)
    notes = notes_of(job, dialect, table)
    if stream.empty_lines and columns > 1 and (empty := _empty_lines(job, dialect, columns, block, table.num_rows)):
        notes.append(f"empty lines: {empty} skipped")
    guessed = _guessed(job, dialect, text)
    return Source(table, True, "csv", dialect, stream.sha256, job.name, tuple(notes), job.compression, guessed=guessed)


def _guessed(job: Reading, dialect: Dialect, text: str) -> tuple[str, ...]:
    """Return the options that were guessed from records: not given, and told neither by a mark nor by the header."""
    records_decide = {
        "encoding": job.encoding is None and not dialect.bom and dialect.encoding != "utf-8",
        "delimiter": job.delimiter is None and (job.header is False or not told_by_header(text, dialect.quote)),
        "quote": job.quote is None and job.header is False and dialect.quote != '"',
    }
    return tuple(option for option, guess in records_decide.items() if guess)


def sample(job: Reading, encoding: str) -> tuple[str, bool]:
    """Return the beginning of the file, at least one record, and whether that is the whole file."""
    size = SAMPLE
    while True:
        with CsvStream(job.path, job.compression, encoding) as stream:
            received = bytearray()
            while len(received) < size and (chunk := stream.read(size - len(received))):
                received += chunk
            whole = not stream.read(1)
        text = received.decode(errors="ignore")  # the last character may be cut
        body = text.lstrip("\r\n")
        quote = '"' if job.quote is None else job.quote
        if whole or any(end for _, end in records(body, job.delimiter or ",", quote)):
            return text, whole
        size *= 16  # a header with one huge name


def _parsed(job: Reading, dialect: Dialect, columns: int) -> tuple[pa.Table, CsvStream, int]:
    """Return the table, the stream it was read from (closed), and the block size."""
    import pyarrow as pa

    block = _BLOCK
    while True:
        with CsvStream(job.path, job.compression, dialect.encoding, columns, dialect.delimiter, job.progress) as stream:
            try:
                table = _by_arrow(stream, dialect, columns, block)
                stream.finish()
            except pa.ArrowInvalid as error:
                # Not passed on: Arrow's message quotes the row.
                if "straddling" in str(error) and block < _LARGEST:
                    block = min(block * 8, _LARGEST)
                    continue
                raise faulty_row(job, dialect, columns) from None
        last = table.num_rows - 1
        if table.num_columns != columns or last < 1 or table.column(0)[last].as_py() != stream.mark:
            raise faulty_row(job, dialect, columns)
        return _named(job, table.slice(0, last)), stream, block


def _named(job: Reading, table: pa.Table) -> pa.Table:
    """Return the rows with the names of their columns."""
    if job.header is False:
        return table.rename_columns(positional(table.num_columns))
    names = [column[0].as_py() for column in table.columns]
    check_names(names, job.name, "line")
    table = table.slice(1).rename_columns(names)
    if job.header is None:
        refuse_record(table, job.name, "line")
    return table


def _by_arrow(stream: CsvStream, dialect: Dialect, columns: int, block: int, skip_empty: bool = True) -> Any:
    import pyarrow as pa
    import pyarrow.csv as pc

    return pc.read_csv(pa.PythonFile(stream, mode="r"), *parsing(dialect, columns, block, skip_empty))


def parsing(dialect: Dialect, columns: int, block: int, skip_empty: bool = True) -> tuple[Any, Any, Any]:
    """Return Arrow's options of reading, parsing and converting; columns are named 0, 1, .. and the header is a row."""
    import pyarrow as pa
    import pyarrow.csv as pc

    # The header is read as a row, so that it is parsed like any other.
    names = [str(i) for i in range(columns)]
    options = pc.ReadOptions(block_size=block, column_names=names)
    parse = pc.ParseOptions(
        delimiter=dialect.delimiter,
        quote_char=dialect.quote or False,
        newlines_in_values=bool(dialect.quote),
        # In a table of one column an empty line is a row without a value.
        ignore_empty_lines=skip_empty and columns > 1,
    )
    convert = pc.ConvertOptions(
        check_utf8=False,  # the stream has checked it
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    return options, parse, convert


def faulty_row(job: Reading, dialect: Dialect, columns: int) -> DataError:
    """Return the error for the first row that is not as long as the header, with its line."""
    line, length, swallowed = 1, 0, False
    with CsvStream(job.path, job.compression, dialect.encoding, columns, dialect.delimiter) as stream, _long_fields():
        mark = stream.mark
        lines = io.TextIOWrapper(io.BufferedReader(stream), encoding="utf-8", newline="")
        options: dict[str, Any] = {"quotechar": dialect.quote} if dialect.quote else {"quoting": csv.QUOTE_NONE}
        reader = csv.reader(lines, delimiter=dialect.delimiter, **options)
        for record in reader:
            length = len(record)
            swallowed = record[:1] != [mark] and any(mark in text for text in record)
            if swallowed or (record and length != columns):
                break
            line = reader.line_num + 1
        else:
            return DataError(f"The CSV file {job.name} must be one that can be parsed. Got a field that is too large.")
    if swallowed:
        return DataError(
            f"Every quote in {job.name} must be closed. Got an open one in the row that begins in line {line}.",
            "close it, or pass quote='' if the file has no quoting.",
        )
    return DataError(
        f"Every row of {job.name} must have {columns} fields, as the first line has. Got {length} in line {line} "
        f"(delimiter: {_DELIMITERS.get(dialect.delimiter, dialect.delimiter)}).",
        "quote fields that contain the delimiter, or pass the delimiter if it was detected wrongly.",
    )


@contextmanager
def _long_fields() -> Iterator[None]:
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _empty_lines(job: Reading, dialect: Dialect, columns: int, block: int, rows: int) -> int:
    with CsvStream(job.path, job.compression, dialect.encoding, columns, dialect.delimiter) as stream:
        table = _by_arrow(stream, dialect, columns, block, skip_empty=False)
    return int(table.num_rows) - rows - (1 if job.header is False else 2)


def notes_of(job: Reading, dialect: Dialect, table: pa.Table) -> list[str]:
    """Return what was detected, one line each."""

    def origin(option: object) -> str:
        return "given" if option is not None else "detected"

    guess = dialect.encoding not in ("utf-8", "ascii") and not dialect.bom and job.encoding is None
    how = "a guess: the file is not UTF-8" if guess else origin(job.encoding)
    notes = [
        f"delimiter: {_DELIMITERS.get(dialect.delimiter, dialect.delimiter)} ({origin(job.delimiter)})",
        f"encoding: {dialect.encoding}{' with byte order mark' if dialect.bom else ''} ({how})",
        f"line ends: {_NEWLINES[dialect.newline]} (detected)",
        f"decimal mark: {dialect.decimal} ({origin(job.decimal)})",
    ]
    if dialect.quote != '"':
        notes.append(f"quotes: {dialect.quote or 'none'} ({origin(job.quote)})")
    if job.header is False:
        notes.append("column names: none in the file (given)")
    if table.num_columns == 1 and (missing := table.column(0).null_count):
        notes.append(f"empty lines: {missing} read as missing values")
    return notes
