"""What a report tells of each attribute before and after: counts, figures and correlations that reveal no record.

Rows are counted within the windows that follow from what is published (:mod:`shoal.release.report.windows`). The counts
of parts of a table are added up, exactly; a table in one piece is its only part. What is told of them is decided here,
for both. :mod:`shoal.release.report.evidence` says by which rules.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.release.measures.rounding import digits_of, told_count
from shoal.release.report.moments import ROWS, Moments, scaled, unscaled
from shoal.release.report.windows import Window
from shoal.tables.values import Codes, Numbers, Values

__all__ = [
    "ENOUGH",
    "Comparison",
    "Correlations",
    "Counted",
    "Figures",
    "Frequencies",
    "Histogram",
    "Largest",
    "Measured",
    "compared",
]

Pair = tuple[float, float]

ENOUGH = 10  # times k records, for a statistic of the originals
_NAMED = 12  # categories that are shown by name


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
class Correlations:
    """Pearson's correlations over the records that have both values, to two decimals; None if not shown."""

    names: tuple[str, ...]
    before: tuple[tuple[float | None, ...], ...]
    after: tuple[tuple[float | None, ...], ...]


class Comparison(NamedTuple):
    """What is told of all attributes before and after."""

    distributions: tuple[Histogram | Frequencies, ...] = ()
    figures: tuple[Figures, ...] = ()
    correlations: Correlations | None = None


# --- counts, of all rows or of a part of them ---


@dataclass
class Counted:
    """Rows counted within windows; `add` and `merge` in any order give the same.

    Attributes
    ----------
    windows : sequence of Window
    before, after : list of int64
        For each window, how many originals and published values are in each bin, or how many originals have each level.
    gone : list of int
        For each window, how many originals are missing.
    moments : (Moments, Moments)
        Before and after, of the attributes that are compared as numbers.
    """

    windows: Sequence[Window]
    before: list[Array] = field(init=False)
    after: list[Array] = field(init=False)
    gone: list[int] = field(init=False)
    moments: tuple[Moments, Moments] = field(init=False)

    def __post_init__(self) -> None:
        sizes = [_size(window) for window in self.windows]
        self.before = [np.zeros(size, np.int64) for size in sizes]
        self.after = [np.zeros(size, np.int64) for size in sizes]
        self.gone = [0] * len(sizes)
        self.moments = Moments(len(self.numeric)), Moments(len(self.numeric))

    @property
    def numeric(self) -> list[int]:
        """Return the positions of the attributes that are compared as numbers."""
        return [at for at, window in enumerate(self.windows) if window.bounds is not None]

    def add(self, parts: Sequence[Measured]) -> None:
        """Add rows, with the attribute of each window."""
        for at, (part, window) in enumerate(zip(parts, self.windows, strict=True)):
            self.gone[at] += int(part.before.missing.sum())
            if isinstance(part.before, Codes):
                if window.levels is not None:
                    codes = part.before.codes
                    self.before[at] += np.bincount(codes[codes >= 0], minlength=len(window.levels))
            elif window.bounds is not None:
                self.before[at] += _binned(part.before, window)
                self.after[at] += _binned(part.after, window)
        sides = [_sides(parts[at], self.windows[at]) for at in self.numeric]
        for side, moments in enumerate(self.moments):
            values = [(both[side], self.windows[at].bounds) for at, both in zip(self.numeric, sides, strict=True)]
            for start in range(0, len(values[0][0]) if values else 0, ROWS):
                rows = slice(start, start + ROWS)
                moments.add(np.stack([scaled(x[rows], bounds) for x, bounds in values if bounds is not None]))

    def merge(self, other: Counted) -> None:
        """Add the counts of other rows."""
        for own, more in ((self.before, other.before), (self.after, other.after)):
            for one, two in zip(own, more, strict=True):
                one += two
        self.gone = [one + two for one, two in zip(self.gone, other.gone, strict=True)]
        for one_side, other_side in zip(self.moments, other.moments, strict=True):
            one_side.merge(other_side)

    def mean_and_deviation(self, at: int, side: int) -> Pair:
        """Return the mean and the standard deviation of scaled values, before (0) or after (1)."""
        return self.moments[side].mean_and_deviation(self.numeric.index(at))


def _size(window: Window) -> int:
    if window.edges is not None:
        return max(0, len(window.edges) - 1)
    return 0 if window.levels is None else len(window.levels)


