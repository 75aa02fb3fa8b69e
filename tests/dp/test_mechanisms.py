"""Noisy answers: what they cost, that they are paid before they are drawn, and that they are near the truth."""

from fractions import Fraction

import numpy as np
import pytest

from shoal.dp import mechanisms
from shoal.dp.budget import Budget, Ledger, Neighbours
from shoal.errors import BudgetError, OptionError

VALUES = np.arange(1000)
ASKED = {
    "laplace": lambda ledger, epsilon: mechanisms.laplace(ledger, np.array([[3, 4], [5, 6]]), epsilon, sensitivity=7),
    "noisy_maximum": lambda ledger, epsilon: mechanisms.noisy_maximum(ledger, VALUES[:5], epsilon),
    "monotonic": lambda ledger, epsilon: mechanisms.noisy_maximum(ledger, VALUES[:5], epsilon, monotonic=True),
    "exponential": lambda ledger, epsilon: mechanisms.exponential(ledger, VALUES[:5] / 3, epsilon, sensitivity=0.1),
    "quantile": lambda ledger, epsilon: mechanisms.quantile(ledger, VALUES, VALUES[::50], epsilon),
    "histogram": lambda ledger, epsilon: mechanisms.histogram(ledger, VALUES % 3, 4, epsilon),
    "mean": lambda ledger, epsilon: mechanisms.mean(ledger, VALUES, 0, 900, epsilon),
    "variance": lambda ledger, epsilon: mechanisms.variance(ledger, VALUES, 0, 900, epsilon),
}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("rows", [1, 3])
def test_an_answer_costs_what_was_granted_and_not_more(name, rows):
    for epsilon in (Fraction(1, 3), Fraction(1, 10), Fraction(7)):
        ledger = Ledger(Budget(7), Neighbours(rows, "person"))
        ASKED[name](ledger, epsilon)
        assert epsilon * (1 - Fraction(1, 10**12)) <= ledger.spent[0] <= epsilon


@pytest.mark.parametrize("name", ASKED)
def test_what_cannot_be_paid_is_not_drawn(name, monkeypatch):
    monkeypatch.setattr(mechanisms, "drawn", lambda *_: pytest.fail("noise was drawn"))
    ledger = Ledger(Budget(1))
    ledger.charge("something else", Fraction(3, 4))
    with pytest.raises(BudgetError, match="nothing was drawn"):
        ASKED[name](ledger, Fraction(1, 2))  # parts of a mean or a variance could still be paid
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("epsilon", [0, -1])
def test_an_answer_is_never_for_free(name, epsilon):
    with pytest.raises(OptionError, match="epsilon"):
        ASKED[name](Ledger(Budget(1)), epsilon)


def test_noise_follows_the_sensitivity_and_the_rows(monkeypatch):
    seen = []
    monkeypatch.setattr(mechanisms, "drawn", lambda measurement, data: seen.append(measurement) or data)
    for rows, sensitivity in ((1, 1), (1, 10), (4, 10)):
        ledger = Ledger(Budget(1), Neighbours(rows, "person"))
        mechanisms.laplace(ledger, np.array([1]), 0.5, sensitivity=sensitivity)
    # With scale s, a change by 1 costs 1 / s.
    assert [round(1 / one.map(1), 9) for one in seen] == [2, 20, 80]


def test_answers_are_near_the_truth_for_a_large_epsilon():
    def ledger():
        return Ledger(Budget(1000))

    assert np.abs(mechanisms.laplace(ledger(), np.array([10, 20]), 1000) - [10, 20]).max() <= 1
    assert mechanisms.noisy_maximum(ledger(), np.array([1, 50, 3]), 1000) == 1
    assert mechanisms.exponential(ledger(), np.array([0.1, 0.5, 0.3]), 1000, sensitivity=0.01) == 1
    assert mechanisms.quantile(ledger(), VALUES, np.arange(0, 1000, 10), 1000) in (490, 500, 510)
    assert mechanisms.quantile(ledger(), VALUES, np.arange(0, 1000, 10), 1000, alpha=0.9) in (890, 900, 910)
    assert mechanisms.mean(ledger(), VALUES, 0, 999, 1000) == pytest.approx(499.5, abs=0.5)
    assert mechanisms.mean(ledger(), VALUES, 0, 99, 1000) == pytest.approx(np.clip(VALUES, 0, 99).mean(), abs=0.5)
    assert mechanisms.variance(ledger(), VALUES, 0, 999, 1000) == pytest.approx(VALUES.var(), rel=0.01)
    assert np.abs(mechanisms.histogram(ledger(), VALUES % 3, 4, 1000) - [334, 333, 333, 0]).max() <= 1


