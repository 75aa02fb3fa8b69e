"""SQLite, DuckDB and PostgreSQL, in pieces.

A pass reads the rows in the order of the database, and their values are compared with those of an earlier pass. Columns
whose type depends on all of their values are settled before the first pass, or refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.engines.batches import Batches, FileBatches, Passes, sliced
from shoal.errors import DataError, ShoalError
from shoal.io import duck, postgres, sqlite
from shoal.io.database import Database, check_names, file_of
from shoal.io.formats import Place
from shoal.io.sql import no_rows, quoted, single
from shoal.tables.traces import plain

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["open_database"]

_ROWS = 20_000


def open_database(place: Place, table: str | None, query: str | None, batch_bytes: int) -> Batches:
    """Return a table of a database, or the result of a query, in pieces."""
    kind = {"sqlite": _SqliteBatches, "duckdb": _DuckBatches, "postgresql": _PostgresBatches}[place.format.name]
    result: Batches = kind(place, table, query, batch_bytes)
    return result


class _Chosen:
    """What to read from a database: a statement, and what messages call it."""

    def __init__(self, database: Database, table: str | None, query: str | None, nested: bool = True) -> None:
        self.parts: tuple[str, ...] | None = None
        if query is not None:
            self.statement, self.what = single(query, nested=nested), "query"
            return
        self.parts = database.chosen(table)
        self.statement, self.what = f"SELECT * FROM {quoted(*self.parts)}", f"table {'.'.join(self.parts)}"


class _InFile(FileBatches):
    """A database that is one file, and perhaps a log beside it."""

    log: str

    def __init__(self, place: Place, database: str, table: str | None, query: str | None, batch_bytes: int) -> None:
        path = file_of(place, database)
        super().__init__(str(path), place.format.name, [path], batch_bytes)
        self._place, self._passes = place, Passes()
        self._open(table, query)
        self.name = f"{path}, {self._chosen.what}"
        digest = hashlib.sha256(f"{super().fingerprint} {self._chosen.statement}".encode())
        self._fingerprint = digest.hexdigest()

    def _open(self, table: str | None, query: str | None) -> None:
        raise NotImplementedError

    _chosen: _Chosen

    def _watched(self) -> list[Path]:
        return [*self.paths, *(Path(f"{path}{self.log}") for path in self.paths)]

    @property
    def fingerprint(self) -> str | None:
        """Return a hash of the file and of what is read from it."""
        return self._fingerprint

    def _pieces(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        return self._passes.watched(self._fetched(columns), self.changed)

    def _fetched(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        raise NotImplementedError


class _DuckBatches(_InFile):
    """A table or a query of DuckDB."""

    log = ".wal"

    def __init__(self, place: Place, table: str | None, query: str | None, batch_bytes: int) -> None:
        super().__init__(place, "DuckDB", table, query, batch_bytes)

    def _open(self, table: str | None, query: str | None) -> None:
        with closing(duck.opened(self._place)) as database:
            self._chosen = _Chosen(database, table, query)
            schema = database.result(f"SELECT * FROM (\n{self._chosen.statement}\n) LIMIT 0", []).schema
        self.schema = plain(schema.empty_table()).schema.remove_metadata()

    def _fetched(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        with closing(duck.opened(self._place)) as database:
            names = ", ".join(quoted(name) for name in columns)
            statement = f"SELECT {names} FROM (\n{self._chosen.statement}\n)"
            for batch in database.pieces(statement, _ROWS):
                yield from _plain(batch, self.batch_bytes)


class _SqliteBatches(_InFile):
    """A table or a query of SQLite, whose columns have the types of their values."""

    log = "-wal"

    def __init__(self, place: Place, table: str | None, query: str | None, batch_bytes: int) -> None:
        self._held: Database | None = None
        super().__init__(place, "SQLite", table, query, batch_bytes)

    def _open(self, table: str | None, query: str | None) -> None:
        database = sqlite.opened(self._place)
        try:
            self._chosen = _Chosen(database, table, query, nested=False)
            if database.run("PRAGMA journal_mode").fetchone()[0] == "wal":
                # Closing the last connection writes the log into the file: one stays open, and sees one state of it.
                database.run("BEGIN")
                self._held = database
            names, kinds = _settled(database, self._chosen)
        finally:
            if self._held is None:
                database.close()
        import pyarrow as pa

        self.schema = pa.schema(list(zip(names, kinds, strict=True)))

    def require_unchanged(self) -> None:
        """Raise DataError if the file has changed; a connection that stays open sees no change."""
        if self._held is None:
            super().require_unchanged()

    @property
    def fingerprint(self) -> str | None:
        """Return a hash of the file and of what is read; None if a log is beside it, which closing it writes back."""
        return super().fingerprint if self._held is None else None

    def _fetched(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        database = self._held or sqlite.opened(self._place)
        schema = pa.schema([self.schema.field(name) for name in columns])
        places = [self.schema.get_field_index(name) for name in columns]
        try:
            # All columns: with fewer, SQLite might read an index instead, in another order.
            for rows in _rows(database, self._chosen):
                values = list(zip(*rows, strict=True))
                arrays = [_as(values[at], kind) for at, kind in zip(places, schema.types, strict=True)]
                if any(array is None for array in arrays):
                    raise self.changed()
                yield from sliced(pa.RecordBatch.from_arrays(arrays, schema=schema), self.batch_bytes)
        finally:
            if self._held is None:
                database.close()

    def close(self) -> None:
        """Let go of the connection."""
        if self._held is not None:
            self._held.close()


def _rows(database: Database, chosen: _Chosen) -> Iterator[list[tuple[Any, ...]]]:
    cursor = database.run(chosen.statement)
    if cursor.description is None:
        raise no_rows()
    try:
        while rows := cursor.fetchmany(_ROWS):
            yield rows
    except ShoalError:
        raise
    except Exception as error:
        raise database.failed(f"an error of kind {type(error).__name__}") from None


def _as(values: tuple[Any, ...], kind: Any) -> Any:
    """Return stored values as an array of a type; None if they are of another."""
    import pyarrow as pa

    try:
        stored = pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None
    if pa.types.is_null(stored.type) or stored.type == kind:
        return stored.cast(kind)
    typed = sqlite.as_type(pa.chunked_array([stored]), kind)
    return None if typed is None else typed.combine_chunks()


_DIGITS = re.compile(r"\d")
_WHOLE = re.compile(r"^-?(0|[1-9]\d*)(?=\.|$)")


def _settled(database: Any, chosen: _Chosen) -> tuple[list[str], list[Any]]:
    """Return the names of the columns, and the type of each, which all of its values have."""
    cursor = database.run(chosen.statement)
    if cursor.description is None:
        raise no_rows()
    names = [entry[0] for entry in cursor.description]
    check_names(names)
    declared = database.declared(chosen.parts) if chosen.parts else {}
    wanted = [sqlite.declared_type(declared.get(name, "")) for name in names]
    found: list[set[type]] = [set() for _ in names]
    fits = [kind is not None for kind in wanted]
    shapes: list[set[str]] = [set() for _ in names]
    for rows in _rows(database, chosen):
        for at, values in enumerate(zip(*rows, strict=True)):
            found[at] |= set(map(type, values))
            if fits[at]:
                fits[at] = _as(values, wanted[at]) is not None
                if len(shapes[at]) < 2:
                    shapes[at] |= {_shape(value) for value in values if isinstance(value, str)}
    return names, [
        _type_of(name, kinds - {type(None)}, kind if fit else None, shape, declared.get(name, ""), database)
        for name, kinds, kind, fit, shape in zip(names, found, wanted, fits, shapes, strict=True)
    ]


def _shape(text: str) -> str:
    """Return how a date or a number is written; different texts of one shape are different values."""
    return _DIGITS.sub("9", _WHOLE.sub("i", text))


def _type_of(name: str, found: set[type], declared: Any, shapes: set[str], word: str, database: Database) -> Any:
    import pyarrow as pa

    if len(found) > 1:
        raise DataError(
            f"The values of {name!r} must be of one type to be read in pieces. Got several, as SQLite allows.",
            "read it with a query that has CAST(.. AS ..), or with engine='memory'.",
        )
    if declared is not None and found:
        if len(shapes) > 1:
            raise DataError(
                f"The values of {name!r} must be written in one way to be read in pieces. Got several for the "
                f"declared type {word}.",
                "read it with a query that writes them alike, or with engine='memory'.",
            )
        return declared
    if not found:
        plain_kinds = {"INTEGER": pa.int64(), "REAL": pa.float64(), "BLOB": pa.binary()}
        return declared or plain_kinds.get(word, pa.string())
    return {int: pa.int64(), float: pa.float64(), str: pa.string(), bytes: pa.binary()}[found.pop()]


class _PostgresBatches(Batches):
    """A table or a query of PostgreSQL, in one transaction, which sees one state of the database."""

    format = "postgresql"

    def __init__(self, place: Place, table: str | None, query: str | None, batch_bytes: int) -> None:
        self._passes, self.batch_bytes = Passes(), batch_bytes
        self._database = database = postgres.opened(place)
        try:
            # Several processes, and an index that has all columns, would change the order of the rows.
            database.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            database.run("SET LOCAL max_parallel_workers_per_gather = 0")
            database.run("SET LOCAL enable_indexonlyscan = off")
            self._chosen = _Chosen(database, table, query)
            self.name = f"{database.name}, {self._chosen.what}"
            nothing = database.result(f"SELECT * FROM (\n{self._chosen.statement}\n) AS query LIMIT 0", [])
            self.schema = plain(nothing).schema.remove_metadata()
        except BaseException:
            database.close()
            raise

    def require_unchanged(self) -> None:
        """Do nothing: the transaction sees one state."""

    @property
    def fingerprint(self) -> str | None:
        """Return None: another transaction may see another state."""
        return None

    def _pieces(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        return self._passes.watched(self._fetched(columns), self.changed)

    def _fetched(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        names = ", ".join(quoted(name) for name in columns)
        statement = f"SELECT {names} FROM (\n{self._chosen.statement}\n) AS query"
        for batch in self._database.pieces(statement, _ROWS):
            yield from _plain(batch, self.batch_bytes)

    def close(self) -> None:
        """End the transaction."""
        self._database.close()


def _plain(batch: pa.RecordBatch, batch_bytes: int) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for piece in plain(pa.Table.from_batches([batch])).replace_schema_metadata(None).to_batches():
        yield from sliced(piece, batch_bytes)
