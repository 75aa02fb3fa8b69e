"""Separation: cuts that a fractional solution violates.

Three ways, from the cheapest on: all sets of three; for k = 2, larger odd sets, grown greedily; for larger k, multisets
that are grown at random around fractional groups (:mod:`shoal.kernels.multisets`).
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.kernels import multisets as _multisets
from shoal.partitioning.cover_cuts import Cut, membership

LEAST_VIOLATION = 0.005
# Cuts to return at a time, and those that share a record at most.
NEW_CUTS, MOST_OF_RECORD = 400, 6
# Size of the largest odd set, for k = 2.
LARGEST_SET = 41
# Fewer cuts than this, and the next way is tried.
FEW_CUTS = 30
# Multisets grown around each fractional group: first, and when few are found.
TRIES = (4, 16)
# Divisors up to LARGEST_DIVISOR (or k) are tried, and multisets that allow up to MOST_RIGHT groups.
LARGEST_DIVISOR, MOST_RIGHT = 5, 2


class Separation:
    """Looks for cuts, harder and harder as fewer are found.

    Parameters
    ----------
    n, k : int
        Number of records, least size of a group.
    """

    def __init__(self, n: int, k: int) -> None:
        self.n, self.k, self.level = n, k, 0
        self._random = np.ones(1, np.uint64)

    def cuts(self, groups: Array, fractions: Array, known: list[Cut]) -> list[Cut]:
        """Return new cuts that the fractions violate, the most violated first; none if there are none to be found.

        Parameters
        ----------
        groups : int32[c, most]
            Padded with n.
        fractions : float64[c]
        known : list of Cut
        """
        kept = (fractions > 1e-6) & (fractions < 1 - 1e-6)
        groups, fractions, old = groups[kept], fractions[kept], set(known)
        if not len(groups):
            return []
        last = 0 if self.k == 2 else len(TRIES)
        while True:
            found = self._violated(groups, fractions)
            new = _chosen({cut: value for cut, value in found.items() if cut not in old}, self.n)
            if len(new) >= FEW_CUTS or self.level == last:
                return new
            self.level += 1

    def _violated(self, groups: Array, fractions: Array) -> dict[Cut, float]:
        """Return violated cuts, and by how much each is violated."""
        if self.level == 0:
            return odd_sets(groups, fractions, self.n, LARGEST_SET if self.k == 2 else 3)
        found: dict[Cut, float] = {}
        for divisor in range(2, max(LARGEST_DIVISOR, self.k) + 1):
            for right in range(1, MOST_RIGHT + 1 + (divisor <= 3)):
                total, tries = (right + 1) * divisor - 1, TRIES[self.level - 1]
                found |= multisets(groups, fractions, self.n, divisor, total, tries, self._random)
        return found


def _chosen(violations: dict[Cut, float], n: int) -> list[Cut]:
    """Return the most violated cuts, few of each record."""
    chosen: list[Cut] = []
    uses = np.zeros(n, np.int64)
    for _, cut in sorted(((value, cut) for cut, value in violations.items()), reverse=True):
        rows = list(set(cut.rows))
        if len(chosen) < NEW_CUTS and uses[rows].max() < MOST_OF_RECORD:
            chosen.append(cut)
            uses[rows] += 1
    return chosen


def multisets(
    groups: Array, fractions: Array, n: int, divisor: int, total: int, tries: int, random: Array
) -> dict[Cut, float]:
    """Return violated cuts of multisets of `total` records, grown around each group; and by how much."""
    inside = membership(groups, n).tocsr()
    meeting = _multisets.Meeting(
        inside.indptr.astype(np.int64),
        inside.indices.astype(np.int64),
        groups.astype(np.int64),
        fractions,
        np.zeros(len(groups), np.int64),
        np.zeros(n, np.int64),
        np.zeros(n + 1, np.int64),
        np.zeros(n, np.bool_),
    )
    rows, values = np.empty((len(groups) * tries, total), np.int32), np.empty(len(groups) * tries)
    count = _multisets.violated_multisets(meeting, divisor, tries, LEAST_VIOLATION, random, rows, values)
    return {
        Cut(tuple(some), divisor): value
        for some, value in zip(rows[:count].tolist(), values[:count].tolist(), strict=True)
    }


def odd_sets(groups: Array, fractions: Array, n: int, largest: int) -> dict[Cut, float]:
    """Return violated cuts of odd sets, and by how much: all threes; larger sets, grown greedily, if these are few.

    Parameters
    ----------
    groups : int32[c, most]
        Padded with n.
    fractions : float64[c]
    n : int
    largest : int
        Size of the largest set.
    """
    inside = membership(groups, n)
    together = (inside.multiply(fractions) @ inside.T).tocsr()
    near = [dict(zip(*_row(together, a), strict=True)) for a in range(n)]
    lists = [[row for row in group if row < n] for group in groups.tolist()]
    violations = _threes(near, lists, fractions.tolist())
    if largest > 3 and len(violations) <= NEW_CUTS // 4:
        violations |= _grown(near, lists, fractions.tolist(), largest)
    return {Cut(rows): value for rows, value in violations.items()}


def _threes(
    near: list[dict[int, float]], groups: list[list[int]], fractions: list[float]
) -> dict[tuple[int, ...], float]:
    """Return the violated cuts of sets of three, and by how much each is violated.

    Parameters
    ----------
    near : list of dict
        For each record, the sum of the fractions of groups that it shares with each other record (and with itself).
    """
    sums: dict[tuple[int, ...], float] = {}
    for a, others in enumerate(near):
        for b, ab in others.items():
            if b > a:
                for c, bc in near[b].items():
                    if c > b and c in others and ab + bc + others[c] > 1 + LEAST_VIOLATION:
                        sums[a, b, c] = ab + bc + others[c] - 1
    # Groups with all three records were counted three times.
    for group, x in zip(groups, fractions, strict=True):
        for three in combinations(sorted(group), 3):
            if three in sums:
                sums[three] -= 2 * x
    return {three: v for three, v in sums.items() if v >= LEAST_VIOLATION}


def _grown(
    near: list[dict[int, float]], groups: list[list[int]], fractions: list[float], largest: int
) -> dict[tuple[int, ...], float]:
    """Return violated cuts of larger sets, grown from each record by the record that shares most with the set."""
    holders: dict[int, list[int]] = {}
    for g, group in enumerate(groups):
        for row in group:
            holders.setdefault(row, []).append(g)
    violations: dict[tuple[int, ...], float] = {}
    for start in holders:
        rows, held, value = [start], dict.fromkeys(holders[start], 1), 0.0
        links = {b: w for b, w in near[start].items() if b != start}
        best, chosen = LEAST_VIOLATION, 0
        while links and len(rows) < largest:
            joining = max(links, key=lambda b: (links[b], -b))
            del links[joining]
            rows.append(joining)
            for g in holders[joining]:
                held[g] = held.get(g, 0) + 1
                value += fractions[g] if held[g] % 2 == 0 else 0.0
            for b, w in near[joining].items():
                if b not in rows:
                    links[b] = links.get(b, 0.0) + w
            if len(rows) % 2 == 1 and value - len(rows) // 2 > best + 1e-9:
                best, chosen = value - len(rows) // 2, len(rows)
        if chosen:
            violations[tuple(sorted(rows[:chosen]))] = best
    return violations


def _row(matrix: Any, a: int) -> tuple[list[int], list[float]]:
    """Return the columns and values of a row of a sparse matrix."""
    part = slice(matrix.indptr[a], matrix.indptr[a + 1])
    return matrix.indices[part].tolist(), matrix.data[part].tolist()
