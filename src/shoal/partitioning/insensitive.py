"""Groups that hardly change when one record does: cuts of an order that does not depend on the table.

Sources: T = Thaeter (2021), dissertation, 3.3, definition 3.19; Soria-Comas, Domingo-Ferrer, Sánchez, Martínez (2014).

The papers order records by their distance from a corner of their domain, which is `order="distance"`. If the domain has
no corner, a fixed point serves as one. Curves through space keep near records closer together, and lose less.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import numpy as np

from shoal.arrays import Array
from shoal.partitioning.pool import square_distances
from shoal.progress import Progress, silent

Order = Literal["hilbert", "lexicographic", "distance"]

# Cells of the curve along each coordinate: 2^BITS, half of them between -WIDTH and WIDTH.
BITS = 16
WIDTH = 3.0
# The corner lies at -CORNER in every coordinate: beyond nearly all standardised records.
CORNER = 10.0


def insensitive(X: Array, k: int, *, order: Order = "hilbert", report: Progress = silent) -> Array:
    """Sort the records by an order that does not depend on the data, and cut it into groups of k (T definition 3.19).

    The last group takes the rest: k to 2k - 1 records. If one record of the table is replaced by any other, every
    record between the old and the new place moves by one rank, and all others stay. So each group gives away at most
    one record and gets at most one: the groups of the two tables differ in at most one record each.

    `order="hilbert"` follows a Hilbert curve through fixed cells, which are finest around 0 and cover all numbers. It
    is made for coordinates with mean near 0 and deviation near 1. Records in the same cell are sorted by their
    coordinates, the first coordinate first. "lexicographic" sorts by the coordinates alone, and "distance" by the
    distance from a far corner, as in the paper.

    The guarantee is about the coordinates given. `Microaggregator` and `anonymize` scale columns by the mean and the
    deviation of the table, so one record moves the coordinates of all others, and the guarantee is lost.
    `Microaggregator(standardize=False)` keeps it: scale the columns beforehand, by constants that are not taken from
    the table. A refinement of the groups does not keep it.
    """
    n = len(X)
    if order == "hilbert":
        keys = _words(_along_curve(_cells(X), BITS), BITS)
    else:
        keys = [square_distances(X, np.full(X.shape[1], -CORNER))] if order == "distance" else []
    report(0.5)
    labels = np.empty(n, np.int64)
    labels[_sorted([*keys, *X.T])] = np.minimum(np.arange(n) // k, n // k - 1)
    return labels


def along_hilbert_curve(cells: Array, bits: int) -> Array:
    """Return int64[n]: the rows of cells (n, d) of a grid with 2^bits cells a side, in their order on the curve.

    `bits` is at most 16. The curve begins in the cell of zeros, and ends where the first coordinate alone is largest.
    """
    return _sorted(_words(_along_curve([column.astype(np.uint16) for column in cells.T], bits), bits))


def _cells(X: Array) -> list[Array]:
    """Return the cells of the values, one uint16[n] for each column.

    All numbers are mapped into 0 to 1 by operations that are rounded correctly everywhere, so that a value has the same
    cell in every table and on every machine. A logarithm or an exponential would not guarantee that.
    """
    squeezed = (0.5 * (1 + x / (WIDTH + np.abs(x))) for x in X.T)
    return [np.minimum(2.0**BITS * s, 2.0**BITS - 1).astype(np.uint16) for s in squeezed]


def _along_curve(cells: list[Array], bits: int) -> list[Array]:
    """Return the positions of cells on the Hilbert curve (Skilling 2004): d times uint16[n], changed in place.

    The first bits of all coordinates, one after the other, are the first d bits of the position, and so on.
    """
    first, last = cells[0], cells[-1]
    for bit in reversed(range(1, bits)):
        for x in cells:
            # Where the bit is set, the lower bits of the first coordinate are inverted, else swapped with those of x.
            lower = np.uint16(2**bit - 1)
            is_set = -(x >> bit & 1) & lower
            swapped = (first ^ x) & (is_set ^ lower)
            x ^= swapped
            # The first coordinate has nothing to swap with itself.
            first ^= swapped | is_set
    for before, x in pairwise(cells):
        x ^= before
    turned = np.zeros_like(first)
    for bit in range(1, bits):
        turned ^= -(last >> bit & 1) & np.uint16(2**bit - 1)
    for x in cells:
        x ^= turned
    return cells


def _words(places: list[Array], bits: int) -> list[Array]:
    """Return positions on the curve as sort keys, the most significant first: uint64[n] for each 64 bits."""
    all_bits = [(x, bit) for bit in reversed(range(bits)) for x in places]
    words = []
    for start in range(0, len(all_bits), 64):
        word = np.zeros(len(places[0]), np.uint64)
        for x, bit in all_bits[start : start + 64]:
            word <<= np.uint64(1)
            word |= x >> bit & 1
        words.append(word)
    return words


def _sorted(keys: list[Array]) -> Array:
    """Return the rows sorted by the first key, then by the second, and so on, at last by row: int64[n]."""
    rows = np.arange(len(keys[0]))
    # The positions whose order is still open, and which of them are tied with each other.
    at, ties = rows.copy(), np.zeros(len(rows), np.int64)
    for key in keys:
        values = key[rows[at]]
        better = np.lexsort((values, ties))
        rows[at], values = rows[at[better]], values[better]
        apart = (np.diff(ties, prepend=-1) != 0) | np.append(False, values[1:] != values[:-1])
        ties = np.cumsum(apart)
        tied = np.bincount(ties)[ties] > 1
        at, ties = at[tied], ties[tied]
        if len(at) == 0:
            break
    return rows
