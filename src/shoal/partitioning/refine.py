"""Refinements: they improve partitions, and never make them worse.

Sources: K = Khomnotai et al. (2018), section 4; T = Thaeter (2021), dissertation, 6.4.

A refinement visits groups in some order. A method that refines its own groups passes them in order of creation, as the
papers do; a refinement of given labels visits them by their first row. A round that does not lower the squared error is
undone and tried again in the latter order. The refinement ends when that does not help either, so refining the result
again changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from math import fsum
from typing import Literal

import numpy as np

from shoal.arrays import Array
from shoal.kernels import construction as _construction
from shoal.kernels import index as _index
from shoal.kernels import nearest_means as _nearest
from shoal.kernels import partition as _partition
from shoal.kernels import rounds as _rounds
from shoal.kernels.groups import all_means
from shoal.partitioning.fixed_size import cbfs
from shoal.partitioning.maximum_distance import mdav_plus
from shoal.partitioning.pool import cost_of, in_threads, members, numbered
from shoal.progress import Progress, silent

Round = Callable[["Work"], None]

MOST_ROUNDS = 30
# Most changes that are logged one by one: comparing with so few is quicker than a search.
LOG = 8192


class Work:
    """A partition that is being refined.

    Parameters
    ----------
    X : float64[n, d]
    labels : int64[n]
        Groups, numbered 0, 1, ... in the order of visits.
    k : int
    n_jobs : int
        Threads for searches of all records.
    """

    def __init__(self, X: Array, labels: Array, k: int, n_jobs: int = 1) -> None:
        self.X, self.k, self.n_jobs = X, k, n_jobs
        self._sought = -1  # the time of the last round
        self._set(labels)

    def _set(self, labels: Array) -> None:
        n, groups = len(self.X), int(labels.max()) + 1
        room = 2 * groups + 4 * self.k + 64
        means = all_means(self.X, labels, groups)
        self.parts = _partition.Partition(
            X=self.X,
            labels=np.empty(n, np.int64),
            heads=np.full(room, -1, np.int64),
            nexts=np.full(n, -1, np.int64),
            sizes=np.zeros(room, np.int64),
            costs=np.full(room, np.nan),
            centres=_construction.new_points(
                np.vstack([means, np.zeros((room - groups, self.X.shape[1]))]), like=means
            ),
            groups=np.array([groups]),
            targets=np.zeros(n, np.int64),
            distances=np.zeros(n),
            seen=np.full(n, _partition.NEVER, np.int64),
            changed=np.zeros(room, np.int64),
            checked=np.full(room, -1, np.int64),
            clock=np.zeros(1, np.int64),
            largest=np.zeros(1, np.int64),
            log=np.full((LOG // _index.LEAF, self.X.shape[1], _index.LEAF), np.inf, np.float32),
            authors=np.zeros(LOG, np.int64),
            logged=np.zeros(1, np.int64),
            rows=np.empty(n, np.int64),
            members=np.empty(n, np.int64),
            takers=np.empty(n, np.int64),
            total=np.empty((2, self.X.shape[1] + 1)),
            mean=np.empty(self.X.shape[1]),
        )
        _partition.link_all(self.parts, labels)
        _construction.fill(self.parts.centres, np.arange(groups))

    def seek(self) -> None:
        """Find the nearest other group of every record, on all threads. Later searches start from it.

        Call this before each round. It does nothing if there were few changes since the last call, as these are quickly
        compared with when a group is visited.
        """
        before, self._sought = self._sought, int(self.parts.clock[0])
        if before >= 0 and self._sought - before <= LOG:
            return

        # Near records one after the other, so that the data of a search is still in the processor's cache.
        order = np.argsort(self.parts.centres.slots[self.parts.labels], kind="stable")

        def search(part: slice) -> None:
            parts = self.parts._replace(centres=_construction.for_thread(self.parts.centres))
            _nearest.seek(parts, order[part])

        in_threads(search, len(self.X), self.n_jobs)

    @property
    def count(self) -> int:
        """Return the number of group numbers in use; some of the groups may be gone."""
        return int(self.parts.groups[0])

    def labels(self) -> Array:
        """Return the labels, with groups numbered 0, 1, ... in their order."""
        numbers = np.cumsum(self.parts.sizes[: self.count] > 0) - 1
        return np.asarray(numbers[self.parts.labels], np.int64)

    def total(self) -> float:
        """Return the squared error."""
        return fsum(_partition.all_costs(self.parts).tolist())

    def make_room(self, *positions: int) -> list[int]:
        """Renumber the groups without gaps; return the new `positions`."""
        old, there = self.parts, self.parts.sizes[: self.count] > 0
        numbers = np.cumsum(there) - 1
        self._set(numbers[old.labels])
        # Known nearest groups stay valid, unless they are gone.
        new, groups = self.parts, self.count
        known = (old.seen != _partition.NEVER) & there[old.targets]
        new.seen[:] = np.where(known, old.seen, _partition.NEVER)
        new.targets[:] = np.where(known, numbers[old.targets], 0)
        new.distances[:] = old.distances
        for name in ("costs", "changed", "checked"):
            getattr(new, name)[:groups] = getattr(old, name)[: len(there)][there]
        new.clock[0] = new.centres.state[_index.CLOCK] = new.logged[0] = old.clock[0]
        new.centres.came[:] = new.centres.times[:] = old.clock[0]
        return [int(there[:position].sum()) for position in positions]

    def renumber(self, labels: Array) -> None:
        """Put the groups in another order.

        Known nearest groups are as near as before but may lose a tie, so they only limit how far a search must go.
        """
        old = self.parts
        numbers = np.empty(self.count, np.int64)
        numbers[old.labels] = labels
        there = old.sizes[: self.count] > 0
        self._set(labels)
        known = (old.seen != _partition.NEVER) & there[old.targets]
        self.parts.seen[:] = np.where(known, _partition.UNSURE, _partition.NEVER)
        self.parts.targets[:] = np.where(known, numbers[old.targets], 0)
        self._sought = -1

    def dissolve(self) -> None:
        """Try to dissolve each group of k records, except groups made meanwhile (T algorithm 16)."""
        position, stop = 0, self.count
        while position < stop:
            position = _rounds.dissolve_phase(self.parts, position, stop, self.k)
            if position < stop:
                position, stop = self.make_room(position, stop)

    def reassign(self) -> None:
        """Let each group of more than k records give some away, including groups made meanwhile (T algorithm 17)."""
        position = 0
        while True:
            position = _rounds.reassign_phase(self.parts, position, -1, self.k, True)
            if position >= self.count:
                return
            (position,) = self.make_room(position)

    def shrink(self) -> None:
        """Let each group of more than k records give some away, without splitting large groups (K figure 4)."""
        _rounds.reassign_phase(self.parts, 0, self.count, self.k, False)


def rounds(
    X: Array,
    k: int,
    labels: Array,
    one_round: Round,
    *,
    most: float,
    by_row: bool,
    n_jobs: int = 1,
    report: Progress = silent,
) -> Array:
    """Repeat a round while it lowers the squared error.

    Parameters
    ----------
    X : float64[n, d]
    k : int
    labels : int64[n]
        Groups in the order of visits.
    one_round : callable
        Changes a Work.
    most : float
        Largest number of rounds.
    by_row : bool
        Whether the groups come in the order of their first rows.
    n_jobs : int
    report : callable

    Returns
    -------
    int64[n]
        Labels in the final order of the groups.
    """
    work = Work(X, labels, k, n_jobs)
    total = work.total()
    count = 0
    while count < most:
        count += 1
        one_round(work)
        lower = work.total()
        if lower < total:
            total, labels, by_row = lower, work.labels(), False
        elif by_row:
            break
        else:
            labels, by_row = numbered(labels), True
            if np.array_equal(numbered(work.labels()), labels):
                work.renumber(labels)
            else:
                work = Work(X, labels, k, n_jobs)
        report(count / min(most, MOST_ROUNDS))
    return labels


def split_large(X: Array, k: int, labels: Array, split: Callable[[Array, int], Array], *, in_place: bool) -> Array:
    """Split groups of 2k records or more.

    The first piece takes the place of its group if `in_place`, and comes last like the others if not.
    """
    labels = labels.copy()
    count = int(labels.max()) + 1
    for rows in members(labels):
        if len(rows) >= 2 * k:
            pieces = split(X[rows], k)
            new = pieces + (count - 1 if in_place else count)
            labels[rows] = np.where(pieces == 0, labels[rows], new) if in_place else new
            count += int(pieces.max()) + (0 if in_place else 1)
    return np.asarray(np.unique(labels, return_inverse=True)[1], np.int64)


def ona_rounds(
    X: Array,
    k: int,
    labels: Array,
    *,
    by_row: bool = True,
    most: int = MOST_ROUNDS,
    n_jobs: int = 1,
    report: Progress = silent,
) -> Array:
    """Dissolve groups and reassign records in rounds, as ONA* does from its start (T algorithms 15 to 17).

    Groups of 2k records or more are split by MDAV+ first. At most 30 rounds, or `most`.
    """
    labels = split_large(X, k, labels, mdav_plus, in_place=True)

    def one_round(work: Work) -> None:
        work.seek()
        work.dissolve()
        work.reassign()

    return rounds(X, k, labels, one_round, most=most, by_row=by_row, n_jobs=n_jobs, report=report)


def tfrp2(
    X: Array,
    k: int,
    labels: Array,
    *,
    passes: int | Literal["all"] = "all",
    reading: Literal["printed", "pseudocode"] = "printed",
    report: Progress = silent,
) -> Array:
    """Decompose (K figure 2), the second phase of TFRP and others, while that lowers the squared error.

    The papers make one pass, which is `passes=1`.
    """
    one_pass = decompose if reading == "printed" else decompose_in_turn
    most = np.inf if passes == "all" else passes
    return rounds(
        X, k, labels, lambda work: work._set(one_pass(X, k, work.labels())), most=most, by_row=True, report=report
    )


def decompose_shrink(X: Array, k: int, labels: Array, *, report: Progress = silent) -> Array:
    """Decompose and shrink in turn while that lowers the squared error (K figures 1 to 4)."""

    def one_round(work: Work) -> None:
        work._set(decompose(X, k, work.labels()))
        work.shrink()
        work._set(split_large(X, k, work.labels(), cbfs, in_place=False))

    return rounds(X, k, labels, one_round, most=np.inf, by_row=True, report=report)


def decompose(X: Array, k: int, labels: Array) -> Array:
    """Give whole groups to the nearest means, the costliest group first, where squared distances fall (K figure 2).

    As the printed figures demand, the means stay as they were before. Groups that reach 2k records are split by CBFS,
    and their pieces come last.
    """
    rows = members(labels)
    costs = [cost_of(X, group) for group in rows]
    order = np.argsort(-np.array(costs), kind="stable")
    work = Work(X, np.argsort(order)[labels], k)
    _rounds.decompose(work.parts)
    return split_large(X, k, work.labels(), cbfs, in_place=False)


def decompose_in_turn(X: Array, k: int, labels: Array) -> Array:
    """Dissolve groups one after the other, as in the pseudo-code (K figure 2).

    Each record of a group goes to the group whose mean is nearest at that moment, and that mean moves. The group is
    restored unless the squared error has fallen. Groups that reach 2k records are split by CBFS, and their pieces come
    last.
    """
    work = Work(X, labels, k)
    _rounds.decompose_in_turn(work.parts)
    return split_large(X, k, work.labels(), cbfs, in_place=False)
