"""What every model of privacy defines: what is required of a group, what a group has, and whether that is enough."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar

import numpy as np

from shoal.errors import OptionError
from shoal.privacy.spectrum import Sensitive, Spectrum, spectrum_of

Array = np.ndarray[Any, Any]

# Rounding may make a group miss what is required: 2 equally frequent values have the entropy log 2.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Model(ABC):
    """A requirement on every group of a published table; its fields are its parameters.

    Attributes
    ----------
    name : str
        As plans, job files and the command line have it; with the parameters it is ``str(model)``.
    letter, kind : str
        The parameter that is required of groups; what tells it from others with the same letter.
    monotone : bool
        Whether the union of groups that satisfy it satisfies it. Then groups can always be merged until all do, if
        the whole table does.
    rising : bool
        Whether more is better (l), or less (t).
    """

    name: ClassVar[str]
    letter: ClassVar[str]
    kind: ClassVar[str] = ""
    monotone: ClassVar[bool] = True
    rising: ClassVar[bool] = True

    @property
    def required(self) -> float:
        """Return what every group must have: at least that much if `rising`, else at most."""
        return float(getattr(self, self.letter))

    @property
    def short(self) -> str:
        """Return the parameters for a line of a table, such as ``l = 3 (distinct)``."""
        return f"{self.letter} = {plain(getattr(self, self.letter))}" + (f" ({self.kind})" if self.kind else "")

    @abstractmethod
    def explanation(self, attribute: str) -> str:
        """Return what the model ensures, in plain words for the reader of a report, who knows no formulas.

        Parameters
        ----------
        attribute : str
            The name of the sensitive attribute.
        """

    def allows(self, measured: Array) -> Array:
        """Return bool[m]: whether what groups have is enough."""
        slack = TOLERANCE * max(1.0, abs(self.required))
        enough: Array = measured >= self.required - slack if self.rising else measured <= self.required + slack
        return enough

    def worst(self, measured: Array) -> int:
        """Return the number of the group that has least of what is wanted, the first of several."""
        return int(measured.argmin() if self.rising else measured.argmax())

    def __str__(self) -> str:
        told = [
            field for field in fields(self) if field.default is MISSING or getattr(self, field.name) != field.default
        ]
        return " ".join([self.name, *(f"{field.name}={plain(getattr(self, field.name))}" for field in told)])

    # --- parameters, as they must be ---

    def _whole(self, option: str, least: int) -> None:
        """Refuse a parameter that is no integer of at least `least`."""
        value = getattr(self, option)
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise OptionError(
                f"The {option!r} option of {self.name} must be an integer of at least {least}. Got {value!r}."
            )
        object.__setattr__(self, option, int(value))

    def _real(
        self, option: str, *, above: float | None = None, least: float | None = None, most: float | None = None
    ) -> None:
        """Refuse a parameter that is no finite number within the bounds."""
        value = getattr(self, option)
        number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if (
            not number
            or not math.isfinite(value)
            or (above is not None and value <= above)
            or (least is not None and value < least)
            or (most is not None and value > most)
        ):
            said = (("above", above), ("of at least", least), ("of at most", most))
            domain = " and ".join(f"{how} {plain(bound)}" for how, bound in said if bound is not None)
            raise OptionError(f"The {option!r} option of {self.name} must be a number {domain}. Got {value!r}.")
        object.__setattr__(self, option, float(value))


@dataclass(frozen=True)
class SensitiveModel(Model):
    """A model of the values of a sensitive attribute in every group."""

    @abstractmethod
    def measure(self, spectrum: Spectrum, centres: Array | None = None) -> Array:
        """Return float64[m]: what each group has.

        Parameters
        ----------
        spectrum : Spectrum
        centres : float64[m, d] or None
            Where the groups lie, for models that compare a group with its surroundings.
        """

    def holds(self, spectrum: Spectrum, centres: Array | None = None) -> Array:
        """Return bool[m]: whether each group satisfies the model."""
        return self.allows(self.measure(spectrum, centres))

    def reachable(self, sensitive: Sensitive) -> float:
        """Return what all records in one group have: no partition does better, if the model is monotone."""
        return float(self.measure(spectrum_of(np.zeros(len(sensitive.codes), np.int64), sensitive))[0])

    def out_of_reach(self, sensitive: Sensitive, k: int = 1) -> str | None:
        """Return the bound that makes the model impossible on a table, None if none is known.

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


def plain(value: Any) -> str:
    """Return a parameter as it is written: 3, not 3.0."""
    return repr(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def down(number: float) -> str:
    """Return a positive number with four digits, rounded down: a bound that can be asked for."""
    return plain(math.floor(number * _unit(number)) / _unit(number))


def up(number: float) -> str:
    """Return a positive number with four digits, rounded up."""
    return plain(math.ceil(number * _unit(number)) / _unit(number))


def _unit(number: float) -> float:
    return float(10.0 ** (3 - math.floor(math.log10(number)))) if number > 0 else 1.0
