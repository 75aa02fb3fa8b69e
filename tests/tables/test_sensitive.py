"""Sensitive attributes out of columns: codes, order, and how far values lie apart."""

from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError, OptionError
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.sensitive import Line, Tree, grounded, ranks, sensitive, tree_of

HIERARCHY = Hierarchy.from_nested({"Asia": ["Japan"], "Europe": {"North": ["Norway"], "South": ["Italy", "Spain"]}})


def read(values, type=None, **how):
    return sensitive(pa.table({"x": pa.array(values, type)}), "x", **how)


def test_numbers_lie_on_a_line_by_rank_or_by_magnitude():
    found = read([10, 0, None, 10, 100])
    assert found.codes.tolist() == [1, 0, -1, 1, 2]
    assert (found.name, found.values, found.words) == ("x", 3, None)
    assert found.ground.positions.tolist() == [0, 0.5, 1]
    assert found.ground.magnitudes.tolist() == [0, 0.1, 1]
    assert read([10, 0, 100], ground="numeric").ground.positions.tolist() == [0, 0.1, 1]
    assert read([10, 0, 100], ground="equal").ground is None
    assert read([0.0, -0.0, 1.5, float("nan")]).codes.tolist() == [0, 0, 1, -1]


def test_dates_are_numbers_too():
    found = read([date(2000, 1, 3), date(2000, 1, 1), None, date(2000, 1, 11)], ground="numeric")
    assert found.codes.tolist() == [1, 0, -1, 2]
    assert found.ground.positions == pytest.approx([0, 0.2, 1])


def test_text_is_read_if_it_says_so():
    assert read(["10", "9", " 100"], text=True).codes.tolist() == [1, 0, 2]
    assert read(["1,5", "0,5"], text=True, decimal=",").codes.tolist() == [1, 0]
    words = read(["10", "9", "100"])
    assert words.ground is None
    assert words.words == ("10", "100", "9")
    assert read(["10", "x", "9"], text=True, markers=["x"]).codes.tolist() == [1, -1, 0]


def test_words_are_equally_far_and_called_as_they_are():
    found = read(["flu", "cancer", None, "flu"])
    assert found.codes.tolist() == [1, 0, -1, 1]
    assert found.words == ("cancer", "flu")
    assert found.ground is None
    assert read([True, False, None]).words == ("false", "true")
    assert read([2, 1, 2], kind="nominal").words == ("1", "2")


def test_levels_that_occur_lie_on_a_line():
    found = read(["high", "low", "high"], levels=["low", "middle", "high"])
    assert found.codes.tolist() == [1, 0, 1]
    assert found.words == ("low", "high")
    assert found.ground.positions.tolist() == [0, 1]
    frame = pd.DataFrame({"x": pd.Categorical(["b", "a", None], categories=["b", "c", "a"], ordered=True)})
    ordered = sensitive(pa.Table.from_pandas(frame), "x")
    assert ordered.codes.tolist() == [0, 1, -1]
    assert ordered.words == ("b", "a")
    unused = pd.DataFrame({"x": pd.Categorical(["b", "b", None], categories=["b", "c", "a"])})
    assert sensitive(pa.Table.from_pandas(unused), "x").words == ("b",)


def test_nodes_of_a_hierarchy_lie_in_a_tree():
    found = read(["Italy", "Japan", "Europe", "Norway", None], hierarchy=HIERARCHY)
    assert found.words == ("Europe", "Italy", "Japan", "Norway")
    assert found.codes.tolist() == [1, 2, 0, 3, -1]
    tree = found.ground

    def apart(a, b):
        above = []
        for word in (a, b):
            node, path = int(tree.leaves[found.words.index(word)]), []
            while node >= 0:
                path.append(node)
                node = int(tree.parents[node])
            above.append(path)
        return tree.heights[next(node for node in above[0] if node in above[1])]

    assert apart("Italy", "Norway") == pytest.approx(2 / 3)
    assert apart("Italy", "Europe") == pytest.approx(2 / 3)  # somewhere in Europe: a leaf of its own
    assert apart("Italy", "Japan") == apart("Europe", "Japan") == 1


@settings(max_examples=100)
@given(st.lists(st.sampled_from(HIERARCHY.labels), min_size=1, max_size=6, unique=True))
def test_trees_are_trees(words):
    tree = tree_of(HIERARCHY, words, "x")
    assert tree.parents[0] == -1
    assert (tree.parents[1:] < np.arange(1, len(tree.parents))).all()
    assert tree.heights[0] == 1
    assert (tree.heights[tree.leaves] == 0).all()
    assert len(set(tree.leaves.tolist())) == len(words)
    assert not np.isin(tree.leaves, tree.parents).any()
    assert (tree.heights[tree.parents[1:]] > tree.heights[1:]).all()


def test_grounds_that_values_do_not_have_are_refused():
    assert grounded(None, 3, "equal") is None
    line = Line(ranks(3))
    assert grounded(line, 3, "auto") is line
    for own, ground in (
        (None, "ordered"),
        (None, "numeric"),
        (line, "numeric"),
        (tree_of(HIERARCHY, [], "x"), "ordered"),
    ):
        with pytest.raises(OptionError, match="for the ground"):
            grounded(own, 3, ground)
    with pytest.raises(OptionError, match="did you mean 'numeric'"):
        grounded(line, 3, "numerical")
    with pytest.raises(OptionError, match="column 'x' must have an order"):
        read(["a", "b"], ground="ordered")


def test_columns_that_cannot_be_read_are_refused():
    with pytest.raises(OptionError, match="did you mean 'x'"):
        sensitive(pa.table({"x": [1]}), "X")
    with pytest.raises(OptionError, match="must be one of continuous"):
        read([1], kind="number")
    with pytest.raises(OptionError, match="must have a hierarchy"):
        read(["a"], kind="hierarchical")
    with pytest.raises(OptionError, match="must be of ordinal attributes"):
        read(["a"], kind="nominal", levels=["a"])
    with pytest.raises(DataError, match="A sensitive attribute must hold numbers"):
        read([[1], [2]])
    with pytest.raises(DataError, match="Got 1 of 2 that are not"):
        read(["Italy", "Atlantis"], hierarchy=HIERARCHY)
    with pytest.raises(DataError, match="must hold numbers in all rows"):
        read(["1", "2", "3", "x"], text=True)


def test_columns_without_values():
    for found in (read([None, None]), read([None, None], pa.float64()), read([None, None], levels=["a"])):
        assert found.codes.tolist() == [-1, -1]
        assert found.values == 0
    assert isinstance(read([None], pa.string(), hierarchy=HIERARCHY).ground, Tree)


@pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
def test_moments_that_are_closer_than_a_microsecond_are_refused(zone):
    """They are published as they are, so that a reader tells apart what would be counted as one value."""

    def table(*moments):
        return pa.table({"x": pa.array(moments, pa.int64()).cast(pa.timestamp("ns", zone)), "y": [1, 2, 3, 4]})

    close, apart = table(-1, -999, None, 5000), table(-1, -1001, None, 5000)
    assert sensitive(apart, "x").values == 3
    plan = {"k": 2, "method": "mdav", "quasi_identifiers": ["y"], "sensitive_attributes": ["x"]}
    assert shoal.anonymize(apart, **plan, t=1).k >= 2
    assert shoal.anonymize(close, **plan).k >= 2
    for refused in (lambda: sensitive(close, "x"), lambda: shoal.anonymize(close, **plan, t=1)):
        with pytest.raises(DataError, match=r"must differ by a microsecond or more\. Got some that are closer\."):
            refused()
