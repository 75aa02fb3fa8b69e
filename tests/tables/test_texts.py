"""Types read out of text: what a column of a CSV file is taken for, what is refused, and how it is written again."""

import re
from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError
from shoal.tables import columns, texts
from shoal.tables.calendar import calendar_days, to_days
from shoal.tables.dates import recognised, refuse_short_years
from shoal.tables.notation import Notation
from shoal.tables.texts import MARKERS, infer, to_moments, to_numbers, writer


def column(*values):
    return pa.chunked_array([pa.array(values, pa.string())])


def kind(*values, decimal="."):
    return infer(column(*values), decimal, "x")[0]


def microseconds(*values, pattern=""):
    return to_moments(column(*values), Notation(pa.string(), True, pattern=pattern), "x")[0]


# --- inference ---


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("1", "-2", "+3", "0"), "integer"),
        (("1", None, "2"), "integer"),
        ((" 1", "2 ", "\t3", "4\u00a0"), "integer"),
        (("007", "12", "123"), "nominal"),
        (("00", "1"), "nominal"),
        (("-01", "1"), "nominal"),
        (("1.5", "2", "-0.25"), "continuous"),
        ((".5", "5.", "0.5"), "continuous"),
        (("1e5", "2.5E-3", "1E+2"), "continuous"),
        (("01.5", "2.5"), "continuous"),
        (("true", "false"), "boolean"),
        (("TRUE", None, "FALSE"), "boolean"),
        (("True", "True"), "boolean"),
        (("yes", "no"), "nominal"),
        (("a", "b"), "nominal"),
        (("1999-12-31", "2000-02-29"), "date"),
        (("1999/12/31", "2000/1/2"), "date"),
        (("31.12.1999", "01.02.2000"), "date"),
        (("31/12/1999", "01/02/2000"), "date"),
        (("12/31/1999", "01/02/2000"), "date"),
        (("05/05/1999", "06/06/2000"), "date"),
        (("1999-12-31T23:59", "2000-01-01T00:00"), "datetime"),
        (("1999-12-31 23:59:59", "2000-01-01 00:00:00.5"), "datetime"),
        (("1.2.3", "4.5.6"), "nominal"),
        (("12-34-56", "98-76-54"), "nominal"),
        (("1_000", "2_000"), "nominal"),
        (("0x1F", "0x2A"), "nominal"),
        (("٣", "٤"), "nominal"),
        (("", "a"), "nominal"),
        ((None, None), "nominal"),
    ],
)
def test_kinds(values, expected):
    assert kind(*values) == expected


def test_decimal_commas():
    assert kind("1,5", "-2", "3,25", decimal=",") == "continuous"
    assert kind("1", "2", decimal=",") == "integer"
    with pytest.raises(DataError, match="must hold numbers in all rows"):
        kind("1,5", "2,5", "3.5", decimal=",")  # a point is no decimal mark here, nor one between thousands
    numbers, digits, *_ = to_numbers(column("1,50", " -2,5", None), ",", "x")
    np.testing.assert_array_equal(numbers, [1.5, -2.5, np.nan])
    assert digits == 2


def test_true_and_false_in_many_forms_are_no_boolean():
    found, note = infer(column("TRUE", "true", "False"), ".", "x")
    assert (found, note) == ("nominal", "true and false in many forms")


def test_notes_say_what_may_surprise():
    assert infer(column("007", "8"), ".", "x") == ("nominal", "codes: some have leading zeros")
    assert infer(column(None), ".", "x") == ("nominal", "no values")


def test_what_comes_after_a_thousand_rows_counts():
    many = ["1"] * 3000
    assert kind(*many, "2.5") == "continuous"
    assert kind(*many, "02") == "nominal"
    with pytest.raises(DataError, match=r"Got something else in 1 of 3001"):
        kind(*many, "x")
    with pytest.raises(DataError, match=r"Got 'nan' in 1 of 3001"):
        kind(*many, "nan")
    with pytest.raises(DataError, match=r"Got something else in 1 of 3001"):
        kind(*many, "inf")


# --- a few others among numbers and dates ---


@pytest.mark.parametrize("marker", MARKERS)
@pytest.mark.parametrize(("good", "what"), [("17", "numbers"), ("1.5", "numbers"), ("2024-01-31", "dates")])
def test_markers_among_numbers_and_dates_are_refused_with_the_hint(marker, good, what):
    with pytest.raises(DataError) as caught:
        kind(good, good, f" {marker} ", good)
    assert str(caught.value) == (
        f"The column 'x' must hold {what} in all rows. Got {marker!r} in 1 of 4. "
        f"Hint: if that means 'no value', declare it: missing_values=[{marker!r}]."
    )


