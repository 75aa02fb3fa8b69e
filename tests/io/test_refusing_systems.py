"""Systems that refuse: every error has words, leaves nothing behind, and lies about nothing."""

import errno
import os
import shutil
import stat
import subprocess
import sys
import threading
from types import SimpleNamespace

import pyarrow as pa
import pytest
from test_safe_writing import EMBEDDED, FILES, largest_file, names

from shoal.errors import DataError, ShoalError
from shoal.io import read, write
from shoal.io.files import checked_target, draft

TABLE = pa.table({"a": ["x", "y"], "b": ["1", "2"]})
LONG = pa.table({"a": [f"{i * 2654435761 % 2**32:032}" for i in range(20_000)]})


@pytest.fixture
def hidden(monkeypatch):
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)


def failing(monkeypatch, name, number):
    def fail(*_, **__):
        raise OSError(number, "a value of the table")

    monkeypatch.setattr(os, name, fail)


@pytest.mark.parametrize("name", FILES + EMBEDDED)
def test_a_full_disk_is_called_one(tmp_path, name):
    with largest_file(60_000), pytest.raises(ShoalError, match=r"must fit on the disk.*free some space"):
        write(LONG, tmp_path / name)
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", EMBEDDED)
def test_a_full_disk_is_called_one_when_a_table_is_added(tmp_path, name):
    write(TABLE, tmp_path / name, name_of_table="old")
    with largest_file((tmp_path / name).stat().st_size + 20_000), pytest.raises(ShoalError, match="must fit on"):
        write(LONG, tmp_path / name, name_of_table="new")
    assert read(tmp_path / name).table.equals(TABLE)


def test_errors_of_the_system_while_a_text_is_written_have_words(tmp_path):
    target = checked_target(tmp_path / "report.html", force=False)
    with largest_file(1000), pytest.raises(ShoalError, match="must fit on the disk"), draft(target) as beside:
        beside.path.write_text("x" * 5000)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EDQUOT, "free some space"),
        (errno.EROFS, "another disk"),
        (errno.EACCES, "permission"),
        (errno.EIO, "check the disk"),
        (errno.ENAMETOOLONG, "shorter name"),
    ],
)
@pytest.mark.parametrize("step", ["fsync", "link"])
def test_an_error_while_a_file_gets_its_name(tmp_path, monkeypatch, step, number, said):
    failing(monkeypatch, step, number)
    with pytest.raises(ShoalError, match=said) as caught:
        write(TABLE, tmp_path / "t.csv")
    assert "value of the table" not in str(caught.value)
    assert names(tmp_path) == []


def test_a_folder_that_cannot_be_flushed_does_not_unwrite_the_file(tmp_path, monkeypatch):
    original = os.fsync

    def fsync(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, "")
        original(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    number = errno.EINVAL  # this file system cannot do it
    write(TABLE, tmp_path / "a.csv")
    number = errno.EIO
    with pytest.raises(ShoalError, match="the file is complete and has its name"):
        write(TABLE, tmp_path / "b.csv")
    assert names(tmp_path) == ["a.csv", "b.csv"]


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("name", ["t.csv", "t.sqlite", "t.duckdb"])
def test_a_file_is_flushed_before_it_gets_its_name_and_its_folder_after(tmp_path, monkeypatch, name, force):
    target = tmp_path / name
    if force and name == "t.csv":
        target.touch()
    flushed = []
    original = os.fsync

    def fsync(descriptor):
        status = os.fstat(descriptor)
        there = target.exists() and target.stat().st_size > 0
        flushed.append(("folder" if stat.S_ISDIR(status.st_mode) else "file", there))
        original(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    write(TABLE, target, force=force)
    assert flushed == [("file", False), ("folder", True)]


@pytest.mark.parametrize("name", ["t.csv", "t.xlsx", "t.sqlite", "t.duckdb"])
def test_a_folder_that_is_removed_meanwhile(tmp_path, name):
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(ShoalError, match=r"must be a file that can be written|must carry out"):
        write(TABLE, folder / name, check=lambda _: shutil.rmtree(folder, ignore_errors=True))
    assert names(tmp_path) == []


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP])
def test_a_disk_without_hard_links(tmp_path, monkeypatch, hidden, number):
    failing(monkeypatch, "link", number)
    write(TABLE, tmp_path / "t.csv")
    assert read(tmp_path / "t.csv").table.equals(TABLE)
    with pytest.raises(ShoalError, match="must not be there yet"):
        write(TABLE, tmp_path / "u.csv", check=lambda _: (tmp_path / "u.csv").write_text("another"))
    assert (tmp_path / "u.csv").read_text() == "another"
    failing(monkeypatch, "replace", errno.EIO)
    with pytest.raises(ShoalError, match="check the disk"):
        write(TABLE, tmp_path / "v.csv")
    assert names(tmp_path) == ["t.csv", "u.csv"]


@pytest.mark.parametrize("name", EMBEDDED)
def test_a_database_that_appears_meanwhile_is_not_replaced(tmp_path, name):
    target = tmp_path / name

    def check(_):
        target.write_bytes(b"of another process")

    with pytest.raises(ShoalError):
        write(TABLE, target, check=check)
    assert target.read_bytes() == b"of another process"
    assert names(tmp_path) == [name]


def test_an_empty_file_becomes_a_database(tmp_path):
    (tmp_path / "t.sqlite").touch()
    write(TABLE, tmp_path / "t.sqlite")
    assert read(tmp_path / "t.sqlite").table.equals(TABLE)


