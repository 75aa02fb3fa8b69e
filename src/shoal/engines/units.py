"""Units of a table that is read in pieces: a number for each, the same in all pieces."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.engines.hashing import hashes_of
from shoal.errors import DataError
from shoal.tables.notation import is_text
from shoal.tables.spelling import as_read


def unit_numbers(column: Any, name: str, decimal: str) -> Array:
    """Return int64[n]: equal numbers for rows of one unit, whose texts are compared as a person reads them.

    Different units have the same number hardly ever. If they do, they count as one, so k holds all the same.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0.0, column.type))  # turns -0 into 0
    missing = int(pc.sum(pc.is_null(column, nan_is_null=True)).as_py() or 0)
    if not is_text(column.type):
        numbers = hashes_of(column)
    else:
        encoded = pc.dictionary_encode(column)
        encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
        read = [as_read(text, decimal) for text in encoded.dictionary.to_pylist()]
        of_words = np.append(hashes_of(pa.array(read, pa.string())), np.uint64(0))
        empty = np.array([not text for text in read] + [True], bool)
        codes = encoded.indices.fill_null(len(read)).to_numpy(zero_copy_only=False)
        numbers, missing = of_words[codes], int(empty[codes].sum())
    if missing:
        raise DataError(f"The unit {name!r} must be known for every row. Got {missing} missing.")
    return np.asarray(numbers).view(np.int64)
