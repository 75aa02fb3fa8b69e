"""What a release keeps of numbers: distances, means, variances, covariances, eigenvalues, quantiles and tails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import OptionError
from shoal.measure.pairs import Compared, weighted_mean, weighted_variance

# An eigenvalue that is so much smaller than the largest one is 0.
NOTHING = 1e-12
LEVELS = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


@dataclass(frozen=True, repr=False)
class DistanceLoss:
    """How far published numbers are from the original ones (IL1s).

    Attributes
    ----------
    total : float
        The sum over all values of |x - y| / (sqrt(2) s), where s is the standard deviation of the original column:
        sdcMicro's IL1s.
    average : float
        The mean of the same over all values that are present on both sides.
    attributes : float64[d]
        The mean for each attribute; NaN where the original is constant or missing.
    names : tuple of str
        Of the attributes with numbers.
    """

    total: float
    average: float
    attributes: Array
    names: tuple[str, ...]

    def __repr__(self) -> str:
        return f"DistanceLoss({len(self.names)} attributes: average {self.average:.3g}, total {self.total:.3g})"


def distance_loss(
    original: Any,
    release: Any,
    columns: Any = None,
    *,
    by: str | None = None,
    types: Mapping[str, str] | None = None,
    weight: Any = None,
) -> DistanceLoss:
    """Return how far published numbers are from the original ones, in standard deviations of the original.

    A column that is constant in the original has no standard deviation and does not count.

    Yancey, W. E., Winkler, W. E., Creecy, R. H. (2002): Disclosure risk assessment in perturbative microdata
    protection. LNCS 2316.

    Parameters
    ----------
    original, release : data frames
        The same records in the same order, or named by the column `by`.
    columns : names, optional
        The columns to compare; by default all that both tables have. Those without numbers or dates are left out.
    by : str, optional
        A column that names the records in both tables. Records that were not released do not count.
    types : {name: kind}, optional
        Kinds of columns, where another than the one inferred is meant: ``{"region": "nominal"}`` for codes.
    weight : str or array-like of shape (n,), optional
        The column of sampling weights of the original, or the weights.

    Examples
    --------
    >>> import shoal, pandas as pd
    >>> people = pd.DataFrame({"age": [30, 32, 50, 58]})
    >>> release = pd.DataFrame({"age": [31, 31, 54, 54]})
    >>> shoal.measure.distance_loss(people, release)
    DistanceLoss(1 attributes: average 0.129, total 0.516)
    """
    caller = "shoal.measure.distance_loss"
    both = Compared.of(original, release, columns, caller, by=by, types=types, weight=weight)
    names = both.numbers(caller)[0]
    steps, _ = steps_of(both, caller)
    weights = np.broadcast_to(both.weights[:, None], steps.shape)
    return DistanceLoss(
        total=float(np.nansum(steps * weights)),
        average=weighted_mean(steps.ravel(), weights.ravel()),
        attributes=np.array([weighted_mean(column, both.weights) for column in steps.T]),
        names=tuple(names),
    )


def steps_of(both: Compared, caller: str) -> tuple[Array, Array]:
    """Return float64[n, d]: |x - y| / (sqrt(2) s) of each number, NaN where it is not defined; and the weights."""
    _, X, Y = both.numbers(caller)
    spread = np.sqrt([weighted_variance(x, both.weights) for x in X.T])
    return np.abs(X - Y) / (sqrt(2) * np.where(spread > 0, spread, np.nan)), both.weights


@dataclass(frozen=True, repr=False)
class Moments:
    """Means, variances and covariances of both tables.

    Attributes
    ----------
    names : tuple of str
        Of the d attributes with numbers.
    means, variances : float64[2, d]
        Of the original and of the release; NaN where there is no value.
    covariances : float64[2, d, d]
        From the records in which both attributes are present.
    eigenvalues : float64[2, d]
        Of the matrices of correlations, largest first.
    """

    names: tuple[str, ...]
    means: Array
    variances: Array
    covariances: Array
    eigenvalues: Array

    def __repr__(self) -> str:
        return (
            f"Moments({len(self.names)} attributes: mean_shift {self.mean_shift:.3g}, variance_kept "
            f"{self.variance_kept:.3g}, eigenvalue_loss {self.eigenvalue_loss:.3g})"
        )

    @property
    def mean_shifts(self) -> Array:
        """Return float64[d]: by how many standard deviations of the original each mean moved."""
        with np.errstate(divide="ignore", invalid="ignore"):
            shifts = np.abs(self.means[1] - self.means[0]) / np.sqrt(self.variances[0])
        return np.where(self.variances[0] > 0, shifts, np.nan)

    @property
    def mean_shift(self) -> float:
        """Return the mean over all attributes that vary."""
        return _mean(self.mean_shifts)

    @property
    def variance_ratios(self) -> Array:
        """Return float64[d]: the variance of the release as a share of that of the original."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.variances[0] > 0, self.variances[1] / self.variances[0], np.nan)

    @property
    def variance_kept(self) -> float:
        """Return the mean share over all attributes that vary."""
        return _mean(self.variance_ratios)

    @property
    def covariance_change(self) -> float:
        """Return the mean change of covariances, as a share of the product of the two standard deviations before."""
        spread = np.sqrt(self.variances[0])
        with np.errstate(divide="ignore", invalid="ignore"):
            change = np.abs(self.covariances[1] - self.covariances[0]) / np.outer(spread, spread)
        change = np.where(np.outer(spread, spread) > 0, change, np.nan)
        return _mean(change[np.triu_indices(len(spread), 1)])

    @property
    def eigenvalue_loss(self) -> float:
        """Return the sum of |a - b| / a over the eigenvalues a of the original that are not 0 (sdcMicro's `eigen`)."""
        before, after = self.eigenvalues
        kept = before > NOTHING * before.max(initial=0.0)
        return float((np.abs(before - after)[kept] / before[kept]).sum())


