"""The privacy models in plain words: what each of them measures in a group, written from their definitions.

Values that a person would read as one are one here: blanks, case, invisible characters and forms of Unicode do not make
values different, and numbers are compared as numbers.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import combinations
from typing import Any

MISSING = None
TOLERANCE = 1e-7
MOST_GROUPS = 9


def read_as(value: Any) -> Any:
    """Return what a person reads: None for nothing, the same for all writings of one value."""
    if isinstance(value, str):
        text = "".join(c for c in unicodedata.normalize("NFKC", value) if unicodedata.category(c) not in ("Cf", "Cc"))
        text = " ".join(text.split()).casefold()
        return _number(text) if text else MISSING
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float | Decimal):
        return MISSING if value != value else _number(str(value))
    if isinstance(value, date | datetime):  # pandas has a moment that is none
        return MISSING if value != value else value.isoformat()
    return MISSING if value is None or str(value) in ("NaT", "<NA>") else str(value)


def _number(text: str) -> Any:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    return number + 0 if number.is_finite() else text


@dataclass
class Ground:
    """The distances of values: places on a line, or paths in a tree, or neither (all are 1 apart)."""

    places: dict[Any, float] | None = None
    paths: dict[Any, list[Any]] | None = None  # from each value up to the root
    heights: dict[Any, float] | None = None  # of all nodes, that of the root is 1


def line(values: list[Any], by_size: bool = False) -> Ground:
    """Return values in their order on a line from 0 to 1, by rank or by size."""
    if by_size and len(values) > 1:
        low, high = float(values[0]), float(values[-1])
        return Ground({value: (float(value) - low) / (high - low) for value in values})
    return Ground({value: at / max(1, len(values) - 1) for at, value in enumerate(values)})


def days(values: list[str]) -> Ground:
    """Return dates in their order on a line from 0 to 1, by the days between them."""
    places = line([date.fromisoformat(value).toordinal() for value in values], by_size=True).places or {}
    return Ground({value: places[date.fromisoformat(value).toordinal()] for value in values})


def tree(paths: dict[str, list[str]]) -> Ground:
    """Return the tree of the paths of all nodes; each value that has nodes below it gets a leaf of its own."""
    heights: dict[Any, float] = dict.fromkeys(paths, 0)
    for above in paths.values():
        for at, node in enumerate(above):
            heights[node] = max(heights.get(node, 0), at + 1)
    most = max(1, *heights.values())
    own = {read_as(node): [("leaf", node), node, *above] for node, above in paths.items()}
    return Ground(paths=own, heights={node: height / most for node, height in heights.items()})


def distance(group: Counter[Any], whole: Counter[Any], ground: Ground) -> float:
    """Return the earth mover's distance of two distributions, as `docs/reference/models.md` defines it."""
    n, m = sum(group.values()), sum(whole.values())
    if ground.places is not None:
        ours, theirs = group[MISSING] / n, whole[MISSING] / m
        known, all_known = n - group[MISSING], m - whole[MISSING]
        work, difference, before = [], 0.0, 0.0
        if known and all_known:
            for value in sorted(ground.places, key=lambda v: ground.places[v]):  # type: ignore[index]
                place = ground.places[value]
                work.append(abs(difference) * (place - before))
                difference += group[value] / known - whole[value] / all_known
                before = place
        return abs(ours - theirs) + (1 - max(ours, theirs)) * math.fsum(work)
    if ground.paths is not None and ground.heights is not None:
        below: defaultdict[Any, float] = defaultdict(float)
        for value in whole:
            share = group[value] / n - whole[value] / m
            for node in [MISSING] if value is MISSING else ground.paths[value][:-1]:
                below[node] += share
        parents = {node: path[at + 1] for path in ground.paths.values() for at, node in enumerate(path[:-1])}
        heights = ground.heights
        return 0.5 * math.fsum(
            abs(share) * (1.0 if node is MISSING else heights[parents[node]] - heights.get(node, 0.0))
            for node, share in below.items()
        )
    return 0.5 * math.fsum(abs(group[value] / n - whole[value] / m) for value in whole)


def in_units(rows: list[tuple[Any, Any]]) -> Counter[Any]:
    """Return what each value counts, given unit and value of each row: every unit is one, shared by its rows."""
    own = Counter(unit for unit, _ in rows)
    counted: Counter[Any] = Counter()
    for unit, value in rows:
        counted[value] += Fraction(1, own[unit])  # type: ignore[assignment]
    return counted


def different_of_units(rows: list[tuple[Any, Any]]) -> int:
    """Return how many units can be chosen, with a known value of each, so that no value is chosen twice."""
    values: defaultdict[Any, set[Any]] = defaultdict(set)
    for unit, value in rows:
        if value is not MISSING:
            values[unit].add(value)
    chosen_by: dict[Any, Any] = {}

    def chooses(unit: Any, tried: set[Any]) -> bool:
        for value in values[unit] - tried:
            tried.add(value)
            if value not in chosen_by or chooses(chosen_by[value], tried):
                chosen_by[value] = unit
                return True
        return False

    return sum(chooses(unit, set()) for unit in list(values))


