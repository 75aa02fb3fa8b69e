"""Groups that grow around the records furthest out and look after demands on sensitive values while they do.

SWAPPING takes the nearest records and then swaps in records further away as long as that brings the group nearer to the
demands (the k-first way of Soria-Comas et al. 2015). ADDING takes the nearest record, the nearest one with a new value
when there is no place left for others, or more than k records where that costs less.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.growth import mean_present
from shoal.kernels.index import PRESENT, take_out
from shoal.kernels.jit import inlined, inner, kernel, lent
from shoal.kernels.rules import ALPHA, DISTINCT, ENTROPY, NOBODY, RECURSIVE, changed, gap, gather_values
from shoal.kernels.search import furthest, into_order, search_near
from shoal.kernels.sums import square_distance

SWAPPING, ADDING = 0, 1
# Records around a seed that are looked at: first, and at most.
FEW, MANY = 4, 64


@lent
def _misses(rules, members, size, trial, room):  # type: ignore[no-untyped-def]
    """By how much a group misses its demands, all together."""
    total = 0.0
    for g in range(rules.kinds.shape[0]):
        gather_values(rules.codes[g], members, size, trial)
        total += gap(rules, g, trial, size, room)
    return total


@lent
def _needs(rules, g):  # type: ignore[no-untyped-def]
    """How many different values a group must have at least for demand g; 0 if none follows from it."""
    rule, limit = rules.kinds[g], rules.limits[g]
    if rule == DISTINCT or rule == ENTROPY:
        return np.int64(np.ceil(limit - 1e-6))
    if rule == RECURSIVE:
        return np.int64(rules.extras[g])
    return np.int64(np.ceil(1.0 / limit - 1e-6)) if rule == ALPHA and limit > 0 else np.int64(0)


@lent
def _is_new(rules, g, members, size, i):  # type: ignore[no-untyped-def]
    """Whether record i has a known value of demand g that no member has."""
    value = rules.codes[g, i] >> rules.shifts[g]
    for p in range(size):
        if rules.codes[g, members[p]] >> rules.shifts[g] == value:
            return False
    return value >= 0


@lent
def _swap_in(rules, ids, count, k, members, values, trial, room):  # type: ignore[no-untyped-def]
    """Choose k of the records `ids`, nearest first; the first one stays. Return k and what is missed."""
    for p in range(k):
        members[p] = ids[p]
    missed = _misses(rules, members, k, trial, room)
    for p in range(k, count):
        if missed == 0.0:
            break
        for g in range(rules.kinds.shape[0]):
            gather_values(rules.codes[g], members, k, values[g])
        least, place = missed, 0
        for q in range(1, k):
            total = 0.0
            for g in range(rules.kinds.shape[0]):
                came, gone = rules.codes[g, ids[p]], rules.codes[g, members[q]]
                if came == gone:
                    total += gap(rules, g, values[g], k, room)
                else:
                    changed(values[g], k, gone, came, trial)
                    total += gap(rules, g, trial, k, room)
            if total < least:
                least, place = total, q
        if place > 0:
            missed = least
            members[place] = ids[p]
    return k, missed


@lent
def _add(rules, ids, count, k, early, members, used, trial, room):  # type: ignore[no-untyped-def]
    """Choose k of the records `ids`, nearest first, or some more; return their number and what is missed.

    `early` says whether the k records are to bring the values that are needed, instead of those that come after them.
    """
    for p in range(count):
        used[p] = False
    members[0], used[0], size, start = ids[0], True, 1, 1
    while size < k:
        # Who still must bring new values, and for which demand.
        most, lacking = 0, -1
        for g in range(rules.kinds.shape[0]):
            wanted = _needs(rules, g)
            if wanted > 0:
                for p in range(size):
                    wanted -= _is_new(rules, g, members, p, members[p])
                if wanted > most:
                    most, lacking = wanted, g
        pick = -1
        for p in range(start, count):
            if not used[p]:
                if pick < 0:
                    pick = p
                if not early or lacking < 0 or most < k - size or _is_new(rules, lacking, members, size, ids[p]):
                    pick = p
                    break
        used[pick] = True
        members[size] = ids[pick]
        size += 1
        while start < count and used[start]:
            start += 1
    missed = _misses(rules, members, size, trial, room)
    for p in range(start, count):
        if missed == 0.0 or size + 1 >= members.shape[0]:
            break
        if not used[p]:
            members[size] = ids[p]
            less = _misses(rules, members, size + 1, trial, room)
            if less < missed:
                missed = less
                size += 1
    return size, missed


@inner
def _add_cheaply(X, rules, ids, count, k, members, used, trial, room):  # type: ignore[no-untyped-def]
    """Do as `_add` does, early or late, whichever costs less for each record."""
    size, missed, least = np.int64(0), np.inf, np.inf
    kept = np.empty(members.shape[0], np.int64)
    for turn in range(2):
        own, left = _add(rules, ids, count, k, turn == 0, members, used, trial, room)
        cost = 0.0
        for p in range(own):
            for q in range(p):
                cost += square_distance(X, members[p], X[members[q]])
        cost /= own * own
        if left < missed or (left == missed and cost < least):
            size, missed, least = own, left, cost
            for p in range(own):
                kept[p] = members[p]
    for p in range(size):
        members[p] = kept[p]
    return size, missed


@lent
def _scarce(rules, left, remaining):  # type: ignore[no-untyped-def]
    """The most frequent value left of the first demand, if groups must take of it lest too many are left; else NOBODY.

    So many groups are still to come as the value can be spread over, if each needs l different ones.
    """
    wanted, value = _needs(rules, 0), 0
    if wanted < 2:
        return np.int64(NOBODY)
    for v in range(left.shape[0]):
        if left[v] > left[value]:
            value = v
    return np.int64(value) if left[value] * wanted >= remaining else np.int64(NOBODY)


@inlined
def _choose(X, rules, ids, count, value, k, way, members, values, trial, used, room):  # type: ignore[no-untyped-def]
    """Choose `members` among the records `ids`, nearest to the first one first; return their number and what is missed.

    The nearest one with `value` (NOBODY: none) is preferred. If something is missed, they are the first k of `ids`.
    """
    if value != NOBODY and rules.codes[0, ids[0]] >> rules.shifts[0] != value:
        for p in range(1, count):
            if rules.codes[0, ids[p]] >> rules.shifts[0] == value:
                i = ids[p]
                for q in range(p, 1, -1):
                    ids[q] = ids[q - 1]
                ids[1] = i
                break
    if way == SWAPPING:
        size, missed = _swap_in(rules, ids, count, k, members, values, trial, room)
    else:
        size, missed = _add_cheaply(X, rules, ids, count, k, members, used, trial, room)
    if missed > 0.0:
        size = k  # repaired later
        for p in range(k):
            members[p] = ids[p]
    return size, missed


@kernel
def choose_members(X, rules, ids, left, remaining, k, way, room):  # type: ignore[no-untyped-def]
    """Return a group around the first of `ids`, which are in order of their distance to it, and what it misses.

    Parameters
    ----------
    X : float64[n, d]
    rules : Rules
    ids : int64[m]
        Overwritten.
    left : int64[v]
        How many unassigned records have each value of the first demand.
    remaining, k, way : int
        How many records are unassigned in all; the least size of a group; see above.
    room : Desk
    """
    count = ids.shape[0]
    members, trial = np.empty(count + 1, np.int64), np.empty(count + 2, np.int64)
    values, used = np.empty((rules.kinds.shape[0], count + 1), np.int64), np.empty(count, np.bool_)
    value = _scarce(rules, left, remaining)
    size, missed = _choose(X, rules, ids, count, value, k, way, members, values, trial, used, room)
    return members[:size], missed


@kernel
def grow_under_rules(points, rules, labels, groups, left, k, way, steps, room):  # type: ignore[no-untyped-def]
    """Grow groups while at least 2k records are left, at most `steps`; return how many groups there are.

    Parameters
    ----------
    points : Points
        The unassigned records, with their mean.
    rules : Rules
    labels : int64[n]
        Filled.
    groups : int
        How many there are already.
    left : int64[v]
        How many unassigned records have each value of the first demand.
    k, way, steps : int
    room : Desk
    """
    n, d = points.X.shape
    mean, opposite, seed = np.empty(d), False, np.int64(-1)
    widest = min(n, MANY * k + 64)
    dist, ids, members = np.empty(widest), np.empty(widest, np.int64), np.empty(widest + 1, np.int64)
    values, trial = np.empty((rules.kinds.shape[0], widest + 1), np.int64), np.empty(widest + 2, np.int64)
    used = np.empty(widest, np.bool_)
    nobody = np.int64(-1)
    while points.state[PRESENT] >= 2 * k and steps > 0:
        steps -= 1
        if opposite:
            seed = furthest(points, points.X[seed])[0]
        else:
            mean_present(points, mean)
            seed = furthest(points, mean)[0]
        opposite = not opposite
        value = _scarce(rules, left, points.state[PRESENT])
        m = min(points.state[PRESENT], FEW * k + 16)
        while True:
            count = search_near(points, points.X[seed], m, seed, nobody, nobody, dist[1:], ids[1:], np.int64(0)) + 1
            into_order(dist[1:], ids[1:], count - 1)
            count = min(count, m)
            ids[0] = seed
            size, missed = _choose(points.X, rules, ids, count, value, k, way, members, values, trial, used, room)
            if missed == 0.0 or m >= min(points.state[PRESENT], widest - 1):
                break
            m = min(4 * m, points.state[PRESENT], widest - 1)
        for p in range(size):
            i = members[p]
            take_out(points, i)
            labels[i] = groups
            if rules.codes[0, i] >= 0:
                left[rules.codes[0, i] >> rules.shifts[0]] -= 1
        groups += 1
    return groups
