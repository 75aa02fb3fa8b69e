"""How a column writes its values, and the tests of texts that several modules share."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

# At most this many texts are tried before all of them are, to fail early.
SAMPLE = 1000


class Notation(NamedTuple):
    """How a column writes its values.

    Attributes
    ----------
    type : pyarrow.DataType
    text : bool
        Whether values are read from text; also digits of an integer column that are dates.
    decimal : str
        The decimal mark of numbers in text.
    digits : int or None
        Decimal places; None for as many as needed.
    pattern : str
        The pattern of dates and times in text.
    thousands : str
        The mark between thousands in text.
    prefix, suffix : str
        What stands before and after every number, such as a currency sign; after every date, such as a time zone.
    style : frozenset of str
        ``unpadded``: 1.2.1999 in place of 01.02.1999. ``upper``, ``lower``: names of months. ``scientific``: 1.5e+03.
        ``inner``: the sign of a number follows its prefix.
    """

    type: Any
    text: bool = False
    decimal: str = "."
    digits: int | None = None
    pattern: str = ""
    thousands: str = ""
    prefix: str = ""
    suffix: str = ""
    style: frozenset[str] = frozenset()


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type is that of texts."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def matches(column: Any, pattern: str) -> bool:
    """Return whether every text matches; the first thousand are tried first, to fail early."""
    import pyarrow.compute as pc

    parts = [column] if len(column) <= SAMPLE else [column.slice(0, SAMPLE), column]
    return all(pc.all(pc.match_substring_regex(part, pattern)).as_py() for part in parts)


def contains(column: Any, pattern: str) -> bool:
    """Return whether any text matches."""
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring_regex(column, pattern)).as_py())


def count(column: Any, pattern: str) -> int:
    """Return the number of texts that match."""
    import pyarrow.compute as pc

    return int(pc.sum(pc.match_substring_regex(column, pattern)).as_py() or 0)


def trimmed(column: Any) -> Any:
    """Return the texts without leading and trailing blanks."""
    import pyarrow.compute as pc

    return pc.utf8_trim_whitespace(column)


def parts(column: Any, pattern: str) -> dict[str, Any]:
    """Return the named groups of a regular expression that every text matches, as columns of texts."""
    import pyarrow.compute as pc

    found = pc.extract_regex(column, pattern)
    return {field.name: pc.struct_field(found, field.name) for field in found.type}


def unnamed(pattern: str) -> str:
    """Return a regular expression without names of groups, to be part of another one."""
    return re.sub(r"\(\?P<\w+>", "(?:", pattern)


def different(column: Any) -> list[Any]:
    """Return the different values of a column, by first appearance."""
    import pyarrow.compute as pc

    return list(pc.unique(column).to_pylist())
