"""What all databases have in common: names, addresses without passwords, and tables written in one transaction."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

from shoal.errors import DataError, OptionError, ShoalError, near_names
from shoal.io.comparison import compare
from shoal.io.source import Source

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Address", "Database", "identifiers", "no_such_table", "only_table", "quoted", "replaced"]

Check = Callable[[Source], None]
_NAME = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')


def identifiers(name: str) -> tuple[str, ...]:
    """Return the parts of the name of a table: ``a.b`` has two, ``"a.b"`` has one."""
    parts, position = [], 0
    text = name if isinstance(name, str) else ""
    while match := _NAME.match(text, position):
        parts.append(match[1].replace('""', '"') if match[1] is not None else match[2].strip())
        position = match.end()
        if position == len(text):
            if all(parts) and len(parts) <= 3 and "\0" not in text:
                return tuple(parts)
            break
        if text[position] != ".":
            break
        position += 1
    raise OptionError(
        f'The name of a table must be like people, survey.people or "odd.name". Got {name!r}.',
        "put a name with dots into double quotes, and double a double quote inside.",
    )


def quoted(*parts: str) -> str:
    """Return a name as SQL takes it, whatever characters it has."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def no_such_table(name: str, database: str, known: list[str]) -> DataError:
    """Return the error for a table that is not there."""
    listed = f"the tables are {', '.join(known[:20])}." if known else "the database has no tables."
    return DataError(f"The table {name!r} must be in {database}. Got no such table.", near_names(name, known, listed))


def only_table(known: list[str], database: str) -> str:
    """Return the one table of a database, or ask which."""
    if len(known) == 1:
        return quoted(known[0])
    listed = f"the tables are {', '.join(known[:20])}." if known else None
    raise OptionError(f"The table to read from {database} must be named. Got {len(known)} tables.", listed)


class Address:
    """The address of a server: `url` holds the password, `name` does not.

    What cannot be an address is refused here, because a driver would quote it, password and all.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        rest = url.split("://", 1)[1]
        authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
        misplaced = "@" in rest[len(authority) :].split("?", 1)[0] or "#" in rest or authority.count("@") > 1
        if misplaced or re.search(r"%(?![0-9A-Fa-f]{2})", rest) or any(c.isspace() for c in rest):
            raise OptionError(
                "The address of a database must be like postgresql://user:password@host:5432/database. "
                "Got one with special characters in the wrong place.",
                "write characters such as / @ # % : in a password as %2F %40 %23 %25 %3A, or leave it to PGPASSWORD.",
            )
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            raise OptionError("The port in the address of a database must be a number. Got something else.") from None
        options = dict(parse_qsl(parts.query))
        secrets = {parts.password, *(value for key, value in options.items() if "pass" in key)}
        self._secrets = {text for s in secrets if s for text in (s, unquote(s))}
        user = f"{unquote(parts.username)}@" if parts.username else ""
        where = parts.hostname or options.get("host", "")
        number = f":{port}" if port else ""
        self.name = f"postgresql://{user}{where}{number}{parts.path}"

    def redacted(self, text: str) -> str:
        """Return a message of a driver in one line and without the password."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return " ".join(text.split())

    def __repr__(self) -> str:
        return f"Address({self.name!r})"


class Database(Protocol):
    """A connection inside a transaction, as :func:`replaced` needs it."""

    name: str

    def exists(self, table: tuple[str, ...]) -> bool:
        """Return whether a table or view of that name is there."""
        ...

    def drop(self, table: tuple[str, ...]) -> None:
        """Drop the table."""
        ...

    def insert(self, table: tuple[str, ...], rows: pa.Table) -> None:
        """Create the table and fill it."""
        ...

    def select(self, table: tuple[str, ...], notes: list[str]) -> pa.Table:
        """Return the rows, in the order in which they were inserted."""
        ...


def replaced(database: Database, table: tuple[str, ...], rows: Any, format: str, check: Check, force: bool) -> None:
    """Create and fill a table, read it again, compare and check it. The caller commits, or rolls back."""
    shown = ".".join(table)
    if database.exists(table):
        if not force:
            raise ShoalError(
                f"The table {shown!r} must not be in {database.name} yet. Got one of that name; nothing was changed.",
                "name another table, or pass force (--force) to replace it.",
            )
        database.drop(table)
    database.insert(table, rows)
    notes: list[str] = []
    again = database.select(table, notes)
    name = f"{database.name}, table {shown}"
    compare(rows, again, name)
    check(Source(again, False, format, None, None, name, tuple(notes)))
