"""Microaggregation under requirements on sensitive values: several ways to a partition, and the best of them.

Every way ends with a repair of groups that still fall short (`shoal.partitioning.repair`) and a local search that
keeps the requirements (`shoal.partitioning.rule_search`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import OptionError, near_names
from shoal.kernels import rules as _rules
from shoal.kernels.rules import Rules
from shoal.partitioning import rule_growth as _growth
from shoal.partitioning.choice import quick_start
from shoal.partitioning.cutting import median_cuts
from shoal.partitioning.pool import numbered, squared_error
from shoal.partitioning.registry import find
from shoal.partitioning.repair import repair
from shoal.partitioning.requirements import Requirements
from shoal.partitioning.rule_search import KICKS
from shoal.partitioning.rule_search import search as _search
from shoal.progress import Progress, part, silent

# All ways are tried up to this many records; beyond, only those whose time grows like that of sorting.
ALL_WAYS = 60_000
# Seconds that a plain method may take for the start.
STARTING = 20.0


class Way(NamedTuple):
    """A way to a partition.

    Attributes
    ----------
    summary, paper : str
    fits : callable
        Takes rules; returns whether the way can serve them.
    many : bool
        Whether it can handle millions of records.
    tried : bool
        Whether "best" tries it. Ways that never led to a better result are left out.
    """

    summary: str
    paper: str
    fits: Callable[[Rules | None], bool]
    many: bool
    tried: bool = True


def _anything(_: Rules | None) -> bool:
    return True


def _close(rules: Rules | None) -> bool:
    return rules is not None and len(_growth.closeness(rules)) > 0


def _diverse(rules: Rules | None) -> bool:
    return rules is not None and bool((rules.kinds[0] > _rules.SIZE) & (rules.kinds[0] <= _rules.ALPHA))


SORIA = "Soria-Comas et al. (2015), IEEE TKDE 27(11)"
WAYS: dict[str, Way] = {
    "repair": Way("groups of any method; groups that fall short are merged, then cut", "own", _anything, True),
    "mondrian": Way("median cuts where both sides satisfy the demands", "Li et al. (2010)", _anything, True),
    "merge": Way("the group furthest from the table is merged with its nearest", SORIA, _close, False, False),
    "k-first": Way("groups of the nearest records, then swaps towards the table", SORIA, _close, False, False),
    "t-first": Way("the nearest record of each of k' subsets of similar values", SORIA, _close, False),
    "growth": Way(
        "the nearest record, or the nearest one that adds diversity where that is needed", "own", _diverse, False
    ),
}


def enforce(
    X: Array,
    k: int,
    required: Requirements,
    *,
    way: str = "best",
    labels: Array | None = None,
    search: bool = True,
    kicks: int | None = None,
    rng: np.random.Generator,
    time_limit: float | None = None,
    n_jobs: int = 1,
    report: Progress = silent,
) -> Array:
    """Return groups of at least k records that satisfy the requirements.

    Parameters
    ----------
    X : float64[n, d]
    k : int
    required : Requirements
    way : str
        One of ``WAYS``, or "best": of the ways that fit, the one of least squared error after a short search.
    labels : int64[n] or None
        A partition to repair, made without regard to the requirements. None: that of a quick method.
    search : bool
        Whether a local search follows.
    kicks : int or None
        For each group, of the last search.
    rng : Generator
    time_limit : float or None
        Seconds for the local search. None: it ends after a number of steps.
    n_jobs : int
    report : callable

    Returns
    -------
    int64[n]
        Numbered by first appearance. It depends on the seed alone, unless the time limit ends the search.
    """
    if way != "best" and way not in WAYS:
        raise OptionError(
            f"There is no enforcement {way!r}.", hint=near_names(way, WAYS, f"one of best, {', '.join(WAYS)}.")
        )
    if way != "best" and not WAYS[way].fits(required.rules):
        raise OptionError(
            f"The enforcement {way!r} must support all demands. Got demands that it does not support.",
            hint="use 'best'.",
        )
    names = [way]
    if way == "best":
        names = [name for name, one in WAYS.items() if one.tried and one.fits(required.rules)]
        names = [name for name in names if WAYS[name].many or len(X) <= ALL_WAYS]
    until = None if time_limit is None else time.perf_counter() + time_limit
    rules = required.rules if search else None
    candidates: list[tuple[float, Array]] = []
    for turn, name in enumerate(names):
        report_part = part(report, 0.5 * turn / len(names), 0.5 * (turn + 1) / len(names))
        start = _start(name, X, k, required, labels, report_part)
        if rules is not None and len(names) > 1:
            # Starts are compared after a descent, when no single move gains any more.
            seconds = _left(until, len(names) - turn + 1)
            start = _search(X, k, start, rules, rng=rng, kicks=0, time_limit=seconds, n_jobs=n_jobs)
        candidates.append((squared_error(X, start), start))
    best = min(candidates, key=lambda one: one[0])[1]
    if rules is not None:
        report_part = part(report, 0.5, 1.0)
        steps = KICKS if kicks is None else kicks
        best = _search(
            X, k, best, rules, rng=rng, kicks=steps, time_limit=_left(until), n_jobs=n_jobs, report=report_part
        )
    report(1.0)
    return numbered(best)


def _left(until: float | None, shares: int = 1) -> float | None:
    return None if until is None else max(0.0, (until - time.perf_counter()) / shares)


def _start(name: str, X: Array, k: int, required: Requirements, labels: Array | None, report: Progress) -> Array:
    """Return the partition of one way, repaired where it falls short."""
    rules = required.rules
    if name == "mondrian":
        start = median_cuts(X, k, required.falls_short, report)
    elif rules is None or name in ("repair", "merge"):
        start = _plain(X, k) if labels is None else labels
        if rules is not None and name == "merge":
            start = _growth.merge_worst(X, start, rules, report=report)
    elif name == "k-first":
        start = _growth.k_first(X, k, rules, report=report)
    elif name == "t-first":
        start = _growth.t_first(X, k, rules, report=report)
    else:
        start = _growth.diverse_growth(X, k, rules, report=report)
    # The repair also cuts large groups, which the other ways have done already.
    falls_short = name == "repair" or required.falls_short(np.arange(len(X)), start).any()
    return repair(X, start, k, required) if falls_short else start


def _plain(X: Array, k: int) -> Array:
    """Return the partition of a quick method, made without regard to the requirements."""
    name, options = quick_start(len(X), X.shape[1], STARTING)
    labels: Array = find(name).load()(X, k, **options)
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)
