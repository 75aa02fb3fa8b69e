"""How the time grows with equal rows; run with `python -m benchmarks.equal_rows [--quick]`."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np

import shoal
from benchmarks.pages import Table, publish
from benchmarks.timing import clock, show
from shoal.arrays import Array

INTRO = """\
Tables of people have few different rows and many equal ones. Equal records are one point of the index, wherever they
are searched; so what a method costs should follow the number of *different* rows, and each equal one should add no more
than a constant. Ratios of two runs in the same process: they depend little on the machine.
"""
K = 3
# How many times as many rows the larger table has.
TIMES = 10
# Beyond this exponent of the number of rows, time is said to grow faster than the rows.
LINEAR = 1.3
# Values of which three or six are summed and divided: the last digit is another one.
AWKWARD = np.array([0.1, 0.7, 1 / 3, 0.2, 0.6, 1.1, 1 / 7, 2 / 3])
# Beyond so many times the time for codes, values are said to be dear.
DEAR = 5.0
# Several starts, or a search as long as one likes: one of them, or so many steps.
SHORT: dict[str, dict[str, Any]] = {"lmas": {"n_init": 1}, "ona": {"n_init": 1}, "anytime": {"max_steps": 1000}}


def codes(n: int, different: int) -> Array:
    """Return n records of three codes each, with so many different ones at most, all of them nearly as often."""
    rng = np.random.default_rng(0)
    return rng.integers(0, 1000, (different, 3))[rng.integers(0, different, n)].astype(np.float64)


def awkward(n: int, different: int) -> Array:
    """Return n records, at most so many of them different, of values that sums divided by their number often miss."""
    rng = np.random.default_rng(0)
    return AWKWARD[rng.integers(0, len(AWKWARD), (different, 3))][rng.integers(0, different, n)]


def half(n: int) -> Array:
    """Return n records, every other one of which is the same."""
    X = np.random.default_rng(0).integers(0, 10**6, (n, 3)).astype(np.float64)
    X[::2] = X[0]
    return X


def seconds(name: str, X: Array) -> float:
    """Return the processor time of a method, or of a refinement of `mondrian` (without groups that are to be split)."""
    if name in {method.name for method in shoal.methods()}:
        return clock(partial(shoal.partition, X, K, name, random_state=0, **SHORT.get(name, {})))[0]
    name = name.removeprefix("+ ")
    start = shoal.partition(X, K, "mondrian", whole="2k-1")
    return clock(partial(shoal.refine, X, start, K, name, random_state=0, **SHORT.get(name, {})))[0]


def growth(names: list[str], n: int) -> Table:
    """Time every method on tables with few different rows, and on ten times as many rows."""
    table = Table(
        "More rows, but no more different ones",
        f"Seconds for {n:,} rows of which 1, 10 and 1000 are different, and how many times as long {TIMES * n:,} such "
        f"rows take: {TIMES} is linear, {TIMES**2} quadratic; k = {K}. Last: every other row the same, the rest all "
        "different, and that against a table in which all rows are different: below 1, equal rows are cheaper.",
        ["method", "1 kind", "x", "10 kinds", "x", "1000 kinds", "x", "half equal", "/ all different"],
    )
    fast = []
    for name in names:
        seconds(name, codes(1500, 1500))
        cells: list[str] = []
        worst = 0.0
        for different in (1, 10, 1000):
            few, many = (seconds(name, codes(rows, different)) for rows in (n, TIMES * n))
            worst = max(worst, many / few)
            cells += [show(few), f"{many / few:.1f}"]
        mixed, apart = seconds(name, half(n)), seconds(name, codes(n, n))
        table.add(name, *cells, show(mixed), f"{mixed / apart:.2f}")
        if worst > TIMES**LINEAR:
            fast.append(f"`{name}` ({worst:.0f})")
    word = "none" if not fast else ", ".join(fast)
    table.verdicts.append(f"Faster than the rows, by an exponent above {LINEAR}, grows the time of: {word}.")
    return table


def last_digits(names: list[str], n: int) -> Table:
    """Time every method on equal rows whose mean is not their value, unless it is taken to be."""
    table = Table(
        "Values that a mean misses",
        f"0.1 + 0.1 + 0.1, divided by 3, is not 0.1: its last digit is another one. As above, with rows of 0.1, 0.7, "
        f"1/3 and the like, of which 1 and 10 are different; seconds for {n:,} rows, and how many times as long "
        f"{TIMES * n:,} take. Last: against 10 kinds of whole numbers.",
        ["method", "1 kind", "x", "10 kinds", "x", "/ whole numbers"],
    )
    fast, dear = [], []
    for name in names:
        seconds(name, awkward(1500, 1500))
        cells: list[str] = []
        few, worst = 0.0, 0.0
        for different in (1, 10):
            few, many = (seconds(name, awkward(rows, different)) for rows in (n, TIMES * n))
            worst = max(worst, many / few)
            cells += [show(few), f"{many / few:.1f}"]
        share = few / seconds(name, codes(n, 10))
        table.add(name, *cells, f"{share:.2f}")
        if worst > TIMES**LINEAR:
            fast.append(f"`{name}` ({worst:.0f})")
        if share > DEAR:
            dear.append(f"`{name}` ({share:.0f})")
    table.verdicts += [
        f"Faster than the rows, by an exponent above {LINEAR}, grows the time of: {', '.join(fast) or 'none'}.",
        f"More than {DEAR:.0f} times as long as with whole numbers takes: {', '.join(dear) or 'none'}.",
    ]
    return table


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    quick = parser.parse_args().quick
    # "ona-blocks" is "ona*" on tables of this size.
    left_out = ("exact", "ona-blocks")
    names = [method.name for method in shoal.methods() if not method.univariate and method.name not in left_out]
    names += [f"+ {refinement.name}" for refinement in shoal.refinements()]
    n = 2000 if quick else 10_000
    tables = [growth(names, n), last_digits(names, n)]
    publish("equal-rows", "Equal rows", INTRO, tables, quick=quick, times="One thread, one run each, processor time.\n")


if __name__ == "__main__":
    main()
