"""Hierarchies as plans give them: a file, nested names, or a rule that builds them from the values of a column."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.errors import DataError, OptionError
from shoal.plan import Plan
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.spelling import as_read
from shoal.tables.values import Codes

FEW = 5  # rows that a message names


def hierarchy_of(plan: Plan, name: str, values: Codes, *, rows: bool = True) -> Hierarchy:
    """Return the hierarchy of a column, which must contain all of its values."""
    given = plan.hierarchies.get(name)
    if given is None:
        raise OptionError(
            f"A hierarchical attribute must have a hierarchy. Got none for the column {name!r}.",
            hint=f"pass hierarchies={{{name!r}: 'file.csv'}} (--hierarchy {name}=file.csv).",
        )
    rule, numbers = _rule(given, name)
    if rule and not values.levels:
        return Hierarchy.from_nested(["*"])  # there is nothing to build on
    if rule == "prefixes":
        hierarchy = Hierarchy.from_prefixes(values.levels, numbers or None)
    elif rule == "widths":
        hierarchy = Hierarchy.intervals(values.levels, numbers)
    elif isinstance(given, dict) and set(given) in ({"labels", "parents"}, {"labels", "parents", "lengths"}):
        hierarchy = Hierarchy.from_plain(given, f"the hierarchy of {name!r}")
    elif isinstance(given, str):
        hierarchy = Hierarchy.load(given)
    else:
        hierarchy = Hierarchy.from_nested(given, name=f"the hierarchy of {name!r}")
    _refuse_uncovered(hierarchy, values, name, rows=rows)
    return hierarchy


def _rule(given: Any, name: str) -> tuple[str, list[Any]]:
    """Return how a hierarchy is built from the values of its column, ``prefixes`` or ``widths``, and the numbers.

    An empty text is returned if the hierarchy is given as it is.
    """
    if isinstance(given, dict) and set(given) in ({"prefixes"}, {"widths"}):
        ((rule, numbers),) = given.items()
    elif isinstance(given, str) and (given == "prefixes" or given.startswith(("prefixes:", "widths:"))):
        rule, colon, rest = given.partition(":")
        numbers = rest.split(",") if colon else []
    else:
        return "", []
    return rule, _numbers(numbers, name, falling=rule == "prefixes")


def _refuse_uncovered(hierarchy: Hierarchy, values: Codes, name: str, *, rows: bool) -> None:
    """Refuse values that are not in the hierarchy, and say in which `rows` they are, but not what they are."""
    codes, first = np.unique(values.codes, return_index=True)
    first, codes = first[codes >= 0], codes[codes >= 0]
    lost = set(hierarchy.uncovered([values.levels[code] for code in codes]))
    if lost:
        places = sorted(int(row) + 1 for row, code in zip(first, codes, strict=True) if values.levels[code] in lost)
        listed = ", ".join(map(str, places[:FEW])) + (", .." if len(places) > FEW else "")
        where = f", first in row{'' if len(places) == 1 else 's'} {listed} of the table" if rows else ""
        raise DataError(
            f"Every value of column {name!r} must be in its hierarchy. Got {len(lost)} of {len(codes)} that are not"
            f"{where}.",
            hint=f"{_near_labels(hierarchy, lost)}Hierarchy.uncovered lists them; complete the hierarchy, or declare "
            "what stands for missing with missing_values (--na).",
        )


def _near_labels(hierarchy: Hierarchy, lost: set[str]) -> str:
    """Return how many values the hierarchy has in another spelling, for a hint; nothing if it has none."""
    known = {as_read(label) for label in hierarchy.labels}
    near = sum(as_read(value) in known for value in lost)
    which = "it is" if len(lost) == 1 else f"{near} of them {'is' if near == 1 else 'are'}"
    return f"{which} there in another spelling (case, spaces, leading zeros); " if near else ""


def _numbers(given: Any, name: str, *, falling: bool = False) -> list[Any]:
    """Return the lengths of prefixes as descending integers, or the widths of intervals as ascending numbers."""
    try:
        return sorted((int(part) for part in given), reverse=True) if falling else sorted(float(part) for part in given)
    except (TypeError, ValueError):
        raise OptionError(
            f"The hierarchy of {name!r} must list the numbers of its levels. Got {given!r}.",
            hint="such as prefixes:2,3 or widths:5,10,20.",
        ) from None
