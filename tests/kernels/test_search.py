"""Every answer of a pool must be that of a plain loop in double precision, to the bit; ties: lowest row."""

import math
import os
from functools import cache

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naive import mean as plain_mean
from naive import sqdist
from shoal.kernels import index, search
from shoal.partitioning.pool import Groups, Pool

EXAMPLES = int(os.environ.get("SHOAL_TEST_EXAMPLES", "40"))
BOUNDARIES = (1, 2, 31, 63, 64, 65, 129, 257)
PROPERTY = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    # The few examples of an ordinary run are the same every time; a long run explores.
    derandomize=EXAMPLES <= 40,
)
SIZES = (31, 64, 65, 129, 257)


# --- data that are hard for screening in single precision ---


def gaussian(rng, n, d):
    return rng.normal(size=(n, d))


def duplicates(rng, n, d):
    return rng.integers(0, 3, size=(n, d)).astype(float)


def constant_columns(rng, n, d):
    X = rng.normal(size=(n, d))
    X[:, rng.random(d) < 0.6] = 0.1
    return X


def all_equal(rng, n, d):
    return np.full((n, d), 1 / 3)


def collinear(rng, n, d):
    return rng.integers(-20, 20, size=(n, 1)) * rng.normal(size=(1, d)) + rng.normal(size=(1, d))


def far_from_zero(rng, n, d):
    return 1e9 + rng.normal(size=(n, d)) * 1e-3


def scales_apart(rng, n, d):
    return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-8, 8, size=d)


def outliers(rng, n, d):
    X = rng.normal(size=(n, d))
    X[rng.random(n) < 0.02] *= 1e6
    X[0] = 1e6
    return X


def shell(rng, n, d):
    """Equally far from the origin but for the last bits, so that rounding alone decides."""
    X = rng.normal(size=(n, d))
    return X / np.sqrt((X * X).sum(axis=1, keepdims=True))


def signs(rng, n, d):
    """Corners of a cube with edges that are not exact in binary: many ties and many near ties."""
    return rng.choice([-0.1, 0.1, 0.3], size=(n, d)) * rng.choice([1.0, 1 + 2**-52], size=(n, d))


def last_bits(rng, n, d):
    """All within a few units in the last place of each other, next to one far point: screening is blind."""
    X = 1.0 + rng.integers(0, 8, size=(n, d)) * 2.0**-52
    X[-1] = -3.0
    return X


def clumps(rng, n, d):
    """Clumps whose members only differ below single precision."""
    return rng.normal(size=(5, d))[rng.integers(0, 5, n)] + rng.normal(size=(n, d)) * 1e-9


def nearly_too_large(rng, n, d):
    return rng.uniform(-1e150, 1e150, size=(n, d))


def nearly_too_small(rng, n, d):
    return rng.uniform(-1, 1, size=(n, d)) * 1e-140


def tiny_clump(rng, n, d):
    """Differences whose squares are subnormal, beside one record at 1."""
    X = rng.integers(0, 40, size=(n, d)) * 1e-161
    X[-1] = 1.0
    return X


def tinier_clump(rng, n, d):
    """Differences whose squares vanish or are a single unit, beside one record that keeps the range wide."""
    X = rng.integers(0, 30, size=(n, d)) * 2e-163
    X[-1] = 2e-140
    return X


DATA = (
    gaussian,
    duplicates,
    constant_columns,
    all_equal,
    collinear,
    far_from_zero,
    scales_apart,
    outliers,
    shell,
    signs,
    last_bits,
    clumps,
    nearly_too_large,
    nearly_too_small,
    tiny_clump,
    tinier_clump,
)
# Sums over so many orders of magnitude are looked at in tests of their own.
WITHOUT_MEANS = (tiny_clump, tinier_clump)


# --- the plain loop ---


