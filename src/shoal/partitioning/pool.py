"""The records that are still to be assigned, and the groups they go to.

Every method that builds groups is written in terms of these two classes. All searches go through
`Pool`, so that another index can take its place without a change to any method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import fsum
from typing import Any, NamedTuple, TypeVar

import numpy as np

from shoal.arrays import Array
from shoal.kernels import construction as _construction
from shoal.kernels import groups as _groups
from shoal.kernels import growth as _growth
from shoal.kernels import index as _index
from shoal.kernels import search as _search
from shoal.kernels import sums as _sums
from shoal.kernels.star import Building
from shoal.partitioning import plain as _plain

NONE = -1
Item = TypeVar("Item")
Result = TypeVar("Result")
# Up to so many points, each is looked at.
SMALL_SET = 500
# Up to so many points, neighbours and sums are found without kernels, which would take seconds to compile.
SMALL_TABLE = 1000


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
    means : bool
        Whether `mean` will be asked for often: the sum is then kept up to date.
    """

    def __init__(self, X: Array, rows: Array | None = None, like: Array | None = None, *, means: bool = False) -> None:
        self.X = X
        self.points = _construction.new_points(X, like, means=means)
        if like is None:
            _construction.fill(self.points, np.arange(len(X)) if rows is None else np.sort(rows))
        else:
            _construction.prepare(self.points, like)
            if rows is not None and len(rows):
                self.add(rows)

    def copy(self) -> Pool:
        """Return a pool of the same points with the same present, for a run that empties it."""
        other = object.__new__(Pool)
        other.X, other.points = self.X, _construction.copied(self.points)
        return other

    @property
    def count(self) -> int:
        """How many points are present."""
        return int(self.points.state[_index.PRESENT])

    def rows(self) -> Array:
        """Return the present rows in ascending order: int64[count]."""
        return np.flatnonzero(self.points.slots >= 0)

    def in_order(self) -> Array:
        """Return the present rows so that near ones are next to each other: int64[count]."""
        rows = self.rows()
        return rows[np.argsort(self.points.slots[rows], kind="stable")]

    def __contains__(self, row: int) -> bool:
        return bool(self.points.slots[row] >= 0)

    def mean(self) -> Array:
        """Return the mean of the present points: their exact sum, divided by their number."""
        if not len(self.points.total):
            return mean_of(self.X[self.rows()])
        mean = np.empty(self.X.shape[1])
        _growth.mean_present(self.points, mean)
        return mean

    def add(self, rows: Array) -> None:
        """Make `rows` present."""
        _index.put_all(self.points, rows)
        _construction.tidy(self.points)

    def remove(self, rows: Array) -> None:
        """Make `rows` absent."""
        _index.drop(self.points, rows)
        _construction.tidy(self.points)

    def tidy(self) -> None:
        """Keep searches fast after kernels have emptied much of the pool."""
        _construction.tidy(self.points)
        if len(self.points.total) and self.count:
            _index.recentre(self.points, self.mean())

    def furthest(self, query: Array) -> int:
        """Return the row furthest from `query`."""
        return int(_search.furthest(self.points, query)[0])

    def furthest_distance(self, query: Array) -> tuple[int, float]:
        """Return the row furthest from `query` and its squared distance."""
        row, square = _search.furthest(self.points, query)
        return int(row), float(square)

    def nearest(self, query: Array, m: int, *, skip: int = NONE, other: int = NONE) -> Array:
        """Return the m nearest rows, nearest first (see `nearest_distances`)."""
        return self.nearest_distances(query, m, skip=skip, other=other)[0]

    def nearest_distances(self, query: Array, m: int, *, skip: int = NONE, other: int = NONE) -> tuple[Array, Array]:
        """Return the m nearest rows but `skip` and `other`, and their squared distances, by (distance, row)."""
        ids, squares = _search.nearest_few(self.points, query, m, skip, other)
        return ids, squares

    def nearest_each(self, queries: Array, m: int, skips: Array | None = None, n_jobs: int = 1) -> tuple[Array, Array]:
        """Return the m nearest rows of each query, and their squared distances, on `n_jobs` threads.

        Parameters
        ----------
        queries : float64[q, d]
        m : int
            No more than are present, the one left out not counted.
        skips : int64[q], optional
            A row to leave out for each query.
        n_jobs : int
        """
        ids, squares = np.empty((len(queries), m), np.int64), np.empty((len(queries), m))
        skips = np.full(len(queries), NONE) if skips is None else skips

        def search(part: slice) -> None:
            points = _construction.for_thread(self.points)
            _search.nearest_each(points, queries[part], skips[part], ids[part], squares[part])

        in_threads(search, len(queries), n_jobs)
        return ids, squares


