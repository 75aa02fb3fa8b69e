"""The registry of measures, and what is made from it."""

import dataclasses
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal import risk

FUNCTIONS = [name for name in risk.__all__ if inspect.isfunction(getattr(risk, name)) and name != "measures"]


def test_every_measure_is_registered_once():
    assert sorted(one.name for one in risk.measures()) == sorted(FUNCTIONS)
    assert {one.kind for one in risk.measures()} == {"keys", "links", "attributes"}


@pytest.mark.parametrize("one", risk.measures(), ids=lambda one: one.name)
def test_an_entry_is_what_it_says(one):
    assert one.load() is getattr(risk, one.name)
    for field in dataclasses.fields(one):
        assert getattr(one, field.name).strip()
    assert re.search(r"\d{4}", one.paper)
    assert one.question.endswith("?")
    kind = getattr(risk, re.sub(r"tuple\[(\w+), \.\.\.\]", r"\1", inspect.signature(one.load()).return_annotation))
    for name in re.findall(r"\w+", one.figure):
        assert name in kind.__annotations__ or isinstance(getattr(kind, name), property), name
    assert kind.__dataclass_params__.frozen


def test_the_page_has_every_measure():
    page = Path(__file__).resolve().parents[2] / "docs" / "reference" / "risk.md"
    text = page.read_text(encoding="utf-8")
    for one in risk.measures():
        assert f"### `{one.name}` " in text
        assert one.question in text


def test_the_weighted_example_of_the_explanation():
    """docs/explanation/risk.md: a sample unique of weight 100."""
    import pyarrow as pa

    found = shoal.risk.individual_risk(pa.table({"key": [1], "w": [100.0]}), ["key"], "w").record
    np.testing.assert_allclose(found, 0.047, atol=5e-4)
