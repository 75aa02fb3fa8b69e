"""Relations between columns, tables of counts and propensity scores against SciPy, scikit-learn and loops."""

import warnings
from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import contingency, spearmanr

import shoal
from shoal.measure import relations, telling_apart
from shoal.measure.pairs import Compared
from shoal.measure.tables_of_counts import total_variation


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    n = 120
    age = rng.integers(18, 90, n).astype(float)
    return pd.DataFrame(
        {
            "age": age,
            "income": age * 20 + rng.normal(0, 300, n),
            "town": rng.choice(["Ulm", "Bonn", "Kiel"], n),
            "sex": rng.choice(["f", "m"], n),
        }
    )


@pytest.fixture
def release(people):
    groups = np.argsort(np.argsort(people["age"])) // 6
    made = people.copy()
    for name in ("age", "income"):
        made[name] = people[name].groupby(groups).transform("mean")
    made["town"] = people["town"].groupby(groups).transform(lambda values: values.mode()[0])
    return made


def test_each_two_columns_against_scipy(people, release):
    found = shoal.measure.associations(people, release)
    for table, made in ((people, found.before), (release, found.after)):
        assert made[0, 1] == pytest.approx(np.corrcoef(table["age"], table["income"])[0, 1])
        counts = pd.crosstab(table["town"], table["sex"]).to_numpy()
        assert made[2, 3] == pytest.approx(contingency.association(counts, "cramer"))
        means = table.groupby("town")["age"].transform("mean")
        assert made[0, 2] == pytest.approx(np.sqrt(means.var() / table["age"].var()))
        np.testing.assert_array_equal(made, made.T)
    change = [abs(found.after[i, j] - found.before[i, j]) for i, j in combinations(range(4), 2)]
    assert found.change == pytest.approx(np.mean(change))
    assert found.highest == pytest.approx(max(change))
    assert (
        found.pair
        == [("age", "income"), ("age", "town"), ("age", "sex"), ("income", "town"), ("income", "sex"), ("town", "sex")][
            int(np.argmax(change))
        ]
    )


def test_ranks_are_those_of_spearman(people, release):
    found = shoal.measure.associations(people, release, numbers="ranks")
    for table, made in ((people, found.before), (release, found.after)):
        assert made[0, 1] == pytest.approx(spearmanr(table["age"], table["income"]).statistic)


def test_weights_are_repetitions_for_relations(people, release):
    times = np.random.default_rng(1).integers(1, 4, len(people))
    for ranks in ("values", "ranks"):
        once = shoal.measure.associations(people, release, weight=times, numbers=ranks)
        again = shoal.measure.associations(
            people.loc[people.index.repeat(times)], release.loc[release.index.repeat(times)], numbers=ranks
        )
        np.testing.assert_allclose(once.before, again.before)
        np.testing.assert_allclose(once.after, again.after)


def test_gaps_do_not_count_for_their_pair(people, release):
    holes = people.copy()
    holes.loc[:9, "income"] = np.nan
    holes.loc[5:20, "town"] = None
    found = shoal.measure.associations(holes, release)
    kept = holes["income"].notna()
    assert found.before[0, 1] == pytest.approx(np.corrcoef(people["age"][kept], people["income"][kept])[0, 1])
    known = holes["town"].notna()
    counts = pd.crosstab(people["town"][known], people["sex"][known]).to_numpy()
    assert found.before[2, 3] == pytest.approx(contingency.association(counts, "cramer"))


def test_constant_columns_are_related_to_nothing():
    table = pd.DataFrame({"x": [1.0, 2.0, 3.0], "same": [7.0] * 3, "word": ["a"] * 3, "none": [None] * 3})
    found = shoal.measure.associations(table, table)
    np.testing.assert_array_equal(found.before, np.eye(4))
    assert found.change == 0
    assert relations.cramers_v(np.zeros(3, int), np.arange(3), np.ones(3)) == 0


def test_tables_of_counts_against_a_loop(people, release):
    found = shoal.measure.cross_tabulations(people, release, ["town", "sex"], triples=0)

    def apart(names):
        a, b = (Counter(map(tuple, table[names].to_numpy())) for table in (people, release))
        return sum(abs(a[cell] - b[cell]) for cell in a | b) / (2 * len(people))

    np.testing.assert_allclose(found.one, [apart(["town"]), apart(["sex"])])
    np.testing.assert_allclose(found.two, [apart(["town", "sex"])])
    assert found.one[0] > 0
    assert found.highest == found.two[0]


def test_numbers_are_counted_between_quantiles(people, release):
    found = shoal.measure.cross_tabulations(people, release, ["income"], bins=4)
    edges = np.quantile(people["income"], [0.25, 0.5, 0.75])
    a, b = (np.bincount(np.searchsorted(edges, table["income"], "right"), minlength=4) for table in (people, release))
    assert found.one[0] == pytest.approx(np.abs(a - b).sum() / (2 * len(people)))


def test_triples_are_drawn_by_the_seed_and_all_if_few(people, release):
    every = shoal.measure.cross_tabulations(people, release)
    assert every.triples == tuple(combinations(people.columns, 3))
    some = shoal.measure.cross_tabulations(people, release, triples=2)
    assert len(some.three) == 2
    assert some.triples == shoal.measure.cross_tabulations(people, release, triples=2).triples
    for names, distance in zip(some.triples, some.three, strict=True):
        assert distance == every.three[every.triples.index(names)]


