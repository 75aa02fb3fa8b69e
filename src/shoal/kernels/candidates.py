"""Candidate groups: each record with its nearest neighbours among those that are still unassigned."""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import kernel
from shoal.kernels.search import nearest_few


@kernel
def renew(points, rows, lists, lengths, members, changed):  # type: ignore[no-untyped-def]
    """Bring the candidate groups of `rows` up to date.

    Parameters
    ----------
    points : Points
        The unassigned records.
    rows : int64[r]
        Which of them to look at.
    lists : int64[n, L], lengths : int64[n]
        Neighbours of each record, nearest first, as known from its last search: all unassigned records
        not listed are further away. Rewritten where a search was needed.
    members : int64[n, k - 1]
        The nearest unassigned neighbours of each record (-1: never looked for). Rewritten where stale.
    changed : int64[n]
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
        for t in range(wanted):
            if members[i, t] < 0 or points.slots[members[i, t]] < 0:
                stale = True
                break
        if not stale:
            continue
        left = 0
        for t in range(lengths[i]):
            if points.slots[lists[i, t]] >= 0:
                lists[i, left] = lists[i, t]
                left += 1
        lengths[i] = left
        if left < wanted:
            ids, _ = nearest_few(points, points.X[i], lists.shape[1], i, np.int64(-1))
            lengths[i] = ids.shape[0]
            lists[i, : ids.shape[0]] = ids
        members[i] = lists[i, :wanted]
        changed[count] = i
        count += 1
    return count
