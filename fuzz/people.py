"""Matches in a population, counted person by person from the published texts."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

from fuzz import notations
from fuzz.case import Case, Column
from fuzz.published import days_of_moments, end_of, is_foreign, is_missing, markers_of, number_of
from fuzz.trees import plain_paths, text_of


def falls_short(case: Case, kinds: dict[str, str], published: list[tuple[Any, ...]], names: list[str]) -> str | None:
    """Return how the release falls short of k-map or delta-presence, or None.

    A group publishes one value for members with and without one. So people count who match in all columns where nothing
    is missing, but no more than can be in the group: at most half of its members have a value where it publishes none,
    and fewer than half have none where it publishes one.

    Parameters
    ----------
    kinds : {name: kind} of the quasi-identifiers
    published : the published quasi-identifiers of every row, in the order of `names`
    """
    columns = {column.name: column for column in case.population or []}
    fits = [_fits(case, columns[name], kinds[name]) for name in names]
    if any(fit is None for fit in fits):
        return None
    gone = [[is_missing(value, markers_of(case, name)) for value in columns[name].values] for name in names]
    gaps = [any(gone[at]) or any(row[at] is None for row in published) for at in range(len(names))]
    different = [_numbered(columns[name].values) for name in names]
    reached = [False] * len(columns[names[0]].values)
    for row, size in Counter(published).items():
        strictly = widely = 0
        # A value of a row is compared once with each different value of the population.
        answers = [[fit(value, one) for one in of] for fit, value, (of, _) in zip(fits, row, different, strict=True)]
        exact = [[here[at] for at in which] for here, (_, which) in zip(answers, different, strict=True)]
        for at, person in enumerate(zip(*exact, strict=True)):
            wide = all(one or row[i] is None or gone[i][at] for i, one in enumerate(person))
            strictly += all(person)
            widely += wide
            reached[at] = reached[at] or wide
        extra = sum((size if value is None else size - 1) // 2 for value, gap in zip(row, gaps, strict=True) if gap)
        matches = min(widely, strictly + extra)
        if "k_map" in case.plan and matches < case.plan["k_map"]:
            return f"k-map: {matches} people match"
        if "presence" in case.plan:
            low, high = case.plan["presence"]
            if not matches or size / matches > high + 1e-7 or size / widely < low - 1e-7:
                return f"delta-presence: {size} of {matches}"
    if "presence" in case.plan and case.plan["presence"][0] > 0 and not all(reached):
        return "delta-presence: a person of the population matches nothing, so it is certain that they are not there"
    return None


def _numbered(values: list[Any]) -> tuple[list[Any], list[int]]:
    """Return the different values, and the place of each value among them."""
    places: dict[str, int] = {}
    which = [places.setdefault(repr(value), len(places)) for value in values]
    return [values[which.index(place)] for place in places.values()], which


def _fits(case: Case, column: Column, kind: str) -> Any:
    """Return the function that tells whether a published value may stand for a value of the population."""
    markers = markers_of(case, column.name)
    number = number_of(column)
    paths = None
    if kind == "hierarchical":
        paths = plain_paths(case.plan["hierarchies"][column.name], column.values, case.files)
        if paths is None:
            return None
    if kind == "place" or days_of_moments(column, kind) or is_foreign(column, kind):
        return None
    levels = [text_of(level) for level in case.plan.get("levels", {}).get(column.name) or column.categories or []]

    def fits(value: Any, theirs: Any) -> bool:
        if value == "*":
            return True
        gone = is_missing(theirs, markers)
        if value is None or gone:
            return value is None and gone
        word = text_of(theirs)
        if paths is not None:
            return text_of(value) in (word, *paths[word])
        if kind in ("nominal", "boolean"):
            inner = str(value)[1:-1].split(", ") if str(value)[:1] == "{" else []
            return text_of(value) == word or word in inner or (", " in word and word in str(value))
        ends = value[1:-1].split(", ") if isinstance(value, str) and value[:1] == "[" else [value, value]
        if column.notation:
            ends = notations.ends_of(value) if isinstance(value, str) else ends
        if kind == "ordinal":
            order = levels or sorted({text_of(v) for v in column.values if v is not None}, key=Decimal)
            return order.index(text_of(ends[0])) <= order.index(word) <= order.index(text_of(ends[1]))
        low, high = (end_of(column, kind, end) if isinstance(end, str) else number(end) for end in ends)
        # Moments are compared in microseconds.
        unit = 1000 if column.type.startswith("timestamp[ns") else 1
        if isinstance(value, str) and value.endswith(")"):  # the interval is open above
            return low <= number(theirs) < high
        return low // unit <= number(theirs) // unit <= high // unit if unit > 1 else low <= number(theirs) <= high

    return fits
