"""Every method gives the labels of its plain oracle, and every method has one."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import naive_lloyd
import shoal
from invariants import check_partition
from partitioning.strategies import cases
from shoal.partitioning import lloyd, maximum_distance, pool, random_starts

VARIANTS = {
    "v-mdav": [{"gamma": 0.0}, {"gamma": 0.2}, {"gamma": 1.1}, {"gamma": 2.0}],
    "mdav*": [{"closest": "mean"}, {"closest": "record"}, {"closest": "cost"}],
    "mdav*-gamma": [
        {"gamma": 0.0},
        {"gamma": 0.8},
        {"gamma": 1.3, "closest": "record"},
        {"gamma": 1.0, "closest": "cost"},
    ],
    "npn-mhm": [{"start": "pair"}, {"start": "mean"}],
    "insensitive": [{"order": "hilbert"}, {"order": "lexicographic"}, {"order": "distance"}],
    "mondrian": [{}, {"whole": "2k-1"}],
    "mondrian-v": [{}, {"whole": "2k-1"}],
    "mondrian-v2d": [{}, {"whole": "2k-1", "weight": 2.0}],
    "ona*": [{}, {"closest": "record"}, {"closest": "cost"}],
    "ona*-gamma": [{"gamma": 0.0}, {"gamma": 1.0}, {"gamma": 1.5}],
    "mona": [{"rho": 0.0}, {"rho": 0.6}, {"rho": 0.8}, {"rho": 1.0}],
    "mona-2d": [{"rho": 0.0}, {"rho": 0.7}, {"rho": 1.0}],
}
ORACLES = {**naive.ORACLES, **naive_lloyd.ORACLES}
# Optimal flows and optimal partitions are not unique: these are compared by cost, in tests of their own. A search is as
# good as its moves, and has no plain oracle but the loss.
ELSEWHERE = {"pcl", "exact", "mu-approx", "anytime"}
# Small tables are served by loops that need no index. Both ways are compared with the oracle, which takes longest.
WITH_PLAIN_LOOPS = {"mdav", "mdav*", "mdav*-gamma", "ona*", "ona*-gamma", "mona"}
# What is put together from parts that have tests of their own needs fewer examples.
FEWER = settings(max_examples=settings.default.max_examples // 4)
ALL = [(m.name, options) for m in shoal.methods() for options in VARIANTS.get(m.name, [{}])]


def test_every_method_has_an_oracle():
    assert {m.name for m in shoal.methods()} - ELSEWHERE == set(ORACLES) | set(naive_lloyd.RANDOM_ORACLES)
    assert {r.name for r in shoal.refinements()} - ELSEWHERE == set(naive_lloyd.REFINEMENTS)


@pytest.mark.parametrize(("method", "options"), [a for a in ALL if a[0] in ORACLES and a[0] != "univariate"], ids=str)
@given(case=cases())
def test_labels_are_those_of_the_oracle(method, options, case):
    _, X, k = case
    labels = shoal.partition(X, k, method, **options)
    check_partition(labels, len(X), k)
    wanted = ORACLES[method](X, k, **options)
    np.testing.assert_array_equal(labels, wanted)
    if method in WITH_PLAIN_LOOPS:
        with patch.object(maximum_distance, "SMALL_TABLE", 0), patch.object(lloyd, "SMALL_TABLE", 0):
            np.testing.assert_array_equal(shoal.partition(X, k, method, **options), wanted)


@given(case=cases(), m=st.integers(1, 5))
def test_nearest_points_are_the_same_with_an_index_as_with_plain_loops(case, m):
    _, X, _ = case
    m = min(m, len(X))
    plain = pool.nearest_each(X, X, m)
    with patch.object(pool, "SMALL_SET", 0):
        np.testing.assert_array_equal(plain, pool.nearest_each(X, X, m, n_jobs=2))


@given(case=cases(one_column=True))
def test_univariate_labels_are_those_of_the_oracle(case):
    _, X, k = case
    labels = shoal.partition(X, k, "univariate")
    check_partition(labels, len(X), k)
    np.testing.assert_array_equal(labels, naive.univariate(X, k))


@pytest.mark.parametrize("method", ["v-mdav", "mdav*-gamma", "ona*-gamma"])
@FEWER
@given(case=cases(most_records=30, most_columns=4, largest_k=6))
def test_best_gamma_is_that_of_the_oracle(method, case):
    _, X, k = case
    labels = shoal.partition(X, k, method, gamma="best", n_jobs=2)
    np.testing.assert_array_equal(labels, ORACLES[method](X, k, gamma="best"))


@pytest.mark.parametrize("method", naive_lloyd.RANDOM_ORACLES)
@settings(max_examples=settings.default.max_examples // 2)
@given(case=cases(most_records=60, most_columns=6, largest_k=10), seed=st.integers(0, 2**32 - 1))
def test_a_random_start_is_that_of_the_oracle(method, case, seed):
    _, X, k = case
    labels = shoal.partition(X, k, method, n_init=1, random_state=seed)
    check_partition(labels, len(X), k)
    own = np.random.default_rng(seed).spawn(1)[0]
    np.testing.assert_array_equal(labels, naive_lloyd.RANDOM_ORACLES[method](X, k, own))
    with patch.object(random_starts, "FEW_CENTRES", 0):
        np.testing.assert_array_equal(shoal.partition(X, k, method, n_init=1, random_state=seed), labels)


@pytest.mark.parametrize("refinement", naive_lloyd.REFINEMENTS)
@settings(max_examples=settings.default.max_examples // 2)
@given(
    case=cases(most_records=60, most_columns=6, largest_k=10),
    start=st.sampled_from(["mdav", "cbfs", "mst", "mondrian"]),
)
def test_refinements_are_those_of_the_oracle_never_worse_and_settled(refinement, case, start):
    _, X, k = case
    before = shoal.partition(X, k, start)
    after = shoal.refine(X, before, k, refinement)
    check_partition(after, len(X), k)
    np.testing.assert_array_equal(after, naive_lloyd.REFINEMENTS[refinement](X, k, before))
    np.testing.assert_array_equal(after, shoal.partition(X, k, start, refine=refinement))
    costs = [naive.total_cost(X, naive_lloyd.groups_of(labels)) for labels in (before, after)]
    assert costs[1] <= costs[0]
    np.testing.assert_array_equal(shoal.refine(X, after, k, refinement), after)


@FEWER
@given(
    case=cases(most_records=60, most_columns=6, largest_k=10),
    start=st.sampled_from(["mdav", "cbfs", "mst", "mondrian"]),
    passes=st.integers(1, 3),
)
def test_so_many_passes_of_tfrp2_are_those_of_the_oracle(case, start, passes):
    _, X, k = case
    before = shoal.partition(X, k, start)
    after = shoal.refine(X, before, k, "tfrp2", passes=passes)
    check_partition(after, len(X), k)
    np.testing.assert_array_equal(after, naive_lloyd.tfrp2(X, k, before, passes))


@settings(max_examples=settings.default.max_examples // 2)
@given(
    case=cases(most_records=45, most_columns=6, largest_k=10),
    start=st.sampled_from(["mdav", "cbfs", "mst", "mondrian"]),
    passes=st.sampled_from([1, 2, "all"]),
)
def test_the_pseudocode_of_tfrp2_is_that_of_the_oracle(case, start, passes):
    _, X, k = case
    before = shoal.partition(X, k, start)
    after = shoal.refine(X, before, k, "tfrp2", passes=passes, reading="pseudocode")
    check_partition(after, len(X), k)
    np.testing.assert_array_equal(after, naive_lloyd.tfrp2(X, k, before, passes, naive_lloyd.decompose_in_turn))
    costs = [naive.total_cost(X, naive_lloyd.groups_of(labels)) for labels in (before, after)]
    assert costs[1] <= costs[0]
