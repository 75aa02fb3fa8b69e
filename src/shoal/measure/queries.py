"""What a release keeps for those who count: the error of random queries, and who pays for the anonymity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError
from shoal.measure.distributions import distance_loss, steps_of
from shoal.measure.pairs import Compared
from shoal.tables.inputs import codes_of, column_of, count_of, fraction_of
from shoal.tables.pairs import Attribute


@dataclass(frozen=True, repr=False)
class RangeQueries:
    """The error of random queries: how many records have these values?

    Attributes
    ----------
    relative : float64[q]
        The error of each query, as a share of the true answer, or of the floor if that is larger.
    absolute : float64[q]
        The same as a share of all records.
    floor : float
        As a share of all records: smaller answers count as this one.
    """

    relative: Array
    absolute: Array
    floor: float

    def __repr__(self) -> str:
        return (
            f"RangeQueries({len(self.relative)} queries: mean {self.mean:.3g}, median {self.median:.3g}, high "
            f"{self.high:.3g})"
        )

    @property
    def mean(self) -> float:
        """Return the mean relative error."""
        return float(self.relative.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval of the mean over all queries that could be drawn."""
        from scipy.special import stdtrit

        q = len(self.relative)
        if q < 2:
            return 0.0, float("inf")
        half = float(stdtrit(q - 1, 0.975)) * float(self.relative.std(ddof=1)) / sqrt(q)
        return max(0.0, self.mean - half), self.mean + half

    @property
    def median(self) -> float:
        """Return the median relative error."""
        return float(np.median(self.relative))

    @property
    def high(self) -> float:
        """Return the relative error that 95 % of queries do not exceed."""
        return float(np.quantile(self.relative, 0.95))


def range_queries(
    original: Any,
    release: Any,
    columns: Any = None,
    *,
    queries: int = 1000,
    attributes: int = 3,
    floor: float = 0.001,
    random_state: int = 0,
    by: str | None = None,
    types: Mapping[str, str] | None = None,
    weight: Any = None,
) -> RangeQueries:
    """Return the error of random queries that count records.

    A query has 1 to `attributes` columns, drawn at random. Of a number, it asks for the range between the values of two
    records of the original; of a category, for those that are drawn with a chance of one half, at least one. Missing
    values are never counted.

    Xiao, X., Tao, Y. (2006): Anatomy: simple and effective privacy preservation. VLDB.

    Parameters
    ----------
    original, release, columns, by, types, weight
        As in :func:`distance_loss`; columns may hold categories.
    queries : int
        How many.
    attributes : int
        The most columns in a query.
    floor : float
        Smaller answers, as a share of all records, count as this one: the relative error of an answer of 0 is none.
    random_state : int
        The seed of the draws.

    Examples
    --------
    >>> import shoal, pandas as pd
    >>> people = pd.DataFrame({"age": [30, 32, 50, 58]})
    >>> shoal.measure.range_queries(people, people, queries=10)
    RangeQueries(10 queries: mean 0, median 0, high 0)
    """
    caller = "shoal.measure.range_queries"
    asked = count_of(queries, "queries", caller)
    most = count_of(attributes, "attributes", caller)
    floor = fraction_of(floor, "floor", caller)
    rng = np.random.default_rng(count_of(random_state, "random_state", caller, least=0))
    both = Compared.of(original, release, columns, caller, by=by, types=types, weight=weight)
    n = len(both.weights)
    usable = [one for one in both.pair.attributes if not one.values.missing[:n].all()]
    if not usable:
        raise DataError(f"The columns of {caller} must hold at least one with values in the original. Got none.")
    whole = both.weights.sum()
    answers = np.empty((asked, 2))
    for at in range(asked):
        count = int(rng.integers(1, min(most, len(usable)) + 1))
        which = rng.choice(len(usable), count, replace=False)
        inside = np.ones(2 * n, bool)
        for column in which:
            inside &= _inside(usable[column], n, rng)
        answers[at] = [both.weights[inside[part]].sum() / whole for part in (slice(n), slice(n, 2 * n))]
    error = np.abs(answers[:, 1] - answers[:, 0])
    return RangeQueries(error / np.maximum(answers[:, 0], floor), error, floor)


