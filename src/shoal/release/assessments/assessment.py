"""The assessment of a release: what is still at risk, and what it is still good for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import OptionError
from shoal.measure import Associations, Subgroups
from shoal.measure import subgroups as subgroups_of
from shoal.release.assessments.asking import asked_risks, settled
from shoal.release.assessments.case import Case
from shoal.release.assessments.catalogue import asked_of
from shoal.release.assessments.questions import Question
from shoal.release.assessments.tables import Roles, Tables, grouping, held_out_of, tables_of
from shoal.release.assessments.utilities import Columns, compared_of, utilities
from shoal.release.finished import Published, published_of, source_of
from shoal.tables.inputs import count_of

if TYPE_CHECKING:
    from shoal.io import Source

SAMPLE = 20_000
# Subgroups with fewer records than this, or than k, are not named.
LEAST = 10


@dataclass(frozen=True, repr=False)
class Assessment:
    """What an intruder can still do with a release, and what an analyst can. For the data holder: do not publish it.

    It quotes no values of the data but the names of subgroups with many records, if these were asked for.

    Attributes
    ----------
    name : str
        Of the release.
    records, released : int
        Of the original and of the release.
    k : int
        That holds for the quasi-identifiers.
    questions : tuple of Question
        What was asked, with figures and what to compare them with. ``assessment["linkage"]["correct"]`` is one.
    quasi_identifiers, compared : tuple of str
        Columns that others may know, and columns that could be compared.
    columns : Columns
        What was lost, column by column.
    associations : Associations or None
        How strongly columns are related, before and after; None if that was not asked.
    subgroups : tuple of Subgroups
        Who pays for the anonymity, by each column that was asked for.
    notes : tuple of str
        What the reader of figures must know.
    left_out : tuple of (str, str)
        Questions that were not asked, and why.
    """

    name: str
    records: int
    released: int
    k: int
    questions: tuple[Question, ...]
    quasi_identifiers: tuple[str, ...]
    compared: tuple[str, ...]
    columns: Columns
    associations: Associations | None
    subgroups: tuple[Subgroups, ...]
    notes: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...] = ()

    def __getitem__(self, name: str) -> Question:
        """Return a question by its name."""
        for question in self.questions:
            if question.name == name:
                return question
        known = ", ".join(question.name for question in self.questions)
        why = dict(self.left_out).get(name)
        reason = "" if why is None else f", which was left out ({why})"
        raise OptionError(
            f"An assessment must have the question that is looked for. Got {name!r}{reason}.", f"it has {known}."
        )

    def __repr__(self) -> str:
        parts = [
            f"{question.name} {question.figures[0].value:.3g}"
            for question in self.questions
            if question.name in ("linkage", "distance", "associations")
        ]
        return f"Assessment({self.released} of {self.records} records, k = {self.k}: {', '.join(parts)})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "release": self.name,
            "records": self.records,
            "released": self.released,
            "k": self.k,
            "quasi_identifiers": list(self.quasi_identifiers),
            "compared": list(self.compared),
            "questions": {question.name: question.plain() for question in self.questions},
            "columns": {
                name: {
                    "loss": _finite(self.columns.loss.get(name)),
                    "variance_kept": _finite(self.columns.variance.get(name)),
                    "counts_moved": _finite(self.columns.counts.get(name)),
                }
                for name in self.compared
            },
            "subgroups": [
                {
                    "column": one.name,
                    "loss": _finite(one.whole),
                    "of": [
                        {"value": value or None, "records": int(records), "loss": _finite(loss)}
                        for value, records, loss in zip(one.values, one.records, one.losses, strict=True)
                    ],
                }
                for one in self.subgroups
            ],
            "notes": list(self.notes),
            "left_out": dict(self.left_out),
        }

    def report(self, path: str | PathLike[str] | None = None, *, force: bool = False) -> str:
        """Return a page for the data holder as HTML, and write it to `path` if given; only its owner can read it."""
        from shoal.release.report.assessment import render_assessment

        page = render_assessment(self)
        if path is not None:
            from shoal.release.files import write_text

            write_text(page, path, force=force, private=True)
        return page


def _finite(number: float | None) -> float | None:
    return None if number is None or not np.isfinite(number) else float(number)


def assess(
    original: Any,
    release: Any,
    quasi_identifiers: Sequence[str] | None = None,
    *,
    sensitive_attributes: Sequence[str] = (),
    weight: str | None = None,
    types: Mapping[str, str] | None = None,
    key: str | None = None,
    subgroups: Sequence[str] = (),
    ask: Sequence[str] | str | None = None,
    held_out: Any = None,
    population_size: int | None = None,
    sample: int = SAMPLE,
    random_state: int = 0,
    n_jobs: int | None = -1,
) -> Assessment:
    """Assess a release: what an intruder can still do with it, and what an analyst can.

    Keys, links by distance, intervals and most measures of utility are exact. The propensity model, the intruder who
    knows two columns, and attacks that guess or join get a sample of records, random queries and tables of three
    columns are drawn; their figures have a confidence interval. Values of hierarchies and levels count as categories,
    records as units.

    Parameters
    ----------
    original : path, Source or data frame
        The table that the release was made from.
    release : path, Source, data frame or Release
        The certificate is read if it stands beside a file, as OUT.manifest.json.
    quasi_identifiers : names or None
        What others may know. None: those of the certificate, or else all columns that both tables have.
    sensitive_attributes : names
        By default those of the certificate.
    weight : name or None
        The column of the original with sampling weights.
    types : {name: kind} or None
        Kinds of columns, where another than that of the certificate or the one inferred is meant: ``{"region":
        "nominal"}`` for codes.
    key : name or None
        A column of both tables with a different value in each row, by which rows are matched. None: by their order.
    subgroups : names
        Columns of the original: who pays for the anonymity, by their values with many records.
    ask : names or None
        The questions, of :data:`shoal.release.assessments.catalogue.TOPICS`; "default" and "all" stand for several.
        None: "default", which is all but "model", which takes longer. What these tables do not allow is left out; a
        question that is named and cannot be asked is refused.
    held_out : path, Source or data frame, optional
        Original records that were set aside *before* the release was made: who is in it, and models that learnt from
        it, are tried on them.
    population_size : int, optional
        The number of people that the original is a sample of. By default the sum of the weights, if there are any.
    sample : int
        How many records attacks and models are given.
    random_state : int
        The seed of all draws.
    n_jobs : int or None
        The number of threads; -1: all cores. Results do not depend on it.

    Returns
    -------
    Assessment

    Raises
    ------
    DataError, OptionError
        If rows cannot be matched, or no column can be compared.
    DisclosureError
        If the certificate belongs to another file.

    Examples
    --------
    >>> import pyarrow as pa, shoal
    >>> people = pa.table({"age": [20, 22, 40, 44], "pay": [1, 3, 5, 9]})
    >>> release = pa.table({"age": [21, 21, 42, 42], "pay": [2, 2, 7, 7]})
    >>> found = shoal.assess(people, release, ["age", "pay"])
    >>> found
    Assessment(4 of 4 records, k = 2: linkage 0.5, distance 0.199, associations 0.0847)
    >>> found["linkage"]["untouched"]
    1.0
    """
    roles = Roles(_names(quasi_identifiers), _names(sensitive_attributes), weight, types or {})
    return assessed(
        source_of(original, "the original", "shoal.assess"),
        published_of(release, 1, "shoal.assess"),
        roles,
        key=key,
        subgroups=_names(subgroups),
        ask=ask,
        held_out=None if held_out is None else source_of(held_out, "the held-out records", "shoal.assess"),
        population_size=population_size,
        sample=count_of(sample, "sample", "shoal.assess", least=2),
        seed=count_of(random_state, "random_state", "shoal.assess", least=0),
        n_jobs=n_jobs,
    )


def _names(given: Sequence[str] | str | None) -> tuple[str, ...]:
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)


def assessed(
    original: Source,
    published: Published,
    roles: Roles,
    *,
    key: str | None = None,
    subgroups: Sequence[str] = (),
    ask: Sequence[str] | str | None = None,
    held_out: Source | None = None,
    population_size: int | None = None,
    sample: int = SAMPLE,
    seed: int = 0,
    n_jobs: int | None = -1,
) -> Assessment:
    """Assess a release that was read; see :func:`assess`."""
    asked = asked_of(ask)
    by = {name: grouping(original, name) for name in subgroups}
    tables = tables_of(original, published, roles, key)
    case = Case(tables, sample, seed, n_jobs, people=_people(tables, population_size))
    if held_out is not None:
        case.held_out = held_out_of(original, held_out, tables)
    names, left_out = settled(case, asked)
    lost = utilities(case, names)
    answers = (*asked_risks(case, names, asked, left_out), *lost.questions)
    k = int(case.after.sizes.min())
    notes = list(tables.notes)
    if not roles.quasi_identifiers and published.certificate is None:
        notes.append("no quasi-identifiers were named: all columns that both tables have count as such")
    missing = original.table.num_rows - len(tables.rows)
    if missing:
        notes.append("records that were not released cannot be linked, and count in no measure of utility")
    return Assessment(
        name=published.source.name,
        records=original.table.num_rows,
        released=len(tables.rows),
        k=k,
        questions=answers,
        quasi_identifiers=tables.roles.quasi_identifiers,
        compared=tables.compared,
        columns=lost.columns,
        associations=lost.associations,
        subgroups=_paying(tables, by, max(k, LEAST)),
        notes=tuple(notes),
        left_out=tuple(left_out),
    )


def _people(tables: Tables, population_size: int | None) -> int | None:
    """Return the size of the population, None if nothing is known of it."""
    n = tables.before.num_rows
    if population_size is not None:
        return count_of(population_size, "population_size", "shoal.assess", least=n)
    # Weights below 1 do not make a population smaller than its sample.
    return None if tables.weights is None else max(n, round(float(tables.weights.sum())))


def _paying(tables: Tables, by: Mapping[str, Sequence[Any]], least: int) -> tuple[Subgroups, ...]:
    """Return who pays for the anonymity, by each column that was asked for."""
    if not by:
        return ()
    if not tables.numeric:
        raise OptionError("The loss of subgroups must be that of columns with numbers. Got none that can be compared.")
    from dataclasses import replace

    both = compared_of(tables).some(tables.numeric, "shoal.assess")
    return tuple(replace(subgroups_of(both, None, values, least=least), name=name) for name, values in by.items())