class Plain:
    """A pool without any cleverness."""

    def __init__(self, X, rows=None):
        self.X = X
        self.present = np.zeros(len(X), bool)
        self.present[np.arange(len(X)) if rows is None else rows] = True

    def rows(self, skip=-1, other=-1):
        return np.array([i for i in np.flatnonzero(self.present) if i not in (skip, other)], np.int64)

    def nearest_distances(self, query, m, skip=-1, other=-1):
        rows = self.rows(skip, other)
        squares = sqdist(self.X[rows], query)
        order = np.argsort(squares, kind="stable")[:m]
        return rows[order], squares[order]

    def furthest_distance(self, query):
        rows = self.rows()
        squares = sqdist(self.X[rows], query)
        return int(rows[np.argmax(squares)]), float(squares.max())

    def mean(self):
        return plain_mean(self.X[self.present])

    def kept_mean(self):
        """By a sum that is kept, also of equal records: all are equally far from it, whatever its last digit."""
        rows = self.X[self.present]
        return np.array([math.fsum(column) for column in rows.T]) / len(rows)


def a_query(rng, X, last):
    """Return a point to search from: a record, a mean, a point next to the last one, one far outside ..."""
    i, j, k = rng.integers(0, len(X), 3)
    kind = rng.integers(0, 9)
    if kind == 0:
        return X[i].copy()
    if kind == 1:
        return (X[i] + X[j]) / 2
    if kind == 2:
        return (X[i] + X[j] + X[k]) / 3
    if kind in (3, 4):
        return last + (X[i] - last) * 10.0 ** rng.uniform(-9, -1)
    if kind == 5:
        return np.nextafter(last, X[i])
    if kind == 6:
        return X[i] + (X[i] - X[j]) * 10.0 ** rng.uniform(0, 3)
    if kind == 7:
        return np.zeros(X.shape[1])
    return last.copy()


def some_rows(rng, rows, most):
    return rng.permutation(rows)[: rng.integers(0, most + 1)].astype(np.int64)


def same_neighbours(found, expected):
    assert found[0].tolist() == expected[0].tolist()
    assert found[1].tobytes() == expected[1].tobytes()


def equal_ones(points, row, slot):
    """Return the row and those below it in the heap of equal ones; check that each is in its place, and in the slot."""
    seen, ahead = [], [row]
    while ahead:
        row = ahead.pop()
        assert points.slots[row] == slot
        seen.append(int(row))
        for below in (points.twins[row], points.others[row]):
            if below >= 0:
                assert below > row
                assert points.above[below] == row
                assert np.array_equal(points.X[below], points.X[row])
                ahead.append(below)
    return seen


