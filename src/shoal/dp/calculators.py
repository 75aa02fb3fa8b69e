"""What the theorems on private releases promise, as numbers: how many records they need, and what sampling is worth.

Source: T = Thaeter (2021), dissertation, chapter 10. Logarithms are natural ones, as in Dwork and Roth (2014) and in
Blum, Ligett, Roth (2013), from which the theorems are taken; with them, the tables of the chapter come out. What of
these tables was misprinted is said in `docs/explanation/chapter-10.md`.

Nothing here looks at data: every argument is chosen, or known to everybody.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal, localcontext
from typing import Any

from shoal.errors import OptionError
from shoal.tables.inputs import count_of

# Digits of the arithmetic of `sampling_delta`. Logarithms of factorials of numbers up to 10^30 keep 30 of them.
DIGITS = 60
# Bernoulli numbers of Stirling's series; with arguments of at least `_SHIFT` its error is below 10^-40.
_STIRLING = ((1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360360), (1, 156), (-3617, 122400))
_SHIFT = 400
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


def small_db_error(*, alpha: float, epsilon: float, records: int, universe: int, queries: int, beta: float) -> float:
    """Return the largest error of a query that SmallDB answers, with probability 1 - beta (T theorem 10.14).

    Parameters
    ----------
    alpha : float
        The accuracy that SmallDB is run with: it chooses among databases of log(queries) / alpha^2 records.
    epsilon : float
        The privacy budget.
    records : int
        Of the database.
    universe : int
        How many different records there can be.
    queries : int
        How many normalised linear queries it is made for.
    beta : float
        The probability of a larger error.
    """
    caller = "shoal.dp.small_db_error"
    alpha, beta = _share(alpha, "alpha", caller), _share(beta, "beta", caller)
    n = count_of(records, "records", caller)
    choices = _log(universe, "universe", caller) * _log(queries, "queries", caller) / alpha**2
    return alpha + 2 * (choices + math.log(1 / beta)) / (_positive(epsilon, "epsilon", caller) * n)


def small_db_size(*, alpha: float, epsilon: float, universe: int, queries: int, beta: float) -> int:
    """Return how many records a database must have for SmallDB to be within alpha (T theorem 10.14, second part).

    SmallDB is then run with the accuracy alpha / 2. Arguments are those of :func:`small_db_error`.
    """
    caller = "shoal.dp.small_db_size"
    alpha, beta = _share(alpha, "alpha", caller), _share(beta, "beta", caller)
    need = 16 * _log(universe, "universe", caller) * _log(queries, "queries", caller) + 4 * math.log(1 / beta)
    return math.ceil(need / (_positive(epsilon, "epsilon", caller) * alpha**3))


def small_db_queries(*, alpha: float, epsilon: float, records: int, universe: int, beta: float) -> int:
    """Return how many queries SmallDB can answer to within alpha (T equation 10.1): at most, and 0 if none.

    It is the condition of :func:`small_db_size`, solved for the number of queries: beta^(1 / (4 log universe)) times
    exp(alpha^3 epsilon records / (16 log universe)).
    """
    caller = "shoal.dp.small_db_queries"
    alpha, beta = _share(alpha, "alpha", caller), _share(beta, "beta", caller)
    n = count_of(records, "records", caller)
    size = _log(count_of(universe, "universe", caller, least=2), "universe", caller)
    power = alpha**3 * _positive(epsilon, "epsilon", caller) * n / (16 * size) + math.log(beta) / (4 * size)
    with localcontext() as context:
        context.prec = DIGITS
        return int(Decimal(power).exp())


def small_db_size_by_dimension(*, alpha: float, epsilon: float, universe: int, dimension: int, beta: float) -> int:
    """Return the size of :func:`small_db_size` for counting queries of a VC dimension (T theorem 10.17).

    The theorem has an unknown constant, which is taken for 1, as the dissertation does: a rough estimate, no guarantee.
    Ranges in d attributes have the dimension 2 d (T theorem 10.18).
    """
    caller = "shoal.dp.small_db_size_by_dimension"
    alpha, beta = _share(alpha, "alpha", caller), _share(beta, "beta", caller)
    need = _log(universe, "universe", caller) * count_of(dimension, "dimension", caller) + math.log(1 / beta)
    return math.ceil(need / (_positive(epsilon, "epsilon", caller) * alpha**3))


def small_db_dimension(*, alpha: float, epsilon: float, records: int, universe: int, beta: float) -> int:
    """Return the VC dimension of counting queries that SmallDB can answer to within alpha (T equation 10.2).

    The condition of :func:`small_db_size_by_dimension`, solved for the dimension; 0 if there is none.
    """
    caller = "shoal.dp.small_db_dimension"
    alpha, beta = _share(alpha, "alpha", caller), _share(beta, "beta", caller)
    n = count_of(records, "records", caller)
    size = _log(count_of(universe, "universe", caller, least=2), "universe", caller)
    room = alpha**3 * _positive(epsilon, "epsilon", caller) * n - math.log(1 / beta)
    return max(0, math.floor(room / size))


def release_intervals_size(*, alpha: float, epsilon: float, sigma: int, beta: float) -> int:
    """Return how many records ReleaseIntervals needs to answer all intervals to within alpha (T theorem 10.20).

    Parameters
    ----------
    alpha : float
        The error of a share of records.
    epsilon : float
        The privacy budget.
    sigma : int
        The attribute has 2^sigma different values.
    beta : float
        The probability of a larger error.
    """
    caller = "shoal.dp.release_intervals_size"
    alpha, beta = _share(alpha, "alpha", caller), _share(beta, "beta", caller)
    sigma = count_of(sigma, "sigma", caller)
    scale = 288 * sigma / (_positive(epsilon, "epsilon", caller) * alpha**3)
    return math.ceil(scale * math.log(8 * sigma / (beta * alpha)))


def sampling_delta(k: int, beta: float, epsilon: float) -> float:
    """Return the delta of strongly-safe k-anonymisation of a random sample (T theorem 10.24).

    Each record is kept with probability `beta`, independently; kept records are counted in cells that do not depend on
    the table, and cells with fewer than k are left out. This is (epsilon, delta)-differentially private under adding or
    removing one record, if epsilon is at least -log(1 - beta). Nothing but the cells and their counts may be published:
    a mean of the records of a cell is not covered.

    The theorem has a maximum over all n from ceil(k / gamma - 1) on, of the probability that more than gamma n of n
    records are kept, where gamma = 1 - (1 - beta) exp(-epsilon). As long as the least such count is the same number j,
    the probability grows with n, so the largest n of each j is enough: n = ceil(j / gamma) - 1. The scan over j = k,
    k + 1, .. ends where Chernoff's bound says that nothing larger can come. All of it is done with 60 digits and
    logarithms, and the result is rounded up: it is never 0.

    Parameters
    ----------
    k : int
        The least count that is published.
    beta : float
        The sampling rate, above 0 and below 1.
    epsilon : float
        At least -log(1 - beta).

    Examples
    --------
    >>> import shoal
    >>> f"{shoal.dp.sampling_delta(20, 0.05, 0.5):.1e}"
    '2.5e-14'
    """
    caller = "shoal.dp.sampling_delta"
    k = count_of(k, "k", caller)
    rate, budget = Decimal(_share(beta, "beta", caller)), Decimal(_positive(epsilon, "epsilon", caller))
    with localcontext() as context:
        context.prec = DIGITS
        if budget < -(1 - rate).ln():
            least = -math.log1p(-float(rate))
            raise OptionError(
                f"The 'epsilon' of {caller} must be at least -log(1 - beta) = {least:.6g}. Got {epsilon!r}.",
                "sample fewer records (a smaller beta), or allow more (a larger epsilon)",
            )
        gamma = 1 - (1 - rate) * (-budget).exp()
        highest, count = _log_tail(_records(k, gamma), k, rate), k
        while True:
            count += 1
            n = _records(count, gamma)
            if _log_chernoff(n, gamma, rate) <= highest:
                return _up(highest)
            highest = max(highest, _log_tail(n, count, rate))


def _records(count: int, gamma: Decimal) -> int:
    """Return the largest n for which `count` is the least number above gamma n; `count` itself is one."""
    # With a large epsilon, gamma is below 1 by less than all digits tell.
    return max(count, int((count / gamma).to_integral_value(ROUND_CEILING)) - 1)


def _log_tail(n: int, count: int, rate: Decimal) -> Decimal:
    """Return log Pr[Bin(n, rate) >= count], for count > gamma n.

    From `count` on, each term is at most half of the one before, because gamma >= beta (2 - beta); so 200 terms are
    more than the digits can tell apart.
    """
    first = _log_factorial(n) - _log_factorial(count) - _log_factorial(n - count)
    first += count * rate.ln() + (n - count) * (1 - rate).ln()
    odds, term, total = rate / (1 - rate), Decimal(1), Decimal(1)
    for j in range(count, min(n, count + 200)):
        term *= odds * (n - j) / (j + 1)
        total += term
    return first + total.ln()


def _log_chernoff(n: int, gamma: Decimal, rate: Decimal) -> Decimal:
    """Return Chernoff's bound of log Pr[Bin(n, rate) >= gamma n]; it falls as n grows, since gamma exceeds the rate."""
    apart = gamma * (gamma / rate).ln()
    if gamma < 1:
        apart += (1 - gamma) * ((1 - gamma) / (1 - rate)).ln()
    return -n * apart


