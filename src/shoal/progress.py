"""Progress: a callable receives the fraction done, from 0 to 1, from time to time.

A search with a time limit reports a :class:`Standing`, a fraction that also carries its loss and its gap. A bar is
drawn only for those who ask for it, with ``progress=True``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock
from typing import Any, NamedTuple

from shoal.errors import OptionError

Progress = Callable[[float], None]

# Progress is passed on when it has come so far, or after so many seconds.
STEP, PAUSE = 0.005, 1.0


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


class Pace(float):
    """A fraction done, with the phase of a long run.

    Attributes
    ----------
    phase : str
    rows_per_second : float
        In this phase.
    seconds_left : float or None
        Until the end of all phases; None if it is too early to say.
    """

    phase: str
    rows_per_second: float
    seconds_left: float | None

    def __new__(cls, fraction: float, phase: str, rows_per_second: float, seconds_left: float | None) -> Pace:
        """Return a fraction with its phase."""
        self = super().__new__(cls, fraction)
        self.phase, self.rows_per_second, self.seconds_left = phase, rows_per_second, seconds_left
        return self

    @property
    def words(self) -> str:
        """Return the phase, the speed and the time that is left, in a few words."""
        left = "" if self.seconds_left is None else f", {_in_time(self.seconds_left)} left"
        speed = f", {self.rows_per_second:,.0f} rows/s" if self.rows_per_second >= 1 else ""
        return f"{self.phase}{speed}{left}"


def _in_time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}h{minutes % 60:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"


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
    if isinstance(fraction, Pace):
        return Pace(new, fraction.phase, fraction.rows_per_second, fraction.seconds_left)
    return new


def silent(_: float) -> None:
    """Report nothing."""


def throttled(callback: Progress | None, clock: Callable[[], float] = time.monotonic) -> Progress:
    """Return a reporter that passes rising fractions to `callback`, once per half per cent or per second.

    Fractions are clipped to [0, 1], and those below the last one are not passed on, so that a progress bar never runs
    backwards.
    """
    if callback is None:
        return silent
    last, passed = -1.0, clock()
    lock = RLock()  # methods report from several threads

    def report(fraction: float) -> None:
        nonlocal last, passed
        fraction = moved(fraction, min(max(float(fraction), 0.0), 1.0))
        with lock:
            far = fraction >= last + STEP or (fraction == 1.0 and last < 1.0)
            if far or (fraction >= last and last < 1.0 and clock() >= passed + PAUSE):
                last, passed = fraction, clock()
                callback(fraction)

    return report


def part(report: Progress, start: float, end: float) -> Progress:
    """Return a reporter that maps 0 .. 1 to start .. end of `report`."""
    return lambda fraction: report(moved(fraction, start + (end - start) * float(fraction)))


# --- ending a search early ---

Asked = Callable[[], bool]


def _never() -> bool:
    return False


_asked: ContextVar[Asked] = ContextVar("asked", default=_never)


@contextmanager
def ending_when(asked: Asked) -> Iterator[None]:
    """Have searches of this context end, with the best groups so far, as soon as `asked` returns True.

    Parameters
    ----------
    asked : callable
        Called often, from several threads: it must be quick.
    """
    before = _asked.set(asked)
    try:
        yield
    finally:
        _asked.reset(before)


def asked_to_end() -> Asked:
    """Return the callable that tells a search whether to end; threads do not see the context, so pass it on to them."""
    return _asked.get()


# --- bars ---


@contextmanager
def drawn(progress: Any, caller: str) -> Iterator[Progress | None]:
    """Yield what to report to: `progress` itself or, if it is True, a bar that ends with the context.

    A bar is drawn in a notebook, or on standard error if that is a terminal; anywhere else nothing is.

    Parameters
    ----------
    progress : callable, bool or None
    caller : str
        Who takes it, for messages.
    """
    if progress is None or progress is False:
        yield None
    elif progress is True:
        with _notebook_bar() if _in_a_notebook() else _terminal_bar() as report:
            yield report
    elif callable(progress):
        yield progress
    else:
        raise OptionError(
            f"The 'progress' option of {caller} must be None, True, or a callable that takes a number from 0 to 1. "
            f"Got {type(progress).__name__}."
        )


def _in_a_notebook() -> bool:
    """Return whether this is the kernel of a notebook; IPython on a terminal has none."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def _standing(fraction: float) -> str:
    return f"loss {100 * fraction.loss:.3g} %" if isinstance(fraction, Standing) else ""


@contextmanager
def _terminal_bar() -> Iterator[Progress | None]:
    from rich import progress as rich
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield None
        return
    columns = (
        *(rich.BarColumn(30), rich.TextColumn("{task.percentage:>3.0f} %")),
        *(rich.TimeElapsedColumn(), rich.TextColumn("{task.fields[standing]}", style="dim")),
    )
    # Prints go above the bar if they go to a terminal; those to a file must not be redirected.
    both = sys.stdout is not None and sys.stdout.isatty()
    with rich.Progress(*columns, console=console, redirect_stdout=both) as bar:
        task = bar.add_task("", total=1.0, standing="")
        yield lambda fraction: bar.update(task, completed=float(fraction), standing=_standing(fraction))
        bar.update(task, completed=1.0)


class NotebookBar:
    """A bar as notebooks show it: HTML, or a line of text where there is none."""

    def __init__(self) -> None:
        self.fraction: float = 0.0
        self.end = ""
        self._start = time.perf_counter()

    def __repr__(self) -> str:
        seconds = f"{time.perf_counter() - self._start:.0f} s"
        known = (f"{100 * self.fraction:.0f} %", self.end or "", seconds, _standing(self.fraction))
        return ", ".join(filter(None, known))

    def _repr_html_(self) -> str:
        """Return the bar; it is one of the browser, which follows its colours and its screen reader."""
        return (
            f'<progress max="1" value="{float(self.fraction):.3f}" aria-label="progress" '
            f'style="width: 18em; vertical-align: middle"></progress> '
            f'<span style="font-variant-numeric: tabular-nums">{self!r}</span>'
        )


@contextmanager
def _notebook_bar() -> Iterator[Progress]:
    from IPython.display import display

    bar = NotebookBar()
    handle = display(bar, display_id=True)

    def report(fraction: float) -> None:
        bar.fraction = fraction
        handle.update(bar)

    try:
        yield report
    except BaseException:  # Ctrl-C too: a bar that looks alive would mislead
        bar.end = "stopped"
        handle.update(bar)
        raise
    bar.fraction, bar.end = moved(bar.fraction, 1.0), "done"
    handle.update(bar)
