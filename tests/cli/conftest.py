"""Tables and runners for the tests of the command line."""

import os
import subprocess
import sys

import pytest
from cli_tables import write_people
from typer.testing import CliRunner

from shoal.cli.app import app


@pytest.fixture
def people(tmp_path, monkeypatch):
    """Return a folder, which is the current one, with people.csv."""
    write_people(tmp_path / "people.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(monkeypatch):
    """Return a function that runs the command line in this process, 80 characters wide."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    runner = CliRunner()

    def call(*arguments, code=0, **options):
        result = runner.invoke(app, [str(argument) for argument in arguments], **options)
        if result.exit_code != code:
            raise AssertionError(f"exit code {result.exit_code}, not {code}:\n{result.output}") from result.exception
        return result

    return call


@pytest.fixture
def process():
    """Return a function that runs the command line in a process of its own."""

    def call(*arguments, env=None, **options):
        command = [sys.executable, "-m", "shoal", *(str(argument) for argument in arguments)]
        environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "FORCE_COLOR")}
        return subprocess.run(command, capture_output=True, text=True, env=environment | (env or {}), **options)

    return call
