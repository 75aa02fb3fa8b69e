"""Information loss and group sizes, against plain numpy and by hand."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.errors import DataError, OptionError, ShoalError
from shoal.measure import average_group_size, discernability, group_sizes, information_loss, sse, sst


def plain_sse(X, labels):
    return sum(((X[labels == g] - X[labels == g].mean(axis=0)) ** 2).sum() for g in np.unique(labels))


@pytest.fixture(params=[(30, 1, 3), (200, 4, 20), (500, 13, 2), (50, 2, 50)], ids=str)
def case(request):
    n, d, groups = request.param
    rng = np.random.default_rng(n)
    labels = np.append(np.arange(groups), rng.integers(0, groups, n - groups))
    return rng.normal(size=(n, d)) * rng.uniform(0.1, 9, d), rng.permutation(labels)


# --- loss ---


def test_loss_equals_plain_numpy(case):
    X, labels = case
    assert sse(X, labels) == pytest.approx(plain_sse(X, labels), rel=1e-12, abs=1e-12)
    assert sst(X) == pytest.approx(((X - X.mean(axis=0)) ** 2).sum(), rel=1e-12)
    assert information_loss(X, labels) == pytest.approx(plain_sse(X, labels) / sst(X), rel=1e-12, abs=1e-12)
    assert shoal.information_loss is information_loss


def test_loss_by_hand():
    X = [[0.0, 0.0], [2.0, 0.0], [10.0, 3.0], [10.0, 5.0], [13.0, 4.0]]
    labels = [0, 0, 1, 1, 1]
    # Means (1, 0), (11, 4), and (7, 2.4) of all.
    assert sse(X, labels) == 2 + (1 + 1 + 1 + 1 + 4)
    assert sst(X) == pytest.approx(49 + 5.76 + 25 + 5.76 + 9 + 0.36 + 9 + 6.76 + 36 + 2.56, rel=1e-15)
    assert information_loss(X, labels) == pytest.approx(10 / 149.2, rel=1e-15)


def test_integers_lists_and_frames_are_data_too():
    X = [[0, 1], [4, 1], [9, 2], [9, 8]]
    labels = [0, 0, 1, 1]
    for data in (X, np.array(X), np.array(X, np.float32), pd.DataFrame(X), pl.DataFrame(X, orient="row")):
        assert sse(data, labels) == 8 + 18


def test_one_group_loses_all():
    X = np.random.default_rng(1).normal(size=(99, 3))
    assert information_loss(X, np.zeros(99, int)) == 1.0
    assert sse(X, ["all"] * 99) == sst(X)


def test_groups_of_equal_records_lose_nothing():
    X = np.repeat(np.random.default_rng(1).normal(size=(20, 3)), 5, axis=0)
    assert information_loss(X, np.repeat(np.arange(20), 5)) == pytest.approx(0.0, abs=1e-28)


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, -1e9, 1e100, 1e-100])
def test_equal_records_lose_nothing_in_any_partition(value):
    """Also where the mean of equal numbers is rounded away from them (six times 0.1, divided by 6)."""
    for n in range(2, 60):
        X = np.full((n, 2), value)
        assert information_loss(X, np.arange(n) % 2) == 0.0
        assert information_loss(X, [0] * n) == 0.0
        assert sst(X) == pytest.approx(0.0, abs=1e-28 * value**2)


def test_an_offset_costs_no_digits():
    """At 1e9 plus multiples of 2^-20 the means of four are still exact; the mean of all is rounded."""
    rng = np.random.default_rng(2)
    X = rng.integers(-1000, 1000, size=(64, 3)) * 2.0**-20
    labels = np.repeat(np.arange(16), 4)
    assert sse(X + 1e9, labels) == sse(X, labels)
    assert sst(X + 1e9) == pytest.approx(sst(X), rel=1e-7)
    assert information_loss(X + 1e9, labels) == pytest.approx(information_loss(X, labels), rel=1e-7)


def test_loss_is_between_0_and_1(case):
    X, labels = case
    assert 0.0 <= information_loss(X, labels) <= 1.0
    assert 0.0 <= information_loss(X * 1e9 + 1e9, labels) <= 1.0


def test_loss_does_not_depend_on_the_order_of_records(case):
    X, labels = case
    order = np.random.default_rng(3).permutation(len(X))
    assert sse(X[order], labels[order]) == sse(X, labels)
    assert sst(X[order]) == sst(X)


def test_sums_are_not_swamped_by_large_records():
    """One group costs 1e16, another 1 + 1 + ..: plain summation would lose the ones."""
    X = np.array([[0.0], [2e8]] + [[5e8 + 3 * i + c] for i in range(100) for c in (-1.0, 1.0)])
    labels = np.repeat(np.arange(101), 2)
    assert sse(X, labels) == 2e16 + 200


# --- labels ---


def kinds_of_labels(labels):
    words = np.array([f"group {g}" for g in labels])
    return {
        "list": labels.tolist(),
        "arbitrary integers": labels * -1000 + 7,
        "uint8": labels.astype(np.uint8),
        "floats": labels / 4,
        "truth values": labels > 0,
        "strings": words,
        "objects": words.astype(object),
        "tuple": tuple(words.tolist()),
        "pandas": pd.Series(words, index=np.arange(len(words))[::-1]),
        "categorical": pd.Categorical(words),
        "nullable": pd.array(labels, dtype="Int64"),
        "polars": pl.Series(words.tolist()),
        "dates": np.datetime64("2020-01-01") + labels,
    }


@pytest.mark.parametrize("kind", kinds_of_labels(np.array([0, 1])))
def test_labels_of_any_kind(kind):
    X = np.random.default_rng(0).normal(size=(60, 2))
    labels = np.random.default_rng(1).integers(0, 2 if kind == "truth values" else 6, 60)
    given = kinds_of_labels(labels)[kind]
    assert sse(X, given) == sse(X, labels)
    assert information_loss(X, given) == information_loss(X, labels)
    assert group_sizes(given) == group_sizes(labels)
    assert discernability(given) == discernability(labels)


BAD_LABELS = {
    "too few": [0, 0, 1],
    "too many": [0, 0, 1, 1, 1],
    "none": [],
    "two columns": [[0, 0], [1, 1]],
    "a column": [[0], [0], [1], [1]],
    "a single one": 3,
    "nothing": None,
    "nan": [0.0, np.nan, 1.0, 1.0],
    "inf": [0.0, np.inf, 1.0, 1.0],
    "None": [0, None, 1, 1],
    "None among words": ["a", None, "b", "b"],
    "nan among words": ["a", float("nan"), "b", "b"],
    "nan among objects": np.array(["a", float("nan"), "b", "b"], object),
    "missing in pandas": pd.Series(["a", None, "b", "b"]),
    "missing integer in pandas": pd.array([1, None, 2, 2], dtype="Int64"),
    "missing object in pandas": pd.Series([1, pd.NA, 2, 2], dtype=object),
    "missing category": pd.Categorical(["a", None, "b", "b"]),
    "missing in polars": pl.Series(["a", None, "b", "b"]),
    "missing date": np.array(["2020-01-01", "NaT", "2020-01-02", "2020-01-02"], "datetime64[D]"),
    "masked": np.ma.masked_array([0, 0, 1, 1], [False, True, False, False]),
    "ragged": [[0], [0, 1], [1], [1]],
    "of two kinds": np.array([0, "a", 1, 1], object),
    "complex nan": np.array([0, complex("nan"), 1, 1]),
}


@pytest.mark.parametrize("kind", BAD_LABELS)
@pytest.mark.parametrize("measure", [sse, information_loss])
def test_bad_labels(measure, kind):
    with pytest.raises(DataError, match="The labels must"):
        measure(np.arange(8.0).reshape(4, 2), BAD_LABELS[kind])


@pytest.mark.parametrize("kind", [kind for kind in BAD_LABELS if kind not in ("too few", "too many")])
def test_bad_labels_have_no_sizes(kind):
    with pytest.raises(DataError, match="The labels must"):
        group_sizes(BAD_LABELS[kind])


def test_labels_are_never_modified():
    labels = np.array([5, 5, 2, 2])
    information_loss(np.arange(8.0).reshape(4, 2), labels)
    group_sizes(labels)
    assert labels.tolist() == [5, 5, 2, 2]


@pytest.mark.parametrize(
    "X", [[[np.nan], [1.0]], [1.0, 2.0], [["123456.789"], ["b"]], [[1e300], [-1e300]], np.empty((0, 2)), None]
)
def test_bad_data(X):
    for measure in (lambda: sse(X, [0, 0]), lambda: sst(X), lambda: information_loss(X, [0, 0])):
        with pytest.raises(ShoalError) as caught:
            measure()
        assert "123456" not in str(caught.value)


def test_messages_name_the_measure():
    with pytest.raises(DataError, match="'X' of sst"):
        sst([[np.nan], [1.0]])
    with pytest.raises(DataError, match="'X' of information_loss"):
        information_loss([[np.nan], [1.0]], [0, 0])


# --- sizes ---


def test_group_sizes_by_hand():
    sizes = group_sizes(["b", "a", "b", "c", "b", "a", "c", "c", "c", "d", "d"])
    assert sizes == (11, 4, 2, 4, 2.75, 2.5, {2: 2, 3: 1, 4: 1})
    assert sizes.records == 11
    assert sizes.groups == 4
    assert sizes.smallest == 2
    assert sizes.largest == 4
    assert sizes.mean == 2.75
    assert sizes.median == 2.5
    assert sizes.counts == {2: 2, 3: 1, 4: 1}
    assert {type(value) for value in sizes} == {int, float, dict}
    assert {type(size) for pair in sizes.counts.items() for size in pair} == {int}


def test_group_sizes_agree_with_counting(case):
    _, labels = case
    counted = np.unique(labels, return_counts=True)[1]
    sizes = group_sizes(labels)
    assert sizes.records == len(labels) == sum(size * count for size, count in sizes.counts.items())
    assert sizes.groups == len(counted) == sum(sizes.counts.values())
    assert (sizes.smallest, sizes.largest) == (counted.min(), counted.max())
    assert math.isclose(sizes.mean, counted.mean())
    assert sizes.median == np.median(counted)
    assert list(sizes.counts) == sorted(sizes.counts)


def test_sizes_of_a_partition_hold_k():
    X = np.random.default_rng(0).normal(size=(103, 2))
    sizes = group_sizes(shoal.partition(X, 4, "mdav"))
    assert sizes.smallest >= 4
    assert sizes.largest <= 7
    assert sizes.records == 103


def test_numbers_that_are_not_used_are_no_groups():
    assert group_sizes([0, 0, 10**12, 10**12, -5, -5]).groups == 3
    assert discernability([0, 0, 10**12, 10**12]) == 8


def test_discernability_by_hand():
    assert discernability([0, 0, 1, 1, 1]) == 4 + 9
    assert discernability(["x"] * 1000) == 1_000_000
    assert discernability(range(7)) == 7
    assert isinstance(discernability([0, 0]), int)


def test_average_group_size_by_hand():
    assert average_group_size([0, 0, 1, 1], 2) == 1.0
    assert average_group_size([0, 0, 1, 1, 1], 2) == 1.25
    assert average_group_size(["x"] * 12, 3) == 4.0
    assert isinstance(average_group_size([0, 0], 2), float)


@pytest.mark.parametrize("k", [1, 0, 6, 2.0, "2", None, True])
def test_average_group_size_needs_a_k(k):
    with pytest.raises(OptionError, match="'k' option of average_group_size"):
        average_group_size([0, 0, 1, 1, 1], k)
