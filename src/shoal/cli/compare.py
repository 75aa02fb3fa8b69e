"""``shoal compare``: what methods lose on a table, how long they take, and how large their groups are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from shoal.cli import asked, shows
from shoal.cli import options as o
from shoal.cli.shell import Shell, current, guarded, stoppable
from shoal.cli.words import in_words_of_the_command_line
from shoal.errors import OptionError

if TYPE_CHECKING:
    from rich.table import Table

    from shoal.release.comparison import Trial

EXAMPLES = """
[bold]Examples[/bold]

[cyan]shoal compare people.csv -k 3 -k 5 -k 10 --qi age,zip,income[/cyan]

[cyan]shoal compare people.csv -k 5 --method mdav --method 'ona*' --method auto --plot comparison.svg[/cyan]

[cyan]shoal compare --job job.yaml -k 3 -k 5 --json > comparison.json[/cyan]

[cyan]shoal compare people.csv -k 5 --method 'ona*' --method anytime --time-limit 20 --bound lp[/cyan]

[dim]Nothing is released. The loss is SSE / SST on the coordinates that a release would be made from, and the gap says
by how much it is above the best possible at most.[/dim]
"""
DEFAULT = ("mdav", "mondrian-v2d", "mdav*", "ona*", "auto")

Ks = Annotated[
    list[int] | None,
    typer.Option("-k", metavar="K", help="Least group size; repeat it. Default: 5."),
]
Methods = Annotated[
    list[str] | None,
    typer.Option("--method", metavar="M", help=f"Repeat it. Default: {', '.join(DEFAULT)}."),
]
Plot = Annotated[
    str | None,
    typer.Option("--plot", metavar="FILE", help="Draw loss and time (svg, png, pdf).", rich_help_panel=o.FILES),
]
Force = Annotated[bool, typer.Option("--force", help="Replace a plot that is there.", rich_help_panel=o.FILES)]


@guarded
def compare(
    source: o.MaybeInput = None,
    ks: Ks = None,
    methods: Methods = None,
    qi: o.Qi = None,
    sensitive: o.Sensitive = None,
    id: o.Id = None,
    other: o.Other = None,
    weight: o.Weight = None,
    unit: o.Unit = None,
    stratum: o.Stratum = None,
    place: o.Place = None,
    type: o.Type = None,
    levels: o.Levels = None,
    hierarchy: o.Hierarchy = None,
    importance: o.Importance = None,
    coordinates: o.Coordinates = None,
    date_format: o.DateFormat = None,
    missing: o.Missing = None,
    na: o.Na = None,
    blocks: o.Blocks = None,
    small_strata: o.SmallStrata = None,
    refine: o.Refine = None,
    time_limit: o.TimeLimit = None,
    bound: o.Bound = None,
    seed: o.Seed = None,
    jobs: o.Jobs = None,
    job: o.Job = None,
    plot: Plot = None,
    force: Force = False,
    from_: o.From = None,
    table: o.Table = None,
    query: o.Query = None,
    sheet: o.Sheet = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Try methods on a table: what each loses, how long it takes, how large its groups are."""
    said = locals()
    plan, files = asked.plan_of(said)
    where = source or files.get("input")
    if where is None:
        raise OptionError("The input must be named. Got none.", hint="shoal compare people.csv -k 3 -k 5")
    wanted = list(dict.fromkeys(ks or [plan.k]))
    names = _checked(list(dict.fromkeys(asked.names(methods) or DEFAULT)))
    if plot is not None:
        from shoal.cli import plots

        plots.check(plot, force)
    trials = _trials(current(), where, asked.reading(said, files), plan, names, wanted)
    if json:
        shows.print_json({"trials": [trial._asdict() for trial in trials]})
    current().show(_table(trials))
    for trial in trials:
        if trial.error:
            words = in_words_of_the_command_line(trial.error)
            current().note(f"{trial.method}, k = {trial.k}: {words}")
    if all(trial.error for trial in trials):
        raise OptionError("At least one of the methods must be usable on this table. Got none.")
    if plot is not None:
        plots.draw(trials, plot, force)
        current().show("", Text.assemble("The plot is in ", (plot, "bold"), "."))


def _checked(names: list[str]) -> list[str]:
    from shoal.partitioning.registry import find

    for name in names:
        if name != "auto":
            find(name)
    return names


def _trials(shell: Shell, where: str, how: dict[str, str], plan: Any, names: list[str], ks: list[int]) -> list[Trial]:
    with shows.bars(shell) as bar:
        found = asked.read_source(where, how, bar("reading"))
        from shoal.progress import silent, throttled
        from shoal.release.comparison import compare as compared

        decimal_mark = found.dialect.decimal if found.dialect is not None else "."
        told = bar("trying")
        progress = silent if told is None else throttled(told)
        with stoppable(shell), shows.compiling_said(shell):
            trials = compared(found.table, plan, names, ks, text=found.text, decimal=decimal_mark, progress=progress)
            return list(trials)


def _table(trials: list[Trial]) -> Table:
    table = shows.plain_table(
        *("k", "method", "loss", "gap", "seconds", "groups", "sizes"),
        numbers=("k", "loss", "gap", "seconds", "groups"),
    )
    best = {k: min((t.loss for t in trials if t.k == k and t.loss is not None), default=None) for k in _ks(trials)}
    for at, trial in enumerate(trials):
        first = at == 0 or trials[at - 1].k != trial.k
        last = at + 1 == len(trials) or trials[at + 1].k != trial.k
        # What auto stood for, without its options, for which there is no room.
        name = trial.method if trial.method != "auto" else f"auto: {trial.chosen.partition(' ')[0].rstrip(',')}"
        if trial.loss is None or trial.seconds is None:
            table.add_row(str(trial.k) if first else "", name, *["-"] * 5, end_section=last, style="dim")
            continue
        table.add_row(
            str(trial.k) if first else "",
            name,
            Text(shows.percent(trial.loss), style="bold green" if trial.loss == best[trial.k] else ""),
            "-" if trial.gap is None else shows.gap_percent(trial.gap),
            f"{trial.seconds:.2f}",
            f"{trial.groups:,}",
            f"{trial.smallest} to {trial.largest}, mean {trial.mean:.1f}",
            end_section=last,
        )
    return table


def _ks(trials: list[Trial]) -> list[int]:
    return list(dict.fromkeys(trial.k for trial in trials))
