"""Correlations and principal axes, whatever the size of the numbers."""

import numpy as np
import pandas as pd
import pytest

import shoal
from shoal.release.report.drawn_groups import axes_of
from shoal.release.report.moments import ROWS, Moments, scaled, unscaled

pytestmark = pytest.mark.filterwarnings("error", "ignore::shoal.errors.DisclosureWarning")
RNG = np.random.default_rng(7)
SIZES = (5e-324, 1e-320, 1e-310, 1e-160, 1.0, 1e150, 1e300, 1.7e308)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("lowest", [-1.0, 0.0])
def test_correlations_do_not_depend_on_the_size_of_numbers(size, lowest):
    unit = np.round(RNG.uniform(lowest, 1, 200), 1)
    unit[:2] = lowest, 1
    scaled_up = (unit * 10) * (size / 10 if size > 1 else size)  # of the smallest numbers, whole multiples
    gaps = np.where(RNG.random(200) < 0.2, np.nan, scaled_up)
    other = np.round(RNG.normal(size=200), 1)
    codes = RNG.integers(-1, 4, 200)
    ranks = np.where(codes < 0, np.nan, codes)
    bounds = (float(scaled_up.min()), float(scaled_up.max()))
    constant = np.full(200, scaled_up.max())
    columns = [
        (scaled_up, bounds),
        (gaps, bounds),
        (other, (-9.0, 9.0)),
        (ranks, (0.0, 3.0)),
        (constant, bounds[1:] * 2),
    ]
    moments = Moments(5)
    moments.add(np.stack([scaled(x, limits) for x, limits in columns]))
    found = moments.correlations([0, 1, 2, 3, 4], 30)
    wanted = round(float(np.corrcoef(unit, other)[0, 1]), 2)
    assert found[0][:3] == (1.0, 1.0, pytest.approx(wanted, abs=0.011))
    assert found[4] == (None,) * 5
    assert unscaled(*moments.mean_and_deviation(4), bounds[1:] * 2) == (bounds[1], 0.0)


def test_sums_are_the_same_in_any_parts_and_give_what_numpy_gives():
    X = RNG.normal(size=(4, 20_000)).clip(-3, 3) / 3
    X[1] = 0.7 * X[0] + 0.3 * X[1]
    X[2, RNG.random(20_000) < 0.2] = np.nan
    whole, parts = Moments(4), [Moments(4), Moments(4)]
    for start in range(0, 20_000, ROWS):
        whole.add(X[:, start : start + ROWS])
    for at, start in enumerate(range(0, 20_000, 777)):
        parts[at % 2].add(X[:, start : start + 777])
    parts[1].merge(parts[0])
    for one in ("n", "first", "second", "product"):
        assert (getattr(whole, one) == getattr(parts[1], one)).all()
    there = ~np.isnan(X[2])
    assert whole.correlations([0, 1, 2], 1)[0][1] == round(float(np.corrcoef(X[0], X[1])[0, 1]), 2)
    assert whole.correlations([1, 2], 1)[0][1] == round(float(np.corrcoef(X[1, there], X[2, there])[0, 1]), 2)
    assert whole.mean_and_deviation(2) == pytest.approx((X[2, there].mean(), X[2, there].std()), abs=1e-11)


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e150])
def test_axes_do_not_depend_on_the_size_of_numbers(size):
    X = np.random.default_rng(1).uniform(-1, 1, (200, 3)) * [1, 0.5, 0.25]
    sizes = np.full(200, 4)
    assert axes_of(X * size, sizes, 4).shares == axes_of(X, sizes, 4).shares


VALUES = {
    "smallest": RNG.integers(1, 100, 90) * 1e-320,
    "the smallest or none": np.where(RNG.random(90) < 0.5, 5e-324, 0.0),
    "largest": RNG.uniform(-1, 1, 90) * 1e150,
    "of all sizes": 10.0 ** RNG.uniform(-300, 149, 90),
    "one far away": np.r_[np.zeros(89), 1e150],
    "constant": np.full(90, 1e-310),
    "zeros of both signs": np.where(RNG.random(90) < 0.5, -0.0, 0.0),
    "hardly any": np.where(RNG.random(90) < 0.95, np.nan, 1e-315),
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("how", ["mean", "median", "interval"])
def test_reports_of_extreme_numbers(name, how):
    table = pd.DataFrame({"x": VALUES[name], "y": VALUES["largest"], "z": RNG.normal(size=90)})
    names = ["x", "y", "z"]
    release = shoal.anonymize(table, k=3, method="mdav", quasi_identifiers=names, representatives={"x": how})

    assert "</html>" in release.report()


@pytest.mark.parametrize(("n", "told"), [(29, False), (30, True)])
def test_a_correlation_is_told_of_ten_times_k_records(n, told):
    x = np.arange(float(n))
    moments = Moments(2)
    moments.add(np.stack([scaled(x, (0.0, 40.0)), scaled(x * x, (0.0, 900.0))]))
    assert (moments.correlations([0, 1], 30)[0][1] is not None) is told
