"""Searches that are ended: limits of time and steps, seeds, and what they tell on the way."""

import numpy as np
import pytest

import shoal
from clocks import Clock
from invariants import check_partition
from shoal.errors import DataError, OptionError
from shoal.partitioning import anytime, chains, choice, evolution, recombination, run
from shoal.partitioning.choice import choose
from shoal.partitioning.extent import Extent, extent_of
from shoal.partitioning.registry import find, find_refinement
from shoal.progress import Standing


def gaussian(n=200, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.fixture(scope="module", autouse=True)
def compiled():
    shoal.partition(gaussian(60), 3, "anytime", max_steps=100, random_state=0)


# --- what is passed on ---


@pytest.fixture
def calls(monkeypatch):
    """Return a list of (name, keywords) of every method and refinement that is run; nothing is searched."""
    seen = []

    def load(owner):
        def function(X, k, *labels, report, **keywords):
            seen.append((owner.name, keywords))
            return labels[0] if labels else np.arange(len(X)) // k - (np.arange(len(X)) // k == len(X) // k)

        return function

    monkeypatch.setattr(type(find("mdav")), "load", load)
    monkeypatch.setattr(type(find_refinement("tfrp2")), "load", load)
    return seen


def limits(calls):
    return [(name, keywords.get("time_limit")) for name, keywords in calls]


@pytest.mark.parametrize(
    ("method", "refine", "expected"),
    [
        ("anytime", None, [("anytime", 8)]),
        ("exact", None, [("exact", 8)]),
        ("anytime", "tfrp2", [("anytime", 8), ("tfrp2", None)]),
        ("anytime", "anytime", [("anytime", 4), ("anytime", 4)]),
        ("mdav", "anytime", [("mdav", None), ("anytime", 8)]),
        ("auto", None, [("anytime", 8)]),
        ("auto", "anytime", [("anytime", 4), ("anytime", 4)]),
    ],
)
def test_who_has_how_much_of_the_time(calls, method, refine, expected):
    shoal.partition(gaussian(), 3, method, refine=refine, time_limit=8)
    assert limits(calls) == expected


def test_without_a_limit_none_is_passed(calls):
    shoal.partition(gaussian(), 3, "anytime")
    shoal.partition(gaussian(), 3, refine="anytime")
    shoal.refine(gaussian(), np.arange(200) // 4, 3, "anytime")
    assert limits(calls) == [("anytime", None)] * 4
    assert [keywords["max_steps"] for _, keywords in calls] == ["none", 66 * choice.STEPS, "none", "none"]


def test_refine_passes_on_what_it_is_given(calls):
    shoal.refine(gaussian(), np.arange(200) // 4, 3, "anytime", time_limit=2.5, random_state=7, n_jobs=2, max_steps=9)
    shoal.refine(gaussian(), np.arange(200) // 4, 3, "tfrp2", random_state=7, n_jobs=2)
    (_, search), (_, plain) = calls
    assert search.pop("rng").integers(1000) == np.random.default_rng(7).integers(1000)
    assert search == {"time_limit": 2.5, "n_jobs": 2, "max_steps": 9}
    assert plain == {"passes": "all", "reading": "printed"}


def test_the_seed_of_auto_is_0(calls):
    X = gaussian()
    shoal.partition(X, 3)
    shoal.partition(X, 3, random_state=5)
    first, second = (keywords["rng"].integers(2**60) for _, keywords in calls)
    assert first == np.random.default_rng(0).integers(2**60)
    assert second == np.random.default_rng(5).integers(2**60)


# --- what is refused ---


def test_a_limit_of_what_cannot_be_ended_is_refused():
    with pytest.raises(OptionError, match=r"The method 'mdav' does not\..*'auto', which chooses by it, or 'anytime'"):
        shoal.partition(gaussian(), 3, "mdav", time_limit=3)
    with pytest.raises(OptionError, match="The method 'mdav' does not"):
        shoal.partition(gaussian(), 3, "mdav", refine="tfrp2", time_limit=3)
    with pytest.raises(OptionError, match=r"The refinement 'tfrp2' does not.*'anytime'"):
        shoal.refine(gaussian(), np.arange(200) // 4, 3, "tfrp2", time_limit=3)


@pytest.mark.parametrize("limit", [0, -1, True, "5", float("nan")])
@pytest.mark.parametrize("method", ["auto", "anytime", "mdav"])
def test_limits_are_positive_numbers(method, limit):
    with pytest.raises(OptionError, match="positive number of seconds"):
        shoal.partition(gaussian(), 3, method, time_limit=limit)
    with pytest.raises(OptionError, match="positive number of seconds"):
        shoal.refine(gaussian(), np.arange(200) // 4, 3, "anytime", time_limit=limit)


@pytest.mark.parametrize("steps", [-1, 1.5, "all", None, True])
def test_steps_are_whole_numbers(steps):
    with pytest.raises(OptionError, match="'max_steps' option of 'anytime' must be an integer of at least 0 or 'none'"):
        shoal.partition(gaussian(), 3, "anytime", max_steps=steps)


def test_refine_checks_its_input():
    labels = np.arange(200) // 4
    with pytest.raises(DataError, match="groups of at least 5"):
        shoal.refine(gaussian(), labels, 5, "anytime", max_steps=1)
    with pytest.raises(OptionError, match="'n_jobs' option of refine"):
        shoal.refine(gaussian(), labels, 3, "anytime", n_jobs=0)
    with pytest.raises(OptionError, match="'random_state' option of refine"):
        shoal.refine(gaussian(), labels, 3, "anytime", random_state=-1)


# --- what comes out ---


@pytest.fixture
def clock(monkeypatch):
    return Clock(0.015).give_to(monkeypatch, anytime, chains, evolution, recombination)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_search_is_ended_in_time_and_better_than_its_start(n_jobs, clock):
    X = gaussian(600, 4)
    labels = shoal.partition(X, 3, "anytime", time_limit=30, random_state=0, n_jobs=n_jobs)
    assert 30 <= clock.now < 35
    check_partition(labels, 600, 3)
    assert shoal.information_loss(X, labels) < shoal.information_loss(X, shoal.partition(X, 3, "ona*"))


def test_by_steps_a_search_is_reproducible():
    X = gaussian(300)
    options = {"max_steps": 500, "random_state": 3}
    first = shoal.partition(X, 4, "anytime", **options)
    np.testing.assert_array_equal(first, shoal.partition(X, 4, "anytime", n_jobs=2, **options))
    before = shoal.partition(X, 4, "mdav")
    after = shoal.refine(X, before, 4, "anytime", **options)
    np.testing.assert_array_equal(after, shoal.refine(X, before, 4, "anytime", n_jobs=2, **options))
    assert shoal.information_loss(X, after) < shoal.information_loss(X, before)


def test_auto_gives_the_same_every_time():
    X = gaussian(300)
    first = shoal.partition(X, 4)
    np.testing.assert_array_equal(first, shoal.partition(X, 4, n_jobs=2))
    np.testing.assert_array_equal(first, shoal.partition(X, 4, random_state=0))


def test_a_refinement_by_the_search_makes_any_partition_better(clock):
    X = gaussian(300)
    before = shoal.partition(X, 4, "mondrian")
    after = shoal.partition(X, 4, "mondrian", refine="anytime", time_limit=10, random_state=0)
    check_partition(after, 300, 4)
    assert shoal.information_loss(X, after) < shoal.information_loss(X, before)


@pytest.mark.parametrize("refine", [None, "anytime"])
def test_progress_tells_loss_and_gap(refine, clock):
    X, seen = gaussian(300), []
    labels = shoal.partition(X, 4, "anytime", refine=refine, time_limit=10, random_state=0, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[0] == 0.0
    assert seen[-1] == 1.0
    told = [fraction for fraction in seen if isinstance(fraction, Standing)]
    assert told
    losses = [one.loss for one in told]
    assert losses == sorted(losses, reverse=True) if refine is None else losses
    loss = shoal.information_loss(X, labels)
    assert loss <= told[-1].loss * (1 + 1e-9)
    assert told[-1].gap == pytest.approx(told[-1].loss / shoal.lower_bound(X, 4) - 1, rel=1e-6)


# --- the choice ---


def test_auto_searches_as_long_as_it_pays_and_no_longer():
    by_default = choose(1000, 10, 5)
    assert by_default == ("anytime", {"max_steps": 200 * choice.STEPS}, by_default.reason, None)
    generous = choose(1000, 10, 5, 1e9)
    assert generous.options == {"max_steps": 200 * choice.MOST_STEPS}
    assert generous.seconds == 1e9
    steps = [choose(1000, 10, 5, seconds).options["max_steps"] for seconds in (1, 10, 100)]
    assert steps == sorted(set(steps))
    # A large table is given fewer steps, so that it ends in the same time.
    assert choice.FEWEST_STEPS * 20_000 <= choose(100_000, 10, 5).options["max_steps"] < choice.STEPS * 20_000


@pytest.mark.parametrize("seconds", [None, 1.0, 60.0, 3600.0])
@pytest.mark.parametrize("n", [100, 1000, 10_000, 100_000, 1_000_000])
@pytest.mark.parametrize(("d", "k"), [(2, 2), (10, 5), (40, 30)])
def test_what_auto_chooses_fits_into_the_time_by_its_own_estimates(n, d, k, seconds):
    chosen = choose(n, d, k, seconds)
    limit = choice.DEFAULT_SECONDS if seconds is None else seconds
    width = d + d / 8 + 8
    sweep = choice.MDAV_SECONDS * n**1.25 * width
    if chosen.method != "anytime":
        assert chosen.method in ("mona-2d", "mondrian-v2d")
        assert chosen.seconds is None
        assert sweep > limit
        return
    options = {"start": None, "rounds": 0, **chosen.options}
    rounds = sum(choice.ROUND_SECONDS * n**1.25 * width * choice.RATIO**at for at in range(options["rounds"]))
    steps = choice.STEP_SECONDS * k**1.6 * (d / 4 + 16) * options["max_steps"]
    looking = choice.NEIGHBOUR_SECONDS * n**1.25 * width if options["max_steps"] else 0.0
    if n > choice.WHOLE:
        assert sweep + rounds + looking + steps <= limit * (1 + 1e-9)
    assert options["max_steps"] == 0 or options["max_steps"] >= choice.FEWEST_STEPS * (n // k)
    assert chosen.seconds == seconds


def test_what_auto_chooses_follows_the_different_records():
    def costly(different):
        return choose(1_000_000, 100, 5, None, 50, Extent(different, 100))

    assert costly(1_000_000) == choose(1_000_000, 100, 5, None, 50)
    assert costly(1_000_000).method == "mondrian-v2d"  # by far too slow for all else
    few = costly(20_000)
    assert few.method == "anytime"
    assert few.options["start"] == "best"  # where many records are equal, cuts between values may be better
    assert few.reason == costly(20_001).reason  # goes out with a release: nothing exact about its records
    assert few.options == costly(20_001).options
    assert choose(3_000_000, 100, 5, None, 5, Extent(1_000_000, 100)).method == "mondrian-strict"
    sizes = [Extent(different, 50) for different in (1000, 10_000, 20_000)]
    more = [choose(50_000, 50, 5, None, 10, extent).options["max_steps"] for extent in sizes]
    assert more == sorted(set(more), reverse=True)


def test_what_auto_chooses_follows_the_principal_axes():
    chosen = [choose(1_000_000, 40, 5, None, 80, Extent(1_000_000, axes)) for axes in (5, 15, 25, 40)]
    assert [one.options["rounds"] for one in chosen] == [2, 2, 2, 1]
    assert [one.options["max_steps"] > 0 for one in chosen] == [True, False, False, False]


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e150])
def test_axes_are_those_that_carry_nearly_all_of_the_spread(scale):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 3)) @ rng.normal(size=(3, 12)) + 1e-3 * rng.normal(size=(30_000, 12))
    assert extent_of(scale * X) == (30_000, extent_of(X).axes)
    assert extent_of(X).axes <= 3
    assert extent_of(rng.normal(size=(500, 12))).axes == 11
    assert extent_of(np.full((50, 4), scale)) == (1, 1)


def test_what_does_not_fit_is_left_out_from_the_end():
    """First the search goes, then the second round, then the first, then the sweep."""
    chosen = [choose(100_000, 30, 5, None, patience) for patience in (60, 6, 3.5, 1.5, 0.01)]
    assert [one.options.get("rounds") for one in chosen] == [2, 2, 1, 0, None]
    assert [bool(one.options.get("max_steps")) for one in chosen] == [True, False, False, False, False]
    assert chosen[-1].method == "mondrian-v2d"
    assert len({one.reason for one in chosen}) == 5


def test_patience_stands_for_a_limit_that_is_not_given():
    assert choose(200_000, 10, 5, None, patience=0.5).method == "mondrian-v2d"
    assert choose(20, 3, 4).method == "exact"
    assert choose(20, 3, 4, None, patience=1).method == "anytime"
    assert choose(20, 3, 4, 1.0).method == "anytime"


def test_the_job_carries_the_limits():
    job = run.resolve("auto", {}, "anytime", 10, (200, 3), 3)
    assert (job.method.name, job.time_limit, job.refinement_limit) == ("anytime", 5, 5)
    assert run.resolve("mdav", {}, None, None, (200, 3), 3)[3:] == (None, None)
