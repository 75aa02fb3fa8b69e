"""Columns for which nobody has said a role: published if k holds for them too, else refused with all of them named."""

import json
import warnings

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import DataError, DisclosureError, DisclosureWarning, OptionError
from shoal.release import run
from shoal.release.verification import verify_file

QIS = ["age", "sex"]


def people(n=60, **more):
    rng = np.random.default_rng(0)
    columns = {"age": rng.integers(20, 60, n), "sex": rng.choice(["f", "m"], n), **more}
    return pa.table(columns)


def released(table, k=5, **fields):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return shoal.anonymize(table, k, quasi_identifiers=QIS, method="mdav", **fields)


def refused(table, k=5, **fields):
    with pytest.raises(DisclosureError, match="Columns without a role must not single records out") as caught:
        released(table, k, **fields)
    return str(caught.value)


BORN = np.arange("1960-01-01", "1960-03-01", dtype="datetime64[D]")
SMOKER = np.random.default_rng(1).choice(["yes", "no"], 60)


def test_exact_dates_of_birth_do_not_go_out_by_omission():
    words = refused(people(born=BORN))
    assert "Got 'born': with this column, only k = 1 would hold, not 5." in words
    for way in ("quasi_identifiers=[..]", "other=[..]", "drop=[..]", "rest='other'"):
        assert way in words


def test_a_column_with_a_rare_value_is_refused_before_records_are_grouped(monkeypatch):
    monkeypatch.setattr(run, "_carried_out", lambda *_: pytest.fail("records were grouped"))
    refused(people(rare=["a"] * 56 + ["b"] * 4))


def test_frequent_values_single_out_in_groups():
    """Each value is frequent, but not in every group: found on the table to publish."""
    words = refused(people(smoker=SMOKER))
    assert "Got 'smoker'" in words


def test_columns_with_which_k_holds_are_published():
    table = people(year=[2024] * 60)
    assert released(table).table.column("year").to_pylist() == [2024] * 60
    groups = pa.table({"age": [30] * 10 + [50] * 10, "sex": ["f"] * 20, "decade": ["a"] * 10 + ["b"] * 10})
    release = released(groups)
    assert release.whole == (3, 10, 0)
    assert [column.role for column in release.columns] == ["quasi-identifier"] * 2 + ["other"]


def test_columns_may_single_out_together_only():
    """Each of two columns keeps k = 5 in the only group of 20; both together do not."""
    table = pa.table(
        {"age": [30] * 20, "sex": ["f"] * 20, "a": ["x"] * 10 + ["y"] * 10, "b": ["x"] * 8 + ["y"] * 4 + ["x"] * 8}
    )
    for alone in ("a", "b"):
        released(table.drop_columns(alone), k=4)
    assert "Got 'a', 'b': with these columns, only k = 2 would hold, not 4." in refused(table, k=4)


def test_all_of_them_are_named_at_once():
    words = refused(people(born=BORN, income=np.arange(60) * 7919 % 1000, smoker=SMOKER))
    assert "Got 'born', 'income': with these columns, only k = 1 would hold" in words
    assert "No role was said for 'smoker' either." in words
    many = refused(people(**{f"c{i}": BORN for i in range(25)}))
    assert "'c19' and 5 more" in many
    assert "'c20'" not in many


def test_they_are_listed_with_the_columns_that_look_like_identifiers():
    table = people(born=BORN, smoker=SMOKER, phone=[f"+44 {i}" for i in range(60)])
    with pytest.raises(DataError) as caught:
        released(table)
    words = str(caught.value)
    assert "'phone' looks like an identifier" in words
    assert "Columns without a role must not single records out. Got 'born'" in words
    assert "'phone'" not in words[words.index("Columns without a role") :]


def test_no_value_is_quoted():
    assert "1960" not in refused(people(born=BORN))


@pytest.mark.parametrize("way", [{"other": ["born", "smoker"]}, {"rest": "other"}])
def test_other_publishes_them_unchanged(way):
    release = released(people(born=BORN, smoker=SMOKER), **way)
    assert release.table.column("born").to_pylist() == BORN.tolist()
    assert release.whole == (4, 1, 60)


@pytest.mark.parametrize("way", [{"drop": ["born", "smoker"]}, {"rest": "drop"}])
def test_drop_leaves_them_out(way):
    release = released(people(born=BORN, smoker=SMOKER), **way)
    assert release.table.column_names == QIS
    assert [column.role for column in release.columns][2:] == ["dropped"] * 2
    assert "born" not in json.dumps(release.certificate)
    assert "born" not in release.report()


