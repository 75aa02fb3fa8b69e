"""The first steps of exact pricing for many records: weights are looked for in a tree, not in all pairs.

The weight of two records is w_ij = D_ij / s - (pi_i + pi_j) / (s - 1): see :mod:`shoal.kernels.pricing`, whose
`thresholds` and `neighbour_lists` these kernels stand in for. Records are sorted into a balanced tree of boxes; node v
has the children 2v + 1 and 2v + 2. A box whose least squared distance is D and whose highest price is p holds no record
with a weight below D / s - (pi_i + p) / (s - 1), so it is passed over where that is too much.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import kernel, lent
from shoal.kernels.pricing import SLACK

DEEPEST = 64


@lent
def _square_to_box(boxes, v, x):  # type: ignore[no-untyped-def]
    """The squared distance from x to box v."""
    total = 0.0
    for c in range(x.shape[0]):
        below, above = boxes[v, 0, c] - x[c], x[c] - boxes[v, 1, c]
        step = max(below, above, 0.0)
        total += step * step
    return total


@kernel
def box_all(X, starts, boxes):  # type: ignore[no-untyped-def]
    """Fill the boxes of all nodes: float64[v, 2, d], least and largest coordinates of the records in each.

    Parameters
    ----------
    X : float64[n, d]
        Records in the order of the tree.
    starts : int64[v, 2]
        The first record of each node, and the one after the last.
    boxes : float64[v, 2, d]
    """
    d = X.shape[1]
    inner_nodes = starts.shape[0] // 2
    for v in range(starts.shape[0] - 1, -1, -1):
        for c in range(d):
            if v >= inner_nodes:
                low, high = X[starts[v, 0], c], X[starts[v, 0], c]
                for i in range(starts[v, 0] + 1, starts[v, 1]):
                    low, high = min(low, X[i, c]), max(high, X[i, c])
            else:
                a, b = 2 * v + 1, 2 * v + 2
                low, high = min(boxes[a, 0, c], boxes[b, 0, c]), max(boxes[a, 1, c], boxes[b, 1, c])
            boxes[v, 0, c], boxes[v, 1, c] = low, high


@kernel
def highest(values, starts):  # type: ignore[no-untyped-def]
    """The highest of some values (float64[n]) in each node: float64[v]."""
    count = starts.shape[0]
    top = np.empty(count)
    for v in range(count - 1, -1, -1):
        if v >= count // 2:
            best = -np.inf
            for i in range(starts[v, 0], starts[v, 1]):
                best = max(best, values[i])
            top[v] = best
        else:
            top[v] = max(top[2 * v + 1], top[2 * v + 2])
    return top


@kernel
def tree_thresholds(X, tree, prices, top, size, limit, first, last, halves, theta):  # type: ignore[no-untyped-def]
    """Fill `halves` and `theta` (see `shoal.kernels.pricing.thresholds`) for the records from `first` to `last`.

    Parameters
    ----------
    X : float64[n, d]
    tree : (int64[v, 2], float64[v, 2, d])
        Records and boxes of the nodes.
    prices : float64[n], top : float64[v]
        The prices, and the highest of each node.
    size, limit, first, last
    halves : float64[size, n], theta : float64[n]
    """
    starts, boxes = tree
    inner_nodes, d = starts.shape[0] // 2, X.shape[1]
    scale, share = 1.0 / size, 1.0 / (size - 1)
    least, stack, bounds = np.empty(size - 1), np.empty(DEEPEST, np.int64), np.empty(DEEPEST)
    for i in range(first, last):
        x, p = X[i], prices[i]
        least[:] = np.inf
        stack[0], bounds[0], depth = 0, -np.inf, 1
        while depth > 0:
            depth -= 1
            v = stack[depth]
            if bounds[depth] >= least[size - 2]:
                continue
            if v >= inner_nodes:
                for j in range(starts[v, 0], starts[v, 1]):
                    square = 0.0
                    for c in range(d):
                        step = X[j, c] - x[c]
                        square += step * step
                    w = square * scale - (p + prices[j]) * share
                    if w < least[size - 2] and j != i:
                        q = size - 2
                        while q > 0 and least[q - 1] > w:
                            least[q] = least[q - 1]
                            q -= 1
                        least[q] = w
                continue
            a = _square_to_box(boxes, 2 * v + 1, x) * scale - (p + top[2 * v + 1]) * share
            b = _square_to_box(boxes, 2 * v + 2, x) * scale - (p + top[2 * v + 2]) * share
            # The more promising one is looked at first.
            near = 0 if a <= b else 1
            stack[depth], bounds[depth] = 2 * v + 2 - near, max(a, b)
            stack[depth + 1], bounds[depth + 1] = 2 * v + 1 + near, min(a, b)
            depth += 2
        lowest = 0.0
        halves[0, i] = 0.0
        for r in range(1, size):
            halves[r, i] = halves[r - 1, i] + 0.5 * least[r - 1]
            if r <= size - 2:
                lowest = min(lowest, halves[r, i])
        theta[i] = max(limit, 0.0) / (size - 1) - lowest
        theta[i] += SLACK * (abs(theta[i]) + abs(prices[i]))


@kernel
def tree_neighbours(X, tree, prices, tops, size, theta, first, last, counts, begins, ids):  # type: ignore[no-untyped-def]
    """List for the records from `first` to `last` the others whose weight is at most the larger theta of both.

    Parameters
    ----------
    X, tree, prices, size, theta, first, last
        As for `tree_thresholds`.
    tops : (float64[v], float64[v])
        The highest price and the highest theta of each node.
    counts : int64[n]
        Filled with the number of neighbours of each record.
    begins : int64[n]
        Where the neighbours of each record begin in `ids`.
    ids : int32[c]
        Filled with the neighbours; if it is empty, they are only counted.
    """
    starts, boxes = tree
    top, reach = tops
    inner_nodes, d = starts.shape[0] // 2, X.shape[1]
    scale, share = 1.0 / size, 1.0 / (size - 1)
    stack = np.empty(DEEPEST, np.int64)
    filling = ids.shape[0] > 0
    for i in range(first, last):
        x, p = X[i], prices[i]
        stack[0], depth, count = 0, 1, 0
        while depth > 0:
            depth -= 1
            v = stack[depth]
            bound = _square_to_box(boxes, v, x) * scale - (p + top[v]) * share
            if bound > max(theta[i], reach[v]):
                continue
            if v < inner_nodes:
                stack[depth], stack[depth + 1] = 2 * v + 2, 2 * v + 1
                depth += 2
                continue
            for j in range(starts[v, 0], starts[v, 1]):
                square = 0.0
                for c in range(d):
                    step = X[j, c] - x[c]
                    square += step * step
                w = square * scale - (p + prices[j]) * share
                if j != i and (w <= theta[i] or w <= theta[j]):
                    if filling:
                        ids[begins[i] + count] = j
                    count += 1
        counts[i] = count
