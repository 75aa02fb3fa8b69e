"""The loss from replacing records by the means of their groups, by attribute, with weights.

It is measured in true distances, also for attributes that were searched in a projection.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.plan import Plan
from shoal.release.groups.coordinates import Coordinates, embedded
from shoal.release.measures.rounding import digits_left, most_digits

if TYPE_CHECKING:
    from shoal.release.rows import LeftOut


class Losses(NamedTuple):
    """SSE / SST of all coordinates together, and of each attribute.

    `digits` and `digits_by_attribute` say to how many digits they may be told, and `most` to how many any figure of
    the release may be; see :mod:`shoal.release.measures.rounding`.
    """

    total: float
    by_attribute: Mapping[str, float]
    digits: int
    digits_by_attribute: Mapping[str, int]
    most: int


def losses(
    coordinates: Coordinates, labels: dict[str, Array], weights: Array | None, units: Array | None = None
) -> Losses:
    """Return the losses of embedded attributes; the total takes their importance into account.

    Parameters
    ----------
    coordinates : Coordinates
    labels : {name: int64[n]}
        The partition that each attribute was grouped by.
    weights : float64[n] or None
    units : int64[n] or None
        The unit of each record; neither a group nor a unit may make up much of a figure that is told.
    """
    error, total, by, digits = 0.0, 0.0, {}, {}
    most = most_digits(labels.values(), units)
    parts: dict[int, tuple[Array, Array]] = {}  # of all attributes together: those of one block have one partition
    for name, part in coordinates.parts.items():
        everybody = np.zeros(len(part), np.int64)
        by_record, within, whole = np.zeros(len(part)), 0.0, 0.0
        part, published = coordinates.coded.get(name, (part, part))
        for column, coded in zip(part.T, published.T, strict=True):
            squares = squares_of(column, labels[name], weights, coded)
            by_record += squares
            within += float(squares.sum())
            whole += float(squares_of(column, everybody, weights).sum())
        if name in coordinates.projected:
            # The parts of records are those in the projection; what they add up to is not.
            spread, seen = coordinates.projected[name], within
            within, whole = spread.squared_error(labels[name], weights), spread.squared_error(None, weights)
            by_record *= within / seen if seen > 0 else 0.0
        by[name] = min(1.0, within / whole) if whole > 0 else 0.0
        digits[name] = min(most, _digits_left(by_record, labels[name], units))
        importance = coordinates.importance[name]
        before = parts.get(id(labels[name]), (labels[name], np.zeros(len(part))))[1]
        parts[id(labels[name])] = labels[name], before + importance * by_record
        error += importance * within
        total += importance * whole
    of_all = min((_digits_left(squares, one, units, error) for one, squares in parts.values()), default=0)
    return Losses(
        min(1.0, error / total) if total > 0 else 0.0,
        MappingProxyType(by),
        min(most, of_all),
        MappingProxyType(digits),
        most,
    )


def loss_in_all(left_out: LeftOut, labels: Array, plan: Plan) -> float:
    """Return the loss of all records, those that were left out included: they are replaced by the mean of the table.

    Parameters
    ----------
    left_out : LeftOut
    labels : int64[m]
        The groups of the records that are published.
    plan : Plan
    """
    coordinates = embedded(left_out.everybody, plan)
    rows, weights = left_out.rows, left_out.weights
    gone = np.setdiff1d(np.arange(len(left_out.everybody[0].values.missing)), rows)
    error, total = 0.0, 0.0
    for name, part in coordinates.parts.items():
        within = rest = whole = 0.0
        part, published = coordinates.coded.get(name, (part, part))
        for column, coded in zip(part.T, published.T, strict=True):
            squares = squares_of(column, np.zeros(len(column), np.int64), weights)
            whole += float(squares.sum())
            rest += float(squares[gone].sum())
            own = None if weights is None else weights[rows]
            within += float(squares_of(column[rows], labels, own, coded[rows]).sum())
        if name in coordinates.projected and whole > 0:
            # Those that were left out have their share of the projected coordinates.
            spread = coordinates.projected[name]
            of_rows = spread._replace(nodes=spread.nodes[rows], missing=spread.missing[rows])
            rest, whole = rest / whole, spread.squared_error(None, weights)
            rest *= whole
            within = of_rows.squared_error(labels, None if weights is None else weights[rows])
        error += coordinates.importance[name] * (within + rest)
        total += coordinates.importance[name] * whole
    return min(1.0, error / total) if total > 0 else 0.0


def _digits_left(squares: Array, labels: Array, units: Array | None, whole: float | None = None) -> int:
    owners = [labels] if units is None else [labels, units]
    return min(digits_left(np.bincount(one, squares), whole) for one in owners)


def squares_of(x: Array, labels: Array, weights: Array | None, coded: Array | None = None) -> Array:
    """Return float64[n]: the weighted squared distance of each record from the mean of its group (of coded values)."""
    published = x if coded is None else coded
    amounts = np.bincount(labels, weights)
    sums = np.bincount(labels, published if weights is None else weights * published)
    means = np.divide(sums, amounts, out=np.zeros_like(sums), where=amounts > 0)
    squares = (x - means[labels]) ** 2
    return np.asarray(squares if weights is None else weights * squares)
