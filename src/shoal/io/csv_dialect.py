"""How a CSV file is written down, found out from its first lines.

Detection looks at a sample only, is said to the user, and can be overruled. What it takes for the dialect is
then held against the whole file: a row with another number of fields is refused, never bent.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import NamedTuple

from shoal.errors import DataError, OptionError
from shoal.io.source import Dialect

__all__ = ["DELIMITERS", "Field", "byte_order_mark", "codec", "detect", "records"]

DELIMITERS = (",", ";", "\t", "|")
SAMPLE = 2**16  # characters
_BOMS = (
    # UTF-32 before UTF-16: the mark of the one begins with the mark of the other.
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_COMMA_NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+")
_POINT_NUMBER = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")


class Field(NamedTuple):
    """One field of a record, and whether it was quoted."""

    text: str
    quoted: bool


def byte_order_mark(start: bytes) -> str | None:
    """Return the encoding that the first bytes of a file declare."""
    return next((name for mark, name in _BOMS if start.startswith(mark)), None)


def codec(name: str) -> str:
    """Return the proper name of an encoding, or refuse it."""
    try:
        found = codecs.lookup(name)
        "".encode(found.name)
    except (LookupError, TypeError, ValueError):
        raise OptionError(
            f"The 'encoding' option must be the name of a text encoding. Got {name!r}.",
            "for example utf-8, utf-16, cp1252 or latin-1.",
        ) from None
    # The mark itself is looked for in every encoding, so that these two differ in nothing else.
    return {"utf-8-sig": "utf-8"}.get(found.name, found.name)


def records(text: str, delimiter: str, quote: str) -> Iterator[tuple[list[Field], str]]:
    """Yield the records of `text` with the line end of each; a record cut off by the end of the text has ''.

    The rules are those of Python's csv module and of Arrow: a quote counts at the start of a field only, two
    quotes inside stand for one, and what follows the closing quote is added as it is.
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
            record.append(Field(match["inside"].replace(quote * 2, quote) + match["tail"], True))
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
        What is known already.
    delimiter, quote : str, optional
        What the user has said.
    """
    text = text.lstrip("\r\n")
    if not text:
        raise DataError("A CSV file must begin with a line of column names. Got nothing but empty lines.")
    quote = _quote(text) if quote is None else quote
    if delimiter is None:
        scores = [(_score(text, whole, d, quote), -rank) for rank, d in enumerate(DELIMITERS)]
        delimiter = DELIMITERS[-max(scores)[1]]
    sample = [(record, end) for record, end in _complete(text, whole, delimiter, quote) if record != [("", False)]]
    fields = [field for record, _ in sample for field in record if field.text or field.quoted]
    ends = [end for _, end in sample if end]
    body = [field.text.strip() for record, _ in sample[1:] for field in record]
    commas = sum(_COMMA_NUMBER.fullmatch(field) is not None for field in body)
    points = sum(_POINT_NUMBER.fullmatch(field) is not None for field in body)
    return Dialect(
        delimiter=delimiter,
        quote=quote,
        quoting="all" if quote and fields and all(field.quoted for field in fields) else "needed",
        encoding=encoding,
        bom=bom,
        # The commonest; mixed line ends are read, and written as one.
        newline=max(("\n", "\r\n", "\r"), key=ends.count),
        decimal="," if delimiter != "," and commas > points else ".",
    )


def _quote(text: str) -> str:
    """Return the quote: ' where the whole header is written so, else the usual one."""
    header = re.split(r"[\r\n]", text, maxsplit=1)[0]
    names = re.split(r"[,;\t|]", header)
    apostrophes = all(len(name) > 1 and name[0] == name[-1] == "'" for name in names)
    return "'" if apostrophes and '"' not in header else '"'


def _complete(text: str, whole: bool, delimiter: str, quote: str) -> list[tuple[list[Field], str]]:
    found = list(records(text, delimiter, quote))
    # The last record of a sample may be cut anywhere, even inside a line end.
    return found if whole or len(found) == 1 else found[:-1]


def _score(text: str, whole: bool, delimiter: str, quote: str) -> tuple[float, int]:
    """Return how well a delimiter explains the sample: share of records as long as the header, then the length."""
    lengths = [len(record) for record, _ in _complete(text, whole, delimiter, quote) if record != [("", False)]]
    if lengths[0] == 1:
        return 0.0, 1
    return sum(length == lengths[0] for length in lengths) / len(lengths), lengths[0]
