"""Names and queries in SQL, and addresses of database servers without their passwords."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from shoal.errors import DataError, OptionError

__all__ = ["Address", "identifiers", "named", "no_rows", "quoted", "single"]

_NAME = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')
# Comments, texts and names: a semicolon in them does not end a statement.
_COVERED = re.compile(
    r"""--[^\r\n]* | /\* | [eE]'(?:[^'\\]|\\.|'')*' | '[^']*' | "[^"]*" | (?<!\w)(\$\w*\$).*?\1""",
    re.VERBOSE | re.DOTALL,
)


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
        "put a name with dots in double quotes, and double every double quote inside.",
    )


def quoted(*parts: str) -> str:
    """Return a name quoted for SQL; it may have any characters."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def single(query: str, *, nested: bool = True) -> str:
    """Return a query without the semicolon at its end, for use inside another one; refuse several statements.

    Parameters
    ----------
    query : str
    nested : bool
        Whether comments may contain comments: they may in PostgreSQL and DuckDB, but not in SQLite.
    """
    bare, position = "", 0
    while match := _COVERED.search(query, position):
        end = _end_of_comment(query, match.end(), nested) if match[0] == "/*" else match.end()
        filler = " " if match[0].startswith(("--", "/*")) else "x"
        bare += query[position : match.start()] + filler * (end - match.start())
        position = end
    bare += query[position:]
    first, _, rest = bare.partition(";")
    if rest.replace(";", "").strip():
        raise DataError("The query must be one statement. Got several, with a semicolon between them.")
    if not first.strip():
        raise no_rows()
    return query[: len(first)]


def _end_of_comment(query: str, position: int, nested: bool) -> int:
    """Return where a comment ends."""
    depth = 1
    for mark in re.finditer(r"/\*|\*/", query[position:]):
        depth += nested if mark[0] == "/*" else -1
        if depth == 0:
            return position + mark.end()
    return len(query)


def no_rows() -> DataError:
    """Return the error for a query that is not one."""
    return DataError(
        "The query must be one that returns rows and changes nothing: SELECT, WITH .. SELECT, VALUES or TABLE. "
        "Got another statement."
    )


class Address:
    """The address of a server: `url` holds the password, `name` does not.

    An invalid address is refused here, because a driver would quote it in its message, password included.
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
        parts, port = _split(url)
        options = dict(parse_qsl(parts.query))
        secrets = {parts.password, *(value for key, value in options.items() if "pass" in key)}
        self._secrets = {text for s in secrets if s for text in (s, unquote(s))}
        user = f"{unquote(parts.username)}@" if parts.username else ""
        where = parts.hostname or options.get("host", "")
        number = f":{port}" if port else ""
        self.name = f"postgresql://{user}{where}{number}{parts.path}"

    def redacted(self, text: str) -> str:
        """Return a driver's message on one line and without the password."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return " ".join(text.split())

    def __repr__(self) -> str:
        return f"Address({self.name!r})"


def named(where: str) -> str:
    """Return a path or an address as it may be shown: that of a server without its password."""
    return Address(where).name if re.match("postgres(ql)?://", where, re.IGNORECASE) else where


def _split(url: str) -> tuple[SplitResult, int | None]:
    """Return the parts of an address and its port."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise OptionError(
            "The host in the address of a database must be a name or a number. Got one that cannot be read.",
            "write an IPv6 address in brackets: postgresql://user@[::1]:5432/database.",
        ) from None
    try:
        return parts, parts.port
    except ValueError:
        raise OptionError(
            "The port in the address of a database must be a number up to 65535. Got something else."
        ) from None
