"""The cells of strongly-safe releases, found anew: which records share them, and that each lies in its own."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from decimal import Decimal, localcontext
from typing import Any

from fuzz import models, notations
from fuzz.case import Case, Column
from fuzz.published import days_of_moments, is_foreign, is_missing, markers_of, number_of, units_of_a_day
from fuzz.trees import plain_paths, text_of

# The cell of a value, as something that is equal for values of one cell.
Cell = Callable[[Any], Any]


def wrong(case: Case, kinds: dict[str, str], rows: list[int], table: dict[str, list[Any]]) -> str | None:
    """Return what is wrong with the records that are published and their cells, or None.

    Parameters
    ----------
    kinds : {name: kind} of the quasi-identifiers
    rows : the original row of each published row
    table : the published table
    """
    cells = {name: _cell(case, case.column(name), kind) for name, kind in kinds.items()}
    for name, cell in cells.items():
        if cell is None or kinds[name] not in ("continuous", "integer"):
            continue
        for row, text in zip(rows, table[name], strict=True):
            if isinstance(text, str) and text.startswith("[") and not _inside(case.column(name).values[row], text):
                return f"a number of {case.column(name).kind} lies outside of its cell"
    known = [cell for cell in cells.values() if cell is not None]
    if len(known) < len(cells):
        return None
    together = defaultdict(list)
    strata = [case.column(name).values for name in case.plan.get("stratum", ())]
    rows_in: Sequence[int] = range(case.rows)
    if case.plan.get("missing") == "drop":  # before cells are counted
        rows_in = [row for row in rows_in if not any(_gone(case, name, row) for name in kinds)]
    for row in rows_in:
        key = [cell(case.column(name).values[row]) for name, cell in zip(cells, known, strict=True)]
        together[(*key, *(repr(values[row]) for values in strata))].append(row)
    units = case.column(case.plan["unit"]).values if "unit" in case.plan else list(range(case.rows))
    wanted = {
        row
        for members in together.values()
        if len({models.read_as(units[row]) for row in members}) >= (case.plan.get("k") or 5)
        for row in members
    }
    return None if wanted == set(rows) else f"{len(rows)} records are published, not {len(wanted)}"


def _gone(case: Case, name: str, row: int) -> bool:
    return is_missing(case.column(name).values[row], markers_of(case, name))


def _inside(value: Any, text: str) -> bool:
    low, high = (Decimal(end) for end in text[1:-1].split(", "))
    return low <= Decimal(repr(value) if isinstance(value, float) else str(value)) < high


def _cell(case: Case, column: Column, kind: str) -> Cell | None:
    """Return the function from values to cells; None where only Shoal can tell."""
    how = case.plan.get("cells", {}).get(column.name)
    if how is None:
        how = 1 if kind == "hierarchical" else "value"
    markers = markers_of(case, column.name)
    inner = _of_present(case, column, kind, how)
    if inner is None:
        return None
    return lambda value: "*" if how == "*" else None if is_missing(value, markers) else inner(value)


def _of_present(case: Case, column: Column, kind: str, how: Any) -> Cell | None:
    if how == "*":
        return lambda value: "*"
    if how == "value" and column.type.startswith("timestamp[ns"):
        return lambda value: value // 1000  # moments are compared in microseconds
    if how == "value" and column.notation and kind == notations.ALL[column.notation].kind:
        return notations.ALL[column.notation].read
    if how == "value":
        return lambda value: value + 0.0 if isinstance(value, float) else value
    if kind in ("continuous", "integer"):
        return lambda value: _floor(value, how)
    if days_of_moments(column, kind) or is_foreign(column, kind):
        return None
    if kind in ("date", "datetime"):
        number, unit = number_of(column), units_of_a_day(column, kind)

        def day(value: Any) -> int:
            return int(number(value) // unit)

        if isinstance(how, str):
            return lambda value: (date(1970, 1, 1) + timedelta(days=day(value))).isoformat()[
                : {"year": 4, "month": 7}[how]
            ]
        return lambda value: day(value) // int(how)
    given = case.plan.get("hierarchies", {}).get(column.name)
    if kind != "hierarchical" or "prefixes" in str(given):
        return None
    paths = plain_paths(given, column.values, case.files)
    return (
        None if paths is None else lambda value: [text_of(value), *paths[text_of(value)], *["*"] * int(how)][int(how)]
    )


def _floor(value: Any, width: float) -> Any:
    with localcontext(prec=800):
        return math.floor(Decimal(repr(value) if isinstance(value, float) else str(value)) / Decimal(str(width)))
