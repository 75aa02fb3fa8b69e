"""A worker process: ``python -m shoal.web.worker`` carries out one task.

The task is the first line of standard input, in JSON; a later line asks to stop the search. Answers are lines of JSON
on what was standard output: nothing else can be written there by accident.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import IO, Any

from shoal.io.lean import do_without_pandas
from shoal.kernels.jit import collect_rarely
from shoal.web.faults import told

# Workers give way to the server, which answers while they use all cores; jobs more than what somebody waits for.
NICE, NICER = 5, 10
# Of 1000: what Linux adds to the share of the memory by which it chooses what to end.
FIRST_TO_GO = 500
JOBS = ("run", "check", "assess", "compare")


class Line:
    """The line to the server.

    Attributes
    ----------
    enough : Event
        Set when the user says that the groups so far are good enough.
    """

    def __init__(self, out: IO[str]) -> None:
        self._out = out
        self._lock = Lock()
        self.enough = Event()

    def say(self, **words: Any) -> None:
        """Tell the server something."""
        with self._lock:
            self._out.write(json.dumps(words, allow_nan=False) + "\n")
            self._out.flush()


def _listen(line: Line) -> None:
    """Hear what the server says; when it says nothing any more, it is gone, and so is the reason to go on."""
    for text in sys.stdin:
        if json.loads(text).get("stop"):
            line.enough.set()
    os._exit(1)


def give_way(task: str) -> None:
    """Let the server go first; a job also at once, whenever the server has something to do.

    Where memory runs out all the same, because other programs take it, the worker is what the system ends.
    """
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write(str(FIRST_TO_GO))
    with suppress(OSError):
        os.nice(NICER if task in JOBS else NICE)
    if task in JOBS:
        with suppress(OSError, AttributeError):  # Linux alone has it
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def dump_nothing() -> None:
    """Keep the memory of a process that crashes, which holds values of the data, from being written to a disk."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """Carry out one task."""
    dump_nothing()
    ours = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.umask(0o077)
    collect_rarely()
    do_without_pandas()
    line = Line(ours)
    task = json.loads(sys.stdin.readline())
    give_way(task["task"])
    Thread(target=_listen, args=(line,), daemon=True).start()
    try:
        from shoal.web.tasks import task_of

        line.say(answer=task_of(task.pop("task"))(line, **task))
    except BaseException as error:  # whatever happens is told, without values of the data
        line.say(error=told(error))
    ours.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
