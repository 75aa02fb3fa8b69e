"""Preparation: reads the values, settles the roles, and refuses what cannot be done."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import OptionError, Problems
from shoal.partitioning.run import extent_for, resolve
from shoal.plan import Plan
from shoal.privacy.classes import codes_of
from shoal.privacy.demands import in_units, said_of
from shoal.progress import Progress, silent
from shoal.release.groups import full_domain
from shoal.release.groups.blocks import Block, attribute_sets, partitioned
from shoal.release.groups.cells import FORM, Cells, cells_of
from shoal.release.groups.coordinates import Coordinates, embedded
from shoal.release.groups.demands import checked_demands, implying
from shoal.release.groups.forms import checked
from shoal.release.groups.grouping import Constraints, method_in_words, settled
from shoal.release.groups.population import check_columns, kept_to, people_of
from shoal.release.groups.strata import checked_units, constraints_of
from shoal.release.omission import open_columns, refuse_rare
from shoal.release.rows import LeftOut, kept_rows, taken, weights_of
from shoal.tables import coding, frames, schema
from shoal.tables.apart import refuse_apart
from shoal.tables.identifiers import like_identifiers, refuse_identifiers
from shoal.tables.spelling import UNITS_READ_ALIKE


class Watch:
    """Measures the seconds that each step takes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        """Add the time of this context to a step."""
        start = time.perf_counter()
        yield
        self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start


@dataclass(frozen=True)
class Prepared:
    """A table with its values and roles, ready for its plan to be carried out.

    Attributes
    ----------
    native : data frame
        The original table.
    plan : Plan
    text : bool
        Whether types were inferred from text, with this `decimal` mark.
    table : pyarrow.Table
        The rows that are kept.
    columns : columns with their roles
    reads : the quasi-identifiers with their values
    missing : {name: int}
        Number of missing values of each quasi-identifier, before rows were dropped.
    keep : int64[n] or None
        The rows that are kept; None if all are.
    rows_in, rows_dropped : int
    constraints, strata, merged_strata, weights
        What the partition must respect, and the weights of means and losses.
    warnings : tuple of str
    people : pyarrow.Table or None
        The population in which matches are counted.
    cells : Cells or None
        The cells of a strongly-safe release; the levels of a full-domain one, once they are found.
    coded : names
        Columns that are not quasi-identifiers, and whose values the plan changes (top coding, ..).
    left_out : LeftOut or None
        The records that were left out; None if none were.
    """

    native: Any
    plan: Plan
    text: bool
    decimal: str
    table: Any
    columns: tuple[schema.Column, ...]
    reads: list[schema.Read]
    missing: dict[str, int]
    keep: Array | None
    rows_in: int
    rows_dropped: int
    watch: Watch
    constraints: Constraints = field(default_factory=Constraints)
    strata: list[str] = field(default_factory=list)
    merged_strata: dict[str, Any] = field(default_factory=dict)
    weights: Array | None = None
    warnings: tuple[str, ...] = ()
    people: Any = None
    cells: Cells | None = None
    left_out: LeftOut | None = None
    coded: tuple[str, ...] = ()

    @property
    def attributes(self) -> tuple[schema.Attribute, ...]:
        """Return the quasi-identifiers and how they are published."""
        return tuple(read.attribute for read in self.reads)

    @property
    def published(self) -> list[str]:
        """Return the names of the columns that are published."""
        return [column.name for column in self.columns if column.role not in schema.UNPUBLISHED]

    @property
    def rows_removed(self) -> int:
        """Return the number of records that are not published, but those with missing values."""
        return 0 if self.left_out is None else self.left_out.removed

    def without(self, rows: Array, cells: Cells | None = None) -> Prepared:
        """Return the same with these records only, in this order: the others are left out.

        Everything that depends on the records is found anew, such as strata and demands.

        Parameters
        ----------
        rows : int64[m]
        cells : Cells or None
            What these records publish, if it is decided already.
        """
        reads = [taken(read, rows) for read in self.reads]
        if cells is not None:
            reads = [taken(read, rows) for read in cells.everybody]
        keep = rows if self.keep is None else self.keep[rows]
        changed = replace(self, table=self.table.take(rows), reads=reads, keep=keep, cells=cells)
        weights = weights_of(self.table, self.plan, self.decimal)
        left_out = LeftOut(rows, self.reads if cells is None else cells.everybody, weights)
        return _settled(replace(changed, left_out=left_out))

    def stricter(self) -> Prepared | None:
        """Return the same with stricter demands and a warning that says so, or None if there are none.

        (n, t)-closeness depends on where groups are, which differs between coordinates and published values.
        t-closeness implies it and does not depend on this.
        """
        changed = [d.sensitive.name for d in self.constraints.demands if implying(d.model) is not d.model]
        if not changed:
            return None
        demands = tuple(demand._replace(model=implying(demand.model)) for demand in self.constraints.demands)
        words = (
            f"Groups made for (n, t)-closeness of {', '.join(map(repr, dict.fromkeys(changed)))} did not have it as "
            "published. The release has groups made for t-closeness with the same t instead, which is stricter and may "
            "lose more."
        )
        constraints = self.constraints._replace(demands=demands)
        return replace(self, constraints=constraints, warnings=(*self.warnings, words))

    def embedded(self) -> Coordinates:
        """Return the coordinates of the attributes."""
        with self.watch("embedding"):
            return embedded(self.reads, self.plan)

    def partitioned(self, coordinates: Coordinates, plan: Plan, progress: Progress = silent) -> list[Block]:
        """Return the blocks of attributes with their groups, by the method and k of `plan`."""
        if self.cells is not None:
            return [self.cells.block(self.attributes)]
        blocks = partitioned(self.attributes, coordinates, plan, self.constraints, progress)
        return blocks if self.people is None else [kept_to(blocks[0], self, coordinates)]

    def methods(self, coordinates: Coordinates) -> list[tuple[tuple[str, ...], str, str]]:
        """Return the attributes of each block, its method and the reason for it; or refuse the method."""
        if self.plan.release == full_domain.FORM:
            return [(tuple(read.attribute.name for read in self.reads), full_domain.METHOD, full_domain.WHY)]
        if self.cells is not None:
            block = self.cells.block(self.attributes)
            return [(block.attributes, block.method, block.why)]
        methods = []
        sets = attribute_sets(self.attributes, self.plan)
        for names in sets:
            X = coordinates.together(names)
            n, d = X.shape
            resolve(self.plan.method, self.plan.options, self.plan.refine, self.plan.time_limit, (n, d), self.plan.k)
            extent = extent_for(self.plan.method, X)
            chosen, why, _ = settled(self.plan, n, d, self.constraints, len(sets), extent)
            methods.append((tuple(names), method_in_words(chosen), why))
        return methods


