"""Anonymisation of data frames of Spark, on the cluster that holds them.

The extra ``spark`` installs PySpark; Java 17 or later is needed as well. What a worker needs, and what differs from
memory, is told in the how-to on Spark.

To add a function for data frames of Spark, put it here, and the work that it does into `shoal.engines`.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

from shoal.errors import OptionError
from shoal.fields import AllFields
from shoal.plan import Plan, with_fields

if TYPE_CHECKING:
    from shoal.engines.spark_run import SparkRelease
    from shoal.progress import Progress

__all__ = ["anonymize", "anonymize_folder", "release"]


@with_fields
def anonymize(
    frame: Any, plan: Plan | None = None, *, progress: Progress | bool | None = None, **fields: Unpack[AllFields]
) -> Any:
    """Hide every record of a data frame of Spark in a group of at least k similar records.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Of a classic session or of Spark Connect. It is computed several times, and must give the same rows each time.
    plan : Plan or None
        The plan, in place of `fields`.
    progress : callable, True or None
        A callable receives the fraction done. True draws a bar in a notebook or on a terminal.
    **fields
        Fields of :class:`shoal.Plan`: ``k``, ``quasi_identifiers``, ``l``, ``unit``, ..

    Returns
    -------
    pyspark.sql.DataFrame
        The published rows, in which k was verified. They are kept by the executors and never computed again.

    Raises
    ------
    ShoalError
        If the release cannot be made, or does not keep what was promised.
    """
    return release(frame, _plan(plan, fields), progress=progress).table


@with_fields
def release(
    frame: Any, plan: Plan | None = None, *, progress: Progress | bool | None = None, **fields: Unpack[AllFields]
) -> SparkRelease:
    """Return the verified release of a data frame of Spark: its rows, audit, losses, certificate, record and report.

    Parameters
    ----------
    frame, plan, progress, **fields
        As for :func:`anonymize`.

    Returns
    -------
    SparkRelease
        With ``table``, a data frame of Spark, ``audit``, ``loss``, ``certificate``, ``record`` and ``report``.
    """
    import warnings

    from shoal.engines.spark_run import release_of
    from shoal.errors import DisclosureWarning
    from shoal.progress import drawn, throttled

    with drawn(progress, "anonymize") as shown:
        made = release_of(frame, _plan(plan, fields), progress=throttled(shown))
    for words in made.warnings:
        warnings.warn(words, DisclosureWarning, stacklevel=3)
    return made


@with_fields
def anonymize_folder(
    source: str | PathLike[str],
    output: str | PathLike[str],
    plan: Plan | None = None,
    *,
    session: Any = None,
    certificate: str | PathLike[str] | None = None,
    record: str | PathLike[str] | None = None,
    report: str | PathLike[str] | None = None,
    force: bool = False,
    **fields: Unpack[AllFields],
) -> SparkRelease:
    """Anonymise Parquet or CSV, a file or a folder of files, on Spark, and write the release as a folder of files.

    Parameters
    ----------
    source, output : path or address
        The output gets its name when it has been audited, in one step.
    plan : Plan or None
        The plan, in place of `fields`. Its ``master`` says where Spark is, if there is no `session`.
    session : SparkSession or None
        None: the running one, or one that is opened, and closed in the end.
    certificate, record, report : path or None
        Where to write them. Certificate and report may be published, the record may not.
    force : bool
        Whether to overwrite what exists, but never what is read.
    **fields
        Fields of :class:`shoal.Plan`.
    """
    from shoal.engines.spark_run import run
    from shoal.release.hooks import Hooks
    from shoal.release.job import Job

    job = Job(_plan(plan, fields), source, output, certificate, record, report, force=force)
    return run(job, Hooks(), session=session)


def _plan(plan: Plan | None, fields: Any) -> Plan:
    if plan is not None and fields:
        raise OptionError(f"With a plan, no other fields may be given. Got {next(iter(fields))!r}.")
    return Plan.of(**fields) if plan is None else plan
