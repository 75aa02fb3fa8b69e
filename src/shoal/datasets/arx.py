"""Adult as in ARX: a table of texts and numbers, with a hierarchy for each column.

Like the tables of :mod:`shoal.datasets.loaders`, it is not part of the package. A data folder holds it in
``hierarchies/arx_adult``: ``arx_adult.csv.gz`` and ``adult_hierarchy_age.csv`` and so on.
"""

from __future__ import annotations

import csv
import gzip
import logging
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.datasets._sources import ARX_ADULT, TextDataset, WrongContentError, text_hash
from shoal.datasets._transfer import LARGEST, TransferError, fetch, write_whole
from shoal.datasets.loaders import folders_of
from shoal.errors import DatasetNotFoundError, OptionError

__all__ = ["WithHierarchies", "arx_adult"]

log = logging.getLogger("shoal")


# eq=False: as for Table.
@dataclass(frozen=True, eq=False)
class WithHierarchies:
    """A table of texts and numbers, and the files of hierarchies of its columns.

    Attributes
    ----------
    name : str
    columns : {name: list}
        The values, column by column; `pandas.DataFrame(columns)` makes a data frame of them.
    hierarchies : {name: str}
        The path of the hierarchy of each column, as ARX writes them.
    quasi_identifiers, sensitive : tuple of str
        The roles that the examples of ARX give the columns.
    source : str
        Where the table comes from.
    """

    name: str
    columns: dict[str, list[Any]]
    hierarchies: dict[str, str]
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    source: str

    def __repr__(self) -> str:
        n = len(next(iter(self.columns.values())))
        return f"WithHierarchies({self.name!r}, {n} records, {len(self.columns)} columns)"


def arx_adult(*, data_home: str | os.PathLike[str] | None = None, download: bool = False) -> WithHierarchies:
    """Return the table *adult* of ARX and its hierarchies: 30162 records of nine columns.

    `salary-class` and `occupation` are often taken for sensitive; the seven others are the quasi-identifiers here.

    Parameters
    ----------
    data_home : path, optional
        The one folder to look in and to download to. The default is described in :mod:`shoal.datasets.loaders`.
    download : bool, default False
        Whether to fetch files that were not found from the repository of ARX, check them, and keep them. An existing
        file is never overwritten.

    Raises
    ------
    OptionError
        If an option has the wrong type.
    DatasetNotFoundError
        If a file is not on this machine, could not be fetched or kept, or does not have the published content.
    """
    if not isinstance(download, bool):
        raise OptionError(
            f"The 'download' option of arx_adult must be True or False. Got an object of type "
            f"{type(download).__name__}."
        )
    data = ARX_ADULT
    folders = [folder / data.folder for folder in folders_of(data_home, "arx_adult")]
    home = next((folder for folder in folders if os.path.isfile(folder / data.file)), None)
    if home is None:
        if not download:
            raise DatasetNotFoundError(
                f"The table of ARX must be in a data folder as {data.folder}/{data.file}. "
                f"Got no such file in {', '.join(map(str, folders))}.",
                "pass download=True to fetch it from the repository of ARX, or name the folder that holds it in the "
                "environment variable SHOAL_DATA or with data_home.",
            )
        home = folders[-1]
        _fetch_all(data, home)
    columns = _columns(data, _read(home / data.file, data.sha256))
    hierarchies = {}
    for name, (file, sha256) in data.hierarchies.items():
        _read(home / file, sha256)
        hierarchies[name] = str(home / file)
    sensitive = ("occupation", "salary-class")
    known = tuple(name for name in data.columns if name not in sensitive)
    return WithHierarchies("arx_adult", columns, hierarchies, known, sensitive, data.title)


def _columns(data: TextDataset, text: str) -> dict[str, list[Any]]:
    rows = list(csv.reader(text.splitlines()))[1:]
    columns: dict[str, list[Any]] = {name: [row[at] for row in rows] for at, name in enumerate(data.columns)}
    columns["age"] = [int(age) for age in columns["age"]]
    return columns


def _read(path: Path, sha256: str) -> str:
    try:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rb") as file:
            content = file.read(LARGEST + 1)  # a few bytes of gzip can expand to any amount of memory
        return _verified(content, sha256)
    except WrongContentError as error:
        reason = str(error)
    except FileNotFoundError:
        reason = "no such file"
    except PermissionError:
        reason = "a file without permission to read it"
    except (OSError, EOFError, zlib.error):
        reason = "a file that is damaged"
    raise DatasetNotFoundError(
        f"The file {path} must be the one that ARX publishes. Got {reason}.",
        "remove the folder; without it, download=True fetches the files from the repository of ARX.",
    )


def _verified(content: bytes, sha256: str) -> str:
    text = content.decode("utf-8-sig", errors="replace")
    if text_hash(text) != sha256:
        raise WrongContentError("a text with another SHA-256")
    return text


def _fetch_all(data: TextDataset, home: Path) -> None:
    """Fetch the table, last of all, and its hierarchies; nothing is kept unless all of them arrive."""
    log.info("fetching %s; licence: %s", data.title, data.licence)
    base = data.url.rpartition("/")[0]
    contents = {}
    try:
        for file, sha256 in data.hierarchies.values():
            contents[file] = _verified(fetch(f"{base}/{file}"), sha256).encode()
        table = _verified(fetch(data.url).replace(b";", b","), data.sha256)
        contents[data.file] = gzip.compress(table.encode(), mtime=0)
    except (TransferError, WrongContentError) as error:
        raise DatasetNotFoundError(
            f"The download must give the table of ARX. Got {error} from {base}; nothing was kept.",
            f"try again later, or put the files into a folder {data.folder} and name the one it is in in SHOAL_DATA.",
        ) from None
    try:
        for file, content in contents.items():
            if not os.path.exists(home / file):
                write_whole(home / file, content)
    except OSError as error:
        raise DatasetNotFoundError(
            f"The folder {home} must be writable to keep the table of ARX. Got {type(error).__name__}.",
            "name another folder with data_home.",
        ) from error
