"""LMaS with few centres: Lloyd's rounds, and what is done with the groups, by loops over blocks of points."""

from __future__ import annotations

import numpy as np

from shoal.kernels.blocks import BLOCK, measure, nearest_in, new_blocks, wipe, write
from shoal.kernels.groups import cost_of, join, write_mean_of
from shoal.kernels.growth import Made
from shoal.kernels.jit import inner, kernel, lent
from shoal.kernels.search import nearest_of
from shoal.kernels.star import BY_MEAN, place_leftovers, sort_outermost, still_free
from shoal.kernels.sums import exact_mean, square_distance


@lent
def _come_nearer(blocks, x, near, acc):  # type: ignore[no-untyped-def]
    """Lower the squared distances `near` float64[b, BLOCK] to those from x, where these are less."""
    for b in range(blocks.shape[0]):
        if measure(blocks[b], x, acc, near[b]):
            for p in range(BLOCK):
                near[b, p] = min(near[b, p], acc[p])


@lent
def _add_up(values, sums):  # type: ignore[no-untyped-def]
    """Write the sums of the values up to each place to `sums`; return the last."""
    total = 0.0
    for i in range(sums.shape[0]):
        total += values[i]
        sums[i] = total
    return total


@kernel
def draw_few_centres(X, first, uniforms):  # type: ignore[no-untyped-def]
    """k-means++: rows of centres, each drawn with a chance proportional to the squared distance to those before.

    One number of `uniforms` is used for each after the first; fewer centres come back if there are fewer different
    records.
    """
    n, d = X.shape
    blocks = new_blocks(n, d)
    for i in range(n):
        write(blocks, i, X[i])
    rows = np.empty(uniforms.shape[0] + 1, np.int64)
    rows[0] = first
    near, acc = np.full((blocks.shape[0], BLOCK), np.inf), np.empty(BLOCK)
    flat, sums = near.reshape(blocks.shape[0] * BLOCK), np.empty(n)
    for count in range(1, rows.shape[0]):
        _come_nearer(blocks, X[rows[count - 1]], near, acc)
        total = _add_up(flat, sums)
        if not total > 0:
            return rows[:count]
        rows[count] = np.searchsorted(sums, uniforms[count - 1] * total, side="right")
    return rows


@lent
def _offer_all(blocks, ids, q, skip, other, found, squares, limits, acc):  # type: ignore[no-untyped-def]
    """Offer the points of the blocks, but `skip` and `other`, to the two nearest of q.

    `found` and `squares` hold the nearest and the one after it, the lower of `ids` first on ties. What is further than
    the second is not looked at.
    """
    for b in range(blocks.shape[0]):
        for p in range(BLOCK):
            limits[p] = squares[1]
        if not measure(blocks[b], q, acc, limits):
            continue
        for p in range(min(BLOCK, ids.shape[0] - b * BLOCK)):
            i = ids[b * BLOCK + p]
            if acc[p] > squares[1] or acc[p] == np.inf or i == skip or i == other:
                continue
            if acc[p] < squares[0] or (acc[p] == squares[0] and i < found[0]):
                found[1], squares[1] = found[0], squares[0]
                found[0], squares[0] = i, acc[p]
            elif acc[p] < squares[1] or i < found[1]:
                found[1], squares[1] = i, acc[p]


@lent
def _start_with(centres, pair, q, found, squares):  # type: ignore[no-untyped-def]
    """Begin a search for the two nearest of q with the two centres `pair`; -1 stands for none."""
    found[0] = found[1] = -1
    squares[0] = squares[1] = np.inf
    for p in range(2):
        if pair[p] >= 0:
            square = square_distance(centres, pair[p], q)
            if square < squares[0] or (square == squares[0] and pair[p] < found[0]):
                found[1], squares[1] = found[0], squares[0]
                found[0], squares[0] = pair[p], square
            else:
                found[1], squares[1] = pair[p], square


@inner
def _assign(X, firsts, centres, alive, moved, pairs, bounds):  # type: ignore[no-untyped-def]
    """Find the nearest centre of each different record, given that of the round before.

    `pairs` int64[c, 2] has the nearest centre and another that was near; `bounds` float64[c, 2] the squared distance of
    the nearest, and the least that any other was away when last looked at. Centres that have not moved since are still
    as far, so that only those that have are compared, unless the nearest has gone further than the bound of the others.
    """
    d = X.shape[1]
    every, few = np.flatnonzero(alive), np.flatnonzero(moved & alive)
    blocks, news = new_blocks(every.shape[0], d), new_blocks(few.shape[0], d)
    for p in range(every.shape[0]):
        write(blocks, p, centres[every[p]])
    for p in range(few.shape[0]):
        write(news, p, centres[few[p]])
    found, squares, acc, limits = np.empty(2, np.int64), np.empty(2), np.empty(BLOCK), np.empty(BLOCK)
    _compare(X, firsts, centres, alive, moved, pairs, bounds, every, few, blocks, news, found, squares, acc, limits)


