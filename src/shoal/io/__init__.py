"""Reading and writing tables: text files, Parquet, spreadsheets, files of statistics packages, databases.

:func:`read` returns a :class:`Source`. :func:`write` writes a draft beside the target, reads it back, has it checked,
and only then gives it the name of the target. Optional packages are imported when a format needs them.

To add a format, write a module with ``read`` and ``write`` and one line in `formats`.
"""

from __future__ import annotations

from shoal.io.access import read, write
from shoal.io.source import Dialect, Source, Written

__all__ = ["Dialect", "Source", "Written", "read", "write"]
