"""What does not fit into memory lies in a private folder of the disk, and goes with the run.

Only their owner can look into the folder (0700) and its files (0600). It is removed on every exit, also after Ctrl-C
and SIGTERM. A process that is killed outright leaves it behind: the next run with the same parent folder removes it, or
goes on with it (`resume`) if source, plan and version are the same and the computer was not restarted meanwhile.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pickle
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import gettempdir
from types import TracebackType
from typing import Any, TypeVar

from shoal.errors import ShoalError
from shoal.io.private import left_folders, made_folder, ours, remove_folder, taken_folder
from shoal.io.published import signals_put_off

__all__ = ["Spill", "key_of", "spill_parent", "spilling"]

T = TypeVar("T")
PREFIX = ".shoal-spill-"
_KEY = "key"
_MARKS = "marks"
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Spill:
    """A private folder for the files of a run; a context manager.

    Parameters
    ----------
    parent : path
        Where to make it: a folder on a disk with room for about three times the table.
    key : str or None
        What a run must have in common with an earlier one to go on where that was killed; see :func:`key_of`. None: it
        cannot.
    resume : bool
        Whether to look for such a run.

    Attributes
    ----------
    folder : Path
    resumed : bool
        Whether this is the folder of an earlier run.
    """

    def __init__(self, parent: str | os.PathLike[str], key: str | None = None, *, resume: bool = False) -> None:
        self.parent, self.key, self._resume = Path(parent), key, resume
        self.resumed = False
        self.folder = self.parent
        self._exits = ExitStack()

    def __enter__(self) -> Spill:
        with ExitStack() as exits, spilling(self.parent):
            exits.enter_context(ended_by_signals())
            lock = self._found() if self._resume and self.key is not None else None
            for folder in left_folders(self.parent, PREFIX):
                shutil.rmtree(folder, ignore_errors=True)
            if lock is None:
                self.folder, lock = made_folder(self.parent, PREFIX)
            exits.callback(os.close, lock)
            exits.callback(self._removed)
            ours.add(self.folder)
            if not self.resumed:
                (self.folder / _MARKS).mkdir(0o700)
                if self.key is not None:
                    self._write(self.folder / _KEY, f"{self.key} {_boot()}")
            self._exits = exits.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.__exit__(kind, error, trace)

    def _removed(self) -> None:
        with signals_put_off():
            remove_folder(self.folder)

    def _found(self) -> int | None:
        """Take the folder that a killed run with this key left, and return its lock; None if there is none."""
        for name in sorted(os.listdir(self.parent)):
            if not name.startswith(PREFIX):
                continue
            folder = self.parent / name
            with suppress(OSError):
                status = os.lstat(folder)
                if status.st_uid != os.geteuid() or status.st_mode & 0o077:
                    continue
                if (folder / _KEY).read_text() == f"{self.key} {_boot()}" and (
                    lock := taken_folder(folder)
                ) is not None:
                    self.folder, self.resumed = folder, True
                    return lock
        return None

    # --- files ---

    def path(self, name: str) -> Path:
        """Return where a file of this name lies."""
        return self.folder / name

    def made(self, name: str) -> Path:
        """Return a new, empty folder inside; one of an interrupted phase is emptied."""
        folder = self.folder / name
        with spilling(self.folder):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(0o700)
        return folder

    def remove(self, name: str) -> None:
        """Remove a file or a folder inside, if it is there."""
        path = self.folder / name
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)

    def write(self, name: str, content: bytes | str) -> None:
        """Write a file, completely or not at all."""
        with spilling(self.folder):
            self._write(self.folder / name, content)

    @staticmethod
    def _write(path: Path, content: bytes | str) -> None:
        beside = path.with_name(f"{path.name}~")
        with private(beside, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.replace(beside, path)

    # --- finished phases ---

    def mark(self, phase: str, **facts: Any) -> None:
        """Note that a phase is finished, with what later phases need to know of it (to be written as JSON)."""
        self.write(f"{_MARKS}/{phase}.json", json.dumps(facts))

    def kept(self, phase: str, make: Callable[[], T]) -> T:
        """Return the result of a phase: made now, or by the run that this one goes on with."""
        if self.marked(phase) is not None:
            with spilling(self.folder):
                known: T = pickle.loads(self.path(f"{_MARKS}/{phase}.pickle").read_bytes())
            return known
        result = make()
        self.write(f"{_MARKS}/{phase}.pickle", pickle.dumps(result))
        self.mark(phase)
        return result

    def marked(self, phase: str) -> dict[str, Any] | None:
        """Return what was noted of a phase; None if it is not finished."""
        try:
            facts: dict[str, Any] = json.loads((self.folder / _MARKS / f"{phase}.json").read_text())
        except (OSError, ValueError):
            return None
        return facts


def spill_parent(output: str | os.PathLike[str] | None = None) -> Path:
    """Return where to make a spill folder: in TMPDIR if it is set, beside the output, or where large files may be.

    The usual folder for temporary files may be in memory.
    """
    if os.environ.get("TMPDIR"):
        return Path(os.environ["TMPDIR"])
    if output is not None:
        return Path(os.path.realpath(output)).parent
    large = Path("/var/tmp")
    return large if os.access(large, os.W_OK) else Path(gettempdir())


def key_of(*parts: str | None) -> str | None:
    """Return the key of a run: a hash of source, plan and what else decides on its files; None if one is unknown."""
    if any(part is None for part in parts):
        return None
    return hashlib.sha256(json.dumps([*_code(), *parts]).encode()).hexdigest()


@cache
def _code() -> list[str]:
    """Return the versions of what decides on the files."""
    from importlib.metadata import version

    return [version(package) for package in ("shoal", "numpy", "pyarrow")]


def private(path: Path, mode: str) -> Any:
    """Return an open file that only its owner can read."""
    return open(path, mode, opener=lambda name, flags: os.open(name, flags, 0o600))


@contextmanager
def spilling(folder: Path) -> Iterator[None]:
    """Turn errors of the disk into one sentence."""
    try:
        yield
    except ShoalError:
        raise
    except OSError as error:
        if error.errno in _FULL:
            got = "a full disk or a limit on the size of files"
        else:
            got = os.strerror(error.errno) if error.errno else type(error).__name__
        raise ShoalError(
            f"The folder for temporary files must have room for what does not fit into memory. Got: {got}; nothing was "
            "published, and nothing was left behind.",
            "free some space there, or set TMPDIR to a folder on another disk.",
        ) from None


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the body as an exception does, so that it cleans up; as it is, where it is handled."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handled = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, _: Any) -> None:
        raise SystemExit(128 + number)

    for number in handled:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def _boot() -> str:
    """Return what changes when the computer is restarted: files that were not flushed may be lost then."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return "unknown"
