"""Distance-based linkage against loops over all pairs, by hand, and on releases whose risk is known."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from naive_risk import link_chances

import shoal
from shoal.errors import DataError
from shoal.risk import distance
from shoal.risk.pairs import Pair, groups_of


def frame(X):
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])


def released(X, labels):
    """The means of groups, in place of the records."""
    sizes = np.bincount(labels)
    return np.column_stack([np.bincount(labels, column) / sizes for column in X.T])[labels]


@pytest.fixture
def with_kernels(monkeypatch):
    monkeypatch.setattr(distance, "FEW_PAIRS", 0)


def random_pair(seed):
    """Tables with ties: whole numbers, groups at random, some of one record."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 60)), int(rng.integers(1, 4))
    X = rng.integers(0, int(rng.integers(2, 9)), (n, d)).astype(float)
    labels = np.unique(rng.integers(0, max(1, n // int(rng.integers(1, 6))), n), return_inverse=True)[1]
    return X, released(X, labels), int(rng.integers(1, 8))


def agrees_with_loops(seed):
    X, Y, m = random_pair(seed)
    found = shoal.risk.linkage(frame(X), frame(Y), m=m)
    A, B = Pair.of(frame(X), frame(Y), None, "x").coordinates()
    chances, nearest = link_chances(A, B)
    np.testing.assert_allclose(found.chances, chances, rtol=1e-12)
    assert found.correct == pytest.approx(np.mean(chances))
    assert found.nearest == pytest.approx(np.mean(nearest))
    for t in range(1, m + 1):
        assert found.among[t - 1] == pytest.approx(np.mean(link_chances(A, B, t)[0]))
    assert found.correct <= found.baseline + 1e-12
    assert found.baseline == len(np.unique(Y, axis=0)) / len(X)


@pytest.mark.parametrize("seed", range(60))
def test_links_are_those_of_a_loop_over_all_pairs(seed):
    agrees_with_loops(seed)


@pytest.mark.parametrize("seed", range(60, 100))
def test_so_are_those_of_the_index(seed, with_kernels):
    agrees_with_loops(seed)


def test_the_index_and_the_loop_agree_on_many_groups(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    Y = released(X, np.argsort(np.argsort(X[:, 0])) // 3)
    plain = shoal.risk.linkage(frame(X), frame(Y), m=4)
    monkeypatch.setattr(distance, "FEW_PAIRS", 0)
    for n_jobs in (1, 2):
        found = shoal.risk.linkage(frame(X), frame(Y), m=4, n_jobs=n_jobs)
        np.testing.assert_array_equal(found.chances, plain.chances)
        np.testing.assert_allclose(found.among, plain.among, rtol=1e-12)
        assert found.groups == 1000


def test_ties_are_counted_fairly():
    """The second record is as far from its own group of two as from the other one of three."""
    X = np.array([[0.0], [2.0], [4.0], [4.0], [4.0]])
    Y = np.array([[1.0], [1.0], [3.0], [3.0], [3.0]])
    found = shoal.risk.linkage(frame(X), frame(Y), ["c0"], m=3)
    np.testing.assert_allclose(found.chances, [1 / 2, 1 / 5, 1 / 3, 1 / 3, 1 / 3])
    assert found.nearest == 1
    np.testing.assert_allclose(found.among, [1.7 / 5, 3.4 / 5, (1 + 3 / 5 + 3) / 5])
    assert (found.baseline, found.untouched, found.groups) == (0.4, 0.6, 2)


def test_groups_of_one_are_at_full_risk():
    X = np.random.default_rng(1).normal(size=(200, 3))
    found = shoal.risk.linkage(frame(X), frame(X))
    assert (found.correct, found.nearest, found.baseline, found.untouched) == (1, 1, 1, 1)


def test_a_release_of_one_group_leaves_a_guess():
    X = np.random.default_rng(1).normal(size=(200, 3))
    found = shoal.risk.linkage(frame(X), frame(np.broadcast_to(X.mean(axis=0), X.shape)))
    assert (found.correct, found.nearest, found.baseline) == (pytest.approx(1 / 200), 1, 1 / 200)


def test_larger_groups_are_safer(benchmark_table):
    X = benchmark_table("census")
    before = 1.0
    for k in (2, 5, 10):
        found = shoal.risk.linkage(frame(X), frame(released(X, shoal.partition(X, k, "mdav"))))
        assert found.correct < before
        assert found.correct <= found.baseline <= 1 / k
        before = found.correct


def test_order_units_and_names_do_not_matter():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 6, (80, 3)).astype(float)
    Y = released(X, rng.permutation(80) // 4)
    plain = shoal.risk.linkage(frame(X), frame(Y)).chances
    order = rng.permutation(80)
    np.testing.assert_allclose(shoal.risk.linkage(frame(X[order]), frame(Y[order])).chances, plain[order])
    units = np.array([1000.0, 0.3048, 1 / 7])
    np.testing.assert_allclose(shoal.risk.linkage(frame(X * units), frame(Y * units)).chances, plain)
    turned = frame(X)[["c2", "c0", "c1"]].rename(columns={"c0": "x"})
    other = frame(Y).rename(columns={"c0": "x"})
    np.testing.assert_allclose(shoal.risk.linkage(turned, other).chances, plain)


def test_columns_of_all_kinds():
    table = {
        "age": [30, 31, 50, 51],
        "sex": ["f", "m", "f", "m"],
        "born": pa.array([1000, 1001, 9000, None], pa.date32()),
        "constant": [1, 1, 1, 1],
        "none": pa.nulls(4),
    }
    release = {**table, "age": [30.5, 30.5, 50.5, 50.5], "sex": ["f", "f", "x", "m"], "constant": [1.0, 1.0, 1.0, 1.0]}
    found = shoal.risk.linkage(pa.table(table), pl.from_arrow(pa.table(release)))
    assert found.chances.tolist() == [1, 1, 1, 1]
    assert found.groups == 4


def test_codes_are_categories_if_somebody_says_so():
    """As numbers, 3 is nearer to 4 than to 1; as categories, it is as far from both."""
    table, release = pd.DataFrame({"code": [1, 3, 4]}), pd.DataFrame({"code": [1, 1, 4]})
    assert shoal.risk.linkage(table, release, ["code"]).chances.tolist() == [0.5, 0, 1]
    found = shoal.risk.linkage(table, release, ["code"], types={"code": "nominal"})
    np.testing.assert_allclose(found.chances, [1 / 2, 1 / 3, 1])


def test_hierarchies_say_how_far_categories_are():
    places = shoal.Hierarchy.from_nested({"Europe": ["Rome", "Oslo"], "Asia": ["Kyoto", "Delhi"]})
    table, release = pd.DataFrame({"town": ["Rome", "Delhi"]}), pd.DataFrame({"town": ["Oslo", "Kyoto"]})
    assert shoal.risk.linkage(table, release, "town").chances.tolist() == [0.5, 0.5]
    assert shoal.risk.linkage(table, release, "town", hierarchies={"town": places}).chances.tolist() == [1, 1]


def test_ordered_categories_have_a_distance():
    levels = pd.CategoricalDtype(["low", "middle", "high"], ordered=True)
    table = pd.DataFrame({"x": pd.Series(["low", "high", "middle"], dtype=levels)})
    release = pd.DataFrame({"x": pd.Series(["low", "high", "high"], dtype=levels)})
    np.testing.assert_allclose(shoal.risk.linkage(table, release, "x").chances, [1, 1 / 2, 1 / 3])


def test_records_are_matched_by_a_column():
    X = np.random.default_rng(3).normal(size=(30, 2))
    table, release = frame(X).assign(id=np.arange(30)), frame(X).assign(id=np.arange(30))
    found = shoal.risk.linkage(table, release.iloc[::-1], ["c0", "c1"], by="id")
    assert found.correct == 1
    some = shoal.risk.linkage(table, release.iloc[[4, 2, 9]], by="id")
    assert some.correct == some.nearest == some.baseline == pytest.approx(0.1)
    assert np.flatnonzero(some.chances).tolist() == [2, 4, 9]


def test_a_pair_is_read_once_for_several_measures():
    X = np.random.default_rng(3).normal(size=(30, 2))
    pair = Pair.of(frame(X), frame(released(X, np.arange(30) // 3)), None, "x")
    assert repr(pair) == "Pair(2 attributes, 30 of 30 records released)"
    assert shoal.risk.linkage(pair, None).groups == 10
    assert shoal.risk.deviation_disclosure(pair, None).names == ("c0", "c1")


def test_groups_are_numbered_by_first_appearance():
    Y = np.random.default_rng(0).integers(0, 3, (1500, 2)).astype(float)
    for rows in (Y, Y[:900]):
        found = groups_of(rows)
        np.testing.assert_array_equal(found.points[found.of], rows)
        assert np.array_equal(found.sizes, np.bincount(found.of))
        assert len(np.unique(found.points, axis=0)) == len(found.points) == 9


# --- draws ---


def test_a_sample_gives_an_interval_that_covers_the_truth():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    Y = released(X, np.argsort(np.argsort(X[:, 0])) // 5)
    pair = Pair.of(frame(X), frame(Y), None, "x")
    truth = shoal.risk.linkage(pair, None).correct
    found = [shoal.risk.linkage(pair, None, sample=150, random_state=seed) for seed in range(100)]
    assert sum(one.interval[0] <= truth <= one.interval[1] for one in found) >= 93
    assert np.mean([one.correct for one in found]) == pytest.approx(truth, rel=0.05)
    assert np.mean([one.interval[1] - one.interval[0] for one in found]) < 0.05
    assert (~np.isnan(found[0].chances)).sum() == found[0].records == 150


def test_no_right_link_in_a_sample_is_no_proof():
    low, high = distance.sampled_interval(np.zeros(50), 0.2, 1000)
    assert low == 0
    assert 0 < high < 0.05
    assert shoal.risk.linkage(frame(np.eye(5)), frame(np.eye(5)), sample=9).interval is None


# --- partial knowledge ---


def test_intruders_who_know_some_attributes():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(90, 4))
    Y = released(X, rng.permutation(90) // 3)
    found = shoal.risk.partial_linkage(frame(X), frame(Y), known=2)
    assert found.complete
    assert len(found.subsets) == 6
    for names, correct, baseline in zip(found.subsets, found.correct, found.baseline, strict=True):
        alone = shoal.risk.linkage(frame(X), frame(Y), names)
        assert (correct, baseline) == (pytest.approx(alone.correct), alone.baseline)
    assert found.highest == found.correct.max()
    assert found.worst == found.subsets[int(found.correct.argmax())]
    everything = shoal.risk.partial_linkage(frame(X), frame(Y), known=4)
    assert everything.mean == pytest.approx(shoal.risk.linkage(frame(X), frame(Y)).correct)


def test_of_many_subsets_some_are_drawn():
    X = np.random.default_rng(2).normal(size=(20, 6))
    found, again = (shoal.risk.partial_linkage(frame(X), frame(X), known=3, subsets=7) for _ in range(2))
    assert len(set(found.subsets)) == 7
    assert not found.complete
    assert found.subsets == again.subsets


def test_errors_of_the_intruder_protect():
    rng = np.random.default_rng(2)
    table = frame(rng.normal(size=(300, 2))).assign(town=rng.choice(list("abcdef"), 300))
    exact = shoal.risk.partial_linkage(table, table, known=3)
    rough = shoal.risk.partial_linkage(table, table, known=3, error=0.2)
    assert exact.mean == exact.untouched[0] == 1
    assert 0.01 < rough.mean < 0.8
    assert rough.untouched[0] == pytest.approx(rough.mean)  # the release is the table
    wild = shoal.risk.partial_linkage(table[["town"]], table[["town"]], known=1, error=1)
    assert wild.mean == pytest.approx(1 / 50, abs=0.02)


def test_missing_numbers_get_no_error():
    table = pd.DataFrame({"x": [1.0, 2.0, np.nan, 4.0], "none": [1.0, 1.0, 1.0, 1.0]})
    found = shoal.risk.partial_linkage(table, table, known=2, error=1e-6)
    assert found.mean == 1


# --- bad input ---


def pair(**changes):
    base = {"x": [1.0, 2.0, 3.0], "id": [1, 2, 3], "town": ["a", "b", "c"]}
    return pd.DataFrame(base), pd.DataFrame({**base, **changes})


@pytest.mark.parametrize(
    ("changes", "options", "words"),
    [
        ({"x": ["[1, 2]", "[1, 2]", "3"]}, {}, "one kind in both tables. Got double and .*string"),
        ({}, {"columns": ["y"]}, "no column 'y'"),
        ({}, {"columns": ["x"], "types": {"town": "nominal"}}, "must be of its columns. Got 'town'"),
        ({"id": [1, 2, 9]}, {"by": "id"}, "records of the original only. Got 1 others"),
        ({"id": [1, 2, 2]}, {"by": "id"}, "must name each record once"),
        ({"id": [1, 2, None]}, {"by": "id"}, "must name each record once"),
        ({"x": [np.inf, 1, 2]}, {}, "must hold finite numbers"),
        ({}, {"m": 0}, "'m' of shoal.risk.linkage must be a whole number of at least 1"),
        ({}, {"sample": 1}, "'sample' of shoal.risk.linkage must be a whole number of at least 2"),
        ({}, {"columns": ["x"], "types": {"x": "number"}}, "kind of an attribute must be one of"),
    ],
)
def test_bad_input_gets_one_sentence(changes, options, words):
    original, release = pair(**changes)
    with pytest.raises(shoal.ShoalError, match=words):
        shoal.risk.linkage(original, release, options.pop("columns", None), **options)


def test_tables_with_other_rows_or_columns_are_refused():
    original, release = pair()
    with pytest.raises(DataError, match=r"same records in the same order. Got 3 and 2 rows. Hint: name a column"):
        shoal.risk.linkage(original, release[:2])
    with pytest.raises(DataError, match="must have columns in common"):
        shoal.risk.linkage(original[["x"]], release[["town"]])
    with pytest.raises(shoal.ShoalError, match=r"linkage \(release\) has no column 'x'"):
        shoal.risk.linkage(original, release[["town"]], ["x"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"known": 4}, "whole number from 1 to 3"),
        ({"known": 1, "error": -1}, "'error' of shoal.risk.partial_linkage must be a number of at least 0"),
        ({"known": 1, "subsets": 0}, "'subsets'"),
    ],
)
def test_bad_knowledge_is_refused(options, words):
    with pytest.raises(shoal.ShoalError, match=words):
        shoal.risk.partial_linkage(*pair(), **options)


def test_one_record_is_found():
    one = pd.DataFrame({"x": [1.0]})
    assert shoal.risk.linkage(one, pd.DataFrame({"x": [7.0]})).correct == 1


def test_a_sample_of_few_known_columns_has_intervals():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(400, 3))
    pair = Pair.of(frame(X), frame(released(X, np.argsort(np.argsort(X[:, 0])) // 4)), None, "x")
    whole = shoal.risk.partial_linkage(pair, None, known=2)
    assert whole.interval is None
    assert whole.intervals is None
    covered = np.zeros(2)
    for seed in range(300):
        some = shoal.risk.partial_linkage(pair, None, known=2, sample=80, random_state=seed, n_jobs=1)
        covered += (
            some.interval[0] <= whole.mean <= some.interval[1],
            (some.intervals[0, 0] <= whole.correct[0] <= some.intervals[0, 1]),
        )
    assert covered.min() / 3 >= 93
