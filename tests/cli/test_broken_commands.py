"""The command when things break: exit codes, and what it says about files."""

import os
import re
import resource
import signal
import subprocess
import sys
import threading

import pytest
from cli_tables import ROLES, SECRETS

from shoal.cli import shell as shells

COMMAND = (sys.executable, "-m", "shoal")
JOB = ("anonymize", "people.csv", "-k", "4", "-o", "out.csv", "--method", "mdav", *ROLES)


def flat(done):
    return " ".join((done.stderr + done.stdout).split())


def left(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_full_disk_while_the_report_is_written(people, run):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Release and manifest fit; the report, which is several times as large, does not.
    resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, before[1]))
    try:
        said = flat(run(*JOB, "--report", "r.html", code=2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "must fit on the disk" in said
    assert "Note: out.csv, out.csv.record.json and out.csv.manifest.json were written; r.html was not." in said
    assert "defect" not in said
    assert left(people) == ["out.csv", "out.csv.manifest.json", "out.csv.record.json", "people.csv"]


def test_a_full_temporary_folder_with_standard_input(people):
    text = (people / "people.csv").read_text()

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))

    words = [*COMMAND, "anonymize", "-", "-k", "4", "-o", "out.csv", *ROLES]
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False, preexec_fn=limit)
    assert done.returncode == 2
    assert "set TMPDIR to a folder on another disk" in flat(done)
    assert left(people) == ["people.csv"]


@pytest.mark.parametrize("arguments", [("methods",), ("methods", "--json"), ("--version",), ("verify", "--help")])
def test_a_full_disk_behind_standard_output(people, arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert "defect" not in done.stderr
    assert done.returncode == 2
    assert "Got: No space left on device; nothing was written." in " ".join(done.stderr.split())


def test_a_full_disk_behind_the_summary_does_not_hide_the_release(people):
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, *JOB], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    # The schema, which is shown first, cannot be shown either.
    assert "No space left on device; nothing was written" in " ".join(done.stderr.split())
    assert left(people) == ["people.csv"]


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_streams_that_are_closed_or_full_do_not_break_a_quiet_command(people, stream):
    number = {"stdout": 1, "stderr": 2}[stream]
    words = [*COMMAND, "verify", "people.csv", "--qi", "sex", "-q"]
    assert subprocess.run(words, preexec_fn=lambda: os.close(number), check=False).returncode == 0
    with open("/dev/full", "w") as full:
        assert subprocess.run(words, **{stream: full}, check=False).returncode == 0


def test_messages_that_nobody_can_read_do_not_change_the_exit_code(people):
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, "verify", "nowhere.csv", "--qi", "a"], stderr=full, check=False)
    assert done.returncode == 2


def test_a_reader_that_leaves_early_is_no_error(people):
    # More than any pipe holds, so that writing cannot end before the reader leaves.
    large = "name,age,notes\n" + "".join(f"p{i},{i % 7},{'x' * 100}\n" for i in range(60_000))
    (people / "large.csv").write_text(large)
    words = f"{sys.executable} -m shoal anonymize large.csv -k 4 -o - -q --qi age --other notes --id name --method mdav"
    script = f"{words} | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["age,notes", "141"]
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("step", "said", "files"),
    [
        ("shoal.io.files.Draft.publish", "stopped; nothing was written", []),
        (
            "shoal.release.release.Release.report",
            "stopped; out.csv, out.csv.record.json and out.csv.manifest.json were written; r.html was not",
            ["out.csv", "out.csv.manifest.json", "out.csv.record.json"],
        ),
    ],
)
@pytest.mark.usefixtures("hangups")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_says_what_was_written(people, run, monkeypatch, step, said, files, number):
    monkeypatch.setattr(step, lambda *_, **__: signal.raise_signal(number))
    done = run(*JOB, "--report", "r.html", code=128 + number)
    assert said in flat(done)
    assert left(people) == [*files, "people.csv"]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_signal_just_after_publishing(people, run, monkeypatch):
    original = os.link

    def link(*args, **how):
        original(*args, **how)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(os, "link", link)
    said = flat(run(*JOB, code=130))
    assert "nothing was written" not in said
    (first,) = set(left(people)) - {"people.csv"}
    assert re.search(rf"stopped; {re.escape(first)} was written; out\.csv\S* and out\.csv\S* were not", said)


