"""Models against their definitions in plain Python: what groups have, what unions keep, what is refused."""

from collections import Counter
from fractions import Fraction
from math import exp, inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import OptionError
from shoal.privacy.closeness import NTCloseness, TCloseness
from shoal.privacy.diversity import (
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    PSensitive,
    RecursiveDiversity,
)
from shoal.privacy.frequencies import AlphaFrequency, BetaLikeness, DeltaDisclosure, EnhancedBetaLikeness
from shoal.privacy.model import SensitiveModel, down, up
from shoal.privacy.models import MODELS, any_model, model
from shoal.privacy.population import DeltaPresence, KMap
from shoal.privacy.spectrum import spectrum_of
from shoal.tables.sensitive import Line, Sensitive, Tree, ranks

TREE = Tree(np.array([-1, 0, 0, 1, 1, 2, 2, 0]), np.array([1, 0.5, 0.25, 0, 0, 0, 0, 0]), np.array([3, 4, 5, 6, 7]))
GROUNDS = {"equal": None, "line": Line(ranks(5)), "tree": TREE}

# Groups of values 0 .. 4, each of which occurs somewhere.
groups = st.lists(st.lists(st.integers(0, 4) | st.none(), min_size=1, max_size=7), min_size=1, max_size=6).map(
    lambda drawn: [*drawn, [0, 1, 2, 3, 4]]
)


def sensitive_of(drawn, ground=None):
    codes = np.array([-1 if value is None else value for group in drawn for value in group], np.int64)
    labels = np.repeat(np.arange(len(drawn)), [len(group) for group in drawn])
    return Sensitive("disease", codes, 5, ground), labels


def measured(one, drawn, ground=None):
    sensitive, labels = sensitive_of(drawn, ground)
    return one.measure(spectrum_of(labels, sensitive)).tolist()


def known(group):
    return Counter(value for value in group if value is not None)


def shares(group):
    return {value: Fraction(count, len(group)) for value, count in Counter(group).items()}


# --- definitions, word for word ---


def distinct(group, table):
    return len(known(group))


def entropy(group, table):
    counts = known(group)
    total = sum(counts.values())
    return exp(-sum(c / total * log(c / total) for c in counts.values())) if counts else 0.0


def recursive(group, table):
    counts = sorted(known(group).values(), reverse=True)
    return counts[0] / sum(counts[2:]) if len(counts) >= 3 else inf


def frequency(group, table):
    counts = known(group)
    return max(counts.values()) / sum(counts.values()) if counts else 0.0


def disclosure(group, table):
    p, q = shares(table), shares(group)
    return max(abs(log(q[value] / p[value])) if value in q else inf for value in p)


def likeness(group, table):
    p, q = shares(table), shares(group)
    return float(max(0, *((q.get(value, 0) - p[value]) / p[value] for value in p)))


def enhanced(group, table):
    p, q = shares(table), shares(group)
    if len(p) == 1:
        return 0.0
    return max(0.0, *(float((q.get(v, 0) - p[v]) / p[v]) / min(1.5, -log(p[v])) for v in p))


DEFINED = [
    (KAnonymity(2), lambda group, table: len(group)),
    (DistinctDiversity(2), distinct),
    (PSensitive(2), distinct),
    (EntropyDiversity(2), entropy),
    (RecursiveDiversity(2, 3), recursive),
    (AlphaFrequency(0.5), frequency),
    (DeltaDisclosure(1), disclosure),
    (BetaLikeness(1), likeness),
    (EnhancedBetaLikeness(1.5), enhanced),
]


@pytest.mark.parametrize(("one", "definition"), DEFINED, ids=[one.name for one, _ in DEFINED])
@settings(max_examples=100)
@given(groups)
def test_measures_are_as_defined(one, definition, drawn):
    table = [value for group in drawn for value in group]
    assert measured(one, drawn) == pytest.approx([definition(group, table) for group in drawn], rel=1e-12)


