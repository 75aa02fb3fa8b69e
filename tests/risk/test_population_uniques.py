"""Population uniques: likelihoods and expectations by plain sums, and samples of populations that follow the model."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln
from scipy.stats import binom, hypergeom, nbinom

import shoal
from shoal.risk import population as module


def drawn(sizes, fraction, seed):
    """A sample of a population whose classes have these sizes, and the size of the population."""
    people = np.repeat(np.arange(len(sizes)), sizes)
    sample = np.random.default_rng(seed).choice(people, int(fraction * len(people)), replace=False)
    return pd.DataFrame({"key": sample}), len(people)


def test_zayatz_is_the_rule_of_bayes():
    sizes, counts, people = np.array([1, 2, 5, 40]), np.array([30, 12, 4, 1]), 500
    n = int(sizes @ counts)
    chances = [hypergeom(people, int(s), n).pmf(1) for s in sizes]
    wanted = 30 * (30 * chances[0]) / (counts @ chances) * people / n
    assert module._zayatz(sizes, counts, people) == pytest.approx(wanted, rel=1e-9)


def test_zayatz_does_not_mind_classes_that_must_be_in_the_sample():
    assert np.isfinite(module._zayatz(np.array([1, 40]), np.array([10, 1]), 55))


@pytest.mark.parametrize(("alpha", "beta", "q"), [(0.5, 0.1, 0.2), (3.0, 0.6, 0.05), (0.05, 0.01, 0.9)])
def test_classes_of_one_and_two_are_those_of_the_model(alpha, beta, q):
    others = np.arange(20_000)
    chances = nbinom(alpha, beta).pmf(others)
    wanted = [float(chances @ binom(others + 1, q).pmf(times)) for times in (1, 2)]
    assert module.expected_classes(alpha, beta, q) == pytest.approx(wanted, rel=1e-6)


def test_snb_finds_the_uniques_of_its_own_model():
    sizes = 1 + np.random.default_rng(0).negative_binomial(0.5, 0.1, 20_000)
    sample, people = drawn(sizes, 0.4, 1)
    found = shoal.risk.population_uniques(sample, ["key"], people)
    assert found.snb == pytest.approx((sizes == 1).sum(), rel=0.05)


def chinese_restaurant(theta, alpha, n, seed):
    """The classes of n people by the Pitman model, seated one by one."""
    rng = np.random.default_rng(seed)
    tables = []
    for seated in range(n):
        weights = np.array([*(size - alpha for size in tables), theta + alpha * len(tables)]) / (theta + seated)
        at = rng.choice(len(weights), p=weights / weights.sum())
        if at == len(tables):
            tables.append(1)
        else:
            tables[at] += 1
    return np.array(tables)


def test_pitman_finds_the_uniques_of_its_own_model():
    sizes = chinese_restaurant(20.0, 0.6, 6000, 0)
    sample, people = drawn(sizes, 0.1, 1)
    found = shoal.risk.population_uniques(sample, ["key"], people)
    assert found.pitman == pytest.approx((sizes == 1).sum(), rel=0.25)


def test_pitman_estimates_have_the_greatest_likelihood():
    """By plain sums, at the points of a fine grid."""
    sizes, counts = np.array([1, 2, 3, 7]), np.array([40, 11, 5, 3])
    n, classes = int(sizes @ counts), int(counts.sum())
    people = 10_000
    theta, alpha = np.meshgrid(np.linspace(1, 60, 400), np.linspace(0.2, 0.9, 200))
    likelihood = sum(np.log(theta + i * alpha) for i in range(1, classes)) - sum(np.log(theta + i) for i in range(1, n))
    for size, count in zip(sizes, counts, strict=True):
        likelihood += count * sum(np.log(j - alpha) for j in range(1, size))
    best = np.unravel_index(likelihood.argmax(), theta.shape)
    wanted = np.exp(gammaln(theta[best] + 1) - gammaln(theta[best] + alpha[best])) * people ** alpha[best]
    assert module._pitman(sizes, counts, people) == pytest.approx(wanted, rel=0.02)


def test_a_whole_population_needs_no_estimate():
    table = pd.DataFrame({"key": [1, 1, 2, 3]})
    found = shoal.risk.population_uniques(table, ["key"], 4)
    assert (found.pitman, found.zayatz, found.snb, found.sample, found.fraction) == (2, 2, 2, 2, 1)


def test_no_sample_unique_no_population_unique():
    found = shoal.risk.population_uniques(pd.DataFrame({"key": [1, 1, 2, 2]}), ["key"], 40)
    assert (found.pitman, found.zayatz, found.snb) == (0, 0, 0)


def test_a_sample_of_uniques_only_does_not_fit_pitman():
    assert np.isnan(shoal.risk.population_uniques(pd.DataFrame({"key": [1, 2, 3]}), ["key"], 40).pitman)


def test_a_population_smaller_than_the_sample_is_refused():
    with pytest.raises(shoal.ShoalError, match="whole number of at least 3"):
        shoal.risk.population_uniques(pd.DataFrame({"key": [1, 2, 3]}), ["key"], 2)
