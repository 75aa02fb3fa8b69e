"""What two releases tell together, against a plain count of who can be who."""

from collections import Counter, defaultdict

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError, DisclosureError, OptionError
from shoal.privacy.intersection import require_intersection

ROWS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab"), st.sampled_from("xyz")), min_size=1, max_size=12)


def table(rows):
    return pa.table({"age": [r[0] for r in rows], "sex": [r[1] for r in rows], "ill": [r[2] for r in rows]})


def smallest(sizes):
    return min(sizes.values(), default=None)


def plainly(earlier, later):
    """Count kept, new and gone rows by class with multisets: the first two columns are quasi-identifiers."""
    before, after = Counter(earlier), Counter(later)
    parts = {"kept": before & after, "new": after - before, "gone": before - after}
    counted = {}
    for name, rows in parts.items():
        classes, values = Counter(), defaultdict(set)
        for row, count in rows.items():
            classes[row[:2]] += count
            values[row[:2]].add(row[2])
        counted[name] = (sum(rows.values()), smallest(classes), min((len(v) for v in values.values()), default=None))
    sets = [defaultdict(set), defaultdict(set)]
    for owned, rows in zip(sets, (earlier, later), strict=True):
        for row in rows:
            owned[row[:2]].add(row[2])
    stay = {row[:2] for row in parts["kept"]}
    changed = sum(sets[0][one] != sets[1][one] for one in stay)
    return counted, changed


@settings(max_examples=150, deadline=None)
@given(ROWS, ROWS, st.booleans(), st.integers(1, 4))
def test_counts_equal_those_of_multisets(first, second, grows, k):
    later = first + second if grows else second
    counted, changed = plainly(first, later)
    found = shoal.intersect(table(first), table(later), ["age", "sex"], k, sensitive_attributes=["ill"], l=2)
    for name, (rows, least, _) in counted.items():
        part = getattr(found, name)
        assert (part.rows, part.k) == (rows, least)
    for name in ("kept", "new"):
        models = getattr(found, name).models
        assert [int(one.held) for one in models] == ([] if counted[name][2] is None else [counted[name][2]])
    same = shoal.intersect(table(first), table(later), ["age", "sex"], sensitive_attributes=["ill"], same_values=True)
    assert same.signatures == {"ill": changed}
    good = not counted["gone"][0] and all(
        counted[name][1] is None or (counted[name][1] >= k and counted[name][2] >= 2) for name in ("kept", "new")
    )
    assert bool(found) is good
    assert found.k == min(least for _, least, _ in counted.values() if least is not None)


@settings(max_examples=100, deadline=None)
@given(ROWS, ROWS, st.data())
def test_rows_in_order_are_followed_into_their_new_classes(first, second, data):
    moved = [(data.draw(st.integers(0, 2)), row[1], row[2]) for row in first]
    found = shoal.intersect(table(first), table(moved + second), ["age", "sex"], in_order=True)
    pairs = Counter((a[:2], b[:2]) for a, b in zip(first, moved, strict=True))
    assert found.kept.k == smallest(pairs)
    assert found.changed == sum(a != b for a, b in zip(first, moved, strict=True))
    assert found.new.k == smallest(Counter(row[:2] for row in second))
    assert found.gone.rows == 0
    # A sensitive value that changed is another row: neither is it followed.
    other = [(*moved[0][:2], "w"), *moved[1:]]
    assert shoal.intersect(table(first), table(other), ["age", "sex"], in_order=True).gone.rows == 1


def test_shares_are_compared_with_the_table_that_told_them():
    first = pa.table({"age": [1, 1, 2, 2], "ill": ["x", "y", "x", "y"]})
    second = pa.table({"age": [1, 1, 2, 2, 3, 3, 3, 3], "ill": list("xyxy") + list("xxxx")})
    found = shoal.intersect(first, second, ["age"], sensitive_attributes=["ill"], t=0.1)
    # Half and half in the earlier table, six of eight in the later one.
    assert [round(one.held, 9) for one in found.kept.models] == [0]
    assert [round(one.held, 9) for one in found.new.models] == [0.25]


def test_fewer_newcomers_can_be_asked_for():
    first, second = pa.table({"age": [1, 1]}), pa.table({"age": [1, 1, 1]})
    assert not shoal.intersect(first, second, ["age"], k=2)
    assert shoal.intersect(first, second, ["age"], k=2, newcomers=1)


@pytest.mark.parametrize(
    ("later", "fields", "words"),
    [
        ([(1, "x"), (1, "y"), (1, "x")], {}, "among 2 rows that are new. Got 1 groups"),
        ([(1, "x"), (1, "z")], {}, "every row of the earlier release. Got 1 that"),
        ([(1, "x"), (1, "y"), (2, "x"), (2, "x")], {"l": 2}, "'distinct-diversity l=2' in 'ill' among the rows"),
        ([(1, "x"), (1, "y"), (1, "z"), (1, "x")], {"same_values": True}, "same values of 'ill' in each group"),
    ],
)
def test_planted_faults_are_refused(later, fields, words):
    tables = [
        pa.table({"age": [r[0] for r in rows], "ill": [r[1] for r in rows]}) for rows in ([(1, "x"), (1, "y")], later)
    ]
    found = shoal.intersect(*tables, ["age"], k=2, sensitive_attributes=["ill"], **fields)
    assert not found
    with pytest.raises(DisclosureError, match=words):
        require_intersection(found, "The update")


def test_tables_that_cannot_be_compared_are_refused():
    first = pa.table({"age": [1, 1]})
    with pytest.raises(DataError, match="'sex' in one of them only"):
        shoal.intersect(first, pa.table({"age": [1, 1], "sex": [0, 0]}), ["age"])
    with pytest.raises(DataError, match="'age' must have the same type"):
        shoal.intersect(first, pa.table({"age": [1.0, 1.0]}), ["age"])
    with pytest.raises(OptionError, match="no option 'k_map'"):
        shoal.intersect(first, first, ["age"], k_map=2)
    with pytest.raises(OptionError, match="no column 'zip'"):
        shoal.intersect(first, first, ["zip"])
    mixed = pd.DataFrame({"age": pd.Series([1, "1"], dtype=object)})
    with pytest.raises(DataError):
        shoal.intersect(mixed, mixed, ["age"])
    several = pd.DataFrame({"age": pd.Series([None, float("nan"), "a"], dtype=object)})
    with pytest.raises(DataError, match="one kind of missing value"):
        shoal.intersect(several, several, ["age"])
    around = {"sensitive_attributes": ["ill"], "models": {"ill": "n-t-closeness n=2 t=0.5"}}
    ill = pa.table({"age": [1, 1], "ill": ["x", "y"]})
    with pytest.raises(OptionError, match="values alone"):
        shoal.intersect(ill, ill, ["age"], **around)
