"""Markers: texts and numbers that occur nowhere else, planted where they must not come out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from random import Random
from typing import Any

WORD, PATH, NUMBER = "ZQX", "ZQP", "771"
# How numbers go on: those that name people are apart from all others, so that no mean of a group is one by chance.
_VALUE, _NAME = "35", "94"
_WORD = re.compile(rf"{WORD}[a-z]{{6}}")
_PATH = re.compile(rf"{PATH}[a-z]{{6}}")
_NUMBER = re.compile(rf"{NUMBER}(?:{_VALUE}|{_NAME})[0-9]{{5}}")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def word(random: Random) -> str:
    """Return a text that occurs nowhere else."""
    return WORD + "".join(random.choices(_LETTERS, k=6))


def path(random: Random) -> str:
    """Return the name of a folder that occurs nowhere else."""
    return PATH + "".join(random.choices(_LETTERS, k=6))


def number(random: Random, *, name: bool = False) -> int:
    """Return a whole number that occurs nowhere else, as a value or as the name of a person."""
    return int(NUMBER + (_NAME if name else _VALUE)) * 100_000 + random.randrange(100_000)


def in_text(text: str) -> set[str]:
    """Return the markers of values in a text."""
    found = set(_WORD.findall(text)) if WORD in text else set()
    return found | set(_NUMBER.findall(text)) if NUMBER in text else found


def paths_in(text: str) -> set[str]:
    """Return the markers of paths in a text."""
    return set(_PATH.findall(text)) if PATH in text else set()


def in_values(values: Iterable[Any]) -> set[str]:
    """Return the markers in values."""
    return in_text("\n".join(str(value) for value in values))
