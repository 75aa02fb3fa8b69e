"""Updates of random releases: a table comes in up to four parts, and what all releases tell is counted plainly."""

from __future__ import annotations

import tempfile
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from fuzz import checks, files, models, recoding, sensitive
from fuzz.case import Case, frame_of
from fuzz.running import Outcome, fields_of
from fuzz.tables import ROW

SHARES = (0.3, 0.5, 0.8)
Row = tuple[str, ...]


def examined(case: Case) -> tuple[str, list[str]]:
    """Return how updates ended ("released", "refused" or "skipped"), and what was wrong."""
    import shoal

    draw = Random(case.seed)
    way = {**case.way, "frame": case.way["frame"] if case.way["frame"] != "file" else "arrow", "cut": None}
    split = round(case.rows * draw.choice(SHARES))
    options = _options(case, draw)
    if case.population is not None or split == 0:
        return "skipped", []
    ends = _ends(case.rows, split, Random(f"{case.seed} ends"))
    parts = [_rows(case, start, stop) for start, stop in pairwise([0, *ends])]
    releases: list[Any] = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, text in case.files.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        try:
            releases.append(shoal.anonymize(frame_of(parts[0].columns, way), **fields_of(case, Path(folder))))
        except shoal.ShoalError:
            return "skipped", []
        found: list[str] = []
        for part in parts[1:]:
            try:
                releases.append(shoal.update(releases[-1], frame_of(part.columns, way), **options))
            except shoal.ShoalError as error:
                found += checks.check(case, Outcome("refused", texts={"error": str(error)}))
                break
            except Exception as error:
                at = traceback.extract_tb(error.__traceback__)[-1]
                return "failed", [f"{type(error).__name__} at {Path(at.filename).name} in {at.name}: {error}"]
    tables = [files.frame_values(one.table) for one in releases]
    for earlier, later, made in zip(tables, tables[1:], releases[1:], strict=False):
        found += _Pair(recoding.coded(case), earlier, later, made, options).wrong()
    if len(releases) > 2 and not found:
        found += _together(case, tables, releases, options)
    return "released" if len(releases) > 1 else "refused", found


def _options(case: Case, draw: Random) -> dict[str, Any]:
    """Return the options of updates."""
    options: dict[str, Any] = {}
    k = case.plan.get("k") or 5
    if draw.random() < 0.4 and isinstance(k, int) and k > 1:
        options["newcomers"] = draw.randint(1, k - 1)
        options["allow_differences"] = draw.random() < 0.5
    elif draw.random() < 0.5:
        options["allow_changes"] = True
    if not options.get("allow_differences") and Random(f"{case.seed} invariance").random() < 0.2:
        options["invariance"] = 2
    return options


def _ends(rows: int, split: int, draw: Random) -> list[int]:
    """Return where parts end: the first release, and those who join in one to three updates."""
    more = draw.choice((0, 0, 1, 2))
    return sorted({split, rows, *(draw.randint(split, rows) for _ in range(more))} - {0})


def _rows(case: Case, start: int, stop: int) -> Case:
    return replace(case, columns=[replace(one, values=one.values[start:stop]) for one in case.columns])


