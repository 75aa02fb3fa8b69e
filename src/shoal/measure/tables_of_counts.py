"""What a release keeps of tables of counts: of single columns, of pairs, and of triples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, sqrt
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.measure.pairs import Compared
from shoal.tables.inputs import count_of


@dataclass(frozen=True, repr=False)
class CrossTabulations:
    """How far the tables of counts of original and release are apart.

    A distance is the total variation: the share of records that must move to other cells to make the tables equal, from
    0 to 1.

    Attributes
    ----------
    names : tuple of str
        Of the d attributes.
    one : float64[d]
        The distance for each attribute.
    two : float64[p]
        For each pair of attributes.
    three : float64[t]
        For the triples that were drawn, or for all.
    pairs, triples : tuple of tuples of str
        The attributes of each pair and of each triple.
    """

    names: tuple[str, ...]
    one: Array
    two: Array
    three: Array
    pairs: tuple[tuple[str, ...], ...]
    triples: tuple[tuple[str, ...], ...]

    def __repr__(self) -> str:
        parts = [
            f"{name} {mean:.3g}" for name, mean in zip(("one", "two", "three"), self.means, strict=True) if mean == mean
        ]
        return f"CrossTabulations({len(self.names)} attributes: {', '.join(parts)})"

    @property
    def means(self) -> tuple[float, float, float]:
        """Return the mean distance of tables of one, two and three attributes, NaN where there are none."""
        one, two, three = (
            float(all_.mean()) if len(all_) else float("nan") for all_ in (self.one, self.two, self.three)
        )
        return one, two, three

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return the 95 % interval of the mean of all triples, None if all were counted."""
        drawn, whole = len(self.three), comb(len(self.names), 3)
        if drawn == whole or drawn < 2:
            return None
        from scipy.special import stdtrit

        half = float(stdtrit(drawn - 1, 0.975)) * float(self.three.std(ddof=1)) * sqrt((1 - drawn / whole) / drawn)
        return max(0.0, self.means[2] - half), min(1.0, self.means[2] + half)

    @property
    def highest(self) -> float:
        """Return the highest distance of any pair, or of any attribute if there is only one."""
        return float((self.two if len(self.two) else self.one).max())


def cross_tabulations(
    original: Any,
    release: Any,
    columns: Any = None,
    *,
    bins: int = 10,
    triples: int = 50,
    random_state: int = 0,
    by: str | None = None,
    types: Mapping[str, str] | None = None,
    weight: Any = None,
) -> CrossTabulations:
    """Return how far tables of counts of one, two and three columns are apart, before and after.

    Numbers with more than 24 different values are counted in intervals between quantiles of the original. A missing
    value is a category.

    Karr, A. F., Kohnen, C. N., Oganian, A., Reiter, J. P., Sanil, A. P. (2006): A framework for evaluating the utility
    of data altered to protect confidentiality. The American Statistician 60(3).

    Parameters
    ----------
    original, release, columns, by, types, weight
        As in :func:`distance_loss`; columns may hold categories.
    bins : int
        The number of intervals.
    triples : int
        The most triples of columns to count, drawn at random if there are more.
    random_state : int
        The seed of the draw.

    Examples
    --------
    >>> import shoal, pandas as pd
    >>> people = pd.DataFrame({"sex": list("ffmm"), "town": ["Ulm", "Bonn", "Ulm", "Bonn"]})
    >>> release = pd.DataFrame({"sex": list("ffmm"), "town": ["Ulm", "Ulm", "Bonn", "Bonn"]})
    >>> shoal.measure.cross_tabulations(people, release)
    CrossTabulations(2 attributes: one 0, two 0.5)
    """
    caller = "shoal.measure.cross_tabulations"
    bins = count_of(bins, "bins", caller, least=2)
    most = count_of(triples, "triples", caller, least=0)
    rng = np.random.default_rng(count_of(random_state, "random_state", caller, least=0))
    both = Compared.of(original, release, columns, caller, by=by, types=types, weight=weight)
    read, names = both.categories(bins), both.names
    d = len(names)
    drawn = {size: _drawn(d, size, most if size == 3 else comb(d, size), rng) for size in (1, 2, 3)}
    found = {
        size: np.array([total_variation([read[at] for at in which], both.weights) for which in drawn[size]])
        for size in drawn
    }
    pairs, tripled = (tuple(tuple(names[at] for at in which) for which in drawn[size]) for size in (2, 3))
    return CrossTabulations(names, found[1], found[2], found[3], pairs, tripled)


def _drawn(d: int, size: int, most: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Return different sets of attributes, ascending: all if there are no more than `most`."""
    if comb(d, size) <= most:
        return list(combinations(range(d), size))
    found: set[tuple[int, ...]] = set()
    while len(found) < most:
        found.add(tuple(sorted(rng.choice(d, size, replace=False).tolist())))
    return sorted(found)


def total_variation(columns: Sequence[tuple[Array, Array, int]], weights: Array) -> float:
    """Return half the sum of |p - q| over all cells of two tables of counts, as shares of their records.

    Parameters
    ----------
    columns : sequence of (int64[n], int64[n], int)
        For each column, the categories of both tables, and how many there are.
    weights : float64[n]
    """
    n = len(weights)
    cells, bound = np.zeros(2 * n, np.int64), 1
    for before, after, count in columns:
        if bound * count > 2**62:
            _, cells = np.unique(cells, return_inverse=True)
            bound = int(cells.max()) + 1
        cells = cells * count + np.concatenate([before, after])
        bound *= count
    if bound > 4 * n:
        _, cells = np.unique(cells, return_inverse=True)
    p, q = (np.bincount(part, weights, int(cells.max()) + 1) for part in (cells[:n], cells[n:]))
    return float(np.abs(p - q).sum() / (2 * weights.sum()))
