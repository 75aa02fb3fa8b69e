"""Releases: every kind x missing rule x representative x form, what plans ask for, and what is refused."""

import itertools
import json
import re
import warnings
from collections import Counter
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import shoal
from invariants import check_release, plain_columns
from shoal import Plan
from shoal.errors import DataError, DisclosureError, DisclosureWarning, OptionError, ShoalError
from shoal.plan import KINDS
from shoal.release import run
from shoal.release.groups import blocks
from shoal.release.run import release_of
from shoal.tables.representatives import REPRESENTATIVES

pytestmark = pytest.mark.filterwarnings("error", "ignore::shoal.errors.DisclosureWarning")
N, K = 40, 3
FORMS = (
    "microaggregation",
    "local-recoding",
    "global-recoding",
)  # those that make groups; cells have a file of their own
RNG = np.random.default_rng(7)
NUMBERS = RNG.permutation(N) * 2  # with gaps, or they would look like row numbers
HIERARCHY = {"*": [{"ab": ["a", "b"]}, {"cd": ["c", "d"]}]}


def drawn(values, size=N):
    return [values[i] for i in np.random.default_rng(len(values)).integers(0, len(values), size)]


VALUES = {
    "continuous": (NUMBERS * 1.5 + 0.25).tolist(),
    "integer": NUMBERS.tolist(),
    "ordinal": drawn(["low", "mid", "high"]),
    "nominal": drawn(["red", "green", "blue", "grey"]),
    "hierarchical": drawn(["a", "b", "c", "d"]),
    "boolean": drawn([True, False]),
    "date": [date(2000, 1, 1) + timedelta(int(days)) for days in NUMBERS],
    "datetime": [datetime(2000, 1, 1, 5) + timedelta(hours=int(hours)) for hours in NUMBERS],
    "place": (NUMBERS * 1.1 - 20).tolist(),
}
EXTRA = {
    "ordinal": {"levels": {"q": ["low", "mid", "high"]}},
    "hierarchical": {"hierarchies": {"q": HIERARCHY}},
    "place": {"places": [("q", "q2")]},
}
CASES = [
    (kind, how, missing, form)
    for kind in KINDS
    for how, missing, form in itertools.product((*REPRESENTATIVES[kind], None), ("value", "drop", "error"), FORMS)
    if how is not None or missing != "error"
]


def gaps(values):
    """Return the values with every fifth missing, and a group's worth of neighbours too."""
    return [None if i % 5 == 0 or i in (11, 12, 13) else value for i, value in enumerate(values)]


def one(table, **fields):
    return shoal.anonymize(table, **{"k": K, "method": "mdav", "n_jobs": 1, **fields})


@pytest.mark.parametrize(("kind", "how", "missing", "form"), CASES)
def test_every_kind_missing_rule_representative_and_form(kind, how, missing, form):
    """Beside a second attribute, so that groups are not of equal values only."""
    values = VALUES[kind] if missing == "error" or how == "geometric-mean" else gaps(VALUES[kind])
    if how == "geometric-mean":
        values = [value + 1 for value in values]
    columns = {"q": values, "z": (NUMBERS % 7).tolist(), "note": [f"n{i % 4}" for i in range(N)]}
    if kind == "place":
        columns["q2"] = [None if v is None else 2 * v for v in values]
    table = pl.DataFrame(columns) if kind in ("boolean", "date") else pa.table(columns)
    release = one(
        table,
        quasi_identifiers=["q", "z"],
        other="note",
        missing=missing,
        release=form,
        representatives={} if how is None else {"q": how},
        **EXTRA.get(kind, {}),
    )
    check_release(release, table)
    attribute = release.attributes[0]
    assert attribute.kind == kind
    assert how is None or attribute.representative == how
    published = plain_columns(release.table)["q"]
    if missing != "value":
        assert None not in published
    elif how != "suppression" and None in values:
        assert release.missing[attribute.name] == values.count(None)
    if attribute.representative in ("mode", "medoid", "leaf") or kind in ("ordinal", "nominal", "boolean"):
        no_words = attribute.representative not in ("interval", "set", "suppression")
        assert not no_words or set(published) <= {*values, None}  # never a value that was not there


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "place"])
@pytest.mark.parametrize("missing", ["value", "drop"])
@pytest.mark.parametrize("form", FORMS)
def test_types_read_out_of_text(kind, missing, form):
    values = gaps(VALUES[kind])
    texts = [None if value is None else str(value) for value in values]
    table = pa.table({"q": texts, "z": [str(z) for z in NUMBERS % 7], "note": [f"0{i}" for i in range(N)]})
    fields = {"quasi_identifiers": ["q", "z"], "other": "note", "missing": missing, "release": form, "method": "mdav"}
    release = release_of(table, Plan.of(k=K, **fields, **EXTRA.get(kind, {})), text=True)
    check_release(release, table)
    assert release.attributes[0].kind == kind


