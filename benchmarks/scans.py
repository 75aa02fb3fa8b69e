"""Exact nearest and furthest search by a scan of all points: what the accelerations of MDAV are measured on.

The points are kept twice. `X` holds them as given, in double precision: every distance that decides
anything is computed from it, coordinate by coordinate. `blocks` holds a shifted and scaled single
precision copy, transposed in blocks of `BLOCK` points so that the loop over *points* vectorises; it
is used only to *screen*. For a point y and a query q (both shifted)

    |y - q|^2 = 2 (|y|^2 / 2 - <y, q>) + |q|^2,

so an inner product and a stored half norm rank all points. With u = 2^-24, rounding disturbs
s = |y|^2 / 2 - <y, q> by at most u ((d + 7) |y|^2 / 2 + (d + 3) |q|^2 / 2): coordinates and norms rounded
to single precision, d products and sums in any order, one subtraction, and 2 |y||q| <= |y|^2 + |q|^2. The
first part is folded into the two stored half norms `low` and `high`, the second into the threshold
(`slack`), and a point is passed over only if it is provably too far (or too near). The few others are
measured exactly. The result is what a plain loop in double precision gives, ties to the lowest id.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.kernels.jit import kernel
from shoal.kernels.search import into_order, offer
from shoal.kernels.sums import add_at_length, square_distance

BLOCK = 128
UNIT = {np.dtype(np.float32): 2.0**-24, np.dtype(np.float64): 2.0**-53}
TINY = {np.dtype(np.float32): 2.0**-120, np.dtype(np.float64): 2.0**-1000}


class Points(NamedTuple):
    """A searchable set of rows of `X`.

    Attributes
    ----------
    X : float64[n, d]
        All points; a row of it is named by its id.
    blocks : float32[ceil(n / BLOCK), d, BLOCK]
        Screening copy of the present points, in the first slots.
    low, high : float32[ceil(n / BLOCK), BLOCK]
        Half squared norm of each slot, less and plus the rounding that screening may suffer.
    ids : int64[n]
        The id in each slot.
    slots : int64[n]
        The slot of each id, -1 if absent.
    centre : float64[d]
        What is subtracted from a point before it is scaled.
    total : float64[4, d]
        Sum of the present points in unevaluated parts.
    present : int64[1]
        How many points are present.
    scales : float64[4]
        Scaling factor (a power of two), rounding folded into the half norms, slack for each unit of
        |q|^2, and an absolute slack against underflow.
    """

    X: Array
    blocks: Array
    low: Array
    high: Array
    ids: Array
    slots: Array
    centre: Array
    total: Array
    present: Array
    scales: Array


@kernel
def put(points, i):  # type: ignore[no-untyped-def]
    """Make row i present."""
    slot = points.present[0]
    b, p = slot // BLOCK, slot % BLOCK
    norm = 0.0
    for j in range(points.X.shape[1]):
        y = (points.X[i, j] - points.centre[j]) * points.scales[0]
        points.blocks[b, j, p] = y
        norm += y * y
        add_at_length(points.total, j, points.X[i, j])
    points.low[b, p] = 0.5 * norm * (1.0 - points.scales[1]) - points.scales[3]
    points.high[b, p] = 0.5 * norm * (1.0 + points.scales[1]) + points.scales[3]
    points.ids[slot] = i
    points.slots[i] = slot
    points.present[0] = slot + 1


@kernel
def put_all(points, rows):  # type: ignore[no-untyped-def]
    """Make all `rows` present."""
    for i in rows:
        put(points, i)


@kernel
def take_out(points, i):  # type: ignore[no-untyped-def]
    """Remove row i; the last slot moves into its place, so that the present points stay dense."""
    slot = points.slots[i]
    last = points.present[0] - 1
    b, p = slot // BLOCK, slot % BLOCK
    bl, pl = last // BLOCK, last % BLOCK
    for j in range(points.X.shape[1]):
        points.blocks[b, j, p] = points.blocks[bl, j, pl]
        add_at_length(points.total, j, -points.X[i, j])
    points.low[b, p] = points.low[bl, pl]
    points.high[b, p] = points.high[bl, pl]
    moved = points.ids[last]
    points.ids[slot] = moved
    points.slots[moved] = slot
    points.slots[i] = -1
    points.present[0] = last


@kernel
def drop(points, rows):  # type: ignore[no-untyped-def]
    """Remove `rows`."""
    for i in rows:
        take_out(points, i)


@kernel
def scan(points, query, m, furthest, skip, other):  # type: ignore[no-untyped-def]
    """Find the m nearest present points and, if asked, the furthest one.

    Parameters
    ----------
    points : Points
    query : float64[d]
    m : int
        How many neighbours; fewer come back if fewer are present.
    furthest : bool
        Whether the furthest point is looked for as well.
    skip, other : int
        Ids that are treated as absent (-1: none).

    Returns
    -------
    ids : int64[m'], distances : float64[m']
        In ascending order of (distance, id).
    far : int
        Id of the furthest point (lowest id among ties), -1 if there is none or it was not asked for.
    far_distance : float
    """
    d = query.shape[0]
    count = points.present[0]
    scale = points.scales[0]
    q = np.empty(d, points.blocks.dtype)
    norm = 0.0
    for j in range(d):
        y = (query[j] - points.centre[j]) * scale
        q[j] = y
        norm += y * y
    slack = points.scales[2] * norm + points.scales[3]
    if not norm < 1e60:  # beyond the range of single precision: every point is measured
        q[:] = 0
        slack = np.inf

    dist = np.empty(m, np.float64)
    ids = np.empty(m, np.int64)
    size = np.int64(0)  # not a literal, for which helpers would be compiled once more
    far, far_distance = np.int64(-1), -1.0
    below = points.low.dtype.type(np.inf if m > 0 else -np.inf)
    above = points.low.dtype.type(-np.inf if furthest else np.inf)
    acc = np.empty(BLOCK, points.blocks.dtype)

    for b in range((count + BLOCK - 1) // BLOCK):
        acc[:] = 0
        j = 0
        while j + 4 <= d:
            q0, q1, q2, q3 = q[j], q[j + 1], q[j + 2], q[j + 3]
            x0, x1, x2, x3 = (
                points.blocks[b, j],
                points.blocks[b, j + 1],
                points.blocks[b, j + 2],
                points.blocks[b, j + 3],
            )
            for p in range(BLOCK):
                acc[p] += (x0[p] * q0 + x1[p] * q1) + (x2[p] * q2 + x3[p] * q3)
            j += 4
        while j < d:
            q0 = q[j]
            x0 = points.blocks[b, j]
            for p in range(BLOCK):
                acc[p] += x0[p] * q0
            j += 1
        low, high = points.low[b], points.high[b]
        width = min(BLOCK, count - b * BLOCK)
        hits = 0
        for p in range(width):
            hits += (low[p] - acc[p] <= below) | (high[p] - acc[p] >= above)
        if hits == 0:
            continue
        for p in range(width):
            near = low[p] - acc[p] <= below
            if not near and high[p] - acc[p] < above:
                continue
            i = points.ids[b * BLOCK + p]
            if i == skip or i == other:
                continue
            exact = square_distance(points.X, i, query)
            if near:
                size = offer(dist, ids, size, m, exact, i)
                if size == m:
                    t = 0.5 * (dist[0] * scale * scale - norm) + slack
                    below = points.low.dtype.type(t + abs(t) * 2.0**-22)
            if furthest and (exact > far_distance or (exact == far_distance and i < far)):
                far, far_distance = i, exact
                t = 0.5 * (exact * scale * scale - norm) - slack
                above = points.low.dtype.type(t - abs(t) * 2.0**-22)
    into_order(dist, ids, size)
    return ids[:size], dist[:size], far, far_distance


def new_points(X: Array, like: Array | None = None, dtype: type = np.float32) -> Points:
    """Return a set over the rows of X with none of them present.

    Parameters
    ----------
    X : float64[n, d]
    like : float64[m, d], optional
        Where the points will lie, if X is yet to be filled.
    dtype : type
        Precision of the screening copy.
    """
    n, d = X.shape
    seen = X if like is None else like
    lowest, highest = seen.min(axis=0), seen.max(axis=0)
    widest = float((highest - lowest).max())
    kind = np.dtype(dtype)
    nblocks = (n + BLOCK - 1) // BLOCK
    return Points(
        X=X,
        blocks=np.zeros((nblocks, d, BLOCK), kind),
        low=np.zeros((nblocks, BLOCK), kind),
        high=np.zeros((nblocks, BLOCK), kind),
        ids=np.zeros(n, np.int64),
        slots=np.full(n, -1, np.int64),
        centre=lowest + 0.5 * (highest - lowest),
        total=np.zeros((4, d)),
        present=np.zeros(1, np.int64),
        scales=scales_for(widest, d, UNIT[kind], TINY[kind]),
    )


def scales_for(widest: float, d: int, unit: float, tiny: float) -> Array:
    """Return the `scales` of points whose widest coordinate spans `widest`."""
    exponent = math.frexp(widest)[1] if widest > 0 else 0
    return np.array([2.0**-exponent, 1.01 * (d + 8) * unit, 0.505 * (d + 4) * unit, d * tiny])