def falls_short_in_units(
    text: str, groups: list[list[tuple[Any, Any]]], whole: list[tuple[Any, Any]], grounds: dict[str, Ground]
) -> str | None:
    """Return what a group of rows, each with its unit and its value, measures where it falls short; see below."""
    name, *parts = text.split()
    if name == "n-t-closeness":
        return None
    if name in ("distinct-diversity", "p-sensitive"):
        fewest = min(map(different_of_units, groups))
        return str(fewest) if fewest < int(parts[0].partition("=")[2]) else None
    return falls_short(text, [in_units(rows) for rows in groups], in_units(whole), grounds)


def measured(name: str, given: dict[str, float], group: Counter[Any], whole: Counter[Any], ground: Ground) -> float:
    """Return what a model measures in a group."""
    known = {value: count for value, count in group.items() if value is not MISSING and count}
    size, total = sum(known.values()), sum(group.values())
    counts = sorted(known.values(), reverse=True)
    n = sum(whole.values())
    if name == "k-anonymity":
        return total
    if name in ("distinct-diversity", "p-sensitive"):
        return len(known)
    if name == "entropy-diversity":
        return math.exp(-math.fsum(c / size * math.log(c / size) for c in counts)) if size else 0.0
    if name == "recursive-diversity":
        tail = sum(counts[int(given["l"]) - 1 :])
        return counts[0] / tail if tail else math.inf
    if name == "alpha":
        return counts[0] / size if size else 0.0
    if name == "t-closeness":
        return distance(group, whole, ground)
    shares = {value: (group[value] / total, whole[value] / n) for value in whole}
    if name == "delta-disclosure":
        return max(abs(math.log(ours / theirs)) if ours else math.inf for ours, theirs in shares.values())
    gains = [(ours / theirs - 1, theirs) for ours, theirs in shares.values() if ours > theirs]
    if name == "beta-likeness":
        return max((gain for gain, _ in gains), default=0.0)
    if name == "enhanced-beta-likeness":
        limits = [(gain, min(given["beta"], -math.log(theirs))) for gain, theirs in gains]
        return max((gain / limit if limit > 0 else math.inf for gain, limit in limits), default=0.0)
    raise ValueError(name)


# Which parameter of a model bounds what is measured, and whether more is better.
BOUNDS = {
    **{"k-anonymity": ("k", True), "distinct-diversity": ("l", True), "p-sensitive": ("p", True)},
    **{"entropy-diversity": ("l", True), "recursive-diversity": ("c", False), "alpha": ("alpha", False)},
    **{"t-closeness": ("t", False), "delta-disclosure": ("delta", False), "beta-likeness": ("beta", False)},
}


def falls_short(text: str, groups: list[Counter[Any]], whole: Counter[Any], grounds: dict[str, Ground]) -> str | None:
    """Return what a group measures where it falls short of a model, or None if all hold.

    Parameters
    ----------
    text : str
        The model, such as ``"t-closeness t=0.2 ground=equal"``.
    groups, whole : how often each value occurs, None is missing
    grounds : {"auto" or other: Ground}
    """
    name, *parts = text.split()
    given = {key: value for key, _, value in (part.partition("=") for part in parts)}
    ground = grounds[given.pop("ground", "auto")]
    numbers = {key: float(value) for key, value in given.items()}
    if name == "n-t-closeness":
        return _far_from_all(numbers, groups, whole, ground)
    option, rising = BOUNDS.get(name, ("", False))
    bound = 1.0 if name == "enhanced-beta-likeness" else numbers[option]
    slack = TOLERANCE * max(1.0, bound)
    for group in groups:
        found = float(measured(name, numbers, group, whole, ground))
        strict = name == "recursive-diversity" and found >= bound
        if strict or (found < bound - slack if rising else found > bound + slack):
            return f"{found:.9g}"
    return None


def _far_from_all(
    given: dict[str, float], groups: list[Counter[Any]], whole: Counter[Any], ground: Ground
) -> str | None:
    """Return the distance of a group that is further than t from every union of groups with at least n records."""
    if len(groups) > MOST_GROUPS:
        return None
    for at, group in enumerate(groups):
        others = groups[:at] + groups[at + 1 :]
        sets = (sum(some, Counter(group)) for size in range(len(others) + 1) for some in combinations(others, size))
        found = [distance(group, one, ground) for one in sets if sum(one.values()) >= given["n"]]
        nearest = min([*found, distance(group, whole, ground)])
        if nearest > given["t"] + TOLERANCE:
            return f"{nearest:.9g}"
    return None
