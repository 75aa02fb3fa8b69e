"""Refuse what would not fit into memory, before anything is computed."""

from __future__ import annotations

import os
from pathlib import Path

from shoal.errors import TooLargeError

_CGROUPS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)


def available() -> int | None:
    """Return the bytes of memory that can still be had, or None where the system does not tell."""
    free: list[int] = []
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except OSError:
        try:
            free.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        except (AttributeError, OSError, ValueError):
            return None
    for limit, usage in _CGROUPS:
        try:
            free.append(int(limit.read_text()) - int(usage.read_text()))
        except (OSError, ValueError):
            continue
    return min(free) if free else None


def require(size: int, method: str, what: str) -> None:
    """Raise TooLargeError if `size` bytes are more than the memory that is left.

    Parameters
    ----------
    size : int
        Bytes.
    method, what : str
        Who needs them and for what, for the message.
    """
    free = available()
    if free is not None and size > free:
        raise TooLargeError(
            f"The method {method!r} needs {size / 2**30:.1f} GiB for {what}; {free / 2**30:.1f} GiB are free.",
            hint="use a method with memory O(n d), such as 'mdav*', a smaller k, or fewer records.",
        )
