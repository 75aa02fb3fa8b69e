"""Tables that are read in pieces: the same rows as read at once, and no change goes unnoticed."""

import datetime as dt
import os
import sqlite3
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.engines.hashing import hashes_of, row_hashes
from shoal.engines.sources import open_batches
from shoal.errors import DataError, OptionError
from shoal.io import Dialect, read, write
from shoal.io.source import Source
from shoal.privacy.classes import classes_of

N = 2000


def mixed(n: int = N) -> pa.Table:
    """Return a table with every type that people use."""
    rng = np.random.default_rng(n)
    gone = rng.random(n) < 0.1
    days = [dt.date(2000, 1, 1) + dt.timedelta(int(i)) for i in rng.integers(0, 999, n)]
    return pa.table(
        {
            "a": pa.array(rng.normal(size=n), mask=gone),
            "b": pa.array(rng.integers(-5, 5, n), pa.int64(), mask=gone),
            "text": pa.array([f"né {i % 17}" if i % 5 else None for i in range(n)]),
            "yes": pa.array(rng.random(n) < 0.5, mask=gone),
            "day": pa.array(days),
            "moment": pa.array([dt.datetime(2020, 1, 1, 3, 4, int(i) % 60) for i in range(n)], pa.timestamp("us")),
            "price": pa.array([Decimal(int(i)) / 4 for i in rng.integers(0, 99, n)], pa.decimal128(10, 2)),
        }
    )


def joined(batches, columns=None) -> pa.Table:
    return pa.Table.from_batches(batches.read(columns), schema=None if columns else batches.schema)


def same_as_at_once(where, **reading) -> None:
    whole = read(where, **reading)
    batches = open_batches(where, reading, batch_bytes=10_000)
    once, names = whole.table, whole.table.column_names[-2:]
    assert joined(batches).cast(once.schema).equals(once)
    assert (batches.rows, batches.text, batches.decimal) == (once.num_rows, whole.text, whole.decimal)
    assert batches.schema.equals(once.schema.remove_metadata())
    assert batches.name == whole.name
    few = joined(batches, names[::-1])
    assert few.cast(once.select(names[::-1]).schema).equals(once.select(names[::-1]))
    assert len(list(batches.read())) > 2
    batches.close()


def test_files(tmp_path):
    whole = mixed()
    for name in ("t.csv", "t.csv.gz", "t.csv.zst", "t.tsv", "t.parquet", "t.arrow", "t.feather", "t.duckdb", "t.db"):
        write(whole, tmp_path / name)
        same_as_at_once(tmp_path / name)


@pytest.mark.parametrize(
    "dialect",
    [
        Dialect(delimiter=";", encoding="cp1252", decimal=",", newline="\r\n"),
        Dialect(encoding="utf-16-le", bom=True),
        Dialect(delimiter="\t", quoting="all", bom=True),
        Dialect(delimiter="|", quote="'"),
    ],
)
def test_dialects_are_detected(tmp_path, dialect):
    whole = pa.table({"name": ["a,b", "Zoë", None, "", "x\ny"] * 300, "size": ["1", "2", "3", "4", "5"] * 300})
    like = Source(whole, True, "csv", dialect, None, "like")
    write(whole, tmp_path / "t.csv", like=like)
    batches = open_batches(tmp_path / "t.csv", batch_bytes=2**17)
    assert batches.dialect == read(tmp_path / "t.csv").dialect
    assert joined(batches).equals(whole)
    assert batches.sha256 == read(tmp_path / "t.csv").sha256


def test_an_encoding_is_that_of_all_bytes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"name,age\n" + b"abc,12\n" * 100_000 + "Zoë,12\n".encode("cp1252"))
    batches = open_batches(path, batch_bytes=2**17)
    assert batches.dialect.encoding == "cp1252"
    *_, last = batches.read(["name"])
    assert last.column("name")[-1].as_py() == "Zoë"


def test_rows_longer_than_a_block_are_read(tmp_path):
    path = tmp_path / "t.csv"
    long = "x" * 300_000
    path.write_text("name,age\n" + "abc,12\n" * 20_000 + f'"{long}",13\n' + "abc,12\n" * 20_000)
    batches = open_batches(path, batch_bytes=2**16)
    names = joined(batches).column("name")
    assert len(names) == 40_001
    assert names[20_000].as_py() == long


