"""A release cannot be changed and still call itself verified."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.tables import frames

COLUMNS = {
    "age": [31.0, 33.0, 35.0, 58.0, 60.0, 62.0],
    "town": ["a", "a", "b", "b", "b", "c"],
    "ill": [0, 1, 0, 0, 1, 1],
}
KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def released(kind="pandas"):
    return shoal.anonymize(KINDS[kind](COLUMNS), k=3, quasi_identifiers=["age", "town"], sensitive_attributes=["ill"])


def spoil(table):
    """Change a table in every way that its library allows in place."""
    if isinstance(table, pd.DataFrame):
        table.loc[0, "age"] = 99.0
        table["name"] = list("uvwxyz")
        del table["town"]
    else:
        table[0, "age"] = 99.0
        table.insert_column(0, pl.Series("name", list("uvwxyz")))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_changing_the_table_in_place_does_not_reach_the_file(kind, tmp_path):
    release = released(kind)
    before = frames.to_arrow(release.table, "test")
    spoil(release.table)
    assert frames.to_arrow(release.table, "test") == before
    saved = release.save(tmp_path / "out.parquet")
    assert shoal.io.read(tmp_path / "out.parquet").table.to_pydict() == before.to_pydict()
    assert saved.record["rows"]["published"] == saved.certificate["rows"] == 6


def test_changing_the_original_in_place_does_not_reach_the_release():
    table = pd.DataFrame(COLUMNS)
    release = shoal.anonymize(table, k=3, quasi_identifiers=["age", "town"], other=["ill"])
    before = release.table.copy()
    table.loc[:, "ill"] = 7
    pd.testing.assert_frame_equal(release.table, before)


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_is_of_the_kind_that_came_in(kind):
    assert type(released(kind).table) is type(KINDS[kind](COLUMNS))


def test_another_table_cannot_be_put_in_its_place():
    release = released()
    for field in ("table", "audit"):
        with pytest.raises(TypeError):
            replace(release, **{field: getattr(release, field)})
        with pytest.raises((AttributeError, TypeError)):
            setattr(release, field, None)
    with pytest.raises((AttributeError, TypeError)):
        release.verified.frame = release.table


def test_arrays_and_mappings_are_read_only():
    release = released()
    for array in (release.labels, release.blocks[0].labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    figures = (release.losses.by_attribute, release.utility.by_attribute, release.audit.sizes)
    for mapping in (release.timings, *figures):
        with pytest.raises(TypeError):
            mapping["age"] = 7
    with pytest.raises((AttributeError, TypeError)):
        release.more = 1


def test_what_is_handed_out_is_made_anew():
    release = released()
    release.missing["age"] = 100
    assert release.missing == {"age": 0, "town": 0}
    release.certificate["k"]["held"] = 100
    assert release.certificate["k"]["held"] == 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_duplicate_is_equal_and_independent(kind):
    table = KINDS[kind](COLUMNS)
    again = frames.duplicate(table)
    assert frames.to_arrow(again, "test") == frames.to_arrow(table, "test")
    if kind != "pyarrow":
        spoil(again)
        assert np.array_equal(frames.to_arrow(table, "test").column("age"), COLUMNS["age"])
