"""Runs inputs in processes of their own, within a time budget, and watches for hangs and crashes."""

from __future__ import annotations

import gc
import json
import multiprocessing
import queue
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz.case import Case
from fuzz.counts import Counts
from fuzz.plans import random_case
from fuzz.shrinking import findings, shrunk, signature

FOLDER = Path("fuzz-findings")
EACH = 3  # findings of one signature that are kept
LIMIT = 120.0  # seconds that one input may take, by the clock: a busy machine needs more
WARM = 100  # inputs after which most modules are loaded
REPORT = 2.0  # seconds between reports of a worker


@dataclass(frozen=True)
class Found:
    """A finding: the input and what was wrong."""

    case: Case
    words: tuple[str, ...]
    signature: str


@dataclass(frozen=True)
class Budget:
    """How long to run: until a time (of the monotonic clock), for a number of inputs, or both; and most for each."""

    start: int
    jobs: int
    until: float
    inputs: int | None
    skip: tuple[str, ...] = ()
    shrink: bool = True
    patience: float = LIMIT


def tried(seed: int, skip: tuple[str, ...] = ()) -> tuple[Case, str, list[str]]:
    """Return an input, how it ended and what was wrong; findings that begin with a word of `skip` are left out."""
    case = random_case(seed)
    kind, found = examined(case)
    return case, kind, [one for one in found if not one.startswith(skip or ("\0",))]


def examined(case: Case) -> tuple[str, list[str]]:
    """Return how an input ended and what was wrong; a check that fails is a finding too."""
    try:
        return findings(case)
    except Exception:
        lines = traceback.format_exc().strip().splitlines()
        return "failed", [f"check failed: {lines[-1]} ({lines[-3].strip() if len(lines) > 2 else ''})"]


def work(budget: Budget, offset: int, now: Any, out: Any) -> None:
    """Try every input of a worker, and put counts and findings into a queue."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)  # what an input leaves behind is small, and the modules are large
    counts, seen, reported, tries = Counts(), set[str](), time.monotonic(), 0
    seed, began = budget.start + offset, time.process_time()
    while time.monotonic() < budget.until and (budget.inputs is None or seed < budget.start + budget.inputs):
        now[0], now[1] = seed, int(time.monotonic())
        case, kind, found = tried(seed, budget.skip)
        counts.add(case, kind)
        tries += 1
        if tries == WARM:
            gc.collect()
            gc.freeze()  # modules that were loaded on first use
        for name in dict.fromkeys(map(signature, found)):
            counts.findings[name] += 1
            if sum(one == name for one, _ in (s.split("\0") for s in seen)) < EACH:
                seen.add(f"{name}\0{seed}")
                now[1] = int(time.monotonic()) + 60  # shrinking takes its own time
                small = shrunk(case, name) if budget.shrink else case
                out.put(Found(small, tuple(found), name))
        seed += budget.jobs
        if time.monotonic() - reported > REPORT:
            counts.seconds, began, reported = time.process_time() - began, time.process_time(), time.monotonic()
            out.put(counts)
            counts = Counts()
    counts.seconds = time.process_time() - began
    out.put(counts)
    now[0] = -1


class Run:
    """A run of several workers."""

    def __init__(self, budget: Budget, folder: Path = FOLDER) -> None:
        self.budget, self.folder, self.counts = budget, folder, Counts()
        self.context = multiprocessing.get_context("spawn")
        self.out: Any = self.context.Queue()
        self.kept: dict[str, list[Path]] = {}

    def carry_out(self) -> Counts:
        """Run to the end of the budget and return the counts."""
        workers = [self._started(offset) for offset in range(self.budget.jobs)]
        shown = time.monotonic()
        while workers:
            self._collect()
            workers = [again for worker in workers if (again := self._watched(*worker)) is not None]
            if time.monotonic() - shown > (1 if sys.stderr.isatty() else 30):
                shown = time.monotonic()
                end = "\r" if sys.stderr.isatty() else "\n"
                print(self.counts.line(), end=end, file=sys.stderr, flush=True)
        self._collect()
        return self.counts

    def _started(self, offset: int) -> tuple[Any, Any, int]:
        now = self.context.Array("q", [self.budget.start + offset, int(time.monotonic()) + 60], lock=False)
        process = self.context.Process(target=work, args=(self.budget, offset, now, self.out), daemon=True)
        process.start()
        return process, now, offset

    def _watched(self, process: Any, now: Any, offset: int) -> tuple[Any, Any, int] | None:
        """Return the worker, or one in its place if it hangs or has died; None if it is done."""
        if now[0] == -1:
            process.join(5)
            return None
        hangs = time.monotonic() - now[1] > self.budget.patience
        if process.is_alive() and not hangs:
            return process, now, offset
        if process.is_alive():
            process.kill()
        process.join()
        seed = now[0]
        words = (
            f"hang: more than {self.budget.patience:.0f} seconds" if hangs else f"crash: exit code {process.exitcode}"
        )
        self._keep(Found(random_case(seed), (words,), signature(words)))
        self.counts.findings[signature(words)] += 1
        if time.monotonic() > self.budget.until:
            return None
        return self._started(seed - self.budget.start + self.budget.jobs)

    def _collect(self) -> None:
        try:
            while True:
                one = self.out.get(timeout=0.2)
                if isinstance(one, Counts):
                    self.counts.update(one)
                else:
                    self._keep(one)
        except queue.Empty:
            return

    def _keep(self, found: Found) -> None:
        """Write a finding as a file that can be replayed, unless there are enough of its signature."""
        kept = self.kept.setdefault(found.signature, [])
        if len(kept) >= EACH:
            return
        self.folder.mkdir(exist_ok=True)
        path = self.folder / f"{found.case.seed}-{len(self.kept)}.json"
        plain = {"findings": list(found.words), **json.loads(found.case.to_json())}
        path.write_text(json.dumps(plain, indent=1), encoding="utf-8")
        kept.append(path)
