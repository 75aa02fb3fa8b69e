"""Partitions under constraints: strata, units, equal records that stay together, demands on sensitive attributes.

Every method of Shoal forms groups of at least k records. If k counts units, or equal records must stay together, groups
that fall short are merged with groups nearby afterwards. Demands, and k units in every group, are then enforced by
methods of their own (`shoal.partitioning.enforcement`), which may start from these groups.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array, group_means
from shoal.errors import DataError
from shoal.partitioning.choice import DEFAULT_SECONDS, choose, quick_start
from shoal.partitioning.door import threads
from shoal.partitioning.extent import Extent
from shoal.partitioning.merging import Nearest, merge
from shoal.partitioning.pool import SMALL_TABLE, numbered
from shoal.partitioning.registry import find, find_refinement
from shoal.partitioning.requirements import Requirements
from shoal.partitioning.run import partition, resolve
from shoal.plan import WITHOUT_METHOD, Plan
from shoal.privacy.demands import Demand
from shoal.progress import Progress, part, silent

# Seconds that `auto` may take by default, because somebody is waiting, and additional seconds per row.
AUTO_SECONDS, AUTO_SECONDS_PER_ROW = 10.0, 1e-4
# Kicks for each group, if the search under models is the only one, on tables of at most SMALL_TABLE records. On the 30
# survey tables (300 to 1000 rows) by which 500 was chosen, it loses 0.9 % less on average than 100 after a search
# without models, up to 2 % more with l = 2, and takes about a third longer; the other search need not be compiled.
ONLY_KICKS = 500
# On tables of more and of at most so many records, it is the only one too, as long as it would be after another, or has
# all of the time there is. On Adult with hierarchies, l = 3 or t = 0.2 on one attribute, it loses as much in less time.
LARGE_TABLE = (20_000, 60_000)
# The enforcement of demands has at least this share of a time limit, even if the method before has used it up.
LEAST_LEFT = 0.2


class Constraints(NamedTuple):
    """What a partition must respect besides k.

    Attributes
    ----------
    strata : int64[n] or None
        Groups never cross them.
    units : int64[n] or None
        k counts different units.
    together : bool
        Whether equal records are never separated.
    demands : tuple of Demand
        Demands that every group must satisfy, on sensitive attributes of the whole table.
    """

    strata: Array | None = None
    units: Array | None = None
    together: bool = False
    demands: tuple[Demand, ...] = ()

    @property
    def counts_units(self) -> bool:
        """Return whether a unit has several records, so that counting units differs from counting records."""
        return self.units is not None and len(np.unique(self.units)) < len(self.units)

    def all_demands(self, k: int) -> tuple[Demand, ...]:
        """Return the demands, and that every group has k units if they are counted."""
        from shoal.release.groups.rules import of_units

        return (
            (*self.demands, of_units(self.units, k)) if self.counts_units and self.units is not None else self.demands
        )


class Settled(NamedTuple):
    """A plan with a method that is not `auto`.

    Attributes
    ----------
    plan : Plan
    why : str
        The reason for the method.
    kicks : int or None
        For each group, of the search under models; None: as many as usual.
    """

    plan: Plan
    why: str
    kicks: int | None = None


def group(
    X: Array,
    plan: Plan,
    constraints: Constraints,
    report: Progress = silent,
    kicks: int | None = None,
    seconds: float | None = None,
) -> Array:
    """Return labels int64[n] of groups that satisfy the constraints, numbered by first appearance.

    Parameters
    ----------
    X : float64[n, d]
    plan : Plan
        A plan whose method is settled.
    constraints : Constraints
    report : callable
    kicks : int or None
        See `Settled`.
    seconds : float or None
        The time for all of it, of which the enforcement of demands gets what the method leaves, if somebody limits it.
    """
    demands = constraints.all_demands(plan.k)
    enforced = () if constraints.together and not constraints.demands else demands
    with _compiling_beside(plan, constraints, enforced) as wait:
        return _grouped(X, plan, constraints, enforced, (kicks, seconds), wait, report)


def compiling_ahead(plan: Plan) -> AbstractContextManager[None]:
    """Have the search that a plan probably needs compiled by another process, while the table is read.

    What the plan needs is certain only when the table is known. If it needs something else, nothing is lost but some
    time of another processor.
    """
    from shoal.kernels import kicks, rule_search
    from shoal.partitioning.compiling import RULE_SEARCH, SEARCH, ahead

    if plan.release in WITHOUT_METHOD:
        return nullcontext()
    if plan.has_demands or plan.unit is not None:
        return ahead(rule_search.search, RULE_SEARCH)
    if plan.method in ("auto", "anytime") or plan.refine == "anytime":
        return ahead(kicks.search, SEARCH)
    return nullcontext()


def _compiling_beside(
    plan: Plan, constraints: Constraints, demands: tuple[Demand, ...]
) -> AbstractContextManager[Callable[[], None]]:
    """Have the search under rules compiled by another process, if it is needed and no cache has it yet."""
    if not demands or constraints.together:
        return nullcontext(lambda: None)
    from shoal.kernels.rule_search import search
    from shoal.partitioning.compiling import RULE_SEARCH, beside
    from shoal.partitioning.enforcement import WAYS
    from shoal.release.groups.rules import rules_of

    rules = rules_of(demands)
    if rules is None:
        return nullcontext(lambda: None)
    grown = plan.enforcement in ("best", "growth") and WAYS["growth"].fits(rules)
    return beside(search, RULE_SEARCH, ["rule-growth"] if grown else [])


def _grouped(
    X: Array,
    plan: Plan,
    constraints: Constraints,
    demands: tuple[Demand, ...],
    effort: tuple[int | None, float | None],
    wait: Callable[[], None],
    report: Progress,
) -> Array:
    from shoal.release.groups.rules import requirements_of

    strata = np.zeros(len(X), np.int64) if constraints.strata is None else constraints.strata
    labels = np.empty(len(X), np.int64)
    order = np.argsort(strata, kind="stable")
    bounds = np.flatnonzero(np.diff(strata[order], prepend=-1, append=-1))
    count, (kicks, seconds) = 0, effort
    for start, stop in pairwise(bounds):
        rows, begun = order[start:stop], time.perf_counter()
        progress = part(report, start / len(X), stop / len(X))
        units = None if constraints.units is None else np.unique(constraints.units[rows], return_inverse=True)[1]
        X_stratum = X if len(rows) == len(X) else X[rows]
        shared = _shared(plan, len(rows) / len(X))
        near = part(progress, 0.0, 0.5) if demands else progress
        form = partial(_one_stratum, X_stratum, shared, units, constraints.together, near)
        later = bool(demands) and seconds is None and shared.enforcement == "best" and not constraints.together
        groups: Array | Callable[[], Array] = form if later else form()
        if demands:
            used = time.perf_counter() - begun
            wait()
            own = None if seconds is None else seconds * len(rows) / len(X)
            left = None if own is None else max(own - used, LEAST_LEFT * own)
            required = requirements_of(X_stratum, shared.k, demands, rows=rows)
            end = part(progress, 0.5, 1.0)
            groups = _enforced(X_stratum, groups, shared, required, constraints.together, (kicks, left), end)
        found: Array = groups() if callable(groups) else groups
        labels[rows] = found + count
        count += int(found.max()) + 1
    return numbered(labels)


def patience(n: int) -> float:
    """Return how many seconds the work on n rows may take by default."""
    return AUTO_SECONDS + AUTO_SECONDS_PER_ROW * n


def settled(
    plan: Plan, n: int, d: int, constraints: Constraints, blocks: int = 1, extent: Extent | None = None
) -> Settled:
    """Return the plan with the method that `auto` chooses and its share of the time, and the reason for the method.

    All strata use the same method: the one that is best for the largest, given its share of the time. The limits of
    time and steps are those of the whole table.

    Parameters
    ----------
    plan : Plan
    n, d : int
        Rows and coordinates.
    constraints : Constraints
    blocks : int
        Number of blocks that share the time.
    extent : Extent or None
        Of all rows; None: they are different, and the coordinates independent.
    """
    enforced = bool(constraints.demands) or constraints.counts_units
    runs = blocks * (1 if constraints.units is None else 2) * (2 if enforced else 1)
    limit = None if plan.time_limit is None else plan.time_limit / runs
    if plan.method != "auto":
        return Settled(plan.model_copy(update={"time_limit": limit}), "the plan asks for it")
    way = plan.enforcement or "best"
    if plan.options:
        # Raises the error that refuses them.
        resolve("auto", plan.options, plan.refine, plan.time_limit, (n, d), plan.k)
    improved = plan.refine is not None and find_refinement(plan.refine).timed
    largest = n if constraints.strata is None else int(np.bincount(constraints.strata).max())
    seconds = None if limit is None else (limit / 2 if improved else limit) * largest / n
    its = None if extent is None else extent._replace(different=round(extent.different * largest / n))
    choice = choose(largest, d, plan.k, seconds, patience(n) / runs * largest / n, its)
    seed = 0 if plan.random_state is None else plan.random_state
    update: dict[str, Any] = {"random_state": seed, "enforcement": way}
    small, large = largest <= SMALL_TABLE, LARGE_TABLE[0] < largest <= LARGE_TABLE[1]
    alone = choice.method == "anytime" and (large or (small and limit is None))
    if alone and way == "best" and _searched_under_rules(constraints):
        method, options = quick_start(largest, d, min(DEFAULT_SECONDS, choice.seconds or np.inf), its)
        why = f"the search under the {'models' if constraints.demands else 'units'} starts from it"
        found = plan.model_copy(update={**update, "method": method, "options": options, "time_limit": None})
        return Settled(found, why, ONLY_KICKS if small else None)
    options = dict(choice.options)
    if "max_steps" in options:
        options["max_steps"] = round(options["max_steps"] * n / largest)
    kept = limit if find(choice.method).timed or improved else None
    update |= {"method": choice.method, "options": options, "time_limit": kept}
    return Settled(plan.model_copy(update=update), choice.reason)


def _searched_under_rules(constraints: Constraints) -> bool:
    """Return whether a search follows that keeps the models satisfied."""
    from shoal.release.groups.rules import rules_of

    demands = constraints.all_demands(2)
    return bool(demands) and not constraints.together and rules_of(demands) is not None


def _shared(plan: Plan, share: float) -> Plan:
    """Return the plan with the time and steps of a stratum that has this share of all rows."""
    update: dict[str, Any] = {}
    if plan.time_limit is not None:
        update["time_limit"] = plan.time_limit * share
    if isinstance(plan.options.get("max_steps"), int):
        update["options"] = {**plan.options, "max_steps": round(plan.options["max_steps"] * share)}
    return plan.model_copy(update=update) if share < 1 and update else plan


def method_in_words(plan: Plan) -> str:
    """Return a description of the method of a plan: its options, refinement and enforcement."""
    options = ", ".join(f"{name}={value!r}" for name, value in plan.options.items())
    words = plan.method + (f" ({options})" if options else "") + (f", then {plan.refine}" if plan.refine else "")
    if not plan.has_demands:
        return words
    way = plan.enforcement or "repair"
    return f"{words}, then the {'best enforcement' if way == 'best' else f'enforcement {way!r}'} of the models"


def _one_stratum(X: Array, plan: Plan, units: Array | None, together: bool, report: Progress) -> Array:
    if units is None:
        return _with_equals(X, _partition(X, plan, report), plan.k, None, together)
    count = int(units.max()) + 1
    if count < plan.k:
        raise DataError(
            f"k counts units: there must be at least {plan.k} in every stratum. Got {count}.",
            hint="merge strata (small_strata='merge'), or choose a smaller k.",
        )
    if count == len(X):
        return _with_equals(X, _partition(X, plan, report), plan.k, None, together)
    # Group rows and merge groups with too few units, or group the means of units: whichever loses less.
    by_rows = _with_equals(X, _partition(X, plan, part(report, 0.0, 0.5)), plan.k, units, together)
    whole = _partition(group_means(X, units), plan, part(report, 0.5, 1.0))[units]
    by_units = _with_equals(X, whole, plan.k, units, together)
    return by_rows if _error(X, by_rows) <= _error(X, by_units) else by_units


def _enforced(
    X: Array,
    labels: Array | Callable[[], Array],
    plan: Plan,
    required: Requirements,
    together: bool,
    effort: tuple[int | None, float | None],
    report: Progress,
) -> Array:
    """Return groups of a stratum that also satisfy the models, by the enforcement of the plan."""
    from shoal.partitioning.enforcement import enforce
    from shoal.partitioning.repair import repair

    if together and not callable(labels):
        return repair(X, labels, plan.k, required, resplit=False, report=report)
    kicks, seconds = effort
    # Without a seed, a release must not differ from run to run if its method uses no random numbers.
    rng = np.random.default_rng(plan.random_state or 0)
    return enforce(
        X,
        plan.k,
        required,
        way=plan.enforcement or "repair",
        labels=labels,
        kicks=kicks,
        time_limit=seconds,
        rng=rng,
        n_jobs=threads(plan.n_jobs, "anonymize"),
        report=report,
    )


def _few_units(labels: Array, units: Array, k: int) -> Array:
    """Return bool[m]: whether each group has records of fewer than k units."""
    pairs = np.unique(labels * (int(units.max()) + 1) + units)
    return np.bincount(pairs // (int(units.max()) + 1), minlength=int(labels.max()) + 1) < k


def _partition(X: Array, plan: Plan, report: Progress) -> Array:
    return partition(
        X,
        plan.k,
        plan.method,
        refine=plan.refine,
        time_limit=plan.time_limit,
        random_state=plan.random_state,
        n_jobs=plan.n_jobs,
        progress=report,
        **plan.options,
    )


def _with_equals(X: Array, labels: Array, k: int, units: Array | None, together: bool) -> Array:
    """Return the labels after putting equal records together, if `together`, and merging groups that fall short."""

    def short(labels: Array) -> Array:
        return np.bincount(labels) < k if units is None else _few_units(labels, units, k)

    if together:
        labels = _put_equals_together(X, labels)
    return merged(X, labels, short)


def _put_equals_together(X: Array, labels: Array) -> Array:
    """Move equal records to the group that has most of them, on ties to the first."""
    kinds = np.unique(X + 0.0, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    groups = int(labels.max()) + 1
    pairs, counts = np.unique(kinds * groups + labels, return_counts=True)
    best = np.lexsort((pairs, -counts, pairs // groups))
    first = best[np.flatnonzero(np.diff((pairs // groups)[best], prepend=-1))]
    return numbered((pairs % groups)[first][kinds])


def merged(X: Array, labels: Array, falls_short: Callable[[Array], Array]) -> Array:
    """Return the labels after merging groups that fall short with groups nearby; see `shoal.partitioning.merging`.

    Parameters
    ----------
    X : float64[n, d]
    labels : int64[n]
        0 .. m - 1.
    falls_short : callable
        Takes labels, returns bool[m]. A single group must not fall short.
    """
    return numbered(merge(labels, Nearest(X, labels, falls_short)))


def _error(X: Array, labels: Array) -> float:
    means = group_means(X, labels)
    return sum(float(((x - mean[labels]) ** 2).sum()) for x, mean in zip(X.T, means.T, strict=True))
