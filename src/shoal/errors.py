"""What Shoal raises and warns.

Every error is a :class:`ShoalError`, which is a :class:`ValueError`, and says three things in one
shape: what must hold, what was found, and what to do about it. Values of the data never appear in
a message: positions, counts and names do.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = [
    "DataError",
    "DatasetNotFoundError",
    "DisclosureError",
    "DisclosureWarning",
    "OptionError",
    "ShoalError",
    "TooLargeError",
    "UnknownMethodError",
]


class ShoalError(ValueError):
    """Base of all errors raised by Shoal.

    Parameters
    ----------
    message : str
        What must hold and what was found instead.
    hint : str, optional
        What to do about it; appended as ``Hint: ...``.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        self.hint = hint
        super().__init__(message if hint is None else f"{message} Hint: {hint}")


class DataError(ShoalError):
    """The data cannot be worked on as they are."""


class OptionError(ShoalError):
    """An option is unknown, out of range, or belongs to another method."""


class UnknownMethodError(OptionError):
    """No method has this name."""


class TooLargeError(ShoalError):
    """The request would not fit into the memory of this machine, or could not be finished in sensible time."""


class DatasetNotFoundError(ShoalError, FileNotFoundError):
    """A benchmark table is not on this machine, or is not the file it should be."""


class DisclosureError(ShoalError):
    """A guarantee does not hold: nothing is published."""


class DisclosureWarning(UserWarning):
    """Something asked for weakens the protection of a release."""


def near_names(name: object, known: Iterable[str], all_of_them: str) -> str:
    """Return a hint with the known names closest to `name`, or where to find all of them."""
    by_lower = {one.lower(): one for one in sorted(known)}
    close = [by_lower[one] for one in get_close_matches(str(name).lower(), by_lower, n=3, cutoff=0.5)]
    if not close:
        return all_of_them
    return f"did you mean {' or '.join(repr(c) for c in close)}? {all_of_them}"
