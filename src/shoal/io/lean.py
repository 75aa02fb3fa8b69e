"""Keeps pandas out of processes that do not need it."""

from __future__ import annotations

import sys

__all__ = ["do_with_pandas", "do_without_pandas"]


def do_without_pandas() -> None:
    """Let nothing in this process import pandas: Arrow would load it wherever it is installed, which takes long."""
    sys.meta_path.insert(0, _WithoutPandas)


def do_with_pandas() -> None:
    """Let pandas be imported again: PySpark asks for it, even where only Arrow is used."""
    while _WithoutPandas in sys.meta_path:
        sys.meta_path.remove(_WithoutPandas)


class _WithoutPandas:
    """Finds no pandas."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("Commands do without pandas.", name=name)
