"""Exact nearest and furthest search in a tree of boxes.

What is passed over is proven to be too far (or too near). Write u = 2^-24 for the rounding of single precision, y
and q for the scaled and rotated coordinates of a point and of the query, r for the largest norm of any point. Rounding
to single precision moves y - q by at most u (|y| + |q|), and the sum of its squares by a factor of at most
1 + (d + 3) u in any order of summation; rotation in double precision adds less than the room left in `threshold`. So a
point at distance D or nearer has a computed squared distance of at most

    (scale D + 1.02 u (r + |q|))^2 (1 + (d + 16) 2u),

and so has every box that holds it, as boxes are made of the same rounded coordinates. For the furthest point the same
holds from below, and bounds of boxes, made of inner products, get (r + |q|)^2 (d + 16) sqrt(d) 8u on top, or for the
second (r + |q|)^2 (d + 16)^2 8u (see `boxes_within`). What is not passed over is measured in double precision from the
coordinates as given, summed in their order. The result is what a plain loop gives, ties to the lowest id.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.boxes import boxes_above, boxes_below, boxes_within
from shoal.kernels.index import (
    FAN,
    FILL,
    FIRST,
    FOLLOW,
    HEAD,
    LEAF,
    LOWEST,
    RADIUS,
    SCALE,
    SLOTS,
    TIERS,
    following,
    leaf_of,
    rotate,
)
from shoal.kernels.jit import inlined, kernel, lent
from shoal.kernels.sums import square_distance

TIER_BASE, LEAF_TIER = 16, 15
# Beyond this norm of a query, single precision could overflow: every point is measured.
FAR_AWAY = 2.0**30


@lent
def after(da, ia, db, ib):  # type: ignore[no-untyped-def]
    """Whether (da, ia) comes after (db, ib) in the order by distance, then id."""
    return da > db or (da == db and ia > ib)


@lent
def sift_down(dist, ids, start, size):  # type: ignore[no-untyped-def]
    """Restore the heap (last in order at the root) below `start`."""
    d, i = dist[start], ids[start]
    hole = start
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and after(dist[child + 1], ids[child + 1], dist[child], ids[child]):
            child += 1
        if not after(dist[child], ids[child], d, i):
            break
        dist[hole] = dist[child]
        ids[hole] = ids[child]
        hole = child
    dist[hole] = d
    ids[hole] = i


@lent
def offer(dist, ids, size, m, d, i):  # type: ignore[no-untyped-def]
    """Keep (d, i) if it is among the first m seen so far; return the new size."""
    if size < m:
        hole = size
        while hole > 0:
            parent = (hole - 1) // 2
            if not after(d, i, dist[parent], ids[parent]):
                break
            dist[hole] = dist[parent]
            ids[hole] = ids[parent]
            hole = parent
        dist[hole] = d
        ids[hole] = i
        return size + 1
    if after(dist[0], ids[0], d, i):
        dist[0] = d
        ids[0] = i
        sift_down(dist, ids, 0, size)
    return size


@lent
def into_order(dist, ids, size):  # type: ignore[no-untyped-def]
    """Turn the heap into an ascending list."""
    for end in range(size - 1, 0, -1):
        dist[0], dist[end] = dist[end], dist[0]
        ids[0], ids[end] = ids[end], ids[0]
        sift_down(dist, ids, 0, end)


@lent
def push(bounds, stack, top, base, value, code, sign):  # type: ignore[no-untyped-def]
    """Insert (value, code) among the entries base .. top - 1, so that the least sign * value comes last."""
    at = top
    while at > base and sign * bounds[at - 1] < sign * value:
        bounds[at], stack[at] = bounds[at - 1], stack[at - 1]
        at -= 1
    bounds[at], stack[at] = value, code


@lent
def measure_block(block, q, acc, limit):  # type: ignore[no-untyped-def]
    """Screening distances of the points of a block float32[d, LEAF], written to `acc`.

    Given up, with values that are too low, once all of them are above `limit`.
    """
    d = q.shape[0]
    for p in range(LEAF):
        acc[p] = 0
    j = 0
    while j + 4 <= d:
        h, i, m, o = np.uint64(j), np.uint64(j + 1), np.uint64(j + 2), np.uint64(j + 3)
        q0, q1, q2, q3 = q[h], q[i], q[m], q[o]
        x0, x1, x2, x3 = block[h], block[i], block[m], block[o]
        for p in range(LEAF):
            a, b, c, e = x0[p] - q0, x1[p] - q1, x2[p] - q2, x3[p] - q3
            acc[p] += (a * a + b * b) + (c * c + e * e)
        j += 4
        if j % 8 == 0 and j + 8 <= d:
            hits = 0
            for p in range(LEAF):
                hits += acc[p] <= limit
            if hits == 0:
                return
    if j < d:
        # Up to three that are left: those that are not there count nothing.
        h, i, m = np.uint64(j), np.uint64(min(j + 1, d - 1)), np.uint64(d - 1)
        q0, q1, q2, x0, x1, x2 = q[h], q[i], q[m], block[h], block[i], block[m]
        second, third = np.float32(j + 1 < d), np.float32(j + 2 < d)
        for p in range(LEAF):
            a, b, c = x0[p] - q0, second * (x1[p] - q1), third * (x2[p] - q2)
            acc[p] += (a * a + b * b) + c * c


@inlined
def threshold(points, square, norm):  # type: ignore[no-untyped-def]
    """What no point within the squared distance `square` of a query with this norm can exceed, nor its boxes."""
    d = points.X.shape[1]
    scale = points.scales[SCALE]
    # 2^-537 and 2^-60 are for squares so small that they are rounded off (subnormal).
    root = (np.sqrt(square) * (1 + (d + 8) * 2.0**-51) + 8 * np.sqrt(d) * 2.0**-537) * scale
    root += 1.02 * 2.0**-24 * (points.scales[RADIUS] + norm) + np.sqrt(d) * 2.0**-60
    return np.float32(root * root * (1 + (d + 16) * 2.0**-23))


@inlined
def floor(points, square, norm):  # type: ignore[no-untyped-def]
    """What every point at the squared distance `square` or further reaches, and its boxes with it."""
    d = points.X.shape[1]
    scale = points.scales[SCALE]
    root = (np.sqrt(square) * (1 - (d + 8) * 2.0**-51) - 8 * np.sqrt(d) * 2.0**-537) * scale
    root -= 1.02 * 2.0**-24 * (points.scales[RADIUS] + norm) + np.sqrt(d) * 2.0**-60
    return np.float32(root * root * (1 - (d + 16) * 2.0**-23)) if root > 2.0**-50 else np.float32(-1)


@inlined
def aim(points, query):  # type: ignore[no-untyped-def]
    """Screening coordinates of the query, their norm, and whether they are too far away for single precision."""
    q = points.near[: query.shape[0]]
    norm = rotate(points.frame, points.scales[SCALE], points.pivot, query, points.wide, points.near)
    blind = not norm < FAR_AWAY
    for j in range(q.shape[0] if blind else 0):
        q[j] = 0
    return q, norm, blind


@lent
def search_near(points, query, m, skip, other, since, dist, ids, size):  # type: ignore[no-untyped-def]
    """Find the m nearest present points.

    The leaf where the query lies comes first, so that the search from the root on starts with a good bound.

    Parameters
    ----------
    points : Points
    query : float64[d]
    m : int
        At least 1.
    skip, other : int
        Ids that are treated as absent (-1: none).
    since : int
        Only points that came after this time are looked at (-1: all).
    dist, ids : float64[m], int64[m]
        A heap: the last in the order by (distance, id) comes first. See `into_order`.
    size : int
        How many are in it at first.

    Returns
    -------
    int
        How many are in the heap at the end.
    """
    d = query.shape[0]
    acc, bounds = points.near[d + 1 : d + 1 + LEAF], points.near[d + 1 + LEAF :]
    state, stack, leaves = points.state, points.stack, points.leaves
    q, norm, blind = aim(points, query)
    limit = np.float32(np.inf) if blind or size < m else threshold(points, dist[0], norm)
    if state[SLOTS] == 0:
        return size
    # An entry of the stack is a group of boxes and its tier, or a leaf and LEAF_TIER.
    tier = state[TIERS] - 1
    bounds[0], stack[0], top = 0, state[FIRST + tier] * TIER_BASE + tier, 1
    home = np.int64(-1)
    if size < m and tier > 0:
        home = leaf_of(points, q)
        bounds[1], stack[1], top = 0, home * TIER_BASE + LEAF_TIER, 2
    while top > 0:
        top -= 1
        if bounds[top] > limit:
            continue
        group, tier = stack[top] // TIER_BASE, stack[top] % TIER_BASE
        if tier < LEAF_TIER:
            boxes_below(points.boxes[group], q, acc[:FAN])
            hits = 0
            for p in range(FAN):
                hits += acc[p] <= limit
            at, base = (group - state[FIRST + tier]) * FAN, top
            for p in range(FAN if hits > 0 else 0):
                if acc[p] <= limit and acc[p] < np.inf and points.times[group, p] > since:
                    below = (at + p) * TIER_BASE + LEAF_TIER
                    if tier > 0:
                        below = (state[FIRST + tier - 1] + at + p) * TIER_BASE + tier - 1
                    elif at + p == home:
                        continue
                    push(bounds, stack, top, base, acc[p], below, 1)
                    top += 1
            continue
        b = points.nodes[group, HEAD]
        while b >= 0:
            # At distance 0 only a lower id could still count.
            if size < m or dist[0] > 0 or leaves[b, LOWEST] < ids[0]:
                measure_block(points.blocks[b], q, acc, limit)
                width = leaves[b, FILL]
                hits = 0
                for p in range(width):
                    hits += acc[p] <= limit
                for p in range(width if hits > 0 else 0):
                    if acc[p] > limit:
                        continue
                    i = points.ids[b, p]
                    if points.came[i] <= since and points.twins[i] < 0 and points.others[i] < 0:
                        continue
                    exact = square_distance(points.X, i, query)
                    while i >= 0:
                        # If one comes too late, so do those below it.
                        counts = size < m or after(dist[0], ids[0], exact, i)
                        if counts and i != skip and i != other and points.came[i] > since:
                            size = offer(dist, ids, size, m, exact, i)
                        i = following(points, i, counts)
                if hits > 0 and size == m and not blind:
                    limit = threshold(points, dist[0], norm)
            b = leaves[b, FOLLOW]
    return size


@kernel
def furthest(points, query):  # type: ignore[no-untyped-def]
    """Id of the present point furthest from the query, the lowest among ties, and its squared distance (-1: none)."""
    d = query.shape[0]
    acc, bounds = points.near[d + 1 : d + 1 + LEAF], points.near[d + 1 + LEAF :]
    state, stack, leaves = points.state, points.stack, points.leaves
    q, norm, blind = aim(points, query)
    norm = 0.0 if blind else norm
    limit = np.float32(-1)
    far, most = np.int64(-1), -1.0
    reach = points.scales[RADIUS] + norm
    extra = np.float32(points.near[d] + reach * reach * (d + 16) * np.sqrt(d) * 2.0**-21)
    # The second bound is for queries that many boxes are left for, as long as it leaves out one of each group.
    away, slack = np.sqrt(points.near[d]), np.float32(reach * 2.0**-20)
    wide = np.float32(points.near[d] + reach * reach * (d + 16) * (d + 16) * 2.0**-21)
    groups, left_out = -8 if away > slack and not blind else -(2**40), 0
    tier = state[TIERS] - 1
    bounds[0], stack[0], top = np.inf, state[FIRST + tier] * TIER_BASE + tier, 1
    while top > 0:
        top -= 1
        if bounds[top] < limit:
            continue
        group, tier = stack[top] // TIER_BASE, stack[top] % TIER_BASE
        if tier < LEAF_TIER:
            boxes_above(points.boxes[group], q, points.pivot, extra, acc[:FAN])
            groups += 1
            if groups > 0 and left_out + 3 >= groups:
                for p in range(FAN):
                    left_out += acc[p] >= limit
                boxes_within(points.boxes[group], q, away, points.pivot, wide, slack, acc)
                for p in range(FAN):
                    left_out -= acc[p] >= limit
            at, base = (group - state[FIRST + tier]) * FAN, top
            for p in range(FAN):
                if acc[p] >= limit:
                    below = (at + p) * TIER_BASE + LEAF_TIER
                    if tier > 0:
                        below = (state[FIRST + tier - 1] + at + p) * TIER_BASE + tier - 1
                    push(bounds, stack, top, base, acc[p], below, -1)
                    top += 1
            continue
        b = points.nodes[group, HEAD]
        while b >= 0:
            measure_block(points.blocks[b], q, acc, np.float32(np.inf))
            width = leaves[b, FILL]
            hits = 0
            for p in range(width):
                hits += acc[p] >= limit
            for p in range(width if hits > 0 else 0):
                if acc[p] < limit:
                    continue
                i = points.ids[b, p]
                exact = square_distance(points.X, i, query)
                if exact > most or (exact == most and i < far):
                    far, most = i, exact
                    if not blind:
                        limit = floor(points, most, norm)
            b = leaves[b, FOLLOW]
    return far, most


@inlined
def nearest_one(points, query, skip):  # type: ignore[no-untyped-def]
    """Squared distance to the nearest present point other than `skip`, and its id (infinity, -1 if there is none)."""
    dist, ids = np.empty(1), np.empty(1, np.int64)
    # Typed constants: for literals, `search_near` would be compiled once more.
    size = search_near(points, query, np.int64(1), np.int64(skip), np.int64(-1), np.int64(-1), dist, ids, np.int64(0))
    if size == 0:
        return np.inf, np.int64(-1)
    return dist[0], ids[0]


@kernel
def nearest_few(points, query, m, skip, other):  # type: ignore[no-untyped-def]
    """The m nearest present points other than `skip` and `other`: ids and squared distances, nearest first."""
    dist, ids = np.empty(m), np.empty(m, np.int64)
    size = np.int64(0)
    if m > 0:
        size = search_near(
            points, query, np.int64(m), np.int64(skip), np.int64(other), np.int64(-1), dist, ids, np.int64(0)
        )
        into_order(dist, ids, size)
    return ids[:size], dist[:size]


@lent
def nearest_of(X, rows, query, m, skip, other, dist, ids):  # type: ignore[no-untyped-def]
    """Write the m nearest of `rows` to `ids`, nearest first."""
    size = np.int64(0)
    for i in rows:
        if i != skip and i != other:
            square = square_distance(X, i, query)
            if size < m or square <= dist[0]:  # a call for each of them would take longer than the distance
                size = offer(dist, ids, size, m, square, i)
    into_order(dist, ids, size)


@kernel
def nearest_plainly(X, queries, ids, squares):  # type: ignore[no-untyped-def]
    """Like `nearest_each` over all rows of X, by plain loops: for sets so small that a tree is not worth it."""
    m = ids.shape[1]
    for i in range(queries.shape[0]):
        size = np.int64(0)
        for row in range(X.shape[0]):
            size = offer(squares[i], ids[i], size, m, square_distance(X, row, queries[i]), row)
        into_order(squares[i], ids[i], size)


@kernel
def by_distance(X, rows, query):  # type: ignore[no-untyped-def]
    """Return `rows` in ascending order of (squared distance of X[row] to the query, row)."""
    m = rows.shape[0]
    dist = np.empty(m, np.float64)
    ids = np.empty(m, np.int64)
    size = np.int64(0)
    for i in rows:
        size = offer(dist, ids, size, m, square_distance(X, i, query), i)
    into_order(dist, ids, size)
    return ids


@kernel
def nearest_each(points, queries, skips, ids, squares):  # type: ignore[no-untyped-def]
    """Fill `ids` int64[n, m] and `squares` with the m nearest points of each row of `queries`, nearest first.

    `skips` int64[n] names a point to leave out for each query (-1: none). At least m others must be present.
    """
    m = ids.shape[1]
    for i in range(queries.shape[0]):
        search_near(
            points, queries[i], np.int64(m), skips[i], np.int64(-1), np.int64(-1), squares[i], ids[i], np.int64(0)
        )
        into_order(squares[i], ids[i], m)
