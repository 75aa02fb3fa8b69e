"""The mutation run: changes are what they are said to be, meet the tests that run them, and can do no damage."""

import os
import random
import subprocess
import sys
from collections import Counter

import pytest
from benchmarks import confinement
from benchmarks.mutant_tests import Coverage, statements

CODE = '''\
"""A module."""
from __future__ import annotations

LIMIT: int | None = 3


def f(x: int | None, y: list[int] | str) -> int | None:
    if (
        x is None
        or y
    ):
        check(x)
    for _, _ in zip(y, y, strict=True):
        pass
    return x + 1
'''


def test_statements_are_known_by_all_their_lines():
    assert statements(CODE) == {
        **dict.fromkeys((8, 9, 10, 11), range(8, 12)),
        12: range(12, 13),
        13: range(13, 14),
        14: range(14, 15),
        15: range(15, 16),
    }


def test_a_place_meets_the_tests_that_run_its_statement_the_quickest_first(tmp_path):
    (tmp_path / "m.py").write_text(CODE)
    by_line = {4: [], 8: ["slow", "quick"], 12: ["slow"], 15: ["quick", "fails"]}
    coverage = Coverage({"quick": 0.1, "slow": 2.0}, {"m.py": by_line})
    assert coverage.of(tmp_path, "m.py", 10, 10) == ["quick", "slow"]
    assert coverage.of(tmp_path, "m.py", 12, 12) == ["slow"]
    assert coverage.of(tmp_path, "m.py", 15, 15) == ["quick"]
    assert coverage.of(tmp_path, "m.py", 4, 4) == ["quick", "slow"]  # loaded with the module, so run by all
    assert Coverage({}, {}).of(tmp_path, "m.py", 12, 12) == []


@pytest.mark.skipif(not confinement.version(), reason="this system has no Landlock")
def test_a_confined_process_changes_nothing_outside_its_folder(tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "old").write_text("old")
    script = (
        "import os, subprocess, sys; from pathlib import Path; from benchmarks.confinement import confine\n"
        "inside, outside = map(Path, sys.argv[1:]); confine(inside)\n"
        "(inside / 'new').write_text('new'); os.replace(inside / 'new', inside / 'old')\n"
        "print((outside / 'old').read_text())\n"
        "for act in (lambda: (outside / 'old').write_text('x'), (outside / 'old').unlink,\n"
        "            lambda: os.truncate(outside / 'old', 0), (outside / 'new').touch, (outside / 'new').mkdir,\n"
        "            lambda: os.rename(outside / 'old', inside / 'x'),\n"
        "            lambda: os.rename(inside / 'old', outside / 'x'),\n"
        "            lambda: subprocess.run(['rm', outside / 'old'], stderr=subprocess.DEVNULL, check=True)):\n"
        "    try:\n"
        "        act()\n"
        "    except (OSError, subprocess.CalledProcessError):\n"
        "        print('refused')\n"
    )
    command = [sys.executable, "-c", script, inside, outside]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": "."})
    assert done.stdout.split() == ["old", *["refused"] * 8]
    assert (outside / "old").read_text() == "old"
    assert [path.name for path in outside.iterdir()] == ["old"]
    assert (inside / "old").read_text() == "new"


@pytest.fixture
def mutations():
    pytest.importorskip("cosmic_ray", reason="the extra 'mutants' is not installed")
    from benchmarks import mutations

    return mutations


def test_changes_of_a_module(mutations, tmp_path):
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "m.py").write_text(CODE)
    found = mutations.drawn(tmp_path, ["some"], random.Random(0))
    assert found == mutations.drawn(tmp_path, ["some"], random.Random(0))
    assert found != mutations.drawn(tmp_path, ["some"], random.Random(1))
    assert len({position for _, position, _ in found}) == len(found)
    ways = [(position, way) for position, ways in mutations.places(CODE).items() for way in ways]
    made = [mutations.mutant(tmp_path, "some/m.py", *one) for one in ways]
    assert all(one is None or one.before in " ".join(CODE.split()) for one in made)
    changes = Counter((one.before, one.after) for one in made if one is not None)
    assert changes[("check(x)", "pass")] == 1
    assert changes[("or y", "")] == 1
    assert changes[("x is None", "x is not None")] == 1
    assert changes[("return x + 1", "return x - 1")] == 1
    assert not any("def f" in before for before, _ in changes)  # annotations are not run
    assert not any("strict=False" in after for _, after in changes)


def test_what_is_no_change_is_no_mutant(mutations, tmp_path):
    (tmp_path / "m.py").write_text("x = 1\n")
    assert mutations.mutant(tmp_path, "m.py", ((1, 4), (1, 5)), ("NumberReplacer", 99)) is None


def test_every_reason_is_one_of_a_place_that_is_there():
    """An entry whose line has gone or was changed says nothing any more."""
    pytest.importorskip("cosmic_ray", reason="the extra 'mutants' is not installed")
    from benchmarks.mutants import judged
    from benchmarks.pages import ROOT

    for (module, before, _), why in judged().items():
        assert before.partition("  #")[0] in " ".join((ROOT / "src" / "shoal" / module).read_text().split()), module
        assert len(why) > 20
