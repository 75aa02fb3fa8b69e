"""Budgets and ledgers against plain arithmetic."""

import math
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from shoal.dp import mechanisms
from shoal.dp.budget import Budget, Ledger, Neighbours, shown
from shoal.errors import BudgetError, OptionError


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan, "much", None, True, -1e-300])
def test_an_epsilon_that_is_none_is_refused(epsilon):
    with pytest.raises(OptionError, match="epsilon"):
        Budget(epsilon)


@pytest.mark.parametrize("delta", [-1e-9, 1, 2, math.nan, "some"])
def test_a_delta_that_is_none_is_refused(delta):
    with pytest.raises(OptionError, match="delta"):
        Budget(1, delta)


def test_numbers_are_what_was_written():
    assert Budget(0.1).epsilon == Fraction(1, 10)
    assert Budget("0.1", np.float64(1e-9)) == Budget(Decimal("0.1"), Fraction(1, 10**9))
    ledger = Ledger(Budget(1))
    for _ in range(10):
        ledger.charge("a tenth", 0.1)
    assert ledger.remaining == (0, 0)  # the doubles would add up to 0.9999999999999999


def test_what_is_shown_is_never_less_than_what_was_spent():
    assert shown(Fraction(1, 3)) == "0.333334"
    assert shown(Fraction(1)) == "1"
    assert shown(Fraction(2, 10**9)) == "2e-9"
    generator = random.Random(1)
    for _ in range(300):
        value = Fraction(generator.randrange(1, 10**9), generator.randrange(1, 10**12))
        assert value <= Fraction(shown(value)) < value * Fraction(100002, 100000)


def test_shares_add_up_exactly():
    budget = Budget(0.7)
    shares = budget.split([1, 0.1, "0.3", Fraction(1, 3)])
    assert sum(shares) == budget.epsilon
    assert shares[1] * 10 == shares[0]
    with pytest.raises(OptionError):
        budget.split([1, -1])


def compositions(runs, seed):
    """Charge at random; compare what is refused and what is left with plain arithmetic on whole numbers."""
    generator = random.Random(seed)
    scale = 10**6
    refused = 0
    for _ in range(runs):
        total = (generator.randrange(1, 4 * scale), generator.randrange(0, scale // 2))
        ledger = Ledger(Budget(Fraction(total[0], scale), Fraction(total[1], scale)))
        left = list(total)
        for _ in range(generator.randrange(1, 12)):
            asked = (generator.randrange(0, scale), generator.choice([0, 0, generator.randrange(0, scale // 8)]))
            fits = asked[0] <= left[0] and asked[1] <= left[1]
            cost = [Fraction(one, scale) for one in asked]
            in_boxes = generator.random() < 0.3 and asked[0] > 0
            before = ledger.entries
            if not fits:
                refused += 1
                with pytest.raises(BudgetError):
                    (ledger.parallel if in_boxes else ledger.charge)("something", *cost)
                assert ledger.entries == before
                continue
            if in_boxes:
                boxes = ledger.parallel("something", *cost)
                for box in range(3):  # each box has the whole of it, once
                    boxes[box].charge("inside", cost[0] / 2)
                    boxes[box].charge("inside", cost[0] / 2)
                    with pytest.raises(BudgetError):
                        boxes[box].charge("once more", Fraction(1, scale**3))
            else:
                ledger.charge("something", *cost)
            left = [left[0] - asked[0], left[1] - asked[1]]
        assert ledger.remaining == (Fraction(left[0], scale), Fraction(left[1], scale))
        assert sum(entry.epsilon for entry in ledger.entries) == Fraction(total[0] - left[0], scale)
    return refused


def test_compositions_are_plain_sums():
    assert compositions(300, 1) > 100


@pytest.mark.long
def test_ten_thousand_compositions_are_plain_sums():
    assert compositions(10_000, 2) > 1000


def test_sequential_composition_is_that_of_opendp():
    opendp = mechanisms.library()
    costs = [0.5, 0.25, 1.0, 0.125]
    space = mechanisms._vectors(), opendp.l1_distance(T="i64"), opendp.max_divergence()
    composed = opendp.c.make_adaptive_composition(*space, d_in=1, d_mids=costs)
    ledger = Ledger(Budget(2))
    for cost in costs:
        ledger.charge("an answer", Fraction(cost))
    assert float(ledger.spent[0]) == composed.map(1) == 1.875


def test_neighbours_are_told_in_words():
    assert str(Neighbours()) == "add or remove one record"
    assert str(Neighbours(3, "person")) == "add or remove one unit (person) with at most 3 rows"
    for wrong in ({"rows": 0}, {"rows": 2}, {"rows": True, "unit": "x"}):
        with pytest.raises(OptionError):
            Neighbours(**wrong)


def test_boxes_with_a_delta_are_about_single_rows():
    with pytest.raises(OptionError, match="one row"):
        Ledger(Budget(1, 0.1), Neighbours(2, "person")).parallel("boxes", 0.1, 0.01)


def test_a_ledger_prints_itself():
    ledger = Ledger(Budget(1, 1e-6), Neighbours(2, "household"))
    ledger.charge("counts", 0.25)
    ledger.parallel("medians of boxes", Fraction(1, 3))
    assert ledger.to_plain() == {
        "epsilon": "1",
        "delta": "1e-6",
        "neighbours": "add or remove one unit (household) with at most 2 rows",
        "spent": {"epsilon": "0.583334", "delta": "0"},
        "entries": [
            {"what": "counts", "epsilon": "0.25", "delta": "0", "composed": "sequential"},
            {"what": "medians of boxes", "epsilon": "0.333334", "delta": "0", "composed": "parallel"},
        ],
    }
    assert "spent" in str(ledger)
    assert "medians of boxes    0.333334" in str(ledger)
