"""The members that a group represents, and their weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError
from shoal.tables.sums import power_above
from shoal.tables.values import Groups

_BITS = 50  # sums of integer weights stay below 2**_BITS, where double precision is exact


class Members(NamedTuple):
    """The present members of the groups that publish a value, group by group."""

    rows: Array  # int64[p], ascending within a group
    starts: Array  # int64[g]; no group is empty
    sizes: Array  # int64[g]
    live: Array  # bool[m]: the groups that publish a value, g of them
    weights: Array | None  # int64[p]; the sum of each group is positive, and that of all is below 2**_BITS

    def spread(self, of_groups: Array) -> Array:
        """Return the values of groups, repeated for each of their members."""
        return np.repeat(of_groups, self.sizes, axis=0)

    def first(self, flags: Array) -> Array:
        """Return the position of the first flagged member of each group; each must have one."""
        flagged = np.flatnonzero(flags)
        return flagged[np.searchsorted(flagged, self.starts)]

    def amounts(self) -> Array:
        """Return int64[p]: the weight of each member, 1 if there are no weights."""
        return np.ones(len(self.rows), np.int64) if self.weights is None else self.weights


def checked_weights(weights: Array | None, n: int, name: str) -> Array | None:
    """Return the weights of n rows, or None; raise DataError unless they are finite and not negative."""
    if weights is None:
        return None
    bad = int((~(np.isfinite(weights) & (weights >= 0))).sum())
    if weights.shape != (n,) or bad:
        raise DataError(
            f"Weights must be {n} finite numbers >= 0. Got {bad} others among {len(weights)} for {name}.",
            hint="every record of a weighted table needs a weight; add it, or drop the record.",
        )
    return weights


def present_members(missing: Array, groups: Groups, weights: Array | None) -> Members:
    """Return the present members of all groups in which fewer than half of the members are missing."""
    sizes = groups.sizes
    if missing.any():
        absent = np.add.reduceat(missing[groups.order].astype(np.int64), groups.starts[:-1])
        live = 2 * absent < sizes
        rows = groups.order[np.repeat(live, sizes) & ~missing[groups.order]]
        sizes = (sizes - absent)[live]
    else:
        live, rows = np.ones(len(sizes), bool), groups.order
    starts = np.cumsum(sizes) - sizes
    members = Members(rows, starts, sizes, live, None)
    return members if weights is None or not len(rows) else members._replace(weights=_integers(weights[rows], members))


def _integers(weights: Array, members: Members) -> Array:
    """Return proportional integer weights, whose sums and ties are exact in any order of summation.

    Each group is scaled by its own power of two, so that integers and binary fractions are not rounded. A weight below
    about n / 2**_BITS of the largest weight of its group becomes 0.
    """
    largest = np.maximum.reduceat(weights, members.starts)
    none = largest == 0
    scaled = np.where(members.spread(none), 1.0, weights / members.spread(np.where(none, 1.0, power_above(largest))))
    return np.rint(scaled * 2.0 ** (_BITS - len(weights).bit_length())).astype(np.int64)
