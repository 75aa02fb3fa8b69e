"""Types of text columns, such as those of CSV files: inferring them, reading the values, and writing values back.

A column holds numbers, dates or booleans only if *every* present text is one. Digits with a leading zero are a code,
not a number. A few other texts among numbers are never silently taken for missing values: the column is refused, and
the message says what to declare.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError

LEADING_ZERO = r"^[+-]?0\d"
DIGITS = r"^[+-]?\d+$"
DECIMAL = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
BOOLEAN = r"(?i)^(true|false)$"
DATE = r"^(?P<a>\d{1,4})(?P<s>[-/.])(?P<b>\d{1,2})(?P<t>[-/.])(?P<c>\d{1,4})$"
ISO = "%Y-%m-%d"
_MOMENT = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?"
_ZONE = r"(Z|[+-]\d\d:?\d\d)$"
DATETIME = _MOMENT + "$"
ZONED = _MOMENT + _ZONE
DATED = r"^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})([T ]\d\d:\d\d.*)?$"
# Year, month and day in any order, with the same mark between them; every other pattern is left to strptime.
PLAIN_PATTERN = re.compile(r"%([Ymd])([-/.])%(?!\1)([Ymd])\2%(?!\1|\3)[Ymd]")
# More decimal places than double precision has.
MANY_PLACES = 16

# Texts that often stand for a missing value; they do so only if declared.
MARKERS = ("NA", "N/A", "NaN", "nan", "null", "NULL", "None", "none", ".", "-", "?", "#N/A", "")
# A column with at least this share of numbers, or of dates, was meant to hold nothing else.
NEARLY_ALL = 0.5
MICROSECONDS_A_DAY = 86_400_000_000


class Notation(NamedTuple):
    """How a column writes its values.

    Attributes
    ----------
    type : pyarrow.DataType
    text : bool
        Whether values are read from text.
    decimal : str
        The decimal mark of numbers in text.
    digits : int or None
        Decimal places; None for as many as needed.
    pattern : str
        The pattern of dates and times in text.
    """

    type: Any
    text: bool = False
    decimal: str = "."
    digits: int | None = None
    pattern: str = ""


def infer(column: Any, decimal: str, name: str) -> tuple[str, str]:
    """Return the kind of a text column, and a note that explains a kind which may surprise."""
    present = trimmed(column.drop_null())
    if len(present) == 0:
        return "nominal", "no values"
    if matches(present, BOOLEAN):
        return ("boolean", "") if len(column.unique().drop_null()) <= 2 else ("nominal", "true and false in many forms")
    numbers = plain_numbers(present, decimal)
    if are_numbers(numbers):
        if not matches(numbers, DIGITS):
            return "continuous", ""
        return ("nominal", "codes: some have leading zeros") if contains(numbers, LEADING_ZERO) else ("integer", "")
    if matches(present, DATE) and date_pattern(present, name) is not None:
        return "date", ""
    if matches(present, DATETIME) or matches(present, ZONED):
        return "datetime", ""
    refuse_nearly("numbers", DECIMAL, numbers, present, name)
    refuse_nearly("dates", DATED, present, present, name)
    return "nominal", ""


def matches(column: Any, pattern: str) -> bool:
    """Return whether every text matches; the first thousand are tried first, to fail early."""
    import pyarrow.compute as pc

    return all(pc.all(pc.match_substring_regex(part, pattern)).as_py() for part in (column.slice(0, 1000), column))


def contains(column: Any, pattern: str) -> bool:
    """Return whether any text matches."""
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring_regex(column, pattern)).as_py())


def are_numbers(column: Any) -> bool:
    """Return whether every text is a decimal number. Converting them is the fastest test."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not matches(column.slice(0, 1000), DECIMAL):
        return False
    try:
        numbers = pc.cast(column, pa.float64())
    except pa.ArrowInvalid:
        return matches(column, DECIMAL)
    # Words such as "nan" and "inf" are converted too.
    return bool(pc.all(pc.is_finite(numbers)).as_py()) or matches(column, DECIMAL)


