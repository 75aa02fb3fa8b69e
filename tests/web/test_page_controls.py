"""What the page can set beyond the simple flow: populations, places, blocks, settings of columns, private releases."""

import pytest
from web_servers import pretend, run, visiting

from shoal.errors import OptionError
from shoal.plan import Plan
from shoal.web.drafts import Draft

NAMES = ["age", "zip", "ill", "house"]
DOMAIN = {"columns": {"age": {"kind": "integer", "lower": 0, "upper": 100}}}


@pytest.fixture
def draft():
    return Draft(dict.fromkeys(NAMES, "quasi-identifier"))


def test_fields_about_groups_wait_while_a_release_is_private(draft):
    groups = draft.changed(
        [
            {"column": "ill", "role": "sensitive"},
            {"column": "house", "role": "unit"},
            {"column": "zip", "role": "dropped"},
        ],
        NAMES,
    ).with_fields({"k": 7, "l": 2, "method": "mdav"}, NAMES)
    private = groups.with_fields({"dp": "mondrian", "epsilon": 1, "domain": DOMAIN}, NAMES)
    wanted = Plan.of(dp="mondrian", epsilon=1, domain=DOMAIN, unit="house", drop=["zip"])
    assert private.plan() == wanted
    again = private.with_fields({"dp": None}, NAMES)
    assert again.plan() == groups.plan()
    assert again.with_fields({"dp": "mondrian"}, NAMES).plan() == wanted
    assert Draft.of(wanted, NAMES).plan() == wanted


def test_what_belongs_to_another_kind_of_release_is_refused_in_the_words_of_the_library(draft):
    with pytest.raises(OptionError, match="must come with dp"):
        draft.with_fields({"epsilon": 1}, NAMES)
    private = draft.with_fields({"dp": "mondrian", "epsilon": 1}, NAMES)
    with pytest.raises(OptionError, match="cannot be combined with dp"):
        private.with_fields({"k": 3}, NAMES)
    with pytest.raises(OptionError, match="'epsilon' of a plan must be given"):
        draft.with_fields({"dp": "mondrian"}, NAMES).plan()


def test_options_go_with_the_method_that_they_belong_to(draft):
    some = draft.with_fields({"method": "v-mdav", "options": {"gamma": 0.2}}, NAMES)
    assert some.with_fields({"method": "v-mdav"}, NAMES).plan().options == {"gamma": 0.2}
    assert not some.with_fields({"method": "mdav"}, NAMES).plan().options
    private = some.with_fields({"dp": "strongly-safe", "epsilon": 1, "delta": 0.001, "options": {"bins": 3}}, NAMES)
    assert private.plan().options == {"bins": 3}
    other = private.with_fields({"dp": "histogram"}, NAMES).plan()
    assert (dict(other.options), other.delta) == ({}, 0)


def test_a_population_waits_for_a_demand(draft):
    waiting = draft.with_fields({"population": "all.csv"}, NAMES)
    assert waiting.plan().population is None
    assert waiting.with_fields({"k_map": 5}, NAMES).plan().population == "all.csv"
    with pytest.raises(OptionError, match="must come with a population"):
        draft.with_fields({"presence": [0, 0.5]}, NAMES).plan()


def test_markers_for_all_columns_leave_those_of_one_alone(draft):
    one = draft.changed([{"column": "age", "missing_values": ["-1"]}], NAMES)
    both = one.with_fields({"missing_values": ["-9"]}, NAMES)
    assert both.plan().missing_values == {"age": ("-1",), "zip": ("-9",), "ill": ("-9",), "house": ("-9",)}
    assert both.with_fields({"missing_values": []}, NAMES).plan() == one.plan()
    assert not both.with_fields({"missing_values": None}, NAMES).plan().missing_values


def test_cells_count_for_a_strongly_safe_release_alone(draft):
    some = draft.changed([{"column": "age", "cell": 10}], NAMES)
    assert not some.plan().cells
    assert some.with_fields({"release": "strongly-safe"}, NAMES).plan().cells == {"age": 10}


