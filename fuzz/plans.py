"""Random plans for random tables: roles, models, forms, methods and options, now and then wrong on purpose."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from fuzz import markers, private, recoding, streams, values
from fuzz.case import OF_ONE_TYPE, Case, Column
from fuzz.tables import KNOWN, ROW, SENSITIVE, Draft, duplicated, kind_of, number_of_rows

# Methods that are slow, or that seldom apply.
RARE = {"exact": 0.03, "auto": 1.0, "anytime": 1.0, "univariate": 0.5, "mu-approx": 0.5, "gsms": 0.5, "dba": 0.5}
REPRESENTATIVES = {
    "continuous": ("median", "trimmed-mean", "geometric-mean", "medoid", "interval", "suppression"),
    "integer": ("median", "trimmed-mean", "medoid", "interval", "suppression"),
    "date": ("median", "trimmed-mean", "medoid", "interval", "suppression"),
    "datetime": ("median", "trimmed-mean", "medoid", "interval", "suppression"),
    "ordinal": ("mode", "interval", "suppression"),
    "nominal": ("set", "suppression"),
    "boolean": ("set", "suppression"),
    "hierarchical": ("ancestor", "mode", "suppression"),
    "place": ("medoid", "suppression"),
}
# Steps at which intervals end, and fields of a plan that say what a column is.
STEPS: dict[str, tuple[Any, ...]] = {
    **{"integer": (1, 5, 10, 250), "float": (1, 10, 0.1, 2.5, 1000), "decimal": (1, 0.05, 100)},
    **{"date": (7, 365, "month", "year"), "moment": (1, 30, "month", "year")},
}
DESCRIBED = ("types", "levels", "hierarchies", "digits", "cells", "outward")
# How often files are of each format: the dear ones less often.
FORMATS = {
    **{"csv": 8, "jsonl": 4, "parquet": 3, "arrow": 3, "sqlite": 3, "excel": 2},
    **{"stata": 1.5, "spss": 1.5, "duckdb": 0.7},
}
FORMS = {"microaggregation": 12, "local-recoding": 4, "global-recoding": 3, "strongly-safe": 2}


def random_case(seed: int) -> Case:
    """Return the input of a seed."""
    if private.is_private(seed):
        return private.private_case(seed, random_way(Random(f"{seed} private way")))
    random = Random(seed)
    streamed = streams.is_streamed(seed)
    n = streams.number_of_rows(seed) if streamed else number_of_rows(random)
    draft = Draft(random, n)
    plan = draft.plan
    plan["k"] = random.choice((2, 2, 3, 3, 4, 5)) if n > 3 else 2
    known = [draft.add(kind_of(random, KNOWN)) for _ in range(random.choice((1, 2, 2, 3, 3, 4)))]
    if random.random() < 0.06:
        known += _place(draft)
    if random.random() < 0.35:
        duplicated(random, known)
    sensitive = [draft.add(kind_of(random, SENSITIVE)) for _ in range(random.choice((0, 0, 1, 1, 2)))]
    _other_roles(draft)
    _name_roles(draft, known, sensitive)
    _forms(draft, known)
    if sensitive:
        _demands(draft, sensitive)
    _method(draft)
    _outward(draft, known)
    _lists_of_types(draft, known)
    _missing(draft, known, sensitive)
    people = (
        _population(draft, known) if plan.get("release", "")[-8:] == "recoding" and random.random() < 0.15 else None
    )
    _rest(draft, Random(f"rest {seed}"))
    # Of its own random numbers, so that all else is as without it.
    recoding.change(Random(f"{seed} recoding"), plan, known, sensitive)
    if random.random() < 0.06:
        wrong(random, plan, draft.columns)
    random.shuffle(draft.columns)
    metadata = {"key": markers.word(random)} if random.random() < 0.1 else {}
    case = Case(seed, draft.columns, plan, random_way(random), people, draft.files, metadata)
    return streams.changed(case) if streamed else case


def _place(draft: Draft) -> list[Column]:
    random = draft.random
    spread = random.choice((0.01, 1.0, 60.0))
    south, west = random.uniform(-25, 25), random.uniform(-100, 100)
    pair = []
    for name, start in (("lat", south), ("lon", west)):
        pair.append(Column(name, "float64", [round(start + random.uniform(0, spread), 4) for _ in range(draft.n)]))
        pair[-1].kind = "place"
    draft.columns += pair
    draft.plan["places"] = [["lat", "lon"]]
    return pair


def _other_roles(draft: Draft) -> None:
    """Add identifiers, units, strata, weights and columns that are passed on."""
    random, plan, n = draft.random, draft.plan, draft.n
    if random.random() < 0.9:
        draft.columns.append(Column(ROW, "int64", list(range(1, n + 1)), None, ROW))
        plan["other"] = [ROW]
    if random.random() < 0.35:
        text = random.random() < 0.5
        names: list[Any] = [markers.word(random) if text else markers.number(random, name=True) for _ in range(n)]
        draft.columns.append(Column("ident", "string" if text else "int64", names, None, "identifier"))
        plan["identifiers"] = ["ident"]
    if random.random() < 0.12:
        pool = [markers.word(random) for _ in range(max(1, n // random.randint(1, 4)))]
        draft.columns.append(Column("unit", "string", [random.choice(pool) for _ in range(n)], None, "unit"))
        plan["unit"] = "unit"
    if random.random() < 0.12:
        column = draft.add(random.choice(("word", "boolean", "float", "integer")), "stratum")
        for option in ("types", "digits"):
            plan.get(option, {}).pop("stratum", None)
        few = random.sample(column.values, k=min(3, n))
        column.values = [random.choice(few) for _ in range(n)]
        plan["stratum"] = ["stratum"]
        plan["small_strata"] = random.choice(("error", "merge", "merge"))
    if random.random() < 0.1:
        weights = random.choice(
            ([random.randint(1, 5) for _ in range(n)], [random.choice((0.0, 0.5, 1e-9, 1e9, 3.25)) for _ in range(n)])
        )
        draft.columns.append(Column("weight", "float64", [float(w) for w in weights], None, "weight"))
        plan["weight"] = "weight"
    if random.random() < 0.15:
        column = draft.add(random.choice(("word", "awkward", "categories", "float", "moment", "extreme")), "extra")
        for option in ("types", "digits"):
            plan.get(option, {}).pop("extra", None)
        plan["other"] = [*plan.get("other", ()), "extra"]
    for option in ("types", "digits"):
        if option in plan and not plan[option]:
            del plan[option]


def _name_roles(draft: Draft, known: list[Column], sensitive: list[Column]) -> None:
    random, plan = draft.random, draft.plan
    if sensitive:
        plan["sensitive_attributes"] = [column.name for column in sensitive]
    if random.random() < 0.9:
        plan["quasi_identifiers"] = [column.name for column in known]
    if sensitive and random.random() < 0.04 and "quasi_identifiers" in plan:
        plan["quasi_identifiers"] = [*plan["quasi_identifiers"], sensitive[0].name]


def _rest(draft: Draft, random: Random) -> None:
    """Add columns without a role, or that are to be dropped; mostly such that k can hold with them."""
    plan, before = draft.plan, draft.random
    if random.random() < 0.7 or "quasi_identifiers" not in plan:
        return
    draft.random = random
    for name in ("open", "open2")[: random.choice((1, 1, 2))]:
        column = draft.add(random.choice(("word", "boolean", "integer", "float", "categories", "moment")), name)
        for option in ("types", "digits"):
            plan.get(option, {}).pop(name, None)
            if option in plan and not plan[option]:
                del plan[option]
        few = random.choice((1, 1, 1, 2, draft.n))
        pool = random.sample(column.values, k=min(few, draft.n))
        column.values = [random.choice(pool) for _ in range(draft.n)]
    draft.random = before
    how = random.choice((None, None, None, "qi", "other", "other", "drop"))
    if how is not None:
        plan["rest"] = how
    if random.random() < 0.2:
        plan["drop"] = ["open"]


def _forms(draft: Draft, known: list[Column]) -> None:
    random, plan = draft.random, draft.plan
    form = random.choices(list(FORMS), list(FORMS.values()))[0]
    if form != "microaggregation":
        plan["release"] = form
    if form == "strongly-safe":
        for option in ("digits", "small_strata"):
            plan.pop(option, None)
        cells = {column.name: _cell(random, column) for column in known if column.kind != "place"}
        plan["cells"] = {name: cell for name, cell in cells.items() if cell is not None}
        return
    if random.random() < 0.25:
        kind = random.choice(list(REPRESENTATIVES))
        plan["representatives"] = {kind: random.choice(REPRESENTATIVES[kind])}
    if random.random() < 0.05:
        plan["trim"] = random.choice((0.0, 0.1, 0.3, 0.49))
    if random.random() < 0.08:
        plan["importance"] = {known[0].name: random.choice((0.0, 0.5, 2, 100.0))}
    if random.random() < 0.06:
        plan["blocks"] = "each"
    if random.random() < 0.03:
        plan["coordinates"] = random.randint(1, 4)
    if random.random() < 0.06:
        plan["shuffle"] = True


def _outward(draft: Draft, known: list[Column]) -> None:
    """Let some intervals end at multiples of a step."""
    random, plan = draft.random, draft.plan
    recoded = plan.get("release", "")[-8:] == "recoding"
    for column in known:
        if column.kind not in STEPS or random.random() > (0.3 if recoded else 0.04):
            continue
        plan.setdefault("outward", {})[column.name] = random.choice(STEPS[column.kind])
        if not recoded:
            plan.setdefault("representatives", {})[column.name] = "interval"


def _lists_of_types(draft: Draft, known: list[Column]) -> None:
    """Declare types in lists of columns, in place of one by one; also for columns whose types are inferred."""
    random, plan = draft.random, draft.plan
    for column in known:
        free = column.name not in (name for option in DESCRIBED for name in plan.get(option, {}))
        if free and column.kind in ("integer", "constant") and column.type == "int64" and random.random() < 0.15:
            plan.setdefault("types", {})[column.name] = random.choice(OF_ONE_TYPE)
    types = plan.get("types", {})
    if not types or random.random() < 0.6:
        return
    for name in [name for name, kind in types.items() if kind in OF_ONE_TYPE]:
        plan.setdefault(types.pop(name), []).append(name)
    if not types:
        del plan["types"]


def _cell(random: Random, column: Column) -> Any:
    if random.random() < 0.08:
        return random.choice(("value", "*"))
    if column.kind in ("integer", "float", "extreme", "decimal") or (
        column.kind == "constant" and column.type != "string"
    ):
        return random.choice((10, 100, 25.5, 10**6, 0.1))
    if column.kind in ("date", "moment"):
        return random.choice(("month", "year", "year", 365, 7305))
    if column.kind == "nothing" and column.type not in ("null", "string", "bool", "ordered"):
        return 10
    return random.choice((1, 2)) if column.kind in ("codes", "tree", "ladder") else None


def _demands(draft: Draft, sensitive: list[Column]) -> None:
    random, plan = draft.random, draft.plan
    how = random.random()
    if plan.get("release") == "strongly-safe" or how < 0.45:
        for option in ("levels", "types", "hierarchies", "digits"):  # without demands, they may not be described
            for column in sensitive:
                if column.name not in plan.get("quasi_identifiers", ()):
                    plan.get(option, {}).pop(column.name, None)
            if option in plan and not plan[option]:
                del plan[option]
        return
    if how < 0.6:
        plan["l"] = random.choice((2, 2, 2, 3))
    elif how < 0.75:
        plan["t"] = random.choice((0.3, 0.5, 0.5, 0.8))
    else:
        names = random.sample([column.name for column in sensitive], k=1)
        plan["models"] = {name: [_model(random, draft.n) for _ in range(random.choice((1, 1, 2)))] for name in names}
    if random.random() < 0.3:
        plan["enforcement"] = random.choice(("best", "repair", "growth", "merge", "k-first", "t-first", "mondrian"))
    for column in sensitive:
        plan.get("digits", {}).pop(column.name, None)
    if "digits" in plan and not plan["digits"]:
        del plan["digits"]


def _model(random: Random, n: int) -> str:
    ground = random.choice(("", "", "", " ground=equal", " ground=ordered", " ground=numeric"))
    return random.choice(
        (
            f"k-anonymity k={random.randint(2, 6)}",
            f"distinct-diversity l={random.randint(2, 3)}",
            f"entropy-diversity l={random.choice((1.2, 1.5, 2))}",
            f"recursive-diversity c={random.choice((1, 2, 3, 5))} l={random.choice((2, 2, 3))}",
            f"p-sensitive p={random.randint(2, 3)}",
            f"alpha alpha={random.choice((0.5, 0.7, 0.9))}",
            f"t-closeness t={random.choice((0.3, 0.5, 0.8))}{ground}",
            f"n-t-closeness n={random.choice((2, n // 3 + 1, n))} t={random.choice((0.2, 0.5))}{ground}",
            f"delta-disclosure delta={random.choice((1, 2, 3))}",
            f"beta-likeness beta={random.choice((1, 2, 5))}",
            f"enhanced-beta-likeness beta={random.choice((1, 2, 5))}",
        )
    )


def _method(draft: Draft) -> None:
    random, plan = draft.random, draft.plan
    if plan.get("release") == "strongly-safe":
        return
    plan["bound"] = random.choice(("none",) * 9 + ("quick",))
    plan["n_jobs"] = 1
    plan["method"] = "mdav"
    if random.random() < 0.55:
        plan["method"] = _any_method(random)
    if plan["method"] == "exact":
        plan["time_limit"] = 2
    if plan["method"] == "auto":
        return
    options = _options(random, plan["method"])
    if options:
        plan["options"] = options
    if random.random() < 0.08:
        plan["refine"] = random.choice(("tfrp2", "decompose-shrink", "ona-rounds"))
    if random.random() < 0.2 or plan["method"] in ("anytime", "lmas", "ona"):
        plan["random_state"] = random.randrange(5)


def _options(random: Random, method: str) -> dict[str, Any]:
    """Return options of a method; those that make it slow are set low, as small tables need no more."""
    import shoal

    chosen: dict[str, Any] = {}
    for option in next(one.options for one in shoal.methods() if one.name == method):
        if option.name in ("max_steps", "n_init"):
            chosen[option.name] = random.randint(0, 60) if option.name == "max_steps" else random.choice((1, 1, 2, 3))
        elif random.random() < 0.3:
            numbers = [] if option.least is None else [0, 0.5, 1, *([3, 1e9] if option.most is None else [])]
            chosen[option.name] = random.choice([*option.choices, *numbers])
    return chosen


def _any_method(random: Random) -> str:
    import shoal

    names = ["auto", *(method.name for method in shoal.methods())]
    return random.choices(names, [RARE.get(name, 2.0) for name in names])[0]


def _missing(draft: Draft, known: list[Column], sensitive: list[Column]) -> None:
    random, plan = draft.random, draft.plan
    if sensitive and random.random() < 0.02:
        some = [
            v for column in sensitive for v in column.values if isinstance(v, str | int) and not isinstance(v, bool)
        ]
        plan["missing_values"] = [random.choice(some)] if some else []
        return
    if random.random() < 0.2:
        plan["missing"] = random.choice(("drop", "drop", "error"))
    if random.random() < 0.12:
        column = random.choice(known)
        marker = {"string": markers.word(random), "int64": -999, "float64": -999.0}.get(column.type)
        if marker is None or column.kind in ("codes", "ladder"):
            return
        column.values = [marker if random.random() < 0.3 else value for value in column.values]
        plan["missing_values"] = [marker] if random.random() < 0.5 else {column.name: [marker]}


def _population(draft: Draft, known: list[Column]) -> list[Column]:
    random, plan = draft.random, draft.plan
    more = random.randint(0, 3 * draft.n)
    rows = [*range(draft.n), *(random.randrange(draft.n) for _ in range(more))]
    random.shuffle(rows)
    people = [replace(c, values=[c.values[row] for row in rows]) for c in known]
    plan.pop("stratum", None)
    plan.pop("small_strata", None)
    plan.pop("blocks", None)
    if random.random() < 0.6:
        plan["k_map"] = random.choice((2, 3, 5))
    else:
        plan["presence"] = random.choice(([0, 0.5], [0, 0.9], [0.1, 0.8], [0, 1], [0.2, 1]))
    return people


def random_way(random: Random) -> dict[str, Any]:
    """Return how the table goes in and out."""
    how = random.random()
    documents = {"report": random.random() < 0.03, "certificate": random.random() < 0.1}
    if how < 0.96:
        frame = random.choice(("arrow",) * 8 + ("pandas", "polars"))
        way: dict[str, Any] = {"frame": frame, **documents, "twice": random.random() < 0.02}
        if frame == "arrow" and random.random() < 0.1:
            way["cut"] = random.randint(0, 9)
        if frame == "pandas":
            way["arrow_types"] = random.random() < 0.3
        return way
    came = random.choices(list(FORMATS), list(FORMATS.values()))[0]
    return {
        "frame": "file",
        "input": came,
        "output": came if random.random() < 0.6 else random.choices(list(FORMATS), list(FORMATS.values()))[0],
        "cli": random.choice(("", "", "", "job", "options")),
        "dialect": {
            "delimiter": random.choice((",", ",", ";", "\t", "|")),
            "encoding": random.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16")),
            "newline": random.choice(("\n", "\n", "\r\n")),
            "all_quoted": random.random() < 0.2,
        },
        "folder": markers.path(random),
        "report": random.random() < 0.15,
        "certificate": True,
    }


def wrong(random: Random, plan: dict[str, Any], columns: list[Column]) -> None:
    """Make a mistake in a plan, in place."""
    name = random.choice(columns).name
    options: list[dict[str, Any]] = [
        {"k": random.choice((0, 1, -3, 2.5, "many", None, True, 10**6))},
        {"quasi_identifers": [name]},
        {"quasi_identifiers": ["nobody"]},
        {"quasi_identifiers": [], "stratum": []},
        {"method": random.choice(("mdv", "", 3, "MDAV"))},
        {"options": {"gamma": random.choice((-1, "x", None, float("nan")))}},
        {"refine": "tfrp3"},
        {"l": random.choice((1, 0, 100, 2.5, "two")), "sensitive_attributes": [name]},
        {"t": random.choice((-0.1, 2, float("nan"), "x"))},
        {
            "models": {
                name: random.choice(("", "alpha", "alpha alpha=2", "nothing x=1", "alpha alpha=x", "t-closeness"))
            }
        },
        {"representatives": {name: "average"}},
        {"types": {name: random.choice(("number", "date", "boolean", "place", "ordinal", "hierarchical", "integer"))}},
        {"levels": {name: random.choice(([], ["a", "a"], [markers.word(random)], "abc", [True]))}},
        {"hierarchies": {name: random.choice(([], {}, "nowhere.csv", {"a": ["a"]}, [["a"], "a"], "widths:x", 3))}},
        {"missing_values": random.choice(([None], {"nobody": [1]}, [True], [[1]]))},
        {"cells": {name: random.choice((0, -1, "day", 10))}},
        {"digits": {name: random.choice((-1, 99, 1))}},
        {"formats": {name: random.choice(("%Q", "", "%Y", "%d.%m.%Y"))}},
        {"places": [[name, name]]},
        {"blocks": random.choice(([[name]], [], "some", [["nobody"]]))},
        {"weight": name},
        {"unit": name},
        {"stratum": [name]},
        {"presence": [0.5, 0.1]},
        {"k_map": 3},
        {"trim": 0.7},
        {"outward": {name: random.choice((0, -5, 0.5, "week", float("nan")))}},
        {"thousands": random.choice((",", ".", "x", ""))},
        {random.choice(("nominal", "ordinal", "continuous")): [name]},
        {"coordinates": 0},
        {"random_state": -1},
        {"n_jobs": random.choice((0, -5, 1.5))},
        {"time_limit": random.choice((0, -1))},
        {"identifiers": [column.name for column in columns]},
        {"other": [column.name for column in columns]},
    ]
    plan.update(random.choice(options))
    if random.random() < 0.3:
        plan["importance"] = {name: random.choice(values.EXTREMES)}
