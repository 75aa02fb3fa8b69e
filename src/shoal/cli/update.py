"""``shoal update``: adds new records to an earlier release, and says what both tell together."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from rich.text import Text

from shoal.cli import shows
from shoal.cli.command import takes
from shoal.cli.shell import current, reports_errors
from shoal.cli.shown import Shown
from shoal.errors import OptionError
from shoal.options.option import Given, Option, switch
from shoal.options.table import FILES, PLAN, READING, TALKING, WRITING
from shoal.options.values import WHOLE

if TYPE_CHECKING:
    from shoal.privacy.intersection import Intersection
    from shoal.release.updates.update import Update

EXAMPLES = """
[bold]Examples[/bold]

[dim]With release.csv.record.json, which lies beside the release; the original table is not needed:[/dim]

[cyan]shoal update release.csv new.csv -o release-2.csv[/cyan]

[dim]Sensitive values as in m-invariance, with m = 3:[/dim]

[cyan]shoal update release.csv new.csv -o release-2.csv --invariance 3[/cyan]

[dim]Weaker: single new records may join groups of the earlier release:[/dim]

[cyan]shoal update release.csv new.csv -o release-2.csv --newcomers 1[/cyan]

[dim]Anyone who has both releases can repeat the audit:[/dim]

[cyan]shoal verify release-2.csv --earlier release.csv[/cyan]
"""
RULES = "What both releases tell"
# Fields of a plan on how new records are grouped; everything else is as in the plan of the earlier release.
EFFORT = ("method", "options", "refine", "time_limit", "random_state", "n_jobs", "enforcement")
OPTIONS = (
    Option("release", "The earlier release, as it was published.", "RELEASE", required=True),
    Option("new", "New records, with the columns of the original table.", "NEW", required=True),
    Option("--output", "Where to write the new release, in the format of the earlier one.", "OUT", short="-o"),
    Option(
        "--newcomers",
        "Smallest number of new rows in a group that has any. Default: k. Less is weaker, and lets new records join "
        "groups of the earlier release.",
        "M",
        form=WHOLE,
        panel=RULES,
    ),
    Option(
        "--invariance",
        "Rule like m-invariance: among the new rows of a group and among the others, no sensitive value is more "
        "frequent than 1/M, and no group gets sensitive values that it did not have.",
        "M",
        form=WHOLE,
        panel=RULES,
    ),
    switch(
        "--allow-differences",
        "Weaker: models need not hold among the new rows of a group.",
        RULES,
    ),
    switch(
        "--allow-changes",
        "Merge groups of the earlier release that no longer satisfy a model of the whole table, such as t-closeness.",
        RULES,
    ),
    Option("--earlier-record", "The record of the earlier release. Default: RELEASE.record.json.", "FILE", panel=FILES),
    Option(
        "--certificate",
        "Where to write the certificate, for everyone. Default: OUT.manifest.json, if OUT is a file.",
        "FILE",
        panel=FILES,
        short="--manifest",
    ),
    Option(
        "--record",
        "Where to write the record, for you alone. Default: OUT.record.json, if OUT is a file.",
        "FILE",
        panel=FILES,
    ),
    switch("--force", "Overwrite existing files, but never one that is read.", FILES),
    *(option for option in PLAN if option.field in EFFORT),
    *READING,
    *WRITING,
    *TALKING,
)


@reports_errors
@takes(*OPTIONS)
def update(given: Given) -> None:
    """Add new records to an earlier release, whose rows stay as they are.

    Somebody who has both releases finds everybody among at least [bold]k[/bold] rows, old or new.
    """
    from shoal.release.job import certificate_beside, record_for
    from shoal.release.updates.run import Wanted, job_of, run

    output, shell, start = given["output"], current(), time.perf_counter()
    if output is None:
        raise OptionError("The output must be named. Got none.", hint="shoal update release.csv new.csv -o out.csv")
    writing = given.of("writing")
    format = writing.get("format")
    certificate = given["certificate"] or certificate_beside(output, format)
    record = record_for(given["record"] or True, output, output, format)
    wanted = Wanted(
        *(given["newcomers"], given["invariance"], given["allow_differences"], given["allow_changes"]),
        effort=tuple(given.of("plan").items()),
    )
    job = job_of(
        *(given["release"], given["new"], output, certificate, record, given["earlier_record"], given["force"]),
        reading=given.of("reading"),
        writing=writing,
    )
    with shows.bars(shell) as bar:
        shell.wanted = [str(one) for one in (output, *job.documents)]
        made = run(job, given["release"], wanted, Shown(shell, bar), given["earlier_record"])
    if given["json"]:
        shows.print_json(made.record)
    files = [*([] if made.written is None else [str(made.written.name)]), *map(str, job.documents)]
    shell.show(summary(made, files, time.perf_counter() - start))


def summary(made: Update, files: list[str], seconds: float) -> Any:
    """Return what is shown of an update."""
    rows: list[tuple[str, Any]] = [
        ("rows", f"{made.audit.rows:,} in {made.audit.classes:,} groups"),
        ("holds", Text(f"k = {made.k}", style="green")),
        *shows.models(made.audit.models),
    ]
    for names, found in zip(made.blocks, made.intersections, strict=True):
        where = f" within {', '.join(names)}" if len(made.blocks) > 1 else ""
        rows += [(what + where, words) for what, words in in_words(found)]
    if made.rows_joined:
        rows.append(("joined", f"{made.rows_joined:,} new rows share the values of groups of the earlier release"))
    rows.append(("loss", f"{shows.percent(made.loss)} of the variance of the new records"))
    for count, word in ((made.rows_dropped, "dropped"), (made.rows_removed, "removed")):
        if count:
            rows.append((word, f"{count:,} new records"))
    rows += [("written", Text(name)) for name in files]
    rows.append(("time", f"{seconds:.1f} s"))
    return shows.pairs(rows)


def in_words(found: Intersection) -> list[tuple[str, str]]:
    """Return what somebody who has both releases can find out, in words."""
    told = [("as before", f"{found.kept.rows - found.changed:,} rows")]
    if found.changed:
        told.append(("changed", f"{found.changed:,} rows of merged groups"))
    told.append(("in both", f"whoever is in both releases is one of at least {found.kept.k} rows"))
    if found.new.rows:
        told.append(("new", f"{found.new.rows:,} rows; whoever is new is one of at least {found.new.k} of them"))
    if found.gone.rows:
        told.append(("gone", f"{found.gone.rows:,} rows were changed or left out"))
    return told
