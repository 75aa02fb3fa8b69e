"""Properties of the methods that improve partitions in rounds."""

import numpy as np
import pytest

import shoal
from shoal.errors import OptionError
from shoal.partitioning.choice import choose


def gaussian(n=300, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize(("method", "cuts"), [("mona", "mondrian-v"), ("mona-2d", "mondrian-v2d")])
@pytest.mark.parametrize("k", [2, 3, 7])
def test_the_ends_of_mona_are_mondrian_and_ona_star(method, cuts, k):
    X = gaussian()
    np.testing.assert_array_equal(shoal.partition(X, k, method, rho=0), shoal.partition(X, k, cuts))
    np.testing.assert_array_equal(shoal.partition(X, k, method, rho=1), shoal.partition(X, k, "ona*"))


@pytest.mark.parametrize("method", ["ona", "lmas"])
def test_random_methods_are_reproducible_and_better_with_more_starts(method):
    X = gaussian()
    runs = [shoal.partition(X, 4, method, n_init=6, random_state=7, n_jobs=jobs) for jobs in (1, 2, 4)]
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_array_equal(runs[0], runs[2])
    np.testing.assert_array_equal(
        runs[0], shoal.partition(X, 4, method, n_init=6, random_state=np.random.default_rng(7))
    )
    losses = [shoal.information_loss(X, shoal.partition(X, 4, method, n_init=n, random_state=7)) for n in (1, 3, 6, 12)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]
    assert not np.array_equal(runs[0], shoal.partition(X, 4, method, n_init=6, random_state=8))


def test_many_splits_make_room_for_new_groups():
    # Tight clumps of 2k - 1 and lone records far apart: rounds dissolve and split all the time.
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(size=(600, 2)) * 1e-3 + rng.integers(0, 30, size=(600, 1)), gaussian(300, 2)])
    for k in (2, 3, 5):
        start = shoal.partition(X, k, "mondrian")
        labels = shoal.refine(X, start, k)
        assert np.bincount(labels).min() >= k
        assert shoal.information_loss(X, labels) < shoal.information_loss(X, start)


def test_a_refinement_needs_groups_of_k():
    X = gaussian(6)
    with pytest.raises(shoal.ShoalError, match="groups of at least 3 records"):
        shoal.refine(X, [0, 0, 1, 1, 2, 2], 3)
    with pytest.raises(shoal.ShoalError, match="ona-rounds"):
        shoal.partition(X, 2, "mdav", refine="ona-round")


def test_passes_of_tfrp2_go_on_where_one_ends():
    X = gaussian(600, 3)
    before = shoal.partition(X, 3, "mondrian")
    one, two, every = (shoal.refine(X, before, 3, "tfrp2", passes=passes) for passes in (1, 2, "all"))
    np.testing.assert_array_equal(two, shoal.refine(X, one, 3, "tfrp2", passes=1))
    np.testing.assert_array_equal(every, shoal.refine(X, before, 3, "tfrp2"))
    np.testing.assert_array_equal(every, shoal.refine(X, every, 3, "tfrp2"))
    losses = [shoal.information_loss(X, labels) for labels in (before, one, two, every)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[1] < losses[0]


@pytest.mark.parametrize("passes", [0, -1, 1.5, True, None, "some"])
def test_the_passes_of_tfrp2_are_checked(passes):
    X = gaussian(6)
    with pytest.raises(OptionError, match="'passes' option of 'tfrp2' must be an integer of at least 1 or 'all'"):
        shoal.refine(X, [0, 0, 0, 1, 1, 1], 3, "tfrp2", passes=passes)


def test_an_option_of_another_refinement_is_refused():
    X = gaussian(6)
    with pytest.raises(OptionError, match=r"refinement 'ona-rounds' has no option 'passes'.*an option of 'tfrp2'"):
        shoal.refine(X, [0, 0, 0, 1, 1, 1], 3, passes=1)


@pytest.mark.parametrize("name", ["census", "tarragona", "cloud1", "cloud2", "eia"])
def test_auto_is_never_worse_than_mdav(name, benchmark_table):
    X = benchmark_table(name)
    for k in (3, 10):
        assert shoal.information_loss(X, shoal.partition(X, k)) < shoal.information_loss(
            X, shoal.partition(X, k, "mdav")
        )


def test_auto_takes_the_time_it_is_given():
    chosen = [choose(20_000, 10, 5, seconds) for seconds in (0.01, 0.1, 0.2, 0.4, 60)]
    assert [one.method for one in chosen] == ["mondrian-v2d", *4 * ["anytime"]]
    assert [one.options.get("rounds") for one in chosen[1:]] == [0, 1, 2, 2]
    assert [one.options["max_steps"] > 0 for one in chosen[1:]] == [False, False, False, True]
    assert choose(10, 1, 2).method == "univariate"
    assert choose(5_000_000, 20, 3, 60).method == "mondrian-v2d"
