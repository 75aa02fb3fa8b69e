"""Jobs: a plan, its table and the files to write, which are checked before any work is done."""

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
    """A plan with its input and its outputs.

    Attributes
    ----------
    plan : Plan
    source : path, address, Source or None
        The table; None if the release was made from a data frame.
    output : path, address or None
        Where to write the release; None to write none.
    certificate, report, job_file : path or None
        Where to write them; None to write none.
    reading, writing : mapping
        Keywords of :func:`shoal.io.read`, and `format` and `name_of_table` of :func:`shoal.io.write`.
    force : bool
        Whether to overwrite existing files.
    """

    plan: Plan
    source: Target | Source | None
    output: Target | None = None
    certificate: Target | None = None
    report: Target | None = None
    job_file: Target | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    writing: Mapping[str, Any] = field(default_factory=dict)
    force: bool = False

    @property
    def place(self) -> Place | None:
        """Return where to write the release."""
        return None if self.output is None else locate(self.output, self.writing.get("format"), "output")

    @property
    def documents(self) -> list[Target]:
        """Return the files to write besides the release."""
        return [target for target in (self.certificate, self.report, self.job_file) if target is not None]

    def read(self, progress: Progress | None = None) -> Source:
        """Return the table."""
        if self.source is None:
            raise OptionError("The 'source' must be a path or the address of a database. Got none.")
        return self.source if isinstance(self.source, Source) else read_input(self.source, self.reading, progress)

    def check_targets(self, *, dry_run: bool = False) -> None:
        """Refuse targets that exist already or occur twice; a dry run writes the job file only."""
        place = self.place
        if place is not None and place.format.database and not dry_run:
            self._check_table(place)
        self.check_files(dry_run=dry_run)

    def check_files(self, *, dry_run: bool = False) -> None:
        """Refuse files that exist already or occur twice."""
        place = self.place
        files = [Path(target) for target in self.documents]
        if place is not None and place.path is not None and not place.format.database:
            files.insert(0, place.path)
        real = [os.path.realpath(path) for path in files]
        if len(set(real)) < len(real):
            raise OptionError("Release, certificate, report and job file must be different files. Got one twice.")
        source = self.source.name if isinstance(self.source, Source) else self.source
        if source is not None and os.path.realpath(source) in real:
            raise OptionError(
                "The output must not overwrite the input. Got the same file for both.", hint="name another file."
            )
        written = files if not dry_run else [Path(self.job_file)] if self.job_file is not None else []
        for path in written:
            checked_target(path, self.force)

    def _check_table(self, place: Place) -> None:
        """Refuse a database that cannot be used, and a table that exists already."""
        if place.path is not None and not (place.path.is_file() and place.path.stat().st_size):
            return
        name, target, format = self.writing.get("name_of_table"), self.output or "", self.writing.get("format")
        if name is None and place.path is None:
            raise OptionError("The table of the database must be named (name_of_table, --to-table). Got none.")
        parts = identifiers(name) if name is not None else (place.path.stem if place.path else "",)
        # The first query refuses a database that cannot be used; the second one fails if the table does not exist.
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
        if self.certificate is not None and str(self.certificate) != certificate_beside(
            self.output, self.writing.get("format")
        ):
            files["certificate"] = self.certificate
        named = {
            key: where.name if isinstance(where, Source) else os.fspath(where)
            for key, where in files.items()
            if where is not None
        }
        access = _by_key(READING, self.reading) | _by_key(WRITING, self.writing)
        return job_text(self.plan, named, access, Path(self.job_file or ""))


def _by_key(options: Iterable[Option], by_field: Mapping[str, Any]) -> dict[str, Any]:
    return {option.key: by_field[option.field] for option in options if option.field in by_field}


def certificate_beside(output: Target | None, format: str | None = None) -> str | None:
    """Return the default path of the certificate of a release; None if the release is not a file."""
    if output is None:
        return None
    place = locate(output, format, "output")
    return None if place.format.database or place.standard else f"{place.path}.manifest.json"


def read_input(where: Target, reading: Mapping[str, Any], progress: Progress | None = None) -> Source:
    """Read a table; the delimiter may be called ``tab``, and a sheet may be given by its position.

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
