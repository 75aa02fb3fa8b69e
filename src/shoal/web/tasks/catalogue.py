"""What the forms of the page offer, made from the registries and the table of options."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from typing import Any, get_args

from shoal.io.formats import COMPRESSIONS, FORMATS
from shoal.options.table import PLAN
from shoal.partitioning.registry import methods
from shoal.plan import FORMS, KINDS, Plan
from shoal.privacy.model import SensitiveModel
from shoal.privacy.models import MODELS, written
from shoal.release.report.facts import RELEASES
from shoal.tables.representatives import REPRESENTATIVES
from shoal.web.worker import Line

# name, what it means, what it costs
ROLES = (
    ("quasi-identifier", "Others may know it about a person: it is grouped, and published coarser.", "detail"),
    (
        "sensitive",
        "What must not be learned about a person: published unchanged.",
        "nothing, unless models are set",
    ),
    ("quasi-identifier+sensitive", "Known to some and sensitive too: published as a quasi-identifier.", "detail"),
    ("identifier", "Names a person: dropped.", "the column"),
    ("other", "Neither known to others nor sensitive: published unchanged.", "nothing; be sure that nobody knows it"),
    ("dropped", "Not published, whatever it holds.", "the column"),
    ("weight", "Sampling weights: used in means and losses, published unchanged.", "nothing"),
    ("unit", "The person or household of a row: k counts different ones. Dropped.", "detail, as groups get larger"),
    ("stratum", "Groups never cross its values. Published unchanged.", "detail, as groups are formed within strata"),
)
KINDS_IN_WORDS = {
    "continuous": "Measurements and amounts: numbers to be averaged.",
    "integer": "Counts, years: whole numbers.",
    "ordinal": "Levels in an order.",
    "nominal": "Names and codes without an order.",
    "hierarchical": "Values in a tree: regions, codes of classifications.",
    "boolean": "Yes or no.",
    "date": "Days.",
    "datetime": "Moments.",
    "place": "Latitude and longitude, two columns.",
}
COSTS = {
    "k": "The larger k, the larger the groups and the loss.",
    "l": "Groups grow until they have l different sensitive values.",
    "t": "The smaller t, the larger the groups: the costliest of the three.",
    "unit": "Groups grow until they have k different units.",
    "stratum": "Groups cannot use near records of other strata.",
    "suppress": "Records are left out, so that the others lose less.",
    "shuffle": "The release cannot be repeated byte for byte, nor assessed record by record.",
    "time_limit": "A search that the clock ends may give other groups in another run.",
    "blocks": "k holds within each block only.",
    "population": "A table of the population is needed.",
}
# Examples of parameters, with which models explain themselves.
EXAMPLE = {"k": 5, "l": 3, "p": 3, "c": 3.0, "t": 0.2, "n": 100, "alpha": 0.5, "beta": 1.0, "delta": 1.0}
THE_COLUMN = "the sensitive column"


def catalogue(line: Line) -> dict[str, Any]:
    """Return what the forms offer."""
    return {
        "roles": [{"name": name, "words": words, "cost": cost} for name, words, cost in ROLES],
        "types": [
            {"name": kind, "words": KINDS_IN_WORDS[kind], "representatives": list(one), "default": one[0]}
            for kind, one in ((kind, REPRESENTATIVES[kind]) for kind in KINDS)
        ],
        "forms": [{"name": form, "words": f"{RELEASES[form].capitalize()}."} for form in FORMS],
        "methods": _methods(),
        "models": _models(),
        "fields": _fields(),
        "formats": _formats(),
        "reading": [
            *(suffix for one in FORMATS.values() for suffix in one.suffixes),
            *(s + packed for one in FORMATS.values() if one.packed for s in one.suffixes for packed in COMPRESSIONS),
        ],
    }


def _methods() -> list[dict[str, Any]]:
    auto = {
        "name": "auto",
        "words": "Chooses the method by the table, and searches for low loss.",
        "cost": "seconds to a minute",
        "options": [],
        "timed": True,
        "univariate": False,
    }
    return [
        auto,
        *(
            {
                "name": one.name,
                "words": one.summary,
                "cost": one.cost,
                "options": [
                    {"name": o.name, "default": o.default, "words": o.summary, "domain": o.domain} for o in one.options
                ],
                "timed": one.timed,
                "univariate": one.univariate,
            }
            for one in methods()
        ),
    ]


def _models() -> list[dict[str, Any]]:
    listed = []
    for name, kind in MODELS.items():
        if not issubclass(kind, SensitiveModel):
            continue
        given = {one.name: EXAMPLE.get(one.name, 1) for one in fields(kind) if one.default is MISSING}
        example = kind(**given)
        listed.append(
            {
                "name": name,
                "written": written(kind),
                "example": str(example),
                "parameters": [
                    {
                        "name": one.name,
                        "type": str(one.type),
                        "default": None if one.default is MISSING else one.default,
                        "example": given.get(one.name),
                    }
                    for one in fields(kind)
                ],
                "words": example.explanation(THE_COLUMN).replace(repr(THE_COLUMN), THE_COLUMN),
                "cost": "The more it asks for, the larger the groups and the loss.",
            }
        )
    return listed


def _fields() -> list[dict[str, Any]]:
    by_field = {option.field: option for option in reversed(PLAN)}
    listed = []
    for name, one in Plan.model_fields.items():
        option = by_field.get(name)
        default = one.default
        choices = [c for c in _flat(get_args(one.annotation)) if isinstance(c, str)]
        listed.append(
            {
                "name": name,
                "flag": None if option is None else option.name,
                "words": "" if option is None else re.sub(r"\[/?[a-z ]+\]", "", option.help),
                "cost": COSTS.get(name),
                "default": default if isinstance(default, str | int | float | None) else list(default),
                "type": _type(one.annotation, choices),
                "choices": choices or None,
            }
        )
    return listed


def _flat(args: tuple[Any, ...]) -> list[Any]:
    """Return the words of the literals among the arguments of a type, however deep they are."""
    found: list[Any] = []
    for one in args:
        found += [one] if isinstance(one, str) else _flat(get_args(one)) if get_args(one) else []
    return found


def _type(annotation: Any, choices: list[str]) -> str:
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


def _formats() -> list[dict[str, Any]]:
    """Return the formats that a release can be downloaded in."""
    from importlib.util import find_spec

    needs = {"excel": "openpyxl", "stata": "pyreadstat", "spss": "pyreadstat", "sas-transport": "pyreadstat"}
    words = {
        "csv": "CSV",
        "jsonl": "JSON lines",
        "parquet": "Parquet",
        "arrow": "Arrow",
        "excel": "Excel workbook",
        "stata": "Stata",
        "spss": "SPSS",
        "sas-transport": "SAS transport",
    }
    return [
        {
            "name": name,
            "suffix": FORMATS[name].suffixes[0],
            "words": said,
            "available": name not in needs or find_spec(needs[name]) is not None,
        }
        for name, said in words.items()
    ]
