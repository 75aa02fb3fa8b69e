"""Excel workbooks: one sheet is one table, and its first row has the names of the columns.

Formulas are read as their last computed values. A workbook has neither empty texts nor integers beyond 2**53 nor time
zones; what cannot be kept is refused or noted.
"""

from __future__ import annotations

import datetime
import io
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, OptionError, near_names
from shoal.io.files import sha256_of
from shoal.io.formats import needed
from shoal.io.headers import check_names, positional, refuse_record
from shoal.io.source import Expected, Reading, Source, Writing
from shoal.io.typed import Apart, at_midnight, column, numbered, plain
from shoal.io.unpacking import most_bytes, unpacks_to_more

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read", "write"]

_ROWS, _COLUMNS, _CHARACTERS = 1_048_576, 16_384, 32_767
_MOST = 2**53
_BUFFER = 2**20
# Times its size that a large workbook may unpack to; the cells that any sheet may have, and that a large one may have
# for each value.
_TIMES = 100
_FEWEST, _EMPTINESS = 10**7, 100
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")

# What a cell holds that its value does not tell: the error, the formula, or that its text is empty. {column: {row: ..}}
_Odd = dict[int, dict[int, str]]


def check_size(path: Path | str, name: str) -> None:
    """Refuse a workbook that unpacks to more than its size can account for, before anything of it is unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            # What an entry has beyond the size that it declares is never read.
            unpacked = sum(entry.file_size for entry in archive.infolist())
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        return  # openpyxl says that it is no workbook
    if unpacked > most_bytes(path, _TIMES):
        raise unpacks_to_more(name, _TIMES, "if you trust it, save it as CSV.")


def read(job: Reading) -> Source:
    """Read one sheet of a workbook."""
    import pyarrow as pa

    check_size(job.path, job.name)
    digest = sha256_of(job.path)
    rows, title, formulas, errors, odd = _rows(job, values_only=False)
    notes = [f"sheet: {title!r} ({'the first' if job.sheet is None else 'given'})"]
    if formulas:
        computed, _, _, errors, beneath = _rows(job, values_only=True)
        odd = {c: {**beneath.get(c, {}), **odd.get(c, {})} for c in {*beneath, *odd}}
        missing = sum(computed[r][c] is None for r, c in formulas)
        if missing:
            raise DataError(
                f"Every formula in {job.name} must have a value. Got {missing} that were never computed.",
                "open the workbook in a spreadsheet program and save it.",
            )
        rows = computed
        notes.append(f"formulas: the last computed values of {len(formulas)} were read")
    if errors:
        notes.append(f"errors: {errors} cells such as #N/A read as missing values")
    names = _names(job, rows)
    width, body = len(names), rows if job.header is False else rows[1:]
    rows_before = len(body)
    while body and all(value is None for value in body[-1]):
        body.pop()  # formatted, but empty
    if len(body) < rows_before:
        notes.append(f"empty rows: {rows_before - len(body)} at the end left out")
    if any(value is not None for row in body for value in row[width:]):
        raise DataError(
            f"Every column of {job.name} must have a name in the first row. Got values to the right of the last name."
        )
    apart: Apart = {}
    columns = []
    for i, name in enumerate(names):
        values = [row[i] if i < len(row) else None for row in body]
        columns.append(column(values, name, notes, apart))
        if i in odd:
            rows_above = 0 if job.header is False else 1
            apart[name] = numbered((type(value), odd[i].get(r)) for r, value in enumerate(values, rows_above))
    table = pa.table(columns, names=names)
    if job.header is None:
        refuse_record(table, job.name, "row")
    job.progress(1.0)
    return Source(table, False, "excel", None, digest, job.name, tuple(notes), apart=apart)


def _rows(job: Reading, values_only: bool) -> tuple[list[list[Any]], str, list[tuple[int, int]], int, _Odd]:
    """Return the values of a sheet, its title, the positions of formulas, the number of errors, and the odd cells."""
    openpyxl = needed("openpyxl", "excel", "Excel workbooks")
    formulas, errors, rows = [], 0, []
    odd: _Odd = {}
    try:
        # The file, not its path: openpyxl looks at the suffix, and a draft has none.
        with (
            open(job.path, "rb") as file,
            closing(openpyxl.load_workbook(file, read_only=True, data_only=values_only, keep_links=False)) as book,
        ):
            sheet = _sheet(job, book)
            sheet.reset_dimensions()  # what a sheet says of its size may be wrong: rows would be lost, or made up
            room = _Room(job.name)
            for r, cells in enumerate(sheet.iter_rows()):
                room.take(len(cells) + 1, sum(cell.value is not None for cell in cells))
                row = []
                for c, cell in enumerate(cells):
                    value, kind = cell.value, cell.data_type
                    if kind == "f":
                        formulas.append((r, c))
                        odd.setdefault(c, {})[r] = str(getattr(value, "text", value))
                    elif kind == "e":
                        odd.setdefault(c, {})[r] = str(value)
                        errors, value = errors + 1, None
                    elif kind == "d":
                        value = _moment(value, cell.number_format)
                    if value == "":
                        odd.setdefault(c, {}).setdefault(r, "")
                        value = None
                    row.append(value)
                rows.append(row)
            return rows, str(sheet.title), formulas, errors, odd
    except (DataError, OptionError):
        raise
    except Exception:  # zipfile, XML and openpyxl's own errors have no common base
        raise DataError(
            f"The file {job.name} must be a complete Excel workbook. Got one that is damaged or encrypted.",
            "save it again as .xlsx without a password.",
        ) from None


class _Room:
    """Counts the cells of a sheet, so that a few values far apart do not make a table that fills the memory."""

    def __init__(self, name: str) -> None:
        self.name, self.cells, self.values = name, 0, 0

    def take(self, cells: int, values: int) -> None:
        """Count the cells of a row, and how many of them have values."""
        self.cells, self.values = self.cells + cells, self.values + values
        if self.cells > max(_FEWEST, _EMPTINESS * self.values):
            raise DataError(
                f"A sheet of {self.name} with more than {_FEWEST:,} cells must have values in one of {_EMPTINESS} at "
                "least. Got fewer.",
                "delete the empty rows and columns around the table.",
            )


def _moment(value: Any, shown_as: str) -> Any:
    """Return a date if the cell shows no time of day."""
    if isinstance(value, datetime.datetime) and "h" not in shown_as.lower() and value.time() == datetime.time():
        return value.date()
    return value


def _sheet(job: Reading, book: Any) -> Any:
    titles = book.sheetnames
    if job.sheet is None:
        return book[titles[0]]
    if isinstance(job.sheet, int) and not isinstance(job.sheet, bool) and 0 <= job.sheet < len(titles):
        return book[titles[job.sheet]]
    if job.sheet in titles:
        return book[job.sheet]
    raise OptionError(
        f"The 'sheet' option must be the name or the position of a sheet of {job.name}. Got {job.sheet!r}.",
        near_names(job.sheet, titles, f"the sheets are {', '.join(titles)}."),
    )


def _names(job: Reading, rows: list[list[Any]]) -> list[str]:
    if job.header is False:
        return positional(max((len(row) for row in rows), default=0))
    first = list(rows[0]) if rows else []
    while first and first[-1] is None:
        first.pop()
    if not first:
        raise DataError(f"The first row of {job.name} must hold the names of the columns. Got an empty one.")
    names = ["" if value is None else str(value) for value in first]
    check_names(names, job.name, "row")
    return names


def write(table: pa.Table, job: Writing) -> Expected:
    """Write a workbook with one sheet."""
    openpyxl = needed("openpyxl", "excel", "Excel workbooks")
    from openpyxl.utils.exceptions import IllegalCharacterError

    if job.suffix == ".xlsm":
        raise OptionError("The target of a workbook must end in .xlsx. Got .xlsm, the suffix of workbooks with macros.")
    if table.num_rows >= _ROWS or table.num_columns > _COLUMNS:
        raise DataError(
            f"An Excel sheet must have fewer than {_ROWS} rows and at most {_COLUMNS} columns. "
            f"Got {table.num_rows} rows and {table.num_columns} columns.",
            "write CSV or Parquet.",
        )
    notes: list[str] = []
    wanted = _fitting(plain(table, "Excel"), notes)
    if wanted.num_rows and all(values[-1].as_py() is None for values in wanted.columns):
        raise DataError(
            "The last row of a workbook must have a value. Got a table whose last row has none, and would be lost.",
            "write CSV or Parquet.",
        )
    try:
        with (
            open(job.path, "wb") as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive,
        ):
            _streaming(wanted, job)(openpyxl.Workbook(write_only=True), archive).write_data()
    except IllegalCharacterError:  # its message is the text itself
        raise DataError(f"The texts of a workbook must not have control characters. Got some for {job.name}.") from None
    return Expected(wanted, tuple(notes), {"header": True})


def _streaming(table: pa.Table, job: Writing) -> Any:
    """Return a class of openpyxl's that writes the rows of a table straight into the archive.

    By itself, openpyxl writes them to a file in the temporary folder first, which a killed process would leave there.
    """
    from openpyxl.worksheet._writer import WorksheetWriter
    from openpyxl.writer.excel import ExcelWriter

    class Streaming(ExcelWriter):  # type: ignore[misc]
        def __init__(self, book: Any, archive: zipfile.ZipFile) -> None:
            super().__init__(book, archive)
            book.create_sheet("Sheet1")

        def write_worksheet(self, sheet: Any) -> None:
            sheet._drawing = None
            entry = self._archive.open(sheet.path[1:], "w", force_zip64=True)
            with io.BufferedWriter(entry, _BUFFER) as sink:
                sheet._writer = WorksheetWriter(sheet, sink)
                sheet._writer.write_top()
                try:
                    for done, row in _cells(table, sheet):
                        sheet.append(row)
                        job.progress(done / max(table.num_rows, 1))
                finally:
                    sheet.close()
            sheet._rels = sheet._writer._rels
            self.manifest.append(sheet)

    return Streaming


def _cells(table: pa.Table, sheet: Any) -> Iterator[tuple[int, list[Any]]]:
    """Yield the names and then the rows of a table as cells, with the number of rows so far."""
    from openpyxl.cell import WriteOnlyCell

    formats = {"date32[day]": "yyyy-mm-dd", "timestamp[us]": "yyyy-mm-dd hh:mm:ss.000", "time64[us]": "hh:mm:ss"}
    shown = [formats.get(str(kind)) for kind in table.schema.types]

    def cell(value: Any, number_format: str | None) -> Any:
        if value is None or (number_format is None and not isinstance(value, str)):
            return value
        made = WriteOnlyCell(sheet, value)
        if number_format is None:
            made.data_type = "s"  # a text that begins with = is a text, not a formula,
            made.quotePrefix = value.startswith(_FORMULAS)  # even after somebody has edited the cell
        else:
            made.number_format = number_format
        return made

    yield 0, [cell(name, None) for name in table.column_names]
    for done, row in _python_rows(table):
        yield done, [cell(value, form) for value, form in zip(row, shown, strict=True)]


def _python_rows(table: pa.Table) -> Iterator[tuple[int, tuple[Any, ...]]]:
    done = 0
    for batch in table.to_batches(max_chunksize=4096):
        for row in zip(*(values.to_pylist() for values in batch.columns), strict=True):
            done += 1
            yield done, row


def _fitting(table: pa.Table, notes: list[str]) -> pa.Table:
    """Return the table as a workbook can hold it."""
    import pyarrow as pa

    for position, field in enumerate(table.schema):
        values, kind = table.column(position), field.type
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            raise DataError(f"A column must have a type that a workbook can hold. Got {field.name!r} of type {kind}.")
        fitted = _fitted(values, field.name, notes)
        if fitted is not values:
            table = table.set_column(position, field.with_type(fitted.type), fitted)
    return table


def _fitted(values: Any, name: str, notes: list[str]) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_string(kind):
        if (pc.max(pc.utf8_length(values)).as_py() or 0) > _CHARACTERS:
            raise DataError(f"A text in a workbook must have at most {_CHARACTERS} characters. Got more in {name!r}.")
        empty = pc.fill_null(pc.equal(values, ""), False)
        if pc.any(empty).as_py():
            notes.append(f"column {name!r}: empty texts became missing values, as Excel has no empty texts")
            return pc.if_else(empty, pa.scalar(None, kind), values)
    elif pa.types.is_integer(kind):
        if values.null_count < len(values):
            ends = pc.min_max(values).as_py()
            if max(abs(ends["min"]), abs(ends["max"])) > _MOST:
                raise DataError(f"A number in a workbook must have at most 15 digits. Got more in {name!r}.")
    elif pa.types.is_decimal(kind):
        notes.append(f"column {name!r}: decimals became floating-point numbers")
        return _sixteen_digits(values.cast(pa.float64()), name, notes)
    elif pa.types.is_floating(kind):
        return _sixteen_digits(values.cast(pa.float64()), name, notes)
    elif at_midnight(values):
        return values.cast(pa.date32())
    elif pa.types.is_timestamp(kind):
        if kind.tz is not None:
            notes.append(f"column {name!r}: moments are in UTC; the time zone is lost")
            values = values.cast(pa.timestamp(kind.unit, "UTC")).cast(pa.timestamp(kind.unit))
        rounded = pc.round_temporal(values, 1, "millisecond").cast(pa.timestamp("us"))
        if not rounded.equals(values.cast(pa.timestamp("us"), safe=False)):
            notes.append(f"column {name!r}: times were rounded to milliseconds")
        return rounded
    elif pa.types.is_date64(kind):
        return values.cast(pa.date32())
    elif pa.types.is_time(kind):
        return values.cast(pa.time64("us"), safe=False)
    return values


def _sixteen_digits(values: Any, name: str, notes: list[str]) -> Any:
    """Return numbers rounded as openpyxl writes them, so that equal numbers stay equal."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pc.any(pc.is_inf(values)).as_py():
        raise DataError(f"A number in a workbook must be finite. Got an infinite one in {name!r}.")
    if pc.any(pc.is_nan(values)).as_py():
        notes.append(f"column {name!r}: NaN became a missing value")
        values = pc.if_else(pc.fill_null(pc.is_nan(values), False), pa.scalar(None, pa.float64()), values)
    written = pa.chunked_array([[None if x is None else float(f"{x:.16g}") for x in values.to_pylist()]], pa.float64())
    if not written.equals(values):
        notes.append(f"column {name!r}: numbers keep 16 digits")
    return written
