"""Numbers in text: marks between thousands, currency signs, exponents; reading them, and writing others likewise.

A mark is taken for one between thousands only if it cannot be anything else: if it occurs twice in a number, stands
before a decimal mark, or is a blank or an apostrophe. Otherwise the column is refused, with the option that says what
the mark is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError
from shoal.tables.notation import SAMPLE, Notation, contains, count, different, matches, parts

DECIMAL = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
# More decimal places than double precision has.
MANY_PLACES = 16
# Blanks and apostrophes between thousands, which are nothing else in a number.
CLEAR_MARKS = (" ", "\u00a0", "\u202f", "\u2009", "'", "\u2019")
MARKS = (*CLEAR_MARKS, ",", ".")
_SIGN = (
    r"(?:[A-Z]{0,2}\p{Sc}|EUR|USD|GBP|CHF|JPY|CNY|CAD|AUD|NZD|SEK|NOK|DKK|ISK|PLN|CZK|HUF|RON|BGN|TRY|INR|BRL|MXN|ZAR|"
    r"kr|zł|Kč|Ft|%)"
)
_BLANK = "[ \u00a0\u202f]?"
_NUMBER = r"(?:\d[\d.,' \x{a0}\x{202f}\x{2009}\x{2019}]*\d|\d|\.\d+)"
AMOUNT = (
    rf"^(?P<sign>[+-]?)(?P<prefix>(?:{_SIGN}{_BLANK})?)(?P<inner>[+-]?)(?P<number>{_NUMBER})"
    rf"(?P<suffix>(?:{_BLANK}{_SIGN})?)$"
)


class Numeral(NamedTuple):
    """What numbers in text have besides digits, sign, decimal mark and exponent."""

    thousands: str = ""
    prefix: str = ""
    suffix: str = ""
    inner: bool = False  # the sign follows the prefix


def plain_numbers(column: Any, decimal: str, numeral: Numeral | None = None) -> Any:
    """Return the texts of numbers with a decimal point, and without anything else."""
    import pyarrow.compute as pc

    if numeral is not None:
        for affix in (numeral.prefix, numeral.suffix):
            column = pc.replace_substring(column, affix, "") if affix else column
        column = pc.replace_substring(column, numeral.thousands, "") if numeral.thousands else column
        if numeral.thousands == decimal:
            return column
    if decimal == ".":
        return column
    return pc.if_else(pc.match_substring(column, "."), "x", pc.replace_substring(column, decimal, "."))


def are_numbers(column: Any) -> bool:
    """Return whether every text is a decimal number. Converting them is the fastest test."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not matches(column.slice(0, SAMPLE), DECIMAL):
        return False
    try:
        numbers = pc.cast(column, pa.float64())
    except pa.ArrowInvalid:
        return matches(column, DECIMAL)
    # Words such as "nan" and "inf" are converted too.
    return bool(pc.all(pc.is_finite(numbers)).as_py()) or matches(column, DECIMAL)


def read(present: Any, decimal: str, thousands: str | None, name: str) -> tuple[Any, Numeral] | None:
    """Return texts of numbers with a decimal point and nothing else, and how they were written; None if not numbers.

    See :func:`recognised` for the parameters.
    """
    if thousands is None or not contains(present, re.escape(thousands)):
        numbers = plain_numbers(present, decimal)
        if are_numbers(numbers):
            return numbers, Numeral()
    numeral = recognised(present, decimal, thousands, name)
    return None if numeral is None else (plain_numbers(present, decimal, numeral), numeral)


def recognised(present: Any, decimal: str, thousands: str | None, name: str) -> Numeral | None:
    """Return how numbers in text are written, or None if the texts are something else.

    Parameters
    ----------
    present : pyarrow.ChunkedArray of texts, trimmed
    decimal : str
    thousands : str or None
        The mark between thousands, if it is declared.
    name : str
        For messages.

    Raises
    ------
    DataError
        If the numbers can be read in several ways, or are amounts in several currencies.
    """
    if not matches(present, AMOUNT):
        return None
    of = parts(present, AMOUNT)
    prefixes, suffixes = different(of["prefix"]), different(of["suffix"])
    if len(prefixes) > 1 or len(suffixes) > 1:
        raise DataError(
            f"The amounts of the column {name!r} must all be written with the same sign. Got several, or some without.",
            hint=f"write them alike and in one currency, or pass types={{{name!r}: 'nominal'}}.",
        )
    mark = _mark(of["number"], decimal, thousands, name)
    if mark is None:
        return None
    inner = bool(prefixes[0]) and contains(of["inner"], "[+-]")
    return Numeral(mark, prefixes[0], suffixes[0], inner)


def _mark(numbers: Any, decimal: str, thousands: str | None, name: str) -> str | None:
    """Return the mark between thousands, "" if there is none, or None if the texts are no numbers."""
    point = re.escape(decimal)
    if thousands is not None and contains(numbers, re.escape(thousands)):
        mark = re.escape(thousands)
        rest = "" if thousands == decimal else rf"({point}\d*)?"
        return thousands if matches(numbers, rf"^(\d{{1,3}}({mark}\d{{3}})+|\d+){rest}$") else None
    if matches(numbers, rf"^(\d+({point}\d*)?|{point}\d+)$"):
        return ""
    for other in MARKS:
        mark = re.escape(other)
        rest = "" if other == decimal else rf"({point}\d*)?"
        if not matches(numbers, rf"^\d{{1,3}}({mark}\d{{3}})*{rest}$"):
            continue
        if other in CLEAR_MARKS or contains(numbers, rf"{mark}\d+{mark}|{mark}\d+{point}"):
            return other
        raise ambiguous_mark(name, other, decimal)
    other = "," if decimal == "." else "."
    if matches(numbers, rf"^(\d{{1,3}}({point}\d{{3}})+|\d+){re.escape(other)}\d+$|^\d+$"):
        raise DataError(
            f"The numbers of the column {name!r} must have the decimal mark {decimal!r}. Got {other!r}.",
            hint=f"read the file with decimal={other!r} (--decimal {other}), or pass types={{{name!r}: 'nominal'}}.",
        )
    return None


