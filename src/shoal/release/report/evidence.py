"""The aggregates of original and published values that a report shows, none of which reveals a record.

Original values are limited by what was published:

* a number outside the range of the published ones (from the k-th smallest to the k-th largest, which for a release
  that is k-anonymous are the smallest and the largest) counts as the end of that range, in histograms, means,
  standard deviations and correlations alike, so that none of them reveals an extreme value of a single record;
* only published categories are named; original counts are told in steps of 5 k;
* means, standard deviations, distances and correlations of the originals have as many digits as
  :mod:`shoal.release.measures.rounding` allows; if that is none, nothing is told of the originals at all.

Groups are drawn where their published values are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import Array
from shoal.release.measures.rounding import most_digits
from shoal.release.report.comparison import (
    Comparison,
    Correlations,
    Counted,
    Figures,
    Frequencies,
    Histogram,
    Largest,
    Measured,
    compared,
)
from shoal.release.report.drawn_groups import Axes, Sizes, axes_of, sizes_of
from shoal.release.report.windows import Window, limits_of, numbers_of, word_counts, words_of
from shoal.tables.values import Codes, Numbers, Places

__all__ = [
    "Axes",
    "Correlations",
    "Evidence",
    "Figures",
    "Frequencies",
    "Histogram",
    "Measured",
    "Sizes",
    "gather_evidence",
]


@dataclass(frozen=True)
class Evidence:
    """Aggregates that a report may show."""

    n: int
    k: int
    sizes: Sizes
    distributions: tuple[Histogram | Frequencies, ...]
    figures: tuple[Figures, ...]
    correlations: Correlations | None
    axes: Axes | None


def gather_evidence(
    attributes: Sequence[Measured],
    *,
    labels: Array,
    k: int,
    X: Array | None = None,
    sizes: Array | None = None,
    most: int | None = None,
) -> Evidence:
    """Return the aggregates that a report may show.

    Parameters
    ----------
    attributes : sequence of Measured
        The quasi-identifiers, in the order in which they are shown.
    labels : int64[n]
        The group of each record, 0 .. m - 1.
    k : int
        Counts below it are not shown.
    X : float64[m, d], optional
        The coordinates of what groups publish; without them, the groups are not drawn.
    sizes : int64[classes], optional
        The number of records that publish the same, as anyone can count them; by default those of the groups.
    most : int, optional
        The largest number of digits of a figure of the originals; by default that of these groups.

    Returns
    -------
    Evidence
        Equal for equal input: only the groups to draw are sampled, always in the same way.
    """
    by_group = np.bincount(labels)
    shown = _compared(attributes, labels, k, most_digits([labels]) if most is None else most)
    return Evidence(
        n=len(labels),
        k=k,
        sizes=sizes_of(*np.unique(by_group[by_group > 0] if sizes is None else sizes, return_counts=True)),
        distributions=shown.distributions,
        figures=shown.figures,
        correlations=shown.correlations,
        axes=None if X is None else axes_of(X, by_group, k),
    )


def _compared(attributes: Sequence[Measured], labels: Array, k: int, most: int) -> Comparison:
    """Return what is told of attributes in one piece."""
    parts: list[Measured] = []
    windows = []
    for attribute in attributes:
        for part in _parts(attribute):
            parts.append(part)
            windows.append(_window(part, k, related=not isinstance(attribute.before, Places)))
    counted = Counted(windows)
    counted.add(parts)
    largest = Largest(counted)
    largest.add(parts, labels)
    return compared(counted, largest, rows=len(labels), k=k, most=most)


def _parts(attribute: Measured) -> list[Measured]:
    """Return the attribute, or latitude and longitude for a place."""
    before, after = attribute.before, attribute.after
    if not isinstance(before, Places):
        return [attribute]
    names = attribute.name.split(", ")
    if len(names) != 2:
        names = [f"{attribute.name} (latitude)", f"{attribute.name} (longitude)"]
    if isinstance(after, Places):
        pair = [Numbers(after.degrees[:, 0]), Numbers(after.degrees[:, 1])]
        halves = (Numbers(before.degrees[:, 0]), Numbers(before.degrees[:, 1]))
        return [Measured(names[i], "continuous", halves[i], pair[i], attribute.labels) for i in (0, 1)]
    return [Measured(attribute.name, "place", Numbers(before.degrees[:, 0]), after, attribute.labels)]


def _window(part: Measured, k: int, *, related: bool) -> Window:
    """Return how an attribute is shown, by what all rows publish."""
    before, after, missing = part.before, part.after, int(part.after.missing.sum())
    if isinstance(before, Numbers) and isinstance(after, Numbers):
        limits = limits_of(after.values[~after.missing], k)
        return numbers_of(part.name, part.kind, limits, missing, len(after.values), k, related=related)
    words = word_counts(after) if isinstance(after, Codes) else {}
    return words_of(part.name, part.kind, words, missing, before.levels if isinstance(before, Codes) else None)
