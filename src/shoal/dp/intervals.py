"""ReleaseIntervals: attributes are cut, one after the other, into intervals with about equally many records.

Sources: T = Thaeter (2021), dissertation, 10.2, algorithm 25; Blum, Ligett, Roth (2013). The printed algorithm is not
followed to the letter; `docs/explanation/chapter-10.md` says what was mended, and why.

The ends of intervals are found by binary search with noisy counts. All boxes of a level are searched at the same time:
a step asks for one count of each box, and a record is in one box, so that the counts of a step together have the
sensitivity 1. Steps are paid one after the other. A level has at most MaxIntervals searches of at most sigma steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.arrays import Array
from shoal.dp.budget import Budget, Ledger
from shoal.dp.domain import Coded
from shoal.dp.grids import nonnegative
from shoal.dp.mechanisms import laplace
from shoal.dp.released import Released, repeated
from shoal.progress import Progress, silent

# Shares of the budget: the searches, the counts of all levels but the last, and those of the boxes at the end.
SEARCHES, COUNTS, LAST = Fraction(6, 10), Fraction(1, 10), Fraction(3, 10)
# An interval is closed when it seems to have a share of the records, but never before it stands out of the noise: this
# many times the scale of the noise of a count.
CLEAR = 3.0
# `alpha="auto"` makes at most this many intervals a level.
MOST = 100.0


@dataclass(frozen=True)
class Boxes:
    """Boxes that cover the grid, each cell once.

    Attributes
    ----------
    lower, upper : int64[b, d]
        First and last position of each box in each attribute.
    of : int64[n]
        The box of each record. It is not noisy, and must not leave.
    """

    lower: Array
    upper: Array
    of: Array


def release_intervals(
    coded: Coded, ledger: Ledger, *, alpha: float | str = "auto", form: str = "records", report: Progress = silent
) -> Released:
    """Return boxes with noisy counts: the first attribute is cut into intervals, these by the next one, and so on.

    With one attribute, this is ReleaseIntervals (T algorithm 25); with several, its recursion (T 10.2). The epsilon of
    the ledger is divided among levels, so that the whole costs epsilon, not d times epsilon.

    Parameters
    ----------
    coded : Coded
    ledger : Ledger
    alpha : float or "auto"
        Intervals have a share of about alpha / 6 of the records of the box that they divide. "auto": chosen by the
        noisy number of records.
    form : "records" or "aggregated"
        Records drawn evenly from each box; or its middle, with its count.
    """
    epsilon = ledger.remaining[0]
    boxes, said = cut(coded, ledger, epsilon * (SEARCHES + COUNTS), alpha=alpha, report=report)
    found = np.bincount(boxes.of, minlength=len(boxes.lower))
    counts = laplace(ledger, found, epsilon * LAST, what="the counts of all boxes")
    whole = np.rint(nonnegative(counts.astype(np.float64))).astype(np.int64)
    return published(coded, boxes.lower, boxes.upper, whole, form, said)


def published(
    coded: Coded, lower: Array, upper: Array, counts: Array, form: str, said: tuple[str, ...] = ()
) -> Released:
    """Return boxes with counts as rows with counts, or as records drawn evenly from the boxes."""
    some = counts > 0
    lower, upper, counts = lower[some], upper[some], counts[some]
    if form == "aggregated":
        return Released(coded.domain, (lower + upper) / 2, counts, said)
    # What is drawn here protects nobody: the boxes and the counts are public. No seed is needed either.
    row = repeated(counts, lower.shape[1])
    drawn = np.random.default_rng().integers(lower[row], upper[row] + 1)
    return Released(coded.domain, drawn.astype(np.float64), None, said)


def cut(
    coded: Coded, ledger: Ledger, epsilon: Fraction, *, alpha: float | str = "auto", report: Progress = silent
) -> tuple[Boxes, tuple[str, ...]]:
    """Return the boxes of ReleaseIntervals, and a sentence about them; they cost epsilon."""
    n, d = coded.codes.shape
    for_counts, for_searches = epsilon * COUNTS / (COUNTS + SEARCHES), epsilon * SEARCHES / (COUNTS + SEARCHES)
    counted = Fraction(for_counts, d)
    counts = laplace(ledger, np.array([n]), counted, what="the number of records")
    intervals = _intervals(alpha, float(counts[0]), coded.domain.sizes, float(for_searches))
    lower, upper = np.zeros((1, d), np.int64), np.array([coded.domain.sizes]) - 1
    of = np.zeros(n, np.int64)
    for level, (name, one) in enumerate(coded.domain.columns.items()):
        if level:
            found = np.bincount(of, minlength=len(lower))
            counts = laplace(ledger, found, counted, what=f"the counts of boxes before the cut by {name!r}")
        paid = for_searches / d
        what = f"the ends of intervals of {name!r}"
        ends = _ends(ledger, coded.codes[:, level], of, counts, one.size, intervals, paid, what)
        lower, upper, of = _divided(lower, upper, of, coded.codes[:, level], ends, level)
        report((level + 1) / d)
    said = f"Each attribute was cut into about {intervals:.3g} intervals, in the order declared."
    return Boxes(lower, upper, of), (said,)


def _intervals(alpha: float | str, noisy_number: float, sizes: tuple[int, ...], epsilon: float) -> float:
    """Return how many intervals a level makes of a box: 6 / alpha.

    "auto": so many that those of the last level, with records / intervals^d each, still stand out of the noise of its
    4 / 3 intervals times sigma counts.
    """
    if not isinstance(alpha, str):
        return 6 / float(alpha)
    d, sigma = len(sizes), max(1.0, math.log2(max(sizes)))
    clear = max(noisy_number, 1.0) * epsilon / (CLEAR * 4 / 3 * sigma * d)
    return float(min(MOST, max(1.0, clear ** (1 / (d + 1)))))


def _ends(
    ledger: Ledger,
    values: Array,
    of: Array,
    counts: Array,
    size: int,
    intervals: float,
    epsilon: Fraction,
    what: str,
) -> Array:
    """Return the last positions of the intervals of each box: int64[b, MaxIntervals], `size` - 1 where it is done.

    The loop of algorithm 25, for all boxes: each of at most MaxIntervals searches has at most sigma steps, and what is
    left after the last of them is one more interval. All of it was paid before the first step is drawn.
    """
    most, sigma = math.ceil(4 / 3 * intervals), max(1, math.ceil(math.log2(size)))
    ledger.charge(what, epsilon)
    step = epsilon / (most * sigma)
    noise = ledger.neighbours.rows / float(step)
    enough = np.maximum(counts / intervals, CLEAR * noise)
    # Records by box and position; what lies in a range of positions of a box is between two places of this list.
    places = np.sort(of * size + values)
    ends = np.full((len(counts), most), size - 1)
    begin = np.zeros(len(counts), np.int64)
    for at in range(most):
        open_ = np.flatnonzero(begin < size)
        if not len(open_):
            break
        low, high = begin[open_], np.full(len(open_), size - 1)
        first = np.searchsorted(places, open_ * size + low)
        # One of `most` equal parts of what was paid.
        search = Ledger(Budget(epsilon / most), ledger.neighbours)
        for _ in range(sigma):
            middle = (low + high) // 2
            inside = np.searchsorted(places, open_ * size + middle, "right") - first
            seen = laplace(search, inside, step, what=what)
            is_enough = (seen >= enough[open_]) & (low < high)
            low, high = np.where(is_enough | (low == high), low, middle + 1), np.where(is_enough, middle, high)
        ends[open_, at] = low
        begin[open_] = low + 1
    return ends


def _divided(
    lower: Array, upper: Array, of: Array, values: Array, ends: Array, level: int
) -> tuple[Array, Array, Array]:
    """Return the bounds of boxes after a level, and the boxes of records."""
    made = [_intervals_of(row, int(upper[0, level])) for row in ends]
    sizes = np.array([len(one) for one in made])
    starts = np.cumsum(sizes) - sizes
    last = np.concatenate(made)
    first = np.append(0, last[:-1] + 1)
    first[starts] = 0
    new_lower, new_upper = np.repeat(lower, sizes, axis=0), np.repeat(upper, sizes, axis=0)
    new_lower[:, level], new_upper[:, level] = first, last
    size = int(upper[0, level]) + 1
    keys = np.repeat(np.arange(len(made)), sizes) * size + last
    return new_lower, new_upper, np.searchsorted(keys, of * size + values)


def _intervals_of(ends: Array, last: int) -> Array:
    """Return the rising ends of the intervals of one box, of which the last is that of the attribute."""
    return np.unique(np.append(ends, last))
