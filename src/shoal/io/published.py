"""What has been published so far: noted in the same step, so that whoever is stopped can say what was written."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

__all__ = ["noting_published", "publishing", "sending", "signals_put_off"]

_noted: ContextVar[list[str] | None] = ContextVar("published", default=None)


@contextmanager
def noting_published() -> Iterator[list[str]]:
    """Yield a list that receives the name of everything that is published from now on."""
    names: list[str] = []
    token = _noted.set(names)
    try:
        yield names
    finally:
        _noted.reset(token)


@contextmanager
def publishing(name: str | Path) -> Iterator[None]:
    """Note that `name` is published by the body, unless it fails; signals wait until both are done.

    Otherwise Ctrl-C between the two would leave a release that nobody knows of.
    """
    with signals_put_off():
        yield
        names = _noted.get()
        if names is not None:
            names.append(str(name))


@contextmanager
def sending(name: str) -> Iterator[None]:
    """Note that a part of a stream is sent by the body, and in the end all of it.

    Signals do not wait here, because the reader may never go on.
    """
    names = _noted.get()
    if names is None:
        names = []
    names.append(f"a part of {name}")
    yield
    names[-1] = name


@contextmanager
def signals_put_off() -> Iterator[None]:
    """Let signals that end the process wait until the body is done."""
    # A handler, not a mask: with a mask, the signal would be delivered to another thread.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    ours = {number: handler for number, handler in handlers.items() if callable(handler)}
    came: list[int] = []
    try:
        for number in ours:
            signal.signal(number, lambda number, _: came.append(number))
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
        for late in came:
            signal.raise_signal(late)
