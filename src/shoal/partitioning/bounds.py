"""Lower bounds on the squared error of all partitions into groups of at least k records.

The better ones are in :mod:`shoal.partitioning.covering`; here are a quick one, one for many records that puts
windows of the other together, and the linear programme of Thaeter (2021), dissertation, 9.3.
"""

from __future__ import annotations

import heapq
import logging
import time
from math import fsum

import numpy as np

from shoal.arrays import Array
from shoal.errors import TooLargeError
from shoal.partitioning.cover_prices import Effort, Pricing
from shoal.partitioning.covering import MOST_RECORDS, TOLERANCE, record_prices, solve
from shoal.partitioning.exact import exact, most_records
from shoal.partitioning.neighbour_bound import SAFE, neighbour_bound, neighbour_prices
from shoal.partitioning.pool import cost_of, total_cost
from shoal.progress import Progress, silent

__all__ = ["SAFE", "centres_bound", "covering_bound", "neighbour_bound", "neighbour_prices", "windows_bound"]

log = logging.getLogger("shoal")

# Records in a window of `windows_bound`, at most.
WINDOW = 1200
# Seconds for a weight of one pair of records and coordinate.
WEIGHT_SECONDS = 1e-9
# Records that `centres_bound` takes, and cells that it divides space into.
MOST_FOR_CENTRES = 60
CELLS = 200


def covering_bound(
    X: Array, k: int, labels: Array | None = None, time_limit: float = 300.0, report: Progress = silent
) -> float:
    """Return the optimum of few records, else the bound of set partitioning, in windows if they are many."""
    if len(X) <= most_records(k):
        return total_cost(X, exact(X, k, report=report)) * (1 - SAFE)
    if len(X) <= MOST_RECORDS:
        return solve(X, k, labels, time_limit, report).bound
    return windows_bound(X, k, time_limit, report)


def windows_bound(X: Array, k: int, time_limit: float = 300.0, report: Progress = silent) -> float:
    """Return a bound for many records: prices from windows of neighbours, lowered until they hold for all.

    Space is halved until no part has more than `WINDOW` records; each gets the prices of its own linear programme,
    as far as the time suffices, the others those of the neighbour bound. Groups across windows may then be cheaper
    than their records: they are listed, and prices lowered. If there are too many, prices nearer to those of the
    neighbour bound are taken. The result is never below the neighbour bound.
    """
    start, n = time.monotonic(), len(X)
    prices = neighbour_prices(X, k)
    best = fsum(prices)
    listing = 2 * WEIGHT_SECONDS * float(n) * n * (X.shape[1] + 4) * k
    if 3 * listing > time_limit or best == 0:
        log.info("lower bound: %d records are too many for linear programmes in the time; neighbour bound", n)
        return best
    first = start + 0.5 * (time_limit - listing)
    raised = prices.copy()
    parts = _windows(X, WINDOW)
    for done, rows in enumerate(parts):
        now = time.monotonic()
        if now < first:
            until = now + (first - now) / (len(parts) - done)
            raised[rows] = np.maximum(record_prices(np.ascontiguousarray(X[rows]), k, until), prices[rows])
        report(0.5 * (done + 1) / len(parts))
    scale = n / best
    pricing = Pricing(np.ascontiguousarray(X * np.sqrt(scale)), k)
    step, end = 1.0, start + time_limit
    while time.monotonic() + listing < end:
        point = scale * (prices + step * (raised - prices))
        found = pricing.bound(point, Effort(end, 2_000_000_000, 2_000_000))
        if found is not None:
            best = max(best, found / scale * (1 - TOLERANCE))
            break
        step /= 2
    report(1.0)
    return best


