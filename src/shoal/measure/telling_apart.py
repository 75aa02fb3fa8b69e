"""Can a model tell the release from the original? Propensity scores by a logistic model with interactions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.measure.pairs import Compared
from shoal.tables.inputs import count_of

# The most columns of the model: with more, interactions are left out, those of the last columns first.
MOST_TERMS = 250
# Categories beyond this number, the rarest, are one.
MOST_CATEGORIES = 10
# A small penalty on standardised terms keeps coefficients finite where the tables are told apart for certain.
PENALTY = 1e-4
STEPS, CLOSE = 50, 1e-10


@dataclass(frozen=True, repr=False)
class Propensity:
    """How well a logistic model tells published rows from original ones.

    Attributes
    ----------
    pmse : float
        The propensity-score mean squared error: 0 if the model cannot tell them apart, 0.25 if it always can.
    c_statistic : float
        The chance that a published row has a higher score than an original one: 0.5 if it cannot, 1 if it always can.
    expected : float
        The pmse of two independent samples of this size from one population, by theory (Snoke et al. 2018). A release
        of the same records may be below it.
    terms : int
        Of the model, without the constant.
    rows : int
        Different rows of both tables, on which the model was fitted, each with its number of records.
    records : int
        Of each table.
    interval : tuple of two floats, or None
        If records were drawn: the 95 % interval of `c_statistic`, of this model on all records.
    """

    pmse: float
    c_statistic: float
    expected: float
    terms: int
    rows: int
    records: int
    interval: tuple[float, float] | None

    def __repr__(self) -> str:
        return (
            f"Propensity({self.records} records, {self.terms} terms: pmse {self.pmse:.3g}, c_statistic "
            f"{self.c_statistic:.3g}, expected {self.expected:.3g})"
        )


def propensity(
    original: Any,
    release: Any,
    columns: Any = None,
    *,
    sample: int | None = None,
    random_state: int = 0,
    by: str | None = None,
    types: Mapping[str, str] | None = None,
    weight: Any = None,
) -> Propensity:
    """Return how well a logistic model tells the release from the original.

    The model has all columns, their squares and the products of each two. Group means keep all means, so that a model
    without products cannot see what they changed; a tree would learn that published rows occur several times, and find
    any release of groups different. Rows that are equal are fitted once, with their number, which gives the same model.
    The baseline is not estimated from the release, since permuted rows of it hide what it lost.

    Woo, M.-J., Reiter, J. P., Oganian, A., Karr, A. F. (2009): Global measures of data utility for microdata masked for
    disclosure limitation. Journal of Privacy and Confidentiality 1(1). Snoke, J., Raab, G. M., Nowok, B., Dibben, C.,
    Slavkovic, A. (2018): General and specific utility measures for synthetic data. JRSS A 181(3).

    Parameters
    ----------
    original, release, columns, by, types, weight
        As in :func:`distance_loss`; columns may hold categories.
    sample : int, optional
        Fit the model on so many records of both tables, drawn at random, and judge it by others, as many of them or all
        that are left. By default it is fitted on all and judged by them.
    random_state : int
        The seed of the draw.

    Examples
    --------
    >>> import shoal, pandas as pd
    >>> people = pd.DataFrame({"age": [30, 32, 50, 58]})
    >>> shoal.measure.propensity(people, people)
    Propensity(4 records, 2 terms: pmse 0, c_statistic 0.5, expected 0.0312)
    """
    caller = "shoal.measure.propensity"
    seed = count_of(random_state, "random_state", caller, least=0)
    both = Compared.of(original, release, columns, caller, by=by, types=types, weight=weight)
    n, drawn, tried = len(both.weights), None, None
    if sample is not None and count_of(sample, "sample", caller, least=2) < n:
        both = both.at(np.random.default_rng(seed).permutation(n)[: 2 * sample])
        drawn, tried = np.arange(sample), np.arange(sample, len(both.weights))
    read, owners = _columns(both), _owners(both)
    learnt = _Side.of(read, both.weights, drawn)
    terms = _Terms.of(learnt.rows, learnt.counts.sum(axis=1), owners)
    X = terms(learnt.rows)
    beta = coefficients(X, learnt.counts)
    judged = learnt if tried is None else _Side.of(read, both.weights, tried)
    scores = scores_of(X if tried is None else terms(judged.rows), beta)
    weight_of = judged.counts.sum(axis=1)
    area = c_statistic(scores, judged.counts)
    return Propensity(
        pmse=float((weight_of * (scores - 0.5) ** 2).sum() / weight_of.sum()),
        c_statistic=area,
        expected=X.shape[1] / (16.0 * len(learnt.weights)),
        terms=X.shape[1],
        rows=len(learnt.rows),
        records=len(learnt.weights),
        interval=None if tried is None else _interval(scores, judged, area),
    )


class _Side(NamedTuple):
    """Some records of both tables: their different rows, and which each record has."""

    rows: Array  # float64[m, p]
    counts: Array  # float64[m, 2], the weight of each row in the original and in the release
    before: Array  # int64[q], the row of each original record
    after: Array  # int64[q], and of its published one
    weights: Array  # float64[q]

    @classmethod
    def of(cls, read: Array, weights: Array, which: Array | None) -> _Side:
        """Return some of the records, None: all."""
        n = len(weights)
        chosen = np.arange(n) if which is None else which
        rows, place = np.unique(read[np.concatenate([chosen, chosen + n])], axis=0, return_inverse=True)
        before, after = np.split(place.ravel(), 2)
        w = weights[chosen]
        counts = np.column_stack([np.bincount(part, w, len(rows)) for part in (before, after)])
        return cls(rows, counts, before, after, w)


def _interval(scores: Array, judged: _Side, area: float) -> tuple[float, float]:
    """Return the interval of a c-statistic (DeLong et al. 1988), records that are published alike being one draw."""
    _, level = np.unique(np.round(scores, 12), return_inverse=True)
    before, after = (np.bincount(level, judged.counts[:, side]) for side in (0, 1))
    won = ((np.cumsum(before) - before / 2) / before.sum())[level[judged.after]]
    lost = (1.0 - (np.cumsum(after) - after / 2) / after.sum())[level[judged.before]]
    parts = judged.weights * (won + lost - 2 * area)
    sums = np.bincount(judged.after, parts, len(judged.rows))
    half = 1.959963984540054 * float(np.sqrt(sums @ sums)) / float(judged.weights.sum())
    return max(0.0, area - half), min(1.0, area + half)


def _columns(both: Compared) -> Array:
    """Return float64[2 n, p]: numbers in standard deviations, categories as indicators of all but the most frequent.

    A column of numbers with gaps has an indicator of them, and 0 in their place.
    """
    return np.column_stack(
        [part for one in both.pair.attributes for part in _coded(one)] or [np.zeros(2 * len(both.weights))]
    )


def _owners(both: Compared) -> list[int]:
    return [at for at, one in enumerate(both.pair.attributes) for _ in _coded(one)]


def _coded(one: Any) -> list[Array]:
    if one.numeric:
        numbers = one.numbers()
        gaps = np.isnan(numbers)
        present = numbers[~gaps]
        if len(present) == 0:
            return []
        spread = present.std()
        scaled = np.where(gaps, 0.0, (numbers - present.mean()) / (spread or 1.0))
        return [scaled, *([gaps.astype(np.float64)] if gaps.any() else [])]
    codes = one.values.codes + 1
    frequent = np.argsort(-np.bincount(codes), kind="stable")
    return [(codes == code).astype(np.float64) for code in frequent[1 : MOST_CATEGORIES + 1]]


class _Terms(NamedTuple):
    """The columns, the squares of numbers, and the products of columns of different attributes, standardised."""

    pairs: list[tuple[int, int]]
    means: Array
    spreads: Array
    kept: Array

    @classmethod
    def of(cls, rows: Array, weights: Array, owners: list[int]) -> _Terms:
        """Return the terms that rows of these weights have."""
        p = rows.shape[1]
        number = [bool(len(np.unique(column)) > 2) for column in rows.T]
        pairs = [(j, j) for j in range(p) if number[j]]
        pairs += [(i, j) for i, j in combinations(range(p), 2) if owners and owners[i] != owners[j]]
        pairs = pairs[: max(0, MOST_TERMS - p)]
        X = _products(rows, pairs)
        share = weights / weights.sum()
        means = share @ X
        spreads = np.sqrt(share @ (X - means) ** 2)
        return cls(pairs, means, spreads, spreads > 1e-9)

    def __call__(self, rows: Array) -> Array:
        """Return float64[m, p] of some rows."""
        X = _products(rows, self.pairs) - self.means
        return np.asarray(X[:, self.kept] / self.spreads[self.kept])


def _products(rows: Array, pairs: list[tuple[int, int]]) -> Array:
    return np.column_stack([rows, *(rows[:, i] * rows[:, j] for i, j in pairs)])


def scores_of(X: Array, beta: Array) -> Array:
    """Return float64[m]: the chances of rows to be published ones."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(beta[0] + X @ beta[1:], -500, 500))))


