"""A binary tree of boxes that share no record, with noisy counts that are made to agree with each other.

Boxes are ranges of positions (see :class:`shoal.dp.domain.Coded`): `lower` to `upper` in every attribute, both
included.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from shoal.arrays import Array


@dataclass
class Tree:
    """Boxes in the order in which they came into being; box 0 is the whole domain.

    Attributes
    ----------
    lower, upper : lists of int64[d]
    counts, variances : lists of float
        Noisy numbers of records, and the variance of their noise.
    children : {box: (left, right)}
    rows : list of (int, int)
        Where the records of a box lie among `order`. Private.
    order : int64[n]
        The records, box by box. Private.
    """

    lower: list[Array]
    upper: list[Array]
    counts: list[float]
    variances: list[float]
    order: Array
    rows: list[tuple[int, int]]
    children: dict[int, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, sizes: tuple[int, ...], n: int, count: float, variance: float) -> Tree:
        """Return the tree of one box: the whole domain."""
        upper = np.array(sizes, np.int64) - 1
        return cls([np.zeros_like(upper)], [upper], [count], [variance], np.arange(n), [(0, n)])

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def leaves(self) -> list[int]:
        """Return the boxes that were not cut."""
        return [box for box in range(len(self)) if box not in self.children]

    def divide(self, box: int, attribute: int, cut: int, middle: int) -> tuple[int, int]:
        """Cut a box before a position; its first `middle` rows go to the left. Counts are filled in later."""
        start, end = self.rows[box]
        for low, high, rows in ((None, cut - 1, (start, start + middle)), (cut, None, (start + middle, end))):
            lower, upper = self.lower[box].copy(), self.upper[box].copy()
            if low is not None:
                lower[attribute] = low
            if high is not None:
                upper[attribute] = high
            self.lower.append(lower)
            self.upper.append(upper)
            self.counts.append(0.0)
            self.variances.append(0.0)
            self.rows.append(rows)
        self.children[box] = (len(self) - 2, len(self) - 1)
        return self.children[box]

    def labels(self) -> Array:
        """Return int64[n]: the leaf of each record, numbered from 0. Private."""
        labels = np.empty(len(self.order), np.int64)
        for number, box in enumerate(self.leaves):
            start, end = self.rows[box]
            labels[self.order[start:end]] = number
        return labels


def consistent(tree: Tree) -> Array:
    """Return float64[boxes]: counts of which every box has the sum of its two halves.

    The weighted least squares of all noisy counts (Cormode et al. 2012, section 5; Hay et al. 2010, section 4.2), for
    trees of any shape: upwards, every count is averaged with the sum of its halves, each weighted by its precision;
    downwards, what is left over is dealt out to the halves in proportion to their variances. It needs nothing but noisy
    counts, so that it costs no privacy.
    """
    best, variance = np.array(tree.counts), np.array(tree.variances)
    for box in sorted(tree.children, reverse=True):
        left, right = tree.children[box]
        below, uncertain = best[left] + best[right], variance[left] + variance[right]
        weight = uncertain / (uncertain + variance[box])
        best[box] = weight * best[box] + (1 - weight) * below
        variance[box] *= weight
    for box in sorted(tree.children):
        left, right = tree.children[box]
        rest = best[box] - best[left] - best[right]
        share = variance[left] / (variance[left] + variance[right])
        best[left] += share * rest
        best[right] += (1 - share) * rest
    return best
