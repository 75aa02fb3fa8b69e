"""Chains of the anytime search: one partition each, improved by kicks and climbs (see `shoal.kernels.kicks`)."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event
from typing import NamedTuple

import numpy as np

from shoal.arrays import Array, group_means
from shoal.kernels import kicks as _kicks
from shoal.kernels import search_state as _state
from shoal.partitioning.choice import far_ranks, near_ranks
from shoal.partitioning.pool import SMALL_TABLE, kinds, nearest_others

# Records whose neighbours are drawn at once.
PIECE = 1 << 17
# Temperatures at the start of a cycle, as a share of the mean squared error of a group.
HEAT, LESS_HEAT = 0.1, 0.03
# Groups of partitions that are worse than the best by at most so many times the mean squared error of a group are met.
MARGIN = 2.0
# How many groups a chain remembers at most: so many for each record, and so many of their records in all.
REMEMBERED, REMEMBERED_RECORDS = 20, 1 << 22
# Steps between two looks at the clock: few at first, as a step may take long.
FIRST_STEPS, MOST_STEPS = 8, 1024
LOOK = 0.02
# Most numbers of coordinates copied at once.
COPIED = 1 << 23
# Seconds between two words on how it goes.
SPEAK = 0.5
# Pairs of groups without a gain that are kept in mind, a power of two: they are to fit into the processor's cache.
RULED_OUT = 1 << 16
# What counts as a gain, as a share of the squared error of a single group of all records and for each coordinate: more
# than rounding can feign.
EPSILON = 1e-15


class Budget(NamedTuple):
    """How long a chain may go on: until a time, or for a number of steps, but no longer than until that time."""

    until: float = np.inf
    steps: int | None = None

    def used(self, start: float, done: int) -> float:
        """Return the share that is used up: of the steps, if they are counted, else of the time."""
        if self.steps is not None:
            return done / self.steps if self.steps else 1.0
        left = self.until - start
        return (time.perf_counter() - start) / left if left > 0 else 1.0


class Met(NamedTuple):
    """Groups met in good partitions: rows int32[c, w] (the first `sizes` of each), costs and keys."""

    rows: Array
    sizes: Array
    costs: Array
    keys: Array


class Field(NamedTuple):
    """What chains on the same records share.

    Attributes
    ----------
    X : float64[n, d]
    k : int
    near, far : int32[n, m]
        Neighbours, one record for each of the nearest other points, and for points some of which are further away; -1
        where there are no more. Far ones matter to records that are far from all others.
    keys : uint64[n]
        Random numbers, by whose sum groups are recognised.
    """

    X: Array
    k: int
    near: Array
    far: Array
    keys: Array

    def of(self, rows: Array) -> Field:
        """Return the field of some of the records, without the neighbours that are not among them.

        Parameters
        ----------
        rows : int64[r]
            Ascending.
        """
        # The last place is that of neighbours that are not there.
        place = np.full(len(self.X) + 1, -1, np.int32)
        place[rows] = np.arange(len(rows))
        near, far = (_to_the_left(place[lists[rows]]) for lists in (self.near, self.far))
        return Field(np.ascontiguousarray(self.X[rows]), self.k, near, far, self.keys[rows])


def _to_the_left(lists: Array) -> Array:
    """Return lists of neighbours with those that are there first, in their order."""
    return np.take_along_axis(lists, np.argsort(lists < 0, axis=1, kind="stable"), axis=1)


def field(X: Array, k: int, rng: np.random.Generator, n_jobs: int = 1, *, distant: bool = True) -> Field:
    """Return the field of some records.

    Equal records would only have each other as neighbours: the nearest other *points* are sought, and for each any
    one of the records there is taken. Unless asked for `distant` ones, the far neighbours are the near ones: to find
    those takes a third of the time.
    """
    n, firsts, kind, counts = len(X), *_points(X)
    near = np.arange(near_ranks(k))
    far = np.array(far_ranks(n, k)) if distant else near
    lists = np.full((n, int(far[-1]) + 1 if len(firsts) > 1 else 1), -1, np.int32)
    m = min(lists.shape[1], len(firsts) - 1)
    if m > 0:
        found = kind[nearest_others(X, m, n_jobs, firsts)[0]]
        order, starts = np.argsort(kind, kind="stable"), np.cumsum(counts) - counts
        for start in range(0, n, PIECE):
            part = slice(start, start + PIECE)
            targets = found[kind[part]]
            lists[part, :m] = order[starts[targets] + (rng.random(targets.shape) * counts[targets]).astype(np.int64)]
    keys = rng.integers(0, 2**64, n, dtype=np.uint64, endpoint=False)
    width = lists.shape[1]
    first = np.ascontiguousarray(lists[:, near[near < width]])
    second = first if np.array_equal(near, far) else np.ascontiguousarray(lists[:, far[far < width]])
    return Field(X, k, first, second, keys)


def _points(X: Array) -> tuple[Array, Array, Array]:
    """Return the first row of each kind of record, the kind of each record, and how many records equal each."""
    if len(X) <= SMALL_TABLE:  # without kernels, which would have to be compiled
        _, firsts, kind, counts = np.unique(X, axis=0, return_index=True, return_inverse=True, return_counts=True)
        return firsts, kind.reshape(-1), counts
    same = kinds(X)
    return same.firsts, same.of, np.bincount(same.of)


class Chain:
    """A partition under search.

    Parameters
    ----------
    place : Field
    labels : int64[n]
        Groups 0, 1, .. of k to 2k - 1 records.
    seed : int
    far : bool
        Whether to look at few neighbours near by and some further away, instead of the nearest ones.
    remember : bool
        Whether groups are to be remembered.
    """

    def __init__(self, place: Field, labels: Array, seed: int, *, far: bool = False, remember: bool = True) -> None:
        self.k = k = place.k
        near = place.far if far else place.near
        remembered = min(REMEMBERED * len(labels), REMEMBERED_RECORDS // k) if remember else 0
        room = {"width": 2 * k, "spare": _kicks.MOST_FREED + 1, "remembered": remembered}
        self.state = new_state(place.X, k, labels, near, place.keys, seed, **room)
        self.steps, self.seconds = 0, 0.0

    def cycle(
        self, budget: Budget, stop: Event, heat: float = HEAT, told: Callable[[Chain], None] | None = None
    ) -> None:
        """Climb, then kick while the temperature falls to zero over the budget.

        Parameters
        ----------
        budget : Budget
        stop : Event
            Ends the cycle at once.
        heat : float
        told : callable, optional
            Is given the chain now and then.
        """
        s, chunk, done = self.state, FIRST_STEPS, 0
        reach = s.near.shape[1]
        _kicks.search(s, self.k, 0, 0.0, 0.0, 0.0, reach)
        unit = float(s.totals[_state.NOW]) / max(1, int((s.sizes > 0).sum()))
        if unit == 0:
            return
        start = spoken = time.perf_counter()
        while (used := budget.used(start, done)) < 1 and not stop.is_set() and time.perf_counter() < budget.until:
            if budget.steps is not None:  # not by the clock: then the result would depend on it
                chunk = min(MOST_STEPS, budget.steps - done)
            temperature = heat * unit * (1 - used)
            cooling = 0.0 if budget.steps is None else heat * unit / budget.steps
            # Only what is met when it has become colder is good enough to remember.
            margin = MARGIN * unit if used > 0.5 else -np.inf
            before = time.perf_counter()
            _kicks.search(s, self.k, chunk, temperature, cooling, margin, reach)
            done += chunk
            if time.perf_counter() - before < LOOK / 2:
                chunk = min(2 * chunk, MOST_STEPS)
            elif time.perf_counter() - before > LOOK:
                chunk = max(1, chunk // 2)
            # Sums of differences: set right before they drift.
            s.totals[_state.NOW] = s.costs.sum()
            if told is not None and time.perf_counter() - spoken > SPEAK:
                spoken = time.perf_counter()
                told(self)
        self.steps += done
        self.seconds += time.perf_counter() - start

    def best(self) -> Array:
        """Return the labels of the least squared error so far: int64[n], numbered 0, 1, .."""
        return np.unique(self.state.best, return_inverse=True)[1].astype(np.int64)

    def met(self) -> Met:
        """Return the groups met in good partitions."""
        s, count = self.state, int(self.state.counts[_state.MET])
        return Met(s.pool[:count], s.pool_sizes[:count], s.pool_costs[:count], s.pool_keys[:count])


def _squares(X: Array, means: Array, labels: Array) -> Array:
    """Return float64[n]: the squared distance of each record to the mean of its group; few are copied at once."""
    parts = np.array_split(np.arange(len(X)), 1 + X.size // COPIED)
    return np.concatenate([((X[rows] - means[labels[rows]]) ** 2).sum(axis=1) for rows in parts])


def _spread(X: Array) -> float:
    """Return the squared error of a single group of all records; few are copied at once."""
    mean, parts = X.mean(axis=0), np.array_split(np.arange(len(X)), 1 + X.size // COPIED)
    return sum(float(((X[rows] - mean) ** 2).sum()) for rows in parts)


def new_state(
    X: Array, k: int, labels: Array, near: Array, keys: Array, seed: int, *, width: int, spare: int, remembered: int = 0
) -> _state.State:
    """Return the state of a search.

    Parameters
    ----------
    X : float64[n, d]
    k : int
    labels : int64[n]
        0 .. m - 1.
    near : int32[n, c]
        Records near each.
    keys : uint64[n]
        Drawn at random: the code of a group is the sum of those of its records.
    seed : int
    width : int
        No group will have more records.
    spare : int
        Numbers of groups beyond those that groups of k records take.
    remembered : int
        How many groups that were met are kept.
    """
    n, d = X.shape
    groups = int(labels.max()) + 1
    room = max(groups, n // k) + spare
    sizes, costs, radii, means = np.zeros(room, np.int64), np.zeros(room), np.zeros(room), np.zeros((room, d))
    sizes[:groups] = np.bincount(labels)
    members = np.zeros((room, width), np.int32)
    order = np.argsort(labels, kind="stable")
    starts = np.cumsum(sizes) - sizes
    members[labels[order], np.arange(n) - starts[labels[order]]] = order
    means[:groups] = group_means(X, labels)
    squares = _squares(X, means, labels)
    costs[:groups] = np.bincount(labels, squares)
    np.maximum.at(radii, labels, np.sqrt(squares))
    free, free_at = np.zeros(room, np.int64), np.zeros(room, np.int64)
    free[: room - groups] = np.arange(room - 1, groups - 1, -1)
    free_at[free[: room - groups]] = np.arange(room - groups)
    stack = np.zeros(room, np.int64)
    stack[:groups] = np.arange(groups)
    codes = np.zeros(room, np.uint64)
    np.add.at(codes, labels, keys)
    counts = np.zeros(_state.COUNTS, np.int64)
    counts[_state.FREE], counts[_state.DIRTY] = room - groups, groups
    spread = _spread(X)
    return _state.State(
        X=X,
        near=near,
        labels=labels.copy(),
        members=members,
        sizes=sizes,
        means=means,
        costs=costs,
        radii=radii,
        squares=squares,
        free=free,
        free_at=free_at,
        stack=stack,
        dirty=np.arange(room) < groups,
        marks=np.zeros(room, np.int64),
        saved_ids=np.zeros(room, np.int64),
        saved_at=np.full(room, -1, np.int64),
        saved_members=np.zeros((room, width), np.int32),
        saved_sizes=np.zeros(room, np.int64),
        best=labels.copy(),
        since=np.zeros(n, np.int32),
        counts=counts,
        totals=np.array([costs.sum(), costs.sum(), EPSILON * (100 + d) * spread]),
        keys=keys,
        codes=codes,
        ruled=np.zeros(RULED_OUT, np.uint64),
        slots=np.full(1 << int(2 * remembered).bit_length(), -1, np.int64),
        pool=np.zeros((remembered, width - 1), np.int32),
        pool_sizes=np.zeros(remembered, np.int64),
        pool_keys=np.zeros(remembered, np.uint64),
        pool_costs=np.zeros(remembered),
        random=np.array([seed], np.uint64),
    )
