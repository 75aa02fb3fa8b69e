"""What the report of a table in parts compares: its groups before and after, counted part by part as in memory.

Groups are kept as `Pairs` when they publish. Once all of them have, the windows in which attributes are shown follow
from what they publish, and the pairs are counted within these. What is told of the counts is decided where it is for
memory, in :mod:`shoal.release.report.comparison`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import Array
from shoal.engines.layout import Layout, numpy_of
from shoal.release.report.comparison import Comparison, Counted, Largest, Measured, compared
from shoal.release.report.windows import Published, Window, numbers_of, words_of
from shoal.tables.values import Codes, Numbers, Values

__all__ = ["Pairs", "told", "windows_of", "with_published"]


@dataclass(frozen=True)
class Pairs:
    """Whole groups before and after.

    Attributes
    ----------
    labels : int32[n]
        The group of each row: 0, 1, ..
    before : for each quasi-identifier, float64[n] or int32[n]
        As in a values table.
    after : for each quasi-identifier, Numbers or Codes
        What each group publishes; without the levels of codes if they are those of the layout.
    """

    labels: Array
    before: tuple[Array, ...]
    after: tuple[Values, ...]

    @classmethod
    def of(cls, values: object, measured: Sequence[Measured], labels: Array, layout: Layout) -> Pairs:
        """Return the groups of a values table, given what their rows publish."""
        first = np.unique(labels, return_index=True)[1]
        after = tuple(_taken(one.after, first, part.levels) for one, part in zip(measured, layout.parts, strict=True))
        before = tuple(numpy_of(values, f"q{at}") for at in range(len(layout.parts)))
        return cls(labels.astype(np.int32), before, after)

    def published(self, layout: Layout) -> list[Published]:
        """Return what the groups publish of each quasi-identifier."""
        sizes = np.bincount(self.labels)
        return [Published.of(one, sizes) for one in self._after(layout)]

    def rows(self, layout: Layout) -> list[Measured]:
        """Return each quasi-identifier before and after, row by row as in memory."""
        measured = []
        for part, x, after in zip(layout.parts, self.before, self._after(layout), strict=True):
            before = Codes(x.astype(np.int64), part.levels) if part.coded else Numbers(x)
            measured.append(Measured(part.name, part.attribute.kind, before, _taken(after, self.labels)))
        return measured

    def _after(self, layout: Layout) -> list[Values]:
        return [
            Codes(one.codes, part.levels) if isinstance(one, Codes) and not one.levels else one
            for one, part in zip(self.after, layout.parts, strict=True)
        ]

    def pieces(self, rows: int) -> Iterator[Pairs]:
        """Yield these groups in pieces of about so many rows."""
        starts = np.append(0, np.cumsum(np.bincount(self.labels)))
        order = np.argsort(self.labels, kind="stable")
        firsts = np.flatnonzero(np.diff((starts[1:] - 1) // rows, prepend=-1))
        for first, last in zip(firsts, [*firsts[1:], len(starts) - 1], strict=True):
            own = order[starts[first] : starts[last]]
            before = tuple(x[own] for x in self.before)
            after = tuple(_taken(x, np.arange(first, last)) for x in self.after)
            yield Pairs((self.labels[own] - first).astype(np.int32), before, after)

    def counted(self, windows: Sequence[Window], layout: Layout) -> Counted:
        """Return the rows counted within windows."""
        counted = Counted(windows)
        counted.add(self.rows(layout))
        return counted

    def largest(self, counted: Counted, layout: Layout) -> Largest:
        """Return how much of a figure of the whole table one of these groups makes up."""
        largest = Largest(counted)
        largest.add(self.rows(layout), self.labels)
        return largest


def _taken(values: Values, rows: Array, known: tuple[str, ...] = ()) -> Values:
    """Return some rows of values; without their levels if these are known."""
    if isinstance(values, Codes):
        return Codes(values.codes[rows], () if values.levels is known else values.levels)
    if isinstance(values, Numbers):
        return Numbers(values.values[rows])
    raise RuntimeError("tables in parts have no places")


def with_published(one: list[Published], other: list[Published]) -> list[Published]:
    """Return what the groups of two parts publish together."""
    if not one:
        return other
    for own, more in zip(one, other, strict=True):
        own.merge(more)
    return one


def windows_of(published: Sequence[Published], layout: Layout) -> list[Window]:
    """Return how attributes are shown, by what all groups publish."""
    windows = []
    for part, one in zip(layout.parts, published, strict=True):
        name, kind = part.name, part.attribute.kind
        if one.in_words:
            windows.append(words_of(name, kind, one.words, one.missing, part.levels if part.coded else None))
        else:
            k = layout.plan.k
            windows.append(numbers_of(name, kind, one.limits(), one.missing, layout.rows, k, related=True))
    return windows


def told(counted: Counted, parts: Iterable[Largest], layout: Layout, most: int) -> Comparison:
    """Return what the report tells, given the counts of all rows, and what was found of all groups."""
    largest = Largest(counted)
    for part in parts:
        largest.merge(part)
    return compared(counted, largest, rows=layout.rows, k=layout.plan.k, most=most)
