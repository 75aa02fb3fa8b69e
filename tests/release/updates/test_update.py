"""Updates: rows of the earlier release stay, new ones join, and an intruder who has both gains nothing."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.errors import DataError, DisclosureError, DisclosureWarning, OptionError
from shoal.release.updates.joining import Groups, errors, join
from shoal.release.updates.placing import _best, _Way
from shoal.release.updates.tables import in_one_order

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.DisclosureWarning")
K = 4


def people(n=140, seed=1):
    """Return records with a unique token, by which an intruder follows every row."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, n)
    return pa.table(
        {
            "age": age,
            "income": (age * 40 + rng.normal(0, 500, n)).round(2),
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(["north", "south"], n),
            "household": rng.integers(0, n // 2, n),
            "weight": rng.uniform(1, 3, n).round(1),
            "ill": rng.choice(list("abcde"), n),
            "token": [f"t{i:04}" for i in rng.permutation(n)],
        }
    )


ROLES = {
    "quasi_identifiers": ["age", "income", "sex"],
    "sensitive_attributes": ["ill"],
    "other": ["token"],
    "rest": "drop",
    "k": K,
    "method": "mdav",
    "n_jobs": 1,
}
PLANS = {
    "plain": {},
    "diverse": {"l": 3},
    "close": {"t": 0.5},
    "recursive": {"models": {"ill": "recursive-diversity c=3 l=2"}},
    "strata": {"stratum": ["region"]},
    "units": {"unit": "household"},
    "units and models": {"unit": "household", "l": 2},
    "weights": {"weight": "weight"},
    "shuffled": {"shuffle": True},
    "recoded": {"release": "local-recoding"},
    "cells": {"release": "strongly-safe", "cells": {"age": 20, "income": 1500}, "method": "auto"},
    "top": {"top_coding": {"age": 70}, "rounding": {"income": 10}},
    "left out": {"suppress": 0.1},
    "hierarchy": {"hierarchies": {"sex": {"anybody": ["f", "m"]}}},
}


def split(table, n=100):
    return table.slice(0, n), table.slice(n)


def updated(plan, table=None, n=100, **options):
    first, new = split(people() if table is None else table, n)
    release = shoal.anonymize(first, **{**ROLES, **plan})
    return release, shoal.update(release, new, **options)


def candidates(earlier, later, names):
    """Return for each token of the later table those that its owner could have, for somebody who follows tokens.

    The intruder knows everybody's quasi-identifiers, so which class they are in, and who is new.
    """
    before = {row["token"]: tuple(row[name] for name in names) for row in earlier.to_pylist()}
    after = {row["token"]: tuple(row[name] for name in names) for row in later.to_pylist()}
    seen = {token: (before.get(token), now) for token, now in after.items()}
    owners = {}
    for token, key in seen.items():
        owners.setdefault(key, set()).add(token)
    return {token: owners[key] for token, key in seen.items()}


@pytest.mark.parametrize("name", PLANS)
def test_an_intruder_with_both_releases_finds_nobody_among_fewer_than_k(name):
    plan = PLANS[name]
    release, later = updated(plan, allow_changes="t" in plan)
    table = later.table
    names = ["age", "income", "sex", *plan.get("stratum", [])]
    ill = dict(zip(table["token"].to_pylist(), table["ill"].to_pylist(), strict=True))
    found = candidates(release.table, table, names)
    assert min(map(len, found.values())) >= K
    assert set(release.table["token"].to_pylist()) < set(found)
    least = plan.get("l", 1)
    assert min(len({ill[one] for one in many}) for many in found.values()) >= least
    # What was counted is what is so.
    new = set(found) - set(release.table["token"].to_pylist())
    assert later.intersection.new.k == min(len(found[one]) for one in new)
    assert later.intersection.kept.k == min(len(found[one]) for one in set(found) - new)
    assert later.k >= K
    assert later.intersection.gone.rows == 0
    if "unit" in plan:
        household = dict(zip(people()["token"].to_pylist(), people()["household"].to_pylist(), strict=True))
        assert min(len({household[one] for one in found[token]}) for token in new) >= K


def test_a_fresh_release_of_everybody_lets_the_intruder_in():
    """The attack that updates are for does succeed otherwise."""
    release, _ = updated({})
    fresh = shoal.anonymize(people(), **ROLES)
    assert min(map(len, candidates(release.table, fresh.table, ["age", "income", "sex"]).values())) == 1


def test_rows_of_the_earlier_release_do_not_change():
    release, later = updated({})
    assert later.table.slice(0, 100).equals(release.table)
    assert later.intersection.changed == 0
    assert later.table.num_rows == 140
    assert later.audit.k >= K


def test_new_groups_are_those_of_the_new_records_alone():
    """Under the rule of k newcomers, no group of the earlier release can make them lose less."""
    first, new = split(people())
    alone = shoal.anonymize(new, **ROLES)
    later = shoal.update(shoal.anonymize(first, **ROLES), new)
    assert later.table.slice(100).equals(alone.table)
    assert later.loss == alone.loss


def test_updates_of_updates_keep_everybody_of_every_time_among_k():
    table = people(200)
    release = shoal.anonymize(table.slice(0, 100), **ROLES)
    second = shoal.update(release, table.slice(100, 50))
    third = shoal.update(second, table.slice(150))
    time = {token: min(at // 50, 2) for at, token in enumerate(table["token"].to_pylist())}
    rows = third.table.to_pylist()
    classes = {}
    for row in rows:
        key = (row["age"], row["income"], row["sex"], max(0, time[row["token"]] - 1))
        classes.setdefault(key, []).append(row["token"])
    assert len(rows) == 200
    assert min(map(len, classes.values())) >= K
    assert shoal.intersect(release.table, third.table, ["age", "income", "sex"], K)


@pytest.mark.parametrize("least", [1, 2, 3])
@pytest.mark.parametrize("plan", [{}, {"l": 2}, {"stratum": ["region"]}], ids=["plain", "diverse", "strata"])
def test_fewer_newcomers_join_groups_whose_values_stay(least, plan):
    table = people(300, seed=4).set_column(2, "sex", pa.array(["f"] * 300))
    options = {"allow_differences": True} if "l" in plan and least < 2 else {}
    release, later = updated(plan, table, 260, newcomers=least, **options)
    names = ["age", "income", "sex", *plan.get("stratum", [])]
    found = candidates(release.table, later.table, names)
    old = set(release.table["token"].to_pylist())
    assert min(len(found[one]) for one in old) >= K
    assert min(len(found[one]) for one in set(found) - old) >= least
    assert later.intersection.new.k == min(len(found[one]) for one in set(found) - old)
    assert later.table.slice(0, 260).equals(release.table)
    assert later.k >= K
    assert later.rows_joined == sum(
        tuple(row[name] for name in names) in {tuple(r[name] for name in names) for r in release.table.to_pylist()}
        for row in later.table.slice(260).to_pylist()
    )
    # The more must be new in a group, the more often groups of newcomers alone are better.
    assert later.rows_joined > 0 or least > 1
    if "l" in plan:
        ill = dict(zip(later.table["token"].to_pylist(), later.table["ill"].to_pylist(), strict=True))
        parts = found if least > 1 else {one: found[one] for one in old}
        assert min(len({ill[one] for one in many}) for many in parts.values()) >= 2


def test_a_weaker_rule_is_told_wherever_it_goes():
    table = people(103)
    with pytest.warns(DisclosureWarning, match="among 1 row"):
        later = updated({}, table, 100, newcomers=1)[1]
    assert later.certificate["earlier"]["newcomers"] == 1
    assert any("may find them among 1 row." in words for words in later.certificate["warnings"])
    with pytest.warns(DisclosureWarning, match="difference of this release"):
        later = updated({"l": 2}, table, 100, newcomers=1, allow_differences=True)[1]
    assert later.certificate["earlier"]["parts"] is False


def test_joining_is_to_the_nearest_group_and_respects_limits():
    rng = np.random.default_rng(3)
    X, centres = rng.normal(size=(40, 2)), rng.normal(size=(60, 2))
    groups = Groups(X, np.zeros(40, np.int64), centres, np.zeros(60, np.int64))
    labels = shoal.partition(X, 5, "mdav")
    alone = errors(X, labels)
    assert alone.sum() == pytest.approx(sum(X[labels == g].var(axis=0).sum() * (labels == g).sum() for g in range(8)))
    plainly = ((X[:, None] - centres[None]) ** 2).sum(axis=2)

    def allowed(classes):
        return np.zeros(40, bool)

    done = join(groups, 1, 5, alone, allowed)
    better = plainly.min(axis=1) < alone
    assert 5 <= (~better).sum() < 40
    assert done.classes.tolist() == np.where(better, plainly.argmin(axis=1), -1).tolist()
    pairs = join(groups, 2, 5, np.full(40, 1e6), allowed)
    assert min(np.bincount(pairs.classes)[np.unique(pairs.classes)]) >= 2
    # If only some may stay, at least k do: those who lose least by it.
    one = np.full(40, 1e6)
    one[7] = 0.0
    stay = np.flatnonzero(join(groups, 1, 5, one, allowed).classes < 0)
    assert len(stay) == 5
    assert 7 in stay

    # Who must not join stays, together with enough others.
    def never(classes):
        return np.arange(40) == 3

    stay = np.flatnonzero(join(groups, 1, 5, np.full(40, 1e6), never).classes < 0)
    assert len(stay) == 5
    assert 3 in stay
    assert (join(groups, 1, 5, alone, lambda classes: np.ones(40, bool)).classes < 0).all()
    few = groups._replace(strata=np.repeat([0, 1], [37, 3]), of=np.repeat([0, 1], [59, 1]))
    has_to = np.where(np.arange(40) < 37, 0.0, np.inf)
    assert join(few, 1, 5, has_to, allowed).classes.tolist() == [-1] * 37 + [59] * 3
    with pytest.raises(DisclosureError, match="Got 3 that can do neither"):
        join(few, 1, 5, has_to, lambda classes: np.ones(40, bool))
    with pytest.raises(DisclosureError, match="Got 3 that can do neither"):
        join(few, 4, 5, has_to, allowed)
    lonely = Groups(X[:3], np.arange(3), centres, np.arange(60) % 3)
    with pytest.raises(DisclosureError, match="Got 3 that can do neither"):
        join(lonely, 2, 5, np.full(3, np.inf), lambda classes: np.zeros(3, bool))


def test_equal_newcomers_lose_nothing():
    first, new = split(people())
    release = shoal.anonymize(first, **ROLES)
    alike = new.take(pa.array([0] * 6)).set_column(7, "token", pa.array([f"u{row}" for row in range(6)]))
    assert shoal.update(release, alike, newcomers=1).loss == 0.0


def test_the_best_of_all_ways_is_taken():
    rng = np.random.default_rng(5)
    for _ in range(20):
        X, centres = rng.normal(size=(30, 2)), rng.normal(size=(rng.integers(1, 60), 2)) * rng.choice([0.3, 1, 3])
        groups = Groups(X, np.zeros(30, np.int64), centres, np.zeros(len(centres), np.int64))
        seen = []

        def among(staying, X=X, seen=seen):
            costs = np.full(30, np.inf)
            if staying.any():
                costs[staying] = errors(X[staying], shoal.partition(X[staying], 4, "mdav"))
            seen.append(_Way(np.full(30, -1), None, costs))
            return seen[-1]

        best = _best(groups, 1, 4, lambda classes: np.zeros(30, bool), among)
        nearest = ((X[:, None] - centres[None]) ** 2).sum(axis=2).min(axis=1)
        assert best.error <= min(seen[0].error, nearest.sum()) + 1e-9
        assert best.error == pytest.approx(np.where(best.classes >= 0, nearest, best.costs).sum())


@pytest.mark.parametrize("least", [None, 1])
def test_invariance_limits_shares_and_keeps_the_values_of_groups(least):
    release, later = updated(
        {"l": 3, "models": {"ill": "alpha alpha=0.5"}}, people(300), 200, invariance=2, newcomers=least
    )
    names = ["age", "income", "sex"]
    rows = later.table.to_pylist()
    ill = {row["token"]: row["ill"] for row in rows}
    for many in candidates(release.table, later.table, names).values():
        values = [ill[one] for one in many]
        assert max(map(values.count, values)) <= len(values) / 2
    sets = [{}, {}]
    for owned, table in zip(sets, (release.table, later.table), strict=True):
        for row in table.to_pylist():
            owned.setdefault(tuple(row[name] for name in names), set()).add(row["ill"])
    assert all(sets[1][key] == values for key, values in sets[0].items())
    assert later.certificate["earlier"]["invariance"] == 2
    with pytest.raises(OptionError, match="'invariance' of an update must be about a sensitive attribute"):
        updated({"sensitive_attributes": ["ill"], "quasi_identifiers": ["age", "ill"]}, invariance=2)


def test_groups_are_merged_only_where_a_model_of_the_table_asks_for_it():
    table = people(200, seed=8)
    ill = np.array(table["ill"].to_pylist())
    ill[120:] = np.where(np.arange(80) % 2, "a", ill[120:])
    table = table.set_column(6, "ill", pa.array(ill))
    with pytest.raises(DisclosureError, match=r"Groups of the earlier release must still satisfy 't-closeness t=0.3'"):
        updated({"t": 0.3}, table, 120)
    release, later = updated({"t": 0.3}, table, 120, allow_changes=True)
    names = ["age", "income", "sex"]
    before, after = release.table, later.table.slice(0, 120)
    changed = [a != b for a, b in zip(before.to_pylist(), after.to_pylist(), strict=True)]
    assert 0 < sum(changed) < 120
    assert later.intersection.changed == sum(changed) == later.certificate["earlier"]["changed"]
    assert before.drop_columns(names).equals(after.drop_columns(names))
    # Whole groups move, and the mean of a merged one is that of its published values.
    moves = {}
    for a, b in zip(before.to_pylist(), after.to_pylist(), strict=True):
        moves.setdefault((a["age"], a["income"], a["sex"]), set()).add((b["age"], b["income"], b["sex"]))
    assert all(len(to) == 1 for to in moves.values())
    for key in {next(iter(to)) for at, to in moves.items() if next(iter(to)) != at}:
        members = [
            a["income"] for a, b in zip(before.to_pylist(), after.to_pylist(), strict=True) if b["income"] == key[1]
        ]
        assert key[1] == pytest.approx(np.mean(members), abs=0.0051)
    assert shoal.verify(later.table, names, K, sensitive_attributes=["ill"], t=0.3)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_data_frames_stay_what_they_are(kind):
    table = people()
    frame = pd.DataFrame(table.to_pydict()) if kind is pd.DataFrame else pl.from_arrow(table)
    release = shoal.anonymize(frame[:100], **ROLES)
    later = shoal.update(release, frame[100:])
    assert isinstance(later.table, kind)
    columns = {name: later.table[name].to_list() for name in later.table.columns}
    expected = updated({})[1].table.to_pydict()
    assert columns == expected
    if kind is pd.DataFrame:
        assert later.table.index.tolist() == list(range(140))
        assert later.table.dtypes.to_dict() == release.table.dtypes.to_dict()
    joined = shoal.update(release, frame[100:103], newcomers=1)
    assert joined.rows_joined == 3
    with pytest.raises(DataError, match="same library"):
        shoal.update(release, table.slice(100))


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_values_that_a_column_cannot_hold_are_refused_without_being_told(kind):
    columns = people().to_pydict() | {"token": list(range(140))}
    release = shoal.anonymize(kind({name: values[:100] for name, values in columns.items()}), **ROLES)
    new = {name: values[100:] for name, values in columns.items()} | {"token": ["qmarkx"] * 40}
    with pytest.raises(DataError, match="'token' of the new records must have values of its type") as error:
        shoal.update(release, kind(new))
    assert "qmarkx" not in str(error.value)
    assert error.value.__cause__ is None


def test_whole_numbers_may_join_numbers_with_decimals_and_no_others():
    first, new = split(people())
    release = shoal.anonymize(first, **ROLES)
    whole = new.set_column(1, "income", new["income"].cast(pa.int64(), safe=False))
    assert shoal.update(release, whole).table.schema == release.table.schema
    halves = new.set_column(0, "age", pa.array(np.arange(40) + 0.5))
    with pytest.raises(DataError, match="'age' of the new records must have values of its type"):
        shoal.update(release, halves)


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"release": "full-domain", "hierarchies": {"age": {"widths": [20, 40]}, "income": {"widths": [2000]},
          "sex": {"anybody": ["f", "m"]}}, "method": "auto"}, "'release' in its plan cannot be updated"),
        ({"release": "global-recoding"}, "'release' in its plan cannot be updated"),
        ({"models": {"ill": "n-t-closeness n=40 t=0.6"}}, "'models' in its plan cannot be updated"),
    ],
    ids=["full-domain", "global-recoding", "n-t-closeness"],
)  # fmt: skip
def test_plans_that_cannot_be_updated_are_refused_by_field(plan, words):
    with pytest.raises(OptionError, match=words):
        updated(plan)


