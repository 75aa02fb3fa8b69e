"""``shoal anonymize``: from a table to a verified release, its manifest and its report."""

from __future__ import annotations

import json as _json
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.text import Text

from shoal.cli import shows
from shoal.cli.command import JOB, SOURCE, takes
from shoal.cli.shell import Shell, current, guarded, stoppable
from shoal.cli.task import Task, read_source, task_of
from shoal.errors import DisclosureWarning
from shoal.options.option import Given, Option
from shoal.options.table import FILES, PLAN, READING, TALK, TALKING, WRITING
from shoal.options.values import SWITCH

if TYPE_CHECKING:
    from shoal.io import Source
    from shoal.plan import Plan
    from shoal.release.preparation import Prepared
    from shoal.release.release import Release

EXAMPLES = """
[bold]Examples[/bold]

[dim]Look at the schema first; nothing is written:[/dim]

[cyan]shoal anonymize people.csv -k 5 --id name --dry-run[/cyan]

[cyan]shoal anonymize people.csv -k 5 -o release.csv --id name --qi age,zip,income --sensitive illness[/cyan]

[cyan]shoal anonymize people.parquet -k 10 -o release.parquet --qi age,zip --hierarchy zip=prefixes[/cyan]

[cyan]shoal anonymize postgresql://me@host/db --table people -k 5 -o release.csv --unit household[/cyan]

[dim]Once more, from what --write-job has written:[/dim]

[cyan]shoal anonymize --job job.yaml -o release.csv[/cyan]

[dim]The manifest is written beside the release, as OUT.manifest.json. A name with a comma stands in double
quotes: --qi '"last, first"'.[/dim]
"""


def options(plan: Sequence[Option] = PLAN) -> tuple[Option, ...]:
    """Return the options of the command, those of the plan among them."""
    return (
        SOURCE,
        *plan,
        Option("--output", "A file, a database, or [cyan]-[/cyan] for CSV.", "OUT", short="-o"),
        Option("--report", "Write a report (HTML).", "FILE", panel=FILES),
        Option("--manifest", "Default: OUT.manifest.json, if OUT is a file.", "FILE", panel=FILES),
        Option("--no-manifest", "Write none.", form=SWITCH, panel=FILES, default=False),
        JOB,
        Option("--write-job", "Write the job file that says all this.", "FILE", panel=FILES),
        *WRITING,
        Option("--force", "Replace what is there.", form=SWITCH, panel=FILES, default=False),
        *READING,
        Option(
            "--dry-run",
            "Read, show and check everything; release nothing.",
            form=SWITCH,
            panel=TALK,
            default=False,
        ),
        *TALKING,
    )


@guarded
@takes(*options())
def anonymize(given: Given) -> None:
    """Hide every record of a table in a group of at least [bold]k[/bold] look-alikes.

    The release is written beside its place, read again, verified, and only then given its name.
    """
    task = task_of(given)
    shell = current()
    start = time.perf_counter()
    with shows.bars(shell) as bar:
        found = read_source(task.source, task.reading, bar("reading"))
        seconds = time.perf_counter() - start
        prepared = _prepared(found, task.plan)
        _show_schema(shell, found, prepared)
        if not given["dry_run"]:
            release = _carried_out(shell, found, prepared, seconds, bar("grouping"))
            release = _saved(shell, release, task, bar("writing"))
    if given["dry_run"]:
        _planned(shell, prepared, task)
        return
    if given["json"]:
        shows.print_json(release.manifest)
    shell.show("", shows.summary(release, task.written(release), time.perf_counter() - start))


def _prepared(source: Source, plan: Plan) -> Prepared:
    from shoal.release.preparation import prepare

    return prepare(source.table, plan, text=source.text, decimal=source.decimal)