def moments(
    original: Any,
    release: Any,
    columns: Any = None,
    *,
    by: str | None = None,
    types: Mapping[str, str] | None = None,
    weight: Any = None,
) -> Moments:
    """Return means, variances, covariances and eigenvalues of the correlations, before and after.

    Group means keep every mean and make every variance smaller. An eigenvalue that is 0 in the original, as it is where
    columns add up, does not count in `eigenvalue_loss`; sdcMicro divides by what rounding leaves of it.

    Templ, M., Meindl, B. (2008): Robustification of microdata masking methods and the comparison with existing methods.
    LNCS 5262.

    Parameters
    ----------
    original, release, columns, by, types, weight
        As in :func:`distance_loss`.

    Examples
    --------
    >>> import shoal, pandas as pd
    >>> people = pd.DataFrame({"age": [30, 32, 50, 58]})
    >>> release = pd.DataFrame({"age": [31, 31, 54, 54]})
    >>> shoal.measure.moments(people, release)
    Moments(1 attributes: mean_shift 0, variance_kept 0.94, eigenvalue_loss 0)
    """
    caller = "shoal.measure.moments"
    both = Compared.of(original, release, columns, caller, by=by, types=types, weight=weight)
    names, X, Y = both.numbers(caller)
    w = both.weights
    covariances = np.array([covariance(M, w) for M in (X, Y)])
    return Moments(
        names=tuple(names),
        means=np.array([[weighted_mean(column, w) for column in M.T] for M in (X, Y)]),
        variances=np.array([[weighted_variance(column, w) for column in M.T] for M in (X, Y)]),
        covariances=covariances,
        eigenvalues=np.array([_eigenvalues(one) for one in covariances]),
    )


def covariance(X: Array, weights: Array) -> Array:
    """Return float64[d, d]: covariances from the records in which both columns are present, 0 for fewer than two."""
    if not np.isnan(X).any():
        w = weights / weights.sum()
        step = X - w @ X
        step[:, (X[0] == X).all(axis=0)] = 0.0
        return np.asarray((step * w[:, None]).T @ step * (len(X) / (len(X) - 1)))
    d = X.shape[1]
    made = np.zeros((d, d))
    for i in range(d):
        for j in range(i + 1):
            kept = ~np.isnan(X[:, i] + X[:, j])
            if kept.sum() > 1:
                part = covariance(X[kept][:, [i, j]], weights[kept])
                made[i, j] = made[j, i] = part[0, 1]
    return made


def correlation(covariances: Array) -> Array:
    """Return the correlations of a matrix of covariances; 0 with what does not vary, 1 with itself."""
    spread = np.sqrt(np.maximum(0.0, np.diag(covariances)))
    scale = np.outer(spread, spread)
    made = np.where(scale > 0, covariances / np.where(scale > 0, scale, 1.0), 0.0)
    made = np.clip(made, -1.0, 1.0)
    np.fill_diagonal(made, 1.0)
    return made


