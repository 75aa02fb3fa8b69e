"""Decoding columns into values, and encoding what groups publish as columns.

Columns are Arrow arrays, to which the columns of every data frame are converted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError
from shoal.tables import texts
from shoal.tables.calendar import completed
from shoal.tables.dates import in_universal_time
from shoal.tables.digit_dates import as_texts, kind_of, of_digits
from shoal.tables.levels import decode_levels
from shoal.tables.notation import Notation, is_text, trimmed
from shoal.tables.numerals import Numeral, plain_numbers, rounded
from shoal.tables.values import Chosen, Computed, Numbers, Places, Rows, Values

# Double precision cannot distinguish larger integers, and larger numbers overflow when squared.
LARGEST_INTEGER = 2**53
LARGEST = 1e150
MOST_DIGITS = 12
# The units of time stamps that are longer than a microsecond.
MICROSECONDS = {"s": 1_000_000, "ms": 1_000}


def infer(
    column: Any, *, text: bool, decimal: str, name: str, thousands: str | None = None, counts: Array | None = None
) -> tuple[str, str]:
    """Return the kind of a column, and a note that explains a kind which may surprise.

    If the column holds the different values of a larger one, `counts` int64[n] says how often each occurs there.
    """
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return ("ordinal", "ordered categories") if kind.ordered else ("nominal", "")
    if is_text(kind):
        return texts.infer(column, decimal, name, thousands, counts) if text else ("nominal", "")
    if pa.types.is_boolean(kind):
        return "boolean", ""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        numbers = floats(column)
        here = ~np.isnan(numbers)
        present = numbers[here]
        whole = bool((present == np.rint(present)).all())
        pattern = of_digits(present, name, None if counts is None else counts[here]) if whole else None
        if pattern is not None:
            return kind_of(pattern), f"digits read as dates of the form {pattern}"
        if pa.types.is_integer(kind):
            return "integer", ""
        return ("integer", "whole numbers, with gaps") if whole and len(present) < len(numbers) else ("continuous", "")
    if pa.types.is_decimal(kind):
        return "continuous", ""
    if pa.types.is_date(kind):
        return "date", ""
    if pa.types.is_timestamp(kind):
        return ("date", "all at midnight") if _whole_days(column) else ("datetime", "")
    if pa.types.is_null(kind):
        return "nominal", "no values"
    raise DataError(
        f"A quasi-identifier must hold numbers, texts, booleans or dates. The column {name!r} holds {kind}.",
        hint="convert it, or give it another role.",
    )


def _whole_days(column: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.type.tz is not None or column.null_count == len(column):
        return False
    days = pc.cast(pc.cast(column, pa.date32(), safe=False), column.type)
    return bool(pc.all(pc.equal(days, column)).as_py())


def decode(
    column: Any,
    kind: str,
    *,
    text: bool = False,
    decimal: str = ".",
    digits: int | None = None,
    pattern: str = "",
    levels: Sequence[Any] = (),
    name: str = "",
    thousands: str | None = None,
    clipped: bool = False,
) -> tuple[Values, Notation]:
    """Return the values of a column, and how it writes them.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
    kind : str
        Any but "place".
    text : bool
        Whether numbers and dates are read from text.
    decimal : str
    digits, pattern : int or None, str
        As declared; otherwise as in the column.
    levels : values
        The levels of an ordinal attribute, lowest first.
    name : str
        For messages.
    thousands : str or None
        The mark between thousands in text, if it is declared.
    clipped : bool
        Whether numbers that are infinite or too large are moved to the largest that is not, in place of an error.
    """
    import pyarrow as pa

    writing = Notation(column.type, text and is_text(column.type), decimal, digits, pattern)
    if kind in ("nominal", "ordinal", "hierarchical", "boolean"):
        return decode_levels(column, kind, levels, name), writing
    if pa.types.is_null(column.type):
        return Numbers(np.full(len(column), np.nan)), writing
    if kind == "date":
        return _dates(column, writing, name)
    if kind == "datetime":
        return _times(column, writing, name)
    return decode_numbers(column, writing, kind, name, thousands, clipped=clipped)


def decode_again(column: Any, kind: str, writing: Notation, name: str) -> Values:
    """Return the values of a column that was written in a known notation."""
    if is_text(column.type) and writing.text:
        dated = kind in ("date", "datetime")
        if kind == "datetime" and writing.suffix.strip() in ("+00:00", "+0000"):
            # Perhaps of several time zones in the whole table, also if these rows have one.
            local, ahead = in_universal_time(trimmed(column))
            return Numbers(_moments_again(local, writing, name) - ahead)
        numeral = Numeral("" if dated else writing.thousands, "" if dated else writing.prefix, writing.suffix)
        column = plain_numbers(column, "." if dated else writing.decimal, numeral)
        if kind == "datetime":
            return Numbers(_moments_again(column, writing, name))
    return decode(column, kind, text=writing.text, pattern=writing.pattern, name=name)[0]


def _moments_again(column: Any, writing: Notation, name: str) -> Array:
    """Return texts of moments as microseconds; some may leave out what others of the table have."""
    again = Notation(column.type, True, pattern=writing.pattern)
    try:
        return texts.to_moments(column, again, name)[0]
    except DataError:
        return texts.to_moments(completed(trimmed(column), writing.pattern), again, name)[0]


def decode_numbers(
    column: Any, writing: Notation, kind: str, name: str, thousands: str | None = None, *, clipped: bool = False
) -> tuple[Numbers, Notation]:
    """Return the numbers of a continuous or integer column, and how it writes them."""
    import pyarrow as pa
    import pyarrow.types as pt

    digits = writing.digits
    if is_text(column.type):
        numbers, places, numeral, style = texts.to_numbers(column, writing.decimal, name, thousands)
        digits = places if digits is None else digits
        style |= {"inner"} if numeral.inner else set()
        writing = writing._replace(text=True, style=style, thousands=numeral.thousands)
        writing = writing._replace(prefix=numeral.prefix, suffix=numeral.suffix)
    elif any(test(column.type) for test in (pt.is_integer, pt.is_floating, pt.is_decimal, pt.is_null)):
        numbers = floats(column)
    else:
        raise _wrong_type(name, kind, column.type)
    if clipped:
        numbers = np.clip(numbers, -LARGEST, LARGEST)
    check_numbers(numbers, kind, name)
    if pa.types.is_decimal(column.type):
        digits = column.type.scale if digits is None else min(digits, column.type.scale)
    elif digits is None and kind == "continuous" and not writing.text:
        digits = _decimal_places(numbers, single=pa.types.is_float32(column.type))
    if kind == "integer" and not writing.text:
        digits = 0
    return Numbers(numbers), writing._replace(digits=digits)


def typed(column: Any, decimal: str, name: str) -> Any:
    """Return a text column converted to the type inferred from it, or as it is if that is text or not clear."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        kind = texts.infer(column, decimal, name)[0]
        if kind == "boolean":
            return pc.equal(pc.utf8_lower(trimmed(column)), "true")
        if kind == "nominal":
            return column
        values, writing = decode(column, kind, text=True, decimal=decimal, name=name)
    except DataError:
        return column
    if writing.prefix or (writing.suffix and kind != "date"):
        return column  # a number would lose its currency, and a moment its time zone
    types = {
        "integer": pa.int64(),
        "continuous": pa.float64(),
        "date": pa.date32(),
        "datetime": pa.timestamp("us"),
    }
    rows = np.arange(len(column))
    # As they are: digits of numbers with exponents are not decimal places.
    return _computed(values.values, rows, kind, Notation(types[kind]))  # type: ignore[union-attr]


