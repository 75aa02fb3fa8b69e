"""The suppression limit: which records are left out, against all choices tried one by one, and what is told of it."""

import itertools
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import shoal
from invariants import plain_columns
from shoal.errors import OptionError
from shoal.plan import Plan
from shoal.release import suppression
from shoal.release.comparison import compare_methods

pytestmark = pytest.mark.filterwarnings("error", "ignore::shoal.errors.DisclosureWarning")


def table_of(X, **more):
    columns = {f"x{at}": column for at, column in enumerate(np.asarray(X, float).T)}
    return pa.table({**columns, "row": list(range(len(X))), **more})


def released(table, k, **fields):
    known = [name for name in table.column_names if name.startswith("x")]
    given = {"quasi_identifiers": known, "continuous": known, "other": ["row"], "bound": "none", "method": "mdav"}
    return shoal.anonymize(table, k, **given | fields)


def rows_of(release):
    return plain_columns(release.table)["row"]


def partitions(rows, k):
    """Yield all partitions of rows into groups of at least k."""
    if not rows:
        yield []
        return
    for size in range(k - 1, len(rows)):
        for others in itertools.combinations(rows[1:], size):
            rest = [row for row in rows[1:] if row not in others]
            if not 0 < len(rest) < k:
                for groups in partitions(rest, k):
                    yield [[rows[0], *others], *groups]


def plain_loss(X, groups):
    """Return SSE / SST of the records in groups, of columns standardised over them."""
    kept = X[[row for group in groups for row in group]]
    scale = kept.std(axis=0)
    Z = X / np.where(scale > 0, scale, 1)
    kept = Z[[row for group in groups for row in group]]
    whole = ((kept - kept.mean(axis=0)) ** 2).sum()
    return sum(((Z[group] - Z[group].mean(axis=0)) ** 2).sum() for group in groups) / whole if whole else 0.0


def best_of_all(X, k, budget):
    """Return the least loss over all choices of records to leave out, and over all partitions of the others."""
    return min(
        plain_loss(X, groups)
        for count in range(budget + 1)
        for gone in itertools.combinations(range(len(X)), count)
        for groups in partitions([row for row in range(len(X)) if row not in gone], k)
    )


def with_outliers(seed, n=60, d=2):
    rng = np.random.default_rng(seed)
    return np.round(rng.normal(size=(n, d)) * 10 + (rng.random((n, 1)) < 0.1) * 60, 1)


# --- the choice ---


def test_the_choice_is_close_to_the_best_of_all():
    above, without = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, k, budget = int(rng.integers(6, 9)), int(rng.integers(2, 4)), int(rng.integers(1, 3))
        X = with_outliers(seed, n, 1)
        share = (budget + 0.01) / n
        release = released(table_of(X), k, suppress=share, method="univariate")
        everybody = released(table_of(X), k, method="univariate")
        least = best_of_all(X, k, budget)
        assert least - 1e-9 <= release.loss <= everybody.loss + 1e-12
        assert release.rows_removed <= budget
        above.append(release.loss - least)
        without.append(everybody.loss - least)
    assert sum(gap < 1e-9 for gap in above) >= 7
    assert np.mean(above) < 0.2 * np.mean(without)


def test_without_trying_every_record_some_of_the_gain_is_found(monkeypatch):
    monkeypatch.setattr(suppression, "TRIALS", 0)
    above, without = [], []
    for seed in range(4, 8):
        X = with_outliers(seed, 8, 1)
        release, everybody = (released(table_of(X), 2, suppress=share, method="univariate") for share in (0.25, 0))
        least = best_of_all(X, 2, 2)
        assert release.rows_removed <= 2
        above.append(release.loss - least)
        without.append(everybody.loss - least)
    assert np.mean(above) < 0.7 * np.mean(without)


def test_a_record_far_from_all_others_is_left_out():
    X = np.vstack([with_outliers(1, 40) * 0.1, [[900.0, -900.0]]])
    release = released(table_of(X), 4, suppress=0.03)
    assert 40 not in rows_of(release)
    assert release.rows_removed == 1
    assert release.loss < 0.5 * released(table_of(X), 4).loss


