"""Rounds that improve a partition: dissolving groups and moving records to the nearest mean."""

from __future__ import annotations

import numpy as np

from shoal.kernels.groups import cost_within
from shoal.kernels.index import PRESENT, take_out
from shoal.kernels.jit import inlined, kernel, lent
from shoal.kernels.nearest_means import look_around
from shoal.kernels.partition import cost, link, list_rows, refresh, rows_of, settle, unlink
from shoal.kernels.search import nearest_one
from shoal.kernels.sums import square_distance


@lent
def still_useless(parts, group):  # type: ignore[no-untyped-def]
    """Whether nothing that matters has changed since dissolving or moving was last found useless.

    The nearest other groups of all records of the group are up to date afterwards.
    """
    then = parts.checked[group]
    useless = then >= 0 and parts.changed[group] <= then
    useless = look_around(parts, group) and useless
    row = parts.heads[group]
    while row >= 0 and useless:
        useless = parts.changed[parts.targets[row]] <= then
        row = parts.nexts[row]
    return useless


@lent
def surely_useless(parts, group, rows):  # type: ignore[no-untyped-def]
    """Whether dissolving a group would raise the squared error by more than rounding could hide.

    Records S that join a group of m records with mean c raise its squared error by sum |x - c|^2 - |sum (x - c)|^2 /
    (m + |S|). A mean is rounded by 2^-53 |c| or so, which squared is all there is among records that are nearly equal.
    """
    X, targets, means = parts.X, parts.targets, parts.centres.X
    d, m = X.shape[1], rows.shape[0]
    rise = 0.0
    for p in range(m):
        rise += parts.distances[rows[p]]
    saved = 0.0
    step = parts.mean
    for p in range(m):
        target = targets[rows[p]]
        first, joining = True, 0
        for o in range(p):
            first = first and targets[rows[o]] != target
        if not first:
            continue
        for j in range(d):
            step[j] = 0.0
        for o in range(p, m):
            if targets[rows[o]] == target:
                joining += 1
                for j in range(d):
                    step[j] += X[rows[o], j] - means[target, j]
        square = 0.0
        for j in range(d):
            square += step[j] * step[j]
        saved += square / (parts.sizes[target] + joining)
    kept = cost(parts, group)
    room = 1e-9 * (kept + rise)
    for row in rows:
        target, square = targets[row], 0.0
        for j in range(d):
            square += max(X[row, j] * X[row, j], means[target, j] * means[target, j])
        room += 1e-12 * cost(parts, target) + 1e-29 * (parts.sizes[target] + m) * square
    return rise - saved - kept > room


@lent
def who_takes(parts, group, rows):  # type: ignore[no-untyped-def]
    """Write the different nearest other groups of the records `rows` of a group to `takers`, in ascending order.

    Return how many there are, or 0 if giving them the records would not lower the squared error. The nearest groups
    must be up to date.
    """
    if surely_useless(parts, group, rows):
        return 0
    targets, takers, members, count = parts.targets, parts.takers, parts.members, 0
    for row in rows:
        at = count
        while at > 0 and takers[at - 1] > targets[row]:
            at -= 1
        if at == 0 or takers[at - 1] < targets[row]:
            for o in range(count, at, -1):
                takers[o] = takers[o - 1]
            takers[at] = targets[row]
            count += 1
    kept, kept_rest = add_term(0.0, 0.0, cost(parts, group))
    new, new_rest = 0.0, 0.0
    for t in range(count):
        kept, kept_rest = add_term(kept, kept_rest, cost(parts, takers[t]))
        size = list_rows(parts, takers[t], members)
        for row in rows:
            if targets[row] == takers[t]:
                members[size] = row
                size += 1
        new, new_rest = add_term(new, new_rest, cost_within(parts.X, members[:size], parts.total, parts.mean))
    return count if kept + kept_rest > new + new_rest else 0


@inlined
def give_away(parts, group, k):  # type: ignore[no-untyped-def]
    """Give the records of a group to the nearest means if that lowers the squared error.

    What grew large is split, unless k is 0. The nearest groups must be up to date.
    """
    rows = parts.rows[: list_rows(parts, group, parts.rows)]
    count = who_takes(parts, group, rows)
    if count == 0:
        parts.checked[group] = parts.clock[0]
        return
    for row in rows:
        target = parts.targets[row]  # a record that leaves its group takes note of that as another one nearby
        unlink(parts, row)
        link(parts, row, target)
    parts.heads[group] = -1
    refresh(parts, group)
    for t in range(count):
        settle(parts, parts.takers[t], k)


@lent
def dissolve(parts, group, k):  # type: ignore[no-untyped-def]
    """Give the records of a group to the nearest means if that lowers the squared error; split what grew large.

    Nothing is split if k is 0.
    """
    if parts.centres.state[PRESENT] > 1 and not still_useless(parts, group):
        give_away(parts, group, k)


@lent
def add_term(high, low, x):  # type: ignore[no-untyped-def]
    """(high, low) of a sum, and of what was rounded off, with one more term."""
    total = high + x
    part = total - high
    return total, low + ((high - (total - part)) + (x - part))


@lent
def exact_sum(gains, kept):  # type: ignore[no-untyped-def]
    """Sum of what keeping costs (first and odd places) or dissolving costs (even places), rounded once."""
    high, low = 0.0, 0.0
    for p in range(gains.shape[0]):
        if (p == 0 or p % 2 == 1) == kept:
            high, low = add_term(high, low, gains[p])
    return high + low