def test_a_population_or_a_budget_cannot_be_updated():
    first, new = split(people())
    register = people(150).select(["age", "income", "sex"])
    release = shoal.anonymize(first, **ROLES)
    counted = release.plan.model_copy(update={"population": "given", "k_map": 2})
    with pytest.raises(OptionError, match="'k_map' in its plan"):
        shoal.update(replace(release, plan=counted, people=register), new)
    with pytest.raises(OptionError, match="'dp' in its plan"):
        shoal.update(replace(release, plan=release.plan.model_copy(update={"dp": "mondrian"})), new)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"newcomers": 5}, "from 1 to the k of the release. Got 5"),
        ({"newcomers": 0}, "Got 0"),
        ({"invariance": 1}, "'invariance' of an update must be a number of at least 2"),
        ({"invariance": 2, "allow_differences": True}, "both"),
        ({"newcomers": 2, "allow_changes": True}, "newcomers of k"),
        ({"k": 3}, "has no option 'k'"),
    ],
)
def test_wrong_options_are_refused(options, words):
    with pytest.raises(OptionError, match=words):
        updated({}, **options)


@pytest.mark.parametrize(
    ("plan", "field"),
    [
        ({"unit": "household"}, "unit"),
        ({"blocks": "each"}, "blocks"),
        ({"suppress": 0.1}, "suppress"),
        ({"stratum": ["region"], "small_strata": "merge"}, "small_strata"),
        ({"release": "local-recoding"}, "release"),
        ({"representatives": {"age": "interval"}}, "representatives"),
    ],
)
def test_fields_that_allow_no_joining_are_named(plan, field):
    with pytest.raises(OptionError, match=f"With '{field}' in the plan, 'newcomers' must be k"):
        updated(plan, newcomers=1)


