"""Prices from pairs and triangles: no group undercuts them, recomputed in plain NumPy and against brute force."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest

import naive_approx
from clocks import Clock
from partitioning.strategies import points as points_of
from shoal.kernels import pair_prices as kernels
from shoal.measure.bounds import lower_bound
from shoal.partitioning import bounds, plain, regions
from shoal.partitioning import pair_prices as module
from shoal.partitioning.lloyd import ona_star
from shoal.partitioning.neighbour_bound import neighbour_prices
from shoal.partitioning.pair_prices import pair_prices
from shoal.partitioning.pool import total_cost

points = partial(points_of, spread=100)


def climbed(X, k, rounds, still=None, width=None):
    """An ascent after some rounds."""
    still = np.zeros(len(X), bool) if still is None else still
    width = min(2 * k + module.MORE, len(X) - 1) if width is None else width
    ascent = module._Ascent(X, k, still, *plain.nearest_others(X, width))
    for _ in range(rounds):
        ascent.climb(40, np.inf)
        ascent.widen()
        ascent.extend()
    return ascent


def record(called, name, method):
    """The method, which notes that it was called."""

    def noting(*arguments):
        called.append(name)
        return method(*arguments)

    return noting


def by_definition(ascent):
    """The prices of an ascent from all pairs of all records: who pays what, triangles one by one, rows sorted."""
    n, k, X = ascent.n, ascent.k, ascent.X
    skew, tau = ascent.best
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    paid, own, listed = squares / 2, np.zeros(n), np.zeros((n, n), bool)
    for i, j, more in zip(ascent.first, ascent.second, skew, strict=True):
        paid[i, j] += more
        paid[j, i] -= more
        listed[i, j] = listed[j, i] = True
    for (i, j, o), x in zip(ascent.triples, tau, strict=True):
        own[i] -= x
        for a, b, sign in ((i, j, 1), (i, o, 1), (j, o, -1)):
            assert listed[a, b]
            paid[a, b] += sign * x / 2
            paid[b, a] += sign * x / 2
    # Pairs that are not listed: what both pay at least is no more than there is.
    far = ascent.far
    absent = ~listed & ~np.eye(n, dtype=bool)
    with np.errstate(invalid="ignore"):
        assert (far[:, None] + far[None] <= squares * (1 + 1e-9))[absent].all()
    paid[absent] = np.broadcast_to(far[:, None], (n, n))[absent]
    np.fill_diagonal(paid, np.inf)
    sums = own[:, None] + np.cumsum(np.sort(paid, axis=1), axis=1)[:, : 2 * k - 2]
    prices = (sums / np.arange(2, 2 * k))[:, k - 2 :].min(axis=1)
    return np.where(ascent.still, 0.0, prices)


def least_reduced(X, k, prices):
    """The least squared error less prices of all groups of k to 2k - 1 records."""
    least = np.inf
    for size in range(k, min(2 * k - 1, len(X)) + 1):
        rows = np.array(list(combinations(range(len(X)), size)))
        members = X[rows]
        costs = ((members - members.mean(axis=1, keepdims=True)) ** 2).sum(axis=(1, 2))
        least = min(least, (costs - prices[rows].sum(axis=1)).min())
    return least


@pytest.mark.parametrize("kind", ["normal", "duplicates", "clustered"])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_prices_are_those_of_the_definition(kind, k):
    X = points(kind, 90, 3, k)
    ascent = climbed(X, k, 8)
    assert len(ascent.triples) or kind != "normal"
    expected = by_definition(ascent)
    found = ascent.prices()[0]
    scale = np.abs(expected).sum() + 1e-300
    assert (found <= expected + 1e-9 * scale).all()
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-7 * scale / len(X))
    assert found.sum() == pytest.approx(ascent.control[0], rel=1e-9)


@pytest.mark.parametrize("kind", ["normal", "duplicates", "clustered", "collinear"])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("width", [None, 4])
def test_no_group_undercuts_them(kind, k, width):
    """With few pairs listed, what lies beyond the lists decides."""
    for seed in range(2):
        X = points(kind, 11, 2, seed)
        ascent = climbed(X, k, 5, width=None if width is None else max(width, k - 1))
        prices = ascent.prices()[0]
        total = ((X - X.mean(axis=0)) ** 2).sum()
        assert least_reduced(X, k, prices) >= -1e-9 * total
        assert prices.sum() <= naive_approx.optimum(X, k) + 1e-9 * total


def test_any_division_gives_valid_prices():
    """Also a wild one, in which rounding is all that is left of the distances."""
    X = points("normal", 12, 2, 3)
    for wild in (1.0, 1e6, 1e17):
        ascent = climbed(X, 3, 3)
        rng = np.random.default_rng(5)
        ascent.best[0][:] = rng.normal(size=len(ascent.codes)) * wild
        ascent.best[1][:] = rng.random(len(ascent.tau)) * wild
        assert least_reduced(X, 3, ascent.prices()[0]) >= -1e-9


@pytest.mark.parametrize("k", [3, 5, 10])
def test_they_are_above_the_neighbours_and_below_a_partition(k):
    X = points("normal", 80, 4, k)
    prices = climbed(X, k, 12).prices()[0]
    error = total_cost(X, ona_star(X, k))
    quick = neighbour_prices(X, k).sum()
    assert quick + 0.5 * (error - quick) < prices.sum() <= error


@pytest.mark.parametrize("scale", [2.0**300, 2.0**-400, 1.0])
def test_outliers_equal_records_and_scales(scale):
    rng = np.random.default_rng(2)
    X = np.concatenate([rng.normal(size=(40, 2)), np.zeros((12, 2)), 1e9 * rng.normal(size=(3, 2)), [[1e12, 0]]])
    X = np.column_stack([X, np.ones(len(X))]) * scale
    prices = climbed(X, 3, 10).prices()[0]
    error = total_cost(X, ona_star(X, 3))
    assert np.isfinite(prices).all()
    assert neighbour_prices(X, 3).sum() * (1 - 1e-6) <= prices.sum() <= error


def test_records_that_others_stand_for_have_the_price_zero():
    X = np.concatenate([np.zeros((5, 1)), [[1.0], [1.1], [2.5], [2.6], [4.0], [7.0]]])
    still = (X == 0).all(axis=1)
    prices = climbed(X, 3, 6, still).prices()[0]
    assert (prices[still] == 0).all()
    assert least_reduced(X, 3, prices) >= -1e-9
    # The lone records pay what they cost with them.
    assert prices.sum() > neighbour_prices(X, 3)[~still].sum()


def test_whenever_it_stops_prices_are_valid(monkeypatch):
    X = points("normal", 13, 2, 1)
    for ticks in (0, 1, 2, 3, 5, 9, 20):
        Clock().give_to(monkeypatch, module)
        prices = pair_prices(X, 3, end=ticks)
        assert prices.sum() >= neighbour_prices(X, 3).sum() * (1 - 1e-6)
        assert least_reduced(X, 3, prices) >= -1e-9


@pytest.mark.parametrize("routine", [bounds, regions])
def test_compiling_does_not_count(routine, monkeypatch):
    """The first call takes long; the time is measured after it."""
    X, clock, limits = points("normal", 60, 2, 1), Clock().give_to(monkeypatch, module, routine), []

    def compiling(X, k):
        clock.now += 1000

    def climbing(X, k, still, end, *rest):
        limits.append(end - clock.now)

    monkeypatch.setattr(routine, "compile_pair_prices", compiling)
    monkeypatch.setattr(routine, "pair_prices", climbing)
    monkeypatch.setattr(bounds, "solve", lambda *_: None)
    bound = bounds.covered if routine is bounds else regions.regions_bound
    bound(X, 6, time_limit=50)
    assert len(limits) == 1
    assert limits[0] > 10


def test_a_step_compiles_everything(monkeypatch):
    called = []
    for name in ("climb", "widen", "extend", "prices"):
        monkeypatch.setattr(module._Ascent, name, record(called, name, getattr(module._Ascent, name)))
    module.compile_pair_prices(points("normal", 60, 2, 1), 3)
    assert {"climb", "widen", "extend", "prices"} <= set(called)


def test_too_many_pairs_are_left_alone(monkeypatch):
    monkeypatch.setattr(module, "MOST_PAIRS", 100)
    X = points("normal", 60, 2, 1)
    assert pair_prices(X, 3) is None
    assert 0 < lower_bound(X, 3, "regions", time_limit=5) < 1


def test_reach_is_what_all_other_records_leave():
    X = points("clustered", 50, 2, 8)
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    radii = np.sort(squares, axis=1)[:, 6]
    far = radii / 2
    expected = far.copy()
    rows = np.argsort(-radii)[:20]
    for i in rows:
        beyond = [squares[i, j] - expected[j] for j in range(50) if j != i and squares[i, j] >= max(radii[i], radii[j])]
        expected[i] = max(expected[i], min(beyond, default=0.0))
    kernels.reach(np.ascontiguousarray(X.T), rows, radii, far)
    assert far == pytest.approx(expected, rel=1e-9)
    assert (far > radii / 2).any()
