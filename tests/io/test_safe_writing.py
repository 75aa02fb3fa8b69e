"""A file is written whole or not at all, whatever happens."""

import errno
import hashlib
import json
import os
import resource
import stat
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from clocks import PATIENCE
from shoal.errors import DataError, OptionError, ShoalError
from shoal.io import files, read, write

FILES = ["t.csv", "t.csv.gz", "t.csv.zst", "t.parquet", "t.arrow", "t.xlsx", "t.dta", "t.sav", "t.xpt"]
EMBEDDED = ["t.sqlite", "t.duckdb"]


@pytest.fixture(params=["nameless", "hidden"])
def way(request, monkeypatch):
    """Write with nameless files, and as where there are none."""
    if request.param == "hidden":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    elif not hasattr(os, "O_TMPFILE"):
        pytest.skip("no nameless files on this system")


@pytest.fixture
def table():
    return pa.table({"a": [1.5, 2.5, None], "b": ["x", None, "z"]})


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("error", [KeyboardInterrupt, DataError("k does not hold"), MemoryError])
def test_a_failed_check_leaves_the_old_file(tmp_path, table, way, name, error):
    def refuse(source):
        assert source.table.num_rows == 3
        raise error

    kind = type(error) if isinstance(error, Exception) else error
    with pytest.raises(kind):
        write(table, tmp_path / name, check=refuse)
    assert names(tmp_path) == []
    (tmp_path / name).write_bytes(b"old")
    with pytest.raises(kind):
        write(table, tmp_path / name, check=refuse, force=True)
    assert (tmp_path / name).read_bytes() == b"old"
    assert names(tmp_path) == [name]


@pytest.mark.parametrize("name", FILES)
def test_an_existing_file_is_replaced_with_force_only(tmp_path, table, way, name):
    target = tmp_path / name
    target.write_bytes(b"old")
    with pytest.raises(ShoalError, match="must not be there yet"):
        write(table, target)
    assert target.read_bytes() == b"old"
    written = write(table, target, force=True)
    assert written.bytes == target.stat().st_size
    assert written.sha256 == hashlib.sha256(target.read_bytes()).hexdigest() == read(target).sha256
    assert names(tmp_path) == [name]


def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path, table, way):
    target = tmp_path / "t.csv"
    with pytest.raises(ShoalError, match="must not be there yet"):
        write(table, target, check=lambda _: target.write_bytes(b"another"))
    assert target.read_bytes() == b"another"
    assert names(tmp_path) == ["t.csv"]


