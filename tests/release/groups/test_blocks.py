"""Blocks of attributes: only a partition that nothing has changed afterwards is called optimal."""

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.release.report.nearness import PROVEN, Nearness

N = 24
RNG = np.random.default_rng(0)
TABLE = pa.table(
    {
        "a": RNG.normal(size=N),
        "b": RNG.normal(size=N),
        "stratum": [i // 12 for i in range(N)],
        "unit": [i // 2 for i in range(N)],
        "ill": [("flu", "cold", "none")[i % 3] for i in range(N)],
    }
)


def released(**fields):
    plan = {"k": 2, "method": "exact", "quasi_identifiers": ["a", "b"], "release": "local-recoding", **fields}
    named = {name for field in ("stratum", "unit", "sensitive_attributes") if (name := plan.get(field))}
    return shoal.anonymize(TABLE, other=[n for n in ("stratum", "unit", "ill") if n not in named], **plan)


@pytest.mark.parametrize("fields", [{}, {"stratum": "stratum"}], ids=["plain", "strata"])
def test_an_optimal_method_is_said_to_be_optimal(fields):
    release = released(**fields)
    assert [block.optimal for block in release.blocks] == [True]
    assert release.gap == 0
    assert Nearness.of(release).in_short == PROVEN


@pytest.mark.parametrize(
    "fields",
    [
        {"sensitive_attributes": "ill", "l": 2},
        {"sensitive_attributes": "ill", "t": 0.4},
        {"unit": "unit"},
        {"release": "global-recoding"},
        {"method": "mdav"},
    ],
    ids=["l", "t", "units", "together", "no optimal method"],
)
def test_a_partition_that_is_changed_afterwards_is_not(fields):
    release = released(**fields)
    assert [block.optimal for block in release.blocks] == [False]
    assert release.gap is None or release.gap > 0
    assert "proven" not in Nearness.of(release).in_short