def _binned(values: Values, window: Window) -> Array:
    """Count numbers in bins; numbers outside count in the end bins."""
    if not isinstance(values, Numbers) or window.edges is None:
        raise RuntimeError("numbers that are published as numbers are counted in bins")
    x = values.values[~values.missing]
    return np.bincount(np.searchsorted(window.edges[1:-1], x, "right"), minlength=len(window.edges) - 1)


def _sides(part: Measured, window: Window) -> tuple[Array, Array]:
    """Return the values of an attribute that is compared as numbers, before and after; NaN where missing."""
    if isinstance(part.before, Numbers) and isinstance(part.after, Numbers):
        return part.before.values, part.after.values
    if not isinstance(part.before, Codes) or not isinstance(part.after, Codes) or window.ranks is None:
        raise RuntimeError("numbers, and levels in an order, are compared as numbers")
    # Code -1, a missing value, refers to the last entry.
    ranks = np.append(window.ranks, np.nan)
    place = dict(zip(window.levels or (), range(len(window.ranks)), strict=True))
    own = np.array([*(place.get(level, -1) for level in part.after.levels), -1], np.int64)
    return ranks[part.before.codes], ranks[own[part.after.codes]]


@dataclass
class Largest:
    """How much of a figure of the originals the group with the largest part makes up; merged in any order.

    Attributes
    ----------
    counted : Counted
        Of the whole table.
    squares, sums : float64[windows]
        Of deviations from the mean, of scaled values.
    """

    counted: Counted
    squares: Array = field(init=False)
    sums: Array = field(init=False)

    def __post_init__(self) -> None:
        self.squares, self.sums = np.zeros((2, len(self.counted.windows)))

    def add(self, parts: Sequence[Measured], labels: Array) -> None:
        """Add whole groups: their rows, and the group of each."""
        for at, (part, window) in enumerate(zip(parts, self.counted.windows, strict=True)):
            if not isinstance(part.before, Numbers) or window.bounds is None:
                continue
            there = ~part.before.missing
            owners = (labels if part.labels is None else part.labels)[there]
            if len(owners):
                mean = self.counted.mean_and_deviation(at, 0)[0]
                apart = scaled(part.before.values[there], window.bounds) - mean
                self.squares[at] = max(self.squares[at], np.bincount(owners, apart**2).max())
                self.sums[at] = max(self.sums[at], np.abs(np.bincount(owners, apart)).max())

    def merge(self, other: Largest) -> None:
        """Add what was found of other groups."""
        self.squares = np.maximum(self.squares, other.squares)
        self.sums = np.maximum(self.sums, other.sums)

    def digits(self, at: int, rows: int) -> int:
        """Return the digits of mean and standard deviation that no group is too large for."""
        deviation = self.counted.mean_and_deviation(at, 0)[1]
        of_squares = digits_of(float(self.squares[at]), rows * deviation**2)
        return min(of_squares, digits_of(float(self.sums[at]), rows * deviation))


# --- what is told of them ---


def compared(counted: Counted, largest: Largest, *, rows: int, k: int, most: int) -> Comparison:
    """Return what is told of all attributes.

    Parameters
    ----------
    counted, largest : Counted, Largest
        Of the whole table.
    rows, k : int
    most : int
        The largest number of digits of a figure of the originals; 0: nothing is told of them.
    """
    distributions: list[Histogram | Frequencies] = []
    figures: list[Figures] = []
    digits = []
    for at, window in enumerate(counted.windows):
        distribution: Histogram | Frequencies
        if window.edges is None:
            distribution, figure = _of_words(window, counted.before[at], counted.gone[at], rows, k, most)
        else:
            distribution, figure = _of_numbers(at, counted, largest, rows, k, most)
        distributions.append(distribution)
        figures.append(figure)
        digits.append(figure.digits)
    return Comparison(tuple(distributions), tuple(figures), _correlations(counted, digits, k))


def _suppressed(counts: Array, k: int) -> Array:
    """Return the counts with those below k set to 0, and one more if the hidden counts add up to less than k."""
    shown = np.where(counts < k, 0, counts)
    hidden = int((counts - shown).sum())
    if 0 < hidden < k and shown.any():
        shown[np.where(shown > 0, shown, shown.max() + 1).argmin()] = 0
    return shown


def _to_digits(mean: float, sd: float, digits: int = 3) -> Pair:
    """Return a mean and a standard deviation to this many digits of the standard deviation."""
    unit = sd if sd > 0 else abs(mean)
    if unit == 0:
        return 0.0, 0.0
    decimals = digits - 1 - math.floor(math.log10(unit))
    return round(mean, decimals), round(sd, decimals)


