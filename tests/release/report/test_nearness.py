"""How far a release is from the best possible: with blocks, strata, units, weights; and how that is said."""

import json
from dataclasses import replace
from math import inf

import numpy as np
import pyarrow as pa
import pytest

import shoal
from clocks import PATIENCE
from shoal import Plan
from shoal.estimator import standardized
from shoal.measure import certificates
from shoal.release.report.facts import by_the_clock
from shoal.release.report.nearness import Nearness, at_most

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.DisclosureWarning")
RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 3)) @ RNG.normal(size=(3, 3))


def table(**more):
    return pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], **more})


def many(**more):
    """Return enough rows that figures are told."""
    rng = np.random.default_rng(5)
    return pa.table({**{name: rng.uniform(size=400) for name in "abc"}, **more})


def released(k=4, table=None, **fields):
    fields = {"method": "mdav", "quasi_identifiers": ["a", "b", "c"], **fields}
    return shoal.anonymize(globals()["table"]() if table is None else table, k=k, **fields)


def test_the_bound_is_that_of_the_coordinates():
    release = released()
    assert release.loss == pytest.approx(shoal.information_loss(standardized(X), release.labels), rel=1e-9)
    assert release.lower_bound == pytest.approx(shoal.lower_bound(standardized(X), 4), rel=1e-9)
    assert release.gap == pytest.approx(release.loss / release.lower_bound - 1, rel=1e-12)
    assert "bounding" in release.timings


def test_importance_enters_as_it_does_into_the_loss():
    weighed = standardized(X) * np.sqrt([5.0, 1.0, 0.0])
    release = released(importance={"a": 5, "c": 0})
    assert release.loss == pytest.approx(shoal.information_loss(weighed, release.labels), rel=1e-9)
    assert release.lower_bound == pytest.approx(shoal.lower_bound(weighed, 4), rel=1e-9)


