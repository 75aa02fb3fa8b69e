"""Dates and moments in text: recognising their form, reading them, and writing others in the same form.

A form is recognised only if all texts have it, and if it can be read in one way. Day and month that cannot be told
apart, years of two digits and names of months that are not English are refused, with the option that says what they
are.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError
from shoal.tables.calendar import EARLIEST, LATEST, MICROSECONDS_A_DAY, MONTHS, calendar_days, in_order
from shoal.tables.notation import contains, different, matches, parts, unnamed

ISO = "%Y-%m-%d"

_DATE = r"(?P<a>\d{1,4})(?P<s>[-/.])(?P<b>\d{1,2})(?P<t>[-/.])(?P<c>\d{1,4})"
DATE = f"^{_DATE}$"
DATETIME = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?$"
# 28 Mar 1986, 28-March-1986, 28MAR1986; March 28, 1986.
# Letters: all that is not ASCII may be one, until `_worded` looks closer. The class of all letters, repeated, takes
# Arrow ten milliseconds to prepare, each time.
_NAME = r"(?P<month>[A-Za-z\x{80}-\x{10FFFF}]{3,12})"
_DAY_FIRST = rf"(?P<day>\d{{1,2}})(?P<s>[ ./-]{{0,2}}){_NAME}(?P<t>[ .,/-]{{0,2}})(?P<year>\d{{4}}|\d{{2}})"
_MONTH_FIRST = rf"{_NAME}(?P<s>\.? )(?P<day>\d{{1,2}})(?P<t>,? )(?P<year>\d{{4}})"
_MONTH_ONLY = r"(?P<a>\d{4}|\d{1,2})(?P<s>[-/])(?P<b>\d{4}|\d{1,2})"
_OFFSET = r" ?(?:Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)"
# CET, Europe/Berlin: kept as they are if all rows have the same one, whose clock then counts.
_ZONE = rf"(?:{_OFFSET}| (?:[A-Z]{{3,5}}|[A-Z][a-z]+(?:/[A-Z][A-Za-z_]+)+))"
_TIME = (
    r"(?P<gap>T|,? )(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?P<fraction>\.\d{1,9})?)?"
    rf"(?P<half> ?[AaPp][Mm])?(?P<zone>{_ZONE})?"
)
_MIDNIGHT = rf"^[T ]00:00(:00(\.0+)?)?({_ZONE})?$"


_DAY = "|".join(unnamed(form) for form in (_DATE, _DAY_FIRST, _MONTH_FIRST, _MONTH_ONLY))
LIKE_A_DATE = f"^({_DAY})({unnamed(_TIME)})?$"
# Texts that nobody would take for anything else, in several forms.
DATED = (
    r"^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|"
    rf"\d{{1,2}}[ .-]?(?i:{'|'.join(name[:3] for name in MONTHS)})[a-z]*[ .,-]*\d{{4}})([T ]\d\d?:\d\d.*)?$"
)


class Moments(NamedTuple):
    """The dates or moments of texts, and the form in which they are written.

    Attributes
    ----------
    kind : str
        ``date`` or ``datetime``.
    values : float64[n]
        Days or microseconds since 1970-01-01.
    pattern, digits, suffix, style
        See :class:`shoal.tables.notation.Notation`.
    note : str
        What may surprise.
    """

    kind: str
    values: Array
    pattern: str
    digits: int | None = None
    suffix: str = ""
    style: frozenset[str] = frozenset()
    note: str = ""


def recognised(present: Any, name: str) -> Moments | None:
    """Return the dates or moments of texts, or None if they are something else.

    Raises
    ------
    DataError
        If they can be read in several ways, or some do not exist.
    """
    days = iso_days(present)
    if days is not None:
        return Moments("date", days, ISO)
    if matches(present, DATETIME):
        return _iso_moments(present, name)
    if not matches(present, LIKE_A_DATE):
        return None
    split = parts(present, f"^(?P<text>{_DAY})(?P<rest>{unnamed(_TIME)})?$")
    found = _of_days(split["text"], name)
    if found is None:
        if matches(present, DATED):
            raise DataError(
                f"The column {name!r} must hold dates of one form. Got several.",
                hint=f"write them all alike, such as 1999-12-31, or pass types={{{name!r}: 'nominal'}}.",
            )
        return None
    rests = different(split["rest"])
    if rests == [""]:
        return found
    if len(rests) == 1 and re.match(_MIDNIGHT, rests[0]):
        return found._replace(suffix=rests[0], note="all at midnight")
    if "" in rests:
        raise not_moments(name)
    return _with_times(found, split["rest"], name)


def _iso_moments(present: Any, name: str) -> Moments:
    """Return moments written as in ISO 8601, without a time zone."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cut = pc.replace_substring_regex(present, r"(\.\d{6})\d+", r"\1")
    try:
        moments = pc.cast(pc.cast(cut, pa.timestamp("us")), pa.int64())
    except pa.ArrowInvalid:
        raise not_moments(name) from None
    values = moments.to_numpy(zero_copy_only=False).astype(np.float64)
    rests = different(pc.utf8_slice_codeunits(present.slice(0, 1000), 10))
    if len(rests) == 1 and re.match(_MIDNIGHT, rests[0]) and matches(present, f"{re.escape(rests[0])}$"):
        return Moments("date", values / MICROSECONDS_A_DAY, ISO, suffix=rests[0], note="all at midnight")
    pattern, digits = _time_pattern(present)
    return Moments("datetime", values, pattern, digits)


