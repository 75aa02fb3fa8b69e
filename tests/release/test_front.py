"""The front against its definition, and the map of finished releases and of methods."""

import re
import stat

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import OptionError, ShoalError
from shoal.release.front import Comparison, front_of

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.DisclosureWarning")


def plain_front(points):
    """Return whether no other point is at least as low in both and lower in one, by comparing all pairs."""
    return [
        not any(other[0] <= one[0] and other[1] <= one[1] and tuple(other) != tuple(one) for other in points)
        for one in points
    ]


def test_the_front_is_that_of_all_pairs():
    rng = np.random.default_rng(0)
    for trial in range(300):
        n = int(rng.integers(1, 13))
        # Few different values, so that there are ties in one figure and in both.
        points = [tuple(map(float, row)) for row in rng.integers(0, 2 + trial % 6, (n, 2))]
        assert front_of(points) == plain_front(points)
    assert front_of([]) == []


@pytest.fixture(scope="module")
def compared():
    rng = np.random.default_rng(2)
    age = rng.normal(40, 10, 90).round()
    people = pa.table({"age": age, "pay": (age * 60 + rng.normal(0, 500, 90)).round(), "sex": ["f", "m"] * 45})
    releases = [shoal.anonymize(people, k=k, method="mdav").table for k in (3, 6, 12)]
    ranges = shoal.anonymize(people, k=3, method="mdav", release="local-recoding").table
    return people, shoal.compare_releases(people, [*releases, ranges], ["age", "pay", "sex"])


def test_the_map_of_releases(compared, tmp_path):
    people, found = compared
    assert len(found) == 4
    assert [one.k for one in found] == [3, 6, 12, 3]
    (first, *_) = found.points
    assert first.risk == shoal.risk.linkage(people, shoal.anonymize(people, k=3, method="mdav").table).correct
    assert first.cost == found[0].loss
    assert found.left_out == ("release 4, k = 3",), (
        "ranges have no distance from a number, and links by the others alone seem too rare"
    )
    assert [one.k for one in found.front] == [3, 6, 12]
    page = found.map(tmp_path / "map.html")
    assert stat.S_IMODE((tmp_path / "map.html").stat().st_mode) == 0o600
    assert (tmp_path / "map.html").read_text(encoding="utf-8") == page
    assert "For the data holder" in page
    assert len(re.findall("<circle", page)) == 3
    assert re.search(r"<title id=\"map-title\">.*</title><desc id=\"map-words\">", page)
    assert not re.search(r"(?:src|href)=|https?:|@import|url\(|<script", page)
    with pytest.raises(ShoalError):
        found.map(tmp_path / "map.html")


def test_names_of_releases_are_escaped():
    page = Comparison(["x"], ['<b>"&'], lambda at, wanted: {"linkage": 0.1, "loss": 0.2}).map()
    assert "<b>" not in page.replace("&lt;b&gt;", "")


def test_other_figures_and_bad_ones(compared):
    people, _ = compared
    release = shoal.anonymize(people, k=3, method="mdav").table
    by_keys = shoal.compare_releases(people, [release], ["age", "pay", "sex"], risk="average_risk", utility="distance")
    ((_, risk, cost, front),) = by_keys.points
    assert (risk, front) == (by_keys[0].groups / 90, True)
    assert cost == shoal.assess(people, release, ["age", "pay", "sex"])["distance"]["average"]
    for wrong in ({"risk": "linkge"}, {"utility": "variance_kept"}, {"risk": "loss"}, {"risk": "l"}):
        with pytest.raises(OptionError):
            shoal.compare_releases(people, [release], ["age", "pay", "sex"], **wrong)
