"""The theorems of chapter 10 against its printed tables, and theorem 10.24 against its definition in fractions."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.dp import calculators
from shoal.dp.calculators import (
    release_intervals_size,
    sampling_delta,
    small_db_dimension,
    small_db_error,
    small_db_queries,
    small_db_size,
    small_db_size_by_dimension,
)
from shoal.errors import OptionError

# As in all tables of the chapter.
GIVEN = {"epsilon": 0.1, "beta": 0.01}
UNIVERSE = 20**5
SIZES = (10**3, 10**6, 10**7, 10**8, 10**9)
# Thaeter (2021), table 10.1 (p. 127) and table 10.2 (p. 128), by alpha and size. From 10^18 on, 10.1 prints the order
# of magnitude alone.
TABLE_10_1 = {0.01: (0, 0, 0, 0, 1), 0.1: (0, 1, 60, 10**18, 10**181)}
TABLE_10_2 = {0.01: (0, 0, 0, 0, 6), 0.1: (0, 6, 66, 667, 6675)}
# Table 10.4: powers of ten by alpha and sigma, rounded down.
TABLE_10_4 = {0.01: {5: 11, 10: 11, 50: 12, 100: 12}, 0.1: {5: 8, 10: 8, 50: 9, 100: 9}}
# Table 10.5, k = 20. Its values, and the pairs (beta, epsilon) that they belong to: it prints the three values of each
# beta as those of one epsilon.
TABLE_10_5 = {
    (0.05, 0.25): "7e-10",
    (0.1, 0.25): "4e-06",
    (0.2, 0.25): "2e-03",
    (0.05, 0.5): "3e-14",
    (0.1, 0.5): "2e-09",
    (0.2, 0.5): "8e-06",
    (0.05, 1.0): "2e-19",
    (0.1, 1.0): "4e-14",
    (0.2, 1.0): "6e-09",
}


@pytest.mark.parametrize(
    ("alpha", "records", "printed"),
    [(alpha, records, value) for alpha, row in TABLE_10_1.items() for records, value in zip(SIZES, row, strict=True)],
)
def test_table_10_1(alpha, records, printed):
    found = small_db_queries(alpha=alpha, records=records, universe=UNIVERSE, **GIVEN)
    if printed >= 10**18:
        assert printed <= found < 10 * printed
    else:
        assert found == printed
    if found:
        fewer, more = found - found // 1000, found + 1 + found // 1000
        assert small_db_size(alpha=alpha, universe=UNIVERSE, queries=fewer, **GIVEN) <= records
        assert small_db_size(alpha=alpha, universe=UNIVERSE, queries=more, **GIVEN) > records


@pytest.mark.parametrize(
    ("alpha", "records", "printed"),
    [(alpha, records, value) for alpha, row in TABLE_10_2.items() for records, value in zip(SIZES, row, strict=True)],
)
def test_table_10_2(alpha, records, printed):
    assert small_db_dimension(alpha=alpha, records=records, universe=UNIVERSE, **GIVEN) == printed
    for dimension in (printed, printed + 1):
        if dimension:
            need = small_db_size_by_dimension(alpha=alpha, universe=UNIVERSE, dimension=dimension, **GIVEN)
            assert (need <= records) == (dimension == printed)


@pytest.mark.parametrize(
    ("alpha", "sigma", "power"),
    [(alpha, sigma, power) for alpha, row in TABLE_10_4.items() for sigma, power in row.items()],
)
def test_table_10_4(alpha, sigma, power):
    assert 10**power <= release_intervals_size(alpha=alpha, sigma=sigma, **GIVEN) < 10 ** (power + 1)


@pytest.mark.parametrize(("beta", "epsilon", "printed"), [(*pair, value) for pair, value in TABLE_10_5.items()])
def test_table_10_5_in_its_right_order(beta, epsilon, printed):
    """The printed value is the theorem's, rounded to one digit; 2.48e-14 is printed as 3e-14, rounded up."""
    found = sampling_delta(20, beta, epsilon)
    assert printed in {f"{found:.0e}", f"{math.ceil(found / 10 ** math.floor(math.log10(found)))}{printed[1:]}"}


