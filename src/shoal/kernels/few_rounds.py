"""The rounds of ONA* on a small table: means lie in blocks, and the nearest is looked for whenever it is needed.

Among so few groups this is quicker than a tree, and than to keep track of what may be nearer now. The decisions are
those of `shoal.kernels.rounds`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.kernels.blocks import BLOCK, nearest_in, new_blocks, wipe, write
from shoal.kernels.few_centres import split_few
from shoal.kernels.groups import write_mean_of
from shoal.kernels.jit import inlined, inner, kernel, lent
from shoal.kernels.partition import NEVER, cost, link, list_rows, rows_of, unlink
from shoal.kernels.rounds import best_move, who_takes
from shoal.kernels.star import star
from shoal.kernels.sums import add_at_length, rounded_sum


class Means(NamedTuple):
    """The means of groups.

    Attributes
    ----------
    X : float64[g, d]
    blocks : float64[b, d, BLOCK]
        The same for searches; infinite where a group is gone.
    acc, limits : float64[BLOCK]
        For work.
    """

    X: Array
    blocks: Array
    acc: Array
    limits: Array


class Few(NamedTuple):
    """A partition of few records under work; what is not told here is as in `shoal.kernels.partition`.

    Attributes
    ----------
    centres : Means
    there : int64[1]
        How many groups are there.
    numbers : int64[g + 1]
        For work: new numbers of groups.
    """

    X: Array
    labels: Array
    heads: Array
    nexts: Array
    sizes: Array
    costs: Array
    centres: Means
    groups: Array
    there: Array
    targets: Array
    distances: Array
    seen: Array
    changed: Array
    checked: Array
    clock: Array
    largest: Array
    rows: Array
    members: Array
    takers: Array
    total: Array
    mean: Array
    numbers: Array


@inner
def _started(X, labels, room):  # type: ignore[no-untyped-def]
    """The partition that `labels` describe, with room for so many group numbers."""
    n, d = X.shape
    groups = labels.max() + 1
    parts = Few(
        X,
        labels.copy(),
        np.full(room, -1),
        np.full(n, -1),
        np.zeros(room, np.int64),
        np.full(room, np.nan),
        Means(np.zeros((room, d)), new_blocks(room, d), np.empty(BLOCK), np.empty(BLOCK)),
        np.full(1, groups),
        np.full(1, groups),
        np.zeros(n, np.int64),
        np.zeros(n),
        np.full(n, NEVER),
        np.zeros(room, np.int64),
        np.full(room, -1),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty((2, d + 1)),
        np.empty(d),
        np.empty(room + 1, np.int64),
    )
    for row in range(n - 1, -1, -1):
        group = labels[row]
        parts.nexts[row], parts.heads[group] = parts.heads[group], row
        parts.sizes[group] += 1
    for group in range(groups):
        _refresh(parts, group)
    return parts


@lent
def _refresh(parts, group):  # type: ignore[no-untyped-def]
    """Take note that a group has changed."""
    parts.clock[0] += 1
    parts.changed[group] = parts.clock[0]
    parts.costs[group] = np.nan
    if parts.sizes[group] == 0:
        wipe(parts.centres.blocks, group)
        return
    size = list_rows(parts, group, parts.members)
    write_mean_of(parts.X, parts.members[:size], parts.total, parts.mean)
    for j in range(parts.mean.shape[0]):
        parts.centres.X[group, j] = parts.mean[j]
    write(parts.centres.blocks, group, parts.mean)


@lent
def _look_around(parts, group):  # type: ignore[no-untyped-def]
    """Find the nearest other groups of all records of a group.

    Return whether dissolving it or moving a record out of it was found useless, and neither it nor those have changed.
    """
    means, then = parts.centres, parts.checked[group]
    if then == parts.clock[0]:
        return True
    useless = then >= 0 and parts.changed[group] <= then
    blocks = means.blocks[: (parts.groups[0] + BLOCK - 1) // BLOCK]
    row = parts.heads[group]
    while row >= 0:
        square, target = nearest_in(blocks, parts.X[row], group, means.acc, means.limits)
        useless = useless and target == parts.targets[row] and parts.changed[target] <= then
        parts.distances[row], parts.targets[row] = square, target
        row = parts.nexts[row]
    return useless


@inner
def _split(parts, group, k):  # type: ignore[no-untyped-def]
    """Split a group of 2k records or more by MDAV*, the new pieces coming last."""
    rows = rows_of(parts, group)
    own = np.empty((rows.shape[0], parts.X.shape[1]))
    for p in range(rows.shape[0]):
        for j in range(own.shape[1]):
            own[p, j] = parts.X[rows[p], j]
    pieces, count = star(own, k, 1.0, False)
    first = parts.groups[0]
    parts.groups[0] += count - 1
    parts.there[0] += count - 1
    for p in range(rows.shape[0]):
        if pieces[p] > 0:
            unlink(parts, rows[p])
            link(parts, rows[p], first + pieces[p] - 1)
    for new in range(first, parts.groups[0]):
        _refresh(parts, new)


@inlined
def _settle(parts, group, k):  # type: ignore[no-untyped-def]
    """Take note that a group has grown; split it if it has 2k records."""
    if parts.sizes[group] >= 2 * k:
        _split(parts, group, k)
    _refresh(parts, group)


@lent
def _close_gaps(parts):  # type: ignore[no-untyped-def]
    """Number the groups that are there 0, 1, .. in their order; `numbers` are then those of each, or of the next.

    The numbers of targets are void then, and with them what was found useless.
    """
    parts.checked[:] = -1
    before = parts.numbers
    count = np.int64(0)
    for group in range(parts.groups[0]):
        before[group] = count
        if parts.sizes[group] == 0:
            continue
        if count < group:
            row = parts.heads[group]
            while row >= 0:
                parts.labels[row] = count
                row = parts.nexts[row]
            parts.heads[count], parts.sizes[count] = parts.heads[group], parts.sizes[group]
            parts.costs[count] = parts.costs[group]
            for j in range(parts.X.shape[1]):
                parts.centres.X[count, j] = parts.centres.X[group, j]
            write(parts.centres.blocks, count, parts.centres.X[count])
            parts.heads[group], parts.sizes[group], parts.costs[group] = -1, 0, np.nan
            wipe(parts.centres.blocks, group)
        count += 1
    before[parts.groups[0]] = count
    parts.groups[0] = count


@inlined
def _dissolve(parts, group, k):  # type: ignore[no-untyped-def]
    """Give the records of a group to the nearest means if that lowers the squared error."""
    if parts.there[0] < 2 or _look_around(parts, group):
        return
    rows = parts.rows[: list_rows(parts, group, parts.rows)]
    count = who_takes(parts, group, rows)
    if count == 0:
        parts.checked[group] = parts.clock[0]
        return
    for row in rows:
        unlink(parts, row)
        link(parts, row, parts.targets[row])
    parts.there[0] -= 1
    _refresh(parts, group)
    for t in range(count):
        _settle(parts, parts.takers[t], k)


@inlined
def _reassign(parts, group, k):  # type: ignore[no-untyped-def]
    """While a group has more than k records: make the best move out of it."""
    while parts.sizes[group] > k and parts.there[0] > 1:
        if _look_around(parts, group):
            return
        gain, row, target = best_move(parts, group)
        if not gain > 0:
            parts.checked[group] = parts.clock[0]
            return
        unlink(parts, row)
        link(parts, row, target)
        _refresh(parts, group)
        _settle(parts, target, k)


@lent
def _one_round(parts, k):  # type: ignore[no-untyped-def]
    """Try to dissolve each group of k records, then let each larger one give some away (T algorithms 16 and 17)."""
    room = parts.sizes.shape[0]
    group, stop = np.int64(0), parts.groups[0]
    while group < stop:
        if parts.groups[0] + k > room:
            _close_gaps(parts)
            group, stop = parts.numbers[group], parts.numbers[stop]
            continue
        if parts.sizes[group] == k:
            _dissolve(parts, group, k)
        group += 1
    group = np.int64(0)
    while group < parts.groups[0]:
        if parts.groups[0] + k > room:
            _close_gaps(parts)
            group = parts.numbers[group]
            continue
        if parts.sizes[group] > k:
            _reassign(parts, group, k)
        group += 1


@inner
def _total(parts):  # type: ignore[no-untyped-def]
    """The squared error, rounded once."""
    total = np.zeros((4, 1))
    for group in range(parts.groups[0]):
        if parts.sizes[group] > 0:
            add_at_length(total, 0, cost(parts, group))
    return rounded_sum(total, 0)


@inner
def _numbered(labels, firsts):  # type: ignore[no-untyped-def]
    """Number the groups 0, 1, .. in their order, or in order of first appearance if `firsts`."""
    numbers, count = np.full(labels.max() + 1, -1), 0
    for label in labels:
        if numbers[label] < 0:
            numbers[label] = count
            count += 1
    if not firsts:
        numbers = np.cumsum(numbers >= 0) - 1
    new = np.empty_like(labels)
    for i in range(labels.shape[0]):
        new[i] = numbers[labels[i]]
    return new


@kernel
def few_rounds(X, k, labels, most, room):  # type: ignore[no-untyped-def]
    """Rounds of ONA*, at most `most`, from groups in order of creation; they end as in `partitioning.refine.rounds`.

    Parameters
    ----------
    X : float64[n, d]
    k : int
    labels : int64[n]
        Groups of k records or more, numbered 0, 1, .. in the order of visits; none of the numbers is missing.
    most : int
    room : int
        For so many numbers of groups, those that are gone included: n // k + k or more. With less room, they are
        numbered anew more often.

    Returns
    -------
    int64[n]
        Labels in the final order of the groups.
    """
    labels = split_few(X, labels.copy(), k, X.shape[0])
    parts = _started(X, labels, room)
    total, by_row = _total(parts), False
    for _ in range(most):
        _one_round(parts, k)
        lower = _total(parts)
        if lower < total:
            total, labels, by_row = lower, _numbered(parts.labels, False), False
        elif by_row:
            break
        else:
            labels, by_row = _numbered(labels, True), True
            parts = _started(X, labels, room)
    return labels
