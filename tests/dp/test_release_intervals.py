"""ReleaseIntervals: boxes that cover the grid, the number of its noisy counts, and what was mended in the chapter."""

import math

import numpy as np
import pytest

from auditing import seeded
from shoal.dp import intervals, mechanisms
from shoal.dp.budget import Budget, Ledger, Neighbours
from shoal.dp.domain import Coded, Domain
from shoal.dp.intervals import cut, release_intervals


def numbers(d, upper=63):
    return Domain.of({f"x{j}": {"kind": "integer", "lower": 0, "upper": upper} for j in range(d)})


def exactly(monkeypatch):
    """Let mechanisms answer without noise, so that the search itself is what is tested."""
    monkeypatch.setattr(mechanisms, "drawn", lambda measurement, data: data)


def plain_ends(values, size, intervals_wanted, enough):
    """Return the ends of intervals by a loop over positions: close one as soon as it has enough records."""
    ends, inside = [], 0
    for position in range(size):
        inside += int((values == position).sum())
        if inside >= enough and len(ends) < math.ceil(4 / 3 * intervals_wanted):
            ends.append(position)
            inside = 0
    return sorted({*ends, size - 1})


@pytest.mark.parametrize("size", [1, 2, 3, 50, 64])
@pytest.mark.parametrize("wanted", [2, 5, 12])
def test_without_noise_it_is_the_plain_loop(monkeypatch, size, wanted):
    exactly(monkeypatch)
    monkeypatch.setattr(intervals, "CLEAR", 0.0)
    values = np.random.default_rng(size).integers(0, size, 500)
    domain = Domain.of({"x": {"kind": "ordinal", "values": [str(at) for at in range(size)]}})
    boxes, _ = cut(Coded(domain, values[:, None]), Ledger(Budget(100)), Budget(100).epsilon, alpha=6 / wanted)
    assert boxes.upper[:, 0].tolist() == plain_ends(values, size, wanted, len(values) / wanted)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_boxes_cover_every_cell_once(monkeypatch, d):
    seeded(monkeypatch)
    coded = Coded(numbers(d, 15), np.random.default_rng(d).integers(0, 16, (3000, d)))
    boxes, _ = cut(coded, Ledger(Budget(50)), Budget(50).epsilon)
    cells = np.stack(np.meshgrid(*[np.arange(16)] * d), axis=-1).reshape(-1, d)
    holds = ((boxes.lower[:, None] <= cells) & (cells <= boxes.upper[:, None])).all(axis=2)
    assert (holds.sum(axis=0) == 1).all()
    assert len(boxes.lower) > 4
    held = (boxes.lower[boxes.of] <= coded.codes) & (coded.codes <= boxes.upper[boxes.of])
    assert held.all()


@pytest.mark.parametrize(("d", "alpha"), [(1, 0.5), (2, 1.5), (3, 3)])
def test_the_counts_drawn_are_those_paid(monkeypatch, d, alpha):
    """At most sigma counts a box for each of MaxIntervals ends; what they cost together is not above epsilon."""
    drawn = []
    monkeypatch.setattr(mechanisms, "drawn", lambda measurement, data: drawn.append(measurement.map(1)) or data)
    # A single value, so that as written in the chapter the search for ends would never leave it.
    coded, ledger = Coded(numbers(d), np.full((400, d), 31)), Ledger(Budget(1), Neighbours(2, "person"))
    release_intervals(coded, ledger, alpha=alpha)
    searches = d * 6 * math.ceil(8 / alpha)
    assert d + 1 < len(drawn) <= searches + d + 1
    assert 2 * sum(drawn) <= 1 + 1e-12
    assert float(ledger.spent[0]) <= 1


def test_a_heavy_value_keeps_its_weight(monkeypatch):
    """Equal shares, as printed, would give half of the records to the interval that has nearly all."""
    seeded(monkeypatch)
    values = np.append(np.full(9000, 31), np.random.default_rng(0).integers(0, 64, 1000))[:, None]
    released = release_intervals(Coded(numbers(1), values), Ledger(Budget(5)), alpha=0.6, form="aggregated")
    assert len(released.counts) == 2
    assert 9000 < released.counts.max() < 10_000
    assert abs(released.counts.sum() - 10_000) < 100


def test_shares_of_intervals_are_within_the_error_of_the_theorem(monkeypatch):
    """Theorem 10.20 for alpha 0.3: all intervals of positions, on a table of the size that it asks for."""
    from shoal.dp.calculators import release_intervals_size

    seeded(monkeypatch)
    alpha, sigma = 0.3, 4
    n = release_intervals_size(alpha=alpha, epsilon=1.0, sigma=sigma, beta=0.05)
    rng = np.random.default_rng(1)
    values = np.minimum(rng.geometric(0.15, n), 16) - 1
    released = release_intervals(Coded(numbers(1, 15), values[:, None]), Ledger(Budget(1)), alpha=alpha)
    true = np.cumsum(np.bincount(values, minlength=16)) / n
    found = np.cumsum(np.bincount(released.positions[:, 0].astype(int), minlength=16)) / len(released.positions)
    ends = np.append(0, found - true)
    assert np.abs(ends[:, None] - ends[None]).max() <= alpha


def test_synthetic_records_lie_in_boxes_and_need_no_seed(monkeypatch):
    seeded(monkeypatch)
    coded = Coded(numbers(2), np.random.default_rng(0).integers(0, 64, (2000, 2)))
    records = release_intervals(coded, Ledger(Budget(10)))
    assert records.counts is None
    assert records.positions.shape[1] == 2
    assert 1800 < len(records.positions) < 2200
    assert records.positions.min() >= 0
    assert records.positions.max() <= 63