@pytest.mark.parametrize("form", ["microaggregation", "local-recoding", "global-recoding"])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_the_limit_is_kept_and_the_loss_never_rises(form, share):
    X = with_outliers(7)
    release, everybody = (released(table_of(X), 4, release=form, suppress=s) for s in (share, 0))
    assert 60 - len(rows_of(release)) == release.rows_removed <= share * 60
    assert release.loss <= everybody.loss
    assert release.loss == pytest.approx(plain_loss(X, groups_of(release)))
    assert release.audit.k >= 4


def groups_of(release):
    rows = np.array(rows_of(release))
    return [rows[release.labels == label] for label in range(release.labels.max() + 1)]


def test_what_is_lost_in_all_counts_those_left_out_at_the_mean_of_the_table():
    X = with_outliers(7)
    release = released(table_of(X), 4, suppress=0.1)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    gone = np.setdiff1d(np.arange(60), rows_of(release))
    kept = sum(((Z[group] - Z[group].mean(axis=0)) ** 2).sum() for group in groups_of(release))
    assert 0 < len(gone) <= 6
    assert release.loss_in_all == pytest.approx((kept + (Z[gone] ** 2).sum()) / (Z**2).sum())
    assert release.record["loss_in_all"] == release.loss_in_all > release.loss
    everybody = released(table_of(X), 4)
    assert everybody.loss_in_all == everybody.loss


def test_projected_attributes_are_measured_in_true_distances():
    rng = np.random.default_rng(0)
    words = [f"w{x}" for x in rng.integers(0, 12, 80)]
    table = pa.table({"word": words, "x": rng.normal(size=80)})
    release = shoal.anonymize(table, 4, method="mdav", suppress=0.1, coordinates=4, continuous=["x"])
    full = shoal.anonymize(table, 4, method="mdav", suppress=0.1, continuous=["x"])
    assert 0 < release.loss < release.loss_in_all < 1
    assert abs(release.loss_in_all - full.loss_in_all) < 0.2


def test_weights_decide_what_helps():
    X = np.array([[0.0], [0.1], [10.0], [10.1], [20.0], [24.0], [30.0], [34.0]])
    for heavy in ({4, 5}, {6, 7}):
        weights = [50.0 if row in heavy else 1.0 for row in range(8)]
        release = released(table_of(X, w=weights), 2, suppress=0.125, weight="w", method="univariate")
        assert set(range(8)) - set(rows_of(release)) <= heavy
        assert release.rows_removed == 1


# --- constraints ---


def test_units_strata_and_equal_records_are_respected():
    rng = np.random.default_rng(2)
    X = np.round(with_outliers(2, 90) / 20)
    units = [f"u{u}" for u in rng.integers(0, 45, 90)]
    strata = [("a", "b")[row % 2] for row in range(90)]
    release = released(table_of(X, unit=units, stratum=strata), 3, suppress=0.1, unit="unit", stratum=["stratum"])
    assert 0 < release.rows_removed <= 9
    assert release.audit.k_units >= 3
    release = released(table_of(X), 3, suppress=0.1, release="global-recoding")
    kept, gone = set(rows_of(release)), set(range(90)) - set(rows_of(release))
    assert 0 < len(gone) <= 9
    assert not {tuple(X[row]) for row in kept} & {tuple(X[row]) for row in gone}


def test_a_stratum_keeps_enough_records_or_none():
    X = with_outliers(3, 43)
    X[40:] += 500 * np.arange(1, 4)[:, None]
    strata = ["small" if row >= 40 else "large" for row in range(43)]
    kept = [rows_of(released(table_of(X, stratum=strata), 3, suppress=s, stratum=["stratum"])) for s in (0.06, 0.2)]
    assert [len({40, 41, 42} & set(rows)) for rows in kept] == [3, 0]


