"""What the benchmarks of speed share: clocks, memory, tables of data and fresh processes."""

from __future__ import annotations

import gc
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.pages import ROOT
from shoal.arrays import Array

MIB = 2**20


def clock(call: Callable[[], Any], *, repeats: int = 1) -> tuple[float, Any]:
    """Return the least seconds of some calls, and what the last one returned.

    Seconds are those the processor spent on this process, so that other work on the machine counts little.
    """
    least, result = math.inf, None
    for _ in range(repeats):
        start = time.process_time()
        result = call()
        least = min(least, time.process_time() - start)
    return least, result


def steady(call: Callable[[], Any], *, within: float = 1.0) -> float:
    """Return the least seconds of two calls or more, up to `within` seconds in all and at most 7 calls."""
    first = clock(call)[0]
    more = min(6, max(1, int(within / max(first, 1e-6)) - 1))
    return min(first, clock(call, repeats=more)[0]) if first < 3 * within else first


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the exponent e of the best fit y ~ x^e."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def gaussian(n: int, d: int, seed: int = 0) -> Array:
    """Return n records of d independent normal coordinates."""
    return np.random.default_rng(seed).normal(size=(n, d))


def show(seconds: float) -> str:
    """Return seconds with three digits that count."""
    return f"{seconds:.3g}" if seconds < 100 else f"{seconds:.0f}"


def peak_memory(call: Callable[[], Any]) -> int:
    """Return the most bytes that this process held during a call beyond those it held before.

    The resident set is watched from a second thread, as compiled code allocates where tracemalloc cannot see.
    """
    import psutil

    process = psutil.Process()
    gc.collect()
    before = process.memory_info().rss
    most, done = before, threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.001):
            most = max(most, process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    result = call()
    most = max(most, process.memory_info().rss)
    done.set()
    watcher.join()
    del result
    return int(most - before)


def in_fresh_process(code: str, *, cold: bool = False) -> str:
    """Run Python code in a new process and return its last line of output.

    Parameters
    ----------
    code : str
    cold : bool
        Whether the process starts with an empty cache of compiled kernels.
    """
    with tempfile.TemporaryDirectory() as cache:
        # A fixed threshold makes the C library give arrays back at once: none hides in memory freed before.
        environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
        if cold:
            environment["NUMBA_CACHE_DIR"] = cache
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    return done.stdout.strip().splitlines()[-1]
