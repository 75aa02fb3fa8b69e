"""From coordinates to labels: `partition` and `refine`, and the steps that they share with the estimator."""

from __future__ import annotations

import logging
import time
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError, ShoalError
from shoal.partitioning import door
from shoal.partitioning.choice import WHOLE, choose
from shoal.partitioning.extent import Extent, extent_of
from shoal.partitioning.registry import Method, Refinement, check_options, find, find_refinement
from shoal.progress import Progress, drawn, part, throttled

log = logging.getLogger("shoal")


class Procedure(NamedTuple):
    """What to run: a method with all its options, and possibly a refinement of its result.

    Attributes
    ----------
    method : Method
    options : {name: value}
    refinement : Refinement or None
    time_limit, refinement_limit : float or None
        Seconds for the method and for the refinement; None if no limit was given or none is possible.
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
    progress: Progress | bool | None = None,
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
        A name from :func:`shoal.methods`, or ``"auto"``: the method with the lowest loss expected within `time_limit`.
    refine : str or None
        A name from :func:`shoal.refinements`. The result of the method is improved, or left as it is, with the default
        options of the refinement; :func:`shoal.refine` takes others.
    time_limit : float or None
        About how many seconds ``"auto"``, ``"anytime"``, ``"exact"`` or the refinement ``"anytime"`` may take. If both
        the method and the refinement take a limit, each gets half of it. None: about a minute (``"exact"``: ten), and
        no longer than it pays.
    random_state : int, numpy.random.Generator or None
        Seed of methods that use random numbers; the others ignore it. For ``"auto"``, None is 0.
    n_jobs : int or None
        Threads (None: one; -1: all cores). The labels do not depend on it, unless the clock ends a search: the result
        of ``"anytime"`` then depends on the threads and on the machine, and is not reproducible. With `max_steps`, and
        for ``"auto"`` without a limit, it is.
    progress : callable, True or None
        Called now and then with the fraction done, from 0 to 1; True draws a bar in a notebook or on a terminal. A
        search passes a :class:`shoal.progress.Standing`, which is such a number and also has the loss and the gap so
        far, and what was tried at its start.
    **options
        Options of the method.

    Returns
    -------
    labels : int64[n]
        Group of each record; groups are numbered by first appearance and each has at least k records.

    Raises
    ------
    ShoalError
        A :class:`ValueError` that says what must hold, what was given, and what to do.

    Examples
    --------
    >>> import shoal
    >>> shoal.partition([[1.0], [2.0], [10.0], [11.0], [12.0]], k=2).tolist()
    [0, 0, 1, 1, 1]
    """
    X = door.coordinates(X, "partition")
    k = door.group_size(k, len(X), "partition")
    n_jobs = door.threads(n_jobs, "partition")
    rng = generator_for(method, random_state, "partition")
    procedure = resolve(method, options, refine, time_limit, X.shape, k, extent_for(method, X))
    with drawn(progress, "partition") as report:
        return run(X, k, procedure, rng, n_jobs, report)


