"""Top coding, bottom coding and rounding: what changes, what it costs, and what is refused."""

import datetime
from decimal import ROUND_FLOOR, Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from invariants import plain_columns
from shoal.errors import OptionError
from shoal.plan import Plan
from shoal.release.run import release_of
from shoal.tables.coding import rounded

pytestmark = pytest.mark.filterwarnings("error", "ignore::shoal.errors.DisclosureWarning")
AGES = [3, 17, 18, 40, 41, 89, 90, 91, 104, 33]


def pairs(values):
    """Return each value twice, so that k = 2 changes nothing of its own."""
    return [value for value in values for _ in range(2)]


def published(values, kind=None, text=False, **fields):
    """Return what is published of values, each of which is there twice, with groups of equal records."""
    table = pa.table({"q": pa.array(pairs(values), kind)})
    plan = Plan.of(k=2, quasi_identifiers=["q"], method="mdav", **{"release": "global-recoding", **fields})
    return plain_columns(release_of(table, plan, text=text).table)["q"][::2]


# --- values ---


@given(st.integers(-(10**6), 10**6), st.integers(0, 4), st.sampled_from(["1", "5", "100", "0.1", "0.25", "2.5", "0.3"]))
def test_rounding_goes_by_decimal_digits(whole, places, step):
    value = Decimal(whole).scaleb(-places)
    wanted = (value / Decimal(step) + Decimal("0.5")).to_integral_value(ROUND_FLOOR) * Decimal(step)
    found = rounded(np.array([float(value), np.nan]), float(step))
    assert found[0] == float(wanted)
    assert np.isnan(found[1])


def test_large_multiples_are_published_as_they_are():
    """Whatever the number of decimal places that the column seems to have."""
    frame = pd.DataFrame({"q": [1.5] * 3, "pay": [-29411921.895566273, 205612265.24920183, -126829164.00144038]})
    release = shoal.anonymize(frame, 3, quasi_identifiers=["q"], other=["pay"], method="mdav", rounding={"pay": 5})
    assert release.table["pay"].tolist() == [-29411920.0, 205612265.0, -126829165.0]


def test_a_zero_that_is_rounded_has_no_sign():
    """It would tell those who had it from those whose value was rounded to it."""
    frame = pd.DataFrame({"q": [1.5, 1.5, 1.5], "pay": [-0.0, -2.0, 0.0]})
    release = shoal.anonymize(frame, 3, quasi_identifiers=["q"], other=["pay"], method="mdav", rounding={"pay": 5})
    assert np.signbit(release.table["pay"]).tolist() == [False] * 3
    assert release.table["pay"].tolist() == [0.0] * 3


@pytest.mark.parametrize(
    ("values", "fields", "wanted"),
    [
        (AGES, {"top_coding": {"q": 90}}, ["3", "17", "18", "40", "41", "89", "90", "90", "90", "33"]),
        (AGES, {"bottom_coding": {"q": 18}}, ["18", "18", "18", "40", "41", "89", "90", "91", "104", "33"]),
        (AGES, {"rounding": {"q": 10}}, ["0", "20", "20", "40", "40", "90", "90", "90", "100", "30"]),
        (
            AGES,
            {"rounding": {"q": 10}, "top_coding": {"q": 95}, "bottom_coding": {"q": 15}},
            ["15", "20", "20", "40", "40", "90", "90", "90", "95", "30"],
        ),
        ([1.5, None, 2.25, 9.0], {"top_coding": {"q": 2.0}}, ["1.50", None, "2.00", "2.00"]),
    ],
)
def test_values_are_changed_before_they_are_grouped(values, fields, wanted):
    assert published(values, **fields) == wanted


def test_dates_and_times():
    days = [datetime.date(1950, 1, 1), datetime.date(1990, 12, 31), datetime.date(2001, 5, 6)]
    fields = {"top_coding": {"q": "1990-12-31"}, "bottom_coding": {"q": "1960-01-01"}}
    assert published(days, **fields) == ["1960-01-01", "1990-12-31", "1990-12-31"]
    moments = [datetime.datetime(1990, 1, 1, 5, 30), datetime.datetime(1999, 1, 1, 6, 0)]
    assert published(moments, top_coding={"q": "1995-01-01T12:00"}) == ["1990-01-01 05:30:00", "1995-01-01 12:00:00"]


def test_texts_are_written_as_the_column_writes_them():
    texts = ["1.234,5", "17,0", "9.000,0", "20,0"]
    table = pa.table({"q": pairs(texts)})
    plan = Plan.of(
        k=2, quasi_identifiers=["q"], method="mdav", representatives={"q": "medoid"}, top_coding={"q": 5000.25}
    )
    release = release_of(table, plan, text=True, decimal=",")
    assert plain_columns(release.table)["q"][::2] == ["1.234,5", "17,0", "5.000,25", "20,0"]


