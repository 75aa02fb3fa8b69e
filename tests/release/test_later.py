"""What is measured when it is needed: the same as what is measured at once, whatever happens in between."""

import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import shoal
from shoal.release import run
from shoal.release.later import Later

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.DisclosureWarning")
WAITING, DONE = "Later(to be computed)", "Later(computed)"


def frame(n=300):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "pay": np.round(rng.uniform(1000, 5000, n), 2),
            "town": rng.choice(["north", "south", "west"], n),
            "lat": rng.uniform(40, 50, n),
            "lon": rng.uniform(0, 9, n),
        }
    )


def release(table, **fields):
    return shoal.anonymize(table, k=5, places=[("lat", "lon")], method="mdav", **fields)


def states(made):
    return repr(made.later_evidence), repr(made.later_utility)


@pytest.mark.parametrize("form", ["microaggregation", "local-recoding"])
@pytest.mark.parametrize("blocks", ["joint", "each"])
def test_later_is_the_same_as_now(monkeypatch, form, blocks):
    late = release(frame(), release=form, blocks=blocks)
    assert states(late) == (WAITING, WAITING)
    monkeypatch.setattr(run, "SMALL", 0)
    now = release(frame(), release=form, blocks=blocks)
    assert states(now) == (DONE, DONE)
    assert late.evidence == now.evidence
    assert late.utility == now.utility
    assert late.certificate == now.certificate | {"created": late.certificate["created"]}


def test_only_what_needs_it_computes_it():
    made = release(frame())
    assert made.certificate["figures"]["certainty_penalty"] is None  # means do not show how wide groups are
    repr(made)
    assert states(made) == (WAITING, WAITING)
    assert made.record["utility"]["certainty_penalty"] is not None
    assert states(made) == (WAITING, DONE)
    made.report()
    assert states(made) == (DONE, DONE)
    assert made.evidence is made.evidence
    assert made.utility is made.utility


def test_certificates_of_ranges_tell_what_they_told():
    made = shoal.anonymize(frame()[["age", "pay"]], k=5, release="local-recoding", method="mdav")
    assert states(made) == (WAITING, WAITING)
    assert made.certificate["figures"]["certainty_penalty"] is not None
    assert states(made) == (WAITING, DONE)


def test_changes_of_the_table_change_nothing():
    """Columns are read into arrays of their own, although Arrow shares its memory with NumPy."""

    def arrays():
        people = frame()
        born = (people["age"] * 300).to_numpy(dtype="datetime64[s]")
        return {name: people[name].to_numpy(copy=True) for name in ("age", "pay", "lat", "lon")} | {"born": born}

    def made(table):
        return shoal.anonymize(pa.table(table), k=5, places=[("lat", "lon")], types={"born": "datetime"}, method="mdav")

    changed = arrays()
    late, untouched = made(changed), made(arrays())
    for array in changed.values():
        array[:] = np.arange(300).astype(array.dtype)
    assert pa.table(changed)["pay"][1].as_py() == 1.0
    assert late.evidence == untouched.evidence
    assert late.utility == untouched.utility


def test_what_it_was_computed_from_is_let_go():
    kept = [np.zeros(3)]
    later = Later(kept.pop)
    assert later() is later()
    assert kept == []
    assert later._compute is None


def test_it_is_computed_once_by_many_threads():
    calls, start = [], threading.Barrier(4)

    def compute():
        calls.append(1)
        return object()

    later = Later(compute)

    def ask():
        start.wait()
        later()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [1]


def test_cells_are_measured_at_once():
    cells = {"age": 20, "pay": 1000}
    made = shoal.anonymize(frame()[["age", "pay"]], k=3, release="strongly-safe", cells=cells)
    assert states(made) == (DONE, DONE)
