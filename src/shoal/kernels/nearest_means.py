"""The nearest other mean of each record of a partition under work, kept up to date.

It is searched once and then kept: as long as that group has not moved away, only groups that changed since can be
nearer. Every node of the tree of means knows when one last came to it, so that a later search looks only where
something is new, and no further than the mean that is known.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.index import LEAF
from shoal.kernels.jit import kernel, lent
from shoal.kernels.partition import NEVER, UNSURE
from shoal.kernels.search import after, aim, measure_block, search_near, threshold
from shoal.kernels.sums import square_distance


@lent
def nearest_other(parts, row):  # type: ignore[no-untyped-def]
    """The group other than its own whose mean is nearest to a record; its distance is left in `distances`."""
    known = recheck(parts, row)
    since = parts.seen[row]
    dist, ids = parts.distances[row : row + 1], parts.targets[row : row + 1]
    one, nobody = np.int64(1), np.int64(-1)
    parts.seen[row] = parts.clock[0]
    search_near(parts.centres, parts.X[row], one, parts.labels[row], nobody, max(since, nobody), dist, ids, known)
    return parts.targets[row]


@lent
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


@lent
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


@lent
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