def prepare(native: Any, plan: Plan, *, text: bool = False, decimal: str = ".", population: Any = None) -> Prepared:
    """Read the values that a plan needs, and refuse what cannot be done."""
    watch = Watch()
    if plan.dp is not None:
        raise OptionError(
            "A plan with 'dp' has no groups: shoal.anonymize makes its release. Got it for something else."
        )
    if plan.engine not in (None, "memory"):
        raise OptionError(
            f"A table in memory must be anonymised there. Got engine={plan.engine!r}.",
            hint="leave 'engine' out; shoal.anonymize_file and shoal anonymize read files in pieces.",
        )
    plan = checked(plan)
    with watch("reading values"):
        columns = schema.roles(frames.names_of(native, "anonymize"), plan)
        # Columns that are declared to be dropped or published unchanged may contain anything.
        demanded = plan.demanded_of if plan.has_demands else ()
        unread = ("other", "sensitive", "identifier", "dropped")
        looked_at = {*demanded, *plan.coded}
        needed = [
            c.name
            for c in columns
            if (c.inferred and c.role != "dropped") or c.role not in unread or c.name in looked_at
        ]
        table = frames.to_arrow(native, "anonymize", needed)
        problems = Problems()
        with problems.collected():
            refuse_identifiers(table, columns, text=text, decimal=decimal)
        reads: list[schema.Read] = []
        with problems.collected():
            reads = schema.read(table, columns, plan, text=text, decimal=decimal)
        with problems.collected():
            weights_of(table, plan, decimal)
    if not problems:
        with problems.collected():
            return _prepared(native, plan, table, columns, reads, watch, text, decimal, population)
    _collect_others(problems, native, plan, table, columns, text, decimal, population)
    raise problems.error()


def _collect_others(
    problems: Problems,
    native: Any,
    plan: Plan,
    table: Any,
    columns: tuple[schema.Column, ...],
    text: bool,
    decimal: str,
    population: Any,
) -> None:
    """Collect the problems of strata, units, demands, open columns and people, so that all are listed at once."""
    strata, units = None, None
    with problems.collected():
        refuse_apart(native, plan.stratum)
    with problems.collected():
        _check_sizes(plan, table.num_rows, table.num_rows)
        units = checked_units(table, plan, decimal)
        # Only where there are enough: strata that are too small could be merged for ever.
        strata = constraints_of(table, plan, None if units is None else units.codes)[0].strata
    # Which demands are possible depends on the rows that are left.
    if plan.has_demands and plan.missing != "drop":
        with problems.collected():
            checked_demands(table, plan, strata, text=text, decimal=decimal)
    if plan.missing != "drop" and (plan.unit is None or units is not None):
        refused = [column.name for column, _ in like_identifiers(table, columns, text=text, decimal=decimal)]
        names = [name for name in open_columns(columns, plan) if name not in refused and name not in plan.coded]
        with problems.collected():
            refuse_rare(table, names, plan.k, None if units is None else units.codes)
    if plan.population is not None:
        with problems.collected():
            check_columns(people_of(plan, population), [c.name for c in columns if c.role == "quasi-identifier"])


