"""Values out of columns and back: types, scales, formats, time zones; huge and odd numbers; declared markers only."""

import itertools
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError, OptionError
from shoal.tables.columns import decode, decode_place, encode, infer, typed
from shoal.tables.markers import without_markers
from shoal.tables.numerals import rounded
from shoal.tables.values import Codes, Computed, Numbers, Rows, Texts


def chunked(values, kind=None):
    """Return a column in two pieces, so that code for one piece only is found out."""
    array = values if isinstance(values, pa.Array) else pa.array(values, kind)
    half = len(array) // 2
    return pa.chunked_array([array.slice(0, half), array.slice(half)])


def round_trip(column, kind, **options):
    """Return what is published if every row is its own group and publishes its value."""
    values, writing = decode(column, kind, name="x", **options)
    labels = np.arange(len(column))
    if isinstance(values, Codes):
        return encode(Rows(np.where(values.codes < 0, -1, labels)), labels, column, kind, writing)
    return encode(Computed(values.values), labels, column, kind, writing)


MOMENT = datetime(2024, 2, 29, 10, 30, 15, 250_000)
COLUMNS = [
    ("integer", pa.array([1, None, -3, 2**53], pa.int64())),
    *(("integer", pa.array([1, None, 127], kind)) for kind in (pa.int8(), pa.int16(), pa.uint8(), pa.uint64())),
    ("integer", pa.array([1.0, None, 3.0], pa.float64())),
    ("integer", pa.array([1.0, None, 3.0], pa.float32())),
    ("integer", pa.array([Decimal("1"), None, Decimal("3")], pa.decimal128(5, 0))),
    ("continuous", pa.array([1.25, None, -3e-7, 1e149, 0.1 + 0.2], pa.float64())),
    ("continuous", pa.array([1.25, None, 0.1], pa.float32())),
    ("continuous", pa.array([1, None, 3], pa.int64())),
    ("continuous", pa.array([Decimal("1.20"), None, Decimal("-0.05")], pa.decimal128(12, 2))),
    ("continuous", pa.array([Decimal("1.20"), None], pa.decimal256(50, 2))),
    ("date", pa.array([date(1999, 12, 31), None, date(1, 1, 1), date(9999, 12, 31)], pa.date32())),
    ("date", pa.array([date(1999, 12, 31), None], pa.date64())),
    *(("date", pa.array([datetime(1999, 12, 31), None], pa.timestamp(unit))) for unit in ("s", "ms", "us", "ns")),
    *(("datetime", pa.array([datetime(1999, 12, 31, 9), None], pa.timestamp(unit))) for unit in ("s", "ms", "ns")),
    ("datetime", pa.array([MOMENT, None], pa.timestamp("us", "Europe/Berlin"))),
    ("datetime", pa.array([MOMENT, None], pa.timestamp("ns", "UTC"))),
    ("nominal", pa.array(["a", None, "b", ""])),
    ("nominal", pa.array(["a", None, "b"], pa.large_string())),
    ("nominal", pa.array([2**60 + 1, None, 2**60 + 3])),
    ("nominal", pa.array([0.5, None, -0.5])),
    ("nominal", pa.array(np.array([0.5, -0.5], np.float16))),
    ("continuous", pa.array(np.array([0.5, -0.5], np.float16))),
    ("nominal", pa.array(["a", None, "b"]).dictionary_encode()),
    ("nominal", pa.array([True, None, False])),
    ("boolean", pa.array([True, None, False])),
    ("boolean", pa.array(["yes", None, "no"])),
    ("boolean", pa.array([0, None, 1], pa.int8())),
    ("ordinal", pa.array([3, None, 1])),
    ("ordinal", pa.array(["10", None, "9"])),
    ("nominal", pa.nulls(3)),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "array"), COLUMNS, ids=[f"{kind}-{array.type}" for kind, array in COLUMNS])
def test_round_trip_keeps_type_and_values(kind, array):
    column = chunked(array)
    found = round_trip(column, kind)
    assert found.type == column.type
    assert found.to_pylist() == column.to_pylist()