@lent
def _compare(X, firsts, centres, alive, moved, pairs, bounds, every, few, blocks, news, found, squares, acc, limits):  # type: ignore[no-untyped-def]
    """Find the nearest centre of each different record for `_assign`, with all centres and those that have moved."""
    short = 2 * few.shape[0] < every.shape[0]
    for c in range(firsts.shape[0]):
        q, best, second = X[firsts[c]], pairs[c, 0], pairs[c, 1]
        if short and best >= 0 and alive[best]:
            found[0], found[1], squares[0], squares[1] = best, second, bounds[c, 0], bounds[c, 1]
            if moved[best]:
                squares[0] = square_distance(centres, best, q)
            if squares[0] < squares[1]:
                _offer_all(news, few, q, best, np.int64(-1), found, squares, limits, acc)
            if squares[0] < squares[1]:
                pairs[c, 0], pairs[c, 1], bounds[c, 0], bounds[c, 1] = found[0], found[1], squares[0], squares[1]
                continue
        for p in range(2):
            if pairs[c, p] >= 0 and not alive[pairs[c, p]]:
                pairs[c, p] = -1
        _start_with(centres, pairs[c], q, found, squares)
        _offer_all(blocks, every, q, pairs[c, 0], pairs[c, 1], found, squares, limits, acc)
        pairs[c, 0], pairs[c, 1], bounds[c, 0], bounds[c, 1] = found[0], found[1], squares[0], squares[1]


@kernel
def lloyd(X, firsts, of, centres, rounds):  # type: ignore[no-untyped-def]
    """Lloyd's rounds from `centres`, until nothing changes or at most `rounds`.

    Parameters
    ----------
    X : float64[n, d]
    firsts, of : int64[c], int64[n]
        The first row of each kind of equal records, and the kind of each record.
    centres : float64[g, d]
        Is overwritten.
    rounds : int

    Returns
    -------
    int64[n]
        Groups in the order of their centres, numbered 0, 1, .. without those that have become empty.
    """
    n, groups = X.shape[0], centres.shape[0]
    labels = np.full(n, -1)
    sizes, heads, nexts = np.empty(groups, np.int64), np.empty(groups, np.int64), np.empty(n, np.int64)
    alive, moved, touched = np.ones(groups, np.bool_), np.ones(groups, np.bool_), np.empty(groups, np.bool_)
    pairs, bounds = np.full((firsts.shape[0], 2), -1), np.full((firsts.shape[0], 2), np.inf)
    rows, total, mean = np.empty(n, np.int64), np.empty((2, X.shape[1] + 1)), np.empty(X.shape[1])
    for _ in range(rounds):
        _assign(X, firsts, centres, alive, moved, pairs, bounds)
        changes = 0
        sizes[:] = 0
        heads[:] = -1
        touched[:] = False
        for i in range(n - 1, -1, -1):
            group = pairs[of[i], 0]
            if group != labels[i]:
                changes += 1
                touched[group] = True
                if labels[i] >= 0:
                    touched[labels[i]] = True
                labels[i] = group
            nexts[i], heads[group] = heads[group], i
            sizes[group] += 1
        if changes == 0:
            break
        moved[:] = False
        for group in range(groups):
            alive[group] = sizes[group] > 0
            if not alive[group] or not touched[group]:
                continue
            row = heads[group]
            for p in range(sizes[group]):
                rows[p], row = row, nexts[row]
            write_mean_of(X, rows[: sizes[group]], total, mean)
            for j in range(mean.shape[0]):
                moved[group] = moved[group] or mean[j] != centres[group, j]
                centres[group, j] = mean[j]
    return _without_gaps(labels, alive)


@inner
def _without_gaps(labels, alive):  # type: ignore[no-untyped-def]
    """Number the groups that are there 0, 1, .. in their order."""
    numbers = np.cumsum(alive) - 1
    for i in range(labels.shape[0]):
        labels[i] = numbers[labels[i]]
    return labels


@lent
def _take_in(heads, nexts, group, other):  # type: ignore[no-untyped-def]
    """Move all records of a group to another one, whose list stays in ascending order."""
    left, right, last = heads[group], heads[other], np.int64(-1)
    while left >= 0 or right >= 0:
        first = right < 0 or 0 <= left < right
        row = left if first else right
        left, right = nexts[left] if first else left, right if first else nexts[right]
        if last < 0:
            heads[group] = row
        else:
            nexts[last] = row
        last = row
    heads[other] = -1


