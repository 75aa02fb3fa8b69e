"""How every kernel of the house is compiled: cached, without the GIL, without reordering of sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` with the options of the house (no fastmath: sums keep their order)."""
    compiled: Any = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    return compiled  # type: ignore[no-any-return]


def inlined(function: F) -> F:
    """Make `function` part of each kernel that calls it, instead of a kernel of its own.

    Numba optimises everything that a kernel calls again with it, so that layers of small kernels around a large one
    multiply the time of the first call.
    """
    compiled: Any = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")(function)
    return compiled  # type: ignore[no-any-return]
