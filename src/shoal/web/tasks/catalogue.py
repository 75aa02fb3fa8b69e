"""What the forms of the page offer, made from the registries and the table of options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any

from shoal.dp.attributes import KEYS
from shoal.dp.domain import FILL_IN
from shoal.dp.registry import releases
from shoal.io.formats import COMPRESSIONS, FORMATS
from shoal.partitioning.definitions import MethodOption
from shoal.partitioning.registry import methods
from shoal.plan import FORMS, KINDS
from shoal.privacy.model import SensitiveModel
from shoal.privacy.models import MODELS, written
from shoal.release.private.table import certainty_of
from shoal.release.report.facts import RELEASES
from shoal.tables.representatives import REPRESENTATIVES
from shoal.web.tasks.fields import fields_of_a_plan, sentence, settings_of_columns, ways_of_reading
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
# Examples of parameters, with which models explain themselves.
EXAMPLE = {"k": 5, "l": 3, "p": 3, "c": 3.0, "t": 0.2, "n": 100, "alpha": 0.5, "beta": 1.0, "delta": 1.0}
# Parameters that are words and not numbers, with what each means.
CHOICES = {
    "ground": {
        "auto": "by the type of the column",
        "equal": "equal or different",
        "ordered": "by order",
        "numeric": "by amount",
    }
}
# Usual budgets of private releases.
EPSILONS = (0.1, 0.5, 1, 2, 5, 10)
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
        "fields": fields_of_a_plan(),
        "settings": settings_of_columns(),
        "private": _private(),
        "formats": _formats(),
        "ways_of_reading": ways_of_reading(),
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
                "words": sentence(one.summary),
                "cost": one.cost,
                "options": _options(one.options),
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
                        "choices": [[value, words] for value, words in CHOICES.get(one.name, {}).items()],
                    }
                    for one in fields(kind)
                ],
                "words": example.explanation(THE_COLUMN).replace(repr(THE_COLUMN), THE_COLUMN),
                "cost": "The more it asks for, the larger the groups and the loss.",
            }
        )
    return listed


def _options(options: Sequence[MethodOption]) -> list[dict[str, Any]]:
    return [
        {
            "name": one.name,
            "default": one.default,
            "words": sentence(one.summary),
            "domain": one.domain,
            "choices": list(one.choices),
            "numeric": one.least is not None,
        }
        for one in options
    ]


def _private() -> dict[str, Any]:
    """Return the differentially private releases, and what a domain says about columns of each kind."""
    from importlib.util import find_spec

    return {
        "available": find_spec("opendp") is not None,
        "releases": [
            {
                "name": one.name,
                "words": one.summary,
                "cost": one.cost,
                "options": _options(one.options),
                "delta": one.delta,
                "units": one.units,
                "kinds": list(one.kinds) or None,
            }
            for one in releases()
        ],
        "keys": {kind: [key for key in keys if key != "values" or kind != "boolean"] for kind, keys in KEYS.items()},
        "fill_in": FILL_IN,
        "certainty": [{"epsilon": epsilon, "sure": certainty_of(epsilon)} for epsilon in EPSILONS],
    }


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
