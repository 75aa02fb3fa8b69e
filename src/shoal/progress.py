"""Progress: a callable receives the fraction done, from 0 to 1, from time to time.

A search with a time limit reports a :class:`Standing`, a fraction that also carries its loss and its gap.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock

Progress = Callable[[float], None]

STEP = 0.005


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
    """

    seconds: float
    loss: float
    gap: float

    def __new__(cls, fraction: float, seconds: float, loss: float, gap: float) -> Standing:
        """Return a fraction with the state of a search."""
        self = super().__new__(cls, fraction)
        self.seconds, self.loss, self.gap = seconds, loss, gap
        return self


def moved(fraction: float, new: float) -> float:
    """Return the fraction `new` with the state that `fraction` carries, if any."""
    if isinstance(fraction, Standing):
        return Standing(new, fraction.seconds, fraction.loss, fraction.gap)
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