def trimmed(column: Any) -> Any:
    """Return the texts without leading and trailing blanks."""
    import pyarrow.compute as pc

    return pc.utf8_trim_whitespace(column)


def plain_numbers(column: Any, decimal: str) -> Any:
    """Return the texts with a decimal point in place of the decimal mark."""
    import pyarrow.compute as pc

    if decimal == ".":
        return column
    return pc.if_else(pc.match_substring(column, "."), "x", pc.replace_substring(column, decimal, "."))


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


def refuse_nearly(what: str, pattern: str, texts: Any, present: Any, name: str) -> None:
    """Raise DataError if most texts of a column match the pattern of numbers or dates, but not all of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    others = pc.invert(pc.match_substring_regex(texts, pattern))
    count = pc.sum(others).as_py()
    if count == 0 or count > (1 - NEARLY_ALL) * len(texts):
        return
    marker = next((m for m in MARKERS if pc.sum(pc.equal(present.filter(others), pa.scalar(m))).as_py() == count), None)
    if marker is None:
        raise DataError(
            f"The column {name!r} must hold {what} in all rows. Got something else in {count} of {len(texts)}.",
            hint=f"correct them, declare what stands for a missing value, or pass types={{{name!r}: 'nominal'}}.",
        )
    raise DataError(
        f"The column {name!r} must hold {what} in all rows. Got {marker!r} in {count} of {len(texts)}.",
        hint=f"if that means 'no value', declare it: missing_values=[{marker!r}].",
    )


def to_numbers(column: Any, decimal: str, name: str) -> tuple[Array, int | None]:
    """Return the numbers of a text column, NaN for nulls, and the most decimal places (None if there are exponents)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = plain_numbers(trimmed(column), decimal)
    present = texts.drop_null()
    if len(present) and not are_numbers(present):
        refuse_nearly("numbers", DECIMAL, present, trimmed(column.drop_null()), name)
        raise DataError(
            f"The column {name!r} must hold numbers, as declared. Got others in {_count_others(present)} rows.",
            hint="leave its type to be inferred, or declare what stands for a missing value.",
        )
    numbers = pc.cast(texts, pa.float64()).to_numpy(zero_copy_only=False)
    exponents = pc.any(pc.or_(pc.match_substring(present, "e"), pc.match_substring(present, "E"))).as_py()
    point = pc.find_substring(present, ".")
    places = pc.if_else(pc.less(point, 0), 0, pc.subtract(pc.subtract(pc.utf8_length(present), point), 1))
    most = pc.max(places).as_py() or 0
    return np.array(numbers, np.float64), None if exponents or most > MANY_PLACES else most


def _count_others(present: Any) -> int:
    import pyarrow.compute as pc

    return int(pc.sum(pc.invert(pc.match_substring_regex(present, DECIMAL))).as_py())


def date_pattern(present: Any, name: str) -> str | None:
    """Return the pattern of dates such as 31.12.1999, or None if the texts are not dates.

    Raises
    ------
    DataError
        If day and month cannot be distinguished, or some dates do not exist.
    """
    import pyarrow.compute as pc

    if _iso_days(present) is not None:
        return ISO
    parts = pc.extract_regex(present, DATE)
    marks = pc.unique(pc.struct_field(parts, "s")).to_pylist()
    if len(marks) != 1 or pc.unique(pc.struct_field(parts, "t")).to_pylist() != marks:
        return None
    a, b, c = (_integers(pc.struct_field(parts, field)) for field in "abc")
    lengths = [pc.utf8_length(pc.struct_field(parts, field)).to_numpy(zero_copy_only=False) for field in "ac"]
    mark = marks[0]
    if (lengths[0] == 4).all() and (lengths[1] <= 2).all():
        orders = ["%Y{0}%m{0}%d"]
    elif (lengths[1] == 4).all() and (lengths[0] <= 2).all():
        orders = [*(["%d{0}%m{0}%Y"] if b.max() <= 12 else []), *(["%m{0}%d{0}%Y"] if a.max() <= 12 else [])]
        if len(orders) == 2 and mark == ".":
            orders = orders[:1]
        if len(orders) == 2 and not (a == b).all():
            raise DataError(
                f"The dates of the column {name!r} must have a known order of day and month. Got dates that fit both.",
                hint=f"state it with formats={{{name!r}: '%d{mark}%m{mark}%Y'}} or '%m{mark}%d{mark}%Y'.",
            )
    else:
        return None
    for order in orders:
        if _days(*_in_order(order, a, b, c)) is not None:
            return order.format(mark)
    raise DataError(
        f"The column {name!r} must contain valid dates, all in the same order of day and month. Got others.",
        hint=f"correct them, or pass types={{{name!r}: 'nominal'}}.",
    )