def _windows(X: Array, most: int) -> list[Array]:
    """Return rows in parts of at most `most` records, by cuts at the median of the widest coordinate."""
    todo, done = [np.arange(len(X))], []
    while todo:
        rows = todo.pop()
        if len(rows) <= most:
            done.append(rows)
            continue
        column = int(np.argmax(np.ptp(X[rows], axis=0)))
        order = rows[np.argsort(X[rows, column], kind="stable")]
        todo += [order[: len(rows) // 2], order[len(rows) // 2 :]]
    return done


def centres_bound(X: Array, k: int, cells: int = CELLS) -> float:
    """Return the bound of the linear programme over discretised centres (T 9.3, figure 9.2 with condition 6).

    Each group has a centre from a finite set S, and records are assigned to centres in fractions: a centre i is open
    by y_i, takes at most y_i of a record, and k y_i to (2k - 1) y_i records in all. With centres restricted to S the
    optimum can only rise, so the programme as printed bounds the discretised problem, not the original one. Two
    changes make its value a bound for the latter:

    - S are the middles of boxes that fill the bounding box of all records, where every mean of a group lies. If the
      mean of m records lies in the box of i, they cost at least what they cost with the centre i, less m r_i^2 (T
      theorem 2.15), r_i being half the diagonal. So the squared distance less r_i^2 is charged.
    - Two means may lie in one box, so that y_i counts groups and may exceed 1.

    Boxes are halved where diagonals are long, as no even grid is possible in more than a few coordinates; the bound
    rises with their number. It is computed from the duals p of "every record is assigned once": for each box the
    cheapest k to 2k - 1 records, at their cost less p, and at most n / k groups. That is valid for any p, whatever
    the solver did.

    Parameters
    ----------
    X : float64[n, d]
        At most 60 records.
    k : int
    cells : int
        Number of boxes.
    """
    n = len(X)
    if n > MOST_FOR_CENTRES:
        raise TooLargeError(
            f"The effort 'centres' takes at most {MOST_FOR_CENTRES} records. Got {n}.",
            hint="effort='lp' gives a better bound, and effort='quick' takes any number.",
        )
    if n < 2 * k:
        return cost_of(X, np.arange(n)) * (1 - SAFE)
    quick = neighbour_bound(X, k)
    if quick == 0:
        return 0.0
    middles, radii = _boxes(X, cells)
    costs = ((X[None] - middles[:, None]) ** 2).sum(axis=2) - radii[:, None] ** 2
    most = min(2 * k - 1, n - k)
    duals = _assignment_duals(costs / quick, k, most) * quick
    reduced = np.cumsum(np.sort(costs - duals, axis=1), axis=1)[:, k - 1 : most].min(axis=1)
    return max(0.0, float(duals.sum() + n / k * min(0.0, reduced.min())) * (1 - SAFE))


def _boxes(X: Array, cells: int) -> tuple[Array, Array]:
    """Halve the bounding box of X where it is longest: middles float64[c, d] and half diagonals float64[c]."""
    first = (X.min(axis=0), X.max(axis=0))
    heap = [(-float(np.linalg.norm(first[1] - first[0])), 0, first)]
    for number in range(1, cells):
        _, _, (low, high) = heapq.heappop(heap)
        column = int(np.argmax(high - low))
        middle = (low[column] + high[column]) / 2
        for at, side in enumerate((high.copy(), low.copy())):
            side[column] = middle
            half = (low, side) if at == 0 else (side, high)
            heapq.heappush(heap, (-float(np.linalg.norm(half[1] - half[0])), 2 * number + at, half))
    lows, highs = (np.array([entry[2][side] for entry in heap]) for side in (0, 1))
    return (lows + highs) / 2, np.linalg.norm(highs - lows, axis=1) / 2


def _assignment_duals(costs: Array, k: int, most: int) -> Array:
    """Return the duals of "every record is assigned once": costs float64[centres, n] -> float64[n]."""
    import scipy.sparse as sp
    from scipy.optimize import linprog

    c, n = costs.shape
    once = sp.hstack([sp.hstack([sp.eye(n)] * c), sp.csr_matrix((n, c))]).tocsr()
    per_centre = sp.kron(sp.eye(c), np.ones((1, n)))
    open_ = sp.eye(c)
    rows = [
        sp.hstack([sp.eye(c * n), -sp.kron(open_, np.ones((n, 1)))]),
        sp.hstack([-per_centre, k * open_]),
        sp.hstack([per_centre, -most * open_]),
    ]
    upper = sp.vstack(rows).tocsr()
    objective = np.append(costs.ravel(), np.zeros(c))
    right = np.zeros(upper.shape[0])
    solved = linprog(objective, upper, right, once, np.ones(n), method="highs-ipm")
    return np.asarray(solved.eqlin.marginals) if solved.status == 0 else np.zeros(n)
