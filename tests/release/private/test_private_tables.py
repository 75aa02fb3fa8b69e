"""Differentially private releases in the product: what leaves, what is refused, and what can be verified."""

import json
from datetime import date

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.dp import mechanisms
from shoal.errors import DisclosureError, OptionError, ShoalError
from shoal.plan import Plan
from shoal.plan_checks import WITH_PRIVACY
from shoal.release.private.table import certainty_of

DOMAIN = {
    "age": {"kind": "integer", "lower": 0, "upper": 99},
    "sex": {"kind": "nominal", "values": ["f", "m"]},
    "born": {"kind": "date", "lower": "1920-01-01", "upper": "2020-12-31"},
}
N = 613  # a number that must not be found anywhere
COLUMNS = {
    "age": [at % 97 for at in range(N)],
    "sex": ["fm"[at % 2] for at in range(N)],
    "born": [date(1930 + at % 80, 1, 1) for at in range(N)],
    "person": [f"P{at // 2}" for at in range(N)],
    "secret": [f"marker{at}" for at in range(N)],
}
TABLE = pa.table(COLUMNS)


def released(table=TABLE, **fields):
    return shoal.anonymize(table, **{"dp": "mondrian", "epsilon": 1, "domain": DOMAIN, **fields})


@pytest.fixture(scope="module")
def made():
    return released()


def test_a_private_table_has_declared_columns_and_new_rows(made):
    table = made.table
    assert table.column_names == ["age", "sex", "born"]
    assert table.num_rows == made.rows
    assert abs(made.rows - N) < 400
    assert made.epsilon == pytest.approx(1)
    assert made.certainty == pytest.approx(0.7310586)
    assert "epsilon = 1" in repr(made)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_the_kind_of_data_frame_is_kept(frame):
    native = frame({name: COLUMNS[name] for name in ("age", "sex")})
    made = released(native, domain={name: DOMAIN[name] for name in ("age", "sex")}, options={"form": "aggregated"})
    assert isinstance(made.table, frame)
    assert list(made.table.columns) == ["age", "sex", "count"]


def test_nothing_exact_leaves(made):
    for document in (json.dumps(made.certificate), made.report(), made._repr_html_(), repr(made)):
        assert "marker" not in document
        assert "secret" not in document
        assert "person" not in document.replace("a person is in", "")
        if made.rows != N:
            assert str(N) not in document
        for word in ("loss", "missing_counts", "rows_in", "group_sizes"):
            assert f'"{word}"' not in document
    assert set(made.certificate) == {
        *("kind", "format", "created", "versions", "output", "release", "options", "rows", "columns", "epsilon"),
        *("delta", "neighbours", "spent", "ledger", "domain", "said"),
    }
    assert made.record["rows"]["in"] == N


def test_every_figure_was_paid_for(made):
    entries = made.certificate["ledger"]
    assert entries == made.ledger.to_plain()["entries"]
    assert sum(entry.epsilon for entry in made.ledger.entries) <= 1
    for entry in entries:
        assert entry["what"] in made.report()


def test_the_report_says_what_epsilon_means(made):
    page = made.report()
    assert "no result is more than 2.72 times as likely" in page
    assert "73.1 %" in page
    assert "the epsilons of all of them add up" in page
    assert "Each record counts by itself." in page
    assert certainty_of(0.0) == 0.5
    assert certainty_of(1e9) == 1.0
    assert certainty_of(1.0, 0.5) == pytest.approx(0.7310586 + 0.5 / (1 + 2.7182818))


# --- refusals ---

REFUSED = {
    "k": 5,
    "l": 3,
    "t": 0.2,
    "stratum": ["sex"],
    "weight": "age",
    "quasi_identifiers": ["age"],
    "sensitive_attributes": ["sex"],
    "method": "mdav",
    "random_state": 3,
    "suppress": 0.1,
    "top_coding": {"age": 90},
    "hierarchies": {"sex": "prefixes"},
    "release": "full-domain",
    "shuffle": True,
    "missing": "drop",
}


@pytest.mark.parametrize("field", REFUSED)
def test_what_cannot_be_combined_is_refused_by_its_name(field):
    more = {"sensitive_attributes": ["secret"]} if field in ("l", "t") else {}
    with pytest.raises(OptionError, match="cannot be combined with dp") as caught:
        Plan.of(dp="mondrian", epsilon=1, **{field: REFUSED[field]}, **more)
    assert f"'{field}'" in str(caught.value) or more


