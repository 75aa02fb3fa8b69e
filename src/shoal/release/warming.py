"""Everything that may have to be compiled, as tasks that can be done side by side.

The methods are those of the registry, so that a new one is covered by itself: each is run on a table so small that it
needs no index, and on one that needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import ShoalError
from shoal.kernels import kicks
from shoal.kernels.cache import folder_of, remove_stale
from shoal.partitioning import compiling
from shoal.partitioning.paths import LARGE
from shoal.partitioning.pool import SMALL_TABLE
from shoal.partitioning.registry import METHODS, REFINEMENTS, Method, find
from shoal.partitioning.run import partition, refine
from shoal.progress import Progress, throttled

K = 3
# Records of the examples: for two groups, few enough to prove an optimum, without an index, with one.
TWO, FEWEST, FEW, MANY = 7, 12, 60, SMALL_TABLE + 100
MODELS: dict[str, dict[str, Any]] = {"l": {"l": 2}, "t": {"t": 0.4}}


def tasks() -> dict[str, Callable[[], None]]:
    """Return all tasks by their names."""
    found = dict(compiling.TASKS)
    found |= {f"method {method.name}": partial(_run, method) for method in METHODS}
    found |= {f"refinement {refinement.name}": partial(_refine, refinement.name) for refinement in REFINEMENTS}
    found |= {f"release with {name}": partial(_release, wishes) for name, wishes in MODELS.items()}
    return found | {"bounds": _bounds, "links": _links}


def stages() -> list[list[str]]:
    """Return the names of all tasks: what others are put together from, these, and what would wait for them."""
    parts = [name for name in compiling.TASKS if not name.endswith("search")]
    index = ["method mdav"]
    whole = [name for name in compiling.TASKS if name not in parts]
    rest = [name for name in tasks() if name not in (*parts, *index, *whole)]
    return [parts + index, whole, rest]


class Warmed(NamedTuple):
    """What was compiled.

    Attributes
    ----------
    folder : Path or None
        Where the cache lies, None if no folder can be written to.
    failed : tuple of str
        Tasks that could not be done.
    """

    folder: Path | None
    failed: tuple[str, ...]


def warm_up(jobs: int | None = None, progress: Progress | None = None) -> Warmed:
    """Compile everything, in `jobs` processes (default: as many as there are processors)."""
    folder = folder_of(kicks.search)
    if folder is None:
        return Warmed(None, ())
    remove_stale(folder)
    report = throttled(progress)
    total = len(tasks())
    failed: list[str] = []
    done = count(1)
    workers = [compiling.Worker(__name__) for _ in range(jobs or compiling.processors())]
    free: SimpleQueue[compiling.Worker] = SimpleQueue()
    for worker in workers:
        free.put(worker)

    def run(name: str) -> None:
        worker = free.get()
        worker.give(name)
        if not worker.answer():
            failed.append(name)
        free.put(worker)
        report(next(done) / total)

    try:
        for stage in stages():
            with ThreadPoolExecutor(len(workers)) as threads:
                list(threads.map(run, stage))
    finally:
        for worker in workers:
            worker.end()
    return Warmed(folder, tuple(failed))


def _table(n: int, columns: int = 3) -> Array:
    return np.random.default_rng(0).normal(size=(n, columns))


def _run(method: Method) -> None:
    sizes = (TWO, FEWEST) if method.optimal and not method.univariate else (FEW, MANY)
    options: dict[str, Any] = {"max_steps": 1} if any(option.name == "max_steps" for option in method.options) else {}
    for n in sizes:
        with suppress(ShoalError):  # some are for few records only
            partition(_table(n, 1 if method.univariate else 3), K, method.name, random_state=0, **options)
    if method.univariate:
        partition(_table(2 * LARGE, 1), LARGE, method.name)


def _refine(name: str) -> None:
    options: dict[str, Any] = {"max_steps": 1} if name == "anytime" else {}
    for n in (FEW, MANY):
        X = _table(n)
        refine(X, partition(X, K, "mdav"), K, name, random_state=0, **options)


def _release(wishes: dict[str, Any]) -> None:
    """Publish an invented table in all ways that there are to satisfy a model."""
    import warnings

    import pyarrow as pa

    from shoal.partitioning.enforcement import WAYS
    from shoal.release.run import anonymize

    for n in (FEW, MANY):
        X = _table(n, 2)
        ills = pa.array([("flu", "gout", "none")[row % 3] for row in range(n)])
        table = pa.table({"a": X[:, 0], "b": X[:, 1], "ill": ills})
        for way in ("best", *WAYS):
            with warnings.catch_warnings(), suppress(ShoalError):  # not every way is for every model
                warnings.simplefilter("ignore")
                fields: dict[str, Any] = {"enforcement": way, **wishes}
                anonymize(table, K, quasi_identifiers=["a", "b"], sensitive_attributes=["ill"], method="mdav", **fields)


def _bounds() -> None:
    from shoal.measure.bounds import lower_bound

    for n in (FEW, MANY):
        lower_bound(_table(n), K, effort="quick")
    lower_bound(_table(FEW), K, effort="lp")
    lower_bound(_table(MANY), K, effort="regions", time_limit=2.0)
    # With pairs, the search looks for a proof.
    partition(_table(FEW), 2, find("anytime").name, time_limit=2.5, random_state=0)


def _links() -> None:
    """Link as many records to as many groups as need the index."""
    import pyarrow as pa

    from shoal.risk import linkage
    from shoal.risk.distance import FEW_PAIRS

    X = _table(int(FEW_PAIRS**0.5) + 10)
    table = pa.table({f"c{column}": X[:, column] for column in range(X.shape[1])})
    linkage(table, table)


if __name__ == "__main__":
    compiling.serve(tasks())