def test_blocks_are_counted_one_by_one():
    release, later = updated({"blocks": [["age"], ["income", "sex"]]})
    assert len(later.intersections) == 2
    for names in (["age"], ["income", "sex"]):
        assert min(map(len, candidates(release.table, later.table, names).values())) >= K


def test_new_records_must_fit():
    first, new = split(people())
    release = shoal.anonymize(first, **ROLES)
    with pytest.raises(DataError, match=r"At least k = 4 new records must join at once.* Got 3"):
        shoal.update(release, new.slice(0, 3))
    with pytest.raises(DataError, match="none called 'ill'"):
        shoal.update(release, new.drop_columns(["ill"]))
    with pytest.raises(DataError, match="Got 'extra' as well"):
        shoal.update(release, new.append_column("extra", pa.array([1] * 40)))
    assert shoal.update(release, new.drop_columns(["household", "weight", "region"]))
    with pytest.raises(OptionError, match="one of this session"):
        shoal.update(first, new)


def test_inferred_roles_and_types_are_those_of_the_earlier_release():
    """Few new records may look like something else: whole numbers like levels, names like identifiers."""
    table = people(130).select(["age", "income", "sex", "ill"])
    release = shoal.anonymize(table.slice(0, 120), k=4, sensitive_attributes=["ill"], method="mdav")
    later = shoal.update(release, table.slice(120))
    assert later.quasi_identifiers == ["age", "income", "sex"]
    assert [one.kind for one in later.attributes] == [one.kind for one in release.attributes]


