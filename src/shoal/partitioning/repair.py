"""Making any partition satisfy the requirements: merge groups that fall short, then cut groups where possible."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError
from shoal.partitioning.cutting import median_cuts, recut
from shoal.partitioning.merging import Cheapest, merge
from shoal.partitioning.pool import numbered
from shoal.partitioning.requirements import Requirements
from shoal.progress import Progress, part, silent


def repair(
    X: Array,
    labels: Array,
    k: int,
    required: Requirements,
    *,
    resplit: bool = True,
    report: Progress = silent,
    until: float = np.inf,
    cut_until: float = np.inf,
    on_late: Callable[[], None] | None = None,
) -> Array:
    """Return labels of groups that have at least k records each and satisfy all requirements.

    Parameters
    ----------
    X : float64[n, d]
    labels : int64[n]
        From 0 to m - 1 without gaps.
    k : int
    required : Requirements
    resplit : bool
        Whether to cut groups in two where both sides satisfy everything. If not, records that were together stay
        together.
    report : callable
    until, cut_until : float
        When what is left is merged coarsely, then cut at medians; and when no more is cut at other places.
    on_late : callable or None
        Called if something was merged coarsely.

    Returns
    -------
    int64[n]
        Numbered by first appearance.

    Raises
    ------
    DataError
        If all records as one group do not satisfy the requirements.
    """
    tally = required.tally(labels)
    labels = merge(labels, Cheapest(X, labels, k, tally), part(report, 0.0, 0.5), until)
    everyone = np.arange(len(X))
    if not labels.any() and required.falls_short(everyone, labels)[0]:
        tally.refuse()
        raise DataError(
            f"Groups must have at least {k} records, and units where they are counted. "
            f"Got too few in {len(X)} records.",
            hint="ask for a smaller k.",
        )
    if resplit:
        late = until < np.inf and time.perf_counter() >= until
        if late and on_late is not None:
            on_late()
        cut = median_cuts(X, k, required.falls_short, until=until, labels=labels) if late else labels
        cut = recut(X, cut, k, required.falls_short, cut_until)
        # Requirements that compare groups with their surroundings may fail after all cuts, though each cut alone holds.
        if required.local or not required.falls_short(everyone, cut).any():
            labels = cut
    report(1.0)
    return numbered(labels)
