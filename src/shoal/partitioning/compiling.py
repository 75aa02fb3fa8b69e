"""Kernels that take long to compile, compiled side by side in other processes that share the cache.

The search is one large kernel that is put together from smaller ones. Where the cache has it not yet, another process
compiles some of its parts while this one compiles the others, so that a first run takes less time on two cores. The
labels do not depend on it. A process ends with the one that started it, and whatever it does not manage is compiled
here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shoal.kernels import kicks as _kicks
from shoal.kernels import moves as _moves
from shoal.kernels import rule_moves as _rule_moves
from shoal.kernels import rule_search as _rule_search
from shoal.kernels import rules as _rules
from shoal.kernels import search_state as _state
from shoal.kernels.jit import collect_rarely, compile_for, is_missing
from shoal.partitioning.chains import new_state
from shoal.partitioning.rule_growth import diverse_growth
from shoal.partitioning.thin import thin_of

# The size of the example that tells the types of arguments.
RECORDS, COLUMNS, K = 40, 3, 4
# Is set in the environment of a worker, which starts none itself.
WORKER = "SHOAL_WORKER"
# What a worker answers.
DONE, FAILED = "done\n", "failed\n"


def _example() -> tuple[_state.State, _rules.Rules, _rule_moves.Room]:
    """Return a search of a few records under a rule."""
    X = np.random.default_rng(0).normal(size=(RECORDS, COLUMNS))
    labels = np.repeat(np.arange(RECORDS // K), K)
    near, keys = np.zeros((RECORDS, 2), np.int32), np.zeros(RECORDS, np.uint64)
    state = new_state(X, K, labels, near, keys, 0, width=2 * K, spare=2, remembered=1)
    whole, real = np.zeros(1, np.int64), np.ones(1)
    codes = np.zeros((1, RECORDS), np.int64)
    rules = _rules.Rules(codes, whole, whole + _rules.DISTINCT, real, real, whole + 1, whole, whole, real, whole, whole)
    return state, rules, _rule_moves.room(rules, _rules.desk(rules, 2 * K), thin_of(state.X), 2 * K, 2 * K)


def _compile_kicks() -> None:
    s, whole = _example()[0], np.zeros(2 * K, np.int64)
    compile_for(_kicks._regroup, s, whole, 1, K, whole, s.means)
    compile_for(_moves.exchange, s, 0, 1, 0, 1)
    compile_for(_moves.share_out, s, 0, whole, whole)
    compile_for(_kicks._free_groups, s, 1, whole, 1)
    compile_for(_kicks._rotate, s, whole, 1)
    for part in (_kicks._touch, _kicks._note_best):
        compile_for(part, s)


def _compile_moves() -> None:
    s, whole, real = _example()[0], np.zeros(2 * K, np.int64), np.zeros(2 * K)
    compile_for(_moves._cut_in_two, s, 0, whole, real, K)
    compile_for(_moves._best_between, s, 0, 1, K, real, real, real)
    compile_for(_moves._takers, s, 0, whole, 1, K, whole, whole, s.means)
    for part in (_state.undo, _kicks._remember):
        compile_for(part, s)


def _compile_search() -> None:
    compile_for(_kicks.search, _example()[0], K, 1, 0.0, 0.0, 0.0, 1)


def _compile_rule_moves() -> None:
    s, rules, w = _example()
    compile_for(_rule_moves.best_between, s, rules, 0, 1, K, w)


def _compile_rule_cuts() -> None:
    s, rules, w = _example()
    compile_for(_rule_moves.cut_in_two, s, rules, 0, K, w)
    compile_for(_rule_moves.takers, s, rules, 0, 1, w)


def _compile_rule_exchange() -> None:
    s, rules, w = _example()
    compile_for(_rule_search._exchange, s, rules, s.labels[0], w, 1)


def _compile_rule_remake() -> None:
    s, _, w = _example()
    compile_for(_rule_search._remake, s, s.labels[0], w, 1)
    compile_for(_moves.share_out, s, s.labels[0], w.found, w.takers)
    compile_for(_state.undo, s)


def _compile_rule_search() -> None:
    s, rules, w = _example()
    compile_for(_rule_search.search, s, rules, K, w, 1, 1, 1, 0.0, 0.0)


def _compile_rule_growth() -> None:
    s, rules, _ = _example()
    diverse_growth(s.X, K, rules)


TASKS: dict[str, Callable[[], None]] = {
    "kicks": _compile_kicks,
    "moves": _compile_moves,
    "search": _compile_search,
    "rule-moves": _compile_rule_moves,
    "rule-cuts": _compile_rule_cuts,
    "rule-exchange": _compile_rule_exchange,
    "rule-remake": _compile_rule_remake,
    "rule-search": _compile_rule_search,
    "rule-growth": _compile_rule_growth,
}


class Worker:
    """A process that does tasks one after the other, and ends when it is told to or nobody is left to tell it.

    Parameters
    ----------
    module : str
        Reads names of tasks, one a line, and answers each with a line: whether it was done (see `serve`).
    """

    def __init__(self, module: str = __name__) -> None:
        paths = os.pathsep.join(path for path in sys.path if path)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": paths, WORKER: "1"},
            text=True,
            start_new_session=True,  # Ctrl-C is for the process that started it
        )
        self._input: Any = self._process.stdin
        self._output: Any = self._process.stdout

    def give(self, *tasks: str) -> None:
        """Hand over tasks."""
        with suppress(OSError):
            self._input.write("".join(f"{task}\n" for task in tasks))
            self._input.flush()

    def answer(self) -> bool:
        """Wait for the end of a task, and return whether it was done."""
        return bool(self._output.readline() == DONE)

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        with suppress(OSError):
            self._process.communicate()


class Round(NamedTuple):
    """Tasks that can be done side by side.

    Attributes
    ----------
    theirs, ours : tuple of str
        Of the other process and of this one.
    """

    theirs: tuple[str, ...]
    ours: tuple[str, ...] = ()


# Parts of the search, and of the one under rules, which is put together when they are there. Both processes take about
# as long for theirs; what shares smaller kernels is compiled by the same one.
SEARCH = (Round(("kicks",), ("moves",)),)
RULE_SEARCH = (Round(("rule-moves", "rule-exchange"), ("rule-cuts", "rule-remake")), Round(("rule-search",)))

# Workers that were started ahead and not taken over yet, each after the rounds that it has begun.
_ahead: list[tuple[Sequence[Round], Worker]] = []


@contextmanager
def ahead(kernel: Any, rounds: Sequence[Round]) -> Iterator[None]:
    """Have another process begin with the first round if the cache lacks a kernel, until `beside` takes it over."""
    worker = _worker() if is_missing(kernel) else None
    if worker is None:
        yield
        return
    worker.give(*rounds[0].theirs)
    begun = (rounds, worker)
    _ahead.append(begun)
    try:
        yield
    finally:
        if begun in _ahead:
            _ahead.remove(begun)
            worker.end()


@contextmanager
def beside(kernel: Any, rounds: Sequence[Round], after: Sequence[str] = ()) -> Iterator[Callable[[], None]]:
    """Have tasks done by another process if the cache lacks a kernel.

    Parameters
    ----------
    kernel : kernel
    rounds : sequence of Round
    after : sequence of str
        More tasks of this process, while the other one does those of the last round.

    Yields
    ------
    callable
        Does the tasks of this process and waits for the other one; called again, it does nothing.
    """
    worker = _begun(rounds) if is_missing(kernel) else None
    if worker is None:
        yield lambda: None
        return

    @cache
    def wait() -> None:
        for number, (theirs, ours) in enumerate(rounds):
            if number:
                # It comes to them when it has done those before, and ours are done now.
                worker.give(*theirs)
            for task in ours:
                TASKS[task]()
        for task in after:
            TASKS[task]()
        for _ in (task for theirs, _ in rounds for task in theirs):
            if not worker.answer():
                return

    try:
        yield wait
    finally:
        worker.end()


def _begun(rounds: Sequence[Round]) -> Worker | None:
    """Return another process that has begun with the first round, None where there is none."""
    for place, (begun, early) in enumerate(_ahead):
        if begun == rounds:
            del _ahead[place]
            return early
    worker = _worker()
    if worker is not None:
        worker.give(*rounds[0].theirs)
    return worker


def _worker() -> Worker | None:
    """Return another process, None where there can or should be none."""
    from multiprocessing import parent_process

    if processors() < 2 or WORKER in os.environ or parent_process() is not None:
        return None
    # The executable of an interpreter that is part of another program is that program.
    if not Path(sys.executable or "").name.lower().startswith(("python", "pypy")):
        return None
    try:
        return Worker()
    except OSError:
        return None


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def serve(tasks: dict[str, Callable[[], None]]) -> None:
    """Do tasks by the names that are read from standard input; end at once when it ends."""
    from queue import SimpleQueue
    from threading import Thread

    collect_rarely()
    names: SimpleQueue[str] = SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            names.put(line.strip())
        os._exit(0)

    Thread(target=listen, daemon=True).start()
    while True:
        try:
            tasks[names.get()]()
            sys.stdout.write(DONE)
        except Exception:
            sys.stdout.write(FAILED)
        sys.stdout.flush()


if __name__ == "__main__":
    serve(TASKS)
