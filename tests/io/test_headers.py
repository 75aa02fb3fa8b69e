"""The first line of a file is a line of names, or is refused: a record must not become the names of columns."""

import csv

import numpy as np
import openpyxl
import pytest

from shoal.errors import DataError, OptionError
from shoal.io import read

RNG = np.random.default_rng(5)
ROWS = 60
NAMES = [f"{a}{b}" for a in ("Ann", "Bob", "Cem", "Dora", "Eli", "Fay", "Gus", "Hal") for b in ("", "a", "ette", "son")]


def pick(*values):
    return [str(value) for value in RNG.choice(values, ROWS)]


def whole(low, high):
    return [str(value) for value in RNG.integers(low, high, ROWS)]


def real(low, high):
    return [f"{value:.2f}" for value in RNG.uniform(low, high, ROWS)]


def unique():
    return [f"{RNG.choice(NAMES)} {word}" for word in ("".join(RNG.choice(list("abcdefgh"), 9)) for _ in range(ROWS))]


def days():
    parts = zip(RNG.integers(1950, 2005, ROWS), RNG.integers(1, 13, ROWS), RNG.integers(1, 29, ROWS), strict=True)
    return [f"{year}-{month:02}-{day:02}" for year, month, day in parts]


def gaps(column, marker=""):
    return [marker if RNG.random() < 0.2 else value for value in column]


def codes(pattern):
    return [pattern.format(n=number) for number in RNG.integers(1000, 9999, ROWS)]


def choice(word):
    return [word if RNG.random() < 0.4 else "" for _ in range(ROWS)]


# Tables whose first row is a record.
RECORDS = {
    "numbers": [whole(18, 90), whole(20000, 90000), real(0, 1)],
    "one column of numbers": [whole(0, 100)],
    "age, sex, postcode": [whole(18, 90), pick("m", "f"), whole(10000, 99999)],
    "name, age, illness": [unique(), whole(18, 90), pick("flu", "cold", "none at all")],
    "name, city, illness": [unique(), pick("Berlin", "Paris", "Rome"), pick("flu", "cold", "asthma")],
    "years of birth": [unique(), whole(1940, 2005), whole(2000, 2024)],
    "dates": [unique(), days(), pick("yes", "no")],
    "ids": [[str(i) for i in range(1, ROWS + 1)], pick("a", "b", "c"), real(-5, 5)],
    "codes": [codes("P-{n}"), pick("north", "south"), real(0, 9)],
    "e-mail addresses": [[f"x{i}@example.org" for i in range(ROWS)], unique()],
    "times": [pick("12:30", "08:15", "9:45"), real(0, 10)],
    "answers from 1 to 5": [unique(), ["1", *whole(1, 6)[1:]], ["2", *whole(1, 6)[1:]], ["3", *whole(1, 6)[1:]]],
    "answers only": [["1", *whole(1, 6)[1:]], ["2", *whole(1, 6)[1:]], ["3", *whole(1, 6)[1:]]],
    "a marker of missing": [["NA", *whole(18, 90)[1:]], pick("m", "f"), real(0, 1)],
    "gaps elsewhere": [["34", *gaps(whole(18, 90))[1:]], gaps(pick("m", "f"), "NA"), real(0, 1)],
    "a rare category first": [whole(18, 90), ["widowed", *pick("single", "married")[1:]], real(0, 99)],
    "decimal commas": [[x.replace(".", ",") for x in real(0, 9)], pick("m", "f")],
    "money": [["$1,200.50", *[f"${n}.00" for n in RNG.integers(100, 999, ROWS - 1)]], unique()],
    "two categories": [pick("m", "f"), pick("yes", "no")],
    "a constant": [["DE"] * ROWS, pick("1", "2")],
    "phones": [codes("+49 30 12{n}"), unique()],
}
# Tables with their names.
HEADERS = {
    "people": {"name": unique(), "age": whole(18, 90), "illness": pick("flu", "cold")},
    "texts only": {"name": unique(), "remark": unique()},
    "categories only": {"sex": pick("m", "f"), "city": pick("Berlin", "Paris"), "ill": pick("yes", "no")},
    "years wide": {"country": unique(), "2019": real(0, 9), "2020": real(0, 9), "2021": real(0, 9)},
    "years wide, large numbers": {"town": unique(), "2019": whole(150, 90000), "2020": whole(150, 90000)},
    "one year": {"country": unique(), "2020": whole(0, 99)},
    "years and words": {"region": pick("n", "s"), "sex": pick("m", "f"), "1990": real(0, 1), "2000": real(0, 1)},
    "dates wide": {"station": unique(), "2020-01-01": real(0, 9), "2020-02-01": real(0, 9)},
    "pixels": {"label": whole(0, 10), **{str(i): whole(0, 256) for i in range(300)}},
    "quantiles": {"group": whole(0, 9), "5": real(0, 1), "25": real(0, 1), "50": real(0, 1), "95": real(0, 1)},
    "hours": {"station": unique(), "0": real(0, 1), "6": real(0, 1), "12": real(0, 1), "18": real(0, 1)},
    "questions": {"id": whole(0, 999), "q1": whole(1, 6), "q2": whole(1, 6), "q10": whole(1, 6)},
    "question codes": {"Q1": pick("A1", "B2"), "Q2": pick("A1", "B2"), "score": real(0, 1)},
    "a name among the values": {"id": whole(0, 999), "other": pick("other", "some"), "age": whole(0, 99)},
    "choices": {"id": whole(0, 999), "apples": choice("apples"), "pears": choice("pears"), "nuts": choice("nuts")},
    "indicators": {"red": pick("0", "1"), "green": pick("0", "1"), "blue": pick("0", "1")},
    "answers": {"smokes": pick("true", "false"), "drinks": pick("true", "false")},
    "missing values": {"age": gaps(whole(0, 99), "NA"), "sex": gaps(pick("m", "f"))},
    "empty columns": {"a": [""] * ROWS, "b": [""] * ROWS},
    "codes": {"icd10": codes("A{n}"), "nuts3": codes("DE{n}"), "naics2017": whole(100, 999)},
    "words of other languages": {"größe": real(1, 2), "性别": pick("男", "女"), "возраст": whole(0, 99)},
    "two rows": {"a": ["1", "2"], "b": ["x", "y"]},
    "one row": {"a": ["x"], "b": ["y"]},
}


