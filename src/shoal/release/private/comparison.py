"""Compares private releases with groups: the error of the same random range queries on both.

The loss of groups is about records that were moved. A private release has new rows, which belong to no record: what
both can be asked is how many records have certain values. The figures are exact, for the holder of the data alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.dp.domain import Domain
from shoal.dp.mechanisms import library
from shoal.dp.registry import find
from shoal.dp.released import Released
from shoal.errors import DataError, OptionError, ShoalError
from shoal.measure.queries import RangeQueries
from shoal.plan import Plan
from shoal.plan_checks import OF_PRIVACY
from shoal.progress import Progress, part, silent
from shoal.release.private.run import check_plan, domain_of, marked, ready
from shoal.release.run import table_of
from shoal.release.suppression import Formed
from shoal.tables import frames

QUERIES, ATTRIBUTES, FLOOR = 300, 3, 0.001
# Fields of a plan that are about the groups of a comparison, and say nothing about the private releases beside them.
OF_GROUPS = (
    *("k", "quasi_identifiers", "sensitive_attributes", "other", "rest", "l", "t", "models", "enforcement"),
    *("hierarchies", "levels", "importance", "representatives", "coordinates", "release", "suppress", "cells"),
    *("blocks", "method", "refine", "time_limit", "bound", "random_state"),
)


class PrivateTrial(NamedTuple):
    """One private release with one budget.

    Attributes
    ----------
    release : str
    epsilon, delta : float
    seconds : float or None
    rows : int or None
        Of the release.
    queries : RangeQueries or None
        The errors of queries; None if the release failed.
    error : str
        Why it failed on this table.
    """

    release: str
    epsilon: float
    delta: float
    seconds: float | None = None
    rows: int | None = None
    queries: RangeQueries | None = None
    error: str = ""

    def plain(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**self._asdict(), "queries": None if self.queries is None else figures(self.queries)}


def figures(errors: RangeQueries) -> dict[str, float | None]:
    """Return what is shown of the errors of queries."""
    return {"query_error": errors.median, "query_error_high": errors.high}


def without_privacy(plan: Plan) -> Plan:
    """Return the plan of the groups that private releases are compared with."""
    if plan.dp is None:
        return plan
    named = ("dp", *OF_PRIVACY, "options")
    return plan.model_copy(update={name: Plan.model_fields[name].get_default() for name in named})


def private_plans(
    plan: Plan, releases: Sequence[str], epsilons: Sequence[float], delta: float | None, domain: Any
) -> list[Plan]:
    """Return the plan of each private release and epsilon, or refuse what cannot be combined with them.

    Parameters
    ----------
    plan : Plan
        What is common to all of them, and fields of groups, which are left out. Its own `dp` and fields of it count
        where the others are empty.
    releases : names
    epsilons : numbers
    delta : float or None
        For those that need it.
    domain : path, mapping or None
    """
    names = list(dict.fromkeys(releases)) or ([] if plan.dp is None else [plan.dp])
    budgets: list[Any] = list(dict.fromkeys(epsilons)) or [plan.epsilon]
    delta = plan.delta if delta is None else delta
    domain = plan.domain if domain is None else domain
    common = plan.model_dump(include=plan.model_fields_set - {*OF_GROUPS, "dp", *OF_PRIVACY, "options"})
    needed = any(find(name).delta for name in names)
    plans = []
    for name in names:
        own = {"options": plan.options} if name == plan.dp else {}
        exempt = delta if find(name).delta or not needed else 0.0
        fields = {**common, **own, "dp": name, "delta": exempt, "domain": domain}
        plans += [Plan.of(**fields, epsilon=epsilon) for epsilon in budgets]
    for one in plans:
        check_plan(one)
    if plans:
        domain_of(plans[0])
        library()
    return plans


class Questions:
    """Random range queries on declared columns, as in :func:`shoal.measure.range_queries`, with their true answers.

    Parameters
    ----------
    domain : Domain
    codes : int64[n, d]
        The original in fixed point.
    random_state : int
        The seed of the draws.
    """

    def __init__(self, domain: Domain, codes: Array, random_state: int = 0) -> None:
        self.domain = domain
        rng = np.random.default_rng(random_state)
        self.asked = [list(self._drawn(codes, rng)) for _ in range(QUERIES)]
        self.truth = self.answers(codes)

    @classmethod
    def about(cls, native: Any, plan: Plan, *, text: bool = False, decimal: str = ".") -> Questions:
        """Return questions about all rows of a data frame, within the domain of a plan."""
        domain = domain_of(plan)
        codes = _codes(native, domain, plan, text, decimal)
        if not len(codes):
            raise DataError("The table must have rows to be compared. Got none.")
        return cls(domain, codes)

    def _drawn(self, codes: Array, rng: np.random.Generator) -> Iterator[tuple[int, Array]]:
        """Yield the columns of a query, each with the ends of a range, or with bool[size]: the categories asked for."""
        count = int(rng.integers(1, min(ATTRIBUTES, codes.shape[1]) + 1))
        for column in rng.choice(codes.shape[1], count, replace=False):
            one = list(self.domain.columns.values())[column]
            ends = codes[rng.integers(0, len(codes), 2), column]
            if one.ordered:
                yield int(column), np.sort(ends)
            else:
                wanted = rng.random(one.size) < 0.5
                wanted[ends[0]] = True
                yield int(column), wanted

    def answers(self, codes: Array, weights: Array | None = None) -> Array:
        """Return float64[q]: the share of the rows that each query asks for."""
        weights = np.ones(len(codes)) if weights is None else weights
        found = np.empty(len(self.asked))
        ordered = [one.ordered for one in self.domain.columns.values()]
        for at, query in enumerate(self.asked):
            inside = np.ones(len(codes), bool)
            for column, wanted in query:
                values = codes[:, column]
                inside &= (values >= wanted[0]) & (values <= wanted[1]) if ordered[column] else wanted[values]
            found[at] = weights[inside].sum()
        return found / max(float(weights.sum()), 1.0)

    def errors(self, codes: Array, weights: Array | None = None) -> RangeQueries:
        """Return the errors of the answers that these rows give."""
        wrong = np.abs(self.answers(codes, weights) - self.truth)
        return RangeQueries(wrong / np.maximum(self.truth, FLOOR), wrong, FLOOR)

    def of_release(self, made: Released) -> RangeQueries:
        """Return the errors of a private release."""
        columns = self.domain.columns.values()
        codes = np.stack([one.snapped(made.positions[:, at]) for at, one in enumerate(columns)], axis=1)
        return self.errors(codes, None if made.counts is None else np.maximum(made.counts, 0).astype(float))

    def of_groups(self, groups: Formed) -> Mapping[str, float | None]:
        """Return the figures of groups; None if they publish something else than values of the declared columns."""
        prepared = groups.prepared
        if prepared.plan.release == "microaggregation":
            table = table_of(prepared, groups.blocks, None)[0]
            try:
                codes = _codes(table, self.domain, prepared.plan, prepared.text, prepared.decimal)
            except ShoalError:
                pass
            else:
                return figures(self.errors(codes))
        return {"query_error": None, "query_error_high": None}


def _codes(native: Any, domain: Domain, plan: Plan, text: bool, decimal: str) -> Array:
    names = [name for name in frames.names_of(native, "compare") if name in domain.columns]
    how: dict[str, Any] = {"formats": plan.formats, "thousands": plan.thousands}
    table = marked(frames.to_arrow(native, "compare", names), plan, decimal)
    return domain.encode(table, text=text, decimal=decimal, **how).codes


def compare_private(
    native: Any,
    plans: Sequence[Plan],
    questions: Questions,
    *,
    text: bool = False,
    decimal: str = ".",
    progress: Progress = silent,
) -> Iterator[PrivateTrial]:
    """Make each private release once, with noise, and ask it the questions.

    Nothing of it may leave: the figures are exact, and no budget pays for them.

    Yields
    ------
    PrivateTrial
        For each plan. Those that fail contain the reason.
    """
    for at, plan in enumerate(plans):
        if plan.dp is None or plan.epsilon is None:
            raise OptionError("The plans of compare_private must have dp and epsilon. Got one without.")
        trial = PrivateTrial(plan.dp, plan.epsilon, plan.delta)
        report = part(progress, at / len(plans), (at + 1) / len(plans))
        try:
            prepared = ready(native, plan, text=text, decimal=decimal)
            options = prepared.release.checked(plan.options)
            start = time.perf_counter()
            made = prepared.release.load()(prepared.coded, prepared.ledger, report=report, **options)
            seconds = time.perf_counter() - start
        except ShoalError as error:
            yield trial._replace(error=str(error))
            continue
        yield trial._replace(seconds=seconds, rows=len(made.positions), queries=questions.of_release(made))
