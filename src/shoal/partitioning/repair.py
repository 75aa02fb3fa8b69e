"""Making any partition satisfy what is required: groups that fall short are merged, then cut where this is allowed."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.errors import DataError
from shoal.partitioning.cutting import recut
from shoal.partitioning.merging import Cheapest, merge
from shoal.partitioning.pool import numbered
from shoal.partitioning.requirements import Requirements
from shoal.progress import Progress, part, silent

Array = np.ndarray[Any, Any]


def repair(
    X: Array,
    labels: Array,
    k: int,
    required: Requirements,
    *,
    resplit: bool = True,
    report: Progress = silent,
) -> Array:
    """Return labels of groups that have at least k records each and satisfy all requirements.

    Parameters
    ----------
    X : float64[n, d]
    labels : int64[n]
        0 .. m - 1 without a gap.
    k : int
    required : Requirements
    resplit : bool
        Whether groups are cut in two where both sides satisfy everything. If not, no two records are separated that
        were together.
    report : callable

    Returns
    -------
    int64[n]
        Numbered by first appearance.

    Raises
    ------
    DataError
        If all records in one group do not satisfy the requirements.
    """
    tally = required.tally(labels)
    labels = merge(labels, Cheapest(X, labels, k, tally), part(report, 0.0, 0.5))
    everyone = np.arange(len(X))
    if not labels.any() and required.falls_short(everyone, labels)[0]:
        tally.refuse()
        raise DataError(
            f"Groups must have at least {k} records, and units where they are counted. "
            f"Got too few in {len(X)} records.",
            hint="ask for a smaller k.",
        )
    if resplit:
        cut = recut(X, labels, k, required.falls_short)
        # What compares groups with their surroundings may see in all cuts together what it did not see in each.
        if required.local or not required.falls_short(everyone, cut).any():
            labels = cut
    report(1.0)
    return numbered(labels)
