"""The loss, computed anew from its definition: the dissimilarity within groups, relative to that in the table."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import lcm

from fuzz.case import Case, Column
from fuzz.published import days_of_moments, is_foreign, is_missing, levels_of, markers_of, number_of
from fuzz.trees import plain_paths, text_of

MOST_ROWS = 30
Distance = Callable[[int, int], int]


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
        markers = markers_of(case, column.name)
        known = [row for row in rows if not is_missing(column.values[row], markers)]
        distance = _distance(case, column, kind, known)
        if distance is None:
            return None
        errors = _Errors(known, distance)
        lost += Fraction(importance) * sum((errors.of(group) for group in groups), Fraction(0))
        total += Fraction(importance) * errors.of(rows)
    return float(lost / total) if total else 0.0


def _distance(case: Case, column: Column, kind: str, known: list[int]) -> Distance | None:
    """Return the squared distance of two rows whose values are present, in units that make it a whole number."""
    if days_of_moments(column, kind) or is_foreign(column, kind):
        return None
    values = column.values
    if kind in ("continuous", "integer", "date", "datetime"):
        number = number_of(column)
        numbers = {row: number(values[row]) for row in known}
        if column.type.startswith("timestamp[ns"):  # moments are compared in microseconds
            numbers = {row: Fraction(moment // 1000) for row, moment in numbers.items()}
        unit = lcm(*(one.denominator for one in numbers.values()))
        return _on_a_line({row: int(one * unit) for row, one in numbers.items()})
    if kind in ("nominal", "boolean"):
        return lambda a, b: 0 if values[a] == values[b] else 2
    if kind == "ordinal":
        place = {text_of(level): at for at, level in enumerate(levels_of(case, column))}
        return _on_a_line({row: place[text_of(values[row])] for row in known})
    given = case.plan.get("hierarchies", {}).get(column.name)
    paths = None if kind != "hierarchical" else plain_paths(given, values, case.files)
    if paths is None or (isinstance(given, dict) and given.get("build") == "lengths"):
        return None
    chains = {row: [text_of(values[row]), *paths[text_of(values[row])]] for row in known}

    def steps(a: int, b: int) -> int:
        shared = sum(node in chains[b] for node in chains[a])
        return len(chains[a]) + len(chains[b]) - 2 * shared

    return steps


def _on_a_line(places: dict[int, int]) -> Distance:
    return lambda a, b: (places[a] - places[b]) ** 2


class _Errors:
    """Squared errors around the means of groups; missing values lie at the centre of the table and 1 beside.

    By Huygens, the error is the sum over pairs of members of their squared distance, divided by the number of members.

    Parameters
    ----------
    known : rows of the table whose values are present
    distance : squared distance of two of them
    """

    def __init__(self, known: list[int], distance: Distance) -> None:
        self.known, self.distance = known, distance
        self.all = self._pairs(known)
        # Distances are divided by the mean squared distance from the centre of the table.
        self.unit = Fraction(len(known) ** 2, self.all) if self.all else Fraction(0)

    def _pairs(self, rows: list[int]) -> int:
        return sum(self.distance(a, b) for at, a in enumerate(rows) for b in rows[:at])

    def of(self, group: list[int]) -> Fraction:
        """Return the squared error of a group."""
        present = set(self.known)
        known = [row for row in group if row in present]
        gone, m = len(group) - len(known), len(self.known)
        pairs = self._pairs(known) * self.unit
        for a in known if gone else ():
            # The squared distance from the mean of all, again by Huygens, and 1 in the coordinate of missing values.
            centre = Fraction(sum(self.distance(a, b) for b in self.known), m) - Fraction(self.all, m * m)
            pairs += gone * (centre * self.unit + 1)
        return pairs / len(group)
