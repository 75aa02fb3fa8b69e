"""What private mechanisms and releases give away, measured: `python -m benchmarks.dp_audits [--only ..] [--anew]`.

Every mechanism and every release is run on two neighbouring tables, with the noise that is really drawn (see
:mod:`benchmarks.auditing`). Tables are small, so that runs are cheap and one record shows as much as it can.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from benchmarks.auditing import Batches, Sampler, empirical_epsilon, made_once, outputs, replaced, told
from benchmarks.pages import ROOT, Table, write
from shoal.arrays import Array
from shoal.dp import mechanisms
from shoal.dp.budget import Budget, Ledger, Neighbours
from shoal.dp.calculators import sampling_delta
from shoal.dp.domain import Coded, Domain
from shoal.dp.registry import find

RUNS, FEW, QUICK = 200_000, 20_000, 1000
EPSILON = 1
TITLES = ("Mechanisms", "Releases")
# Audits take long, and are carried out one by one: what was found is kept here.
KEPT = ROOT / "benchmarks" / "dp_audits.json"
INTRO = """\
The epsilon of every mechanism and every private release, measured on tables that differ in one record (or in one unit).
Each was run many times on both, by the code that makes releases, with noise drawn by OpenDP. From how often telling
outputs came about on one and on the other follows a lower bound of epsilon, by intervals of Clopper and Pearson, that
is wrong with a probability of at most 5 %. It must stay below the claim.

What is telling is chosen on one half of the runs and counted on the other. For releases without delta it is the
likelihood ratio of all answers that the release was given, beyond which nothing tells more; for the others, counts,
their number and the first rows. A bound far below the claim does not mean that noise is wasted: a single record seldom
takes part in all answers that the budget pays for.

Tables have 1 to 41 records. `tests/dp` runs a slice of these audits in every test run, all of them in the long tests,
and has the same audits catch faults that are planted on purpose.
"""


@dataclass(frozen=True)
class Audit:
    """A mechanism or a release, and two tables that differ in one record: one that shows as much as possible.

    Attributes
    ----------
    name, what : str
        What is audited, and on which tables.
    one, other : int64[n, d]
    delta : float
    kind : str
        "mechanism", or the name of a private release.
    domain : Domain or None
    options : mapping
    neighbours : Neighbours
    runs : int
        In all. Variants of a release that takes long have fewer.
    """

    name: str
    what: str
    one: Array
    other: Array
    kind: str = "mechanism"
    domain: Domain | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    delta: float = 0.0
    neighbours: Neighbours = field(default_factory=Neighbours)
    runs: int = RUNS

    def release(self, rows: Array) -> Any:
        """Return what is made known about a table, for an epsilon of 1."""
        ledger = Ledger(Budget(EPSILON, self.delta), self.neighbours)
        if self.domain is None:
            return ask(self.name, ledger, rows)
        return find(self.kind).load()(Coded(self.domain, rows), ledger, form="aggregated", **self.options)

    def figures(self, rows: Array) -> list[float]:
        """Return what is told of an output: how many records, how many rows, and where the first ones are."""
        made = self.release(rows)
        first = made.positions[0] if len(made.positions) else np.full(rows.shape[1], -1)
        return [made.counts.sum(), len(made.counts), *first]

    def measured(self, runs: int, sampler: Sampler | None = None, confidence: float = 0.95) -> float:
        """Return a lower bound of epsilon from so many runs, half of them on each table; noise is OpenDP's."""
        noise, half = Batches() if sampler is None else sampler, runs // 2
        with made_once():
            if self.delta:
                with replaced(mechanisms, "drawn", noise):
                    found = [outputs(partial(self.figures, rows), half) for rows in (self.one, self.other)]
            else:
                found = [
                    outputs(lambda: told(self.release, self.one, self.other, noise).likelihood, half),
                    outputs(lambda: -told(self.release, self.other, self.one, noise).likelihood, half),
                ]
        return empirical_epsilon(*found, delta=self.delta, confidence=confidence)


