"""SmallDB: the small database that answers all range queries about as the table does, chosen by a noisy maximum.

Sources: T = Thaeter (2021), dissertation, 10.2, algorithm 24; Blum, Ligett, Roth (2013); Dwork, Roth (2014).

Every database of s records over the universe is a candidate, so that it is for small universes only. The utility of a
candidate is its worst error of a query. The chapter takes it as a share of n records, with the sensitivity 1 / n; but n
is private. As a number of records, it is n times the difference of two shares, or the count of the table minus n times
the share of the candidate: one record changes this by at most 1 in either direction, whatever n is. Times s, it is a
whole number, so that nothing is rounded. The probabilities are those of the chapter.
"""

from __future__ import annotations

import math
from itertools import chain, combinations_with_replacement

import numpy as np

from shoal.arrays import Array
from shoal.dp import cells as grid
from shoal.dp.budget import Ledger
from shoal.dp.domain import Coded
from shoal.dp.intervals import published
from shoal.dp.mechanisms import laplace, noisy_maximum
from shoal.dp.released import Released
from shoal.errors import TooLargeError
from shoal.progress import Progress, silent

# Candidates that are compared at most, and what it takes: nanoseconds for the answer of a candidate to a query, and
# for the noise of a candidate.
MOST_CANDIDATES = 2_000_000
FOR_ANSWER, FOR_NOISE = 90, 10_000
# Answers at a time.
BATCH = 2**24
# The share of epsilon for the number of records, which scales the chosen database.
FOR_NUMBER = 20


def small_db(
    coded: Coded,
    ledger: Ledger,
    *,
    alpha: float = 0.5,
    bins: int = 4,
    form: str = "records",
    report: Progress = silent,
) -> Released:
    """Return the cells of a small database, chosen so that shares of records in ranges are about those of the table.

    The queries are all ranges of cells: of each attribute, from one cell to another. The database has
    ceil(log(queries) / alpha^2) records. One twentieth of epsilon pays for the number of records, by which its shares
    are multiplied.

    Parameters
    ----------
    coded : Coded
    ledger : Ledger
    alpha : float
        The error to aim at, which says how many records the database has. See :func:`shoal.dp.small_db_error`.
    bins : int
        Cells of an attribute with an order, if it has as many values; categories are cells of their own.
    form : "records" or "aggregated"
        Records drawn evenly from each cell; or its middle, with its count.
    """
    sizes = grid.coarse_sizes(coded.domain, bins)
    _within_limits(sizes, alpha)
    universe, records = grid.number_of(sizes), records_of(sizes, alpha)
    epsilon = ledger.remaining[0]
    for_number = epsilon / FOR_NUMBER
    number = int(laplace(ledger, np.array([len(coded.codes)]), for_number, what="the number of records")[0])
    found = np.bincount(grid.cells_of(coded, sizes), minlength=universe)
    candidates = candidates_of(universe, records)
    scores = utilities(found, ranges(sizes), candidates, report)
    what = f"one of {len(scores):,} databases of {records} records"
    chosen = noisy_maximum(ledger, scores, epsilon - for_number, sensitivity=records, what=what)
    counts = np.bincount(candidates[chosen], minlength=universe)
    some = np.flatnonzero(counts)
    lower, upper = grid.bounds(coded.domain, sizes, some)
    scaled = np.rint(counts[some] * max(number, 0) / records).astype(np.int64)
    said = f"The shares of cells are multiples of 1 / {records}."
    return published(coded, lower, upper, scaled, form, (said,))


def records_of(sizes: tuple[int, ...], alpha: float) -> int:
    """Return how many records the small database has: log(queries) / alpha^2, rounded up (T algorithm 24)."""
    return max(1, math.ceil(math.log(queries_of(sizes)) / alpha**2))


def queries_of(sizes: tuple[int, ...]) -> int:
    """Return how many ranges of cells there are."""
    return math.prod(size * (size + 1) // 2 for size in sizes)


def candidates_of(universe: int, records: int) -> Array:
    """Return int32[m, records]: the cells of the records of each database, always in the same order."""
    listed = combinations_with_replacement(range(universe), records)
    return np.fromiter(chain.from_iterable(listed), np.int32).reshape(-1, records)


def ranges(sizes: tuple[int, ...]) -> Array:
    """Return bool[q, universe]: which cells each range has."""
    whole = np.ones((1, 1), bool)
    for size in sizes:
        ends = [(low, high) for low in range(size) for high in range(low, size)]
        within = np.array([[low <= cell <= high for cell in range(size)] for low, high in ends])
        whole = np.kron(whole, within)
    return whole


def utilities(found: Array, queries: Array, candidates: Array, report: Progress = silent) -> Array:
    """Return int64[m]: for each database, minus its worst error of a query, in records of the table times s.

    The error is |s * count of the table - n * count of the database|, where s is the number of records of a database. A
    further record of the table changes the first count by 0 or 1, and n by 1; the second count is from 0 to s. So one
    record changes any utility by at most s.
    """
    universe, n, records = len(found), int(found.sum()), candidates.shape[1]
    truth = records * (queries @ found)
    scores = np.empty(len(candidates), np.int64)
    step = max(1, BATCH // len(queries))
    for start in range(0, len(candidates), step):
        some = candidates[start : start + step]
        counts = np.zeros((len(some), universe))
        np.add.at(counts, (np.arange(len(some))[:, None], some), 1)
        # Sums of at most s ones: exact as floating-point numbers, and quicker than as integers.
        answers = (counts @ queries.T).astype(np.int64)
        scores[start : start + step] = -np.abs(truth - n * answers).max(axis=1)
        report(min(1.0, (start + step) / len(candidates)))
    return scores


def _within_limits(sizes: tuple[int, ...], alpha: float) -> None:
    universe, queries, records = grid.number_of(sizes), queries_of(sizes), records_of(sizes, alpha)
    candidates = math.comb(records + universe - 1, records)
    if candidates > MOST_CANDIDATES:
        # A whole number: it may be beyond all floats.
        seconds = candidates * (queries * FOR_ANSWER + FOR_NOISE) // 10**9
        raise TooLargeError(
            f"SmallDB must choose among at most {MOST_CANDIDATES:,} databases. Got {_large(candidates)}: all that "
            f"{records} records can be in a universe of {_large(universe)} cells, which would take "
            f"about {_time(seconds)}.",
            hint="cut attributes into fewer ranges ('bins'), declare fewer columns, or allow a larger 'alpha'.",
        )


def _large(number: int) -> str:
    """Return a number, or its order of magnitude."""
    return f"{number:,}" if number < 10**9 else f"10^{len(str(number)) - 1}"


def _time(seconds: int) -> str:
    for unit, length in (("years", 31_557_600), ("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{_large(seconds // length)} {unit}"
    return f"{seconds} seconds"
