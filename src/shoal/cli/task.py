"""What ``shoal anonymize`` was asked for, and whether its targets are free."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.cli.shell import current
from shoal.errors import DataError, OptionError, ShoalError
from shoal.options.option import Given, Option
from shoal.options.table import READING, WRITING

if TYPE_CHECKING:
    from shoal.io import Source
    from shoal.plan import Plan
    from shoal.progress import Progress
    from shoal.release.release import Release


@dataclass(frozen=True)
class Task:
    """What was asked for, checked before any work is done."""

    plan: Plan
    source: str
    output: str | None
    manifest: str | None
    report: str | None
    job: str | None
    reading: dict[str, Any]  # keywords of io.read
    writing: dict[str, Any] = field(default_factory=dict)  # and of io.write
    force: bool = False
    json: bool = False

    def written(self, release: Release) -> list[str]:
        """Return the names of all that was written."""
        named = str(release.written.name) if release.written is not None else ""
        return [name for name in (named, self.manifest, self.report, self.job) if name]

    def job_file(self) -> str:
        """Return the text of the job file."""
        from shoal.job_files import job_text

        files = {"input": self.source, "output": self.output, "report": self.report}
        if self.manifest is not None and self.manifest != manifest_beside(
            self.output or "-", self.writing.get("format")
        ):
            files["manifest"] = self.manifest
        access = _by_key(READING, self.reading) | _by_key(WRITING, self.writing)
        return job_text(self.plan, files, access, self.job or "")


def plan_of(given: Given) -> tuple[Plan, dict[str, str]]:
    """Return the plan that options ask for, over that of a job file, and what the job file says about files."""
    from shoal.job_files import override, read_job
    from shoal.plan import Plan

    own = given.of("plan")
    files: dict[str, str] = {}
    if given["job"] is not None:
        plan, files = read_job(given["job"])
        own = override(plan.model_dump(mode="json", exclude_unset=True), own)
    return Plan.of(**own), files


def reading_of(given: Given, files: Mapping[str, str]) -> dict[str, Any]:
    """Return how the input is read; what the job file says about that is about its own input."""
    other_input = given["source"] is not None and "input" in files
    return ({} if other_input else _by_field(READING, files)) | given.of("reading")


def _by_field(options: Iterable[Option], said: Mapping[str, Any]) -> dict[str, Any]:
    return {option.field: said[option.key] for option in options if option.key in said}


def _by_key(options: Iterable[Option], said: Mapping[str, Any]) -> dict[str, Any]:
    return {option.key: said[option.field] for option in options if option.field in said}


def read_source(where: str, reading: Mapping[str, Any], progress: Progress | None = None) -> Source:
    """Read the input; a sheet that is no name may be a position."""
    from shoal.io import read
    from shoal.io.files import checked_input

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
        options["sheet"] = int(options["sheet"])
        return read(where, **options, progress=progress)


def task_of(given: Given) -> Task:
    """Return what the options of the command ask for; what cannot be done is refused."""
    plan, files = plan_of(given)
    check_method(plan)
    plan = _seeded(plan)
    source = given["source"] or files.get("input")
    output = given["output"] or files.get("output")
    if source is None:
        raise OptionError("The input must be named. Got none.", hint="shoal anonymize people.csv -k 5 -o release.csv")
    if output is None and not given["dry_run"]:
        raise OptionError("The output must be named. Got none.", hint="say -o release.csv, or --dry-run to look first.")
    if output == "-" and given["json"]:
        raise OptionError("Standard output can hold the release or the manifest. Got -o - and --json.")
    reading = reading_of(given, files)
    if given["output"] is not None:
        # What the job file says about writing belongs to its own output.
        if "report" in files and given["report"] is None:
            current().note("The report of the job file belongs to its own output; --report writes one.")
        files = {}
    writing = _by_field(WRITING, files) | given.of("writing")
    manifest = given["manifest"] or files.get("manifest")
    if output is None or given["no_manifest"]:
        manifest = None
    elif manifest is None:
        manifest = manifest_beside(output, writing.get("format"))
    task = Task(
        plan=plan,
        source=source,
        output=output,
        manifest=manifest,
        report=(given["report"] or files.get("report")) if output else None,
        job=given["write_job"],
        reading=reading,
        writing=writing,
        force=given["force"],
        json=given["json"],
    )
    _refuse_taken(task, given["dry_run"])
    return task


def check_method(plan: Plan) -> None:
    """Refuse unknown methods, refinements, options and models of privacy, whatever the table is."""
    from shoal.partitioning.registry import find_refinement
    from shoal.partitioning.run import resolve
    from shoal.privacy.wishes import models_of

    for name in plan.guarded:
        models_of(plan, name)

    if plan.method != "auto":
        resolve(plan.method, plan.options, plan.refine, plan.time_limit, (plan.k, 1), plan.k)
    elif plan.refine is not None:
        find_refinement(plan.refine)


def _seeded(plan: Plan) -> Plan:
    """Return the plan with a seed where something is drawn at random, so that the job file gives the same again."""
    from shoal.partitioning.registry import find, find_refinement

    # The seed of auto is 0 where none is given.
    drawn = plan.method != "auto" and (
        find(plan.method).random or (plan.refine is not None and find_refinement(plan.refine).random)
    )
    if drawn and plan.random_state is None:
        import secrets

        return plan.model_copy(update={"random_state": secrets.randbelow(2**31)})
    return plan


def manifest_beside(output: str, format: str | None = None) -> str | None:
    """Return where the manifest of a release lies by default; None if the release is not a file."""
    from shoal.io.formats import locate

    place = locate(output, format, "output")
    return None if place.format.database or place.standard else f"{place.path}.manifest.json"


def _refuse_taken(task: Task, dry_run: bool) -> None:
    """Refuse targets that are there already, before any work is done."""
    from shoal.io.files import checked_target
    from shoal.io.formats import locate

    files = [name for name in (task.manifest, task.report, task.job) if name is not None]
    if task.output is not None:
        place = locate(task.output, task.writing.get("format"), "output")
        if place.format.database:
            if not dry_run:
                _refuse_taken_table(task)
        elif place.path is not None:
            files.insert(0, str(place.path))
    real = [os.path.realpath(name) for name in files]
    if len(set(real)) < len(real):
        raise OptionError("Release, manifest, report and job file must be different files. Got one twice.")
    if os.path.realpath(task.source) in real:
        raise OptionError("The input must stay as it is. Got it as an output.", hint="name another file.")
    for name in files if not dry_run else [task.job] if task.job else []:
        checked_target(Path(name), task.force)


def _refuse_taken_table(task: Task) -> None:
    from shoal.io import read
    from shoal.io.formats import locate
    from shoal.io.sql import identifiers, quoted

    place = locate(task.output or "", task.writing.get("format"), "output")
    name = task.writing.get("name_of_table")
    if place.path is not None and not (place.path.is_file() and place.path.stat().st_size):
        return
    if name is None and place.path is None:
        raise OptionError("The table of the database must be named (--to-table). Got none.")
    parts = identifiers(name) if name is not None else (place.path.stem if place.path else "",)
    # A database that cannot be used at all is refused here; only the second question may fail.
    read(task.output or "", format=task.writing.get("format"), query="SELECT 1 AS one")
    if task.force:
        return
    try:
        read(task.output or "", format=task.writing.get("format"), query=f"SELECT * FROM {quoted(*parts)} LIMIT 0")
    except DataError:
        return
    raise ShoalError(
        f"The table {'.'.join(parts)!r} must not be in the database yet. Got one of that name; nothing was changed.",
        "name another table (--to-table), or add --force to replace it.",
    )