def test_tables_of_one_value():
    sensitive = Sensitive("disease", np.zeros(4, np.int64), 1)
    spectrum = spectrum_of(np.array([0, 0, 1, 1]), sensitive)
    for one in (TCloseness(0.1), BetaLikeness(1), EnhancedBetaLikeness(1), DeltaDisclosure(1)):
        assert one.measure(spectrum).tolist() == [0, 0]


def test_tables_without_known_values():
    for ground in (None, Line(ranks(0))):
        sensitive = Sensitive("disease", np.full(4, -1), 0, ground)
        spectrum = spectrum_of(np.array([0, 0, 1, 1]), sensitive)
        assert KAnonymity(2).measure(spectrum).tolist() == [2, 2]
        for one in (DistinctDiversity(2), EntropyDiversity(2), AlphaFrequency(0.5), TCloseness(0.1), BetaLikeness(1)):
            assert one.measure(spectrum).tolist() == [0, 0]
        assert RecursiveDiversity(3, 2).measure(spectrum).tolist() == [inf, inf]


def test_diversity_looks_at_known_values_and_disclosure_at_missing_ones_too():
    drawn = [[0, 1, None, None], [2, 3, 4, 4]]
    assert measured(DistinctDiversity(2), drawn) == [2, 3]
    assert measured(AlphaFrequency(0.5), drawn) == [0.5, 0.5]
    assert measured(BetaLikeness(1), drawn)[0] == pytest.approx(1.0)  # half of the group, a quarter of the table
    assert measured(DeltaDisclosure(1), [[0, None], [0, None]])[0] == 0  # all values of the table are in both groups


# --- thresholds ---


def test_wishes_are_met_in_spite_of_rounding():
    even = spectrum_of(np.zeros(6, np.int64), Sensitive("disease", np.arange(6) % 3, 3))
    assert EntropyDiversity(3).holds(even)[0]
    assert not EntropyDiversity(3.001).holds(even)[0]
    assert AlphaFrequency(1 / 3).holds(even)[0]
    assert not AlphaFrequency(0.333).holds(even)[0]


def test_the_recursive_inequality_is_strict():
    spectrum = spectrum_of(np.zeros(4, np.int64), Sensitive("disease", np.array([0, 0, 1, 2]), 3))
    assert RecursiveDiversity(2, 3).measure(spectrum)[0] == 2
    assert not RecursiveDiversity(2, 3).holds(spectrum)[0]
    assert RecursiveDiversity(2.001, 3).holds(spectrum)[0]
    assert not RecursiveDiversity(1, 2).holds(spectrum)[0]
    assert RecursiveDiversity(1.01, 2).holds(spectrum)[0]
    assert not RecursiveDiversity(1e9, 4).holds(spectrum)[0]


def test_the_worst_group_is_the_first_of_several():
    assert DistinctDiversity(2).worst(np.array([3.0, 1, 2, 1])) == 1
    assert TCloseness(0.1).worst(np.array([0.0, 0.2, 0.1, 0.2])) == 1


# --- unions ---

MONOTONE = [one for one, _ in DEFINED] + [TCloseness(0.2)]


def test_the_declared_monotone_models_are_those_tested():
    assert {one.name for one in MONOTONE} == {kind.name for kind in MODELS.values() if kind.monotone} - {"k-map"}
    assert {kind.name for kind in MODELS.values() if not kind.monotone} == {"n-t-closeness", "delta-presence"}


@pytest.mark.parametrize("one", MONOTONE, ids=lambda one: one.name)
@settings(max_examples=150)
@given(groups, st.sampled_from(sorted(GROUNDS)), st.data())
def test_a_union_has_at_least_what_the_worse_of_its_parts_has(one, drawn, ground, data):
    sensitive, labels = sensitive_of(drawn, GROUNDS[ground])
    spectrum = spectrum_of(labels, sensitive)
    a, b = data.draw(st.integers(0, len(drawn) - 1)), data.draw(st.integers(0, len(drawn) - 1))
    union = spectrum.take(np.array([a, b])).pooled(np.array([0, 0]))
    parts, both = one.measure(spectrum)[[a, b]], one.measure(union)[0]
    if one.rising:
        assert both >= parts.min() - 1e-12
    else:
        assert both <= parts.max() + 1e-12


