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

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.release.measures.rounding import digits_left, most_digits, told_count
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
_PER_BIN = 20  # times k records for each bin of a histogram
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
    labels: Array | None = None  # int64[n]: the groups in which it was published; None for those of the release


@dataclass(frozen=True)
class Histogram:
    """Counts of numbers in bins."""

    name: str
    kind: str
    edges: tuple[float, ...]  # one more than bins; () if nothing was published; equal if one value was published
    before: tuple[int, ...] | None  # None if nothing is told of the originals
    after: tuple[int, ...]
    missing: tuple[int, int]  # before, after


@dataclass(frozen=True)
class Frequencies:
    """Counts of categories. `before` is None if nothing is told of it, or if intervals or nodes were published."""

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
    digits: int = 3  # of what is told of the originals

    @property
    def changed(self) -> str | None:
        """Return the share of the frequencies that changed, in words: what was rounded to nothing is not nothing."""
        if self.distance is None:
            return None
        return f"{100 * self.distance:g} %" if self.distance else f"at most {50 * 10.0**-self.digits:g} %"


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
    most = most_digits([labels]) if most is None else most
    distributions: list[Histogram | Frequencies] = []
    figures: list[Figures] = []
    related: list[Related] = []
    for attribute in attributes:
        for part in _parts(attribute):
            distribution, figure, relation = _look(part, labels if part.labels is None else part.labels, k, most)
            distributions.append(distribution)
            figures.append(figure)
            if relation is not None and not isinstance(attribute.before, Places):
                related.append(relation)
    return Evidence(
        n=len(labels),
        k=k,
        sizes=sizes_of(*np.unique(by_group[by_group > 0] if sizes is None else sizes, return_counts=True)),
        distributions=tuple(distributions),
        figures=tuple(figures),
        correlations=correlations_of(related, k) if len(related) > 1 else None,
        axes=None if X is None else axes_of(X, by_group, k),
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
        halves = (Numbers(before.degrees[:, 0]), Numbers(before.degrees[:, 1]))
        return [Measured(names[i], "continuous", halves[i], pair[i], attribute.labels) for i in (0, 1)]
    return [Measured(attribute.name, "place", Numbers(before.degrees[:, 0]), after, attribute.labels)]


def _look(part: Measured, labels: Array, k: int, most: int) -> tuple[Histogram | Frequencies, Figures, Related | None]:
    before, after = part.before, part.after
    if isinstance(before, Numbers) and isinstance(after, Numbers):
        return _numbers(part, labels, k, most)
    if isinstance(before, Codes) and isinstance(after, Codes):
        return _codes(part, before, after, k, most)
    # Numbers that became texts: the original cannot be counted by the texts of the release.
    counts = _counts(after) if isinstance(after, Codes) else {}
    frequencies = _frequencies(part, None, counts, int(after.missing.sum()), 0, k)
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


def _to_digits(mean: float, sd: float, digits: int) -> Pair:
    """Return a mean and a standard deviation to this many digits of the standard deviation."""
    unit = sd if sd > 0 else abs(mean)
    if unit == 0:
        return 0.0, 0.0
    decimals = digits - 1 - math.floor(math.log10(unit))
    return round(mean, decimals), round(sd, decimals)


# --- numbers ---


def _numbers(part: Measured, labels: Array, k: int, most: int) -> tuple[Histogram, Figures, Related | None]:
    name, kind = part.name, part.kind
    before, after = (values.values for values in (part.before, part.after) if isinstance(values, Numbers))
    there = ~np.isnan(before)
    old, owners = (before, labels) if there.all() else (before[there], labels[there])
    there = ~np.isnan(after)
    new = after if there.all() else after[there]
    missing = (told_count(len(before) - len(old), k) if most else 0, len(after) - len(new))
    bounds = _published_range(new, k)
    if bounds is None:
        return Histogram(name, kind, (), (), (), missing), Figures(name, kind), None
    old, new = np.clip(old, *bounds), np.clip(new, *bounds)
    edges = _edges(new, bounds, kind in _WHOLE, max(4, min(_BINS, len(before) // (_PER_BIN * k))))
    drawn = tuple(told_count(count, k) for count in _binned(old, edges).tolist()) if most else None
    shown = _suppressed(np.append(_binned(new, edges), missing[1]), k).tolist()
    histogram = Histogram(name, kind, tuple(edges.tolist()), drawn, tuple(shown[:-1]), (missing[0], shown[-1]))
    digits = 0
    # A single published value clips all originals to itself, so their statistics are meaningless.
    told_mean = told_sd = None
    if len(old) >= ENOUGH * k and bounds[0] < bounds[1]:
        digits = min(most, _digits_left(old, owners))
        if digits:
            told_mean, told_sd = _moments(old, digits)
    mean, sd = _moments(new) if len(new) >= ENOUGH * k else (None, None)
    figures = Figures(name, kind, told_mean, mean, told_sd, sd, digits=digits)
    return histogram, figures, Related(name, before, after, bounds, digits)


def _digits_left(values: Array, owners: Array) -> int:
    """Return the digits of mean and standard deviation that no group is too large for."""
    scale = float(max(-values.min(), values.max())) or 1.0
    apart = values / scale
    apart = apart - apart.mean()
    spread = float(np.sqrt((apart**2).mean()))
    of_squares = digits_left(np.bincount(owners, apart**2))
    return min(of_squares, digits_left(np.abs(np.bincount(owners, apart)), len(values) * spread)) if spread else 0


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


def _moments(values: Array, digits: int = 3) -> Pair:
    # Squares of 1e200 would overflow.
    scale = float(max(-values.min(), values.max())) or 1.0
    scaled = values / scale
    mean = float(scaled.mean())
    return _to_digits(mean * scale, float(scaled.std()) * scale, digits)


# --- codes ---


def _codes(
    part: Measured, before: Codes, after: Codes, k: int, most: int
) -> tuple[Frequencies, Figures, Related | None]:
    old, new = _counts(before), _counts(after)
    gone = int(before.missing.sum()), int(after.missing.sum())
    same_words = set(new) <= set(before.levels)
    frequencies = _frequencies(part, old if same_words and most else None, new, gone[1], gone[0], k)
    n = len(before.codes)
    distance = None
    if same_words and most and n >= ENOUGH * k:
        moved = sum(abs(old.get(level, 0) - new.get(level, 0)) for level in {*old, *new}) + abs(gone[0] - gone[1])
        distance = round(moved / (2 * n), most)
    relation = None
    if same_words and new and part.kind in ("ordinal", "boolean"):
        # Ranks among the published levels: how many others lie between them is a matter of the originals.
        published = np.flatnonzero(np.isin(before.levels, list(new)))
        ranks = np.maximum(np.searchsorted(published, np.arange(len(before.levels)), "right") - 1, 0)
        place = dict(zip(before.levels, ranks.tolist(), strict=True))
        # Code -1, a missing value, refers to the last entry.
        old_ranks = np.append(ranks, -1)[before.codes]
        new_ranks = np.array([place.get(level, 0) for level in after.levels] + [-1], dtype=np.float64)[after.codes]
        relation = Related(part.name, old_ranks, new_ranks, (0, len(published) - 1), most)
    return frequencies, Figures(part.name, part.kind, distance=distance, digits=most), relation


def _counts(values: Codes) -> dict[str, int]:
    counts = np.bincount(values.codes + 1, minlength=len(values.levels) + 1)[1:].tolist()
    return {level: count for level, count in zip(values.levels, counts, strict=True) if count}


def _frequencies(
    part: Measured, old: dict[str, int] | None, new: dict[str, int], gone_after: int, gone_before: int, k: int
) -> Frequencies:
    """Return the counts of published categories; `old` are those of the originals, if they are told."""
    shown = _suppressed(np.array([*new.values(), gone_after], dtype=np.int64), k).tolist()
    named = {level: count for level, count in zip(new, shown, strict=False) if count}
    labels = sorted(named, key=lambda level: (-named[level], level))[:_NAMED]
    if part.kind in ("ordinal", "boolean"):
        order = {level: i for i, level in enumerate([*_levels(part.before), *_levels(part.after)])}
        labels.sort(key=order.__getitem__)
    after = tuple(named[level] for level in labels)
    before = None if old is None else tuple(told_count(old.get(level, 0), k) for level in labels)
    others = 0 if old is None else sum(count for level, count in old.items() if level not in labels)
    return Frequencies(
        name=part.name,
        kind=part.kind,
        labels=tuple(labels),
        before=before,
        after=after,
        pooled=(told_count(others, k), sum(new.values()) + gone_after - shown[-1] - sum(after)),
        missing=(0 if old is None else told_count(gone_before, k), shown[-1]),
    )


def _levels(values: Values) -> tuple[str, ...]:
    return values.levels if isinstance(values, Codes) else ()
