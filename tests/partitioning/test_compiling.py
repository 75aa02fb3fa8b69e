"""Parts of the search are compiled by other processes, which leave nothing behind and change no result."""

import os
import subprocess
import sys
import time

import pytest

from clocks import PATIENCE
from shoal.kernels import kicks, rule_search
from shoal.kernels.jit import told_of_compiling
from shoal.partitioning import compiling
from shoal.partitioning.compiling import RULE_SEARCH, SEARCH, Round, Worker

LEFT_ALONE = """
import os
from shoal.partitioning.compiling import RULE_SEARCH, SEARCH, Round, Worker

print(Worker()._process.pid, flush=True)
os._exit(1)
"""


def gone(pid):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def missing(monkeypatch):
    """Take every kernel for one that is not in the cache, and the machine for one of two processors."""
    monkeypatch.setattr(compiling, "is_missing", lambda kernel: True)
    monkeypatch.setattr(compiling, "processors", lambda: 2)


def test_the_tasks_compile_what_runs_need():
    """A whole search in the cache is all that its task asks for: the parts have the types of the whole."""
    for task in compiling.TASKS.values():
        task()
    compiled = []
    with told_of_compiling(lambda: compiled.append(1)):
        for task in compiling.TASKS.values():
            task()
    assert not compiled
    for kernel in (kicks.search, rule_search.search, kicks._regroup, rule_search._exchange, rule_search._remake):
        assert len(kernel.signatures) == 1


def test_tasks_are_done_by_another_process_that_ends(missing, monkeypatch):
    pids, popen = [], subprocess.Popen

    def started(*args, **kwargs):
        process = popen(*args, **kwargs)
        pids.append(process.pid)
        return process

    done = []
    monkeypatch.setattr(subprocess, "Popen", started)
    monkeypatch.setitem(compiling.TASKS, "moves", lambda: done.append("moves"))
    with compiling.beside(kicks.search, SEARCH) as wait:
        wait()
    assert done == ["moves"]
    assert len(pids) == 1
    assert gone(pids[0])


def test_answers_are_waited_for_once(missing, monkeypatch):
    """Every stratum waits before its search; only the first finds answers, and the others must not wait for more."""

    class Obedient:
        """Answers each task once; a second wait would ask it for an answer that never comes."""

        def __init__(self):
            self.tasks = []

        def give(self, *tasks):
            self.tasks += tasks

        def answer(self):
            assert self.tasks.pop(0)
            return True

        def end(self):
            pass

    done = []
    monkeypatch.setattr(compiling, "Worker", Obedient)
    for task in ("rule-cuts", "rule-remake"):
        monkeypatch.setitem(compiling.TASKS, task, lambda task=task: done.append(task))
    with compiling.beside(rule_search.search, RULE_SEARCH) as wait:
        wait()
        wait()
    assert done == ["rule-cuts", "rule-remake"]


def test_a_process_that_dies_is_not_waited_for(missing, monkeypatch):
    monkeypatch.setattr(compiling, "Worker", lambda: Worker("shoal.errors"))  # ends at once
    with compiling.beside(kicks.search, [Round(("kicks", "moves"))]) as wait:
        wait()


def test_a_process_that_cannot_be_started_is_done_without(missing, monkeypatch):
    def fails(*args, **kwargs):
        raise OSError("no more processes")

    monkeypatch.setattr(subprocess, "Popen", fails)
    with compiling.beside(kicks.search, SEARCH) as wait:
        wait()


@pytest.mark.parametrize("change", ["cached", "one processor", "no interpreter", "embedded", "worker"])
def test_no_process_is_started_where_none_is_of_use(missing, monkeypatch, change):
    if change == "cached":
        monkeypatch.setattr(compiling, "is_missing", lambda kernel: False)
    elif change == "one processor":
        monkeypatch.setattr(compiling, "processors", lambda: 1)
    elif change == "worker":
        monkeypatch.setenv(compiling.WORKER, "1")
    else:
        monkeypatch.setattr(sys, "executable", "" if change == "no interpreter" else "/opt/program")
    monkeypatch.setattr(compiling, "Worker", None)
    with compiling.ahead(kicks.search, SEARCH), compiling.beside(kicks.search, SEARCH) as wait:
        wait()


class Recorded:
    """Stands for another process: notes what it is given, and that it ended."""

    def __init__(self, events):
        self.events = events

    def give(self, *tasks):
        self.events.append(("give", *tasks))

    def answer(self):
        self.events.append(("answer",))
        return True

    def end(self):
        self.events.append(("end",))


@pytest.fixture
def events(missing, monkeypatch):
    """What processes were told to do, and what was done here."""
    noted = []
    monkeypatch.setattr(compiling, "Worker", lambda: noted.append(("start",)) or Recorded(noted))
    for task in compiling.TASKS:
        monkeypatch.setitem(compiling.TASKS, task, lambda task=task: noted.append(("here", task)))
    return noted


def test_a_process_that_was_started_ahead_is_taken_over(events):
    with compiling.ahead(kicks.search, SEARCH):
        assert events == [("start",), ("give", "kicks")]
        with compiling.beside(kicks.search, SEARCH) as wait:
            wait()
    assert events == [("start",), ("give", "kicks"), ("here", "moves"), ("answer",), ("end",)]
    assert not compiling._ahead


def test_a_process_that_nobody_takes_over_ends(events):
    with compiling.ahead(kicks.search, SEARCH), compiling.beside(rule_search.search, RULE_SEARCH):
        assert [event for event in events if event == ("start",)] == [("start",)] * 2
    assert [event for event in events if event == ("end",)] == [("end",)] * 2
    assert not compiling._ahead


def test_the_whole_is_compiled_when_its_parts_are_there(events):
    with compiling.beside(rule_search.search, RULE_SEARCH, ["rule-growth"]) as wait:
        wait()
    assert events == [
        ("start",),
        ("give", "rule-moves", "rule-exchange"),
        ("here", "rule-cuts"),
        ("here", "rule-remake"),
        ("give", "rule-search"),  # not before the parts of this process are there; nor is the other one waited for
        ("here", "rule-growth"),
        ("answer",),
        ("answer",),
        ("answer",),
        ("end",),
    ]


def test_a_process_ends_with_the_one_that_started_it():
    done = subprocess.run([sys.executable, "-c", LEFT_ALONE], capture_output=True, text=True, check=False)
    assert gone(int(done.stdout))
