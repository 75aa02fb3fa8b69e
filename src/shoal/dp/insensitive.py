"""Insensitive microaggregation with noise on the means: the larger the groups, the less noise.

Sources: T = Thaeter (2021), dissertation, definition 3.19; Soria-Comas, Domingo-Ferrer, Sanchez, Martinez (2014);
Gotsman, Lindenbaum (1996) for distances along Hilbert's curve.

Records are sorted along a Hilbert curve through the declared domain and cut into groups of k, as the method
`insensitive` of :mod:`shoal.partitioning` does. A further record moves each later one by a rank: every group behind it
gets one record from the group before and gives one to the next. The paper bounds the change of each of the m groups by
the whole width of the domain. But what is handed on are records in the order of the curve, and a curve that fills the
domain cannot cross it m times: together they differ by far less (`change_of_sums`). With one attribute the sum of all
changes is at most one width, however many groups there are.

The paper replaces one record and knows how many there are. Here a record is added or removed, so the number of groups
comes from a noisy number of records: missing places of the last groups are filled with the end of the curve, and
records beyond the last group are left out.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from shoal.arrays import Array
from shoal.dp.budget import Ledger
from shoal.dp.domain import Coded
from shoal.dp.mechanisms import laplace
from shoal.dp.released import Released, repeated
from shoal.errors import OptionError, TooLargeError
from shoal.partitioning.insensitive import along_hilbert_curve
from shoal.progress import Progress, silent

# Cells of the curve along each attribute: 2^BITS.
BITS = 16
# One part of so many of epsilon pays for the number of records.
FOR_NUMBER = 20
# Their noise takes about a minute.
MOST_SUMS = 5_000_000


def noisy_means(
    coded: Coded, ledger: Ledger, *, k: int | str = "auto", form: str = "records", report: Progress = silent
) -> Released:
    """Return the noisy means of groups of k records that are neighbours on a curve through the domain.

    Parameters
    ----------
    coded : Coded
        Columns must have an order: a mean of names means nothing.
    ledger : Ledger
    k : int or "auto"
        Records in a group. "auto": chosen by the noisy number of records, so that noise and groups cost about the same.
    form : "records" or "aggregated"
        Each mean k times, as records; or once, with the count k.
    """
    n, d = coded.codes.shape
    epsilon = ledger.remaining[0]
    for_number = epsilon / FOR_NUMBER
    number = int(laplace(ledger, np.array([n]), for_number, what="the number of records")[0])
    k = best_size(max(number, 1), d, float(epsilon - for_number)) if isinstance(k, str) else k
    groups = max(1, number // k)
    if groups * d > MOST_SUMS:
        raise TooLargeError(
            f"Noisy means must have at most {MOST_SUMS:,} sums. Got {groups * d:,}, by the noisy number of records.",
            hint="choose a larger 'k', or a larger epsilon, with which the number is less noisy.",
        )
    sums = sums_of_groups(cells_of(coded), k, groups)
    report(0.5)
    change = change_of_sums(groups, d)
    what = f"the sums of {groups:,} groups of {k:,} records"
    noisy = laplace(ledger, sums, epsilon - for_number, sensitivity=change, what=what)
    means = np.clip((noisy / k + 0.5) / (1 << BITS), 0, 1) * np.array(coded.domain.sizes) - 0.5
    said = (f"Each mean is that of {k:,} records; the noise of a mean has the scale {_noise(change, k, epsilon)}.",)
    counts = np.full(groups, k)
    if form == "records":
        return Released(coded.domain, means[repeated(counts, d)], None, said)
    return Released(coded.domain, means, counts, said)


def _noise(change: int, k: int, epsilon: Fraction) -> str:
    return (
        f"{change / (1 << BITS) / k / float(epsilon * (FOR_NUMBER - 1) / FOR_NUMBER):.2%} of the range of its attribute"
    )


def cells_of(coded: Coded) -> Array:
    """Return int64[n, d]: the cells of the records, 2^BITS along each attribute."""
    for name, one in coded.domain.columns.items():
        if not one.ordered:
            raise OptionError(
                f"The columns of noisy means must have an order. Got {name!r}, which is {one.kind}.",
                hint="choose another private release for names, or take the column out of the domain.",
            )
    return np.asarray(coded.codes * (1 << BITS) // np.array(coded.domain.sizes))


def sums_of_groups(cells: Array, k: int, groups: int) -> Array:
    """Return int64[groups, d]: the sums of the cells of each k records in the order of the curve."""
    ordered = cells[along_hilbert_curve(cells, BITS)][: groups * k]
    sums = np.zeros((groups, cells.shape[1]), np.int64)
    starts = np.arange(0, len(ordered), k)
    if len(starts):
        sums[: len(starts)] = np.add.reduceat(ordered, starts, axis=0)
    # Places that no record takes are at the end of the curve, behind all records.
    taken = np.clip(len(ordered) - k * np.arange(groups), 0, k)
    sums[:, 0] += (k - taken) * ((1 << BITS) - 1)
    return sums


@lru_cache(maxsize=1024)
def change_of_sums(groups: int, d: int, bits: int = BITS) -> int:
    """Return the most by which one record can change all sums of groups together, in the sum of absolute values.

    Group i gets the record b[i - 1] and loses b[i], which follow each other on the curve, so the change is at most the
    sum of |b[i] - b[i - 1]| (d coordinates together) over as many steps as there are groups. It is at most d widths a
    step. And if two cells are h places apart on the curve, and 2^(d j) is at least h, then they are in the same block
    of 2^j cells a side or in two that follow each other and share a face, so that they differ by at most
    (d + 1) 2^j - d. All h together are at most 2^(d bits) - 1, the length of the curve. The largest sum under these
    conditions is at most `groups` times the least concave function above them, at the average h.
    """
    widest = (1 << bits) - 1
    if d == 1:
        return widest
    average = Fraction((1 << d * bits) - 1, groups)
    corners = [(0, 0), (1, 1)] + [((1 << d * (j - 1)) + 1, (d + 1) * (1 << j) - d) for j in range(1, bits + 1)]
    corners.append(((1 << d * bits), (d + 1) * (1 << bits) - d))
    least = max(
        Fraction(y) if x == average else y + (v - y) * (average - x) / (u - x)
        for x, y in corners
        for u, v in corners
        if x <= average <= u and (x < u or x == average)
    )
    return min(groups * d * widest, math.ceil(groups * least))


def best_size(number: int, d: int, epsilon: float) -> int:
    """Return a k for which the noise of means and the width of groups are about equal, from public figures alone.

    As shares of the width of an attribute: the noise of a mean has the variance 2 (change / (k epsilon))^2, and records
    of m groups that fill the domain evenly have the variance m^(-2 / d) / 12 within them.
    """

    def price(groups: int) -> float:
        scale = change_of_sums(groups, d) / (1 << BITS) / (number / groups * epsilon)
        return float(2 * scale**2 + groups ** (-2 / d) / 12)

    choices = sorted({min(number, math.floor(2 ** (power / 4))) for power in range(0, 4 * 40)})
    return max(1, number // min(choices, key=price))
