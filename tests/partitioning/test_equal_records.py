"""Equal records cost as much as one: what is kept, searched and weighed follows the number of different records."""

import numpy as np
import pytest

import naive
import shoal
from invariants import check_partition
from shoal.kernels import groups as _groups
from shoal.kernels import index
from shoal.kernels.jit import kernel
from shoal.kernels.trees import Growth, grow_tree
from shoal.partitioning import pool
from shoal.partitioning.constrained_lloyd import _nearest
from shoal.partitioning.density import Candidates
from shoal.partitioning.equal_groups import in_play
from shoal.partitioning.maximum_distance import FurthestPairs
from shoal.partitioning.pool import Groups, Pool, kinds
from shoal.partitioning.refine import Work

MANY = 10_000
# The optimum of many records is sought for minutes; one of several starts is enough.
SHORT = {"lmas": {"n_init": 1}, "ona": {"n_init": 1}, "anytime": {"max_steps": 200}}
METHODS = [m.name for m in shoal.methods() if not m.univariate and m.name != "exact"]


def codes(n, different, seed=0):
    """Return n records of which so many are different."""
    rng = np.random.default_rng(seed)
    return rng.permutation(1000)[:different, None].astype(float)[np.arange(n) % different] * np.array([1.0, 0.5])


# --- every method comes to an end ------------------------------------------------------------------------------------


@pytest.mark.parametrize("different", [1, 7])
@pytest.mark.parametrize("method", METHODS)
def test_a_table_of_equal_records_is_done_at_once(method, different):
    """Whatever looks at each of them for each of them does not come to an end here."""
    labels = shoal.partition(codes(MANY, different), 3, method, random_state=0, **SHORT.get(method, {}))
    check_partition(labels, MANY, 3)


@pytest.mark.parametrize("closest", ["record", "cost"])
def test_the_closest_group_of_equal_records_is_found_at_once(closest):
    check_partition(shoal.partition(codes(MANY, 1), 3, "mdav*", closest=closest), MANY, 3)


@pytest.mark.parametrize("different", [1, 7])
@pytest.mark.parametrize("refinement", [r.name for r in shoal.refinements()])
def test_a_partition_of_equal_records_is_refined_at_once(refinement, different):
    X = codes(MANY, different)
    start = shoal.partition(X, 3, "mondrian")
    labels = shoal.refine(X, start, 3, refinement, random_state=0, **SHORT.get(refinement, {}))
    check_partition(labels, MANY, 3)


# --- whose mean is their value, and whose cost is nothing ------------------------------------------------------------

# Sums of these, divided by how many there are, often miss them by the last digit.
AWKWARD = np.array([[0.1, 0.7], [1 / 3, -0.2], [0.6, 1e-310], [1e300 / 3, -0.0]])


@pytest.mark.parametrize("small_table", [0, 1000])
@pytest.mark.parametrize("size", [1, 3, 6, 49])
def test_the_mean_of_equal_records_is_their_value(size, small_table, monkeypatch):
    monkeypatch.setattr(pool, "SMALL_TABLE", small_table)
    X, labels = np.repeat(AWKWARD[:3], size, axis=0), np.repeat(np.arange(3), size)
    np.testing.assert_array_equal(pool.all_means(X, labels), AWKWARD[:3])
    assert pool.squared_error(X, labels) == 0
    for value in AWKWARD:
        alike = np.repeat(value[None], size, axis=0)
        assert pool.mean_of(alike).tobytes() == (value + 0.0).tobytes()
        assert pool.cost_of(alike, np.arange(size)) == 0


@kernel
def mean_with(X, row, group, made):
    mean = np.empty(X.shape[1])
    _groups.write_mean_with(X, row, group, made, np.empty((2, X.shape[1] + 1)), mean)
    return mean


def test_a_group_that_grows_by_equal_records_has_their_value_as_its_mean():
    """In steps, as methods make groups; one different record, and it is the sum divided by the count for good."""
    X = np.repeat(AWKWARD[:2], [12, 12], axis=0)
    made = Groups(X, 2)
    group = made.open(np.array([0]))
    for rows in ([1, 2], [3], [4, 5, 6]):
        np.testing.assert_array_equal(mean_with(X, rows[0], group, made.made), X[0])
        made.extend(group, np.array(rows))
        np.testing.assert_array_equal(made.means[group], X[0])
    np.testing.assert_array_equal(mean_with(X, 12, group, made.made), naive.mean(X[[*range(7), 12]]))
    for rows in ([12], [7, 8]):
        made.extend(group, np.array(rows))
        np.testing.assert_array_equal(made.means[group], naive.mean(X[made.labels == group]))
    np.testing.assert_array_equal(mean_with(X, 9, group, made.made), naive.mean(X[[*range(10), 12]]))


def test_records_that_agree_in_one_coordinate_are_not_equal():
    X = np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 4.0]])
    assert naive.mean(X)[0] != 0.1
    np.testing.assert_array_equal(_groups.mean_of(X, np.arange(3)), naive.mean(X))
    np.testing.assert_array_equal(pool.mean_of(X), naive.mean(X))


