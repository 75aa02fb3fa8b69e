"""Types of text columns, such as those of CSV files: inferring them, reading the values, and writing values back.

A column holds numbers, dates or booleans only if *every* present text is one. Digits with a leading zero are a code,
not a number. A few other texts among numbers are never silently taken for missing values: the column is refused, and
the message says what to declare.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError
from shoal.tables import calendar, dates, numerals
from shoal.tables.digit_dates import WIDTHS, kind_of, of_digits
from shoal.tables.notation import Notation, contains, count, different, matches, trimmed, unnamed
from shoal.tables.numerals import DECIMAL, Numeral, plain_numbers

LEADING_ZERO = r"^[+-]?0\d"
DIGITS = r"^[+-]?\d+$"
BOOLEAN = r"(?i)^(true|false)$"
# Numbers of which some are grouped, in several currencies, or with other decimal marks.
LIKE_A_NUMBER = f"{DECIMAL}|{unnamed(numerals.AMOUNT)}"

# Texts that often stand for a missing value, in any case; they do so only if declared.
MARKERS = (
    *("NA", "N/A", "n.a.", "NaN", "NaT", "null", "none", "nil", "missing", "unknown", "<NA>", "(null)", "#N/A"),
    *("#NULL!", "\\N", ".", "..", "-", "--", "?", ""),
)
_KNOWN = {marker.lower() for marker in MARKERS}
# A column with at least this share of numbers, or of dates, was meant to hold nothing else.
NEARLY_ALL = 0.5
# More different texts than this are no markers.
MANY_TEXTS = 1000


def infer(
    column: Any, decimal: str, name: str, thousands: str | None = None, counts: Array | None = None
) -> tuple[str, str]:
    """Return the kind of a text column, and a note that explains a kind which may surprise.

    If the column holds the different texts of a larger one, `counts` int64[n] says how often each occurs there.
    """
    present = trimmed(column.drop_null())
    counts = of_present(counts, column)
    if len(present) == 0:
        return "nominal", "no values"
    if matches(present, BOOLEAN):
        return ("boolean", "") if len(column.unique().drop_null()) <= 2 else ("nominal", "true and false in many forms")
    kind = _of_numbers(present, decimal, name, thousands, counts)
    if kind is not None:
        return kind
    moments = dates.recognised(present, name)
    if moments is not None:
        return moments.kind, moments.note
    refuse_nearly("numbers", LIKE_A_NUMBER, present, name, counts=counts)
    refuse_nearly("numbers", DECIMAL, present, name, plain_numbers(present, decimal), counts)
    refuse_nearly("dates", dates.DATED, present, name, counts=counts)
    return "nominal", ""


def of_present(counts: Array | None, column: Any) -> Array | None:
    """Return the counts of the values of a column that are not null."""
    return None if counts is None else counts[np.asarray(column.is_valid())]


def _of_numbers(
    present: Any, decimal: str, name: str, thousands: str | None, counts: Array | None
) -> tuple[str, str] | None:
    """Return the kind and the note of texts that are all numbers, else None."""
    found = numerals.read(present, decimal, thousands, name)
    if found is None:
        return None
    numbers, numeral = found
    if not matches(numbers, DIGITS):
        if numeral == Numeral() and thousands is None:
            numerals.refuse_unclear_decimals(numbers, decimal, name)
        return "continuous", ""
    if numeral == Numeral():
        pattern = digits_pattern(numbers, name, counts)
        if pattern is not None:
            return kind_of(pattern), f"digits read as dates of the form {pattern}"
    return ("nominal", "codes: some have leading zeros") if contains(numbers, LEADING_ZERO) else ("integer", "")


def digits_pattern(texts: Any, name: str, counts: Array | None = None) -> str | None:
    """Return the pattern of texts of digits that are dates, such as 19860328, or None if they are other numbers.

    If given, `counts` int64[n] says in how many rows each text occurs.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    pattern = of_digits(pc.cast(texts, pa.float64()).to_numpy(zero_copy_only=False), name, counts)
    # Without its zero, 1021986 may be the first or the tenth day of a month.
    whole = pattern is None or matches(texts, rf"^\d{{{WIDTHS[pattern]}}}$")
    return pattern if whole else None


