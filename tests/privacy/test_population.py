"""How many rows of a population a published row may stand for, against a plain comparison of all pairs."""

from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError, DisclosureError, OptionError
from shoal.privacy.audit import require_privacy
from shoal.privacy.findings import check_population
from shoal.privacy.population import DeltaPresence, KMap, population_counts
from shoal.tables.hierarchy import Hierarchy

LEVELS = ["low", "middle", "high"]
REGIONS = Hierarchy.from_nested({"Europe": {"North": ["Norway"], "South": ["Italy", "Spain"]}, "Asia": ["Japan"]})
WORDS = ["a", "b", "c, d", "e"]


def interval(low, high, text=str):
    return st.tuples(low, high, st.sampled_from(["[]", "[)", "(]"])).map(
        lambda drawn: (("in", *drawn), f"{drawn[2][0]}{text(drawn[0])}, {text(drawn[1])}{drawn[2][1]}")
    )


numbers = st.integers(0, 6)
anything = st.just((("all",), "*")) | st.just((("none",), None))
# What is published, once as it is meant and once as it is written.
published = {
    "age": numbers.map(lambda x: (("is", x), str(x)))
    | interval(numbers, numbers)
    | st.sampled_from([((("in", -np.inf, 3, "()")), "(-inf, 3)"), (("in", 3, np.inf, "[)"), "[3, inf)")])
    | st.lists(numbers, min_size=2, max_size=3, unique=True).map(
        lambda s: (("any", *s), "{" + ", ".join(map(str, s)) + "}")
    )
    | anything,
    "region": st.sampled_from(REGIONS.labels[1:]).map(lambda node: (("below", node), node)) | anything,
    "word": st.lists(st.sampled_from(WORDS), min_size=2, max_size=3, unique=True).map(
        lambda s: (("any", *s), "{" + ", ".join(s) + "}")
    )
    | st.sampled_from([*WORDS, "z"]).map(lambda word: (("is", word), word))
    | anything,
    "level": interval(st.sampled_from(LEVELS), st.sampled_from(LEVELS)) | anything,
}
original = {
    "age": numbers | st.none(),
    "region": st.sampled_from([*REGIONS.labels, "Atlantis"]) | st.none(),
    "word": st.sampled_from(WORDS) | st.none(),
    "level": st.sampled_from(LEVELS) | st.none(),
}
TYPES = {"age": pa.int64(), "region": pa.string(), "word": pa.string(), "level": pa.string()}


def stands_for(meant, value):
    """Whether a published value may stand for one of the population, by the rules as they are told."""
    how, *said = meant
    if how in ("all", "none"):
        return how == "all" or value is None
    if value is None:
        return False
    if how in ("is", "any"):
        return value in said
    if how == "below":
        return value == said[0] or (value in REGIONS.labels and said[0] in REGIONS.ancestors(value))
    low, high, ends = said
    if value in LEVELS:
        low, value, high = (LEVELS.index(word) for word in (low, value, high))
    above = value > low if ends[0] == "(" else value >= low
    return above and (value < high if ends[1] == ")" else value <= high)


def may_stand_for(meant, value):
    """The same where a missing value may hide any other, and any other a missing value."""
    return meant == ("none",) or value is None or stands_for(meant, value)


@st.composite
def tables(draw):
    names = draw(st.lists(st.sampled_from(sorted(published)), min_size=1, max_size=3, unique=True))
    ours = [draw(st.tuples(*(published[name] for name in names))) for _ in range(draw(st.integers(1, 8)))]
    theirs = draw(st.lists(st.tuples(*(original[name] for name in names)), min_size=1, max_size=25))
    return names, ours, theirs


