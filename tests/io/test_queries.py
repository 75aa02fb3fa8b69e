"""Queries read: none can write a file, run a program or change a database."""

import sqlite3
import tempfile
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from shoal.errors import DataError, ShoalError
from shoal.io import read, write
from shoal.io.sql import single

PEOPLE = pa.table({"name": ["a", "b", "c"], "age": [3, 1, 2]})
# FILE stands for the path of a file that must not appear.
HOSTILE = {
    "sqlite": [
        "ATTACH 'FILE' AS x",
        "VACUUM INTO 'FILE'",
        "VACUUM",
        "PRAGMA query_only = OFF",
        "PRAGMA journal_mode = WAL",
        "PRAGMA user_version = 7",
        "SELECT * FROM pragma_user_version",
        "BEGIN",
        "CREATE TEMP TABLE x AS SELECT 1 AS a",
        "INSERT INTO people VALUES ('x', 1) RETURNING name",
        "WITH x AS (SELECT 1) DELETE FROM people RETURNING name",
        "SELECT load_extension('FILE') AS a",
        "SELECT fts3_tokenizer('simple') AS a",
        "ANALYZE",
        "REINDEX",
        "SELECT 1 AS a; ATTACH 'FILE' AS x",
        "EXPLAIN DROP TABLE people",
    ],
    "duckdb": [
        "COPY people TO 'FILE'",
        "COPY (SELECT 1) TO 'FILE'",
        "ATTACH 'FILE' AS x",
        "INSTALL httpfs",
        "LOAD httpfs",
        "EXPORT DATABASE 'FILE'",
        "PRAGMA enable_profiling",
        "PRAGMA version",
        "SET enable_external_access = true",
        "SET threads = 1",
        "CALL pragma_version()",
        "CHECKPOINT",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM statements",  # a variable of Python
        "CREATE TEMP TABLE x AS SELECT 1",
        "SELECT 1 AS a; COPY people TO 'FILE'",
        "EXPLAIN ANALYZE DELETE FROM people",
    ],
    "postgresql": [
        "COPY people TO PROGRAM 'cat > FILE'",
        "COPY (SELECT 1) TO PROGRAM 'cat > FILE'",
        "COPY people TO 'FILE'",
        "COPY people TO STDOUT",
        "SELECT 1 AS a) AS query; COPY people TO PROGRAM 'cat > FILE'; --",
        "SELECT 1) TO PROGRAM 'cat > FILE' --",
        "SET TRANSACTION READ WRITE",
        "SELECT set_config('transaction_read_only', 'off', true) AS a, nextval('numbers')",
        "SELECT nextval('numbers') AS a",
        "WITH x AS (INSERT INTO people VALUES ('x', 1) RETURNING name) SELECT * FROM x",
        "INSERT INTO people VALUES ('x', 1) RETURNING name",
        "SELECT * FROM people FOR UPDATE",
        "COMMIT",
        "DO $$ BEGIN PERFORM 1; END $$",
        "CALL nothing()",
        "EXPLAIN ANALYZE DELETE FROM people",
        "SHOW server_version",
        "NOTIFY x",
        "CREATE TEMP TABLE x AS SELECT 1",
    ],
}
# For all three: what people write around a query, and what may stand in it.
WELCOME = [
    "SELECT name FROM people ORDER BY age",
    "SELECT name FROM people ORDER BY age;",
    "SELECT name FROM people ORDER BY age; -- done; really",
    "-- first; a comment\nSELECT name FROM people ORDER BY age -- last",
    "/* ; */ SELECT name FROM people /* a ' */ ORDER BY age /* ; */ ; ; /* end */\n",
    "WITH x AS (SELECT * FROM people), y AS (SELECT * FROM x) SELECT name FROM y ORDER BY age",
    "SELECT name FROM people WHERE name <> ';' AND name <> '''; --' ORDER BY age LIMIT 3",
    'SELECT name AS "name" FROM people AS "a;b" ORDER BY age',
    "SELECT name FROM (SELECT * FROM people UNION ALL SELECT * FROM people WHERE 1 = 0) AS u ORDER BY age",
]


