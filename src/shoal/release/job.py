"""A job: a plan, the table that it is for, and the files that are to be written; checked before any work is done."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from shoal.errors import DataError, OptionError, ShoalError
from shoal.io import Source, read
from shoal.io.files import checked_input, checked_target
from shoal.io.formats import Place, locate
from shoal.io.sql import identifiers, quoted
from shoal.job_files import job_text
from shoal.options.option import Option
from shoal.options.table import READING, WRITING
from shoal.plan import Plan
from shoal.progress import Progress

Target = str | PathLike[str]


@dataclass(frozen=True)
class Job:
    """What is to be done from file to file.

    Attributes
    ----------
    plan : Plan
    source : path, address, Source or None
        The table; None for a release that was made from a data frame.
    output : path, address or None
        Where the release goes. None: nowhere.
    manifest, report, job_file : path or None
        Where they are written, if at all.
    reading, writing : mapping
        Keywords of :func:`shoal.io.read`, and `format` and `name_of_table` of :func:`shoal.io.write`.
    force : bool
        Whether what is there is replaced.
    """

    plan: Plan
    source: Target | Source | None
    output: Target | None = None
    manifest: Target | None = None
    report: Target | None = None
    job_file: Target | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    writing: Mapping[str, Any] = field(default_factory=dict)
    force: bool = False

    @property
    def place(self) -> Place | None:
        """Return where the release goes."""
        return None if self.output is None else locate(self.output, self.writing.get("format"), "output")

    @property
    def documents(self) -> list[Target]:
        """Return the files that belong to the release."""
        return [target for target in (self.manifest, self.report, self.job_file) if target is not None]

    def read(self, progress: Progress | None = None) -> Source:
        """Return the table."""
        if self.source is None:
            raise OptionError("The 'source' must be a path or the address of a database. Got none.")
        return self.source if isinstance(self.source, Source) else read_input(self.source, self.reading, progress)

    def check_targets(self, *, dry_run: bool = False) -> None:
        """Refuse targets that are there already, or that are one file twice; a dry run writes the job file only."""
        place = self.place
        if place is not None and place.format.database and not dry_run:
            self._check_table(place)
        self.check_files(dry_run=dry_run)

    def check_files(self, *, dry_run: bool = False) -> None:
        """Refuse files that are there already, or that are one file twice."""
        place = self.place
        files = [Path(target) for target in self.documents]
        if place is not None and place.path is not None and not place.format.database:
            files.insert(0, place.path)
        real = [os.path.realpath(path) for path in files]
        if len(set(real)) < len(real):
            raise OptionError("Release, manifest, report and job file must be different files. Got one twice.")
        source = self.source.name if isinstance(self.source, Source) else self.source
        if source is not None and os.path.realpath(source) in real:
            raise OptionError(
                "The output must not overwrite the input. Got the same file for both.", hint="name another file."
            )
        written = files if not dry_run else [Path(self.job_file)] if self.job_file is not None else []
        for path in written:
            checked_target(path, self.force)

    def _check_table(self, place: Place) -> None:
        """Refuse a database that cannot be used, and a table that is in it already."""
        if place.path is not None and not (place.path.is_file() and place.path.stat().st_size):
            return
        name, target, format = self.writing.get("name_of_table"), self.output or "", self.writing.get("format")
        if name is None and place.path is None:
            raise OptionError("The table of the database must be named (name_of_table, --to-table). Got none.")
        parts = identifiers(name) if name is not None else (place.path.stem if place.path else "",)
        # A database that cannot be used at all is refused here; only the second question may fail.
        read(target, format=format, query="SELECT 1 AS one")
        if self.force:
            return
        try:
            read(target, format=format, query=f"SELECT * FROM {quoted(*parts)} LIMIT 0")
        except DataError:
            return
        raise ShoalError(
            f"The table {'.'.join(parts)!r} must not be in the database yet. Got one of that name; nothing was "
            "changed.",
            "name another table (name_of_table, --to-table), or pass force (--force) to replace it.",
        )

    def text(self) -> str:
        """Return the text of the job file."""
        files = {"input": self.source, "output": self.output, "report": self.report}
        if self.manifest is not None and str(self.manifest) != manifest_beside(self.output, self.writing.get("format")):
            files["manifest"] = self.manifest
        named = {
            key: where.name if isinstance(where, Source) else os.fspath(where)
            for key, where in files.items()
            if where is not None
        }
        access = _by_key(READING, self.reading) | _by_key(WRITING, self.writing)
        return job_text(self.plan, named, access, Path(self.job_file or ""))


def _by_key(options: Iterable[Option], said: Mapping[str, Any]) -> dict[str, Any]:
    return {option.key: said[option.field] for option in options if option.field in said}


def manifest_beside(output: Target | None, format: str | None = None) -> str | None:
    """Return where the manifest of a release lies by default; None if the release is not a file."""
    if output is None:
        return None
    place = locate(output, format, "output")
    return None if place.format.database or place.standard else f"{place.path}.manifest.json"


def read_input(where: Target, reading: Mapping[str, Any], progress: Progress | None = None) -> Source:
    """Read a table; the delimiter may be named ``tab``, and a sheet that is no name may be a position.

    Parameters
    ----------
    where : path or address
    reading : mapping
        Keywords of :func:`shoal.io.read`.
    progress : callable or None
    """
    if os.path.isdir(where):
        checked_input(Path(where))
    options = dict(reading)
    if options.get("delimiter") in ("\\t", "tab"):
        options["delimiter"] = "\t"
    try:
        return read(where, **options, progress=progress)
    except OptionError:
        if not str(options.get("sheet")).isdigit():
            raise
        return read(where, **{**options, "sheet": int(options["sheet"])}, progress=progress)
