"""The anytime search: the best partition for the time that is given.

1. *Start*: a quick method, as better starts are overtaken at once. In a large table, most methods leave some groups
   whose records lie far apart, and no neighbours to exchange them with: the best of several methods is improved by
   rounds of ONA first.
2. *Chains*: local search with exact costs, kicked again and again by freeing a few neighbouring groups and rebuilding
   them (`shoal.kernels.kicks`). A step costs the same however many records there are.
3. *Islands*: several chains from different starts, none of which sees the others.
4. *Recombination*: all groups that good partitions had go into a memory, and the best combination of them is found
   window by window (`shoal.partitioning.recombination`). A generation is some islands and a recombination.

Groups of equal records that nobody needs are left out (`shoal.partitioning.equal_groups`).

A table of many records is cut into regions, which are searched side by side, and cut in another way in the next round,
so that no border stays. Neighbours are looked for once, in the whole table.

A partition that is at hand is valid at every moment, and a better one takes its place only after its squared error was
computed anew by `shoal.kernels.groups`. With `max_steps` the result depends on the seed alone, not on threads or
the clock.
"""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from threading import Event, current_thread, main_thread
from types import FrameType
from typing import Literal

import numpy as np

from shoal.arrays import Array, group_means
from shoal.kernels import kicks as _kicks
from shoal.partitioning import plain as _plain
from shoal.partitioning.chains import Budget, field
from shoal.partitioning.choice import DEFAULT_SECONDS, WHOLE
from shoal.partitioning.compiling import SEARCH, beside
from shoal.partitioning.covering import solve
from shoal.partitioning.equal_groups import in_play
from shoal.partitioning.evolution import CYCLE, OTHER_STARTS, Evolution, compact, ending
from shoal.partitioning.maximum_distance import mdav_plus
from shoal.partitioning.neighbour_bound import neighbour_bound
from shoal.partitioning.paths import univariate
from shoal.partitioning.pool import SMALL_TABLE, Pool, squared_error
from shoal.partitioning.refine import split_large
from shoal.partitioning.starts import SHARE, Start, first_partition
from shoal.progress import Progress, Standing, Tried, asked_to_end, part, silent

Generator = np.random.Generator

log = logging.getLogger("shoal")

# Bounds are proven up to a tolerance: so near is met.
MET = 1 + 2e-6
# For k = 2: the share of the time for the search before the proof is tried, the share of the rest for that, and the
# seconds below which it is not tried.
SEARCHING, PROVING, LEAST_PROOF = 0.2, 0.9, 2.0
# Records that are searched so that everything is compiled.
SAMPLE = 64
# Seconds after which a search may want other starts.
LONG = 5.0
# Of a table that is not searched as a whole, the records of a region at most, and regions at least. Larger regions have
# fewer borders, at which nothing can be gained, smaller ones can be searched side by side.
REGION, REGIONS = 20_000, 4
# Rounds over all regions: where steps are counted, or nothing is known of the pace yet; and at most.
FIRST_ROUNDS, MOST_ROUNDS = 3, 12
# Groups of equal records that are left to each record that lies nearest to them.
LENT = 1
# Beyond so many records the bound is not looked at: it would take long, and is not met anyway.
BOUND_RECORDS = 20_000


def anytime(
    X: Array,
    k: int,
    *,
    rng: Generator,
    time_limit: float | None = None,
    max_steps: int | Literal["none"] = "none",
    start: Start = "auto",
    rounds: int | Literal["auto"] = "auto",
    n_jobs: int = 1,
    report: Progress = silent,
) -> Array:
    """Search for the lowest loss until the time is over, nothing is gained any more, or the bound is met.

    `max_steps` counts kicks, over all chains; the result is then reproducible, unless a time limit ends it before. With
    0, it is what the search would start from. Without either, the search goes on for a minute. Ctrl-C ends it, and the
    best partition so far is returned.
    """
    if len(X) < 2 * k:
        return np.zeros(len(X), np.int64)
    if X.shape[1] == 1:
        return univariate(X, k, report=report)
    begin = time.perf_counter()
    if max_steps != 0:
        begin = _ready(X, k, lambda Y: _plain.mdav(Y, k), time_limit, max_steps)
    labels, tried = first_partition(X, k, start, rounds, time_limit, max_steps, n_jobs, report)
    if max_steps == 0:
        report(Standing(1.0, time.perf_counter() - begin, tried[-1].loss, np.inf, tried))
        return labels
    rest = part(report, SHARE, 1.0) if len(X) > WHOLE else report
    return _Hunt(X, k, labels, rng, begin, time_limit, max_steps, n_jobs, rest, tried=tried).run()


