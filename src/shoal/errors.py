"""Errors and warnings.

Every error is a :class:`ShoalError`, which is a :class:`ValueError`. All messages have the same shape: what must
hold, what was found instead, and a hint. They contain positions, counts and names, but never values of the data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from types import MappingProxyType

__all__ = [
    "BudgetError",
    "DataError",
    "DatasetNotFoundError",
    "DisclosureError",
    "DisclosureWarning",
    "OptionError",
    "SeveralErrors",
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
    """The data cannot be processed."""


class OptionError(ShoalError):
    """An option is unknown, out of range, or belongs to another method."""


class BudgetError(OptionError):
    """A privacy budget would be overrun: nothing was drawn."""


class SeveralErrors(DataError, OptionError):
    """Several problems of one table, listed together so that they can be solved together.

    Attributes
    ----------
    problems : tuple of ShoalError
        Each with its own hint.
    """

    def __init__(self, problems: Sequence[ShoalError]) -> None:
        self.problems = tuple(problems)
        listed = "".join(f"\n{at}. {problem}" for at, problem in enumerate(self.problems, 1))
        super().__init__(f"{len(self.problems)} problems must be solved before the table can be released:{listed}")


class Problems:
    """Collects the problems of a table, to raise all of them at once."""

    def __init__(self) -> None:
        self._found: list[ShoalError] = []

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Keep an error of this context for later."""
        try:
            yield
        except SeveralErrors as several:
            self._found += several.problems
        except (DataError, DisclosureError, OptionError) as error:
            self._found.append(error)

    def __bool__(self) -> bool:
        return bool(self._found)

    def error(self) -> ShoalError:
        """Return what was collected: one error as it is, several as one that lists them."""
        found = list({str(error): error for error in self._found}.values())
        return found[0] if len(found) == 1 else SeveralErrors(found)

    def refuse(self) -> None:
        """Raise what was collected, if there is anything."""
        if self:
            raise self.error()


class UnknownMethodError(OptionError):
    """No method has this name."""


class TooLargeError(ShoalError):
    """The request does not fit into memory, or would take far too long."""


class DatasetNotFoundError(ShoalError, FileNotFoundError):
    """A benchmark table was not found, or its file is not the expected one."""


class DisclosureError(ShoalError):
    """A guarantee does not hold: nothing is published."""


class DisclosureWarning(UserWarning):
    """An option or the table weakens the protection of a release."""


def near_names(
    name: object, known: Iterable[str], all_of_them: str, others: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return a hint with the known names closest to `name`, followed by where to find all of them.

    `others` are names that something has elsewhere, and the known names to say in place of them.
    """
    by_lower = {other.lower(): known_name for other, known_name in others.items()}
    by_lower |= {known_name.lower(): known_name for known_name in sorted(known)}
    matches = get_close_matches(str(name).lower(), by_lower, n=3, cutoff=0.5)
    close = list(dict.fromkeys(by_lower[match] for match in matches))
    if not close:
        return all_of_them
    return f"did you mean {' or '.join(map(repr, close))}? {all_of_them}"


@contextmanager
def equal_ones_counted_once() -> Iterator[None]:
    """Say so in errors that count rows: those that are read here are the different ones of a table."""
    try:
        yield
    except DataError as error:
        hint = error.hint
        words = str(error) if hint is None else str(error).removesuffix(f" Hint: {hint}")
        counts = re.search(r"Got .*\b\d", words)
        raise DataError(f"{words} Equal values are counted once." if counts else words, hint) from None