def decode_place(latitude: Array, longitude: Array, names: tuple[str, str]) -> Places:
    """Return two columns of degrees as places; a place is missing if either of its values is."""
    degrees = np.column_stack([latitude, longitude])
    degrees[np.isnan(degrees).any(axis=1)] = np.nan
    for at, (name, most) in enumerate(zip(names, (90, 180), strict=True)):
        outside = int((np.abs(degrees[:, at]) > most).sum())
        if outside:
            raise DataError(
                f"The column {name!r} must hold degrees from -{most} to {most}. Got {outside} others.",
                hint="a place is a pair of latitude and longitude, in this order.",
            )
    return Places(degrees)


def floats(column: Any) -> Array:
    """Return float64[n]: the numbers of a column, NaN where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_decimal(column.type):
        column = pc.cast(column, pa.string())  # Arrow multiplies by 0.01, which makes -22.40 a number below -22.4
    return np.array(pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)


def _decimal_places(numbers: Array, *, single: bool) -> int | None:
    """Return how many decimal places numbers, of `single` precision or not, have; None if more than `MOST_DIGITS`."""
    present = numbers[np.isfinite(numbers)]

    def are_rounded(some: Array, digits: int) -> bool:
        nearest = rounded(some.astype(np.float32).astype(str).astype(np.float64) if single else some, digits)
        return bool((nearest.astype(np.float32) == some if single else nearest == some).all())

    for digits in range(MOST_DIGITS + 1):
        if are_rounded(present[:1000], digits) and are_rounded(present, digits):
            return digits
    return None


def check_numbers(numbers: Array, kind: str, name: str) -> None:
    """Refuse numbers that an attribute of this kind cannot hold."""
    infinite = int(np.isinf(numbers).sum())
    if infinite:
        raise DataError(
            f"The column {name!r} must hold finite numbers. Got {infinite} that are infinite.",
            hint="correct them, or declare them with missing_values.",
        )
    largest = float(np.abs(numbers[~np.isnan(numbers)]).max(initial=0.0))
    if kind == "integer" and largest > LARGEST_INTEGER:
        raise DataError(
            f"The column {name!r} holds whole numbers beyond 2^53, which look like identifiers.",
            hint="make it an identifier, which is dropped, or declare its type as 'nominal'.",
        )
    if largest > LARGEST:
        raise DataError(f"The column {name!r} must hold numbers up to 1e150. Got larger ones.")
    if kind == "integer" and not (np.isnan(numbers) | (numbers == np.rint(numbers))).all():
        raise DataError(
            f"The column {name!r} must hold whole numbers, as declared. Got others.", hint="declare it 'continuous'."
        )


def _dates(column: Any, writing: Notation, name: str) -> tuple[Numbers, Notation]:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        days, writing = texts.to_dates(*_digit_texts(column, "date", writing, name), name)
        return Numbers(days), writing._replace(style=frozenset())
    if is_text(kind):
        days, writing = texts.to_dates(column, writing, name)
        return Numbers(days), writing
    if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        raise _wrong_type(name, "date", kind)
    days = floats(pc.cast(pc.cast(column, pa.date32(), safe=False), pa.int32()))
    return Numbers(days), writing


def _digit_texts(column: Any, kind: str, writing: Notation, name: str) -> tuple[Any, Notation]:
    """Return dates or moments that a column of numbers holds as digits, such as 19860328, as texts."""
    numbers = floats(column)
    present = numbers[~np.isnan(numbers)]
    whole = bool((present == np.rint(present)).all())
    pattern = writing.pattern or (of_digits(present, name) if whole else None)
    if pattern is None or not whole:
        raise _wrong_type(name, kind, column.type)
    return as_texts(numbers, pattern), writing._replace(pattern=pattern)


def _times(column: Any, writing: Notation, name: str) -> tuple[Numbers, Notation]:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        column, writing = _digit_texts(column, "datetime", writing, name)
        kind = column.type
    if is_text(kind):
        read, writing = texts.to_moments(column, writing, name)
        return Numbers(read), writing
    if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        raise _wrong_type(name, "datetime", kind)
    zone = getattr(kind, "tz", None)
    if getattr(kind, "unit", "") == "ns":
        # The microsecond that a moment lies in, as it is written: Arrow would cut towards 1970.
        whole = pc.fill_null(pc.cast(column, pa.int64()), 0).to_numpy() // 1000
        moments = Numbers(np.where(pc.is_null(column).to_numpy(), np.nan, whole))
    else:
        moments = Numbers(floats(pc.cast(pc.cast(column, pa.timestamp("us", zone), safe=False), pa.int64())))
    if not writing.pattern and (moments.values[~moments.missing] % 1_000_000).any():
        writing = writing._replace(pattern="%Y-%m-%d %H:%M:%S.%f" + (" UTC" if zone else ""))
    return moments, writing


def _wrong_type(name: str, kind: str, actual: Any) -> DataError:
    return DataError(
        f"The column {name!r} must hold values of a {kind} attribute. It holds {actual}.",
        hint="leave its type to be inferred, or declare another one.",
    )


def encode(chosen: Chosen, labels: Array, column: Any, kind: str, writing: Notation) -> Any:
    """Return the published column: for every row, what its group publishes.

    The type is that of the original column, unless groups publish text in place of other values.
    """
    import pyarrow as pa

    if isinstance(chosen, Rows):
        rows = chosen.rows[labels]
        return column.take(pa.array(rows, mask=rows < 0))
    if isinstance(chosen, Computed) and pa.types.is_null(writing.type):
        return pa.chunked_array([pa.nulls(len(labels))])
    if isinstance(chosen, Computed):
        return _computed(chosen.numbers, labels, kind, writing)
    dictionary = pa.array(chosen.texts, writing.type if is_text(writing.type) else pa.string())
    return pa.chunked_array([dictionary.take(pa.array(labels))])


def _computed(numbers: Array, labels: Array, kind: str, writing: Notation) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = np.isnan(numbers)
    filled = np.where(missing, 0.0, numbers)
    if writing.text:
        words = pa.array(texts.writer(kind, writing)(filled), mask=missing, type=pa.string()).cast(writing.type)
        return pa.chunked_array([words.take(pa.array(labels))])
    if writing.digits is not None:
        filled = rounded(filled, writing.digits) + 0.0
    if kind in ("integer", "date", "datetime"):
        whole = pa.array(np.rint(filled).astype(np.int64), mask=missing)
        if kind == "integer":
            # Not directly to decimals, which would need room for any int64.
            values = pc.cast(whole if pa.types.is_integer(writing.type) else whole.cast(pa.float64()), writing.type)
        elif kind == "date":
            values = pc.cast(pc.cast(pc.cast(whole, pa.int32()), pa.date32()), writing.type, safe=False)
        else:
            zone, unit = getattr(writing.type, "tz", None), MICROSECONDS.get(getattr(writing.type, "unit", ""), 1)
            # Rounded to the unit of the column: casting would cut off.
            nearest = pa.array(np.rint(filled / unit).astype(np.int64) * unit, mask=missing)
            values = pc.cast(pc.cast(nearest, pa.timestamp("us", zone)), writing.type, safe=False)
    else:
        values = pc.cast(pa.array(filled, mask=missing), writing.type, safe=False)
    return pa.chunked_array([values.take(pa.array(labels))])
