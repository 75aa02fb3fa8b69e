"""``shoal anonymize``: makes a verified release of a table, with its certificate, record and report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from rich.text import Text

from shoal.cli import shows
from shoal.cli.command import JOB, SOURCE, takes
from shoal.cli.shell import Shell, current, reports_errors
from shoal.cli.shown import Shown
from shoal.cli.task import job_of
from shoal.cli.words import shown
from shoal.options.option import Given, Option, switch
from shoal.options.table import FILES, JSON, PLAN, READING, TALK, TALKING, WRITING

if TYPE_CHECKING:
    from shoal.engines.result import LargeRelease
    from shoal.io import Source
    from shoal.release.job import Job
    from shoal.release.preparation import Prepared
    from shoal.release.release import Release

EXAMPLES = """
[bold]Examples[/bold]

[dim]Look at the schema first; nothing is written:[/dim]

[cyan]shoal anonymize people.csv -k 5 --id name --dry-run[/cyan]

[cyan]shoal anonymize people.csv -k 5 -o release.csv --id name --qi age,zip,income --sensitive illness[/cyan]

[dim]Publish three columns and drop all others:[/dim]

[cyan]shoal anonymize people.parquet -k 10 -o release.parquet --qi age,zip --sensitive illness --rest drop[/cyan]

[cyan]shoal anonymize postgresql://me@host/db --table people -k 5 -o release.csv --unit household[/cyan]

[dim]A differentially private release; the dry run writes domain.yaml, to be filled in:[/dim]

[cyan]shoal anonymize people.csv --dp mondrian --epsilon 1 --domain domain.yaml --dry-run[/cyan]

[cyan]shoal anonymize people.csv --dp mondrian --epsilon 1 --domain domain.yaml -o release.csv[/cyan]

[dim]A file larger than memory, in pieces:[/dim]

[cyan]shoal anonymize people.csv -k 5 --engine stream --memory 2GB --id name -o release.csv[/cyan]

[dim]A folder of Parquet files, on Spark:[/dim]

[cyan]shoal anonymize people.parquet -k 5 --engine spark --master local[4] --id name -o release.parquet[/cyan]

[dim]Repeat it with the job file that --write-job wrote:[/dim]

[cyan]shoal anonymize --job job.yaml -o release.csv[/cyan]