# --- any table: an error of ours, or a release that is right ---

COLUMNS = {
    "whole": st.integers(-5, 5) | st.none(),
    "huge": st.sampled_from([0, 2**52, -(2**52), 2**53, 2**60]),
    "number": st.floats(-1e3, 1e3) | st.sampled_from([0.0, -0.0, 0.1, 1e150, -1e149, 1e-300]) | st.none(),
    "wild": st.floats() | st.none(),
    "text": st.sampled_from(["a", "b", "", " a", "NA", "é"]) | st.none(),
    "any text": st.text(max_size=3),
    "digits": st.from_regex(r"\A[0-9]{1,2}(\.[0-9])?\Z") | st.sampled_from(["NA", "1e3", "-1", ""]),
    "flag": st.booleans() | st.none(),
    "day": st.dates(date(1900, 1, 1), date(2100, 1, 1)) | st.none(),
    "moment": st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)) | st.none(),
    "nothing": st.none(),
    "one": st.just(7),
}


@st.composite
def tables(draw):
    names = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=4, unique=True))
    n = draw(st.integers(1, 25))
    table = {name: draw(st.lists(COLUMNS[name], min_size=n, max_size=n)) for name in names}
    plan = {
        "k": draw(st.integers(2, 4)),
        "release": draw(st.sampled_from(FORMS)),
        "missing": draw(st.sampled_from(["value", "drop", "value"])),
        "shuffle": draw(st.booleans()),
        "small_strata": draw(st.sampled_from(["error", "merge"])),
        "blocks": draw(st.sampled_from(["joint", "joint", "each"])),
    }
    if draw(st.booleans()):
        plan["missing_values"] = draw(st.lists(st.sampled_from([0, "NA", "", 1.5, "a"]), max_size=2))
        plan["missing"] = "value"  # check_release knows of no markers
    if draw(st.booleans()):
        table["person"] = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
        plan["unit"] = "person"
    if draw(st.booleans()):
        table["region"] = draw(st.lists(st.sampled_from(["n", "s", None]), min_size=n, max_size=n))
        plan["stratum"] = "region"
    if draw(st.booleans()):
        table["w"] = draw(st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=n, max_size=n))
        plan["weight"] = "w"
    if draw(st.booleans()):
        plan["quasi_identifiers"] = names[:2]
        plan["rest"] = draw(st.sampled_from([None, "qi", "other", "drop"]))
    return table, plan


@settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(tables(), st.sampled_from([pa.table, pl.DataFrame, pd.DataFrame, "text"]))
def test_any_table_is_released_rightly_or_refused_in_our_words(drawn, make):
    columns, plan = drawn
    plan = Plan.of(method="mdav", n_jobs=1, random_state=0, **plan)
    try:
        if make == "text":
            table = pa.table(
                {c: pa.array([None if v is None else str(v) for v in vs], pa.string()) for c, vs in columns.items()}
            )
            release = release_of(table, plan, text=True)
        else:
            table = make(columns)
            release = release_of(table, plan)
    except DisclosureError as error:
        if plan.rest is None and "Columns without a role" in str(error):
            event("refused for want of a role")
            return
        raise  # it would be our fault
    except ShoalError as error:
        event(re.sub(r"'.*?'|\d+", "_", str(error).partition(". ")[0]))
        return
    event("released")
    check_release(release, table)
    json.dumps([release.certificate, release.record])


# --- weights ---


def test_weights_change_means_and_losses_but_not_k():
    table = pa.table({"x": [0.0, 1.0, 2.0, 10.0, 11.0, 12.0], "w": [1.0, 1.0, 8.0, 1.0, 1.0, 0.0]})
    weighted, plain = (
        one(table, quasi_identifiers="x", digits={"x": 2}, **extra) for extra in ({"weight": "w"}, {"other": "w"})
    )
    assert weighted.table.column("x").to_pylist() == [1.7] * 3 + [10.5] * 3
    assert plain.table.column("x").to_pylist() == [1.0] * 3 + [11.0] * 3
    assert weighted.table.column("w").to_pylist() == table.column("w").to_pylist()
    assert (weighted.k, weighted.audit.sizes) == (plain.k, plain.audit.sizes) == (3, {3: 2})
    mean = (0 + 1 + 16 + 10 + 11) / 12
    total = sum(w * (x - mean) ** 2 for x, w in zip([0, 1, 2, 10, 11, 12], [1, 1, 8, 1, 1, 0], strict=True))
    within = 1.7**2 + 0.7**2 + 8 * 0.3**2 + 0.5**2 * 2
    assert weighted.loss == pytest.approx(within / total)


