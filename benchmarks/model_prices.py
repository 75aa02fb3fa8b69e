"""What each model of privacy costs, and how long checking takes: `python -m benchmarks.model_prices [--quick]`."""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import shoal
from benchmarks.pages import Table, publish
from benchmarks.timing import clock, show
from shoal.arrays import Array
from shoal.estimator import standardized
from shoal.partitioning.enforcement import WAYS, enforce
from shoal.partitioning.repair import repair
from shoal.privacy.demands import Demand, spectra
from shoal.privacy.model import SensitiveModel
from shoal.privacy.models import MODELS, model
from shoal.privacy.spectrum import spectrum_of
from shoal.release.groups.rules import requirements_of
from shoal.tables.sensitive import Line, Sensitive, Tree, ranks

L, T, K = (2, 3, 5), (0.05, 0.1, 0.15, 0.2, 0.3), (3, 5)
METHOD = "mdav"
INTRO = f"""\
What groups lose (100 SSE/SST on standardised quasi-identifiers) if they must satisfy a model of privacy, and the time
it takes to check the models. *k alone* is `{METHOD}`, whose groups repairs start from; *k searched* is `anytime`
without any model, in as much time as the searches have: what a model costs is *best* less that. *Merged* is the
repair that only merges groups, *re-split* also cuts them where the model allows it. *Merge*, *k-first* and *t-first*
are the ways of Soria-Comas et al. (2015), *growth* takes the nearest record that adds diversity when it must,
*Mondrian* cuts where both sides satisfy the model, and *buckets* cuts all buckets of similar sensitive values alike:
all of them without the local search. *Searched* is the repair followed by the local search, *best* the search from the
best of the ways that fit, in the same time. *Worst* is what the worst group of *best* has: never beyond what is
required. The searches were ended by the clock.

- Census: 1,080 records, the attribute FEDTAX taken out as sensitive, by rank; 12 quasi-identifiers.
- Adult: 48,842 records. For l-diversity the sensitive attribute is *occupation* (14 values; missing ones add nothing)
  and age, education-num and hours-per-week are quasi-identifiers. For t-closeness hours-per-week is taken out as
  sensitive, by rank; age and education-num are left, which have about a thousand different pairs of values.
"""
# One specification of each model that looks at a sensitive attribute.
EXAMPLES = {
    "k-anonymity": "k=5",
    "distinct-diversity": "l=3",
    "entropy-diversity": "l=3",
    "recursive-diversity": "c=3 l=3",
    "p-sensitive": "p=3",
    "alpha": "alpha=0.5",
    "t-closeness": "t=0.2",
    "n-t-closeness": "n=1000 t=0.2",
    "delta-disclosure": "delta=1",
    "beta-likeness": "beta=1",
    "enhanced-beta-likeness": "beta=1",
}
PYCANON = """
import time
import numpy as np, pandas as pd
from pycanon import anonymity
rng = np.random.default_rng(0)
n = 20_000
frame = pd.DataFrame({"group": np.arange(n) // 10, "value": rng.integers(0, 100, n)})
for name in ("k_anonymity", "l_diversity", "entropy_l_diversity", "t_closeness"):
    start = time.perf_counter()
    args = (frame, ["group"]) if name == "k_anonymity" else (frame, ["group"], ["value"])
    getattr(anonymity, name)(*args)
    print(name, f"{time.perf_counter() - start:.2f}")
"""


class Case(NamedTuple):
    """A table with a sensitive attribute, and the models to try on it."""

    name: str
    X: Array
    sensitive: Sensitive
    specs: tuple[str, ...]


def by_rank(name: str, values: Array) -> Sensitive:
    """Return a numeric attribute as a sensitive one."""
    kinds, codes = np.unique(values, return_inverse=True)
    return Sensitive(name, codes.astype(np.int64), len(kinds), Line(ranks(len(kinds))))


def occupations() -> Sensitive:
    """Return the attribute of Adult, read from the file that the benchmark table comes from."""
    folder = Path(os.environ.get("SHOAL_DATA", Path.cwd().parent / "shared" / "data"))
    with gzip.open(folder / "adult.csv.gz", "rt", encoding="utf-8", newline="") as file:
        words = np.array([row["occupation"] for row in csv.DictReader(file)])
    kinds, codes = np.unique(words, return_inverse=True)
    known = np.cumsum(kinds != "?") - 1
    return Sensitive("occupation", np.where(kinds == "?", -1, known)[codes].astype(np.int64), int(known[-1]) + 1)


def cases(*, quick: bool) -> Iterator[Case]:
    """Yield the tables of this page."""
    diversity = tuple(f"distinct-diversity l={l}" for l in L)  # noqa: E741
    closeness = tuple(f"t-closeness t={t}" for t in T)
    census = shoal.datasets.load("census")
    column = census.columns.index("FEDTAX")
    X = standardized(np.delete(census.data, column, axis=1))
    yield Case("Census", X, by_rank("FEDTAX", census.data[:, column]), diversity + closeness)
    if not quick:
        adult = shoal.datasets.load("adult")
        yield Case("Adult", standardized(adult.data), occupations(), diversity)
        yield Case("Adult", standardized(adult.data[:, :2]), by_rank("hours-per-week", adult.data[:, 2]), closeness)


