"""What groups reveal: how much better an intruder guesses a sensitive value who knows the group of a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError
from shoal.risk.keys import Keys
from shoal.tables.inputs import chosen, codes_of, columns, count_of
from shoal.tables.occurring import FEW

# How often values are dealt out at random.
DEALS = 20


@dataclass(frozen=True, repr=False)
class AttributeGain:
    """How well a sensitive value is guessed.

    Attributes
    ----------
    name : str
        Of the sensitive attribute.
    guessed : float
        The share of records whose value is the most frequent one of their group: the right guesses of an intruder who
        knows the groups.
    baseline : float
        The share of the most frequent value of the whole table: the right guesses of one who knows no groups.
    shuffled : float
        The right guesses if the values were dealt out to the groups at random: what groups of these sizes give by
        chance alone. Mean of 20 deals.
    certain : float
        The share of records in groups with a single value, which needs no guess.
    chances : float64[n]
        The share of each record's own value in its group.
    """

    name: str
    guessed: float
    baseline: float
    shuffled: float
    certain: float
    chances: Array

    def __repr__(self) -> str:
        return (
            f"AttributeGain({self.name!r}, {len(self.chances)} records: guessed {self.guessed:.3g}, baseline "
            f"{self.baseline:.3g}, shuffled {self.shuffled:.3g}, certain {self.certain:.3g})"
        )

    @property
    def gain(self) -> float:
        """Return how many more records are guessed than without groups, as a share of all."""
        return self.guessed - self.baseline


def attribute_gain(
    release: Any, keys: Any, sensitive: Any, *, bins: int = 10, random_state: int = 0
) -> tuple[AttributeGain, ...]:
    """Return how much the groups of a release reveal of each sensitive attribute.

    Groups are the rows with equal keys. A missing value counts as a value. Numbers with more than 24 different values
    are guessed by interval: between which two of `bins` quantiles they lie.

    A group has its most frequent value by definition, so that small groups seem to reveal something even of values that
    have nothing to do with them: compare `guessed` with `shuffled` as well as with `baseline`.

    Parameters
    ----------
    release : data frame
    keys : names
        The quasi-identifiers as published.
    sensitive : names
        The attributes to guess.
    bins : int
    random_state : int
        The seed of the deals of `shuffled`.

    Examples
    --------
    >>> import shoal, pandas as pd
    >>> release = pd.DataFrame({"age": [31, 31, 54, 54], "illness": ["flu", "flu", "flu", "cold"]})
    >>> found, = shoal.risk.attribute_gain(release, ["age"], ["illness"])
    >>> found.guessed, found.baseline, found.certain
    (0.75, 0.75, 0.5)
    """
    caller = "shoal.risk.attribute_gain"
    bins = count_of(bins, "bins", caller, least=2)
    seed = count_of(random_state, "random_state", caller, least=0)
    prepared = Keys.of(release, keys, caller)
    names = chosen(release, sensitive, "sensitive", caller)
    both = sorted(set(names) & set(prepared.names))
    if both:
        raise DataError(f"The sensitive attributes of {caller} must not be keys. Got {both[0]!r} as both.")
    made = []
    for name, column in columns(release, names, caller).items():
        codes, count = _values(column, name, bins)
        made.append(_gain(name, prepared, codes, count, np.random.default_rng(seed)))
    return tuple(made)


def _values(column: Any, name: str, bins: int) -> tuple[Array, int]:
    """Return int64[n], numbers of the values to guess, and how many there are; 0 is a missing value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    codes, count = codes_of(column, name)
    numeric = pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)
    if numeric and count > FEW:
        numbers = np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)
        present = ~np.isnan(numbers)
        edges = np.unique(np.quantile(numbers[present], np.arange(1, bins) / bins))
        codes, count = np.where(present, np.searchsorted(edges, numbers, "right"), -1), len(edges) + 1
    return codes + 1, count + 1


def _gain(name: str, keys: Keys, values: Array, count: int, rng: np.random.Generator) -> AttributeGain:
    n = keys.records
    cells, place, times = np.unique(keys.classes * count + values, return_inverse=True, return_counts=True)
    group = cells // count
    most = _most(group, times, len(keys.sizes))
    dealt = [_most(*_cells(keys.classes, rng.permutation(values), count), len(keys.sizes)).sum() for _ in range(DEALS)]
    return AttributeGain(
        name=name,
        guessed=float(most.sum()) / n,
        baseline=float(np.bincount(values).max()) / n,
        shuffled=float(np.mean(dealt)) / n,
        certain=float(keys.sizes[most == keys.sizes].sum()) / n,
        chances=times[place.ravel()] / keys.sizes[keys.classes],
    )


def _cells(classes: Array, values: Array, count: int) -> tuple[Array, Array]:
    """Return the group of each pair of a group and a value that occurs, and how often it does."""
    ordered = np.sort(classes * count + values)
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    return ordered[starts] // count, np.diff(starts, append=len(ordered))


def _most(group: Array, times: Array, groups: int) -> Array:
    """Return int64[groups]: how often the most frequent value of each group occurs."""
    most = np.zeros(groups, np.int64)
    np.maximum.at(most, group, times)
    return most
