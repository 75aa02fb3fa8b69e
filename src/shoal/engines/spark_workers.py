"""What every worker of Spark must have before a job begins: this version of Shoal, and compiled kernels."""

from __future__ import annotations

import fcntl
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import shoal
from shoal.engines.spark_errors import quiet, told
from shoal.errors import OptionError
from shoal.plan import Plan

LOCK = "shoal.lock"
SAYS = "python string, shoal string, kernels string"


def version() -> tuple[str, str, str]:
    """Return the versions of Python and Shoal, and a hash of the kernels: they must be the same everywhere."""
    from shoal.kernels.cache import fingerprint

    return ".".join(platform.python_version_tuple()[:2]), shoal.__version__, fingerprint()


def make_ready(session: Any, plan: Plan) -> None:
    """Check the versions of workers and have each machine compile once what a plan needs, or refuse.

    There are as many tasks as the session has cores. Those of one machine wait for the first of them, and find its
    kernels in the cache.
    """
    wanted = plan.model_dump_json()

    def task(batches: Iterator[Any]) -> Iterator[Any]:
        return _readied(batches, wanted)

    with told():
        answers = {tuple(row) for row in session.range(1024).mapInArrow(task, SAYS).distinct().collect()}
    others = answers - {version()}
    if others:
        python, ours, _ = sorted(others)[0]
        here = version()
        raise OptionError(
            f"Workers of Spark must have Python {here[0]} and Shoal {here[1]}, as the driver has. Got Python {python} "
            f"and Shoal {ours}{', with other kernels' if (python, ours) == here[:2] else ''}.",
            hint="set PYSPARK_PYTHON to the same environment everywhere: see the page on Spark.",
        )


@quiet
def _readied(batches: Iterator[Any], plan: str) -> Iterator[Any]:
    import pyarrow as pa

    for _ in batches:
        pass
    with one_at_a_time():
        warm(Plan.model_validate_json(plan))
    names = [part.split()[0] for part in SAYS.split(", ")]
    yield pa.RecordBatch.from_arrays([pa.array([text]) for text in version()], names)


def warm(plan: Plan) -> None:
    """Compile what the grouping of a block needs, or load it from the cache."""
    from shoal.release.warming import tasks

    known = tasks()
    for name in of_plan(plan):
        if name in known:
            known[name]()


def of_plan(plan: Plan) -> list[str]:
    """Return the tasks of compiling that a plan needs."""
    auto = ["method mdav*", "method ona*", "method cbfs"]
    method = auto if plan.method == "auto" else [f"method {plan.method}"]
    refinements = [] if plan.refine is None else [f"refinement {plan.refine}"]
    models = ["release with l", "release with t"] if plan.has_demands else []
    return ["method mdav", "refinement anytime", *method, *refinements, *models]  # rounds are a short search


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Let one process of this machine compile at a time; without a folder for the cache, all compile."""
    from shoal.kernels import kicks
    from shoal.kernels.cache import folder_of

    folder = folder_of(kicks.search)
    lock: Callable[[], None] | None = None
    if folder is not None:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            file = (folder / LOCK).open("a")
            fcntl.flock(file, fcntl.LOCK_EX)
            lock = file.close  # closing lets go
    try:
        yield
    finally:
        if lock is not None:
            lock()
