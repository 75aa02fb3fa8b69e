"""Tables of the page: uploads, names, drafts of plans, and what is found in a table."""

import asyncio
import gzip
import io
import json
import os
import sqlite3
import stat
import zipfile

import pyarrow as pa
import pytest
from web_servers import ANSWERS, pretend, run, visiting

from shoal.errors import DataError, OptionError, ShoalError
from shoal.io import sql
from shoal.plan import Plan
from shoal.tables import schema
from shoal.web import drafts, uploads
from shoal.web.drafts import Draft
from shoal.web.folders import file_name, label_of
from shoal.web.tasks import inspection, sources, trees
from shoal.web.worker import Line

CSV = b"age,ill\n" + b"".join(b"%d,%s\n" % (20 + i % 9, b"yes" if i % 3 else b"no") for i in range(60))


class Unheard(Line):
    def __init__(self):
        super().__init__(io.StringIO())


# --- uploads ---


def uploaded(folder, *requests, limit=10_000):
    """Return status and error of uploads, each (headers, body), and the files that are left."""

    async def ask():
        async with visiting(folder, upload_bytes=limit) as visit:
            answers = []
            for headers, body in requests:
                answer = await visit.client.post("/api/v1/tables/upload", headers=headers, content=body)
                answers.append((answer.status_code, answer.json()))
            state = await visit.get("/state")
            left = [path for path in folder.rglob("*") if path.is_file()]
            modes = {stat.S_IMODE(os.stat(path).st_mode) for path in left}
            return answers, [one["name"] for one in state["tables"]], left, modes

    return run(ask())


def test_uploads_are_counted_whatever_they_claim(tmp_path, monkeypatch):
    pretend(monkeypatch)

    async def many():
        for _ in range(50):
            yield b"a,b\n" * 100

    name = {"x-shoal-name": "a.csv"}
    requests = [
        ({**name, "content-length": "20000"}, b"x" * 20_000),
        ({**name, "content-length": "5"}, b"x" * 20_000),  # false
        (name, many()),  # without a length
        ({**name, "content-length": "7"}, b""),
        (name, b"x" * 10_000),
    ]
    answers, names, left, modes = uploaded(tmp_path, *requests)
    assert [status for status, _ in answers] == [413, 413, 413, 422, 201]
    assert names == ["a.csv"]
    assert len(left) == 1
    assert modes == {0o600}


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd.csv", "..%2f..%2fa.csv", "%2Fetc%2Fa.csv", "C:%5Ca.csv", "-rf.csv", ".a.csv", "a%20b;$(x).csv"],
)
def test_names_are_labels_and_never_paths(tmp_path, monkeypatch, name):
    pretend(monkeypatch)
    answers, names, left, _ = uploaded(tmp_path, ({"x-shoal-name": name}, CSV))
    assert answers[0][0] == 201
    assert "/" not in names[0]
    assert "\\" not in names[0]
    assert len(left) == 1
    assert tmp_path in left[0].resolve().parents
    assert left[0].name == file_name(label_of(name))
    assert left[0].name[0] not in ".-"


@pytest.mark.parametrize("name", ["", "..", "a.exe", "%ff.csv", "a%00.csv", "a%0a.csv", "x" * 300 + ".csv", "csv"])
def test_names_that_cannot_be_are_refused(tmp_path, name):
    answers, names, left, _ = uploaded(tmp_path, ({"x-shoal-name": name}, CSV))
    assert answers[0][0] == 422
    assert not names
    assert not left


@pytest.mark.parametrize("name", ["notes.pdf", "people", "people.csv.exe"])
def test_a_file_of_an_unknown_kind_is_refused_in_words_of_the_page(name):
    with pytest.raises(ShoalError, match="suffix") as refused:
        file_name(name)
    assert ".xlsx" in refused.value.hint
    assert "pass " not in str(refused.value)  # as a program would


def test_a_client_that_goes_away_leaves_nothing(tmp_path):
    from starlette.requests import Request

    parts = iter([{"type": "http.request", "body": b"a,b\n", "more_body": True}, {"type": "http.disconnect"}])

    async def receive():
        return next(parts)

    async def ask():
        request = Request({"type": "http", "headers": [], "method": "POST", "path": "/"}, receive)
        await uploads.receive(request, tmp_path / "a.csv", 100)

    with pytest.raises(ShoalError, match="broken off"):
        run(ask())
    assert not list(tmp_path.iterdir())


