"""The one way from coordinates to labels."""

from __future__ import annotations

import logging
import time
from typing import Any, NamedTuple

import numpy as np

from shoal.errors import DataError, OptionError, ShoalError
from shoal.partitioning import door
from shoal.partitioning.choice import choose
from shoal.partitioning.registry import Method, Refinement, find, find_refinement
from shoal.progress import Progress, part, throttled

Array = np.ndarray[Any, Any]

log = logging.getLogger("shoal")


class Job(NamedTuple):
    """What is to be run: a method with all its options, and perhaps a refinement of its result."""

    method: Method
    options: dict[str, Any]
    refinement: Refinement | None


def partition(
    X: Any,
    k: int,
    method: str = "auto",
    *,
    refine: str | None = None,
    time_limit: float | None = None,
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
        A name from :func:`shoal.methods`, or ``"auto"``: the lowest loss that is expected within `time_limit`.
    refine : str or None
        A name from :func:`shoal.refinements`: the result of the method is made better, or left as it is. Its options
        are the default ones; :func:`shoal.refine` takes others.
    time_limit : float or None
        For ``"auto"``: about how many seconds it may take (None: 60).
    random_state : int, numpy.random.Generator or None
        Seed of methods that draw at random; the others do not look at it.
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
    rng = door.generator(random_state, "partition")
    door.reporter(progress, "partition")
    job = resolve(method, options, refine, time_limit, X.shape, k)
    return run(X, k, job, rng, n_jobs, progress)


def refine(
    X: Any,
    labels: Any,
    k: int,
    method: str = "ona-rounds",
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Array:
    """Make a partition better: its loss falls or stays.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Coordinates, used as they are.
    labels : array-like of shape (n,)
        Group of each record; each group must have at least k.
    k : int
    method : str
        A name from :func:`shoal.refinements`.
    progress : callable or None
    **options
        Options of the refinement.

    Returns
    -------
    labels : int64[n]
        Groups numbered by first appearance, each of at least k records. Unless `passes` cut it short, refining them
        again changes nothing.

    Examples
    --------
    >>> import shoal
    >>> shoal.refine([[1.0], [9.0], [2.0], [8.0]], [0, 0, 1, 1], 2).tolist()
    [0, 0, 1, 1]
    """
    from shoal.partitioning.pool import numbered

    X = door.coordinates(X, "refine")
    k = door.group_size(k, len(X), "refine")
    door.reporter(progress, "refine")
    found = find_refinement(method)
    checked = found.check_options(options)
    start = numbered(door.group_numbers(labels, len(X)))
    if np.bincount(start).min() < k:
        raise DataError(f"The labels of refine must name groups of at least {k} records. Got smaller ones.")
    return _verified(found.load()(X, k, start, report=throttled(progress), **checked), len(X), k, found.name)


def resolve(
    method: str,
    options: dict[str, Any],
    refine: str | None,
    time_limit: float | None,
    shape: tuple[int, int],
    k: int,
) -> Job:
    """Return what is to be run; `auto` is settled here."""
    if method == "auto":
        if options:
            raise OptionError(
                f"The method 'auto' takes no options. Got {next(iter(options))!r}.",
                hint="name the method that it belongs to.",
            )
        choice = choose(*shape, k, door.seconds(time_limit, "partition"))
        log.info("auto chose %s %s: %s", choice.method, choice.options or "", choice.reason)
        method, options = choice.method, choice.options
    elif time_limit is not None:
        raise OptionError(
            f"The 'time_limit' option belongs to the method 'auto'. Got the method {method!r}.",
            hint="leave it out, or leave the choice of the method to 'auto'.",
        )
    found = find(method)
    if found.univariate and shape[1] != 1:
        raise DataError(
            f"The method {found.name!r} takes exactly one coordinate. Got {shape[1]}.",
            hint="choose a multivariate method, such as 'ona*'.",
        )
    return Job(found, found.check_options(options), None if refine is None else find_refinement(refine))


def run(X: Array, k: int, job: Job, rng: np.random.Generator, n_jobs: int, progress: Progress | None) -> Array:
    """Run a job on checked input and verify what it returns."""
    report = throttled(progress)
    report(0.0)
    start = time.perf_counter()
    method = job.method
    extra: dict[str, Any] = {"n_jobs": n_jobs} if method.parallel else {}
    if method.random:
        extra["rng"] = rng
    told = report if job.refinement is None else part(report, 0.0, 0.7)
    labels = _verified(method.load()(X, k, report=told, **job.options, **extra), len(X), k, method.name)
    if job.refinement is not None:
        told, chosen = part(report, 0.7, 1.0), job.refinement.check_options({})
        labels = _verified(job.refinement.load()(X, k, labels, report=told, **chosen), len(X), k, job.refinement.name)
    log.info("%s: %d records, k = %d, %.2f s", method.name, len(X), k, time.perf_counter() - start)
    report(1.0)
    return labels


def _verified(found: Array, records: int, k: int, name: str) -> Array:
    """Return the labels numbered by first appearance, if every record is in a group of at least k."""
    from shoal.partitioning.pool import numbered

    labels = numbered(found)
    smallest = int(np.bincount(labels).min()) if found.min() >= 0 else 0
    if len(labels) != records or smallest < k:
        raise ShoalError(
            f"{name!r} made a group of {smallest} records where {k} are required: a defect of Shoal.",
            hint="please report it; no labels were returned.",
        )
    return labels
