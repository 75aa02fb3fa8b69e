"""Spark from files to files: what is written, where, and what is left when something fails."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from on_spark import PLAN, QIS, N, job_for, rows_of

import shoal
from clocks import PATIENCE
from shoal.engines import spark_job, spark_run, spark_session, spark_tasks
from shoal.engines.spark_folders import Folder
from shoal.engines.verification import open_published, verify_batches
from shoal.errors import DataError, DisclosureError, OptionError, ShoalError
from shoal.plan import Plan
from shoal.release.hooks import Hooks


@pytest.mark.long
def test_files_are_written_audited_and_moved(spark, parquet, made, tmp_path):
    target = tmp_path / "out.parquet"
    documents = {name: tmp_path / f"out.{name}" for name in ("certificate", "record", "report")}
    job = job_for(parquet, target, **documents)
    release = spark_run.run(job, Hooks(), session=spark, block_records=120, rounds=2)
    assert rows_of(release.table).equals(rows_of(made.table))
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"out.parquet", "out.certificate", "out.record", "out.report"}
    assert oct(documents["record"].stat().st_mode)[-3:] == "600"
    read = pq.read_table(target)
    assert shoal.verify(read, QIS, 3)
    assert json.loads(documents["certificate"].read_text())["rows"] == N
    with pytest.raises(ShoalError, match=r"out\.parquet exists already"):
        spark_run.run(job_for(parquet, target), Hooks(), session=spark)


def test_a_release_that_fails_its_audit_is_not_moved(spark, parquet, tmp_path, monkeypatch):
    finished = spark_tasks.finished

    def careless(batches, *rest):
        """Publish one age as it was."""
        import pyarrow as pa

        for batch in finished(batches, *rest):
            ages = batch.column(0).to_pylist()
            ages[0] = 17
            columns = [pa.array(ages, batch.column(0).type), *batch.columns[1:]]
            yield pa.RecordBatch.from_arrays(columns, batch.schema.names)

    steps = {"sent": spark_tasks.sent, "carried": spark_tasks.carried, "finished": careless}
    monkeypatch.setattr(spark_job, "spark_tasks", SimpleNamespace(**steps))
    job = job_for(parquet, tmp_path / "out.parquet", certificate=tmp_path / "certificate")
    with pytest.raises(DisclosureError, match="must hide every record among 3") as error:
        spark_run.run(job, Hooks(), session=spark, block_records=400, rounds=0)
    assert "17" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_runs_on_spark(spark, parquet, tmp_path, capsys):
    from shoal.cli import main

    target = tmp_path / "out.parquet"
    roles = ["--qi", "age,income", "--sensitive", "ill", "--rest", "drop"]
    command = ["anonymize", str(parquet), "-k", "3", *roles, "--engine", "spark", "--master", "local[2]"]
    with pytest.raises(SystemExit) as end:
        main([*command, "-o", f"{target}/"])
    assert end.value.code == 0, capsys.readouterr()
    said = capsys.readouterr().out
    assert "3 wanted, 3 held" in said
    assert {path.name for path in tmp_path.iterdir()} == {
        "out.parquet", "out.parquet.manifest.json", "out.parquet.record.json",
    }  # fmt: skip
    with pytest.raises(SystemExit) as end:
        main(["verify", str(target), "--certificate", str(tmp_path / "out.parquet.manifest.json")])
    assert end.value.code == 0
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main([*command, "-o", str(target)])
    assert end.value.code == 2
    assert "exists already" in capsys.readouterr().err


AWKWARD = ["a,b", 'say "no"', "two\nlines", " blank ", "", "ü", "'x'", "\\", "a\\", None]


def test_csv_files_stay_text(spark, tmp_path):
    n = 60
    rows = pa.table(
        {
            "age": [str(20 + row % 30) for row in range(n)],
            "size.cm": [f"{150 + row / 10:.1f}" for row in range(n)],
            "note": [AWKWARD[row % len(AWKWARD)] for row in range(n)],
        }
    )
    shoal.io.write(rows, tmp_path / "in.csv")
    plan = Plan(k=3, quasi_identifiers=["age", "size.cm"], other=["note"])
    job = job_for(tmp_path / "in.csv", tmp_path / "out.csv", plan)
    release = spark_run.run(job, Hooks(), session=spark, rounds=0)
    read = release.table.toArrow()
    assert sorted(map(str, read["note"].to_pylist())) == sorted(map(str, rows["note"].to_pylist()))
    parts = [shoal.io.read(path).table for path in sorted((tmp_path / "out.csv").glob("*.csv"))]
    whole = pa.concat_tables(part for part in parts if part.num_rows)
    assert sorted(map(str, whole["note"].to_pylist())) == sorted(map(str, rows["note"].to_pylist()))
    assert all(text.count(".") == 1 for text in whole["size.cm"].to_pylist())
    assert shoal.verify(whole, ["age", "size.cm"], 3, text=True)
    # As shoal verify reads the folder.
    batches = open_published(tmp_path / "out.csv", {"header": True}, 10**9)
    assert batches.text
    audit = verify_batches(batches, ["age", "size.cm"], 3, memory=10**9)
    assert (audit.k, audit.rows, dict(audit.sizes)) == (release.audit.k, n, dict(release.audit.sizes))


def test_a_row_that_is_too_long_is_refused(spark, tmp_path):
    (tmp_path / "in.csv").write_text("a,b\n" + "1,2\n" * 20 + "1,secret,3\n")
    job = job_for(tmp_path / "in.csv", tmp_path / "out.csv", Plan(k=3))
    with pytest.raises(DataError, match="as many fields as its header") as error:
        spark_run.run(job, Hooks(), session=spark)
    assert "secret" not in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


# --- what is refused ---


def session_at(master):
    """Return what stands for a session where only its master is asked for."""
    return SimpleNamespace(sparkContext=SimpleNamespace(master=master))


def test_places_that_cannot_hold_a_release_are_refused(tmp_path):
    """Without any job, and without what Java says of them."""
    session, source = session_at("local[2]"), SimpleNamespace(format="parquet")
    job = job_for(tmp_path / "in.parquet", "s3a://bucket/out.parquet")
    with pytest.raises(OptionError, match=r"gets its name in one step\. Got s3a://"):
        spark_run._check_targets(session, job, source, Folder(session, job.output), "parquet")
    assert {Folder(session, f"file:{slashes}x/y").address for slashes in ("/", "///")} == {"file:///x/y"}
    staging = Folder(session, tmp_path / "nowhere" / "out.parquet").staging()
    with (
        pytest.raises(ShoalError, match=r"place of out\.parquet must be .* Got an error: No such file or directory"),
        staging,
    ):
        pass
    with pytest.raises(ShoalError, match=r"place of out\.parquet must be one that can be reached"):
        Folder(session, "hdfs://nowhere/out.parquet").exists()
    assert list(tmp_path.iterdir()) == []


def killed_while_staging(output, how="before its audit"):
    done = subprocess.run([sys.executable, Path(__file__).with_name("staging_process.py"), output, how], check=False)
    assert done.returncode == -signal.SIGKILL


def test_what_a_killed_run_has_staged_goes_with_the_next_one(tmp_path, monkeypatch):
    """Staging folders of live runs stay, and so do those of others."""
    target = Folder(session_at("local[2]"), tmp_path / "out.parquet")
    killed_while_staging(tmp_path / "out.parquet")
    killed_while_staging(tmp_path / "other.csv")
    left = sorted(path.name.rpartition("-")[0] for path in tmp_path.iterdir())
    assert left == ["_shoal-other.csv", "_shoal-out.parquet"]
    assert {oct(path.stat().st_mode)[-3:] for path in tmp_path.iterdir()} == {"700"}
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: 12345)
        target.sweep()
    assert len(list(tmp_path.iterdir())) == 2
    with target.staging() as live:
        assert oct(os.stat(live.path).st_mode)[-3:] == "700"
        target.sweep()
        assert [str(path) for path in tmp_path.iterdir()] == [live.path]
    assert list(tmp_path.iterdir()) == []


def test_a_release_whose_successor_did_not_get_there_has_its_name_again(tmp_path):
    """Whether the run was killed between the two steps, or the second of them failed."""
    target = Folder(session_at("local[2]"), tmp_path / "out.parquet")
    (tmp_path / "out.parquet").mkdir()
    (tmp_path / "out.parquet" / "part").write_text("the earlier release")
    killed_while_staging(tmp_path / "out.parquet", "while it is moved")
    assert not target.exists()
    target.sweep()
    assert (tmp_path / "out.parquet" / "part").read_text() == "the earlier release"
    with pytest.raises(ShoalError, match=r"place of out\.parquet"), target.staging() as staging:
        staging.within("nothing").move(target, force=True)
    assert (tmp_path / "out.parquet" / "part").read_text() == "the earlier release"
    with target.staging() as staging:
        os.mkdir(staging.within("table").path)
        staging.within("table").move(target, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]
    assert os.listdir(target.path) == []


KILLED = """
import os, signal, sys
from shoal.engines import spark_run
from shoal.plan import Plan
from shoal.release.hooks import Hooks
from shoal.release.job import Job
if __name__ == "__main__":
    spark_run._audited = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    plan = Plan.model_validate_json(sys.argv[1]).model_copy(update={"master": "local[2]"})
    spark_run.run(Job(plan, sys.argv[2], sys.argv[3]), Hooks(), rounds=0)
