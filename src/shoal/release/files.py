"""Writes releases and their documents to files, verified before they get their names, and audits files."""

from __future__ import annotations

import json
import time
import warnings
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, DisclosureError
from shoal.io import Source, read, write
from shoal.io.files import checked_target, draft
from shoal.plan import Plan
from shoal.privacy.audit import Audit, audit, counted, require_privacy, verify_table
from shoal.privacy.demands import demands_of
from shoal.progress import Progress
from shoal.release.groups.population import IN_MEMORY, people_of, table_of
from shoal.release.hooks import Hooks
from shoal.release.job import Job, Target
from shoal.tables.columns import typed
from shoal.tables.frames import to_arrow

if TYPE_CHECKING:
    from shoal.release.release import Release

# Kinds whose values stay text, even if they look like numbers.
WORDS = ("nominal", "ordinal", "hierarchical")


class _WritingProgress(Hooks):
    """Reports the progress of writing."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress

    def on_step(self, step: str) -> Progress | None:
        return self.progress


def save(
    release: Release,
    path: Target,
    *,
    certificate: Target | None = None,
    report: Target | None = None,
    force: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Release:
    """Write a release; see :meth:`Release.save`."""
    job = Job(release.plan, release.source, path, certificate, report, writing=options, force=force)
    job.check_targets()
    release = write_release(release, job, _WritingProgress(progress))
    warn_of(release)
    return release


def warn_of(release: Release) -> None:
    """Issue the warnings about the file that was written as Python warnings."""
    for words in release.written.warnings if release.written is not None else ():
        warnings.warn(words, UserWarning, stacklevel=4)


def write_release(release: Release, job: Job, hooks: Hooks) -> Release:
    """Write a release, read and verify it before the file gets its name, and write its documents."""
    job.check_files()  # again, because files may have appeared in the meantime
    if job.output is not None:
        release = _written(release, job, job.output, hooks)
    if job.certificate is not None:
        text = json.dumps(release.certificate, indent=2, ensure_ascii=False) + "\n"
        write_text(text, job.certificate, force=job.force)
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
    for words in written.warnings:
        hooks.on_warning(words)
    return release


def write_job_file(job: Job) -> None:
    """Write the job file, if the job has one."""
    if job.job_file is not None:
        write_text(job.text(), job.job_file, force=job.force)


def _typed(table: Any, release: Release) -> Any:
    """Return a table of text with inferred types, for formats with types."""
    decimal = "." if release.source is None else release.source.decimal
    words = [name for a in release.attributes if a.kind in WORDS for name in a.columns]
    for at, name in enumerate(table.column_names):
        if name not in words:
            table = table.set_column(at, name, typed(table.column(at), decimal, name))
    return table


def write_text(text: str, path: Target, *, force: bool = False) -> None:
    """Write a text file atomically."""
    target = checked_target(Path(path), force)
    with draft(target) as beside:
        beside.path.write_text(text, encoding="utf-8")
        beside.publish(force)


def verify_file(source: str | PathLike[str] | Source, certificate: str | PathLike[str]) -> Audit:
    """Repeat the audit of a published file: its hash, its number of rows, k, and privacy models.

    Parameters
    ----------
    source : path, address or Source
        The published file; see :func:`shoal.io.read`.
    certificate : path
        The certificate that was written with it.

    Returns
    -------
    Audit
        The audit of all quasi-identifiers together.

    Raises
    ------
    DisclosureError
        If the file is not the one that was released, or k or a privacy model does not hold.
    """
    facts = read_certificate(certificate)
    source = source if isinstance(source, Source) else read(source, header=True)  # the certificate has the names
    output = facts.get("output") or {}
    if output.get("sha256") and source.sha256 and output["sha256"] != source.sha256:
        raise DisclosureError(
            f"{source.name} is not the file that this certificate describes: the SHA-256 differs.",
            hint="verify the file as it was released, or name its quasi-identifiers (--qi) to verify this one.",
        )
    if "rows" in output and output["rows"] != source.table.num_rows:
        raise DisclosureError(
            f"{source.name} is not the table that this certificate describes, which has {output['rows']} rows. "
            f"Got {source.table.num_rows}.",
            hint="verify the table as it was released.",
        )
    wanted, blocks = facts["k"]["wanted"], facts["k"]["blocks"]
    strata = [name for name in facts["quasi_identifiers"] if not any(name in block for block in blocks)]
    for block in blocks:
        names = _present(source, [*block, *strata])
        require_privacy(audit(source.table, names, wanted, apart=source.apart), source.name)
    # With several blocks, k is not promised for all quasi-identifiers together.
    together = audit_of(
        source, facts["quasi_identifiers"], wanted if len(blocks) == 1 else None, Plan.of(**facts["plan"])
    )
    require_privacy(together, source.name)
    return together


def audit_of(source: Source, names: list[str], wanted: int | None, plan: Plan, people: Any = None) -> Audit:
    """Return the audit of a table that was read from a file: of k, counting rows, and of all models of the plan."""
    how: dict[str, Any] = {"text": source.text, "decimal": source.decimal}
    result = audit(source.table, names, wanted, demands=demands_of(source.table, plan, **how), apart=source.apart)
    if plan.population is None:
        return result
    if people is None and plan.population == IN_MEMORY:
        raise DataError(
            "The population must be given to count matches, because that of this release was not a file. Got none.",
            hint="use shoal.verify(table, .., population=.., k_map=..).",
        )
    people = people_of(plan) if people is None else people
    return replace(result, models=result.models + counted(source.table, people, names, plan, **how))


def verify_source(
    source: Source, quasi_identifiers: list[str] | None, k: int | None, *, population: str | None = None, **fields: Any
) -> Audit:
    """Verify a table that was read from a file; see :func:`shoal.verify`."""
    people = None if population is None else table_of(population)
    how: dict[str, Any] = {"text": source.text, "decimal": source.decimal, "apart": source.apart}
    return verify_table(source.table, quasi_identifiers, k, population=people, **how, **fields)


def read_certificate(path: str | PathLike[str]) -> dict[str, Any]:
    """Return the certificate in a file."""
    name = Path(path).name
    try:
        content: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"The certificate {name} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise DataError(f"The certificate {name} is not JSON.") from None
    certificate: dict[str, Any] = content if isinstance(content, dict) else {}
    k = certificate.get("k")
    if not isinstance(k, dict) or not (certificate.get("quasi_identifiers") and k.get("wanted") and k.get("blocks")):
        raise DataError(f"{name} is not the certificate of a release.", hint="--certificate writes one.")
    return certificate


def _present(source: Source, names: list[str]) -> list[str]:
    missing = [name for name in names if name not in source.table.column_names]
    if missing:
        raise DataError(f"{source.name} must have the column {missing[0]!r} of its certificate. Got none.")
    return names
