"""``shoal compare ORIGINAL A B ..``: finished releases, compared with the original."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from shoal.cli import maps, shows
from shoal.cli.shell import current
from shoal.cli.task import plan_of, reading_of
from shoal.errors import OptionError
from shoal.options.option import Given

if TYPE_CHECKING:
    from rich.table import Table

    from shoal.release.finished import Compared

LEGEND = """\
Rows that are published alike are a group. The loss is that of replacing records
by the means of their groups, whatever the groups publish."""
UNITS = """\
NCP and Total-IL: width of groups, as a share of the range, the values or the
levels of each column. C_AVG: average size over k. C_DM: sum of squared sizes.
Removed records count as suppressed; each adds the size of the table to C_DM."""
# How text files are written: what holds for the original holds for its releases.
DIALECT = ("delimiter", "encoding", "decimal", "quote")


def compare_finished(given: Given) -> None:
    """Compare finished releases; `given` has the options of ``shoal compare``."""
    from shoal.release import finished
    from shoal.release.job import read_input
    from shoal.release.targets import inputs_of

    plan, files = plan_of(given)
    where, names, plot = given["source"], given["releases"], given["plot"]
    for option in ("method", "release", "dp", "epsilon", "delta", "domain"):
        if given[option]:
            raise OptionError(f"The option --{option} must be given to compare methods. Got it with finished releases.")
    wanted = list(dict.fromkeys(given["k"] or []))
    if len(wanted) > 1:
        raise OptionError(f"With finished releases, -k must be given at most once. Got {len(wanted)} values.")
    inputs = inputs_of(plan, where, [*names, *filter(None, [given["job"]])])
    asked = maps.wanted(given)
    maps.check(given, inputs)
    if plot is not None:
        from shoal.cli import plots

        plots.check(plot, given["force"], inputs)
    reading = reading_of(given, files)
    with shows.bars(current()) as bar:
        original = read_input(where, reading, bar("reading"))
        published = [finished.Published(read_release(name, reading), finished.beside(name)) for name in names]
    found = finished.compare_finished(original, published, plan, key=given["key"], k=wanted[0] if wanted else None)
    drawn = None
    if asked is not None:
        from shoal.release.tuning.mapping import comparison_of_releases

        risk, utility = asked
        drawn = comparison_of_releases(original, published, found, plan, key=given["key"], risk=risk, utility=utility)
    if given["json"]:
        shown = {} if drawn is None else {"map": drawn.plain()}
        shows.print_json({"releases": [one.plain() for one in found], **shown})
    current().show(_table(found), "", Text(LEGEND, style="dim"))
    if given["units"]:
        current().show("", _units(found), "", Text(UNITS, style="dim"))
    for one in found:
        for note in one.notes:
            current().note(f"{one.name}: {note}.")
    if plan.quasi_identifiers is None and not any(one.certified for one in found):
        current().note("No --qi given: all columns that the original and the releases have are compared.")
    if drawn is not None:
        maps.show(drawn, given)
    if plot is not None:
        plots.draw_releases(found, plot, given["force"])
        current().show("", Text.assemble("The plot is in ", (plot, "bold"), "."))


def read_release(name: str, reading: dict[str, Any]) -> Any:
    """Return a finished release that was read; text files are written as the original is."""
    from shoal.io.formats import locate
    from shoal.release.job import read_input

    csv = locate(name, None, "release").format.name == "csv"
    return read_input(name, {key: reading[key] for key in DIALECT if csv and key in reading})


def _headed(releases: Sequence[Compared]) -> Table:
    """Return an empty table with a column for each release, named by its file."""
    names = [Path(one.name).name for one in releases]
    if len(set(names)) < len(names):
        names = [one.name for one in releases]
    return shows.plain_table("", *names, numbers=names)


def _table(releases: Sequence[Compared]) -> Table:
    table = _headed(releases)
    table.add_row("k", *(_k(one) for one in releases))
    table.add_row("groups", *(f"{one.groups:,}" for one in releases))
    if any(one.removed for one in releases):
        table.add_row("rows removed", *(f"{one.removed:,}" if one.removed else "-" for one in releases))
    # A loss without the removed rows is not comparable with one of all rows.
    lowest = min((one.loss for one in releases if not one.removed), default=None)
    best = [not one.removed and one.loss == lowest for one in releases]
    table.add_row(
        "loss",
        *(
            Text(shows.percent(one.loss), style="bold green" if first else "bold")
            for one, first in zip(releases, best, strict=True)
        ),
    )
    for name in releases[0].by_attribute:
        table.add_row(f"  {name}", *(shows.percent(one.by_attribute[name]) for one in releases))
    table.add_row("certificate", *("yes" if one.certified else "-" for one in releases))
    for words in dict.fromkeys(words for one in releases for words in _models(one)):
        table.add_row(words, *(_models(one).get(words, Text("-")) for one in releases))
    return table


def _k(release: Compared) -> str:
    within = "" if release.k_in_blocks is None else f" ({release.k_in_blocks} in blocks)"
    return f"{release.k}{within}"


def _models(release: Compared) -> dict[str, Text]:
    """Return what is promised of sensitive attributes, and what holds."""
    from shoal.release.report.demands import demand_in_words, three_digits

    return {
        demand_in_words(one): Text(three_digits(one.held), style="green" if one else "red") for one in release.models
    }


def _units(releases: Sequence[Compared]) -> Table:
    table = _headed(releases)
    for header, field in (("NCP", "certainty_penalty"), ("Total-IL", "total_information_loss")):
        costs = [getattr(one, field) for one in releases]
        table.add_row(header, *("-" if cost is None else shows.percent(cost) for cost in costs))
    table.add_row("C_AVG", *(f"{one.average_group_size:.2f}" for one in releases))
    table.add_row("C_DM", *(f"{one.discernability:,}" for one in releases))
    return table