def test_n_t_closeness_is_not_monotone():
    """Each of two groups is like its surroundings, and their union is like no set of 5 records that contains it."""
    sizes = [2, 3, 2, 30, 20]
    codes = np.repeat([0, 0, 1, 1, 2], sizes)
    spectrum = spectrum_of(np.repeat(np.arange(5), sizes), Sensitive("disease", codes, 3))
    centres = np.array([[0.0], [0.1], [10.0], [9.9], [5.0]])
    one = NTCloseness(5, 0.1)
    assert one.measure(spectrum, centres)[[0, 2]] == pytest.approx([0, 0])
    merged = spectrum.pooled(np.array([0, 1, 0, 2, 3]))
    for place in (0.0, 5.0, 10.0):
        assert not one.holds(merged, np.array([[place], [0.1], [9.9], [5.0]]))[0]


# --- parameters ---


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: KAnonymity(0), "'k' option of k-anonymity must be an integer of at least 1. Got 0"),
        (lambda: DistinctDiversity(1), "'l' option of distinct-diversity must be an integer of at least 2. Got 1"),
        (lambda: DistinctDiversity(2.5), "must be an integer of at least 2. Got 2.5"),
        (lambda: KAnonymity(True), "must be an integer of at least 1. Got True"),
        (lambda: TCloseness(True), "Got True"),
        (lambda: PSensitive(1), "'p' option of p-sensitive"),
        (lambda: EntropyDiversity(1), "'l' option of entropy-diversity must be a number above 1. Got 1"),
        (lambda: EntropyDiversity("3"), "Got '3'"),
        (lambda: EntropyDiversity(inf), "Got inf"),
        (lambda: RecursiveDiversity(0, 2), "'c' option of recursive-diversity must be a number above 0"),
        (lambda: RecursiveDiversity(1, 1), "'l' option of recursive-diversity"),
        (lambda: AlphaFrequency(0), "'alpha' option of alpha must be a number above 0 and of at most 1. Got 0"),
        (lambda: AlphaFrequency(1.5), "Got 1.5"),
        (lambda: TCloseness(-0.1), "'t' option of t-closeness must be a number of at least 0 and of at most 1"),
        (lambda: TCloseness(float("nan")), "Got nan"),
        (lambda: TCloseness(0.1, "order"), "did you mean 'ordered'"),
        (lambda: NTCloseness(0, 0.1), "'n' option of n-t-closeness"),
        (lambda: NTCloseness(5, 2), "'t' option of n-t-closeness"),
        (lambda: DeltaDisclosure(0), "'delta' option of delta-disclosure must be a number above 0"),
        (lambda: BetaLikeness(0), "'beta' option of beta-likeness must be a number above 0"),
        (lambda: EnhancedBetaLikeness(-1), "'beta' option of enhanced-beta-likeness"),
        (lambda: KMap(0), "'k' option of k-map"),
        (
            lambda: DeltaPresence(0.5, 0.4),
            "'low' option of delta-presence must be a number of at least 0 and of at most",
        ),
        (lambda: DeltaPresence(0.5, 1.1), "'high' option of delta-presence"),
    ],
)
def test_parameters_out_of_their_domain_are_refused(make, said):
    with pytest.raises(OptionError) as caught:
        make()
    assert said in str(caught.value)


ALL = [
    KAnonymity(5),
    DistinctDiversity(3),
    EntropyDiversity(2.5),
    EntropyDiversity(3),
    RecursiveDiversity(0.1, 2),
    PSensitive(2),
    AlphaFrequency(1 / 3),
    TCloseness(0.2),
    TCloseness(0.2, "equal"),
    NTCloseness(1000, 0.05, "numeric"),
    DeltaDisclosure(1.5),
    BetaLikeness(2),
    EnhancedBetaLikeness(0.7),
    KMap(5),
    DeltaPresence(0, 0.25),
]


