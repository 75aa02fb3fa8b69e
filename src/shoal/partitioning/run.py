"""The one way from coordinates to labels."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np

from shoal.errors import DataError, OptionError, ShoalError
from shoal.partitioning import door
from shoal.partitioning.registry import Method, find
from shoal.progress import Progress, throttled

Array = np.ndarray[Any, Any]

log = logging.getLogger("shoal")

# Seconds one run of MDAV* takes for each n^2 (d + 8), at k = 3 (measured; larger k is faster).
MDAV_STAR_SECONDS = 1e-10
PATIENCE = 60.0
RUNS_OF_BEST = 21


class Choice(NamedTuple):
    """What `auto` chose, and why."""

    method: str
    options: dict[str, Any]
    reason: str


def choose(n: int, d: int) -> Choice:
    """Choose a method of low loss that ends within about a minute on one core.

    Parameters
    ----------
    n, d : int
        Records and coordinates.
    """
    if d == 1:
        return Choice("univariate", {}, "a single coordinate has an exact optimum")
    seconds = MDAV_STAR_SECONDS * n * n * (d + 8)
    if seconds * RUNS_OF_BEST <= PATIENCE:
        return Choice("mdav*-gamma", {"gamma": "best"}, f"{n} records are few enough to try all gain factors")
    if seconds <= PATIENCE:
        return Choice("mdav*", {}, f"{n} records are too many for more than one quadratic run")
    return Choice("mondrian-v2d", {"whole": "2k-1"}, f"{n} records are too many for a quadratic method")


def partition(
    X: Any,
    k: int,
    method: str = "auto",
    *,
    random_state: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Array:
    """Partition records into groups of at least k similar ones.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Coordinates, used as they are: standardise first if the columns have different units
        (:class:`shoal.Microaggregator` does).
    k : int
        Least number of records in a group, from 2 to n.
    method : str
        A name from :func:`shoal.methods`, or ``"auto"``: a method of low loss that should end within about
        a minute.
    random_state : int, numpy.random.Generator or None
        Seed of methods that draw at random. All methods of this version are deterministic.
    n_jobs : int or None
        Threads (None: one; -1: all cores). The labels do not depend on it.
    progress : callable or None
        Called now and then with the fraction done, from 0 to 1.
    **options
        Options of the method.

    Returns
    -------
    labels : int64[n]
        Group of each record; groups are numbered by first appearance and each has at least k records.

    Raises
    ------
    ShoalError
        A :class:`ValueError` that says what must hold, what was found and what to do.

    Examples
    --------
    >>> import shoal
    >>> shoal.partition([[1.0], [2.0], [10.0], [11.0], [12.0]], k=2).tolist()
    [0, 0, 1, 1, 1]
    """
    X = door.coordinates(X, "partition")
    k = door.group_size(k, len(X), "partition")
    n_jobs = door.threads(n_jobs, "partition")
    door.generator(random_state, "partition")
    door.reporter(progress, "partition")
    chosen, checked = resolve(method, options, X.shape)
    return run(X, k, chosen, checked, n_jobs, progress)


def resolve(method: str, options: dict[str, Any], shape: tuple[int, int]) -> tuple[Method, dict[str, Any]]:
    """Return the method to run and its complete options; `auto` is settled here."""
    if method == "auto":
        if options:
            name = next(iter(options))
            raise OptionError(
                f"The method 'auto' takes no options. Got {name!r}.",
                hint="name the method that it belongs to.",
            )
        choice = choose(*shape)
        log.info("auto chose %s %s: %s", choice.method, choice.options or "", choice.reason)
        method, options = choice.method, choice.options
    found = find(method)
    if found.univariate and shape[1] != 1:
        raise DataError(
            f"The method {found.name!r} takes exactly one coordinate. Got {shape[1]}.",
            hint="choose a multivariate method, such as 'mdav*'.",
        )
    return found, found.check_options(options)


def run(X: Array, k: int, method: Method, options: dict[str, Any], n_jobs: int, progress: Progress | None) -> Array:
    """Run a method on checked input and verify what it returns."""
    from shoal.partitioning.pool import numbered

    report = throttled(progress)
    report(0.0)
    extra = {"n_jobs": n_jobs} if method.parallel else {}
    found = method.load()(X, k, report=report, **options, **extra)
    labels = numbered(found)
    smallest = int(np.bincount(labels).min()) if found.min() >= 0 else 0
    if len(labels) != len(X) or smallest < k:
        raise ShoalError(
            f"The method {method.name!r} made a group of {smallest} records where {k} are required: a defect of Shoal.",
            hint="please report it; no labels were returned.",
        )
    report(1.0)
    return labels