def ask(name: str, ledger: Ledger, rows: Array) -> Any:
    """Return the answer of a mechanism about a table of numbers from 0 to 7."""
    values, n = rows[:, 0], len(rows)
    counts = np.bincount(values, minlength=8)
    # One score rises and the others fall with each record: all of the noise is needed.
    opposed = np.append(n - 12, np.full(7, 12 - n))
    answers: dict[str, Callable[[], Any]] = {
        "laplace": lambda: mechanisms.laplace(ledger, np.array([n]), EPSILON),
        "sum": lambda: mechanisms.laplace(ledger, np.array([values.sum()]), EPSILON, sensitivity=7),
        "histogram": lambda: mechanisms.histogram(ledger, values, 8, EPSILON),
        "noisy maximum": lambda: mechanisms.noisy_maximum(ledger, opposed, EPSILON),
        "monotonic maximum": lambda: mechanisms.noisy_maximum(ledger, counts, EPSILON, monotonic=True),
        "exponential": lambda: mechanisms.exponential(ledger, counts / 2, EPSILON, sensitivity=0.5),
        "quantile": lambda: mechanisms.quantile(ledger, values, np.arange(8), EPSILON),
        "mean": lambda: mechanisms.mean(ledger, values, 0, 7, EPSILON),
        "variance": lambda: mechanisms.variance(ledger, values, 0, 7, EPSILON),
    }
    return answers[name]()


MECHANISMS = {
    "laplace": "a noisy count",
    "sum": "a noisy sum of numbers from 0 to 7",
    "histogram": "noisy counts of 8 cells",
    "noisy maximum": "of 8 scores, of which one rises and the others fall",
    "monotonic maximum": "the most frequent of 8 values",
    "exponential": "the same, with utilities of sensitivity 1/2",
    "quantile": "the median among 8 candidates",
    "mean": "of numbers from 0 to 7",
    "variance": "of numbers from 0 to 7",
}


def numbers(d: int, highest: int = 7) -> Domain:
    """Return d columns of whole numbers."""
    return Domain.of({f"x{j}": {"kind": "integer", "lower": 0, "upper": highest} for j in range(d)})


def rows(*given: list[int]) -> Array:
    """Return a table."""
    return np.array(given, np.int64)