@pytest.mark.parametrize("one", ALL, ids=str)
def test_models_say_what_they_are(one):
    assert any_model(str(one)) == one
    assert type(any_model(str(one))) is type(one)
    assert any_model(one) is one
    assert MODELS[one.name] is type(one)
    for text in (one.short, one.explanation("disease"), type(one).__doc__):
        assert text.strip()
    if isinstance(one, SensitiveModel):
        assert model(str(one)) == one
        assert "'disease'" in one.explanation("disease") or one.name == "k-anonymity"


def test_every_model_is_said():
    assert {one.name for one in ALL} == set(MODELS)


def test_numbers_of_numpy_are_plain_ones():
    assert DistinctDiversity(np.int64(3)) == DistinctDiversity(3)
    assert str(TCloseness(np.float64(0.1))) == "t-closeness t=0.1"
    assert str(EntropyDiversity(3)) == "entropy-diversity l=3"
    assert str(TCloseness(0.1, "equal")) == "t-closeness t=0.1 ground=equal"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "named first"),
        ("l-diversity l=3", "did you mean"),
        ("distinct-diversity", "must have l"),
        ("distinct-diversity m=3", "must be l"),
        ("distinct-diversity l=3 l=4", "each once"),
        ("distinct-diversity l", "it is written 'distinct-diversity l=..'"),
        ("distinct-diversity l=three", "must be an integer. Got 'three'"),
        ("t-closeness t=x", "must be a number. Got 'x'"),
        ("t-closeness t=2", "of at most 1"),
        ("k-map k=5", "about a population"),
        (3, "Got int"),
    ],
)
def test_what_says_no_model_is_refused(text, said):
    with pytest.raises(OptionError) as caught:
        model(text)
    assert said in str(caught.value)


# --- what is within reach ---

FOUR = Sensitive("disease", np.array([0, 0, 0, 0, 1, 1, 2, 3, -1]), 4)


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (DistinctDiversity(5), "'disease' has 4 different values: l can be at most 4"),
        (PSensitive(5), "'disease' has 4 different values: p can be at most 4"),
        (EntropyDiversity(3.5), "l can be at most 3.363"),  # exp(1.75 log 2) = 3.36358..
        (RecursiveDiversity(3, 5), "l can be at most 4"),
        (RecursiveDiversity(2, 3), "c must be above 2 for l = 3"),
        (AlphaFrequency(0.49), "alpha must be at least 0.5"),
        (KAnonymity(10), "the table has 9 records: k can be at most 9"),
    ],
)
def test_what_no_groups_can_have_is_refused_with_the_bound(one, said):
    with pytest.raises(OptionError) as caught:
        one.refuse_if_out_of_reach(FOUR, 2)
    assert said in str(caught.value)
    assert str(one) in str(caught.value)


@pytest.mark.parametrize(
    "one",
    [
        DistinctDiversity(4),
        PSensitive(4),
        EntropyDiversity(3.363),
        RecursiveDiversity(2.01, 3),
        AlphaFrequency(0.5),
        KAnonymity(9),
        DeltaDisclosure(1e-6),
        BetaLikeness(1e-6),
        EnhancedBetaLikeness(1e-6),
        TCloseness(0.3),
        NTCloseness(2, 0),
    ],
    ids=str,
)
def test_what_one_group_has_is_not_refused(one):
    one.refuse_if_out_of_reach(FOUR, 2)
    assert one.allows(np.array([one.reachable(FOUR)]))[0]


@given(st.floats(1e-9, 1e6))
def test_bounds_are_rounded_to_the_safe_side(number):
    assert float(down(number)) <= number * (1 + 1e-12)
    assert float(up(number)) >= number * (1 - 1e-12)
    assert float(down(number)) == pytest.approx(number, rel=2e-3)
    assert float(up(number)) == pytest.approx(number, rel=2e-3)
