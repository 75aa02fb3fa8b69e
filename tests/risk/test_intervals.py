"""Interval disclosure against loops, by hand, and against sdcMicro."""

import numpy as np
import pandas as pd
import pytest
from naive_risk import reference
from scipy.stats import rankdata

import shoal
from shoal.risk import intervals as module

TABLES = {"CASCrefmicrodata": "census", "Tarragona": "tarragona", "EIA": "eia"}


def frame(X):
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])


def released(X, labels):
    sizes = np.bincount(labels)
    return np.column_stack([np.bincount(labels, column) / sizes for column in X.T])[labels]


@pytest.fixture
def some():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 30, (60, 3)).astype(float)
    return X, released(X, rng.permutation(60) // 4)


def test_deviations_against_a_loop(some):
    X, Y = some
    found = shoal.risk.deviation_disclosure(frame(X), frame(Y), width=0.4)
    spread = np.std(Y, axis=0, ddof=1)
    inside = [[abs(X[i, j] - Y[i, j]) <= 0.4 * spread[j] for j in range(3)] for i in range(60)]
    assert 0 < found.values < 1
    assert found.values == pytest.approx(np.mean(inside))
    np.testing.assert_allclose(found.attributes, np.mean(inside, axis=0))
    assert found.records == pytest.approx(np.mean(np.all(inside, axis=1)))
    assert found.outside.tolist() == [3 - sum(line) for line in inside]
    dealt = [[[abs(x - y) <= 0.4 * spread[j] for y in Y[:, j]] for x in X[:, j]] for j in range(3)]
    assert found.baseline == pytest.approx(np.mean(dealt))


def test_ranks_against_a_loop(some):
    """With mid-ranks: a value stands in the middle of the published ones that it equals."""
    X, Y = some
    found = shoal.risk.rank_disclosure(frame(X), frame(Y), width=0.1)

    def rank(value, column):
        return (sum(y < value for y in column) + sum(y <= value for y in column)) / 2

    inside = [[abs(rank(X[i, j], Y[:, j]) - rank(Y[i, j], Y[:, j])) <= 6 for j in range(3)] for i in range(60)]
    assert 0 < found.values < 1
    assert found.values == pytest.approx(np.mean(inside))
    assert found.records == pytest.approx(np.mean(np.all(inside, axis=1)))


def test_published_values_have_the_usual_mid_ranks(some):
    Y = some[1][:, 0]
    np.testing.assert_allclose(module._mid_ranks(Y, Y)[1], rankdata(Y) - 0.5)


@pytest.mark.parametrize("measure", [shoal.risk.deviation_disclosure, shoal.risk.rank_disclosure])
def test_an_untouched_table_is_disclosed_wholly(measure, some):
    found = measure(frame(some[0]), frame(some[0]))
    assert (found.values, found.records) == (1, 1)
    assert found.baseline < 0.2


def test_missing_values_disclose_nothing():
    table = pd.DataFrame({"x": [1.0, np.nan, 3.0, 4.0], "town": list("abcd")})
    release = pd.DataFrame({"x": [1.0, 2.0, np.nan, 4.0], "town": list("abcd")})
    for measure in (shoal.risk.deviation_disclosure, shoal.risk.rank_disclosure):
        found = measure(table, release)
        assert found.outside.tolist() == [0, 1, 1, 0]
        assert found.names == ("x",)


@pytest.mark.parametrize("one", range(9))
def test_deviations_are_those_of_sdcmicro(one, benchmark_table):
    """dRisk of sdcMicro's MDAV, which makes the groups that ours makes."""
    theirs = reference("sdcmicro_numeric.json")[one]
    X = benchmark_table(TABLES[theirs["set"]])
    release = frame(released(X, shoal.partition(X, theirs["k"], "mdav")))
    for width, wanted in ((0.05, theirs["dRisk"]), (0.01, theirs["dRisk01"])):
        assert shoal.risk.deviation_disclosure(frame(X), release, width=width).records == pytest.approx(wanted)


@pytest.mark.parametrize("one", [0, 3, 6])
def test_robust_distances_are_near_those_of_sdcmicro(one, benchmark_table):
    """Where R's covariance is an error, there is a figure all the same; elsewhere R's covariance is a larger one."""
    theirs = reference("sdcmicro_numeric.json")[one]
    X = benchmark_table(TABLES[theirs["set"]])
    release = frame(released(X, shoal.partition(X, theirs["k"], "mdav")))
    found = shoal.risk.robust_disclosure(frame(X), release)
    if theirs["rmd"] == "error":
        assert found.covariance in ("ordinary", "reduced")
        assert 0 < found.records < 1
    else:
        assert found.covariance == "robust"
        assert 0 <= found.records - theirs["rmd"]["risk1"] < 0.04
        assert found.isolated == theirs["rmd"]["risk2"] == 0


@pytest.mark.parametrize("few", [0, 10**9])
def test_robust_distances_by_hand(few, monkeypatch):
    """Four corners and what is far out: only the outlier's interval reaches its published value."""
    monkeypatch.setattr(module, "FEW_PAIRS", few)
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(100, 2)), [[12.0, 12.0]]])
    Y = X + 0.004
    Y[-1] += 0.01
    found = shoal.risk.robust_disclosure(frame(X), frame(Y), width=0.05)
    A, B = module._standardized(X), module._standardized(Y)
    distances, name = module._distances(A)
    assert name == "robust"
    reach = 0.05 * 0.05 * distances
    unsafe = (np.abs(A - B) < reach[:, None]).any(axis=1)
    assert found.disclosed.tolist() == unsafe.tolist()
    assert found.disclosed[-1]
    assert found.records == unsafe.mean()
    assert found.weighted == pytest.approx(unsafe.sum() * 0.05 * distances[unsafe].sum() / 101)
    apart = [min(np.sqrt(((B[i] - B[j]) ** 2).sum()) for j in range(101) if j != i) for i in range(101)]
    assert found.isolated == pytest.approx(np.mean(unsafe & (np.array(apart) > 0.05)))


