"""Cutting a rooted tree into parts of at least k nodes."""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import kernel


@kernel
def cut_tree(parents, joined, edges, k):  # type: ignore[no-untyped-def]
    """Remove edges in the order given wherever both sides keep at least k nodes.

    Parameters
    ----------
    parents : int64[n]
        Parent of each node, -1 at the root.
    joined : int64[n]
        All nodes, parents before children.
    edges : int64[n - 1]
        The edges, each named by its lower end, in the order in which they are tried.
    k : int

    Returns
    -------
    int64[n]
        The root of the part that each node ends up in.
    """
    n = parents.shape[0]
    up = parents.copy()
    sizes = np.ones(n, np.int64)
    for p in range(n - 1, 0, -1):
        sizes[up[joined[p]]] += sizes[joined[p]]
    for node in edges:
        if sizes[node] < k:
            continue
        top = node
        while up[top] >= 0:
            top = up[top]
        if sizes[top] - sizes[node] < k:
            continue
        above = up[node]
        while above >= 0:
            sizes[above] -= sizes[node]
            above = up[above]
        up[node] = -1
    roots = np.empty(n, np.int64)
    for node in joined:
        roots[node] = node if up[node] < 0 else roots[up[node]]
    return roots
