"""What is distributed works without the checkout: a release with a report, made by an installed wheel."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pytest

import shoal

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "shoal"


def run(*command, folder, **more):
    """Run a command that knows nothing of the checkout; return what it prints."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "NUMBA_CACHE_DIR")}
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, env=environment | more, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the source archive, and the wheel that was built from it."""
    missing = [name for name in ("build", "hatchling", "pip") if find_spec(name) is None]
    if missing:
        reason = f"{' and '.join(missing)} not installed: pip install '.[dist]'"
        if os.environ.get("SHOAL_TEST_WHEEL") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("dist")
    # Both are built, the wheel from what the archive holds; without isolation, so that nothing is fetched.
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, folder=folder)
    (archive,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return archive, wheel


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """Return the programs of a new environment that has the wheel; its dependencies are those of this environment."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder, folder=folder)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    python = programs / ("python.exe" if os.name == "nt" else "python")
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=folder).strip()
    # A path that a .pth file adds is not searched for .pth files itself, so an editable install stays out of sight.
    Path(site, "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--quiet", "--no-index", "--no-deps", "--ignore-installed", built[1], folder=folder)
    return programs


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(built):
    with zipfile.ZipFile(built[1]) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert held == {path.relative_to(PACKAGE.parent).as_posix() for path in files}


def test_the_source_archive_holds_code_tests_and_documentation_but_no_data(built):
    with tarfile.open(built[0]) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    for wanted in ("pyproject.toml", "README.md", "LICENSE", "src/shoal/py.typed", "tests/naive.py", "docs/index.md"):
        assert wanted in names
    assert {name.split("/")[0] for name in names} <= {path.name for path in ROOT.iterdir()} | {"PKG-INFO"}
    assert not [name for name in names if name.endswith((".gz", ".parquet")) or name.startswith((".venv", "shared"))]


def test_an_installed_wheel_makes_a_release_with_a_report(installed, tmp_path):
    where = run(installed / "python", "-c", "import shoal; print(shoal.__file__, shoal.__version__)", folder=tmp_path)
    file, version = where.split()
    assert Path(file).is_relative_to(installed.parent)
    assert version == shoal.__version__
    people = shoal.datasets.survey(60)
    columns = ("person_id", "region", "sex", "income", "diagnosis")
    shoal.io.write(pa.table({name: people[name] for name in columns}), tmp_path / "people.csv")
    roles = ("--id", "person_id", "--sensitive", "diagnosis")
    made = ("-o", "release.csv", "--report", "report.html")
    run(installed / "shoal", "anonymize", "people.csv", "-k", "5", "--method", "mdav", *roles, *made, folder=tmp_path)
    run(installed / "shoal", "verify", "release.csv", folder=tmp_path)
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    style = (PACKAGE / "release" / "report" / "templates" / "style.css").read_text(encoding="utf-8")
    assert style.strip().splitlines()[0] in report
    assert "</html>" in report
