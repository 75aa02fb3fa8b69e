"""Jobs: what users want done, queued, run one process each, and told about by events."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections import deque
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from shoal.web.disk import Disk
from shoal.web.faults import Fault, told
from shoal.web.processes import Killed, Refused, Worker
from shoal.web.settings import MOST_JOBS, MOST_WAITING, Settings
from shoal.web.users import User

State = Literal["queued", "running", "done", "failed", "cancelled", "killed"]
Kind = Literal["run", "check", "assess", "compare"]
ENDED = ("done", "failed", "cancelled", "killed")
# Where each phase begins and ends, of the whole job.
SPANS = {
    "starting": (0.0, 0.0),
    "reading": (0.0, 0.1),
    "preparing": (0.1, 0.15),
    "grouping": (0.15, 0.85),
    "writing": (0.85, 0.95),
    "measuring": (0.95, 1.0),
}
# Seconds between two events of one job, at least, unless its state changes.
PACE = 0.1


class Job:
    """A job of a user.

    Attributes
    ----------
    id, name : str
    kind : "run", "check", "assess" or "compare"
    table : str
        The table that it is about.
    of : str or None
        The run that it assesses.
    folder : Path
        Its files.
    task : plain values
        For the worker.
    plan : plain values
        The fields of its plan.
    """

    def __init__(
        self,
        id: str,
        kind: Kind,
        name: str,
        folder: Path,
        task: dict[str, Any],
        *,
        table: str,
        plan: dict[str, Any],
        of: str | None = None,
        then: Callable[[Job], None] | None = None,
    ) -> None:
        self.id, self.kind, self.name, self.folder, self.task = id, kind, name, folder, task
        self.table, self.plan, self.of, self.then = table, plan, of, then
        self.state: State = "queued"
        self.phase: str | None = None
        self.fraction = 0.0
        self.loss: float | None = None
        self.gap: float | None = None
        self.searching = self.stopped = False
        self.summary: dict[str, Any] | None = None
        self.files: dict[str, dict[str, Any]] = {}
        self.warnings: list[str] = []
        self.error: dict[str, Any] | None = None
        self.created = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        self.begun: float | None = None
        self.took: float | None = None
        self.position: int | None = None
        self.worker: Worker | None = None
        self.told = 0.0

    @property
    def ended(self) -> bool:
        """Return whether it has come to its end."""
        return self.state in ENDED

    @property
    def done(self) -> bool:
        """Return whether it came to its end, with a result."""
        return self.state == "done"

    def hear(self, said: dict[str, Any]) -> bool:
        """Take note of what the worker says; return whether everybody is to be told now."""
        urgent = False
        if "phase" in said:
            urgent = said["phase"] != self.phase
            self.phase, self.fraction = said["phase"], 0.0
            self.searching = False
        if "fraction" in said:
            self.fraction = said["fraction"]
        if "loss" in said:
            urgent |= self.loss is None
            self.loss, self.gap, self.searching = said["loss"], said["gap"], True
        if "warning" in said:
            self.warnings.append(said["warning"])
        return urgent

    def plain(self, *, plan: bool = True) -> dict[str, Any]:
        """Return the job as the page is told about it."""
        low, high = SPANS.get(self.phase or "starting", (0.0, 1.0))
        seconds = self.took if self.begun is None or self.took is not None else time.monotonic() - self.begun
        return {
            "id": self.id,
            "kind": self.kind,
            "table": self.table,
            "of": self.of,
            "name": self.name,
            "state": self.state,
            "phase": self.phase if self.state == "running" else None,
            "fraction": round(self.fraction, 4),
            "overall": 1.0 if self.state == "done" else round(low + (high - low) * self.fraction, 4),
            "loss": self.loss,
            "gap": self.gap,
            "searching": self.searching and self.state == "running",
            "stopped_early": self.stopped,
            "position": self.position,
            "seconds": round(seconds or 0.0, 2),
            "created": self.created,
            "error": self.error,
            **({"plan": self.plan} if plan else {}),
            "summary": self.summary,
            "warnings": self.warnings,
        }


class Queue:
    """All jobs that wait or run, of all users, who take turns; those of one user run in their order.

    Parameters
    ----------
    settings : Settings
    disk : Disk
    """

    def __init__(self, settings: Settings, disk: Disk) -> None:
        self.settings, self.disk = settings, disk
        self.running: set[Job] = set()
        self._waiting: deque[tuple[User, Job]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._served: dict[str, int] = {}
        self._turns = 0

    def add(self, user: User, job: Job) -> None:
        """Take a job, to be run when its turn comes."""
        waiting = sum(not one.ended for one in user.jobs.values())
        if waiting >= MOST_WAITING or len(user.jobs) >= MOST_JOBS:
            shutil.rmtree(job.folder, ignore_errors=True)
            if waiting >= MOST_WAITING:
                raise Fault(429, f"At most {MOST_WAITING} jobs may wait. Got one more.", "cancel some, or wait.")
            raise Fault(429, f"At most {MOST_JOBS} jobs may be kept. Got one more.", "remove some that are finished.")
        user.jobs[job.id] = job
        self._waiting.append((user, job))
        self._next()

    def cancel(self, user: User, job: Job) -> None:
        """End a job at once; nothing of it is left."""
        if job.ended:
            return
        worker, job.worker = job.worker, None
        if worker is not None:
            worker.kill()
        self._end(user, job, "cancelled")
        shutil.rmtree(job.folder, ignore_errors=True)
        self._waiting = deque(pair for pair in self._waiting if pair[1] is not job)
        self._next()

    def stop(self, user: User, job: Job) -> None:
        """End the search of a job: the best groups so far are released."""
        if job.state != "running" or not job.searching or job.worker is None:
            raise Fault(409, "A job must be searching to be stopped. Got one that is not.", "cancel it instead.")
        job.stopped = True
        job.worker.stop()
        tell(user, job)

    def leave(self, user: User) -> None:
        """End all jobs of a user."""
        for job in list(user.jobs.values()):
            self.cancel(user, job)
        self._served.pop(user.id, None)

    async def close(self) -> None:
        """End everything."""
        self._waiting.clear()
        for job in list(self.running):
            if job.worker is not None:
                job.worker.kill()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _next(self) -> None:
        """Begin the jobs whose turn has come, and tell the others how many are before them."""
        while self._waiting and len(self.running) < self.settings.at_once:
            user, job = self._turn()
            self.running.add(job)
            self._begin(self._run(user, job))
        for at, (user, job) in enumerate(self._waiting, 1):
            if job.position != at:
                job.position = at
                tell(user, job)

    def _turn(self) -> tuple[User, Job]:
        """Return the first job of the user whose turn is longest ago, so that nobody waits for all jobs of another."""
        at = min(range(len(self._waiting)), key=lambda at: self._served.get(self._waiting[at][0].id, 0))
        user, job = self._waiting[at]
        del self._waiting[at]
        self._turns += 1
        self._served[user.id] = self._turns
        return user, job

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, user: User, job: Job) -> None:
        job.state, job.phase, job.position, job.begun = "running", "starting", None, time.monotonic()
        limits = (self.settings.memory_bytes, self.settings.job_seconds, self.disk.beyond(user))
        job.worker = Worker(job.task, job.folder, *limits)
        tell(user, job)

        def heard(said: dict[str, Any]) -> None:
            now = time.monotonic()
            if job.hear(said) or now - job.told >= PACE:
                job.told = now
                tell(user, job)

        try:
            answer = (await job.worker.run(heard))["answer"]
            job.summary, job.files = answer.get("summary"), answer.get("files", {})
            self._end(user, job, "done")
            if job.then is not None:
                job.then(job)
        except Killed as error:
            self._end(user, job, "killed", told(error))
        except Refused as error:
            self._end(user, job, "failed", error.error)
        except Exception as error:
            self._end(user, job, "failed", told(error))
        finally:
            if not job.done:
                shutil.rmtree(job.folder, ignore_errors=True)
            job.worker = None
            self.running.discard(job)
            self._next()

    def _end(self, user: User, job: Job, state: State, error: dict[str, Any] | None = None) -> None:
        if job.ended:
            return  # cancelled: what the worker came to does not matter any more
        job.state, job.error, job.position = state, error, None
        job.took = 0.0 if job.begun is None else time.monotonic() - job.begun
        tell(user, job)


def tell(user: User, job: Job) -> None:
    """Tell the user how a job stands."""
    user.events.add("job", job.plain(plan=False))
