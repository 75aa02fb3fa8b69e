import doctest
import importlib

import numpy as np
import pandas as pd
import pytest

import shoal
from shoal.datasets import CODES, microdata
from shoal.errors import OptionError


@pytest.fixture(scope="module")
def frame():
    return pd.DataFrame(microdata(5000, random_state=3))


def test_the_same_seed_gives_the_same_table():
    first, second = microdata(300), microdata(300, random_state=np.random.default_rng(0))
    assert all(np.array_equal(np.asarray(first[name], object), np.asarray(second[name], object)) for name in first)
    assert not np.array_equal(microdata(300, random_state=1)["born"], first["born"])


def test_examples_of_the_docstring():
    module = importlib.import_module("shoal.datasets.microdata")
    assert doctest.testmod(module) == doctest.TestResults(failed=0, attempted=2)


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_it_has_the_rows_it_should(n):
    assert {len(column) for column in microdata(n).values()} == {n}


def test_wrong_numbers_are_refused():
    with pytest.raises(OptionError, match="microdata"):
        microdata(0)


def test_households_share_what_households_share(frame):
    assert (frame.groupby("household")[["region", "urban"]].nunique() == 1).all(axis=None)
    assert (frame[frame["relation"] == 1].groupby("household").size() == 1).all()
    assert frame.groupby("household").size().max() == 6


def test_categories_are_skewed(frame):
    for name in ("region", "birth_country", "industry"):
        shares = frame[name].value_counts(normalize=True)
        assert shares.iloc[0] > 4 * shares.iloc[-1]
    assert frame["birth_country"].value_counts(normalize=True).iloc[0] > 0.7


def test_blocks_of_questions_are_missing_together(frame):
    for block in (["income", "benefits", "savings"], ["health", "limited", "visits"], ["occupation", "industry"]):
        missing = frame[block].isna()
        assert (missing.nunique(axis=1) == 1).all()
        assert 0.1 < missing.iloc[:, 0].mean() < 0.7


def test_dates_in_digits_exist(frame):
    pd.to_datetime(frame["born"].astype(str), format="%Y%m%d")
    assert frame["born"].between(19240101, 20240101).all()


def test_nothing_is_published_that_does_not_occur():
    people = pd.DataFrame(microdata(1000))
    names = ["region", "sex", "born", "birth_country", "occupation"]
    release = shoal.anonymize(people[names], k=5, method="mdav")
    assert release.attributes[2].kind == "date"
    pd.to_datetime(release.table["born"].astype(str), format="%Y%m%d")
    for name in set(names) & set(CODES):
        assert set(release.table[name].dropna()) <= set(people[name].dropna())
