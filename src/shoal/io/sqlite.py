"""SQLite, through Python's own module.

SQLite has few types. Dates, times and decimals are stored as texts in columns declared as DATE, TIMESTAMP, TIME or
DECIMAL_TEXT(p, s), booleans as 0 and 1 in columns declared as BOOLEAN. Columns declared like that are read as such.
"""

from __future__ import annotations

import datetime
import errno
import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, ShoalError
from shoal.io.database import Check, Database, check_capitals, check_names, file_of
from shoal.io.files import cannot_write, checked_target, draft
from shoal.io.formats import Place
from shoal.io.source import Source, Written
from shoal.io.sql import identifiers, no_rows, quoted, single
from shoal.io.typed import Apart, column, finer, microseconds, plain
from shoal.progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read", "write"]

_ROWS = 20_000
_REASONS = {
    "SQLITE_NOTADB": "a file that is no SQLite database",
    "SQLITE_BUSY": "a database that another program has locked",
    "SQLITE_READONLY": "an attempt to change a database that is open for reading only",
    "SQLITE_CANTOPEN": "a file that cannot be opened",
    "SQLITE_AUTH": "a statement that does more than read the tables of this database",
}
# Virtual tables prepare statements that write when they are opened for reading; `query_only` keeps them from running.
_ACTIONS = {
    *(sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE),
    *(sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE, sqlite3.SQLITE_TRANSACTION),
}
_PRAGMAS = ("data_version", "table_info", "table_xinfo")
_FUNCTIONS = ("edit", "fsdir", "fts3_tokenizer", "load_extension", "readfile", "writefile")


def _reads(action: int, first: str | None, second: str | None, *_: object) -> int:
    """Allow a statement to read the tables of its database, and nothing else."""
    if action == sqlite3.SQLITE_PRAGMA:
        allowed = first in _PRAGMAS or (first == "journal_mode" and second is None)
    else:
        allowed = action in _ACTIONS and not (action == sqlite3.SQLITE_FUNCTION and second in _FUNCTIONS)
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def read(place: Place, *, table: str | None, query: str | None, progress: Progress) -> Source:
    """Read a table, or the result of a query, from a database opened for reading only."""
    source = opened(place).read(table, query)
    progress(1.0)
    return source


def opened(place: Place) -> Database:
    """Return the database, opened for reading only."""
    return _Sqlite(file_of(place, "SQLite"), read_only=True)


def write(table: pa.Table, place: Place, *, name: str | None, check: Check, force: bool, progress: Progress) -> Written:
    """Write a table into a database, which is created if need be, in one transaction.

    All changes stay in memory until they are committed, which is after they were verified.
    """
    path = file_of(place, "SQLite")
    parts = identifiers(name) if name is not None else (path.stem,)
    notes: list[str] = []
    rows = _fitting(plain(table, "SQLite"), notes)
    target = checked_target(path, force=True)  # an existing database is added to
    if target.exists():
        _Sqlite(target, str(path)).replace(parts, rows, check, force)
    else:
        with draft(target, named=True) as beside:
            _Sqlite(beside.path, str(path)).replace(parts, rows, check, force, publishes=False)
            beside.publish(force=False)
    progress(1.0)
    return Written(f"{path}, table {'.'.join(parts)}", None, table.num_rows, None, tuple(notes))


