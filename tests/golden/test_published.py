"""Our losses against the printed ones: the figures of thirty years must come out again."""

import pytest
from benchmarks.loss import measure, score
from benchmarks.published import EXACT, PATHS, RANDOM, SMALL, STARTS, cells, loss, table
from benchmarks.readings import explanation

pytestmark = pytest.mark.usefixtures("benchmark_data")

DENSITY = ("DBA", "SBM (re-implemented)")
TFRP2, DECOMPOSED = (tuple(f"{start}{step}" for start in STARTS) for step in (2, 3))
OTHERS = ("M-d", "CBFS", "μ-Approx")
# Each family is measured by one test, so that workers share nothing that takes long.
FAMILIES = (EXACT, DENSITY, PATHS, ("ONA*",), ("ONA*_gamma",), TFRP2, DECOMPOSED, OTHERS)


def small_cells():
    """Return every printed cell of a deterministic method on the small tables."""
    return [c for c in cells() if c.dataset in SMALL and c.method not in RANDOM]


def measured(methods):
    """Return ours for the cells of some methods, after every difference from print was found to be explained."""
    ours = measure([c for c in small_cells() if c.method in methods])
    assert [c for c, value in ours.items() if not c.agrees(value) and explanation(c) is None] == []
    return ours


def within(ours, share):
    """Return how many cells agree with print, to its digits or within a share, and how many there are."""
    return sum(c.agrees(value) or abs(value / c.value - 1) <= share for c, value in ours.items()), len(ours)


def test_every_cell_belongs_to_a_family():
    assert {c.method for c in small_cells()} == {method for family in FAMILIES for method in family}


def test_at_least_95_percent_of_the_cells_agree_to_the_printed_digits():
    agree, of = score(measured(EXACT), EXACT, SMALL)
    assert of > 300
    assert agree >= 0.95 * of


def test_density_and_sorting_methods_agree_but_for_one_slip():
    assert score(measured(DENSITY), DENSITY, SMALL) == (23, 24)


def test_path_methods_lie_within_one_percent_except_on_eia():
    apart = {c: abs(value / c.value - 1) for c, value in measured(PATHS).items() if c.dataset != "EIA"}
    assert len(apart) > 20
    assert {(c.dataset, c.k, c.method) for c, a in apart.items() if a > 0.01} == {("Census", 3, "NPN-MHM")}


@pytest.mark.parametrize("method", ["ONA*", pytest.param("ONA*_gamma", marks=pytest.mark.long)])
def test_ona_star_lies_within_one_percent(method):
    close, of = within(measured((method,)), 0.01)
    assert of >= 30
    assert close >= 0.95 * of


@pytest.mark.long
def test_tfrp2_agrees_to_the_printed_digits_and_its_pseudocode_loses_less():
    ours = measured(TFRP2)
    literal = {c: loss(table(c.dataset), c, reading="pseudocode") for c in ours}
    assert len(ours) == 126
    assert sum(c.equals(value) for c, value in ours.items()) == 116
    assert sum(c.equals(value) for c, value in literal.items()) == 1
    assert sum(literal[c] < value for c, value in ours.items()) == 118


@pytest.mark.long
def test_decompose_and_shrink_lies_close():
    # To the printed digits 90 % were hoped for; what keeps Tarragona from it is in the docs.
    ours = measured(DECOMPOSED)
    agree, of = score(ours, DECOMPOSED, SMALL)
    assert agree >= 0.8 * of
    assert within(ours, 0.015)[0] == of


def test_the_other_differences_are_explained():
    assert len(measured(OTHERS)) > 10


@pytest.mark.long
def test_credit_card_agrees_too():
    chosen = measure([c for c in cells() if c.dataset == "Credit Card" and c.method in EXACT])
    agree, of = score(chosen, EXACT, ("Credit Card",))
    assert agree >= 0.95 * of


@pytest.mark.long
def test_best_of_random_starts_lies_within_three_percent():
    chosen = measure(
        [c for c in cells() if c.dataset in ("Census", "Tarragona") and c.method in ("LMaS_100", "ONA_100")]
    )
    close, of = within(chosen, 0.03)
    assert close >= 0.9 * of
