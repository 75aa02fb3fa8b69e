"""How the tree of `shoal.kernels.index` is built: from rows, anew from what is left, or empty for points to come."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.kernels.index import (
    AXIS,
    BUILT,
    CLOCK,
    DEEPEST,
    FAN,
    FILL,
    FIRST,
    FOLLOW,
    FREE,
    HEAD,
    LEAF,
    LEAVES,
    LOWEST,
    OWNER,
    PRESENT,
    RADIUS,
    SCALE,
    SLOTS,
    TIERS,
    Points,
    following,
    rotate,
)
from shoal.kernels.jit import kernel, lent
from shoal.kernels.sums import add_all, equal_rows

# Up to so many columns, points are rotated to principal axes.
MOST_ROTATED = 256
# Columns copied at a time.
COPIED = 8
# Bytes of a cache line, the arrays that begin at one, and those that copies share.
LINE = 64
IN_LINES, SHARED = ("blocks", "boxes", "near"), ("X", "frame")


@lent
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


@lent
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
            row = following(points, row, True)


@lent
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
            if equal_rows(X, i, other):
                twins[other] = i
                break
            at = (at + 1) & (size - 1)
        table[at] = i
    return firsts[:count]


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
        blocks=_at_lines((blocks, d + 1, LEAF)),
        ids=np.empty((blocks, LEAF), np.int64),
        leaves=np.zeros((blocks, 4), np.int64),
        nodes=np.zeros((leaves, 2), np.int64),
        cuts=np.empty(leaves, np.float32),
        boxes=_at_lines((groups, 2, d + 1, FAN)),
        times=np.empty((groups, FAN), np.int64),
        slots=np.full(n, -1, np.int64),
        twins=np.full(n, -1, np.int64),
        others=np.full(n, -1, np.int64),
        above=np.full(n, -1, np.int64),
        came=np.zeros(n, np.int64),
        free=np.empty(blocks, np.int64),
        total=np.zeros((4 if means else 0, d)),
        pivot=np.zeros(d, np.float32),
        scales=np.array([scale, 0.0]),
        state=np.zeros(FIRST + 8, np.int64),
        near=_room(d),
        wide=np.empty(d),
        stack=np.empty(DEEPEST, np.int64),
    )
    build(points, np.empty((0, d + 1), np.float32), np.empty(0, np.int64))
    return points


def _at_lines(shape: tuple[int, ...], before: int = 0) -> Array:
    """Return an empty array of single precision; what comes after `before` numbers begins at a cache line.

    A vector that is spread over two lines takes twice as long to load.
    """
    size, line = math.prod(shape), LINE // 4
    memory = np.empty(size + line, np.float32)
    skipped = (-(memory.ctypes.data // 4 + before)) % line
    return memory[skipped : skipped + size].reshape(shape)


def _room(d: int) -> Array:
    """Return room for the screening coordinates of a query, and for distances, which begin at a cache line."""
    return _at_lines((d + 1 + LEAF + DEEPEST,), d + 1)


def tidy(points: Points) -> None:
    """Build the tree anew if half of its points are gone, or if far more came than it was made for."""
    slots, built = points.state[SLOTS], points.state[BUILT]
    if (2 * slots < built and built > 4 * LEAF) or slots > 4 * LEAF * points.state[LEAVES]:
        build(points, *gather(points))


def fill(points: Points, rows: Array) -> None:
    """Make the ascending `rows` the only ones present, equal ones as one point, and build the tree for them."""
    for array in (points.slots, points.twins, points.others, points.above):
        array[:] = -1
    points.total[:] = 0.0
    firsts = twin_lists(points.X, rows, points.twins)
    followed = np.flatnonzero(points.twins >= 0)
    points.above[points.twins[followed]] = followed
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
    d = X.shape[1]
    widest, centre = 0.0, np.empty(d)
    for first in range(0, d, COPIED):  # a copy of all would be as large as the table
        columns = np.ascontiguousarray(X[:, first : first + COPIED].T)
        widest = max(widest, float((columns.max(axis=1) - columns.min(axis=1)).max()))
        centre[first : first + COPIED] = columns.mean(axis=1)
    scale = 2.0 ** -(math.frexp(widest)[1] if widest > 0 else 0)
    if not 1 < d <= MOST_ROTATED or len(X) <= LEAF:
        return centre[None, :], scale
    some = (X[:: max(1, len(X) // 5000)] - centre) * scale
    axes = np.linalg.eigh(np.cov(some, rowvar=False))[1][:, ::-1]
    return np.vstack([centre[None, :], axes]), scale


def for_thread(points: Points) -> Points:
    """Return the same set with room to work of its own, so that threads can search side by side."""
    return points._replace(near=_room(points.X.shape[1]), wide=points.wide.copy(), stack=points.stack.copy())


def copied(points: Points) -> Points:
    """Return a copy that can be emptied while the original stays."""
    own = {name: array.copy() for name, array in points._asdict().items() if name not in SHARED + IN_LINES}
    for name in IN_LINES:
        array = getattr(points, name)
        own[name] = _at_lines(array.shape, points.X.shape[1] + 1 if name == "near" else 0)
        own[name][...] = array
    return points._replace(**own)
