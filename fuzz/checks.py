"""All checks of what came out of one input. They use plain Python and know nothing of how Shoal counts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fuzz import cells, losses, markers, models, notations, people, private_checks, published, recoding, sensitive
from fuzz.case import Case, Column
from fuzz.files import as_text, plain
from fuzz.running import Outcome
from fuzz.tables import ROW

# Texts beside the release that may contain no marker at all, and those that may name what is published.
SILENT = ("error", "log", "warnings", "output", "metadata", "categories", "repr")
DOCUMENTS = ("certificate", "report")
# What must hold, what was given instead, a hint.
SHAPE = re.compile(
    r"(?=.*\b(must|may|needs?|Got|has no|have no|is given|cannot|found no|takes no|holds?|looks like|not)\b)"
    r"(k |[A-Z'\"(])[^\n]*[.?]( Hint: [^\n]+)?"
)
# Several problems at once: a line for each, with its number; commands may have folded the lines.
SEVERAL = re.compile(r"\d+ problems must be solved before the table can be released:([\n ]1\. .+)", re.DOTALL)
NEVER = re.compile(r"Traceback|0x[0-9a-f]{6,}|pyarrow\.lib|<class |object at|\bArrow(Invalid|NotImplemented)")


def _has_shape(error: str) -> bool:
    """Return whether an error says what must hold, what was given and what to do, or lists several that do."""
    several = SEVERAL.fullmatch(error)
    gap = "\n" if several is not None and "\n" in several[1] else " "
    # A number that ends a sentence is none of a problem: "only k = 1 would hold, not 2. No role .."
    begins = rf"(?:^|(?<=[.?])){gap}\d+\. (?=k |[A-Z'])(?!Got|Hint)"
    problems = [error] if several is None else re.split(begins, several[1])[1:]
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
        rest = self.rest if plan.get("rest") == "qi" or plan.get("quasi_identifiers") is None else []
        named = (*(plan.get("quasi_identifiers") or ()), *places, *rest)
        return [name for name in case.names if name in named]

    @cached_property
    def rest(self) -> list[str]:
        """Return the columns for which the plan says no role."""
        plan = self.case.plan
        roles = ("quasi_identifiers", "sensitive_attributes", "models", "identifiers", "other", "drop", "stratum")
        said = {name for role in roles for name in plan.get(role) or ()}
        said |= {plan.get("weight"), plan.get("unit"), *(name for pair in plan.get("places", ()) for name in pair)}
        return [name for name in self.case.names if name not in said]

    @property
    def open(self) -> list[str]:
        """Return the columns that are published only if k holds for them too."""
        plan = self.case.plan
        return [] if plan.get("rest") or plan.get("quasi_identifiers") is None else self.rest

    @property
    def strata(self) -> list[str]:
        """Return the columns of strata."""
        return list(self.case.plan.get("stratum", ()))

    @property
    def hidden(self) -> list[str]:
        """Return the columns that must not be published."""
        plan = self.case.plan
        dropped = self.rest if plan.get("rest") == "drop" else ()
        unit = [plan["unit"]] if plan.get("unit") else []
        return [*plan.get("identifiers", ()), *plan.get("drop", ()), *dropped, *unit]

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
    if "dp" in case.plan:
        return found + list(private_checks.check(case, outcome))
    checked = Checked(recoding.coded(notations.declared(case)), outcome)
    for step in (_columns, _rows, _groups, _demands, _untouched, _values, _claims):
        problems = list(step(checked))
        found += problems
        if problems and step in (_columns, _rows):
            break  # the others would only repeat it
    return found


# --- texts ---


def _texts(checked: Checked) -> Iterator[str]:
    texts, table = checked.outcome.texts, checked.outcome.table or {}
    told = recoding.limits(checked.case) if "dp" not in checked.case.plan else private_checks.told(checked.case)
    for name in SILENT:
        for marker in sorted(markers.in_text(texts.get(name, "")) - (told if name == "output" else set())):
            yield f"marker in {name}: {marker} ({_origin(checked.case, marker)})"
    for name in (*DOCUMENTS, "log"):
        for marker in sorted(markers.paths_in(texts.get(name, ""))):
            yield f"path in {name}: {marker}"
    for name in DOCUMENTS:
        shown = markers.in_text(texts.get(name, "")) - told
        shown = shown - markers.in_values(v for values in table.values() for v in values) if shown else shown
        for marker in sorted(shown):
            yield f"marker in {name}: {marker} ({_origin(checked.case, marker)})"
    if table and "dp" not in checked.case.plan:
        forbidden = _planted(checked.case, checked.hidden)
        forbidden -= _planted(checked.case, list(table)) if forbidden else set()  # numbers may be equal by chance
        for marker in sorted(forbidden & markers.in_values(v for values in table.values() for v in values)):
            yield f"marker in table: {marker} ({_origin(checked.case, marker)})"
    error = texts.get("error")
    if error is not None and "Columns without a role" in error and not checked.open:
        yield f"refused for want of a role: {error[:200]}"
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
    if case.plan.get("release") == "strongly-safe" or case.plan.get("suppress"):
        if not set(rows) <= set(wanted):
            yield "rows: some that were to be dropped"
        if case.plan.get("suppress") and not recoding.within_limit(case, len(rows), len(wanted)):
            yield f"suppress: {len(wanted) - len(rows)} of {len(wanted)} records left out"
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
    besides = [([], ""), *([(checked.open, " with what has no role")] if checked.open else [])]
    for columns, words in besides:
        for block in blocks:
            for rows in checked.classes([*block, *checked.strata, *columns]).values():
                if len(rows) < k:
                    yield f"k: {len(rows)} rows are alike{words}, not {k}"
                    break
                if units is not None and checked.rows is not None:
                    different = {models.read_as(units[checked.rows[row]]) for row in rows}
                    if len(different) < k:
                        yield f"units: {len(different)} are alike{words}, not {k}"
                        break
    together = checked.classes([*names, *checked.strata])
    held = min(map(len, together.values()))
    claims = [] if outcome.release is None else [outcome.release.audit.k]
    claims += [] if outcome.certificate is None else [outcome.certificate["k"]["held"]]
    for claim in claims:
        if claim != held:
            yield f"claim of k: {claim}, counted {held}"
    yield from _whole(checked)


def _whole(checked: Checked) -> Iterator[str]:
    """Check what is said of all published columns together; a file may write two values of a table as one."""
    outcome = checked.outcome
    sizes = [len(rows) for rows in checked.classes(list(checked.table)).values()]
    counted = (min(sizes), sizes.count(1))
    claims = [] if outcome.release is None else [(outcome.release.whole.k, outcome.release.whole.unique)]
    if outcome.certificate is not None:
        claims.append((outcome.certificate["k"]["held_for_all"], outcome.certificate["k"]["unique"]))
    for k, unique in claims:
        if (k, unique) != counted and not (checked.case.way["frame"] == "file" and k <= counted[0]):
            yield f"claim of k of all columns: {k} with {unique} unique, counted {counted[0]} with {counted[1]}"


def _demands(checked: Checked) -> Iterator[str]:
    case = checked.case
    for name, texts in sensitive.demands_of(case, checked.known).items():
        if not texts:
            continue  # its hierarchy is not read, and may be none
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
    if case.way["frame"] == "file":  # what is coded is written anew
        passed_on = [name for name in passed_on if not recoding.is_coded(case, name)]
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
    way = case.way
    in_text = way["frame"] == "file" and way["input"] == way["output"] == "csv"
    if release is None or rows is None or not (way["frame"] == "arrow" or in_text) or way.get("stream"):
        return  # what was made in pieces has no labels
    if case.plan.get("release") == "strongly-safe":
        if in_text:
            return
        kinds = {attribute.name: attribute.kind for attribute in release.attributes}
        wrong = cells.wrong(case, kinds, rows, checked.table)
        if wrong:
            yield f"cells: {wrong}"
        return
    for attribute in release.attributes:
        # What type a column has is decided before its values are coded.
        told = not in_text and not recoding.is_coded(case, attribute.name)
        if told and published.is_wrong_for_few(case, attribute):
            yield f"few: {attribute.representative} of {attribute.kind}"
    if case.plan.get("release") == recoding.FORM:
        kinds = {attribute.name: attribute.kind for attribute in release.attributes}
        for wrong in recoding.wrong_levels(case, kinds, rows, checked.table):
            yield f"levels: {wrong}"
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
            if in_text and not (case.column(attribute.name).notation and case.column(attribute.name).type == "string"):
                continue  # in a text file, only numbers and dates in text are as they came
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
    simple = simple and not any(recoding.is_coded(case, name) for name in checked.known)
    if not simple or rows is None or case.seed % 3 or any(a.kind == "place" for a in release.attributes):
        return
    members: dict[int, list[int]] = defaultdict(list)
    for at, label in enumerate(release.labels.tolist()):
        members[label].append(rows[at])
    attributes = [(case.column(a.name), a.kind, a.importance) for a in release.attributes]
    wanted = losses.plain_loss(case, attributes, list(members.values()))
    if wanted is not None and abs(wanted - release.loss) > 1e-6:
        yield f"loss: {release.loss:.9g} said, {wanted:.9g} computed"
