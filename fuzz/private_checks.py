"""Checks of differentially private releases, from definitions: declared values, a ledger that adds up, silence."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any

from fuzz import markers
from fuzz.case import Case
from fuzz.models import read_as
from fuzz.private import WITH_DELTA, declared_of
from fuzz.running import Outcome
from fuzz.trees import text_of

PARTS = {
    *("kind", "format", "created", "versions", "output", "release", "options", "rows", "columns", "epsilon"),
    *("delta", "neighbours", "spent", "ledger", "domain", "said"),
}
UNITS = (1, 10**3, 10**6, 10**9)


def told(case: Case) -> set[str]:
    """Return the markers that the domain declares: they are public."""
    return markers.in_text(json.dumps(declared_of(case), default=str, ensure_ascii=False))


def check(case: Case, outcome: Outcome) -> Iterator[str]:
    """Yield what is wrong with a private release."""
    table, domain = outcome.table or {}, declared_of(case)
    columns = domain.get("columns", domain)
    aggregated = case.plan.get("options", {}).get("form") == "aggregated"
    if list(table) != [*columns, *(["count"] if aggregated else [])]:
        yield "private columns: not those of the domain"
        return
    lengths = {len(values) for values in table.values()}
    if len(lengths) != 1:
        yield "private rows: columns of different length"
    for name, declared in columns.items():
        if not all(_inside(value, declared) for value in table[name]):
            yield f"private values: some of {declared['kind']} are not declared"
    if aggregated and not all(float(count) >= 0 and float(count) == int(float(count)) for count in table["count"]):
        yield "private counts: some are none"
    every = {marker for column in case.columns for marker in markers.in_values(column.values)}
    shown = markers.in_values(value for values in table.values() for value in values)
    for marker in sorted(shown & (every - told(case))):
        yield f"marker in private table: {marker}"
    yield from _units(case, outcome)
    yield from _ledger(case, outcome)
    yield from _silence(case, outcome, max(lengths, default=0))


def _units(case: Case, outcome: Outcome) -> Iterator[str]:
    """Check that rows of a unit beyond the declared number were left out, however the unit is written."""
    if outcome.release is None or "unit" not in case.plan:
        return
    rows = Counter(map(read_as, case.column(case.plan["unit"]).values)).values()
    beyond = sum(max(0, number - declared_of(case)["rows_per_unit"]) for number in rows)
    if outcome.release.rows_left_out != beyond:
        yield f"private units: {outcome.release.rows_left_out} rows were left out, not {beyond}"


def _ledger(case: Case, outcome: Outcome) -> Iterator[str]:
    budgets = Fraction(str(case.plan["epsilon"])), Fraction(str(case.plan.get("delta", 0)))
    if outcome.release is not None:
        entries = outcome.release.ledger.entries
        spent = sum(entry.epsilon for entry in entries), sum(entry.delta for entry in entries)
        if spent[0] > budgets[0] or spent[1] > budgets[1]:
            yield "private ledger: more was spent than granted"
        if spent[0] < budgets[0] * Fraction(999, 1000):
            yield "private ledger: less was spent than granted"
    if outcome.certificate is None:
        return
    certificate = outcome.certificate
    for at, name in enumerate(("epsilon", "delta")):
        paid = sum((Fraction(entry[name]) for entry in certificate["ledger"]), Fraction(0))
        # Entries are rounded up to six digits.
        if paid * (1 - Fraction(1, 10**5)) > budgets[at] or Fraction(certificate["spent"][name]) > budgets[at]:
            yield f"private certificate: more {name} than granted"
        if Fraction(certificate[name]) != budgets[at]:
            yield f"private certificate: another {name}"
    if bool(Fraction(certificate["delta"])) != (case.plan["dp"] in WITH_DELTA):
        yield "private certificate: a delta that is not needed, or none"


def _silence(case: Case, outcome: Outcome, rows: int) -> Iterator[str]:
    """Check that the number of records is nowhere."""
    if outcome.certificate is not None:
        if set(outcome.certificate) != PARTS:
            yield "private certificate: other parts"
        rest = {key: outcome.certificate.get(key) for key in ("neighbours", "ledger", "said", "spent", "release")}
        declared = re.findall(r"\d+", json.dumps([case.plan, declared_of(case)], default=str))
        if case.rows > 100 and str(case.rows) not in declared and _is_named(case.rows, json.dumps(rest)):
            yield "private certificate: the number of records"
    report = re.sub(r"<style>.*?</style>", "", outcome.texts.get("report", ""), flags=re.DOTALL)
    public = json.dumps([case.plan, declared_of(case), outcome.certificate], default=str)
    if report and case.rows > 100 and case.rows != rows and not _is_named(case.rows, public):
        # Sizes of domains are told too.
        sizes = {match.replace(",", "") for match in re.findall(r"([\d,]+) (?:declared )?values", report)}
        if str(case.rows) not in sizes and _is_named(case.rows, report):
            yield "private report: the number of records"


def _is_named(number: int, text: str) -> bool:
    return re.search(rf"(?<![\d.,\w-]){number}(?![\d\w-]|[.,]\d)", text) is not None


# --- declared values ---


def _inside(value: Any, declared: dict[str, Any]) -> bool:
    """Return whether a published value is one of those that a domain declares."""
    kind = declared["kind"]
    if value is None or value != value:
        return False
    if kind in ("integer", "continuous"):
        return _on_grid(float(value), float(declared["lower"]), float(declared["upper"]), declared.get("step", 0))
    if kind in ("date", "datetime"):
        lower, upper = _seconds(declared["lower"]), _seconds(declared["upper"])
        found = [value / unit for unit in UNITS] if isinstance(value, int | float) else [_seconds(value)]
        step = declared.get("step", 1) * (86400 if kind == "date" else 1)
        return any(_on_grid(one, lower, upper, step) for one in found)
    if kind == "boolean":
        return text_of(value).lower() in ("true", "false", "0", "1")
    words = declared["values"] if "values" in declared else _leaves(declared["hierarchy"])
    return text_of(value) in {text_of(word) for word in words}


def _on_grid(value: float, lower: float, upper: float, step: float) -> bool:
    slack = 1e-9 * max(abs(lower), abs(upper), 1.0)
    if not lower - slack <= value <= upper + slack:
        return False
    places = (value - lower) / step if step else 0.0
    return abs(places - round(places)) < 1e-6


def _seconds(value: Any) -> float:
    """Return a date, a moment or its text as seconds since 1970."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=value.tzinfo or UTC).timestamp()
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp()
    return float("nan")


def _leaves(tree: Any) -> list[str]:
    """Return the names of a nested hierarchy that have none below them."""
    if isinstance(tree, list):
        return [leaf for node in tree for leaf in (_leaves(node) if isinstance(node, dict | list) else [node])]
    return [leaf for node, below in tree.items() for leaf in (_leaves(below) if below else [node])]
