"""What an assessment can ask: names, and which are asked unless somebody says otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shoal.errors import OptionError, near_names

DEFAULT, ALL = "default", "all"


class Topic(NamedTuple):
    """A question, or one for each sensitive attribute.

    Attributes
    ----------
    name : str
    asked : bool
        Whether it is asked by default.
    words : str
        What it is about.
    needs : str
        What it cannot be asked without, "" for nothing beyond the two tables.
    """

    name: str
    asked: bool
    words: str
    needs: str = ""


TOPICS = (
    Topic("keys", True, "records that are found by their published quasi-identifiers"),
    Topic("special_uniques", True, "records that few quasi-identifiers single out", "at most 10 quasi-identifiers"),
    Topic(
        "population_uniques",
        True,
        "people whose quasi-identifiers nobody else has",
        "the size of the population or weights",
    ),
    Topic("linkage", True, "links by distance, all quasi-identifiers known"),
    Topic("partial_linkage", True, "links by distance, two of them known", "three quasi-identifiers"),
    Topic("probabilistic_linkage", True, "links by weights of agreement", "at most 10 quasi-identifiers"),
    Topic("linkability", True, "two files joined through the release", "two quasi-identifiers"),
    Topic("intervals", True, "published numbers close to the original ones", "numbers"),
    Topic("robust_intervals", True, "outliers close to their published values", "numbers"),
    Topic("singling_out", True, "predicates that are true of one record"),
    Topic("inference", True, "attributes guessed through the nearest group", "two columns"),
    Topic("learnt", True, "what groups reveal of sensitive attributes", "sensitive attributes"),
    Topic("model", False, "what models trained on the release guess of them", "sensitive attributes"),
    Topic("membership", True, "who is in the release", "held-out records"),
    Topic("distance", True, "distances of published numbers", "numbers"),
    Topic("moments", True, "means, variances, covariances and eigenvalues", "numbers"),
    Topic("quantiles", True, "quantiles and tails", "numbers"),
    Topic("associations", True, "correlations, rank correlations, Cramer's V", "two columns"),
    Topic("tables", True, "tables of counts of up to three columns"),
    Topic("propensity", True, "a model that tells published rows apart"),
    Topic("regressions", True, "coefficients and the overlap of their intervals", "numbers and another column"),
    Topic("queries", True, "counts of records in a range"),
    Topic("prediction", True, "models that learnt from the release", "held-out records and sensitive attributes"),
)
NAMES = tuple(topic.name for topic in TOPICS)


class Asked(NamedTuple):
    """What is asked.

    Attributes
    ----------
    names : frozenset of str
    named : frozenset of str
        Those that somebody asked for by name: they are refused where they cannot be asked, others are left out.
    """

    names: frozenset[str]
    named: frozenset[str]


def asked_of(ask: Sequence[str] | str | None) -> Asked:
    """Return what is asked by names, "default" and "all"; None is the default."""
    given = [DEFAULT] if ask is None else [ask] if isinstance(ask, str) else list(ask)
    if not given:
        raise OptionError("An assessment must ask at least one question. Got none.", f"the questions are {_listed()}.")
    names: set[str] = set()
    for name in given:
        if name in (DEFAULT, ALL):
            names |= {topic.name for topic in TOPICS if topic.asked or name == ALL}
        elif name in NAMES:
            names.add(name)
        else:
            known = f"the questions are {_listed()}, or '{DEFAULT}' and '{ALL}'."
            raise OptionError(
                f"An assessment must ask questions that exist. Got {name!r}.",
                near_names(str(name), (*NAMES, DEFAULT, ALL), known),
            )
    return Asked(frozenset(names), frozenset(given) & frozenset(NAMES))


def _listed() -> str:
    return ", ".join(NAMES)
