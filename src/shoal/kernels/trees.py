"""The minimum spanning tree of points, and cutting a rooted tree into parts of at least k nodes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.jit import kernel

Array = np.ndarray[Any, Any]

STRIP = 512


class Growth(NamedTuple):
    """A minimum spanning tree while it grows (Prim).

    Attributes
    ----------
    X : float64[n, d]
    outside : float64[d, n]
        The records that are not in the tree yet, one a column, in the first `left[0]` columns.
    ids : int64[n]
        Their rows.
    near, via : float64[n], int64[n]
        Squared distance of each to the tree, and the record of the tree that is so near.
    left : int64[2]
        How many are outside, and the column of the one that joins next.
    parents, joined, lengths : int64[n], int64[n], float64[n]
        The tree: parent of each record (-1: none), records in the order of joining, squared length of the
        edge to the parent.
    """

    X: Array
    outside: Array
    ids: Array
    near: Array
    via: Array
    left: Array
    parents: Array
    joined: Array
    lengths: Array


@kernel
def grow_tree(tree, steps):  # type: ignore[no-untyped-def]
    """Let at most `steps` records join, each time the one with the smallest (distance, row).

    Distances are summed coordinate by coordinate; the loop over records vectorises.
    """
    n, d = tree.X.shape
    acc = np.empty(STRIP)
    while tree.left[0] > 0 and steps > 0:
        steps -= 1
        count, slot = tree.left[0] - 1, tree.left[1]
        row = tree.ids[slot]
        step = n - 1 - count
        tree.joined[step] = row
        if step > 0:
            tree.parents[row], tree.lengths[row] = tree.via[slot], tree.near[slot]
        for j in range(d):
            tree.outside[j, slot] = tree.outside[j, count]
        tree.near[slot], tree.via[slot], tree.ids[slot] = tree.near[count], tree.via[count], tree.ids[count]
        best, closest = np.inf, -1
        for start in range(0, count, STRIP):
            width = min(STRIP, count - start)
            part = acc[:width]
            part[:] = 0.0
            for j in range(d):
                q = tree.X[row, j]
                x = tree.outside[j, start : start + width]
                for p in range(width):
                    t = x[p] - q
                    part[p] += t * t
            near, via = tree.near[start : start + width], tree.via[start : start + width]
            for p in range(width):
                nearer = part[p] < near[p]
                near[p] = part[p] if nearer else near[p]
                via[p] = row if nearer else via[p]
            for p in range(width):
                if near[p] <= best:
                    lower = closest < 0 or near[p] < best or tree.ids[start + p] < tree.ids[closest]
                    if lower:
                        best, closest = near[p], start + p
        tree.left[0], tree.left[1] = count, closest


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
