"""Dates and moments in JSON, which has only texts: 2024-12-31, 2024-12-31T13:04:05 and 2024-12-31T13:04:05Z (UTC)."""

from __future__ import annotations

from typing import Any

__all__ = ["dated", "moments"]

_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOMENT = f"{_DATE}T[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}([.][0-9]{{1,6}})?"


def dated(texts: Any) -> Any:
    """Return texts as dates or as moments if all of them are of one such form, otherwise as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if texts.null_count == len(texts):
        return texts
    forms = ((_DATE, pa.date32()), (_MOMENT, pa.timestamp("us")), (f"{_MOMENT}Z", pa.timestamp("us", "UTC")))
    for form, kind in forms:
        if pc.all(pc.match_substring_regex(texts, f"^{form}$")).as_py():
            try:
                return texts.cast(kind)
            except pa.ArrowInvalid:  # the 30th of February
                return texts
    return texts


def moments(values: Any, name: str, notes: list[str]) -> Any:
    """Return moments as texts, those with a time zone in UTC."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if kind.unit == "ns" and not values.cast(pa.timestamp("us", kind.tz), safe=False).cast(kind).equals(values):
        notes.append(f"column {name!r}: times were cut to microseconds")
    values = values.cast(pa.timestamp("us", kind.tz), safe=False)
    if kind.tz is not None and kind.tz != "UTC":
        notes.append(f"column {name!r}: moments are in UTC; the time zone is lost")
    texts = values.cast(pa.timestamp("us", "UTC" if kind.tz else None)).cast(pa.string())
    texts = pc.replace_substring(texts, " ", "T", max_replacements=1)
    if pc.all(pc.match_substring_regex(texts, r"\.0+Z?$")).as_py():
        texts = pc.replace_substring_regex(texts, r"\.0+(Z?)$", r"\1")  # digits that the type has, but no value
    return texts
