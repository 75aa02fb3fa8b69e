"""Progress is one number from 0 to 1, given to a callable now and then; the default is silence.

A search that goes on for as long as it may gives a :class:`Standing`, a number that also tells how far it has come.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock

Progress = Callable[[float], None]

STEP = 0.005


class Standing(float):
    """A fraction done that also tells how a search stands.

    Attributes
    ----------
    seconds : float
        Since the search began.
    loss : float
        SSE / SST of the best partition so far.
    gap : float
        By how much that is above the best possible at most, relatively; infinite if nothing is known.
    """

    seconds: float
    loss: float
    gap: float

    def __new__(cls, fraction: float, seconds: float, loss: float, gap: float) -> Standing:
        """Return a fraction that tells more."""
        self = super().__new__(cls, fraction)
        self.seconds, self.loss, self.gap = seconds, loss, gap
        return self


def moved(fraction: float, new: float) -> float:
    """Return `new` with whatever `fraction` tells beside itself."""
    if isinstance(fraction, Standing):
        return Standing(new, fraction.seconds, fraction.loss, fraction.gap)
    return new


def silent(_: float) -> None:
    """Report to nobody."""


def throttled(callback: Progress | None) -> Progress:
    """Return a reporter that hands rising fractions to `callback`, at most once every half per cent.

    Values outside [0, 1] are clipped and a fraction below the last one is not passed on, so that a
    bar never runs backwards.
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
    """Return a reporter whose 0 .. 1 is the stretch start .. end of `report`."""
    return lambda fraction: report(moved(fraction, start + (end - start) * float(fraction)))