def test_qi_groups_on_them():
    release = released(people(born=BORN, smoker=SMOKER), rest="qi")
    assert release.quasi_identifiers == ["age", "sex", "born", "smoker"]
    assert release.whole.k >= 5


def test_identifiers_are_refused_among_the_rest_too():
    table = people(phone=[f"+44 {i}" for i in range(60)])
    for rest in ("other", "qi"):
        with pytest.raises(DataError, match="'phone' looks like an identifier"):
            released(table, rest=rest)
    assert "phone" not in released(table, rest="drop").table.column_names


def test_the_rest_is_one_of_three_words_and_needs_quasi_identifiers():
    with pytest.raises(OptionError, match="'rest' of a plan must be 'qi', 'other' or 'drop'"):
        shoal.Plan.of(rest="keep")
    with pytest.raises(OptionError, match="at least one quasi-identifier"):
        shoal.anonymize(people(), k=5, rest="other")
    with pytest.raises(OptionError, match="two roles: other and drop"):
        shoal.Plan.of(other="a", drop="a")


def test_units_are_counted_where_k_counts_them():
    """Twelve rows share the value, but they are of two persons."""
    table = people(flag=["a"] * 48 + ["b"] * 12, person=[f"p{i}" for i in range(48)] + ["q", "r"] * 6)
    assert "only k = 2 would hold" in refused(table, unit="person")


def test_blocks_keep_them_each_by_itself():
    table = pa.table({"age": [30] * 6 + [50] * 6, "sex": ["f", "m"] * 6, "old": [False] * 6 + [True] * 6})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fields = {"quasi_identifiers": QIS, "blocks": "each", "method": "mdav"}
        assert shoal.anonymize(table, 3, **fields).table.num_columns == 3
        with pytest.raises(DisclosureError, match="Got 'old': with this column"):
            shoal.anonymize(table, 4, **fields)  # 'sex' and 'old' have four combinations of three


def test_values_that_nearly_all_differ_are_warned_of():
    table = people(income=np.arange(60) * 1.01, smoker=SMOKER)
    with pytest.warns(DisclosureWarning, match=r"nearly all differ: 'income' \(60 of 60 records\)"):
        release = shoal.anonymize(
            table, k=5, quasi_identifiers=QIS, sensitive_attributes="income", other="smoker", method="mdav"
        )
    (words,) = release.warnings
    assert "smoker" not in words
    assert words in release.certificate["warnings"]
    assert words.replace("'", "&#39;") in release.report()


def test_certificate_record_and_report_tell_the_k_of_all_columns(tmp_path):
    release = released(people(smoker=SMOKER), other="smoker")
    for document in (release.certificate, release.record):
        assert (document["k"]["held_for_all"], document["k"]["unique"]) == release.whole[1:]
    page = release.report()
    assert f"For all 3 published columns together, k = {release.whole.k} holds." in page
    assert "Anyone who also knows the other published columns may find the record itself" in page
    alone = released(people())
    words = "For both published columns together, k = 5 holds. As many as for the quasi-identifiers alone."
    assert words in alone.report()


def test_verify_checks_the_k_of_all_columns_and_that_there_are_no_others(tmp_path):
    release = released(people(year=[2024] * 60))
    release = release.save(tmp_path / "out.csv", certificate=tmp_path / "m.json")
    assert verify_file(tmp_path / "out.csv", tmp_path / "m.json").whole == release.whole
    certificate = json.loads((tmp_path / "m.json").read_text())
    certificate["output"]["sha256"] = None  # as that of a database
    lines = (tmp_path / "out.csv").read_text().splitlines()
    (tmp_path / "m.json").write_text(json.dumps(certificate))

    (tmp_path / "other.csv").write_text("\n".join([*lines[:-1], lines[-1].replace("2024", "2023")]) + "\n")
    with pytest.raises(DisclosureError, match=r"k = 5 must hold for all columns together, .* Got k = 1"):
        verify_file(tmp_path / "other.csv", tmp_path / "m.json")
    more = [f"{line},{'born' if at == 0 else at}" for at, line in enumerate(lines)]
    (tmp_path / "more.csv").write_text("\n".join(more) + "\n")
    with pytest.raises(DisclosureError, match=r"certificate and no others\. Got 'born'"):
        verify_file(tmp_path / "more.csv", tmp_path / "m.json")
