"""What a file or a database with several tables has in it: the names of its tables or sheets."""

from __future__ import annotations

import os
import zipfile
from contextlib import closing
from importlib import import_module
from typing import NamedTuple

from shoal.errors import DataError
from shoal.io.database import Database
from shoal.io.files import checked_input
from shoal.io.formats import locate, needed

__all__ = ["Parts", "parts_of"]


class Parts(NamedTuple):
    """The tables of a database or the sheets of a workbook.

    Attributes
    ----------
    keyword : str
        The keyword of :func:`shoal.io.read` that names one of them: "table" or "sheet".
    names : tuple of str
    """

    keyword: str
    names: tuple[str, ...]


def parts_of(source: str | os.PathLike[str], format: str | None = None) -> Parts | None:
    """Return the tables of a database or the sheets of a workbook; None for a file that is one table.

    Parameters
    ----------
    source : path or address
        As for :func:`shoal.io.read`.
    format : str, optional
    """
    place = locate(source, format, "source")
    if place.format.database:
        if place.path is not None:
            checked_input(place.path)
        database: Database = import_module(place.format.module).opened(place)
        with closing(database):
            return Parts("table", tuple(database.tables()))
    if place.format.name == "excel" and place.path is not None:
        checked_input(place.path)
        import_module(place.format.module).check_size(place.path, str(place.path))
        return Parts("sheet", _sheets(str(place.path)))
    return None


def _sheets(path: str) -> tuple[str, ...]:
    openpyxl = needed("openpyxl", "excel", "Excel workbooks")
    try:
        with (
            open(path, "rb") as file,
            closing(openpyxl.load_workbook(file, read_only=True, keep_links=False)) as book,
        ):
            return tuple(book.sheetnames)
    except (KeyError, ValueError, OSError, zipfile.BadZipFile, SyntaxError):
        raise DataError(
            f"The file {path} must be a complete Excel workbook. Got one that is damaged or encrypted.",
            "save it again as .xlsx without a password.",
        ) from None
