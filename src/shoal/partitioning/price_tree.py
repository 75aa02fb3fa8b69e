"""Exact pricing for many records: the groups that are cheaper than their records, found with a tree of boxes.

It lists what :class:`shoal.partitioning.cover_prices.Pricing` lists, in time that grows little faster than the number
of records, and memory that grows with it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.kernels import price_tree as _tree
from shoal.partitioning.cover_prices import MOST_NEIGHBOURS, Effort, Pricing

LEAF = 16
# Records that a thread works on at a time.
CHUNK = 4096


class TreePricing(Pricing):
    """Lists groups of many records at given prices, without cuts.

    Parameters
    ----------
    X : float64[n, d]
        As for `Pricing`.
    k : int
    n_jobs : int
    """

    def __init__(self, X: Array, k: int, n_jobs: int = 1) -> None:
        self.X, self.k, self.n, self.n_jobs = X, k, len(X), n_jobs
        self.most = min(2 * k - 1, self.n)  # there may be more records than are looked at
        centred = X - X.mean(axis=0)
        # Boxes along principal axes are narrow; rotation leaves distances as they are, but for rounding.
        rotated = centred @ np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
        self.order, self.starts = in_boxes(rotated, LEAF)
        self.place = np.empty(self.n, np.int64)
        self.place[self.order] = np.arange(self.n)
        self.sorted = np.ascontiguousarray(rotated[self.order])
        self.boxes = np.empty((len(self.starts), 2, X.shape[1]))
        _tree.box_all(self.sorted, self.starts, self.boxes)

    def _of_size(self, prices: Array, size: int, limit: float, extra: Any, effort: Effort) -> tuple[Array, bool]:
        """Return all groups of a size (int32[c, size]) whose weights sum to at most `limit`, or (some, False)."""
        own = prices[self.order]
        halves, theta = np.empty((size, self.n)), np.empty(self.n)
        top, tree = _tree.highest(own, self.starts), (self.starts, self.boxes)
        self._chunks(lambda a, b: _tree.tree_thresholds(self.sorted, tree, own, top, size, limit, a, b, halves, theta))
        tops, counts, ids = (top, _tree.highest(theta, self.starts)), np.empty(self.n, np.int64), np.empty(0, np.int32)
        begins = np.zeros(self.n + 1, np.int64)
        for _ in range(2):  # first they are counted, then listed
            self._chunks(
                lambda a, b, ids=ids: _tree.tree_neighbours(  # type: ignore[misc]
                    self.sorted, tree, own, tops, size, theta, a, b, counts, begins, ids
                )
            )
            begins[1:] = np.cumsum(counts)
            if begins[-1] > MOST_NEIGHBOURS:
                return np.empty((0, size), np.int32), False
            ids = np.empty(max(1, int(begins[-1])), np.int32) if not len(ids) else ids
        groups, complete = self._grown(self.sorted, own, size, limit, extra, (begins, ids), halves, effort)
        return self.order[groups].astype(np.int32), complete

    def look(self, prices: Array, size: int, some: int) -> None:
        """Take the first step of listing groups for some of the records, to see how long it takes."""
        own, halves, theta = prices[self.order], np.empty((size, self.n)), np.empty(self.n)
        tree, top = (self.starts, self.boxes), _tree.highest(own, self.starts)
        _tree.tree_thresholds(self.sorted, tree, own, top, size, 0.0, 0, some, halves, theta)

    def _chunks(self, work: Callable[[int, int], None]) -> None:
        """Do the work for all records, in chunks of them."""
        ends = [(a, min(a + CHUNK, self.n)) for a in range(0, self.n, CHUNK)]
        if self.n_jobs == 1:
            for a, b in ends:
                work(a, b)
            return
        with ThreadPoolExecutor(self.n_jobs) as threads:
            list(threads.map(lambda end: work(*end), ends))


def in_boxes(X: Array, leaf: int) -> tuple[Array, Array]:
    """Sort records into a balanced tree, by halving them along the widest coordinate.

    Parameters
    ----------
    X : float64[n, d]
    leaf : int
        Most records in a leaf.

    Returns
    -------
    order : int64[n]
        The records of each node side by side.
    starts : int64[v, 2]
        The first place of each node in `order`, and the one after the last. All leaves are on one level.
    """
    n = len(X)
    depth = max(0, int(np.ceil(np.log2(n / leaf))))
    order = np.arange(n)
    starts = np.zeros((2 ** (depth + 1) - 1, 2), np.int64)
    starts[0, 1] = n
    for node in range(2**depth - 1):
        a, b = starts[node]
        middle = (a + b) // 2
        rows = order[a:b]
        points = X[rows]
        column = int(np.argmax(points.max(axis=0) - points.min(axis=0)))
        order[a:b] = rows[np.argpartition(points[:, column], middle - a)]
        starts[2 * node + 1], starts[2 * node + 2] = (a, middle), (middle, b)
    return order, starts
