"""Random plans for differentially private releases: declared domains, budgets and options, now and then wrong."""

from __future__ import annotations

import json
from datetime import date, timedelta
from random import Random
from typing import Any

from fuzz import markers, trees
from fuzz.case import Case, Column
from fuzz.tables import Draft, kind_of

SHARE = 0.08  # of all inputs
NUMBERS = {"integer": 8, "float": 8, "extreme": 3, "decimal": 3, "ladder": 2, "constant": 1}
TIMES = {"date": 6, "moment": 5}
WORDS = {"word": 8, "awkward": 2, "boolean": 3, "categories": 3, "ordinal": 3, "codes": 3, "tree": 3}
ODD = {"written": 3, "nothing": 1}
BOUNDS = ((0, 100), (0, 99), (-10, 10), (0, 1), (-1000, 1000), (0, 10**6), (1900, 2020))
RELEASES = {
    **{"mondrian": 10, "histogram": 6, "intervals": 4, "noisy-means": 4, "strongly-safe": 3, "epsilon-safe": 3},
    **{"small-db": 2},
}
WITH_DELTA = ("strongly-safe", "epsilon-safe")
# Releases that take single rows of units, columns with an order, and universes of a few cells.
OF_ROWS, OF_NUMBERS, TINY = WITH_DELTA, ("noisy-means",), ("small-db",)


def is_private(seed: int) -> bool:
    """Return whether the input of a seed is about differential privacy."""
    return Random(f"{seed} private").random() < SHARE


def private_case(seed: int, way: dict[str, Any]) -> Case:
    """Return an input with `dp`."""
    random = Random(f"{seed} private plan")
    release = kind_of(random, RELEASES)
    # Numbers that turn up by chance are rare among these.
    draft = Draft(random, random.choice((random.randint(1, 30), random.randint(101, 397))))
    allowed = {**NUMBERS, **TIMES} if release in OF_NUMBERS else {**NUMBERS, **TIMES, **WORDS, **ODD}
    most = 2 if release in TINY else 4
    known = [draft.add(kind_of(random, allowed)) for _ in range(random.randint(1, most))]
    # What a kind says about itself to groups is said by the domain here.
    draft.plan = {key: value for key, value in draft.plan.items() if key in ("formats", "thousands")}
    domain: dict[str, Any] = {"columns": {one.name: _declared(random, one) for one in known}}
    plan = {
        "dp": release,
        "epsilon": random.choice((0.1, 0.5, 1, 1.0, 3, 10)),
        "options": _options(random, release),
        **({"delta": random.choice((1e-6, 1e-3, 0.01))} if release in WITH_DELTA else {}),
        **draft.plan,
    }
    _others(draft, plan, domain, release)
    if random.random() < 0.2:
        _wrong(random, plan, domain, known)
    random.shuffle(draft.columns)
    files = {}
    if random.random() < 0.3:
        files["domain.yaml"] = json.dumps(domain, default=str)
        plan["domain"] = {"file": "domain.yaml"}
    else:
        plan["domain"] = domain
    metadata = {"key": markers.word(random)} if random.random() < 0.1 else {}
    return Case(seed, draft.columns, plan, {**way, "twice": False}, None, files, metadata)


def declared_of(case: Case) -> dict[str, Any]:
    """Return the domain of an input, wherever it is written."""
    domain = case.plan.get("domain")
    if isinstance(domain, dict) and set(domain) == {"file"}:
        domain = json.loads(case.files[domain["file"]])
    return domain if isinstance(domain, dict) else {}