TEXTS = [
    ("integer", ["1", None, "-30"], {}),
    ("continuous", ["1.50", None, "-0.25"], {}),
    ("continuous", ["1,50", None, "-0,25"], {"decimal": ","}),
    ("continuous", ["1e-05", None, "2.5"], {}),
    ("date", ["31.12.1999", None, "01.02.2000"], {}),
    ("date", ["12/31/1999", None, "01/02/2000"], {}),
    ("date", ["01/02/2000", None], {"pattern": "%m/%d/%Y"}),
    ("date", ["31 Dec 1999", None], {"pattern": "%d %b %Y"}),
    ("datetime", ["1999-12-31T23:59", None], {}),
    ("datetime", ["1999-12-31 23:59:58.123", None], {}),
    ("datetime", ["31/12/1999 23:59", None], {"pattern": "%d/%m/%Y %H:%M"}),
]


@pytest.mark.parametrize("kind_of_text", [pa.string(), pa.large_string()], ids=str)
@pytest.mark.parametrize(("kind", "values", "options"), TEXTS)
@pytest.mark.parametrize("text", [True, False])
def test_text_round_trip_keeps_the_format(kind, values, options, kind_of_text, text):
    """Also of text columns of data frames, where a number is one only if it is declared."""
    column = chunked(values, kind_of_text)
    found = round_trip(column, kind, text=text, **options)
    assert found.type == kind_of_text
    assert found.to_pylist() == values


@given(st.lists(st.integers(-(2**53), 2**53) | st.none(), min_size=1, max_size=6))
def test_integers_round_trip(numbers):
    assert round_trip(chunked(numbers, pa.int64()), "integer").to_pylist() == numbers


@given(st.lists(st.datetimes(datetime(1700, 1, 1), datetime(2250, 1, 1)) | st.none(), min_size=1, max_size=6))
def test_moments_round_trip_in_any_zone(moments):
    column = chunked(moments, pa.timestamp("us", "America/New_York"))
    assert round_trip(column, "datetime").to_pylist() == column.to_pylist()


def test_moments_are_utc_inside():
    there = datetime(2024, 7, 1, 12, tzinfo=ZoneInfo("Europe/Berlin"))
    values, _ = decode(chunked([there], pa.timestamp("us", "Europe/Berlin")), "datetime", name="x")
    assert values.values.tolist() == [(datetime(2024, 7, 1, 10) - datetime(1970, 1, 1)) / timedelta(microseconds=1)]


@pytest.mark.parametrize("zone", [None, "America/New_York"])
def test_moments_are_read_in_the_microsecond_that_they_lie_in_also_before_1970(zone):
    column = chunked(pa.array([-1, -1000, -1001, 1999, None], pa.int64()).cast(pa.timestamp("ns", zone)))
    values, _ = decode(column, "datetime", name="x")
    assert values.values[:4].tolist() == [-1, -1, -2, 1]
    assert np.isnan(values.values[4])


# --- what is published keeps the scale ---


def published(array, kind, number, **options):
    column = chunked(array)
    writing = decode(column, kind, name="x", **options)[1]
    labels = np.zeros(len(column), np.int64)
    return encode(Computed(np.array([number])), labels, column, kind, writing).to_pylist()[0]


