"""Jobs of the page: queued, run, stopped, cancelled, killed, and kept apart."""

import asyncio
import hashlib
import json
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner
from web_servers import ANSWERS, pretend, run, visiting

from clocks import PATIENCE
from shoal.cli.app import app
from shoal.web.events import KEPT, Events
from shoal.web.processes import Killed, Worker


async def ready(visit):
    return await visit.read(await visit.post("/tables/demo", {"rows": 200}, status=201))


def test_fifty_jobs_wait_their_turn_and_none_is_lost(tmp_path, monkeypatch):
    pretend(monkeypatch)
    at_once = []

    async def many():
        async with visiting(tmp_path, at_once=3) as visit:
            table = await ready(visit)
            add = visit.desk.queue._begin

            def begin(work):
                at_once.append(len(visit.desk.queue.running))
                add(work)

            monkeypatch.setattr(visit.desk.queue, "_begin", begin)
            asked = {"kind": "run", "table": table["id"], "assess": False}
            jobs = await asyncio.gather(*(visit.post("/jobs", asked, status=202) for _ in range(50)))
            ended = [await visit.ended(job) for job in jobs]
            return [job["state"] for job in ended], len({job["id"] for job in jobs})

    states, different = run(many())
    assert states == ["done"] * 50
    assert different == 50
    assert max(at_once) == 3


def test_too_many_jobs_are_refused_and_users_take_turns(tmp_path, monkeypatch):
    pretend(monkeypatch, seconds=60)

    async def many():
        monkeypatch.setattr("shoal.web.jobs.MOST_WAITING", 5)
        async with visiting(tmp_path, users=2) as (first, second):
            tables = []
            for visit in (first, second):
                table = await visit.post("/tables/demo", {})
                user = next(one for one in visit.desk.users if table["id"] in one.tables)
                user.tables[table["id"]].ready(ANSWERS["inspect"](None))
                tables.append(table["id"])
            wanted = {"kind": "check", "table": tables[0]}
            jobs = [await first.post("/jobs", wanted, status=202) for _ in range(5)]
            await first.post("/jobs", wanted, status=429)
            other = await second.post("/jobs", {"kind": "check", "table": tables[1]}, status=202)
            await first.post(f"/jobs/{jobs[0]['id']}/cancel", status=200)
            await second.until(f"/jobs/{other['id']}", lambda one: one["state"] == "running")
            return (await first.get(f"/jobs/{jobs[1]['id']}"))["state"]

    assert run(many()) == "queued"


def test_nobody_sees_or_stops_the_job_of_another(tmp_path, monkeypatch):
    pretend(monkeypatch)

    async def ask():
        async with visiting(tmp_path, users=2) as (mine, other):
            table = await ready(mine)
            job = await mine.ended(await mine.post("/jobs", {"kind": "run", "table": table["id"], "assess": False}))
            refused = []
            for method, path in [
                ("GET", f"/tables/{table['id']}"),
                ("DELETE", f"/tables/{table['id']}"),
                ("GET", f"/jobs/{job['id']}"),
                ("GET", f"/jobs/{job['id']}/result"),
                ("GET", f"/jobs/{job['id']}/files/release"),
                ("POST", f"/jobs/{job['id']}/cancel"),
                ("POST", f"/jobs/{job['id']}/stop"),
                ("DELETE", f"/jobs/{job['id']}"),
                ("GET", f"/tables/{table['id']}/domain"),
                ("GET", f"/tables/{table['id']}/hierarchy?position=0"),
                ("POST", f"/tables/{table['id']}/undo"),
                ("POST", f"/tables/{table['id']}/redo"),
            ]:
                refused.append((await other.client.request(method, f"/api/v1{path}")).status_code)
            bodies = ({"kind": "check", "table": table["id"]}, {"kind": "assess", "of": job["id"]})
            refused += [(await other.client.post("/api/v1/jobs", json=body)).status_code for body in bodies]
            changes = [
                ("PATCH", "reading", {"delimiter": ";"}),
                ("PATCH", "columns", {"changes": [{"column": "age", "role": "other"}]}),
                ("PATCH", "plan", {"fields": {"k": 3}}),
                ("PUT", "plan", {"plan": {"k": 3}}),
                ("POST", "domain", {"text": "columns: {}"}),
                ("POST", "hierarchy", {"column": "age", "hierarchy": "prefixes"}),
            ]
            for method, what, body in changes:
                where = f"/api/v1/tables/{table['id']}/{what}"
                refused.append((await other.client.request(method, where, json=body)).status_code)
            for what in ("population", "hierarchy"):
                where, headers = f"/api/v1/tables/{table['id']}/{what}/upload", {"x-shoal-name": "a.csv"}
                headers |= {"x-shoal-column": "age"}
                refused.append((await other.client.post(where, headers=headers, content=b"a")).status_code)
            refused.append((await other.client.post("/api/v1/comparison", json={"jobs": [job["id"]]})).status_code)
            assert (await mine.get(f"/tables/{table['id']}"))["can_undo"] is False
            state = await other.get("/state")
            allowed = await mine.client.get(f"/api/v1/jobs/{job['id']}/files/release")
            traversed = await mine.client.get(f"/api/v1/jobs/{job['id']}/files/..%2Fresult.json")
            return refused, state, allowed.status_code, traversed.status_code

    refused, state, allowed, traversed = run(ask())
    assert set(refused) == {404}
    assert state["tables"] == state["jobs"] == []
    assert state["last_event"] == 0
    assert allowed == 200
    assert traversed == 404


