"""Reading JSON lines: one object per line, and its keys are the columns.

A value is a text, a number, true, false or null; arrays and objects are refused. A line without a key that other lines
have is missing a value there, as one with null is; which of the two it was counts when a file is verified, and so does
how a number is written (1 and 1.0), but neither is passed on. Texts that are dates in all of a column are read as such
(`json_dates`). Lines that are no objects, repeated keys, NaN and what is not UTF-8 are refused, with their line.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.errors import DataError
from shoal.io.csv_dialect import byte_order_mark
from shoal.io.csv_stream import TIMES, CsvStream, NulError, UndecodableError, UnpackedError, first_bytes
from shoal.io.json_dates import dated
from shoal.io.json_writer import write
from shoal.io.source import Reading, Source
from shoal.io.typed import Apart, finer
from shoal.io.unpacking import unpacks_to_more

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read", "write"]

_ROWS = 2**12  # at a time: with more, looking for garbage takes longer than reading
_BUFFER = 2**20
_BLANK = " \t\r\n"
_EXACT = 2**53  # larger integers are not all floats
_DIGITS = 38  # of the largest type of whole numbers
# A table has a cell for each key and line; one with a key of its own in each line would not fit into memory.
_FEWEST = 10**6
_EMPTINESS = 100


class _Absent:
    """The value of a key that a line does not have."""


_ABSENT = _Absent()
_as_written = str.encode  # a number: as bytes, which no other value is
_KINDS = {type(None): 0, _Absent: 1, str: 2, bytes: 3, bool: 4}
_NULL, _GONE, _TEXT, _NUMBER, _BOOLEAN = range(5)
_WORDS: dict[type, str] = {list: "an array", tuple: "an object"}


_Line = tuple[int, tuple[str, ...], tuple[Any, ...]]
"""An object: the number of its line, its keys and its values."""


class _Part(NamedTuple):
    """Some rows of a column: as texts, or as booleans if there is nothing else; and their kinds, numbers of _KINDS."""

    values: pa.Array
    kinds: frozenset[int]
    by_row: pa.Array | None  # None if the nulls tell them


def read(job: Reading) -> Source:
    """Read a file of JSON lines, compressed or not."""
    try:
        encoding = byte_order_mark(first_bytes(job.path, job.compression)) or "utf-8"
        with CsvStream(job.path, job.compression, encoding, progress=job.progress) as stream:
            # The text closes the stream when it goes, so it stays until all is read.
            text = io.TextIOWrapper(io.BufferedReader(stream, _BUFFER), encoding="utf-8", newline="\n")
            table = _Columns(job.name)
            for lines in _in_parts(text, job.name):
                table.add(lines)
            stream.finish()
            digest = stream.sha256
    except UndecodableError:
        raise DataError(
            f"The file {job.name} must be in UTF-8, as all JSON is. Got bytes that are not valid in it.",
            "convert it, for example with iconv -f cp1252 -t utf-8.",
        ) from None
    except UnpackedError:
        raise unpacks_to_more(job.name, TIMES, "if you trust it, unpack it yourself.") from None
    except NulError:
        raise DataError(
            f"The file {job.name} must be JSON lines. Got a NUL character.",
            "if it is a file of another format, pass format=.",
        ) from None
    except OSError:
        what = f"compressed with {job.compression}" if job.compression else "readable to its end"
        raise DataError(f"The file {job.name} must be complete and {what}. Got a damaged file.") from None
    notes: list[str] = [] if encoding == "utf-8" else [f"encoding: {encoding} (detected)"]
    apart: Apart = {}
    read = table.finished(notes, apart)
    job.progress(1.0)
    return Source(read, False, "jsonl", None, digest, job.name, tuple(notes), job.compression, apart)


def _in_parts(text: Iterable[str], name: str) -> Iterator[list[_Line]]:
    """Yield the objects of a file, some thousand at a time."""
    decoder = json.JSONDecoder(
        object_pairs_hook=tuple, parse_int=_as_written, parse_float=_as_written, parse_constant=_no_number
    )
    decode = decoder.raw_decode
    known: set[tuple[str, ...]] = set()
    lines: list[_Line] = []
    for number, line in enumerate(text, 1):
        line = line.strip(_BLANK)
        if not line:
            continue
        try:
            pairs, end = decode(line)
        except (ValueError, RecursionError):
            raise _broken(name, number, line) from None
        if type(pairs) is not tuple or end != len(line):
            raise _broken(name, number, line)
        names, values = zip(*pairs, strict=True) if pairs else ((), ())
        if names not in known:
            _check_keys(names, name, number)
            known.add(names)
        lines.append((number, names, values))
        if len(lines) == _ROWS:
            yield lines
            lines = []
            if len(known) > _ROWS:
                known.clear()
    yield lines


def _no_number(_: str) -> None:
    raise ValueError


def _broken(name: str, number: int, line: str) -> DataError:
    # The line is not quoted, nor what the parser says of it.
    if line.startswith("["):
        return DataError(
            f"Every line of {name} must be one JSON object. Got an array in line {number}.",
            "a file that is one array is written as lines by jq -c '.[]'.",
        )
    if any(word in line for word in ("NaN", "Infinity")):
        return DataError(
            f"Every line of {name} must be one JSON object. Got something else in line {number}, perhaps NaN or "
            "Infinity, which JSON does not have.",
            "write null for a missing value.",
        )
    return DataError(
        f"Every line of {name} must be one JSON object. Got something else in line {number}.",
        "write each record into one line, as {..}, without commas between the lines.",
    )


def _check_keys(names: tuple[str, ...], name: str, number: int) -> None:
    if len(set(names)) < len(names):
        raise DataError(f"An object of {name} must have each key once. Got a key twice in line {number}.")
    if "" in names:
        raise DataError(f"The keys of {name} must not be empty. Got an empty one in line {number}.")
    if not all(_encodable(one) for one in names):
        raise DataError(f"The keys of {name} must be valid texts. Got half a character in line {number}.")


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a pair, written as \ud800
        return False
    return True


class _Columns:
    """The columns that were read so far, in parts."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._rows: list[int] = []  # of each part
        self._values = 0
        self._parts: dict[str, dict[int, _Part]] = {}

    def add(self, lines: list[_Line]) -> None:
        """Add the rows of some lines."""
        if not lines:
            return
        self._values += sum(len(values) for _, _, values in lines)
        names = dict.fromkeys(name for names in dict.fromkeys(names for _, names, _ in lines) for name in names)
        every = len(self._parts.keys() | names.keys())
        n = sum(self._rows) + len(lines)
        if every * n > _FEWEST + _EMPTINESS * self._values:
            raise DataError(
                f"The lines of {self._name} must have mostly the same keys. Got {every} different ones in {n} lines."
            )
        for name, values in _by_name(lines, list(names)).items():
            self._parts.setdefault(name, {})[len(self._rows)] = self._part(values, name, lines)
        self._rows.append(len(lines))

    def _part(self, values: Sequence[Any], name: str, lines: list[_Line]) -> _Part:
        import pyarrow as pa

        types = set(map(type, values))
        if not types <= _KINDS.keys():
            row, value = next((row, value) for row, value in enumerate(values) if type(value) not in _KINDS)
            raise DataError(
                f"Every value of {self._name} must be a text, a number, true, false or null. "
                f"Got {_WORDS[type(value)]} in line {lines[row][0]}, key {name!r}.",
                "give each value inside it a key of its own, or leave it out.",
            )
        kinds = frozenset(_KINDS[kind] for kind in types)
        present = kinds - {_NULL}
        by_row = None
        if len(present) > 1 or {_NULL, _GONE} <= kinds:
            by_row = pa.array([_KINDS[type(value)] for value in values], pa.int8())
        if present == {_BOOLEAN}:
            return _Part(pa.array(values, pa.bool_()), kinds, by_row)
        if present == {_NUMBER}:
            return _Part(pa.array(values, pa.binary()).cast(pa.string()), kinds, by_row)
        if len(present) > 1 or _GONE in kinds:
            values = [_plain(value) for value in values]
        try:
            return _Part(pa.array(values, pa.string()), kinds, by_row)
        except UnicodeEncodeError:
            row = next(row for row, value in enumerate(values) if value is not None and not _encodable(value))
            raise DataError(
                f"Every text of {self._name} must be valid. Got half a character in line {lines[row][0]}, key "
                f"{name!r}.",
                "characters beyond FFFF are written as two escapes.",
            ) from None

    def finished(self, notes: list[str], apart: Apart) -> pa.Table:
        """Return the table; what it does not tell is added to `notes` and `apart`."""
        import pyarrow as pa

        if not self._parts:
            raise DataError(f"The file {self._name} must hold an object with keys. Got none.")
        columns = {}
        for name, parts in self._parts.items():
            found = [parts.get(at, _empty(rows)) for at, rows in enumerate(self._rows)]
            columns[name] = _column(found, name, notes, apart)
        if any(_GONE in part.kinds for parts in self._parts.values() for part in parts.values()) or any(
            len(parts) < len(self._rows) for parts in self._parts.values()
        ):
            notes.append("keys: a key that a line does not have is a missing value")
        return pa.table(columns)


