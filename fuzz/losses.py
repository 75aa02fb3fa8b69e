"""The loss, computed anew from its definition: the dissimilarity within groups, relative to that in the table."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from fuzz.case import Case, Column
from fuzz.published import days_of_moments, is_foreign, is_missing, markers_of, number_of
from fuzz.trees import plain_paths, text_of

MOST_ROWS = 30
Distance = Callable[[Any, Any], Fraction]


def plain_loss(case: Case, attributes: list[tuple[Column, str, float]], groups: list[list[int]]) -> float | None:
    """Return the loss of groups, or None where the definition is not simple (weights, many rows, odd trees).

    Parameters
    ----------
    attributes : column, kind and importance of each quasi-identifier
    groups : rows of the table in each group
    """
    rows = [row for group in groups for row in group]
    if "weight" in case.plan or len(rows) > MOST_ROWS or "coordinates" in case.plan:
        return None
    lost = total = Fraction(0)
    for column, kind, importance in attributes:
        distance = _distance(case, column, kind)
        if distance is None:
            return None
        markers = markers_of(case, column.name)
        known = [row for row in rows if not is_missing(column.values[row], markers)]
        scale = _error(known, column, distance, markers, Fraction(1))
        unit = Fraction(len(known)) / scale if scale else Fraction(0)
        weight = Fraction(importance)
        lost += weight * sum((_error(group, column, distance, markers, unit, rows) for group in groups), Fraction(0))
        total += weight * _error(rows, column, distance, markers, unit, rows)
    return float(lost / total) if total else 0.0


def _distance(case: Case, column: Column, kind: str) -> Distance | None:
    """Return the squared distance of two values that are present."""
    if days_of_moments(column, kind) or is_foreign(column, kind):
        return None
    if kind in ("continuous", "integer", "date", "datetime"):
        number = number_of(column)
        # Moments are compared in microseconds.
        unit = 1000 if column.type.startswith("timestamp[ns") else 1
        return lambda a, b: Fraction(number(a) // unit - number(b) // unit if unit > 1 else number(a) - number(b)) ** 2
    if kind in ("nominal", "boolean"):
        return lambda a, b: Fraction(0 if a == b else 2)
    if kind == "ordinal":
        levels = case.plan.get("levels", {}).get(column.name) or column.categories
        levels = levels or sorted({v for v in column.values if not is_missing(v, [])})
        place = {text_of(level): at for at, level in enumerate(levels)}
        return lambda a, b: Fraction(place[text_of(a)] - place[text_of(b)]) ** 2
    given = case.plan.get("hierarchies", {}).get(column.name)
    paths = None if kind != "hierarchical" else plain_paths(given, column.values, case.files)
    if paths is None or (isinstance(given, dict) and given.get("build") == "lengths"):
        return None
    chains = {node: [node, *above] for node, above in paths.items()}

    def steps(a: Any, b: Any) -> Fraction:
        one, two = chains[text_of(a)], chains[text_of(b)]
        shared = sum(node in two for node in one)
        return Fraction(len(one) + len(two) - 2 * shared)

    return steps


def _error(
    group: list[int],
    column: Column,
    distance: Distance,
    markers: list[Any],
    unit: Fraction,
    table: list[int] | None = None,
) -> Fraction:
    """Return the squared error of a group around its mean; missing values lie at the centre of the table and 1 beside.

    By Huygens, the error is the sum over pairs of members of their squared distance, divided by the number of members.
    """
    known = [column.values[row] for row in group if not is_missing(column.values[row], markers)]
    gone = len(group) - len(known)
    pairs = sum((distance(a, b) for at, a in enumerate(known) for b in known[:at]), Fraction(0)) * unit
    if not gone or table is None:
        return pairs / len(group) if group else Fraction(0)
    everybody = [column.values[row] for row in table if not is_missing(column.values[row], markers)]
    inside = sum((distance(a, b) for at, a in enumerate(everybody) for b in everybody[:at]), Fraction(0)) * unit
    m = len(everybody)
    for a in known:
        # The squared distance from the mean of all, again by Huygens, and 1 in the coordinate of missing values.
        centre = (
            sum((distance(a, b) for b in everybody), Fraction(0)) * unit / m - inside / (m * m) if m else Fraction(0)
        )
        pairs += gone * (centre + 1)
    return pairs / len(group)
