"""Probabilistic linkage against pairs that are all written down."""

import numpy as np
import pyarrow as pa
import pytest
from naive_risk import agreement_patterns, expectation_maximisation, pattern_chances, random_rows

import shoal
from shoal.risk import probabilistic as module
from shoal.risk.pairs import Pair


def table_of(rows):
    words = [[None if value is None else f"v{value}" for value in column] for column in zip(*rows, strict=True)]
    return pa.table({f"k{j}": pa.array(column, pa.string()) for j, column in enumerate(words)})


def noisy(rng, rows, levels, share):
    return [
        tuple(int(rng.integers(0, levels[j])) if rng.random() < share else value for j, value in enumerate(row))
        for row in rows
    ]


@pytest.mark.parametrize("seed", range(20))
def test_chances_are_those_of_all_pairs(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    levels = rng.integers(2, 8, d)
    ours = random_rows(rng, 40, levels, gaps=0.1)
    theirs = noisy(rng, ours, levels, 0.2)
    found = shoal.risk.probabilistic_linkage(table_of(ours), table_of(theirs))
    patterns = agreement_patterns(ours, theirs)
    np.testing.assert_allclose(found.chances, pattern_chances(patterns, module._weights(found.matches, found.others)))
    assert found.correct == pytest.approx(found.chances.mean())
    assert found.nearest >= found.correct


@pytest.mark.parametrize("seed", range(8))
def test_patterns_are_counted_without_pairs(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    levels = [3, 4, 2]
    ours = random_rows(rng, 50, levels, gaps=0.1)
    theirs = noisy(rng, ours, levels, 0.3)
    seen = {}
    estimate = module.estimated

    def spy(counts, d, share):
        seen.update(counts=counts, share=share)
        return estimate(counts, d, share)

    monkeypatch.setattr(module, "estimated", spy)
    shoal.risk.probabilistic_linkage(table_of(ours), table_of(theirs))
    pairs = agreement_patterns(ours, theirs)
    assert seen["counts"].tolist() == np.bincount(np.ravel(pairs), minlength=8).tolist()
    assert seen["share"] == 1 / 50


def test_estimates_are_those_of_all_pairs(monkeypatch):
    rng = np.random.default_rng(3)
    levels = [5, 6, 7, 4]
    ours = random_rows(rng, 60, levels)
    pairs = agreement_patterns(ours, noisy(rng, ours, levels, 0.2))
    monkeypatch.setattr(module, "ROUNDS", 30)
    found = module.estimated(np.bincount(np.ravel(pairs), minlength=16).astype(float), 4, 1 / 60)
    np.testing.assert_allclose(found, expectation_maximisation(pairs, 4, 1 / 60, 30), rtol=1e-9)


def test_estimates_find_the_chances_of_agreement():
    """Nobody says which pairs belong together, and yet the share of errors in each column is found."""
    rng = np.random.default_rng(0)
    levels, errors = [40, 50, 60, 30], [0.05, 0.1, 0.3, 0.2]
    ours = random_rows(rng, 1500, levels)
    theirs = [
        tuple(int(rng.integers(0, levels[j])) if rng.random() < errors[j] else v for j, v in enumerate(row))
        for row in ours
    ]
    found = shoal.risk.probabilistic_linkage(table_of(ours), table_of(theirs))
    np.testing.assert_allclose(found.matches, 1 - np.array(errors), atol=0.05)
    np.testing.assert_allclose(found.others, 1 / np.array(levels), rtol=0.1)
    assert found.correct > 0.7


def test_numbers_agree_by_quantile():
    table = pa.table({"x": pa.array([1.0, 2.0, 3.0, 4.0, None])})
    release = pa.table({"x": pa.array([1.4, 1.6, 3.9, 9.0, 2.0])})
    found = shoal.risk.probabilistic_linkage(table, release, bins=2)
    # Below and above 2.5: three rows are below, two are above; the last record agrees with none of them.
    np.testing.assert_allclose(found.chances, [1 / 3, 1 / 3, 1 / 2, 1 / 2, 1 / 5])
    assert (found.baseline, found.untouched) == (1, 1)


def test_columns_without_values_change_nothing():
    rows = random_rows(np.random.default_rng(1), 30, [4, 4])
    table = table_of(rows)
    empty = table.append_column("none", pa.nulls(30)).append_column("gaps", pa.array([None] * 30, pa.float64()))
    found = shoal.risk.probabilistic_linkage(empty, empty)
    np.testing.assert_allclose(found.chances, shoal.risk.probabilistic_linkage(table, table).chances)


def test_too_many_patterns_are_refused(monkeypatch):
    monkeypatch.setattr(module, "LIMIT", 100)
    table = table_of(random_rows(np.random.default_rng(1), 30, [4, 4]))
    with pytest.raises(shoal.ShoalError, match="Hint: compare fewer columns"):
        shoal.risk.probabilistic_linkage(table, table)
    with pytest.raises(shoal.ShoalError, match="'bins' of"):
        shoal.risk.probabilistic_linkage(table, table, bins=1)


def test_a_sample_is_linked_with_an_interval(monkeypatch):
    """The weights are those of the sample: where they rank patterns as those of all do, links are the same."""
    monkeypatch.setattr(module, "ROUNDS", 50)
    rng = np.random.default_rng(2)
    levels = [30, 8, 5]
    ours = random_rows(rng, 300, levels)
    pair = Pair.of(table_of(ours), table_of(noisy(rng, ours, levels, 0.1)), None, "x")
    whole = shoal.risk.probabilistic_linkage(pair, None)
    assert (whole.interval, whole.records) == (None, 300)
    covered = 0
    for seed in range(100):
        some = shoal.risk.probabilistic_linkage(pair, None, sample=100, random_state=seed)
        assert (~np.isnan(some.chances)).sum() == some.records == 100
        covered += some.interval[0] <= whole.correct <= some.interval[1]
    assert covered >= 93
