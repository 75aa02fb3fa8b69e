"""Equal records that stay together go where most of them are; groups that fall short then are merged."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.partitioning.pool import numbered
from shoal.plan import Plan
from shoal.release.groups import grouping
from shoal.release.groups.grouping import Constraints, group


@st.composite
def separated(draw):
    """Draw records of few kinds, and labels that separate equal ones."""
    n, d = draw(st.integers(1, 20)), draw(st.integers(1, 2))
    cells = draw(st.lists(st.sampled_from([-1.0, -0.0, 0.0, 2.5]), min_size=n * d, max_size=n * d))
    return np.array(cells).reshape(n, d), numbered(np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))))


@given(separated())
def test_equal_records_go_where_most_of_them_are_and_on_ties_to_the_first(drawn):
    X, labels = drawn
    kinds = [tuple((row + 0.0).tolist()) for row in X]  # -0 is 0
    counts = Counter(zip(kinds, labels.tolist(), strict=True))
    expected = [min((-count, label) for (of, label), count in counts.items() if of == kind)[1] for kind in kinds]
    assert grouping._put_equals_together(X, labels).tolist() == numbered(np.array(expected)).tolist()


def test_the_groups_of_a_method_are_changed_so(monkeypatch):
    """The method puts four of five equal records into the first group and one into the second."""
    X = np.repeat([[0.0], [1.0], [2.0]], [3, 5, 4], axis=0)
    monkeypatch.setattr(grouping, "_partition", lambda X, plan, report: np.repeat([0, 1], [7, 5]))
    plan = Plan.of(k=3, method="mdav")
    assert group(X, plan, Constraints(together=True)).tolist() == [0] * 8 + [1] * 4
    assert group(X, plan, Constraints()).tolist() == [0] * 7 + [1] * 5
