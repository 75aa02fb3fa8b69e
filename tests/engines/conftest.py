"""Fixtures of the tests of engines."""

import shutil
import subprocess

import pytest


@pytest.fixture
def small_disk(tmp_path):
    """Return a disk of a megabyte in memory."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    yield disk
    # Lazily: Spark may keep open what it could not write to the end.
    subprocess.run(["umount", "-l", disk], check=True)
