"""Levels of intervals above numbers, each level coarser than the one before."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation, localcontext
from itertools import pairwise

import numpy as np

from shoal.arrays import Array
from shoal.errors import OptionError

# Numbers closer to a border than this, in widths, are placed by exact arithmetic.
_NEAR = 1e-9


def decimal(text: str | float) -> Decimal | None:
    """Return the number that a text stands for, or None if there is none or double precision cannot hold it."""
    try:
        value = Decimal(str(text))
    except InvalidOperation:
        return None
    return value if value.is_finite() and abs(value.adjusted()) <= 310 and len(value.as_tuple().digits) <= 60 else None


def plain(value: Decimal) -> str:
    """Return the digits of a number, without an exponent or zeros at the end."""
    return format(value.normalize() + 0, "f")


def steps_below(numbers: Array, width: float) -> list[int]:
    """Return, for each number x, the whole i with i w <= x < (i + 1) w, by its decimal digits: 0.3 is 3 times 0.1."""
    steps = numbers / width
    # Doubles are exact for whole numbers; other numbers close to a border are decided by their decimal digits.
    exact = (numbers == np.rint(numbers)) & (float(width).is_integer()) & (np.abs(numbers) < 2.0**53)
    near = ~exact & ~(np.abs(steps - np.rint(steps)) > _NEAR * np.maximum(1.0, np.abs(steps)))
    below: list[int] = np.floor(np.where(near, 0.0, steps)).astype(np.int64).tolist()
    with localcontext(prec=800):
        unit = Decimal(str(width))
        for at in np.flatnonzero(near).tolist():
            whole, rest = divmod(Decimal(repr(float(numbers[at]))), unit)
            below[at] = int(whole) - (rest < 0)
    return below


def ladder(
    widths: Sequence[float | str] | None, edges: Sequence[Sequence[float | str]] | None, origin: float | str
) -> list[Callable[[Decimal], str]]:
    """Return, for each level, the function that names the interval of a number."""
    start = decimal(origin)
    if (widths is None) == (edges is None) or start is None:
        raise OptionError("A ladder of intervals must have either 'widths' or 'edges', and a number as 'origin'.")
    if edges is None:
        steps = [decimal(width) for width in widths or ()]
        nested = [a is not None and b is not None and 0 < a < b and b % a == 0 for a, b in pairwise(steps)]
        if not steps or steps[0] is None or steps[0] <= 0 or not all(nested):
            raise OptionError(
                "The 'widths' of a ladder of intervals must be positive numbers, each a multiple of the one before. "
                f"Got {list(widths or ())}.",
                hint="intervals of a level must not be cut by those above it: 5, 10, 20 and not 5, 10, 15.",
            )
        return [_by_width(step, start) for step in steps if step is not None]
    bounds = [[decimal(edge) for edge in level] for level in edges]
    for i, level in enumerate(bounds):
        known = [edge for edge in level if edge is not None]
        if (
            not level
            or len(known) < len(level)
            or known != sorted(set(known))
            or (i and not set(level) <= set(bounds[i - 1]))
        ):
            raise OptionError(
                "The 'edges' of a ladder of intervals must be numbers that rise, on each level some of those of the "
                f"level before. Got others on level {i + 1} of {len(bounds)}."
            )
    if not bounds:
        raise OptionError("The 'edges' of a ladder of intervals must have at least one level. Got none.")
    return [_by_edges([edge for edge in level if edge is not None]) for level in bounds]


def _by_width(width: Decimal, origin: Decimal) -> Callable[[Decimal], str]:
    def place(value: Decimal) -> str:
        steps, rest = divmod(value - origin, width)
        low = origin + (steps - (rest < 0)) * width
        return f"[{plain(low)}, {plain(low + width)})"

    return place


def _by_edges(edges: Sequence[Decimal]) -> Callable[[Decimal], str]:
    texts = ["(-inf", *(f"[{plain(edge)}" for edge in edges)], [*(plain(edge) for edge in edges), "inf"]

    def place(value: Decimal) -> str:
        i = bisect_right(edges, value)
        return f"{texts[0][i]}, {texts[1][i]})"

    return place
