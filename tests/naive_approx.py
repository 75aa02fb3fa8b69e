"""Plain oracles of the approximation and of the optimum."""

import math
from itertools import combinations

import numpy as np

from naive import cost, sqdist


def forest(X, k):
    """(parents, tree of each record): join trees of fewer than k records, the shortest edge first."""
    n = len(X)
    D = np.array([sqdist(X, x) for x in X])
    parents = [-1] * n
    trees = [{i} for i in range(n)]
    while any(len(tree) < k for tree in trees):
        edges = []
        for t, tree in enumerate(trees):
            if len(tree) < k:
                (root,) = [i for i in tree if parents[i] < 0]
                square, v = min((D[root, j], j) for j in range(n) if j not in tree)
                edges.append((square, root, v, t))
        _, root, v, t = min(edges)
        parents[root] = v
        tree = trees.pop(t)
        next(other for other in trees if v in other).update(tree)
    names = [-1] * n
    for tree in trees:
        for i in tree:
            names[i] = min(tree)
    return parents, names


def conditions(X, k, parents):
    """Whether every edge ends at one of the k - 1 nearest neighbours of its start, or one as near."""
    for u, v in enumerate(parents):
        if v >= 0:
            D = np.delete(sqdist(X, X[u]), u)
            if sqdist(X[v : v + 1], X[u])[0] > np.sort(D)[k - 2]:
                return False
    return True


def connected(rows, extra, edges):
    """Whether `rows` hang together by `edges`, through the vertex `extra` if need be (-1: none)."""
    vertices = set(rows) | ({extra} if extra >= 0 else set())
    reached, todo = set(), [min(vertices)]
    while todo:
        u = todo.pop()
        if u not in reached:
            reached.add(u)
            todo += [b if a == u else a for a, b in edges if u in (a, b)]
    return reached == vertices


def partitions(n, k):
    """All partitions of range(n) into groups of k .. 2k - 1, as tuples of tuples."""

    def of(rows):
        if not rows:
            yield ()
            return
        for size in range(k, min(2 * k - 1, len(rows)) + 1):
            if 0 < len(rows) - size < k:
                continue
            for others in combinations(rows[1:], size - 1):
                group = (rows[0], *others)
                for rest in of([row for row in rows if row not in group]):
                    yield (group, *rest)

    return of(list(range(n)))


def optimum(X, k):
    """The least squared error over all partitions into groups of at least k records."""
    known = {}

    def of(group):
        if group not in known:
            known[group] = cost(X[list(group)])
        return known[group]

    return min(math.fsum(of(group) for group in partition) for partition in partitions(len(X), k))
