"""How workers read tables: under the names that their owners gave them, and never more than memory holds."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError
from shoal.io.formats import locate
from shoal.progress import Progress
from shoal.release.job import read_input
from shoal.web.folders import apart

if TYPE_CHECKING:
    from shoal.io import Source

CHUNK = 2**20


def named(where: str, label: str | None) -> str:
    """Return a table's path as its owner would write it: an upload lies in this folder under its own name."""
    if label is None:
        return where
    label = apart(label)
    if not os.path.lexists(label):
        os.symlink(where, label)
    return label


def in_short(where: str) -> str:
    """Return a file of this folder by its name alone, so that messages do not tell where the server keeps it."""
    folder, name = os.path.split(where)
    return name if folder and os.path.realpath(folder) == os.path.realpath(os.curdir) else where


def put_beside(files: Mapping[str, str]) -> None:
    """Let files that a plan names lie in this folder, under the names that the plan has for them."""
    for label, path in files.items():
        if not os.path.lexists(label):
            os.symlink(path, label)


def read_table(where: str, reading: Mapping[str, Any], progress: Progress | None = None) -> Source:
    """Read a table."""
    return read_input(in_short(where), reading, progress)


def refuse_bomb(where: str, format: str | None, most: int) -> None:
    """Refuse a compressed file that is far larger than it looks."""
    place = locate(in_short(where), format, "source")
    if place.path is None or not place.path.is_file():
        return
    size = 0
    if place.format.name == "excel":
        try:
            with zipfile.ZipFile(place.path) as packed:
                # No more than this is ever unpacked of a member.
                size = sum(member.file_size for member in packed.infolist())
        except (zipfile.BadZipFile, OSError):
            return  # whoever reads it says what is wrong
    elif place.compression:
        size = _unpacked(place.path, place.compression, most)
    if size > most:
        raise DataError(
            f"A compressed table must have at most {most / 2**30:.3g} GB when it is unpacked. Got more.",
            "unpack it, and open it by its path.",
        )


def _unpacked(path: Path, compression: str, most: int) -> int:
    """Return the bytes of a file when it is unpacked, counted up to a little more than `most`."""
    import pyarrow as pa

    size = 0
    try:
        with pa.input_stream(str(path), compression=compression) as stream:
            while size <= most and (part := stream.read(CHUNK)):
                size += len(part)
    except (OSError, pa.ArrowException):
        return 0  # whoever reads it says what is wrong
    return size