def test_two_writers_of_one_file_at_once(tmp_path):
    target = tmp_path / "t.csv"
    together = threading.Barrier(2)
    outcomes = []

    def run(value, force):
        try:
            write(pa.table({"a": [value] * 1000}), target, force=force, check=lambda _: together.wait(), format="csv")
            outcomes.append(value)
        except ShoalError as error:
            outcomes.append(str(error))

    for force in (False, True):
        outcomes.clear()
        threads = [threading.Thread(target=run, args=(value, force)) for value in ("one", "two")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        there = read(target).table.column("a").unique().to_pylist()
        assert len(there) == 1  # the whole file of one of them
        refused = [outcome for outcome in outcomes if outcome not in ("one", "two")]
        assert len(refused) == (0 if force else 1)
        assert all("must not be there yet" in outcome for outcome in refused)
        assert names(tmp_path) == ["t.csv"]


def test_targets_that_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    (tmp_path / "dangling.csv").symlink_to(tmp_path / "nowhere" / "t.csv")
    for name, said in (
        ("pipe.csv", "with -"),
        ("loop.csv", "symbolic links"),
        ("dangling.csv", "make the folder first"),
        ("x" * 300 + ".csv", "shorter name"),
        ("nul\0.csv", "NUL"),
    ):
        with pytest.raises(ShoalError, match=said):
            write(TABLE, tmp_path / name, force=True)
    assert names(tmp_path) == ["dangling.csv", "loop.csv", "pipe.csv"]


def test_sources_with_impossible_names(tmp_path):
    for name in ("x" * 300 + ".csv", "nul\0.csv", "x" * 300 + ".sqlite"):
        with pytest.raises(DataError, match="must be a file that can be read"):
            read(tmp_path / name)


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1"])
def test_standard_output_is_called_by_its_own_name(name):
    script = (
        f"from shoal.io import write; import pyarrow as pa\nwrite(pa.table({{'a': ['x']}}), {name!r}, format='csv')"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "Got a stream. Hint: write CSV to standard output with -." in run.stderr
    assert run.stdout == ""


def run_in_python(script, **how):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, **how)


def test_streams_that_are_closed():
    said = run_in_python("import os, sys; sys.stdin = None; from shoal.io import read; read('-')").stderr
    assert "DataError: Standard input must be open" in said
    script = "import sys; sys.stdout = None; import pyarrow as pa; from shoal.io import write"
    said = run_in_python(f"{script}; write(pa.table({{'a': ['x']}}), '-')").stderr
    assert "ShoalError: Standard output must be open" in said


def test_standard_output_on_a_full_disk():
    script = "import pyarrow as pa; from shoal.io import write; write(pa.table({'a': ['x' * 9999] * 99}), '-')"
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            [sys.executable, "-c", script], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert "Got: No space left on device; a part of the release may have been sent" in run.stderr


def test_a_full_temporary_folder():
    content = "a\n" + "x\n" * 100_000
    script = (
        "import resource; from shoal.io import read\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY)); read('-')"
    )
    said = run_in_python(script, input=content).stderr
    assert "ShoalError: The folder for temporary files must have room" in said
    assert "set TMPDIR" in said


def test_a_temporary_folder_that_is_not_there(tmp_path, monkeypatch):
    import tempfile

    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(ShoalError, match="set TMPDIR"):
        read(pipe)


def test_a_standard_input_that_cannot_be_read(monkeypatch):
    class Broken:
        def read(self, _):
            raise OSError(errno.EIO, "a value of the table")

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Broken()))
    with pytest.raises(DataError, match=r"input standard input must be readable to its end\. Got: Input/output"):
        read("-")


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("t.csv", "csv_files.encodings"),
        ("t.parquet", "arrow_files.sha256_of"),
        ("t.xlsx", "excel.sha256_of"),
        ("t.dta", "statistics.sha256_of"),
    ],
)
def test_a_disk_that_fails_while_a_file_is_read(tmp_path, monkeypatch, name, step):
    def fail(*_):
        raise OSError(errno.EIO, "a value of the table")

    write(TABLE, tmp_path / name)
    monkeypatch.setattr(f"shoal.io.{step}", fail)
    with pytest.raises(DataError, match="readable to its end") as caught:
        read(tmp_path / name)
    assert "value of the table" not in str(caught.value)


def test_a_file_that_is_removed_while_it_is_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 1000)
    with pytest.raises(DataError, match="must not change while it is read"):
        read(path, progress=lambda _: path.unlink(missing_ok=True))


def test_a_change_that_resets_the_time_of_modification_is_noticed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 1000)
    status = path.stat()

    def change(_):
        with open(path, "r+b") as file:
            file.seek(4)
            file.write(b"9")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    with pytest.raises(DataError, match="must not change while it is read"):
        read(path, progress=change)


@pytest.mark.parametrize("way", ["nameless", "private"])
def test_a_private_file_is_private_from_the_start_and_stays_so(tmp_path, monkeypatch, way):
    if way == "private":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    target = tmp_path / "t.record.json"
    before = os.umask(0)
    try:
        for force, old in ((False, None), (True, 0o644), (True, 0o400)):
            if old is not None:
                target.chmod(old)
            with draft(target, mode=0o600) as beside:
                assert stat.S_IMODE(beside.path.stat().st_mode) == 0o600
                beside.path.write_text("{}")
                beside.publish(force)
            assert stat.S_IMODE(target.stat().st_mode) == (0o600 if old != 0o400 else 0o400)
    finally:
        os.umask(before)
