"""Cuts: inequalities that hold for whole groups, but not for fractions of groups.

Let U be a set of 2m + 1 records. If a group with t records in U counts floor(t/2), the groups of a partition sum to at
most m. (Adding up half of "every record is in one group" over U gives m + 1/2; rounding down the coefficients and then
the right side keeps every partition.) For sets of three these are the subset-row cuts of set partitioning; for k = 2,
those of larger sets are the cuts of matching.

In pricing, the price sigma of a cut is spread over the pairs of U. A group with t records in U pays sigma floor(t/2)
and has t (t - 1) / 2 of these pairs. So each pair may carry the least of floor(t/2) / (t (t - 1) / 2) over all
t >= 2 that the size allows: for sets of three all of sigma in groups of two, else a third.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from shoal.arrays import Array

LEAST_VIOLATION = 0.005


class Cuts:
    """A list of odd sets of records.

    Parameters
    ----------
    n : int
        Number of records.
    sets : list of tuples of int
        Rows in ascending order.
    """

    def __init__(self, n: int, sets: list[tuple[int, ...]] | None = None) -> None:
        import scipy.sparse as sp

        self.n, self.sets = n, sets or []
        self.right = np.array([len(rows) // 2 for rows in self.sets], float)
        starts = np.cumsum([0] + [len(rows) for rows in self.sets])
        rows = np.array([row for one in self.sets for row in one], np.int64)
        self._members = sp.csr_matrix((np.ones(len(rows)), rows, starts), shape=(len(self.sets), n))
        pairs = np.array(
            [(a, b, u) for u, one in enumerate(self.sets) for a, b in combinations(one, 2)], np.int64
        ).reshape(-1, 3)
        self._pairs = np.concatenate([pairs, pairs[:, [1, 0, 2]]])

    def __len__(self) -> int:
        return len(self.sets)

    def coefficients(self, groups: Array) -> Any:
        """Return the coefficient of each group (int32[c, most], padded with n) in each cut: sparse [cuts, c]."""
        held = (self._members @ membership(groups, self.n)).tocsr()
        held.data = np.floor(held.data / 2)
        held.eliminate_zeros()
        return held

    def spread(self, sigma: Array, size: int) -> tuple[Array, Array, Array]:
        """Return the share of the prices of cuts in the weights of pairs, for groups of `size` records.

        Returns
        -------
        starts : int64[n + 1], ids : int32[e], values : float64[e]
            Rows of a symmetric sparse matrix, columns ascending.
        """
        import scipy.sparse as sp

        if not len(self.sets):
            return np.zeros(self.n + 1, np.int64), np.empty(0, np.int32), np.empty(0)
        shares = np.array([sigma[u] * _share(min(size, len(rows))) for u, rows in enumerate(self.sets)])
        a, b, u = self._pairs.T
        kept = shares[u] > 0
        matrix = sp.coo_matrix((shares[u][kept], (a[kept], b[kept])), shape=(self.n, self.n)).tocsr()
        matrix.sort_indices()
        return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(float)


def _share(most: int) -> float:
    """Return the share of a price that each pair may carry if a group has at most `most` records in the set."""
    return min((t // 2) / (t * (t - 1) / 2) for t in range(2, most + 1))


def membership(groups: Array, n: int) -> Any:
    """Return the members of groups as a sparse [n, c] matrix, from int32[c, most] padded with n."""
    import scipy.sparse as sp

    inside = groups < n
    starts = np.append(0, np.cumsum(inside.sum(axis=1)))
    return sp.csc_matrix((np.ones(int(starts[-1])), groups[inside], starts), shape=(n, len(groups)))


def separate(groups: Array, fractions: Array, n: int, wanted: int, largest: int) -> list[tuple[int, ...]]:
    """Return odd sets of records whose cuts the fractions violate most: all threes, and larger sets grown greedily.

    Parameters
    ----------
    groups : int32[c, most]
        Padded with n.
    fractions : float64[c]
    n : int
    wanted : int
        Most sets to return; no record is in more than five of them.
    largest : int
        Size of the largest set. Sets of more than three are tried only if there are few violated sets of three.
    """
    kept = (fractions > 1e-6) & (fractions < 1 - 1e-6)
    groups, fractions = groups[kept], fractions[kept]
    if not len(groups):
        return []
    inside = membership(groups, n)
    together = (inside.multiply(fractions) @ inside.T).tocsr()
    near = [dict(zip(*_row(together, a), strict=True)) for a in range(n)]
    lists = [[row for row in group if row < n] for group in groups.tolist()]
    violations = _threes(near, lists, fractions.tolist())
    if largest > 3 and len(violations) <= wanted // 4:
        violations |= _grown(near, lists, fractions.tolist(), largest)
    chosen: list[tuple[int, ...]] = []
    uses = np.zeros(n, np.int64)
    for violation, rows in sorted(((v, rows) for rows, v in violations.items()), reverse=True):
        if len(chosen) < wanted and violation >= LEAST_VIOLATION and uses[list(rows)].max() < 5:
            chosen.append(rows)
            uses[list(rows)] += 1
    return chosen


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
