"""Keeps what is written away from what was read: no output may take the place of an input."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from shoal.errors import OptionError
from shoal.io import Source
from shoal.io.formats import Place, locate
from shoal.io.sql import Address, identifiers
from shoal.plan import Plan

Target = str | PathLike[str]


def inputs_of(plan: Plan | None, source: Target | Source | None, others: Iterable[Target] = ()) -> list[Path]:
    """Return the files that a job reads: its table, its population, its hierarchies, and others.

    Parameters
    ----------
    plan : Plan or None
    source : path, address, Source or None
    others : paths
    """
    named: list[Target] = list(others)
    if isinstance(source, Source):
        # The name of a table of a database begins with that of its file.
        named += [source.name, source.name.rpartition(", ")[0]]
    elif source is not None:
        named.append(source)
    if plan is not None:
        named += [one for one in (plan.population, plan.domain) if isinstance(one, str)]
        named += [one for one in plan.hierarchies.values() if isinstance(one, str)]
    return [path for name in named if name and (path := _file(name)) is not None]


def _file(name: Target) -> Path | None:
    """Return the file that a path or an address of a database stands for, if there is one."""
    text = os.fspath(name)
    try:
        path = locate(text, None, "source").path if "://" in text else Path(text).expanduser()
        return path if path is not None and path.exists() else None
    except (OSError, ValueError):
        # Whoever reads it says what is wrong with it.
        return None


def require_other_files(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Refuse outputs that are inputs, by whatever name: links, hard links and other capitals included.

    If a folder of files is read, nothing may be written into it: it would be read as a part of the table next time.
    """
    folders, known = [], []
    for one in inputs:
        if one.is_dir():
            folders.append(one)
            known += [part for part in one.iterdir() if part.is_file()]
        else:
            known.append(one)
    for path in outputs:
        if any(same_file(path, one) for one in known):
            raise OptionError(
                f"The output must not overwrite the input. Got {path}, which is read.", hint="name another file."
            )
        if any(_lies_in(path, folder) for folder in folders):
            raise OptionError(
                f"The output must not lie in the folder that is read. Got {path}.", hint="name a file elsewhere."
            )


def _lies_in(path: Path, folder: Path) -> bool:
    inner, outer = (Path(os.path.realpath(one.expanduser())) for one in (path, folder))
    return outer == inner or outer in inner.parents


def same_file(one: Path, other: Path) -> bool:
    """Return whether two paths lead to one file."""
    if os.path.realpath(one.expanduser()) == os.path.realpath(other.expanduser()):
        return True
    try:
        return os.path.samefile(one.expanduser(), other.expanduser())
    except (OSError, ValueError):
        return False


def require_other_table(
    source: Target | Source | None, reading: Mapping[str, Any], place: Place, table: tuple[str, ...]
) -> None:
    """Refuse to replace the table of a database from which the release is made.

    Parameters
    ----------
    source : path, address, Source or None
        What was read.
    reading : mapping
        How it was read: keywords of :func:`shoal.io.read`.
    place : Place
        The database to write to.
    table : names
        The table to write to, which is there already.
    """
    if source is None or not _same_database(source, reading.get("format"), place):
        return
    name = table[-1].casefold()
    if reading.get("query") is not None:
        read = name in str(reading["query"]).casefold()
    elif reading.get("table") is not None:
        read = identifiers(reading["table"])[-1].casefold() == name
    else:
        # The only table of the database, or one that was read before: it may be this one.
        read = not isinstance(source, Source) or source.name.casefold().endswith((f"table {name}", f".{name}", "query"))
    if read:
        raise OptionError(
            f"The output must not overwrite the input. Got the table {'.'.join(table)!r}, which is read.",
            hint="name another table (name_of_table, --to-table).",
        )


def _same_database(source: Target | Source, format: str | None, place: Place) -> bool:
    if isinstance(source, Source):
        where = source.name.rpartition(", ")[0]
        if place.path is None:
            return where == Address(place.url or "").name
        return bool(where) and same_file(Path(where), place.path)
    theirs = locate(source, format, "source")
    if theirs.path is not None and place.path is not None:
        return same_file(theirs.path, place.path)
    return theirs.url is not None and place.url is not None and Address(theirs.url).name == Address(place.url).name
