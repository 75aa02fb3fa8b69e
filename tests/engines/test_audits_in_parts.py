"""The audit part by part equals the audit in memory, whatever a table holds and however it is cut."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.engines.auditing import audit_batches
from shoal.engines.batches import TableBatches
from shoal.engines.spill import Spill
from shoal.errors import DataError, OptionError, ShoalError
from shoal.plan import Plan
from shoal.privacy.audit import verify_table

NANS = np.array([0x7FF8000000000000, 0x7FF8000000000001], np.uint64).view(np.float64)


def numbers(rng: np.random.Generator, n: int) -> pa.Array:
    """Return floats that are hard to tell apart: 0 and -0, nulls, two kinds of NaN."""
    values = np.array([0.0, -0.0, 1.5, NANS[0], NANS[1]])[rng.integers(0, 5, n)]
    return pa.array(values, mask=rng.random(n) < 0.2)


def words(rng: np.random.Generator, n: int) -> pa.Array:
    """Return texts, some of which read as one value."""
    kinds = ["flu", "Flu ", "cold", "", "1", "01", "2", "köln", None]
    return pa.array([kinds[i] for i in rng.integers(0, len(kinds), n)], pa.string())


def random_table(seed: int) -> pa.Table:
    """Return a table with columns of all kinds, few values each."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 80))
    columns = {
        "number": numbers(rng, n),
        "whole": pa.array(rng.integers(0, 3, n), pa.int32(), mask=rng.random(n) < 0.1),
        "category": pa.chunked_array(
            [words(rng, n // 2).dictionary_encode(), words(rng, n - n // 2).dictionary_encode()]
        ).unify_dictionaries(),
        "stratum": pa.array(rng.integers(0, 2, n).astype(bool)),
        "day": pa.array(rng.integers(0, 2, n).astype("datetime64[D]")),
        "ill": words(rng, n),
        "income": pa.array(rng.integers(0, 4, n) / 2, mask=rng.random(n) < 0.15),
        "unit": words(rng, n) if rng.random() < 0.5 else numbers(rng, n),
    }
    return pa.table(columns)


def in_parts(table: pa.Table, folder, *, piece: int, memory: int, unit=None, names=None, k=None, **fields):
    """Return the audit of a table that is read in pieces."""
    plan = Plan.of(**fields)
    others = (unit, *plan.demanded_of)
    names = [name for name in table.column_names if name not in others] if names is None else names
    batches = TableBatches(table, piece=piece)
    with Spill(folder) as spill:
        return audit_batches(batches, names, plan, spill, memory, wanted=k, unit=unit, glances=True)


def compare(found, wanted, *, near: bool) -> None:
    """Require that two audits say the same; with `near`, measured values may differ by rounding."""
    for name in ("rows", "classes", "k", "k_units", "wanted", "classes_below", "rows_below", "notes", "whole"):
        assert getattr(found, name) == getattr(wanted, name), name
    assert dict(found.sizes) == dict(wanted.sizes)
    assert bool(found) == bool(wanted)
    for ours, theirs in ((found.models, wanted.models), (found.glances, wanted.glances)):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert (str(one.model), one.attribute, one.words) == (str(other.model), other.attribute, other.words)
            assert one.held == (pytest.approx(other.held, abs=1e-12) if near else other.held)
            assert (one.groups, one.rows, one.groups_below, one.rows_below) == (
                other.groups, other.rows, other.groups_below, other.rows_below,
            )  # fmt: skip
            assert np.array_equal(one.whole, other.whole)
            if not near:
                assert one.worst_size == other.worst_size
                assert np.array_equal(one.worst, other.worst)
                assert np.array_equal(one.offending_sizes, other.offending_sizes)


DEMANDS = (
    {},
    {"sensitive_attributes": ["ill"]},
    {"sensitive_attributes": ["ill"], "l": 2},
    {"sensitive_attributes": ["ill", "income"], "l": 2, "t": 0.3},
    {"models": {"income": ["t-closeness t=0.2 ground=numeric", "alpha alpha=0.6"], "ill": ["entropy-diversity l=1.5"]}},
    {"models": {"ill": ["beta-likeness beta=1", "delta-disclosure delta=2", "recursive-diversity c=2 l=2"]}},
)


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(DEMANDS), st.booleans(), st.booleans(), st.integers(1, 90))
def test_parts_say_what_memory_says(tmp_path_factory, seed, demands, with_unit, few, piece):
    table = random_table(seed)
    folder = tmp_path_factory.getbasetemp()
    unit = "unit" if with_unit else None
    names = ["number", "stratum"] if few else None
    given_fields = {"unit": unit, "k": 2, **demands}
    try:
        wanted = verify_table(table, names, **given_fields)
    except ShoalError as error:
        with pytest.raises(type(error)):
            in_parts(table, folder, piece=piece, memory=20_000, names=names, **given_fields)
        return
    found = in_parts(table, folder, piece=piece, memory=20_000, names=names, **given_fields)
    compare(found, wanted, near=with_unit and bool(demands))


def test_text_is_read_as_in_memory(tmp_path):
    rng = np.random.default_rng(3)
    n = 500
    table = pa.table(
        {
            "zip": pa.array([f"0{i}" for i in rng.integers(0, 9, n)]),
            "income": pa.array([["1,5", "2,50", "2,5", None][i] for i in rng.integers(0, 4, n)]),
        }
    )
    fields = {"sensitive_attributes": ["income"], "l": 2, "t": 0.4}
    wanted = verify_table(table, ["zip"], 2, text=True, decimal=",", **fields)
    from shoal.io import Dialect

    batches = TableBatches(table, piece=77, text=True, dialect=Dialect(delimiter=";", decimal=","))
    with Spill(tmp_path) as spill:
        found = audit_batches(batches, ["zip"], Plan.of(**fields), spill, 30_000, wanted=2)
    compare(found, wanted, near=False)


def test_units_that_are_not_published(tmp_path):
    table = pa.table({"age": [1, 1, 1, 2, 2, 2], "ill": ["a", "b", "a", "a", "b", "b"]})
    units = pa.table({"person": ["x", "X", "y", "z", "z", "z"]})
    with Spill(tmp_path) as spill:
        found = audit_batches(
            *(
                TableBatches(table, piece=4),
                ["age"],
                Plan.of(models={"ill": ["distinct-diversity l=2"]}),
                spill,
                10_000,
            ),
            wanted=2,
            unit="person",
            beside=lambda: iter(units.to_batches(max_chunksize=5)),
        )
    assert (found.k, found.k_units, found.classes_below, found.rows_below) == (3, 1, 1, 3)
    assert found.whole.columns == 2


def test_a_part_that_is_too_large_is_cut_again(tmp_path):
    table = pa.table({"age": np.repeat(np.arange(3000), 3)})
    batches = TableBatches(table, piece=500)
    batches.size = batches.rows = None
    with Spill(tmp_path) as spill:
        found = audit_batches(batches, ["age"], Plan(), spill, 60_000, wanted=3)
    assert (found.k, found.classes, found.whole.k) == (3, 3000, 3)


@pytest.mark.parametrize("with_unit", [False, True])
def test_more_equal_rows_than_fit_into_memory(tmp_path, with_unit):
    rng = np.random.default_rng(1)
    n = 20_000
    age = np.where(rng.random(n) < 0.9, 40.0, rng.integers(0, 500, n))
    table = pa.table(
        {
            "age": age,
            "ill": pa.array(["a", "b", None]).take(pa.array(rng.integers(0, 3, n))),
            "other": np.arange(n) // 2,
            "unit": rng.integers(0, 40, n),
        }
    )
    unit = "unit" if with_unit else None
    fields = {"sensitive_attributes": ["ill"], "l": 2, "t": 0.3}
    wanted = verify_table(table, ["age"], 3, unit=unit, **fields)
    found = in_parts(table, tmp_path, piece=1000, memory=600_000, names=["age"], k=3, unit=unit, **fields)
    compare(found, wanted, near=with_unit)
    assert found.whole == wanted.whole
    with pytest.raises(ShoalError, match="must fit into memory"):
        in_parts(table, tmp_path, piece=1000, memory=600_000, names=["age"], models={"other": ["alpha alpha=1"]})


def test_what_needs_the_whole_table_is_refused(tmp_path):
    table = pa.table({"age": [1, 1], "ill": ["a", "b"]})
    for fields in ({"models": {"ill": ["n-t-closeness n=2 t=0.5"]}}, {"k_map": 2, "population": "people.csv"}):
        with Spill(tmp_path) as spill, pytest.raises(OptionError, match="table in memory"):
            audit_batches(TableBatches(table), ["age"], Plan.of(**fields), spill, 10_000)
    with Spill(tmp_path) as spill, pytest.raises(DataError, match="must have rows"):
        audit_batches(TableBatches(table.slice(0, 0)), ["age"], Plan(), spill, 10_000)
    assert not list(tmp_path.iterdir())
