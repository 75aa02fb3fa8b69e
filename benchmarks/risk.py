"""Time and memory of the measures of risk; run with `python -m benchmarks.risk [--quick]`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import shoal
from benchmarks.pages import Table, publish
from benchmarks.timing import MIB, clock, gaussian, peak_memory, show

INTRO = """\
The [measures of risk](risk.md) on generated tables. Keys are eight attributes of 3 to 100 skewed values each, of which
many combinations occur once: the hard case for special uniques. Links are those of normal numbers in 10 columns to the
means of groups of at least 5 (`mondrian-v`), all of them exact.
"""
TIMES = """\
Seconds of the processor, on all cores together (linkage uses all of them): what one free core takes by the clock, and
no less than several take. One run, after a first one on a small table. Memory is what the process took from the system
beyond what it held before; 0 where that was enough. The goals are those of the project, for two idle cores.
"""
LEVELS = (3, 5, 8, 10, 20, 40, 80, 100)
# Measure and records -> seconds and MiB that it should take at most.
GOALS = {
    ("key_counts", 1_000_000): (5.0, None),
    ("individual_risk", 1_000_000): (5.0, None),
    ("suda", 100_000): (5.0, None),
    ("suda", 1_000_000): (60.0, None),
    ("linkage", 1_000_000): (60.0, 1024),
    ("assess", 100_000): (60.0, None),
}


def keys(n: int) -> pa.Table:
    """Return n records of eight skewed categories and a weight."""
    rng = np.random.default_rng(0)
    columns = {f"k{j}": np.minimum(rng.zipf(1.5, n), level) for j, level in enumerate(LEVELS)}
    return pa.table({**columns, "weight": rng.uniform(1, 50, n)})


def released(n: int, d: int = 10, k: int = 5) -> tuple[pa.Table, pa.Table]:
    """Return n normal records, and the means of groups of at least k."""
    X = gaussian(n, d)
    labels = shoal.partition(X, k, "mondrian-v")
    sizes = np.bincount(labels)
    original = {f"c{j}": column for j, column in enumerate(X.T)}
    means = {name: (np.bincount(labels, column) / sizes)[labels] for name, column in original.items()}
    return pa.table(original), pa.table(means)


def calls(n: int) -> dict[str, Callable[[], Any]]:
    """Return the measures of keys on a table of n records."""
    table, names = keys(n), [f"k{j}" for j in range(len(LEVELS))]
    return {
        "key_counts": partial(shoal.risk.key_counts, table, names, "weight"),
        "individual_risk": partial(shoal.risk.individual_risk, table, names, "weight"),
        "reidentification": partial(shoal.risk.reidentification, table, names, "weight"),
        "population_uniques": partial(shoal.risk.population_uniques, table, names, 20 * n),
        "suda": partial(shoal.risk.suda, table, names),
    }


def links(n: int) -> dict[str, Callable[[], Any]]:
    """Return the measures of links of n records."""
    original, release = released(n)
    return {
        "linkage": partial(shoal.risk.linkage, original, release),
        "linkage, m = 10": partial(shoal.risk.linkage, original, release, m=10),
        "linkage of 20,000": partial(shoal.risk.linkage, original, release, sample=20_000),
        "partial_linkage, 10 subsets of 4": partial(
            shoal.risk.partial_linkage, original, release, known=4, subsets=10, sample=20_000
        ),
        "deviation_disclosure": partial(shoal.risk.deviation_disclosure, original, release),
        "rank_disclosure": partial(shoal.risk.rank_disclosure, original, release),
        "robust_disclosure": partial(shoal.risk.robust_disclosure, original, release),
        "probabilistic_linkage of 20,000": partial(
            shoal.risk.probabilistic_linkage, original, release, [f"c{j}" for j in range(8)], sample=20_000
        ),
    }


def attacks(n: int) -> dict[str, Callable[[], Any]]:
    """Return the attacks on a release of n records with a sensitive attribute of five values."""
    original, release = released(n)
    secret = np.random.default_rng(1).choice(list("abcde"), n)
    before, after = (table.append_column("secret", pa.array(secret)) for table in (original, release))
    names, half = original.column_names, n // 2
    return {
        "singling_out": partial(shoal.risk.singling_out, original, release),
        "inference of 20,000": partial(shoal.risk.inference, before, after, names, "secret", sample=20_000),
        "linkability of 20,000": partial(shoal.risk.linkability, original, release, sample=20_000),
        "model_gain of 5,000": partial(shoal.risk.model_gain, before, after, names, "secret", sample=5000),
        "membership": partial(
            shoal.risk.membership, original.slice(0, half), original.slice(half), release.slice(0, half)
        ),
    }


def assessments(n: int) -> dict[str, Callable[[], Any]]:
    """Return the whole assessment of n records with eight quasi-identifiers and twelve other columns."""
    rng = np.random.default_rng(0)
    original, release = released(n, 8)
    others = {f"x{j}": rng.normal(size=n) for j in range(6)}
    others |= {f"k{j}": np.minimum(rng.zipf(1.5, n), level).astype(str) for j, level in enumerate(LEVELS[:6])}
    before, after = (
        pa.table({**{name: table.column(name) for name in table.column_names}, **others})
        for table in (original, release)
    )
    return {"assess": partial(shoal.assess, before, after, original.column_names, sensitive_attributes=["k0"])}


def measured(title: str, text: str, made: Callable[[int], dict[str, Callable[[], Any]]], sizes: list[int]) -> Table:
    """Time all measures of a kind on tables of these sizes."""
    table = Table(title, text, ["measure", "records", "seconds", "MiB", "goal"])
    for call in made(2000).values():
        call()
    for n in sizes:
        for name, call in made(n).items():
            seconds, memory = clock(partial(peak_memory, call))
            goal = _goal(GOALS.get((name, n)), seconds, memory)
            table.add(name, f"{n:,}", show(seconds), f"{memory / MIB:.0f}", goal)
    return table


def _goal(goal: tuple[float, float | None] | None, seconds: float, memory: int) -> str:
    if goal is None:
        return ""
    most, room = goal
    met = seconds <= most and (room is None or memory / MIB <= room)
    words = f"{most:g} s" + ("" if room is None else f", {room:g} MiB")
    return f"{words}: {'met' if met else 'not met'}"


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    quick = parser.parse_args().quick
    sizes = [10_000] if quick else [100_000, 1_000_000]
    tables = [
        measured("Keys", "Eight attributes.", calls, sizes),
        measured("Links", "Ten columns of numbers, groups of at least 5.", links, sizes),
        measured("Attacks", "Ten columns of numbers and a sensitive attribute, groups of at least 5.", attacks, sizes),
        measured("All at once", "`shoal.assess` of twenty columns, eight of them grouped.", assessments, sizes[:1]),
    ]
    publish("risk-speed", "The speed of measures of risk", INTRO, tables, quick=quick, times=TIMES, module="risk")


if __name__ == "__main__":
    main()
