"""The five accelerations of F-MDAV, one by one; run with `python -m benchmarks.mdav_speedups [--quick]`.

They are accelerations of a scan over all records, which Shoal has replaced by an index. Here they can be switched on
and off over such a scan; what decides is measured in double precision, so every variant must give the same labels.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

import shoal
from benchmarks import scans
from benchmarks.pages import Table, publish
from benchmarks.scans import BLOCK, scan
from benchmarks.timing import clock, gaussian, show
from shoal.arrays import Array
from shoal.datasets import load
from shoal.estimator import standardized
from shoal.kernels.jit import kernel
from shoal.kernels.search import into_order, offer
from shoal.kernels.sums import square_distance
from shoal.partitioning.pool import numbered

K = 10
INTRO = """\
Rodriguez-Hoyos et al. (2020) make MDAV faster in five ways, all of which speed up scans over the remaining records.
Shoal's `mdav` asks an index instead (see [How the engine works](../explanation/engine.md)). Here each of the five
is switched off alone (*without*: how many times slower a scanning MDAV gets), and switched on alone over a version that
has none (*alone*: how many times faster that gets, which is what the paper measures, in Matlab, k = 10). Every
variant gives the same labels as `mdav`: distances only screen, and what decides is measured in double
precision. In compiled code passing over the records is cheap and sorting is not, so selection counts for
most, and beside a full sort the others hardly show: read those off the column *slower by*.

