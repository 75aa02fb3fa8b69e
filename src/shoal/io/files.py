"""Files on the disk: checked before they are read, and written completely or not at all.

A file is written without a name (``O_TMPFILE``), so that a killed process leaves nothing behind, and gets its name once
it has been checked. Where the system or the file system has no unnamed files, a hidden file beside the target is used
instead; it is removed on every exception.

A target that is a symbolic link stays one: the file that it points to is written.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from shoal.errors import DataError, ShoalError
from shoal.progress import Progress, silent

__all__ = ["Draft", "cannot_write", "checked_input", "checked_target", "draft", "sha256_of", "stamp"]

_CHUNK = 2**20
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# Errors of file systems without unnamed files.
_NOT_HERE = {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT, errno.ENOSYS}
_COMPANIONS = ("-journal", "-wal", "-shm", ".wal")  # suffixes of the files beside a database


def checked_input(path: Path) -> None:
    """Raise DataError, with the reason, unless the path is a file that can be read."""
    hint: str | None = "check the spelling of the path."
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            problem, hint = "a folder", "name a file in it."
        elif stat.S_ISREG(status.st_mode) and status.st_size == 0:
            problem, hint = "an empty file", None
        else:
            with open(path, "rb"):
                return
    except FileNotFoundError:
        problem = "no such file"
    except PermissionError:
        problem, hint = "a file without permission to read it", "ask for the permission."
    except (OSError, ValueError) as error:
        problem = f"an error of the system ({type(error).__name__})"
    raise DataError(f"The input {path} must be a file that can be read. Got {problem}.", hint)


def stamp(path: Path) -> tuple[int, int, int]:
    """Return the inode, size and modification time of a file: they change when the file does."""
    status = os.stat(path)
    return status.st_ino, status.st_size, status.st_mtime_ns


def sha256_of(path: Path, progress: Progress = silent) -> str:
    """Return the SHA-256 of a file, read in chunks of a megabyte."""
    digest, done = hashlib.sha256(), 0
    size = max(os.stat(path).st_size, 1)
    with open(path, "rb", buffering=0) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            done += len(chunk)
            progress(done / size)
    return digest.hexdigest()


def checked_target(path: Path, force: bool) -> Path:
    """Return the file to write, with links resolved; raise ShoalError, with the reason, if it cannot be written."""
    target = Path(os.path.realpath(path))
    try:
        status = os.stat(target)
    except FileNotFoundError:
        status = None
    except OSError as error:
        raise cannot_write(path, error) from None
    if status is not None:
        if not stat.S_ISREG(status.st_mode):
            actual = "a folder" if stat.S_ISDIR(status.st_mode) else "something that is not a file"
            raise ShoalError(f"The output {path} must be the path of a file. Got {actual}.")
        if not force:
            raise exists(path)
    if not target.parent.is_dir():
        raise ShoalError(
            f"The output {path} must lie in a folder that is there. Got no folder {target.parent}.",
            "make the folder first.",
        )
    return target


def exists(path: Path) -> ShoalError:
    """Return the error for a target that exists already."""
    return ShoalError(
        f"The output {path} must not be there yet. Got a file of that name; nothing was changed.",
        "name another file, or pass force (--force) to replace it.",
    )


def cannot_write(path: Path, error: OSError) -> ShoalError:
    """Return the error for a failed write, without the system's own message."""
    if error.errno in _FULL:
        return ShoalError(
            f"The output {path} must fit on the disk. Got a full disk or a limit on the size of files; "
            "nothing was left behind.",
            "free some space or write to another disk.",
        )
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    return ShoalError(f"The output {path} must be a file that can be written. Got: {reason}; nothing was left behind.")


class Draft:
    """A file that has no name yet; `path` is where this process can open it."""

    def __init__(self, target: Path, descriptor: int, hidden: Path | None) -> None:
        self.target = target
        self.descriptor = descriptor
        self.hidden = hidden
        self.path = hidden or Path(f"/proc/self/fd/{descriptor}")

    def publish(self, force: bool) -> None:
        """Flush everything to the disk, then give the file its name in one step.

        Without `force`, a file that has appeared in the meantime is never replaced: linking fails if the name is taken.
        """
        folder = os.open(self.target.parent, os.O_RDONLY)
        try:
            if self.hidden is not None:
                # A database may replace its file, so our descriptor need not lead to the bytes to flush.
                with open(self.hidden, "rb") as file:
                    os.fsync(file.fileno())
            else:
                os.fsync(self.descriptor)
            if force and self.target.exists():
                self._replace(folder)
            else:
                self._link(self.target.name, folder)
            os.fsync(folder)
        except FileExistsError:
            raise exists(self.target) from None
        except OSError as error:
            raise cannot_write(self.target, error) from None
        finally:
            os.close(folder)

    def _link(self, name: str, folder: int) -> None:
        # With the descriptor of a folder Python calls linkat, which follows the link in /proc to the unnamed file.
        os.link(self.path, name, dst_dir_fd=folder, follow_symlinks=self.hidden is None)

    def _replace(self, folder: int) -> None:
        # The new file keeps the permissions of the old one.
        os.chmod(self.path, stat.S_IMODE(os.stat(self.target).st_mode))
        name = _hidden_name(self.target)
        self._link(name, folder)
        try:
            os.replace(name, self.target.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
            raise

    def discard(self) -> None:
        """Close the file, which deletes it if it has no name, and remove a hidden one."""
        with suppress(OSError):
            os.close(self.descriptor)
        if self.hidden is not None:
            for name in (self.hidden.name, *(self.hidden.name + companion for companion in _COMPANIONS)):
                with suppress(OSError):
                    os.unlink(self.hidden.with_name(name))


@contextmanager
def draft(target: Path, *, named: bool = False) -> Iterator[Draft]:
    """Yield a :class:`Draft` for `target`; it is deleted afterwards unless it was published.

    Parameters
    ----------
    target : Path
        As returned by :func:`checked_target`.
    named : bool, default False
        Whether the draft needs a name of its own, as the files of databases do.
    """
    try:
        made = None if named else _nameless(target)
        if made is None:
            hidden = target.with_name(_hidden_name(target))
            made = Draft(target, os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666), hidden)
    except OSError as error:
        raise cannot_write(target, error) from None
    try:
        yield made
    finally:
        made.discard()


def _nameless(target: Path) -> Draft | None:
    if not hasattr(os, "O_TMPFILE"):
        return None
    try:
        descriptor = os.open(target.parent, os.O_RDWR | os.O_TMPFILE, 0o666)
    except OSError as error:
        if error.errno in _NOT_HERE:
            return None
        raise
    if not os.path.exists(f"/proc/self/fd/{descriptor}"):
        os.close(descriptor)
        return None
    return Draft(target, descriptor, None)


def _hidden_name(target: Path) -> str:
    return f".{target.name[:100]}.{secrets.token_hex(4)}.part"