@settings(max_examples=300)
@given(tables())
def test_counts_are_those_of_all_pairs(drawn):
    names, ours, theirs = drawn
    table = pa.table({name: pa.array([row[j][1] for row in ours], pa.string()) for j, name in enumerate(names)})
    everybody = {name: pa.array([row[j] for row in theirs], TYPES[name]) for j, name in enumerate(names)}
    counts = population_counts(table, pa.table(everybody), names, {"region": REGIONS}, levels={"level": LEVELS})
    seen = {}
    keys = [tuple(text for _, text in row) for row in ours]
    gaps = [any(row[j] is None for row in (*keys, *theirs)) for j in range(len(names))]
    for i, row in enumerate(ours):
        assert counts.classes[i] == seen.setdefault(keys[i], len(seen))
        strict, wider = (
            sum(all(rule(meant, value) for (meant, _), value in zip(row, other, strict=True)) for other in theirs)
            for rule in (stands_for, may_stand_for)
        )
        size = keys.count(keys[i])
        inexact = sum((size if text is None else size - 1) // 2 for text, gap in zip(keys[i], gaps, strict=True) if gap)
        assert counts.sizes[counts.classes[i]] == size
        assert counts.matches[counts.classes[i]] == min(wider, strict + inexact)
        assert counts.widest[counts.classes[i]] == wider
    lost = [
        other
        for other in theirs
        if not any(all(map(may_stand_for, (meant for meant, _ in row), other)) for row in ours)
    ]
    assert counts.unmatched == len(lost)


@pytest.mark.parametrize("at_once", [8, 64])
def test_many_rows_in_small_pieces(monkeypatch, at_once):
    monkeypatch.setattr("shoal.privacy.population.AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    people = rng.integers(0, 30, (500, 2))
    lows = rng.integers(0, 30, (40, 2))
    highs = lows + rng.integers(0, 15, (40, 2))
    sets = [sorted(set(rng.integers(0, 30, 5).tolist())) for _ in range(40)]
    table = pa.table(
        {
            "a": [f"[{a}, {b}]" for a, b in zip(lows[:, 0], highs[:, 0], strict=True)],
            "b": ["{" + ", ".join(map(str, s)) + "}" for s in sets],
        }
    )
    counts = population_counts(table, pa.table({"a": people[:, 0], "b": people[:, 1]}))
    anywhere = np.zeros(len(people), bool)
    for i in range(40):
        inside = (people[:, 0] >= lows[i, 0]) & (people[:, 0] <= highs[i, 0]) & np.isin(people[:, 1], sets[i])
        assert counts.matches[counts.classes[i]] == inside.sum()
        anywhere |= inside
    assert counts.unmatched == (~anywhere).sum()


def one(published, population, **how):
    counted = population_counts(pa.table({"x": published}), pa.table({"x": population}), ["x"], **how)
    return counted.matches.tolist()


def test_plain_values_of_equal_and_of_other_types():
    assert one([1.0, 2.5], [1, 1, 2]) == [2, 0]
    assert one([1, None], [1.0, float("nan"), None]) == [1, 2]
    assert one(["1", "01"], [1, 1, 2], text=False) == [2, 2]
    assert one(["01"], ["1", "01"], text=True) == [1]
    assert one(["1", "2"], ["1", "1", "2"], text=True) == [2, 1]
    assert one([True, None], [True, True, False]) == [2, 0]
    assert one(["nan"], [1.0, 2.0]) == [0]
    assert one([0.0], [-0.0, 0.0]) == [2]


def test_dates_and_times():
    days = [date(2000, 1, 1), date(2000, 1, 5), date(2000, 2, 1)]
    assert one(["[2000-01-01, 2000-01-31]", "2000-02-01", "[2000-01-01, 2000-01-05)"], days) == [2, 1, 1]
    assert one(days, days) == [1, 1, 1]
    times = [datetime(2000, 1, 1, 12), datetime(2000, 1, 1, 12, 30, 0, 250000)]
    assert one(["[2000-01-01 11:59, 2000-01-01 12:00:00]", "[2000-01-01, 2000-01-01 12:30:00.250000]"], times) == [1, 2]
    assert one(["[2000-01-01, 2000-01-31]"], ["2000-01-01", "2000-01-05"], text=True) == [2]


def test_decimal_marks():
    assert one(["[1,5, 2,5]", "{1,5, 3,5}"], [1.5, 2.0, 3.5], decimal=",") == [2, 2]


def test_values_that_look_like_ranges_are_values_first():
    assert one(["[1, 2]", "{a, b}"], ["[1, 2]", "1", "a", "{a, b}"]) == [1, 1]


def test_ordered_categories_tell_their_levels():
    population = pd.DataFrame({"x": pd.Categorical(["low", "high", "middle"], categories=LEVELS, ordered=True)})
    table = pd.DataFrame({"x": ["[low, middle]", "[middle, high]", "[low, top]"]})
    assert population_counts(table, population).matches.tolist() == [2, 2, 0]


def test_labels_that_stand_for_several_nodes():
    """A leaf named like the node above it: the text does not say which of them is meant."""
    leaves = {"Ostia": "Rome", "Rome": "Rome", "Tivoli": "Rome", "Oslo": "Norway"}
    hierarchy = Hierarchy.from_rows([[leaf, above, "*"] for leaf, above in leaves.items()])
    assert one(["Rome", "Ostia", "Norway"], list(leaves), hierarchies={"x": hierarchy}) == [3, 1, 1]


def test_labels_are_not_taken_for_numbers():
    hierarchy = Hierarchy.from_rows([["1.50", "few", "*"], ["2.0", "many", "*"]])
    assert one(["few", "2.0"], ["1.50", "2.0"], hierarchies={"x": hierarchy}, text=True) == [1, 1]
    assert one(["[2.0, 1.0]"], ["1.0", "2.0", "3"], levels={"x": ["3", "2.0", "1.0"]}, text=True) == [2]


# --- the models ---

PEOPLE = {"age": [20, 21, 25, 30, 31, 39], "sex": ["f", "f", "m", "m", "f", "f"]}
RELEASE = {"age": ["[20, 25]", "[20, 25]", "[30, 39]"], "sex": ["*", "*", "f"]}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_k_map(frame):
    found = check_population(KMap(3), frame(RELEASE), frame(PEOPLE), ["age", "sex"])
    assert not found
    assert (found.held, found.groups, found.rows) == (2, 2, 3)
    assert found.offending.tolist() == [1]
    assert found.rows_below == 1
    assert found.attribute is None
    assert check_population(KMap(2), frame(RELEASE), frame(PEOPLE))


def test_numbers_with_exponents_are_those_that_are_written(tmp_path):
    """With the decimal places of their mantissas, all of them would be 0, and match each other."""
    own = ["-1.3E-05", "-1.3E-05", "2.9E-05", "2.9E-05"]
    for name, values in (("people", own), ("register", [*own, *["-7.0E-05"] * 10])):
        (tmp_path / f"{name}.csv").write_text("x,y\n" + "".join(f"{value},1\n" for value in values))
    plan = {"k": 4, "quasi_identifiers": ["x"], "other": ["y"], "release": "local-recoding"}
    plan["population"] = str(tmp_path / "register.csv")
    release = shoal.anonymize_file(tmp_path / "people.csv", None, k_map=4, **plan)
    assert set(release.table.column("x").to_pylist()) == {"[-1.3E-05, 2.9E-05]"}
    assert release.audit.models[0].held == 4
    with pytest.raises(DataError, match="must match the table as demanded"):
        shoal.anonymize_file(tmp_path / "people.csv", None, k_map=5, **plan)


def test_labels_of_rows_say_nothing():
    table = pd.DataFrame(RELEASE, index=["x", "x", "y"])
    people = pd.DataFrame(PEOPLE, index=[0, 0, 1, 1, 0, 1])
    assert check_population(KMap(2), table, people).held == 2
    assert check_population(KMap(2), table.iloc[::-1], people.iloc[::-1]).held == 2


def test_delta_presence():
    found = check_population(DeltaPresence(0, 0.6), pa.table(RELEASE), pa.table(PEOPLE))
    assert not found
    assert found.held == pytest.approx(2 / 3)
    assert found.offending.tolist() == [0]
    people = {"age": [20, 21, 25, 31, 39], "sex": ["f", "f", "m", "f", "f"]}
    assert check_population(DeltaPresence(0.5, 0.7), pa.table(RELEASE), pa.table(people))
    rare = check_population(DeltaPresence(0.6, 0.7), pa.table(RELEASE), pa.table(people))
    assert rare.offending.tolist() == [1]
    assert rare.held == pytest.approx(0.5)


def test_somebody_whom_no_row_fits_breaks_a_lower_bound():
    """The man of 30 is certainly not in the table."""
    assert check_population(DeltaPresence(0, 0.7), pa.table(RELEASE), pa.table(PEOPLE))
    found = check_population(DeltaPresence(0.5, 0.7), pa.table(RELEASE), pa.table(PEOPLE))
    assert not found
    assert (found.held, found.unmatched, found.groups_below) == (0, 1, 0)
    result = shoal.verify(pa.table(RELEASE), ["age", "sex"], population=pa.table(PEOPLE), presence=(0.5, 0.7))
    assert not result.holds
    with pytest.raises(DisclosureError, match="Got 1 people of the population whom no row fits"):
        require_privacy(result, "The table")


def test_delta_presence_is_not_monotone_and_k_map_is():
    people = pa.table({"age": [0, 1, 8, 9]})
    parts, union = pa.table({"age": ["[0, 1]", "[8, 9]"]}), pa.table({"age": ["[0, 9]", "[0, 9]"]})
    assert check_population(DeltaPresence(0.5, 0.5), parts, people)
    people = pa.table({"age": list(range(10))})
    assert not check_population(DeltaPresence(0.5, 1), union, people)
    people = pa.table({"age": [0, 1]})
    overlapping = pa.table({"age": ["[0, 1]", "[0, 1.5]"]})
    assert check_population(DeltaPresence(0.5, 0.5), overlapping, people)
    assert not check_population(DeltaPresence(0, 0.5), pa.table({"age": ["[0, 1.5]", "[0, 1.5]"]}), people)
    people = pa.table({"age": list(range(10))})
    assert check_population(KMap(1), union, people).held >= check_population(KMap(1), parts, people).held


# --- missing values ---


def test_missing_values_are_counted_as_far_as_they_can_be_members():
    everybody = [7, 8, *[None] * 100]
    assert one(["[7, 8]"] * 2, everybody) == [2]  # one of two without a value would be half: nothing would be published
    assert one(["[7, 8]"] * 3, everybody) == [3]
    assert one(["[7, 8]"] * 7, everybody) == [5]
    assert one([None] * 3, [1, 2, 3, 4, None, None]) == [3]
    assert one([None] * 3, [1, 2, 3, 4, None, None], markers={"x": [1]}) == [4]
    assert one(["*"] * 3, everybody) == [102]


def test_least_share_counts_everybody_who_may_be_meant():
    """Three of 102 people may have no value and still be in the group: somebody without one is hardly in it."""
    table, people = pa.table({"x": ["[7, 8]"] * 3}), pa.table({"x": [7, 8, *[None] * 100]})
    assert check_population(DeltaPresence(0, 1), table, people).held == 1
    found = check_population(DeltaPresence(0.5, 1), table, people)
    assert found.held == pytest.approx(3 / 102)


@pytest.mark.parametrize("missing", [None, -1])
@pytest.mark.parametrize(
    ("demand", "held"), [({"k_map": 3}, 3), ({"presence": (0, 1)}, 1), ({"presence": (0.5, 1)}, 1)]
)
def test_release_of_a_whole_population_with_missing_values(missing, demand, held):
    table = pa.table({"age": [1, 2, missing, 7, 8, 9]})
    fields = {"release": "local-recoding", "method": "mdav", "missing_values": [-1], **demand}
    release = shoal.anonymize(table, k=3, population=table, **fields)
    assert release.table["age"].to_pylist() == ["[1, 2]"] * 3 + ["[7, 9]"] * 3
    assert release.audit.models[0].held == held


@settings(max_examples=40)
@given(st.lists(st.none() | st.integers(0, 9), min_size=4, max_size=24), st.data())
def test_releases_of_samples_hold_by_a_plain_count(everybody, data):
    """Whatever is missing: the table is found in its population, and people whom no row fits break a lower bound."""
    taken = data.draw(st.lists(st.booleans(), min_size=len(everybody), max_size=len(everybody)))
    sample = [value for value, kept in zip(everybody, taken, strict=True) if kept]
    if len(sample) < 2:
        return
    low = data.draw(st.sampled_from([0.0, 0.2]))
    population = pa.table({"x": pa.array(everybody, pa.int64())})
    fields = {"release": "local-recoding", "method": "mdav", "presence": (low, 1)}
    try:
        release = shoal.anonymize(
            pa.table({"x": pa.array(sample, pa.int64())}), k=2, population=population, types={"x": "integer"}, **fields
        )
    except DataError as error:
        assert low > 0
        assert "if all records are in one group" in str(error)  # noqa: PT017
        return
    ranges = [word and [int(end) for end in word.strip("[]").split(", ")] for word in release.table["x"].to_pylist()]
    for value in everybody if low else sample:
        assert any(value is None or ends is None or min(ends) <= value <= max(ends) for ends in ranges)


def test_a_table_that_is_not_from_the_population_is_refused():
    with pytest.raises(DataError, match="Got fewer rows of the population than of the table in 1 of 2 classes"):
        check_population(DeltaPresence(0, 1), pa.table({"age": ["[20, 25]", "50"]}), pa.table(PEOPLE), ["age"])
    with pytest.raises(OptionError, match="must have the column 'town'"):
        check_population(KMap(2), pa.table({"town": ["a"]}), pa.table(PEOPLE))


def test_means_match_hardly_anybody():
    assert check_population(KMap(1), pa.table({"age": [22.0, 22.0]}), pa.table(PEOPLE), ["age"]).held == 0


def test_a_column_with_several_kinds_of_missing_values_is_not_matched():
    """Somebody who knows who has null and who has NaN would find fewer people than were counted."""
    values = pa.array([1.0, None, None, float("nan"), float("nan")])
    people = pa.table({"x": values})
    with pytest.raises(
        DataError, match=r"must have one kind of missing value to be matched.*Hint: make all of them null"
    ):
        population_counts(people, people)
    # Kinds that Arrow has no values for are known to whoever reads the file.
    frame = pd.DataFrame({"x": pd.Series(["a", None, None, float("nan"), pd.NA], dtype=object)})
    with pytest.raises(DataError, match="one kind of missing value, to be matched with a population"):
        shoal.verify(frame, ["x"], population=people, k_map=2)
    frame["x"] = frame["x"].where(frame["x"].notna(), None)
    texts = pa.table({"x": ["a", None, None, None, None]})
    assert shoal.verify(frame, ["x"], population=texts, k_map=2).models[0].held == 1
    one_kind = pa.table({"x": pa.array([1.0, None, None, None, None])})
    assert population_counts(one_kind, people).matches.tolist() == [1, 5]
