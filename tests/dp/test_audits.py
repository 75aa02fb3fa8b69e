"""Audits of mechanisms and private releases, and of faults that are planted in them.

Two audits, which need nothing of what the code says about itself. The first plays the answers about one table to the
release of a neighbour (`benchmarks.auditing.Tape`): it is exact, and finds whatever leaves without noise. The second
runs a release many times and computes a lower bound of its epsilon; `make test` runs a slice of it with seeded noise,
and the long tests up to 200,000 runs with OpenDP's.
"""

from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.auditing import Batches, empirical_epsilon, outputs, told
from benchmarks.dp_audits import AUDITS, EPSILON, Audit, rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auditing import Sampler, seeded
from shoal.dp import insensitive, intervals, mechanisms, sampling, small_db
from shoal.dp.budget import Budget, Ledger
from shoal.dp.registry import releases
from shoal.dp.released import Released

SLICE = 250
# Of runs whose noise is drawn anew each time: once in a million times, what is right would look wrong.
SURE = 1 - 1e-6
CASES = {name.removeprefix("release "): one for name, one in AUDITS.items() if one.domain is not None}
NOISY = [name for name, case in CASES.items() if not case.delta]
MODULES = {"intervals": intervals, "noisy-means": insensitive, "small-db": small_db}
CHAPTER = [name for name in NOISY if CASES[name].kind in MODULES]


def repeated(monkeypatch, seed=1):
    """Sample the same records in every run of a test."""
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(sampling, "kept", lambda n, rate: rng.random(n) < float(rate))


def loss_of(case, one=None, other=None, seeds=1):
    """Return the largest loss of tapes played both ways."""
    one, other = (case.one, case.other) if one is None else (one, other)
    worst = 0.0
    for seed in range(seeds):
        for pair in ((one, other), (other, one)):
            worst = max(worst, told(case.release, *pair, Sampler(seed)).loss)
        if worst == np.inf:
            break
    return worst


# --- what is right ---


def test_every_private_release_is_audited():
    assert {case.kind for case in CASES.values()} == {release.name for release in releases()}


@pytest.mark.parametrize("name", AUDITS)
def test_a_slice_of_an_audit_finds_no_more_than_the_claim(name, monkeypatch):
    repeated(monkeypatch)
    assert AUDITS[name].measured(SLICE, Sampler(0), SURE) <= EPSILON


@pytest.mark.long
@pytest.mark.parametrize("name", AUDITS)
def test_an_audit_finds_no_more_than_the_claim(name):
    audit = AUDITS[name]
    found = audit.measured(audit.runs)
    assert found <= EPSILON
    # These are as bad as they may be, which the audit sees.
    if name in ("laplace", "sum", "histogram"):
        assert found > 0.9 * EPSILON


@pytest.mark.parametrize("name", AUDITS)
def test_nothing_is_said_that_was_not_paid_for(name, monkeypatch):
    monkeypatch.setattr(sampling, "kept", lambda n, rate: np.zeros(n, bool))
    assert loss_of(AUDITS[name]) <= EPSILON * (1 + 1e-9)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("name", [*NOISY, "epsilon-safe"])
def test_no_table_makes_a_release_say_more(name, data, monkeypatch):
    case = CASES[name]
    monkeypatch.setattr(sampling, "kept", lambda n, rate: np.zeros(n, bool))
    row = st.tuples(*(st.integers(0, size - 1) for size in case.domain.sizes))
    one = np.array(data.draw(st.lists(row, min_size=1, max_size=12)), np.int64)
    added = [data.draw(row) for _ in range(data.draw(st.integers(1, case.neighbours.rows)))]
    assert loss_of(case, one, np.vstack([one, added])) <= EPSILON * (1 + 1e-9)


def test_batches_are_the_noise_of_opendp():
    """Of the same scale, and used once."""
    batches, seen = Batches(100), []
    measurement = mechanisms._calibrated(mechanisms._make_laplace, 1, Fraction(1, 3))[0]
    for _ in range(400):
        seen += (batches(measurement, np.array([5, 7])) - [5, 7]).tolist()
    assert 2.5 < np.abs(seen).mean() < 3.5
    assert len({tuple(seen[at : at + 4]) for at in range(0, 800, 4)}) > 150


# --- faults ---


def test_half_the_noise_of_a_mechanism_is_caught(monkeypatch):
    right = mechanisms._calibrated
    monkeypatch.setattr(
        mechanisms,
        "_calibrated",
        lambda make, distance, epsilon, kind=None: (right(make, distance, 2 * epsilon, kind)[0], epsilon),
    )
    for name in ("laplace", "sum", "histogram", "noisy maximum"):
        assert AUDITS[name].measured(6 * SLICE, Sampler(0)) > EPSILON, name


def with_half_the_noise(monkeypatch, module, function):
    """Charge what is right, and draw with twice the epsilon."""
    right = getattr(module, function)

    def wrong(ledger, values, epsilon, *, what="", **more):
        ledger.charge(what, epsilon)
        return right(Ledger(Budget(2 * epsilon)), values, 2 * epsilon, what=what, **more)

    monkeypatch.setattr(module, function, wrong)


def without_noise(monkeypatch, module, words):
    """Answer exactly where the ledger says `words`, after it was paid for."""
    right = module.laplace

    def wrong(ledger, values, epsilon, *, what="", **more):
        noisy = right(ledger, values, epsilon, what=what, **more)
        return values if words in what else noisy

    monkeypatch.setattr(module, "laplace", wrong)


