"""A release and its documents belong together: after a kill at any step, and with several writers at once."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import shoal
from shoal.io.turns import in_turn
from shoal.plan import Plan
from shoal.release.hooks import Hooks
from shoal.release.job import Job
from shoal.release.pipeline import run

DOCUMENTS = ["r.csv.manifest.json", "r.csv.record.json", "r.html"]


@pytest.fixture(scope="module")
def kills(tmp_path_factory):
    script = Path(__file__).with_name("killed_release.py")
    command = [sys.executable, script, tmp_path_factory.mktemp("killed")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_step_was_tried(kills):
    assert all(one["killed"] for one in kills)
    steps = {one["step"] for one in kills}
    assert steps >= {"check 1", "remove_superseded 1", "after replace 1", "after unlink 3", "write_text 3"}
    # The old release with and without its certificate, and the new one.
    states = {(one["certificate"], one["release"][0].rpartition("-")[2]) for one in kills}
    assert states == {("right", "old"), ("none", "old"), ("none", "new"), ("right", "new")}


def test_no_release_stands_beside_documents_of_another(kills):
    for one in kills:
        assert one["certificate"] in ("right", "none"), one
        assert len(one["release"]) == 1, one
        # A certificate is the last to come, after the record, and the first to go.
        if one["certificate"] == "right":
            assert "r.csv.record.json" in one["others"], one


def test_nothing_else_lies_about(kills):
    for one in kills:
        assert set(one["others"]) <= {"r.csv", *DOCUMENTS}, one
        assert one["raw"] == [], one
        assert one["private"] in ([], ["0o700"]), one
        assert one["again"]["private"] == [], one
    assert any(one["private"] for one in kills)


# --- one writer at a time ---


class Probe(Hooks):
    """Tries to have a turn in a folder, as another process would, before and after the release gets its name."""

    def __init__(self, folder):
        self.folder, self.free = folder, {}

    def taken(self, when):
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.free[when] = True
        except BlockingIOError:
            self.free[when] = False
        finally:
            os.close(descriptor)

    def on_step(self, step):
        self.taken(step)

    def on_written(self, release):
        self.taken("written")


def test_nobody_else_can_put_a_release_there_until_all_documents_are_written(tmp_path, monkeypatch):
    folder = tmp_path / "out"
    folder.mkdir()
    (tmp_path / "in.csv").write_text("age\n" + "\n".join(map(str, range(20, 29))) + "\n")
    (tmp_path / "link.csv").symlink_to(folder / "r.csv")
    probe = Probe(folder)
    inner = Path.write_text

    def watched(path, *args, **options):
        probe.taken("document")
        return inner(path, *args, **options)

    monkeypatch.setattr(Path, "write_text", watched)
    # The turn is in the folder of the file, not in that of a link to it.
    job = Job(Plan.of(k=3, method="mdav"), tmp_path / "in.csv", tmp_path / "link.csv", tmp_path / "m.json")
    run(job, probe)
    assert probe.free == {"reading": True, "grouping": True, "writing": True, "written": False, "document": False}
    probe.taken("after")
    assert probe.free["after"]
    assert shoal.verify_file(folder / "r.csv", tmp_path / "m.json").k == 3


def test_a_failed_release_gives_its_turn_back(tmp_path, monkeypatch):
    (tmp_path / "in.csv").write_text("age\n" + "\n".join(map(str, range(20, 29))) + "\n")
    (tmp_path / "m.json").mkdir()
    probe = Probe(tmp_path)
    monkeypatch.setattr(Job, "check_files", lambda self, **_: None)
    with pytest.raises(shoal.ShoalError, match="must be the path of a file"):
        run(Job(Plan.of(k=3, method="mdav"), tmp_path / "in.csv", tmp_path / "r.csv", tmp_path / "m.json"), probe)
    probe.taken("after")
    assert probe.free["after"]


@pytest.mark.parametrize("error", [OSError(37, "no locks"), PermissionError(13, "no")])
def test_without_locks_there_are_no_turns(tmp_path, monkeypatch, error):
    def refuse(*_):
        raise error

    monkeypatch.setattr("shoal.io.turns.fcntl.flock", refuse)
    with in_turn(tmp_path), in_turn(tmp_path), in_turn(tmp_path / "nowhere"):
        pass
