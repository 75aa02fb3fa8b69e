"""Whole numbers of which few are different are published as they occur."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import shoal
from shoal.release.run import release_of
from shoal.tables.occurring import few_whole


@pytest.mark.parametrize(
    ("numbers", "few"),
    [
        ([10, 20, 70] * 20, 3),
        ([0, 1] * 5, 2),
        ([7] * 50, 0),  # whose mean occurs too
        (range(2000, 2025), 0),
        ([*range(2000, 2024)] * 2, 24),
        ([*range(25)] * 2, 0),
        ([*range(25)] * 4, 25),
        ([*range(100)] * 3, 0),
        ([*range(100)] * 4, 100),
        ([0.5, 1.0] * 50, 0),
        ([-1.0, 1e149] * 20, 0),  # beyond what integers hold
        ([1, 2, np.nan], 0),
        ([1, 1, 2, 2, np.nan], 2),
        ([np.nan], 0),
        ([], 0),
    ],
)
def test_few(numbers, few):
    assert few_whole(np.array([*numbers], float)) == few


def survey(**columns):
    return pd.DataFrame({"income": np.linspace(1000, 5000, 60) + 0.25, **columns})


CODES = np.array([10, 20, 70] * 20)


@pytest.mark.parametrize(
    "codes",
    [CODES, CODES.astype(np.int8), CODES.astype(float), pd.array([None, *CODES[1:]], dtype="Int64")],
    ids=["int64", "int8", "whole floats", "nullable"],
)
def test_codes_are_published_as_they_occur_and_the_schema_says_why(codes):
    release = shoal.anonymize(survey(region=codes), k=5, method="mdav")
    assert set(release.table["region"].dropna()) <= {10, 20, 70}
    region = release.attributes[1]
    assert (region.kind, region.representative) == ("integer", "median")
    assert region.note.startswith("3 different whole numbers: published as they occur (median)")
    assert "'continuous' averages them" in region.note


def test_documents_do_not_tell_what_the_values_decided():
    """Whether few are different is a fact about the originals."""
    spread = CODES + np.arange(len(CODES)) * 100
    for codes, how in ((CODES, "median"), (spread, "mean")):
        release = shoal.anonymize(survey(region=codes), k=5, method="mdav")
        assert release.attributes[1].representative == how
        assert release.certificate["columns"][1]["published"] == "mean or median"
        assert "different whole numbers" not in release.report()


@pytest.mark.parametrize("kind", ["continuous", "integer"])
def test_they_are_averaged_if_that_is_said(kind):
    release = shoal.anonymize(survey(region=CODES), k=5, method="mdav", types={"region": kind})
    assert release.attributes[1].representative == "mean"
    assert not set(release.table["region"]) <= {10, 20, 70}
    by_kind = shoal.anonymize(survey(region=CODES), k=5, method="mdav", representatives={"integer": "mean"})
    assert by_kind.attributes[1].representative == "mean"


def test_ages_stay_numbers_between_numbers():
    ages = np.random.default_rng(0).integers(0, 100, 300)
    frame = pd.DataFrame({"age": ages, "income": np.linspace(0, 1, 300)})
    release = shoal.anonymize(frame, k=5, method="mdav")
    assert release.attributes[0].kind == "integer"
    assert release.table["age"].dtype == np.int64
    assert release.table["age"].between(ages.min(), ages.max()).all()


def test_text_keeps_its_notation():
    rows = [f"{code}.0" for code in CODES.tolist()]
    table = pa.table({"code": rows, "income": [f"{x}.5" for x in range(60)]})
    release = release_of(table, shoal.Plan.of(k=5, method="mdav"), text=True)
    assert set(release.table["code"].to_pylist()) <= {"10.0", "20.0", "70.0"}


def test_recodings_publish_ranges_as_before():
    release = shoal.anonymize(survey(region=CODES), k=5, method="mdav", release="local-recoding")
    assert release.attributes[1].representative == "interval"
