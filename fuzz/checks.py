"""All checks of what came out of one input. They use plain Python and know nothing of how Shoal counts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fuzz import cells, losses, markers, models, people, published, sensitive
from fuzz.case import Case, Column
from fuzz.files import as_text, plain
from fuzz.running import Outcome
from fuzz.tables import ROW

# Texts beside the release that may contain no marker at all, and those that may name what is published.
SILENT = ("error", "log", "warnings", "output", "metadata", "categories", "repr")
DOCUMENTS = ("certificate", "report")
# What must hold, what was given instead, a hint.
SHAPE = re.compile(
    r"(?=.*\b(must|may|needs?|Got|has no|have no|is given|cannot|takes no|holds?|looks like|not)\b)"
    r"(k |[A-Z'\"(])[^\n]*[.?]( Hint: [^\n]+)?"
)
# Several problems at once: a line for each, with its number; commands may have folded the lines.
SEVERAL = re.compile(r"\d+ problems must be solved before the table can be released:([\n ]1\. .+)", re.DOTALL)
NEVER = re.compile(r"Traceback|0x[0-9a-f]{6,}|pyarrow\.lib|<class |object at|\bArrow(Invalid|NotImplemented)")


def _has_shape(error: str) -> bool:
    """Return whether an error says what must hold, what was given and what to do, or lists several that do."""
    several = SEVERAL.fullmatch(error)
    problems = [error] if several is None else re.split(r"[\n ]\d+\. (?=[A-Z'])", several[1])[1:]
    return all(SHAPE.fullmatch(problem) for problem in problems)


@dataclass
class Checked:
    """An input and what came out of it, with the roles of the columns as the plan says them."""

    case: Case
    outcome: Outcome

    @cached_property
    def known(self) -> list[str]:
        """Return the quasi-identifiers, in the order of the columns."""
        plan, case = self.case.plan, self.case
        places = [name for pair in plan.get("places", ()) for name in pair]
        if plan.get("quasi_identifiers") is not None:
            return [name for name in case.names if name in (*plan["quasi_identifiers"], *places)]
        taken = {*self.hidden, *plan.get("other", ()), *self.strata, *plan.get("sensitive_attributes", ())}
        taken |= {*plan.get("models", {}), plan.get("weight")}
        return [name for name in case.names if name in places or name not in taken]

    @property
    def strata(self) -> list[str]:
        """Return the columns of strata."""
        return list(self.case.plan.get("stratum", ()))

    @property
    def hidden(self) -> list[str]:
        """Return the columns that must not be published."""
        unit = self.case.plan.get("unit")
        return [*self.case.plan.get("identifiers", ()), *([unit] if unit else [])]

    @cached_property
    def table(self) -> dict[str, list[Any]]:
        """Return the published table."""
        return self.outcome.table or {}

    @cached_property
    def rows(self) -> list[int] | None:
        """Return the original row of each published row, or None if nothing tells."""
        if ROW in self.table and ROW not in self.known:
            return [int(float(value)) - 1 for value in self.table[ROW]]
        n = len(next(iter(self.table.values())))
        return list(range(n)) if n == self.case.rows and not self.case.plan.get("shuffle") else None

    def classes(self, names: list[str]) -> dict[tuple[Any, ...], list[int]]:
        """Return the published rows that are equal in some columns, by what they are equal in."""
        found: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for at, key in enumerate(zip(*(map(strict, self.table[name]) for name in names), strict=True)):
            found[key].append(at)
        return found


def strict(value: Any) -> Any:
    """Return a key that is equal for equal values of the same type only; 0 and -0, null and NaN differ."""
    if value is None or isinstance(value, str):
        return value
    return (type(value).__name__, value.hex()) if isinstance(value, float) else (type(value).__name__, repr(value))


def check(case: Case, outcome: Outcome) -> list[str]:
    """Return everything that is wrong with what came out, in words that begin with its kind."""
    found = list(outcome.faults)
    checked = Checked(case, outcome)
    found += _texts(checked)
    if outcome.kind != "released":
        return found
    for step in (_columns, _rows, _groups, _demands, _untouched, _values, _claims):
        problems = list(step(checked))
        found += problems
        if problems and step in (_columns, _rows):
            break  # the others would only repeat it
    return found


# --- texts ---


def _texts(checked: Checked) -> Iterator[str]:
    texts, table = checked.outcome.texts, checked.outcome.table or {}
    for name in SILENT:
        for marker in sorted(markers.in_text(texts.get(name, ""))):
            yield f"marker in {name}: {marker} ({_origin(checked.case, marker)})"
    for name in (*DOCUMENTS, "log"):
        for marker in sorted(markers.paths_in(texts.get(name, ""))):
            yield f"path in {name}: {marker}"
    for name in DOCUMENTS:
        shown = markers.in_text(texts.get(name, ""))
        shown = shown - markers.in_values(v for values in table.values() for v in values) if shown else shown
        for marker in sorted(shown):
            yield f"marker in {name}: {marker} ({_origin(checked.case, marker)})"
    if table:
        forbidden = _planted(checked.case, checked.hidden)
        forbidden -= _planted(checked.case, list(table)) if forbidden else set()  # numbers may be equal by chance
        for marker in sorted(forbidden & markers.in_values(v for values in table.values() for v in values)):
            yield f"marker in table: {marker} ({_origin(checked.case, marker)})"
    error = texts.get("error")
    if error is not None and (not _has_shape(error) or NEVER.search(error)):
        yield f"shape of error: {error[:200]}"


def _planted(case: Case, names: list[str]) -> set[str]:
    """Return the markers in the original values of some columns."""
    return markers.in_values(v for column in case.columns if column.name in names for v in column.values)


def _origin(case: Case, marker: str) -> str:
    """Return where a marker was planted."""
    for column in case.columns:
        if any(marker in str(value) for value in column.values):
            return f"values of {column.kind}"
        if any(marker in word for word in column.categories or ()):
            return f"categories of {column.kind}"
    places = {**case.plan, "metadata": case.metadata, "files": case.files}
    return next((place for place, value in places.items() if marker in str(value)), "nowhere")


# --- rows and columns ---


def _columns(checked: Checked) -> Iterator[str]:
    wanted = [name for name in checked.case.names if name not in checked.hidden]
    if list(checked.table) != wanted:
        yield "columns: not those that are to be published"


def _rows(checked: Checked) -> Iterator[str]:
    case, rows = checked.case, checked.rows
    lengths = {len(values) for values in checked.table.values()}
    if len(lengths) != 1:
        yield "rows: columns of different length"
        return
    if rows is None:
        return
    if len(set(rows)) < len(rows) or (not case.plan.get("shuffle") and rows != sorted(rows)):
        yield "rows: not in their order"
    wanted = list(range(case.rows))
    if case.plan.get("missing") == "drop" and case.way["frame"] != "file":
        gone = [
            {
                at
                for at, v in enumerate(case.column(name).values)
                if published.is_missing(v, published.markers_of(case, name))
            }
            for name in checked.known
        ]
        wanted = sorted(set(wanted).difference(*gone))
    elif case.plan.get("missing") == "drop":
        return
    if case.plan.get("release") == "strongly-safe":
        if not set(rows) <= set(wanted):
            yield "rows: some that were to be dropped"
    elif sorted(rows) != wanted:
        yield f"rows: {len(rows)} published, not {len(wanted)}"


def _groups(checked: Checked) -> Iterator[str]:
    """Check k in rows and units, in every block, and that the release says the same."""
    case, outcome = checked.case, checked.outcome
    k, names = case.plan.get("k") or 5, checked.known
    blocks = [names]
    if case.plan.get("blocks", "joint") != "joint":
        blocks = [list(block.columns) for block in outcome.release.blocks] if outcome.release is not None else []
        if sorted(name for block in blocks for name in block) != sorted(names) and blocks:
            yield "blocks: not all quasi-identifiers"
    units = case.column(case.plan["unit"]).values if "unit" in case.plan and checked.rows is not None else None
    for block in blocks:
        for rows in checked.classes([*block, *checked.strata]).values():
            if len(rows) < k:
                yield f"k: {len(rows)} rows are alike, not {k}"
                break
            if units is not None and checked.rows is not None:
                different = {models.read_as(units[checked.rows[row]]) for row in rows}
                if len(different) < k:
                    yield f"units: {len(different)} are alike, not {k}"
                    break
    together = checked.classes([*names, *checked.strata])
    held = min(map(len, together.values()))
    claims = [] if outcome.release is None else [outcome.release.audit.k]
    claims += [] if outcome.certificate is None else [outcome.certificate["k"]["held"]]
    for claim in claims:
        if claim != held:
            yield f"claim of k: {claim}, counted {held}"


def _demands(checked: Checked) -> Iterator[str]:
    case = checked.case
    for name, texts in sensitive.demands_of(case, checked.known).items():
        values = [models.read_as(value) for value in checked.table[name]]
        whole = Counter(values)
        classes = list(checked.classes([*checked.known, *checked.strata]).values())
        groups = [Counter(values[row] for row in rows) for rows in classes]
        grounds = sensitive.grounds_of(case, name, set(whole))
        pairs = None
        if "unit" in case.plan and checked.rows is not None:
            units = case.column(case.plan["unit"]).values
            pairs = [(models.read_as(units[row]), value) for row, value in zip(checked.rows, values, strict=True)]
        for text in texts:
            if grounds is None and "closeness" in text:
                continue
            on = grounds or {"auto": models.Ground()}
            short = models.falls_short(text, groups, whole, on)
            if not short and pairs is not None:
                short = models.falls_short_in_units(text, [[pairs[row] for row in rows] for rows in classes], pairs, on)
            if short:
                yield f"model {text.split()[0]}: {text} of {case.column(name).kind}, measured {short}"
    release = checked.outcome.release
    if case.population is not None and release is not None and case.way["frame"] == "arrow":
        kinds = {column: a.kind for a in release.attributes for column in a.columns}
        rows = list(zip(*(checked.table[column] for column in checked.known), strict=True))
        wrong = people.falls_short(case, kinds, rows, checked.known)
        if wrong:
            yield f"population {wrong}"


def _untouched(checked: Checked) -> Iterator[str]:
    """Check that all other columns are passed on as they came: to the bit where nothing is converted on the way."""
    case, rows = checked.case, checked.rows
    passed_on = [name for name in checked.table if name not in (*checked.known, *checked.strata)]
    for column in map(case.column, passed_on if rows is not None else ()):
        before, same = _original(case, column)
        after = checked.table[column.name]
        if before is not None and any(same(before[row]) != same(v) for row, v in zip(rows or (), after, strict=True)):
            yield f"untouched: {column.kind} ({column.type}) has changed"


def _original(case: Case, column: Column) -> tuple[list[Any] | None, Callable[[Any], Any]]:
    """Return the values of a column as they are to be published (None if that is not simple), and how to compare."""
    way = case.way
    if way["frame"] == "arrow":
        return (column.values if column.type.startswith("timestamp") else plain(column)), strict
    if way["frame"] == "file" and way["input"] == way["output"] == "csv":
        return [None if v is None else as_text(v, column.type) for v in column.values], strict
    return (column.values if column.kind in ("word", "integer", ROW) else None), models.read_as


# --- what groups publish, and what the release says of itself ---


def _values(checked: Checked) -> Iterator[str]:
    case, release, rows = checked.case, checked.outcome.release, checked.rows
    if release is None or rows is None or case.way["frame"] != "arrow":
        return
    if case.plan.get("release") == "strongly-safe":
        kinds = {attribute.name: attribute.kind for attribute in release.attributes}
        wrong = cells.wrong(case, kinds, rows, checked.table)
        if wrong:
            yield f"cells: {wrong}"
        return
    if case.plan.get("shuffle") and len(release.blocks) > 1:
        return
    for block in release.blocks:
        labels = (release.labels if len(release.blocks) == 1 else block.labels).tolist()
        members: dict[int, list[int]] = defaultdict(list)
        for at, label in enumerate(labels):
            members[label].append(at)
        groups = [[rows[at] for at in group] for group in members.values()]
        if any(len(group) < (case.plan.get("k") or 5) for group in groups):
            yield "groups: fewer than k records"
        for attribute in release.attributes:
            if attribute.kind == "place" or attribute.name not in block.attributes:
                continue
            values = _values_of_groups(checked, attribute.name, members)
            if values is None:
                yield f"groups: several values of {attribute.kind} in one"
                continue
            args = (case.column(attribute.name), attribute.kind, attribute.representative)
            wrong = published.check(case, *args, groups, values)
            if wrong:
                yield f"published: {wrong}"


def _values_of_groups(checked: Checked, name: str, members: dict[int, list[int]]) -> list[Any] | None:
    """Return the value that each group publishes; None if one publishes several."""
    column = checked.table[name]
    if any(len({strict(column[at]) for at in group}) > 1 for group in members.values()):
        return None
    return [column[group[0]] for group in members.values()]


def _claims(checked: Checked) -> Iterator[str]:
    case, release, rows = checked.case, checked.outcome.release, checked.rows
    if release is None:
        return
    if not 0 <= release.loss <= 1 + 1e-12:
        yield f"loss: {release.loss}"
    simple = case.way["frame"] == "arrow" and len(release.blocks) == 1 and rows is not None
    if not simple or rows is None or case.seed % 3 or any(a.kind == "place" for a in release.attributes):
        return
    members: dict[int, list[int]] = defaultdict(list)
    for at, label in enumerate(release.labels.tolist()):
        members[label].append(rows[at])
    attributes = [(case.column(a.name), a.kind, a.importance) for a in release.attributes]
    wanted = losses.plain_loss(case, attributes, list(members.values()))
    if wanted is not None and abs(wanted - release.loss) > 1e-6:
        yield f"loss: {release.loss:.9g} said, {wanted:.9g} computed"
