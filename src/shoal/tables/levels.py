"""Decoding columns of categories and levels into codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.errors import DataError, OptionError
from shoal.tables.notation import is_text
from shoal.tables.values import Codes


def decode_levels(column: Any, kind: str, levels: Sequence[Any], name: str) -> Codes:
    """Return the codes of a column of categories, and its levels: as declared, or as they are sorted.

    Categories have an order only if they say so: otherwise it may be that of the alphabet, or of the first rows.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = column
    given: list[str] = [_word(level) for level in levels]
    if pa.types.is_dictionary(column.type):
        plain = column.cast(column.type.value_type)
        if kind == "ordinal" and not given and column.type.ordered:
            given = [_word(level) for level in column.chunk(0).dictionary.to_pylist()] if column.num_chunks else []
    if pa.types.is_null(plain.type):  # Arrow cannot encode it if there are no rows
        plain = plain.cast(pa.string())
    numeric = pa.types.is_integer(plain.type) or pa.types.is_floating(plain.type) or pa.types.is_boolean(plain.type)
    if pa.types.is_floating(plain.type):
        plain = plain.cast(pa.float32()) if pa.types.is_float16(plain.type) else plain
        # NaN is not a level, and 0 and -0 are the same one.
        plain = pc.if_else(pc.is_nan(plain), None, pc.add(plain, pa.scalar(0.0, plain.type)))
    encoded = pc.dictionary_encode(plain)
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    values = encoded.dictionary.drop_null().to_pylist()
    codes = (
        pc.fill_null(pc.if_else(plain.is_null(), None, encoded.indices), -1)
        .to_numpy(zero_copy_only=False)
        .astype(np.int64)
    )
    words = values if is_text(plain.type) else [_word(level) for level in values]
    if len(set(words)) < len(words):
        raise DataError(f"The column {name!r} holds different values that are written alike.")
    if kind == "boolean" and len(words) > 2:
        raise DataError(
            f"A boolean attribute must have two values. Got {len(words)} in the column {name!r}.",
            hint=f"pass types={{{name!r}: 'nominal'}}, or declare what stands for a missing value.",
        )
    if kind == "ordinal" and not given:
        if not numeric and not all(_is_number(word) for word in words):
            raise OptionError(
                f"An ordinal attribute must have its levels in order. Got none for the column {name!r}.",
                hint=f"pass levels={{{name!r}: [lowest, .., highest]}}.",
            )
        given = [words[p] for p in sorted(range(len(values)), key=lambda p: float(values[p]))]
    if kind != "ordinal" and is_text(plain.type):
        # By code points, as Python sorts; Arrow is quicker, and most of these columns have many levels.
        order = pc.sort_indices(encoded.dictionary.drop_null()).to_numpy()
        new = np.full(len(order) + 1, -1, np.int64)
        new[order] = np.arange(len(order))
        return Codes(new[codes], tuple(words[p] for p in order.tolist()))
    if kind != "ordinal":
        given = sorted(words)
    if len(set(given)) < len(given):
        raise OptionError(f"The levels of the column {name!r} must be different.")
    place = {level: p for p, level in enumerate(given)}
    unknown = [p for p, word in enumerate(words) if word not in place]
    if unknown:
        rows = int(np.isin(codes, unknown).sum())
        raise DataError(
            f"The column {name!r} must hold its levels only. Got others in {rows} rows.",
            hint="add them to its levels, or declare what stands for a missing value.",
        )
    new = np.array([place[word] for word in words] + [-1], np.int64)
    return Codes(new[codes], tuple(given))


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    # Some data frames turn integers with missing values into floats: 2.0 is the level 2.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
