"""The private folder of a server, and names of files in it.

Only its owner can look into it. It is removed when the server ends; what a killed server left is removed when the next
one starts (see `shoal.io.private`).
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

from shoal.errors import OptionError, ShoalError
from shoal.io.formats import COMPRESSIONS, FORMATS, locate
from shoal.io.private import private_folder
from shoal.web.faults import Fault

LONGEST = 80
# How the names of the files of a result begin.
OF_RESULTS = ("release.", "report.", "job.", "result.", "command.", "again.")
_ODD = re.compile(r"[^\w .()+-]")


@contextmanager
def private_place(parent: str | None) -> Iterator[Path]:
    """Yield a folder that only this user can look into, and that is gone afterwards."""
    before = os.umask(0o077)
    try:
        with private_folder(_parent(parent)) as folder:
            yield folder
    finally:
        os.umask(before)


def _parent(given: str | None) -> Path:
    """Return the folder in which private folders are made, which nobody else may have prepared."""
    path = Path(given).expanduser() if given is not None else Path(tempfile.gettempdir()) / f"shoal-{os.getuid()}"
    try:
        path.mkdir(mode=0o700, parents=given is not None, exist_ok=True)
        status = os.lstat(path) if given is None else os.stat(path)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        raise ShoalError(f"The folder {path} must exist or be created. Got: {reason}.", "name another.") from None
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise ShoalError(f"The folder {path} must be a folder of your own. Got another.", "name one with --folder.")
    if given is None:
        os.chmod(path, 0o700)
    return path


def label_of(header: str | None) -> str:
    """Return the name of a file as its owner calls it, for display: a label, never a path."""
    try:
        name = unquote(header or "", errors="strict")
    except UnicodeDecodeError:
        name = ""
    name = re.split(r"[/\\]", name)[-1].strip()
    if not name or len(name) > 255 or not name.isprintable():
        raise Fault(422, "An upload must have the name of a file, in the header X-Shoal-Name. Got none that can be.")
    return name


def file_name(label: str) -> str:
    """Return a name under which a file with this label can lie in a folder: plain, short, and with its suffixes."""
    suffixes = suffixes_of(label)
    stem = _ODD.sub("_", label[: len(label) - len(suffixes)]).strip(" .-")
    return f"{stem[: LONGEST - len(suffixes)] or 'table'}{suffixes}"


def suffixes_of(label: str) -> str:
    """Return the suffixes that tell the format of a file; refuse a file of another format."""
    try:
        place = locate(Path(_ODD.sub("_", label)), None, "source")
    except OptionError:
        known = [suffix for one in FORMATS.values() for suffix in one.suffixes]
        words = f"save it as one of {', '.join(known)}. Texts and lines of JSON may be packed as .gz or .zst."
        raise Fault(422, "The name of a file must tell its kind by a suffix. Got one that tells none.", words) from None
    packed = place.path.suffix if place.path is not None and place.compression else ""
    if packed and packed.lower() not in COMPRESSIONS:
        packed = ""
    suffixes = place.suffix + packed.lower()
    return suffixes if label.lower().endswith(suffixes) else place.suffix


def apart(name: str) -> str:
    """Return a name that no file of a result has."""
    return f"table-{name}" if name.startswith(OF_RESULTS) else name
