"""Microaggregation under demands: whatever the way, what comes back is accepted by the models."""

from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clocks import PATIENCE, Clock
from invariants import check_partition, same_groups
from privacy.demand_strategies import SPECS, demanding_tables, error
from shoal.errors import DataError, OptionError
from shoal.partitioning import buckets, cutting, enforcement, merging, rule_growth, rule_search
from shoal.partitioning import repair as repair_module
from shoal.partitioning.enforcement import WAYS, enforce
from shoal.partitioning.repair import repair
from shoal.partitioning.rule_search import search
from shoal.partitioning.thin import thin_of
from shoal.privacy.demands import Demand, in_units, offending
from shoal.privacy.models import model
from shoal.release.groups.rules import of_units, requirements_of, rules_of
from shoal.tables.sensitive import Line, Sensitive, ranks

CLOSENESS = tuple(spec for spec in SPECS if spec.startswith("t-closeness"))


def seeded(seed=0):
    return np.random.default_rng(seed)


def distinct_ranks(n, rng):
    """A sensitive attribute without ties."""
    return Sensitive("income", rng.permutation(n), n, Line(ranks(n)))


@given(demanding_tables(specs=SPECS), st.booleans())
@settings(max_examples=60)
def test_what_any_way_gives_is_accepted(case, local):
    X, k, demands, rows, labels = case
    required = requirements_of(X, k, demands, rows=rows)
    for way, one in WAYS.items():
        if one.fits(required.rules):
            found = enforce(X, k, required, way=way, labels=labels, search=local, rng=seeded())
            check_partition(found, len(X), k)
            assert not offending(found, demands, rows, X).any(), way


@given(demanding_tables(specs=("n-t-closeness n=12 t=0.4", "t-closeness t=0.3")))
@settings(max_examples=20)
def test_the_best_way_also_serves_models_without_a_kernel(case):
    X, k, demands, rows, labels = case
    found = enforce(X, k, requirements_of(X, k, demands, rows=rows), labels=labels, rng=seeded())
    check_partition(found, len(X), k)
    assert not offending(found, demands, rows, X).any()


@given(demanding_tables(specs=SPECS), st.integers(0, 5))
@settings(max_examples=60)
def test_the_search_never_raises_the_error(case, seed):
    X, k, demands, rows, labels = case
    required = requirements_of(X, k, demands, rows=rows)
    start = repair(X, labels, k, required)
    found = search(X, k, start, required.rules, rng=seeded(seed), kicks=5)
    check_partition(found, len(X), k)
    assert not offending(found, demands, rows).any()
    assert error(X, found) <= error(X, start) * (1 + 1e-9) + 1e-12
    climbed = search(X, k, start, required.rules, rng=seeded(seed), kicks=0)
    assert error(X, found) <= error(X, climbed) * (1 + 1e-9) + 1e-12


def plain_gains(X, labels, k, good):
    """Whether a shift or a swap of any two records lowers the error and leaves the groups as demanded."""
    before = error(X, labels)
    for i in range(len(X)):
        for j in range(len(X)):
            if labels[i] != labels[j]:
                for swap in (True, False):
                    new = labels.copy()
                    new[i] = labels[j]
                    new[j] = labels[i] if swap else labels[j]
                    if np.bincount(new).min() >= k and error(X, new) < before * (1 - 1e-9) and good(new):
                        return True
    return False


def categories(n, rng):
    """Three attributes of ten levels each, as coordinates: records that have a thin form."""
    return np.column_stack([np.eye(10)[rng.integers(0, 10, n)] * rng.uniform(0.5, 2) for _ in range(3)]) - 0.1


