"""Tables that Spark reads and writes: CSV and Parquet, files and folders.

A CSV file is text, every field as it was written, as everywhere in Shoal: a null is an empty field without quotes. Rows
that are not as long as the header are refused.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple

from shoal.engines.spark_errors import told
from shoal.engines.spark_folders import Folder, format_of
from shoal.engines.spark_frames import Frame, quoted
from shoal.errors import DataError, OptionError, ShoalError
from shoal.io.csv_dialect import SAMPLE, detect
from shoal.io.headers import check_names, positional
from shoal.io.source import Dialect, Source

# Options of reading that CSV has, and how Spark calls them.
_OF_CSV = ("delimiter", "encoding", "quote", "header", "decimal")
_LINES = 200
# How files are read whatever a session has set: one that is broken or gone is an error, and not a table of fewer rows.
WHOLE = {
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "parquet.page.verify-checksum.enabled": "true",
}


class Table(NamedTuple):
    """A table that Spark reads.

    Attributes
    ----------
    frame : pyspark.sql.DataFrame
    format : str
    dialect : Dialect or None
        Of CSV.
    header : bool
    name : str
        For messages.
    """

    frame: Any
    format: str
    dialect: Dialect | None
    header: bool
    name: str

    @property
    def text(self) -> bool:
        """Return whether all columns are texts as written in a CSV file."""
        return self.dialect is not None

    @property
    def decimal(self) -> str:
        """Return the decimal mark of numbers in text."""
        return "." if self.dialect is None else self.dialect.decimal

    def like(self, name: str) -> Source:
        """Return a source without rows, for documents."""
        return Source(Frame(self.frame).schema.empty_table(), self.text, self.format, self.dialect, None, name)


def read(session: Any, where: str | os.PathLike[str], reading: Mapping[str, Any]) -> Table:
    """Return the table in a file or a folder of files; nothing is read yet but the first lines of CSV."""
    options = {name: value for name, value in reading.items() if value is not None}
    folder = Folder(session, where)
    format = format_of(where, options.pop("format", None), "--from")
    if not folder.exists():
        raise ShoalError(f"There is no file or folder {folder.name}.")
    if format is None:
        raise OptionError(
            f"The format of {folder.name} must be csv or parquet, which its name does not tell.",
            hint="give it: format='csv', --from csv.",
        )
    for option in options:
        if format != "csv" or option not in _OF_CSV:
            raise OptionError(f"The {option!r} option of reading must not be given for {format} with Spark. Got it.")
    with told():
        if format == "parquet":
            frame = session.read.options(**WHOLE).parquet(folder.address)
            return Table(frame, format, None, True, folder.name)
        return _csv(session, folder, options)


def _csv(session: Any, folder: Folder, options: Mapping[str, Any]) -> Table:
    encoding = options.get("encoding", "utf-8")
    lines = [row[0] for row in session.read.options(**WHOLE).text(folder.address).limit(_LINES).collect()]
    text = "\n".join(lines)[:SAMPLE]
    if not text.strip():
        raise DataError(f"{folder.name} must begin with a line of column names. Got only empty lines.")
    dialect = detect(
        text.removeprefix("\ufeff"),
        False,
        encoding,
        False,
        delimiter=options.get("delimiter"),
        quote=options.get("quote"),
    )
    if "decimal" in options:
        dialect = Dialect(**{**vars(dialect), "decimal": options["decimal"]})
    header = options.get("header") is not False
    reader = session.read.options(**WHOLE, **csv_options(dialect), header=header, mode="FAILFAST", multiLine=True)
    names = reader.csv(folder.address).columns
    if header:
        first = next(iter_header(text.removeprefix("\ufeff"), dialect))
        check_names(first, folder.name, "line")
        if len(names) != len(first):
            raise DataError(f"The first line of {folder.name} must have one name for each column. Got another number.")
        names = first
    else:
        names = positional(len(names))
    from pyspark.sql.types import StringType, StructField, StructType

    schema = StructType([StructField(name, StringType()) for name in names])
    frame = _read(reader.options(enforceSchema=not header).schema(schema), folder)
    return Table(frame, "csv", dialect, header, folder.name)


def _read(reader: Any, folder: Folder) -> Any:
    """Return a data frame in which an empty field is null, and an empty text in quotes is none: Spark mixes them up.

    For a moment, an empty text is a word that no table has.
    """
    from pyspark.sql import functions as F

    word = f"\u0001{secrets.token_hex(16)}"
    frame = reader.options(emptyValue=word).csv(folder.address)
    columns = [F.col(quoted(name)) for name in frame.columns]
    return frame.select(
        *(F.when(one == word, "").otherwise(one).alias(name) for one, name in zip(columns, frame.columns, strict=True))
    )


def iter_header(text: str, dialect: Dialect) -> Any:
    """Yield the fields of the records of a text, the first of which has the names."""
    from shoal.io.csv_dialect import records

    for record, _ in records(text.lstrip("\r\n"), dialect.delimiter, dialect.quote):
        yield [field.text for field in record]


def csv_options(dialect: Dialect) -> dict[str, Any]:
    """Return a dialect in the words of Spark; quotes within quotes are doubled, and blanks are kept."""
    return {
        "sep": dialect.delimiter,
        "quote": dialect.quote,
        "escape": dialect.quote or "\\",
        "encoding": dialect.encoding,
        "ignoreLeadingWhiteSpace": False,
        "ignoreTrailingWhiteSpace": False,
        "nullValue": "",
        "inferSchema": False,
    }


def write(frame: Any, folder: Folder, format: str, dialect: Dialect | None) -> None:
    """Write a data frame to a folder that does not exist."""
    with told():
        if format == "parquet":
            frame.write.parquet(folder.address)
        else:
            how = csv_options(_written(dialect))
            frame.write.options(**how, header=True, emptyValue='""').csv(folder.address)


def read_again(session: Any, folder: Folder, format: str, dialect: Dialect | None, names: list[str]) -> Any:
    """Return a data frame of what was written, as any reader sees it."""
    with told():
        if format == "parquet":
            return session.read.options(**WHOLE).parquet(folder.address)
        from pyspark.sql.types import StringType, StructField, StructType

        schema = StructType([StructField(name, StringType()) for name in names])
        reader = session.read.options(
            **WHOLE, **csv_options(_written(dialect)), header=True, mode="FAILFAST", multiLine=True
        )
        return _read(reader.options(enforceSchema=False).schema(schema), folder)


def _written(dialect: Dialect | None) -> Dialect:
    """Return the dialect in which CSV is written: that of the source, in UTF-8 and with quotes."""
    known = dialect or Dialect()
    return Dialect(delimiter=known.delimiter, quote=known.quote or '"', decimal=known.decimal)