- *inner products*: |y|^2 / 2 - <y, q> with stored norms instead of sums of squared differences;
- *reuse*: one pass for the neighbours of a record and for the record furthest from it;
- *selection*: the k - 1 nearest are kept while passing, instead of sorting all distances;
- *subtraction*: the sum of the remaining records is kept up to date instead of added up anew;
- *single precision*: screening in 32 bits instead of 64.
"""
PAPER = {
    "inner_products": "up to 1.54x",
    "reuse": "1.14-1.31x",
    "selection": "1.5x to almost 2x",
    "subtraction": "up to 1.15x",
    "single_precision": "up to 1.35x",
}


@dataclass(frozen=True)
class Switches:
    """Which accelerations are on."""

    inner_products: bool = True
    reuse: bool = True
    selection: bool = True
    subtraction: bool = True
    single_precision: bool = True


NAMES = tuple(field.name for field in fields(Switches))
ALL = Switches()
NONE_ON = Switches(**dict.fromkeys(NAMES, False))


@kernel
def plain_mean(X, ids):  # type: ignore[no-untyped-def]
    """Mean of the rows `ids` of X, added up one by one."""
    total = np.zeros(X.shape[1])
    for i in ids:
        for j in range(X.shape[1]):
            total[j] += X[i, j]
    return total / ids.shape[0]


@kernel
def screen(points, query, b, acc, direct):  # type: ignore[no-untyped-def]
    """Put half the squared distances of block b to the (shifted and scaled) query into acc.

    `direct`: as sums of squared differences; else as |y|^2 / 2 - <y, q>, which lacks |q|^2 / 2.
    """
    acc[:] = 0
    d = query.shape[0]
    j = 0
    while j + 4 <= d:
        q0, q1, q2, q3 = query[j], query[j + 1], query[j + 2], query[j + 3]
        x0, x1, x2, x3 = (
            points.blocks[b, j],
            points.blocks[b, j + 1],
            points.blocks[b, j + 2],
            points.blocks[b, j + 3],
        )
        if direct:
            for p in range(BLOCK):
                t0, t1, t2, t3 = x0[p] - q0, x1[p] - q1, x2[p] - q2, x3[p] - q3
                acc[p] += (t0 * t0 + t1 * t1) + (t2 * t2 + t3 * t3)
        else:
            for p in range(BLOCK):
                acc[p] += (x0[p] * q0 + x1[p] * q1) + (x2[p] * q2 + x3[p] * q3)
        j += 4
    while j < d:
        q0, x0 = query[j], points.blocks[b, j]
        if direct:
            for p in range(BLOCK):
                acc[p] += (x0[p] - q0) * (x0[p] - q0)
        else:
            for p in range(BLOCK):
                acc[p] += x0[p] * q0
        j += 1
    half = acc.dtype.type(0.5)
    low, high = points.low[b], points.high[b]
    for p in range(BLOCK):
        acc[p] = half * acc[p] if direct else half * (low[p] + high[p]) - acc[p]


@kernel
def shifted(points, query, largest):  # type: ignore[no-untyped-def]
    """Return the query in the coordinates of the blocks, its squared norm, and a generous error of screening.

    `largest` is the largest half norm of all points.
    """
    q = np.empty(query.shape[0], points.blocks.dtype)
    norm = 0.0
    for j in range(query.shape[0]):
        y = (query[j] - points.centre[j]) * points.scales[0]
        q[j] = y
        norm += y * y
    # Four times the bound that is proven for inner products covers squared differences as well.
    return q, norm, 4 * (points.scales[1] * largest + points.scales[2] * norm + points.scales[3])


@kernel
def scan_direct(points, query, m, furthest, largest):  # type: ignore[no-untyped-def]
    """Like `scan`, with squared differences in place of inner products."""
    count, scale = points.present[0], points.scales[0]
    q, _, error = shifted(points, query, largest)
    dist, ids, size = np.empty(m), np.empty(m, np.int64), 0
    far, far_distance = -1, -1.0
    number = points.blocks.dtype.type
    below, above = number(np.inf if m > 0 else -np.inf), number(-np.inf if furthest else np.inf)
    acc = np.empty(BLOCK, points.blocks.dtype)
    for b in range((count + BLOCK - 1) // BLOCK):
        screen(points, q, b, acc, True)
        width = min(BLOCK, count - b * BLOCK)
        hits = 0
        for p in range(width):
            hits += (acc[p] <= below) | (acc[p] >= above)
        if hits == 0:
            continue
        for p in range(width):
            near = acc[p] <= below
            if not near and acc[p] < above:
                continue
            i = points.ids[b * BLOCK + p]
            exact = square_distance(points.X, i, query)
            if near:
                size = offer(dist, ids, size, m, exact, i)
                if size == m:
                    below = number((0.5 * dist[0] * scale * scale + error) * (1 + 2.0**-22))
            if furthest and (exact > far_distance or (exact == far_distance and i < far)):
                far, far_distance = i, exact
                above = number((0.5 * exact * scale * scale) * (1 - 2.0**-22) - error)
    into_order(dist, ids, size)
    return ids[:size], dist[:size], far, far_distance


@kernel
def scan_sorted(points, query, m, direct, largest):  # type: ignore[no-untyped-def]
    """Find the m nearest and the furthest point from a full sort of all distances."""
    count, scale = points.present[0], points.scales[0]
    q, norm, error = shifted(points, query, largest)
    missing = 0.0 if direct else 0.5 * norm
    acc = np.empty(BLOCK, points.blocks.dtype)
    half = np.empty(count, points.blocks.dtype)
    for b in range((count + BLOCK - 1) // BLOCK):
        screen(points, q, b, acc, direct)
        width = min(BLOCK, count - b * BLOCK)
        half[b * BLOCK : b * BLOCK + width] = acc[:width]
    order = np.argsort(half)
    # Screened distances are out by at most `error`: those around the m-th and the last are measured exactly.
    dist, ids, size = np.empty(m), np.empty(m, np.int64), 0
    for slot in order:
        if size == m and half[slot] + missing > (0.5 * dist[0] * scale * scale) * (1 + 2.0**-22) + error:
            break
        i = points.ids[slot]
        size = offer(dist, ids, size, m, square_distance(points.X, i, query), i)
    far, far_distance = -1, -1.0
    for slot in order[::-1]:
        if half[slot] + missing < (0.5 * far_distance * scale * scale) * (1 - 2.0**-22) - error:
            break
        i = points.ids[slot]
        exact = square_distance(points.X, i, query)
        if exact > far_distance or (exact == far_distance and i < far):
            far, far_distance = i, exact
    into_order(dist, ids, size)
    return ids[:size], dist[:size], far, far_distance


class Scanned:
    """The unassigned records, found by scans whose accelerations can be switched off."""

    def __init__(self, X: Array, on: Switches) -> None:
        self._on = on
        self.points = scans.new_points(X, dtype=np.float32 if on.single_precision else np.float64)
        scans.put_all(self.points, np.arange(len(X)))
        self._largest = float(self.points.high.max())

    @property
    def rows(self) -> Array:
        """The present rows in ascending order."""
        return np.sort(self.points.ids[: self.points.present[0]])

    def mean(self) -> Array:
        """Return the mean of the present points."""
        if self._on.subtraction:
            parts = self.points.total
            return np.array([math.fsum(column) for column in parts.T.tolist()]) / int(self.points.present[0])
        mean: Array = plain_mean(self.points.X, self.points.ids[: self.points.present[0]])
        return mean

    def search(self, query: Array, m: int, furthest: bool) -> Any:
        """Return the m nearest rows, their distances, the furthest row and its distance."""
        if m > 0 and not self._on.selection:
            return scan_sorted(self.points, query, m, not self._on.inner_products, self._largest)
        if self._on.inner_products:
            return scan(self.points, query, m, furthest, -1, -1)
        return scan_direct(self.points, query, m, furthest, self._largest)

    def take(self, seed: int, labels: Array, opposite: bool) -> int:
        """Make a group of `seed` and its nearest neighbours; return the record furthest from it, if asked for."""
        X, group = self.points.X, int(labels.max()) + 1
        scans.drop(self.points, np.array([seed]))
        found = self.search(X[seed], K - 1, opposite and self._on.reuse)
        far = int(found[2]) if self._on.reuse or not opposite else int(self.search(X[seed], 0, True)[2])
        scans.drop(self.points, found[0])
        labels[seed] = labels[found[0]] = group
        if opposite and self.points.slots[far] < 0:  # among ties only
            far = int(self.search(X[seed], 0, True)[2])
        return far


def run(X: Array, on: Switches) -> Array:
    """Return the labels of MDAV with some accelerations."""
    pool, labels = Scanned(X, on), np.full(len(X), -1, np.int64)
    while pool.points.present[0] >= 3 * K:
        far = pool.take(int(pool.search(pool.mean(), 0, True)[2]), labels, True)
        pool.take(far, labels, False)
    if pool.points.present[0] >= 2 * K:
        pool.take(int(pool.search(pool.mean(), 0, True)[2]), labels, False)
    labels[pool.rows] = labels.max() + 1
    return numbered(labels)


def measure(title: str, X: Array, rounds: int) -> Table:
    """Time all variants on X."""
    without = {name: replace(ALL, **{name: False}) for name in NAMES}
    alone = {name: replace(NONE_ON, **{name: True}) for name in NAMES}
    variants = {ALL, NONE_ON, *without.values(), *alone.values()}
    expected = shoal.partition(X, K, "mdav")
    least = dict.fromkeys(variants, np.inf)
    for number in range(rounds):
        # Slow variants need no second look.
        for on in variants if number == 0 else [on for on in variants if least[on] < 2]:
            seconds, labels = clock(partial(run, X, on))
            if not np.array_equal(labels, expected):
                raise AssertionError(f"other labels with {on}")
            least[on] = min(least[on], seconds)
    own = least[ALL]
    table = Table(
        f"{title}, {len(X)} x {X.shape[1]}, k = {K}",
        f"All on: {show(own)} s. All off: {show(least[NONE_ON])} s. With the index, `mdav` takes "
        f"{show(clock(partial(shoal.partition, X, K, 'mdav'), repeats=3)[0])} s.",
        ["Acceleration", "without, s", "slower by", "alone, s", "faster by", "paper"],
    )
    for name in NAMES:
        off, single = least[without[name]], least[alone[name]]
        cells = (show(off), f"{off / own:.2f}x", show(single), f"{least[NONE_ON] / single:.2f}x")
        table.add(name.replace("_", " "), *cells, PAPER[name])
    both = least[NONE_ON] / own
    table.add("all five", show(least[NONE_ON]), f"{both:.2f}x", show(own), f"{both:.2f}x", "4x")
    table.verdicts.append(f"All {len(variants)} variants gave the labels of `mdav`.")
    return table


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, half a minute")
    quick = parser.parse_args().quick
    measure("Warm-up", gaussian(200, 10), rounds=1)
    card = standardized(load("creditcard").data)
    if quick:
        card = card[:5000]
    simulated = gaussian(5000 if quick else 50_000, 10)
    tables = [measure("Credit Card", card, rounds=3), measure("Gaussian", simulated, rounds=3)]
    publish("mdav-speedups", "What makes MDAV fast", INTRO, tables, quick=quick)


if __name__ == "__main__":
    main()
