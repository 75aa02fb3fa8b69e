"""Counts of keys, individual risk and the three intruders, against plain loops, closed forms and sdcMicro."""

from math import log

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from naive_risk import counts, random_rows, reference
from scipy.integrate import quad

import shoal
from shoal.risk.individual import _mean_inverse
from shoal.risk.keys import Keys, combined

PEOPLE = {"age": [30, 30, 40, 30], "town": ["Ulm", "Ulm", "Ulm", None], "weight": [10.0, 20.0, 5.0, 2.0]}


def frame(rows):
    columns = {f"k{j}": list(column) for j, column in enumerate(zip(*rows, strict=True))}
    return pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_counts_of_any_data_frame(kind):
    found = shoal.risk.key_counts(kind(PEOPLE), ["age", "town"], "weight")
    assert found.sample.tolist() == [2, 2, 1, 1]
    assert found.population.tolist() == [30, 30, 5, 2]
    assert shoal.risk.key_counts(kind(PEOPLE), "age").population is None


def test_a_missing_value_may_match_every_value():
    found = shoal.risk.key_counts(pa.table(PEOPLE), ["age", "town"], "weight", missing="any")
    assert found.sample.tolist() == [3, 3, 1, 3]
    assert found.population.tolist() == [32, 32, 5, 32]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("missing", ["value", "any"])
def test_counts_are_those_of_plain_loops(seed, missing):
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, 60, [2, 3, 4], gaps=0.15)
    weights = rng.integers(1, 50, 60).astype(float)
    table = frame(rows).append_column("w", pa.array(weights))
    found = shoal.risk.key_counts(table, ["k0", "k1", "k2"], "w", missing=missing)
    f, total = counts(rows, weights, missing)
    assert found.sample.tolist() == f
    np.testing.assert_allclose(found.population, total, rtol=1e-12)


def test_counts_are_those_of_sdcmicro():
    theirs, table = reference("sdcmicro_risk.json.gz"), reference("testdata.csv.gz")
    found = shoal.risk.key_counts(table, theirs["keys"], theirs["weight"])
    assert found.sample.tolist() == theirs["fk"]
    assert found.population.tolist() == theirs["Fk"]


def test_nan_is_missing_and_zero_has_no_sign():
    table = pa.table({"x": pa.array([0.0, -0.0, float("nan"), None])})
    assert shoal.risk.key_counts(table, ["x"]).sample.tolist() == [2, 2, 2, 2]


def test_more_values_than_a_number_can_hold_are_combined_all_the_same():
    n = 3000
    codes = [np.arange(n) % size for size in (2999, 2998, 2997, 2996, 2995, 2994)]
    wide = [code * 10**4 for code in codes]
    classes, count = combined(wide, [3 * 10**7] * 6)
    assert count == n
    assert sorted(classes) == list(range(n))


def test_categories_are_compared_by_value():
    table = pd.DataFrame({"x": pd.Categorical(["a", "b", "a"], categories=["b", "a", "never"])})
    assert shoal.risk.key_counts(table, ["x"]).sample.tolist() == [2, 1, 2]


def test_order_of_rows_and_names_of_columns_do_not_matter():
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"a": rng.integers(0, 5, 200), "b": rng.integers(0, 5, 200), "w": rng.uniform(1, 9, 200)})
    order = rng.permutation(200)
    ours = shoal.risk.individual_risk(table, ["a", "b"], "w").record
    other = table.iloc[order].rename(columns={"a": "x"})
    np.testing.assert_allclose(shoal.risk.individual_risk(other, ["b", "x"], "w").record, ours[order], rtol=1e-12)


# --- individual risk ---


def plain_risk(f, p):
    """The mean of 1 / (f + X), X negative binomial, as an integral."""
    return p**f * quad(lambda t: t ** (f - 1) * (1 - (1 - p) * t) ** -f, 0, 1, limit=400)[0]


@pytest.mark.parametrize("f", [1, 2, 3, 7, 25, 40, 41])
@pytest.mark.parametrize("p", [0.05, 0.3, 0.9, 0.999])
def test_individual_risk_is_the_mean_of_the_inverse_count(f, p):
    table = pd.DataFrame({"key": [1] * f, "w": [1 / p] * f})
    found = shoal.risk.individual_risk(table, ["key"], "w").record
    np.testing.assert_allclose(found, plain_risk(f, p), rtol=1e-8)


@pytest.mark.parametrize("p", [0.01, 0.5])
def test_individual_risk_of_one_and_two_records_has_closed_forms(p):
    q = 1 - p
    table = pd.DataFrame({"key": [1, 2, 2], "w": [1 / p] * 3})
    found = shoal.risk.individual_risk(table, ["key"], "w").record
    assert found[0] == pytest.approx(p / q * -log(p), rel=1e-12)
    assert found[1] == pytest.approx(p / q - (p / q) ** 2 * -log(p), rel=1e-10)


