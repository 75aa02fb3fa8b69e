"""How every kernel of the house is compiled: cached, without the GIL, without reordering of sums."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import numba
from numba.core import event

from shoal.kernels.cache import cache_of

F = TypeVar("F", bound=Callable[..., Any])

# No fastmath: sums keep their order. No C entry point, which nobody uses.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def kernel(function: F) -> F:
    """Compile `function` with the options of the house."""
    return _cached(function, OPTIONS)


def inner(function: F) -> F:
    """Compile a kernel that only other kernels call: without the way in from Python, which takes long to compile."""
    return _cached(function, {**OPTIONS, "no_cpython_wrapper": True})


def inlined(function: F) -> F:
    """Make `function` part of each kernel that calls it, instead of a kernel of its own.

    Numba optimises everything that a kernel calls again with it, so that layers of small kernels around a large one
    multiply the time of the first call.
    """
    compiled: F = numba.njit(**{**OPTIONS, "inline": "always"})(function)
    return compiled


def _cached(function: F, options: dict[str, Any]) -> F:
    compiled: F = numba.njit(**options)(function)
    compiled._cache = cache_of(function)  # type: ignore[attr-defined]
    return compiled


def compile_for(compiled: Any, *examples: Any) -> None:
    """Compile a kernel for arguments like these, or take it from the cache; it is not run."""
    compiled.compile(tuple(numba.typeof(example) for example in examples))


class _Told(event.Listener):
    """Passes on that the compiler was started."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback = callback

    def on_start(self, event: Any) -> None:
        self.callback()

    def on_end(self, event: Any) -> None:
        """Nothing is to be said then."""


def told_of_compiling(callback: Callable[[], None]) -> AbstractContextManager[Any]:
    """Return a context in which `callback` is called whenever a kernel is compiled, as no cache has it yet."""
    context: AbstractContextManager[Any] = event.install_listener("numba:compile", _Told(callback))
    return context
