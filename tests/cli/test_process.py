"""The command in a process of its own: streams, pipes, signals, exit codes, what it loads to start."""

import csv
import json
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest
from cli_tables import ROLES, SECRETS

from clocks import PATIENCE
from shoal.cli import main
from shoal.cli.application import COMMANDS, application_for
from shoal.cli.completion import VARIABLE

COMMAND = (sys.executable, "-m", "shoal")


def test_streams_and_exit_codes(people, process):
    done = process("anonymize", "people.csv", "-k", 4, "-o", "-", *ROLES)
    assert done.returncode == 0
    records = list(csv.reader(done.stdout.splitlines()))
    assert len(records) == 41
    assert records[0] == ["age", "zip", "income", "sex", "illness"]
    assert "4 wanted" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr  # no colours in pipes
    (people / "out.csv").write_text(done.stdout)
    assert process("verify", "out.csv", "--qi", "age,zip,income,sex", "-k", 4).returncode == 0
    assert process("verify", "out.csv", "--qi", "age,zip,income,sex", "-k", 40).returncode == 1
    assert process("verify", "out.csv", "--qi", "agee").returncode == 2


def test_json_from_standard_input(people, process):
    text = (people / "people.csv").read_text()
    done = process("anonymize", "-", "-k", 4, "-o", "out.parquet", *ROLES, "--json", input=text)
    record = json.loads(done.stdout)
    assert record["rows"]["published"] == 40
    assert record["output"]["sha256"]
    assert not any(secret in done.stdout + done.stderr for secret in SECRETS)


