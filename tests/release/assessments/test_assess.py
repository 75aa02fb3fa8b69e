"""Assessments: figures are those of the measures, rows and columns that cannot be matched are refused."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

import shoal
from shoal.errors import DataError, DisclosureError, OptionError
from shoal.release.assessments.asking import RISKS
from shoal.release.assessments.catalogue import NAMES

KNOWN = ["age", "city", "income"]
N = 120


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Fewer rounds and trees than users get, for all assessments and measures of this file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.risk.probabilistic.ROUNDS", 100)
        patch.setattr("shoal.risk.trained.TREES", 8)
        yield


@pytest.fixture(scope="module")
def people():
    draw = np.random.default_rng(4)
    age = draw.integers(18, 90, N)
    return pd.DataFrame(
        {
            "id": [f"Zebediah{i:03}" for i in range(N)],
            "age": age,
            "city": draw.choice(["Oslo", "Rome", "Kyoto", "Delhi"], N),
            "income": (age * 50 + draw.lognormal(6, 1, N)).round(2),
            "illness": draw.choice(["flu", "cold", "none"], N),
            "w": draw.integers(1, 9, N),
        }
    )


def released(people, k=4, **options):
    roles = {"quasi_identifiers": KNOWN, "sensitive_attributes": ["illness"], "other": ["w"], "drop": ["id"]}
    return shoal.anonymize(people, k=k, **{"method": "mdav", **roles, **options})


@pytest.fixture(scope="module")
def release(people):
    return released(people)


@pytest.fixture(scope="module")
def found(people, release):
    return release.assess(people)


def test_figures_are_those_of_the_measures(people, release, found):
    table = release.table
    link = shoal.risk.linkage(people, table, KNOWN)
    for name in ("correct", "nearest", "baseline", "untouched"):
        assert found["linkage"][name] == pytest.approx(getattr(link, name))
    assert found["keys"]["highest"] == 1 / found.k == 1 / 4
    assert found["keys"]["original_average"] == shoal.risk.reidentification(people, KNOWN).prosecutor.average
    (gain,) = shoal.risk.attribute_gain(table, KNOWN, ["illness"])
    assert [found["learnt:illness"][name] for name in ("guessed", "certain")] == [gain.guessed, gain.certain]
    deviation = shoal.risk.deviation_disclosure(people, table, KNOWN)
    assert found["intervals"]["deviation"] == pytest.approx(deviation.values)
    compared = ["age", "city", "income", "illness", "w"]
    assert list(found.compared) == compared
    assert found["distance"]["average"] == pytest.approx(shoal.measure.distance_loss(people, table, compared).average)
    moments = shoal.measure.moments(people, table, compared)
    assert found["moments"]["variance_kept"] == pytest.approx(moments.variance_kept)
    assert found["associations"]["change"] == pytest.approx(shoal.measure.associations(people, table, compared).change)
    assert found["tables"]["two"] == pytest.approx(shoal.measure.cross_tabulations(people, table, compared).means[1])
    assert found["queries"]["mean"] == pytest.approx(shoal.measure.range_queries(people, table, compared).mean)
    overlaps = [
        shoal.measure.regression(people[compared], table[compared], name).overlap for name in ("age", "income", "w")
    ]
    assert found["regressions"]["overlap"] == pytest.approx(np.mean(overlaps))
    assert found["special_uniques"]["share"] == 0 < found["special_uniques"]["original"]


def test_roles_come_from_the_certificate_or_from_options(people, release, tmp_path):
    path, original = tmp_path / "release.csv", tmp_path / "people.csv"
    people.to_csv(original, index=False)
    release.save(path, certificate=tmp_path / "release.csv.manifest.json", record=False)
    by_file = shoal.assess(original, path)
    assert by_file.quasi_identifiers == tuple(KNOWN)
    assert by_file["learnt:illness"]["guessed"] == release.assess(people)["learnt:illness"]["guessed"]
    assert by_file["linkage"]["correct"] == pytest.approx(release.assess(people)["linkage"]["correct"])
    named = shoal.assess(original, path, ["age", "city"], sensitive_attributes=["income"])
    assert named.quasi_identifiers == ("age", "city")
    assert named["learnt:income"]
    plain = shoal.assess(people, release.table)
    assert plain.quasi_identifiers == ("age", "city", "income", "illness", "w")
    assert any("no quasi-identifiers were named" in note for note in plain.notes)


def test_types_come_from_the_certificate_too(people, tmp_path):
    coded = people.assign(city=people["city"].map({"Oslo": 1, "Rome": 2, "Kyoto": 3, "Delhi": 4}))
    release = released(coded, types={"city": "nominal"})
    release.save(tmp_path / "release.csv", certificate=tmp_path / "release.csv.manifest.json", record=False)
    coded.to_csv(tmp_path / "people.csv", index=False)
    found = shoal.assess(tmp_path / "people.csv", tmp_path / "release.csv")
    assert found.to_dict()["columns"]["city"]["loss"] is None
    assert release.assess(coded)["linkage"]["correct"] == pytest.approx(found["linkage"]["correct"])
    plain = shoal.assess(coded, release.table, KNOWN)
    assert plain.to_dict()["columns"]["city"]["loss"] is not None


def test_sensitive_numbers_of_text_files_are_guessed_by_interval(people, release, tmp_path):
    for name, table in (("people", people), ("release", release.table)):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    files = tmp_path / "people.csv", tmp_path / "release.csv"
    by_file = shoal.assess(*files, ["age", "city"], sensitive_attributes=["w", "income"])
    (gain,) = shoal.risk.attribute_gain(release.table, ["age", "city"], ["income"])
    assert by_file["learnt:income"]["guessed"] == pytest.approx(gain.guessed)


def test_a_release_by_key_with_fewer_rows_in_another_order(people):
    table = people.assign(age=people["age"] + 1.0)[::-1][:100].reset_index(drop=True)
    found = shoal.assess(people, table, KNOWN, key="id")
    assert (found.records, found.released) == (N, 100)
    by_key = shoal.risk.linkage(people, table, KNOWN, by="id")
    assert found["linkage"]["correct"] == pytest.approx(by_key.correct)
    assert found["linkage"]["correct"] <= 100 / N
    assert found["moments"]["mean_shift"] > 0
    assert "id" not in found.compared
    assert any("not released" in note for note in found.notes)


def test_a_planted_broken_release_is_at_full_risk(people):
    found = shoal.assess(people, people, KNOWN)
    assert found.k == 1
    assert found["linkage"]["correct"] == found["linkage"]["untouched"] == 1
    assert found["keys"]["highest"] == 1
    assert found["distance"]["average"] == found["tables"]["two"] == found["queries"]["mean"] == 0
    assert found["regressions"]["overlap"] == pytest.approx(1)


def test_a_larger_k_lowers_the_risk_and_raises_the_loss(people):
    small, large = (released(people, k).assess(people) for k in (3, 15))
    assert large["linkage"]["correct"] < small["linkage"]["correct"]
    assert large["distance"]["average"] > small["distance"]["average"]
    assert large["associations"]["change"] > 0


def test_on_census_a_larger_k_lowers_linkage_and_raises_loss(benchmark_table):
    X = benchmark_table("census")
    original = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    made = []
    for k in (3, 10):
        labels = shoal.partition(X, k, "mdav")
        release = original.groupby(labels).transform("mean")
        found = shoal.assess(original, release, list(original), ask=["linkage", "distance", "moments"])
        made.append((found["linkage"]["correct"], -found["distance"]["average"], found["moments"]["variance_kept"]))
    assert sorted(made, reverse=True) == made
    for figures in zip(*made, strict=True):
        assert list(figures) == sorted(figures, reverse=True)


def test_shuffled_rows_need_a_key(people):
    shuffled = released(people, shuffle=True)
    with pytest.raises(DataError, match=r"shuffled.*key"):
        shuffled.assess(people)


def test_weights_count(people, release):
    found = shoal.assess(people, release, weight="w")
    assert "w" not in found.compared
    assert found["keys"]["population"] < found["keys"]["average"]
    weighted = shoal.measure.distance_loss(people, release.table, ["age", "income"], weight="w")
    assert found["distance"]["average"] == pytest.approx(weighted.average)


def test_who_pays(people, release):
    found = release.assess(people, subgroups=["city"])
    (paying,) = found.subgroups
    assert paying.name == "city"
    assert set(paying.values) == set(people["city"])
    by_hand = shoal.measure.subgroups(people, release.table, "city", ["age", "income", "w"])
    np.testing.assert_allclose(paying.losses, by_hand.losses)
    few = people.assign(city=["Kiel"] * 3 + ["Ulm"] * (N - 3))
    assert "Kiel" not in json.dumps(shoal.assess(few, few, KNOWN, subgroups=["city"]).to_dict())


def test_ranges_are_counted_in_keys_only(people):
    recoded = released(people, release="local-recoding")
    found = recoded.assess(people)
    assert found["keys"]["highest"] == 1 / found.k
    assert "age" not in found.compared
    assert any("'age' is counted in keys only" in note for note in found.notes)
    known = len(set(found.compared) & set(KNOWN))
    assert f"use {known} of the {len(KNOWN)} quasi-identifiers" in found["linkage"].reads
    with pytest.raises(DataError, match="at least one column that can be compared"):
        shoal.assess(people[["age"]], recoded.table[["age"]], ["age"])


def test_no_value_is_quoted(people, release, found):
    told = repr(found) + json.dumps(found.to_dict()) + found.report()
    for value in ("Oslo", "flu", "Zebediah", str(people["income"].max()), str(people["income"].min())):
        assert value not in told


def test_results_do_not_depend_on_threads_row_order_or_the_kind_of_frame(people, release, found):
    table = release.table
    for other in (
        shoal.assess(people, table, KNOWN, sensitive_attributes=["illness"], n_jobs=1),
        shoal.assess(pl.from_pandas(people), pl.from_pandas(table), KNOWN, sensitive_attributes=["illness"], n_jobs=2),
    ):
        assert other.to_dict()["questions"] == found.to_dict()["questions"]
    order = np.random.default_rng(0).permutation(N)
    again = shoal.assess(people.iloc[order], table.iloc[order], KNOWN)
    for name, figure in (
        ("linkage", "correct"),
        ("distance", "average"),
        ("tables", "two"),
        ("associations", "change"),
    ):
        assert again[name][figure] == pytest.approx(found[name][figure])


def test_the_page_is_for_the_data_holder_and_works_offline(people, release, tmp_path):
    found = release.assess(people, subgroups=["city"])
    page = found.report(tmp_path / "page.html")
    assert "For the data holder." in page
    assert not re.search(r"https?:|<script|@import|src=", page)
    for question in found.questions:
        assert question.asks in page.replace("&#39;", "'")
        assert question.reads in page.replace("&#39;", "'")
    assert (tmp_path / "page.html").read_text() == page
    assert (tmp_path / "page.html").stat().st_mode & 0o077 == 0
    with pytest.raises(shoal.ShoalError, match="must not be there yet"):
        found.report(tmp_path / "page.html")


def test_awkward_columns(people, release):
    empty, same = people.assign(none=np.nan, same=7), release.table.assign(none=np.nan, same=7)
    found = shoal.assess(empty, same, [*KNOWN, "none", "same"])
    assert found.to_dict()["columns"]["same"]["loss"] is None
    assert 0 < found["linkage"]["correct"] < 1
    other = shoal.assess(people, release.table.assign(city="Lima"), KNOWN)
    assert any("1 categories of 'city' in the release do not occur" in note for note in other.notes)
    assert "Lima" not in str(other.notes)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda p, r: shoal.assess(p, r[:90], KNOWN), DataError, "as many rows as the original"),
        (lambda p, r: shoal.assess(p, r[::-1], KNOWN), DataError, "in the order of the original"),
        (lambda p, r: shoal.assess(p[:1], r[:1], KNOWN), DataError, "at least 2 records"),
        (lambda p, r: shoal.assess(p, r[["age"]], KNOWN), OptionError, "in both tables. Got none 'city'"),
        (lambda p, r: shoal.assess(p, r[["age"]].rename(columns={"age": "x"})), OptionError, "columns in common"),
        (lambda p, r: shoal.assess(p, r, KNOWN, weight="v"), OptionError, "must be in the original. Got 'v'"),
        (lambda p, r: shoal.assess(p.assign(w=0), r, KNOWN, weight="w"), DataError, "numbers above 0. Got 120"),
        (lambda p, r: shoal.assess(p, r, KNOWN, key="id"), OptionError, "key must be a column of every release"),
        (
            lambda p, r: shoal.assess(p, r, KNOWN, subgroups=["town"]),
            OptionError,
            "subgroups must be those",
        ),
        (lambda p, r: shoal.assess(p, r, KNOWN, sensitive_attributes=["age"]), OptionError, "must have one role"),
        (lambda p, r: shoal.assess(p, r, KNOWN, types={"age": "old"}), OptionError, "type of 'age' must be one of"),
        (lambda p, r: shoal.assess(p, r, KNOWN, types={"city": "continuous"}), DataError, "'city' must hold numbers"),
        (lambda p, r: shoal.assess(p, r, KNOWN, sample=1), OptionError, "'sample' of shoal.assess"),
        (lambda p, r: shoal.assess(p[:0], r, KNOWN), DataError, "The table of shoal.assess must have rows"),
    ],
)
def test_bad_input_gets_one_sentence(call, error, words, people, release):
    with pytest.raises(error, match=words):
        call(people, release.table)


def test_a_certificate_of_another_file_is_refused(people, release, tmp_path):
    path = tmp_path / "release.csv"
    release.save(path, certificate=tmp_path / "release.csv.manifest.json", record=False)
    path.write_text(path.read_text().replace("flu", "flux", 1))
    with pytest.raises(DisclosureError, match="belongs to another file"):
        shoal.assess(people, path)


def test_an_unknown_question_names_the_others(found):
    with pytest.raises(OptionError, match="it has keys, "):
        found["luck"]


def test_what_is_asked_is_answered_and_nothing_else(people, release):
    some = shoal.assess(people, release, ask=["keys", "linkage"])
    assert [one.name for one in some.questions] == ["keys", "linkage"]
    assert some.associations is None
    assert "What an analyst can still do" not in some.report()
    every = shoal.assess(people, release, ask="all", population_size=9000)
    found = {one.name.partition(":")[0] for one in every.questions}
    assert found == {*NAMES} - {"membership", "prediction"}
    assert dict(every.left_out) == {"membership": "no held-out records", "prediction": "no held-out records"}
    default = shoal.assess(people, release)
    assert dict(default.left_out)["model"] == "not asked for"
    with pytest.raises(OptionError, match=r"'model', which was left out \(not asked for\)"):
        default["model"]


def test_attacks_are_those_of_the_measures(people, release):
    """People who were set aside before the release was made, and everything that can be asked with them."""
    first, rest = people[:80], people[80:]
    made = released(first)
    found = made.assess(first, ask="all", held_out=rest, weight="w", sample=50)
    assert not found.left_out
    table = made.table
    member = shoal.risk.membership(first, rest, table, KNOWN)
    assert found["membership"]["advantage"] == pytest.approx(member.advantage)
    assert "This is one attack" in found["membership"].reads
    tested = shoal.measure.prediction(first, table, rest, "illness", KNOWN, weight="w")
    assert found["prediction:illness"]["after"] == pytest.approx(tested.after)
    draw = {"sample": 50}
    (learnt,) = shoal.risk.model_gain(first, table, KNOWN, "illness", **draw)
    assert found["model:illness"]["gain"] == pytest.approx(learnt.gain)
    joined = shoal.risk.linkability(first, table, KNOWN, **draw)
    assert found["linkability"]["correct"] == pytest.approx(joined.correct)
    weighed = shoal.risk.probabilistic_linkage(first, table, KNOWN, **draw)
    assert found["probabilistic_linkage"]["correct"] == pytest.approx(weighed.correct)
    single = shoal.risk.singling_out(first, table, KNOWN)
    assert found["singling_out"]["multivariate"] == single.multivariate.share
    robust = shoal.risk.robust_disclosure(first, table, KNOWN)
    assert found["robust_intervals"]["records"] == pytest.approx(robust.records)
    unique = shoal.risk.population_uniques(first, KNOWN, int(first["w"].sum()))
    assert found["population_uniques"]["original_zayatz"] == pytest.approx(unique.zayatz / first["w"].sum())
    # Whatever was drawn has an interval, in the figures, in JSON and on the page.
    told = found.to_dict()["questions"]
    for name, figure in (
        ("partial_linkage", "mean"),
        ("partial_linkage", "highest"),
        ("probabilistic_linkage", "correct"),
        ("linkability", "correct"),
        ("inference", "highest"),
        ("singling_out", "multivariate"),
        ("model:illness", "gain"),
        ("membership", "advantage"),
        ("propensity", "c_statistic"),
        ("queries", "mean"),
        ("prediction:illness", "after"),
    ):
        low, high = told[name]["intervals"][figure]
        assert low <= told[name]["figures"][figure] <= high
    assert found.report().count('class="between"') >= 11


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"ask": "linkages"}, OptionError, "questions that exist. Got 'linkages'. Hint: did you mean 'linkage'"),
        ({"ask": []}, OptionError, "at least one question"),
        ({"ask": "membership"}, OptionError, "only with held-out records.*held_out, --held-out"),
        ({"ask": "population_uniques"}, OptionError, "neither the size of the population nor weights"),
        ({"ask": "model"}, OptionError, "only with sensitive attributes"),
        ({"population_size": 5}, OptionError, "whole number of at least 120"),
        ({"held_out": "self"}, DataError, "must not be in the original. Got 120 of 120"),
        ({"held_out": "one"}, DataError, "at least 2 held-out records. Got 1"),
        ({"held_out": "narrow"}, OptionError, "must have the columns that are compared. Got none 'city'"),
        ({"held_out": "texts"}, DataError, "'income' must hold numbers"),
    ],
)
def test_questions_that_cannot_be_asked(people, release, options, error, words):
    tables = {
        "self": people,
        "one": people[:1],
        "narrow": people[["age"]],
        "texts": people.assign(income="much"),
    }
    given = {**options, **({"held_out": tables[options["held_out"]]} if "held_out" in options else {})}
    with pytest.raises(error, match=words):
        shoal.assess(people, release.table, KNOWN, **given)


@pytest.mark.parametrize("case", ["constant", "missing", "flat release", "other categories", "few", "one column"])
@pytest.mark.filterwarnings("error")
def test_awkward_tables_are_assessed_without_complaint(people, release, case):
    table = release.table
    known = KNOWN
    if case in ("constant", "missing"):
        same = {"age": 5, "city": "x", "income": 1.0} if case == "constant" else dict.fromkeys(KNOWN)
        people, table = people.assign(**same), table.assign(**same)
    elif case == "flat release":
        table = table.assign(age=50.0, city="Rome", income=0.0)
    elif case == "other categories":
        people = people.assign(city=[f"town {i}" for i in range(N)])
    elif case == "few":
        people, table = people[:2], table[:2]
    else:
        people, table, known = people[["age"]], table[["age"]], ["age"]
    names = [name for name in people if name in table]
    secret = ["illness"] if "illness" in names else []
    found = shoal.assess(people, table, known, sensitive_attributes=secret, ask="all")
    for question in found.questions:
        for figure in question.figures:
            if question.kind == "risk":
                assert not figure.value > 1 + 1e-9
    if case in ("constant", "missing", "flat release"):
        assert found["linkage"]["correct"] == pytest.approx(1 / N)
        assert dict(found.left_out)["model"] == "fewer than 5 groups"


def test_a_question_that_may_not_fail_is_not_left_out(people, monkeypatch):
    def failing(case):
        raise DataError("Rows must be these. Got others.")

    monkeypatch.setitem(RISKS, "keys", failing)
    with pytest.raises(DataError, match="Got others"):
        shoal.assess(people, people, KNOWN)
