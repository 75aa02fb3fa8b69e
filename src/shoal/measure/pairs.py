"""What the measures of utility are given: an original and its release, read together, and the weights of records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError
from shoal.tables.inputs import weights_of
from shoal.tables.pairs import Attribute, Pair, Settings
from shoal.tables.values import Codes, Numbers


@dataclass(frozen=True, repr=False)
class Compared:
    """Two tables and the weights of their records: each measure takes it in place of the original.

    Attributes
    ----------
    pair : Pair
    weights : float64[n]
        Of the records that were released, in the order of the release; 1 on average.
    weighted : bool
        Whether any weights were given.
    """

    pair: Pair
    weights: Array
    weighted: bool

    def __repr__(self) -> str:
        return f"Compared({len(self.pair.attributes)} attributes, {len(self.weights)} records)"

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the attributes."""
        return tuple(one.name for one in self.pair.attributes)

    @classmethod
    def of(
        cls,
        original: Any,
        release: Any,
        columns: Any,
        caller: str,
        *,
        by: str | None = None,
        types: Mapping[str, str] | None = None,
        weight: Any = None,
    ) -> Compared:
        """Return two data frames read together; what is prepared already is returned, with some of its columns."""
        if isinstance(original, Compared):
            return original if columns is None else original.some(columns, caller)
        pair = Pair.of(original, release, columns, caller, Settings(by, types or {}))
        n = len(pair.rows)
        if n < 2:
            raise DataError(f"The tables of {caller} must have at least 2 records in common. Got {n}.")
        if weight is None:
            return cls(pair, np.ones(n), weighted=False)
        if isinstance(original, Pair):
            raise OptionError(f"The original of {caller} must be a data frame if there are weights. Got a pair.")
        weights = weights_of(original, weight, pair.size, caller)[pair.rows]
        return cls(pair, weights / weights.mean(), weighted=True)

    def some(self, columns: Any, caller: str) -> Compared:
        """Return the same with some of the columns."""
        wanted = [columns] if isinstance(columns, str) else list(columns)
        known = {one.name: one for one in self.pair.attributes}
        for name in wanted:
            if name not in known:
                raise OptionError(f"The columns of {caller} must be among those compared. Got {name!r}.")
        kept = tuple(known[name] for name in wanted)
        return Compared(Pair(kept, self.pair.size, self.pair.rows), self.weights, self.weighted)

    def at(self, rows: Array) -> Compared:
        """Return the same with some of the records (int64 or bool), whose weights stay as they are."""
        n = len(self.weights)
        chosen = np.arange(n)[rows]
        both = np.concatenate([chosen, chosen + n])
        kept = []
        for one in self.pair.attributes:
            values = one.values
            if isinstance(values, Numbers):
                values = Numbers(values.values[both])
            elif isinstance(values, Codes):
                values = Codes(values.codes[both], values.levels)
            kept.append(Attribute(one.name, one.kind, values, one.points[both]))
        return Compared(Pair(tuple(kept), self.pair.size, self.pair.rows[chosen]), self.weights[chosen], self.weighted)

    def numbers(self, caller: str) -> tuple[list[str], Array, Array]:
        """Return the names of the columns with numbers, and float64[n, d] of the original and of the release."""
        return self.pair.numeric(caller)

    def categories(self, bins: int) -> list[tuple[Array, Array, int]]:
        """Return the categories of each attribute, see :meth:`Attribute.categories`."""
        return [one.categories(bins) for one in self.pair.attributes]


def weighted_mean(values: Array, weights: Array) -> float:
    """Return the mean of the present values, NaN if there are none."""
    present = ~np.isnan(values)
    total = weights[present].sum()
    return float((values[present] * weights[present]).sum() / total) if total > 0 else float("nan")


def weighted_variance(values: Array, weights: Array) -> float:
    """Return the variance of the present values with n - 1 in the denominator, 0 for fewer than two.

    Weights count as shares: n is the number of present values.
    """
    present = ~np.isnan(values)
    count = int(present.sum())
    if count < 2:
        return 0.0
    kept, w = values[present], weights[present] / weights[present].sum()
    # Equal values have a variance of 0, which rounding of their mean would hide.
    if bool((kept == kept[0]).all()):
        return 0.0
    mean = (kept * w).sum()
    return float((w * (kept - mean) ** 2).sum() * count / (count - 1))
