"""Silent failures seen in this field, one test each."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from invariants import check_release, plain_columns
from shoal.errors import ShoalError
from shoal.release.verified import Verified

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.DisclosureWarning")


def one(table, k=3, **fields):
    release = shoal.anonymize(table, **{"k": k, "method": "mdav", **fields})
    check_release(release, table)
    return release


@pytest.mark.parametrize("method", ["auto", "mdav", "md", "cbfs", "univariate", "exact", "mst"])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_labels_in_sorted_order_at_n_equal_to_2k(method, k):
    """Two clear groups whose rows come mixed: labels belong to rows, not to the sorted rows."""
    rng = np.random.default_rng(k)
    side = np.array([0, 1] * k)
    rng.shuffle(side)
    x = side * 100.0 + rng.random(2 * k)
    release = shoal.anonymize(pa.table({"x": x}), k=k, method=method, digits={"x": 6})
    check_release(release, pa.table({"x": x}))
    assert release.audit.sizes == {k: 2}
    for value, published in zip(x, release.table["x"].to_pylist(), strict=True):
        assert abs(value - published) < 1


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_real_minus_999_taken_for_missing(make):
    """Temperatures, balances, differences: -999 is a number unless it is declared not to be."""
    x = [-999, -999, -999, 1, 2, 3]
    for values in (x, [float(v) for v in x], [f"{v}" for v in x]):
        table = make({"x": values, "y": [1.5] * 6})
        release = one(table, quasi_identifiers=["x", "y"])
        assert release.missing == {"x": 0, "y": 0}
        assert [str(v).removesuffix(".0") for v in plain_columns(release.table)["x"]][:3] == ["-999"] * 3
    declared = one(make({"x": x, "y": x}), missing_values={"x": [-999]})
    assert plain_columns(declared.table)["x"][:3] == [None] * 3
    assert plain_columns(declared.table)["y"][:3] == [-999] * 3


def test_other_numbers_that_often_stand_for_missing_are_numbers():
    for odd in (-1, 9, 99, 999, -9, -99, 9999, 0):
        release = one(pa.table({"x": [odd] * 3 + [50, 51, 52]}))
        assert release.missing == {"x": 0}
        assert release.table["x"].to_pylist() == [odd] * 3 + [51] * 3


def test_a_missing_value_put_back_after_averaging_which_splits_a_group_below_k():
    """The row with the gap publishes what its group does."""
    table = pd.DataFrame({"x": [1.0, 2.0, 3.0, 10.0, 11.0, 12.0], "y": [5.0, np.nan, 7.0, 1.0, np.nan, np.nan]})
    release = one(table)
    assert release.table["y"].tolist()[:3] == [6.0] * 3
    assert release.table["y"].isna().tolist() == [False] * 3 + [True] * 3
    assert release.k == 3


def test_the_last_group_divided_by_its_size_not_by_its_non_missing_count():
    table = pa.table({"x": [0, 0, 0, 0, 90, 90, 90, 90], "y": [1.0, 3.0, None, 2.0, 10.0, 20.0, 30.0, None]})
    release = one(table, k=4)
    assert release.table["y"].to_pylist() == [2.0] * 4 + [20.0] * 4


def test_sampling_weights_read_and_ignored():
    table = pa.table({"x": [0.0, 10.0, 20.0], "w": [1.0, 1.0, 8.0]})
    assert one(table, quasi_identifiers="x", weight="w").table["x"].to_pylist() == [17.0] * 3
    assert one(table, quasi_identifiers="x", other="w").table["x"].to_pylist() == [10.0] * 3
    mode = pa.table({"c": ["a", "a", "b"], "w": [1.0, 1.0, 5.0]})
    assert one(mode, quasi_identifiers="c", weight="w").table["c"].to_pylist() == ["b"] * 3


def test_weights_of_people_do_not_make_a_crowd():
    """A record that stands for a thousand people is one record."""
    table = pa.table({"x": [0.0, 1.0, 50.0], "w": [1000.0, 1000.0, 1000.0]})
    with pytest.raises(ShoalError, match="Got 4 for 3 rows"):
        one(table, k=4, quasi_identifiers="x", weight="w")
    assert one(table, quasi_identifiers="x", weight="w").k == 3


@pytest.mark.parametrize("fields", [{}, {"shuffle": True}, {"missing": "drop"}, {"missing": "drop", "shuffle": True}])
def test_the_original_row_number_published_as_a_column(fields, tmp_path):
    table = pd.DataFrame({"x": [1.0, None, 3.0, 2.0, None, 9.0, 8.0, 7.0]})
    release = one(table, **fields)
    assert list(release.table.columns) == ["x"]
    assert release.table.index.equals(pd.RangeIndex(len(release.table)))
    release.save(tmp_path / "out.csv")
    release.save(tmp_path / "out.parquet")
    assert (tmp_path / "out.csv").read_text().split("\n")[0] == "x"
    assert pq.read_schema(tmp_path / "out.parquet").names == ["x"]


def test_k_reported_too_high_because_rows_with_missing_values_vanish_in_a_group_by():
    table = pd.DataFrame({"age": [30, 30, 30, 41, 41, np.nan], "sex": ["f", "f", "f", "m", "m", None]})
    assert table.groupby(["age", "sex"]).size().min() == 2  # what others report
    found = shoal.verify(table, ["age", "sex"], 2)
    assert found.k == 1
    assert (found.classes_below, found.rows_below) == (1, 1)
    assert sum(size * count for size, count in found.sizes.items()) == len(table)


def test_k_reported_too_high_because_row_labels_were_used_as_positions():
    """The labels are those of other rows: a filtered and sorted table."""
    rng = np.random.default_rng(0)
    whole = pd.DataFrame({"x": rng.normal(size=60).round(3), "keep": rng.random(60) < 0.6})
    table = whole[whole["keep"]].sort_values("x", ascending=False)[["x"]]
    release = one(table)
    plain = one(table.reset_index(drop=True))
    assert release.table["x"].tolist() == plain.table["x"].tolist()
    assert release.audit == plain.audit
    assert shoal.verify(release.table).k == min(Counter(release.table["x"]).values())


@pytest.mark.parametrize("kind", ["nominal", "ordinal"])
def test_categories_invented_by_averaging_codes(kind):
    """Between red (0) and blue (2) there is no green (1)."""
    values = ["red", "blue", "red", "blue"]
    fields = {"levels": {"c": ["red", "green", "blue"]}} if kind == "ordinal" else {}
    release = one(pa.table({"c": values}), k=4, **fields)
    assert set(release.table["c"].to_pylist()) <= {"red", "blue"}
    codes = pd.DataFrame({"c": pd.Categorical(values, categories=["red", "green", "blue"], ordered=kind == "ordinal")})
    assert set(one(codes, k=4).table["c"]) <= {"red", "blue"}


def test_whole_numbers_that_are_codes_are_not_averaged_if_declared():
    release = one(pa.table({"code": [10, 30, 10, 30]}), k=4, types={"code": "nominal"})
    assert set(release.table["code"].to_pylist()) <= {10, 30}


@pytest.mark.parametrize(
    "fields",
    [{"k": 7}, {"missing": "drop", "k": 5}, {"stratum": "s", "k": 4}, {"unit": "s", "k": 3}],
)
def test_an_infeasible_request_answered_with_an_empty_table(fields):
    table = pa.table({"x": [1.0, 2.0, None, 4.0, 5.0, None], "s": ["a", "a", "a", "b", "b", "b"]})
    with pytest.raises(ShoalError):
        shoal.anonymize(table, method="mdav", quasi_identifiers=["x"], **fields)


def test_a_second_fit_reusing_the_first_ones_state():
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=(40, 2)), rng.normal(loc=50, scale=9, size=(30, 2))
    again = shoal.Microaggregator(k=3, method="mdav")
    again.fit(first)
    fresh = shoal.Microaggregator(k=3, method="mdav")
    np.testing.assert_array_equal(again.fit_transform(second), fresh.fit_transform(second))
    tables = [pa.table({"x": data[:, 0], "y": data[:, 1]}) for data in (first, second)]
    plan = shoal.Plan.of(k=3, method="mdav")
    alone = shoal.anonymize(tables[1], plan=plan)
    shoal.anonymize(tables[0], plan=plan)
    assert shoal.anonymize(tables[1], plan=plan).table.equals(alone.table)


# --- and how each would look, so that the tests above can fail ---


def test_the_checks_see_a_missing_value_that_was_put_back():
    table = pa.table({"x": [1.0, 1.0, 1.0], "y": [5.0, None, 5.0]})
    release = one(table)
    with pytest.raises(AssertionError):
        check_release(replace(release, verified=Verified(table, release.audit)), table)


def test_the_checks_see_a_k_that_is_too_high():
    table = pa.table({"x": [1.0, 1.0, 1.0, 9.0, 9.0, 9.0]})
    release = one(table)
    with pytest.raises(AssertionError):
        check_release(replace(release, verified=Verified(table, replace(release.audit, k=4))), table)
    mixed = table.take(pa.array([0, 1, 3, 2, 4, 5]))
    with pytest.raises(AssertionError):
        check_release(replace(release, verified=Verified(mixed, release.audit)), table)