@inlined
def best_move(parts, group):  # type: ignore[no-untyped-def]
    """(gain, row, target) of the move out of a group that lowers the squared error most; the lowest row on ties.

    The nearest other groups of its records must be up to date.
    """
    m = parts.sizes[group]
    gain, best, target = -np.inf, -1, -1
    row = parts.heads[group]
    while row >= 0:
        to = parts.targets[row]
        size = parts.sizes[to]
        removed = (m / (m - 1)) * square_distance(parts.X, row, parts.centres.X[group])
        added = (size / (size + 1)) * parts.distances[row]
        if removed - added > gain:
            gain, best, target = removed - added, row, to
        row = parts.nexts[row]
    return gain, best, target


@lent
def reassign(parts, group, k, split):  # type: ignore[no-untyped-def]
    """While a group has more than k records: make the best move out of it; split what grew large, if asked."""
    while parts.sizes[group] > k and parts.centres.state[PRESENT] > 1:
        if still_useless(parts, group):
            return
        gain, row, target = best_move(parts, group)
        if not gain > 0:
            parts.checked[group] = parts.clock[0]
            return
        unlink(parts, row)
        link(parts, row, target)
        refresh(parts, group)
        settle(parts, target, k if split else 0)


@kernel
def dissolve_phase(parts, start, stop, k):  # type: ignore[no-untyped-def]
    """Try to dissolve the groups of k among start .. stop - 1; return where room for new groups ran out, or stop."""
    for group in range(start, stop):
        if parts.groups[0] + k > parts.sizes.shape[0]:
            return group
        if parts.sizes[group] == k:
            dissolve(parts, group, k)
    return stop


@kernel
def reassign_phase(parts, start, stop, k, split):  # type: ignore[no-untyped-def]
    """Reassign from the groups start .. stop - 1, and from those made meanwhile if stop < 0; return as above."""
    group = start
    while group < (stop if stop >= 0 else parts.groups[0]):
        if parts.groups[0] + k > parts.sizes.shape[0]:
            return group
        if parts.sizes[group] > k:
            reassign(parts, group, k, split)
        group += 1
    return group


@kernel
def decompose(parts):  # type: ignore[no-untyped-def]
    """Give each group, in order, to the nearest means if the sum of squared distances falls; means stay fixed."""
    for group in range(parts.groups[0]):
        if parts.centres.state[PRESENT] < 2:
            return
        rows = rows_of(parts, group)
        terms = np.empty(2 * rows.shape[0] + 1)
        terms[0] = 0.0
        targets = np.empty(rows.shape[0], np.int64)
        for p in range(rows.shape[0]):
            terms[1 + 2 * p] = square_distance(parts.X, rows[p], parts.centres.X[group])
            terms[2 + 2 * p], targets[p] = nearest_one(parts.centres, parts.X[rows[p]], group)
        if exact_sum(terms, False) < exact_sum(terms, True):
            for p in range(rows.shape[0]):
                unlink(parts, rows[p])
                link(parts, rows[p], targets[p])
            parts.heads[group] = -1
            take_out(parts.centres, group)


@kernel
def decompose_in_turn(parts):  # type: ignore[no-untyped-def]
    """Give each group, in order and record by record, to the nearest means, which move; keep what lowers the error."""
    for group in range(parts.groups[0]):
        if parts.centres.state[PRESENT] < 2:
            return
        rows = rows_of(parts, group)
        m = rows.shape[0]
        targets, first = np.empty(m, np.int64), np.ones(m, np.bool_)
        gains = np.zeros(2 * m + 1)
        gains[0] = cost(parts, group)
        for p in range(m):
            targets[p] = nearest_one(parts.centres, parts.X[rows[p]], group)[1]
            for o in range(p):
                first[p] = first[p] and targets[o] != targets[p]
            if first[p]:
                gains[1 + 2 * p] = cost(parts, targets[p])
            unlink(parts, rows[p])
            link(parts, rows[p], targets[p])
            refresh(parts, targets[p])
        for p in range(m):
            if first[p]:
                gains[2 + 2 * p] = cost(parts, targets[p])
        if exact_sum(gains, False) < exact_sum(gains, True):
            refresh(parts, group)
            continue
        for p in range(m):
            unlink(parts, rows[p])
            link(parts, rows[p], group)
        for p in range(m):
            if first[p]:
                refresh(parts, targets[p])


@kernel
def ona_steps(parts, row, k):  # type: ignore[no-untyped-def]
    """Handle the records from `row` on as ONA does, until a group reaches 2k; return the next row.

    A record of a group of more than k goes to the nearest mean; a group of k is dissolved if that pays (T
    algorithm 14).
    """
    n = parts.X.shape[0]
    while row < n:
        group = parts.labels[row]
        parts.largest[0] = 0
        if parts.sizes[group] > k:
            unlink(parts, row)
            refresh(parts, group)
            target = nearest_one(parts.centres, parts.X[row], np.int64(-1))[1]
            link(parts, row, target)
            refresh(parts, target)
        else:
            dissolve(parts, group, np.int64(0))
        row += 1
        if parts.largest[0] >= 2 * k:
            return row
    return row


@kernel
def merge_small(parts, k):  # type: ignore[no-untyped-def]
    """Passes over the groups: one of fewer than k records takes in the group of the nearest mean."""
    small = True
    while small:
        small = False
        for group in range(parts.groups[0]):
            if 0 < parts.sizes[group] < k:
                other = nearest_one(parts.centres, parts.centres.X[group], group)[1]
                for row in rows_of(parts, other):
                    unlink(parts, row)
                    link(parts, row, group)
                parts.heads[other] = -1
                refresh(parts, other)
                refresh(parts, group)
        for group in range(parts.groups[0]):
            small = small or 0 < parts.sizes[group] < k
