"""A clock for tests of time limits: it moves when it is looked at, so that nothing depends on the machine."""

import threading
from types import SimpleNamespace


class Clock:
    """Advances by `tick` seconds at every look."""

    def __init__(self, tick=1.0):
        self.now, self.tick = 0.0, tick
        self._lock = threading.Lock()

    def look(self):
        with self._lock:
            self.now += self.tick
            return self.now

    def give_to(self, monkeypatch, *modules):
        """Have modules that ``import time`` look at this clock."""
        for module in modules:
            monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=self.look, monotonic=self.look))
        return self