@pytest.mark.parametrize(
    ("array", "kind", "number", "expected"),
    [
        (pa.array([1, 4]), "integer", 2.5, 2),
        (pa.array([1, 6], pa.int8()), "integer", 3.5, 4),
        (pa.array([1.5, 2.25]), "continuous", 1.23456, 1.23),
        (pa.array([1.5, 1 / 3]), "continuous", 1.23456, 1.23456),
        (pa.array([1.0, 2.0]), "continuous", 1.6, 2.0),
        (pa.array([Decimal("1.50"), Decimal("2.25")]), "continuous", 1.239, Decimal("1.24")),
        (pa.array(["1.5", "2.25"]), "continuous", 1.239, "1.24"),
        (pa.array(["1", "2"]), "integer", 1.6, "2"),
        (pa.array([date(1970, 1, 1), date(1970, 1, 5)]), "date", 2.4, date(1970, 1, 3)),
        (pa.array([MOMENT, MOMENT]), "datetime", 1.4, datetime(1970, 1, 1, microsecond=1)),
        (pa.array([MOMENT], pa.timestamp("s")), "datetime", 1_500_001.0, datetime(1970, 1, 1, second=2)),
        (pa.array([MOMENT], pa.timestamp("ms")), "datetime", -1_600.0, datetime(1969, 12, 31, 23, 59, 59, 998_000)),
        (pa.array([-0.5, 0.25]), "continuous", -0.001, 0.0),
    ],
)
def test_means_are_rounded_to_what_the_column_holds(array, kind, number, expected):
    found = published(array, kind, number)
    assert found == expected
    assert repr(found) == repr(expected)


def test_declared_digits():
    assert published(pa.array([1.5, 2.25]), "continuous", 1.23456, digits=4) == 1.2346
    assert published(pa.array([15.0, 25.0]), "continuous", 123.456, digits=-1) == 120.0
    assert published(pa.array(["1.5", "2.25"]), "continuous", 1.0, digits=3) == "1.000"
    assert published(pa.array([Decimal("1.5")]), "continuous", 1.26, digits=3) == Decimal("1.3")  # it has one place


@given(st.integers(-(2**53), 2**53), st.integers(0, 12), st.integers(0, 3))
def test_numbers_that_have_no_more_places_stay_as_they_are(whole, digits, more):
    """To multiply by a thousand millions and to divide again would make 205612265 the number 205612264.99999997."""
    number = whole / 10**digits
    assert rounded(np.array([number]), digits + more).tolist() == [number]


@given(st.floats(-1e16, 1e16), st.integers(0, 12))
def test_numbers_are_rounded_to_the_nearest_with_so_many_places(number, digits):
    found = rounded(np.array([number, np.nan]), digits).tolist()
    assert found[0] == round(found[0], digits)
    slack = Fraction(float(np.spacing(abs(number))))
    assert abs(Fraction(found[0]) - Fraction(number)) <= Fraction(1, 2 * 10**digits) + slack
    assert np.isnan(found[1])


@given(st.floats(-1e12, 1e12), st.integers(1, 17), st.integers(0, 12))
def test_a_number_has_the_places_that_it_is_written_with(number, figures, digits):
    """So those of a column are the most of its parts, as the stream counts them."""
    number = float(f"{number:.{figures}g}")
    places = -Decimal(repr(number)).normalize().as_tuple().exponent
    assert (rounded(np.array([number]), digits)[0] == number) == (places <= digits)


def test_texts_and_missing():
    column, labels = chunked([1, 2, 3]), np.array([0, 1, 0])
    writing = decode(column, "integer", name="x")[1]
    assert encode(Texts(("[1, 3]", None)), labels, column, "integer", writing).to_pylist() == ["[1, 3]", None, "[1, 3]"]
    assert encode(Rows(np.array([2, -1])), labels, column, "integer", writing).to_pylist() == [3, None, 3]
    assert encode(Computed(np.array([2.0, np.nan])), labels, column, "integer", writing).to_pylist() == [2, None, 2]
    large = chunked(["a", "b"], pa.large_string())
    writing = decode(large, "nominal", name="x")[1]
    assert encode(Texts(("*",)), np.zeros(2, int), large, "nominal", writing).type == pa.large_string()


# --- odd numbers ---


