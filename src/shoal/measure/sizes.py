"""Group sizes, and the measures of loss that depend on them alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.partitioning import door


class GroupSizes(NamedTuple):
    """How large the groups of a partition are.

    Attributes
    ----------
    records, groups : int
    smallest, largest : int
        `smallest` is the k that holds.
    mean, median : float
    counts : dict of int to int
        The number of groups of each size that occurs.
    """

    records: int
    groups: int
    smallest: int
    largest: int
    mean: float
    median: float
    counts: dict[int, int]


def group_sizes(labels: Any) -> GroupSizes:
    """Return statistics of the group sizes.

    Parameters
    ----------
    labels : array-like of shape (n,)

    Examples
    --------
    >>> from shoal.measure import group_sizes
    >>> group_sizes([0, 0, 1, 1, 1]).largest
    3
    """
    sizes = _sizes(labels)
    values, counts = np.unique(sizes, return_counts=True)
    return GroupSizes(
        records=int(sizes.sum()),
        groups=len(sizes),
        smallest=int(sizes.min()),
        largest=int(sizes.max()),
        mean=float(sizes.mean()),
        median=float(np.median(sizes)),
        counts={int(v): int(c) for v, c in zip(values, counts, strict=True)},
    )


def discernability(labels: Any) -> int:
    """Return the discernability metric C_DM: the sum of squared group sizes."""
    return int((_sizes(labels) ** 2).sum())


def average_group_size(labels: Any, k: int) -> float:
    """Return the normalised average group size C_AVG: (n / number of groups) / k, at best 1.

    Parameters
    ----------
    labels : array-like of shape (n,)
    k : int
        The required least group size.
    """
    sizes = _sizes(labels)
    k = door.group_size(k, int(sizes.sum()), "average_group_size")
    return float(sizes.mean()) / k


def _sizes(labels: Any) -> np.ndarray[Any, Any]:
    return np.bincount(door.group_numbers(labels))
