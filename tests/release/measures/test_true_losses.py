"""Losses and bounds are those of true distances, whatever the search used."""

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.plan import Plan


def table_of(levels, n=600, seed=0):
    rng = np.random.default_rng(seed)
    words = [f"w{code}" for code in rng.integers(0, levels, n)]
    return pa.table({"word": words, "age": rng.integers(20, 80, n)})


def plain_loss(words, labels):
    """Return SSE / SST of a nominal attribute by counting unequal pairs: the squared error of a group is their number
    divided by its size, up to a factor."""

    def error(rows):
        return sum(words[i] != words[j] for i in rows for j in rows if i < j) / len(rows)

    groups = [np.flatnonzero(labels == group) for group in np.unique(labels)]
    return sum(map(error, groups)) / error(np.arange(len(words)))


@pytest.mark.parametrize("levels", [150, 300])
def test_loss_of_many_levels(levels):
    table = table_of(levels)
    release = shoal.anonymize(table, k=3, method="mdav", bound="none")
    true = plain_loss(table["word"].to_pylist(), release.labels)
    assert release.losses.by_attribute["word"] == pytest.approx(true, rel=1e-9)


def test_projected_or_not_the_same_groups_lose_the_same():
    """The search is another one, but what is said of groups is not."""
    from shoal.release.groups.coordinates import embedded
    from shoal.release.measures.losses import losses
    from shoal.release.preparation import prepare

    table = table_of(60, 200)
    labels = np.arange(200) // 4
    said = []
    for coordinates in (8, 128):
        prepared = prepare(table, Plan.of(k=4, coordinates=coordinates))
        said.append(losses(embedded(prepared.reads, prepared.plan), {"word": labels, "age": labels}, None))
    assert said[0].total == pytest.approx(said[1].total)
    assert said[0].by_attribute["word"] == pytest.approx(said[1].by_attribute["word"])


@pytest.mark.parametrize("columns", [["word", "age"], ["word"]])
def test_bound_is_below_the_loss_of_better_groups(columns):
    """Groups from all coordinates lose less than those from few, and must not go below the bound of these."""
    table = table_of(40, 120).select(columns)
    few = shoal.anonymize(table, k=3, method="mdav", coordinates=2)
    all_of_them = shoal.anonymize(table, k=3, method="anytime", options={"max_steps": 300}, random_state=0)
    assert few.lower_bound is not None
    assert 0 < few.lower_bound <= all_of_them.loss < few.loss


def test_an_optimum_of_projected_coordinates_is_not_called_one():
    table = table_of(6, 8).select(["word"])
    release = shoal.anonymize(table, k=2, method="exact", coordinates=1)
    assert not release.blocks[0].optimal
    assert shoal.anonymize(table, k=2, method="exact").blocks[0].optimal


def test_pages_name_the_default():
    from pathlib import Path

    default = Plan.model_fields["coordinates"].default
    docs = Path(__file__).parents[3] / "docs"
    assert f"({default} by\ndefault)" in (docs / "explanation/tables.md").read_text()
    assert f"more than {default} is" in (docs / "how-to/hierarchies.md").read_text()
    assert f"Default: `{default}`" in next(
        line for line in (docs / "reference/plan.md").read_text().splitlines() if line.startswith("| `coordinates`")
    )
