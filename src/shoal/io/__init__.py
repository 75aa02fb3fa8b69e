"""Tables in and out: files, compressed files, spreadsheets, files of statistics packages, databases.

:func:`read` gives a :class:`Source`; :func:`write` writes beside, re-reads what lies on the disk, has it
checked, and only then gives it its name. Packages are loaded when a format that needs them is used.

To add a format, write a module with ``read`` and ``write`` and one line in `formats`.
"""

from __future__ import annotations

from shoal.io.access import read, write
from shoal.io.source import Dialect, Source, Written

__all__ = ["Dialect", "Source", "Written", "read", "write"]
