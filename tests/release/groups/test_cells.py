"""Strongly-safe releases: cells by the plan alone, removed records counted, everything else refused."""

import math
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from invariants import plain_columns
from shoal import Plan
from shoal.errors import DataError, OptionError
from shoal.release.groups import cells
from shoal.release.groups.forms import checked
from shoal.release.run import release_of

pytestmark = pytest.mark.filterwarnings("error", "ignore::shoal.errors.DisclosureWarning")
JOBS = {"Any": {"doctor": ["dentist", "surgeon"], "craft": {"food": ["baker"], "wood": ["joiner", "carver"]}}}


def safe(table, k=2, **fields):
    return shoal.anonymize(table, k, release="strongly-safe", **fields)


def texts_of(values, cell, kind=None, text=False, **fields):
    """Return what is published of values, each of which is there twice."""
    table = pa.table({"q": [value for value in values for _ in range(2)]})
    types = {} if kind is None else {"types": {"q": kind}}
    plan = Plan.of(k=2, quasi_identifiers=["q"], release="strongly-safe", cells={"q": cell}, **types, **fields)
    release = release_of(table, plan, text=text)
    assert release.rows_removed == 0
    return plain_columns(release.table)["q"][::2]


# --- what a cell is called ---


@pytest.mark.parametrize(
    ("values", "cell", "published"),
    [
        ([20, 29, 30, -1, -10, 0], 10, ["[20, 30)", "[20, 30)", "[30, 40)", "[-10, 0)", "[-10, 0)", "[0, 10)"]),
        ([0.3, 0.29, 0.1, -0.05, None], 0.1, ["[0.3, 0.4)", "[0.2, 0.3)", "[0.1, 0.2)", "[-0.1, 0)", None]),
        ([7.0, 1e150], 2.5, ["[5, 7.5)", f"[{10**150}, {10**150}.5)".replace("0.5)", "2.5)")]),
        ([2**52 + 1, 5], 2, [f"[{2**52}, {2**52 + 2})", "[4, 6)"]),
        ([3, None, 5], "value", [3, None, 5]),
        ([1.5, -0.0, 0.0], "value", [1.5, 0.0, 0.0]),
        ([3, None], "*", ["*", "*"]),
        ([date(1999, 12, 31), date(2000, 1, 1)], "month", ["1999-12", "2000-01"]),
        ([date(1969, 12, 31), None], "year", ["1969", None]),
        ([date(1970, 1, 10), date(1970, 1, 11)], 10, ["[1970-01-01, 1970-01-11)", "[1970-01-11, 1970-01-21)"]),
        ([date(1969, 12, 31)], 10, ["[1969-12-22, 1970-01-01)"]),
        ([datetime(1969, 12, 31, 23, 59), datetime(1970, 1, 1, 1)], "year", ["1969", "1970"]),
        ([datetime(1970, 1, 2, 23, 59)], 2, ["[1970-01-01, 1970-01-03)"]),
        (["a", None, "b"], "value", ["a", None, "b"]),
        ([True, False, None], "value", [True, False, None]),
        (["a", None], "*", ["*", "*"]),
    ],
)
def test_the_names_of_cells(values, cell, published):
    assert texts_of(values, cell) == published


def test_nobody_sees_who_wrote_minus_zero():
    assert [str(x) for x in texts_of([-0.0, 1 / 3, 0.0], "value")] == ["0.0", str(1 / 3), "0.0"]


@pytest.mark.parametrize(
    ("values", "cell", "published"),
    [
        (["2.50", "2.5", "3"], "value", ["2.5", "2.5", "3"]),  # as written they would depend on who comes first
        (["007"], "value", ["007"]),
        (["1.2.1999", "01.02.1999"], "value", ["1999-02-01", "1999-02-01"]),
        (["1999-02-01 10:00", "1999-02-01 10:00:00.5"], "value", ["1999-02-01T10:00:00", "1999-02-01T10:00:00.500000"]),
        (["20", "25", "30"], 10, ["[20, 30)", "[20, 30)", "[30, 40)"]),
    ],
)
def test_values_read_out_of_text_are_written_in_one_way(values, cell, published):
    assert texts_of(values, cell, text=True) == published


