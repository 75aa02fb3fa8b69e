"""What is in a table: for every column its role and type, with the reasons, and a small picture of its values.

Pictures are for the data holder, on her own screen: they are aggregates, but of originals, and are not published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError, ShoalError
from shoal.io.formats import locate
from shoal.io.parts import parts_of
from shoal.plan import Plan
from shoal.progress import part, throttled
from shoal.tables import schema
from shoal.tables.identifiers import TELLING_SHARE, different_values
from shoal.tables.notation import is_text
from shoal.tables.values import Codes, Numbers
from shoal.web.tasks.sources import in_short, read_table, refuse_bomb
from shoal.web.worker import Line

# Bars of a picture, names in it, and values of a column that are listed for putting them in order.
BARS, NAMES, LISTED = 24, 12, 200
# Texts of which at most this share are different are looked at once each, with their counts.
OFTEN_ENOUGH = 0.5
THREADS = 4  # columns that are looked at side by side
MICROSECONDS_OF_DAY = 86_400e6
# Why a type was inferred, where the library has nothing to remark.
WHY = {
    "continuous": "numbers with decimals",
    "integer": "whole numbers",
    "nominal": "texts",
    "ordinal": "ordered categories",
    "boolean": "two values: yes or no",
    "date": "dates",
    "datetime": "dates with times",
}


def inspect(line: Line, where: str, reading: Mapping[str, Any], unpacked: int) -> dict[str, Any]:
    """Read a table, and return what is in it; of several tables, their names."""
    line.say(phase="reading")
    refuse_bomb(where, reading.get("format"), unpacked)
    parts = parts_of(in_short(where), reading.get("format"))
    told: dict[str, Any] = {"parts": None, "part_key": None}
    if parts is not None and len(parts.names) != 1:
        told = {"parts": list(parts.names), "part_key": parts.keyword}
        if not parts.names:
            raise OptionError("A database must have a table. Got none.")
        if not any(reading.get(key) for key in (parts.keyword, "query")):
            return {**told, "format": locate(in_short(where), reading.get("format"), "source").format.name}
    report = throttled(lambda fraction: line.say(fraction=float(fraction)))
    source = read_table(where, reading, part(report, 0.0, 0.5))
    table = source.table
    if table.num_rows == 0:
        raise DataError(
            "A table must have a row to be anonymised. Got none, only the names of its columns.",
            "choose another table, or look at how it was read: which row is the heading, and where it ends.",
        )

    def look(name: str) -> dict[str, Any]:
        return _column(table, name, text=source.text, decimal=source.decimal)

    columns = []
    with ThreadPoolExecutor(THREADS) as threads:
        for at, column in enumerate(threads.map(look, table.column_names)):
            columns.append({"position": at, **column})
            report(0.5 + 0.5 * (at + 1) / table.num_columns)
    return {**told, "rows": table.num_rows, "format": source.format, "notes": list(source.notes), "columns": columns}


def look_at(line: Line, where: str, unpacked: int) -> dict[str, Any]:
    """Read a file that is to lie beside a table, and return its rows and columns."""
    refuse_bomb(where, None, unpacked)
    table = read_table(where, {}).table
    return {"rows": table.num_rows, "columns": table.column_names}


def demo(line: Line, where: str, reading: Mapping[str, Any], unpacked: int, rows: int) -> dict[str, Any]:
    """Write the invented survey, as ``shoal demo --write`` does, and return what is in it with a plan to begin with."""
    import pyarrow as pa

    from shoal.datasets.survey import EDUCATION, PEOPLE, survey
    from shoal.io import write

    people = survey(rows)
    write(pa.table({name: people[name] for name in PEOPLE}), Path(where))
    changes = [
        {"column": "diagnosis", "role": "sensitive"},
        {"column": "education", "levels": list(EDUCATION)},
    ]
    return {**inspect(line, where, reading, unpacked), "start": {"changes": changes}}


class Few(NamedTuple):
    """The different values of a column as a table of their own, and how often each occurs."""

    table: Any
    counts: Array


def _column(table: Any, name: str, *, text: bool, decimal: str) -> dict[str, Any]:
    """Return what is in a column."""
    values = table.column(name)
    missing = values.null_count
    present = len(values) - missing
    few, different = _different(table, name)
    suspect = 0
    if different > TELLING_SHARE * present:  # with fewer, nothing looks like an identifier
        with suppress(ShoalError, NotImplementedError, ValueError):
            suspect = different_values(values, name, text=text, decimal=decimal)
    told: dict[str, Any] = {
        "name": name,
        "role": "quasi-identifier",
        "role_why": "others may know it, unless you say otherwise",
        "different": different,
        "missing": missing,
        "looks_like_identifier": bool(suspect),
        "levels": None,
        "values": None,
    }
    if suspect:
        share = f"{100 * suspect / max(1, present):.0f} %"
        told |= {"role": "identifier", "role_why": f"different in {share} of the rows: looks like an identifier"}
    elif not present:
        told |= {"role": "dropped", "role_why": "it has no values"}
    try:
        read, counts = _read(table, few, name, text=text, decimal=decimal)
    except ShoalError as error:
        words = str(error).split(" Hint: ")[0]
        role = {} if suspect else {"role": "dropped", "role_why": "it cannot be grouped as it is"}
        return {**told, **role, "type": "nominal", "type_why": words, "picture": {"shape": "none", "why": words}}
    kind = read.attribute.kind
    told |= {"type": kind, "type_why": read.attribute.note or WHY.get(kind, "")}
    told |= {"publishes": read.attribute.representative}
    if isinstance(read.values, Codes):
        told |= _listed(read.values, kind, counts)
    nothing = {"shape": "none", "why": "nearly all values differ"}
    return {**told, "picture": nothing if suspect else picture(read.values, kind, counts)}


def _different(table: Any, name: str) -> tuple[Few | None, int]:
    """Return the different texts of a column with their counts, if they are few; and their number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = table.column(name)
    try:
        if not is_text(values.type):
            return None, int(pc.count_distinct(values, mode="only_valid").as_py())
        found = pc.value_counts(values.drop_null())
    except (NotImplementedError, ValueError):  # of lists and other values that are not compared
        return None, 0
    if len(found) > OFTEN_ENOUGH * len(values):
        return None, len(found)
    schema = pa.schema([table.schema.field(name)], metadata=table.schema.metadata)
    column = pa.chunked_array([found.field("values")])
    counts = found.field("counts").to_numpy(zero_copy_only=False)
    return Few(pa.table([column], schema=schema), counts), len(found)


