"""How much a packed file may unpack to: a few kilobytes can hold more zeros than any memory.

A file that unpacks to a few hundred mebibytes is read in any case; a larger one only if it is no more than so many
times its size, which tables are not, and files that were made to fill the memory are. The hint is always to unpack it.
"""

from __future__ import annotations

import os
from pathlib import Path

from shoal.errors import DataError

__all__ = ["CELLS", "LARGEST", "check_cells", "most_bytes", "unpacks_to_more"]

# Bytes that any file may unpack to.
LARGEST = 2**29
# Cells that any table may have, and times the bytes of the file that a larger one may: a column of one value repeated
# takes Parquet almost nothing.
CELLS, CELLS_PER_BYTE = 2**28, 100


def most_bytes(path: Path | str, times: int) -> int:
    """Return how many bytes a file may unpack to: `LARGEST`, or `times` its size."""
    return max(LARGEST, times * os.stat(path).st_size)


def unpacks_to_more(name: str, times: int, hint: str) -> DataError:
    """Return the error for a file that unpacks to more than `most_bytes`."""
    return DataError(
        f"The file {name} must have at most {LARGEST >> 20} MiB, or {times} times its size, when it is unpacked. "
        "Got one that has more.",
        hint,
    )


def check_cells(path: Path, name: str, rows: int, columns: int) -> None:
    """Refuse a file that declares far more cells than its size can account for."""
    most = max(CELLS, CELLS_PER_BYTE * os.stat(path).st_size)
    if rows * columns > most:
        raise DataError(
            f"The table of {name} must have at most {most:,} cells, as its file is small. Got {rows:,} rows and "
            f"{columns:,} columns.",
            "if you trust it, write it again as CSV, which takes the room that it needs.",
        )
