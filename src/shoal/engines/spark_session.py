"""Sessions of Spark: how they are opened, what they must have, and settings that hold for one job only."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from shoal.engines.spark_errors import tidying
from shoal.engines.spill import PREFIX, spill_parent, spilling
from shoal.errors import OptionError
from shoal.io.private import made_folder, ours, remove_folder, sweep

# The first version with groups in Arrow by batches, and with partitions that are chosen by their number.
OLDEST = (4, 1)
# How often a task is tried: a local Spark gives up after the first time unless it is told otherwise.
TRIALS = 4
LOCAL = re.compile(r"local(\[(\*|\d+)(, *\d+)?\])?")
# What is set while a job runs. Adaptive execution would put the blocks of several tasks into one, and would split what
# belongs together; batches of Arrow are held by Python and by Java at the same time.
OF_JOBS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
}
# What a session of our own has besides.
OWN = {
    "spark.app.name": "shoal",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "32",
    "spark.sql.debug.maxToStringFields": "1",  # plans in messages and logs name few columns
}
LOGGING = "spark-log4j2.properties"


def needed() -> Any:
    """Return the package pyspark, or refuse."""
    from shoal.io.formats import needed as needed_package
    from shoal.io.lean import do_with_pandas

    do_with_pandas()
    with without_warnings():
        pyspark: Any = needed_package("pyspark", "spark", "Spark")
    if tuple(int(part) for part in pyspark.__version__.split(".")[:2]) < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise OptionError(
            f"Spark must be of version {wanted} or later. Got {pyspark.__version__}.",
            hint="pip install 'shoal[spark]'.",
        )
    return pyspark


@contextmanager
def without_warnings() -> Iterator[None]:
    """Silence what PySpark says of pandas, which none of our functions uses."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        yield


@contextmanager
def opened(master: str | None) -> Iterator[Any]:
    """Yield a session: of a local Spark, a cluster or a server (sc://..); one that is opened here ends here.

    Without a master, it is the session that runs, or that of a local Spark. A session that runs at another is refused.
    """
    needed()
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        if master is not None and not is_remote(running):
            _refuse_other(str(running.sparkContext.master), master)
        yield running
        return
    master = master or "local[*]"
    connect = master.startswith("sc://")
    if not connect and shutil.which("java", path=_java_path()) is None:
        raise OptionError(
            "Spark needs Java 17 or later, which was not found.", hint="install it, or set JAVA_HOME to its folder."
        )
    if LOCAL.fullmatch(master):
        # Workers start the first python3 of the path otherwise, which may be another than this one.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder
    if LOCAL.fullmatch(master):
        builder = builder.config("spark.local.dir", str(scratch()))
    for name, value in (OWN if not connect else {}).items():
        builder = builder.config(name, value)
    if not connect:
        quiet = f"-Dlog4j2.configurationFile={(Path(__file__).parent / LOGGING).as_uri()}"
        # Java would go on without the thread that ran out of memory, and Python wait for it for ever.
        builder = builder.config("spark.driver.extraJavaOptions", f"{quiet} -XX:+ExitOnOutOfMemoryError")
        builder = builder.config("spark.driver.memory", os.environ.get("SHOAL_SPARK_DRIVER_MEMORY", "2g"))
    try:
        with without_warnings():
            made = (builder.remote(master) if connect else builder.master(with_trials(master))).getOrCreate()
    except Exception as error:
        raise OptionError(
            f"A session of Spark must be opened at {shown(master)}. Got {type(error).__name__}.",
            hint="look at 'master', and whether the cluster can be reached from here.",
        ) from None
    try:
        yield made
    finally:
        with tidying():
            made.stop()


def _refuse_other(running: str, master: str) -> None:
    if running not in (master, with_trials(master)):
        raise OptionError(
            f"The master must be that of the session of Spark that runs already, {shown(running)}. Got "
            f"{shown(master)}.",
            hint="leave it out, or stop that session.",
        )


@cache
def scratch() -> Path:
    """Return the folder in which a local Spark of this process keeps rows on their way from task to task.

    Spark would let others read them, and keeps to the folder of its first session. It goes with the process; what a
    killed one leaves is removed by the next.
    """
    parent = spill_parent()
    with spilling(parent):
        sweep(parent, PREFIX)
        folder, _ = made_folder(parent, PREFIX)  # its lock is held as long as this process lives
    ours.add(folder)
    atexit.register(remove_folder, folder)
    return folder


def with_trials(master: str) -> str:
    """Return the address of a local Spark that tries a task again if its worker dies; all others as they are."""
    found = LOCAL.fullmatch(master)
    return master if found is None or found[3] else f"local[{found[2] or 1},{TRIALS}]"


def shown(master: str) -> str:
    """Return an address without what may be a password or a token."""
    return re.sub(r"[;?].*", "", re.sub(r"//[^/@]*@", "//", master))


def _java_path() -> str:
    home = os.environ.get("JAVA_HOME")
    path = os.environ.get("PATH", os.defpath)
    return path if not home else f"{Path(home) / 'bin'}{os.pathsep}{path}"


def is_remote(session: Any) -> bool:
    """Return whether a session is one of Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect")


@contextmanager
def set_for(session: Any, settings: Mapping[str, str] = OF_JOBS) -> Iterator[None]:
    """Change settings of a session, and give them their old values afterwards."""
    before = {name: session.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            session.conf.set(name, value)
        with without_warnings():
            yield
    finally:
        with tidying():
            for name, old in before.items():
                if old is None:
                    session.conf.unset(name)
                else:
                    session.conf.set(name, old)
