"""Files on the disk: checked before they are read, and written completely or not at all.

A file is written without a name (``O_TMPFILE``), so that a killed process leaves nothing behind, and gets its name once
it has been checked. Where the system or the file system has no unnamed files, and for databases, a file in a private
folder beside the target is used instead (see `private`).

A target that is a symbolic link stays one: the file that it points to is written.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from shoal.errors import DataError, ShoalError
from shoal.io.private import private_folder, sweep
from shoal.io.published import publishing
from shoal.progress import Progress, silent

__all__ = [
    "Draft",
    "cannot_read",
    "cannot_write",
    "checked_input",
    "checked_target",
    "draft",
    "sha256_of",
    "stamp",
    "temporary",
]

_CHUNK = 2**20
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# Errors of file systems without unnamed files.
_NOT_HERE = {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT, errno.ENOSYS}
# Errors of file systems without hard links.
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
# Errors of file systems whose folders cannot be flushed, and of folders that may not be read.
_NO_FLUSH = {errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.EBADF, errno.EACCES}
_HINTS = {
    errno.EACCES: "ask for the permission, or write to another folder.",
    errno.EPERM: "ask for the permission, or write to another folder.",
    errno.EROFS: "write to another disk.",
    errno.EIO: "check the disk, or write to another one.",
    errno.ENAMETOOLONG: "choose a shorter name.",
    errno.ENOENT: "do not move or remove the folder meanwhile.",
    errno.ELOOP: "check the symbolic links.",
}


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


def stamp(path: Path) -> tuple[int, ...]:
    """Return what changes when a file does; unlike its time of modification, the time of its change cannot be set."""
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


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
    try:
        target = Path(os.path.realpath(path))
        status = os.stat(target)
    except FileNotFoundError:
        status = None
    except OSError as error:
        raise cannot_write(path, error) from None
    except ValueError:
        raise ShoalError("The output must be the path of a file. Got one with a NUL character.") from None
    if status is not None:
        if not stat.S_ISREG(status.st_mode):
            folder = stat.S_ISDIR(status.st_mode)
            raise ShoalError(
                f"The output {path} must be the path of a file. "
                f"Got {'a folder' if folder else 'something that is not a file'}.",
                "name a file in it." if folder else "write CSV to standard output with -, and send it on from there.",
            )
        if not force:
            raise exists(path)
    if not os.path.isdir(target.parent):
        raise ShoalError(
            f"The output {path} must lie in a folder that is there. Got no folder {target.parent}.",
            "make the folder first.",
        )
    if str(target).startswith("/proc/"):  # such as /dev/stdout, if that is a pipe
        raise ShoalError(
            f"The output {path} must be the path of a file. Got a stream.", "write CSV to standard output with -."
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
    return ShoalError(
        f"The output {path} must be a file that can be written. Got: {_reason(error)}; nothing was left behind.",
        _HINTS.get(error.errno or 0),
    )


def cannot_read(name: str, error: OSError) -> DataError:
    """Return the error for a failed read, without the system's own message."""
    return DataError(f"The input {name} must be readable to its end. Got: {_reason(error)}.", "copy it, and read that.")


def _reason(error: OSError) -> str:
    """Return what the system says about an error in general; its own message may have more in it."""
    return os.strerror(error.errno) if error.errno else type(error).__name__


