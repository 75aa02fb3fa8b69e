"""What an analyst can still do: numbers, relations, tables of counts, models, queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from shoal import measure
from shoal.errors import DataError
from shoal.measure import Associations, Compared
from shoal.release.assessments.case import CALLER, Case
from shoal.release.assessments.questions import Figure, Question
from shoal.release.assessments.tables import ROW, Tables

UTILITIES = frozenset(
    ("distance", "moments", "quantiles", "associations", "tables", "propensity", "regressions", "queries", "prediction")
)
# Regressions of one column on the others: no more than so many columns are explained.
MOST_REGRESSIONS = 20


class Columns(NamedTuple):
    """What was lost, column by column.

    Attributes
    ----------
    loss : {name: float}
        The mean distance of numbers, in standard deviations times the square root of 2.
    variance : {name: float}
        The share of the variance that is left.
    counts : {name: float}
        The share of records that would have to move to make the table of counts equal.
    """

    loss: Mapping[str, float]
    variance: Mapping[str, float]
    counts: Mapping[str, float]


class Measured(NamedTuple):
    """The answers, and what the pictures need besides."""

    questions: tuple[Question, ...]
    columns: Columns
    associations: Associations | None


def compared_of(tables: Tables) -> Compared:
    """Return both tables as the measures of utility take them."""
    wanted = list(tables.compared)
    if not wanted:
        raise DataError(
            "A release must have at least one column that can be compared with the original. Got none.",
            hint="a release of ranges or sets alone can be verified, and compared by 'shoal compare'.",
        )
    return Compared.of(tables.original, tables.release, wanted, CALLER, by=ROW, weight=tables.weights)


def utilities(case: Case, names: frozenset[str]) -> Measured:
    """Return what is asked about the utility of a release."""
    if not names & UTILITIES:
        return Measured((), Columns({}, {}, {}), None)
    both = compared_of(case.tables)
    made: dict[str, Question] = {}
    loss: dict[str, float] = {}
    variance: dict[str, float] = {}
    counts: dict[str, float] = {}
    related = None
    if "distance" in names:
        moved = measure.distance_loss(both, None)
        loss, made["distance"] = dict(zip(moved.names, map(float, moved.attributes), strict=True)), _moved(moved)
    if "moments" in names:
        moments = measure.moments(both, None)
        variance = dict(zip(moments.names, map(float, moments.variance_ratios), strict=True))
        made["moments"] = _moments(moments)
    if "quantiles" in names:
        made["quantiles"] = _tails(measure.quantiles(both, None))
    if "associations" in names:
        related = measure.associations(both, None)
        made["associations"] = _related(both, related)
    if "tables" in names:
        counted = measure.cross_tabulations(both, None, random_state=case.seed)
        counts = dict(zip(counted.names, map(float, counted.one), strict=True))
        made["tables"] = _counted(counted)
    if "propensity" in names:
        made["propensity"] = _told_apart(both, case.sample, case.seed)
    if "regressions" in names:
        made |= {one.name: one for one in _regressed(both, case.tables)}
    if "queries" in names:
        made["queries"] = _queried(both, case.seed)
    if "prediction" in names:
        made |= {one.name: one for one in _predicted(case)}
    return Measured(tuple(made.values()), Columns(loss, variance, counts), related)


def _moved(found: measure.DistanceLoss) -> Question:
    return Question(
        "distance",
        "utility",
        "How far are published numbers from the original ones?",
        "Mean distance in standard deviations, divided by the square root of 2 (IL1s): 0 if nothing is lost, about 0.8 "
        "for numbers that are dealt out at random.",
        (
            Figure("average", "mean distance", found.average, share=False),
            Figure("random", "dealt out at random", 0.8, share=False, compare=True),
        ),
    )


def _moments(found: measure.Moments) -> Question:
    return Question(
        "moments",
        "utility",
        "Are means and variances kept?",
        "Group means keep means and make variances smaller: what is left of them is what tests and intervals rest on.",
        (
            Figure("variance_kept", "variance that is left, on average", found.variance_kept),
            Figure("nothing_lost", "if nothing were lost", 1.0, compare=True),
            Figure("mean_shift", "shift of means, in standard deviations", found.mean_shift, share=False),
            Figure("covariance_change", "change of covariances, in products of them", found.covariance_change, False),
            Figure("eigenvalue_loss", "change of eigenvalues of the correlations", found.eigenvalue_loss, share=False),
        ),
    )


def _tails(found: measure.Quantiles) -> Question:
    return Question(
        "quantiles",
        "utility",
        "Are quantiles and tails kept?",
        "Of the tails, what lies beyond the outermost hundredths of the original: 100 % if they are kept, 0 % if no "
        "published value is that far out.",
        (
            Figure("tails_kept", "tails that are left", found.tails_kept),
            Figure("nothing_lost", "if nothing were lost", 1.0, compare=True),
            Figure("shift", "shift of quantiles, in standard deviations", found.shift, share=False),
        ),
    )


def _related(both: Compared, found: Associations) -> Question:
    figures = [
        Figure("change", "change, on average", found.change, share=False),
        Figure("highest", "change of the pair that changed most", found.highest, share=False),
    ]
    if sum(one.numeric for one in both.pair.attributes) > 1:
        ranks = measure.associations(both, None, numbers="ranks")
        figures.append(Figure("ranks", "change by ranks, on average", ranks.change, share=False))
    strength = np.abs(found.before[np.triu_indices(len(found.names), 1)]).mean()
    figures.append(Figure("strength", "strength in the original, on average", float(strength), False, compare=True))
    return Question(
        "associations",
        "utility",
        "Are columns related as they were?",
        "Correlations of numbers, Cramer's V of categories, correlation ratios of both. 0 is no change; compare with "
        "how strong relations are in the original.",
        tuple(figures),
    )


def _counted(found: measure.CrossTabulations) -> Question:
    words = ("of single columns", "of pairs of columns", "of triples of columns")
    means = zip(("one", "two", "three"), words, found.means, strict=True)
    return Question(
        "tables",
        "utility",
        "Would printed tables of counts be the same?",
        "The share of records that would have to move to other cells, on average over all tables, with numbers in ten "
        "intervals: 0 % if the tables are the same.",
        (
            *(
                Figure(name, f"in tables {which}", mean, interval=found.interval if name == "three" else None)
                for name, which, mean in means
                if mean == mean
            ),
            Figure("highest", "in the worst table of at most two columns", found.highest),
        ),
    )


def _told_apart(both: Compared, sample: int, seed: int) -> Question:
    found = measure.propensity(both, None, sample=sample, random_state=seed)
    drawn = (
        f" Fitted on {found.records:,} records, drawn at random, and judged by others."
        if found.interval is not None
        else ""
    )
    return Question(
        "propensity",
        "utility",
        "Can a model tell published rows from original ones?",
        "The c-statistic is 0.5 if it cannot and 1 if it always can; the propensity-score mean squared error is 0 and "
        f"0.25. Compare it with that of two samples of one population.{drawn}",
        (
            Figure("c_statistic", "c-statistic", found.c_statistic, share=False, interval=found.interval),
            Figure("cannot", "if it cannot", 0.5, share=False, compare=True),
            Figure("pmse", "mean squared error", found.pmse, share=False),
            Figure("expected", "of two samples", found.expected, share=False, compare=True),
        ),
    )


def _regressed(both: Compared, tables: Tables) -> Iterator[Question]:
    overlaps, signs = [], []
    for name in tables.numeric[:MOST_REGRESSIONS] if len(both.names) > 1 else ():
        try:
            found = measure.regression(both, None, name)
        except DataError:
            continue  # more terms than records
        if len(found.terms) > 1:
            overlaps.append(found.overlap)
            signs.append(found.same_sign)
    if overlaps:
        yield Question(
            "regressions",
            "utility",
            "Do regressions say the same?",
            "Each column of numbers is explained by all others. 100 % overlap: the confidence intervals of "
            "coefficients are the same; 0 %: they have nothing in common. Group means make those of the "
            "release too narrow.",
            (
                Figure("overlap", "overlap of intervals, on average", float(np.mean(overlaps))),
                Figure("lowest", "of the regression that changed most", float(min(overlaps))),
                Figure("same_sign", "coefficients of the same sign", float(np.mean(signs))),
            ),
        )


def _queried(both: Compared, seed: int) -> Question:
    found = measure.range_queries(both, None, random_state=seed)
    return Question(
        "queries",
        "utility",
        "How wrong are counts of records in a range?",
        "The error of 1,000 random queries of up to three columns, as a share of the right answer, or of a thousandth "
        "of all records if that is larger: 0 % if nothing is lost.",
        (
            Figure("mean", "error, on average", found.mean, interval=found.interval),
            Figure("median", "of the middle query", found.median),
            Figure("high", "not exceeded by 95 % of queries", found.high),
        ),
    )


def _predicted(case: Case) -> Iterator[Question]:
    """Yield how well models predict held-out records, for each sensitive attribute."""
    for name in case.secrets:
        try:
            found = measure.prediction(
                case.tables.original,
                case.tables.release,
                case.held_out,
                name,
                list(case.tables.known),
                by=ROW,
                weight=case.tables.weights,
            )
        except DataError:
            continue  # a single value, or none that is known
        share = found.baseline >= 0 and found.before >= 0 and name not in case.tables.numeric
        yield Question(
            f"prediction:{name}",
            "utility",
            f"Does a model that learnt from the release predict {name} of others as well?",
            f"On {found.records:,} records that were set aside before the release was made: "
            + ("the share of right predictions." if share else "R squared, which is 0 for the mean.")
            + " Compare with a model that learnt from the original.",
            (
                Figure("after", "learnt from the release", found.after, share=share, interval=found.interval),
                Figure("before", "learnt from the original", found.before, share=share, compare=True),
                Figure("baseline", "without a model", found.baseline, share=share, compare=True),
            ),
        )