def test_ordered_categories_have_the_order_of_the_data_frame():
    frame = pd.DataFrame(people().to_pydict())
    frame["size"] = pd.Categorical(np.array(["S", "M", "L"])[frame["age"] % 3], ["S", "M", "L"], ordered=True)
    plan = {**ROLES, "quasi_identifiers": ["age", "size"]}
    release = shoal.anonymize(frame[:100], **plan)
    assert release.attributes[1].kind == "ordinal"
    for least in (K, 1):
        later = shoal.update(release, frame[100:], newcomers=least)
        assert later.attributes[1].kind == "ordinal"
        assert later.intersection.new.k >= least
        assert later.table["size"].cat.categories.tolist() == ["S", "M", "L"]
    other = frame[100:].assign(size=frame["size"][100:].cat.reorder_categories(["L", "M", "S"]))
    with pytest.raises(DataError, match="categories of 'size' must be in the order"):
        shoal.update(release, other)


def test_categories_are_put_into_one_order():
    assert in_one_order(["S", "L"], ["S", "M", "L"], "size") == ["S", "M", "L"]
    assert in_one_order(["S", "L"], ["M"], "size") in (["M", "S", "L"], ["S", "M", "L"], ["S", "L", "M"])
    assert in_one_order(["a", "b"], ["b", "c"], "size") == ["a", "b", "c"]
    with pytest.raises(DataError, match="Got another order"):
        in_one_order(["a", "b"], ["b", "a"], "size")