SMALL = np.array([[0], [0], [1], [1], [1], [1], [3], [4], [4], [6], [6], [7]])
PLANE = np.hstack([SMALL, SMALL[::-1]])
MANY = np.resize(SMALL, (40, 1))
EIGHT = np.full((8, 1), 7)
MIXED = Domain.of(
    {
        "age": {"kind": "integer", "lower": 0, "upper": 9},
        "sex": {"kind": "nominal", "values": ["f", "m"]},
        "town": {"kind": "hierarchical", "hierarchy": {"N": ["a", "b"], "S": ["c", "d", "e"]}},
    }
)
PEOPLE = np.stack([np.arange(40) % 10, np.arange(40) // 10 % 2, np.arange(40) % 5], axis=1)
WORDS = Domain.of({"word": {"kind": "nominal", "values": [f"w{at}" for at in range(300)]}})
PAIR = Neighbours(2, "person")
SAFE = {"k": 5, "beta": 0.25}


def more(table: Array, *added: list[int]) -> Array:
    """Return a table with further records."""
    return np.vstack([table, np.array(added, np.int64)])


def _releases() -> list[Audit]:
    cuts = {"leaf": 20.0}
    corner = np.full((4, 16), 4)
    line, plane = numbers(1), numbers(2)
    # The least delta that pays for these samples.
    sampled, shared = (float(sampling_delta(5, 0.25, epsilon)) for epsilon in (EPSILON, EPSILON / 2))
    return [
        Audit("mondrian", "one attribute, cut into boxes", MANY, more(MANY, [7]), "mondrian", line, cuts),
        Audit("mondrian, 16 attributes", "a record that changes all sums", corner, more(corner, [8] * 16), "mondrian",
              numbers(16, 8), runs=FEW),
        Audit("mondrian, mixed", "a number, a name, a hierarchy", PEOPLE, more(PEOPLE, [9, 1, 4]), "mondrian", MIXED,
              cuts, runs=FEW),
        Audit("mondrian, many names", "the most frequent of 300", SMALL, more(SMALL, [299]), "mondrian", WORDS,
              runs=FEW),
        Audit("mondrian, units", "units of up to 2 rows", MANY, more(MANY, [7], [7]), "mondrian", line, cuts,
              neighbours=PAIR, runs=FEW),
        Audit("histogram", "8 cells", SMALL, more(SMALL, [7]), "histogram", line),
        Audit("histogram, units", "units of up to 2 rows", SMALL, more(SMALL, [7], [7]), "histogram", line,
              neighbours=PAIR),
        Audit("intervals", "one attribute", SMALL, more(SMALL, [0]), "intervals", line, {"alpha": 3}),
        Audit("intervals, recursion", "two attributes", PLANE, more(PLANE, [0, 7]), "intervals", plane, {"alpha": 3}),
        Audit("noisy-means", "one attribute, groups of 3", SMALL, more(SMALL, [0]), "noisy-means", line, {"k": 3}),
        # One group: the record takes the place of the end of the curve, on the other side of the domain.
        Audit("noisy-means, two attributes", "one group", rows([7, 0]), rows([7, 0], [0, 7]), "noisy-means", plane,
              {"k": 40}),
        Audit("small-db", "20 databases", SMALL, more(SMALL, [0]), "small-db", line, {"alpha": 0.9, "bins": 4}),
        Audit("strongly-safe", "k = 5, a quarter sampled", EIGHT, more(EIGHT, [7]), "strongly-safe", line, SAFE,
              sampled),
        Audit("epsilon-safe", "k = 5, a quarter sampled", EIGHT, more(EIGHT, [7]), "epsilon-safe", line,
              {**SAFE, "alpha": 3}, shared),
    ]  # fmt: skip


AUDITS = {
    one.name if one.domain is None else f"release {one.name}": one
    for one in (*(Audit(name, what, SMALL, more(SMALL, [7])) for name, what in MECHANISMS.items()), *_releases())
}


def main() -> None:
    """Measure what was not measured yet, and write the page after each audit: the whole takes long."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} runs of each, and no page")
    parser.add_argument("--anew", action="store_true", help="measure again what was measured before")
    parser.add_argument("--most", type=int, default=RUNS, help="runs of an audit at most; more can follow later")
    parser.add_argument("--only", default="", help="some of the audits, by the beginnings of their names")
    given = parser.parse_args()
    found = {} if given.anew or given.quick else known()
    for name, audit in AUDITS.items():
        start, runs = time.process_time(), QUICK if given.quick else min(audit.runs, given.most)
        if not name.startswith(tuple(given.only.split(","))) or found.get(name, {}).get("runs", 0) >= runs:
            continue
        bound = audit.measured(runs)
        found[name] = {"runs": runs, "bound": round(bound, 4), "seconds": round(time.process_time() - start)}
        print(name, found[name], file=sys.stderr, flush=True)
        if not given.quick:
            KEPT.write_text(json.dumps({**known(), **found}, indent=1) + "\n", encoding="utf-8")
            publish_all()


def known() -> dict[str, Any]:
    """Return the audits that were carried out before, of those that there are."""
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    return {name: kept[name] for name in AUDITS if name in kept}


def publish_all() -> None:
    """Write the page of all audits that were carried out."""
    tables = [Table(title, "", ["", "on", "claim", "runs", "lower bound", "seconds"]) for title in TITLES]
    found = known()
    for name, audit in AUDITS.items():
        claim = f"{EPSILON}" + (f", delta {audit.delta:.3g}" if audit.delta else "")
        one = found.get(name)
        cells = ["none", "", ""] if one is None else [f"{one['runs']:,}", f"{one['bound']:.4f}", str(one["seconds"])]
        table = tables[audit.domain is not None]
        table.rows.append([audit.name, audit.what, claim, *cells])
        if one is not None and one["bound"] > EPSILON:
            table.verdicts.append(f"The bound of {name} is above its claim.")
    for table in tables:
        table.verdicts = table.verdicts or ["No lower bound is above its claim."]
    write("dp-audits", "Private releases audited", [INTRO], [table.markdown() for table in tables], quick=False)


if __name__ == "__main__":
    main()
