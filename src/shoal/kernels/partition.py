"""A partition under work: its groups as lists of rows, their means in a searchable tree, and what has changed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.kernels.groups import cost_within, write_mean_of
from shoal.kernels.index import CLOCK, LEAF, PRESENT, Points, put, take_out
from shoal.kernels.jit import inlined, inner, kernel, lent
from shoal.kernels.star import star

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
    rows, members, takers : int64[n]
        For work: the records of the group at hand, those of any other, and the groups that would take them in.
    total, mean : float64[2, d + 1], float64[d]
        For work.
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
    rows: Array
    members: Array
    takers: Array
    total: Array
    mean: Array


@lent
def list_rows(parts, group, rows):  # type: ignore[no-untyped-def]
    """Write the rows of a group to `rows`, ascending; return how many there are."""
    row = parts.heads[group]
    for p in range(parts.sizes[group]):
        rows[p] = row
        row = parts.nexts[row]
    return parts.sizes[group]


@kernel
def rows_of(parts, group):  # type: ignore[no-untyped-def]
    """The rows of a group, ascending."""
    rows = np.empty(parts.sizes[group], np.int64)
    list_rows(parts, group, rows)
    return rows


@inlined
def link(parts, row, group):  # type: ignore[no-untyped-def]
    """Put a record that is in no group into one."""
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
def unlink(parts, row):  # type: ignore[no-untyped-def]
    """Take a record out of its group."""
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


@lent
def refresh(parts, group):  # type: ignore[no-untyped-def]
    """Take note that a group has changed."""
    parts.clock[0] += 1
    parts.changed[group] = parts.clock[0]
    parts.costs[group] = np.nan
    parts.centres.state[CLOCK] = parts.clock[0]
    if parts.centres.slots[group] >= 0:
        take_out(parts.centres, group)
    if parts.sizes[group] > 0:
        size = list_rows(parts, group, parts.members)
        write_mean_of(parts.X, parts.members[:size], parts.total, parts.centres.X[group])
        put(parts.centres, group)
    # After `put`, the screening coordinates of the mean are at hand.
    at = parts.clock[0] % parts.authors.shape[0]
    for j in range(parts.log.shape[1]):
        parts.log[at // LEAF, j, at % LEAF] = parts.centres.near[j]
    parts.authors[at] = group


@inlined
def cost(parts, group):  # type: ignore[no-untyped-def]
    """Squared error of a group."""
    if np.isnan(parts.costs[group]):
        size = list_rows(parts, group, parts.members)
        parts.costs[group] = cost_within(parts.X, parts.members[:size], parts.total, parts.mean)
    return parts.costs[group]


@kernel
def spread(parts, group, rows, labels, count):  # type: ignore[no-untyped-def]
    """Cut a group into `count` pieces: the first takes its number, the others come last."""
    first = parts.groups[0]
    parts.groups[0] += count - 1
    for p in range(rows.shape[0]):
        if labels[p] > 0:
            unlink(parts, rows[p])
            link(parts, rows[p], first + labels[p] - 1)
    refresh(parts, group)
    for new in range(first, parts.groups[0]):
        refresh(parts, new)


@inlined
def settle(parts, group, k):  # type: ignore[no-untyped-def]
    """Take note that a group has grown; split it if it has 2k records, unless k is 0."""
    if k > 0 and parts.sizes[group] >= 2 * k:
        split(parts, group, k)
    else:
        refresh(parts, group)


@inner
def split(parts, group, k):  # type: ignore[no-untyped-def]
    """Split a group by MDAV*: the first piece takes its number, the others come last."""
    rows = rows_of(parts, group)
    own = np.empty((rows.shape[0], parts.X.shape[1]))
    for p in range(rows.shape[0]):
        for j in range(parts.X.shape[1]):
            own[p, j] = parts.X[rows[p], j]
    labels, count = star(own, k, 1.0, False)
    spread(parts, group, rows, labels, count)


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
