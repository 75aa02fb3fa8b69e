"""Progress is one number from 0 to 1, given to a callable now and then; the default is silence."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock

Progress = Callable[[float], None]

STEP = 0.005


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
        fraction = min(max(float(fraction), 0.0), 1.0)
        with lock:
            if fraction >= last + STEP or (fraction == 1.0 and last < 1.0):
                last = fraction
                callback(fraction)

    return report


def part(report: Progress, start: float, end: float) -> Progress:
    """Return a reporter whose 0 .. 1 is the stretch start .. end of `report`."""
    return lambda fraction: report(start + (end - start) * fraction)
