"""Columns that are published as they are, and whose values single most records out by themselves.

A stream keeps the smallest hashes of the values of a column, with how often each occurs. If a column has few different
values, these are all of them; otherwise they are a sample, by which the number of values that occur once is estimated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.engines.hashing import hashes_of, mixed
from shoal.privacy.whole import FEW_ROWS, NEARLY

# Different values of a column that are kept: shares have a standard error of less than 1 %.
MOST = 4096


@dataclass
class Lone:
    """The values of one column; whatever the order and the pieces of its rows, the same are kept.

    Attributes
    ----------
    hashes, counts : uint64[m] (ascending), int64[m]
        Of the different values with the smallest hashes.
    all : bool
        Whether these are all values.
    """

    hashes: Array = field(default_factory=lambda: np.zeros(0, np.uint64))
    counts: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    all: bool = True

    def add(self, column: Any) -> None:
        """Add some rows of the column."""
        found = mixed(hashes_of(column))
        if not self.all:
            found = found[found <= self.hashes[-1]]
        new, times = np.unique(found, return_counts=True)
        hashes, place = np.unique(np.concatenate([self.hashes, new]), return_inverse=True)
        counts = np.bincount(place, np.concatenate([self.counts, times])).astype(np.int64)
        self.all = self.all and len(hashes) <= MOST
        self.hashes, self.counts = hashes[:MOST], counts[:MOST]

    @property
    def rows(self) -> int:
        """Return how many rows have a value of their own, estimated if there are many values."""
        once = int((self.counts == 1).sum())
        if self.all:
            return once
        different = (MOST - 1) / (float(self.hashes[-1]) / 2.0**64)
        return round(different * once / MOST)


@dataclass
class Lones:
    """Some columns of a table that is read in pieces."""

    columns: dict[str, Lone]
    rows: int = 0

    def watched(self, tables: Iterable[Any]) -> Iterator[Any]:
        """Yield tables as they are, and count."""
        for table in tables:
            self.rows += table.num_rows
            for name, one in self.columns.items():
                one.add(table.column(name))
            yield table

    @property
    def words(self) -> list[str]:
        """Return the warning, if there is one."""
        if self.rows < FEW_ROWS:
            return []
        alone = {name: min(one.rows, self.rows) for name, one in self.columns.items()}
        alone = {name: count for name, count in alone.items() if count >= NEARLY * self.rows}
        return list(said_of(alone, self.rows, about={name for name in alone if not self.columns[name].all}))


def said_of(alone: Mapping[str, int], rows: int, about: Iterable[str] = ()) -> Iterator[str]:
    """Yield the warning of columns whose values nearly all differ, with how many records have one of their own."""
    if alone:
        some = {name: "about " if name in set(about) else "" for name in alone}
        counts = ", ".join(f"{name!r} ({some[name]}{count:,} of {rows:,} records)" for name, count in alone.items())
        yield (
            f"Published unchanged, with values that nearly all differ: {counts}. Whoever knows such a value finds the "
            "record. Make it coarser, group on it, or drop it."
        )