def test_missing_values_follow_the_plan():
    table = people()
    ages = table["age"].to_pylist()
    table = table.set_column(0, "age", pa.array([None if i in (3, 120, 130) else a for i, a in enumerate(ages)]))
    release, later = updated({"missing": "drop"}, table)
    assert (release.audit.rows, later.audit.rows, later.rows_dropped) == (99, 137, 2)
    joined = shoal.update(release, table.slice(100), newcomers=1)
    assert (joined.audit.rows, joined.rows_dropped) == (137, 2)
    nobody = table.slice(100).set_column(0, "age", pa.nulls(40, pa.int64()))
    for least in (None, 1):
        with pytest.raises((DataError, OptionError)):
            shoal.update(release, nobody, newcomers=least)
    as_value = updated({}, table)[1]
    assert as_value.audit.rows == 140
    assert as_value.k >= K


# --- what is verified before anything is published ---


def test_a_wrong_table_is_never_published(monkeypatch):
    """Planted faults: whatever goes wrong while rows are put together, the audit of both tables refuses it."""
    from shoal.release.updates import run

    first, new = split(people())
    release = shoal.anonymize(first, **ROLES, l=2)
    right = run.combined

    def planted(change):
        def combined(*args, **kwargs):
            return pa.table(change({k: list(v) for k, v in right(*args, **kwargs).to_pydict().items()}))

        monkeypatch.setattr(run, "combined", combined)

    def old_value(columns):
        columns["ill"][5] = "z"
        return columns

    def lonely(columns):
        # A newcomer in a group of the earlier release, where nobody else is new.
        for name in ("age", "income", "sex"):
            columns[name][-1] = columns[name][0]
        return columns

    def lost(columns):
        return {name: values[1:] for name, values in columns.items()}

    def alike(columns):
        group = {tuple(columns[n][-1] for n in ("age", "income", "sex"))}
        rows = [i for i in range(140) if tuple(columns[n][i] for n in ("age", "income", "sex")) in group]
        for i in rows:
            columns["ill"][i] = "a"
        return columns

    for change in (old_value, lonely, lost, alike):
        planted(change)
        with pytest.raises(DisclosureError):
            shoal.update(release, new)


