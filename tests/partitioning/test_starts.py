"""Where the anytime search starts."""

import numpy as np
import pytest

import shoal
from invariants import check_partition, same_groups
from shoal.errors import OptionError
from shoal.partitioning import anytime as module
from shoal.partitioning import choice, run, starts
from shoal.partitioning.starts import first_partition
from shoal.progress import Listener, Standing, silent


@pytest.fixture(autouse=True)
def large(monkeypatch):
    """Have tables of some hundred records treated as large ones."""
    for where in (module, choice, run, starts):
        monkeypatch.setattr(where, "WHOLE", 100)


def codes(n=600, seed=0):
    """Codes of which many are equal."""
    return np.random.default_rng(seed).integers(0, 5, (n, 3)).astype(float)


def numbers(n=600, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3))


@pytest.mark.parametrize("X", [codes(), numbers()], ids=["codes", "numbers"])
def test_the_best_of_what_was_tried_is_taken(X):
    labels, tried = first_partition(X, 4, "best", 0, None, 0, 1, silent)
    assert [one.how for one in tried] == ["mdav+", "mondrian-strict"]
    losses = [shoal.information_loss(X, shoal.partition(X, 4, name)) for name in ("mdav+", "mondrian-strict")]
    assert [one.loss for one in tried] == pytest.approx(losses)
    assert shoal.information_loss(X, labels) == pytest.approx(min(losses))


def test_both_starts_win_somewhere():
    """Else one of them would do."""
    winners = set()
    for X in (codes(), numbers()):
        tried = first_partition(X, 4, "best", 0, None, 0, 1, silent)[1]
        winners.add(min(tried, key=lambda one: one.loss).how)
    assert winners == {"mdav+", "mondrian-strict"}


def test_rounds_are_those_of_ona():
    X = numbers()
    labels, tried = first_partition(X, 4, "mdav+", 30, None, 0, 1, silent)
    assert same_groups(labels, shoal.partition(X, 4, "mdav+", refine="ona-rounds"))
    assert tried[-1] == ("30 rounds of exchanges", pytest.approx(shoal.information_loss(X, labels)))
    one = first_partition(X, 4, "mdav+", 1, None, 0, 1, silent)[1]
    assert one[0].loss > one[-1].loss > tried[-1].loss
    assert one[-1].how == "1 round of exchanges"


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_steps_give_what_a_search_would_start_from(n_jobs):
    X = codes()
    labels = shoal.partition(X, 4, "anytime", max_steps=0, start="best", rounds=2, n_jobs=n_jobs)
    check_partition(labels, len(X), 4)
    assert shoal.information_loss(X, labels) == pytest.approx(
        first_partition(X, 4, "best", 2, None, 0, 1, silent)[1][-1].loss
    )


@pytest.mark.parametrize("steps", [0, 500])
def test_a_search_tells_what_was_tried(steps):
    X, heard = codes(), Listener(silent)
    labels = shoal.partition(X, 4, "anytime", max_steps=steps, start="best", rounds=1, random_state=0, progress=heard)
    assert [one.how for one in heard.tried] == ["mdav+", "mondrian-strict", "1 round of exchanges"]
    assert shoal.information_loss(X, labels) <= heard.tried[-1].loss * (1 + 1e-12)


def test_a_listener_passes_everything_on():
    passed = []
    heard = Listener(passed.append)
    for fraction in (0.1, Standing(0.5, 1.0, 0.2, 0.3), 1.0):
        heard(fraction)
    assert passed == [0.1, 0.5, 1.0]
    assert heard.tried == ()


def test_what_is_left_open_is_settled_by_the_table():
    tried = first_partition(codes(), 4, "auto", "auto", None, 100, 1, silent)[1]
    assert [one.how for one in tried] == ["mdav+", "mondrian-strict", "2 rounds of exchanges"]
    tiny = first_partition(codes(90), 4, "auto", "auto", None, 100, 1, silent)[1]
    assert [one.how for one in tiny] == ["mdav"]
    # A time limit that nothing fits into.
    hurried = first_partition(numbers(), 4, "auto", "auto", 1e-9, "none", 1, silent)[1]
    assert [one.how for one in hurried] == ["mondrian-v2d"]


def test_auto_searches_from_the_best_start():
    X = codes()
    labels = shoal.partition(X, 4)
    for name in ("mdav+", "mondrian-strict", "mdav*", "ona*", "mona-2d"):
        assert shoal.information_loss(X, labels) <= shoal.information_loss(X, shoal.partition(X, 4, name))


@pytest.mark.parametrize("options", [{"start": "ona*"}, {"rounds": -1}, {"rounds": 31}, {"rounds": "all"}])
def test_wrong_options_are_refused(options):
    with pytest.raises(OptionError, match=f"'{next(iter(options))}' option of 'anytime'"):
        shoal.partition(codes(), 4, "anytime", **options)