@pytest.mark.parametrize(
    ("array", "kind", "said"),
    [
        (
            pa.array([1.0, float("inf"), -float("inf")]),
            "continuous",
            "must hold finite numbers. Got 2",
        ),
        (pa.array([1.5, 1e300]), "continuous", "must hold numbers up to 1e150"),
        (pa.array([1.5, -2e150]), "continuous", "must hold numbers up to 1e150"),
        (pa.array(["1e400", "1"]), "continuous", "must hold finite numbers. Got 1"),
        (pa.array([2**53 + 2, 1]), "integer", "beyond 2^53, which look like identifiers"),
        (pa.array([2**64 - 1], pa.uint64()), "integer", "beyond 2^53"),
        (pa.array(["123456789012345678901234567890"]), "integer", "beyond 2^53"),
        (pa.array([1.5, 2.0]), "integer", "must hold whole numbers, as declared"),
        (pa.array(["a", "b"]).dictionary_encode(), "integer", "must hold values of a integer attribute"),
        (pa.array([True]), "continuous", "must hold values of a continuous attribute"),
        (pa.array([1]), "date", "must hold values of a date attribute"),
        (pa.array([1]), "datetime", "must hold values of a datetime attribute"),
        (pa.array(["a", "b", "c"]), "boolean", "A boolean attribute must have two values. Got 3"),
    ],
)
def test_refused(array, kind, said):
    with pytest.raises(DataError) as caught:
        decode(chunked(array), kind, name="x")
    assert said in str(caught.value)
    assert "'x'" in str(caught.value)


@pytest.mark.parametrize("largest", [1e149, -1e150, 5e-324])
def test_large_and_small_numbers_are_taken(largest):
    values, _ = decode(chunked([1.5, largest]), "continuous", name="x")
    assert values.values.tolist() == [1.5, largest]


def test_nan_is_missing_for_every_kind():
    column = chunked([1.0, float("nan"), None, 2.0])
    for kind in ("continuous", "integer", "nominal", "ordinal"):
        values, _ = decode(column, kind, name="x")
        assert values.missing.tolist() == [False, True, True, False], kind


def test_nought_and_minus_nought_are_one_level():
    values, _ = decode(chunked([0.0, -0.0, 1.5]), "nominal", name="x")
    assert values.codes.tolist() == [0, 0, 1]


# --- inference ---


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (pa.array([1, 2]), "integer"),
        (pa.array([1.0, 2.0]), "continuous"),
        (pa.array([1.0, None]), "integer"),
        (pa.array([1.0, float("nan")]), "integer"),
        (pa.array([1.5, None]), "continuous"),
        (pa.array([Decimal("1.5")]), "continuous"),
        (pa.array([True, None]), "boolean"),
        (pa.array(["1", "2"]), "nominal"),
        (pa.array(["a"], pa.large_string()), "nominal"),
        (pa.array([date(2000, 1, 1)]), "date"),
        (pa.array([datetime(2000, 1, 1), None]), "date"),
        (pa.array([datetime(2000, 1, 1, 1)]), "datetime"),
        (pa.array([datetime(1900, 1, 1, 1)]), "datetime"),
        (pa.array([datetime(2000, 1, 1)], pa.timestamp("us", "UTC")), "datetime"),
        (pa.array([None], pa.timestamp("us")), "datetime"),
        (pa.nulls(2), "nominal"),
        (pa.array(["a"]).dictionary_encode(), "nominal"),
        (pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["a"]), ordered=True), "ordinal"),
    ],
)
def test_kinds_of_typed_columns(array, kind):
    assert infer(chunked(array), text=False, decimal=".", name="x")[0] == kind


@pytest.mark.parametrize("array", [pa.array([[1]]), pa.array([timedelta(1)]), pa.array([b"a"]), pa.array([{"a": 1}])])
def test_other_types_are_refused(array):
    with pytest.raises(DataError, match=r"must hold numbers, texts, booleans or dates\. The column 'x' holds"):
        infer(chunked(array), text=False, decimal=".", name="x")


# --- levels ---


def test_levels_in_order():
    values, _ = decode(chunked(["mid", None, "low", "high"]), "ordinal", levels=("low", "mid", "high"), name="x")
    assert values.levels == ("low", "mid", "high")
    assert values.codes.tolist() == [1, -1, 0, 2]
    assert decode(chunked(["10", "9"]), "ordinal", name="x")[0].levels == ("9", "10")
    assert decode(chunked([3, 1]), "ordinal", name="x")[0].levels == ("1", "3")


