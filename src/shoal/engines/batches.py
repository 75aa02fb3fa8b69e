"""Tables that are read more than once, piece by piece, always in the same order.

A pass begins and ends with a look at the source: a file that has changed since the table was opened is refused, and so
are rows of a database that are not those of an earlier pass.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.engines.hashing import hashes_of
from shoal.errors import DataError, OptionError, near_names
from shoal.io import Dialect, Source
from shoal.io.files import cannot_read, stamp
from shoal.io.formats import COMPRESSIONS, FORMATS

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["BATCH_BYTES", "Batches", "FileBatches", "TableBatches", "parts_of", "row_bytes", "sliced"]

BATCH_BYTES = 2**23
# Formats of files that are parts of one table, and how the names of these files end. Notes lie beside them as .txt.
PARTS = {"parquet": FORMATS["parquet"].suffixes, "csv": (".csv", ".tsv", ".tab")}
Stamps = tuple[tuple[str, tuple[int, ...]], ...]


class Batches(ABC):
    """A table that can be read more than once, in pieces, always in the same order.

    Attributes
    ----------
    name, format : str
        For messages, without any password; and a name of `shoal.io.formats`.
    schema : pyarrow.Schema
    text : bool
        Whether all columns are texts as written in a CSV file.
    dialect : Dialect or None
        Of a CSV file.
    compression : str or None
        Of the file, where it has one.
    rows, size : int or None
        Number of rows (None before the first pass, where the source does not say) and of bytes.
    sha256 : str or None
        Of the bytes of a CSV file, and of any other file for which :meth:`hashed` was called.
    notes : tuple of str
        What was detected, one line each.
    """

    name: str
    format: str
    schema: pa.Schema
    text: bool = False
    dialect: Dialect | None = None
    compression: str | None = None
    rows: int | None = None
    size: int | None = None
    sha256: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def decimal(self) -> str:
        """Return the decimal mark of numbers in text."""
        return "." if self.dialect is None else self.dialect.decimal

    @property
    def names(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.schema.names)

    def read(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some columns, all by default, in the order of the source.

        Raises
        ------
        DataError
            If the source cannot be read to its end, or is not what it was.
        """
        wanted = self.names if columns is None else list(columns)
        for name in wanted:
            if name not in self.schema.names:
                hint = near_names(name, self.names, f"it has {len(self.names)} columns.")
                raise OptionError(f"{self.name} has no column {name!r}.", hint=hint)
        self.require_unchanged()
        rows = 0
        try:
            for batch in self._pieces(wanted):
                self.require_unchanged()
                rows += batch.num_rows
                yield batch
        except DataError:
            self.require_unchanged()  # what does not parse may be half of a change
            raise
        except OSError as error:
            self.require_unchanged()
            raise cannot_read(self.name, error) from None
        self.require_unchanged()
        if self.rows is not None and rows != self.rows:
            raise self.changed()
        self.rows = rows

    @abstractmethod
    def _pieces(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of these columns."""

    @abstractmethod
    def require_unchanged(self) -> None:
        """Raise DataError if the source is not what it was when it was opened."""

    @property
    @abstractmethod
    def fingerprint(self) -> str | None:
        """Return what another process can tell an unchanged source by; None if it cannot."""

    def changed(self) -> DataError:
        """Return the error for a source that changes between or during passes."""
        return DataError(
            f"{self.name} must stay as it is while it is read more than once. Got a change; nothing was published.",
            "copy it, and read the copy.",
        )

    def like(self) -> Source:
        """Return a source without rows, for whoever writes a table like this one."""
        return Source(
            self.schema.empty_table(), self.text, self.format, self.dialect, self.sha256, self.name, self.notes,
            self.compression,
        )  # fmt: skip

    def close(self) -> None:  # noqa: B027 - most sources have nothing to let go of
        """Let go of the source."""


class FileBatches(Batches):
    """A table in one or several files, which are watched; and so is the folder that they make up, if it is given."""

    def __init__(
        self,
        name: str,
        format: str,
        paths: Sequence[Path],
        batch_bytes: int = BATCH_BYTES,
        folder: Path | None = None,
    ) -> None:
        self.name, self.format = name, format
        self.paths, self.batch_bytes, self._folder = list(paths), batch_bytes, folder
        self._stamps = self._stamped()
        self.size = sum(one[2] for _, one in self._stamps if one)

    def _stamped(self) -> Stamps:
        stamps = []
        for path in self._watched():
            try:
                stamps.append((str(path), stamp(path)))
            except FileNotFoundError:
                stamps.append((str(path), ()))
            except OSError as error:
                raise cannot_read(self.name, error) from None
        return tuple(stamps)

    def _watched(self) -> Sequence[Path]:
        """Return the files whose changes are changes of the table."""
        return self.paths

    def require_unchanged(self) -> None:
        """Raise DataError if a file is not what it was when it was opened, or the folder has other files."""
        if self._folder is not None and parts_of(self._folder, self.format)[1] != self.paths:
            raise self.changed()
        if self._stamped() != self._stamps:
            raise self.changed()

    @property
    def fingerprint(self) -> str | None:
        """Return a hash of names, sizes and times of the files."""
        return hashlib.sha256(repr(self._stamps).encode()).hexdigest()

    def hashed(self, progress: Callable[[float], None] | None = None) -> str | None:
        """Return the SHA-256 of the file, None if there are several; read once, and kept."""
        from shoal.io.files import sha256_of

        if self.sha256 is None and len(self.paths) == 1:
            self.sha256 = sha256_of(self.paths[0], progress or (lambda _: None))
            self.require_unchanged()
        return self.sha256


class TableBatches(Batches):
    """A table in memory, in pieces of `piece` rows."""

    def __init__(
        self, table: pa.Table, *, piece: int = 65_536, text: bool = False, dialect: Dialect | None = None
    ) -> None:
        self.name, self.format = "the table", "memory"
        self.table, self.schema, self.piece = table, table.schema, piece
        self.text, self.dialect = text, dialect
        self.rows, self.size = table.num_rows, table.nbytes

    def _pieces(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        yield from self.table.select(columns).to_batches(max_chunksize=self.piece)

    def require_unchanged(self) -> None:
        """Do nothing: a pyarrow.Table never changes."""

    @property
    def fingerprint(self) -> str | None:
        """Return None: another process does not have the table."""
        return None


class Passes:
    """Remembers the values of each column, so that a later pass that gives others is noticed."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def watched(self, pieces: Iterator[pa.RecordBatch], changed: Callable[[], DataError]) -> Iterator[pa.RecordBatch]:
        """Yield the pieces; in the end, raise the error if a column is not that of an earlier pass."""
        digests: dict[str, Any] = {}
        for batch in pieces:
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                digests.setdefault(name, hashlib.sha256()).update(hashes_of(column).tobytes())
            yield batch
        for name, digest in digests.items():
            if self._known.setdefault(name, digest.hexdigest()) != digest.hexdigest():
                raise changed()


def parts_of(folder: Path, format: str | None = None) -> tuple[str, list[Path]]:
    """Return the format of the files in a folder that make up a table, and the files in the order of their names.

    Hidden files, those whose names begin with an underscore, and those in folders below are no parts of it.

    Parameters
    ----------
    folder : Path
    format : str or None
        "parquet" or "csv"; None: that of the files, if it is one.
    """
    format = {"tsv": "csv"}.get(str(format), format)
    if format is not None and format not in PARTS:
        raise OptionError(f"A folder that is a table must have Parquet or CSV files. Got the format {format!r}.")
    try:
        seen = sorted(path for path in folder.iterdir() if not path.name.startswith((".", "_")) and path.is_file())
    except OSError as error:
        raise cannot_read(str(folder), error) from None
    found = {one: [path for path in seen if _is_part(path, one)] for one in PARTS if format in (None, one)}
    found = {one: files for one, files in found.items() if files}
    if not found:
        raise DataError(
            f"The folder {folder} must have {'Parquet or CSV' if format is None else format} files in it. Got none.",
            "name a file, or the folder.",
        )
    if len(found) > 1:
        raise DataError(
            f"The files of {folder} must have one format, as parts of one table. Got files of "
            f"{' and of '.join(found)}.",
            "name the format (--from csv), or give them folders of their own.",
        )
    return next(iter(found.items()))


def _is_part(path: Path, format: str) -> bool:
    packed = FORMATS[format].packed and path.suffix.lower() in COMPRESSIONS
    return (Path(path.stem) if packed else path).suffix.lower() in PARTS[format]


def row_bytes(schema: pa.Schema) -> int:
    """Return about how many bytes a row takes in memory; texts are taken to have 24."""
    import pyarrow as pa

    total = 0
    for kind in schema.types:
        try:
            total += max(1, kind.bit_width // 8) if not pa.types.is_dictionary(kind) else 4
        except ValueError:
            total += 28
    return max(1, total)


def sliced(batch: pa.RecordBatch, batch_bytes: int) -> Iterator[pa.RecordBatch]:
    """Yield a batch in pieces of about `batch_bytes`."""
    size = max(1, batch.nbytes)
    rows = max(1, batch.num_rows * batch_bytes // size)
    for at in range(0, batch.num_rows, rows):
        yield batch.slice(at, rows)