def test_the_check_sees_what_lies_on_the_disk(tmp_path, table, way, monkeypatch):
    from shoal.io import csv_writer

    honest = csv_writer._quoted
    monkeypatch.setattr(
        csv_writer, "_quoted", lambda column, *rest: honest(column.take(pa.array([0] * len(column))), *rest)
    )
    with pytest.raises(ShoalError, match="Got other values in the column 'a'; nothing was published"):
        write(table, tmp_path / "t.csv")
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_fifty_killed_writers_leave_nothing_behind(tmp_path, name):
    times = 25  # for each of two formats
    script = Path(__file__).with_name("killed_writer.py")
    run = subprocess.run(
        [sys.executable, script, tmp_path, name, str(times)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert len(found) == times
    for turn in found:
        allowed = ("old", "new") if turn["force"] else ("none", "new")
        assert turn["state"] in allowed, turn
        assert turn["left"] == ([] if turn["state"] == "none" else [name]), turn
    assert sum(turn["killed"] for turn in found) > times // 2
    assert {turn["state"] for turn in found} >= {"old", "none"}


@contextmanager
def largest_file(size):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("name", FILES)
def test_a_full_disk_leaves_nothing_behind(tmp_path, way, name):
    texts = [hashlib.sha256(str(i).encode()).hexdigest() for i in range(20_000)]
    table = pa.table({"a": texts})
    with largest_file(20_000), pytest.raises(ShoalError, match=r"nothing was (left behind|published)"):
        write(table, tmp_path / name)
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", EMBEDDED)
def test_a_full_disk_leaves_the_old_tables_of_a_database(tmp_path, table, name):
    new = pa.table({"a": [hashlib.sha256(str(i).encode()).hexdigest() for i in range(100_000)]})
    with largest_file(400_000), pytest.raises(ShoalError):
        write(new, tmp_path / name)
    assert names(tmp_path) == []
    write(table, tmp_path / name, name_of_table="old")
    with largest_file(400_000), pytest.raises(ShoalError):
        write(new, tmp_path / name, name_of_table="new")
    assert read(tmp_path / name).table.equals(table)


def test_a_full_disk_is_said_with_a_hint():
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        assert "free some space" in str(files.cannot_write(Path("t.csv"), OSError(number, "secret")))
    said = str(files.cannot_write(Path("t.csv"), OSError(errno.EIO, "secret")))
    assert "Input/output error" in said
    assert "secret" not in said


@pytest.mark.parametrize("name", FILES + EMBEDDED)
def test_a_folder_that_is_not_there(tmp_path, table, name):
    with pytest.raises(ShoalError, match="must lie in a folder that is there"):
        write(table, tmp_path / "nowhere" / name)
    (tmp_path / name).mkdir()
    with pytest.raises(ShoalError, match="Got a folder"):
        write(table, tmp_path / name, force=True)


@contextmanager
def as_nobody():
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_rights_are_respected(table):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o555)
        closed = folder / "closed.csv"
        if os.geteuid() == 0:
            closed.write_text("a\n1\n")
            closed.chmod(0o600)
        for target in ("t.csv", "t.parquet", "t.sqlite", "t.duckdb"):
            with as_nobody(), pytest.raises(ShoalError, match="Permission denied"):
                write(table, folder / target)
        if closed.exists():
            with as_nobody(), pytest.raises(DataError, match="without permission to read it"):
                read(closed)
        folder.chmod(0o755)


def test_a_new_file_has_the_rights_of_any_new_file_and_a_replaced_one_keeps_its_own(tmp_path, table, way):
    before = os.umask(0o027)
    try:
        write(table, tmp_path / "t.csv")
        assert stat.S_IMODE((tmp_path / "t.csv").stat().st_mode) == 0o640
        (tmp_path / "t.csv").chmod(0o600)
        write(table, tmp_path / "t.csv", force=True)
        assert stat.S_IMODE((tmp_path / "t.csv").stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_a_symbolic_link_stays_and_its_file_is_written(tmp_path, table, way):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "real" / "file.csv")
    write(table, tmp_path / "link.csv")
    with pytest.raises(ShoalError, match="must not be there yet"):
        write(table, tmp_path / "link.csv")
    write(table.slice(1), tmp_path / "link.csv", force=True)
    assert (tmp_path / "link.csv").is_symlink()
    assert read(tmp_path / "real" / "file.csv").table.num_rows == 2
    assert names(tmp_path / "real") == ["file.csv"]


def test_input_and_output_may_be_one_file_with_force_only(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    source = read(path)
    with pytest.raises(ShoalError, match="must not be there yet"):
        write(source.table, path, like=source)
    write(source.table.slice(1), path, like=source, force=True)
    assert path.read_text() == "a,b\n3,4\n"


def test_standard_input_and_output(tmp_path):
    script = "import sys; from shoal.io import read, write; s = read('-'); write(s.table, '-', like=s)"
    content = b"a;b\r\n1,5;x\r\n;\r\n"
    run = subprocess.run(
        [sys.executable, "-c", script], input=content, capture_output=True, timeout=PATIENCE, check=True
    )
    assert run.stdout == content
    failing = (
        "from shoal.io import write; import pyarrow as pa\n"
        "def no(_): raise ValueError\n"
        "write(pa.table({'a': ['x']}), '-', check=no)"
    )
    run = subprocess.run([sys.executable, "-c", failing], capture_output=True, timeout=PATIENCE, check=False)
    assert run.stdout == b""
    assert run.returncode != 0


def test_a_pipe_can_be_read(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    feeder = threading.Thread(target=lambda: pipe.write_text("a,b\n1,2\n"))
    feeder.start()
    assert read(pipe).table.to_pydict() == {"a": ["1"], "b": ["2"]}
    feeder.join()


@pytest.mark.parametrize("name", FILES + EMBEDDED)
def test_inputs_that_cannot_be_read(tmp_path, name):
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(DataError, match="a folder"):
        read(tmp_path / name)
    (tmp_path / name).rmdir()
    (tmp_path / name).touch()
    with pytest.raises(DataError, match="an empty file"):
        read(tmp_path / name)
    if not name.startswith("t.csv"):
        (tmp_path / name).write_bytes(b"this is not what the suffix says, at all\n" * 100)
        with pytest.raises(DataError, match=r"damaged|no SQLite|no DuckDB"):
            read(tmp_path / name)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 1000)
    with pytest.raises(DataError, match="must not change while it is read"):
        read(path, progress=lambda _: path.write_text("a,b\n3,4\n"))


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("t.xyz", "the suffixes are .csv, .tsv"),
        ("t", "known suffix"),
        ("https://example.org/t.csv", "download the file first"),
        ("t.parquet.gz", "CSV and JSON lines only"),
        ("", "an empty text"),
        ("sqlite://t.db", "three slashes"),
        (7, "type int"),
    ],
)
def test_places_that_cannot_be(where, message, table):
    with pytest.raises(OptionError, match=message):
        read(where)
    with pytest.raises(OptionError, match=message):
        write(table, where)