def test_headers_are_checked(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("3,4\n" + "1,2\n" * 100)
    with pytest.raises(DataError, match="looks like a record"):
        open_batches(path)
    assert open_batches(path, {"header": True}).names == ["3", "4"]
    positional = open_batches(path, {"header": False})
    assert positional.names == ["column_1", "column_2"]
    assert joined(positional).num_rows == 101
    path.write_text("a,a\n1,2\n")
    with pytest.raises(DataError, match="name of its own"):
        open_batches(path)
    path.write_text("a,b\n")
    assert joined(open_batches(path)).num_rows == 0


@pytest.mark.parametrize(
    ("ending", "message"),
    [
        ("1\n", "must have 2 fields"),
        ("1,2,3\n", "must have 2 fields"),
        ('1,"2\n', "Every quote"),
        ("1,\0\n", "NUL"),
    ],
)
def test_a_last_row_that_does_not_parse_is_refused_in_one_sentence(tmp_path, ending, message):
    path = tmp_path / "t.csv"
    path.write_text("SECRET,b\n" + "SECRET7,8\n" * 50_000 + ending)
    with pytest.raises(DataError, match=message) as refused:
        for _ in open_batches(path, batch_bytes=2**17).read():
            pass
    assert "SECRET" not in str(refused.value)


def test_a_folder_of_parquet_files_is_one_table(tmp_path):
    whole = mixed()
    folder = tmp_path / "parts"
    folder.mkdir()
    for at in range(4):
        pq.write_table(whole.slice(at * 500, 500), folder / f"part-{at}.parquet", row_group_size=200)
    (folder / "_SUCCESS").write_text("")
    (folder / ".part.parquet").write_text("hidden")
    batches = open_batches(folder, batch_bytes=10_000)
    assert joined(batches).equals(whole)
    assert batches.rows == N
    pq.write_table(whole.slice(0, 10), folder / "part-5.parquet")
    with pytest.raises(DataError, match="must stay as it is"):
        joined(batches)
    pq.write_table(whole.select(["a"]), folder / "part-6.parquet")
    with pytest.raises(DataError, match=r"same columns.*part-6"):
        open_batches(folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="Parquet or CSV files in it"):
        open_batches(tmp_path / "empty")


GERMAN = Dialect(delimiter=";", decimal=",", newline="\r\n")


def parts_in(folder, whole, *, dialect=GERMAN, pieces=((0, 0), (0, 700), (700, 1300))):
    """Write a table of texts as CSV files in a folder, the first of which has no rows, as Spark may write them."""
    folder.mkdir(exist_ok=True)
    like = Source(whole, True, "csv", dialect, None, "like")
    for at, (start, rows) in enumerate(pieces):
        write(whole.slice(start, rows), folder / f"part-{at}.csv{'.gz' if at == 2 else ''}", like=like, force=True)
    (folder / "_SUCCESS").write_text("")
    (folder / ".part-0.csv.crc").write_text("hidden")
    (folder / "README.txt").write_text("about the files")
    return folder


def texts(n: int = N) -> pa.Table:
    sizes = [f"{i / 8:.1f}".replace(".", ",") for i in range(n)]
    names = [AWKWARD[i % len(AWKWARD)] for i in range(n)]
    return pa.table({"name": names, "age": [str(i % 90) for i in range(n)], "size": sizes})


AWKWARD = ["a;b", 'say "no"', "two\nlines", "", "Zoë", None]


def test_a_folder_of_csv_files_is_one_table(tmp_path):
    whole = texts()
    folder = parts_in(tmp_path / "parts", whole)
    batches = open_batches(folder, batch_bytes=2**17)
    assert joined(batches).equals(whole)
    assert joined(batches, ["size", "name"]).equals(whole.select(["size", "name"]))
    # The decimal mark is that of the first file that has one: the first file has no rows at all.
    assert (batches.rows, batches.text, batches.decimal, batches.format) == (N, True, ",", "csv")
    assert "decimal mark: , (detected)" in batches.notes
    assert batches.hashed() is None
    assert batches.fingerprint is not None
    write(whole.slice(0, 10), folder / "part-5.csv", like=Source(whole, True, "csv", GERMAN, None, "like"))
    with pytest.raises(DataError, match="must stay as it is"):
        joined(batches)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name;age\nSECRET;1\n", r"same columns in the same order\. Got another in part-3\.csv"),
        ("age;name;size\n1;SECRET;1,5\n", r"same columns in the same order\. Got another in part-3\.csv"),
        ("name,age,size\nSECRET,1,1.5\n", r"part-3\.csv"),
        ("SECRET;1;1,5\nSECRET;2;2,5\n", r"part-3\.csv"),
        ("name;age;size\nSECRET;1;1.5\n", r"same decimal mark\. Got another in part-3\.csv.*--decimal"),
        ("name;age;size\nSECRETë;1;1,5\n", r"same encoding\. Got another in part-3\.csv.*--encoding"),
        ("", r"part-3\.csv must be a file that can be read\. Got an empty file"),
    ],
)
def test_a_csv_file_unlike_the_others_of_its_folder_is_refused_by_name(tmp_path, content, message):
    folder = parts_in(tmp_path / "parts", texts())
    (folder / "part-3.csv").write_bytes(content.encode("cp1252"))
    with pytest.raises(DataError, match=message) as refused:
        open_batches(folder)
    assert "SECRET" not in str(refused.value)