@pytest.mark.parametrize("demand", [{"l": 2}, {"t": 0.35}, {"models": {"ill": "beta-likeness beta=3"}}])
def test_models_hold_on_what_remains(demand):
    rng = np.random.default_rng(5)
    ill = [("cold", "flu", "gout")[x] for x in rng.integers(0, 3, 60)]
    fields = {"sensitive_attributes": ["ill"], "suppress": 0.1, **demand}
    release = released(table_of(with_outliers(5), ill=ill), 4, **fields)
    assert all(release.audit.models)
    assert 0 < release.rows_removed <= 6
    assert release.loss <= released(table_of(with_outliers(5), ill=ill), 4, **fields | {"suppress": 0}).loss


def test_what_does_not_go_together_is_refused():
    table = table_of(with_outliers(1))
    with pytest.raises(OptionError, match=r"'blocks' of a plan must not be given with 'suppress'"):
        released(table, 3, suppress=0.1, blocks="each")
    with pytest.raises(OptionError, match=r"'population' of a plan must not be given with 'suppress'"):
        released(table, 3, suppress=0.1, population="p.csv", k_map=2, release="local-recoding")
    with pytest.raises(OptionError, match=r"'bound' of a plan must be 'quick' or 'none'"):
        released(table, 3, suppress=0.1, bound="lp")
    with pytest.raises(OptionError, match=r"'suppress' of a plan must not be given for a strongly-safe release"):
        shoal.anonymize(table, 3, release="strongly-safe", suppress=0.1)


# --- what is told ---


def test_the_certificate_and_the_report_do_not_count_what_was_left_out():
    X = with_outliers(7)
    release = released(table_of(X), 4, suppress=0.1)
    gone = release.rows_removed
    assert gone > 0
    assert release.record["rows"] == {"in": 60, "dropped": 0, "removed": gone, "published": 60 - gone}
    certificate = {**release.certificate, "versions": {}, "created": ""}
    assert "60" not in json.dumps(certificate)
    assert "in_all" not in json.dumps(certificate)
    assert release.lower_bound is None
    page = release.report()
    assert "At most 10 % of the records were left out." in page
    assert "60 rec" not in page
    assert f"{gone} records were" not in page


def test_figures_are_those_of_a_release_of_the_other_records_alone():
    X = with_outliers(7)
    release = released(table_of(X), 4, suppress=0.1)
    alone = released(table_of(X).take(rows_of(release)), 4)
    assert alone.table.equals(release.table)
    assert alone.certificate["figures"] == release.certificate["figures"]
    assert alone.evidence == release.evidence


def test_rows_are_numbered_anew():
    frame = pd.DataFrame({"x": with_outliers(7)[:, 0]})
    release = shoal.anonymize(frame, 4, suppress=0.1, method="mdav", continuous=["x"])
    assert release.rows_removed > 0
    assert release.table.index.tolist() == list(range(60 - release.rows_removed))


def test_the_same_plan_gives_the_same_release():
    table = table_of(with_outliers(9))
    one, two = (released(table, 4, suppress=0.1, method="auto", random_state=1) for _ in range(2))
    assert one.table.equals(two.table)


def test_a_share_of_less_than_one_record_leaves_none_out():
    release = released(table_of(with_outliers(7)), 4, suppress=0.01)
    assert release.rows_removed == 0
    assert release.loss == released(table_of(with_outliers(7)), 4).loss


def test_comparisons_leave_records_out_too():
    table = table_of(with_outliers(7))
    plan = Plan.of(quasi_identifiers=["x0", "x1"], continuous=["x0", "x1"], other=["row"], suppress=0.1)
    trials = list(compare_methods(table, plan, ["mdav", "mondrian"], [4], forms=["microaggregation", "full-domain"]))
    assert [trial.form for trial in trials] == ["microaggregation", "microaggregation", "full-domain"]
    assert all(0 < trial.removed <= 6 for trial in trials[:2])
    assert trials[0].loss == released(table, 4, suppress=0.1).loss
    assert trials[2].method == "full-domain generalisation"
    assert all(trial.gap is None for trial in trials)
