"""What is demanded of the sensitive values of a group, measured from its members.

The values of a group are sorted, so that equal ones lie together: a group of c records takes O(c log c), and O(log V)
more for each of its values where they lie on a line, however many values V the table has. All demands lie in flat
arrays, so that the time of compiling does not depend on their number. The measures are those of `shoal.privacy`, which
checks what is published by other means.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.kernels.jit import inner, kernel

# Rules. Of the first three, more is better; up to ALPHA, they look at known values only, but for the size of a group.
SIZE, DISTINCT, ENTROPY, RECURSIVE, ALPHA, EQUAL, LINE, TREE, DELTA, BETA, ENHANCED = range(11)
RISING = 3
# Stands for no value where one may come or go; -1 is a missing one.
NOBODY = -2
# What rounding may do to a mean.
SLACK = 1e-9
# The greatest gap between what a group has and a demand, as a part of that.
WIDEST = 1e3


class Rules(NamedTuple):
    """Demands on the sensitive values of every group.

    Attributes
    ----------
    codes : int64[g, n]
        For each demand, the value of each record; -1 where it is missing and that is not a value of its own.
    kinds : int64[g]
    limits : float64[g]
        What a group must have at least, or at most if less is better; rounding included.
    extras : float64[g]
        The l of RECURSIVE, the beta of ENHANCED.
    values, nodes : int64[g]
        How many values an attribute has; how many nodes its TREE.
    starts : int64[g], table : float64[s]
        Where the figures of each demand begin. EQUAL, DELTA, BETA, ENHANCED: the share of each value in the table.
        LINE: positions of the values, shares of those up to each, integrals of these shares up to each, distances of
        the positions from their median, the share of missing values, and the means of positions and distances. TREE:
        weights of the nodes, shares below them, and the sum of their products.
    links : int64[g], tree : int64[u]
        Where the nodes of each TREE begin: the parent of each, then the node of each value.
    """

    codes: Array
    kinds: Array
    limits: Array
    extras: Array
    values: Array
    nodes: Array
    starts: Array
    table: Array
    links: Array
    tree: Array


class Desk(NamedTuple):
    """Room to work: counts int64[w + 2], below int64[v] for the nodes of trees, all zero between calls."""

    counts: Array
    below: Array


def desk(rules: Rules, largest: int) -> Desk:
    """Return the room to work that groups of at most `largest` records need."""
    return Desk(np.zeros(largest + 2, np.int64), np.zeros(int(rules.nodes.max()) + 1, np.int64))


@inner
def sort(values, size):  # type: ignore[no-untyped-def]
    """Sort the first `size` of values."""
    stride = 1
    while stride < size // 3:
        stride = 3 * stride + 1
    while stride > 0:
        for p in range(stride, size):
            v, q = values[p], p
            while q >= stride and values[q - stride] > v:
                values[q] = values[q - stride]
                q -= stride
            values[q] = v
        stride //= 3


@inner
def gather_values(codes, members, size, values):  # type: ignore[no-untyped-def]
    """Write the values of the first `size` members to `values`, sorted."""
    for p in range(size):
        values[p] = codes[members[p]]
    sort(values, size)


@inner
def changed(values, size, gone, came, out):  # type: ignore[no-untyped-def]
    """Write sorted values less `gone` and with `came` (NOBODY: nothing) to `out`; return how many they are."""
    count = 0
    for p in range(size):
        v = values[p]
        if v == gone:
            gone = NOBODY
            continue
        if came != NOBODY and came <= v:
            out[count] = came
            count += 1
            came = NOBODY
        out[count] = v
        count += 1
    if came != NOBODY:
        out[count] = came
        count += 1
    return count


@inner
def _tail_ratio(counts, runs, rank):  # type: ignore[no-untyped-def]
    """The largest count by the sum of all but the `rank` - 1 largest; `counts` are sorted. Infinite if none is left."""
    sort(counts, runs)
    tail = 0
    for r in range(runs - rank + 1):
        tail += counts[r]
    return counts[runs - 1] / tail if tail > 0 else np.inf


@inner
def _line(values, first, size, table, at, V):  # type: ignore[no-untyped-def]
    """Distance of the known values and the table along a line: the area between their cumulative shares."""
    known = size - first
    apart, p = 0.0, first
    # Before its least value, a group has nothing.
    apart += table[at + 2 * V + values[first]]
    while p < size:
        value = values[p]
        while p < size and values[p] == value:
            p += 1
        share = (p - first) / known
        end = values[p] if p < size else V - 1
        # Where the table overtakes the group, between this value and the next.
        low, high = value, end
        while low < high:
            middle = (low + high) // 2
            if table[at + V + middle] < share:
                low = middle + 1
            else:
                high = middle
        width = 2.0 * table[at + low] - table[at + value] - table[at + end]
        area = 2.0 * table[at + 2 * V + low] - table[at + 2 * V + value] - table[at + 2 * V + end]
        apart += share * width - area
    return apart


@inner
def _tree(values, size, rules, g, below):  # type: ignore[no-untyped-def]
    """Distance of the values and the table in a tree: half of what enters or leaves each node, times its weight.

    Nodes that the group does not reach are told by the sum of the table's shares over all nodes.
    """
    at, links, nodes = rules.starts[g], rules.links[g], rules.nodes[g]
    for p in range(size):
        node = rules.tree[links + nodes + values[p]]
        while node >= 0:
            below[node] += 1
            node = rules.tree[links + node]
    twice = rules.table[at + 2 * nodes]
    for p in range(size):
        node = rules.tree[links + nodes + values[p]]
        while node >= 0 and below[node] > 0:
            whole = rules.table[at + nodes + node]
            twice += rules.table[at + node] * (abs(below[node] / size - whole) - whole)
            below[node] = 0
            node = rules.tree[links + node]
    return 0.5 * twice


@inner
def _likeness(values, size, rules, g):  # type: ignore[no-untyped-def]
    """What compares the shares of single values with those in the table: EQUAL, DELTA, BETA and ENHANCED."""
    rule, at, beta = rules.kinds[g], rules.starts[g], rules.extras[g]
    found, p, kinds = 0.0, 0, 0
    while p < size:
        value, first = values[p], p
        while p < size and values[p] == value:
            p += 1
        kinds += 1
        share, whole = (p - first) / size, rules.table[at + value]
        if rule == EQUAL:
            found += max(0.0, share - whole)
        elif rule == DELTA:
            found = max(found, abs(np.log(share / whole)))
        elif share > whole:
            gain = (share - whole) / whole
            found = max(found, gain if rule == BETA else gain / min(beta, -np.log(whole)))
    return np.inf if rule == DELTA and kinds < rules.values[g] else found


@inner
def _diversity(values, first, size, rules, g, counts):  # type: ignore[no-untyped-def]
    """What looks at the known values of a group alone: DISTINCT, ENTROPY, RECURSIVE and ALPHA."""
    rule, known = rules.kinds[g], size - first
    runs, p, entropy, most = 0, first, 0.0, 0
    while p < size:
        value, start = values[p], p
        while p < size and values[p] == value:
            p += 1
        counts[runs] = p - start
        runs += 1
        most = max(most, p - start)
        if rule == ENTROPY:
            entropy -= (p - start) / known * np.log((p - start) / known)
    if rule == DISTINCT:
        return np.float64(runs)
    if rule == ENTROPY:
        return np.exp(entropy) if runs > 0 else 0.0
    if rule == ALPHA:
        return most / known if known > 0 else 0.0
    return _tail_ratio(counts, runs, np.int64(rules.extras[g])) if runs > 0 else np.inf


@inner
def measure(rules, g, values, size, room):  # type: ignore[no-untyped-def]
    """What a group has of demand g, given its sorted values."""
    rule, first = rules.kinds[g], 0
    if rule <= ALPHA or rule == LINE:
        while first < size and values[first] < 0:
            first += 1
    if rule == SIZE:
        return np.float64(size)
    if rule <= ALPHA:
        return _diversity(values, first, size, rules, g, room.counts)
    if rule == TREE:
        return _tree(values, size, rules, g, room.below)
    if rule != LINE:
        return _likeness(values, size, rules, g)
    at, V = rules.starts[g], rules.values[g]
    whole, own = rules.table[at + 4 * V], first / size
    apart = abs(whole - own)
    if first < size and whole < 1.0:
        apart += (1.0 - max(whole, own)) * _line(values, first, size, rules.table, at, V)
    return apart


@inner
def holds(rules, g, values, size, room):  # type: ignore[no-untyped-def]
    """Whether a group with these sorted values satisfies demand g."""
    found = measure(rules, g, values, size, room)
    return found >= rules.limits[g] if rules.kinds[g] < RISING else found <= rules.limits[g]


@inner
def gap(rules, g, values, size, room):  # type: ignore[no-untyped-def]
    """By how much a group with these sorted values misses demand g, as a part of it, at most WIDEST; 0 if it holds."""
    found, limit = measure(rules, g, values, size, room), rules.limits[g]
    if rules.kinds[g] < RISING:
        return 0.0 if found >= limit else min(WIDEST, limit / found - 1.0 if found > 0 else WIDEST)
    return 0.0 if found <= limit else min(WIDEST, found / limit - 1.0 if limit > 0 else WIDEST * found)


@inner
def members_hold(rules, members, size, values, room):  # type: ignore[no-untyped-def]
    """Whether a group of the first `size` members satisfies all demands; `values` is room for theirs."""
    for g in range(rules.kinds.shape[0]):
        gather_values(rules.codes[g], members, size, values)
        if not holds(rules, g, values, size, room):
            return False
    return True


@inner
def values_of(rules, members, size, values, sums):  # type: ignore[no-untyped-def]
    """Fill int64[g, w] with the sorted values of a group, and float64[g, 2] with sums that `_too_far` asks for."""
    for g in range(rules.kinds.shape[0]):
        gather_values(rules.codes[g], members, size, values[g])
        sums[g, 0], sums[g, 1] = 0.0, 0.0
        if rules.kinds[g] == LINE:
            at, V = rules.starts[g], rules.values[g]
            for p in range(size):
                if values[g, p] >= 0:
                    sums[g, 0] += rules.table[at + values[g, p]]
                    sums[g, 1] += rules.table[at + 3 * V + values[g, p]]


@inner
def _too_far(rules, g, sums, size, gone, came):  # type: ignore[no-untyped-def]
    """Whether a change takes the mean position, or the mean distance from the middle, too far from those of the table.

    Neither can be further away than the distance along the line: most changes are refused by this quick test.
    """
    at, V = rules.starts[g], rules.values[g]
    if rules.table[at + 4 * V] > 0:  # missing values are measured otherwise
        return False
    for f in range(2):
        total, place, count = sums[g, f], at + 3 * V * f, size
        if gone != NOBODY:
            total -= rules.table[place + gone]
            count -= 1
        if came != NOBODY:
            total += rules.table[place + came]
            count += 1
        if abs(total / count - rules.table[at + 4 * V + 1 + f]) > rules.limits[g] + SLACK:
            return True
    return False


@inner
def change_holds(rules, values, sums, size, gone, came, trial, room):  # type: ignore[no-untyped-def]
    """Whether a group still satisfies all demands after record `gone` left and `came` entered (-1: nobody).

    `values` and `sums` are those of `values_of`, `trial` is room.
    """
    for g in range(rules.kinds.shape[0]):
        out = rules.codes[g, gone] if gone >= 0 else NOBODY
        into = rules.codes[g, came] if came >= 0 else NOBODY
        if out == into:
            continue
        if rules.kinds[g] == LINE and _too_far(rules, g, sums, size, out, into):
            return False
        if not holds(rules, g, trial, changed(values[g], size, out, into, trial), room):
            return False
    return True


@kernel
def measure_groups(rules, order, starts, room, found):  # type: ignore[no-untyped-def]
    """Fill `found` float64[g, m] with what each group has: group j has order[starts[j] : starts[j + 1]] as members."""
    values = np.empty(room.counts.shape[0], np.int64)
    for j in range(starts.shape[0] - 1):
        size = starts[j + 1] - starts[j]
        for g in range(rules.kinds.shape[0]):
            gather_values(rules.codes[g], order[starts[j] : starts[j + 1]], size, values)
            found[g, j] = measure(rules, g, values, size, room)
