"""Probabilistic record linkage (Fellegi and Sunter), from counts of agreement patterns instead of pairs.

How many pairs of records agree in *at least* a set of attributes follows from how often each key occurs in both tables.
How many agree in *exactly* this set follows by inclusion and exclusion. So nothing grows with the number of pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import TooLargeError
from shoal.risk.distance import drawn_rows, sampled_interval
from shoal.risk.keys import combined
from shoal.risk.pairs import Attribute, Pair, Settings, groups_of
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.inputs import count_of
from shoal.tables.values import Codes

# Bytes of the counts of patterns.
LIMIT = 1 << 30
ROUNDS, CLOSE = 10_000, 1e-12
# Chances of agreement are kept this far from 0 and 1, and weights this close are equal.
LEAST, EQUAL = 1e-9, 1e-9


@dataclass(frozen=True, repr=False)
class ProbabilisticLinkage:
    """What an intruder achieves who links by the weights of Fellegi and Sunter.

    Attributes
    ----------
    correct : float
        The expected share of correct links, rows with the same weight being equally likely.
    nearest : float
        The share of records to which no row has a higher weight than their own.
    baseline : float
        The share of correct links if everybody's group were known: the mean of 1 / size.
    untouched : float
        The share of correct links if the original were released as it is.
    names : tuple of str
        Of the attributes.
    matches, others : float64[d]
        For each attribute, the estimated chance that a record agrees with its own row (m), and with another one (u).
    chances : float64[n]
        The chance of each record to be linked correctly; 0 for those that were not released, NaN for
        those that were not drawn.
    interval : tuple of two floats, or None
        If records were drawn: 95 % of such draws give an interval that contains the share of correct links of all.
    records : int
        The number of records that were linked.
    """

    correct: float
    nearest: float
    baseline: float
    untouched: float
    names: tuple[str, ...]
    matches: Array
    others: Array
    chances: Array
    interval: tuple[float, float] | None
    records: int

    def __repr__(self) -> str:
        return (
            f"ProbabilisticLinkage({self.records} records: correct {self.correct:.3g}, nearest "
            f"{self.nearest:.3g}, baseline {self.baseline:.3g}, untouched {self.untouched:.3g})"
        )


def probabilistic_linkage(
    original: Any,
    release: Any,
    columns: Any = None,
    *,
    bins: int = 10,
    by: str | None = None,
    types: Mapping[str, str] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    sample: int | None = None,
    random_state: int = 0,
) -> ProbabilisticLinkage:
    """Return how many records are linked correctly by weights of agreement, estimated without knowing any link.

    Categories agree if they are equal; numbers and dates, if they lie between the same two of the original's `bins`
    quantiles; a missing value agrees with nothing. The chances of agreement of matches and of others are estimated by
    expectation-maximisation, as if attributes were independent, given that each record has one row. Every record is
    then linked to the rows of the highest weight.

    Fellegi, I. P., Sunter, A. B. (1969): A theory for record linkage. JASA 64.
    Torra, V., Domingo-Ferrer, J. (2003): Record linkage methods for multidatabase data mining.

    Parameters
    ----------
    original, release, columns, by, types, hierarchies, sample, random_state
        As in :func:`linkage`. The weights of a sample are estimated from its pairs with all rows.
    bins : int
        The number of intervals of numbers.

    Examples
    --------
    >>> import shoal, pandas as pd
    >>> people = pd.DataFrame({"sex": list("fmfm"), "town": ["Ulm", "Ulm", "Bonn", "Bonn"]})
    >>> shoal.risk.probabilistic_linkage(people, people)
    ProbabilisticLinkage(4 records: correct 1, nearest 1, baseline 1, untouched 1)
    """
    caller = "shoal.risk.probabilistic_linkage"
    bins = count_of(bins, "bins", caller, least=2)
    pair = Pair.of(original, release, columns, caller, Settings(by, types or {}, hierarchies or {}))
    n, d = len(pair.rows), len(pair.attributes)
    codes = [_codes(one, n, bins) for one in pair.attributes]
    sizes = [int(column.max()) + 1 for column in codes]
    drawn = drawn_rows(n, sample, random_state, caller)
    linked = np.arange(n) if drawn is None else drawn
    ours, kinds = combined([column[linked] for column in codes], sizes)
    firsts = np.empty(kinds, np.int64)
    firsts[ours[::-1]] = linked[::-1]
    if (kinds << d) * 4 > LIMIT:
        raise TooLargeError(
            f"The patterns of agreement of {caller} must fit into {LIMIT >> 30} GiB. Got {kinds:,} different records "
            f"and {d} columns, which take {(kinds << d) * 4 / (1 << 30):.3g}.",
            hint=f"compare fewer columns, make fewer bins, or link a sample (sample={max(2, (LIMIT // 4) >> d)}).",
        )
    patterns = _exactly(_at_least(codes, sizes, firsts, n), d)
    counts = patterns @ np.bincount(ours).astype(np.float64)
    m, u = estimated(counts, d, 1.0 / n)
    weights = _weights(m, u)
    best, rows = _best(patterns, weights)
    own = sum(
        ((column[linked] == column[n:][linked]) & (column[linked] >= 0)).astype(np.int64) << j
        for j, column in enumerate(codes)
    )
    found = weights[own] >= best[ours] - EQUAL
    right = np.where(found, 1.0 / rows[ours], 0.0)
    chances = np.full(pair.size, np.nan if drawn is not None else 0.0)
    chances[pair.rows[linked]] = right
    released = n / pair.size
    baseline = len(groups_of(pair.coordinates()[1]).sizes) / pair.size
    return ProbabilisticLinkage(
        correct=float(right.mean()) * released,
        nearest=float(found.mean()) * released,
        baseline=baseline,
        untouched=len(groups_of(pair.coordinates()[0]).sizes) / n,
        names=tuple(one.name for one in pair.attributes),
        matches=m,
        others=u,
        chances=chances,
        interval=None if drawn is None else sampled_interval(right * released, baseline, n),
        records=len(linked),
    )


def _codes(one: Attribute, n: int, bins: int) -> Array:
    """Return int64[2 n]: equal numbers for values that agree, -1 where missing."""
    if isinstance(one.values, Codes) and not one.numeric:
        return one.values.codes
    numbers = one.numbers()
    missing = np.isnan(numbers)
    known = numbers[:n][~missing[:n]]
    if len(known) == 0:
        return np.full(len(numbers), -1, np.int64)
    edges = np.unique(np.quantile(known, np.arange(1, bins) / bins))
    return np.where(missing, -1, np.searchsorted(edges, numbers, "right"))


def _at_least(codes: list[Array], sizes: list[int], firsts: Array, n: int) -> Array:
    """Return int32[2^d, kinds]: the number of rows that agree with each kind of record in at least a set of attributes.

    Bit j of the set stands for attribute j.
    """
    d = len(codes)
    result = np.empty((1 << d, len(firsts)), np.int32)
    for subset in range(1 << d):
        which = [j for j in range(d) if subset >> j & 1]
        ours, theirs = [codes[j][:n][firsts] for j in which], [codes[j][n:] for j in which]
        known = np.logical_and.reduce([column >= 0 for column in ours], initial=True)
        there = np.logical_and.reduce([column >= 0 for column in theirs], initial=True)
        both = [np.concatenate([a, b]) for a, b in zip(ours, theirs, strict=True)]
        numbers, count = combined(both, [sizes[j] for j in which], len(firsts) + n)
        times = np.bincount(numbers[len(firsts) :], np.broadcast_to(there, n).astype(np.float64), count)
        result[subset] = np.where(known, times[numbers[: len(firsts)]], 0)
    return result


def _exactly(counts: Array, d: int) -> Array:
    """Turn counts for at least each set, in place, into counts for exactly this set."""
    for j in range(d):
        shaped = counts.reshape(-1, 2, 1 << j, counts.shape[1])
        shaped[:, 0] -= shaped[:, 1]
    return counts


def estimated(counts: Array, d: int, share: float) -> tuple[Array, Array]:
    """Return the chances of agreement of matches and of others, by expectation-maximisation.

    Parameters
    ----------
    counts : float64[2^d]
        The number of pairs with each pattern; bit j is set if they agree in attribute j.
    d : int
    share : float
        The share of pairs that are matches.
    """
    agree = (np.arange(1 << d)[:, None] >> np.arange(d) & 1).astype(np.float64)
    total = counts.sum()
    u = np.clip(counts @ agree / total, LEAST, 1 - LEAST)
    m = np.maximum(u, 0.9)
    for _ in range(ROUNDS):
        matching, other = (np.exp(agree @ np.log(p) + (1 - agree) @ np.log1p(-p)) for p in (m, u))
        posterior = share * matching / (share * matching + (1 - share) * other)
        sure, unsure = counts * posterior, counts * (1 - posterior)
        before = m, u
        m = np.clip(sure @ agree / max(sure.sum(), LEAST), LEAST, 1 - LEAST)
        u = np.clip(unsure @ agree / max(unsure.sum(), LEAST), LEAST, 1 - LEAST)
        if max(np.abs(m - before[0]).max(), np.abs(u - before[1]).max()) < CLOSE:
            break
    return m, u


def _weights(m: Array, u: Array) -> Array:
    """Return float64[2^d]: the weight of each pattern, in bits."""
    d = len(m)
    agree = (np.arange(1 << d)[:, None] >> np.arange(d) & 1).astype(np.float64)
    return np.asarray(agree @ np.log2(m / u) + (1 - agree) @ np.log2((1 - m) / (1 - u)))


def _best(patterns: Array, weights: Array) -> tuple[Array, Array]:
    """Return, for each kind of record, the highest weight of any row, and how many rows have it."""
    best = np.full(patterns.shape[1], -np.inf)
    rows = np.zeros(patterns.shape[1], np.int64)
    for at in np.argsort(-weights, kind="stable"):
        here = patterns[at] > 0
        best[here & (best == -np.inf)] = weights[at]
        level = here & (weights[at] >= best - EQUAL)
        rows[level] += patterns[at][level]
    return best, rows
