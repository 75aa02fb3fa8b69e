"""The three forms of values inside Shoal, and what groups publish in place of values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import Array


class Numbers(NamedTuple):
    """Values of a continuous, integer, date or datetime attribute.

    Dates are days, datetimes are microseconds since 1970-01-01.
    """

    values: Array  # float64[n], NaN where missing

    @property
    def missing(self) -> Array:
        """Return bool[n]: whether the value is missing."""
        return np.isnan(self.values)


class Codes(NamedTuple):
    """Values of a nominal, ordinal, boolean or hierarchical attribute."""

    codes: Array  # int64[n], positions in levels, -1 where missing
    levels: tuple[str, ...]  # in their order if the attribute is ordinal

    @property
    def missing(self) -> Array:
        """Return bool[n]: whether the value is missing."""
        return self.codes < 0


class Places(NamedTuple):
    """Values of a pair of columns: places on the globe."""

    degrees: Array  # float64[n, 2]: latitude and longitude, NaN in both where missing

    @property
    def missing(self) -> Array:
        """Return bool[n]: whether the value is missing."""
        return np.isnan(self.degrees[:, 0])


Values = Numbers | Codes | Places


class Groups(NamedTuple):
    """A partition, with the rows sorted by group."""

    labels: Array  # int64[n], 0 .. m - 1
    order: Array  # int64[n], the rows sorted by group; rows of a group keep their order
    starts: Array  # int64[m + 1]: group g has order[starts[g] : starts[g + 1]]

    @property
    def sizes(self) -> Array:
        """Return int64[m]: number of rows of each group."""
        return np.diff(self.starts)


def grouped(labels: Array) -> Groups:
    """Return the groups of labels 0 .. m - 1."""
    sizes = np.bincount(labels)
    return Groups(labels, np.argsort(labels, kind="stable"), np.concatenate(([0], np.cumsum(sizes))))


class Computed(NamedTuple):
    """What groups publish: computed numbers, such as means."""

    numbers: Array  # float64[m], or float64[m, 2] for places; NaN: missing


class Rows(NamedTuple):
    """What groups publish: the value of one of their own rows."""

    rows: Array  # int64[m]; -1: missing


class Texts(NamedTuple):
    """What groups publish: texts, such as intervals or nodes of a hierarchy."""

    texts: tuple[str | None, ...]  # one for each group; None: missing


Chosen = Computed | Rows | Texts
