"""What groups reveal of sensitive values, against loops and by hand."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

import shoal


def guesses(groups, values):
    """The right guesses of the most frequent value of each group."""
    by_group = {group: Counter(v for g, v in zip(groups, values, strict=True) if g == group) for group in set(groups)}
    return sum(max(counter.values()) for counter in by_group.values()), by_group


@pytest.mark.parametrize("seed", range(10))
def test_guesses_are_those_of_a_loop(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 80))
    groups, values = rng.integers(0, 9, n).tolist(), rng.choice(["a", "b", "c", None], n).tolist()
    (found,) = shoal.risk.attribute_gain(pd.DataFrame({"g": groups, "s": values}), ["g"], ["s"])
    right, by_group = guesses(groups, values)
    assert found.guessed == pytest.approx(right / n)
    assert found.baseline == pytest.approx(max(Counter(values).values()) / n)
    own = [by_group[g][v] / sum(by_group[g].values()) for g, v in zip(groups, values, strict=True)]
    np.testing.assert_allclose(found.chances, own)
    sure = sum(sum(counter.values()) for counter in by_group.values() if len(counter) == 1)
    assert found.certain == pytest.approx(sure / n)


def test_values_that_have_nothing_to_do_with_groups():
    """Small groups have a most frequent value all the same: dealing out at random shows how much that is."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"g": np.arange(3000) // 3, "s": rng.choice(list("abcd"), 3000)})
    (found,) = shoal.risk.attribute_gain(table, ["g"], "s")
    assert found.gain > 0.1
    assert found.guessed == pytest.approx(found.shuffled, abs=0.02)
    (again,) = shoal.risk.attribute_gain(table, ["g"], "s")
    assert again.shuffled == found.shuffled


def test_groups_that_tell_everything():
    table = pd.DataFrame({"g": [1, 1, 2, 2], "s": ["a", "a", "b", "b"], "t": ["x", "x", "x", "x"]})
    first, second = shoal.risk.attribute_gain(table, ["g"], ["s", "t"])
    assert (first.guessed, first.baseline, first.gain, first.certain) == (1, 0.5, 0.5, 1)
    assert (second.gain, second.certain) == (0, 1)
    assert "'s'" in repr(first)


def test_many_numbers_are_guessed_by_interval():
    x = np.arange(100.0)
    (found,) = shoal.risk.attribute_gain(pd.DataFrame({"g": [1] * 100, "x": x}), ["g"], ["x"], bins=4)
    assert found.baseline == pytest.approx(0.25)
    (few,) = shoal.risk.attribute_gain(pd.DataFrame({"g": [1] * 100, "x": x % 24}), ["g"], ["x"], bins=4)
    assert few.baseline == pytest.approx(0.05)


def test_a_key_is_no_secret():
    table = pd.DataFrame({"g": [1, 2], "s": [1, 2]})
    with pytest.raises(shoal.ShoalError, match="must not be keys"):
        shoal.risk.attribute_gain(table, ["g"], ["s", "g"])
