"""Where a box can be cut, and how much would be gained: scores for a noisy maximum.

A further record raises every score by at most `UNIT` and lowers none, whatever the box and the record: one noisy
maximum over all attributes is paid once, not once an attribute.

An attribute with an order has one score: the sum of squared deviations from the middle of the box. A category has a
score for every cut: the smaller number of records of its two sides. Both are in units in which the declared range of an
ordered attribute is as long as two categories are apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.dp.attributes import AttributeDomain, Categories
from shoal.dp.domain import Domain

# What the largest contribution of a record to a score is in fixed point.
UNIT = 2**16
# A cut through the middle of evenly spread numbers gains 3/4 of the squared deviations; one of two categories that are
# as frequent, twice the smaller of them, if both are measured by ranges of the same length.
ORDERED, CATEGORY = 0.375, 1.0
# Cuts of a category that are compared.
MOST_CUTS = 64


class Cut(NamedTuple):
    """A place to cut: before the position `before`, or at a median if that is None."""

    attribute: int
    before: int | None


class Places(NamedTuple):
    """The places at which a box can be cut.

    Attributes
    ----------
    cuts : list of Cut
    most : float
        What one record can contribute to any score at most, before scores are scaled to fixed point.
    expected : float64[cuts]
        Scores of one record in a box that is evenly filled, in fixed point.
    """

    cuts: list[Cut]
    most: float
    expected: Array


def places(domain: Domain, lower: Array, upper: Array) -> Places:
    """Return where a box can be cut; it depends on the box alone."""
    cuts: list[Cut] = []
    gains: list[float] = []
    most = 0.0
    for at, one in enumerate(domain.columns.values()):
        low, high = int(lower[at]), int(upper[at])
        if low == high:
            continue
        if one.ordered:
            most = max(most, ORDERED * _reach(one, low, high) ** 2)
            cuts.append(Cut(at, None))
            gains.append(ORDERED * _reach(one, low, high) ** 2 / 3)
        else:
            most = max(most, CATEGORY)
            for before in _boundaries(one, low, high):
                cuts.append(Cut(at, before))
                gains.append(CATEGORY * min(before - low, high + 1 - before) / (high + 1 - low))
    return Places(cuts, most, np.array(gains) / (most or 1.0) * UNIT)


def scores(domain: Domain, found: Places, lower: Array, upper: Array, codes: Array) -> Array:
    """Return int64[cuts]: the scores of the records of a box.

    Parameters
    ----------
    domain : Domain
    found : Places
    lower, upper : int64[d]
    codes : int64[m, d]
        The records of the box.
    """
    result = np.zeros(len(found.cuts), np.int64)
    attributes = list(domain.columns.values())
    counted: dict[int, Array] = {}
    for at, (attribute, before) in enumerate(found.cuts):
        low, high = int(lower[attribute]), int(upper[attribute])
        column = codes[:, attribute]
        if before is None:
            # Rounded record by record, so that the contribution of each is UNIT at most.
            doubled = (2 * column - (low + high)).astype(np.float64)
            scale = ORDERED / found.most * UNIT / (attributes[attribute].size - 1) ** 2
            result[at] = int(np.rint(np.minimum(doubled * doubled * scale, UNIT)).sum())
        else:
            if attribute not in counted:
                counted[attribute] = np.cumsum(np.bincount(column - low, minlength=high + 1 - low))
            left = int(counted[attribute][before - low - 1])
            result[at] = min(left, len(column) - left) * round(CATEGORY / found.most * UNIT)
    return result


def candidates(lower: int, upper: int, most: int) -> Array:
    """Return int64[m]: positions before which a range can be cut, evenly spaced; every one if there are few."""
    return np.unique(np.linspace(lower + 1, upper, min(most, upper - lower)).astype(np.int64))


def _reach(one: AttributeDomain, low: int, high: int) -> float:
    """Return half the width of a range, in halves of the declared range."""
    return (high - low) / (one.size - 1)


def _boundaries(one: AttributeDomain, low: int, high: int) -> list[int]:
    """Return the positions before which categories may be cut: with a hierarchy, as high in its tree as possible."""
    every = np.arange(low + 1, high + 1)
    if isinstance(one, Categories) and one.hierarchy is not None:
        tree = one.hierarchy
        leaves = tree.leaf_nodes
        heights = tree.depths[tree.meet(leaves[every - 1], leaves[every])]
        every = every[heights == heights.min()]
    if len(every) > MOST_CUTS:
        every = every[np.linspace(0, len(every) - 1, MOST_CUTS).astype(np.int64)]
    return [int(before) for before in every]