[dim]The certificate is written next to the release, as OUT.manifest.json, and may be published with it, as the report
may. The record, OUT.record.json, has the plan and exact figures: keep it. What is shown here, and --json, is for you
alone too. Put names that contain a comma in double quotes: --qi '"last, first"'.[/dim]
"""


def options(plan: Sequence[Option] = PLAN) -> tuple[Option, ...]:
    """Return the options of the command, including those of the plan."""
    return (
        SOURCE,
        *plan,
        Option(
            "--output",
            "Where to write the release: a file, a database, or [cyan]-[/cyan] for CSV on standard output.",
            "OUT",
            short="-o",
        ),
        Option("--report", "Write a report in HTML, which may be published.", "FILE", panel=FILES),
        Option(
            "--certificate",
            "Where to write the certificate, for everyone. Default: OUT.manifest.json, if OUT is a file.",
            "FILE",
            panel=FILES,
            short="--manifest",
        ),
        switch("--no-certificate", "Write no certificate.", FILES),
        Option(
            "--record",
            "Where to write the record, for you alone. Default: OUT.record.json, if OUT is a file.",
            "FILE",
            panel=FILES,
        ),
        switch("--no-record", "Write no record.", FILES),
        JOB,
        Option("--write-job", "Write these settings to a job file.", "FILE", panel=FILES),
        *WRITING,
        switch("--force", "Overwrite existing files, but no input.", FILES),
        switch("--resume", "Go on where a run with --engine stream was killed, with the same result.", FILES),
        *READING,
        switch("--dry-run", "Read and check everything and show the plan, but release nothing.", TALK),
        replace(JSON, help="Print the record, one JSON object, on standard output. It is not to be published."),
        *(option for option in TALKING if option is not JSON),
    )


@reports_errors
@takes(*options())
def anonymize(given: Given) -> None:
    """Hide every record of a table in a group of at least [bold]k[/bold] similar records.

    The release is written to a temporary file, read again and verified before it gets its name.
    """
    job, shell, start = job_of(given), current(), time.perf_counter()
    from shoal.engines import pipeline as engines
    from shoal.release import pipeline

    if job.plan.dp is not None:
        from shoal.cli.private import anonymize_privately

        anonymize_privately(job, shell, given)
        return
    with shows.bars(shell) as bar:
        hooks = _Shown(shell, bar)
        if given["dry_run"] and engines.engine_for(job)[0] != "memory":
            _rehearse_in_pieces(shell, job, hooks, json=given["json"])
            return
        if given["dry_run"]:
            prepared = pipeline.rehearse(job, hooks)
        else:
            shell.wanted = _wanted(job)
            # Those with `dp` were made above.
            release = cast("Release | LargeRelease", engines.run(job, hooks, resume=given["resume"]))
    if given["dry_run"]:
        _show_plan(shell, prepared, job, json=given["json"])
        return
    if given["json"]:
        shows.print_json(release.record)
    written = [str(release.written.name)] if release.written is not None else []
    files = [*written, *map(str, job.documents)]
    shell.show("", shows.summary(release, files, time.perf_counter() - start))


class _Shown(Shown):
    """Shows the schema as well."""

    def on_prepared(self, source: Source, prepared: Prepared) -> None:
        _show_schema(self.shell, source, prepared)
        few = shows.few_groups(prepared.table.num_rows, prepared.plan.k)
        if few:
            self.shell.warn(few)


def _wanted(job: Job) -> list[str]:
    """Return the names of everything that a job writes; of a database that is not a file, none."""
    if job.plan.engine == "spark":  # which writes folders, also to addresses that nobody else knows
        return [str(target) for target in (job.output, *job.documents) if target is not None]
    place = job.place
    output = [] if place is None else ["standard output"] if place.standard else [place.path]
    return [str(target) for target in (*output, *job.documents) if target is not None]


def _show_schema(shell: Shell, source: Source, prepared: Prepared) -> None:
    rows = f"{source.name}: {prepared.rows_in:,} rows, {len(prepared.columns)} columns"
    shell.show(Text(shown(rows), style="bold"))
    if shell.verbose:
        for note in source.notes:
            shell.note(note)
    table = shows.schema_table(prepared.columns, prepared.attributes, prepared.plan, complete=shell.verbose)
    shell.show("", table)
    for note in shows.schema_notes(prepared.columns, prepared.attributes, prepared.plan):
        shell.note(note)


def _rehearse_in_pieces(shell: Shell, job: Job, hooks: Shown, *, json: bool) -> None:
    """Show what the first pass over a table finds that is not read into memory, and write the job file."""
    from shoal.engines.rehearsal import rehearse
    from shoal.release.files import write_job_file

    found = rehearse(job, hooks)
    layout = found.layout
    attributes = tuple(part.attribute for part in layout.parts)
    shell.show(
        Text(shown(f"{found.source.name}: {layout.rows_in:,} rows, {len(layout.columns)} columns"), style="bold")
    )
    shell.show("", shows.schema_table(layout.columns, attributes, layout.plan, complete=shell.verbose))
    for note in shows.schema_notes(layout.columns, attributes, layout.plan):
        shell.note(note)
    rows: list[tuple[str, Any]] = [
        ("k", f"{layout.plan.k}: at most {layout.rows // layout.plan.k:,} groups"),
        ("method", f"{found.way.in_words(found.way.rounds)}: {found.way.why}"),
    ]
    if layout.rows_dropped:
        rows.append(("dropped", f"{layout.rows_dropped:,} rows with missing values"))
    if job.job_file is not None:
        write_job_file(job)
        rows.append(("job file", str(job.job_file)))
    shell.show("", shows.pairs(rows), "", Text("Dry run: no release was made.", style="yellow"))
    if json:
        shows.print_json({"dry_run": True, "plan": layout.plan.job(), **found.plain()})


def _show_plan(shell: Shell, prepared: Prepared, job: Job, *, json: bool) -> None:
    """Show the plan of a dry run, and write the job file."""
    from shoal.release.files import write_job_file
    from shoal.release.pipeline import rehearsed

    coordinates = prepared.embedded()
    methods = prepared.methods(coordinates)
    n, plan = prepared.table.num_rows, prepared.plan
    rows: list[tuple[str, Any]] = [("k", f"{plan.k}: at most {n // plan.k:,} groups")]
    for attributes, name, why in methods:
        block = f"{', '.join(attributes)}: " if len(methods) > 1 else ""
        rows.append(("method", f"{block}{name}: {why}"))
    rows.append(("space", f"{coordinates.together().shape[1]} coordinates"))
    if prepared.rows_dropped:
        rows.append(("dropped", f"{prepared.rows_dropped:,} rows with missing values"))
    if prepared.rows_removed:
        rows.append(("removed", shows.removed(prepared.rows_removed, plan)))
    if plan.missing == "value" and any(prepared.missing.values()):
        counts = ", ".join(f"{name} {count:,}" for name, count in prepared.missing.items() if count)
        rows.append(("missing", counts))
    if job.job_file is not None:
        write_job_file(job)
        rows.append(("job file", str(job.job_file)))
    shell.show("", shows.pairs(rows), "", Text("Dry run: no release was made.", style="yellow"))
    if json:
        shows.print_json({"dry_run": True, "plan": plan.job(), **rehearsed(prepared, methods)})