@pytest.fixture(params=list(HOSTILE))
def place(request, tmp_path):
    if request.param == "postgresql":
        where = request.getfixturevalue("postgres")
        _postgres(where, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public", "CREATE SEQUENCE numbers")
        _postgres(where, "CREATE PROCEDURE nothing() LANGUAGE sql AS 'SELECT 1'")
    else:
        where = tmp_path / f"t.{request.param}"
    write(PEOPLE, where, name_of_table="people")
    return request.param, where


def _postgres(where, *statements):
    import adbc_driver_postgresql.dbapi as driver

    with driver.connect(where) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        connection.commit()


@pytest.fixture
def folder():
    """Return an empty folder in which the user of the server of PostgreSQL can write as well."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


def test_hostile_queries_do_nothing(place, folder):
    kind, where = place
    before = where.read_bytes() if kind != "postgresql" else None
    for query in HOSTILE[kind]:
        with pytest.raises(DataError):
            read(where, query=query.replace("FILE", str(folder / "out")))
        assert list(folder.iterdir()) == [], query
    assert read(where, table="people").table.equals(PEOPLE)
    if before is not None:
        assert where.read_bytes() == before
        assert [path.name for path in where.parent.iterdir()] == [where.name]


def test_queries_are_read_as_people_write_them(place):
    for query in WELCOME:
        assert read(place[1], query=query).table.to_pydict() == {"name": ["b", "c", "a"]}, query


def test_a_query_must_be_there(place):
    for query in ("", "  ", ";", "-- nothing", "/* nothing */;"):
        with pytest.raises(DataError, match="must be one that returns rows"):
            read(place[1], query=query)


def test_names_that_occur_twice_are_refused(place):
    with pytest.raises(DataError, match="different names"):
        read(place[1], query="SELECT name AS a, age AS a FROM people")


def test_virtual_tables_of_sqlite_can_be_read(tmp_path):
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("CREATE VIRTUAL TABLE texts USING fts5(words)")
    connection.execute("INSERT INTO texts VALUES ('hello world')")
    connection.execute("CREATE VIRTUAL TABLE boxes USING rtree(id, low, high)")
    connection.execute("INSERT INTO boxes VALUES (1, 2, 3)")
    connection.commit()
    connection.close()
    found = read(tmp_path / "t.db", query="SELECT words FROM texts WHERE texts MATCH 'hello'")
    assert found.table.to_pydict() == {"words": ["hello world"]}
    assert read(tmp_path / "t.db", query="SELECT id FROM boxes WHERE low > 1").table.to_pydict() == {"id": [1]}


def test_the_log_of_sqlite_is_read_and_not_left_behind(tmp_path):
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE t (a)")
    connection.execute("INSERT INTO t VALUES (1)")
    connection.commit()
    assert read(tmp_path / "t.db", table="t").table.to_pydict() == {"a": [1]}
    connection.close()
    assert read(tmp_path / "t.db", query="SELECT a FROM t").table.to_pydict() == {"a": [1]}
    assert [path.name for path in tmp_path.iterdir()] == ["t.db"]
    with pytest.raises(DataError, match="does more than read"):
        read(tmp_path / "t.db", query="PRAGMA query_only = OFF")


def test_pivot_of_duckdb_is_a_query(tmp_path):
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'a' AS k, 1 AS v UNION ALL SELECT 'b', 2")
    assert read(tmp_path / "t.duckdb", query="PIVOT t ON k USING max(v)").table.to_pydict() == {"a": [1], "b": [2]}


@pytest.mark.parametrize(
    ("query", "bare"),
    [
        ("SELECT 1;", "SELECT 1"),
        ("SELECT ';' ; -- x", "SELECT ';' "),
        ("SELECT '; -- '", "SELECT '; -- '"),
        ("SELECT E'a\\';' AS b;", "SELECT E'a\\';' AS b"),
        ("SELECT $x$;$y$;$x$ AS b;;", "SELECT $x$;$y$;$x$ AS b"),
        ("SELECT 1 /* a /* b; */ ; */ AS c", "SELECT 1 /* a /* b; */ ; */ AS c"),
        ('SELECT 1 AS "a"";b"', 'SELECT 1 AS "a"";b"'),
    ],
)
def test_the_semicolon_at_the_end_is_found(query, bare):
    assert single(query) == bare


@pytest.mark.parametrize("query", ["SELECT 1; SELECT 2", "SELECT ';'; x", "SELECT 1 /* */; --\nDROP TABLE t"])
def test_several_statements_are_refused(query):
    with pytest.raises(DataError, match="must be one statement"):
        single(query)


@pytest.mark.parametrize(
    "address",
    [
        "postgres://me@[::1/db",
        "postgresql://me@::1]/db",
        "postgresql://me:secret@[v1.x]/db",
        "postgresql://me@[abc]/db",
        "postgresql://me@host:99999/db",
        "postgresql://me@host:1x/db",
        "postgresql://me@ho\u2100st/db",
        "postgresql://",
        "postgresql:///",
        "postgresql://me@[::1]:x/db",
        "postgresql://me@host/d\0b",
    ],
)
def test_addresses_that_cannot_be_read_are_refused(address):
    with pytest.raises(ShoalError) as caught:
        read(address, table="t")
    assert "secret" not in str(caught.value)


def test_comments_of_sqlite_do_not_contain_comments(tmp_path):
    write(PEOPLE, tmp_path / "t.db", name_of_table="people")
    assert read(tmp_path / "t.db", query="/* a /* b */ SELECT 1 AS c").table.to_pydict() == {"c": [1]}
