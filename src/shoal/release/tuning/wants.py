"""What is wanted of a release: figures, each compared with a number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

from shoal.errors import OptionError
from shoal.plan import Plan
from shoal.privacy.model import TOLERANCE
from shoal.release.tuning.yardsticks import Yardstick, find

# A figure, a comparison, a number; the number may be in per cent.
_WANT = re.compile(r"^([^<>=≤≥!]*?)\s*(<=|>=|=<|=>|==|!=|<|>|=|≤|≥)\s*(.*)$", re.DOTALL)
_SIGNS = {"≤": "<=", "≥": ">=", "=<": "<=", "=>": ">="}
EXAMPLE = "write a figure, a comparison and a number, such as 'linkage <= 0.02, l >= 3'."


@dataclass(frozen=True)
class Want:
    """Something that is wanted: a figure, how it is compared, and the number."""

    figure: Yardstick
    sign: str
    number: float

    def __str__(self) -> str:
        return f"{self.figure.name} {self.sign} {self.number:.12g}"

    def holds(self, value: float | None) -> bool:
        """Return whether a value is what is wanted; one that is not defined is not."""
        if value is None or value != value:
            return False
        # As the audit does: rounding alone must not fail a group.
        slack = TOLERANCE * max(1.0, abs(self.number)) if self.figure.source == "model" else 0.0
        if self.sign == "<=":
            return value <= self.number + slack
        if self.sign == ">=":
            return value >= self.number - slack
        return value < self.number if self.sign == "<" else value > self.number

    def short_by(self, value: float | None) -> float:
        """Return how far a value is from what is wanted, as a share of the number; 0 if it holds."""
        if value is None or value != value:
            return float("inf")
        if self.holds(value):
            return 0.0
        return abs(value - self.number) / (abs(self.number) or 1.0)


def wants_of(given: str | Iterable[str]) -> tuple[Want, ...]:
    """Return what is wanted, written as ``linkage <= 0.02, l >= 3`` or as a list of such texts.

    Raises
    ------
    OptionError
        If a figure is unknown, a comparison or a number cannot be read, or nothing is wanted.
    """
    if not isinstance(given, str) and not (isinstance(given, Iterable) and all(isinstance(one, str) for one in given)):
        raise OptionError(f"What is wanted must be a text, or a list of texts. Got {type(given).__name__}.", EXAMPLE)
    texts = [given] if isinstance(given, str) else list(given)
    parts = [part.strip() for text in texts for part in text.split(",")]
    if not any(parts):
        raise OptionError("At least one thing must be wanted. Got nothing.", EXAMPLE)
    if not all(parts):
        raise OptionError("There must be something wanted before and after each comma. Got nothing.", EXAMPLE)
    wants: dict[str, Want] = {}
    for part in parts:
        want = _want(part)
        if want.figure.name in wants:
            raise OptionError(f"Each figure must be wanted once. Got {want.figure.name!r} twice.")
        wants[want.figure.name] = want
    return tuple(wants.values())


def _want(text: str) -> Want:
    read = _WANT.match(text)
    if read is None or not read[1]:
        raise OptionError(f"Each want must be a figure, a comparison and a number. Got {text!r}.", EXAMPLE)
    figure, sign = find(read[1]), _SIGNS.get(read[2], read[2])
    if sign not in ("<=", ">=", "<", ">"):
        raise OptionError(f"A comparison must be <=, <, >= or >. Got {read[2]!r} in {text!r}.")
    number = _number(read[3], text)
    if sign[0] != figure.sign[0]:
        raise OptionError(
            f"A want must be on the better side: {figure.name} is better when {figure.better}. Got {text!r}.",
            f"write {figure.name} {figure.sign} {number:g}.",
        )
    _require_in_range(figure, number, text)
    return Want(figure, sign, number)


def _number(text: str, whole: str) -> float:
    plain = text.strip()
    share = plain.endswith("%")
    try:
        number = float(plain.rstrip("%").strip()) / (100 if share else 1)
    except ValueError:
        number = float("nan")
    if not isfinite(number) or "_" in plain:
        raise OptionError(f"The number of a want must be one such as 0.02, 2 % or 3. Got {whole!r}.")
    return number


def _require_in_range(figure: Yardstick, number: float, text: str) -> None:
    if figure.share and not 0 <= number <= 1:
        hint = f"write {figure.name} {figure.sign} {number:g} %." if 1 < number <= 100 else None
        raise OptionError(f"The figure {figure.name} must be compared with a share from 0 to 1. Got {text!r}.", hint)
    if number < 0:
        raise OptionError(f"The figure {figure.name} must be compared with a number of at least 0. Got {text!r}.")


def demanded(plan: Plan, wants: Sequence[Want]) -> Plan:
    """Return the plan with demands on its sensitive attributes for what is wanted of privacy models.

    Demands are the only way to a release whose worst group has what is wanted; those that the plan has are kept if they
    are stricter.
    """
    if not any(want.figure.source == "model" for want in wants):
        return plan
    fields = plan.model_dump(mode="json", exclude_unset=True)
    least, greatest, models = plan.l, plan.t, {name: list(many) for name, many in plan.models.items()}
    for want in wants:
        if want.figure.source != "model":
            continue
        if want.figure.name == "l":
            least = max(least or 2, _whole(want), 2)
        elif want.figure.name == "t":
            greatest = min(1.0 if greatest is None else greatest, want.number)
        else:
            named = plan.demanded_of
            if not named:
                raise OptionError(
                    f"The figure {want.figure.name} must be about a sensitive attribute that is not a "
                    "quasi-identifier. Got none.",
                    "name it with sensitive_attributes (--sensitive).",
                )
            letter = {"entropy_l": "l"}.get(want.figure.name, want.figure.name)
            for name in named:
                models.setdefault(name, []).append(f"{want.figure.model} {letter}={want.number:.12g}")
    return Plan.of(**{**fields, "l": least, "t": greatest, "models": models})


def _whole(want: Want) -> int:
    """Return the smallest whole number that is wanted."""
    number = int(want.number)
    return number + (want.number > number or want.sign == ">")
