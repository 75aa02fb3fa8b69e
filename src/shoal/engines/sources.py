"""Opens tables that are read in pieces: which class reads which format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.engines.arrow_batches import ArrowBatches, ParquetBatches
from shoal.engines.batches import BATCH_BYTES, Batches, parts_of
from shoal.engines.csv_batches import CsvBatches, CsvFolder
from shoal.engines.database_batches import open_database
from shoal.errors import OptionError
from shoal.io.files import checked_input
from shoal.io.formats import Place, locate

__all__ = ["open_batches"]

# Options of reading that CSV has.
OF_CSV = ("delimiter", "encoding", "decimal", "quote", "header")
# Formats that can be read in pieces; the others are read whole.
STREAMED = ("csv", "parquet", "arrow", "sqlite", "duckdb", "postgresql")


def open_batches(
    where: str | os.PathLike[str], reading: Mapping[str, Any] | None = None, *, batch_bytes: int = BATCH_BYTES
) -> Batches:
    """Return a table that is read in pieces.

    Parameters
    ----------
    where : path or address
        A CSV, Parquet or Arrow file, a folder of Parquet or CSV files, or a database; see :func:`shoal.io.read`.
    reading : mapping
        Keywords of :func:`shoal.io.read`.
    batch_bytes : int
        About the size of a piece.
    """
    options = {name: value for name, value in (reading or {}).items() if value is not None}
    if options.get("delimiter") in ("\\t", "tab"):
        options["delimiter"] = "\t"
    format = options.pop("format", None)
    if os.path.isdir(where):
        return _of_parts(Path(where), format, options, batch_bytes)
    place = locate(where, format, "source")
    if place.standard or place.format.name not in STREAMED:
        got = "standard input" if place.standard else f"the format {place.format.name!r}"
        raise OptionError(
            f"A table that is read piece by piece must be {', '.join(STREAMED[:-1])} or {STREAMED[-1]}. Got {got}.",
            "write it as Parquet or CSV first, or read it whole with engine='memory' (--engine memory).",
        )
    if place.path is not None:
        checked_input(place.path)
    return _opened(place, options, batch_bytes)


def _of_parts(folder: Path, format: str | None, options: dict[str, Any], batch_bytes: int) -> Batches:
    """Return the table whose parts are the files of a folder."""
    format, files = parts_of(folder, format)
    if format == "csv":
        _refuse_others(options, format, *OF_CSV)
        return CsvFolder(folder, files, options, batch_bytes)
    _refuse_others(options, format)
    return ParquetBatches(str(folder), files, batch_bytes, folder)


def _opened(place: Place, options: dict[str, Any], batch_bytes: int) -> Batches:
    format = place.format.name
    if place.format.database:
        _refuse_others(options, format, "table", "query")
        return open_database(place, options.get("table"), options.get("query"), batch_bytes)
    if place.path is None:
        raise OptionError("The 'source' must be a path. Got none.")
    if format == "csv":
        _refuse_others(options, format, *OF_CSV)
        return CsvBatches(place, options, batch_bytes)
    _refuse_others(options, format)
    if format == "parquet":
        return ParquetBatches(str(place.path), [place.path], batch_bytes)
    return ArrowBatches(place.path, batch_bytes)


def _refuse_others(options: Mapping[str, Any], format: str, *known: str) -> None:
    for option in options:
        if option == "header" and options[option] is True:
            continue  # every other format has names
        if option not in known:
            raise OptionError(f"The {option!r} option of reading must not be given for {format}. Got it.")
