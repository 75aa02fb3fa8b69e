"""What differential privacy costs, beside microaggregation: `python -m benchmarks.dp [--quick]`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.spatial import cKDTree

import shoal
from benchmarks.engine import correlated, figure
from benchmarks.pages import PAGES, Table, write
from benchmarks.timing import clock, show
from shoal.arrays import Array
from shoal.dp.budget import Budget, Ledger
from shoal.dp.domain import Coded, Domain
from shoal.dp.leaves import described
from shoal.dp.mondrian import SMALLEST, SUMS, grown
from shoal.dp.registry import PrivateRelease, find, releases
from shoal.dp.released import Released
from shoal.errors import ShoalError

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
# For a million records, of which a release takes up to a minute.
FEW_EPSILONS = (0.1, 1.0, 10.0)
K = (5, 10, 50, 100, 1000)
DELTA = 1e-6
# Records on which losses are measured, and queries that are asked.
SAMPLE, QUERIES, FLOOR = 20_000, 300, 0.001
PLOT = "dp-comparison.svg"
INTRO = f"""\
Every [differentially private release](../explanation/chapter-10.md) beside microaggregation, on the same tables. The
two do not promise the same: microaggregation hides a record among *k*, from somebody who knows quasi-identifiers;
differential privacy hides that a record is in the table at all, from somebody who knows everything else. This page
says what that costs.

- *Loss* is the mean squared distance of a record from the nearest row that was published, in % of what it is from the
  mean of the table. Attributes have the deviation 1. For microaggregation this is at most its information loss.
- *Invented* is the same from the other side: how far a published row (as often as it counts) is from the nearest
  record. Noise that makes up rows where nobody is shows here, and not in the loss.
- *Query error* is the median relative error of {QUERIES} random range queries on 1 to 3 attributes, each between the
  values of two records; answers below {FLOOR:.1%} of the records count as that. Private releases answer with the
  records they are released as, microaggregation with its means. An error of 100 % is no better than the answer 0.

Losses are those that the holder of the data can measure: they are *not* private, and no release tells them. Figures
are of one run each, with real noise, so that another run gives others. Releases that need a delta have {DELTA:g}.
Bounds are declared generously for Census (from 0 to a round number above all values) and Adult (as in the
questionnaire), and at 4 standard deviations for the generated records. Microaggregation is `mdav`, and `mondrian-v2d`
above 100,000 records.

