"""Models that count units: each unit of a group counts as one, whatever the number of its rows."""

from fractions import Fraction
from itertools import permutations
from math import exp, inf, log

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from privacy.demand_strategies import random_labels, random_sensitive
from shoal.errors import DisclosureWarning
from shoal.privacy.demands import Demand, in_units, spectra
from shoal.privacy.models import model
from shoal.privacy.spectrum import spectrum_of
from shoal.tables.sensitive import Sensitive


def shares_of(rows, units, codes):
    """How much each value counts, by the definition: a unit is one, in equal parts for each of its rows."""
    shares = {}
    for i in rows:
        own = [j for j in rows if units[j] == units[i]]
        shares[codes[i]] = shares.get(codes[i], 0) + Fraction(1, len(own))
    return shares


def different_values(rows, units, codes):
    """The most values of which each is that of another unit, by trying all assignments."""
    values = sorted({codes[i] for i in rows if codes[i] >= 0})
    has = {(units[i], codes[i]) for i in rows}
    owners = sorted({units[i] for i in rows})
    nobody = [None] * len(values)
    return max(
        sum((unit, value) in has for unit, value in zip(chosen, values, strict=False))
        for chosen in permutations([*owners, *nobody], len(values))
    )


def plainly(spec, rows, everyone, units, codes):
    """What a model measures, from its definition."""
    shares, whole = shares_of(rows, units, codes), shares_of(everyone, units, codes)
    known = sorted((share for value, share in shares.items() if value >= 0), reverse=True)
    total, name = sum(known), spec.split()[0]
    if name == "k-anonymity":
        return len({units[i] for i in rows})
    if name == "distinct-diversity":
        return different_values(rows, units, codes)
    if name == "entropy-diversity":
        return exp(-sum(float(s / total) * log(s / total) for s in known)) if known else 0.0
    if name == "recursive-diversity":
        tail = sum(known[1:])
        return float(known[0] / tail) if tail else inf
    if name == "alpha":
        return float(known[0] / total) if known else 0.0
    size, n = sum(shares.values()), sum(whole.values())
    pairs = [(shares.get(value, 0) / size, share / n) for value, share in whole.items()]
    if name == "t-closeness":
        return float(sum(abs(ours - theirs) for ours, theirs in pairs) / 2)
    return float(max(max(ours / theirs - 1 for ours, theirs in pairs), 0))


PLAIN = (
    *("k-anonymity k=2", "distinct-diversity l=2", "entropy-diversity l=2", "recursive-diversity c=2 l=2"),
    *("alpha alpha=0.5", "t-closeness t=0.3 ground=equal", "beta-likeness beta=1"),
)


@given(st.integers(0, 2**32 - 1), st.sampled_from(PLAIN), st.booleans())
@settings(max_examples=120, deadline=None)
def test_measures_are_those_of_the_definitions(seed, spec, missing):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    codes = np.unique(rng.integers(0, 3, n), return_inverse=True)[1]
    values = int(codes.max()) + 1
    if missing:
        codes[rng.integers(n)] = -1
    units, labels = np.unique(rng.integers(0, 4, n), return_inverse=True)[1], random_labels(n, rng)
    demand = Demand(model(spec), Sensitive("disease", codes, values, units=units))
    found = demand.model.measure(spectra(labels, [demand])[0])
    everyone = range(n)
    wanted = [
        plainly(spec, np.flatnonzero(labels == g).tolist(), everyone, units.tolist(), codes.tolist())
        for g in range(labels.max() + 1)
    ]
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-9)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["line", "tree", "equal"]))
@settings(max_examples=40)
def test_rows_that_are_units_of_their_own_count_as_rows(seed, ground):
    rng = np.random.default_rng(seed)
    sensitive, labels = random_sensitive(20, ground, rng, missing=True), random_labels(20, rng)
    for spec in (*PLAIN, "t-closeness t=0.2"):
        one = model(spec)
        by_units = one.measure(spectrum_of(labels, sensitive._replace(units=rng.permutation(20))))
        np.testing.assert_allclose(by_units, one.measure(spectrum_of(labels, sensitive)), rtol=1e-8, atol=1e-9)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_merged_and_chosen_groups_count_the_units_of_their_rows(seed):
    rng = np.random.default_rng(seed)
    sensitive = random_sensitive(30, "line", rng, missing=True)._replace(units=rng.integers(0, 9, 30))
    labels = random_labels(30, rng)
    spectrum = spectrum_of(labels, sensitive)
    target = np.unique(rng.integers(0, 3, spectrum.groups), return_inverse=True)[1]
    some = rng.integers(0, spectrum.groups, 5)
    pooled, taken, direct = spectrum.pooled(target), spectrum.take(some), spectrum_of(target[labels], sensitive)
    for spec in ("t-closeness t=0.2", "entropy-diversity l=2", "distinct-diversity l=2"):
        measure = model(spec).measure
        np.testing.assert_allclose(measure(pooled), measure(direct), atol=1e-12)
        np.testing.assert_allclose(measure(taken), measure(spectrum)[some], atol=1e-12)


def test_a_model_must_hold_for_rows_and_for_units():
    disease = Sensitive("disease", np.array([0, 0, 0, 1]), 2)
    entropy, distinct = model("entropy-diversity l=1.9"), model("distinct-diversity l=2")
    demands = in_units([Demand(entropy, disease), Demand(distinct, disease)], np.array([5, 5, 5, 7]))
    counted = [(one.model.name, one.sensitive.units is not None) for one in demands]
    # Different values of different units are different values of rows.
    assert counted == [("entropy-diversity", False), ("entropy-diversity", True), ("distinct-diversity", True)]
    assert in_units(demands[:1], np.arange(4)) == demands[:1]
    assert in_units(demands[:1], None) == demands[:1]


@pytest.mark.parametrize(
    ("diseases", "persons", "held"),
    [
        (["flu", "flu", "cancer", "cold"], ["a", "b", "c", "c"], 2.0),
        (["flu", "flu", "cancer", "cold"], ["a", "b", "c", "d"], 3.0),
        (["flu", "cancer", "cold", "cold"], ["a", "a", "a", "b"], 2.0),
    ],
)
def test_one_person_with_many_diseases_makes_no_group_diverse(diseases, persons, held):
    table = pa.table({"age": [30] * 4, "disease": diseases, "person": persons})
    audit = shoal.verify(table, ["age"], unit="person", sensitive_attributes=["disease"], l=3)
    assert [finding.held for finding in audit.models] == [held]
    assert bool(audit) == (held >= 3)


def test_what_falls_short_for_rows_falls_short():
    """Two persons, one of whom fills the table with a single value: fine by persons, not by rows."""
    table = pa.table({"age": [30] * 6, "disease": ["flu"] * 5 + ["cold"], "person": ["a"] * 5 + ["b"]})
    audit = shoal.verify(
        table, ["age"], unit="person", sensitive_attributes=["disease"], models={"disease": ["alpha alpha=0.5"]}
    )
    assert audit.models[0].held == pytest.approx(5 / 6)
    assert not audit


def test_groups_of_one_mean_are_merged_where_units_are_counted():
    """All unions cost nothing, so that none of them is judged."""
    table = pa.table({"who": list("abbb"), "age": pa.array([4.0] * 4), "job": ["x", "y", "x", "z"]})
    plan = {"quasi_identifiers": ["age"], "sensitive_attributes": ["job"], "unit": "who", "identifiers": []}
    with pytest.warns(DisclosureWarning):
        release = shoal.anonymize(table, k=2, t=0.3, **plan)
    assert release.audit.classes == 1