# --- files ---


@pytest.fixture
def files(tmp_path):
    from pyarrow import csv

    first, new = split(people())
    csv.write_csv(first, tmp_path / "first.csv")
    csv.write_csv(new, tmp_path / "new.csv")
    out = tmp_path / "r1.csv"
    shoal.anonymize_file(tmp_path / "first.csv", out, certificate=f"{out}.manifest.json", **ROLES, l=2)
    return tmp_path


def written(folder, name="r2.csv", release="r1.csv", **options):
    out = folder / name
    return shoal.update_file(folder / release, folder / "new.csv", out, certificate=f"{out}.manifest.json", **options)


def test_files_are_updated_and_verified_with_the_earlier_release(files):
    later = written(files)
    before, after = (files / name for name in ("r1.csv", "r2.csv"))
    assert after.read_text().startswith(before.read_text())
    certificate = json.loads((files / "r2.csv.manifest.json").read_text())
    assert certificate["earlier"]["sha256"] == later.earlier.sha256
    assert certificate["earlier"]["name"] == "r1.csv"
    assert shoal.verify_file(after, f"{after}.manifest.json").k >= K
    assert shoal.verify_file(after, f"{after}.manifest.json", earlier=before)
    with pytest.raises(DisclosureError, match="an update of another file"):
        shoal.verify_file(after, f"{after}.manifest.json", earlier=files / "first.csv")
    with pytest.raises(OptionError, match="for an update only"):
        shoal.verify_file(before, f"{before}.manifest.json", earlier=after)
    record = json.loads((files / "r2.csv.record.json").read_text())
    assert record["both_releases"][0]["new"]["rows"] == 40
    third = written(files, "r3.csv", "r2.csv")
    assert third.intersection.kept.rows == 140
    assert shoal.verify_file(files / "r3.csv", files / "r3.csv.manifest.json", earlier=after)


