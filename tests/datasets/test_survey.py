import doctest
import importlib
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal.datasets.survey import EDUCATION, survey
from shoal.errors import OptionError


@pytest.fixture(scope="module")
def frame():
    return pd.DataFrame(survey(20_000, random_state=3))


def test_the_same_seed_gives_the_same_table():
    first, second = survey(300), survey(300, random_state=np.random.default_rng(0))
    assert list(first) == list(second)
    assert all(np.array_equal(np.asarray(first[name], object), np.asarray(second[name], object)) for name in first)
    assert survey(300, random_state=1)["income"] != first["income"]


def test_examples_of_the_docstring():
    module = importlib.import_module("shoal.datasets.survey")
    assert doctest.testmod(module) == doctest.TestResults(failed=0, attempted=2)


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_it_has_the_rows_it_should(n):
    assert {len(column) for column in survey(n).values()} == {n}


def test_pandas_polars_and_arrow_take_it():
    table = survey(500)
    arrow = pa.table(table)
    assert arrow.schema.field("birth_date").type == pa.date32()
    assert arrow.schema.field("postcode").type == pa.string()
    assert arrow.schema.field("smoker").type == pa.bool_()
    assert arrow["income"].null_count == table["income"].count(None) > 5
    polars = pl.DataFrame(table)
    assert polars.schema["income"] == pl.Float64
    assert polars.schema["interview_date"] == pl.Date
    assert polars["income"].null_count() == arrow["income"].null_count
    assert pd.DataFrame(table)["income"].isna().sum() == arrow["income"].null_count


def test_people_and_their_homes_are_consistent(frame):
    assert frame["person_id"].is_unique
    shared = ["region", "postcode", "latitude", "longitude", "interview_date"]
    assert (frame.groupby("household")[shared].nunique() == 1).all(axis=None)
    assert frame.groupby("household").size().max() == 4
    assert frame["postcode"].map(lambda code: bool(re.fullmatch(r"\d{5}", code))).all()
    assert frame["postcode"].str.startswith("0").any()
    # The first digit is the region.
    assert (frame.groupby(frame["postcode"].str[0])["region"].nunique() == 1).all()
    # Nearer places have longer common prefixes.
    spread = [frame.groupby(frame["postcode"].str[:digits])["latitude"].std().mean() for digits in (1, 2, 3, 5)]
    assert spread == sorted(spread, reverse=True)
    age = (frame["interview_date"] - frame["birth_date"]).dt.days / 365.2425
    assert 17.99 < age.min() < 19
    assert 88 < age.max() < 103


def test_values_are_what_the_documentation_says(frame):
    assert set(frame["education"].dropna()) == set(EDUCATION)
    assert frame["region"].nunique() == frame["diagnosis"].nunique() == 8
    assert frame["occupation"].nunique() == 15
    assert 0.04 < frame["income"].isna().mean() < 0.06
    assert 0.005 < frame["education"].isna().mean() < 0.015
    assert frame.drop(columns=["income", "education", "height_cm"]).notna().all(axis=None)
    for name, decimals in {"income": 2, "height_cm": 1, "latitude": 4, "survey_weight": 2}.items():
        assert (frame[name].dropna().round(decimals) == frame[name].dropna()).all()
    assert frame["income"].skew() > 1
    assert frame["survey_weight"].min() > 0


def test_columns_depend_on_each_other(frame):
    level = frame["education"].map({name: i for i, name in enumerate(EDUCATION)})
    assert level.corr(frame["income"]) > 0.3
    assert frame["height_cm"].corr(frame["weight_kg"]) > 0.4
    median = frame.groupby("occupation")["income"].median()
    assert median["student"] < median["retired"] < median["management"]
    ill = frame["diagnosis"] == "heart disease"
    assert frame.loc[ill, "birth_date"].mean() < frame.loc[~ill, "birth_date"].mean() - pd.Timedelta(days=3000)


@pytest.mark.parametrize("options", [{"n": 0}, {"n": 2.5}, {"n": True}, {"random_state": -1}, {"random_state": "x"}])
def test_wrong_options_are_refused(options):
    with pytest.raises(OptionError, match=f"The '{next(iter(options))}' option of survey"):
        survey(**options)
