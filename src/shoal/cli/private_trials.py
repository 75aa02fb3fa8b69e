"""``shoal compare --dp``: private releases beside groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from shoal.cli import shows
from shoal.errors import OptionError
from shoal.options.option import Given, Option
from shoal.options.table import PRIVATE
from shoal.options.values import NUMBER, NUMBERS, TEXTS, names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.table import Table

    from shoal.plan import Plan
    from shoal.release.comparison import Trial
    from shoal.release.private.comparison import PrivateTrial

OPTIONS = {
    "dp": Option(
        "--dp",
        "Differentially private release to compare with the groups; may be repeated.",
        *("NAME", TEXTS, PRIVATE),
    ),
    "epsilon": Option("--epsilon", "Its budget; may be repeated.", "E", NUMBERS, PRIVATE),
    "delta": Option("--delta", "Probability that is exempt, for releases that need it.", "D", NUMBER, PRIVATE),
    "domain": Option("--domain", "Columns and the values that they can have, as YAML.", "FILE", panel=PRIVATE),
}
LEGEND = """\
Query error: half of {queries} random range queries, each on up to {attributes} of the declared
columns, are answered with at most this relative error; then that of 95 %.
Releases without single values of these columns (ranges, say) have none. The
loss is of groups alone: rows of a private release belong to no record. Noise
is drawn anew, so that another run shows other figures."""
WARNING = """\
These figures are exact, and for you alone. Choosing a private release or its
epsilon by them is not private: the choice tells about the table. Choose on
public or older data."""


def plans_of(given: Given, plan: Plan) -> list[Plan]:
    """Return the plans of the private releases that are asked for, or refuse them."""
    asked = names(given["dp"])
    if not asked and plan.dp is None:
        for key in ("epsilon", "delta", "domain"):
            if given[key]:
                raise OptionError(f"The option --{key} must come with --dp. Got none.")
        return []
    for key in ("plot", "map"):
        if given[key] is not None:
            raise OptionError(
                f"The option --{key} cannot be combined with --dp. Got both.",
                hint="exact figures beside private releases are shown here only.",
            )
    from shoal.release.private.comparison import private_plans

    return private_plans(plan, asked, given["epsilon"] or [], given["delta"], given["domain"])


def shown(trials: Sequence[Trial], private: Sequence[PrivateTrial]) -> Iterable[Any]:
    """Return what is shown of private releases and groups, side by side."""
    from shoal.release.private.comparison import ATTRIBUTES, QUERIES

    legend = LEGEND.format(queries=QUERIES, attributes=ATTRIBUTES)
    return "", _table(trials, private), "", Text(legend, style="dim"), "", Text(WARNING, style="yellow")


def plain(private: Sequence[PrivateTrial]) -> dict[str, Any]:
    """Return plain values for JSON, with what must be said about them."""
    return {"private": [one.plain() for one in private], "note": " ".join(WARNING.split())}


def _table(trials: Sequence[Trial], private: Sequence[PrivateTrial]) -> Table:
    from shoal.plan import WITHOUT_METHOD

    headers = ("query error", "95 %", "seconds")
    table = shows.plain_table("promise", "release", *headers, numbers=headers)
    for trial in trials:
        named = trial.method if trial.form == "microaggregation" else f"{trial.form}: {trial.method}"
        name = trial.form if trial.form in WITHOUT_METHOD else named
        found = trial.figures or {}
        cells = [found.get("query_error"), found.get("query_error_high")]
        table.add_row(f"k = {trial.k}", name, *map(_percent, cells), _seconds(trial.seconds))
    if trials:
        table.add_section()
    for one in private:
        delta = f", delta {one.delta:g}" if one.delta else ""
        cells = [None, None] if one.queries is None else [one.queries.median, one.queries.high]
        table.add_row(f"epsilon {one.epsilon:g}{delta}", one.release, *map(_percent, cells), _seconds(one.seconds))
    return table


def _percent(figure: float | None) -> str:
    return "-" if figure is None else shows.percent(figure)


def _seconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.2f}"