def refine(
    X: Any,
    labels: Any,
    k: int,
    method: str = "ona-rounds",
    *,
    time_limit: float | None = None,
    random_state: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    progress: Progress | bool | None = None,
    **options: Any,
) -> Array:
    """Improve a partition: its loss falls or stays.

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
        Seed of a refinement that uses random numbers.
    n_jobs : int or None
        Threads (None: one; -1: all cores).
    progress : callable, True or None
    **options
        Options of the refinement.

    Returns
    -------
    labels : int64[n]
        Groups numbered by first appearance, each of at least k records. Unless `passes`, `max_steps` or the clock cut
        it short, refining them again changes nothing; only ``"anytime"`` may still find an improvement.

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
    refinement = find_refinement(method)
    checked = check_options(refinement, options)
    if time_limit is not None:
        door.seconds(time_limit, "refine")
        if not refinement.timed:
            raise _untimed(f"The refinement {refinement.name!r}", "'anytime'")
    start = numbered(door.group_numbers(labels, len(X)))
    if np.bincount(start).min() < k:
        raise DataError(f"The labels of refine must name groups of at least {k} records. Got smaller ones.")
    extra = _extra(refinement, time_limit, rng, n_jobs)
    with drawn(progress, "refine") as report:
        refined = refinement.load()(X, k, start, report=throttled(report), **checked, **extra)
    return _verified(refined, len(X), k, refinement.name)


def generator_for(method: str, random_state: Any, caller: str) -> np.random.Generator:
    """Return the random generator to use. `auto` always uses the same one, unless a seed is given."""
    return door.generator(0 if method == "auto" and random_state is None else random_state, caller)


def extent_for(method: str, X: Array) -> Extent | None:
    """Return how large a table is for its methods, or None if `auto` need not know."""
    return extent_of(X) if method == "auto" and len(X) > WHOLE else None


def resolve(
    method: str,
    options: dict[str, Any],
    refine: str | None,
    time_limit: float | None,
    shape: tuple[int, int],
    k: int,
    extent: Extent | None = None,
) -> Procedure:
    """Return what to run, with `auto` replaced by the method that it chooses for a table of that extent."""
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
        choice = choose(*shape, k, half, extent=extent)
        log.info("auto chose %s %s: %s", choice.method, choice.options or "", choice.reason)
        chosen, options, own, rest = find(choice.method), choice.options, choice.seconds, half
    else:
        chosen = find(method)
        if limit is not None and not chosen.timed and not improved:
            raise _untimed(f"The method {chosen.name!r}", "'auto', which chooses by it, or 'anytime'")
        own, rest = (half, half) if chosen.timed else (None, limit)
    if chosen.univariate and shape[1] != 1:
        raise DataError(
            f"The method {chosen.name!r} takes exactly one coordinate. Got {shape[1]}.",
            hint="choose a multivariate method, such as 'ona*'.",
        )
    return Procedure(chosen, check_options(chosen, options), refinement, own, rest if improved else None)


def run(
    X: Array, k: int, procedure: Procedure, rng: np.random.Generator, n_jobs: int, progress: Progress | None
) -> Array:
    """Run a procedure on checked input and verify its result."""
    report = throttled(progress)
    report(0.0)
    start = time.perf_counter()
    method = procedure.method
    extra = _extra(method, procedure.time_limit, rng, n_jobs)
    refinement = procedure.refinement
    report_part = report if refinement is None else part(report, 0.0, 0.7)
    labels = method.load()(X, k, report=report_part, **procedure.options, **extra)
    labels = _verified(labels, len(X), k, method.name)
    if refinement is not None:
        options = check_options(refinement, {}) | _extra(refinement, procedure.refinement_limit, rng, n_jobs)
        labels = refinement.load()(X, k, labels, report=part(report, 0.7, 1.0), **options)
        labels = _verified(labels, len(X), k, refinement.name)
    log.info("%s: %d records, k = %d, %.2f s", method.name, len(X), k, time.perf_counter() - start)
    report(1.0)
    return labels


def _extra(owner: Method | Refinement, limit: float | None, rng: np.random.Generator, n_jobs: int) -> dict[str, Any]:
    """Return the arguments of a method or a refinement other than its options."""
    extra: dict[str, Any] = {"n_jobs": n_jobs} if owner.parallel else {}
    if owner.random:
        extra["rng"] = rng
    if owner.timed and limit is not None:
        extra["time_limit"] = limit
    return extra


def _untimed(what: str, timed: str) -> OptionError:
    return OptionError(
        f"The 'time_limit' option must go with a method that takes one. {what} does not.",
        hint=f"leave it out, or take {timed}.",
    )


def _verified(raw: Array, records: int, k: int, name: str) -> Array:
    """Return the labels numbered by first appearance; raise ShoalError unless every group has at least k records."""
    from shoal.partitioning.pool import numbered

    labels = numbered(raw)
    smallest = int(np.bincount(labels).min()) if raw.min() >= 0 else 0
    if len(labels) == records and smallest >= k:
        return labels
    what = (
        f"made a group of {smallest} records where {k} are required"
        if len(labels) == records
        else f"returned labels for {len(labels)} of {records} records"
    )
    raise ShoalError(f"{name!r} {what}: a defect of Shoal.", hint="please report it; no labels were returned.")
