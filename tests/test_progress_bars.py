"""Bars: drawn for whoever asks, where there is something to draw them on, and ended whatever happens."""

import itertools
import pickle
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import OptionError
from shoal.progress import NotebookBar, Standing, drawn

X = np.arange(12.0).reshape(6, 2)
PEOPLE = pa.table({"age": [31, 33, 58, 60], "income": [2100.0, 2300.0, 4000.0, 4400.0]})
HIDDEN, SHOWN = "\x1b[?25l", "\x1b[?25h"  # the cursor


@pytest.fixture
def terminal(monkeypatch):
    """Make rich take what it writes to for a terminal."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")


class Notebook:
    """The part of IPython that a bar uses; `said` is what it was asked to show, in order."""

    def __init__(self):
        self.said = []

    def display(self, thing, display_id):
        assert display_id
        self.update(thing)
        return self

    def update(self, thing):
        self.said.append(repr(thing))


@pytest.fixture
def notebook(monkeypatch):
    shown = Notebook()
    package, display = ModuleType("IPython"), ModuleType("IPython.display")
    package.get_ipython = lambda: SimpleNamespace(kernel=object())
    display.display = shown.display
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def runs(tmp_path):
    """Yield calls that take progress, as functions of it."""
    (tmp_path / "people.csv").write_text("age,income\n31,2100\n33,2300\n58,4000\n60,4400\n")
    yield lambda progress: shoal.anonymize(PEOPLE, k=2, progress=progress)
    yield lambda progress: shoal.anonymize_file(tmp_path / "people.csv", k=2, progress=progress)
    yield lambda progress: shoal.partition(X, 2, progress=progress)
    yield lambda progress: shoal.Microaggregator(2, progress=progress).fit(X)
    # So little work that nothing is reported on the way.
    yield lambda progress: shoal.anonymize(PEOPLE, k=2).save(tmp_path / "out.csv", progress=progress, force=True)
    yield lambda progress: shoal.refine(X, [0, 0, 0, 1, 1, 1], 2, progress=progress)


def stopped_at_a_quarter(error):
    with drawn(True, "x") as report:
        report(0.25)
        raise error


def test_nothing_is_drawn_unless_asked(tmp_path, terminal, capsys):
    for run in runs(tmp_path):
        run(None)
        run(False)
    assert capsys.readouterr() == ("", "")


def test_nothing_is_drawn_where_there_is_no_terminal(tmp_path, capsys):
    for run in runs(tmp_path):
        run(True)
    assert capsys.readouterr() == ("", "")


def test_a_bar_is_drawn_on_the_terminal_and_ends(tmp_path, terminal, capsys):
    for run in runs(tmp_path):
        run(True)
        out, err = capsys.readouterr()
        assert out == ""
        assert "100 %" in err
        assert err.rindex(SHOWN) > err.rindex(HIDDEN)


def test_a_callable_still_receives_fractions(tmp_path):
    for run in itertools.islice(runs(tmp_path), 4):
        seen = []
        run(seen.append)
        assert seen == sorted(seen)
        assert seen[-1] == 1.0


def test_anything_else_is_refused(tmp_path):
    for run in runs(tmp_path):
        with pytest.raises(OptionError, match=r"must be None, True, or a callable that .* Got int"):
            run(1)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_the_cursor_is_back_after_an_error(terminal, capsys, error):
    with pytest.raises(error):
        stopped_at_a_quarter(error)
    err = capsys.readouterr().err
    assert "25 %" in err
    assert "100 %" not in err
    assert err.rindex(SHOWN) > err.rindex(HIDDEN)


def test_prints_to_a_file_stay_there(terminal, capsys):
    with drawn(True, "x"):
        sys.stdout.write("result\n")
    assert capsys.readouterr().out == "result\n"


def test_a_bar_in_a_notebook(tmp_path, notebook, capsys):
    for run in runs(tmp_path):
        notebook.said.clear()
        run(True)
        assert notebook.said[0].startswith("0 %, ")
        assert notebook.said[-1].startswith("100 %, done, ")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_bar_in_a_notebook_says_that_it_was_stopped(notebook, error):
    with pytest.raises(error):
        stopped_at_a_quarter(error)
    assert notebook.said[-1].startswith("25 %, stopped, ")


def test_ipython_on_a_terminal_is_no_notebook(notebook, terminal, capsys, monkeypatch):
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: SimpleNamespace())
    shoal.partition(X, 2, progress=True)
    assert notebook.said == []
    assert "100 %" in capsys.readouterr().err


def test_what_a_notebook_shows():
    bar = NotebookBar()
    bar.fraction = Standing(0.5, 1.0, 0.0734, 0.1)
    page = bar._repr_html_()
    assert '<progress max="1" value="0.500" aria-label="progress"' in page
    assert repr(bar) == "50 %, 0 s, loss 7.34 %"
    assert repr(bar) in page


def test_functions_with_bars_can_be_sent_to_other_processes():
    for function in (shoal.partition, shoal.refine):
        assert pickle.loads(pickle.dumps(function)) is function
