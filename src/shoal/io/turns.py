"""Turns: a release and its documents are put into their folder by one process at a time.

Otherwise two processes that replace the same release at once could leave the table of one beside the certificate of the
other. The lock is on the folder itself: there is no file that could be left behind, and the system releases it when a
process ends, however that happens.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["in_turn"]


@contextmanager
def in_turn(folder: Path) -> Iterator[None]:
    """Wait until no other process has its turn in a folder, and have it until the end of the body.

    On file systems without locks, and in folders that may be written but not read, there are no turns.
    """
    descriptor = None
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)