def fitted(X: Array, counts: Array) -> Array:
    """Return the chances of rows to be published ones, by the model fitted to them."""
    return scores_of(X, coefficients(X, counts))


def coefficients(X: Array, counts: Array) -> Array:
    """Return float64[1 + p]: the constant and the coefficients of a logistic regression, by Newton's method.

    Parameters
    ----------
    X : float64[m, p]
        Standardised terms.
    counts : float64[m, 2]
        How often each row occurs in the original and in the release.
    """
    total = counts.sum(axis=1)
    scale = total.sum()
    design = np.column_stack([np.ones(len(X)), X])
    ridge = np.full(design.shape[1], PENALTY)
    ridge[0] = 0.0

    def at(beta: Array) -> tuple[Array, float]:
        line = design @ beta
        chances = 1.0 / (1.0 + np.exp(-np.clip(line, -500, 500)))
        likely = (total * np.logaddexp(0.0, line) - counts[:, 1] * line).sum() / scale
        return chances, float(likely + 0.5 * (ridge * beta**2).sum())

    beta = np.zeros(design.shape[1])
    chances, cost = at(beta)
    for _ in range(STEPS):
        slope = design.T @ (total * chances - counts[:, 1]) / scale + ridge * beta
        curve = (design * (total * chances * (1.0 - chances) / scale)[:, None]).T @ design + np.diag(ridge + 1e-12)
        step = np.linalg.solve(curve, slope)
        size = 1.0
        while size > 1e-6:
            tried, reached = at(beta - size * step)
            if reached <= cost:
                break
            size /= 2
        else:
            break
        beta, chances, before, cost = beta - size * step, tried, cost, reached
        if before - cost < CLOSE:
            break
    return beta


def c_statistic(scores: Array, counts: Array) -> float:
    """Return the chance that a published row has a higher score than an original one; equal ones count half."""
    # Scores that rounding alone tells apart are equal.
    _, place = np.unique(np.round(scores, 12), return_inverse=True)
    before, after = (np.bincount(place, counts[:, side]) for side in (0, 1))
    below = np.cumsum(before) - before
    return float((after * (below + before / 2)).sum() / (before.sum() * after.sum()))
