"""The benchmark tables of the microaggregation literature, found on this machine or downloaded if asked to.

The tables are not part of the package. A data folder holds them as gzip-compressed CSV with a header
line, such as ``census.csv.gz``. Without `data_home`, :func:`load` looks

1. in the folder named by the environment variable ``SHOAL_DATA``; if it is not set, in
   ``../shared/data`` relative to the working directory and to the checkout that the package is run from;
2. in the cache of downloads: ``$XDG_CACHE_HOME/shoal``, else ``%LOCALAPPDATA%/shoal``, else
   ``~/.cache/shoal``.

A table is refused unless it has the published values, bit for bit, in the columns that the literature uses.
"""

from __future__ import annotations

import csv
import gzip
import io
import logging
import os
import zlib
from pathlib import Path

from shoal.datasets._sources import DATASETS, Dataset, Floats, WrongContentError, by_header, verified
from shoal.datasets._transfer import LARGEST, TransferError, fetch, write_whole
from shoal.datasets.tables import Table
from shoal.errors import DatasetNotFoundError, OptionError, near_names

__all__ = ["folders_of", "load", "names"]

log = logging.getLogger("shoal")


def names() -> tuple[str, ...]:
    """Return the names that :func:`load` accepts."""
    return tuple(DATASETS)


def load(name: str, *, data_home: str | os.PathLike[str] | None = None, download: bool = False) -> Table:
    """Return a benchmark table, with the columns that the literature uses.

    ============  =====  ==  ====================================================================
    name          n      d   columns
    ============  =====  ==  ====================================================================
    census        1080   13  all
    tarragona     834    13  all
    eia           4092   11  UTILITYID and RESREVENUE to TOTSALES (columns 1 and 6 to 15)
    cloud1        1024   10  all
    cloud2        1024   10  all
    adult         48842  3   age, education-num, hours-per-week
    creditcard    30000  24  all but ID
    covtype       20000  10  the quantitative ones; a sample, so that published losses do not apply
    ============  =====  ==  ====================================================================

    Parameters
    ----------
    name : str
        One of :func:`names`.
    data_home : path, optional
        The one folder to look in and to download to. The default is described in
        :mod:`shoal.datasets.loaders`.
    download : bool, default False
        Whether to fetch a table that was not found from its public source, check it, and keep it in `data_home`
        or in the cache. Only the columns above are kept. An existing file is never overwritten, not even a wrong
        one. The logger ``shoal`` records at level ``INFO`` what is fetched (the table, its licence, the addresses
        and the number of bytes) and where it is kept.

    Returns
    -------
    Table
        Its `data` has shape (n, d), with rows in the order of the source. Nothing is standardised.

    Raises
    ------
    OptionError
        If the name is unknown, or an option has the wrong type.
    DatasetNotFoundError
        If the table is not on this machine, could not be fetched or kept, or does not have the published
        values.
    """
    dataset = _dataset(name)
    if not isinstance(download, bool):
        raise OptionError(
            f"The 'download' option of load must be True or False. Got an object of type {type(download).__name__}."
        )
    folders = folders_of(data_home)
    for folder in folders:
        path = folder / dataset.file
        # os.path.isfile returns False for paths without permission; Path.is_file would raise.
        if os.path.isfile(path):
            return _table(name, dataset, _read(name, dataset, path))
    if not download:
        raise DatasetNotFoundError(
            f"The table {name!r} must be in a data folder as {dataset.file}. "
            f"Got no such file in {', '.join(map(str, folders))}.",
            "pass download=True to fetch it from its public source, or name the folder that holds it "
            "in the environment variable SHOAL_DATA or with data_home.",
        )
    data = _fetched(name, dataset)
    _keep(name, dataset, data, folders[-1])
    return _table(name, dataset, data)


def _dataset(name: object) -> Dataset:
    if isinstance(name, str) and name in DATASETS:
        return DATASETS[name]
    shown = repr(name) if isinstance(name, str) else f"an object of type {type(name).__name__}"
    raise OptionError(
        f"The 'name' option of load must be the name of a benchmark table. Got {shown}.",
        near_names(name, DATASETS, f"the names are {', '.join(DATASETS)}."),
    )


