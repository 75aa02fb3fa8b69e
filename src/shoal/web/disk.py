"""The space that tables and results take on the disk: limits for each user, and for all of them together."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from shoal.web.faults import Fault, in_words
from shoal.web.settings import Settings
from shoal.web.users import User

# Of what is free when the server starts.
SHARE = 0.9

Beyond = Callable[[], Fault | None]


class Disk:
    """The space of a server.

    Parameters
    ----------
    settings : Settings
    folder : Path
        The private folder.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.folder = folder
        self.each = settings.disk_bytes
        free = int(shutil.disk_usage(folder).free * SHARE)
        self.all = free if settings.disk_total_bytes is None else settings.disk_total_bytes

    def beyond(self, user: User) -> Beyond:
        """Return what tells whether a user, or all together, take more than they may: the error, or None."""

        def look() -> Fault | None:
            if taken(user.folder) > self.each:
                return Fault(
                    507,
                    f"Your tables and results may take at most {in_words(self.each)} of the disk. Got more.",
                    "close tables and remove runs from the list, or raise --disk of shoal serve.",
                )
            if taken(self.folder) > self.all:
                return Fault(
                    507,
                    f"Tables and results of everybody may take at most {in_words(self.all)} of the disk. Got more.",
                    "close tables and remove runs, wait for others, or raise --disk-total of shoal serve.",
                )
            return None

        return look

    def require_room(self, user: User) -> None:
        """Refuse to begin anything new for a user who takes more than she may."""
        fault = self.beyond(user)()
        if fault is not None:
            raise fault


def taken(folder: str | os.PathLike[str]) -> int:
    """Return the bytes of all files in a folder and below; links count nothing, and neither does what is going."""
    size = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    if entry.is_dir(follow_symlinks=False):
                        size += taken(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        size += entry.stat(follow_symlinks=False).st_size
                except OSError:
                    continue
    except OSError:
        return size
    return size
