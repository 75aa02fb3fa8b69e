"""Moves, climbs and kicks of the search against plain numpy: what is promised and what is left; nothing drifts."""

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from invariants import same_groups
from partitioning.strategies import cases, table
from shoal.kernels import kicks, moves
from shoal.kernels import search_state as state
from shoal.partitioning import chains
from shoal.partitioning.chains import Chain, field

EXAMPLES = st.integers(0, 2**32 - 1)


# --- kernels that only kernels can call ---


@numba.njit
def best_between(s, A, B, k):
    return moves._best_between(s, A, B, k, np.empty(s.X.shape[1]), np.empty(2 * k), np.empty(2 * k))


@numba.njit
def dissolve_if_it_pays(s, A, k):
    found = np.empty(s.sizes.shape[0], np.int64)
    takers, sizes = np.empty(2 * k, np.int64), np.empty(moves.MOST_TAKERS, np.int64)
    count = min(moves.around(s, A, found, s.near.shape[1]), moves.MOST_TAKERS)
    pays = moves._takers(s, A, found, count, k, takers, sizes, np.empty((moves.MOST_TAKERS, s.X.shape[1])))
    if pays:
        moves.share_out(s, A, found, takers)
    return pays


@numba.njit
def end_groups_and_undo(s, A, B):
    """A new group comes and goes while two others end."""
    new = state.take_number(s)
    state.save(s, A)
    state.push_number(s, A)
    state.push_number(s, new)
    state.save(s, B)
    state.push_number(s, B)
    state.undo(s)


def kick(chain, steps, heat=0.0, margin=-np.inf):
    """Climb and make some steps at a constant temperature; return how many were kept."""
    s = chain.state
    return kicks.search(s, chain.k, steps, heat, 0.0, margin, s.near.shape[1])


# --- plain numpy ---


def random_partition(n, k, rng):
    """Groups of k .. 2k - 1 records at random."""
    sizes, left = [], n
    while left >= 2 * k:
        sizes.append(int(rng.integers(k, min(2 * k - 1, left - k) + 1)))
        left -= sizes[-1]
    return rng.permutation(np.repeat(np.arange(len(sizes) + 1), [*sizes, left]))


def chain_of(X, k, rng, labels=None):
    X = np.ascontiguousarray(X - X.mean(axis=0))
    labels = random_partition(len(X), k, rng) if labels is None else np.asarray(labels)
    return Chain(field(X, k, rng), labels, int(rng.integers(2**62)))


def cost(X, rows):
    Y = X[rows].astype(np.longdouble)
    return float(((Y - Y.mean(axis=0)) ** 2).sum()) if len(rows) else 0.0


def plain_error(X, labels):
    return sum(cost(X, np.flatnonzero(labels == g)) for g in np.unique(labels))


def rounding(X):
    """What a squared error may be off by."""
    return 1e-12 * cost(X, np.arange(len(X)))


def changes(X, one, other, k):
    """Change of the squared error by each shift and swap between two groups: {(row of one, row of other): change}."""
    before = cost(X, one) + cost(X, other)

    def change(out, into):
        new_one = [*(i for i in one if i != out), *([into] if into >= 0 else [])]
        new_other = [*(i for i in other if i != into), *([out] if out >= 0 else [])]
        return cost(X, new_one) + cost(X, new_other) - before

    outs = [*one] if len(one) > k else []
    intos = [*other] if len(other) > k else []
    pairs = [*((i, -1) for i in outs), *((-1, j) for j in intos), *((i, j) for i in one for j in other)]
    return {pair: change(*pair) for pair in pairs}


def quick_changes(X, one, other, k):
    """The same, least only, by the sums of squares of both groups: for many pairs of groups."""

    def costs(n, total, square):
        return square - (total**2).sum(axis=-1) / n

    centre = X[[*one, *other]].mean(axis=0)
    A, B = X[one] - centre, X[other] - centre
    a, b, SA, SB = len(A), len(B), A.sum(axis=0), B.sum(axis=0)
    QA, QB = (A**2).sum(), (B**2).sum()
    qa, qb = (A**2).sum(axis=1), (B**2).sum(axis=1)
    before = costs(a, SA, QA) + costs(b, SB, QB)
    found = [np.inf]
    if a > k:
        found.append((costs(a - 1, SA - A, QA - qa) + costs(b + 1, SB + A, QB + qa)).min())
    if b > k:
        found.append((costs(a + 1, SA + B, QA + qb) + costs(b - 1, SB - B, QB - qb)).min())
    moved, more = B[None] - A[:, None], qb[None] - qa[:, None]
    found.append((costs(a, SA + moved, QA + more) + costs(b, SB - moved, QB - more)).min())
    return min(found) - before