"""


@pytest.mark.long
def test_a_driver_that_is_killed_leaves_nothing_to_the_next_run(spark, parquet, tmp_path):
    script, target = tmp_path / "killed.py", tmp_path / "folder" / "out.parquet"
    script.write_text(KILLED)
    target.parent.mkdir()
    command = [sys.executable, script, PLAN.model_dump_json(), parquet, target]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == -signal.SIGKILL, done.stderr[-3000:]
    (left,) = target.parent.iterdir()
    assert left.name.startswith("_shoal-out.parquet-")
    assert list((left / "table").glob("*.parquet"))
    spark_run.run(job_for(parquet, target), Hooks(), session=spark, rounds=0)
    assert [path.name for path in target.parent.iterdir()] == ["out.parquet"]


OUT_OF_MEMORY = """
import sys
from pyspark import SparkContext
from shoal.engines import spark_run
from shoal.errors import ShoalError
from shoal.plan import Plan
from shoal.release.hooks import Hooks
from shoal.release.job import Job
def taking_all(*_):
    SparkContext._gateway.new_array(SparkContext._jvm.byte, 2_000_000_000)
if __name__ == "__main__":
    spark_run._audited = taking_all
    plan = Plan.model_validate_json(sys.argv[1]).model_copy(update={"master": "local[2]"})
    try:
        spark_run.run(Job(plan, sys.argv[2], sys.argv[3]), Hooks(), rounds=0)
    except ShoalError as error:
        sys.exit(f"refused: {error}")
