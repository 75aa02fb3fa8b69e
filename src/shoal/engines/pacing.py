"""Phases of a long run: how far each is, how fast, and how long the rest takes; and work done ahead by threads."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from shoal.progress import Pace, Progress, silent

T = TypeVar("T")
R = TypeVar("R")


class Phases:
    """Measures phases, and reports the progress of all of them together.

    Parameters
    ----------
    shares : {phase: float}
        About what share of the time each takes, in their order.
    report : callable
        Receives `Pace`.
    """

    def __init__(self, shares: dict[str, float], report: Progress = silent) -> None:
        total = sum(shares.values())
        self.shares = {name: share / total for name, share in shares.items()}
        self.report = report
        self.seconds: dict[str, float] = {}
        self._done, self._begun = 0.0, time.perf_counter()
        self._phase, self._rows, self._all, self._start = "", 0, 1, self._begun

    @contextmanager
    def __call__(self, phase: str, rows: int | None) -> Iterator[None]:
        """Enter a phase of so many rows, if that is known."""
        self._phase, self._rows, self._all = phase, 0, max(1, rows or 0)
        self._start = time.perf_counter()
        self.add(0)
        yield
        self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - self._start
        self._done += self.shares.get(phase, 0.0)

    def begun(self, phase: str) -> Callable[[], None]:
        """Begin a phase whose progress is told elsewhere; call the result at its end."""
        start = time.perf_counter()

        def ended() -> None:
            self.seconds[phase] = time.perf_counter() - start

        return ended

    def add(self, rows: int) -> None:
        """Report that so many more rows are done."""
        self._rows += rows
        now = time.perf_counter()
        share = min(1.0, self._rows / self._all)
        fraction = min(1.0, self._done + share * self.shares.get(self._phase, 0.0))
        pace = self._rows / max(now - self._start, 1e-9)
        left = (now - self._begun) * (1 / fraction - 1) if fraction > 0.01 else None
        self.report(Pace(fraction, self._phase, pace, left))


def ahead(executor: ThreadPoolExecutor, work: Callable[[T], R], things: Iterable[T], most: int) -> Iterator[R]:
    """Yield the results of `work`, in the order of the things, while threads do the next ones.

    No more than `most` things are taken before their results are asked for.
    """
    waiting: deque[Future[R]] = deque()
    try:
        for thing in things:
            waiting.append(executor.submit(work, thing))
            if len(waiting) >= most:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for one in waiting:
            one.cancel()