def _time_pattern(present: Any) -> tuple[str, int]:
    """Return the pattern of moments in ISO 8601 (T or a blank, seconds or not), and the digits of fractions."""
    import pyarrow.compute as pc

    longest = int(pc.max(pc.utf8_length(present)).as_py() or 0)
    mark = "T" if pc.any(pc.match_substring(present, "T")).as_py() else " "
    pattern = f"%Y-%m-%d{mark}%H:%M" + ("" if longest <= 16 else ":%S" if longest <= 19 else ":%S.%f")
    return pattern, max(0, longest - 20)


def iso_days(present: Any) -> Array | None:
    """Return dates as days since 1970-01-01, or None unless all are written like 1999-12-31."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        days = pc.cast(pc.cast(present, pa.date32()), pa.int32())
    except pa.ArrowInvalid:
        return None
    return np.array(days.to_numpy(zero_copy_only=False), np.float64)


def not_moments(name: str) -> DataError:
    """Return the error for texts that are not dates with times."""
    return DataError(
        f"The column {name!r} must hold dates with times in all rows. Got others.",
        hint="give their form, such as formats={..: '%d/%m/%Y %H:%M'}.",
    )


def _of_days(texts: Any, name: str) -> Moments | None:
    """Return texts of one of the forms of dates as days."""
    for form, read in ((DATE, _numeric), (_DAY_FIRST, _worded), (_MONTH_FIRST, _worded), (_MONTH_ONLY, _months)):
        form = form if form.startswith("^") else f"^{form}$"
        if matches(texts, form):
            return read(parts(texts, form), form, name)
    return None


def _one(column: Any) -> str | None:
    """Return the text that all rows share, or None if there are several."""
    texts = different(column)
    return texts[0] if len(texts) == 1 else None


def _style(*columns: Any) -> frozenset[str]:
    """Return whether days and months of one digit are written without a leading zero."""
    single = any(contains(column, r"^\d$") for column in columns)
    return frozenset({"unpadded"} if single and not any(contains(column, r"^0") for column in columns) else ())


def style_of(present: Any, pattern: str) -> frozenset[str]:
    """Return the style of dates of a declared pattern: whether days and months are padded, and the case of months."""
    import pyarrow.compute as pc

    style = set()
    if contains(present, r"(^|\D)\d(\D|$)") and not contains(present, r"(^|\D)0\d(\D|$)"):
        style.add("unpadded")
    if "%b" in pattern.lower() and len(present):
        for case, change in (("upper", pc.utf8_upper), ("lower", pc.utf8_lower)):
            style |= {case} if pc.all(pc.equal(present, change(present))).as_py() else set()
    return frozenset(style)


def _numeric(of: dict[str, Any], form: str, name: str) -> Moments | None:
    """Return dates such as 31.12.1999."""
    mark = _one(of["s"])
    if mark is None or _one(of["t"]) != mark:
        return None
    a, b, c = (_integers(of[field]) for field in "abc")
    first, last = (_lengths(of[field]) for field in "ac")
    if (first == 4).all() and (last <= 2).all():
        orders = ["%Y{0}%m{0}%d"]
        style = _style(of["b"], of["c"])
    elif (last == 4).all() and (first <= 2).all():
        orders = _orders(a, b, mark, name)
        style = _style(of["a"], of["b"])
    else:
        if (first <= 2).all() and (last <= 2).all() and ((first == 2).all() or (last == 2).all()):
            refuse_short_years((a, b, c), mark, name)
        return None
    for order in orders:
        days = calendar_days(*in_order(order, a, b, c))
        if days is not None:
            return Moments("date", days, order.format(mark), style=style)
    raise DataError(
        f"The column {name!r} must contain valid dates, all in the same order of day and month. Got others.",
        hint=f"correct them, or pass types={{{name!r}: 'nominal'}}.",
    )


def _orders(a: Array, b: Array, mark: str, name: str) -> list[str]:
    """Return the possible orders of day and month, or refuse dates that fit both."""
    orders = [*(["%d{0}%m{0}%Y"] if b.max() <= 12 else []), *(["%m{0}%d{0}%Y"] if a.max() <= 12 else [])]
    if len(orders) == 2 and mark == ".":
        orders = orders[:1]
    if len(orders) == 2 and not (a == b).all():
        raise ambiguous_order(name, mark)
    return orders


def ambiguous_order(name: str, mark: str) -> DataError:
    """Return the error for dates of which day and month cannot be told apart."""
    return DataError(
        f"The dates of the column {name!r} must have a known order of day and month. Got dates that fit both.",
        hint=f"state it with formats={{{name!r}: '%d{mark}%m{mark}%Y'}} or '%m{mark}%d{mark}%Y'.",
    )


def refuse_short_years(columns: tuple[Array, Array, Array], mark: str, name: str) -> None:
    """Refuse dates whose years have two digits; other groups of digits, such as 12-34-56, are left alone."""
    orders = [order.format(mark) for order in ("%d{0}%m{0}%y", "%m{0}%d{0}%y", "%y{0}%m{0}%d")]
    fitting = [o for o in orders if calendar_days(*in_order(o.replace("%y", "%Y"), *columns), short=True) is not None]
    if fitting:
        raise short_years(name, fitting)


def short_years(name: str, patterns: list[str]) -> DataError:
    """Return the error for dates whose years have two digits."""
    others = "".join(f" or {pattern!r}" for pattern in patterns[1:])
    return DataError(
        f"The dates of the column {name!r} must have years of four digits. Got two digits, whose century is not known.",
        hint=f"write the century, or state the form with formats={{{name!r}: {patterns[0]!r}}}{others}, which reads "
        "69 to 99 as 1969 to 1999 and 00 to 68 as 2000 to 2068.",
    )


def _worded(of: dict[str, Any], form: str, name: str) -> Moments | None:
    """Return dates with names of months, such as 28 Mar 1986."""
    names = different(of["month"])
    if not all(word.isalpha() for word in names):
        return None
    marks = _one(of["s"]), _one(of["t"])
    year, day = _integers(of["year"]), _integers(of["day"])
    of_name = {word: _month(word) for word in names}
    if None in of_name.values():
        foreign = 2 <= len({word.lower() for word in names}) <= 12
        if foreign and day.min() >= 1 and day.max() <= 31 and year.min() >= EARLIEST and year.max() <= LATEST:
            raise DataError(
                f"The dates of the column {name!r} must have English names of months. Got others.",
                hint=f"write months as numbers, such as 1999-12-31, or pass types={{{name!r}: 'nominal'}}.",
            )
        return None
    if None in marks:
        return None
    month = "%B" if any(len(word) > 3 for word in names) else "%b"
    order = ("%d", month) if form == f"^{_DAY_FIRST}$" else (month, "%d")
    short = (_lengths(of["year"]) == 2).any()
    pattern = f"{order[0]}{marks[0]}{order[1]}{marks[1]}{'%y' if short else '%Y'}"
    if short:
        raise short_years(name, [pattern])
    months = _by_text(of["month"], of_name)
    days = calendar_days(year, months, day)
    if days is None:
        raise DataError(
            f"The column {name!r} must contain valid dates. Got others.",
            hint=f"correct them, or pass types={{{name!r}: 'nominal'}}.",
        )
    style = _style(of["day"])
    for case, same in (("upper", str.upper), ("lower", str.lower)):
        if all(word == same(word) for word in names):
            style |= {case}
    return Moments("date", days, pattern, style=style)


def _month(word: str) -> int | None:
    """Return the number of a month, from its English name or the first three letters of it."""
    lower = word.lower()
    known = [at for at, name in enumerate(MONTHS, 1) if lower in (name.lower(), name[:3].lower())]
    return known[0] if known else None


def _by_text(column: Any, numbers: dict[str, Any]) -> Array:
    """Return int64[n]: the number of each text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.index_in(column, pa.array(list(numbers), column.type))
    return np.asarray(np.array(list(numbers.values()), np.int64)[found.to_numpy(zero_copy_only=False)])


