"""The page: ``shoal serve``, a table anonymised in the browser, and the same actions for scripts under /api/v1.

The server keeps state: users, their tables, drafts of plans and jobs. Everything that looks at data runs in worker
processes, one a task, through the pipeline that the command line uses.

To add an action, write a task (`tasks`), a route, and what they take and return (`schemas`). Rules belong in the
library, not here. The server process itself loads neither NumPy nor Numba nor pyarrow.
"""

from __future__ import annotations

__all__ = ["serve"]


def __getattr__(name: str) -> object:
    if name == "serve":
        from shoal.web.server import serve

        return serve
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