def sound(pool):
    """Check the tree: every present row is in a slot, every box encloses what is below it, and is empty if that is."""
    points = pool.points
    leaves = int(points.state[index.LEAVES])
    seen = []
    low, high = (np.full((leaves, pool.X.shape[1] + 1), end, np.float32) for end in (np.inf, -np.inf))
    for leaf in range(leaves):
        block = points.nodes[leaf, index.HEAD]
        while block >= 0:
            fill, follow, owner, lowest = points.leaves[block]
            assert owner == leaf
            for place in range(fill):
                row = points.ids[block, place]
                assert row >= lowest
                assert points.above[row] == -1
                seen += equal_ones(points, row, block * index.LEAF + place)
            low[leaf] = np.minimum(low[leaf], points.blocks[block, :, :fill].min(axis=1, initial=np.inf))
            high[leaf] = np.maximum(high[leaf], points.blocks[block, :, :fill].max(axis=1, initial=-np.inf))
            block = follow
    assert sorted(seen) == pool.rows().tolist()
    for tier in range(points.state[index.TIERS]):
        for at in range(len(low)):
            box = points.boxes[points.state[index.FIRST + tier] + at // index.FAN, :, :, at % index.FAN]
            assert np.all(box[0] <= low[at])
            assert np.all(box[1] >= high[at])
            assert np.all(low[at] <= high[at]) == np.all(box[0] <= box[1])
        starts = np.arange(0, len(low), index.FAN)
        low, high = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
    assert len(low) == 1


def live(X, rng, steps, *, means=True):
    """Let a pool live through random additions, removals and searches, each compared with the plain loop."""
    n = len(X)
    start = np.arange(n) if rng.random() < 0.7 else rng.permutation(n)[: rng.integers(0, n + 1)]
    pool, plain = Pool(X, start, means=True), Plain(X, start)
    query = X[0].copy()
    # Further out (no method goes there) single precision overflows: a test of its own.
    reach = min(1e150, 1e30 * (np.ptp(X, axis=0).max() or 1.0))
    for _ in range(steps):
        gone = some_rows(rng, plain.rows(), rng.choice([0, 1, 3, n // 4]))
        pool.remove(gone)
        plain.present[gone] = False
        if rng.random() < 0.15:
            back = some_rows(rng, np.flatnonzero(~plain.present), rng.choice([1, n]))
            pool.add(back)
            plain.present[back] = True
        query = a_query(rng, X, query)
        query = np.clip(query, X.min(axis=0) - reach, X.max(axis=0) + reach)
        assert pool.count == plain.present.sum()
        assert pool.rows().tolist() == plain.rows().tolist()
        m = int(rng.choice([1, 2, 5, n // 3 + 1, n + 3]))
        skip, other = (int(i) for i in rng.choice([-1, -1, *range(n)], 2, replace=False))
        found = pool.nearest_distances(query, m, skip=skip, other=other)
        same_neighbours(found, plain.nearest_distances(query, m, skip, other))
        if pool.count:
            assert pool.furthest_distance(query) == plain.furthest_distance(query)
            assert pool.furthest(query) == plain.furthest_distance(query)[0]
            if means:
                assert pool.mean().tobytes() == plain.kept_mean().tobytes()
        sound(pool)
    return pool


# --- any sequence of events ---


@pytest.mark.parametrize("data", DATA, ids=lambda data: data.__name__)
@pytest.mark.parametrize("n", SIZES)
def test_searches_equal_a_plain_loop(data, n):
    for d in (1, 2, 3, 4, 5, 13, 40):
        rng = np.random.default_rng([n, d])
        live(data(rng, n, d), rng, 8, means=data not in WITHOUT_MEANS)


@PROPERTY
@given(
    data=st.sampled_from(DATA),
    n=st.one_of(st.sampled_from(BOUNDARIES), st.integers(1, 300)),
    d=st.integers(1, 40),
    seed=st.integers(0, 2**32 - 1),
    columns=st.integers(0, 40),
)
def test_searches_equal_a_plain_loop_on_anything(data, n, d, seed, columns):
    """Also with the columns of one kind of data beside those of another."""
    rng = np.random.default_rng(seed)
    X = data(rng, n, d)
    if columns < d:
        X[:, columns:] = gaussian(rng, n, d - columns)
    live(X, rng, 12, means=data not in WITHOUT_MEANS)


coordinate = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(-1e150, 1e150),
    st.floats(-1, 1),
    st.sampled_from([0.0, -0.0, 1e-161, 2e-162, 1.5e-162, 5e-324, 1e-45, 1e-39, 1e9, 1e9 + 2**-20, 1 + 2**-52]),
)


@PROPERTY
@given(st.data())
def test_searches_equal_a_plain_loop_on_adverse_numbers(data):
    """Coordinates chosen by hypothesis from all magnitudes that the door lets in, alone and together."""
    d = data.draw(st.integers(1, 3))
    rows = data.draw(st.lists(st.lists(coordinate, min_size=d, max_size=d), min_size=2, max_size=12))
    X = np.array(rows)
    if 0 < np.ptp(X, axis=0).max() < 1e-140:
        X[0] = 1e-139
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    live(X, rng, 10, means=False)


# --- thresholds ---


@pytest.mark.parametrize("d", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("offset", [0.0, 0.5, 100.0, 1e9])
def test_ties_and_near_ties_go_to_the_right_row(d, offset):
    """Records on a sphere around the query, each moved outwards or inwards by an ulp or so."""
    rng = np.random.default_rng(d)
    for _ in range(5):
        X = shell(rng, 257, d) * rng.choice([1.0, 1 + 2**-52, 1 - 2**-53], size=(257, 1)) + offset
        query = np.full(d, offset)
        pool, plain = Pool(X), Plain(X)
        same_neighbours(pool.nearest_distances(query, 257), plain.nearest_distances(query, 257))
        for m in (1, 2, 64):
            same_neighbours(pool.nearest_distances(query, m), plain.nearest_distances(query, m))
        assert pool.furthest_distance(query) == plain.furthest_distance(query)


@pytest.mark.parametrize("shuffled", [False, True])
def test_among_equal_records_the_lowest_row_wins_wherever_it_is_stored(shuffled):
    """Slots are filled and refilled in another order than rows; an equal record may sit in any block."""
    X = np.zeros((300, 2))
    X[::3] = 1.0
    rows = np.arange(300)
    if shuffled:
        np.random.default_rng(1).shuffle(rows)
    pool = Pool(X, rows)
    assert pool.nearest(np.zeros(2), 3).tolist() == [1, 2, 4]
    assert pool.furthest(np.zeros(2)) == 0
    pool.remove(np.array([0, 1, 299, 4]))
    assert pool.nearest(np.zeros(2), 3).tolist() == [2, 5, 7]
    assert pool.furthest(np.zeros(2)) == 3
    pool.add(np.array([1, 0]))
    assert pool.nearest(np.zeros(2), 3).tolist() == [1, 2, 5]
    assert pool.nearest(np.zeros(2), 3, skip=1, other=5).tolist() == [2, 7, 8]


def test_a_query_far_outside_the_data_is_still_exact():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(257, 3))
    pool, plain = Pool(X), Plain(X)
    for reach in (1e3, 1e6, 1e9, 1e15, 1e30):
        query = rng.normal(size=3) * reach
        same_neighbours(pool.nearest_distances(query, 9), plain.nearest_distances(query, 9))
        assert pool.furthest_distance(query) == plain.furthest_distance(query)


@pytest.mark.parametrize("reach", [1e39, 1e45, 1e100])
def test_a_query_that_single_precision_cannot_hold_is_still_exact(reach):
    rng = np.random.default_rng(5)
    for X in (rng.normal(size=(257, 3)), np.ones((3, 3))):
        pool, plain = Pool(X), Plain(X)
        query = rng.normal(size=3) * reach
        same_neighbours(pool.nearest_distances(query, 9), plain.nearest_distances(query, 9))
        assert pool.furthest_distance(query) == plain.furthest_distance(query)


def test_a_pool_can_be_emptied_and_filled_again():
    X = np.random.default_rng(0).normal(size=(130, 2))
    pool = Pool(X, np.empty(0, np.int64), means=True)
    assert pool.count == 0
    assert pool.nearest(X[0], 3).tolist() == []
    assert pool.furthest(X[0]) == -1
    pool.add(np.arange(130))
    assert 129 in pool
    pool.remove(np.arange(129, -1, -1))
    assert pool.count == 0
    assert 129 not in pool
    pool.add(np.array([77]))
    assert pool.nearest(X[0], 3).tolist() == [77]
    assert pool.mean().tobytes() == X[77].tobytes()


def test_points_filled_in_later_are_found_where_they_are():
    """The means of groups move: their pool is scaled to the data, not to what it holds at first."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(600, 3)) * 1e-4 + 1e6
    groups = Groups(X, 3)
    for g in range(150):
        groups.open(np.arange(2 * g, 2 * g + 2))
    for row in range(300, 600):
        squares = sqdist(groups.means[: groups.count], X[row])
        assert groups.nearest(X[row]) == (squares.min(), np.argmin(squares))
        groups.extend(int(rng.integers(0, 150)), np.array([row]))


# --- the tree ---


def test_a_row_left_out_of_a_search_is_found_by_the_next_one():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [50.0], [60.0]])
    pool = Pool(X)
    assert pool.nearest(X[0], 1, skip=0, other=1).tolist() == [2]
    assert pool.nearest(X[0], 1, skip=1, other=1).tolist() == [0]
    assert pool.nearest(X[0], 3).tolist() == [0, 1, 2]


@pytest.mark.parametrize("data", DATA, ids=lambda data: data.__name__)
def test_a_large_tree_that_is_emptied_step_by_step_stays_exact(data):
    """Deep trees, leaves that empty, and several rebuildings on the way."""
    rng = np.random.default_rng(3)
    X = data(rng, 3000, 4)
    pool, plain = Pool(X), Plain(X)
    while pool.count > 5:
        for _ in range(4):
            query = X[rng.integers(len(X))]
            same_neighbours(pool.nearest_distances(query, 7), plain.nearest_distances(query, 7))
            assert pool.furthest_distance(query) == plain.furthest_distance(query)
        gone = pool.nearest(X[rng.integers(len(X))], max(1, pool.count // 5))
        pool.remove(gone)
        plain.present[gone] = False
        index.recentre(pool.points, X[rng.integers(len(X))])
        sound(pool)
    assert pool.points.state[index.LEAVES] < 16


@pytest.mark.parametrize("d", [2, 5, 30])
@pytest.mark.parametrize("data", DATA, ids=lambda data: data.__name__)
def test_the_furthest_point_of_a_large_tree_is_that_of_a_plain_loop(data, d):
    """So many leaves that the second bound for the furthest point is in use."""
    rng = np.random.default_rng(d)
    X = data(rng, 12_000, d)
    pool, plain = Pool(X, means=True), Plain(X)
    pool.tidy()
    outermost = np.argsort(-sqdist(X, X.mean(axis=0)), kind="stable")
    for rows in (outermost[:2000], np.empty(0, np.int64)):
        for query in [*X[outermost[2000:2006]], *X[outermost[-3:]], *X[rng.integers(len(X), size=3)], 3 * X[0]]:
            assert pool.furthest_distance(query) == plain.furthest_distance(query)
        pool.remove(np.sort(rows))
        plain.present[rows] = False


def test_equal_records_are_one_point():
    X = np.repeat(np.random.default_rng(0).normal(size=(50, 3)), 20, axis=0)
    X[7] = X[7] * 1.0
    X[0, 0] = X[1, 0] = 0.0
    X[1, 0] = -0.0  # equal to 0.0 for every distance
    X[:2, 1:] = X[0, 1:]
    pool = Pool(X)
    assert pool.points.state[index.SLOTS] == 51
    assert pool.nearest(X[40], 25)[:20].tolist() == list(range(40, 60))
    pool.remove(np.array([41, 59, 40]))
    assert pool.nearest(X[40], 3, skip=43).tolist() == [42, 44, 45]
    assert pool.nearest(X[0], 2).tolist() == [0, 1]
    pool.add(np.array([40]))
    assert pool.nearest(X[40], 3).tolist() == [40, 42, 43]
    sound(pool)


def test_a_million_equal_records_cost_no_more_than_one():
    pool = Pool(np.full((1_000_000, 2), 0.1))
    for first in range(0, 3000, 3):
        rows = pool.nearest(pool.X[0], 3)
        assert rows.tolist() == [first, first + 1, first + 2]
        pool.remove(rows)
    assert pool.furthest(np.ones(2)) == 3000


def test_a_copy_is_emptied_alone():
    X = np.random.default_rng(1).normal(size=(300, 3))
    pool = Pool(X, means=True)
    other = pool.copy()
    other.remove(np.arange(250))
    sound(pool)
    assert pool.count == 300
    assert other.count == 50
    same_neighbours(pool.nearest_distances(X[0], 9), Plain(X).nearest_distances(X[0], 9))
    assert pool.mean().tobytes() == Plain(X).mean().tobytes()


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_many_searches_at_once_find_the_same_on_any_number_of_threads(n_jobs):
    X = np.random.default_rng(4).integers(0, 6, size=(6000, 3)).astype(float)
    ids, squares = Pool(X).nearest_each(X, 3, np.arange(len(X)), n_jobs)
    plain = Plain(X)
    for row in range(0, 6000, 100):
        same_neighbours((ids[row], squares[row]), plain.nearest_distances(X[row], 3, row))
    alone = Pool(X).nearest_each(X, 3, np.arange(len(X)))
    assert np.array_equal(ids, alone[0])


def test_a_search_for_news_looks_at_what_came_since():
    """The bound known from before is kept unless something that came later is nearer."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(2000, 3))
    pool = Pool(X, np.arange(1500))
    points = pool.points
    for time, new in enumerate(range(1500, 2000), 1):
        query = rng.normal(size=3)
        near, squares = pool.nearest_distances(query, 1)
        points.state[index.CLOCK] = time
        pool.add(np.array([new]))
        dist, ids = squares.copy(), near.copy()
        search_news(points, query, time - 1, dist, ids)
        same_neighbours((ids, dist), pool.nearest_distances(query, 1))
    nothing = np.array([np.inf]), np.array([-1])
    search_news(points, X[0], 500, *nothing)
    assert nothing[1][0] == -1


@numba.njit
def search_news(points, query, since, dist, ids):
    search.search_near(points, query, 1, -1, -1, since, dist, ids, 1)


# --- means ---


def heavy_tail(rng, n, d):
    """Incomes and turnovers: a few records are larger than most by many orders of magnitude."""
    return np.exp(rng.normal(size=(n, d)) * 6)


def heavier_tail(rng, n, d):
    return np.exp(rng.normal(size=(n, d)) * 12)


def mixed_magnitudes(rng, n, d):
    return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-8, 8, size=(n, d))


MEANS = (
    gaussian,
    duplicates,
    far_from_zero,
    scales_apart,
    outliers,
    signs,
    last_bits,
    collinear,
    nearly_too_small,
    heavy_tail,
    heavier_tail,
    mixed_magnitudes,
)


@cache
def many(data):
    rng = np.random.default_rng(99)
    return data(rng, 3000, 3)


@pytest.mark.parametrize("data", MEANS, ids=lambda data: data.__name__)
@pytest.mark.parametrize("order", ["largest first", "random"])
def test_means_are_exact_after_thousands_of_removals(data, order):
    """The sum is correctly rounded whatever came and went; most methods take the outermost records first."""
    X = many(data)
    pool, plain = Pool(X), Plain(X)
    if order == "random":
        gone = np.random.default_rng(3).permutation(len(X))
    else:
        gone = np.argsort(-np.abs(X).max(axis=1), kind="stable")
    assert pool.mean().tobytes() == plain.mean().tobytes()
    for start in range(0, 2990, 10):
        rows = gone[start : start + 10]
        pool.remove(rows)
        plain.present[rows] = False
        if start % 130 == 0 or start > 2900:
            assert pool.mean().tobytes() == plain.mean().tobytes(), f"{pool.count} left"


def test_means_are_exact_when_records_come_and_go():
    X = np.random.default_rng(4).normal(size=(500, 2)) * 1e5
    pool = Pool(X)
    for i in range(5000):
        row = np.array([i * 7 % 500])
        pool.remove(row)
        pool.add(row)
    assert pool.mean().tobytes() == plain_mean(X).tobytes()


@pytest.mark.parametrize("data", MEANS, ids=lambda data: data.__name__)
def test_means_of_groups_are_exact(data):
    X = many(data)[:600]
    groups = Groups(X, 3)
    rng = np.random.default_rng(6)
    rows = rng.permutation(600)
    for start in range(0, 300, 3):
        groups.open(rows[start : start + 3])
    for row in rows[300:]:
        groups.extend(int(rng.integers(0, 100)), np.array([row]))
    for g in range(100):
        assert groups.means[g].tobytes() == plain_mean(X[groups.labels == g]).tobytes()
