"""How near to the optimum: tables 6 and 7 of Domingo-Ferrer et al. (2006), and our other methods.

    python -m benchmarks.optimality [--tables 400] [--quick]

prints the tables and writes them to docs/reference/optimality.md. As in print, the tables have 11 records
with independent normal attributes; theirs were 100 other draws.
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np

import shoal
from benchmarks.pages import write
from shoal.partitioning.exact import exact
from shoal.partitioning.pool import squared_error

RECORDS = 11
EQUAL = 1 + 1e-9

# Printed name -> our method, in the order of the printed columns.
NAMES = {
    "NPN-MHM": "npn-mhm",
    "CBFS": "cbfs-nn",
    "CBFS-MHM": "cbfs-mhm",
    "MDAV": "mdav",
    "MDAV-MHM": "mdav-mhm",
    "Max. Dist.": "md",
    "MD-MHM": "md-mhm",
}
# (k, attributes) -> the printed figures, in the order of NAMES.
OPTIMAL = {
    (2, 3): (42, 38, 54, 15, 45, 14, 43),
    (3, 3): (46, 46, 57, 10, 39, 10, 34),
    (5, 3): (52, 45, 52, 37, 45, 37, 45),
    (3, 2): (54, 55, 72, 11, 44, 8, 10),
    (3, 5): (41, 48, 58, 18, 42, 15, 41),
    (3, 7): (52, 38, 57, 14, 44, 14, 50),
}
LARGEST = {
    (2, 3): (2.55, 2.26, 1.82, 2.87, 2.01, 2.49, 2.01),
    (3, 3): (1.66, 1.68, 1.68, 1.99, 1.7, 1.91, 1.9),
    (5, 3): (1.50, 1.47, 1.11, 1.48, 1.13, 1.48, 1.48),
}
MEAN = {
    (2, 3): (1.29, 1.25, 1.16, 1.51, 1.21, 1.51, 1.21),
    (3, 3): (1.18, 1.17, 1.12, 1.36, 1.18, 1.37, 1.20),
    (5, 3): (1.11, 1.12, 1.10, 1.14, 1.13, 1.46, 1.13),
    (3, 2): (1.26, 1.21, 1.21, 1.61, 1.28, 1.61, 1.29),
    (3, 5): (1.14, 1.13, 1.10, 1.22, 1.14, 1.23, 1.13),
    (3, 7): (1.11, 1.13, 1.09, 1.19, 1.11, 1.19, 1.09),
}
BEST = {"gamma": "best"}


class Nearness(NamedTuple):
    """Share of optimal partitions in per cent, largest and mean ratio to the optimum and its deviation."""

    optimal: float
    largest: float
    mean: float
    deviation: float


def ours() -> dict[str, tuple[str, dict[str, Any]]]:
    """Return what is shown for a method -> (its name, its options): every method once."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for method in shoal.methods():
        if method.univariate or method.timed or method.name in ("cbfs-nc", "ona-blocks"):
            continue
        found[method.name] = (method.name, {})
        if any("best" in option.choices for option in method.options):
            found[f"{method.name}, best gamma"] = (method.name, BEST)
    return found


def nearness(k: int, attributes: int, tables: int) -> dict[str, Nearness]:
    """Return how near each method comes to the optimum over random tables."""
    rng = np.random.default_rng([2006, k, attributes])
    shown = ours()
    ratios: dict[str, list[float]] = {name: [] for name in shown}
    for _ in range(tables):
        X = rng.normal(size=(RECORDS, attributes))
        least = squared_error(X, exact(X, k))
        for name, (method, options) in shown.items():
            ratios[name].append(squared_error(X, shoal.partition(X, k, method, **options)) / least)
    result = {}
    for name, values in ratios.items():
        share = 100 * float(np.mean(np.array(values) <= EQUAL))
        result[name] = Nearness(share, max(values), float(np.mean(values)), float(np.std(values)))
    return result


def row(*cells: object) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def printed_table(cell: tuple[int, int], found: dict[str, Nearness]) -> list[str]:
    """Return the rows of the methods that are in print, theirs beside ours."""
    lines = [
        row("Method", "Optimal, print", "ours", "Largest, print", "ours", "Mean, print", "ours"),
        row("---", *["---:"] * 6),
    ]
    for i, (name, method) in enumerate(NAMES.items()):
        near = found[method]
        largest = f"{LARGEST[cell][i]:.2f}" if cell in LARGEST else "-"
        optimal = (f"{OPTIMAL[cell][i]} %", f"{near.optimal:.0f} %")
        mean = (f"{MEAN[cell][i]:.2f}", f"{near.mean:.2f} ± {near.deviation:.2f}")
        lines.append(row(f"{name} (`{method}`)", *optimal, largest, f"{near.largest:.2f}", *mean))
    return lines


def other_table(found: dict[tuple[int, int], dict[str, Nearness]]) -> list[str]:
    """Return one row a method, by falling share of optimal partitions over all settings."""
    cells = list(found)
    lines = [
        row("Method", *(f"k = {k}, {p} attributes" for k, p in cells)),
        row("---", *["---:"] * len(cells)),
    ]
    names = sorted(found[cells[0]], key=lambda name: -sum(found[cell][name].optimal for cell in cells))
    for name in names:
        near = [found[cell][name] for cell in cells]
        shown = name.replace("*", "\\*")
        lines.append(row(shown, *(f"{one.optimal:.0f} %, {one.mean:.2f}" for one in near)))
    return lines


def intro(tables: int) -> str:
    """Return what the page says first."""
    return f"""\
Random tables of {RECORDS} records with independent normal attributes, for which the optimum is known (method `exact`).
*Optimal*: share of tables for which a method finds a partition of least squared error. *Largest* and *mean*: of the
ratio of its squared error to the least one. In print are tables 6 and 7 of Domingo-Ferrer et al., The VLDB Journal 15
(2006), from 100 tables; ours are {tables} others. A share of 50 % of 100 tables is uncertain by 5.
"""


AGREEMENT = """
The mean ratios agree with print within the scatter of 100 tables for most methods at k = 3. The printed shares are
higher than ours, by a factor of two to four with many attributes, and the definition in print (ratio = 1) does not
explain it: on 60 tables each, partitions within 5 to 10 % of the optimum were about as many as the printed shares.
`mdav` here ends as in later papers, not as in 2006, which matters most at k = 5.

Some printed figures contradict each other: at k = 5 the largest ratios 1.11 of CBFS-MHM and 1.13 of MDAV-MHM equal, or
nearly, their means 1.10 ± 0.10 and 1.13 ± 0.11; the mean of Max. Dist., 1.46 ± 0.11, is nearly its largest ratio 1.48;
and MD-MHM with 2 attributes has a share of 10 next to a mean of 1.29.
"""


def sections(tables: int) -> list[str]:
    """Return the tables of the page."""
    found = {cell: nearness(*cell, tables) for cell in OPTIMAL}
    lines = ["## Methods that are in print"]
    for (k, attributes), near in found.items():
        lines += ["", f"### k = {k}, {attributes} attributes", "", *printed_table((k, attributes), near)]
    lines += [AGREEMENT, "## All methods", "", "Share of optimal partitions, and mean ratio to the optimum.", ""]
    return [*lines, *other_table(found)]


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=400, help="number of random tables of each kind")
    parser.add_argument("--quick", action="store_true", help="10 tables of each kind")
    given = parser.parse_args()
    tables = 10 if given.quick else given.tables
    made = sections(tables)
    print("\n".join(made))
    write("optimality", "How near to the optimum", [intro(tables)], made, quick=given.quick)


if __name__ == "__main__":
    main()
