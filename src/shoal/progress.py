"""Progress: a callable receives the fraction done, from 0 to 1, from time to time.

A search with a time limit reports a :class:`Standing`, a fraction that also carries its loss and its gap.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import NamedTuple

Progress = Callable[[float], None]

STEP = 0.005


class Tried(NamedTuple):
    """A partition that a search looked at before it began: how it was made, and its loss."""

    how: str
    loss: float


class Standing(float):
    """The fraction done, with the state of a search.

    Attributes
    ----------
    seconds : float
        Time since the search began.
    loss : float
        SSE / SST of the best partition so far.
    gap : float
        Upper limit on how far the loss is above the best possible, as a fraction of it; infinite if unknown.
    tried : tuple of Tried
        What the search started from, in the order in which it was made.
    """

    seconds: float
    loss: float
    gap: float
    tried: tuple[Tried, ...]

    def __new__(
        cls, fraction: float, seconds: float, loss: float, gap: float, tried: tuple[Tried, ...] = ()
    ) -> Standing:
        """Return a fraction with the state of a search."""
        self = super().__new__(cls, fraction)
        self.seconds, self.loss, self.gap, self.tried = seconds, loss, gap, tried
        return self


class Listener:
    """Passes progress on, and remembers what a search has tried.

    Attributes
    ----------
    tried : tuple of Tried
    """

    def __init__(self, report: Progress) -> None:
        self.report = report
        self.tried: tuple[Tried, ...] = ()

    def __call__(self, fraction: float) -> None:
        """Report a fraction."""
        if isinstance(fraction, Standing) and fraction.tried:
            self.tried = fraction.tried
        self.report(fraction)


def moved(fraction: float, new: float) -> float:
    """Return the fraction `new` with the state that `fraction` carries, if any."""
    if isinstance(fraction, Standing):
        return Standing(new, fraction.seconds, fraction.loss, fraction.gap, fraction.tried)
    return new


def silent(_: float) -> None:
    """Report nothing."""


def throttled(callback: Progress | None) -> Progress:
    """Return a reporter that passes rising fractions to `callback`, at most once per half per cent.

    Fractions are clipped to [0, 1], and those below the last one are not passed on, so that a progress bar never runs
    backwards.
    """
    if callback is None:
        return silent
    last = -1.0
    lock = RLock()  # methods report from several threads

    def report(fraction: float) -> None:
        nonlocal last
        fraction = moved(fraction, min(max(float(fraction), 0.0), 1.0))
        with lock:
            if fraction >= last + STEP or (fraction == 1.0 and last < 1.0):
                last = fraction
                callback(fraction)

    return report


def part(report: Progress, start: float, end: float) -> Progress:
    """Return a reporter that maps 0 .. 1 to start .. end of `report`."""
    return lambda fraction: report(moved(fraction, start + (end - start) * float(fraction)))
