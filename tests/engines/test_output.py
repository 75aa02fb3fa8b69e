"""Releases that are written piece by piece: verified before they have a name, in the order of their rows."""

import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.engines.batches import TableBatches
from shoal.engines.buckets import as_schema
from shoal.engines.order import ROW, InOrder, regrouped, shuffled, with_columns_of
from shoal.engines.output import write_batches
from shoal.engines.sources import open_batches
from shoal.engines.spill import Spill
from shoal.errors import DisclosureError, OptionError, ShoalError
from shoal.io import Dialect, read, write
from shoal.plan import Plan
from shoal.release.job import Job

NAMES = ["age", "name", "day", "kind"]


def table(n: int = 1000) -> pa.Table:
    rng = np.random.default_rng(n)
    moments = rng.integers(0, 10**9, n) * 10**6 + np.where(np.arange(n) % 7, 0, 250_000)
    words = ["=1+1", 'a "b"', "x,y", "", None, "köln"]
    return pa.table(
        {
            "age": pa.array(rng.normal(size=n), mask=rng.random(n) < 0.1),
            "name": pa.array([words[i] for i in rng.integers(0, 6, n)], pa.string()),
            "day": pa.array(moments, pa.timestamp("us")),
            "kind": pa.array(["u", "v", None])[:2].take(pa.array(rng.integers(0, 2, n))).dictionary_encode(),
        }
    )


def plain(whole: pa.Table) -> pa.Table:
    """Return a table with the values of its categories."""
    return whole.set_column(3, "kind", whole.column("kind").cast(pa.string()))


def pieces(whole: pa.Table, size: int = 130):
    return [whole.slice(at, size) for at in range(0, whole.num_rows, size)]


def written(whole, path, check=lambda _: None, force=False, like=None, **job):
    source = TableBatches(whole) if like is None else like
    named = Job(Plan(), None, path, force=force, **job)
    return write_batches(pieces(whole), named, schema=whole.schema, like=source, check=check)


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.csv.gz", "out.parquet", "out.feather", "out.arrow"])
def test_what_is_written_is_what_is_read(tmp_path, name):
    whole, seen = table(), []

    def check(again):
        seen.append(pa.Table.from_batches(again.read()))
        assert not (tmp_path / name).exists()

    result = written(whole, tmp_path / name, check)
    assert result.rows == whole.num_rows
    assert result.sha256 == read(tmp_path / name).sha256
    assert result.bytes == (tmp_path / name).stat().st_size
    again = read(tmp_path / name).table
    assert again.num_rows == whole.num_rows
    if not name.endswith(("csv", "tsv", "gz")):
        assert again.cast(whole.schema).equals(whole)
    else:
        assert again.column("name").equals(whole.column("name"))
        assert any("formulas" in one for one in result.warnings)
        # The same value is written in the same way in every row.
        assert set(map(len, again.column("day").to_pylist())) == {19, 26}
    assert seen[0].cast(again.schema).equals(again)
    assert os.listdir(tmp_path) == [name]


def test_text_keeps_its_dialect_and_its_bytes(tmp_path):
    dialect = Dialect(delimiter=";", encoding="cp1252", newline="\r\n", decimal=",", bom=False)
    whole = pa.table({"a": ["1,5", None, "", "é"], "b": ["x;y", "2", '"', " "]})
    source = TableBatches(whole, text=True, dialect=dialect)
    written(whole, tmp_path / "pieces.csv", like=source)
    write(whole, tmp_path / "once.csv", like=source.like())
    assert (tmp_path / "pieces.csv").read_bytes() == (tmp_path / "once.csv").read_bytes()


def test_parquet_does_not_depend_on_pieces_and_has_no_traces(tmp_path):
    whole = table(3000)
    words = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 1500, pa.int32()), pa.array(["u", "v", "SECRET"]))
    whole = whole.set_column(3, "kind", words)
    for size, name in ((130, "a.parquet"), (999, "b.parquet")):
        job = Job(Plan(), None, tmp_path / name)
        parts = [as_schema(plain(part), whole.schema) for part in pieces(whole, size)]
        parts[0] = whole.slice(0, size)
        write_batches(parts, job, schema=whole.schema, like=TableBatches(whole), check=lambda _: None)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert b"SECRET" not in (tmp_path / "a.parquet").read_bytes()


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_no_name_without_a_passed_check(tmp_path, name):
    def check(_):
        raise DisclosureError("k does not hold.")

    with pytest.raises(DisclosureError):
        written(table(), tmp_path / name, check)
    assert os.listdir(tmp_path) == []
    (tmp_path / name).write_text("before")
    (tmp_path / f"{name}.manifest.json").write_text("{}")
    with pytest.raises(DisclosureError):
        written(table(), tmp_path / name, check, force=True)
    assert (tmp_path / name).read_text() == "before"
    assert (tmp_path / f"{name}.manifest.json").exists()
    with pytest.raises(ShoalError, match="must not be there yet"):
        written(table(), tmp_path / name)


def test_documents_of_the_old_release_go_before_the_new_one_has_its_name(tmp_path):
    target, certificate = tmp_path / "out.csv", tmp_path / "out.csv.manifest.json"
    target.write_text("before")
    certificate.write_text("{}")
    said = []

    def finish(result, checked):
        said.append((target.read_text() != "before", certificate.exists(), checked))
        certificate.write_text(json.dumps({"sha256": result.sha256}))

    whole = table()
    job = Job(Plan(), None, target, certificate, force=True)
    how = {"schema": whole.schema, "like": TableBatches(whole), "check": lambda _: 42, "finish": finish}
    result = write_batches(pieces(whole), job, **how)
    assert said == [(True, False, 42)]
    assert json.loads(certificate.read_text())["sha256"] == result.sha256


