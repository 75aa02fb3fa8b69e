"""What small tables need, without kernels: their releases then wait for no compiler.

Sums and distances are those of the kernels (`shoal.kernels.sums`, `shoal.kernels.groups`), to the bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import fsum

import numpy as np

from shoal.arrays import Array

# Rows whose distances to all others are looked at together: few enough to stay close to the processor.
ROWS = 64
# Groups of at most so many records are summed together; larger ones are few, and summed one by one.
TOGETHER = 64


def mdav(X: Array, k: int) -> Array:
    """Return the groups of MDAV, in order of creation: int64[n].

    Every record that is left is looked at for each group, which is quick up to some thousand.
    """
    rows, columns, total = np.arange(len(X)), np.ascontiguousarray(X.T), _ExactSum(X)
    labels = np.empty(len(X), np.int64)
    group, query, opposite = 0, columns[:, 0], False
    while len(rows) >= 2 * k:
        if not opposite:
            query = total.rounded() / len(rows)
        opposite = not opposite and len(rows) >= 3 * k
        seed = int(squares_to(columns, query).argmax())
        query = columns[:, seed]
        apart = squares_to(columns, query)
        apart[seed] = -1.0  # before its equals
        near = first_of(apart, k)
        labels[rows[near]] = group
        total.subtract(rows[near])
        rows, columns = np.delete(rows, near), np.delete(columns, near, axis=1)
        group += 1
    labels[rows] = group
    return labels


def squares_to(columns: Array, query: Array) -> Array:
    """Return the squared distances of records float64[d, n] to `query`, summed coordinate by coordinate: float64[n].

    Of records float64[d, 1, n] to queries float64[d, q, 1]: float64[q, n].
    """
    total = np.zeros(np.broadcast_shapes(columns.shape[1:], query.shape[1:]))
    for column, x in zip(columns, query, strict=True):
        step = column - x
        step *= step
        total += step
    return total


def first_of(values: Array, m: int) -> Array:
    """Return the places of the m least values, in ascending order, the lower place first on ties: int64[m]."""
    if m == 0:
        return np.empty(0, np.int64)
    places = np.flatnonzero(values <= np.partition(values, m - 1)[m - 1])
    return places[np.argsort(values[places], kind="stable")[:m]]


def nearest_others(X: Array, m: int) -> tuple[Array, Array]:
    """Return the m other rows of X nearest to each row, the lower one first on ties, and their squared distances.

    Parameters
    ----------
    X : float64[n, d]
    m : int
        Less than n.

    Returns
    -------
    int64[n, m], float64[n, m]
    """
    n, columns = len(X), np.ascontiguousarray(X.T)
    ids, squares = np.empty((n, m), np.int64), np.empty((n, m))
    for begin in range(0, n if m else 0, ROWS):
        part = slice(begin, min(n, begin + ROWS))
        apart = squares_to(columns[:, None], columns[:, part, None])
        apart[np.arange(len(apart)), np.arange(n)[part]] = np.inf
        near = apart <= np.partition(apart, m - 1, axis=1)[:, m - 1 :][:, :1]
        rows, places = np.nonzero(near)
        values = apart[near]
        # Stable, so that ties keep the order of places. Then the first m of each row, of which there may be more.
        order = np.lexsort((values, rows))
        ends = np.cumsum(near.sum(axis=1))
        first = order[np.concatenate([[0], ends[:-1]])[:, None] + np.arange(m)]
        ids[part], squares[part] = places[first], values[first]
    return ids, squares


def exact_mean(X: Array) -> Array:
    """Return the mean of the rows of X, each coordinate the exact sum divided by their number: float64[d].

    The mean of equal rows is their value, as in the kernels.
    """
    return X[0] + 0.0 if _equal(X) else np.array([fsum(column) for column in X.T.tolist()]) / len(X)


def mean_of(X: Array) -> Array:
    """Return the mean of the rows of X, as the mean of a group is computed: float64[d]."""
    return X[0] + 0.0 if _equal(X) else np.array([pair_sum(column) for column in X.T.tolist()]) / len(X)


def _equal(X: Array) -> bool:
    """Return whether all rows of X are equal."""
    return bool((X[0] == X).all())


def cost_of(X: Array) -> float:
    """Return the squared error of the rows of X as one group."""
    return pair_sum(squares_to(X.T, mean_of(X)).tolist())


def all_means(X: Array, labels: Array) -> Array:
    """Return the mean of each group, as `mean_of` its rows; 0 for groups without any: float64[g, d].

    Of small groups, one record each is added at a time to the sums of all of them.
    """
    sizes = np.bincount(labels)
    order, first = np.argsort(labels, kind="stable"), np.cumsum(sizes) - sizes
    means = np.zeros((len(sizes), X.shape[1]))
    for group in np.flatnonzero(sizes > TOGETHER).tolist():
        means[group] = mean_of(X[order[first[group] : first[group] + sizes[group]]])
    small = np.flatnonzero((sizes > 0) & (sizes <= TOGETHER))
    small = small[np.argsort(-sizes[small], kind="stable")]
    own, firsts = sizes[small], X[order[first[small]]]
    high, low, equal = np.zeros_like(firsts), np.zeros_like(firsts), np.ones(len(small), bool)
    for step in range(int(own.max(initial=0))):
        count = int(np.searchsorted(-own, -step))  # groups that have so many records
        x = X[order[first[small[:count]] + step]]
        high[:count], low[:count] = _added(high[:count], low[:count], x)
        equal[:count] &= (x == firsts[:count]).all(axis=1)
    # The mean of equal rows is their value.
    means[small] = np.where(equal[:, None], firsts + 0.0, (high + low) / own[:, None])
    return means


def squared_error(X: Array, labels: Array) -> float:
    """Return the sum over all records, in their order, of the squared distance to the mean of their group."""
    return pair_sum(squares_to(X.T, all_means(X, labels)[labels].T).tolist())


def _added(high: Array, low: Array, x: Array) -> tuple[Array, Array]:
    """Return sums that are kept in pairs of numbers after one more number, as in `pair_sum`."""
    total = high + x
    part = total - high
    error = (high - (total - part)) + (x - part) + low
    high = total + error
    return high, error - (high - total)


def pair_sum(values: Iterable[float]) -> float:
    """Return a sum that is kept in an unevaluated pair of numbers (`shoal.kernels.sums.add_exactly`)."""
    high = low = 0.0
    for x in values:
        total = high + x
        part = total - high
        error = (high - (total - part)) + (x - part) + low
        high = total + error
        low = error - (high - total)
    return high + low


class _ExactSum:
    """The sum of the records that are left, in whole numbers of the least unit: nothing is rounded."""

    def __init__(self, X: Array) -> None:
        mantissas, exponents = np.frexp(X)
        exponents[X == 0] = exponents[X != 0].min(initial=0)
        least = int(exponents.min())
        whole = np.ldexp(mantissas, 53).astype(np.int64).astype(object)
        self._numbers = whole << (exponents - least).astype(object)
        self._sum = self._numbers.sum(axis=0)
        # A number is its whole number times 2^power.
        self._power = least - 53

    def subtract(self, rows: Array) -> None:
        self._sum = self._sum - self._numbers[rows].sum(axis=0)

    def rounded(self) -> Array:
        """Return the sum, rounded once (as `math.fsum`)."""
        up, down = 1 << max(self._power, 0), 1 << max(-self._power, 0)
        return np.array([number * up / down for number in self._sum])
