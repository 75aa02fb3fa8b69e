"""How many points lie nearer to a query than a distance that is known, and how many at that distance.

Whoever links a record to a release asks one thing only: is any other group nearer than the record's own? The own
distance bounds the search from the start, and what is found nearer ends it.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.boxes import boxes_below
from shoal.kernels.index import FAN, FILL, FIRST, FOLLOW, HEAD, LEAF, SLOTS, TIERS, leaf_of
from shoal.kernels.jit import kernel, lent
from shoal.kernels.search import (
    LEAF_TIER,
    TIER_BASE,
    aim,
    measure_block,
    push,
    threshold,
)
from shoal.kernels.sums import square_distance


@lent
def _count_one(points, query, weights, low, high, most):  # type: ignore[no-untyped-def]
    """The weight of the points below the squared distance `low`, and of those from there to `high`.

    The search ends once the first of the two has reached `most`; the second is then not complete.
    """
    d = query.shape[0]
    acc, bounds = points.near[d + 1 : d + 1 + LEAF], points.near[d + 1 + LEAF :]
    state, stack = points.state, points.stack
    nearer, level = np.int64(0), np.int64(0)
    if state[SLOTS] == 0:
        return nearer, level
    q, norm, blind = aim(points, query)
    limit = np.float32(np.inf) if blind else threshold(points, high, norm)
    tier = state[TIERS] - 1
    bounds[0], stack[0], top = 0, state[FIRST + tier] * TIER_BASE + tier, 1
    home = np.int64(-1)
    if tier > 0:
        # What is nearer is most likely where the query lies.
        home = leaf_of(points, q)
        bounds[1], stack[1], top = 0, home * TIER_BASE + LEAF_TIER, 2
    while top > 0:
        top -= 1
        group, tier = stack[top] // TIER_BASE, stack[top] % TIER_BASE
        if tier < LEAF_TIER:
            boxes_below(points.boxes[group], q, acc[:FAN])
            at, base = (group - state[FIRST + tier]) * FAN, top
            for p in range(FAN):
                if acc[p] <= limit and acc[p] < np.inf:
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
            measure_block(points.blocks[b], q, acc, limit)
            for p in range(points.leaves[b, FILL]):
                if acc[p] <= limit:
                    i = points.ids[b, p]
                    square = square_distance(points.X, i, query)
                    if square < low:
                        nearer += weights[i]
                        if nearer >= most:
                            return nearer, level
                    elif square <= high:
                        level += weights[i]
            b = points.leaves[b, FOLLOW]
    return nearer, level


@kernel
def count_nearer(points, queries, own, weights, slack, most, nearer, level):  # type: ignore[no-untyped-def]
    """For each query, count what is nearer than its own point, and what is as near.

    Parameters
    ----------
    points : Points
        All different, and all present.
    queries : float64[q, d]
    own : int64[q]
        The point that belongs to each query.
    weights : int64[n]
        How much each point counts.
    slack : float64[2]
        Relative and absolute: squared distances that differ by no more are equal.
    most : int
        Where so much is nearer, the search ends.
    nearer, level : int64[q]
        Written: the weight of the points that are nearer (at least `most`, or exact), and of those as near as the own
        one, which is among them (exact if less than `most` is nearer).
    """
    for i in range(queries.shape[0]):
        square = square_distance(points.X, own[i], queries[i])
        room = slack[0] * square + slack[1]
        nearer[i], level[i] = _count_one(points, queries[i], weights, square - room, square + room, most)