def test_categories_on_one_side_and_gaps_are_cells():
    before, after = pd.DataFrame({"c": ["a", "b", None, "b"]}), pd.DataFrame({"c": ["a", "z", "b", None]})
    assert shoal.measure.cross_tabulations(before, after).one[0] == pytest.approx(0.25)
    many = [(np.arange(4), np.arange(4)[::-1], 2**40)] * 2
    assert total_variation(many, np.ones(4)) == 0


def test_weights_are_repetitions_for_counts(people, release):
    times = np.random.default_rng(1).integers(1, 4, len(people))
    columns = ["town", "sex"]
    once = shoal.measure.cross_tabulations(people, release, columns, weight=times)
    again = shoal.measure.cross_tabulations(
        people.loc[people.index.repeat(times)], release.loc[release.index.repeat(times)], columns
    )
    np.testing.assert_allclose(once.two, again.two)


def test_scores_against_scikit_learn_on_all_rows(people, release):
    """The same model on rows that are not put together, with the same penalty."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    found = shoal.measure.propensity(people, release, ["age", "income"])
    both = pd.concat([people, release])[["age", "income"]].to_numpy()
    both = (both - both.mean(axis=0)) / both.std(axis=0)
    X = np.column_stack([both, both**2, both[:, 0] * both[:, 1]])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.repeat([0, 1], len(people))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(C=1 / (telling_apart.PENALTY * len(y)), max_iter=10_000, tol=1e-10).fit(X, y)
    scores = model.predict_proba(X)[:, 1]
    assert found.terms == 5
    assert found.pmse == pytest.approx(np.mean((scores - 0.5) ** 2), rel=1e-3)
    assert found.c_statistic == pytest.approx(roc_auc_score(y, scores), abs=2e-3)
    assert found.expected == pytest.approx(5 / (16 * len(people)))
    assert found.rows < 2 * len(people)


def test_equal_tables_cannot_be_told_apart_and_other_ones_can(people):
    same = shoal.measure.propensity(people, people)
    assert same.pmse == pytest.approx(0, abs=1e-12)
    assert same.c_statistic == pytest.approx(0.5)
    other = people.assign(age=people["age"] + 1000)
    apart = shoal.measure.propensity(people, other)
    assert apart.pmse > 0.24
    assert apart.c_statistic == 1


def test_lost_spread_is_seen_although_means_are_kept(people):
    """Squares make the difference: all means are equal."""
    flat = people.assign(age=people["age"].mean(), income=people["income"].mean())
    assert shoal.measure.propensity(people, flat, ["age", "income"]).pmse > 0.1


def test_a_sample_is_drawn_by_the_seed(people, release):
    once, again, other = (shoal.measure.propensity(people, release, sample=60, random_state=seed) for seed in (1, 1, 2))
    assert once.records == 60
    assert once.pmse == again.pmse != other.pmse
    assert shoal.measure.propensity(people, release, sample=10_000).records == len(people)


def test_scores_of_gaps_and_empty_columns(people, release):
    holes = release.copy()
    holes.loc[:40, "age"] = np.nan
    assert shoal.measure.propensity(people, holes, ["age"]).pmse > 0.03
    empty = pd.DataFrame({"x": [np.nan] * 4})
    assert shoal.measure.propensity(empty, empty).pmse == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: shoal.measure.associations(t, t, numbers="signs"), "'numbers' of shoal.measure.associations"),
        (lambda t: shoal.measure.cross_tabulations(t, t, bins=1), "'bins'"),
        (lambda t: shoal.measure.cross_tabulations(t, t, triples=-1), "'triples'"),
        (lambda t: shoal.measure.propensity(t, t, sample=1), "'sample'"),
        (lambda t: shoal.measure.propensity(t, t[:2]), "same order"),
    ],
)
def test_bad_input_gets_one_sentence(call, words):
    with pytest.raises(shoal.ShoalError, match=words):
        call(pd.DataFrame({"x": [1.0, 2.0, 3.0], "town": list("abc")}))


def test_a_model_of_a_sample_is_judged_by_others():
    """The interval is of the c-statistic that the model of the sample has on all other records."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(900, 2)) * [1, 3]
    labels = np.argsort(np.argsort(x[:, 0])) // 30
    sizes = np.bincount(labels)
    y = np.column_stack([np.bincount(labels, column) / sizes for column in x.T])[labels]
    both = Compared.of(pd.DataFrame(x, columns=["a", "b"]), pd.DataFrame(y, columns=["a", "b"]), None, "x")
    covered = 0
    for seed in range(100):
        some = shoal.measure.propensity(both, None, sample=100, random_state=seed)
        assert some.records == 100
        order = np.random.default_rng(seed).permutation(900)
        read, owners = telling_apart._columns(both), telling_apart._owners(both)
        learnt = telling_apart._Side.of(read, both.weights, order[:100])
        terms = telling_apart._Terms.of(learnt.rows, learnt.counts.sum(axis=1), owners)
        beta = telling_apart.coefficients(terms(learnt.rows), learnt.counts)
        rest = telling_apart._Side.of(read, both.weights, order[100:])
        truth = telling_apart.c_statistic(telling_apart.scores_of(terms(rest.rows), beta), rest.counts)
        covered += some.interval[0] <= truth <= some.interval[1]
    assert covered >= 93
    assert shoal.measure.propensity(both, None).interval is None
