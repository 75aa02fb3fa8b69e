"""Files that are read in pieces: the release is verified, documented, and independent of pieces and threads."""

import json
import os
import re

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import shoal
from engines.in_pieces import PLAN, people
from shoal.engines import pipeline, stream
from shoal.engines.choice import LEAST, engine_of, memory_of, way_of
from shoal.engines.lone import Lone
from shoal.errors import DataError, OptionError, ShoalError
from shoal.plan import Plan
from shoal.privacy.audit import audit
from shoal.release.hooks import Hooks
from shoal.release.job import Job

FIELDS = {"k": 3, "quasi_identifiers": ("age", "income", "job", "day"), "rest": "other", "engine": "stream"}


class Told(Hooks):
    """Remembers what it is told."""

    def __init__(self):
        self.paces, self.notes, self.seen = [], [], []

    def on_step(self, step):
        return self.paces.append

    def on_prepared(self, source, prepared):
        self.seen.append((source.name, prepared.rows_in, prepared.table.num_rows, len(prepared.attributes)))

    def on_note(self, words):
        self.notes.append(words)


def released(table, folder, *, name="in.parquet", out="out.parquet", hooks=None, documents=False, how=None, **fields):
    """Return the release of a table in tiny blocks, and its published table."""
    path = folder / name
    if path.suffix == ".csv":
        pacsv.write_csv(table, path)
    else:
        pq.write_table(table, path, row_group_size=97)
    plan = Plan.of(**{**FIELDS, **fields})
    beside = {part: folder / f"{part}.x" for part in ("certificate", "record", "report")} if documents else {}
    job = Job(plan, path, folder / out, **beside, force=True)
    release = stream.run(job, hooks or Told(), **{"block_records": 120, "rounds": 2, **(how or {})})
    target = folder / out
    return release, pacsv.read_csv(target) if target.suffix == ".csv" else pq.read_table(target)


def test_a_parquet_file_is_released_with_its_documents(tmp_path):
    table, told = people(700), Told()
    release, published = released(table, tmp_path, hooks=told, documents=True)
    assert published.num_rows == 700
    assert published.schema.names == table.schema.names
    assert published.schema.field("age").type == table.schema.field("age").type
    assert audit(published, list(FIELDS["quasi_identifiers"]), 3).k == release.k >= 3
    unchanged = [name for name in table.column_names if name not in FIELDS["quasi_identifiers"]]
    assert published.select(unchanged).equals(table.select(unchanged))
    certificate = json.loads((tmp_path / "certificate.x").read_text())
    assert certificate == release.certificate
    assert certificate["k"]["held"] == release.k
    assert shoal.verify_file(tmp_path / "out.parquet", certificate=tmp_path / "certificate.x")
    record = json.loads((tmp_path / "record.x").read_text())
    assert record["loss"] == release.loss
    assert record["rows"]["published"] == 700
    # How many blocks there were depends on the originals, and is told to the caller only.
    assert record["methods"][0]["method"] == "mdav* and a short search in blocks, then 2 rounds"
    assert certificate["methods"] == ["mdav* and a short search in blocks, then 2 rounds"]
    assert re.fullmatch(r"\d+ blocks, 2 rounds", release.way)
    assert record["again"]["command"].startswith(f"shoal anonymize {tmp_path / 'in.parquet'} -k 3 -o out.parquet")
    assert f"    '{tmp_path / 'in.parquet'}',\n    'out.parquet',\n" in record["again"]["python"]
    assert record["input"]["sha256"]
    report = (tmp_path / "report.x").read_text()
    assert "<html" in report
    sizes = np.array(published.group_by(FIELDS["quasi_identifiers"]).aggregate([([], "count_all")]).column("count_all"))
    few = f"{len(sizes)} groups of {sizes.min()} to {sizes.max()} records; half of them have at most"
    assert f"{few} {np.median(sizes):g}." in report
    assert told.seen == [(str(tmp_path / "in.parquet"), 700, 700, 4)]
    phases = [pace.phase for pace in told.paces if hasattr(pace, "phase")]
    assert list(dict.fromkeys(phases))[:5] == ["survey", "statistics", "routing", "grouping", "refining"]
    assert "rows/s" in next(pace.words for pace in told.paces if getattr(pace, "rows_per_second", 0) > 1)
    # Nothing is left behind.
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "certificate.x",
        "in.parquet",
        "out.parquet",
        "record.x",
        "report.x",
    ]


