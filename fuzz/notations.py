"""Numbers and dates as people write them: with thousands, currencies, exponents, names of months, offsets.

Each notation writes random values, and reads texts back with plain Python. What groups publish must be in the same
notation, and is compared as numbers: numbers, days or microseconds since 1970.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

from fuzz.case import Case, Column
from fuzz.trees import text_of

START = datetime(1970, 1, 1, tzinfo=UTC)
MICRO = timedelta(microseconds=1)
MINUTE = Fraction(60 * 10**6)


@dataclass(frozen=True)
class Notation:
    """How the values of a column are written.

    Attributes
    ----------
    kind : str
        What the values are: "continuous", "integer", "date" or "datetime".
    one : callable
        Draws a value, as a text or a whole number.
    read : callable
        Returns a value as a number.
    form : str
        A regular expression of every published value.
    step : Fraction
        How far a published mean may be off because of its last place.
    relative : Fraction
        The same in relation to the value.
    options : {field: value}
        What the plan must say of the column; ``thousands`` is of the whole plan.
    inferred : bool
        Whether the type is inferred in text files without a word in the plan.
    template : str
        The form of numbers, with an @ for their decimal places.
    """

    kind: str
    one: Callable[[Random], Any]
    read: Callable[[Any], Fraction]
    form: str
    step: Fraction
    relative: Fraction = Fraction(0)
    options: tuple[tuple[str, str], ...] = ()
    inferred: bool = True
    template: str = ""

    def with_digits(self, digits: int | None) -> Notation:
        """Return the notation of numbers with as many decimal places as a plan says, before an exponent if any."""
        if digits is None or not self.template:
            return self
        form = self.template.replace("@", rf"\.\d{{{digits}}}" if digits else "")
        last = Fraction(1, 10**digits)
        return replace(self, form=form, relative=last) if self.relative else replace(self, form=form, step=last / 2)


# --- numbers ---


def _amount(form: str, *, digits: int, mark: str = "", most: float = 10**6) -> Callable[[Random], str]:
    def one(random: Random) -> str:
        text = f"{round(random.uniform(-most / 4, most), digits):,.{digits}f}".replace(",", mark)
        sign = "-" if text.startswith("-") else ""
        return sign + form.format(text.removeprefix("-"))

    return one


def _plain(text: str) -> Fraction:
    """Return the number in a text of which all but sign, digits, point and exponent is left out."""
    kept = re.fullmatch(r"(-?)[^\d-]*(-?)(\d[\d ,'\u00a0]*(?:\.\d+)?(?:[eE][-+]\d+)?)\D*", text)
    if kept is None:
        raise ValueError("not a number")
    return Fraction(Decimal(kept[1] + kept[2] + re.sub(r"[ ,'\u00a0]", "", kept[3])))


def _numbers(one: Callable[[Random], str], template: str, digits: int, **more: Any) -> Notation:
    """Return the notation of numbers, by a form with an @ for decimal places; an exponent has a sign."""
    how = Notation("continuous" if digits else "integer", one, _plain, "", Fraction(0), template=template, **more)
    return replace(how, relative=Fraction("[+-]" in template)).with_digits(digits)


def _grouped(mark: str) -> str:
    return rf"\d{{1,3}}({mark}\d{{3}})*@"


NUMBERS = {
    "1,234.50": _numbers(_amount("{}", digits=2, mark=","), "-?" + _grouped(","), 2),
    "1 234.50": _numbers(_amount("{}", digits=2, mark=" "), "-?" + _grouped(" "), 2),
    "1'234.5": _numbers(_amount("{}", digits=1, mark="'"), "-?" + _grouped("'"), 1),
    "€1,234.50": _numbers(_amount("€{}", digits=2, mark=","), "-?€" + _grouped(","), 2),
    "12.50 €": _numbers(_amount("{} €", digits=2), r"-?\d+@ €", 2),
    "EUR 1234": _numbers(_amount("EUR {}", digits=0), r"-?EUR \d+@", 0),
    "12.5%": _numbers(_amount("{}%", digits=1, most=100), r"-?\d+@%", 1),
    "1,234": _numbers(_amount("{}", digits=0, mark=","), "-?" + _grouped(","), 0, options=(("thousands", ","),)),
    "1.5e+03": _numbers(lambda random: f"{random.lognormvariate(0, 9):.2e}", r"-?\d@e[+-]\d\d\d?", 2),
    "1.5E-03": _numbers(lambda random: f"{random.gauss(0, 1e-4):.1E}", r"-?\d@E[+-]\d\d\d?", 1),
}


# --- dates and moments ---


def _day(random: Random) -> date:
    return date(1950, 1, 1) + timedelta(days=random.randrange(25000))


def _days(day: date) -> Fraction:
    return Fraction((day - START.date()).days)


def _dates(pattern: str, *, cut: str = "", **more: Any) -> Notation:
    """Return the notation of a pattern of strftime; `cut` is a letter: "u" for upper case, "0" without zeros."""

    def one(random: Random) -> str:
        day = _day(random)
        text = day.strftime(pattern)
        if cut == "0":
            text = day.strftime(pattern.replace("%d", "D").replace("%m", "M"))
            text = text.replace("D", str(day.day)).replace("M", str(day.month))
        return text.upper() if cut == "u" else text

    def read(text: Any) -> Fraction:
        return _days(datetime.strptime(text_of(text), pattern).date())

    forms = {"%d": r"\d\d", "%m": r"\d\d", "%Y": r"\d{4}", "%y": r"\d\d", "%b": "[A-Z][a-z]{2}", "%B": "[A-Z][a-z]+"}
    if cut:
        forms |= {"%d": r"[1-9]\d?", "%m": r"[1-9]\d?"} if cut == "0" else {"%b": "[A-Z]{3}"}
    form = re.sub(r"%[A-Za-z]|\.", lambda match: forms.get(match[0], r"\."), pattern)
    return Notation("date", one, read, form, more.pop("step", Fraction(1, 2)), **more)


def _digits(value: Any) -> Fraction:
    return _days(datetime.strptime(str(value), "%Y%m%d").date())


def _moments(pattern: str, form: str, step: Fraction, offsets: tuple[str, ...] = ("",)) -> Notation:
    """Return the notation of moments; each text ends in one of the offsets."""

    def one(random: Random) -> str:
        moment = datetime(1950, 1, 1) + timedelta(seconds=random.randrange(2 * 10**9))
        return moment.strftime(pattern) + random.choice(offsets)

    zoned = len(offsets) > 1

    def read(text: str) -> Fraction:
        if zoned:
            return Fraction((datetime.strptime(text, pattern + "%z") - START) // MICRO)
        moment = datetime.strptime(text.removesuffix(offsets[0]) if offsets[0] else text, pattern)
        return Fraction((moment.replace(tzinfo=UTC) - START) // MICRO)

    return Notation("datetime", one, read, form, step)


SECOND = Fraction(10**6)
DATES = {
    "28.03.1986": _dates("%d.%m.%Y"),
    "28.3.1986": _dates("%d.%m.%Y", cut="0"),
    "1986/03/28": _dates("%Y/%m/%d"),
    "28 Mar 1986": _dates("%d %b %Y"),
    "28MAR1986": _dates("%d%b%Y", cut="u"),
    "March 28, 1986": _dates("%B %d, %Y"),
    "1986-03": _dates("%Y-%m", step=Fraction(31)),
    "28/03/86": _dates("%d/%m/%y", options=(("formats", "%d/%m/%y"),), inferred=False),
    "03/28/1986": _dates("%m/%d/%Y", options=(("formats", "%m/%d/%Y"),)),
    "19860328": Notation(
        "date", lambda random: _day(random).strftime("%Y%m%d"), _digits, r"\d{8}", Fraction(1, 2), inferred=True
    ),
    "number 19860328": Notation(
        "date", lambda random: int(_day(random).strftime("%Y%m%d")), _digits, r"\d{8}", Fraction(1, 2)
    ),
}
MOMENTS = {
    "1986-03-28T10:30": _moments("%Y-%m-%dT%H:%M", r"\d{4}-\d\d-\d\dT\d\d:\d\d", MINUTE),
    "28 Mar 1986 10:30": _moments("%d %b %Y %H:%M", r"\d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d", MINUTE),
    "10:30 PM": _moments("%Y-%m-%d %I:%M %p", r"\d{4}-\d\d-\d\d \d\d:\d\d [AP]M", MINUTE),
    "10:30:15Z": _moments("%Y-%m-%dT%H:%M:%S", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", SECOND, ("Z",)),
    "one offset": _moments("%Y-%m-%d %H:%M:%S", r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+05:45", SECOND, ("+05:45",)),
    "offsets": _moments(
        "%Y-%m-%d %H:%M:%S", r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d", SECOND, ("+01:00", "+02:00", "-05:30")
    ),
}
DRAWN = {**NUMBERS, **DATES, **MOMENTS}
# Notations that only a plan can tell, by the pattern in its formats.
PATTERNS = {"%Y": "1986", "%d.%m.%Y": "28.03.1986"}
ALL = {**DRAWN, "1986": _dates("%Y", step=Fraction(366), options=(("formats", "%Y"),), inferred=False)}
# Notations without leading zeros, and those with them.
PADDED = {"28.3.1986": "28.03.1986"}


def ends_of(text: str) -> list[str]:
    """Return the two ends of an interval, or a single value twice; values may have commas themselves."""
    if text[:1] not in "[(":
        return [text, text]
    parts = text[1:-1].split(", ")
    half = len(parts) // 2
    return [", ".join(parts[:half]), ", ".join(parts[half:])]


def is_written(name: str, value: Any, column: Sequence[Any] = (), digits: int | None = None) -> bool:
    """Return whether a published value, or both ends of an interval, are in the notation of a column.

    If a plan says how many decimal places are published, these are its digits.
    """
    form = ALL[name].with_digits(digits).form
    if name in PADDED and not any(re.search(r"(^|\D)\d(\D|$)", one) for one in column if one is not None):
        form = f"{form}|{ALL[PADDED[name]].form}"  # nothing tells that days and months have no zeros
    return all(re.fullmatch(form, end) for end in ends_of(text_of(value)))


def declared(case: Case) -> Case:
    """Return an input with the notations that only its plan tells: those of numbers and texts with a format."""
    formats = case.plan.get("formats", {})

    def told(column: Column) -> Column:
        dated = column.type.startswith(("date", "timestamp"))
        known = column.notation or (None if dated else PATTERNS.get(formats.get(column.name, "")))
        return replace(column, notation=known)

    people = case.population
    return replace(
        case,
        columns=[told(column) for column in case.columns],
        population=None if people is None else [told(column) for column in people],
    )
