"""Intervals that end at multiples of a step."""

import datetime as dt
import re
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError, OptionError
from shoal.tables.outward import outward
from shoal.tables.representatives import represent
from shoal.tables.values import Numbers, grouped

INTERVAL = re.compile(r"\[(.+), (.+)\)")
STEPS = ["0.1", "0.25", "1", "5", "7", "1000"]


def ends(text):
    return INTERVAL.fullmatch(text).groups()


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.decimals(-5000, 5000, places=2).map(str), min_size=6, max_size=40),
    step=st.sampled_from(STEPS),
)
def test_intervals_of_numbers_contain_all_members_and_end_at_multiples(values, step):
    plan = {"k": 2, "method": "mdav", "representatives": {"x": "interval"}, "types": {"x": "continuous"}}
    release = shoal.anonymize(pa.table({"x": [float(v) for v in values]}), **plan, outward={"x": float(step)})
    width = Fraction(step)
    for value, text in zip(values, release.table.column("x").to_pylist(), strict=True):
        low, high = map(Fraction, ends(text))
        assert low <= Fraction(value) < high
        assert low % width == 0
        assert high % width == 0
    plain = shoal.anonymize(pa.table({"x": [float(v) for v in values]}), **plan)
    assert (plain.labels == release.labels).all()
    assert release.k >= plain.k  # groups with the same interval only become larger together
    sizes = Counter(release.table.column("x").to_pylist())
    assert min(sizes.values()) == release.k


@pytest.mark.parametrize(
    ("digits", "text"),
    [({}, "[-4.05e-02, 8.69e+01]"), ({"x": 1}, "[-4.1e-02, 8.7e+01]"), ({"x": 0}, "[-5e-02, 9e+01]")],
)
def test_ends_with_exponents_are_rounded_outward_in_their_own_places(digits, text):
    plan = {"k": 3, "method": "mdav", "release": "local-recoding", "types": {"x": "continuous"}, "digits": digits}
    table = pa.table({"x": ["8.69e+01", "-4.05e-02", "1.00e+00"]})
    assert shoal.anonymize(table, **plan).table.column("x").to_pylist() == [text] * 3


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.dates(dt.date(1890, 1, 1), dt.date(2090, 1, 1)), min_size=6, max_size=30),
    step=st.sampled_from([1, 7, 30, "month", "year"]),
    timed=st.booleans(),
)
def test_intervals_of_dates_contain_all_members_and_end_at_multiples(values, step, timed):
    if timed:
        values = [dt.datetime.combine(day, dt.time(23, 59, 59)) for day in values]
    table = pa.table({"x": pa.array(values, pa.timestamp("us") if timed else pa.date32())})
    release = shoal.anonymize(table, k=2, method="mdav", representatives={"x": "interval"}, outward={"x": step})
    for value, text in zip(values, release.table.column("x").to_pylist(), strict=True):
        low, high = map(dt.datetime.fromisoformat, ends(text))
        assert low <= (value if timed else dt.datetime.combine(value, dt.time())) < high
        for end in (low, high):
            assert end.time() == dt.time()
            if isinstance(step, int):
                assert (end.date() - dt.date(1970, 1, 1)).days % step == 0
            else:
                assert end.day == 1
                assert step == "month" or end.month == 1


def test_a_value_on_a_border_belongs_to_the_cell_above_it():
    low, high = outward(np.array([0.3, 5.0, -5.0]), np.array([0.3, 10.0, -0.1]), "continuous", 0.1)
    assert np.round(low, 9).tolist() == [0.3, 5.0, -5.0]
    assert np.round(high, 9).tolist() == [0.4, 10.1, 0.0]


def test_equal_values_are_hidden_in_their_cell_too():
    release = shoal.anonymize(
        pd.DataFrame({"age": [31, 31, 31, 52, 58, 59]}), k=3, release="local-recoding", outward={"age": 5}
    )
    assert release.table["age"].tolist() == ["[30, 35)"] * 3 + ["[50, 60)"] * 3


def test_groups_that_publish_the_same_interval_are_counted_together():
    people = pd.DataFrame({"age": [30, 31, 32, 33, 61, 62]})
    plan = {"k": 2, "release": "local-recoding", "method": "mdav"}
    assert shoal.anonymize(people, **plan).audit.classes == 3
    release = shoal.anonymize(people, **plan, outward={"age": 5})
    assert release.audit.classes == 2
    assert set(release.table["age"]) == {"[30, 35)", "[60, 65)"}


def test_the_certainty_penalty_is_that_of_the_published_intervals():
    people = pd.DataFrame({"age": [30, 31, 62, 63, 90, 99]})
    release = shoal.anonymize(people, k=2, release="local-recoding", outward={"age": 10}, method="mdav")
    assert sorted(set(release.table["age"])) == ["[30, 40)", "[60, 70)", "[90, 100)"]
    assert release.utility.by_attribute["age"] == pytest.approx(10 / 70)
    plain = shoal.anonymize(people, k=2, release="local-recoding", method="mdav")
    assert plain.utility.by_attribute["age"] == pytest.approx((1 + 1 + 9) / 3 / 69)


