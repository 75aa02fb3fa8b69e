"""The bytes of a CSV file on their way to the parser: hashed, decompressed, converted to UTF-8, checked.

One more row follows the last one: the end mark. A quote that is never closed makes the parser take the rest of the file
for one field without any error. It takes the end mark too, which is how the open quote is detected.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import os
import secrets
from math import inf
from pathlib import Path
from typing import Any

from shoal.io.csv_dialect import byte_order_mark
from shoal.io.unpacking import most_bytes
from shoal.progress import Progress, silent

__all__ = ["TIMES", "CsvStream", "NulError", "UndecodableError", "UnpackedError", "opened_raw"]

# Times its size that a large compressed file may unpack to.
TIMES = 200


class UndecodableError(Exception):
    """The file is not in this encoding."""


class NulError(Exception):
    """The file contains a NUL character."""


class UnpackedError(Exception):
    """The file unpacks to more than its size can account for."""


class Hashed(io.RawIOBase):
    """A file that is hashed as it is read."""

    def __init__(self, path: Path, progress: Progress) -> None:
        super().__init__()
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by close
        self._size = max(os.fstat(self._file.fileno()).st_size, 1)
        self._done = 0
        self._progress = progress
        self.digest = hashlib.sha256()

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes, hashed."""
        chunk = self._file.read(size)
        self.digest.update(chunk)
        self._done += len(chunk)
        self._progress(min(self._done / self._size, 1.0))
        return chunk

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def opened_raw(hashed: Hashed, compression: str | None) -> Any:
    """Return a stream of the decompressed bytes."""
    if compression is None:
        return hashed
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(hashed, mode="r"), compression)


class CsvStream(io.RawIOBase):
    """The text of a CSV file as UTF-8 without byte order mark, with the end mark as a last row.

    Parameters
    ----------
    path : Path
        The file.
    compression : {'gzip', 'zstd'}, optional
        How it is compressed.
    encoding : str
        The encoding of the file; bytes that are not valid in it raise UndecodableError.
    columns : int, default 0
        Number of fields of the end mark; 0 for no end mark.
    delimiter : str
        Between the fields of the end mark.
    """

    def __init__(
        self,
        path: Path,
        compression: str | None,
        encoding: str,
        columns: int = 0,
        delimiter: str = ",",
        progress: Progress = silent,
    ) -> None:
        super().__init__()
        self._hashed = Hashed(path, progress)
        self._raw = opened_raw(self._hashed, compression)
        self._room = inf if compression is None else most_bytes(path, TIMES)
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._utf8 = encoding == "utf-8"
        self.mark = secrets.token_hex(16)
        self._end = (self.mark + delimiter * (columns - 1) + "\n").encode() if columns else b""
        self._pending = b""
        self._started = self._ended = False
        self._last = b"\n"  # so that an empty first line counts as one
        self.sha256 = ""  # see finish
        self.empty_lines = False  # two line ends in a row were seen, perhaps inside quotes

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes of UTF-8; b'' at the end."""
        size = size if size is not None and size >= 0 else 2**62
        while not self._pending and not self._ended:
            self._pending = self._next(min(size, 2**22))
        result, self._pending = self._pending[:size], self._pending[size:]
        return result

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer`, as `io.BufferedReader` expects."""
        chunk = self.read(len(buffer))
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def _next(self, size: int) -> bytes:
        raw = self._raw.read(size)
        self._room -= len(raw)
        if self._room < 0:
            raise UnpackedError
        try:
            text = self._decoder.decode(raw, final=not raw)
            if not self._utf8:
                chunk = text.encode()
            else:
                # The parser gets the bytes as they are; they are decoded only to refuse what is not UTF-8.
                chunk = raw
        except UnicodeError:
            raise UndecodableError from None
        if not self._started and chunk:
            self._started = True
            chunk = chunk.removeprefix(codecs.BOM_UTF8)
            if self._end and chunk.startswith(codecs.BOM_UTF8):
                # A second mark is text; without the first, Arrow would drop it.
                chunk = codecs.BOM_UTF8 + chunk
        if b"\0" in chunk:
            raise NulError
        if not raw:
            self._ended = True
            if self._end and not (chunk or self._last).endswith((b"\n", b"\r")):
                chunk += b"\n"
            return chunk + self._end
        self._look_for_empty_lines(chunk)
        return chunk

    def _look_for_empty_lines(self, chunk: bytes) -> None:
        if not chunk:
            return
        joint = self._last + chunk[:2]
        pairs = (b"\n\n", b"\n\r", b"\r\r")
        self.empty_lines = self.empty_lines or any(pair in chunk or pair in joint for pair in pairs)
        self._last = chunk[-1:]

    def finish(self) -> None:
        """Read the rest, so that `sha256` covers all bytes of the file."""
        while self._hashed.read(2**20):  # bytes after the end of the compressed data
            pass
        self.sha256 = self._hashed.digest.hexdigest()

    def close(self) -> None:
        """Close the file."""
        self._hashed.close()
        super().close()


def first_bytes(path: Path, compression: str | None) -> bytes:
    """Return the beginning of a file, decompressed."""
    hashed = Hashed(path, silent)
    try:
        return bytes(opened_raw(hashed, compression).read(4))
    finally:
        hashed.close()


def encodings(path: Path, compression: str | None) -> tuple[tuple[str, ...], bool]:
    """Return the encodings to try, in order, and whether a byte order mark declares the only one."""
    declared = byte_order_mark(first_bytes(path, compression))
    return ((declared,), True) if declared else (("utf-8", "cp1252", "latin-1"), False)
