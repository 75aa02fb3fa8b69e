"""Lower bounds on the squared error of all partitions into groups of at least k records.

The better ones are in :mod:`shoal.partitioning.pair_prices` (any k and any number of records), in
:mod:`shoal.partitioning.covering`, and in :mod:`shoal.partitioning.regions` for many records; here
are the choice between them, and the linear programme of Thaeter (2021), dissertation, 9.3.
"""

from __future__ import annotations

import heapq
import time

import numpy as np

from shoal.arrays import Array
from shoal.errors import TooLargeError
from shoal.partitioning.covering import MOST_RECORDS, Cover, solve
from shoal.partitioning.exact import exact, most_records
from shoal.partitioning.neighbour_bound import SAFE, neighbour_bound, neighbour_prices
from shoal.partitioning.pair_prices import compile_pair_prices, pair_prices
from shoal.partitioning.pool import cost_of, total_cost
from shoal.partitioning.regions import regions_bound
from shoal.progress import Progress, part, silent

__all__ = ["SAFE", "centres_bound", "covered", "covering_bound", "neighbour_bound", "neighbour_prices", "regions_bound"]

# Records that `centres_bound` takes, and cells that it divides space into.
MOST_FOR_CENTRES = 60
CELLS = 200
# The share of the time for prices from pairs, for groups of FEW records and for larger ones, which are hard to list.
FEW, FIRST_SHARE, FIRST_SHARE_OF_MANY = 5, 0.3, 0.7
# Up to so many records, groups of up to FEW are listed at once.
SOON_SOLVED = 500


def covering_bound(
    X: Array, k: int, labels: Array | None = None, time_limit: float = 300.0, report: Progress = silent
) -> float:
    """Return the optimum of few records, else the bound of set partitioning, region by region if they are many."""
    if len(X) <= most_records(k):
        return total_cost(X, exact(X, k, report=report)) * (1 - SAFE)
    if len(X) > MOST_RECORDS:
        return regions_bound(X, k, time_limit, report)
    return covered(X, k, labels, time_limit, report).bound


def covered(
    X: Array, k: int, labels: Array | None = None, time_limit: float = 300.0, report: Progress = silent
) -> Cover:
    """Return the bound of set partitioning for up to MOST_RECORDS, and the best partition that was met on the way."""
    if k == 2 or (k <= FEW and len(X) <= SOON_SOLVED):
        return solve(X, k, labels, time_limit, report)
    compile_pair_prices(X, k)
    begun = time.monotonic()
    share = FIRST_SHARE if k <= FEW else FIRST_SHARE_OF_MANY
    prices = pair_prices(X, k, None, begun + share * time_limit, part(report, 0.0, share))
    left = max(0.0, begun + time_limit - time.monotonic())
    return solve(X, k, labels, left, part(report, share, 1.0), prices)


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
    """Halve the bounding box of X where it is longest: middles float64[c, d] and half diagonals float64[c].

    Sides are counted in halvings of the first box, so that equal boxes have equal diagonals, wherever they lie.
    """
    corner, lengths = X.min(axis=0), np.ptp(X, axis=0)
    heap = [(-float(np.linalg.norm(lengths)), 0, corner, np.zeros(X.shape[1], np.int64))]
    for number in range(1, cells):
        _, _, low, halvings = heapq.heappop(heap)
        sides = np.ldexp(lengths, -halvings)
        column = int(np.argmax(sides))
        halvings, middle = halvings.copy(), low.copy()
        halvings[column] += 1
        middle[column] += sides[column] / 2
        diagonal = float(np.linalg.norm(np.ldexp(lengths, -halvings)))
        for at, corner in enumerate((low, middle)):
            heapq.heappush(heap, (-diagonal, 2 * number + at, corner, halvings))
    every = np.ldexp(lengths, -np.array([entry[3] for entry in heap]))
    return np.array([entry[2] for entry in heap]) + every / 2, np.linalg.norm(every, axis=1) / 2


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
