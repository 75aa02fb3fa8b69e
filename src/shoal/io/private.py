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

__all__ = [
    "PREFIX",
    "left_folders",
    "made_folder",
    "ours",
    "private_folder",
    "remove_folder",
    "remove_ours",
    "sweep",
    "taken_folder",
]

PREFIX = ".shoal-unverified-"
_LOCK = "lock"
# Folders that the process must remove before it ends, however it does.
ours: set[Path] = set()


@contextmanager
def private_folder(parent: Path, prefix: str = PREFIX) -> Iterator[Path]:
    """Yield a new folder in `parent` that is removed afterwards; folders that killed processes left are removed too."""
    sweep(parent, prefix)
    folder, lock = made_folder(parent, prefix)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def sweep(parent: Path, prefix: str = PREFIX) -> None:
    """Remove the private folders in `parent` that belong to this user and to no running process."""
    for folder in left_folders(parent, prefix):
        shutil.rmtree(folder, ignore_errors=True)


def left_folders(parent: Path, prefix: str) -> Iterator[Path]:
    """Yield the private folders in `parent` of this user that no running process has, each locked meanwhile."""
    # What cannot be seen or removed is left: it is no reason to fail.
    with suppress(OSError):
        for name in sorted(os.listdir(parent)):
            if name.startswith(prefix):
                with suppress(OSError), _left(parent / name) as left:
                    if left:
                        yield parent / name


@contextmanager
def _left(folder: Path) -> Iterator[bool]:
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        yield False
        return
    lock = _opened(folder)
    try:
        yield bool(_taken(lock, folder))
    finally:
        os.close(lock)


def remove_folder(folder: Path) -> None:
    """Remove a folder of this process, even while its threads go on writing into it."""
    ours.discard(folder)
    gone = folder.with_name(f"{folder.name}-gone")
    try:
        os.rename(folder, gone)  # so that nothing new comes into it
    except OSError:
        gone = folder
    shutil.rmtree(gone, ignore_errors=True)


def remove_ours() -> None:
    """Remove the folders that this process must not leave behind: for those who end it at once."""
    for folder in list(ours):
        remove_folder(folder)


def made_folder(parent: Path, prefix: str) -> tuple[Path, int]:
    """Return a new folder and the descriptor of its lock."""
    while True:
        folder = parent / f"{prefix}{secrets.token_hex(8)}"
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


def taken_folder(folder: Path) -> int | None:
    """Return the descriptor of the lock of a folder that a killed process left; None if it is in use."""
    lock = _opened(folder)
    if _taken(lock, folder):
        return lock
    os.close(lock)
    return None


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
