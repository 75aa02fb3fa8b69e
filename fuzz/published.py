"""What groups publish, checked against the original values of their members with exact fractions."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from fuzz import notations
from fuzz.case import Case, Column
from fuzz.trees import plain_paths, text_of
from fuzz.values import PER_SECOND

Number = Fraction
PLAIN_NUMBER = re.compile(r"[+-]?(?!0\d)(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
MEANS = ("mean", "trimmed-mean", "geometric-mean")


def is_missing(value: Any, markers: list[Any]) -> bool:
    """Return whether a value of a quasi-identifier is missing, or declared to be.

    Texts are compared apart from blanks around them, and numbers as numbers. No marker stands for a truth value, which
    Python takes for 0 or 1.
    """
    if value is None or value != value:
        return True
    return any(_same(value, marker) for marker in markers)


def _same(value: Any, marker: Any) -> bool:
    if isinstance(value, bool):
        return False
    if not isinstance(value, str):
        return _number_in(marker) == Decimal(repr(value))
    one, other = value.strip(), str(marker).strip()
    # A code has leading zeros, and is no number.
    return one == other or (all(map(PLAIN_NUMBER.fullmatch, (one, other))) and _number_in(one) == _number_in(other))


def _number_in(marker: Any) -> Decimal | None:
    try:
        return Decimal(str(marker).strip())
    except InvalidOperation:
        return None


def markers_of(case: Case, name: str) -> list[Any]:
    """Return the values that the plan declares to be missing in a column.

    Dates and moments are numbers in an input alone: no number stands for one.
    """
    given = case.plan.get("missing_values", ())
    markers = given.get(name, ()) if isinstance(given, dict) else given
    in_time = any(one.name == name and one.type.startswith(("date", "timestamp")) for one in case.columns)
    return [one for one in markers if not in_time or isinstance(one, str)]


def days_of_moments(column: Column, kind: str) -> bool:
    """Return whether moments are declared to be dates, so that the time of the day, and the zone, are cut off."""
    return (
        kind == "date" and column.type.startswith("timestamp") and (", tz=" in column.type or not _at_midnight(column))
    )


def _at_midnight(column: Column) -> bool:
    day = 86400 * PER_SECOND[column.type[10:-1]]
    return all(value is None or value % day == 0 for value in column.values)


def number_of(column: Column) -> Callable[[Any], Number]:
    """Return the function that turns a value of a column into a number: days of dates, units of moments."""
    if column.notation:
        return notations.ALL[column.notation].read
    if column.type == "date32":
        return lambda v: Fraction((date.fromisoformat(str(v)) - date(1970, 1, 1)).days)
    if column.type.startswith("decimal"):
        return lambda v: Fraction(Decimal(str(v)))
    return Fraction


def notation_of(case: Case, column: Column) -> notations.Notation:
    """Return the notation of a column, with as many decimal places as the plan says."""
    return notations.ALL[column.notation or ""].with_digits(_digits_of(case, column))


def _digits_of(case: Case, column: Column) -> int | None:
    digits: int | None = case.plan.get("digits", {}).get(column.name)
    return digits


def is_foreign(column: Column, kind: str) -> bool:
    """Return whether a column has a notation of another kind than the plan says, which only Shoal can tell."""
    return column.notation is not None and kind not in ("nominal", "boolean", notations.ALL[column.notation].kind)


def is_wrong_for_few(case: Case, attribute: Any) -> bool:
    """Return whether a group does not publish a median where whole numbers are few and the plan says nothing of them.

    Few are at most 24, if they are no more than half of the rows, or so many that each is in four rows on average.
    """
    plan, name = case.plan, attribute.name
    silent = not any(name in plan.get(option, {}) for option in ("representatives", "digits"))
    silent &= name not in case.types and not plan.get("release") and attribute.kind in ("integer", "continuous")
    if not silent or attribute.kind in plan.get("representatives", {}) or plan.get("missing") == "drop":
        return False
    column = case.column(name)
    present = [Fraction(v) for v in column.values if not is_missing(v, markers_of(case, name))]
    if column.notation or column.type.startswith("decimal") or any(v % 1 or abs(v) > 2**53 for v in present):
        return False
    n, different = len(present), len(set(present))
    few = different > 1 and (4 * different <= n or (different <= 24 and 2 * different <= n))
    return bool((attribute.representative == "median") != few)


def check(case: Case, column: Column, kind: str, how: str, groups: list[list[int]], published: list[Any]) -> str | None:
    """Return what is wrong with the published values of a column, or None.

    Parameters
    ----------
    groups : rows of the original table in each group
    published : the value that each group publishes, as Arrow tells it
    """
    markers = markers_of(case, column.name)
    if days_of_moments(column, kind) or is_foreign(column, kind):
        return None
    step = cache(lambda: _step(case, column, kind))
    for rows, value in zip(groups, published, strict=True):
        members = [column.values[row] for row in rows]
        present = [(v, row) for v, row in zip(members, rows, strict=True) if not is_missing(v, markers)]
        wrong = _one(case, column, kind, how, present, len(rows), value, step)
        if wrong:
            return f"{how} of {kind} ({column.type}, {column.kind}): {wrong}"
    return None


def _one(
    case: Case,
    column: Column,
    kind: str,
    how: str,
    present: list[tuple[Any, int]],
    size: int,
    value: Any,
    step: Callable[[], Number],
) -> str | None:
    if how == "suppression":
        return None if value == "*" else "not suppressed"
    if 2 * len(present) <= size:
        return None if value is None or value != value else "not missing, but half of the members are"
    if value is None:
        return "missing, but most members are not"
    weights = (
        [Fraction(case.column(case.plan["weight"]).values[row]) for _, row in present]
        if "weight" in case.plan
        else None
    )
    values = [v for v, _ in present]
    if how in ("mode", "leaf", "medoid") or (how == "median" and kind == "ordinal"):
        return _of_members(column, how, values, value, weights)
    if how in ("set", "ancestor"):
        return _of_words(case, column, how, values, value)
    if kind == "ordinal":
        return _levels(case, column, values, str(value))
    number = number_of(column)
    numbers = [number(v) for v in values]
    if column.name in case.plan.get("outward", {}):
        return _outward(column, kind, case.plan["outward"][column.name], values, str(value))
    if column.notation and not notations.is_written(column.notation, value, column.values, _digits_of(case, column)):
        return "not written as the column is"
    if how == "interval":
        return _interval(case, column, kind, numbers, str(value), 2 * step())
    return _middle(case, column, kind, how, numbers, number(value), weights, step())


def _of_members(column: Column, how: str, values: list[Any], value: Any, weights: list[Fraction] | None) -> str | None:
    same = [v for v in values if _like(column, v) == _like(column, value)]
    if not same:
        return "a value that no member has"
    if how == "mode" and weights is None:
        counts = Counter(_like(column, v) for v in values)
        return None if counts[_like(column, value)] == max(counts.values()) else "not the most frequent"
    return None


def _like(column: Column, value: Any) -> Any:
    if column.type in ("float32", "float64"):
        return float(value) + 0.0
    return str(value) if column.type in ("date32", "decimal128(12, 2)") else value


def _of_words(case: Case, column: Column, how: str, values: list[Any], value: Any) -> str | None:
    words = sorted({_word(column, v) for v in values})
    if len(words) == 1:
        return None if value == words[0] or _word(column, value) == words[0] else "not the only value"
    if how == "set":
        return None if str(value) == "{" + ", ".join(words) + "}" else "not the set of the members"
    paths = plain_paths(case.plan["hierarchies"][column.name], column.values, case.files)
    if paths is None or any(word not in paths for word in words):
        return None
    chains = [[word, *paths[word]] for word in words]
    shared = [node for node in chains[0] if all(node in chain for chain in chains)]
    return None if value == shared[0] else "not the closest common ancestor"


def _word(column: Column, value: Any) -> str:
    """Return a value as a name: moments by the calendar, with as many decimals as they have."""
    if not column.type.startswith("timestamp") or isinstance(value, str):
        return text_of(value)
    unit, _, zone = column.type[10:-1].partition(", tz=")
    seconds, rest = divmod(value, PER_SECOND[unit])
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    text = str(moment.astimezone(ZoneInfo(zone)) if zone else moment.replace(tzinfo=None))
    decimals = str(rest * 10**9 // PER_SECOND[unit]).zfill(9).removesuffix("000")
    return text[:19] + (f".{decimals}" if rest else "") + text[19:]


def levels_of(case: Case, column: Column) -> list[Any]:
    """Return the levels of an ordinal column, lowest first: those declared, or the values in their order."""
    declared = case.plan.get("levels", {}).get(column.name) or column.categories
    present = {v for v in column.values if not is_missing(v, markers_of(case, column.name))}
    by_number = Decimal if column.type.startswith("decimal") else None  # their values are texts here
    return list(sorted(present, key=by_number) if declared is None else declared)


def _levels(case: Case, column: Column, values: list[Any], value: str) -> str | None:
    texts = [text_of(level) for level in levels_of(case, column)]
    places = [texts.index(text_of(v)) for v in values]
    low, high = texts[min(places)], texts[max(places)]
    return None if value == (low if low == high else f"[{low}, {high}]") else "not from the lowest to the highest level"


def _interval(case: Case, column: Column, kind: str, numbers: list[Number], value: str, step: Number) -> str | None:
    if column.type.startswith("timestamp[ns"):  # read, compared and written in microseconds
        numbers = [Fraction(number // 1000 * 1000) for number in numbers]
    low, high = min(numbers), max(numbers)
    ends = notations.ends_of(value)
    read = [end_of(column, kind, end) for end in ends]
    slack = Fraction(0) if kind in ("date", "datetime") else _rounding(column, numbers)
    step = step if kind == "continuous" else Fraction(0)
    if read[0] - slack > low or read[1] + slack < high:
        return "the range does not contain its members"
    fewer = column.notation is not None and _digits_of(case, column) is not None
    relative = notation_of(case, column).relative if fewer else Fraction(0)
    pairs = zip(read, (low, high), strict=True)
    close = all(abs(end - number) <= slack + step + relative * abs(number) for end, number in pairs)
    return None if close else "the range is too wide"


def end_of(column: Column, kind: str, text: str) -> Number:
    """Return an end of a published interval as a number, in the units of its column."""
    if column.notation:
        return notations.ALL[column.notation].read(text)
    if kind == "date" and column.type.startswith("timestamp"):
        unit = column.type[10:-1].partition(",")[0]
        return Fraction((date.fromisoformat(text) - date(1970, 1, 1)).days * 86400 * PER_SECOND[unit])
    if kind == "date":
        return Fraction((date.fromisoformat(text) - date(1970, 1, 1)).days)
    if kind == "datetime":
        unit = column.type[10:-1].partition(",")[0]
        moment = datetime.fromisoformat(text.removesuffix(" UTC"))
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        since = moment - datetime(1970, 1, 1, tzinfo=UTC)
        micro = (since.days * 86400 + since.seconds) * 10**6 + since.microseconds
        return Fraction(micro * PER_SECOND[unit], 10**6)
    return Fraction(float(text)) if column.type.startswith("float") else Fraction(Decimal(text))


def _outward(column: Column, kind: str, step: Any, values: list[Any], value: str) -> str | None:
    """Check an interval that ends at multiples of a step: it begins with the cell of the least value of a group."""
    inside = re.fullmatch(r"\[(.+), (.+)\)", value)
    if inside is None:
        return "not an interval that is open above"
    if kind in ("date", "datetime"):
        scale = units_of_a_day(column, kind)
        days = [math.floor(number_of(column)(v) / scale) for v in values]
        wanted = [_cell_of_days(min(days), step)[0] * scale, _cell_of_days(max(days), step)[1] * scale]
        found = [end_of(column, kind, end) for end in inside.groups()]
    else:
        # Numbers in text are read as they are written; the ends are plain numbers, without signs of currency.
        number = number_of(column) if column.notation else _as_printed
        width, numbers = Fraction(str(step)), [number(v) for v in values]
        wanted = [math.floor(min(numbers) / width) * width, (math.floor(max(numbers) / width) + 1) * width]
        found = [Fraction(Decimal(end)) for end in inside.groups()]
    return None if found == wanted else "the interval does not end at the steps around its members"


def _as_printed(value: Any) -> Number:
    return Fraction(repr(value) if isinstance(value, float) else str(value))


def units_of_a_day(column: Column, kind: str) -> Fraction:
    """Return how many units of a column of dates or moments are a day."""
    if column.type.startswith("timestamp"):
        return Fraction(86400 * PER_SECOND[column.type[10:-1].partition(",")[0]])
    return Fraction(86400 * 10**6 if kind == "datetime" else 1)


def _cell_of_days(day: int, step: Any) -> tuple[int, int]:
    """Return the first day of the cell that a day lies in, and the day after its last."""
    if not isinstance(step, str):
        return day // step * step, (day // step + 1) * step
    first = (date(1970, 1, 1) + timedelta(days=day)).replace(day=1)
    first = first.replace(month=1) if step == "year" else first
    after = (first + timedelta(days=366 if step == "year" else 31)).replace(day=1)
    after = after.replace(month=1) if step == "year" else after
    return (first - date(1970, 1, 1)).days, (after - date(1970, 1, 1)).days


def _rounding(column: Column, numbers: list[Number]) -> Number:
    """Return how far a number may be off because of the precision of its column."""
    largest = max(abs(number) for number in numbers)
    relative = Fraction(1, 10**5) if column.type == "float32" else Fraction(1, 10**12)
    return largest * relative + Fraction(5e-324)


def _middle(
    case: Case,
    column: Column,
    kind: str,
    how: str,
    numbers: list[Number],
    value: Number,
    weights: list[Fraction] | None,
    step: Number,
) -> str | None:
    slack = _rounding(column, numbers) + step
    if column.notation:
        slack += abs(value) * notation_of(case, column).relative / 2
    low, high = min(numbers), max(numbers)
    if not low - slack <= value <= high + slack:
        return "outside of its members"
    if weights is not None or how == "geometric-mean":
        return None
    ranked = sorted(numbers)
    if how == "median":
        wanted = ranked[(len(ranked) - 1) // 2]
        if kind == "continuous":
            wanted = (wanted + ranked[len(ranked) // 2]) / 2
    else:
        if how == "trimmed-mean":
            cut = min(math.floor(case.plan.get("trim", 0.2) * len(ranked) + 1e-9), (len(ranked) - 1) // 2)
            ranked = ranked[cut : len(ranked) - cut]
        wanted = sum(ranked, Fraction(0)) / len(ranked)
    return (
        None
        if abs(value - wanted) <= slack
        else f"off by {float(abs(value - wanted) / slack):.3g} of what rounding allows"
    )


def _step(case: Case, column: Column, kind: str) -> Number:
    """Return half of the last place that is published."""
    if column.notation:
        return notation_of(case, column).step
    if kind in ("integer", "date") or (kind == "datetime" and not column.type.startswith("timestamp[ns")):
        unit = column.type[10:-1].partition(",")[0]
        day = 86400 * PER_SECOND[unit] if kind == "date" and column.type.startswith("timestamp") else 1
        return Fraction(day, 2)
    if kind == "datetime":
        return Fraction(1000)
    digits = _digits_of(case, column)
    if column.type.startswith("decimal"):
        digits = 2 if digits is None else min(2, digits)
    if digits is None:
        present = [float(v) for v in column.values if v is not None and math.isfinite(float(v))]
        if column.type == "float32":  # 0.1 is read as one place, as it is printed
            present = [float(str(np.float32(v))) for v in present]
        places = (d for d in range(13) if all(abs(round(v, d) - v) <= 1e-12 * abs(v) for v in present))
        digits = next(places, None)
    return Fraction(0) if digits is None else Fraction(1, 2 * 10**digits)
