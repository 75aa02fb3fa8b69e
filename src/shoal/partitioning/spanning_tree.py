"""Groups from the minimum spanning tree.

Sources: T = Thaeter (2021), dissertation, 8.1; D = Domingo-Ferrer et al. (2006), section 5 (method M-d of
Laszlo and Mukherjee 2005).
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from shoal.kernels.trees import cut_tree
from shoal.partitioning.maximum_distance import md
from shoal.partitioning.pool import Pool, members
from shoal.progress import Progress, silent

Array = np.ndarray[Any, Any]


def mst(X: Array, k: int, *, report: Progress = silent) -> Array:
    """Cut the minimum spanning tree, longest edges first, wherever both parts keep k records.

    Parts of 2k records or more are split by `md`.
    """
    parents, joined, lengths = spanning_tree(X, report)
    # Falling length; among equal ones, the edge that joined the tree first.
    edges = joined[1:][np.argsort(-lengths[joined[1:]], kind="stable")]
    roots = cut_tree(parents, joined, edges, k)
    labels = np.unique(roots, return_inverse=True)[1].astype(np.int64)
    for rows in members(labels):
        if len(rows) >= 2 * k:
            labels[rows] = labels.max() + 1 + md(X[rows], k)
    return labels


def spanning_tree(X: Array, report: Progress = silent) -> tuple[Array, Array, Array]:
    """Grow the minimum spanning tree from row 0 (Prim), without a distance matrix.

    Each record of the tree knows its nearest record outside; only the one that is next in line is looked up
    again, when its neighbour has joined meanwhile.

    Returns
    -------
    parents : int64[n]
        Parent of each record, -1 for row 0.
    joined : int64[n]
        The records in the order in which they joined.
    lengths : float64[n]
        Squared length of the edge to the parent.
    """
    n = len(X)
    pool = Pool(X)
    parents, joined = np.full(n, -1, np.int64), np.zeros(n, np.int64)
    lengths = np.zeros(n)
    # (squared distance, record outside, when the record inside joined): ties as in a plain Prim.
    heap: list[tuple[float, int, int]] = []
    row = 0
    for step in range(n):
        joined[step] = row
        pool.remove(np.array([row]))
        if not pool.count:
            break
        heapq.heappush(heap, _outside(pool, row, step))
        while heap[0][1] not in pool:
            when = heap[0][2]
            heapq.heapreplace(heap, _outside(pool, int(joined[when]), when))
        square, outside, when = heap[0]
        parents[outside], lengths[outside] = joined[when], square
        row = outside
        report(step / n)
    return parents, joined, lengths


def _outside(pool: Pool, row: int, when: int) -> tuple[float, int, int]:
    ids, squares = pool.nearest_distances(pool.X[row], 1, spare=100)
    return float(squares[0]), int(ids[0]), when
