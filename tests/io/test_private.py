"""Private folders: closed to others, and removed once nobody works in them."""

import errno
import fcntl
import os
import stat
import subprocess
import sys

import pytest

from shoal.io import private
from shoal.io.private import PREFIX, private_folder, sweep


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_only_its_owner_can_look_into_a_private_folder(tmp_path):
    before = os.umask(0)
    try:
        with private_folder(tmp_path) as folder:
            assert folder.parent == tmp_path
            assert folder.name.startswith(".shoal-unverified-")
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    finally:
        os.umask(before)
    assert names(tmp_path) == []


def test_it_is_removed_after_an_error(tmp_path):
    with pytest.raises(KeyboardInterrupt), private_folder(tmp_path) as folder:  # noqa: PT012
        (folder / "t.duckdb").write_text("unverified")
        raise KeyboardInterrupt
    assert names(tmp_path) == []


def test_a_folder_in_use_stays_and_a_left_one_goes(tmp_path):
    script = (
        "import sys; from pathlib import Path; from shoal.io.private import private_folder\n"
        "with private_folder(Path(sys.argv[1])) as folder:\n"
        "    (folder / 'data').write_text('x')\n"
        "    print(folder.name, flush=True)\n"
        "    sys.stdin.read()"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", script, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    name = running.stdout.readline().strip()
    sweep(tmp_path)
    assert names(tmp_path) == [name]
    with private_folder(tmp_path) as ours:
        assert names(tmp_path) == sorted([name, ours.name])
    running.kill()
    running.communicate()
    assert names(tmp_path) == [name]
    sweep(tmp_path)
    assert names(tmp_path) == []


def test_what_only_looks_like_a_private_folder_is_left_alone(tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "precious")
    (tmp_path / f"{PREFIX}file").touch()
    before = names(tmp_path)
    sweep(tmp_path)
    assert names(tmp_path) == before
    assert names(tmp_path / "precious") == ["file"]


def test_a_folder_of_somebody_else_is_left_alone(tmp_path, monkeypatch):
    left = tmp_path / f"{PREFIX}theirs"
    left.mkdir()
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    sweep(tmp_path)
    assert left.exists()
    monkeypatch.undo()
    sweep(tmp_path)
    assert not left.exists()


def test_without_locks_folders_are_made_but_never_swept(tmp_path, monkeypatch):
    def unsupported(*_):
        raise OSError(errno.ENOLCK, "")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    (tmp_path / f"{PREFIX}perhaps-in-use").mkdir()
    with private_folder(tmp_path) as folder:
        assert folder.is_dir()
    assert names(tmp_path) == [f"{PREFIX}perhaps-in-use"]


@pytest.mark.parametrize("moment", ["before it has a lock", "before it is locked"])
def test_a_folder_that_is_swept_at_once_is_made_again(tmp_path, monkeypatch, moment):
    original, swept = private._opened, []

    def raced(folder):
        if not swept:
            swept.append(folder)
            if moment == "before it is locked":
                lock = original(folder)
                sweep(tmp_path)
                return lock
            folder.rmdir()
        return original(folder)

    monkeypatch.setattr(private, "_opened", raced)
    with private_folder(tmp_path) as folder:
        assert folder not in swept
        assert folder.is_dir()
    assert names(tmp_path) == []


def test_a_parent_that_is_not_there_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError), private_folder(tmp_path / "nowhere"):
        pass
