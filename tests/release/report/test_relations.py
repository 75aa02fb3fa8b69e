"""Correlations and principal axes, whatever the size of the numbers."""

import numpy as np
import pandas as pd
import pytest

import shoal
from shoal.release.report.relations import Related, axes_of, correlations_of

pytestmark = pytest.mark.filterwarnings("error", "ignore::shoal.errors.DisclosureWarning")
RNG = np.random.default_rng(7)
SIZES = (5e-324, 1e-320, 1e-310, 1e-160, 1.0, 1e150, 1e300, 1.7e308)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("lowest", [-1.0, 0.0])
def test_correlations_do_not_depend_on_the_size_of_numbers(size, lowest):
    unit = np.round(RNG.uniform(lowest, 1, 200), 1)
    unit[:2] = lowest, 1
    scaled = (unit * 10) * (size / 10 if size > 1 else size)  # of the smallest numbers, whole multiples
    gaps = np.where(RNG.random(200) < 0.2, np.nan, scaled)
    other = np.round(RNG.normal(size=200), 1)
    codes = RNG.integers(-1, 4, 200)
    bounds = (float(scaled.min()), float(scaled.max()))
    constant = np.full(200, scaled.max())
    found = correlations_of(
        [
            Related("x", scaled, scaled, bounds),
            Related("gaps", gaps, gaps, bounds),
            Related("other", other, other, (-9.0, 9.0)),
            Related("codes", codes, codes.astype(float), (0.0, 3.0)),
            Related("constant", constant, constant, (bounds[1], bounds[1])),
        ],
        3,
    )
    wanted = round(float(np.corrcoef(unit, other)[0, 1]), 2)
    assert found.before == found.after
    assert found.before[0][:3] == (1.0, 1.0, pytest.approx(wanted, abs=0.011))
    assert found.before[4] == (None,) * 5


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
    found = correlations_of([Related("x", x, x, (0.0, 40.0)), Related("y", x * x, x * x, (0.0, 900.0))], 3)
    assert (found.before[0][1] is not None) is told
