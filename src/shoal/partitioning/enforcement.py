"""Microaggregation under requirements on sensitive values: several ways to a partition, and the best of them.

Every way ends with a repair of what still falls short (`shoal.partitioning.repair`), then with a local search that
keeps what holds (`shoal.partitioning.rule_search`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

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

Array = np.ndarray[Any, Any]

# Up to so many records all ways are tried; of more, those whose time grows like a sort.
ALL_WAYS = 60_000
# Seconds that the start of a plain method may take.
STARTING = 20.0


class Way(NamedTuple):
    """A way to a partition.

    Attributes
    ----------
    summary, paper : str
    fits : callable
        Whether it is for such rules.
    many : bool
        Whether it is for millions of records.
    tried : bool
        Whether "best" tries it: those that no search was the better for are not.
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
    "repair": Way("groups of any method; those that fall short are merged, then cut", "own", _anything, True),
    "mondrian": Way("median cuts where both sides satisfy the demands", "Li et al. (2010)", _anything, True),
    "merge": Way("the group furthest from the table is merged with its nearest", SORIA, _close, False, False),
    "k-first": Way("groups of the nearest records, then swaps towards the table", SORIA, _close, False, False),
    "t-first": Way("the nearest record of each of k' subsets of similar values", SORIA, _close, False),
    "growth": Way("the nearest record, or the nearest one that adds diversity when it must be", "own", _diverse, False),
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
        One of ``WAYS``, or "best": that of least squared error after a short search, of those that fit.
    labels : int64[n] or None
        Of a method that knows nothing of the demands, to be repaired; MDAV or the like if not given.
    search : bool
        Whether a local search follows.
    kicks : int or None
        For each group, of the last search.
    rng : Generator
    time_limit : float or None
        Seconds, which bound the local search only; it makes a number of steps if not said.
    n_jobs : int
    report : callable

    Returns
    -------
    int64[n]
        Numbered by first appearance. It depends on the seed alone, unless the time limit ends the search.
    """
    if way != "best" and way not in WAYS:
        raise OptionError(f"There is no way {way!r}.", hint=near_names(way, WAYS, f"ways are {', '.join(WAYS)}."))
    if way != "best" and not WAYS[way].fits(required.rules):
        raise OptionError(f"The way {way!r} must suit what is demanded. Got other demands.", hint="try 'best'.")
    names = [way]
    if way == "best":
        names = [name for name, one in WAYS.items() if one.tried and one.fits(required.rules)]
        names = [name for name in names if WAYS[name].many or len(X) <= ALL_WAYS]
    until = None if time_limit is None else time.perf_counter() + time_limit
    rules = required.rules if search else None
    made: list[tuple[float, Array]] = []
    for turn, name in enumerate(names):
        told = part(report, 0.5 * turn / len(names), 0.5 * (turn + 1) / len(names))
        found = _start(name, X, k, required, labels, told)
        if rules is not None and len(names) > 1:
            # What a start is worth shows when no single move is left that gains.
            seconds = _left(until, len(names) - turn + 1)
            found = _search(X, k, found, rules, rng=rng, kicks=0, time_limit=seconds, n_jobs=n_jobs)
        made.append((squared_error(X, found), found))
    best = min(made, key=lambda one: one[0])[1]
    if rules is not None:
        told = part(report, 0.5, 1.0)
        each = KICKS if kicks is None else kicks
        best = _search(X, k, best, rules, rng=rng, kicks=each, time_limit=_left(until), n_jobs=n_jobs, report=told)
    report(1.0)
    return numbered(best)


def _left(until: float | None, shares: int = 1) -> float | None:
    return None if until is None else max(0.0, (until - time.perf_counter()) / shares)


def _start(name: str, X: Array, k: int, required: Requirements, labels: Array | None, report: Progress) -> Array:
    """Return the partition of one way, repaired where it falls short."""
    rules = required.rules
    if name == "mondrian":
        found = median_cuts(X, k, required.falls_short, report)
    elif rules is None or name in ("repair", "merge"):
        found = _plain(X, k) if labels is None else labels
        if rules is not None and name == "merge":
            found = _growth.merge_worst(X, found, rules, report=report)
    elif name == "k-first":
        found = _growth.k_first(X, k, rules, report=report)
    elif name == "t-first":
        found = _growth.t_first(X, k, rules, report=report)
    else:
        found = _growth.diverse_growth(X, k, rules, report=report)
    # The repair also cuts large groups, which other ways have done.
    falls_short = name == "repair" or required.falls_short(np.arange(len(X)), found).any()
    return repair(X, found, k, required) if falls_short else found


def _plain(X: Array, k: int) -> Array:
    """Return the partition of a quick method that knows nothing of demands."""
    name, options = quick_start(len(X), X.shape[1], STARTING)
    labels: Array = find(name).load()(X, k, **options)
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)
