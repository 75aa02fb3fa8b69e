"""Privacy budgets, and the ledger of what was spent.

All sums are exact: epsilon and delta are fractions. A ledger refuses what it cannot pay before any noise is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Literal

from shoal.errors import BudgetError, OptionError

Number = int | float | str | Decimal | Fraction
How = Literal["sequential", "parallel"]


def exact(value: Any, name: str) -> Fraction:
    """Return the number that was written: 0.1 is one tenth, not the double next to it."""
    if isinstance(value, Fraction):
        return value
    try:
        if isinstance(value, bool):
            raise TypeError
        return Fraction(Decimal(repr(float(value)) if hasattr(value, "__float__") and not _is_exact(value) else value))
    except (TypeError, ValueError, InvalidOperation, OverflowError):
        raise OptionError(f"The {name!r} of a budget must be a finite number. Got {value!r}.") from None


def _is_exact(value: Any) -> bool:
    return isinstance(value, int | Decimal)


def shown(value: Fraction) -> str:
    """Return a number as text, with up to six digits, rounded up: what was spent is never understated."""
    rounded = Context(prec=6, rounding=ROUND_CEILING).divide(Decimal(value.numerator), Decimal(value.denominator))
    text = f"{rounded:f}" if rounded == 0 or -5 < rounded.adjusted() < 7 else f"{rounded:e}"
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


@dataclass(frozen=True)
class Neighbours:
    """Which tables must be hard to tell apart: those of which one has one record, or one unit, more.

    Attributes
    ----------
    rows : int
        Largest number of rows of one unit. 1: a record is a unit.
    unit : str or None
        What a unit is, such as the name of the column of persons or households.
    """

    rows: int = 1
    unit: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.rows, bool) or not isinstance(self.rows, int) or self.rows < 1:
            raise OptionError(f"The 'rows' of neighbours must be a whole number of at least 1. Got {self.rows!r}.")
        if self.rows > 1 and self.unit is None:
            raise OptionError(f"The 'unit' of neighbours must say whose rows they are. Got none for {self.rows} rows.")

    def __str__(self) -> str:
        if self.unit is None:
            return "add or remove one record"
        rows = "1 row" if self.rows == 1 else f"{self.rows} rows"
        return f"add or remove one unit ({self.unit}) with at most {rows}"


@dataclass(frozen=True)
class Budget:
    """How much may be told about any one record, or unit.

    Numbers are taken as they are written, so that 0.1 is one tenth.

    Attributes
    ----------
    epsilon : Fraction
        Above 0. No output becomes more than exp(epsilon) times as likely by one record.
    delta : Fraction
        From 0 to below 1. Probability that is exempt from this.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __init__(self, epsilon: Number, delta: Number = 0) -> None:
        large, small = exact(epsilon, "epsilon"), exact(delta, "delta")
        if large <= 0:
            raise OptionError(f"The 'epsilon' of a budget must be a finite number above 0. Got {epsilon!r}.")
        if not 0 <= small < 1:
            raise OptionError(f"The 'delta' of a budget must be from 0 to below 1. Got {delta!r}.")
        object.__setattr__(self, "epsilon", large)
        object.__setattr__(self, "delta", small)

    def split(self, weights: Iterable[Number]) -> tuple[Fraction, ...]:
        """Return shares of epsilon in these proportions; their sum is epsilon, exactly."""
        parts = [exact(weight, "weights") for weight in weights]
        total = sum(parts, Fraction(0))
        if total <= 0 or min(parts) < 0:
            raise OptionError("The 'weights' of a split must be at least 0, and some above 0.")
        return tuple(self.epsilon * part / total for part in parts)

    def __str__(self) -> str:
        return f"epsilon {shown(self.epsilon)}, delta {shown(self.delta)}"

    def __repr__(self) -> str:
        return f"Budget(epsilon={shown(self.epsilon)}, delta={shown(self.delta)})"


@dataclass(frozen=True)
class Entry:
    """A line of the ledger.

    Attributes
    ----------
    what : str
        What was asked, in words; nothing of the data.
    epsilon, delta : Fraction
    how : "sequential" or "parallel"
        Sequential entries add up. A parallel one was paid once for boxes that share no record.
    """

    what: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    how: How = "sequential"


