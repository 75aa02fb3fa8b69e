"""The desk: what users can have done with their tables, apart from how a request looks like."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from shoal.plan import Plan
from shoal.web.drafts import Draft, refuse_odd
from shoal.web.faults import Fault
from shoal.web.folders import file_name
from shoal.web.jobs import Job, Kind, Queue, tell
from shoal.web.processes import Worker
from shoal.web.settings import MOST_TABLES, UNPACKED, Settings
from shoal.web.tables import Kind as TableKind
from shoal.web.tables import Table
from shoal.web.users import Clock, User, Users

# Tasks that users wait for, besides jobs: reading tables, and trees of hierarchies.
QUICK = 2
# Seconds between two looks at who is idle.
LOOK = 20.0
# Runs of tables with more rows than this are assessed only when somebody asks for it.
ASSESSED = 50_000
DEMO = "people.csv"


class Desk:
    """Everything that a server does.

    Parameters
    ----------
    settings : Settings
    folder : Path
        The private folder.
    on_link : callable
        Called with a new link, to be shown to whoever started the server.
    """

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        on_link: Callable[[str], None] = lambda link: None,
        clock: Clock = time.monotonic,
    ) -> None:
        self.settings, self.folder, self.on_link = settings, folder, on_link
        self.users = Users(folder, clock)
        self.queue = Queue(settings)
        self._quick = asyncio.Semaphore(QUICK)
        self._tasks: set[asyncio.Task[None]] = set()
        self._catalogue: dict[str, Any] | None = None

    # --- users ---

    def new_link(self) -> str:
        """Return a link that is good for one visit; its token is in the fragment, which browsers do not send."""
        return f"{self.settings.address}#token={self.users.new_token()}"

    def enter(self, token: str) -> tuple[User, str]:
        """Let a user in, and open the table that the server was started with."""
        user, cookie = self.users.enter(token)
        if self.settings.source is not None:
            self.open(user, self.settings.source, {})
        return user, cookie

    def leave(self, user: User, why: str) -> None:
        """Wipe everything of a user; whoever started the server gets a new link."""
        self.queue.leave(user)
        self.users.remove(user, why)
        self.on_link(self.new_link())

    async def look_for_idle(self) -> None:
        """Wipe what belongs to users who did nothing for long."""
        while True:
            self.wipe_idle()
            await asyncio.sleep(LOOK)

    def wipe_idle(self) -> None:
        """Wipe what belongs to users who do nothing, and for whom nothing is done."""
        for user in self.users:
            busy = any(not job.ended for job in user.jobs.values())
            if busy:
                user.seen = self.users.clock()
            elif self.users.clock() - user.seen > self.settings.idle_seconds:
                self.leave(user, "Nothing was done for long: everything was wiped.")

    async def close(self) -> None:
        """End everything."""
        for user in self.users:
            user.events.close("The server was ended: everything was wiped.")
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.queue.close()

    # --- quick tasks ---

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Have something done beside."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def quick(
        self, task: dict[str, Any], folder: Path, heard: Callable[[dict[str, Any]], None] = lambda said: None
    ) -> dict[str, Any]:
        """Carry out a task that somebody waits for."""
        async with self._quick:
            worker = Worker(task, folder, self.settings.memory_bytes, self.settings.job_seconds)
            answer: dict[str, Any] = (await worker.run(heard))["answer"]
        return answer

    async def catalogue(self) -> dict[str, Any]:
        """Return what forms offer: it is always the same."""
        if self._catalogue is None:
            self._catalogue = await self.quick({"task": "catalogue"}, self.folder)
        return self._catalogue

    # --- tables ---

    def new_table(self, user: User, name: str, kind: TableKind, where: str | None, reading: Mapping[str, Any]) -> Table:
        """Return a new table; one without a place gets a file in the private folder."""
        if len(user.tables) >= MOST_TABLES:
            raise Fault(429, f"At most {MOST_TABLES} tables may be open. Got one more.", "close one of them.")
        plain = file_name(name) if where is None else ""
        id, folder = user.new_folder("t")
        table = Table(id, name, kind, where or str(folder / plain), folder, reading)
        user.tables[id] = table
        return table

    def open(self, user: User, where: str, reading: Mapping[str, Any]) -> Table:
        """Open a table of this machine, or of a database."""
        where = where if "://" in where else os.path.abspath(os.path.expanduser(where))
        label = where.rsplit("@", 1)[-1] if "://" in where else os.path.basename(where)
        table = self.new_table(user, label, "path", where, reading)
        self.read(user, table)
        return table

    def demo(self, user: User, rows: int) -> Table:
        """Open the invented survey that the documentation begins with."""
        table = self.new_table(user, DEMO, "demo", None, {})
        self.read(user, table, rows=rows)
        return table

    def read(self, user: User, table: Table, rows: int | None = None) -> None:
        """Read a table, beside, and find out what is in it."""
        table.begin()
        user.events.add("table", table.summary())
        task = {
            "task": "inspect" if rows is None else "demo",
            "where": table.where,
            "reading": table.reading,
            "unpacked": self.settings.upload_bytes * UNPACKED,
            **({} if rows is None else {"rows": rows}),
        }

        def heard(said: dict[str, Any]) -> None:
            table.fraction = said.get("fraction", table.fraction)
            user.events.add("table", table.summary())

        async def work() -> None:
            try:
                found = await self.quick(task, table.folder, heard)
                table.ready(found)
                with suppress(OSError):
                    table.bytes = os.stat(table.where).st_size
            except Exception as error:
                table.failed(error)
            if user.tables.get(table.id) is table:
                user.events.add("table", table.summary())

        self.begin(work())

    def remove_table(self, user: User, table: Table) -> None:
        """Close a table; an upload is wiped, once no job needs it."""
        if any(job.table == table.id and not job.ended for job in user.jobs.values()):
            raise Fault(409, "A table must not be needed by a job to be closed. Got one that is.", "cancel the job.")
        del user.tables[table.id]
        shutil.rmtree(table.folder, ignore_errors=True)
        user.events.add("gone", {"table": table.id})

    def change(self, table: Table, draft: Draft) -> None:
        """Take a new draft, if its plan can be."""
        refuse_odd(draft.plan(), self.settings.paths)
        table.keep(draft)

    async def tree(self, table: Table, column: str, hierarchy: Any) -> dict[str, Any]:
        """Return the tree of a hierarchy of a column."""
        plan = Plan.of(k=2, hierarchies={column: hierarchy})
        refuse_odd(plan, self.settings.paths)
        task = {"task": "tree", "where": table.where, "reading": table.reading, "column": column}
        return await self.quick({**task, "hierarchy": plan.job()["hierarchies"][column]}, table.folder)

    async def load_tree(self, table: Table, column: str, path: Path) -> dict[str, Any]:
        """Return the tree of a hierarchy in a file, and the hierarchy itself."""
        task = {"task": "load_tree", "where": table.where, "reading": table.reading, "column": column}
        return await self.quick({**task, "path": str(path)}, table.folder)

    # --- jobs ---

    def _job(self, user: User, kind: Kind, name: str, task: dict[str, Any], table: Table, **how: Any) -> Job:
        id, folder = user.new_folder("j")
        job = Job(id, kind, name, folder, {"task": kind, **task}, table=table.id, **how)
        self.queue.add(user, job)
        tell(user, job)
        return job

    def _source(self, table: Table) -> dict[str, Any]:
        """Return where the worker finds a table, and what it is to be called: the name that its owner gave it."""
        label = None if table.kind == "path" else file_name(table.name)
        return {"where": table.where, "label": label, "reading": table.reading}

    def plan_for(self, table: Table, given: Mapping[str, Any] | None) -> Plan:
        """Return the plan of a job: the one that is given, or the draft of the table."""
        table.require_ready()
        plan = table.draft.plan() if given is None else Plan.of(**given)
        refuse_odd(plan, self.settings.paths)
        return plan

    def run(
        self, user: User, table: Table, plan: Plan, *, name: str | None, writing: dict[str, Any], assess: bool | None
    ) -> Job:
        """Have a release made."""
        wanted = (table.found.get("rows") or 0) <= ASSESSED if assess is None else assess

        def then(job: Job) -> None:
            with suppress(Fault):
                self.assess(user, job)

        task = {**self._source(table), "plan": plan.job(), "writing": writing}
        words = name or in_short(plan)
        return self._job(user, "run", words, task, table, plan=plan.job(), then=then if wanted else None)

    def check(self, user: User, table: Table, plan: Plan) -> Job:
        """Have a plan checked, without releasing anything."""
        task = {**self._source(table), "plan": plan.job()}
        return self._job(user, "check", in_short(plan), task, table, plan=plan.job())

    def assess(self, user: User, run: Job) -> Job:
        """Have a release assessed."""
        if run.kind != "run" or run.state != "done":
            raise Fault(409, "An assessment must be of a finished run. Got another job.")
        table = user.table(run.table)
        task = {**self._source(table), "plan": run.plan, "release": str(run.folder / run.files["release"]["file"])}
        return self._job(user, "assess", run.name, task, table, plan=run.plan, of=run.id)

    def compare(
        self, user: User, table: Table, plan: Plan, ks: Sequence[int], methods: Sequence[str], forms: Sequence[str]
    ) -> Job:
        """Have methods, forms and k compared."""
        how = {"ks": list(ks), "methods": list(methods), "forms": list(forms)}
        task = {**self._source(table), "plan": plan.job(), **how}
        name = f"k = {', '.join(map(str, ks))}"
        return self._job(user, "compare", name, task, table, plan=plan.job())

    def remove_job(self, user: User, job: Job) -> None:
        """Take a finished job out of the list, with its files."""
        if not job.ended:
            raise Fault(409, "A job must have come to its end to be removed. Got one that has not.", "cancel it first.")
        del user.jobs[job.id]
        shutil.rmtree(job.folder, ignore_errors=True)
        user.events.add("gone", {"job": job.id})


def in_short(plan: Plan) -> str:
    """Return the demands of a plan in a few words."""
    words = [f"k = {plan.k}"]
    words += [f"{name} = {getattr(plan, name)}" for name in ("l", "t") if getattr(plan, name) is not None]
    models = [str(one) for many in plan.models.values() for one in many]
    words += models if len(models) == 1 else [f"{len(models)} models"] if models else []
    words += [plan.release] if plan.release != "microaggregation" else []
    words += [plan.method] if plan.method != "auto" else []
    return ", ".join(words)


def new_name() -> str:
    """Return a name for a file that nobody can guess."""
    return secrets.token_hex(8)
