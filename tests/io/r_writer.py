"""Writes objects as R's saveRDS and save do: its serialisation in XDR, from the manual *R Internals*, section 1.8.

Independent of the package that Shoal reads them with.
"""

import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

NA_INTEGER = -(2**31)
NA_REAL = struct.unpack(">d", bytes.fromhex("7ff00000000007a2"))[0]
LOGICAL, INTEGER, REAL, COMPLEX, STRING, LIST = 10, 13, 14, 15, 16, 19
_NIL, _SYMBOL, _PAIRS, _CHAR, _ALTREP, _REFERENCE = 254, 1, 2, 9, 238, 255
_OBJECT, _ATTRIBUTES, _TAG = 1 << 8, 1 << 9, 1 << 10
UTF8, LATIN1, BYTES, ASCII = 1 << 3, 1 << 2, 1 << 1, 1 << 6


class Vector(NamedTuple):
    """A vector with attributes; texts may be pairs of bytes and flags of their encoding."""

    kind: int
    values: Any
    attributes: Mapping[str, Any] = MappingProxyType({})


class Rule(NamedTuple):
    """A vector that R stores as a rule."""

    name: str
    state: Any
    attributes: Mapping[str, Any] = MappingProxyType({})


class Raw(NamedTuple):
    """Bytes of any other object."""

    content: bytes


class Writer:
    def __init__(self):
        self.out = bytearray()
        self.symbols = {}

    def ints(self, *values):
        self.out += struct.pack(f">{len(values)}i", *values)

    def text(self, text):
        if text is None:
            self.ints(_CHAR, -1)
            return
        raw, flags = text if isinstance(text, tuple) else (text.encode(), ASCII if text.isascii() else UTF8)
        self.ints(_CHAR | flags << 12, len(raw))
        self.out += raw

    def symbol(self, name):
        if name in self.symbols:
            self.ints(_REFERENCE | self.symbols[name] << 8)
            return
        self.symbols[name] = len(self.symbols) + 1
        self.ints(_SYMBOL)
        self.text(name)

    def pairs(self, items):
        for name, value in items:
            self.ints(_PAIRS | (_TAG if name else 0))
            if name:
                self.symbol(name)
            self.write(value)
        self.ints(_NIL)

    def write(self, thing):
        if thing is None:
            self.ints(_NIL)
        elif isinstance(thing, Raw):
            self.out += thing.content
        elif isinstance(thing, Rule):
            self.ints(_ALTREP)
            self.ints(_PAIRS)  # the class: its symbol, its package and its type
            self.symbol(thing.name)
            self.pairs([(None, Vector(STRING, ["base"])), (None, integers(13))])
            self.state(thing.state)
            self.pairs(thing.attributes.items())
        else:
            flags = (_ATTRIBUTES if thing.attributes else 0) | (_OBJECT if "class" in thing.attributes else 0)
            self.ints(thing.kind | flags, len(thing.values))
            if thing.kind in (LOGICAL, INTEGER):
                self.ints(*thing.values)
            elif thing.kind in (REAL, COMPLEX):  # a complex number is two
                self.out += b"".join(_double(value) * (1 + (thing.kind == COMPLEX)) for value in thing.values)
            else:
                for one in thing.values:
                    (self.text if thing.kind == STRING else self.write)(one)
            if thing.attributes:
                self.pairs(thing.attributes.items())

    def state(self, state):
        if isinstance(state, tuple) and not isinstance(state, Vector):
            self.ints(_PAIRS)
            self.write(state[0])
            self.write(state[1])
        else:
            self.write(state)


def _double(value):
    if isinstance(value, bytes):
        return value
    return bytes.fromhex("7ff00000000007a2") if value is NA_REAL else struct.pack(">d", value)


def integers(*values):
    return Vector(INTEGER, [NA_INTEGER if value is None else value for value in values])


def reals(*values, **attributes):
    return Vector(REAL, [NA_REAL if value is None else value for value in values], attributes)


def strings(*values, **attributes):
    return Vector(STRING, list(values), attributes)


def factor(codes, levels, *, ordered=False):
    kinds = ["ordered", "factor"] if ordered else ["factor"]
    return Vector(
        INTEGER, [NA_INTEGER if c is None else c for c in codes], {"levels": strings(*levels), "class": strings(*kinds)}
    )


def frame(columns, rows=None, **attributes):
    """Return a data frame; its automatic row names are NA and the number of rows, negated."""
    lengths = [len(one.values) for one in columns.values() if isinstance(one, Vector)]
    rows = integers(None, -(lengths[0] if lengths else 0)) if rows is None else rows
    own = {"names": strings(*columns), "class": strings("data.frame"), "row.names": rows, **attributes}
    return Vector(LIST, list(columns.values()), own)


def rds(thing, version=3):
    """Return the bytes of saveRDS, not compressed."""
    writer = Writer()
    writer.out += b"X\n"
    writer.ints(version, 0x00040302, 0x00030500 if version == 3 else 0x00020300)
    if version == 3:
        writer.ints(5)
        writer.out += b"UTF-8"
    writer.write(thing) if not isinstance(thing, dict) else writer.pairs(thing.items())
    return bytes(writer.out)


def rda(objects, version=3):
    """Return the bytes of save, not compressed."""
    return f"RDX{version}\n".encode() + rds(objects, version)