def test_a_broken_csv_file_of_a_folder_is_refused_by_name(tmp_path):
    folder = parts_in(tmp_path / "parts", texts())
    part = folder / "part-1.csv"
    part.write_bytes(part.read_bytes() + b"SECRET;1\n")
    with pytest.raises(DataError, match=r"part-1\.csv must have 3 fields.*Got 2") as refused:
        joined(open_batches(folder, batch_bytes=2**17))
    assert "SECRET" not in str(refused.value)
    folder = parts_in(tmp_path / "again", texts())
    packed = folder / "part-2.csv.gz"
    packed.write_bytes(packed.read_bytes()[:-200])
    with pytest.raises(DataError, match=r"part-2\.csv\.gz must be complete and compressed with gzip"):
        open_batches(folder)


def test_files_of_two_formats_are_no_table_unless_one_is_named(tmp_path):
    folder = parts_in(tmp_path / "parts", texts())
    write(mixed(), folder / "part-0.parquet")
    with pytest.raises(DataError, match=r"one format.*Got files of parquet and of csv"):
        open_batches(folder)
    assert joined(open_batches(folder, {"format": "csv"})).equals(texts())
    assert joined(open_batches(folder, {"format": "parquet"})).num_rows == N
    with pytest.raises(OptionError, match="Parquet or CSV files"):
        open_batches(folder, {"format": "arrow"})
    with pytest.raises(OptionError, match="'delimiter' option"):
        open_batches(folder, {"format": "parquet", "delimiter": ";"})
    # What is given counts for each file.
    assert open_batches(folder, {"format": "csv", "decimal": "."}).decimal == "."
    headless = open_batches(folder, {"format": "csv", "header": False})
    assert headless.names == ["column_1", "column_2", "column_3"]
    assert joined(headless).num_rows == N + 3


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_a_truncated_file_is_refused(tmp_path, name):
    path = tmp_path / name
    write(mixed(), path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="must be a complete"):
        joined(open_batches(path))


def test_a_damaged_row_group_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(mixed(), path, row_group_size=300, write_page_checksum=True)
    where = pq.ParquetFile(path).metadata.row_group(5).column(0)
    content = bytearray(path.read_bytes())
    start = where.dictionary_page_offset or where.data_page_offset
    content[start + 20 : start + where.total_compressed_size] = bytes(where.total_compressed_size - 20)
    path.write_bytes(content)
    rows = []
    with pytest.raises(DataError, match="must be a complete parquet file"):
        rows.extend(batch.num_rows for batch in open_batches(path, batch_bytes=5_000).read())
    assert 0 < sum(rows) <= 1500


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.arrow", "t.duckdb", "t.db"])
def test_a_change_between_passes_is_noticed(tmp_path, name):
    path = tmp_path / name
    write(mixed(), path)
    batches = open_batches(path, batch_bytes=10_000)
    joined(batches)
    status = os.stat(path)
    content = path.read_bytes()
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # even where its time of modification is set back
    with pytest.raises(DataError, match="must stay as it is"):
        joined(batches)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_change_during_a_pass_is_noticed(tmp_path, name):
    path = tmp_path / name
    write(mixed(), path)
    batches = open_batches(path, batch_bytes=5_000)
    rows = batches.read()
    next(rows)
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size // 2)
    with pytest.raises(DataError, match="must stay as it is"):
        list(rows)


