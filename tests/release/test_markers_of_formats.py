"""Nothing that lies beside the table in a file goes out with its release, in any format.

Markers are planted where formats have room for more than values: metadata of schemas and fields, categories and labels
of values that do not occur, labels of dropped columns, titles and notes of files, comments, other sheets and tables,
deleted rows. They are looked for in the bytes of the release, unpacked, and in everything that is written with it.
"""

import json
import logging
import sqlite3
import warnings
import zipfile

import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import shoal

MARK = "qmarkx"
ROWS = 12
TABLE = pa.table(
    {
        "who": [f"{MARK}id{i}" for i in range(ROWS)],
        "age": pa.array([*range(20, 20 + ROWS - 1), None], pa.float64()),
        "sex": [float(1 + i % 2) for i in range(ROWS)],
        "note": [*["fine"] * (ROWS - 1), f"{MARK}dropped"],  # of the record without an age, which is dropped
    }
)
PLAN = {
    **{"k": 3, "method": "mdav", "missing": "drop", "quasi_identifiers": ["age", "sex"], "identifiers": ["who"]},
    **{"other": ["note"], "bound": "none"},
}


def with_metadata():
    """Return the table with categories that do not occur, and metadata of its schema and of a field."""
    notes = pa.DictionaryArray.from_arrays(
        [*[1] * (ROWS - 1), 2], [f"{MARK}category", "fine", f"{MARK}dropped"], ordered=False
    )
    table = TABLE.set_column(3, "note", notes)
    fields = [field.with_metadata({"comment": f"{MARK}{field.name}"}) for field in table.schema]
    return table.cast(
        pa.schema(fields, metadata={"source": f"{MARK}schema", "geo": json.dumps({"bbox": f"{MARK}box"})})
    )


def to_excel(path):
    import openpyxl
    from openpyxl.comments import Comment

    book = openpyxl.Workbook()
    book.properties.creator, book.properties.title = f"{MARK}author", f"{MARK}title"
    sheet = book.active
    sheet.title = "people"
    sheet.append(TABLE.column_names)
    for row in TABLE.to_pylist():
        sheet.append(list(row.values()))
    sheet["B2"].comment = Comment(f"{MARK}comment", f"{MARK}reader")
    sheet.oddHeader.left.text = f"{MARK}header"
    book.create_sheet(f"{MARK}sheet").append([f"{MARK}cell"])
    book.save(path)


def to_sqlite(path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE people (who TEXT, age REAL, sex REAL, note TEXT)")
    connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", [tuple(row.values()) for row in TABLE.to_pylist()])
    connection.execute("INSERT INTO people VALUES (?, 1, 1, ?)", (f"{MARK}deleted", f"{MARK}deleted"))
    connection.execute("DELETE FROM people WHERE note LIKE '%deleted'")
    connection.execute(f"CREATE TABLE {MARK}table AS SELECT '{MARK}cell' AS {MARK}column")
    connection.execute(f"CREATE VIEW {MARK}view AS SELECT * FROM people")
    connection.commit()
    connection.close()


def to_duckdb(path):
    import duckdb

    with duckdb.connect(str(path)) as connection:
        connection.register("given", TABLE)
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
        connection.execute(f"CREATE TABLE {MARK}table AS SELECT '{MARK}cell' AS x")
        connection.execute(f"COMMENT ON TABLE people IS '{MARK}comment'")
        connection.execute(f"COMMENT ON COLUMN people.age IS '{MARK}comment'")


def to_statistics(path):
    import pyreadstat

    frame = pd.DataFrame({name: TABLE[name].to_pandas() for name in TABLE.column_names})
    labels = {"sex": {1.0: "man", 2.0: "woman", 9.0: f"{MARK}value"}}
    how = {"column_labels": {"who": f"{MARK}label", "age": "age in years"}, "file_label": f"{MARK}file"}
    if path.suffix == ".sav":
        notes = [f"{MARK}note"]
        pyreadstat.write_sav(frame, str(path), variable_value_labels=labels, note=notes, **how)
    else:
        frame["sex"] = frame["sex"].astype("int32")
        whole = {"sex": {int(value): text for value, text in labels["sex"].items()}}
        pyreadstat.write_dta(frame, str(path), variable_value_labels=whole, **how)


FORMATS = {
    "parquet": lambda path: pq.write_table(with_metadata(), path),
    "arrow": lambda path: feather.write_feather(with_metadata(), str(path), compression="uncompressed"),
    "xlsx": to_excel,
    "db": to_sqlite,
    "duckdb": to_duckdb,
    "sav": to_statistics,
    "dta": to_statistics,
}
CHOICE = {"xlsx": {"sheet": "people"}, "db": {"table": "people"}, "duckdb": {"table": "people"}}


def unpacked(path):
    """Return everything in a file as bytes: packed members unpacked, and what a schema says."""
    content = path.read_bytes()
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as parts:
            content += b"".join(parts.read(name) + name.encode() for name in parts.namelist())
    if path.suffix == ".parquet":
        table = pq.read_table(path, read_dictionary=["note"])
        chunks = [chunk.dictionary for chunk in table["note"].chunks] if "note" in table.column_names else []
        content += f"{table.schema.to_string(show_schema_metadata=True)}{chunks}{table.to_pydict()}".encode()
        content += str(pq.read_metadata(path)).encode()
    if path.suffix == ".sav":  # compressed: as a reader sees it
        import pyreadstat

        frame, about = pyreadstat.read_sav(str(path))
        content += f"{frame.to_dict()}{vars(about)}".encode()
    return content


@pytest.mark.parametrize("other", ["same", "csv"])
@pytest.mark.parametrize("format", FORMATS)
def test_what_lies_beside_the_table_does_not_go_out(format, other, tmp_path, caplog):
    source = tmp_path / f"people.{format}"
    FORMATS[format](source)
    assert unpacked(source).count(MARK.encode()) >= 3
    out = tmp_path / f"release.{format if other == 'same' else 'csv'}"
    certificate, report = tmp_path / "m.json", tmp_path / "r.html"
    with warnings.catch_warnings(record=True) as warned, caplog.at_level(logging.DEBUG):
        warnings.simplefilter("always")
        table = shoal.io.read(source, **CHOICE.get(format, {}))
        release = shoal.anonymize_file(table, out, certificate=certificate, report=report, record=False, **PLAN)
    assert release.audit.rows == ROWS - 1
    said = "\n".join(str(one.message) for one in warned) + caplog.text + repr(release)
    for where in (unpacked(out), certificate.read_bytes(), report.read_bytes(), said.encode()):
        assert MARK.encode() not in where
    if format in ("sav", "dta") and other == "same":  # what describes published values is kept
        assert b"age in years" in unpacked(out)
        assert b"woman" in unpacked(out)
