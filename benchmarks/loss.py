"""Published losses against ours: ``python -m benchmarks.loss [--quick]``.

Prints every figure of the papers next to ours and writes the page `docs/reference/golden.md`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pages import origin, write
from benchmarks.published import (
    CLASSICAL,
    NAMES,
    PATHS,
    RANDOM,
    SIMULATED,
    SMALL,
    STARTS,
    TABLES,
    Cell,
    cells,
    loss,
    recipe,
    simulated,
    table,
)
from benchmarks.readings import READINGS

Found = dict[Cell, float]

INTRO = """\
Losses are 100 SSE/SST on standardised attributes. A figure is *equal* if ours, rounded as printed, is the printed one,
and *agrees* if it is equal or one unit of its last digit beside it. *V-MDAV* and *MDAV\\*_gamma* are
the best of gamma = 0, 0.1 .. 2, as in print; *MDAV\\** and *ONA\\** take the closest group by the mean for the figures
of the dissertation, by the increase of error for those of Thaeter and Reischuk (2021), which differ. Figures that
several papers repeat are counted once.

*MONDRIAN_V* and *MONA* cut the column of largest variance, and all standardised columns have variance 1: in print,
rounding chose the first cut. With a first cut along the fourth column of Credit Card and the first of Adult the
printed figures come out, all but a few, so these two methods are compared with that first cut. Several natural
orders of arithmetic choose these two columns, others do not, so that which one print used stays open. The library
itself lets the first column win, which mostly loses less on Credit Card: `mondrian-v` 21.57 in place of 24.05 at
k = 2.
"""


def measure(wanted: list[Cell], memory: Path | None = None) -> Found:
    """Return our loss for each printed cell; equal runs are made once.

    Parameters
    ----------
    wanted : list of Cell
    memory : Path, optional
        A JSON file of runs already made, which is brought up to date after each; those of another commit do not count.
    """
    kept = json.loads(memory.read_text()) if memory and memory.exists() else {}
    runs: dict[str, float] = kept.get(origin(), {})
    tables: dict[str, list[Any]] = {}
    found: Found = {}
    for cell in sorted(wanted, key=lambda c: (c.dataset, c.method, c.k)):
        name, options = recipe(cell)
        key = f"{cell.dataset} {cell.k} {name} {sorted(options.items())}"
        if key not in runs:
            if cell.dataset not in tables:
                tables = {cell.dataset: _tables(cell.dataset)}
            start = time.perf_counter()
            runs[key] = float(np.mean([loss(X, cell) for X in tables[cell.dataset]]))
            spent = time.perf_counter() - start
            print(
                f"{cell.dataset:12} k={cell.k:<3} {cell.method:24} {runs[key]:9.4f}  {spent:7.2f} s",
                flush=True,
            )
            if memory:
                memory.write_text(json.dumps({origin(): runs}))
        found[cell] = runs[key]
    return found


def too_slow(cell: Cell) -> bool:
    """Whether a cell takes too long for its worth: a hundred random starts, or all gain factors, on large tables."""
    if cell.method in ("LMaS_100", "ONA_100"):
        return cell.dataset not in ("Census", "Tarragona", "Cloud1", "Cloud2")
    return cell.method in ("LMaS_10", "ONA_10", "ONA*_gamma") and cell.dataset not in SMALL


def best(found: Found) -> list[str]:
    """Return the method of lowest loss for each table and k: ours, and the lowest printed figure."""
    lines = ["", "## The lowest loss for each table", "", "| table | k | ours | by | printed | by |"]
    lines.append("|---|---|---|---|---|---|")
    for dataset in TABLES:
        for k in sorted({c.k for c in found if c.dataset == dataset}):
            here = [c for c in found if c.dataset == dataset and c.k == k]
            ours, theirs = min(here, key=lambda c: found[c]), min(here, key=lambda c: c.value)
            lines.append(
                f"| {dataset} | {k} | {found[ours]:.3f} | {ours.method} | {theirs.printed} | {theirs.method} |"
            )
    return [*lines, "", "Only methods of the papers compete here; `pcl` goes lower on most tables."]


def _tables(dataset: str) -> list[Any]:
    return simulated(dataset) if dataset in SIMULATED else [table(dataset)]


def score(found: Found, methods: tuple[str, ...], datasets: tuple[str, ...]) -> tuple[int, int]:
    """Return how many cells of `methods` on `datasets` agree with print, and how many there are."""
    chosen = [c for c in found if c.method in methods and c.dataset in datasets]
    return sum(c.agrees(found[c]) for c in chosen), len(chosen)


def headline(found: Found, datasets: tuple[str, ...]) -> str:
    """Return how many printed figures of the classical methods come out, in words."""
    chosen = [c for c in found if c.method in CLASSICAL and c.dataset in datasets]
    equal, agree = sum(c.equals(found[c]) for c in chosen), sum(c.agrees(found[c]) for c in chosen)
    share = 100 / max(1, len(chosen))
    return (
        f"{len(chosen)} printed figures, {equal} ({share * equal:.0f} %) come out to the last digit and {agree} "
        f"({share * agree:.0f} %) within one unit of it"
    )


def scores(found: Found) -> list[str]:
    """Return the table of scores, a row a method."""
    lines = [
        "| method | printed as | cells | equal | agree | within 1 % | largest difference |",
        "|---|---|---|---|---|---|---|",
    ]
    for method in NAMES:
        chosen = [c for c in found if c.method == method and c.dataset not in SIMULATED]
        if not chosen:
            continue
        equal, agree = sum(c.equals(found[c]) for c in chosen), sum(c.agrees(found[c]) for c in chosen)
        apart = [abs(found[c] / c.value - 1) for c in chosen]
        close = sum(a <= 0.01 for a in apart)
        lines.append(
            f"| `{NAMES[method][0]}` | {method} | {len(chosen)} | {equal} | {agree} | {close} | "
            f"{100 * max(apart):.2f} % |"
        )
    return lines


def tables_of(found: Found) -> list[str]:
    """Return a table a data set: ours above print, differing cells marked."""
    lines: list[str] = []
    for dataset in (*TABLES, *SIMULATED):
        chosen = [c for c in found if c.dataset == dataset]
        if not chosen:
            continue
        ks = sorted({c.k for c in chosen})
        lines += ["", f"## {dataset}", "", "| method | " + " | ".join(f"k = {k}" for k in ks) + " |"]
        lines.append("|---" * (len(ks) + 1) + "|")
        for method in NAMES:
            row = []
            for k in ks:
                here = [c for c in chosen if c.method == method and c.k == k]
                row.append("<br>".join(_entry(c, found[c]) for c in here))
            if any(row):
                lines.append(f"| {method} | " + " | ".join(row) + " |")
    return lines


def _entry(cell: Cell, ours: float) -> str:
    decimals = len(cell.printed.partition(".")[2])
    mark = "" if cell.agrees(ours) else "**"
    return f"{mark}{ours:.{decimals}f}{mark} ({cell.printed})"


def differences(found: Found) -> list[str]:
    """Return every cell that differs, under what explains it."""
    by_text: dict[str, list[Cell]] = defaultdict(list)
    for cell in found:
        if not cell.agrees(found[cell]):
            text = next((r.text for r in READINGS if r.covers(cell)), "Not explained yet.")
            by_text[text].append(cell)
    lines = ["", "## What differs, and why", ""]
    for text, chosen in by_text.items():
        where = "; ".join(
            f"{c.dataset} k={c.k} {c.method} {found[c]:.4f} (printed {c.printed})"
            for c in chosen
            if c.dataset not in SIMULATED
        )
        lines += [f"- {text} {where}".rstrip(), ""]
    return lines


def summary(found: Found) -> list[str]:
    """Return the score in words."""
    paths = [c for c in found if c.method in PATHS and c.dataset in TABLES]
    close = sum(abs(found[c] / c.value - 1) <= 0.01 for c in paths)
    return [
        "**Score**, for MD, MDAV, MDAV+, V-MDAV, MDAV\\*, MDAV\\*_gamma, CBFS, TFRP, GSMS and their variants, with the "
        "figures of CBFS from 2006. "
        f"Of {headline(found, tuple(TABLES))}. On the five smaller tables alone, of {headline(found, SMALL)}. "
        f"Of the {len(paths)} cells of the MHM family, {close} lie within 1 %.",
        *_later(found),
        "",
        "In the tables below: ours (printed); a bold figure differs from print and is explained at the end.",
        "",
    ]


def _later(found: Found) -> list[str]:
    """Return the scores of the Lloyd-based methods and the refinements, in words."""
    lines = []
    groups = {
        "Within 1 %, or one unit of the last digit: ONA\\*": (("ONA*",), 0.01),
        "ONA\\*_gamma": (("ONA*_gamma",), 0.01),
        "MONA and MONA_2D on Adult": (tuple(m for m in NAMES if m.startswith("MONA")), 0.01),
        "LMaS and ONA (within 3 %)": (RANDOM, 0.03),
        "TFRP2, suffix 2 (within one unit of the last digit)": (tuple(f"{s}2" for s in STARTS), None),
        "Decompose + Shrink, suffix 3 (within one unit of the last digit)": (tuple(f"{s}3" for s in STARTS), None),
    }
    for text, (methods, within) in groups.items():
        chosen = [c for c in found if c.method in methods and c.dataset not in (*SIMULATED, "Credit Card")]
        if chosen:
            fit = [c.agrees(found[c]) or (within or 0) >= abs(found[c] / c.value - 1) for c in chosen]
            lines.append(f"{text}: {sum(fit)} of {len(fit)} cells.")
    return ["", " ".join(lines)] if lines else []


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; --quick leaves out Credit Card, Adult, the simulated tables and random starts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small tables and methods without random starts only")
    parser.add_argument("--memory", type=Path, help="a file of runs already made, to go on from")
    given = parser.parse_args(arguments)
    quick = given.quick
    datasets = SMALL if quick else (*TABLES, *SIMULATED)
    wanted = [c for c in cells() if c.dataset in datasets and not too_slow(c) and not (quick and c.method in RANDOM)]
    found = measure(wanted, given.memory)
    sections = [*summary(found), *scores(found), *best(found), *tables_of(found), *differences(found)]
    print("\n".join([*summary(found), *scores(found)]))
    title = "Golden figures: published losses against ours"
    write("golden", title, [INTRO], sections, quick=quick, module="loss")
    return 0


if __name__ == "__main__":
    sys.exit(main())