def test_a_tampered_pair_is_refused(files):
    """A certificate that promises too much, of tables whose hashes are right."""
    written(files)
    path = files / "r2.csv.manifest.json"
    plain = json.loads(path.read_text())
    plain["earlier"]["new"] = 99
    path.write_text(json.dumps(plain))
    with pytest.raises(DisclosureError, match="99 new ones"):
        shoal.verify_file(files / "r2.csv", path, earlier=files / "r1.csv")


def test_files_that_do_not_belong_together_are_refused(files):
    (files / "other.csv").write_text((files / "r1.csv").read_text() + "1,2,f,a,t9999\n")
    with pytest.raises(DisclosureError, match="the record of another file"):
        shoal.update_file(files / "other.csv", files / "new.csv", earlier_record=files / "r1.csv.record.json")
    with pytest.raises(DataError, match=r"record of .* must be given: .*\(--earlier-record\)"):
        shoal.update_file(files / "other.csv", files / "new.csv")
    with pytest.raises(DataError, match="is not the record of a release"):
        shoal.update_file(files / "r1.csv", files / "new.csv", earlier_record=files / "r1.csv.manifest.json")
    with pytest.raises(OptionError, match="format of the earlier release, csv"):
        shoal.update_file(files / "r1.csv", files / "new.csv", files / "r2.parquet")
    assert not (files / "r2.parquet").exists()
    with pytest.raises(OptionError, match="must not overwrite the input"):
        shoal.update_file(files / "r1.csv", files / "new.csv", files / "r1.csv", force=True)


