"""The scikit-learn estimator: its conventions, and what it publishes."""

import copy
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

import shoal
from clocks import PATIENCE
from shoal import Microaggregator
from shoal.errors import OptionError, ShoalError

FITTED = {"labels_", "cluster_centers_", "information_loss_", "lower_bound_", "gap_", "method_", "n_features_in_"}


def blobs(n=90, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 4 * rng.integers(0, 3, size=(n, 1))


def fitted_state(estimator):
    """Return all that a fit left behind, in a form that can be compared."""
    state = {name: value for name, value in vars(estimator).items() if name.endswith("_")}
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in state.items()}


def exact_means(X, labels):
    groups = [X[labels == g] for g in range(labels.max() + 1)]
    return np.array([[math.fsum(column) / len(group) for column in group.T] for group in groups])


# --- conventions of scikit-learn ---


@parametrize_with_checks(
    [
        Microaggregator(),
        Microaggregator(k=2, method="mdav"),
        Microaggregator(k=3, method="mondrian", standardize=False, n_jobs=2),
        Microaggregator(k=3, method="v-mdav", options={"gamma": "best"}, random_state=1),
    ]
)
def test_conventions_of_scikit_learn(estimator, check):
    check(estimator)


def test_parameters_are_left_alone():
    given = {
        "k": np.int64(4),
        "method": "mdav*-gamma",
        "standardize": True,
        "options": {"gamma": 0.5},
        "refine": "tfrp2",
        "time_limit": None,
        "random_state": np.random.default_rng(1),
        "n_jobs": 1,
        "progress": None,
        "bound": "quick",
    }
    frozen = copy.deepcopy(given["options"])
    estimator = Microaggregator(**given).fit(blobs())
    assert set(estimator.get_params()) == set(given)
    for name, value in estimator.get_params().items():
        assert value is given[name]
    assert given["options"] == frozen


def test_a_constructor_checks_nothing():
    """Wrong parameters are refused by fit, so that grids and clones can be built."""
    estimator = Microaggregator(k="many", method=3, standardize="x")
    assert clone(estimator).k == "many"
    with pytest.raises(OptionError):
        estimator.fit(blobs())


def test_clone_and_set_params():
    estimator = Microaggregator(k=4, method="v-mdav", options={"gamma": 0.4}).fit(blobs())
    twin = clone(estimator)
    assert not FITTED & set(vars(twin))
    assert twin.get_params() == estimator.get_params()
    assert fitted_state(twin.fit(blobs())) == fitted_state(estimator)
    twin.set_params(k=9, options=None).fit(blobs())
    assert np.bincount(twin.labels_).min() >= 9


def test_an_estimator_that_is_not_fitted_says_so():
    with pytest.raises(NotFittedError):
        check_is_fitted(Microaggregator())
    with pytest.raises(NotFittedError):
        Microaggregator().get_feature_names_out()


@pytest.mark.parametrize("X", [blobs(), pd.DataFrame(blobs(), columns=list("abc"))], ids=["array", "frame"])
def test_a_second_fit_starts_afresh(X):
    other = np.random.default_rng(8).normal(size=(31, 5))
    reused = Microaggregator(k=4).fit(X)
    reused.set_params(method="mdav", standardize=False)
    reused.fit(other)
    fresh = Microaggregator(k=4, method="mdav", standardize=False).fit(other)
    assert fitted_state(reused) == fitted_state(fresh)
    assert set(vars(reused)) == set(vars(fresh))
    assert not hasattr(reused, "feature_names_in_")


def test_fitting_twice_gives_the_same():
    estimator = Microaggregator(k=4)
    first = fitted_state(estimator.fit(blobs()))
    assert fitted_state(estimator.fit(blobs())) == first


def test_the_ways_to_fit_agree():
    X = blobs()
    estimator = Microaggregator(k=4)
    assert estimator.fit(X) is estimator
    labels = estimator.labels_
    assert labels.dtype == np.int64
    assert Microaggregator(k=4).fit_predict(X).tolist() == labels.tolist()
    assert Microaggregator(k=4).fit(X, y=np.arange(90)).labels_.tolist() == labels.tolist()
    published = Microaggregator(k=4).fit_transform(X)
    assert published.tolist() == estimator.cluster_centers_[labels].tolist()


