"""The door of the engines: a job is carried out in memory, in pieces, or on Spark, by its plan or by its size."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from shoal.engines.choice import engine_of
from shoal.errors import OptionError
from shoal.fields import AllFields, OfPrivacy
from shoal.io import Source
from shoal.io.formats import locate
from shoal.plan import Plan, with_fields
from shoal.progress import Progress, drawn, throttled
from shoal.release import pipeline
from shoal.release.files import warn_of
from shoal.release.hooks import Hooks
from shoal.release.job import Job, record_for
from shoal.release.pipeline import OverallProgress
from shoal.release.targets import Target

if TYPE_CHECKING:
    from shoal.engines.result import LargeRelease
    from shoal.release.private.table import PrivateTable
    from shoal.release.release import Release


@overload
def anonymize_file(
    source: Target | Source,
    output: Target | None = None,
    *,
    dp: str,
    epsilon: float,
    domain: Any,
    certificate: Target | None = None,
    record: Target | bool = True,
    report: Target | None = None,
    force: bool = False,
    resume: bool = False,
    progress: Progress | bool | None = None,
    name_of_table: str | None = None,
    escape_formulas: bool = False,
    **fields: Unpack[OfPrivacy],
) -> PrivateTable: ...


@overload
def anonymize_file(
    source: Target | Source,
    output: Target | None = None,
    plan: None = None,
    *,
    certificate: Target | None = None,
    record: Target | bool = True,
    report: Target | None = None,
    force: bool = False,
    resume: bool = False,
    progress: Progress | bool | None = None,
    name_of_table: str | None = None,
    escape_formulas: bool = False,
    **fields: Unpack[AllFields],
) -> Release | LargeRelease: ...


@overload
def anonymize_file(
    source: Target | Source,
    output: Target | None = None,
    *,
    plan: Plan,
    certificate: Target | None = None,
    record: Target | bool = True,
    report: Target | None = None,
    force: bool = False,
    resume: bool = False,
    progress: Progress | bool | None = None,
    name_of_table: str | None = None,
    escape_formulas: bool = False,
) -> Release | LargeRelease | PrivateTable: ...


@overload
def anonymize_file(
    source: Target | Source,
    output: Target | None,
    plan: Plan,
    *,
    certificate: Target | None = None,
    record: Target | bool = True,
    report: Target | None = None,
    force: bool = False,
    resume: bool = False,
    progress: Progress | bool | None = None,
    name_of_table: str | None = None,
    escape_formulas: bool = False,
) -> Release | LargeRelease | PrivateTable: ...


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
    resume: bool = False,
    progress: Progress | bool | None = None,
    name_of_table: str | None = None,
    escape_formulas: bool = False,
    **fields: Unpack[AllFields],
) -> Release | LargeRelease | PrivateTable:
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
    resume : bool
        Whether to go on where an earlier call was killed, with the same result; of files that are read in pieces.
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
        Its table is a pyarrow.Table; one from a CSV file contains text, as in the file. A file that was read in pieces
        (``engine="stream"``, or larger than memory) gives a :class:`shoal.engines.result.LargeRelease`: the same
        without its rows, which are in the output. With ``dp``, a ``PrivateTable``, whose table has the declared types.
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
        release = run(job, OverallProgress(report_to), resume=resume)
        warn_of(release)
        report_to(1.0)
    return release


def run(job: Job, hooks: Hooks, *, resume: bool = False) -> Release | LargeRelease | PrivateTable:
    """Run a job by the engine of its plan, or by that which its size needs; `resume` is for the stream engine."""
    engine, words = engine_for(job)
    if resume and engine != "stream":
        raise OptionError(
            f"A run must have been in pieces to be resumed (--resume). Got the engine {engine!r}.",
            hint="leave it out, or pass engine='stream'.",
        )
    if words:
        hooks.on_note(words)
    if engine == "stream":
        from shoal.engines import stream

        return stream.run(job, hooks, resume=resume)
    if engine == "spark":
        from shoal.engines import spark_run

        return spark_run.run(job, hooks)
    return pipeline.run(job, hooks)


def engine_for(job: Job) -> tuple[str, str]:
    """Return the engine of a job, and a line that says so if its size decided."""
    size, format = None, ""
    if isinstance(job.source, str | os.PathLike) and job.plan.engine is None:
        if os.path.isdir(job.source):
            from shoal.engines.batches import parts_of

            # Parts of a table, which can be read in pieces only.
            parts_of(Path(job.source), job.reading.get("format"))  # or refuse, before anything is said of the folder
            return "stream", f"{os.fspath(job.source)} is a folder: it is read in pieces (--engine stream)."
        place = locate(job.source, job.reading.get("format"), "input")
        if place.path is not None and not place.standard and place.path.is_file():
            size, format = place.path.stat().st_size, place.format.name
    return engine_of(job.plan, size, format)