"""


@pytest.mark.long
def test_a_driver_out_of_memory_is_told_and_publishes_nothing(spark, parquet, tmp_path):
    """Java would go on without the thread that ran out of memory, and Python wait for it for ever."""
    script, target = tmp_path / "large.py", tmp_path / "folder" / "out.parquet"
    script.write_text(OUT_OF_MEMORY)
    target.parent.mkdir()
    command = [sys.executable, script, PLAN.model_dump_json(), parquet, target]
    small = os.environ | {"SHOAL_SPARK_DRIVER_MEMORY": "600m"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE, env=small)
    assert done.returncode == 1, done.stderr[-3000:]
    said = done.stderr[done.stderr.index("refused: ") :]
    assert "its driver, a process of Java, has ended. Nothing was published." in said
    assert "SHOAL_SPARK_DRIVER_MEMORY" in said
    assert list(target.parent.iterdir()) == []


def test_a_release_in_its_place_is_not_said_to_be_unpublished(spark, parquet, tmp_path, monkeypatch):
    def lost(*_):
        raise ConnectionRefusedError

    monkeypatch.setattr(spark_run, "_table_of", lost)
    target = tmp_path / "folder" / "out.parquet"
    target.parent.mkdir()
    with pytest.raises(ShoalError, match=r"where the release is now.*documents were not written") as caught:
        spark_run.run(job_for(parquet, target), Hooks(), session=spark, rounds=0)
    assert "Nothing was published" not in str(caught.value)
    assert [path.name for path in target.parent.iterdir()] == ["out.parquet"]


@pytest.mark.parametrize("session_says", ["true", pytest.param("false", marks=pytest.mark.long)])
def test_a_torn_row_group_is_refused(spark, table, tmp_path, session_says):
    """Also where its bytes can be read, and where the session is one that leaves broken files out."""
    path = tmp_path / "in.parquet"
    pq.write_table(table, path, row_group_size=100, compression="none", use_dictionary=False, write_page_checksum=True)
    where = pq.ParquetFile(path).metadata.row_group(4).column(table.column_names.index("income"))
    content = bytearray(path.read_bytes())
    end = where.data_page_offset + where.total_compressed_size
    content[end - 80 : end] = bytes(80)
    path.write_bytes(content)
    (tmp_path / "folder").mkdir()
    with (
        spark_session.set_for(spark, {"spark.sql.files.ignoreCorruptFiles": session_says}),
        pytest.raises(ShoalError, match=r"Got an error: a file that is damaged.*Nothing was published.*copy the input"),
    ):
        spark_run.run(job_for(path, tmp_path / "folder" / "out.parquet"), Hooks(), session=spark, rounds=0)
    assert list((tmp_path / "folder").iterdir()) == []


@pytest.mark.long
def test_a_full_disk_is_refused(spark, parquet, small_disk):
    for size in (4, 16):  # kilobytes
        subprocess.run(["mount", "-o", f"remount,size={size}k", small_disk], check=True)
        job = job_for(parquet, small_disk / "out.parquet", certificate=small_disk / "certificate")
        with pytest.raises(ShoalError, match=r"Got an error: a full disk\. Nothing was published.*free some space"):
            spark_run.run(job, Hooks(), session=spark, rounds=0)
        assert list(small_disk.iterdir()) == []
