"""Recoding schemes on one plan: tables of the dissertation, forms compared, and what a comparison says of each."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal import Plan
from shoal.errors import OptionError
from shoal.release.comparison import Trial, compare_methods

pytestmark = pytest.mark.filterwarnings("error", "ignore::shoal.errors.DisclosureWarning")
FORMS = ("microaggregation", "local-recoding", "global-recoding", "strongly-safe")
# Thaeter (2021), table 2.1.
TEST_DATA = pa.table({"a": [3, 6, 9, 9, 12, 12], "b": [6, 3, 3, 3, 6, 9]})
PROFESSIONS = {
    "*": {
        "doctor": ["dentist", "dermatologist", "ophthalmologist", "surgeon"],
        "craftsperson": ["baker", "carpenter", "painter", "electrician"],
    }
}
SALARIES = {"*": {"(1500, 3000]": ["2200", "2800", "2900"], "(3000, 4500]": ["3137"], "(4500, 6000]": ["5800"]}}


def rows_of(release):
    return list(zip(*release.table.to_pydict().values(), strict=True))


# --- recoding schemes of the dissertation ---


@pytest.mark.parametrize("form", ["local-recoding", "global-recoding"])
def test_mondrian_as_a_global_recoder(form):
    """T table 3.1a."""
    release = shoal.anonymize(TEST_DATA, 3, release=form, method="mondrian-strict")
    alike, others = ("[6, 9]", "3"), ("[3, 12]", "[6, 9]")
    assert rows_of(release) == [others, alike, alike, alike, others, others]


def test_a_local_recoding_may_separate_equal_records():
    """T table 3.1b; which of the two equal records goes where is open."""
    release = shoal.anonymize(TEST_DATA, 3, release="local-recoding", method="mdav")
    low, high = ("[3, 9]", "[3, 6]"), ("[9, 12]", "[3, 9]")
    found = rows_of(release)
    assert [found[i] for i in (0, 1, 4, 5)] == [low, low, high, high]
    assert sorted(found[2:4]) == [low, high]


@pytest.mark.parametrize("method", ["mdav", "mondrian-strict", "exact"])
@pytest.mark.parametrize("form", ["local-recoding", "global-recoding"])
def test_generalisation_with_hierarchies_and_suppression(form, method):
    """T table 3.3: its groups are found, and what has no common ancestor but the top is suppressed."""
    table = pa.table(
        {
            "profession": ["dentist", "dentist", "baker", "painter", "painter", "surgeon", "electrician"],
            "salary": ["2800", "5800", "2200", "2900", "3137", "3137", "3137"],
        }
    )
    hierarchies = {"profession": PROFESSIONS, "salary": SALARIES}
    release = shoal.anonymize(table, 2, release=form, method=method, hierarchies=hierarchies)
    doctors, crafts, others = ("dentist", "*"), ("craftsperson", "(1500, 3000]"), ("*", "3137")
    assert rows_of(release) == [doctors] * 2 + [crafts] * 2 + [others] * 3
    hidden = {"representatives": {"salary": "suppression"}}
    release = shoal.anonymize(table, 2, release=form, method=method, hierarchies=hierarchies, **hidden)
    assert rows_of(release) == [("dentist", "*")] * 2 + [("craftsperson", "*")] * 2 + [("*", "*")] * 3


def doubled(n=60, seed=5):
    rng = np.random.default_rng(seed)
    return pa.table({"age": rng.integers(20, 30, n), "sex": rng.choice(["f", "m"], n), "pay": rng.integers(1, 4, n)})


@pytest.mark.parametrize("method", ["mondrian", "mondrian-strict", "mdav"])
def test_a_global_recoding_never_separates_equal_records(method):
    table = doubled()
    before = list(zip(*table.to_pydict().values(), strict=True))
    release = shoal.anonymize(table, 4, release="global-recoding", method=method, types={"pay": "integer"})
    assert len(set(zip(before, rows_of(release), strict=True))) == len(set(before))
    if method == "mondrian":
        release = shoal.anonymize(table, 4, release="local-recoding", method=method)
        assert len(set(zip(before, rows_of(release), strict=True))) > len(set(before))


# --- forms compared ---

PLAN = Plan.of(quasi_identifiers=["age", "sex", "pay"], cells={"age": 5, "pay": 2}, n_jobs=1)


def test_forms_are_compared_under_one_plan():
    trials = list(compare_methods(doubled(), PLAN, ["mdav", "mondrian"], [3, 6], forms=FORMS))
    wanted = [
        (k, form, method)
        for k in (3, 6)
        for form in FORMS
        for method in (["fixed cells"] if form == "strongly-safe" else ["mdav", "mondrian"])
    ]
    assert [(t.k, t.form, t.method) for t in trials] == wanted
    assert not any(trial.error for trial in trials)
    by = {(t.k, t.form, t.method): t for t in trials}
    for k in (3, 6):
        micro, local, whole = (by[k, form, "mdav"] for form in FORMS[:3])
        assert local._replace(form=micro.form) == micro  # the same groups
        assert whole.loss != micro.loss  # equal records are kept together
        assert (whole.loss > micro.loss) == (whole.gap > micro.gap)  # one bound for both
        assert min(whole.gap, micro.gap) > 0
        cells = by[k, "strongly-safe", "fixed cells"]
        assert cells.gap is None
        assert cells.groups * cells.mean + cells.removed == pytest.approx(60)


@pytest.mark.parametrize("form", FORMS)
def test_a_trial_says_what_a_release_would(form):
    table, k = doubled(), 5
    method = "auto" if form == "strongly-safe" else "mdav"
    cells = PLAN.cells if form == "strongly-safe" else {}
    plan = PLAN.model_copy(update={"k": k, "release": form, "method": method, "cells": cells})
    release = shoal.anonymize(table, plan=plan)
    (trial,) = compare_methods(table, PLAN, ["mdav"], [k], forms=[form])
    assert trial.loss == pytest.approx(release.loss)
    assert trial.removed == release.rows_removed
    assert trial.groups == release.audit.classes
    assert (trial.smallest, trial.largest) == (min(release.audit.sizes), max(release.audit.sizes))
    for unit in ("discernability", "average_group_size", "certainty_penalty", "total_information_loss"):
        assert getattr(trial, unit) == getattr(release.utility, unit)
    assert trial.certainty_penalty_total == release.utility.certainty_penalty_total
    assert trial.gap == pytest.approx(release.gap) if release.gap is not None else trial.gap is None


def test_the_form_of_the_plan_is_the_default_and_equal_forms_are_tried_once():
    plan = PLAN.model_copy(update={"release": "global-recoding", "cells": {}})
    (trial,) = compare_methods(doubled(), plan, ["mdav"], [4])
    assert trial.form == "global-recoding"
    assert len(list(compare_methods(doubled(), plan, ["mdav"], [4], forms=["local-recoding"] * 2))) == 1


def test_groups_of_two_forms_are_made_once(monkeypatch):
    from shoal.release import comparison

    made = Counter()
    real = comparison._timed

    def counted(prepared, *rest):
        made[prepared.plan.release] += 1
        return real(prepared, *rest)

    monkeypatch.setattr(comparison, "_timed", counted)
    list(compare_methods(doubled(), PLAN, ["mdav"], [4], forms=FORMS))
    assert set(made) == {"microaggregation", "global-recoding", "strongly-safe"}


def test_what_a_form_cannot_do_is_said_in_its_trial():
    fields = {"cells": {"age": 5}, "method": "mdav", "refine": "tfrp2", "representatives": {"age": "suppression"}}
    plan = Plan.of(**PLAN.job() | fields)
    micro, cells = compare_methods(doubled(), plan, ["mdav"], [4], forms=["microaggregation", "strongly-safe"])
    assert not micro.error
    assert micro.certainty_penalty > 1 / 3  # the age is suppressed
    assert cells == Trial("fixed cells", 4, "fixed cells", error=cells.error, form="strongly-safe")
    assert "The cells of the integer column 'pay' must be given" in cells.error
    (cells,) = compare_methods(doubled(), Plan.of(**PLAN.job(), blocks="each"), ["mdav"], [4], forms=["strongly-safe"])
    assert "'blocks' of a plan must not be given" in cells.error


def test_unknown_forms_are_refused():
    with pytest.raises(OptionError, match="did you mean 'global-recoding'"):
        list(compare_methods(doubled(), PLAN, ["mdav"], [4], forms=["global-recodin"]))


def test_progress_is_shared_by_the_forms():
    told = []
    list(compare_methods(doubled(), PLAN, ["mdav", "mondrian"], [3, 4], forms=FORMS, progress=told.append))
    assert all(0 <= fraction <= 1 for fraction in told)
    assert {int(14 * fraction) for fraction in told} >= {0, 1, 4, 7, 8, 11}  # 7 trials for each k, 2 of them shared


def test_groups_of_ranges_do_not_stand_for_means_where_a_population_is_matched(tmp_path):
    """Ranges alone can match a population: a form that a release would be refused in has no figures here either."""
    shoal.io.write(TEST_DATA, tmp_path / "all.csv")
    plan = Plan.of(k=3, population=str(tmp_path / "all.csv"), k_map=3)
    (trial,) = compare_methods(TEST_DATA, plan, ["mdav"], [3], forms=["local-recoding"])
    assert trial.loss is not None
    with pytest.raises(OptionError, match="counted for ranges"):
        list(compare_methods(TEST_DATA, plan, ["mdav"], [3], forms=["local-recoding", "microaggregation"]))


def test_forms_without_intervals_are_compared_without_steps():
    people = pa.table({"age": [30, 31, 62, 63, 90, 99], "ill": list("nynnyn")})
    plan = shoal.Plan(
        k=2, quasi_identifiers=("age",), release="local-recoding", outward={"age": 10}, cells={"age": 50}, n_jobs=1
    )
    found = {t.form: t for t in compare_methods(people, plan, ["mdav"], [2], forms=list(FORMS))}
    assert not any(trial.error for trial in found.values())
    assert found["local-recoding"].certainty_penalty > found["microaggregation"].certainty_penalty
