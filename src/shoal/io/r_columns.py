"""Columns of a data frame of R as columns of Arrow.

Factors become categories with all their levels, ordered ones in their order; Date and POSIXct become dates and moments;
NA and NaN are missing. What a reader in R can tell apart and the table cannot (NA and NaN, the tags of haven, a level
that is NA) counts when a file is verified.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from shoal.errors import DataError
from shoal.io.r_objects import UnreadableError, Vector, classes, in_words, names_of, texts, vector
from shoal.io.typed import Apart, numbered

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["column", "labels_of"]

_EXACT = 2**53
_DAYS = 2**31  # that a date can be from 1970
_SECONDS = 2**43  # that a moment can be from 1970, in microseconds of 64 bits


def column(
    found: Vector, thing: Any, name: str, encoding: str | None, notes: list[str], apart: Apart
) -> pa.Array | pa.DictionaryArray:
    """Return a column of a data frame.

    Parameters
    ----------
    found, thing : Vector and the object it is from
    name : str
        Of the column.
    encoding : str or None
        Of texts that say none.
    notes, apart
        What the column does not tell is added to them.
    """
    import pyarrow as pa

    own, kinds = found.attributes, classes(found.attributes)
    if "dim" in own or found.kind not in ("LGL", "INT", "REAL", "STR"):
        raise DataError(
            f"A column of a data frame must hold single values. Got {in_words(thing)} in the column {name!r}.",
            "convert it in R, or leave it out; as.POSIXct converts POSIXlt." if "POSIXlt" in kinds else None,
        )
    if "factor" in kinds:
        return _factor(found, name, encoding, apart)
    if found.kind == "STR":
        return _declared_missing(pa.array(texts(found, encoding), pa.string()), found, name, notes, apart)
    if "integer64" in kinds:
        numbers = np.ascontiguousarray(np.ma.getdata(found.values), np.float64).view(np.int64)
        return pa.array(numbers, mask=numbers == np.iinfo(np.int64).min)
    values, missing = np.ma.getdata(found.values), np.ma.getmaskarray(found.values)
    if values.dtype == np.float64:
        missing = np.isnan(values)
        patterns = values[missing].view(np.int64)
        if len(np.unique(patterns)) > 1:
            apart[name] = numbered(np.where(missing, values.view(np.int64), 0).tolist())
    if "Date" in kinds:
        return _dates(values, missing, name, apart)
    if "POSIXct" in kinds:
        return _moments(values, missing, found, name, notes, apart)
    if "difftime" in kinds and "units" in own:
        notes.append(f"column {name!r}: differences of time, read as numbers of {texts(own['units'], encoding)[0]}")
    return _declared_missing(_numbers(values, missing, name), found, name, notes, apart)


def _factor(found: Vector, name: str, encoding: str | None, apart: Apart) -> pa.DictionaryArray:
    import pyarrow as pa

    levels = texts(found.attributes["levels"], encoding)
    missing = np.ma.getmaskarray(found.values)
    codes = np.where(missing, 0, np.ma.getdata(found.values).astype(np.int64) - 1)
    if found.kind != "INT" or len(set(levels)) != len(levels) or ((codes < 0) | (codes >= max(len(levels), 1))).any():
        raise UnreadableError
    if None in levels:
        of_level = (codes == levels.index(None)) & ~missing
        if of_level.any() and missing.any():
            apart[name] = pa.array(np.where(of_level, 1, 0), pa.int32())
        missing = missing | of_level
        codes = codes - (codes > levels.index(None))
        levels.remove(None)
    words = pa.array(levels, pa.string())
    ordered = "ordered" in classes(found.attributes)
    indices = pa.array(np.where(missing, 0, codes).astype(np.int32), mask=missing)
    return pa.DictionaryArray.from_arrays(indices, words, ordered=ordered)


def _numbers(values: Any, missing: Any, name: str) -> pa.Array:
    import pyarrow as pa

    if values.dtype != np.float64:
        return pa.array(values, mask=missing)
    present = values[~missing]
    if np.isinf(present).any():
        raise DataError(f"The numbers of a column must be finite. Got Inf in the column {name!r}.", "make it NA in R.")
    # In R, 1 is a double: whole numbers are read as such, as from text.
    if (present == np.rint(present)).all() and (np.abs(present) <= _EXACT).all():
        return pa.array(np.where(missing, 0, values).astype(np.int64), mask=missing)
    return pa.array(values, mask=missing)


def _dates(values: Any, missing: Any, name: str, apart: Apart) -> pa.Array:
    import pyarrow as pa

    days = np.where(missing, 0, np.floor(np.where(missing, 0, values)))
    if (np.abs(days) >= _DAYS).any():
        raise UnreadableError
    if (days[~missing] != values[~missing]).any() and name not in apart:
        apart[name] = numbered(values.tolist())  # parts of days, which R does not show
    return pa.array(days.astype(np.int32), mask=missing).cast(pa.date32())


def _moments(values: Any, missing: Any, found: Vector, name: str, notes: list[str], apart: Apart) -> pa.Array:
    import pyarrow as pa

    zone = (texts(found.attributes["tzone"], None) or [None])[0] if "tzone" in found.attributes else None
    if not zone or not _known(zone):
        notes.append(f"column {name!r}: moments without a time zone, read as UTC")
        zone = "UTC"
    seconds = np.where(missing, 0, values)
    if not (np.abs(seconds) < _SECONDS).all():
        raise UnreadableError
    # The file has them as floating-point numbers; digits beyond milliseconds are noise.
    thousandths = np.rint(seconds * 1000.0).astype(np.int64)
    if len(np.unique(thousandths)) != len(np.unique(seconds)) and name not in apart:
        apart[name] = numbered(seconds.tolist())
    return pa.array(thousandths, mask=missing).cast(pa.timestamp("ms", zone))


def _known(zone: str) -> bool:
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _declared_missing(array: Any, found: Vector, name: str, notes: list[str], apart: Apart) -> Any:
    """Return a column without the values that haven's labels declare missing, as SPSS does."""
    import pyarrow as pa
    import pyarrow.compute as pc

    own = found.attributes
    declared = pa.array(np.zeros(len(array), bool))
    if "na_values" in own:
        given = vector(own["na_values"])
        values = texts(given, None) if given.kind == "STR" else np.ma.getdata(given.values).tolist()
        declared = pc.is_in(array, value_set=pa.array(values).cast(array.type))
    if "na_range" in own:
        low, high = (pa.scalar(float(end)) for end in vector(own["na_range"]).values)
        inside = pc.and_(pc.greater_equal(array, low), pc.less_equal(array, high))
        declared = pc.or_(declared, pc.fill_null(inside, False))
    lost = pc.sum(declared).as_py()
    if not lost:
        return array
    notes.append(f"column {name!r}: {lost} values that the file declares missing are read as missing, all alike")
    hidden = pc.if_else(declared, array, pa.scalar(None, array.type)).to_pylist()
    before = apart[name].to_pylist() if name in apart else [0] * len(array)
    apart[name] = numbered(zip(hidden, before, strict=True))
    return pc.if_else(declared, pa.scalar(None, array.type), array)


def labels_of(found: Vector, encoding: str | None) -> dict[str, Any]:
    """Return the labels of a variable and of its values, as haven, labelled and Hmisc keep them."""
    own = found.attributes
    result: dict[str, Any] = {}
    if "label" in own and vector(own["label"]).kind == "STR":
        result["label"] = " ".join(text for text in texts(own["label"], encoding) if text)
    if "labels" not in own or "factor" in classes(own):
        return result
    given = vector(own["labels"])
    words = names_of(given.attributes, encoding)
    values = texts(given, encoding) if given.kind == "STR" else _plain(given)
    if len(words) == len(values):
        # Tags of missing values have labels too.
        result["values"] = [[value, word] for value, word in zip(values, words, strict=True) if value is not None]
    return result


def _plain(given: Vector) -> list[Any]:
    """Return numbers, whole ones as such; None where one is missing."""
    if given.kind not in ("INT", "REAL"):
        raise UnreadableError
    numbers = np.ma.getdata(given.values).tolist()
    gaps = np.ma.getmaskarray(given.values)
    return [
        None if gap or x != x else int(x) if float(x).is_integer() else x for x, gap in zip(numbers, gaps, strict=True)
    ]