def test_a_reader_that_leaves_early_is_no_error(people):
    listing = subprocess.run(
        f"{sys.executable} -m shoal methods | head -1", shell=True, capture_output=True, text=True, check=False
    )
    assert listing.stdout == "Methods (--method)\n"
    assert listing.stderr == ""
    words = f"{sys.executable} -m shoal anonymize people.csv -k 4 -o out.csv {' '.join(ROLES)}"
    done = subprocess.run(f"{words} | true", shell=True, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert (people / "out.csv").exists()  # the release does not depend on who reads the summary


def test_ctrl_c_leaves_no_file(tmp_path):
    draw = random.Random(1)
    lines = (",".join(f"{draw.gauss(0, 1):.5f}" for _ in range(8)) for _ in range(30_000))
    (tmp_path / "big.csv").write_text("\n".join(["a,b,c,d,e,f,g,h", *lines]) + "\n")
    arguments = ("anonymize", "big.csv", "-k", "5", "-o", "out.csv", "--method", "pcl", "--report", "r.html")
    running = subprocess.Popen(
        [*COMMAND, *arguments], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for line in running.stderr:
        if "quasi-identifiers" in line:  # the schema was shown: records are being grouped, for minutes
            break
    time.sleep(1.0)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    assert "stopped; nothing was written" in said
    assert "Traceback" not in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["big.csv"]


def on_a_terminal(arguments, folder, **variables):
    """Return what a terminal of 80 columns is sent."""
    ours, theirs = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    environment |= {"COLUMNS": "80", "TERM": "xterm", **variables}
    running = subprocess.Popen([*COMMAND, *arguments], cwd=folder, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    sent = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:
            break
        if not chunk:
            break
        sent += chunk
    os.close(ours)
    assert running.wait() in (0, 2)
    return sent.decode()


def test_colours_and_bars_on_a_terminal_only(people):
    arguments = ("anonymize", "people.csv", "-k", "4", "-o", "out.csv", *ROLES, "--method", "mdav")
    sent = on_a_terminal(arguments, people)
    assert "reading" in sent
    assert "\x1b[36m" in sent
    assert "4 wanted" in sent
    assert "\x1b[1;31merror: " in on_a_terminal(arguments, people)  # out.csv is there now
    plain = on_a_terminal(arguments, people, NO_COLOR="1")
    assert "error: " in plain
    assert "\x1b[31m" not in plain
    assert "\x1b[1;31m" not in plain


def test_the_bar_of_a_search_shows_how_it_stands(people):
    arguments = ("anonymize", "people.csv", "-k", "4", "-o", "out.csv", *ROLES, "--method", "anytime")
    sent = on_a_terminal((*arguments, "--time-limit", "1.5"), people)
    assert re.search(r"loss [\d.]+ %, gap [\d.]+ %", sent)


def test_it_says_when_kernels_are_compiled(people, process):
    arguments = ("anonymize", "people.csv", "-k", 4, *ROLES, "--method", "mondrian", "--bound", "none")
    # One kernel is compiled again; all others, as far as there are any, come from the cache of these tests.
    if numba.config.CACHE_DIR and Path(numba.config.CACHE_DIR).exists():
        shutil.copytree(numba.config.CACHE_DIR, people / "cache")
    for path in people.glob("cache/**/*.halves.halve_down.*"):
        path.unlink()
    cold = {"NUMBA_CACHE_DIR": str(people / "cache")}
    assert "Compiling for first use" in process(*arguments, "-o", "a.csv", env=cold).stderr
    warm = process(*arguments, "-o", "b.csv", env=cold)
    assert warm.returncode == 0
    assert "Compiling" not in warm.stderr


@pytest.mark.parametrize("code", ["from shoal.cli.app import app", "import shoal.cli"])
def test_starting_loads_nothing_heavy(code):
    heavy = ("numpy", "pyarrow", "numba", "pydantic", "narwhals")
    script = f"{code}\nimport sys\nprint([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


LOADED = """
import sys
from shoal.cli import main
try:
    main()
finally:
    print(sorted(name for name in {names!r} if name in sys.modules), file=sys.stderr)
"""
HEAVY = ("numba", "scipy", "sklearn", "highspy", "pandas", "polars", "narwhals", "matplotlib", "jinja2")


def loaded(people, arguments, names=HEAVY):
    """Return which of these modules a command loads."""
    command = [sys.executable, "-c", LOADED.format(names=names), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=people)
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("arguments", [("--help",), ("anonymize", "--help"), ("methods",), ("methods", "mdav")])
def test_what_shows_something_loads_nothing_heavy(people, arguments):
    assert loaded(people, arguments, (*HEAVY, "pyarrow")) == "[]"


def test_a_command_loads_no_other_command(people):
    commands = tuple(f"shoal.cli.{name}" for name in COMMANDS)
    assert loaded(people, ("methods",), commands) == "['shoal.cli.methods']"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_is_loaded_alone_has_the_same_help(run, capsys, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == run(name, "--help").output


def test_a_shell_that_asks_for_completions_is_told_all_commands():
    def named(arguments, environment=()):
        return [command.callback.__name__ for command in application_for(arguments, environment).registered_commands]

    assert named(["tune", "people.csv"]) == ["tune"]
    assert named(["tune"], {VARIABLE: "complete_bash"}) == list(COMMANDS)
    assert named([]) == named(["--help"]) == named(["tunes"]) == list(COMMANDS)


def test_small_tables_need_no_compiler(people):
    arguments = ("anonymize", "people.csv", "-k", "4", "-o", "out.csv", *ROLES, "--method", "mdav")
    assert loaded(people, arguments) == "[]"


def test_a_search_from_the_cache_loads_numba_but_not_its_compiler(people):
    arguments = ("anonymize", "people.csv", "-k", "4", *ROLES, "--method", "anytime", "--option", "max_steps=10")
    compiler = ("scipy.linalg", "numba.np.arraymath", "numba.np.arrayobj")
    names = (*(name for name in HEAVY if name != "scipy"), *compiler, "shoal.release.report.render")
    loaded(people, (*arguments, "-o", "first.csv"))  # may have to compile
    assert loaded(people, (*arguments, "-o", "second.csv"), names) == "['numba']"


def test_only_a_process_of_its_own_does_without_pandas(run, monkeypatch):
    import gc

    from shoal import cli

    before, collected = list(sys.meta_path), gc.get_threshold()
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert sys.meta_path == before
    assert gc.get_threshold() == collected