def _log_factorial(n: int) -> Decimal:
    """Return log n!, by Stirling's series above `_SHIFT`."""
    if n < _SHIFT:
        return Decimal(math.factorial(n)).ln()
    x = Decimal(n + 1)
    total = (x - Decimal("0.5")) * x.ln() - x + (2 * _PI).ln() / 2
    power = x
    for above, below in _STIRLING:
        total += Decimal(above) / (below * power)
        power *= x * x
    return total


def _up(logarithm: Decimal) -> float:
    """Return the least float that is not below exp(logarithm)."""
    # More than what the arithmetic may be wrong by, and nothing that a float could tell.
    exact = logarithm.exp() * (1 + Decimal(10) ** -25)
    near = float(exact)
    return min(1.0, near if Decimal(near) >= exact else math.nextafter(near, math.inf))


def _log(size: Any, option: str, caller: str) -> float:
    """Return the logarithm of a whole number of any size."""
    return math.log(count_of(size, option, caller))


def _positive(value: Any, option: str, caller: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise OptionError(f"The {option!r} of {caller} must be a finite number above 0. Got {value!r}.")
    return float(value)


def _share(value: Any, option: str, caller: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise OptionError(f"The {option!r} of {caller} must be above 0 and below 1. Got {value!r}.")
    return float(value)
