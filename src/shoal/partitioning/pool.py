"""The records that are still to be assigned, and the groups they go to.

Every method that builds groups is written in terms of these two classes. All searches go through
`Pool`, so that another index can take its place without a change to any method.
"""

from __future__ import annotations

from math import fsum, inf, sqrt
from typing import Any, NamedTuple

import numpy as np

from shoal.kernels import groups as _groups
from shoal.kernels import search as _search
from shoal.kernels.star import Building

Array = np.ndarray[Any, Any]
NONE = -1


class Ball(NamedTuple):
    """What one search learnt: every point of the pool outside `ids` is at least `radius` from `pivot`."""

    pivot: Array
    ids: Array
    radius: float


class Pool:
    """A set of points with exact nearest and furthest search; ties go to the lowest row.

    Parameters
    ----------
    X : float64[n, d]
        The points. A pool refers to them by row.
    rows : int64[m], optional
        Which are present at first (default: all).
    like : float64[m, d], optional
        Where the points will lie, if X is to be filled later.
    """

    def __init__(self, X: Array, rows: Array | None = None, like: Array | None = None) -> None:
        self.X = X
        self._points = _search.new_points(X, like)
        self._ball: Ball | None = None
        # Relative error of a computed distance, with room to spare.
        self._margin = (X.shape[1] + 8) * 2.0**-51
        self.add(np.arange(len(X)) if rows is None else rows)

    @property
    def count(self) -> int:
        """How many points are present."""
        return int(self._points.present[0])

    def rows(self) -> Array:
        """Return the present rows in ascending order: int64[count]."""
        return np.sort(self._points.ids[: self.count])

    def __contains__(self, row: int) -> bool:
        return bool(self._points.slots[row] >= 0)

    def mean(self) -> Array:
        """Return the mean of the present points: their sum, which is kept exactly, divided by their number."""
        return np.array([fsum(parts) for parts in self._points.total.T.tolist()]) / self.count

    def add(self, rows: Array) -> None:
        """Make `rows` present."""
        self._ball = None
        _search.put_all(self._points, rows)

    def remove(self, rows: Array) -> None:
        """Make `rows` absent."""
        _search.drop(self._points, rows)

    def furthest(self, query: Array) -> int:
        """Return the row furthest from `query`."""
        return int(_search.scan(self._points, query, 0, True, NONE, NONE)[2])

    def furthest_distance(self, query: Array) -> tuple[int, float]:
        """Return the row furthest from `query` and its squared distance."""
        found = _search.scan(self._points, query, 0, True, NONE, NONE)
        return int(found[2]), float(found[3])

    def nearest_and_furthest(self, query: Array, m: int) -> tuple[Array, int]:
        """Return the m nearest rows and the furthest one, from one pass over the points."""
        found = _search.scan(self._points, query, m, True, NONE, NONE)
        return found[0], int(found[2])

    def nearest(self, query: Array, m: int, *, skip: int = NONE, other: int = NONE, spare: int = 0) -> Array:
        """Return the m nearest rows, nearest first (see `nearest_distances`)."""
        return self.nearest_distances(query, m, skip=skip, other=other, spare=spare)[0]

    def nearest_distances(
        self, query: Array, m: int, *, skip: int = NONE, other: int = NONE, spare: int = 0
    ) -> tuple[Array, Array]:
        """Return the m nearest rows and their squared distances, in order of (distance, row).

        Parameters
        ----------
        query : float64[d]
        m : int
        skip, other : int
            Rows to leave out.
        spare : int
            How many further neighbours to remember. A later search close by is then answered from
            them alone, if the triangle inequality proves that no other point can matter.
        """
        if spare == 0:
            found = _search.scan(self._points, query, m, False, skip, other)
            return found[0], found[1]
        near = self._from_ball(query, m, skip, other)
        if near is not None:
            return near
        ids, squares, _, _ = _search.scan(self._points, query, m + spare, False, skip, other)
        # Rows left out of the search may lie anywhere: they must be found again from the ball.
        left_out = [row for row in {skip, other} if row != NONE and row in self]
        radius = inf if len(ids) < m + spare else sqrt(squares[-1]) * (1 - self._margin)
        self._ball = Ball(query.copy(), np.append(ids, left_out) if left_out else ids, radius)
        return ids[:m], squares[:m]

    def nearest_or_bound(self, query: Array) -> tuple[float, int]:
        """Return the squared distance to the nearest row and that row if the last ball proves it, at no cost.

        Else the row is -1, and the distance is a lower bound for it.
        """
        near = self._from_ball(query, 1, NONE, NONE)
        if near is not None and len(near[0]):
            return float(near[1][0]), int(near[0][0])
        room = 0.0 if self._ball is None or near is not None else max(0.0, self._room(self._ball, query))
        return room * room * (1 - self._margin), NONE

    def _room(self, ball: Ball, query: Array) -> float:
        """Return a distance from `query` within which every present point is in the ball (it may be negative)."""
        # The absolute margin is for squares so small that they are rounded off (subnormal).
        room = ball.radius * (1 - self._margin) - 8 * sqrt(len(query)) * 2.0**-537
        if room == inf:
            return inf
        step = query - ball.pivot
        return float(room - sqrt(float(step @ step)) * (1 + self._margin))

    def _from_ball(self, query: Array, m: int, skip: int, other: int) -> tuple[Array, Array] | None:
        """Answer a search from the last ball, or return None if that cannot be proven right."""
        ball = self._ball
        if ball is None:
            return None
        room = self._room(ball, query)
        if room <= 0:
            return None
        ids, squares = _search.scan_rows(self._points, ball.ids, query, m, skip, other)
        if room == inf or (len(ids) == m and sqrt(squares[-1]) * (1 + self._margin) < room):
            return ids, squares
        return None