@pytest.mark.parametrize("f", [1, 2, 5, 1000])
def test_individual_risk_of_a_whole_population_is_one_in_its_bearers(f):
    table = pd.DataFrame({"key": [1] * f, "one": [1.0] * f, "less": [0.5] * f})
    assert (shoal.risk.individual_risk(table, ["key"], "one").record == 1 / f).all()
    assert (shoal.risk.individual_risk(table, ["key"], "less").record == 1 / f).all()


def test_the_series_goes_on_where_the_function_ends():
    f, q = np.repeat([41.0, 60.0, 5000.0, 1e6], 3), np.tile([0.0, 0.5, 0.9999], 4)
    found = _mean_inverse(f, q)
    few = [
        sum(np.prod([k * x / (c + k) for k in range(1, t)]) for t in range(1, 200)) for c, x in zip(f, q, strict=True)
    ]
    np.testing.assert_allclose(found, few, rtol=1e-13)


def test_individual_and_household_risk_are_those_of_sdcmicro():
    """sdcMicro approximates the mean if f > 2, which is up to 0.5 % too high for these weights."""
    theirs, table = reference("sdcmicro_risk.json.gz"), reference("testdata.csv.gz")
    wanted = np.array(theirs["indivRisk"])
    household = np.array([one["hier_risk"] for one in theirs["individual"]])
    same = shoal.risk.individual_risk(table, theirs["keys"], theirs["weight"], "ori_hid", formula="approximate")
    np.testing.assert_allclose(same.record, wanted, rtol=1e-9)
    np.testing.assert_allclose(same.household, household, rtol=1e-9)
    assert same.reidentifications == pytest.approx(theirs["global"]["risk_ER"], rel=1e-9)
    assert same.household_reidentifications == pytest.approx(theirs["global"]["hier_risk_ER"], rel=1e-9)
    exact = shoal.risk.individual_risk(table, theirs["keys"], theirs["weight"], "ori_hid").record
    few = np.array(theirs["fk"]) <= 2
    np.testing.assert_allclose(exact[few], wanted[few], rtol=1e-9)
    assert (exact[~few] < wanted[~few]).all()
    np.testing.assert_allclose(exact, wanted, rtol=0.005)


def test_the_approximation_is_at_most_four_percent_too_high():
    """Most for three records and weights of about 3, as the documentation says."""
    ratios = []
    for f in (3, 4, 20):
        for p in (0.01, 0.1, 0.317, 0.6, 0.95):
            table = pd.DataFrame({"key": [1] * f, "w": [1 / p] * f})
            exact, rough = (
                shoal.risk.individual_risk(table, ["key"], "w", formula=formula).record[0]
                for formula in ("exact", "approximate")
            )
            ratios.append(rough / exact - 1)
    assert min(ratios) > 0
    assert max(ratios) == pytest.approx(0.0403, abs=1e-4)


def test_a_household_is_at_risk_with_any_of_its_members():
    table = pd.DataFrame({"key": [1, 2, 2, 3], "w": [4.0, 3, 3, 1], "home": ["x", "x", "y", "z"]})
    found = shoal.risk.individual_risk(table, ["key"], "w", "home")
    a, b = found.record[:2]
    np.testing.assert_allclose(found.household, [1 - (1 - a) * (1 - b)] * 2 + [b, 1.0])
    assert shoal.risk.individual_risk(table, ["key"], "w").household is None
    assert shoal.risk.individual_risk(table, ["key"], "w").household_reidentifications is None


# --- intruders ---


def test_three_intruders_by_hand():
    table = pd.DataFrame({"age": [30, 30, 40, 40, 40, 50]})
    everybody = pd.DataFrame({"age": [30.0] * 4 + [40.0] * 30 + [50.0] * 2 + [60.0] * 9})
    alone = shoal.risk.reidentification(table, ["age"], threshold=0.4)
    assert alone.prosecutor == (1.0, pytest.approx(0.5), pytest.approx(0.5))
    assert (alone.journalist, alone.marketer, alone.expected) == (None, pytest.approx(0.5), pytest.approx(3))
    assert (alone.uniques, alone.smallest) == (1, 1)
    known = shoal.risk.reidentification(table, ["age"], population=everybody, threshold=0.25)
    assert known.prosecutor.highest == 1
    assert known.journalist == (0.5, pytest.approx((2 / 4 + 3 / 30 + 1 / 2) / 6), pytest.approx(1 / 6))
    assert known.expected == pytest.approx(1.1)


def test_weights_give_the_journalist_the_population():
    table = pd.DataFrame({"age": [30, 30, 40], "w": [3.0, 5.0, 0.5]})
    found = shoal.risk.reidentification(table, ["age"], "w")
    assert found.journalist.highest == 1  # 0.5 people cannot bear a key that somebody bears
    assert found.marketer == pytest.approx((2 / 8 + 1) / 3)


