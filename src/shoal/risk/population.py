"""How many people are unique in the population, estimated from the sizes of classes in a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.risk.keys import Keys
from shoal.tables.inputs import count_of

# How far a fitted model may be from its equations, as a share of their right sides.
CLOSE = 1e-6


@dataclass(frozen=True)
class PopulationUniques:
    """Estimates of the number of people in the population whose key nobody else has.

    Each is a float; NaN where the model does not fit the sample.

    Attributes
    ----------
    pitman : float
        By the Pitman model (Hoshino 2001). For small sampling fractions.
    zayatz : float
        By the method of Zayatz (1991), which takes the classes of the sample for those of the population.
    snb : float
        By the slide negative binomial model (Chen and Keller-McNulty 1998).
    sample : int
        The number of records that are unique in the sample.
    fraction : float
        The sampling fraction.
    """

    pitman: float
    zayatz: float
    snb: float
    sample: int
    fraction: float


def population_uniques(table: Any, keys: Any, population: int) -> PopulationUniques:
    """Return estimates of the number of population uniques, by three models.

    They assume a simple random sample without replacement; the SNB model, that each person is drawn independently.
    Estimates differ widely between models: take none of them for a count.

    - Pitman: classes of the sample follow the Pitman sampling formula with the maximum likelihood estimates of theta
      and alpha. Expected uniques among N people: Gamma(theta + 1) / Gamma(theta + alpha) N^alpha.
    - Zayatz: the chance that a sample unique is a population unique, by Bayes' rule from hypergeometric chances.
    - SNB: a class of the population has 1 + X people, where X is negative binomial (alpha, beta). The number of classes
      is estimated by the modified estimator of Shlosser (Haas and Stokes 1998, Sh3), and alpha and beta from the
      numbers of sample classes of one and of two. Uniques: K beta^alpha.

    Parameters
    ----------
    table : data frame
        The sample.
    keys : names
    population : int
        The number of people in the population, at least that of records.

    Examples
    --------
    >>> import pandas as pd, shoal
    >>> people = pd.DataFrame(shoal.datasets.survey(2000))
    >>> estimate = shoal.risk.population_uniques(people, ["region", "sex", "birth_date"], population=20_000)
    >>> estimate.zayatz < 20_000 * estimate.sample / 2000
    True
    """
    caller = "shoal.risk.population_uniques"
    prepared = Keys.of(table, keys, caller)
    n = prepared.records
    people = count_of(population, "population", caller, least=n)
    sizes, counts = np.unique(prepared.sizes, return_counts=True)
    single = int(counts[sizes == 1].sum())
    fraction = n / people
    if people == n or single == 0:
        # The sample is the population, or there is no unique to draw conclusions from.
        known = float(single) if people == n else 0.0
        return PopulationUniques(known, known, known, single, fraction)
    return PopulationUniques(
        _pitman(sizes, counts, people), _zayatz(sizes, counts, people), _snb(sizes, counts, fraction), single, fraction
    )


def _zayatz(sizes: Array, counts: Array, people: int) -> float:
    """Return the estimate of Zayatz for `counts` classes of each size."""
    n = int(sizes @ counts)
    # log of the chance to draw exactly one of `sizes` people in a sample of n: s C(N - s, n - 1) / C(N, n).
    rest = people - sizes - n + 1.0
    fits = rest >= 0
    s = sizes[fits].astype(np.float64)
    logs = np.log(s) + _log_choose(people - s, n - 1.0) - _log_choose(float(people), float(n))
    chances = np.zeros(len(sizes))
    chances[fits] = np.exp(logs)
    single = counts[sizes == 1].sum()
    return float(single * (single * n / people) / (counts @ chances) * people / n)


def _log_choose(n: Any, k: Any) -> Any:
    from scipy.special import gammaln

    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def _pitman(sizes: Array, counts: Array, people: int) -> float:
    """Return the estimate of the Pitman model."""
    from scipy.optimize import minimize
    from scipy.special import expit, gammaln

    n, classes = int(sizes @ counts), int(counts.sum())
    if classes == n or classes == 1:
        return float("nan")  # the likelihood has no maximum

    def parameters(x: Array) -> tuple[float, float]:
        alpha = float(expit(x[1]))
        return float(np.exp(x[0])) - alpha, alpha

    def unlikelihood(x: Array) -> float:
        theta, alpha = parameters(x)
        grown = (classes - 1) * np.log(alpha) + gammaln(theta / alpha + classes) - gammaln(theta / alpha + 1.0)
        drawn = gammaln(theta + n) - gammaln(theta + 1.0)
        within = counts @ (gammaln(sizes - alpha) - gammaln(1.0 - alpha))
        return -float(grown - drawn + within)

    best = None
    for start in (0.2, 0.5, 0.8):
        x0 = np.array([np.log(classes / 2.0 + 1.0), np.log(start / (1 - start))])
        options = {"xatol": 1e-9, "fatol": 1e-9, "maxiter": 4000, "maxfev": 4000}
        found = minimize(unlikelihood, x0, method="Nelder-Mead", options=options)
        if best is None or found.fun < best.fun:
            best = found
    theta, alpha = parameters(best.x)  # type: ignore[union-attr]
    uniques = float(np.exp(gammaln(theta + 1.0) - gammaln(theta + alpha) + alpha * np.log(people)))
    return uniques if 0.0 <= uniques <= people else float("nan")


def _snb(sizes: Array, counts: Array, fraction: float) -> float:
    """Return the estimate of the slide negative binomial model."""
    from scipy.optimize import least_squares
    from scipy.special import expit

    single, double = float(counts[sizes == 1].sum()), float(counts[sizes == 2].sum())
    classes = _classes(sizes.astype(np.float64), counts.astype(np.float64), fraction)

    def residuals(x: Array) -> Array:
        once, twice = expected_classes(float(np.exp(x[0])), float(expit(x[1])), fraction)
        return np.array([classes * once / single - 1.0, classes * twice / max(double, 1.0) - double / max(double, 1.0)])

    for start in ((0.0, 0.0), (0.0, -3.0), (-2.0, -3.0), (2.0, 2.0), (-2.0, 0.0), (-4.0, -6.0)):
        found = least_squares(residuals, np.array(start), xtol=1e-14, ftol=1e-14, gtol=1e-14)
        if np.abs(found.fun).max() < CLOSE:
            alpha, beta = float(np.exp(found.x[0])), float(expit(found.x[1]))
            return float(classes * beta**alpha)
    return float("nan")


def expected_classes(alpha: float, beta: float, fraction: float) -> tuple[float, float]:
    """Return the chance that a class of 1 + X people, X negative binomial, has one record in the sample, or two."""
    lost = (1.0 - fraction) * (1.0 - beta)
    none = (beta / (1.0 - lost)) ** alpha
    once = fraction * none * (1.0 + alpha * lost / (1.0 - lost))
    twice = fraction**2 * none * alpha * (1.0 - beta) * (2.0 - (1.0 - alpha) * lost) / (2.0 * (1.0 - lost) ** 2)
    return once, twice


def _classes(sizes: Array, counts: Array, q: float) -> float:
    """Return the number of classes in the population, by the modified estimator of Shlosser."""
    gone = (1.0 - q) ** sizes @ counts
    once = (sizes * q * (1.0 - q) ** (sizes - 1.0)) @ counts
    rare = (sizes * q**2 * (1.0 - q**2) ** (sizes - 1.0)) @ counts
    seen = ((1.0 - q**2) ** sizes - (1.0 - q) ** sizes) @ counts
    single = counts[sizes == 1.0].sum()
    return float(counts.sum() + single * (rare / seen) * (gone / once) ** 2)