def ambiguous_mark(name: str, mark: str, decimal: str) -> DataError:
    """Return the error for numbers such as 1,234, which may be a thousand or little more than one."""
    decimals = f"types={{{name!r}: 'continuous'}}" if mark == decimal else f"decimal={mark!r} (--decimal {mark})"
    return DataError(
        f"The numbers of the column {name!r} must be readable in one way. Got {mark!r} before three digits, which may "
        "stand between thousands or before decimals.",
        hint=f"if it stands between thousands, pass thousands={mark!r}; if before decimals, {decimals}.",
    )


def refuse_unclear_decimals(numbers: Any, decimal: str, name: str) -> None:
    """Refuse decimals that may be thousands: some have exactly three places, such as 1.234, and others have none."""
    marked = count(numbers, r"\.")
    if 0 < marked < len(numbers) and marked == count(numbers, r"^[+-]?[1-9]\d{0,2}\.\d{3}$"):
        raise ambiguous_mark(name, decimal, decimal)


def places_of(numbers: Any) -> tuple[int | None, frozenset[str]]:
    """Return the most decimal places of texts of plain numbers (None if too many), and the style of exponents."""
    import pyarrow.compute as pc

    if len(numbers) == 0:
        return 0, frozenset()
    exponents = count(numbers, "[eE]")
    if exponents == len(numbers):
        mantissas = pc.replace_substring_regex(numbers, "[eE].*$", "")
        return _places(mantissas), frozenset({"scientific", *(("upper",) if contains(numbers, "E") else ())})
    if not exponents:
        return _places(numbers), frozenset()
    marked = pc.match_substring_regex(numbers, "[eE]")
    if contains(numbers, "[eE]-"):
        return None, frozenset()
    # Programs write some large numbers with exponents, such as 1e+05: they are written in full.
    of = parts(numbers.filter(marked), r"^[+-]?(?P<whole>\d*)\.?(?P<places>\d*)[eE]\+?(?P<power>\d+)$")
    power = pc.cast(of["power"], "int64").to_numpy(zero_copy_only=False)
    lengths = pc.utf8_length(of["places"]).to_numpy(zero_copy_only=False)
    most = max(_places(numbers.filter(pc.invert(marked))) or 0, int((lengths - power).max()))
    return (None if most > MANY_PLACES else most), frozenset()


def _places(numbers: Any) -> int | None:
    import pyarrow.compute as pc

    point = pc.find_substring(numbers, ".")
    places = pc.if_else(pc.less(point, 0), 0, pc.subtract(pc.subtract(pc.utf8_length(numbers), point), 1))
    most = int(pc.max(places).as_py() or 0)
    return None if most > MANY_PLACES else most


def rounded(numbers: Array, digits: int) -> Array:
    """Return numbers with so many decimal places; those whose doubles are no closer than that stay as they are.

    NumPy multiplies, rounds and divides. Where the product has hardly a bit left for its fraction, that would move a
    number, even a whole one, to a double beside it.
    """
    scale, size = 10.0**digits, np.abs(numbers)
    plain = size < 2**50 / scale
    if plain.all():
        return np.asarray(np.round(numbers, digits))
    result = numbers.copy()
    result[plain] = np.round(numbers[plain], digits)
    near = ~plain & (size < 2**53 / scale)
    some = numbers[near][:, None]
    choices = (np.rint(some * scale) + np.arange(-2, 3)) / scale
    best = np.abs(choices - some).argmin(axis=1)[:, None]
    result[near] = np.take_along_axis(choices, best, axis=1)[:, 0]
    return np.asarray(result)


def writer(kind: str, writing: Notation) -> Callable[[Array], Sequence[str]]:
    """Return the function that writes numbers as texts."""
    digits = writing.digits
    grouped = "," if writing.thousands else ""
    marks = str.maketrans({",": writing.thousands, ".": writing.decimal})
    plain = not (grouped or writing.prefix or writing.suffix or writing.decimal != ".")

    def numbers(values: Array) -> list[str]:
        if kind == "integer":
            whole = np.rint(values)
            if not digits:
                texts = [f"{x:{grouped}d}" for x in whole.astype(np.int64).tolist()]
            else:
                texts = [f"{x:{grouped}.{digits}f}" for x in (whole + 0.0).tolist()]
        elif "scientific" in writing.style:
            form = f".{MANY_PLACES if digits is None else digits}{'E' if 'upper' in writing.style else 'e'}"
            texts = [f"{x:{form}}" for x in (values + 0.0).tolist()]
        elif digits is None:
            texts = [f"{x:{grouped}}" if grouped else repr(x) for x in (values + 0.0).tolist()]
        else:
            texts = [f"{x:{grouped}.{digits}f}" for x in (rounded(values, digits) + 0.0).tolist()]
        return texts if plain else [_marked(text.translate(marks), writing) for text in texts]

    return numbers


def _marked(text: str, writing: Notation) -> str:
    """Return the text of a number between its prefix and its suffix."""
    sign = "-" if text.startswith("-") else ""
    front = f"{writing.prefix}{sign}" if "inner" in writing.style else f"{sign}{writing.prefix}"
    return f"{front}{text[len(sign) :]}{writing.suffix}"
