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
takes its part of the boxes with it, and when half of the points are gone the tree is built anew in place (`tidy`).

Equal records are one point: a slot holds the lowest row of them and `twins` leads to the others, so that a
million equal rows cost as much as one.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.jit import inlined, inner, kernel

LEAF = 64
FAN = 16
DEEPEST = 160
MOST_ROTATED = 256
# Positions in `state` (the first group of each tier comes last), in a row of `leaves` and in a row of `nodes`.
PRESENT, SLOTS, LEAVES, FREE, BUILT, CLOCK, TIERS, FIRST = 0, 1, 2, 3, 4, 5, 6, 7
FILL, FOLLOW, OWNER, LOWEST = 0, 1, 2, 3
AXIS, HEAD = 0, 1
# Positions in `scales`.
SCALE, RADIUS = 0, 1

Array = np.ndarray[Any, Any]


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
    twins : int64[n]
        The next higher present id that is equal to this one, -1 if there is none.
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
    came: Array
    free: Array
    total: Array
    pivot: Array
    scales: Array
    state: Array
    near: Array
    wide: Array
    stack: Array


@inner
def square_distance(X, i, q):  # type: ignore[no-untyped-def]
    """Squared distance of row i of X to q, summed coordinate by coordinate."""
    acc = 0.0
    for j in range(q.shape[0]):
        t = X[i, j] - q[j]
        acc += t * t
    return acc


@inner
def add_exactly(pair, j, x):  # type: ignore[no-untyped-def]
    """Add x to the unevaluated sum pair[0, j] + pair[1, j] (error-free transformation)."""
    high = pair[0, j]
    total = high + x
    part = total - high
    error = (high - (total - part)) + (x - part) + pair[1, j]
    pair[0, j] = total + error
    pair[1, j] = error - (pair[0, j] - total)


@inner
def add_at_length(parts, j, x):  # type: ignore[no-untyped-def]
    """Add x to the unevaluated sum of parts[:, j], the error of each part going into the next.

    Four parts keep the sum exact when records that are 1e30 times larger than the others come and go.
    """
    for c in range(parts.shape[0]):
        old = parts[c, j]
        new = old + x
        part = new - old
        x = (old - (new - part)) + (x - part)
        parts[c, j] = new


@inner
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