@lent
def _average(X, heads, nexts, group, rows, total, means, blocks):  # type: ignore[no-untyped-def]
    """Compute the mean of a group anew; `rows` int64[n] and `total` float64[2, d + 1] are for work."""
    row, size = heads[group], 0
    while row >= 0:
        rows[size], row = row, nexts[row]
        size += 1
    write_mean_of(X, rows[:size], total, means[group])
    write(blocks, group, means[group])


@kernel
def merge_few(X, labels, k):  # type: ignore[no-untyped-def]
    """Passes over the groups: one of fewer than k records takes in the group of the nearest mean.

    Like `shoal.kernels.rounds.merge_small`, by plain loops. Return the labels, in the order of the groups left.
    """
    n, d = X.shape
    groups = labels.max() + 1
    sizes, heads, nexts = np.zeros(groups, np.int64), np.full(groups, -1), np.empty(n, np.int64)
    for i in range(n - 1, -1, -1):
        sizes[labels[i]] += 1
        nexts[i], heads[labels[i]] = heads[labels[i]], i
    blocks, means = new_blocks(groups, d), np.empty((groups, d))
    rows, total, acc, limits = np.empty(n, np.int64), np.empty((2, d + 1)), np.empty(BLOCK), np.empty(BLOCK)
    for group in range(groups):
        _average(X, heads, nexts, group, rows, total, means, blocks)
    small = True
    while small:
        small = False
        for group in range(groups):
            if not 0 < sizes[group] < k:
                continue
            other = nearest_in(blocks, means[group], group, acc, limits)[1]
            _take_in(heads, nexts, group, other)
            sizes[group], sizes[other] = sizes[group] + sizes[other], 0
            _average(X, heads, nexts, group, rows, total, means, blocks)
            wipe(blocks, other)
            small = small or sizes[group] < k
    for group in range(groups):
        row = heads[group]
        while row >= 0:
            labels[row], row = group, nexts[row]
    return _without_gaps(labels, sizes > 0)


@kernel
def plus(X, k):  # type: ignore[no-untyped-def]
    """Partition all of a small X by MDAV+; return the labels, groups numbered in order of creation, and their count."""
    n, d = X.shape
    groups = n // k
    made = Made(
        np.full(n, -1),
        np.zeros(groups, np.int64),
        np.zeros((groups, d)),
        np.zeros((groups, 2, d)),
        np.empty(groups, np.int64),
        np.zeros(1, np.int64),
    )
    pool, seeds, left = np.arange(n), np.empty(n, np.int64), n
    sort_outermost(X, exact_mean(X), seeds, np.empty(n))
    dist, members = np.empty(k), np.empty(k, np.int64)
    for r in seeds:
        if left < k:
            break
        if made.labels[r] >= 0:
            continue
        members[0] = r
        nearest_of(X, pool[:left], X[r], k - 1, r, r, dist, members[1:])
        join(X, members, made.groups[0], made)
        made.groups[0] += 1
        left = still_free(made, pool, left)
    place_leftovers(X, made, pool[:left], BY_MEAN)
    return made.labels, made.groups[0]


@kernel
def split_few(X, labels, k, most):  # type: ignore[no-untyped-def]
    """Split the groups of 2k to `most` records by MDAV+: the first piece takes the number, the others come last."""
    n, d = X.shape
    groups = labels.max() + 1
    order, stop = np.argsort(labels, kind="mergesort"), 0
    count = groups
    for group in range(groups):
        start = stop
        while stop < n and labels[order[stop]] == group:
            stop += 1
        m = stop - start
        if m < 2 * k or m > most:
            continue
        own = np.empty((m, d))
        for p in range(m):
            own[p] = X[order[start + p]]
        pieces, some = plus(own, k)
        for p in range(m):
            if pieces[p] > 0:
                labels[order[start + p]] = count + pieces[p] - 1
        count += some - 1
    return labels


@kernel
def group_costs(X, labels):  # type: ignore[no-untyped-def]
    """Squared error of each group, none of which may be empty: float64[g]."""
    order, stop = np.argsort(labels, kind="mergesort"), 0
    costs = np.empty(labels.max() + 1)
    for group in range(costs.shape[0]):
        start = stop
        while stop < labels.shape[0] and labels[order[stop]] == group:
            stop += 1
        costs[group] = cost_of(X, order[start:stop])
    return costs
