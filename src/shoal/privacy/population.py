"""k-map and delta-presence: a release against the table of the population that its records come from.

Both count how many rows of the population a published row may stand for; see :mod:`shoal.privacy.matching`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError, near_names
from shoal.privacy.classes import by_first_row, classes_of, named
from shoal.privacy.matching import Matching, matched
from shoal.privacy.model import TOLERANCE, Model, as_text
from shoal.tables.frames import to_arrow
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.markers import without_markers

# Children of a node in the tree of the population, and pairs of a class and a node that are compared at once.
BELOW, AT_ONCE = 8, 1 << 19
BITS = 20


class Counts(NamedTuple):
    """How many rows of a population match each class of published rows.

    Attributes
    ----------
    classes : int64[n]
        The class of each row, numbered by first appearance.
    sizes : int64[m]
        The number of rows of each class.
    matches : int64[m]
        The number of rows of the population that match each class. Of those that match in the wider sense only, because
        of missing values, no more count than can be members of the class (see :mod:`shoal.privacy.matching`).
    widest : int64[m]
        The number that match in the wider sense.
    unmatched : int
        The number of rows of the population that match no class, not even in the wider sense.
    """

    classes: Array
    sizes: Array
    matches: Array
    widest: Array
    unmatched: int


@dataclass(frozen=True)
class PopulationModel(Model):
    """A model of classes of equal published rows, given how many rows of the population match each."""

    @abstractmethod
    def measure(self, counts: Counts) -> Array:
        """Return float64[m]: the measured value of each class."""

    def unmatched(self, counts: Counts) -> int:
        """Return the number of people who break the model because no class fits them."""
        return 0


@dataclass(frozen=True)
class KMap(PopulationModel):
    """Every published row may stand for at least k rows of the population.

    It protects against finding the record of a person in a sample from knowledge of the population. It does not protect
    people who are known to be in the sample; that takes k-anonymity. Published values must be ranges: intervals, sets,
    ancestors or ``*`` (local or global recoding). A published mean stands for equal numbers only and will hardly match
    anything.

    Monotone where ranges are published: the range of a union contains those of its parts.

    Sweeney, L. (2002): Achieving k-anonymity privacy protection using generalization and suppression. IJUFKS 10(5).
    """

    name: ClassVar[str] = "k-map"
    letter: ClassVar[str] = "k"
    kind: ClassVar[str] = "map"
    k: int

    def __post_init__(self) -> None:
        self._whole("k", 1)

    def explanation(self, attribute: str) -> str:
        """Return what the model ensures."""
        return (
            f"Every published row fits at least {self.k} people of the population. Someone who knows everybody there, "
            "but not who of them is in this table, cannot tell which of these people a row is about."
        )

    def measure(self, counts: Counts) -> Array:
        """Return float64[m]: the number of matching rows of the population."""
        return counts.matches.astype(np.float64)


@dataclass(frozen=True)
class DeltaPresence(PopulationModel):
    """Of the rows of the population that a class may stand for, a share from low to high is in the table.

    It protects against learning whether a person is in the release at all. Published values must be ranges, as for
    k-map.

    As long as classes do not overlap, the share is the chance that somebody whom a class fits is in the table. Where
    they do overlap (local recoding), each class is judged alone. Somebody whom no class fits is certainly not in the
    table: with a lower bound above 0, there must be nobody like that.

    Not monotone: the range of a union may also fit people that fit none of its parts, which lowers the share. Where
    parts overlap, their people are counted once but their rows are added, which raises it.

    Nergiz, M. E., Atzori, M., Clifton, C. (2007): Hiding the presence of individuals from shared databases. SIGMOD.
    """

    name: ClassVar[str] = "delta-presence"
    letter: ClassVar[str] = "high"
    kind: ClassVar[str] = "presence"
    monotone: ClassVar[bool] = False
    rising: ClassVar[bool] = False
    low: float
    high: float

    def __post_init__(self) -> None:
        self._real("high", least=0, most=1)
        self._real("low", least=0, most=self.high)

    @property
    def short(self) -> str:
        """Return the bounds."""
        return f"delta = {as_text(self.low)} to {as_text(self.high)} ({self.kind})"

    def explanation(self, attribute: str) -> str:
        """Return what the model ensures."""
        return (
            f"Of the people whom a published row fits, at least {100 * self.low:.4g} % and at most "
            f"{100 * self.high:.4g} % are in this table. So one can hardly tell whether anybody in the population is "
            "in it or not."
        )

    def measure(self, counts: Counts) -> Array:
        """Return float64[m]: the number of rows of each class, as a share of the matching rows of the population.

        Where values are missing, it is the least share if that is too low.
        """
        sizes, matches = counts.sizes, counts.matches
        too_few = int((matches < sizes).sum())
        if too_few:
            raise DataError(
                "The population must contain all records of the table. Got fewer rows of the population than of the "
                f"table in {too_few} of {len(sizes)} classes.",
                hint="delta-presence needs the table that the records are from, and ranges (not means) in the release.",
            )
        least = sizes / counts.widest
        return np.where(least < self.low - TOLERANCE, least, sizes / matches)

    def unmatched(self, counts: Counts) -> int:
        """Return the number of people whom no class fits, if the lower bound is above 0."""
        return counts.unmatched if self.low > TOLERANCE else 0

    def _outside(self, measured: Array) -> Array:
        return np.maximum(self.low - measured, measured - self.high)

    def allows(self, measured: Array) -> Array:
        """Return bool[m]: whether each share lies between the bounds."""
        within: Array = self._outside(measured) <= TOLERANCE
        return within

    def worst(self, measured: Array) -> int:
        """Return the class that is furthest outside the bounds, or else closest to one."""
        return int(self._outside(measured).argmax())


def population_counts(
    table: Any,
    population: Any,
    quasi_identifiers: Sequence[str] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    *,
    levels: Mapping[str, Sequence[Any]] | None = None,
    text: bool = False,
    decimal: str = ".",
    markers: Mapping[str, Sequence[Any]] | None = None,
) -> Counts:
    """Count the rows of a population that match each class of published rows.

    Where classes overlap, a row of the population may match several of them.

    Parameters
    ----------
    table, population : data frames
        The published table, and the original values of everybody. Both must have the quasi-identifiers.
    quasi_identifiers : names or None
        None: all columns of the table.
    hierarchies : {name: Hierarchy} or None
        For columns whose published values are nodes.
    levels : {name: values} or None
        For ordinal columns, lowest first, whose published values may be intervals of levels.
    text, decimal : bool, str
        Whether to infer types from text, and the decimal mark of numbers in it.
    markers : {name: values} or None
        Values of the population that mean 'missing'.
    """
    names = named(table, quasi_identifiers, "the check against a population")
    known = named(population, None, "the population")
    for name in names:
        if name not in known:
            hint = near_names(name, known, f"it has {len(known)} columns.")
            raise OptionError(f"The population must have the column {name!r}. Got a table without it.", hint=hint)
    ours, theirs = to_arrow(table, "a check", names), to_arrow(population, "a population", names)
    for name in names:
        _refuse_kinds_of_missing(ours.column(name), name)
    matchings = [
        matched(
            ours.column(name),
            without_markers(theirs.column(name), (markers or {}).get(name, ()), decimal),
            name,
            hierarchy=(hierarchies or {}).get(name),
            levels=(levels or {}).get(name, ()),
            text=text,
            decimal=decimal,
        )
        for name in names
    ]
    classes, first = by_first_row(classes_of(ours, names))
    sizes = np.bincount(classes)
    strict, unmatched = _counted(matchings, first)
    if all(one.wider is None for one in matchings):
        return Counts(classes, sizes, strict, strict, unmatched)
    widest, unmatched = _counted([one if one.wider is None else one.wider for one in matchings], first)
    # At most half of the members of a class have a value where it publishes none, and fewer have none where it
    # publishes a value.
    half = [np.where(one.missing[first], sizes, sizes - 1) // 2 for one in matchings if one.wider is not None]
    return Counts(classes, sizes, np.minimum(widest, strict + np.sum(half, axis=0)), widest, unmatched)


def _refuse_kinds_of_missing(column: Any, name: str) -> None:
    """Refuse a published column with null and NaN: whoever knows which is which would match fewer people."""
    import pyarrow as pa

    if pa.types.is_floating(column.type) and 0 < column.null_count < len(column):
        present = column.drop_null().to_numpy()
        if np.isnan(present).any():
            raise DataError(
                f"The column {name!r} must have one kind of missing value to be matched with a population. Got null "
                "and NaN, which a reader can tell apart.",
                hint="make all of them null.",
            )


# --- counting: how many points lie in boxes whose sides are a few ranges ---


class _Level(NamedTuple):
    """A level of a tree over the population: boxes around nodes of the level below. The points are the lowest level."""

    lows: Array  # int64[nodes, d]: the least code below each node
    highs: Array  # int64[nodes, d]: the greatest code
    rows: Array  # int64[nodes]: rows of the population below each


class _Side(NamedTuple):
    """The ranges of each class in one attribute."""

    lows: Array  # int64[m]: of the first range
    highs: Array  # int64[m]: of the last one, exclusive
    values: Array  # int64[m]: the published value
    many: bool  # whether a value has several ranges
    begins: Array  # int64[r]: value and low of each range in one number, rising
    ends: Array  # int64[r]: value and high
    width: int

    def narrowness(self) -> float:
        """Return how often the range of codes must be halved to reach the width of a typical class."""
        return float(-np.log2(np.clip((self.highs - self.lows) / self.width, 1 / self.width, 1)).mean())

    def touch(self, classes: Array, lows: Array, highs: Array) -> Array:
        """Return bool[p]: whether codes from lows to highs may be in a range of a class."""
        touching: Array = (self.lows[classes] <= highs) & (lows < self.highs[classes])
        return touching

    def contain(self, classes: Array, lows: Array, highs: Array) -> Array:
        """Return bool[p]: whether all codes from lows to highs are in one range of a class."""
        if not self.many:
            inside: Array = (self.lows[classes] <= lows) & (highs < self.highs[classes])
            return inside
        base = self.values[classes] * self.width
        at = np.searchsorted(self.begins, base + lows, side="right") - 1
        inside = (at >= 0) & (base + highs < self.ends[at])  # ranges of other values end before the base
        return inside


def _counted(matchings: list[Matching], first: Array) -> tuple[Array, int]:
    """Return int64[m], the number of rows of the population that match each class, and the number that match none.

    The first row of each class is given.

    All classes go down a tree of the population together. A node inside a class is counted, a node that does not touch
    it is dropped, and any other node is replaced by its children.
    """
    sides = [_side(one, one.published[first]) for one in matchings]
    levels = _tree(matchings, [side.narrowness() for side in sides])
    counts = np.zeros(len(first), np.int64)
    found = [np.zeros(len(level.rows), bool) for level in levels]
    top = len(levels) - 1
    nodes = np.arange(len(levels[top].rows))
    width = max(1, AT_ONCE // len(nodes))
    stack = [
        (
            top,
            np.repeat(np.arange(a, min(a + width, len(first))), len(nodes)),
            np.tile(nodes, min(width, len(first) - a)),
        )
        for a in range(0, len(first), width)
    ]
    while stack:
        height, classes, nodes = stack.pop()
        level = levels[height]
        inside = np.ones(len(classes), bool)
        for j, side in enumerate(sides):
            kept = side.touch(classes, level.lows[nodes, j], level.highs[nodes, j])
            classes, nodes, inside = classes[kept], nodes[kept], inside[kept]
            inside &= side.contain(classes, level.lows[nodes, j], level.highs[nodes, j])
        counts += np.bincount(classes[inside], level.rows[nodes[inside]], len(counts)).astype(np.int64)
        found[height][nodes[inside]] = True
        if height > 0:
            _descend(stack, height - 1, classes[~inside], nodes[~inside], len(levels[height - 1].rows))
    for height in range(top, 0, -1):
        found[height - 1] |= np.repeat(found[height], BELOW)[: len(found[height - 1])]
    return counts, int(levels[0].rows[~found[0]].sum())


def _descend(stack: list[Any], height: int, classes: Array, nodes: Array, count: int) -> None:
    """Push the pairs of classes and child nodes onto the stack, in pieces of bounded size."""
    for start in range(0, len(nodes), AT_ONCE // BELOW):
        piece = slice(start, start + AT_ONCE // BELOW)
        below = (nodes[piece, None] * BELOW + np.arange(BELOW)).ravel()
        exists = below < count
        stack.append((height, np.repeat(classes[piece], BELOW)[exists], below[exists]))


def _side(matching: Matching, values: Array) -> _Side:
    owners = matching.owners
    total = max(int(matching.published.max()), int(owners.max(initial=0))) + 1
    width = matching.codes + 1
    lows, highs = np.full(total, width), np.zeros(total, np.int64)
    np.minimum.at(lows, owners, matching.lows)
    np.maximum.at(highs, owners, matching.highs)
    many = bool((np.bincount(owners, minlength=1) > 1).any())
    begins, ends = owners * width + matching.lows, owners * width + matching.highs
    return _Side(lows[values], highs[values], values, many, begins, ends, width)


def _tree(matchings: list[Matching], narrowness: list[float]) -> list[_Level]:
    """Return the distinct rows of the population, along a curve that keeps near rows together, and the nodes above."""
    keys = np.zeros(len(matchings[0].population), np.int64)
    for one in matchings:
        keys = np.unique(keys * one.codes + one.population, return_inverse=True)[1]
    _, first, rows = np.unique(keys, return_index=True, return_counts=True)
    points = np.column_stack([one.population[first] for one in matchings])
    order = np.argsort(_curve(points, [one.codes for one in matchings], narrowness), kind="stable")
    points = points[order]
    levels = [_Level(points, points, rows[order])]
    while len(levels[-1].rows) > BELOW:
        starts = np.arange(0, len(levels[-1].rows), BELOW)
        below = levels[-1]
        levels.append(
            _Level(
                np.minimum.reduceat(below.lows, starts),
                np.maximum.reduceat(below.highs, starts),
                np.add.reduceat(below.rows, starts),
            )
        )
    return levels


def _curve(points: Array, codes: list[int], narrowness: list[float]) -> Array:
    """Return int64[n]: the bits of the coordinates interleaved, highest first (Z-order).

    Bits of coordinates in which classes are narrow come earlier, so that nodes become narrow in the same coordinates.
    """
    turns = sorted((bit - narrow, j, bit) for j, narrow in enumerate(narrowness) for bit in range(BITS))
    keys = np.zeros(len(points), np.int64)
    scaled = [(points[:, j] << BITS) // count for j, count in enumerate(codes)]
    for _, j, bit in turns[:62]:
        keys = (keys << 1) | ((scaled[j] >> (BITS - 1 - bit)) & 1)
    return keys
