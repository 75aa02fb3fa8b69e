"""Repair and cuts against plain loops, and what every repaired partition must be."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from invariants import check_partition, same_groups
from privacy.demand_strategies import SPECS, demanding_tables, error
from shoal.errors import DataError
from shoal.partitioning import cutting, merging
from shoal.partitioning.cutting import median_cuts, recut
from shoal.partitioning.merging import AGAIN
from shoal.partitioning.pool import Pool
from shoal.partitioning.repair import repair
from shoal.privacy.classes import by_first_row
from shoal.privacy.demands import Demand, offending
from shoal.privacy.diversity import DistinctDiversity
from shoal.privacy.model import SensitiveModel
from shoal.privacy.models import model
from shoal.privacy.tally import GAP, DemandTally
from shoal.release.groups.rules import of_units, requirements_of
from shoal.tables.sensitive import Sensitive


def repaired(X, labels, k, demands, *, rows=None, resplit=True):
    return repair(X, labels, k, requirements_of(X, k, demands, rows=rows), resplit=resplit)


@given(demanding_tables(), st.booleans())
@settings(max_examples=120)
def test_what_is_repaired_is_accepted(case, resplit):
    X, k, demands, rows, labels = case
    found = repaired(X, labels, k, demands, rows=rows, resplit=resplit)
    check_partition(found, len(X), k)
    assert not offending(found, demands, rows, X).any()
    if not resplit:  # nothing is torn apart
        assert len(set(zip(labels.tolist(), found.tolist(), strict=True))) == labels.max() + 1


@given(demanding_tables())
@settings(max_examples=60)
def test_cuts_lower_the_error_and_keep_what_holds(case):
    X, k, demands, rows, labels = case
    merged = repaired(X, labels, k, demands, rows=rows, resplit=False)
    cut = repaired(X, labels, k, demands, rows=rows)
    assert error(X, cut) <= error(X, merged) * (1 + 1e-9) + 1e-12


def plain_merges(X, labels, k, l, codes):  # noqa: E741
    """Merge by rounds in plain loops, for distinct diversity and up to nine groups, which all see each other."""
    groups = [np.flatnonzero(labels == g) for g in range(labels.max() + 1)]

    def gap(rows):
        kinds = len(set(codes[rows].tolist()))
        return 0.0 if kinds >= l else l / kinds - 1 + GAP

    while True:
        bad = [g for g, rows in enumerate(groups) if gap(rows) > 0 or len(rows) < k]
        if not bad or len(groups) == 1:
            break
        wanted = []
        for g in bad:
            costs = []
            for other, rows in enumerate(groups):
                if other != g:
                    a, b = len(groups[g]), len(rows)
                    square = ((X[groups[g]].mean(axis=0) - X[rows].mean(axis=0)) ** 2).sum()
                    union = np.concatenate([groups[g], rows])
                    enough = gap(union) == 0 and len(union) >= k
                    costs.append((a * b / (a + b) * square * (1 if enough else AGAIN * (1 + gap(union))), other))
            wanted.append((min(costs), g))
        used = set()
        for (_, other), g in sorted(wanted, key=lambda one: one[0][0]):
            if not used & {g, other}:
                used |= {g, other}
                groups[min(g, other)] = np.concatenate([groups[g], groups[other]])
                groups[max(g, other)] = np.empty(0, np.int64)
        groups = [rows for rows in groups if len(rows)]
    found = np.empty(len(X), np.int64)
    for g, rows in enumerate(groups):
        found[rows] = g
    return found


@pytest.mark.parametrize("d", [1, 2, 4, 5, 7, 8, 13])
@pytest.mark.parametrize("width", [9, 65])
def test_few_groups_are_looked_at_as_the_tree_does(d, width):
    rng = np.random.default_rng(d)
    means = rng.normal(size=(80, d)) * 10.0 ** rng.integers(-3, 4, d)
    queries = means[rng.choice(80, 30, replace=False)]
    distances, nearest = merging._found_plainly(means, queries, width)
    others, numbers = merging._tree(means).query(queries, k=width)
    assert distances.tobytes() == others.tobytes()
    np.testing.assert_array_equal(nearest, numbers)


def test_ties_and_what_is_not_finite_are_left_to_the_tree(monkeypatch):
    means = np.array([[0.0, 0.0], [3.0, 4.0], [4.0, 3.0], [9.0, 9.0]])
    assert merging._found_plainly(means, means[:1], 2) is None  # which of the two comes second
    assert merging._found_plainly(means, means[3:], 2) is None
    assert merging._found_plainly(means[[0, 1, 3]], means[:1], 2)[1].tolist() == [[0, 1]]
    assert merging._found_plainly(means * 1e200, means[:1], 4) is None
    asked = []
    monkeypatch.setattr(merging, "_tree", lambda means: asked.append(len(means)) or cKDTree(means))
    merging._finder(means)(means[:1], 2)
    merging._finder(means[[0, 1, 3]])(means[:1], 2)
    assert asked == [4]


def test_an_index_finds_the_same_groups_to_merge_with(monkeypatch):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(3000, 6)), rng.integers(0, 4, 3000)
    demand = Demand(DistinctDiversity(3), Sensitive("disease", codes, 4))
    found = repaired(X, np.arange(3000) // 3, 3, [demand], resplit=False)
    used = []
    monkeypatch.setattr(merging, "FEW", 0)
    monkeypatch.setattr(merging, "MANY", 0)
    monkeypatch.setattr(merging, "Pool", lambda means: used.append(len(means)) or Pool(means))
    np.testing.assert_array_equal(repaired(X, np.arange(3000) // 3, 3, [demand], resplit=False), found)
    assert used[0] == 1000


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(2, 4))
@settings(max_examples=100)
def test_mergers_are_those_of_plain_loops(seed, k, l):  # noqa: E741
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 40))
    X, codes = rng.normal(size=(n, 2)), np.concatenate([np.arange(4), rng.integers(0, 4, n - 4)])
    labels = np.unique(rng.integers(0, 9, n), return_inverse=True)[1]
    demand = Demand(DistinctDiversity(l), Sensitive("disease", codes, 4))
    found = repaired(X, labels, k, [demand], resplit=False)
    assert same_groups(found, plain_merges(X, labels, k, l, codes))


def test_unions_are_judged_only_where_it_can_change_the_choice(monkeypatch):
    rng, judged = np.random.default_rng(0), []
    X, codes = rng.integers(0, 3, (300, 2)).astype(float), rng.integers(0, 4, 300)
    asked = DemandTally.gaps
    monkeypatch.setattr(
        DemandTally, "gaps", lambda self, first, second: judged.append(len(first)) or asked(self, first, second)
    )
    alike = np.argsort(np.argsort(X @ [3, 1], kind="stable"), kind="stable") // 2
    demand = Demand(DistinctDiversity(4), Sensitive("disease", codes, 4))
    labels = repaired(X, alike, 2, [demand], resplit=False)
    assert not offending(labels, [demand]).any()
    # Nearly all of the 150 groups have the mean of another: all nine unions of each were judged before.
    assert judged[0] < 150


def plain_cuts(x, rows, k, good):
    """Cut records of a line at the cheapest allowed place, again and again."""
    rows = rows[np.argsort(x[rows], kind="stable")]
    best = None
    for a in range(k, len(rows) - k + 1):
        if good(rows[:a]) and good(rows[a:]):
            left = sum(((x[part] - x[part].mean()) ** 2).sum() for part in (rows[:a], rows[a:]))
            if best is None or left < best[0]:
                best = (left, a)
    if best is None:
        return [rows]
    return plain_cuts(x, rows[: best[1]], k, good) + plain_cuts(x, rows[best[1] :], k, good)


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=100)
def test_cuts_are_the_cheapest_of_all(seed, k, l):  # noqa: E741
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    X, codes = rng.normal(size=(n, 1)), rng.integers(0, 3, n)
    labels = np.unique(rng.integers(0, 3, n), return_inverse=True)[1]

    def good(rows):
        return len(rows) >= k and len(set(codes[rows].tolist())) >= l

    def short(rows, own):
        return np.array([not good(rows[own == g]) for g in range(own.max() + 1)])

    found = recut(X, labels, k, short)
    parts = [
        part for g in range(labels.max() + 1) for part in plain_cuts(X[:, 0], np.flatnonzero(labels == g), k, good)
    ]
    wanted = np.empty(n, np.int64)
    for g, rows in enumerate(parts):
        wanted[rows] = g
    assert same_groups(found, wanted)


def test_large_groups_are_cut_where_some_positions_are_tried(monkeypatch):
    monkeypatch.setattr("shoal.partitioning.cutting.OF_ONE", 64)
    monkeypatch.setattr("shoal.partitioning.cutting.AT_ONCE", 128)
    X = np.random.default_rng(0).normal(size=(300, 3))
    found = recut(X, np.zeros(300, np.int64), 3, lambda _, own: np.zeros(own.max() + 1, bool))
    sizes = np.bincount(found)
    assert sizes.min() >= 3
    assert sizes.max() < 6


@given(demanding_tables(specs=SPECS))
@settings(max_examples=60)
def test_median_cuts_keep_what_holds(case):
    X, k, demands, rows, _ = case

    def short(own, labels):
        return (np.bincount(labels) < k) | offending(labels, demands, rows[own])

    found = by_first_row(median_cuts(X, k, short))[0]
    check_partition(found, len(X), k)
    assert not offending(found, demands, rows).any()


def test_median_cuts_without_a_demand_are_plain_ones():
    """Halves along the widest coordinate, down to less than 2k records."""
    X = np.arange(64.0)[:, None]
    found = median_cuts(X, 4, lambda _, own: np.bincount(own) < 4)
    assert same_groups(found, np.arange(64) // 4)


def test_units_are_kept_by_cuts_and_mergers():
    rng = np.random.default_rng(1)
    X, units = rng.normal(size=(80, 2)), np.arange(80) // 4
    demand = Demand(DistinctDiversity(2), Sensitive("disease", np.arange(80) % 3, 3))
    found = repaired(X, np.arange(80) // 4, 4, [demand, of_units(units, 3)])
    assert min(len(set(units[found == g].tolist())) for g in range(found.max() + 1)) == 3
    assert found.max() > 3


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(2)
    X, codes, labels = rng.normal(size=(120, 3)), rng.integers(0, 5, 120), np.arange(120) // 4
    order = rng.permutation(120)
    found = repaired(X, labels, 4, [Demand(DistinctDiversity(4), Sensitive("disease", codes, 5))])
    demand = Demand(DistinctDiversity(4), Sensitive("disease", codes[order], 5))
    again = repaired(X[order], np.unique(labels[order], return_inverse=True)[1], 4, [demand])
    assert same_groups(found[order], again)


def test_what_nobody_can_satisfy_is_refused():
    X = np.zeros((6, 1))
    demand = Demand(DistinctDiversity(3), Sensitive("disease", np.array([0, 0, 0, 1, 1, 1]), 2))
    with pytest.raises(DataError, match=r"distinct-diversity l=3 on 'disease'. Got 2 for all 6 records"):
        repaired(X, np.zeros(6, np.int64), 2, [demand])
    fine = Demand(DistinctDiversity(2), demand.sensitive)
    with pytest.raises(DataError, match="at least 7 records"):
        repaired(X, np.zeros(6, np.int64), 7, [fine])


def test_a_model_that_looks_around_is_measured_as_a_whole():
    """Of a model that is not monotone, no union is measured alone: it is given the places of all groups."""
    seen = []

    class Watching(DistinctDiversity):
        monotone = False

        def measure(self, spectrum, centres=None):
            seen.append(centres is not None and len(centres) == spectrum.groups)
            return super().measure(spectrum, centres)

    X = np.arange(24.0)[:, None]
    demand = Demand(Watching(2), Sensitive("disease", np.arange(24) // 4 % 2, 2))
    found = repaired(X, np.arange(24) // 3, 3, [demand])
    assert isinstance(demand.model, SensitiveModel)
    assert all(seen)
    assert not offending(found, [demand], X=X).any()


def test_coordinates_are_not_copied_for_models_that_do_not_look_at_them():
    """Cuts are tried on millions of records at once: copying all their coordinates took gigabytes."""

    class Watched(np.ndarray):
        def __getitem__(self, at):
            raise AssertionError("coordinates were looked up")

    X = np.random.default_rng(0).normal(size=(20, 3)).view(Watched)
    demands = [Demand(DistinctDiversity(2), Sensitive("disease", np.arange(20) % 3, 3))]
    assert not requirements_of(X, 2, demands).falls_short(np.arange(20), np.arange(20) // 4).any()


def test_cuts_are_the_same_however_few_coordinates_are_copied_at_once(monkeypatch):
    rng = np.random.default_rng(3)
    X, labels = rng.normal(size=(90, 7)), np.arange(90) // 30
    required = requirements_of(X, 3, [Demand(DistinctDiversity(2), Sensitive("disease", rng.integers(0, 3, 90), 3))])
    whole = recut(X, labels, 3, required.falls_short)
    monkeypatch.setattr(cutting, "COPIED", 1)
    assert same_groups(recut(X, labels, 3, required.falls_short), whole)


def test_a_repair_without_time_still_satisfies_everything():
    rng = np.random.default_rng(4)
    X, codes = rng.normal(size=(200, 2)), rng.integers(0, 4, 200)
    demands = [Demand(DistinctDiversity(4), Sensitive("disease", codes, 4))]
    required = requirements_of(X, 3, demands)
    hurried = repair(X, np.arange(200) // 4, 3, required, until=0.0, cut_until=0.0)
    assert not offending(hurried, demands).any()
    assert hurried.max() < repair(X, np.arange(200) // 4, 3, required).max()


def in_two(n, k):
    """All cuts of n records in two sides of at least k, by trying all subsets that contain the first one."""
    for size in range(k, n - k + 1):
        for some in combinations(range(1, n), size - 1):
            labels = np.ones(n, np.int64)
            labels[[0, *some]] = 0
            yield labels


@pytest.mark.parametrize("seed", range(12))
def test_the_best_cut_of_a_few_records_is_that_of_all_cuts(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(4, 9)), 2
    X = rng.normal(size=(n, 2))
    demands = [Demand(model("entropy-diversity l=1.8"), Sensitive("disease", rng.integers(0, 2, n), 2))]
    good = [labels for labels in in_two(n, k) if not offending(labels, demands).any()]
    found = cutting.best_halves(X, k, requirements_of(X, k, demands).falls_short)
    if not good:
        assert found is None
    else:
        assert error(X, found) == pytest.approx(min(error(X, labels) for labels in good))


def test_more_than_a_few_records_are_not_cut_in_every_way():
    X = np.zeros((cutting.FEW_RECORDS + 1, 1))
    assert cutting.best_halves(X, 2, lambda rows, labels: np.zeros(int(labels.max()) + 1, bool)) is None