def groups_around(s):
    """Pairs of groups each of which has a record with a neighbour in the other."""
    rows, columns = np.nonzero(s.near >= 0)
    ordered = set(zip(s.labels[rows].tolist(), s.labels[s.near[rows, columns]].tolist(), strict=True))
    return sorted((a, b) for a, b in ordered if a < b and (b, a) in ordered)


def check_state(s, k):
    """Everything that a state holds follows from its labels."""
    X, n, tolerance = s.X, len(s.X), rounding(s.X)
    room = len(s.sizes)
    np.testing.assert_array_equal(s.sizes, np.bincount(s.labels, minlength=room))
    used = np.flatnonzero(s.sizes > 0)
    assert s.sizes[used].min() >= k
    assert s.sizes[used].max() < 2 * k or len(used) == 1
    for g in used:
        rows = np.sort(s.members[g, : s.sizes[g]])
        np.testing.assert_array_equal(rows, np.flatnonzero(s.labels == g))
        mean = X[rows].astype(np.longdouble).mean(axis=0)
        squares = ((X[rows] - mean) ** 2).sum(axis=1)
        np.testing.assert_allclose(s.means[g], mean.astype(float), rtol=1e-9, atol=np.sqrt(tolerance))
        np.testing.assert_allclose(s.squares[rows], squares.astype(float), rtol=1e-9, atol=tolerance)
        np.testing.assert_allclose(s.costs[g], float(squares.sum()), rtol=1e-9, atol=tolerance)
        np.testing.assert_allclose(s.radii[g] ** 2, float(squares.max()), rtol=1e-9, atol=tolerance)
    assert not s.costs[s.sizes == 0].any()
    assert not s.radii[s.sizes == 0].any()
    np.testing.assert_array_equal(s.codes[used], [s.keys[s.labels == g].sum(dtype=np.uint64) for g in used])
    check_numbers(s)
    assert s.counts[state.DIRTY] == s.counts[state.SAVED] == 0
    assert not s.dirty.any()
    assert (s.saved_at == -1).all()
    assert s.totals[state.NOW] == pytest.approx(plain_error(X, s.labels), rel=1e-9, abs=n * tolerance)
    check_best(s, k)
    check_pool(s, k)


def check_numbers(s):
    """Numbers that no group has are all known, each with its place."""
    free = s.free[: s.counts[state.FREE]]
    np.testing.assert_array_equal(np.sort(free), np.flatnonzero(s.sizes == 0))
    np.testing.assert_array_equal(s.free_at[free], np.arange(len(free)))


def check_best(s, k):
    sizes = np.bincount(s.best)
    assert sizes[sizes > 0].min() >= k
    error = plain_error(s.X, s.best)
    assert s.totals[state.BEST] == pytest.approx(error, rel=1e-9, abs=len(s.X) * rounding(s.X))


def check_pool(s, k):
    """Groups met are groups, each once, with their costs and keys, and the hash table has all of them."""
    count = int(s.counts[state.MET])
    sizes = s.pool_sizes[:count]
    assert ((sizes >= k) & (sizes < 2 * k)).all()
    met = [frozenset(s.pool[p, : sizes[p]].tolist()) for p in range(count)]
    assert len(set(met)) == count
    for p, rows in enumerate(met):
        rows = sorted(rows)
        assert len(rows) == sizes[p]
        assert s.pool_costs[p] == pytest.approx(cost(s.X, rows), rel=1e-9, abs=rounding(s.X))
        assert s.pool_keys[p] == s.keys[rows].sum(dtype=np.uint64)
    np.testing.assert_array_equal(np.sort(s.slots[s.slots >= 0]), np.arange(count))


