"""Islands and recombination: the anytime search on records that are searched as a whole.

A generation is some chains from different starts, none of which sees the others, and then the best combination of all
groups that their good partitions had.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, RLock

import numpy as np

from shoal.arrays import Array
from shoal.partitioning import plain
from shoal.partitioning.chains import HEAT, LESS_HEAT, Budget, Chain, Field
from shoal.partitioning.maximum_distance import mdav_plus
from shoal.partitioning.paths import mdav_mhm, npn_mhm
from shoal.partitioning.pool import squared_error
from shoal.partitioning.recombination import Memory
from shoal.partitioning.refine import split_large

Generator = np.random.Generator

# Chains of a generation.
ISLANDS = 4
# Steps of a cycle for each group.
CYCLE = 200
# Generations without a gain after which nothing more is expected.
STAGNATION = 6
# Share of the time for recombination.
COMBINING = 0.25
# Paths through all records, cut where it is best, and groups from the outside in.
OTHER_STARTS = (mdav_mhm, plain.mdav, npn_mhm)


def _nothing() -> None:
    """Tell nobody."""


@contextmanager
def ending(stop: Event) -> Iterator[None]:
    """Have threads told to stop as soon as anything goes wrong, before they are waited for."""
    try:
        yield
    except BaseException:
        stop.set()
        raise


class Evolution:
    """Islands and recombination on records that are searched as a whole.

    Parameters
    ----------
    place : Field
    labels : int64[n]
        The best partition so far; replaced by better ones.
    rng : Generator
    stop : Event
    n_jobs : int
    floor : float
        A squared error at which there is nothing to gain any more.
    turn : int
        Chains look at near and at far neighbours in turn; an odd number lets the first one look far.
    """

    def __init__(
        self,
        place: Field,
        labels: Array,
        rng: Generator,
        stop: Event,
        n_jobs: int = 1,
        *,
        floor: float = 0.0,
        turn: int = 0,
    ) -> None:
        self.floor, self.turn = floor, turn
        self.place, self.rng, self.stop, self.n_jobs = place, rng, stop, n_jobs
        self.first, self.labels = labels, labels
        self.error = self._before = squared_error(place.X, labels)
        self.memory = Memory(place)
        self.steps, self.seconds = 0, 0.0
        self._lock, self._told, self._timed = RLock(), _nothing, True
        self._others: dict[int, Array] = {}

    @property
    def gained(self) -> float:
        """By how much the squared error fell."""
        return self._before - self.error

    def run(self, budget: Budget, told: Callable[[], None] = _nothing) -> None:
        """Search until the budget is used up or nothing is gained any more; `told` is called now and then."""
        self._told, self._timed = told, budget.steps is None

        def ended() -> bool:
            return self.stop.is_set() or time.perf_counter() >= budget.until

        groups = int(self.labels.max()) + 1
        cycle = CYCLE * groups
        if self._timed and self.error > self.floor:
            # How long does a step take?
            self._islands([Budget(budget.until, max(32, groups // 4))], 0)
        barren, number = 0, 0
        while barren < STAGNATION and self.error > self.floor and not self.stop.is_set():
            before, until = self.error, None
            if budget.steps is not None:
                plan = [Budget(budget.until, steps) for steps in self._by_steps(budget.steps, cycle)]
            else:
                plan, until = self._by_time(budget.until, cycle * self.seconds / max(1, self.steps))
            if not plan:
                return
            self._islands(plan, number)
            if len(plan) > 1:
                self.offer(compact(self.memory.recombine(self.labels, self.rng, until, ended)))
                told()
            number += 1
            barren = 0 if self.error < before else barren + 1

    def _by_steps(self, total: int, cycle: int) -> list[int]:
        """Return the steps of the chains of the next generation, as even as they can be."""
        left = total - self.steps
        cycles = max(1, round(left / cycle)) if left > 0 else 0
        count = min(ISLANDS, cycles)
        if cycles > count:
            return [left // cycles] * count
        return [left // count + (number < left % count) for number in range(count)]

    def _by_time(self, until: float, cycle: float) -> tuple[list[Budget], float]:
        """Return the chains of the next generation, and until when recombination may go on.

        Parameters
        ----------
        until : float
        cycle : float
            Seconds that a cycle should take.
        """
        now = time.perf_counter()
        left = until - now
        if left <= 0:
            return [], now
        batch = -(-ISLANDS // self.n_jobs)
        generation = batch * cycle / (1 - COMBINING)
        if left < 2 * cycle:
            return [Budget(until)] * self.n_jobs, until
        if left < generation:
            batch = max(1, int(left * (1 - COMBINING) / cycle))
            generation = left
        else:
            generation = left / int(left / generation)
        each = generation * (1 - COMBINING) / batch
        budgets = [
            Budget(now + each * (1 + number // self.n_jobs)) for number in range(min(ISLANDS, batch * self.n_jobs))
        ]
        return budgets, now + generation

    def _islands(self, budgets: list[Budget], generation: int) -> None:
        """Run chains, on threads; what they end with is offered, what they met is remembered."""
        seeds = self.rng.integers(0, 2**63, len(budgets))
        starts = [self._start(generation, number) for number in range(len(budgets))]
        begun: list[Chain] = []

        def speak(chain: Chain) -> None:
            with self._lock:
                # By steps, only what chains end with counts, in their order: the clock must not decide.
                if self._timed:
                    self.offer(chain.best())
                self._told()

        def run(number: int) -> Chain:
            far = (number + generation + self.turn) % 2 == 1
            chain = Chain(self.place, starts[number], int(seeds[number]), far=far, remember=len(budgets) > 1)
            begun.append(chain)
            chain.cycle(budgets[number], self.stop, HEAT if number % 2 else LESS_HEAT, speak)
            return chain

        try:
            with ThreadPoolExecutor(self.n_jobs) as threads, ending(self.stop):
                for chain in threads.map(run, range(len(budgets))):
                    self._take(chain, remember=len(budgets) > 1)
        except BaseException:
            # Whoever interrupts a search gets the best of it, also of chains that had not come to their end.
            for chain in begun:
                self.offer(chain.best())
            raise

    def _take(self, chain: Chain, *, remember: bool) -> None:
        """Take what a chain came to."""
        self.steps += chain.steps
        self.seconds += chain.seconds
        with self._lock:
            self.offer(chain.best())
            self._told()
        if remember:
            self.memory.add(chain.met())
            self.memory.add_partition(chain.best())

    def _start(self, generation: int, number: int) -> Array:
        """Return where a chain starts: the first at the best partition so far, the others anew."""
        if number == 0:
            return self.labels
        which = (generation * (ISLANDS - 1) + number - 1) % (len(OTHER_STARTS) + 1)
        if which == 0:
            return self.first
        if which not in self._others:
            X, k = self.place.X, self.place.k
            self._others[which] = compact(split_large(X, k, OTHER_STARTS[which - 1](X, k), mdav_plus, in_place=True))
        return self._others[which]

    def offer(self, labels: Array) -> None:
        """Take a partition if its squared error, computed anew, is lower."""
        error = squared_error(self.place.X, labels)
        if error < self.error:
            self.labels, self.error = labels, error


def compact(labels: Array) -> Array:
    """Return labels numbered 0, 1, .. without gaps."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)
