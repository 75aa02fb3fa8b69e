"""Pages of measurements say where they come from."""

import re
import shutil
import subprocess

import pytest
from benchmarks import engine, pages


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Return a folder that pages take for the checkout."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "BEGIN", float("inf"))  # no run time, which would depend on the tests before
    monkeypatch.setattr(pages, "PAGES", tmp_path / "docs")
    for folder in ("src", "benchmarks", "docs"):
        (tmp_path / folder).mkdir()
    pages.origin.cache_clear()
    yield tmp_path
    pages.origin.cache_clear()


@pytest.fixture
def committed(checkout):
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    (checkout / "src" / "code.py").write_text("x = 1\n")
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
    for command in (("init",), ("add", "."), (*who, "commit", "-m", "Begin")):
        subprocess.run(["git", *command], cwd=checkout, check=True, capture_output=True)
    return checkout


def test_a_page_names_the_commit_it_was_measured_on(committed):
    (committed / "docs" / "other.md").write_text("a page that another benchmark wrote")
    (committed / "benchmarks" / "records.json").write_text("{}")
    table = pages.Table("Seconds", "Of a run.", ["Method", "s"])
    table.add("mdav", 1)
    pages.publish("some-page", "A page", "What it is.\n", [table], quick=False)
    text = (committed / "docs" / "some-page.md").read_text(encoding="utf-8")
    assert text.startswith(
        "# A page\n\n<!-- Written by `python -m benchmarks.some_page`. Do not edit. -->\n\nWhat it is."
    )
    assert re.search(
        r"^Measured on [\d-]{10} on commit `[0-9a-f]{7,}` of [\d-]{10}, clean tree\. Machine: ", text, re.M
    )
    assert "A quick run" not in text
    assert text.endswith("## Seconds\n\nOf a run.\n\n| Method | s |\n|---|---:|\n| mdav | 1 |\n")


@pytest.mark.parametrize("file", ["code.py", "new.py"])
def test_uncommitted_changes_of_the_code_are_told(committed, file):
    (committed / "src" / file).write_text("x = 2\n")
    assert pages.origin().endswith("with uncommitted changes.")


def test_a_quick_page_outside_a_checkout_says_both(checkout):
    pages.write("quick", "Quick", ["Intro.\n"], ["Text."], quick=True, module="other")
    text = (checkout / "docs" / "quick.md").read_text(encoding="utf-8")
    assert "benchmarks.other`" in text
    assert re.search(r"A quick run.*\n\nMeasured on [\d-]{10}, outside a git checkout\.", text)


def test_a_table_of_an_earlier_run_names_its_own_origin():
    table = pages.Table("Old", "Text.", ["a"], [["1"]], origin="Measured on commit `abcdef0`.")
    assert table.markdown().startswith("## Old\n\nMeasured on commit `abcdef0`.\n\nText.")


def test_sections_that_stay_on_the_page_of_the_engine_name_their_own_origin(checkout, monkeypatch):
    monkeypatch.setattr(engine, "PAGES", checkout)
    before = "Measured on 2026-01-02 on commit `abcdef0` of 2026-01-01, clean tree."
    (checkout / "engine.md").write_text(f"# Title\n\nIntro.\n\n{before} Machine: any.\n\n## Scale\n\nText.\n\n| n |\n")
    kept = engine.earlier(quick=False)
    assert {letter: table.markdown() for letter, table in kept.items()} == {
        "c": f"## Scale\n\n{before}\n\nText.\n\n| n |\n"
    }
    assert engine.earlier(quick=True) == {}
