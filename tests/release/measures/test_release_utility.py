"""The units of recoding schemes in releases: those of the groups, suppression and removed records included."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from invariants import plain_columns
from shoal.measure import average_group_size, discernability
from shoal.measure.utility import certainty_penalty, total_information_loss

pytestmark = pytest.mark.filterwarnings("error", "ignore::shoal.errors.DisclosureWarning")
JOBS = {"*": {"doctor": ["dentist", "surgeon"], "craft": ["baker", "painter", "electrician"]}}
# Thaeter (2021), table 2.1.
TEST_DATA = pa.table({"a": [3, 6, 9, 9, 12, 12], "b": [6, 3, 3, 3, 6, 9]})


def people(n=90, seed=3):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(20, 70, n),
            "pay": np.where(rng.random(n) < 0.1, np.nan, np.round(rng.normal(3000, 900, n), 2)),
            "sex": rng.choice(["f", "m"], n),
            "town": rng.choice(["a", "b", "c", "d"], n),
            "grade": rng.choice(["low", "mid", "high"], n),
            "job": rng.choice(["dentist", "surgeon", "baker", "painter"], n),
        }
    )


FIELDS = {"hierarchies": {"job": JOBS}, "levels": {"grade": ["low", "mid", "high"]}, "method": "mdav", "n_jobs": 1}


def by_the_measures(table, labels, **options):
    """Return both penalties, straight from the columns."""
    columns = {name: table[name] for name in table.column_names}
    ranks = {"low": 0, "mid": 1, "high": 2}
    if "grade" in columns:
        columns["grade"] = [ranks[word] for word in table["grade"].to_pylist()]
    trees = {"job": shoal.Hierarchy.from_nested(JOBS)} if "job" in columns else {}
    return [unit(columns, labels, hierarchies=trees, **options) for unit in (certainty_penalty, total_information_loss)]


def test_the_worked_values_of_the_dissertation():
    """T table 3.1: both groupings have C_DM 18 and C_AVG 1, their NCP is 5.5 and 7.5."""
    one = shoal.anonymize(TEST_DATA, 3, release="global-recoding", method="mondrian-strict").utility
    other = shoal.anonymize(TEST_DATA, 3, release="local-recoding", method="mdav").utility
    assert (one.discernability, one.average_group_size) == (other.discernability, other.average_group_size) == (18, 1.0)
    assert one.certainty_penalty_total == pytest.approx(5.5)
    assert other.certainty_penalty_total == pytest.approx(7.5)
    assert one.certainty_penalty == pytest.approx(5.5 / 12)


def test_they_are_those_of_the_measures():
    table = people()
    release = shoal.anonymize(table, 4, **FIELDS)
    found = release.utility
    penalty, loss = by_the_measures(table, release.labels)
    assert found.certainty_penalty == pytest.approx(penalty.average)
    assert found.certainty_penalty_total == pytest.approx(penalty.total)
    assert found.total_information_loss == pytest.approx(loss.average)
    assert found.total_information_loss != pytest.approx(penalty.average)
    assert found.by_attribute == pytest.approx({name: part / 90 for name, part in penalty.by_attribute.items()})
    assert found.discernability == discernability(release.labels)
    assert found.average_group_size == pytest.approx(average_group_size(release.labels, 4))
    assert found.left_out == ()


def test_attributes_count_by_their_importance():
    table = people()
    importance = {"age": 3.0, "job": 0.5, "town": 0.0}
    release = shoal.anonymize(table, 4, importance=importance, **FIELDS)
    penalty, loss = by_the_measures(table, release.labels, weights=importance)
    assert release.utility.certainty_penalty == pytest.approx(penalty.average)
    assert release.utility.certainty_penalty_total == pytest.approx(penalty.total)
    assert release.utility.total_information_loss == pytest.approx(loss.average)


def test_what_is_suppressed_costs_all():
    table = people()
    plain = shoal.anonymize(table, 4, release="local-recoding", **FIELDS).utility
    hidden = shoal.anonymize(
        table, 4, release="local-recoding", representatives={"job": "suppression"}, **FIELDS
    ).utility
    assert hidden.by_attribute == {**plain.by_attribute, "job": 1.0}
    assert hidden.certainty_penalty == pytest.approx(plain.certainty_penalty + (1 - plain.by_attribute["job"]) / 6)


def test_blocks_have_groups_of_their_own():
    table = people().select(["age", "pay", "town"])
    release = shoal.anonymize(table, 4, blocks=[["age", "town"], ["pay"]], method="mdav", n_jobs=1)
    for block in release.blocks:
        penalty = by_the_measures(table, block.labels)[0]
        for name in block.attributes:
            assert release.utility.by_attribute[name] == pytest.approx(penalty.by_attribute[name] / 90)
    assert release.utility.discernability == discernability(release.labels)


def test_places_are_left_out_and_that_is_said():
    rng = np.random.default_rng(0)
    where = {"lat": rng.uniform(40, 50, 30), "lon": rng.uniform(0, 9, 30)}
    alone = shoal.anonymize(pa.table(where), 3, places=[("lat", "lon")], method="mdav")
    assert alone.utility.left_out == ("lat, lon",)
    assert alone.utility.certainty_penalty is alone.utility.total_information_loss is None
    assert alone.record["utility"]["certainty_penalty"] is None
    assert "NCP" not in alone.report()
    where = {"lat": rng.uniform(40, 50, 300), "lon": rng.uniform(0, 9, 300)}
    table = pa.table({**where, "age": rng.integers(20, 60, 300)})
    beside = shoal.anonymize(table, 3, places=[("lat", "lon")], method="mdav", release="local-recoding")
    assert list(beside.utility.by_attribute) == ["age"]
    assert "without lat, lon" in beside.report()


def test_numbers_of_any_size_are_measured():
    table = pa.table({"big": [1e150, -1e150, 1e20, 2.0**60], "small": [1e-300, 0.0, 2e-300, 3e-300]})
    for release in (shoal.anonymize(table, 2, method="mdav"), shoal.anonymize(table, 4, method="mdav")):
        assert 0 < release.utility.certainty_penalty <= 1
    assert release.utility.certainty_penalty == 1.0
    gaps = pa.table({"x": [2.0**60, 2.0**61, None, None]})
    assert shoal.anonymize(gaps, 4, types={"x": "continuous"}).utility.by_attribute == {"x": 1.0}
    constant = pa.table({"x": [0.0] * 4, "y": [None, None, None, 1.0]})
    assert shoal.anonymize(constant, 4).utility.by_attribute == {"x": 0.0, "y": 1.0}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.sampled_from("abc")), min_size=2, max_size=30), st.integers(2, 4))
def test_removed_records_count_in_all_units(rows, k):
    """By hand: a removed record costs 1 in every attribute, ranges are those of the whole table."""
    ages, towns = (list(column) for column in zip(*rows, strict=True))
    cells = [(age // 10, town) for age, town in rows]
    kept = [cell for cell in cells if cells.count(cell) >= k]
    if not kept:
        return
    n, removed = len(rows), len(rows) - len(kept)
    table = pa.table({"age": ages, "town": towns})
    found = shoal.anonymize(table, k, release="strongly-safe", cells={"age": 10}).utility
    whole = max(ages) - min(ages)
    spans = {c: [age for age, own in zip(ages, cells, strict=True) if own == c] for c in set(kept)}
    within = sum((max(own) - min(own)) * len(own) for own in spans.values())
    age = ((within / whole if whole else 0.0) + removed) / n
    assert found.by_attribute["age"] == pytest.approx(age)
    assert found.by_attribute["town"] == pytest.approx(removed / n)
    assert found.certainty_penalty == pytest.approx((age + removed / n) / 2)
    assert found.certainty_penalty_total == pytest.approx(n * age + removed)
    assert found.total_information_loss == pytest.approx((age + removed / n) / 2)
    assert found.discernability == sum(len(own) ** 2 for own in spans.values()) + removed * n
    assert found.average_group_size == pytest.approx(n / len(spans) / k)


def test_trees_are_measured_on_what_is_published():
    """An inner node costs what it covers even alone, so that it must not be counted in a removed record."""
    table = pa.table({"job": ["dentist"] * 3 + ["surgeon"] * 3 + ["doctor"]})
    found = shoal.anonymize(
        table, 3, release="strongly-safe", hierarchies={"job": JOBS}, cells={"job": "value"}
    ).utility
    assert found.by_attribute == {"job": pytest.approx(1 / 7)}
    up = shoal.anonymize(table, 3, release="strongly-safe", hierarchies={"job": JOBS})
    assert plain_columns(up.table)["job"] == ["doctor"] * 6
    assert up.utility.by_attribute == {"job": pytest.approx((6 * 2 / 5 + 1) / 7)}


def test_the_record_has_them():
    release = shoal.anonymize(people(), 4, **FIELDS)
    assert release.record["utility"] == {**release.utility._asdict(), "left_out": []}


def test_the_certificate_and_the_report_have_those_of_the_published_table():
    release = shoal.anonymize(people(), 4, **FIELDS)
    figures, page = release.certificate["figures"], release.report()
    assert figures["discernability"] == discernability(release.labels)
    assert figures["average_group_size"] == pytest.approx(average_group_size(release.labels, 4))
    # A mean does not show how wide its group is.
    assert figures["certainty_penalty"] is figures["total_information_loss"] is None
    assert [name for name in ("NCP", "Total-IL", "C_AVG", "C_DM") if f'<th scope="row">{name}</th>' in page] == [
        "C_AVG",
        "C_DM",
    ]


def test_ranges_show_how_wide_their_groups_are():
    release = shoal.anonymize(people(600), 4, release="local-recoding", **FIELDS)
    figures, page = release.certificate["figures"], release.report()
    assert release.losses.most == 1
    assert figures["certainty_penalty"] == round(release.utility.certainty_penalty, 1)
    assert f"{100 * figures['certainty_penalty']:g}\N{NO-BREAK SPACE}%" in page
    few = shoal.anonymize(people(150), 4, release="local-recoding", **FIELDS)
    assert few.losses.most == 0
    assert few.certificate["figures"]["certainty_penalty"] is None
