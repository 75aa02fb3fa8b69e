"""Noisy answers, drawn by OpenDP: counts, sums, maxima, quantiles, means and variances of integers.

Every function takes a ledger and the epsilon that it may spend. It chooses the least noise for which OpenDP's own
privacy map stays within that epsilon, charges what the map says, and draws only then. `drawn` is the one place at
which noise comes into being; tests put another function there. There is no seed.

All values are integers of 64 bits (see :mod:`shoal.dp.domain`): samplers of integers are exact, those of floating-point
numbers are not. Sensitivities are those of one row, and the ledger knows how many rows a neighbour may have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from fractions import Fraction
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.dp.budget import Ledger, Number, exact
from shoal.errors import OptionError, ShoalError

# Scores are floating-point numbers outside; this many steps make up the sensitivity. With more steps than `MOST_STEPS`,
# the arithmetic of floating-point numbers is off by more than the part of a step that is paid for.
STEPS = 2**20
MOST_STEPS = 2**51
# Sums beyond are taken for this: a sum that ran over would jump from one end of 64 bits to the other.
LARGEST_SUM = 2**62
# Bounds of means and of variances, and how far they may be apart.
LARGEST_BOUND, WIDEST_MEAN, WIDEST_VARIANCE = 2**60, 2**40, 2**26


@lru_cache(maxsize=1)
def library() -> Any:
    """Return OpenDP, with the features that Shoal uses; raise ShoalError if it is not installed."""
    try:
        # Not its prelude, which loads scikit-learn and more.
        from opendp import combinators, domains, measurements, measures, metrics, mod, transformations
    except ImportError:
        raise ShoalError(
            "Differential privacy needs the package opendp. Got none: it is not installed.", "pip install 'shoal[dp]'"
        ) from None
    mod.enable_features("contrib")
    named = {name: value for one in (domains, measures, metrics) for name, value in vars(one).items()}
    return SimpleNamespace(**named, m=measurements, t=transformations, c=combinators)


def drawn(measurement: Any, data: Any) -> Any:
    """Return a noisy answer. No other line of Shoal draws noise for privacy."""
    return measurement(data)


def laplace(
    ledger: Ledger, values: Array, epsilon: Number, *, sensitivity: int = 1, what: str = "a noisy sum"
) -> Array:
    """Return integers with discrete Laplace noise.

    Parameters
    ----------
    ledger : Ledger
    values : int64 array of any shape
        Counts or sums.
    epsilon : number
    sensitivity : int
        Largest sum of the absolute changes of all values that one row can cause: 1 for counts of cells of which a row
        is in one at most.
    what : str
        For the ledger.
    """
    values = _integers(values)
    measurement, cost = _calibrated(_make_laplace, _distance(ledger, sensitivity), exact(epsilon, "epsilon"))
    ledger.charge(what, cost)
    if not values.size:
        return values
    return np.array(drawn(measurement, np.ascontiguousarray(values.ravel())), np.int64).reshape(values.shape)


def noisy_maximum(
    ledger: Ledger,
    scores: Array,
    epsilon: Number,
    *,
    sensitivity: int = 1,
    monotonic: bool = False,
    what: str = "a noisy maximum",
) -> int:
    """Return the position of a score that is probably one of the highest, and nothing else about the scores.

    Parameters
    ----------
    ledger : Ledger
    scores : int64[m]
    epsilon : number
    sensitivity : int
        Largest change of any score that one row can cause.
    monotonic : bool
        Whether a further row changes all scores in the same direction, if at all. This halves the noise.
    what : str
        For the ledger.
    """
    scores = _integers(scores)
    if scores.ndim != 1 or not scores.size:
        raise OptionError(f"The scores of a noisy maximum must be a list of numbers. Got the shape {scores.shape}.")
    make = _make_monotonic_maximum if monotonic else _make_maximum
    measurement, cost = _calibrated(make, _distance(ledger, sensitivity), exact(epsilon, "epsilon"))
    ledger.charge(what, cost)
    return int(drawn(measurement, np.ascontiguousarray(scores)))


def exponential(
    ledger: Ledger, utilities: Array, epsilon: Number, *, sensitivity: float = 1.0, what: str = "a noisy choice"
) -> int:
    """Return the position of a choice, better ones being exponentially more likely.

    The choice is made by permute-and-flip, OpenDP's noisy maximum, which is never worse than the exponential mechanism
    at the same epsilon (McKenna, Sheldon 2020).

    Parameters
    ----------
    ledger : Ledger
    utilities : float64[m]
        Rounded to steps of a millionth of the sensitivity, which is paid for.
    epsilon : number
    sensitivity : float
        Largest change of any utility that one row can cause.
    what : str
        For the ledger.
    """
    given = np.asarray(utilities, np.float64)
    if not (math.isfinite(sensitivity) and sensitivity > 0):
        raise OptionError(f"The 'sensitivity' of a choice must be a number above 0. Got {sensitivity!r}.")
    steps = np.rint(given / sensitivity * STEPS)
    if not (np.abs(steps) < MOST_STEPS).all():
        raise OptionError("The utilities of a choice must be finite, and not too large for their sensitivity.")
    # Each of two rounded utilities is off by half a step, and by less than that for their own arithmetic.
    return noisy_maximum(ledger, steps.astype(np.int64), epsilon, sensitivity=STEPS + 2, what=what)


def quantile(
    ledger: Ledger,
    values: Array,
    candidates: Array,
    epsilon: Number,
    *,
    alpha: float = 0.5,
    what: str = "a noisy quantile",
) -> int:
    """Return the candidate below which about the share alpha of the values lies.

    Parameters
    ----------
    ledger : Ledger
    values : int64[n]
    candidates : int64[m]
        Rising. They must not come from the values.
    epsilon : number
    alpha : float
        From 0 to 1; 0.5 is the median.
    what : str
        For the ledger.
    """
    values, candidates = _integers(values), _integers(candidates)
    if candidates.ndim != 1 or not candidates.size or (np.diff(candidates) <= 0).any():
        raise OptionError("The candidates of a quantile must be rising numbers, at least one.")
    if not 0 <= alpha <= 1:
        raise OptionError(f"The 'alpha' of a quantile must be from 0 to 1. Got {alpha!r}.")
    # What a quantile costs does not depend on its candidates.
    make, kind = partial(_make_quantile, candidates.tobytes(), float(alpha)), ("quantile", float(alpha))
    measurement, cost = _calibrated(make, ledger.neighbours.rows, exact(epsilon, "epsilon"), kind)
    ledger.charge(what, cost)
    return int(drawn(measurement, np.ascontiguousarray(values)))


def histogram(
    ledger: Ledger, codes: Array, size: int, epsilon: Number, *, what: str = "a histogram of noisy counts"
) -> Array:
    """Return int64[size]: noisy counts of codes 0 .. size - 1, of which each row has one."""
    codes = _integers(codes)
    if codes.size and not (codes.min() >= 0 and codes.max() < size):
        raise OptionError(f"The codes of a histogram must be from 0 to {size - 1}.")
    return laplace(ledger, np.bincount(codes, minlength=size), epsilon, what=what)


def mean(
    ledger: Ledger, values: Array, lower: int, upper: int, epsilon: Number, *, what: str = "a noisy mean"
) -> float:
    """Return a noisy mean of integers within declared bounds, to which values outside of them are moved.

    Half of the budget pays for the number of values, the other half for the sum of their distances from the middle of
    the bounds. The number is private too: a neighbour has one row more.
    """
    half = ledger.afford(what, epsilon).epsilon / 2
    doubled, widest = _doubled(values, lower, upper)
    number = laplace(ledger, np.array([doubled.size]), half, what=f"{what}: the number of values")[0]
    total = laplace(ledger, _sum(doubled), half, sensitivity=widest, what=f"{what}: their sum")[0]
    return (lower + upper) / 2 + _share(total, number, widest) / 2


def variance(
    ledger: Ledger, values: Array, lower: int, upper: int, epsilon: Number, *, what: str = "a noisy variance"
) -> float:
    """Return a noisy variance of integers within declared bounds: of the number of values, their sum and their squares.

    Each of the three costs a third of the budget.
    """
    third = ledger.afford(what, epsilon).epsilon / 3
    doubled, widest = _doubled(values, lower, upper, WIDEST_VARIANCE)
    number = laplace(ledger, np.array([doubled.size]), third, what=f"{what}: the number of values")[0]
    total = laplace(ledger, _sum(doubled), third, sensitivity=widest, what=f"{what}: their sum")[0]
    squares = doubled * doubled
    squared = laplace(
        ledger, _sum(squares), third, sensitivity=widest * widest, what=f"{what}: the sum of their squares"
    )[0]
    average = _share(total, number, widest)
    of_squares = max(0.0, min(float(widest) ** 2, float(squared) / max(1.0, float(number))))
    return max(0.0, of_squares - average**2) / 4


def _doubled(values: Array, lower: int, upper: int, widest: int = WIDEST_MEAN) -> tuple[Array, int]:
    """Return twice the distances from the middle of the bounds, which are whole, and the largest that can be."""
    for bound in (lower, upper):
        if isinstance(bound, bool) or not isinstance(bound, int | np.integer) or abs(int(bound)) > LARGEST_BOUND:
            raise OptionError(f"The bounds of a mean must be whole numbers up to {LARGEST_BOUND:,}. Got {bound!r}.")
    low, high = int(lower), int(upper)
    if low > high:
        raise OptionError("The bounds of a mean must be lower and upper. Got them swapped.")
    if high - low > widest:
        raise OptionError(f"The bounds of a noisy answer must be at most {widest:,} steps apart. Got {high - low:,}.")
    within = np.clip(_integers(values), low, high)
    return 2 * within - (low + high), max(1, high - low)


def _sum(values: Array) -> Array:
    """Return int64[1]: the sum, or the nearest number that fits; a row changes this by no more than its value."""
    # Sums of halves of 64 bits do not run over.
    total = (int((values >> 31).sum()) << 31) + int((values & (2**31 - 1)).sum())
    return np.array([max(-LARGEST_SUM, min(LARGEST_SUM, total))], np.int64)


def _share(total: Any, number: Any, widest: int) -> float:
    """Return a sum by a number, within what is possible."""
    return max(-float(widest), min(float(widest), float(total) / max(1.0, float(number))))


# --- OpenDP ---


def _vectors() -> Any:
    opendp = library()
    return opendp.vector_domain(opendp.atom_domain(T="i64"))


@lru_cache(maxsize=256)
def _make_laplace(scale: float) -> Any:
    opendp = library()
    return opendp.m.make_laplace(_vectors(), opendp.l1_distance(T="i64"), scale=scale)


@lru_cache(maxsize=256)
def _make_maximum(scale: float) -> Any:
    opendp = library()
    return opendp.m.make_noisy_max(_vectors(), opendp.linf_distance(T="i64"), opendp.max_divergence(), scale=scale)


@lru_cache(maxsize=256)
def _make_monotonic_maximum(scale: float) -> Any:
    opendp = library()
    space = _vectors(), opendp.linf_distance(T="i64", monotonic=True)
    return opendp.m.make_noisy_max(*space, opendp.max_divergence(), scale=scale)


@lru_cache(maxsize=256)
def _make_quantile(candidates: bytes, alpha: float, scale: float) -> Any:
    opendp = library()
    space = _vectors(), opendp.symmetric_distance(), opendp.max_divergence()
    chosen_from = np.frombuffer(candidates, np.int64).copy()  # OpenDP takes none that is read-only
    return opendp.m.make_private_quantile(*space, candidates=chosen_from, alpha=alpha, scale=scale)


_SCALES: dict[tuple[Any, int, Fraction], float] = {}  # that were found before
_MOST_SCALES = 10_000


def _calibrated(
    make: Callable[[float], Any], distance: int, epsilon: Fraction, kind: Hashable = None
) -> tuple[Any, Fraction]:
    """Return the mechanism with the least noise that costs epsilon at most, and what OpenDP says that it costs.

    Its privacy maps round up, so that the scale is a few steps above the quotient of distance and epsilon. A scale that
    was found before, for mechanisms of this kind, is where the search begins; its cost is asked for all the same.
    """
    if epsilon <= 0:
        raise OptionError("The 'epsilon' of a noisy answer must be above 0.")
    known = (kind or make, distance, epsilon)
    scale = _SCALES[known] if known in _SCALES else float(Fraction(make(1.0).map(distance)) / epsilon)
    step = 1
    while True:
        measurement = make(scale)
        cost = Fraction(measurement.map(distance))
        if cost <= epsilon:
            if len(_SCALES) < _MOST_SCALES:
                _SCALES[known] = scale
            return measurement, cost
        for _ in range(step):
            scale = math.nextafter(scale, math.inf)
        step *= 2


def _distance(ledger: Ledger, sensitivity: int) -> int:
    if isinstance(sensitivity, bool) or not isinstance(sensitivity, int | np.integer) or sensitivity < 1:
        got = f"Got {sensitivity!r}."
        raise OptionError(f"The 'sensitivity' of a noisy answer must be a whole number of at least 1. {got}")
    return int(sensitivity) * ledger.neighbours.rows


def _integers(values: Array) -> Array:
    given = np.asarray(values)
    if given.dtype.kind not in "iu" and given.size:
        raise OptionError("The values of a noisy answer must be whole numbers in fixed point.")
    if given.dtype == np.uint64 and given.size and given.max() >= 2**63:
        raise OptionError("The values of a noisy answer must fit into 64 bits with a sign. Got larger ones.")
    return given.astype(np.int64, copy=False)