@pytest.mark.parametrize(
    ("up", "published"),
    [
        (None, ["doctor", "food", "wood", "craft", "Any"]),
        ("value", ["dentist", "baker", "carver", "wood", "doctor"]),
        (2, ["Any", "craft", "craft", "Any", "Any"]),
        (9, ["Any"] * 5),
    ],
)
def test_levels_of_a_hierarchy(up, published):
    table = pa.table({"q": ["dentist", "baker", "carver", "wood", "doctor"] * 3})
    said = {} if up is None else {"cells": {"q": up}}
    assert plain_columns(safe(table, hierarchies={"q": JOBS}, **said).table)["q"][:5] == published


@pytest.mark.parametrize(
    ("hierarchy", "up", "published"),
    [
        ("prefixes", 1, ["4767*", "4767*", "E1*", "E11.*"]),
        ("prefixes", 3, ["47***", "47***", "*", "E1***"]),
        ("prefixes:3,1", 1, ["476**", "476**", "E11", "E11**"]),
        ({"prefixes": [1, 3]}, 2, ["4****", "4****", "E**", "E****"]),
        ("prefixes:3,1", 3, ["*"] * 4),
    ],
)
def test_prefixes_are_masked_by_their_own_length(hierarchy, up, published):
    assert texts_of(["47677", "47678", "E11", "E11.9"], up, hierarchies={"q": hierarchy}) == published


def test_prefixes_of_one_length_are_the_nodes_of_their_tree():
    codes = ["47677", "47578", "10115"]
    tree = shoal.Hierarchy.from_prefixes(codes, [3, 1])
    for up in (1, 2, 3, 4):
        by_rule = texts_of(codes, up, hierarchies={"q": "prefixes:3,1"})
        assert by_rule == texts_of(codes, up, hierarchies={"q": tree})


def test_intervals_are_those_of_ladders():
    numbers = [str(x) for x in (-7, 0, 3, 9.5, 10, 23)]
    tree = shoal.Hierarchy.intervals(numbers, [5, 10])
    wanted = [tree.ancestors(number)[1] for number in numbers]
    assert texts_of([float(number) for number in numbers], 10) == wanted
    assert texts_of(numbers, 2, hierarchies={"q": "widths:5,10"}) == wanted


