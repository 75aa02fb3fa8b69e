"""``shoal compare``: methods on a table, or finished releases of it (see `finished`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.text import Text

from shoal.cli import maps, private_trials, shows
from shoal.cli.command import JOB, SOURCE, takes
from shoal.cli.finished import UNITS, compare_finished
from shoal.cli.shell import Shell, current, reports_errors, stoppable
from shoal.cli.task import plan_of, reading_of
from shoal.cli.words import in_words_of_the_command_line
from shoal.errors import OptionError
from shoal.options.option import Given, Option, switch
from shoal.options.table import FILES, GROUPS, PLAN, READING, TALK, TALKING
from shoal.options.values import TEXTS, WHOLES, names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from shoal.release.comparison import Measure, Trial
    from shoal.release.private.comparison import PrivateTrial

EXAMPLES = """
[bold]Examples[/bold]

[cyan]shoal compare people.csv -k 3 -k 5 -k 10 --qi age,zip,income[/cyan]

[cyan]shoal compare people.csv -k 5 --method mdav --method 'ona*' --method auto --plot comparison.svg[/cyan]

[cyan]shoal compare --job job.yaml -k 3 -k 5 --json > comparison.json[/cyan]

[cyan]shoal compare people.csv -k 5 --method 'ona*' --method anytime --time-limit 20 --bound lp[/cyan]

[cyan]shoal compare people.csv -k 5 --qi age,sex --release global-recoding --release strongly-safe --cell age=10[/cyan]

[dim]Which plans are worth considering, as a map of risk and loss:[/dim]

[cyan]shoal compare people.csv -k 3 -k 5 -k 10 --map map.html[/cyan]

[dim]Differentially private releases beside groups:[/dim]

[cyan]shoal compare people.csv -k 5 --id name --dp mondrian --epsilon 0.1 --epsilon 1 --domain domain.yaml[/cyan]

[dim]Finished releases of a table, by Shoal or by another program:[/dim]

[cyan]shoal compare people.csv a.csv b.csv --qi age,zip,sex --plot releases.svg[/cyan]