def _of_numbers(at: int, counted: Counted, largest: Largest, rows: int, k: int, most: int) -> tuple[Histogram, Figures]:
    window = counted.windows[at]
    name, kind, bounds = window.name, window.kind, window.bounds
    missing = (told_count(counted.gone[at], k) if most else 0, window.missing)
    if bounds is None or window.edges is None:
        return Histogram(name, kind, (), (), (), missing), Figures(name, kind)
    drawn = tuple(told_count(count, k) for count in counted.before[at].tolist()) if most else None
    shown = _suppressed(np.append(counted.after[at], missing[1]), k).tolist()
    histogram = Histogram(name, kind, tuple(window.edges.tolist()), drawn, tuple(shown[:-1]), (missing[0], shown[-1]))
    before, after = (_unscaled(counted, at, side) for side in (0, 1))
    there, digits = rows - counted.gone[at], 0
    told_mean = told_sd = None
    # A single published value limits all originals to itself, so their statistics are meaningless.
    if before is not None and there >= ENOUGH * k and bounds[0] < bounds[1]:
        digits = min(most, largest.digits(at, there))
        if digits:
            told_mean, told_sd = _to_digits(*before, digits)
    mean, sd = (None, None) if after is None or rows - window.missing < ENOUGH * k else _to_digits(*after)
    return histogram, Figures(name, kind, told_mean, mean, told_sd, sd, digits=digits)


def _unscaled(counted: Counted, at: int, side: int) -> Pair | None:
    """Return the mean and the standard deviation of an attribute, before (0) or after (1); None without values."""
    bounds = counted.windows[at].bounds
    if bounds is None or not (counted.before[at], counted.after[at])[side].any():
        return None
    return unscaled(*counted.mean_and_deviation(at, side), bounds)


def _of_words(window: Window, counts: Array, gone: int, rows: int, k: int, most: int) -> tuple[Frequencies, Figures]:
    name, kind, levels = window.name, window.kind, window.levels
    if levels is None:
        # Numbers that became texts: the original cannot be counted by the texts of the release.
        return _frequencies(window, None, 0, rows, k), Figures(name, kind)
    told = window.same_words and most > 0
    new = window.words or {}
    old = {levels[at]: int(counts[at]) for at in np.flatnonzero(counts).tolist()} if told else None
    distance = None
    if old is not None and rows >= ENOUGH * k:
        moved = sum(abs(old.get(level, 0) - new.get(level, 0)) for level in {*old, *new}) + abs(gone - window.missing)
        distance = round(moved / (2 * rows), most)
    return _frequencies(window, old, gone, rows, k), Figures(name, kind, distance=distance, digits=most)


def _frequencies(window: Window, old: dict[str, int] | None, gone: int, rows: int, k: int) -> Frequencies:
    """Return the counts of published categories; `old` are those of the originals, if they are told."""
    words = window.words or {}
    ordered = [level for level in window.levels or () if level in words] if window.same_words else sorted(words)
    shown = _suppressed(np.array([*(words[one] for one in ordered), window.missing], np.int64), k).tolist()
    named = {level: count for level, count in zip(ordered, shown, strict=False) if count}
    labels = sorted(named, key=lambda level: (-named[level], level))[:_NAMED]
    if window.kind in ("ordinal", "boolean"):
        labels.sort(key=ordered.index)
    after = tuple(named[level] for level in labels)
    before = None if old is None else tuple(told_count(old.get(level, 0), k) for level in labels)
    others = 0 if old is None else sum(count for level, count in old.items() if level not in labels)
    return Frequencies(
        name=window.name,
        kind=window.kind,
        labels=tuple(labels),
        before=before,
        after=after,
        pooled=(told_count(others, k), rows - shown[-1] - sum(after)),
        missing=(0 if old is None else told_count(gone, k), shown[-1]),
    )


def _correlations(counted: Counted, digits: Sequence[int], k: int) -> Correlations | None:
    """Return the correlations of all pairs of attributes, before and after; None of a single one."""
    related = [place for place, at in enumerate(counted.numeric) if counted.windows[at].related]
    if len(related) < 2:
        return None
    exact, after = (moments.correlations(related, ENOUGH * k) for moments in counted.moments)
    of = [counted.numeric[place] for place in related]
    before = tuple(
        tuple(_told(r, min(digits[of[i]], digits[of[j]])) for j, r in enumerate(row)) for i, row in enumerate(exact)
    )
    return Correlations(tuple(counted.windows[at].name for at in of), before, after)


def _told(correlation: float | None, digits: int) -> float | None:
    return None if correlation is None or digits < 1 else round(correlation, min(2, digits)) + 0.0
