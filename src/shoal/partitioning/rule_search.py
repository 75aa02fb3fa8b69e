"""Local search among partitions that satisfy demands on sensitive values (see `shoal.kernels.rule_search`)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from shoal.kernels import rule_moves as _moves
from shoal.kernels import rule_search as _kernel
from shoal.kernels import rules as _rules
from shoal.kernels import search_state as _state
from shoal.partitioning.chains import new_state
from shoal.partitioning.pool import nearest_others, numbered, squared_error
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
    rules: _rules.Rules,
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
    rules : Rules
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
    own = rules._replace(codes=np.ascontiguousarray(rules.codes[:, rows]))
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
    rules: _rules.Rules,
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
    s = new_state(X, k, labels, near, keys, int(rng.integers(2**63)), width=width, spare=2)
    w = _moves.room(rules, _rules.desk(rules, width), len(s.sizes), width, X.shape[1])
    reach = s.near.shape[1]
    while _kernel.search(s, rules, k, w, reach, AT_ONCE, 0) and time.perf_counter() < until:
        s.totals[_state.NOW] = s.costs.sum()
    steps = min(kicks * groups, MOST_KICKS)
    for done in range(0, steps, AT_ONCE):
        if time.perf_counter() >= until:
            break
        report(done / steps)
        s.totals[_state.NOW] = s.costs.sum()
        _kernel.search(s, rules, k, w, reach, AT_ONCE, min(AT_ONCE, steps - done))
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
    targets = nearest_others(points, m, n_jobs)[0][kind]
    order, starts = np.argsort(kind, kind="stable"), np.cumsum(counts) - counts
    drawn = (rng.random((len(X), m)) * counts[targets]).astype(np.int64)
    near: Array = order[starts[targets] + drawn].astype(np.int32)
    return near