def test_a_place_and_the_roles_of_its_columns_are_one_step(tmp_path, monkeypatch):
    pretend(monkeypatch)

    async def ask():
        async with visiting(tmp_path) as visit:
            table = await visit.read(await visit.post("/tables/demo", {}))
            where = f"/tables/{table['id']}"
            other = {"changes": [{"column": name, "role": "other"} for name in ("age", "income")]}
            before = await visit.ask("PATCH", f"{where}/columns", json=other, status=200)
            roles = [{"column": name, "role": "quasi-identifier"} for name in ("age", "income")]
            place = {"changes": roles, "fields": {"places": [["age", "income"]]}}
            after = await visit.ask("PATCH", f"{where}/columns", json=place, status=200)
            return before, after, await visit.post(f"{where}/undo", status=200)

    before, after, undone = run(ask())
    assert after["plan"]["places"] == [["age", "income"]]
    assert undone["plan"] == before["plan"]


def test_a_population_is_uploaded_and_named_as_its_owner_does(tmp_path, monkeypatch):
    ran = pretend(monkeypatch)

    async def ask():
        async with visiting(tmp_path, paths=False) as visit:
            table = await visit.read(await visit.post("/tables/demo", {}))
            where = f"/tables/{table['id']}"
            names = ["all%20people.csv", "all%20people.csv", "people.csv", "release.csv", "..%2f..%2fx.csv"]
            found = []
            for name in names:
                headers = {"x-shoal-name": name}
                sent = await visit.ask("POST", f"{where}/population/upload", headers=headers, content=b"age\n1\n")
                found.append(sent["fields"]["population"])
            await visit.ask("PATCH", f"{where}/plan", json={"fields": {"k_map": 3}}, status=200)
            for stranger in ("/etc/passwd", "../all people.csv", "none.csv"):
                fields = {"fields": {"population": stranger}}
                await visit.ask("PATCH", f"{where}/plan", json=fields, status=403)
            job = await visit.post("/jobs", {"kind": "check", "table": table["id"]}, status=202)
            await visit.ended(job)
            await visit.ask("POST", f"{where}/population/upload", headers={"x-shoal-name": "a.exe"}, status=422)
            left = [path.name for path in tmp_path.rglob("*") if path.is_file()]
            return found, ran[-1], left

    found, task, left = run(ask())
    assert found == ["all people.csv", "1-all people.csv", "1-people.csv", "table-release.csv", "x.csv"]
    assert task["plan"]["population"] == "x.csv"
    assert set(task["files"]) == set(found)
    assert sum(name.endswith(".csv") for name in left) == 5


def test_populations_of_this_machine_are_found_from_where_the_server_was_started(tmp_path, monkeypatch):
    pretend(monkeypatch)
    monkeypatch.chdir(tmp_path)

    async def ask():
        async with visiting(tmp_path) as visit:
            table = await visit.read(await visit.post("/tables/demo", {}))
            fields = {"fields": {"population": "all.csv", "k_map": 3}}
            return (await visit.ask("PATCH", f"/tables/{table['id']}/plan", json=fields, status=200))["plan"]

    assert run(ask())["population"] == str(tmp_path / "all.csv")


@pytest.mark.parametrize(
    "domain",
    [
        "/etc/passwd",
        {"columns": {"age": {"kind": "hierarchical", "hierarchy": "/etc/passwd"}}},
        {"columns": {"age": {"kind": "hierarchical", "hierarchy": "prefixes:/../../etc/passwd"}}},
    ],
)
def test_domains_name_no_files_of_the_server_for_those_who_may_not_open_them(tmp_path, monkeypatch, domain):
    pretend(monkeypatch)

    async def ask():
        async with visiting(tmp_path, paths=False) as visit:
            table = await visit.read(await visit.post("/tables/demo", {}))
            fields = {"dp": "mondrian", "epsilon": 1, "domain": domain}
            await visit.ask("PATCH", f"/tables/{table['id']}/plan", json={"fields": fields}, status=403)
            await visit.post("/jobs", {"kind": "run", "table": table["id"], "plan": fields}, status=403)

    run(ask())


