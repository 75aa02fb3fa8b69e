"""The stream engine when something goes wrong: killed and gone on with, stopped, on a full disk, with broken files."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from killed_stream import POINTS, released

from shoal.engines import auditing, rounds, stream
from shoal.errors import DataError, DisclosureError, ShoalError

SCRIPT = Path(__file__).with_name("killed_stream.py")
QUICK = ("routing", "later round", "auditing", "naming", "documents")
LONG = tuple(point for point in POINTS if point not in QUICK)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with a table."""
    monkeypatch.delenv("TMPDIR", raising=False)
    rng = np.random.default_rng(0)
    n = 900
    ill = pa.array(["flu", "cold", None]).take(pa.array(rng.integers(0, 3, n)))
    columns = {"a": rng.normal(size=n), "b": rng.integers(0, 99, n), "ill": ill, "note": [f"n{i}" for i in range(n)]}
    pq.write_table(pa.table(columns), tmp_path / "in.parquet", row_group_size=200)
    return tmp_path


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def killed_at(points, folder, **fields):
    command = [sys.executable, SCRIPT, folder, ",".join(points), json.dumps(fields)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_killed(points, folder, **fields):
    released(folder, "whole.parquet", **fields)
    for point, found in killed_at(points, folder, **fields).items():
        assert found["ended"] == -9, point
        assert (found["left"], found["private"], found["rest"]) == (1, True, []), point
        # Only a release that passed its audit has its name, and its documents come after it.
        assert (found["named"], found["documents"]) == (point == "documents", False), point
        assert (found["again"], found["hidden"]) == (0, []), point
        assert found["notes"][0] == "Goes on where an earlier run was killed.", point
        assert (found["rows"], found["k"]) == (900, 3), point
        if not fields.get("shuffle"):
            assert found["sha256"] == sha256(folder / "whole.parquet"), point


def test_a_killed_run_goes_on_to_the_same_release(folder):
    check_killed(QUICK, folder)


@pytest.mark.long
@pytest.mark.parametrize("fields", [{}, {"l": 2}, {"shuffle": True}])
def test_a_run_killed_anywhere_goes_on_to_the_same_release(folder, fields):
    check_killed(POINTS if fields else LONG, folder, **fields)


@pytest.mark.parametrize("change", ["source", "reading"])
def test_a_changed_source_or_another_way_to_read_it_begins_anew(folder, change):
    released(folder, "whole.parquet")
    command = [sys.executable, "-c", f"""
import sys; sys.path.insert(0, {str(SCRIPT.parent)!r})
import killed_stream
from pathlib import Path
killed_stream.released(Path({str(folder)!r}), "out.parquet", point="grouping")
"""]  # fmt: skip
    assert subprocess.run(command, check=False).returncode == -9
    if change == "source":
        os.utime(folder / "in.parquet")
    released(folder, "out.parquet", resume=True, reading={"format": "parquet"} if change == "reading" else None)
    said = json.loads((folder / "out.parquet.said").read_text())
    assert said["notes"][0].startswith("Begins anew")
    assert sha256(folder / "out.parquet") == sha256(folder / "whole.parquet")
    assert not [name for name in os.listdir(folder) if name.startswith(".")]


def nothing_is_left(folder):
    return sorted(set(os.listdir(folder)) - {"disk"}) == ["in.parquet"]


def test_ctrl_c_leaves_nothing(folder, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    for place, name in ((rounds, "group_block"), (rounds, "refine_block"), (auditing, "audit_partition")):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, stopped)
            with pytest.raises(KeyboardInterrupt):
                released(folder, "out.parquet")
        assert nothing_is_left(folder)


def test_no_release_without_a_passed_audit(folder, monkeypatch):
    """A defect that publishes a row of its own is found on the file, and nothing gets a name."""
    real = rounds.publish_block

    def defective(values, layout):
        table, *others = real(values, layout)
        changed = np.array(table.column("b").to_numpy())
        changed[0] += 1000
        at = table.schema.get_field_index("b")
        table = table.set_column(at, table.schema.field("b"), pa.array(changed, table.schema.field("b").type))
        return table, *others

    monkeypatch.setattr(rounds, "publish_block", defective)
    with pytest.raises(DisclosureError, match="must hide every record among 3"):
        released(folder, "out.parquet")
    assert nothing_is_left(folder)


def test_a_source_that_changes_between_passes_is_refused(folder, monkeypatch):
    real = stream._Stream._routed

    def changed(self, *arguments):
        result = real(self, *arguments)
        os.utime(folder / "in.parquet")
        return result

    monkeypatch.setattr(stream._Stream, "_routed", changed)
    with pytest.raises(DataError, match="must stay as it is"):
        released(folder, "out.parquet")
    assert nothing_is_left(folder)


def test_a_damaged_row_group_is_refused(folder):
    path = folder / "in.parquet"
    where = pq.ParquetFile(path).metadata.row_group(3).column(3)
    content = bytearray(path.read_bytes())
    start = where.dictionary_page_offset or where.data_page_offset
    content[start : start + 30] = bytes(30)
    path.write_bytes(content)
    with pytest.raises(DataError, match="must be a complete parquet file"):
        released(folder, "out.parquet")
    assert nothing_is_left(folder)


def test_a_full_disk_is_refused(folder, small_disk, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(small_disk))
    for size in (10, 60):  # kilobytes: full while rows are sent to blocks, and later
        subprocess.run(["mount", "-o", f"remount,size={size}k", small_disk], check=True)
        with pytest.raises(ShoalError, match="Got: a full disk"):
            released(folder, "out.parquet")
        assert nothing_is_left(folder)
        assert not list(small_disk.iterdir())


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_command_that_is_stopped_while_it_groups_leaves_nothing(folder, name):
    """Kernels cannot be interrupted: the process ends at once, and the folder goes before it."""
    code = f"""
import os, signal, time
from shoal.cli.app import app
from shoal.engines import rounds
def grouped(*_, **__):
    os.kill(os.getpid(), signal.{name})
    time.sleep(600)
assert rounds.group_block
rounds.group_block = grouped
app()
"""
    arguments = ("anonymize", "in.parquet", "--qi", "a,b", "--rest", "drop", "--engine", "stream", "--memory", "1GB")
    command = [sys.executable, "-c", code, *arguments, "-o", "out.parquet"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 128 + getattr(signal, name), done.stderr
    assert "nothing was written" in done.stderr
    assert nothing_is_left(folder)