def equal(column: Any, marker: Any, decimal: str) -> Any:
    """Return where a text column holds a marker: the same text, apart from blanks, or the same plain number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = trimmed(column)
    same = pc.equal(texts, pa.scalar(str(marker).strip(), texts.type))
    if re.search(DECIMAL, str(marker)) is None or re.search(LEADING_ZERO, str(marker)):
        return same
    numbers = plain_numbers(texts, decimal)
    plain = pc.and_not(pc.match_substring_regex(numbers, DECIMAL), pc.match_substring_regex(numbers, LEADING_ZERO))
    return pc.or_(same, pc.equal(pc.cast(pc.if_else(plain, numbers, "nan"), pa.float64()), float(marker)))


def refuse_nearly(
    what: str, pattern: str, texts: Any, name: str, plain: Any = None, counts: Array | None = None
) -> None:
    """Raise DataError if most texts of a column match the pattern of numbers or dates, but not all of them.

    If all others are well-known markers of missing values, some are enough. If given, the `plain` forms of the texts
    are those that must match, and `counts` int64[n] says in how many rows each text occurs.
    """
    import pyarrow.compute as pc

    other = pc.invert(pc.match_substring_regex(texts if plain is None else plain, pattern))
    others = texts.filter(other)
    if len(others) in (0, len(texts)):
        return
    weights = np.ones(len(texts), np.int64) if counts is None else counts
    all_rows, weights = int(weights.sum()), weights[np.asarray(other)]
    rows = int(weights.sum())
    found = {text: text.lower() in _KNOWN for text in different(others)} if _few(others) else {}
    markers = sorted((text for text, known in found.items() if known), key=lambda text: (text.lower(), text))
    told = {marker: int(weights[np.asarray(pc.equal(others, marker))].sum()) for marker in markers}
    rest = rows - sum(told.values())
    if rows > (1 - NEARLY_ALL) * all_rows and rest:
        return
    said = [f"{marker!r} in {times}" for marker, times in told.items()]
    said += [f"something else in {rest}"] if rest else []
    got = ", ".join(said[:-1]) + (" and " if len(said) > 1 else "") + said[-1]
    declared = f"missing_values=[{', '.join(map(repr, markers))}]"
    if not markers:
        hint = f"correct them, declare what stands for a missing value, or pass types={{{name!r}: 'nominal'}}."
    elif rest:
        hint = (
            f"declare what means 'no value', such as {declared}; correct the others, or pass "
            f"types={{{name!r}: 'nominal'}}."
        )
    else:
        that = "that means 'no value', declare it" if len(markers) == 1 else "these mean 'no value', declare them"
        hint = f"if {that}: {declared}."
    raise DataError(f"The column {name!r} must hold {what} in all rows. Got {got} of {all_rows}.", hint=hint)


def _few(texts: Any) -> bool:
    import pyarrow.compute as pc

    return int(pc.count_distinct(texts).as_py()) <= MANY_TEXTS


def to_numbers(
    column: Any, decimal: str, name: str, thousands: str | None = None
) -> tuple[Array, int | None, Numeral, frozenset[str]]:
    """Return the numbers of a text column, NaN for nulls, and how they are written.

    Returns
    -------
    numbers : float64[n]
    digits : int or None
        The most decimal places; None if there are too many.
    numeral, style
        See :class:`shoal.tables.numerals.Numeral` and :class:`shoal.tables.notation.Notation`.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = trimmed(column)
    present = texts.drop_null()
    found = numerals.read(present, decimal, thousands, name) if len(present) else (present, Numeral())
    if found is None:
        refuse_nearly("numbers", LIKE_A_NUMBER, present, name)
        others = len(present) - count(plain_numbers(present, decimal), DECIMAL)
        raise DataError(
            f"The column {name!r} must hold numbers, as declared. Got others in {others} rows.",
            hint="leave its type to be inferred, or declare what stands for a missing value.",
        )
    plain, numeral = found
    numbers = pc.cast(plain, pa.float64()).to_numpy(zero_copy_only=False)
    digits, style = numerals.places_of(plain)
    return calendar.spread(np.asarray(numbers, np.float64), texts), digits, numeral, style


def to_dates(column: Any, writing: Notation, name: str) -> tuple[Array, Notation]:
    """Return the dates of a text column as days since 1970-01-01, NaN for nulls, and how they are written."""
    present = trimmed(column.drop_null())
    writing = writing._replace(text=True)
    if writing.pattern:
        days = calendar.to_days(column, writing.pattern, name)
        return days, writing._replace(style=dates.style_of(present, writing.pattern))
    if len(present) == 0:
        return np.full(len(column), np.nan), writing._replace(pattern=dates.ISO)
    found = dates.recognised(present, name)
    if found is None and matches(present, DIGITS):
        pattern = digits_pattern(present, name)
        if pattern is not None:
            return calendar.to_days(column, pattern, name), writing._replace(pattern=pattern)
    if found is None or found.kind != "date":
        return calendar.to_days(column, dates.ISO, name), writing._replace(pattern=dates.ISO)
    days = calendar.spread(found.values, column)
    return days, writing._replace(pattern=found.pattern, suffix=found.suffix, style=found.style)


def to_moments(column: Any, writing: Notation, name: str) -> tuple[Array, Notation]:
    """Return the moments of a text column as microseconds since 1970-01-01, NaN for nulls, and how they are written."""
    writing = writing._replace(text=True)
    present = trimmed(column.drop_null())
    if writing.pattern:
        moments = calendar.to_microseconds(column, writing.pattern)
        if moments is None:
            raise dates.not_moments(name)
        return moments, writing
    if len(present) == 0:
        return np.full(len(column), np.nan), writing._replace(pattern=f"{dates.ISO} %H:%M")
    found = dates.recognised(present, name)
    if found is None and matches(present, DIGITS) and (pattern := digits_pattern(present, name)) is not None:
        return to_moments(column, writing._replace(pattern=pattern), name)
    if found is None:
        raise dates.not_moments(name)
    digits = found.digits if writing.digits is None else writing.digits
    values, pattern, suffix = found.values, found.pattern, found.suffix
    if found.kind == "date":
        zone = re.sub(r"^[T ][0:.]+", "", suffix)
        timed = re.sub(r"^([T ])00:00(:00)?.*$", lambda m: f"{m[1]}%H:%M{':%S' if m[2] else ''}", suffix)
        values, pattern, suffix = values * calendar.MICROSECONDS_A_DAY, pattern + (timed or " %H:%M"), zone
    writing = writing._replace(pattern=pattern, digits=digits, suffix=suffix, style=found.style)
    return calendar.spread(values, column), writing


def writer(kind: str, writing: Notation) -> Callable[[Array], Sequence[str]]:
    """Return the function that writes numbers of a kind as texts."""
    dated = kind in ("date", "datetime")
    return calendar.writer(kind, writing) if dated else numerals.writer(kind, writing)
