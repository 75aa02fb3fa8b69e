"""Safe k-anonymisation of a random sample: no noise, but nobody knows who was sampled.

Sources: T = Thaeter (2021), dissertation, definition 3.16, remark 3.18 and theorem 10.24; Li, Qardaji, Su (2012).

Only cells and their counts are published. The chapter speaks of cluster statistics: a mean, or any other figure of the
records of a cell, is *not* covered by the theorem, and shows with probability beta whether a record far from the others
was there. `tests/dp` has the attack.
"""

from __future__ import annotations

import math
import os
from fractions import Fraction

import numpy as np

from shoal.arrays import Array
from shoal.dp import cells as grid
from shoal.dp.budget import Ledger
from shoal.dp.calculators import sampling_delta
from shoal.dp.domain import Coded
from shoal.dp.intervals import cut, published
from shoal.dp.released import Released
from shoal.errors import OptionError, TooLargeError
from shoal.progress import Progress, silent

# Rates are multiples of this, so that a comparison of 64 random bits keeps a record with exactly that probability.
STEP = Fraction(1, 2**40)
# The rates that "auto" tries.
RATES = 2**12


def strongly_safe(
    coded: Coded,
    ledger: Ledger,
    *,
    k: int = 20,
    beta: float | str = "auto",
    bins: int = 8,
    form: str = "records",
    report: Progress = silent,
) -> Released:
    """Return the cells of a fixed grid that at least k records of a random sample are in, with their counts.

    Each record is kept with probability beta. Counts are divided by beta, so that they estimate those of the table;
    records of cells with fewer than k are lost.

    Parameters
    ----------
    coded : Coded
    ledger : Ledger
        All of its epsilon is spent, and the delta of :func:`shoal.dp.sampling_delta`.
    k : int
        The least count that is published.
    beta : float or "auto"
        The sampling rate. "auto": the largest that the budget pays for.
    bins : int
        Cells of an attribute with an order, if it has as many values; categories are cells of their own.
    form : "records" or "aggregated"
        Records drawn evenly from each cell; or its middle, with its count.
    """
    sizes = grid.coarse_sizes(coded.domain, bins)
    if grid.number_of(sizes) > 2**62:
        raise TooLargeError(
            f"The grid must have at most {2**62:,} cells. Got {grid.number_of(sizes):.3g}.",
            hint="cut attributes into fewer ranges ('bins'), or declare fewer columns.",
        )
    rate = _paid(ledger, k, beta, ledger.remaining[0])
    report(0.5)
    sampled = grid.cells_of(coded, sizes)[kept(len(coded.codes), rate)]
    found, counts = np.unique(sampled, return_counts=True)
    lower, upper = grid.bounds(coded.domain, sizes, found[counts >= k])
    return published(coded, lower, upper, _whole(counts[counts >= k], rate), form, _said(rate, k))


def epsilon_safe(
    coded: Coded,
    ledger: Ledger,
    *,
    k: int = 20,
    beta: float | str = "auto",
    alpha: float | str = "auto",
    share: float = 0.5,
    form: str = "records",
    report: Progress = silent,
) -> Released:
    """Return the boxes of a private clustering that at least k records of a random sample are in, with their counts.

    As :func:`strongly_safe`, with boxes that follow the data (T remark 3.18): those of ReleaseIntervals, which cost a
    share of epsilon. Given the boxes, the sample costs the rest of epsilon, and delta. The two add up.

    Parameters
    ----------
    coded, ledger, k, beta, form
        As in :func:`strongly_safe`.
    alpha : float or "auto"
        As in :func:`shoal.dp.intervals.release_intervals`.
    share : float
        Of epsilon, for the boxes.
    """
    epsilon = ledger.remaining[0]
    for_boxes = epsilon * Fraction(share).limit_denominator(1000)
    # The sample is paid first: if it cannot be, nothing is drawn.
    rate = _paid(ledger, k, beta, epsilon - for_boxes)
    boxes, said = cut(coded, ledger, for_boxes, alpha=alpha, report=report)
    counts = np.bincount(boxes.of[kept(len(coded.codes), rate)], minlength=len(boxes.lower))
    counts = np.where(counts >= k, counts, 0)
    return published(coded, boxes.lower, boxes.upper, _whole(counts, rate), form, (*said, *_said(rate, k)))


def kept(n: int, rate: Fraction) -> Array:
    """Return bool[n]: which records are sampled, each with exactly this probability.

    The randomness is that of the operating system, which has no seed: whoever could foresee the sample would see exact
    counts.
    """
    return np.frombuffer(os.urandom(8 * n), np.uint64) < np.uint64(int(rate * 2**64))


def _paid(ledger: Ledger, k: int, beta: float | str, epsilon: Fraction) -> Fraction:
    """Return the sampling rate, after it was paid for; raise before anything is drawn if it cannot be."""
    if ledger.neighbours.rows > 1:
        raise OptionError(
            "A safe k-anonymisation must be about units of one row: theorem 10.24 is about single records.",
            hint="keep one row of each unit (rows_per_unit: 1), or choose another private release.",
        )
    rate = _highest_rate(ledger, k, epsilon) if isinstance(beta, str) else _rate(beta)
    what = f"counts of at least {k} in a random sample of {float(rate):.3%} of the records"
    ledger.charge(what, epsilon, Fraction(sampling_delta(k, float(rate), _below(epsilon))))
    return rate


def _rate(beta: float) -> Fraction:
    """Return the rate in steps, rounded down."""
    rate = Fraction(beta) // STEP * STEP
    if not 0 < rate < 1:
        raise OptionError(f"The 'beta' of a sample must be above 0 and below 1. Got {beta!r}.")
    return rate


def _highest_rate(ledger: Ledger, k: int, epsilon: Fraction) -> Fraction:
    """Return the highest rate found by bisection whose delta the ledger can pay; nothing depends on the records."""
    low, high = 0, RATES
    limit = _below(epsilon)
    while high - low > 1:
        middle = (low + high) // 2
        rate = Fraction(middle, RATES)
        possible = -math.log1p(-float(rate)) < limit
        if possible and Fraction(sampling_delta(k, float(rate), limit)) <= ledger.remaining[1]:
            low = middle
        else:
            high = middle
    if not low:
        raise OptionError(
            f"The budget must pay for a sample of at least 1 record in {RATES:,} with k = {k}. Its delta is too small.",
            hint="allow a larger delta (below 1 / the number of records), a larger k, or a larger epsilon.",
        )
    return Fraction(low, RATES)


def _below(epsilon: Fraction) -> float:
    """Return the largest float that is not above epsilon: what is claimed is never more than what was paid."""
    near = float(epsilon)
    return near if Fraction(near) <= epsilon else math.nextafter(near, 0.0)


def _whole(counts: Array, rate: Fraction) -> Array:
    return np.rint(counts / float(rate)).astype(np.int64)


def _said(rate: Fraction, k: int) -> tuple[str, ...]:
    return (
        f"Each record was kept with probability {float(rate):.4g}; counts were divided by it.",
        f"Cells with fewer than {k} sampled records were left out.",
    )
