"""What `auto` loses on tables of people: hardly more than the best of the other methods, whatever that is there."""

from functools import partial

import pandas as pd
import pytest
from benchmarks.real_tables import CODES, FREE1, METHODS, NEAR, SURVEY, TESTDATA, TESTDATA2, coordinates, of_sdcmicro

import shoal
from shoal.datasets.loaders import folders_of
from shoal.partitioning.run import extent_for
from shoal.plan import Plan
from shoal.release.groups.grouping import Constraints, settled

FRANCDAT = ["Num1", "Key1", "Num2", "Key2", "Key3", "Key4", "Num3"]


def of_folder(name, columns):
    if not any((home / f"sdcmicro_{name}.csv.gz").exists() for home in folders_of(None)):
        pytest.skip("benchmark data not found; SHOAL_DATA names it")
    return of_sdcmicro(name, columns)


def adult(**fields):
    try:
        table = shoal.datasets.arx_adult()
    except shoal.DatasetNotFoundError:
        pytest.skip("benchmark data not found; SHOAL_DATA names it")
    known = list(table.quasi_identifiers)
    if fields.pop("hierarchies"):
        fields = {"hierarchies": {name: table.hierarchies[name] for name in known}}
    return coordinates(pd.DataFrame(table.columns)[known], **fields)


TABLES = {
    "testdata2": partial(of_folder, "testdata2", TESTDATA2),
    "francdat": partial(of_folder, "francdat", FRANCDAT),
    "survey": lambda: coordinates(pd.DataFrame(shoal.datasets.survey(600))[SURVEY]),
    "codes": lambda: coordinates(pd.DataFrame(shoal.datasets.microdata(600))[CODES], nominal=CODES),
}
LARGER = {
    "testdata": partial(of_folder, "testdata", TESTDATA),
    "free1": partial(of_folder, "free1", FREE1),
    "adult": partial(adult, hierarchies=False),
    "adult with hierarchies": partial(adult, hierarchies=True),
}


def lost(X, k, method, **options):
    return shoal.information_loss(X, shoal.partition(X, k, method, random_state=0, **options))


def by_auto(X, k):
    """Return what is lost without a time limit, as in a release."""
    n, d = X.shape
    plan = settled(Plan.of(k=k), n, d, Constraints(), extent=extent_for("auto", X)).plan
    return lost(X, k, plan.method, **plan.options)


def compare(X, k):
    best = min(lost(X, k, method) for method in METHODS)
    assert by_auto(X, k) <= NEAR * best


@pytest.mark.parametrize("k", [3, 5, 10])
@pytest.mark.parametrize("name", TABLES)
def test_auto_is_near_the_best_of_all_others(name, k):
    X = TABLES[name]()
    if len(X) < 2 * k:
        pytest.skip("one group is all there is")
    compare(X, k)


@pytest.mark.long
@pytest.mark.parametrize("k", [3, 5, 10])
@pytest.mark.parametrize("name", LARGER)
def test_auto_is_near_the_best_of_all_others_on_larger_tables(name, k):
    compare(LARGER[name](), k)
