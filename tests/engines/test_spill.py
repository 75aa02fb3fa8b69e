"""Spill folders: private, gone with the run however it ends, and of use to a run that goes on."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from shoal.engines import spill as module
from shoal.engines.buckets import Buckets
from shoal.engines.spill import Spill, key_of, spill_parent
from shoal.errors import ShoalError

PROCESS = Path(__file__).with_name("spilling_process.py")
ROWS = pa.table({"a": np.arange(100), "b": pa.array(["x", None] * 50).dictionary_encode()})


def ended(how: str, parent: Path) -> subprocess.CompletedProcess[str]:
    """Return what a process with a spill folder said that was ended in some way."""
    return subprocess.run([sys.executable, PROCESS, how, parent], capture_output=True, text=True, check=False)


def modes(folder: Path) -> set[int]:
    paths = [folder, *folder.rglob("*")]
    return {stat.S_IMODE(path.lstat().st_mode) for path in paths}


def test_only_the_owner_can_look_into_it(tmp_path):
    before = os.umask(0)
    try:
        with Spill(tmp_path, key="k") as spill:
            buckets = Buckets(spill, "rows", ROWS.schema, 3)
            buckets.append(ROWS, np.arange(100) % 3)
            buckets.finish()
            spill.mark("done")
            spill.write("note", "something")
            assert modes(spill.folder) == {0o700, 0o600}
            folder = spill.folder
    finally:
        os.umask(before)
    assert not folder.exists()
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("hangups")
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_that_end_a_process_leave_nothing(tmp_path, how):
    done = ended(how, tmp_path)
    assert str(tmp_path) in done.stdout
    assert done.returncode in (-getattr(signal, how), 128 + getattr(signal, how))
    assert not list(tmp_path.iterdir())


def test_errors_leave_nothing(tmp_path):
    with pytest.raises(KeyError), Spill(tmp_path):
        raise KeyError
    assert not list(tmp_path.iterdir())


def test_what_a_killed_process_leaves_is_private_and_goes_with_the_next(tmp_path):
    assert ended("kill", tmp_path).returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert modes(left) == {0o700, 0o600}
    with Spill(tmp_path) as spill:
        assert spill.folder != left
        assert not spill.resumed
        assert list(tmp_path.iterdir()) == [spill.folder]
        with Spill(tmp_path) as other:  # of a process that runs: it stays
            assert spill.folder.exists()
            assert other.folder.exists()
    assert not list(tmp_path.iterdir())


def test_a_run_goes_on_where_a_killed_one_was(tmp_path, monkeypatch):
    ended("kill", tmp_path)
    (left,) = tmp_path.iterdir()
    with Spill(tmp_path, key="the same", resume=True) as spill:
        assert spill.resumed
        assert spill.folder == left
        assert spill.marked("spread") == {"rows": 1000}
        assert spill.marked("other") is None
        buckets = Buckets.again(spill, "rows")
        assert buckets.counts.tolist() == [250] * 4
        assert buckets.read(1).column("a").to_pylist() == list(range(1, 1000, 4))
    assert not list(tmp_path.iterdir())
    for key, boot in (("another", None), ("the same", "after a restart"), (None, None)):
        ended("kill", tmp_path)
        if boot is not None:
            monkeypatch.setattr(module, "_boot", lambda boot=boot: boot)
        with Spill(tmp_path, key=key, resume=True) as spill:
            assert not spill.resumed
            assert list(tmp_path.iterdir()) == [spill.folder]


def test_a_folder_that_others_can_look_into_is_not_taken(tmp_path):
    ended("kill", tmp_path)
    (left,) = tmp_path.iterdir()
    left.chmod(0o755)
    with Spill(tmp_path, key="the same", resume=True) as spill:
        assert not spill.resumed


def test_a_limit_on_files_is_said_in_one_sentence(tmp_path):
    done = ended("full", tmp_path)
    assert "must have room for what does not fit into memory. Got: a full disk or a limit" in done.stdout
    assert not done.stderr
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_said_in_one_sentence(small_disk):
    done = ended("fill", small_disk)
    assert "must have room for what does not fit into memory. Got: a full disk or a limit" in done.stdout
    assert not done.stderr
    assert not list(small_disk.iterdir())


def test_keys_tell_runs_apart():
    assert key_of("a", "b") == key_of("a", "b")
    assert len({key_of("a", "b"), key_of("ab", ""), key_of("b", "a")}) == 3
    assert key_of("a", None) is None


def test_where_it_lies(tmp_path, monkeypatch):
    monkeypatch.delenv("TMPDIR", raising=False)
    assert spill_parent(tmp_path / "out.csv") == tmp_path
    assert spill_parent().is_dir()
    monkeypatch.setenv("TMPDIR", "/somewhere")
    assert spill_parent(tmp_path / "out.csv") == Path("/somewhere")
    with pytest.raises(ShoalError, match="No such file"), Spill("/somewhere/else"):
        pass


def test_buckets_keep_order_and_bound_what_is_in_memory(tmp_path):
    rng = np.random.default_rng(0)
    with Spill(tmp_path) as spill:
        buckets = Buckets(spill, "rows", ROWS.schema, 7, memory=5000)
        every = []
        for _ in range(40):
            own = rng.integers(0, 5, 100)  # the last two stay empty
            buckets.append(ROWS, own)
            every.append(own)
            assert sum(table.nbytes for table, _ in buckets._kept) < 5000
        own = np.concatenate(every)
        assert buckets.finish().tolist() == np.bincount(own, minlength=7).tolist()
        whole = pa.concat_tables([ROWS] * 40)
        for bucket in range(7):
            rows = whole.filter(pa.array(own == bucket))
            assert buckets.read(bucket).column("a").to_pylist() == rows.column("a").to_pylist()
            assert buckets.read(bucket).column("b").to_pylist() == rows.column("b").to_pylist()
        buckets.remove(0)
        assert not (buckets.folder / "0.rows").exists()
        buckets.remove()
        assert not buckets.folder.exists()
        again = Buckets(spill, "rows", ROWS.schema, 2)
        assert again.finish().tolist() == [0, 0]
        assert again.read(0).num_rows == 0