def _others(draft: Draft, plan: dict[str, Any], domain: dict[str, Any], release: str) -> None:
    """Add columns that are not released, and units."""
    random, n = draft.random, draft.n
    if random.random() < 0.5:
        names = [markers.word(random) for _ in range(n)]
        draft.columns.append(Column("ident", "string", names, None, "identifier"))
        if random.random() < 0.7:
            plan["identifiers"] = ["ident"]
    if random.random() < 0.3:
        pool = [markers.word(random) for _ in range(max(1, n // random.randint(1, 4)))]
        units = [random.choice(pool) for _ in range(n)]
        ways = Random(f"{units} ways")
        units = [ways.choice((unit, unit, f"{unit} ", f" {unit}", f"{unit}\u200b")) for unit in units]
        draft.columns.append(Column("unit", "string", units, None, "unit"))
        plan["unit"] = "unit"
        domain["rows_per_unit"] = 1 if release in OF_ROWS else random.choice((1, 2, 5))


def _options(random: Random, release: str) -> dict[str, Any]:
    """Return options, such that small tables are released quickly."""
    options: dict[str, Any] = {"form": "aggregated"} if random.random() < 0.5 else {}
    if release == "mondrian":
        options["leaf"] = random.choice((1, 20, 200.0))
    if release in ("histogram", "strongly-safe"):
        options["bins"] = random.choice((1, 2, 3))
    if release == "small-db":
        options |= {"bins": random.choice((1, 2, 3)), "alpha": random.choice((0.8, 0.9, 1))}
    if release in WITH_DELTA:
        options |= {"k": random.choice((2, 5, 20)), **({"beta": 0.1} if random.random() < 0.3 else {})}
    if release in ("intervals", "epsilon-safe") and random.random() < 0.5:
        options["alpha"] = random.choice((0.5, 1, 3))
    if release == "noisy-means" and random.random() < 0.5:
        options["k"] = random.choice((2, 7, 1000))
    return options


# --- domains ---


def _declared(random: Random, column: Column) -> dict[str, Any]:
    """Return the domain of a column: by what a kind of column is, not by what this one holds, but for categories."""
    kind = column.kind
    if kind in NUMBERS:
        made = _of_numbers(random)
    elif kind in TIMES:
        made = _of_times(random, kind)
    elif kind == "boolean":
        made = {"kind": "boolean"}
    elif kind in WORDS or kind == "nothing":
        return _of_words(random, column)
    else:
        made = random.choice((_of_numbers(random), _of_times(random, "date"), _of_times(random, "moment")))
    if random.random() < 0.8:
        made["missing"] = True if kind == "boolean" else made["lower"]
    return made


def _of_numbers(random: Random) -> dict[str, Any]:
    low, high = random.choice(BOUNDS)
    if random.random() < 0.5:
        return {"kind": "integer", "lower": low, "upper": high}
    step = random.choice((None, 1, 0.5, 0.1, 0.25))
    return {"kind": "continuous", "lower": low, "upper": high, **({} if step is None else {"step": step})}


def _of_times(random: Random, kind: str) -> dict[str, Any]:
    start = date(random.randint(1900, 2000), random.randint(1, 12), 1)
    days = random.choice((10, 365, 30_000))
    end = start + timedelta(days=days)
    if kind == "date":
        return {"kind": "date", "lower": start.isoformat(), "upper": end.isoformat()}
    step = random.choice((60, 3600, 86400))
    bounds = {"lower": f"{start.isoformat()}T00:00:00", "upper": f"{end.isoformat()}T00:00:00"}
    return {"kind": "datetime", **bounds, "step": step}


def _of_words(random: Random, column: Column) -> dict[str, Any]:
    """Return categories: those that occur, or most of them, and some that do not."""
    seen = list(dict.fromkeys(trees.text_of(value) for value in column.values if value is not None))
    kept = [word for word in seen if random.random() < random.choice((1.0, 1.0, 0.7))]
    words = list(dict.fromkeys([*kept, *(random.choice(("north", "else", "x")) for _ in range(2))]))
    random.shuffle(words)
    made: dict[str, Any] = {"kind": random.choice(("nominal", "nominal", "ordinal")), "values": words}
    if random.random() < 0.2:
        paths = trees.random_paths(random, words)
        made = {"kind": "hierarchical", "hierarchy": trees._nested(paths)}
    for key in ("missing", "other"):
        if random.random() < 0.85:
            made[key] = random.choice(words)
    return made


def _wrong(random: Random, plan: dict[str, Any], domain: dict[str, Any], known: list[Column]) -> None:
    """Make a mistake in a plan or in its domain, in place."""
    name = random.choice(known).name
    columns = domain["columns"]
    number = {"kind": "integer", "lower": 0, "upper": 9}
    mistakes: list[tuple[dict[str, Any], Any]] = [
        (plan, {"epsilon": random.choice((0, -1, float("nan"), float("inf"), "x", None, True, 1e-9, 1e12))}),
        (plan, {"delta": random.choice((-0.1, 1, 2, float("nan"), "x", 0.5))}),
        (plan, {"dp": random.choice(("mondrain", "", 3, "Histogram"))}),
        (plan, {"k": 5}),
        (plan, {"quasi_identifiers": [name]}),
        (plan, {"options": random.choice(({"gamma": 1}, {"form": "x"}, {"bins": 0}, {"leaf": -1}, {"alpha": "x"}))}),
        (plan, {"options": {"bins": 10**6}}),
        (plan, {"unit": random.choice(("nobody", name))}),
        (plan, {"identifiers": [name]}),
        (domain, {"rows_per_unit": random.choice((0, -1, 2.5, "x", True, 3))}),
        (domain, {"colums": {}}),
        (domain, {"columns": random.choice(({}, [], "x", None, {"nobody": number}))}),
        (columns, {name: random.choice((None, [], "x", {}, {"kind": "number"}, {"kind": "integer"}))}),
        (columns, {name: {"kind": "integer", "lower": 9, "upper": random.choice((0, 9, "x", None, True))}}),
        (columns, {name: {"kind": "continuous", "lower": 0, "upper": random.choice((float("inf"), float("nan")))}}),
        (columns, {name: {"kind": "continuous", "lower": 0, "upper": 10**12, "step": random.choice((1, 0, -1, 0.3))}}),
        (columns, {name: {"kind": "date", "lower": "2000-01-01", "upper": random.choice(("1999-01-01", "x", 7))}}),
        (columns, {name: {"kind": "integer", "lower": "FILL IN", "upper": "FILL IN"}}),
        (columns, {name: {"kind": "nominal", "values": random.choice(([], ["a", "a"], "abc", [True], [None], [[1]]))}}),
        (columns, {name: {"kind": "nominal", "values": ["a"], "missing": "b"}}),
        (columns, {name: {"kind": "hierarchical", "hierarchy": random.choice(("nowhere.csv", {}, 3, {"a": ["a"]}))}}),
        (columns, {name: {**number, "missing": random.choice((99, "x", None)), "sep": 1}}),
        (columns, {"count": number}),
    ]
    where, what = random.choice(mistakes)
    where.update(what)
