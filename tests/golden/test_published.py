"""Our losses against the printed ones: the figures of thirty years must come out again."""

import pytest
from benchmarks.loss import measure, score
from benchmarks.published import EXACT, PATHS, RANDOM, SMALL, STARTS, cells, loss, table
from benchmarks.readings import explanation

# One worker for all: what they share takes two minutes.
pytestmark = [pytest.mark.usefixtures("benchmark_data"), pytest.mark.xdist_group("golden")]


@pytest.fixture(scope="module")
def found():
    """Return ours for every printed cell of a deterministic method on the small tables."""
    return measure([c for c in cells() if c.dataset in SMALL and c.method not in RANDOM])


def within(found, methods, share):
    """Return how many cells of `methods` agree with print, to its digits or within a share, and how many there are."""
    chosen = [c for c in found if c.method in methods]
    return sum(c.agrees(found[c]) or abs(found[c] / c.value - 1) <= share for c in chosen), len(chosen)


def test_at_least_95_percent_of_the_cells_agree_to_the_printed_digits(found):
    agree, of = score(found, EXACT, SMALL)
    assert of > 300
    assert agree >= 0.95 * of


def test_density_and_sorting_methods_agree_but_for_one_slip(found):
    agree, of = score(found, ("DBA", "SBM (re-implemented)"), SMALL)
    assert (agree, of) == (23, 24)


def test_path_methods_lie_within_one_percent_except_on_eia(found):
    apart = {c: abs(ours / c.value - 1) for c, ours in found.items() if c.method in PATHS and c.dataset != "EIA"}
    assert len(apart) > 20
    assert {(c.dataset, c.k, c.method) for c, a in apart.items() if a > 0.01} == {("Census", 3, "NPN-MHM")}


def test_ona_star_lies_within_one_percent(found):
    close, of = within(found, ("ONA*",), 0.01)
    assert of >= 30
    assert close >= 0.95 * of


def test_ona_star_gamma_lies_within_one_percent(found):
    close, of = within(found, ("ONA*_gamma",), 0.01)
    assert of >= 30
    assert close >= 0.95 * of


def test_tfrp2_agrees_to_the_printed_digits(found):
    agree, of = score(found, tuple(f"{start}2" for start in STARTS), SMALL)
    assert of == 126
    assert agree >= 0.9 * of


def test_the_pseudocode_of_tfrp2_does_not_give_the_printed_figures_but_lower_ones(found):
    chosen = [c for c in found if c.method in {f"{start}2" for start in STARTS}]
    literal = {c: loss(table(c.dataset), c, reading="pseudocode") for c in chosen}
    assert len(chosen) == 126
    assert sum(c.equals(found[c]) for c in chosen) == 116
    assert sum(c.equals(literal[c]) for c in chosen) == 1
    assert sum(literal[c] < found[c] for c in chosen) == 118


def test_decompose_and_shrink_lies_close(found):
    # To the printed digits 90 % were hoped for; what keeps Tarragona from it is in the docs.
    methods = tuple(f"{start}3" for start in STARTS)
    agree, of = score(found, methods, SMALL)
    assert agree >= 0.8 * of
    assert within(found, methods, 0.015)[0] == of


def test_every_other_difference_is_explained(found):
    silent = [c for c, ours in found.items() if not c.agrees(ours) and explanation(c) is None]
    assert silent == []


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
    close, of = within(chosen, RANDOM, 0.03)
    assert close >= 0.9 * of
