"""Microaggregation that takes account of sensitive values while groups are formed.

Source: Soria-Comas, Domingo-Ferrer, Sanchez and Martinez (2015): t-Closeness through microaggregation: strict privacy
with enhanced utility preservation. IEEE TKDE 27(11). Their three algorithms are `merge_worst`, `k_first` and `t_first`;
here they also handle ties, missing values and distances other than that of ranks. Some of the groups returned may still
fall short and must be repaired. Where there is no time left (`until`), the remaining records become one group.
"""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np

from shoal.arrays import Array, group_means
from shoal.kernels import rule_growth as _growth
from shoal.kernels import rules as _rules
from shoal.kernels.rules import Rules
from shoal.partitioning.merging import merge
from shoal.partitioning.pool import SMALL_TABLE, Pool, mean_of, members, nearest_each, square_distances
from shoal.progress import Progress, silent

CLOSENESS = (_rules.EQUAL, _rules.LINE, _rules.TREE)
# Calls of the kernel; between them, progress is reported and Ctrl-C works.
CALLS = 50


def closeness(rules: Rules) -> list[int]:
    """Return the numbers of the demands that are t-closeness."""
    return [g for g, rule in enumerate(rules.kinds.tolist()) if rule in CLOSENESS]


def measured(rules: Rules, labels: Array) -> Array:
    """Return float64[g, m]: the measured value of each group for each demand."""
    order, sizes = np.argsort(labels, kind="stable"), np.bincount(labels)
    values = np.empty((len(rules.kinds), len(sizes)))
    starts = np.concatenate(([0], np.cumsum(sizes)))
    _rules.measure_groups(rules, order, starts, _rules.desk(rules, int(sizes.max())), values)
    return values


def k_first(X: Array, k: int, rules: Rules, *, report: Progress = silent, until: float = np.inf) -> Array:
    """Grow groups of the k nearest records and swap others in until they are close to the table (algorithm 2)."""
    return _grown(X, k, rules, _growth.SWAPPING, report, until)


def diverse_growth(X: Array, k: int, rules: Rules, *, report: Progress = silent, until: float = np.inf) -> Array:
    """Grow groups by the nearest record, or by the nearest one that adds diversity where that is needed.

    Groups take in records with the most frequent value as long as more of them are left than later groups could use.
    """
    return _grown(X, k, rules, _growth.ADDING, report, until)


def _grown(X: Array, k: int, rules: Rules, way: int, report: Progress, until: float) -> Array:
    grow = _grow_plainly if len(X) <= SMALL_TABLE else _grow
    labels = grow(X, k, rules, way, report, until)
    rows, groups = np.flatnonzero(labels < 0), int(labels.max()) + 1
    if len(rows) >= k or groups == 0:
        labels[rows] = groups
    elif len(rows):
        labels[rows] = _nearest_groups(X, labels, rows)
    return labels


def _grow(X: Array, k: int, rules: Rules, way: int, report: Progress, until: float) -> Array:
    """Return labels of groups that are grown while there are at least 2k records, -1 for those that are left."""
    n = len(X)
    pool, labels, groups = Pool(X, means=True), np.full(n, -1, np.int64), 0
    left, room = _frequencies(rules), _rules.desk(rules, n)
    while pool.count >= 2 * k and _in_time(until):
        groups = int(_growth.grow_under_rules(pool.points, rules, labels, groups, left, k, way, _steps(n, k), room))
        pool.tidy()
        report(1 - pool.count / n)
    return labels


def _grow_plainly(X: Array, k: int, rules: Rules, way: int, report: Progress, until: float) -> Array:
    """Do as `_grow` does, without an index, which would take seconds to compile."""
    n = len(X)
    rows, labels, groups, seed = np.arange(n), np.full(n, -1, np.int64), 0, -1
    left, room = _frequencies(rules), _rules.desk(rules, n)
    while len(rows) >= 2 * k and _in_time(until):
        # Every other seed of a call is the record furthest from the one before.
        opposite = groups % _steps(n, k) % 2 == 1
        seed = int(rows[square_distances(X[rows], X[seed] if opposite else mean_of(X[rows])).argmax()])
        others = rows[rows != seed]
        near = others[np.argsort(square_distances(X[others], X[seed]), kind="stable")]
        most = min(len(rows), n - 1, _growth.MANY * k + 63)
        m = min(len(rows), _growth.FEW * k + 16)
        while True:
            ids = np.concatenate(([seed], near[: m - 1]))
            chosen, missed = _growth.choose_members(X, rules, ids, left, len(rows), k, way, room)
            if missed == 0 or m >= most:
                break
            m = min(4 * m, most)
        labels[chosen] = groups
        groups += 1
        values = _rules.values_in(rules, 0)[chosen]
        left -= np.bincount(values[values >= 0], minlength=len(left))
        rows = rows[labels[rows] < 0]
        report(1 - len(rows) / n)
    return labels