def test_a_file_that_does_not_give_back_its_rows_is_not_named(tmp_path, monkeypatch):
    whole = table()
    real = pq.ParquetWriter.write_table
    monkeypatch.setattr(pq.ParquetWriter, "write_table", lambda self, rows, **how: real(self, rows.slice(1), **how))
    with pytest.raises(ShoalError, match="must equal the table written"):
        written(whole, tmp_path / "out.parquet")
    assert os.listdir(tmp_path) == []


def test_formats_that_are_not_written_in_pieces_are_refused(tmp_path):
    whole = table()
    for output in (tmp_path / "out.xlsx", tmp_path / "out.db", "-"):
        with pytest.raises(OptionError, match="piece by piece"):
            written(whole, output)
    text = TableBatches(whole, text=True, dialect=Dialect())
    with pytest.raises(OptionError, match="must be a CSV file"):
        written(whole, tmp_path / "out.parquet", like=text)


def test_rows_come_in_their_order_or_at_random(tmp_path):
    whole = table(2000).append_column(ROW, pa.array(np.arange(2000)))
    rng = np.random.default_rng(1)
    with Spill(tmp_path) as spill:
        ordered = InOrder(spill, "order", whole.schema, 2000, 60_000)
        for part in pieces(whole.take(pa.array(rng.permutation(2000)))):
            ordered.append(part)
        ordered.finish()
        assert ordered.buckets.count > 5
        again = pa.concat_tables(ordered.read())
        assert plain(again).equals(plain(whole))
        mixed = pa.concat_tables(shuffled(pieces(whole), spill, "shuffle", 2000, 60_000, seed=5))
        numbers = mixed.column(ROW).to_numpy()
        assert sorted(numbers) == list(range(2000))
        assert abs(np.corrcoef(numbers, np.arange(2000))[0, 1]) < 0.1
        assert plain(mixed.sort_by(ROW)).equals(plain(whole))


def test_columns_are_passed_on_to_the_rows_that_are_published():
    whole = table(500)
    kept = np.flatnonzero(np.arange(500) % 3)
    published = pa.table({ROW: kept, "age": pa.array(np.zeros(len(kept)))})
    source = iter(whole.select(["name", "day"]).to_batches(max_chunksize=37))
    parts = with_columns_of(source, pieces(published, 60), ["name", "age", "day"])
    parts = list(parts)
    # Never more rows than a piece of the source has: texts that are passed on may be long.
    assert max(part.num_rows for part in parts) <= 37
    joined = pa.concat_tables(parts)
    assert joined.column_names == ["name", "age", "day"]
    assert joined.column("name").equals(pa.chunked_array(whole.column("name").take(pa.array(kept)).chunks))
    short = iter(whole.slice(0, 400).select(["name", "day"]).to_batches())
    with pytest.raises(ShoalError, match="fewer rows"):
        list(with_columns_of(short, pieces(published, 60), ["name", "age", "day"]))


def test_regrouped_keeps_rows():
    whole = table(1000)
    parts = list(regrouped(pieces(whole, 33), 100, 2**30))
    assert [part.num_rows for part in parts] == [100] * 10
    assert pa.concat_tables(parts).equals(whole)
    assert [part.num_rows for part in regrouped([whole], 300, 2**30)] == [300, 300, 300, 100]


def test_long_rows_come_in_smaller_tables_whatever_the_pieces():
    words = [None if at % 7 == 0 else "x" * (at % 50) * 20 for at in range(400)]
    whole = pa.table({"note": words, "kind": pa.array(words).dictionary_encode(), "age": np.arange(400)})
    sizes = [2 * 20 * (at % 50) * (at % 7 > 0) for at in range(400)]
    found = []
    for length in (400, 33, 1):
        parts = list(regrouped(pieces(whole, length), 100, 20_000))
        assert [value for part in parts for value in part.column("note").to_pylist()] == words
        found.append([part.num_rows for part in parts])
    assert found[0] == found[1] == found[2]
    assert max(found[0]) <= 100
    ends = np.cumsum(found[0])
    for start, stop in zip([0, *ends[:-1]], ends, strict=True):
        assert sum(sizes[start:stop]) <= 20_000
    assert len(list(regrouped([whole], 100, 1))) == 400


def test_a_release_can_be_opened_again(tmp_path):
    whole = table()
    written(whole, tmp_path / "out.csv")
    batches = open_batches(tmp_path / "out.csv", {"header": True})
    assert sum(batch.num_rows for batch in batches.read(["age"])) == whole.num_rows


def test_moments_in_whole_seconds_are_written_to_parquet(tmp_path):
    """Parquet has none; they come back in thousandths."""
    seconds = pa.array(range(40), pa.timestamp("s", "America/New_York"))
    table = pa.table({"seen": seconds, "at": pa.array(range(40), pa.time32("s")), "age": np.arange(40) % 9})
    feather.write_feather(table, str(tmp_path / "in.arrow"), compression="uncompressed")
    fields = {"quasi_identifiers": ("age",), "other": ("at",), "k": 3, "engine": "stream", "method": "mdav"}
    for more in ({"quasi_identifiers": ("age", "seen")}, {"other": ("at", "seen")}):
        release = shoal.anonymize_file(
            tmp_path / "in.arrow", tmp_path / "out.parquet", force=True, **{**fields, **more}
        )
        assert release.k >= 3
        assert pq.read_table(tmp_path / "out.parquet").schema.field("seen").type == pa.timestamp(
            "ms", "America/New_York"
        )
