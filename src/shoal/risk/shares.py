"""Confidence intervals of shares: of trials that succeed or not, of means over groups, of the difference of two shares.

All are intervals of 95 %, of people like those in the table: its records count as drawn from many more, and those of a
group, which are published alike, as one draw. Of a sample from the table itself, they are a little too wide.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from shoal.arrays import Array

CONFIDENCE = 1.959963984540054  # of 95 %
Interval = tuple[float, float]


def wilson(successes: float, trials: int) -> Interval:
    """Return the interval of a share of independent trials (Wilson 1927)."""
    if trials == 0:
        return 0.0, 1.0
    z, share = CONFIDENCE**2, successes / trials
    middle = (share + z / (2 * trials)) / (1 + z / trials)
    half = CONFIDENCE * sqrt(share * (1 - share) / trials + z / (4 * trials**2)) / (1 + z / trials)
    # What rounding leaves where none succeed, or all.
    return max(0.0, middle - half) if successes > 0 else 0.0, min(1.0, middle + half) if successes < trials else 1.0


def mean_interval(values: Array, clusters: Array, lowest: float = 0.0, highest: float = 1.0) -> Interval:
    """Return the interval of a mean of values that belong together in clusters.

    By the spread of the sums of clusters, after about four observations are added, half of them the lowest and half of
    them the highest possible value (Agresti and Coull 1998): where all values are equal they have no spread themselves.
    Where clusters make the mean as uncertain as fewer values would, those added are as large as such a value.

    Parameters
    ----------
    values : float64[n]
    clusters : int64[n]
        Equal numbers for values that belong together, from 0 on.
    lowest, highest : float
        That values can be.
    """
    from scipy.special import stdtrit

    _, of = np.unique(clusters, return_inverse=True)
    rest = values - values.mean()
    sums, squares = np.bincount(of, rest), float(rest @ rest)
    # How many of these values are worth an independent one (the design effect).
    worth = max(1.0, float(sums @ sums) / squares) if squares > 0 else 1.0
    extra = CONFIDENCE**2
    whole = len(values) + extra * worth
    mean = (float(values.sum()) + extra * worth * (lowest + highest) / 2) / whole
    sums = np.bincount(of, values - mean)
    spread = float(sums @ sums) + extra * worth**2 / 2 * ((lowest - mean) ** 2 + (highest - mean) ** 2)
    half = float(stdtrit(len(sums) + extra - 1, 0.975)) * sqrt(spread) / whole
    return max(lowest, mean - half), min(highest, mean + half)


def difference(first: tuple[int, int], second: tuple[int, int]) -> Interval:
    """Return the interval of the difference of two shares of independent trials (Newcombe 1998, method 10).

    Parameters
    ----------
    first, second : (int, int)
        Successes and trials of each.
    """
    p, q = (successes / trials for successes, trials in (first, second))
    (a, b), (c, d) = wilson(*first), wilson(*second)
    return p - q - sqrt((p - a) ** 2 + (d - q) ** 2), p - q + sqrt((b - p) ** 2 + (q - c) ** 2)


@dataclass(frozen=True)
class Trials:
    """Attacks of one kind, each of which succeeds or does not.

    Attributes
    ----------
    tried, succeeded : int
    baseline : float
        The share that would succeed without the release.
    untouched : float
        The share that would succeed if the original were released as it is.
    """

    tried: int
    succeeded: int
    baseline: float
    untouched: float

    @property
    def share(self) -> float:
        """Return the share of attacks that succeed."""
        return self.succeeded / self.tried

    @property
    def interval(self) -> Interval:
        """Return the 95 % interval of the share."""
        return wilson(self.succeeded, self.tried)

    @property
    def gain(self) -> float:
        """Return how many more succeed than without the release, as a share of all."""
        return self.share - self.baseline