def test_answers_about_nothing():
    assert mechanisms.laplace(Ledger(Budget(1)), np.zeros((0, 3), np.int64), 1).shape == (0, 3)
    assert mechanisms.quantile(Ledger(Budget(1)), np.zeros(0, np.int64), np.arange(5), 1) in range(5)
    assert 0 <= mechanisms.mean(Ledger(Budget(1)), np.zeros(0, np.int64), 0, 9, 1) <= 9
    assert mechanisms.variance(Ledger(Budget(1)), np.zeros(0, np.int64), 0, 9, 1) >= 0


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda ledger: mechanisms.laplace(ledger, np.array([1.5]), 1), "whole numbers"),
        (lambda ledger: mechanisms.laplace(ledger, np.array([1]), 1, sensitivity=0), "sensitivity"),
        (lambda ledger: mechanisms.laplace(ledger, np.array([1]), 1, sensitivity=0.5), "sensitivity"),
        (lambda ledger: mechanisms.noisy_maximum(ledger, np.zeros((0,), np.int64), 1), "scores"),
        (lambda ledger: mechanisms.exponential(ledger, np.array([np.inf]), 1), "finite"),
        (lambda ledger: mechanisms.exponential(ledger, np.array([1.0]), 1, sensitivity=0.0), "sensitivity"),
        (lambda ledger: mechanisms.quantile(ledger, VALUES, np.array([3, 2]), 1), "rising"),
        (lambda ledger: mechanisms.quantile(ledger, VALUES, VALUES, 1, alpha=2), "alpha"),
        (lambda ledger: mechanisms.histogram(ledger, np.array([4]), 4, 1), "codes"),
        (lambda ledger: mechanisms.mean(ledger, VALUES, 9, 0, 1), "swapped"),
        (lambda ledger: mechanisms.mean(ledger, VALUES, 0.5, 9, 1), "whole numbers"),
        (lambda ledger: mechanisms.mean(ledger, VALUES, 0, 2**61, 1), "whole numbers up to"),
        (lambda ledger: mechanisms.mean(ledger, VALUES, 0, 2**41, 1), "apart"),
        (lambda ledger: mechanisms.variance(ledger, VALUES, 0, 2**27, 1), "apart"),
        (lambda ledger: mechanisms.exponential(ledger, np.array([1e10]), 1), "not too large"),
        (lambda ledger: mechanisms.laplace(ledger, np.array([2**63], np.uint64), 1), "64 bits"),
    ],
)
def test_what_cannot_be_asked_is_refused(ask, words):
    ledger = Ledger(Budget(1))
    with pytest.raises(OptionError, match=words):
        ask(ledger)
    assert not ledger.entries


def test_sums_that_do_not_fit_change_by_no_more_than_a_row(monkeypatch):
    """4096 numbers at the bounds: their squares sum up to 2^64, which would come out as 0."""
    seen = []
    monkeypatch.setattr(mechanisms, "drawn", lambda measurement, data: seen.append(data.copy()) or data)
    widest = 2**26
    for n in (2047, 2048, 4096):
        seen.clear()
        values = np.repeat([0, widest], n)
        for rows in (values, values[:-1]):
            mechanisms.variance(Ledger(Budget(1)), rows, 0, widest, 1)
        squares = [int(seen[at][0]) for at in (2, 5)]
        assert 0 <= squares[0] - squares[1] <= widest**2
        assert squares[0] == min(2 * n * widest**2, 2**62)
