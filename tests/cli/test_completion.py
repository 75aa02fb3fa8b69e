"""What a shell is told when it asks for completions."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.cli.completion import AFTER_NAME, VARIABLE, WORDS, completer, join_words
from shoal.cli.maps import OPTIONS as MAP
from shoal.cli.tune import options as tune_options
from shoal.options.option import Option
from shoal.options.table import PLAN, READING, WRITING


def completed(*typed, shell="zsh", **more):
    """Return what a shell is told, by the same process."""
    environment = {VARIABLE: f"complete_{shell}", "_TYPER_COMPLETE_ARGS": " ".join(("shoal", *typed)), **more}
    return CliRunner().invoke(app, [], env=environment, prog_name="shoal").output


def test_commands_and_options_are_completed():
    assert "anonymize" in completed("anon")
    assert "--sensitive" in completed("anonymize", "--sens")


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (("--method", "mdav"), ["mdav", "mdav+", "mdav*"]),
        (("--release", "strong"), ["strongly-safe"]),
        (("--rest", "d"), ["drop"]),
        (("--enforce", "k"), ["k-first"]),
        (("--refine", "tf"), ["tfrp2"]),
        (("--bound", "l"), ["lp"]),
        (("--missing", "e"), ["error"]),
        (("--type", "sex=nom"), ["sex=nominal"]),
        (("--model", "ill=ent"), ["ill=entropy-diversity"]),
        (("--representative", "age=med"), ["age=median", "age=medoid"]),
    ],
)
def test_names_that_shoal_knows_are_completed(typed, words):
    said = completed("anonymize", *typed)
    assert all(f'"{word}"' in said for word in words)


def test_names_of_columns_are_not():
    assert '"' not in completed("anonymize", "--qi", "a")
    assert '"' not in completed("anonymize", "--type", "a")


def test_bash_is_told_what_follows_the_sign(people):
    """A real bash, with the script that --show-completion shows."""
    script = (
        'eval "$(shoal --show-completion bash)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        '_shoal_completion shoal; echo "${COMPREPLY[*]}"'
    )

    def complete(*words):
        done = subprocess.run(
            ["bash", "-c", script, "bash", *words], capture_output=True, text=True, check=True, env=with_shoal(people)
        )
        return done.stdout.split()

    assert complete("shoal", "anonymize", "--type", "sex", "=", "nom") == ["nominal"]
    assert complete("shoal", "anonymize", "--levels", "a", "=", "b", "--rest", "=", "d") == ["drop"]


def with_shoal(folder):
    """Return an environment in which this Shoal is the command ``shoal``."""
    command = folder / "shoal"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shoal "$@"\n')
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    source = Path(shoal.__file__).parents[1]
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(source)}


@pytest.mark.parametrize(
    ("typed", "joined", "name"),
    [
        (["shoal", "anonymize", "--type", "sex", "=", "nom"], ["shoal", "anonymize", "--type", "nom"], "sex"),
        (["shoal", "anonymize", "--type", "sex", "="], ["shoal", "anonymize", "--type", ""], "sex"),
        (["shoal", "anonymize", "--rest", "=", "d"], ["shoal", "anonymize", "--rest=d"], None),
        (["shoal", "ver"], ["shoal", "ver"], None),
    ],
)
def test_what_bash_took_apart_is_put_together(monkeypatch, typed, joined, name):
    monkeypatch.setenv(VARIABLE, "complete_bash")
    monkeypatch.delenv(AFTER_NAME, raising=False)
    monkeypatch.setenv("COMP_WORDS", "\n".join([*typed, "beyond"]))
    monkeypatch.setenv("COMP_CWORD", str(len(typed) - 1))
    join_words()
    assert os.environ["COMP_WORDS"].split("\n") == joined
    assert os.environ["COMP_CWORD"] == str(len(joined) - 1)
    assert os.environ.get(AFTER_NAME) == name


def test_every_entry_is_of_an_option():
    flags = {option.name for option in (*PLAN, *READING, *WRITING, *tune_options(), *MAP)}
    assert {flag.rstrip("=") for flag in WORDS} - flags == {"name"}
    assert all(list(words()) for words in WORDS.values())
    assert completer(Option("--qi", "")) is None


def test_both_switches_are_offered(run):
    said = run("--help").stdout
    assert "--install-completion" in said
    assert "--show-completion" in said
