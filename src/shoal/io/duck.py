"""DuckDB: Arrow in and out, tables replaced inside a transaction."""

from __future__ import annotations

import re
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, ShoalError
from shoal.io.files import checked_target, draft
from shoal.io.formats import Place, needed
from shoal.io.source import Source, Written
from shoal.io.sql import Check, identifiers, no_such_table, only_table, quoted, replaced
from shoal.io.typed import plain
from shoal.progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read", "write"]

_SETTINGS = {"enable_external_access": "false", "autoinstall_known_extensions": "false"}


def read(place: Place, *, table: str | None, query: str | None, progress: Progress) -> Source:
    """Read a table, or what a query gives, from a database that is opened for reading only."""
    database = _Duck(_path(place), read_only=True)
    with closing(database.connection):
        if query is None:
            name = table if table is not None else only_table(database.tables(), database.name)
            parts = identifiers(name)
            if not database.exists(parts):
                raise no_such_table(name, database.name, database.tables())
            found = database.select(parts, [])
            shown = f"{database.name}, table {'.'.join(parts)}"
        else:
            found = database.result(query)
            shown = f"{database.name}, query"
    progress(1.0)
    return Source(found, False, "duckdb", None, None, shown)


def write(
    table: pa.Table,
    place: Place,
    *,
    name: str | None,
    like: Source | None,
    check: Check,
    force: bool,
    progress: Progress,
) -> Written:
    """Write a table into a database, a new one if need be, in one transaction."""
    path = _path(place)
    parts = identifiers(name) if name is not None else (path.stem,)
    rows = plain(table, "DuckDB")
    lowered = [label.lower() for label in table.column_names]
    if len(set(lowered)) != len(lowered):
        raise DataError("The columns of a DuckDB table must differ in more than capital letters. Got two that do not.")
    target = checked_target(path, force=True)  # a database that is there is added to
    if target.exists():
        _filled(_Duck(target), parts, rows, check, force)
    else:
        with draft(target, named=True) as beside:
            # DuckDB makes its file itself and takes an empty one for a broken database.
            beside.path.unlink()
            _filled(_Duck(beside.path, str(path)), parts, rows, check, force)
            beside.publish(force=False)
    progress(1.0)
    return Written(f"{path}, table {'.'.join(parts)}", None, table.num_rows, None)


def _filled(database: _Duck, parts: tuple[str, ...], rows: Any, check: Check, force: bool) -> None:
    with closing(database.connection):
        database.run("BEGIN")
        try:
            replaced(database, parts, rows, "duckdb", check, force)
            database.run("COMMIT")
        except BaseException:
            with suppress(Exception):  # an error may have ended the transaction already
                database.connection.execute("ROLLBACK")
            raise


def _path(place: Place) -> Path:
    if place.path is None:
        raise DataError("A DuckDB database must be a file. Got none.")
    return place.path


class _Duck:
    def __init__(self, path: Path, name: str | None = None, read_only: bool = False) -> None:
        self._package = needed("duckdb", "duckdb", "DuckDB")
        self.name = name or str(path)
        try:
            self.connection = self._package.connect(str(path), read_only=read_only, config=_SETTINGS)
        except self._package.Error as error:
            raise self._said(error) from None

    def run(self, statement: str, values: Any = None) -> Any:
        try:
            return self.connection.execute(statement, values)
        except self._package.Error as error:
            raise self._said(error) from None

    def _said(self, error: Exception) -> ShoalError:
        """Return an error without values: only messages about names and syntax are passed on."""
        kind = type(error).__name__.removesuffix("Exception")
        first = str(error).split("\n", 1)[0]
        if kind == "IO" and "lock" in first:
            found = "a database that another program has open"
        elif kind == "IO" and "not a valid" in first:
            found = "a file that is no DuckDB database"
        elif kind in ("Catalog", "Parser", "Binder", "Permission") or "read-only" in first:
            found = first
        else:
            found = f"an error of kind {kind}"
        return DataError(f"The database {self.name} must do what is asked of it. Got: {found}.")

    def tables(self) -> list[str]:
        rows = self.run("SELECT table_name FROM information_schema.tables ORDER BY 1").fetchall()
        return [row[0] for row in rows]

    def exists(self, table: tuple[str, ...]) -> bool:
        # Looked up, not tried: a statement that fails ends the transaction.
        columns = ("table_name", "table_schema", "table_catalog")
        named = list(zip(columns, reversed(table), strict=False))
        where = " AND ".join(f"lower({column}) = lower(?)" for column, _ in named)
        where += "" if len(table) > 1 else " AND table_schema = current_schema()"
        rows = self.run(f"SELECT 1 FROM information_schema.tables WHERE {where}", [part for _, part in named])
        return bool(rows.fetchall())  # all of them: a result that is half read blocks the connection

    def drop(self, table: tuple[str, ...]) -> None:
        self.run(f"DROP TABLE {quoted(*table)}")

    def insert(self, table: tuple[str, ...], rows: Any) -> None:
        try:
            self.connection.register("rows_of_the_release", rows)
            self.run(f"CREATE TABLE {quoted(*table)} AS SELECT * FROM rows_of_the_release")
            self.connection.unregister("rows_of_the_release")
        except self._package.Error as error:
            raise self._said(error) from None

    def select(self, table: tuple[str, ...], notes: list[str]) -> Any:
        return self.result(f"SELECT * FROM {quoted(*table)}")

    def result(self, query: str) -> Any:
        # One statement: DuckDB would run several and give the rows of the last one.
        try:
            statements = self.connection.extract_statements(query)
            if len(statements) != 1:
                raise DataError(f"The query must be one statement. Got {len(statements)}.")
            relation = self.connection.sql(re.sub(r";\s*\Z", "", query))
            if relation is None:
                raise DataError("The query must give rows. Got a statement that gives none.")
            found = relation.to_arrow_table()
        except self._package.Error as error:
            raise self._said(error) from None
        if len(set(found.column_names)) != found.num_columns:
            raise DataError("The columns of a query must have different names. Got a name twice.", "use AS.")
        return found
