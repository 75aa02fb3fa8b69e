"""No labels leave `partition` and `refine` uncounted: whatever a method returns, k holds or it is refused."""

import numpy as np
import pytest

import shoal
from shoal.partitioning import maximum_distance
from shoal.partitioning import refine as refinements

N, K = 12, 3
X = np.random.default_rng(0).normal(size=(N, 2))
GOOD = np.arange(N) // K
# What a method with a defect might return, and what is said of it.
WRONG = {
    "a group of one": (np.array([0] * 11 + [1]), f"made a group of 1 records where {K} are required"),
    "a group of k - 1": (np.array([0] * 10 + [1] * 2), f"made a group of 2 records where {K} are required"),
    "only groups that are too small": (np.arange(N), f"made a group of 1 records where {K} are required"),
    "a record without a group": (np.array([-1] + [0] * 11), f"made a group of 0 records where {K} are required"),
    "records too few": (np.arange(N - 3) // K, f"returned labels for {N - 3} of {N} records"),
    "records too many": (np.arange(N + 3) // K, f"returned labels for {N + 3} of {N} records"),
}


def as_a_method(labels):
    return lambda X, k, *given, report, **options: labels.copy()


def refused(name, said):
    return pytest.raises(shoal.ShoalError, match=rf"(?s)^'{name}' {said}: a defect of Shoal\..*no labels were returned")


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_groups_of_a_method_are_refused(wrong, monkeypatch):
    labels, said = WRONG[wrong]
    monkeypatch.setattr(maximum_distance, "mdav", as_a_method(labels))
    with refused("mdav", said):
        shoal.partition(X, K, "mdav")
    with refused("mdav", said):
        shoal.Microaggregator(k=K, method="mdav").fit(X)
    # A refinement is not even begun.
    with refused("mdav", said):
        shoal.partition(X, K, "mdav", refine="tfrp2")


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_groups_of_a_refinement_are_refused(wrong, monkeypatch):
    labels, said = WRONG[wrong]
    monkeypatch.setattr(refinements, "ona_rounds", as_a_method(labels))
    with refused("ona-rounds", said):
        shoal.partition(X, K, "mdav", refine="ona-rounds")
    with refused("ona-rounds", said):
        shoal.refine(X, GOOD, K, "ona-rounds")


def test_groups_are_numbered_by_first_appearance(monkeypatch):
    monkeypatch.setattr(maximum_distance, "mdav", as_a_method(np.array([7, 2, 9] * 4)))
    assert shoal.partition(X, K, "mdav").tolist() == [0, 1, 2] * 4
