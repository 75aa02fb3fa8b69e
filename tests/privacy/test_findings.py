"""Checks of published tables of every kind, whatever their labels, their order and their index."""

from collections import defaultdict

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import DataError, OptionError
from shoal.partitioning.repair import repair
from shoal.privacy.closeness import NTCloseness, TCloseness
from shoal.privacy.demands import Demand
from shoal.privacy.diversity import DistinctDiversity, EntropyDiversity, KAnonymity
from shoal.privacy.findings import check_demands, check_model
from shoal.privacy.frequencies import AlphaFrequency
from shoal.release.groups.rules import requirements_of
from shoal.tables.sensitive import sensitive

TABLE = {
    "age": [30, 30, 41, 41, 41, 30],
    "sex": ["f", "f", "m", "m", "m", "f"],
    "disease": ["flu", "cancer", "flu", "flu", None, "flu"],
}
NAMES = ["age", "sex"]


def frames(columns):
    """The same rows for every library, with indexes that say something else."""
    frame = pd.DataFrame(columns)
    yield frame
    yield frame.set_index(pd.Index([f"row {i}" for i in range(len(frame))]))
    yield frame.set_index(pd.Index([1, 0, 0, 1, 0, 0][: len(frame)]))
    yield frame.astype({"sex": "category", "disease": "category"})
    yield pa.table(columns)
    yield pa.concat_tables([pa.table(columns).slice(0, 2), pa.table(columns).slice(2)])
    yield pl.DataFrame(columns)


@pytest.mark.parametrize("at", range(7))
def test_frames_of_every_kind(at):
    frame = list(frames(TABLE))[at]
    found = check_model(DistinctDiversity(2), frame, "disease", NAMES)
    assert not found
    assert (found.held, found.groups, found.rows) == (1, 2, 6)
    assert (found.groups_below, found.rows_below) == (1, 3)
    assert found.offending.tolist() == [1]
    assert found.offending_sizes.tolist() == [3]
    assert (found.worst_group, found.worst_size, found.attribute) == (1, 3, "disease")
    assert found.words == ("cancer", "flu")
    assert found.worst.tolist() == [0, 2]
    assert found.whole.tolist() == [1, 4]
    group, table = found.shares
    assert group == pytest.approx([0, 2 / 3, 1 / 3])
    assert table == pytest.approx([1 / 6, 4 / 6, 1 / 6])
    assert "cancer" not in repr(found)


def test_what_holds_is_true():
    found = check_model(AlphaFrequency(1.0), pa.table(TABLE), "disease", NAMES)
    assert found
    assert found.holds
    assert found.groups_below == found.rows_below == 0
    assert found.held == 1


def test_without_names_all_other_columns_are_quasi_identifiers():
    assert check_model(DistinctDiversity(2), TABLE_ARROW, "disease").groups == 2
    assert check_model(DistinctDiversity(2), TABLE_ARROW, "disease", "age").groups == 2
    assert check_model(DistinctDiversity(2), TABLE_ARROW, "age").held == 1


TABLE_ARROW = pa.table(TABLE)


def test_k_anonymity_needs_no_attribute():
    found = check_model(KAnonymity(4), TABLE_ARROW, quasi_identifiers=NAMES)
    assert (found.held, found.groups_below, found.rows_below) == (3, 2, 6)
    assert found.attribute is None
    assert found.shares is None
    assert check_model(KAnonymity(3), TABLE_ARROW, "disease", NAMES)
    with pytest.raises(OptionError, match="must name a sensitive attribute"):
        check_model(DistinctDiversity(2), TABLE_ARROW)


def test_several_demands_share_groups():
    disease, age = (sensitive(TABLE_ARROW, name) for name in ("disease", "age"))
    found = check_demands(TABLE_ARROW, ["sex"], [Demand(DistinctDiversity(2), disease), Demand(TCloseness(0.5), age)])
    assert [bool(one) for one in found] == [False, True]
    assert [one.attribute for one in found] == ["disease", "age"]
    assert found[1].held == pytest.approx(0.5)
    with pytest.raises(DataError, match="Got 6 of 'disease' for 3 rows"):
        check_demands(TABLE_ARROW.slice(0, 3), ["sex"], [Demand(DistinctDiversity(2), disease)])


