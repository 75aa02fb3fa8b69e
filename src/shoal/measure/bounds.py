"""Proven lower bounds on the loss, and how far a loss is from the optimum at most."""

from __future__ import annotations

from math import frexp, inf, ldexp
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError
from shoal.partitioning import door
from shoal.progress import Progress, throttled

EFFORTS = ("quick", "lp", "regions", "centres")
# Time limit of the linear programme if none is given.
LOWER_BOUND_SECONDS = 300.0
# A share of the total up to this is rounding: the mean of equal records need not be exactly equal to them.
NEGLIGIBLE_SHARE = 1e-28


def lower_bound(
    X: Any,
    k: int,
    effort: str = "quick",
    *,
    labels: Any = None,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> float:
    """Return a lower bound on the loss of every partition into groups of at least k records.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Coordinates, used as they are.
    k : int
        Least number of records in a group, from 2 to n.
    effort : str
        ``"quick"``: from each record and its k - 1 nearest neighbours; near-linear time, 0.5 to 0.7 of the optimum.
        ``"lp"``: from pairs and triangles, then set partitioning by column generation with exact pricing; often within
        1 % of the optimum for some thousands of records, and region by region for more than 6,000. ``"regions"``:
        region by region for any number. ``"centres"``: a linear programme over discretised centres, for at most 60
        records; known from the literature, and weaker.
    labels : array-like of shape (n,), optional
        A good partition, from which ``"lp"`` may start.
    time_limit : float or None
        For ``"lp"`` and ``"regions"``: about how many seconds it may take (None: 300). The bound is valid whenever it
        stops.
    n_jobs : int or None
        Threads of ``"quick"`` and ``"regions"`` (None: one; -1: all cores).
    progress : callable or None
        Called now and then with the fraction done, from 0 to 1.

    Returns
    -------
    float
        A bound on SSE / SST, from 0 to 1. It is computed in double precision and holds up to a relative error of 1e-6;
        it is not a certificate in exact arithmetic.

    Examples
    --------
    >>> import shoal
    >>> from shoal.measure import bounds
    >>> X = [[0.0, 0.0], [0.0, 1.0], [5.0, 0.0], [5.0, 1.0], [9.0, 0.0], [9.0, 1.0]]
    >>> round(bounds.lower_bound(X, 2), 4)
    0.0181
    >>> round(shoal.information_loss(X, [0, 0, 1, 1, 2, 2]), 4)
    0.0181
    """
    X = door.coordinates(X, "lower_bound")
    k = door.group_size(k, len(X), "lower_bound")
    n_jobs = door.threads(n_jobs, "lower_bound")
    seconds = LOWER_BOUND_SECONDS if time_limit is None else door.seconds(time_limit, "lower_bound")
    report = throttled(door.reporter(progress, "lower_bound"))
    if effort not in EFFORTS:
        raise OptionError(
            f"The 'effort' option of lower_bound must be 'quick', 'lp', 'regions' or 'centres'. Got {effort!r}."
        )
    known = None if labels is None else _checked(labels, len(X), k)
    report(0.0)
    if bool((X[0] == X).all()):
        return 0.0
    if len(X) < 2 * k:
        return 1.0
    bound = _share(_scaled(X), k, effort, known, seconds, n_jobs, report)
    report(1.0)
    return bound


def _share(X: Array, k: int, effort: str, labels: Array | None, seconds: float, n_jobs: int, report: Progress) -> float:
    """Return the bound on SSE / SST for checked input."""
    from shoal.partitioning import bounds
    from shoal.partitioning.paths import univariate
    from shoal.partitioning.pool import cost_of, total_cost

    if effort == "quick":
        bound = bounds.neighbour_bound(X, k, n_jobs)
    elif effort == "centres":
        bound = max(bounds.centres_bound(X, k), bounds.neighbour_bound(X, k, n_jobs))
    elif X.shape[1] == 1:
        bound = total_cost(X, univariate(X, k)) * (1 - bounds.SAFE)
    elif effort == "regions":
        bound = bounds.regions_bound(X, k, seconds, report, n_jobs)
    else:
        # If stopped early, the bound may be below that of the neighbours by the margin for rounding.
        bound = max(bounds.covering_bound(X, k, labels, seconds, report), bounds.neighbour_bound(X, k, n_jobs))
    share = bound / cost_of(X, np.arange(len(X)))
    return min(1.0, share) if share > NEGLIGIBLE_SHARE else 0.0


def _scaled(X: Array) -> Array:
    """Return X centred and divided by a power of two, so that squares neither overflow nor vanish."""
    from shoal.partitioning.pool import mean_of

    X = X * ldexp(1.0, -frexp(float(np.abs(X).max()))[1])
    X = X - mean_of(X)
    return np.ascontiguousarray(X * ldexp(1.0, -frexp(float(np.abs(X).max()))[1]))


def _checked(labels: Any, records: int, k: int) -> Array:
    numbers = door.group_numbers(labels, records)
    smallest = int(np.bincount(numbers).min())
    if smallest < k:
        raise DataError(
            f"The 'labels' of lower_bound must be groups of at least {k} records. Got one of {smallest}.",
            hint="leave them out, or pass the labels of a partition for the same k.",
        )
    return numbers


def gap(loss: float, bound: float) -> float:
    """Return how far a loss is above a bound at most, as a fraction of the bound: loss / bound - 1.

    Returns
    -------
    float
        0 if the loss is at or below the bound (by rounding), infinity if the bound is 0 and the loss is not.

    Examples
    --------
    >>> round(gap(0.0505, 0.05), 6)
    0.01
    """
    if loss <= bound:
        return 0.0
    return loss / bound - 1 if bound > 0 else inf