def _read(table: Any, few: Few | None, name: str, *, text: bool, decimal: str) -> tuple[schema.Read, Array | None]:
    """Return a column with its values, or with those that are different and their counts."""
    plan = Plan.of()
    if few is not None:
        with suppress(ShoalError):  # whose words would count values in place of rows
            read = schema.attribute(few.table, name, plan, text=text, decimal=decimal, counts=few.counts)
            return read, few.counts
    return schema.attribute(table, name, plan, text=text, decimal=decimal), None


def _rows_of(values: Codes, counts: Array | None) -> Array:
    """Return int64[levels]: in how many rows each level occurs."""
    here = values.codes >= 0
    rows = np.bincount(values.codes[here], None if counts is None else counts[here], minlength=len(values.levels))
    return rows.astype(np.int64)


def _listed(values: Codes, kind: str, counts: Array | None) -> dict[str, Any]:
    """Return the values of a column of categories, if they are few, and their order, if they have one."""
    rows = _rows_of(values, counts)
    occurring = [level for level, count in zip(values.levels, rows.tolist(), strict=True) if count]
    few = occurring if len(occurring) <= LISTED else None
    return {"values": few, "levels": few if kind == "ordinal" else None}


def picture(values: Any, kind: str, counts: Array | None = None) -> dict[str, Any]:
    """Return the picture of the values of a column; `counts` are those of the different ones, if these are given."""
    if isinstance(values, Codes):
        return _names(_rows_of(values, counts), values.levels, kind)
    if isinstance(values, Numbers):
        here = ~np.isnan(values.values)
        numbers, counts = values.values[here], None if counts is None else counts[here]
        if kind == "datetime":
            numbers = numbers / MICROSECONDS_OF_DAY
        if len(numbers):
            return {**_bars(numbers, counts, whole=kind in ("integer", "date")), "dates": kind in ("date", "datetime")}
    return {"shape": "none", "why": "no values"}


def _bars(numbers: Array, counts: Array | None, *, whole: bool) -> dict[str, Any]:
    low, high = float(numbers.min()), float(numbers.max())
    if low == high:
        rows = len(numbers) if counts is None else int(counts.sum())
        return {"shape": "bars", "ends": [low, high], "edges": [low, high], "counts": [rows]}
    if whole and high - low < 2**52:
        step = max(1, -(-int(high - low + 1) // BARS))
        edges = low - 0.5 + step * np.arange(-(-int(high - low + 1) // step) + 1)
    else:
        edges = np.linspace(low, high, BARS + 1)
    tall = np.histogram(numbers, edges, weights=counts)[0].astype(np.int64)
    return {"shape": "bars", "ends": [low, high], "edges": edges.tolist(), "counts": tall.tolist()}


def _names(rows: Array, levels: Sequence[str], kind: str) -> dict[str, Any]:
    order = np.argsort(-rows, kind="stable")
    order = order[rows[order] > 0]
    shown = np.sort(order[:NAMES]) if kind == "ordinal" else order[:NAMES]
    return {
        "shape": "names",
        "labels": [levels[at] for at in shown],
        "counts": rows[shown].tolist(),
        "others": int(rows[order[NAMES:]].sum()),
        "others_different": max(0, len(order) - NAMES),
    }
