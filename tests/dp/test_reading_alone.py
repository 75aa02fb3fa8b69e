"""Whatever a column holds, one record more changes how no other record is read, or the column is refused."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.dp import Domain
from shoal.errors import ShoalError

NUMBERS = (
    *(
        "1",
        "1.5",
        "1,5",
        "1.500",
        "1,500",
        "1.500.000",
        "1,500,000",
        "1.500,5",
        "1,500.5",
        "1 500",
        "1'500",
        "1e3",
        "-2",
    ),
    *("007", ".5", ",5", "5 EUR", "50%", " 7 ", "1.", "1,", "NaN", "inf", "1e999", "12.345", "20200102", None),
)
DATES = (
    *("2020-01-02", "2020-03-04", "2020-13-04", "2020-03-04 00:00", "2020-03-04T10:20:30", "2020-03-04 10:20:30.5"),
    *("2020-03-04 10:20:30.500000", "03/04/2020", "25/04/2020", "20200304", "2020-3-4", "2020/03/04", "2020-03"),
    *("2020-03-04 10:20Z", "2020-03-04T10:20:30+02:00", " 2020-01-02", "2020-02-31", "2020-01-02 24:00", None),
)
WORDS = ("True", "TRUE", "true", "false", "a", "A", " a", "1", "1.0", "01", "", "x", None)
AGES = {"lower": -10, "upper": 10**7, "missing": 0}
DAYS = {"lower": "2019-01-01", "upper": "2022-12-31", "missing": "2020-01-01"}
KINDS = {
    "integer": (AGES, NUMBERS),
    "continuous": ({**AGES, "step": 0.1}, NUMBERS),
    "date": (DAYS, DATES),
    "datetime": (DAYS, DATES),
    "nominal": ({"values": ["a", "1", "x", "true"], "other": "x", "missing": "x"}, WORDS),
    "boolean": ({"other": False, "missing": True}, WORDS),
}


@settings(max_examples=100, deadline=None)
@given(st.data())
@pytest.mark.parametrize("kind", KINDS)
def test_no_record_changes_how_others_are_read(kind, data):
    described, pool = KINDS[kind]
    domain = Domain.of({"x": {"kind": kind, **described}})
    some = data.draw(st.lists(st.sampled_from(pool), min_size=1, max_size=3))
    more = data.draw(st.sampled_from(pool))
    how = {"text": True}
    if pool is NUMBERS:
        how["thousands"] = data.draw(st.sampled_from([None, ".", ",", " ", "'"]))
    if pool is DATES:
        how["formats"] = data.draw(st.sampled_from([{}, {"x": "%d/%m/%Y"}, {"x": "%Y%m%d"}, {"x": "%Y-%m-%d %H:%M"}]))
    read = []
    for texts in (some, [*some, more]):
        # The decimal mark is guessed from all records.
        decimal = data.draw(st.sampled_from(".,"))
        try:
            read.append(domain.encode(pa.table({"x": pa.array(texts, pa.string())}), decimal=decimal, **how).codes)
        except ShoalError:
            return
    assert read[0].tolist() == read[1][:-1].tolist()
