"""Random tables: columns of every type in every role, with duplicates, gaps and markers."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from fuzz import markers, notations, trees, values
from fuzz.case import Column

NAMES = ("age", "income", "sex", "region", "town", "job", "born", "code", "size", "group")
ODD_NAMES = ("last, first", "größe", "a;b", 'quo"te', "with space", "Ünï", "x.y", "select", "k", "*", "^.*$", "^ident$")
ROW = "row"
INTEGERS = ("int64", "int64", "int32", "int16", "uint8", "int8", "uint64")


@dataclass
class Draft:
    """A table and its plan in the making."""

    random: Random
    n: int
    columns: list[Column] = field(default_factory=list)
    plan: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    def name(self) -> str:
        """Return a name that no column has yet."""
        taken = {column.name for column in self.columns}
        pool = ODD_NAMES if self.random.random() < 0.04 else NAMES
        base = self.random.choice(pool)
        return base if base not in taken else f"{base}{len(taken)}"

    def say(self, option: str, name: str, value: Any) -> None:
        """Put what a column needs into the plan."""
        self.plan.setdefault(option, {})[name] = value

    def add(self, kind: str, name: str | None = None) -> Column:
        """Add a column of a kind, mostly with gaps where the kind allows them."""
        column = KINDS[kind](self, name or self.name())
        column.kind = kind
        if self.random.random() < 0.25 and column.type not in ("null",):
            column.values = values.with_gaps(self.random, column.values, nan=column.type in ("float64", "float32"))
        self.columns.append(column)
        return column


# --- kinds of columns ---


def _integer(draft: Draft, name: str) -> Column:
    numbers = values.integers(draft.random, draft.n)
    fitting = [kind for kind in INTEGERS if _fits(kind, numbers)]
    return Column(name, draft.random.choice(fitting or ["int64"]), numbers)


def _fits(kind: str, numbers: list[int]) -> bool:
    bits = int(kind.lstrip("uint"))
    low, high = (0, 2**bits - 1) if kind[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return all(low <= number <= high for number in numbers)


def _float(draft: Draft, name: str) -> Column:
    kind = "float64" if draft.random.random() < 0.85 else "float32"
    if draft.random.random() < 0.1:
        draft.say("digits", name, draft.random.randint(0, 4))
        draft.say("types", name, "continuous")
    numbers = values.floats(draft.random, draft.n)
    if kind == "float32":
        numbers = [struct.unpack("f", struct.pack("f", number))[0] for number in numbers]
    return Column(name, kind, numbers)


def _extreme(draft: Draft, name: str) -> Column:
    return Column(name, "float64", values.extremes(draft.random, draft.n))


def _date(draft: Draft, name: str) -> Column:
    return Column(name, "date32", values.dates(draft.random, draft.n))


def _moment(draft: Draft, name: str) -> Column:
    unit, zone = draft.random.choice(("us", "us", "ns", "ms", "s")), draft.random.choice(values.ZONES)
    kind = f"timestamp[{unit}, tz={zone}]" if zone else f"timestamp[{unit}]"
    return Column(name, kind, values.moments(draft.random, draft.n, unit))


def _word(draft: Draft, name: str) -> Column:
    kind = draft.random.choices(("string", "large_string", "string_view"), (16, 3, 1))[0]
    return Column(name, kind, values.words(draft.random, draft.n))


def _awkward(draft: Draft, name: str) -> Column:
    return Column(name, "string", values.awkward(draft.random, draft.n))


def _boolean(draft: Draft, name: str) -> Column:
    return Column(name, "bool", values.booleans(draft.random, draft.n))


def _categories(draft: Draft, name: str) -> Column:
    words = values.words(draft.random, draft.n)
    known = list(dict.fromkeys(words))
    known += [markers.word(draft.random) for _ in range(draft.random.randint(0, 2))]
    draft.random.shuffle(known)
    return Column(name, draft.random.choice(("dictionary", "ordered")), words, known)


def _ordinal(draft: Draft, name: str) -> Column:
    if draft.random.random() < 0.3:
        numbers = values.from_pool(draft.random, draft.n, lambda: draft.random.randint(1, 7))
        draft.say("types", name, "ordinal")
        return Column(name, "int64", numbers)
    words = values.words(draft.random, draft.n)
    levels = list(dict.fromkeys([*words, *(markers.word(draft.random) for _ in range(draft.random.randint(0, 3)))]))
    draft.random.shuffle(levels)
    draft.say("levels", name, levels)
    return Column(name, "string", words)


def _codes(draft: Draft, name: str) -> Column:
    draft.say("hierarchies", name, trees.random_prefixes(draft.random))
    return Column(name, "string", values.codes(draft.random, draft.n))


def _tree(draft: Draft, name: str) -> Column:
    words = values.words(draft.random, draft.n)
    draft.say("hierarchies", name, trees.random_hierarchy(draft.random, words, f"tree{len(draft.files)}", draft.files))
    return Column(name, "string", words)


def _ladder(draft: Draft, name: str) -> Column:
    draft.say("hierarchies", name, trees.random_widths(draft.random))
    return Column(name, "int64", [draft.random.randint(0, 99) for _ in range(draft.n)])


def _decimal(draft: Draft, name: str) -> Column:
    return Column(name, "decimal128(12, 2)", values.decimals(draft.random, draft.n))


def _written(draft: Draft, name: str) -> Column:
    """Return numbers, dates or moments in one of many notations, mostly with their type."""
    random = draft.random
    notation = random.choice(list(notations.DRAWN))
    how = notations.ALL[notation]
    for option, value in how.options:
        if option == "thousands":
            draft.plan[option] = value
        else:
            draft.say(option, name, value)
    if random.random() < 0.8 and not any(option == "formats" for option, _ in how.options):
        draft.say("types", name, how.kind)
    written = values.from_pool(random, draft.n, lambda: how.one(random), most=3 * draft.n)
    return Column(name, "int64" if isinstance(written[0], int) else "string", written, notation=notation)


def _constant(draft: Draft, name: str) -> Column:
    kind, value = draft.random.choice((("int64", 7), ("string", "same"), ("float64", 0.1), ("bool", True)))
    return Column(name, kind, [value] * draft.n)


def _nothing(draft: Draft, name: str) -> Column:
    kind = draft.random.choice(("null", "string", "float64", "int64", "date32", "bool", "ordered", "timestamp[us]"))
    return Column(name, kind, [None] * draft.n, [] if kind == "ordered" else None)


KINDS: dict[str, Callable[[Draft, str], Column]] = {
    "integer": _integer,
    "float": _float,
    "extreme": _extreme,
    "date": _date,
    "moment": _moment,
    "word": _word,
    "awkward": _awkward,
    "boolean": _boolean,
    "categories": _categories,
    "ordinal": _ordinal,
    "codes": _codes,
    "tree": _tree,
    "ladder": _ladder,
    "decimal": _decimal,
    "written": _written,
    "constant": _constant,
    "nothing": _nothing,
}
# How often each kind is a quasi-identifier, and a sensitive attribute.
KNOWN = {
    **{"integer": 8, "float": 8, "extreme": 2, "date": 4, "moment": 3, "word": 6, "awkward": 2, "boolean": 3},
    **{"categories": 3, "ordinal": 4, "codes": 3, "tree": 4, "ladder": 2, "decimal": 2, "written": 5},
    **{"constant": 1, "nothing": 1},
}
SENSITIVE = {
    **{"integer": 3, "float": 2, "date": 1, "word": 10, "awkward": 2, "boolean": 2, "categories": 2},
    **{"ordinal": 2, "tree": 2, "constant": 1, "moment": 1, "nothing": 0.3},
}


def kind_of(random: Random, weights: Mapping[str, float]) -> str:
    """Return a kind of column by how often it is wanted."""
    return random.choices(list(weights), list(weights.values()))[0]


def number_of_rows(random: Random) -> int:
    """Return a number of rows: mostly few, as small tables find as much as large ones and many more can be tried."""
    how = random.random()
    if how < 0.08:
        return random.randint(61, 300) if how < 0.01 else random.randint(21, 60)
    return random.randint(1, 9) if how < 0.3 else random.randint(6, 20)


def duplicated(random: Random, columns: list[Column]) -> None:
    """Repeat rows of columns in place, so that several people are equal in all of them."""
    n = len(columns[0].values)
    pool = random.randint(1, max(1, n // 2))
    rows = [random.randrange(pool) for _ in range(n)]
    for column in columns:
        column.values = [column.values[row] for row in rows]