def same(kind, case):
    """Return a case as one of another kind."""
    return kind(**{field.name: getattr(case, field.name) for field in fields(case)})


def bounds_of_the_data(case):
    """Return a case in which the least value of the table is taken for that of the domain."""

    @dataclass(frozen=True)
    class Unpaid(Audit):
        def release(self, codes):
            least = codes.min(axis=0)
            found = super().release(codes - least)
            return Released(found.domain, found.positions + least, found.counts, found.said)

    return same(Unpaid, case)


def exact_size(case):
    """Return a case in which the last row gets the count that makes their sum that of the table."""

    @dataclass(frozen=True)
    class Exact(Audit):
        def release(self, codes):
            found = super().release(codes)
            counts = np.append(found.counts, len(codes) - found.counts.sum())
            return Released(found.domain, np.vstack([found.positions, found.positions[-1:]]), counts, found.said)

    return same(Exact, case)


@pytest.mark.parametrize("name", CHAPTER)
def test_half_the_noise_is_caught(name, monkeypatch):
    case = CASES[name]
    module = MODULES[case.kind]
    with_half_the_noise(monkeypatch, module, "laplace")
    if case.kind == "small-db":
        with_half_the_noise(monkeypatch, module, "noisy_maximum")
    if case.kind == "intervals":
        # No record is in all counts of a search, but there is one for each of them.
        tape = told(case.release, case.one, case.one, Sampler(0))
        assert sum(unit for _, unit, _, _ in tape.answers) > EPSILON
    else:
        assert loss_of(case) > EPSILON


@pytest.mark.parametrize("name", CHAPTER)
def test_an_unpaid_bound_is_caught(name):
    case = bounds_of_the_data(CASES[name])
    one = case.one[(case.one > 0).all(axis=1)]
    zero = np.zeros((1, one.shape[1]), int)
    one = one if len(one) else zero + 7
    assert loss_of(case, one, np.vstack([one, zero]), seeds=4) == np.inf


def test_a_dimension_saved_twice_is_caught(monkeypatch):
    """In intervals, each of d levels pays with the whole budget; in means, the sum over d coordinates is forgotten."""
    means = CASES["noisy-means, two attributes"]
    right = insensitive.change_of_sums
    monkeypatch.setattr(insensitive, "change_of_sums", lambda groups, d: right(groups, d) // d)
    assert loss_of(means) > EPSILON
    monkeypatch.setattr(insensitive, "change_of_sums", right)
    levels = CASES["intervals, recursion"]
    right_ends = intervals._ends

    def generous(ledger, values, of, counts, size, wanted, epsilon, what):
        ledger.charge(what, epsilon)
        return right_ends(Ledger(Budget(4 * epsilon)), values, of, counts, size, wanted, 4 * epsilon, what)

    monkeypatch.setattr(intervals, "_ends", generous)
    assert loss_of(levels, rows([0, 0]), rows([0, 0], [0, 0])) > EPSILON


@pytest.mark.parametrize(
    ("name", "words", "records"),
    [
        ("intervals", "the number of records", 101),
        ("intervals", "the counts of all boxes", 12),
        ("intervals, recursion", "before the cut", 61),
        ("noisy-means", "the number of records", 12),
        ("small-db", "the number of records", 12),
    ],
)
def test_an_exact_count_is_caught(name, words, records, monkeypatch):
    case = CASES[name]
    seeded(monkeypatch)
    without_noise(monkeypatch, MODULES[case.kind], words)
    monkeypatch.setattr(intervals, "CLEAR", 0.0)
    # Where a record more makes a difference: 12 records make 4 groups of 3, and 11 make 3.
    more = np.resize(case.one, (records, case.one.shape[1]))
    assert loss_of(case, more[:-1], more, seeds=60) == np.inf


@pytest.mark.parametrize("name", ["intervals", "noisy-means", "small-db"])
def test_an_exact_size_is_caught(name):
    assert loss_of(exact_size(CASES[name])) == np.inf


@pytest.mark.parametrize("fault", ["mean", "no threshold", "everybody", "twice the rate"])
def test_faults_of_sampling_are_caught(fault, monkeypatch):
    """A mean of a cell, cells with fewer than k, a sample of everybody, and a rate above the one that was paid."""
    case = CASES["strongly-safe"]
    one, other = case.one, case.other
    seeded(monkeypatch)
    repeated(monkeypatch)
    drawn = sampling.kept
    match fault:
        case "mean":
            # What the chapter calls cluster statistics: the record is the only one of its cell that is not 7.
            def figures(codes):
                kept = drawn(len(codes), Fraction(1, 4))
                return [codes[kept, 0].mean() if kept.sum() >= 5 else -1]

            one, other = np.full((19, 1), 7), np.append(np.full(19, 7), 6)[:, None]
        case "no threshold":

            def figures(codes):
                return [drawn(len(codes), Fraction(1, 4)).sum()]

            one, other = np.empty((0, 1), int), np.array([[7]])
        case "everybody":
            monkeypatch.setattr(sampling, "kept", lambda n, rate: np.ones(n, bool))
            figures = case.figures
        case _:
            monkeypatch.setattr(sampling, "kept", lambda n, rate: drawn(n, 3 * rate))
            figures = case.figures
            one, other = np.full((7, 1), 7), np.full((8, 1), 7)
    found = empirical_epsilon(
        outputs(lambda: figures(one), 4 * SLICE), outputs(lambda: figures(other), 4 * SLICE), delta=case.delta
    )
    assert found > EPSILON