class Groups:
    """Groups under construction: who is in which, their sizes and means.

    Parameters
    ----------
    X : float64[n, d]
    k : int
        Least size of a group, which bounds their number.
    """

    def __init__(self, X: Array, k: int) -> None:
        n, d = X.shape
        capacity = max(1, n // k)
        self.X = X
        self._count = np.zeros(1, np.int64)
        self.labels = np.full(n, NONE, np.int64)
        self.sizes = np.zeros(capacity, np.int64)
        self.means = np.zeros((capacity, d))
        self._totals = np.zeros((capacity, 2, d))
        self._centres: Pool | None = None

    @property
    def count(self) -> int:
        """How many groups there are."""
        return int(self._count[0])

    def open(self, rows: Array) -> int:
        """Make a group of `rows` and return its number."""
        group = self.count
        self._count[0] += 1
        self._join(group, rows)
        if self._centres is not None:
            self._centres.add(np.array([group]))
        return group

    def extend(self, group: int, rows: Array) -> None:
        """Add `rows` to a group."""
        if self._centres is not None:
            self._centres.remove(np.array([group]))
        self._join(group, rows)
        if self._centres is not None:
            self._centres.add(np.array([group]))

    def nearest(self, x: Array) -> tuple[float, int]:
        """Return the squared distance to the nearest mean and its group; ties go to the group opened first."""
        ids, squares = self._centre_pool().nearest_distances(x, 1)
        return float(squares[0]), int(ids[0])

    def hide(self, group: int) -> None:
        """Leave a group out of the search for the nearest mean."""
        self._centre_pool().remove(np.array([group]))

    def show(self, group: int) -> None:
        """Take a hidden group back into the search."""
        self._centre_pool().add(np.array([group]))

    def _centre_pool(self) -> Pool:
        if self._centres is None:
            self._centres = Pool(self.means, np.arange(self.count), like=self.X)
        return self._centres

    def building(self, pool: Pool, *, records: bool = False) -> Building:
        """Return these groups and the unassigned records of `pool` as kernels take them; the arrays are shared.

        Parameters
        ----------
        pool : Pool
        records : bool
            Whether the assigned records are searched as well (there must be none yet).
        """
        return Building(
            pool=pool._points,
            assigned=_search.new_points(self.X if records else self.X[:0], like=self.X),
            centres=self._centre_pool()._points,
            labels=self.labels,
            sizes=self.sizes,
            totals=self._totals,
            groups=self._count,
        )

    def _join(self, group: int, rows: Array) -> None:
        _groups.join(self.X, rows, group, self.labels, self._totals, self.sizes, self.means)


def square_distances(P: Array, q: Array) -> Array:
    """Return the squared distances of the rows of P to q, summed coordinate by coordinate: float64[n]."""
    total = np.zeros(len(P))
    for j in range(P.shape[1]):
        step = P[:, j] - q[j]
        total += step * step
    return total


def cost_of(X: Array, rows: Array) -> float:
    """Return the squared error of `rows` as one group."""
    return float(_groups.cost_of(X, rows))


def squared_error(X: Array, labels: Array) -> float:
    """Return the sum over all records of the squared distance to the mean of their group."""
    return float(_groups.squared_error(X, labels, int(labels.max()) + 1))


def total_cost(X: Array, labels: Array) -> float:
    """Return the squared error of a partition: the sum of those of its groups, rounded once."""
    return fsum(cost_of(X, rows) for rows in members(labels))


def by_distance(X: Array, rows: Array, query: Array) -> Array:
    """Return `rows` in order of their distance to `query`, the lower row first on ties: int64[m]."""
    ordered: Array = _search.by_distance(X, rows, query)
    return ordered


def members(labels: Array) -> list[Array]:
    """Return the rows of each group, ascending, by group number."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.cumsum(np.bincount(labels))[:-1])


def numbered(labels: Array) -> Array:
    """Return `labels` with groups numbered 0, 1, .. in order of first appearance: int64[n]."""
    lowest = int(labels.min())
    result: Array = _groups.by_first_appearance(labels, lowest, int(labels.max()) - lowest + 1)
    return result
