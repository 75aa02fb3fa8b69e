"""Rounds that improve a partition: dissolving groups and moving records to the nearest mean.

The nearest mean of a record is searched once and then kept: as long as that group has not moved away, only groups
that changed since can be nearer. Every node of the tree of means knows when one last came to it, so that a later
search looks only where something is new, and no further than the mean that is known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.groups import cost_of, mean_of
from shoal.kernels.index import CLOCK, LEAF, PRESENT, Points, put, take_out
from shoal.kernels.jit import inlined, inner, kernel
from shoal.kernels.search import after, aim, measure_block, nearest_one, search_near, threshold
from shoal.kernels.star import star
from shoal.kernels.sums import square_distance

Array = np.ndarray[Any, Any]

UNSURE, NEVER = -1, -2


class Partition(NamedTuple):
    """A partition under work. Groups are visited, and ties are settled, in the order of their numbers.

    Attributes
    ----------
    X : float64[n, d]
    labels : int64[n]
        Group of each record.
    heads : int64[g]
        First (lowest) row of each group, -1 if it is gone.
    nexts : int64[n]
        The next higher row of the same group, -1 at the end.
    sizes : int64[g]
        0 if a group is gone.
    costs : float64[g]
        Squared error of each group, NaN if it is to be computed.
    centres : Points
        The means.
    groups : int64[1]
        How many group numbers are in use.
    targets, distances : int64[n], float64[n]
        The nearest other group of each record, as it was at `seen`.
    seen : int64[n]
        The time of that search; UNSURE if the target is only some other group that is near, NEVER if there is none.
    changed : int64[g]
        The time of the last change of each group.
    checked : int64[g]
        The time at which dissolving a group, or moving a record out of it, was last found useless, -1 for never.
    clock : int64[1]
        The number of changes so far.
    largest : int64[1]
        The largest size that a group has reached by a move.
    log : float32[b, d, LEAF]
        Screening coordinates of the groups that changed last, each at its time modulo b * LEAF.
    authors : int64[b * LEAF]
        Whose they are.
    logged : int64[1]
        The time from which on they are there.
    """

    X: Array
    labels: Array
    heads: Array
    nexts: Array
    sizes: Array
    costs: Array
    centres: Points
    groups: Array
    targets: Array
    distances: Array
    seen: Array
    changed: Array
    checked: Array
    clock: Array
    largest: Array
    log: Array
    authors: Array
    logged: Array


@kernel
def rows_of(parts, group):  # type: ignore[no-untyped-def]
    """The rows of a group, ascending."""
    rows = np.empty(parts.sizes[group], np.int64)
    row = parts.heads[group]
    for p in range(rows.shape[0]):
        rows[p] = row
        row = parts.nexts[row]
    return rows


@inlined
def _link(parts, row, group):  # type: ignore[no-untyped-def]
    before, after = -1, parts.heads[group]
    while after >= 0 and after < row:
        before, after = after, parts.nexts[after]
    parts.nexts[row] = after
    if before < 0:
        parts.heads[group] = row
    else:
        parts.nexts[before] = row
    parts.labels[row] = group
    parts.sizes[group] += 1
    parts.largest[0] = max(parts.largest[0], parts.sizes[group])
    if parts.seen[row] >= 0:
        parts.seen[row] = UNSURE


@inlined
def _unlink(parts, row):  # type: ignore[no-untyped-def]
    group = parts.labels[row]
    if parts.seen[row] >= 0:
        # The group that a record leaves is near it, so that the next search need not go far.
        parts.targets[row], parts.seen[row] = group, UNSURE
    if parts.heads[group] == row:
        parts.heads[group] = parts.nexts[row]
    else:
        before = parts.heads[group]
        while parts.nexts[before] != row:
            before = parts.nexts[before]
        parts.nexts[before] = parts.nexts[row]
    parts.sizes[group] -= 1


@inner
def refresh(parts, group):  # type: ignore[no-untyped-def]
    """Take note that a group has changed."""
    parts.clock[0] += 1
    parts.changed[group] = parts.clock[0]
    parts.costs[group] = np.nan
    parts.centres.state[CLOCK] = parts.clock[0]
    if parts.centres.slots[group] >= 0:
        take_out(parts.centres, group)
    if parts.sizes[group] > 0:
        mean = mean_of(parts.X, rows_of(parts, group))
        for j in range(mean.shape[0]):
            parts.centres.X[group, j] = mean[j]
        put(parts.centres, group)
    # After `put`, the screening coordinates of the mean are at hand.
    at = parts.clock[0] % parts.authors.shape[0]
    for j in range(parts.log.shape[1]):
        parts.log[at // LEAF, j, at % LEAF] = parts.centres.near[j]
    parts.authors[at] = group


@inner
def cost(parts, group):  # type: ignore[no-untyped-def]
    """Squared error of a group."""
    if np.isnan(parts.costs[group]):
        parts.costs[group] = cost_of(parts.X, rows_of(parts, group))
    return parts.costs[group]


@inner
def nearest_other(parts, row):  # type: ignore[no-untyped-def]
    """The group other than its own whose mean is nearest to a record; its distance is left in `distances`."""
    known = recheck(parts, row)
    since = parts.seen[row]
    dist, ids = parts.distances[row : row + 1], parts.targets[row : row + 1]
    one, nobody = np.int64(1), np.int64(-1)
    parts.seen[row] = parts.clock[0]
    search_near(parts.centres, parts.X[row], one, parts.labels[row], nobody, max(since, nobody), dist, ids, known)
    return parts.targets[row]


@inner
def recheck(parts, row):  # type: ignore[no-untyped-def]
    """Measure the distance to the known target of a record if that moved; return 1 if there is one, 0 if not.

    If groups that have not changed may be nearer now, `seen` becomes UNSURE.
    """
    target, since = parts.targets[row], parts.seen[row]
    if since == NEVER or target == parts.labels[row] or parts.sizes[target] == 0:
        parts.seen[row] = NEVER
        return np.int64(0)
    if since == UNSURE or parts.changed[target] > since:
        before = parts.distances[row]
        parts.distances[row] = square_distance(parts.centres.X, target, parts.X[row])
        if parts.distances[row] > before:
            parts.seen[row] = UNSURE
    return np.int64(1)


@kernel
def seek(parts, rows):  # type: ignore[no-untyped-def]
    """Look for the nearest other groups of the records `rows`, where they are not up to date."""
    for row in rows:
        if parts.seen[row] < parts.clock[0]:
            before = parts.targets[row]
            if nearest_other(parts, row) != before:
                parts.checked[parts.labels[row]] = -1


@inlined
def split_large(parts, group, k):  # type: ignore[no-untyped-def]
    """Split a group of 2k records or more by MDAV*: the first piece takes its number, the others come last."""
    if parts.sizes[group] < 2 * k:
        refresh(parts, group)
        return
    rows = rows_of(parts, group)
    own = np.empty((rows.shape[0], parts.X.shape[1]))
    for p in range(rows.shape[0]):
        for j in range(parts.X.shape[1]):
            own[p, j] = parts.X[rows[p], j]
    labels, count = star(own, k, 1.0, False)
    spread(parts, group, rows, labels, count)


@kernel
def spread(parts, group, rows, labels, count):  # type: ignore[no-untyped-def]
    """Cut a group into `count` pieces: the first takes its number, the others come last."""
    first = parts.groups[0]
    parts.groups[0] += count - 1
    for p in range(rows.shape[0]):
        if labels[p] > 0:
            _unlink(parts, rows[p])
            _link(parts, rows[p], first + labels[p] - 1)
    refresh(parts, group)
    for new in range(first, parts.groups[0]):
        refresh(parts, new)


@inner
def look_around(parts, group):  # type: ignore[no-untyped-def]
    """Bring the nearest other groups of all records of a group up to date.

    If not too many groups have changed, records that know their targets are compared with those that changed.
    Return whether all were right already.
    """
    X, c, clock, since, reach = parts.X, parts.centres.X[group], parts.clock[0], parts.clock[0], 0.0
    right = True
    row = parts.heads[group]
    while row >= 0:
        if parts.seen[row] < clock:
            before = parts.targets[row]
            if recheck(parts, row) == 0 or parts.seen[row] < 0:
                right = nearest_other(parts, row) == before and right
            else:
                since = min(since, parts.seen[row])
                reach = max(reach, np.sqrt(square_distance(X, row, c)) + np.sqrt(parts.distances[row]))
        row = parts.nexts[row]
    if since == clock:
        return right
    if since >= max(parts.logged[0], clock - parts.authors.shape[0]):
        return compare_news(parts, group, since, reach) and right
    row = parts.heads[group]
    while row >= 0:
        if parts.seen[row] < clock:
            before = parts.targets[row]
            right = nearest_other(parts, row) == before and right
        row = parts.nexts[row]
    return right


@inner
def compare_news(parts, group, since, reach):  # type: ignore[no-untyped-def]
    """Compare what changed after `since` with the targets of the records of a group; return whether all stay.

    What is further than `reach` from the mean is not looked at.
    """
    X, centres, clock = parts.X, parts.centres, parts.clock[0]
    q, norm, blind = aim(centres, centres.X[group])
    limit = np.float32(np.inf)
    if not blind:
        limit = threshold(centres, reach * reach * (1 + 1e-9) + 2.0**-1000, norm)
    acc = centres.near[X.shape[1] + 1 : X.shape[1] + 1 + LEAF]
    right = True
    for b in range((since + 1) // LEAF, clock // LEAF + 1):
        measure_block(parts.log[b % parts.log.shape[0]], q, acc, limit)
        hits = 0
        for p in range(LEAF):
            hits += acc[p] <= limit
        for p in range(LEAF if hits > 0 else 0):
            time = b * LEAF + p
            if acc[p] > limit or time <= since or time > clock:
                continue
            i = parts.authors[time % parts.authors.shape[0]]
            if i == group or parts.changed[i] > time or parts.sizes[i] == 0:
                continue
            row = parts.heads[group]
            while row >= 0:
                if parts.seen[row] < clock:
                    square = square_distance(centres.X, i, X[row])
                    if after(parts.distances[row], parts.targets[row], square, i):
                        parts.distances[row], parts.targets[row], right = square, i, False
                row = parts.nexts[row]
    row = parts.heads[group]
    while row >= 0:
        parts.seen[row] = clock
        row = parts.nexts[row]
    return right


@inner
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


@inner
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
    step = np.empty(d)
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


@inlined
def dissolve(parts, group, k, split):  # type: ignore[no-untyped-def]
    """Give the records of a group to the nearest means if that lowers the squared error.

    What grew large is split, if asked.
    """
    if parts.centres.state[PRESENT] < 2 or still_useless(parts, group):
        return
    rows = rows_of(parts, group)
    m = rows.shape[0]
    targets, distinct, count = np.empty(m, np.int64), np.empty(m, np.int64), 0
    for p in range(m):
        targets[p] = parts.targets[rows[p]]
    if surely_useless(parts, group, rows):
        parts.checked[group] = parts.clock[0]
        return
    for p in range(m):  # the different ones in ascending order
        at = count
        while at > 0 and distinct[at - 1] > targets[p]:
            at -= 1
        if at == 0 or distinct[at - 1] < targets[p]:
            for o in range(count, at, -1):
                distinct[o] = distinct[o - 1]
            distinct[at] = targets[p]
            count += 1
    gains = np.empty(2 * count + 1)
    gains[0] = cost(parts, group)
    for t in range(count):
        old = rows_of(parts, distinct[t])
        size = old.shape[0]
        joined = np.empty(size + m, np.int64)
        for p in range(size):
            joined[p] = old[p]
        for p in range(m):
            if targets[p] == distinct[t]:
                joined[size] = rows[p]
                size += 1
        gains[1 + 2 * t] = cost(parts, distinct[t])
        gains[2 + 2 * t] = cost_of(parts.X, joined[:size])
    if not exact_sum(gains, True) > exact_sum(gains, False):
        parts.checked[group] = parts.clock[0]
        return
    for p in range(m):
        _unlink(parts, rows[p])
        _link(parts, rows[p], targets[p])
    parts.heads[group] = -1
    refresh(parts, group)
    for t in range(count):
        if split:
            split_large(parts, distinct[t], k)
        else:
            refresh(parts, distinct[t])


@inner
def exact_sum(gains, kept):  # type: ignore[no-untyped-def]
    """Sum of what keeping costs (first and odd places) or dissolving costs (even places), rounded once."""
    high, low = 0.0, 0.0
    for p in range(gains.shape[0]):
        if (p == 0 or p % 2 == 1) == kept:
            total = high + gains[p]
            part = total - high
            low += (high - (total - part)) + (gains[p] - part)
            high = total
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


@inlined
def reassign(parts, group, k, split):  # type: ignore[no-untyped-def]
    """While a group has more than k records: make the best move out of it; split what grew large, if asked."""
    while parts.sizes[group] > k and parts.centres.state[PRESENT] > 1:
        if still_useless(parts, group):
            return
        gain, row, target = best_move(parts, group)
        if not gain > 0:
            parts.checked[group] = parts.clock[0]
            return
        _unlink(parts, row)
        _link(parts, row, target)
        refresh(parts, group)
        if split:
            split_large(parts, target, k)
        else:
            refresh(parts, target)


@kernel
def dissolve_phase(parts, start, stop, k):  # type: ignore[no-untyped-def]
    """Try to dissolve the groups of k among start .. stop - 1; return where room for new groups ran out, or stop."""
    for group in range(start, stop):
        if parts.groups[0] + k > parts.sizes.shape[0]:
            return group
        if parts.sizes[group] == k:
            dissolve(parts, group, k, True)
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
def link_all(parts, labels):  # type: ignore[no-untyped-def]
    """Fill an empty partition from labels, but for the means."""
    for row in range(labels.shape[0] - 1, -1, -1):
        group = labels[row]
        parts.nexts[row] = parts.heads[group]
        parts.heads[group] = row
        parts.labels[row] = group
        parts.sizes[group] += 1


@kernel
def all_costs(parts):  # type: ignore[no-untyped-def]
    """Squared errors of the groups that are there, in order of their numbers."""
    costs = np.empty(parts.centres.state[PRESENT])
    count = 0
    for group in range(parts.groups[0]):
        if parts.sizes[group] > 0:
            costs[count] = cost(parts, group)
            count += 1
    return costs


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
                _unlink(parts, rows[p])
                _link(parts, rows[p], targets[p])
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
            _unlink(parts, rows[p])
            _link(parts, rows[p], targets[p])
            refresh(parts, targets[p])
        for p in range(m):
            if first[p]:
                gains[2 + 2 * p] = cost(parts, targets[p])
        if exact_sum(gains, False) < exact_sum(gains, True):
            refresh(parts, group)
            continue
        for p in range(m):
            _unlink(parts, rows[p])
            _link(parts, rows[p], group)
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
            _unlink(parts, row)
            refresh(parts, group)
            target = nearest_one(parts.centres, parts.X[row], np.int64(-1))[1]
            _link(parts, row, target)
            refresh(parts, target)
        else:
            dissolve(parts, group, k, False)
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
                    _unlink(parts, row)
                    _link(parts, row, group)
                parts.heads[other] = -1
                refresh(parts, other)
                refresh(parts, group)
        for group in range(parts.groups[0]):
            small = small or 0 < parts.sizes[group] < k


@kernel
def draw_centres(X, first, uniforms):  # type: ignore[no-untyped-def]
    """k-means++: rows of centres, each drawn with a chance proportional to the squared distance to those before.

    One number of `uniforms` is used for each after the first; fewer centres come back if there are fewer different
    records.
    """
    n = X.shape[0]
    rows = np.empty(uniforms.shape[0] + 1, np.int64)
    rows[0] = first
    near = np.full(n, np.inf)
    sums = np.empty(n)
    for count in range(1, rows.shape[0]):
        total = 0.0
        for i in range(n):
            near[i] = min(near[i], square_distance(X, i, X[rows[count - 1]]))
            total += near[i]
            sums[i] = total
        if not total > 0:
            return rows[:count]
        rows[count] = np.searchsorted(sums, uniforms[count - 1] * total, side="right")
    return rows
