"""Groups whose squared error is at most a known multiple of the optimum.

Sources: A = Domingo-Ferrer, Sebe, Solanas (2008), A polynomial-time approximation to optimal multivariate
microaggregation, as given in T = Thaeter (2021), dissertation, 9.1. It goes back to the approximation of
k-anonymity by Aggarwal et al. (2005).

The records are the vertices of a graph. An edge goes from u to one of the k - 1 nearest neighbours of u,
its length w(u, v) is the distance, and each vertex has at most one outgoing edge. *Forest* makes trees of
at least k vertices, *Decompose* cuts those with more than L = max(2k - 1, 3k - 5), and MDAV splits what
still has 2k.

**Why Decompose succeeds.** Let s > L, that is s >= 2k and s >= 3k - 4, be the size of a tree.

1. An edge with k vertices or more on both sides is removed; removing edges harms nothing. When no such edge
   is left and still s > L, every edge has a small side of at most k - 1 vertices. Walk from the root to the
   child with k vertices below it, as long as there is one: it is the only one, since the side above it is
   the small one. Where the walk ends, at the *centre* c, every *branch* (what hangs together when c is
   taken away) is small.
2. The branches are packed: one after the other goes into a parcel, which is closed as soon as it has k
   vertices. A closed parcel has at most (k - 1) + (k - 1) = 2k - 2. At most k - 1 vertices are left over;
   with c they are the last part, if there are k of them.
3. If not (at most k - 2 are left over), the last parcel is taken back: together with c, at most (2k - 2) +
   (k - 2) + 1 = 3k - 3 vertices. If these are more than L, they are halved. If there is a branch of exactly
   k - 1, it and c are one half, and the other has at least 2k - k. Else all branches have at most k - 2,
   and those taken until k - 1 vertices are reached have at most 2k - 4, which leaves at least 3k - 4 - 1 -
   (2k - 4) = k - 1 for the other half; both together have at least 2k - 1, so with c in the smaller one
   both have k. Each half is at most 3k - 3 - k.

A parcel without c stays connected through c, which it *borrows*: its edges meet there. So every part has
between k and L records, is connected by edges of its own together with at most one borrowed vertex, and no
edge is in two parts.

**Why the loss is bounded.** A part C has at most |C| <= L edges, and the distance of two of its records is
at most the sum of their lengths. So cost(C) <= L (sum of w)^2 <= L^2 (sum of w^2) by Cauchy and Schwarz.
Over all parts each record u pays for its one outgoing edge, whose length is at most the distance to its (k
- 1)-th nearest neighbour, hence at most the distance to some v of its group S in an optimal partition (S
has k records, so one of them is that far). With m the mean of S, |u - v|^2 <= 2 |u - m|^2 + 2 |v - m|^2 <=
2 cost(S), and S has at most 2k - 1 records: the sum of w^2 over all edges is at most 2 (2k - 1) times the
optimum. Splitting by MDAV never raises the cost. Together:

    cost <= 2 (2k - 1) max(2k - 1, 3k - 5)^2 optimum.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.kernels.trees import cut_tree
from shoal.partitioning.maximum_distance import mdav
from shoal.partitioning.memory import require
from shoal.partitioning.pool import members, nearest_others
from shoal.progress import Progress, part, silent

NONE = -1


class Forest(NamedTuple):
    """Rooted trees over all records.

    Attributes
    ----------
    parents : int64[n]
        The end of the outgoing edge of each record, -1 at a root.
    squares : float64[n]
        Squared length of that edge.
    trees : int64[n]
        The tree of each record, numbered by one of its records.
    """

    parents: Array
    squares: Array
    trees: Array


class Subtrees(NamedTuple):
    """Trees that were cut into parts.

    Attributes
    ----------
    labels : int64[n]
        The part of each record.
    borrowed : int64[number of parts]
        The record of another part that a part needs to be connected, -1 if it needs none.
    """

    labels: Array
    borrowed: Array


def factor(k: int) -> int:
    """Return the guarantee: `mu_approx` costs at most this multiple of the optimum.

    Examples
    --------
    >>> factor(3)
    250
    """
    return 2 * (2 * k - 1) * largest_tree(k) ** 2


def largest_tree(k: int) -> int:
    """Return the largest size of a tree that is not cut."""
    return max(2 * k - 1, 3 * k - 5)


def mu_approx(X: Array, k: int, *, report: Progress = silent) -> Array:
    """Forest, decompose, MDAV: the loss is at most `factor(k)` times the least possible (T algorithm 23).

    Where the papers leave the choice open: Forest always adds the shortest edge that is allowed, Decompose
    removes the longest edges first (T omits it; see the head of this module for the rules and the proof).
    With these, EIA at k = 10 gives the one figure that is quoted in print, 2.17. Time O(n^2 d), memory
    O(n (d + k)).
    """
    grown = forest(X, k, part(report, 0.0, 0.9))
    labels = cut_trees(grown, k).labels
    count = int(labels.max()) + 1
    for rows in members(labels):
        if len(rows) >= 2 * k:
            labels[rows] = count + mdav(X[rows], k)
            count = int(labels[rows].max()) + 1
    return labels


def forest(X: Array, k: int, report: Progress = silent) -> Forest:
    """Join trees of fewer than k records to others, the shortest edge first (T algorithm 22).

    The edge of a tree goes from its root, the only record without an outgoing edge, to the nearest record of
    another tree. That is one of the k - 1 nearest neighbours of the root, as at most k - 2 of them are in its
    own tree. Of equally short edges, the one from the lowest row is added.
    """
    n = len(X)
    neighbours, squares = _neighbours(X, k)
    links, sizes = list(range(n)), [1] * n
    parents, lengths = np.full(n, NONE, np.int64), np.zeros(n)
    # One entry per root: (squared length, root, number of its neighbours to skip).
    heap = [(float(squares[u, 0]), u, 0) for u in range(n)]
    heapq.heapify(heap)
    while heap:
        square, u, passed = heapq.heappop(heap)
        own, v = _find(links, u), int(neighbours[u, passed])
        if sizes[own] >= k:
            continue
        other = _find(links, v)
        if own == other:
            heapq.heappush(heap, (float(squares[u, passed + 1]), u, passed + 1))
            continue
        parents[u], lengths[u] = v, square
        links[own] = other
        sizes[other] += sizes[own]
    return Forest(parents, lengths, np.array([_find(links, u) for u in range(n)]))


def _neighbours(X: Array, k: int) -> tuple[Array, Array]:
    """Return the k - 1 nearest neighbours of each record, nearest first, and their squared distances."""
    n = len(X)
    require(16 * n * (k - 1), "mu-approx", f"the {k - 1} nearest neighbours of {n} records")
    return nearest_others(X, k - 1)


def _find(links: list[int], u: int) -> int:
    """Return the number of the tree of u, and halve the path to it."""
    while links[u] != u:
        links[u] = links[links[u]]
        u = links[u]
    return u


def cut_trees(grown: Forest, k: int) -> Subtrees:
    """Cut every tree of more than max(2k - 1, 3k - 5) records into parts of at least k and at most that many.

    Edges are removed wherever both sides keep k records, the longest first; of equal ones, the edge from the
    lowest row. A part that is still too large has a centre with small branches, which are packed into parcels.
    """
    most = largest_tree(k)
    labels = np.full(len(grown.parents), NONE, np.int64)
    borrowed: list[int] = []

    def close(rows: list[int] | Array, vertex: int = NONE) -> None:
        labels[rows] = len(borrowed)
        borrowed.append(vertex)

    for rows in members(np.unique(grown.trees, return_inverse=True)[1]):
        if len(rows) <= most:
            close(rows)
            continue
        for order, up in _cut_edges(grown, rows, k):
            if len(order) <= most:
                close(order)
                continue
            centre, branches = _branches(order, up, grown.squares, k)
            for parcel in _pack(centre, branches, k):
                close(parcel, NONE if centre in parcel else centre)
    return Subtrees(labels, np.array(borrowed, np.int64))


def _cut_edges(grown: Forest, rows: Array, k: int) -> list[tuple[list[int], dict[int, int]]]:
    """Remove edges of the tree `rows`; return each part, parents before children, and the parents in it."""
    place = {int(row): p for p, row in enumerate(rows)}
    above = np.array([place.get(int(v), NONE) for v in grown.parents[rows]])
    joined = _from_root(above)
    squares = grown.squares[rows]
    edges = np.array([p for p in np.argsort(-squares, kind="stable") if above[p] >= 0])
    roots = cut_tree(above, joined, edges, k)
    parts: dict[int, list[int]] = {}
    for p in joined:
        parts.setdefault(int(roots[p]), []).append(int(rows[p]))
    result = []
    for root, order in parts.items():
        up = {row: int(grown.parents[row]) for row in order}
        up[int(rows[root])] = NONE
        result.append((order, up))
    return result


def _from_root(above: Array) -> Array:
    """Return the vertices of a tree, parents before children: int64[m]."""
    children: list[list[int]] = [[] for _ in above]
    order = []
    for vertex, parent in enumerate(above):
        if parent >= 0:
            children[parent].append(vertex)
        else:
            order.append(vertex)
    for vertex in order:
        order.extend(children[vertex])
    return np.array(order)


def _branches(order: list[int], up: dict[int, int], squares: Array, k: int) -> tuple[int, list[list[int]]]:
    """Return the centre of a tree that no edge divides, and its branches, the one on the longest edge first."""
    below = dict.fromkeys(order, 1)
    for row in reversed(order[1:]):
        below[up[row]] += below[row]
    # The centre is the lowest vertex with k vertices below it, itself included; parents come before children.
    centre = [row for row in order if below[row] >= k][-1]
    head = {centre: centre}
    branches: dict[int, list[int]] = {}
    for row in order:
        if row == centre:
            continue
        # Everything that is not below the centre is one branch, on the edge that leaves the centre.
        head[row] = row if up[row] == centre else head.get(up[row], centre)
        branches.setdefault(head[row], []).append(row)
    heads = sorted(branches, key=lambda row: (-squares[row], row))
    return centre, [branches[row] for row in heads]


def _pack(centre: int, branches: list[list[int]], k: int) -> list[list[int]]:
    """Pack branches into parcels of k to max(2k - 1, 3k - 5) records, one of them with the centre."""
    parcels: list[list[list[int]]] = [[]]
    for branch in branches:
        if _size(parcels[-1]) >= k:
            parcels.append([])
        parcels[-1].append(branch)
    left = parcels.pop() if _size(parcels[-1]) < k else []
    if _size(left) + 1 >= k:
        return [*map(_joined, parcels), [centre, *_joined(left)]]
    left = parcels.pop() + left
    done = [_joined(parcel) for parcel in parcels]
    if _size(left) + 1 <= largest_tree(k):
        return [*done, [centre, *_joined(left)]]
    half = [branch for branch in left if len(branch) == k - 1][:1]
    for branch in left:
        if _size(half) < k - 1:
            half.append(branch)
    taken = {branch[0] for branch in half}
    halves = [half, [branch for branch in left if branch[0] not in taken]]
    halves.sort(key=_size)
    return [*done, [centre, *_joined(halves[0])], _joined(halves[1])]


def _size(branches: list[list[int]]) -> int:
    return sum(len(branch) for branch in branches)


def _joined(branches: list[list[int]]) -> list[int]:
    return [row for branch in branches for row in branch]
