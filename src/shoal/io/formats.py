"""The formats, and which of them a path or an address stands for."""

from __future__ import annotations

import os
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple
from urllib.parse import unquote

from shoal.errors import OptionError, ShoalError, near_names

__all__ = ["FORMATS", "Place", "locate", "needed"]


class Format(NamedTuple):
    """A file format or a kind of database."""

    name: str
    suffixes: tuple[str, ...]
    module: str
    database: bool = False
    packed: bool = False  # also with a suffix of COMPRESSIONS


FORMATS = {
    f.name: f
    for f in (
        Format("csv", (".csv", ".tsv", ".txt", ".tab"), "shoal.io.csv_files", packed=True),
        Format("jsonl", (".jsonl", ".ndjson"), "shoal.io.json_lines", packed=True),
        Format("parquet", (".parquet", ".pq"), "shoal.io.arrow_files"),
        Format("arrow", (".arrow", ".feather", ".ipc"), "shoal.io.arrow_files"),
        Format("excel", (".xlsx", ".xlsm"), "shoal.io.excel"),
        Format("stata", (".dta",), "shoal.io.statistics"),
        Format("spss", (".sav", ".zsav"), "shoal.io.statistics"),
        Format("spss-portable", (".por",), "shoal.io.statistics"),
        Format("sas", (".sas7bdat",), "shoal.io.statistics"),
        Format("sas-transport", (".xpt",), "shoal.io.statistics"),
        Format("r", (".rds", ".rda", ".rdata"), "shoal.io.r_files"),
        Format("sqlite", (".sqlite", ".sqlite3", ".db"), "shoal.io.sqlite", database=True),
        Format("duckdb", (".duckdb",), "shoal.io.duck", database=True),
        Format("postgresql", (), "shoal.io.postgres", database=True),
    )
}
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_SUFFIXES = {suffix: f.name for f in FORMATS.values() for suffix in f.suffixes}
_ALIASES = {
    "tsv": "csv",
    "ndjson": "jsonl",
    "json-lines": "jsonl",
    "xlsx": "excel",
    "feather": "arrow",
    "ipc": "arrow",
    "postgres": "postgresql",
}


class Place(NamedTuple):
    """Where a table is read from or written to."""

    format: Format
    path: Path | None  # None for standard input and output and for a server
    url: str | None  # of a server; holds the password
    suffix: str
    compression: str | None

    @property
    def standard(self) -> bool:
        """Return whether this is standard input or output."""
        return self.path is None and self.url is None


def locate(where: str | os.PathLike[str], format: str | None, option: str) -> Place:
    """Return the place that `where` stands for; `option` is its name in errors."""
    if not isinstance(where, str | os.PathLike) or not os.fspath(where):
        shown = "an empty text" if where == "" else f"an object of type {type(where).__name__}"
        raise OptionError(f"The {option!r} must be a path or the address of a database. Got {shown}.")
    text = os.fspath(where)
    wanted = _named(format)
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+)://", text)
    if scheme and not isinstance(where, os.PathLike):
        return _address(text, scheme.group(1).lower(), wanted, option)
    if text == "-":
        return Place(wanted or FORMATS["csv"], None, None, "", None)
    path = Path(text).expanduser()
    suffix, compression = path.suffix.lower(), COMPRESSIONS.get(path.suffix.lower())
    if compression:
        suffix = Path(path.stem).suffix.lower()
    if wanted is None and suffix not in _SUFFIXES:
        raise OptionError(
            f"The {option!r} must have a known suffix, or the format must be given. Got the suffix {suffix!r}.",
            f"the suffixes are {', '.join(_SUFFIXES)}, the first six also with .gz or .zst; or pass format='csv'.",
        )
    chosen = wanted or FORMATS[_SUFFIXES[suffix]]
    if chosen.name == "postgresql":
        raise OptionError(
            f"The {option!r} of format 'postgresql' must be an address. Got a path.",
            "write postgresql://user@host/database.",
        )
    if compression and not chosen.packed:
        raise OptionError(
            f"The {option!r} may be compressed with {path.suffix} for CSV and JSON lines only. "
            f"Got the format {chosen.name!r}.",
            "other formats have their own compression, or none.",
        )
    return Place(chosen, path, None, suffix, compression)


def _named(format: str | None) -> Format | None:
    if format is None:
        return None
    name = _ALIASES.get(str(format).lower(), str(format).lower())
    if name not in FORMATS:
        raise OptionError(
            f"The 'format' option must be the name of a format. Got {format!r}.",
            near_names(name, FORMATS, f"the formats are {', '.join(FORMATS)}."),
        )
    return FORMATS[name]


def _address(text: str, scheme: str, wanted: Format | None, option: str) -> Place:
    name = {"postgres": "postgresql"}.get(scheme, scheme)
    if name not in ("sqlite", "duckdb", "postgresql"):
        raise OptionError(
            f"The address of {option!r} must begin with sqlite:///, duckdb:/// or postgresql://. Got {scheme}://.",
            "download the file first, or name a path." if scheme in ("http", "https", "s3", "ftp") else None,
        )
    if wanted is not None and wanted.name != name:
        raise OptionError(
            f"The 'format' must agree with the address. Got format {wanted.name!r} and an address of {name}."
        )
    if name == "postgresql":
        return Place(FORMATS[name], None, text, "", None)
    rest = text.split("://", 1)[1]
    if not rest.startswith("/") or len(rest) == 1:
        raise OptionError(
            f"The address of {option!r} must have three slashes before a relative path and four before an absolute "
            f"one. Got another number of slashes.",
            f"write {name}:///people.db or {name}:////data/people.db.",
        )
    return Place(FORMATS[name], Path(unquote(rest[1:])), None, "", None)


def needed(module: str, extra: str, what: str) -> ModuleType:
    """Import an optional package; raise ShoalError with the command that installs it if it is missing."""
    try:
        return import_module(module)
    except ImportError:
        raise ShoalError(
            f"Working with {what} needs the package {module.split('.')[0]}. Got none: it is not installed.",
            f"pip install 'shoal[{extra}]'",
        ) from None
