"""Telling a line of column names from a record.

If a file has no line of column names, its first record would be published as one. So the first line is compared with
the columns below it: a name that is a number over numbers, a date over dates, or one of the values of its own column
speaks for a record; a word over numbers or dates, or a word that no row of a categorical column has, speaks for names.
Years and other sequences over measurements are names. A record of nothing but texts that occur once cannot be told from
names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NO_NAMES", "check_names", "positional", "refuse_record"]

NO_NAMES = "if it is a record, add a line of column names or pass header=False, which names the columns column_1, .."
_SAMPLE = 1000  # rows that are looked at,
_VALUES = 200_000  # but not many more values than this,
_LEAST = 50  # and at least these rows
_MANY = 20  # rows from which on a value of a categorical column is expected to occur again
_KINDS = (
    ("number", re.compile(r"[-+(]?[$€£]?\s?(\d[\d.,' ]*|[.,]\d+)([eE][-+]?\d+)?\s?[%$€£)]?")),
    ("date", re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([T ].*)?")),
    ("time", re.compile(r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?")),
    ("address", re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")),
)
_ABSENT = {"na", "n/a", "nan", "null", "none", "nil", "-", "--", "?", ".", "..", "#n/a", "missing", "unknown"}


def positional(columns: int) -> list[str]:
    """Return names for columns without any."""
    return [f"column_{position}" for position in range(1, columns + 1)]


def check_names(names: Sequence[str | None], file: str, where: str) -> None:
    """Refuse empty and repeated names; they are not quoted, because they may be the first record."""
    empty = [position for position, name in enumerate(names, 1) if not name]
    times = Counter(names)
    twice = [position for position, name in enumerate(names, 1) if name and times[name] > 1]
    if empty or twice:
        fault = (
            f"no name for column {_listed(empty)}"
            if empty
            else f"names more than once, in the columns {_listed(twice)}"
        )
        raise DataError(
            f"The first {where} of {file} must give every column a name of its own. Got {fault}.",
            f"{NO_NAMES}; or pass the delimiter if it was detected wrongly." if where == "line" else f"{NO_NAMES}.",
        )


def _listed(positions: Sequence[int]) -> str:
    return ", ".join(map(str, positions[:20])) + (", .." if len(positions) > 20 else "")


def refuse_record(table: pa.Table, file: str, where: str) -> None:
    """Raise DataError if the names of the columns look like a record.

    Parameters
    ----------
    table : pyarrow.Table
        The rows below the first line, and as names the fields of that line.
    file, where : str
        The file and what its first line is called, for messages.
    """
    rows = min(_SAMPLE, max(_LEAST, _VALUES // max(table.num_columns, 1)))
    votes = [_vote(name, table.column(at), rows) for at, name in enumerate(table.column_names)]
    if "record" not in votes:
        return
    for at in _sequence(table, votes):
        votes[at] = "none"
    record, names, perhaps = (votes.count(vote) for vote in ("record", "names", "perhaps"))
    if record and (record > names + perhaps or (names == 0 and record >= perhaps)):
        columns = [position for position, vote in enumerate(votes, 1) if vote == "record"]
        raise DataError(
            f"The first {where} of {file} must hold the names of the columns. Got one that looks like a record: what "
            f"stands above column {_listed(columns)} looks like a value of that column.",
            f"{NO_NAMES}; if it holds names, pass header=True.",
        )


def _vote(name: str, column: Any, rows: int) -> str:
    """Return what a name and its column speak for: "record", "names", "perhaps" (names) or "none"."""
    sample = [text for text in _texts(column.slice(0, rows)) if text.lower() not in _ABSENT]
    word = name.strip()
    if not sample or word.lower() in _ABSENT:
        return "none"
    kinds = {_kind(text) for text in sample}
    of_column = kinds.pop() if len(kinds) == 1 else ""
    of_name = _kind(word)
    if of_column:
        if of_name != of_column:
            return "none" if of_name else "names"
        return "none" if _is_year(word) and sum(map(_is_year, sample)) < len(sample) / 2 else "record"
    if _occurs(name, column):
        # A column for each choice, with its name where it was chosen.
        return "none" if column.null_count and set(sample) == {word} else "record"
    return "perhaps" if len(sample) >= _MANY and len(set(sample)) <= len(sample) / 4 else "none"


def _texts(column: Any) -> list[str]:
    return [str(value).strip() for value in column.to_pylist() if value is not None and str(value).strip()]


def _kind(text: str) -> str:
    """Return the kind of a value that no name has: a number, a date, or digits in some pattern; '' for words."""
    for kind, pattern in _KINDS:
        if pattern.fullmatch(text):
            return kind
    if sum(character.isdigit() for character in text) < 2:
        return ""
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", text))


def _is_year(text: str) -> bool:
    return bool(re.fullmatch(r"(1[5-9]|20|21)\d\d", text))


def _occurs(name: str, column: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_string(column.type):
        return name in {str(value) for value in column.slice(0, _SAMPLE).to_pylist()}
    return bool(pc.index(column, pa.scalar(name)).as_py() >= 0)


def _sequence(table: pa.Table, votes: list[str]) -> list[int]:
    """Return the positions of numbers that are names after all: 0, 1, 2, .. over pixels, 5, 25, 50, 95 over shares.

    They stand beside names that are words, and not all of them are values of their own columns.
    """
    at = [position for position, vote in enumerate(votes) if vote == "record"]
    names = [table.column_names[position].strip() for position in at]
    words = any(not _kind(name) and name.strip().lower() not in _ABSENT for name in table.column_names)
    if len(at) < 3 or not words or not all(re.fullmatch(r"[-+]?\d{1,15}", name) for name in names):
        return []
    numbers = [int(name) for name in names]
    steps = {right - left for left, right in pairwise(numbers)}
    even = len(steps) == 1 and steps != {0}
    rising = "names" in votes and (min(steps) > 0 or max(steps) < 0)
    measured = not all(_occurs(table.column_names[position], table.column(position)) for position in at)
    return at if (even or rising) and measured else []
