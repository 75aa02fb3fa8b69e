"""Worker processes: one a task, watched, limited and killed if need be.

A worker gets its task as a line of JSON on its standard input, and answers with lines of JSON. It ends by itself when
its input ends, and so when the server is killed.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from shoal.web.faults import Fault, in_words

# Seconds between two looks at the memory of a worker, and how many of them pass between two at the disk.
LOOK, SELDOM = 0.2, 5
# Bytes of a line: results are files, lines are short.
LINE = 32 * 2**20

Heard = Callable[[dict[str, Any]], None]


class Killed(Fault):
    """A worker was killed: it took too much memory, time or space."""


class Worker:
    """A process that carries out one task.

    Parameters
    ----------
    task : plain values
        For :mod:`shoal.web.worker`.
    folder : Path
        Where it works.
    memory, seconds : float
        Its limits.
    beyond : callable
        Returns the error if files take more of the disk than they may.
    """

    def __init__(
        self,
        task: dict[str, Any],
        folder: Path,
        memory: float,
        seconds: float,
        beyond: Callable[[], Fault | None] = lambda: None,
    ) -> None:
        self.task, self.folder, self.memory, self.seconds, self.beyond = task, folder, memory, seconds, beyond
        self._process: asyncio.subprocess.Process | None = None
        self._unwanted = False
        self._killed: Killed | None = None

    async def run(self, heard: Heard) -> dict[str, Any]:
        """Carry out the task, and return its answer.

        Parameters
        ----------
        heard : callable
            Gets what the worker says meanwhile.

        Raises
        ------
        Killed
            If it was killed for its memory or its time.
        Refused
            If the library refused the task.
        """
        self._process = process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "shoal.web.worker"),
            cwd=self.folder,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            # What libraries write there may quote the data.
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
            limit=LINE,
        )
        if self._unwanted:
            self.kill()
        watch = asyncio.ensure_future(self._watch(process))
        try:
            self._say(self.task)
            answer = await self._answer(process, heard)
        finally:
            watch.cancel()
            self.kill()
            with suppress(ProcessLookupError):
                await process.wait()
        if self._killed is not None:
            raise self._killed
        if answer is None:
            raise Fault(500, "The work must come to its end. Got a process that ended before.", "try again.")
        if "error" in answer:
            raise Refused(answer["error"])
        return answer

    async def _answer(self, process: asyncio.subprocess.Process, heard: Heard) -> dict[str, Any] | None:
        if process.stdout is None:
            return None
        async for line in process.stdout:
            said: dict[str, Any] = json.loads(line)
            if "answer" in said or "error" in said:
                return said
            heard(said)
        return None

    def _say(self, words: Any) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError, RuntimeError):
                self._process.stdin.write(json.dumps(words).encode() + b"\n")

    def stop(self) -> None:
        """Ask it to end its search with the best groups so far."""
        self._say({"stop": True})

    def kill(self) -> None:
        """End it at once, with everything that it started; if it has not started yet, as soon as it has."""
        self._unwanted = True
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        """Kill the process when it is beyond a limit."""
        end = time.monotonic() + self.seconds
        for look in itertools.count(1):
            await asyncio.sleep(LOOK)
            fault = await asyncio.to_thread(self.beyond) if look % SELDOM == 0 else None
            if fault is not None:
                words = str(fault).removesuffix(f" Hint: {fault.hint}").removesuffix(" Got more.")
                self._killed = Killed(fault.status, f"{words} Got more; the job was ended.", fault.hint)
            elif resident(process.pid) > self.memory:
                words = f"A job may take at most {in_words(self.memory)} of memory. Got more; it was ended."
                self._killed = Killed(422, words, "take fewer rows or columns, or raise --memory of shoal serve.")
            elif time.monotonic() > end:
                words = f"A job may take at most {self.seconds:,.0f} seconds. Got more; it was ended."
                self._killed = Killed(422, words, "set a time limit in the plan, or raise --job-time of shoal serve.")
            if self._killed is not None:
                self.kill()
                return


class Refused(Exception):
    """The library refused a task; `error` are plain values, as `faults.told` returns them."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error.get("message", ""))
        self.error = error


def resident(pid: int) -> int:
    """Return the bytes of memory that a process has; 0 where the system does not tell."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
