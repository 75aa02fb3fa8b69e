"""Singling out: predicates made of the release that are true of exactly one record of the original."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.risk.pairs import Attribute, Pair, Settings
from shoal.risk.shares import Trials
from shoal.tables.inputs import count_of, fraction_of


@dataclass(frozen=True, repr=False)
class SinglingOut:
    """How often a predicate made of the release is true of exactly one record of the original.

    Attributes
    ----------
    univariate : Trials
        Predicates on one attribute each.
    multivariate : Trials or None
        Predicates on several attributes; None if there is only one.
    known : int
        How many attributes those have.
    expected : float
        How many records a predicate should be true of by its weight.
    """

    univariate: Trials
    multivariate: Trials | None
    known: int
    expected: float

    def __repr__(self) -> str:
        parts = [
            f"{name} {one.share:.3g} ({one.interval[0]:.3g} to {one.interval[1]:.3g}), baseline {one.baseline:.3g}"
            for name, one in (("univariate", self.univariate), ("multivariate", self.multivariate))
            if one is not None
        ]
        return f"SinglingOut({self.univariate.tried} predicates each: {'; '.join(parts)})"


def singling_out(
    original: Any,
    release: Any,
    columns: Any = None,
    *,
    known: int | None = None,
    expected: float = 0.1,
    attacks: int = 1000,
    by: str | None = None,
    types: Mapping[str, str] | None = None,
    random_state: int = 0,
) -> SinglingOut:
    """Return how often predicates made of the release single out a record of the original.

    A predicate takes a published row at random and asks for records like it: of a category, for the published one; of a
    number, for a range around the published one. The ranges are chosen so that the weight of the predicate, the chance
    that it is true of a person, is `expected` / n as far as the release tells: the product of the shares of its
    conditions among published values, as if attributes were independent, with numbers spread evenly between the
    published ones. At the ends, ranges are open. A predicate succeeds if it is true of exactly one record.

    A predicate that knows nothing of the table, of weight w, succeeds with the chance n w (1 - w)^(n - 1): the
    baseline. It is at most 37 %, and 9 % if a tenth of a record is expected. Attributes that go together make real
    weights higher, and so the baseline too low: compare with `untouched` as well, which is about 90 % where the whole
    record is known.

    Cohen, A., Nissim, K. (2020): Towards formalizing the GDPR's notion of singling out. PNAS 117(15).

    Parameters
    ----------
    original, release, by, types
        As in :func:`linkage`. Hierarchies count as categories.
    columns : names, optional
        The attributes of predicates. By default all that both tables have.
    known : int, optional
        How many attributes a predicate on several has, drawn at random. By default all.
    expected : float
        Of how many records a predicate is to be true by its weight, up to 1.
    attacks : int
        The number of predicates of each kind.
    random_state : int
        The seed of the draws.

    Examples
    --------
    >>> import shoal, numpy as np, pandas as pd
    >>> people = pd.DataFrame(np.random.default_rng(0).normal(size=(1000, 3)), columns=list("abc"))
    >>> found = shoal.risk.singling_out(people, people.round(0))
    >>> found.multivariate.share < found.multivariate.untouched
    True
    """
    caller = "shoal.risk.singling_out"
    pair = Pair.of(original, release, columns, caller, Settings(by, types or {}))
    d = len(pair.attributes)
    size = d if known is None else count_of(known, "known", caller, least=min(2, d), most=d)
    expected = fraction_of(expected, "expected", caller)
    tried = count_of(attacks, "attacks", caller)
    seed = count_of(random_state, "random_state", caller, least=0)
    n = len(pair.rows)
    before = [_Column.of(one, slice(n)) for one in pair.attributes]
    after = [_Column.of(one, slice(n, 2 * n)) for one in pair.attributes]
    made = []
    for count in (1, size) if d > 1 else (1,):
        # The same draws for the release and for the untouched table.
        done = [
            _tried(columns_of, before, count, expected / n, tried, np.random.default_rng([seed, count]))
            for columns_of in (after, before)
        ]
        made.append(Trials(tried, done[0][0], done[0][1], done[1][0] / tried))
    return SinglingOut(made[0], made[1] if d > 1 else None, size, expected)


class _Column(NamedTuple):
    """A column: numbers or codes, in their order, and how much of it lies below each different number."""

    values: Array  # float64[n], NaN where missing; or codes as floats, -1 where missing
    order: Array  # int64[n]
    ordered: Array  # float64[n]
    numeric: bool
    kinds: Array  # the different numbers
    below: Array  # the share of all values below each, with half of those at it
    present: float  # the share of values that are present

    @classmethod
    def of(cls, one: Attribute, part: slice) -> _Column:
        if one.numeric:
            values = one.numbers()[part]
        else:
            values = one.values.codes[part].astype(np.float64)  # type: ignore[union-attr]
        order = np.argsort(values, kind="stable")  # NaN last
        kinds, times = np.unique(values[~np.isnan(values)], return_counts=True)
        below = (np.cumsum(times) - times / 2) / len(values)
        return cls(values, order, values[order], one.numeric, kinds, below, float(times.sum()) / len(values))

    def share_at(self, value: float) -> float:
        """Return the share of values that equal one, NaN for those that are missing."""
        if np.isnan(value):
            return 1.0 - self.present
        low, high = np.searchsorted(self.ordered, value), np.searchsorted(self.ordered, value, "right")
        return float(high - low) / len(self.values)

    def around(self, value: float, share: float) -> tuple[float, float, float]:
        """Return a range around a number that holds a share of all values, open at the ends, and the share it has."""
        at = float(np.interp(value, self.kinds, self.below))
        low, high = at - share / 2, at + share / 2
        bottom, top = -np.inf, np.inf
        if low <= self.below[0]:
            low = 0.0
        else:
            bottom = float(np.interp(low, self.below, self.kinds))
        if high >= self.below[-1]:
            high = self.present
        else:
            top = float(np.interp(high, self.below, self.kinds))
        return bottom, top, high - low

    def within(self, low: float, high: float) -> tuple[int, int]:
        """Return between which places of the order values lie from `low` to `high`; NaN asks for missing ones."""
        if np.isnan(low):
            return int(np.searchsorted(self.ordered, np.nan)), len(self.ordered)
        end = np.searchsorted(self.ordered, np.nan) if high == np.inf else np.searchsorted(self.ordered, high, "right")
        return int(np.searchsorted(self.ordered, low)), int(end)


def _tried(
    release: list[_Column], original: list[_Column], count: int, weight: float, attacks: int, rng: np.random.Generator
) -> tuple[int, float]:
    """Return how many predicates on `count` attributes single out a record, and the share of blind ones that do."""
    n = len(original[0].values)
    found, blind = 0, 0.0
    for _ in range(attacks):
        row = int(rng.integers(n))
        which = [int(at) for at in rng.choice(len(release), count, replace=False)]
        ranges, share = predicate([release[at] for at in which], row, weight)
        matches = _matching([original[at] for at in which], ranges)
        found += matches == 1
        blind += n * share * (1.0 - share) ** (n - 1)
    return found, blind / attacks


def predicate(columns: list[_Column], row: int, weight: float) -> tuple[list[tuple[float, float]], float]:
    """Return the ranges that a published row asks for, (NaN, NaN) for a missing value, and the weight of them all."""
    values = [float(column.values[row]) for column in columns]
    free = [column.numeric and not np.isnan(value) for column, value in zip(columns, values, strict=True)]
    share = 1.0
    for column, value, ranged in zip(columns, values, free, strict=True):
        if not ranged:
            share *= column.share_at(value)
    each = min(1.0, weight / share) ** (1.0 / max(1, sum(free)))
    ranges = []
    for column, value, ranged in zip(columns, values, free, strict=True):
        if ranged:
            low, high, held = column.around(value, each * column.present)
            share *= held
            ranges.append((low, high))
        else:
            ranges.append((value, value))
    return ranges, min(1.0, share)


def _matching(columns: list[_Column], ranges: list[tuple[float, float]]) -> int:
    """Return how many records lie in all ranges: those of the condition that fewest satisfy are looked at."""
    places = [column.within(*limits) for column, limits in zip(columns, ranges, strict=True)]
    first = min(range(len(places)), key=lambda at: places[at][1] - places[at][0])
    rows = columns[first].order[slice(*places[first])]
    for at, (column, (low, high)) in enumerate(zip(columns, ranges, strict=True)):
        if at != first and len(rows):
            values = column.values[rows]
            rows = rows[np.isnan(values) if np.isnan(low) else (values >= low) & (values <= high)]
    return len(rows)