@pytest.mark.parametrize("bad", [[-1.0], [None], [float("nan")], [float("inf")]])
def test_wrong_weights(bad):
    with pytest.raises(DataError, match="'w'"):
        one(pa.table({"x": NUMBERS.tolist(), "w": [1.0] * (N - 1) + bad}), weight="w")


def test_weights_that_are_all_nought():
    with pytest.raises(DataError, match=r"and not all 0\. Got zeros only"):
        one(pa.table({"x": NUMBERS.tolist(), "w": [0] * N}), weight="w")


def test_weights_in_text_with_a_decimal_comma():
    table = pa.table({"x": [str(i) for i in NUMBERS], "w": ["1,5", "2"] * (N // 2)})
    release = release_of(table, Plan.of(k=K, method="mdav", quasi_identifiers="x", weight="w"), text=True, decimal=",")
    check_release(release, table)


def test_telling_weights_are_warned_of():
    table = pa.table({"x": NUMBERS.tolist(), "w": [1.0] * (N - 1) + [2.0]})
    with pytest.warns(DisclosureWarning, match=r"1 of their 2 values are shared by fewer than 3 records"):
        one(table, weight="w")


# --- units ---


def test_one_persons_ten_rows_do_not_make_a_crowd():
    table = pa.table({"x": [100.0] * 10 + list(range(20)), "person": ["p"] * 10 + [f"q{i}" for i in range(20)]})
    by_rows = one(table, quasi_identifiers="x", identifiers="person")
    assert Counter(by_rows.table.column("x").to_pylist())[100.0] >= 9  # a group of their own
    by_units = one(table, quasi_identifiers="x", unit="person")
    check_release(by_units, table)
    assert by_units.k == by_units.audit.k_units >= K
    assert "person" not in by_units.table.column_names
    assert by_units.certificate["k"]["held_in_units"] == by_units.k


def test_units_must_be_known_and_enough():
    with pytest.raises(DataError, match=r"The unit 'p' must be known for every row. Got 1 missing"):
        one(pa.table({"x": [1, 2, 3, 4], "p": ["a", "b", "c", None]}), unit="p")
    with pytest.raises(OptionError, match=r"there must be at least 3 different ones. Got 2"):
        one(pa.table({"x": [1, 2, 3, 4], "p": ["a", "b", "a", "b"]}), unit="p")


# --- strata ---


def test_strata_are_never_crossed():
    table = pa.table({"x": NUMBERS.tolist(), "s": ["a", "b"] * (N // 2), "t": [1, 1, 2, 2] * (N // 4)})
    release = one(table, stratum=["s", "t"])
    check_release(release, table)
    assert release.table.select(["s", "t"]).equals(table.select(["s", "t"]))
    assert len(set(zip(release.labels.tolist(), table["s"].to_pylist(), table["t"].to_pylist(), strict=True))) == (
        len(set(release.labels.tolist()))
    )
    assert release.quasi_identifiers == ["x", "s", "t"]


def test_small_strata_are_refused():
    table = pa.table({"x": [float(i) for i in range(10)], "s": ["a"] * 5 + ["b"] * 3 + ["SECRET"] * 2})
    with pytest.raises(DataError) as caught:
        one(table, stratum="s")
    assert "Every stratum must have at least 3 rows. Got 1 of 3 strata with fewer." in str(caught.value)
    assert "SECRET" not in str(caught.value)


def test_small_strata_are_merged_and_named():
    table = pa.table({"x": [float(i) for i in range(13)], "s": ["a"] * 6 + ["b"] * 4 + ["c"] * 2 + [None]})
    release = one(table, stratum="s", small_strata="merge")
    check_release(release, table)
    assert release.table.column("s").to_pylist() == ["a"] * 6 + ["b"] * 4 + ["c + no value"] * 3


def test_merged_strata_take_the_smallest_other_one_if_they_are_too_few():
    table = pa.table({"x": [float(i) for i in range(13)], "s": [7] * 6 + [8] * 5 + [9] * 2})
    release = one(table, stratum="s", small_strata="merge")
    assert release.table.column("s").to_pylist() == ["7"] * 6 + ["8 + 9"] * 7
    check_release(release, table)


def test_a_stratum_column_that_says_the_same_of_all_merged_rows_is_left_alone():
    table = pa.table(
        {"x": [float(i) for i in range(12)], "s": [1] * 6 + [2] * 6, "t": ["a"] * 6 + ["b"] * 3 + ["c"] * 2 + ["d"]}
    )
    release = one(table, stratum=["s", "t"], small_strata="merge")
    check_release(release, table)
    assert release.table.column("s").equals(table.column("s"))
    assert release.table.column("t").to_pylist() == ["a"] * 6 + ["b"] * 3 + ["c + d"] * 3


def test_small_strata_are_counted_in_units():
    rows = {"x": [float(i) for i in range(14)], "s": ["a"] * 6 + ["b"] * 8, "p": [0, 1, 2, 3, 4, 5] + [6] * 7 + [7]}
    with pytest.raises(DataError, match=r"at least 3 different values of 'p'. Got 1 of 2 strata"):
        one(pa.table(rows), stratum="s", unit="p")
    release = one(pa.table(rows), stratum="s", unit="p", small_strata="merge")
    check_release(release, pa.table(rows))
    assert set(release.table.column("s").to_pylist()) == {"a + b"}


def test_fewer_rows_than_k_with_strata_to_be_merged_come_to_an_end():
    with pytest.raises(OptionError, match="Got 9 for 4 rows"):
        one(pa.table({"x": [1, 2, 3, 4], "s": list("aabb")}), k=9, stratum="s", small_strata="merge")


# --- blocks ---


def mixed(make=pa.table):
    return make(
        {
            "age": (20 + NUMBERS).tolist(),
            "pay": (NUMBERS * 17 % 41 * 100.5).tolist(),
            "sex": drawn(["f", "m"]),
            "lat": (NUMBERS * 13 % 37 / 2).tolist(),
            "lon": (NUMBERS * 7 % 23 / 2).tolist(),
        }
    )


@pytest.mark.parametrize("blocks", ["each", [["age", "sex"], ["pay", "lat"]], [["lon"], ["age", "pay", "sex"]]])
def test_blocks(blocks):
    table = mixed()
    with pytest.warns(DisclosureWarning, match=r"k = 3 holds within each of them. For all quasi-identifiers"):
        release = one(table, blocks=blocks, places=[("lat", "lon")])
    check_release(release, table)
    assert len(release.blocks) == (4 if blocks == "each" else 2)
    assert release.k == release.audit.k < K
    columns = [name for block in release.blocks for name in block.columns]
    assert sorted(columns) == sorted(table.column_names)
    assert release.certificate["k"]["wanted"] == K
    assert release.certificate["k"]["held"] == release.audit.k
    assert release.certificate["k"]["blocks"] == [list(block.columns) for block in release.blocks]
    assert any("quasi-identifiers together" in words for words in release.certificate["warnings"])


def test_what_blocks_hold_jointly_is_counted_in_units():
    """Each person's two rows are alike in all attributes, and alone."""
    table = pa.table({"x": [0.0] * 4 + [9.0] * 4, "y": [0.0, 0.0, 9.0, 9.0] * 2, "p": [1, 1, 2, 2, 3, 3, 4, 4]})
    with pytest.warns(DisclosureWarning, match="together, only k = 1 holds"):
        release = one(table, k=2, blocks="each", unit="p")
    check_release(release, table)
    assert (release.k, release.audit.k) == (1, 2)


@pytest.mark.parametrize(
    ("blocks", "said"),
    [
        ([["age"], ["pay"]], "Every quasi-identifier must be in exactly one block. Got 2 names in blocks for 5"),
        ([["age", "pay", "sex", "lat", "lon"], ["age"]], "must be in exactly one block"),
        ([["age", "agee"]], "Blocks must be made of quasi-identifiers. Got 'agee'"),
    ],
)
def test_wrong_blocks(blocks, said):
    with pytest.raises(OptionError) as caught:
        one(mixed(), blocks=blocks)
    assert said in str(caught.value)


def test_every_block_is_audited(monkeypatch):
    """A block whose groups are too small is found, though the first one is right."""
    real = blocks.group

    def wrong(X, *others):
        labels = real(X, *others)
        calls.append(1)
        return np.arange(len(X)) // 2 if len(calls) == 2 else labels

    calls = []
    monkeypatch.setattr(blocks, "group", wrong)
    with pytest.raises(DisclosureError, match="in the block of pay"):
        one(mixed().select(["age", "pay", "sex"]), blocks="each")


# --- forms ---


def test_global_recoding_never_separates_equal_records():
    rng = np.random.default_rng(5)
    table = pa.table({"a": rng.integers(0, 4, 120).tolist(), "b": rng.choice(["x", "y", None], 120).tolist()})
    release = one(table, release="global-recoding")
    check_release(release, table)
    seen = {}
    rows = zip(table["a"].to_pylist(), table["b"].to_pylist(), release.labels.tolist(), strict=True)
    for a, b, label in rows:
        assert seen.setdefault((a, b), label) == label
    assert one(table, release="local-recoding").audit.classes > release.audit.classes  # they are, otherwise


def test_intervals_cover_their_members():
    table = pa.table({"x": NUMBERS.tolist()})
    release = one(table, release="local-recoding")
    for value, text in zip(NUMBERS.tolist(), release.table["x"].to_pylist(), strict=True):
        low, high = json.loads(text)
        assert low <= value <= high


def test_intervals_cover_their_members_where_digits_are_cut_off():
    numbers = (NUMBERS / 7).tolist()
    release = one(pa.table({"x": numbers}), release="local-recoding", digits={"x": 1})
    for value, text in zip(numbers, release.table["x"].to_pylist(), strict=True):
        low, high = json.loads(text)
        assert low <= value <= high


def test_intervals_of_decimals_end_at_their_members():
    numbers = [Decimal(f"{number}.{number:02d}") for number in range(100)]
    table = pa.table({"x": pa.array(numbers, pa.decimal128(12, 2))})
    texts = shoal.anonymize(table, k=2, release="local-recoding", method="univariate").table["x"].to_pylist()
    assert {end for text in texts for end in text[1:-1].split(", ")} == set(map(str, numbers))


@pytest.mark.parametrize("zone", [None, "Asia/Kathmandu"])
def test_intervals_of_moments_cover_fractions_of_seconds(zone):
    moments = [datetime(2000, 1, 1, 5) + timedelta(milliseconds=250 * int(number)) for number in NUMBERS]
    table = pa.table({"x": pa.array(moments, pa.timestamp("us", zone))})
    release = one(table, release="local-recoding")
    for value, text in zip(moments, release.table["x"].to_pylist(), strict=True):
        low, high = (datetime.fromisoformat(end.removesuffix(" UTC")) for end in text[1:-1].split(", "))
        assert low <= value <= high


@pytest.mark.parametrize("rule", ["prefixes", "prefixes:2", {"prefixes": []}, "widths:5", {"widths": [5, 10]}])
@pytest.mark.parametrize("form", FORMS)
def test_a_column_of_missing_values_needs_nothing_of_its_hierarchy(rule, form):
    table = pa.table({"code": pa.nulls(6, pa.string()), "x": [1, 2, 3, 11, 12, 13]})
    release = one(table, hierarchies={"code": rule}, release=form)
    assert release.table["code"].to_pylist() == [None] * 6


def test_levels_keep_their_order_under_declared_missing_values():
    """Regression: with markers, the categories were put into the order of their first rows."""
    codes = pa.array([1, 3, 2], pa.int8())
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["none", "low", "mid", "high"]), ordered=True)
    table = pa.table({"x": column})
    release = shoal.anonymize(table, k=3, release="local-recoding", method="mdav", missing_values=["NA"])
    assert release.table["x"].to_pylist() == ["[low, high]"] * 3


# --- shuffling, seeds, state ---


def test_shuffle():
    table = mixed().append_column("note", pa.array([f"n{i}" for i in range(N)]))
    release = one(table, shuffle=True, random_state=1, other="note")
    check_release(release, table)
    plain = one(table, other="note")
    order = [int(note[1:]) for note in release.table["note"].to_pylist()]
    assert order != list(range(N))
    assert release.table.equals(plain.table.take(pa.array(order)))
    assert release.labels.tolist() == plain.labels[order].tolist()
    # A seed, which the record tells, must not give the order away.
    assert not one(table, shuffle=True, random_state=1, other="note").table.equals(release.table)


def test_shuffle_with_dropped_rows_and_units():
    table = pa.table(
        {"x": gaps(NUMBERS.tolist()), "p": [i // 2 for i in range(N)], "note": [f"n{i}" for i in range(N)]}
    )
    release = one(table, unit="p", missing="drop", shuffle=True, random_state=3, other="note")
    check_release(release, table)
    people = [int(note[1:]) // 2 for note in release.table["note"].to_pylist()]
    crowds = Counter(x for x, _ in set(zip(release.table["x"].to_pylist(), people, strict=True)))
    assert min(crowds.values()) == release.k >= K


@pytest.mark.parametrize("method", ["auto", "mdav"])
def test_the_same_seed_gives_the_same_bytes(method):
    table = mixed()
    first, second = (one(table, method=method, random_state=0) for _ in range(2))
    sink = [pa.BufferOutputStream() for _ in range(2)]
    for release, out in zip((first, second), sink, strict=True):
        with pa.ipc.new_stream(out, release.table.schema) as writer:
            writer.write_table(release.table)
    assert sink[0].getvalue().equals(sink[1].getvalue())
    left_out = ("created", "seconds")
    assert {k: v for k, v in first.certificate.items() if k not in left_out} == {
        k: v for k, v in second.certificate.items() if k not in left_out
    }


def test_a_second_call_has_no_state_of_the_first():
    plan = Plan.of(k=K, method="mdav", quasi_identifiers=["age", "sex"], rest="other")
    other = pa.table({"age": [5, 6, 7, 90, 91, 92], "sex": ["x", "x", "x", "y", "y", "y"], "pay": [1.0] * 6})
    alone = shoal.anonymize(other, plan=plan)
    shoal.anonymize(mixed(), plan=plan)
    again = shoal.anonymize(other, plan=plan)
    assert again.table.equals(alone.table)
    assert again.record["attributes"] == alone.record["attributes"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_input_is_never_changed(make):
    table, copy = mixed(make), mixed(make)
    one(table, shuffle=True, places=[("lat", "lon")])
    one(table, release="local-recoding")
    assert plain_columns(table) == plain_columns(copy)


def test_the_same_table_in_every_library_gives_the_same_release():
    releases = [one(mixed(make)) for make in (pd.DataFrame, pl.DataFrame, pa.table)]
    assert plain_columns(releases[0].table) == plain_columns(releases[1].table) == plain_columns(releases[2].table)
    assert releases[0].loss == releases[1].loss == releases[2].loss


# --- sizes and shapes ---


def test_more_than_there_are():
    with pytest.raises(OptionError) as caught:
        one(pa.table({"x": [1, 2, 3]}), k=4)
    assert str(caught.value) == (
        "The 'k' option of anonymize must be an integer from 2 to the number of rows. Got 4 for 3 rows. "
        "Hint: a table of fewer than k records cannot be published."
    )


def test_more_than_are_left():
    with pytest.raises(OptionError, match=r"Got 3 for 2 rows \(of 4, the others have missing values\)"):
        one(pa.table({"x": [1, 2, None, None]}), missing="drop")
    with pytest.raises(OptionError, match="Got 3 for 0 rows"):
        one(pa.table({"x": [1, None], "y": [None, 1], "s": ["a", "b"]}), missing="drop", stratum="s")


def test_missing_values_may_be_refused():
    with pytest.raises(DataError) as caught:
        one(pa.table({"x": [1, None, None, 4], "y": [1, 2, 3, None], "z": [1, 2, 3, 4]}), missing="error")
    assert "(missing='error'). Got 3, in 'x', 'y'." in str(caught.value)


@pytest.mark.parametrize("rows", [[1, 2, 3, 90], [1, 1, 1, 1]])
def test_k_of_all_rows(rows):
    release = one(pa.table({"x": rows}), k=4)
    assert release.k == 4
    assert len(set(release.table["x"].to_pylist())) == 1


@pytest.mark.parametrize("form", FORMS)
def test_nothing_varies(form):
    table = pa.table({"x": [1.5] * N, "s": ["a"] * N, "n": pa.nulls(N), "m": pa.array([None] * N, pa.float64())})
    release = one(table, release=form)
    check_release(release, table)
    assert release.k == N
    assert release.loss == 0
    assert release.table.to_pydict()["s"] == ["a"] * N


def test_no_coordinates_at_all():
    table = mixed()
    release = one(table, importance=dict.fromkeys(table.column_names, 0))
    check_release(release, table)
    assert release.loss == 0


@pytest.mark.parametrize("column", [[None] * N, gaps(VALUES["integer"]), VALUES["nominal"], [5] * N])
def test_a_single_column(column):
    table = pa.table({"q": pa.array(column)})
    check_release(one(table), table)


def test_a_missing_value_is_one_for_the_whole_group():
    table = pa.table({"x": [1.0, 1.0, 1.0, 9.0, 9.0, 9.0], "y": [5.0, None, 5.0, None, None, 7.0]})
    release = one(table)
    assert release.table["y"].to_pylist() == [5.0] * 3 + [None] * 3
    check_release(release, table)


def test_a_hundred_thousand_equal_rows():
    n = 100_000
    table = pa.table({"x": np.full(n, 7.25), "s": pa.array(["a"] * n).dictionary_encode(), "d": pa.nulls(n)})
    release = shoal.anonymize(table, k=5)
    assert release.k == n
    assert release.table.equals(table)


@pytest.mark.parametrize("extra", [{}, {"blocks": "each"}, {"unit": "p"}, {"stratum": "s"}, {"shuffle": True}])
def test_progress_rises_to_one(extra):
    seen = []
    n = 600
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.normal(size=n), "y": rng.normal(size=n), "p": np.arange(n) // 2, "s": np.arange(n) % 2})
    one(
        table,
        quasi_identifiers=["x", "y"],
        progress=seen.append,
        **{"identifiers": [c for c in "ps" if c not in extra.values()]} | extra,
    )
    assert seen[0] == 0.0
    assert seen == sorted(set(seen))
    assert seen[-1] == 1.0
    assert len(seen) > 4


# --- the audit is independent ---


@pytest.mark.parametrize("size", [1, 2])
def test_a_wrong_partition_is_refused(monkeypatch, size):
    monkeypatch.setattr(blocks, "group", lambda X, *_: np.arange(len(X)) // size)
    with pytest.raises(DisclosureError, match=r"must hide every record among 3. Got \d+ groups below"):
        one(pa.table({"x": [float(i) for i in range(30)]}))


def test_wrong_units_are_refused(monkeypatch):
    monkeypatch.setattr(blocks, "group", lambda X, *_: np.arange(len(X)) // 3)
    with pytest.raises(DisclosureError, match="the smallest of 1"):
        one(pa.table({"x": [float(i) for i in range(30)], "p": [i // 3 for i in range(30)]}), unit="p")


def test_a_representative_that_differs_within_a_group_is_refused(monkeypatch):
    real = run.frames.rebuilt

    def wrong(native, keep, rows, changed, *, relabel):
        table = real(native, keep, rows, changed, relabel=relabel)
        values = table["x"].to_pylist()
        return table.set_column(0, "x", pa.array([values[0] + 1e-9, *values[1:]]))

    monkeypatch.setattr(run.frames, "rebuilt", wrong)
    with pytest.raises(DisclosureError):
        one(pa.table({"x": [float(i) for i in range(30)]}))


# --- no values in what is said ---

SECRET, NUMBER = "SECRETVALUE", 987654321


def secretive():
    """Return a table with two secrets in every column that can hold them, far from everything else."""
    rng = np.random.default_rng(11)
    n = 60
    words = rng.choice(["red", "green"], n).tolist()
    return {
        "id": [f"{SECRET}{i}" for i in range(n)],
        "colour": [SECRET, *words[1:]],
        "pay": [float(NUMBER), *rng.integers(1000, 2000, n - 1).tolist()],
        "age": [NUMBER, *rng.integers(20, 90, n - 1).tolist()],
        "note": [SECRET, *words[1:]],
        "ill": [NUMBER, *([0] * (n - 1))],
        "region": ["n", "s"] * (n // 2),
    }


def said_of(release):
    pages = release.report() + release._repr_html_()
    return json.dumps(release.certificate) + pages + repr(release) + " ".join(release.warnings)


@pytest.mark.parametrize("missing", ["value", "drop"])
def test_no_value_is_in_certificate_report_or_warnings(missing):
    table = pd.DataFrame(secretive(), index=[f"{SECRET} {i}" for i in range(60)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release = one(
            table,
            quasi_identifiers=["colour", "pay", "age"],
            sensitive_attributes="ill",
            identifiers="id",
            other="note",
            stratum="region",
            missing=missing,
        )
    said = said_of(release) + " ".join(str(one.message) for one in caught)
    assert SECRET not in said
    assert str(NUMBER) not in said
    assert f"{NUMBER:,}" not in said
    assert SECRET in "".join(release.table["note"])  # passed on, as declared


REFUSALS = [
    {"types": {"colour": "integer"}},
    {"types": {"colour": "date"}},
    {"types": {"colour": "datetime"}},
    {"types": {"colour": "ordinal"}},
    {"types": {"colour": "boolean"}},
    {"levels": {"colour": ["red", "green"]}},
    {"hierarchies": {"colour": {"*": ["red", "green"]}}},
    {"hierarchies": {"colour": "widths:5"}},
    {"types": {"pay": "date"}},
    {"places": [("pay", "age")]},
    {"representatives": {"ill": "geometric-mean"}},
    {"weight": "colour"},
    {"weight": "note"},
    {"stratum": "colour"},
    {"missing": "error", "missing_values": [NUMBER, SECRET]},
    {"unit": "region"},
    {"identifiers": []},
    {"k": 61},
    {"quasi_identifiers": ["colur"]},
    {"blocks": [["colour"]]},
]


@pytest.mark.parametrize("fields", REFUSALS, ids=lambda fields: "-".join(fields))
@pytest.mark.parametrize("text", [False, True])
def test_no_value_is_in_an_error(fields, text):
    columns = secretive()
    table = pa.table({name: list(map(str, values)) if text else values for name, values in columns.items()})
    plan = Plan.of(**{"k": K, "method": "mdav", "identifiers": "id", **fields})
    with pytest.raises(ShoalError) as caught:
        release_of(table, plan, text=text)
    said = str(caught.value)
    while (cause := caught.value.__cause__) is not None:
        said += str(cause)
        break
    assert SECRET not in said
    assert str(NUMBER) not in said


# --- doors ---


def test_a_plan_says_everything():
    plan = Plan.of(k=K, method="mdav")
    assert shoal.anonymize(pa.table({"x": [1, 2, 3]}), plan=plan).k == 3
    with pytest.raises(OptionError, match=r"With a plan, no other fields may be given. Got 'k'"):
        shoal.anonymize(pa.table({"x": [1, 2, 3]}), 2, plan=plan)


def test_roles_that_nobody_has():
    table = pa.table({"x": [1, 2, 3]})
    release = shoal.anonymize(table, 3, method="mdav", sensitive_attributes=None, identifiers=[])
    assert release.plan == Plan.of(k=3, method="mdav")
    assert shoal.anonymize(table, 3, method="mdav", quasi_identifiers=np.array(["x"])).k == 3
    with pytest.raises(OptionError, match="must have at least one quasi-identifier"):
        shoal.anonymize(table, 3, quasi_identifiers=[])  # not: all of them


def test_unknown_keywords():
    with pytest.raises(OptionError, match="A plan has no field 'qasi_identifiers'"):
        shoal.anonymize(pa.table({"x": [1, 2, 3]}), qasi_identifiers=["x"])


def test_unknown_methods_and_options():
    with pytest.raises(OptionError, match="mdavv"):
        one(pa.table({"x": [1, 2, 3]}), method="mdavv")
    with pytest.raises(OptionError):
        one(pa.table({"x": [1, 2, 3]}), options={"nonsense": 1})


def test_what_a_release_says():
    table = mixed(pd.DataFrame)
    release = one(table, quasi_identifiers=["age", "sex"], sensitive_attributes="pay", rest="other")
    assert release.risk == 1 / release.k
    assert 0 < release.loss < 1
    assert set(release.losses.by_attribute) == {"age", "sex"}
    assert repr(release).startswith("Release(40 rows in ")
    assert set(release.timings) >= {"reading values", "embedding", "partitioning", "publishing", "verifying"}
    record = release.record
    assert record["rows"] == {"in": N, "dropped": 0, "removed": 0, "published": N}
    assert record["quasi_identifiers"] == ["age", "sex"]
    assert record["input"] is record["output"] is None
    assert [one["role"] for one in record["columns"]] == [
        "quasi-identifier",
        "sensitive",
        "quasi-identifier",
        "other",
        "other",
    ]
    assert sum(int(size) * count for size, count in record["group_sizes"].items()) == N
    assert record["job"] == release.plan.job()
    assert Plan.of(**record["job"]) == release.plan
    assert shoal.verify(release.table, record["quasi_identifiers"]).k == record["k"]["held"]


def test_python_lines_of_the_record_reproduce_the_release():
    from shoal.release.record import python_lines

    table = mixed()
    release = one(table, places=[("lat", "lon")], importance={"age": 2.0}, random_state=4)
    scope = {"table": table}
    exec(python_lines(release.plan, None), scope)
    assert scope["release"].table.equals(release.table)


def test_what_does_not_matter_to_the_groups_is_lost_all_the_same():
    """An attribute without importance is grouped by the others: its loss is said, and does not count in the total."""
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    release = shoal.anonymize(table, k=5, method="mdav", importance={"b": 0})
    assert release.losses.by_attribute["b"] > 0.5
    assert release.loss == pytest.approx(release.losses.by_attribute["a"])
    both = shoal.anonymize(table, k=5, method="mdav", importance={"b": 3})
    by = both.losses.by_attribute
    assert both.loss == pytest.approx((by["a"] + 3 * by["b"]) / 4)


def test_the_command_of_a_record_says_the_plan():
    from shoal.release.record import command_line

    plan = shoal.Plan.of(k=3, quasi_identifiers=["age", "a, b"], types={"age": "integer"}, shuffle=True, n_jobs=2)
    said = "shoal anonymize in.csv -k 3 -o release.csv --qi age --qi '\"a, b\"' --type age=integer --jobs 2 --shuffle"
    assert command_line(plan, "in.csv") == said
    assert command_line(shoal.Plan.of(levels={"a": ["x", "y"]}), "in.csv").endswith("--job job.yaml -o release.csv")


def test_categories_that_nobody_has_any_more_are_gone():
    words = ["a"] * 20 + ["b"] * 19 + ["only one"]
    table = pd.DataFrame({"x": pd.Categorical(words, categories=["a", "b", "only one", "never"]), "y": range(40)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release = shoal.anonymize(table, k=5, quasi_identifiers=["x", "y"], method="mdav")
    assert release.table["x"].cat.categories.tolist() == ["a", "b"]
    assert table["x"].cat.categories.tolist() == ["a", "b", "only one", "never"]