@dataclass
class Ledger:
    """What a budget was spent on.

    Parameters
    ----------
    budget : Budget
    neighbours : Neighbours
    """

    budget: Budget
    neighbours: Neighbours = field(default_factory=Neighbours)
    _entries: list[Entry] = field(default_factory=list, init=False, repr=False)
    _spent: tuple[Fraction, Fraction] = field(default=(Fraction(0), Fraction(0)), init=False, repr=False)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Return what was paid, in order."""
        return tuple(self._entries)

    @property
    def spent(self) -> tuple[Fraction, Fraction]:
        """Return the epsilon and the delta spent so far."""
        return self._spent

    @property
    def remaining(self) -> tuple[Fraction, Fraction]:
        """Return the epsilon and the delta that are left."""
        epsilon, delta = self.spent
        return self.budget.epsilon - epsilon, self.budget.delta - delta

    def charge(self, what: str, epsilon: Number, delta: Number = 0, *, how: How = "sequential") -> Entry:
        """Pay for an answer, before it is drawn.

        Raises
        ------
        BudgetError
            If the budget would be overrun: nothing is charged.
        """
        entry = self.afford(what, epsilon, delta, how=how)
        self._entries.append(entry)
        self._spent = self._spent[0] + entry.epsilon, self._spent[1] + entry.delta
        return entry

    def afford(self, what: str, epsilon: Number, delta: Number = 0, *, how: How = "sequential") -> Entry:
        """Return the entry that a charge would make, without making it; raise BudgetError if it cannot be paid.

        For answers that are paid in parts: none of them is drawn unless all can be.
        """
        entry = Entry(what, exact(epsilon, "epsilon"), exact(delta, "delta"), how)
        if entry.epsilon < 0 or entry.delta < 0:
            raise OptionError(f"The 'epsilon' and the 'delta' that are charged for {what} must be at least 0.")
        left = self.remaining
        if entry.epsilon > left[0] or entry.delta > left[1]:
            raise BudgetError(
                f"The budget ({self.budget}) must pay for {what} before it is drawn. It costs epsilon "
                f"{shown(entry.epsilon)} and delta {shown(entry.delta)}; epsilon {_floor(left[0])} and delta "
                f"{_floor(left[1])} are left.",
                hint="nothing was drawn; ask for less, or for a larger budget.",
            )
        return entry

    def parallel(self, what: str, epsilon: Number, delta: Number = 0) -> Boxes:
        """Pay once for answers about boxes of which none has a record of another.

        Every box gets a ledger with this budget of its own. The whole is paid here, whatever the boxes spend.
        """
        if exact(delta, "delta") and self.neighbours.rows > 1:
            # Rows of a unit may lie in several boxes, and deltas of groups of rows do not add up.
            raise OptionError("Boxes with a delta must be about neighbours that differ in one row.")
        entry = self.charge(what, epsilon, delta, how="parallel")
        return Boxes(Budget(entry.epsilon, entry.delta), self.neighbours)

    def to_plain(self) -> dict[str, Any]:
        """Return plain values, for certificates and records."""
        epsilon, delta = self.spent
        return {
            "epsilon": shown(self.budget.epsilon),
            "delta": shown(self.budget.delta),
            "neighbours": str(self.neighbours),
            "spent": {"epsilon": shown(epsilon), "delta": shown(delta)},
            "entries": [
                {"what": one.what, "epsilon": shown(one.epsilon), "delta": shown(one.delta), "composed": one.how}
                for one in self._entries
            ],
        }

    def __str__(self) -> str:
        epsilon, delta = self.spent
        wide = max([len(entry.what) for entry in self._entries] + [len("spent")])
        rows: list[tuple[str, ...]] = [
            (one.what, shown(one.epsilon), shown(one.delta), one.how) for one in self._entries
        ]
        rows += [("spent", shown(epsilon), shown(delta), f"of {self.budget}")]
        lines = [f"{what:<{wide}}  {eps:>10}  {small:>10}  {how}" for what, eps, small, how in rows]
        return "\n".join([f"{'':<{wide}}  {'epsilon':>10}  {'delta':>10}", *lines, f"neighbours: {self.neighbours}"])


class Boxes:
    """Ledgers of boxes that share no record; each may spend the whole of what was paid for all of them."""

    def __init__(self, budget: Budget, neighbours: Neighbours) -> None:
        self.budget = budget
        self.neighbours = neighbours
        self._ledgers: dict[Hashable, Ledger] = {}

    def __getitem__(self, box: Hashable) -> Ledger:
        """Return the ledger of a box: always the same one, so that no box pays twice with the same money."""
        return self._ledgers.setdefault(box, Ledger(self.budget, self.neighbours))


def _floor(value: Fraction) -> str:
    """Return a number as text, rounded down, so that what is left is not overstated."""
    return f"{math.floor(value * 10**9) / 10**9:.9g}" if value > 0 else "0"
