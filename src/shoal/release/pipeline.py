"""The pipeline from file to file: check, read, prepare, group, write, read again, verify, rename, write documents.

The Python function and the command line both run these steps. Their hooks show the progress.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from shoal.io import Source
from shoal.progress import Progress, ending_when, part
from shoal.release.files import write_release
from shoal.release.groups.grouping import compiling_ahead
from shoal.release.hooks import Hooks
from shoal.release.job import Job
from shoal.release.omission import refuse_early
from shoal.release.preparation import Prepared, prepare
from shoal.release.run import carry_out

if TYPE_CHECKING:
    from shoal.release.private.table import PrivateTable
    from shoal.release.release import Release


class OverallProgress(Hooks):
    """Reports the overall progress of all steps."""

    SPANS: ClassVar = {"reading": (0.0, 0.1), "grouping": (0.1, 0.8), "writing": (0.8, 1.0)}

    def __init__(self, report: Progress) -> None:
        self.report = report

    def on_step(self, step: str) -> Progress:
        """Return what reports the progress of a step as a part of all."""
        return part(self.report, *self.SPANS[step])


def rehearse(job: Job, hooks: Hooks) -> Prepared:
    """Check the targets, read and prepare the table; write nothing."""
    job.check_targets(dry_run=True)
    prepared = _prepared(job, hooks)[1]
    refuse_early(prepared)
    return prepared


def rehearsed(prepared: Prepared, methods: Sequence[tuple[Sequence[str], str, str]]) -> dict[str, Any]:
    """Return what a rehearsal found, and the methods of `prepared.methods`, as plain values."""
    return {
        "rows": {
            "in": prepared.rows_in,
            "dropped": prepared.rows_dropped,
            "removed": prepared.rows_removed,
            "published": prepared.table.num_rows,
        },
        "columns": [{"name": one.name, "role": one.role, "role_inferred": one.inferred} for one in prepared.columns],
        "attributes": [
            {
                "columns": list(one.columns),
                "type": one.kind,
                "type_inferred": one.inferred,
                "published": one.published,
                "missing": prepared.missing[one.name],
                "note": one.note,
            }
            for one in prepared.attributes
        ],
        "methods": [{"attributes": list(names), "method": name, "why": why} for names, name, why in methods],
        "warnings": list(prepared.warnings),
    }


def run(job: Job, hooks: Hooks) -> Release | PrivateTable:
    """Run a job and return the release, which is written with its documents if the job has an output."""
    if job.plan.dp is not None:
        return run_private(job, hooks)
    job.check_targets()
    with compiling_ahead(job.plan):
        source, prepared, seconds = _prepared(job, hooks)
        progress = hooks.on_step("grouping")
        with hooks.grouping(), ending_when(hooks.enough):
            release = carry_out(prepared, progress=progress)
    for words in release.warnings:
        # Those of all records were told before.
        if words not in prepared.warnings:
            hooks.on_warning(words)
    timings = {"reading": seconds, **release.timings}
    release = replace(release, source=source, timings=timings, stopped=hooks.enough())
    return write_release(release, job, hooks)


def run_private(job: Job, hooks: Hooks) -> PrivateTable:
    """Run a job with `dp`: what cannot be done is refused before any noise is drawn."""
    from shoal.release.private import run as private
    from shoal.release.private.reading import require_declared, require_one_kind

    job.check_targets()
    private.check_plan(job.plan)
    domain = private.domain_of(job.plan)
    start = time.perf_counter()
    source = job.read(hooks.on_step("reading"))
    seconds = time.perf_counter() - start
    require_declared(source)
    require_one_kind(source, domain, job.plan.unit)
    ready = private.ready(source.table, job.plan, text=source.text, decimal=source.decimal)
    made = private.carry_out(ready, progress=hooks.on_step("grouping"))
    made = replace(made, source=source, timings={"reading": seconds, **made.timings})
    return write_release(made, job, hooks)


class PrivateRehearsal(NamedTuple):
    """What a dry run with `dp` found.

    Attributes
    ----------
    kinds : {name: kind}
        Of the columns that are declared, or that the template offers.
    left_out : tuple of str
        The other columns of the table, which are not released.
    written : bool
        Whether a template was written, to the file that the plan names as its domain.
    """

    kinds: dict[str, str]
    left_out: tuple[str, ...]
    written: bool


def rehearse_private(job: Job, hooks: Hooks) -> PrivateRehearsal:
    """Check a job with `dp`; write a template of its domain if there is none. Nothing is spent."""
    from pathlib import Path

    from shoal.release.private import run as private
    from shoal.release.private.reading import require_declared, require_one_kind

    job.check_targets(dry_run=True)
    private.check_plan(job.plan)
    source = job.read(hooks.on_step("reading"))
    require_declared(source)
    how: dict[str, Any] = {"text": source.text, "decimal": source.decimal}
    wanted = job.plan.domain
    written = isinstance(wanted, str) and not Path(wanted).exists()
    if isinstance(wanted, str) and written:
        kinds = private.template_for(source.table, job.plan, wanted, **how)
    else:
        domain = private.domain_of(job.plan)
        require_one_kind(source, domain, job.plan.unit)
        private.ready(source.table, job.plan, **how)
        kinds = {name: one.kind for name, one in domain.columns.items()}
    left_out = tuple(name for name in source.table.column_names if name not in kinds)
    return PrivateRehearsal(kinds, left_out, written)


def _prepared(job: Job, hooks: Hooks) -> tuple[Source, Prepared, float]:
    """Return the table as read and as prepared, and the seconds that reading took."""
    start = time.perf_counter()
    source = job.read(hooks.on_step("reading"))
    seconds = time.perf_counter() - start
    prepared = prepare(source.table, job.plan, text=source.text, decimal=source.decimal)
    hooks.on_prepared(source, prepared)
    for words in prepared.warnings:
        hooks.on_warning(words)
    return source, prepared, seconds
