"""Local search among partitions that satisfy demands on sensitive values (see `shoal.kernels.rule_search`)."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property

import numpy as np

from shoal.arrays import Array
from shoal.kernels import rule_moves as _moves
from shoal.kernels import rule_search as _kernel
from shoal.kernels import rules as _rules
from shoal.kernels import search_state as _state
from shoal.partitioning.chains import new_state
from shoal.partitioning.pool import SMALL_TABLE, Pool, kinds, nearest_others, numbered, squared_error
from shoal.partitioning.thin import thin_of, thin_rows
from shoal.progress import Progress, asked_to_end, silent

# Kicks for each group, and in all, which take some seconds; looks at groups or kicks between two looks at the clock.
KICKS, MOST_KICKS, AT_ONCE = 100, 200_000, 2000
# Seconds of one core for all kicks if no limit is given, additional ones per record, and those that a kick is taken to
# need for each (d + 60) s^1.5, where s is the mean size of the group of a record: estimates, so that results do not
# depend on the clock.
KICKING, KICKING_PER_RECORD, KICK_SECONDS = 10.0, 3e-5, 2e-8
# Models that look at every single value refuse most swaps, each after a look at the whole group: so many times as slow.
REFUSING, SLOWER = (_rules.DELTA, _rules.BETA, _rules.ENHANCED), 12.0
# Looks at groups after a kick, at most: as good as all end much earlier. Where demands make groups larger than 2k, a
# look takes milliseconds, because most cuts are refused, each after a look at both sides.
AFTER_KICK = 100
# Temperature at the start of a cycle of kicks, as a share of the mean squared error of a group; less for fewer kicks.
HEAT = 0.1
# With a time limit, kicks for each group at most: more gain hardly anything.
LONGEST = 5_000
# If the clock ends the search, it is looked at this often, in seconds.
LOOK = 0.05
# Room for members in all, which is shared by the groups, and of one; larger groups than it allows stay as they are.
ROOM, WIDEST = 1 << 25, 1024
# Up to this size, they are first searched by themselves: many can be cut.
LARGEST = 2048
# Neighbours of a record that are looked at, at most, and records for which they are drawn at a time.
MOST_NEAR, AT_A_TIME = 16, 1 << 18
# Looks at groups of a descent: so many for each group at most, less if groups are larger than LARGE records.
LOOKS, LARGE = 60, 64
# Of more records than MANY, so few neighbours are looked at first, until no move among those gains: sooner and better.
MANY, FIRST_NEAR = 20_000, 3


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
    near: Neighbours | None = None,
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
    near : Neighbours or None
        Of X, if other searches use them too.

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
    widest = max(4 * k, 64, min(WIDEST, ROOM // (len(X) // k + 2)))
    large = (sizes >= widest // 2) & (sizes <= _largest(sizes, widest // 2, k))
    near = Neighbours(X, n_jobs) if near is None else near
    result = _searched(k, labels, rules, np.flatnonzero(large[labels]), (0, heat, until), rng, near, report)
    few = np.bincount(result) < widest // 2
    result = _searched(k, result, rules, np.flatnonzero(few[result]), (kicks, heat, until), rng, near, report)
    # Costs are sums of differences: what counts is computed anew.
    return result if squared_error(X, result) < squared_error(X, labels) else labels


def _largest(sizes: Array, least: int, k: int) -> int:
    """Return up to which size groups of at least `least` records can be searched by themselves in the room there is."""
    largest = LARGEST
    while largest >= least:
        records = int(sizes[(sizes >= least) & (sizes <= largest)].sum())
        if (records // k + 2) * (2 * largest + 1) <= ROOM:
            return largest
        largest //= 2
    return 0


def _searched(
    k: int,
    labels: Array,
    rules: _rules.Rules,
    rows: Array,
    effort: tuple[int, float, float],
    rng: np.random.Generator,
    near: Neighbours,
    report: Progress,
) -> Array:
    """Return the labels after a search among whole groups, those of some rows; the others stay as they are."""
    kicks, heat, until = effort
    if len(rows) == 0 or time.perf_counter() >= until:
        return labels
    X, inside = near.X, None
    if len(rows) < len(X):
        X, rules = np.ascontiguousarray(X[rows]), rules._replace(codes=np.ascontiguousarray(rules.codes[:, rows]))
        # Most neighbours of a few records are among the others.
        near, inside = (Neighbours(X, near.n_jobs), None) if 2 * len(rows) < len(near.X) else (near, rows)
    chain = _Chain(X, k, numbered(labels[rows]), rules, rng, near, inside)
    chain.descend(until)
    found = chain.labels
    if kicks:
        chain.kick(kicks, heat, until, report)
        # A search that the clock ends while it is hot may be above where it began.
        found = min(found, chain.labels, key=lambda one: squared_error(X, one))
    result = labels.copy()
    result[rows] = found + int(labels.max()) + 1
    return numbered(result)


class _Chain:
    """A partition under search."""

    def __init__(
        self,
        X: Array,
        k: int,
        labels: Array,
        rules: _rules.Rules,
        rng: np.random.Generator,
        neighbours: Neighbours,
        rows: Array | None,
    ) -> None:
        self.k, self.rules = k, rules
        largest = int(np.bincount(labels).max())
        self.groups = int(labels.max()) + 1
        width = min(len(X), max(2 * largest, 4 * k)) + 1
        near = neighbours.draw(max(k, len(X) // self.groups), rng, rows)
        self.reach = near.shape[1]  # how many neighbours of a record are looked at
        keys = rng.integers(0, 2**64, len(X), dtype=np.uint64, endpoint=False)
        self.state = new_state(X, k, labels, near, keys, int(rng.integers(2**63)), width=width, spare=2)
        thin = neighbours.thin if rows is None else thin_rows(neighbours.thin, rows)
        self.desk = _moves.room(rules, _rules.desk(rules, width), thin, len(self.state.sizes), width)

    @property
    def labels(self) -> Array:
        """Return int64[n]: the groups, numbered by first appearance."""
        return numbered(self.state.labels)

    def _run(self, visits: int, steps: int, temperature: float = 0.0, cooling: float = 0.0) -> bool:
        s = self.state
        s.totals[_state.NOW] = s.costs.sum()  # sums of differences: set right before they drift
        reach = self.reach
        return bool(
            _kernel.search(s, self.rules, self.k, self.desk, reach, visits, steps, float(temperature), float(cooling))
        )

    def descend(self, until: float) -> None:
        """Apply moves that gain until none does, or enough groups were looked at; large ones count more."""
        if len(self.state.labels) > MANY and self.state.near.shape[1] > FIRST_NEAR:
            self.reach = FIRST_NEAR
            self._descend(until)
            self._look_at_all()
            self.reach = self.state.near.shape[1]
        self._descend(until)

    def _look_at_all(self) -> None:
        """Put every group on the stack."""
        s, every = self.state, np.flatnonzero(self.state.sizes > 0)
        s.stack[: len(every)] = every
        s.dirty[:] = s.sizes > 0
        s.counts[_state.DIRTY] = len(every)

    def _descend(self, until: float) -> None:
        size = len(self.state.labels) / self.groups
        left = LOOKS * self.groups * min(1.0, (LARGE / size) ** 2) + AT_ONCE
        for most in _chunks(None, until):
            each = self._weight(most)
            visits = max(1, int(min(most, left / each, AT_ONCE / each)))
            left -= visits * each
            if not self._run(visits, 0) or left < 1:
                break

    def _weight(self, visits: int) -> float:
        """Return what a look at one of the next groups counts, on average: size / LARGE, but at least 1."""
        dirty = int(self.state.counts[_state.DIRTY])
        sizes = self.state.sizes[self.state.stack[max(0, dirty - visits) : dirty]]
        return float(np.maximum(1.0, sizes / LARGE).mean()) if dirty else 1.0

    def kick(self, kicks: int, heat: float, until: float, report: Progress) -> None:
        """Kick while the temperature falls to zero: for so many kicks a group, or until the time is up."""
        groups = int((self.state.sizes > 0).sum())
        hot = heat * float(self.state.costs.sum()) / groups / (KICKS * groups)  # for each kick, up to KICKS a group
        done, start = 0, time.perf_counter()
        if until == np.inf:
            steps = min(kicks * groups, MOST_KICKS, self._affordable())
            hot *= min(steps, KICKS * groups)
            for chunk in _chunks(steps, until):
                report(done / steps)
                self._run(AFTER_KICK, chunk, hot * (1 - done / steps), hot / steps)
                done += chunk
            return
        for chunk in _chunks(LONGEST * groups, until):
            passed = (time.perf_counter() - start) / max(until - start, 1e-9)
            used = min(1.0, max(passed, done / (LONGEST * groups)))
            report(used)
            # As many as there will be, if they go on as before.
            expected = done / used if used > 0 else 0.0
            self._run(AFTER_KICK, chunk, hot * min(expected, KICKS * groups) * (1 - used))
            done += chunk

    def _affordable(self) -> int:
        """Return how many kicks are worth their time, by the coordinates and by the size of the groups of records."""
        n, d = self.state.X.shape
        size = float((self.state.sizes.astype(float) ** 2).sum()) / n
        each = KICK_SECONDS * (d + 60) * (size * max(1.0, size / (2 * self.k))) ** 1.5
        each *= SLOWER if np.isin(self.rules.kinds, REFUSING).any() else 1.0
        return int((KICKING + KICKING_PER_RECORD * n) / each)


def _chunks(steps: int | None, until: float, clock: Callable[[], float] = time.perf_counter):  # type: ignore[no-untyped-def]
    """Yield how many steps to take at once, until so many are done (None: no limit) or the time is up."""
    done, chunk, asked = 0, AT_ONCE if until == np.inf else 8, asked_to_end()
    while (steps is None or done < steps) and (until == np.inf or clock() < until) and not asked():
        now = chunk if steps is None else min(chunk, steps - done)
        start = clock()
        yield now
        done += now
        if until < np.inf:
            took = clock() - start
            chunk = min(AT_ONCE, 2 * chunk) if took < LOOK / 2 else max(1, chunk // 2) if took > LOOK else chunk


class Neighbours:
    """The neighbours of all records, whose nearest points are looked for once and serve all searches of a table.

    Parameters
    ----------
    X : float64[n, d]
    n_jobs : int

    Attributes
    ----------
    order : int64[n] or None
        The rows of the table that these records are, if they were put into another order (see `in_place`).
    """

    def __init__(self, X: Array, n_jobs: int = 1) -> None:
        self.X, self.n_jobs = X, n_jobs
        self.order: Array | None = None
        if len(X) > SMALL_TABLE:
            alike = kinds(X)
            self.points, self.kind, self.counts = alike.firsts, alike.of, np.bincount(alike.of)
        else:
            _, self.points, kind, self.counts = np.unique(
                X, axis=0, return_index=True, return_inverse=True, return_counts=True
            )
            self.kind = kind.reshape(-1)
        self.targets = np.empty((len(self.points), 0), np.int32)

    @cached_property
    def thin(self) -> _moves.Thin:
        """The records by their differences from a usual one."""
        return thin_of(self.X)

    def wanted(self, size: int) -> int:
        """Return how many neighbours of a record are looked at, for groups of `size` records."""
        return min(MOST_NEAR, 6 + size // 3, len(self.points) - 1)

    def draw(self, size: int, rng: np.random.Generator, rows: Array | None = None) -> Array:
        """Return int32[n, m]: a record at each of the nearest other points, for groups of `size` records.

        Equal records would only have each other as neighbours. With `rows`, they are numbered by their place among
        these, and others are left out. -1 if there are no more.
        """
        n, m = len(self.X), self.wanted(size)
        if m == 0:
            return np.full((n if rows is None else len(rows), 1), -1, np.int32)
        if m > self.targets.shape[1]:
            self.targets = nearest_others(self.X[self.points], m, self.n_jobs)[0].astype(np.int32)
        order, starts = np.argsort(self.kind, kind="stable"), np.cumsum(self.counts) - self.counts
        near = np.empty((n, m), np.int32)
        for some in np.array_split(np.arange(n), 1 + n // AT_A_TIME):
            targets = self.targets[self.kind[some], :m]
            drawn = (rng.random(targets.shape) * self.counts[targets]).astype(np.int64)
            near[some] = order[starts[targets] + drawn]
        if rows is None:
            return near
        place = np.full(n, -1, np.int32)
        place[rows] = np.arange(len(rows))
        inside = place[near[rows]]
        return np.take_along_axis(inside, np.argsort(inside < 0, axis=1, kind="stable"), axis=1)


def in_place(X: Array, size: int, n_jobs: int = 1) -> Neighbours:
    """Return the neighbours of the records of a large table in another order: near ones lie together in memory.

    A search is then several times as fast, as is the one for neighbours: what they need next is mostly at hand. Equal
    records follow each other. The index is gone before the records are copied.

    Parameters
    ----------
    X : float64[n, d]
        More than `SMALL_TABLE` records.
    size : int
        Of the groups, about.
    n_jobs : int
    """
    near = Neighbours(X, n_jobs)
    m, pool = near.wanted(size), Pool(X, near.points)
    by = np.argsort(pool.points.slots[near.points])
    rank = np.empty(len(by), np.int64)
    rank[by] = np.arange(len(by))
    targets = np.empty((len(by), max(0, m)), np.int32)
    for some in np.array_split(np.arange(len(by)), 1 + len(by) // AT_A_TIME) if m > 0 else ():
        rows = near.points[by[some]]
        targets[some] = rank[near.kind[pool.nearest_each(X[rows], m, rows, n_jobs)[0]]]
    del pool
    kind = rank[near.kind]
    near.order = np.argsort(kind, kind="stable")
    near.X, near.kind, near.counts = X[near.order], kind[near.order], near.counts[by]
    near.points, near.targets = np.cumsum(near.counts) - near.counts, targets
    return near
