"""Distance-based record linkage: whose published row is the nearest?

A release of groups has few different rows, so groups are searched, not records, and only as far as a record's own group
is away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.kernels.construction import for_thread
from shoal.kernels.linkage import count_nearer
from shoal.partitioning import door
from shoal.partitioning.plain import squares_to
from shoal.partitioning.pool import Pool, in_threads
from shoal.risk.pairs import Groups, Pair, Settings, groups_of
from shoal.risk.shares import CONFIDENCE
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.inputs import count_of

# Squared distances are equal if they differ by a relative or by an absolute amount no larger than these: what rounding
# makes of equal distances, when units or the order of columns change.
SLACK = np.array([1e-9, 1e-18])
# Up to so many pairs of records and groups, all are compared, without kernels.
FEW_PAIRS = 2_000_000


@dataclass(frozen=True, repr=False)
class Linkage:
    """What an intruder who links every original record to the nearest published row achieves.

    Attributes
    ----------
    correct : float
        The expected share of correct links. A link to the right group is one correct guess in its size.
    nearest : float
        The share of records to which no group is nearer than their own.
    baseline : float
        The share of correct links if everybody's group were known: the mean of 1 / size over all records.
    untouched : float
        The share of correct links if the original were released as it is.
    among : float64[m]
        The expected share of records whose own row is among the 1, 2, .. m nearest.
    chances : float64[n]
        The chance of each record to be linked correctly; 0 for those that were not released, NaN for
        those that were not drawn.
    interval : tuple of two floats, or None
        If records were drawn: 95 % of such draws give an interval that contains the share of correct links of all.
    records, groups : int
        The number of records that were linked, and of different published rows.
    """

    correct: float
    nearest: float
    baseline: float
    untouched: float
    among: Array
    chances: Array
    interval: tuple[float, float] | None
    records: int
    groups: int

    def __repr__(self) -> str:
        return (
            f"Linkage({self.records} records, {self.groups} groups: correct {self.correct:.3g}, nearest "
            f"{self.nearest:.3g}, baseline {self.baseline:.3g}, untouched {self.untouched:.3g})"
        )


def linkage(
    original: Any,
    release: Any,
    columns: Any = None,
    *,
    m: int = 1,
    by: str | None = None,
    types: Mapping[str, str] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    sample: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = -1,
) -> Linkage:
    """Return how many records an intruder links correctly who knows all `columns` and takes the nearest published row.

    Distances are those of Shoal's groups: numbers differ by standard deviations, categories are equal or not, values of
    a hierarchy differ by their path; every attribute has the same weight. Standard deviations are those of both tables
    together. Rows at the same distance are equally likely to be chosen. The search is exact.

    Domingo-Ferrer, J., Torra, V. (2001): A quantitative comparison of disclosure control methods for microdata.
    Domingo-Ferrer, J. et al. (2006): Efficient multivariate data-oriented microaggregation, section 3. VLDB Journal 15.

    Parameters
    ----------
    original, release : data frames
        The same records in the same order, or named by the column `by`. Published values must be of the kind of the
        original ones: ranges and sets have no distance from a number.
    columns : names, optional
        What the intruder knows. By default all columns that both tables have.
    m : int
        How many of the nearest rows `among` looks at.
    by : str, optional
        A column that names the records in both tables. Records that were not released cannot be linked.
    types : {name: kind}, optional
        Kinds of columns, where another than the one inferred is meant: ``{"region": "nominal"}`` for codes.
    hierarchies : {name: Hierarchy}, optional
    sample : int, optional
        Link so many records only, drawn at random.
    random_state : int
        The seed of the draw.
    n_jobs : int or None
        Threads, by default all cores. The result does not depend on it.

    Examples
    --------
    >>> import shoal, pandas as pd
    >>> people = pd.DataFrame({"age": [30, 32, 50, 58], "income": [20, 22, 30, 38]})
    >>> release = pd.DataFrame({"age": [31, 31, 54, 54], "income": [21, 21, 34, 34]})
    >>> shoal.risk.linkage(people, release, ["age", "income"])
    Linkage(4 records, 2 groups: correct 0.5, nearest 1, baseline 0.5, untouched 1)
    """
    caller = "shoal.risk.linkage"
    pair = Pair.of(original, release, columns, caller, Settings(by, types or {}, hierarchies or {}))
    m = count_of(m, "m", caller)
    drawn = drawn_rows(len(pair.rows), sample, random_state, caller)
    X, Y = pair.coordinates()
    return linked(pair, X, Y, m=m, drawn=drawn, n_jobs=door.threads(n_jobs, caller))


def linked(pair: Pair, X: Array, Y: Array, *, m: int = 1, drawn: Array | None = None, n_jobs: int = 1) -> Linkage:
    """Return the linkage of records X to published rows Y, float64[n, d] both.

    Parameters
    ----------
    pair : Pair
    X, Y : float64[n, d]
    m : int
    drawn : int64[q] or None
        The rows to link; None: all.
    n_jobs : int
    """
    groups, twins = groups_of(Y), groups_of(X)
    size = pair.size
    rows = np.arange(len(X)) if drawn is None else drawn
    nearer, level = counts(X if drawn is None else X[drawn], groups, groups.of[rows], m, n_jobs)
    # With `nearer` rows before it and `level` at its own distance, a record's own row is among the first t with the
    # chance (t - nearer) / level.
    among = [np.clip((t - nearer) / level, 0.0, 1.0) for t in range(1, m + 1)]
    chances = np.full(size, np.nan if drawn is not None else 0.0)
    chances[pair.rows[rows]] = among[0]
    # Records that were not released are linked to somebody else.
    released = len(X) / size
    correct = float(among[0].mean()) * released
    highest = float(1 / groups.sizes.min())
    return Linkage(
        correct=correct,
        nearest=float((nearer == 0).mean()) * released,
        baseline=len(groups.sizes) / size,
        untouched=len(twins.sizes) / len(X),
        among=np.array([float(chance.mean()) for chance in among]) * released,
        chances=chances,
        interval=None if drawn is None else sampled_interval(among[0] * released, highest, len(X)),
        records=len(rows),
        groups=len(groups.sizes),
    )


def counts(X: Array, groups: Groups, own: Array, most: int, n_jobs: int) -> tuple[Array, Array]:
    """Return how many published rows are nearer to each record than its own, and how many as near: int64[n] both.

    Parameters
    ----------
    X : float64[n, d]
    groups : Groups
    own : int64[n]
        The group of each record.
    most : int
        Where so many are nearer, no more are counted.
    n_jobs : int
    """
    nearer, level = np.zeros(len(X), np.int64), np.zeros(len(X), np.int64)
    if len(X) * len(groups.sizes) <= FEW_PAIRS:
        _count_plainly(X, groups, own, nearer, level)
        level[nearer >= most] = 1
        return nearer, level
    pool = Pool(groups.points)
    # Records of one place one after the other: they look at the same part of the tree.
    order = np.argsort(pool.points.slots[own], kind="stable")
    weights = groups.sizes.astype(np.int64)

    def search(part: slice) -> None:
        rows = order[part]
        before, same = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
        points = for_thread(pool.points)
        count_nearer(points, X[rows], own[rows], weights, SLACK, np.int64(most), before, same)
        nearer[rows], level[rows] = before, same

    in_threads(search, len(X), n_jobs)
    level[nearer >= most] = 1
    return nearer, level


def _count_plainly(X: Array, groups: Groups, own: Array, nearer: Array, level: Array) -> None:
    """Count by comparing each record with each group."""
    columns = np.ascontiguousarray(X.T)
    at = np.zeros(len(X))
    for j in range(X.shape[1]):
        step = groups.points[own, j] - columns[j]
        at += step * step
    room = SLACK[0] * at + SLACK[1]
    low, high = at - room, at + room
    for point, size in zip(groups.points, groups.sizes, strict=True):
        squares = squares_to(columns, point)
        nearer += size * (squares < low)
        level += size * ((squares >= low) & (squares <= high))


def drawn_rows(n: int, sample: int | None, random_state: int, caller: str) -> Array | None:
    """Return the rows to link, ascending; None for all."""
    if sample is None:
        return None
    sample = count_of(sample, "sample", caller, least=2)
    seed = count_of(random_state, "random_state", caller, least=0)
    if sample >= n:
        return None
    return np.sort(np.random.default_rng(seed).choice(n, sample, replace=False))


def sampled_interval(chances: Array, highest: float, size: int) -> tuple[float, float]:
    """Return a 95 % confidence interval of the mean chance of all, from those of a sample without replacement.

    By the normal approximation, after four observations are added, half of them 0 and half of them the highest possible
    chance (Agresti and Coull 1998): where no link is right, or all are, the sample itself has no spread.
    """
    highest = max(highest, float(chances.max()))
    q, extra = len(chances), CONFIDENCE**2
    mean = (float(chances.sum()) + extra / 2 * highest) / (q + extra)
    spread = float(((chances - mean) ** 2).sum()) + extra / 2 * (mean**2 + (highest - mean) ** 2)
    half = CONFIDENCE * sqrt(spread / (q + extra) / (q + extra) * (1 - q / size))
    return max(0.0, mean - half), min(1.0, mean + half)
