"""What is written in drawings and tables of the report: zeros, axes, and the parts of an order."""

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.privacy.findings import Finding
from shoal.privacy.models import model
from shoal.release.report.demands import _bars
from shoal.release.report.drawings import heat_map, quantity


@pytest.mark.parametrize(("value", "said"), [(0.0, "0.00"), (-1.0, "{}1.00"), (1.0, "1.00"), (5e-5, "5e{}05")])
def test_a_statistic_has_the_digits_of_its_spread(value, said):
    assert quantity(value, spread=5.0) == said.format("\N{MINUS SIGN}")
    assert quantity(0.0) == "0"


@pytest.mark.filterwarnings("ignore::shoal.errors.DisclosureWarning")
def test_both_axes_are_named():
    rng = np.random.default_rng(0)
    table = pa.table({name: rng.normal(size=60) for name in "abc"})
    page = shoal.anonymize(table, k=3, method="mdav").report()
    assert page.count("axis 1 · ") == page.count("axis 2 · ") == 1


@pytest.mark.parametrize("missing", [0, 10, 90])
def test_tenths_are_those_of_the_known_values(missing):
    """Ten values in order, each as often as the others: one in each tenth, however many are missing."""
    counts = np.ones(10, np.int64)
    found = Finding(
        model=model("t-closeness t=0.5"),
        attribute="income",
        held=0.1,
        groups=1,
        rows=10 + missing,
        offending=np.empty(0, np.int64),
        offending_sizes=np.empty(0, np.int64),
        worst_group=0,
        worst_size=10 + missing,
        worst=counts,
        whole=counts,
    )
    labels = [label for label, _, _ in _bars(found, 2)]
    assert labels == [*map(str, range(1, 11)), *(["missing"] if missing else [])]


@pytest.mark.parametrize(
    ("d", "cells", "names"),
    [(2, True, True), (10, True, True), (11, False, True), (30, False, True), (31, False, False)],
)
def test_a_map_of_correlations_has_as_many_words_as_fit(d, cells, names):
    drawn = heat_map([f"name{i}" for i in range(d)], [[0.25] * d for _ in range(d)], "Correlations")
    assert drawn.count(">.25<") == (d * (d - 1) if cells else 0)
    assert drawn.count("name") == (d if names else 0)


@pytest.mark.parametrize(("value", "shade"), [(0.5, "0.5"), (-0.27, "0.25"), (1.0, "1")])
def test_a_heat_map_has_twenty_shades(value, shade):
    assert f'fill-opacity="{shade}"' in heat_map(["a", "b"], [[1.0, value], [value, 1.0]], "title")


@pytest.mark.parametrize(("d", "labelled"), [(30, True), (31, False)])
def test_a_heat_map_of_many_columns_has_no_labels(d, labelled):
    names = [f"column {i}" for i in range(d)]
    drawn = heat_map(names, [[0.0] * d] * d, "title")
    assert (">column 0 1<" in drawn) is labelled
