"""What a report draws of groups: their sizes, and where they are on the principal axes.

See :mod:`shoal.release.report.evidence` for what these may show of the originals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shoal.arrays import Array

__all__ = ["Axes", "Sizes", "axes_of", "sizes_of"]

Pair = tuple[float, float]

_BARS = 30
_POINTS = 3000  # groups that are drawn
_SAMPLE = 2_000_000  # coordinates that the principal axes are computed from


@dataclass(frozen=True)
class Sizes:
    """The number of groups of each size."""

    groups: int
    smallest: int
    median: float
    largest: int
    bars: tuple[tuple[int, int, int], ...]  # from size, to size, number of groups


@dataclass(frozen=True)
class Axes:
    """Means of groups on the first two principal axes of the coordinates."""

    points: tuple[tuple[float, float, int], ...]  # on axis 1, on axis 2, number of records
    groups: int  # of which at most 3000 are drawn
    shares: Pair  # of the variance


def sizes_of(distinct: Array, counts: Array) -> Sizes:
    """Return how often each group size occurs, in at most 30 classes.

    Parameters
    ----------
    distinct, counts : int64[m]
        The sizes that occur, ascending, and how many groups have each.
    """
    reached, groups = np.cumsum(counts), int(counts.sum())
    middle = [int(distinct[np.searchsorted(reached, one)]) for one in ((groups + 1) // 2, groups // 2 + 1)]
    if len(distinct) <= _BARS:
        bars = tuple((size, size, count) for size, count in zip(distinct.tolist(), counts.tolist(), strict=True))
    else:
        step = math.ceil((int(distinct[-1]) - int(distinct[0]) + 1) / _BARS)
        place = (distinct - distinct[0]) // step
        total = np.bincount(place, weights=counts).astype(np.int64).tolist()
        starts = [int(distinct[0]) + step * i for i in range(len(total))]
        bars = tuple((start, start + step - 1, count) for start, count in zip(starts, total, strict=True))
    return Sizes(groups, int(distinct[0]), sum(middle) / 2, int(distinct[-1]), bars)


def axes_of(X: Array, sizes: Array, k: int) -> Axes | None:
    """Return the groups of at least k records on the principal axes, at most 3000 of them, always the same.

    Parameters
    ----------
    X : float64[m, d]
        What the groups publish, as coordinates. Nothing else is drawn: the mean of the originals of a group may say
        more than what it publishes.
    sizes : int64[m]
        Their numbers of records.
    k : int

    Groups that publish the same are one, and they are in the order of their places: that in which the table has them
    may be a secret.
    """
    if X.shape[1] == 0 or not (sizes >= k).any():
        return None
    weights = sizes / sizes.sum()
    centre = weights @ X
    axes, shares = _principal((X - centre)[:: max(1, X.size // _SAMPLE)])
    on_axes = np.round((X - centre) @ axes, 3) + 0.0
    places, at = np.unique(on_axes, axis=0, return_inverse=True)
    records = np.bincount(at.reshape(-1), sizes).astype(np.int64)
    drawn = np.flatnonzero(records >= k)
    groups = len(drawn)
    if groups > _POINTS:
        drawn = np.sort(np.random.default_rng(0).choice(drawn, _POINTS, replace=False))
    points = zip(places[drawn, 0].tolist(), places[drawn, 1].tolist(), records[drawn].tolist(), strict=True)
    return Axes(tuple(points), groups, shares)


def _principal(centred: Array) -> tuple[Array, Pair]:
    """Return the first two principal axes, float64[d, 2], and their shares of the variance."""
    n, d = centred.shape
    wide = d > n
    largest = float(np.abs(centred).max(initial=0.0))
    centred = centred / largest if largest > 0 else centred  # so that squares neither overflow nor vanish
    values, vectors = np.linalg.eigh(centred @ centred.T if wide else centred.T @ centred)
    axes = np.zeros((d, 2))
    shares = [0.0, 0.0]
    total = float(values.clip(min=0).sum())
    for a in range(min(2, len(values))):
        if total == 0 or values[-1 - a] <= 1e-12 * values[-1]:
            break
        axis = centred.T @ vectors[:, -1 - a] if wide else vectors[:, -1 - a]
        # Both directions are valid; choose the same one every time.
        axis = axis * math.copysign(1.0, axis[np.abs(axis).argmax()]) / np.linalg.norm(axis)
        axes[:, a] = axis
        shares[a] = round(float(values[-1 - a]) / total, 3)
    return axes, (shares[0], shares[1])