def nearest_each(X: Array, queries: Array, m: int, n_jobs: int = 1) -> Array:
    """Return the m rows of X that are nearest to each query, nearest first: int64[q, m]."""
    if len(X) > SMALL_SET:
        return Pool(X).nearest_each(queries, m, n_jobs=n_jobs)[0]
    ids, squares = np.empty((len(queries), m), np.int64), np.empty((len(queries), m))
    in_threads(lambda part: _search.nearest_plainly(X, queries[part], ids[part], squares[part]), len(queries), n_jobs)
    return ids


def nearest_others(X: Array, m: int, n_jobs: int = 1, rows: Array | None = None) -> tuple[Array, Array]:
    """Return the m other rows of X that are nearest to each of its rows, by (distance, row), and their distances.

    Parameters
    ----------
    X : float64[n, d]
    m : int
        Less than n.
    n_jobs : int
    rows : int64[r], optional
        The rows of X that matter: all others are left out. More than SMALL_TABLE are ascending.

    Returns
    -------
    int64[n, m], float64[n, m]
        Rows and squared distances, those of a pool, to the bit: for each of `rows`.
    """
    if len(X if rows is None else rows) <= SMALL_TABLE:
        found: Array
        found, squares = _plain.nearest_others(X if rows is None else X[rows], m)
        return found if rows is None else rows[found], squares
    pool = Pool(X, rows)
    # Points that are near to each other have the same neighbours, which then are in the processor's cache.
    order = pool.in_order()
    places = order if rows is None else np.searchsorted(rows, order)
    ids, squares = np.empty((len(order), m), np.int64), np.empty((len(order), m))

    def search(part: slice) -> None:
        points, own, place = _construction.for_thread(pool.points), order[part], places[part]
        near, away = np.empty((len(own), m), np.int64), np.empty((len(own), m))
        _search.nearest_each(points, X[own], own, near, away)
        ids[place], squares[place] = near, away

    in_threads(search, len(order), n_jobs)
    return ids, squares


class Kinds(NamedTuple):
    """Which records are equal.

    Attributes
    ----------
    firsts : int64[c]
        The first row of each kind of record, ascending.
    twins : int64[n]
        The next row that is equal to each, -1 for the last of a kind.
    of : int64[n]
        The kind of each record, 0 .. c - 1.
    """

    firsts: Array
    twins: Array
    of: Array


def kinds(X: Array) -> Kinds:
    """Return which rows of X are equal."""
    rows = np.arange(len(X))
    twins = np.full(len(X), NONE, np.int64)
    firsts = _construction.twin_lists(X, rows, twins)
    # From each row to the one before it, then twice as far in every step, until all are at the first of their kind.
    before, followed = rows.copy(), np.flatnonzero(twins >= 0)
    before[twins[followed]] = followed
    while not np.array_equal(further := before[before], before):
        before = further
    numbers = np.empty(len(X), np.int64)
    numbers[firsts] = np.arange(len(firsts))
    return Kinds(firsts, twins, numbers[before])


