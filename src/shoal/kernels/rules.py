"""What is demanded of the sensitive values of a group, measured from its members.

The values of a group are sorted, so that equal ones lie together: a group of c records takes O(c log c), and O(log V)
more for each of its values where they lie on a line, however many values V the table has. Where units are counted, a
code has the unit of its record in its lowest bits, and every unit of a group counts as one, shared by its records.

All demands lie in flat arrays, so that the time of compiling does not depend on their number. The measures are those of
`shoal.privacy`, which checks what is published by other means.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.kernels.jit import kernel, lent

# Rules. Of the first three, more is better; up to ALPHA, they look at known values only, but for the size of a group.
SIZE, DISTINCT, ENTROPY, RECURSIVE, ALPHA, EQUAL, LINE, TREE, DELTA, BETA, ENHANCED = range(11)
RISING = 3
# Stands for no value where one may come or go; -1 is a missing one.
NOBODY = -(1 << 62)
# What rounding may do to a mean.
SLACK = 1e-9
# The greatest gap between what a group has and a demand, as a part of that.
WIDEST = 1e3


class Rules(NamedTuple):
    """Demands on the sensitive values of every group.

    Attributes
    ----------
    codes : int64[g, n]
        For each demand, the value of each record; -1 where it is missing and that is not a value of its own. The lowest
        bits are the number of its unit.
    shifts : int64[g]
        How many bits that number has; 0 if records are counted.
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
    shifts: Array
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
    """Room to work: counts and weights float64[w + 2]; zero between calls, below float64[v] and seen int64[u].

    They are for the values of a group and what each counts, the nodes of trees, and units.
    """

    counts: Array
    weights: Array
    below: Array
    seen: Array


def desk(rules: Rules, largest: int) -> Desk:
    """Return the room to work that groups of at most `largest` records need."""
    return Desk(
        counts=np.zeros(largest + 2),
        weights=np.zeros(largest + 2),
        below=np.zeros(int(rules.nodes.max()) + 1),
        seen=np.zeros(1 << int(rules.shifts.max()), np.int64),
    )


def values_in(rules: Rules, g: int) -> Array:
    """Return int64[n]: the value of each record for demand g, without its unit."""
    values: Array = rules.codes[g] >> rules.shifts[g]
    return values


@lent
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


@lent
def gather_values(codes, members, size, values):  # type: ignore[no-untyped-def]
    """Write the values of the first `size` members to `values`, sorted."""
    for p in range(size):
        values[p] = codes[members[p]]
    sort(values, size)


@lent
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


@lent
def _weigh(values, first, size, shift, room):  # type: ignore[no-untyped-def]
    """Fill `weights` with what each record counts; return what all count, and what those from `first` on do.

    Each counts as one, or all those of a unit together.
    """
    if shift == 0:
        return np.float64(size), np.float64(size - first)
    mask, units, known = (np.int64(1) << shift) - 1, 0.0, 0.0
    for p in range(size):
        room.seen[values[p] & mask] += 1
    for p in range(size):
        room.weights[p] = 1.0 / room.seen[values[p] & mask]
    for p in range(size):
        unit = values[p] & mask
        if room.seen[unit] > 0:
            units += 1.0
            room.seen[unit] = 0
        if p >= first:
            known += room.weights[p]
    return units, known


@lent
def _run(values, p, size, shift, weights):  # type: ignore[no-untyped-def]
    """Where the values equal to that at place p end, and what they count."""
    value, amount = values[p] >> shift, 0.0
    while p < size and values[p] >> shift == value:
        amount += weights[p] if shift > 0 else 1.0
        p += 1
    return p, amount


@lent
def _tail_ratio(counts, runs, rank):  # type: ignore[no-untyped-def]
    """The largest count by the sum of all but the `rank` - 1 largest; `counts` are sorted. Infinite if none is left."""
    sort(counts, runs)
    tail = 0.0
    for r in range(runs - rank + 1):
        tail += counts[r]
    return counts[runs - 1] / tail if tail > 0 else np.inf


