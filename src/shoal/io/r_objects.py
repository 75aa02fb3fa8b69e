"""Objects of R as the package rdata parses them: vectors with attributes, and vectors that R stores as a rule.

R stores 1:1000 as its ends, and as.character(1:1000) as the numbers, until somebody needs more. rdata can write these
out, but forgets missing values and the last element of 3:1, so this is done here.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

__all__ = ["UnreadableError", "Vector", "attributes", "classes", "in_words", "names_of", "pairs", "texts", "vector"]

_LONGEST = 2**28  # of a sequence that a file gives by its ends: a few bytes must not fill the memory
_BYTES, _LATIN, _UTF8, _ASCII = 1 << 1, 1 << 2, 1 << 3, 1 << 6
_NA = 1954  # the low word of R's NA
_WORDS = {
    **{"LGL": "a logical vector", "INT": "an integer vector", "REAL": "a numeric vector", "STR": "a character vector"},
    **{"CPLX": "a complex vector", "VEC": "a list", "LIST": "a list", "CLO": "a function", "BUILTIN": "a function"},
    **{"ENV": "an environment", "S4": "an S4 object", "NILVALUE": "NULL", "LANG": "a call", "SYM": "a name"},
}


class UnreadableError(Exception):
    """The file is not as R writes it."""


class Vector(NamedTuple):
    """A vector: its type in R's own words, its values, and its attributes.

    `values` are an array of NumPy's, masked where R has NA, for LGL, INT and REAL; a list of objects of rdata or of
    texts for STR; a list of objects for VEC.
    """

    kind: str
    values: Any
    attributes: dict[str, Any]


def vector(thing: Any) -> Vector:
    """Return an object as a vector; one that is none has no values."""
    kind = thing.info.type.name
    if kind == "ALTREP":
        what, state, own = thing.value
        made = _from_rule(_symbol(what.value[0]), state)
        return made._replace(attributes={**made.attributes, **dict(pairs(own))})
    values = thing.value if kind in ("LGL", "INT", "REAL", "STR", "VEC") else None
    return Vector(kind, values, attributes(thing))


def _from_rule(rule: str, state: Any) -> Vector:
    if rule in ("compact_intseq", "compact_realseq"):
        n, start, step = (float(number) for number in state.value)
        if not 0 <= n <= _LONGEST:
            raise UnreadableError
        values = start + step * np.arange(int(n))
        return Vector("INT", values.astype(np.int32), {}) if "int" in rule else Vector("REAL", values, {})
    if rule == "deferred_string":
        numbers, scipen = vector(state.value[0]), int(state.value[1].value[0])
        missing = np.ma.getmaskarray(numbers.values) | is_na(numbers.values)
        listed = np.ma.getdata(numbers.values).tolist()
        return Vector("STR", [None if gap else as_text(x, scipen) for x, gap in zip(listed, missing, strict=True)], {})
    if rule.startswith("wrap_"):
        return vector(state.value[0])
    raise UnreadableError


def as_text(number: float, scipen: int = 0) -> str:
    """Return a number as R's as.character does: of up to 15 digits, in the shorter of two ways."""
    if isinstance(number, int):
        return str(number)
    if number != number or abs(number) == float("inf"):
        return "NaN" if number != number else "Inf" if number > 0 else "-Inf"
    sign, digits, _ = (exact := Decimal(f"{number:.15g}").normalize()).as_tuple()
    fixed, power = f"{exact:f}", exact.adjusted()
    mantissa = str(digits[0]) + ("." + "".join(map(str, digits[1:])) if len(digits) > 1 else "")
    scientific = f"{'-' * sign}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"
    return fixed if len(fixed) <= len(scientific) + scipen else scientific


def is_na(values: Any) -> Any:
    """Return where floating-point numbers are R's NA, not another NaN: bool[n]."""
    values = np.ma.getdata(values)
    if values.dtype != np.float64:
        return np.zeros(len(values), bool)
    return np.isnan(values) & ((values.view(np.uint64) & 0xFFFFFFFF) == _NA)


def pairs(thing: Any) -> list[tuple[str, Any]]:
    """Return the elements of a pairlist with their names."""
    found = []
    while thing is not None and thing.info.type.name in ("LIST", "ATTRLIST"):
        head, rest = thing.value
        found.append((_symbol(thing.tag) if thing.tag is not None else "", head))
        thing = rest
    return found


def attributes(thing: Any) -> dict[str, Any]:
    """Return the attributes of an object."""
    return dict(pairs(thing.attributes))


def classes(own: dict[str, Any]) -> list[str]:
    """Return the classes that attributes name."""
    return [name for name in texts(own["class"], None) if name] if "class" in own else []


def names_of(own: dict[str, Any], encoding: str | None) -> list[str | None]:
    """Return the names that attributes give the elements of a vector."""
    return texts(own["names"], encoding) if "names" in own else []


def texts(thing: Any, encoding: str | None) -> list[str | None]:
    """Return the texts of a character vector, an object or a Vector; `encoding` is that of texts that say none."""
    found = thing if isinstance(thing, Vector) else vector(thing)
    if found.kind != "STR":
        raise UnreadableError
    return [one if one is None or isinstance(one, str) else _text(one, encoding) for one in found.values]


def _text(thing: Any, encoding: str | None) -> str | None:
    raw, flags = thing.value, thing.info.gp
    if raw is None:
        return None
    if flags & _BYTES:
        raise UnreadableError
    if flags & _LATIN:
        encoding = "cp1252"  # so on Windows, where most such files come from
    elif flags & (_UTF8 | _ASCII) or encoding is None:
        encoding = "utf-8"
    try:
        return str(raw, encoding)
    except UnicodeDecodeError:
        return str(raw, "latin-1" if flags & _LATIN else "cp1252")


def _symbol(thing: Any) -> str:
    while thing.info.type.name == "REF":
        thing = thing.referenced_object
    return _text(thing.value, None) or ""


def in_words(thing: Any) -> str:
    """Return what an object is, for messages."""
    found = vector(thing)
    own = [name for name in classes(found.attributes) if name not in ("list", "function")]
    if "dim" in found.attributes:
        return "a matrix"
    return f"an object of class {own[0]}" if own else _WORDS.get(found.kind, "an object of another type")
