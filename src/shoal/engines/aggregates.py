"""What blocks lose, in sums that give the losses of the whole table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from types import MappingProxyType
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.engines.layout import Layout
from shoal.release.measures.losses import Losses, squares_of
from shoal.release.measures.rounding import ENOUGH_GROUPS, digits_of
from shoal.release.measures.utility import Utility


@dataclass(frozen=True)
class Error:
    """The squared error of an attribute in a block, and what its sum of squares in the whole table is made of.

    Attributes
    ----------
    within : float
        Of its groups.
    largest : float
        Of the group with the largest.
    weight : float
        That of all records.
    sums, squares : float64[c]
        Weighted, of each coordinate.
    """

    within: float
    largest: float
    weight: float
    sums: Array
    squares: Array


@dataclass(frozen=True)
class Aggregates:
    """What is known of the groups of a block.

    Attributes
    ----------
    first : int
        The lowest row number, by which blocks are put in order before they are added up.
    rows : int
    sizes : {size: groups}
    errors : {attribute: Error}
    largest : float
        The squared error of the group with the largest, in all attributes by their importance.
    """

    first: int
    rows: int
    sizes: Mapping[int, int]
    errors: Mapping[str, Error]
    largest: float

    @classmethod
    def of(cls, values: Any, labels: Array, layout: Layout) -> Aggregates:
        """Return the aggregates of a values table and its groups (0, 1, ..)."""
        coordinates, weights = layout.embedded(values), layout.weights(values)
        together = np.zeros(int(labels.max()) + 1)
        errors = {}
        for name, points in coordinates.parts.items():
            by_record = np.zeros(len(labels))
            for column in points.T:
                by_record += squares_of(column, labels, weights)
            by_group: Array = np.bincount(labels, by_record)
            if name in coordinates.projected:
                seen, true = float(by_group.sum()), coordinates.projected[name].squared_error(labels, weights)
                by_group *= true / seen if seen > 0 else 0.0
            own = np.ones(len(labels)) if weights is None else weights
            errors[name] = Error(
                float(by_group.sum()), float(by_group.max(initial=0.0)), float(own.sum()), own @ points, own @ points**2
            )
            together += coordinates.importance[name] * by_group
        sizes = Counter(np.bincount(labels).tolist())
        first = int(values.column("__row").to_numpy().min())
        return cls(first, len(labels), dict(sorted(sizes.items())), errors, float(together.max(initial=0.0)))


def losses_of(blocks: Sequence[Aggregates], layout: Layout) -> Losses:
    """Return the losses of a table from the aggregates of its blocks, in any order.

    Where units are counted, no figure is told: how large the part of a unit is would have to be known of all units.
    """
    blocks = sorted(blocks, key=lambda one: one.first)
    sizes = sizes_of(blocks)
    groups, rows = sum(sizes.values()), sum(one.rows for one in blocks)
    most = min(sum(groups >= enough for enough in ENOUGH_GROUPS), digits_of(max(sizes), rows))
    most = 0 if layout.plan.unit is not None else most
    by, digits, error, total = {}, {}, [], []
    for part in layout.parts:
        own = [one.errors[part.name] for one in blocks]
        within = fsum(one.within for one in own)
        whole = _whole(own)
        by[part.name] = min(1.0, within / whole) if whole > 0 else 0.0
        digits[part.name] = min(most, digits_of(max(one.largest for one in own), within))
        error.append(part.attribute.importance * within)
        total.append(part.attribute.importance * whole)
    loss = min(1.0, fsum(error) / fsum(total)) if fsum(total) > 0 else 0.0
    of_all = digits_of(max(one.largest for one in blocks), fsum(error))
    return Losses(loss, MappingProxyType(by), min(most, of_all), MappingProxyType(digits), most)


def sizes_of(blocks: Sequence[Aggregates]) -> dict[int, int]:
    """Return how many groups of each size all blocks have."""
    sizes: Counter[int] = Counter()
    for one in blocks:
        sizes.update(one.sizes)
    return dict(sorted(sizes.items()))


def _whole(parts: Sequence[Error]) -> float:
    """Return the squared error of an attribute if the table were one group."""
    weight = fsum(one.weight for one in parts)
    if weight <= 0:
        return 0.0
    squares = []
    for at in range(len(parts[0].sums)):
        total = fsum(float(one.sums[at]) for one in parts)
        squares.append(fsum(float(one.squares[at]) for one in parts) - total * total / weight)
    return max(0.0, fsum(squares))


def utility_of(sizes: Mapping[int, int], k: int) -> Utility:
    """Return the measures of recoding schemes that follow from sizes alone; the others are not measured."""
    rows, groups = sum(size * count for size, count in sizes.items()), sum(sizes.values())
    discernability = sum(count * size**2 for size, count in sizes.items())
    return Utility(discernability, rows / groups / k, None, None, None, MappingProxyType({}), ())
