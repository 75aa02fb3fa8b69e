"""CSV files in pieces, read by the rules of `shoal.io.csv_files`: every field stays the text that was written.

The bytes of the whole file are looked at once before anything is parsed, because its encoding is that of all of them.
Whether the first line is a record is decided by the rows at the beginning. A folder of files is one table.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.engines.batches import FileBatches
from shoal.errors import DataError
from shoal.io.csv_dialect import decimal_mark, detect, records
from shoal.io.csv_files import check_options, damage_reported, decoded, faulty_row, notes_of, parsing, sample
from shoal.io.csv_stream import CsvStream
from shoal.io.files import checked_input
from shoal.io.formats import Place, locate
from shoal.io.headers import check_names, positional, refuse_record
from shoal.io.source import Dialect, Reading

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CsvBatches", "CsvFolder"]

_LARGEST = 2**31 - 1
_CHUNK = 2**22


class CsvBatches(FileBatches):
    """A CSV file, compressed or not.

    Attributes
    ----------
    mark : str or None
        The decimal mark: as it was given, or that of most numbers at the beginning; None if these do not tell.
    """

    text = True
    mark: str | None

    def __init__(self, place: Place, options: dict[str, Any], batch_bytes: int, name: str | None = None) -> None:
        import pyarrow as pa

        if place.path is None:
            raise DataError("A CSV file must have a path. Got none.")
        job = Reading(place.path, "csv", name or str(place.path), place.suffix, place.compression, **options)
        super().__init__(job.name, "csv", [place.path], batch_bytes)
        self._job, self.compression = job, job.compression
        self._block = min(max(batch_bytes // 2, 2**16), _LARGEST)
        check_options(job)
        self.dialect: Dialect = decoded(job, self._looked_at)
        self._header = job.header is not False
        # The first line is a row too, until its fields have become the names.
        self.schema = pa.schema([(str(at), pa.string()) for at in range(self._columns)])
        self._named()
        self.require_unchanged()

    def _looked_at(self, encoding: str, declared: bool) -> Dialect:
        """Read all bytes in an encoding, hash them, and return the dialect."""
        job = self._job
        with CsvStream(job.path, job.compression, encoding) as stream:
            while stream.read(_CHUNK):
                pass
            stream.finish()
            self.sha256, self._empty_lines = stream.sha256, stream.empty_lines
        text, whole = sample(job, encoding)
        dialect = detect(text, whole, encoding, declared, delimiter=job.delimiter, quote=job.quote)
        self._columns = len(next(records(text.lstrip("\r\n"), dialect.delimiter, dialect.quote))[0])
        self.mark = job.decimal or decimal_mark(text, whole, dialect.delimiter, dialect.quote)
        return dialect if job.decimal is None else replace(dialect, decimal=job.decimal)

    def _named(self) -> None:
        """Give the columns their names; refuse a first line that looks like a record."""
        import pyarrow as pa

        job = self._job
        with closing(self._parsed([str(at) for at in range(self._columns)])) as batches:
            first = pa.Table.from_batches([batch] if (batch := next(batches, None)) else [], schema=self.schema)
        names = positional(self._columns)
        if self._header:
            if first.num_rows == 0:
                raise faulty_row(job, self.dialect, self._columns)
            names = [column[0].as_py() for column in first.columns]
            check_names(names, job.name, "line")
            first = first.slice(1)
        first = first.rename_columns(names)
        if job.header is None:
            refuse_record(first, job.name, "line")
        self.schema = pa.schema([(name, pa.string()) for name in names])
        notes = notes_of(job, self.dialect, first)
        if self.skipped:
            notes.append("empty lines: skipped")
        self.notes = tuple(notes)

    @property
    def skipped(self) -> bool:
        """Return whether there are empty lines that are no rows."""
        return bool(self._empty_lines) and self._columns > 1

    def told(self, dialect: Dialect) -> list[str]:
        """Return what was detected in the files of a folder, of which this is the first, with their dialect."""
        return notes_of(self._job, dialect, self.schema.empty_table())

    def _pieces(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        places = [str(self.schema.get_field_index(name)) for name in columns]
        schema = pa.schema([(name, pa.string()) for name in columns])
        skip = int(self._header)
        for batch in self._parsed(places):
            rows = batch.slice(skip)
            skip = max(0, skip - batch.num_rows)
            if rows.num_rows:
                yield pa.RecordBatch.from_arrays([rows.column(place) for place in places], schema=schema)

    def _parsed(self, places: list[str]) -> Generator[pa.RecordBatch, None, None]:
        """Yield all rows but the end mark, the first line among them, of the columns 0, 1, .. that are named."""
        import pyarrow as pa

        done = 0
        while True:
            try:
                for batch in self._once(places, done):
                    done += batch.num_rows
                    yield batch
                return
            except pa.ArrowInvalid as error:
                # Not passed on: Arrow's message quotes the row.
                if "straddling" not in str(error) or self._block >= _LARGEST:
                    raise faulty_row(self._job, self.dialect, self._columns) from None
                self._block = min(self._block * 8, _LARGEST)  # and go on after the rows that are done

    def _once(self, places: list[str], done: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.csv as pc

        job, dialect = self._job, self.dialect
        options, parse, convert = parsing(dialect, self._columns, self._block)
        # The mark at the end of the file stands in the first column.
        convert.include_columns = list(dict.fromkeys(["0", *places]))
        held = None
        with (
            damage_reported(job),
            CsvStream(job.path, job.compression, dialect.encoding, self._columns, dialect.delimiter) as stream,
            pc.open_csv(pa.PythonFile(stream, mode="r"), options, parse, convert) as reader,
        ):
            for batch in reader:
                rows = batch.slice(min(done, batch.num_rows))
                done -= batch.num_rows - rows.num_rows
                if rows.num_rows == 0:
                    continue
                if held is not None:
                    yield held
                held = rows
            last = None if held is None else held.column("0")[held.num_rows - 1].as_py()
            if held is None or last != stream.mark:
                raise faulty_row(job, dialect, self._columns)
        if held.num_rows > 1:
            yield held.slice(0, held.num_rows - 1)


class CsvFolder(FileBatches):
    """The CSV files of a folder in the order of their names, each with the same header, in one dialect.

    The first of them tells delimiter, quotes and encoding of all, unless they are given; the first that has numbers
    with a decimal mark tells that.
    """

    text = True

    def __init__(self, folder: Path, paths: Sequence[Path], options: Mapping[str, Any], batch_bytes: int) -> None:
        super().__init__(str(folder), "csv", paths, batch_bytes, folder)
        self._parts: list[CsvBatches] = []
        asked = dict(options)
        for path in self.paths:
            checked_input(path)
            part = CsvBatches(locate(path, "csv", "source"), asked, batch_bytes)
            self._parts.append(part)
            first = self._parts[0]
            asked.update(delimiter=first.dialect.delimiter, quote=first.dialect.quote)
            self._require("the same columns in the same order", part.names == first.names, path)
            self._require("the same encoding", part.dialect.encoding == first.dialect.encoding, path, "encoding")
        marks = [part.mark for part in self._parts]
        mark = next((one for one in marks if one is not None), ".")
        for path, one in zip(self.paths, marks, strict=True):
            self._require("the same decimal mark", one in (None, mark), path, "decimal")
        self.schema, self.compression = first.schema, first.compression
        self.dialect = replace(first.dialect, decimal=mark)
        self.notes = (*first.told(self.dialect), *["empty lines: skipped"] * any(one.skipped for one in self._parts))
        self.require_unchanged()

    def _require(self, what: str, given: bool, path: Path, option: str | None = None) -> None:
        """Refuse a file that is not like those before it; with an option, it may be that this was detected wrongly."""
        if not given:
            how = "" if option is None else f"; if they are, and it was detected wrongly, give it (--{option})"
            raise DataError(
                f"The CSV files of {self.name} must have {what}. Got another in {path.name}.", f"write them alike{how}."
            )

    def _pieces(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        for part in self._parts:
            yield from part._pieces(columns)
