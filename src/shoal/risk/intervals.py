"""Interval disclosure: how close to an original number its published one is, by deviation, by rank, or robustly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError
from shoal.partitioning.plain import squares_to
from shoal.partitioning.pool import Pool
from shoal.risk.distance import FEW_PAIRS
from shoal.risk.pairs import Pair, Settings, groups_of
from shoal.tables.inputs import fraction_of

# More records than this do not make the robust covariance better, but slow.
MOST_FOR_COVARIANCE = 5_000
# A covariance with a direction this much shorter than its longest one is singular.
SINGULAR = 1e-10
# The factor of the robust distances in sdcMicro's dRiskRMD.
RMD_SCALE = 0.05


@dataclass(frozen=True, repr=False)
class IntervalDisclosure:
    """How many original values lie in an interval around their published ones.

    A value that is missing on either side lies in none.

    Attributes
    ----------
    values : float
        The share of all values of all records.
    baseline : float
        The same if published rows were dealt out at random: what the interval catches by its width alone.
    records : float
        The share of records of which all values do: sdcMicro's `dRisk`.
    attributes : float64[d]
        The share of values of each attribute.
    names : tuple of str
        Of the attributes.
    outside : int64[n]
        For each record, the number of values that do not.
    """

    values: float
    baseline: float
    records: float
    attributes: Array
    names: tuple[str, ...]
    outside: Array

    def __repr__(self) -> str:
        return (
            f"IntervalDisclosure({len(self.outside)} records, {len(self.names)} attributes: values {self.values:.3g}, "
            f"baseline {self.baseline:.3g}, records {self.records:.3g})"
        )


def deviation_disclosure(
    original: Any, release: Any, columns: Any = None, *, width: float = 0.05, by: str | None = None
) -> IntervalDisclosure:
    """Return how many values lie within `width` standard deviations of their published ones.

    Standard deviations are those of the published column. sdcMicro's `dRisk` is the field `records`.

    Mateo-Sanz, J. M., Sebé, F., Domingo-Ferrer, J. (2004): Outlier protection in continuous microdata masking. PSD.

    Parameters
    ----------
    original, release : data frames
        As in :func:`linkage`.
    columns : names, optional
        Columns of numbers or dates; others are left out.
    width : float
        Half the length of the interval, in standard deviations.
    by : str, optional
        As in :func:`linkage`.

    Examples
    --------
    >>> import shoal, pandas as pd
    >>> people = pd.DataFrame({"age": [30, 32, 50, 58]})
    >>> release = pd.DataFrame({"age": [31, 31, 54, 54]})
    >>> shoal.risk.deviation_disclosure(people, release, ["age"], width=0.1).values
    0.5
    """
    caller = "shoal.risk.deviation_disclosure"
    width = fraction_of(width, "width", caller, most=100.0)
    names, X, Y = Pair.of(original, release, columns, caller, Settings(by)).numeric(caller)
    reach = width * _deviations(Y)
    return _measured(names, X, Y, reach)


def rank_disclosure(
    original: Any, release: Any, columns: Any = None, *, width: float = 0.05, by: str | None = None
) -> IntervalDisclosure:
    """Return how many values differ from their published ones by at most a share `width` of all ranks.

    A value has the mid-rank that it would have among the published ones of its column: of equal ones, which are the
    rule in groups, the mean rank.

    Domingo-Ferrer, J., Torra, V. (2001): Disclosure control methods and information loss for microdata.

    Parameters
    ----------
    original, release, columns, by
        As in :func:`deviation_disclosure`.
    width : float
        Half the length of the interval, as a share of the number of records.
    """
    caller = "shoal.risk.rank_disclosure"
    width = fraction_of(width, "width", caller)
    names, X, Y = Pair.of(original, release, columns, caller, Settings(by)).numeric(caller)
    ranked = [_mid_ranks(X[:, j], Y[:, j]) for j in range(len(names))]
    P, Q = (np.column_stack([pair[side] for pair in ranked]) for side in (0, 1))
    present = (~np.isnan(Q)).sum(axis=0)
    return _measured(names, P, Q, width * present)


def _mid_ranks(x: Array, y: Array) -> tuple[Array, Array]:
    """Return the mid-ranks of x and of y among the present values of y, from 0 to their number."""
    ordered = np.sort(y[~np.isnan(y)])

    def ranks(values: Array) -> Array:
        # In their order, values are found many times as fast.
        order = np.argsort(values)
        ascending = values[order]
        among = np.empty(len(values))
        among[order] = (np.searchsorted(ordered, ascending) + np.searchsorted(ordered, ascending, "right")) / 2
        return np.where(np.isnan(values), np.nan, among)

    return ranks(x), ranks(y)


def _deviations(Y: Array) -> Array:
    """Return float64[d]: the standard deviations of the present values, 0 for columns with fewer than two."""
    present = ~np.isnan(Y)
    count = present.sum(axis=0)
    mean = np.where(present, Y, 0.0).sum(axis=0) / np.maximum(1, count)
    squares = np.where(present, (Y - mean) ** 2, 0.0).sum(axis=0)
    return np.asarray(np.sqrt(squares / np.maximum(1, count - 1)))


def _measured(names: list[str], X: Array, Y: Array, reach: Array) -> IntervalDisclosure:
    """Return the disclosure by intervals of these lengths, float64[d], around the published values."""
    with np.errstate(invalid="ignore"):
        inside = np.abs(X - Y) <= reach
    outside = (~inside).sum(axis=1)
    dealt = [_by_chance(X[:, j], Y[:, j], reach[j]) for j in range(len(names))]
    return IntervalDisclosure(
        values=float(inside.mean()),
        baseline=float(np.mean(dealt)),
        records=float((outside == 0).mean()),
        attributes=inside.mean(axis=0),
        names=tuple(names),
        outside=outside,
    )


def _by_chance(x: Array, y: Array, reach: float) -> float:
    """Return the share of all pairs of an original and a published value that are at most `reach` apart."""
    ordered, present = (np.sort(values[~np.isnan(values)]) for values in (y, x))
    hits = np.searchsorted(ordered, present + reach, "right") - np.searchsorted(ordered, present - reach, "left")
    return float(hits.sum()) / (len(x) * len(y))


@dataclass(frozen=True, repr=False)
class RobustDisclosure:
    """Interval disclosure with intervals that grow with the distance from the centre (sdcMicro's `dRiskRMD`).

    Attributes
    ----------
    records : float
        The share of records with a value in an interval (RMDID1).
    weighted : float
        The same with the distances of these records from the centre as weights (RMDID1w), in sdcMicro's unit.
    isolated : float
        The share of records that also have no other published row near theirs (RMDID2).
    covariance : str
        What the distances are from: "robust"; "ordinary", where the robust covariance is singular; "reduced", where
        both are, and directions in which nothing varies are left out.
    disclosed : bool[n]
        Which records have a value in an interval.
    """

    records: float
    weighted: float
    isolated: float
    covariance: str
    disclosed: Array

    def __repr__(self) -> str:
        return (
            f"RobustDisclosure({len(self.disclosed)} records: {self.records:.3g} disclosed, "
            f"{self.isolated:.3g} isolated, {self.covariance} covariance)"
        )


def robust_disclosure(
    original: Any,
    release: Any,
    columns: Any = None,
    *,
    width: float = 0.01,
    isolation: float = 0.05,
    by: str | None = None,
) -> RobustDisclosure:
    """Return interval disclosure by robust Mahalanobis distances: outliers get longer intervals.

    Columns are standardised, the original and the release each by itself. The interval around an original value is
    0.05 `width` times the robust distance of its record from the centre. Distances are from the minimum covariance
    determinant, of at most 5000 records. If that is singular, which is the rule for columns that add up or are mostly
    constant, the ordinary covariance takes its place, and the result says so. Records with missing values are left out,
    and so are columns without any value.
    sdcMicro takes another estimate of the same covariance (R's `covMcd`, with corrections for small samples), which is
    a third larger on Tarragona, and its figures are lower; it stops with an error where the covariance is singular.

    Templ, M., Meindl, B. (2008): Robust statistics meets SDC. PSD, LNCS 5262.

    Parameters
    ----------
    original, release, columns, by
        As in :func:`deviation_disclosure`.
    width : float
        Half the length of intervals; sdcMicro's `k`.
    isolation : float
        The distance within which another published row hides a record; sdcMicro's `k2`.
    """
    caller = "shoal.risk.robust_disclosure"
    width = fraction_of(width, "width", caller, most=100.0)
    isolation = fraction_of(isolation, "isolation", caller, most=100.0)
    _, X, Y = Pair.of(original, release, columns, caller, Settings(by)).numeric(caller)
    # A column without any value on one side leaves no record complete.
    filled = ~(np.isnan(X).all(axis=0) | np.isnan(Y).all(axis=0))
    X, Y = X[:, filled], Y[:, filled]
    complete = ~(np.isnan(X).any(axis=1) | np.isnan(Y).any(axis=1)) & filled.any()
    if complete.sum() < 3:
        raise DataError(f"The tables of {caller} must have 3 records without missing values. Got {complete.sum()}.")
    A, B = _standardized(X[complete]), _standardized(Y[complete])
    distances, covariance = _distances(A)
    reach = width * RMD_SCALE * distances[:, None]
    unsafe = (np.abs(B - A) < reach).any(axis=1)
    disclosed = np.zeros(len(X), bool)
    disclosed[complete] = unsafe
    n = len(X)
    alone = _isolated(B, unsafe, isolation)
    return RobustDisclosure(
        records=float(unsafe.sum()) / n,
        weighted=float(unsafe.sum() * RMD_SCALE * distances[unsafe].sum()) / n,
        isolated=float(alone.sum()) / n,
        covariance=covariance,
        disclosed=disclosed,
    )


def _standardized(X: Array) -> Array:
    spread = _deviations(X)
    return np.ascontiguousarray((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _distances(X: Array) -> tuple[Array, str]:
    """Return the Mahalanobis distances of records from their mean, and of which covariance they are."""
    from warnings import catch_warnings, simplefilter

    from sklearn.covariance import MinCovDet

    some = X
    if len(X) > MOST_FOR_COVARIANCE:
        some = X[np.sort(np.random.default_rng(0).choice(len(X), MOST_FOR_COVARIANCE, replace=False))]
    matrix = None
    if len(some) > 2 * X.shape[1] + 2:
        with catch_warnings():
            simplefilter("ignore")  # about singular covariances, which are looked at here
            try:
                matrix = MinCovDet(random_state=0).fit(some).covariance_ * _consistency(X.shape[1])
            except ValueError:
                matrix = None
    for candidate, name in ((matrix, "robust"), (np.atleast_2d(np.cov(X.T)), "ordinary")):
        if candidate is not None and np.isfinite(candidate).all():
            lengths, axes = np.linalg.eigh(candidate)
            if lengths[0] > SINGULAR * lengths[-1]:
                return np.asarray(np.sqrt((((X - X.mean(axis=0)) @ axes) ** 2 / lengths).sum(axis=1))), name
    lengths, axes = np.linalg.eigh(np.atleast_2d(np.cov(X.T)))
    kept = lengths > SINGULAR * max(lengths[-1], np.finfo(float).tiny)
    return np.sqrt((((X - X.mean(axis=0)) @ axes[:, kept]) ** 2 / lengths[kept]).sum(axis=1)), "reduced"


def _consistency(d: int) -> float:
    """Return what makes the covariance of the inner 97.5 % of a normal distribution that of all (Croux, Haesbroeck)."""
    from scipy.stats import chi2

    return float(0.975 / chi2.cdf(chi2.ppf(0.975, d), d + 2))


def _isolated(Y: Array, rows: Array, isolation: float) -> Array:
    """Return bool[n]: which of the published rows in `rows` bool[n] have no other row within a distance."""
    groups = groups_of(Y)
    alone = rows & (groups.sizes[groups.of] == 1)
    asked = np.flatnonzero(alone)
    if len(asked) and len(groups.sizes) > 1:
        own = groups.of[asked]
        alone[asked] = np.sqrt(_to_others(np.ascontiguousarray(Y[asked]), groups.points, own)) > isolation
    return np.asarray(alone)


def _to_others(rows: Array, points: Array, own: Array) -> Array:
    """Return the squared distance of each row to the nearest point but its own."""
    if len(rows) * len(points) > FEW_PAIRS:
        return Pool(points).nearest_each(rows, 1, own)[1][:, 0]
    # Without kernels, which would have to be compiled.
    columns, squares = np.ascontiguousarray(points.T), np.empty(len(rows))
    for at, (row, place) in enumerate(zip(rows, own, strict=True)):
        apart = squares_to(columns, row)
        apart[place] = np.inf
        squares[at] = apart.min()
    return squares
