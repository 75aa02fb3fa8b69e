"""Speed, growth and memory of every method; run with `python -m benchmarks.speed [--quick] [--full]`."""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

import shoal
from benchmarks.pages import ROOT, Table, publish
from benchmarks.timing import MIB, clock, gaussian, in_fresh_process, show, slope, steady
from shoal.arrays import Array
from shoal.datasets import load
from shoal.estimator import standardized

FAST = ("mdav", "mdav+", "mdav*")
# The methods that may grow faster than n^2 d / k.
EXEMPT = ("md", "gsms", "dba")
# "ona-blocks" is "ona*" on tables of these sizes.
ALIASES = ("cbfs-nc", "ona-blocks")
K = 5
KS = (5, 10, 20, 40)
INTRO = """\
How fast the methods are, how their time and memory grow, and what the first call costs. The *oracle* of a
method is its plain NumPy version in `tests/naive.py`, which gives the same labels.
"""


def names() -> list[str]:
    """Return all methods that have an oracle, aliases left out."""
    return [m.name for m in shoal.methods() if m.name not in ALIASES and m.name in oracles()]


def univariate(name: str) -> bool:
    """Whether a method takes a single coordinate only."""
    return next(method.univariate for method in shoal.methods() if method.name == name)


def data(name: str, n: int) -> Array:
    """Return Gaussian records for a method: 10 coordinates, or the one it takes."""
    return gaussian(n, 1 if univariate(name) else 10)


def seconds(name: str, X: Array, k: int) -> float:
    """Return how long a method takes."""
    return steady(partial(shoal.partition, X, k, name))


def warm_up() -> None:
    """Compile or load the kernels of all methods."""
    for name in names():
        shoal.partition(data(name, 300), K, name)


def oracles() -> dict[str, Callable[[Array, int], Array]]:
    """Return the oracles by the names of their methods."""
    folder = str(ROOT / "tests")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    import naive  # type: ignore[import-not-found,unused-ignore]

    found: dict[str, Callable[[Array, int], Array]] = naive.ORACLES
    return found


# --- (a) against the oracles ------------------------------------------------------------------------------


def against_oracle(name: str, X: Array, k: int) -> tuple[float, float]:
    """Return the seconds of the oracle and of Shoal on X; the labels must be equal."""
    plain, expected = clock(partial(oracles()[name], X, k))
    fast = seconds(name, X, k)
    if not np.array_equal(expected, shoal.partition(X, k, name)):
        raise AssertionError(f"{name}: labels differ from those of the oracle")
    return plain, fast


def credit_card(*, quick: bool, patience: float) -> Table:
    """Compare MDAV, MDAV+ and MDAV* with their oracles on the Credit Card table, k = 10."""
    X, k, n0 = standardized(load("creditcard").data), 10, 1500 if quick else 4000
    n = len(X)
    table = Table(
        "Ratio to the oracle, Credit Card",
        f"{n} records, {X.shape[1]} columns, k = {k}. The oracle is run on the first {n0} records. Its time on the "
        "whole table is measured where it takes a few minutes at most, and else extrapolated: it grows at least "
        f"as n^2, so the time on {n0} records is multiplied by ({n} / {n0})^2 (marked ~).",
        [
            "Method",
            f"oracle {n0}, s",
            f"Shoal {n0}, s",
            "ratio",
            "oracle whole, s",
            "Shoal whole, s",
            "ratio whole",
        ],
    )
    for name in FAST:
        plain, fast = against_oracle(name, X[:n0], k)
        whole = seconds(name, X, k)
        expected = plain * (n / n0) ** 2
        mark = "~"
        if expected < patience:
            mark, expected = "", against_oracle(name, X, k)[0]
        ratio = expected / whole
        cells = (show(plain), show(fast), f"{plain / fast:.0f}x", mark + show(expected), show(whole))
        table.add(name, *cells, f"{mark}{ratio:.0f}x")
        word = "holds" if ratio >= 20 else "DOES NOT HOLD"
        table.verdicts.append(f"`{name}` 20 times as fast as its oracle or more: {word} ({mark}{ratio:.0f}x).")
    return table


def all_ratios(*, quick: bool) -> Table:
    """Compare every method with its oracle at a size that the oracle can do."""
    table = Table(
        "Ratio to the oracle, all methods",
        f"Gaussian records, 10 columns (`univariate`: 1), k = {K}. The size is doubled until the oracle "
        "takes a few seconds. The labels are compared as well.",
        ["Method", "n", "oracle, s", "Shoal, s", "ratio"],
    )
    enough, most = (0.1, 1000) if quick else (1.0, 16000)
    for name in names():
        n = 125
        while True:
            plain, fast = against_oracle(name, data(name, n), K)
            if plain > enough or 2 * n > most:
                break
            n *= 2
        table.add(name, n, show(plain), show(fast), f"{plain / fast:.0f}x")
    return table