def test_no_original_above_the_top_is_published_whatever_groups_publish():
    rng = np.random.default_rng(0)
    table = pa.table({"q": rng.integers(0, 120, 60), "x": rng.normal(size=60)})
    for how in ("mean", "median", "medoid", "trimmed-mean"):
        release = shoal.anonymize(table, 3, method="mdav", top_coding={"q": 50}, representatives={"q": how})
        assert max(release.table["q"].to_pylist()) <= 50
    release = shoal.anonymize(table, 3, release="strongly-safe", top_coding={"q": 50}, cells={"q": "value", "x": 10})
    assert max(release.table["q"].to_pylist()) <= 50
    release = shoal.anonymize(table, 3, release="full-domain", top_coding={"q": 50}, suppress=0.9, importance={"x": 0})
    assert max(release.table["q"].to_pylist()) == 50


def test_other_columns_that_are_published():
    frame = pd.DataFrame({"q": [1.5, 2.5] * 3, "pay": [10, 20, 30, 40, 50, 60], "note": [1.25, 9, 8, 7, 6, 5]})
    fields = {"quasi_identifiers": ["q"], "sensitive_attributes": ["pay"], "other": ["note"], "method": "mdav"}
    release = shoal.anonymize(frame, 3, top_coding={"pay": 35}, rounding={"note": 2}, **fields)
    assert release.table["pay"].tolist() == [10, 20, 30, 35, 35, 35]
    assert release.table["note"].tolist() == [2, 10, 8, 8, 6, 6]
    assert release.table["q"].tolist() == frame["q"].tolist()
    told = {column["name"]: column["published"] for column in release.certificate["columns"]}
    assert told["pay"] == "at most 35"
    assert told["note"] == "rounded to multiples of 2"
    assert "Values of pay were changed before anything else: at most 35." in release.report()
    # Models are about what is published: after coding, each group has fewer different values.
    with pytest.raises(OptionError, match="Every demand must be possible"):
        shoal.anonymize(frame, 3, top_coding={"pay": 10}, l=2, **fields)


def test_shuffled_and_dropped_rows_keep_their_coded_values():
    table = pa.table({"q": [None, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0], "s": [99, 1, 2, 50, 60, 3, 4]})
    fields = {"quasi_identifiers": ["q"], "sensitive_attributes": ["s"], "method": "mdav", "missing": "drop"}
    release = shoal.anonymize(table, 3, top_coding={"s": 10}, shuffle=True, **fields)
    assert sorted(release.table["s"].to_pylist()) == [1, 2, 3, 4, 10, 10]
    assert set(zip(*plain_columns(release.table).values(), strict=True)) == {
        *((1.0, s) for s in (1, 2, 10)),
        *((2.0, s) for s in (10, 3, 4)),
    }


# --- what it costs ---


def test_the_loss_is_measured_against_the_originals():
    rng = np.random.default_rng(4)
    X = np.round(rng.gamma(2, 100, (60, 2)), 1)
    names = ["a", "b"]
    table = pa.table(dict(zip(names, X.T, strict=True)))
    coded = X.copy()
    coded[:, 0] = np.minimum(coded[:, 0], 300)
    release = shoal.anonymize(table, 4, method="mdav", continuous=names, top_coding={"a": 300})
    means = np.array([coded[release.labels == label].mean(axis=0) for label in release.labels])
    errors, spread = ((X - means) ** 2).sum(axis=0), ((X - X.mean(axis=0)) ** 2).sum(axis=0)
    assert release.losses.by_attribute == pytest.approx(dict(zip(names, errors / spread, strict=True)))
    assert release.loss == pytest.approx((errors / spread).mean())
    assert 0 < release.lower_bound <= release.loss
    widths = [np.ptp(X[release.labels == label], axis=0) / np.ptp(X, axis=0) for label in release.labels]
    assert release.utility.certainty_penalty == pytest.approx(np.mean(widths))


def test_a_bound_is_not_taken_from_the_changed_values():
    table = pa.table({"a": pairs([1.0, 2.0, 3.0, 4.0, 50.0, 70.0])})
    fields = {"method": "univariate", "continuous": ["a"], "top_coding": {"a": 4.0}}
    release = shoal.anonymize(table, 2, **fields)
    assert release.loss > 0.5
    assert release.lower_bound < 1e-9


