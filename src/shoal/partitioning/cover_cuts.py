"""Cuts: inequalities that hold for whole groups, but not for fractions of groups.

Let U be a multiset of records, and p a divisor. If a group that meets U h times, records counted as often as U has
them, counts floor(h / p), the groups of a partition sum to at most floor(|U| / p). (Adding up 1/p of "every record is
in one group" over U gives |U| / p; rounding down the coefficients and then the right side keeps every partition.) These
are the cuts of rank one of Chvatal and Gomory. For sets of three and p = 2 they are the subset-row cuts of set
partitioning; for k = 2, those of larger odd sets are the cuts of matching; for p = k they say that few records make few
groups: of 3k - 1 records that are apart from all others, say, no more than two.

In pricing, the price sigma of a cut is spread over pairs of U. Each pair that by itself counts may carry the least of
floor(h / p) / (number of such pairs in the group) over all groups that the size allows: for sets of three all of sigma
in groups of two, else a third. Where no pair counts, as in sets with p = 3, nothing is spread; the listing of groups is
longer then, but complete, since the price of a cut only makes groups dearer.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array


class Cut(NamedTuple):
    """The rows of a multiset, in ascending order, and its divisor."""

    rows: tuple[int, ...]
    divisor: int = 2

    @property
    def right(self) -> int:
        """Return what the groups of a partition sum to at most."""
        return len(self.rows) // self.divisor


class Cuts:
    """A list of cuts.

    Parameters
    ----------
    n : int
        Number of records.
    cuts : list of Cut
    """

    def __init__(self, n: int, cuts: list[Cut] | None = None) -> None:
        import scipy.sparse as sp

        self.n, self.all = n, cuts or []
        self.right = np.array([cut.right for cut in self.all], float)
        self._divisors = np.array([cut.divisor for cut in self.all], float)
        starts = np.cumsum([0] + [len(cut.rows) for cut in self.all])
        rows = np.array([row for cut in self.all for row in cut.rows], np.int64)
        self._members = sp.csr_matrix((np.ones(len(rows)), rows, starts), shape=(len(self.all), n))
        self._members.sum_duplicates()
        times = [dict(zip(*np.unique(cut.rows, return_counts=True), strict=True)) for cut in self.all]
        self._times = [tuple(sorted(map(int, one.values()))) for one in times]
        pairs = np.array(
            [
                (a, b, u)
                for u, one in enumerate(times)
                for a, b in combinations(one, 2)
                if one[a] + one[b] >= self.all[u].divisor
            ],
            np.int64,
        ).reshape(-1, 3)
        self._pairs = np.concatenate([pairs, pairs[:, [1, 0, 2]]])

    def __len__(self) -> int:
        return len(self.all)

    def coefficients(self, groups: Array) -> Any:
        """Return the coefficient of each group (int32[c, most], padded with n) in each cut: sparse [cuts, c]."""
        held = (self._members @ membership(groups, self.n)).tocsr()
        held.data = np.floor(held.data / np.repeat(self._divisors, np.diff(held.indptr)))
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

        if not len(self.all):
            return np.zeros(self.n + 1, np.int64), np.empty(0, np.int32), np.empty(0)
        shares = np.array([sigma[u] * _share(self._times[u], cut.divisor, size) for u, cut in enumerate(self.all)])
        a, b, u = self._pairs.T
        kept = shares[u] > 0
        matrix = sp.coo_matrix((shares[u][kept], (a[kept], b[kept])), shape=(self.n, self.n)).tocsr()
        matrix.sort_indices()
        return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(float)


@cache
def _share(times: tuple[int, ...], divisor: int, size: int) -> float:
    """Return the share of a price that each pair may carry that counts by itself, in groups of `size` records.

    Parameters
    ----------
    times : tuple of int
        How often each record is in the multiset.
    """
    most = min(size, len(times))
    if max(times) == 1:  # in sets, all pairs are alike
        return min((t // 2) / (t * (t - 1) / 2) for t in range(2, most + 1)) if divisor == 2 else 0.0
    least = 1.0
    for t in range(2, most + 1):
        for some in combinations(times, t):
            pairs = sum(a + b >= divisor for a, b in combinations(some, 2))
            if pairs:
                least = min(least, sum(some) // divisor / pairs)
    return least


def membership(groups: Array, n: int) -> Any:
    """Return the members of groups as a sparse [n, c] matrix, from int32[c, most] padded with n."""
    import scipy.sparse as sp

    inside = groups < n
    starts = np.append(0, np.cumsum(inside.sum(axis=1)))
    return sp.csc_matrix((np.ones(int(starts[-1])), groups[inside], starts), shape=(n, len(groups)))
