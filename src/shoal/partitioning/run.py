"""The one way from coordinates to labels."""

from __future__ import annotations

import logging
import time
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError, ShoalError
from shoal.partitioning import door
from shoal.partitioning.choice import choose
from shoal.partitioning.registry import Method, Refinement, check_options, find, find_refinement
from shoal.progress import Progress, part, throttled

log = logging.getLogger("shoal")


class Job(NamedTuple):
    """What is to be run: a method with all its options, and perhaps a refinement of its result.

    Attributes
    ----------
    method : Method
    options : {name: value}
    refinement : Refinement or None
    time_limit, refinement_limit : float or None
        Seconds of each of the two, where a limit was given and it can be ended.
    """

    method: Method
    options: dict[str, Any]
    refinement: Refinement | None
    time_limit: float | None = None
    refinement_limit: float | None = None


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
        About how many seconds ``"auto"``, ``"anytime"`` or ``"exact"`` may take, or the refinement ``"anytime"``; if
        both the method and the refinement can be ended, each has half of it. None: about a minute (``"exact"``: ten),
        and no longer than it pays.
    random_state : int, numpy.random.Generator or None
        Seed of methods that draw at random; the others do not look at it. For ``"auto"``, None is 0.
    n_jobs : int or None
        Threads (None: one; -1: all cores). The labels do not depend on it, unless the clock ends a search: what
        ``"anytime"`` has found by then depends on threads and on the machine, and is not reproducible. With
        `max_steps`, and for ``"auto"`` without a limit, it is.
    progress : callable or None
        Called now and then with the fraction done, from 0 to 1; by a search with a :class:`shoal.progress.Standing`,
        which is such a number and also has the loss and the gap so far.
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
    rng = generator(method, random_state, "partition")
    door.reporter(progress, "partition")
    job = resolve(method, options, refine, time_limit, X.shape, k)
    return run(X, k, job, rng, n_jobs, progress)


def refine(
    X: Any,
    labels: Any,
    k: int,
    method: str = "ona-rounds",
    *,
    time_limit: float | None = None,
    random_state: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
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
    time_limit : float or None
        About how many seconds ``"anytime"`` may take (None: 60, unless `max_steps` ends it).
    random_state : int, numpy.random.Generator or None
        Seed of a refinement that draws at random.
    n_jobs : int or None
        Threads (None: one; -1: all cores).
    progress : callable or None
    **options
        Options of the refinement.

    Returns
    -------
    labels : int64[n]
        Groups numbered by first appearance, each of at least k records. Unless `passes`, `max_steps` or the clock cut
        it short, refining them again changes nothing, but ``"anytime"`` may still find something.

    Examples
    --------
    >>> import shoal
    >>> shoal.refine([[1.0], [9.0], [2.0], [8.0]], [0, 0, 1, 1], 2).tolist()
    [0, 0, 1, 1]
    """
    from shoal.partitioning.pool import numbered

    X = door.coordinates(X, "refine")
    k = door.group_size(k, len(X), "refine")
    n_jobs = door.threads(n_jobs, "refine")
    rng = door.generator(random_state, "refine")
    door.reporter(progress, "refine")
    found = find_refinement(method)
    checked = check_options(found, options)
    if time_limit is not None:
        door.seconds(time_limit, "refine")
        if not found.timed:
            raise _untimed(f"The refinement {found.name!r}", "'anytime'")
    start = numbered(door.group_numbers(labels, len(X)))
    if np.bincount(start).min() < k:
        raise DataError(f"The labels of refine must name groups of at least {k} records. Got smaller ones.")
    extra = _extra(found, time_limit, rng, n_jobs)
    return _verified(found.load()(X, k, start, report=throttled(progress), **checked, **extra), len(X), k, found.name)


def generator(method: str, random_state: Any, caller: str) -> np.random.Generator:
    """Return the random numbers to use; `auto` gives the same every time, unless a seed is given."""
    return door.generator(0 if method == "auto" and random_state is None else random_state, caller)


def resolve(
    method: str,
    options: dict[str, Any],
    refine: str | None,
    time_limit: float | None,
    shape: tuple[int, int],
    k: int,
) -> Job:
    """Return what is to be run; `auto` is settled here."""
    refinement = None if refine is None else find_refinement(refine)
    limit = None if time_limit is None else door.seconds(time_limit, "partition")
    improved = refinement is not None and refinement.timed
    half = limit / 2 if limit is not None and improved else limit
    if method == "auto":
        if options:
            raise OptionError(
                f"The method 'auto' takes no options. Got {next(iter(options))!r}.",
                hint="name the method that it belongs to.",
            )
        choice = choose(*shape, k, half)
        log.info("auto chose %s %s: %s", choice.method, choice.options or "", choice.reason)
        found, options, own, rest = find(choice.method), choice.options, choice.seconds, half
    else:
        found = find(method)
        if limit is not None and not found.timed and not improved:
            raise _untimed(f"The method {found.name!r}", "'auto', which chooses by it, or 'anytime'")
        own, rest = (half, half) if found.timed else (None, limit)
    if found.univariate and shape[1] != 1:
        raise DataError(
            f"The method {found.name!r} takes exactly one coordinate. Got {shape[1]}.",
            hint="choose a multivariate method, such as 'ona*'.",
        )
    return Job(found, check_options(found, options), refinement, own, rest if improved else None)


def run(X: Array, k: int, job: Job, rng: np.random.Generator, n_jobs: int, progress: Progress | None) -> Array:
    """Run a job on checked input and verify what it returns."""
    report = throttled(progress)
    report(0.0)
    start = time.perf_counter()
    method = job.method
    extra = _extra(method, job.time_limit, rng, n_jobs)
    told = report if job.refinement is None else part(report, 0.0, 0.7)
    labels = _verified(method.load()(X, k, report=told, **job.options, **extra), len(X), k, method.name)
    if job.refinement is not None:
        told, chosen = part(report, 0.7, 1.0), check_options(job.refinement, {})
        chosen |= _extra(job.refinement, job.refinement_limit, rng, n_jobs)
        labels = _verified(job.refinement.load()(X, k, labels, report=told, **chosen), len(X), k, job.refinement.name)
    log.info("%s: %d records, k = %d, %.2f s", method.name, len(X), k, time.perf_counter() - start)
    report(1.0)
    return labels


def _extra(owner: Method | Refinement, limit: float | None, rng: np.random.Generator, n_jobs: int) -> dict[str, Any]:
    """Return what a method or a refinement takes beside its options."""
    extra: dict[str, Any] = {"n_jobs": n_jobs} if owner.parallel else {}
    if owner.random:
        extra["rng"] = rng
    if owner.timed and limit is not None:
        extra["time_limit"] = limit
    return extra


def _untimed(what: str, timed: str) -> OptionError:
    return OptionError(
        f"The 'time_limit' option must go with what can be ended at any time. {what} cannot.",
        hint=f"leave it out, or take {timed}.",
    )


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
