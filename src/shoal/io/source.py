"""What was read, how it was written down, and what was written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.progress import Progress, silent

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Dialect", "Expected", "Reading", "Source", "Writing", "Written"]


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written down."""

    delimiter: str = ","
    quote: str = '"'  # '' where the file has no quoting
    quoting: str = "needed"  # or "all": every value that is there is quoted
    encoding: str = "utf-8"
    bom: bool = False
    newline: str = "\n"
    decimal: str = "."


@dataclass(frozen=True)
class Source:
    """A table that was read, with what is needed to write another one like it."""

    table: pa.Table
    text: bool  # all columns are strings exactly as written; null is an unquoted empty field
    format: str
    dialect: Dialect | None
    sha256: str | None  # of the bytes on the disk; None for a database
    name: str  # without any password
    notes: tuple[str, ...] = ()  # what was detected, one line each
    compression: str | None = None  # of the file, where it has one and it can be known
    # For columns in which different values of the file are one value of the table (1 and '1', two codes of missing):
    # numbers, one for each row, that differ where values that look alike here differ in the file.
    apart: Mapping[str, pa.Array] = field(default_factory=dict, repr=False)
    # Options of reading that were neither given nor told by the header of a CSV file, so that records decided them.
    guessed: tuple[str, ...] = ()

    @property
    def decimal(self) -> str:
        """Return the decimal mark of numbers in text."""
        return "." if self.dialect is None else self.dialect.decimal


@dataclass(frozen=True)
class Written:
    """What lies on the disk, or in the database, now."""

    name: str
    sha256: str | None  # None for a database and for standard output
    rows: int
    bytes: int | None
    notes: tuple[str, ...] = ()  # what the format could not hold, one line each
    warnings: tuple[str, ...] = ()  # what may harm readers of the file


@dataclass(frozen=True)
class Reading:
    """A file to be read, and what the user has said about it."""

    path: Path
    format: str
    name: str  # for errors and for the Source
    suffix: str = ""
    compression: str | None = None
    sheet: str | int | None = None
    table: str | None = None  # the object of a file of R
    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    header: bool | None = None  # whether the first line has the names; None: yes, unless it looks like a record
    progress: Progress = silent


@dataclass(frozen=True)
class Writing:
    """A file to be written."""

    path: Path
    format: str
    name: str
    suffix: str = ""
    compression: str | None = None
    like: Source | None = None
    escape_formulas: bool = False
    progress: Progress = silent


@dataclass(frozen=True)
class Expected:
    """What reading must give back after writing, and how to read it."""

    table: pa.Table
    notes: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)  # of Reading
    warnings: tuple[str, ...] = ()