def test_other_texts_among_numbers_are_not_repeated_in_the_message():
    with pytest.raises(DataError) as caught:
        kind("1", "2", "SECRET", "NA")
    assert "SECRET" not in str(caught.value)
    assert "Got 'NA' in 1 and something else in 1 of 4." in str(caught.value)
    assert kind("1", "SECRET", "x") == "nominal"  # mostly texts: a text column


# --- dates ---


@pytest.mark.parametrize(
    ("values", "pattern"),
    [
        (("1999-12-31",), "%Y-%m-%d"),
        (("1999.1.2",), "%Y.%m.%d"),
        (("31/12/1999", "01/02/1999"), "%d/%m/%Y"),
        (("12/31/1999", "01/02/1999"), "%m/%d/%Y"),
        (("01.02.1999",), "%d.%m.%Y"),  # with points it is always the day that comes first
        (("05-05-1999",), "%d-%m-%Y"),
    ],
)
def test_patterns_of_dates(values, pattern):
    assert recognised(column(*values), "x").pattern == pattern


def test_dates_of_which_some_have_times_are_refused():
    with pytest.raises(DataError, match="dates with times in all rows"):
        kind("1999-12-31", "1999-12-30 00:00")


@pytest.mark.parametrize("mark", ["/", "-"])
def test_ambiguous_dates_are_refused(mark):
    with pytest.raises(DataError) as caught:
        kind(f"01{mark}02{mark}1999", f"03{mark}04{mark}1999")
    assert str(caught.value) == (
        "The dates of the column 'x' must have a known order of day and month. Got dates that fit both. "
        f"Hint: state it with formats={{'x': '%d{mark}%m{mark}%Y'}} or '%m{mark}%d{mark}%Y'."
    )


@pytest.mark.parametrize(
    "values",
    [
        ("1999-02-29", "1999-01-01"),
        ("1999-13-01", "1999-01-01"),
        ("31/04/1999", "01/02/1999"),
        ("13/01/1999", "01/13/1999"),  # both orders in one column
    ],
)
def test_dates_that_do_not_exist_are_refused_not_made_categories(values):
    with pytest.raises(DataError, match="must contain valid dates, all in the same order of day and month"):
        kind(*values)


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        ("%Y-%m-%d", "1999-12-31", "1999-02-29"),
        ("%Y-%m-%d", "1999-1-2", "31-12-1999"),
        ("%d/%m/%Y", "31/12/1999", "31-12-1999"),
        ("%d/%m/%Y", "31/12/1999", "31/12/99"),
        ("%d/%m/%Y", "28/02/1999", "31/02/1999"),
        ("%m.%d.%Y", "12.31.1999", "31.12.1999"),
        ("%d/%m/%y", "31/12/99", "31/12/1999"),
        ("%d %b %Y", "31 Dec 1999", "31 Foo 1999"),
        ("%Y%m%d", "19991231", "19990231"),
        ("%j %Y", "365 1999", "367 1999"),
    ],
)
def test_declared_patterns(pattern, good, bad):
    days = to_days(column(good, None, f" {good} "), pattern, "x")
    expected = (datetime.strptime(good, pattern) - datetime(1970, 1, 1)).days
    np.testing.assert_array_equal(days, [expected, np.nan, expected])
    with pytest.raises(DataError, match="must hold dates of the form") as caught:
        to_days(column(good, bad), pattern, "x")
    assert bad not in str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        ("", "2024-02-29 10:30", "2023-02-29 10:30"),
        ("%d/%m/%Y %H:%M", "29/02/2024 10:30", "31/02/2024 10:30"),
        ("%d.%m.%Y %H:%M:%S", "29.02.2024 10:30:15", "29.02.2024"),
        ("%Y-%m-%d %H:%M:%S.%f", "2024-02-29 10:30:15.250000", "2024-02-30 10:30:15.250000"),
        ("%d/%m/%Y %H:%M", "01/03/2024 00:00", "29/02/2023 00:00"),
    ],
)
def test_times(pattern, good, bad):
    found = microseconds(good, None, pattern=pattern)
    moment = datetime.strptime(good, pattern or "%Y-%m-%d %H:%M")
    assert found[0] == (moment - datetime(1970, 1, 1)).total_seconds() * 1e6
    assert np.isnan(found[1])
    with pytest.raises(DataError, match="must hold dates with times in all rows") as caught:
        microseconds(good, bad, pattern=pattern)
    assert bad not in str(caught.value)


