"""No bound is claimed for an attribute of many levels where values are missing."""

import numpy as np
import pytest

from shoal.tables.embedding import spread_of
from shoal.tables.values import Codes


@pytest.mark.parametrize("missing", [1, 2, 5])
def test_groups_of_equal_values_lose_nothing_and_no_bound_says_otherwise(missing):
    codes = np.repeat([0, 1, 2, -1], [2, 2, 2, missing])
    spread = spread_of(Codes(codes, ("a", "b", "c")), kind="nominal", hierarchy=None, coordinates=0)
    assert spread.squared_error(np.repeat([0, 1, 2, 3], [2, 2, 2, missing])) == pytest.approx(0.0, abs=1e-12)
    assert spread.least_error(2) == 0.0