def test_there_is_no_transform_and_the_docstring_says_why():
    for name in ("transform", "predict"):
        assert not hasattr(Microaggregator, name)
        assert not hasattr(Microaggregator().fit(blobs()), name)
        assert f"``{name}``" in Microaggregator.__doc__
    assert "cannot be hidden" in Microaggregator.__doc__


@pytest.mark.parametrize("fitted", [False, True])
def test_pickling(fitted):
    estimator = Microaggregator(k=4, method="mdav*-gamma", options={"gamma": 0.5})
    if fitted:
        estimator.fit(pd.DataFrame(blobs(), columns=list("abc")))
    again = pickle.loads(pickle.dumps(estimator))
    assert again.get_params() == estimator.get_params()
    assert fitted_state(again) == fitted_state(estimator)
    assert (
        again.fit_predict(blobs()).tolist() == Microaggregator(**estimator.get_params()).fit_predict(blobs()).tolist()
    )


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("way", ["fit", "fit_predict", "fit_transform"])
def test_a_fitted_estimator_holds_no_raw_data(way, standardize):
    """Neither the array nor a copy, a view, or a single record of it."""
    X = blobs()
    estimator = Microaggregator(k=3, method="mdav", standardize=standardize)
    getattr(estimator, way)(X)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    records = {row.tobytes() for row in X} | {row.round(9).tobytes() for row in scaled}
    for name, value in vars(estimator).items():
        if not isinstance(value, np.ndarray):
            assert value is None or isinstance(value, int | float | str | bool), name
            continue
        assert not np.shares_memory(value, X), name
        rows = value.astype(float).reshape(len(value), -1)
        assert not records & {row.tobytes() for row in rows}, name
        assert not records & {row.round(9).tobytes() for row in rows}, name
    assert len(pickle.dumps(estimator)) < X.nbytes + 90 * 8 + 1500


# --- pipelines and frames ---


def test_the_last_step_of_a_pipeline():
    X = blobs() * [1, 100, 1e-4]
    scaled = StandardScaler().fit_transform(X)
    alone = Microaggregator(k=4, standardize=False)
    expected = alone.fit_transform(scaled)
    steps = make_pipeline(StandardScaler(), Microaggregator(k=4, standardize=False))
    assert steps.fit_transform(X).tolist() == expected.tolist()
    assert steps.fit_predict(X).tolist() == alone.labels_.tolist()
    assert steps.fit(X)[-1].labels_.tolist() == alone.labels_.tolist()
    assert not hasattr(steps, "predict")
    steps.set_params(microaggregator__k=10)
    assert np.bincount(steps.fit_predict(X)).min() >= 10


def test_a_pipeline_keeps_names():
    frame = pd.DataFrame(blobs(), columns=["age", "pay", "size"], index=[f"r{i}" for i in range(90)])
    steps = Pipeline([("scale", StandardScaler()), ("hide", Microaggregator(k=4))]).set_output(transform="pandas")
    published = steps.fit_transform(frame)
    assert list(published.columns) == ["age", "pay", "size"]
    assert list(published.index) == list(frame.index)
    assert steps.get_feature_names_out().tolist() == ["age", "pay", "size"]


def test_set_output_pandas():
    frame = pd.DataFrame(blobs(), columns=["age", "pay", "size"], index=np.arange(90)[::-1] * 3)
    estimator = Microaggregator(k=4).set_output(transform="pandas")
    published = estimator.fit_transform(frame)
    assert isinstance(published, pd.DataFrame)
    assert list(published.columns) == ["age", "pay", "size"]
    assert published.index.equals(frame.index)
    assert published.to_numpy().tolist() == Microaggregator(k=4).fit_transform(blobs()).tolist()
    assert estimator.feature_names_in_.tolist() == ["age", "pay", "size"]
    assert list(estimator.fit_transform(blobs()).columns) == ["x0", "x1", "x2"]