@settings(max_examples=settings.default.max_examples // 2)
@given(
    st.lists(st.floats(-1e6, 1e6) | st.integers(-50, 50).map(lambda i: i / 10), min_size=1, max_size=8),
    st.sampled_from([0.1, 0.3, 1, 2.5, 7, 1e-3, 1e5]),
)
def test_a_number_lies_in_its_cell(numbers, width):
    exact = Fraction(str(width))
    for number, text in zip(numbers, texts_of(numbers, width, "continuous"), strict=True):
        low, high = (Fraction(end) for end in text[1:-1].split(", "))
        assert low <= Fraction(repr(number)) < high
        assert high - low == exact
        assert (low / exact).denominator == 1


# --- what is published of a record depends on its own values only ---

TYPED = {"age": "integer", "pay": "continuous", "born": "date", "sex": "nominal", "flag": "boolean"}
FIELDS = {
    "quasi_identifiers": ["age", "pay", "born", "sex", "flag", "zip", "job", "grade"],
    "hierarchies": {"zip": "prefixes:2,1", "job": JOBS},
    "levels": {"grade": ["low", "mid", "high"]},
    "types": TYPED,
    "cells": {"age": 10, "pay": 0.5, "born": "year"},
    "other": "who",
}
RECORDS = st.fixed_dictionaries(
    {
        "age": st.sampled_from([0, 9, 10, 25, None]),
        "pay": st.sampled_from([0.5, 0.75, 1.25, -0.0, None]),
        "born": st.sampled_from([date(1999, 12, 31), date(2000, 1, 1), None]),
        "sex": st.sampled_from(["f", "m", None]),
        "flag": st.sampled_from([True, False]),
        "zip": st.sampled_from(["10115", "10117", "101", "20095-1"]),
        "job": st.sampled_from(["dentist", "surgeon", "baker", "wood"]),
        "grade": st.sampled_from(["low", "high"]),
    }
)
KIND_OF = {
    "age": pa.int64(),
    "pay": pa.float64(),
    "born": pa.date32(),
    "flag": pa.bool_(),
    **dict.fromkeys(("sex", "zip", "job", "grade"), pa.string()),
}


def table_of(records):
    columns = {name: pa.array([record[name] for record in records], kind) for name, kind in KIND_OF.items()}
    return pa.table({**columns, "who": [f"p{i}" for i in range(len(records))]})


def as_text(table):
    words = {name: [None if v is None else str(v) for v in table[name].to_pylist()] for name in table.column_names}
    return pa.table({name: pa.array(column, pa.string()) for name, column in words.items()})


def rows_of(release):
    columns = plain_columns(release.table)
    names = FIELDS["quasi_identifiers"]
    return dict(zip(columns["who"], zip(*(columns[name] for name in names), strict=True), strict=True))


@st.composite
def alike(draw):
    """Return records that differ from one of them in two attributes at most, so that some share a cell."""
    base = draw(RECORDS)
    changes = draw(st.lists(st.tuples(RECORDS, st.sets(st.sampled_from(sorted(KIND_OF)), max_size=2)), max_size=12))
    return [base, *({**base, **{name: other[name] for name in names}} for other, names in changes)]


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(alike(), st.integers(2, 3), st.booleans())
def test_what_is_published_of_a_record_depends_on_its_own_values_only(records, k, text):
    """With any others around it, a record publishes what it does among k copies of itself, or nothing."""
    convert = as_text if text else (lambda table: table)
    plan = Plan.of(k=k, release="strongly-safe", **FIELDS)
    alone = [rows_of(release_of(convert(table_of([record] * k)), plan, text=text))["p0"] for record in records]
    counts = Counter(alone)
    table = convert(table_of(records))
    if max(counts.values()) < k:
        with pytest.raises((DataError, OptionError), match="fewer"):
            release_of(table, plan, text=text)
        return
    release = release_of(table, plan, text=text)
    kept = {f"p{i}": cell for i, cell in enumerate(alone) if counts[cell] >= k}
    assert rows_of(release) == kept
    assert release.rows_removed == len(records) - len(kept)


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame])
def test_any_data_frame_keeps_its_kind_and_its_labels(make):
    table = make({"age": [21, 28, 35, 24, 99], "note": list("abcde")})
    release = safe(table, k=3, quasi_identifiers=["age"], other="note", cells={"age": 10})
    assert type(release.table) is type(table)
    assert plain_columns(release.table) == {"age": ["[20, 30)"] * 3, "note": ["a", "b", "d"]}
    if make is pd.DataFrame:
        assert list(release.table.index) == [0, 1, 2]  # the old numbers would tell who is missing
    assert release.rows_removed == 2
    assert len(release.labels) == 3


def test_columns_of_categories_do_not_name_what_was_removed():
    for make in (lambda column: pd.DataFrame({"q": pd.Categorical(column)}), lambda c: pl.DataFrame({"q": c})):
        table = make(["a", "a", "b"])
        table = table.cast(pl.Categorical) if isinstance(table, pl.DataFrame) else table
        found = safe(table).table
        assert list(found["q"]) == ["a", "a"]
        names = getattr(found["q"], "cat", None)
        assert names is None or "b" not in list(getattr(names, "categories", []))


