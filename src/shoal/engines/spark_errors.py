"""Errors of tasks on their way to the driver: ours keep their words, all others lose theirs, which may hold values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from subprocess import TimeoutExpired
from typing import Any, TypeVar

from shoal import errors
from shoal.errors import DataError, ShoalError

# Where PySpark writes errors, with the values that they quote and all that Java says, before it raises them.
LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
# What is said where workers start an interpreter without PySpark's needs, or without Shoal.
OTHER_PYTHON = re.compile(r"ModuleNotFoundError|PYTHON_VERSION_MISMATCH|Cannot run program")
# What Java and the system say of a disk without room, and of a file that is not whole.
FULL = re.compile(r"No space left on device|Disk quota exceeded")
BROKEN = re.compile(r"FAILED_READ_FILE|CANNOT_READ_FILE_FOOTER|is not a Parquet file")
# Begins and ends the words of an error in what Spark makes of it: no message of ours has these.
BEGIN, END = "<<shoal-error ", " shoal-error>>"
# What Spark says of rows of CSV that are longer or shorter than the header; it goes on to quote them.
BAD_ROWS = re.compile(r"MALFORMED_(RECORD_IN_PARSING|CSV_RECORD)")
# Seconds in which a Java process ends that no longer answers.
ENDING = 10.0
SAID = re.compile(f"{re.escape(BEGIN)}(.*?){re.escape(END)}", re.DOTALL)

F = TypeVar("F", bound=Callable[..., Any])


class TaskError(RuntimeError):
    """An error of a task, with words that may be told and nothing else."""


@contextmanager
def guarded() -> Iterator[None]:
    """Let no error out that may quote a value: Spark writes what tasks raise into its logs."""
    try:
        yield
    except ShoalError as error:
        raise TaskError(_packed(error)) from None
    except Exception as error:  # a defect, or memory that ran out: its kind may be told, and where it was raised
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        at = "" if trace is None else f" in {trace.tb_frame.f_code.co_name}, line {trace.tb_lineno}"
        raise TaskError(f"{type(error).__name__}{at}") from None


def _packed(error: ShoalError) -> str:
    said = {"class": type(error).__name__, "message": str(error), "hint": error.hint}
    return f"{BEGIN}{json.dumps(said)}{END}"


def quiet(function: F) -> F:
    """Guard a function of tasks that yields what it makes, or returns it."""

    @wraps(function)
    def yielding(*args: Any, **options: Any) -> Any:
        with guarded():
            yield from function(*args, **options)

    return yielding  # type: ignore[return-value]


@contextmanager
def told() -> Iterator[None]:
    """Raise errors of tasks as what they were; whatever else Spark raises becomes one sentence, and is not logged."""
    with _unlogged():
        try:
            yield
        except (ShoalError, KeyboardInterrupt):
            raise
        except Exception as error:
            raise _unpacked(error) from None


def is_gone(error: Exception) -> bool:
    """Return whether an error comes from a session whose Java process has ended."""
    from pyspark import SparkContext

    kind = type(error).__name__ if type(error).__module__.startswith("py4j") else ""
    # Not all errors of connections: a closed pipe may be that of whoever is told the progress.
    lost = isinstance(error, (ConnectionRefusedError, ConnectionResetError)) or kind == "Py4JNetworkError"
    process = getattr(SparkContext._gateway, "proc", None)  # that of a session which was started from here
    if process is None or not (lost or kind == "Py4JError"):  # errors of Java itself are of other kinds
        return lost
    with suppress(TimeoutExpired):
        process.wait(ENDING)
    return process.poll() is not None


@contextmanager
def tidying() -> Iterator[None]:
    """Undo something in a session; if its Java process has ended, there is nothing left to undo."""
    try:
        yield
    except Exception as error:
        if not is_gone(error):
            raise


@contextmanager
def _unlogged() -> Iterator[None]:
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(name) for name in LOGGERS]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


def _unpacked(error: Exception) -> Exception:
    text = str(error)
    found = SAID.search(text)
    if found is not None:
        # Quotation marks and line ends are escaped once more where Spark quotes a message in another.
        with_words = json.loads(found[1])
        kind = getattr(errors, with_words["class"], ShoalError)
        message, hint = with_words["message"], with_words["hint"]
        plain = message if hint is None else message.removesuffix(f" Hint: {hint}")
        return ShoalError(plain, hint) if kind is errors.SeveralErrors else kind(plain, hint)
    if is_gone(error):
        return ShoalError(
            "Spark must carry out all tasks of a job. Got an error: its driver, a process of Java, has ended. Nothing "
            "was published.",
            hint="it often ran out of memory: give it more with SHOAL_SPARK_DRIVER_MEMORY=6g, or with "
            "spark.driver.memory in a session of your own.",
        )
    if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j", "grpc"):
        return error
    if BAD_ROWS.search(text):
        return DataError(
            "Every row of a CSV file must have as many fields as its header. Got another number, or a quote that is "
            "not closed.",
            hint="--engine stream names the line.",
        )
    condition = getattr(error, "getCondition", lambda: None)() or type(error).__name__
    task = re.search(r"TaskError: ([\w.]+(?: in [\w<>]+, line \d+)?)", text)
    what = f"{condition} ({task[1]})" if task else str(condition)
    hint = "the logs of its executors have more; a worker that was killed often ran out of memory."
    if OTHER_PYTHON.search(text):
        hint = "workers start another Python: set PYSPARK_PYTHON to an environment with Shoal on every machine."
    if FULL.search(text):
        what = "a full disk"
        hint = "free some space where the release is to be written, and where executors keep files (spark.local.dir)."
    elif BROKEN.search(text):
        what = "a file that is damaged or of another format"
        hint = "copy the input again from where it comes from."
    return ShoalError(f"Spark must carry out all tasks of a job. Got an error: {what}. Nothing was published.", hint)
