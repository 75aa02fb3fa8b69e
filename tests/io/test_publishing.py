"""What was published is noted, whenever a signal comes."""

import os
import signal
import threading

import pyarrow as pa
import pytest

from shoal.io import read, write
from shoal.io.published import noting_published, publishing, sending


def test_what_fails_is_not_noted():
    with noting_published() as names:
        with publishing("a.csv"):
            pass
        with pytest.raises(OSError, match="full"), publishing("b.csv"):
            raise OSError("full")
    with publishing("c.csv"):  # nobody asks
        pass
    assert names == ["a.csv"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_waits_until_the_name_is_noted(number):
    class Stopped(Exception):
        pass

    def stop(*_):
        raise Stopped

    before = signal.signal(number, stop)
    try:
        steps = []
        with noting_published() as names, pytest.raises(Stopped):  # noqa: PT012
            with publishing("a.csv"):
                signal.raise_signal(number)
                steps.append("published")
            steps.append("never")
        assert steps == ["published"]
        assert names == ["a.csv"]
        assert signal.getsignal(number) is stop
    finally:
        signal.signal(number, before)


def test_ignored_signals_stay_ignored_and_other_threads_are_left_alone():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with publishing("a.csv"):
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
    raised = []

    def publish():
        try:
            with publishing("a.csv"):
                pass
        except ValueError as error:  # signals are for the main thread
            raised.append(error)

    thread = threading.Thread(target=publish)
    thread.start()
    thread.join()
    assert raised == []


def test_a_part_of_a_stream_is_called_a_part():
    with noting_published() as names:
        with sending("standard output"):
            assert names == ["a part of standard output"]
        assert names == ["standard output"]
        with pytest.raises(KeyboardInterrupt), sending("standard output"):
            raise KeyboardInterrupt
    assert names == ["standard output", "a part of standard output"]


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("hidden", [False, True])
def test_ctrl_c_while_a_file_gets_its_name(tmp_path, monkeypatch, force, hidden):
    if hidden:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    target = tmp_path / "t.csv"
    if force:
        write(pa.table({"a": ["old"]}), target)
    step = "replace" if force else "link"
    original = getattr(os, step)

    def interrupted(*args, **kwargs):
        original(*args, **kwargs)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(os, step, interrupted)
    with noting_published() as names, pytest.raises(KeyboardInterrupt):
        write(pa.table({"a": ["new"]}), target, force=force)
    assert names == [str(target)]
    assert target.read_text() == "a\nnew\n"
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize("name", ["t.sqlite", "t.duckdb"])
def test_ctrl_c_while_a_table_is_committed(tmp_path, monkeypatch, name):
    from shoal.io.database import Database

    target = tmp_path / name
    write(pa.table({"a": ["old"]}), target, name_of_table="old")
    original = Database.commit

    def interrupted(self):
        original(self)
        signal.raise_signal(signal.SIGINT)

    with noting_published() as names, monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):  # noqa: PT012
        if name == "t.duckdb":  # the first one is in memory
            commits = iter([original, interrupted])
            patched.setattr(Database, "commit", lambda self: next(commits)(self))
        else:
            patched.setattr(Database, "commit", interrupted)
        write(pa.table({"a": ["new"]}), target, name_of_table="new")
    assert names == [str(target)]
    assert read(target, table="new").table.to_pydict() == {"a": ["new"]}
