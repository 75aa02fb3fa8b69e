"""Jobs: a plan, its table and the files to write, which are checked before any work is done."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.errors import DataError, OptionError, ShoalError
from shoal.io import Source, read
from shoal.io.access import refuse_foreign_writing
from shoal.io.files import checked_input, checked_target
from shoal.io.formats import Place, locate
from shoal.io.sql import identifiers, quoted
from shoal.job_files import job_text
from shoal.options.option import Option
from shoal.options.table import READING, WRITING
from shoal.plan import Plan
from shoal.progress import Progress
from shoal.release.targets import Target, inputs_of, require_other_files, require_other_table, same_file


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
    certificate, record, report, job_file : path or None
        Where to write them; None to write none.
    reading, writing : mapping
        Keywords of :func:`shoal.io.read`, and `format` and `name_of_table` of :func:`shoal.io.write`.
    force : bool
        Whether to overwrite existing files, but never one that is read.
    inputs : paths
        Other files that were read, such as the job file that this job is from.
    """

    plan: Plan
    source: Target | Source | None
    output: Target | None = None
    certificate: Target | None = None
    record: Target | None = None
    report: Target | None = None
    job_file: Target | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    writing: Mapping[str, Any] = field(default_factory=dict)
    force: bool = False
    inputs: tuple[Target, ...] = ()

    @property
    def place(self) -> Place | None:
        """Return where to write the release."""
        return None if self.output is None else locate(self.output, self.writing.get("format"), "output")

    @property
    def documents(self) -> list[Target]:
        """Return the files to write besides the release."""
        documents = (self.certificate, self.record, self.report, self.job_file)
        return [target for target in documents if target is not None]

    @property
    def superseded(self) -> list[Path]:
        """Return the documents of another release that must not stand beside this one: the certificate first."""
        format = self.writing.get("format")
        beside = (certificate_beside(self.output, format), record_beside(self.output, format))
        named = (self.certificate, beside[0], self.record, beside[1], self.report)
        files = [Path(os.path.realpath(Path(target).expanduser())) for target in named if target is not None]
        return [path for path in dict.fromkeys(files) if path.exists()]

    def read(self, progress: Progress | None = None) -> Source:
        """Return the table."""
        if self.source is None:
            raise OptionError("The 'source' must be a path or the address of a database. Got none.")
        return self.source if isinstance(self.source, Source) else read_input(self.source, self.reading, progress)

    def check_targets(self, *, dry_run: bool = False) -> None:
        """Refuse targets that exist already or occur twice; a dry run writes the job file only."""
        place = self.place
        if place is not None:
            table, escaped = self.writing.get("name_of_table"), bool(self.writing.get("escape_formulas"))
            refuse_foreign_writing(place.format, name_of_table=table, escape_formulas=escaped)
        if place is not None and place.format.database and not dry_run:
            self._check_table(place)
        self.check_files(dry_run=dry_run)

    def check_files(self, *, dry_run: bool = False) -> None:
        """Refuse files that exist already or occur twice."""
        place = self.place
        files = [Path(target) for target in self.documents]
        database = place is not None and place.format.database
        if place is not None and place.path is not None and not database:
            files.insert(0, place.path)
        everything = [*files, *([place.path] if place is not None and place.path is not None and database else [])]
        for at, path in enumerate(everything):
            if any(same_file(path, other) for other in everything[:at]):
                raise OptionError(
                    "Release, certificate, record, report and job file must be different files. Got one twice."
                )
        inputs = inputs_of(self.plan, self.source, self.inputs)
        require_other_files([] if dry_run and self.job_file is None else files, inputs)
        if database and place is not None and place.path is not None:
            # A table may be added to the database that was read, but to no other file that was.
            require_other_files([place.path], inputs_of(self.plan, None, self.inputs))
        written = files if not dry_run else [Path(self.job_file)] if self.job_file is not None else []
        for path in written:
            checked_target(path, self.force)
        if not dry_run and not self.force and self.output is not None and self.superseded:
            raise ShoalError(
                f"A release must not stand beside documents of another. Got {self.superseded[0]}; nothing was changed.",
                "name another file, or pass force (--force) to remove them.",
            )

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
        try:
            read(target, format=format, query=f"SELECT * FROM {quoted(*parts)} LIMIT 0")
        except DataError:
            return
        require_other_table(self.source, self.reading, place, parts)
        if self.force:
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
        if self.record is not None and str(self.record) != record_beside(self.output, self.writing.get("format")):
            files["record"] = self.record
        named = {
            key: where.name if isinstance(where, Source) else os.fspath(where)
            for key, where in files.items()
            if where is not None
        }
        access = _by_key(READING, self.reading) | _by_key(WRITING, self.writing)
        return job_text(self.plan, named, access, Path(self.job_file or ""))


def seeded(plan: Plan) -> Plan:
    """Return the plan with a seed if it uses random numbers, so that its job file reproduces the release."""
    from shoal.partitioning.registry import find, find_refinement

    if plan.dp is not None:
        return plan  # noise has no seed
    # The default seed of auto is 0.
    is_random = plan.method != "auto" and (
        find(plan.method).random or (plan.refine is not None and find_refinement(plan.refine).random)
    )
    if is_random and plan.random_state is None:
        import secrets

        return plan.model_copy(update={"random_state": secrets.randbelow(2**31)})
    return plan


def _by_key(options: Iterable[Option], by_field: Mapping[str, Any]) -> dict[str, Any]:
    return {option.key: by_field[option.field] for option in options if option.field in by_field}


def certificate_beside(output: Target | None, format: str | None = None) -> str | None:
    """Return the default path of the certificate of a release; None if the release is not a file."""
    return _beside(output, format, "manifest")


def record_beside(output: Target | None, format: str | None = None) -> str | None:
    """Return the default path of the record of a release; None if the release is not a file."""
    return _beside(output, format, "record")


def record_for(
    record: Target | bool | None, output: Target | None, certificate: Target | None, format: str | None = None
) -> Target | None:
    """Return where to write the record: True is beside the release if there is a certificate, False nowhere."""
    if isinstance(record, bool) or record is None:
        return record_beside(output, format) if record and certificate is not None else None
    return record


def _beside(output: Target | None, format: str | None, what: str) -> str | None:
    if output is None or os.path.isdir(output):
        return None  # a folder is refused where it is to be read or written
    place = locate(output, format, "output")
    return None if place.format.database or place.standard else f"{place.path}.{what}.json"


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
