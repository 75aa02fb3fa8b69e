"""Plain definitions of the measures of risk, by loops over records and pairs: the oracles of the tests."""

import json
from collections import Counter
from gzip import open as open_gzip
from itertools import combinations
from math import factorial
from pathlib import Path

import numpy as np
import pytest

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference"


def reference(name):
    """Return a file of sdcMicro's figures, or skip where they are not there."""
    path = REFERENCE / name
    if not path.exists():
        pytest.skip("sdcMicro's figures absent: they are looked for in shared/reference beside the checkout")
    if name.endswith(".csv.gz"):
        import pandas as pd

        return pd.read_csv(path)
    if name.endswith(".gz"):
        with open_gzip(path, "rt") as file:
            return json.load(file)
    return json.loads(path.read_text(encoding="utf-8"))


def agree(a, b, missing):
    """Whether two values agree; None is missing."""
    if missing == "any" and (a is None or b is None):
        return True
    return a == b


def counts(rows, weights, missing="value"):
    """Return f and F of each row: the number and the weight of the rows that agree with it in all values."""
    alike = [[all(agree(a, b, missing) for a, b in zip(one, two, strict=True)) for two in rows] for one in rows]
    f = [sum(line) for line in alike]
    return f, [sum(w for w, same in zip(weights, line, strict=True) if same) for line in alike]


def minimal_uniques(rows):
    """Return the minimal sample uniques of each row: sets of positions."""
    d = len(rows[0])
    found = [[] for _ in rows]
    for size in range(1, d + 1):
        for subset in combinations(range(d), size):
            times = Counter(tuple(row[j] for j in subset) for row in rows)
            for i, row in enumerate(rows):
                values = tuple(row[j] for j in subset)
                if None not in values and times[values] == 1 and not any(set(msu) < set(subset) for msu in found[i]):
                    found[i].append(subset)
    return found


def suda_scores(rows, fraction):
    """Return scores, DIS-SUDA scores and contributions of all rows."""
    d = len(rows[0])
    msus = minimal_uniques(rows)
    scores = [sum(factorial(d - len(msu)) for msu in own) for own in msus]
    parts = [
        [sum(factorial(d - len(msu)) for msu in own if j in msu) / (score or 1) for j in range(d)]
        for own, score in zip(msus, scores, strict=True)
    ]
    times = Counter(rows)
    uniques, pairs = sum(c == 1 for c in times.values()), sum(c for c in times.values() if c == 2)
    power = 1 + (8 - d) / 20
    total = sum(score**-power for score in scores if score)
    if not uniques:
        return scores, [0.0] * len(rows), parts
    dis = uniques * fraction / (uniques * fraction + pairs * (1 - fraction))
    odds = uniques / dis - uniques
    return scores, [1 / (1 + odds / (score**power * total)) if score else 0.0 for score in scores], parts


def random_rows(rng, n, levels, gaps=0.0):
    """Return n rows of small numbers, with None for missing ones."""
    table = np.column_stack([rng.integers(0, level, n) for level in levels])
    gone = rng.random(table.shape) < gaps
    return [tuple(None if gone[i, j] else int(table[i, j]) for j in range(len(levels))) for i in range(n)]


# --- linkage ---


def link_chances(X, Y, m=1):
    """Return, for each record, the chance that its own row is among the m nearest, and whether none is nearer."""
    chances, nearest = [], []
    for i, x in enumerate(X):
        squares = [float(((np.asarray(y) - x) ** 2).sum()) for y in Y]
        room = 1e-9 * squares[i] + 1e-18
        nearer = sum(square < squares[i] - room for square in squares)
        level = sum(abs(square - squares[i]) <= room for square in squares)
        chances.append(min(1.0, max(0.0, (m - nearer) / level)))
        nearest.append(nearer == 0)
    return chances, nearest


def agreement_patterns(ours, theirs):
    """Return the pattern of each pair of rows: bit j is set if they agree in value j; None agrees with nothing."""
    return [
        [sum((a == b and a is not None) << j for j, (a, b) in enumerate(zip(one, two, strict=True))) for two in theirs]
        for one in ours
    ]


def pattern_chances(patterns, weights):
    """Return the chance of each record to be linked to its own row, by the highest weight."""
    chances = []
    for i, line in enumerate(patterns):
        found = [weights[pattern] for pattern in line]
        best = max(found)
        chances.append((found[i] >= best - 1e-9) / sum(weight >= best - 1e-9 for weight in found))
    return chances


def expectation_maximisation(patterns, d, share, rounds):
    """Return m and u after some rounds over all pairs, one by one."""
    agree = np.array([[pattern >> j & 1 for j in range(d)] for line in patterns for pattern in line], float)
    u = np.clip(agree.mean(axis=0), 1e-9, 1 - 1e-9)
    m = np.maximum(u, 0.9)
    for _ in range(rounds):
        matching = share * np.prod(np.where(agree == 1, m, 1 - m), axis=1)
        other = (1 - share) * np.prod(np.where(agree == 1, u, 1 - u), axis=1)
        sure = matching / (matching + other)
        m = np.clip(sure @ agree / sure.sum(), 1e-9, 1 - 1e-9)
        u = np.clip((1 - sure) @ agree / (1 - sure).sum(), 1e-9, 1 - 1e-9)
    return m, u


# --- attacks ---


def nearest_rows(x, Y):
    """Return the places of all rows of Y that no other is nearer to x than."""
    squares = [float(((np.asarray(y) - x) ** 2).sum()) for y in Y]
    least = min(squares)
    return [at for at, square in enumerate(squares) if square <= least * (1 + 1e-9) + 1e-18]


def guess_chances(X, Y, truth, published):
    """Return the chance of each record that the most frequent value of its nearest rows is the true one."""
    chances = []
    for x, own in zip(X, truth, strict=True):
        times = Counter(published[at] for at in nearest_rows(x, Y))
        top = [value for value, count in times.items() if count == max(times.values())]
        chances.append((own in top) / len(top))
    return chances


def bridge_chances(A, B, P, Q):
    """Return the chance of each record of A to be joined to its own of B, over the rows (P, Q) of a release."""
    chances = []
    for own, a in enumerate(A):
        rows = nearest_rows(a, P)
        joined = 0.0
        for row in rows:
            found = nearest_rows(Q[row], B)
            joined += (own in found) / len(found)
        chances.append(joined / len(rows))
    return chances


def matches(rows, limits):
    """Return how many rows lie within all limits; a limit of NaN asks for a missing value."""

    def within(value, low, high):
        return np.isnan(value) if np.isnan(low) else low <= value <= high

    return sum(all(within(value, low, high) for value, (low, high) in zip(row, limits, strict=True)) for row in rows)


def area_below_curve(members, others):
    """Return the chance that a member is nearer than somebody else, equal distances counting half."""
    return float(np.mean([(a < b) + (a == b) / 2 for a in members for b in others]))