def in_threads(work: Callable[[slice], Any], n: int, n_jobs: int, least: int = 1000) -> None:
    """Call `work` for parts of range(n) of at least `least`, on `n_jobs` threads."""
    size = max(least, -(-n // (4 * n_jobs)))
    parts = [slice(start, min(n, start + size)) for start in range(0, n, size)]
    for _ in mapped(work, parts, n_jobs):
        pass


def mapped(work: Callable[[Item], Result], items: Sequence[Item], n_jobs: int) -> Iterator[Result]:
    """Yield what `work` returns for each item, in their order; a thread would cost more than a small table."""
    if n_jobs == 1 or len(items) == 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(n_jobs) as threads:
        yield from threads.map(work, items)


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
        self.made = _growth.Made(
            labels=np.full(n, NONE, np.int64),
            sizes=np.zeros(capacity, np.int64),
            means=np.zeros((capacity, d)),
            totals=np.zeros((capacity, 2, d)),
            kinds=np.empty(capacity, np.int64),
            groups=np.zeros(1, np.int64),
        )
        self._centres: Pool | None = None

    @property
    def count(self) -> int:
        """How many groups there are."""
        return int(self.made.groups[0])

    @property
    def labels(self) -> Array:
        """Group of each record, -1 if unassigned."""
        return self.made.labels

    @property
    def means(self) -> Array:
        """Mean of each group."""
        return self.made.means

    def open(self, rows: Array) -> int:
        """Make a group of `rows` and return its number."""
        group = self.count
        self.made.groups[0] += 1
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
            # Groups that are yet to come have means somewhere among the records.
            like = self.X if self.count < len(self.made.sizes) // 2 else None
            self._centres = Pool(self.means, np.arange(self.count), like)
        return self._centres

    def building(self, pool: Pool, *, records: bool = False) -> Building:
        """Return these groups and the unassigned records of `pool` as kernels take them; the arrays are shared.

        Parameters
        ----------
        pool : Pool
        records : bool
            Whether assigned records are searched instead of means (there must be none yet).
        """
        return Building(
            pool=pool.points,
            places=(Pool(self.X, like=self.X) if records else self._centre_pool()).points,
            made=self.made,
        )

    def _join(self, group: int, rows: Array) -> None:
        _groups.join_rows(self.X, rows, group, self.made)


def square_distances(P: Array, q: Array) -> Array:
    """Return the squared distances of the rows of P to q, summed coordinate by coordinate: float64[n]."""
    return _plain.squares_to(P.T, q)


def mean_of(X: Array) -> Array:
    """Return the mean of the rows of X, each coordinate the exact sum divided by their number: float64[d]."""
    mean: Array = _plain.exact_mean(X) if len(X) <= SMALL_TABLE else _sums.exact_mean(X)
    return mean


def cost_of(X: Array, rows: Array) -> float:
    """Return the squared error of `rows` as one group."""
    return _plain.cost_of(X[rows]) if len(X) <= SMALL_TABLE else float(_groups.cost_of(X, rows))


def all_means(X: Array, labels: Array) -> Array:
    """Return the mean of each group, from sums that do not depend on the order of the records: float64[g, d]."""
    if len(X) <= SMALL_TABLE:
        return _plain.all_means(X, labels)
    means: Array = _groups.all_means(X, labels, int(labels.max()) + 1)
    return means


def squared_error(X: Array, labels: Array) -> float:
    """Return the sum over all records of the squared distance to the mean of their group."""
    if len(X) <= SMALL_TABLE:
        return _plain.squared_error(X, labels)
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
    labels = labels - labels.min()
    if int(labels.max()) >= 2 * len(labels):  # such as row numbers of a large table: no arrays of its size
        labels = np.unique(labels, return_inverse=True)[1].reshape(-1)
    first = np.full(int(labels.max()) + 1, len(labels))
    first[labels[::-1]] = np.arange(len(labels))[::-1]  # of a label that is met again, the last entry stays
    firsts = np.zeros(len(labels) + 1, bool)
    firsts[first] = True
    rows = np.flatnonzero(firsts[:-1])
    numbers = np.empty_like(first)
    numbers[labels[rows]] = np.arange(len(rows))
    return numbers[labels]
