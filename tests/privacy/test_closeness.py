"""Distances against a solver of transport problems, bounds against all groups there are."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from shoal.errors import OptionError
from shoal.privacy.closeness import NTCloseness, TCloseness, distances, least_distance, terms_of
from shoal.privacy.spectrum import spectrum_of
from shoal.tables.sensitive import Line, Sensitive, Tree, ranks

UNEVEN = np.array([0.0, 0.1, 0.15, 0.6, 1.0])
TREE = Tree(np.array([-1, 0, 0, 1, 1, 2, 2, 0]), np.array([1, 0.5, 0.25, 0, 0, 0, 0, 0]), np.array([3, 4, 5, 6, 7]))
GROUNDS = {"equal": None, "ranks": Line(ranks(5)), "numbers": Line(UNEVEN), "tree": TREE}


def path(tree, value):
    node, found = int(tree.leaves[value]), []
    while node >= 0:
        found.append(node)
        node = int(tree.parents[node])
    return found


def apart(ground, a, b):
    """Distance of two values; 5 is missing."""
    if a == b:
        return 0.0
    if 5 in (a, b) or ground is None:
        return 1.0
    if isinstance(ground, Line):
        return abs(ground.positions[a] - ground.positions[b])
    return ground.heights[next(node for node in path(ground, a) if node in path(ground, b))]


def transport(ground, p, q):
    """The least work that makes one distribution of the other, by linear programming."""
    cost = [apart(ground, a, b) for a in range(6) for b in range(6)]
    sums = [np.kron(row, np.ones(6)) for row in np.eye(6)] + [np.kron(np.ones(6), row) for row in np.eye(6)]
    done = linprog(cost, A_eq=np.array(sums), b_eq=np.concatenate([p, q]), bounds=(0, None))
    assert done.status == 0
    return done.fun


def shares(values):
    return np.bincount([5 if value is None else value for value in values], minlength=6) / len(values)


def everyone(drawn):
    return [value for group in drawn for value in group]


def spectra(drawn, ground):
    codes = np.array([-1 if value is None else value for value in everyone(drawn)], np.int64)
    labels = np.repeat(np.arange(len(drawn)), [len(group) for group in drawn])
    return spectrum_of(labels, Sensitive("disease", codes, 5, ground))


def tables(values):
    return st.lists(st.lists(values, min_size=1, max_size=6), min_size=1, max_size=4).map(
        lambda drawn: [*drawn, [0, 1, 2, 3, 4]]
    )


@pytest.mark.parametrize("ground", sorted(GROUNDS))
@settings(max_examples=25)
@given(tables(st.integers(0, 4)))
def test_the_closed_forms_are_the_least_work(ground, drawn):
    table = shares(everyone(drawn))
    found = TCloseness(0.1).measure(spectra(drawn, GROUNDS[ground]))
    assert found == pytest.approx([transport(GROUNDS[ground], shares(g), table) for g in drawn], abs=1e-9)


@pytest.mark.parametrize("ground", sorted(GROUNDS))
@settings(max_examples=25)
@given(tables(st.integers(0, 4) | st.none()))
def test_with_missing_values_never_below_the_least_work(ground, drawn):
    table = shares(everyone(drawn))
    found = TCloseness(0.1).measure(spectra(drawn, GROUNDS[ground]))
    exact = np.array([transport(GROUNDS[ground], shares(g), table) for g in drawn])
    assert (found >= exact - 1e-9).all()
    assert (found <= 1 + 1e-12).all()
    if not isinstance(GROUNDS[ground], Line):
        assert found == pytest.approx(exact, abs=1e-9)


def test_missing_values_on_a_line_by_hand():
    """Half of a group is missing and a quarter of the table; the known parts are 0.5 apart."""
    spectrum = spectra([[0, None], [0, 0, 1, 2, 3, 4]], Line(ranks(5)))
    p_missing, q_missing = 1 / 8, 1 / 2
    cumulated = np.array([3, 4, 5, 6]) / 7
    known = (1 - cumulated).sum() / 4
    expected = q_missing - p_missing + (1 - q_missing) * known
    assert TCloseness(0.1).measure(spectrum)[0] == pytest.approx(expected)


def test_the_examples_of_the_paper():
    """Li et al. 2007, section 4: incomes 3k .. 11k."""
    codes = np.arange(9)
    for group, expected in (([0, 1, 2], 0.375), ([3, 5, 8], 1 / 6)):
        labels = np.isin(codes, group).astype(np.int64)
        spectrum = spectrum_of(labels, Sensitive("income", codes, 9, Line(ranks(9))))
        assert TCloseness(0.1).measure(spectrum)[1] == pytest.approx(expected)


def test_a_tree_by_hand():
    """Two leaves below one node of height 1/2, one beside it: half of the mass has to go over the root."""
    tree = Tree(np.array([-1, 0, 1, 1, 0]), np.array([1, 0.5, 0, 0, 0]), np.array([2, 3, 4]))
    codes = np.array([0, 0, 1, 1, 2, 2, 2, 2])
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    spectrum = spectrum_of(labels, Sensitive("disease", codes, 3, tree))
    assert TCloseness(0.1).measure(spectrum) == pytest.approx([0.5, 0.5])
    labels = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    spectrum = spectrum_of(labels, Sensitive("disease", codes, 3, tree))
    assert TCloseness(0.1).measure(spectrum) == pytest.approx([0.125, 0.125])


def test_the_ground_that_a_model_asks_for():
    codes = np.array([0, 1, 2, 0])
    labels = np.array([0, 0, 1, 1])
    line = Line(np.array([0, 0.5, 1]), np.array([0, 0.1, 1]))
    spectrum = spectrum_of(labels, Sensitive("income", codes, 3, line))
    found = {ground: TCloseness(0.5, ground).measure(spectrum)[0] for ground in ("auto", "ordered", "equal", "numeric")}
    assert found["auto"] == found["ordered"] == pytest.approx(0.25 * 0.5)
    assert found["equal"] == pytest.approx(0.25)
    assert found["numeric"] == pytest.approx(0.25 * 0.9)
    plain = spectrum_of(labels, Sensitive("disease", codes, 3, None))
    for ground in ("ordered", "numeric"):
        with pytest.raises(OptionError, match="for the ground"):
            TCloseness(0.5, ground).measure(plain)
    with pytest.raises(OptionError, match="be numbers or dates"):
        TCloseness(0.5, "numeric").measure(spectrum_of(labels, Sensitive("stage", codes, 3, Line(ranks(3)))))


def test_many_values_on_a_line():
    """A value for each record: as the plain sum over all values says."""
    rng = np.random.default_rng(0)
    n = 3000
    labels = np.concatenate([np.arange(200), rng.integers(0, 200, n - 200)])
    positions = np.sort(rng.random(n))
    positions[[0, -1]] = 0, 1
    codes = rng.permutation(n)
    spectrum = spectrum_of(labels, Sensitive("income", codes, n, Line(positions)))
    found = TCloseness(0.1).measure(spectrum)
    for g in range(0, 200, 17):
        own = np.cumsum(np.bincount(codes[labels == g], minlength=n)) / (labels == g).sum()
        assert found[g] == pytest.approx((np.abs(own - np.arange(1, n + 1) / n)[:-1] * np.diff(positions)).sum())


# --- (n, t) ---


def unions(drawn, n, group):
    others = [g for g in range(len(drawn)) if g != group]
    for size in range(len(others) + 1):
        for more in combinations(others, size):
            union = [value for g in (group, *more) for value in drawn[g]]
            if len(union) >= n:
                yield union


@pytest.mark.parametrize("ground", sorted(GROUNDS))
@settings(max_examples=40)
@given(tables(st.integers(0, 4)), st.integers(1, 12), st.data())
def test_n_t_closeness_is_the_distance_to_some_set_of_n_records(ground, drawn, n, data):
    """And at most that to the table: sets that are not tried make it larger, never smaller."""
    places = data.draw(st.lists(st.integers(0, 3), min_size=2 * len(drawn), max_size=2 * len(drawn)))
    centres = np.array(places, float).reshape(-1, 2)
    spectrum = spectra(drawn, GROUNDS[ground])
    table = everyone(drawn)
    for found, alone in (
        (NTCloseness(n, 0).measure(spectrum, centres), False),
        (NTCloseness(n, 0).measure(spectrum), True),
    ):
        for g, group in enumerate(drawn):
            sets = [table] if alone else [*unions(drawn, n, g), table]
            sets += [group] if len(group) >= n else []
            possible = [form(GROUNDS[ground], shares(group), shares(one)) for one in sets]
            assert np.isclose(found[g], possible, atol=1e-9).any()
            assert found[g] == 0 or len(group) < n
            assert found[g] <= form(GROUNDS[ground], shares(group), shares(table)) + 1e-9


def form(ground, p, q):
    """The distance without missing values as the definition of each ground has it, in a few lines."""
    if isinstance(ground, Line):
        return float((np.abs(np.cumsum(p - q))[:4] * np.diff(ground.positions)).sum())
    if ground is None:
        return float(np.abs(p - q).sum() / 2)
    extra = np.zeros(len(ground.parents))
    for value in range(5):
        for node in path(ground, value):
            extra[node] += p[value] - q[value]
    work = 0.0
    for node in range(len(ground.parents)):
        below = extra[ground.parents == node]
        work += ground.heights[node] * min(below[below > 0].sum(), -below[below < 0].sum())
    return float(work)


def test_a_group_like_its_surroundings_is_close_though_unlike_the_table():
    rng = np.random.default_rng(1)
    centres = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(50, 1, (40, 2))])
    labels = np.repeat(np.arange(80), 5)
    codes = np.where(labels < 40, 0, 1)
    spectrum = spectrum_of(labels, Sensitive("disease", codes, 2))
    assert TCloseness(0.1).measure(spectrum) == pytest.approx(np.full(80, 0.5))
    assert NTCloseness(100, 0.1).measure(spectrum, centres) == pytest.approx(np.zeros(80))
    assert NTCloseness(100, 0.1).measure(spectrum) == pytest.approx(np.full(80, 0.5))
    assert NTCloseness(201, 0.1).measure(spectrum, centres) == pytest.approx(np.full(80, 0.5))


def test_n_t_closeness_does_not_depend_on_the_order_of_groups_nor_on_units():
    rng = np.random.default_rng(2)
    m = 60
    labels = np.concatenate([np.arange(m), rng.integers(0, m, 300)])
    sensitive = Sensitive("disease", rng.integers(0, 5, len(labels)), 5)
    centres = rng.integers(0, 6, (m, 3)).astype(float)
    one = NTCloseness(30, 0.05)
    found = one.measure(spectrum_of(labels, sensitive), centres)
    order = rng.permutation(m)
    other = one.measure(spectrum_of(np.argsort(order)[labels], sensitive), centres[order] * [1, 1000, 0.1] + 7)
    np.testing.assert_allclose(other, found[order], atol=1e-12)
    assert (found < TCloseness(0.05).measure(spectrum_of(labels, sensitive)) - 0.01).any()


def test_distances_from_other_sets():
    spectrum = spectra([[0, 1], [2, 3], [4, 4]], Line(ranks(5)))
    union = spectrum.pooled(np.array([0, 0, 1]))
    assert distances(spectrum, union, np.array([0, 0, 1])) == pytest.approx([0.25, 0.25, 0])


# --- bounds ---


def closest(sensitive, size):
    """The least distance of all groups of a size."""
    groups = list(combinations(range(len(sensitive.codes)), size))
    labels = np.repeat(np.arange(len(groups)), size)
    return TCloseness(0).measure(spectrum_of(labels, sensitive, np.array(groups).ravel())).min()


@pytest.mark.parametrize("ground", sorted(GROUNDS))
@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 4) | st.none(), min_size=4, max_size=7).map(lambda d: [*d, 0, 1, 2, 3, 4][:10]), st.data()
)
def test_no_group_of_at_most_half_is_closer_than_the_bound(ground, drawn, data):
    k = data.draw(st.integers(1, 3))
    codes = np.array([-1 if value is None else value for value in drawn])
    present, codes = np.unique(np.append(codes, -1), return_inverse=True)
    codes = codes[:-1] - 1
    own = GROUNDS[ground]
    if isinstance(own, Line):
        own = Line(own.positions[present[1:]])
    elif own is not None:
        own = own._replace(leaves=own.leaves[present[1:]])
    sensitive = Sensitive("disease", codes, len(present) - 1, own)
    n = len(codes)
    assert least_distance(sensitive, k) <= min(closest(sensitive, size) for size in range(k, n // 2 + 1)) + 1e-12


@pytest.mark.parametrize("n", range(4, 12))
def test_the_bound_is_exact_where_all_values_differ(n):
    sensitive = Sensitive("income", np.arange(n), n, Line(ranks(n)))
    for size in range(1, n // 2 + 1):
        bound = terms_of(sensitive).least(np.array([size]))[0]
        closed = (n + size) * (n - size) / (4 * n * (n - 1) * size)  # Soria-Comas et al. 2015
        assert bound == pytest.approx(closest(sensitive, size))
        assert bound >= closed - 1e-12
        if n % size == 0 and n // size % 2:
            assert bound == pytest.approx(closed)


def test_a_t_that_only_one_group_has_is_refused():
    sensitive = Sensitive("income", np.arange(100), 100, Line(ranks(100)))
    least = least_distance(sensitive, 5)
    assert least == pytest.approx(100 / (4 * 50 * 99))  # groups of 50: every other value
    TCloseness(0.0051).refuse_if_out_of_reach(sensitive, 5)
    with pytest.raises(OptionError, match=r"5 to 50 of the 100 records .* t must be at least 0\.005051"):
        TCloseness(0.005).refuse_if_out_of_reach(sensitive, 5)
    with pytest.raises(OptionError, match="t must be at least"):
        NTCloseness(100, 0.005).refuse_if_out_of_reach(sensitive, 5)
    NTCloseness(50, 0.005).refuse_if_out_of_reach(sensitive, 5)
    TCloseness(0).refuse_if_out_of_reach(sensitive, 51)  # one group it will be anyway
    odd = Sensitive("disease", np.array([0] * 6 + [1] * 5), 2)
    with pytest.raises(OptionError, match="t must be at least"):
        TCloseness(0.01).refuse_if_out_of_reach(odd, 2)
    TCloseness(0).refuse_if_out_of_reach(Sensitive("disease", np.array([0, 1] * 6), 2), 2)


def test_a_large_table_has_a_weaker_bound_in_little_time(monkeypatch):
    monkeypatch.setattr("shoal.privacy.closeness.WORK", 2000)
    sensitive = Sensitive("income", np.arange(400), 400, Line(ranks(400)))
    weak = least_distance(sensitive, 5)
    monkeypatch.setattr("shoal.privacy.closeness.WORK", 10**9)
    assert 0 < weak < least_distance(sensitive, 5)