def test_set_output_polars():
    frame = pl.DataFrame(blobs(), schema=["age", "pay", "size"])
    published = Microaggregator(k=4).set_output(transform="polars").fit_transform(frame)
    assert isinstance(published, pl.DataFrame)
    assert published.columns == ["age", "pay", "size"]
    assert published.to_numpy().tolist() == Microaggregator(k=4).fit_transform(blobs()).tolist()


# --- what is published ---


def least_count(published):
    return np.unique(published, axis=0, return_counts=True)[1].min()


@pytest.mark.parametrize("method", ["auto", "mdav", "mdav*", "cbfs", "npn-mhm", "mondrian-v2d"])
@pytest.mark.parametrize("k", [2, 5, 44, 45, 46, 90])
def test_every_published_record_occurs_at_least_k_times(method, k):
    published = Microaggregator(k=k, method=method).fit_transform(blobs())
    assert published.shape == (90, 3)
    assert least_count(published) >= k


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int64, np.int8, bool])
def test_precision_of_what_is_published(dtype):
    X = (blobs() * 3).round().astype(dtype)
    published = Microaggregator(k=4, method="mdav").fit_transform(X)
    assert published.dtype == (np.float32 if dtype is np.float32 else np.float64)
    assert least_count(published) >= 4
    expected = Microaggregator(k=4, method="mdav").fit_transform(X.astype(np.float64))
    assert published.tolist() == expected.astype(published.dtype).tolist()


@pytest.mark.parametrize("standardize", [False, True])
def test_centres_are_the_exact_means_of_the_groups(standardize):
    X = blobs() * [1e-5, 1.0, 1e7]
    estimator = Microaggregator(k=4, standardize=standardize).fit(X)
    assert estimator.cluster_centers_.dtype == np.float64
    assert estimator.cluster_centers_.tobytes() == exact_means(X, estimator.labels_).tobytes()


def test_values_far_from_zero_keep_their_digits():
    """Steps of 2^-20 at 1e9 in groups of four: means are exact, the partition is that of the steps alone."""
    steps = np.random.default_rng(3).integers(-500, 500, size=(80, 3)) * 2.0**-20
    near = Microaggregator(k=4, method="mdav", standardize=False).fit(steps)
    far = Microaggregator(k=4, method="mdav", standardize=False).fit(steps + 1e9)
    assert far.labels_.tolist() == near.labels_.tolist()
    assert far.cluster_centers_.tobytes() == exact_means(steps + 1e9, far.labels_).tobytes()
    standardized = Microaggregator(k=4, method="mdav").fit(steps + 1e9)
    assert standardized.labels_.tolist() == Microaggregator(k=4, method="mdav").fit(steps).labels_.tolist()
    assert standardized.information_loss_ == pytest.approx(near.information_loss_, rel=0.2)


def test_constant_columns_do_no_harm():
    X = blobs()
    wide = np.column_stack([X, np.full(90, 0.1), np.full(90, 1e9), np.zeros(90)])
    plain = Microaggregator(k=4).fit(X)
    estimator = Microaggregator(k=4)
    published = estimator.fit_transform(wide)
    assert estimator.labels_.tolist() == plain.labels_.tolist()
    assert estimator.information_loss_ == plain.information_loss_
    assert (published[:, 3:] == wide[:, 3:]).all()


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9 + 0.1, -1e300, 5e-324])
def test_equal_records_are_published_as_they_are(value):
    """Also in groups of six, where the sum of 0.1 divided by 6 is not 0.1."""
    for k in (5, 6, 7, 11):
        X = np.full((23, 2), value)
        estimator = Microaggregator(k=k)
        published = estimator.fit_transform(X)
        assert np.bincount(estimator.labels_).min() >= k
        assert estimator.information_loss_ == 0.0
        assert (published == X).all()


def test_duplicates_that_fill_their_groups_lose_nothing():
    X = np.repeat(np.arange(5.0)[:, None] * [1, -3], 4, axis=0)
    estimator = Microaggregator(k=4, method="mdav")
    assert (estimator.fit_transform(X) == X).all()
    assert estimator.information_loss_ == 0.0