# --- what is counted ---


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from("ns"), st.integers(0, 4), st.integers(0, 1)),
        min_size=1,
        max_size=30,
    ),
    st.integers(2, 3),
    st.booleans(),
    st.booleans(),
)
def test_small_cells_are_removed_by_strata_and_units(rows, k, by_unit, by_stratum):
    ages, regions, people, flags = (list(column) for column in zip(*rows, strict=True))
    table = pa.table({"age": [7 * a for a in ages], "flag": flags, "region": regions, "person": people})
    fields = {"quasi_identifiers": ["age", "flag"], "cells": {"age": 10, "flag": "value"}}
    fields |= {"unit": "person"} if by_unit else {"other": ["person"]}
    fields |= {"stratum": "region"} if by_stratum else {"rest": "other"}
    keys = [(7 * a // 10, f, r if by_stratum else "") for a, r, _, f in rows]
    members = {}
    for key, person, at in zip(keys, people, range(len(rows)), strict=True):
        members.setdefault(key, set()).add(person if by_unit else at)
    kept = [i for i, key in enumerate(keys) if len(members[key]) >= k]
    if not kept or len(rows) < k or (by_unit and len(set(people)) < k):
        with pytest.raises((DataError, OptionError)):
            safe(table, k, **fields)
        return
    release = safe(table, k, **fields)
    assert release.rows_removed == len(rows) - len(kept)
    assert plain_columns(release.table)["region"] == [regions[i] for i in kept]
    assert release.k >= k
    assert release.audit.classes == len({keys[i] for i in kept}) == int(release.labels.max()) + 1


def survey(n=200, seed=1):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(20, 60, n),
            "sex": rng.choice(["f", "m"], n),
            "pay": [None if i % 40 == 0 else round(float(x), 2) for i, x in enumerate(rng.normal(50, 10, n))],
            "ill": rng.choice(["flu", "none"], n),
        }
    )


PLAN = {"quasi_identifiers": ["age", "sex", "pay"], "rest": "other", "cells": {"age": 10, "pay": 20}}


def test_the_record_counts_what_was_removed():
    release = safe(survey(), 5, **PLAN)
    record = release.record
    assert 0 < release.rows_removed == record["rows"]["removed"] == 200 - record["rows"]["published"]
    assert record["job"]["cells"] == {"age": 10, "pay": 20}
    assert [a["published"] for a in record["attributes"]] == ["cell of 10", "value", "cell of 20"]
    assert (record["lower_bound"], record["methods"][0]["method"]) == (None, "fixed cells")
    page = release.report()
    assert "without looking at the data" in page
    assert "as little as possible is lost" not in page
    again = shoal.anonymize(survey(), plan=Plan.of(**record["job"]))
    assert again.table.equals(release.table)


def test_removed_records_leave_no_trace_in_what_is_published():
    """Whoever they were and however many: the table, the certificate and the report are the same."""
    ages = np.random.default_rng(0).integers(20, 50, 400).tolist()

    def published(*removed):
        table = pa.table({"age": [*ages, *removed], "sex": ["f", "m"] * 200 + ["f"] * len(removed)})
        release = safe(table, 5, cells={"age": 10})
        assert release.rows_removed == len(removed)
        return release.table.to_pydict(), release.certificate, release.report()

    alone = published()
    for removed in ((97,), (51, 67, 68), (-1000,), (10**6, 88)):
        assert published(*removed) == alone


