"""What groups publish, for every kind, representative and pattern of missing values, against plain Python."""

import math

import naive_tables as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_strategies import HIERARCHY, LEVELS, TREE, coded, one_value

from shoal.errors import DataError, OptionError
from shoal.tables.embedding import FORMS
from shoal.tables.representatives import REPRESENTATIVES, represent
from shoal.tables.values import Codes, Computed, Numbers, Places, Rows, Texts, grouped

EVERYTHING = [(kind, how) for kind, ways in REPRESENTATIVES.items() for how in ways]
ORDER = (*LEVELS, "A", "B", "C", "*")  # of the levels of hierarchical attributes
WEIGHTS = st.sampled_from([0.0, 0.25, 1.0, 1.5, 2.0, 3.0, 7.0, 1000.0])


@st.composite
def tables(draw, kind, *, positive=False):
    n = draw(st.integers(1, 14))
    value = one_value[kind].map(lambda x: abs(x) + 0.5) if positive else one_value[kind]
    values = draw(st.lists(value | st.none() if draw(st.booleans()) else value, min_size=n, max_size=n))
    raw = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    labels = [sorted(set(raw)).index(label) for label in raw]
    weights = draw(st.lists(WEIGHTS, min_size=n, max_size=n)) if draw(st.booleans()) else None
    return values, labels, weights


def text_of(numbers):
    return [f"<{x!r}>" for x in numbers.tolist()]


def published(values, labels, weights, kind, how, *, trim=0.2, **options):
    return represent(
        coded(values, kind),
        grouped(np.array(labels)),
        how,
        kind=kind,
        hierarchy=HIERARCHY if kind == "hierarchical" else None,
        weights=None if weights is None else np.array(weights),
        trim=trim,
        **options,
    )


def nothing_in(chosen, g):
    """Return whether a group publishes missing."""
    if isinstance(chosen, Computed):
        return bool(np.isnan(chosen.numbers[g]).all())
    return chosen.rows[g] == -1 if isinstance(chosen, Rows) else chosen.texts[g] is None


# --- against the oracle ---


def expected(values, amount, kind, how):
    """What a group that publishes a value publishes: a number, a row or a text."""
    if FORMS[kind] is Codes:
        levels = ORDER if kind == "hierarchical" else LEVELS
        return {
            "mode": lambda: naive.mode(values, amount, levels),
            "median": lambda: naive.ordinal_median(values, amount, levels),
            "leaf": lambda: naive.leaf(values, amount, levels, TREE),
            "set": lambda: naive.level_set(values, amount, levels),
            "interval": lambda: naive.interval(
                {i: levels.index(values[i]) for i in amount}, amount, levels.__getitem__
            ),
            "ancestor": lambda: naive.common_ancestor(TREE, [values[i] for i in amount]),
        }[how]()
    return {
        "mean": lambda: naive.mean(values, amount),
        "median": lambda: naive.median(values, amount, between=kind == "continuous"),
        "trimmed-mean": lambda: naive.trimmed_mean(values, amount, 0.2),
        "geometric-mean": lambda: naive.geometric_mean(values, amount),
        "interval": lambda: naive.interval(values, amount, lambda x: f"<{x + 0.0!r}>"),
    }[how]()


