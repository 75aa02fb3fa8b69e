"""The optimum for one coordinate, next to microagg1d; run with `python -m benchmarks.univariate [--quick]`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from importlib.metadata import version
from itertools import pairwise

import numpy as np

import shoal
from benchmarks.pages import Table, publish
from benchmarks.timing import MIB, clock, in_fresh_process, show
from shoal.arrays import Array
from shoal.partitioning.pool import squared_error

Method = Callable[[Array, int], Array]
INTRO = f"""\
Shoal's `univariate` next to microagg1d {version("microagg1d")}, which solves the same problem: the partition of
one coordinate into groups of at least k with the least squared error.
"""


def ours(x: Array, k: int) -> Array:
    """Return the labels of Shoal for the values x: float64[n]."""
    return shoal.partition(x[:, None], k, "univariate")


def theirs(x: Array, k: int) -> Array:
    """Return the labels of microagg1d as it comes: by 'simple' up to k = 21, then by 'wilber'."""
    from microagg1d import univariate_microaggregation

    return np.asarray(univariate_microaggregation(x, k), dtype=np.int64)


def wilber(x: Array, k: int) -> Array:
    """Return the labels of the algorithm of microagg1d that does not grow with k."""
    from microagg1d import univariate_microaggregation

    return np.asarray(univariate_microaggregation(x, k, method="wilber"), dtype=np.int64)


def values(n: int) -> Array:
    """Return n normal values."""
    return np.random.default_rng(0).normal(size=n)


def speed(*, quick: bool) -> Table:
    """Time both at several sizes and compare their squared errors."""
    table = Table(
        "Time and squared error",
        "Normal values; seconds after everything has been compiled, and the squared error beyond that of Shoal, "
        "relative to it. microagg1d is run as it comes and with `method='wilber'`. As it comes, it is not optimal "
        "for k up to 21: its 'stable' costs are added up in cells of k values, and those of a group that spans "
        "three cells leave out the middle one.",
        ["n", "k", "Shoal", "microagg1d", "wilber", "SSE of Shoal", "microagg1d", "wilber"],
    )
    part = 10 if quick else 1
    cases = [(n // part, k) for n in (10**5, 10**6) for k in (3, 5, 10, 100, 1000)] + [(10**7 // part, 5)]
    apart, worst = 0.0, 0.0
    for n, k in cases:
        x = values(n)
        runs = [clock(partial(f, x, k), repeats=3 if n <= 10**6 else 1) for f in (ours, theirs, wilber)]
        own, other, best = (squared_error(x[:, None], labels) for _, labels in runs)
        apart, worst = max(apart, abs(best / own - 1)), max(worst, other / own - 1)
        excess = (f"{error / own - 1:+.1e}" for error in (other, best))
        table.add(n, k, *(show(seconds) for seconds, _ in runs), f"{own:.10g}", *excess)
    word = "yes" if apart < 1e-12 else "NO"
    table.verdicts.append(f"Shoal and wilber have equal squared errors: {word} (at most {apart:.1e} apart).")
    word = "yes" if worst < 1e-12 else "NO"
    table.verdicts.append(f"microagg1d as it comes is optimal: {word} (up to {100 * worst:.2g} % worse).")
    return table


def exact_error(x: list[Fraction], labels: Array) -> Fraction:
    """Return the squared error of a partition in exact arithmetic."""
    total = Fraction(0)
    for group in range(int(labels.max()) + 1):
        members = [x[i] for i in np.flatnonzero(labels == group)]
        total += sum((v * v for v in members), Fraction(0)) - sum(members, Fraction(0)) ** 2 / len(members)
    return total


def exact_optimum(x: list[Fraction], k: int) -> Fraction:
    """Return the least squared error in exact arithmetic."""
    ordered, n = sorted(x), len(x)
    first, second = [Fraction(0)], [Fraction(0)]
    for v in ordered:
        first.append(first[-1] + v)
        second.append(second[-1] + v * v)
    best: list[Fraction | None] = [Fraction(0)] + [None] * n
    for end in range(k, n + 1):
        for start in range(max(0, end - 2 * k + 1), end - k + 1):
            before = best[start]
            if before is None:
                continue
            error = second[end] - second[start] - (first[end] - first[start]) ** 2 / (end - start)
            known = best[end]
            if known is None or before + error < known:
                best[end] = before + error
    optimum = best[n]
    if optimum is None:
        raise ValueError("fewer than k values")
    return optimum


def precision(*, quick: bool) -> Table:
    """Compare both with the exact optimum where values sit far from zero."""
    n, k = 200 if quick else 1000, 5
    table = Table(
        "Precision",
        f"{n} uniform values in [0, 1) far from zero, k = {k}. Excess of the squared error over the optimum, both "
        "in exact rational arithmetic on the very doubles that the methods were given.",
        ["Values", "optimum", "Shoal", "microagg1d", "wilber"],
    )
    draws = np.random.default_rng(1).random(n)
    for offset in (0.0, 1e6, 1e9, 1e12):
        x = offset + draws
        exact = [Fraction(float(v)) for v in x]
        optimum = exact_optimum(exact, k)
        excess = [float((exact_error(exact, f(x, k)) - optimum) / optimum) for f in (ours, theirs, wilber)]
        table.add(f"{offset:g} + [0, 1)", f"{float(optimum):.10g}", *(f"{e:.1e}" for e in excess))
        word = "exact" if excess[0] < 1e-12 else f"NOT OPTIMAL ({excess[0]:.1e})"
        table.verdicts.append(f"Shoal at {offset:g}: {word}.")
    return table


def correct(x: Array, labels: Array) -> bool:
    """Whether the groups are stretches of the sorted values, as those of an optimum are."""
    groups: list[int] = labels[np.argsort(x, kind="stable")].tolist()
    return 1 + sum(a != b for a, b in pairwise(groups)) == len(set(groups))


def small(*, quick: bool) -> Table:
    """Look at the smallest tables, where special cases live."""
    k = 3
    table = Table(
        "Smallest tables",
        f"Unsorted values, k = {k}, n around 2k: are the groups stretches of the sorted values? (microagg1d gives "
        "labels in the order of the sorted values back at n = 2k.)",
        ["n", "values", "Shoal", "right", "microagg1d", "right"],
    )
    for n in (2 * k - 1, 2 * k, 2 * k + 1, 3 * k):
        x = np.array([(7 * i) % (2 * n + 1) for i in range(1, n + 1)], dtype=float)
        found = [f(x, k) for f in (ours, theirs)]
        marks = ["yes" if correct(x, labels) else "NO" for labels in found]
        table.add(n, _short(x), _short(found[0]), marks[0], _short(found[1]), marks[1])
        if not correct(x, found[1]):
            table.verdicts.append(f"microagg1d at n = {n}{' = 2k' if n == 2 * k else ''}: wrong labels.")
        if not correct(x, found[0]):
            table.verdicts.append(f"Shoal at n = {n}: WRONG LABELS.")
    return table


def _short(numbers: Array) -> str:
    return " ".join(f"{number:g}" for number in numbers)


MEMORY = """
from benchmarks.timing import peak_memory
from benchmarks.univariate import {which}, values
{which}(values(1000), {k})
x = values({n})
print(peak_memory(lambda: {which}(x, {k})))
"""
FIRST = """
import time
from benchmarks.univariate import {which}, values
x = values(1000)
start = time.process_time()
{which}(x, 5)
print(time.process_time() - start)
"""


def resources(*, quick: bool) -> Table:
    """Measure memory and the first call of both."""
    n, k = 10**5 if quick else 10**6, 5
    table = Table(
        "Memory and first call",
        f"Most memory beyond the values ({8 * n / MIB:.1f} MiB at n) at n = {n} and 2n, k = {k}; and the first call "
        "in a new process whose cache of compiled code is empty, with the import of the kernels.",
        ["", "MiB at n", "MiB at 2n", "bytes a record", "first call, s"],
    )
    for name, which in (("Shoal", "ours"), ("microagg1d", "theirs")):
        size = [int(in_fresh_process(MEMORY.format(which=which, n=m, k=k))) for m in (n, 2 * n)]
        first = "-" if quick else show(float(in_fresh_process(FIRST.format(which=which), cold=True)))
        table.add(name, *(f"{s / MIB:.0f}" for s in size), f"{size[1] / (2 * n):.0f}", first)
    return table


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, half a minute")
    quick = parser.parse_args().quick
    for k in (5, 100):
        ours(values(1000), k)
        theirs(values(1000), k)
        wilber(values(1000), k)
    tables = [part(quick=quick) for part in (speed, precision, small, resources)]
    publish("univariate", "One coordinate, next to microagg1d", INTRO, tables, quick=quick)


if __name__ == "__main__":
    main()