# --- moves ---


@given(case=cases(most_records=40, most_columns=9, largest_k=6), seed=EXAMPLES)
def test_the_best_move_between_two_groups_is_that_of_a_plain_search(case, seed):
    _, X, k = case
    rng = np.random.default_rng(seed)
    s = chain_of(X, k, rng).state
    used = np.flatnonzero(s.sizes)
    if len(used) < 2:
        return
    A, B = (int(g) for g in rng.choice(used, 2, replace=False))
    pair = best_between(s, A, B, k)
    all_changes = changes(s.X, s.members[A, : s.sizes[A]].tolist(), s.members[B, : s.sizes[B]].tolist(), k)
    least, tolerance = min(all_changes.values()), s.totals[state.EPSILON] + rounding(s.X)
    if pair == (-1, -1):
        assert least >= -tolerance
    else:
        assert all_changes[pair] == pytest.approx(least, rel=1e-9, abs=tolerance)
        assert all_changes[pair] < 0


def test_a_shift_and_a_swap_that_anybody_can_see():
    points = np.array([[0.0, 0], [0.1, 0], [9, 0], [9.1, 0], [9.2, 0]])
    s = chain_of(points, 2, np.random.default_rng(0), [0, 0, 0, 1, 1]).state
    assert best_between(s, 0, 1, 2) == (2, -1)
    assert best_between(s, 1, 0, 2) == (-1, 2)
    s = chain_of(points[[0, 2, 1, 3]], 2, np.random.default_rng(0), [0, 0, 1, 1]).state
    assert best_between(s, 0, 1, 2) in {(1, 2), (0, 3)}


def test_the_plain_search_has_two_forms():
    rng = np.random.default_rng(5)
    for _ in range(20):
        k = int(rng.integers(2, 5))
        X = rng.normal(size=(4 * k, 3))
        one, other = np.arange(int(rng.integers(k, 2 * k))), np.arange(2 * k, 4 * k - 1)
        assert quick_changes(X, one, other, k) == pytest.approx(min(changes(X, [*one], [*other], k).values()), rel=1e-9)