def test_a_signal_after_everything_was_written(people, run, monkeypatch):
    monkeypatch.setattr("shoal.cli.shows.summary", lambda *_: signal.raise_signal(signal.SIGINT))
    assert "stopped; everything was written" in flat(run(*JOB, code=130))


def test_a_signal_while_a_database_gets_its_table(people, run, monkeypatch):
    from shoal.io.database import Database

    run(*JOB[:5], "out.sqlite", *ROLES, "--to-table", "old")
    original = Database.commit

    def commit(self):
        original(self)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(Database, "commit", commit)
    said = flat(run(*JOB[:5], "out.sqlite", *ROLES, "--to-table", "new", code=143))
    assert "stopped; everything was written" in said


def test_signals_that_are_ignored_stay_so(people, run, monkeypatch):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        monkeypatch.setattr("shoal.cli.shows.summary", lambda *_: signal.raise_signal(signal.SIGHUP) or "")
        run(*JOB)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_process_that_is_asked_to_end_while_it_groups_leaves_nothing(tmp_path):
    lines = (",".join(str((i * p) % 9973) for p in (7, 11, 13, 17, 19, 23)) for i in range(1, 30_001))
    (tmp_path / "big.csv").write_text("\n".join(["a,b,c,d,e,f", *lines]) + "\n")
    arguments = ("anonymize", "big.csv", "-k", "5", "-o", "out.csv", "--method", "pcl")
    running = subprocess.Popen(
        [*COMMAND, *arguments], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for line in running.stderr:
        if "quasi-identifiers" in line:  # the schema was shown: records are being grouped, for minutes
            break
    running.send_signal(signal.SIGTERM)
    _, said = running.communicate(timeout=120)
    assert running.returncode == 143
    assert "stopped; nothing was written" in said
    assert left(tmp_path) == ["big.csv"]


def test_an_error_of_the_system_that_nobody_foresaw(people, run, monkeypatch):
    def fail(*_, **__):
        raise OSError(24, "Too many open files", "some-file")

    monkeypatch.setattr("shoal.release.pipeline.prepare", fail)
    said = flat(run(*JOB, code=2))
    assert "Got: Too many open files (some-file); nothing was written." in said
    assert "Traceback" not in said
    assert "Traceback" in flat(run(*JOB, "-v", code=2))


def test_commands_run_in_other_threads_too(people, run):
    outcome = []
    thread = threading.Thread(target=lambda: outcome.append(run(*JOB)))
    thread.start()
    thread.join()
    assert outcome


def test_no_value_is_in_what_is_said_about_files(people, run, monkeypatch):
    monkeypatch.setattr("shoal.io.files.Draft.publish", lambda *_: signal.raise_signal(signal.SIGTERM))
    said = flat(run(*JOB, code=143))
    assert not any(secret in said for secret in SECRETS)


def test_what_was_written_is_said_in_the_words_of_the_user(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shell = shells.Shell()
    assert shell.done == "nothing was written"
    shell.wanted = ["a.csv", "b.json", "c.html"]
    shell.published = [str(tmp_path / "a.csv")]
    assert shell.done == "a.csv was written; b.json and c.html were not"
    shell.published += [str(tmp_path / "b.json"), str(tmp_path / "c.html")]
    assert shell.done == "everything was written"
    shell.wanted = []
    assert shell.done.endswith("c.html were written")
    shell.wanted, shell.published = ["standard output"], ["a part of standard output"]
    assert shell.done == "a part of standard output was written; standard output was not"