def test_no_group_of_equal_records_is_moved_or_dissolved():
    """Each move would seem to gain what a mean misses its records by, and the next one would undo it."""
    X = np.repeat(AWKWARD[:3], 24, axis=0)
    sizes = [3, 4, 5, 3, 5, 4] * 3
    start = np.repeat(np.arange(len(sizes)), sizes)
    work = Work(X, start, 3)
    work.seek()
    work.dissolve()
    work.reassign()
    np.testing.assert_array_equal(work.labels(), start)


@pytest.mark.parametrize(("method", "options"), [("ona", {"n_init": 1}), ("ona*", {}), ("mdav*", {"closest": "cost"})])
def test_equal_records_of_awkward_values_are_done_at_once(method, options):
    X = AWKWARD[:2].repeat(5, axis=0)[np.arange(MANY) % 10] * np.arange(1, 6).repeat(2)[np.arange(MANY) % 10, None]
    check_partition(shoal.partition(X, 3, method, **options), MANY, 3)


# --- and looks at one of each kind -----------------------------------------------------------------------------------


def test_records_that_are_equal_are_of_one_kind():
    X = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, -0.0], [1.0, 0.0], [2.0, 1e-300]])
    same = kinds(X)
    assert same.firsts.tolist() == [0, 1, 4]
    assert same.twins.tolist() == [2, -1, 3, -1, -1]
    assert same.of.tolist() == [0, 1, 0, 0, 2]


@pytest.mark.parametrize("different", [1, 7, 300])
def test_points_that_come_one_by_one_share_a_slot_if_they_are_equal(different):
    """Means of groups do; where they do not, the nearest of a thousand equal ones takes a thousand steps."""
    rng = np.random.default_rng(different)
    X = codes(1000, different)
    pool = Pool(X, np.empty(0, np.int64), like=X)
    pool.add(rng.permutation(1000))
    assert pool.points.state[index.SLOTS] == different
    for gone in np.array_split(rng.permutation(1000), 9)[:-1]:
        pool.remove(gone)
        left = pool.rows()
        for query in X[rng.integers(0, 1000, 5)]:
            squares = naive.sqdist(X[left], query)
            nearest = np.argsort(squares, kind="stable")[:4]
            assert pool.nearest(query, 4).tolist() == left[nearest].tolist()
            assert pool.nearest(query, 1, skip=int(left[nearest[0]])).tolist() == [left[nearest[1]]]
            assert pool.furthest(query) == left[np.argmax(squares)]


def test_the_most_distant_pair_is_sought_among_different_records():
    X = codes(500, 5)
    pool = Pool(X, means=True)
    pairs = FurthestPairs(pool)
    assert len(pairs._heap) == 5
    while pool.count:
        left = pool.rows()
        square = np.array([naive.sqdist(X[left], x) for x in X[left]])
        row, partner = np.unravel_index(np.argmax(square), square.shape)
        assert pairs.top() == (left[row], left[partner])
        pool.remove(left[[row]])


def test_candidate_groups_are_those_of_different_records():
    X = codes(500, 5)
    candidates = Candidates(Pool(X), 3, "gsms", 1)
    assert candidates.rows.tolist() == [0, 1, 2, 3, 4]
    assert candidates.renew(candidates.rows).tolist() == [0, 1, 2, 3, 4]
    assert candidates.group(0).tolist() == [0, 5, 10]
    assert candidates.remove(np.array([0, 5, 10])) == [0]
    assert candidates.rows.tolist() == [15, 1, 2, 3, 4]
    assert candidates.renew(candidates.rows).tolist() == [15]
    assert candidates.group(15).tolist() == [15, 20, 25]


def test_a_spanning_tree_grows_from_different_records():
    X = codes(500, 5)
    pool, n = Pool(X), 500
    rows, squares = (np.zeros((4, n), np.int64), np.zeros((2, n)))
    tree = Growth(pool.points, rows[0], rows[1], squares[0], rows[2], squares[1], rows[3], np.zeros(2, np.int64))
    grow_tree(tree, n)
    # The last one to join leaves nobody to look for.
    assert tree.sizes.tolist() == [n - 1, 5]


def test_a_record_is_offered_groups_in_different_places():
    """A hundred groups in the same place would else be all that it may go to."""
    centres = np.vstack([np.zeros((100, 2)), np.arange(40.0).reshape(20, 2)])
    near = _nearest(np.array([[0.1, 0.1, 0.0]]), centres, np.zeros(120))
    assert near.tolist() == [[0, *range(100, 107)]]


def test_a_search_leaves_groups_of_equal_records_alone_that_nobody_needs():
    X = np.zeros((3000, 2))
    X[:3] = [[1.0, 0.0], [1.1, 0.0], [9.0, 0.0]]
    labels = np.arange(3000) // 3
    assert len(in_play(X, labels, 0)) == 6
    # Three records lie nearest to the others: one group is left to each, and one more.
    assert len(in_play(X, labels, 1)) == 3 + 3 * 4
    assert len(in_play(X[:900], labels[:900], 1)) == 900


def test_nothing_is_left_alone_where_all_records_differ():
    X = np.arange(4000.0).reshape(2000, 2)
    assert len(in_play(X, np.arange(2000) // 4, 0)) == 2000
