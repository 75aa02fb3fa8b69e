"""Makes an input smaller as long as the same thing goes wrong: fewer rows, columns, options."""

from __future__ import annotations

import copy
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzz import checks, markers, running
from fuzz.case import Case, Column
from fuzz.tables import ROW

Wrong = Callable[[Case], bool]
# Where files are quick to write, if the system has such a place.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
NUMBERS = re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)?|inf|nan")
PLANTED = re.compile(rf"({markers.WORD}|{markers.PATH})[a-z]{{6}}|{markers.NUMBER}[0-9]{{7}}")


def signature(finding: str) -> str:
    """Return what findings of the same cause have in common: their words without markers and numbers."""
    return NUMBERS.sub("#", PLANTED.sub("MARKER", finding.splitlines()[0]))[:110]


def findings(case: Case) -> tuple[str, list[str]]:
    """Return how an input ended ("released", "refused", ..) and what was wrong with what came out."""
    if not case.needs_folder:
        outcome = running.run(case, Path("."))
        return outcome.kind, checks.check(case, outcome)
    with TemporaryDirectory(prefix="fuzz", dir=MEMORY) as folder:
        outcome = running.run(case, Path(folder))
    return outcome.kind, checks.check(case, outcome)


def shrunk(case: Case, wanted: str, seconds: float = 20.0) -> Case:
    """Return a smaller input with a finding of the wanted signature."""
    end = time.monotonic() + seconds

    def wrong(one: Case) -> bool:
        if time.monotonic() > end:
            return False
        try:
            return any(signature(finding) == wanted for finding in findings(one)[1])
        except Exception:  # a check that cannot read the smaller input
            return False

    smaller = True
    while smaller and time.monotonic() < end:
        smaller = False
        for candidate in _candidates(case):
            if wrong(candidate):
                case, smaller = candidate, True
                break
        case = _fewer_rows(case, wrong)
    return case


def _candidates(case: Case) -> Iterator[Case]:
    """Yield inputs without one thing."""
    for key in ("report", "certificate"):
        if case.way.get(key):
            yield _changed(case, way={**case.way, key: False})
    if case.way["frame"] != "arrow":
        yield _changed(case, way={"frame": "arrow", "report": False, "certificate": True})
    if case.way.get("cli"):
        yield _changed(case, way={**case.way, "cli": ""})
    if case.metadata:
        yield _changed(case, metadata={})
    for column in case.columns:
        if len(case.columns) > 1:
            yield _without_column(case, column.name)
    for field, value in case.plan.items():
        yield _changed(case, plan={key: one for key, one in case.plan.items() if key != field})
        if isinstance(value, dict):
            for name in value:
                rest = {key: one for key, one in value.items() if key != name}
                yield _changed(case, plan={**case.plan, field: rest})


def _changed(case: Case, **fields: object) -> Case:
    new = copy.deepcopy(case)
    for name, value in fields.items():
        setattr(new, name, copy.deepcopy(value))
    return new


def _without_column(case: Case, name: str) -> Case:
    new = copy.deepcopy(case)
    new.columns = [column for column in new.columns if column.name != name]
    if new.population is not None:
        new.population = [column for column in new.population if column.name != name]
    for field, value in list(new.plan.items()):
        if isinstance(value, dict):
            value.pop(name, None)
        elif isinstance(value, list) and name in value:
            value.remove(name)
        elif (isinstance(value, list) and any(isinstance(one, list) and name in one for one in value)) or value == name:
            del new.plan[field]
        if field in new.plan and new.plan[field] in ({}, []):
            del new.plan[field]
    return new


def _fewer_rows(case: Case, wrong: Wrong) -> Case:
    """Leave out halves, quarters, .. and single rows, first of the table, then of the population."""
    for which in ("columns", "population"):
        columns: list[Column] | None = getattr(case, which)
        size = len(columns[0].values) // 2 if columns else 0
        while size >= 1:
            start = 0
            while columns and start < len(columns[0].values):
                new = copy.deepcopy(case)
                for column in getattr(new, which):
                    del column.values[start : start + size]
                    if column.kind == ROW:
                        column.values = list(range(1, len(column.values) + 1))
                if new.rows and wrong(new):
                    case, columns = new, getattr(new, which)
                else:
                    start += size
            size //= 2
    return case