def test_size_and_error_of_small_db_agree():
    """With n of the second part, the first part gives at most alpha for a run with alpha / 2."""
    sizes = {"epsilon": 0.5, "universe": 1000, "queries": 50, "beta": 0.05}
    n = small_db_size(alpha=0.2, **sizes)
    assert small_db_error(alpha=0.1, records=n, **sizes) <= 0.2 < small_db_error(alpha=0.1, records=n // 2, **sizes)


def plainly(k, kept, gamma, last):
    """Return the maximum of theorem 10.24 for beta = kept / 64 and n up to `last`, by its definition: a fraction."""
    highest = Fraction(0)
    for n in range(math.ceil(k / gamma - 1), last + 1):
        above = range(math.floor(gamma * n) + 1, n + 1)
        highest = max(highest, Fraction(sum(comb(n, j) * kept**j * (64 - kept) ** (n - j) for j in above), 64**n))
    return highest


def gamma_of(beta, epsilon):
    with localcontext() as context:
        context.prec = 60
        return Fraction(1 - (1 - Decimal(beta)) * (-Decimal(epsilon)).exp())


@settings(max_examples=20, deadline=None)
@given(k=st.integers(1, 8), kept=st.integers(3, 60), more=st.floats(1e-9, 2))
def test_sampling_delta_is_that_of_the_definition(k, kept, more):
    epsilon = -math.log1p(-kept / 64) + more
    gamma = gamma_of(kept / 64, epsilon)
    exact = plainly(k, kept, gamma, 3 * math.ceil(k / gamma))
    found = Fraction(sampling_delta(k, kept / 64, epsilon))
    assert exact <= found <= exact * (1 + Fraction(1, 10**15))


@pytest.mark.parametrize(("k", "kept", "epsilon"), [(3, 32, 0.7), (10, 42, 1.4), (20, 32, 1.1), (20, 42, 2.0)])
def test_the_smallest_n_is_not_always_the_worst(k, kept, epsilon):
    """One that looked at the first n alone would claim half of the delta, or less."""
    gamma = gamma_of(kept / 64, epsilon)
    first = plainly(k, kept, gamma, math.ceil(k / gamma - 1))
    assert sampling_delta(k, kept / 64, epsilon) > 1.4 * first


def test_sampling_delta_of_rare_samples_and_large_groups():
    """Far below the least float it is still above 0, and logarithms of factorials keep their digits."""
    assert sampling_delta(1000, 1e-6, 1.0) == math.nextafter(0, 1)
    assert 0 < sampling_delta(20, 1e-6, 2e-6) < 1
    with localcontext() as context:
        context.prec = calculators.DIGITS
        for n in (0, 1, 399, 400, 401, 5000):
            exact = Decimal(math.factorial(n)).ln()
            assert abs(calculators._log_factorial(n) - exact) < Decimal(10) ** -35


def test_delta_falls_with_k_and_epsilon_and_grows_with_beta():
    values = [sampling_delta(k, 0.1, 0.5) for k in (5, 10, 20, 40, 2000)]
    assert values == sorted(values, reverse=True)
    assert sampling_delta(10, 0.1, 1.0) < sampling_delta(10, 0.1, 0.5) < sampling_delta(10, 0.2, 0.5)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((20, 0.5, 0.5), r"at least -log\(1 - beta\) = 0.693147"),
        ((20, 0.0, 0.5), "above 0 and below 1"),
        ((20, 1.0, 0.5), "above 0 and below 1"),
        ((20, 0.1, math.inf), "finite number above 0"),
        ((20, 0.1, math.nan), "finite number above 0"),
        ((0, 0.1, 1.0), "whole number"),
    ],
)
def test_what_cannot_be_computed(arguments, words):
    with pytest.raises(OptionError, match=words):
        sampling_delta(*arguments)


@pytest.mark.parametrize("epsilon", [100, 1000, 1e6])
def test_delta_of_a_large_epsilon_is_that_all_of_k_records_are_kept(epsilon):
    """Then a count of k tells that somebody was there only if all k records of a cell were sampled."""
    assert sampling_delta(5, 0.25, epsilon) == pytest.approx(0.25**5, rel=1e-12)
