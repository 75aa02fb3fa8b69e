"""Linkability: does a release bring together what two others know of the same person?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError
from shoal.partitioning import door
from shoal.risk.distance import counts, drawn_rows
from shoal.risk.nearest import nearest_groups
from shoal.risk.pairs import Groups, Pair, Settings, groups_of
from shoal.risk.shares import Interval, mean_interval
from shoal.tables.hierarchy import Hierarchy

# Searches of the second file that are made in one go.
ROOM = 1_000_000


@dataclass(frozen=True, repr=False)
class Linkability:
    """How often two files about the same people, without a column in common, are joined through the release.

    Attributes
    ----------
    first, second : tuple of str
        The columns of the two files.
    correct : float
        The expected share of persons of the first file who are joined to their own record of the second.
    interval : tuple of two floats
        The 95 % interval of `correct`, for people like those in the table.
    baseline : float
        The same without the release: a guess among all records.
    groups : float
        The same if everybody's group were known: the mean of 1 / size.
    untouched : float
        The same if the original were released as it is.
    chances : float64[n]
        The chance of each record to be joined correctly; 0 for those that were not released, NaN for those that were
        not drawn.
    records : int
        The number of records that were attacked.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    correct: float
    interval: Interval
    baseline: float
    groups: float
    untouched: float
    chances: Array
    records: int

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"Linkability({self.records} records, {len(self.first)} and {len(self.second)} columns: correct "
            f"{self.correct:.3g} ({low:.3g} to {high:.3g}), baseline {self.baseline:.3g}, untouched "
            f"{self.untouched:.3g})"
        )


def linkability(
    original: Any,
    release: Any,
    columns: Any = None,
    first: Any = None,
    *,
    by: str | None = None,
    types: Mapping[str, str] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    sample: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = -1,
) -> Linkability:
    """Return how often an intruder joins two files that have no column in common, with the release as a bridge.

    One file has some of the columns of all persons, the other one the rest. For a person of the first file the intruder
    takes the published row that is nearest in its columns, one at random where several are, and then the record of the
    second file that is nearest to what this row publishes of the other columns. Distances are those of
    :func:`linkage`. In a group of k records no more than one in k is joined correctly.

    The two searches are those of statistical matching (D'Orazio, M., Di Zio, M., Scanu, M. (2006): Statistical
    matching. Wiley), where a third file that has all columns joins the two others.

    Parameters
    ----------
    original, release, by, types, hierarchies, sample, random_state, n_jobs
        As in :func:`linkage`.
    columns : names, optional
        The columns of both files together. By default all that both tables have.
    first : names, optional
        The columns of the first file. By default every other of `columns`, from the first on.

    Examples
    --------
    >>> import shoal, pandas as pd
    >>> people = pd.DataFrame({"age": [30, 32, 50, 58], "income": [20, 22, 30, 38]})
    >>> release = pd.DataFrame({"age": [31, 31, 54, 54], "income": [21, 21, 34, 34]})
    >>> found = shoal.risk.linkability(people, release, first=["age"])
    >>> found.correct, found.baseline, found.untouched
    (0.5, 0.25, 1.0)
    """
    caller = "shoal.risk.linkability"
    pair = Pair.of(original, release, columns, caller, Settings(by, types or {}, hierarchies or {}))
    names = [one.name for one in pair.attributes]
    ours = names[::2] if first is None else [first] if isinstance(first, str) else list(first)
    for name in ours:
        if name not in names:
            raise OptionError(f"The 'first' of {caller} must be among its columns. Got {name!r}.")
    theirs = [name for name in names if name not in ours]
    if not ours or not theirs:
        raise DataError(f"The columns of {caller} must leave one for each of two files. Got {len(names)} columns.")
    threads = door.threads(n_jobs, caller)
    n = len(pair.rows)
    drawn = drawn_rows(n, sample, random_state, caller)
    rows = np.arange(n) if drawn is None else drawn
    A, P = pair.coordinates([names.index(name) for name in ours])
    B, Q = pair.coordinates([names.index(name) for name in theirs])
    released = n / pair.size
    joined = _joined(A[rows], P, Q, B, rows, threads)
    groups = groups_of(np.column_stack([P, Q]))
    chances = np.full(pair.size, np.nan if drawn is not None else 0.0)
    chances[pair.rows[rows]] = joined
    return Linkability(
        first=tuple(ours),
        second=tuple(theirs),
        correct=float(joined.mean()) * released,
        interval=mean_interval(joined * released, groups.of[rows]),
        baseline=1 / pair.size,
        groups=len(groups.sizes) / pair.size,
        untouched=float(_joined(A[rows], A, B, B, rows, threads).mean()),
        chances=chances,
        records=len(rows),
    )


def _joined(A: Array, P: Array, Q: Array, B: Array, rows: Array, n_jobs: int) -> Array:
    """Return float64[q]: the chance of each person of the first file to be joined to the own record of the second.

    Parameters
    ----------
    A : float64[q, a]
        The persons who are attacked, in the columns of the first file.
    P, Q : float64[n, a], float64[n, b]
        The published rows in the columns of the first and of the second file.
    B : float64[n, b]
        The second file.
    rows : int64[q]
        The record in the second file of each person.
    n_jobs : int
    """
    bridges, candidates, published = groups_of(P), groups_of(B), groups_of(Q)
    # Ways over the bridge: what is published in both halves, and how often.
    ways, times = np.unique(bridges.of * len(published.sizes) + published.of, return_counts=True)
    starts = np.searchsorted(ways, np.arange(len(bridges.sizes) + 1) * len(published.sizes))
    found = nearest_groups(A, bridges.points, n_jobs=n_jobs)
    whole = np.bincount(found.record, bridges.sizes[found.group])
    sizes = np.diff(starts)[found.group]
    chances = np.zeros(len(A))
    for part in _parts(np.cumsum(sizes)):
        of, size = found.record[part], sizes[part]
        ends = np.cumsum(size)
        way = np.arange(ends[-1]) - np.repeat(ends - size, size) + np.repeat(starts[:-1][found.group[part]], size)
        person = np.repeat(of, size)
        point = published.points[ways[way] % len(published.sizes)]
        own = candidates.of[rows[person]]
        chances += np.bincount(person, times[way] * _first(point, candidates, own, n_jobs), len(A))
    return np.asarray(chances / whole)


def _first(points: Array, candidates: Groups, own: Array, n_jobs: int) -> Array:
    """Return the chance that the own record is taken for the one nearest to each point."""
    nearer, level = counts(np.ascontiguousarray(points), candidates, own, 1, n_jobs)
    return np.where(nearer == 0, 1.0 / level, 0.0)


def _parts(reached: Array) -> list[slice]:
    """Return parts of what adds up to `reached`, of ROOM or of one each."""
    parts, start = [], 0
    while start < len(reached):
        before = int(reached[start - 1]) if start else 0
        end = max(start + 1, int(np.searchsorted(reached, before + ROOM, "right")))
        parts.append(slice(start, end))
        start = end
    return parts