@inner
def _select(R, rows, start, stop, middle, axis):  # type: ignore[no-untyped-def]
    """Reorder R[start:stop] and `rows` so that those before `middle` are not above, along `axis`, those after."""
    d = R.shape[1]
    low, high = start, stop - 1
    while low < high:
        a, b, c = R[low, axis], R[(low + high) // 2, axis], R[high, axis]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while R[i, axis] < pivot:
                i += 1
            while R[j, axis] > pivot:
                j -= 1
            if i <= j:
                for c in range(d):
                    R[i, c], R[j, c] = R[j, c], R[i, c]
                rows[i], rows[j] = rows[j], rows[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@kernel
def build(points, R, rows):  # type: ignore[no-untyped-def]
    """Build the tree over slots with the screening coordinates R float32[m, d + 1] of `rows`; both are reordered."""
    m, d = R.shape
    state, boxes = points.state, points.boxes
    leaves, tiers = 1, 1
    while leaves * LEAF < m:
        leaves *= 2
    state[FIRST], width = 0, leaves
    while width > FAN:
        groups = (width + FAN - 1) // FAN
        state[FIRST + tiers] = state[FIRST + tiers - 1] + groups
        tiers += 1
        width = groups
    state[SLOTS], state[LEAVES], state[BUILT], state[TIERS] = m, leaves, m, tiers
    _clear(boxes, points.times, state[CLOCK])
    starts = np.empty(2 * leaves, np.int64)
    starts[0], starts[1] = 0, m  # node i of a level has R[starts[i] : starts[i + 1]]
    low, high = np.empty(d, np.float32), np.empty(d, np.float32)
    first, width, below = 0, 1, 0  # the first node of the level, its width, and the levels below it
    while width << below < leaves:
        below += 1
    while True:
        for at in range(width - 1, -1, -1):
            start, stop = starts[at], starts[at + 1]
            for j in range(d):
                low[j], high[j] = np.inf, -np.inf
            for i in range(start, stop):
                for j in range(d):
                    y = R[i, j]
                    low[j] = y if y < low[j] else low[j]
                    high[j] = y if y > high[j] else high[j]
            if below % 4 == 0 and below // 4 < tiers:
                group = state[FIRST + below // 4] + at // FAN
                for j in range(d):
                    boxes[group, 0, j, at % FAN], boxes[group, 1, j, at % FAN] = low[j], high[j]
            if below == 0:
                _fill(points, at, R, rows, start, stop)
                continue
            axis: Any = np.int64(0)  # a plain 0 would have `_select` compiled once more
            middle = (start + stop) // 2
            for j in range(1, d - 1):
                axis = j if high[j] - low[j] > high[axis] - low[axis] else axis
            _select(R, rows, start, stop, middle, axis)
            points.nodes[first + at, AXIS] = axis
            points.cuts[first + at] = R[middle, axis]
            starts[2 * at + 2] = stop
            starts[2 * at + 1] = middle
            starts[2 * at] = start
        if below == 0:
            break
        first += width
        width *= 2
        below -= 1
    blocks = points.leaves.shape[0]
    state[FREE] = blocks - leaves
    for b in range(leaves, blocks):
        points.free[blocks - 1 - b] = b


@inner
def _fill(points, leaf, R, rows, start, stop):  # type: ignore[no-untyped-def]
    """Put R[start:stop] into the first block of a leaf."""
    points.nodes[leaf, HEAD] = leaf
    info = points.leaves[leaf]
    info[FILL], info[FOLLOW], info[OWNER], info[LOWEST] = stop - start, -1, leaf, points.X.shape[0]
    for i in range(start, stop):
        p = i - start
        for j in range(R.shape[1]):
            points.blocks[leaf, j, p] = R[i, j]
        row = rows[i]
        points.ids[leaf, p] = row
        info[LOWEST] = min(info[LOWEST], row)
        while row >= 0:
            points.slots[row] = leaf * LEAF + p
            row = points.twins[row]


@inner
def _clear(boxes, times, now):  # type: ignore[no-untyped-def]
    """Make all boxes empty."""
    for group in range(boxes.shape[0]):
        for p in range(FAN):
            times[group, p] = now
            for j in range(boxes.shape[2]):
                boxes[group, 0, j, p], boxes[group, 1, j, p] = np.inf, -np.inf


@kernel
def gather(points):  # type: ignore[no-untyped-def]
    """Screening coordinates and ids of all slots."""
    m, d = points.state[SLOTS], points.blocks.shape[1]
    R, rows = np.empty((m, d), np.float32), np.empty(m, np.int64)
    count = 0
    for leaf in range(points.state[LEAVES]):
        b = points.nodes[leaf, HEAD]
        while b >= 0:
            for p in range(points.leaves[b, FILL]):
                for j in range(d):
                    R[count, j] = points.blocks[b, j, p]
                rows[count] = points.ids[b, p]
                count += 1
            b = points.leaves[b, FOLLOW]
    return R, rows


@inlined
def leaf_of(points, q):  # type: ignore[no-untyped-def]
    """The leaf on whose side of all cuts a point with screening coordinates q lies."""
    node, last = np.int64(0), points.state[LEAVES] - 1
    while node < last:
        node = 2 * node + (1 if q[points.nodes[node, AXIS]] < points.cuts[node] else 2)
    return node - last


@inner
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
    b = points.nodes[leaf, HEAD]
    if points.leaves[b, FILL] == LEAF:
        state[FREE] -= 1
        new = points.free[state[FREE]]
        info = points.leaves[new]
        info[FILL], info[FOLLOW], info[OWNER] = 0, b, leaf
        points.nodes[leaf, HEAD] = new
        b = new
    info = points.leaves[b]
    p = info[FILL]
    info[LOWEST] = i if p == 0 else min(info[LOWEST], i)
    info[FILL] += 1
    for j in range(d + 1):
        points.blocks[b, j, p] = q[j]
    points.ids[b, p] = i
    points.slots[i] = b * LEAF + p
    points.twins[i] = -1
    points.came[i] = state[CLOCK]
    state[SLOTS] += 1
    state[PRESENT] += 1
    for j in range(d if points.total.shape[0] else 0):
        add_at_length(points.total, j, X[i, j])


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


@inner
def take_out(points, i):  # type: ignore[no-untyped-def]
    """Remove row i."""
    X, slots, twins, ids = points.X, points.slots, points.twins, points.ids
    slot = slots[i]
    b, p = slot // LEAF, slot % LEAF
    slots[i] = -1
    points.state[PRESENT] -= 1
    for j in range(X.shape[1] if points.total.shape[0] else 0):
        add_at_length(points.total, j, -X[i, j])
    twin = twins[i]
    twins[i] = -1
    first = ids[b, p]
    if first != i:
        while twins[first] != i:
            first = twins[first]
        twins[first] = twin
    elif twin >= 0:
        ids[b, p] = twin
    else:
        _close_slot(points, b, p)


@inner
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
            moved = points.twins[moved]
    leaves[head, FILL] = last
    if last == 0 and not single:
        points.nodes[leaf, HEAD] = leaves[head, FOLLOW]
        points.free[points.state[FREE]] = head
        points.state[FREE] += 1
    points.state[SLOTS] -= 1


@inner
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


@kernel
def twin_lists(X, rows, twins):  # type: ignore[no-untyped-def]
    """Link equal ones among the ascending `rows` in `twins`; return the first row of each kind."""
    d = X.shape[1]
    size = 16
    while size < 2 * rows.shape[0]:
        size *= 2
    table = np.empty(size, np.int64)  # the last row of each kind
    for place in range(size):
        table[place] = -1
    firsts = np.empty(rows.shape[0], np.int64)
    count = 0
    bits = np.empty(1)
    for i in rows:
        key = np.uint64(1469598103934665603)
        for j in range(d):
            bits[0] = X[i, j] + 0.0  # makes -0.0 equal to 0.0
            key = (key ^ bits.view(np.uint64)[0]) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
        at = np.int64(key & np.uint64(size - 1))
        twins[i] = -1
        while True:
            other = table[at]
            if other < 0:
                firsts[count] = i
                count += 1
                break
            equal = True
            for j in range(d):
                if X[i, j] != X[other, j]:
                    equal = False
                    break
            if equal:
                twins[other] = i
                break
            at = (at + 1) & (size - 1)
        table[at] = i
    return firsts[:count]


@kernel
def add_all(X, rows, parts):  # type: ignore[no-untyped-def]
    """Add some rows of X to the unevaluated sums `parts`."""
    for i in rows:
        for j in range(X.shape[1]):
            add_at_length(parts, j, X[i, j])


@kernel
def rotated(points, X, rows):  # type: ignore[no-untyped-def]
    """Screening coordinates of some rows of X."""
    R = np.empty((rows.shape[0], X.shape[1] + 1), np.float32)
    for p in range(rows.shape[0]):
        norm = rotate(points.frame, points.scales[SCALE], points.pivot, X[rows[p]], points.wide, R[p])
        points.scales[RADIUS] = max(points.scales[RADIUS], norm)
    return R


def new_points(X: Array, like: Array | None = None, *, means: bool = False) -> Points:
    """Return a set over the rows of X with none of them present (a tree of one leaf, with room for more).

    Parameters
    ----------
    X : float64[n, d]
    like : float64[m, d], optional
        Where the points will lie, if X is yet to be filled.
    means : bool
        Whether the mean of the present points will be asked for.
    """
    n, d = X.shape
    frame, scale = principal_axes(X if like is None else like)
    leaves = 1
    while leaves * LEAF < n:
        leaves *= 2
    blocks = leaves + n // LEAF + 1
    groups, width = 1, leaves
    while width > FAN:
        width = -(-width // FAN)
        groups += width
    points = Points(
        X=X,
        frame=frame,
        blocks=np.empty((blocks, d + 1, LEAF), np.float32),
        ids=np.empty((blocks, LEAF), np.int64),
        leaves=np.zeros((blocks, 4), np.int64),
        nodes=np.zeros((leaves, 2), np.int64),
        cuts=np.empty(leaves, np.float32),
        boxes=np.empty((groups, 2, d + 1, FAN), np.float32),
        times=np.empty((groups, FAN), np.int64),
        slots=np.full(n, -1, np.int64),
        twins=np.full(n, -1, np.int64),
        came=np.zeros(n, np.int64),
        free=np.empty(blocks, np.int64),
        total=np.zeros((4 if means else 0, d)),
        pivot=np.zeros(d, np.float32),
        scales=np.array([scale, 0.0]),
        state=np.zeros(FIRST + 8, np.int64),
        near=np.empty(d + 1 + LEAF + DEEPEST, np.float32),
        wide=np.empty(d),
        stack=np.empty(DEEPEST, np.int64),
    )
    build(points, np.empty((0, d + 1), np.float32), np.empty(0, np.int64))
    return points


def tidy(points: Points) -> None:
    """Build the tree anew if half of its points are gone, or if far more came than it was made for."""
    slots, built = points.state[SLOTS], points.state[BUILT]
    if (2 * slots < built and built > 4 * LEAF) or slots > 4 * LEAF * points.state[LEAVES]:
        build(points, *gather(points))


def fill(points: Points, rows: Array) -> None:
    """Make the ascending `rows` the only ones present, equal ones as one point, and build the tree for them."""
    points.slots[:] = -1
    points.total[:] = 0.0
    firsts = twin_lists(points.X, rows, points.twins)
    build(points, rotated(points, points.X, firsts), firsts)
    points.state[PRESENT] = len(rows)
    if len(points.total):
        add_all(points.X, rows, points.total)


def prepare(points: Points, like: Array) -> None:
    """Build an empty tree for points that will come one by one and lie like the rows of `like`."""
    some = np.arange(0, len(like), max(1, len(like) // max(1, len(points.X))))[: len(points.X)]
    build(points, rotated(points, like, some), np.arange(len(some)))
    # Take everything out again; the tree stays.
    points.slots[:] = -1
    points.leaves[:, FILL] = 0
    points.boxes[:, 0], points.boxes[:, 1] = np.inf, -np.inf
    points.state[[PRESENT, SLOTS, BUILT]] = 0


def principal_axes(X: Array) -> tuple[Array, float]:
    """Return the frame of the screening coordinates for points like X, and their scale."""
    columns = np.ascontiguousarray(X.T)
    lowest, highest = columns.min(axis=1), columns.max(axis=1)
    d = X.shape[1]
    widest = float((highest - lowest).max())
    scale = 2.0 ** -(math.frexp(widest)[1] if widest > 0 else 0)
    # Halves, as a sum of the largest numbers could overflow.
    centre = 2 * (columns / 2).mean(axis=1) if np.abs(columns).max() > 1e300 else columns.mean(axis=1)
    if not 1 < d <= MOST_ROTATED or len(X) <= LEAF:
        return centre[None, :], scale
    some = (X[:: max(1, len(X) // 5000)] - centre) * scale
    axes = np.linalg.eigh(np.cov(some, rowvar=False))[1][:, ::-1]
    return np.vstack([centre[None, :], axes]), scale


def for_thread(points: Points) -> Points:
    """Return the same set with room to work of its own, so that threads can search side by side."""
    return points._replace(near=points.near.copy(), wide=points.wide.copy(), stack=points.stack.copy())


def copied(points: Points) -> Points:
    """Return a copy that can be emptied while the original stays."""
    shared = {"X": points.X, "frame": points.frame}
    return Points(
        **{**{name: array.copy() for name, array in points._asdict().items() if name not in shared}, **shared}
    )
