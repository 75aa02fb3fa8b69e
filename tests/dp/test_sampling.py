"""Safe k-anonymisation after sampling: theorem 10.24 on exact distributions, and the randomness of the sample."""

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from auditing import seeded
from shoal.dp import sampling
from shoal.dp.budget import Budget, Ledger, Neighbours
from shoal.dp.calculators import sampling_delta
from shoal.dp.domain import Coded, Domain
from shoal.dp.sampling import epsilon_safe, kept, strongly_safe
from shoal.errors import BudgetError, OptionError


def numbers(d, upper=99):
    return Domain.of({f"x{j}": {"kind": "integer", "lower": 0, "upper": upper} for j in range(d)})


def published_counts(n, kept_of_64, k):
    """Return the probabilities of what is published of a cell with n records: nothing, or a count of at least k."""
    chances = [Fraction(comb(n, j) * kept_of_64**j * (64 - kept_of_64) ** (n - j), 64**n) for j in range(n + 1)]
    return {0: sum(chances[:k]), **{j: chances[j] for j in range(k, n + 1)}}


def needed_delta(one, other, epsilon):
    """Return the least delta for which `one` is at most exp(epsilon) times as likely as `other`, in every event."""
    factor = Fraction(math.exp(epsilon))
    return sum(max(Fraction(0), chance - factor * other.get(event, 0)) for event, chance in one.items())


@pytest.mark.parametrize(
    ("k", "kept_of_64", "epsilon"),
    [
        (3, 16, 0.3),
        (5, 6, 0.25),
        (5, 32, 0.7),
        (10, 6, 0.5),
        (10, 42, 1.4),
        (20, 32, 1.1),
    ],
)
def test_the_theorem_holds_for_every_size_of_a_cell(k, kept_of_64, epsilon):
    """The exact delta of tables with n and n + 1 records in a cell, both ways: no Monte Carlo, no bound."""
    claimed = Fraction(sampling_delta(k, kept_of_64 / 64, epsilon))
    exact = []
    for n in range(0, 6 * k):
        fewer, more = published_counts(n, kept_of_64, k), published_counts(n + 1, kept_of_64, k)
        exact += [needed_delta(more, fewer, epsilon), needed_delta(fewer, more, epsilon)]
    assert claimed / 200 < max(exact) <= claimed
    # Without the threshold, a single record in a cell of its own would show with probability beta.
    alone = published_counts(1, kept_of_64, 1), published_counts(0, kept_of_64, 1)
    assert needed_delta(*alone, epsilon) == Fraction(kept_of_64, 64) > claimed


def test_records_are_kept_with_the_rate_by_the_operating_system(monkeypatch):
    np.random.seed(0)  # noqa: NPY002 - it must not matter
    first = kept(4000, Fraction(1, 8))
    np.random.seed(0)  # noqa: NPY002
    assert (kept(4000, Fraction(1, 8)) != first).any()
    # 64 bits below 2^61 and not: exactly one eighth.
    bits = np.array([0, 2**61 - 1, 2**61, 2**64 - 1], np.uint64)
    monkeypatch.setattr(sampling.os, "urandom", lambda size: bits.tobytes()[:size])
    assert kept(4, Fraction(1, 8)).tolist() == [True, True, False, False]


def test_what_is_published_are_cells_with_at_least_k(monkeypatch):
    values = np.repeat([3, 40, 77], [100, 30, 3])[:, None]
    monkeypatch.setattr(sampling, "kept", lambda n, rate: np.arange(n) % 2 == 0)
    ledger = Ledger(Budget(1, 0.01))
    released = strongly_safe(Coded(numbers(1), values), ledger, k=5, beta=0.25, bins=10, form="aggregated")
    assert released.positions[:, 0].tolist() == [4.5, 44.5]
    assert released.counts.tolist() == [200, 60]
    (entry,) = ledger.entries
    assert (entry.epsilon, float(entry.delta)) == (1, sampling_delta(5, 0.25, 1.0))
    assert strongly_safe(Coded(numbers(1), values), Ledger(Budget(1, 0.01)), k=200, beta=0.2).positions.shape == (0, 1)


def test_cells_are_those_of_the_declared_domain():
    domain = Domain.of(
        {"x": {"kind": "integer", "lower": 0, "upper": 10}, "y": {"kind": "ordinal", "values": list("abc")}}
    )
    coded = Coded(domain, np.array([[x, y] for x in range(11) for y in range(3)]))
    sizes = sampling.grid.coarse_sizes(domain, 4)
    assert sizes == (4, 3)
    cells = sampling.grid.cells_of(coded, sizes)
    lower, upper = sampling.grid.bounds(domain, sizes, np.arange(12))
    assert (lower[0], upper[-1]) == (pytest.approx([0, 0]), pytest.approx([10, 2]))
    assert ((lower[cells] <= coded.codes) & (coded.codes <= upper[cells])).all()
    assert int((upper - lower + 1).prod(axis=1).sum()) == len(coded.codes)


def test_auto_takes_the_highest_rate_that_delta_allows(monkeypatch):
    coded = Coded(numbers(1), np.zeros((1000, 1), np.int64))
    rates = []
    monkeypatch.setattr(sampling, "kept", lambda n, rate: rates.append(rate) or np.ones(n, bool))
    for epsilon, delta in ((0.1, 1e-6), (1, 1e-6), (1, 1e-9)):
        ledger = Ledger(Budget(epsilon, delta))
        strongly_safe(coded, ledger, k=20)
        assert ledger.spent[1] <= ledger.budget.delta
        try:
            assert sampling_delta(20, float(rates[-1] + Fraction(1, sampling.RATES)), epsilon) > delta
        except OptionError:
            assert -math.log1p(-float(rates[-1]) - 1 / sampling.RATES) > epsilon
    assert rates[0] < rates[1] > rates[2]


def test_boxes_of_epsilon_safe_are_paid_too(monkeypatch):
    seeded(monkeypatch)
    coded, ledger = Coded(numbers(2), np.random.default_rng(0).integers(0, 100, (20_000, 2))), Ledger(Budget(2, 1e-6))
    released = epsilon_safe(coded, ledger, share=0.25, form="aggregated")
    sample = ledger.entries[0]
    assert sample.epsilon == Fraction(3, 2)
    assert float(sum(entry.epsilon for entry in ledger.entries[1:])) == pytest.approx(0.5)
    assert {entry.delta for entry in ledger.entries[1:]} == {0}
    assert len(released.positions) > 10
    assert 15_000 < released.counts.sum() < 21_000


@pytest.mark.parametrize("release", [strongly_safe, epsilon_safe])
def test_what_is_refused_is_refused_before_anything_is_drawn(release, monkeypatch):
    monkeypatch.setattr(sampling, "kept", lambda *_: pytest.fail("a sample was drawn"))
    monkeypatch.setattr("shoal.dp.mechanisms.drawn", lambda *_: pytest.fail("noise was drawn"))
    coded = Coded(numbers(1), np.zeros((50, 1), np.int64))
    with pytest.raises(BudgetError, match="nothing was drawn"):
        release(coded, Ledger(Budget(1, 1e-12)), k=20, beta=0.25)
    with pytest.raises(OptionError, match=r"at least -log\(1 - beta\)"):
        release(coded, Ledger(Budget(0.1, 1e-2)), k=20, beta=0.25)
    with pytest.raises(OptionError, match="Its delta is too small"):
        release(coded, Ledger(Budget(1)), k=20)
    with pytest.raises(OptionError, match="units of one row"):
        release(coded, Ledger(Budget(1, 1e-2), Neighbours(2, "person")), k=20)