@given(kind=st.sampled_from(["gaussian", "integers", "duplicates", "clusters"]), k=st.integers(2, 5), seed=EXAMPLES)
def test_to_dissolve_a_group_never_raises_the_error(kind, k, seed):
    rng = np.random.default_rng(seed)
    X = table(kind, 12 * k, 2, rng)
    s = chain_of(X, k, rng, np.arange(12 * k) // k).state
    for A in range(12):
        before = plain_error(s.X, s.labels)
        if dissolve_if_it_pays(s, A, k):
            assert s.sizes[A] == 0
            assert A not in s.labels
            assert plain_error(s.X, s.labels) < before
            assert np.bincount(s.labels).max() < 2 * k
            assert s.totals[state.NOW] == pytest.approx(plain_error(s.X, s.labels), rel=1e-9, abs=rounding(s.X))


def test_a_group_between_two_others_is_dissolved():
    X = np.array([[-5.0, 0], [-5, 0.1], [5, 0], [5, 0.1], [-4.9, 0], [4.9, 0]])
    s = chain_of(X, 2, np.random.default_rng(0), [0, 0, 1, 1, 2, 2]).state
    assert dissolve_if_it_pays(s, 2, 2)
    assert same_groups(s.labels, np.array([0, 0, 1, 1, 0, 1]))
    # There is no room for more than 2k - 1 records in a group.
    X = np.array([[-5.0, 0], [-5, 0.1], [-5, 0.2], [5, 0], [5, 0.1], [5, 0.2], [-4.9, 0], [4.9, 0]])
    s = chain_of(X, 2, np.random.default_rng(0), [0, 0, 0, 1, 1, 1, 2, 2]).state
    assert not dissolve_if_it_pays(s, 2, 2)


# --- climbs ---


@given(case=cases(most_records=60, most_columns=6, largest_k=8), seed=EXAMPLES)
def test_after_a_climb_no_move_between_neighbours_gains(case, seed):
    _, X, k = case
    chain = chain_of(X, k, np.random.default_rng(seed))
    s = chain.state
    before = plain_error(s.X, s.labels)
    kick(chain, 0)
    check_state(s, k)
    tolerance = s.totals[state.EPSILON] + rounding(s.X)
    assert plain_error(s.X, s.labels) <= before + tolerance
    for A, B in groups_around(s):
        one, other = s.members[A, : s.sizes[A]], s.members[B, : s.sizes[B]]
        assert quick_changes(s.X, one, other, k) >= -tolerance


@pytest.mark.parametrize(("n", "d", "k"), [(400, 3, 3), (300, 2, 2), (400, 8, 7)])
def test_a_climb_from_chance_is_worth_it(n, d, k):
    rng = np.random.default_rng(n + d + k)
    chain = chain_of(rng.normal(size=(n, d)), k, rng)
    s = chain.state
    before = plain_error(s.X, s.labels)
    kick(chain, 0)
    assert plain_error(s.X, s.labels) < 0.5 * before
    assert all(
        quick_changes(s.X, s.members[A, : s.sizes[A]], s.members[B, : s.sizes[B]], k) >= -s.totals[state.EPSILON]
        for A, B in groups_around(s)
    )
    climbed = s.labels.copy()
    s.dirty[:] = s.sizes > 0
    s.counts[state.DIRTY] = int(s.dirty.sum())
    s.stack[: s.counts[state.DIRTY]] = np.flatnonzero(s.dirty)
    kick(chain, 0)
    assert plain_error(s.X, s.labels) <= plain_error(s.X, climbed)


# --- kicks ---


@given(case=cases(most_records=60, most_columns=6, largest_k=12), seed=EXAMPLES, hot=st.booleans())
def test_every_state_is_valid(case, seed, hot):
    _, X, k = case
    chain = chain_of(X, k, np.random.default_rng(seed))
    s = chain.state
    if len(X) < 2 * k:
        return
    unit = float(s.totals[state.NOW]) / len(X)
    for steps in (0, 1, 1, 2, 5, 40):
        kick(chain, steps, heat=unit if hot else 0.0, margin=2 * unit)
        check_state(s, k)


@given(
    kind=st.sampled_from(["gaussian", "integers", "duplicates", "collinear", "clusters", "skewed"]),
    k=st.integers(2, 6),
    seed=EXAMPLES,
)
def test_without_heat_a_step_gains_or_is_undone(kind, k, seed):
    rng = np.random.default_rng(seed)
    chain = chain_of(table(kind, 10 * k + k // 2, 3, rng), k, rng)
    s = chain.state
    kick(chain, 0)
    error = plain_error(s.X, s.labels)
    for _ in range(15):
        labels, members, costs = s.labels.copy(), s.members.copy(), s.costs.copy()
        kept = kick(chain, 1)
        now = plain_error(s.X, s.labels)
        assert now <= error + rounding(s.X)
        error = now
        if not kept:
            np.testing.assert_array_equal(s.labels, labels)
            np.testing.assert_allclose(s.costs, costs, rtol=1e-10, atol=rounding(s.X))
            for g in np.flatnonzero(s.sizes):
                np.testing.assert_array_equal(s.members[g, : s.sizes[g]], members[g, : s.sizes[g]])
    check_state(s, k)


def test_what_is_undone_is_undone_to_the_last_bit():
    rng = np.random.default_rng(2)
    chain = chain_of(rng.normal(size=(90, 3)), 3, rng)
    s = chain.state
    kick(chain, 3000)
    undone = 0
    for _ in range(500):
        # What numpy computed at first may be rounded otherwise: from the second time on it is the same.
        before = [part.copy() for part in (s.labels, s.costs, s.radii, s.squares, s.codes)]
        if kick(chain, 1):
            continue
        undone += 1
        if undone > 50:
            for old, new in zip(before, (s.labels, s.costs, s.radii, s.squares, s.codes), strict=True):
                np.testing.assert_array_equal(old, new)
    assert undone > 150


def test_groups_that_ended_are_brought_back():
    rng = np.random.default_rng(9)
    chain = chain_of(rng.normal(size=(40, 2)), 3, rng)
    kick(chain, 0)
    s = chain.state
    for _ in range(20):
        labels = s.labels.copy()
        end_groups_and_undo(s, *(int(g) for g in rng.choice(np.flatnonzero(s.sizes), 2, replace=False)))
        np.testing.assert_array_equal(s.labels, labels)
        check_state(s, 3)


@pytest.mark.parametrize("heat", [0.0, 0.3])
def test_numbers_of_groups_are_not_lost(heat):
    """Groups come and go, and come back when a step is undone."""
    rng = np.random.default_rng(8)
    chain = chain_of(rng.normal(size=(60, 2)) * rng.exponential(size=(60, 1)), 3, rng)
    s = chain.state
    kick(chain, 0)
    heat *= float(s.totals[state.NOW]) / 20
    seen = set()
    for _ in range(3000):
        kick(chain, 1, heat)
        check_numbers(s)
        seen.add(int(s.counts[state.FREE]))
    assert len(seen) > 1


def test_heat_lets_the_error_rise_and_the_best_is_kept():
    rng = np.random.default_rng(3)
    chain = chain_of(rng.normal(size=(120, 2)), 3, rng)
    s = chain.state
    kick(chain, 2000)
    best = plain_error(s.X, s.best)
    kick(chain, 2000, heat=10 * best / 40)
    assert plain_error(s.X, s.labels) > best * 1.01
    assert plain_error(s.X, s.best) <= best
    check_state(s, 3)


def test_kicks_find_what_no_climb_does():
    rng = np.random.default_rng(4)
    shares = []
    for _ in range(5):
        chain = chain_of(rng.normal(size=(150, 3)), 3, rng)
        kick(chain, 0)
        climbed = plain_error(chain.state.X, chain.state.labels)
        kick(chain, 3000)
        shares.append(plain_error(chain.state.X, chain.state.labels) / climbed)
    assert np.mean(shares) < 0.93


def test_a_margin_says_which_groups_are_met():
    rng = np.random.default_rng(6)
    chain = chain_of(rng.normal(size=(120, 2)), 3, rng)
    s = chain.state
    kick(chain, 500)
    assert s.counts[state.MET] == 0
    unit = float(s.totals[state.NOW]) / 40
    kick(chain, 500, heat=0.1 * unit, margin=2 * unit)
    some = int(s.counts[state.MET])
    assert some > 0
    kick(chain, 20_000, heat=unit, margin=np.inf)
    assert s.counts[state.MET] > some
    check_state(s, 3)


def test_a_full_pool_takes_no_more(monkeypatch):
    monkeypatch.setattr(chains, "REMEMBERED", 1)
    rng = np.random.default_rng(7)
    chain = chain_of(rng.normal(size=(60, 2)), 3, rng)
    s = chain.state
    kick(chain, 5000, heat=float(s.totals[state.NOW]) / 20, margin=np.inf)
    assert s.counts[state.MET] == len(s.pool) == 60
    check_state(s, 3)


@pytest.mark.parametrize(("n", "d", "k", "steps"), [(150, 2, 3, 200_000), (100, 5, 8, 10_000), (40, 3, 2, 100_000)])
def test_sums_do_not_drift(n, d, k, steps):
    rng = np.random.default_rng([n, d, k])
    chain = chain_of(rng.normal(size=(n, d)), k, rng)
    s = chain.state
    kick(chain, 0)
    unit = float(s.totals[state.NOW]) / (n // k)
    kept = kick(chain, steps, heat=0.3 * unit, margin=unit)
    assert kept > steps / 20
    check_state(s, k)
    assert s.totals[state.NOW] == pytest.approx(plain_error(s.X, s.labels), rel=1e-9, abs=0)
    assert s.totals[state.BEST] == pytest.approx(plain_error(s.X, s.best), rel=1e-9, abs=0)


def test_steps_depend_on_the_seed_alone():
    def run(seed, chunks):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(100, 3))
        chain = Chain(field(X, 3, rng), random_partition(100, 3, rng), seed)
        for steps in chunks:
            kick(chain, steps)
        return chain.state.labels

    np.testing.assert_array_equal(run(5, [400]), run(5, [400]))
    # A pause changes nothing.
    np.testing.assert_array_equal(run(5, [400]), run(5, [100, 1, 299]))
    assert not same_groups(run(5, [400]), run(6, [400]))
