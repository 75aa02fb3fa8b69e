"""Attacks on releases against loops, on releases whose risk is known, and on tables that tell nothing."""

import numpy as np
import pandas as pd
import pytest
from naive_risk import area_below_curve, bridge_chances, guess_chances, matches, nearest_rows

import shoal
from shoal.errors import DataError, OptionError, TooLargeError
from shoal.risk import guesses, isolation, members, nearest, trained
from shoal.risk.pairs import Pair


def frame(X):
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])


def means(X, labels):
    sizes = np.bincount(labels)
    return np.column_stack([np.bincount(labels, column) / sizes for column in X.T])[labels]


def random_pair(seed):
    """Whole numbers with ties, groups at random, and a secret of few values."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 50)), int(rng.integers(2, 4))
    X = rng.integers(0, int(rng.integers(2, 6)), (n, d)).astype(float)
    labels = np.unique(rng.integers(0, max(1, n // int(rng.integers(1, 5))), n), return_inverse=True)[1]
    secret = rng.choice(["a", "b", "c"], n)
    return frame(X).assign(secret=secret), frame(means(X, labels)).assign(secret=secret)


@pytest.mark.parametrize("plainly", [True, False])
def test_all_groups_that_are_nearest_are_found(plainly, monkeypatch):
    monkeypatch.setattr(nearest, "FEW_PAIRS", 10**9 if plainly else 0)
    rng = np.random.default_rng(0)
    X, points = rng.integers(0, 4, (80, 2)).astype(float), np.unique(rng.integers(0, 9, (60, 2)).astype(float), axis=0)
    # A record in the middle of a ring of twelve points that are all as near: more than are asked for at first.
    ring = [(x, y) for x in range(40, 61) for y in range(40, 61) if (x - 50) ** 2 + (y - 50) ** 2 == 25]
    X, points = np.vstack([X, [[50.0, 50.0]]]), np.vstack([points, ring])
    found = nearest.nearest_groups(X, points)
    for at, x in enumerate(X):
        assert found.group[found.record == at].tolist() == nearest_rows(x, points)
    assert (found.record == 80).sum() == 12 > nearest.MOST_AS_NEAR
    assert found.squares[80] == pytest.approx(25)


@pytest.mark.parametrize("seed", range(15))
def test_guesses_and_bridges_are_those_of_loops(seed, monkeypatch):
    monkeypatch.setattr(guesses, "ROOM", 7)
    monkeypatch.setattr("shoal.risk.bridging.ROOM", 7)
    people, release = random_pair(seed)
    names = [name for name in people if name != "secret"]
    X, Y = Pair.of(people, release, names, "x").coordinates()
    (found,) = shoal.risk.inference(people, release, names, "secret")
    truth = people["secret"].tolist()
    assert found.guessed == pytest.approx(np.mean(guess_chances(X, Y, truth, truth)))
    assert found.untouched == pytest.approx(np.mean(guess_chances(X, X, truth, truth)))
    assert found.baseline == people["secret"].value_counts().max() / len(people)
    assert found.interval[0] <= found.guessed <= found.interval[1]
    joined = shoal.risk.linkability(people, release, names, first="c0")
    pair = Pair.of(people, release, names, "x")
    (A, P), (B, Q) = pair.coordinates([0]), pair.coordinates(range(1, len(names)))
    np.testing.assert_allclose(joined.chances, bridge_chances(A, B, P, Q))
    assert joined.untouched == pytest.approx(np.mean(bridge_chances(A, B, A, B)))
    assert (joined.first, joined.second) == (("c0",), tuple(names[1:]))


def test_a_sample_is_part_of_the_whole():
    rng = np.random.default_rng(3)
    people = frame(rng.normal(size=(300, 4)))
    release = frame(means(people.to_numpy(), np.argsort(np.argsort(people["c0"])) // 3))
    whole = shoal.risk.linkability(people, release)
    some = shoal.risk.linkability(people, release, sample=100)
    drawn = ~np.isnan(some.chances)
    assert drawn.sum() == some.records == 100
    np.testing.assert_allclose(some.chances[drawn], whole.chances[drawn])
    assert some.interval[0] <= whole.correct <= some.interval[1]
    assert whole.correct <= whole.groups == pytest.approx(1 / 3)
    assert shoal.risk.inference(people, release, sample=100)[0].records == 100


def test_groups_of_one_are_at_full_risk():
    rng = np.random.default_rng(1)
    people = frame(rng.normal(size=(400, 4))).assign(secret=rng.choice(list("abcd"), 400))
    known = ["c0", "c1", "c2", "c3"]
    assert shoal.risk.inference(people, people, known, "secret")[0].guessed == 1
    joined = shoal.risk.linkability(people, people, known)
    assert (joined.correct, joined.untouched, joined.baseline) == (1, 1, 1 / 400)
    (learnt,) = shoal.risk.model_gain(people, people, known, "secret", folds=3)
    assert learnt.guessed > 0.95
    assert learnt.gain > 0.5
    assert (learnt.guessed, learnt.without) == (learnt.untouched, learnt.untouched_without)
    isolated = shoal.risk.singling_out(people, people, known, attacks=400)
    assert isolated.multivariate.share == isolated.multivariate.untouched > 0.8
    there = shoal.risk.membership(people[:200], people[200:], people[:200], known)
    assert (there.advantage, there.area, there.strict) == (1, 1, 1)


# --- singling out ---


def test_predicates_and_their_matches_are_those_of_loops():
    rng = np.random.default_rng(2)
    n = 60
    people = pd.DataFrame(
        {
            "x": rng.integers(0, 12, n).astype(float),
            "y": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "z": rng.choice(["a", "b", None], n),
        }
    )
    pair = Pair.of(people, people, None, "x")
    columns = [isolation._Column.of(one, slice(n)) for one in pair.attributes]
    rows = list(zip(*(column.values for column in columns), strict=True))
    some = set()
    for weight in (0.002, 0.05, 0.5):
        for used in ([True, True, True], [True, False, True], [False, True, False]):
            mask = np.tile(used, (n, 1))
            low, high, share = isolation.predicates(columns, np.arange(n), mask, weight)
            counts = isolation.matching(columns, low, high, mask)
            which = np.flatnonzero(used)
            for row in range(n):
                limits = [(low[row, j], high[row, j]) for j in which]
                assert counts[row] == matches([[one[j] for j in which] for one in rows], limits) >= 1
                # Numbers take up what the other conditions leave of the weight.
                fixed = [j for j in which if rows[row][j] != rows[row][j] or not columns[j].numeric]
                assert share[row] <= np.prod([columns[j].shares_at(np.array([rows[row][j]])) for j in fixed]) + 1e-12
            some |= set(counts.tolist())
    assert len(some) > 5


def test_ranges_hold_the_share_that_was_asked_for():
    x = np.random.default_rng(0).normal(size=20_000)
    column = isolation._Column.of(Pair.of(frame(x[:, None]), frame(x[:, None]), None, "x").attributes[0], slice(20_000))
    lows, highs, shares = column.around(np.array([-1.0, 0.0, 0.7, x.max()]), np.full(4, 0.03))
    for low, high, share in zip(lows[:3], highs[:3], shares[:3], strict=True):
        assert share == pytest.approx(0.03)
        assert ((x >= low) & (x <= high)).mean() == pytest.approx(0.03, abs=1e-3)
    assert highs[3] == np.inf
    assert (x >= lows[3]).mean() == pytest.approx(shares[3], abs=1e-4) == pytest.approx(0.015, abs=1e-3)


def test_a_release_of_other_people_singles_nobody_out():
    """Predicates made of an independent sample are as good as blind ones of their weight, and no better."""
    rng = np.random.default_rng(7)
    people, other = (
        frame(rng.normal(size=(1000, 3))).assign(sex=rng.choice(["f", "m"], 1000), town=rng.integers(0, 9, 1000))
        for _ in range(2)
    )
    found = shoal.risk.singling_out(people, other, attacks=2000, types={"town": "nominal"}, known=4)
    for one in (found.univariate, found.multivariate):
        # Not quite as good: how far apart published values are is known from these alone.
        assert one.share == pytest.approx(one.baseline, rel=0.25)
        assert one.share < one.untouched / 4
    assert found.multivariate.baseline == pytest.approx(0.09, abs=0.02)


def test_larger_groups_hide_better():
    rng = np.random.default_rng(4)
    people = frame(rng.normal(size=(600, 3)))
    shares = []
    for k in (1, 3, 30):
        release = frame(
            means(people.to_numpy(), shoal.partition(people.to_numpy(), k, "mdav") if k > 1 else np.arange(600))
        )
        shares.append(shoal.risk.singling_out(people, release, attacks=300).multivariate.share)
    assert shares[0] > shares[1] > shares[2]


# --- models ---


def test_the_model_without_a_record_never_saw_its_group(monkeypatch):
    """A model that only remembers rows guesses all records of its parts, and none of those left out."""
    rng = np.random.default_rng(5)
    n, k, folds = 60, 3, 4
    groups = np.arange(n) // k
    people = pd.DataFrame({"x": groups * 1.0, "s": [f"v{g % 30}" for g in groups]})
    sizes = []

    def remembering(self, X, y):
        sizes.append(len(y))
        rows = dict(zip(map(float, X[:, 0]), y.tolist(), strict=True))
        return lambda targets: np.array([rows.get(float(x), -1) for x in targets[:, 0]])

    monkeypatch.setattr(trained._Fit, "_learnt", remembering)
    order = rng.permutation(n)
    (found,) = shoal.risk.model_gain(people.iloc[order], people.iloc[order], ["x"], ["s"], folds=folds)
    assert (found.guessed, found.without, found.gain) == (1, 0, 1)
    assert (found.untouched, found.untouched_without) == (1, 0)
    # Both learn from all parts but one; each model serves twice.
    assert sizes == [n - n // folds] * folds * 2
    assert (found.records, found.groups) == (n, n // k)


def test_values_that_have_nothing_to_do_with_anybody_are_not_learnt_without_the_record():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(600, 2))
    people = frame(X).assign(s=rng.choice(list("abcd"), 600))
    release = frame(means(X, shoal.partition(X, 3, "mdav"))).assign(s=people["s"])
    (found,) = shoal.risk.model_gain(people, release, ["c0", "c1"], "s", folds=3)
    assert abs(found.without - 0.25) < 0.06
    assert found.interval[0] > 0
    assert found.without < found.guessed < found.untouched
    (linear,) = shoal.risk.model_gain(people, release, ["c0", "c1"], "s", model="linear")
    assert linear.gain < found.gain / 2


def test_samples_are_of_whole_groups():
    rng = np.random.default_rng(8)
    people = frame(rng.normal(size=(200, 2))).assign(s=rng.choice(["a", "b"], 200), t=1.0)
    labels = np.arange(200) // 4
    release = frame(means(people[["c0", "c1"]].to_numpy(), labels)).assign(s=people["s"], t=1.0)
    found, same = shoal.risk.model_gain(people, release, ["c0", "c1"], ["s", "t"], sample=50, folds=2, n_jobs=1)
    assert (found.records, found.groups) == (52, 13)
    # A value that all records share needs no model.
    assert same.guessed == same.without == same.baseline == 1


# --- membership ---


def test_distances_of_members_and_others_by_hand():
    found = members.told(np.array([0.0, 1.0, 1.0, 4.0]), np.array([1.0, 3.0, 5.0, 6.0]), np.random.default_rng(0))
    assert found.area == pytest.approx(area_below_curve([0, 1, 1, 4], [1, 3, 5, 6])) == 13 / 16
    assert found.found.tolist() == [0.25, 0.75, 0.75, 1, 1, 1]
    assert found.false_alarms.tolist() == [0, 0.25, 0.5, 0.5, 0.75, 1]
    assert found.strict == 0.25


def test_nobody_is_told_from_a_release_of_one_group():
    rng = np.random.default_rng(9)
    table = frame(rng.normal(size=(600, 3)))
    whole = frame(np.broadcast_to(table[:300].mean().to_numpy(), (300, 3)))
    found = shoal.risk.membership(table[:300], table[300:], whole)
    assert found.interval[0] < 0 < found.interval[1]
    assert found.area_interval[0] < 0.5 < found.area_interval[1]
    assert "this is one attack" in repr(found)
    # Members may come in any order, and as a part of all.
    release = frame(means(table[:300].to_numpy(), shoal.partition(table[:300].to_numpy(), 2, "mdav")))
    sharp = shoal.risk.membership(table[:300].sample(frac=1, random_state=0), table[300:], release)
    assert sharp.interval[0] > 0.1


# --- what is refused ---


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda t: shoal.risk.inference(t, t, ["c0"]), DataError, "one beside the attribute to guess"),
        (lambda t: shoal.risk.inference(t, t, secret="nothing"), OptionError, "has no column 'nothing'"),
        (lambda t: shoal.risk.inference(t, t, bins=1), OptionError, "'bins' of shoal.risk.inference"),
        (lambda t: shoal.risk.linkability(t, t, ["c0"]), DataError, "one for each of two files"),
        (lambda t: shoal.risk.linkability(t, t, first=["c0", "c1"]), DataError, "one for each of two files"),
        (lambda t: shoal.risk.linkability(t, t, first=["c9"]), OptionError, "must be among its columns. Got 'c9'"),
        (lambda t: shoal.risk.linkability(t, t[:5]), DataError, "the same records in the same order"),
        (lambda t: shoal.risk.singling_out(t, t, expected=2), OptionError, "'expected' of shoal.risk.singling_out"),
        (lambda t: shoal.risk.singling_out(t, t, known=3), OptionError, "from 2 to 2. Got 3"),
        (lambda t: shoal.risk.model_gain(t, t, "c0", "c0"), DataError, "must not be keys. Got 'c0'"),
        (lambda t: shoal.risk.model_gain(t, t, "c0", "c1", folds=40), DataError, "at least 40 groups .* Got 30"),
        (lambda t: shoal.risk.model_gain(t, t, "c0", "c1", model="oracle"), OptionError, "'model' of"),
        (lambda t: shoal.risk.model_gain(t[:1], t[:1], "c0", "c1"), DataError, "at least 5 groups .* Got 1"),
        (lambda t: shoal.risk.membership(t, t[:1], t), DataError, "2 members and 2 others .* Got 30 and 1"),
        (lambda t: shoal.risk.membership(t, t, t.rename(columns=str.upper)), DataError, "columns in common"),
        (lambda t: shoal.risk.membership(t, t, t, ["c7"]), OptionError, r"\(members\) has no column 'c7'"),
    ],
)
def test_bad_input_gets_one_sentence(call, error, words):
    with pytest.raises(error, match=words):
        call(frame(np.random.default_rng(0).normal(size=(30, 2))))


def test_too_many_records_are_refused_unless_a_sample_is_asked_for(monkeypatch):
    monkeypatch.setattr(trained, "MOST_RECORDS", 20)
    table = frame(np.random.default_rng(0).normal(size=(30, 2)))
    with pytest.raises(TooLargeError, match=r"at most 20 records. Got 30. Hint: sample="):
        shoal.risk.model_gain(table, table, "c0", "c1")
    assert shoal.risk.model_gain(table, table, "c0", "c1", sample=20, folds=2)[0].records == 20


def test_columns_that_say_nothing_change_nothing():
    people, release = random_pair(3)
    empty = [table.assign(none=None, same=7) for table in (people, release)]
    names = [name for name in people if name != "secret"]
    (plain,) = shoal.risk.inference(people, release, names, "secret")
    (more,) = shoal.risk.inference(*empty, [*names, "none", "same"], "secret")
    assert more.guessed == plain.guessed


def test_one_record_is_singled_out_and_joined():
    one = frame(np.array([[1.0, 2.0]]))
    assert shoal.risk.singling_out(one, one, attacks=5).univariate.share == 1
    assert shoal.risk.linkability(one, one).correct == shoal.risk.linkability(one, one).baseline == 1
    assert shoal.risk.inference(one, one)[0].guessed == 1
