"""Servers for the tests of the page: the application itself, with workers that are real or pretended."""

import asyncio
import json
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import httpx

from clocks import PATIENCE
from shoal.web.app import app_of
from shoal.web.desk import Desk
from shoal.web.settings import Settings

BASE = "http://127.0.0.1:8642"


def in_thread(function, *given):
    """Call a function in a thread of its own: tests in a browser leave a loop of theirs in the main one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(function, *given).result()


def run(work):
    """Run a coroutine."""
    return in_thread(asyncio.run, work)


class Visit:
    """A user of the application: requests, and waiting for what they begin."""

    def __init__(self, desk, client):
        self.desk, self.client = desk, client

    async def ask(self, method, path, *, status=None, **how):
        answer = await self.client.request(method, f"/api/v1{path}", **how)
        if status is not None:
            assert answer.status_code == status, answer.text
        return answer.json() if answer.content and "json" in answer.headers["content-type"] else answer

    async def get(self, path, **how):
        return await self.ask("GET", path, **{"status": 200, **how})

    async def post(self, path, json=None, **how):
        return await self.ask("POST", path, json=json, **how)

    async def until(self, path, wanted):
        """Ask until the answer is as wanted."""
        async with asyncio.timeout(PATIENCE):
            while True:
                answer = await self.get(path)
                if wanted(answer):
                    return answer
                await asyncio.sleep(0.05)

    async def read(self, table):
        return await self.until(f"/tables/{table['id']}", lambda one: one["state"] != "reading")

    async def ended(self, job):
        return await self.until(f"/jobs/{job['id']}", lambda one: one["state"] not in ("queued", "running"))


@asynccontextmanager
async def visiting(folder, users=1, clock=None, **settings):
    """Yield visits of so many users of one application."""
    desk = Desk(Settings(port=8642, **settings), Path(folder), **({} if clock is None else {"clock": clock}))
    visits = []
    for _ in range(users):
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app_of(desk)), base_url=BASE)
        visits.append(Visit(desk, client))
        answer = await client.post("/api/v1/session", json={"token": desk.users.new_token()})
        assert answer.status_code == 200
    try:
        yield visits[0] if users == 1 else visits
    finally:
        await desk.close()
        for visit in visits:
            await visit.client.aclose()


def pretend(monkeypatch, seconds=0.0, say=()):
    """Have workers do nothing, for tests of everything around them; return the list of those that ran."""
    ran = []

    class Worker:
        def __init__(self, task, folder, memory, limit, beyond=None):
            self.task, self.folder = task, folder
            self.asked = asyncio.Event()

        async def run(self, heard):
            ran.append(self.task)
            for words in say:
                heard(words)
            if seconds:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.asked.wait(), seconds)
            return {"answer": ANSWERS.get(self.task["task"], lambda worker: {})(self)}

        def stop(self):
            self.asked.set()

        kill = stop

    monkeypatch.setattr("shoal.web.jobs.Worker", Worker)
    monkeypatch.setattr("shoal.web.desk.Worker", Worker)
    return ran


def _found(worker):
    columns = [
        {
            "name": name,
            "position": at,
            "role": "quasi-identifier",
            "role_why": "",
            "type": "integer",
            "type_why": "",
            "different": 3,
            "missing": 0,
            "looks_like_identifier": False,
            "levels": None,
            "values": None,
            "picture": {"shape": "none", "why": ""},
        }
        for at, name in enumerate(("age", "income", "ill"))
    ]
    return {"parts": None, "part_key": None, "rows": 10, "format": "csv", "notes": [], "columns": columns}


def _released(worker):
    Path(worker.folder, "result.json").write_text(json.dumps({"rows": {}}))
    Path(worker.folder, "release.csv").write_text("age\n1\n")
    file = {"name": "release", "file": "release.csv", "bytes": 6, "sha256": "", "public": True, "type": "text/csv"}
    return {"summary": {"k": 5}, "files": {"release": file}}


def _nothing_found(worker):
    Path(worker.folder, "result.json").write_text("{}")
    return {}


ANSWERS = {
    "inspect": _found,
    "demo": _found,
    "run": _released,
    "check": _nothing_found,
    "assess": _nothing_found,
    "compare": _nothing_found,
    "look_at": lambda worker: {"rows": 1, "columns": ["age"]},
    "template": lambda worker: {"text": "", "domain": {"columns": {}}},
    "read_domain": lambda worker: {"domain": {"columns": {}}},
    "load_tree": lambda worker: {"tree": {}, "hierarchy": {"labels": ["*"], "parents": [-1]}},
}


@contextmanager
def serving(folder, *options):
    """Run ``shoal serve`` in a process of its own; yield it and the link that it printed."""
    command = [sys.executable, "-m", "shoal", "serve", "--no-browser", "--folder", str(folder), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            lines = []
            link = None
            while link is None:
                line = process.stdout.readline()
                assert line, "".join(lines)
                lines.append(line)
                link = re.search(r"https?://\S+#token=\S+", line)
            yield process, link.group(0)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
