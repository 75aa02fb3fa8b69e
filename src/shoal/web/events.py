"""The events of a user: one stream for all of her jobs and tables, which can be resumed where it broke off."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from shoal.web.faults import Fault
from shoal.web.settings import MOST_STREAMS

# Events that are kept for those who come back, and seconds between two signs of life.
KEPT, BEAT = 2000, 15.0
# Milliseconds after which a browser tries again.
RETRY = 2000


class Event(NamedTuple):
    """An event: its number, which rises, its kind, and plain values."""

    number: int
    kind: str
    data: dict[str, Any]

    def text(self) -> str:
        """Return the event as a stream has it."""
        return f"id: {self.number}\nevent: {self.kind}\ndata: {json.dumps(self.data, ensure_ascii=False)}\n\n"


class Events:
    """What happened, for all streams of a user.

    A later event about the same thing replaces an earlier one that is not sent yet, so that a slow reader gets the
    latest state and not a backlog.
    """

    def __init__(self) -> None:
        self.last = 0
        self.closed = False
        self._kept: deque[Event] = deque(maxlen=KEPT)
        self._news = asyncio.Event()
        self.open_streams = 0

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Count a stream while it is open, or refuse one too many."""
        if self.open_streams >= MOST_STREAMS:
            raise Fault(
                429,
                f"At most {MOST_STREAMS} windows of the page (streams of events) may be open at a time. Got one more.",
                "close another window.",
            )
        self.open_streams += 1
        try:
            yield
        finally:
            self.open_streams -= 1

    def add(self, kind: str, data: dict[str, Any]) -> None:
        """Tell everybody who listens."""
        self.last += 1
        self._kept.append(Event(self.last, kind, data))
        self._wake()

    def close(self, why: str) -> None:
        """Say that there will be no more, and why."""
        self.add("ending", {"why": why})
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    def after(self, number: int) -> list[Event]:
        """Return the events after this one; a single ``reset`` if some of them are not kept any more."""
        if number > self.last or (self._kept and number < self._kept[0].number - 1):
            return [Event(self.last, "reset", {})]
        found = [event for event in self._kept if event.number > number]
        latest = {_about(event): event.number for event in found}
        return [event for event in found if latest[_about(event)] == event.number]

    async def stream(self, after: int, beat: float = BEAT) -> AsyncIterator[str]:
        """Yield the events after a number, and signs of life, until there will be no more."""
        yield f"retry: {RETRY}\n: here\n\n"
        while True:
            news = self._news
            for event in self.after(after):
                after = event.number
                yield event.text()
            if self.closed:
                return
            try:
                await asyncio.wait_for(news.wait(), beat)
            except TimeoutError:
                yield ": beat\n\n"


def _about(event: Event) -> tuple[str, Any]:
    return event.kind, event.data.get("id", event.number)
