"""Partitions under what tables demand: strata, units, and equal records that are never separated."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from invariants import check_partition, same_groups
from privacy.demand_strategies import error
from shoal import Plan
from shoal.errors import DataError
from shoal.partitioning.choice import choose
from shoal.privacy.demands import Demand
from shoal.privacy.models import model
from shoal.progress import throttled
from shoal.release.groups import grouping
from shoal.release.groups.grouping import Constraints, group, merged, method_in_words, settled
from shoal.tables.sensitive import Sensitive


def plan_of(k=3, **fields):
    return Plan.of(**{"k": k, "method": "mdav", "n_jobs": 1, **fields})


@st.composite
def demanding(draw):
    """Return points on a small grid, so that many are equal, with strata and units, either of which may be absent."""
    n = draw(st.integers(6, 40))
    k = draw(st.integers(2, 3))
    d = draw(st.integers(1, 3))
    cells = draw(st.lists(st.integers(0, 3), min_size=n * d, max_size=n * d))
    strata = draw(st.none() | st.lists(st.integers(0, 2), min_size=n, max_size=n))
    units = draw(st.none() | st.lists(st.integers(0, 12), min_size=n, max_size=n))
    constraints = Constraints(
        None if strata is None else np.unique(strata, return_inverse=True)[1],
        None if units is None else np.unique(units, return_inverse=True)[1],
        draw(st.booleans()),
    )
    return np.array(cells, float).reshape(n, d), k, constraints


def crowd(rows, units):
    return len(rows) if units is None else len(set(units[rows].tolist()))


@settings(max_examples=200)
@given(demanding())
def test_all_demands_hold_or_cannot(drawn):
    X, k, constraints = drawn
    n = len(X)
    strata = np.zeros(n, int) if constraints.strata is None else constraints.strata
    feasible = all(crowd(np.flatnonzero(strata == s), constraints.units) >= k for s in range(strata.max() + 1))
    if not feasible:
        if constraints.units is not None:
            with pytest.raises(shoal.ShoalError):
                group(X, plan_of(k), constraints)
        return
    labels = group(X, plan_of(k), constraints)
    check_partition(labels, n, k)
    for g in range(labels.max() + 1):
        rows = np.flatnonzero(labels == g)
        assert len(set(strata[rows].tolist())) == 1
        assert crowd(rows, constraints.units) >= k
    if constraints.together:
        records = {}
        for row in range(n):
            assert records.setdefault((strata[row], *X[row]), labels[row]) == labels[row]


def test_without_demands_it_is_the_partition():
    X = np.random.default_rng(0).normal(size=(50, 3))
    np.testing.assert_array_equal(group(X, plan_of(), Constraints()), shoal.partition(X, 3, "mdav"))


def test_each_stratum_is_partitioned_by_itself():
    rng = np.random.default_rng(1)
    X, strata = rng.normal(size=(60, 2)), rng.integers(0, 3, 60)
    labels = group(X, plan_of(), Constraints(strata=strata))
    for s in range(3):
        rows = np.flatnonzero(strata == s)
        assert same_groups(labels[rows], shoal.partition(np.ascontiguousarray(X[rows]), 3, "mdav"))


def test_one_persons_rows_are_no_crowd():
    """Ten equal rows of one person, far from everybody else, would be the best group by rows."""
    X = np.array([[100.0]] * 10 + [[float(i)] for i in range(20)])
    units = np.array([0] * 10 + list(range(1, 21)))
    labels = group(X, plan_of(), Constraints(units=units))
    assert len(set(units[labels == labels[0]].tolist())) >= 3


def test_units_are_searched_like_a_model_that_says_the_same():
    """k different units in every group lose no more than k different values of the unit as a sensitive attribute."""
    rng = np.random.default_rng(5)
    person = np.repeat(np.arange(60), rng.integers(1, 6, 60))
    X = rng.normal(size=(60, 2))[person] + 0.2 * rng.normal(size=(len(person), 2))
    strata = (X[:, 0] > 0).astype(np.int64)
    merged_only = shoal.partition(X, 3, "mdav")
    best = plan_of().model_copy(update={"enforcement": "best"})  # as `auto` has it
    for own in (None, strata):
        labels = group(X, best, Constraints(strata=own, units=person))
        said = (Demand(model("distinct-diversity l=3"), Sensitive("person", person, 60)),)
        as_model = group(X, best, Constraints(strata=own, demands=said))
        assert min(len(set(person[labels == g].tolist())) for g in range(labels.max() + 1)) >= 3
        assert error(X, labels) <= 1.05 * error(X, as_model)
        assert own is None or all(len(set(own[labels == g])) == 1 for g in range(labels.max() + 1))
    short = np.array([len(set(person[merged_only == g].tolist())) < 3 for g in range(merged_only.max() + 1)])
    assert short.any(), "groups of rows alone do not do"


def test_what_a_method_leaves_of_a_time_limit_is_for_the_models(monkeypatch):
    """Also if the method itself has no use for a limit."""
    given = []

    def enforced(X, k, required, *, labels, time_limit, **options):
        given.append(time_limit)
        return np.zeros(len(X), np.int64)

    monkeypatch.setattr("shoal.partitioning.enforcement.enforce", enforced)
    X, units = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) // 2
    group(X, plan_of(), Constraints(units=units), seconds=50.0)
    group(X, plan_of(), Constraints(units=units))
    assert 10.0 <= given[0] <= 50.0
    assert given[1] is None


def test_units_of_one_row_each_change_nothing():
    X = np.random.default_rng(2).normal(size=(40, 2))
    units = np.random.default_rng(3).permutation(40)
    np.testing.assert_array_equal(group(X, plan_of(), Constraints(units=units)), group(X, plan_of(), Constraints()))


def test_too_few_units():
    X = np.arange(12.0)[:, None]
    with pytest.raises(DataError, match=r"there must be at least 3 in every stratum. Got 2"):
        group(X, plan_of(), Constraints(units=np.arange(12) % 2))


def test_equal_records_are_put_where_most_of_them_are():
    X = np.array([[0.0], [0.0], [0.0], [0.0], [0.1], [5.0], [5.1], [5.2]])
    labels = group(X, plan_of(), Constraints(together=True))
    assert len(set(labels[:4].tolist())) == 1
    check_partition(labels, 8, 3)


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=4, max_size=30),
    st.integers(1, 6),
)
def test_merged(points, k):
    """Groups are only ever put together, and only as long as one falls short."""
    X = np.array([[float(x)] for x, _ in points])
    labels = np.unique([g for _, g in points], return_inverse=True)[1].astype(np.int64)
    found = merged(X, labels, lambda some: np.bincount(some) < k)
    pairs = set(zip(labels.tolist(), found.tolist(), strict=True))
    assert len(pairs) == labels.max() + 1
    sizes = np.bincount(found)
    assert len(sizes) == 1 or sizes.min() >= k
    if np.bincount(labels).min() >= k:
        assert same_groups(labels, found)


def test_merged_takes_the_nearest():
    X = np.array([[0.0], [0.0], [10.0], [11.0], [11.0]])
    found = merged(X, np.array([0, 0, 1, 2, 2]), lambda some: np.bincount(some) < 2)
    assert found.tolist() == [0, 0, 1, 1, 1]


def test_merged_many_groups_at_one_place():
    """More equal means than neighbours are asked for."""
    X = np.zeros((40, 2))
    found = merged(X, np.arange(40), lambda some: np.bincount(some) < 3)
    assert np.bincount(found).min() >= 3


def test_nothing_varies():
    labels = group(np.zeros((30, 1)), plan_of(), Constraints(together=True))
    assert labels.max() == 0
    check_partition(group(np.zeros((30, 1)), plan_of(), Constraints()), 30, 3)


def test_progress_over_strata_and_units():
    seen = []
    X = np.random.default_rng(4).normal(size=(300, 2))
    constraints = Constraints(np.arange(300) // 100, np.arange(300) // 2)
    group(X, plan_of(), constraints, throttled(seen.append))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_the_method_is_settled_and_said():
    assert settled(plan_of(), 100, 3, Constraints()) == (plan_of(), "the plan asks for it", None)
    assert method_in_words(plan_of(refine="moves", options={"a": 1})) == "mdav (a=1), then moves"
    chosen, why, _ = settled(Plan.of(), 1000, 3, Constraints())
    assert chosen.method in {one.name for one in shoal.methods()}
    assert why


def test_a_search_under_models_of_a_small_table_starts_from_a_quick_method():
    ill = Demand(model("distinct-diversity l=2"), Sensitive("ill", np.arange(1000) % 3, 3))
    assert settled(Plan.of(), 1000, 3, Constraints()).plan.method == "anytime"
    chosen, _, kicks = settled(Plan.of(), 1000, 3, Constraints(demands=(ill,)))
    assert (chosen.method, chosen.enforcement, kicks) == ("mdav", "best", grouping.ONLY_KICKS)
    for other in (
        settled(Plan.of(), 1001, 3, Constraints(demands=(ill,))),
        settled(Plan.of(time_limit=60), 1000, 3, Constraints(demands=(ill,))),
        settled(Plan.of(enforcement="repair", l=2, sensitive_attributes=["ill"]), 1000, 3, Constraints(demands=(ill,))),
        settled(Plan.of(), 1000, 3, Constraints(together=True, demands=(ill,))),
    ):
        assert (other.plan.method, other.kicks) == ("anytime", None)


def test_a_time_limit_of_a_large_table_is_for_the_search_under_models():
    ill = Demand(model("distinct-diversity l=2"), Sensitive("ill", np.arange(30_000) % 3, 3))
    for limit in (None, 30.0):
        chosen, _, kicks = settled(Plan.of(time_limit=limit), 30_000, 3, Constraints(demands=(ill,)))
        assert (chosen.method, chosen.enforcement, chosen.time_limit, kicks) == ("mdav+", "best", None, None)
    # With hardly any time, what is chosen without models is as quick as the quick method.
    chosen, _, _ = settled(Plan.of(time_limit=1e-3), 30_000, 3, Constraints(demands=(ill,)))
    assert chosen.method not in ("anytime", "mdav+")


def test_the_method_that_is_said_is_the_one_that_is_run(monkeypatch):
    """Strata are smaller than the table, so that `auto` would choose otherwise for each of them."""
    run = []
    real = grouping.partition

    def partition(X, k, method, **options):
        run.append(method)
        return real(X, k, "mdav")

    monkeypatch.setattr(grouping, "partition", partition)
    rng = np.random.default_rng(0)
    strata = np.repeat(np.arange(3), [500, 60, 20])
    table = pa.table({"a": rng.normal(size=580), "b": rng.normal(size=580), "stratum": strata})
    for fields in ({}, {"time_limit": 1e-3}):
        run.clear()
        release = shoal.anonymize(table, k=3, stratum=["stratum"], **fields)
        assert len(run) == 3
        assert {release.blocks[0].method.partition(" ")[0]} == set(run)


# --- limits ---


@pytest.fixture
def calls(monkeypatch):
    """Return a list of what `partition` is given, as (rows, method, keywords)."""
    seen = []
    real = grouping.partition

    def partition(X, k, method, **options):
        seen.append((len(X), method, options))
        return real(X, k, "mdav")

    monkeypatch.setattr(grouping, "partition", partition)
    return seen


def test_strata_share_time_and_steps_by_their_rows(calls):
    X, strata = np.random.default_rng(0).normal(size=(100, 2)), np.repeat([0, 1], [75, 25])
    group(X, plan_of(method="anytime", time_limit=8, options={"max_steps": 1000}), Constraints(strata))
    assert [(rows, o["time_limit"], o["max_steps"]) for rows, _, o in calls] == [(75, 6, 750), (25, 2, 250)]
    calls.clear()
    group(X, plan_of(method="anytime", time_limit=8, options={"max_steps": 1000}), Constraints())
    assert [(rows, o["time_limit"], o["max_steps"]) for rows, _, o in calls] == [(100, 8, 1000)]


def test_auto_leaves_its_steps_a_way_and_a_seed_to_every_stratum(calls):
    X, strata = np.random.default_rng(0).normal(size=(1000, 2)), np.repeat([0, 1], [600, 400])
    for limit in (None, 30.0):
        calls.clear()
        chosen, why, _ = settled(Plan.of(time_limit=limit), 1000, 2, Constraints(strata))
        assert (chosen.method, chosen.random_state, chosen.time_limit) == ("anytime", 0, limit)
        assert "steps" in why
        group(X, chosen, Constraints(strata))
        assert [(rows, method) for rows, method, _ in calls] == [(600, "anytime"), (400, "anytime")]
        (_, _, first), (_, _, second) = calls
        # As many kicks for each record in either of them.
        assert first["max_steps"] / 600 == pytest.approx(second["max_steps"] / 400, rel=0.01)
        assert (first["time_limit"], second["time_limit"]) == ((None, None) if limit is None else (18, 12))
        expected = choose(600, 2, 5, None if limit is None else 18.0)
        assert first["max_steps"] == expected.options["max_steps"]
    assert settled(Plan.of(random_state=4), 1000, 2, Constraints())[0].random_state == 4


def test_blocks_and_units_share_the_time():
    constraints = Constraints(units=np.arange(100) // 2)
    assert settled(plan_of(method="anytime", time_limit=8), 100, 2, constraints, blocks=2)[0].time_limit == 1
    assert settled(Plan.of(time_limit=8), 100, 2, Constraints(), blocks=2)[0].time_limit == 4
    assert settled(Plan.of(time_limit=8), 100, 1, Constraints())[0].time_limit is None  # univariate has no use for it


def test_options_of_a_method_that_is_not_named_are_refused():
    table = pa.table({"a": np.arange(20.0), "b": np.arange(20.0)})
    with pytest.raises(shoal.ShoalError, match="'auto' takes no options"):
        shoal.anonymize(table, k=3, options={"gamma": 1.0})