class _Sqlite(Database):
    format = "sqlite"

    def __init__(self, path: Path, name: str | None = None, read_only: bool = False) -> None:
        self.name = name or str(path)
        try:
            # First "rw": what a killed writer has left must be rolled back before anything can be read.
            self._connection = _connected(path, "rw" if read_only else "rwc")
            if read_only:
                mode = self._connection.execute("PRAGMA journal_mode").fetchone()[0]
                if mode != "wal":  # a connection that cannot write would leave the files of the log behind
                    self._connection.close()
                    self._connection = _connected(path, "ro")
                self._connection.execute("PRAGMA query_only = ON")
                self._connection.set_authorizer(_reads)
            else:
                self._connection.execute("PRAGMA cache_spill = OFF")
                self._connection.execute("PRAGMA temp_store = MEMORY")
        except sqlite3.Error as error:
            raise self._translated(error) from None

    def run(self, statement: str, values: Any = ()) -> Any:
        try:
            return self._connection.execute(statement, values)
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise self._translated(error) from None

    def _translated(self, error: Exception) -> ShoalError:
        """Return an error without values: only messages about names and syntax are passed on."""
        code = getattr(error, "sqlite_errorname", None) or type(error).__name__
        if code == "SQLITE_FULL" or code.startswith("SQLITE_IOERR_WRITE"):
            return cannot_write(Path(self.name), OSError(errno.ENOSPC, ""))
        if code.startswith("SQLITE_IOERR"):
            return cannot_write(Path(self.name), OSError(errno.EIO, ""))
        message = str(error) if code == "SQLITE_ERROR" or isinstance(error, sqlite3.ProgrammingError) else ""
        if "decode" in message:
            message = "text that is not UTF-8"
        return self.failed(_REASONS.get(code) or message or code)

    def begin(self) -> None:
        self.run("BEGIN IMMEDIATE")

    def rollback(self) -> None:
        if self._connection.in_transaction:
            self._connection.rollback()

    def close(self) -> None:
        self._connection.close()

    def tables(self) -> list[str]:
        rows = self.run("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
        return [row[0] for row in rows if not row[0].startswith("sqlite_")]

    def exists(self, table: tuple[str, ...]) -> bool:
        return bool(self.declared(table))

    def declared(self, table: tuple[str, ...]) -> dict[str, str]:
        """Return the types that the columns of a table are declared to have."""
        schema = f"{quoted(*table[:-1])}." if len(table) > 1 else ""
        return {row[1]: row[2].upper() for row in self.run(f"PRAGMA {schema}table_info({quoted(table[-1])})")}

    def insert(self, table: tuple[str, ...], rows: Any) -> None:
        columns = ", ".join(f"{quoted(field.name)} {_declaration(field.type)}" for field in rows.schema)
        self.run(f"CREATE TABLE {quoted(*table)} ({columns})")
        marks = ", ".join("?" * rows.num_columns)
        try:
            for batch in rows.to_batches(max_chunksize=_ROWS):
                values = zip(*(_stored(part) for part in batch.columns), strict=True)
                self._connection.executemany(f"INSERT INTO {quoted(*table)} VALUES ({marks})", values)
        except (sqlite3.Error, OverflowError) as error:
            raise self._translated(error) from None

    def select(self, table: tuple[str, ...], notes: list[str]) -> Any:
        # Rows come in the order of their numbers; views and tables without row numbers have an order of their own.
        return self._fetched(f"SELECT * FROM {quoted(*table)}", self.declared(table), notes)

    def result(self, query: str, notes: list[str]) -> Any:
        return self._fetched(single(query, nested=False), {}, notes)

    def _fetched(self, query: str, declared: dict[str, str], notes: list[str]) -> Any:
        import pyarrow as pa

        cursor = self.run(query)
        if cursor.description is None:
            raise no_rows()
        names = [entry[0] for entry in cursor.description]
        check_names(names)
        parts: list[list[Any]] = [[] for _ in names]
        try:
            while rows := cursor.fetchmany(_ROWS):
                # Converted batch by batch: as Python objects, all values would take many times the memory.
                for part, values in zip(parts, zip(*rows, strict=True), strict=True):
                    part.append(_packed(values))
        except sqlite3.Error as error:
            raise self._translated(error) from None
        apart: Apart = {}
        arrays = []
        for name, part in zip(names, parts, strict=True):
            stored = _joined(part, name, notes, apart)
            arrays.append(_typed(stored, name, declared.get(name, ""), notes))
            differing = None if arrays[-1] is stored or name in apart else finer(stored, arrays[-1])
            if differing is not None:
                apart[name] = differing
        self.apart = apart
        return pa.table(arrays, names=names)


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=30.0
    )
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _packed(values: tuple[Any, ...]) -> Any:
    """Return values as an array if they are of one kind, else as they are."""
    import pyarrow as pa

    return pa.array(values) if len(set(map(type, values)) - {type(None)}) <= 1 else values


def _joined(parts: list[Any], name: str, notes: list[str], apart: Apart) -> Any:
    import pyarrow as pa

    kinds = {part.type if isinstance(part, pa.Array) else None for part in parts} - {pa.null()}
    if None in kinds or len(kinds) > 1:
        values = [value for part in parts for value in (part.to_pylist() if isinstance(part, pa.Array) else part)]
        return pa.chunked_array([column(values, name, notes, apart)])
    kind = kinds.pop() if kinds else pa.null()
    return pa.chunked_array([part.cast(kind) for part in parts], kind)


