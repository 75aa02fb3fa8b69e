"""What does not matter: row order, memory layout, threads, who calls, and whether the process was forked."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import shoal
from invariants import check_permutation, check_threads

NAMES = [m.name for m in shoal.methods()]
SEED = {"random_state": 5}
# Row order is part of the definition: md takes the later row of a pair first (mst splits by md), npn-mhm
# starts at the earlier one, and sums of ranks have ties in any data.
BY_ROW = {"md", "md-mhm", "mst", "npn-mhm", "sbm"}
# A random start permutes rows; the rounds visit groups by their first row in the end.
BY_ROW |= {"ona", "lmas", "ona*", "ona*-gamma", "mona", "mona-2d", "ona-blocks", "mu-approx", "exact"}
# Where a search is kicked next is drawn by row.
BY_ROW |= {"anytime"}
# By the clock a search would be neither quick nor reproducible; a few random starts are like many.
SEARCH = {"anytime": {"max_steps": 300}, "ona": {"n_init": 4}, "lmas": {"n_init": 4}}


def table(method, n=240, d=4, seed=0):
    n = 14 if method == "exact" else n
    X = np.random.default_rng(seed).normal(size=(n, d))
    return np.ascontiguousarray(X[:, :1]) if method == "univariate" else X


@pytest.mark.parametrize("method", [name for name in NAMES if name not in BY_ROW])
def test_row_order_does_not_matter_without_ties(method):
    rng = np.random.default_rng(1)
    for seed in range(8):
        check_permutation(table(method, 90 + 13 * seed, seed=seed), (2, 3, 7)[seed % 3], method, rng)


@pytest.mark.parametrize("method", NAMES)
def test_layout_and_type_of_the_input_do_not_matter(method):
    X = table(method)
    X = np.round(X * 8) / 8  # exact in float32
    own = SEED | SEARCH.get(method, {})
    labels = shoal.partition(X, 3, method, **own)
    frozen = X.copy()
    frozen.setflags(write=False)
    wide = np.zeros((len(X), 2 * X.shape[1]))
    wide[:, ::2] = X
    for other in (frozen, np.asfortranarray(X), X.astype(np.float32), wide[:, ::2], X.tolist()):
        np.testing.assert_array_equal(shoal.partition(other, 3, method, **own), labels)
    np.testing.assert_array_equal(
        shoal.partition((X * 8).astype(np.int64), 3, method, **own), shoal.partition(X * 8, 3, method, **own)
    )


@pytest.mark.parametrize("method", NAMES)
def test_threads_do_not_matter(method):
    options = {"gamma": "best"} if method in ("v-mdav", "mdav*-gamma", "ona*-gamma") else SEED | SEARCH.get(method, {})
    check_threads(table(method), 4, method, **options)


def test_threads_do_not_matter_for_median_cuts_of_many_records():
    X = np.random.default_rng(0).normal(size=(70_000, 3))
    for method in ("mondrian", "mondrian-v", "mondrian-v2d"):
        check_threads(X, 10, method)


@pytest.mark.parametrize("method", NAMES)
def test_four_callers_at_once(method):
    tables = [table(method, seed=seed) for seed in range(4)]
    own = SEED | SEARCH.get(method, {})
    alone = [shoal.partition(X, 3, method, **own) for X in tables]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda X: shoal.partition(X, 3, method, **own), tables * 3))
    for a, b in zip(alone * 3, together, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_fork():
    X = table("mdav")
    expected = shoal.partition(X, 3, "mdav*-gamma", gamma="best", n_jobs=2)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:  # the child: no pytest machinery beyond this point
        labels = shoal.partition(X, 3, "mdav*-gamma", gamma="best", n_jobs=2)
        os.write(writer, labels.astype(np.int8).tobytes())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        received = np.frombuffer(pipe.read(), np.int8)
    assert os.waitpid(pid, 0)[1] == 0
    np.testing.assert_array_equal(received, expected)


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("method", NAMES)
def test_no_method_writes_to_its_input(method, d):
    X = np.random.default_rng(9).normal(size=(28, 1 if method == "univariate" else d))
    before = X.copy()
    shoal.partition(X, 3, method, **SEED, **SEARCH.get(method, {}))
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("name", [refinement.name for refinement in shoal.refinements()])
def test_no_refinement_writes_to_its_input(name):
    X = np.random.default_rng(9).normal(size=(28, 1))
    labels = shoal.partition(X, 3, "mdav")
    before = X.copy(), labels.copy()
    shoal.refine(X, labels, 3, name, **SEARCH.get(name, {}))
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(labels, before[1])