@pytest.mark.parametrize("method", ["auto", "mdav", "mondrian"])
def test_information_loss_is_that_of_the_compared_coordinates(method):
    X = blobs() * [1, 100, 1e-4]
    scaled = StandardScaler().fit_transform(X)
    standardized = Microaggregator(k=4, method=method).fit(X)
    expected = shoal.information_loss(scaled, standardized.labels_)
    assert standardized.information_loss_ == pytest.approx(expected, rel=1e-12)
    raw = Microaggregator(k=4, method=method, standardize=False).fit(X)
    assert raw.information_loss_ == shoal.information_loss(X, raw.labels_)


def test_standardizing_is_what_makes_units_irrelevant():
    X = blobs()
    units = X * [2.0**10, 1, 2.0**-9] + [0, 64, 0]
    assert Microaggregator(k=4).fit(units).labels_.tolist() == Microaggregator(k=4).fit(X).labels_.tolist()
    raw = Microaggregator(k=4, method="mdav", standardize=False)
    assert raw.fit_predict(units).tolist() == shoal.partition(units, 4, "mdav").tolist()
    assert raw.fit_predict(units).tolist() != raw.fit_predict(X).tolist()


def test_standardized_labels_are_those_of_partition_on_scaled_data():
    X = blobs(seed=5) * [1, 100, 1e-4]
    scaled = StandardScaler().fit_transform(X)
    assert Microaggregator(k=4, method="mdav").fit_predict(X).tolist() == shoal.partition(scaled, 4, "mdav").tolist()


def test_the_method_that_was_run_is_named():
    assert Microaggregator(k=4).fit(blobs()).method_ == "anytime"
    assert Microaggregator(k=4).fit(blobs()[:20]).method_ == "exact"
    assert Microaggregator(k=4).fit(blobs(d=1)).method_ == "univariate"
    for method in ("mdav", "mondrian-v", "cbfs-nc"):
        assert Microaggregator(k=4, method=method).fit(blobs()).method_ == method


def test_auto_is_what_it_names():
    from shoal.partitioning.choice import choose

    choice = choose(90, 3, 4)
    auto = Microaggregator(k=4).fit(blobs())
    named = Microaggregator(k=4, method=auto.method_, options=choice.options, random_state=0).fit(blobs())
    assert auto.method_ == choice.method
    assert auto.labels_.tolist() == named.labels_.tolist()


# --- how far from the optimum ---


def test_the_gap_is_what_the_bound_says():
    X = blobs()
    scaled = StandardScaler().fit_transform(X)
    estimator = Microaggregator(k=4, method="mdav").fit(X)
    assert estimator.lower_bound_ == pytest.approx(shoal.lower_bound(scaled, 4), rel=1e-9)
    assert 0 < estimator.lower_bound_ < estimator.information_loss_
    assert estimator.gap_ == pytest.approx(estimator.information_loss_ / estimator.lower_bound_ - 1, rel=1e-12)
    # No other partition is below the bound.
    assert Microaggregator(k=4).fit(X).information_loss_ >= estimator.lower_bound_


def test_a_better_bound_closes_the_gap():
    X = blobs(n=60)
    quick = Microaggregator(k=2).fit(X)
    better = Microaggregator(k=2, bound="lp", time_limit=PATIENCE).fit(X)
    assert quick.lower_bound_ < better.lower_bound_ <= better.information_loss_
    assert 0 <= better.gap_ < 1e-3 < quick.gap_


@pytest.mark.parametrize("X", [blobs()[:20], blobs(d=1), np.ones((30, 2)), blobs()[:7]], ids=str)
def test_what_is_proven_has_no_gap(X):
    """Few records, a single column, equal records, and a single group."""
    estimator = Microaggregator(k=4).fit(X)
    assert estimator.gap_ == 0.0
    assert estimator.lower_bound_ == estimator.information_loss_


def test_without_a_bound_there_is_no_gap():
    estimator = Microaggregator(k=4, method="mdav").fit(blobs())
    estimator.set_params(bound=None).fit(blobs())
    assert not hasattr(estimator, "gap_")
    assert not hasattr(estimator, "lower_bound_")
    with pytest.raises(
        OptionError, match=r"'bound' option of Microaggregator must be None, 'quick', 'lp' or 'regions'. Got 'x'"
    ):
        Microaggregator(bound="x").fit(blobs())