# --- (b) growth -------------------------------------------------------------------------------------------


def growth(*, quick: bool) -> tuple[Table, dict[str, tuple[int, float]]]:
    """Measure every method at n, 2n, 4n and at several k; also return the largest size and its time."""
    enough, most = (0.05, 8000) if quick else (0.6, 64000)
    n = 1000 if quick else 4000
    yardstick = 1e9 * clock(partial(oracles()["mdav"], data("mdav", n), K))[0] * K / (n * n * 10)
    table = Table(
        "Growth with n and k",
        f"Gaussian records, 10 columns. Seconds at n / 4, n / 2 and n for k = {K}, with the exponent that fits; "
        f"then seconds at n / 2 for k = {', '.join(map(str, KS))}, with the exponent in k (-1: falls as 1 / k; "
        "less where steps prevail whose time does not depend on n). The last columns are nanoseconds for each "
        f"n^2 d / k, at n / 2, for the smallest and the largest k. Plain MDAV, its oracle, takes {yardstick:.0f} of "
        "them: a method that takes more is slower than O(n^2 d / k) in practice.",
        ["Method", "n", "n/4", "n/2", "n", "exponent", *(f"k={k}" for k in KS), "in k", "ns", f"ns, k={KS[-1]}"],
    )
    largest: dict[str, tuple[int, float]] = {}
    for name in names():
        sizes, times = [1000], [seconds(name, data(name, 1000), K)]
        while len(sizes) < 3 or (times[-1] < enough and sizes[-1] < most):
            sizes.append(2 * sizes[-1])
            times.append(seconds(name, data(name, sizes[-1]), K))
        X = data(name, sizes[-2])
        by_k = [seconds(name, X, k) for k in KS]
        units = [1e9 * t * k / (len(X) * X.size) for t, k in zip(by_k, KS, strict=True)]
        exponent = slope(sizes[-3:], times[-3:])
        cells = (*(show(t) for t in times[-3:]), f"{exponent:.2f}", *(show(t) for t in by_k))
        table.add(name, sizes[-1], *cells, f"{slope(KS, by_k):.2f}", f"{units[0]:.2g}", f"{units[-1]:.2g}")
        if not quick:  # at small sizes, what does not depend on n prevails
            table.verdicts.append(verdict(name, exponent, slope(KS, by_k), max(units) / yardstick))
        largest[name] = (sizes[-1], times[-1])
    return table, largest


def verdict(name: str, exponent: float, in_k: float, share: float) -> str:
    """Say whether a method is O(n^2 d / k) in practice, `share` being its cost in units of plain MDAV."""
    if name in EXEMPT:
        word = "exempt"
    elif exponent > 2.2 or share > 1:
        word = "NO"
    else:
        word = "yes" if in_k <= -0.5 or share < 0.1 else "IN PART (below plain MDAV, but not falling as 1 / k)"
    return f"`{name}`: {word}; n^{exponent:.2f}, k^{in_k:.2f}, at most {share:.2g} times plain MDAV's n^2 d / k."


# --- (c) memory -------------------------------------------------------------------------------------------

MEMORY = """
import shoal
from benchmarks.speed import data
from benchmarks.timing import peak_memory
shoal.partition(data({name!r}, 300), {k}, {name!r})
X = data({name!r}, {n})
print(peak_memory(lambda: shoal.partition(X, {k}, {name!r})))
"""


def memory(largest: dict[str, tuple[int, float]], *, quick: bool) -> Table:
    """Measure the peak of memory beyond the data, at two sizes."""
    table = Table(
        "Memory",
        f"Most memory held beyond the records (8 n d bytes), k = {K}, each run in a process of its own. "
        "Methods are O(n d), `gsms` and `dba` O(n (d + k)), if the last column is about 2.",
        ["Method", "n", "MiB at n", "MiB at 2n", "of the data at 2n", "growth"],
    )
    for name in names() if not quick else FAST:
        n, spent = largest[name]
        while spent < 0.3 and n < 400_000 and not quick:
            n, spent = 2 * n, 4 * spent
        n //= 2
        size = [int(in_fresh_process(MEMORY.format(name=name, k=K, n=m))) for m in (n, 2 * n)]
        share = size[1] / data(name, 2 * n).nbytes
        grown = size[1] / max(size[0], 1)
        table.add(name, n, *(f"{s / MIB:.1f}" for s in size), f"{share:.1f}x", f"{grown:.2f}")
        if grown > 2.6 and size[1] > 4 * MIB:
            table.verdicts.append(f"`{name}`: memory GROWS FASTER than n ({grown:.2f} times for 2n).")
    if not table.verdicts:
        table.verdicts.append("No method grows faster than n.")
    return table


# --- (d) the first call, (e) sizes that hurt --------------------------------------------------------------

FIRST = """
import time
start, spent = time.perf_counter(), time.process_time()
import numpy as np
import shoal
imported = time.process_time() - spent
shoal.partition(np.random.default_rng(0).normal(size=(1000, 10)), 5, "mdav")
print(imported, time.process_time() - spent, time.perf_counter() - start)
"""


