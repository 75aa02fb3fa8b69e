"""Fixtures of the tests of engines."""

import shutil
import subprocess

import pyarrow.parquet as pq
import pytest
from in_pieces import people
from on_spark import HOW, PLAN, N

from shoal.engines.spark_run import release_of


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


@pytest.fixture(scope="session")
def table():
    return people(N)


@pytest.fixture(scope="session")
def parquet(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("spark") / "people.parquet"
    pq.write_table(table, path)
    return path


@pytest.fixture(scope="session")
def made(spark, parquet):
    """Return the release that others are compared with: of the rows in one partition."""
    return release_of(spark.read.parquet(str(parquet)).coalesce(1), PLAN, HOW)