def test_a_bound_that_would_take_long_is_left_out(monkeypatch):
    from shoal.measure import certificates

    monkeypatch.setattr(certificates, "QUICK_SECONDS", 1.0)
    estimator = Microaggregator(k=4, method="mdav").fit(blobs())
    assert (estimator.lower_bound_, estimator.gap_) == (0.0, math.inf)
    patient = Microaggregator(k=4, time_limit=1e6, options=None).fit(blobs()[:40])
    assert patient.gap_ < math.inf


def test_options_reach_the_method():
    X = blobs()
    scaled = StandardScaler().fit_transform(X)
    losses = set()
    for gamma in (0.0, 0.5, "best"):
        estimator = Microaggregator(k=4, method="mdav*-gamma", options={"gamma": gamma}).fit(X)
        assert estimator.labels_.tolist() == shoal.partition(scaled, 4, "mdav*-gamma", gamma=gamma).tolist()
        losses.add(estimator.information_loss_)
    assert len(losses) > 1


def test_threads_do_not_change_the_result():
    X = blobs(n=300)
    for method in ("auto", "mondrian"):
        one = Microaggregator(k=4, method=method, n_jobs=1).fit(X)
        two = Microaggregator(k=4, method=method, n_jobs=2).fit(X)
        assert fitted_state(one) == fitted_state(two)


TABLE = blobs(12)


class Stubborn:
    def __array__(self, *_, **__):
        raise RuntimeError("SECRET")


AWKWARD = {
    "one row": TABLE[:1],
    "lists in an array": np.array([[["SECRET"], 2]] * 5, object),
    "complex objects": np.array([[1j, 2.0]] * 5, object),
    "mappings": np.array([[{"a": "SECRET"}, 2.0]] * 5, object),
    "huge integers": np.array([[10**400], [1], [2], [3]], object),
    "extended precision": np.array([[np.longdouble(2) ** 5000]] * 4),
    "an object that cannot be converted": Stubborn(),
    "sparse columns": pd.DataFrame(TABLE).astype(pd.SparseDtype(float)),
    "equal names": pd.DataFrame(TABLE[:, :2], columns=["SECRET", "SECRET"]),
    "names of two kinds": pd.DataFrame(TABLE[:, :2], columns=[0, "SECRET"]),
    "one dimension": TABLE[:, 0],
    "three dimensions": TABLE[None],
    "complex": TABLE.astype(complex),
    "texts": np.array([["SECRET", "1"]] * 5),
    "no rows": TABLE[:0],
    "fields": np.zeros(5, [("a", float), ("b", float)]),
    "dates": np.array([["2020-01-01"]] * 5, "M8[D]"),
    "a generator": (row for row in TABLE),
    "nothing": None,
}


@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.filterwarnings("error")
def test_awkward_input_is_refused_in_our_words(name):
    with pytest.raises(ShoalError) as caught:
        Microaggregator(k=3, method="mdav").fit(AWKWARD[name])
    assert "The 'X' of Microaggregator must" in str(caught.value)
    assert "SECRET" not in str(caught.value)
    try:
        shoal.partition(AWKWARD[name], 3, "mdav")  # does not care for names
    except ShoalError as error:
        refusal = str(error)
    else:
        refusal = ""
    assert "SECRET" not in refusal


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_matrices_and_numbers_in_objects_are_taken():
    wanted = Microaggregator(k=3, method="mdav").fit_transform(TABLE)
    for X in (np.matrix(TABLE), TABLE.astype(object), TABLE.tolist(), np.asfortranarray(TABLE)):
        published = Microaggregator(k=3, method="mdav").fit_transform(X)
        assert type(published) is np.ndarray
        np.testing.assert_array_equal(published, wanted)


def test_too_few_records_are_refused_and_nothing_is_fitted():
    estimator = Microaggregator(k=5)
    with pytest.raises(ShoalError, match="Got 5 for 4 records"):
        estimator.fit(blobs(n=4))
    assert set(vars(estimator)) & FITTED <= {"n_features_in_"}