def test_keys_are_read_once_and_weights_may_be_arrays():
    table = pd.DataFrame({"age": [30, 30, 40], "w": [10.0, 20, 5], "home": ["x", "y", "x"]})
    keys = Keys.of(table, ["age"], "x")
    weights, homes = table["w"].to_numpy(), table["home"].tolist()
    assert shoal.risk.key_counts(keys, None, weights).population.tolist() == [30, 30, 5]
    whole = shoal.risk.individual_risk(table, ["age"], "w", "home")
    parts = shoal.risk.individual_risk(keys, None, weights, homes)
    assert parts.household.tolist() == whole.household.tolist()
    assert shoal.risk.reidentification(keys, None, weights) == shoal.risk.reidentification(table, ["age"], "w")
    with pytest.raises(shoal.ShoalError, match="for each of the 3 records"):
        shoal.risk.key_counts(keys, None, [1.0, 2.0])
    with pytest.raises(shoal.ShoalError, match="must name a column, or hold values of one type"):
        shoal.risk.key_counts(keys, None, [1.0, "x", {}])


# --- bad input ---


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: shoal.risk.key_counts(t, ["agee"]), "no column 'agee'. Hint: did you mean 'age'"),
        (lambda t: shoal.risk.key_counts(t, []), "at least one column"),
        (lambda t: shoal.risk.key_counts(t, ["age", "age"]), "must be different columns"),
        (lambda t: shoal.risk.key_counts(t, ["age"], missing="all"), "must be 'value' or 'any'"),
        (lambda t: shoal.risk.key_counts(t, ["age"], "town"), "'weight' of shoal.risk.key_counts must hold numbers"),
        (lambda t: shoal.risk.key_counts(t, ["age"], "zero"), "above 0. Got 3 that are missing, infinite, 0 or less"),
        (lambda t: shoal.risk.key_counts(t[:0], ["age"]), "must have rows"),
        (lambda t: shoal.risk.key_counts([1, 2], ["age"]), "must be a data frame"),
        (lambda t: shoal.risk.key_counts(t, ["list"]), "must hold single values"),
        (lambda t: shoal.risk.individual_risk(t, ["age"], "w", "home"), "known for all records. Got 1 without one"),
        (lambda t: shoal.risk.individual_risk(t, ["age"], "w", formula="fast"), "must be 'exact' or 'approximate'"),
        (lambda t: shoal.risk.reidentification(t, ["age"], "w", population=t), "by weights or by a table. Got both"),
        (lambda t: shoal.risk.reidentification(t, ["age"], population=t[:2]), "in 1 of 2 classes"),
        (lambda t: shoal.risk.reidentification(t, ["age"], population=t[["w"]]), "has no column 'age'"),
        (lambda t: shoal.risk.reidentification(t, ["age"], threshold=0), "above 0 and at most 1"),
        (lambda t: shoal.risk.reidentification(Keys.of(t, "age", "x"), "age", population=t), "must be a data frame if"),
        (
            lambda t: shoal.risk.reidentification(t, ["age"], population=t.assign(age="x")),
            "must hold values of one kind in both tables",
        ),
    ],
)
def test_bad_input_gets_one_sentence(call, words):
    table = pd.DataFrame(
        {
            "age": [30, 30, 40],
            "town": ["Ulm", "Bonn", "Bonn"],
            "zero": [0.0, np.nan, -1],
            "w": [1.0, 2, 3],
            "home": ["x", None, "y"],
            "list": [[1], [2], [3]],
        }
    )
    with pytest.raises(shoal.ShoalError, match=words):
        call(table)


def test_one_record_and_empty_columns_are_no_problem():
    table = pa.table({"x": pa.array([1]), "none": pa.nulls(1), "w": [7.0]})
    assert shoal.risk.key_counts(table, ["x", "none"], "w").population.tolist() == [7.0]
    assert shoal.risk.suda(table, ["x", "none"]).scores.tolist() == [1.0]


def test_too_many_patterns_of_missing_values_are_refused(monkeypatch):
    monkeypatch.setattr("shoal.risk.keys.MOST_PATTERNS", 1)
    with pytest.raises(shoal.ShoalError, match="at most 1 patterns"):
        shoal.risk.key_counts(pa.table(PEOPLE), ["age", "town"], missing="any")


def test_representations_quote_no_values():
    table = pd.DataFrame({"town": ["Secretville", "Secretville", "Ulm"], "w": [12345.0, 1, 1]})
    for made in (
        Keys.of(table, ["town"], "x"),
        shoal.risk.key_counts(table, ["town"], "w"),
        shoal.risk.individual_risk(table, ["town"], "w"),
        shoal.risk.suda(table, ["town"]),
    ):
        assert "Secret" not in repr(made)
        assert "12345" not in repr(made)
        assert "3 records" in repr(made)
