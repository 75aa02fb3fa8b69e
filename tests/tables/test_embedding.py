"""Squared distances of coordinates are dissimilarities as defined, for every kind, also with values missing."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_tables import squared_distances
from table_strategies import HIERARCHY, LEVELS, TREE, coded, one_value

from shoal.errors import DataError, OptionError, TooLargeError
from shoal.tables import embedding
from shoal.tables.embedding import FORMS, embed, stack
from shoal.tables.hierarchy import Hierarchy
from shoal.tables.values import Codes, Numbers


def distances(X):
    return ((X[:, None, :] - X) ** 2).sum(axis=2)


def of(values, kind, **options):
    return embed(coded(values, kind), kind=kind, hierarchy=HIERARCHY if kind == "hierarchical" else None, **options)


@pytest.mark.parametrize("kind", FORMS)
@settings(max_examples=settings.default.max_examples // 3)
@given(st.data())
def test_distances_are_those_of_the_definition(kind, data):
    column = st.lists(one_value[kind] | st.none(), min_size=1, max_size=9)
    values = data.draw(column)
    X = of(values, kind)
    expected = np.array(squared_distances(values, kind, LEVELS, TREE))
    assert X.shape[0] == len(values)
    np.testing.assert_allclose(distances(X), expected, rtol=1e-9, atol=1e-9 * max(1.0, expected.max()))


@pytest.mark.parametrize("kind", FORMS)
@settings(max_examples=settings.default.max_examples // 4)
@given(st.data())
def test_scale_equal_values_and_order_of_rows(kind, data):
    values = data.draw(st.lists(one_value[kind] | st.none(), min_size=1, max_size=30))
    X = of(values, kind)
    present = np.array([v is not None for v in values])
    if X.shape[1] - (not present.all()) > 0:
        assert abs(X[present].mean(axis=0)).max() < 1e-12
        assert (X[present] ** 2).sum() / present.sum() == pytest.approx(1.0, rel=1e-12)
        assert np.ptp(X, axis=0).min() > 0, "a coordinate that does not vary"
    for i, a in enumerate(values):
        for j, b in enumerate(values[:i]):
            if a == b:
                assert X[i].tobytes() == X[j].tobytes()
    order = np.array(data.draw(st.permutations(range(len(values)))))
    assert of([values[i] for i in order], kind).tobytes() == np.ascontiguousarray(X[order]).tobytes()


@pytest.mark.parametrize("kind", FORMS)
def test_what_does_not_vary_takes_no_coordinate(kind):
    value = {"ordinal": "c", "nominal": "c", "boolean": "a", "hierarchical": "c", "place": (1.0, 2.0)}.get(kind, 0.1)
    assert of([value], kind).shape == (1, 0)
    assert of([value] * 6, kind).shape == (6, 0)
    assert of([None] * 6, kind).shape == (6, 0)
    assert of([], kind).shape == (0, 0)
    assert of([value, None, value], kind).tolist() == [[0.0], [1.0], [0.0]]


def test_numbers_by_hand():
    assert of([1.0, 2.0, 3.0], "integer").tolist() == [[-math.sqrt(1.5)], [0.0], [math.sqrt(1.5)]]
    assert of([1.0, None, 3.0], "continuous").tolist() == [[-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]


@pytest.mark.parametrize("scale", [1e150, 1e-150, 1e300, 5e-324, 1e-310, 1.0])
def test_size_of_numbers_does_not_matter(scale):
    X = of([-3 * scale, scale, 2 * scale, scale], "continuous")
    assert np.isfinite(X).all()
    if scale > 1e-320:
        np.testing.assert_allclose(X, of([-3.0, 1.0, 2.0, 1.0], "continuous"), rtol=1e-9)


def test_an_offset_costs_no_digits():
    x = np.random.default_rng(1).integers(0, 1000, 500) * 2.0**-20
    assert embed(Numbers(x), kind="continuous").tolist() == embed(Numbers(x + 1e9), kind="continuous").tolist()


def test_minus_zero_is_zero():
    X = of([-0.0, 0.0, 1.0, -1.0], "continuous")
    assert X[0].tobytes() == X[1].tobytes()
    assert of([-0.0, 0.0], "continuous").shape == (2, 0)


def test_a_pole_is_one_place_and_the_date_line_no_border():
    assert of([(90.0, 5.0), (90.0, -70.0)], "place").shape == (2, 0)
    X = of([(90.0, 5.0), (90.0, -70.0), (0.0, 0.0)], "place")
    assert X[0].tobytes() == X[1].tobytes()
    X = of([(10.0, 180.0), (10.0, -180.0), (10.0, 190.0), (10.0, -170.0), (0.0, 0.0)], "place")
    assert X[0].tobytes() == X[1].tobytes()
    assert X[2].tobytes() == X[3].tobytes()


def test_two_levels_take_one_coordinate_and_more_take_one_each():
    assert of(["a", "b", "a"], "boolean").shape == of(["d", "b", "d"], "nominal").shape == (3, 1)
    assert of(["a", "b", "c"], "nominal").shape == (3, 3)


def test_only_nodes_that_tell_rows_apart_take_coordinates():
    # Below B all pass through C: one coordinate for both.
    assert of(["a", "c", "d"], "hierarchical").shape == (3, 4)
    assert of(["c", "d", "c"], "hierarchical").shape == (3, 2)
    assert of(["c", "C", "c"], "hierarchical").shape == (3, 1)


def test_lengths_of_edges_count():
    nodes = {label: i for i, label in enumerate(HIERARCHY.labels)}
    lengths = np.arange(len(nodes)) / 4
    longer = HIERARCHY.with_lengths(lengths)
    values = coded(["a", "b", "c", "d", "e"], "hierarchical")
    D = distances(embed(values, kind="hierarchical", hierarchy=longer))
    at = longer.nodes_of(LEVELS)
    exact = longer.distance(at[:, None], at)
    np.testing.assert_allclose(D / D.mean(), exact / exact.mean(), rtol=1e-12)
    flat = HIERARCHY.with_lengths(np.zeros(len(nodes)))
    assert embed(values, kind="hierarchical", hierarchy=flat).shape == (5, 0)


# --- many levels ---


@pytest.mark.parametrize("kind", ["nominal", "hierarchical"])
def test_projection_keeps_squared_distances_on_average(kind):
    codes = [f"{i:04d}" for i in range(0, 9999, 50)]
    hierarchy = Hierarchy.from_prefixes(codes)
    values = Codes(np.arange(200), tuple(codes))
    exact = distances(embed(values, kind=kind, hierarchy=hierarchy))
    off = ~np.eye(200, dtype=bool)
    for width in (8, 32, 128):
        X = embed(values, kind=kind, hierarchy=hierarchy, coordinates=width)
        assert X.shape == (200, width)
        assert (X**2).sum() == pytest.approx(200.0, rel=1e-12)
        ratio = distances(X)[off] / exact[off]
        assert ratio.mean() == pytest.approx(1.0, abs=0.05)
        assert ratio.min() > 0
        assert ratio.std() == pytest.approx(math.sqrt(2 / width), rel=0.4)


def test_projection_is_always_the_same_and_only_where_needed():
    values = Codes(np.arange(50) % 40, tuple(f"{i:02d}" for i in range(40)))
    X = embed(values, kind="nominal", coordinates=3)
    assert X.tobytes() == embed(values, kind="nominal", coordinates=3).tobytes()
    assert X[0].tobytes() == X[40].tobytes()
    assert len(np.unique(X, axis=0)) == 40
    assert X[0].tolist() == pytest.approx(FIRST, rel=1e-12), "the directions have changed since the first version"
    exact = embed(values, kind="nominal")
    assert embed(values, kind="nominal", coordinates=40).tobytes() == exact.tobytes()
    assert exact.shape == (50, 40)


FIRST = [0.35768681678570974, -0.8650041814958647, 0.7663997093285733]


def test_too_many_levels_are_refused_with_a_way_out(monkeypatch):
    values = Codes(np.arange(100), tuple(map(str, range(100))))
    monkeypatch.setattr(embedding, "LIMIT", 100 * 100 * 8 - 1)
    with pytest.raises(TooLargeError, match=r"column 'zip' must fit .* 100 rows of 100 coordinates.*'coordinates'"):
        embed(values, kind="nominal", name="column 'zip'")
    assert embed(values, kind="nominal", coordinates=99).shape == (100, 99)
    monkeypatch.undo()
    many = Codes(np.arange(30_000), tuple(map(str, range(30_000))))
    with pytest.raises(TooLargeError, match="4 GiB"):
        embed(many, kind="nominal")


# --- the door ---


def test_what_is_refused():
    numbers = Numbers(np.arange(3.0))
    with pytest.raises(OptionError, match=r"Got 'nominel'\. Hint: did you mean 'nominal'"):
        embed(numbers, kind="nominel")
    with pytest.raises(OptionError, match=r"must be given as Codes\. Got Numbers"):
        embed(numbers, kind="nominal")
    with pytest.raises(OptionError, match="'coordinates'"):
        embed(numbers, kind="continuous", coordinates=0)
    codes = Codes(np.array([0, 1]), ("Secret", "a"))
    with pytest.raises(OptionError, match="must have a hierarchy"):
        embed(codes, kind="hierarchical")
    with pytest.raises(DataError, match="Got 1 of 2 that are not") as error:
        embed(codes, kind="hierarchical", hierarchy=HIERARCHY)
    assert "Secret" not in str(error.value)


def test_stack():
    parts = [of([1.0, 2.0, 3.0], "integer"), of(["a"] * 3, "nominal"), of(["a", None, "c"], "nominal")]
    X = stack(parts)
    assert X.flags.c_contiguous
    assert X.shape == (3, 3)
    assert X.tolist() == np.hstack(parts).tolist()
    assert stack([np.zeros((4, 0))] * 2).tolist() == [[0.0]] * 4
    with pytest.raises(DataError, match="At least one attribute"):
        stack([])


def test_directions_have_the_length_1_in_the_mean():
    squares = (embedding._directions(2000, 40) ** 2).sum(axis=1)
    assert squares.mean() == pytest.approx(1, rel=0.01)
