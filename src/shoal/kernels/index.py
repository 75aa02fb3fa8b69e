"""A set of points that come and go, in a tree of boxes.

Points live twice. `X` holds them as given, in double precision: every distance that decides anything is computed
from it, coordinate by coordinate (see `shoal.kernels.search`). The tree holds a single precision copy, centred, scaled
and rotated to principal axes, which serves to *prune* only. Rotation leaves distances as they are, and puts most
of a distance into the first few coordinates.

The tree is a balanced binary one: node i has the children 2i + 1 and 2i + 2, and cuts its points at their median
along the widest axis. Its leaves, a power of two, keep their points in blocks of LEAF, transposed so that loops over
*points* vectorise; a leaf that is full chains another block. Boxes are kept for every fourth level only, the *tiers*:
tier 0 are the leaves, and box i of a tier holds the boxes 16i .. 16i + 15 of the tier below, which lie side by side so
that a loop over *boxes* vectorises as well. Each box has the time when a point last came to it. A point that leaves
takes its part of the boxes with it, and when half of the points are gone the tree is built anew in place: see
`shoal.kernels.construction`.

Equal points share a slot, which names the lowest id of them; the others hang below it in a heap, where every id is
higher than the one above it. What comes or goes takes a few steps, the lowest id is at hand, and a search that has
enough looks no further down: a million equal rows cost as much as one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.kernels.jit import inlined, kernel, lent
from shoal.kernels.sums import add_at_length, equal_rows

LEAF = 64
FAN = 16
DEEPEST = 160
# Positions in `state` (the first group of each tier comes last), in a row of `leaves` and in a row of `nodes`.
PRESENT, SLOTS, LEAVES, FREE, BUILT, CLOCK, TIERS, FIRST = 0, 1, 2, 3, 4, 5, 6, 7
FILL, FOLLOW, OWNER, LOWEST = 0, 1, 2, 3
AXIS, HEAD = 0, 1
# Positions in `scales`.
SCALE, RADIUS = 0, 1


class Points(NamedTuple):
    """A searchable set of rows of `X`.

    Attributes
    ----------
    X : float64[n, d]
        All points; a row of it is named by its id.
    frame : float64[1, d] or float64[1 + d, d]
        Centre, and the axes of the rotated coordinates (column by column) if they are rotated.
    blocks : float32[b, d + 1, LEAF]
        Screening coordinates of the present points, and their squared distances from the pivot.
    ids : int64[b, LEAF]
        The (lowest) id in each slot.
    leaves : int64[b, 4]
        Of each block: slots in use, next block of the same leaf (-1: none), its leaf, a lower bound of its ids.
    nodes : int64[l, 2]
        The axis along which the i-th inner node cuts, and the first block of the i-th leaf.
    cuts : float32[l]
        Where each inner node cuts.
    boxes : float32[g, 2, d + 1, FAN]
        Least and largest coordinates and distances from the pivot in groups of FAN boxes, tier by tier.
    times : int64[g, FAN]
        When a point last came to each box.
    slots : int64[n]
        The slot of each id (block * LEAF + place), -1 if absent.
    twins, others, above : int64[n]
        The two ids below each in the heap of points that are equal to it, and the one above it (-1: none).
    came : int64[n]
        When each id came.
    free : int64[b]
        Stack of unused blocks.
    total : float64[4, d]
        Sum of the present points in unevaluated parts; float64[0, d] if nobody asks for their mean.
    pivot : float32[d]
        Screening coordinates of a point in the middle: the closer it is to a query, the sooner its furthest point is
        found.
    scales : float64[2]
        Scaling factor (a power of two), and the largest norm of any scaled point so far.
    state : int64[15]
        Ids present, slots in use, leaves, unused blocks, slots when the tree was built, the time, tiers, and the
        first group of each tier.
    near : float32[d + 1 + LEAF + DEEPEST], wide : float64[d], stack : int64[DEEPEST]
        Room to work; a thread needs its own.
    """

    X: Array
    frame: Array
    blocks: Array
    ids: Array
    leaves: Array
    nodes: Array
    cuts: Array
    boxes: Array
    times: Array
    slots: Array
    twins: Array
    others: Array
    above: Array
    came: Array
    free: Array
    total: Array
    pivot: Array
    scales: Array
    state: Array
    near: Array
    wide: Array
    stack: Array


@lent
def rotate(frame, scale, pivot, x, wide, out):  # type: ignore[no-untyped-def]
    """Write the screening coordinates of x to `out` float32[d + 1], its squared distance from the pivot last.

    The norm of the coordinates is returned.
    """
    d = x.shape[0]
    if frame.shape[0] == 1:
        for j in range(d):
            wide[j] = (x[j] - frame[0, j]) * scale
    else:
        for j in range(d):
            wide[j] = 0.0
        for j in range(d):
            t = (x[j] - frame[0, j]) * scale
            axis = frame[1 + j]
            for c in range(d):
                wide[c] += t * axis[c]
    norm, square = 0.0, np.float32(0)
    for j in range(d):
        norm += wide[j] * wide[j]
        out[j] = wide[j]
        step = out[j] - pivot[j]
        square += step * step
    out[d] = square
    return np.sqrt(norm)


@inlined
def leaf_of(points, q):  # type: ignore[no-untyped-def]
    """The leaf on whose side of all cuts a point with screening coordinates q lies."""
    node, last = np.int64(0), points.state[LEAVES] - 1
    while node < last:
        node = 2 * node + (1 if q[points.nodes[node, AXIS]] < points.cuts[node] else 2)
    return node - last


@lent
def put(points, i):  # type: ignore[no-untyped-def]
    """Make row i present."""
    X, state, boxes = points.X, points.state, points.boxes
    d = X.shape[1]
    q = points.near[: d + 1]
    norm = rotate(points.frame, points.scales[SCALE], points.pivot, X[i], points.wide, q)
    points.scales[RADIUS] = max(points.scales[RADIUS], norm)
    leaf = leaf_of(points, q)
    at = leaf
    for tier in range(state[TIERS]):
        group, lane = state[FIRST + tier] + at // FAN, at % FAN
        points.times[group, lane] = state[CLOCK]
        for j in range(d + 1):
            if q[j] < boxes[group, 0, j, lane]:
                boxes[group, 0, j, lane] = q[j]
            if q[j] > boxes[group, 1, j, lane]:
                boxes[group, 1, j, lane] = q[j]
        at //= FAN
    slot = _slot_of_equals(points, leaf, i)
    if slot < 0:
        slot = _open_slot(points, leaf)
        for j in range(d + 1):
            points.blocks[slot // LEAF, j, slot % LEAF] = q[j]
        points.ids[slot // LEAF, slot % LEAF] = -1
    b, p = slot // LEAF, slot % LEAF
    points.twins[i] = points.others[i] = points.above[i] = -1
    points.ids[b, p] = _merge(points, points.ids[b, p], i)
    points.above[points.ids[b, p]] = -1
    points.leaves[b, LOWEST] = min(points.leaves[b, LOWEST], i)
    points.slots[i] = slot
    points.came[i] = state[CLOCK]
    state[PRESENT] += 1
    for j in range(d if points.total.shape[0] else 0):
        add_at_length(points.total, j, X[i, j])


@lent
def _slot_of_equals(points, leaf, i):  # type: ignore[no-untyped-def]
    """The slot in a leaf whose points are equal to row i, -1 if there is none; `near` has its screening coordinates."""
    first = points.near[0]
    b = points.nodes[leaf, HEAD]
    while b >= 0:
        hits = 0
        for p in range(points.leaves[b, FILL]):
            hits += points.blocks[b, 0, p] == first
        for p in range(points.leaves[b, FILL] if hits > 0 else 0):
            if points.blocks[b, 0, p] == first and equal_rows(points.X, points.ids[b, p], i):
                return b * LEAF + p
        b = points.leaves[b, FOLLOW]
    return np.int64(-1)


@lent
def _open_slot(points, leaf):  # type: ignore[no-untyped-def]
    """Return a new slot of a leaf."""
    state = points.state
    b = points.nodes[leaf, HEAD]
    if points.leaves[b, FILL] == LEAF:
        state[FREE] -= 1
        new = points.free[state[FREE]]
        info = points.leaves[new]
        info[FILL], info[FOLLOW], info[OWNER] = 0, b, leaf
        points.nodes[leaf, HEAD] = new
        b = new
    info = points.leaves[b]
    if info[FILL] == 0:
        info[LOWEST] = points.X.shape[0]
    info[FILL] += 1
    state[SLOTS] += 1
    return b * LEAF + info[FILL] - 1


@lent
def _merge(points, a, b):  # type: ignore[no-untyped-def]
    """Make one heap of two (-1: none), whose ids differ, and return its lowest id: a skew heap, which needs no balance.

    What is above that id is left to the caller.
    """
    twins, others, above = points.twins, points.others, points.above
    if a < 0 or 0 <= b < a:
        a, b = b, a
    lowest = a
    while b >= 0:
        below = others[a]
        others[a] = twins[a]
        if 0 <= below < b:
            below, b = b, below
        # Now b is the lower one.
        twins[a], above[b] = b, a
        a, b = b, below
    return lowest


@lent
def following(points, i, below):  # type: ignore[no-untyped-def]
    """The id after i on a walk through all equal to it, -1 at the end; those below i are left out unless `below`."""
    twins, others, above = points.twins, points.others, points.above
    if below and twins[i] >= 0:
        return twins[i]
    if below and others[i] >= 0:
        return others[i]
    up = above[i]
    while up >= 0:
        if twins[up] == i and others[up] >= 0:
            return others[up]
        i, up = up, above[up]
    return up


@kernel
def put_all(points, rows):  # type: ignore[no-untyped-def]
    """Make all `rows` present."""
    for i in rows:
        put(points, i)


@kernel
def recentre(points, mean):  # type: ignore[no-untyped-def]
    """Make `mean` the pivot."""
    d, state, boxes, pivot = mean.shape[0], points.state, points.boxes, points.pivot
    for j in range(d):
        pivot[j] = 0
    rotate(points.frame, points.scales[SCALE], pivot, mean, points.wide, points.near)
    for j in range(d):
        pivot[j] = points.near[j]
    for leaf in range(state[LEAVES]):
        low, high = np.float32(np.inf), np.float32(-np.inf)
        b = points.nodes[leaf, HEAD]
        while b >= 0:
            block = points.blocks[b]
            for p in range(LEAF):
                block[d, p] = 0
            for j in range(d):
                for p in range(LEAF):
                    step = block[j, p] - pivot[j]
                    block[d, p] += step * step
            for p in range(points.leaves[b, FILL]):
                low, high = min(low, block[d, p]), max(high, block[d, p])
            b = points.leaves[b, FOLLOW]
        boxes[leaf // FAN, 0, d, leaf % FAN], boxes[leaf // FAN, 1, d, leaf % FAN] = low, high
    for tier in range(1, state[TIERS]):
        below = state[FIRST + tier - 1]
        for at in range(state[FIRST + tier] - below):
            group = state[FIRST + tier] + at // FAN
            low, high = np.float32(np.inf), np.float32(-np.inf)
            for p in range(FAN):
                low, high = min(low, boxes[below + at, 0, d, p]), max(high, boxes[below + at, 1, d, p])
            boxes[group, 0, d, at % FAN], boxes[group, 1, d, at % FAN] = low, high


@lent
def take_out(points, i):  # type: ignore[no-untyped-def]
    """Remove row i."""
    X, twins, others, above = points.X, points.twins, points.others, points.above
    b, p = points.slots[i] // LEAF, points.slots[i] % LEAF
    points.slots[i] = -1
    points.state[PRESENT] -= 1
    for j in range(X.shape[1] if points.total.shape[0] else 0):
        add_at_length(points.total, j, -X[i, j])
    below, up = _merge(points, twins[i], others[i]), above[i]
    twins[i] = others[i] = above[i] = -1
    if below >= 0:
        above[below] = up
    if up < 0 and below < 0:
        _close_slot(points, b, p)
    elif up < 0:
        points.ids[b, p] = below
    elif twins[up] == i:
        twins[up] = below
    else:
        others[up] = below


@lent
def _close_slot(points, b, p):  # type: ignore[no-untyped-def]
    """Remove a slot: the last one of its leaf takes its place, and the boxes shrink."""
    leaves, blocks = points.leaves, points.blocks
    leaf = leaves[b, OWNER]
    head = points.nodes[leaf, HEAD]
    last = leaves[head, FILL] - 1
    single = leaves[head, FOLLOW] < 0
    for j in range(blocks.shape[1]):
        y = blocks[b, j, p]
        blocks[b, j, p] = blocks[head, j, last]
        if single:
            _shrink(points, leaf, j, y, blocks[head, j, :last])
    moved = points.ids[head, last]
    points.ids[b, p] = moved
    leaves[b, LOWEST] = min(leaves[b, LOWEST], moved)
    if b != head or p != last:
        while moved >= 0:
            points.slots[moved] = b * LEAF + p
            moved = following(points, moved, True)
    leaves[head, FILL] = last
    if last == 0 and not single:
        points.nodes[leaf, HEAD] = leaves[head, FOLLOW]
        points.free[points.state[FREE]] = head
        points.state[FREE] += 1
    points.state[SLOTS] -= 1


@lent
def _shrink(points, leaf, j, y, left):  # type: ignore[no-untyped-def]
    """Shrink the boxes above a leaf along axis j, as far as they end at y, which is gone; `left` are still there."""
    boxes, state = points.boxes, points.state
    at = leaf
    for tier in range(state[TIERS]):
        group, lane = state[FIRST + tier] + at // FAN, at % FAN
        empty = tier == 0 and left.shape[0] == 0
        lower, upper = empty or y == boxes[group, 0, j, lane], empty or y == boxes[group, 1, j, lane]
        if not (lower or upper):
            return
        low, high = np.float32(np.inf), np.float32(-np.inf)
        if tier == 0:
            for t in left:
                low = t if t < low else low
                high = t if t > high else high
        else:
            below = state[FIRST + tier - 1] + at
            for p in range(FAN):
                low = boxes[below, 0, j, p] if boxes[below, 0, j, p] < low else low
                high = boxes[below, 1, j, p] if boxes[below, 1, j, p] > high else high
        if lower:
            boxes[group, 0, j, lane] = low
        if upper:
            boxes[group, 1, j, lane] = high
        at //= FAN


@kernel
def drop(points, rows):  # type: ignore[no-untyped-def]
    """Remove `rows`."""
    for i in rows:
        take_out(points, i)
