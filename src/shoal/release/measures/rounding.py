"""How exactly certificate and report may tell a figure that depends on the originals.

Such a figure is an equation on the data: together with the release, a loss with all its digits can be solved for the
values of a group. It is therefore told to few digits, by one rule, with two limits on their number d:

* *Enough groups.* One digit needs 50 groups of records that publish the same, two need 500, three need 5000; with
  fewer than 50 groups nothing is told. There are never more than three.
* *No large part.* A group or a unit that makes up more than 1 / 10**d of the figure leaves it fewer than d digits.
  That nothing was lost is not told either, as it would be told of everything but such a part.

With d digits a figure has steps of at least 1 / 10**d of itself. Somebody who knows all records but those of one group
is left with a range for the part of this group that is at least as wide as the part itself.

Nothing here depends on records that are not in the release.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from shoal.arrays import Array

# Groups that are needed for one, two and three digits.
ENOUGH_GROUPS = (50, 500, 5000)
# A share is not told in finer steps than this, so that nothing lost and hardly anything lost look the same.
FINEST = 3
# Original counts are told in steps of this many times k.
STEP_IN_K = 5


def most_digits(partitions: Iterable[Array], units: Array | None = None) -> int:
    """Return the number of digits that a figure of this release may have at most.

    Parameters
    ----------
    partitions : int64[n] each
        The groups of each block of attributes.
    units : int64[n] or None
        The unit of each record.
    """
    digits = len(ENOUGH_GROUPS)
    for labels in partitions:
        sizes = np.bincount(labels)
        sizes = sizes[sizes > 0]
        digits = min(digits, sum(len(sizes) >= enough for enough in ENOUGH_GROUPS), digits_left(sizes))
    return digits if units is None or not len(units) else min(digits, digits_left(np.bincount(units)))


def digits_left(parts: Array, whole: float | None = None) -> int:
    """Return the number of digits that no part of a figure is too large for.

    Parameters
    ----------
    parts : float64[m]
        What each group, or unit, contributes, at least 0.
    whole : float or None
        What they are compared with; None for their sum. If it is 0 there are no digits: to tell that nothing was lost
        would tell every value, and if a single record then differed, that would be seen.
    """
    return digits_of(float(parts.max(initial=0.0)), float(parts.sum()) if whole is None else whole)


def digits_of(largest: float, whole: float) -> int:
    """Return the number of digits that the largest part of a figure leaves to it."""
    if not 0 < whole < math.inf:
        return 0
    # Not by the logarithm of a quotient, which rounding would spoil at 1 / 10.
    return sum(largest * 10**d <= whole for d in range(1, len(ENOUGH_GROUPS) + 1))


def told(figure: float | None, digits: int) -> float | None:
    """Return a share of something to this many significant digits, None if it has none."""
    if figure is None or digits < 1 or not math.isfinite(figure):
        return None
    if figure == 0:
        return 0.0
    return round(figure, min(FINEST, digits - 1 - math.floor(math.log10(abs(figure))))) + 0.0


def told_at_most(figure: float | None, digits: int) -> float | None:
    """Return the same, rounded up: a limit must stay one."""
    return _outward(figure, digits, math.ceil)


def told_at_least(figure: float | None, digits: int) -> float | None:
    """Return the same, rounded down."""
    return _outward(figure, digits, math.floor)


def _outward(figure: float | None, digits: int, towards: object) -> float | None:
    if figure is None or digits < 1 or not math.isfinite(figure):
        return None
    if figure == 0:
        return 0.0
    decimals = min(FINEST, digits - 1 - math.floor(math.log10(abs(figure))))
    scale = 10.0**decimals
    return float(towards(figure * scale) / scale)  # type: ignore[operator]


def told_count(count: int, k: int) -> int:
    """Return a count of original values in steps of several groups."""
    step = STEP_IN_K * k
    return step * round(count / step)
