"""Files of Stata, SPSS and SAS, with the labels of variables and values.

In these formats an empty text is a missing one, and is read as such. Values that the file declares missing (SPSS) and
the extended missing values of Stata and SAS are read as missing; a note gives their number. Which of them it was is not
passed on, but it counts when a file is verified.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, OptionError
from shoal.io.files import sha256_of
from shoal.io.formats import needed
from shoal.io.labels import KEY, field_labels, labelled
from shoal.io.source import Expected, Reading, Source, Writing
from shoal.io.typed import Apart, column, finer, numbered, plain

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read", "write"]

_READERS = {
    "stata": "read_dta",
    "spss": "read_sav",
    "spss-portable": "read_por",
    "sas": "read_sas7bdat",
    "sas-transport": "read_xport",
}
_WITH_USER_MISSING = ("stata", "spss", "sas")
_INTEGERS = {"int8": "int8", "int16": "int16", "int32": "int32"}
_MOST = 2**53
_BLOCK = 4096
_INT32 = 2**31 - 1 - 27  # Stata uses the largest integers for missing values


def read(job: Reading) -> Source:
    """Read a file of a statistics package."""
    import pyarrow as pa

    package = needed("pyreadstat", "statistics", "files of Stata, SPSS and SAS")
    digest = sha256_of(job.path)
    options: dict[str, Any] = {"output_format": "dict"}
    if job.format in _WITH_USER_MISSING:
        options["user_missing"] = True
    try:
        data, meta = getattr(package, _READERS[job.format])(str(job.path), **options)
    except Exception:  # pyreadstat's errors derive from Exception, and so do those of dates out of range
        raise DataError(
            f"The file {job.name} must be a complete {job.format} file. Got one that is damaged or of another format."
        ) from None
    notes: list[str] = []
    arrays, fields = [], []
    apart: Apart = {}
    for name, values in data.items():
        array = _array(list(values), name, meta, notes, apart)
        arrays.append(array)
        fields.append(labelled(pa.field(name, array.type), _labels(name, meta)))
    if meta.notes:
        notes.append(f"documents: {len(meta.notes)} lines of notes inside the file are not passed on")
    if meta.file_label:
        notes.append("label of the file: not passed on")
    job.progress(1.0)
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    compression = "zsav" if job.suffix == ".zsav" else None
    return Source(table, False, job.format, None, digest, job.name, tuple(notes), compression, apart)


def _array(values: list[Any], name: str, meta: Any, notes: list[str], apart: Apart) -> pa.Array:
    import pyarrow as pa

    kind = meta.readstat_variable_types.get(name)
    values = _without_user_missing(values, name, meta, notes, apart)
    if kind == "string":
        return pa.array([None if value == "" else value for value in values], pa.string())
    kinds = {type(value) for value in values if value is not None}
    if datetime.datetime in kinds:
        # The file has them as floating-point numbers; digits beyond milliseconds are noise.
        moments = pa.array([_milliseconds(value) for value in values], pa.timestamp("ms"))
        differing = finer(pa.chunked_array([[None if value is None else str(value) for value in values]]), moments)
        if differing is not None and name not in apart:
            apart[name] = differing
        return moments
    if kinds and kinds <= {datetime.date, datetime.time}:
        return column(values, name, notes, {})
    if kind in _INTEGERS:
        return pa.array(values, pa.type_for_alias(_INTEGERS[kind]))
    whole = _whole_format(meta.original_variable_types.get(name))
    if whole and all(value is None or (float(value).is_integer() and abs(value) <= _MOST) for value in values):
        return pa.array([None if value is None else int(value) for value in values], pa.int64())
    return pa.array(values, pa.float64())


def _milliseconds(value: Any) -> int | None:
    if value is None:
        return None
    moment = value if isinstance(value, datetime.datetime) else datetime.datetime.combine(value, datetime.time())
    return round((moment - datetime.datetime(1970, 1, 1)) / datetime.timedelta(milliseconds=1))


def _whole_format(shown_as: str | None) -> bool:
    """Return whether SPSS shows a variable without decimals: F8.0, but neither F8.2 nor DATE11."""
    return shown_as is not None and shown_as[:1] == "F" and shown_as[1:].partition(".")[2] in ("", "0")


def _without_user_missing(values: list[Any], name: str, meta: Any, notes: list[str], apart: Apart) -> list[Any]:
    """Return values, with None for those that the file declares missing; which they were is added to `apart`."""
    ranges = meta.missing_ranges.get(name, [])
    tags = set(meta.missing_user_values.get(name, []))
    if not ranges and not tags:
        return values

    def declared(value: Any) -> bool:
        if value is None:
            return False
        if value in tags:
            return True
        for limit in ranges:
            low, high = (limit["lo"], limit["hi"]) if isinstance(limit, dict) else (limit, limit)
            if isinstance(value, str) == isinstance(low, str) and low <= value <= high:
                return True
        return False

    kept = [None if declared(value) else value for value in values]
    lost = sum(value is not None for value in values) - sum(value is not None for value in kept)
    if lost:
        notes.append(f"column {name!r}: {lost} values that the file declares missing are read as missing, all alike")
        apart[name] = numbered(value if now is None else "" for value, now in zip(values, kept, strict=True))
    return kept


def _labels(name: str, meta: Any) -> dict[str, Any]:
    measure = meta.variable_measure.get(name)
    return {
        "label": meta.column_names_to_labels.get(name),
        "values": [[value, label] for value, label in meta.variable_value_labels.get(name, {}).items()],
        "format": meta.original_variable_types.get(name),
        "measure": None if measure == "unknown" else measure,
        "missing": meta.missing_ranges.get(name),
    }


def write(table: pa.Table, job: Writing) -> Expected:
    """Write a Stata, SPSS or SAS transport file with labels."""
    package = needed("pyreadstat", "statistics", "files of Stata, SPSS and SAS")
    polars = needed("polars", "statistics", "files of Stata, SPSS and SAS")
    if job.format not in _WRITERS:
        raise OptionError(
            f"The target must be of a format that can be written. Got {job.format}, which can only be read.",
            "write .xpt for SAS and .sav for SPSS.",
        )
    notes: list[str] = []
    wanted = _fitting(plain(table, job.format), job, notes)
    like = job.like.table.schema if job.like is not None else None
    same_family = job.like is not None and job.like.format == job.format
    labels = {name: field_labels(wanted, name, like) for name in wanted.column_names}
    options: dict[str, Any] = {
        "column_labels": {name: own["label"] for name, own in labels.items() if own.get("label")},
        "variable_format": _formats(wanted, labels, same_family, job.format),
    }
    if job.format in ("stata", "spss"):
        options["variable_value_labels"] = _value_labels(wanted, labels, notes)
    if job.format == "spss":
        options["compress"] = job.suffix == ".zsav"
        options["variable_measure"] = {name: own["measure"] for name, own in labels.items() if own.get("measure")}
    writer: Callable[..., None] = getattr(package, _WRITERS[job.format])
    try:
        writer(polars.from_arrow(wanted.replace_schema_metadata(None)), str(job.path), **options)
    except OSError:
        raise
    except Exception as error:
        _require_room(job.path)
        raise _refused(error, job) from None
    _require_room(job.path)
    job.progress(1.0)
    return Expected(wanted, tuple(notes))


_WRITERS = {"stata": "write_dta", "spss": "write_sav", "sas-transport": "write_xport"}


def _require_room(path: Path) -> None:
    """Raise OSError if the disk takes no more; ReadStat does not say why it failed, or even that it did."""
    with open(path, "r+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        file.write(bytes(_BLOCK))
        os.fsync(file.fileno())
        file.truncate(size)


def _refused(error: Exception, job: Writing) -> DataError:
    """Return the error for a table that the format cannot hold; only messages about variable names are passed on."""
    message = str(error)
    about_names = message.startswith("variable name") or type(error).__name__ == "ReadstatError"
    reason = message.rstrip(".") if about_names else "a refusal"
    return DataError(
        f"The table must be one that a {job.format} file can hold. Got: {reason}; nothing was left behind.",
        "names begin with a letter, have no spaces and at most 32 letters; long texts are refused too.",
    )


def _formats(table: pa.Table, labels: dict[str, dict[str, Any]], same_family: bool, format: str) -> dict[str, str]:
    """Return the display formats: those of the original file, for columns whose type is still the same."""
    import pyarrow as pa

    formats = {}
    for field in table.schema:
        known = labels[field.name].get("format")
        temporal = pa.types.is_temporal(field.type)
        was_temporal = known is not None and any(
            mark in known for mark in ("%t", "DATE", "TIME", "MOYR", "QYR", "WKYR")
        )
        if same_family and known and not pa.types.is_string(field.type) and temporal == was_temporal:
            formats[field.name] = known
        elif format == "spss" and pa.types.is_integer(field.type):
            formats[field.name] = "F12.0"
    return formats


def _value_labels(table: pa.Table, labels: dict[str, dict[str, Any]], notes: list[str]) -> dict[str, dict[Any, str]]:
    import pyarrow as pa

    kept = {}
    fitting: dict[Any, str]
    for field in table.schema:
        pairs = labels[field.name].get("values", [])
        if pa.types.is_integer(field.type):
            fitting = {int(v): t for v, t in pairs if not isinstance(v, str) and float(v).is_integer()}
        elif pa.types.is_floating(field.type):
            fitting = {float(v): t for v, t in pairs if not isinstance(v, str)}
        elif pa.types.is_string(field.type):
            fitting = {v: t for v, t in pairs if isinstance(v, str)}
        else:
            fitting = {}
        if fitting:
            kept[field.name] = fitting
        if len(fitting) < len(pairs):
            notes.append(
                f"column {field.name!r}: {len(pairs) - len(fitting)} labels of values do not fit its type and are lost"
            )
    return kept


def _fitting(table: pa.Table, job: Writing, notes: list[str]) -> pa.Table:
    for position, field in enumerate(table.schema):
        values = _fitted(table.column(position), field.name, job.format, notes)
        table = table.set_column(position, field.with_type(values.type), values)
    if set(table.schema.metadata or {}) - {KEY}:
        notes.append("metadata of the schema that is not about labels is lost")
    return table


def _fitted(values: Any, name: str, format: str, notes: list[str]) -> Any:
    """Return a column in a type that the format can hold."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_string(kind):
        trimmed = values if format == "stata" else pc.utf8_rtrim(values, " ")
        if not trimmed.equals(values):
            notes.append(f"column {name!r}: spaces at the end of texts are lost")
            values = trimmed
        if pc.any(pc.equal(values, "")).as_py():
            notes.append(f"column {name!r}: empty texts became missing values, as the format has no empty texts")
            return pc.if_else(pc.fill_null(pc.equal(values, ""), False), pa.scalar(None, kind), values)
        return values
    if pa.types.is_boolean(kind):
        notes.append(f"column {name!r}: true and false became 1 and 0")
        return values.cast(pa.int32())
    if pa.types.is_integer(kind):
        ends = pc.min_max(values).as_py()
        most = max(abs(ends["min"] or 0), abs(ends["max"] or 0))
        if most > _MOST:
            raise DataError(f"A whole number in a {format} file must be at most 2**53. Got a larger one in {name!r}.")
        return values.cast(pa.int32() if most <= _INT32 else pa.float64())
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        if pa.types.is_decimal(kind):
            notes.append(f"column {name!r}: decimals became floating-point numbers")
        numbers = values.cast(pa.float64())
        if pc.any(pc.is_inf(numbers)).as_py():
            raise DataError(f"A number in a {format} file must be finite. Got an infinite one in {name!r}.")
        if pc.any(pc.is_nan(numbers)).as_py():
            notes.append(f"column {name!r}: NaN became a missing value")
        return pc.if_else(pc.fill_null(pc.is_nan(numbers), False), pa.scalar(None, pa.float64()), numbers)
    if pa.types.is_date(kind):
        return values.cast(pa.date32())
    if pa.types.is_time(kind):
        return values.cast(pa.time64("us"), safe=False)
    if pa.types.is_timestamp(kind):
        if kind.tz is not None:
            notes.append(f"column {name!r}: moments are in UTC; the time zone is lost")
            values = values.cast(pa.timestamp(kind.unit, "UTC")).cast(pa.timestamp(kind.unit))
        rounded = pc.round_temporal(values, 1, "millisecond").cast(pa.timestamp("ms"))
        if not rounded.cast(pa.timestamp("us")).equals(values.cast(pa.timestamp("us"), safe=False)):
            notes.append(f"column {name!r}: times were rounded to milliseconds")
        return rounded
    raise DataError(f"A column must have a type that a {format} file can hold. Got {name!r} of type {kind}.")