def test_the_certainty_penalty_with_missing_values():
    people = pd.DataFrame({"age": [None, 31.0, 33.0, 62.0, 63.0, 64.0, None, None, None]})
    release = shoal.anonymize(people, k=3, release="local-recoding", outward={"age": 10}, method="mdav")
    shares = {"[30, 40)": 1.0, "[60, 70)": 10 / 40}  # of a group with a missing value, everything is lost
    published = release.table["age"].tolist()
    expected = sum(shares.get(text, 0.0) for text in published) / 9
    assert set(published) >= {"[30, 40)", "[60, 70)"}
    assert release.utility.by_attribute["age"] == pytest.approx(expected)


def test_the_decimal_mark_of_the_column_is_kept(tmp_path):
    (tmp_path / "in.csv").write_text("x;y\n" + "".join(f"{i},5;a\n" for i in range(6)))
    plan = {"k": 3, "quasi_identifiers": ["x"], "release": "local-recoding", "method": "mdav"}
    release = shoal.anonymize_file(tmp_path / "in.csv", **plan, outward={"x": 0.25})
    assert set(release.table.column("x").to_pylist()) == {"[0,5, 2,75)", "[3,5, 5,75)"}


def test_people_of_a_population_are_matched_by_the_published_intervals():
    people = pd.DataFrame({"age": [31, 33, 52, 58]})
    population = pd.DataFrame({"age": [30, 31, 33, 34, 35, 50, 52, 58, 60]})
    release = shoal.anonymize(
        people, k=2, release="local-recoding", outward={"age": 5}, population=population, k_map=3, method="mdav"
    )
    assert sorted(set(release.table["age"])) == ["[30, 35)", "[50, 60)"]
    (matches,) = release.audit.models
    assert matches.held == 3  # 50, 52 and 58, but not 60
    plain = {"k": 2, "release": "local-recoding", "population": population, "k_map": 3, "method": "mdav"}
    assert shoal.anonymize(people, **plain).audit.classes == 1  # [31, 33] and [52, 58] match too few


def test_the_schema_and_the_certificate_say_it():
    people = pd.DataFrame({"age": [31, 33, 52, 58], "day": pd.to_datetime(["2020-01-01", "2020-02-03"] * 2)})
    release = shoal.anonymize(people, k=2, release="local-recoding", outward={"age": 5, "day": "month"}, method="mdav")
    assert [a.published for a in release.attributes] == ["interval of 5", "interval of months"]
    said = str(release.certificate)
    assert "interval of 5" in said
    assert "interval of months" in said
    assert "interval of 5" in release.report()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"outward": {"age": 5}}, "publishes its mean"),
        ({"outward": {"sex": 5}, "release": "local-recoding"}, "a nominal column"),
        ({"outward": {"age": "month"}, "release": "local-recoding"}, "a whole number above 0"),
        ({"outward": {"age": 0.5}, "release": "local-recoding"}, "a whole number above 0"),
        ({"outward": {"day": 0.5}, "release": "local-recoding"}, "a whole number of days"),
        ({"outward": {"age": 0}}, "must be numbers above 0, or one of 'month', 'year'"),
        ({"outward": {"age": "value"}}, "must be numbers above 0"),
        ({"outward": {"agee": 5}}, "did you mean 'age'"),
        ({"outward": {"ill": 5}, "sensitive_attributes": ["ill"]}, "must be about quasi-identifiers"),
        ({"outward": {"age": 5}, "release": "strongly-safe"}, "each record publishes its cell"),
    ],
)
def test_steps_that_do_not_apply_are_refused(fields, said):
    people = pd.DataFrame(
        {"age": [31, 33, 52, 58], "sex": list("fmfm"), "ill": [0, 1, 0, 1], "day": pd.to_datetime(["2020-01-01"] * 4)}
    )
    with pytest.raises(OptionError, match=said):
        shoal.anonymize(people, k=2, **fields)


def test_a_step_finer_than_the_format_of_the_column_is_refused():
    people = pd.DataFrame({"born": ["03/1980", "04/1980", "05/1990", "06/1990"]})
    plan = {"k": 2, "release": "local-recoding", "formats": {"born": "%m/%Y"}, "method": "mdav"}
    with pytest.raises(OptionError, match="must not be finer than the format"):
        shoal.anonymize(people, **plan, outward={"born": 7})
    release = shoal.anonymize(people, **plan, outward={"born": "year"})
    assert set(release.table["born"]) == {"[01/1980, 01/1981)", "[01/1990, 01/1991)"}


def test_dates_at_the_end_of_time_are_refused():
    table = pa.table({"x": pa.array([dt.date(9999, 12, 1), dt.date(9999, 12, 30)])})
    with pytest.raises(DataError, match="years from 1 to 9999"):
        shoal.anonymize(table, k=2, representatives={"x": "interval"}, outward={"x": "year"})


def test_by_default_an_interval_has_the_ends_of_its_members():
    chosen = represent(
        Numbers(np.array([1.0, 2.0, 5.0, 5.0])), grouped(np.array([0, 0, 1, 1])), "interval", kind="integer", trim=0.2
    )
    assert chosen.texts == ("[1, 2]", "5")
