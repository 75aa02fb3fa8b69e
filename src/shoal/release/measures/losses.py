"""The loss from replacing records by the means of their groups, by attribute, with weights.

It is measured in true distances, also for attributes that were searched in a projection.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.release.groups.coordinates import Coordinates


class Losses(NamedTuple):
    """SSE / SST of all coordinates together, and of each attribute."""

    total: float
    by_attribute: Mapping[str, float]


def losses(coordinates: Coordinates, labels: dict[str, Array], weights: Array | None) -> Losses:
    """Return the losses of embedded attributes; the total takes their importance into account.

    Parameters
    ----------
    coordinates : Coordinates
    labels : {name: int64[n]}
        The partition that each attribute was grouped by.
    weights : float64[n] or None
    """
    error, total, by = 0.0, 0.0, {}
    for name, part in coordinates.parts.items():
        if name in coordinates.projected:
            spread = coordinates.projected[name]
            within, whole = spread.squared_error(labels[name], weights), spread.squared_error(None, weights)
        else:
            everybody = np.zeros(len(part), np.int64)
            within = sum(_squared_error(column, labels[name], weights) for column in part.T)
            whole = sum(_squared_error(column, everybody, weights) for column in part.T)
        by[name] = min(1.0, within / whole) if whole > 0 else 0.0
        error += coordinates.importance[name] * within
        total += coordinates.importance[name] * whole
    return Losses(min(1.0, error / total) if total > 0 else 0.0, MappingProxyType(by))


def _squared_error(x: Array, labels: Array, weights: Array | None) -> float:
    amounts = np.bincount(labels, weights)
    sums = np.bincount(labels, x if weights is None else weights * x)
    means = np.divide(sums, amounts, out=np.zeros_like(sums), where=amounts > 0)
    squares = (x - means[labels]) ** 2
    return float(squares.sum() if weights is None else (weights * squares).sum())