def _months(of: dict[str, Any], form: str, name: str) -> Moments | None:
    """Return months such as 1986-03 or 03/1986 as their first days."""
    mark = _one(of["s"])
    a, b = _integers(of["a"]), _integers(of["b"])
    long_first, long_last = _lengths(of["a"]) == 4, _lengths(of["b"]) == 4
    if mark is None or not ((long_first & ~long_last).all() or (long_last & ~long_first).all()):
        return None
    year, month = (a, b) if long_first[0] else (b, a)
    if year.min() < EARLIEST or year.max() > LATEST:
        return None
    days = calendar_days(year, month, np.ones(len(a), np.int64))
    if days is None:
        return None
    pattern = f"%Y{mark}%m" if long_first[0] else f"%m{mark}%Y"
    return Moments("date", days, pattern, style=_style(of["b" if long_first[0] else "a"]), note="months")


def _with_times(found: Moments, rest: Any, name: str) -> Moments:
    """Return dates together with their times of day."""
    import pyarrow.compute as pc

    of = parts(rest, f"^{_TIME}$")
    gap = _one(of["gap"])
    written, zones = different(of["half"]), different(of["zone"])
    halves = {text.strip().lower() for text in written}
    hour, minute, second = (_integers(_filled(of[field])) for field in ("hour", "minute", "second"))
    twelve = halves <= {"am", "pm"}
    fits = (hour.min() >= 1 and hour.max() <= 12) if twelve else hour.max() <= 23
    mixed = gap is None or (halves != {""} and not twelve) or ("" in zones and len(zones) > 1)
    if mixed or not fits or minute.max() > 59 or second.max() > 59:
        raise not_moments(name)
    if twelve:
        later = pc.match_substring(pc.utf8_lower(of["half"]), "p").to_numpy(zero_copy_only=False)
        hour = hour % 12 + 12 * later.astype(np.int64)
    fraction = pc.cast(_filled(of["fraction"]), "float64").to_numpy(zero_copy_only=False)
    seconds = (hour * 60 + minute) * 60 + second
    values = found.values * MICROSECONDS_A_DAY + seconds * 1e6 + np.floor(fraction * 1e6 + 1e-3)
    digits = max(0, int(pc.max(pc.utf8_length(of["fraction"])).as_py()) - 1)
    timed = "%I:%M" if twelve else "%H:%M"
    timed += (":%S" if pc.any(pc.not_equal(of["second"], "")).as_py() else "") + (".%f" if digits else "")
    timed += (" " if any(half.startswith(" ") for half in written) else "") + ("%p" if twelve else "")
    suffix, note = zones[0], ""
    if len(zones) > 1:
        # Different offsets: the moments count, and are written in universal time.
        if not all(re.fullmatch(_OFFSET, zone) for zone in zones):
            raise DataError(
                f"The moments of the column {name!r} must have one time zone, or offsets from universal time. Got "
                "several names of zones.",
                hint=f"write offsets, such as +01:00, or pass types={{{name!r}: 'nominal'}}.",
            )
        values = values - _by_text(of["zone"], {zone: _offset(zone) for zone in zones}) * 1e6
        colon = any(":" in zone for zone in zones) or all(zone.strip(" ")[0] not in "+-" for zone in zones)
        suffix = (" " if any(zone.startswith(" ") for zone in zones) else "") + ("+00:00" if colon else "+0000")
        note = "several time zones, published in UTC"
    small = twelve and all(half.islower() for half in written) and "%b" not in found.pattern.lower()
    style = found.style | ({"lower"} if small else set())
    return Moments("datetime", values, f"{found.pattern}{gap}{timed}", digits, suffix, style, note)


def _filled(column: Any) -> Any:
    import pyarrow.compute as pc

    return pc.if_else(pc.equal(column, ""), "0", column)


def in_universal_time(texts: Any) -> tuple[Any, Array]:
    """Return texts of moments without their time zones, and float64[n]: the microseconds to take off each of them."""
    import pyarrow.compute as pc

    zone = f"{_OFFSET}$"
    found = pc.struct_field(pc.extract_regex(texts, f"(?P<zone>{zone})"), "zone").fill_null("")
    ahead = _by_text(found, {one: _offset(one) for one in different(found)})
    return pc.replace_substring_regex(texts, zone, ""), ahead * 1e6


def _offset(zone: str) -> int:
    """Return the seconds that a time zone is ahead of universal time."""
    digits = re.sub(r"\D", "", zone).ljust(4, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return -seconds if "-" in zone else seconds


def _integers(column: Any) -> Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    return np.asarray(pc.cast(column, pa.int64()).to_numpy(zero_copy_only=False), np.int64)


def _lengths(column: Any) -> Array:
    import pyarrow.compute as pc

    return np.asarray(pc.utf8_length(column).to_numpy(zero_copy_only=False))