def _prepared(
    native: Any,
    plan: Plan,
    table: Any,
    columns: tuple[schema.Column, ...],
    reads: list[schema.Read],
    watch: Watch,
    text: bool,
    decimal: str,
    population: Any,
) -> Prepared:
    """Return everything prepared, from the values that were read."""
    refuse_apart(native, plan.stratum)
    with watch("reading values"):
        table, reads, coded = coding.applied(table, columns, reads, plan, text=text, decimal=decimal)
    n_in = table.num_rows
    missing = {read.attribute.name: int(read.values.missing.sum()) for read in reads}
    keep, dropped = kept_rows(reads, missing, plan)
    if keep is not None:
        table, reads = table.take(keep), [taken(read, keep) for read in reads]
    _check_sizes(plan, table.num_rows, n_in)
    prepared = Prepared(
        native=native,
        plan=plan,
        text=text,
        decimal=decimal,
        table=table,
        columns=columns,
        reads=reads,
        missing=missing,
        keep=keep,
        rows_in=n_in,
        rows_dropped=dropped,
        watch=watch,
        people=None if plan.population is None else people_of(plan, population),
        coded=tuple(coded),
    )
    if plan.release != FORM:
        return _settled(prepared)
    units = checked_units(table, plan, decimal)
    with watch("partitioning"):
        cells = cells_of(table, reads, plan, None if units is None else units.codes)
    if cells.rows is not None:
        return prepared.without(cells.rows, cells)
    return _settled(replace(prepared, reads=cells.everybody, cells=cells))


def _settled(prepared: Prepared) -> Prepared:
    """Return the same with what the partition must respect, or refuse what cannot be done with these records."""
    plan, table = prepared.plan, prepared.table
    units = checked_units(table, plan, prepared.decimal)
    warnings = list(_warnings(prepared.native, table, prepared.columns, plan))
    if units is not None and units.note:
        warnings.append(UNITS_READ_ALIKE)
    constraints, strata, merged_strata = constraints_of(table, plan, None if units is None else units.codes)
    if plan.has_demands:
        with prepared.watch("reading values"):
            demands = checked_demands(table, plan, constraints.strata, text=prepared.text, decimal=prepared.decimal)
        constraints = constraints._replace(demands=in_units(demands, constraints.units))
        warnings += said_of(demands)
    if prepared.people is not None:
        check_columns(prepared.people, [name for read in prepared.reads for name in read.attribute.columns])
    return replace(
        prepared,
        constraints=constraints,
        strata=strata,
        merged_strata=merged_strata,
        weights=weights_of(table, plan, prepared.decimal),
        warnings=tuple(warnings),
    )


def _warnings(native: Any, table: Any, columns: tuple[schema.Column, ...], plan: Plan) -> Iterator[str]:
    """Yield warnings of what weakens the protection."""
    if frames.has_labels(native) and not plan.shuffle:
        yield "The index of the data frame is kept in the release: it must not identify anybody."
    both = [name for name in plan.sensitive_attributes if name not in plan.demanded_of]
    if both and plan.has_demands:
        yield (
            f"Privacy models do not apply to {', '.join(map(repr, both))}, because {_is_published(both)}: all records "
            "of a group have the same value."
        )
    if plan.weight is not None:
        sizes = np.bincount(codes_of(table.column(plan.weight)))
        alone = int((sizes < plan.k).sum())
        if alone:
            yield (
                f"The weights {plan.weight!r} are published unchanged, and {alone} of their {len(sizes)} values are "
                f"shared by fewer than {plan.k} records."
            )


def _is_published(names: list[str]) -> str:
    return "it is published as a quasi-identifier" if len(names) == 1 else "they are published as quasi-identifiers"


def _check_sizes(plan: Plan, n: int, n_in: int) -> None:
    if n < plan.k:
        without = "" if n == n_in else f" (of {n_in}, the others have missing values)"
        raise OptionError(
            f"The 'k' option of anonymize must be an integer from 2 to the number of rows. Got {plan.k} for {n} rows"
            f"{without}.",
            hint="a table of fewer than k records cannot be published.",
        )
