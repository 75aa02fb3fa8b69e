"""Texts that a person reads as one value."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shoal.tables.spelling import as_read, read_as_one


@pytest.mark.parametrize(
    "texts",
    [
        [
            "flu",
            "flu ",
            " flu",
            "Flu",
            "FLU",
            "f\u200blu",
            "\ufefff\u00adlu",
            "f\u2060lu",
            "\ufb02u",
            "\uff46lu",
            "flu\x00",
        ],
        ["é", "e\u0301", "É", "e\u200b\u0301", "e\u034f\u0301"],
        ["heart failure", "heart  failure", "heart\u00a0failure", "heart\tfailure\n", "Heart\u2003Failure"],
        ["1", "01", "1.0", "+1", "1.", "1e0", "10e-1", "\uff11", "\u0661", " 1 "],
        ["0", "-0", "-0.0", "00", "0e5", ".0"],
        ["-5", "\u22125", "\u20135", "-5.00"],
        ["stra\u00dfe", "STRASSE", "Strasse"],
        ["non-smoker", "non\u2010smoker", "non\u2011smoker", "Non\u2013Smoker"],
        ["Crohn's", "Crohn\u2019s", "CROHN'S"],
        ["", " ", "\t", "\u200b", "\u3164", "\u2800", "\x00"],
    ],
)
def test_read_as_one(texts):
    assert len({as_read(text) for text in texts}) == 1


@pytest.mark.parametrize(
    "texts",
    [["flu", "flue"], ["é", "e"], ["1", "10", "-1", "0.1", "1 0"], ["a b", "ab"], ["NA", ""], ["1,5", "1", "15"]],
)
def test_read_as_different(texts):
    assert len({as_read(text) for text in texts}) == len(texts)


def test_decimal_mark():
    assert as_read("1,50", ",") == as_read("1,5", ",") == as_read("1.5")
    assert as_read("1,50") != as_read("1,5")


def test_long_numbers_are_not_rounded():
    digits = "1234567890" * 5
    assert as_read(digits) == as_read(f"0{digits}.0") != as_read(digits[:-2] + "91")
    assert len({as_read(text) for text in ("1e999999999", "10e999999998", "1e999999998")}) == 2


def test_numbers_of_texts():
    assert read_as_one(["b", "", "a", "B ", " ", "01", "1"]).tolist() == [0, -1, 1, 0, -1, 2, 2]
    assert read_as_one([]).tolist() == []


@settings(max_examples=300)
@given(st.text(max_size=8))
@example("`")
def test_reading_again_changes_nothing(text):
    key = as_read(text)
    assert as_read(f" {text}\u200b\n") == key
    assert as_read(text.upper().lower()) == as_read(text.upper())
