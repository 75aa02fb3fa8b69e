"""Values that are computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class Later(Generic[T]):
    """A value that is computed once, when it is first asked for; what it is computed from is then let go.

    Parameters
    ----------
    compute : callable
        Returns the value. Nobody else may change what it looks at.
    """

    __slots__ = ("_compute", "_lock", "_value")

    def __init__(self, compute: Callable[[], T]) -> None:
        self._compute: Callable[[], T] | None = compute
        self._lock = Lock()

    def __call__(self) -> T:
        """Return the value."""
        with self._lock:
            if self._compute is not None:
                self._value = self._compute()
                self._compute = None
        return self._value

    def __repr__(self) -> str:
        return f"Later({'to be computed' if self._compute is not None else 'computed'})"
