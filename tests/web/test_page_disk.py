"""The space on the disk: limits for each user and for all, told in words, and nothing left of what is refused."""

import asyncio

import pytest
from web_servers import pretend, run, visiting

from shoal.web.disk import taken
from shoal.web.faults import Fault
from shoal.web.processes import Killed, Worker

NAME = {"x-shoal-name": "a.csv"}


async def send(visit, size):
    answer = await visit.client.post("/api/v1/tables/upload", headers=NAME, content=b"x" * size)
    return answer.status_code, answer.json().get("error", {})


def test_a_user_has_so_much_and_gets_it_back_by_closing_tables(tmp_path, monkeypatch):
    pretend(monkeypatch)

    async def ask():
        async with visiting(tmp_path, users=2, disk_bytes=10_000) as (mine, other):
            first, second = await send(mine, 6_000), await send(mine, 6_000)
            tables = (await mine.get("/state"))["tables"]
            of_other = await send(other, 6_000)
            await mine.ask("DELETE", f"/tables/{tables[0]['id']}", status=204)
            return first, second, [one["name"] for one in tables], of_other, await send(mine, 6_000), taken(tmp_path)

    first, second, names, of_other, again, left = run(ask())
    assert [status for status, _ in (first, second, of_other, again)] == [201, 507, 201, 201]
    assert second[1]["message"].startswith("Your tables and results may take at most 0.00954 MB of the disk. Got more.")
    assert "--disk" in second[1]["hint"]
    assert names == ["a.csv"]
    assert left == 12_000


def test_all_together_have_so_much(tmp_path, monkeypatch):
    pretend(monkeypatch)

    async def ask():
        async with visiting(tmp_path, users=2, disk_total_bytes=10_000) as (mine, other):
            return await send(mine, 6_000), await send(other, 6_000), await send(other, 3_000)

    first, second, third = run(ask())
    assert [status for status, _ in (first, second, third)] == [201, 507, 201]
    assert "everybody" in second[1]["message"]


def test_uploads_at_the_same_time_add_up(tmp_path, monkeypatch):
    """Each alone would fit; a look at the space while they arrive, and at their end, finds that both do not."""
    pretend(monkeypatch)

    async def slowly(gate):
        yield b"x" * 4_000
        await gate.wait()
        yield b"x" * 2_000

    async def ask():
        async with visiting(tmp_path, disk_bytes=10_000) as visit:
            gate = asyncio.Event()
            sent = [visit.client.post("/api/v1/tables/upload", headers=NAME, content=slowly(gate)) for _ in range(2)]
            waiting = asyncio.gather(*sent)
            await asyncio.sleep(0)
            gate.set()
            return sorted(answer.status_code for answer in await waiting), taken(tmp_path)

    statuses, left = run(ask())
    assert statuses in ([201, 507], [507, 507])
    assert left in (6_000, 0)


def test_nothing_new_begins_beyond_the_limit(tmp_path, monkeypatch):
    pretend(monkeypatch)

    async def ask():
        async with visiting(tmp_path, disk_bytes=10_000) as visit:
            table = await visit.read(await visit.post("/tables/demo", {}))
            (next(iter(visit.desk.users)).folder / "grown").write_bytes(b"x" * 11_000)
            job = await visit.post("/jobs", {"kind": "run", "table": table["id"]}, status=507)
            demo = await visit.post("/tables/demo", {}, status=507)
            return job, demo

    job, demo = run(ask())
    assert "remove runs" in job["error"]["hint"]
    assert job == demo


def test_a_worker_that_fills_the_disk_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.web.processes.SELDOM", 1)
    monkeypatch.setattr("shoal.web.processes.LOOK", 0.01)

    async def work():
        full = Fault(507, "Your tables and results may take at most 1 MB of the disk. Got more.", "close tables.")
        worker = Worker({"task": "catalogue"}, tmp_path, 10**12, 10**6, lambda: full)
        with pytest.raises(Killed, match=r"Got more; the job was ended\. Hint: close tables\."):
            await worker.run(lambda said: None)
        return worker._process.returncode

    assert run(work()) == -9


def test_links_and_what_is_gone_take_nothing(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "file").write_bytes(b"x" * 100)
    (tmp_path / "link").symlink_to(tmp_path / "one" / "file")
    (tmp_path / "round").symlink_to(tmp_path)
    assert taken(tmp_path) == 100
    assert taken(tmp_path / "gone") == 0