def _by_name(lines: list[_Line], names: list[str]) -> dict[str, Sequence[Any]]:
    """Return the values of each key, line by line."""
    _, first, _ = lines[0]
    if all(names == first for _, names, _ in lines):
        return dict(zip(first, zip(*(values for _, _, values in lines), strict=True), strict=True))
    columns: dict[str, list[Any]] = {name: [_ABSENT] * len(lines) for name in names}
    for row, (_, own, values) in enumerate(lines):
        for name, value in zip(own, values, strict=True):
            columns[name][row] = value
    return dict(columns)


def _plain(value: Any) -> str | None:
    if value is None or value is _ABSENT:
        return None
    if isinstance(value, bytes):
        return value.decode()
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _empty(rows: int) -> _Part:
    import pyarrow as pa

    return _Part(pa.nulls(rows, pa.string()), frozenset({_GONE}), None)


def _column(parts: list[_Part], name: str, notes: list[str], apart: Apart) -> Any:
    """Return a column of the type of its values."""
    import pyarrow as pa

    kinds = frozenset().union(*(part.kinds for part in parts))
    present = kinds - {_NULL, _GONE}
    alone = present == {_BOOLEAN}
    kind = pa.bool_() if alone else pa.string()
    values = pa.chunked_array([part.values.cast(kind) for part in parts], kind)
    read, spelling = values, None
    if present == {_NUMBER}:
        read = _numbers(values, name, notes)
        spelling = finer(values, read)
    elif present == {_TEXT}:
        read = dated(values)
        spelling = finer(values, read) if read is not values else None
    elif len(present) > 1:
        notes.append(f"column {name!r}: values of several kinds, read as text")
    if spelling is not None or len(present) > 1 or {_NULL, _GONE} <= kinds:
        apart[name] = _told_apart(parts, spelling)
    return read


