"""What all databases have in common: choosing what to read, and replacing a table in one transaction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.errors import DataError, OptionError, ShoalError, near_names
from shoal.io.comparison import require_same
from shoal.io.formats import Place
from shoal.io.published import publishing
from shoal.io.source import Source
from shoal.io.sql import identifiers, quoted

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Check", "Database", "check_capitals", "check_names", "file_of"]

Check = Callable[[Source], None]


class Database(ABC):
    """A connection to a database.

    Attributes
    ----------
    format : str
        The name of the format, as in `shoal.io.formats`.
    name : str
        What messages call the database; without any password.
    apart : {name: pyarrow.Array}
        Of the rows that were read last; see `Source`.
    """

    format: ClassVar[str]
    name: str
    apart: Mapping[str, Any] = MappingProxyType({})

    @abstractmethod
    def run(self, statement: str, values: Any = ()) -> Any:
        """Execute a statement and return its cursor."""

    @abstractmethod
    def tables(self) -> list[str]:
        """Return the names of the tables and views."""

    @abstractmethod
    def exists(self, table: tuple[str, ...]) -> bool:
        """Return whether there is a table or view of that name."""

    @abstractmethod
    def insert(self, table: tuple[str, ...], rows: pa.Table) -> None:
        """Create the table and fill it."""

    @abstractmethod
    def result(self, query: str, notes: list[str]) -> pa.Table:
        """Return the rows of a query; add a note on each column that could not be read as its type."""

    def pieces(self, query: str, rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a query, about `rows` at a time."""
        raise NotImplementedError

    @abstractmethod
    def rollback(self) -> None:
        """Undo everything since the transaction began."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    def begin(self) -> None:
        """Begin a transaction."""
        self.run("BEGIN")

    def commit(self) -> None:
        """Make everything since the transaction began permanent at once."""
        self.run("COMMIT")

    def select(self, table: tuple[str, ...], notes: list[str]) -> pa.Table:
        """Return the rows of a table, in the order in which they were inserted."""
        return self.result(f"SELECT * FROM {quoted(*table)}", notes)

    def failed(self, reason: str) -> DataError:
        """Return the error for a statement that the database does not run."""
        return DataError(f"The database {self.name} must carry out the request. Got: {reason}.")

    def read(self, table: str | None, query: str | None) -> Source:
        """Read a table (the only one, if none is named) or the result of a query, and close the connection."""
        notes: list[str] = []
        with closing(self):
            if query is not None:
                rows, what = self.result(query, notes), "query"
            else:
                parts = self.chosen(table)
                rows, what = self.select(parts, notes), f"table {'.'.join(parts)}"
        name = f"{self.name}, {what}"
        return Source(rows, False, self.format, None, None, name, tuple(notes), apart=self.apart)

    def chosen(self, table: str | None) -> tuple[str, ...]:
        """Return the parts of the name of the table to read: the only one, if none is named."""
        wanted = table if table is not None else self._only_table()
        parts = identifiers(wanted)
        if not self.exists(parts):
            raise self._no_such_table(wanted)
        return parts

    def replace(
        self, table: tuple[str, ...], rows: pa.Table, check: Check, force: bool, publishes: bool = True
    ) -> None:
        """Create and fill a table, read it back, compare and check it, all in one transaction; close the connection.

        If anything fails, the transaction is rolled back. With `publishes`, the table is published when it is
        committed; otherwise when the file of the database gets its name.
        """
        with closing(self):
            self.begin()
            try:
                self._fill(table, rows, check, force)
                with publishing(self.name) if publishes else nullcontext():
                    self.commit()
            except BaseException:
                self.rollback()
                raise

    def _fill(self, table: tuple[str, ...], rows: pa.Table, check: Check, force: bool) -> None:
        shown = ".".join(table)
        if self.exists(table):
            if not force:
                raise ShoalError(
                    f"The table {shown!r} must not be in {self.name} yet. Got one of that name; nothing was changed.",
                    "name another table, or pass force (--force) to replace it.",
                )
            self.run(f"DROP TABLE {quoted(*table)}")
        self.insert(table, rows)
        notes: list[str] = []
        again = self.select(table, notes)
        name = f"{self.name}, table {shown}"
        require_same(rows, again, name)
        check(Source(again, False, self.format, None, None, name, tuple(notes), apart=self.apart))

    def _only_table(self) -> str:
        known = self.tables()
        if len(known) == 1:
            return quoted(known[0])
        listed = f"the tables are {', '.join(known[:20])}." if known else None
        raise OptionError(f"The table to read from {self.name} must be named. Got {len(known)} tables.", listed)

    def _no_such_table(self, name: str) -> DataError:
        known = self.tables()
        listed = f"the tables are {', '.join(known[:20])}." if known else "the database has no tables."
        return DataError(
            f"The table {name!r} must be in {self.name}. Got no such table.", near_names(name, known, listed)
        )


def file_of(place: Place, database: str) -> Path:
    """Return the file of a database that is one file, such as SQLite's."""
    if place.path is None:
        raise DataError(f"A {database} database must be a file. Got none.")
    return place.path


def check_names(names: Sequence[str]) -> None:
    """Refuse the result of a query if two of its columns have the same name."""
    if len(set(names)) != len(names):
        raise DataError("The columns of a query must have different names. Got a name twice.", "use AS.")


def check_capitals(names: Sequence[str], database: str) -> None:
    """Refuse columns whose names are equal for a database that ignores case."""
    if len({name.lower() for name in names}) != len(names):
        raise DataError(
            f"The columns of a {database} table must differ in more than capital letters. Got two that do not."
        )
