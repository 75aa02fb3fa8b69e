"""Time in tests: a clock that moves when it is looked at, so that nothing depends on the machine, and patience."""

import threading
from types import SimpleNamespace

# Seconds after which something is taken to hang. No test is about speed: a busy machine may take as long as it takes.
PATIENCE = 900.0


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
