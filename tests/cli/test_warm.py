"""``shoal warm`` says where the cache lies, and what it could not compile."""

from pathlib import Path

import pytest

from shoal.release import warming


@pytest.fixture
def warmed(monkeypatch):
    """Return a function that sets what was compiled, and returns with how many jobs."""

    def become(folder, failed=()):
        jobs = []
        monkeypatch.setattr(warming, "warm_up", lambda n, progress: jobs.append(n) or warming.Warmed(folder, failed))
        return jobs

    return become


def test_it_says_where_the_cache_lies(run, warmed):
    jobs = warmed(Path("/some/cache"))
    said = run("warm", "--jobs", 3)
    assert said.stdout == "Compiled kernels are in /some/cache\n"
    assert said.stderr == ""
    assert jobs == [3]
    assert run("warm", "-q").output == ""


def test_it_warns_of_what_it_could_not_compile(run, warmed):
    warmed(Path("/some/cache"), ("method mdav",))
    assert "'method mdav' failed" in run("warm").stderr
    warmed(None)
    assert "Set NUMBA_CACHE_DIR" in " ".join(run("warm").stderr.split())


def test_at_least_one_process_is_needed(run):
    assert "at least 1. Got 0." in " ".join(run("warm", "--jobs", 0, code=2).stderr.split())