def _eigenvalues(covariances: Array) -> Array:
    """Return the eigenvalues of the correlations of columns that vary, largest first, and 0 for the others."""
    varies = np.diag(covariances) > 0
    found = np.zeros(len(covariances))
    if varies.any():
        found[: varies.sum()] = np.linalg.eigvalsh(correlation(covariances[np.ix_(varies, varies)]))[::-1]
    return found


@dataclass(frozen=True, repr=False)
class Quantiles:
    """Quantiles and tails of both tables.

    Attributes
    ----------
    names : tuple of str
        Of the d attributes with numbers.
    levels : tuple of float
        The q shares of records below each quantile.
    shifts : float64[d, q]
        By how many standard deviations of the original each quantile moved; NaN where the original does not vary.
    tails : float64[d, 2]
        The share of published values below the quantile of the lowest level of the original, and above that of the
        highest, as a share of what the original has there: 1 if the tail is kept, 0 if it is gone.
    """

    names: tuple[str, ...]
    levels: tuple[float, ...]
    shifts: Array
    tails: Array

    def __repr__(self) -> str:
        return f"Quantiles({len(self.names)} attributes: shift {self.shift:.3g}, tails_kept {self.tails_kept:.3g})"

    @property
    def shift(self) -> float:
        """Return the mean shift over all attributes and levels."""
        return _mean(self.shifts)

    @property
    def tails_kept(self) -> float:
        """Return the mean over all tails."""
        return _mean(self.tails)


def quantiles(
    original: Any,
    release: Any,
    columns: Any = None,
    *,
    levels: Sequence[float] = LEVELS,
    by: str | None = None,
    types: Mapping[str, str] | None = None,
    weight: Any = None,
) -> Quantiles:
    """Return how far quantiles move, and what is left of the tails.

    A quantile is the smallest value with at least this share of the weight at or below it. Only shifts are kept, since
    a quantile is the value of a record.

    Domingo-Ferrer, J., Torra, V. (2001): Disclosure control methods and information loss for microdata.

    Parameters
    ----------
    original, release, columns, by, types, weight
        As in :func:`distance_loss`.
    levels : numbers between 0 and 1, ascending

    Examples
    --------
    >>> import shoal, pandas as pd
    >>> people = pd.DataFrame({"age": range(100)})
    >>> release = pd.DataFrame({"age": [10 * (age // 10) + 4.5 for age in range(100)]})
    >>> shoal.measure.quantiles(people, release, levels=[0.05, 0.5, 0.95])
    Quantiles(1 attributes: shift 0.0632, tails_kept 1)
    """
    caller = "shoal.measure.quantiles"
    given = tuple(levels)
    plain = all(isinstance(q, int | float | np.number) and 0 < q < 1 for q in given)
    if not given or not plain or list(given) != sorted(set(given)):
        raise OptionError(f"The 'levels' of {caller} must be numbers between 0 and 1, ascending. Got {levels!r}.")
    both = Compared.of(original, release, columns, caller, by=by, types=types, weight=weight)
    names, X, Y = both.numbers(caller)
    made = [_quantiles(x, y, both.weights, given) for x, y in zip(X.T, Y.T, strict=True)]
    return Quantiles(tuple(names), given, np.array([one for one, _ in made]), np.array([tails for _, tails in made]))


def _quantiles(x: Array, y: Array, weights: Array, levels: tuple[float, ...]) -> tuple[Array, Array]:
    spread = sqrt(weighted_variance(x, weights))
    if spread == 0 or np.isnan(y).all():
        return np.full(len(levels), np.nan), np.full(2, np.nan)
    before, after = (_at(values, weights, levels) for values in (x, y))
    kept = []
    for outside in (lambda values: values < before[0], lambda values: values > before[-1]):
        old, new = (weights[outside(v)].sum() / weights[~np.isnan(v)].sum() for v in (x, y))
        kept.append(new / old if old > 0 else np.nan)
    return np.abs(after - before) / spread, np.array(kept)


def _at(values: Array, weights: Array, levels: tuple[float, ...]) -> Array:
    """Return the quantiles of the present values."""
    present = np.flatnonzero(~np.isnan(values))
    order = present[np.argsort(values[present], kind="stable")]
    reached = np.cumsum(weights[order])
    # What rounding takes from a sum of weights must not move a quantile by a record.
    at = np.searchsorted(reached, np.array(levels) * reached[-1] * (1 - 1e-12))
    return np.asarray(values[order][at])


def _mean(values: Array) -> float:
    present = values[~np.isnan(values)]
    return float(present.mean()) if len(present) else float("nan")
