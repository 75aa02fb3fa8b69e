"""After `shoal warm`, nothing is compiled any more."""

import json
import subprocess
import sys

import shoal
from shoal.release import warming

RUNS = """
import json, warnings
import numpy as np
import shoal
from shoal.kernels.jit import told_of_compiling

warnings.simplefilter("ignore")
rng = np.random.default_rng(3)
compiled, found = [], {}


def counted(name, run):
    del compiled[:]
    try:
        run()
    except shoal.ShoalError:
        found[name] = "refused"
        return
    found[name] = len(compiled)


people = shoal.datasets.survey(120)
columns = ("region", "birth_date", "income", "diagnosis")
table = {name: people[name] for name in columns}
with told_of_compiling(lambda: compiled.append(1)):
    for method in shoal.methods():
        rows = 10 if method.optimal and not method.univariate else 70
        X = rng.normal(size=(rows, 1 if method.univariate else 5))
        options = {"max_steps": 5} if method.name == "anytime" else {}
        counted(method.name, lambda: shoal.partition(X, 4, method.name, random_state=0, **options))
    counted("large groups", lambda: shoal.partition(rng.normal(size=(300, 1)), 120, "univariate"))
    counted("auto", lambda: shoal.partition(rng.normal(size=(90, 4)), 5))
    counted("many", lambda: shoal.partition(rng.normal(size=(1500, 4)), 5, "anytime", max_steps=5, random_state=0))
    import pyarrow as pa

    X = rng.normal(size=(1600, 2))
    numbers = pa.table({"a": X[:, 0], "b": X[:, 1]})
    counted("links", lambda: shoal.risk.linkage(numbers, numbers))
    roles = dict(quasi_identifiers=["region", "birth_date", "income"], sensitive_attributes=["diagnosis"], k=4)
    for name, wish in {"none": {}, "l": {"l": 3}, "t": {"t": 0.4}}.items():
        counted(f"release {name}", lambda: shoal.anonymize(pa.table(table), **roles, **wish))
print(json.dumps(found))
"""


def test_after_warming_up_nothing_is_compiled():
    assert warming.warm_up().failed == ()
    done = subprocess.run([sys.executable, "-c", RUNS], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert set(found) >= {method.name for method in shoal.methods()} | {
        "auto",
        "many",
        "large groups",
        "links",
        "release l",
        "release t",
    }
    assert not {name: count for name, count in found.items() if count != 0}


def test_every_task_has_its_stage():
    """Parts come before what is put together from them, and each task comes once."""
    names = [name for stage in warming.stages() for name in stage]
    assert sorted(names) == sorted(warming.tasks())
    assert {f"method {method.name}" for method in shoal.methods()} <= set(names)
    assert names.index("kicks") < names.index("search") < names.index("method anytime")
    assert names.index("rule-moves") < names.index("rule-search") < names.index("release with l")


class Stub:
    """A worker that does nothing but fail at one task."""

    ended = 0

    def __init__(self, module):
        assert module == "shoal.release.warming"

    def give(self, name):
        self.name = name

    def answer(self):
        return self.name != "bounds"

    def end(self):
        Stub.ended += 1


def test_what_fails_is_named_and_all_workers_are_ended(monkeypatch):
    monkeypatch.setattr(warming.compiling, "Worker", Stub)
    told = []
    warmed = warming.warm_up(3, told.append)
    assert warmed.failed == ("bounds",)
    assert Stub.ended == 3
    assert told[-1] == 1.0


def test_without_a_folder_there_is_nothing_to_do(monkeypatch):
    monkeypatch.setattr(warming, "folder_of", lambda kernel: None)
    assert warming.warm_up() == (None, ())
