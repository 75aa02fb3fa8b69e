"""Linkage by an intruder who knows some of the attributes only, exactly or roughly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import OptionError
from shoal.partitioning import door
from shoal.risk.distance import Linkage, drawn_rows, linked, sampled_interval
from shoal.risk.pairs import Pair, Settings
from shoal.tables.embedding import stack
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.inputs import count_of


@dataclass(frozen=True, repr=False)
class PartialLinkage:
    """What intruders achieve who know a few attributes each.

    Attributes
    ----------
    known : int
        How many attributes each knows.
    subsets : tuple of tuples of str
        The attributes that each knows.
    correct, nearest, baseline, untouched : float64[s]
        As in :class:`Linkage`, for each of them. Groups are rows that are equal in what is known.
    complete : bool
        Whether all subsets of so many attributes were tried.
    interval : tuple of two floats, or None
        If records were drawn: 95 % of such draws give an interval that contains the mean of all.
    intervals : float64[s, 2] or None
        If records were drawn, the same for each subset.
    """

    known: int
    subsets: tuple[tuple[str, ...], ...]
    correct: Array
    nearest: Array
    baseline: Array
    untouched: Array
    complete: bool
    interval: tuple[float, float] | None
    intervals: Array | None

    def __repr__(self) -> str:
        return (
            f"PartialLinkage({self.known} attributes known, {len(self.subsets)} subsets: correct {self.mean:.3g} on "
            f"average, {self.highest:.3g} at most)"
        )

    @property
    def mean(self) -> float:
        """Return the share of correct links on average over the subsets."""
        return float(self.correct.mean())

    @property
    def highest(self) -> float:
        """Return the highest share of correct links of any subset."""
        return float(self.correct.max())

    @property
    def worst(self) -> tuple[str, ...]:
        """Return the subset that links most records correctly, the first of several."""
        return self.subsets[int(self.correct.argmax())]


def partial_linkage(
    original: Any,
    release: Any,
    columns: Any = None,
    *,
    known: int,
    error: float = 0.0,
    subsets: int = 50,
    by: str | None = None,
    types: Mapping[str, str] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    sample: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = -1,
) -> PartialLinkage:
    """Return how many records an intruder links correctly who knows `known` of the columns.

    All subsets of so many columns are tried, or as many as `subsets` says, drawn at random.

    Parameters
    ----------
    original, release, columns, by, types, hierarchies, sample, n_jobs
        As in :func:`linkage`.
    known : int
        How many columns the intruder knows.
    error : float
        How well: numbers and dates are off by a normal error of so many standard deviations; a category is replaced,
        with this chance, by that of another record.
    subsets : int
        The most subsets to try.
    random_state : int
        The seed of the draws.

    Examples
    --------
    >>> import shoal, pandas as pd
    >>> people = pd.DataFrame({"age": [30, 32, 50, 58], "income": [20, 22, 30, 38]})
    >>> shoal.risk.partial_linkage(people, people, known=1)
    PartialLinkage(1 attributes known, 2 subsets: correct 1 on average, 1 at most)
    """
    caller = "shoal.risk.partial_linkage"
    pair = Pair.of(original, release, columns, caller, Settings(by, types or {}, hierarchies or {}))
    d = len(pair.attributes)
    known = count_of(known, "known", caller, most=d)
    seed = count_of(random_state, "random_state", caller, least=0)
    if isinstance(error, bool) or not isinstance(error, int | float | np.number) or not 0 <= float(error) < np.inf:
        raise OptionError(f"The 'error' of {caller} must be a number of at least 0. Got {error!r}.")
    rng = np.random.default_rng(seed)
    tried = _subsets(d, known, count_of(subsets, "subsets", caller), rng)
    rows = drawn_rows(len(pair.rows), sample, seed, caller)
    threads = door.threads(n_jobs, caller)
    made: list[Linkage] = []
    untouched: list[float] = []
    for which in tried:
        X, Y = pair.coordinates(which)
        if error > 0:
            rough = stack([_rough(pair, at, float(error), rng) for at in which])
            made.append(linked(pair, rough, Y, drawn=rows, n_jobs=threads))
            untouched.append(linked(pair, rough, X, drawn=rows, n_jobs=threads).correct)
        else:
            made.append(linked(pair, X, Y, drawn=rows, n_jobs=threads))
            untouched.append(made[-1].untouched)
    names = tuple(tuple(pair.attributes[at].name for at in which) for which in tried)
    return PartialLinkage(
        known=known,
        subsets=names,
        correct=np.array([one.correct for one in made]),
        nearest=np.array([one.nearest for one in made]),
        baseline=np.array([one.baseline for one in made]),
        untouched=np.array(untouched),
        complete=len(tried) == comb(d, known),
        interval=None if rows is None else _interval(made, pair),
        intervals=None if rows is None else np.array([one.interval for one in made]),
    )


def _interval(made: list[Linkage], pair: Pair) -> tuple[float, float]:
    """Return the interval of the mean over subsets: of a sample of records, each with its mean chance."""
    chances = np.mean([one.chances for one in made], axis=0)
    n = len(pair.rows)
    likely = float(np.mean([one.baseline for one in made]))
    return sampled_interval(chances[~np.isnan(chances)] * n / pair.size, likely, n)


def _subsets(d: int, known: int, most: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Return different subsets of `known` of d attributes, all if there are no more than `most`."""
    if comb(d, known) <= most:
        return list(combinations(range(d), known))
    found: set[tuple[int, ...]] = set()
    while len(found) < most:
        found.add(tuple(sorted(rng.choice(d, known, replace=False).tolist())))
    return sorted(found)


def _rough(pair: Pair, at: int, error: float, rng: np.random.Generator) -> Array:
    """Return the coordinates of an attribute of the original, with errors."""
    one = pair.attributes[at]
    n = len(pair.rows)
    points: Array = one.points[:n].copy()
    if points.shape[1] == 0:
        return points
    if one.numeric:
        present = ~one.values.missing[:n]
        points[present, 0] += error * rng.standard_normal(int(present.sum()))
        return points
    wrong = rng.random(n) < error
    points[wrong] = points[rng.integers(0, n, int(wrong.sum()))]
    return points
