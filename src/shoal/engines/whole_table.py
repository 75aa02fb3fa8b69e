"""What the parts of a published table must know of the whole of it: the values of sensitive attributes, and units.

A group is compared with the whole table, also where the table is audited part by part (t-closeness and its kin). All
of it is counted on the published table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError
from shoal.plan import Plan
from shoal.privacy.closeness import TCloseness
from shoal.privacy.demands import Demand, attribute_of, models_of, said_of
from shoal.privacy.diversity import DistinctDiversity
from shoal.privacy.model import SensitiveModel
from shoal.tables.sensitive import Sensitive

if TYPE_CHECKING:
    pass

__all__ = ["Cells", "WholeTable", "whole_table"]


class Cells:
    """The different cells of a column, in the order in which they first occur, and how often each of them does.

    Cells are told apart by their bits: 0 and -0, null and NaN are different.

    Parameters
    ----------
    name : str
    most : int
        Bytes of different cells that are too many.
    """

    def __init__(self, name: str, most: int = 2**28) -> None:
        self.name, self.most = name, most
        self._kind: Any = None
        self._known: Any = None
        self._counts = np.zeros(0, np.int64)
        self._new: list[tuple[Any, Array]] = []
        self._waiting = 0

    def add(self, column: Any) -> None:
        """Add some rows of the column."""
        import pyarrow.compute as pc

        self._kind = column.type
        encoded = pc.dictionary_encode(_keys(column), null_encoding="encode")
        codes = np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)
        self._new.append((encoded.dictionary, np.bincount(codes, minlength=len(encoded.dictionary))))
        self._waiting += len(encoded.dictionary)
        if self._waiting > max(65_536, len(self._counts)):
            self._merge()

    def _merge(self) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self._new:
            return
        before = [] if self._known is None else [(self._known, self._counts)]
        both = pa.concat_arrays([values for values, _ in [*before, *self._new]])
        counts = np.concatenate([counts for _, counts in [*before, *self._new]])
        encoded = pc.dictionary_encode(both, null_encoding="encode")
        codes = np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)
        self._known = encoded.dictionary
        self._counts = np.bincount(codes, counts, len(encoded.dictionary)).astype(np.int64)
        self._new, self._waiting = [], 0
        if self._known.nbytes + 8 * len(self._counts) > self.most:
            raise DataError(
                f"The different values of the sensitive column {self.name!r} must fit into memory. Got more than "
                f"{len(self._counts):,}.",
                "give more memory (--memory), round its values, or demand nothing of it.",
            )

    def merge(self, other: Cells) -> None:
        """Add the cells of the rows that follow."""
        other._merge()
        if other._known is not None:
            self._kind = other._kind
            self._new.append((other._known, other._counts))
            self._merge()

    def found(self) -> tuple[Any, Any, Array]:
        """Return the keys of the different cells, the cells themselves, and their counts."""
        import pyarrow as pa

        self._merge()
        if self._known is None:
            raise DataError("A published table must have rows. Got none.")
        cells = self._known
        kind = self._kind.value_type if pa.types.is_dictionary(self._kind) else self._kind
        if pa.types.is_floating(kind):
            cells = cells.view(kind)
        if pa.types.is_dictionary(self._kind):
            cells = pa.DictionaryArray.from_arrays(pa.array(np.arange(len(cells)), pa.int32()), cells)
        return self._known, cells, self._counts


def _keys(column: Any) -> Any:
    """Return a column as one array in which different cells are different: numbers by their bits."""
    import pyarrow as pa

    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        return column.view({16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}[column.type.bit_width])
    return column


@dataclass(frozen=True)
class Known:
    """A sensitive attribute of the whole table.

    Attributes
    ----------
    keys : pyarrow.Array
        Its different cells.
    sensitive : Sensitive
        One record for each of them.
    whole, whole_in_units : (counts, missing)
        How many records, and units, have each value.
    """

    keys: Any
    sensitive: Sensitive
    whole: tuple[Array, float]
    whole_in_units: tuple[Array, float] | None = None

    def part(self, column: Any) -> Sensitive:
        """Return the attribute for some rows of the table."""
        import pyarrow.compute as pc

        places = pc.index_in(_keys(column), value_set=self.keys)
        if places.null_count:
            raise DataError(f"The column {self.sensitive.name!r} must stay as it is. Got values that were not there.")
        codes = self.sensitive.codes[np.asarray(places.to_numpy(zero_copy_only=False), np.int64)]
        return self.sensitive._replace(codes=codes, whole=self.whole)


@dataclass(frozen=True)
class WholeTable:
    """What is asked of a published table, and what its parts must know of the whole.

    Attributes
    ----------
    names : names
        The quasi-identifiers, strata included.
    wanted : int or None
        The required k.
    everything : names
        The columns for which the k of all columns together is counted; none: it is not.
    unit : name or None
        The column of units, which need not be published.
    repeated : bool
        Whether a unit has several rows.
    demands, glances : tuples of (model, name)
        What is required of sensitive attributes, and what is only measured.
    attributes : {name: Known}
    notes : tuple of str
    """

    names: tuple[str, ...]
    wanted: int | None = None
    everything: tuple[str, ...] = ()
    unit: str | None = None
    decimal: str = "."
    repeated: bool = False
    demands: tuple[tuple[SensitiveModel, str], ...] = ()
    glances: tuple[tuple[SensitiveModel, str], ...] = ()
    attributes: Mapping[str, Known] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def needed(self) -> list[str]:
        """Return the columns that a part must have."""
        unit = [] if self.unit is None else [self.unit]
        return list(dict.fromkeys([*self.names, *self.everything, *self.attributes, *unit]))

    @property
    def together(self) -> list[str]:
        """Return the columns by whose values rows are spread over parts: groups of any kind stay in one part."""
        common = [name for name in self.names if name in self.everything] if self.everything else list(self.names)
        return common or list(self.names)


def models_asked(plan: Plan) -> tuple[list[tuple[SensitiveModel, str]], list[tuple[SensitiveModel, str]]]:
    """Return the models that a plan requires, each with its attribute, and those that are only measured."""
    demanded = plan.demanded_of if plan.has_demands else ()
    demands = [(model, name) for name in demanded for model in models_of(plan, name)]
    for model, name in demands:
        if not model.monotone:
            raise OptionError(
                f"The model {model.name!r} must be checked on a table in memory, as it looks at neighbours of groups. "
                f"Got it for {name!r}.",
                hint="demand t-closeness, or use engine='memory' (--engine memory).",
            )
    if plan.k_map is not None or plan.presence is not None:
        raise OptionError(
            "A model that counts in a population must be checked on a table in memory. Got 'k_map' or 'presence'.",
            hint="use engine='memory' (--engine memory).",
        )
    glances: list[tuple[SensitiveModel, str]] = []
    if plan.sensitive_attributes and not demands:
        glances = [(model, name) for name in plan.demanded_of for model in (DistinctDiversity(2), TCloseness(1))]
    return demands, glances


def whole_table(
    names: Sequence[str],
    wanted: int | None,
    plan: Plan,
    cells: Iterable[Cells] = (),
    *,
    everything: Sequence[str] = (),
    unit: str | None = None,
    text: bool = False,
    decimal: str = ".",
    glances: bool = True,
) -> WholeTable:
    """Return what the parts of a table must know, given the different cells of its sensitive attributes."""
    import pyarrow as pa

    demands, measured = models_asked(plan)
    asked = {name for _, name in (*demands, *(measured if glances else ()))}
    attributes, of_all = {}, []
    for one in cells:
        if one.name not in asked:
            continue
        keys, values, counts = one.found()
        table = pa.table({one.name: values})
        sensitive = attribute_of(table, one.name, plan, text=text, decimal=decimal, counts=counts)
        of_all.append(Demand(DistinctDiversity(2), sensitive))
        known = sensitive.codes >= 0
        whole = np.bincount(sensitive.codes[known], counts[known], sensitive.values).astype(np.int64)
        attributes[one.name] = Known(keys, sensitive, (whole, int(counts[~known].sum())))
    return WholeTable(
        names=tuple(names),
        wanted=wanted,
        everything=tuple(everything),
        unit=unit,
        decimal=decimal,
        demands=tuple(demands),
        glances=tuple(measured) if glances else (),
        attributes=attributes,
        notes=said_of(of_all),
    )


def with_units(
    whole: WholeTable, repeated: bool, notes: Sequence[str], counts: Mapping[str, tuple[Array, float]]
) -> WholeTable:
    """Return the same with what is known of the units of the whole table."""
    attributes = {
        name: replace(one, whole_in_units=counts[name] if repeated else None) for name, one in whole.attributes.items()
    }
    # In the order of memory: what is said of demands, of units, and of what is only measured.
    said = (*notes, *whole.notes) if whole.glances else (*whole.notes, *notes)
    return replace(whole, repeated=repeated, attributes=attributes, notes=said)