def test_wrong_names_are_refused():
    with pytest.raises(OptionError, match="did you mean 'disease'"):
        check_model(DistinctDiversity(2), TABLE_ARROW, "diseases", NAMES)
    with pytest.raises(OptionError, match="did you mean 'sex'"):
        check_model(DistinctDiversity(2), TABLE_ARROW, "disease", ["age", "sexx"])
    with pytest.raises(OptionError, match="At least one quasi-identifier"):
        check_model(DistinctDiversity(2), TABLE_ARROW, "disease", [])
    with pytest.raises(DataError, match="must have rows"):
        check_model(DistinctDiversity(2), TABLE_ARROW.slice(0, 0), "disease", NAMES)


def test_how_the_attribute_is_read():
    table = pa.table({"qi": [1, 1, 2, 2], "x": ["1", "2", "3", "?"]})
    assert check_model(TCloseness(1), table, "x", text=True, markers=["?"]).words is None
    assert check_model(TCloseness(1), table, "x").words == ("1", "2", "3", "?")
    levels = check_model(TCloseness(0), table, "x", levels=["?", "3", "2", "1"])
    assert levels.held == pytest.approx(1 / 3)


rows = st.lists(
    st.tuples(st.sampled_from([1.0, 2.0, None]), st.sampled_from("ab"), st.sampled_from(["u", "v", "w", None])),
    min_size=1,
    max_size=15,
)


@settings(max_examples=100)
@given(rows, st.randoms())
def test_groups_are_rows_that_are_alike_in_any_order(drawn, random):
    """By a plain count; and the same groups under other numbers when rows are shuffled."""
    for order in (list(range(len(drawn))), random.sample(range(len(drawn)), len(drawn))):
        here = [drawn[i] for i in order]
        numbers, groups = {}, defaultdict(set)
        for age, sex, value in here:
            numbers.setdefault((age, sex), len(numbers))
            groups[age, sex] |= set() if value is None else {value}
        frame = pd.DataFrame(here, columns=["age", "sex", "x"], index=[f"{i % 3}" for i in order])
        found = check_model(DistinctDiversity(2), frame, "x", NAMES)
        assert found.groups == len(groups)
        assert found.held == min(map(len, groups.values()))
        assert found.offending.tolist() == [number for key, number in numbers.items() if len(groups[key]) < 2]


def test_surroundings_are_told_by_numbers_and_dates():
    """Ages near 20 have one disease, those near 70 another: each group is like its half, not like the table."""
    ages = np.repeat([20, 21, 22, 70, 71, 72], 4)
    columns = {"age": ages, "sex": ["f", "m"] * 12, "disease": np.where(ages < 50, "flu", "cancer")}
    one = NTCloseness(10, 0.1)
    assert check_model(one, pd.DataFrame(columns), "disease", NAMES)
    assert not check_model(TCloseness(0.1), pd.DataFrame(columns), "disease", NAMES)
    assert not check_model(one, pd.DataFrame({**columns, "age": [f"about {age}" for age in ages]}), "disease", NAMES)
    dates = pd.to_datetime("2000-01-01") + pd.to_timedelta(ages, "D")
    assert check_model(one, pd.DataFrame({**columns, "age": dates}), "disease", NAMES)
    assert check_model(one, pd.DataFrame({**columns, "age": ages.astype(str)}), "disease", NAMES)
    assert not check_model(one, pd.DataFrame(columns), "disease", NAMES, centres=np.zeros((12, 1)))


def test_groups_without_a_number_lie_in_the_middle():
    rng = np.random.default_rng(0)
    place = rng.integers(0, 40, 80).astype(float)
    place[::7] = np.nan
    rows = np.concatenate([np.arange(80), rng.integers(0, 80, 320)])
    table = pd.DataFrame({"group": [f"g{i}" for i in rows], "place": place[rows], "x": rng.integers(0, 3, 400)})
    one = NTCloseness(40, 0.2, "equal")
    found = check_model(one, table, "x", ["group", "place"])
    middle = np.where(np.isnan(place), np.nanmean(place), place)
    assert (
        found.offending.tolist() == check_model(one, table, "x", ["group"], centres=middle[:, None]).offending.tolist()
    )
    assert 0 < found.groups_below < check_model(one, table, "x", ["group"]).groups_below


def test_enforced_groups_pass_the_check():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    table = pa.table({"x": rng.choice(["a", "b", "c", "d"], 120, p=[0.6, 0.2, 0.1, 0.1])})
    attribute = sensitive(table, "x")
    for one in (DistinctDiversity(3), EntropyDiversity(2), AlphaFrequency(0.7), TCloseness(0.15)):
        labels = repair(X, np.arange(120) // 4, 4, requirements_of(X, 4, [Demand(one, attribute)]))
        assert check_model(one, table.append_column("group", pa.array(labels)), "x", ["group"])