def test_a_private_release_by_the_api_from_template_to_file(tmp_path):
    """With real workers: the template is filled in, refused before, and no assessment or map is offered."""

    async def flow():
        async with visiting(tmp_path) as visit:
            table = await visit.read(await visit.post("/tables/demo", {"rows": 300}, status=201))
            where = f"/tables/{table['id']}"
            found = await visit.get(f"{where}/domain")
            assert "person_id" not in found["domain"]["columns"]
            columns = {name: found["domain"]["columns"][name] for name in ("sex", "income")}
            fields = {"dp": "histogram", "epsilon": 1, "domain": {"columns": columns}}
            await visit.ask("PATCH", f"{where}/plan", json={"fields": fields}, status=200)
            refused = await visit.ended(await visit.post("/jobs", {"kind": "check", "table": table["id"]}, status=202))
            text = (
                "columns:\n  sex: {kind: nominal, values: [female, male], other: male, missing: male}\n"
                "  income: {kind: continuous, lower: 0, upper: 20000, step: 1000, missing: 0}\n"
            )
            await visit.post(f"{where}/domain", {"text": text}, status=200)
            await visit.post(f"{where}/domain", {"text": "columns: ["}, status=422)
            job = await visit.ended(await visit.post("/jobs", {"kind": "run", "table": table["id"]}, status=202))
            assert job["state"] == "done", job["error"]
            result = await visit.get(f"/jobs/{job['id']}/result")
            release = await visit.client.get(f"/api/v1/jobs/{job['id']}/files/release")
            await visit.post("/jobs", {"kind": "assess", "of": job["id"]}, status=409)
            await visit.post("/jobs", {"kind": "compare", "table": table["id"], "ks": [2]}, status=422)
            sides = await visit.post("/comparison", {"jobs": [job["id"]]}, status=200)
            listed = await visit.get("/jobs")
            return refused, job, result, release.text, sides, listed

    refused, job, result, release, sides, listed = run(flow())
    assert (refused["state"], len(refused["error"]["problems"])) == ("failed", 2)
    assert "filled in" in refused["error"]["problems"][0]["message"]
    assert job["name"] == "epsilon = 1, histogram"
    assert (result["epsilon"], result["private"]) == ("1", True)
    assert release.startswith("sex,income\n")
    assert sides["runs"][0]["epsilon"] == 1
    assert {one["kind"] for one in listed["jobs"]} == {"check", "run"}


@pytest.mark.parametrize(
    "fields", [{"engine": "stream"}, {"engine": "spark", "master": "spark://evil.example:7077"}, {"memory": "2GB"}]
)
def test_a_plan_sends_the_data_to_no_other_engine(tmp_path, monkeypatch, fields):
    """A master is an address: whoever may upload a table must not have the server connect to it."""
    ran = pretend(monkeypatch)

    async def ask():
        async with visiting(tmp_path) as visit:
            table = await visit.read(await visit.post("/tables/demo", {}))
            where = f"/tables/{table['id']}"
            refused = [
                await visit.ask("PATCH", f"{where}/plan", json={"fields": fields}, status=422),
                await visit.ask("PUT", f"{where}/plan", json={"plan": {"k": 3, **fields}}, status=422),
                *[
                    await visit.post("/jobs", {"kind": kind, "table": table["id"], "plan": fields, **more}, status=422)
                    for kind, more in (("run", {}), ("check", {}), ("compare", {"ks": [2]}))
                ],
            ]
            return [one["error"]["message"] for one in refused]

    words = run(ask())
    assert all("must" in one and "evil" not in one for one in words)
    assert {task["task"] for task in ran} == {"demo"}


def test_a_large_file_is_made_again_in_memory_too(tmp_path, monkeypatch):
    """The command chooses by the memory that is free then, if the plan does not say."""
    from shoal.engines import choice
    from shoal.web.tasks import runs
    from shoal.web.tasks.again import command_of

    assert runs.LARGE <= choice.LARGE
    (tmp_path / "people.csv").write_text("age\n1\n")
    monkeypatch.chdir(tmp_path)
    plan = Plan.of(k=3, random_state=1)
    assert "--engine" not in command_of(runs.job_for("people.csv", plan, {}, {}))
    monkeypatch.setattr(runs, "LARGE", 1)
    assert "--engine memory" in command_of(runs.job_for("people.csv", plan, {}, {}))


def test_a_map_is_of_the_method_and_the_form_that_were_chosen(tmp_path, monkeypatch):
    """A point of it becomes the plan: it must not change anything but k."""
    ran = pretend(monkeypatch)

    async def ask():
        async with visiting(tmp_path) as visit:
            table = await visit.read(await visit.post("/tables/demo", {}))
            fields = {"fields": {"method": "mdav", "release": "local-recoding"}}
            await visit.ask("PATCH", f"/tables/{table['id']}/plan", json=fields, status=200)
            for more in ({}, {"methods": ["auto", "v-mdav"]}):
                job = {"kind": "compare", "table": table["id"], "ks": [3], **more}
                await visit.ended(await visit.post("/jobs", job, status=202))

    run(ask())
    tried = [(task["methods"], task["forms"]) for task in ran if task["task"] == "compare"]
    assert tried == [(["mdav"], ["local-recoding"]), (["auto", "v-mdav"], ["local-recoding"])]
