"""Groups from the minimum spanning tree.

Sources: T = Thaeter (2021), dissertation, 8.1; D = Domingo-Ferrer et al. (2006), section 5 (method M-d of
Laszlo and Mukherjee 2005).
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Array
from shoal.kernels.trees import Growth, cut_tree, grow_tree
from shoal.partitioning.maximum_distance import md
from shoal.partitioning.pool import Pool, members
from shoal.progress import Progress, silent

# Progress is reported each time that one in so many of the remaining records has joined.
STEPS = 20


def mst(X: Array, k: int, *, report: Progress = silent) -> Array:
    """Cut the minimum spanning tree, longest edges first, wherever both parts keep k records.

    Parts of 2k records or more are split by `md`.
    """
    parents, joined, lengths = spanning_tree(X, report)
    # Longest first; of equal edges, the one that joined the tree first.
    edges = joined[1:][np.argsort(-lengths[joined[1:]], kind="stable")]
    roots = cut_tree(parents, joined, edges, k)
    labels = np.unique(roots, return_inverse=True)[1].astype(np.int64)
    for rows in members(labels):
        if len(rows) >= 2 * k:
            labels[rows] = labels.max() + 1 + md(X[rows], k)
    return labels


def spanning_tree(X: Array, report: Progress = silent) -> tuple[Array, Array, Array]:
    """Grow the minimum spanning tree from row 0 (Prim), without a distance matrix.

    Returns
    -------
    parents : int64[n]
        Parent of each record, -1 for row 0.
    joined : int64[n]
        The records in the order in which they joined.
    lengths : float64[n]
        Squared length of the edge to the parent.
    """
    n, pool = len(X), Pool(X)
    tree = Growth(
        outside=pool.points,
        joined=np.zeros(n, np.int64),
        parents=np.full(n, -1, np.int64),
        lengths=np.zeros(n),
        nearest=np.zeros(n, np.int64),
        squares=np.zeros(n),
        heap=np.zeros(n, np.int64),
        sizes=np.zeros(2, np.int64),
    )
    while pool.count > 0:
        grow_tree(tree, max(1, pool.count // STEPS))
        pool.tidy()
        report(1 - pool.count / n)
    return tree.parents, tree.joined, tree.lengths
