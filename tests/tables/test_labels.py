"""What files of statistics packages say about the types of columns."""

import json

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.tables.labels import KEY, Said, said_of

pyreadstat = pytest.importorskip("pyreadstat")
polars = pytest.importorskip("polars")


def said(data, kind=None, **labels):
    data = pa.array(data, kind)
    schema = pa.schema([pa.field("x", data.type, metadata={KEY: json.dumps(labels).encode()})])
    return said_of(pa.chunked_array([data]), schema, "x")


NAMED = [[10, "North"], [20, "South"], [70, "West"]]


def test_labels_of_values_make_codes():
    assert said([10, 20, 70, None], values=NAMED) == Said("nominal", "3 of 3 different values have labels")
    assert said([10.0, 20.0, np.nan], pa.float64(), values=NAMED).kind == "nominal"
    assert said([10, 20, 30], values=NAMED).kind == "nominal"  # somebody forgot one
    assert said(["a", "b"], values=[["a", "A"], ["b", "B"]]).kind == "nominal"
    assert said([10, 20], values=NAMED, measure="scale").kind == "nominal"


def test_labels_of_some_values_are_told():
    found = said([*range(18, 95), 99], values=[[99, "refused"]])
    assert found == Said(None, "1 of its values have labels: declare them missing if that is what they mean")
    assert said([1, 2], values=[[99, "refused"]]) == Said()


def test_the_measure_decides():
    assert said([1, 2, 3], measure="nominal") == Said("nominal", "nominal, says the file")
    assert said([1, 2, 3], measure="ordinal", values=[[1, "a"], [2, "b"], [3, "c"]]).kind == "ordinal"
    assert said(["1", "2"], measure="ordinal").kind == "ordinal"
    assert said(["low", "high"], measure="ordinal").kind == "nominal"  # nobody says which is higher
    assert said([1, 2, 3], measure="scale") == Said()
    assert said([1.5, 2.0], measure="nominal") == Said()
    assert said([True, False], measure="nominal") == Said()
    assert said([1, 2], label="only a name") == Said()


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_codes_with_labels_are_published_with_their_labels(tmp_path, suffix):
    rng = np.random.default_rng(0)
    frame = polars.DataFrame({"region": rng.choice([10, 20, 70], 80), "income": rng.normal(2000, 500, 80).round(2)})
    names = {10: "North", 20: "South", 70: "West"}
    writer = {".sav": pyreadstat.write_sav, ".dta": pyreadstat.write_dta}[suffix]
    writer(frame, str(tmp_path / f"in{suffix}"), variable_value_labels={"region": names})
    out = tmp_path / f"out{suffix}"
    release = shoal.anonymize_file(tmp_path / f"in{suffix}", out, k=5, method="mdav")
    assert [(one.kind, one.representative) for one in release.attributes] == [
        ("nominal", "mode"),
        ("continuous", "mean"),
    ]
    table = shoal.io.read(out).table
    assert set(table["region"].to_pylist()) <= {10, 20, 70}
    labels = json.loads(table.schema.field("region").metadata[KEY])["values"]
    assert {int(value): label for value, label in labels} == names
    again = shoal.anonymize_file(tmp_path / f"in{suffix}", k=5, method="mdav", types={"region": "integer"})
    assert again.attributes[0].kind == "integer"


def test_spss_measures(tmp_path):
    frame = polars.DataFrame({"grade": [1, 2, 3, 4] * 10, "kind": [1, 2, 3, 4] * 10, "age": [*range(20, 60)]})
    measure = {"grade": "ordinal", "kind": "nominal", "age": "scale"}
    pyreadstat.write_sav(frame, str(tmp_path / "in.sav"), variable_measure=measure)
    release = shoal.anonymize_file(tmp_path / "in.sav", k=5, method="mdav", quasi_identifiers=list(measure))
    assert [one.kind for one in release.attributes[:2]] == ["ordinal", "nominal"]
    assert release.attributes[2].kind in ("continuous", "integer")


def test_categories_of_frames_and_parquet_are_categories(tmp_path):
    import pandas as pd

    levels = ["low", "middle", "high"]
    frame = pd.DataFrame(
        {
            "plain": pd.Categorical(["a", "b", "c"] * 10),
            "ordered": pd.Categorical(levels * 10, categories=levels, ordered=True),
            "codes": pd.Categorical([10, 20, 70] * 10),
        }
    )
    frame.to_parquet(tmp_path / "in.parquet", index=False)
    for table in (frame, shoal.io.read(tmp_path / "in.parquet").table):
        release = shoal.anonymize(table, k=3, method="mdav")
        assert [one.kind for one in release.attributes] == ["nominal", "ordinal", "nominal"]