def price(seconds: float, *, quick: bool) -> list[Table]:
    """Compare the ways to each model."""
    tables = []
    for case in cases(quick=True):  # so that nothing is compiled while a search has its time
        shoal.partition(case.X, K[0], "anytime", time_limit=1, random_state=0)
        for spec in (case.specs[0], case.specs[-1]):
            _line(case, K[0], model(spec), shoal.partition(case.X, K[0], METHOD), 1)
    for k in K[:1] if quick else K:
        table = Table(
            f"The price at k = {k}",
            f"Loss in per cent. The local search had at most {seconds:g} seconds for each partition.",
            ["Table, model", "k alone", "k searched", "merged", "re-split", *WAYS_SHOWN, "searched", "best", "worst"],
        )
        kept = True
        for case in cases(quick=quick):
            start = shoal.partition(case.X, k, METHOD)
            free = shoal.partition(case.X, k, "anytime", time_limit=seconds, random_state=0)
            for spec in case.specs:
                cells, worst, holds = _line(case, k, model(spec), start, seconds)
                kept &= holds
                cells.insert(1, f"{100 * shoal.information_loss(case.X, free):.4g}")
                table.add(f"{case.name}, {spec}", *cells, worst)
        table.verdicts.append(f"No enforced partition misses what is required: {'holds' if kept else 'DOES NOT HOLD'}.")
        tables.append(table)
    return tables


WAYS_SHOWN = [name for name in WAYS if name != "repair"]


def _line(case: Case, k: int, one: SensitiveModel, start: Array, seconds: float) -> tuple[list[str], str, bool]:
    """Return the losses of all ways, what the worst group of the best has, and whether all hold."""
    X, demands = case.X, [Demand(one, case.sensitive)]
    required = requirements_of(X, k, demands)
    rng = np.random.default_rng(0)
    made: list[Array | None] = [start, *(repair(X, start, k, required, resplit=resplit) for resplit in (False, True))]
    for way in WAYS_SHOWN:
        fits = WAYS[way].fits(required.rules)
        made.append(enforce(X, k, required, way=way, labels=start, search=False, rng=rng) if fits else None)
    made.append(enforce(X, k, required, way="repair", labels=start, time_limit=seconds, rng=rng))
    made.append(enforce(X, k, required, labels=start, time_limit=seconds, rng=rng))
    measured = [one.measure(spectra(labels, demands)[0]) for labels in made[1:] if labels is not None]
    holds = all(bool(one.allows(found).all()) for found in measured)
    cells = ["" if labels is None else f"{100 * shoal.information_loss(X, labels):.4g}" for labels in made]
    return cells, f"{measured[-1][one.worst(measured[-1])]:.4g}", holds


def checking(*, quick: bool) -> Table:
    """Time the check of every model on many groups."""
    n, values = (100_000, 100) if quick else (1_000_000, 100)
    rng = np.random.default_rng(0)
    labels, codes = rng.permutation(n) % (n // 10), rng.integers(0, values, n)
    parents = np.concatenate(([-1], np.zeros(10, np.int64), 1 + np.arange(values) % 10))
    heights = np.concatenate(([1.0], np.full(10, 0.5), np.zeros(values)))
    grounds = {
        "all equally far": None,
        "by rank": Line(ranks(values)),
        "in a hierarchy": Tree(parents, heights, np.arange(11, 11 + values)),
    }
    table = Table(
        "Seconds of checking",
        f"{n:,} rows in {n // 10:,} groups, a sensitive attribute of {values} values, from labels and codes on: the "
        "values of groups are counted once, then every model measures all groups. k-map and delta-presence look at a "
        "population instead and are not part of this.",
        ["Model", "how far values are", "seconds"],
    )
    attribute = Sensitive("value", codes, values, None)
    seconds, spectrum = clock(lambda: spectrum_of(labels, attribute), repeats=3)
    table.add("(counting)", "", show(seconds))
    centres, total = rng.normal(size=(n // 10, 5)), seconds
    for name, kind in MODELS.items():
        if not issubclass(kind, SensitiveModel):
            continue
        own = model(f"{name} {EXAMPLES[name]}")
        for ground, on in grounds.items() if "closeness" in name else [("", None)]:
            seconds, _ = clock(partial(own.measure, spectrum._replace(ground=on), centres), repeats=3)
            total += seconds
            table.add(name, ground, show(seconds))
    verdict = "not judged" if quick else "holds" if total < 5 else "DOES NOT HOLD"
    table.verdicts.append(f"All models together in less than 5 s: {verdict} ({show(total)} s).")
    table.verdicts.append(pycanon())
    return table


def pycanon() -> str:
    """Return the seconds of pycanon on 20,000 rows in 2,000 groups, run in an environment of its own."""
    with tempfile.TemporaryDirectory() as folder:
        python = str(Path(folder) / "bin" / "python")
        steps: list[list[str]] = [
            [sys.executable, "-m", "venv", folder],
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pycanon"],
            [python, "-c", PYCANON],
        ]
        done: Any = None
        for step in steps:
            done = subprocess.run(step, capture_output=True, text=True, check=False, timeout=1200)
            if done.returncode:
                return "pycanon could not be installed or run here: no comparison."
    return "pycanon on 20,000 rows in 2,000 groups, seconds: " + ", ".join(done.stdout.strip().splitlines()) + "."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="Census with k = 3 and a tenth of the rows")
    parser.add_argument("--seconds", type=float, default=10.0, help="for the local search of each partition")
    asked = parser.parse_args()
    tables = [checking(quick=asked.quick), *price(asked.seconds, quick=asked.quick)]
    publish("model-prices", "The price of models", INTRO, tables, quick=asked.quick)


if __name__ == "__main__":
    main()