@dataclass
class _Pair:
    """A release and its update, as values.

    Attributes
    ----------
    case : Case
        With the values of all parts, as they are published where they are coded.
    before, after : {name: values}
        Both tables.
    made : Update
    options : {str: value}
        Those of the update.
    """

    case: Case
    before: dict[str, list[Any]]
    after: dict[str, list[Any]]
    made: Any
    options: dict[str, Any]

    def wrong(self) -> list[str]:
        """Return what is wrong, counted on the values of both tables."""
        if list(self.before) != list(self.after):
            return ["update: other columns than before"]
        self.checked = checks.Checked(self.case, Outcome("released", table=self.after))
        self.names = list(self.before)
        self.blocks = [list(block) for block in self.made.blocks]
        self.k = self.case.plan.get("k") or 5
        self.least = self.options.get("newcomers", self.k)
        self.rows = [_texts(table) for table in (self.before, self.after)]
        found = list(self._order())
        if found:
            return found
        self.kept, self.new = self._parted()
        for step in (self._sizes, self._units, self._models, self._invariance):
            found += list(step())
        return found

    def _order(self) -> Iterator[str]:
        """Check that the rows of the earlier release are there, unchanged, and first where they are in order."""
        n = len(self.rows[0])
        if self.made.intersection.changed:
            known = {name for block in self.blocks for name in block}
            others = [at for at, name in enumerate(self.names) if name not in known]
            if any(a[at] != b[at] for a, b in zip(self.rows[0], self.rows[1][:n], strict=True) for at in others):
                yield "update: rows are not in order"
            if not self.options.get("allow_changes"):
                yield "update: rows have changed"
            changed = sum(a != b for a, b in zip(self.rows[0], self.rows[1][:n], strict=True))
            if changed != self.made.intersection.changed:
                yield f"update: {changed} rows have changed, not {self.made.intersection.changed}"
        elif Counter(self.rows[0]) - Counter(self.rows[1]):
            yield "update: rows of the earlier release are gone"
        elif not self.case.plan.get("shuffle") and self.rows[0] != self.rows[1][:n]:
            yield "update: rows of the earlier release are not first"

    def _parted(self) -> tuple[list[tuple[int, int]], list[int]]:
        """Return the rows that are kept, as (before, after), and the new ones; of equal rows, the first are kept."""
        n = len(self.rows[0])
        if self.made.intersection.changed:
            return [(at, at) for at in range(n)], list(range(n, len(self.rows[1])))
        places: dict[Row, list[int]] = defaultdict(list)
        for at, row in enumerate(self.rows[1]):
            places[row].append(at)
        kept = [(at, places[row].pop(0)) for at, row in enumerate(self.rows[0])]
        return kept, sorted(at for many in places.values() for at in many)

    def _groups(self, block: Sequence[str]) -> tuple[list[list[int]], list[list[int]]]:
        """Return the kept rows (by their place before) and new rows of each group of both releases."""
        places = [self.names.index(name) for name in (*block, *self.checked.strata)]

        def key(release: int, at: int) -> Row:
            return tuple(self.rows[release][at][place] for place in places)

        kept: dict[Any, list[int]] = defaultdict(list)
        new: dict[Any, list[int]] = defaultdict(list)
        for before, after in self.kept:
            kept[key(0, before), key(1, after)].append(before)
        for at in self.new:
            new[key(1, at)].append(at)
        return list(kept.values()), list(new.values())

    def _sizes(self) -> Iterator[str]:
        counted = []
        for block in self.blocks:
            kept, new = self._groups(block)
            counted.append((min(map(len, kept)), min(map(len, new), default=None), sum(map(len, new))))
            if counted[-1][0] < self.k:
                yield f"update: k of those in both is {counted[-1][0]}, not {self.k}"
            if new and counted[-1][1] < self.least:
                yield f"update: k of new ones is {counted[-1][1]}, not {self.least}"
            together = min(map(len, self.checked.classes([*block, *self.checked.strata]).values()))
            if together < self.k:
                yield f"update: k is {together}, not {self.k}"
        claims = [(one.kept.k, one.new.k, one.new.rows) for one in self.made.intersections]
        if claims != counted:
            yield "update: another k of kept or new ones was counted"

    def _of_rows(self, name: str) -> list[Any] | None:
        """Return the values of a column that is not published, for the rows of the later release."""
        if ROW not in self.after or ROW in self.checked.known:
            return None
        values = self.case.column(name).values
        return [values[int(float(number)) - 1] for number in self.after[ROW]]

    def _units(self) -> Iterator[str]:
        """Check that new records are among k units."""
        units = self._of_rows(self.case.plan["unit"]) if "unit" in self.case.plan else None
        if units is None:
            return
        for block in self.blocks:
            for rows in self._groups(block)[1]:
                different = len({models.read_as(units[row]) for row in rows})
                if different < self.k:
                    yield f"update: units of new ones are {different}, not {self.k}"
                    return

    def _models(self) -> Iterator[str]:
        """Check models in whole groups, and among their kept and their new rows."""
        for name, texts in sensitive.demands_of(self.case, self.checked.known).items():
            tables = [[models.read_as(value) for value in table[name]] for table in (self.before, self.after)]
            wholes = [Counter(values) for values in tables]
            grounds = sensitive.grounds_of(self.case, name, set(wholes[1]))
            share = [f"alpha alpha={1 / self.options['invariance']!r}"] if "invariance" in self.options else []
            groups = self.checked.classes([*self.checked.known, *self.checked.strata]).values()
            asked = [("of all", 1, list(groups))] if len(self.blocks) == 1 else []
            if not self.options.get("allow_differences"):
                for block in self.blocks:
                    kept, new = self._groups(block)
                    asked += [("of kept ones", 0, kept), *([("of new ones", 1, new)] if new else [])]
            for text in (*texts, *share):
                for which, release, many in asked:
                    if grounds is None and "closeness" in text:
                        continue
                    counts = [Counter(tables[release][row] for row in rows) for rows in many]
                    short = models.falls_short(text, counts, wholes[release], grounds or {"auto": models.Ground()})
                    if short:
                        yield f"update: model {text.split()[0]} {which}: {text}, measured {short}"

    def _invariance(self) -> Iterator[str]:
        """Check that no group of the earlier release has got a sensitive value that it did not have."""
        if "invariance" not in self.options:
            return
        key = [*self.blocks[0], *self.checked.strata]
        groups = [_texts({one: table[one] for one in key}) for table in (self.before, self.after)]
        for name in sensitive.demands_of(self.case, self.checked.known):
            sets: list[dict[Row, set[Any]]] = []
            for own, table in zip(groups, (self.before, self.after), strict=True):
                sets.append(defaultdict(set))
                for group, value in zip(own, table[name], strict=True):
                    sets[-1][group].add(models.read_as(value))
            if any(sets[0][groups[0][a]] != sets[1][groups[1][b]] for a, b in self.kept):
                yield f"update: other values of {self.case.column(name).kind} in an old group"


def _texts(table: dict[str, list[Any]]) -> list[Row]:
    return [tuple(repr(value) for value in row) for row in zip(*table.values(), strict=True)]


def _together(
    case: Case, tables: list[dict[str, list[Any]]], releases: list[Any], options: dict[str, Any]
) -> Iterator[str]:
    """Check who has all releases, follows every row by its number, and knows with which one a person joined."""
    checked = checks.Checked(case, Outcome("released", table=tables[-1]))
    if ROW not in tables[0] or ROW in checked.known:
        return
    k = case.plan.get("k") or 5
    for block in [list(block) for block in releases[-1].blocks]:
        seen: dict[Any, list[Any]] = defaultdict(list)
        for table in tables:
            groups = _texts({name: table[name] for name in (*block, *checked.strata)})
            here = dict(zip(table[ROW], groups, strict=True))
            for number in tables[-1][ROW]:
                seen[number].append(here.get(number))
        for path, count in Counter(map(tuple, seen.values())).items():
            least = k if path[0] is not None else options.get("newcomers", k)
            if count < least:
                yield f"update: k of those in all releases is {count}, not {least}"
                return
