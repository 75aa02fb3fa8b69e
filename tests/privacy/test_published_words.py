"""A published text that is a value of the population stands for that value, whatever else it looks like."""

import pyarrow as pa
import pytest

from shoal.privacy.population import population_counts

LEVELS = ("a", "b", "c", "[a, c]", "{a, b}")
PEOPLE = pa.table({"grade": ["a"] * 2 + ["b"] * 3 + ["c"] * 4 + ["[a, c]"] * 5 + ["{a, b}"] * 6})


@pytest.mark.parametrize(("word", "matches"), [("a", 2), ("[a, c]", 5), ("{a, b}", 6), ("[b, c]", 7), ("{a, c}", 6)])
def test_a_level_comes_before_an_interval_and_a_set(word, matches):
    counted = population_counts(pa.table({"grade": [word] * 2}), PEOPLE, ["grade"], levels={"grade": LEVELS})
    assert counted.matches.tolist() == [matches]
