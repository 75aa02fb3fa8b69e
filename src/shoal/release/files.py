"""Releases as files: written beside, read again, verified, renamed, with their documents; and the audit of files."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, DisclosureError
from shoal.io import Source, read, write
from shoal.io.files import checked_target, draft
from shoal.plan import Plan
from shoal.privacy.audit import Audit, audit, counted, require_privacy, verify
from shoal.privacy.demands import demands_of
from shoal.progress import Progress
from shoal.release.groups.population import IN_MEMORY, people_of, table_of
from shoal.release.hooks import Hooks
from shoal.release.job import Job, Target
from shoal.tables.columns import typed
from shoal.tables.frames import to_arrow

if TYPE_CHECKING:
    from shoal.release.release import Release

# Kinds whose values are words, even if they look like numbers.
WORDS = ("nominal", "ordinal", "hierarchical")


class _WritingProgress(Hooks):
    """The progress of writing."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress

    def on_step(self, step: str) -> Progress | None:
        return self.progress


def save(
    release: Release,
    path: Target,
    *,
    manifest: Target | None = None,
    report: Target | None = None,
    force: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Release:
    """Write a release; see :meth:`Release.save`."""
    job = Job(release.plan, release.source, path, manifest, report, writing=options, force=force)
    job.check_targets()
    return write_release(release, job, _WritingProgress(progress))


def write_release(release: Release, job: Job, hooks: Hooks) -> Release:
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


def verify_file(source: str | PathLike[str] | Source, manifest: str | PathLike[str]) -> Audit:
    """Repeat the audit of a published file: its hash, its rows, k on its quasi-identifiers, and models of privacy.

    Parameters
    ----------
    source : path, address or Source
        The published file; see :func:`shoal.io.read`.
    manifest : path
        Written with it.

    Returns
    -------
    Audit
        Of all quasi-identifiers together.

    Raises
    ------
    DisclosureError
        If the file is not the one that was released, or k or a model of privacy does not hold in it.
    """
    said = read_manifest(manifest)
    source = source if isinstance(source, Source) else read(source)
    output = said.get("output") or {}
    if output.get("sha256") and source.sha256 and output["sha256"] != source.sha256:
        raise DisclosureError(
            f"{source.name} is not the file that this manifest describes: the SHA-256 differs.",
            hint="verify the file as it was released, or name its quasi-identifiers (--qi) to verify this one.",
        )
    if "rows" in output and output["rows"] != source.table.num_rows:
        raise DisclosureError(
            f"{source.name} is not the table that this manifest describes, which has {output['rows']} rows. "
            f"Got {source.table.num_rows}.",
            hint="verify the table as it was released.",
        )
    wanted, blocks = said["k"]["wanted"], said["k"]["blocks"]
    strata = [name for name in said["quasi_identifiers"] if not any(name in block for block in blocks)]
    for block in blocks:
        names = _present(source, [*block, *strata])
        require_privacy(audit(source.table, names, wanted), source.name)
    # With several blocks, k is not promised for all quasi-identifiers together.
    found = audit_of(source, said["quasi_identifiers"], wanted if len(blocks) == 1 else None, Plan.of(**said["plan"]))
    require_privacy(found, source.name)
    return found


def audit_of(source: Source, names: list[str], wanted: int | None, plan: Plan, people: Any = None) -> Audit:
    """Return the audit of a table that was read again: k by rows, and all models of the plan."""
    how: dict[str, Any] = {"text": source.text, "decimal": source.decimal}
    found = audit(source.table, names, wanted, demands=demands_of(source.table, plan, **how))
    if plan.population is None:
        return found
    if people is None and plan.population == IN_MEMORY:
        raise DataError(
            "The population of this release was no file, and must be given to check its matches. Got none.",
            hint="shoal.verify(table, .., population=.., k_map=..) takes it.",
        )
    people = people_of(plan) if people is None else people
    return replace(found, models=found.models + counted(source.table, people, names, plan, **how))


def verify_source(
    source: Source, quasi_identifiers: list[str] | None, k: int | None, *, population: str | None = None, **fields: Any
) -> Audit:
    """Check a table that was read, with the type of its text; see :func:`shoal.verify`."""
    people = None if population is None else table_of(population)
    return verify(
        source.table, quasi_identifiers, k, population=people, text=source.text, decimal=source.decimal, **fields
    )


def read_manifest(path: str | PathLike[str]) -> dict[str, Any]:
    """Return a manifest."""
    name = Path(path).name
    try:
        said: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"The manifest {name} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise DataError(f"The manifest {name} is not JSON.") from None
    found: dict[str, Any] = said if isinstance(said, dict) else {}
    k = found.get("k")
    if not isinstance(k, dict) or not (found.get("quasi_identifiers") and k.get("wanted") and k.get("blocks")):
        raise DataError(f"{name} is not the manifest of a release.", hint="it is written by --manifest.")
    return found


def _present(source: Source, names: list[str]) -> list[str]:
    gone = [name for name in names if name not in source.table.column_names]
    if gone:
        raise DataError(f"{source.name} must have the column {gone[0]!r} of its manifest. Got none.")
    return names
