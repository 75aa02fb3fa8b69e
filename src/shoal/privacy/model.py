"""The base of all privacy models: what is required of a group, how it is measured, and whether that is enough."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import Array
from shoal.errors import OptionError
from shoal.privacy.spectrum import Sensitive, Spectrum, spectrum_of

# Rounding alone must not fail a group: 2 equally frequent values have the entropy log 2.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Model(ABC):
    """A requirement on every group of a published table; its fields are its parameters.

    Attributes
    ----------
    name : str
        As used in plans, in job files and on the command line. With the parameters it is ``str(model)``.
    letter, kind : str
        The parameter that groups must reach, and a word that distinguishes models with the same letter.
    monotone : bool
        Whether a union of groups that satisfy the model satisfies it too. If so, and if the whole table satisfies the
        model, merging groups always leads to groups that do.
    rising : bool
        Whether more is better (as for l) or less (as for t).
    """

    name: ClassVar[str]
    letter: ClassVar[str]
    kind: ClassVar[str] = ""
    monotone: ClassVar[bool] = True
    rising: ClassVar[bool] = True

    @property
    def required(self) -> float:
        """Return the bound on what is measured in every group: a least value if `rising`, else a greatest one."""
        return float(getattr(self, self.letter))

    @property
    def short(self) -> str:
        """Return the parameters for a line of a table, such as ``l = 3 (distinct)``."""
        return f"{self.letter} = {as_text(getattr(self, self.letter))}" + (f" ({self.kind})" if self.kind else "")

    @abstractmethod
    def explanation(self, attribute: str) -> str:
        """Return what the model ensures, in plain words and without formulas, for the reader of a report.

        Parameters
        ----------
        attribute : str
            The name of the sensitive attribute.
        """

    def allows(self, measured: Array) -> Array:
        """Return bool[m]: whether the measured value of each group is enough."""
        slack = TOLERANCE * max(1.0, abs(self.required))
        enough: Array = measured >= self.required - slack if self.rising else measured <= self.required + slack
        return enough

    def worst(self, measured: Array) -> int:
        """Return the group with the worst measured value, the first of several."""
        return int(measured.argmin() if self.rising else measured.argmax())

    def __str__(self) -> str:
        given = [
            field for field in fields(self) if field.default is MISSING or getattr(self, field.name) != field.default
        ]
        return " ".join([self.name, *(f"{field.name}={as_text(getattr(self, field.name))}" for field in given)])

    # --- checks of parameters ---

    def _whole(self, option: str, least: int) -> None:
        """Refuse a parameter that is not an integer of at least `least`."""
        value = getattr(self, option)
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise OptionError(
                f"The {option!r} option of {self.name} must be an integer of at least {least}. Got {value!r}."
            )
        object.__setattr__(self, option, int(value))

    def _real(
        self, option: str, *, above: float | None = None, least: float | None = None, most: float | None = None
    ) -> None:
        """Refuse a parameter that is not a finite number within the bounds."""
        value = getattr(self, option)
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if (
            not number
            or not math.isfinite(value)
            or (above is not None and value <= above)
            or (least is not None and value < least)
            or (most is not None and value > most)
        ):
            bounds = (("above", above), ("of at least", least), ("of at most", most))
            domain = " and ".join(f"{how} {as_text(bound)}" for how, bound in bounds if bound is not None)
            raise OptionError(f"The {option!r} option of {self.name} must be a number {domain}. Got {value!r}.")
        object.__setattr__(self, option, float(value))


@dataclass(frozen=True)
class SensitiveModel(Model):
    """A model of the values of a sensitive attribute in every group."""

    @abstractmethod
    def measure(self, spectrum: Spectrum, centres: Array | None = None) -> Array:
        """Return float64[m]: the measured value of each group.

        Parameters
        ----------
        spectrum : Spectrum
        centres : float64[m, d] or None
            Centres of the groups, for models that compare a group with its surroundings.
        """

    def holds(self, spectrum: Spectrum, centres: Array | None = None) -> Array:
        """Return bool[m]: whether each group satisfies the model."""
        return self.allows(self.measure(spectrum, centres))

    def reachable(self, sensitive: Sensitive) -> float:
        """Return the measured value of all records as one group: the best there is, if the model is monotone."""
        return float(self.measure(spectrum_of(np.zeros(len(sensitive.codes), np.int64), sensitive))[0])

    def out_of_reach(self, sensitive: Sensitive, k: int = 1) -> str | None:
        """Return why no groups of a table can satisfy the model, None if no reason is known.

        Parameters
        ----------
        sensitive : Sensitive
            Of the whole table.
        k : int
            Least size of a group.
        """
        return None

    def refuse_if_out_of_reach(self, sensitive: Sensitive, k: int = 1) -> None:
        """Raise if no groups of at least k records can satisfy the model; see :meth:`out_of_reach`."""
        reason = self.out_of_reach(sensitive, k)
        if reason is not None:
            raise OptionError(
                f"Every demand must be possible for this table. Got {str(self)!r}, but {reason}.",
                hint="demand less, or do not publish the attribute.",
            )


def as_text(value: Any) -> str:
    """Return a parameter as users write it: 3, not 3.0."""
    return repr(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def down(number: float) -> str:
    """Return a positive number with four digits, rounded down."""
    return as_text(math.floor(number * _unit(number)) / _unit(number))


def up(number: float) -> str:
    """Return a positive number with four digits, rounded up."""
    return as_text(math.ceil(number * _unit(number)) / _unit(number))


def _unit(number: float) -> float:
    return float(10.0 ** (3 - math.floor(math.log10(number)))) if number > 0 else 1.0