@lent
def _different(values, first, size, shift, seen):  # type: ignore[no-untyped-def]
    """How many different known values there are; where units are counted, each of another unit.

    Each value takes the first unit that no other has taken: perhaps there are some more.
    """
    runs, p, mask = 0.0, first, (np.int64(1) << shift) - 1
    while p < size:
        value, taken = values[p] >> shift, shift == 0
        while p < size and values[p] >> shift == value:
            if not taken and seen[values[p] & mask] == 0:
                seen[values[p] & mask] = 1
                taken = True
            p += 1
        if taken:
            runs += 1.0
    if shift > 0:
        for q in range(first, size):
            seen[values[q] & mask] = 0
    return runs


@lent
def _line(values, first, size, known, shift, table, at, V, weights):  # type: ignore[no-untyped-def]
    """Distance of the known values and the table along a line: the area between their cumulative shares."""
    apart, p, reached = 0.0, first, 0.0
    # Before its least value, a group has nothing.
    apart += table[at + 2 * V + (values[first] >> shift)]
    while p < size:
        value = values[p] >> shift
        p, amount = _run(values, p, size, shift, weights)
        reached += amount
        share = reached / known
        end = values[p] >> shift if p < size else V - 1
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


@lent
def _tree(values, size, total, rules, g, room):  # type: ignore[no-untyped-def]
    """Distance of the values and the table in a tree: half of what enters or leaves each node, times its weight.

    Nodes that the group does not reach are told by the sum of the table's shares over all nodes.
    """
    at, links, nodes, shift = rules.starts[g], rules.links[g], rules.nodes[g], rules.shifts[g]
    below = room.below
    for p in range(size):
        node = rules.tree[links + nodes + (values[p] >> shift)]
        amount = room.weights[p] if shift > 0 else 1.0
        while node >= 0:
            below[node] += amount
            node = rules.tree[links + node]
    twice = rules.table[at + 2 * nodes]
    for p in range(size):
        node = rules.tree[links + nodes + (values[p] >> shift)]
        while node >= 0 and below[node] > 0.0:
            whole = rules.table[at + nodes + node]
            twice += rules.table[at + node] * (abs(below[node] / total - whole) - whole)
            below[node] = 0.0
            node = rules.tree[links + node]
    return 0.5 * twice


@lent
def _likeness(values, size, total, rules, g, weights):  # type: ignore[no-untyped-def]
    """What compares the shares of single values with those in the table: EQUAL, DELTA, BETA and ENHANCED."""
    rule, at, beta, shift = rules.kinds[g], rules.starts[g], rules.extras[g], rules.shifts[g]
    found, p, kinds = 0.0, 0, 0
    while p < size:
        value = values[p] >> shift
        p, amount = _run(values, p, size, shift, weights)
        kinds += 1
        share, whole = amount / total, rules.table[at + value]
        if rule == EQUAL:
            found += max(0.0, share - whole)
        elif rule == DELTA:
            found = max(found, abs(np.log(share / whole)))
        elif share > whole:
            gain = (share - whole) / whole
            found = max(found, gain if rule == BETA else gain / min(beta, -np.log(whole)))
    return np.inf if rule == DELTA and kinds < rules.values[g] else found


@lent
def _diversity(values, first, size, known, rules, g, room):  # type: ignore[no-untyped-def]
    """What looks at the known values of a group alone: DISTINCT, ENTROPY, RECURSIVE and ALPHA."""
    rule, shift, counts = rules.kinds[g], rules.shifts[g], room.counts
    if rule == DISTINCT:
        return _different(values, first, size, shift, room.seen)
    runs, p, entropy, most = 0, first, 0.0, 0.0
    while p < size:
        p, amount = _run(values, p, size, shift, room.weights)
        counts[runs] = amount
        runs += 1
        most = max(most, amount)
        if rule == ENTROPY:
            entropy -= amount / known * np.log(amount / known)
    if rule == ENTROPY:
        return np.exp(entropy) if runs > 0 else 0.0
    if rule == ALPHA:
        return most / known if known > 0 else 0.0
    return _tail_ratio(counts, runs, np.int64(rules.extras[g])) if runs > 0 else np.inf


