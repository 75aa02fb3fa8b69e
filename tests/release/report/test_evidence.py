import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.release.report.comparison import _sides, _suppressed
from shoal.release.report.evidence import (
    Figures,
    Frequencies,
    Histogram,
    Measured,
    gather_evidence,
)
from shoal.release.report.windows import words_of
from shoal.tables.values import Codes, Numbers, Places, grouped

K = 5


def groups_of(values, k=K):
    """Return labels of groups of k neighbours in the order of the values; the last group has the rest."""
    labels = np.empty(len(values), dtype=np.int64)
    labels[np.argsort(values, kind="stable")] = np.minimum(np.arange(len(values)) // k, len(values) // k - 1)
    return labels


def means(values, labels):
    return (np.bincount(labels, values) / np.bincount(labels))[labels]


def medians(values, labels):
    groups = grouped(labels)
    return np.array([np.median(part) for part in np.split(values[groups.order], groups.starts[1:-1])])[labels]


def number(name, before, after, kind="continuous"):
    return Measured(name, kind, Numbers(np.asarray(before, float)), Numbers(np.asarray(after, float)))


def everything(evidence):
    """Return all numbers and texts anywhere in the evidence."""
    found = []

    def walk(thing):
        if dataclasses.is_dataclass(thing):
            for field in dataclasses.fields(thing):
                walk(getattr(thing, field.name))
        elif isinstance(thing, tuple):
            for part in thing:
                walk(part)
        else:
            found.append(thing)

    walk(evidence)
    return found


@pytest.fixture(scope="module")
def table():
    """Return a table with missing values, its groups, and the evidence of both."""
    rng = np.random.default_rng(1)
    n = 3000
    age = np.rint(rng.uniform(18, 90, n))
    income = np.exp(rng.normal(7, 0.6, n) + age / 100)
    income[rng.random(n) < 0.1] = np.nan
    level = np.digitize(np.nan_to_num(income, nan=1500), [1000, 2000, 4000])
    labels = groups_of(age + rng.random(n))
    filled = np.where(np.isnan(income), np.nanmean(income), income)
    paid = means(filled, labels)
    levels = ("none", "low", "middle", "high")
    mode = np.array([np.bincount(level[labels == g]).argmax() for g in range(labels.max() + 1)])[labels]
    attributes = [
        number("age", age, np.rint(means(age, labels)), "integer"),
        number("income", income, paid),
        Measured("level", "ordinal", Codes(level, levels), Codes(mode, levels)),
    ]
    X = np.stack([means(age / 20, labels), paid / 1000], axis=1)[np.unique(labels, return_index=True)[1]]
    return attributes, labels, X, gather_evidence(attributes, X=X, labels=labels, k=K)


# --- what it says is right ---


def test_sizes_are_counted(table):
    _, labels, _, evidence = table
    counts = np.bincount(np.bincount(labels))
    assert evidence.sizes.bars == tuple((s, s, c) for s, c in enumerate(counts.tolist()) if c)
    assert (evidence.sizes.groups, evidence.sizes.smallest) == (labels.max() + 1, K)


def test_many_sizes_are_counted_in_classes():
    labels = np.repeat(np.arange(200), np.arange(5, 205))
    sizes = gather_evidence([], labels=labels, k=K).sizes
    assert len(sizes.bars) <= 30
    assert sum(count for *_, count in sizes.bars) == sizes.groups == 200
    assert (sizes.smallest, sizes.largest, sizes.bars[0][0]) == (5, 204, 5)
    assert all(high + 1 == low for (_, high, _), (low, _, _) in zip(sizes.bars, sizes.bars[1:], strict=False))


def test_histograms_are_counted(table):
    attributes, _, _, evidence = table
    for attribute, drawn in zip(attributes[:2], evidence.distributions, strict=False):
        edges = np.array(drawn.edges)
        inner = np.nextafter(edges[-1], -np.inf)
        for values, counts, missing, step in (
            (attribute.before.values, drawn.before, drawn.missing[0], 5 * K),
            (attribute.after.values, drawn.after, drawn.missing[1], 1),
        ):
            there = values[~np.isnan(values)]
            expected = np.histogram(np.clip(there, edges[0], inner), edges)[0]
            assert max(np.abs(np.array(counts) - np.where(expected < K, 0, expected))) <= step / 2
            assert {count % step for count in counts} == {0}
            assert abs(missing - (len(values) - len(there))) <= step / 2


def test_an_integer_has_whole_bins():
    values = np.repeat(np.arange(4.0), 100)
    drawn = gather_evidence(
        [number("children", values, values, "integer")], labels=groups_of(values), k=K
    ).distributions[0]
    assert drawn.edges == (-0.5, 0.5, 1.5, 2.5, 3.5)
    assert drawn.before == drawn.after == (100,) * 4


def test_a_long_tail_is_gathered_in_the_last_bar():
    values = np.sort(np.random.default_rng(0).pareto(0.8, 5000))
    labels = groups_of(values)
    drawn = gather_evidence([number("x", values, means(values, labels))], labels=labels, k=K).distributions[0]
    assert drawn.edges[-1] < np.quantile(values, 0.95)
    assert sum(drawn.after) == 5000
    # All of the picture is used.
    assert np.count_nonzero(drawn.after) == len(drawn.after)


def test_means_and_standard_deviations(table):
    attributes, _, _, evidence = table
    for attribute, figures in zip(attributes[:2], evidence.figures, strict=False):
        low, high = attribute.after.values.min(), attribute.after.values.max()
        before = np.clip(attribute.before.values, low, high)
        step = 10.0 ** (1 - figures.digits + np.floor(np.log10(np.nanstd(before))))
        assert figures.mean_before == pytest.approx(np.nanmean(before), abs=0.51 * step)
        assert figures.sd_before == pytest.approx(np.nanstd(before), abs=0.51 * step)
        assert figures.mean_after == pytest.approx(attribute.after.values.mean(), abs=0.005 * figures.sd_after)
        assert figures.sd_after == pytest.approx(attribute.after.values.std(), rel=0.005)
        assert len(f"{figures.sd_before:g}".replace(".", "").strip("0")) <= figures.digits <= 2


def test_distance_of_frequencies(table):
    attributes, _, _, evidence = table
    counts = [np.bincount(values.codes, minlength=4) for values in attributes[2][2:4]]
    assert evidence.figures[2].distance == pytest.approx(np.abs(counts[0] - counts[1]).sum() / 6000, abs=5e-3)
    drawn = evidence.distributions[2]
    assert drawn.labels == ("none", "low", "middle", "high")
    assert np.abs(np.array(drawn.before) - counts[0]).max() <= 2.5 * K
    assert drawn.after == tuple(counts[1].tolist())


def test_correlations_over_present_pairs(table):
    attributes, _, _, evidence = table
    age, income, level = attributes
    columns = [
        [age.before.values, income.before.values, level.before.codes.astype(float)],
        [age.after.values, income.after.values, level.after.codes.astype(float)],
    ]
    bounds = [(column.min(), column.max()) for column in columns[1]]
    for side, shown in zip(columns, (evidence.correlations.before, evidence.correlations.after), strict=True):
        for i in range(3):
            for j in range(3):
                pair = np.stack([np.clip(side[i], *bounds[i]), np.clip(side[j], *bounds[j])])
                expected = np.corrcoef(pair[:, ~np.isnan(pair).any(axis=0)])[0, 1]
                step = 0.01 if shown is evidence.correlations.after else 0.1
                assert shown[i][j] == pytest.approx(expected, abs=0.51 * step)
    assert evidence.correlations.names == ("age", "income", "level")


def test_groups_on_principal_axes(table):
    _, labels, X, evidence = table
    sizes = np.bincount(labels)
    X = X - sizes @ X / len(labels)
    _, singular, axes = np.linalg.svd(X, full_matrices=False)
    expected = X @ axes.T
    shown = np.array(evidence.axes.points)
    # Both directions of an axis are valid.
    signs = np.array([1.0 if np.isclose(shown[:, a].max(), expected[:, a].max(), atol=2e-3) else -1.0 for a in (0, 1)])
    apart = np.abs(shown[:, None, :2] - signs * expected).max(axis=2)
    assert apart.min(axis=0).max() < 2e-3 > apart.min(axis=1).max()
    assert shown[:, 2].sum() == sizes.sum()
    assert np.allclose(evidence.axes.shares, singular**2 / (singular**2).sum(), atol=6e-4)


def test_not_all_of_many_groups_are_drawn():
    labels = np.repeat(np.arange(5000), 5)
    X = np.random.default_rng(0).normal(size=(5000, 3))
    axes = gather_evidence([], X=X, labels=labels, k=K).axes
    # Two of them are at one place, as far as can be seen.
    assert (len(axes.points), axes.groups) == (3000, 4999)
    assert axes == gather_evidence([], X=X, labels=labels, k=K).axes


def test_more_coordinates_than_groups():
    X = np.random.default_rng(0).normal(size=(12, 400))
    axes = gather_evidence([], X=X, labels=np.arange(60) // 5, k=K).axes
    assert len(axes.points) == 12
    assert 0 < axes.shares[1] <= axes.shares[0] < 1


def test_neither_the_order_of_groups_nor_their_number_at_one_place_is_drawn():
    X = np.array([[0.0], [1.0], [1.0], [5.0]])
    axes = gather_evidence([], X=X, labels=np.arange(20) // 5, k=K).axes
    assert sorted(size for *_, size in axes.points) == [5, 5, 10]
    assert axes.points == tuple(sorted(axes.points))
    turned = gather_evidence([], X=X[::-1], labels=np.arange(20) // 5, k=K).axes
    assert turned.points == axes.points


def test_a_place_is_two_numbers():
    degrees = np.random.default_rng(0).uniform(-60, 60, (200, 2))
    labels = groups_of(degrees[:, 0])
    after = np.stack([means(degrees[:, i], labels) for i in (0, 1)], axis=1)
    for name, expected in (("lat, lon", ["lat", "lon"]), ("home", ["home (latitude)", "home (longitude)"])):
        evidence = gather_evidence([Measured(name, "place", Places(degrees), Places(after))], labels=labels, k=K)
        assert [drawn.name for drawn in evidence.distributions] == expected
        assert evidence.correlations is None
        assert evidence.figures[1].mean_after == pytest.approx(after[:, 1].mean(), abs=0.3)


def test_numbers_that_became_words_are_not_drawn():
    values = np.arange(100.0)
    texts = Codes(np.repeat(np.arange(10), 10), tuple(f"[{10 * i}, {10 * i + 10})" for i in range(10)))
    evidence = gather_evidence(
        [Measured("x", "continuous", Numbers(values), texts), number("y", values, values), number("z", values, values)],
        labels=np.repeat(np.arange(10), 10),
        k=K,
    )
    drawn = evidence.distributions[0]
    assert isinstance(drawn, Frequencies)
    assert drawn.before is None
    assert drawn.after == (10,) * 10
    assert evidence.correlations.names == ("y", "z")
    assert evidence.figures[0].mean_after is None


def test_codes_that_became_other_words_are_not_compared():
    before = Codes(np.arange(100) % 10, tuple(f"1234{i}" for i in range(10)))
    after = Codes(np.zeros(100, int), ("1234*",))
    evidence = gather_evidence([Measured("zip", "hierarchical", before, after)], labels=np.arange(100) % 10, k=K)
    assert evidence.distributions[0].before is None
    assert evidence.distributions[0].labels == ("1234*",)
    assert evidence.figures[0].distance is None


def test_at_most_twelve_categories_are_named():
    codes = np.repeat(np.arange(60), np.arange(10, 70))
    values = Codes(codes, tuple(f"c{i}" for i in range(60)))
    drawn = gather_evidence([Measured("x", "nominal", values, values)], labels=codes, k=K).distributions[0]
    assert drawn.labels == tuple(f"c{i}" for i in range(59, 47, -1))
    assert drawn.after[:2] == (69, 68)
    assert drawn.before[:2] == (75, 75)
    assert sum(drawn.after) + drawn.pooled[1] == len(codes)


# --- what it does not say ---


@pytest.mark.parametrize("publish", [means, medians])
@pytest.mark.parametrize("extreme", [1e4, 1e9, -1e12, 1e150])
def test_a_unique_extreme_value_cannot_be_seen(publish, extreme):
    """Whatever it is, the evidence is the same, as long as what is published is the same."""
    rng = np.random.default_rng(2)
    values = rng.normal(50, 10, (400, 3))
    labels = groups_of(values[:, 0])
    published = [publish(values[:, j], labels) for j in range(3)]

    def seen(value):
        before = values.copy()
        before[7, 0] = value
        attributes = [number(f"x{j}", before[:, j], published[j]) for j in range(3)]
        return gather_evidence(attributes, labels=labels, k=K)

    evidence, other = seen(extreme), seen(2 * extreme)
    assert evidence == other
    limit = np.abs(values).max()
    assert all(abs(x) <= 2 * limit for x in everything(evidence) if isinstance(x, float))


def test_ends_of_the_original_do_not_appear():
    rng = np.random.default_rng(3)
    values = rng.normal(size=1000)
    labels = groups_of(values)
    found = set(everything(gather_evidence([number("x", values, means(values, labels))], labels=labels, k=K)))
    assert not found & set(values.tolist())
    assert not [x for x in found if isinstance(x, float) and not values.min() < x < max(values.max(), 500)]


def test_the_ends_of_a_column_passed_on_do_not_appear():
    """Its own k-th smallest and largest values bound what is shown: every bar has k records."""
    values = np.sort(np.random.default_rng(4).normal(size=300))
    drawn = gather_evidence([number("x", values, values)], labels=np.arange(300) // 5, k=K).distributions[0]
    assert drawn.edges[0] >= values[K - 1]
    assert drawn.edges[-1] <= values[-K]
    assert all(count == 0 or count >= K for count in drawn.after)


def test_a_category_of_few_records_is_not_named():
    codes = np.array([0] * 600 + [1] * 350 + [2] * 4 + [3])
    before = Codes(codes, ("common", "less so", "rare one", "unique one"))
    after = Codes(np.minimum(codes, 1), ("common", "less so"))
    evidence = gather_evidence([Measured("x", "nominal", before, after)], labels=np.arange(955) // 5, k=K)
    drawn = evidence.distributions[0]
    assert drawn.labels == ("common", "less so")
    assert drawn.before == (600, 350)
    assert drawn.pooled == (0, 0)
    assert not {"rare one", "unique one"} & {x for x in everything(evidence) if isinstance(x, str)}


def test_a_category_that_is_not_published_is_not_named_however_frequent():
    codes = np.array([0] * 600 + [1] * 300 + [2] * 55)
    before = Codes(codes, ("a", "b", "secret"))
    after = Codes(np.minimum(codes, 1), ("a", "b", "secret"))
    drawn = gather_evidence([Measured("x", "nominal", before, after)], labels=np.arange(955) // 5, k=K).distributions[0]
    assert drawn.labels == ("a", "b")
    assert drawn.pooled == (50, 0)


def test_nothing_of_the_originals_is_told_of_few_groups():
    rng = np.random.default_rng(0)
    for groups, told in ((49, False), (50, True)):
        values, codes = rng.uniform(size=5 * groups), rng.integers(0, 2, 5 * groups)
        labels = groups_of(values)
        attributes = [
            number("x", values, means(values, labels)),
            number("y", values, means(values, labels)),
            Measured("z", "boolean", Codes(codes, ("no", "yes")), Codes(codes, ("no", "yes"))),
        ]
        evidence = gather_evidence(attributes, labels=labels, k=K)
        before = [
            *(one.before for one in evidence.distributions),
            *(one.mean_before for one in evidence.figures[:2]),
            *(one.sd_before for one in evidence.figures[:2]),
            evidence.figures[2].distance,
            evidence.correlations.before[0][1],
        ]
        assert [one is not None for one in before] == [told] * len(before)


def test_what_one_group_makes_up_has_fewer_digits():
    values = np.random.default_rng(1).normal(size=3000)
    labels = groups_of(values)
    even = gather_evidence([number("x", values, means(values, labels))], labels=labels, k=K).figures[0]
    values[labels == labels.max()] += 200
    uneven = gather_evidence([number("x", values, means(values, labels))], labels=labels, k=K).figures[0]
    assert (even.digits, uneven.digits, uneven.sd_before) == (1, 0, None)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=12), st.integers(1, 10))
def test_hidden_counts_add_up_to_k_or_to_nothing(counts, k):
    counts = np.array(counts)
    shown = _suppressed(counts, k)
    assert ((shown == counts) | (shown == 0)).all()
    assert ((shown == 0) | (shown >= k)).all()
    hidden = int((counts - shown).sum())
    assert hidden == 0 or hidden >= k or not shown.any()
    # Not more than needed: at most one count that could have been shown is not.
    assert ((counts >= k) & (shown == 0)).sum() <= 1


def test_few_missing_values_are_not_counted():
    values = np.arange(200.0)
    values[:3] = np.nan
    drawn = gather_evidence([number("x", values, np.full(200, 100.0))], labels=np.arange(200) // 5, k=K).distributions[
        0
    ]
    assert drawn.missing == (0, 0)


def test_few_records_have_no_statistics():
    values = np.arange(49.0)
    labels = np.minimum(np.arange(49) // 5, 8)
    codes = Codes(np.arange(49) % 2, ("no", "yes"))
    attributes = [
        number("x", values, means(values, labels)),
        number("y", values, means(values, labels)),
        Measured("z", "boolean", codes, codes),
    ]
    evidence = gather_evidence(attributes, labels=labels, k=K)
    assert all(getattr(f, name) is None for f in evidence.figures for name in ("mean_before", "sd_before", "distance"))
    assert {r for row in evidence.correlations.before for r in row} == {None}


def test_groups_below_k_are_not_drawn():
    labels = np.array([0] * 5 + [1] * 4 + [2] * 6)
    axes = gather_evidence([], X=np.random.default_rng(0).normal(size=(3, 2)), labels=labels, k=K).axes
    assert sorted(size for *_, size in axes.points) == [5, 6]


# --- tables at the edge ---


def test_a_constant_attribute():
    evidence = gather_evidence(
        [number("x", [3.0] * 250, [3.0] * 250)], labels=np.arange(250) // 5, k=K, X=np.zeros((50, 0))
    )
    drawn = evidence.distributions[0]
    assert drawn.edges == (3.0, 3.0)
    assert drawn.before == drawn.after == (250,)
    assert evidence.figures[0].mean_after == 3.0
    assert evidence.figures[0].sd_after == 0.0
    assert evidence.axes is None


def test_what_is_published_as_one_value_says_nothing_of_the_original():
    values = np.arange(100.0)
    evidence = gather_evidence([number("x", values, [49.5] * 100)], labels=np.zeros(100, int), k=K, X=np.ones((1, 1)))
    assert evidence.figures[0].mean_before is None
    assert evidence.sizes.bars == ((100, 100, 1),)
    assert len(evidence.axes.points) == 1


def test_an_attribute_that_is_all_missing():
    gone = np.full(100, np.nan)
    none = Codes(np.full(100, -1), ())
    attributes = [
        number("x", gone, gone),
        number("y", np.arange(100.0), gone),
        Measured("z", "nominal", none, none),
        Measured("o", "ordinal", none, none),
        number("w", gone, np.arange(100.0)),
    ]
    evidence = gather_evidence(attributes, labels=np.arange(100) // 5, k=K, X=np.zeros((20, 1)), most=1)
    x, y, z, _, w = evidence.distributions
    assert (x.edges, x.missing) == ((), (100, 100))
    assert (y.edges, y.missing) == ((), (0, 100))
    assert (z.labels, z.missing) == ((), (100, 100))
    assert sum(w.before) == 0
    assert isinstance(w, Histogram)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1.0, 1e15, 1e150])
def test_any_scale(scale):
    values = np.random.default_rng(0).normal(size=500) * scale
    labels = groups_of(values)
    published = means(values, labels)
    evidence = gather_evidence([number("x", values, published), number("y", -values, -published)], labels=labels, k=K)
    assert evidence.figures[0].sd_after == pytest.approx(published.std(), rel=0.005)
    assert evidence.correlations.after[0][1] == -1.0
    assert sum(evidence.distributions[0].after) == 500


def test_a_large_table_is_summed_up():
    n = 200_000
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(n) // 5)
    attributes = []
    for j in range(10):
        values = rng.normal(size=n)
        attributes.append(number(f"x{j}", values, means(values, labels)))
    X = np.stack([attribute.after.values for attribute in attributes], axis=1)[np.unique(labels, return_index=True)[1]]
    evidence = gather_evidence(attributes, X=X, labels=labels, k=K)
    assert all(sum(one.after) == n for one in evidence.distributions)


@pytest.mark.parametrize(
    ("distance", "digits", "words"),
    [(None, 3, None), (0.0, 1, "at most 5 %"), (0.1, 1, "10 %"), (0.0, 3, "at most 0.05 %"), (0.125, 3, "12.5 %")],
)
def test_a_change_that_is_rounded_to_nothing_is_not_said_to_be_nothing(distance, digits, words):
    assert Figures("town", "nominal", distance=distance, digits=digits).changed == words


def test_ranks_are_those_of_published_levels():
    """How many other levels lie between two published ones is a matter of the originals."""
    levels = ("none", "low", "middle", "high", "most")
    before = Codes(np.array([0, 1, 2, 3, 4, -1]), levels)
    after = Codes(np.array([0, 0, 0, 1, 1, -1]), ("low", "high"))
    window = words_of("level", "ordinal", {"low": 3, "high": 2}, 1, levels)
    old, new = _sides(Measured("level", "ordinal", before, after), window)
    assert old.tolist()[:-1] == [0, 0, 0, 1, 1]
    assert new.tolist()[:-1] == [0, 0, 0, 1, 1]
    assert np.isnan([old[-1], new[-1]]).all()
    assert window.bounds == (0, 1)
