"""Days of the calendar: from year, month and day, from digits such as 19860328, from declared patterns; and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError
from shoal.tables.notation import Notation, matches, trimmed

MICROSECONDS_A_DAY = 86_400_000_000
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
# Digits without marks are taken for dates only if they lie in these years.
EARLIEST, LATEST = 1800, 2199
# Year, month and day in any order, with the same mark between them; every other pattern is left to strptime.
PLAIN_PATTERN = re.compile(r"%([Ymd])([-/.])%(?!\1)([Ymd])\2%(?!\1|\3)[Ymd]")
# Parts of patterns that make a moment of a date.
OF_TIMES = ("%H", "%I", "%M", "%S", "%T", "%X", "%c")


def calendar_days(year: Array, month: Array, day: Array, *, short: bool = False) -> Array | None:
    """Return days since 1970-01-01, or None if some dates do not exist; `short`: years may be 0."""
    if len(year) == 0 or month.min() < 1 or month.max() > 12 or day.min() < 1 or year.min() < 1 - short:
        return None
    first, length = _months(year, month)
    return None if (day > length).any() else (first + day - 1).astype(np.float64)


def exist(year: Array, month: Array, day: Array) -> Array:
    """Return bool[n]: whether dates exist, in years that people live in."""
    likely = (month >= 1) & (month <= 12) & (day >= 1) & (year >= EARLIEST) & (year <= LATEST)
    _, length = _months(np.where(likely, year, 2000), np.where(likely, month, 1))
    return np.asarray(likely & (day <= length))


def _months(year: Array, month: Array) -> tuple[Array, Array]:
    """Return the first days of months, in days since 1970-01-01, and their lengths."""
    months = (year - 1970) * 12 + month - 1
    first = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    after = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return first, after - first


def in_order(pattern: str, a: Array, b: Array, c: Array) -> tuple[Array, Array, Array]:
    """Return the three parts of a date as year, month and day."""
    order = [letter for letter in pattern if letter in "Ymd"]
    by_letter = dict(zip(order, (a, b, c), strict=True))
    return by_letter["Y"], by_letter["m"], by_letter["d"]


def to_days(column: Any, pattern: str, name: str) -> Array:
    """Return the dates of a text column of a declared pattern as days since 1970-01-01, NaN for nulls."""
    import pyarrow.compute as pc

    texts = trimmed(column)
    present = texts.drop_null()
    days = None
    if PLAIN_PATTERN.fullmatch(pattern) is None:
        moments = _moments(present, pattern)
        days = None if moments is None else np.floor(moments / MICROSECONDS_A_DAY)
    elif matches(present, _as_regex(pattern)):
        split = pc.extract_regex(present, r"^(?P<a>\d+)\D(?P<b>\d+)\D(?P<c>\d+)$")
        a, b, c = (pc.cast(pc.struct_field(split, f), "int64").to_numpy(zero_copy_only=False) for f in "abc")
        days = calendar_days(*in_order(pattern, a, b, c))
    if len(present) and days is None:
        raise DataError(
            f"The column {name!r} must hold dates of the form {pattern!r} in all rows. Got others.",
            hint="give their form with formats=, or another type with types=.",
        )
    return spread(days, texts)


def to_microseconds(column: Any, pattern: str) -> Array | None:
    """Return the moments of a text column of a declared pattern as microseconds since 1970-01-01, NaN for nulls.

    None unless all texts have the pattern.
    """
    texts = trimmed(column)
    moments = _moments(texts.drop_null(), pattern)
    return None if moments is None else spread(moments, texts)


def completed(texts: Any, pattern: str) -> Any:
    """Return texts of moments with the seconds, fractions and marks of a pattern where some of them leave them out."""
    import pyarrow.compute as pc

    clock = r"([T ]\d{1,2}:\d\d"  # not that of an offset, which has a sign
    for part, lacking, whole in (
        ("%M:%S", rf"{clock})($|[^:\d])", r"\1:00\2"),
        ("%S.%f", rf"{clock}:\d\d)($|[^.\d])", r"\1.0\2"),
        ("%dT%H", r"^(\d{4}-\d\d-\d\d) ", r"\1T"),
        (" %p", r"(\d)([AaPp][Mm])", r"\1 \2"),
    ):
        texts = pc.replace_substring_regex(texts, lacking, whole) if part in pattern else texts
    joined = "%p" in pattern and " %p" not in pattern
    return pc.replace_substring_regex(texts, r"(\d) ([AaPp][Mm])", r"\1\2") if joined else texts


def spread(values: Array | None, column: Any) -> Array:
    """Return the values of present rows at their places, NaN elsewhere."""
    import pyarrow.compute as pc

    result = np.full(len(column), np.nan)
    if values is not None:
        result[np.asarray(pc.is_valid(column).to_numpy(zero_copy_only=False), bool)] = values
    return result


def _as_regex(pattern: str) -> str:
    """Return the regular expression of a plain pattern of dates."""
    of = {"%Y": r"\d{4}", "%m": r"\d{1,2}", "%d": r"\d{1,2}", ".": r"\."}
    return "^" + re.sub(r"%[Ymd]|\.", lambda match: of[match[0]], pattern) + "$"


def _moments(present: Any, pattern: str) -> Array | None:
    """Return texts as microseconds since 1970-01-01, in UTC if they have offsets, or None unless all fit."""
    import pyarrow as pa
    import pyarrow.compute as pc

    zoned = "%z" in pattern
    if "%f" in pattern:  # the microsecond that a moment lies in
        present = pc.replace_substring_regex(present, r"(\.\d{6})\d+", r"\1")
    try:
        if zoned:
            raise pa.ArrowInvalid  # Arrow reads the local time and drops the offset
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
    if zoned:
        moments = [moment.astimezone(UTC).replace(tzinfo=None) for moment in moments]
    read = np.array(moments, "datetime64[us]").astype(np.int64).astype(np.float64)
    result[again] = read[encoded.indices.to_numpy(zero_copy_only=False)]
    return result


def writer(kind: str, writing: Notation) -> Callable[[Array], Sequence[str]]:
    """Return the function that writes days or microseconds as texts."""
    unit = "D" if kind == "date" else "us"
    zone = " UTC" if getattr(writing.type, "tz", None) else ""
    pattern = writing.pattern or ("%Y-%m-%d" if kind == "date" else "%Y-%m-%d %H:%M:%S" + zone)
    pattern = pattern.replace("%z", "+0000")  # moments with offsets are in universal time
    if "unpadded" in writing.style:
        pattern = pattern.replace("%d", "%e").replace("%m", "%o")  # replaced below, by numbers
    # %f writes six digits: those that the column does not have are cut off.
    fraction = min(writing.digits or 6, 6) if "%f" in pattern else 0
    # Months and years are the nearest ones.
    nearest = 0 if re.search(r"%[dejUWaADx]|%[HIMSTXc]", pattern) else 14 if re.search(r"%[mobB]", pattern) else 182

    def written(moment: Any) -> str:
        # %Y writes years before 1000 with fewer than four digits.
        form = pattern if moment.year > 999 else pattern.replace("%Y", f"{moment.year:04d}")
        form = form.replace("%e", str(moment.day)).replace("%o", str(moment.month))
        if fraction:
            form = form.replace("%f", moment.strftime("%f")[:fraction])
        return str(moment.strftime(form))

    def dates(numbers: Array) -> list[str]:
        moments = (np.round(numbers).astype(np.int64) + nearest).astype(f"datetime64[{unit}]").tolist()
        texts = [written(moment) for moment in moments]
        for case, change in (("upper", str.upper), ("lower", str.lower)):
            texts = [change(text) for text in texts] if case in writing.style else texts
        return [text + writing.suffix for text in texts] if writing.suffix else texts

    return dates