def refine_anytime(
    X: Array,
    k: int,
    labels: Array,
    *,
    rng: Generator,
    time_limit: float | None = None,
    max_steps: int | Literal["none"] = "none",
    n_jobs: int = 1,
    report: Progress = silent,
) -> Array:
    """Search as `anytime` does, from a partition that is given; the result is never worse."""
    if len(X) < 2 * k:
        return labels
    begin = _ready(X, k, lambda Y: np.zeros(len(Y), np.int64), time_limit, max_steps)
    return _Hunt(X, k, labels, rng, begin, time_limit, max_steps, n_jobs, report).run()


def _ready(
    X: Array,
    k: int,
    start: Callable[[Array], Array],
    time_limit: float | None,
    max_steps: int | Literal["none"],
) -> float:
    """Have everything compiled by a search of a few records, and return the time: compiling is not searching."""
    few, interrupted = X[: max(2 * k, SAMPLE)], Event()
    rng = np.random.default_rng(0)
    seconds = DEFAULT_SECONDS if time_limit is None else time_limit
    long = seconds >= LONG if max_steps == "none" else max_steps > CYCLE * (len(X) // k)
    with hearing(interrupted):
        with beside(_kicks.search, SEARCH) as wait:
            labels = start(few)
            squared_error(few, labels)
            wait()
        _Hunt(few, k, labels, rng, time.perf_counter(), None, 1, 1, silent, quiet=True).run()
        if len(X) > SMALL_TABLE:
            Pool(few).nearest_each(few, 1, np.arange(len(few)))
        if len(X) > WHOLE:
            first_partition(few, k, "best", 1, None, 0, 1, silent)
        for other in OTHER_STARTS if long else ():
            other(few, k)
    if interrupted.is_set():
        raise KeyboardInterrupt  # there is nothing yet to return
    return time.perf_counter()


class _Hunt:
    """A search of one table: the best partition so far, and what is left of time and steps."""

    def __init__(
        self,
        X: Array,
        k: int,
        labels: Array,
        rng: Generator,
        begin: float,
        time_limit: float | None,
        max_steps: int | Literal["none"],
        n_jobs: int,
        report: Progress,
        *,
        tried: tuple[Tried, ...] = (),
        quiet: bool = False,
    ) -> None:
        self.quiet, self.tried = quiet, tried
        # Around their mean, records keep the digits in which they differ.
        self.X, self.k, self.rng, self.n_jobs = np.ascontiguousarray(X - X.mean(axis=0)), k, rng, n_jobs
        self.begin, self.report = begin, report
        self.steps = None if max_steps == "none" else max_steps
        if time_limit is None:
            time_limit = DEFAULT_SECONDS if self.steps is None else np.inf
        self.until = begin + time_limit
        self.stop = Event() if quiet else _Stop()
        self.labels = self.start = compact(split_large(self.X, k, labels, mdav_plus, in_place=True))
        self.spread = squared_error(self.X, np.zeros(len(X), np.int64))
        self.bound = neighbour_bound(self.X, k, n_jobs) if len(X) <= BOUND_RECORDS else 0.0
        self.rows = np.arange(len(X))
        # A proof is one of all records.
        if not self._provable():
            self.rows = in_play(self.X, self.labels, LENT, n_jobs)
            if len(self.rows) < len(X):
                self.X, self.labels = np.ascontiguousarray(self.X[self.rows]), compact(self.labels[self.rows])
        self.error = squared_error(self.X, self.labels)

    def run(self) -> Array:
        """Search, and return the best labels."""
        interrupted = Event()
        try:
            with nullcontext() if self.quiet else hearing(interrupted, self.stop):
                if not self._ended():
                    if len(self.X) <= WHOLE:
                        self._whole()
                    else:
                        self._regions()
        except KeyboardInterrupt:
            if self.quiet:
                raise
            interrupted.set()
        finally:
            self.stop.set()
        if interrupted.is_set():
            log.warning("the search was interrupted: the best partition so far is taken")
        if not self.quiet:
            standing = self._standing(1.0)
            known = np.isfinite(standing.gap)
            log.info(
                "anytime: %.1f s, loss %.4f %%%s%s",
                standing.seconds,
                100 * standing.loss,
                f", at most {100 * standing.gap:.1f} % above the best possible" if known else "",
                "; by time, and so not reproducible" if self.steps is None or time.perf_counter() >= self.until else "",
            )
        labels = self.start.copy()
        labels[self.rows] = len(labels) + self.labels
        return compact(labels)

    def _provable(self) -> bool:
        """Whether pairs and triples are a problem that linear programmes solve within the time."""
        return self.k == 2 and self.steps is None and len(self.start) <= WHOLE

    def _standing(self, fraction: float) -> Standing:
        seconds = time.perf_counter() - self.begin
        if self.steps is None:
            fraction = seconds / (self.until - self.begin)
        gap = self.error / self.bound - 1 if self.bound else (np.inf if self.error else 0.0)
        return Standing(fraction, seconds, self.error / self.spread if self.spread else 0.0, gap, self.tried)

    def _ended(self) -> bool:
        """Whether the time is over, also beside a limit of steps, or nothing can be gained any more."""
        return time.perf_counter() >= self.until or self.stop.is_set() or self.error <= self.bound * MET

    def _whole(self) -> None:
        """Search the whole table."""
        place = field(self.X, self.k, self.rng, self.n_jobs)
        search = Evolution(place, self.labels, self.rng, self.stop, self.n_jobs, floor=self.bound * MET)

        def told() -> None:
            self.labels, self.error = search.labels, search.error
            self.report(self._standing(search.steps / self.steps if self.steps else 1.0))
            # By steps, a bound that is met ends the search after all chains that run at the same time.
            if time.perf_counter() >= self.until or (self.steps is None and self._ended()):
                self.stop.set()

        try:
            if self._provable():
                # A glance at it first, then the proof.
                search.run(Budget(self.begin + SEARCHING * (self.until - self.begin)), told)
                self._prove(search)
                told()
            search.run(Budget(self.until, self.steps), told)
        finally:
            self.labels, self.error = search.labels, search.error

    def _prove(self, search: Evolution) -> None:
        """Raise the bound, and look for the optimum with the proof that it is."""
        left = self.until - time.perf_counter()
        if left < LEAST_PROOF or self._ended():
            return
        try:
            found = solve(self.X, self.k, search.labels, PROVING * left, self._go_on)
        except _Ended:
            return
        self.bound = max(self.bound, found.bound)
        search.floor = self.bound * MET
        search.offer(compact(found.labels))

    def _go_on(self, standing: float) -> None:
        """Leave what only reports its progress when the search is to end."""
        if self.stop.is_set():
            raise _Ended

    def _regions(self) -> None:
        """Search regions side by side, in rounds with other borders each."""
        number, rounds = 0, FIRST_ROUNDS
        self.place = field(self.X, self.k, self.rng, self.n_jobs)
        with ThreadPoolExecutor(self.n_jobs) as threads:
            while number < rounds and not self._ended():
                pace = self._round(threads, number, rounds)
                number += 1
                if self.steps is None:
                    left = max(0.0, self.until - time.perf_counter())
                    rounds = number + min(MOST_ROUNDS - number, max(1, round(left / pace)))

    def _round(self, threads: ThreadPoolExecutor, number: int, rounds: int) -> float:
        """Search all regions once; return the seconds that a whole cycle of all groups would take."""
        begin, n = time.perf_counter(), len(self.X)
        steps = None if self.steps is None else self.steps / rounds / n
        seconds = (self.until - begin) / (rounds - number) / n * self.n_jobs
        regions = cut_in_regions(self.X, self.labels, self.rng)
        seeds = [int(seed) for seed in self.rng.integers(0, 2**63, len(regions))]

        def search(region: int) -> Evolution | None:
            if self.stop.is_set() or time.perf_counter() >= self.until:
                return None
            rows, rng = regions[region], np.random.default_rng(seeds[region])
            found = Evolution(self.place.of(rows), compact(self.labels[rows]), rng, self.stop, turn=number)
            until = min(self.until, time.perf_counter() + seconds * len(rows))
            found.run(Budget(until, None if steps is None else round(steps * len(rows))))
            return found

        made, done, fresh = 0, 0, int(self.labels.max()) + 1
        with ending(self.stop):
            for rows, found in zip(regions, threads.map(search, range(len(regions))), strict=True):
                done += len(rows)
                if found is not None:
                    self.labels[rows] = found.labels + fresh
                    fresh += int(found.labels.max()) + 1
                    self.error -= found.gained
                    made += found.steps
                self.report(self._standing((number + done / n) / rounds))
        self.labels = compact(self.labels)
        self.error = squared_error(self.X, self.labels)
        return CYCLE * (int(self.labels.max()) + 1) * (time.perf_counter() - begin) / max(1, made)


class _Ended(Exception):
    """The search was asked to end."""


class _Stop(Event):
    """Is set when somebody sets it, and when whoever called has asked to end (see `shoal.progress.ending_when`)."""

    def __init__(self) -> None:
        super().__init__()
        self._asked = asked_to_end()

    def is_set(self) -> bool:
        """Return whether to stop."""
        return super().is_set() or self._asked()


@contextmanager
def hearing(*events: Event) -> Iterator[None]:
    """Have Ctrl-C set events before it raises, as an exception that meets a destructor is lost.

    A handler of the caller's own, and those of other threads than the main one, are left alone.
    """
    usual = signal.default_int_handler
    if current_thread() is not main_thread() or signal.getsignal(signal.SIGINT) is not usual:
        yield
        return

    def handler(number: int, frame: FrameType | None) -> None:
        for event in events:
            event.set()
        usual(number, frame)

    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def cut_in_regions(X: Array, labels: Array, rng: Generator) -> list[Array]:
    """Cut a table into at least REGIONS regions of at most REGION records, without cutting groups: rows of each."""
    sizes = np.bincount(labels)
    most = min(REGION, len(X) // REGIONS * 5 // 4)
    means = group_means(X, labels)
    order = np.argsort(labels, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    large, regions = [np.arange(len(sizes))], []
    while large:
        groups = large.pop()
        if len(groups) == 1 or sizes[groups].sum() <= most:
            regions.append(np.sort(np.concatenate([order[bounds[g] : bounds[g + 1]] for g in groups])))
            continue
        # Nearly along the longest axis, and nearly in the middle: other borders every time.
        here = means[groups] - means[groups].mean(axis=0)
        axis = _longest_axis(here) + 0.3 * rng.normal(size=X.shape[1]) / np.sqrt(X.shape[1])
        ranked = groups[np.argsort((here * axis).sum(axis=1), kind="stable")]
        middle = min(max(1, int(len(ranked) * rng.uniform(0.4, 0.6))), len(ranked) - 1)
        large += [ranked[:middle], ranked[middle:]]
    return regions


def _longest_axis(points: Array) -> Array:
    """Return nearly the first principal axis of centred points: float64[d], of length 1 (0 if all points are equal).

    A few steps of the power method, in sums that every machine computes alike, as libraries of linear algebra do not.
    """
    axis: Array = points[np.argmax((points**2).sum(axis=1))]
    for _ in range(4):
        axis = (points * (points * axis).sum(axis=1)[:, None]).sum(axis=0)
        axis = axis / (np.sqrt((axis**2).sum()) or 1.0)
    return axis