def test_distances_of_a_full_covariance_are_mahalanobis(monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 3)) @ np.array([[1, 2, 0], [0, 1, 0], [0, 0, 3.0]])
    monkeypatch.setattr("sklearn.covariance.MinCovDet.fit", lambda self, X: (_ for _ in ()).throw(ValueError))
    found, name = module._distances(X)
    step = X - X.mean(axis=0)
    np.testing.assert_allclose(found, np.sqrt((step @ np.linalg.inv(np.cov(X.T)) * step).sum(axis=1)))
    assert name == "ordinary"


def test_a_singular_covariance_does_not_stop_it():
    """The third column is the sum of the others, and the fourth is constant."""
    X = np.random.default_rng(0).normal(size=(80, 2))
    X = np.column_stack([X, X.sum(axis=1), np.ones(80)])
    found = shoal.risk.robust_disclosure(frame(X), frame(X))
    assert found.covariance == "reduced"
    assert found.records == 1
    plain = shoal.risk.robust_disclosure(frame(X[:, :2]), frame(X[:, :2]))
    assert plain.covariance == "robust"


def test_incomplete_records_are_left_out():
    X = np.random.default_rng(0).normal(size=(40, 2))
    gaps = X.copy()
    gaps[3, 0] = np.nan
    found = shoal.risk.robust_disclosure(frame(gaps), frame(X))
    assert not found.disclosed[3]
    with pytest.raises(shoal.ShoalError, match="3 records without missing values"):
        shoal.risk.robust_disclosure(frame(X[:2]), frame(X[:2]))


def test_a_large_table_is_measured_by_some_of_it(monkeypatch):
    X = np.random.default_rng(0).normal(size=(500, 2))
    whole = module._distances(X)[0]
    monkeypatch.setattr(module, "MOST_FOR_COVARIANCE", 200)
    np.testing.assert_allclose(module._distances(X)[0], whole, rtol=0.4)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: shoal.risk.deviation_disclosure(t, t, width=0), "'width' of shoal.risk.deviation_disclosure"),
        (lambda t: shoal.risk.rank_disclosure(t, t, width=2), "at most 1"),
        (lambda t: shoal.risk.robust_disclosure(t, t, width=0), "above 0"),
        (lambda t: shoal.risk.robust_disclosure(t, t, isolation="far"), "'isolation'"),
        (lambda t: shoal.risk.rank_disclosure(t, t, ["town"]), "at least one with numbers or dates"),
        (lambda t: shoal.risk.rank_disclosure(t, t[:1]), "same records in the same order"),
    ],
)
def test_bad_input_gets_one_sentence(call, words):
    with pytest.raises(shoal.ShoalError, match=words):
        call(pd.DataFrame({"x": [1.0, 2.0, 3.0], "town": list("abc")}))


def test_columns_without_values_leave_robust_distances_as_they_are():
    X = np.random.default_rng(3).normal(size=(60, 2))
    plain = shoal.risk.robust_disclosure(frame(X), frame(X + 0.01))
    gaps = [frame(table).assign(none=np.nan) for table in (X, X + 0.01)]
    more = shoal.risk.robust_disclosure(*gaps)
    assert (more.records, more.isolated) == (plain.records, plain.isolated)
    with pytest.raises(shoal.ShoalError, match=r"3 records without missing values\. Got 0"):
        shoal.risk.robust_disclosure(*(table.assign(c0=np.nan, c1=np.nan) for table in gaps))
