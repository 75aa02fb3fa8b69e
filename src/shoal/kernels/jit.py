"""How every kernel of the house is compiled: cached, without the GIL, without reordering of sums.

Numba is loaded when a kernel is first called, so that modules with kernels can be imported by commands that need none.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, update_wrapper
from threading import RLock
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

# No fastmath: sums keep their order. No C entry point, which nobody uses. Arrays are counted, also in a kernel that is
# compiled for one that only lends (see `lent`), and would inherit its options.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": True}

_loading = RLock()
# Who is told that the compiler was started.
_told: list[Callable[[], None]] = []


class Kernel:
    """A function that is handed to numba when it is first called, by Python or by another kernel.

    Parameters
    ----------
    function : function
    options : dict
        Of numba.
    cached : bool
        Whether what was compiled is kept between runs.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], *, cached: bool) -> None:
        update_wrapper(self, function)
        self._function, self._options, self._cached = function, options, cached
        self._compiled: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel."""
        return (self._compiled or self._loaded())(*arguments)

    def __getattr__(self, name: str) -> Any:
        """Whatever else is asked for, numba knows: `signatures`, and what it asks itself of a kernel that is called."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._compiled or self._loaded(), name)

    def _loaded(self) -> Any:
        with _loading:
            if self._compiled is None:
                self._compiled = _dispatcher(self._function, self._options, cached=self._cached)
        return self._compiled


def kernel(function: F) -> F:
    """Compile `function` with the options of the house."""
    return cast(F, Kernel(function, OPTIONS, cached=True))


def inner(function: F) -> F:
    """Compile a kernel that only other kernels call: without the way in from Python, which takes long to compile."""
    return cast(F, Kernel(function, {**OPTIONS, "no_cpython_wrapper": True}, cached=True))


def lent(function: F) -> F:
    """Compile a kernel that only other kernels call, and that makes no arrays: all that it has are lent by its caller.

    Numba counts who uses an array. A call with a tuple of thirty arrays costs sixty counts, which took longer than the
    search itself; whoever lends an array keeps it, so nothing need be counted. The option is a private one of Numba: a
    version that has it no more counts again, with the same results.
    """
    return cast(F, Kernel(function, {**OPTIONS, "no_cpython_wrapper": True, "_nrt": False}, cached=True))


def inlined(function: F) -> F:
    """Make `function` part of each kernel that calls it, instead of a kernel of its own.

    Numba optimises everything that a kernel calls again with it, so that layers of small kernels around a large one
    multiply the time of the first call.
    """
    return cast(F, Kernel(function, {**OPTIONS, "inline": "always"}, cached=False))


def _dispatcher(function: Callable[..., Any], options: dict[str, Any], *, cached: bool) -> Any:
    import numba

    from shoal.kernels.cache import cache_of

    _listen()
    compiled = numba.njit(**_known(options))(function)
    if cached:
        compiled._cache = cache_of(function)
    return compiled


def _known(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options without private ones that this version of Numba does not have."""
    from numba.core import cpu

    known = getattr(cpu, "CPUTargetOptions", None)
    return {name: value for name, value in options.items() if not name.startswith("_") or hasattr(known, name)}


def collect_rarely() -> None:
    """Look for garbage less often in a process that mainly loads modules and compiles: almost all it makes stays."""
    gc.set_threshold(500_000, 20, 100)


def leave_the_rest() -> None:
    """Look for no garbage among all that a process has loaded when it ends, which takes as long as a small search."""
    gc.freeze()


def compile_for(compiled: Any, *examples: Any) -> None:
    """Compile a kernel for arguments like these, or take it from the cache; it is not run."""
    import numba

    compiled.compile(tuple(numba.typeof(example) for example in examples))


def is_missing(compiled: Any) -> bool:
    """Return whether a kernel could be cached, but is not, and was not compiled in this process either."""
    from shoal.kernels.cache import KernelCache

    kept = compiled._cache
    return isinstance(kept, KernelCache) and not compiled.signatures and not kept.files.any()


@contextmanager
def told_of_compiling(callback: Callable[[], None]) -> Iterator[None]:
    """Have `callback` called whenever a kernel is compiled, as no cache has it yet."""
    _told.append(callback)
    try:
        yield
    finally:
        _told.remove(callback)


@cache
def _listen() -> None:
    """Pass on, from now on, that the compiler was started."""
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            for callback in tuple(_told):
                callback()

        def on_end(self, event: Any) -> None:
            """Nothing is to be said then."""

    event.register("numba:compile", Listener())