def test_what_is_published_are_means_of_groups(tmp_path):
    """Recomputed from the originals: rows published alike are a group, and publish its mean."""
    table = people(400).select(["weight", "share"])
    table = table.set_column(0, "weight", pa.array(np.random.default_rng(3).normal(70, 12, 400)))
    release, published = released(table, tmp_path, quasi_identifiers=("weight",), rest="other")
    values, groups = published.column("weight").to_numpy(), table.column("weight").to_numpy()
    error = 0.0
    for value in np.unique(values):
        members = groups[values == value]
        assert len(members) >= 3
        assert value == pytest.approx(members.mean(), rel=1e-12)
        error += ((members - members.mean()) ** 2).sum()
    assert release.loss == pytest.approx(error / ((groups - groups.mean()) ** 2).sum(), rel=1e-9)


@pytest.mark.parametrize("how", [{"batch_bytes": 2000}, {"batch_bytes": 2**22}], ids=["small pieces", "one piece"])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_the_same_bytes_whatever_pieces_and_threads(tmp_path, how, n_jobs):
    fields = {"stratum": ("region",), "sensitive_attributes": ("ill",), "l": 2, "method": "mdav"}
    table = people(500)
    _, usual = released(table, tmp_path, **fields)
    _, other = released(table, tmp_path, out="other.parquet", how=how, n_jobs=n_jobs, memory="1GB", **fields)
    assert usual.equals(other)
    assert (tmp_path / "out.parquet").read_bytes() == (tmp_path / "other.parquet").read_bytes()


@pytest.mark.parametrize(
    "fields",
    [
        {"unit": "person"},
        {"sensitive_attributes": ("ill",), "t": 0.4, "l": 2},
        {"stratum": ("region",), "weight": "share"},
        {"missing": "drop", "quasi_identifiers": ("weight", "job", "age"), "unit": "person"},
        {**PLAN, "rest": "drop", "release": "local-recoding"},
        {"shuffle": True},
    ],
    ids=["units", "models", "strata and weights", "dropped rows", "all kinds", "shuffled"],
)
def test_what_the_plan_demands_holds_in_the_file(tmp_path, fields):
    table = people(600)
    release, published = released(table, tmp_path, method="mdav", documents=True, **fields)
    plan = release.plan
    assert published.num_rows == release.audit.rows == 600 - release.rows_dropped
    names = [*plan.quasi_identifiers, *plan.stratum]
    assert audit(published, names, 3).k >= 3
    assert all(release.audit.models)
    assert len(release.audit.models) == sum(x is not None for x in (plan.l, plan.t))
    if plan.unit is not None:
        assert release.k == release.audit.k_units >= 3
        assert "person" not in published.column_names
    if plan.missing == "drop":
        assert 0 < release.rows_dropped < 100
        whole = table.filter(pa.compute.and_(table["weight"].is_valid(), table["job"].is_valid()))
        assert published.column("income").equals(whole.column("income"))
    if plan.shuffle:
        assert sorted(published.column("code").to_pylist()) == sorted(table.column("code").to_pylist())
        assert published.column("code").to_pylist() != table.column("code").to_pylist()
    assert json.loads((tmp_path / "certificate.x").read_text())["rows"] == published.num_rows


def test_csv_is_released_as_csv(tmp_path):
    table = people(500)
    release, published = released(table, tmp_path, name="in.csv", out="out.csv")
    assert release.text
    assert release.k >= 3
    assert published.num_rows == 500
    assert published.column_names == table.column_names
    _, typed = released(table, tmp_path)
    assert published.column("age").to_pylist() == typed.column("age").to_pylist()
    assert published.column("job").to_pylist() == [x or "" for x in typed.column("job").to_pylist()]


@pytest.mark.parametrize("unit", [None, "person"])
def test_a_table_of_one_block_has_the_groups_of_memory(tmp_path, unit):
    table = people(200)
    fields = {"method": "mdav", "rest": "drop", "random_state": 0, **({} if unit is None else {"unit": unit})}
    _, published = released(table, tmp_path, how={"block_records": 10_000, "batch_bytes": 2000}, **fields)
    memory = shoal.anonymize(table, **{**FIELDS, **fields, "engine": "memory"})
    assert published.to_pydict() == memory.table.to_pydict()


def test_moments_of_several_time_zones_are_read_in_pieces_as_in_memory(tmp_path):
    """A piece may have rows of one time zone only, in a table that has several."""
    zones = ["+02:00"] * 30 + ["-05:30"] * 30 + ["Z"] * 30
    moments = [f"2001-05-{1 + row % 28:02d} 08:{row % 60:02d}:21{zone}" for row, zone in enumerate(zones)]
    table = pa.table({"seen": moments, "age": np.arange(90) % 40})
    fields = {"quasi_identifiers": ("seen", "age"), "method": "mdav", "random_state": 0}
    _, published = released(table, tmp_path, how={"block_records": 1000, "batch_bytes": 500}, **fields)
    memory = shoal.anonymize(table, k=3, **fields)
    assert published.column("seen").to_pylist() == memory.table.column("seen").to_pylist()