def test_levels_without_an_order_do_not_depend_on_that_of_rows():
    """Or ties between modes would be settled by it."""
    for values in (["b", None, "a"], ["a", "b", None]):
        assert decode(chunked(values), "nominal", name="x")[0].levels == ("a", "b")


def test_levels_of_whole_numbers_with_gaps():
    """Pandas has floats where whole numbers have gaps: 2.0 is the level 2."""
    values, _ = decode(chunked([2.0, None, 1.0]), "ordinal", levels=(1, 2, 3), name="x")
    assert values.codes.tolist() == [1, -1, 0]
    assert decode(chunked([True, False]), "ordinal", levels=("false", "true"), name="x")[0].codes.tolist() == [1, 0]


def test_ordered_categories_keep_unused_levels():
    array = pa.DictionaryArray.from_arrays(pa.array([2, None, 0]), pa.array(["low", "mid", "high"]), ordered=True)
    values, _ = decode(chunked(array), "ordinal", name="x")
    assert values == (values.codes, ("low", "mid", "high"))
    assert values.codes.tolist() == [2, -1, 0]


def test_categories_without_an_order_have_none():
    """Theirs may be that of the alphabet, as in Pandas, or that of the first rows, as in Polars."""
    words, numbers = (chunked(pa.array(values).dictionary_encode()) for values in (["mid", "high", "low"], [10, 9]))
    with pytest.raises(OptionError, match="must have its levels in order"):
        decode(words, "ordinal", name="x")
    assert decode(words, "ordinal", levels=("low", "mid", "high"), name="x")[0].codes.tolist() == [1, 2, 0]
    assert decode(numbers, "ordinal", name="x")[0].levels == ("9", "10")


@pytest.mark.parametrize(
    ("levels", "error", "said"),
    [
        ((), OptionError, "An ordinal attribute must have its levels in order. Got none for the column 'x'"),
        (("low", "low"), OptionError, "The levels of the column 'x' must be different"),
        (("low",), DataError, "must hold its levels only. Got others in 2 rows"),
    ],
)
def test_wrong_levels(levels, error, said):
    with pytest.raises(error) as caught:
        decode(chunked(["low", "SECRET", "SECRET"]), "ordinal", levels=levels, name="x")
    assert said in str(caught.value)
    assert "SECRET" not in str(caught.value)


# --- markers ---


@pytest.mark.parametrize(
    ("array", "markers", "expected"),
    [
        (pa.array([-999, 1]), (), [-999, 1]),
        (pa.array([-999, 1]), (-999,), [None, 1]),
        (pa.array([-999, 1]), ("-999",), [None, 1]),
        (pa.array([-999, 1]), ("NA", -998, 0.5), [-999, 1]),
        (pa.array([1, 25], pa.uint8()), (-999, 281), [1, 25]),  # 281 is 25 modulo 256
        (pa.array([2**53, 2**53 + 1]), (2**53 + 1,), [2**53, None]),
        (pa.array([-999.0, 1.5]), (-999,), [None, 1.5]),
        (pa.array([0.1, 1.5], pa.float32()), (0.1,), [None, 1.5]),
        (pa.array([Decimal("-9.50"), Decimal("1.00")]), (-9.5,), [None, Decimal("1.00")]),
        (pa.array([True, False]), (-999, 1, "true"), [True, False]),
        (pa.array(["NA", "b", None]), ("NA",), [None, "b", None]),
        (pa.array(["NA", "b"]).dictionary_encode(), ("NA",), [None, "b"]),
        (pa.array([date(9999, 12, 31), date(2000, 1, 1)]), ("9999-12-31", -999), [None, date(2000, 1, 1)]),
        (pa.array([datetime(1900, 1, 1), MOMENT]), ("1900-01-01",), [None, MOMENT]),
        (pa.array([date(1970, 1, 2)]), (1,), [date(1970, 1, 2)]),
    ],
)
def test_only_declared_markers_are_missing(array, markers, expected):
    found = without_markers(chunked(array), markers)
    assert found.to_pylist() == expected
    assert found.type == array.type


