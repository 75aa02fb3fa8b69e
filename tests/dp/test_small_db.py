"""SmallDB: its utility against the definition, its sensitivity on neighbours, and the sizes that it refuses."""

import math
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditing import seeded
from shoal.dp.budget import Budget, Ledger
from shoal.dp.domain import Coded, Domain
from shoal.dp.small_db import candidates_of, queries_of, ranges, records_of, small_db, utilities
from shoal.errors import TooLargeError


def numbers(d, upper=99):
    return Domain.of({f"x{j}": {"kind": "integer", "lower": 0, "upper": upper} for j in range(d)})


def plain_utility(found, sizes, database):
    """Return minus the worst error over all ranges of cells, as shares: algorithm 24."""
    worst, n = 0.0, sum(found)
    cells = list(product(*map(range, sizes)))
    for low in product(*map(range, sizes)):
        for high in product(*map(range, sizes)):
            inside = [all(a <= c <= b for a, c, b in zip(low, cell, high, strict=True)) for cell in cells]
            share = sum(count for count, is_in in zip(found, inside, strict=True) if is_in) / n
            other = sum(inside[cell] for cell in database) / len(database)
            worst = max(worst, abs(share - other))
    return -worst


@pytest.mark.parametrize(("sizes", "records"), [((4,), 3), ((2, 2), 2), ((3, 2), 2)])
def test_the_utility_is_that_of_the_definition(sizes, records):
    universe = math.prod(sizes)
    found = np.random.default_rng(universe).integers(0, 9, universe)
    listed = list(combinations_with_replacement(range(universe), records))
    candidates = candidates_of(universe, records)
    assert candidates.tolist() == [list(one) for one in listed]
    exact = [plain_utility(found.tolist(), sizes, one) for one in listed]
    scores = utilities(found, ranges(sizes), candidates)
    assert scores / (records * found.sum()) == pytest.approx(exact)
    assert len(ranges(sizes)) == queries_of(sizes)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=4, max_size=4), st.integers(0, 3), st.integers(1, 4))
def test_one_record_changes_no_utility_by_more_than_claimed(found, cell, records):
    candidates, queries = candidates_of(4, records), ranges((4,))
    more = np.array(found)
    more[cell] += 1
    change = np.abs(utilities(more, queries, candidates) - utilities(np.array(found), queries, candidates))
    assert change.max() <= records


def test_it_chooses_a_database_like_the_table(monkeypatch):
    seeded(monkeypatch)
    values = np.random.default_rng(0).choice([5, 30, 55, 80], 5000, p=[0.1, 0.6, 0.2, 0.1])[:, None]
    ledger = Ledger(Budget(1))
    released = small_db(Coded(numbers(1), values), ledger, alpha=0.3, form="aggregated")
    records = records_of((4,), 0.3)
    assert records == math.ceil(math.log(10) / 0.09)
    shares = dict(
        zip(released.positions[:, 0].tolist(), (released.counts / released.counts.sum()).tolist(), strict=True)
    )
    assert shares == pytest.approx({12.0: 0.1, 37.0: 0.6, 62.0: 0.2, 87.0: 0.1}, abs=2 / records)
    assert abs(int(released.counts.sum()) - 5000) < 500
    assert 0.999 < float(ledger.spent[0]) <= 1
    assert len(small_db(Coded(numbers(1), values), Ledger(Budget(1))).positions) > 4000


@pytest.mark.parametrize(
    ("d", "cells", "words"),
    [
        (
            2,
            4,
            r"Got 10\^9: all that 19 records can be in a universe of 16 cells, which would take about \d+ hours",
        ),
        (5, 20, r"Got 10\^\d+: all that 107 records can be in a universe of 3,200,000 cells.*10\^\d+ years"),
    ],
)
def test_large_universes_are_refused_with_the_number_and_the_time(d, cells, words):
    with pytest.raises(TooLargeError, match=words):
        small_db(Coded(numbers(d), np.zeros((3, d), np.int64)), Ledger(Budget(1)), bins=cells)