@given(st.lists(st.dates() | st.none(), min_size=1, max_size=8), st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y"]))
def test_dates_round_trip(dates, pattern):
    written = [None if d is None else d.strftime(pattern.replace("%Y", f"{d.year:04d}")) for d in dates]
    days = to_days(column(*written), pattern, "x")
    present = [text for text in written if text is not None]
    assert list(writer("date", Notation(pa.string(), True, pattern=pattern))(days[~np.isnan(days)])) == present
    np.testing.assert_array_equal(np.isnan(days), [d is None for d in dates])


@pytest.mark.parametrize(
    "text",
    [
        "1999-12-31T23:59",
        "1999-12-31 23:59",
        "1999-12-31 23:59:58",
        "1999-12-31T23:59:58.5",
        "1999-12-31 23:59:58.123",
        "1999-12-31 23:59:58.123456",
        "0999-12-31 23:59",
    ],
)
def test_times_are_written_as_they_were_read(text):
    values, writing = columns.decode(column(text, None), "datetime", text=True, name="x")
    assert list(writer("datetime", writing)(values.values[:1])) == [text]


# --- numbers ---


@given(st.lists(st.decimals(-(10**6), 10**6, places=3).map(str), min_size=1, max_size=10))
def test_decimals_round_trip(numbers):
    values, writing = columns.decode(column(*numbers), "continuous", text=True, name="x")
    again = writer("continuous", writing)(values.values)
    assert [re.sub(r"^-(?=[0.]+$)", "", text) for text in numbers] == again


@pytest.mark.parametrize(
    ("values", "digits"),
    [
        (("1", "2"), 0),
        (("1.5", "2.25"), 2),
        (("1e5", "2.25"), 2),
        (("1e5", "123456"), 0),
        (("1e-5", "2.25"), None),
        (("1.5e+07", "2.25e+06"), 2),
        (("1.50", None), 2),
        ((None, None), 0),
        (("0." + "1" * 30, "1"), None),
    ],
)
def test_decimal_places(values, digits):
    assert to_numbers(column(*values), ".", "x")[1] == digits


def test_numbers_that_are_declared_but_are_none():
    with pytest.raises(DataError) as caught:
        to_numbers(column("1", "SECRET", "THIRD", "x"), ".", "x")
    assert "Got others in 3 rows" in str(caught.value)
    assert "SECRET" not in str(caught.value)


def test_minus_nought_is_never_written():
    assert writer("continuous", Notation(pa.string(), True, digits=1))(np.array([-0.04, -0.0])) == ["0.0", "0.0"]
    assert writer("integer", Notation(pa.string(), True))(np.array([-0.4])) == ["0"]


# --- what stands for a missing value ---


@pytest.mark.parametrize(
    ("marker", "hits"),
    [
        (-999, [True, True, True, False, False, False, None]),
        ("-999", [True, True, True, False, False, False, None]),
        (-999.0, [True, True, True, False, False, False, None]),
        ("NA", [False, False, False, True, False, False, None]),
        (7, [False, False, False, False, False, False, None]),  # 007 is a code, not the number 7
        ("007", [False, False, False, False, True, False, None]),
        ("", [False, False, False, False, False, True, None]),
    ],
)
def test_markers_in_text(marker, hits):
    data = column("-999", " -999 ", "-999.00", " NA", "007", "  ", None)
    assert texts.equal(data, marker, ".").to_pylist() == hits


def test_markers_with_decimal_commas():
    assert texts.equal(column("-9,50", "-9.50"), -9.5, ",").to_pylist() == [True, False]


def test_moments_with_a_zone_say_which_one_they_are_written_in():
    pattern = writer("datetime", Notation(pa.timestamp("us", "Europe/Vienna")))
    assert list(pattern(np.array([0.0]))) == ["1970-01-01 00:00:00 UTC"]
    assert list(writer("datetime", Notation(pa.timestamp("us")))(np.array([0.0]))) == ["1970-01-01 00:00:00"]


@pytest.mark.parametrize("parts", [(2020, 0, 1), (2020, 13, 1), (2020, 1, 0), (2021, 2, 29), (0, 1, 1)])
def test_days_that_no_calendar_has(parts):
    year, month, day = (np.array([one, other]) for one, other in zip(parts, (2020, 5, 5), strict=True))
    assert calendar_days(year, month, day) is None
    assert calendar_days(year[1:], month[1:], day[1:]).tolist() == [18387.0]


def test_years_of_two_digits_may_be_00():
    columns = tuple(np.array(part) for part in ([31, 30], [12, 11], [0, 0]))
    with pytest.raises(DataError, match="years of four digits"):
        refuse_short_years(columns, "-", "born")
    refuse_short_years(tuple(np.array([part]) for part in (12, 34, 56)), "-", "code")


@pytest.mark.parametrize(
    ("values", "pattern"),
    [
        (("2020-01-05", "2020-01-08"), "%Y-%m-%d %H:%M"),
        (("2020-01-05 00:00:00", "2020-01-08 00:00:00"), "%Y-%m-%d %H:%M:%S"),
        (("2020-01-05T00:00", "2020-01-08T00:00"), "%Y-%m-%dT%H:%M"),
    ],
)
def test_dates_that_are_declared_moments_are_written_with_their_time(values, pattern):
    numbers, writing = to_moments(column(*values), Notation(pa.string(), True), "x")
    assert writing.pattern == pattern
    assert (numbers[1] - numbers[0]).tolist() == 3 * 86_400_000_000
