"""How near or far what lies in a group of boxes can be; `shoal.kernels.search` allows for rounding."""

from __future__ import annotations

import numpy as np

from shoal.kernels.index import FAN
from shoal.kernels.jit import lent


@lent
def boxes_below(boxes, q, acc):  # type: ignore[no-untyped-def]
    """Squared distances from q to a group of boxes float32[2, d, FAN], written to `acc`; not finite for empty ones.

    Two coordinates are taken at a time, as a loop that does less is unrolled by the compiler, but not vectorised. Where
    there is no second one, the first is taken again and counts nothing.
    """
    d, zero = q.shape[0], np.float32(0)
    for p in range(FAN):
        acc[p] = zero
    for j in range(0, d, 2):
        # Unsigned numbers, which need not be checked for being negative.
        h, i, once = np.uint64(j), np.uint64(min(j + 1, d - 1)), np.float32(j + 1 < d)
        x, low, high = q[h], boxes[0, h], boxes[1, h]
        y, lower, upper = q[i], boxes[0, i], boxes[1, i]
        for p in range(FAN):
            s, t = low[p] - x, x - high[p]
            s = s if s > t else t
            s = s if s > zero else zero
            u, v = lower[p] - y, y - upper[p]
            u = u if u > v else v
            u = once * (u if u > zero else zero)
            acc[p] += s * s + u * u


@lent
def boxes_above(boxes, q, pivot, extra, acc):  # type: ignore[no-untyped-def]
    """Upper bounds of the squared distance from q to what is in a group of boxes, written to `acc`.

    Seen from the pivot, it is |y|^2 - 2 <y, q> + |q|^2 for a point y. Over a box with largest |y| = N that is at most
    N^2 - 2 min <y, q> + |q|^2; the distance of the furthest corner would be far off, as boxes are wide. `extra` stands
    for |q|^2 and for what rounding may do. Minus infinity for empty boxes. Four coordinates are taken at a time, for
    the reason given in `boxes_below`; those that are too many count nothing.
    """
    d = q.shape[0]
    for p in range(FAN):
        acc[p] = boxes[1, d, p] + extra
    for j in range(0, d, 4):
        h, i, k = min(j + 1, d - 1), min(j + 2, d - 1), min(j + 3, d - 1)
        m, x = pivot[j], np.float32(2) * (q[j] - pivot[j])
        m1, x1 = pivot[h], np.float32(2 * (j + 1 < d)) * (q[h] - pivot[h])
        m2, x2 = pivot[i], np.float32(2 * (j + 2 < d)) * (q[i] - pivot[i])
        m3, x3 = pivot[k], np.float32(2 * (j + 3 < d)) * (q[k] - pivot[k])
        side, side1 = boxes[1 if x < 0 else 0, j], boxes[1 if x1 < 0 else 0, h]
        side2, side3 = boxes[1 if x2 < 0 else 0, i], boxes[1 if x3 < 0 else 0, k]
        for p in range(FAN):
            first, second = x * (side[p] - m) + x1 * (side1[p] - m1), x2 * (side2[p] - m2) + x3 * (side3[p] - m3)
            acc[p] -= first + second
    low, high = boxes[0, 0], boxes[1, 0]
    for p in range(FAN):
        acc[p] = acc[p] if low[p] <= high[p] else np.float32(-np.inf)


@lent
def boxes_within(boxes, q, norm, pivot, extra, slack, acc):  # type: ignore[no-untyped-def]
    """Lower the bounds of `boxes_above`, which are in `acc`, by what a box and the ball of its points have in common.

    Seen from the pivot, a point y in the box has |y|^2 <= N^2, so for any m >= 0

        |y|^2 - 2 <y, q> + |q|^2 <= (1 + m) N^2 + |q|^2 + sum over j of max (- 2 y_j q_j - m y_j^2),

    where each y_j lies between the sides of the box: best at -q_j / m or the side next to it. With m = |q| / N the ball
    alone would give (N + |q|)^2. No y_j is further from 0 than N, as a box has points, so that all terms add up to
    (r + |q|)^2 (2d + 4 sqrt(d) + 7) at most. `extra` stands for |q|^2 and rounding, `norm` is |q|, `slack` is added to
    each N.
    """
    inverse, factors, bounds = acc[FAN : 2 * FAN], acc[2 * FAN : 3 * FAN], acc[3 * FAN : 4 * FAN]
    d, one = q.shape[0], np.float32(1)
    for p in range(FAN):
        square = boxes[1, d, p]
        root = np.sqrt(square) + slack
        inverse[p], factors[p] = root / norm, norm / root
        bounds[p] = square * (one + norm / root) + extra
    for j in range(d):
        h = np.uint64(j)
        m, x = pivot[h], q[h] - pivot[h]
        low, high, twice = boxes[0, h], boxes[1, h], np.float32(2) * (q[h] - pivot[h])
        for p in range(FAN):
            y, below, above = -x * inverse[p], low[p] - m, high[p] - m
            y = y if y > below else below
            y = y if y < above else above
            bounds[p] -= y * (twice + factors[p] * y)
    for p in range(FAN):
        acc[p] = bounds[p] if bounds[p] < acc[p] else acc[p]
