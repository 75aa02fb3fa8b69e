"""The aggregates of original and published values that a report shows, none of which reveals a record.

Original values are limited by what was published:

* a number outside the range of the published ones (from the k-th smallest to the k-th largest, which for a release
  that is k-anonymous are the smallest and the largest) counts as the end of that range, in histograms, means,
  standard deviations and correlations alike, so that none of them reveals an extreme value of a single record;
* a count below k is shown as 0, a category with fewer than k records is not named, and if the counts that are left
  out add up to less than k, the next smallest is left out too, so that they cannot be found by subtraction;
* means, standard deviations, distances and correlations are shown only for at least 10 k records, means and
  standard deviations to three significant digits of the standard deviation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.release.report.relations import (
    ENOUGH,
    Axes,
    Correlations,
    Related,
    Sizes,
    axes_of,
    correlations_of,
    sizes_of,
)
from shoal.tables.values import Codes, Numbers, Places, Values

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

Pair = tuple[float, float]

_BINS = 30
_NAMED = 12  # categories that are shown by name
_TAIL = 0.005  # of the published values, at either end of a histogram, counted in its end bins ...
_REACH = 6  # ... and values further from a quartile than this many times the distance of the quartiles
_WHOLE = ("integer", "date")


class Measured(NamedTuple):
    """A quasi-identifier before and after, row by row.

    `after` has the form of `before`, or contains the codes of texts if intervals or nodes of a hierarchy were
    published.
    """

    name: str
    kind: str
    before: Values
    after: Values


@dataclass(frozen=True)
class Histogram:
    """Counts of numbers in bins."""

    name: str
    kind: str
    edges: tuple[float, ...]  # one more than bins; () if nothing was published; equal if one value was published
    before: tuple[int, ...]
    after: tuple[int, ...]
    missing: tuple[int, int]  # before, after


@dataclass(frozen=True)
class Frequencies:
    """Counts of categories. `before` is None if other texts were published: intervals, nodes of a hierarchy."""

    name: str
    kind: str
    labels: tuple[str, ...]  # at most 12, in their order if ordinal, else the most frequent first
    before: tuple[int, ...] | None
    after: tuple[int, ...]
    pooled: tuple[int, int]  # all other categories, before and after
    missing: tuple[int, int]


@dataclass(frozen=True)
class Figures:
    """Statistics of an attribute before and after; None if not shown."""

    name: str
    kind: str
    mean_before: float | None = None
    mean_after: float | None = None
    sd_before: float | None = None
    sd_after: float | None = None
    distance: float | None = None  # total variation distance of the frequencies, 0 to 1


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


def gather_evidence(attributes: Sequence[Measured], *, labels: Array, k: int, X: Array | None = None) -> Evidence:
    """Return the aggregates that a report may show.

    Parameters
    ----------
    attributes : sequence of Measured
        The quasi-identifiers, in the order in which they are shown.
    labels : int64[n]
        The group of each record, 0 .. m - 1.
    k : int
        Counts below it are not shown.
    X : float64[n, d], optional
        The coordinates of the records; without them, the groups are not drawn.

    Returns
    -------
    Evidence
        Equal for equal input: only the groups to draw are sampled, always in the same way.
    """
    sizes = np.bincount(labels)
    distributions: list[Histogram | Frequencies] = []
    figures: list[Figures] = []
    related: list[Related] = []
    for attribute in attributes:
        for part in _parts(attribute):
            distribution, figure, relation = _look(part, k)
            distributions.append(distribution)
            figures.append(figure)
            if relation is not None and not isinstance(attribute.before, Places):
                related.append(relation)
    return Evidence(
        n=len(labels),
        k=k,
        sizes=sizes_of(sizes[sizes > 0]),
        distributions=tuple(distributions),
        figures=tuple(figures),
        correlations=correlations_of(related, k) if len(related) > 1 else None,
        axes=None if X is None else axes_of(X, labels, sizes, k),
    )


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
        return [Measured(names[i], "continuous", Numbers(before.degrees[:, i]), pair[i]) for i in (0, 1)]
    return [Measured(attribute.name, "place", Numbers(before.degrees[:, 0]), after)]


def _look(part: Measured, k: int) -> tuple[Histogram | Frequencies, Figures, Related | None]:
    before, after = part.before, part.after
    if isinstance(before, Numbers) and isinstance(after, Numbers):
        return _numbers(part, before.values, after.values, k)
    if isinstance(before, Codes) and isinstance(after, Codes):
        return _codes(part, before, after, k)
    # Numbers that became texts: the original cannot be counted by the texts of the release.
    counts = _counts(after) if isinstance(after, Codes) else {}
    frequencies = _frequencies(part, None, counts, int(after.missing.sum()), int(before.missing.sum()), k)
    return frequencies, Figures(part.name, part.kind), None


# --- suppression ---


def _suppressed(counts: Array, k: int) -> Array:
    """Return the counts with those below k set to 0, and one more if the hidden counts add up to less than k."""
    shown = np.where(counts < k, 0, counts)
    hidden = int((counts - shown).sum())
    if 0 < hidden < k and shown.any():
        shown[np.where(shown > 0, shown, shown.max() + 1).argmin()] = 0
    return shown


def _published_range(values: Array, k: int) -> Pair | None:
    """Return the k-th smallest and the k-th largest of the published values, None if there are fewer than k."""
    if len(values) < k:
        return None
    ends = np.partition(values, (k - 1, len(values) - k))
    low, high = float(ends[k - 1]), float(ends[len(values) - k])
    return (min(low, high), max(low, high)) if math.isfinite(high - low) else None


def _to_three_digits(mean: float, sd: float) -> Pair:
    unit = sd if sd > 0 else abs(mean)
    if unit == 0:
        return 0.0, 0.0
    digits = 2 - math.floor(math.log10(unit))
    return round(mean, digits), round(sd, digits)


# --- numbers ---


def _numbers(part: Measured, before: Array, after: Array, k: int) -> tuple[Histogram, Figures, Related | None]:
    name, kind = part.name, part.kind
    there = ~np.isnan(before)
    old = before if there.all() else before[there]
    there = ~np.isnan(after)
    new = after if there.all() else after[there]
    missing = (len(before) - len(old), len(after) - len(new))
    bounds = _published_range(new, k)
    if bounds is None:
        gone = tuple(int(count) if count >= k else 0 for count in missing)
        return Histogram(name, kind, (), (), (), (gone[0], gone[1])), Figures(name, kind), None
    old, new = np.clip(old, *bounds), np.clip(new, *bounds)
    edges = _edges(new, bounds, kind in _WHOLE, max(4, min(_BINS, len(before) // (4 * k))))
    counts = [
        _suppressed(np.append(_binned(v, edges), gone), k).tolist()
        for v, gone in ((old, missing[0]), (new, missing[1]))
    ]
    histogram = Histogram(
        name, kind, tuple(edges.tolist()), tuple(counts[0][:-1]), tuple(counts[1][:-1]), (counts[0][-1], counts[1][-1])
    )
    # A single published value clips all originals to itself, so their statistics are meaningless.
    enough = [len(old) >= ENOUGH * k and bounds[0] < bounds[1], len(new) >= ENOUGH * k]
    (a, b), (c, d) = (_moments(v) if good else (None, None) for v, good in zip((old, new), enough, strict=True))
    figures = Figures(name, kind, a, c, b, d)
    return histogram, figures, Related(name, before, after, bounds)


def _edges(published: Array, bounds: Pair, whole: bool, bins: int) -> Array:
    """Return the edges of the bins, without long tails, which would squeeze the rest into a single bar."""
    low, high = bounds
    n = len(published)
    if n > 200:
        places = [max(1, int(_TAIL * n)), n // 4, n - 1 - n // 4, n - 1 - max(1, int(_TAIL * n))]
        inner = np.partition(published, places)
        near, first, third, far = (float(inner[place]) for place in places)
        if third > first:
            near, far = max(near, first - _REACH * (third - first)), min(far, third + _REACH * (third - first))
        # Short tails are kept.
        low = near if near - low > 0.25 * (far - near) else low
        high = far if high - far > 0.25 * (far - near) else high
    if low == high:
        return np.array(bounds)
    if whole:
        step = max(1, math.ceil((high - low + 1) / bins))
        return np.asarray(low - 0.5 + step * np.arange(math.ceil((high - low + 1) / step) + 1))
    return np.linspace(low, high, bins + 1)


def _binned(values: Array, edges: Array) -> Array:
    """Count values in bins of equal width; values outside count in the end bins."""
    bins = len(edges) - 1
    width = (edges[-1] - edges[0]) / bins
    if width == 0:
        return np.array([len(values)])
    position = np.clip((values - edges[0]) / width, 0, bins - 1).astype(np.int64)
    return np.bincount(position, minlength=bins)


def _moments(values: Array) -> Pair:
    # Squares of 1e200 would overflow.
    scale = float(max(-values.min(), values.max())) or 1.0
    scaled = values / scale
    mean = float(scaled.mean())
    return _to_three_digits(mean * scale, float(scaled.std()) * scale)


# --- codes ---


def _codes(part: Measured, before: Codes, after: Codes, k: int) -> tuple[Frequencies, Figures, Related | None]:
    old, new = _counts(before), _counts(after)
    gone = int(before.missing.sum()), int(after.missing.sum())
    same_words = set(new) <= set(before.levels)
    frequencies = _frequencies(part, old if same_words else None, new, gone[1], gone[0], k)
    n = len(before.codes)
    distance = None
    if same_words and n >= ENOUGH * k:
        moved = sum(abs(old.get(level, 0) - new.get(level, 0)) for level in {*old, *new}) + abs(gone[0] - gone[1])
        distance = round(moved / (2 * n), 3)
    relation = None
    if same_words and new and part.kind in ("ordinal", "boolean"):
        place = {level: i for i, level in enumerate(before.levels)}
        # Code -1, a missing value, refers to the last entry.
        ranks = np.array([place.get(level, 0) for level in after.levels] + [-1], dtype=np.float64)
        published = [place[level] for level in new]
        relation = Related(part.name, before.codes, ranks[after.codes], (min(published), max(published)))
    return frequencies, Figures(part.name, part.kind, distance=distance), relation


def _counts(values: Codes) -> dict[str, int]:
    counts = np.bincount(values.codes + 1, minlength=len(values.levels) + 1)[1:].tolist()
    return {level: count for level, count in zip(values.levels, counts, strict=True) if count}


def _frequencies(
    part: Measured, old: dict[str, int] | None, new: dict[str, int], gone_after: int, gone_before: int, k: int
) -> Frequencies:
    shown = [_named(counts or {}, gone, k) for counts, gone in ((old, gone_before), (new, gone_after))]
    order = {level: i for i, level in enumerate([*_levels(part.before), *_levels(part.after)])}
    # Take the most frequent categories.
    labels = sorted({*shown[0][0], *shown[1][0]}, key=lambda level: (-_most(level, shown), order[level]))[:_NAMED]
    if part.kind in ("ordinal", "boolean"):
        labels.sort(key=order.__getitem__)
    columns = [tuple(named.get(level, 0) for level in labels) for named, _ in shown]
    pooled = [
        sum((counts or {}).values()) + gone - missing - sum(column)
        for counts, gone, (_, missing), column in zip(
            (old, new), (gone_before, gone_after), shown, columns, strict=True
        )
    ]
    return Frequencies(
        name=part.name,
        kind=part.kind,
        labels=tuple(labels),
        before=None if old is None else columns[0],
        after=columns[1],
        pooled=(0 if old is None else pooled[0], pooled[1]),
        missing=(shown[0][1], shown[1][1]),
    )


def _named(counts: dict[str, int], gone: int, k: int) -> tuple[dict[str, int], int]:
    """Return the categories that may be named, with their counts, and the count of missing values."""
    shown = _suppressed(np.array([*counts.values(), gone], dtype=np.int64), k).tolist()
    return {level: count for level, count in zip(counts, shown, strict=False) if count}, shown[-1]


def _most(level: str, shown: list[tuple[dict[str, int], int]]) -> int:
    return max(named.get(level, 0) for named, _ in shown)


def _levels(values: Values) -> tuple[str, ...]:
    return values.levels if isinstance(values, Codes) else ()
