"""Runs tests on a copy of the project, in processes that can change nothing else, and finds which tests run a line."""

from __future__ import annotations

import ast
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.confinement import confine
from benchmarks.pages import ROOT

PACKAGES = ("privacy", "release", "io", "tables")
# Tests of the mutated packages. Those of the documentation and of the architecture read the source or take long, those
# of methods do not get here.
TESTS = (
    *("tests/privacy", "tests/release", "tests/io", "tests/tables", "tests/cli", "tests/options", "tests/measure"),
    *("tests/test_plan.py", "tests/test_job_files.py", "tests/kernels/test_rules.py"),
    *("tests/partitioning/test_enforcement.py", "tests/partitioning/test_repair.py"),
)
COPIED = ("src", "tests", "docs", "benchmarks", "pyproject.toml", "README.md", "CHANGELOG.md")
# Fixtures of tests that start servers or processes, which take long and do not see what is loaded here.
LONG_FIXTURES = frozenset({"postgres", "process"})
# Loaded once, before a process for each mutant is forked; nothing of what is mutated.
LOADED = (
    *(
        "numpy",
        "scipy.sparse",
        "scipy.optimize",
        "numba",
        "pandas",
        "pyarrow.parquet",
        "pyarrow.csv",
        "polars",
        "narwhals",
    ),
    *(
        "sklearn.base",
        "highspy",
        "hypothesis",
        "pytest",
        "duckdb",
        "openpyxl",
        "pydantic",
        "jinja2",
        "yaml",
        "typer.testing",
    ),
    *(
        "shoal.partitioning.run",
        "shoal.partitioning.anytime",
        "shoal.partitioning.enforcement",
        "shoal.kernels.rule_search",
    ),
)
GIGABYTE = 2**30


@dataclass
class Coverage:
    """Which tests run which lines.

    Attributes
    ----------
    tests : {test: seconds of the processor}
        Those that pass.
    lines : {module: {line: tests}}
    """

    tests: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, list[str]]] = field(default_factory=dict)

    def add(self, other: Coverage) -> None:
        """Take in what other tests run."""
        self.tests |= other.tests
        for module, by_line in other.lines.items():
            own = self.lines.setdefault(module, {})
            for line, tests in by_line.items():
                own[line] = [*own.get(line, ()), *tests]

    def only(self, file: str) -> Coverage:
        """Return what the tests of one file run."""
        lines = {
            module: {line: own for line, tests in by_line.items() if (own := [t for t in tests if _file(t) == file])}
            for module, by_line in self.lines.items()
        }
        return Coverage({test: s for test, s in self.tests.items() if _file(test) == file}, lines)

    def of(self, package: Path, module: str, first: int, last: int) -> list[str]:
        """Return the tests that run a place of a module, the quickest first.

        What is run when a module is loaded is run for all tests of the module.
        """
        by_line = self.lines.get(module, {})
        spans = statements((package / module).read_text(encoding="utf-8"))
        wanted = {line for place in range(first, last + 1) for line in spans.get(place, by_line)}
        found = {test for line in wanted for test in by_line.get(line, ()) if test in self.tests}
        return sorted(found, key=lambda test: (self.tests[test], test))


def statements(code: str) -> dict[int, range]:
    """Return the lines of the statement at each line that lies in a function; of a compound one, those of its head."""
    found: dict[int, range] = {}
    functions = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.FunctionDef))
    for function in functions:
        for node in (inner for statement in function.body for inner in ast.walk(statement)):
            if isinstance(node, ast.stmt):
                body = getattr(node, "body", None)
                last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
                lines = range(node.lineno, max(last, node.lineno) + 1)
                found.update(dict.fromkeys(lines, lines))
    return found


