"""Blocks of attributes: only a partition that nothing has changed afterwards is called optimal."""

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.partitioning.pool import numbered
from shoal.release.groups.blocks import Block, joint
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


def test_records_are_together_if_every_block_has_them_together():
    blocks = [
        Block(("a",), ("a",), np.array([0, 0, 0, 1, 1, 1]), "mdav", ""),
        Block(("b",), ("b",), np.array([0, 0, 1, 1, 2, 2]), "mdav", ""),
    ]
    assert numbered(joint(blocks)).tolist() == [0, 0, 1, 2, 3, 3]
    assert joint(blocks[:1]).tolist() == [0, 0, 0, 1, 1, 1]


def test_the_labels_of_a_release_are_those_of_all_blocks_together():
    with pytest.warns(shoal.DisclosureWarning, match="2 blocks"):
        release = released(method="mdav", blocks="each")
    pairs = list(zip(*(block.labels.tolist() for block in release.blocks), strict=True))
    assert len(set(pairs)) > max(len(set(block.labels.tolist())) for block in release.blocks)
    for one, own in zip(pairs, release.labels.tolist(), strict=True):
        assert [pair == one for pair in pairs] == [label == own for label in release.labels.tolist()]


@pytest.mark.filterwarnings("ignore::shoal.errors.DisclosureWarning")
def test_cells_are_not_said_to_be_optimal():
    release = shoal.anonymize(
        TABLE.select(["stratum"]), k=2, quasi_identifiers="stratum", release="strongly-safe", cells={"stratum": 1}
    )
    assert [block.optimal for block in release.blocks] == [False]
    assert "proven" not in Nearness.of(release).in_short