@pytest.mark.parametrize(("kind", "how"), [(kind, how) for kind, how in EVERYTHING if how != "suppression"])
@settings(max_examples=settings.default.max_examples // 3)
@given(st.data())
def test_everything_against_the_oracle(kind, how, data):
    values, labels, weights = data.draw(tables(kind, positive=how == "geometric-mean"))
    chosen = published(values, labels, weights, kind, how, text=text_of)
    groups = naive.groups_of(values, labels, weights)
    for g, amount in enumerate(groups):
        got = chosen[0][g]
        if amount is None:
            assert nothing_in(chosen, g)
        elif how == "medoid":
            costs = naive.medoid_costs(values, amount, kind)
            assert costs[int(got)] <= min(costs.values()) * (1 + 1e-9) + 1e-9
            assert labels[got] == g
        elif kind == "place":
            check_mean_place(got, values, amount)
        elif isinstance(chosen, Computed):
            low, high = min(values[i] for i in amount), max(values[i] for i in amount)
            assert low <= got <= high
            wanted = float(expected(values, amount, kind, how))
            assert got == pytest.approx(wanted, rel=1e-13, abs=4e-16 * max(abs(low), abs(high)))
            if how == "median" and kind != "continuous":
                assert got == wanted
        else:
            assert got == expected(values, amount, kind, how)
    assert len(chosen[0]) == len(groups)


def check_mean_place(got, values, amount):
    vector = naive.mean_vector(values, amount)
    length = math.hypot(*vector)
    members = {values[i] for i in amount}
    if len(members) == 1:
        assert tuple(got) in members
    elif length > 1e-9:
        direction = [x / length for x in vector]
        assert math.dist(naive.unit_vector(tuple(got)), direction) < 1e-9 / length
    else:
        assert tuple(got) in members


@pytest.mark.parametrize(("kind", "how"), EVERYTHING)
@pytest.mark.parametrize("labels", [[0], [0, 0], [0, 1, 1], [1, 0]], ids=str)
def test_all_members_missing(kind, how, labels):
    chosen = published([None] * len(labels), labels, None, kind, how)
    for g in range(max(labels) + 1):
        assert nothing_in(chosen, g) or (how == "suppression" and chosen[0][g] == "*")


@pytest.mark.parametrize("kind", REPRESENTATIVES)
def test_the_first_is_the_default_and_half_missing_is_missing(kind):
    value = {"place": (1.0, 2.0), "boolean": "a"}.get(kind, "a" if FORMS[kind] is Codes else 1.0)
    values = [value, None, value, value, None, None, None, value]
    labels = [0, 0, 1, 1, 1, 2, 2, 2]
    for how in (None, *REPRESENTATIVES[kind]):
        chosen = published(values, labels, None, kind, how)
        if how == "suppression":
            assert chosen == Texts(("*", "*", "*"))
            continue
        assert [nothing_in(chosen, g) for g in range(3)] == [True, False, True]
    assert repr(published(values, labels, None, kind, None)) == repr(
        published(values, labels, None, kind, REPRESENTATIVES[kind][0])
    )


def value_published(chosen, values, g):
    """Return the value that a group publishes, whichever way it is said."""
    got = chosen[0][g]
    if isinstance(chosen, Rows):
        return None if got == -1 else values[got]
    return got.tobytes() if isinstance(chosen, Computed) else got


@pytest.mark.parametrize(("kind", "how"), [(kind, how) for kind, how in EVERYTHING if how != "medoid"])
@settings(max_examples=settings.default.max_examples // 6)
@given(st.data())
def test_order_of_rows_does_not_matter(kind, how, data):
    values, labels, weights = data.draw(tables(kind, positive=how == "geometric-mean"))
    if how == "trimmed-mean":
        weights = None
    if kind == "place" and any(
        a and math.hypot(*naive.mean_vector(values, a)) < 1e-9 for a in naive.groups_of(values, labels, weights)
    ):
        return  # no direction: the medoid, which is the first of several
    order = data.draw(st.permutations(range(len(values))))
    before = published(values, labels, weights, kind, how)
    shuffled = [values[i] for i in order]
    after = published(
        shuffled, [labels[i] for i in order], None if weights is None else [weights[i] for i in order], kind, how
    )
    for g in range(max(labels) + 1):
        assert value_published(before, values, g) == value_published(after, shuffled, g)


# --- by hand ---


@pytest.mark.parametrize("how", ["mean", "trimmed-mean", "geometric-mean", "median"])
@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e-300, 1e150, 5e-324, 123456.789, 2.0**53 - 1])
def test_equal_values_are_published_as_they_are(how, value):
    for size in range(1, 30):
        for weights in (None, [0.1 * (i + 1) for i in range(size)]):
            assert published([value] * size, [0] * size, weights, "continuous", how).numbers.tolist() == [value]


@given(st.lists(st.floats(-1e150, 1e150), min_size=1, max_size=9), st.data())
def test_means_stay_within_their_group(x, data):
    weights = data.draw(st.none() | st.lists(st.floats(0, 1e9), min_size=len(x), max_size=len(x)))
    for how in ("mean", "median", "trimmed-mean"):
        (got,) = published(x, [0] * len(x), weights, "continuous", how).numbers
        assert min(x) <= got <= max(x)