def _kinds() -> dict[str, Any]:
    import pyarrow as pa

    return {
        "BOOLEAN": pa.bool_(),
        "BOOL": pa.bool_(),
        "DATE": pa.date32(),
        "TIMESTAMP": pa.timestamp("us"),
        "DATETIME": pa.timestamp("us"),
        "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", "UTC"),
        "TIME": pa.time64("us"),
    }


def _typed(values: Any, name: str, declared: str, notes: list[str]) -> Any:
    """Return a column in its declared type, or as it is, with a note, if its values are of another type."""
    import pyarrow as pa

    kind = declared_type(declared)
    if pa.types.is_null(values.type):
        plain_kinds = {"INTEGER": pa.int64(), "REAL": pa.float64(), "BLOB": pa.binary()}
        return values.cast(kind or plain_kinds.get(declared, pa.string()))
    if kind is None:
        return values
    typed = as_type(values, kind)
    if typed is None:
        notes.append(f"column {name!r}: declared {declared}, but has other values; read as they are")
    return values if typed is None else typed


def declared_type(declared: str) -> Any:
    """Return the type of Arrow that a column is declared to have; None if its values decide."""
    import pyarrow as pa

    if decimal := re.fullmatch(r"DECIMAL_TEXT\((\d{1,2}),(\d{1,2})\)", declared):
        digits, scale = map(int, decimal.groups())
        wide = pa.decimal128 if 0 < digits <= 38 else pa.decimal256 if 0 < digits <= 76 else None
        return wide(digits, scale) if wide else None
    return _kinds().get(declared)


def as_type(values: Any, kind: Any) -> Any:
    """Return stored values (pyarrow.ChunkedArray) in a declared type; None if some of them are of another."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        if pa.types.is_boolean(kind):
            if pa.types.is_integer(values.type) and pc.all(pc.is_in(values, pa.array([0, 1, None]))).as_py():
                return values.cast(kind)
        elif pa.types.is_string(values.type):
            if pa.types.is_time(kind):  # Arrow has no way from texts to times of day
                times = [text and datetime.time.fromisoformat(text) for text in values.to_pylist()]
                return pa.chunked_array([times], kind)
            return values.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
        pass
    return None


def _declaration(kind: Any) -> str:
    import pyarrow as pa

    if pa.types.is_decimal(kind):
        return f"DECIMAL_TEXT({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP" if kind.tz is None else "TIMESTAMP WITH TIME ZONE"
    tests = (
        (pa.types.is_boolean, "BOOLEAN"),
        (pa.types.is_integer, "INTEGER"),
        (pa.types.is_floating, "REAL"),
        (pa.types.is_date, "DATE"),
        (pa.types.is_time, "TIME"),
        (pa.types.is_binary, "BLOB"),
    )
    return next((name for test, name in tests if test(kind)), "TEXT")


def _stored(values: Any) -> list[Any]:
    """Return the values as SQLite stores them."""
    import pyarrow as pa

    kind = values.type
    if pa.types.is_temporal(kind) or pa.types.is_decimal(kind):
        values = values.cast(pa.string())
    stored: list[Any] = values.to_pylist()
    return stored


def _fitting(table: pa.Table, notes: list[str]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    check_capitals(table.column_names, "SQLite")
    for position, field in enumerate(table.schema):
        values, kind = table.column(position), field.type
        if pa.types.is_uint64(kind) and (pc.max(values).as_py() or 0) >= 2**63:
            raise DataError(f"An integer in SQLite must be below 2**63. Got a larger one in {field.name!r}.")
        if pa.types.is_floating(kind):
            values = values.cast(pa.float64())
            if pc.any(pc.is_nan(values)).as_py():
                notes.append(f"column {field.name!r}: NaN became NULL, as SQLite has no NaN")
                values = pc.if_else(pc.fill_null(pc.is_nan(values), False), pa.scalar(None, pa.float64()), values)
        elif pa.types.is_timestamp(kind):
            values = microseconds(values, field.name, notes)
        elif pa.types.is_date(kind):
            values = values.cast(pa.date32())
        elif pa.types.is_time(kind):
            values = values.cast(pa.time64("us"), safe=False)
        table = table.set_column(position, field.with_type(values.type), values)
    return table