def to_days(column: Any, pattern: str, name: str) -> Array:
    """Return the dates of a text column as days since 1970-01-01, NaN for nulls."""
    import pyarrow.compute as pc

    texts = trimmed(column)
    result = np.full(len(texts), np.nan)
    here = np.asarray(pc.is_valid(texts).to_numpy(zero_copy_only=False), bool)
    present = texts.drop_null()
    days = _iso_days(present) if pattern == ISO else None
    plain = PLAIN_PATTERN.fullmatch(pattern)
    if days is None and plain is None:
        moments = _moments(present, pattern)
        days = None if moments is None else np.floor(moments / MICROSECONDS_A_DAY)
    elif days is None and plain is not None and matches(present, _as_regex(pattern)):
        parts = pc.extract_regex(present, DATE)
        a, b, c = (_integers(pc.struct_field(parts, field)) for field in "abc")
        days = _days(*_in_order(pattern, a, b, c))
    if len(present) and days is None:
        raise DataError(
            f"The column {name!r} must hold dates of the form {pattern!r} in all rows. Got others.",
            hint="give their form with formats=, or another type with types=.",
        )
    if days is not None:
        result[here] = days
    return result


def _iso_days(present: Any) -> Array | None:
    """Return dates as days since 1970-01-01, or None unless all are written like 1999-12-31."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        days = pc.cast(pc.cast(present, pa.date32()), pa.int32())
    except pa.ArrowInvalid:
        return None
    return np.array(days.to_numpy(zero_copy_only=False), np.float64)


def _as_regex(pattern: str) -> str:
    """Return the regular expression of a plain pattern of dates."""
    parts = {"%Y": r"\d{4}", "%m": r"\d{1,2}", "%d": r"\d{1,2}", ".": r"\."}
    return "^" + re.sub(r"%[Ymd]|\.", lambda match: parts[match[0]], pattern) + "$"


def _moments(present: Any, pattern: str) -> Array | None:
    """Return texts as microseconds since 1970-01-01, or None unless all have the pattern."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        times = pc.strptime(present, pattern, "us")
        # Arrow takes 31 February for a day in March, so the first days of a month are read again by Python.
        again = np.asarray(pc.less_equal(pc.day(times), 3).to_numpy(zero_copy_only=False), bool)
        result = np.array(pc.cast(times, pa.int64()).to_numpy(zero_copy_only=False), np.float64)
    except pa.ArrowInvalid:
        again, result = np.ones(len(present), bool), np.zeros(len(present))
    encoded = pc.dictionary_encode(present.filter(pa.array(again))).combine_chunks()
    try:
        moments = [datetime.strptime(text, pattern) for text in encoded.dictionary.to_pylist()]
    except ValueError:
        return None
    if any(moment.tzinfo is not None for moment in moments):
        return None
    read = np.array(moments, "datetime64[us]").astype(np.int64).astype(np.float64)
    result[again] = read[encoded.indices.to_numpy(zero_copy_only=False)]
    return result


def _in_order(pattern: str, a: Array, b: Array, c: Array) -> tuple[Array, Array, Array]:
    """Return the three parts of a date as year, month and day."""
    order = [letter for letter in pattern if letter in "Ymd"]
    by_letter = dict(zip(order, (a, b, c), strict=True))
    return by_letter["Y"], by_letter["m"], by_letter["d"]


def _integers(column: Any) -> Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    return np.asarray(pc.cast(column, pa.int64()).to_numpy(zero_copy_only=False), np.int64)