def _inside(one: Attribute, n: int, rng: np.random.Generator) -> Array:
    """Return bool[2 n]: which values of both tables are in a random range, or a random set."""
    if one.numeric:
        numbers = one.numbers()
        present = numbers[:n][~np.isnan(numbers[:n])]
        low, high = np.sort(rng.choice(present, 2))
        return np.asarray((numbers >= low) & (numbers <= high))
    codes = one.values.codes  # type: ignore[union-attr]
    wanted = rng.random(int(codes.max()) + 1) < 0.5
    # One that occurs in the original, so that no query asks for nothing.
    wanted[rng.choice(codes[:n][codes[:n] >= 0])] = True
    return np.append(wanted, False)[codes]


@dataclass(frozen=True, repr=False)
class Subgroups:
    """The loss of each subgroup of records.

    Attributes
    ----------
    name : str
        The column that says who belongs to which.
    values : tuple of str
        Its values with at least `least` records, most frequent first; "" stands for all others and for missing ones.
    records : int64[g]
        Of each subgroup.
    losses : float64[g]
        The mean of |x - y| / (sqrt(2) s) over the numbers of its records, as in :func:`distance_loss`, where s is the
        standard deviation of all records.
    whole : float
        The same for all records.
    """

    name: str
    values: tuple[str, ...]
    records: Array
    losses: Array
    whole: float

    def __repr__(self) -> str:
        present = self.losses[~np.isnan(self.losses)]
        low, high = (present.min(), present.max()) if len(present) else (np.nan, np.nan)
        return (
            f"Subgroups({self.name!r}, {len(self.values)} subgroups: lowest {low:.3g}, highest {high:.3g}, whole "
            f"{self.whole:.3g})"
        )


def subgroups(
    original: Any,
    release: Any,
    group: Any,
    columns: Any = None,
    *,
    least: int = 10,
    by: str | None = None,
    types: Mapping[str, str] | None = None,
    weight: Any = None,
) -> Subgroups:
    """Return who pays for the anonymity: the loss of each subgroup of records, such as women and men.

    Records far from others are moved farthest, so that minorities pay more than others.

    Parameters
    ----------
    original, release, columns, by, types, weight
        As in :func:`distance_loss`.
    group : str or array-like of shape (n,)
        The column of the original that says which subgroup a record belongs to, or these values.
    least : int
        Subgroups with fewer records are put together and not named.

    Examples
    --------
    >>> import shoal, pandas as pd
    >>> people = pd.DataFrame({"age": [30, 32, 50, 58], "sex": ["f", "f", "m", "m"]})
    >>> release = pd.DataFrame({"age": [31, 31, 54, 54], "sex": ["f", "f", "m", "m"]})
    >>> found = shoal.measure.subgroups(people, release, "sex", ["age"], least=2)
    >>> found.values, found.losses.round(3).tolist()
    (('f', 'm'), [0.052, 0.206])
    """
    caller = "shoal.measure.subgroups"
    least = count_of(least, "least", caller)
    name = group if isinstance(group, str) else "group"
    both = Compared.of(original, release, columns, caller, by=by, types=types, weight=weight)
    if isinstance(original, Compared) and isinstance(group, str):
        raise DataError(f"The 'group' of {caller} must be given as values if the tables are prepared. Got a name.")
    column = column_of(original, group, "group", both.pair.size, caller)
    codes = codes_of(column, name)[0][both.pair.rows]
    counts = np.bincount(codes + 1)[1:]
    named = [code for code in np.argsort(-counts, kind="stable") if counts[code] >= least]
    words = {code: str(column[int(both.pair.rows[int(np.argmax(codes == code))])].as_py()) for code in named}
    rest = ~np.isin(codes, named)
    parts = [codes == code for code in named] + ([rest] if rest.any() else [])
    steps, weights = steps_of(both, caller)
    found = [_mean(steps[part], weights[part]) for part in parts]
    return Subgroups(
        name=name,
        values=(*(words[code] for code in named), *(("",) if rest.any() else ())),
        records=np.array([int(part.sum()) for part in parts]),
        losses=np.array(found),
        whole=distance_loss(both, None).average,
    )


def _mean(steps: Array, weights: Array) -> float:
    present = ~np.isnan(steps)
    w = np.broadcast_to(weights[:, None], steps.shape)
    total = w[present].sum()
    return float((steps[present] * w[present]).sum() / total) if total > 0 else float("nan")
