"""One input of the fuzzer as plain values: a table, a plan, and the way in and out. It goes to JSON and back."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa

Values = list[Any]
OF_ONE_TYPE = ("nominal", "ordinal", "continuous")


@dataclass
class Column:
    """A column as plain values: None is null, moments are numbers of their unit, dates and decimals are texts.

    Attributes
    ----------
    name : str
    type : str
        The Arrow type as `TYPES` and Arrow name it; "dictionary" and "ordered" are categories of texts.
    values : list
    categories : list of str or None
        The categories of "dictionary" and "ordered", also those that do not occur.
    kind : str
        The generator that made it, for counts and names of findings.
    notation : str or None
        How numbers and dates in it are written, see `fuzz.notations`.
    """

    name: str
    type: str
    values: Values
    categories: list[str] | None = None
    kind: str = ""
    notation: str | None = None


@dataclass
class Case:
    """An input.

    Attributes
    ----------
    seed : int
    columns : the table
    plan : {field: value}
        Keywords of a plan. A hierarchy that is an object is written ``{"build": .., ..}``, see `fuzz.trees`.
    way : {str: value}
        ``frame`` is "arrow", "pandas", "polars" or "file"; see `fuzz.running` for the others.
    population : columns or None
    files : {name: text}
        Files that the plan names, such as hierarchies.
    metadata : {str: str}
        Metadata of the schema.
    """

    seed: int
    columns: list[Column]
    plan: dict[str, Any]
    way: dict[str, Any]
    population: list[Column] | None = None
    files: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return len(self.columns[0].values) if self.columns else 0

    def column(self, name: str) -> Column:
        """Return a column by its name."""
        return next(column for column in self.columns if column.name == name)

    @property
    def needs_folder(self) -> bool:
        """Return whether files are written."""
        return bool(self.files) or self.way["frame"] == "file"

    @property
    def types(self) -> dict[str, str]:
        """Return the types that the plan declares, also in lists of columns of one type."""
        lists = {name: kind for kind in OF_ONE_TYPE for name in self.plan.get(kind, ())}
        return {**self.plan.get("types", {}), **lists}

    @property
    def names(self) -> list[str]:
        """Return the names of the columns."""
        return [column.name for column in self.columns]

    def to_json(self) -> str:
        """Return the input as JSON (NaN and infinities as Python writes them)."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=True)

    @classmethod
    def from_json(cls, text: str) -> Case:
        """Return the input that `to_json` wrote."""
        plain = json.loads(text)
        plain.pop("findings", None)
        people = plain.pop("population")
        columns = [Column(**column) for column in plain.pop("columns")]
        return cls(columns=columns, population=None if people is None else [Column(**c) for c in people], **plain)


# --- tables of the libraries ---


def arrow_type(name: str) -> pa.DataType:
    """Return the Arrow type of a name."""
    if name.startswith("timestamp["):
        unit, _, zone = name[10:-1].partition(", tz=")
        return pa.timestamp(unit, zone or None)
    if name.startswith("decimal"):
        precision, scale = name[name.index("(") + 1 : -1].split(",")
        return pa.decimal128(int(precision), int(scale))
    types = {
        "dictionary": pa.dictionary(pa.int32(), pa.string()),
        "ordered": pa.dictionary(pa.int8(), pa.string(), True),
    }
    return types.get(name) or pa.type_for_alias(name)


def arrow_array(column: Column) -> pa.Array:
    """Return a column as an Arrow array."""
    kind, values = arrow_type(column.type), column.values
    if pa.types.is_dictionary(kind):
        known = column.categories or []
        place = {word: at for at, word in enumerate(known)}
        codes = pa.array([None if v is None else place[v] for v in values], kind.index_type)
        return pa.DictionaryArray.from_arrays(codes, pa.array(known, pa.string()), ordered=kind.ordered)
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(kind)
    if pa.types.is_decimal(kind):
        return pa.array([None if v is None else Decimal(v) for v in values], kind)
    if pa.types.is_date(kind):
        return pa.array([None if v is None else date.fromisoformat(v) for v in values], kind)
    return pa.array(values, kind)


def arrow_table(columns: list[Column], metadata: dict[str, str] | None = None) -> pa.Table:
    """Return columns as an Arrow table, with metadata of the schema and of its first field."""
    table = pa.table({column.name: arrow_array(column) for column in columns})
    if not metadata:
        return table
    fields = list(table.schema)
    fields[0] = fields[0].with_metadata(metadata)
    return table.cast(pa.schema(fields, metadata=metadata))


def frame_of(columns: list[Column], way: dict[str, Any], metadata: dict[str, str] | None = None) -> Any:
    """Return columns as a table of the library that the way names; Arrow tables may be in several chunks."""
    library = way["frame"]
    table = arrow_table(columns, metadata if library == "arrow" else None)
    if library == "pandas":
        import pandas

        frame = table.to_pandas(types_mapper=pandas.ArrowDtype) if way.get("arrow_types") else table.to_pandas()
        frame.attrs.update(metadata or {})
        return frame
    if library == "polars":
        import polars

        return polars.from_arrow(table)
    cut = way.get("cut")
    return table if cut is None else pa.concat_tables([table.slice(0, cut), table.slice(cut)])
