"""``shoal assess``: what is still at risk in a release, and what it is still good for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from shoal.cli import shows
from shoal.cli.command import takes
from shoal.cli.finished import read_release
from shoal.cli.shell import current, reports_errors, stoppable
from shoal.cli.words import shown
from shoal.options.option import Given, Option, switch
from shoal.options.table import FILES, PLAN, READING, TALKING
from shoal.options.values import NAMES, WHOLE, names
from shoal.release.assessments.catalogue import NAMES as TOPIC_NAMES
from shoal.release.assessments.catalogue import TOPICS

if TYPE_CHECKING:
    from rich.table import Table

    from shoal.measure import Subgroups
    from shoal.release.assessments.assessment import Assessment

EXAMPLES = """
[bold]Examples[/bold]

[dim]With release.csv.manifest.json, if it is in the same folder:[/dim]

[cyan]shoal assess people.csv release.csv[/cyan]

[cyan]shoal assess people.csv release.csv --report assessment.html[/cyan]

[dim]A release of another program, with rows in another order:[/dim]

[cyan]shoal assess people.csv other.csv --qi age,zip,sex --sensitive illness --key id[/cyan]

[dim]Who pays for the anonymity:[/dim]

[cyan]shoal assess people.csv release.csv --by sex,region[/cyan]

[dim]One question, and a slow one besides those of the default:[/dim]

[cyan]shoal assess people.csv release.csv --ask linkage[/cyan]

[cyan]shoal assess people.csv release.csv --ask default,model --sample 5000[/cyan]