def test_no_bound_is_above_what_can_be_had():
    """k = 2, where the optimum can be proven, under every demand."""
    optimum = released(2, method="exact", time_limit=PATIENCE)
    assert optimum.gap == 0
    assert optimum.lower_bound == optimum.loss
    more = table(s=[i % 2 for i in range(60)], u=[i // 2 for i in range(60)])
    roles = {"quasi_identifiers": ["a", "b", "c"], "method": "exact", "time_limit": PATIENCE}
    for demand in ({"stratum": "s", "other": "u"}, {"unit": "u", "other": "s"}):
        for bound in ("quick", "lp"):
            release = shoal.anonymize(more, k=2, **roles, **demand, bound=bound)
            assert 0 < release.lower_bound <= release.loss * (1 + 1e-9)
            assert release.loss >= optimum.loss * (1 - 1e-9)
        # Merged for the sake of units, an optimum is none any more.
        assert (release.gap == 0) == ("stratum" in demand)


def test_better_bounds_are_better():
    quick, better = released(2), released(2, bound="lp", time_limit=None)
    assert quick.lower_bound < better.lower_bound < better.loss
    assert better.lower_bound == pytest.approx(released(2, method="exact", time_limit=PATIENCE).loss, rel=1e-3)


def test_blocks_are_bounded_one_by_one():
    release = released(blocks=[["a", "b"], ["c"]])
    Z = standardized(X)
    pair, single = shoal.lower_bound(Z[:, :2], 4), shoal.lower_bound(Z[:, 2:], 4)
    assert release.lower_bound == pytest.approx((2 * pair + single) / 3, rel=1e-9)
    assert release.lower_bound < release.loss
    # Each column by itself is grouped optimally.
    each = released(blocks="each", method="auto")
    assert each.gap == 0
    assert each.lower_bound < released().lower_bound


def test_what_is_not_known_is_said(monkeypatch):
    weighted = many(w=RNG.uniform(1, 2, 400))
    for release, short, full in (
        (released(table=many(), bound="none"), None, None),
        (
            released(table=weighted, weight="w"),
            "unknown: there is no bound on a weighted loss",
            "there is no bound on a weighted loss",
        ),
    ):
        assert release.lower_bound is None
        assert release.gap is None
        assert release.record["gap"] is release.certificate["figures"]["gap"] is None
        page = release.report()
        assert ("best possible" in page) == (full is not None)
        if full is not None:
            assert full in page
        assert Nearness.of(release).in_short == (short or "")
    monkeypatch.setattr(certificates, "QUICK_SECONDS", 1.0)
    large = released(table=many())
    assert large.lower_bound is None
    assert "too large to compute a bound in the time" in large.report()
    assert released(method="auto", time_limit=2000).lower_bound is not None  # who has the time gets the bound


def test_a_bound_of_nothing():
    """Every record has k - 1 equal ones, but those cannot be shared by all of them."""
    twins = pa.table({"a": np.repeat([0.0, 1.0, 2.0], 2), "b": np.repeat([0.0, 3.0, 1.0], 2)})
    release = shoal.anonymize(twins, k=3, method="mdav")
    assert release.lower_bound > 0
    release = shoal.anonymize(twins, k=2, method="mdav")
    assert (release.loss, release.lower_bound, release.gap) == (0, 0, 0)
    triples = pa.table({"a": [0.0] * 3 + [1.0] * 3 + [9.0], "b": [0.0] * 3 + [1.0] * 3 + [9.0]})
    release = shoal.anonymize(triples, k=2, method="mdav")
    assert 0 < release.lower_bound <= release.loss


def test_the_record_has_bound_and_gap():
    release = released(table=many())
    said = json.loads(json.dumps(release.record, allow_nan=False))
    assert said["lower_bound"] == release.lower_bound
    assert said["gap"] == release.gap
    assert "highspy" in said["versions"]
    endless = replace(release, lower_bound=0.0)
    assert endless.gap == inf
    assert endless.record["gap"] is endless.certificate["figures"]["gap"] is None
    assert "the computed bound is 0" in endless.report()


def test_the_report_says_it_in_plain_words():
    release = released(table=many())
    figures, page = release.certificate["figures"], release.report()
    assert release.losses.digits == 1
    assert release.gap <= figures["gap"] == pytest.approx(release.gap, rel=1) == round(figures["gap"], 1)
    assert figures["lower_bound"] <= release.lower_bound
    assert f"at most {at_most(figures['gap'], 1)} above the best possible" in page
    assert f"any groups of at least 4 records lose {100 * figures['lower_bound']:g}" in page
    assert "This bound is rough" in page
    column = pa.table({"a": many()["a"]})
    best = shoal.anonymize(column, k=4, method="univariate").report()
    assert "proven to be the best possible" in best
    assert "This bound is rough" not in best
    # Of few groups, not even this is told.
    assert "best possible" not in released(2, method="exact").report()


@pytest.mark.parametrize(
    ("fraction", "words"),
    [
        (0.0, "0"),
        (0.123401, "12.4"),
        (0.05, "5.00"),
        (0.00012, "0.012"),
        (1e-7, "0.001"),
        (15.5501, "1,556"),
        (1.0, "100"),
    ],
)
def test_what_is_at_most_is_rounded_up(fraction, words):
    assert at_most(fraction) == f"{words}\N{NO-BREAK SPACE}%"


@pytest.mark.parametrize(
    ("fields", "clock"),
    [
        ({}, False),
        ({"time_limit": 5}, True),
        ({"refine": "anytime"}, True),
        ({"method": "mdav"}, False),
        ({"method": "mdav", "refine": "anytime"}, True),
        ({"method": "anytime"}, True),
        ({"method": "anytime", "options": {"max_steps": 5}}, False),
        ({"method": "anytime", "options": {"max_steps": 5}, "time_limit": 5}, True),
        ({"method": "exact", "time_limit": 5}, False),
    ],
)
def test_what_the_clock_may_end(fields, clock):
    assert by_the_clock(Plan.of(**fields)) is clock
