"""What is raised, and how progress is told."""

import itertools
import threading
import time
from concurrent.futures import Future

import numpy as np
import pytest

import shoal
from clocks import PATIENCE
from shoal import errors
from shoal.errors import (
    DataError,
    DatasetNotFoundError,
    DisclosureWarning,
    OptionError,
    ShoalError,
    TooLargeError,
    UnknownMethodError,
    near_names,
)
from shoal.partitioning import maximum_distance
from shoal.progress import STEP, Standing, part, silent, throttled

# --- errors ---


@pytest.mark.parametrize("kind", [DataError, OptionError, UnknownMethodError, TooLargeError, DatasetNotFoundError])
def test_every_error_is_a_shoal_error_and_a_value_error(kind):
    with pytest.raises(ShoalError):
        raise kind("no")
    assert issubclass(kind, ValueError)


def test_families():
    assert issubclass(UnknownMethodError, OptionError)
    assert issubclass(DatasetNotFoundError, FileNotFoundError)
    assert issubclass(DisclosureWarning, UserWarning)
    assert not issubclass(DisclosureWarning, ShoalError)
    assert shoal.ShoalError is ShoalError
    assert shoal.DisclosureWarning is DisclosureWarning


def test_all_errors_are_listed():
    defined = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, ShoalError | Warning) and value.__module__ == errors.__name__
    }
    assert defined == set(errors.__all__)


def test_a_hint_is_kept_and_shown():
    error = DataError("X must be finite.", hint="fill it.")
    assert error.hint == "fill it."
    assert str(error) == "X must be finite. Hint: fill it."


def test_without_a_hint_nothing_is_added():
    error = OptionError("k must be an integer.")
    assert error.hint is None
    assert str(error) == "k must be an integer."


def test_an_error_of_two_families_keeps_its_message():
    """OSError has a message format of its own."""
    assert str(DatasetNotFoundError("no census here.", hint="get it.")) == "no census here. Hint: get it."


KNOWN = ["mdav", "mdav*", "mondrian", "univariate"]


@pytest.mark.parametrize(
    ("name", "first"),
    [("mdva", "mdav"), ("MDAV", "mdav"), ("mondrain", "mondrian"), ("univariat", "univariate")],
)
def test_near_names_come_first(name, first):
    hint = near_names(name, KNOWN, "see the list.")
    assert hint.startswith(f"did you mean {first!r}")
    assert hint.endswith("see the list.")


@pytest.mark.parametrize("name", ["", "zzzzzz", None, 3, b"mdav?", ["x"]])
def test_no_name_is_near(name):
    hint = near_names(name, ["univariate"], "see the list.")
    assert hint == "see the list."


def test_at_most_three_names_are_near():
    hint = near_names("mdav", [f"mdav{i}" for i in range(9)], "")
    assert hint.count("'mdav") == 3


# --- throttled and part ---


def test_silence_is_the_default():
    assert throttled(None) is silent
    assert silent(0.3) is None


def test_many_reports_become_few():
    heard = []
    report = throttled(heard.append, clock=lambda: 0.0)
    for i in range(100_001):
        report(i / 100_000)
    assert heard[0] == 0.0
    assert heard[-1] == 1.0
    assert 190 <= len(heard) <= 202
    assert min(b - a for a, b in itertools.pairwise(heard[:-1])) >= STEP * (1 - 1e-9)


def test_a_slow_search_is_heard_of_every_second():
    heard, now = [], [0.0]
    report = throttled(heard.append, clock=lambda: now[0])
    for tenth in range(30_001):  # a search of 3,000 seconds, half a per cent of which are 15
        now[0] = tenth / 10
        report(Standing(tenth / 30_000, now[0], loss=0.5 - tenth / 10**6, gap=np.inf))
    assert [standing.seconds for standing in heard] == list(range(3_001))
    now[0] += 100
    report(1.0)
    report(0.9)
    assert len(heard) == 3_001  # the end is told once


def test_a_bar_never_runs_backwards_nor_leaves_its_frame():
    heard = []
    report = throttled(heard.append, clock=lambda: 0.0)
    for fraction in (-0.5, 0.2, 0.1, 0.6, 0.3, 0.6, 7.0, 0.9, 1.0, 2.0):
        report(fraction)
    assert heard == [0.0, 0.2, 0.6, 1.0]


def test_the_end_is_told_even_after_a_small_step_and_only_once():
    heard = []
    report = throttled(heard.append)
    for fraction in (0.0, 0.9999, 1.0, 1.0):
        report(fraction)
    assert heard == [0.0, 0.9999, 1.0]


def test_callbacks_get_plain_floats():
    heard = []
    report = throttled(heard.append)
    report(np.float64(0.25))
    report(1)
    assert [type(fraction) for fraction in heard] == [float, float]


@pytest.mark.parametrize("nothing", [float("nan")])
def test_nonsense_is_not_passed_on(nothing):
    heard = []
    report = throttled(heard.append)
    report(nothing)
    report(0.5)
    assert heard == [0.5]


