"""What a release keeps of the relations between columns: numbers, categories, and one with the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.measure.distributions import correlation, covariance
from shoal.measure.pairs import Compared
from shoal.tables.inputs import choice_of
from shoal.tables.pairs import Attribute


@dataclass(frozen=True, repr=False)
class Associations:
    """How strongly each two attributes are related, in both tables.

    Attributes
    ----------
    names : tuple of str
        Of the d attributes.
    before, after : float64[d, d]
        Two columns of numbers: their correlation, from -1 to 1. Two of categories: Cramer's V, from 0 to 1. One of
        each: the correlation ratio, from 0 to 1. 0 with a column that does not vary.
    """

    names: tuple[str, ...]
    before: Array
    after: Array

    def __repr__(self) -> str:
        return f"Associations({len(self.names)} attributes: change {self.change:.3g}, highest {self.highest:.3g})"

    @property
    def changes(self) -> Array:
        """Return float64[d (d - 1) / 2]: the change of each pair, after minus before."""
        pairs = np.triu_indices(len(self.names), 1)
        return np.asarray(self.after[pairs] - self.before[pairs])

    @property
    def change(self) -> float:
        """Return the mean absolute change over all pairs, NaN for a single attribute."""
        return float(np.abs(self.changes).mean()) if len(self.names) > 1 else float("nan")

    @property
    def highest(self) -> float:
        """Return the highest absolute change of any pair."""
        return float(np.abs(self.changes).max()) if len(self.names) > 1 else float("nan")

    @property
    def pair(self) -> tuple[str, str] | None:
        """Return the pair with the highest absolute change, the first of several."""
        if len(self.names) < 2:
            return None
        rows, columns = np.triu_indices(len(self.names), 1)
        at = int(np.abs(self.changes).argmax())
        return self.names[rows[at]], self.names[columns[at]]


def associations(
    original: Any,
    release: Any,
    columns: Any = None,
    *,
    numbers: str = "values",
    by: str | None = None,
    types: Mapping[str, str] | None = None,
    weight: Any = None,
) -> Associations:
    """Return how strongly each two columns are related, before and after.

    Records in which either value is missing do not count for a pair.

    Cramer, H. (1946): Mathematical methods of statistics. Princeton University Press.

    Parameters
    ----------
    original, release, columns, by, types, weight
        As in :func:`distance_loss`; columns may hold categories.
    numbers : {"values", "ranks"}
        Whether two columns of numbers are compared by Pearson's correlation, or by Spearman's, that of their mid-ranks.

    Examples
    --------
    >>> import shoal, pandas as pd
    >>> people = pd.DataFrame({"age": [30, 32, 50, 58], "sex": ["f", "m", "f", "m"]})
    >>> release = pd.DataFrame({"age": [31, 31, 54, 54], "sex": ["f", "m", "f", "m"]})
    >>> shoal.measure.associations(people, release)
    Associations(2 attributes: change 0.211, highest 0.211)
    """
    caller = "shoal.measure.associations"
    ranks = choice_of(numbers, "numbers", caller, ("values", "ranks")) == "ranks"
    both = Compared.of(original, release, columns, caller, by=by, types=types, weight=weight)
    n = len(both.weights)
    sides = [[_column(one, part, both.weights, ranks) for one in both.pair.attributes] for part in _sides(n)]
    before, after = (_related(side, both.weights) for side in sides)
    return Associations(both.names, before, after)


def _sides(n: int) -> tuple[slice, slice]:
    return slice(0, n), slice(n, 2 * n)


@dataclass(frozen=True)
class _Column:
    """A column of one table: numbers, NaN where missing; or categories from 0, -1 where missing."""

    numbers: Array | None
    codes: Array

    @property
    def present(self) -> Array:
        return self.codes >= 0 if self.numbers is None else ~np.isnan(self.numbers)


def _column(one: Attribute, part: slice, weights: Array, ranks: bool) -> _Column:
    if one.numeric:
        numbers = one.numbers()[part]
        return _Column(mid_ranks(numbers, weights) if ranks else numbers, np.empty(0, np.int64))
    return _Column(None, one.values.codes[part])  # type: ignore[union-attr]


def mid_ranks(values: Array, weights: Array) -> Array:
    """Return the weight below each value and half of that at it, NaN where missing."""
    kinds, place = np.unique(values, return_inverse=True)
    present = ~np.isnan(values)
    at = np.bincount(place[present], weights[present], len(kinds))
    return np.where(present, (np.cumsum(at) - at / 2)[place], np.nan)


def _related(columns: list[_Column], weights: Array) -> Array:
    d = len(columns)
    made = np.eye(d)
    numbers = {j: one.numbers for j, one in enumerate(columns) if one.numbers is not None}
    plain = list(numbers)
    whole = all(bool(columns[j].present.all()) for j in plain)
    if plain and whole:
        made[np.ix_(plain, plain)] = correlation(covariance(np.column_stack(list(numbers.values())), weights))
    for i in range(d):
        for j in range(i):
            if not (whole and i in plain and j in plain):
                made[i, j] = made[j, i] = _of_pair(columns[i], columns[j], weights)
    return made


def _of_pair(a: _Column, b: _Column, weights: Array) -> float:
    kept = a.present & b.present
    if kept.sum() < 2:
        return 0.0
    w = weights[kept]
    if a.numbers is not None and b.numbers is not None:
        X = np.column_stack([a.numbers[kept], b.numbers[kept]])
        return float(correlation(covariance(X, w))[0, 1])
    if a.numbers is None and b.numbers is None:
        return cramers_v(a.codes[kept], b.codes[kept], w)
    if a.numbers is None:
        a, b = b, a
    return correlation_ratio(a.numbers[kept], b.codes[kept], w)  # type: ignore[index]


def cramers_v(a: Array, b: Array, weights: Array) -> float:
    """Return Cramer's V of two columns of categories, 0 if one of them has a single category."""
    (_, a), (_, b) = (np.unique(codes, return_inverse=True) for codes in (a, b))
    rows, columns = int(a.max()) + 1, int(b.max()) + 1
    if min(rows, columns) < 2:
        return 0.0
    sides = np.bincount(a, weights), np.bincount(b, weights)
    # Only cells that occur: a table of two columns with many categories is mostly empty.
    cells, place = np.unique(a * columns + b, return_inverse=True)
    counts = np.bincount(place, weights)
    expected = sides[0][cells // columns] * sides[1][cells % columns]
    squares = max(0.0, float((counts**2 / expected).sum()) - 1.0)
    return min(1.0, float(np.sqrt(squares / (min(rows, columns) - 1))))


def correlation_ratio(numbers: Array, codes: Array, weights: Array) -> float:
    """Return the share of the standard deviation that lies between categories, 0 for numbers that do not vary."""
    if bool((numbers == numbers[0]).all()):
        return 0.0
    _, codes = np.unique(codes, return_inverse=True)
    mean = (numbers * weights).sum() / weights.sum()
    step = numbers - mean
    sizes = np.bincount(codes, weights)
    means = np.bincount(codes, step * weights) / sizes
    between, whole = float((sizes * means**2).sum()), float((weights * step**2).sum())
    return min(1.0, float(np.sqrt(between / whole)))
