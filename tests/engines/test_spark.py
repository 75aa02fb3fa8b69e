"""Spark: the same groups whatever the partitions, and what is refused."""

import logging
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from in_parts import recomputed, shown
from in_pieces import people
from on_spark import HOW, PLAN, QIS, N, job_for, rows_of

import shoal
from clocks import PATIENCE
from shoal.engines import spark_audit, spark_errors, spark_frames, spark_job, spark_run, spark_session, spark_tasks
from shoal.engines.spark_run import How, release_of
from shoal.errors import DataError, OptionError, ShoalError
from shoal.plan import Plan
from shoal.privacy.whole import Whole
from shoal.release.hooks import Hooks


def test_the_release_is_verified_and_complete(made, table):
    published = rows_of(made.table)
    assert published.column_names == ["age", "income", "weight", "job", "day", "ill", "region"]
    assert published.num_rows == N
    assert sorted(published.column("ill").to_pylist()) == sorted(table.column("ill").to_pylist())
    plain = shoal.verify(published, QIS, 3)
    assert plain
    assert (plain.k, plain.classes, dict(plain.sizes)) == (made.audit.k, made.audit.classes, dict(made.audit.sizes))
    assert plain.k == 3
    assert shoal.verify(published, published.column_names).k == made.whole.k
    # Missing values stay with their groups.
    assert made.missing["weight"] == table.column("weight").null_count > 0
    # Blocks of 120 records of seven hundred, in two strata.
    assert 0 < made.loss < 0.6
    assert made.certificate["k"]["held"] == 3
    assert made.record["rows"]["in"] == N
    assert "<html" in made.report()


def test_the_report_shows_distributions_and_correlations(made):
    evidence = made.evidence
    assert tuple(one.name for one in evidence.distributions) == PLAN.quasi_identifiers
    assert made.losses.most > 0
    assert any(evidence.distributions[0].before)
    assert "Correlations before and after" in made.report()


@pytest.mark.parametrize("partitions", [7, pytest.param(64, marks=pytest.mark.long)])
def test_groups_do_not_depend_on_partitions(spark, parquet, made, partitions):
    again = release_of(spark.read.parquet(str(parquet)).repartition(partitions), PLAN, HOW)
    assert rows_of(again.table).equals(rows_of(made.table))
    assert again.loss == pytest.approx(made.loss, rel=1e-12)
    assert again.comparison == made.comparison


