"""Every method gives the labels of its plain oracle, and every method has one."""

import numpy as np
import pytest
from hypothesis import given

import naive
import shoal
from invariants import check_partition
from partitioning.strategies import cases

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
    "mondrian": [{}, {"whole": "2k-1"}],
    "mondrian-v": [{}, {"whole": "2k-1"}],
    "mondrian-v2d": [{}, {"whole": "2k-1", "weight": 2.0}],
}
ALL = [(m.name, options) for m in shoal.methods() for options in VARIANTS.get(m.name, [{}])]


def test_every_method_has_an_oracle():
    assert {m.name for m in shoal.methods()} == set(naive.ORACLES)


@pytest.mark.parametrize(("method", "options"), [a for a in ALL if a[0] != "univariate"], ids=str)
@given(case=cases())
def test_labels_are_those_of_the_oracle(method, options, case):
    _, X, k = case
    labels = shoal.partition(X, k, method, **options)
    check_partition(labels, len(X), k)
    np.testing.assert_array_equal(labels, naive.ORACLES[method](X, k, **options))


@given(case=cases(one_column=True))
def test_univariate_labels_are_those_of_the_oracle(case):
    _, X, k = case
    labels = shoal.partition(X, k, "univariate")
    check_partition(labels, len(X), k)
    np.testing.assert_array_equal(labels, naive.univariate(X, k))


@pytest.mark.parametrize("method", ["v-mdav", "mdav*-gamma"])
@given(case=cases(most_records=30, most_columns=4, largest_k=6))
def test_best_gamma_is_that_of_the_oracle(method, case):
    _, X, k = case
    labels = shoal.partition(X, k, method, gamma="best", n_jobs=2)
    np.testing.assert_array_equal(labels, naive.ORACLES[method](X, k, gamma="best"))
