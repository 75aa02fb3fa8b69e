"""Statistics of original values are shown for ten times k records and more only."""

import numpy as np
import pytest

from shoal.release.report.evidence import Measured, gather_evidence
from shoal.tables.values import Codes, Numbers

K = 3


@pytest.mark.parametrize(("n", "shown"), [(29, False), (30, True), (31, True)])
def test_ten_times_k_records_are_enough(n, shown):
    labels = np.minimum(np.arange(n) // K, n // K - 1)
    groups = np.bincount(labels)
    parts = []
    for name in ("age", "income"):
        before = np.random.default_rng(len(name)).normal(size=n)
        after = (np.bincount(labels, before) / groups)[labels]
        parts.append(Measured(name, "continuous", Numbers(before), Numbers(after)))
    codes = np.arange(n) % 2
    parts.append(Measured("sex", "nominal", Codes(codes, ("f", "m")), Codes(codes, ("f", "m"))))
    evidence = gather_evidence(parts, labels=labels, k=K)
    age, income, sex = evidence.figures
    for figures in (age, income):
        assert {figures.mean_before is None, figures.sd_before is None} == {not shown}
    assert (sex.distance is None) == (not shown)
    matrix = evidence.correlations.before if evidence.correlations is not None else [[None, None]] * 2
    assert (matrix[0][1] is None) == (not shown)
