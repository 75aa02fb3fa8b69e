"""The steps from file to file, what they tell along the way, and what they refuse before they begin."""

import random
from contextlib import contextmanager

import pytest

import shoal
from shoal.errors import DataError, OptionError, ShoalError
from shoal.io import write
from shoal.job_files import read_job
from shoal.plan import Plan
from shoal.release import pipeline
from shoal.release.groups import blocks
from shoal.release.hooks import Hooks
from shoal.release.job import Job, certificate_beside, read_input

PLAN = Plan(k=3, quasi_identifiers=("age", "zip"), rest="other", method="mdav", bound="none")


@pytest.fixture
def people(tmp_path):
    draw = random.Random(3)
    lines = (f"{draw.randint(20, 80)};{draw.choice(['0110', '2210'])};{i % 4}" for i in range(12))
    (tmp_path / "people.csv").write_text("\n".join(["age;zip;ill", *lines]) + "\n")
    return tmp_path / "people.csv"


class Diary(Hooks):
    """Everything that is told, in order."""

    def __init__(self):
        self.told = []

    def on_step(self, step):
        self.told.append(step)

    def on_prepared(self, source, prepared):
        self.told.append(("prepared", source.table.num_rows, [a.name for a in prepared.attributes]))

    @contextmanager
    def grouping(self):
        self.told.append("begins")
        yield
        self.told.append("ends")

    def on_warning(self, words):
        self.told.append(("warning", words))

    def on_written(self, release):
        self.told.append(("written", release.written.rows))

    def on_note(self, words):
        self.told.append(("note", words))


@pytest.mark.filterwarnings("ignore::shoal.DisclosureWarning")
def test_the_steps_are_told_in_order(people, tmp_path):
    plan = PLAN.model_copy(update={"blocks": (("age",), ("zip",))})
    job = Job(plan, people, tmp_path / "out.csv", tmp_path / "m.json", None, tmp_path / "r.html", tmp_path / "job.yaml")
    diary = Diary()
    release = pipeline.run(job, diary)
    assert diary.told == [
        "reading",
        ("prepared", 12, ["age", "zip"]),
        *("grouping", "begins", "ends"),
        ("warning", release.warnings[0]),
        "writing",
        ("written", 12),
    ]
    assert "2 blocks" in release.warnings[0]
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv", "out.csv", "m.json", "r.html", "job.yaml"}
    assert next(iter(release.timings)) == "reading"

    plan, files = read_job(tmp_path / "job.yaml")
    assert plan == job.plan
    assert {key: (tmp_path / where).resolve() for key, where in files.items()} == {
        "input": people,
        "output": tmp_path / "out.csv",
        "report": tmp_path / "r.html",
        "certificate": tmp_path / "m.json",
    }


def test_a_rehearsal_writes_nothing(people, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "group", lambda *_: pytest.fail("records were grouped"))
    (tmp_path / "out.csv").write_text("mine")  # nothing is to be written there
    diary = Diary()
    plan = PLAN.model_copy(update={"l": 2, "sensitive_attributes": ("ill", "age")})
    prepared = pipeline.rehearse(Job(plan, people, tmp_path / "out.csv"), diary)
    assert prepared.table.num_rows == 12
    (words,) = prepared.warnings
    assert "'age'" in words
    assert diary.told == ["reading", ("prepared", 12, ["age", "zip"]), ("warning", words)]
    assert (tmp_path / "out.csv").read_text() == "mine"

    (tmp_path / "job.yaml").write_text("mine")
    with pytest.raises(ShoalError, match=r"job.yaml must not be there yet"):
        pipeline.rehearse(Job(PLAN, people, job_file=tmp_path / "job.yaml"), diary)


def test_the_input_is_never_replaced(people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = people.read_bytes()
    for target in ({"output": "./people.csv"}, {"output": "out.csv", "certificate": "people.csv"}):
        with pytest.raises(OptionError, match="The output must not overwrite the input"):
            shoal.anonymize_file(people, plan=PLAN, force=True, **target)
    release = shoal.anonymize_file(people, plan=PLAN)
    with pytest.raises(OptionError, match="The output must not overwrite the input"):
        release.save("people.csv", force=True)
    assert people.read_bytes() == before


@pytest.mark.parametrize("suffix", ["db", "duckdb"])
def test_a_table_that_is_there_is_refused_before_the_work(people, tmp_path, monkeypatch, suffix):
    target = tmp_path / f"out.{suffix}"
    shoal.anonymize_file(people, target, plan=PLAN, name_of_table="released")
    with monkeypatch.context() as patched:
        patched.setattr("shoal.release.job.read_input", lambda *_: pytest.fail("the work was started"))
        with pytest.raises(ShoalError, match="The table 'released' must not be in the database yet"):
            shoal.anonymize_file(people, target, plan=PLAN, name_of_table="released")
    shoal.anonymize_file(people, target, plan=PLAN, name_of_table="released", force=True)
    shoal.anonymize_file(people, target, plan=PLAN, name_of_table="another")


@pytest.mark.parametrize(
    ("name", "writing", "words"),
    [
        ("out.csv", {"name_of_table": "t"}, r"--to-table\) must be given for databases only\. Got it for csv\."),
        ("out.parquet", {"escape_formulas": True}, r"for CSV files and workbooks only\. Got it for parquet\."),
    ],
)
def test_options_that_the_output_does_not_have_are_refused_before_the_work(people, tmp_path, name, writing, words):
    diary = Diary()
    with pytest.raises(OptionError, match=words):
        pipeline.run(Job(PLAN, people, tmp_path / name, writing=writing), diary)
    assert diary.told == []


def test_the_table_of_a_server_must_be_named(people):
    with pytest.raises(OptionError, match=r"must be named \(name_of_table, --to-table\)"):
        shoal.anonymize_file(people, "postgresql://host/db", plan=PLAN)


def test_a_file_that_appears_meanwhile_stops_the_writing(people, tmp_path):
    class Meddling(Hooks):
        def on_prepared(self, source, prepared):
            (tmp_path / "m.json").write_text("mine")

    with pytest.raises(ShoalError, match=r"m.json must not be there yet"):
        pipeline.run(Job(PLAN, people, tmp_path / "out.csv", tmp_path / "m.json"), Meddling())
    assert not (tmp_path / "out.csv").exists()


def test_how_the_input_is_read(people, tmp_path):
    people.write_text(people.read_text().replace(";", "\t"))
    for name in ("tab", "\\t", "\t"):
        assert read_input(people, {"delimiter": name}).table.num_columns == 3
    table = read_input(people, {}).table
    write(table, tmp_path / "book.xlsx")
    assert read_input(tmp_path / "book.xlsx", {"sheet": "0"}).table.num_rows == 12
    with pytest.raises(OptionError, match="sheet"):
        read_input(tmp_path / "book.xlsx", {"sheet": "absent"})
    with pytest.raises(DataError, match="Got a folder"):
        read_input(tmp_path, {})
    with pytest.raises(OptionError, match="must be a path or the address"):
        Job(PLAN, None).read()


@pytest.mark.parametrize(
    ("output", "where"),
    [(None, None), ("-", None), ("sqlite:///a.db", None), ("out.csv", "out.csv.manifest.json")],
)
def test_where_a_certificate_lies(output, where):
    assert certificate_beside(output) == where