def test_a_client_that_falls_silent_leaves_nothing(tmp_path, monkeypatch):
    from starlette.requests import Request

    monkeypatch.setattr(uploads, "SILENCE", 0.01)

    async def receive():
        await asyncio.sleep(60)

    async def ask():
        request = Request({"type": "http", "headers": [], "method": "POST", "path": "/"}, receive)
        await uploads.receive(request, tmp_path / "a.csv", 100)

    with pytest.raises(ShoalError, match="pause"):
        run(ask())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("pace", "words"), [(40, "bytes a second"), (1e6, None)])
def test_a_client_that_sends_a_byte_now_and_then_is_sent_away(tmp_path, pace, words):
    """It is never silent for long, and would hold its place for ever; one on a slow line is let be."""
    from starlette.requests import Request

    now, parts = [0.0], [b"x" * 1000] * 200

    async def receive():
        now[0] += 1000 / pace
        body = parts.pop()
        return {"type": "http.request", "body": body, "more_body": bool(parts)}

    async def ask():
        request = Request({"type": "http", "headers": [], "method": "POST", "path": "/"}, receive)
        return await uploads.receive(request, tmp_path / "a.csv", 10**6, clock=lambda: now[0])

    if words is None:
        assert run(ask()) == 200_000
        return
    with pytest.raises(ShoalError, match=words):
        run(ask())
    assert not list(tmp_path.iterdir())
    assert len(parts) > 190


def test_bombs_are_refused_before_they_are_unpacked(tmp_path):
    packed = tmp_path / "a.csv.gz"
    with gzip.open(packed, "wb") as file:
        file.write(b"0" * 3_000_000)
    book = tmp_path / "a.xlsx"
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/worksheets/sheet1.xml", b"0" * 3_000_000)
    for path in (packed, book):
        assert path.stat().st_size < 10_000
        with pytest.raises(DataError, match="unpacked"):
            inspection.inspect(Unheard(), str(path), {}, 2_000_000)
        sources.refuse_bomb(str(path), None, 4_000_000)


# --- what is found ---


def test_a_table_that_cannot_be_read_has_the_format_of_its_name(tmp_path, monkeypatch):
    """So that the page asks for the delimiter of a text, and not for the sheet of a workbook."""
    from shoal.web.tables import Table

    failed = Table("t1", "a.csv", "upload", str(tmp_path / "a.csv"), tmp_path, {})
    failed.failed(DataError("It must be. Got not."))
    assert failed.summary()["format"] == "csv"
    odd = Table("t2", "a", "path", str(tmp_path / "a.odd"), tmp_path, {})
    assert odd.summary()["format"] is None


def test_pictures_say_where_values_end(tmp_path):
    """The last bar of whole numbers may reach beyond them."""

    table = pa.table({"age": [20 + i % 30 for i in range(60)], "answer": [i % 7 for i in range(60)]})
    ends = [inspection._column(table, name, text=False, decimal=".")["picture"]["ends"] for name in table.column_names]
    assert ends == [[20, 49], [0, 6]]


@pytest.mark.parametrize(("rows", "publishes"), [(100, "mean"), (4000, "median")])
def test_what_groups_publish_is_told_as_it_will_be(rows, publishes):
    """Few different whole numbers are published as they occur, which is not the default of their type."""
    table = pa.table({"age": [str(20 + i % 40) for i in range(rows)]})
    assert inspection._column(table, "age", text=True, decimal=".")["publishes"] == publishes


