"""Refuse what would not fit into memory, before anything is computed."""

from __future__ import annotations

import os
from pathlib import Path

from shoal.errors import TooLargeError

# Of a container: its limit, what is taken, and of what; pages of files among it go when memory is asked for.
_CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.stat",
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
    for limit, usage, stat in _CGROUPS:
        try:
            free.append(int(Path(limit).read_text()) - int(Path(usage).read_text()) + _pages_of_files(Path(stat)))
        except (OSError, ValueError):
            continue
    return min(free) if free else None


def _pages_of_files(stat: Path) -> int:
    """Return the bytes of files that are kept in memory for want of other use."""
    found = [line.split()[1] for line in stat.read_text().splitlines() if line.startswith("inactive_file ")]
    return int(found[0]) if found else 0


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
