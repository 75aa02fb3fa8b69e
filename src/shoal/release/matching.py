"""Matches the rows of a finished release with those of the original: by a key, or by their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError
from shoal.io import Source


def rows_of(
    original: Source, release: Source, key: str | None, changed: Sequence[str], *, shuffled: bool, notes: list[str]
) -> Array | None:
    """Return int64[m], the row of the original for each row of a release; None if they are the same, in order.

    Parameters
    ----------
    original, release : Source
    key : name or None
        A column with a different value in each row.
    changed : names
        The columns that a release changes; the others show whether the order is the same.
    shuffled : bool
        Whether the certificate of the release says that its rows were shuffled.
    notes : list of str
        What the reader must know is added to it.
    """
    if key is not None:
        return _by_key(original, release, key)
    theirs, ours = release.table.num_rows, original.table.num_rows
    if theirs != ours:
        raise DataError(
            f"A release must have as many rows as the original to be matched by their order. Got {theirs} rows in "
            f"{release.name} for {ours}.",
            "name a column that both have and that differs in every row (key, --key).",
        )
    hint = "name a column that both have and that differs in every row (key, --key)."
    if shuffled:
        raise DataError(
            f"The rows of a release must be in the order of the original to be matched. Got {release.name}, whose "
            "certificate says that they were shuffled.",
            hint,
        )
    confirmed = False
    for name in original.table.column_names:
        if name in changed or name not in release.table.column_names:
            continue
        before, after = _texts(original.table.column(name)), _texts(release.table.column(name))
        if before.equals(after):
            confirmed = confirmed or _differ(before)
        elif _sorted(before).equals(_sorted(after)):
            raise DataError(
                f"The rows of a release must be in the order of the original to be matched. Got {release.name} with "
                f"the values of {name!r} in another order.",
                hint,
            )
    if not confirmed:
        notes.append("its rows were matched by their order, which no unchanged column confirms")
    return None


def _by_key(original: Source, release: Source, key: str) -> Array:
    import pyarrow.compute as pc

    if key not in release.table.column_names:
        raise OptionError(f"The key must be a column of every release. Got none {key!r} in {release.name}.")
    before, after = _texts(original.table.column(key)), _texts(release.table.column(key))
    for values, name in ((before, original.name), (after, release.name)):
        repeated = len(values) - pc.count_distinct(values).as_py()
        if values.null_count or repeated:
            raise DataError(
                f"The key must have a different value in each row. Got {values.null_count} missing and {repeated} "
                f"repeated ones in {name}."
            )
    rows = pc.index_in(after, value_set=before)
    if rows.null_count:
        raise DataError(
            f"Every row of a release must be one of the original. Got {rows.null_count} rows in {release.name} whose "
            "key the original does not have."
        )
    return np.asarray(rows.to_numpy(zero_copy_only=False), np.int64)


def _texts(column: Any) -> Any:
    """Return a column as it would be written to a text file, in one piece."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        return column.cast(pa.string()).combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(len(column), pa.string())  # nested values, which nothing here compares


def _differ(texts: Any) -> bool:
    import pyarrow.compute as pc

    return bool(pc.count_distinct(texts).as_py() > 1)


def _sorted(texts: Any) -> Any:
    import pyarrow.compute as pc

    return texts.take(pc.array_sort_indices(texts))
