"""Cells of a coarse grid that does not depend on the table: attributes with an order in a few ranges."""

from __future__ import annotations

import math

import numpy as np

from shoal.arrays import Array
from shoal.dp.domain import Coded, Domain


def coarse_sizes(domain: Domain, bins: int) -> tuple[int, ...]:
    """Return into how many cells each attribute is cut: `bins` if it has an order and as many values, else each."""
    return tuple(min(bins, one.size) if one.ordered else one.size for one in domain.columns.values())


def cells_of(coded: Coded, sizes: tuple[int, ...]) -> Array:
    """Return int64[n]: the cell of each record, numbered with the last attribute fastest."""
    found = np.zeros(len(coded.codes), np.int64)
    for column, full, size in zip(coded.codes.T, coded.domain.sizes, sizes, strict=True):
        found = found * size + column * size // full
    return found


def bounds(domain: Domain, sizes: tuple[int, ...], cells: Array) -> tuple[Array, Array]:
    """Return the first and last position of each of these cells in each attribute: int64[m, d] twice."""
    places = np.stack(np.unravel_index(cells, sizes), axis=1) if len(cells) else np.empty((0, len(sizes)), np.int64)
    full, size = np.array(domain.sizes), np.array(sizes)
    # The positions p with p * size // full == place.
    return -(-places * full // size), -(-(places + 1) * full // size) - 1


def number_of(sizes: tuple[int, ...]) -> int:
    """Return how many cells there are."""
    return math.prod(sizes)
