"""What is in a table: for every column its role and type, with the reasons, and a small picture of its values.

Pictures are for the data holder, on her own screen: they are aggregates, but of originals, and are not published.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import OptionError, ShoalError
from shoal.io.formats import locate
from shoal.io.parts import parts_of
from shoal.plan import Plan
from shoal.progress import part, throttled
from shoal.tables import schema
from shoal.tables.identifiers import different_values
from shoal.tables.values import Codes, Numbers
from shoal.web.tasks.sources import read_table, refuse_bomb
from shoal.web.worker import Line

# Bars of a picture, names in it, and values of a column that are listed for putting them in order.
BARS, NAMES, LISTED = 24, 12, 200
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
    parts = parts_of(where, reading.get("format"))
    told: dict[str, Any] = {"parts": None, "part_key": None}
    if parts is not None and len(parts.names) != 1:
        told = {"parts": list(parts.names), "part_key": parts.keyword}
        if not parts.names:
            raise OptionError("A database must have a table. Got none.")
        if not any(reading.get(key) for key in (parts.keyword, "query")):
            return {**told, "format": locate(where, reading.get("format"), "source").format.name}
    report = throttled(lambda fraction: line.say(fraction=float(fraction)))
    source = read_table(where, reading, part(report, 0.0, 0.5))
    table = source.table

    def look(name: str) -> dict[str, Any]:
        return _column(table, name, text=source.text, decimal=source.decimal)

    columns = []
    with ThreadPoolExecutor(THREADS) as threads:
        for at, column in enumerate(threads.map(look, table.column_names)):
            columns.append({"position": at, **column})
            report(0.5 + 0.5 * (at + 1) / table.num_columns)
    return {**told, "rows": table.num_rows, "format": source.format, "notes": list(source.notes), "columns": columns}


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


def _column(table: Any, name: str, *, text: bool, decimal: str) -> dict[str, Any]:
    """Return what is in a column."""
    import pyarrow.compute as pc

    values = table.column(name)
    missing = values.null_count
    present = len(values) - missing
    try:
        different = int(pc.count_distinct(values, mode="only_valid").as_py())
        suspect = different_values(values, name, text=text, decimal=decimal)
    except (ShoalError, NotImplementedError, ValueError):  # of lists and other values that are not compared
        different, suspect = 0, 0
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
        read = schema.attribute(table, name, Plan.of(), text=text, decimal=decimal)
    except ShoalError as error:
        words = str(error).split(" Hint: ")[0]
        role = {} if suspect else {"role": "dropped", "role_why": "it cannot be grouped as it is"}
        return {**told, **role, "type": "nominal", "type_why": words, "picture": {"shape": "none", "why": words}}
    kind = read.attribute.kind
    told |= {"type": kind, "type_why": read.attribute.note or WHY.get(kind, "")}
    if isinstance(read.values, Codes):
        told |= _listed(read.values, kind)
    nothing = {"shape": "none", "why": "nearly all values differ"}
    return {**told, "picture": nothing if suspect else picture(read.values, kind)}


def _listed(values: Codes, kind: str) -> dict[str, Any]:
    """Return the values of a column of categories, if they are few, and their order, if they have one."""
    counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.levels))
    occurring = [level for level, count in zip(values.levels, counts.tolist(), strict=True) if count]
    few = occurring if len(occurring) <= LISTED else None
    return {"values": few, "levels": few if kind == "ordinal" else None}


def picture(values: Any, kind: str) -> dict[str, Any]:
    """Return the picture of the values of a column."""
    if isinstance(values, Codes):
        return _names(values, kind)
    if isinstance(values, Numbers):
        numbers = values.values[~np.isnan(values.values)]
        if kind == "datetime":
            numbers = numbers / MICROSECONDS_OF_DAY
        if len(numbers):
            return {**_bars(numbers, whole=kind in ("integer", "date")), "dates": kind in ("date", "datetime")}
    return {"shape": "none", "why": "no values"}


def _bars(numbers: Any, *, whole: bool) -> dict[str, Any]:
    low, high = float(numbers.min()), float(numbers.max())
    if low == high:
        return {"shape": "bars", "edges": [low, high], "counts": [len(numbers)]}
    if whole and high - low < 2**52:
        step = max(1, -(-int(high - low + 1) // BARS))
        edges = low - 0.5 + step * np.arange(-(-int(high - low + 1) // step) + 1)
    else:
        edges = np.linspace(low, high, BARS + 1)
    counts = np.histogram(numbers, edges)[0]
    return {"shape": "bars", "edges": edges.tolist(), "counts": counts.tolist()}


def _names(values: Codes, kind: str) -> dict[str, Any]:
    counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.levels))
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] > 0]
    shown = np.sort(order[:NAMES]) if kind == "ordinal" else order[:NAMES]
    return {
        "shape": "names",
        "labels": [values.levels[at] for at in shown],
        "counts": counts[shown].tolist(),
        "others": int(counts[order[NAMES:]].sum()),
        "others_different": max(0, len(order) - NAMES),
    }
