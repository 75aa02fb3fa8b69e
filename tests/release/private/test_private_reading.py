"""How a private release reads files: no record decides how the others are read."""

import json

import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.errors import DataError, OptionError

TOWNS = {"town": {"kind": "nominal", "values": ["Genf", "Zürich"], "other": "Genf"}}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def counted(path, domain=TOWNS, missing_values=(), **how):
    """Return {value: noisy count}, with noise that hides nothing."""
    fields = {"dp": "histogram", "epsilon": 1e6, "domain": domain, "options": {"form": "aggregated"}}
    fields["missing_values"] = missing_values
    table = shoal.anonymize_file(shoal.io.read(path, **how), **fields).table
    return dict(zip(table.column(0).to_pylist(), table["count"].to_pylist(), strict=True))


def test_one_record_does_not_decide_about_the_encoding(folder):
    """A byte that is not UTF-8, in a column that is not even released, would turn all of Zürich into another town."""
    lines = "town,name\n" + "Zürich,a\n" * 30 + "Genf,b\n" * 30
    (folder / "t.csv").write_bytes(lines.encode())
    assert counted("t.csv") == {"Genf": 30, "Zürich": 30}
    (folder / "t.csv").write_bytes(lines.encode() + b"Genf,\xff\n")
    with pytest.raises(OptionError, match=r"the encoding of t\.csv must be given.*--encoding"):
        counted("t.csv")
    (folder / "t.csv").write_bytes(lines.encode("cp1252"))
    assert counted("t.csv", encoding="cp1252") == {"Genf": 30, "Zürich": 30}


@pytest.mark.parametrize(
    ("header", "told"), [("town,name", True), ("town", True), ("town;na|me", False), ('"to,wn";town', True)]
)
def test_records_do_not_decide_about_the_delimiter(folder, header, told):
    mark = "|" if "|" in header else ";" if ";" in header else ","
    fields = len(header.split(mark)) if '"' not in header else 2
    rows = [mark.join(["Genf"] * fields)] * 40
    (folder / "t.csv").write_text("\n".join([header, *rows]), encoding="utf-8")
    domain = {header.split(mark)[-1] if fields > 1 and told else "town": TOWNS["town"]}
    if told:
        assert sum(counted("t.csv", domain=domain).values()) == 40
        return
    with pytest.raises(OptionError, match=r"the delimiter of t\.csv must be given"):
        counted("t.csv")
    assert counted("t.csv", domain={"town;na": TOWNS["town"]}, delimiter="|") == {"Genf": 40}


def test_a_file_without_names_does_not_tell_its_delimiter(folder):
    (folder / "t.csv").write_text("Genf;1\n" * 40, encoding="utf-8")
    domain = {"column_1": TOWNS["town"]}
    with pytest.raises(OptionError, match="delimiter"):
        counted("t.csv", domain=domain, header=False)
    (folder / "t.csv").write_text("'Genf';'a'\n" * 40, encoding="utf-8")
    with pytest.raises(OptionError, match="the quote of"):
        counted("t.csv", domain=domain, header=False, delimiter=";")


def test_one_text_does_not_change_how_numbers_are_written(folder):
    """Beside a text, the number 2.0 would be the text 2.0, and no longer the category 2."""
    domain = {"code": {"kind": "nominal", "values": [2, 3], "other": 3}}
    rows = [{"code": 2.0}] * 30 + [{"code": 3.5}]
    (folder / "t.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert counted("t.jsonl", domain=domain) == {2: 30, 3: 1}
    (folder / "t.jsonl").write_text("\n".join(map(json.dumps, [*rows, {"code": "x"}])), encoding="utf-8")
    with pytest.raises(DataError, match=r"'code' of t\.jsonl must hold values of one kind"):
        counted("t.jsonl", domain=domain)


def test_one_text_does_not_change_how_moments_are_written(folder):
    domain = {"seen": {"kind": "nominal", "values": ["2020-01-01 10:00:00", "never"], "other": "never"}}
    rows = [{"seen": "2020-01-01T10:00:00"}] * 30
    (folder / "t.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with pytest.raises(DataError, match=r"'seen' of t.*must be declared as a date"):
        counted("t.jsonl", domain=domain)


def test_units_that_are_written_alike_are_refused(folder):
    rows = [{"unit": unit, "town": "Genf"} for unit in (1, 2, "1")]
    (folder / "t.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    domain = {"columns": TOWNS, "rows_per_unit": 1}
    with pytest.raises(DataError, match="'unit' of t"):
        shoal.anonymize_file("t.jsonl", dp="histogram", epsilon=1, domain=domain, unit="unit")


def test_a_dry_run_looks_at_declared_columns_only(folder):
    """What a kind would be guessed from need not be clear, if it is declared or not released."""
    lines = ["town,score", *["Zürich,1"] * 30, "Genf,NA"]
    (folder / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    (folder / "domain.yaml").write_text(json.dumps({"columns": TOWNS}), encoding="utf-8")
    words = ("anonymize", "t.csv", "--dp", "histogram", "--epsilon", "1", "--domain", "domain.yaml")
    done = CliRunner().invoke(app, [*words, "--dry-run", "--json"])
    assert done.exit_code == 0, done.output
    assert '"kinds": {\n    "town": "nominal"\n  }' in done.output


def test_markers_of_missing_values_are_declared(folder):
    """A text such as NA is no number: the plan says that it means 'missing', and the domain what that counts as."""
    (folder / "t.csv").write_text("score\n" + "1\n" * 30 + "NA\n" * 20, encoding="utf-8")
    words = ("anonymize", "t.csv", "--dp", "histogram", "--epsilon", "1", "--domain", "domain.yaml")
    done = CliRunner().invoke(app, [*words, "--na", "NA", "--dry-run"])
    assert done.exit_code == 0, done.output
    assert "kind: integer" in (folder / "domain.yaml").read_text(encoding="utf-8")
    domain = {"score": {"kind": "integer", "lower": 0, "upper": 2, "missing": 0}}
    with pytest.raises(DataError, match="missing_values"):
        counted("t.csv", domain=domain)
    assert counted("t.csv", domain=domain, missing_values=["NA"]) == {0: 20, 1: 30}
