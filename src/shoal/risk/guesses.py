"""Inference: an intruder who knows some attributes of a person reads another one off the nearest published group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError
from shoal.partitioning import door
from shoal.risk.distance import drawn_rows
from shoal.risk.nearest import Nearest, nearest_groups
from shoal.risk.pairs import Pair, Settings, groups_of
from shoal.risk.shares import Interval, mean_interval
from shoal.tables.frames import names_of
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.inputs import chosen, count_of

# Values of groups that are looked at in one go.
ROOM = 4_000_000


@dataclass(frozen=True, repr=False)
class Inference:
    """How well an attribute is guessed from others through the nearest published group.

    Attributes
    ----------
    name : str
        Of the attribute that is guessed.
    known : tuple of str
        Those that the intruder knows.
    guessed : float
        The share of right guesses of the most frequent value of the nearest group.
    interval : tuple of two floats
        The 95 % interval of `guessed`, for people like those in the table.
    baseline : float
        The right guesses by the whole table: the share of its most frequent value.
    untouched : float
        The right guesses if the original were released as it is.
    records : int
        The number of records that were attacked.
    """

    name: str
    known: tuple[str, ...]
    guessed: float
    interval: Interval
    baseline: float
    untouched: float
    records: int

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"Inference({self.name!r}, {self.records} records: guessed {self.guessed:.3g} ({low:.3g} to {high:.3g}), "
            f"baseline {self.baseline:.3g}, untouched {self.untouched:.3g})"
        )

    @property
    def gain(self) -> float:
        """Return how many more are guessed than by the whole table, as a share of all."""
        return self.guessed - self.baseline


def inference(
    original: Any,
    release: Any,
    columns: Any = None,
    secret: Any = None,
    *,
    bins: int = 10,
    by: str | None = None,
    types: Mapping[str, str] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    sample: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = -1,
) -> tuple[Inference, ...]:
    """Return how well an intruder who knows some attributes of a person guesses another one.

    The intruder looks for the published rows that are nearest in the known attributes, with the distances of
    :func:`linkage`, and guesses their most frequent value; of several that are as frequent, one at random. Numbers with
    more than 24 different values are guessed by interval: between which two of `bins` quantiles of the original they
    lie. A missing value counts as a value.

    Some of the gain is what a release is for: it tells what is true of people of this kind, whether they are in it or
    not. :func:`model_gain` separates the two.

    Machanavajjhala, A. et al. (2007): l-diversity: privacy beyond k-anonymity. TKDD 1(1).

    Parameters
    ----------
    original, release, by, types, hierarchies, sample, random_state, n_jobs
        As in :func:`linkage`. Records that were not released are not attacked.
    columns : names, optional
        What the intruder knows, but for the attribute to guess. By default all columns that both tables have.
    secret : names, optional
        The attributes to guess. By default each of `columns`, from all others.
    bins : int
        The number of intervals of numbers.

    Examples
    --------
    >>> import shoal, pandas as pd
    >>> people = pd.DataFrame({"age": [30, 32, 50, 58], "town": ["Ulm", "Ulm", "Bonn", "Bonn"]})
    >>> release = people.assign(age=[31, 31, 54, 54])
    >>> found, = shoal.risk.inference(people, release, ["age"], "town")
    >>> found.guessed, found.baseline, found.untouched
    (1.0, 0.5, 1.0)
    """
    caller = "shoal.risk.inference"
    bins = count_of(bins, "bins", caller, least=2)
    threads = door.threads(n_jobs, caller)
    settings = Settings(by, types or {}, hierarchies or {})
    pair, known, secrets = _read(original, release, columns, secret, caller, settings)
    n = len(pair.rows)
    drawn = drawn_rows(n, sample, random_state, caller)
    rows = np.arange(n) if drawn is None else drawn
    values = [one.categories(bins) for one in pair.attributes]
    at = {one.name: place for place, one in enumerate(pair.attributes)}
    made = []
    for name in secrets:
        which = [at[other] for other in known if other != name]
        if not which:
            raise DataError(f"The columns of {caller} must hold one beside the attribute to guess. Got {name!r} alone.")
        made.append(_guessed(pair, which, at[name], values[at[name]], rows, threads))
    return tuple(made)


def _read(
    original: Any, release: Any, columns: Any, secret: Any, caller: str, settings: Settings
) -> tuple[Pair, list[str], list[str]]:
    """Return both tables, the names of what is known, and of what is guessed."""
    listed = [secret] if isinstance(secret, str) else None if secret is None else list(secret)
    if isinstance(original, Pair):
        names = [one.name for one in original.attributes]
        known = names if columns is None else [columns] if isinstance(columns, str) else list(columns)
        for name in (*known, *(listed or ())):
            if name not in names:
                raise DataError(f"The columns of {caller} must be among those of the pair. Got {name!r}.")
        return original, known, listed or known
    if columns is None:
        theirs = set(names_of(release, f"{caller} (release)"))
        columns = [name for name in names_of(original, caller) if name in theirs and name != settings.by]
    known = chosen(original, columns, "columns", caller)
    secrets = known if listed is None else chosen(original, listed, "secret", caller)
    wanted = list(dict.fromkeys([*known, *secrets]))
    return Pair.of(original, release, wanted, caller, settings), known, secrets


def _guessed(
    pair: Pair, which: list[int], secret: int, values: tuple[Array, Array, int], rows: Array, n_jobs: int
) -> Inference:
    X, Y = pair.coordinates(which)
    before, after, count = values
    groups, twins = groups_of(Y), groups_of(X)
    truth = before[rows]
    cells, kinds = _Cells.of(groups.of, after, count), _Cells.of(twins.of, before, count)
    right = cells.chances(nearest_groups(X[rows], groups.points, n_jobs=n_jobs), truth)
    whole = kinds.chances(Nearest(np.arange(len(rows)), twins.of[rows], np.zeros(len(rows))), truth)
    return Inference(
        name=pair.attributes[secret].name,
        known=tuple(pair.attributes[at].name for at in which),
        guessed=float(right.mean()),
        interval=mean_interval(right, groups.of[rows]),
        baseline=float(np.bincount(before).max()) / len(before),
        untouched=float(whole.mean()),
        records=len(rows),
    )


@dataclass(frozen=True)
class _Cells:
    """How often each value occurs in each group: cells of a group one after the other."""

    starts: Array  # int64[g + 1]
    values: Array  # int64[c]
    times: Array  # int64[c]
    count: int  # values are less

    @classmethod
    def of(cls, groups: Array, values: Array, count: int) -> _Cells:
        cells, times = np.unique(groups * count + values, return_counts=True)
        starts = np.searchsorted(cells, np.arange(int(groups.max()) + 2) * count)
        return cls(starts, cells % count, times, count)

    def chances(self, found: Nearest, truth: Array) -> Array:
        """Return float64[n]: the chance that the most frequent value of a record's groups is the true one."""
        sizes = np.diff(self.starts)[found.group]
        first = np.searchsorted(found.record, np.arange(len(truth) + 1))
        reached = np.concatenate([[0], np.cumsum(sizes)])[first]
        chances = np.empty(len(truth))
        start = 0
        while start < len(truth):
            end = max(start + 1, int(np.searchsorted(reached, reached[start] + ROOM, "right")) - 1)
            part = slice(first[start], first[end])
            chances[start:end] = self._part(found.record[part] - start, found.group[part], truth[start:end])
            start = end
        return chances

    def _part(self, record: Array, group: Array, truth: Array) -> Array:
        sizes = np.diff(self.starts)[group]
        ends = np.cumsum(sizes)
        place = np.arange(ends[-1]) - np.repeat(ends - sizes, sizes) + np.repeat(self.starts[:-1][group], sizes)
        cells, where = np.unique(np.repeat(record, sizes) * self.count + self.values[place], return_inverse=True)
        times = np.bincount(where, self.times[place])
        of = cells // self.count
        most = np.zeros(len(truth))
        np.maximum.at(most, of, times)
        top = times == most[of]
        level = np.bincount(of[top], minlength=len(truth))
        right = np.bincount(of[top], (cells % self.count == truth[of])[top], len(truth))
        return np.asarray(right / level)