def _show_schema(shell: Shell, source: Source, prepared: Prepared) -> None:
    rows = f"{source.name}: {prepared.rows_in:,} rows, {len(prepared.columns)} columns"
    shell.show(Text(rows, style="bold"))
    if shell.verbose:
        for note in source.notes:
            shell.note(note)
    table = shows.schema_table(prepared.columns, prepared.attributes, all_of_them=shell.verbose)
    shell.show("", table)
    named = prepared.plan.quasi_identifiers is not None
    for note in shows.schema_notes(prepared.columns, prepared.attributes, named):
        shell.note(note)
    for words in prepared.warnings:
        shell.warn(words)


def _carried_out(shell: Shell, source: Source, prepared: Prepared, seconds: float, progress: Any) -> Release:
    from shoal.release.run import carry_out

    with stoppable(shell), shows.compiling_said(shell), warnings.catch_warnings():
        # Said in yellow, below and with the schema.
        warnings.simplefilter("ignore" if not shell.verbose else "default")
        warnings.simplefilter("ignore", DisclosureWarning)
        release = carry_out(prepared, progress=progress)
    for words in release.warnings[len(prepared.warnings) :]:
        shell.warn(words)
    return replace(release, source=source, timings={"reading": seconds, **release.timings})


def _saved(shell: Shell, release: Release, task: Task, progress: Any) -> Release:
    from shoal.release.files import save, write_text

    release = save(release, task.output or "", force=task.force, progress=progress, **task.writing)
    shell.done = f"the release {task.output} was written, but not all of the files that belong to it"
    if release.written is not None:
        for note in release.written.notes:
            shell.note(note)
    if task.manifest is not None:
        write_text(_json.dumps(release.manifest, indent=2, ensure_ascii=False) + "\n", task.manifest, force=task.force)
    if task.report is not None:
        release.report(task.report, force=task.force)
    if task.job is not None:
        write_text(task.job_file(), task.job, force=task.force)
    shell.done = "everything was written"
    return release


def _planned(shell: Shell, prepared: Prepared, task: Task) -> None:
    """Show what would be done."""
    coordinates = prepared.embedded()
    methods = prepared.methods(coordinates)
    n, plan = prepared.table.num_rows, prepared.plan
    rows: list[tuple[str, Any]] = [("k", f"{plan.k}: at most {n // plan.k:,} groups")]
    for own, name, why in methods:
        block = f"{', '.join(own)}: " if len(methods) > 1 else ""
        rows.append(("method", f"{block}{name}: {why}"))
    rows.append(("space", f"{coordinates.together().shape[1]} coordinates"))
    if prepared.rows_dropped:
        rows.append(("dropped", f"{prepared.rows_dropped:,} rows with missing values"))
    if prepared.rows_removed:
        rows.append(("removed", shows.removed(prepared.rows_removed, plan.k)))
    if plan.missing == "value" and any(prepared.missing.values()):
        told = ", ".join(f"{name} {count:,}" for name, count in prepared.missing.items() if count)
        rows.append(("missing", told))
    if task.job is not None:
        from shoal.release.files import write_text

        write_text(task.job_file(), task.job, force=task.force)
        rows.append(("job file", task.job))
    shell.show("", shows.pairs(rows), "", Text("Dry run: no release was made.", style="yellow"))
    if task.json:
        shows.print_json(
            {
                "dry_run": True,
                "plan": plan.job(),
                "rows": {
                    "in": prepared.rows_in,
                    "dropped": prepared.rows_dropped,
                    "removed": prepared.rows_removed,
                    "published": n,
                },
                "columns": [{"name": c.name, "role": c.role, "role_inferred": c.inferred} for c in prepared.columns],
                "attributes": [
                    {
                        "columns": list(a.columns),
                        "type": a.kind,
                        "type_inferred": a.inferred,
                        "published": a.representative,
                        "missing": prepared.missing[a.name],
                    }
                    for a in prepared.attributes
                ],
                "methods": [{"attributes": list(own), "method": name, "why": why} for own, name, why in methods],
                "warnings": list(prepared.warnings),
            }
        )
