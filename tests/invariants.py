"""What must hold for every partition, whatever the method, and for every release."""

from collections import Counter

import numpy as np

import shoal


def check_partition(labels, n, k):
    """n labels of type int64, groups numbered by first appearance, each of at least k records."""
    assert labels.dtype == np.int64
    assert labels.shape == (n,)
    first = [int(np.flatnonzero(labels == g)[0]) for g in range(labels.max() + 1)]
    assert first == sorted(first)
    assert np.bincount(labels).min() >= k


def same_groups(a, b):
    """Whether two labellings are the same partition under other numbers."""
    return len(set(zip(a.tolist(), b.tolist(), strict=True))) == len(set(a.tolist())) == len(set(b.tolist()))


def check_permutation(X, k, method, rng, **options):
    """The groups do not depend on the order of the rows (for data without ties)."""
    order = rng.permutation(len(X))
    labels = shoal.partition(X, k, method, **options)
    shuffled = shoal.partition(np.ascontiguousarray(X[order]), k, method, **options)
    assert same_groups(labels[order], shuffled)


def check_threads(X, k, method, **options):
    """One thread and four give the same labels."""
    one = shoal.partition(X, k, method, n_jobs=1, **options)
    four = shoal.partition(X, k, method, n_jobs=4, **options)
    np.testing.assert_array_equal(one, four)


# --- releases: everything is counted again in plain Python ---

WORDS = ("interval", "set", "ancestor", "suppression")


def plain_columns(table):
    """Return {name: list of plain values} of a data frame of any kind; what is missing is None."""
    columns = columns_as_they_are(table)
    return {name: [None if is_missing(value) else value for value in values] for name, values in columns.items()}


def columns_as_they_are(table):
    """Return {name: list of values} of a data frame of any kind, in which null and NaN are different."""
    if hasattr(table, "iloc"):
        return {name: table[name].tolist() for name in table.columns}
    return table.to_pydict() if hasattr(table, "to_pydict") else table.to_dict(as_series=False)


def is_missing(value):
    """Whether a plain value is None, NaN, NaT or pandas' NA: the only ones that are not equal to themselves."""
    if value is None:
        return True
    if isinstance(value, list | dict | tuple | set):
        return False
    return type(value).__name__ in ("NAType", "NaTType") or value != value


def dtypes_of(table):
    """Return {name: type} of a data frame of any kind; for categories whether they are ordered and of which type."""
    if hasattr(table, "iloc"):
        return {
            name: ("category", kind.ordered, kind.categories.dtype) if hasattr(kind, "categories") else kind
            for name, kind in table.dtypes.items()
        }
    if hasattr(table, "to_pydict"):
        return {field.name: field.type for field in table.schema}
    return {name: "Enum" if str(kind).startswith("Enum") else kind for name, kind in table.schema.items()}


def check_release(release, before):
    """k holds by a plain count; rows, columns, their order and types are kept; what is passed on is untouched."""
    plan, after = release.plan, release.table
    assert type(after) is type(before)
    old, new = plain_columns(before), plain_columns(after)
    gone = {*plan.identifiers, *plan.drop, plan.unit}
    gone |= _without_a_role(plan, old) if plan.rest == "drop" else set()
    assert list(new) == [name for name in old if name not in gone]
    qis = [name for attribute in release.attributes for name in attribute.columns]
    rows = _rows_that_stay(release, old, qis)
    assert all(len(values) == len(rows) for values in new.values())
    _check_counts(release, new, old, rows)
    _check_types(release, before, after, qis)
    others = [name for name in new if name not in qis and name not in plan.stratum]
    if plan.shuffle:
        assert Counter(zip(*([repr(old[c][r]) for r in rows] for c in others), strict=True)) == Counter(
            zip(*(list(map(repr, new[c])) for c in others), strict=True)
        )
        return
    for name in others:
        assert list(map(repr, new[name])) == [repr(old[name][row]) for row in rows], name
    if hasattr(after, "iloc") and len(rows) == len(before):
        assert after.index.equals(before.index)
        assert after.index.names == before.index.names


def _without_a_role(plan, names):
    """The columns for which a plan that names its quasi-identifiers says nothing."""
    said = {*(plan.quasi_identifiers or names), *plan.sensitive_attributes, *plan.models, *plan.other, *plan.stratum}
    said |= {*plan.identifiers, *plan.drop, plan.unit, plan.weight, *(half for pair in plan.places for half in pair)}
    return set(names) - said


def _rows_that_stay(release, old, qis):
    rows = range(release.rows_in)
    if release.plan.missing == "drop":
        rows = [row for row in rows if all(old[name][row] is not None for name in qis)]
    assert release.rows_dropped == release.rows_in - len(rows)
    return rows


def _check_counts(release, new, old, rows):
    """Count equal rows in every block, with the strata and what has no role, and the units among them; and in all."""
    plan = release.plan
    published = columns_as_they_are(release.table).values()
    whole = Counter(zip(*(map(repr, values) for values in published), strict=True)).values()
    assert release.whole == (len(new), min(whole), sum(size == 1 for size in whole))
    open_ones = _without_a_role(plan, old) if plan.rest is None else ()
    for block in release.blocks:
        names = (*block.columns, *plan.stratum)
        keys = list(zip(*(map(repr, new[name]) for name in names), strict=True))
        beside = zip(*(map(repr, new[name]) for name in (*names, *open_ones)), strict=True)
        assert min(Counter(beside).values()) >= plan.k
        assert min(Counter(keys).values()) >= plan.k
        if plan.unit is not None and not plan.shuffle:
            units = {(key, old[plan.unit][row]) for key, row in zip(keys, rows, strict=True)}
            assert min(Counter(key for key, _ in units).values()) >= plan.k
        if len(release.blocks) == 1:
            # All members of a group are alike, to the last character.
            assert len(set(zip(release.labels.tolist(), keys, strict=True))) == len(set(release.labels.tolist()))
    names = release.quasi_identifiers
    counts = Counter(zip(*(map(repr, new[name]) for name in names), strict=True))
    assert release.audit.k == min(counts.values())
    assert release.audit.classes == len(counts)
    assert release.audit.rows == len(rows)


def _check_types(release, before, after, qis):
    old, new = dtypes_of(before), dtypes_of(after)
    words = {name for a in release.attributes if a.representative in WORDS for name in a.columns}
    for name, dtype in new.items():
        if name in release.plan.stratum or name in words:
            continue
        nullable = name in qis and str(dtype).lower() in (str(old[name]).lower(), "boolean") and dtype != old[name]
        assert dtype == old[name] or nullable, name
