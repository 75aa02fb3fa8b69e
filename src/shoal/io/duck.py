"""DuckDB: Arrow in and out, tables replaced inside a transaction."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import ShoalError
from shoal.io.database import Check, Database, check_capitals, check_names, file_of
from shoal.io.files import cannot_write, checked_target, draft
from shoal.io.formats import Place, needed
from shoal.io.source import Source, Written
from shoal.io.sql import identifiers, no_rows, quoted, single
from shoal.io.typed import plain
from shoal.progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read", "write"]

# No files, no network, no extensions, no Python variables; and no query can change that.
_SETTINGS = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "lock_configuration": "true",
}
# PIVOT is several statements for DuckDB.
_QUERIES = ("SELECT", "MULTI")
_MEMORY = ":memory:"
_ERRORS = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO, errno.ENOENT, errno.ENAMETOOLONG),
)


def read(place: Place, *, table: str | None, query: str | None, progress: Progress) -> Source:
    """Read a table, or the result of a query, from a database opened for reading only."""
    source = opened(place).read(table, query)
    progress(1.0)
    return source


def opened(place: Place) -> Database:
    """Return the database, opened for reading only."""
    return _Duck(file_of(place, "DuckDB"), read_only=True)


def write(table: pa.Table, place: Place, *, name: str | None, check: Check, force: bool, progress: Progress) -> Written:
    """Write a table into a database, which is created if need be, in one transaction.

    DuckDB writes a large table to the disk before the transaction is committed. The table is therefore verified in
    memory first, so that nothing reaches the disk that has not been verified.
    """
    path = file_of(place, "DuckDB")
    parts = identifiers(name) if name is not None else (path.stem,)
    rows = plain(table, "DuckDB")
    check_capitals(table.column_names, "DuckDB")
    target = checked_target(path, force=True)  # an existing database is added to
    _Duck(_MEMORY, str(path)).replace(parts[-1:], rows, check, force, publishes=False)
    if target.exists():
        _Duck(target, str(path)).replace(parts, rows, check, force)
    else:
        with draft(target, named=True) as beside:
            _Duck(beside.path, str(path)).replace(parts, rows, check, force, publishes=False)
            beside.publish(force=False)
    progress(1.0)
    return Written(f"{path}, table {'.'.join(parts)}", None, table.num_rows, None)


class _Duck(Database):
    format = "duckdb"

    def __init__(self, path: Path | str, name: str | None = None, read_only: bool = False) -> None:
        self._package = needed("duckdb", "duckdb", "DuckDB")
        self.name = name or str(path)
        # By default, a database in memory that becomes too large is written to a folder in the working directory.
        settings = _SETTINGS | ({"temp_directory": ""} if path == _MEMORY else {})
        try:
            self._connection = self._package.connect(str(path), read_only=read_only, config=settings)
        except self._package.Error as error:
            raise self._translated(error) from None

    def run(self, statement: str, values: Any = None) -> Any:
        try:
            return self._connection.execute(statement, values)
        except self._package.Error as error:
            raise self._translated(error) from None

    def _translated(self, error: Exception) -> ShoalError:
        """Return an error without values: only messages about names and syntax are passed on."""
        kind = type(error).__name__.removesuffix("Exception")
        first = str(error).split("\n", 1)[0]
        failed = next((number for number in _ERRORS if os.strerror(number) in first), None)
        if kind in ("IO", "Fatal", "Transaction") and failed is not None:
            return cannot_write(Path(self.name), OSError(failed, ""))
        if kind == "OutOfMemory":
            return self.failed("too little memory, or no space for temporary files")
        if kind == "IO" and "lock" in first:
            return self.failed("a database that another program has open")
        if kind == "IO" and "not a valid" in first:
            return self.failed("a file that is no DuckDB database")
        if kind in ("Catalog", "Parser", "Binder", "Permission") or "read-only" in first:
            return self.failed(first)
        return self.failed(f"an error of kind {kind}")

    def rollback(self) -> None:
        with suppress(Exception):  # an error may have ended the transaction already
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        self._connection.close()

    def tables(self) -> list[str]:
        rows = self.run("SELECT table_name FROM information_schema.tables ORDER BY 1").fetchall()
        return [row[0] for row in rows]

    def exists(self, table: tuple[str, ...]) -> bool:
        # Looked up rather than tried: a statement that fails ends the transaction.
        columns = ("table_name", "table_schema", "table_catalog")
        named = list(zip(columns, reversed(table), strict=False))
        where = " AND ".join(f"lower({column}) = lower(?)" for column, _ in named)
        where += "" if len(table) > 1 else " AND table_schema = current_schema()"
        rows = self.run(f"SELECT 1 FROM information_schema.tables WHERE {where}", [part for _, part in named])
        return bool(rows.fetchall())  # all rows, because an unread result blocks the connection

    def insert(self, table: tuple[str, ...], rows: Any) -> None:
        try:
            self._connection.register("rows_of_the_release", rows)
            self.run(f"CREATE TABLE {quoted(*table)} AS SELECT * FROM rows_of_the_release")
            self._connection.unregister("rows_of_the_release")
        except self._package.Error as error:
            raise self._translated(error) from None

    def result(self, query: str, notes: list[str]) -> Any:
        try:
            rows = self._relation(query).to_arrow_table()
        except self._package.Error as error:
            raise self._translated(error) from None
        check_names(rows.column_names)
        return rows

    def _relation(self, query: str) -> Any:
        # DuckDB would run several statements and return the rows of the last one.
        statements = self._connection.extract_statements(single(query))
        if [statement.type.name in _QUERIES for statement in statements] != [True]:
            raise no_rows()
        relation = self._connection.sql(single(query))
        if relation is None:
            raise no_rows()
        return relation

    def pieces(self, query: str, rows: int) -> Iterator[Any]:
        import pyarrow as pa

        try:
            # By way of a relation: the result of `execute` would be copied as a whole first.
            with self._relation(query).to_arrow_reader(rows) as reader:
                yield from reader
        except (self._package.Error, pa.ArrowException, OSError) as error:
            raise self._translated(error) from None
