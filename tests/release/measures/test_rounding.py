"""How exactly figures are told: the number of groups, and the part that one of them makes up."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.release.measures.rounding import (
    digits_left,
    most_digits,
    told,
    told_at_least,
    told_at_most,
    told_count,
)

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.DisclosureWarning")


@pytest.mark.parametrize(("groups", "digits"), [(1, 0), (49, 0), (50, 1), (499, 1), (500, 2), (4999, 2), (5000, 3)])
def test_digits_by_the_number_of_groups(groups, digits):
    labels = np.repeat(np.arange(groups), 5)
    assert most_digits([labels]) == digits
    # Of several blocks, the one with the fewest groups counts.
    assert most_digits([np.arange(len(labels)), labels]) == digits
    assert most_digits([labels, np.zeros(len(labels), int)]) == 0


def test_a_large_group_or_unit_leaves_fewer_digits():
    labels = np.repeat(np.arange(600), 5)
    assert most_digits([labels]) == 2
    assert most_digits([np.append(labels, [0] * 300)]) == 1
    assert most_digits([np.append(labels, [0] * 400)]) == 0
    assert most_digits([labels], units=np.arange(len(labels))) == 2
    assert most_digits([labels], units=np.where(np.arange(len(labels)) < 200, 0, np.arange(len(labels)))) == 1


@pytest.mark.parametrize(
    ("parts", "digits"),
    [([1.0] * 9, 0), ([1.0] * 10, 1), ([1.0] * 99, 1), ([1.0] * 100, 2), ([1.0] * 5000, 3), ([0.0] * 99, 0), ([], 0)],
)
def test_digits_by_the_largest_part(parts, digits):
    assert digits_left(np.array(parts)) == digits
    assert digits_left(np.array([*parts, 1e9])) == 0


@given(st.floats(1e-9, 1.0), st.integers(1, 3))
def test_a_step_is_never_finer_than_the_part_of_a_group_may_be(figure, digits):
    """The range that a told figure leaves is at least 1 / 10**digits of the figure wide."""
    shown = told(figure, digits)
    low, high = told_at_least(figure, digits), told_at_most(figure, digits)
    assert low <= figure <= high
    assert high - low == 0 or high - low >= figure / 10**digits * (1 - 1e-9)
    assert len(f"{shown:.12g}".strip("0.").replace(".", "")) <= digits
    assert shown == round(shown, 3)


def test_nothing_lost_and_hardly_anything_lost_look_the_same():
    assert told(0.0, 1) == told(0.0004, 1) == told(1e-12, 3) == 0.0
    assert told(0.5, 0) is told(None, 3) is told(float("inf"), 3) is None


@given(st.integers(0, 5000), st.integers(2, 50))
def test_counts_are_told_in_steps(count, k):
    assert told_count(count, k) % (5 * k) == 0
    assert abs(told_count(count, k) - count) <= 2.5 * k


def test_what_one_group_makes_up_is_not_told():
    """An attribute that is constant but for one record, published as its mode: that it is not constant is a secret."""
    n = 500

    def released(last):
        table = pa.table({"age": [i // 2 for i in range(n)], "rare": ["no"] * (n - 1) + [last]})
        types = {"age": "integer", "rare": "nominal"}
        return shoal.anonymize(table, k=5, method="mdav", quasi_identifiers=["age", "rare"], types=types, bound="none")

    release, constant = released("yes"), released("no")
    assert set(release.table["rare"].to_pylist()) == {"no"}
    assert release.losses.most == 1
    assert release.losses.by_attribute["rare"] > 0.5
    assert constant.losses.by_attribute["rare"] == 0
    for one in (release, constant):
        assert one.certificate["figures"]["by_attribute"]["rare"] is None
        assert one.certificate["figures"]["by_attribute"]["age"] is not None


def test_a_figure_that_one_unit_makes_up_is_not_told():
    rng = np.random.default_rng(0)
    n = 600
    x = rng.uniform(size=n)
    unit = np.arange(n)
    unit[:80] = 0
    fields = {"k": 5, "method": "mdav", "quasi_identifiers": ["x"]}
    apart = shoal.anonymize(pa.table({"x": x, "u": np.arange(n)}), unit="u", **fields)
    one = shoal.anonymize(pa.table({"x": x, "u": unit}), unit="u", **fields)
    assert apart.certificate["figures"]["loss"] is not None
    assert one.certificate["figures"]["loss"] is None