def test_columns_that_single_records_out_are_named_as_in_memory(tmp_path):
    table = people(400).append_column("serial", pa.array([f"z{at}" for at in range(400)]))
    table = table.append_column("few", pa.array(["x", "y"] * 200))
    fields = {"method": "mdav", "quasi_identifiers": ("age", "income", "job", "day"), "other": ("serial", "few")}
    release, _ = released(table, tmp_path, how={"batch_bytes": 700}, **{**fields, "rest": "drop"})
    with pytest.warns(shoal.DisclosureWarning, match="nearly all differ"):
        memory = shoal.anonymize(table, k=3, rest="drop", **fields)
    told = [words for words in memory.warnings if "nearly all differ" in words]
    assert "'serial' (400 of 400 records)" in told[0]
    assert [words for words in release.warnings if "nearly all differ" in words] == told


def test_values_that_occur_once_are_estimated_whatever_the_pieces():
    rng = np.random.default_rng(8)
    values = pa.array(np.concatenate([np.arange(60_000), rng.integers(60_000, 70_000, 40_000)]))
    values = values.take(pa.array(rng.permutation(100_000)))
    found = []
    for size in (100_000, 700):
        one = Lone()
        for start in range(0, 100_000, size):
            one.add(values.slice(start, size))
        found.append(one.rows)
    assert found[0] == found[1]
    # 60,000, and about 700 of the others.
    assert found[0] == pytest.approx(60_700, rel=0.05)


def test_pieces_of_which_all_rows_are_dropped(tmp_path):
    ages = [None] * 200 + list(range(60)) + [None] * 100
    table = pa.table({"age": ages, "note": ["x"] * 360})
    fields = {"quasi_identifiers": ("age",), "missing": "drop", "method": "mdav"}
    release, published = released(table, tmp_path, how={"batch_bytes": 500, "block_records": 20}, **fields)
    assert (release.rows_dropped, published.num_rows) == (300, 60)
    assert release.k >= 3


def test_a_column_without_a_type_of_which_no_row_is_left_is_refused(tmp_path):
    with pytest.raises(OptionError, match="Got 3 for 0 rows"):
        released(pa.table({"age": pa.nulls(9)}), tmp_path, quasi_identifiers=("age",), missing="drop", k=3)


def test_blocks_of_fewer_than_two_groups_keep_k(tmp_path):
    """Equal rows that no cut parts are halved, but not below k."""
    table = pa.table({"a": np.repeat([1.0, 2.0, 5.0], [70, 11, 9])})
    release, published = released(table, tmp_path, quasi_identifiers=("a",), k=7, how={"block_records": 8, "rounds": 1})
    assert published.num_rows == 90
    assert release.k >= 7


def test_a_folder_of_files_is_one_table(tmp_path):
    table = people(400)
    (tmp_path / "parts").mkdir()
    pq.write_table(table.slice(0, 150), tmp_path / "parts" / "a.parquet")
    pq.write_table(table.slice(150), tmp_path / "parts" / "b.parquet")
    release = shoal.anonymize_file(tmp_path / "parts", tmp_path / "out.parquet", **{**FIELDS, "engine": None})
    assert release.audit.rows == 400
    assert release.k >= 3


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_nothing_is_written_into_a_folder_that_is_read(tmp_path, link):
    parts = tmp_path / "parts"
    parts.mkdir()
    pq.write_table(people(100), parts / "a.parquet")
    before = (parts / "a.parquet").read_bytes()
    link(parts / "a.parquet", tmp_path / "link.parquet")
    out, fields = tmp_path / "out.parquet", {**FIELDS, "force": True}
    for target in (parts / "a.parquet", tmp_path / "link.parquet"):
        for targets in ({"output": target}, {"output": out, "certificate": target}, {"output": out, "report": target}):
            with pytest.raises(OptionError, match="must not overwrite the input"):
                shoal.anonymize_file(parts, **targets, **fields)
    for target in (parts / "b.parquet", parts / "x" / ".." / "b.parquet"):
        with pytest.raises(OptionError, match="must not lie in the folder that is read"):
            shoal.anonymize_file(parts, target, **fields)
    assert [path.name for path in parts.iterdir()] == ["a.parquet"]
    assert (parts / "a.parquet").read_bytes() == before