def test_columns_are_told_with_reasons_and_pictures(tmp_path):
    script = "<script>alert(1)</script>"
    rows = [f"{i:03d}-x,{20 + i % 40},{'a' if i % 4 else script},2020-01-{1 + i % 28:02d}," for i in range(100)]
    path = tmp_path / "a.csv"
    path.write_text(f'name,age,{script},"day",empty\n' + "\n".join(rows) + "\n")
    found = inspection.inspect(Unheard(), str(path), {}, 10**9)
    name, age, odd, day, empty = found["columns"]
    assert found["rows"] == 100
    assert (name["role"], name["looks_like_identifier"], name["picture"]["shape"]) == ("identifier", True, "none")
    assert "100 %" in name["role_why"]
    assert "identifier" in name["role_why"]
    assert (age["role"], age["type"]) == ("quasi-identifier", "integer")
    assert sum(age["picture"]["counts"]) == 100
    assert (age["publishes"], odd["publishes"]) == ("mean", "mode")
    assert len(age["picture"]["edges"]) == len(age["picture"]["counts"]) + 1
    assert odd["name"] == script
    assert odd["picture"]["labels"] == ["a", script]
    assert odd["picture"]["counts"] == [75, 25]
    assert odd["values"] == [script, "a"]
    assert day["type"] == "date"
    assert day["picture"]["dates"]
    assert empty["role"] == "dropped"
    json.dumps(found, allow_nan=False)


def test_a_table_without_rows_is_refused_when_it_is_opened(tmp_path):
    path = tmp_path / "heading.csv"
    path.write_text("age,income\n")
    with pytest.raises(DataError, match="must have a row to be anonymised"):
        inspection.inspect(Unheard(), str(path), {}, 10**9)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:s3cret@host:5432/survey",
        "PostgreSQL://me:s3cret@host:5432/survey",
        "postgresql://host:5432/survey?user=me&password=s3cret",
        "mysql://host:5432/survey?password=s3cret",
    ],
)
def test_no_password_of_an_address_is_shown(tmp_path, monkeypatch, address):
    pretend(monkeypatch)

    async def opened():
        async with visiting(tmp_path) as visit:
            table = await visit.post("/tables/open", {"path": address}, status=201)
            return json.dumps([table, await visit.read(table), await visit.get("/state")])

    shown = run(opened())
    assert "host:5432/survey" in shown
    assert "s3cret" not in shown
    assert "s3cret" not in sql.named(address) or address.startswith("mysql")  # not an address of a server


def test_a_setting_of_a_column_does_not_make_its_role_one_that_was_said(tmp_path, monkeypatch):
    pretend(monkeypatch)

    async def changed():
        async with visiting(tmp_path) as visit:
            table = await visit.post("/tables/demo", {})
            await visit.read(table)
            where = f"/tables/{table['id']}/columns"
            body = {"changes": [{"column": "age", "importance": 2}, {"column": "ill", "role": "sensitive"}]}
            told = await visit.ask("PATCH", where, json=body, status=200)
            return {one["name"]: one["role_inferred"] for one in told["columns_list"]}

    assert run(changed()) == {"age": True, "income": True, "ill": False}


def test_of_several_tables_one_is_chosen(tmp_path):
    path = tmp_path / "a.db"
    with sqlite3.connect(path) as database:
        for table in ("people", "visits"):
            database.execute(f"CREATE TABLE {table} (age INTEGER)")
            database.executemany(f"INSERT INTO {table} VALUES (?)", [(i,) for i in range(20)])
    database.close()
    asked = inspection.inspect(Unheard(), str(path), {}, 10**9)
    assert (asked["parts"], asked["part_key"]) == (["people", "visits"], "table")
    assert "columns" not in asked
    assert inspection.inspect(Unheard(), str(path), {"table": "visits"}, 10**9)["rows"] == 20


def test_of_a_database_of_the_server_nothing_is_read_but_what_is_offered(tmp_path, monkeypatch):
    """Its account may read more than was meant, and call functions that reach files and other hosts."""
    pretend(monkeypatch)
    monkeypatch.setitem(ANSWERS, "inspect", lambda task: {"parts": ["people", "visits"], "part_key": "table"})

    async def ask():
        source = str(tmp_path / "survey.sqlite")
        async with visiting(tmp_path, paths=False, source=source) as visit:
            (table,) = (await visit.get("/state"))["tables"]
            where = f"/tables/{table['id']}/reading"
            assert (await visit.read(table))["state"] == "choose"
            for reading in ({"query": "select readfile('/etc/passwd')"}, {"table": "pg_catalog.pg_authid"}):
                await visit.ask("PATCH", where, json=reading, status=403)
            await visit.ask("PATCH", where, json={"table": "visits"}, status=200)
            own = await visit.ask(
                "POST", "/tables/upload", headers={"x-shoal-name": "own.sqlite"}, content=b"1", status=201
            )
            await visit.read(own)
            await visit.ask("PATCH", f"/tables/{own['id']}/reading", json={"query": "select 1"}, status=200)

    run(ask())