def test_dates_and_decimal_marks_are_those_of_the_earlier_release(tmp_path):
    rows = [f"{1 + i % 28:02}.{1 + i % 12:02}.{1950 + i};{i},5;{'ab'[i % 2]}" for i in range(40)]
    head = "born;size;ill"
    (tmp_path / "first.csv").write_text("\n".join([head, *rows[:30]]) + "\n")
    (tmp_path / "new.csv").write_text("\n".join([head, *(row.replace(",5", "") for row in rows[30:])]) + "\n")
    out = tmp_path / "r1.csv"
    plan = {"k": 3, "quasi_identifiers": ["born", "size"], "sensitive_attributes": ["ill"], "method": "mdav"}
    shoal.anonymize_file(tmp_path / "first.csv", out, certificate=tmp_path / "c.json", **plan)
    later = shoal.update_file(out, tmp_path / "new.csv", tmp_path / "r2.csv")
    assert later.intersection.new.rows == 10
    other = [f"{1950 + i}-{1 + i % 12:02}-{1 + i % 28:02};{i},5;a" for i in range(10)]
    (tmp_path / "new.csv").write_text("\n".join([head, *other]) + "\n")
    with pytest.raises(DataError, match="dates of 'born' must be written as in the earlier release"):
        shoal.update_file(out, tmp_path / "new.csv", tmp_path / "r3.csv")


def test_typed_files(tmp_path):
    import pyarrow.parquet as pq

    first, new = split(people())
    pq.write_table(first, tmp_path / "first.parquet")
    pq.write_table(new, tmp_path / "new.parquet")
    out = tmp_path / "r1.parquet"
    shoal.anonymize_file(tmp_path / "first.parquet", out, certificate=tmp_path / "r1.json", **ROLES, t=0.5)
    later = shoal.update_file(
        out, tmp_path / "new.parquet", tmp_path / "r2.parquet", certificate=tmp_path / "r2.json", allow_changes=True
    )
    assert shoal.verify_file(tmp_path / "r2.parquet", tmp_path / "r2.json", earlier=out)
    assert later.audit.rows == 140


def test_a_folder_is_updated_as_one_file_with_its_record(tmp_path):
    import pyarrow.parquet as pq

    first, new = split(people())
    pq.write_table(first, tmp_path / "first.parquet")
    pq.write_table(new, tmp_path / "new.parquet")
    record, whole = tmp_path / "record.json", tmp_path / "whole.parquet"
    shoal.anonymize_file(tmp_path / "first.parquet", whole, record=record, certificate=tmp_path / "c.json", **ROLES)
    plain = json.loads(record.read_text())
    plain["output"]["sha256"] = None  # as in the record of a folder
    record.write_text(json.dumps(plain))
    folder = tmp_path / "release.parquet"
    folder.mkdir()
    parts = pq.read_table(whole)
    for at in range(2):
        pq.write_table(parts.slice(50 * at, 50), folder / f"part-{at}.parquet")
    with pytest.raises(DataError, match=r"must be one file\. Got a folder.*--earlier-record"):
        shoal.update_file(folder, tmp_path / "new.parquet", tmp_path / "later.parquet", earlier_record=record)
    pq.write_table(pq.read_table(folder), tmp_path / "one.parquet")
    later = shoal.update_file(
        tmp_path / "one.parquet", tmp_path / "new.parquet", tmp_path / "later.parquet", earlier_record=record
    )
    assert (later.intersection.kept.k, later.intersection.new.rows) == (K, 40)


def test_there_is_no_report_and_nothing_is_written_for_one(tmp_path):
    _, later = updated({})
    with pytest.raises(OptionError, match="must be saved without a report"):
        later.save(tmp_path / "r2.csv", certificate=tmp_path / "c.json", report=tmp_path / "r2.html")
    assert not any(tmp_path.iterdir())
    later.save(tmp_path / "r2.csv", report=None)


def test_releases_of_files_that_were_read_in_pieces_are_updated(files):
    out = files / "pieces.csv"
    shoal.anonymize_file(files / "first.csv", out, certificate=files / "p.json", **ROLES, l=2, engine="stream")
    later = shoal.update_file(out, files / "new.csv", files / "r2.csv", certificate=files / "r2.json")
    assert shoal.verify_file(files / "r2.csv", files / "r2.json", earlier=out)
    assert later.audit.rows == 140


def test_no_value_of_the_data_is_in_certificate_and_record(files):
    later = written(files)
    new = people().slice(100)
    words = json.dumps(later.certificate) + json.dumps(later.record)
    for value in (*new["income"].to_pylist(), *new["token"].to_pylist()):
        assert str(value) not in words
