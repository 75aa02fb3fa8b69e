"""The linear programme over groups, and the mixed-integer one, solved by HiGHS.

The programme chooses fractions of groups that cover every record once at the least cost. The duals of its rows are the
prices of records. A record may be left out, or be covered once more, at a charge. This only keeps its price between two
limits, so that there is always a solution, and that prices of a programme over few groups are not extreme.
"""

from __future__ import annotations

import time
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.kernels import pricing as _pricing
from shoal.partitioning.cover_cuts import Cut, Cuts, membership


class Solved(NamedTuple):
    """Value of a linear programme, prices of records and cuts, fractions of groups, and whether a limit binds."""

    value: float
    records: Array
    cuts: Array
    fractions: Array
    bound: bool


class Programme:
    """The linear programme over a growing list of groups, with cuts.

    Parameters
    ----------
    X : float64[n, d]
        Scaled so that the best partition known costs n.
    most : int
        Largest size of a group.
    fixed : float64[n - rows], optional
        The prices of the last records, which are fixed: groups pay them, and need not cover these records.
    """

    def __init__(self, X: Array, most: int, fixed: Array | None = None) -> None:
        import highspy

        self.X, self.n = X, len(X)
        self.rows = self.n if fixed is None else self.n - len(fixed)
        self._paid = np.append(np.zeros(self.rows), np.empty(0) if fixed is None else fixed)
        self.groups, self.costs = np.empty((0, most), np.int32), np.empty(0)
        self.cuts = Cuts(self.n)
        self._known = np.empty(0, np.int64)
        self._marks = np.random.default_rng(1).integers(1, 1 << 62, self.n + 1)
        self._marks[self.n] = 0
        self._highs = h = highspy.Highs()
        for option, value in (("output_flag", False), ("threads", 1), ("run_crossover", "off")):
            h.setOptionValue(option, value)
        ones = np.ones(self.rows)
        h.addRows(self.rows, ones, ones, 0, np.zeros(self.rows, np.int32), np.empty(0, np.int32), np.empty(0))
        away = np.full(self.rows, 10.0 * self.n)
        self._append(away, np.arange(self.rows + 1), np.arange(self.rows), ones)
        self._append(away, np.arange(self.rows + 1), np.arange(self.rows), -ones)

    def limit(self, least: Array, most: Array) -> None:
        """Keep the prices of records between two limits: float64[rows] each."""
        columns = np.arange(2 * self.rows, dtype=np.int32)
        self._highs.changeColsCost(2 * self.rows, columns, np.concatenate([most, -least]))

    def add(self, groups: Array) -> int:
        """Add the groups (int32[c, most], padded with n) that are new; return their number."""
        groups = np.sort(groups, axis=1)
        groups = groups[groups[:, 0] < self.rows]
        marks = self._hashes(groups)
        first = np.unique(marks, return_index=True)[1]
        first = first[~np.isin(marks[first], self._known)]
        if not len(first):
            return 0
        groups = np.ascontiguousarray(groups[first])
        costs = _pricing.reduced_costs(self.X, self._paid, groups)[1]
        matrix = membership(groups, self.n)
        if self.rows < self.n:
            matrix = matrix.tocsr()[: self.rows].tocsc()
        if len(self.cuts):
            import scipy.sparse as sp

            matrix = sp.vstack([matrix, self.cuts.coefficients(groups)]).tocsc()
        self._append(costs, matrix.indptr, matrix.indices, matrix.data)
        self._known = np.concatenate([self._known, marks[first]])
        self.groups, self.costs = np.concatenate([self.groups, groups]), np.concatenate([self.costs, costs])
        return len(groups)

    def add_cuts(self, cuts: list[Cut]) -> None:
        """Add cuts."""
        new = Cuts(self.n, cuts)
        rows = new.coefficients(self.groups).tocsr()
        self._highs.addRows(
            len(cuts), np.full(len(cuts), -np.inf), new.right, rows.nnz,
            rows.indptr[:-1].astype(np.int32), (rows.indices + 2 * self.rows).astype(np.int32), rows.data,
        )  # fmt: skip
        self.cuts = Cuts(self.n, self.cuts.all + cuts)

    def drop(self, keep: Array) -> None:
        """Keep only some of the groups: bool[c]."""
        away = np.flatnonzero(~keep) + 2 * self.rows
        if len(away):
            self._highs.deleteCols(len(away), away.astype(np.int32))
            self.groups, self.costs, self._known = self.groups[keep], self.costs[keep], self._known[keep]

    def drop_cuts(self, keep: Array) -> None:
        """Keep only some of the cuts: bool[len(cuts)]."""
        away = np.flatnonzero(~keep) + self.rows
        if len(away):
            self._highs.deleteRows(len(away), away.astype(np.int32))
            self.cuts = Cuts(self.n, [cut for cut, kept in zip(self.cuts.all, keep, strict=True) if kept])

    def solve(self, deadline: float, interior: bool = False) -> Solved | None:
        """Solve the programme; return None if the deadline passes first.

        Parameters
        ----------
        deadline : float
            On the clock of `time.monotonic`.
        interior : bool
            Use an interior-point method, which is quicker for large groups, instead of the simplex method from the
            last solution.
        """
        import highspy

        h = self._highs
        h.setOptionValue("time_limit", h.getRunTime() + max(0.01, deadline - time.monotonic()))
        h.setOptionValue("solver", "ipm" if interior else "simplex")
        h.run()
        if h.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = h.getSolution()
        duals = np.array(solution.row_dual)
        sigma = np.maximum(-duals[self.rows :], 0.0)
        values = np.array(solution.col_value)
        fractions, outside = values[2 * self.rows :], float(values[: 2 * self.rows].sum())
        value = float(h.getInfo().objective_function_value)
        return Solved(value, duals[: self.rows], sigma, fractions, outside > 1e-6 * self.n)

    def _append(self, costs: Array, starts: Array, rows: Array, values: Array) -> None:
        c = len(costs)
        least, most = np.zeros(c), np.full(c, np.inf)
        starts, rows = starts[:-1].astype(np.int32), rows.astype(np.int32)
        self._highs.addCols(c, costs, least, most, len(rows), starts, rows, values)

    def _hashes(self, groups: Array) -> Array:
        with np.errstate(over="ignore"):
            marks: Array = self._marks[groups].sum(axis=1)
        return marks


