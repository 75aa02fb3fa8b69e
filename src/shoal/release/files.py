"""Python's functions from file to file, and the audit of files that were published."""

from __future__ import annotations

import json
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.errors import DataError, DisclosureError, OptionError
from shoal.io import Source, read
from shoal.plan import Plan
from shoal.privacy.audit import Audit, audit, counted, require, verify
from shoal.privacy.wishes import wishes_of
from shoal.progress import Progress, part, throttled
from shoal.release import pipeline
from shoal.release.hooks import Hooks
from shoal.release.job import Job, Target
from shoal.release.pipeline import run
from shoal.release.population import people_of, table_of
from shoal.release.run import IN_MEMORY

if TYPE_CHECKING:
    from shoal.release.release import Release


def anonymize_file(
    source: Target | Source,
    output: Target | None = None,
    plan: Plan | None = None,
    *,
    manifest: Target | None = None,
    report: Target | None = None,
    force: bool = False,
    progress: Progress | None = None,
    name_of_table: str | None = None,
    **fields: Any,
) -> Release:
    """Anonymise a file or a table of a database, and write the release.

    Parameters
    ----------
    source : path, address or Source
        See :func:`shoal.io.read`.
    output : path, address or None
        Where the release goes, see :func:`shoal.io.write`. None: nowhere, it is only returned.
    plan : Plan or None
        In place of `fields`, which are those of :class:`shoal.Plan`.
    manifest, report : path or None
        Where to write them.
    force : bool
        Whether what is there is replaced.
    progress : callable or None
    name_of_table : str or None
        Of a database that is written to.
    **fields

    Returns
    -------
    Release
        Its table is a pyarrow.Table; one that came from CSV holds text, as it is in the file.
    """
    if plan is not None and fields:
        raise OptionError(f"A plan says everything. Got {next(iter(fields))!r} beside it.")
    plan = Plan.of(**fields) if plan is None else plan
    job = Job(
        plan,
        source,
        output,
        manifest,
        report,
        writing={} if name_of_table is None else {"name_of_table": name_of_table},
        force=force,
    )
    told = _Told(throttled(progress))
    release = run(job, told)
    told.report(1.0)
    return release


class _Told(Hooks):
    """Progress of all steps together."""

    SPANS: ClassVar = {"reading": (0.0, 0.1), "grouping": (0.1, 0.8), "writing": (0.8, 1.0)}

    def __init__(self, report: Progress) -> None:
        self.report = report
        report(0.0)

    def on_step(self, step: str) -> Progress:
        return part(self.report, *self.SPANS[step])


class _Saving(Hooks):
    """Progress of writing alone."""

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
    return pipeline.save(release, job, _Saving(progress))


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
            f"{source.name} is not the file of this manifest: its SHA-256 is another one.",
            hint="verify the file as it was released, or name its quasi-identifiers (--qi) to verify this one.",
        )
    if "rows" in output and output["rows"] != source.table.num_rows:
        raise DisclosureError(
            f"{source.name} is not the table of this manifest, which has {output['rows']} rows. "
            f"Got {source.table.num_rows}.",
            hint="verify the table as it was released.",
        )
    wanted, blocks = said["k"]["wanted"], said["k"]["blocks"]
    strata = [name for name in said["quasi_identifiers"] if not any(name in block for block in blocks)]
    for block in blocks:
        names = _present(source, [*block, *strata])
        require(audit(source.table, names, wanted), source.name)
    # With several blocks, k is not promised for all quasi-identifiers together.
    found = audit_of(source, said["quasi_identifiers"], wanted if len(blocks) == 1 else None, Plan.of(**said["plan"]))
    require(found, source.name)
    return found


def audit_of(source: Source, names: list[str], wanted: int | None, plan: Plan, people: Any = None) -> Audit:
    """Return the audit of a table that was read again: k by rows, and all models of the plan."""
    how: dict[str, Any] = {"text": source.text, "decimal": source.decimal}
    found = audit(source.table, names, wanted, demands=wishes_of(source.table, plan, **how))
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