[dim]The figures are for the data holder: those of risk can help an intruder.[/dim]
"""
SLOW = [topic.name for topic in TOPICS if not topic.asked]
_ROWS = {option.field: option for option in PLAN}
FIELDS = ("types", "nominal", "continuous")
OPTIONS = (
    Option("original", "The table that the release was made from.", "ORIGINAL", required=True),
    Option("release", "The published file.", "RELEASE", required=True),
    replace(
        _ROWS["quasi_identifiers"],
        help="Quasi-identifier. Default: those of the certificate, or all columns that both tables have.",
        panel=None,
    ),
    replace(_ROWS["sensitive_attributes"], help="Sensitive. Default: those of the certificate.", panel=None),
    replace(_ROWS["weight"], help="Sampling weights, a column of the original.", panel=None),
    Option("--key", "Column by which rows are matched. Default: by their order.", "COL"),
    Option("--by", "Show who pays for the anonymity, by the values of this column.", "COL", NAMES),
    replace(_ROWS["types"], panel=None),
    replace(_ROWS["nominal"], panel=None),
    replace(_ROWS["continuous"], panel=None),
    Option(
        "--ask",
        f"Questions to ask, or 'all'. Default: 'default', which is all but {' and '.join(SLOW)}. "
        f"All: {', '.join(TOPIC_NAMES)}.",
        "NAME",
        NAMES,
    ),
    Option("--held-out", "Records set aside before the release was made: tries who is in it, and models.", "FILE"),
    Option("--population-size", "People that the original is a sample of. Default: the sum of weights.", "N", WHOLE),
    Option("--sample", "Records that attacks and models are given. Default: 20000.", "N", WHOLE),
    Option("--certificate", "The certificate. Default: RELEASE.manifest.json, if it exists.", "C", short="--manifest"),
    Option("--report", "Write a page with pictures, for the data holder.", "FILE", panel=FILES),
    switch("--force", "Overwrite an existing page.", FILES),
    *READING,
    *TALKING,
)


@reports_errors
@takes(*OPTIONS)
def assess(given: Given) -> None:
    """Assess a release: what an intruder can still do with it, and what an analyst can.

    It is compared with its original, and every figure stands beside what it should be compared with.
    """
    from shoal.release import finished
    from shoal.release.assessments.assessment import SAMPLE, assessed
    from shoal.release.assessments.tables import Roles
    from shoal.release.certificate import read_certificate
    from shoal.release.job import read_input
    from shoal.tables.inputs import count_of

    where, name, certificate, page = given["original"], given["release"], given["certificate"], given["report"]
    if page is not None:
        _check(page, given["force"], list(filter(None, [where, name, given["held_out"], certificate])))
    sample = SAMPLE if given["sample"] is None else count_of(given["sample"], "sample", "assess", least=2)
    fields, reading = given.of("plan"), given.of("reading")
    promised = read_certificate(certificate) if certificate else finished.beside(name)
    with shows.bars(current()) as bar:
        original = read_input(where, reading, bar("reading"))
        published = finished.Published(read_release(name, reading), promised)
        held_out = None if given["held_out"] is None else read_input(given["held_out"], reading, bar("reading"))
    roles = Roles(
        tuple(fields.get("quasi_identifiers") or ()),
        tuple(fields.get("sensitive_attributes") or ()),
        fields.get("weight"),
        _types(fields),
    )
    with stoppable(current()), shows.compiling_noted(current()):
        found = assessed(
            original,
            published,
            roles,
            key=given["key"],
            subgroups=names(given["by"]),
            ask=names(given["ask"]) or None,
            held_out=held_out,
            population_size=given["population_size"],
            sample=sample,
        )
    if given["json"]:
        shows.print_json(found.to_dict())
    _show(found)
    if page is not None:
        found.report(page, force=given["force"])
        current().show("", Text.assemble("The page is in ", (str(page), "bold"), ", for the data holder."))


def _types(fields: dict[str, Any]) -> dict[str, str]:
    types = dict(fields.get("types") or {})
    for kind in ("nominal", "continuous"):
        types |= dict.fromkeys(fields.get(kind) or (), kind)
    return types


def _check(page: str, force: bool, inputs: list[str]) -> None:
    """Refuse a page that exists already or that is an input, before any work is done."""
    from shoal.io.files import checked_target
    from shoal.release.targets import inputs_of, require_other_files

    require_other_files([Path(page)], inputs_of(None, None, inputs))
    checked_target(Path(page), force)


def _show(found: Assessment) -> None:
    from shoal.release.assessments.asking import NOT_ASKED

    shell = current()
    rows: list[tuple[str, Any]] = [
        ("release", Text(shown(found.name), style="bold")),
        ("records", f"{found.released:,} of {found.records:,}, k = {found.k}"),
    ]
    shell.show(shows.pairs(rows))
    for kind, head in (("risk", "What an intruder can still do"), ("utility", "What an analyst can still do")):
        if not any(question.kind == kind for question in found.questions):
            continue
        shell.show("", Text(head, style="bold"), _table(found, kind))
    for one in found.subgroups:
        shell.show("", Text(shown(f"Who pays for the anonymity, by {one.name}"), style="bold"), _paying(one))
    for note in found.notes:
        shell.note(f"{note[0].upper()}{note[1:]}.")
    lacking = [f"{name} ({why})" for name, why in found.left_out if why != NOT_ASKED]
    if lacking:
        shell.note(f"Left out: {', '.join(lacking)}.")
    slow = [name for name, why in found.left_out if why == NOT_ASKED and name in SLOW]
    if slow:
        shell.note(f"Slow questions that were not asked: {', '.join(slow)} (--ask all).")


def _table(found: Assessment, kind: str) -> Table:
    from shoal.release.report.assessment import interval_of, number_of

    table = shows.plain_table("question", "figure", "compare with", numbers=("figure", "compare with"))
    for question in found.questions:
        if question.kind != kind:
            continue
        table.add_row(Text(shown(question.asks), style="dim"), "", "")
        for figure in question.figures:
            number = number_of(figure).replace("\N{NO-BREAK SPACE}", " ")
            table.add_row(f"  {figure.words}", *(("", number) if figure.compare else (number, "")))
            if figure.interval is not None:
                between = interval_of(figure).replace("\N{NO-BREAK SPACE}", " ")
                table.add_row(Text("    95 % interval", style="dim"), Text(between, style="dim"), "")
    return table


def _paying(one: Subgroups) -> Table:
    table = shows.plain_table("subgroup", "records", "loss", numbers=("records", "loss"))
    for value, records, loss in zip(one.values, one.records, one.losses, strict=True):
        table.add_row(value or "all others", f"{records:,}", f"{loss:.3g}")
    table.add_row("all records", "", f"{one.whole:.3g}")
    return table