def _in_time(until: float) -> bool:
    return until == np.inf or time.perf_counter() < until


def _frequencies(rules: Rules) -> Array:
    """Return how many records have each value of the first demand."""
    values = _rules.values_in(rules, 0)
    return np.bincount(values[values >= 0], minlength=1)


def _steps(n: int, k: int) -> int:
    """Return how many groups are grown between two reports of progress."""
    return max(1, n // (CALLS * k))


def _nearest_groups(X: Array, labels: Array, rows: Array) -> Array:
    """Return the group with the nearest mean for each of `rows`, which belong to none yet."""
    known = labels >= 0
    means = group_means(X[known], labels[known])
    return nearest_each(means, np.ascontiguousarray(X[rows]), 1)[:, 0]


def merge_worst(X: Array, labels: Array, rules: Rules, *, report: Progress = silent, until: float = np.inf) -> Array:
    """Merge the group furthest from the table with the nearest one, until all are close enough (algorithm 1).

    Demands other than t-closeness are left to the repair.
    """
    return merge(labels, _WorstFirst(X, labels, rules, until), report)


class _WorstFirst:
    """One merger per round: the group that misses t-closeness by most joins the group with the nearest mean.

    Arrays are indexed by the original group numbers; `alive` has the numbers of the remaining groups, ascending.
    """

    def __init__(self, X: Array, labels: Array, rules: Rules, until: float) -> None:
        self.X, self.rules, self.close, self.until = X, rules, closeness(rules), until
        self.means = group_means(X, labels)
        self.alive, self.rows = np.arange(len(self.means)), members(labels)
        self.pool = Pool(self.means, self.alive)
        self.missed = np.max(measured(rules, labels)[self.close] - rules.limits[self.close, None], axis=0)
        self.pair = (0, 0)

    def falling_short(self) -> Array:
        """Return the groups that are further from the table than allowed; none if there is no time for them."""
        return np.flatnonzero(self.missed[self.alive] > 0) if _in_time(self.until) else self.alive[:0]

    def choose(self, short: Array) -> Array:
        """Return the group that each group joins: one joins another, the others stay."""
        at = int(short[self.missed[self.alive[short]].argmax()])
        worst = int(self.alive[at])
        self.pool.remove(np.array([worst]))
        nearest = int(self.pool.nearest(self.means[worst], 1)[0])
        self.pair = (worst, nearest)
        joined = np.arange(len(self.alive))
        joined[at] = np.searchsorted(self.alive, nearest)
        return joined

    def merge(self, target: Array) -> None:
        """Merge the chosen pair, and measure its union."""
        worst, nearest = self.pair
        self.alive = self.alive[self.alive != worst]
        self.pool.remove(np.array([nearest]))
        both = np.concatenate([self.rows[nearest], self.rows[worst]])
        self.rows[nearest], self.rows[worst] = both, both[:0]
        self.means[nearest] = self.X[both].mean(axis=0)
        self.pool.add(np.array([nearest]))
        rules, values = self.rules, np.empty((len(self.rules.kinds), 1))
        _rules.measure_groups(rules, both, np.array([0, len(both)]), _rules.desk(rules, len(both)), values)
        self.missed[nearest] = np.max(values[self.close, 0] - rules.limits[self.close])


# --- t first ---


def t_first(X: Array, k: int, rules: Rules, *, report: Progress = silent, until: float = np.inf) -> Array:
    """Take the nearest record of each of k' subsets of similar sensitive values into every group (algorithm 3).

    The first demand of t-closeness decides. If k' does not divide n, the subsets in the middle have one more record.
    Groups take two records from such a subset as long as it has too many.
    """
    n = len(X)
    order = in_order(rules, closeness(rules)[0])[0]
    size = least_size(k, rules)
    count = n // size
    bounds = subsets(n, size)
    rows = [np.sort(order[start:stop]) for start, stop in pairwise(bounds)]
    pools = [Pool(np.ascontiguousarray(X[subset])) for subset in rows]
    everyone, labels = Pool(X, means=True), np.full(n, -1, np.int64)
    seed, opposite = -1, False
    for group in range(count):
        if group % 64 == 0 and not _in_time(until):
            labels[labels < 0] = group
            break
        seed = everyone.furthest(X[seed] if opposite else everyone.mean())
        opposite = not opposite
        taken = []
        for subset, pool in zip(rows, pools, strict=True):
            wanted = 1 if pool.count <= count - group else 2
            nearest = pool.nearest(X[seed], wanted)
            pool.remove(nearest)
            taken.append(subset[nearest])
        chosen = np.concatenate(taken)
        everyone.remove(chosen)
        labels[chosen] = group
        if group % 256 == 0:
            everyone.tidy()
            report(group / count)
    return labels


def subsets(n: int, size: int) -> Array:
    """Return int64[size + 1]: the bounds of `size` runs of n records. Runs in the middle may have one record more."""
    lengths = np.full(size, n // size)
    more = n % size
    first = (size - more) // 2
    lengths[first : first + more] += 1
    return np.concatenate(([0], np.cumsum(lengths)))


def in_order(rules: Rules, g: int) -> tuple[Array, Array]:
    """Return the records sorted by sensitive value, and float64[n]: the position of each, or its distance to the last.

    On a line, missing values come first, at the position of the lowest value. In a tree, values below the same node are
    adjacent, and the distance of any two values is the largest step between them. The same holds if all values are
    equally far apart.
    """
    codes, rule, at, V = _rules.values_in(rules, g), rules.kinds[g], rules.starts[g], int(rules.values[g])
    if rule == _rules.LINE:
        order = np.argsort(codes, kind="stable")
        return order, rules.table[at : at + V][np.maximum(codes[order], 0)]
    rank, height = (_depth_first(rules, g)) if rule == _rules.TREE else (np.arange(int(codes.max()) + 1), None)
    order = np.argsort(rank[codes], kind="stable")
    same = np.diff(codes[order], prepend=codes[order[0]]) == 0
    steps = np.ones(len(codes)) if height is None else height[rank[codes[order]]]
    return order, np.where(same, 0.0, steps)


def _depth_first(rules: Rules, g: int) -> tuple[Array, Array]:
    """Return int64[v], the rank of each value among the leaves, and float64[v], its distance from the leaf before."""
    links, nodes, at = int(rules.links[g]), int(rules.nodes[g]), int(rules.starts[g])
    parents = rules.tree[links : links + nodes]
    leaves = rules.tree[links + nodes : links + nodes + int(rules.values[g])]
    weights = rules.table[at : at + nodes]
    paths = []
    for leaf in leaves.tolist():
        path = [leaf]
        while parents[path[-1]] >= 0:
            path.append(int(parents[path[-1]]))
        paths.append(path[::-1])
    ordered = sorted(range(len(paths)), key=paths.__getitem__)
    rank, height = np.empty(len(paths), np.int64), np.ones(len(paths))
    for place, value in enumerate(ordered):
        rank[value] = place
        if place:
            before = set(paths[ordered[place - 1]])
            # The path up to the first common node; missing values have none.
            own = [node for node in paths[value] if node not in before]
            height[place] = weights[own].sum() if len(own) < len(paths[value]) else 1.0
    return rank, height


def least_size(k: int, rules: Rules) -> int:
    """Return the least k' >= k such that any group of one record from each of k' subsets is close enough to the table.

    A record is at most as far from its subset as the worst record of the subset, which on a line is one of its ends.
    The mean of these distances bounds the distance of the group. For n different values in the order of their ranks
    this gives max(k, n / (2 (n - 1) t + 1)), rounded up, if that divides n (Soria-Comas et al., 2015).
    """
    g = closeness(rules)[0]
    limit = float(rules.limits[g])
    order, places = in_order(rules, g)
    n = len(order)
    line = rules.kinds[g] == _rules.LINE
    sums = np.concatenate(([0.0], np.cumsum(places)))
    codes = _rules.values_in(rules, g)[order]
    size = min(k, n)
    while size < n and (_line_bound(places, sums, n, size) if line else _tree_bound(places, codes, n, size)) > limit:
        size += 1
    return size


def _line_bound(places: Array, sums: Array, n: int, size: int) -> float:
    bounds = subsets(n, size)
    low, high = bounds[:-1], bounds[1:]
    mean = (sums[high] - sums[low]) / (high - low)
    return float(np.maximum(mean - places[low], places[high - 1] - mean).mean())


def _tree_bound(steps: Array, codes: Array, n: int, size: int) -> float:
    """Return the bound for a tree: the widest step in each subset, times the share of all but its rarest value."""
    bounds = subsets(n, size)
    low, lengths = bounds[:-1], np.diff(bounds)
    inside = steps.copy()
    inside[low] = 0.0
    widest = np.maximum.reduceat(inside, low)
    first = np.union1d(low, np.flatnonzero(np.diff(codes, prepend=-2)))
    rarest = np.minimum.reduceat(np.diff(np.append(first, n)), np.searchsorted(first, low))
    return float((widest * (1 - rarest / lengths)).mean())