def test_the_format_can_be_named(tmp_path, table):
    write(table, tmp_path / "odd.name", format="parquet")
    assert read(tmp_path / "odd.name", format="parquet").table.equals(table)
    with pytest.raises(OptionError, match="did you mean 'parquet'"):
        read(tmp_path / "odd.name", format="parket")


@pytest.mark.parametrize("option", [{"table": "x"}, {"query": "select 1"}, {"sheet": 1}])
def test_options_of_other_formats_are_refused(tmp_path, option):
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(OptionError, match=f"The {next(iter(option))!r} option"):
        read(tmp_path / "t.csv", **option)


def test_progress_rises_to_one(tmp_path):
    table = pa.table({"a": [str(i) for i in range(300_000)]})
    seen = []
    write(table, tmp_path / "t.csv", progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    seen.clear()
    read(tmp_path / "t.csv", progress=seen.append)
    assert seen[-1] == 1.0


def test_hashing_needs_no_memory_of_the_size_of_the_file(tmp_path):
    big = tmp_path / "big"
    with open(big, "wb") as file:
        file.truncate(50 * 2**20)
    import tracemalloc

    tracemalloc.start()
    digest = files.sha256_of(big)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 2**20
    assert digest == hashlib.sha256(bytes(50 * 2**20)).hexdigest()


def test_importing_the_package_loads_nothing_heavy():
    script = (
        "import sys, shoal.io; heavy = {'pyarrow', 'pandas', 'polars', 'duckdb', 'openpyxl', 'pyreadstat', 'numpy'}"
        "; sys.exit(bool(heavy & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=PATIENCE).returncode == 0


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [("t.xlsx", "openpyxl", "excel"), ("t.dta", "pyreadstat", "statistics"), ("t.duckdb", "duckdb", "duckdb")],
)
def test_a_missing_package_is_said_with_its_extra(tmp_path, table, monkeypatch, name, package, extra):
    write(table, tmp_path / name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ShoalError, match=rf"pip install 'shoal\[{extra}\]'"):
        read(tmp_path / name)
