"""Files get their names in one step, and only when every byte of them is on the disk."""

import hashlib
import os
import stat
import sys

import pyarrow as pa
import pytest

from shoal.io import files, write
from shoal.release.files import write_text

OLD, NEW = pa.table({"a": ["old"] * 3}), pa.table({"a": ["new"] * 5})
WRITERS = ["t.csv", "t.parquet", "t.xlsx", "t.txt"]
EMBEDDED = ["t.sqlite", "t.duckdb"]


@pytest.fixture(params=["nameless", "hidden"])
def way(request, monkeypatch):
    """Write with nameless files, and as where there are none."""
    if request.param == "hidden":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    elif not hasattr(os, "O_TMPFILE"):
        pytest.skip("no nameless files on this system")


def put(table, target, force=False):
    if target.suffix == ".txt":
        write_text("".join(table["a"].to_pylist()), target, force=force)
    else:
        write(table, target, force=force)


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_that_is_replaced_is_there_at_every_moment(tmp_path, way, name):
    """After every line of the module that writes: whoever opens the file finds the old one or the new one, whole."""
    target = tmp_path / name
    put(OLD, target)
    old, seen = target.read_bytes(), []

    def look(frame, event, arg):
        seen.append(target.read_bytes() if target.exists() else None)
        return look

    before = sys.gettrace()
    sys.settrace(lambda frame, *_: look if frame.f_code.co_filename == files.__file__ else None)
    try:
        put(NEW, target, force=True)
    finally:
        sys.settrace(before)
    new = target.read_bytes()
    assert new != old
    assert set(seen) == {old, new}
    assert seen == sorted(seen, key=lambda content: content == new)  # once new, it stays so


@pytest.fixture
def steps(monkeypatch):
    """Return what is done to files, in order: what is flushed and which names are given."""
    done = []

    def watch(name, told):
        honest = getattr(os, name)

        def watched(*args, **kwargs):
            done.append((name, *told(*args)))
            return honest(*args, **kwargs)

        monkeypatch.setattr(os, name, watched)

    def flushed(descriptor):
        status = os.fstat(descriptor)
        return ("folder", status.st_ino) if stat.S_ISDIR(status.st_mode) else ("file", status.st_ino, status.st_size)

    watch("fsync", flushed)
    for name in ("link", "replace", "rename"):
        watch(name, lambda *_: ())
    return done


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("name", [*WRITERS, *EMBEDDED])
def test_the_bytes_are_flushed_before_the_name_and_the_name_after_it(tmp_path, way, steps, name, force):
    target = tmp_path / name
    if force and name not in EMBEDDED:  # in a database that is there a table is replaced, by the database itself
        put(OLD, target)
        steps.clear()
    put(NEW, target, force)
    status = target.stat()
    named = [at for at, (step, *_) in enumerate(steps) if step != "fsync"]
    assert ("fsync", "file", status.st_ino, status.st_size) in steps[: named[0]]
    assert ("fsync", "folder", tmp_path.stat().st_ino) in steps[named[-1] :]


def test_without_proc_a_hidden_file_is_written_and_nothing_stays_open(tmp_path, monkeypatch):
    """A nameless file is reached through /proc, which may not be there."""
    there = os.path.exists
    monkeypatch.setattr(os.path, "exists", lambda path: not str(path).startswith("/proc/") and there(path))
    put(NEW, tmp_path / "warm.csv")  # whatever is opened once and kept
    before = len(os.listdir("/proc/self/fd"))
    with files.draft(tmp_path / "t.csv") as beside:
        assert beside.descriptor is None
    put(NEW, tmp_path / "t.csv")
    assert len(os.listdir("/proc/self/fd")) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv", "warm.csv"]


@pytest.mark.parametrize("size", [0, 1, 2**20, 2**20 + 1, 3 * 2**20])
def test_the_progress_of_a_hash_rises_to_one(tmp_path, size):
    (tmp_path / "big").write_bytes(bytes(size))
    seen = []
    assert files.sha256_of(tmp_path / "big", seen.append) == hashlib.sha256(bytes(size)).hexdigest()
    assert len(seen) == -(-size // 2**20)
    assert seen == sorted(set(seen))
    assert all(0 < fraction <= 1 for fraction in seen)
    assert seen[-1:] in ([], [1.0])
