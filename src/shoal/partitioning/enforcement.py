"""Microaggregation under requirements on sensitive values: several ways to a partition, and the best of them.

Every way ends with a repair of groups that still fall short (`shoal.partitioning.repair`) and a local search that
keeps the requirements (`shoal.partitioning.rule_search`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import deepcopy
from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError, near_names
from shoal.kernels import rules as _rules
from shoal.kernels.rules import Rules
from shoal.partitioning import rule_growth as _growth
from shoal.partitioning.buckets import bucket_cuts
from shoal.partitioning.choice import quick_start
from shoal.partitioning.cutting import best_halves, median_cuts
from shoal.partitioning.pool import numbered, squared_error
from shoal.partitioning.registry import find
from shoal.partitioning.repair import repair
from shoal.partitioning.requirements import Requirements
from shoal.partitioning.rule_search import KICKS, Neighbours, in_place
from shoal.partitioning.rule_search import search as _search
from shoal.progress import Progress, part, silent

# All ways are tried up to this many records; beyond, only those whose time grows like that of sorting.
ALL_WAYS = 60_000
# Seconds that a plain method may take for the start.
STARTING = 20.0
# The share of a time limit in which starts are made, that in which the first of them is, and that of the rest in which
# they are compared.
STARTS, FIRST, COMPARED = 0.3, 0.5, 0.5
# Of larger tables than FEW_RECORDS, so many records tell which way is best, in at most this share of a time limit, most
# of which is for the starts: no search follows.
SAMPLE, SAMPLED, SAMPLED_STARTS = 3000, 0.1, 0.8
# The share of the repair's error there that another way must be below, to go before it.
SURE = 0.95
# The share in which a start may still be cut, if there was no time to make it as it should be.
CUTTING = 0.8
# How many of the starts are searched, and the repair in any case, on tables of at most so many records; of larger ones,
# only the best is.
FINALISTS, FEW_RECORDS = 3, 20_000
# Of larger tables, starts with so many times the squared error of the best are left out: where it was tried (Adult, the
# survey), their descents ended behind.
HOPELESS = 3.0
# More records than this are searched in the order of an index.
PLACED = 20_000


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
    "t-first": Way("the nearest record of each of k' subsets of similar values", SORIA, _close, False, False),
    "buckets": Way("all buckets of similar values are cut alike", "after Cao et al. (2011)", _close, True),
    "growth": Way(
        "the nearest record, or the nearest one that adds diversity where that is needed", "own", _diverse, False
    ),
}
IN_TURN = ("repair", "mondrian", "buckets", "growth", "t-first", "k-first", "merge")


def enforce(
    X: Array,
    k: int,
    required: Requirements,
    *,
    way: str = "best",
    labels: Array | Callable[[], Array] | None = None,
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
    labels : int64[n], callable or None
        A partition to repair, made without regard to the requirements, or what makes it, called if it is needed. None:
        that of a quick method.
    search : bool
        Whether a local search follows.
    kicks : int or None
        For each group, of the last search.
    rng : Generator
    time_limit : float or None
        Seconds for all of it. None: it ends after a number of steps.
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
    until = np.inf if time_limit is None else time.perf_counter() + time_limit
    search = search and required.rules is not None
    work = _Work(X, k, required, labels, rng, n_jobs, until, search)
    candidates = work.starts(work.hopeful_ways(names), part(report, 0.0, 0.5))
    best = work.searched(candidates, KICKS if kicks is None else kicks, part(report, 0.5, 1.0))
    report(1.0)
    return numbered(best)


class _Start(NamedTuple):
    """What a way leads to: its name, its labels, what a descent makes of these, and the error to expect of it."""

    name: str
    labels: Array
    lower: Array
    expected: float = np.inf


class _Work:
    """The starts of a partition, and the searches from them, in the time there is."""

    def __init__(
        self,
        X: Array,
        k: int,
        required: Requirements,
        labels: Array | Callable[[], Array] | None,
        rng: np.random.Generator,
        n_jobs: int,
        until: float,
        search: bool,
    ) -> None:
        self.X, self.k, self.required, self.labels, self.rng, self.n_jobs = X, k, required, labels, rng, n_jobs
        self.until, self.rules = until, required.rules if search else None
        self.near: Neighbours | None = None
        self.first, self.sampled, self.hurried = self._after(FIRST), False, False

    def hopeful_ways(self, names: list[str]) -> list[str]:
        """Return ways in the order in which they are tried: the repair first, whatever else there is time for.

        Of large tables, a sample tells which is best. Without a time limit, only this one is tried on all records; with
        one, the repair is second, so that the result is never worse.
        """
        names = sorted(names, key=IN_TURN.index)
        among, enough = self.required.among, len(self.X) > max(FEW_RECORDS, 2 * SAMPLE)
        if len(names) == 1 or not enough or among is None or not self.required.local or self.rules is None:
            return names
        rows = np.sort(deepcopy(self.rng).permutation(len(self.X))[:SAMPLE])
        X, until = np.ascontiguousarray(self.X[rows]), self._after(SAMPLED)
        sample = _Work(X, self.k, among(rows), None, deepcopy(self.rng), self.n_jobs, until, True)
        # The quickest first: the repair is made in any case, and there is always something to compare it with.
        quickest = sorted(names, key=lambda name: (name != "mondrian", IN_TURN.index(name)))
        try:
            made = sample.starts(quickest, silent, SAMPLED_STARTS)
        except DataError:  # What all records satisfy, a sample need not.
            return names
        best = made[0].name
        if self.until == np.inf:
            return [best or names[0]]
        # What the clock has ended tells nothing; and the repair stays unless another way is clearly better, as it can
        # use the time that the other would take.
        least = min((SURE * one.expected for one in made if one.name == "repair"), default=-np.inf)
        if sample.hurried or not made[0].expected <= least:
            return names
        self.sampled = best != ""
        return sorted(names, key=lambda name: (name != best, IN_TURN.index(name)))

    def starts(self, names: list[str], report: Progress, share: float = STARTS) -> list[_Start]:
        """Return the partitions of some ways, the best first; those for which there is no time are left out.

        They are made in this share of the time, and compared after a descent, when no single move gains any more, or
        their share of the time is used up.
        """
        begun, made = time.perf_counter(), []
        # The repair has as long as if nothing had been tried before it, and is what it would be alone.
        end, first = self._after(share), self.first if names[0] == "repair" else self._after(FIRST)
        for turn, name in enumerate(names):
            now = time.perf_counter()
            # One more way takes about as long as those before. If there was no time to merge as it should be done, cuts
            # may lead further.
            late = turn == 1 and now >= first and self.hurried
            floor = turn == 1 and name == "repair"
            if turn and not (late or floor) and begun + (now - begun) * (turn + 1) / turn >= end:
                break
            report_part = part(report, turn / len(names), (turn + 1) / len(names))
            alone = self._after(CUTTING)
            times = (first, first) if floor else (self._after(STARTS) if late else first if turn == 0 else end, alone)
            known = self._given() if name in ("repair", "merge") else None
            labels = _start(name, self.X, self.k, self.required, known, report_part, *times, self._hurry)
            made.append(_Start(name, labels, labels, squared_error(self.X, labels)))
        if len(made) > 1:
            made = self._hopeful(made)
            for turn, one in enumerate(made):
                until = self._after(COMPARED / (len(made) - turn))
                made[turn] = self._lowered(one, until)
                ended = until == np.inf or time.perf_counter() < until
                self.hurried |= not ended
                if self.sampled and turn == 0 and not ended:
                    # A descent that has not ended says less than a sample, of which all have.
                    made[0] = made[0]._replace(expected=-np.inf)
                    break
        if self.required.local and not any(one.lower.any() for one in made):
            halves = best_halves(self.X, self.k, self.required.falls_short)
            made += [] if halves is None else [self._lowered(_Start("", halves, halves), self.until)]
        return sorted(made, key=lambda one: one.expected)

    def _hurry(self) -> None:
        """Note that the clock ended something, so that it is worse than it would be."""
        self.hurried = True

    def _given(self) -> Array | None:
        """Return the partition that is to be repaired, if there is one."""
        if callable(self.labels):
            self.labels = self.labels()
        return self.labels

    def _lowered(self, one: _Start, until: float) -> _Start:
        """Return a start after a descent."""
        lower = self._search(one.labels, 0, until)
        return one._replace(lower=lower, expected=squared_error(self.X, lower))

    def _hopeful(self, made: list[_Start]) -> list[_Start]:
        """Return the starts that are worth a descent: of a large table, those near the best, and the first one."""
        if len(self.X) <= FEW_RECORDS:
            return made
        least = min(one.expected for one in made)
        return [one for one in made if one is made[0] or one.expected <= HOPELESS * least]

    def _after(self, share: float) -> float:
        """Return when this share of the remaining time is over."""
        now = time.perf_counter()
        return self.until if self.until == np.inf else now + share * (self.until - now)

    def searched(self, candidates: list[_Start], kicks: int, report: Progress) -> Array:
        """Return the best partition that searches from some partitions, the best first, lead to.

        Each gets a share of the kicks or of the time. The last part of a time limit is for the best of all. Without a
        limit, every search of a small table is what it would be if its way were the only one: no single way, given as
        many kicks, loses less than the best of those that are searched, and the repair always is.
        """
        best = candidates[0].lower
        if self.rules is None:
            return best
        if not kicks:
            return self._search(best, 0, self.until)
        alone = self.until == np.inf and len(self.X) <= FEW_RECORDS
        few = candidates[: FINALISTS if len(self.X) <= FEW_RECORDS else 1]
        if alone:
            few += [one for one in candidates[FINALISTS:] if one.name == "repair"]
        turns, found = len(few) + (self.until < np.inf and len(few) > 1), []
        for turn, one in enumerate(few):
            end, heard = self._after(1 / (turns - turn)), part(report, turn / turns, (turn + 1) / turns)
            found.append(self._search(one.labels if alone else one.lower, kicks, end, heard))
        # What is expected need not come true.
        best = min(found + [one.lower for one in candidates], key=lambda one: squared_error(self.X, one))
        if turns > len(few):
            self.rng.random()  # not the kicks that led there once more
            best = self._search(best, kicks, self.until, part(report, len(few) / turns, 1.0))
        return best

    def _search(self, start: Array, kicks: int, until: float, report: Progress = silent) -> Array:
        """Return what a search leads to. All of them draw the same random numbers, whatever was searched before."""
        if self.rules is None:
            return start
        X, rules = self.X, self.rules
        if self.near is None:
            size = max(self.k, len(X) // (int(start.max()) + 1))
            self.near = in_place(X, size, self.n_jobs) if len(X) > PLACED else Neighbours(X, self.n_jobs)
        limit = None if until == np.inf else max(0.0, until - time.perf_counter())
        options = {"kicks": kicks, "time_limit": limit, "report": report, "near": self.near, "rng": deepcopy(self.rng)}
        order = self.near.order
        if order is None:
            return _search(X, self.k, start, rules, **options)  # type: ignore[arg-type]
        rules = rules._replace(codes=np.ascontiguousarray(rules.codes[:, order]))
        found = np.empty_like(start)
        found[order] = _search(self.near.X, self.k, start[order], rules, **options)  # type: ignore[arg-type]
        return found


def _start(
    name: str,
    X: Array,
    k: int,
    required: Requirements,
    labels: Array | None,
    report: Progress,
    until: float = np.inf,
    cut_until: float = np.inf,
    on_late: Callable[[], None] | None = None,
) -> Array:
    """Return the partition of one way, repaired where it falls short.

    After `until` it is made coarsely, and cut until `cut_until`; `on_late` is called then.
    """
    rules = required.rules
    if name == "mondrian":
        start = median_cuts(X, k, required.falls_short, report, until)
    elif rules is None or name in ("repair", "merge"):
        start = _plain(X, k, until) if labels is None else labels
        if rules is not None and name == "merge":
            start = _growth.merge_worst(X, start, rules, report=report, until=until)
    elif name == "buckets":
        start = bucket_cuts(X, k, rules, report=report, until=until)
    elif name == "k-first":
        start = _growth.k_first(X, k, rules, report=report, until=until)
    elif name == "t-first":
        start = _growth.t_first(X, k, rules, report=report, until=until)
    else:
        start = _growth.diverse_growth(X, k, rules, report=report, until=until)
    # The repair also cuts large groups, which most other ways have done already if there was time.
    late = until < np.inf and time.perf_counter() >= until
    falls_short = late or name in ("repair", "buckets") or required.falls_short(np.arange(len(X)), start).any()
    if not falls_short:
        return start
    return repair(X, start, k, required, until=until, cut_until=cut_until, on_late=on_late)


def _plain(X: Array, k: int, until: float = np.inf) -> Array:
    """Return the partition of a quick method, made without regard to the requirements."""
    seconds = STARTING if until == np.inf else min(STARTING, max(0.0, until - time.perf_counter()) / 4)
    name, options = quick_start(len(X), X.shape[1], seconds)
    labels: Array = find(name).load()(X, k, **options)
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)
