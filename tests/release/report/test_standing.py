"""The section on risk and use: counted on the published table, or told anyway; nothing else of the originals."""

import re
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import shoal
from shoal.release.measures.told import told_of

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.DisclosureWarning")


def people(n=600, first=77_777_771):
    rng = np.random.default_rng(4)
    return pa.table(
        {
            # Odd numbers that no mean of several is by chance, and an extreme one.
            "pay": [first, *(1_000_001 + 2 * int(x) for x in rng.integers(0, 400_000, n - 1))],
            "age": [41.5 + float(x) for x in rng.normal(0, 9, n).round(3)],
            "town": [f"town{i}x" for i in rng.integers(0, 6, n)],
            "ill": [f"ill{i}x" for i in rng.choice(4, n, p=[0.5, 0.3, 0.15, 0.05])],
            "note": [f"note{i}x" for i in range(n)],
        }
    )


def section(release):
    return re.search(r'<section id="standing">.*?</section>', release.report(), re.DOTALL)[0]


def released(table):
    known = ["pay", "age", "town"]
    return shoal.anonymize(table, k=5, method="mdav", quasi_identifiers=known, sensitive_attributes=["ill", "note"])


def test_chances_and_guesses_are_those_of_the_published_table():
    release = released(people())
    rows = release.table.to_pylist()
    groups = defaultdict(Counter)
    for row in rows:
        groups[row["pay"], row["age"], row["town"]][row["ill"]] += 1
    sizes = [sum(one.values()) for one in groups.values()]
    guessed = sum(max(one.values()) for one in groups.values()) / len(rows)
    without = max(Counter(row["ill"] for row in rows).values()) / len(rows)
    said = section(release)
    for share in (1 / min(sizes), len(sizes) / len(rows), guessed, without):
        assert f"{100 * share:.3g}\N{NO-BREAK SPACE}%" in said
    assert "about ill?" in said
    assert "about note?" not in said, "a column of many values is not guessed by the most frequent one"


def test_nothing_of_the_originals_is_in_it():
    table = people()
    said = section(released(table))
    for name in ("pay", "age", "town", "ill", "note"):
        for value in set(map(str, table.column(name).to_pylist())):
            assert value not in said
    assert "left?" not in said.replace("How much is left?", ""), "a single record makes up much of every loss"


def test_what_is_left_is_what_is_told_anyway():
    release = released(people(first=1_234_567))
    told = {name: loss for name, loss in told_of(release).by_attribute.items() if loss is not None}
    shown = dict(re.findall(r'<th scope="row">(\w+)</th><td class="number">([\d.]+)', section(release)))
    assert {name: float(share) for name, share in shown.items()} == {
        name: round(100 * (1 - loss), 4) for name, loss in told.items()
    }
    assert told


def test_few_groups_leave_the_originals_untold():
    """With 8 groups, nothing may depend on what is within them: two tables that publish the same say the same."""
    ages = [value for start in range(0, 400, 50) for value in (start, start + 10, start + 20)]
    other = [value for start in range(0, 400, 50) for value in (start + 5, start + 10, start + 15)]
    pages = []
    for values in (ages, other):
        release = shoal.anonymize(pd.DataFrame({"age": values}), k=3, method="mdav")
        pages.append((release.table["age"].tolist(), section(release)))
    assert pages[0] == pages[1]
    assert "too few groups" in pages[0][1]


def test_summaries_do_not_count_it():
    assert "still at risk" not in released(people())._repr_html_()