def put(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.mark.parametrize("name", RECORDS)
def test_a_first_record_is_refused_and_not_shown(name, tmp_path):
    rows = list(zip(*RECORDS[name], strict=True))
    path = put(tmp_path / "t.csv", rows)
    with pytest.raises(DataError) as caught:
        read(path, delimiter=",")
    message = str(caught.value).replace(str(path), "")
    assert "must hold the names" in message or "name of its own" in message
    assert "header=False" in message
    assert not any(len(value) > 2 and value in message for value in rows[0])
    source = read(path, delimiter=",", header=False)
    assert source.table.column_names == [f"column_{i}" for i in range(1, len(rows[0]) + 1)]
    assert [value or "" for value in source.table.column(0).to_pylist()] == [row[0] for row in rows]
    assert "column names: none in the file (given)" in source.notes


@pytest.mark.parametrize("name", HEADERS)
def test_names_are_accepted(name, tmp_path):
    table = HEADERS[name]
    path = put(tmp_path / "t.csv", [list(table), *zip(*table.values(), strict=True)])
    assert read(path, delimiter=",").table.column_names == list(table)


def test_names_are_never_taken_for_a_record_if_the_user_says_so(tmp_path):
    path = put(tmp_path / "t.csv", [("1", "2"), ("3", "4"), ("5", "6")])
    with pytest.raises(DataError, match="pass header=True"):
        read(path)
    assert read(path, header=True).table.to_pydict() == {"1": ["3", "5"], "2": ["4", "6"]}


def test_repeated_names_are_not_shown(tmp_path):
    path = put(tmp_path / "t.csv", [("secret", "x", "secret"), ("a", "b", "c")])
    with pytest.raises(DataError, match="more than once, in the columns 1, 3") as caught:
        read(path)
    assert "secret" not in str(caught.value)


def test_a_file_without_names_keeps_its_empty_lines_out(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("1,a\n\n2,b\n\n")
    source = read(path, header=False)
    assert source.table.to_pydict() == {"column_1": ["1", "2"], "column_2": ["a", "b"]}
    assert "empty lines: 2 skipped" in source.notes


def workbook(path, rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_a_record_in_the_first_row_of_a_sheet_is_refused(tmp_path):
    path = workbook(tmp_path / "t.xlsx", [["Ann", 34, "flu"], ["Bob", 51, "cold"], ["Cem", 29, "flu"]])
    with pytest.raises(DataError, match="looks like a record") as caught:
        read(path)
    assert "flu" not in str(caught.value)
    assert read(path, header=False).table.to_pydict() == {
        "column_1": ["Ann", "Bob", "Cem"],
        "column_2": [34, 51, 29],
        "column_3": ["flu", "cold", "flu"],
    }
    assert read(path, header=True).table.column_names == ["Ann", "34", "flu"]


def test_years_are_names_in_a_sheet(tmp_path):
    path = workbook(tmp_path / "t.xlsx", [["country", 2019, 2020], ["a", 1.5, 2.5], ["b", 3.5, 4.5]])
    assert read(path).table.column_names == ["country", "2019", "2020"]


def test_header_is_for_files_with_a_first_line(tmp_path):
    with pytest.raises(OptionError, match="'header' option"):
        read(tmp_path / "t.parquet", header=False)
    with pytest.raises(OptionError, match="must be True, False or None"):
        read(tmp_path / "t.csv", header="yes")