![Loss and query error by epsilon]({PLOT})
"""


@dataclass
class Case:
    """A table in fixed point, with what is measured on it.

    Attributes
    ----------
    name : str
    coded : Coded
    deviations : float64[d]
        Of the codes.
    curves : {name: {epsilon: (loss, query error)}}
        For the plot.
    groups : {k: (loss, query error)}
    """

    name: str
    coded: Coded
    deviations: Array = field(init=False)
    curves: dict[str, dict[float, tuple[float, float]]] = field(default_factory=dict)
    groups: dict[int, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.deviations = np.maximum(self.coded.codes.std(axis=0), 1e-9)
        self.rng = np.random.default_rng(0)
        self.records = self.coded.codes / self.deviations
        self.sample = self.records[self.rng.permutation(len(self.records))[:SAMPLE]]
        self.tree = cKDTree(self.records)
        self.spread = float(((self.sample - self.records.mean(axis=0)) ** 2).sum(axis=1).mean())
        self.queries = list(self._asked())
        self.truth = self.answers(self.coded.codes, None)

    def _asked(self) -> Iterator[list[tuple[int, float, float]]]:
        n, d = self.coded.codes.shape
        for _ in range(QUERIES):
            columns = self.rng.choice(d, int(self.rng.integers(1, min(3, d) + 1)), replace=False)
            ends = np.sort(self.coded.codes[self.rng.integers(0, n, 2)][:, columns], axis=0)
            yield [(int(column), *ends[:, at].tolist()) for at, column in enumerate(columns)]

    def answers(self, rows: Array, weights: Array | None) -> Array:
        """Return float64[q]: the share of rows in each range."""
        weights = np.ones(len(rows)) if weights is None else weights
        total, found = max(float(weights.sum()), 1.0), np.empty(len(self.queries))
        for at, query in enumerate(self.queries):
            inside = np.ones(len(rows), bool)
            for column, low, high in query:
                inside &= (rows[:, column] >= low) & (rows[:, column] <= high)
            found[at] = weights[inside].sum() / total
        return found

    def error(self, rows: Array, weights: Array | None = None) -> float:
        """Return the median relative error of the queries."""
        wrong = np.abs(self.answers(rows, weights) - self.truth) / np.maximum(self.truth, FLOOR)
        return float(np.median(wrong))

    def losses(self, rows: Array, weights: Array) -> tuple[float, float]:
        """Return the mean squared distances from records to rows and back, as shares of that to the mean."""
        if not len(rows):
            return 1.0, 0.0
        scaled = rows / self.deviations
        there = float((cKDTree(scaled).query(self.sample)[0] ** 2).mean())
        drawn = scaled[self.rng.choice(len(rows), min(SAMPLE, 4 * len(rows)), p=weights / weights.sum())]
        back = float((self.tree.query(drawn)[0] ** 2).mean())
        return there / self.spread, back / self.spread


def declared(data: Array, columns: Any, bounds: Sequence[tuple[float, float]], kind: str) -> Coded:
    """Return a table of numbers within declared bounds."""
    names = [str(name) for name in columns]
    domain = Domain.of(
        {name: {"kind": kind, "lower": low, "upper": high} for name, (low, high) in zip(names, bounds, strict=True)}
    )
    return domain.encode(pa.table(dict(zip(names, data.T, strict=True))))


def cases(*, quick: bool) -> Iterator[tuple[str, Callable[[], Coded]]]:
    """Yield names and tables."""
    few = 2000 if quick else None
    census, adult = shoal.datasets.load("census"), shoal.datasets.load("adult")
    tops = [1_000_000, 100_000, 10_000, 100_000, 200_000, 20_000, 100_000, 200_000, 50_000, *[100_000] * 4]
    tops[10] = 10_000
    ends = [(0.0, float(top)) for top in tops]
    yield "Census, 1,080 x 13", partial(declared, census.data, census.columns, ends, "integer")
    asked = [(0, 120), (1, 16), (0, 100)]
    yield "Adult, 48,842 x 3", partial(declared, adult.data[:few], adult.columns, asked, "integer")
    n = 5000 if quick else 1_000_000
    for d in (5, 2):
        yield f"Generated, {n:,} x {d}", partial(generated, n, d)


def generated(n: int, d: int) -> Coded:
    """Return n correlated records, with bounds at 4 standard deviations."""
    return declared(correlated(n, d), [f"x{j}" for j in range(d)], [(-4, 4)] * d, "continuous")


def options_of(release: PrivateRelease, d: int) -> dict[str, Any]:
    """Return options where the defaults are for another number of attributes."""
    return {"bins": 2, "alpha": 0.8} if release.name == "small-db" and d > 1 else {}


def released(release: PrivateRelease, coded: Coded, epsilon: float, form: str) -> Released:
    """Return a private release."""
    given = options_of(release, coded.codes.shape[1])
    if any(option.name == "form" for option in release.options):
        given["form"] = form
    ledger = Ledger(Budget(epsilon, DELTA if release.delta else 0))
    made: Released = release.load()(coded, ledger, **release.checked(given))
    return made


def compare(name: str, case: Case, epsilons: tuple[float, ...]) -> Table:
    """Measure all releases on a table, and microaggregation."""
    table = Table(
        name,
        "",
        ["release", "epsilon or k", "rows", "loss, %", "invented, %", "query error, %", "seconds"],
    )
    for release in releases():
        for epsilon in epsilons:
            try:
                seconds, rows = clock(partial(released, release, case.coded, epsilon, "aggregated"))
                records = released(release, case.coded, epsilon, "records")
            except ShoalError as refused:
                table.add(release.name, f"{epsilon:g}", "", "", "", "", "refused")
                table.verdicts.append(f"`{release.name}` is refused: {str(refused).split(' Hint:')[0]}")
                break
            weights = np.ones(len(rows.positions)) if rows.counts is None else np.maximum(rows.counts, 0).astype(float)
            some = weights > 0
            loss, invented = case.losses(rows.positions[some], weights[some])
            error = case.error(records.positions, records.counts)
            case.curves.setdefault(release.name, {})[epsilon] = loss, error
            cells = [f"{100 * figure_:.3g}" for figure_ in (loss, invented, error)]
            table.add(release.name, f"{epsilon:g}", f"{some.sum():,}", *cells, show(seconds))
    for k in K:
        if 2 * k > len(case.records):
            continue
        method = "mdav" if len(case.records) <= 100_000 else "mondrian-v2d"
        seconds, labels = clock(partial(shoal.partition, case.records, k, method, n_jobs=1))
        sizes = np.bincount(labels).astype(float)
        means = np.stack([np.bincount(labels, column) / sizes for column in case.coded.codes.T], axis=1)
        loss, invented = case.losses(means, sizes)
        error = case.error(means, sizes)
        case.groups[k] = loss, error
        cells = [f"{100 * figure_:.3g}" for figure_ in (loss, invented, error)]
        table.add(f"microaggregation ({method})", f"k = {k}", f"{len(sizes):,}", *cells, show(seconds))
    table.verdicts += verdicts(case, epsilons)
    return table


def verdicts(case: Case, epsilons: tuple[float, ...]) -> list[str]:
    """Say for each epsilon which release answers queries best, and what microaggregation has that error."""
    said = []
    for epsilon in epsilons:
        found = {name: curve[epsilon] for name, curve in case.curves.items() if epsilon in curve}
        best = min(found, key=lambda name: found[name][1])
        loss, error = found[best]
        beside = place_of(error, case.groups)
        use = "" if error < 0.5 else " It is of no use."
        product = f"{epsilon * len(case.records):,.0f}"
        said.append(
            f"Epsilon {epsilon:g} (records times epsilon: {product}): queries are answered best by `{best}`, with an "
            f"error of {100 * error:.3g} % and a loss of {100 * loss:.3g} %, {beside}.{use}"
        )
    return said


def place_of(error: float, groups: dict[int, tuple[float, float]]) -> str:
    """Say between which k of microaggregation an error of queries lies."""
    better, worse = ([k for k in groups if (groups[k][1] <= error) == is_better] for is_better in (True, False))
    if not better:
        return f"better than microaggregation with k = {min(groups)}"
    if not worse:
        return f"worse than microaggregation with k = {max(groups)}"
    return f"between microaggregation with k = {max(better)} and with k = {min(worse)}"


def draw(cases_: list[Case]) -> None:
    """Draw loss and query error of each table by epsilon, with lines for microaggregation."""
    drawing = figure(8.5, 3.0 * len(cases_))
    names = [release.name for release in releases()]
    colours = dict(
        zip(
            names,
            ("tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple", "tab:brown", "tab:pink"),
            strict=False,
        )
    )
    panels = drawing.subplots(len(cases_), 2, squeeze=False)
    for row, case in zip(panels, cases_, strict=True):
        for at, (axes, what) in enumerate(zip(row, ("loss, %", "median query error, %"), strict=True)):
            for name, curve in case.curves.items():
                axes.plot(
                    list(curve),
                    [100 * figures[at] for figures in curve.values()],
                    "o-",
                    label=name,
                    color=colours.get(name),
                    markersize=3,
                )
            for k, figures in case.groups.items():
                height = max(100 * figures[at], 1e-3)
                axes.axhline(height, color="grey", linewidth=0.7, linestyle=":")
                beside = axes.get_yaxis_transform()
                axes.annotate(f"k = {k}", (1.01, height), xycoords=beside, fontsize=6, color="grey", va="center")
            axes.axhline(100, color="black", linewidth=0.7)
            axes.set(xscale="log", yscale="log", xlabel="epsilon", ylabel=what, title=case.name)
            axes.title.set_fontsize(9)
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_formatter("{x:g}")
                axis.set_minor_formatter("")
    shown = {name: line for axes in panels.flat for line, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    drawing.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=4)
    drawing.savefig(PAGES / PLOT, metadata={"Date": None})


def moved(coded: Coded, epsilon: float) -> float:
    """Return the information loss of a private Mondrian: records are moved to the published centre of their box."""
    ledger = Ledger(Budget(epsilon))
    budget = ledger.remaining[0]
    leaf = find("mondrian").checked({})["leaf"]
    tree = grown(coded, ledger, budget * (1 - SUMS), records=max(leaf / epsilon, SMALLEST))
    answers = described(coded, tree, ledger, ledger.remaining[0])
    centres = (answers.lower + answers.upper) / 2 + answers.offsets * (answers.upper - answers.lower) / 2
    away = (coded.codes - centres[tree.labels()]) / coded.codes.std(axis=0)
    return float((away**2).sum() / coded.codes.size)


def print_mondrian() -> None:
    """Print the loss of the private Mondrian and the seconds it takes, for the page on how to use it."""
    table = Table("Private Mondrian, 5 attributes", "", ["records", "epsilon", "loss, %", "seconds"])
    for n in (1_000_000, 100_000):
        coded = generated(n, 5)
        for epsilon in FEW_EPSILONS:
            seconds, loss = clock(partial(moved, coded, epsilon))
            table.add(f"{n:,}", f"{epsilon:g}", f"{100 * loss:.3g}", show(seconds))


def main() -> None:
    """Measure, and write the page and its figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mondrian", action="store_true", help="print the loss of the private Mondrian alone")
    parser.add_argument("--quick", action="store_true", help="small tables, two budgets")
    given = parser.parse_args()
    if given.mondrian:
        print_mondrian()
        return
    quick = given.quick
    tables, done = [], []
    for name, make in cases(quick=quick):
        case = Case(name, make())
        epsilons = (1.0, 10.0) if quick else EPSILONS if len(case.records) < 500_000 else FEW_EPSILONS
        tables.append(compare(name, case, epsilons))
        done.append(case)
    for table in tables:
        print(table.plain())
    draw(done)
    sections = [table.markdown() for table in tables]
    write("dp-comparison", "Private releases compared", [INTRO], sections, quick=quick, module="dp")


if __name__ == "__main__":
    main()
