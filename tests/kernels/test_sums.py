"""Sums are exact, however their terms cancel, and are rounded once."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import shoal
from shoal.kernels.sums import exact_mean
from shoal.partitioning import maximum_distance


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("last", [2.0**-106, -(2.0**-106), 0.0])
@pytest.mark.parametrize("big", [1.0, 1.0 + 2.0**-52])
def test_halfway_between_two_numbers_the_rest_decides(big, last, sign):
    """A half of the last digit goes to the even number, unless there is more or less than a half."""
    terms = [sign * term for term in (big, 2.0**-53, last, 0.0)]
    assert exact_mean(np.array(terms)[:, None]).tolist() == [math.fsum(terms) / 4]


@given(
    st.lists(
        st.tuples(st.sampled_from([-3.0, -1.0, 1.0, 3.0]), st.sampled_from([0, 1, 52, 53, 54, 105, 106, 107])),
        min_size=1,
        max_size=8,
    )
)
@settings(max_examples=200)
def test_a_sum_is_rounded_once(drawn):
    terms = [math.ldexp(factor, -power) for factor, power in drawn]
    assert exact_mean(np.array(terms)[:, None]).tolist() == [math.fsum(terms) / len(terms)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("loops", ["plain", "with an index"])
def test_records_that_are_larger_by_far_leave_no_trace_in_the_mean_of_the_others(seed, loops, monkeypatch):
    """Three scales, each beyond the digits of the one above: when the large ones are grouped, the small remain."""
    if loops == "with an index":
        monkeypatch.setattr(maximum_distance, "SMALL_TABLE", 0)
    rng = np.random.default_rng(seed)
    scales = np.repeat([2.0**160, 2.0**80, 1.0], [4, 4, 12])
    X = (100 + rng.normal(size=(20, 1))) * scales[:, None]
    np.testing.assert_array_equal(shoal.partition(X, 2, "mdav"), naive.mdav(X, 2))
