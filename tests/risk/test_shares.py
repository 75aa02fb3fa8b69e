"""Confidence intervals against SciPy, and how often they cover what they should."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, norm

import shoal
from shoal.risk import members
from shoal.risk.pairs import Pair
from shoal.risk.shares import difference, mean_interval, wilson


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (3, 10), (10, 10), (1, 1), (57, 1000)])
def test_shares_of_trials_are_those_of_scipy(hits, trials):
    wanted = binomtest(hits, trials).proportion_ci(method="wilson")
    np.testing.assert_allclose(wilson(hits, trials), (wanted.low, wanted.high), atol=1e-12)


def test_differences_by_hand():
    """Newcombe (1998), Statistics in Medicine 17, table II: 56/70 and 48/80 give 0.0524 to 0.3339 by method 10."""
    np.testing.assert_allclose(difference((56, 70), (48, 80)), (0.0524, 0.3339), atol=5e-5)
    np.testing.assert_allclose(difference((9, 10), (3, 10)), (0.1705, 0.8090), atol=5e-5)


def covered(make, truth, trials=400):
    """Return in how many of a hundred trials the interval contains the truth."""
    found = (make(np.random.default_rng(seed)) for seed in range(trials))
    return 100 * sum(low <= truth <= high for low, high in found) / trials


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_means_of_clusters_are_covered(share):
    """Records of a group succeed together: taken for independent, they would be covered in 70 of 100 trials."""

    def make(rng):
        clusters = np.arange(300) // 5
        chances = rng.beta(2 * share, 2 * (1 - share), 60)
        return mean_interval((rng.random(300) < chances[clusters]).astype(float), clusters)

    assert covered(make, share) >= 93


def test_gains_are_covered():
    def make(rng):
        first, second = rng.random(400) < 0.5, rng.random(400) < 0.4
        return mean_interval(first.astype(float) - second, np.arange(400) // 4, lowest=-1.0)

    assert covered(make, 0.1) >= 93
    assert covered(lambda rng: mean_interval(np.zeros(50), np.arange(50), lowest=-1.0), 0.0) == 100


def test_samples_of_records_are_covered():
    """What a sample of records says of the whole table."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    people = pd.DataFrame(X, columns=list("abcd")).assign(s=rng.choice(list("abc"), 500))
    labels = shoal.partition(X, 4, "mdav")
    release = people.assign(**{c: people.groupby(labels)[c].transform("mean") for c in "abcd"})
    pair, known = (Pair.of(people, release, names, "x") for names in (None, list("abcd")))
    whole = shoal.risk.inference(pair, None, list("abcd"), "s")[0].guessed
    joined = shoal.risk.linkability(known, None).correct
    hits = [0, 0]
    for seed in range(100):
        draw = {"sample": 100, "random_state": seed, "n_jobs": 1}
        low, high = shoal.risk.inference(pair, None, list("abcd"), "s", **draw)[0].interval
        hits[0] += low <= whole <= high
        low, high = shoal.risk.linkability(known, None, **draw).interval
        hits[1] += low <= joined <= high
    assert min(hits) >= 93


@pytest.mark.long
def test_shares_of_predicates_are_covered():
    rng = np.random.default_rng(0)
    people = pd.DataFrame(rng.normal(size=(300, 2)), columns=list("ab"))
    pair = Pair.of(people, people.round(0), None, "x")
    truth = shoal.risk.singling_out(pair, None, attacks=20_000).multivariate.share
    found = [shoal.risk.singling_out(pair, None, attacks=50, random_state=1 + s).multivariate for s in range(100)]
    assert sum(one.interval[0] <= truth <= one.interval[1] for one in found) >= 93


def test_advantages_are_covered(monkeypatch):
    """Distances of members and others follow two bell curves: of the limits that were set, the advantage is known."""
    limits, limit = [], members._limit
    monkeypatch.setattr(members, "_limit", lambda *sides: limits.append(limit(*sides)) or limits[-1])
    hits = areas = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        limits.clear()
        found = members.told(rng.normal(0, 1, 200), rng.normal(1, 1, 200), rng)
        truth = np.mean([norm.cdf(at) - norm.cdf(at - 1) for at in limits])
        hits += found.interval[0] <= truth <= found.interval[1]
        areas += found.area_interval[0] <= norm.cdf(1 / np.sqrt(2)) <= found.area_interval[1]
    assert min(hits, areas) / 3 >= 93
