"""What README and documentation claim about measurements is what the pages of measurements say."""

import re
from pathlib import Path

import pytest
from benchmarks.__main__ import MODULES
from benchmarks.published import CLASSICAL, TABLES

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
HEADLINE = (
    r"Of (\d+) printed figures(?: of the classical methods)?, (\d+) \((\d+) %\) come out to the last digit and "
    r"(\d+) \((\d+) %\) within one unit of it"
)


def golden():
    return (REFERENCE / "golden.md").read_text(encoding="utf-8")


def claimed(text):
    """Return the numbers of the first claim: figures, equal, per cent, within one unit, per cent."""
    found = re.search(HEADLINE, " ".join(text.split()))
    assert found, "no claim about printed figures"
    return [int(number) for number in found.groups()]


def test_the_golden_page_counts_its_own_tables():
    count = equal = agree = 0
    for name, section in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", golden(), re.MULTILINE | re.DOTALL):
        for row in section.splitlines() if name in TABLES else ():
            cells = [cell.strip() for cell in row.strip("|").split("|")]
            if cells[0] in CLASSICAL:
                for ours, printed in re.findall(r"([\d.]+)\**? \(([\d.]+)\)", row):
                    apart = abs(int(ours.replace(".", "")) - int(printed.replace(".", "")))
                    count, equal, agree = count + 1, equal + (apart == 0), agree + (apart <= 1)
    assert claimed(golden()) == [count, equal, round(100 * equal / count), agree, round(100 * agree / count)]


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_share_of_printed_figures_is_that_of_the_golden_page(page):
    assert claimed((ROOT / page).read_text(encoding="utf-8")) == claimed(golden())


@pytest.mark.parametrize("page", MODULES)
def test_every_page_of_measurements_names_its_commit(page):
    text = (REFERENCE / f"{page}.md").read_text(encoding="utf-8")
    assert re.search(r"^Measured .*commit `[0-9a-f]{7,}` of \d{4}-\d\d-\d\d", text, re.MULTILINE)
    assert "A quick run" not in text
