"""Where the anytime search starts: the best of some quick methods, improved by rounds of ONA."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from shoal.arrays import Array
from shoal.partitioning import plain as _plain
from shoal.partitioning.choice import DEFAULT_SECONDS, ROUNDS, WHOLE, quick_start, rounds_within
from shoal.partitioning.extent import Extent, extent_of
from shoal.partitioning.pool import numbered, squared_error
from shoal.partitioning.refine import ona_rounds
from shoal.partitioning.registry import find
from shoal.progress import Progress, Tried, part

Start = Literal["auto", "best", "mdav", "mdav+", "mondrian-strict"]

# The share of the time limit for the start, and that of the progress.
STARTING, SHARE = 1 / 6, 0.3
# What "best" tries: on tables with many equal records, the second is often better.
BEST = ("mdav+", "mondrian-strict")


def first_partition(
    X: Array,
    k: int,
    start: Start,
    rounds: int | Literal["auto"],
    time_limit: float | None,
    max_steps: int | Literal["none"],
    n_jobs: int,
    report: Progress,
) -> tuple[Array, tuple[Tried, ...]]:
    """Return a partition to start from, and what was tried.

    What is left open is settled by estimates: if steps are counted, as if there were time for everything.
    """
    seconds = np.inf if max_steps != "none" else (DEFAULT_SECONDS if time_limit is None else time_limit) * STARTING
    n, d = X.shape
    if n <= WHOLE and start == "auto" and rounds in ("auto", 0):
        # Without an index, which would take longer to compile than it saves.
        labels = _plain.mdav(X, k)
        return labels, (Tried("mdav", _loss(X, labels)),)
    # Looked at only where something is left open.
    extent = extent_of(X) if "auto" in (start, rounds) else None
    names = _names(X, start, seconds, extent)
    tried: list[Tried] = []
    best = np.zeros(n, np.int64)
    for turn, (name, options) in enumerate(names):
        method = find(name)
        extra = {"n_jobs": n_jobs} if method.parallel else {}
        progress = part(report, SHARE / 2 * turn / len(names), SHARE / 2 * (turn + 1) / len(names))
        labels = numbered(method.load()(X, k, report=progress, **options, **extra))
        tried.append(Tried(name, _loss(X, labels)))
        if tried[-1].loss <= min(one.loss for one in tried):
            best = labels
    count = rounds_within(n, d, seconds, ROUNDS if n > WHOLE else 0, extent) if rounds == "auto" else rounds
    if count:
        best = numbered(ona_rounds(X, k, best, most=count, n_jobs=n_jobs, report=part(report, SHARE / 2, SHARE)))
        tried.append(Tried(f"{count} round{'s' if count > 1 else ''} of exchanges", _loss(X, best)))
    return best, tuple(tried)


def _names(X: Array, start: Start, seconds: float, extent: Extent | None) -> list[tuple[str, dict[str, Any]]]:
    """Return the methods to try, with their options."""
    if start == "auto":
        name, options = quick_start(len(X), X.shape[1], seconds, extent)
        if name != "mdav+":
            return [(name, options)]
        start = "best"
    return [(name, {}) for name in (BEST if start == "best" else (start,))]


def _loss(X: Array, labels: Array) -> float:
    """Return the squared error of groups as a share of that of one group of all records."""
    total = squared_error(X, np.zeros(len(X), np.int64))
    return squared_error(X, labels) / total if total else 0.0
