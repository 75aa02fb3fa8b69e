"""The desk: what users can have done with their tables, apart from how a request looks like."""

from __future__ import annotations

import asyncio
import itertools
import os
import secrets
import shutil
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from shoal.errors import OptionError
from shoal.io.sql import named
from shoal.plan import Plan
from shoal.web.disk import Beyond, Disk
from shoal.web.drafts import Draft, refuse_odd
from shoal.web.faults import Fault
from shoal.web.folders import apart, file_name
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
        self.disk = Disk(settings, folder)
        self.queue = Queue(settings, self.disk)
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
        for table in user.tables.values():
            _read_no_more(table)
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

    def begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Have something done beside."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def quick(
        self,
        task: dict[str, Any],
        folder: Path,
        heard: Callable[[dict[str, Any]], None] = lambda said: None,
        beyond: Beyond = lambda: None,
    ) -> dict[str, Any]:
        """Carry out a task that somebody waits for."""
        async with self._quick:
            worker = Worker(task, folder, self.settings.memory_bytes, self.settings.job_seconds, beyond)
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
        self.disk.require_room(user)
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
        table = self.new_table(user, label_of_place(where), "path", where, reading)
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
                found = await self.quick(task, table.folder, heard, self.disk.beyond(user))
                table.ready(found)
                with suppress(OSError):
                    table.bytes = os.stat(table.where).st_size
            except Exception as error:
                table.failed(error)
            if user.tables.get(table.id) is table:
                user.events.add("table", table.summary())

        table.reader = self.begin(work())

    def refuse_beyond(self, table: Table, reading: Mapping[str, Any]) -> None:
        """Refuse to read more of a database of the server than was offered, to those who may not open its tables."""
        if self.settings.paths or table.kind != "path":
            return
        if reading.get("query") is not None:
            raise Fault(403, "A query must be one of a database of your own. Got one for the server's.", "upload it.")
        if reading.get("table") is not None and reading["table"] not in table.offered:
            raise Fault(403, "The table must be one of those that are offered. Got another name.")

    def remove_table(self, user: User, table: Table) -> None:
        """Close a table; an upload is wiped, once no job needs it."""
        if any(job.table == table.id and not job.ended for job in user.jobs.values()):
            raise Fault(409, "A table must not be needed by a job to be closed. Got one that is.", "cancel the job.")
        user.tables.pop(table.id, None)  # it may have been closed while its upload was broken off
        _read_no_more(table)
        shutil.rmtree(table.folder, ignore_errors=True)
        user.events.add("gone", {"table": table.id})

    def change(self, user: User, table: Table, draft: Draft) -> None:
        """Take a new draft, if its plan can be; all windows of the user are told."""
        for plan in (draft.plan(), draft.plan_of_population()):
            refuse_odd(plan, self.settings.paths, table.files)
        table.keep(draft)
        user.events.add("table", table.summary())

    def move(self, user: User, table: Table, step: int) -> None:
        """Undo (-1) or redo (1) a step; all windows of the user are told."""
        table.require_ready()
        table.move(step)
        user.events.add("table", table.summary())

    def located(self, table: Table, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return fields of a plan with the place of a population that is not an upload: workers have other folders."""
        where = fields.get("population")
        if not isinstance(where, str) or where in table.files or "://" in where:
            return fields
        return {**fields, "population": os.path.abspath(os.path.expanduser(where))}

    def beside(self, table: Table, label: str) -> str:
        """Return a name for a file that lies beside a table: not that of the table, of another one or of a result."""
        plain = apart(file_name(label))
        names = {apart(file_name(table.name)) if table.kind != "path" else "", *table.files}
        free = (f"{at}-{plain}" if at else plain for at in itertools.count())
        return next(name for name in free if name not in names)

    def new_file(self, table: Table, name: str) -> Path:
        """Return a place for an uploaded file of this name: a folder of its own, so that it can keep the name."""
        folder = table.folder / new_name()
        folder.mkdir(mode=0o700)
        return folder / name

    async def look_at(self, path: Path) -> dict[str, Any]:
        """Return how many rows and which columns a file has, or refuse what cannot be read."""
        most = self.settings.upload_bytes * UNPACKED
        return await self.quick({"task": "look_at", "where": str(path), "unpacked": most}, path.parent)

    async def template(self, table: Table) -> dict[str, Any]:
        """Return a domain of a table, to be filled in."""
        # What a domain needs to know of the plan: roles and types of columns. Those with levels have an order.
        levels = [{"column": name, "type": "ordinal"} for name, one in table.draft.settings.items() if "levels" in one]
        draft = table.draft.changed(levels, table.names).with_fields({"dp": "mondrian", "epsilon": 1}, table.names)
        plan = {name: value for name, value in draft.plan().job().items() if name != "domain"}
        task = {"task": "template", "where": table.where, "reading": table.reading, "plan": plan}
        return await self.quick(task, table.folder)

    async def read_domain(self, table: Table, text: str) -> dict[str, Any]:
        """Return a domain that is written down, as plain values."""
        return await self.quick({"task": "read_domain", "text": text}, table.folder)

    async def tree(self, table: Table, column: str, hierarchy: Any) -> dict[str, Any]:
        """Return the tree of a hierarchy of a column."""
        plan = Plan.of(k=2, hierarchies={column: hierarchy})
        refuse_odd(plan, self.settings.paths)
        task = {"task": "tree", "where": table.where, "reading": table.reading, "column": column}
        return await self.quick({**task, "hierarchy": plan.job()["hierarchies"][column]}, table.folder)

    async def load_tree(self, table: Table, column: str, path: Path) -> dict[str, Any]:
        """Return the tree of a hierarchy in a file, and the hierarchy itself."""
        task = {"task": "load_tree", "where": table.where, "reading": table.reading, "column": column}
        return await self.quick({**task, "path": str(path)}, path.parent)

    # --- jobs ---

    def _job(self, user: User, kind: Kind, name: str, task: dict[str, Any], table: Table, **how: Any) -> Job:
        self.disk.require_room(user)
        id, folder = user.new_folder("j")
        job = Job(id, kind, name, folder, {"task": kind, **task}, table=table.id, **how)
        self.queue.add(user, job)
        tell(user, job)
        return job

    def _source(self, table: Table) -> dict[str, Any]:
        """Return where the worker finds a table, and what it is to be called: the name that its owner gave it."""
        label = None if table.kind == "path" else file_name(table.name)
        return {"where": table.where, "label": label, "reading": table.reading, "files": table.files}

    def plan_for(self, table: Table, given: Mapping[str, Any] | None) -> Plan:
        """Return the plan of a job: the one that is given, or the draft of the table."""
        table.require_ready()
        plan = table.draft.plan() if given is None else Plan.of(**given)
        refuse_odd(plan, self.settings.paths, table.files)
        return plan

    def run(
        self, user: User, table: Table, plan: Plan, *, name: str | None, writing: dict[str, Any], assess: bool | None
    ) -> Job:
        """Have a release made."""
        wanted = (table.found.get("rows") or 0) <= ASSESSED if assess is None else assess
        wanted &= plan.dp is None

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
        if run.plan.get("dp") is not None:
            words = "An assessment compares records with their release. Got a private release, which has no records."
            raise Fault(409, words, "its report says what was promised.")
        table = user.table(run.table)
        task = {**self._source(table), "plan": run.plan, "release": str(run.folder / run.files["release"]["file"])}
        return self._job(user, "assess", run.name, task, table, plan=run.plan, of=run.id)

    def compare(
        self, user: User, table: Table, plan: Plan, ks: Sequence[int], methods: Sequence[str], forms: Sequence[str]
    ) -> Job:
        """Have methods, forms and k compared."""
        if plan.dp is not None:
            words = "The map compares groups of at least k records. Got a plan for a private release, which has none."
            raise OptionError(words, "see shoal compare --dp for the command line.")
        how = {"ks": list(ks), "methods": list(methods), "forms": list(forms)}
        task = {**self._source(table), "plan": plan.job(), **how}
        name = f"k = {', '.join(map(str, ks))}"
        return self._job(user, "compare", name, task, table, plan=plan.job())

    def remove_job(self, user: User, job: Job) -> None:
        """Take a finished job out of the list, with its files; what assesses a run goes with it."""
        if not job.ended:
            raise Fault(409, "A job must have come to its end to be removed. Got one that has not.", "cancel it first.")
        for one in [job, *(other for other in list(user.jobs.values()) if other.of == job.id)]:
            self.queue.cancel(user, one)
            del user.jobs[one.id]
            shutil.rmtree(one.folder, ignore_errors=True)
            user.events.add("gone", {"job": one.id})


def _read_no_more(table: Table) -> None:
    """End the reading of a table that is closed: nothing of it is left, not even in the memory of a worker."""
    if table.reader is not None:
        table.reader.cancel()


def in_short(plan: Plan) -> str:
    """Return the demands of a plan in a few words."""
    if plan.dp is not None:
        delta = f", delta = {plan.delta:g}" if plan.delta else ""
        return f"epsilon = {plan.epsilon:g}{delta}, {plan.dp}"
    words = [f"k = {plan.k}"]
    words += [f"{name} = {getattr(plan, name)}" for name in ("l", "t") if getattr(plan, name) is not None]
    words += [f"k-map = {plan.k_map}"] if plan.k_map is not None else []
    words += [f"presence {plan.presence[0]:g} to {plan.presence[1]:g}"] if plan.presence is not None else []
    models = [str(one) for many in plan.models.values() for one in many]
    words += models if len(models) == 1 else [f"{len(models)} models"] if models else []
    words += [plan.release] if plan.release != "microaggregation" else []
    words += [plan.method] if plan.method != "auto" else []
    return ", ".join(words)


def label_of_place(where: str) -> str:
    """Return what a file or a database is called: never with a password, which an address may have in two places."""
    if "://" not in where:
        return os.path.basename(where)
    return named(where).rsplit("@", 1)[-1].partition("?")[0]


def new_name() -> str:
    """Return a name for a file that nobody can guess."""
    return secrets.token_hex(8)
