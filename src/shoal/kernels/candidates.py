"""Candidate groups: each record with its nearest neighbours among those that are still unassigned."""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import kernel
from shoal.kernels.search import nearest_few


@kernel
def renew(points, rows, kinds, lists, lengths, members, changed):  # type: ignore[no-untyped-def]
    """Bring the candidate groups of `rows` up to date.

    Equal records share their neighbours: what is known belongs to a kind, and the lowest unassigned row stands for it.

    Parameters
    ----------
    points : Points
        The unassigned records.
    rows : int64[r]
        Which of them to look at, one of a kind; -1 for none.
    kinds : int64[n]
        The kind of each record.
    lists : int64[c, L], lengths : int64[c]
        Neighbours of each kind, nearest first, as known from its last search: all unassigned records that are not
        listed, the row itself excepted, are further away. Rewritten where a search was needed.
    members : int64[c, k - 1]
        The nearest unassigned neighbours of the row (-1 first: never looked for). Rewritten where stale.
    changed : int64[c]
        Filled with the rows whose candidate group changed.

    Returns
    -------
    int
        How many rows changed.
    """
    wanted = members.shape[1]
    count = 0
    for i in rows:
        stale = False
        kind = kinds[i]
        for t in range(wanted if i >= 0 else 0):
            if members[kind, t] < 0 or points.slots[members[kind, t]] < 0:
                stale = True
                break
        if not stale:
            continue
        left = 0
        for t in range(lengths[kind]):
            if points.slots[lists[kind, t]] >= 0 and lists[kind, t] != i:
                lists[kind, left] = lists[kind, t]
                left += 1
        lengths[kind] = left
        if left < wanted:
            ids, _ = nearest_few(points, points.X[i], lists.shape[1], i, np.int64(-1))
            lengths[kind] = ids.shape[0]
            lists[kind, : ids.shape[0]] = ids
        members[kind] = lists[kind, :wanted]
        changed[count] = i
        count += 1
    return count