def _table(name: str, dataset: Dataset, data: Floats) -> Table:
    return Table(name, dataset.columns, data, dataset.columns, dataset.title)


def folders_of(data_home: str | os.PathLike[str] | None, caller: str = "load") -> list[Path]:
    """Return the folders to look in, in order. Downloads go to the last one."""
    if data_home is not None:
        # An empty string would be the working directory, which is hardly intended.
        if data_home == "" or not isinstance(data_home, str | os.PathLike):
            shown = "''" if data_home == "" else f"an object of type {type(data_home).__name__}"
            raise OptionError(f"The 'data_home' option of {caller} must be the path of a folder. Got {shown}.")
        return [Path(data_home).expanduser()]
    return [*_data_folders(), _cache_folder()]


def _data_folders() -> list[Path]:
    named = os.environ.get("SHOAL_DATA")
    if named:
        return [Path(named).expanduser()]
    beside = [Path.cwd().parent / "shared" / "data"]
    source = Path(__file__).resolve().parents[2]
    # In a checkout, the package lies in src/. The surroundings of an installed package are left alone.
    if source.name == "src":
        beside.append(source.parents[1] / "shared" / "data")
    return list(dict.fromkeys(beside))


def _cache_folder() -> Path:
    # LOCALAPPDATA is set on Windows only.
    root = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or "~/.cache"
    return Path(root).expanduser() / "shoal"


def _read(name: str, dataset: Dataset, path: Path) -> Floats:
    try:
        with gzip.open(path) as file:
            # With a limit, because a few bytes of gzip can expand to any amount of memory.
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise WrongContentError(f"more than {LARGEST} bytes")
        return verified(by_header([_text(content)], dataset.columns), dataset)
    except WrongContentError as error:
        reason = str(error)
    except PermissionError:
        reason = "a file without permission to read it"
    except (OSError, EOFError, zlib.error):
        reason = "a file that is damaged or not gzip-compressed"
    raise DatasetNotFoundError(
        f"The file {path} must hold the published table {name!r}. Got {reason}.",
        "remove or replace this file; without it, download=True fetches the table from its public source.",
    )


def _fetched(name: str, dataset: Dataset) -> Floats:
    log.info("fetching the table %r: %s; licence: %s", name, dataset.title, dataset.licence)
    try:
        texts = [_text(_logged(url, fetch(url))) for url in dataset.urls]
        return verified(dataset.parse(texts, dataset.columns), dataset)
    except (TransferError, WrongContentError) as error:
        reason = str(error)
    raise DatasetNotFoundError(
        f"The download of {name!r} must give the published table. Got {reason} "
        f"from {' and '.join(dataset.urls)}; nothing was kept.",
        f"try again later, or put {dataset.file} into a folder and name it in SHOAL_DATA or with data_home.",
    )


def _logged(url: str, content: bytes) -> bytes:
    log.info("fetched %d bytes from %s", len(content), url)
    return content


def _keep(name: str, dataset: Dataset, data: Floats, folder: Path) -> None:
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(dataset.columns)
    # repr of a float64 reads back as the same bits. Whole numbers are written without ".0", as in the source.
    writer.writerows([repr(x).removesuffix(".0") for x in row] for row in data.tolist())
    # With mtime=0, the same table always gives the same file.
    content = gzip.compress(lines.getvalue().encode(), mtime=0)
    path = folder / dataset.file
    try:
        write_whole(path, content)
    except OSError as error:
        raise DatasetNotFoundError(
            f"The folder {folder} must be writable to keep {name!r}. Got {type(error).__name__}; nothing was kept.",
            "name another folder with data_home.",
        ) from error
    log.info("kept the table %r in %s, %d bytes", name, path, len(content))


def _text(content: bytes) -> str:
    # Only numbers and column names are read, and these are ASCII; utf-8-sig drops a byte order mark.
    return content.decode("utf-8-sig", errors="replace")
