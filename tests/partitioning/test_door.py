"""What comes in is checked once, at the door: of `partition` and of the estimator alike."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import shoal
from shoal.errors import DataError, OptionError, ShoalError, UnknownMethodError

TELLTALE = 123456.789
N, K = 40, 5


def records():
    """Return data in which one value could be recognised anywhere."""
    X = np.random.default_rng(7).normal(size=(N, 3))
    X[11, 1] = TELLTALE
    return X


def by_function(X, k=K, method="mdav", **options):
    return shoal.partition(X, k, method, **options)


def by_estimator(X, k=K, method="mdav", *, standardize=False, **options):
    own = {name: options.pop(name) for name in ("random_state", "n_jobs", "progress") if name in options}
    estimator = shoal.Microaggregator(k, method, standardize=standardize, options=options or None, **own)
    return estimator.fit_predict(X)


DOORS = pytest.mark.parametrize("door", [by_function, by_estimator])


def refusal(door, kind, *args, **kwargs):
    """Return the message of the error that must come, which must not contain any value of the data."""
    with pytest.raises(kind) as caught:
        door(*args, **kwargs)
    message = str(caught.value)
    # However it is written: 123456.789, 1.23456789e+05, ...
    assert "123456" not in re.sub(r"\D", "", message)
    return message


# --- k ---


@DOORS
@pytest.mark.parametrize("k", [1, 0, -3, np.int64(1)])
def test_k_below_2(door, k):
    message = refusal(door, OptionError, records(), k)
    assert f"must be an integer from 2 to the number of records. Got {k}." in message
    assert "hides nobody" in message


@DOORS
@pytest.mark.parametrize("k", [N + 1, 10**30])
def test_k_above_n(door, k):
    assert f"Got {k} for {N} records." in refusal(door, OptionError, records(), k)


@DOORS
@pytest.mark.parametrize("k", [5.0, 2.5, "5", None, True, False, np.True_, float("nan"), np.array(5), [5], 5j])
def test_k_not_an_integer(door, k):
    assert f"Got {type(k).__name__}" in refusal(door, OptionError, records(), k)


@DOORS
@pytest.mark.parametrize("k", [np.int8(5), np.int32(5), np.int64(5), np.uint8(5), np.uint64(5)])
def test_integers_of_numpy_are_integers(door, k):
    assert door(records(), k).tolist() == door(records(), 5).tolist()


@DOORS
def test_k_from_2_to_n_is_fine(door):
    assert np.bincount(door(records(), N)).tolist() == [N]
    assert np.bincount(door(records(), 2)).tolist() == [2] * (N // 2)


@DOORS
def test_messages_name_the_caller(door):
    name = "partition" if door is by_function else "Microaggregator"
    assert name in refusal(door, OptionError, records(), 1)
    assert name in refusal(door, OptionError, records(), n_jobs=0)


# --- values that cannot be worked on ---


@DOORS
@pytest.mark.parametrize(
    ("value", "word"),
    [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")],
    ids=["nan", "inf", "-inf"],
)
def test_not_finite(door, value, word):
    """The message tells where, and how many records, but no value."""
    X = records()
    X[17, 2] = X[23, 0] = X[23, 1] = value
    message = refusal(door, DataError, X)
    assert word in message
    assert "2 of 40 records" in message
    assert "record 17, column 2" in message


@DOORS
def test_missing_values_of_frames(door):
    X = records()
    pandas = pd.DataFrame({"a": X[:, 0], "b": pd.array([None, *range(1, N)], dtype="Int64")})
    polars = pl.DataFrame({"a": X[:, 0], "b": [None, *range(1, N)]})
    for frame in (pandas, polars):
        refusal(door, DataError, frame)


NOT_NUMBERS = {
    "text": np.full((N, 2), "123456.789 or so"),
    "numbers as text": np.full((N, 2), "123456.789"),
    "bytes": np.full((N, 2), b"123456.789"),
    "dates": np.full((N, 2), np.datetime64("2024-12-31")),
    "durations": np.full((N, 2), np.timedelta64(123456789, "s")),
    "complex": np.full((N, 2), 123456.789 + 1j),
    "text in a frame": pd.DataFrame({"a": np.arange(N) / 7, "b": ["123456.789 or so"] * N}),
    "dates in a frame": pd.DataFrame({"a": np.arange(N) / 7, "b": pd.date_range("2024", periods=N)}),
    "categories in a frame": pd.DataFrame({"a": np.arange(N) / 7, "b": pd.Categorical(["123456.789"] * N)}),
    "text in polars": pl.DataFrame({"a": np.arange(N) / 7, "b": ["123456.789"] * N}),
    "dates in polars": pl.DataFrame({"b": pl.Series([20000] * N).cast(pl.Date)}),
}


@DOORS
@pytest.mark.parametrize("name", NOT_NUMBERS)
def test_not_numbers(door, name):
    refusal(door, DataError, NOT_NUMBERS[name])


@pytest.mark.parametrize("name", [name for name in NOT_NUMBERS if "frame" in name])
def test_the_column_that_is_no_number_is_named(name):
    assert "column 1" in refusal(by_function, DataError, NOT_NUMBERS[name])


@DOORS
def test_one_text_among_numbers(door):
    X = records().astype(object)
    X[11, 1] = "123456.789 or so"
    refusal(door, DataError, X)


def test_object_arrays_of_numbers():
    """The estimator takes them, as every estimator must; `partition` wants an array of numbers."""
    X = records().astype(object)
    assert "object" in refusal(by_function, DataError, X)
    assert by_estimator(X).tolist() == by_estimator(records()).tolist()


@DOORS
def test_sparse_and_masked(door):
    X = np.abs(records()).round()
    for kind in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        refusal(door, DataError, kind(X))
    refusal(door, DataError, np.ma.masked_array(X, X > 1))
    assert "mask" in refusal(by_function, DataError, np.ma.masked_array(X, X > 1))


@DOORS
@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**62])
def test_integers_that_double_precision_cannot_hold(door, value):
    X = np.arange(3 * N).reshape(N, 3)
    X[4, 1] = value
    message = refusal(door, DataError, X)
    assert "2**53" in message
    assert str(value) not in message


@DOORS
def test_integers_up_to_2_to_53_are_fine(door):
    X = np.arange(3 * N).reshape(N, 3)
    X[4, 1], X[5, 1] = 2**53, -(2**53)
    assert door(X).tolist() == door(X.astype(float)).tolist()
    refusal(door, DataError, np.full((N, 2), 2**64 - 1, np.uint64))


# --- shapes ---


@DOORS
def test_one_dimension(door):
    message = refusal(door, DataError, records()[:, 1])
    assert "reshape(-1, 1)" in message


@DOORS
@pytest.mark.parametrize(
    "X",
    [
        records()[None],
        np.float64(TELLTALE),
        [[1.0, 2.0], [TELLTALE]],
        [[1.0, 2.0], TELLTALE],
        np.empty((N, 0)),
        np.empty((0, 3)),
        [],
        [[]],
        None,
        {"a": [TELLTALE]},
        "123456.789",
    ],
    ids=["3-d", "0-d", "ragged", "mixed", "no columns", "no rows", "[]", "[[]]", "None", "dict", "text"],
)
def test_other_shapes(door, X):
    refusal(door, ShoalError, X)


# --- magnitudes ---


@pytest.mark.parametrize("door", [by_function, by_estimator])
def test_too_large_to_be_squared(door):
    """Used as they are, without standardising."""
    X = records()
    X[:, 2] = np.linspace(0.5, 1.5, N) * 1e300
    message = refusal(door, DataError, X)
    assert "1e+150" in message
    assert "Column 2" in message
    assert "standardise" in message


@pytest.mark.parametrize("door", [by_function, by_estimator])
def test_too_small_to_be_squared(door):
    message = refusal(door, DataError, records() * 1e-300)
    assert "1e-140" in message
    assert "standardise" in message


@pytest.mark.parametrize("exponent", [996, -996, 500, -500, -1020])
def test_standardised_data_may_have_any_magnitude(exponent):
    """2^996 is about 1e300. Powers of two are exact, so that not a bit may change."""
    X = np.random.default_rng(3).normal(size=(60, 4))
    plain = shoal.Microaggregator(k=3, method="mdav").fit(X)
    scaled = shoal.Microaggregator(k=3, method="mdav").fit(np.ldexp(X, exponent))
    assert scaled.labels_.tolist() == plain.labels_.tolist()
    assert scaled.information_loss_ == plain.information_loss_
    if exponent > -1000:
        assert (np.ldexp(scaled.cluster_centers_, -exponent) == plain.cluster_centers_).all()


def test_standardised_data_may_have_columns_of_all_magnitudes():
    X = np.random.default_rng(3).normal(size=(60, 4))
    powers = np.array([1020, -1000, 0, 300])
    scaled = shoal.Microaggregator(k=3, method="mdav").fit(np.ldexp(X, powers))
    assert scaled.labels_.tolist() == shoal.Microaggregator(k=3, method="mdav").fit(X).labels_.tolist()
    assert np.isfinite(scaled.cluster_centers_).all()


def test_the_largest_doubles_are_handled_when_standardised():
    X = np.where(np.arange(40).reshape(20, 2) % 3 == 0, 1.7e308, -1.7e308)
    fitted = shoal.Microaggregator(k=4, method="mdav").fit(X)
    assert np.isfinite(fitted.cluster_centers_).all()
    assert 0 <= fitted.information_loss_ <= 1


@DOORS
def test_magnitudes_within_the_limits(door):
    for power in (480, -440):
        assert door(np.ldexp(records(), power)).tolist() == door(records()).tolist()


@DOORS
def test_equal_records_need_no_spread(door):
    for value in (0.0, 1e-300, TELLTALE):
        assert np.bincount(door(np.full((N, 2), value))).min() >= K


# --- methods and options ---


@DOORS
@pytest.mark.parametrize("method", ["mdva", "MDAV", "mdav "])
def test_unknown_method_with_near_names(door, method):
    message = refusal(door, UnknownMethodError, records(), method=method)
    assert f"Got {method!r}. Hint: did you mean 'mdav'" in message
    assert "shoal.methods()" in message


@DOORS
@pytest.mark.parametrize("method", ["", "kmeans++++", None, 3, ["mdav"], True])
def test_unknown_method(door, method):
    assert "shoal.methods()" in refusal(door, UnknownMethodError, records(), method=method)


@DOORS
@pytest.mark.parametrize(("typo", "meant"), [("gama", "gamma"), ("Gamma", "gamma"), ("closets", "closest")])
def test_unknown_option(door, typo, meant):
    message = refusal(door, OptionError, records(), method="mdav*-gamma", **{typo: 1})
    assert f"no option {typo!r}. Hint: did you mean {meant!r}?" in message


@DOORS
def test_option_of_another_method(door):
    message = refusal(door, OptionError, records(), method="mdav", gamma=1.0)
    assert "'gamma' is an option of" in message
    assert "'mdav*-gamma'" in message
    message = refusal(door, OptionError, records(), method="v-mdav", closest="mean")
    assert "'mdav*'" in message


@DOORS
def test_auto_takes_no_options(door):
    assert "'auto' takes no options" in refusal(door, OptionError, records(), method="auto", gamma=1.0)


@DOORS
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("gamma", "bset"),
        ("gamma", "BEST"),
        ("gamma", -1),
        ("gamma", -1e-300),
        ("gamma", float("nan")),
        ("gamma", float("inf")),
        ("gamma", None),
        ("gamma", True),
        ("gamma", [0.5]),
        ("gamma", 1j),
        ("closest", "centre"),
        ("closest", ""),
        ("closest", 1),
        ("closest", None),
    ],
)
def test_wrong_values_of_options(door, option, value):
    message = refusal(door, OptionError, records(), method="mdav*-gamma", **{option: value})
    assert message.startswith(f"The {option!r} option of 'mdav*-gamma' must be ")
    assert f"Got {value!r}." in message
    assert "'best'" in message if option == "gamma" else "'mean', 'record' or 'cost'" in message


@DOORS
def test_numbers_of_numpy_are_numbers(door):
    expected = door(records(), method="mdav*-gamma", gamma=0.5).tolist()
    for gamma in (np.float32(0.5), np.float64(0.5)):
        assert door(records(), method="mdav*-gamma", gamma=gamma).tolist() == expected
    assert door(records(), method="v-mdav", gamma=1).tolist() == door(records(), method="v-mdav", gamma=1.0).tolist()


@DOORS
def test_the_univariate_optimum_takes_one_column(door):
    assert "exactly one coordinate. Got 2." in refusal(door, DataError, records()[:, :2], method="univariate")
    assert np.bincount(door(records()[:, :1], method="univariate")).min() >= K


@DOORS
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_jobs", 0),
        ("n_jobs", "x"),
        ("n_jobs", 1.5),
        ("n_jobs", True),
        ("random_state", -1),
        ("random_state", "x"),
        ("random_state", 1.5),
        ("random_state", True),
        ("progress", 3),
        ("progress", "bar"),
    ],
)
def test_wrong_values_of_common_options(door, name, value):
    assert refusal(door, OptionError, records(), **{name: value}).startswith(f"The {name!r} option of ")


@DOORS
@pytest.mark.parametrize(
    "options",
    [
        {"n_jobs": 2},
        {"n_jobs": -1},
        {"n_jobs": np.int64(1)},
        {"n_jobs": -100},
        {"random_state": 0},
        {"random_state": np.int64(3)},
        {"random_state": np.random.default_rng(1)},
        {"random_state": np.random.RandomState(1)},
    ],
    ids=[f"value {i}" for i in range(8)],
)
def test_right_values_of_common_options(door, options):
    assert door(records(), **options).tolist() == door(records()).tolist()


@pytest.mark.parametrize("value", [1, "yes", None, 0.0])
def test_standardize_is_yes_or_no(value):
    assert "'standardize'" in refusal(by_estimator, OptionError, records(), standardize=value)


@pytest.mark.parametrize("value", ["gamma", [("gamma", 1)], 3])
def test_options_of_the_estimator_are_a_dict(value):
    with pytest.raises(OptionError, match="'options'"):
        shoal.Microaggregator(k=K, method="v-mdav", options=value).fit(records())


def test_a_wrong_request_is_refused_before_work_is_done():
    heard = []
    for door in (by_function, by_estimator):
        refusal(door, OptionError, records(), method="mdav*", closest="centre", progress=heard.append)
        refusal(door, UnknownMethodError, records(), method="mdva", progress=heard.append)
    assert heard == []


# --- what is fine ---


def as_given():
    """Return the same small integers in every guise in which data may come."""
    X = np.random.default_rng(5).integers(-9, 10, size=(N, 3))
    F = X.astype(float)
    locked = F.copy()
    locked.flags.writeable = False
    wide = np.zeros((2 * N, 9))
    wide[::2, ::3] = F
    return F, {
        "list": F.tolist(),
        "tuple": tuple(map(tuple, F.tolist())),
        "list of arrays": list(F),
        "integers": X,
        "int8": X.astype(np.int8),
        "float32": F.astype(np.float32),
        "float16": F.astype(np.float16),
        "longdouble": F.astype(np.longdouble),
        "big endian": F.astype(">f8"),
        "Fortran": np.asfortranarray(F),
        "strided": wide[::2, ::3],
        "reversed twice": F[::-1][::-1],
        "read-only": locked,
        "pandas": pd.DataFrame(F, columns=list("abc"), index=np.arange(N)[::-1]),
        "pandas integers": pd.DataFrame(X, columns=list("abc")),
        "pandas integers and floats": pd.DataFrame({"a": X[:, 0], "b": F[:, 1], "c": X[:, 2].astype(np.int16)}),
        "polars": pl.DataFrame(F, schema=list("abc")),
        "polars integers and floats": pl.DataFrame({"a": X[:, 0], "b": F[:, 1], "c": X[:, 2].astype(np.int16)}),
        "pandas nullable": pd.DataFrame({"a": F[:, 0], "b": pd.array(X[:, 1], dtype="Int64"), "c": F[:, 2]}),
    }


@DOORS
@pytest.mark.parametrize("guise", as_given()[1])
def test_the_labels_do_not_depend_on_the_guise(door, guise):
    F, guises = as_given()
    assert door(guises[guise]).tolist() == door(F).tolist()


@DOORS
def test_truth_values_are_numbers(door):
    B = np.random.default_rng(5).random((N, 3)) > 0.4
    assert door(B).tolist() == door(B.astype(float)).tolist()


@DOORS
def test_frames_with_truth_values_beside_numbers(door):
    X = np.random.default_rng(5).normal(size=(N, 2))
    B = X[:, 1] > 0
    expected = door(np.column_stack([X[:, 0], B])).tolist()
    assert door(pl.DataFrame({"a": X[:, 0], "b": B})).tolist() == expected
    assert door(pd.DataFrame({"a": X[:, 0], "b": B})).tolist() == expected


@DOORS
@pytest.mark.parametrize("method", ["mdav", "md", "mdav*", "gsms", "mst", "npn-mhm", "mondrian-v2d", "auto"])
def test_input_is_never_modified(door, method):
    X = records()
    before = X.copy()
    door(X, method=method)
    assert X.tobytes() == before.tobytes()
    X.flags.writeable = False
    assert door(X, method=method).tolist() == door(before, method=method).tolist()


def test_read_only_data_need_no_second_compilation():
    """Frames and memory maps may be read-only; another type of array would compile every kernel anew."""
    from shoal.kernels.star import star

    X = records()
    X.flags.writeable = False
    by_function(X, method="mdav*")
    assert star.signatures
    assert all(signature[0].mutable for signature in star.signatures)


def test_input_is_never_modified_by_standardising():
    X = records()
    before = X.copy()
    published = shoal.Microaggregator(k=K).fit_transform(X)
    assert X.tobytes() == before.tobytes()
    assert not np.shares_memory(published, X)


@DOORS
def test_frames_are_never_modified(door):
    frame = pd.DataFrame(records(), columns=list("abc"))
    before = frame.copy()
    door(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_labels_are_integers_numbered_by_first_appearance():
    for method in ("mdav", "mondrian", "npn-mhm"):
        labels = shoal.partition(records(), K, method)
        assert labels.dtype == np.int64
        assert labels.shape == (N,)
        _, first = np.unique(labels, return_index=True)
        assert (np.diff(first) > 0).all()
        assert labels.max() + 1 == len(first)
