"""Dates and numbers as people write them: read, published in the same notation, or refused with the way out."""

import numpy as np
import pyarrow as pa
import pytest

from shoal.errors import DataError
from shoal.tables import columns
from shoal.tables.values import Computed


def column(values, kind=None):
    return pa.chunked_array([pa.array(values, kind or pa.string())])


def inferred(values, kind=None, **options):
    return columns.infer(column(values, kind), **{"text": True, "decimal": ".", "name": "x", **options})[0]


def published(values, numbers=None, kind=None, **options):
    """Return the inferred kind of a column, and its values or other numbers of that kind as the column writes them."""
    data = column(values, kind)
    kind = inferred(values, kind, **options)
    read, writing = columns.decode(data, kind, **{"text": True, "name": "x", **options})
    again = columns.encode(Computed(read.values), np.arange(len(values)), data, kind, writing)
    np.testing.assert_allclose(columns.decode_again(again, kind, writing, "x").values, read.values, rtol=1e-12)
    wanted = read.values if numbers is None else np.array(numbers, float)
    return kind, columns.encode(Computed(wanted), np.arange(len(wanted)), data, kind, writing).to_pylist()


DATES = [
    ["19860328", "19900401"],
    ["28031986", "01041990"],
    ["03281986", "04011990"],
    ["198603", "199012"],
    ["1986-03", "1990-12"],
    ["03/1986", "12/1990"],
    ["28 Mar 1986", "01 Apr 1990"],
    ["28 Mar 1986", "1 Apr 1990"],
    ["28-Mar-1986", "01-Apr-1990"],
    ["28MAR1986", "01APR1990"],
    ["28 march 1986", "1 may 1990"],
    ["March 28, 1986", "May 1, 1990"],
    ["28/3/1986", "1/4/1990"],
    ["28.3.1986", "1.4.1990"],
    ["1986-03-28 00:00:00", "1990-04-01 00:00:00"],
    ["1986-03-28T00:00:00Z", "1990-04-01T00:00:00Z"],
    ["28/03/1986 00:00", "01/04/1990 00:00"],
]
MOMENTS = [
    ["1986-03-28T10:00:00Z", "1990-06-01T11:30:00Z"],
    ["1986-03-28 10:00:00+01:00", "1990-06-01 11:30:00+01:00"],
    ["28/03/1986 10:00", "01/02/1990 23:59"],
    ["28.03.1986 10:00:30", "01.02.1990 23:59:00"],
    ["03/28/1986 10:00 AM", "01/02/1990 12:30 PM"],
    ["28 Mar 1986 10:00:00.25", "01 Feb 1990 11:00:00.50"],
    ["28/03/1986 10:00", "01/04/1990 10:00"],
    ["28/03/1986 00:00", "01/04/1990 10:00"],
    ["1986-03-28 10:00:00 UTC", "1990-06-01 11:30:00 UTC"],
    ["1986-03-28 10:00:00 CET", "1990-06-01 11:30:00 CET"],
    ["28/03/1986 10:00 Europe/Berlin", "01/02/1990 23:59 Europe/Berlin"],
    ["19860328103000", "19900401235959"],
    ["198603281030", "199004012359"],
]


@pytest.mark.parametrize("values", DATES, ids=lambda values: values[0])
def test_dates_are_read_and_written_as_they_came(values):
    assert published(values) == ("date", values)


@pytest.mark.parametrize("values", MOMENTS, ids=lambda values: values[0])
def test_moments_are_read_and_written_as_they_came(values):
    assert published(values) == ("datetime", values)