def test_a_part_is_a_stretch_of_the_whole():
    heard = []
    second = part(heard.append, 0.5, 1.0)
    for fraction in (0.0, 0.5, 1.0):
        second(fraction)
    third = part(second, 0.0, 0.5)
    third(1.0)
    assert heard == [0.5, 0.75, 1.0, 0.75]


def test_reports_from_two_threads_do_not_overtake_each_other():
    """A callback that takes its time must not be entered again, or a bar would run backwards."""
    heard = []
    entered = threading.Event()

    def callback(fraction):
        if fraction == 0.3:
            entered.set()
            time.sleep(0.1)
        heard.append(fraction)

    report = throttled(callback)
    slow = threading.Thread(target=report, args=(0.3,))
    slow.start()
    assert entered.wait(PATIENCE)
    report(0.6)
    slow.join()
    assert heard == [0.3, 0.6]


# --- progress of methods ---

X = np.random.default_rng(0).normal(size=(1200, 3))  # small tables are done before there is anything to tell
CASES = [
    ("mdav", {}),
    ("mdav-nc", {}),
    ("md", {}),
    ("v-mdav", {}),
    ("mdav*", {}),
    ("mdav*-gamma", {"gamma": "best"}),
    ("cbfs", {}),
    ("tfrp", {}),
    ("gsms", {}),
    ("mst", {}),
    ("npn-mhm", {}),
    ("mdav-mhm", {}),
    ("mondrian", {}),
]


@pytest.mark.parametrize(("method", "options"), CASES)
def test_progress_starts_at_0_rises_and_ends_at_1(method, options):
    heard = []
    labels = shoal.partition(X, 5, method, progress=heard.append, **options)
    assert heard[0] == 0.0
    assert heard[-1] == 1.0
    assert all(a < b for a, b in itertools.pairwise(heard))
    assert len(heard) <= 202
    assert labels.tolist() == shoal.partition(X, 5, method, **options).tolist()


@pytest.mark.parametrize("method", ["mdav", "mdav*", "cbfs", "gsms", "npn-mhm", "md"])
def test_slow_methods_tell_progress_along_the_way(method):
    heard = []
    shoal.partition(X, 5, method, progress=heard.append)
    assert len(heard) >= 10
    assert max(b - a for a, b in itertools.pairwise(heard)) <= 0.6


def test_progress_with_threads_is_one_rising_line():
    heard, inside, crowds = [], [0], []

    def callback(fraction):
        inside[0] += 1
        crowds.append(inside[0])
        time.sleep(0.0005)
        heard.append(fraction)
        inside[0] -= 1

    shoal.partition(X[:200], 4, "mdav*-gamma", gamma="best", n_jobs=2, progress=callback)
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    assert max(crowds) == 1


class Cancel(Exception):
    """What a user raises to stop."""


@pytest.mark.parametrize("error", [Cancel, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(("method", "options"), [CASES[0], CASES[5], CASES[6], CASES[8]])
def test_what_a_callback_raises_reaches_the_caller(method, options, n_jobs, error):
    told = []

    def callback(fraction):
        told.append(fraction)
        if fraction > 0.1:
            raise error("enough")

    with pytest.raises(error, match="enough"):
        shoal.partition(X, 5, method, n_jobs=n_jobs, progress=callback, **options)
    assert max(told) < 1.0


def test_a_callback_may_stop_at_once():
    def callback(fraction):
        raise Cancel

    with pytest.raises(Cancel):
        shoal.partition(X, 5, "mdav", progress=callback)


def test_cancelling_is_quick_with_all_gain_factors(monkeypatch):
    """The runs that have not begun are not made any more."""
    calls = []

    def callback(fraction):
        calls.append(fraction)
        if len(calls) > 2:
            raise Cancel

    runs, run = [], maximum_distance.Star.run
    heard, cancel = threading.Event(), Future.cancel

    def cancelled(future):
        heard.set()
        return cancel(future)

    def counted(*given):
        runs.append(1)
        if len(calls) > 2:
            heard.wait(5)  # until the main thread has heard of it
        return run(*given)

    monkeypatch.setattr(Future, "cancel", cancelled)
    monkeypatch.setattr(maximum_distance.Star, "run", counted)
    with pytest.raises(Cancel):
        shoal.partition(X, 5, "mdav*-gamma", gamma="best", progress=callback)
    assert len(runs) < len(maximum_distance.GAMMAS) / 2


def test_the_estimator_tells_progress_too():
    heard = []
    shoal.Microaggregator(k=5, method="mdav", progress=heard.append).fit(X)
    assert heard[0] == 0.0
    assert heard[-1] == 1.0
    with pytest.raises(Cancel):
        shoal.Microaggregator(k=5, method="mdav", progress=_cancel).fit(X)


def _cancel(fraction):
    raise Cancel
