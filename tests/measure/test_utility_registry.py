"""The registry of measures of utility, and what is made from it."""

import dataclasses
import inspect
import re
from pathlib import Path

import pytest

from shoal import measure

# Measures of a partition, which have a page of their own.
OF_PARTITIONS = {
    *("average_group_size", "certainty_penalty", "closeness_utility", "discernability", "gap", "group_sizes"),
    *("information_loss", "lower_bound", "sse", "sst", "total_information_loss"),
}


def test_every_measure_is_registered_once():
    functions = {name for name in measure.__all__ if inspect.isfunction(getattr(measure, name))}
    assert sorted(one.name for one in measure.measures()) == sorted(functions - OF_PARTITIONS - {"measures"})
    assert {one.kind for one in measure.measures()} == {"numbers", "relations", "work"}


@pytest.mark.parametrize("one", measure.measures(), ids=lambda one: one.name)
def test_an_entry_is_what_it_says(one):
    assert one.load() is getattr(measure, one.name)
    for field in dataclasses.fields(one):
        assert getattr(one, field.name).strip()
    assert re.search(r"\d{4}", one.paper)
    assert one.question.endswith("?")
    kind = getattr(measure, inspect.signature(one.load()).return_annotation)
    for name in re.findall(r"\w+", one.figure):
        assert name in kind.__annotations__ or isinstance(getattr(kind, name), property), name
    assert kind.__dataclass_params__.frozen


def test_the_page_has_every_measure():
    page = Path(__file__).resolve().parents[2] / "docs" / "reference" / "utility.md"
    text = page.read_text(encoding="utf-8")
    for one in measure.measures():
        assert f"### `{one.name}` " in text
        assert one.question in text
