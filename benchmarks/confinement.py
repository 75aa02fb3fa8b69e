"""Keeps a process, and everything that it starts, from writing outside one folder (Landlock, Linux 5.13 and later)."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # numbers of the system calls, the same on all architectures
_NO_NEW_PRIVILEGES = 38
_BENEATH = 1
# Bits of linux/landlock.h that change something: write to a file, remove and make files and folders of all kinds.
_WRITE = 1 << 1
_CHANGING = _WRITE | sum(1 << bit for bit in range(4, 13))
_LINK, _TRUNCATE = 1 << 13, 1 << 14  # since versions 2 and 3
# Devices that tests write to, and nothing is kept in.
DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm")


def version() -> int:
    """Return which version of Landlock the system has, 0 if none."""
    return max(0, int(ctypes.CDLL(None).syscall(_CREATE, None, 0, 1)))


def confine(folder: Path) -> None:
    """Forbid this process for ever to change any file outside `folder`; it may read and run all of them.

    Raises
    ------
    OSError
        If the system cannot do it.
    """
    libc = ctypes.CDLL(None, use_errno=True)

    def call(*arguments: object) -> int:
        result = int(libc.syscall(*arguments))
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result

    known = version()
    changing = _CHANGING | (_LINK if known >= 2 else 0) | (_TRUNCATE if known >= 3 else 0)
    rights = struct.pack("Q", changing)
    rules = call(_CREATE, rights, len(rights), 0)
    for path in (str(folder), *DEVICES):
        if not os.path.exists(path):
            continue
        place = os.open(path, os.O_PATH)
        allowed = changing if os.path.isdir(path) else changing & (_WRITE | _TRUNCATE)
        call(_ADD, rules, _BENEATH, struct.pack("=Qi", allowed, place), 0)
        os.close(place)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs was refused")
    call(_RESTRICT, rules, 0)
    os.close(rules)
