"""The entry points of the package: :func:`read` and :func:`write`."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from shoal.errors import DataError, OptionError, ShoalError
from shoal.io.database import Check
from shoal.io.files import cannot_read, cannot_write, checked_input, checked_target, draft, stamp, temporary
from shoal.io.formats import FORMATS, Format, Place, locate
from shoal.io.published import sending
from shoal.io.source import Reading, Source, Writing, Written
from shoal.progress import Progress, part, throttled
from shoal.tables.traces import plain

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read", "write"]


def read(
    source: str | os.PathLike[str],
    *,
    format: str | None = None,
    table: str | None = None,
    query: str | None = None,
    sheet: str | int | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    quote: str | None = None,
    header: bool | None = None,
    progress: Progress | None = None,
) -> Source:
    """Read a table from a file or a database.

    Parameters
    ----------
    source : path or address
        A file whose suffix gives its format, ``sqlite:///people.db``, ``duckdb:///people.duckdb``,
        ``postgresql://user@host/database``, or ``-`` for CSV from standard input.
    format : str, optional
        The format, if the suffix does not give it.
    table, query : str, optional
        What to read from a database: a table (``schema.table``; names with dots in double quotes, ``"odd.name"``) or
        the result of a query, which cannot change anything. With neither, the database must have exactly one table.
        `table` is also the data frame of an R file with several.
    sheet : str or int, optional
        The name or position (from 0) of the sheet of a workbook. By default the first.
    delimiter, encoding, decimal, quote : str, optional
        The dialect of a CSV file; whatever is not given is detected. ``quote=''`` means that there is no quoting.
    header : bool, optional
        Whether the first line of a CSV file or a sheet holds the names of the columns. By default it must, and a line
        that looks like a record is refused. True takes it for names whatever it looks like; False names the columns
        ``column_1``, ``column_2``, ...; other formats have names.
    progress : callable, optional
        Called with the fraction done, from 0 to 1.

    Returns
    -------
    Source
    """
    place = locate(source, format, "source")
    report = throttled(progress)
    csv_options = {"delimiter": delimiter, "encoding": encoding, "decimal": decimal, "quote": quote}
    _refuse_foreign_options(place.format, {"table": table, "query": query}, {"sheet": sheet}, csv_options)
    _check_header(header, place.format)
    if place.format.database:
        if place.path is not None:
            checked_input(place.path)
        result: Source = _module(place.format).read(place, table=table, query=query, progress=report)
        return result
    with _on_disk(place) as path:
        options: dict[str, Any] = {**csv_options, "sheet": sheet, "table": table, "header": header, "progress": report}
        name = "standard input" if place.standard else str(place.path)
        return _read_file(Reading(path, place.format.name, name, place.suffix, place.compression, **options))


def write(
    table: pa.Table,
    target: str | os.PathLike[str],
    *,
    like: Source | None = None,
    check: Check | None = None,
    format: str | None = None,
    name_of_table: str | None = None,
    force: bool = False,
    escape_formulas: bool = False,
    progress: Progress | None = None,
) -> Written:
    """Write a table to a file or a database, completely or not at all.

    The table is written beside the target, read back from the disk, compared with what should have been written, and
    passed to `check`. Only then does it get the name of the target. In a database, all of this happens in one
    transaction. If anything goes wrong, the target stays as it was.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    target : path or address
        As for :func:`read`; ``-`` is CSV to standard output. A symbolic link is kept, and the file that it points to
        is written.
    like : Source, optional
        The source of the table. Its dialect, encoding, labels and compression are used as far as the format of the
        target has them.
    check : callable, optional
        Called with the :class:`Source` that was read back; if it raises an exception, nothing is written.
    format : str, optional
        The format, if the suffix does not give it.
    name_of_table : str, optional
        The table of a database. For SQLite and DuckDB the default is the name of the file.
    force : bool, default False
        Whether to replace an existing file or table.
    escape_formulas : bool, default False
        Whether to put an apostrophe before texts of a CSV file that a spreadsheet program would take for formulas:
        those that begin with ``=``, ``+``, ``-``, ``@`` or a tab, but not numbers. Different texts stay different.
        Workbooks mark such texts as texts in any case.
    progress : callable, optional
        Called with the fraction done, from 0 to 1.

    Returns
    -------
    Written
    """
    place = locate(target, format, "target")
    report = throttled(progress)
    if len(set(table.column_names)) != len(table.column_names) or "" in table.column_names:
        raise DataError(
            "The columns of a table must have distinct, non-empty names. Got a name that is empty or repeated."
        )
    table = plain(table)
    checked = check if check is not None else _no_check
    refuse_foreign_writing(place.format, name_of_table=name_of_table, escape_formulas=escape_formulas)
    if place.format.database:
        module = _module(place.format)
        written: Written = module.write(table, place, name=name_of_table, check=checked, force=force, progress=report)
        return written
    if place.standard:
        job = Writing(Path(), place.format.name, "standard output", place.suffix, None, like, escape_formulas, report)
        return _to_standard_output(table, job, checked)
    job = Writing(
        *(Path(), place.format.name, str(place.path), place.suffix, place.compression, like, escape_formulas, report)
    )
    return _to_file(table, place, job, checked, force)


def refuse_foreign_writing(format: Format, *, name_of_table: str | None, escape_formulas: bool) -> None:
    """Refuse options of writing that a format does not have."""
    if escape_formulas and format.name not in ("csv", "excel"):
        raise OptionError(
            f"The 'escape_formulas' must be given for CSV files and workbooks only. Got it for {format.name}."
        )
    if name_of_table is not None and not format.database:
        raise OptionError(
            f"The 'name_of_table' (--to-table) must be given for databases only. Got it for {format.name}.",
            hint="leave it out, or name a database as the output.",
        )


def _to_file(table: pa.Table, place: Place, job: Writing, check: Check, force: bool) -> Written:
    if place.path is None:
        raise OptionError("The 'target' must be a path. Got none.")
    path = checked_target(place.path, force)
    with draft(path) as beside:
        written = _written(table, replace(job, path=beside.path), check)
        beside.publish(force)
    job.progress(1.0)
    return written


def _written(table: pa.Table, job: Writing, check: Check) -> Written:
    """Write a file, read it back, compare and check it."""
    report = job.progress
    module = _module(FORMATS[job.format])
    try:
        expected = module.write(table, replace(job, progress=part(report, 0.0, 0.5)))
    except OSError as error:
        raise cannot_write(Path(job.name), error) from None
    reading = Reading(job.path, job.format, job.name, job.suffix, job.compression, **expected.options)
    again = _read_file(replace(reading, progress=part(report, 0.5, 0.9)))
    import_module("shoal.io.comparison").require_same(expected.table, again.table, job.name)
    check(again)
    return Written(job.name, again.sha256, table.num_rows, os.stat(job.path).st_size, expected.notes, expected.warnings)


def _read_file(job: Reading) -> Source:
    checked_input(job.path)
    try:
        before = stamp(job.path)
        source: Source = _module(FORMATS[job.format]).read(job)
        changed = not os.path.exists(job.path) or stamp(job.path) != before
    except ShoalError:
        raise
    except OSError as error:
        raise cannot_read(job.name, error) from None
    if changed:
        raise DataError(f"The file {job.name} must not change while it is read. Got a change.", "read it again.")
    return source


def _to_standard_output(table: pa.Table, job: Writing, check: Check) -> Written:
    """Write to an unnamed file first, so that nothing is sent before it is checked."""
    with temporary() as file:
        written = _written(table, replace(job, path=Path(f"/dev/fd/{file.fileno()}")), check)
        file.seek(0)
        _send(file)
    return replace(written, sha256=None)


def _send(file: IO[bytes]) -> None:
    """Copy a file to standard output."""
    if sys.stdout is None:
        raise ShoalError("Standard output must be open. Got a closed one; nothing was written.")
    try:
        with sending("standard output"):
            shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        raise ShoalError(
            f"Standard output must take the whole release. Got: {reason}; a part of the release may have been sent.",
            "discard what was sent, and free some space or write to a file.",
        ) from None


@contextmanager
def _on_disk(place: Place) -> Iterator[Path]:
    """Yield a path that can be read more than once; a pipe is copied to an unnamed file."""
    if place.path is not None and not _is_pipe(place.path):
        yield place.path
        return
    with temporary() as file:
        if place.path is not None:
            with open(place.path, "rb") as pipe:
                _copy(pipe, file, str(place.path))
        elif sys.stdin is None:
            raise DataError("Standard input must be open. Got a closed one.")
        else:
            _copy(sys.stdin.buffer, file, "standard input")
        yield Path(f"/dev/fd/{file.fileno()}")


def _is_pipe(path: Path) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):  # `checked_input` says why
        return False


def _copy(pipe: IO[bytes], file: IO[bytes], name: str) -> None:
    while True:
        try:
            chunk = pipe.read(2**20)
        except OSError as error:
            raise cannot_read(name, error) from None
        if not chunk:
            break
        file.write(chunk)
    file.flush()


def _refuse_foreign_options(format: Format, sql: dict[str, Any], sheet: dict[str, Any], csv: dict[str, Any]) -> None:
    """Refuse options that the format would ignore."""
    foreign = [
        *((option, "databases") for option in sql if sql[option] is not None and not _has(format, option)),
        *((option, "workbooks") for option in sheet if sheet[option] is not None and format.name != "excel"),
        *((option, "CSV files") for option in csv if csv[option] is not None and format.name != "csv"),
    ]
    for option, formats in foreign:
        formats += " and R files" if option == "table" else ""
        raise OptionError(
            f"The {option!r} option of read must be given for {formats} only. Got the format {format.name!r}."
        )
    if sql["table"] is not None and sql["query"] is not None:
        raise OptionError("At most one of 'table' and 'query' must be given to read. Got both.")


def _has(format: Format, option: str) -> bool:
    return format.database or (format.name == "r" and option == "table")


def _check_header(header: bool | None, format: Format) -> None:
    if header is not None and not isinstance(header, bool):
        raise OptionError("The 'header' option of read must be True, False or None. Got something else.")
    if header is False and format.name not in ("csv", "excel"):
        raise OptionError(
            "The 'header' option of read must be False for CSV files and workbooks only. "
            f"Got the format {format.name!r}."
        )


def _no_check(_: Source) -> None:
    """Check nothing."""


def _module(format: Format) -> Any:
    try:
        return import_module(format.module)
    except ImportError as error:
        raise ShoalError(f"The format {format.name!r} needs a package that is not installed: {error.name}.") from None
