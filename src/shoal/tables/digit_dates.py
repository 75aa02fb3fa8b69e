"""Dates and moments written as digits without marks, such as 19860328, in text or in a column of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError
from shoal.tables.calendar import EARLIEST, LATEST, exist
from shoal.tables.dates import ambiguous_order, refuse_short_years

# All dates and moments are less, and a hundred times as much is no overflow.
LARGEST = 1e15
# With fewer different numbers of six digits, it may be chance that all are dates with years of two digits.
_BY_CHANCE = 10
# The number of digits of patterns.
WIDTHS = {"%Y%m%d%H%M%S": 14, "%Y%m%d%H%M": 12, "%Y%m%d": 8, "%d%m%Y": 8, "%m%d%Y": 8, "%Y%m": 6}
WIDTHS |= {"%y%m%d": 6, "%d%m%y": 6, "%m%d%y": 6}


def as_texts(numbers: Array, pattern: str) -> Any:
    """Return whole numbers, NaN where missing, as texts of a pattern: 1021986 is 01021986.

    Larger numbers than any date become one that is none either.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = np.clip(numbers, -LARGEST, LARGEST)
    digits = pc.cast(pc.cast(pa.array(numbers, mask=np.isnan(numbers)), pa.int64()), pa.string())
    return pa.chunked_array([pc.utf8_lpad(digits, WIDTHS.get(pattern, 0), "0")])


def kind_of(pattern: str) -> str:
    """Return whether digits of a pattern are dates or moments."""
    return "datetime" if "%H" in pattern else "date"


def of_digits(digits: Array, name: str, counts: Array | None = None) -> str | None:
    """Return the pattern of dates that are written as digits without marks, or None if the digits are something else.

    Parameters
    ----------
    digits : float64[n]
        The present whole numbers, such as 19860328, 198603 or 19860328103000.
    name : str
    counts : int64[n] or None
        In how many rows each number occurs; None: in one.

    Raises
    ------
    DataError
        If most are dates but not all, or if they can be read in several ways.
    """
    rows = np.ones(len(digits), np.int64) if counts is None else counts
    for pattern, second in (("%Y%m%d%H%M", 100), ("%Y%m%d%H%M%S", 1)):
        fit = _are_moments(np.where(np.abs(digits) < LARGEST, digits, 0) * second)
        if len(fit) and fit.all():
            return pattern
        _refuse_nearly_digits((pattern, fit), name, rows)
    if 2 * int(rows[(digits >= 100_000) & (digits < 1e8)].sum()) < max(1, int(rows.sum())):
        return None
    numbers = np.where(np.abs(digits) < 1e9, digits, -1).astype(np.int64)
    if 2 * int(rows[numbers >= 1_000_000].sum()) < int(rows.sum()):
        return _six_digits(numbers, name, rows)
    last, middle, first = numbers % 10_000, numbers // 10_000 % 100, numbers // 1_000_000
    fits = {
        "%Y%m%d": exist(numbers // 10_000, numbers // 100 % 100, numbers % 100),
        "%d%m%Y": exist(last, middle, first),
        "%m%d%Y": exist(last, first, middle),
    }
    fitting = [pattern for pattern, fit in fits.items() if fit.all()]
    if len(fitting) == 2 and not (first == middle).all():
        raise ambiguous_order(name, "")
    if not fitting:
        _refuse_nearly_digits(max(fits.items(), key=lambda item: int(rows[item[1]].sum())), name, rows)
    return fitting[0] if fitting else None


def _are_moments(digits: Array) -> Array:
    """Return bool[n]: whether numbers are moments such as 19860328103000."""
    likely = (digits >= EARLIEST * 1e10) & (digits < (LATEST + 1) * 1e10)
    days, times = np.divmod(np.where(likely, digits, 0).astype(np.int64), 1_000_000)
    clock = (times // 10_000 <= 23) & (times // 100 % 100 <= 59) & (times % 100 <= 59)
    return np.asarray(likely & clock & exist(days // 10_000, days // 100 % 100, days % 100))


def _six_digits(numbers: Array, name: str, rows: Array) -> str | None:
    """Return the pattern of months such as 198603, of more than one year; refuse dates such as 860328."""
    year, month = numbers // 100, numbers % 100
    fit = exist(year, month, np.ones(len(numbers), np.int64))
    # Numbers within a single year may be any, and their means are months of that year.
    if len(np.unique(year[fit])) > 1:
        if fit.all():
            return "%Y%m"
        _refuse_nearly_digits(("%Y%m", fit), name, rows)
    # A few numbers of six digits may look like dates by chance.
    if len(np.unique(numbers)) >= _BY_CHANCE:
        refuse_short_years((numbers // 10_000, numbers // 100 % 100, numbers % 100), "", name)
    return None


def _refuse_nearly_digits(best: tuple[str, Array], name: str, rows: Array) -> None:
    pattern, fit = best
    if 2 * int(rows[fit].sum()) >= int(rows.sum()) > 0:
        raise DataError(
            f"The column {name!r} must hold dates of the form {pattern!r} in all rows. Got something else in "
            f"{int(rows[~fit].sum())} of {int(rows.sum())}.",
            hint=f"correct them, declare what stands for a missing value, or pass types={{{name!r}: 'integer'}}.",
        )