@lent
def measure(rules, g, values, size, room):  # type: ignore[no-untyped-def]
    """What a group has of demand g, given its sorted values."""
    rule, first, shift = rules.kinds[g], 0, rules.shifts[g]
    if rule <= ALPHA or rule == LINE:
        while first < size and values[first] < 0:
            first += 1
    total, known = _weigh(values, first, size, shift, room)
    if rule == SIZE:
        return total
    if rule <= ALPHA:
        return _diversity(values, first, size, known, rules, g, room)
    if rule == TREE:
        return _tree(values, size, total, rules, g, room)
    if rule != LINE:
        return _likeness(values, size, total, rules, g, room.weights)
    at, V = rules.starts[g], rules.values[g]
    whole, own = rules.table[at + 4 * V], (total - known) / total
    apart = abs(whole - own)
    if first < size and whole < 1.0:
        apart += (1.0 - max(whole, own)) * _line(values, first, size, known, shift, rules.table, at, V, room.weights)
    return apart


@lent
def holds(rules, g, values, size, room):  # type: ignore[no-untyped-def]
    """Whether a group with these sorted values satisfies demand g."""
    found = measure(rules, g, values, size, room)
    return found >= rules.limits[g] if rules.kinds[g] < RISING else found <= rules.limits[g]


@lent
def gap(rules, g, values, size, room):  # type: ignore[no-untyped-def]
    """By how much a group with these sorted values misses demand g, as a part of it, at most WIDEST; 0 if it holds."""
    found, limit = measure(rules, g, values, size, room), rules.limits[g]
    if rules.kinds[g] < RISING:
        return 0.0 if found >= limit else min(WIDEST, limit / found - 1.0 if found > 0 else WIDEST)
    return 0.0 if found <= limit else min(WIDEST, found / limit - 1.0 if limit > 0 else WIDEST * found)


@lent
def members_hold(rules, members, size, values, room):  # type: ignore[no-untyped-def]
    """Whether a group of the first `size` members satisfies all demands; `values` is room for theirs."""
    for g in range(rules.kinds.shape[0]):
        gather_values(rules.codes[g], members, size, values)
        if not holds(rules, g, values, size, room):
            return False
    return True


@lent
def values_of(rules, members, size, values, sums):  # type: ignore[no-untyped-def]
    """Fill int64[g, w] with the sorted values of a group, and float64[g, 2] with sums that `_too_far` asks for."""
    for g in range(rules.kinds.shape[0]):
        gather_values(rules.codes[g], members, size, values[g])
        sums[g, 0], sums[g, 1] = 0.0, 0.0
        if rules.kinds[g] == LINE and rules.shifts[g] == 0:
            at, V = rules.starts[g], rules.values[g]
            for p in range(size):
                if values[g, p] >= 0:
                    sums[g, 0] += rules.table[at + values[g, p]]
                    sums[g, 1] += rules.table[at + 3 * V + values[g, p]]


@lent
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


@lent
def change_holds(rules, values, sums, size, gone, came, trial, room):  # type: ignore[no-untyped-def]
    """Whether a group still satisfies all demands after record `gone` left and `came` entered (-1: nobody).

    `values` and `sums` are those of `values_of`, `trial` is room.
    """
    for g in range(rules.kinds.shape[0]):
        out = rules.codes[g, gone] if gone >= 0 else NOBODY
        into = rules.codes[g, came] if came >= 0 else NOBODY
        if out == into:
            continue
        if rules.kinds[g] == LINE and rules.shifts[g] == 0 and _too_far(rules, g, sums, size, out, into):
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
