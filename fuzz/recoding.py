"""Suppression limits, full-domain generalisation, top coding and rounding: random plans, and their plain checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from random import Random
from typing import Any

from fuzz import markers
from fuzz.case import Case, Column
from fuzz.files import plain
from fuzz.published import days_of_moments, is_missing, markers_of, units_of_a_day
from fuzz.trees import ROOT, plain_paths, text_of

FORM = "full-domain"
# Kinds of columns that are coded: those whose values are plain numbers or dates.
CODED = ("integer", "float", "date")
FIELDS = ("top_coding", "bottom_coding", "rounding")
# Fields of a plan that a full-domain release does not take.
NOT_TAKEN = (
    *("method", "options", "refine", "random_state", "bound", "enforcement", "representatives", "digits", "trim"),
    *("blocks", "small_strata", "cells", "k_map", "presence"),
)


# --- plans ---


def change(random: Random, plan: dict[str, Any], known: list[Column], others: list[Column]) -> None:
    """Add what this module is about to some plans, in place."""
    if plan.get("release") != "strongly-safe":
        if random.random() < 0.1 and "k_map" not in plan and "presence" not in plan:
            for field in NOT_TAKEN:
                plan.pop(field, None)
            plan["release"] = FORM
        if random.random() < (0.5 if plan.get("release") == FORM else 0.04) and "blocks" not in plan:
            plan["suppress"] = random.choice((0.02, 0.1, 0.1, 0.3, 0.7))
    if random.random() < 0.1:
        fitting = [c for c in (*known, *others) if c.type in ("int64", "float64", "date32") and c.kind in CODED]
        for column in fitting[:2]:
            _code(random, plan, column)


def _code(random: Random, plan: dict[str, Any], column: Column) -> None:
    values = sorted(v for v in column.values if v is not None and v == v and v not in (float("inf"), -float("inf")))
    if not values or values[0] == values[-1]:
        return
    if random.random() < 0.6:
        plan.setdefault("top_coding", {})[column.name] = values[-1 - len(values) // 4]
    if random.random() < 0.4 and values[len(values) // 4] < values[-1 - len(values) // 4]:
        plan.setdefault("bottom_coding", {})[column.name] = values[len(values) // 4]
    if random.random() < 0.5 and column.type != "date32":
        plan.setdefault("rounding", {})[column.name] = random.choice((1, 5, 100))


# --- values as they are after coding ---


def is_coded(case: Case, name: str) -> bool:
    """Return whether the plan changes the values of a column."""
    return any(name in case.plan.get(field, {}) for field in FIELDS)


def limits(case: Case) -> set[str]:
    """Return the markers among the limits that the plan sets: they are published, as whoever wrote it asked for."""
    return markers.in_values(limit for field in FIELDS for limit in case.plan.get(field, {}).values())


def coded(case: Case) -> Case:
    """Return the input with the values that the plan asks to be changed."""
    if not any(field in case.plan for field in FIELDS):
        return case
    columns = [
        replace(c, values=[_after(case, c, v) for v in c.values]) if is_coded(case, c.name) else c for c in case.columns
    ]
    return replace(case, columns=columns)


def _after(case: Case, column: Column, value: Any) -> Any:
    if is_missing(value, markers_of(case, column.name) if _may_be_known(case, column.name) else []):
        return value
    top, bottom, step = (case.plan.get(field, {}).get(column.name) for field in FIELDS)
    if step is not None:
        nearest = (_exact(value) / _exact(step) + Fraction(1, 2)).__floor__() * _exact(step)
        value = type(value)(nearest)
    value = value if bottom is None or value >= bottom else _limit(value, bottom)
    return value if top is None or value <= top else _limit(value, top)


def _limit(value: Any, limit: Any) -> Any:
    """Return a limit as a column holds it: a zero that is computed has no sign."""
    return limit + 0.0 if isinstance(value, float) else type(value)(limit)


def _may_be_known(case: Case, name: str) -> bool:
    """Return whether a column is a quasi-identifier: in others, what stands for a missing value is a value."""
    plan = case.plan
    others = {*plan.get("sensitive_attributes", ()), *plan.get("other", ()), *plan.get("models", ())}
    return name in plan.get("quasi_identifiers", ()) or name not in others


def _exact(value: Any) -> Fraction:
    return Fraction(Decimal(repr(value)))


# --- checks ---


def within_limit(case: Case, published: int, wanted: int) -> bool:
    """Return whether at most the allowed share of records is left out."""
    share = Decimal(repr(case.plan.get("suppress", 0)))
    return 0 <= wanted - published <= int((share * wanted).to_integral_value(ROUND_FLOOR))


def wrong_levels(case: Case, kinds: dict[str, str], rows: list[int], table: dict[str, list[Any]]) -> Iterator[str]:
    """Yield the columns of a full-domain release that are not on one level."""
    for name, kind in kinds.items():
        column, after = case.column(name), table[name]
        if all(value == ROOT for value in after):
            continue
        gone = [is_missing(column.values[row], markers_of(case, name)) for row in rows]
        if any(lost != (value is None or value != value) for lost, value in zip(gone, after, strict=True)):
            yield f"{kind} ({column.kind}): a value is missing that was there, or the reverse"
            continue
        present = [(row, value) for row, value, lost in zip(rows, after, gone, strict=True) if not lost]
        paths = plain_paths(case.plan["hierarchies"][name], column.values, case.files) if kind == "hierarchical" else {}
        if paths is None:
            continue
        if column.notation:
            # How a number or a date is written is checked elsewhere: here, equal ones are equal and others differ.
            pairs = {(plain(column)[row], value) for row, value in present}
            if not len(pairs) == len({before for before, _ in pairs}) == len({value for _, value in pairs}):
                yield f"{kind} ({column.kind}): not on one level"
            continue
        before = column.values if column.type.startswith("timestamp") else plain(column)
        nano = 1000 if column.type.startswith("timestamp[ns") else 1  # moments are compared in microseconds
        if nano > 1:
            present = [(row, value // nano) for row, value in present]
        # Moments that are taken for dates lose the time of the day.
        unit = int(units_of_a_day(column, kind)) if days_of_moments(column, kind) else nano
        before = [None if value is None else value // unit * unit // nano for value in before] if unit > 1 else before
        chains = [_chain(column.values[row], before[row], paths) for row, _ in present]
        deepest = max(map(len, chains), default=1)
        on = [
            level
            for level in range(deepest)
            if all(
                _same(value, chain[min(level, len(chain) - 1)])
                for chain, (_, value) in zip(chains, present, strict=True)
            )
        ]
        if not on:
            yield f"{kind} ({column.kind}): not on one level"


def _chain(value: Any, before: Any, paths: dict[str, list[str]]) -> list[Any]:
    return [before, *paths.get(text_of(value), [])]


def _same(published: Any, expected: Any) -> bool:
    if isinstance(expected, date) and isinstance(published, str):
        return published.startswith(expected.isoformat()[:10])
    if isinstance(expected, float) and isinstance(published, str) and published != ROOT:
        published = float(published)  # written with all of its digits
    if isinstance(published, float) and isinstance(expected, float):
        return published + 0.0 == expected + 0.0
    return bool(published == expected or text_of(published) == text_of(expected))
