"""Small tables, and estimates of the epsilon that a mechanism really has."""

import math

import numpy as np
from scipy import stats

from shoal.dp import Coded, Domain

MIXED = Domain.of(
    {
        "age": {"kind": "integer", "lower": 0, "upper": 9},
        "income": {"kind": "continuous", "lower": 0, "upper": 1, "step": 0.01},
        "sex": {"kind": "nominal", "values": ["f", "m"]},
        "town": {"kind": "hierarchical", "hierarchy": {"N": ["a", "b"], "S": ["c", "d", "e"]}},
    }
)


def table(domain, n, seed):
    generator = np.random.default_rng(seed)
    return Coded(domain, np.stack([generator.integers(0, size, n) for size in domain.sizes], axis=1))


def lower_bound(first, second, confidence=0.95):
    """Return an epsilon that two samples of outcomes (hashable) of neighbouring tables prove, with this confidence.

    For every event, of which the most telling are chosen on one half of the runs, Clopper-Pearson bounds on the other
    half: the log of the quotient of a lower and an upper bound of its probability.
    """
    half = len(first) // 2
    train, test = (first[:half], second[:half]), (first[half:], second[half:])
    outcomes = sorted(set(train[0]) | set(train[1]), key=repr)
    place = {outcome: at for at, outcome in enumerate(outcomes)}

    def counts(runs):
        found = np.zeros(len(outcomes) + 1)
        for one in runs:
            found[place.get(one, len(outcomes))] += 1
        return found

    a, b = counts(train[0]), counts(train[1])
    ratio = (a + 1) / (b + 1)
    later_a, later_b = counts(test[0]), counts(test[1])
    best = 0.0
    events = 0
    for order, (one, other) in (
        (np.argsort(-ratio, kind="stable"), (later_a, later_b)),
        (np.argsort(ratio, kind="stable"), (later_b, later_a)),
    ):
        # The most telling outcomes together: a few sizes of the event, chosen beforehand.
        share = np.cumsum((a if one is later_a else b)[order]) / half
        for wanted in (0.02, 0.1, 0.3, 0.5):
            events += 1
            upto = int(np.searchsorted(share, wanted)) + 1
            best = max(best, _proven(one[order[:upto]].sum(), other[order[:upto]].sum(), len(test[0]), confidence))
    return best


def _proven(hits, others, runs, confidence):
    alpha = (1 - confidence) / 16  # eight events, two bounds each
    low = stats.beta.ppf(alpha, hits, runs - hits + 1) if hits else 0.0
    high = stats.beta.ppf(1 - alpha, others + 1, runs - others) if others < runs else 1.0
    return math.log(low / high) if low > 0 else 0.0
