"""Private Mondrian and the histogram: sensitivities, budgets, and what leaves."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbours import MIXED, table

from shoal.dp import Budget, Coded, Domain, Ledger, Neighbours, mechanisms
from shoal.dp.cuts import UNIT, places, scores
from shoal.dp.grids import histogram_release, nonnegative
from shoal.dp.leaves import _sums
from shoal.dp.mondrian import grown, mondrian
from shoal.dp.registry import find, releases
from shoal.dp.trees import Tree, consistent
from shoal.errors import OptionError, TooLargeError, UnknownMethodError

LINE = Domain.of({"x": {"kind": "integer", "lower": 0, "upper": 3}})


# --- sensitivities, as claimed ---


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 40), st.data())
def test_a_further_record_raises_scores_by_a_unit_at_most_and_lowers_none(seed, n, data):
    coded = table(MIXED, n + 1, seed)
    lower = np.array([data.draw(st.integers(0, size - 1)) for size in MIXED.sizes])
    upper = np.array([data.draw(st.integers(int(low), size - 1)) for low, size in zip(lower, MIXED.sizes, strict=True)])
    codes = np.clip(coded.codes, lower, upper)
    found = places(MIXED, lower, upper)
    with_it = scores(MIXED, found, lower, upper, codes)
    without = scores(MIXED, found, lower, upper, codes[:-1])
    assert (with_it >= without).all()
    assert (with_it - without <= UNIT).all()
    assert (found.expected <= UNIT).all()


def test_a_record_at_the_edge_of_a_box_raises_a_score_by_the_whole_unit():
    lower, upper = np.array([2, 10]), np.array([7, 60])
    domain = Domain.of(
        {"a": {"kind": "integer", "lower": 0, "upper": 9}, "b": {"kind": "integer", "lower": 0, "upper": 99}}
    )
    found = places(domain, lower, upper)
    corner = scores(domain, found, lower, upper, np.array([[2, 60]]))
    assert corner.max() == UNIT


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30))
def test_a_further_record_changes_sums_by_a_unit_an_attribute_at_most(seed, n):
    coded = table(MIXED, n, seed)
    changes = []
    for rows in (n, n - 1):
        tree = Tree.of(MIXED.sizes, rows, 0.0, 1.0)
        few = Coded(MIXED, coded.codes[:rows])
        left = few.codes[:, 0] < 4
        tree.order = np.concatenate([np.flatnonzero(left), np.flatnonzero(~left)])
        tree.divide(0, 0, 4, int(left.sum()))
        boxes = [np.array(side)[tree.leaves] for side in (tree.lower, tree.upper)]
        changes.append(_sums(few, tree, [0, 1], [2, 3], *boxes))
    assert np.abs(changes[0] - changes[1]).sum() <= 4 * UNIT
    assert np.abs(changes[0] - changes[1]).sum() >= 2 * UNIT


# --- the budget ---


@pytest.mark.parametrize("release", releases(), ids=lambda one: one.name)
@pytest.mark.parametrize("rows", [1, 3])
def test_a_release_spends_its_budget_and_no_more(release, rows):
    if (rows > 1 and not release.units) or release.delta:
        pytest.skip("it takes single rows, or needs a delta")
    small = Domain.of(
        {"a": {"kind": "integer", "lower": 0, "upper": 9}, "b": {"kind": "nominal", "values": ["x", "y"]}}
    )
    if release.kinds:
        pytest.skip("it takes some kinds of columns only")
    for epsilon in (Fraction(1, 3), Fraction(20)):
        ledger = Ledger(Budget(epsilon), Neighbours(rows, "person"))
        made = release.load()(table(small, 500, 1), ledger, **release.checked({}))
        assert epsilon * Fraction(999_999, 1_000_000) <= ledger.spent[0] <= epsilon
        assert set(made.table().column_names) - {"count"} == {"a", "b"}


def test_noise_is_drawn_in_one_place_and_after_it_was_paid(monkeypatch):
    ledgers, kinds = [], []
    real = mechanisms.drawn

    def watching(measurement, data):
        ledgers.append(ledger.spent[0])
        kinds.append(type(data))
        return real(measurement, data)

    monkeypatch.setattr(mechanisms, "drawn", watching)
    ledger = Ledger(Budget(1))
    mondrian(table(MIXED, 3000, 1), ledger, leaf=100)
    assert min(ledgers) > 0
    assert ledgers == sorted(ledgers)
    assert len(ledgers) > 40


def test_nothing_of_a_table_without_records_is_invented():
    for release in (mondrian, histogram_release):
        made = release(Coded(MIXED, np.zeros((0, 4), np.int64)), Ledger(Budget(1)), form="aggregated")
        assert made.counts.sum() < 400


# --- the answers ---


def test_with_much_budget_the_boxes_hold_what_they_should():
    generator = np.random.default_rng(1)
    codes = np.stack([generator.integers(0, 10, 6000), generator.integers(0, 101, 6000) // 4], axis=1)
    codes = np.column_stack([codes, (codes[:, 0] > 4), (codes[:, 0] // 2)]).astype(np.int64)
    coded = Coded(MIXED, codes)
    made = mondrian(coded, Ledger(Budget(10_000)), form="aggregated")
    assert abs(int(made.counts.sum()) - 6000) < 20
    means = np.average(made.positions, axis=0, weights=made.counts)
    assert np.abs(means[:2] - codes[:, :2].mean(axis=0)).max() < 0.3
    drawn = mondrian(coded, Ledger(Budget(10_000)))
    assert abs(len(drawn.positions) - 6000) < 20
    assert np.abs(drawn.positions.mean(axis=0) - codes.mean(axis=0)).max() < 0.5
    # The relation of columns is kept: sex follows age.
    assert np.corrcoef(drawn.positions[:, 0], drawn.positions[:, 2])[0, 1] > 0.6
    assert ((np.rint(drawn.positions) >= 0) & (np.rint(drawn.positions) < MIXED.sizes)).all()


def test_labels_and_boxes_agree():
    coded = table(MIXED, 2000, 3)
    tree = grown(coded, Ledger(Budget(100)), 100, records=50)
    labels = tree.labels()
    assert len(tree.leaves) > 8
    for number, box in enumerate(tree.leaves):
        inside = coded.codes[labels == number]
        assert (inside >= tree.lower[box]).all()
        assert (inside <= tree.upper[box]).all()
    volume = sum(np.prod((tree.upper[box] - tree.lower[box] + 1).astype(float)) for box in tree.leaves)
    assert volume == np.prod(MIXED.sizes)


def test_counts_become_consistent_and_nearer():
    generator = np.random.default_rng(0)
    errors = np.zeros(2)
    for _ in range(50):
        tree = Tree.of((64,), 64, 0.0, 1.0)
        tree.rows[0] = (0, 64)
        for box in range(20):
            start, end = tree.rows[box]
            cut = int(tree.lower[box][0]) + (end - start) // 2
            if end - start > 1:
                tree.divide(box, 0, cut, (end - start) // 2)
        truth = np.array([end - start for start, end in tree.rows], float)
        tree.variances = [float(generator.uniform(1, 9)) for _ in truth]
        tree.counts = list(truth + generator.normal(size=len(truth)) * np.sqrt(tree.variances))
        fitted = consistent(tree)
        for box, (left, right) in tree.children.items():
            assert fitted[box] == pytest.approx(fitted[left] + fitted[right])
        # The plain weighted least squares over the leaves.
        leaves = tree.leaves
        member = np.array([[float(_within(tree, leaf, box)) for leaf in leaves] for box in range(len(tree))])
        weight = 1 / np.sqrt(np.array(tree.variances))
        plain = np.linalg.lstsq(member * weight[:, None], np.array(tree.counts) * weight, rcond=None)[0]
        assert fitted[leaves] == pytest.approx(plain)
        errors += [np.abs(fitted - truth).mean(), np.abs(np.array(tree.counts) - truth).mean()]
    assert errors[0] < 0.8 * errors[1]


def _within(tree, leaf, box):
    return tree.lower[box][0] <= tree.lower[leaf][0] and tree.upper[leaf][0] <= tree.upper[box][0]


def test_lifting_negative_counts_keeps_their_sum():
    generator = np.random.default_rng(0)
    for _ in range(30):
        counts = np.rint(generator.normal(1, 3, 20))
        lifted = nonnegative(counts)
        assert (lifted >= 0).all()
        assert lifted.sum() == pytest.approx(max(counts.sum(), 0))
    assert nonnegative(np.array([-1.0, -2.0])).tolist() == [0, 0]
    assert nonnegative(np.array([3.0, 1.0])).tolist() == [3, 1]


def test_a_histogram_counts_cells():
    coded = table(MIXED, 5000, 2)
    made = histogram_release(coded, Ledger(Budget(1000)), bins=5, form="aggregated")
    assert made.counts.sum() == pytest.approx(5000, abs=20)
    assert len(made.counts) == 5 * 5 * 2 * 5
    truth = np.bincount(coded.codes[:, 3], minlength=5)
    assert np.abs(np.bincount(made.positions[:, 3].astype(int), made.counts) - truth).max() < 10
    drawn = histogram_release(coded, Ledger(Budget(1000)), bins=5)
    assert np.abs(drawn.positions.mean(axis=0) - coded.codes.mean(axis=0)).max() < 2


def test_a_grid_that_is_too_large_is_refused_with_its_number_and_its_time():
    domain = Domain.of({f"x{at}": {"kind": "integer", "lower": 0, "upper": 99} for at in range(9)})
    ledger = Ledger(Budget(1))
    with pytest.raises(TooLargeError, match=r"1,000,000,000, whose noise would take about 4 hours"):
        histogram_release(Coded(domain, np.zeros((1, 9), np.int64)), ledger)
    assert not ledger.entries


def test_the_registry_checks_options():
    assert find("mondrian").checked({"leaf": 50}) == {"leaf": 50.0, "form": "records"}
    with pytest.raises(OptionError, match="did you mean 'leaf'"):
        find("mondrian").checked({"leav": 50})
    with pytest.raises(OptionError, match="form"):
        find("mondrian").checked({"form": "table"})
    with pytest.raises(UnknownMethodError, match="did you mean 'mondrian'"):
        find("mondrain")
