"""What ``shoal anonymize`` was asked for, and whether its targets are free."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.cli import asked
from shoal.cli.shell import current
from shoal.errors import DataError, OptionError, ShoalError

if TYPE_CHECKING:
    from shoal.plan import Plan
    from shoal.release.release import Release


# What is said about writing, by the parameters of the command, of io.write and of a job file.
WRITING = {"to": "format", "to_table": "name_of_table"}


@dataclass(frozen=True)
class Task:
    """What was asked for, checked before any work is done."""

    plan: Plan
    source: str
    output: str | None
    manifest: str | None
    report: str | None
    job: str | None
    reading: dict[str, str]
    writing: dict[str, str] = field(default_factory=dict)  # by the names of a job file
    force: bool = False
    json: bool = False

    def written(self, release: Release) -> list[str]:
        """Return the names of all that was written."""
        named = str(release.written.name) if release.written is not None else ""
        return [name for name in (named, self.manifest, self.report, self.job) if name]

    def job_file(self) -> str:
        """Return the text of the job file."""
        files = {"input": self.source, "output": self.output, "report": self.report}
        if self.manifest is not None and self.manifest != manifest_beside(self.output or "-", self.writing.get("to")):
            files["manifest"] = self.manifest
        return asked.job_file(self.plan, files, self.reading | self.writing, self.job or "")


def task_of(said: dict[str, Any]) -> Task:
    """Return what the parameters of the command ask for; what cannot be done is refused."""
    plan, files = asked.plan_of(said)
    check_method(plan)
    plan = _seeded(plan)
    source = said["source"] or files.get("input")
    output = said["output"] or files.get("output")
    if source is None:
        raise OptionError("The input must be named. Got none.", hint="shoal anonymize people.csv -k 5 -o release.csv")
    if output is None and not said["dry_run"]:
        raise OptionError("The output must be named. Got none.", hint="say -o release.csv, or --dry-run to look first.")
    if output == "-" and said["json"]:
        raise OptionError("Standard output can hold the release or the manifest. Got -o - and --json.")
    if said["output"] is not None:
        # What the job file says about writing belongs to its own output.
        if "report" in files and said["report"] is None:
            current().note("The report of the job file belongs to its own output; --report writes one.")
        files = {key: files[key] for key in files if key not in (*WRITING, "manifest", "report")}
    writing = {key: files[key] for key in WRITING if key in files}
    writing |= {key: said[key] for key in WRITING if said[key] is not None}
    manifest = said["manifest"] or files.get("manifest")
    if output is None or said["no_manifest"]:
        manifest = None
    elif manifest is None:
        manifest = manifest_beside(output, writing.get("to"))
    report = (said["report"] or files.get("report")) if output else None
    task = Task(
        plan=plan,
        source=source,
        output=output,
        manifest=manifest,
        report=report,
        job=said["write_job"],
        reading=asked.reading(said, files),
        writing=writing,
        force=said["force"],
        json=said["json"],
    )
    _refuse_taken(task, bool(said["dry_run"]))
    return task


def check_method(plan: Plan) -> None:
    """Refuse unknown methods, refinements, options and models of privacy, whatever the table is."""
    from shoal.partitioning.registry import find_refinement
    from shoal.partitioning.run import resolve
    from shoal.privacy.demands import models_of

    for name in plan.demanded_of:
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
        place = locate(task.output, task.writing.get("to"), "output")
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

    place = locate(task.output or "", task.writing.get("to"), "output")
    name = task.writing.get("to_table")
    if place.path is not None and not (place.path.is_file() and place.path.stat().st_size):
        return
    if name is None and place.path is None:
        raise OptionError("The table of the database must be named (--to-table). Got none.")
    parts = identifiers(name) if name is not None else (place.path.stem if place.path else "",)
    # A database that cannot be used at all is refused here; only the second question may fail.
    read(task.output or "", format=task.writing.get("to"), query="SELECT 1 AS one")
    if task.force:
        return
    try:
        read(task.output or "", format=task.writing.get("to"), query=f"SELECT * FROM {quoted(*parts)} LIMIT 0")
    except DataError:
        return
    raise ShoalError(
        f"The table {'.'.join(parts)!r} must not be in the database yet. Got one of that name; nothing was changed.",
        "name another table (--to-table), or add --force to replace it.",
    )
