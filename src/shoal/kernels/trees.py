"""The minimum spanning tree of points, and cutting a rooted tree into parts of at least k nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.kernels.index import PRESENT, Points, take_out
from shoal.kernels.jit import kernel, lent
from shoal.kernels.search import search_near
from shoal.kernels.sums import equal_rows


class Growth(NamedTuple):
    """A minimum spanning tree while it grows (Prim).

    Attributes
    ----------
    outside : Points
        The records that are not in the tree yet.
    joined : int64[n]
        The records in the order of joining.
    parents, lengths : int64[n], float64[n]
        Parent of each record (-1: none) and squared length of the edge to it.
    nearest, squares : int64[n], float64[n]
        For the i-th record that joined: the nearest record outside, as it was last looked for, and its distance.
    heap : int64[n]
        The records of the tree, by the number of joining, the one with the least (distance, nearest, number) first.
    sizes : int64[2]
        How many have joined, and how many are in the heap.
    """

    outside: Points
    joined: Array
    parents: Array
    lengths: Array
    nearest: Array
    squares: Array
    heap: Array
    sizes: Array


@lent
def _before(tree, a, b):  # type: ignore[no-untyped-def]
    """Whether the a-th record of the tree comes before the b-th."""
    if tree.squares[a] != tree.squares[b]:
        return tree.squares[a] < tree.squares[b]
    if tree.nearest[a] != tree.nearest[b]:
        return tree.nearest[a] < tree.nearest[b]
    return a < b


@lent
def _settle(tree, hole, entry):  # type: ignore[no-untyped-def]
    """Put an entry into the heap at a hole, or above or below it."""
    heap, size = tree.heap, tree.sizes[1]
    while hole > 0 and _before(tree, entry, heap[(hole - 1) // 2]):
        heap[hole] = heap[(hole - 1) // 2]
        hole = (hole - 1) // 2
    child = 2 * hole + 1
    while child < size:
        if child + 1 < size and _before(tree, heap[child + 1], heap[child]):
            child += 1
        if not _before(tree, heap[child], entry):
            break
        heap[hole] = heap[child]
        hole, child = child, 2 * child + 1
    heap[hole] = entry


@lent
def _look(tree, entry):  # type: ignore[no-untyped-def]
    """Look for the nearest outside record of the entry-th record of the tree."""
    x, one, none = tree.outside.X[tree.joined[entry]], np.int64(1), np.int64(-1)
    square, nearest = tree.squares[entry : entry + 1], tree.nearest[entry : entry + 1]
    search_near(tree.outside, x, one, none, none, none, square, nearest, np.int64(0))


@kernel
def grow_tree(tree, steps):  # type: ignore[no-untyped-def]
    """Let at most `steps` records join, each time the one with the smallest (distance, row).

    The nearest outside record of each record of the tree is looked for again only when it has joined meanwhile and
    its distance is the least of all: until then that is a lower bound. A record that is equal to its parent has the
    same outside records at the same distances, and never comes before it: nothing is looked for from there.
    """
    points, heap, sizes = tree.outside, tree.heap, tree.sizes
    if sizes[0] == 0:
        take_out(points, np.int64(0))
        tree.joined[0], heap[0] = 0, 0
        sizes[0], sizes[1] = 1, 1
        if points.state[PRESENT] > 0:
            _look(tree, np.int64(0))
    while points.state[PRESENT] > 0 and steps > 0:
        first = heap[0]
        row = tree.nearest[first]
        joins = points.slots[row] >= 0
        if joins:
            steps -= 1
            tree.parents[row], tree.lengths[row] = tree.joined[first], tree.squares[first]
            tree.joined[sizes[0]] = row
            take_out(points, row)
            if points.state[PRESENT] == 0:
                return
        _look(tree, first)
        _settle(tree, np.int64(0), first)
        if joins:
            sizes[0] += 1
            if not equal_rows(points.X, row, tree.joined[first]):
                sizes[1] += 1
                _look(tree, sizes[0] - 1)
                _settle(tree, sizes[1] - 1, sizes[0] - 1)


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
