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

    def shares_at(self, values: Array) -> Array:
        """Return the share of values that equal each of some, NaN standing for those that are missing."""
        found = np.searchsorted(self.ordered, values, "right") - np.searchsorted(self.ordered, values)
        return np.where(np.isnan(values), 1.0 - self.present, found / len(self.values))

    def around(self, values: Array, shares: Array) -> tuple[Array, Array, Array]:
        """Return ranges around numbers that hold a share of all values, open at the ends, and the shares they have."""
        at = np.interp(values, self.kinds, self.below)
        low, high = at - shares / 2, at + shares / 2
        open_below, open_above = low <= self.below[0], high >= self.below[-1]
        bottom = np.where(open_below, -np.inf, np.interp(low, self.below, self.kinds))
        top = np.where(open_above, np.inf, np.interp(high, self.below, self.kinds))
        return bottom, top, np.where(open_above, self.present, high) - np.where(open_below, 0.0, low)

    def within(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return between which places of the order values lie from `low` to `high`; NaN asks for missing ones."""
        gaps = np.searchsorted(self.ordered, np.nan)
        start = np.where(np.isnan(low), gaps, np.searchsorted(self.ordered, low))
        end = np.minimum(np.searchsorted(self.ordered, high, "right"), gaps)
        return start, np.where(np.isnan(low), len(self.ordered), end)


def _tried(
    release: list[_Column], original: list[_Column], count: int, weight: float, attacks: int, rng: np.random.Generator
) -> tuple[int, float]:
    """Return how many predicates on `count` attributes single out a record, and the share of blind ones that do."""
    n = len(original[0].values)
    rows = rng.integers(n, size=attacks)
    used = rng.random((attacks, len(release))).argsort(axis=1).argsort(axis=1) < count
    low, high, share = predicates(release, rows, used, weight)
    found = int((matching(original, low, high, used) == 1).sum())
    return found, float((n * share * (1.0 - share) ** (n - 1)).mean())


def predicates(columns: list[_Column], rows: Array, used: Array, weight: float) -> tuple[Array, Array, Array]:
    """Return the ranges that published rows ask for, NaN for a missing value, and the weight of each predicate.

    Parameters
    ----------
    columns : list of _Column
    rows : int64[a]
    used : bool[a, d]
        The columns of each predicate.
    weight : float
        That predicates are to have.

    Returns
    -------
    float64[a, d], float64[a, d], float64[a]
    """
    values = np.column_stack([column.values[rows] for column in columns])
    low, high, share = values.copy(), values.copy(), np.ones(len(rows))
    free = used & np.array([column.numeric for column in columns]) & ~np.isnan(values)
    for j, column in enumerate(columns):
        fixed = used[:, j] & ~free[:, j]
        share[fixed] *= column.shares_at(values[fixed, j])
    each = np.minimum(1.0, weight / share) ** (1.0 / np.maximum(1, free.sum(axis=1)))
    for j, column in enumerate(columns):
        here = free[:, j]
        if here.any():
            low[here, j], high[here, j], held = column.around(values[here, j], each[here] * column.present)
            share[here] *= held
    return low, high, np.minimum(1.0, share)


def matching(columns: list[_Column], low: Array, high: Array, used: Array) -> Array:
    """Return int64[a]: how many records lie in all ranges of each predicate.

    Of the conditions, that which fewest records satisfy is looked up, and the others are tried on these.
    """
    places = [column.within(low[:, j], high[:, j]) for j, column in enumerate(columns)]
    starts, ends = (np.column_stack([place[side] for place in places]) for side in (0, 1))
    first = np.where(used, ends - starts, len(columns[0].values) + 1).argmin(axis=1)
    counts = np.empty(len(low), np.int64)
    for at, j in enumerate(first):
        rows = columns[j].order[starts[at, j] : ends[at, j]]
        for other in np.flatnonzero(used[at]):
            if other != j and len(rows):
                values, bottom = columns[other].values[rows], low[at, other]
                inside = np.isnan(values) if np.isnan(bottom) else (values >= bottom) & (values <= high[at, other])
                rows = rows[inside]
        counts[at] = len(rows)
    return counts
