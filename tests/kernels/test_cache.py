"""Compiled kernels are kept between runs, but never longer than the code they were made of."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.caching import NullCache

import shoal
from shoal.kernels import cache

TINY = """
from shoal.kernels.jit import kernel
from shoal.kernels.tiny_constant import VALUE


@kernel
def value():
    return VALUE
"""
SCRIPT = """
import sys
from shoal.kernels.jit import told_of_compiling
from shoal.kernels.tiny import value

compiled = []
with told_of_compiling(lambda: compiled.append(1)):
    print(value(), len(compiled), int("numba.np.arraymath" in sys.modules))
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the package with a kernel that uses a constant of another file; a function that runs it."""
    home = tmp_path / "src" / "shoal" / "kernels"
    home.mkdir(parents=True)
    (home.parent / "__init__.py").touch()
    for name in ("__init__.py", "jit.py", "cache.py"):
        shutil.copy(Path(shoal.__file__).parent / "kernels" / name, home)
    (home / "tiny.py").write_text(TINY)
    (home / "tiny_constant.py").write_text("VALUE = 1\n")

    def run():
        environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src"), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        command = [sys.executable, "-c", SCRIPT]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return tuple(int(word) for word in done.stdout.split())

    return home, run


def test_a_change_in_another_file_is_seen_and_replaces_what_was_cached(package, tmp_path):
    home, run = package
    assert run()[:2] == (1, 1)
    assert run()[:2] == (1, 0)
    (home / "tiny_constant.py").write_text("VALUE = 2\n")
    assert run()[:2] == (2, 1)
    assert run()[:2] == (2, 0)
    assert len(list((tmp_path / "cache").rglob("shoal.kernels.tiny.value.*"))) == 1


def test_what_is_touched_or_broken_does_no_harm(package, tmp_path):
    home, run = package
    assert run()[:2] == (1, 1)
    os.utime(home / "tiny.py", (1, 1))
    assert run()[:2] == (1, 0)
    (kept,) = (tmp_path / "cache").rglob("shoal.kernels.tiny.value.*")
    kept.write_bytes(kept.read_bytes()[:100])
    assert run()[:2] == (1, 1)
    kept.write_bytes(b"")
    assert run()[:2] == (1, 1)


def test_what_only_the_compiler_needs_is_loaded_with_it_alone(package):
    _, run = package
    assert run() == (1, 1, 1)
    assert run() == (1, 0, 0)


def test_a_kernel_without_a_place_for_its_cache_is_compiled_each_time():
    names = {"__name__": "nowhere"}
    exec("def f():\n    return 1", names)
    assert isinstance(cache.cache_of(names["f"]), NullCache)


def test_stale_files_are_removed(tmp_path):
    files = cache._Files(str(tmp_path), "shoal.kernels.old.f.py311")
    files.save(("kept",), 1)
    files.valid = "older"
    files.save(("stale",), 2)
    (tmp_path / "shoal.kernels.broken.py311.0.kernel").write_bytes(b"")
    for name, written in (("shoal.abandoned.tmp", 0), ("shoal.fresh.tmp", None)):
        (tmp_path / name).touch()
        if written is not None:
            os.utime(tmp_path / name, (written, written))
    (tmp_path / "other.txt").touch()
    assert cache.remove_stale(tmp_path) == 3
    files.valid = cache.valid_header()
    assert files.load(("kept",)) == 1
    assert {path.name for path in tmp_path.iterdir()} >= {"shoal.fresh.tmp", "other.txt"}
    assert len(list(tmp_path.iterdir())) == 3