def first_groups(near: Array, k: int, most: int, subsets: int) -> Array:
    """Return each record with subsets of its nearest neighbours: int32[c, most], padded with n.

    Parameters
    ----------
    near : int64[n, q]
        Neighbours of each record, nearest first, q >= most - 1.
    k, most : int
        Sizes of groups.
    subsets : int
        About the most subsets for each record.
    """
    n, q = near.shape
    width = k - 1
    while width < q and sum(comb(width + 1, size - 1) for size in range(k, most + 1)) <= subsets:
        width += 1
    near = np.hstack([np.arange(n)[:, None], near])
    parts = []
    for size in range(k, most + 1):
        if size - 1 <= width:
            chosen = np.array(list(combinations(range(1, width + 1), size - 1)), np.int64)
        else:
            chosen = np.arange(1, size)[None]
        chosen = np.hstack([np.zeros((len(chosen), 1), np.int64), chosen])
        padded = np.full((n * len(chosen), most), n, np.int32)
        padded[:, :size] = near[:, chosen].reshape(-1, size)
        parts.append(padded)
    return np.concatenate(parts)


def descents(X: Array, prices: Array, groups: Array, near: Array, k: int) -> Array:
    """Return groups around each record, reached by moves and swaps that lower the reduced cost.

    Parameters
    ----------
    X : float64[n, d]
    prices : float64[n]
    groups : int32[c, most]
        Padded with n. The best one of each record is where its descent starts.
    near : int32[n, q]
        Neighbours of each record.
    k : int
    """
    ranked = groups[np.argsort(_pricing.reduced_costs(X, prices, groups)[1], kind="stable")]
    records, first = np.unique(ranked, return_index=True)
    records, first = records[records < len(X)], first[records < len(X)]
    start: Array = np.array(ranked[first // groups.shape[1]])
    start[np.arange(len(start)), first % groups.shape[1]] = start[:, 0]
    start[:, 0] = records
    _pricing.lower_costs(X, prices, near, k, 1e-9, start)
    return start


def best_choice(
    X: Array, groups: Array, own: Array, cuts: Cuts, ceiling: float, deadline: float
) -> tuple[Array | None, bool]:
    """Choose groups that cover every record once at the least cost.

    Parameters
    ----------
    X : float64[n, d]
    groups : int32[c, most]
        Candidates, padded with n.
    own : int32[g, most]
        The groups of the best partition known, which are candidates too.
    cuts : Cuts
    ceiling : float
        The cost of the partition `own`.
    deadline : float

    Returns
    -------
    chosen : int32[g, most] or None
        The groups of the best partition found.
    finished : bool
        Whether no better one exists, within the tolerances of the solver.
    """
    import scipy.sparse as sp

    n = len(X)
    groups = np.unique(np.sort(np.concatenate([own, groups]), axis=1), axis=0)
    ranks = {row.tobytes(): place for place, row in enumerate(groups)}
    start = np.zeros(len(groups))
    start[[ranks[row.tobytes()] for row in np.sort(own, axis=1)]] = 1.0
    costs = _pricing.reduced_costs(X, np.zeros(n), groups)[0]
    matrix = sp.vstack([membership(groups, n), cuts.coefficients(groups)]).tocsc()
    right = np.append(np.ones(n), cuts.right)
    seconds = max(0.05, deadline - time.monotonic())
    taken, finished = choice(costs, matrix, n, right, start, seconds=seconds)
    chosen = groups[taken]
    if not np.array_equal(np.sort(chosen[chosen < n]), np.arange(n)):
        return None, False
    return chosen, finished


def choice(
    costs: Array,
    matrix: Any,
    records: int,
    right: Array,
    start: Array,
    *,
    seconds: float | None = None,
    nodes: int | None = None,
) -> tuple[Array, bool]:
    """Solve an integer programme: choose columns that cover every record once at the least cost.

    Parameters
    ----------
    costs : float64[c]
        On a scale on which a record costs about 1.
    matrix : sparse array of shape (r, c), by column
    records : int
        Number of first rows that must equal their right-hand side; the others may stay below it.
    right : float64[r]
    start : float64[c]
        A choice to start from, 0 or 1 for each column.
    seconds, nodes : optional
        Limits. Without a limit of time the result does not depend on the machine.

    Returns
    -------
    int64[g]
        The columns chosen. Callers must check them, as the solver works with tolerances.
    finished : bool
        Whether there is no better choice, within the tolerances of the solver.
    """
    import highspy

    options = {"output_flag": False, "threads": 1, "mip_rel_gap": 1e-7, "mip_abs_gap": 1e-7 * records}
    limits = {"time_limit": seconds, "mip_max_nodes": nodes}
    h = highspy.Highs()
    for option, value in (options | limits).items():
        if value is not None:
            h.setOptionValue(option, value)
    h.passModel(_integer_programme(costs, matrix, records, right))
    solution = highspy.HighsSolution()
    solution.col_value = start
    h.setSolution(solution)
    h.run()
    finished = h.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return np.flatnonzero(np.array(h.getSolution().col_value) > 0.5), finished


def _integer_programme(costs: Array, matrix: Any, records: int, right: Array) -> Any:
    """Return the programme of :func:`choice` in the form of HiGHS."""
    import highspy

    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(costs), len(right)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = costs, np.zeros(len(costs)), np.ones(len(costs))
    lp.row_lower_ = np.where(np.arange(len(right)) < records, right, -np.inf)
    lp.row_upper_ = right
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    lp.integrality_ = [highspy.HighsVarType.kInteger] * len(costs)
    return lp
