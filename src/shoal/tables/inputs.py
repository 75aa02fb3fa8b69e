"""Reading what the measures of risk are given: columns, weights, and the names of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError, near_names
from shoal.tables.frames import names_of, to_arrow


def chosen(table: Any, wanted: Any, option: str, caller: str) -> list[str]:
    """Return the names of columns of a table: those that are wanted, which must exist and be different.

    Parameters
    ----------
    table : data frame
    wanted : str or names
    option : str
        The name of the parameter, for messages.
    caller : str
        The name of the function, for messages.
    """
    known = names_of(table, caller)
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    if not names:
        raise OptionError(f"The {option!r} of {caller} must name at least one column. Got none.")
    for name in names:
        if name not in known:
            hint = near_names(name, known, f"it has {len(known)} columns.")
            raise OptionError(f"The table of {caller} has no column {name!r}.", hint=hint)
    if len(set(names)) < len(names):
        raise OptionError(f"The {option!r} of {caller} must be different columns. Got one of them twice.")
    return names


def columns(table: Any, names: Sequence[str], caller: str) -> dict[str, Any]:
    """Return {name: pyarrow.ChunkedArray} of some columns of a data frame, which must have rows."""
    arrow = to_arrow(table, caller, list(names))
    return {name: arrow.column(name) for name in names}


def codes_of(column: Any, name: str) -> tuple[Array, int]:
    """Return int64[n], equal numbers 0, 1, .. for equal values, -1 where missing; and how many values there are.

    NaN counts as missing, and 0 and -0 are equal.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_null(column.type):
        return np.full(len(column), -1, np.int64), 0
    if pa.types.is_floating(column.type):
        column = column.cast(pa.float64())
        column = pc.if_else(pc.is_nan(column), None, pc.add(column, 0.0))
    try:
        encoded = pc.dictionary_encode(column).combine_chunks()
    except pa.ArrowNotImplementedError:
        raise DataError(
            f"The column {name!r} must hold single values. Got a column of type {column.type}.",
            hint="leave it out, or convert it.",
        ) from None
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, len(encoded.dictionary)


def together(ours: Any, theirs: Any, name: str) -> Any:
    """Return the values of a column of two tables, one after the other; they must be of one kind."""
    import pyarrow as pa
    import pyarrow.compute as pc

    both = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in (ours, theirs)
    ]
    kinds = [column.type for column in both]
    if kinds[0] != kinds[1]:
        shared = _shared(kinds)
        if shared is None:
            raise DataError(
                f"The column {name!r} must hold values of one kind in both tables. Got {kinds[0]} and {kinds[1]}.",
                hint="published ranges and sets are texts: they cannot be compared with numbers or dates.",
            )
        both = [pc.cast(column, shared, safe=False) for column in both]
    return pa.chunked_array([chunk for column in both for chunk in column.chunks], both[0].type)


def _shared(kinds: Sequence[Any]) -> Any:
    """Return the type that two different types of values have in common, None if they have none."""
    import pyarrow as pa

    def numeric(kind: Any) -> bool:
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))

    def textual(kind: Any) -> bool:
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))

    def dated(kind: Any) -> bool:
        return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))

    present = [kind for kind in kinds if not pa.types.is_null(kind)]
    if len(present) == 1:
        return present[0]
    for of_kind, shared in ((numeric, pa.float64()), (textual, pa.large_string()), (dated, pa.timestamp("us"))):
        if all(of_kind(kind) for kind in kinds):
            return shared
    return None


def column_of(table: Any, given: Any, option: str, records: int, caller: str) -> Any:
    """Return a column of a table by its name, or values that are given as such, one for each record."""
    import pyarrow as pa

    if isinstance(given, str):
        return columns(table, chosen(table, given, option, caller), caller)[given]
    try:
        column = pa.chunked_array([pa.array(given, from_pandas=True)])
    except (pa.ArrowException, TypeError, ValueError):
        raise OptionError(f"The {option!r} of {caller} must name a column, or hold values of one type.") from None
    if len(column) != records:
        raise DataError(
            f"The {option!r} of {caller} must have a value for each of the {records} records. Got {len(column)}."
        )
    return column


def weights_of(table: Any, given: Any, records: int, caller: str) -> Array:
    """Return float64[n]: the sampling weights in a column, or given as such, which must be finite and above 0."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = column_of(table, given, "weight", records, caller)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)):
        raise DataError(f"The 'weight' of {caller} must hold numbers. Got {column.type}.")
    weights = np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)
    bad = int((~(np.isfinite(weights) & (weights > 0))).sum())
    if bad:
        raise DataError(
            f"The weights of {caller} must be numbers above 0. Got {bad} that are missing, infinite, 0 or less.",
            hint="a record of weight 0 stands for nobody: leave it out.",
        )
    return weights


def fraction_of(value: Any, option: str, caller: str, *, most: float = 1.0) -> float:
    """Return a number above 0 and up to `most`."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < float(value) <= most:
        raise OptionError(f"The {option!r} of {caller} must be above 0 and at most {most:g}. Got {value!r}.")
    return float(value)


def count_of(value: Any, option: str, caller: str, *, least: int = 1, most: int | None = None) -> int:
    """Return a whole number from `least` to `most`."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        bound = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise OptionError(f"The {option!r} of {caller} must be a whole number {bound}. Got {value!r}.")
    return int(value)


def choice_of(value: Any, option: str, caller: str, choices: Sequence[str]) -> str:
    """Return one of the choices."""
    if value not in choices:
        listed = " or ".join(map(repr, choices))
        raise OptionError(f"The {option!r} of {caller} must be {listed}. Got {value!r}.")
    return str(value)