def test_every_field_is_about_groups_or_may_be_combined():
    assert set(REFUSED).isdisjoint(WITH_PRIVACY)
    assert set(WITH_PRIVACY) <= set(Plan.model_fields)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"epsilon": 1e-9}, "must be from 1e-06 to 1e"),
        ({"epsilon": 1e9}, "must be from 1e-06 to 1e"),
        ({"epsilon": None}, "'epsilon' of a plan must be given"),
        ({"domain": {"columns": DOMAIN, "rows_per_unit": 2}}, "must come with a 'unit'"),
        ({"delta": 0.1}, "'delta' of a plan must be 0"),
        ({"dp": "mondrain"}, "did you mean 'mondrian'"),
        ({"domain": None}, "'domain' of a plan must be declared"),
        ({"domain": {"age": {"kind": "integer", "lower": 9, "upper": 0}}}, "swapped"),
        ({"domain": {"secret": {"kind": "nominal", "values": ["a"]}}}, "declared values only. Got 613 different"),
        ({"domain": {"agee": DOMAIN["age"]}}, "did you mean 'age'"),
        ({"unit": "person"}, "rows_per_unit"),
        ({"unit": "persn"}, "did you mean 'person'"),
        ({"drop": ["age"]}, "must not have columns of 'drop'"),
        ({"options": {"leaf": -1}}, "leaf"),
        ({"options": {"gamma": 1}}, "has no option 'gamma'"),
    ],
)
def test_what_cannot_be_done_is_refused_before_noise_is_drawn(fields, words, monkeypatch):
    monkeypatch.setattr(mechanisms, "drawn", lambda *_: pytest.fail("noise was drawn"))
    with pytest.raises(ShoalError, match=words) as caught:
        released(**fields)
    assert "marker" not in str(caught.value)


def test_fields_of_privacy_need_it():
    for field, value in (("epsilon", 1), ("delta", 0.1), ("domain", "domain.yaml")):
        with pytest.raises(OptionError, match=f"'{field}' of a plan must come with dp"):
            Plan.of(**{field: value})


def test_groups_are_not_made_of_a_private_plan():
    from shoal.release.preparation import prepare

    with pytest.raises(OptionError, match="'dp'"):
        prepare(TABLE, Plan.of(dp="mondrian", epsilon=1, domain=DOMAIN))


# --- units ---


def test_rows_of_a_unit_beyond_the_declared_number_are_left_out():
    made = released(unit="person", domain={"columns": DOMAIN, "rows_per_unit": 1})
    assert made.rows_left_out == N // 2
    assert "add or remove one unit (person) with at most 1 row" in made.certificate["neighbours"]
    made = released(unit="person", domain={"columns": DOMAIN, "rows_per_unit": 2})
    assert made.rows_left_out == 0
    assert "counts by itself" not in made.report()


def test_units_that_read_alike_are_one():
    """Who is spelt in several ways must not have more rows than the noise is for."""
    for units, kept in ((["Bob", "bob ", "bob", "ann", "01", "1"], 3), ([0.0, -0.0, 1.0, 1.0, 2.0, 3.0], 4)):
        table = pa.table({"sex": ["f", "m"] * 3, "person": units})
        declared = {"columns": {"sex": DOMAIN["sex"]}, "rows_per_unit": 1}
        made = released(table, dp="histogram", unit="person", domain=declared)
        assert made.rows_left_out == len(units) - kept


def test_noise_grows_with_the_rows_of_a_unit(monkeypatch):
    scales = {}
    for rows in (1, 4):
        seen = scales.setdefault(rows, [])
        real = mechanisms._make_laplace
        monkeypatch.setattr(
            mechanisms, "_make_laplace", lambda scale, seen=seen, real=real: seen.append(scale) or real(scale)
        )
        released(dp="histogram", unit="person", domain={"columns": {"sex": DOMAIN["sex"]}, "rows_per_unit": rows})
        monkeypatch.undo()
    assert max(scales[4]) == pytest.approx(4 * max(scales[1]))


# --- files and the command line ---


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(COLUMNS).to_csv("people.csv", index=False)
    return tmp_path


def shell(*words):
    done = CliRunner().invoke(app, list(words))
    return done.exit_code, " ".join(done.output.split())


def test_from_a_template_to_a_verified_file(folder):
    start = ("anonymize", "people.csv", "--dp", "mondrian", "--epsilon", "1", "--domain", "domain.yaml")
    code, words = shell(*start, "--id", "person", "--drop", "secret", "--dry-run")
    assert code == 0, words
    assert "domain.yaml was written" in words
    template = (folder / "domain.yaml").read_text(encoding="utf-8")
    assert "age:" in template
    assert "secret" not in template
    assert not any(str(value) in template for value in ("1930", "96", "P0"))
    code, words = shell(*start, "-o", "release.csv")
    assert code == 2
    assert "must be filled in" in words
    (folder / "domain.yaml").write_text(json.dumps({"columns": DOMAIN}), encoding="utf-8")
    code, words = shell(*start, "--dry-run")
    assert code == 0
    assert "fits its declared domain" in words
    code, words = shell(*start, "-o", "release.csv", "--report", "report.html", "--write-job", "job.yaml")
    assert code == 0, words
    assert "nobody becomes surer than 73.1 %" in words
    code, words = shell("verify", "release.csv")
    assert code == 0, words
    assert "SHA-256 matches the certificate" in words
    assert "cannot be seen on any table" in words
    found = shoal.verify_file("release.csv", "release.csv.manifest.json")
    assert found  # whatever does not hold is refused
    assert found.epsilon == "1"
    code, words = shell("anonymize", "--job", "job.yaml", "-o", "again.csv")
    assert code == 0, words
    assert (folder / "again.csv").read_text(encoding="utf-8") != (folder / "release.csv").read_text(encoding="utf-8")
    code, words = shell(*start, "-o", "release.csv")
    assert code == 2  # nothing is overwritten