def first_call(*, quick: bool) -> Table:
    """Measure `import shoal` and the first call of mdav, with and without a cache of compiled kernels."""
    table = Table(
        "First call",
        "`import numpy, shoal`, and that plus a first `mdav` of 1000 records, in a new process: the kernels are "
        "compiled (cold) or found in numba's cache (warm). Seconds of the processor, the last column by the clock.",
        ["Cache", "import", "import and first mdav", "by the clock"],
    )
    for word, cold in (("cold", True), ("warm", False)):
        runs = [in_fresh_process(FIRST, cold=cold).split() for _ in range(1 if quick else 3)]
        imported, total, wall = (min(map(float, column)) for column in zip(*runs, strict=True))
        table.add(word, f"{imported:.2f}", f"{total:.2f}", f"{wall:.2f}")
        holds = "holds" if imported < 0.5 else "DOES NOT HOLD"
        table.verdicts.append(f"Import below 0.5 s, {word}: {holds} ({imported:.2f} s).")
        if cold:
            holds = "holds" if total < 6 else "DOES NOT HOLD"
            table.verdicts.append(f"First `mdav` below 6 s with an empty cache: {holds} ({total:.1f} s).")
    return table


def large(*, quick: bool) -> Table:
    """Time sizes that hurt."""
    table = Table(
        "Sizes that hurt",
        "Gaussian records. For comparison: sdcMicro 5.8 (R and C++) took 84 s for MDAV of 100,000 x 10, k = 3.",
        ["Method", "n", "d", "k", "seconds", "loss, %"],
    )
    part = 20 if quick else 1
    cases = [(name, 100_000 // part, 10, 3) for name in FAST]
    cases += [("mondrian-v2d", 1_000_000 // part, 10, 5), ("univariate", 10_000_000 // part, 1, 5)]
    for name, n, d, k in cases:
        X = gaussian(n, d)
        spent, labels = clock(partial(shoal.partition, X, k, name))
        table.add(name, n, d, k, show(spent), f"{100 * shoal.information_loss(X, labels):.4g}")
    return table


def lloyd(*, quick: bool) -> Table:
    """Time ONA* on Credit Card next to its oracle, and MONA on a million records."""
    oracles()  # the folder of the oracles is on the path from here on
    from naive_lloyd import ona_star  # type: ignore[import-not-found,unused-ignore]

    X, k, n0 = standardized(load("creditcard").data), 3, 150 if quick else 400
    table = Table(
        "Lloyd-based methods",
        f"The oracle of `ona*` on the first {n0} records of Credit Card, extrapolated as n^2 (it grows faster); MONA "
        "with rho = 0.5 on Gaussian records, all cores, by the clock.",
        ["Method", "n", "d", "k", "oracle, s", "seconds", "ratio", "peak memory, MiB"],
    )
    shoal.partition(X[:500], k, "ona*")
    plain, expected = clock(partial(ona_star, X[:n0], k))
    if not np.array_equal(expected, shoal.partition(X[:n0], k, "ona*")):
        raise AssertionError("ona*: labels differ from those of the oracle")
    whole, _ = clock(partial(shoal.partition, X, k, "ona*"))
    ratio = plain * (len(X) / n0) ** 2 / whole
    table.add("ona*", len(X), X.shape[1], k, "~" + show(plain * (len(X) / n0) ** 2), show(whole), f"~{ratio:.0f}x", "")
    for claim, holds in (("30 times as fast as its oracle or more", ratio >= 30), ("below 25 s", whole < 25)):
        table.verdicts.append(f"`ona*` on Credit Card, k = 3, {claim}: {'holds' if holds else 'DOES NOT HOLD'}.")
    n = 50_000 if quick else 1_000_000
    Y = gaussian(n, 10)
    start = time.perf_counter()
    shoal.partition(Y, k, "mona", n_jobs=-1)
    spent = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    table.add("mona", n, 10, k, "", show(spent), "", f"{peak:.0f} (whole process)")
    holds = spent < 60 and peak < 3072
    table.verdicts.append(f"`mona` below 60 s and 3 GiB: {'holds' if holds else 'DOES NOT HOLD'}.")
    return table


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, about a minute")
    parser.add_argument("--full", action="store_true", help="run all oracles on the whole table")
    options = parser.parse_args()
    quick = options.quick
    warm_up()
    tables = [credit_card(quick=quick, patience=0 if quick else 1200 if options.full else 90)]
    tables.append(all_ratios(quick=quick))
    grown, largest = growth(quick=quick)
    tables += [grown, memory(largest, quick=quick), first_call(quick=quick), large(quick=quick), lloyd(quick=quick)]
    publish("speed", "Speed, growth and memory", INTRO, tables, quick=quick)


if __name__ == "__main__":
    main()
