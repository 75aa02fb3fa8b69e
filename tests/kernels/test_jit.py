"""Kernels are functions until they are called; then numba is loaded, and compiles them."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
from numba.core import cpu

from shoal.kernels.jit import inlined, inner, kernel, lent, told_of_compiling
from shoal.kernels.sums import exact_mean

EVERY_MODULE = """
import importlib, pkgutil, sys
import shoal.kernels as kernels, shoal.partitioning as partitioning, shoal.release.pipeline
for package in (kernels, partitioning):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if module.name != "shoal.kernels.cache":
            importlib.import_module(module.name)
print([name for name in ("numba", "scipy", "sklearn", "highspy", "pandas") if name in sys.modules])
"""


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    """Have the kernels of these tests compiled each time."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))


def test_modules_with_kernels_are_loaded_without_numba():
    done = subprocess.run([sys.executable, "-c", EVERY_MODULE], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_kernels_call_each_other_in_every_way():
    @inlined
    def twice(x):
        return 2 * x

    @inner
    def more(x):
        return twice(x) + 1

    @kernel
    def most(x):
        return more(x) * 10

    @numba.njit
    def outside(x):
        return most(x) + twice(x)

    assert most(3) == 70
    assert outside(3) == 76
    assert most.signatures == [(numba.int64,)]


def counts_of_users(compiled):
    """Return how often a kernel that takes arrays counts who uses them."""
    return sum(text.count("@NRT_incref") for text in compiled.inspect_llvm().values())


def test_what_is_lent_is_not_counted():
    @lent
    def lending(pair):
        return pair[0][0] + pair[1][0]

    @inner
    def counting(pair):
        return pair[0][0] + pair[1][0]

    @kernel
    def both(x, way):
        pair = (x, x)
        kept = [pair]  # so that there is something to count
        return (lending(kept[0]) if way else counting(kept[0])) + len(kept)

    assert both(np.ones(3), True) == both(np.ones(3), False) == 3
    lending.compile(lending.signatures[0])
    wrong = (
        "`lent` relies on `_nrt`, a private option of Numba that has changed. Look in numba.core.options for what has "
        "taken its place. Results are the same without it, but searches under demands took half as long again."
    )
    assert counts_of_users(lending) == 0, wrong


@pytest.mark.parametrize("gone", ["the option", "its place"])
def test_what_is_lent_is_counted_by_a_numba_that_knows_no_better(monkeypatch, gone):
    for known in cpu.CPUTargetOptions.__mro__:
        if "_nrt" in vars(known):
            monkeypatch.delattr(known, "_nrt")
    if gone == "its place":
        monkeypatch.delattr(cpu, "CPUTargetOptions")

    @lent
    def lending(pair):
        return pair[0][0] + pair[1][0]

    @kernel
    def borrowing(x):
        return lending((x, x))

    assert borrowing(np.ones(3)) == 2


def test_a_kernel_keeps_its_name_and_words():
    assert exact_mean.__name__ == "exact_mean"
    assert exact_mean.__module__ == "shoal.kernels.sums"
    assert exact_mean.__doc__.startswith("Mean of all rows")
    with pytest.raises(AttributeError):
        exact_mean.__array__  # noqa: B018


def test_threads_that_call_a_kernel_at_once_share_it():
    made = []

    def function(x):
        return x + 1

    for _ in range(20):
        once = kernel(function)
        with ThreadPoolExecutor(4) as threads:
            made.append(len({id(compiled) for compiled in threads.map(lambda _, k=once: k._loaded(), range(8))}))
    assert made == [1] * 20


def test_all_that_listen_are_told_and_only_while_they_listen():
    @kernel
    def half(x):
        return x / 2

    one, other = [], []
    with told_of_compiling(lambda: one.append(1)):
        with told_of_compiling(lambda: other.append(1)):
            half(1)
        half(np.float32(1))
    half(np.uint8(1))
    assert len(one) == 2
    assert len(other) == 1


def test_a_kernel_that_makes_arrays_can_be_compiled_for_one_that_only_lends():
    @kernel
    def made(n):
        return np.full(n, 2.0).sum()

    @lent
    def through(x):
        return made(x.shape[0])

    @kernel
    def outermost(x):
        return through(x)

    assert outermost(np.ones(3)) == 6.0
    assert made(4) == 8.0
