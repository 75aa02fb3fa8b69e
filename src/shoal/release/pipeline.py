"""From file to file: check the targets, read, prepare, group, write beside, read again, verify, rename; then documents.

Python, the command line and every other shell run these steps; what they show meanwhile is in their hooks.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.io import Source, write
from shoal.io.files import checked_target, draft
from shoal.release.hooks import Hooks
from shoal.release.job import Job, Target
from shoal.release.preparation import Prepared, prepare
from shoal.release.run import carry_out
from shoal.tables.columns import typed
from shoal.tables.frames import to_arrow

if TYPE_CHECKING:
    from shoal.release.release import Release

# Kinds whose values are words, even if they look like numbers.
WORDS = ("nominal", "ordinal", "hierarchical")


def rehearse(job: Job, hooks: Hooks) -> Prepared:
    """Check the targets, read and prepare the table; write nothing."""
    job.check_targets(dry_run=True)
    return _prepared(job, hooks)[1]


def run(job: Job, hooks: Hooks) -> Release:
    """Do a job; return the release, in its place and with all documents if an output was named."""
    job.check_targets()
    source, prepared, seconds = _prepared(job, hooks)
    progress = hooks.on_step("grouping")
    with hooks.grouping():
        release = carry_out(prepared, progress=progress)
    for words in release.warnings[len(prepared.warnings) :]:
        hooks.on_warning(words)
    release = replace(release, source=source, timings={"reading": seconds, **release.timings})
    return save(release, job, hooks)


def _prepared(job: Job, hooks: Hooks) -> tuple[Source, Prepared, float]:
    """Return the table, what its plan makes of it, and the seconds that reading took."""
    start = time.perf_counter()
    source = job.read(hooks.on_step("reading"))
    seconds = time.perf_counter() - start
    prepared = prepare(source.table, job.plan, text=source.text, decimal=source.decimal)
    hooks.on_prepared(source, prepared)
    for words in prepared.warnings:
        hooks.on_warning(words)
    return source, prepared, seconds


def save(release: Release, job: Job, hooks: Hooks) -> Release:
    """Write a release, read again and verified before the file gets its name, and the documents that belong to it."""
    job.check_files()  # some may have appeared in the meantime
    if job.output is not None:
        release = _written(release, job, job.output, hooks)
    if job.manifest is not None:
        text = json.dumps(release.manifest, indent=2, ensure_ascii=False) + "\n"
        write_text(text, job.manifest, force=job.force)
    if job.report is not None:
        release.report(job.report, force=job.force)
    write_job_file(job)
    return release


def _written(release: Release, job: Job, output: Target, hooks: Hooks) -> Release:
    start = time.perf_counter()
    table = to_arrow(release.table, "save")
    if release.text and job.place is not None and job.place.format.name != "csv":
        table = _typed(table, release)
    progress = hooks.on_step("writing")
    how: dict[str, Any] = {"check": release.check, "force": job.force, "progress": progress, **job.writing}
    written = write(table, output, like=release.source, **how)
    timings = {**release.timings, "writing": time.perf_counter() - start}
    release = replace(release, written=written, timings=timings)
    hooks.on_written(release)
    for words in written.notes:
        hooks.on_note(words)
    return release


def write_job_file(job: Job) -> None:
    """Write the job file, if one is wanted."""
    if job.job_file is not None:
        write_text(job.text(), job.job_file, force=job.force)


def _typed(table: Any, release: Release) -> Any:
    """Return a table of text with the types that are read out of it, for formats that have types."""
    decimal = "." if release.source is None else release.source.decimal
    words = [name for a in release.attributes if a.kind in WORDS for name in a.columns]
    for at, name in enumerate(table.column_names):
        if name not in words:
            table = table.set_column(at, name, typed(table.column(at), decimal, name))
    return table


def write_text(text: str, path: Target, *, force: bool = False) -> None:
    """Write a text file, whole or not at all."""
    target = checked_target(Path(path), force)
    with draft(target) as beside:
        beside.path.write_text(text, encoding="utf-8")
        beside.publish(force)