def test_means_are_as_exact_as_double_precision_allows():
    x = np.random.default_rng(3).normal(size=9_000) * 10.0 ** np.random.default_rng(4).integers(-3, 9, 9_000)
    labels = np.random.default_rng(5).integers(0, 9, 9_000)
    got = represent(Numbers(x), grouped(labels), kind="continuous", trim=0.2).numbers
    for g in range(9):
        members = x[labels == g]
        assert got[g] == pytest.approx(math.fsum(members) / len(members), rel=1e-14)


def test_weighted_by_hand():
    assert published([1.0, 3.0, 8.0], [0, 0, 0], [1, 2, 0], "continuous", "mean").numbers[0] == pytest.approx(7 / 3)
    assert published([1.0, 3.0], [0, 0], [0, 0], "continuous", "mean").numbers.tolist() == [2.0]
    assert published([1.0, 3.0, 8.0], [0, 0, 0], [1, 1, 2], "continuous", "median").numbers.tolist() == [5.5]
    assert published([1.0, 3.0, 8.0], [0, 0, 0], [1, 1, 2], "integer", "median").numbers.tolist() == [3.0]
    assert published(["a", "a", "b"], [0, 0, 0], [1, 1, 2.5], "nominal", "mode").rows.tolist() == [2]
    assert published(["a", "a", "b"], [0, 0, 0], [1e-12, 1e-12, 3e-12], "nominal", "mode").rows.tolist() == [2]


def test_a_weight_does_not_make_a_missing_value_present():
    assert np.isnan(published([1.0, None], [0, 0], [100.0, 0.0], "continuous", "mean").numbers[0])


def test_a_mode_was_there():
    """Ties go to what is more frequent in the table, then to the first level; the row is one of the group."""
    values = ["c", "b", "b", "a", "c", "c"]
    labels = [0, 0, 1, 1, 2, 2]
    assert published(values, labels, None, "nominal", "mode").rows.tolist() == [0, 2, 4]
    assert published(["b", "a"], [0, 0], None, "nominal", "mode").rows.tolist() == [1]


def test_minus_zero_is_published_as_zero():
    for how in ("mean", "median", "trimmed-mean", "interval"):
        for x in ([-0.0, 0.0], [0.0, -0.0], [-0.0, -0.0]):
            chosen = published(x, [0, 0], None, "continuous", how)
            assert chosen == Texts(("0",)) or math.copysign(1.0, chosen[0][0]) == 1.0


def test_ties_of_medoids_go_to_the_first_row():
    assert published([3.0, 1.0], [0, 0], None, "continuous", "medoid").rows.tolist() == [0]
    assert published([1.0, 3.0], [0, 0], None, "continuous", "medoid").rows.tolist() == [0]


def test_trimming():
    x = [100.0, 2.0, 3.0, 4.0, -50.0, 3.0, 2.0, 4.0, 5.0, 1.0]
    assert published(x, [0] * 10, None, "continuous", "trimmed-mean", trim=0.1).numbers.tolist() == [3.0]
    assert published(x, [0] * 10, None, "continuous", "trimmed-mean", trim=0.0).numbers.tolist() == [7.4]
    hundred = [float(i) for i in range(99)] + [1e6]
    assert published(hundred, [0] * 100, None, "integer", "trimmed-mean", trim=0.29).numbers.tolist() == [49.5]
    assert published([1.0, 9.0], [0, 0], None, "integer", "trimmed-mean", trim=0.4999999999).numbers.tolist() == [5.0]
    # All that is left has weight 0: alike again.
    assert published([1.0, 2.0, 4.0, 9.0], [0] * 4, [1, 0, 0, 1], "integer", "trimmed-mean", trim=0.25).numbers == [3.0]