class Workshop:
    """A copy of the project in a folder, in which tests are run.

    Parameters
    ----------
    folder : Path
        Empty; the tests can change nothing outside it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.tree = folder.resolve(), folder.resolve() / "tree"
        self.package = self.tree / "src" / "shoal"
        self.tree.mkdir()
        for name in COPIED:
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy2)(source, self.tree / name)
        for name in ("tmp", "home"):
            (self.folder / name).mkdir()
        os.environ |= {
            "PYTHONPATH": str(self.tree / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(self.folder / "tmp"),
            "HOME": str(self.folder / "home"),
            "SHOAL_DATA": os.environ.get("SHOAL_DATA") or str(ROOT.parent / "shared" / "data"),
        }
        os.environ.pop("NUMBA_CACHE_DIR", None)
        sys.dont_write_bytecode = True
        sys.path[:0] = [str(self.tree / "src")]
        for name in LOADED:
            importlib.import_module(name)
        loaded = importlib.import_module("shoal").__file__ or ""
        if not loaded.startswith(str(self.tree)):
            raise RuntimeError("the package was loaded before it was copied")

    def apart(self, work: Callable[[], int], seconds: float) -> int:
        """Do some work in a confined process of its own; return its exit code, -1 if it took too long or died."""
        process = os.fork()
        if process == 0:
            code = 70
            try:
                os.setsid()
                os.chdir(self.tree)
                tempfile.tempdir = None  # it was asked for before, in another place
                with open(self.folder / "said", "w") as said:
                    os.dup2(said.fileno(), 1)
                    os.dup2(said.fileno(), 2)
                confine(self.folder)
                _limit(resource.RLIMIT_CPU, round(seconds) + 1)
                _limit(resource.RLIMIT_FSIZE, GIGABYTE)
                _limit(resource.RLIMIT_CORE, 0)
                code = int(work())
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        # By the clock it may take much longer: the machine may be busy. What sleeps for ever is ended then.
        end, ended, status = time.monotonic() + 3 * seconds, 0, 0
        try:
            while not ended and time.monotonic() < end:
                time.sleep(0.02)
                ended, status = os.waitpid(process, os.WNOHANG)
        finally:
            if not ended:
                os.kill(process, signal.SIGKILL)
                _, status = os.waitpid(process, 0)
            _end_all_of(process)
            self._tidy()
        return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else -1

    def _tidy(self) -> None:
        """Remove what tests have left."""
        for name in ("tmp", "home"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            (self.folder / name).mkdir(exist_ok=True)

    def coverage(self, files: Sequence[str], seconds: float) -> Coverage:
        """Run the tests of some files and find which lines they run."""
        target = self.folder / "coverage.json"
        code = self.apart(lambda: _cover(self.package, files, target), seconds)
        if code not in (0, 1) or not target.exists():  # 1: some fail, and are left out
            said = (self.folder / "said").read_text(encoding="utf-8", errors="replace")
            raise RuntimeError(f"the tests could not be run (exit code {code}): {said[-2000:]}")
        return read_coverage(target)

    def failing(self, tests: Sequence[str], seconds: float) -> str | None:
        """Return the first of some tests that fails, None if none does; where it took too long, that is said."""
        target = self.folder / "failed"
        target.unlink(missing_ok=True)
        watch = _Failures(target)

        def work() -> int:
            import pytest

            return int(pytest.main([*_OPTIONS, "-x", *tests], plugins=[watch]))

        code = self.apart(work, seconds)
        if code == 0:
            return None
        return "took too long" if code < 0 else target.read_text() if target.exists() else "cannot be loaded"


def test_files() -> list[str]:
    """Return the files with the tests that are run, in the order of running."""
    found = []
    for name in TESTS:
        path = ROOT / name
        found += [path] if path.is_file() else sorted(path.rglob("test_*.py"))
    return [path.relative_to(ROOT).as_posix() for path in found]


def read_coverage(path: Path) -> Coverage:
    """Return what was written by :func:`write_coverage`."""
    found = json.loads(path.read_text(encoding="utf-8"))
    names = found["names"]
    lines = {
        module: {int(line): [names[at] for at in tests] for line, tests in by_line.items()}
        for module, by_line in found["lines"].items()
    }
    return Coverage(found["tests"], lines)


def write_coverage(coverage: Coverage, path: Path) -> None:
    """Write to a file which tests run which lines."""
    named = {test for by_line in coverage.lines.values() for tests in by_line.values() for test in tests}
    places = {test: at for at, test in enumerate(sorted(named))}
    lines = {
        module: {line: [places[test] for test in tests] for line, tests in by_line.items()}
        for module, by_line in coverage.lines.items()
    }
    path.write_text(json.dumps({"tests": coverage.tests, "names": [*places], "lines": lines}), encoding="utf-8")


def _file(test: str) -> str:
    return test.partition("::")[0]


_OPTIONS = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "-m", "not long", "--tb=no")


class _Failures:
    """Writes down the first test that fails."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.target.exists():
            self.target.write_text(report.nodeid)


class _Watch:
    """Notes for each test which lines it runs, how long it takes, and whether it passes."""

    def __init__(self, coverage: Any) -> None:
        self.coverage, self.seconds, self.failed = coverage, {}, set()  # type: ignore[var-annotated]

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if not LONG_FIXTURES & set(item.fixturenames)]

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed or report.skipped:
            self.failed.add(report.nodeid)

    def pytest_runtest_protocol(self, item: Any) -> None:
        self.coverage.switch_context(item.nodeid)
        self.seconds[item.nodeid] = -time.process_time()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.seconds[nodeid] += time.process_time()


def _cover(package: Path, files: Sequence[str], target: Path) -> int:
    os.environ["SHOAL_TEST_EXAMPLES"] = "25"  # more examples of a property run the same lines
    import coverage
    import pytest

    measured = coverage.Coverage(data_file=None, include=[str(package / name / "*") for name in PACKAGES])
    watch = _Watch(measured)
    measured.start()
    code = int(pytest.main([*_OPTIONS, *files], plugins=[watch]))
    measured.stop()
    data, lines = measured.get_data(), defaultdict(dict)  # type: ignore[var-annotated]
    for path in data.measured_files():
        for line, tests in data.contexts_by_lineno(path).items():
            lines[Path(path).relative_to(package).as_posix()][line] = [test for test in tests if test]
    passed = {test: seconds for test, seconds in watch.seconds.items() if test not in watch.failed}
    write_coverage(Coverage(passed, lines), target)
    return code


def _limit(what: int, value: int) -> None:
    resource.setrlimit(what, (value, value))


def _end_all_of(session: int) -> None:
    """End what a test has left running: all processes of its session, which nobody else is in."""
    for process in _processes():
        try:
            if os.getsid(process) == session:
                os.kill(process, signal.SIGKILL)
        except OSError:
            continue


def _processes() -> Iterator[int]:
    return (int(entry) for entry in os.listdir("/proc") if entry.isdigit())
