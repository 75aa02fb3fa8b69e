"""Local search among partitions that satisfy demands on sensitive values (see `shoal.kernels.rule_search`)."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from shoal.arrays import Array
from shoal.kernels import rule_moves as _moves
from shoal.kernels import rule_search as _kernel
from shoal.kernels import rules as _rules
from shoal.kernels import search_state as _state
from shoal.partitioning.chains import new_state
from shoal.partitioning.pool import SMALL_TABLE, kinds, nearest_others, numbered, squared_error
from shoal.progress import Progress, silent

# Kicks for each group, and in all, which take some seconds; looks at groups or kicks between two looks at the clock.
KICKS, MOST_KICKS, AT_ONCE = 100, 200_000, 2000
# Temperature at the start of a cycle of kicks, as a share of the mean squared error of a group; less for fewer kicks.
HEAT = 0.1
# With a time limit, kicks for each group at most: more gain hardly anything.
LONGEST = 5_000
# If the clock ends the search, it is looked at this often, in seconds.
LOOK = 0.05
# Room for members in all, which is shared by the groups, and of one; larger groups than it allows stay as they are.
ROOM, WIDEST = 1 << 25, 1024
# Neighbours of a record that are looked at, at most.
MOST_NEAR = 16
# Looks at groups of a descent that is not ended by the clock: so many for each group, less if groups are large.
LOOKS, LARGE = 60, 64


def search(
    X: Array,
    k: int,
    labels: Array,
    rules: _rules.Rules,
    *,
    rng: np.random.Generator,
    kicks: int = KICKS,
    heat: float = HEAT,
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
        For each group, but no more than `MOST_KICKS` in all; with a time limit, as many as it allows, up to `LONGEST`
        for each group, unless 0.
    heat : float
        By how much kicks may raise the squared error at first, as a share of the mean squared error of a group.
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
    if (len(sizes) == 1 and len(X) < 2 * k) or time.perf_counter() >= until:
        return labels
    room = len(X) // k + 2
    widest = max(4 * k, 64, min(WIDEST, ROOM // room))
    moving = (sizes < widest // 2)[labels]
    if not moving.any():
        return labels
    rows = np.flatnonzero(moving)
    everything = len(rows) == len(X)
    own = rules if everything else rules._replace(codes=np.ascontiguousarray(rules.codes[:, rows]))
    chain = _Chain(X if everything else np.ascontiguousarray(X[rows]), k, numbered(labels[rows]), own, rng, n_jobs)
    chain.descend(until)
    if kicks:
        chain.kick(kicks, heat, until, report)
    result = labels.copy()
    result[rows] = chain.labels + len(sizes)
    result = numbered(result)
    # Costs are sums of differences: what counts is computed anew.
    return result if squared_error(X, result) < squared_error(X, labels) else labels


class _Chain:
    """A partition under search."""

    def __init__(
        self, X: Array, k: int, labels: Array, rules: _rules.Rules, rng: np.random.Generator, n_jobs: int
    ) -> None:
        self.k, self.rules = k, rules
        largest = int(np.bincount(labels).max())
        self.groups = int(labels.max()) + 1
        width = min(len(X), max(2 * largest, 4 * k)) + 1
        near = neighbours(X, max(k, len(X) // self.groups), rng, n_jobs)
        keys = rng.integers(0, 2**64, len(X), dtype=np.uint64, endpoint=False)
        self.state = new_state(X, k, labels, near, keys, int(rng.integers(2**63)), width=width, spare=2)
        self.desk = _moves.room(rules, _rules.desk(rules, width), len(self.state.sizes), width, X.shape[1])

    @property
    def labels(self) -> Array:
        """Return int64[n]: the groups, numbered by first appearance."""
        return numbered(self.state.labels)

    def _run(self, visits: int, steps: int, temperature: float = 0.0, cooling: float = 0.0) -> bool:
        s = self.state
        s.totals[_state.NOW] = s.costs.sum()  # sums of differences: set right before they drift
        reach = s.near.shape[1]
        return bool(
            _kernel.search(s, self.rules, self.k, self.desk, reach, visits, steps, float(temperature), float(cooling))
        )

    def descend(self, until: float) -> None:
        """Apply moves that gain until none does, or enough groups were looked at."""
        size = len(self.state.labels) / self.groups
        left = round(LOOKS * self.groups * min(1.0, (LARGE / size) ** 2)) + AT_ONCE
        for visits in _chunks(left, until):
            if not self._run(visits, 0):
                break

    def kick(self, kicks: int, heat: float, until: float, report: Progress) -> None:
        """Kick while the temperature falls to zero: for so many kicks a group, or until the time is up."""
        groups = int((self.state.sizes > 0).sum())
        hot = heat * float(self.state.costs.sum()) / groups / (KICKS * groups)  # for each kick, up to KICKS a group
        done, start = 0, time.perf_counter()
        if until == np.inf:
            steps = min(kicks * groups, MOST_KICKS)
            hot *= min(steps, KICKS * groups)
            for chunk in _chunks(steps, until):
                report(done / steps)
                self._run(AT_ONCE, chunk, hot * (1 - done / steps), hot / steps)
                done += chunk
            return
        for chunk in _chunks(LONGEST * groups, until):
            passed = (time.perf_counter() - start) / max(until - start, 1e-9)
            used = min(1.0, max(passed, done / (LONGEST * groups)))
            report(used)
            # As many as there will be, if they go on as before.
            expected = done / used if used > 0 else 0.0
            self._run(AT_ONCE, chunk, hot * min(expected, KICKS * groups) * (1 - used))
            done += chunk


def _chunks(steps: int | None, until: float, clock: Callable[[], float] = time.perf_counter):  # type: ignore[no-untyped-def]
    """Yield how many steps to take at once, until so many are done (None: no limit) or the time is up."""
    done, chunk = 0, AT_ONCE if until == np.inf else 8
    while (steps is None or done < steps) and (until == np.inf or clock() < until):
        now = chunk if steps is None else min(chunk, steps - done)
        start = clock()
        yield now
        done += now
        if until < np.inf:
            took = clock() - start
            chunk = min(AT_ONCE, 2 * chunk) if took < LOOK / 2 else max(1, chunk // 2) if took > LOOK else chunk


def neighbours(X: Array, size: int, rng: np.random.Generator, n_jobs: int = 1) -> Array:
    """Return int32[n, m]: a record at each of the nearest other points, for groups of `size` records; -1 if no more.

    Equal records would only have each other as neighbours.
    """
    if len(X) > SMALL_TABLE:
        alike = kinds(X)
        points, kind, counts = X[alike.firsts], alike.of, np.bincount(alike.of)
    else:
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