class Draft:
    """A file that is not published yet; `path` is where this process can open it.

    Attributes
    ----------
    target : Path
        Where it is to be published.
    path : Path
        In `folder`, or in /proc if it has no name.
    descriptor : int or None
        Of a file without a name.
    folder : Path or None
        The private folder of a file with a name.
    """

    def __init__(self, target: Path, mode: int, descriptor: int | None, folder: Path | None) -> None:
        self.target = target
        self.mode = mode
        self.descriptor = descriptor
        self.folder = folder
        self.path = folder / target.name if folder is not None else Path(f"/proc/self/fd/{descriptor}")

    def publish(self, force: bool) -> None:
        """Flush everything to the disk, then give the file its name in one step.

        Without `force`, a file that has appeared in the meantime is never replaced: linking fails if the name is taken.
        """
        try:
            # Opened anew: a database may have replaced its file.
            with open(self.path, "rb") as file:
                os.fsync(file.fileno())
            if force and os.path.lexists(self.target):
                self._replace()
            else:
                with publishing(self.target):
                    self._link()
        except FileExistsError:
            raise exists(self.target) from None
        except OSError as error:
            raise cannot_write(self.target, error) from None
        _flush_folder(self.target)

    def _link(self) -> None:
        if self.folder is None:
            _link_nameless(self.path, self.target)
            return
        try:
            os.link(self.path, self.target)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # The name is taken with an empty file, so that none of another process is replaced.
            os.close(os.open(self.target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, self.mode))
            try:
                os.replace(self.path, self.target)
            except BaseException:
                os.unlink(self.target)
                raise

    def _replace(self) -> None:
        # The new file keeps the permissions of the old one, except that a private file stays private.
        old = stat.S_IMODE(os.stat(self.target).st_mode)
        os.chmod(self.path, old if self.mode & 0o077 else old & self.mode)
        with private_folder(self.target.parent) if self.folder is None else nullcontext(self.folder) as folder:
            ready = folder / self.target.name
            if self.folder is None:
                _link_nameless(self.path, ready)
            with publishing(self.target):
                os.replace(ready, self.target)


def _link_nameless(path: Path, target: Path) -> None:
    # With the descriptor of a folder Python calls linkat, which follows the link in /proc to the unnamed file.
    folder = os.open(target.parent, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY)
    try:
        os.link(path, target.name, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _flush_folder(target: Path) -> None:
    """Flush the folder of a published file, so that its name is kept too."""
    try:
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        if error.errno not in _NO_FLUSH:
            raise ShoalError(
                f"The disk must keep the name of {target}. Got: {_reason(error)}; the file is complete and has its "
                "name, but may lose it if the computer stops now.",
                "check the disk, and write the file again.",
            ) from None


@contextmanager
def draft(target: Path, *, named: bool = False, mode: int = 0o666) -> Iterator[Draft]:
    """Yield a :class:`Draft` for `target`; it is deleted afterwards unless it was published.

    Every error of the system, also in the body, is raised as a ShoalError.

    Parameters
    ----------
    target : Path
        As returned by :func:`checked_target`.
    named : bool, default False
        Whether the draft needs a name of its own, as the files of databases do; then they create it themselves.
    mode : int, default 0o666
        The permissions of a new file, without those that the umask takes; 0o600 for files that stay with their owner.
    """
    try:
        with ExitStack() as stack:
            descriptor = None if named else _nameless(target, mode)
            if descriptor is not None:
                stack.callback(os.close, descriptor)
                sweep(target.parent)
                made = Draft(target, mode, descriptor, None)
            else:
                made = Draft(target, mode, None, stack.enter_context(private_folder(target.parent)))
                if not named:
                    os.close(os.open(made.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode))
            yield made
    except ShoalError:
        raise
    except OSError as error:
        raise cannot_write(target, error) from None


def _nameless(target: Path, mode: int) -> int | None:
    """Return the descriptor of a file without a name, None if there are no such files here."""
    if not hasattr(os, "O_TMPFILE"):
        return None
    try:
        descriptor = os.open(target.parent, os.O_RDWR | os.O_TMPFILE, mode)
    except OSError as error:
        if error.errno in _NOT_HERE:
            return None
        raise
    if not os.path.exists(f"/proc/self/fd/{descriptor}"):
        os.close(descriptor)
        return None
    return descriptor


@contextmanager
def temporary() -> Iterator[IO[bytes]]:
    """Yield a temporary file without a name; errors of the system become a ShoalError that says where it lies."""
    try:
        with TemporaryFile() as file:
            yield file
    except (ShoalError, BrokenPipeError):
        raise
    except OSError as error:
        raise ShoalError(
            f"The folder for temporary files must have room for a copy of the table. Got: {_reason(error)}; "
            "nothing was left behind.",
            "free some space there, or set TMPDIR to a folder on another disk.",
        ) from None
