"""In which range and in which bins a report shows an attribute: this follows from what is published of it alone.

What groups publish is known when all of them are formed. A table in one piece looks at its rows; a table in parts adds
up what its parts publish (:class:`Published`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.tables.values import Codes, Numbers, Values

__all__ = ["Cells", "Limits", "Published", "Window", "limits_of", "numbers_of", "word_counts", "words_of"]

Pair = tuple[float, float]

_BINS = 30
_PER_BIN = 20  # times k records for each bin of a histogram
_TAIL = 0.005  # of the published values, at either end of a histogram, counted in its end bins ...
_REACH = 6  # ... and values further from a quartile than this many times the distance of the quartiles
_WHOLE = ("integer", "date")
# Different numbers, and different words, that are told apart while the parts of a table are added up.
MOST_CELLS = 1 << 14
MOST_WORDS = 1 << 18


class Limits(NamedTuple):
    """What the bins of published numbers follow from.

    Attributes
    ----------
    number : int
        How many they are.
    bounds : (float, float) or None
        The k-th smallest and the k-th largest of them; None if there are fewer than k.
    inner : tuple of float
        Those at `places_of(number)`.
    """

    number: int
    bounds: Pair | None
    inner: tuple[float, ...]


class Window(NamedTuple):
    """How an attribute is shown.

    Attributes
    ----------
    name, kind : str
    missing : int
        Rows whose group publishes no value.
    bounds : (float, float) or None
        The range to which originals are limited, of numbers or of ranks; None: they are not compared as numbers.
    edges : float64[bins + 1] or None
        Of a histogram, empty if nothing was published; None: words are counted.
    words : {word: rows} or None
        What is published; None: more different words than are counted.
    levels : tuple of str or None
        Those of the originals; None: they are numbers.
    ranks : float64[levels] or None
        Among the published levels, of an attribute with an order.
    related : bool
        Whether its correlations are shown.
    """

    name: str
    kind: str
    missing: int
    bounds: Pair | None = None
    edges: Array | None = None
    words: Mapping[str, int] | None = None
    levels: tuple[str, ...] | None = None
    ranks: Array | None = None
    related: bool = False

    @property
    def same_words(self) -> bool:
        """Return whether originals can be counted by what is published."""
        return self.words is not None and self.levels is not None and set(self.words) <= set(self.levels)


def numbers_of(name: str, kind: str, limits: Limits, missing: int, rows: int, k: int, *, related: bool) -> Window:
    """Return the window of numbers that are published as numbers, in a table of so many rows."""
    if limits.bounds is None:
        return Window(name, kind, missing, edges=np.zeros(0))
    edges = _edges(limits, kind in _WHOLE, max(4, min(_BINS, rows // (_PER_BIN * k))))
    return Window(name, kind, missing, limits.bounds, edges, related=related)


def words_of(
    name: str, kind: str, words: Mapping[str, int] | None, missing: int, levels: tuple[str, ...] | None
) -> Window:
    """Return the window of what is published as words."""
    window = Window(name, kind, missing, words=words, levels=levels)
    if levels is None or not words or kind not in ("ordinal", "boolean") or not window.same_words:
        return window
    # Ranks among the published levels: how many others lie between them is a matter of the originals.
    published = np.flatnonzero(np.isin(levels, list(words)))
    ranks = np.maximum(np.searchsorted(published, np.arange(len(levels)), "right") - 1, 0)
    bounds = (0.0, float(len(published) - 1))
    return window._replace(bounds=bounds, ranks=ranks.astype(np.float64), related=True)


def limits_of(values: Array, k: int) -> Limits:
    """Return the limits of the published numbers of all rows."""
    n = len(values)
    if n < k:
        return Limits(n, None, ())
    places = [k - 1, n - k, *_places(n)]
    ordered = np.partition(values, places)
    low, high, *inner = (float(ordered[place]) for place in places)
    return Limits(n, _finite(min(low, high), max(low, high)), tuple(inner))


def _finite(low: float, high: float) -> Pair | None:
    return (low, high) if math.isfinite(high - low) else None


def _places(n: int) -> list[int]:
    """Return which of n numbers in their order say where tails begin: the lower end, two quartiles, the upper end."""
    tail = max(1, int(_TAIL * n))
    return [tail, n // 4, n - 1 - n // 4, n - 1 - tail] if n > 200 else []


def _edges(limits: Limits, whole: bool, bins: int) -> Array:
    """Return the edges of the bins, without long tails, which would squeeze the rest into a single bar."""
    if limits.bounds is None:
        raise RuntimeError("bins are made of numbers that were published")
    low, high = limits.bounds
    if limits.inner:
        near, first, third, far = (min(max(one, low), high) for one in limits.inner)
        if third > first:
            near, far = max(near, first - _REACH * (third - first)), min(far, third + _REACH * (third - first))
        # Short tails are kept.
        low = near if near - low > 0.25 * (far - near) else low
        high = far if high - far > 0.25 * (far - near) else high
    if low == high:
        return np.array(limits.bounds)
    if whole:
        step = max(1, math.ceil((high - low + 1) / bins))
        return np.asarray(low - 0.5 + step * np.arange(math.ceil((high - low + 1) / step) + 1))
    return np.linspace(low, high, bins + 1)


def word_counts(values: Codes, sizes: Array | None = None) -> dict[str, int]:
    """Return in how many rows each word occurs, each of which counts once, or as often as `sizes` says."""
    counts = np.bincount(values.codes + 1, sizes, len(values.levels) + 1)[1:].astype(np.int64)
    here = np.flatnonzero(counts)
    return {values.levels[at]: count for at, count in zip(here.tolist(), counts[here].tolist(), strict=True)}


# --- parts of a table ---


@dataclass
class Cells:
    """How often numbers occur, in order; `add` and `merge` in any order give the same.

    If more than `most` numbers differ, those that agree in all but some last binary digits are one, which is known by
    the lowest number that it may stand for: as few digits as are needed.

    Attributes
    ----------
    keys, counts : int64[m], int64[m]
        Integers in the order of the numbers, ascending.
    dropped : int
        Digits that are left out.
    """

    most: int = MOST_CELLS
    keys: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    counts: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    dropped: int = 0

    def add(self, values: Array, counts: Array) -> None:
        """Add numbers, each of which occurs so often."""
        self._put(_ordered(values) >> self.dropped, counts)

    def merge(self, other: Cells) -> None:
        """Add the counts of other rows."""
        if other.dropped > self.dropped:
            self.keys, self.dropped = self.keys >> (other.dropped - self.dropped), other.dropped
        self._put(other.keys >> (self.dropped - other.dropped), other.counts)

    def _put(self, keys: Array, counts: Array) -> None:
        every = np.concatenate([self.keys, keys])
        self.keys, place = np.unique(every, return_inverse=True)
        self.counts = np.bincount(place, np.concatenate([self.counts, counts]), len(self.keys)).astype(np.int64)
        while len(self.keys) > self.most:
            self.dropped += 1
            self.keys, place = np.unique(self.keys >> 1, return_inverse=True)
            self.counts = np.bincount(place, self.counts).astype(np.int64)

    def at(self, places: list[int]) -> tuple[float, ...]:
        """Return the numbers at some places in the order of all."""
        cells = np.searchsorted(np.cumsum(self.counts), places, "right")
        return tuple(_numbers(self.keys[cells] << self.dropped).tolist())


def _ordered(values: Array) -> Array:
    """Return int64[n]: integers in the order of numbers."""
    bits = (values + 0.0).view(np.int64)  # 0 and -0 are one number
    return np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)


def _numbers(keys: Array) -> Array:
    """Return the numbers of such integers."""
    return np.where(keys < 0, keys ^ np.int64(2**63 - 1), keys).view(np.float64)


@dataclass
class Published:
    """What the groups of a part of a table publish of an attribute; `merge` in any order gives the same.

    Every number is that of a group of at least k rows, so that the lowest is the k-th smallest as well.

    Attributes
    ----------
    number, missing : int
        Rows with a published value, and without.
    low, high : float
    cells : Cells
        Of numbers.
    in_words : bool
        Whether words are published.
    words : {word: rows} or None
        None: more than `MOST_WORDS`.
    """

    number: int = 0
    missing: int = 0
    low: float = math.inf
    high: float = -math.inf
    cells: Cells = field(default_factory=Cells)
    in_words: bool = False
    words: dict[str, int] | None = field(default_factory=dict)

    @classmethod
    def of(cls, after: Values, sizes: Array) -> Published:
        """Return what groups of such sizes publish: one value each."""
        gone = after.missing
        found = cls(int(sizes[~gone].sum()), int(sizes[gone].sum()))
        if isinstance(after, Codes):
            found.in_words, found.words = True, word_counts(after, sizes)
        elif isinstance(after, Numbers) and found.number:
            values = after.values[~gone]
            found.low, found.high = float(values.min()), float(values.max())
            found.cells.add(values, sizes[~gone])
        return found

    def merge(self, other: Published) -> None:
        """Add what other groups publish."""
        self.number, self.missing = self.number + other.number, self.missing + other.missing
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.cells.merge(other.cells)
        if self.words is None or other.words is None:
            self.words = None
            return
        for word, count in other.words.items():
            self.words[word] = self.words.get(word, 0) + count
        if len(self.words) > MOST_WORDS:
            self.words = None

    def limits(self) -> Limits:
        """Return the limits of the numbers."""
        if not self.number:
            return Limits(0, None, ())
        return Limits(self.number, _finite(self.low, self.high), self.cells.at(_places(self.number)))
