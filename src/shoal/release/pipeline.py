"""The pipeline from file to file: check, read, prepare, group, write, read again, verify, rename, write documents.

The Python function and the command line both run these steps. Their hooks show the progress.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Unpack, cast

from shoal.errors import OptionError
from shoal.fields import AllFields
from shoal.io import Source
from shoal.plan import Plan, with_fields
from shoal.progress import Progress, drawn, ending_when, part, throttled
from shoal.release.files import warn_of, write_release
from shoal.release.groups.grouping import compiling_ahead
from shoal.release.hooks import Hooks
from shoal.release.job import Job, record_for
from shoal.release.omission import refuse_early
from shoal.release.preparation import Prepared, prepare
from shoal.release.run import carry_out
from shoal.release.targets import Target

if TYPE_CHECKING:
    from shoal.release.private.table import PrivateTable
    from shoal.release.release import Release


@with_fields
def anonymize_file(
    source: Target | Source,
    output: Target | None = None,
    plan: Plan | None = None,
    *,
    certificate: Target | None = None,
    record: Target | bool = True,
    report: Target | None = None,
    force: bool = False,
    progress: Progress | bool | None = None,
    name_of_table: str | None = None,
    escape_formulas: bool = False,
    **fields: Unpack[AllFields],
) -> Release:
    """Anonymise a file or a table of a database, and write the release.

    Parameters
    ----------
    source : path, address or Source
        See :func:`shoal.io.read`.
    output : path, address or None
        Where to write the release, see :func:`shoal.io.write`. None to only return it.
    plan : Plan or None
        The plan, in place of `fields`.
    certificate, report : path or None
        Where to write them. Both may be published.
    record : path or bool
        Where to write the record, which is not to be published. True: beside the release, as OUT.record.json, if there
        is a certificate. False: nowhere.
    force : bool
        Whether to overwrite existing files, but never one that is read.
    progress : callable, True or None
        A callable receives the fraction done. True draws a bar in a notebook or on a terminal.
    name_of_table : str or None
        The table to write to, if `output` is a database.
    escape_formulas : bool
        Whether to put an apostrophe before texts of CSV that a spreadsheet program would take for formulas.
    **fields
        Fields of :class:`shoal.Plan`: ``k``, ``quasi_identifiers``, ``l``, ``unit``, .. The names of the command line
        (``qi``, ``seed``, ..) and those of sdcMicro are taken too.

    Returns
    -------
    Release
        Its table is a pyarrow.Table; one from a CSV file contains text, as in the file.
    """
    if plan is not None and fields:
        raise OptionError(f"With a plan, no other fields may be given. Got {next(iter(fields))!r}.")
    plan = Plan.of(**fields) if plan is None else plan
    job = Job(
        plan,
        source,
        output,
        certificate,
        record_for(record, output, certificate),
        report,
        writing={
            **({} if name_of_table is None else {"name_of_table": name_of_table}),
            **({"escape_formulas": True} if escape_formulas else {}),
        },
        force=force,
    )
    with drawn(progress, "anonymize_file") as shown:
        report_to = throttled(shown)
        report_to(0.0)
        release = run(job, _OverallProgress(report_to))
        warn_of(release)
        report_to(1.0)
    return release


class _OverallProgress(Hooks):
    """Reports the overall progress of all steps."""

    SPANS: ClassVar = {"reading": (0.0, 0.1), "grouping": (0.1, 0.8), "writing": (0.8, 1.0)}

    def __init__(self, report: Progress) -> None:
        self.report = report

    def on_step(self, step: str) -> Progress:
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


def run(job: Job, hooks: Hooks) -> Release:
    """Run a job and return the release, which is written with its documents if the job has an output."""
    job.check_targets()
    if job.plan.dp is not None:
        return cast("Release", _run_private(job, hooks))
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


def _run_private(job: Job, hooks: Hooks) -> PrivateTable:
    """Run a job with `dp`: what cannot be done is refused before any noise is drawn."""
    from shoal.release.private import run as private

    private.check_plan(job.plan)
    private.domain_of(job.plan)
    start = time.perf_counter()
    source = job.read(hooks.on_step("reading"))
    seconds = time.perf_counter() - start
    ready = private.ready(source.table, job.plan, text=source.text, decimal=source.decimal)
    made = private.carry_out(ready, progress=hooks.on_step("grouping"))
    made = replace(made, source=source, timings={"reading": seconds, **made.timings})
    return cast("PrivateTable", write_release(cast("Release", made), job, hooks))


def rehearse_private(job: Job, hooks: Hooks) -> tuple[dict[str, str], bool]:
    """Check a job with `dp`; write a template of its domain if there is none. Nothing is spent.

    Returns
    -------
    kinds : {name: kind}
    written : bool
        Whether a template was written, to the file that the plan names as its domain.
    """
    from pathlib import Path

    from shoal.release.private import run as private

    job.check_targets(dry_run=True)
    private.check_plan(job.plan)
    source = job.read(hooks.on_step("reading"))
    how: dict[str, Any] = {"text": source.text, "decimal": source.decimal}
    kinds = private.kinds_of(source.table, job.plan, **how)
    wanted = job.plan.domain
    if isinstance(wanted, str) and not Path(wanted).exists():
        private.template_for(source.table, job.plan, wanted, **how)
        return kinds, True
    private.ready(source.table, job.plan, **how)
    return kinds, False


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
