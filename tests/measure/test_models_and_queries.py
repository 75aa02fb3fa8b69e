"""Regressions against SciPy and normal equations, predictions, random queries and subgroups against loops."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import linregress

import shoal
from shoal.measure.models import overlaps_of


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    n = 200
    age = rng.uniform(18, 90, n)
    sex = rng.choice(["f", "m"], n, p=[0.6, 0.4])
    return pd.DataFrame({"age": age, "income": age * 20 + 200 * (sex == "m") + rng.normal(0, 100, n), "sex": sex})


@pytest.fixture
def release(people):
    groups = np.argsort(np.argsort(people["age"])) // 5
    return people.assign(**{name: people[name].groupby(groups).transform("mean") for name in ("age", "income")})


def test_one_regressor_against_scipy(people, release):
    found = shoal.measure.regression(people, release, "income", ["age"])
    assert found.terms == ("constant", "age")
    for side, table in enumerate((people, release)):
        line = linregress(table["age"], table["income"])
        np.testing.assert_allclose(found.coefficients[side], [line.intercept, line.slope])
        half = (found.intervals[side, 1, 1] - found.intervals[side, 1, 0]) / 2
        assert half == pytest.approx(1.972017 * line.stderr, rel=1e-6)  # t quantile of 198 degrees
        assert found.determination[side] == pytest.approx(line.rvalue**2)
    assert 0 < found.overlap < 1


def test_categories_and_weights_against_normal_equations(people, release):
    weights = np.random.default_rng(1).uniform(0.5, 2, len(people))
    found = shoal.measure.regression(people, release, "income", weight=weights)
    assert found.terms == ("constant", "age", "sex (2)")
    X = np.column_stack([np.ones(200), people["age"], people["sex"] == "m"]).astype(float)
    W = np.diag(weights)
    np.testing.assert_allclose(found.coefficients[0], np.linalg.solve(X.T @ W @ X, X.T @ W @ people["income"]))
    assert found.same_sign == 1


def test_overlaps_by_hand():
    ours, theirs = np.array([[0.0, 2], [0, 1], [0, 4], [1, 1]]), np.array([[1.0, 3], [2, 3], [1, 2], [1, 1]])
    np.testing.assert_allclose(overlaps_of(ours, theirs), [0.5, 0, (1 / 4 + 1) / 2, 1])


def test_terms_that_follow_from_others_are_left_out(people, release):
    twice = people.assign(months=people["age"] * 12, same=1.0)
    after = release.assign(months=release["age"] * 12, same=1.0)
    found = shoal.measure.regression(twice, after, "income", ["age", "months", "same"])
    assert found.terms == ("constant", "age")
    # Constant in the release alone.
    flat = shoal.measure.regression(people, people.assign(age=50.0), "income", ["age", "sex"])
    assert flat.terms == ("constant", "sex (2)")


def test_predictions_of_numbers_and_categories(people, release):
    first, rest = people[:120], people[120:]
    line = linregress(first["age"], first["income"])
    found = shoal.measure.prediction(first, first, rest, "income", ["age"])
    guess = line.intercept + line.slope * rest["age"]
    wanted = 1 - ((rest["income"] - guess) ** 2).sum() / ((rest["income"] - rest["income"].mean()) ** 2).sum()
    assert found.before == pytest.approx(wanted, rel=1e-6)
    assert found.after == found.before
    assert found.baseline <= 0
    assert found.records == 80
    sex = shoal.measure.prediction(first, release[:120], rest, "sex")
    assert sex.baseline == pytest.approx((rest["sex"] == first["sex"].mode()[0]).mean())
    assert sex.before > sex.baseline
    assert sex.before >= sex.after


def test_a_forest_is_drawn_by_the_seed(people):
    once, again = (
        shoal.measure.prediction(people[:80], people[:80], people[80:], "income", model="forest") for _ in "ab"
    )
    assert once == again
    assert once.before > 0.5


def test_noise_makes_predictions_worse(people):
    first, rest = people[:120], people[120:]
    noise = first.assign(age=np.random.default_rng(0).permutation(first["age"]))
    found = shoal.measure.prediction(first, noise, rest, "income")
    assert found.after < 0.3 < found.before


def test_queries_against_a_loop():
    """Of a single column of numbers: the draws are repeated by hand."""
    people, release = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6]}), pd.DataFrame({"x": [2.0, 2, 2, 5, 5, 5]})
    found = shoal.measure.range_queries(people, release, queries=50, random_state=3)
    rng = np.random.default_rng(3)
    for relative, absolute in zip(found.relative, found.absolute, strict=True):
        rng.integers(1, 2), rng.choice(1, 1, replace=False)
        low, high = sorted(rng.choice(people["x"].to_numpy(), 2))
        a, b = (sum(low <= x <= high for x in table["x"]) for table in (people, release))
        assert absolute == pytest.approx(abs(a - b) / 6)
        assert relative == pytest.approx(abs(a - b) / a)
    assert found.mean == found.relative.mean() > 0
    assert found.median <= found.high <= found.relative.max()


def test_queries_of_an_untouched_table_are_right(people):
    found = shoal.measure.range_queries(people, people, queries=30)
    assert found.relative.max() == 0


def test_queries_never_count_gaps_and_skip_empty_columns():
    people = pd.DataFrame({"x": [1.0, np.nan, 3.0], "none": [None] * 3, "c": ["a", "b", None]})
    assert shoal.measure.range_queries(people, people, queries=40).relative.max() == 0
    gone = people.assign(c=[None] * 3, x=np.nan)
    assert (shoal.measure.range_queries(people, gone, queries=40, attributes=1).absolute > 0).all()
    with pytest.raises(shoal.ShoalError, match="with values in the original"):
        shoal.measure.range_queries(people[["none"]], people[["none"]])


def test_subgroups_against_a_loop(people, release):
    people, release = (
        table.assign(town=["Ulm"] * 150 + ["Bonn"] * 45 + ["Kiel"] * 3 + [None] * 2) for table in (people, release)
    )
    found = shoal.measure.subgroups(people, release, "town", ["age", "income"])
    assert found.values == ("Ulm", "Bonn", "")
    assert found.records.tolist() == [150, 45, 5]
    steps = (
        sum((people[name] - release[name]).abs() / people[name].std() / np.sqrt(2) for name in ("age", "income")) / 2
    )
    np.testing.assert_allclose(found.losses, [steps[:150].mean(), steps[150:195].mean(), steps[195:].mean()])
    assert found.whole == pytest.approx(steps.mean())
    assert "Ulm" not in repr(found)


def test_subgroups_of_numbers_that_do_not_vary_have_no_loss():
    same = pd.DataFrame({"x": [1.0] * 20, "sex": ["f", "m"] * 10})
    found = shoal.measure.subgroups(same, same, "sex", ["x"])
    assert np.isnan(found.losses).all()
    assert "lowest nan" in repr(found)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda t: shoal.measure.regression(t, t, "sex"),
            "must be a column of numbers in both",
        ),
        (lambda t: shoal.measure.regression(t[:3], t[:3], "income"), "more complete records than terms"),
        (lambda t: shoal.measure.regression(t, t, "income", confidence=1), "'confidence'"),
        (lambda t: shoal.measure.prediction(t, t, t, "age", model="net"), "'model'"),
        (lambda t: shoal.measure.prediction(t, t, t[["age"]], "income"), r"\(test\) has no column 'income'"),
        (lambda t: shoal.measure.prediction(t, t, t, "town"), "'target'"),
        (lambda t: shoal.measure.prediction(t, t.assign(sex="f"), t, "sex"), "at least two values in both tables"),
        (lambda t: shoal.measure.prediction(t, t.assign(age=np.nan), t, "age"), "at least two values in both tables"),
        (lambda t: shoal.measure.range_queries(t, t, queries=0), "'queries'"),
        (lambda t: shoal.measure.range_queries(t, t, floor=0), "'floor'"),
        (lambda t: shoal.measure.subgroups(t, t, "town"), "no column 'town'"),
        (lambda t: shoal.measure.subgroups(t, t, "sex", least=0), "'least'"),
    ],
)
def test_bad_input_gets_one_sentence(call, words, people):
    with pytest.raises(shoal.ShoalError, match=words):
        call(people)
