"""Iterated local search over partitions: kicks free a few neighbouring groups, and a climb repairs what they leave."""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import inlined, kernel, lent
from shoal.kernels.moves import MOST_TAKERS, climb, enter
from shoal.kernels.search_state import (
    BEST,
    CLOCK,
    EPSILON,
    MET,
    NOW,
    SAVED,
    SINCE,
    ZERO,
    draw,
    keep,
    push_number,
    save,
    settle,
    square_apart,
    take_number,
    undo,
)

# Most groups that a kick frees.
MOST_FREED = 5


@lent
def _free_groups(s, wanted, chosen, reach):  # type: ignore[no-untyped-def]
    """Choose groups next to each other, from a random record on; return how many."""
    n = s.X.shape[0]
    s.counts[CLOCK] += 1
    now = s.counts[CLOCK]
    i = int(draw(s.random) * n)
    j = int(draw(s.random) * n)
    if s.squares[j] > s.squares[i]:
        i = j
    first = s.labels[i]
    s.marks[first] = now
    chosen[0] = first
    count, tries = 1, 0
    while count < wanted and tries < 8 * wanted:
        tries += 1
        g = chosen[int(draw(s.random) * count)]
        i = s.members[g, int(draw(s.random) * s.sizes[g])]
        j = s.near[i, int(draw(s.random) * reach)]
        if j >= 0 and s.marks[s.labels[j]] != now:
            s.marks[s.labels[j]] = now
            chosen[count] = s.labels[j]
            count += 1
    return count


