"""Asks what can be asked of a release, and says what cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from shoal.errors import DataError, OptionError
from shoal.release.assessments import attacks, risks
from shoal.release.assessments.case import Case
from shoal.release.assessments.catalogue import TOPICS, Asked
from shoal.release.assessments.questions import Question

# The sets of attributes grow by a factor of 2 with each: no more than so many are searched for special uniques, or for
# patterns of agreement.
MOST_FOR_SETS = 10
RISKS: dict[str, Callable[[Case], Question]] = {
    "keys": risks.found,
    "special_uniques": risks.special,
    "population_uniques": risks.unique,
    "linkage": risks.linked,
    "partial_linkage": risks.partly_linked,
    "probabilistic_linkage": risks.weighed,
    "linkability": attacks.joined,
    "intervals": risks.close,
    "robust_intervals": risks.far_out,
    "singling_out": attacks.isolated,
    "inference": attacks.inferred,
    "membership": attacks.present,
}
# Questions about links, which use the quasi-identifiers that can be compared with the original.
LINKING = ("linkage", "partial_linkage", "probabilistic_linkage", "linkability", "singling_out", "inference")
# One question for each sensitive attribute.
BY_ATTRIBUTE: dict[str, Callable[[Case, str], Question]] = {"learnt": risks.learnt, "model": attacks.modelled}
# Questions that some tables do not allow, which shows only when they are asked.
MAY_FAIL = {
    "robust_intervals": "fewer than 3 records without missing numbers",
    "model": "fewer than 5 groups",
}
NOT_ASKED = "not asked for"
HINTS = {
    "population_uniques": "say how many people there are (population_size, --population-size), or name the weights.",
    "membership": "give records that were set aside before the release was made (held_out, --held-out).",
    "prediction": "give records that were set aside before the release was made (held_out, --held-out).",
    "learnt": "name the sensitive attributes (sensitive_attributes, --sensitive).",
    "model": "name the sensitive attributes (sensitive_attributes, --sensitive).",
}


def settled(case: Case, asked: Asked) -> tuple[frozenset[str], list[tuple[str, str]]]:
    """Return the names of what is asked, and what is left out with the reason; what was named must be possible."""
    left_out = []
    for topic in TOPICS:
        if topic.name not in asked.names:
            left_out.append((topic.name, NOT_ASKED))
            continue
        lacking = lacks(case, topic.name)
        if not lacking:
            continue
        if topic.name in asked.named:
            needs = topic.needs or "quasi-identifiers of one kind in both tables"
            raise OptionError(
                f"The question {topic.name!r} can be asked only with {needs}. Got {lacking}.",
                HINTS.get(topic.name, "leave it out, or name other columns (quasi_identifiers, --qi)."),
            )
        left_out.append((topic.name, lacking))
    return asked.names - {name for name, _ in left_out}, left_out


def lacks(case: Case, name: str) -> str:
    """Return what a question lacks, "" if it can be asked."""
    known, tables = len(case.tables.known), case.tables
    keys = len(tables.roles.quasi_identifiers)
    least = {"partial_linkage": 3, "linkability": 2}.get(name, 1)
    if name in ("special_uniques", "probabilistic_linkage") and keys > MOST_FOR_SETS:
        return f"{keys} quasi-identifiers"
    if name == "population_uniques" and case.people is None:
        return "neither the size of the population nor weights"
    if name in ("membership", "prediction") and case.held_out is None:
        return "no held-out records"
    if name in ("learnt", "model", "prediction") and not (tables.roles.sensitive if name == "learnt" else case.secrets):
        return "no sensitive attributes"
    if name == "inference" and known + len(case.secrets) < 2:
        return "no two columns"
    if (name in LINKING or name in ("membership", "model", "prediction")) and known < least:
        return "no quasi-identifiers that can be compared" if known == 0 else f"{known} that can be compared"
    if name in ("intervals", "robust_intervals") and not set(tables.known) & set(tables.numeric):
        return "no quasi-identifiers with numbers"
    if name in ("distance", "moments", "quantiles", "regressions") and not tables.numeric:
        return "no columns with numbers"
    if name in ("associations", "regressions") and len(tables.compared) < 2:
        return "one column"
    return ""


def asked_risks(case: Case, names: frozenset[str], asked: Asked, left_out: list[tuple[str, str]]) -> Iterator[Question]:
    """Yield the answers about risk, in the order of the catalogue; what these tables do not allow is left out."""
    for topic in TOPICS:
        if topic.name not in names:
            continue
        try:
            if topic.name in RISKS:
                yield _qualified(case, RISKS[topic.name](case))
            elif topic.name in BY_ATTRIBUTE:
                for name in case.tables.roles.sensitive if topic.name == "learnt" else case.secrets:
                    yield BY_ATTRIBUTE[topic.name](case, name)
        except DataError:
            if topic.name in asked.named or topic.name not in MAY_FAIL:
                raise
            left_out.append((topic.name, MAY_FAIL[topic.name]))


def _qualified(case: Case, question: Question) -> Question:
    """Return a question whose reader knows if its links use some of the quasi-identifiers only."""
    known, keys = len(case.tables.known), len(case.tables.roles.quasi_identifiers)
    if question.name not in LINKING or known == keys:
        return question
    least = (
        f" These links use {known} of the {keys} quasi-identifiers: the others are published in a form, such as "
        "ranges, that has no distance. An intruder who uses all of them links more; what keys give is the limit."
    )
    return replace(question, reads=question.reads + least)
