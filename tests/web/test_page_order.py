"""What comes before what: newer and older answers, and what ends when something else does."""

import asyncio

import pytest
from web_servers import pretend, run, visiting

from shoal.web.faults import Fault
from shoal.web.processes import Worker


async def opened(visit):
    return await visit.read(await visit.post("/tables/demo", {"rows": 200}, status=201))


def test_every_change_makes_a_later_revision_that_all_windows_are_told(tmp_path, monkeypatch):
    pretend(monkeypatch)

    async def change():
        async with visiting(tmp_path) as visit:
            table = await opened(visit)
            where = f"/tables/{table['id']}"
            (user,) = visit.desk.users
            answers = [
                await visit.ask("PATCH", f"{where}/plan", json={"fields": {"k": 7}}),
                await visit.ask(
                    "PATCH", f"{where}/columns", json={"changes": [{"column": "ill", "role": "sensitive"}]}
                ),
                await visit.ask("PUT", f"{where}/plan", json={"plan": {"k": 3}}),
                await visit.post(f"{where}/undo"),
                await visit.post(f"{where}/redo"),
            ]
            told = [event.data["revision"] for event in user.events._kept if event.kind == "table"]
            await visit.ask("PATCH", f"{where}/reading", json={"delimiter": ";"}, status=200)
            again = await visit.read(table)
            return table["revision"], [answer["revision"] for answer in answers], told[-5:], again["revision"]

    read, changed, told, again = run(change())
    assert changed == [read + 1, read + 2, read + 3, read + 4, read + 5]
    assert told == changed
    assert again == changed[-1] + 2  # begun, and ready


def test_a_worker_that_is_killed_before_it_has_begun_does_nothing(tmp_path):
    """A job can be cancelled while its process is being made."""

    async def end():
        worker = Worker({"task": "catalogue"}, tmp_path, 2**40, 600)
        running = asyncio.ensure_future(worker.run(lambda said: None))
        await asyncio.sleep(0)
        assert worker._process is None
        worker.kill()
        with pytest.raises(Fault, match="ended before"):
            await running

    run(end())


def test_a_table_that_is_closed_is_read_no_more(tmp_path, monkeypatch):
    pretend(monkeypatch, seconds=5)

    async def close():
        async with visiting(tmp_path, users=2) as (visit, other):
            readers = []
            for one in (visit, other):
                table = await one.post("/tables/demo", {}, status=201)
                user = next(user for user in one.desk.users if table["id"] in user.tables)
                readers.append(user.tables[table["id"]].reader)
            await visit.ask("DELETE", f"/tables/{next(iter(visit.desk.users)).tables.copy().popitem()[0]}", status=204)
            await other.ask("DELETE", "/session", status=204)
            await asyncio.wait(readers)
            return [reader.cancelled() for reader in readers]

    assert run(close()) == [True, True]


def test_an_assessment_goes_with_its_run(tmp_path, monkeypatch):
    pretend(monkeypatch)

    async def remove():
        async with visiting(tmp_path) as visit:
            table = await opened(visit)
            made = await visit.post("/jobs", {"kind": "run", "table": table["id"], "assess": True}, status=202)
            (user,) = visit.desk.users
            await visit.ended(made)
            assessed = next(job for job in user.jobs.values() if job.of == made["id"])
            await visit.ask("DELETE", f"/jobs/{made['id']}", status=204)
            gone = [event.data["job"] for event in user.events._kept if event.kind == "gone"]
            return dict(user.jobs), assessed.folder.exists(), gone == [made["id"], assessed.id]

    assert run(remove()) == ({}, False, True)


def test_jobs_that_are_kept_are_not_said_to_wait(tmp_path, monkeypatch):
    pretend(monkeypatch)
    monkeypatch.setattr("shoal.web.jobs.MOST_JOBS", 1)

    async def fill():
        async with visiting(tmp_path) as visit:
            wanted = {"kind": "check", "table": (await opened(visit))["id"]}
            await visit.ended(await visit.post("/jobs", wanted, status=202))
            return (await visit.post("/jobs", wanted, status=429))["error"]

    error = run(fill())
    assert error["message"] == "At most 1 jobs may be kept. Got one more."
    assert error["hint"] == "remove some that are finished."


def test_more_requests_than_can_be_answered_are_refused_in_the_shape_of_all_errors(tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.web.guard.REQUESTS", 1)

    async def ask():
        async with visiting(tmp_path) as visit:
            (user,) = visit.desk.users
            stream = asyncio.ensure_future(visit.client.get("/api/v1/events"))
            while not user.events.open_streams:
                await asyncio.sleep(0)
            refused = await visit.client.get("/api/v1/state")
            user.events.close("over")
            await stream
            return refused, (await visit.client.get("/api/v1/state")).status_code

    refused, after = run(ask())
    assert (refused.status_code, after) == (503, 200)
    assert refused.headers["content-security-policy"]
    assert refused.json()["error"]["message"] == "At most 1 requests may be answered at a time. Got one more."
