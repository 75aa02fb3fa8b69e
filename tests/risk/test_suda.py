"""Special uniques against the definition, by brute force, and against sdcMicro."""

import numpy as np
import pyarrow as pa
import pytest
from naive_risk import random_rows, reference, suda_scores

import shoal
from shoal.risk import special_uniques as module
from shoal.risk.keys import Keys


def table_of(rows):
    return pa.table({f"k{j}": pa.array(list(column), pa.int64()) for j, column in enumerate(zip(*rows, strict=True))})


@pytest.mark.parametrize("seed", range(60))
def test_scores_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    rows = random_rows(rng, int(rng.integers(1, 70)), rng.integers(1, 9, d), gaps=float(rng.choice([0.0, 0.2])))
    fraction = float(rng.uniform(0.05, 1))
    found = shoal.risk.suda(table_of(rows), [f"k{j}" for j in range(d)], fraction)
    scores, dis, parts = suda_scores(rows, fraction)
    assert found.scores.tolist() == scores
    np.testing.assert_allclose(found.dis_scores, dis, rtol=1e-10)
    np.testing.assert_allclose(found.contributions, parts, rtol=1e-12)
    total = sum(scores)
    overall = np.array(scores) @ np.array(parts) / total if total else np.zeros(d)
    np.testing.assert_allclose(found.attributes, overall, rtol=1e-12)


def test_by_hand():
    """The third is alone with its age; the first with sex and town together; the others are twins."""
    table = pa.table({"sex": ["f", "m", "m", "m", "f"], "town": ["A", "A", "B", "A", "B"], "age": [1, 1, 2, 1, 1]})
    found = shoal.risk.suda(table, ["sex", "town", "age"])
    # (f, A) and nothing smaller: 1! = 1. Age 2: 2! = 2, and (m, B): 1. (f, B): 1, (B, 1): 1.
    assert found.scores.tolist() == [1, 0, 3, 0, 2]
    assert found.contributions[2].tolist() == [1 / 3, 1 / 3, 2 / 3]
    assert found.sizes.tolist() == [1, 4, 0]


def test_scores_are_those_of_sdcmicro():
    theirs, table = reference("sdcmicro_risk.json.gz")["suda"], reference("testdata.csv.gz")
    found = shoal.risk.suda(table, theirs["variables"], 0.1)
    assert found.scores.tolist() == theirs["score"]
    np.testing.assert_allclose(found.dis_scores, theirs["disScore"], atol=1e-7)  # sdcMicro's are in single precision
    np.testing.assert_allclose(found.contributions, theirs["contribution"], atol=1e-9)
    wanted = {one["variable"]: one["contribution"] for one in theirs["attribute"]}
    ours = dict(zip(found.names, 100 * found.attributes, strict=True))
    assert ours == pytest.approx(wanted, rel=1e-9)


def test_only_small_sets_on_request():
    rng = np.random.default_rng(1)
    rows = random_rows(rng, 80, [4, 4, 4, 4])
    names = ["k0", "k1", "k2", "k3"]
    every, small = (shoal.risk.suda(table_of(rows), names, largest=largest) for largest in (None, 2))
    assert small.sizes.tolist() == [*every.sizes[:2].tolist(), 0, 0]
    assert every.sizes[2:].sum() > 0


@pytest.mark.parametrize("seed", range(5))
def test_numbers_that_occur_once_are_found_without_sorting(seed):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 2**61, 2000)[rng.integers(0, 2000, 4000)]
    place, times = np.unique(numbers, return_inverse=True, return_counts=True)[1:]
    np.testing.assert_array_equal(module._alone_hashed(numbers), times[place] == 1)


def test_columns_with_many_values_need_no_more_room():
    """The product of the numbers of values goes beyond 64 bits."""
    rng = np.random.default_rng(0)
    rows = random_rows(rng, 400, [300] * 4)
    prepared = Keys.of(table_of(rows), [f"k{j}" for j in range(4)], "x")
    wide = Keys(
        prepared.names, tuple(c * 10**7 for c in prepared.codes), (10**10,) * 4, prepared.classes, prepared.sizes
    )
    assert shoal.risk.suda(wide, None).scores.tolist() == suda_scores(rows, 0.1)[0]


def test_prepared_keys_stand_for_the_table():
    rows = random_rows(np.random.default_rng(4), 50, [3, 3, 3])
    table, names = table_of(rows), ["k0", "k1", "k2"]
    prepared = Keys.of(table, names, "x")
    assert shoal.risk.suda(prepared, names).scores.tolist() == shoal.risk.suda(table, names).scores.tolist()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fraction": 0}, "'fraction' of shoal.risk.suda must be above 0 and at most 1. Got 0."),
        ({"fraction": 1.5}, "at most 1"),
        ({"largest": 3}, "whole number from 1 to 2. Got 3"),
        ({"largest": 1.0}, "whole number"),
    ],
)
def test_bad_options_are_refused(options, words):
    with pytest.raises(shoal.ShoalError, match=words):
        shoal.risk.suda(table_of([(1, 2), (3, 4)]), ["k0", "k1"], **options)


def test_what_would_take_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(module, "LIMIT", 10)
    with pytest.raises(shoal.ShoalError, match="Got 3 sets of 4 classes"):
        shoal.risk.suda(table_of([(i, i) for i in range(4)]), ["k0", "k1"])
