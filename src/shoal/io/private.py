"""Private folders, for files that need a name before they are published.

Only their owner can look into them, and their names say that nothing in them is a release. A process that is killed
leaves its folder behind; the next one that writes beside it removes it. A lock tells a folder in use from a left one.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["PREFIX", "private_folder", "sweep"]

PREFIX = ".shoal-unverified-"
_LOCK = "lock"


@contextmanager
def private_folder(parent: Path) -> Iterator[Path]:
    """Yield a new folder in `parent` that is removed afterwards; folders that killed processes left are removed too."""
    sweep(parent)
    folder, lock = _made(parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def sweep(parent: Path) -> None:
    """Remove the private folders in `parent` that belong to this user and to no running process."""
    # What cannot be seen or removed is left: it is no reason to fail.
    with suppress(OSError):
        for name in os.listdir(parent):
            if name.startswith(PREFIX):
                with suppress(OSError):
                    _sweep_one(parent / name)


def _sweep_one(folder: Path) -> None:
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        return
    lock = _opened(folder)
    try:
        if _taken(lock, folder):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def _made(parent: Path) -> tuple[Path, int]:
    """Return a new folder and the descriptor of its lock."""
    while True:
        folder = parent / f"{PREFIX}{secrets.token_hex(8)}"
        os.mkdir(folder, 0o700)
        try:
            lock = _opened(folder)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, FileNotFoundError) and parent.is_dir():
                continue  # another process took it for a left one, in the instant before it had a lock
            raise
        # None: a file system without locks, where no folder is ever known to be left.
        if _taken(lock, folder) is not False:
            return folder, lock
        os.close(lock)


def _opened(folder: Path) -> int:
    return os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def _taken(lock: int, folder: Path) -> bool | None:
    """Return whether this process has the lock of a folder now; None if the file system has no locks."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    # Whoever had it before may have removed the folder.
    return (folder / _LOCK).exists()
