"""Releases made by Spark: of a data frame, or from files to files by way of a staging folder.

A release in files is written to a folder that only its owner can enter, read again, audited there by a job that knows
the published columns alone, and moved to its place in one step. Until then nothing has its name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.engines import spark_audit, spark_sources
from shoal.engines.aggregates import losses_of, utility_of
from shoal.engines.choice import BLOCK_RECORDS
from shoal.engines.layout import Layout
from shoal.engines.lone import said_of
from shoal.engines.result import LargeRelease
from shoal.engines.seen import Seen
from shoal.engines.spark_errors import told
from shoal.engines.spark_folders import OBJECT_STORES, Folder, format_of
from shoal.engines.spark_frames import Frame, found, quoted
from shoal.engines.spark_job import Made, Milestones, make
from shoal.engines.spark_session import needed, opened, set_for
from shoal.engines.spark_tasks import Checksum
from shoal.engines.spark_workers import make_ready
from shoal.engines.survey import Survey
from shoal.errors import DataError, OptionError, ShoalError
from shoal.io.files import checked_target
from shoal.io.source import Source, Written
from shoal.io.turns import in_turn
from shoal.plan import Plan
from shoal.privacy.audit import Audit, require_privacy
from shoal.progress import Progress, part, silent
from shoal.release.files import remove_superseded, write_documents
from shoal.release.groups.blocks import Block
from shoal.release.hooks import Hooks
from shoal.release.job import Job
from shoal.release.targets import inputs_of, require_other_files

STAGED = "table"


@dataclass(frozen=True, eq=False, repr=False)
class SparkRelease(LargeRelease):
    """A release made by Spark.

    Attributes
    ----------
    table : pyspark.sql.DataFrame
        The published rows. They are kept by the executors, or are those of the files that were written, so that they
        are the rows that were verified.
    """

    table: Any = None


@dataclass(frozen=True)
class How:
    """How a table is read and grouped; `block_records` and `rounds` are changed by tests only."""

    text: bool = False
    decimal: str = "."
    block_records: int = BLOCK_RECORDS
    rounds: int | None = None


def release_of(
    frame: Any,
    plan: Plan,
    how: How = How(),
    *,
    on_layout: Callable[[Layout], None] = lambda _: None,
    progress: Progress = silent,
) -> SparkRelease:
    """Make a verified release of a data frame of Spark."""
    plan = checked(plan)
    if not hasattr(frame, "sparkSession"):
        raise DataError(
            f"The table must be a data frame of Spark. Got {type(frame).__name__}.",
            hint="shoal.anonymize takes others.",
        )
    rows = _fitting(frame, plan, how)
    with _prepared_session(frame.sparkSession, plan):
        made = _made(rows, plan, how, on_layout, part(progress, 0.0, 0.8))
        phase = Milestones(progress, made.seconds)
        with phase("audit", 1.0):
            audit = _audited(made.frame, made, plan, how)
        return _release(made, plan, how, audit, made.frame)


def checked(plan: Plan) -> Plan:
    """Return the plan of a job on Spark, or refuse one for another engine."""
    needed()
    if plan.engine not in (None, "spark"):
        raise OptionError(f"A data frame of Spark must be anonymised by Spark. Got engine={plan.engine!r}.")
    if plan.memory is not None:
        raise OptionError(
            "The 'memory' of a plan is that of engine='stream'. Got it for Spark.",
            hint="set spark.executor.memory and spark.executor.pyspark.memory.",
        )
    return plan.model_copy(update={"engine": "spark", "bound": "none"})


@contextmanager
def _prepared_session(session: Any, plan: Plan) -> Iterator[None]:
    with told(), set_for(session):
        make_ready(session, plan)
        yield


def _fitting(frame: Any, plan: Plan, how: How) -> Frame:
    """Return the rows of a data frame, or refuse what its columns tell to be impossible, before any job."""
    rows = Frame(frame)
    Survey.of(plan, rows.schema, text=how.text, decimal=how.decimal)
    return rows


def _made(rows: Frame, plan: Plan, how: How, on_layout: Callable[[Layout], None], progress: Progress) -> Made:
    made = make(
        rows,
        plan,
        text=how.text,
        decimal=how.decimal,
        block_records=how.block_records,
        rounds=how.rounds,
        on_layout=on_layout,
        progress=progress,
    )
    if not plan.shuffle:
        return made
    from pyspark.sql import functions as F

    with told():
        # The seed is drawn anew and stored nowhere.
        seed = int.from_bytes(os.urandom(7), "big")
        return replace(made, frame=made.frame.orderBy(F.rand(seed)).localCheckpoint(eager=True))


def _audited(frame: Any, made: Made, plan: Plan, how: How) -> Audit:
    """Return the audit of a published data frame, after checking k and all demands."""
    names = [*made.layout.quasi_identifiers, *plan.stratum]
    audit = spark_audit.audited(frame, plan, names, text=how.text, decimal=how.decimal, units=made.units)
    require_privacy(audit, "The release")
    if audit.rows != made.layout.rows:
        raise DataError("The release must have all rows that were to be published. Got another number.")
    return audit


def _release(made: Made, plan: Plan, how: How, audit: Audit, table: Any, source: Source | None = None) -> SparkRelease:
    layout, way = made.layout, made.way
    attributes = tuple(one.attribute for one in layout.parts)
    columns = tuple(layout.quasi_identifiers)
    none = np.zeros(0, np.int64)
    unchanged = [column.name for column in layout.columns if column.role in ("sensitive", "other")]
    with told():
        alone = spark_audit.nearly_unique(table, unchanged, audit.rows)
    return SparkRelease(
        plan=plan,
        columns=layout.columns,
        attributes=attributes,
        blocks=(Block(tuple(one.name for one in attributes), columns, none, way.in_words(made.rounds), way.why),),
        audit=audit,
        losses=losses_of(made.aggregates, layout),
        utility=utility_of(audit.sizes, plan.k),
        missing_counts=tuple((one.name, one.missing) for one in layout.parts),
        rows_in=layout.rows_in,
        rows_dropped=layout.rows_dropped,
        warnings=tuple(dict.fromkeys((*layout.warnings, *audit.notes, *said_of(alone, audit.rows)))),
        timings=dict(made.seconds),
        comparison=made.comparison,
        way=f"{made.blocks} blocks, {made.rounds} shifted rounds, on Spark",
        cells={one.name: one.table for one in layout.sensitives},
        text=how.text,
        source=source,
        table=table,
    )


# --- from files to files ---


def run(
    job: Job, hooks: Hooks, *, session: Any = None, block_records: int = BLOCK_RECORDS, rounds: int | None = None
) -> SparkRelease:
    """Run a job on Spark: read, group, write to a staging folder, audit there, move, write the documents.

    Parameters
    ----------
    job : Job
        Its input and output are files or folders that Spark can reach.
    hooks : Hooks
    session : SparkSession or None
        None: the running one, or one that is opened at the ``master`` of the plan and closed in the end.
    block_records, rounds : int, int or None
        Records of a block, and shifted rounds; None: as many as usual. Other numbers give other groups.
    """
    plan = checked(job.plan)
    if session is None:
        with told(), opened(plan.master) as own:
            return run(job, hooks, session=own, block_records=block_records, rounds=rounds)
    if job.source is None or isinstance(job.source, Source) or job.output is None:
        raise OptionError("With Spark, input and output must be files or folders. Got something else.")
    progress = hooks.on_step("reading") or silent
    source = spark_sources.read(session, job.source, job.reading)
    target = Folder(session, job.output)
    format = format_of(job.output, job.writing.get("format"), "--to") or source.format
    target.sweep()
    _check_targets(session, job, source, target, format)
    how = How(source.text, source.decimal, block_records, rounds)
    like = source.like(str(job.source))
    rows = _fitting(source.frame, plan, how)

    def shown(layout: Layout) -> None:
        hooks.on_prepared(like, Seen(layout, layout.warnings))  # type: ignore[arg-type]
        for words in layout.warnings:
            hooks.on_warning(words)

    with ExitStack() as stack:
        stack.enter_context(_prepared_session(session, plan))
        progress(1.0)
        staging = stack.enter_context(target.staging())
        progress = hooks.on_step("grouping") or silent
        made = _made(rows, plan, how, shown, progress)
        phase = Milestones(hooks.on_step("writing") or silent, made.seconds)
        staged = staging.within(STAGED)
        with phase("writing", 0.4):
            spark_sources.write(made.frame, staged, format, source.dialect)
        with phase("audit", 0.9):
            again = spark_sources.read_again(session, staged, format, source.dialect, made.frame.columns)
            _require_equal(made.frame, again)
            audit = _audited(again, made, plan, how)
        release = _release(made, plan, how, audit, again, like)
        for words in release.warnings:
            if words not in made.layout.warnings:
                hooks.on_warning(words)
        return _published(release, job, hooks, staged, target, stack)


def _check_targets(session: Any, job: Job, source: spark_sources.Table, target: Folder, format: str) -> None:
    """Refuse outputs that exist already, that are or lie within the input, and other formats than that of the input."""
    if format != source.format:
        raise OptionError(
            f"With Spark, the release must have the format of the input, {source.format}. Got {format}.",
            hint=f"name an output that ends in .{source.format}, or convert the table before.",
        )
    for option in ("name_of_table", "escape_formulas"):
        if job.writing.get(option):
            raise OptionError(f"The {option!r} option of writing must not be given with Spark. Got it.")
    if target.scheme in OBJECT_STORES:
        raise OptionError(
            f"The place of a release must be one where a folder gets its name in one step. Got {target.scheme}://, "
            "where files are copied one by one.",
            hint="name a folder of another file system, or write the data frame that shoal.spark.anonymize returns.",
        )
    read = Folder(session, os.fspath(job.source)).path  # type: ignore[arg-type]
    if target.path == read or f"{target.path}/".startswith(f"{read}/") or f"{read}/".startswith(f"{target.path}/"):
        raise OptionError(
            f"The output must not overwrite the input. Got {target.name}, which is read.", hint="name another folder."
        )
    if target.exists() and not job.force:
        raise ShoalError(
            f"{target.name} exists already; nothing was changed.", "name another folder, or pass force (--force)."
        )
    documents = [Path(document) for document in job.documents]
    require_other_files(documents, inputs_of(job.plan, job.source, job.inputs))
    for document in documents:
        checked_target(document, job.force)


def _require_equal(made: Any, again: Any) -> None:
    """Refuse what was read again if it is not what was written."""
    names = list(made.columns)
    one, other = (found(Frame(frame.select(*map(quoted, names))), Checksum(), names) for frame in (made, again))
    if one != other:
        raise DataError("The files of the release must hold what was written. Got something else when they were read.")


def _published(
    release: SparkRelease, job: Job, hooks: Hooks, staged: Folder, target: Folder, stack: ExitStack
) -> SparkRelease:
    """Move the release to its place, and write its documents."""
    if target.direct:
        stack.enter_context(in_turn(Path(os.path.realpath(target.path)).parent))
    remove_superseded(job)
    staged.move(target, force=job.force)
    written = Written(target.path, None, release.audit.rows, None)
    try:
        table = _table_of(release, target, staged.session.read.schema(release.table.schema))
    except Exception as error:
        raise ShoalError(
            f"Spark must be able to read {target.name}, where the release is now. Got an error: "
            f"{type(error).__name__}. Its documents were not written.",
            hint="remove it and run again; a driver that has ended often ran out of memory.",
        ) from None
    release = replace(release, written=written, table=table)
    hooks.on_written(release)  # type: ignore[arg-type]
    write_documents(release, job)
    return release


def _table_of(release: SparkRelease, target: Folder, reader: Any) -> Any:
    source = release.source
    if source is None or source.dialect is None:
        return reader.parquet(target.address)
    return spark_sources.read_again(target.session, target, "csv", source.dialect, release.table.columns)
