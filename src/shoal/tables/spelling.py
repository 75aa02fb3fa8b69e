"""Texts that a person reads as one value, however they are spelt.

Groups must not look diverse because a value is spelt in several ways. For privacy models and units, texts are therefore
compared as people read them: without regard to case, to spaces at the ends and their number in between, to invisible
characters, to the Unicode form of letters and to kinds of dashes and quotation marks. Texts of numbers are compared as
numbers, so 1, 01 and 1.0 are one. A text of which nothing is left is a missing value.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

import numpy as np

from shoal.arrays import Array

# What a release says of its units, which are not published: neither the name of their column nor their number.
UNITS_READ_ALIKE = (
    "Some units are written in several ways that read alike: they differ only in case, spaces, invisible characters or "
    "the way a number is written. Such units count as one."
)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,9})?")
# Letters and marks that nothing shows of, besides the categories Cc (controls) and Cf (formats).
_INVISIBLE = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0}
_INVISIBLE |= {*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}
_BLANK = 0x2800  # Braille without dots
_SAME = {
    **dict.fromkeys(map(ord, "\u2212\u02d7\u2043"), "-"),
    **dict.fromkeys(map(ord, "\u2018\u2019\u201b\u02bc\u2032\u00b4"), "'"),
}
_SAME |= dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"), '"')


def as_read(text: str, decimal: str = ".") -> str:
    """Return a key that is the same for all texts that a person reads as one; empty if there is nothing to read."""
    if not (text.isascii() and text.isprintable()):
        text = _plain(text)
    key = " ".join(text.casefold().replace("`", "'").split())
    if not key.isascii():
        key = unicodedata.normalize("NFKC", key)
    elif key.isdigit():
        return _scaled(key.lstrip("0"))
    number = key if decimal == "." else key.replace(decimal, ".")
    return _number(number) or key if _NUMBER.fullmatch(number) else key


def read_as_one(texts: Sequence[str], decimal: str = ".") -> Array:
    """Return int64[len(texts)]: equal numbers, by first appearance, for texts that read as one; -1 if empty."""
    numbers: dict[str, int] = {"": -1}
    return np.array([numbers.setdefault(as_read(text, decimal), len(numbers) - 1) for text in texts], np.int64)


def said(name: str, written: int, read: int, what: str) -> str:
    """Return the sentence that says how many spellings of a column count as how many values."""
    return (
        f"The {written} different texts of {name!r} count as {read} {what}, because some of them read alike: they "
        "differ only in case, spaces, invisible characters or the way a number is written, or are empty. They are "
        "published as they are."
    )


def _plain(text: str) -> str:
    """Return a text without what nobody sees, in one of its Unicode forms."""
    shown = []
    for letter in text:
        code = ord(letter)
        if code in _SAME:
            shown.append(_SAME[code])
        elif letter.isspace() or code == _BLANK:
            shown.append(" ")
        elif code not in _INVISIBLE:
            category = unicodedata.category(letter)
            if category not in ("Cc", "Cf"):
                shown.append("-" if category == "Pd" else letter)
    # Decomposed first: folding case may depend on the form.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKD", "".join(shown)).casefold())


def _number(text: str) -> str | None:
    """Return the text of a number in one form, without rounding."""
    try:
        sign, digits, exponent = Decimal(text).as_tuple()
    except InvalidOperation:
        return None
    if not isinstance(exponent, int):
        return None
    return _scaled("".join(map(str, digits)), "-" * sign, exponent)


def _scaled(digits: str, sign: str = "", exponent: int = 0) -> str:
    kept = digits.rstrip("0")
    return f"{sign}{kept}e{exponent + len(digits) - len(kept)}" if kept else "0"
