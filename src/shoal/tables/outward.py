"""Intervals that contain their members for certain: ends with few digits, and ends that are multiples of a step.

Steps hide where members are. The lowest and the highest value of a group each lie in one cell ``[i step, (i + 1)
step)`` of a fixed grid; the interval reaches from the beginning of the one to the end of the other. Where in its cell a
value lies, the ends do not tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError
from shoal.tables.calendar import MICROSECONDS_A_DAY
from shoal.tables.ladders import plain, steps_below
from shoal.tables.notation import Notation
from shoal.tables.numerals import rounded
from shoal.tables.texts import writer

Step = int | float | str
PERIODS = {"month": "M", "year": "Y"}
_WHAT = {
    "continuous": "a number above 0",
    "integer": "a whole number above 0",
    **dict.fromkeys(("date", "datetime"), "a whole number of days, 'month' or 'year'"),
}
_LAST = np.datetime64("9999-12-31").astype(np.int64)


def checked_step(step: Step, kind: str, representative: str, name: str) -> Step:
    """Return the step of an attribute, or refuse it."""
    if kind not in _WHAT or representative != "interval":
        raise OptionError(
            f"The 'outward' of a plan must be about numbers and dates that publish intervals. Got {name!r}, a {kind} "
            f"column that publishes its {representative}.",
            hint=f"use release='local-recoding', or representatives={{{name!r}: 'interval'}}."
            if kind in _WHAT
            else None,
        )
    dated = kind in ("date", "datetime")
    whole = not isinstance(step, str) and float(step).is_integer()
    if not (whole or (dated and step in PERIODS) or (kind == "continuous" and not isinstance(step, str))):
        raise OptionError(f"The 'outward' of the {kind} column {name!r} must be {_WHAT[kind]}. Got {step!r}.")
    return step


def in_words(step: Step, kind: str) -> str:
    """Return what an attribute publishes, for the schema, the certificate and the report."""
    unit = f"{step}s" if isinstance(step, str) else f"{step:g} days" if kind in ("date", "datetime") else f"{step:g}"
    return f"interval of {unit}"


def rounded_ends(low: Array, high: Array, digits: int, *, scientific: bool) -> tuple[Array, Array]:
    """Return ends of intervals with so many decimal places, or places before exponents, rounded outward."""
    if not scientific:
        return -_rounded_up(-low, digits), _rounded_up(high, digits)
    ends = []
    for numbers, rounding in ((low, ROUND_FLOOR), (high, ROUND_CEILING)):
        with localcontext(prec=digits + 1, rounding=rounding):
            ends.append(np.array([float(+Decimal(repr(x))) for x in numbers.tolist()]))
    return ends[0], ends[1]


def _rounded_up(numbers: Array, digits: int) -> Array:
    """Return numbers with so many decimal places, at least as large; those that have no more stay as they are."""
    nearest = rounded(numbers, digits)
    # Decimals are converted to doubles that may be off in the last place.
    more = numbers - nearest > 2 * np.spacing(np.abs(numbers))
    return np.asarray(np.where(more, rounded(nearest + 10.0**-digits, digits), nearest))


def outward(low: Array, high: Array, kind: str, step: Step) -> tuple[Array, Array]:
    """Return the ends of intervals as numbers of the kind; the upper end is not part of the interval.

    Parameters
    ----------
    low, high : float64[m]
        The lowest and highest values: numbers, days or microseconds since 1970.
    """
    if kind in ("date", "datetime"):
        first, end = _days(low, high, kind, step)
        unit = 1 if kind == "date" else MICROSECONDS_A_DAY
        return first * float(unit), end * float(unit)
    width = float(step)
    first, last = (np.array(steps_below(x, width), np.float64) for x in (low, high))
    return first * width, (last + 1) * width


def outward_texts(kind: str, step: Step, writing: Notation) -> Callable[[Array, Array], Sequence[str]]:
    """Return the function that writes the intervals of the lowest and the highest values of groups."""
    if kind in ("date", "datetime"):
        write = writer(kind, writing)
        _check_pattern(write, kind, step)

        def texts(low: Array, high: Array) -> list[str]:
            return _joined(*(write(ends) for ends in outward(low, high, kind, step)))

        return texts

    def numbers(low: Array, high: Array) -> list[str]:
        # Written from their decimal digits: the notation of the column may have fewer than the step.
        with localcontext(prec=800):
            width = Decimal(str(step))
            ends = steps_below(low, float(step)), [i + 1 for i in steps_below(high, float(step))]
            return _joined(*([plain(i * width).replace(".", writing.decimal) for i in some] for some in ends))

    return numbers


def _joined(low: Sequence[str], high: Sequence[str]) -> list[str]:
    return [f"[{a}, {b})" for a, b in zip(low, high, strict=True)]


def _days(low: Array, high: Array, kind: str, step: Step) -> tuple[Array, Array]:
    """Return the first day of each interval and the day after its last, since 1970-01-01."""
    days = [np.floor(x / (1 if kind == "date" else MICROSECONDS_A_DAY)).astype(np.int64) for x in (low, high)]
    if isinstance(step, str):
        first, last = (day.astype("datetime64[D]").astype(f"datetime64[{PERIODS[step]}]") for day in days)
        ends = [x.astype("datetime64[D]").astype(np.int64) for x in (first, last + 1)]
    else:
        width = int(step)
        ends = [days[0] // width * width, (days[1] // width + 1) * width]
    if (ends[1] > _LAST).any() or (ends[0] < np.datetime64("0001-01-01").astype(np.int64)).any():
        raise DataError("Intervals of dates must lie in the years from 1 to 9999. Got a date too close to one of them.")
    return ends[0], ends[1]


def _check_pattern(write: Callable[[Array], Sequence[str]], kind: str, step: Step) -> None:
    """Refuse steps that are finer than what the format of a column can write, such as days where it has months."""
    days = {"month": 31, "year": 365}.get(str(step), 1)
    first, second = write(np.array([0.0, float(days if kind == "date" else days * MICROSECONDS_A_DAY)]))
    if first == second:
        raise OptionError(
            "The 'outward' of a plan must not be finer than the format of the column. Got one that is.",
            hint="use 'month' or 'year'.",
        )
