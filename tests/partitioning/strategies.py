"""Tables that are awkward in every way we could think of."""

import numpy as np
from hypothesis import strategies as st

KINDS = (
    "gaussian",
    "integers",
    "duplicates",
    "constant column",
    "collinear",
    "clusters",
    "offset",
    "skewed",
    "equal",
    "half equal",
    "few kinds",
)


def table(kind, n, d, rng):
    """Return float64[n, d] of the given kind."""
    X = rng.normal(size=(n, d))
    if kind == "integers":
        X = rng.integers(0, 3, size=(n, d)).astype(float)
    elif kind == "duplicates":
        X = X[rng.integers(0, max(1, n // 3), size=n)]
    elif kind == "constant column":
        X[:, rng.integers(d)] = 7.25
    elif kind == "collinear":
        X = X[:, :1] * rng.normal(size=d)
    elif kind == "clusters":
        X = X * 1e-3 + rng.integers(0, 4, size=(n, 1)) * 10
    elif kind == "offset":
        X = X * 1e-3 + 1e9
    elif kind == "skewed":
        X = np.exp(4 * X)
    elif kind == "equal":
        X[:] = X[0]
    elif kind == "half equal":
        X[rng.permutation(n)[: n // 2]] = X[0]
    elif kind == "few kinds":
        X = X[rng.integers(0, min(n, 3), size=n)]
    return np.ascontiguousarray(X)


@st.composite
def cases(draw, most_records=90, most_columns=30, largest_k=50, one_column=False):
    """Draw (kind, X, k) with n from k to 4k and around multiples of k."""
    k = draw(st.one_of(st.integers(2, 6), st.integers(2, largest_k)))
    multiple = draw(st.integers(1, 4))
    n = multiple * k + draw(st.integers(-1, 1)) if draw(st.booleans()) else draw(st.integers(k, 4 * k))
    if k <= 6 and draw(st.booleans()):
        n = draw(st.integers(k, most_records))
    n = min(max(n, k), max(most_records, 2 * k + 1))
    d = 1 if one_column else draw(st.one_of(st.integers(1, 4), st.integers(1, most_columns)))
    kind = draw(st.sampled_from(KINDS))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return kind, table(kind, n, d, rng), k


def points(kind, n, d, seed, *, offset=1e9, spread=1000):
    """Return records of one kind: normal, duplicates, clustered, collinear, wide, or far from the origin."""
    rng = np.random.default_rng([seed, n, d])
    if kind == "normal":
        return rng.normal(size=(n, d))
    if kind == "duplicates":
        return rng.integers(0, 3, (n, d)).astype(float)
    if kind == "clustered":
        return spread * rng.normal(size=(3, d))[rng.integers(0, 3, n)] + rng.normal(size=(n, d))
    if kind == "collinear":
        return np.outer(rng.random(n), np.arange(1, d + 1))
    if kind == "wide":
        return np.exp(3 * rng.normal(size=(n, d)))
    return offset + rng.random((n, d))
