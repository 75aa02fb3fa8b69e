"""Statistics of original values are shown for ten times k known values and more only, however large the table."""

import numpy as np
import pytest

from shoal.release.report.evidence import Measured, gather_evidence
from shoal.tables.values import Numbers

K = 3


@pytest.mark.parametrize(("known", "shown"), [(20, False), (29, False), (30, True), (31, True)])
def test_ten_times_k_values_are_enough(known, shown):
    """A thousand groups, of which each has one known value at most, none of which sticks out."""
    labels = np.arange(3000) // K
    values = np.full(3000, np.nan)
    values[::K][:known] = np.where(np.arange(known) % 2, 1.0, -1.0)
    parts = [Measured(name, "continuous", Numbers(values), Numbers(values)) for name in ("age", "income")]
    evidence = gather_evidence(parts, labels=labels, k=K)
    for figures in evidence.figures:
        told = (figures.mean_before, figures.sd_before, figures.mean_after, figures.sd_after)
        assert {figure is None for figure in told} == {not shown}
    matrix = [[None, None]] * 2 if evidence.correlations is None else evidence.correlations.before
    assert (matrix[0][1] is None) == (not shown)
