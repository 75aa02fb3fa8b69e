"""Tables in SQLite, DuckDB and PostgreSQL: read without changing anything, written in one transaction."""

import sqlite3
import subprocess
import sys
import time
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

from clocks import PATIENCE
from servers import PASSWORD, QUOTED_PASSWORD
from shoal.errors import DataError, OptionError, ShoalError
from shoal.io import read, write
from shoal.io.sql import Address, identifiers, quoted

ODD = 'public."odd; DROP TABLE x; --""name"'  # for PostgreSQL


class Place:
    """One database and how to look into it without Shoal."""

    def __init__(self, kind, where):
        self.kind = kind
        self.where = where

    def run(self, *statements):
        """Run statements with the plain driver and return the rows of the last."""
        if self.kind == "sqlite":
            connection = sqlite3.connect(self.where)
        elif self.kind == "duckdb":
            connection = duckdb.connect(str(self.where))
        else:
            import adbc_driver_postgresql.dbapi as driver

            connection = driver.connect(self.where)
        cursor = connection.cursor()
        rows = None
        for statement in statements:
            cursor.execute(statement)
            if statement.lstrip().lower().startswith("select"):
                rows = [tuple(row) for row in cursor.fetchall()]
        connection.commit()
        cursor.close()
        connection.close()
        return rows


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def place(request, tmp_path):
    if request.param == "postgresql":
        found = Place("postgresql", request.getfixturevalue("postgres"))
        found.run("DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
        return found
    return Place(request.param, tmp_path / f"t.{request.param}")


@pytest.fixture
def people():
    return pa.table({"name": ["a", None, "c"], "age": [1, 2, None]})


def test_every_type_comes_back(place, mixed):
    written = write(mixed, place.where, name_of_table="people")
    source = read(place.where, table="people")
    assert source.table.to_pydict() == mixed.to_pydict()
    kinds = dict(zip(source.table.column_names, source.table.schema.types, strict=True))
    assert kinds["date"] == pa.date32()
    assert kinds["timestamp"] == pa.timestamp("us")
    assert pa.types.is_timestamp(kinds["zoned"])
    assert kinds["zoned"].tz in ("UTC", "Etc/UTC")
    assert kinds["decimal"] == pa.decimal128(10, 2)
    assert kinds["bool"] == pa.bool_()
    assert (written.sha256, written.bytes, source.sha256, source.text) == (None, None, None, False)
    assert source.format == place.kind


def test_nan_is_kept_or_noted(place):
    written = write(pa.table({"x": [float("nan"), 1.0, None]}), place.where, name_of_table="t")
    found = str(read(place.where, table="t").table["x"].to_pylist())
    if place.kind == "sqlite":
        assert found == "[None, 1.0, None]"
        assert "NaN became NULL" in written.notes[0]
    else:
        assert found == "[nan, 1.0, None]"
        assert written.notes == ()


def test_a_query_is_read(place, people):
    write(people, place.where, name_of_table="people")
    source = read(place.where, query="select age * 2 as twice, name from people where age > 0 order by age desc")
    assert source.table.to_pydict() == {"twice": [4, 2], "name": [None, "a"]}
    assert "query" in source.name


@pytest.mark.parametrize(
    "query",
    [
        "drop table people",
        "delete from people",
        "insert into people values ('x', 1)",
        "create table other (a int)",
        "select 1 as a; drop table people",
    ],
)
def test_a_query_changes_nothing(place, people, query):
    write(people, place.where, name_of_table="people")
    with pytest.raises(DataError):
        read(place.where, query=query)
    assert place.run("SELECT count(*) FROM people") == [(3,)]
    with pytest.raises(DataError, match="no such table"):
        read(place.where, table="other")


def test_an_existing_table_is_replaced_with_force_only(place, people):
    write(people, place.where, name_of_table="people")
    with pytest.raises(ShoalError, match="The table 'people' must not be in"):
        write(people.slice(0, 1), place.where, name_of_table="people")
    assert place.run("SELECT count(*) FROM people") == [(3,)]
    write(people.slice(0, 1), place.where, name_of_table="people", force=True)
    assert place.run("SELECT count(*) FROM people") == [(1,)]
    write(people, place.where, name_of_table="second")
    assert place.run("SELECT count(*) FROM people") == [(1,)]


@pytest.mark.parametrize("error", [KeyboardInterrupt, DataError("k does not hold")])
def test_a_failed_check_leaves_the_old_table(place, people, error):
    def refuse(source):
        assert source.table.to_pydict() == {"name": ["c"], "age": [None]}
        assert source.table.schema.field("age").type == pa.int64()
        raise error

    write(people, place.where, name_of_table="people")
    with pytest.raises((KeyboardInterrupt, DataError)):
        write(people.slice(2), place.where, name_of_table="people", force=True, check=refuse)
    assert place.run("SELECT name, age FROM people") == [("a", 1), (None, 2), ("c", None)]
    with pytest.raises((KeyboardInterrupt, DataError)):
        write(people.slice(2), place.where, name_of_table="new", check=refuse)
    with pytest.raises(DataError, match="no such table"):
        read(place.where, table="new")


def test_nobody_else_sees_the_new_table_before_it_is_checked(place, people):
    if place.kind == "duckdb":
        pytest.skip("DuckDB lets one process in at a time")
    write(people, place.where, name_of_table="people")
    if place.kind == "postgresql":
        # Until the end of the transaction, others wait: so the lock is what they see.
        seen = []
        write(
            people.slice(2),
            place.where,
            name_of_table="new",
            check=lambda _: seen.extend(place.run("SELECT count(*) FROM pg_tables WHERE tablename = 'new'")),
        )
        assert seen == [(0,)]
        return
    seen = []
    write(
        people.slice(2),
        place.where,
        name_of_table="people",
        force=True,
        check=lambda _: seen.extend(place.run("SELECT count(*) FROM people")),
    )
    assert seen == [(3,)]


def test_odd_names_cannot_do_harm(place, people):
    name = ODD if place.kind == "postgresql" else ODD.partition(".")[2]
    odd = people.rename_columns(['na"me; DROP', "Ä b.c"])
    write(people, place.where, name_of_table="x")
    write(odd, place.where, name_of_table=name)
    assert read(place.where, table=name).table.equals(odd)
    assert place.run("SELECT count(*) FROM x") == [(3,)]


def test_schemas(place, people):
    if place.kind == "sqlite":
        write(people, place.where, name_of_table="main.people")
        assert read(place.where, table="main.people").table.num_rows == 3
        return
    place.run("DROP SCHEMA IF EXISTS survey CASCADE", "CREATE SCHEMA survey", "CREATE TABLE people (a int)")
    write(people, place.where, name_of_table="survey.people")
    assert read(place.where, table="survey.people").table.num_rows == 3
    assert read(place.where, table="people").table.column_names == ["a"]


def test_the_only_table_needs_no_name(place, people):
    write(people, place.where, name_of_table="people")
    assert read(place.where).table.num_rows == 3
    write(people, place.where, name_of_table="second")
    with pytest.raises(OptionError, match="the tables are people, second"):
        read(place.where)
    with pytest.raises(DataError, match="did you mean 'people'"):
        read(place.where, table="poeple")
    with pytest.raises(OptionError, match="Got both"):
        read(place.where, table="people", query="select 1")


def test_columns_of_the_same_name_are_refused(place, people):
    write(people, place.where, name_of_table="people")
    if place.kind != "duckdb":  # which gives the second another name
        with pytest.raises(DataError, match="different names"):
            read(place.where, query="select age, age from people")


def test_no_value_of_the_data_is_in_an_error(place, people):
    write(pa.table({"s": ["SECRETVALUE"]}), place.where, name_of_table="people")
    if place.kind == "sqlite":
        query = "select cast(x'ff534543524554' as text) as s"
    else:
        query = "select s::int from people"
    with pytest.raises(DataError) as caught:
        read(place.where, query=query)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_many_rows_keep_their_order(place):
    table = pa.table({"i": list(range(50_000)), "s": [str(i) for i in range(50_000)]})
    write(table, place.where, name_of_table="many")
    assert read(place.where, table="many").table.equals(table)


@pytest.mark.parametrize("name", ["t.sqlite", "t.duckdb"])
def test_a_new_database_appears_whole_or_not_at_all(tmp_path, people, name):
    def refuse(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(people, tmp_path / name, check=refuse)
    assert list(tmp_path.iterdir()) == []
    written = write(people, tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert written.name.endswith("table t")
    assert read(tmp_path / name).table.equals(people)
    scheme = name[2:]
    assert read(f"{scheme}:///{tmp_path / name}").table.equals(people)


def kill_while_checking(where, table, rows):
    """Replace a table in another process, and kill it while it checks what it has written."""
    script = (
        "import signal, sys, pyarrow as pa; from shoal.io import write\n"
        "def wait(_): print('here', flush=True); signal.pause()\n"
        "rows = pa.table({'x': list(range(int(sys.argv[3])))})\n"
        "write(rows, sys.argv[1], name_of_table=sys.argv[2], force=True, check=wait)"
    )
    command = [sys.executable, "-c", script, str(where), table, str(rows)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout.readline().strip() == b"here"
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_killed_process_leaves_the_old_table(tmp_path, people, kind):
    path = tmp_path / f"t.{kind}"
    write(people, path, name_of_table="people")
    kill_while_checking(path, "people", rows=500_000)
    assert read(path, table="people").table.equals(people)


def test_a_killed_process_leaves_the_old_table_on_the_server(postgres, people):
    place = Place("postgresql", postgres)
    write(people, postgres, name_of_table="kept", force=True)
    kill_while_checking(postgres, "kept", rows=1)
    deadline = time.monotonic() + PATIENCE  # the test must not hang
    locks = "SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = l.relation WHERE relname = 'kept'"
    while place.run(locks) != [(0,)]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert read(postgres, table="kept").table.equals(people)


def test_sqlite_columns_of_several_kinds(tmp_path):
    place = Place("sqlite", tmp_path / "t.db")
    place.run(
        "CREATE TABLE t (a, d DATE, b BOOLEAN, n INTEGER)",
        "INSERT INTO t VALUES (1, '2020-01-01', 1, NULL), ('x', 'soon', 2, NULL), (NULL, NULL, NULL, NULL)",
    )
    source = read(place.where)
    assert source.table.to_pydict()["a"] == ["1", "x", None]
    assert source.table.to_pydict()["d"] == ["2020-01-01", "soon", None]
    assert source.table.schema.field("n").type == pa.int64()
    assert len(source.notes) == 3


def test_sqlite_and_duckdb_columns_that_differ_in_capitals_only(tmp_path):
    for name in ("t.sqlite", "t.duckdb"):
        with pytest.raises(DataError, match="capital letters"):
            write(pa.table({"a": [1], "A": [2]}), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_locked_database_is_said(tmp_path, people):
    path = tmp_path / "t.duckdb"
    write(people, path)
    script = "import sys, duckdb; c = duckdb.connect(sys.argv[1]); print('here', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script, path], stdout=subprocess.PIPE, stdin=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        with pytest.raises(DataError, match="another program has open"):
            read(path)
        process.stdin.close()


def test_types_of_postgresql(postgres):
    place = Place("postgresql", postgres)
    place.run(
        "DROP TABLE IF EXISTS k",
        "DROP TYPE IF EXISTS mood",
        "CREATE TYPE mood AS ENUM ('calm', 'wild')",
        "CREATE TABLE k (a numeric, b numeric(10, 2), c numeric, d uuid, e jsonb, f mood, g varchar(5), h smallint)",
        "INSERT INTO k VALUES (1.50, 2.5, 'NaN', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{}', 'wild', 'x', 3), "
        "(12345.678, NULL, 1, NULL, NULL, NULL, NULL, NULL)",
    )
    source = read(postgres, table="k")
    found = source.table.to_pydict()
    assert found["a"] == [Decimal("1.50"), Decimal("12345.678")]
    assert found["b"] == [Decimal("2.50"), None]
    assert str(found["c"]) == "[nan, 1.0]"
    assert found["d"] == ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", None]
    assert (found["e"], found["f"]) == (["{}", None], ["wild", None])
    assert source.notes == ("column 'c': numeric values that no decimal can hold, read as floating-point numbers",)
    for kind in ("inet", "money"):
        place.run("DROP TABLE IF EXISTS k2", f"CREATE TABLE k2 (x {kind})")
        with pytest.raises(DataError, match=f"'x' of PostgreSQL's type {kind}.*::text"):
            read(postgres, table="k2")


def test_a_table_that_a_view_needs_is_not_replaced(postgres, people):
    place = Place("postgresql", postgres)
    place.run(
        "DROP VIEW IF EXISTS v",
        "DROP TABLE IF EXISTS base",
        "CREATE TABLE base (a int)",
        "CREATE VIEW v AS SELECT * FROM base",
    )
    for name in ("base", "v"):
        with pytest.raises(DataError):
            write(people, postgres, name_of_table=name, force=True)
    assert place.run("SELECT count(*) FROM v") == [(0,)]
    place.run("DROP VIEW v", "DROP TABLE base")


def test_a_server_needs_the_name_of_a_table(postgres, people):
    with pytest.raises(OptionError, match="name_of_table"):
        write(people, postgres)


def secrets():
    return (PASSWORD, QUOTED_PASSWORD, "wrongpassword")


def test_passwords_are_nowhere(postgres, people):
    source = read(postgres, query="select 1 as a")
    written = write(people, postgres, name_of_table="pw", force=True)
    texts = [source.name, repr(source), written.name, repr(Address(postgres)), *source.notes]
    host = postgres.partition("@")[2]
    for address in (
        f"postgresql://shoal:wrongpassword@{host}",
        f"postgresql://nobody:wrongpassword@{host}",
        f"postgresql://shoal:{QUOTED_PASSWORD}@127.0.0.1:1/postgres",
        f"postgresql://shoal:{QUOTED_PASSWORD}@{host}x",
        f"postgresql://shoal:wrong%zzpassword@{host}",
        f"postgresql://shoal:wrong/wrongpassword@{host}",
        f"postgresql://shoal:wrong#wrongpassword@{host}",
        f"postgresql://shoal:wrong@wrongpassword@{host}",
        f"postgresql://shoal@{host}?password=wrongpassword&bogus=1",
        "postgresql://shoal:wrongpassword@127.0.0.1:port/postgres",
    ):
        with pytest.raises(ShoalError) as caught:
            read(address, query="select 1")
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
        texts.append(str(caught.value))
    with pytest.raises(DataError) as caught:
        read(postgres, query=f"select '{PASSWORD}' from nowhere")
    texts.append(str(caught.value))
    for text in texts:
        assert not any(secret in text for secret in secrets()), text


@pytest.mark.parametrize(
    ("name", "parts"),
    [("a", ("a",)), ("a.b", ("a", "b")), ('"a.b".c', ("a.b", "c")), ('"a""b"', ('a"b',)), ("Ä ö", ("Ä ö",))],
)
def test_names_of_tables(name, parts):
    assert identifiers(name) == parts
    assert identifiers(quoted(*parts)) == parts


@pytest.mark.parametrize("name", ["", ".", "a.", ".a", 'a"b', '"a', "a.b.c.d", 'a."b"c', 7, "a\0b"])
def test_names_that_cannot_be(name):
    with pytest.raises(OptionError, match="The name of a table"):
        identifiers(name)
