"""The sensitive attributes of an input: what is demanded of them, and how far their values are apart."""

from __future__ import annotations

from typing import Any

from fuzz import models
from fuzz.case import Case, arrow_type
from fuzz.trees import plain_paths, text_of

TEXTS = ("string", "large_string", "bool", "dictionary", "ordered", "null")
# Ways in that keep the order of categories; the others pass on their texts alone.
KEEP_ORDER = ("arrow", "pandas", "parquet")


def demands_of(case: Case, known: list[str]) -> dict[str, list[str]]:
    """Return the models that a plan demands of each sensitive attribute."""
    plan = case.plan
    own = plan.get("models", {})
    names = [name for name in plan.get("sensitive_attributes", ()) if name not in known]
    demands: dict[str, list[str]] = {}
    for name in dict.fromkeys([*names, *own]):
        texts = [f"distinct-diversity l={plan['l']}"] if plan.get("l") else []
        texts += [f"t-closeness t={plan['t']}"] if plan.get("t") is not None else []
        given = own.get(name, ())
        demands[name] = [*texts, *([given] if isinstance(given, str) else given)]
    return demands


def grounds_of(case: Case, name: str, values: set[Any]) -> dict[str, models.Ground] | None:
    """Return the distances between the values of an attribute by the name of their ground; None if they are not plain.

    Parameters
    ----------
    values : what a person reads, None for missing
    """
    column, plan = case.column(name), case.plan
    known = {value for value in values if value is not models.MISSING}
    equal = models.Ground()
    declared = case.types.get(name)
    if name in plan.get("hierarchies", {}):
        paths = plain_paths(plan["hierarchies"][name], column.values, case.files)
        if paths is None or len({models.read_as(node) for node in paths}) < len(paths):
            return None
        return {"auto": models.tree(paths), "equal": equal}
    in_order = column.type == "ordered" and case.way.get("input", case.way["frame"]) in KEEP_ORDER
    levels = plan.get("levels", {}).get(name, column.categories if in_order else None)
    if levels is not None or declared == "ordinal":
        order = sorted({v for v in column.values if v is not None}) if levels is None else levels
        read = [models.read_as(text_of(level)) for level in order]
        ranked = models.line([value for value in dict.fromkeys(read) if value in known])
        return {"auto": ranked, "ordered": ranked, "equal": equal} if known <= set(read) else None
    if column.type in TEXTS or declared in ("nominal", "boolean"):
        # In a text file, texts that look like numbers are numbers; words and categories never do.
        plain = case.way["frame"] != "file" or column.kind in ("word", "categories")
        return {"auto": equal, "equal": equal} if plain else None
    if case.way["frame"] == "file" and column.kind not in ("integer", "float"):
        return None
    kind = arrow_type(column.type)
    by_size = sorted(known) if all(not isinstance(value, str) for value in known) else None
    if by_size is None:
        if str(kind) != "date32[day]":
            return None
        ranked = models.line(sorted(known))
        return {"auto": ranked, "ordered": ranked, "equal": equal, "numeric": models.days(sorted(known))}
    ranked = models.line(by_size)
    return {"auto": ranked, "ordered": ranked, "equal": equal, "numeric": models.line(by_size, by_size=True)}
