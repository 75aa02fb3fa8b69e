"""Demands and units are met by values, not by spellings of one value; k counts what is published."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import shoal
from shoal.errors import DataError, OptionError
from shoal.privacy.demands import demands_of
from shoal.release.preparation import prepare

SPELLINGS = [
    ("flu", "flu "),
    ("flu", "Flu"),
    ("\u00e9", "e\u0301"),
    ("flu", "f\u200blu"),
    ("1", "01"),
    ("yes", ""),
    ("yes", None),
]


def table_of(one, other, rest="cold"):
    """Two groups of four in age; the first of them holds one value in two spellings, the second two values."""
    ages = [20, 21, 22, 23, 60, 61, 62, 63]
    return pa.table({"age": ages, "ill": [one, other, one, other, one, other, rest, rest]})


def fewest(table):
    """Return the least number of different values in a group, of which there is one besides the cold."""
    groups = {}
    for age, ill in zip(*table.to_pydict().values(), strict=True):
        groups.setdefault(age, set()).add(ill if ill in ("cold", "", None) else "another")
    return min(len(values - {"", None}) for values in groups.values())


def released(table, **fields):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return shoal.anonymize(table, k=4, quasi_identifiers=["age"], rest="other", method="mdav", **fields)


@pytest.mark.parametrize(("one", "other"), SPELLINGS)
def test_l_is_not_met_by_spelling(one, other):
    table = table_of(one, other)
    assert released(table).audit.classes == 2
    release = released(table, sensitive_attributes=["ill"], l=2)
    assert release.table["ill"].to_pylist() == table["ill"].to_pylist()  # published as they came
    assert fewest(release.table) == 2
    alone = released(table).table
    found = shoal.verify(alone, ["age"], sensitive_attributes=["ill"], l=2).models[0]
    assert (found.held, found.groups_below) == (1, 1)


@pytest.mark.parametrize(("one", "other"), SPELLINGS[:6])
def test_l_is_not_met_by_spelling_in_a_file(tmp_path, one, other):
    path = tmp_path / "people.csv"
    rows = zip(*table_of(one, other).to_pydict().values(), strict=True)
    path.write_text("age,ill\n" + "".join(f'{age},"{ill}"\n' for age, ill in rows), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = shoal.anonymize_file(
            path,
            tmp_path / "out.csv",
            k=4,
            quasi_identifiers=["age"],
            models={"ill": ["distinct-diversity l=2"]},
            method="mdav",
            types={"ill": "nominal"},
        )
    assert release.audit.models[0].held == 2
    assert fewest(release.table) == 2


def test_what_is_read_as_one_is_said_without_values():
    with pytest.warns(shoal.errors.DisclosureWarning, match="3 different texts of 'ill' count as 2 values"):
        release = shoal.anonymize(
            table_of("flu", "Flu "), k=4, quasi_identifiers=["age"], sensitive_attributes=["ill"], l=2, method="mdav"
        )
    (words,) = release.warnings
    assert release.audit.notes == (words,)
    assert "flu" not in words.lower()
    found = shoal.verify(release.table, ["age"], sensitive_attributes=["ill"])
    assert found.notes == (words,)


def test_spellings_count_as_one_for_every_model():
    """The share of a value is that of all of its spellings."""
    table = released(table_of("flu", "FLU")).table
    for model, held in (("alpha alpha=0.6", 1.0), ("entropy-diversity l=1.5", 1.0)):
        found = shoal.verify(table, ["age"], models={"ill": [model]}).models[0]
        assert (found.held, found.groups_below) == (held, 1)
    same = pa.table({"age": [1] * 4 + [2] * 4, "ill": ["flu"] * 4 + ["Flu"] * 4})
    assert shoal.verify(same, ["age"], sensitive_attributes=["ill"], t=0.1).models[0].held == 0


def test_grouping_and_audit_agree():
    """The demands that groups are made for are those that are audited."""
    rng = np.random.default_rng(3)
    words = np.array(["flu", "Flu", "flu ", "cold", "COLD", "", "01", "1", "1.0"])
    table = pa.table({"age": rng.integers(20, 80, 200), "ill": words[rng.integers(0, len(words), 200)]})
    plan = shoal.Plan.of(k=4, quasi_identifiers=["age"], sensitive_attributes=["ill"], l=2)
    prepared = prepare(table, plan)
    (demand,) = prepared.constraints.demands
    assert demand.sensitive.values == 3
    np.testing.assert_array_equal(demand.sensitive.codes, demands_of(table, plan)[0].sensitive.codes)


def test_k_counts_spellings_apart():
    table = pa.table({"town": ["York", "york", "York", "york"]})
    assert shoal.verify(table, ["town"]).k == 2
    strata = pa.table({"age": range(8), "town": ["York"] * 4 + ["york"] * 4})
    assert released(strata, stratum=["town"]).audit.classes == 2


# --- units ---


@pytest.mark.parametrize(
    ("one", "other"), [("bob", "bob "), ("bob", "Bob"), ("7", "007"), (0.0, -0.0), (float("nan"), None), ("", None)]
)
def test_units_are_not_multiplied_by_spelling(one, other):
    table = pa.table({"age": [1] * 4, "person": pa.array([one, other, one, other])})
    found = shoal.verify(table, ["age"], unit="person")
    assert (found.k, found.k_units) == (4, 1)


@pytest.mark.parametrize("other", ["bob ", "BOB", "b\u200bob"])
def test_groups_have_k_units_that_read_differently(other):
    persons = ["bob", other, "ann", "eve", "joe", "sue", "tim", "pat"]
    table = pa.table({"age": [20, 20, 21, 21, 60, 60, 61, 61], "person": persons})
    assert released(table.set_column(1, "person", pa.array(list("abcdefgh"))), unit="person").audit.classes == 2
    # Each of two groups must have one row of bob: with both of his rows, it would have three persons.
    release = released(table, unit="person")
    assert (release.audit.classes, release.k) == (2, 4)
    ages = release.table.column("age").to_pylist()
    assert ages[0] != ages[1]
    assert any("Some units are written in several ways that read alike" in words for words in release.warnings)
    # Units are not published: neither the name of their column nor the number of their spellings goes out.
    release = released(table.rename_columns(["age", "ZQXunit"]), unit="ZQXunit")
    for text in (f"{release.certificate}", release.report()):
        assert "read alike" in text
        assert "ZQXunit" not in text
        assert "8 different" not in text


@pytest.mark.parametrize("persons", [[None], [float("nan")], [""], [" "]])
def test_rows_without_a_unit_are_refused(persons):
    filler = [1.5, 2.5, 3.5, 4.5] if isinstance(persons[0], float) else ["a", "b", "c", "d"]
    table = pa.table({"age": range(5), "person": pa.array(persons + filler)})
    with pytest.raises(DataError, match="'person' must be known for every row"):
        shoal.anonymize(table, k=2, quasi_identifiers=["age"], unit="person")


def test_rows_without_a_unit_are_one_unit():
    table = pa.table({"age": [1] * 5, "person": [None, None, None, "a", "b"]})
    found = shoal.verify(table, ["age"], unit="person")
    assert found.k_units == 3
    assert found.notes == ("3 rows have no unit: they count as one unit together.",)


# --- markers of missing values ---


def test_markers_are_values_of_sensitive_columns():
    """Two groups of zeros alone: that 0 means 'missing' elsewhere hides nothing."""
    table = pa.table({"age": [20, 21, 60, 61], "score": [0, 0, 1, 2]})
    fields = {"models": {"score": ["alpha alpha=0.5"]}, "missing_values": [0]}
    release = shoal.anonymize(table, k=2, quasi_identifiers=["age"], method="mdav", **fields)
    assert release.audit.models[0].held == 0.5
    groups = set(zip(*release.table.to_pydict().values(), strict=True))
    assert len(groups) == 4
    split = pa.table({"age": [20, 20, 60, 60], "score": [0, 0, 1, 2]})
    found = shoal.verify(split, ["age"], **fields).models[0]
    assert (found.held, found.groups_below) == (1.0, 1)


def test_markers_that_are_named_for_a_sensitive_column_are_refused():
    table = pa.table({"age": [20, 21, 60, 61], "score": [0, 0, 1, 2]})
    fields = {"models": {"score": ["alpha alpha=0.5"]}, "missing_values": {"score": [0]}}
    with pytest.raises(OptionError, match=r"must be about quasi-identifiers\. Got values of 'score'"):
        shoal.anonymize(table, k=2, quasi_identifiers=["age"], **fields)
    with pytest.raises(OptionError, match=r"must be about quasi-identifiers\. Got values of 'score'"):
        shoal.verify(table, ["age"], **fields)


@pytest.mark.parametrize("role", ["sensitive_attributes", "stratum", "other"])
def test_markers_of_columns_that_are_not_grouped_are_refused(role):
    table = pa.table({"age": [20, 21, 60, 61], "score": [0, 0, 1, 1]})
    with pytest.raises(OptionError, match=r"'missing_values' of a plan must be about quasi-identifiers\. Got 'score'"):
        shoal.anonymize(table, k=2, quasi_identifiers=["age"], missing_values={"score": [0]}, **{role: ["score"]})


@pytest.mark.parametrize("markers", [["NA"], {"score": ["NA"]}])
def test_text_among_numbers_is_missing_if_declared(tmp_path, markers):
    """It cannot be read as a number, so it is no value of the column."""
    path = tmp_path / "people.csv"
    path.write_text("age,score\n20,NA\n21,1\n60,2\n61,3\n")
    fields = {"quasi_identifiers": ["age"], "sensitive_attributes": ["score"], "l": 2, "method": "mdav"}
    release = shoal.anonymize_file(path, tmp_path / "out.csv", k=2, missing_values=markers, **fields)
    assert release.audit.classes == 1
    assert "NA" in (tmp_path / "out.csv").read_text()


def test_markers_among_words_are_words(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,flag\n20,NA\n20,true\n60,false\n60,true\n")
    fields = {"quasi_identifiers": ["age"], "sensitive_attributes": ["flag"], "l": 2, "missing_values": ["NA"]}
    assert shoal.anonymize_file(path, tmp_path / "out.csv", k=2, method="mdav", **fields).audit.classes == 2


# --- columns of missing values alone ---

COLUMNS = {
    "null": pa.nulls(8),
    "string": pa.nulls(8, pa.string()),
    "float": pa.array([float("nan"), None] * 4),
    "int": pa.nulls(8, pa.int64()),
    "bool": pa.nulls(8, pa.bool_()),
    "date": pa.nulls(8, pa.date32()),
    "time": pa.nulls(8, pa.timestamp("us")),
    "categories": pa.nulls(8, pa.dictionary(pa.int32(), pa.string())),
}
KINDS = ["continuous", "integer", "ordinal", "nominal", "hierarchical", "boolean", "date", "datetime"]
POSSIBLE = [(column, None) for column in COLUMNS] + [
    *[(column, kind) for column in ("null", "string") for kind in KINDS],
    *[(column, kind) for column in COLUMNS for kind in ("ordinal", "nominal", "hierarchical")],
]


@pytest.mark.parametrize(("column", "kind"), POSSIBLE)
@pytest.mark.parametrize("form", ["microaggregation", "local-recoding"])
def test_columns_of_missing_values_alone(column, kind, form):
    table = pa.table({"age": range(8), "x": COLUMNS[column]})
    fields = {"method": "mdav", "release": form, **({"types": {"x": kind}} if kind else {})}
    if kind == "ordinal":
        fields["levels"] = {"x": ["low", "high"]}
    if kind == "hierarchical":
        fields["hierarchies"] = {"x": {"all": ["low", "high"]}}
    release = shoal.anonymize(table, k=4, **fields)
    assert release.missing == {"age": 0, "x": 8}
    assert release.table["x"].null_count == 8
    sensitive = {"quasi_identifiers": ["age"], "sensitive_attributes": ["x"]}
    assert shoal.anonymize(table, k=4, t=0.1, **sensitive, **fields).audit.models[0].held == 0
    with pytest.raises(OptionError, match="'x' has 0 different values: l can be at most 0"):
        shoal.anonymize(table, k=4, l=2, **sensitive, **fields)


def test_places_of_missing_values_alone():
    frame = pd.DataFrame({"age": range(8), "lat": [None] * 8, "lon": [None] * 8})
    release = shoal.anonymize(frame, k=4, places=[("lat", "lon")], method="mdav")
    assert release.missing == {"age": 0, "lat, lon": 8}