def test_trees_have_all_records_at_their_root(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("zip,age\n" + "".join(f"{z},{i}\n" for i, z in enumerate(["120", "121", "130", "220"] * 5)))
    tree = trees.tree(Unheard(), str(path), {}, "zip", "prefixes:2,1")
    assert tree["nodes"][0] == {"label": "*", "parent": -1, "children": 2, "records": 20}
    assert all(node["parent"] < at for at, node in enumerate(tree["nodes"]))
    leaves = [node for node in tree["nodes"] if not node["children"]]
    assert sum(node["records"] for node in leaves) == 20
    assert {node["label"] for node in leaves} >= {"120", "220"}
    file = tmp_path / "h.csv"
    file.write_text("120,low,*\n121,low,*\n130,low,*\n220,high,*\n")
    loaded = trees.load_tree(Unheard(), str(path), {}, "zip", str(file))
    assert [node["records"] for node in loaded["tree"]["nodes"][:3]] == [20, 15, 5]
    assert Plan.of(hierarchies={"zip": loaded["hierarchy"]})
    file.write_text("120,low,*\n")
    with pytest.raises(DataError, match="must be in its hierarchy"):
        trees.load_tree(Unheard(), str(path), {}, "zip", str(file))


# --- drafts ---

NAMES = ["age", "zip", "ill", "house"]


def test_a_draft_makes_the_plan_that_was_clicked_together():
    draft = Draft(dict.fromkeys(NAMES, "quasi-identifier"))
    draft = draft.changed(
        [
            {"column": "ill", "role": "sensitive", "models": ["entropy-diversity l=2"]},
            {"column": "house", "role": "unit"},
            {"column": "zip", "hierarchy": {"prefixes": [2]}, "importance": 2},
            {"column": "age", "top": 90, "missing_values": ["-9"]},
        ],
        NAMES,
    ).with_fields({"k": 3, "missing": "value"}, NAMES)
    plan = Plan.of(
        k=3,
        quasi_identifiers=["age", "zip"],
        sensitive_attributes=["ill"],
        unit="house",
        models={"ill": "entropy-diversity l=2"},
        hierarchies={"zip": {"prefixes": [2]}},
        importance={"zip": 2},
        top_coding={"age": 90},
        missing_values={"age": ["-9"]},
    )
    assert draft.plan().job() == plan.job()
    assert Draft.of(plan, NAMES).plan().job() == plan.job()


def test_settings_wait_while_a_column_has_another_role():
    draft = Draft(dict.fromkeys(NAMES, "quasi-identifier")).changed([{"column": "zip", "hierarchy": "prefixes"}], NAMES)
    dropped = draft.changed([{"column": "zip", "role": "dropped"}], NAMES)
    assert not dropped.plan().hierarchies
    assert dropped.plan().drop == ("zip",)
    assert dropped.changed([{"column": "zip", "role": "quasi-identifier"}], NAMES).plan() == draft.plan()
    two = draft.changed([{"column": name, "role": "unit"} for name in ("zip", "house")], NAMES)
    assert two.plan().unit == "house"
    assert "zip" not in two.roles


def test_drafts_refuse_what_the_library_refuses():
    draft = Draft(dict.fromkeys(NAMES, "quasi-identifier"))
    with pytest.raises(OptionError, match="at least 2"):
        draft.with_fields({"k": 1}, NAMES).plan()
    with pytest.raises(OptionError, match="unknown"):
        draft.with_fields({"kk": 1}, NAMES)
    with pytest.raises(OptionError, match="one of the table"):
        draft.changed([{"column": "aeg", "role": "other"}], NAMES)


def test_the_words_for_settings_are_those_of_the_library():
    assert {drafts.SETTINGS[name] for name in drafts.OF_VALUES} == set(schema.OF_VALUES)
    assert set(drafts.SETTINGS.values()) <= set(Plan.model_fields)
    fields = {name for names in drafts.ROLES.values() for name in names}
    assert fields <= set(Plan.model_fields)


def test_every_choice_can_be_undone(tmp_path, monkeypatch):
    pretend(monkeypatch)

    async def undo():
        async with visiting(tmp_path) as visit:
            table = await visit.read(await visit.post("/tables/demo", {}))
            where = f"/tables/{table['id']}"
            plans = [table["plan"]]
            changes = {"changes": [{"column": "ill", "role": "sensitive"}, {"column": "age", "type": "ordinal"}]}
            plans.append((await visit.ask("PATCH", f"{where}/columns", json=changes, status=200))["plan"])
            plans.append((await visit.ask("PATCH", f"{where}/plan", json={"fields": {"l": 2}}, status=200))["plan"])
            refused = await visit.ask("PATCH", f"{where}/plan", json={"fields": {"k": 1}}, status=422)
            plans.append((await visit.ask("PUT", f"{where}/plan", json={"plan": {"k": 7}}, status=200))["plan"])
            back = [(await visit.post(f"{where}/undo", status=200))["plan"] for _ in range(3)]
            await visit.post(f"{where}/undo", status=409)
            forth = [(await visit.post(f"{where}/redo", status=200))["plan"] for _ in range(3)]
            await visit.post(f"{where}/redo", status=409)
            return plans, back, forth, refused

    plans, back, forth, refused = run(undo())
    assert back == plans[-2::-1]
    assert forth == plans[1:]
    assert len({json.dumps(plan) for plan in plans}) == 4
    assert refused["error"]["kind"] == "OptionError"
    assert "k" in refused["error"]["message"]


def test_plans_name_no_files_of_the_server_for_those_who_may_not_open_them(tmp_path, monkeypatch):
    pretend(monkeypatch)

    async def ask():
        async with visiting(tmp_path, paths=False) as visit:
            table = await visit.read(await visit.post("/tables/demo", {}))
            where = f"/tables/{table['id']}"
            file = {"changes": [{"column": "age", "hierarchy": "/etc/passwd"}]}
            await visit.ask("PATCH", f"{where}/columns", json=file, status=403)
            await visit.ask(
                "PUT", f"{where}/plan", json={"plan": {"population": "/etc/passwd", "k_map": 3}}, status=403
            )
            plan = {"kind": "check", "table": table["id"], "plan": {"hierarchies": {"age": "/etc/passwd"}}}
            await visit.post("/jobs", plan, status=403)
            await visit.post(f"{where}/hierarchy", {"column": "age", "hierarchy": "/etc/passwd"}, status=403)
            built = {"changes": [{"column": "age", "hierarchy": "widths:5,10"}]}
            await visit.ask("PATCH", f"{where}/columns", json=built, status=200)

    run(ask())


@pytest.mark.parametrize(
    "body",
    [
        '{"fields": {"options": {"a": NaN}}}',
        '{"fields": {"levels": {"age": [Infinity]}}}',
        '{"fields": {"l": 1' + "0" * 400 + ', "sensitive_attributes": ["ill"], "quasi_identifiers": ["age"]}}',
        '{"fields": {"method": "\\ud800"}}',
        '{"fields": {"hierarchies": {"age": ' + "[" * 3000 + '"a"' + "]" * 3000 + "}}}",
        '{"fields": {"hierarchies": {"age": ' + "[" * 300 + '"a"' + "]" * 300 + "}}}",
        '{"fields": {"k": "Mallory"}}',
        '{"fields": {"\\ud800": 1}}',
        "[]",
        "null",
        '"\\ud800"',
    ],
)
def test_odd_values_are_refused_or_kept_but_break_nothing(tmp_path, monkeypatch, body):
    pretend(monkeypatch)

    async def ask():
        async with visiting(tmp_path) as visit:
            table = await visit.read(await visit.post("/tables/demo", {}))
            where, json_type = f"/api/v1/tables/{table['id']}", {"content-type": "application/json"}
            answer = await visit.client.patch(f"{where}/plan", content=body, headers=json_type)
            named = '{"kind": "run", "name": "\\ud800", "table": "' + table["id"] + '"}'
            other = await visit.client.post("/api/v1/jobs", content=named, headers=json_type)
            ran = await visit.client.post("/api/v1/jobs", json={"kind": "run", "table": table["id"], "assess": False})
            await visit.get(f"/tables/{table['id']}")
            await visit.get("/state")
            return answer, other, ran

    answer, other, ran = run(ask())
    assert answer.status_code in (200, 400, 422)
    assert other.status_code == 422
    assert ran.status_code == 202


LOOKED_AT = {
    "words": ["north", "south", "", "east"],
    "amounts": ["1.50", "2.25", "10.00", "7"],
    "whole": ["3", "4", "40", "-2"],
    "codes": ["01", "02", "10", "7"],
    "money": ["1,200.50 EUR", "3,400.25 EUR", "900.00 EUR", "12.10 EUR"],
    "days": ["1999-12-31", "2001-01-02", "1987-06-05", "1999-12-30"],
    "german days": ["31.12.1999", "2.1.2001", "5.6.1987", "30.12.1999"],
    "moments": ["1999-12-31 10:00", "2001-01-02 11:30", "1987-06-05 12:00", "1999-12-30 00:00"],
    "digits": ["19991231", "20010102", "19870605", "19991230"],
    "months": ["199912", "200101", "198706", "198707"],
    "mostly digits": ["19991231", "12", "13", "14"],
    "yes": ["true", "false", "true", "false"],
    "Yes": ["true", "False", "TRUE", "false"],
    "marked": ["1", "2", "n/a", "3"],
    "mixed": ["one", "two", "3", "four"],
    "unclear": ["1.234", "5", "1.500", "8"],
    "spaced": [" a", "a", "b ", "b"],
    "one": ["5", "5", "5", "5"],
    "hostile": ["<script>", "1e400", "nan", "inf"],
}


@pytest.mark.parametrize("often", [(1, 1, 1, 1), (20, 1, 1, 1), (1, 1, 20, 1)])
@pytest.mark.parametrize("gaps", [0, 3])
def test_different_texts_with_their_counts_tell_the_same_as_all_rows(monkeypatch, often, gaps):
    """What is inferred and drawn does not depend on the shortcut, whatever is rare among the values."""

    from shoal.web.tasks import inspection

    columns = {
        name: [value for value, times in zip(values, often, strict=True) for _ in range(5 * times)] + [None] * gaps
        for name, values in LOOKED_AT.items()
    }
    table = pa.table(columns)
    for text in (True, False):
        for name in LOOKED_AT:
            quick = inspection._column(table, name, text=text, decimal=".")
            with monkeypatch.context() as patch:
                patch.setattr(inspection, "OFTEN_ENOUGH", 0)
                assert quick == inspection._column(table, name, text=text, decimal="."), name


def test_a_column_is_read_by_its_different_texts(monkeypatch):

    from shoal.web.tasks import inspection

    table = pa.table({"answer": [str(i % 7) for i in range(7000)]})
    read = []
    attribute = inspection.schema.attribute
    monkeypatch.setattr(
        inspection.schema, "attribute", lambda table, *a, **k: read.append(table.num_rows) or attribute(table, *a, **k)
    )
    assert sum(inspection._column(table, "answer", text=True, decimal=".")["picture"]["counts"]) == 7000
    assert read == [7]


def test_a_table_may_be_closed_while_its_upload_comes(tmp_path):
    async def flow():
        async with visiting(tmp_path, upload_bytes=4) as visit:

            async def parts():
                yield b"a,b\n"
                (table,) = (await visit.get("/state"))["tables"]
                await visit.ask("DELETE", f"/tables/{table['id']}", status=204)
                yield b"1,2\n"  # more than may be uploaded

            headers = {"x-shoal-name": "a.csv"}
            refused = await visit.ask("POST", "/tables/upload", headers=headers, content=parts(), status=413)
            return refused, (await visit.get("/state"))["tables"]

    refused, tables = run(flow())
    assert "at most" in refused["error"]["message"]
    assert tables == []