def test_a_row_that_does_not_parse_in_the_last_piece_is_refused(tmp_path):
    table = people(300)
    ages = [str(x) for x in table.column("age").to_pylist()]
    table = table.set_column(0, "age", pa.array([*ages[:-1], "old"]))
    with pytest.raises(DataError, match="'age'"):
        released(table, tmp_path, name="in.csv", out="out.csv", how={"batch_bytes": 3000})
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_the_engine_is_chosen_by_size_and_said(monkeypatch, tmp_path):
    monkeypatch.setattr("shoal.engines.choice.available", lambda: 8 * 10**9)
    assert engine_of(Plan.of(k=3), 10**6, "csv") == ("memory", "")
    assert engine_of(Plan.of(k=3), None, "postgresql") == ("memory", "")
    engine, words = engine_of(Plan.of(k=3), 4 * 10**9, "parquet")
    assert engine == "stream"
    assert "--engine stream" in words
    assert "4.0 GB" in words
    assert engine_of(Plan.of(k=3, engine="memory"), 4 * 10**9, "parquet") == ("memory", "")
    assert engine_of(Plan.of(k=3, memory="2GB"), 10, "csv") == ("stream", "")
    monkeypatch.setattr("shoal.engines.choice.LARGE", 1000)
    monkeypatch.setattr("shoal.engines.choice.available", lambda: 10_000)
    pq.write_table(people(400), tmp_path / "in.parquet")
    told = Told()
    plan = Plan.of(**{**FIELDS, "engine": None, "method": "mdav"})
    release = pipeline.run(Job(plan, tmp_path / "in.parquet", tmp_path / "out.parquet"), told)
    assert type(release).__name__ == "LargeRelease"
    assert release.record["job"]["engine"] == "stream"  # for whoever repeats it where more memory is free
    assert "read in pieces" in told.notes[0]


def test_methods_depend_on_the_size_alone():
    plan = Plan.of(k=3)
    assert way_of(plan, 10**6).plan.method == "mdav*"
    assert way_of(plan, 10**6).in_words(1) == "mdav* and a short search in blocks, then 1 round"
    assert way_of(plan, 10**8).plan.method == "cbfs"
    assert way_of(plan, 10**8).in_words(0) == "cbfs"
    assert way_of(Plan.of(k=3, method="mdav"), 10**8).plan.method == "mdav"
    assert way_of(plan, 10**6)[1:] == way_of(plan.model_copy(update={"n_jobs": 2, "memory": "2GB"}), 10**6)[1:]


@pytest.mark.parametrize("fields", [{"l": 2, "sensitive": ("job",)}, {"unit": "person"}])
def test_groups_that_cannot_be_searched_are_formed_by_ona_star_and_anew_in_more_rounds(fields):
    searched, formed = way_of(Plan.of(k=3), 10**6), way_of(Plan.of(k=3, **fields), 10**6)
    assert (formed.plan.method, formed.kicks) == ("ona*", 0)
    assert formed.rounds > searched.rounds > 0


def test_what_lies_in_one_block_is_searched_as_well(tmp_path):
    """No round would come to it."""
    lost = {method: released(people(600), tmp_path, method=method, how={"block_records": 1000})[0].loss
            for method in ("auto", "mdav*", "ona*")}  # fmt: skip
    assert lost["auto"] < lost["ona*"] < lost["mdav*"]


def test_too_little_memory_is_refused():
    with pytest.raises(OptionError, match="'memory' of a plan must be at least"):
        memory_of(Plan.of(k=3, memory="100MB"))
    assert memory_of(Plan.of(k=3, memory="2GB")) == 2 * 10**9
    assert memory_of(Plan.of(k=3)) >= LEAST


def test_levels_that_do_not_fit_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "LEVELS", 10**8)
    with pytest.raises(ShoalError, match="Got 20 of 'code'"):
        released(people(60), tmp_path, quasi_identifiers=("age", "code"))
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.parametrize(
    ("fields", "output", "words"),
    [
        ({"blocks": "each"}, "out.parquet", "'blocks' of a plan must be left out"),
        ({"shuffle": True, "unit": "person"}, "out.parquet", "'shuffle' of a plan"),
        ({}, None, "must be written"),
        ({}, "out.xlsx", "CSV, Parquet or Arrow"),
    ],
)
def test_what_cannot_be_done_in_pieces_is_refused_first(tmp_path, fields, output, words):
    pq.write_table(people(50), tmp_path / "in.parquet")
    with pytest.raises(OptionError, match=words):
        shoal.anonymize_file(
            tmp_path / "in.parquet", None if output is None else tmp_path / output, **{**FIELDS, **fields}
        )
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_a_data_frame_is_anonymised_in_memory():
    with pytest.raises(OptionError, match="A table in memory"):
        shoal.anonymize(people(50), k=3, engine="stream")


