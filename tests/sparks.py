"""A real local Spark for the tests: one session, which ends with them."""

import importlib.util
import os
import shutil
import sys

import pytest


def why_not():
    """Return why there can be no Spark on this machine, None if there can be one."""
    if importlib.util.find_spec("pyspark") is None:
        return "no PySpark on this machine: pip install 'shoal[spark]'"
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and os.access(f"{home}/bin/java", os.X_OK)):
        return "no Java on this machine: .ci/java installs one"
    return None


@pytest.fixture(scope="session")
def spark():
    """Return a session of a local Spark with two workers, which tries a task again if its worker dies."""
    reason = why_not()
    if reason is not None:
        if os.environ.get("SHOAL_TEST_SPARK") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from shoal.engines import spark_session

    # Small queries take longer to compile than to interpret.
    quick = {
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
    }
    before = dict(spark_session.OWN)
    spark_session.OWN.update(quick)
    try:
        with spark_session.opened("local[2]") as session:
            yield session
    finally:
        spark_session.OWN.clear()
        spark_session.OWN.update(before)