def test_a_changed_file_or_certificate_is_refused(folder):
    made = released()
    made = made.save("release.parquet", certificate="c.json")
    assert shoal.verify_file("release.parquet", "c.json").rows == made.rows
    content = json.loads((folder / "c.json").read_text(encoding="utf-8"))
    changes = [
        ("rows", made.rows + 1, DisclosureError),
        (
            "domain",
            {"columns": {**content["domain"]["columns"], "age": {"kind": "integer", "lower": 0, "upper": 1}}},
            DisclosureError,
        ),
        ("output", {**content["output"], "sha256": "0" * 64}, DisclosureError),
        ("epsilon", "0.5", DisclosureError),
        ("epsilon", "x", ShoalError),
        ("epsilon", "1e999999", ShoalError),
        ("spent", {"epsilon": "1", "delta": "0.1"}, DisclosureError),
        ("ledger", [{**one, "delta": "0.5"} for one in content["ledger"]], DisclosureError),
        ("ledger", [{**one, "epsilon": "1/0"} for one in content["ledger"]], ShoalError),
        ("kind", "differential privacy!", ShoalError),
        ("more", 1, ShoalError),
    ]
    for key, value, error in changes:
        (folder / "d.json").write_text(json.dumps({**content, key: value}), encoding="utf-8")
        with pytest.raises(error):
            shoal.verify_file("release.parquet", "d.json")


@pytest.mark.parametrize("options", [("-k", "50"), ("--earlier", "people.csv"), ("--population", "people.csv")])
def test_what_is_about_groups_is_not_taken_for_checked(folder, options):
    released().save("release.csv", certificate="release.csv.manifest.json")
    code, words = shell("verify", "release.csv", *options)
    assert code == 2, words
    assert "has no groups to be checked" in words
    assert options[0] in words
    if options[0] != "-k":
        with pytest.raises(OptionError, match="no groups"):
            shoal.verify_file("release.csv", "release.csv.manifest.json", **{options[0][2:]: "people.csv"})


def test_a_release_without_rows_is_not_written(folder):
    made = released(dp="strongly-safe", delta=1e-6, options={"k": 1000})
    assert made.rows == 0
    assert made.table.num_rows == 0
    with pytest.raises(ShoalError, match=r"must have rows to be written.*is spent all the same"):
        made.save("release.csv")
    assert not (folder / "release.csv").exists()


def test_labels_of_a_file_do_not_leave(folder):
    import pyreadstat

    frame = pd.DataFrame({"sex": ["f", "m"] * 20})
    pyreadstat.write_sav(frame, "people.sav", column_labels={"sex": "marker of a column"})
    domain = {"sex": DOMAIN["sex"]}
    shoal.anonymize_file("people.sav", "release.sav", dp="histogram", epsilon=5, domain=domain)
    assert b"marker" in (folder / "people.sav").read_bytes()
    assert b"marker" not in (folder / "release.sav").read_bytes()


def test_units_without_a_name_are_refused():
    domain = {"columns": {"x": {"kind": "integer", "lower": 0, "upper": 9}}, "rows_per_unit": 1}
    for units in (["a", None, None], [1.0, float("nan"), 2.0]):
        table = pa.table({"x": [1, 2, 3], "unit": units})
        with pytest.raises(ShoalError, match="no missing values"):
            released(table, dp="histogram", domain=domain, unit="unit")


def test_a_file_is_written_alike_whatever_the_original_looks_like(folder):
    """Its encoding or its decimal mark would tell of single records."""
    rows = ["1,5;f", "2,5;m"] * 20
    for name, encoding in (("plain", "utf-8"), ("other", "latin-1")):
        more = ["0,5;é"] if name == "other" else []
        (folder / f"{name}.csv").write_text("\r\n".join(["x;sex", *rows, *more]), encoding=encoding, newline="")
        domain = {
            "x": {"kind": "continuous", "lower": 0, "upper": 9, "step": 0.5},
            "sex": {"kind": "nominal", "values": ["f", "m", "é"]},
        }
        source = shoal.io.read(f"{name}.csv", encoding=encoding)
        shoal.anonymize_file(source, f"{name}.out.csv", dp="histogram", epsilon=1000, domain=domain)
        content = (folder / f"{name}.out.csv").read_bytes()
        assert content.startswith(b"x,sex\n")
        assert b"\r" not in content
        content.decode("utf-8")


def test_private_releases_are_listed():
    code, words = shell("methods")
    assert code == 0
    assert "Differentially private releases (--dp)" in words
    assert "histogram" in words