def test_markers_leave_the_order_of_categories():
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["low", "high", "NA"]), ordered=True)
    found = without_markers(chunked(array), ("NA",))
    assert found.to_pylist() == ["low", "high", None]
    assert found.type.ordered


@pytest.mark.parametrize("markers", [("NA",), ("nowhere",)])
def test_markers_leave_categories_that_do_not_come_in_their_order(markers):
    array = pa.DictionaryArray.from_arrays(pa.array([2, 0, 3, 1]), pa.array(["a", "b", "c", "NA"]), ordered=True)
    found = without_markers(chunked(array), markers)
    levels = decode(found, "ordinal", name="x")[0].levels
    assert levels == ("a", "b", "c", "NA")


# --- places ---


def test_places():
    degrees = decode_place(np.array([1.0, np.nan, 3.0]), np.array([4.0, 5.0, np.nan]), ("lat", "lon")).degrees
    np.testing.assert_array_equal(degrees, [[1, 4], [np.nan, np.nan], [np.nan, np.nan]])


@pytest.mark.parametrize(("latitude", "longitude", "name"), [(90.5, 0, "lat"), (0, -180.5, "lon")])
def test_places_are_on_the_globe(latitude, longitude, name):
    with pytest.raises(DataError, match=f"The column '{name}' must hold degrees"):
        decode_place(np.array([latitude, 0.0]), np.array([longitude, 0.0]), ("lat", "lon"))


# --- types out of text, for files that have them ---


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (["1", None], pa.int64(), [1, None]),
        (["1.5", None], pa.float64(), [1.5, None]),
        (["1.3E-05", None, "-6.9E-07"], pa.float64(), [1.3e-05, None, -6.9e-07]),
        (["1.5", "NA", "2"], pa.string(), ["1.5", "NA", "2"]),
        (["007", "1"], pa.string(), ["007", "1"]),
        (["TRUE", None, "FALSE"], pa.bool_(), [True, None, False]),
        (["31.12.1999", None], pa.date32(), [date(1999, 12, 31), None]),
        (["1999-12-31 10:00", None], pa.timestamp("us"), [datetime(1999, 12, 31, 10), None]),
        (["01/02/1999", None], pa.string(), ["01/02/1999", None]),
    ],
)
def test_typed(values, kind, expected):
    found = typed(chunked(values, pa.string()), ".", "x")
    assert found.type == kind
    assert found.to_pylist() == expected


def test_numbers_are_numbers():
    values, _ = decode(chunked([1, None]), "integer", name="x")
    assert isinstance(values, Numbers)
    assert values.values.dtype == np.float64


MIXED = {
    "numbers": ["1.0", "@x", "2", "x"],
    "markers": ["1", "2", "NA", "n/a", "word"],
    "dates": ["1999-12-31", "2001-01-01", "soon", "later"],
    "digits": [20200101, 20200102, 7, 199],
    "moments": [20200101103000, 20200101103100, 5],
    "months": [202001, 201902, 999999, 1],
    "texts of digits": ["20200101", "20200102", "7", "199"],
    "decimals": ["1,5", "2,5", "x"],
}


def told(column, decimal, counts=None):
    """Return the kind of a column, or why it is refused."""
    try:
        return infer(column, text=True, decimal=decimal, name="x", counts=counts)
    except DataError as error:
        return str(error)


@pytest.mark.parametrize("values", MIXED.values(), ids=MIXED)
def test_different_values_with_their_counts_have_the_kind_of_all_rows(values):
    """What most of the rows are decides, not what most of the different values are."""
    kinds = set()
    for often in itertools.product((1, 2, 9), repeat=len(values)):
        few = pa.chunked_array([pa.array([*values, None])])
        every = few.take(pa.array(np.repeat(np.arange(len(values)), often)))
        decimal = "," if "1,5" in values else "."
        found = told(few, decimal, np.array([*often, 3]))
        assert found == told(every, decimal)
        kinds.add(found)
    assert len(kinds) > 1