def test_several_offsets_are_one_line_of_time():
    kind, texts = published(["1986-03-28T10:00:00+01:00", "1986-06-28T11:00:00+0200", "1986-06-28T09:00:00Z"])
    assert kind == "datetime"
    assert texts == ["1986-03-28T09:00:00+00:00", "1986-06-28T09:00:00+00:00", "1986-06-28T09:00:00+00:00"]
    data = column(["01.02.1990 10:00 +0200", "01.02.1990 10:00 -0130"])
    read, writing = columns.decode(data, "datetime", text=True, pattern="%d.%m.%Y %H:%M %z", name="x")
    written = columns.encode(Computed(read.values), np.arange(2), data, "datetime", writing)
    assert written.to_pylist() == ["01.02.1990 08:00 +0000", "01.02.1990 11:30 +0000"]


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64(), pa.float64(), pa.uint32()], ids=str)
def test_digits_of_typed_columns_are_dates_too(kind):
    assert published([19860328, None, 19900401], kind=kind) == ("date", [19860328, None, 19900401])
    assert published([1021986, 28031990], kind=kind) == ("date", [1021986, 28031990])


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64()], ids=str)
def test_digits_of_typed_columns_are_moments_too(kind):
    values = [19860328103000, None, 19900401235959]
    assert published(values, kind=kind) == ("datetime", values)
    # As numbers, the mean of these two lies in a month 51 that does not exist.
    assert published([19851231235900, 19860101000100], [504921600e6], kind)[1] == [19860101000000]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [1.7976931348623157e308, -1.7976931348623157e308])
def test_numbers_beyond_all_dates_are_numbers(value):
    assert inferred([value, 3.0], pa.float64()) == "continuous"


def test_the_mean_of_dates_in_digits_is_a_date():
    """As numbers, the mean of 19851231 and 19860101 is 19855666."""
    kind, found = published(["19851231", "19860102"], [5843.6])
    assert (kind, found) == ("date", ["19860101"])
    assert published(["198512", "198603"], [5844.0 + 31])[1] == ["198602"]
    assert published(["198512", "198603"], [5844.0 + 27])[1] == ["198602"]  # the nearest month


def test_other_digits_stay_numbers():
    assert inferred(["12345678", "23456789"]) == "integer"
    assert inferred(["19860328253000", "19900401236059"]) == "integer"
    assert inferred(["201901", "201912"]) == "integer"  # one year: whole numbers between them are months
    assert inferred(["201901", "201950"]) == "integer"
    assert inferred(["1021986", "28031990"]) == "integer"  # in text, a lost zero makes the day unclear
    assert inferred([19991231.5, 20000101.0], pa.float64()) == "continuous"


NUMBERS = [
    (["1,234.50", "12.00"], "continuous"),
    (["1,234,567", "12"], "integer"),
    (["1.234.567", "12"], "integer"),
    (["1 234", "12"], "integer"),
    (["1\u202f234", "12"], "integer"),
    (["1'234.5", "12.0"], "continuous"),
    (["€12", "€1"], "integer"),
    (["€1,234.50", "€12.00"], "continuous"),
    (["-€12", "€5"], "integer"),
    (["€-12", "€5"], "integer"),
    (["12 €", "1 234 €"], "integer"),
    (["$12.50", "$1.00"], "continuous"),
    (["USD 12", "USD 5"], "integer"),
    (["12.5%", "3.0%"], "continuous"),
    (["7.3e+07", "1.2e+06"], "continuous"),
    (["7.30E+07", "1.20E+06"], "continuous"),
    (["1.0", "2.0"], "continuous"),
]


@pytest.mark.parametrize(("values", "kind"), NUMBERS, ids=[values[0] for values, _ in NUMBERS])
def test_numbers_are_read_and_written_as_they_came(values, kind):
    assert published(values) == (kind, values)


def test_decimal_commas_with_thousands():
    assert published(["1.234,50", "12,00"], decimal=",") == ("continuous", ["1.234,50", "12,00"])
    assert published(["1.234,50 €", "12,00 €"], decimal=",") == ("continuous", ["1.234,50 €", "12,00 €"])


def test_some_numbers_with_exponents_are_written_in_full():
    assert published(["1e+05", "123456"]) == ("continuous", ["100000", "123456"])


def test_a_declared_mark_between_thousands():
    assert published(["1,234", "950"], thousands=",") == ("integer", ["1,234", "950"])
    assert published(["1.234", "950"], thousands=".") == ("integer", ["1.234", "950"])
    assert published(["1,234", "12345"], thousands=",") == ("integer", ["1,234", "12,345"])
    assert published(["1.5", "950.25"], thousands=",") == ("continuous", ["1.50", "950.25"])