@lent
def _regroup(s, chosen, count, k, pool, mean):  # type: ignore[no-untyped-def]
    """Pool the records of some groups and build groups of them anew, greedily and with noise."""
    d = s.X.shape[1]
    left = 0
    for t in range(count):
        for p in range(s.sizes[chosen[t]]):
            pool[left] = s.members[chosen[t], p]
            left += 1
    chance = draw(s.random)
    wanted = count - (chance < 0.15) + (chance > 0.85)
    wanted = min(max(wanted, (left + 2 * k - 2) // (2 * k - 1)), left // k)
    for t in range(count):
        save(s, chosen[t])
        push_number(s, chosen[t])
    extreme = draw(s.random) < 0.5
    for t in range(wanted):
        g = take_number(s)
        chosen[t] = g
        at = int(draw(s.random) * left)
        if extreme:
            for j in range(d):
                mean[0, j] = 0.0
            for p in range(left):
                for j in range(d):
                    mean[0, j] += s.X[pool[p], j]
            for j in range(d):
                mean[0, j] /= left
            furthest = -1.0
            for p in range(left):
                square = square_apart(s.X, pool[p], mean, ZERO) * (0.7 + 0.6 * draw(s.random))
                if square > furthest:
                    furthest, at = square, p
        for j in range(d):
            mean[0, j] = 0.0
        s.sizes[g] = 0
        for m in range(k):
            if m > 0:
                nearest = np.inf
                for p in range(left):
                    square = square_apart(s.X, pool[p], mean, ZERO) * (0.8 + 0.4 * draw(s.random))
                    if square < nearest:
                        nearest, at = square, p
            i = pool[at]
            left -= 1
            pool[at] = pool[left]
            enter(s, g, i)
            for j in range(d):
                mean[0, j] += (s.X[i, j] - mean[0, j]) / (m + 1)
        for j in range(d):
            s.means[g, j] = mean[0, j]
    _place_rest(s, chosen, wanted, k, pool, left)
    for t in range(wanted):
        settle(s, chosen[t])


@inlined
def _place_rest(s, chosen, count, k, pool, left):  # type: ignore[no-untyped-def]
    """Give each record left in the pool to the group where it costs least and that has room."""
    for p in range(left):
        i = pool[p]
        least, target = np.inf, np.int64(-1)
        for t in range(count):
            g = chosen[t]
            if s.sizes[g] < 2 * k - 1:
                change = square_apart(s.X, i, s.means, g) * s.sizes[g] / (s.sizes[g] + 1.0)
                if change < least:
                    least, target = change, g
        enter(s, target, i)
        for j in range(s.X.shape[1]):
            s.means[target, j] += (s.X[i, j] - s.means[target, j]) / s.sizes[target]


@lent
def _rotate(s, chosen, count):  # type: ignore[no-untyped-def]
    """Pass a random record of each group on to the next."""
    first = chosen[0]
    save(s, first)
    at = int(draw(s.random) * s.sizes[first])
    hand = s.members[first, at]
    for t in range(1, count):
        g = chosen[t]
        save(s, g)
        p = int(draw(s.random) * s.sizes[g])
        hand, s.members[g, p] = s.members[g, p], hand
    s.members[first, at] = hand
    for t in range(count):
        settle(s, chosen[t])


@lent
def _remember(s):  # type: ignore[no-untyped-def]
    """Put the groups that this kick made into the pool, as long as there is room."""
    mask = np.uint64(s.slots.shape[0] - 1)
    for at in range(s.counts[SAVED]):
        g = s.saved_ids[at]
        if s.sizes[g] == 0 or s.counts[MET] == s.pool.shape[0]:
            continue
        key = s.codes[g]
        slot = np.int64(key & mask)
        while s.slots[slot] >= 0 and s.pool_keys[s.slots[slot]] != key:
            slot = np.int64(np.uint64(slot + 1) & mask)
        if s.slots[slot] < 0:
            new = s.counts[MET]
            s.slots[slot] = new
            s.pool_keys[new], s.pool_sizes[new], s.pool_costs[new] = key, s.sizes[g], s.costs[g]
            for p in range(s.sizes[g]):
                s.pool[new, p] = s.members[g, p]
            s.counts[MET] += 1


@lent
def _touch(s):  # type: ignore[no-untyped-def]
    """Note whose labels the step that is about to be kept may have changed; too many stand for all."""
    count, n = s.counts[SINCE], s.X.shape[0]
    for at in range(s.counts[SAVED]):
        g = s.saved_ids[at]
        for p in range(s.sizes[g]):
            if count < n:
                s.since[count] = s.members[g, p]
            count += 1
    s.counts[SINCE] = count


@lent
def _note_best(s):  # type: ignore[no-untyped-def]
    """Take the present partition for the best, at the cost of what was touched since the last one."""
    s.totals[BEST] = s.totals[NOW]
    if s.counts[SINCE] > s.X.shape[0]:
        for i in range(s.X.shape[0]):
            s.best[i] = s.labels[i]
    else:
        for t in range(s.counts[SINCE]):
            s.best[s.since[t]] = s.labels[s.since[t]]
    s.counts[SINCE] = 0


@kernel
def search(s, k, steps, heat, cooling, margin, reach):  # type: ignore[no-untyped-def]
    """Climb from the groups on the stack, then make `steps` kicks, each followed by a climb and kept or undone.

    Parameters
    ----------
    s : State
    k : int
    steps : int
    heat, cooling : float
        A step that loses x is kept with probability exp(-x / t); t is `heat` at first and falls by `cooling` a step.
    margin : float
        Groups of partitions that lose at most so much against the best go into the pool.
    reach : int
        How many neighbours of a record are looked at.

    Returns
    -------
    int
        How many steps were kept.
    """
    d = s.X.shape[1]
    found = np.empty(s.sizes.shape[0], np.int64)
    scratch = (
        np.empty(d),
        np.empty(2 * k),
        np.empty(2 * k),
        np.empty(MOST_TAKERS, np.int64),
        np.empty((MOST_TAKERS, d)),
    )
    order, along = np.empty(2 * k, np.int64), np.empty(2 * k)
    chosen = np.empty(MOST_FREED + 2, np.int64)
    pool, mean = np.empty((MOST_FREED + 1) * 2 * k, np.int64), np.empty((1, d))
    kept = 0
    # Before the first kick, the groups that are given climb.
    for step in range(-1, steps):
        before = s.totals[NOW]
        if step >= 0:
            rotation = draw(s.random) < 0.3
            wanted = 2 + int(draw(s.random) * (MOST_FREED - 1))
            count = _free_groups(s, max(wanted, 3) if rotation else wanted, chosen, reach)
            if count < 2:
                continue
            if rotation:
                _rotate(s, chosen, count)
            else:
                _regroup(s, chosen, count, k, pool, mean)
        climb(s, k, found, scratch, order, along, reach)
        lost = s.totals[NOW] - before
        t = heat - cooling * step
        if step < 0 or lost <= 0.0 or (t > 0.0 and draw(s.random) < np.exp(-lost / t)):
            if step >= 0 and s.totals[NOW] <= s.totals[BEST] + margin:
                _remember(s)
            _touch(s)
            keep(s)
            kept += step >= 0
            if s.totals[NOW] < s.totals[BEST] - (s.totals[EPSILON] if step >= 0 else 0.0):
                _note_best(s)
        else:
            undo(s)
            s.totals[NOW] = before
    return kept
