"""Sensitive attributes, demands on them and tables to try both on."""

import numpy as np
from hypothesis import strategies as st

from partitioning.strategies import KINDS, table
from shoal.privacy.demands import Demand, offending
from shoal.privacy.models import model
from shoal.tables.sensitive import Line, Sensitive, Tree

SPECS = (
    "k-anonymity k=3",
    "distinct-diversity l=2",
    "p-sensitive p=3",
    "entropy-diversity l=2.5",
    "recursive-diversity c=2 l=2",
    "recursive-diversity c=1 l=3",
    "alpha alpha=0.5",
    "t-closeness t=0.2",
    "t-closeness t=0.3 ground=equal",
    "delta-disclosure delta=1",
    "beta-likeness beta=1",
    "enhanced-beta-likeness beta=2",
)


def random_sensitive(n, ground, rng, missing=False):
    """Return an attribute of n records, each of whose values occurs, on a ground by name."""
    codes = np.unique(rng.integers(0, rng.integers(2, 12), n), return_inverse=True)[1].astype(np.int64)
    V = int(codes.max()) + 1
    if missing:
        for value in range(V):  # the first of each value stays
            rows = np.flatnonzero(codes == value)[1:]
            codes[rows[rng.random(len(rows)) < 0.3]] = -1
    on = None
    if ground == "line":
        on = Line(np.concatenate(([0.0], np.sort(rng.random(V - 2)), [1.0])) if V > 1 else np.zeros(1))
    elif ground == "tree":
        inner = int(rng.integers(1, 4))
        parents = np.concatenate(([-1], np.zeros(inner, np.int64), rng.integers(0, inner + 1, V)))
        heights = np.concatenate(([1.0], np.full(inner, 0.5), np.zeros(V)))
        on = Tree(parents, heights, np.arange(inner + 1, inner + 1 + V))
    return Sensitive("disease", codes, V, on)


def random_labels(n, rng):
    return np.unique(rng.integers(0, rng.integers(1, max(2, n // 3)), n), return_inverse=True)[1]


def error(X, labels):
    return sum(((X[labels == g] - X[labels == g].mean(axis=0)) ** 2).sum() for g in set(labels.tolist()))


def reachable(demand, rows):
    return not offending(np.zeros(len(rows), np.int64), [demand], rows).any()


@st.composite
def demanding_tables(draw, specs=(*SPECS, "n-t-closeness n=12 t=0.3"), most=60):
    """Draw records, k, demands that one group of all of them satisfies, the rows of the table, and labels."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k = draw(st.integers(2, 5))
    n = draw(st.one_of(st.integers(k, most), st.sampled_from([k, 2 * k - 1, 2 * k, 2 * k + 1])))
    X = table(draw(st.sampled_from(KINDS)), n, draw(st.integers(1, 4)), rng)
    whole = n + draw(st.sampled_from([0, 0, 7]))
    rows = np.sort(rng.permutation(whole)[:n])
    demands = []
    for _ in range(draw(st.integers(1, 2))):
        own = random_sensitive(whole, draw(st.sampled_from(["line", "tree", "equal"])), rng, draw(st.booleans()))
        demands.append(Demand(model(draw(st.sampled_from(specs))), own))
    demands = [demand for demand in demands if reachable(demand, rows)]
    if not demands:
        some = Sensitive("disease", (np.arange(whole) % 2)[np.argsort(np.argsort(rng.random(whole)))], 2)
        demands = [Demand(model("t-closeness t=1"), some)]
    return X, k, demands, rows, random_labels(n, rng)