REFUSED = [
    (["03/04/1986", "05/06/1990"], "order of day and month", "formats={'x': '%d/%m/%Y'} or '%m/%d/%Y'"),
    (["03041986", "05061990"], "order of day and month", "formats={'x': '%d%m%Y'} or '%m%d%Y'"),
    (["28/03/86", "13/12/90"], "years of four digits", "formats={'x': '%d/%m/%y'}"),
    (["86-03-28", "90-12-13"], "years of four digits", "formats={'x': '%y-%m-%d'}"),
    (["28 Mar 86", "1 Feb 90"], "years of four digits", "formats={'x': '%d %b %y'}"),
    ([f"86{month:02d}28" for month in range(1, 13)], "years of four digits", "formats={'x': '%y%m%d'}"),
    (["28 März 1986", "1 Mai 1990"], "English names of months", "write months as numbers"),
    (["1986-03-28", "1990/04/01"], "dates of one form", "write them all alike"),
    (["19860328", "19900401", "99999999"], "Got something else in 1 of 3", "declare what stands for a missing value"),
    (["19860328", "19900401", "0"], "Got something else in 1 of 3", "types={'x': 'integer'}"),
    (["19860328", "19900401", "19860231"], "Got something else in 1 of 3", "types={'x': 'integer'}"),
    (["19860328103000", "19900401235959", "0"], "Got something else in 1 of 3", "types={'x': 'integer'}"),
    (["198603", "199012", "199013"], "Got something else in 1 of 3", "types={'x': 'integer'}"),
    (["1,234", "950"], "readable in one way", "thousands=','; if before decimals, decimal=',' (--decimal ,)"),
    (["1.234", "950"], "readable in one way", "thousands='.'; if before decimals, types={'x': 'continuous'}"),
    (["€1,234", "€950"], "readable in one way", "thousands=','"),
    (["1,5", "2,25"], "must have the decimal mark '.'. Got ','", "--decimal ,"),
    (["1.234,50", "2,25"], "must have the decimal mark '.'. Got ','", "--decimal ,"),
    (["$12", "€12"], "written with the same sign", "in one currency"),
    (["€12", "13"], "written with the same sign", "in one currency"),
    (["1986-03-28 25:00:00+01:00", "1986-03-28 10:00:00+01:00"], "dates with times in all rows", "formats="),
    (["1986-03-28 10:00:00+01:00", "1986-03-28 10:00:00"], "dates with times in all rows", "formats="),
    (["1986-03-28 10:00 CET", "1986-06-28 10:00 CEST"], "several names of zones", "write offsets, such as +01:00"),
    (["29 Feb 1986", "1 Mar 1986"], "must contain valid dates", "types={'x': 'nominal'}"),
]


@pytest.mark.parametrize(("values", "said", "hint"), REFUSED, ids=[values[0] for values, _, _ in REFUSED])
def test_what_can_be_read_in_several_ways_is_refused_with_the_option(values, said, hint):
    with pytest.raises(DataError) as caught:
        inferred(values)
    assert said in str(caught.value)
    assert hint in caught.value.hint
    assert not any(value in str(caught.value) for value in values if len(value) > 4)


def test_markers_are_counted_and_others_are_not_named():
    with pytest.raises(DataError) as caught:
        inferred(["1,234.50", "n/a", "-", "N/A", "-"])
    assert "Got '-' in 2, 'N/A' in 1 and 'n/a' in 1 of 5." in str(caught.value)
    assert caught.value.hint == "if these mean 'no value', declare them: missing_values=['-', 'N/A', 'n/a']."
    with pytest.raises(DataError) as caught:
        inferred(["1", "2", "3", "none", "SECRET"])
    assert "Got 'none' in 1 and something else in 1 of 5." in str(caught.value)
    assert "SECRET" not in str(caught.value)


def test_markers_that_are_more_than_half_are_no_category():
    with pytest.raises(DataError, match="Got 'n/a' in 3 of 4"):
        inferred(["n/a", "n/a", "n/a", "17"])
    assert inferred(["n/a", "yes", "no"]) == "nominal"


def test_digits_are_those_of_the_column():
    for values in ([48.1234567, 16.3], [0.1, 0.26], [1.5, 2.5]):
        places = max(len(str(value).partition(".")[2]) for value in values)
        found = published(values, [np.mean(values)], pa.float64())[1][0]
        assert found == round(float(np.mean(values)), places)
    single = np.array([0.1, 0.25, 1.7], np.float32)
    _, writing = columns.decode(column(single, pa.float32()), "continuous", name="x")
    assert writing.digits == 2
