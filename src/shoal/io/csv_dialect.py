"""Detecting the dialect of a CSV file from its first lines.

Detection looks at a sample only. Its result is reported to the user, who can overrule it, and is checked against the
whole file: a row with a different number of fields is refused, not repaired.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import NamedTuple

from shoal.errors import DataError, OptionError
from shoal.io.source import Dialect

__all__ = ["DELIMITERS", "Field", "byte_order_mark", "codec", "decimal_mark", "detect", "records", "told_by_header"]

DELIMITERS = (",", ";", "\t", "|")
SAMPLE = 2**16  # characters
_BOMS = (
    # UTF-32 before UTF-16: the little-endian mark of the former begins with that of the latter.
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_COMMA_NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+")
_POINT_NUMBER = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")


class Field(NamedTuple):
    """One field of a record, whether it was quoted, and whether anything follows the closing quote."""

    text: str
    quoted: bool
    tail: bool = False


_EMPTY = [Field("", False)]


def byte_order_mark(start: bytes) -> str | None:
    """Return the encoding that the first bytes of a file declare."""
    return next((name for mark, name in _BOMS if start.startswith(mark)), None)


def codec(name: str) -> str:
    """Return the canonical name of an encoding, or refuse it."""
    try:
        known = codecs.lookup(name)
        "".encode(known.name)
    except (LookupError, TypeError, ValueError):
        raise OptionError(
            f"The 'encoding' option must be the name of a text encoding. Got {name!r}.",
            "for example utf-8, utf-16, cp1252 or latin-1.",
        ) from None
    # A byte order mark is looked for in every encoding, so these two do not differ.
    return {"utf-8-sig": "utf-8"}.get(known.name, known.name)


def records(text: str, delimiter: str, quote: str) -> Iterator[tuple[list[Field], str]]:
    """Yield each record of `text` with its line end, which is '' for a record that the end of the text cuts off.

    The rules are those of Python's csv module and of Arrow: a quote counts only at the start of a field, two quotes
    inside a field stand for one, and whatever follows the closing quote is appended as it is.
    """
    d, q = re.escape(delimiter), re.escape(quote)
    plain = rf"(?P<plain>[^{d}\r\n]*)"
    quoted = rf"{q}(?P<inside>(?:[^{q}]|{q}{q})*+){q}?(?P<tail>[^{d}\r\n]*)"
    end = rf"(?P<end>\r\n|[{d}\r\n]|\Z)"
    field = re.compile(rf"(?:{quoted}|{plain}){end}" if quote else plain + end)
    record: list[Field] = []
    for match in field.finditer(text):
        if match.start() == len(text) and not record:
            return
        if match["plain"] is None:
            inside = match["inside"].replace(quote * 2, quote) + match["tail"]
            record.append(Field(inside, True, bool(match["tail"])))
        else:
            record.append(Field(match["plain"], False))
        if match["end"] != delimiter:
            yield record, match["end"]
            record = []


def detect(text: str, whole: bool, encoding: str, bom: bool, *, delimiter: str | None, quote: str | None) -> Dialect:
    """Return the dialect of a sample.

    Parameters
    ----------
    text : str
        The beginning of the file, decoded.
    whole : bool
        Whether it is the whole file.
    encoding, bom
        The encoding, and whether the file has a byte order mark.
    delimiter, quote : str, optional
        As given by the user; detected if None.
    """
    text = text.lstrip("\r\n")
    if not text:
        raise DataError("A CSV file must begin with a line of column names. Got only empty lines.")
    quote = _quote(text) if quote is None else quote
    if delimiter is None:
        scores = [(_score(text, whole, d, quote), -rank) for rank, d in enumerate(DELIMITERS)]
        delimiter = DELIMITERS[-max(scores)[1]]
    sample = [(record, end) for record, end in _complete(text, whole, delimiter, quote) if record != _EMPTY]
    fields = [field for record, _ in sample for field in record if field.text or field.quoted]
    ends = [end for _, end in sample if end]
    return Dialect(
        delimiter=delimiter,
        quote=quote,
        quoting="all" if quote and fields and all(field.quoted for field in fields) else "needed",
        encoding=encoding,
        bom=bom,
        # The most frequent: mixed line ends can be read, but only one is written.
        newline=max(("\n", "\r\n", "\r"), key=ends.count),
        decimal=decimal_mark(text, whole, delimiter, quote) or ".",
    )


def decimal_mark(text: str, whole: bool, delimiter: str, quote: str) -> str | None:
    """Return the decimal mark that most numbers of a sample have; None if no mark has more than the other."""
    if delimiter == ",":
        return "."
    sample = [record for record, _ in _complete(text.lstrip("\r\n"), whole, delimiter, quote) if record != _EMPTY]
    body = [field.text.strip() for record in sample[1:] for field in record]
    commas = sum(_COMMA_NUMBER.fullmatch(field) is not None for field in body)
    points = sum(_POINT_NUMBER.fullmatch(field) is not None for field in body)
    return None if commas == points else "," if commas > points else "."


def told_by_header(text: str, quote: str) -> bool:
    """Return whether `detect` finds the delimiter by the header alone: one delimiter divides it, or none does."""
    headers = [next(records(text.lstrip("\r\n"), delimiter, quote))[0] for delimiter in DELIMITERS]
    return sum(len(header) > 1 and not any(field.tail for field in header) for header in headers) <= 1


def _quote(text: str) -> str:
    """Return the quote: an apostrophe if all names of the header are in apostrophes, else a double quote."""
    name = "'(?:[^']|'')+'"
    return "'" if re.match(rf"{name}(?:[,;\t|]{name})*+(?:[\r\n]|\Z)", text) else '"'


def _complete(text: str, whole: bool, delimiter: str, quote: str) -> list[tuple[list[Field], str]]:
    sample = list(records(text, delimiter, quote))
    # The last record of a sample may be cut anywhere, even inside a line end.
    return sample if whole or len(sample) == 1 else sample[:-1]


def _score(text: str, whole: bool, delimiter: str, quote: str) -> tuple[float, int]:
    """Return how well a delimiter fits: the share of records that are as long as the header, then that length.

    A delimiter that the header does not have is among the last choices. If no other has it either, the file has one
    column, and its delimiter is one that no record has. The very last are those that cut a quoted name.
    """
    sample = [record for record, _ in _complete(text, whole, delimiter, quote) if record != _EMPTY]
    header = sample[0]
    share = sum(len(record) == len(header) for record in sample) / len(sample)
    demerits = 2 if any(field.tail for field in header) else 1 if len(header) == 1 else 0
    return share - demerits, len(header)
