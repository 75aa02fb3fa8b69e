"""Five faults that are planted in the private Mondrian and in the histogram: the epsilon that is measured tells."""

import numpy as np
import pytest
from benchmarks.auditing import empirical_epsilon, outputs

from auditing import seeded
from shoal.dp import Budget, Coded, Domain, Ledger, mechanisms
from shoal.dp import leaves as leaves_
from shoal.dp.cuts import UNIT
from shoal.dp.grids import histogram_release
from shoal.dp.leaves import described
from shoal.dp.mondrian import grown, mondrian

CLAIM = 1.0
# Of runs that are made anew each time: once in a million times, what is right would look wrong.
SURE = 1 - 1e-6
LINE = Domain.of({"x": {"kind": "integer", "lower": 0, "upper": 3}})
CUBE = Domain.of({f"x{at}": {"kind": "integer", "lower": 0, "upper": 8} for at in range(16)})
# Neighbours: the second has one record more, as far out as can be.
NEAR = np.array([[0], [1], [3]]), np.array([[0], [1], [3], [3]])
CORNER = np.full((4, 16), 4), np.vstack([np.full((4, 16), 4), np.full((1, 16), 8)])


@pytest.fixture(autouse=True)
def the_same_noise_each_time(request, monkeypatch):
    """The claim on the noise of counts is about the noise that is really drawn."""
    if "noise_of_counts" not in request.node.name:
        seeded(monkeypatch)


def of_histogram(codes):
    made = histogram_release(Coded(LINE, codes), Ledger(Budget(CLAIM)), bins=4, form="aggregated")
    told = dict(zip(made.positions[:, 0].tolist(), made.counts.tolist(), strict=True))
    return tuple(min(told.get(place, 0), 6) for place in (0.0, 3.0))


def of_sums(codes):
    """Centres of one box with many attributes, all of which the further record changes as much as it can."""
    coded, ledger = Coded(CUBE, codes), Ledger(Budget(CLAIM))
    tree = grown(coded, ledger, CLAIM / 100, records=1e9)
    tree.counts[0] = 4.0  # public here, so that all that is seen is paid for by the sums
    answers = described(coded, tree, ledger, ledger.remaining[0])
    return (int(np.clip(np.floor(answers.offsets.sum() * 2), -16, 16)),)


def of_records(codes):
    return (len(mondrian(Coded(LINE, codes), Ledger(Budget(CLAIM))).positions),)


def measured(what, tables, runs):
    return empirical_epsilon(*(outputs(lambda codes=codes: what(codes), runs) for codes in tables))


def laplace_runs(runs):
    """Return two samples of a noisy count, of neighbours: runs that share no noise are parts of one vector."""
    return [
        np.clip(mechanisms.laplace(Ledger(Budget(CLAIM)), np.full(runs, count), CLAIM), -20, 20).tolist()
        for count in (0, 1)
    ]


def test_the_noise_of_counts_is_as_small_as_the_claim_allows_and_not_smaller():
    proven = empirical_epsilon(*laplace_runs(20_000), confidence=SURE)
    assert 0.8 * CLAIM < proven <= CLAIM


# --- five faults ---


def test_half_the_noise_is_caught(monkeypatch):
    real = mechanisms._calibrated

    def halved(make, distance, epsilon, kind=None):
        return real(make, distance, 2 * epsilon, kind)[0], epsilon

    monkeypatch.setattr(mechanisms, "_calibrated", halved)
    assert empirical_epsilon(*laplace_runs(20_000)) > CLAIM


def test_a_bound_that_nobody_paid_for_is_caught():
    def of_own_bounds(codes):
        domain = Domain.of({"x": {"kind": "integer", "lower": 0, "upper": int(codes.max())}})
        made = histogram_release(Coded(domain, codes), Ledger(Budget(CLAIM)), bins=2, form="records")
        return (int(made.positions.max()) if len(made.positions) else -1,)

    outlier = np.repeat([[0], [1]], 20, axis=0), np.vstack([np.repeat([[0], [1]], 20, axis=0), [[3]]])
    assert measured(of_own_bounds, outlier, 150) > CLAIM


def test_saving_the_number_of_attributes_twice_is_caught(monkeypatch):
    real = mechanisms.laplace

    def saved(*given, sensitivity=1, **named):
        return real(*given, sensitivity=min(sensitivity, UNIT), **named)

    monkeypatch.setattr(mechanisms, "laplace", saved)
    assert measured(of_sums, CORNER, 300) > CLAIM


def test_an_exact_count_is_caught(monkeypatch):
    def exact(ledger, values, epsilon, *, sensitivity=1, what=""):
        ledger.charge(what, epsilon)
        return np.asarray(values)

    monkeypatch.setattr(mechanisms, "laplace", exact)
    assert measured(of_histogram, NEAR, 100) > CLAIM


def test_an_exact_size_is_caught(monkeypatch):
    monkeypatch.setattr(leaves_, "consistent", lambda tree: np.array([end - start for start, end in tree.rows], float))
    assert measured(of_records, NEAR, 100) > CLAIM