def _told_apart(parts: list[_Part], spelling: Any) -> Any:
    """Return int64[n]: different numbers where a reader of the file can tell values apart."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = []
    for part in parts:
        kind = max(part.kinds)
        by_row = part.by_row
        if by_row is None:
            by_row = pc.if_else(part.values.is_null(), _GONE if kind == _GONE else _NULL, kind)
        rows.append(by_row.cast(pa.int64()))
    codes = pa.chunked_array(rows, pa.int64()).combine_chunks()
    if spelling is not None:
        codes = pc.add(codes, pc.multiply(pc.add(spelling.cast(pa.int64()), 1), len(_KINDS)))
    return codes


def _numbers(texts: Any, name: str, notes: list[str]) -> Any:
    """Return numbers as whole ones if all are written so, and as floating-point numbers otherwise."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = pc.match_substring_regex(texts, "^-?[0-9]+$")
    try:
        if pc.all(whole).as_py():
            return texts.cast(pa.int64())
    except pa.ArrowInvalid:
        if (pc.max(pc.utf8_length(pc.utf8_ltrim(texts, "-"))).as_py() or 0) > _DIGITS:
            raise DataError(
                f"A whole number must have at most {_DIGITS} digits. Got more in the column {name!r}.",
                "write it as a text.",
            ) from None
        return texts.cast(pa.decimal128(_DIGITS, 0))
    numbers = texts.cast(pa.float64())
    if pc.any(pc.is_inf(numbers)).as_py():
        raise DataError(f"A number must be smaller than 1e308. Got a larger one in the column {name!r}.")
    if pc.any(pc.and_(whole, pc.greater_equal(pc.abs(numbers), float(_EXACT)))).as_py():
        raise DataError(
            f"The numbers of the column {name!r} must fit into one type. Got whole numbers from 2**53 on among others.",
            "write all of them as whole numbers, or as texts.",
        )
    if pc.any(pc.match_substring_regex(texts, "^-?0*[.]?0*[1-9]([.]?[0-9]){17}")).as_py():
        notes.append(f"column {name!r}: numbers keep 17 digits")
    return numbers
