"""Finished releases are measured as releases are, and rows that cannot be matched are refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.errors import DataError, OptionError
from shoal.io import read, write

N = 120
ROLES = {"quasi_identifiers": ["age", "city", "income"], "identifiers": ["name"], "sensitive_attributes": ["illness"]}


@pytest.fixture(scope="module")
def people():
    draw = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "name": [f"n{i:03}" for i in range(N)],
            "age": draw.integers(18, 90, N),
            "city": draw.choice(["Oslo", "Rome", "Kyoto", "Delhi"], N),
            "income": draw.lognormal(8, 1, N).round(2),
            "illness": draw.choice(["flu", "cold", "none"], N),
            "weight": draw.integers(1, 9, N),
            "home": draw.integers(0, 50, N),
        }
    )


def released(people, k=4, **options):
    roles = {**ROLES, "other": [name for name in people if name in ("weight", "home")]}
    return shoal.anonymize(people, k=k, **{"method": "mdav", **roles, **options})


@pytest.mark.filterwarnings("ignore:The attributes were grouped")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"release": "local-recoding"},
        {"weight": "weight", "other": ["home"]},
        {"importance": {"age": 3}, "types": {"income": "ordinal"}},
        {"stratum": ["illness"], "sensitive_attributes": []},
        {"blocks": [["age", "city"], ["income"]]},
    ],
)
def test_the_loss_is_that_of_the_release(people, options):
    release = released(people, **options)
    given = {name: options[name] for name in ("weight", "importance", "types") if name in options}
    (found,) = shoal.compare_releases(people, [release], **given)
    assert found.loss == pytest.approx(release.loss, rel=1e-12)
    assert found.by_attribute == pytest.approx(dict(release.losses.by_attribute), rel=1e-12)
    assert (found.k, found.groups) == (release.audit.k, release.audit.classes)
    assert found.certainty_penalty == pytest.approx(release.utility.certainty_penalty)
    assert found.discernability == release.utility.discernability
    assert found.average_group_size == pytest.approx(release.utility.average_group_size)
    assert found.k_in_blocks == (4 if "blocks" in options else None)
    assert (found.removed, found.notes) == (0, ())


@pytest.mark.filterwarnings("ignore:The attributes were grouped")
def test_groups_that_publish_the_same_are_one(people):
    release = released(people, blocks="each")  # several groups publish the same city
    (found,) = shoal.compare_releases(people, [release])
    assert found.by_attribute["income"] == pytest.approx(release.losses.by_attribute["income"], rel=1e-12)
    assert found.by_attribute["city"] > release.losses.by_attribute["city"]


def test_files_of_any_format_and_their_certificates(people, tmp_path):
    people.to_csv(tmp_path / "people.csv", index=False)
    paths = []
    for suffix, method in ((".csv", "mdav"), (".parquet", "mondrian"), (".jsonl", "mdav")):
        path = tmp_path / f"{method}{suffix}"
        release = shoal.anonymize_file(
            tmp_path / "people.csv",
            path,
            k=4,
            l=2,
            method=method,
            certificate=f"{path}.manifest.json" if suffix != ".jsonl" else None,
            **ROLES,
            other=["weight", "home"],
        )
        paths.append((path, release))
    found = shoal.compare_releases(tmp_path / "people.csv", [path for path, _ in paths])
    assert [one.certified for one in found] == [True, True, False]
    for one, (path, release) in zip(found, paths, strict=True):
        assert one.name == str(path)
        assert one.loss == pytest.approx(release.loss, rel=1e-12)
    assert [(str(f.model), f.attribute, f.held) for f in found[0].models] == [
        (str(f.model), f.attribute, f.held) for f in paths[0][1].audit.models
    ]
    assert found[2].models == ()
    changed = read(paths[0][0])
    write(changed.table.append_column("new", pa.array(["x"] * N)), paths[0][0], like=changed, force=True)
    (again,) = shoal.compare_releases(tmp_path / "people.csv", [paths[0][0]], ROLES["quasi_identifiers"])
    assert (again.certified, again.models) == (False, ())
    assert "belongs to another file" in again.notes[0]


def test_a_release_of_another_program_and_its_loss_by_hand():
    people = pa.table({"age": [20, 30, 60, 70], "sex": ["f", "m", "f", "f"], "ill": ["a", "b", "c", "d"]})
    given = pa.table({"age": ["<50", "<50", ">50", ">50"], "sex": ["*", "*", "f", "f"], "ill": ["a", "b", "c", "d"]})
    (found,) = shoal.compare_releases(people, [given], ["age", "sex"], k=2)
    whole, within = sum((x - 45) ** 2 for x in (20, 30, 60, 70)), 4 * 5**2
    assert found.by_attribute["age"] == pytest.approx(within / whole)
    assert found.by_attribute["sex"] == pytest.approx((1 / 2) / (3 / 4))  # of f and m: 2 * 1/4 within, 3/4 in all
    assert (found.k, found.groups, found.average_group_size, found.discernability) == (2, 2, 1.0, 8)
    assert found.certainty_penalty == pytest.approx((4 * 10 / 50 + 2) / 8)


def test_frames_of_all_kinds(people):
    release = released(people)
    frames = [release.table, pl.from_pandas(release.table), pa.Table.from_pandas(release.table), release]
    found = shoal.compare_releases(people, frames, ROLES["quasi_identifiers"])
    assert len({(one.loss, one.k) for one in found}) == 1
    assert [one.name for one in found] == [f"release {at}" for at in (1, 2, 3, 4)]


def test_units_are_counted_in_the_original(people):
    release = released(people, unit="home", other=["weight"])
    (found,) = shoal.compare_releases(
        people, [release.table.drop(columns="weight")], ROLES["quasi_identifiers"], unit="home"
    )
    assert found.k == release.k == release.audit.k_units


def test_rows_are_matched_by_a_key(people):
    numbered = people.assign(row=[f"r{7 * i}" for i in range(N)])
    release = released(numbered, other=["weight", "home", "row"])
    mixed = release.table.sample(frac=1, random_state=1)
    (found,) = shoal.compare_releases(numbered, [mixed], ROLES["quasi_identifiers"], key="row")
    assert found.loss == pytest.approx(release.loss, rel=1e-12)
    fewer = mixed.iloc[:100]
    (part,) = shoal.compare_releases(numbered, [fewer], ROLES["quasi_identifiers"], key="row")
    kept = numbered[numbered["row"].isin(fewer["row"])]
    (alone,) = shoal.compare_releases(kept, [fewer], ROLES["quasi_identifiers"], key="row")
    assert (part.rows, part.removed, alone.removed) == (100, 20, 0)
    assert part.loss == pytest.approx(alone.loss, rel=1e-12)
    assert part.discernability == alone.discernability + 20 * N
    assert part.certainty_penalty > alone.certainty_penalty


def test_rows_that_cannot_be_matched_are_refused(people):
    release = released(people)
    table = release.table
    names = ROLES["quasi_identifiers"]
    with pytest.raises(DataError, match=r"as many rows as the original.*Got 119 rows.*--key"):
        shoal.compare_releases(people, [table.iloc[1:]], names)
    with pytest.raises(
        DataError, match=r"in the order of the original.*'illness' in another order|'weight' in another"
    ):
        shoal.compare_releases(people, [table.sample(frac=1, random_state=1)], names)
    shuffled = released(people, shuffle=True, random_state=1)
    with pytest.raises(DataError, match=r"certificate says that they were shuffled"):
        shoal.compare_releases(people, [shuffled], names)
    (found,) = shoal.compare_releases(people, [table[names]], names)
    assert found.notes == ("its rows were matched by their order, which no unchanged column confirms",)
    with pytest.raises(OptionError, match=r"must be a column of the original\. Got 'nam'"):
        shoal.compare_releases(people, [table], names, key="nam")
    with pytest.raises(OptionError, match=r"must be a column of every release\. Got none 'name'"):
        shoal.compare_releases(people, [table], names, key="name")
    with pytest.raises(DataError, match=r"different value in each row\. Got 0 missing and 117 repeated"):
        shoal.compare_releases(people, [table], names, key="illness")
    stranger = table.assign(name=["x", *people["name"][1:]])
    with pytest.raises(DataError, match=r"Got 1 rows in release 1 whose key the original does not have"):
        shoal.compare_releases(people, [stranger], names, key="name")


def test_what_is_compared_is_found_or_asked_for(people):
    one, other = (
        released(people),
        released(people, quasi_identifiers=["age", "city"], other=["income", "weight", "home"]),
    )
    with pytest.raises(OptionError, match=r"same quasi-identifiers.*--qi"):
        shoal.compare_releases(people, [one, other])
    both = shoal.compare_releases(people, [one, other], ["age", "city"])
    assert all(list(found.by_attribute) == ["age", "city"] for found in both)
    with pytest.raises(OptionError, match=r"in every release\. Got none 'income' in release 1"):
        shoal.compare_releases(people, [one.table.drop(columns="income")], ["age", "income"])
    with pytest.raises(OptionError, match=r"columns in common"):
        shoal.compare_releases(people[["age"]], [people[["city"]]])
    with pytest.raises(OptionError, match=r"At least one release"):
        shoal.compare_releases(people, [])
    (all_of_them,) = shoal.compare_releases(people, [one.table.drop(columns=["weight", "home"])])
    assert list(all_of_them.by_attribute) == ["age", "city", "income", "illness"]


def test_the_original_compared_with_itself_loses_nothing(people):
    (found,) = shoal.compare_releases(people, [people], ROLES["quasi_identifiers"])
    assert (found.loss, found.k) == (0.0, 1)
