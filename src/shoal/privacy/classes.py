"""Classes of rows that are alike: numbers for equal values, and for rows with equal values in some columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError, near_names
from shoal.tables.frames import names_of
from shoal.tables.spelling import read_as_one, said


def classes_of(table: Any, names: Sequence[str]) -> Array:
    """Return int64[n]: the class of each row. Rows with equal values in all columns are in one class."""
    classes = np.zeros(table.num_rows, np.int64)
    count = 1
    for name in names:
        classes, count = refined(classes, codes_of(table.column(name)), count)
    return classes


def refined(classes: Array, codes: Array, count: int | None = None) -> tuple[Array, int]:
    """Return int64[n], `count` classes whose rows also have equal codes, and the number of them."""
    count = int(classes.max()) + 1 if count is None else count
    if count * (int(codes.max()) + 1) > 2**62:
        raise DataError("There are too many different values to compare.")
    return _renumbered(classes * (int(codes.max()) + 1) + codes)


def codes_of(column: Any) -> Array:
    """Return int64[n]: equal numbers for values that every reader of the table sees as equal.

    Null and NaN are different, and so are the bit patterns of NaN, and 0 and -0, which are printed differently.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        numbers = np.ascontiguousarray(column.to_numpy())
        null = np.asarray(column.is_null().to_numpy(), np.int64)
        bits = _renumbered(numbers.view(f"i{numbers.itemsize}"))[0]
        return _renumbered(np.where(null, -1, bits))[0]
    try:
        encoded = pc.dictionary_encode(column)
    except pa.ArrowNotImplementedError:
        raise DataError(
            f"Columns to compare must hold single values. Got a column of type {column.type}.",
            hint="name the quasi-identifiers, or leave that column out.",
        ) from None
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    codes = pc.fill_null(encoded.indices, len(encoded.dictionary))
    return np.array(codes.to_numpy(zero_copy_only=False), np.int64)


def told_apart(table: Any, names: Sequence[str], apart: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """Return a pyarrow.Table and names of columns in which rows differ wherever the original values differ.

    Parameters
    ----------
    table : pyarrow.Table
    names : names
        The columns to compare.
    apart : {name: pyarrow.Array}
        Numbers for columns in which different values were read as one, such as a number and its text: rows of one value
        with different numbers had different values.
    """
    import pyarrow as pa

    strict = list(names)
    for name in names:
        if name in apart:
            # A type that nothing takes for a number or a text, under a name that no column has.
            added = f"{name}\0"
            table = table.append_column(added, apart[name].cast(pa.string()).cast(pa.binary()))
            strict.append(added)
    return table, strict


class Units(NamedTuple):
    """The units (persons, households, ..) of rows.

    Attributes
    ----------
    codes : int64[n]
        Rows of one unit have the same number. Rows without a unit are one unit together: they may all be of one person.
    missing : int
        The number of rows without a unit.
    note : str
        What must be said: texts that count as one unit, because a person reads them as one. Empty if there are none.
    """

    codes: Array
    missing: int
    note: str = ""


def units_of(column: Any, name: str, decimal: str = ".") -> Units:
    """Return the units of a column. Unlike values that are published, they are compared as a person reads them."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        numbers = np.array(column.to_numpy(), np.float64) + 0.0  # turns -0 into 0
        absent = np.isnan(numbers)
        codes = _renumbered(np.where(absent, 0.0, numbers))[0]
        return _units(codes, absent)
    absent = np.array(column.is_null().to_numpy(), bool)
    codes = codes_of(column)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return _units(codes, absent)
    kinds, first = np.unique(codes, return_index=True)
    texts = column.take(pa.array(first)).to_pylist()
    read = read_as_one(["" if text is None else text for text in texts], decimal)
    written, units = len(kinds) - int(absent.any()), len(np.unique(read[read >= 0]))
    note = said(name, written, units, "units") if units < written else ""
    return _units(read[codes], read[codes] < 0, note)


def _units(codes: Array, absent: Array, note: str = "") -> Units:
    return Units(_renumbered(np.where(absent, -1, codes))[0], int(absent.sum()), note)


def _renumbered(keys: Array) -> tuple[Array, int]:
    """Return int64[n], equal numbers for equal keys without gaps, and how many there are. Hashing beats sorting."""
    import pyarrow as pa
    import pyarrow.compute as pc

    encoded = pc.dictionary_encode(pa.array(keys))
    return encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary)


def by_first_row(classes: Array) -> tuple[Array, Array]:
    """Return int64[n], the classes numbered by first appearance, and int64[m], their first rows."""
    _, first, place = np.unique(classes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(first), np.int64)
    rank[order] = np.arange(len(first))
    return rank[place], first[order]


def named(table: Any, wanted: Any, caller: str, without: Sequence[str] = ()) -> list[str]:
    """Return the wanted column names, which must exist; None stands for all columns except `without`."""
    known = names_of(table, caller)
    names = [name for name in known if name not in without] if wanted is None else wanted
    names = [names] if isinstance(names, str) else list(names)
    for name in names:
        if name not in known:
            hint = near_names(name, known, f"it has {len(known)} columns.")
            raise OptionError(f"The table has no column {name!r}.", hint=hint)
    if not names:
        raise OptionError("At least one quasi-identifier must be named. Got none.")
    return names