def test_intervals_of_dates_and_numbers():
    days = [0.0, 31.0, 19_000.0]
    assert published(days, [0, 0, 1], None, "date", "interval").texts == ("[1970-01-01, 1970-02-01]", "2022-01-08")
    times = published([0.0, 1.5e6], [0, 0], None, "datetime", "interval").texts
    assert times == ("[1970-01-01T00:00:00.000000, 1970-01-01T00:00:01.500000]",)
    assert published([3.0, -1.5], [0, 0], None, "continuous", "interval").texts == ("[-1.5, 3]",)
    rounded = published([3.01, 3.02], [0, 0], None, "continuous", "interval", text=lambda x: [f"{v:.1f}" for v in x])
    assert rounded.texts == ("3.0",)


@pytest.mark.parametrize(
    ("values", "digits", "text"),
    [
        ([3.25, 1.82], 1, "[1.8, 3.3]"),
        ([-1.82, -3.25], 1, "[-3.3, -1.8]"),
        ([0.29, 0.3], 2, "[0.29, 0.3]"),  # 0.29 * 100 is below 29
        ([0.4, 0.4], 0, "[0, 1]"),
        ([7.0, 7.0], 0, "7"),
        ([1e100, 2.0], 3, "[2, 1e+100]"),
    ],
)
def test_ends_of_intervals_are_rounded_outward(values, digits, text):
    assert published(values, [0, 0], None, "continuous", "interval", digits=digits).texts == (text,)


def test_places_by_hand():
    got = published([(0.0, 170.0), (0.0, -170.0)], [0, 0], None, "place", "mean").numbers[0]
    assert abs(got[0]) < 1e-12
    assert abs(got[1]) == pytest.approx(180.0)
    antipodes = [(10.0, 20.0), (-10.0, -160.0)]
    assert published(antipodes, [0, 0], None, "place", "mean").numbers.tolist() == [[10.0, 20.0]]
    assert published(antipodes, [0, 0], [1, 2], "place", "mean").numbers[0] == pytest.approx([-10.0, -160.0])
    same = [(52.123456789, 13.987654321)] * 7
    assert published(same, [0] * 7, None, "place", "mean").numbers.tolist() == [list(same[0])]


def test_most_central_leaf_and_closest_ancestor():
    values = ["c", "d", "d", "a", "e", "e", "a"]
    labels = [0, 0, 0, 0, 1, 1, 1]
    assert published(values, labels, None, "hierarchical", "leaf").rows.tolist() == [1, 4]
    assert published(values, labels, None, "hierarchical", "ancestor").texts == ("*", "*")
    assert published(["c", "d", "c"], [0, 0, 1], None, "hierarchical", "ancestor").texts == ("C", "c")


# --- the door ---


def test_what_is_refused():
    with pytest.raises(OptionError, match=r"Got 'modal' for column 'x'\. Hint: did you mean 'mode'"):
        published(["a"], [0], None, "nominal", "modal", name="column 'x'")
    with pytest.raises(OptionError, match=r"must be one of mode, set, suppression\. Got 'mean'"):
        published(["a"], [0], None, "nominal", "mean")
    with pytest.raises(OptionError, match="Got 'geometric-mean'"):
        published([1.0], [0], None, "date", "geometric-mean")
    with pytest.raises(OptionError, match="must be given as Numbers"):
        represent(Places(np.zeros((1, 2))), grouped(np.array([0])), kind="integer", trim=0.2)
    with pytest.raises(OptionError, match="must have a hierarchy"):
        represent(coded(["a"], "hierarchical"), grouped(np.array([0])), kind="hierarchical", trim=0.2)
    with pytest.raises(DataError, match="Got 2 that are not in column 'x'"):
        published([1.0, 0.0, -1.0, None], [0, 0, 0, 0], None, "continuous", "geometric-mean", name="column 'x'")
    for trim in (-0.1, 0.5, math.nan):
        with pytest.raises(OptionError, match="'trim'"):
            published([1.0], [0], None, "continuous", "trimmed-mean", trim=trim)
    for bad in ([1.0, math.nan], [1.0, -1.0], [math.inf, 1.0]):
        with pytest.raises(DataError, match="Got 1 others among 2"):
            published([1.0, 2.0], [0, 0], bad, "continuous", "mean")
    with pytest.raises(DataError, match="must be 2 finite numbers"):
        published([1.0, 2.0], [0, 0], [1.0], "continuous", "mean")
