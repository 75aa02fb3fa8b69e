"""The attack on what goes out with a release: search for all inputs that fit it, and see whether the documents help.

The release itself leaves many inputs possible. Certificate and report must leave every one of them, while the exact
figures of the record, which went out once, leave one or a handful.
"""

from itertools import combinations_with_replacement, product

import pyarrow as pa
import pytest

import shoal

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.DisclosureWarning")
DOMAIN = range(7)
EXACT = ("loss", "utility", "lower_bound", "gap")


def released(values, **fields):
    return shoal.anonymize(pa.table({"age": values}), **{"k": 3, "method": "mdav", "n_jobs": 1, **fields})


def public(release):
    """Return everything that goes out beside the table."""
    return release.certificate, release.report()


def inputs_that_give(release, sizes, **fields):
    """Yield every release of another input that is published in the same way.

    The rows of a group may change places: neither the release nor a figure tells them apart.
    """
    groups = [combinations_with_replacement(DOMAIN, size) for size in sizes]
    for parts in product(*groups):
        other = [value for part in parts for value in part]
        # Only what can give the published means is worth the try.
        means = release.table["age"].to_pylist()
        starts = [sum(sizes[:at]) for at in range(len(sizes))]
        if any(abs(sum(part) / len(part) - means[start]) > 0.5 for part, start in zip(parts, starts, strict=True)):
            continue
        candidate = released(other, **fields)
        if candidate.table.equals(release.table):
            yield candidate


@pytest.mark.parametrize("values", [[0, 2, 3, 5, 6, 6], [0, 0, 3, 3, 4, 6, 6]])
def test_documents_do_not_narrow_down_the_inputs(values):
    release = released(values)
    sizes = (3, len(values) - 3)
    assert release.labels.tolist() == [0] * sizes[0] + [1] * sizes[1]
    candidates = list(inputs_that_give(release, sizes))
    assert len(candidates) > 20
    assert all(public(candidate) == public(release) for candidate in candidates)

    exact = {key: release.record[key] for key in EXACT}
    fitting = [one for one in candidates if {key: one.record[key] for key in EXACT} == exact]
    assert 1 <= len(fitting) <= len(candidates) / 5, "with exact figures the attack must succeed"


def test_documents_of_a_recoding_do_not_narrow_down_the_inputs():
    """Ends of an interval are published; what lies between is not."""
    values, fields = [0, 1, 3, 4, 5, 6], {"release": "local-recoding"}
    release = released(values, **fields)
    inner = [released([0, a, 3, 4, b, 6], **fields) for a, b in product(range(4), range(4, 7))]
    candidates = [one for one in inner if one.table.equals(release.table)]
    assert len(candidates) > 5
    assert all(public(candidate) == public(release) for candidate in candidates)
    fitting = [one for one in candidates if one.record["loss"] == release.record["loss"]]
    assert len(fitting) < len(candidates), "with exact figures the attack must succeed"


def test_a_removed_person_cannot_be_found():
    """NCP divided by the range of all records, removed ones included, gave away the age of the only one removed."""
    kept = [23, 25, 27, 41, 42, 48]

    def with_age(age):
        table = pa.table({"age": [*kept, age]})
        return shoal.anonymize(table, k=3, release="strongly-safe", cells={"age": 10})

    release = with_age(93)
    assert release.rows_removed == 1
    others = [with_age(age) for age in (*range(0, 20, 3), *range(50, 110, 3))]
    assert all(other.table.equals(release.table) for other in others)
    assert all(public(other) == public(release) for other in others)
    exact = release.record["utility"]["certainty_penalty"]
    assert not [one for one in others if one.record["utility"]["certainty_penalty"] == exact]


def test_somebody_who_knows_all_but_one_group_learns_nothing_of_it():
    """300 records in 60 groups, of which the attacker knows 59: how the last one is spread is not told."""
    ages = [value for start in range(0, 300, 5) for value in (start, start, start + 2, start + 4, start + 4)]
    fields = {"k": 5, "bound": "none"}
    release = released(ages, **fields)
    assert release.certificate["figures"]["loss"] is not None
    found = 0
    for last in ((297, 297, 297, 297, 297), (296, 296, 297, 298, 298), (295, 296, 297, 298, 299)):
        candidate = released([*ages[:-5], *last], **fields)
        assert candidate.table.equals(release.table)
        assert public(candidate) == public(release)
        found += candidate.record["loss"] == release.record["loss"]
    assert found == 0, "with exact figures the attack must succeed"