def test_events_resume_where_they_broke_off():
    events = Events()

    async def listen(after):
        heard = []
        async for text in events.stream(after, beat=0.01):
            heard.append(text)
            if "beat" in text:
                return heard
        return heard

    async def hear():
        for at in range(5):
            events.add("job", {"id": f"j{at % 2}", "at": at})
        events.add("gone", {"job": "j1"})
        whole, rest = await listen(0), await listen(5)
        for _ in range(KEPT):
            events.add("job", {"id": "j0"})
        late, wrong = events.after(0), events.after(10**6)
        events.close("over")
        return whole, rest, late, wrong, await listen(events.last - 1)

    whole, rest, late, wrong, last = run(hear())
    # Only the latest of each job.
    assert [text.splitlines()[0] for text in whole[1:-1]] == ["id: 4", "id: 5", "id: 6"]
    assert [text.splitlines()[0] for text in rest[1:-1]] == ["id: 6"]
    assert json.loads(whole[2].splitlines()[2].removeprefix("data: ")) == {"id": "j0", "at": 4}
    assert [event.kind for event in late] == [event.kind for event in wrong] == ["reset"]
    assert "event: ending" in last[-1]


# --- with real workers ---


def sha256(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_the_whole_flow_and_the_command_that_repeats_it(tmp_path, monkeypatch):
    """A file is uploaded, looked at and released; the offered command gives the same bytes."""
    (tmp_path / "server").mkdir()
    again = tmp_path / "again"
    again.mkdir()
    rows = [
        f"{i},{18 + i * 7 % 60},{1000 + i * 37 % 900},{'abc'[i % 3]},{'yes' if i % 4 else 'no'}" for i in range(120)
    ]
    content = "id;age;pay;sort;ill\n" + "\n".join(rows).replace(",", ";") + "\n"
    (again / "my people.csv").write_text(content)

    async def flow():
        async with visiting(tmp_path / "server") as visit:
            headers = {"x-shoal-name": "my%20people.csv"}
            table = await visit.ask("POST", "/tables/upload", headers=headers, content=content.encode(), status=201)
            table = await visit.read(table)
            roles = {column["name"]: column["role"] for column in table["columns_list"]}
            changes = {"changes": [{"column": "ill", "role": "sensitive"}, {"column": "pay", "rounding": 10}]}
            where = f"/tables/{table['id']}"
            await visit.ask("PATCH", f"{where}/columns", json=changes, status=200)
            await visit.ask("PATCH", f"{where}/plan", json={"fields": {"k": 4, "method": "mdav"}}, status=200)
            asked = {"kind": "run", "table": table["id"], "escape_formulas": True, "assess": False}
            job = await visit.ended(await visit.post("/jobs", asked, status=202))
            assert job["state"] == "done", job["error"]
            result = await visit.get(f"/jobs/{job['id']}/result")
            files = {}
            for file in result["files"]:
                answer = await visit.client.get(f"/api/v1/jobs/{job['id']}/files/{file['name']}")
                assert hashlib.sha256(answer.content).hexdigest() == file["sha256"]
                files[file["name"]] = answer
            shown = await visit.client.get(f"/api/v1/jobs/{job['id']}/files/report?inline=1")
            sides = await visit.post("/comparison", {"jobs": [job["id"]]}, status=200)
            return roles, job, result, files, shown, sides

    roles, job, result, files, shown, sides = run(flow())
    assert roles["id"] == "identifier"
    assert job["summary"]["k"] >= 4
    assert result["k"]["wanted"] == 4
    assert result["risk"] <= 0.25
    assert all(point[2] >= 4 for point in result["axes"]["points"])
    assert {column["name"] for column in result["columns"]} == {"age", "pay", "sort"}
    assert str(tmp_path) not in json.dumps(result) + files["record"].text + files["job_file"].text
    assert shown.headers["content-disposition"].startswith("inline")
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    assert files["release"].headers["content-disposition"].startswith("attachment")
    assert sides["runs"][0]["loss"] == result["loss"]
    assert result["verdict"]["head"] in files["report"].text
    assert sides["differences"] == []
    # The command, in a folder with the file.
    words = shlex.split(result["again"]["command"])
    assert result["again"]["exact"]
    assert words[:3] == ["shoal", "anonymize", "my people.csv"]
    wanted = next(file["sha256"] for file in result["files"] if file["name"] == "release")
    monkeypatch.chdir(again)
    assert CliRunner().invoke(app, words[1:]).exit_code == 0
    assert sha256(words[words.index("-o") + 1]) == wanted
    # Python, and the job file.
    for name in ("release.csv", "release.csv.manifest.json", "release.csv.record.json", "report.html"):
        Path(name).unlink()
    exec(files["python"].text, {})
    assert sha256("release.csv") == wanted
    Path("job.yaml").write_text(files["job_file"].text)
    assert CliRunner().invoke(app, ["anonymize", "--job", "job.yaml", "--force"]).exit_code == 0
    assert sha256("release.csv") == wanted


@pytest.mark.long  # the browser does it too
def test_a_search_is_stopped_with_what_it_has_or_cancelled_at_once(tmp_path):
    async def flow():
        async with visiting(tmp_path) as visit:
            table = await ready(visit)
            plan = {**table["plan"], "method": "anytime", "time_limit": 200.0, "bound": "none", "n_jobs": 1}
            asked = {"kind": "run", "table": table["id"], "plan": plan, "assess": False}
            job = await visit.post("/jobs", asked, status=202)
            waiting = await visit.post("/jobs", asked, status=202)
            assert (waiting["state"], waiting["position"]) == ("queued", 1)
            await visit.post(f"/jobs/{waiting['id']}/stop", status=409)
            searching = await visit.until(f"/jobs/{job['id']}", lambda one: one["searching"])
            await visit.post(f"/jobs/{job['id']}/stop", status=202)
            done = await visit.ended(job)
            result = await visit.get(f"/jobs/{job['id']}/result")
            await visit.until(f"/jobs/{waiting['id']}", lambda one: one["searching"])
            user = next(iter(visit.desk.users))
            process = user.jobs[waiting["id"]].worker._process
            cancelled = await visit.post(f"/jobs/{waiting['id']}/cancel", status=200)
            await asyncio.wait_for(process.wait(), PATIENCE)
            left = user.jobs[waiting["id"]].folder.exists()
            return searching, done, result, cancelled, process.returncode, left

    searching, done, result, cancelled, code, left = run(flow())
    assert 0 < searching["loss"] < 1
    assert done["state"] == "done"
    assert done["stopped_early"]
    assert done["summary"]["k"] >= 5
    assert not result["again"]["exact"]
    assert "by hand" in result["again"]["why"]
    assert (cancelled["state"], code, left) == ("cancelled", -9, False)


@pytest.mark.parametrize(("memory", "seconds", "words"), [(1, 60.0, "memory"), (10**12, 0.0, "seconds")])
def test_a_worker_beyond_a_limit_is_killed(tmp_path, memory, seconds, words):
    async def work():
        worker = Worker({"task": "catalogue"}, tmp_path, memory, seconds)
        with pytest.raises(Killed, match=words):
            await worker.run(lambda said: None)
        return worker._process.returncode

    assert run(work()) == -9


def test_a_broken_file_is_told_in_one_sentence(tmp_path):
    async def flow():
        async with visiting(tmp_path) as visit:
            headers = {"x-shoal-name": "a.parquet"}
            table = await visit.ask("POST", "/tables/upload", headers=headers, content=b"PAR1nothing", status=201)
            table = await visit.read(table)
            refused = await visit.post("/jobs", {"kind": "check", "table": table["id"]})
            good = await ready(visit)
            headers = {"x-shoal-name": "h.json", "x-shoal-column": "region"}
            where = f"/tables/{good['id']}/hierarchy/upload"
            tree = await visit.ask("POST", where, headers=headers, content=b"{", status=422)
            return table, refused, tree

    table, refused, tree = run(flow())
    assert table["state"] == "failed"
    assert "must" in table["error"]["message"]
    assert "file a.parquet" in table["error"]["message"]  # by its name, not by where the server keeps it
    assert str(tmp_path) not in json.dumps([table, tree])
    assert "nothing" not in table["error"]["message"].lower().replace("nothing was", "")
    assert "must have been read" in refused["error"]["message"]


@pytest.mark.long
def test_fifty_real_jobs_come_to_their_end(tmp_path):
    async def many():
        async with visiting(tmp_path, at_once=2) as visit:
            table = await ready(visit)
            plan = {**table["plan"], "method": "mdav", "bound": "none", "n_jobs": 1}
            asked = {"kind": "run", "table": table["id"], "plan": plan, "assess": False}
            jobs = [await visit.post("/jobs", asked, status=202) for _ in range(50)]
            ended = [await visit.ended(job) for job in jobs]
            results = [await visit.get(f"/jobs/{job['id']}/result") for job in jobs]
            shas = {file["sha256"] for one in results for file in one["files"] if file["name"] == "release"}
            return {job["state"] for job in ended}, shas

    states, shas = run(many())
    assert states == {"done"}
    assert len(shas) == 1