def test_sqlite_columns_of_several_types_are_refused(tmp_path):
    path = tmp_path / "t.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t (a, day DATE, price DECIMAL_TEXT(6,2))")
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", [(1, "2020-01-01", "1.25"), (2, None, "10.25")])
    same = open_batches(path)
    assert same.schema.types == [pa.int64(), pa.date32(), pa.decimal128(6, 2)]
    assert joined(same).column("day").to_pylist() == [dt.date(2020, 1, 1), None]
    with sqlite3.connect(path) as database:
        database.execute("INSERT INTO t VALUES ('x', NULL, NULL)")
    with pytest.raises(DataError, match="'a' must be of one type"):
        open_batches(path)
    assert joined(open_batches(path, {"query": "SELECT CAST(a AS TEXT) AS a FROM t"})).num_rows == 3
    with sqlite3.connect(path) as database:
        database.execute("UPDATE t SET a = 1, price = '1.250' WHERE a = 'x'")
    with pytest.raises(DataError, match="'price' must be written in one way"):
        open_batches(path)


def test_sqlite_with_a_log_sees_one_state(tmp_path):
    path = tmp_path / "t.db"
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA journal_mode = wal")
    writer.execute("CREATE TABLE t (a)")
    writer.executemany("INSERT INTO t VALUES (?)", [(i,) for i in range(100)])
    batches = open_batches(path)
    writer.execute("INSERT INTO t VALUES (100)")
    assert joined(batches).num_rows == 100
    assert batches.fingerprint is None
    writer.execute("DELETE FROM t")
    assert joined(batches).num_rows == 100
    batches.close()
    writer.close()


def test_postgresql(postgres):
    whole = mixed()
    write(whole, postgres, name_of_table="in_pieces", force=True)
    same_as_at_once(postgres, table="in_pieces")
    batches = open_batches(postgres, {"query": "SELECT b::numeric AS b FROM in_pieces"})
    with pytest.raises(DataError, match="declared number of digits"):
        joined(batches)
    batches.close()
    batches = open_batches(postgres, {"table": "in_pieces"})
    before = joined(batches)
    write(whole.slice(0, 5), postgres, name_of_table="in_pieces_too", force=True)
    assert joined(batches).equals(before)
    assert batches.fingerprint is None
    batches.close()


def test_what_cannot_be_read_in_pieces_is_refused(tmp_path):
    write(pa.table({"a": ["x"]}), tmp_path / "t.xlsx")
    for where in (tmp_path / "t.xlsx", "-"):
        with pytest.raises(OptionError, match="piece by piece"):
            open_batches(where)
    write(pa.table({"a": [1]}), tmp_path / "t.parquet")
    with pytest.raises(OptionError, match="'delimiter' option"):
        open_batches(tmp_path / "t.parquet", {"delimiter": ";"})
    ordered = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["low", "high"]), ordered=True)
    write(pa.table({"a": ordered}), tmp_path / "o.parquet")
    with pytest.raises(DataError, match="Categories with an order"):
        open_batches(tmp_path / "o.parquet")
    with pytest.raises(OptionError, match="has no column 'b'"):
        list(open_batches(tmp_path / "t.parquet").read(["b"]))
    with pytest.raises(DataError, match="no such file"):
        open_batches(tmp_path / "none.csv")


def test_hashes_are_equal_exactly_where_readers_see_equal_values():
    nans = np.array([0x7FF8000000000000, 0x7FF8000000000001], np.uint64).view(np.float64)
    rng = np.random.default_rng(0)
    whole = mixed().append_column("odd", pa.array(np.array([0.0, -0.0, *nans])[rng.integers(0, 4, N)]))
    whole = whole.append_column("kind", whole.column("text").dictionary_encode())
    whole = whole.append_column("bytes", whole.column("text").cast(pa.large_binary()))
    whole = whole.append_column("list", pa.array([[i % 3, None] for i in range(N)]))
    for name in whole.column_names[:-1]:
        hashes = hashes_of(whole.column(name))
        classes = classes_of(whole, [name])
        assert len(np.unique(hashes)) == classes.max() + 1, name
        assert len(np.unique(np.column_stack([hashes, classes.astype(np.uint64)]), axis=0)) == classes.max() + 1, name
    assert len(np.unique(hashes_of(whole.column("list")))) == 3
    assert np.array_equal(hashes_of(whole.column("kind")), hashes_of(whole.column("text")))
    names = ["text", "a", "list"]
    pieces = np.concatenate([row_hashes(whole.slice(at, 37), names) for at in range(0, N, 37)])
    assert np.array_equal(pieces, row_hashes(whole, names))
    # The same in every process and on every machine.
    assert row_hashes(pa.table({"a": ["x", None, "Zoë"], "b": [1, 2, 3]}), ["a", "b"]).tolist() == EXPECTED


EXPECTED = [8962765994266419444, 1871230870727158945, 17771060565190263374]
