"""What the report of a release of Spark compares: passes over the pairs that its tasks have left beside the rows."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from shoal.engines.comparing import Pairs, told, windows_of, with_published
from shoal.engines.layout import Layout
from shoal.engines.spark_frames import FAN, PAIRS, Frame, found
from shoal.release.report.comparison import Comparison, Counted, Largest
from shoal.release.report.windows import Published

# Blocks whose pairs one task looks at, one after the other: each takes it less time than to begin.
BLOCKS = 16


@dataclass
class Publishing:
    """What all groups publish."""

    layout: Layout
    parts: list[Published] = field(default_factory=list)

    def add(self, table: Any) -> None:
        """Add pairs, a pyarrow.Table."""
        for pairs in _unpacked(table):
            self.parts = with_published(self.parts, pairs.published(self.layout))

    def merge(self, other: Publishing) -> None:
        """Add what other groups publish."""
        self.parts = with_published(self.parts, other.parts)


@dataclass
class Counting:
    """Rows counted within windows."""

    layout: Layout
    counted: Counted

    def add(self, table: Any) -> None:
        """Add pairs, a pyarrow.Table."""
        for pairs in _unpacked(table):
            self.counted.add(pairs.rows(self.layout))

    def merge(self, other: Counting) -> None:
        """Add the counts of other rows."""
        self.counted.merge(other.counted)


@dataclass
class Weighing:
    """How much of a figure the group with the largest part makes up."""

    layout: Layout
    largest: Largest

    def add(self, table: Any) -> None:
        """Add pairs, a pyarrow.Table."""
        for pairs in _unpacked(table):
            self.largest.add(pairs.rows(self.layout), pairs.labels)

    def merge(self, other: Weighing) -> None:
        """Add what was found of other groups."""
        self.largest.merge(other.largest)


def _unpacked(table: Any) -> Iterator[Pairs]:
    for one in table.column(PAIRS):
        yield pickle.loads(one.as_py())


def comparison_of(kept: Any, slots: int, layout: Layout, most: int) -> Comparison:
    """Return what the report tells of the rows that were made.

    Parameters
    ----------
    kept : pyspark.sql.DataFrame
        Has pairs in some of its rows.
    slots : int
        Its partitions.
    layout : Layout
    most : int
        The largest number of digits of a figure of the originals.
    """
    pairs = Frame(kept.select(PAIRS).dropna().coalesce(max(FAN, slots // BLOCKS)))
    published = found(pairs, Publishing(layout), [PAIRS], 1).parts
    counted = found(pairs, Counting(layout, Counted(windows_of(published, layout))), [PAIRS], 1).counted
    largest = [found(pairs, Weighing(layout, Largest(counted)), [PAIRS], 1).largest] if most else []
    return told(counted, largest, layout, most)
