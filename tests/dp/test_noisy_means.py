"""Insensitive microaggregation with noise: how far one record can change its sums, proven on neighbouring tables."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditing import seeded
from shoal.dp import mechanisms
from shoal.dp.budget import Budget, Ledger
from shoal.dp.domain import Coded, Domain
from shoal.dp.insensitive import BITS, best_size, cells_of, change_of_sums, noisy_means, sums_of_groups
from shoal.dp.intervals import release_intervals
from shoal.errors import OptionError, TooLargeError
from shoal.partitioning.insensitive import along_hilbert_curve

LAST = 2**BITS - 1


def numbers(d, upper=999):
    return Domain.of({f"x{j}": {"kind": "integer", "lower": 0, "upper": upper} for j in range(d)})


def plain_sums(cells, k, groups):
    """Return the sums by the definition: k records at a time along the curve, its end where none is left."""
    order = list(along_hilbert_curve(cells, BITS))
    end = [LAST] + [0] * (cells.shape[1] - 1)
    rows = [list(map(int, cells[at])) for at in order] + [end] * (k * groups)
    return np.array(
        [[sum(row[j] for row in rows[g * k : (g + 1) * k]) for j in range(len(end))] for g in range(groups)]
    )


@pytest.mark.parametrize(("d", "bits"), [(1, 6), (2, 4), (3, 3), (4, 2)])
def test_what_the_bound_says_of_the_curve(d, bits):
    """All pairs of cells: those h places apart on the curve differ by at most (d + 1) 2^j - d, where 2^(d j) >= h."""
    cells = np.array(list(product(range(2**bits), repeat=d)))
    path = cells[along_hilbert_curve(cells, bits)]
    assert path[0].tolist() == [0] * d
    assert path[-1].tolist() == [2**bits - 1] + [0] * (d - 1)
    for h in range(1, len(path)):
        j = next(j for j in range(bits + 1) if 2 ** (d * j) >= h)
        assert np.abs(path[h:] - path[:-h]).sum(axis=1).max() <= (d + 1) * 2**j - d
    # Blocks of 2^j cells a side are walked through one after the other, each to its end.
    for j in range(bits):
        of_block = [tuple(cell) for cell in path // 2**j]
        assert len(
            {block for block, before in zip(of_block, [None, *of_block], strict=False) if block != before}
        ) == sum(block != before for block, before in zip(of_block, [None, *of_block], strict=False))


@pytest.mark.parametrize(("d", "bits"), [(2, 2), (2, 3), (3, 2)])
def test_no_walk_along_the_curve_is_longer_than_the_bound(d, bits):
    """The longest walk with m steps that never goes back, by dynamic programming over all cells."""
    cells = np.array(list(product(range(2**bits), repeat=d)))
    path = cells[along_hilbert_curve(cells, bits)]
    apart = np.abs(path[:, None] - path[None]).sum(axis=2)
    apart[np.tril_indices(len(path), -1)] = -1
    longest = np.zeros(len(path), int)
    for steps in range(1, 20):
        longest = np.array([(longest[: at + 1] + apart[: at + 1, at]).max() for at in range(len(path))])
        bound = change_of_sums(steps, d, bits)
        assert longest.max() <= bound
        if steps == 1:
            assert longest.max() == bound == d * (2**bits - 1)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_one_record_changes_the_sums_by_no_more_than_claimed(data):
    d, k, groups = (
        data.draw(st.integers(1, most), label=label) for label, most in (("d", 3), ("k", 4), ("groups", 12))
    )
    edge = st.sampled_from([0, 1, LAST // 2, LAST // 2 + 1, LAST - 1, LAST])
    row = st.lists(st.one_of(edge, st.integers(0, LAST)), min_size=d, max_size=d)
    table = np.array(data.draw(st.lists(row, min_size=1, max_size=40)), np.int64)
    more = np.vstack([table, data.draw(row)])
    sums, changed = sums_of_groups(table, k, groups), sums_of_groups(more, k, groups)
    assert (sums == plain_sums(table, k, groups)).all()
    assert np.abs(changed - sums).sum() <= change_of_sums(groups, d)


def test_the_claim_is_reached():
    """With one attribute, and with one group, a smaller claim would be false: both are exact."""
    line = np.repeat(np.linspace(1, LAST, 10).astype(np.int64), 2)[:, None]
    grown = np.vstack([line, [[0]]])
    assert np.abs(sums_of_groups(grown, 2, 10) - sums_of_groups(line, 2, 10)).sum() == LAST == change_of_sums(10, 1)
    # A full group, and a record on the other side of the domain.
    alone, with_it = np.empty((0, 2), np.int64), np.array([[0, LAST]])
    assert np.abs(sums_of_groups(with_it, 1, 1) - sums_of_groups(alone, 1, 1)).sum() == 2 * LAST == change_of_sums(1, 2)


def test_more_groups_cost_less_than_the_paper_says():
    """The paper has groups times d widths; along the curve it grows as groups^(1 - 1 / d)."""
    for d in (2, 3):
        price = {groups: change_of_sums(groups, d) / LAST for groups in (10, 1000, 100_000)}
        assert price[10] <= 10 * d
        assert price[1000] <= 2 * (d + 1) * 1000 ** (1 - 1 / d) * 1.01
        assert price[100_000] <= 2 * (d + 1) * 100_000 ** (1 - 1 / d) * 1.01
    assert {change_of_sums(groups, 1) for groups in (1, 10, 10**6)} == {LAST}


def test_means_are_near_the_truth_and_noise_shrinks_with_k(monkeypatch):
    seeded(monkeypatch)
    values = np.random.default_rng(0).integers(0, 1000, 40_000)[:, None]
    error = {}
    for k in (100, 1000):
        released = noisy_means(Coded(numbers(1), values), Ledger(Budget(1)), k=k, form="aggregated")
        assert set(released.counts) == {k}
        true = np.sort(values[:, 0])[: k * len(released.counts)].reshape(-1, k).mean(axis=1)
        error[k] = np.abs(released.positions[:, 0] - true).mean()
    assert 3 < error[100] < 30
    assert error[1000] < error[100] / 5
    auto = noisy_means(Coded(numbers(1), values), Ledger(Budget(1)), form="aggregated")
    assert best_size(40_000, 1, 0.95) / 2 < auto.counts[0] < 2 * best_size(40_000, 1, 0.95)


def test_the_budget_is_spent_on_two_things(monkeypatch):
    seeded(monkeypatch)
    ledger = Ledger(Budget(1))
    noisy_means(Coded(numbers(2), np.zeros((50, 2), np.int64)), ledger, k=10)
    assert [entry.what.split()[1] for entry in ledger.entries] == ["number", "sums"]
    assert 0.999 < float(ledger.spent[0]) <= 1


def test_a_tiny_epsilon_asks_for_no_more_than_fits(monkeypatch):
    """The noisy number of records may be anything: here it is ten thousand million."""
    monkeypatch.setattr(mechanisms, "drawn", lambda measurement, data: np.full(len(data), 10**10))
    coded = Coded(numbers(1), np.zeros((5, 1), np.int64))
    with pytest.raises(TooLargeError, match="Got 5,000,000,000, by the noisy number"):
        noisy_means(coded, Ledger(Budget(1e-9)), k=2)
    with pytest.raises(TooLargeError, match="Got 10,000,000,000 by noisy counts"):
        release_intervals(coded, Ledger(Budget(1e-9)), alpha=3)


def test_names_have_no_mean():
    domain = Domain.of({"sex": {"kind": "nominal", "values": ["f", "m"]}})
    with pytest.raises(OptionError, match=r"must have an order\. Got 'sex', which is nominal"):
        cells_of(Coded(domain, np.zeros((3, 1), np.int64)))
