"""The figures of one release, by name: each is measured when it is asked for, as `shoal.assess` and the audit do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING

from shoal.errors import DataError
from shoal.release.assessments.asking import asked_risks, lacks
from shoal.release.assessments.assessment import SAMPLE
from shoal.release.assessments.case import Case
from shoal.release.assessments.catalogue import Asked
from shoal.release.assessments.questions import Question
from shoal.release.assessments.tables import Roles, Tables, tables_of
from shoal.release.assessments.utilities import UTILITIES, utilities
from shoal.release.finished import Published, published_of
from shoal.release.tuning.yardsticks import YARDSTICKS, Yardstick

if TYPE_CHECKING:
    from shoal.io import Source
    from shoal.release.finished import Compared
    from shoal.release.release import Release

# Questions that compare published values with each other only.
BY_KEYS = ("special_uniques", "learnt:")


class Measuring:
    """Measures figures of a release against its original.

    Parameters
    ----------
    original : Source
    published : Published
    roles : Roles
        As `assess` takes them.
    known : {name: float or None}
        Figures that are known without an assessment.
    key : name or None
        The column by which rows are matched.
    """

    def __init__(
        self,
        original: Source,
        published: Published,
        roles: Roles,
        known: Mapping[str, float | None],
        key: str | None = None,
    ) -> None:
        self._tables_of = lambda: tables_of(original, published, roles, key)
        self._known = known
        self._asked: dict[str, Question] = {}
        self._answered: set[str] = set()

    def figures(self, wanted: Iterable[Yardstick]) -> dict[str, float | None]:
        """Return these figures; None where one is not defined for this release."""
        wanted = list(wanted)
        self._ask({one.question for one in wanted if one.source == "risk"})
        if any(one.source == "utility" for one in wanted):
            self._asked |= self._utilities
        return {one.name: self._figure(one) for one in wanted}

    @cached_property
    def _tables(self) -> Tables:
        return self._tables_of()

    @cached_property
    def _case(self) -> Case:
        return Case(self._tables, SAMPLE, 0, -1)

    @cached_property
    def _whole(self) -> bool:
        """Return whether all quasi-identifiers can be compared; links by the others alone would seem too rare."""
        return set(self._tables.known) == set(self._tables.roles.quasi_identifiers)

    @cached_property
    def _utilities(self) -> dict[str, Question]:
        try:
            names = frozenset(name for name in UTILITIES if not lacks(self._case, name))
            return {one.name: one for one in utilities(self._case, names).questions}
        except DataError:
            return {}  # ranges and sets have no numbers to compare

    def _ask(self, names: set[str]) -> None:
        """Ask questions of risk, as far as they can be asked of this release."""
        wanted = {name.rstrip(":") for name in names if name not in self._answered}
        self._answered |= names
        asked = frozenset(name for name in wanted if not lacks(self._case, name)) if wanted else frozenset()
        for question in asked_risks(self._case, asked, Asked(asked, frozenset()), []):
            self._asked[question.name] = question

    def _figure(self, one: Yardstick) -> float | None:
        if one.source in ("release", "model"):
            value = self._known.get(one.name)
        elif not self._whole and one.question not in BY_KEYS:
            return None
        elif one.question.endswith(":"):
            answers = [q[one.figure] for name, q in self._asked.items() if name.startswith(one.question)]
            value = max(answers, default=None)
        else:
            question = self._asked.get(one.question)
            value = None if question is None or not _has(question, one.figure) else question[one.figure]
        return None if value is None or not isfinite(value) else float(value)


def _has(question: Question, name: str) -> bool:
    return any(figure.name == name for figure in question.figures)


def measuring_of(release: Release, original: Source) -> Measuring:
    """Return the figures of a release that was just made."""
    plan = release.plan
    known = set(release.quasi_identifiers)
    types = {name: kind for name, kind in plan.types.items() if name in known}
    sensitive = tuple(name for name in plan.sensitive_attributes if name not in known)
    roles = Roles((), sensitive, plan.weight, types)
    return Measuring(original, published_of(release, 1, "shoal.tune"), roles, known_of(release))


def known_of(release: Release) -> dict[str, float | None]:
    """Return the figures that a release has by itself."""
    audit, utility = release.audit, release.utility
    figures: dict[str, float | None] = {
        "k": release.k,
        "k_all": release.whole.k,
        "unique": release.whole.unique / audit.rows,
        "risk": 1 / release.k,
        "average_risk": audit.classes / audit.rows,
        "loss": release.loss,
        "ncp": utility.certainty_penalty,
        "total_il": utility.total_information_loss,
        "c_dm": utility.discernability,
        "c_avg": utility.average_group_size,
        "left_out": (release.rows_in - audit.rows) / release.rows_in,
    }
    for one in YARDSTICKS.values():
        held = [finding.held for finding in audit.models if finding.model.name == one.model]
        if held:
            figures[one.name] = min(held) if one.better == "higher" else max(held)
    return figures


def known_of_compared(compared: Compared) -> dict[str, float | None]:
    """Return the figures that the comparison of a finished release has."""
    rows = compared.rows + compared.removed
    return {
        "k": compared.k,
        "risk": 1 / compared.k,
        "average_risk": compared.groups / compared.rows,
        "loss": compared.loss,
        "ncp": compared.certainty_penalty,
        "total_il": compared.total_information_loss,
        "c_dm": compared.discernability,
        "c_avg": compared.average_group_size,
        "left_out": compared.removed / rows,
    }
