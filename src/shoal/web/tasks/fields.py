"""The fields of a plan as forms show them: what each means, what it costs, and the control that sets it.

Names, headings and most sentences are those of the table of options. Sentences that speak of a command line are
written anew for people who see a page.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from typing import Any, get_args

from shoal.io.formats import FORMATS
from shoal.options.option import Option
from shoal.options.table import PLAN, READING
from shoal.partitioning.registry import refinements
from shoal.plan import Plan
from shoal.web.drafts import CODING, ENGINES, OF_VALUES, ROLES, SETTINGS

COSTS = {
    "k": "The larger k, the larger the groups and the loss.",
    "l": "Groups grow until they have l different sensitive values.",
    "t": "The smaller t, the larger the groups: the costliest of the three.",
    "unit": "Groups grow until they have k different units.",
    "stratum": "Groups cannot use near records of other strata.",
    "suppress": "Records are left out, so that the others lose less.",
    "shuffle": "The release cannot be repeated byte for byte, nor assessed record by record.",
    "time_limit": "A search that the clock ends may give other groups in another run.",
    "blocks": "Protection: k holds within each block only. The loss is lower.",
    "population": "A table of the population is needed, and ranges or ancestors are published in place of values.",
    "k_map": "Groups grow until k people of the population fit; less than k records may be in one.",
    "presence": "The narrower the range, the larger the groups.",
    "places": "Nothing: latitude and longitude are kept together, by their true distance.",
    "missing": "To drop rows costs these records; to refuse them costs nothing.",
    "missing_values": "Nothing, if these values are in fact missing.",
    "importance": "Less is lost here, more elsewhere.",
    "digits": "Fewer places cost a little detail.",
    "outward": "Intervals become a little wider, and no longer end at somebody's value.",
    "top_coding": "The highest values, which are also the ones that stand out most.",
    "bottom_coding": "The lowest values, which are also the ones that stand out most.",
    "rounding": "Detail below the step.",
    "cells": "The wider the cells, the fewer records are removed, and the coarser the rest.",
    "small_strata": "Merged strata no longer keep groups apart.",
    "coordinates": "Time and memory; fewer keep distances less exactly.",
    "bound": "Time. The release itself stays the same.",
    "refine": "Time, for a lower loss.",
    "epsilon": "The smaller epsilon, the more noise.",
    "delta": "With this probability, the promise does not hold.",
    "domain": "Work: bounds and values must be known from elsewhere than this table.",
    "random_state": "Nothing. The same seed gives the same groups.",
    "n_jobs": "Nothing: groups do not depend on it.",
    "thousands": "Nothing.",
    "trim": "Nothing, unless a trimmed mean is published.",
    "formats": "Nothing.",
    "enforcement": "To try all ways takes longest and loses least.",
}
# Formats for which it can be said how they are read, if not for CSV alone.
DATABASES = tuple(one.name for one in FORMATS.values() if one.database)
READ_BY = {"table": ("r", *DATABASES), "query": DATABASES, "sheet": ("excel",), "header": ("csv", "excel")}
# Sentences in place of those that speak of the command line.
SENTENCES = {
    "quasi_identifiers": "Others may know it about a person.",
    "rest": "The role of columns without one.",
    "models": "A limit on what a group tells about a sensitive column.",
    "population": "A table of all people who may be in yours, with the same quasi-identifiers: a register, a frame "
    "of a sample. It counts who else would fit a record.",
    "hierarchies": "How the values of a column generalise.",
    "types": "What the values of a column are.",
    "blocks": "Which quasi-identifiers are grouped together. Several blocks are grouped one by one.",
    "options": "Options of the method.",
    "method": "How records are put into groups.",
    "dp": "Noise in place of groups: whatever others know, the release would have come out nearly as likely without "
    "any one person.",
    "domain": "The columns to release, and the values that they can have.",
    "release": "What is published of a group.",
    "suppress": "Records whose removal lowers the loss of the others most; at most this share of all.",
    "k": "Smallest number of records that share their published quasi-identifiers.",
    "enforcement": "By default, the best of all ways with the method auto, else a repair of its groups.",
    "missing": "What is done with missing values of quasi-identifiers.",
    "small_strata": "What is done with them.",
    "refine": "Lowers the loss of the groups afterwards.",
    "bound": "Tells how far the loss may be above the best possible.",
    "thousands": "In numbers that are text, such as the comma in 1,234. By default, it is recognised if it is clear.",
    "coordinates": "Largest number of them for a column of names or codes.",
    "shuffle": "The order of the original may tell something, such as who came first.",
    "n_jobs": "Cores that are used.",
    "random_state": "Of random numbers, for methods that draw some.",
    "trim": "Share of a group that a trimmed mean leaves out at either end.",
    "engine": "Where the release is made: in memory, in pieces, or on a cluster.",
    "memory": "Most memory for a release in pieces.",
    "master": "The cluster, for a release on Spark.",
    "cells": "Cell of the column: a width, month or year, levels to go up in a hierarchy, value (as it is) or * (not "
    "at all).",
}
# What fields are called, where their name does not tell.
CALLED = {
    "l": "l-diversity",
    "t": "t-closeness",
    "enforcement": "How models are enforced",
    "trim": "Trimmed share",
    "thousands": "Mark between thousands",
    "coordinates": "Coordinates of a category",
    "missing": "Missing values",
    "small_strata": "Strata with fewer than k records",
    "refine": "Refinement",
    "bound": "Bound on the best possible loss",
    "random_state": "Seed",
    "n_jobs": "Threads",
    "shuffle": "Rows in random order",
    "k_map": "k-map",
}
DEFAULTS = {"n_jobs": "all cores", "random_state": "chosen", "time_limit": "by the method"}
# Words of choices that do not tell by themselves.
CHOICES = {
    "missing": {
        "value": "a missing value is a value of its own",
        "error": "missing values are refused",
        "drop": "rows with missing values are dropped",
    },
    "small_strata": {"error": "are refused", "merge": "are merged with others"},
    "bound": {"none": "none", "quick": "quick, rough", "lp": "slow, much better"},
    "blocks": {"joint": "all together", "each": "each by itself"},
}
# The types of columns that a setting is about; others are about all.
ABOUT = {
    "digits": ("continuous",),
    "outward": ("continuous", "integer", "date", "datetime"),
    "top": ("continuous", "integer", "date", "datetime"),
    "bottom": ("continuous", "integer", "date", "datetime"),
    "rounding": ("continuous", "integer"),
    "format": ("date", "datetime"),
}
# What is written into the control of a setting: a number, a number or a word, a text, or several texts.
WRITTEN = {
    "importance": "number",
    "digits": "integer",
    "outward": "scalar",
    "top": "scalar",
    "bottom": "scalar",
    "rounding": "number",
    "format": "text",
    "missing_values": "list",
    "cell": "scalar",
}
EXAMPLES = {
    "outward": "5, month or year",
    "top": "90 or 1990-12-31",
    "bottom": "18 or 1930-01-01",
    "format": "%d/%m/%Y",
    "missing_values": "-9, unknown",
    "cell": "10, month, value or *",
}
LABELS = {
    "importance": "Importance",
    "digits": "Decimal places",
    "outward": "Ends of intervals at multiples of",
    "top": "Top coding",
    "bottom": "Bottom coding",
    "rounding": "Round to multiples of",
    "format": "Format of dates",
    "missing_values": "Values that mean missing",
    "cell": "Cell",
}


def fields_of_a_plan() -> list[dict[str, Any]]:
    """Return every field of a plan, in its order.

    `place` says where its control is: with the roles ("role"), with each column ("column"), or with the plan.
    """
    by_field = {option.field: option for option in reversed(PLAN)}
    in_roles = {name for names in ROLES.values() for name in names}
    listed = []
    for name, one in Plan.model_fields.items():
        option = by_field.get(name)
        choices = _choices(name, one.annotation)
        default = one.default
        listed.append(
            {
                "name": name,
                "flag": None if option is None else option.name,
                "panel": "Types and values" if option is None else option.panel,
                "place": _place(name, in_roles),
                "words": SENTENCES.get(name) or _plain(option),
                "cost": COSTS.get(name),
                "label": CALLED.get(name, name.replace("_", " ").capitalize()),
                "default_words": DEFAULTS.get(name),
                "default": default if isinstance(default, str | int | float | None) else list(default),
                "type": _type(one.annotation, choices),
                "choices": choices or None,
            }
        )
    return listed


def _place(name: str, in_roles: Collection[str]) -> str:
    """Return where the page sets a field: as a role, for a column, in the plan, or not at all."""
    if name in ENGINES:
        return "command line"
    return "role" if name in in_roles else "column" if name in SETTINGS.values() else "plan"


def settings_of_columns() -> list[dict[str, Any]]:
    """Return what can be set for a column by writing it down, apart from its role, type, levels and hierarchy."""
    fields = {one["name"]: one for one in fields_of_a_plan()}
    return [
        {
            "name": name,
            "field": SETTINGS[name],
            "label": LABELS[name],
            "type": kind,
            "kinds": list(ABOUT.get(name, ())) or None,
            "roles": _roles(name),
            "example": EXAMPLES.get(name),
            "words": fields[SETTINGS[name]]["words"],
            "cost": fields[SETTINGS[name]]["cost"],
        }
        for name, kind in WRITTEN.items()
    ]


def _roles(setting: str) -> list[str]:
    """Return the roles of columns that a setting is for."""
    known = [role for role in ROLES if role.startswith("quasi-identifier")]
    others = {"sensitive": (*CODING, *OF_VALUES), "other": CODING}
    return known + [role for role, settings in others.items() if setting in settings]


def ways_of_reading() -> list[dict[str, Any]]:
    """Return what can be said about how a table is read, from the table of options."""
    return [
        {
            "name": one.field,
            "words": _plain(one),
            "switch": one.form.type is bool,
            "formats": list(READ_BY.get(str(one.field), ("csv",))),
        }
        for one in READING
        if one.field != "format"
    ]


def sentence(words: str) -> str:
    """Return a summary, as registries have it, with a capital and a full stop."""
    return f"{words[:1].upper()}{words[1:]}{'' if words.endswith('.') else '.'}"


def _plain(option: Option | None) -> str:
    """Return the help of an option without its colours."""
    return "" if option is None else re.sub(r"\[/?[a-z ]+\]", "", option.help)


def _choices(name: str, annotation: Any) -> list[dict[str, str]]:
    """Return the words that a field may be, each with what it is called."""
    if name == "refine":
        return [{"name": one.name, "words": one.name} for one in refinements()]
    words: Mapping[str, str] = CHOICES.get(name, {})
    named = [choice for choice in _flat(get_args(annotation)) if isinstance(choice, str)]
    return [{"name": one, "words": words.get(one) or _called(one)} for one in named]


def _called(word: str) -> str:
    """Return what a word is called: a mark by its name, as some cannot be seen."""
    return word if len(word) > 1 else f"{unicodedata.name(word).lower()} {word.strip()}".strip()


def _flat(args: tuple[Any, ...]) -> list[Any]:
    """Return the words of the literals among the arguments of a type, however deep they are."""
    found: list[Any] = []
    for one in args:
        found += [one] if isinstance(one, str) else _flat(get_args(one)) if get_args(one) else []
    return found


def _type(annotation: Any, choices: list[dict[str, str]]) -> str:
    text = str(annotation)
    if "dict" in text:
        return "mapping"
    if "tuple" in text:
        return "names" if "str" in text else "other"
    if choices:
        return "choice"
    for name, word in (("bool", "boolean"), ("int", "integer"), ("float", "number"), ("str", "text")):
        if name in text:
            return word
    return "other"
