"""Demands measured from the members of a group: the same as the models of `shoal.privacy` measure."""

import numba
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy.demand_strategies import SPECS, random_labels, random_sensitive
from shoal.kernels import rules as kernels
from shoal.privacy.demands import Demand, spectra
from shoal.privacy.models import model
from shoal.release.groups.rules import rules_of
from shoal.tables.sensitive import Sensitive


@st.composite
def attributes(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(4, 70))
    found = random_sensitive(n, draw(st.sampled_from(["line", "tree", "equal"])), rng, draw(st.booleans()))
    return found, random_labels(n, rng), rng


@given(attributes())
@settings(max_examples=150)
def test_measures_are_those_of_the_models(case):
    sensitive, labels, _ = case
    demands = [Demand(model(spec), sensitive) for spec in SPECS]
    rules = rules_of(demands)
    order, sizes = np.argsort(labels, kind="stable"), np.bincount(labels)
    found = np.empty((len(demands), len(sizes)))
    desk = kernels.desk(rules, len(labels))
    kernels.measure_groups(rules, order, np.concatenate(([0], np.cumsum(sizes))), desk, found)
    for own, spectrum, demand in zip(found, spectra(labels, demands), demands, strict=True):
        np.testing.assert_allclose(own, demand.model.measure(spectrum), rtol=0, atol=1e-12, err_msg=str(demand.model))
    assert not desk.below.any()


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
@settings(max_examples=40)
def test_two_values_lie_on_a_line(seed, missing, in_units):
    rng = np.random.default_rng(seed)
    codes, labels = rng.integers(-1 if missing else 0, 2, 40), random_labels(40, rng)
    codes[:4] = [0, 1, 0, -1 if missing else 1]
    units = np.unique(rng.integers(0, 20, 40), return_inverse=True)[1] if in_units else None
    demands = [Demand(model("t-closeness t=0.2"), Sensitive("salary", codes, 2, units=units))]
    rules = rules_of(demands)
    assert rules.kinds.tolist() == [kernels.EQUAL if missing else kernels.LINE]
    order, sizes = np.argsort(labels, kind="stable"), np.bincount(labels)
    found = np.empty((1, len(sizes)))
    desk = kernels.desk(rules, len(labels))
    kernels.measure_groups(rules, order, np.concatenate(([0], np.cumsum(sizes))), desk, found)
    np.testing.assert_allclose(found[0], demands[0].model.measure(spectra(labels, demands)[0]), rtol=0, atol=1e-9)


@given(attributes(), st.integers(1, 30))
@settings(max_examples=100)
def test_units_are_counted_as_the_models_count_them(case, most):
    sensitive, labels, rng = case
    units = np.unique(rng.integers(0, most, len(labels)), return_inverse=True)[1]
    demands = [Demand(model(spec), sensitive._replace(units=units)) for spec in SPECS]
    rules = rules_of(demands)
    order, sizes = np.argsort(labels, kind="stable"), np.bincount(labels)
    found = np.empty((len(demands), len(sizes)))
    desk = kernels.desk(rules, len(labels))
    kernels.measure_groups(rules, order, np.concatenate(([0], np.cumsum(sizes))), desk, found)
    for own, spectrum, demand in zip(found, spectra(labels, demands), demands, strict=True):
        theirs = demand.model.measure(spectrum)
        if demand.model.name in ("distinct-diversity", "p-sensitive"):  # the kernel may find less, never more
            assert (own <= theirs).all()
            assert (2 * own >= theirs).all()
        else:
            np.testing.assert_allclose(own, theirs, rtol=1e-8, atol=1e-9, err_msg=str(demand.model))
    assert not desk.below.any()
    assert not desk.seen.any()


@numba.njit
def change_and_check(rules, members, size, gone, came, room, values, sums, trial):
    """Whether a change is allowed, by the quick way and from scratch."""
    kernels.values_of(rules, members, size, values, sums)
    quick = kernels.change_holds(rules, values, sums, size, gone, came, trial, room)
    new, count = np.empty(size + 1, np.int64), 0
    for p in range(size):
        if members[p] != gone:
            new[count] = members[p]
            count += 1
    if came >= 0:
        new[count] = came
        count += 1
    return quick, kernels.members_hold(rules, new, count, trial, room)


@given(attributes(), st.sampled_from([0.02, 0.1, 0.3]))
@settings(max_examples=150)
def test_changes_are_allowed_by_the_quick_way_as_from_scratch(case, t):
    sensitive, labels, rng = case
    n = len(labels)
    demands = [Demand(model(f"t-closeness t={t}"), sensitive), Demand(model("entropy-diversity l=2"), sensitive)]
    members = np.flatnonzero(labels == labels[0])
    others = np.flatnonzero(labels != labels[0])
    size = len(members)
    came = int(rng.choice(others)) if len(others) else -1
    gone = int(rng.choice(members)) if size > 1 else -1
    for out, into in ((gone, came), (-1, came), (gone, -1)):
        for asked in (demands[:1], demands[1:]):  # where both are asked, one that held before may be skipped
            rules = rules_of(asked)
            values, sums = np.empty((1, n + 2), np.int64), np.empty((1, 2))
            room, trial = kernels.desk(rules, n + 2), np.empty(n + 2, np.int64)
            same = out >= 0 and into >= 0 and rules.codes[0, out] == rules.codes[0, into]
            quick, slow = change_and_check(rules, members, size, out, into, room, values, sums, trial)
            assert quick == (True if same else slow) or (out < 0 and into < 0)


def test_limits_are_inside_the_demanding_tables():
    """What a kernel allows, the model allows: at the wish itself both do, beyond its rounding neither."""
    sensitive = Sensitive("disease", np.array([0, 0, 1, 1, 2, 2]), 3)
    for spec in SPECS:
        one = model(spec)
        limit = rules_of([Demand(one, sensitive)]).limits[0]
        assert one.allows(np.array([limit]))[0]
        inside = one.required if one.name != "recursive-diversity" else one.required - 1e-6
        assert inside >= limit if one.rising else inside <= limit