def test_the_loss_is_that_of_the_means_of_cells_over_what_is_published():
    table = survey()
    release = safe(table, 5, **PLAN | {"quasi_identifiers": ["age"], "cells": {"age": 10}})
    ages = table["age"].to_numpy().astype(float)
    means = {cell: ages[ages // 10 == cell].mean() for cell in np.unique(ages // 10)}
    within = sum((age - means[age // 10]) ** 2 for age in ages)
    assert release.rows_removed == 0
    assert release.loss == pytest.approx(within / ((ages - ages.mean()) ** 2).sum())
    assert release.gap is None


def test_missing_rules_and_weights_and_shuffling():
    table = survey().append_column("w", [[1.0] * 100 + [2.0] * 100])
    release = safe(table, 4, **PLAN, missing="drop", weight="w", shuffle=True)
    assert release.rows_dropped == 5
    assert release.rows_in == 200 == release.rows_dropped + release.rows_removed + release.audit.rows
    assert None not in plain_columns(release.table)["pay"]
    kept = safe(table, 2, quasi_identifiers=["pay"], cells={"pay": 50}, weight="w", rest="other")
    assert plain_columns(kept.table)["pay"].count(None) == 5  # a cell of its own


# --- what is refused ---


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"cells": {}}, "The cells of the integer column 'age' must be given"),
        ({"cells": {"age": 10}}, "the continuous column 'pay' must be given"),
        ({"cells": {"age": 10, "pay": 5, "sex": 2}}, "nominal column 'sex' must be 'value' or '*'. Got 2"),
        ({"cells": {"age": "month", "pay": 5}}, "must be a width, 'value' or '*'. Got 'month'"),
        ({"cells": {"agee": 10}}, "did you mean 'age'"),
        ({"cells": {"ill": "value"}}, "must be about quasi-identifiers"),
        ({"method": "mdav"}, "The 'method' of a plan must not be given for a strongly-safe release"),
        ({"options": {"gamma": 1}}, "'options'"),
        ({"refine": "tfrp2"}, "'refine'"),
        ({"time_limit": 1}, "'time_limit'"),
        ({"random_state": 0}, "'random_state'"),
        ({"bound": "lp"}, "'bound'"),
        ({"blocks": "each"}, "'blocks'"),
        ({"small_strata": "merge"}, "'small_strata'"),
        ({"representatives": {"age": "mean"}}, "each record publishes its cell"),
        ({"digits": {"pay": 0}}, "'digits'"),
        ({"trim": 0.1}, "'trim'"),
        ({"l": 2, "sensitive_attributes": ["ill"]}, "cannot be adapted to demands"),
        ({"t": 0.2, "sensitive_attributes": ["ill"]}, "'t'"),
        ({"models": {"ill": "entropy-diversity l=2"}}, "'models'"),
        ({"release": "local-recoding"}, "'cells' of a plan must be given for strongly-safe releases only"),
        ({"k": 200}, "all with fewer"),
    ],
)
def test_what_has_no_place_is_refused(fields, words):
    with pytest.raises((OptionError, DataError)) as caught:
        shoal.anonymize(survey(), **{"k": 5, "release": "strongly-safe", **PLAN, **fields})
    assert words in str(caught.value)


@pytest.mark.parametrize(("kind", "cell"), [(date(2000, 1, 1), 1.5), (datetime(2000, 1, 1, 3), 0.5)])
def test_days_must_be_whole(kind, cell):
    with pytest.raises(OptionError, match="a whole number of days, 'month', 'year'"):
        safe(pa.table({"q": [kind] * 4}), cells={"q": cell})
    with pytest.raises(OptionError, match=r"cells=\{'q': 'month'\}"):
        safe(pa.table({"q": [kind] * 4}))
    with pytest.raises(OptionError, match="a number of levels"):
        safe(pa.table({"q": ["baker"] * 4}), hierarchies={"q": JOBS}, cells={"q": 1.5})


def test_places_are_refused_with_what_to_do():
    table = pa.table({"lat": [1.5] * 4, "lon": [2.5] * 4})
    with pytest.raises(OptionError, match=r"Places have no cells.*as numbers"):
        safe(table, places=[("lat", "lon")])
    release = safe(table, cells={"lat": 0.1, "lon": 0.1})
    assert plain_columns(release.table) == {"lat": ["[1.5, 1.6)"] * 4, "lon": ["[2.5, 2.6)"] * 4}


def test_every_field_that_is_refused_is_one_of_the_plan():
    assert set(cells.NO_PLACE) <= set(Plan.model_fields)
    assert checked(Plan.of(release="strongly-safe", bound="none", cells={"age": 1})).bound == "none"
    assert math.isclose(checked(Plan.of(release="strongly-safe")).trim, Plan.model_fields["trim"].default)


def test_a_decimal_at_the_edge_of_a_cell_lies_in_it():
    sizes = pa.array([Decimal("-22.40")] * 3, pa.decimal128(12, 2))
    release = shoal.anonymize(pa.table({"size": sizes}), k=3, release="strongly-safe", cells={"size": 0.1})
    assert set(release.table["size"].to_pylist()) == {"[-22.4, -22.3)"}
