"""Noisy counts of all cells of a declared grid.

Algorithm 26 of Thaeter (2021), which prints a noise of 1 / (epsilon |X|) for shares. That is not private: a record
changes a share by 1 / n. Counts change by 1, and here they get noise of scale 1 / epsilon; n is private as well.
"""

from __future__ import annotations

import math

import numpy as np

from shoal.arrays import Array
from shoal.dp import mechanisms
from shoal.dp.budget import Ledger
from shoal.dp.domain import Coded
from shoal.dp.released import Released, repeated
from shoal.errors import TooLargeError
from shoal.progress import Progress, silent

MOST_CELLS = 2_000_000
MICROSECONDS = 15  # that the noise of a cell takes


def histogram_release(
    coded: Coded, ledger: Ledger, *, bins: int = 10, form: str = "records", report: Progress = silent
) -> Released:
    """Release noisy counts of the cells of a grid, or records drawn from them.

    Parameters
    ----------
    coded : Coded
    ledger : Ledger
        Its whole budget is spent.
    bins : int
        Cells of an attribute with an order, if it has as many values; categories are cells of their own.
    form : "records" or "aggregated"
        Records drawn evenly within cells; or the middle of each cell, with its noisy count.
    report : callable
    """
    sizes = coded.domain.sizes
    ordered = [one.ordered for one in coded.domain.columns.values()]
    shape = tuple(min(bins, size) if rises else size for size, rises in zip(sizes, ordered, strict=True))
    cells = math.prod(shape)
    if cells > MOST_CELLS:
        raise TooLargeError(
            f"The grid of a histogram must have at most {MOST_CELLS:,} cells. Got {cells:,}, whose noise would take "
            f"{_duration(cells * MICROSECONDS / 1e6)} to draw.",
            hint="release fewer columns, or declare fewer bins or categories; 'mondrian' needs no grid.",
        )
    edges = [-(-np.arange(parts + 1) * size // parts) for parts, size in zip(shape, sizes, strict=True)]
    inside = [np.searchsorted(edge, coded.codes[:, at], "right") - 1 for at, edge in enumerate(edges)]
    flat = np.ravel_multi_index(inside, shape) if len(coded.codes) else np.zeros(0, np.int64)
    noisy = mechanisms.histogram(ledger, flat, cells, ledger.remaining[0], what="counts of the cells of the grid")
    report(0.9)
    counts = np.rint(nonnegative(noisy.astype(np.float64))).astype(np.int64)
    kept = np.flatnonzero(counts)
    at = np.unravel_index(kept, shape)
    lower = np.stack([edge[one] for edge, one in zip(edges, at, strict=True)], axis=1).astype(np.float64)
    upper = np.stack([edge[one + 1] - 1 for edge, one in zip(edges, at, strict=True)], axis=1).astype(np.float64)
    if form == "aggregated":
        return Released(coded.domain, (lower + upper) / 2, counts[kept])
    # The counts are noisy: how records are drawn from them need not be secret.
    generator = np.random.default_rng()
    cell = repeated(counts[kept], len(shape))
    drawn = np.floor(lower[cell] + generator.random((len(cell), len(shape))) * (upper - lower + 1.0)[cell])
    return Released(coded.domain, drawn[generator.permutation(len(drawn))])


def nonnegative(counts: Array) -> Array:
    """Return the numbers of at least 0 with the same sum that are nearest to noisy counts.

    The same amount is taken from all, and what would fall below 0 is 0. If only those below 0 were lifted, noise would
    add records: half of all empty cells would have some.
    """
    total = max(float(counts.sum()), 0.0)
    falling = np.sort(counts)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
    last = int(np.flatnonzero(falling > excess)[-1]) if total > 0 else len(falling) - 1
    taken = float(excess[last]) if total > 0 else math.inf
    result: Array = np.maximum(counts - taken, 0.0)
    return result


def _duration(seconds: float) -> str:
    for length, name in ((86400 * 365.25, "years"), (86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * length:
            return f"about {seconds / length:,.0f} {name}"
    return f"about {seconds:.0f} seconds"
