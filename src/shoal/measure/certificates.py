"""A lower bound to go with a partition, if it can be computed in reasonable time."""

from __future__ import annotations

import logging

from shoal.arrays import Array
from shoal.measure.bounds import lower_bound
from shoal.progress import Progress

log = logging.getLogger("shoal")

# Seconds of the quick bound on one core, for ordinary tables, as a multiple of n^1.5 d.
QUICK_SECONDS = 2e-8
# Time limits if none is given: a hint of how good the groups are should cost little.
CERTIFICATE_SECONDS = 10.0
LP_SECONDS = 60.0


def affordable(n: int, d: int, seconds: float) -> bool:
    """Return whether the quick bound, which all others need too, takes at most about `seconds` on one core."""
    return bool(QUICK_SECONDS * n**1.5 * d <= seconds)


def certificate(
    X: Array,
    k: int,
    effort: str,
    *,
    labels: Array,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> float | None:
    """Return a lower bound on the loss of all partitions, or None if the table is too large for the time.

    Parameters
    ----------
    X : float64[n, d]
    k : int
    effort : "quick", "lp" or "regions"
    labels : int64[n]
        The partition that the bound goes with; its groups have at least k records.
    time_limit : float or None
        About how many seconds it may take (None: 10, and 60 unless it is ``"quick"``).
    n_jobs : int or None
    progress : callable or None
    """
    seconds = time_limit if time_limit is not None else CERTIFICATE_SECONDS if effort == "quick" else LP_SECONDS
    n, d = X.shape
    if not affordable(n, d, max(seconds, CERTIFICATE_SECONDS)):
        log.info("no lower bound: %d records in %d coordinates are too many for %g s", n, d, seconds)
        return None
    known = labels if effort == "lp" else None
    limit = None if effort == "quick" else seconds
    return lower_bound(X, k, effort, labels=known, time_limit=limit, n_jobs=n_jobs, progress=progress)
