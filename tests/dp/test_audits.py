"""Audits of the mechanisms and of the releases of chapter 10, and of faults that are planted in them.

Two audits, which need nothing of what the code says about itself. The first plays the answers about one table to the
release of a neighbour (`auditing.Tape`): it is exact, and finds whatever leaves without noise. The second runs a
release many times and computes a lower bound of its epsilon; `make test` runs a slice of it with seeded noise, and the
long tests 200,000 runs with OpenDP's.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from auditing import Sampler, empirical_epsilon, outputs, seeded, told
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.dp import insensitive, intervals, mechanisms, sampling, small_db
from shoal.dp.budget import Budget, Ledger
from shoal.dp.calculators import sampling_delta
from shoal.dp.domain import Coded, Domain
from shoal.dp.registry import find
from shoal.dp.released import Released

SLICE, RUNS = 250, 200_000
EPSILON = 1
SMALL = np.array([0, 0, 1, 1, 1, 1, 3, 4, 4, 6, 6, 7])
GONE = np.append(SMALL, 7)


# --- mechanisms ---


def ask(name, rows):
    """Return the answer of a mechanism about a table of numbers from 0 to 7, for epsilon 1, as a number."""
    ledger = Ledger(Budget(EPSILON))
    counts = np.bincount(rows, minlength=8)
    match name:
        case "laplace":
            return mechanisms.laplace(ledger, np.array([len(rows)]), EPSILON)[0]
        case "sum":
            return mechanisms.laplace(ledger, np.array([rows.sum()]), EPSILON, sensitivity=7)[0]
        case "histogram":
            return mechanisms.histogram(ledger, rows, 8, EPSILON)[7]
        case "noisy maximum":
            # One score rises and the others fall with each record: all of the noise is needed.
            return mechanisms.noisy_maximum(ledger, np.append(len(rows) - 12, np.full(7, 12 - len(rows))), EPSILON)
        case "monotonic maximum":
            return mechanisms.noisy_maximum(ledger, counts, EPSILON, monotonic=True)
        case "exponential":
            return mechanisms.exponential(ledger, counts / 2, EPSILON, sensitivity=0.5)
        case "quantile":
            return mechanisms.quantile(ledger, rows, np.arange(8), EPSILON)
        case "mean":
            return mechanisms.mean(ledger, rows, 0, 7, EPSILON)
    return mechanisms.variance(ledger, rows, 0, 7, EPSILON)


MECHANISMS = (
    "laplace",
    "sum",
    "histogram",
    "noisy maximum",
    "monotonic maximum",
    "exponential",
    "quantile",
    "mean",
    "variance",
)


def audited(name, runs):
    return empirical_epsilon(outputs(lambda: ask(name, SMALL), runs), outputs(lambda: ask(name, GONE), runs))


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name != "quantile"])
def test_a_mechanism_gives_away_no_more_than_it_says(name, monkeypatch):
    seeded(monkeypatch)
    assert audited(name, SLICE) <= EPSILON


@pytest.mark.long
@pytest.mark.parametrize("name", MECHANISMS)
def test_200000_runs_of_a_mechanism(name, monkeypatch):
    seeded(monkeypatch, noise=False)
    found = audited(name, RUNS)
    assert found <= EPSILON
    # These are as bad as they may be, which the audit sees.
    if name in ("laplace", "sum", "histogram"):
        assert found > 0.9 * EPSILON


def test_half_the_noise_of_a_mechanism_is_caught(monkeypatch):
    seeded(monkeypatch)
    right = mechanisms._calibrated
    monkeypatch.setattr(
        mechanisms, "_calibrated", lambda make, distance, epsilon: (right(make, distance, 2 * epsilon)[0], epsilon)
    )
    for name in ("laplace", "sum", "histogram", "noisy maximum"):
        assert audited(name, 3 * SLICE) > EPSILON, name


# --- releases ---


@dataclass
class Case:
    """A release, and two tables that differ in one record: one that shows as much as possible."""

    name: str
    one: Any
    other: Any
    options: dict
    delta: float = 0.0

    def release(self, codes):
        coded = Coded(numbers(codes.shape[1]), codes)
        return find(self.name).load()(coded, Ledger(Budget(EPSILON, self.delta)), form="aggregated", **self.options)

    def figures(self, codes):
        """Return what is told of an output: how many records, how many rows, and where the first ones are."""
        released = self.release(codes)
        first = released.positions[0] if len(released.positions) else np.full(codes.shape[1], -1)
        return [released.counts.sum(), len(released.counts), *first]


def numbers(d):
    return Domain.of({f"x{j}": {"kind": "integer", "lower": 0, "upper": 7} for j in range(d)})


def rows(*pairs):
    return np.array(pairs, np.int64)


LINE, LONGER = SMALL[:, None], np.append(SMALL, 0)[:, None]
PLANE = np.stack([SMALL, SMALL[::-1]], axis=1)
WIDER = np.vstack([PLANE, [[0, 7]]])
# beta = 1 / 4 and k = 5 at epsilon 1.
SAMPLED = 2 * sampling_delta(5, 0.25, EPSILON)
HALF = 2 * sampling_delta(5, 0.25, EPSILON / 2)
SAFE = {"k": 5, "beta": 0.25}
FIVE = np.full((8, 1), 7)
CASES = {
    "intervals": Case("intervals", LINE, LONGER, {"alpha": 3}),
    "intervals of two": Case("intervals", PLANE, WIDER, {"alpha": 3}),
    "noisy-means": Case("noisy-means", LINE, LONGER, {"k": 3}),
    # One group: the record takes the place of the end of the curve, on the other side of the domain.
    "noisy-means of two": Case("noisy-means", rows([7, 0]), rows([7, 0], [0, 7]), {"k": 40}),
    "small-db": Case("small-db", LINE, LONGER, {"alpha": 0.9}),
    "strongly-safe": Case("strongly-safe", FIVE, np.vstack([FIVE, [[7]]]), SAFE, SAMPLED),
    "epsilon-safe": Case("epsilon-safe", FIVE, np.vstack([FIVE, [[7]]]), {**SAFE, "alpha": 3}, HALF),
}
NOISY = [name for name, case in CASES.items() if not case.delta]


def repeated(monkeypatch, seed=1):
    """Sample the same records in every run of a test."""
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(sampling, "kept", lambda n, rate: rng.random(n) < float(rate))


def loss_of(case, monkeypatch, one=None, other=None, seeds=1):
    """Return the largest loss of tapes played both ways."""
    one, other = (case.one, case.other) if one is None else (one, other)
    worst = 0.0
    for seed in range(seeds):
        for pair in ((one, other), (other, one)):
            worst = max(worst, told(case.release, *pair, monkeypatch, Sampler(seed)).loss)
        if worst == np.inf:
            break
    return worst


@pytest.mark.parametrize("name", CASES)
def test_a_release_says_nothing_that_was_not_paid_for(name, monkeypatch):
    case = CASES[name]
    monkeypatch.setattr(sampling, "kept", lambda n, rate: np.zeros(n, bool))
    assert loss_of(case, monkeypatch) <= EPSILON * (1 + 1e-9)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("name", [*NOISY, "epsilon-safe"])
def test_no_table_makes_a_release_say_more(name, data, monkeypatch):
    case = CASES[name]
    monkeypatch.setattr(sampling, "kept", lambda n, rate: np.zeros(n, bool))
    d = case.one.shape[1]
    row = st.lists(st.integers(0, 7), min_size=d, max_size=d)
    one = np.array(data.draw(st.lists(row, min_size=1, max_size=12)), np.int64)
    other = np.vstack([one, data.draw(row)])
    assert loss_of(case, monkeypatch, one, other) <= EPSILON * (1 + 1e-9)


@pytest.mark.parametrize("name", CASES)
def test_a_release_gives_away_no_more_than_it_says(name, monkeypatch):
    case = CASES[name]
    seeded(monkeypatch)
    repeated(monkeypatch)
    one, other = (outputs(lambda codes=codes: case.figures(codes), SLICE) for codes in (case.one, case.other))
    assert empirical_epsilon(one, other, delta=case.delta) <= EPSILON


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_200000_runs_of_a_release(name, monkeypatch):
    """Of releases without delta, all answers are looked at, by their likelihood ratio: no test is sharper."""
    case = CASES[name]
    seeded(monkeypatch, noise=False)
    if case.delta:
        one, other = (outputs(lambda codes=codes: case.figures(codes), RUNS) for codes in (case.one, case.other))
    else:
        real = mechanisms.drawn

        def ratio(here, there, sign):
            return sign * told(case.release, here, there, monkeypatch, real).likelihood

        one = outputs(lambda: ratio(case.one, case.other, 1), RUNS)
        other = outputs(lambda: ratio(case.other, case.one, -1), RUNS)
    assert empirical_epsilon(one, other, delta=case.delta) <= EPSILON


# --- faults ---


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


def bounds_of_the_data(case):
    """Return a case in which the least value of the table is taken for that of the domain."""

    @dataclass
    class Unpaid(Case):
        def release(self, codes):
            least = codes.min(axis=0)
            found = super().release(codes - least)
            return Released(found.domain, found.positions + least, found.counts, found.said)

    return Unpaid(case.name, case.one, case.other, case.options, case.delta)


def exact_size(case):
    """Return a case in which the last row gets the count that makes their sum that of the table."""

    @dataclass
    class Exact(Case):
        def release(self, codes):
            found = super().release(codes)
            counts = np.append(found.counts, len(codes) - found.counts.sum())
            return Released(found.domain, np.vstack([found.positions, found.positions[-1:]]), counts, found.said)

    return Exact(case.name, case.one, case.other, case.options, case.delta)


MODULES = {"intervals": intervals, "noisy-means": insensitive, "small-db": small_db}


@pytest.mark.parametrize("name", NOISY)
def test_half_the_noise_is_caught(name, monkeypatch):
    case = CASES[name]
    module = MODULES[case.name]
    with_half_the_noise(monkeypatch, module, "laplace")
    if case.name == "small-db":
        with_half_the_noise(monkeypatch, module, "noisy_maximum")
    if case.name == "intervals":
        # No record is in all counts of a search, but there is one for each of them.
        tape = told(case.release, case.one, case.one, monkeypatch, Sampler(0))
        assert sum(unit for _, _, unit, _, _ in tape.answers) > EPSILON
    else:
        assert loss_of(case, monkeypatch) > EPSILON


@pytest.mark.parametrize("name", NOISY)
def test_an_unpaid_bound_is_caught(name, monkeypatch):
    case = bounds_of_the_data(CASES[name])
    one = case.one[(case.one > 0).all(axis=1)]
    zero = np.zeros((1, one.shape[1]), int)
    one = one if len(one) else zero + 7
    assert loss_of(case, monkeypatch, one, np.vstack([one, zero]), seeds=4) == np.inf


def test_a_dimension_saved_twice_is_caught(monkeypatch):
    """In intervals, each of d levels pays with the whole budget; in means, the sum over d coordinates is forgotten."""
    means = CASES["noisy-means of two"]
    right = insensitive.change_of_sums
    monkeypatch.setattr(insensitive, "change_of_sums", lambda groups, d: right(groups, d) // d)
    assert loss_of(means, monkeypatch) > EPSILON
    monkeypatch.setattr(insensitive, "change_of_sums", right)
    levels = CASES["intervals of two"]
    right_ends = intervals._ends

    def generous(ledger, values, of, counts, size, wanted, epsilon, what):
        ledger.charge(what, epsilon)
        return right_ends(Ledger(Budget(4 * epsilon)), values, of, counts, size, wanted, 4 * epsilon, what)

    monkeypatch.setattr(intervals, "_ends", generous)
    assert loss_of(levels, monkeypatch, rows([0, 0]), rows([0, 0], [0, 0])) > EPSILON


@pytest.mark.parametrize(
    ("name", "words", "records"),
    [
        ("intervals", "the number of records", 101),
        ("intervals", "the counts of all boxes", 12),
        ("intervals of two", "before the cut", 61),
        ("noisy-means", "the number of records", 12),
        ("small-db", "the number of records", 12),
    ],
)
def test_an_exact_count_is_caught(name, words, records, monkeypatch):
    case = CASES[name]
    seeded(monkeypatch)
    without_noise(monkeypatch, MODULES[case.name], words)
    monkeypatch.setattr(intervals, "CLEAR", 0.0)
    # Where a record more makes a difference: 12 records make 4 groups of 3, and 11 make 3.
    more = np.resize(case.one, (records, case.one.shape[1]))
    assert loss_of(case, monkeypatch, more[:-1], more, seeds=60) == np.inf


@pytest.mark.parametrize("name", ["intervals", "noisy-means", "small-db"])
def test_an_exact_size_is_caught(name, monkeypatch):
    assert loss_of(exact_size(CASES[name]), monkeypatch) == np.inf


@pytest.mark.parametrize("fault", ["mean", "no threshold", "everybody", "twice the rate"])
def test_faults_of_sampling_are_caught(fault, monkeypatch):
    """A mean of a cell, cells with fewer than k, a sample of everybody, and a rate above the one that was paid."""
    case, one, other = CASES["strongly-safe"], FIVE, np.vstack([FIVE, [[7]]])
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