def _days(year: Array, month: Array, day: Array) -> Array | None:
    """Return days since 1970-01-01, or None if some dates do not exist."""
    if len(year) == 0 or month.min() < 1 or month.max() > 12 or day.min() < 1 or year.min() < 1:
        return None
    months = (year - 1970) * 12 + month - 1
    first = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    after = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return None if (day > after - first).any() else (first + day - 1).astype(np.float64)


def to_microseconds(column: Any, pattern: str, name: str) -> Array:
    """Return the datetimes of a text column as microseconds since 1970-01-01, NaN for nulls."""
    import pyarrow as pa
    import pyarrow.compute as pc

    present = trimmed(column.drop_null())
    moments: Array | None
    if pattern:
        moments = _moments(present, pattern)
    else:
        zone = "UTC" if len(present) and matches(present, ZONED) else None
        cut = pc.replace_substring_regex(present, r"(\.\d{6})\d+", r"\1")
        try:
            times = pc.cast(pc.cast(cut, pa.timestamp("us", zone)), pa.int64())
            moments = times.to_numpy(zero_copy_only=False).astype(np.float64)
        except pa.ArrowInvalid:
            moments = None
    if moments is None:
        raise DataError(
            f"The column {name!r} must hold dates with times in all rows. Got others.",
            hint="give their form, such as formats={..: '%d/%m/%Y %H:%M'}.",
        )
    result = np.full(len(column), np.nan)
    result[np.asarray(pc.is_valid(column).to_numpy(zero_copy_only=False), bool)] = moments
    return result


def time_pattern(present: Any) -> tuple[str, int]:
    """Return the pattern of datetimes in ISO 8601 (T or a blank, seconds or not), and the digits of fractions.

    Those with a time zone are written in UTC.
    """
    import pyarrow.compute as pc

    zone = "Z" if len(present) and matches(present, ZONED) else ""
    present = pc.replace_substring_regex(present, _ZONE, "") if zone else present
    longest = int(pc.max(pc.utf8_length(present)).as_py() or 0)
    mark = "T" if pc.any(pc.match_substring(present, "T")).as_py() else " "
    pattern = f"%Y-%m-%d{mark}%H:%M" + ("" if longest <= 16 else ":%S" if longest <= 19 else ":%S.%f")
    return pattern + zone, max(0, longest - 20)


def writer(kind: str, writing: Notation) -> Callable[[Array], Sequence[str]]:
    """Return the function that writes numbers of a kind as texts."""
    if kind in ("date", "datetime"):
        unit = "D" if kind == "date" else "us"
        zone = " UTC" if getattr(writing.type, "tz", None) else ""
        pattern = writing.pattern or ("%Y-%m-%d" if kind == "date" else "%Y-%m-%d %H:%M:%S" + zone)

        # %f writes six digits: those that the column does not have are cut off.
        mark = "Z" if pattern.endswith("%fZ") else ""
        pattern = pattern.removesuffix(mark)
        end = None if writing.digits is None or not pattern.endswith("%f") else min(writing.digits, 6) - 6 or None

        def dates(numbers: Array) -> list[str]:
            moments = np.round(numbers).astype(np.int64).astype(f"datetime64[{unit}]").tolist()
            # %Y writes years before 1000 with fewer than four digits.
            forms = (pattern if m.year > 999 else pattern.replace("%Y", f"{m.year:04d}") for m in moments)
            return [moment.strftime(form)[:end] + mark for moment, form in zip(moments, forms, strict=True)]

        return dates
    if kind == "integer":
        return lambda numbers: [str(x) for x in np.rint(numbers).astype(np.int64).tolist()]
    digits, mark = writing.digits, writing.decimal

    def decimals(numbers: Array) -> list[str]:
        numbers = numbers + 0.0 if digits is None else np.round(numbers, digits) + 0.0
        if digits is None:
            texts = [repr(x) for x in numbers.tolist()]
        else:
            texts = [f"{x:.{digits}f}" for x in numbers.tolist()]
        return [text.replace(".", mark) for text in texts] if mark != "." else texts

    return decimals