[dim]Nothing is released. The loss is SSE / SST on the coordinates that a release would be made from. The gap is an
upper limit on how far the loss is above the best possible.[/dim]
"""
DEFAULT = ("mdav", "mondrian-v2d", "mdav*", "ona*", "auto")

# Options that a comparison takes several times, in place of those of the plan.
TRIED = {
    "k": Option("-k", "Smallest group size; may be repeated. Default: 5.", "K", WHOLES),
    "method": Option("--method", f"Method; may be repeated. Default: {', '.join(DEFAULT)}.", "M", TEXTS),
    "release": Option(
        "--release",
        "Form of release; may be repeated: microaggregation, local-recoding, global-recoding, full-domain, "
        "strongly-safe. Default: that of the job file.",
        "FORM",
        TEXTS,
        GROUPS,
    ),
    **private_trials.OPTIONS,
}
RELEASES = Option(
    "releases", "Finished releases of the table, to be compared with it instead of methods.", "RELEASES", TEXTS
)
KEY = Option("--key", "Column by which rows of releases are matched. Default: by their order.", "COL")
LEFT_OUT = ("digits", "options", "shuffle")


def options(plan: Sequence[Option] = PLAN) -> tuple[Option, ...]:
    """Return the options of the command, including those of the plan."""
    return (
        SOURCE,
        RELEASES,
        *(TRIED.get(option.field, option) for option in plan if option.field not in LEFT_OUT),
        JOB,
        KEY,
        *maps.OPTIONS,
        Option("--plot", "Plot loss and time (svg, png or pdf), for the data holder.", "FILE", panel=FILES),
        switch("--force", "Overwrite an existing plot or map.", FILES),
        *READING,
        switch("--units", "Also show NCP, Total-IL, C_AVG and C_DM. Default if several forms are compared.", TALK),
        *TALKING,
    )


@reports_errors
@takes(*options())
def compare(given: Given) -> None:
    """Compare methods on a table: the loss, the time and the group sizes of each. Or compare finished releases."""
    if given["releases"]:
        compare_finished(given)
        return
    if given["key"] is not None:
        raise OptionError("The option --key must be given for finished releases only. Got it without any.")
    plan, files = plan_of(given)
    private = private_trials.plans_of(given, plan)
    where, plot = given["source"] or files.get("input"), given["plot"]
    if where is None:
        raise OptionError("The input must be named. Got none.", hint="shoal compare people.csv -k 3 -k 5")
    wanted = list(dict.fromkeys(given["k"] or [plan.k]))
    tried = _checked(list(dict.fromkeys(names(given["method"]) or DEFAULT)))
    from shoal.release.targets import inputs_of

    inputs = inputs_of(plan, where, filter(None, [given["job"]]))
    asked = maps.wanted(given)
    maps.check(given, inputs)
    if plot is not None:
        from shoal.cli import plots

        plots.check(plot, given["force"], inputs)
    shapes = list(dict.fromkeys(names(given["release"]) or [plan.release]))
    trials, made = _trials(current(), where, reading_of(given, files), plan, (tried, wanted, shapes), asked, private)
    drawn = None
    if asked is not None:
        from shoal.release.tuning.mapping import comparison_of_trials

        drawn = comparison_of_trials(trials, *asked)
    if given["json"]:
        more: dict[str, Any] = {} if drawn is None else {"map": drawn.plain()}
        more |= private_trials.plain(made) if private else {}
        shows.print_json({"trials": [trial.plain() for trial in trials], **more})
    current().show(_table(trials))
    if given["units"] or len(shapes) > 1:
        current().show("", _units(trials), "", Text(UNITS, style="dim"))
    if private:
        current().show(*private_trials.shown(trials, made))
    for one in made:
        if one.error:
            current().note(f"{one.release}, epsilon {one.epsilon:g}: {in_words_of_the_command_line(one.error)}")
    for name, k, error in dict.fromkeys((_name_of(trial), trial.k, trial.error) for trial in trials if trial.error):
        current().note(f"{name}, k = {k}: {in_words_of_the_command_line(error)}")
    if all(trial.error for trial in trials):
        raise OptionError("At least one of the methods must be usable on this table. Got none.")
    if drawn is not None:
        maps.show(drawn, given)
    if plot is not None:
        plots.draw(trials, plot, given["force"])
        current().show("", Text.assemble("The plot is in ", (plot, "bold"), "."))


def _checked(names: list[str]) -> list[str]:
    from shoal.partitioning.registry import find

    for name in names:
        if name != "auto":
            find(name)
    return names


def _trials(
    shell: Shell,
    where: str,
    how: dict[str, str],
    plan: Any,
    grid: tuple[list[str], list[int], list[str]],
    asked: tuple[str, str] | None,
    private: list[Any],
) -> tuple[list[Trial], list[PrivateTrial]]:
    names, ks, forms = grid
    from shoal.release.job import read_input

    with shows.bars(shell) as bar:
        source = read_input(where, how, bar("reading"))
        from shoal.progress import silent, throttled
        from shoal.release.comparison import compare_methods

        measure: Measure | None = None
        if asked is not None:
            from shoal.release.tuning.mapping import figures_of_groups
            from shoal.release.tuning.yardsticks import find

            figures = [one for one in map(find, asked) if one.source != "release"]
            measure = partial(figures_of_groups, original=source, wanted=figures)
        how_read: Any = {"text": source.text, "decimal": source.decimal}
        if private:
            from shoal.release.private.comparison import Questions, compare_private, without_privacy

            plan, questions = without_privacy(plan), Questions.about(source.table, private[0], **how_read)
            measure = questions.of_groups
        trying = bar("trying")
        progress = silent if trying is None else throttled(trying)
        with stoppable(shell), shows.compiling_noted(shell):
            trials = compare_methods(
                *(source.table, plan, names, ks),
                forms=forms,
                progress=progress,
                measure=measure,
                **how_read,
            )
            tried = list(trials)
            if not private:
                return tried, []
            releasing = bar("private")
            report = silent if releasing is None else throttled(releasing)
            return tried, list(compare_private(source.table, private, questions, progress=report, **how_read))


def _table(trials: list[Trial]) -> Table:
    table = shows.plain_table(
        *("k", "method", "loss", "gap", "seconds", "groups", "sizes"),
        numbers=("k", "loss", "gap", "seconds", "groups"),
    )
    # A loss without the removed records is not comparable with one of all records.
    comparable = [t for t in trials if t.loss is not None and not t.removed]
    best = {k: min((t.loss for t in comparable if t.loss is not None and t.k == k), default=None) for k in _ks(trials)}
    for row in _rows(trials):
        trial = row.trial
        if trial is None or trial.loss is None or trial.seconds is None:
            _add(table, row, 5)
            continue
        lowest = trial.loss == best[trial.k] and not trial.removed
        table.add_row(
            row.k,
            row.name,
            Text(shows.percent(trial.loss), style="bold green" if lowest else ""),
            "-" if trial.gap is None else shows.gap_percent(trial.gap),
            f"{trial.seconds:.2f}",
            f"{trial.groups:,}",
            f"{trial.smallest} to {trial.largest}, mean {trial.mean:.1f}",
            end_section=row.last,
        )
    return table


def _units(trials: list[Trial]) -> Table:
    """Return the units of recoding schemes, and the share of the records that were removed."""
    headers = ("NCP", "Total-IL", "C_AVG", "C_DM", "removed")
    table = shows.plain_table("k", "method", *headers, numbers=("k", *headers))
    for row in _rows(trials):
        trial = row.trial
        if trial is None or trial.average_group_size is None or trial.discernability is None:
            _add(table, row, 5)
            continue
        published = (trial.groups or 0) * (trial.mean or 0.0)
        removed = (trial.removed or 0) / (published + (trial.removed or 0))
        table.add_row(
            row.k,
            row.name,
            *("-" if x is None else shows.percent(x) for x in (trial.certainty_penalty, trial.total_information_loss)),
            f"{trial.average_group_size:.2f}",
            f"{trial.discernability:,}" if trial.discernability < 10**9 else f"{trial.discernability:.3e}",
            shows.percent(removed) if removed else "-",
            end_section=row.last,
        )
    return table


class _Row(NamedTuple):
    """A line of a table: a trial, or the form of the trials below it."""

    k: str
    name: str
    trial: Trial | None
    last: bool = False


def _rows(trials: list[Trial]) -> Iterator[_Row]:
    several = len({trial.form for trial in trials}) > 1
    for at, trial in enumerate(trials):
        k = str(trial.k) if at == 0 or trials[at - 1].k != trial.k else ""
        last = at + 1 == len(trials) or trials[at + 1].k != trial.k
        alone = _has_no_method(trial)
        if several and not alone and (k or trials[at - 1].form != trial.form):
            yield _Row(k, trial.form, None)
            k = ""
        yield _Row(k, ("  " if several and not alone else "") + _name_of(trial), trial, last)


def _has_no_method(trial: Trial) -> bool:
    from shoal.plan import WITHOUT_METHOD

    return trial.form in WITHOUT_METHOD


def _name_of(trial: Trial) -> str:
    """Return the method, with what `auto` chose; the form if there is no method."""
    if _has_no_method(trial):
        return trial.form
    # The options of the method would be too wide.
    return trial.method if trial.method != "auto" else f"auto: {trial.chosen.partition(' ')[0].rstrip(',')}"


def _add(table: Table, row: _Row, figures: int) -> None:
    """Add a line without figures: a failed trial, or the name of a form."""
    if row.trial is None:
        table.add_row(row.k, Text(row.name, style="bold"), *[""] * figures)
    else:
        table.add_row(row.k, row.name, *["-"] * figures, end_section=row.last, style="dim")


def _ks(trials: list[Trial]) -> list[int]:
    return list(dict.fromkeys(trial.k for trial in trials))
