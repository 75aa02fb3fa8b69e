"""What the benchmarks of speed share: clocks, memory, tables, pages and the description of the machine."""

from __future__ import annotations

import gc
import math
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "reference"
MIB = 2**20


@dataclass
class Table:
    """Rows under a title, for the screen and for a page.

    Attributes
    ----------
    title, text : str
        Heading, and what a reader needs to know before the table.
    head : list of str
        Names of the columns.
    rows : list of list of str
    verdicts : list of str
        One sentence each, below the table.
    """

    title: str
    text: str
    head: list[str]
    rows: list[list[str]] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)

    def add(self, *cells: Any) -> None:
        """Append a row and show it at once: long runs are watched."""
        self.rows.append([str(cell) for cell in cells])
        print("  ...", " | ".join(self.rows[-1]), file=sys.stderr, flush=True)

    def plain(self) -> str:
        """Return the table as aligned text."""
        widths = [max(len(row[i]) for row in [self.head, *self.rows]) for i in range(len(self.head))]
        lines = [
            row[0].ljust(widths[0]) + "".join("  " + row[i].rjust(widths[i]) for i in range(1, len(row)))
            for row in [self.head, *self.rows]
        ]
        return "\n".join([self.title, "-" * len(self.title), *lines, *self.verdicts, ""])

    def markdown(self) -> str:
        """Return the table as a section of a page."""
        lines = [f"## {self.title}", "", self.text, "", _row(self.head)]
        lines.append("|---" + "|---:" * (len(self.head) - 1) + "|")
        lines += [_row(row) for row in self.rows]
        if self.verdicts:
            lines += ["", *(f"- {verdict}" for verdict in self.verdicts)]
        return "\n".join([*lines, ""])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def publish(name: str, title: str, intro: str, tables: Sequence[Table], *, quick: bool) -> None:
    """Print all tables and write the page docs/reference/<name>.md."""
    for table in tables:
        print(table.plain())
    remark = "A quick run: sizes are smaller than in a full one.\n" if quick else ""
    head = f"# {title}\n\n<!-- Written by `python -m benchmarks.{name.replace('-', '_')}`. Do not edit. -->\n"
    page = "\n".join([head, intro, remark + machine(), "", *(table.markdown() for table in tables)])
    (PAGES / f"{name}.md").write_text(page.rstrip() + "\n", encoding="utf-8")


def machine() -> str:
    """Describe the machine in general terms."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba"))
    return (
        f"Machine: {os.cpu_count()} cores ({platform.machine()}, {platform.system()}), shared with other work; "
        f"one thread is used. Python {platform.python_version()}, {packages}.\n"
        "Times are seconds of the processor (what a free core takes by the clock), the least of a few runs where\n"
        "they are short; compare within a table, not across machines.\n"
    )


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