def test_what_changes_nothing_costs_nothing():
    table = pa.table({"a": [1.0, 2.0, 3.0, 4.0, 5.0, 7.0], "b": [3.0, 1.0, 2.0, 9.0, 8.0, 7.0]})
    plain = shoal.anonymize(table, 2, method="mdav", continuous=["a", "b"])
    coded = shoal.anonymize(table, 2, method="mdav", continuous=["a", "b"], top_coding={"a": 7}, rounding={"b": 1})
    assert coded.table.equals(plain.table)
    assert coded.loss == plain.loss
    assert coded.attributes[0].note == "at most 7"


# --- what is refused ---


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"top_coding": {"nobody": 5}}, "'top_coding' of a plan must name columns of the table. Got 'nobody'"),
        ({"rounding": {"word": 5}}, "'rounding' of a plan must be about numbers and dates. Got 'word'"),
        ({"top_coding": {"day": 5}}, "'top_coding' of a plan must be a date such as '1990-12-31' for 'day'"),
        ({"top_coding": {"q": "1990-12-31"}}, "'top_coding' of a plan must be a number for 'q'"),
        ({"rounding": {"day": 5}}, "'rounding' of a plan must be about numbers. Got 'day', which is a date"),
        ({"bottom_coding": {"q": 2.5}}, "'bottom_coding' of a plan must be a whole number for 'q'"),
        ({"top_coding": {"who": 5}}, "Got 'who', whose role is 'identifier'"),
        ({"top_coding": {"w": 5}}, "Got 'w', whose role is 'weight'"),
        ({"top_coding": {"day": "1990-12-31T00:00+02:00"}}, "must be dates without an offset"),
        ({"hierarchies": {"q": "widths:5"}, "top_coding": {"q": 5}}, "Got 'q', which is hierarchical"),
        ({"top_coding": {"q": 5}, "population": "p.csv", "k_map": 2}, "must not be given with a population"),
    ],
)
def test_wrong_columns_and_values_are_refused(fields, words):
    days = [datetime.date(2000, 1, day) for day in range(1, 7)]
    table = pa.table(
        {"q": [1, 2, 3, 4, 5, 6], "day": days, "word": list("ababab"), "who": list("uvwxyz"), "w": [1.0] * 6}
    )
    with pytest.raises(OptionError) as caught:
        shoal.anonymize(table, 2, identifiers=["who"], weight="w", method="mdav", release="local-recoding", **fields)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("values", "kind", "fields"),
    [
        ([1, 2, 3, 4], pa.int8(), {"bottom_coding": {"q": 1000}}),
        ([1, 2, 3, 4], pa.uint8(), {"top_coding": {"q": -5}}),
        ([0, 1, 2, 3], pa.timestamp("ns"), {"top_coding": {"q": "1500-01-01"}}),
    ],
)
def test_limits_that_a_column_cannot_hold_are_refused(values, kind, fields):
    with pytest.raises(OptionError, match="must be a value that the column 'q' can hold"):
        published(values, kind, **fields)


def test_single_precision_holds_limits_as_well_as_it_can():
    found = published(
        [1.5, 2.5, 3.5], pa.float32(), top_coding={"q": 2.1}, release="microaggregation", continuous=["q"]
    )
    assert found == [1.5, *[float(np.float32(2.1))] * 2]


def test_all_problems_are_told_at_once():
    table = pa.table({"a": [1, 2, 3, 4], "b": list("xyxy")})
    with pytest.raises(OptionError, match="2 problems must be solved"):
        shoal.anonymize(table, 2, top_coding={"a": 1.5}, rounding={"b": 2})


@pytest.mark.parametrize("fields", [{"bottom_coding": {"q": -999}}, {"rounding": {"q": 999}}])
def test_no_value_becomes_one_that_stands_for_missing(fields):
    with pytest.raises(OptionError, match="must not turn values of 'q' into one that stands for a missing value"):
        published([-2000, -990, 5, 7], pa.int64(), missing_values=[-999], **fields)


@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize("field", ["top_coding", "bottom_coding"])
def test_a_limit_of_nought_changes_no_nought(field, zero):
    """0 is neither more nor less than -0, whichever of them the processor takes; what is changed has no sign."""
    sign = 1.0 if field == "top_coding" else -1.0
    values = [sign * 3.0, 0.0, -0.0, -sign * 2.0] * 2
    plan = {"k": 2, "quasi_identifiers": ["age"], "other": ["town"], field: {"town": zero}}
    table = pa.table({"age": [1, 1, 2, 2, 1, 1, 2, 2], "town": values})
    published = shoal.anonymize(table, **plan).table["town"].to_pylist()
    wanted = [0.0, 0.0, -0.0, -sign * 2.0] * 2
    assert [str(value) for value in published] == [str(value) for value in wanted]
