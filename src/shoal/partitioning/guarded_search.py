"""Local search among partitions that satisfy demands on sensitive values (see `shoal.kernels.guarded`)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from shoal.kernels import guarded as _guarded
from shoal.kernels import guarded_moves as _moves
from shoal.kernels import guards as _guards
from shoal.kernels import search_state as _state
from shoal.partitioning.chains import EPSILON, RULED_OUT
from shoal.partitioning.pool import Pool, numbered, squared_error
from shoal.progress import Progress, silent

Array = np.ndarray[Any, Any]

# Kicks for each group, and in all, which take some seconds; looks at groups or kicks between two looks at the clock.
KICKS, MOST_KICKS, AT_ONCE = 100, 200_000, 2000
# Room for members in all, which is shared by the groups; larger groups than it allows stay as they are.
ROOM = 1 << 26
# Neighbours of a record that are looked at, at most.
MOST_NEAR = 16


def search(
    X: Array,
    k: int,
    labels: Array,
    guards: _guards.Guards,
    *,
    rng: np.random.Generator,
    kicks: int = KICKS,
    time_limit: float | None = None,
    n_jobs: int = 1,
    report: Progress = silent,
) -> Array:
    """Lower the squared error by moves that leave every group as demanded, then by kicks.

    Parameters
    ----------
    X : float64[n, d]
    k : int
    labels : int64[n]
        Groups of at least k records that satisfy all demands.
    guards : Guards
    rng : Generator
    kicks : int
        For each group, but no more than `MOST_KICKS` in all.
    time_limit : float or None
        Seconds; if it ends the search, the result depends on the clock.
    n_jobs : int
    report : callable

    Returns
    -------
    int64[n]
        Numbered by first appearance; the squared error is not above that of the labels given.
    """
    until = np.inf if time_limit is None else time.perf_counter() + time_limit
    labels = numbered(labels)
    sizes = np.bincount(labels)
    if len(sizes) == 1 and len(X) < 2 * k:
        return labels
    room = len(X) // k + 2
    widest = max(4 * k, 64, ROOM // room)
    moving = (sizes < widest // 2)[labels]
    if not moving.any():
        return labels
    rows = np.flatnonzero(moving)
    own = guards._replace(codes=np.ascontiguousarray(guards.codes[:, rows]))
    found = _search(np.ascontiguousarray(X[rows]), k, numbered(labels[rows]), own, rng, kicks, until, n_jobs, report)
    result = labels.copy()
    result[rows] = found + len(sizes)
    result = numbered(result)
    # Costs are sums of differences: what counts is computed anew.
    return result if squared_error(X, result) < squared_error(X, labels) else labels


def _search(
    X: Array,
    k: int,
    labels: Array,
    guards: _guards.Guards,
    rng: np.random.Generator,
    kicks: int,
    until: float,
    n_jobs: int,
    report: Progress,
) -> Array:
    largest = int(np.bincount(labels).max())
    groups = int(labels.max()) + 1
    width = min(len(X), max(2 * largest, 4 * k)) + 1
    near = neighbours(X, max(k, len(X) // groups), rng, n_jobs)
    keys = rng.integers(0, 2**64, len(X), dtype=np.uint64, endpoint=False)
    s = _new_state(X, k, labels, width, near, keys, int(rng.integers(2**63)))
    w = _moves.room(guards, _guards.desk(guards, width), len(s.sizes), width, X.shape[1])
    reach = s.near.shape[1]
    while _guarded.search(s, guards, k, w, reach, AT_ONCE, 0) and time.perf_counter() < until:
        s.totals[_state.NOW] = s.costs.sum()
    steps = min(kicks * groups, MOST_KICKS)
    for done in range(0, steps, AT_ONCE):
        if time.perf_counter() >= until:
            break
        report(done / steps)
        s.totals[_state.NOW] = s.costs.sum()
        _guarded.search(s, guards, k, w, reach, AT_ONCE, min(AT_ONCE, steps - done))
    return numbered(s.labels)


def neighbours(X: Array, size: int, rng: np.random.Generator, n_jobs: int = 1) -> Array:
    """Return int32[n, m]: a record at each of the nearest other points, for groups of `size` records; -1 if no more.

    Equal records would only have each other as neighbours.
    """
    points, kind, counts = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    kind = kind.reshape(-1)
    m = min(MOST_NEAR, 6 + size // 3, len(points) - 1)
    if m == 0:
        return np.full((len(X), 1), -1, np.int32)
    targets = Pool(points).nearest_each(points, m, np.arange(len(points)), n_jobs)[0][kind]
    order, starts = np.argsort(kind, kind="stable"), np.cumsum(counts) - counts
    drawn = (rng.random((len(X), m)) * counts[targets]).astype(np.int64)
    near: Array = order[starts[targets] + drawn].astype(np.int32)
    return near


def _new_state(X: Array, k: int, labels: Array, width: int, near: Array, keys: Array, seed: int) -> _state.State:
    """Return the state of a search, with room for groups of less than `width` records and nothing remembered."""
    n, d = X.shape
    groups, room = int(labels.max()) + 1, max(int(labels.max()) + 1, n // k) + 2
    sizes, costs, radii, means = np.zeros(room, np.int64), np.zeros(room), np.zeros(room), np.zeros((room, d))
    sizes[:groups] = np.bincount(labels)
    members = np.zeros((room, width), np.int32)
    order = np.argsort(labels, kind="stable")
    members[labels[order], np.arange(n) - (np.cumsum(sizes) - sizes)[labels[order]]] = order
    for j in range(d):
        means[:groups, j] = np.bincount(labels, X[:, j]) / sizes[:groups]
    squares = ((X - means[labels]) ** 2).sum(axis=1)
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
    spread = float(((X - X.mean(axis=0)) ** 2).sum())
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
        best=labels[:0],
        since=np.zeros(0, np.int32),
        counts=counts,
        totals=np.array([costs.sum(), costs.sum(), EPSILON * (100 + d) * spread]),
        keys=keys,
        codes=codes,
        ruled=np.zeros(RULED_OUT, np.uint64),
        slots=np.zeros(1, np.int64),
        pool=np.zeros((0, 1), np.int32),
        pool_sizes=np.zeros(0, np.int64),
        pool_keys=np.zeros(0, np.uint64),
        pool_costs=np.zeros(0),
        random=np.array([seed], np.uint64),
    )