def deadly(place, name, folder):
    """Return a function of tasks whose worker is killed the first time it is called."""
    function, marker = getattr(place, name), str(folder / name)

    def wrapped(batches, *rest):
        if not os.path.exists(marker):
            open(marker, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return function(batches, *rest)

    return wrapped


def test_a_task_whose_worker_is_killed_gives_the_same(spark, parquet, made, tmp_path, monkeypatch):
    """A worker dies in every phase: the survey, the merging of what was found, and each step of the grouping."""
    for name in ("added", "merged"):
        monkeypatch.setattr(spark_frames, name, deadly(spark_frames, name, tmp_path))
    steps = {name: deadly(spark_tasks, name, tmp_path) for name in ("sent", "carried", "finished")}
    monkeypatch.setattr(spark_job, "spark_tasks", SimpleNamespace(**steps))
    again = release_of(spark.read.parquet(str(parquet)), PLAN, HOW)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["added", "carried", "finished", "merged", "sent"]
    assert rows_of(again.table).equals(rows_of(made.table))


@pytest.mark.long
def test_models_hold_with_the_distribution_of_the_whole_table(spark, parquet, tmp_path, monkeypatch):
    """Also if a worker is killed while it audits them."""
    monkeypatch.setattr(spark_audit, "partly_audited", deadly(spark_audit, "partly_audited", tmp_path))
    plan = PLAN.model_copy(update={"l": 2, "t": 0.45, "stratum": ()})
    release = release_of(spark.read.parquet(str(parquet)), plan, HOW)
    published = rows_of(release.table)
    plain = shoal.verify(published, PLAN.quasi_identifiers, 3, sensitive_attributes=["ill"], l=2, t=0.45)
    assert plain
    assert [path.name for path in tmp_path.iterdir()] == ["partly_audited"]
    assert [one.held for one in plain.models] == pytest.approx([one.held for one in release.audit.models])
    assert release.blocks[0].columns == PLAN.quasi_identifiers
    assert [one["model"] for one in release.certificate["models"]] == [str(one.model) for one in plain.models]


def test_units_are_counted(spark):
    table = people(300)
    units = pa.array([f"house {row // 3}" for row in range(300)])
    frame = spark.createDataFrame(table.select(["age", "income"]).append_column("home", units))
    release = release_of(
        frame, Plan(k=3, unit="home", quasi_identifiers=["age", "income"]), How(block_records=100, rounds=1)
    )
    assert release.table.columns == ["age", "income"]
    assert release.audit.k_units >= 3
    assert release.k == release.audit.k_units
    assert shoal.verify(release.table.toArrow(), ["age", "income"]).k >= 3


@pytest.mark.long
def test_equal_rows_that_no_cut_parts_are_dealt_out(spark, monkeypatch):
    """A block of a thousand equal rows, with some others that the sample has not seen; whatever the partitions."""
    from shoal.engines.sample import Sample

    rng = np.random.default_rng(5)
    equal = pa.table({"a": np.full(1000, 0.1), "b": np.full(1000, 1.7), "note": [f"x{at % 50}" for at in range(1000)]})
    near = 0.1 + 1e-4 * rng.normal(size=40)
    close = pa.table({"a": near, "b": near + 1.6, "note": ["z"] * 40})
    others = pa.table({"a": rng.normal(size=300), "b": rng.normal(size=300), "note": ["y"] * 300})
    frame = spark.createDataFrame(pa.concat_tables([equal, close, others]))
    plan = Plan(k=2, quasi_identifiers=["a", "b"], other=["note"], method="mdav")
    monkeypatch.setattr(spark_job, "Sample", lambda: Sample(60))
    found, shown_of = [], []
    for partitions in (1, 9):
        release = release_of(frame.repartition(partitions), plan, How(block_records=200, rounds=1))
        found.append(rows_of(release.table))
        shown_of.append(release.comparison)
    assert shown_of[0] == shown_of[1]
    assert shown_of[0].distributions[0].after
    assert found[0].equals(found[1])
    published = found[0]
    assert published.num_rows == 1340
    same = published.filter(
        pa.compute.and_(pa.compute.equal(published["a"], 0.1), pa.compute.equal(published["b"], 1.7))
    )
    assert same.num_rows >= 1000
    assert sorted(same["note"].to_pylist())[:1000] == sorted(equal["note"].to_pylist())
    assert shoal.verify(published, ["a", "b"], 2)


def test_zero_and_minus_zero_are_told_apart(spark):
    frame = spark.createDataFrame(
        [(0.0, "a.b"), (-0.0, "a.b"), (0.0, "a.b"), (None, "c"), (None, "c")], "x double, `y.z` string"
    )
    found = spark_run.spark_audit.counted(frame, ["x", "y.z"], 2)
    assert dict(found.sizes) == {1: 1, 2: 2}
    assert (found.classes_below, found.rows_below) == (1, 1)


def test_what_holds_for_all_columns_is_the_same_if_all_are_grouped_on(spark):
    """It is known then, and not counted again."""
    frame = spark.createDataFrame([(1, "a"), (1, "a"), (1, "b"), (2, "c"), (2, "c"), (2, "c")], "x int, y string")
    both = spark_audit.audited(frame, Plan(k=2), ["y", "x"])
    one = spark_audit.audited(frame, Plan(k=2), ["x"])
    assert both.whole == one.whole == Whole(columns=2, k=1, unique=1)


def test_texts_that_a_collation_has_equal_are_told_apart(spark):
    """Spark's own groups would be larger than those that a reader sees."""
    frame = spark.createDataFrame([("a",), ("A",), ("A",)], "x string").selectExpr("x collate UTF8_LCASE as x")
    assert frame.groupBy("x").count().count() == 1
    assert dict(spark_audit.counted(frame, ["x"], 2).sizes) == {1: 1, 2: 1}


# --- files ---


def test_stream_gives_the_same_groups(spark, made, table, tmp_path):
    """If its rows come in the order in which Spark's are taken."""
    from shoal.engines import stream
    from shoal.engines.hashing import row_hashes

    names = ["age", "income", "weight", "job", "day", "ill", "region"]
    own = table.select(names)
    order = np.argsort(row_hashes(own, names).view(np.int64), kind="stable")
    pq.write_table(own.take(pa.array(order)), tmp_path / "in.parquet")
    plan = PLAN.model_copy(update={"engine": "stream", "memory": "2GB"})
    job = job_for(tmp_path / "in.parquet", tmp_path / "out.parquet", plan)
    streamed = stream.run(job, Hooks(), block_records=120, rounds=2)
    published = pq.read_table(tmp_path / "out.parquet")
    assert published.sort_by([(name, "ascending") for name in names]).equals(rows_of(made.table))
    assert streamed.loss == pytest.approx(made.loss, rel=1e-12)
    assert streamed.evidence == made.evidence
    assert shown(made.evidence) == shown(recomputed(own.take(pa.array(order)), streamed, published))


def test_rows_between_tasks_lie_where_nobody_else_can_read_them(spark, made):
    folder = Path(spark.conf.get("spark.local.dir"))
    assert folder == spark_session.scratch()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    # Spark has put its folders there, and nowhere else.
    assert any(name.startswith("blockmgr-") for name in os.listdir(folder))
    gone = "from shoal.engines.spark_session import scratch; print(scratch())"
    done = subprocess.run([sys.executable, "-c", gone], capture_output=True, text=True, check=True)
    other = Path(done.stdout.strip())
    assert other.parent == folder.parent
    assert not other.exists()
    assert folder.exists()


def test_what_cannot_be_done_is_refused_before_any_job(spark, parquet, tmp_path, monkeypatch):
    frame = spark.read.parquet(str(parquet))
    monkeypatch.setattr(spark_run, "make_ready", lambda *_: pytest.fail("workers were asked"))
    with pytest.raises(OptionError, match="'suppress'"):
        release_of(frame, PLAN.model_copy(update={"suppress": 0.1}))
    with pytest.raises(DataError, match=r"The column 'gap' holds list"):
        release_of(frame.selectExpr("age", "array(age) as gap"), Plan(k=3, quasi_identifiers=["age", "gap"]))
    with pytest.raises(OptionError, match="engine='stream'"):
        release_of(frame, PLAN.model_copy(update={"engine": "stream"}))
    with pytest.raises(OptionError, match="'memory'"):
        release_of(frame, PLAN.model_copy(update={"memory": "2GB"}))
    with pytest.raises(DataError, match=r"must be a data frame of Spark\. Got Table"):
        release_of(pa.table({"age": [1, 2, 3]}), Plan(k=3))
    with pytest.raises(DataError, match=r"different names\. Got 'age' twice"):
        release_of(frame.select("age", "age"), Plan(k=3))
    with pytest.raises(DataError, match=r"different names\. Got 'AGE' twice"):
        release_of(frame.selectExpr("age", "age as AGE"), Plan(k=3))
    with pytest.raises(DataError, match=r"types that Arrow can hold\. Got interval year to month in 'gap'"):
        release_of(frame.selectExpr("age", "make_ym_interval(1, 1) as gap"), Plan(k=3))
    with pytest.raises(OptionError, match=r"must have the format of the input, parquet\. Got csv"):
        spark_run.run(job_for(parquet, tmp_path / "out.csv"), Hooks(), session=spark)
    with pytest.raises(OptionError, match="must not overwrite the input"):
        spark_run.run(job_for(parquet, parquet, force=True), Hooks(), session=spark)
    with pytest.raises(OptionError, match="must not overwrite the input"):
        spark_run.run(
            job_for(parquet, tmp_path / "out.parquet", certificate=parquet, force=True), Hooks(), session=spark
        )
    with pytest.raises(ShoalError, match=r"no file or folder nowhere\.parquet"):
        spark_run.run(job_for(tmp_path / "nowhere.parquet", tmp_path / "out.parquet"), Hooks(), session=spark)


def test_what_spark_says_of_values_is_told_nowhere(spark, caplog):
    """A value of a data frame that cannot be computed; PySpark logs such errors by itself, with pages of Java."""
    from pyspark.logger import PySparkLogger

    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    logging.Logger.addHandler(logger, caplog.handler)
    frame = spark.createDataFrame([("4711x",)], "x string").selectExpr("cast(x as int) as x")
    try:
        with pytest.raises(ShoalError, match=r"Got an error: CAST_INVALID") as error:
            spark_frames.found(spark_frames.Frame(frame), spark_tasks.Checksum(), ["x"])
        assert "4711" not in f"{error.value} {error.value.__cause__}"
        assert caplog.text == ""
        with pytest.raises(Exception, match="4711x"):
            frame.collect()
        assert "4711x" in caplog.text  # as it would have been
    finally:
        logger.removeHandler(caplog.handler)
    # Neither does Java, of the sessions that Shoal opens.
    log = spark._jvm.org.apache.logging.log4j.LogManager
    for name in ("", "org.apache.spark.executor.Executor", "org.apache.spark.scheduler.TaskSetManager"):
        assert log.getLogger(name).getLevel().toString() == "OFF"


def test_workers_without_shoal_are_told_what_to_set(spark, monkeypatch):
    """Their first python3 is another one."""
    other = ModuleNotFoundError("No module named 'shoal'")

    def unknown(batches, *rest):
        raise RuntimeError(f"{type(other).__name__}: {other}")

    monkeypatch.setattr(spark_frames, "added", unknown)
    with pytest.raises(ShoalError, match=r"set PYSPARK_PYTHON to an environment with Shoal"):
        spark_frames.found(spark_frames.Frame(spark.range(3)), spark_tasks.Checksum(), ["id"])


def test_a_session_that_runs_elsewhere_is_not_taken_for_the_master(spark):
    with (
        pytest.raises(OptionError, match=r"runs already, local\[2,4\]\. Got local\[3\]"),
        spark_session.opened("local[3]"),
    ):
        pass
    for master in (None, "local[2]", "local[2,4]"):
        with spark_session.opened(master) as session:
            assert session is spark


def test_a_local_spark_tries_tasks_again_unless_it_is_told_how_often():
    addresses = ("local", "local[3]", "local[*]", "local[3,1]", "yarn", "spark://host:7077")
    tried = [spark_session.with_trials(address) for address in addresses]
    assert tried == ["local[1,4]", "local[3,4]", "local[*,4]", "local[3,1]", "yarn", "spark://host:7077"]


def test_workers_with_another_version_are_refused(spark, parquet, monkeypatch):
    monkeypatch.setattr(shoal, "__version__", "99.0")
    with pytest.raises(OptionError, match=r"must have Python .* and Shoal 99\.0, as the driver has\. Got Python"):
        release_of(spark.read.parquet(str(parquet)), PLAN, HOW)


def test_a_data_frame_that_changes_is_noticed(spark):
    def at_random(batches):
        for batch in batches:
            yield pa.RecordBatch.from_arrays([pa.array(np.random.default_rng().random(batch.num_rows))], ["x"])

    frame = spark.range(400).mapInArrow(at_random, "x double")
    with pytest.raises(DataError, match=r"must give the same rows each time|must stay as it is"):
        release_of(frame, Plan(k=3, quasi_identifiers=["x"]), How(rounds=0))


CONNECT = """
import sys
from shoal.engines.spark_run import How, release_of
from shoal.engines.spark_session import needed
from shoal.plan import Plan
from shoal.privacy.whole import Whole
needed()
from pyspark.sql import SparkSession
if __name__ == "__main__":
    quiet = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.sql.codegen.wholeStage": "false"}
    builder = SparkSession.builder.remote("local[2]")
    for name, value in quiet.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    frame = session.read.parquet(sys.argv[1])
    release = release_of(frame, Plan.model_validate_json(sys.argv[2]), How(block_records=120, rounds=2))
    import pyarrow.parquet as pq
    pq.write_table(release.table.toArrow(), sys.argv[3])
    session.stop()
"""


@pytest.mark.long
def test_spark_connect_gives_the_same(spark, parquet, made, tmp_path):
    script = tmp_path / "connect.py"
    script.write_text(CONNECT)
    out = tmp_path / "out.parquet"
    command = [sys.executable, script, parquet, PLAN.model_dump_json(), out]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE, env=dict(os.environ))
    assert done.returncode == 0, done.stderr[-3000:]
    table = pq.read_table(out)
    assert table.sort_by([(name, "ascending") for name in table.column_names]).equals(rows_of(made.table))


@pytest.mark.long
def test_a_million_equal_rows(spark):
    from pyspark.sql import functions as F

    frame = spark.range(1_000_000).select(F.lit(3.5).alias("a"), F.lit(1).alias("b"))
    release = release_of(frame, Plan(k=5))
    assert dict(release.audit.sizes) == {1_000_000: 1}
    assert release.loss == 0


def test_a_closed_pipe_is_not_taken_for_a_driver_that_has_ended(spark):
    """Whoever is told the progress may have gone; and a driver that answers has not."""
    with pytest.raises(BrokenPipeError), spark_errors.told():
        raise BrokenPipeError
    assert not spark_errors.is_gone(ValueError("Answer from Java side is empty"))
