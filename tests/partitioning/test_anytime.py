"""The anytime search: never worse, always valid, reproducible by steps, ended by time, by Ctrl-C and by the bound."""

import contextlib
import logging
import signal
import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from clocks import PATIENCE, Clock
from invariants import check_partition, same_groups
from kernels.test_kicks import plain_error, random_partition
from partitioning.strategies import cases
from shoal.measure import sse, sst
from shoal.partitioning import anytime as module
from shoal.partitioning import chains, evolution, recombination, rule_search
from shoal.partitioning.anytime import anytime, cut_in_regions, refine_anytime
from shoal.partitioning.chains import Budget, field
from shoal.partitioning.choice import quick_start
from shoal.partitioning.evolution import Evolution
from shoal.partitioning.neighbour_bound import neighbour_bound
from shoal.partitioning.pool import numbered
from shoal.progress import Standing, asked_to_end, ending_when


def gaussian(n=200, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def seeded(seed=0):
    return np.random.default_rng(seed)


def start_of(X, k):
    """What the search starts from if it is given steps."""
    name, options = quick_start(*X.shape, np.inf)
    return shoal.partition(X, k, name, **options)


def no_worse(X, labels, than):
    """By sums in extended precision; the squares of what is lost by the mean of a column rounded may differ."""
    return plain_error(X, labels) <= plain_error(X, than) * (1 + 1e-9) + 1e-13 * plain_error(X, np.zeros(len(X)))


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Compiling is not to count where time is taken."""
    X = gaussian(60)
    shoal.partition(X, 2, "anytime", max_steps=50, random_state=0)
    shoal.partition(X, 3, "anytime", time_limit=0.2, random_state=0)


@pytest.fixture
def regions(monkeypatch):
    """Have tables of a hundred records searched in regions."""
    monkeypatch.setattr(module, "WHOLE", 60)
    monkeypatch.setattr(module, "REGION", 45)


# --- never worse ---


@given(case=cases(most_records=80), steps=st.sampled_from([0, 1, 40, 300]), seed=st.integers(0, 2**32 - 1))
def test_the_result_is_a_partition_no_worse_than_the_start(case, steps, seed):
    _, X, k = case
    labels = shoal.partition(X, k, "anytime", max_steps=steps, random_state=seed)
    check_partition(labels, len(X), k)
    start = start_of(X, k)
    assert no_worse(X, labels, start)
    if len(X) < 2 * k:
        assert labels.max() == 0
    elif X.shape[1] == 1:
        assert no_worse(X, labels, shoal.partition(X, k, "univariate"))


@given(case=cases(most_records=80), steps=st.sampled_from([0, 1, 40, 300]), seed=st.integers(0, 2**32 - 1))
def test_a_refinement_is_never_worse_than_what_it_is_given(case, steps, seed):
    _, X, k = case
    rng = seeded(seed)
    given_labels = random_partition(len(X), k, rng) if rng.random() < 0.7 else np.zeros(len(X), np.int64)
    before = given_labels.copy()
    labels = refine_anytime(X, k, given_labels, rng=rng, max_steps=steps)
    np.testing.assert_array_equal(given_labels, before)
    check_partition(numbered(labels), len(X), k)
    assert no_worse(X, labels, before)


@settings(max_examples=settings.default.max_examples // 3)
@given(case=cases(most_records=150, largest_k=12), seed=st.integers(0, 2**32 - 1))
def test_the_same_in_regions(case, seed):
    _, X, k = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "WHOLE", 5)
        patch.setattr(module, "REGION", 25)
        labels = shoal.partition(X, k, "anytime", max_steps=200, random_state=seed)
    check_partition(labels, len(X), k)
    assert no_worse(X, labels, start_of(X, k))


def few_points():
    rng = seeded(1)
    return rng.normal(size=(12, 4))[rng.integers(0, 12, 400)]


def outlier():
    X = gaussian(200, 3)
    X[17] = 1e6
    return X


TABLES = {
    "gaussian": gaussian(300, 3),
    "thirty columns": gaussian(200, 30),
    "few points": few_points(),
    "collinear": np.outer(gaussian(200, 1)[:, 0], [1.0, 2.0, -3.0]),
    "equal": np.full((60, 3), 0.1),
    "clusters": gaussian(200, 2) * 1e-3 + seeded(2).integers(0, 9, (200, 1)) * 50,
    "one far outlier": outlier(),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("k", [2, 7, 30])
@pytest.mark.parametrize("place", ["whole", "regions"])
def test_awkward_tables(name, k, place, request):
    if place == "regions":
        request.getfixturevalue("regions")
    X = TABLES[name]
    labels = shoal.partition(X, k, "anytime", max_steps=400, random_state=0)
    check_partition(labels, len(X), k)
    assert no_worse(X, labels, start_of(X, k))
    again = shoal.refine(X, labels, k, "anytime", max_steps=400, random_state=1)
    assert no_worse(X, again, labels)
    if name == "equal":
        assert sse(X, labels) < 1e-25


@pytest.mark.parametrize("k", [2, 3, 5, 11])
def test_sizes_around_multiples_of_k(k):
    for n in (k, 2 * k - 1, 2 * k, 2 * k + 1, 3 * k - 1, 3 * k, 3 * k + 1):
        X = gaussian(n, 2, seed=n)
        labels = shoal.partition(X, k, "anytime", max_steps=500, random_state=0)
        check_partition(labels, n, k)
        assert no_worse(X, labels, start_of(X, k))


@pytest.mark.parametrize("k", [2, 4, 9])
def test_a_single_coordinate_has_the_optimum(k):
    X = gaussian(150, 1)
    best = shoal.partition(X, k, "univariate")
    for limits in ({"max_steps": 10}, {"time_limit": 0.2}):
        np.testing.assert_array_equal(shoal.partition(X, k, "anytime", random_state=0, **limits), best)
    random = random_partition(150, k, seeded())
    assert sse(X, shoal.refine(X, random, k, "anytime", max_steps=20_000, random_state=0)) < 1.05 * sse(X, best)


def test_more_steps_are_worth_it():
    X = gaussian(200, 4)
    losses = [sse(X, shoal.partition(X, 4, "anytime", max_steps=steps, random_state=0)) for steps in (0, 300, 20_000)]
    assert losses[0] <= sse(X, start_of(X, 4)) * (1 + 1e-12)
    assert losses[1] < 0.97 * losses[0]
    assert losses[2] < 0.99 * losses[1]


# --- the optimum of few records ---


def small_instance(seed):
    rng = seeded([7, seed])
    k = int(rng.integers(2, 5))
    n = int(rng.integers(3 * k if k < 4 else 11, 15))
    return rng.normal(size=(n, int(rng.integers(2, 5)))), k


def test_few_records_are_partitioned_to_the_optimum():
    """59 of 60 in 3000 steps; 115 of 120 in 30, from the usual start or by chance (119 are met, 113 without swaps)."""
    found, quickly = 0, 0
    for seed in range(60):
        X, k = small_instance(seed)
        best = plain_error(X, shoal.partition(X, k, "exact"))
        long, short = (shoal.partition(X, k, "anytime", max_steps=steps, random_state=seed) for steps in (3000, 30))
        random = random_partition(len(X), k, seeded(seed))
        improved = shoal.refine(X, random, k, "anytime", max_steps=30, random_state=seed)
        errors = [plain_error(X, labels) for labels in (long, short, improved)]
        assert min(errors) >= best * (1 - 1e-9)
        met = [error <= best * (1 + 1e-9) for error in errors]
        found, quickly = found + met[0], quickly + sum(met[1:])
    assert found >= 59
    assert quickly >= 115


# --- numbers far from 1 ---


def in_extended_precision(X, labels):
    X = X.astype(np.longdouble)
    return float(sum(((X[labels == g] - X[labels == g].mean(axis=0)) ** 2).sum() for g in range(labels.max() + 1)))


@pytest.mark.parametrize("offset", [1e8, [1e8, -3e8, 0.0]])
def test_nothing_drifts_at_an_offset(offset):
    X = gaussian(150, 3) + offset
    seen = []
    labels = anytime(X, 3, rng=seeded(), max_steps=30_000, report=seen.append)
    error = in_extended_precision(X, labels)
    assert sse(X, labels) == pytest.approx(error, rel=1e-9)
    assert seen[-1].loss * in_extended_precision(X, np.zeros(150, int)) == pytest.approx(error, rel=1e-9)
    plain = anytime(gaussian(150, 3), 3, rng=seeded(), max_steps=30_000)
    assert error < 1.01 * in_extended_precision(gaussian(150, 3), plain)


def test_an_offset_that_loses_no_digits_changes_nothing():
    # Sums of multiples of 1/1024 below 2^36 are exact, and so is a mean of 256.
    X = np.round(gaussian(256, 3) * 1024) / 1024
    options = {"max_steps": 5000, "random_state": 1}
    np.testing.assert_array_equal(
        shoal.partition(X, 3, "anytime", **options), shoal.partition(X + 2.0**27, 3, "anytime", **options)
    )


@pytest.mark.parametrize("power", [-432, 490])
def test_scales_do_not_matter(power):
    """From 1e-130 to 1e147."""
    X = gaussian(120, 3)
    options = {"max_steps": 30_000, "random_state": 1}
    np.testing.assert_array_equal(
        shoal.partition(X, 3, "anytime", **options), shoal.partition(X * 2.0**power, 3, "anytime", **options)
    )


@pytest.mark.parametrize("scale", [2e149, 1e-130])
def test_the_largest_and_the_smallest_numbers(scale):
    X = gaussian(120, 3)
    labels = shoal.partition(X * scale, 3, "anytime", max_steps=30_000, random_state=1)
    assert sse(X, labels) < 1.02 * sse(X, shoal.partition(X, 3, "anytime", max_steps=30_000, random_state=1))


# --- steps ---


@pytest.mark.parametrize(("n", "k", "steps"), [(40, 3, 12_000), (300, 3, 2000), (100, 8, 6000)])
def test_steps_and_a_seed_give_the_same_labels_on_any_number_of_threads(n, k, steps):
    X = gaussian(n, 3)
    runs = [anytime(X, k, rng=seeded(5), max_steps=steps, n_jobs=jobs) for jobs in (1, 1, 2, 3)]
    start = random_partition(n, k, seeded())
    runs_of_refine = [refine_anytime(X, k, start, rng=seeded(5), max_steps=steps, n_jobs=jobs) for jobs in (1, 2, 3)]
    for one in runs[1:]:
        np.testing.assert_array_equal(one, runs[0])
    for one in runs_of_refine[1:]:
        np.testing.assert_array_equal(one, runs_of_refine[0])


@pytest.mark.parametrize(("n", "k", "steps"), [(400, 3, 3000), (300, 2, 6000), (300, 10, 1000)])
def test_the_same_for_tables_cut_into_regions(regions, n, k, steps):
    X = gaussian(n, 3)
    runs = [anytime(X, k, rng=seeded(5), max_steps=steps, n_jobs=jobs) for jobs in (1, 1, 2, 3)]
    for one in runs[1:]:
        np.testing.assert_array_equal(one, runs[0])
    check_partition(numbered(runs[0]), n, k)
    assert sse(X, runs[0]) < 0.97 * sse(X, start_of(X, k))


@pytest.mark.parametrize("place", ["whole", "regions"])
def test_seeds_matter(place, request):
    if place == "regions":
        request.getfixturevalue("regions")
    X = gaussian(300, 3)
    runs = [shoal.partition(X, 3, "anytime", max_steps=300, random_state=seed) for seed in range(3)]
    assert not all(same_groups(runs[0], one) for one in runs[1:])


@pytest.mark.parametrize(("n", "steps"), [(30, 10_000), (30, 1), (30, 7777), (200, 5000)])
def test_all_steps_are_made_and_no_more(n, steps):
    X = gaussian(n, 3, seed=1)
    search = Evolution(field(X, 3, seeded()), random_partition(n, 3, seeded()), seeded(), threading.Event(), 2)
    search.run(Budget(steps=steps))
    assert search.steps == steps
    assert search.gained > 0
    assert search.error == pytest.approx(plain_error(X, search.labels), rel=1e-12)


# --- time ---


@pytest.fixture
def clock(monkeypatch):
    """Have the search look at a clock that moves 15 ms at every look, a step of a chain taking two looks."""
    return Clock(0.015).give_to(monkeypatch, module, chains, evolution, recombination)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("place", ["whole", "regions"])
def test_a_search_by_time_takes_about_that_time(place, n_jobs, request, clock):
    if place == "regions":
        request.getfixturevalue("regions")
    X = gaussian(600, 4)
    labels = anytime(X, 5, rng=seeded(), time_limit=30, n_jobs=n_jobs)
    assert 30 <= clock.now < 35
    check_partition(numbered(labels), 600, 5)
    assert sse(X, labels) < 0.99 * sse(X, start_of(X, 5))


def test_both_limits_together(clock):
    X = gaussian(200, 3)
    labels = anytime(X, 3, rng=seeded(), time_limit=10, max_steps=10**9)
    assert 10 <= clock.now < 15
    check_partition(numbered(labels), 200, 3)
    few = {"max_steps": 500, "random_state": 0}
    np.testing.assert_array_equal(
        shoal.partition(X, 3, "anytime", time_limit=1000, **few), shoal.partition(X, 3, "anytime", **few)
    )


def test_it_stops_when_the_bound_is_met(clock):
    # Equal records in groups of k, and triangles far apart: the neighbour bound is the squared error.
    equal = np.repeat(gaussian(100, 3), 4, axis=0)
    triangle = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, np.sqrt(3) / 2, 0.0]])
    triangles = (1000 * gaussian(150, 3)[:, None] + triangle).reshape(-1, 3)
    for X, k, loss in ((equal, 4, 0.0), (triangles, 3, 150.0)):
        labels = anytime(X, k, rng=seeded(), time_limit=1000)
        assert sse(X, labels) == pytest.approx(loss, abs=1e-6)
        # Also if it is not met at once.
        wrong = np.arange(len(X)) // k
        wrong[1::k] = np.roll(wrong[1::k], 1)
        labels = refine_anytime(X, k, wrong, rng=seeded(), time_limit=1000)
        assert sse(X, labels) == pytest.approx(loss, abs=1e-6)
    assert clock.now < 500


def test_a_proof_ends_when_asked(clock, monkeypatch):
    asked, seen = threading.Event(), []

    def solve(X, k, labels, seconds, report):
        report(0.1)
        asked.set()
        seen.append(k)
        report(0.2)
        raise AssertionError("it was to end")

    monkeypatch.setattr(module, "solve", solve)
    with ending_when(asked.is_set):
        labels = anytime(gaussian(), 2, rng=seeded(), time_limit=40)
    assert seen == [2]
    check_partition(numbered(labels), 200, 2)


def test_it_stops_where_nothing_is_gained_any_more(clock):
    for n in (8, 12, 15):
        shoal.partition(gaussian(n, 2), 3, "anytime", time_limit=10_000, random_state=0)
        shoal.partition(gaussian(n, 2), 3, "anytime", time_limit=10_000, max_steps=10**9, random_state=0)
    assert clock.now < 10_000


# --- interrupts ---


class Boom(Exception):
    """What no part of the search raises."""


def interrupted(search, *given, **options):
    """Search and return the labels; an interrupt that comes out would end all tests."""
    try:
        return search(*given, **options)
    except KeyboardInterrupt:
        pytest.fail("the interrupt came out")


def calls_then(error, calls):
    """A progress callback that raises after so many calls."""
    left = [calls]

    def report(fraction):
        left[0] -= 1
        if left[0] < 0:
            raise error

    return report


@pytest.mark.parametrize("place", ["whole", "regions"])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("limits", [{"time_limit": PATIENCE}, {"max_steps": 20_000}], ids=["time", "steps"])
@pytest.mark.parametrize("calls", [0, 2])
def test_an_interrupt_by_the_callback_gives_the_best_so_far(place, n_jobs, limits, calls, request, caplog):
    if place == "regions":
        request.getfixturevalue("regions")
    X = gaussian(120, 3)
    start = random_partition(120, 3, seeded())
    threads = threading.active_count()
    report = calls_then(KeyboardInterrupt, calls)
    labels = interrupted(refine_anytime, X, 3, start, rng=seeded(), n_jobs=n_jobs, report=report, **limits)
    check_partition(numbered(labels), 120, 3)
    assert no_worse(X, labels, start)
    assert threading.active_count() == threads
    assert "interrupted" in caplog.text
    if place == "whole":
        # At the first call the first steps have been made.
        assert sse(X, labels) < 0.8 * sse(X, start)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_in_the_middle_of_all_chains_gives_the_best_of_them(n_jobs, monkeypatch):
    monkeypatch.setattr(chains, "SPEAK", -1.0)  # what is told comes before the end of any chain
    X = gaussian(120, 3)
    start = random_partition(120, 3, seeded())
    report = calls_then(KeyboardInterrupt, 3)
    labels = interrupted(
        refine_anytime, X, 3, start, rng=seeded(), n_jobs=n_jobs, report=report, time_limit=None, max_steps=10**6
    )
    check_partition(numbered(labels), 120, 3)
    assert sse(X, labels) < 0.8 * sse(X, start)


@pytest.mark.parametrize("place", ["whole", "regions"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_other_errors_of_the_callback_come_out_and_leave_no_threads(place, n_jobs, request):
    if place == "regions":
        request.getfixturevalue("regions")
    threads = set(threading.enumerate())
    for calls, limits in ((0, {"max_steps": 5000}), (2, {"time_limit": PATIENCE}), (0, {"time_limit": PATIENCE})):
        with pytest.raises(Boom):
            anytime(gaussian(150, 3), 3, rng=seeded(), n_jobs=n_jobs, report=calls_then(Boom, calls), **limits)
        assert set(threading.enumerate()) == threads
    with pytest.raises(Boom):
        shoal.partition(gaussian(150, 3), 3, "anytime", time_limit=1, progress=calls_then(Boom, 1))


@pytest.fixture
def ctrl_c():
    """Have Ctrl-C raise, as it does unless tests are run in the background by a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals to threads")
@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("place", ["whole", "regions"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_at_any_moment_gives_a_partition(place, n_jobs, request):
    """Python loses an exception that comes while it clears away a thread."""
    if place == "regions":
        request.getfixturevalue("regions")
    X = gaussian(150, 3)
    start = start_of(X, 3)
    anytime(X, 3, rng=seeded(), time_limit=1, n_jobs=n_jobs)  # Numba does not survive an interrupt while it compiles
    main = threading.main_thread().ident
    waits = np.random.default_rng([n_jobs, place == "whole"]).uniform(0, 0.5, 2)
    for wait in waits:
        timers = []

        def begin(fraction, timers=timers, wait=wait):
            if not timers:
                timers.append(threading.Timer(wait, signal.pthread_kill, (main, signal.SIGINT)))
                timers[0].start()

        labels = interrupted(anytime, X, 3, rng=seeded(), time_limit=PATIENCE, n_jobs=n_jobs, report=begin)
        timers[0].join()
        check_partition(numbered(labels), 150, 3)
        assert no_worse(X, labels, start)


# --- what is told ---


@pytest.mark.parametrize("place", ["whole", "regions"])
@pytest.mark.parametrize("limits", [{"time_limit": 10}, {"max_steps": 30_000}], ids=["time", "steps"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_standings_rise_and_losses_fall(place, limits, n_jobs, request):
    if place == "regions":
        request.getfixturevalue("regions")
    if "time_limit" in limits:
        request.getfixturevalue("clock")
    X, k, seen = gaussian(150, 3), 4, []
    labels = anytime(X, k, rng=seeded(), n_jobs=n_jobs, report=seen.append, **limits)
    assert len(seen) > 2
    assert all(isinstance(one, Standing) for one in seen)
    assert seen == sorted(seen)
    assert seen[0] >= 0
    assert 0 < seen[-1] <= 1 or "time_limit" in limits
    assert [one.seconds for one in seen] == sorted(one.seconds for one in seen)
    losses = [one.loss for one in seen]
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(losses))
    assert losses[-1] == pytest.approx(sse(X, labels) / sst(X), rel=1e-9)
    bound = neighbour_bound(X, k) / sst(X)
    for one in seen:
        assert one.gap >= 0
        assert one.loss / (1 + one.gap) == pytest.approx(bound, rel=1e-9)


def test_a_gap_without_a_bound_is_infinite_and_none_without_loss():
    seen = []
    X = np.repeat(gaussian(60, 3), 3, axis=0)[:-1]  # only one group cannot be of equal records
    anytime(X, 3, rng=seeded(), max_steps=3000, report=seen.append)
    assert all(one.gap >= 0 for one in seen)
    pairs = np.repeat(gaussian(61, 3), 2, axis=0)
    seen.clear()
    wrong = np.roll(np.arange(122) // 2, 1)
    labels = refine_anytime(pairs, 2, wrong, rng=seeded(), max_steps=3000, report=seen.append)
    assert sse(pairs, labels) == 0
    assert seen[-1].loss == seen[-1].gap == 0


@pytest.mark.parametrize(
    ("limits", "said"), [({"time_limit": 0.3}, True), ({"max_steps": 300}, False)], ids=["time", "steps"]
)
def test_the_log_says_what_is_not_reproducible(limits, said, caplog):
    X = gaussian(100, 3)
    with caplog.at_level(logging.INFO, logger="shoal"):
        labels = anytime(X, 3, rng=seeded(), **limits)
    (line,) = [record.getMessage() for record in caplog.records if record.getMessage().startswith("anytime: ")]
    assert ("not reproducible" in line) is said
    assert f"loss {100 * sse(X, labels) / sst(X):.4f} %" in line
    gap = sse(X, labels) / neighbour_bound(X, 3) - 1
    assert f"at most {100 * gap:.1f} % above the best possible" in line


# --- regions ---


@given(
    n=st.integers(6, 200), d=st.integers(1, 5), k=st.integers(2, 6), most=st.integers(2, 60), seed=st.integers(0, 2**32)
)
def test_regions_hold_every_record_once_and_whole_groups(n, d, k, most, seed):
    rng = seeded(seed)
    X = rng.normal(size=(n, d)) if seed % 3 else rng.integers(0, 2, (n, d)).astype(float)
    labels = random_partition(max(n, k), k, rng)[:n] if n >= k else np.zeros(n, np.int64)
    labels = np.unique(labels, return_inverse=True)[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "REGION", most)
        parts = cut_in_regions(X, labels, rng)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(n))
    for rows in parts:
        assert len(rows) <= most or len(np.unique(labels[rows])) == 1
    homes = [set(labels[rows].tolist()) for rows in parts]
    assert sum(map(len, homes)) == len(set(labels.tolist()))


def test_borders_of_regions_are_not_the_same_every_time(regions):
    X, rng = gaussian(300, 3), seeded()
    labels = random_partition(300, 3, rng)
    one, other = ({tuple(rows) for rows in cut_in_regions(X, labels, rng)} for _ in range(2))
    assert one != other


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_the_search_at_once():
    sent, after = [], []

    def interrupt():
        sent.append(True)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    timer = threading.Timer(1, interrupt)

    def begun(_):
        after.extend(sent)
        # Everything is compiled before the search begins to speak.
        if not timer.is_alive() and not sent:
            timer.start()

    interrupted(anytime, gaussian(3000, 3), 3, rng=seeded(), time_limit=PATIENCE, report=begun)
    timer.join()
    # A search that went on would speak twice a second until its time is over.
    assert len(after) < 10


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_is_heard_before_there_is_anything(monkeypatch):
    def lost(few, k):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(module, "OTHER_STARTS", (lost,))
    with pytest.raises(KeyboardInterrupt):
        anytime(gaussian(100, 3), 3, rng=seeded(), time_limit=60)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_is_heard_even_if_its_exception_is_lost(caplog):
    def lost(_):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    anytime(gaussian(3000, 3), 3, rng=seeded(), time_limit=1000, report=lost)
    assert "interrupted" in caplog.text
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_both_limits_together_in_regions(regions, clock):
    anytime(gaussian(300, 3), 3, rng=seeded(), time_limit=10, max_steps=10**8)
    assert 10 <= clock.now < 15


def test_ties_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(chains, "SPEAK", 0.0)
    X = np.stack(np.meshgrid(np.arange(7.0), np.arange(7.0)), -1).reshape(-1, 2)
    for seed in range(6):
        runs = [anytime(X, 3, rng=seeded(seed), max_steps=10_000, n_jobs=n_jobs) for n_jobs in (1, 2, 3)]
        for one in runs[1:]:
            np.testing.assert_array_equal(one, runs[0])


def test_the_clock_that_ends_counted_steps_is_said(caplog):
    with caplog.at_level(logging.INFO, "shoal"):
        anytime(gaussian(), 3, rng=seeded(), time_limit=0.2, max_steps=10**8)
    assert "not reproducible" in caplog.text


@pytest.mark.parametrize("place", ["whole", "regions"])
@pytest.mark.parametrize("limits", [{"time_limit": PATIENCE}, {"max_steps": 10**9}])
def test_whoever_has_enough_gets_the_best_so_far(place, limits, request):
    if place == "regions":
        request.getfixturevalue("regions")
    X, enough = gaussian(400), threading.Event()

    def report(fraction):
        if isinstance(fraction, Standing):
            enough.set()

    with ending_when(enough.is_set):
        labels = anytime(X, 3, rng=seeded(), report=report, **limits)
    check_partition(numbered(labels), len(X), 3)
    assert no_worse(X, labels, start_of(X, 3)) or place == "regions"
    # Within another context, or none, nobody is asked.
    assert not asked_to_end()()


def test_demands_can_be_had_enough_of_too():
    asked = iter([False, False, True, True, True])
    with ending_when(lambda: next(asked)):
        assert len(list(rule_search._chunks(10**9, np.inf))) == 2