def test_the_command_line_reads_files_in_pieces(tmp_path):
    from typer.testing import CliRunner

    from shoal.cli.app import app

    pq.write_table(people(300), tmp_path / "in.parquet")
    words = ["anonymize", str(tmp_path / "in.parquet"), "-k", "4", "--qi", "age,income", "--rest", "drop"]
    words += ["--engine", "stream", "--memory", "1GB", "--method", "mdav"]
    dry = CliRunner().invoke(app, [*words, "--dry-run", "--json"], catch_exceptions=False)
    found = json.loads(dry.stdout[dry.stdout.index("{\n") :])
    assert found["rows"]["in"] == 300
    assert found["methods"][0]["method"] == "mdav"
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]
    done = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "out.parquet"), "--quiet"], catch_exceptions=False)
    assert done.exit_code == 0
    assert audit(pq.read_table(tmp_path / "out.parquet"), ["age", "income"], 4).k >= 4
    refused = CliRunner().invoke(app, [*words, "--round", "age=5", "-o", str(tmp_path / "x.parquet")])
    assert refused.exit_code != 0
    assert "--round" in refused.output


@pytest.mark.parametrize("often", [(1, 2), (2, 1), (5, 1), (1, 5)])
@pytest.mark.parametrize("values", [("1.0", "@x"), ("20200101", "7"), ("1999-12-31", "soon")])
@pytest.mark.parametrize("role", ["quasi_identifiers", "sensitive_attributes"])
def test_whether_a_column_of_text_holds_numbers_is_decided_as_in_memory(tmp_path, often, values, role):
    """Texts among numbers are counted in rows by both engines, and refused with the same words."""
    words = [value for value, times in zip(values, often, strict=True) for _ in range(6 * times)]
    fields = {"k": 3, "quasi_identifiers": ["age"], "l": 2, "sensitive_attributes": ["seen"], "rest": "other"}
    fields[role] = list(dict.fromkeys([*fields[role], "code"]))
    pacsv.write_csv(
        pa.table({"age": range(len(words)), "code": words, "seen": ["a", "b"] * (len(words) // 2)}), tmp_path / "in.csv"
    )

    def ended(engine):
        try:
            release = shoal.anonymize_file(tmp_path / "in.csv", tmp_path / f"{engine}.csv", engine=engine, **fields)
        except ShoalError as error:
            return str(error)
        return {one.name: one.kind for one in release.attributes}

    assert ended("stream") == ended("memory")


CLOCKS = {
    "nanoseconds": [f"00:39:32.00000{8 * row:04d}" for row in range(24)],
    "some with fractions": [f"00:39:3{row % 10}{'.5' * (row % 3 == 0)}" for row in range(24)],
    "some with seconds": [f"10:{10 + row}{':07' * (row % 2)}{'.25' * (row % 4 == 1)}" for row in range(24)],
    "halves of the day": [f"9:{10 + row}{' ' * (row % 2)}PM" for row in range(24)],
    "halves after a blank": [f"9:{10 + row}{' ' * (row % 2 == 0)}{'ap'[row % 2]}m" for row in range(24)],
}


@pytest.mark.parametrize("zone", ["", "Z", "+05:45", " UTC", " CET", "zones"])
@pytest.mark.parametrize("day", ["1943-05-14 ", "1943-05-14T", "mixed", "14 May 1943 ", "14.05.1943 ", "May 1, 1943, "])
@pytest.mark.parametrize("clock", CLOCKS.values(), ids=CLOCKS)
def test_moments_in_text_are_read_as_in_memory(tmp_path, clock, day, zone):
    """Some leave out seconds or fractions, as Python writes them; no piece knows what the others have."""
    zones = ["+01:00", "+02:00"] if zone == "zones" else [zone]
    days = ["1943-05-14 ", "1943-05-14T"] if day == "mixed" else [day]
    words = [f"{days[row % len(days)]}{text}{zones[row % len(zones)]}" for row, text in enumerate(clock)]
    pacsv.write_csv(pa.table({"born": words, "age": [row // 6 for row in range(24)]}), tmp_path / "in.csv")
    fields = {"k": 3, "quasi_identifiers": ["born", "age"], "method": "mdav", "random_state": 0}

    def ended(engine):
        path = tmp_path / f"{engine}.csv"
        try:
            release = shoal.anonymize_file(tmp_path / "in.csv", path, engine=engine, **fields)
        except ShoalError as error:
            return str(error)
        return release.attributes[0].kind, path.read_bytes()

    assert ended("stream") == ended("memory")