@given(st.integers(0, 2**32 - 1), st.sampled_from(["t-closeness t=0.25", "distinct-diversity l=3"]), st.booleans())
@settings(max_examples=20)
def test_where_the_search_ends_no_shift_or_swap_gains(seed, spec, thin):
    """So few records are all neighbours of each other."""
    rng = seeded(seed)
    X, k = categories(12, rng) if thin else rng.normal(size=(12, 2)), 3
    assert (thin_of(X).at.shape[1] > 0) == thin
    demands = [Demand(model(spec), distinct_ranks(12, rng)._replace(codes=rng.permutation(12) // 2, values=6,
                                                                    ground=Line(ranks(6))))]  # fmt: skip
    required = requirements_of(X, k, demands)
    if required.falls_short(np.arange(12), np.zeros(12, np.int64)).any():
        return
    found = search(X, k, repair(X, np.arange(12) // 3, k, required), required.rules, rng=rng, kicks=0)
    assert not plain_gains(X, found, k, lambda new: not offending(new, demands).any())


@given(demanding_tables(specs=SPECS))
@settings(max_examples=60)
def test_the_best_way_never_loses_more_than_the_repair(case):
    X, k, demands, rows, labels = case
    required = requirements_of(X, k, demands, rows=rows)
    best, one = (enforce(X, k, required, way=way, labels=labels, kicks=10, rng=seeded(3)) for way in ("best", "repair"))
    # Up to what rounding makes of a cost of 0.
    assert error(X, best) <= error(X, one) * (1 + 1e-12) + 1e-24 * np.square(X).sum()


def test_the_repair_is_searched_though_others_look_better(monkeypatch):
    rng = seeded(5)
    X, k, searched = rng.normal(size=(60, 2)), 3, []
    codes = rng.permutation(60) % 5
    demands = [
        Demand(model(spec), Sensitive("x", codes, 5)) for spec in ("distinct-diversity l=3", "t-closeness t=0.5")
    ]
    required, labels = requirements_of(X, k, demands), rng.permutation(60) // 3
    monkeypatch.setattr(enforcement, "FINALISTS", 1)
    monkeypatch.setattr(enforcement, "_search", lambda X, k, start, rules, **o: searched.append(o["kicks"]) or start)
    enforce(X, k, required, labels=labels, kicks=7, rng=seeded())
    assert searched == [0, 0, 0, 0, 7, 7]


@given(st.integers(0, 2**32 - 1), st.integers(12, 40))
@settings(max_examples=20)
def test_records_in_a_thin_form_are_the_same_records(seed, n):
    rng = seeded(seed)
    X = categories(n, rng)
    thin = thin_of(X)
    again = np.repeat(thin.usual, n, axis=0)
    np.add.at(again, (np.arange(n)[:, None], thin.at), thin.apart)
    np.testing.assert_allclose(again, X, rtol=0, atol=1e-15)
    np.testing.assert_allclose(thin.norms, ((X - thin.usual) ** 2).sum(axis=1), rtol=1e-12)


def test_the_search_makes_repaired_groups_tighter():
    """Sensitive values that go with a coordinate: repair merges much, the search takes most of that back."""
    rng = seeded(1)
    X, k = rng.normal(size=(300, 3)), 3
    order = np.argsort(np.argsort(X[:, 0] + 0.5 * rng.normal(size=300)))
    demands = [Demand(model("t-closeness t=0.15"), Sensitive("income", order, 300, Line(ranks(300))))]
    required = requirements_of(X, k, demands)
    labels = np.arange(300) // 3
    start = enforce(X, k, required, way="repair", labels=labels, search=False, rng=seeded())
    found = enforce(X, k, required, way="repair", labels=labels, rng=seeded())
    assert error(X, found) < 0.7 * error(X, start)
    best = enforce(X, k, required, labels=labels, rng=seeded())
    assert error(X, best) < 0.7 * error(X, start)


def test_threads_do_not_change_the_result_and_seeds_decide():
    rng = seeded(3)
    X, k = rng.normal(size=(2500, 3)), 4
    demands = [Demand(model("entropy-diversity l=3"), Sensitive("disease", rng.integers(0, 6, 2500), 6))]
    required, labels = requirements_of(X, k, demands), np.arange(2500) // 5
    one, two, four = (
        enforce(X, k, required, way="repair", labels=labels, rng=seeded(seed), n_jobs=jobs)
        for seed, jobs in ((7, 1), (7, 1), (7, 4))
    )
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, four)
    assert not np.array_equal(one, enforce(X, k, required, way="repair", labels=labels, rng=seeded(8)))


def test_very_large_groups_stay_as_they_are(monkeypatch):
    monkeypatch.setattr("shoal.partitioning.rule_search.ROOM", 1)
    rng = seeded(4)
    X = rng.normal(size=(200, 2))
    labels = np.where(np.arange(200) < 150, 0, 1 + np.arange(200) // 5 % 5)
    demands = [Demand(model("distinct-diversity l=2"), Sensitive("disease", rng.integers(0, 4, 200), 4))]
    start = requirements_of(X, 3, demands)
    found = search(X, 3, labels, start.rules, rng=seeded(), kicks=5)
    assert len(set(found[:150].tolist())) == 1
    assert found[0] not in found[150:]
    assert not offending(found, demands).any()
    assert error(X, found) < error(X, labels)


def test_large_groups_are_cut_by_themselves_first(monkeypatch):
    monkeypatch.setattr("shoal.partitioning.rule_search.WIDEST", 64)
    rng = seeded(4)
    X = rng.normal(size=(200, 2))
    labels = np.where(np.arange(200) < 150, 0, 1 + np.arange(200) // 5 % 5)
    demands = [Demand(model("distinct-diversity l=2"), Sensitive("disease", rng.integers(0, 4, 200), 4))]
    found = search(X, 3, labels, requirements_of(X, 3, demands).rules, rng=seeded(), kicks=0)
    assert np.bincount(found).max() < 20
    check_partition(found, 200, 3)
    assert not offending(found, demands).any()
    assert error(X, found) < 0.5 * error(X, labels)


def test_large_groups_that_need_too_much_room_are_left_out(monkeypatch):
    sizes = np.array([5, 40, 40, 300, 2000])
    assert rule_search._largest(sizes, 32, 5) == rule_search.LARGEST
    monkeypatch.setattr(rule_search, "ROOM", 80_000)  # 380 records in groups of at most 512
    assert rule_search._largest(sizes, 32, 5) == 512
    monkeypatch.setattr(rule_search, "ROOM", 1)
    assert rule_search._largest(sizes, 32, 5) == 0


def counted_runs(monkeypatch):
    """A list that gets the looks and the kicks of every call of the kernel, and the sizes of all groups before it."""
    runs, run = [], rule_search._Chain._run

    def counted(self, visits, steps, *temperature):
        runs.append((visits, steps, self.state.sizes.copy()))
        return run(self, visits, steps, *temperature)

    monkeypatch.setattr(rule_search._Chain, "_run", counted)
    return runs


@pytest.mark.parametrize("size", [5, 100])
def test_looks_are_bounded_and_large_groups_count_more(size, monkeypatch):
    rng = seeded(6)
    X, labels = rng.normal(size=(400, 2)), np.arange(400) // size
    demands = [Demand(model("distinct-diversity l=2"), Sensitive("disease", rng.integers(0, 4, 400), 4))]
    rules = requirements_of(X, 3, demands).rules
    whole = search(X, 3, labels, rules, rng=seeded(), kicks=0)
    monkeypatch.setattr(rule_search, "LOOKS", 1)
    monkeypatch.setattr(rule_search, "LARGE", 50)
    monkeypatch.setattr(rule_search, "AT_ONCE", 10)
    runs = counted_runs(monkeypatch)
    found = search(X, 3, labels, rules, rng=seeded(), kicks=0)
    allowed = 400 // size + 10
    assert sum(looks for looks, _, _ in runs) <= allowed
    assert runs[0][0] == (10 if size == 5 else 5)  # a look at 100 records counts as two
    assert error(X, whole) < error(X, found) < error(X, labels)


def test_kicks_are_bounded_by_an_estimate_of_their_time(monkeypatch):
    rng = seeded(7)
    demands = [Demand(model("distinct-diversity l=2"), Sensitive("disease", np.arange(400) % 4, 4))]
    labels, kicks = np.arange(400) // 5, {}
    monkeypatch.setattr(rule_search, "KICKING", 0.01)
    monkeypatch.setattr(rule_search, "KICKING_PER_RECORD", 0.0)
    for d in (2, 64):
        X = rng.normal(size=(400, d))
        with monkeypatch.context() as patch:
            runs = counted_runs(patch)
            search(X, 3, labels, requirements_of(X, 3, demands).rules, rng=seeded())
        sizes = next(sizes for _, steps, sizes in runs if steps)
        kicks[d] = sum(steps for _, steps, _ in runs)
        each = rule_search.KICK_SECONDS * (d + 60) * (float((sizes**2).sum()) / 400) ** 1.5
        assert kicks[d] == int(0.01 / each) < 100 * (sizes > 0).sum()
    assert kicks[64] < kicks[2]


def test_fewer_kicks_are_made_under_models_that_refuse_most_swaps(monkeypatch):
    X, labels, kicks = seeded(7).normal(size=(400, 2)), np.arange(400) // 20, []
    monkeypatch.setattr(rule_search, "KICKING", 0.1)
    monkeypatch.setattr(rule_search, "KICKING_PER_RECORD", 0.0)
    for spec in ("distinct-diversity l=2", "beta-likeness beta=100"):  # hardly anything is refused
        demands = [Demand(model(spec), Sensitive("disease", np.arange(400) % 4, 4))]
        with monkeypatch.context() as patch:
            runs = counted_runs(patch)
            search(X, 20, labels, requirements_of(X, 20, demands).rules, rng=seeded())
        kicks.append(sum(steps for _, steps, _ in runs))
    assert 0 < kicks[1] <= kicks[0] / 10


def test_nearest_records_are_looked_for_once(monkeypatch):
    rng, calls = seeded(8), []
    X = rng.normal(size=(60, 2))
    demands = [Demand(model("distinct-diversity l=2"), Sensitive("disease", np.arange(60) % 3, 3))]
    nearest = rule_search.nearest_others

    def counted(X, m, n_jobs):
        calls.append(m)
        return nearest(X, m, n_jobs)

    monkeypatch.setattr(rule_search, "nearest_others", counted)
    enforce(X, 3, requirements_of(X, 3, demands), rng=seeded())
    assert len(calls) == 1


def test_neighbours_among_some_records_come_first():
    X = np.array([[0.0], [1.0], [2.1], [3.3], [4.6], [4.6]])
    near = rule_search.Neighbours(X)
    whole = near.draw(3, seeded())
    assert whole[0].tolist()[:3] == [1, 2, 3]
    assert set(whole[:, -1].tolist()) <= set(range(6))
    some = near.draw(3, seeded(), np.array([0, 2, 3]))
    np.testing.assert_array_equal(some[:, :3], [[1, 2, -1], [2, 0, -1], [1, 0, -1]])
    assert (some[:, 2:] == -1).all()


def fewest_units(units, labels):
    return min(len(set(units[labels == g].tolist())) for g in range(labels.max() + 1))


def test_units_are_searched_as_models_are():
    rng = seeded(5)
    X, units = rng.normal(size=(60, 2)), np.arange(60) // 3
    disease = Sensitive("disease", rng.integers(0, 3, 60), 3)
    demands = in_units([Demand(model("entropy-diversity l=2"), disease)], units)
    required = requirements_of(X, 3, [*demands, of_units(units, 3)])
    assert required.rules is not None
    start = repair(X, np.arange(60) // 3, 3, required)
    for way in ("best", "repair", "growth"):
        found = enforce(X, 3, required, way=way, labels=start, rng=seeded())
        assert fewest_units(units, found) >= 3
        assert not offending(found, demands).any()
        assert error(X, found) < error(X, start)


def test_every_way_without_time_satisfies_everything():
    rng = seeded(6)
    X, k = rng.normal(size=(90, 2)), 3
    for spec, ground in (("t-closeness t=0.3", Line(ranks(5))), ("entropy-diversity l=2", None)):
        demands = [Demand(model(spec), Sensitive("disease", np.arange(90) % 5, 5, ground))]
        required = requirements_of(X, k, demands)
        for way, one in WAYS.items():
            if one.fits(required.rules):
                found = enforce(X, k, required, way=way, rng=seeded(), time_limit=0.0)
                check_partition(found, len(X), k)
                assert not offending(found, demands).any(), way


@pytest.mark.parametrize("way", ["best", *WAYS])
def test_without_time_not_all_that_falls_short_becomes_one_group(way, monkeypatch):
    rng = seeded(11)
    X, k, n = rng.normal(size=(400, 2)), 3, 400
    for spec, ground in (("t-closeness t=0.3", Line(ranks(5))), ("entropy-diversity l=2", None)):
        codes = np.where(rng.random(n) < 0.5, rng.integers(0, 5, n), 4 * (X[:, 0] > 0))
        required = requirements_of(X, k, [Demand(model(spec), Sensitive("disease", codes, 5, ground))])
        if way != "best" and not WAYS[way].fits(required.rules):
            continue
        Clock().give_to(monkeypatch, enforcement, rule_growth, rule_search, buckets, cutting, merging, repair_module)
        found = enforce(X, k, required, way=way, rng=seeded(), time_limit=0.5)
        check_partition(found, n, k)
        assert not required.falls_short(np.arange(n), found).any()
        assert found.max() >= 8
        assert np.bincount(found).max() < n / 3


def test_kicks_may_raise_the_error_for_a_while():
    """A search that only ever gains ends in the next local optimum, however long it goes on."""
    rng = seeded(7)
    X = rng.normal(size=(400, 6))
    demands = [Demand(model("distinct-diversity l=3"), Sensitive("disease", rng.integers(0, 4, 400), 4))]
    required = requirements_of(X, 3, demands)
    start = repair(X, np.arange(400) // 4, 3, required)
    errors = {heat: [] for heat in (0.0, 0.2)}
    for heat, seed in ((heat, seed) for heat in errors for seed in range(2)):
        found = search(X, 3, start, required.rules, rng=seeded(seed), heat=heat)
        assert not offending(found, demands).any()
        errors[heat].append(error(X, found))
    assert sum(errors[0.2]) < sum(errors[0.0])


def test_each_of_the_best_starts_is_searched(monkeypatch):
    rng = seeded(8)
    X = rng.normal(size=(60, 2))
    demands = [Demand(model("distinct-diversity l=2"), Sensitive("disease", np.arange(60) % 3, 3))]
    searched = []

    def counted(X, k, start, rules, *, kicks, **options):
        searched.append((kicks, error(X, start)))
        return search(X, k, start, rules, kicks=kicks, **options)

    monkeypatch.setattr(enforcement, "_search", counted)
    found = enforce(X, 3, requirements_of(X, 3, demands), rng=seeded())
    starts = [before for kicks, before in searched if kicks]
    assert len(starts) == 3
    assert starts == sorted(starts)
    assert error(X, found) <= starts[0]


def test_hopeless_starts_of_large_tables_are_not_searched(monkeypatch):
    rng = seeded(9)
    X = rng.normal(size=(60, 2))
    demands = [Demand(model("distinct-diversity l=2"), Sensitive("disease", np.arange(60) % 3, 3))]
    required, searched = requirements_of(X, 3, demands), []
    starts = {
        "mondrian": np.arange(60) % 2,
        "growth": np.arange(60) // 30,
        "repair": np.argsort(np.argsort(X[:, 0])) // 3,
    }
    starts["repair"] = repair(X, starts["repair"], 3, required)
    assert min(error(X, starts[way]) for way in ("mondrian", "growth")) > 2 * error(X, starts["repair"])
    monkeypatch.setattr(enforcement, "HOPELESS", 2.0)
    monkeypatch.setattr(enforcement, "_start", lambda name, *_: starts[name])
    monkeypatch.setattr(enforcement, "_search", lambda X, k, start, rules, **_: searched.append(start) or start)
    enforce(X, 3, required, rng=seeded())
    assert len(searched) == 6  # three starts, three finalists
    searched.clear()
    monkeypatch.setattr(enforcement, "FEW_RECORDS", 59)
    found = enforce(X, 3, required, rng=seeded())
    assert all(one is starts["repair"] for one in searched)
    assert same_groups(found, starts["repair"])


def waiting_room(n=60, seed=9):
    """A table, requirements on it, and which ways were tried on how many records."""
    X, tried = seeded(seed).normal(size=(n, 2)), []
    demands = [Demand(model("distinct-diversity l=2"), Sensitive("disease", np.arange(n) % 3, 3))]
    return X, requirements_of(X, 3, demands), tried


def starts_of(tried, used=()):
    """Stand in for `_start`: note what is tried; `used` says what each way does to the clock."""
    made = enforcement._start

    def start(name, X, *rest):
        tried.append((name, len(X)))
        dict(used).get(name, lambda: None)()
        return made(name, X, *rest)

    return start


def test_the_repair_comes_first_if_there_is_little_time(monkeypatch):
    X, required, tried = waiting_room()
    clock = Clock(tick=0.0).give_to(monkeypatch, enforcement)

    def wait():
        clock.now += 4.0

    monkeypatch.setattr(enforcement, "_start", starts_of(tried, {"repair": wait}))
    monkeypatch.setattr(enforcement, "_search", lambda X, k, start, rules, **_: start)
    found = enforce(X, 3, required, labels=np.arange(60) // 3, time_limit=10.0, rng=seeded())
    assert tried == [("repair", 60)]  # two ways would need more than the share of starts
    assert same_groups(found, repair(X, np.arange(60) // 3, 3, required))


def test_cuts_follow_a_repair_that_had_too_little_time(monkeypatch):
    X, required, tried = waiting_room()
    clock = Clock(tick=0.0).give_to(monkeypatch, enforcement)

    def wait():
        clock.now += 6.0

    monkeypatch.setattr(enforcement, "_start", starts_of(tried, {"repair": wait}))
    monkeypatch.setattr(enforcement, "_search", lambda X, k, start, rules, **_: start)
    enforce(X, 3, required, labels=np.arange(60) // 3, time_limit=10.0, rng=seeded())
    assert [name for name, _ in tried] == ["repair", "mondrian"]


def test_a_sample_tells_the_way_of_a_large_table(monkeypatch):
    X, required, tried = waiting_room()
    monkeypatch.setattr(enforcement, "FEW_RECORDS", 40)
    monkeypatch.setattr(enforcement, "SAMPLE", 20)
    monkeypatch.setattr(enforcement, "_start", starts_of(tried))
    found = enforce(X, 3, required, rng=seeded())
    assert [name for name, n in tried if n == 20] == ["mondrian", "repair", "growth"]
    assert len([name for name, n in tried if n == 60]) == 1
    np.testing.assert_array_equal(enforce(X, 3, required, rng=seeded(), n_jobs=2), found)
    tried.clear()
    enforce(X, 3, required, rng=seeded(), time_limit=PATIENCE, kicks=0)
    whole = [name for name, n in tried if n == 60]
    assert "repair" in whole[:2]


@pytest.mark.parametrize(("seconds", "compared"), [(2, ["mondrian", "repair", "growth"]), (6, ["mondrian", "repair"])])
def test_a_sample_compares_ways_however_little_time_there_is(monkeypatch, seconds, compared):
    """Ten of a hundred seconds are for the sample, whatever each way takes of them."""
    X, required, tried = waiting_room()
    clock = Clock(tick=0.0).give_to(monkeypatch, enforcement)

    def wait():
        clock.now += seconds

    monkeypatch.setattr(enforcement, "FEW_RECORDS", 40)
    monkeypatch.setattr(enforcement, "SAMPLE", 20)
    monkeypatch.setattr(enforcement, "_search", lambda X, k, start, rules, **_: start)
    monkeypatch.setattr(enforcement, "_start", starts_of(tried, dict.fromkeys(["repair", "mondrian", "growth"], wait)))
    enforce(X, 3, required, rng=seeded(), time_limit=100.0)
    assert [name for name, n in tried if n == 20] == compared


def test_what_a_sample_cannot_satisfy_is_tried_on_all_records(monkeypatch):
    X, _, tried = waiting_room()
    required = requirements_of(
        X, 3, [Demand(model("distinct-diversity l=25"), Sensitive("disease", np.arange(60) % 30, 30))]
    )
    monkeypatch.setattr(enforcement, "FEW_RECORDS", 40)
    monkeypatch.setattr(enforcement, "SAMPLE", 20)
    monkeypatch.setattr(enforcement, "_start", starts_of(tried))
    enforce(X, 3, required, rng=seeded())
    assert [name for name, n in tried if n == 60] == ["repair", "mondrian", "growth"]


def test_the_way_that_a_sample_prefers_is_searched_however_it_starts(monkeypatch):
    X, required, _ = waiting_room()
    starts = {"mondrian": np.zeros(60, np.int64), "repair": repair(X, np.arange(60) // 3, 3, required)}
    searched = []
    monkeypatch.setattr(enforcement._Work, "hopeful_ways", lambda *_: ["mondrian", "repair"])
    monkeypatch.setattr(enforcement, "FEW_RECORDS", 59)
    monkeypatch.setattr(enforcement, "HOPELESS", 1.0)
    monkeypatch.setattr(enforcement, "_start", lambda name, *_: starts[name])
    monkeypatch.setattr(enforcement, "_search", lambda X, k, start, rules, **_: searched.append(start) or start)
    enforce(X, 3, required, rng=seeded())
    assert searched[0] is starts["mondrian"]


@pytest.mark.parametrize("kept", [True, False])
def test_a_sample_counts_more_than_a_descent_that_has_not_ended(monkeypatch, kept):
    """One start comes down until the clock ends its descent, the other is better so far."""
    X, required, _ = waiting_room()
    order = np.argsort(np.argsort(X[:, 0]))
    wide, half, good, best = np.zeros(60, np.int64), order // 20, order // 15, order // 3
    clock, searched = Clock(tick=0.0).give_to(monkeypatch, enforcement), []

    def search(X, k, start, rules, *, kicks, **_):
        if len(X) == 60:
            searched.append(start)
            clock.now += 3.0 if start is wide else 0.0
        return half if start is wide else best if start is half and kicks and kept else start

    def start(name, X, *_):
        mondrian = name == "mondrian"
        return (
            (wide if mondrian else good) if len(X) == 60 else np.argsort(np.argsort(X[:, 0])) // (4 if mondrian else 10)
        )

    monkeypatch.setattr(enforcement, "FEW_RECORDS", 40)
    monkeypatch.setattr(enforcement, "SAMPLE", 20)
    monkeypatch.setattr(enforcement, "HOPELESS", np.inf)
    monkeypatch.setattr(enforcement, "_start", start)
    monkeypatch.setattr(enforcement, "_search", search)
    found = enforce(X, 3, required, time_limit=10.0, rng=seeded())
    assert [one is wide for one in searched] == [True, False]
    assert searched[1] is half
    assert same_groups(found, best if kept else good)


def test_groups_to_repair_are_made_only_if_they_are_needed(monkeypatch):
    X, required, _ = waiting_room()
    made = []
    monkeypatch.setattr(enforcement, "_search", lambda X, k, start, rules, **_: start)
    for ways in (["mondrian"], ["mondrian", "repair"]):
        monkeypatch.setattr(enforcement._Work, "hopeful_ways", lambda *_, ways=ways: ways)
        enforce(X, 3, required, labels=lambda: made.append(1) or np.arange(60) // 3, rng=seeded())
    assert len(made) == 1


def test_a_kick_is_followed_by_few_looks(monkeypatch):
    """Looks at large groups take milliseconds: those after one kick once took twenty seconds."""
    X, required, _ = waiting_room()
    looks, run = [], rule_search._Chain._run

    def noted(self, visits, steps, *rest):
        looks.append((steps, visits))
        return run(self, visits, steps, *rest)

    monkeypatch.setattr(rule_search._Chain, "_run", noted)
    start = repair(X, np.arange(60) // 3, 3, required)
    search(X, 3, start, required.rules, rng=seeded(), kicks=3)
    search(X, 3, start, required.rules, rng=seeded(), kicks=3, time_limit=0.2)
    assert max(visits for steps, visits in looks if steps) <= 100
    assert max(visits for steps, visits in looks if not steps) > 100


def test_kicks_of_groups_that_demands_make_large_are_taken_to_need_longer():
    X, required, _ = waiting_room(n=240)
    near, rules = rule_search.Neighbours(X), required.rules
    few, many = (
        rule_search._Chain(X, k, np.arange(240) // 24, rules, seeded(), near, None)._affordable() for k in (3, 12)
    )
    assert few < many / 4


def test_kicks_that_end_while_hot_are_forgotten(monkeypatch):
    X, required, _ = waiting_room()
    start = repair(X, np.arange(60) // 3, 3, required)
    low = search(X, 3, start, required.rules, rng=seeded(), kicks=0)

    def spoil(self, *_):
        self.state.labels[:] = np.arange(60) // 30

    monkeypatch.setattr(rule_search._Chain, "kick", spoil)
    np.testing.assert_array_equal(search(X, 3, start, required.rules, rng=seeded(), kicks=5), low)


def test_ways_are_refused_that_do_not_exist_or_do_not_suit():
    X = seeded().normal(size=(20, 2))
    required = requirements_of(
        X, 3, [Demand(model("distinct-diversity l=2"), Sensitive("disease", np.arange(20) % 3, 3))]
    )
    with pytest.raises(OptionError, match="did you mean 't-first'"):
        enforce(X, 3, required, way="tfirst", rng=seeded())
    with pytest.raises(OptionError, match="must support all demands"):
        enforce(X, 3, required, way="t-first", rng=seeded())


@pytest.mark.parametrize("way", ["best", *WAYS])
def test_what_nobody_can_satisfy_is_refused_by_every_way(way):
    """A stratum of one value is as far from a table of two as can be."""
    X, rows = seeded().normal(size=(12, 2)), np.arange(12)
    specs = ("distinct-diversity l=2",) if way == "growth" else ("t-closeness t=0.2",)
    demands = [Demand(model(spec), Sensitive("disease", np.arange(24) // 12, 2)) for spec in specs]
    required = requirements_of(X, 3, demands, rows=rows)
    with pytest.raises(DataError, match="for all 12 records in one group"):
        enforce(X, 3, required, way=way, rng=seeded())


# --- t first ---


@pytest.mark.parametrize("n", [12, 60, 120, 720])
@pytest.mark.parametrize("t", [0.02, 0.05, 0.1, 0.2, 0.3])
def test_the_least_size_is_the_closed_form_where_there_are_no_ties(n, t):
    rules = rules_of([Demand(model(f"t-closeness t={t}"), distinct_ranks(n, seeded()))])
    wanted = max(2, ceil(n / (2 * (n - 1) * t + 1) - 1e-6))
    found = rule_growth.least_size(2, rules)
    if n % wanted == 0:
        assert found == wanted
    # Stretches of different lengths may do with one record less, or need some more.
    assert wanted - 1 <= found <= next(size for size in range(wanted, n + 1) if n % size == 0)


@given(demanding_tables(specs=CLOSENESS))
@settings(max_examples=60)
def test_one_record_of_each_subset_is_within_the_bound(case):
    """Of subsets of equal size, any choice is close enough: so is one at random."""
    X, k, demands, _, _ = case
    rules = rules_of(demands)
    n = rules.codes.shape[1]
    size = rule_growth.least_size(k, rules)
    if n % size:
        return
    order = rule_growth.in_order(rules, 0)[0]
    rng = seeded(len(X))
    if demands[0].sensitive.codes.min() < 0:
        return  # missing values on a line are measured otherwise
    for _ in range(3):
        chosen = [rng.choice(order[start:stop]) for start, stop in np.arange(0, n + 1, n // size)[[0, 1]][None] + (
            np.arange(size)[:, None] * (n // size))]  # fmt: skip
        assert not offending(np.zeros(size, np.int64), demands[:1], np.array(chosen)).any()


@pytest.mark.parametrize("n", [100, 103, 117])
def test_every_group_takes_of_every_subset(n):
    rng = seeded(6)
    X = rng.normal(size=(n, 2))
    demands = [Demand(model("t-closeness t=0.1"), distinct_ranks(n, rng))]
    rules = rules_of(demands)
    size = rule_growth.least_size(3, rules)
    labels = rule_growth.t_first(X, 3, rules)
    subset = np.searchsorted(rule_growth.subsets(n, size), demands[0].sensitive.codes, side="right") - 1
    for g in range(labels.max() + 1):
        assert set(subset[labels == g].tolist()) == set(range(size))
    assert labels.min() == 0
    assert labels.max() + 1 == n // size


# --- growth ---


def test_growth_takes_the_nearest_record_that_adds_diversity():
    """Two places with one value each: with l = 2 records must be paired across, and no value is left alone."""
    X = np.concatenate([np.zeros(30), np.ones(30)])[:, None] + np.linspace(0, 0.1, 60)[:, None]
    demands = [Demand(model("distinct-diversity l=2"), Sensitive("disease", np.arange(60) // 30, 2))]
    labels = rule_growth.diverse_growth(X, 2, rules_of(demands))
    assert not offending(labels, demands).any()
    assert labels.max() + 1 >= 25


def test_growth_with_nothing_to_look_after_is_mdav():
    from shoal.partitioning.maximum_distance import mdav

    X = seeded(9).normal(size=(400, 3))
    rules = rules_of([Demand(model("distinct-diversity l=2"), distinct_ranks(400, seeded()))])
    grown = rule_growth.k_first(X, 4, rules)
    assert error(X, grown) == pytest.approx(error(X, np.asarray(mdav(X, 4))), rel=0.02)


@pytest.mark.parametrize("grown", [rule_growth.k_first, rule_growth.diverse_growth])
@pytest.mark.parametrize("seed", range(8))
def test_growth_without_an_index_is_the_same(grown, seed, monkeypatch):
    rng = seeded(seed)
    n, k = int(rng.integers(20, 400)), int(rng.integers(2, 7))
    X = np.round(rng.normal(size=(n, 2)), seed % 3)  # ties and equal records
    codes = np.where(rng.random(n) < 0.4, 0, rng.integers(-1, 5, n))
    rules = rules_of([Demand(model("distinct-diversity l=3"), Sensitive("disease", codes, 5))])
    plainly = grown(X, k, rules)
    monkeypatch.setattr(rule_growth, "SMALL_TABLE", 0)
    assert plainly.tolist() == grown(X, k, rules).tolist()


# --- merging ---


def plain_worst_first(X, labels, rules):
    """Merge the group furthest from the table with the one of the nearest mean, in plain loops."""
    groups = [np.flatnonzero(labels == g) for g in range(labels.max() + 1)]
    while True:
        found = np.empty(len(X), np.int64)
        for g, rows in enumerate(groups):
            found[rows] = g
        missed = (rule_growth.measured(rules, found) - rules.limits[:, None])[0]
        if len(groups) == 1 or missed.max() <= 0:
            return found
        worst = groups.pop(int(missed.argmax()))
        away = [((X[rows].mean(axis=0) - X[worst].mean(axis=0)) ** 2).sum() for rows in groups]
        nearest = int(np.argmin(away))
        groups[nearest] = np.concatenate([groups[nearest], worst])


@pytest.mark.parametrize("seed", range(8))
def test_the_group_furthest_from_the_table_joins_the_nearest(seed):
    rng = seeded(seed)
    X, labels = rng.normal(size=(60, 2)), np.arange(60) // 3
    rules = rules_of([Demand(model("t-closeness t=0.15"), distinct_ranks(60, rng))])
    found = rule_growth.merge_worst(X, labels, rules)
    assert 1 < found.max() + 1 < 20
    assert same_groups(found, plain_worst_first(X, labels, rules))


@pytest.mark.parametrize(
    ("hurried", "other", "first"), [(False, 0.5, "mondrian"), (False, 0.99, "repair"), (True, 0.5, "repair")]
)
def test_another_way_goes_before_the_repair_if_a_sample_surely_tells(hurried, other, first, monkeypatch):
    """What the clock ended tells nothing, and a small difference is not worth the time."""
    X, codes = seeded(12).normal(size=(80, 2)), np.arange(80) % 4
    required = requirements_of(X, 3, [Demand(model("distinct-diversity l=2"), Sensitive("disease", codes, 4))])

    def starts(self, names, *_):
        self.hurried, labels = hurried, np.zeros(len(self.X), np.int64)
        made = [enforcement._Start(name, labels, labels, other if name == "mondrian" else 1.0) for name in names]
        return sorted(made, key=lambda one: one.expected)

    monkeypatch.setattr(enforcement, "FEW_RECORDS", 40)
    monkeypatch.setattr(enforcement, "SAMPLE", 20)
    monkeypatch.setattr(enforcement._Work, "starts", starts)
    work = enforcement._Work(X, 3, required, None, seeded(), 1, 1e18, True)
    assert work.hopeful_ways(["mondrian", "repair"])[0] == first


@pytest.mark.parametrize("coarse", [False, True])
def test_a_slow_repair_keeps_the_time_of_the_search_unless_it_was_coarse(coarse, monkeypatch):
    X, codes = seeded(12).normal(size=(80, 2)), np.arange(80) % 4
    required = requirements_of(X, 3, [Demand(model("distinct-diversity l=2"), Sensitive("disease", codes, 4))])
    clock, made = Clock(tick=0.0), []
    clock.give_to(monkeypatch, enforcement, rule_search)

    def start(name, X, k, required, labels, report, until, cut_until, on_late):
        made.append(name)
        clock.now += 60.0 if name == "repair" else 1.0
        if coarse:
            on_late()
        return np.arange(len(X)) // 8

    monkeypatch.setattr(enforcement, "_start", start)
    enforce(X, 3, required, time_limit=100.0, kicks=0, rng=seeded())
    assert made == (["repair", "mondrian"] if coarse else ["repair"])


def test_the_repair_is_made_as_late_as_it_would_be_alone(monkeypatch):
    """The time of the sample is not taken from it."""
    X, codes = seeded(12).normal(size=(80, 2)), np.arange(80) % 4
    required = requirements_of(X, 3, [Demand(model("distinct-diversity l=2"), Sensitive("disease", codes, 4))])
    clock, ends = Clock(tick=0.0), {}
    clock.give_to(monkeypatch, enforcement, rule_search)

    def hopeful(self, names):
        clock.now += 10.0 if len(names) > 1 else 0.0
        return sorted(names, key=enforcement.IN_TURN.index)

    def start(name, X, k, required, labels, report, until, *_):
        ends.setdefault(way, until - begun)
        return np.arange(len(X)) // 8

    monkeypatch.setattr(enforcement._Work, "hopeful_ways", hopeful)
    monkeypatch.setattr(enforcement, "_start", start)
    for way in ("repair", "best"):
        begun = clock.now
        enforce(X, 3, required, way=way, time_limit=100.0, kicks=0, rng=seeded())
    assert ends["best"] == ends["repair"] == 50.0


@pytest.mark.parametrize("repeated", [1, 4])
def test_records_put_in_place_have_the_same_neighbours(repeated):
    rng = seeded(13)
    X = np.repeat(rng.normal(size=(1200 // repeated, 3)), repeated, axis=0)[rng.permutation(1200)]
    plain, near = rule_search.Neighbours(X), rule_search.in_place(X, 5)
    plain.draw(5, seeded())
    np.testing.assert_array_equal(np.sort(near.order), np.arange(1200))
    np.testing.assert_array_equal(near.X, X[near.order])
    np.testing.assert_array_equal(near.X[near.points][near.kind], near.X)
    np.testing.assert_array_equal(np.bincount(near.kind), near.counts)
    # A point goes by its first row in the table.
    first = {tuple(X[row]): row for row in plain.points}
    wanted = {row: [tuple(X[plain.points[p]]) for p in plain.targets[at]] for at, row in enumerate(plain.points)}
    for at, row in enumerate(near.points):
        own = first[tuple(near.X[row])]
        assert [tuple(near.X[near.points[p]]) for p in near.targets[at]] == wanted[own]
    # Records that follow each other are near each other.
    steps = [np.linalg.norm(np.diff(one, axis=0), axis=1).mean() for one in (near.X, X)]
    assert steps[0] < 0.5 * steps[1]


@pytest.mark.parametrize("spec", ["t-closeness t=0.3", "distinct-diversity l=3", "entropy-diversity l=2"])
def test_a_search_in_another_order_keeps_all_demands(spec, monkeypatch):
    rng = seeded(14)
    X, codes = rng.normal(size=(1500, 3)), rng.integers(0, 5, 1500)
    X[100:160] = X[:60]
    demands = [Demand(model(spec), Sensitive("disease", codes, 5))]
    required = requirements_of(X, 3, demands)
    plain = enforce(X, 3, required, kicks=5, rng=seeded())
    monkeypatch.setattr(enforcement, "PLACED", 1200)
    monkeypatch.setattr(rule_search, "MANY", 1200)
    found = enforce(X, 3, required, kicks=5, rng=seeded())
    check_partition(found, 1500, 3)
    assert not offending(found, demands).any()
    np.testing.assert_array_equal(found, enforce(X, 3, required, kicks=5, rng=seeded()))
    assert error(X, found) < 1.1 * error(X, plain)


@pytest.mark.parametrize("spec", ["t-closeness t=0.25", "distinct-diversity l=3"])
def test_a_descent_among_few_neighbours_first_ends_where_none_of_all_gains(spec, monkeypatch):
    monkeypatch.setattr(rule_search, "MANY", 5)
    monkeypatch.setattr(rule_search, "FIRST_NEAR", 1)
    for seed in range(20):
        rng = seeded(seed)
        X = rng.normal(size=(12, 2))
        demands = [Demand(model(spec), Sensitive("income", rng.permutation(12) // 2, 6, Line(ranks(6))))]
        required = requirements_of(X, 3, demands)
        start = repair(X, np.arange(12) // 3, 3, required)
        found = search(X, 3, start, required.rules, rng=rng, kicks=0)
        assert error(X, found) <= error(X, start) * (1 + 1e-12)
        assert not plain_gains(X, found, 3, lambda new, of=demands: not offending(new, of).any())


def test_parts_recut_some_at_a_time_are_cut_as_all_at_once(monkeypatch):
    rng = seeded(15)
    X, codes = rng.normal(size=(600, 3)), rng.integers(0, 5, 600)
    required = requirements_of(X, 3, [Demand(model("distinct-diversity l=2"), Sensitive("disease", codes, 5))])
    labels = np.arange(600) // 30
    whole = cutting.recut(X, labels, 3, required.falls_short)
    monkeypatch.setattr(cutting, "TOGETHER", 70)
    assert same_groups(cutting.recut(X, labels, 3, required.falls_short), whole)
    assert whole.max() > 40
