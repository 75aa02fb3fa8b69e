"""Hashes of values and of rows: the same on every machine, in every process and however a table is cut into pieces.

Two values have the same hash if every reader of the table sees them as equal (as in `shoal.privacy.classes`): null and
NaN differ, and so do the bit patterns of NaN, and 0 and -0. Different values have different hashes nearly always, which
is all that is asked here: rows are spread over parts of a table by their hashes, and compared by their values there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import Array

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["hashes_of", "mixed", "row_hashes"]

_NULL = np.uint64(0x9E3779B97F4A7C15)
_BASE = 0xD1342543DE82EF95  # odd, so that it has an inverse
_INVERSE = pow(_BASE, -1, 2**64)
_PIECE = 2**20  # bytes of text that are looked at together


def row_hashes(table: pa.Table | pa.RecordBatch, names: Sequence[str]) -> Array:
    """Return uint64[n]: equal numbers for rows with equal values in these columns."""
    rows = np.zeros(table.num_rows, np.uint64)
    for name in names:
        rows = mixed(rows * np.uint64(0x2545F4914F6CDD1D) + hashes_of(table.column(name)))
    return rows


def hashes_of(column: Any) -> Array:
    """Return uint64[n]: equal numbers for values of a column (an array or chunked array) that are equal."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        return np.concatenate([hashes_of(chunk) for chunk in column.chunks] or [np.zeros(0, np.uint64)])
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    kind = column.type
    if pa.types.is_dictionary(kind):
        of_words = np.append(hashes_of(column.dictionary), _NULL)
        codes = column.indices.fill_null(len(column.dictionary)) if column.indices.null_count else column.indices
        return of_words[np.asarray(codes.to_numpy(zero_copy_only=False), np.int64)]
    hashes = mixed(_bits(column))
    if column.null_count:
        hashes[np.asarray(column.is_null().to_numpy(zero_copy_only=False))] = _NULL
    return hashes


def mixed(numbers: Array) -> Array:
    """Return uint64[n]: numbers whose bits depend on all bits of the given ones (the finalizer of splitmix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(numbers ^ (numbers >> np.uint64(31)))


def _bits(column: Any) -> Array:
    """Return uint64[n]: a number for each value, different for different ones; anything where it is null."""
    import pyarrow as pa

    kind, n = column.type, len(column)
    if pa.types.is_null(kind) or n == 0:
        return np.zeros(n, np.uint64)
    if pa.types.is_boolean(kind):
        column, kind = column.cast(pa.uint8()), pa.uint8()
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _of_bytes(column, np.int32)
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return _of_bytes(column, np.int64)
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return _of_bytes(column.cast(pa.large_binary()), np.int64)
    try:
        width = kind.bit_width // 8
    except ValueError:
        return _of_words(column)
    data = column.buffers()[1]
    if data is None or pa.types.is_nested(kind) or width == 0:
        return _of_words(column)
    if width in (1, 2, 4, 8):
        return np.frombuffer(data, f"u{width}", n, column.offset * width).astype(np.uint64)
    parts = np.frombuffer(data, np.uint8, n * width, column.offset * width).reshape(n, width)
    padded = np.zeros((n, -(-width // 8) * 8), np.uint8)
    padded[:, :width] = parts
    hashes = np.zeros(n, np.uint64)
    for part in padded.view(np.uint64).T:
        hashes = mixed(hashes + part)
    return hashes


def _of_bytes(column: Any, kind: type) -> Array:
    """Return the hashes of texts: the values of polynomials whose coefficients are their bytes, with their lengths."""
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, kind, len(column) + 1, column.offset * np.dtype(kind).itemsize).astype(np.int64)
    content = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    hashes = np.empty(len(column), np.uint64)
    at = 0
    while at < len(column):
        until = max(at + 1, int(np.searchsorted(ends, ends[at] + _PIECE, side="right")) - 1)
        start, stop = ends[at], ends[until]
        text = content[start:stop].astype(np.uint64) + np.uint64(1)
        powers = _powers(_BASE, len(text) + 1)
        sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(text * powers[:-1], dtype=np.uint64)))
        first, last = ends[at:until] - start, ends[at + 1 : until + 1] - start
        value = (sums[last] - sums[first]) * _powers(_INVERSE, len(text) + 1)[first]
        hashes[at:until] = mixed(value) + (last - first).astype(np.uint64)
        at = until
    return hashes


_tables: dict[int, Array] = {}


def _powers(base: int, count: int) -> Array:
    """Return uint64[count]: powers of a number, modulo 2**64; kept for the next call."""
    known = _tables.get(base)
    if known is None or len(known) < count:
        factors = np.full(max(count, _PIECE + 2**16), base, np.uint64)
        factors[0] = 1
        known = np.cumprod(factors, dtype=np.uint64)
        if len(known) <= 2 * _PIECE:
            _tables[base] = known
    return known[:count]


def _of_words(column: Any) -> Array:
    """Return the hashes of lists and structures, by how they are written."""
    import pyarrow as pa

    written = (f"{type(value).__name__} {value!r}" for value in column.to_pylist())
    return _of_bytes(pa.array([one.encode("utf-8", "surrogatepass") for one in written], pa.large_binary()), np.int64)
