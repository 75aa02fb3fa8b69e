"""Two releases of one table, of which the second has more rows: what somebody who has both can intersect.

Counted on the two published tables alone. Nothing links their rows but what they publish, so rows are compared in all
columns: a row of the later table that the earlier one has as often is *kept*, others are *new*, and rows of the earlier
table that the later one has not are *gone*. Whoever knows when a person joined looks among the kept rows of a class, or
among the new ones: these parts of classes must have k rows, and everything else that is demanded of classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, DisclosureError, OptionError
from shoal.plan import Plan
from shoal.privacy.audit import WANTED
from shoal.privacy.classes import classes_of, named, refined
from shoal.privacy.two_tables import followed, matched, stacked
from shoal.tables.apart import apart_in
from shoal.tables.frames import to_arrow

if TYPE_CHECKING:
    from shoal.privacy.findings import Finding


@dataclass(frozen=True)
class Part:
    """The kept, new or gone rows of all classes.

    Attributes
    ----------
    rows, classes : int
        The number of rows, and of classes that have some.
    k : int or None
        The smallest number of them in a class that has some; None if no class has any.
    wanted : int or None
        How many a class must have, if it has any.
    classes_below, rows_below : int
        Classes that have fewer, and rows in them.
    models : tuple of Finding
        What is demanded of sensitive attributes, among the rows of the worst class.
    """

    rows: int
    classes: int
    k: int | None
    wanted: int | None
    classes_below: int
    rows_below: int
    models: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Intersection:
    """What the intersection of two releases leaves; true if nothing that is wanted is broken.

    Attributes
    ----------
    earlier_rows, later_rows : int
    kept : Part
        Rows that both releases have: somebody who is known to be in both is one of those in their class. Shares of
        sensitive values are compared with those of the earlier table, which told them first.
    new : Part
        Rows of the later release only: somebody who is known to have joined is one of those in their class. Shares are
        compared with those of the later table.
    gone : Part
        Rows of the earlier release that were changed or taken out. There must be none.
    changed : int
        Kept rows with other quasi-identifiers than before, which are followed by their position.
    signatures : {name: int}
        For sensitive attributes whose values must stay the same: the number of classes of both releases that have
        other values in one than in the other.
    """

    earlier_rows: int
    later_rows: int
    kept: Part
    new: Part
    gone: Part
    changed: int = 0
    signatures: Mapping[str, int] = field(default_factory=dict)

    @property
    def k(self) -> int:
        """Return the smallest number of rows among which a person is hidden from somebody who has both releases."""
        return min(part.k for part in (self.kept, self.new, self.gone) if part.k is not None)

    @property
    def models(self) -> tuple[Finding, ...]:
        """Return what is demanded of sensitive attributes, among the kept rows of classes and among the new ones."""
        return self.kept.models + self.new.models

    @property
    def holds(self) -> bool:
        """Return whether no row is gone, and all parts of classes have what is wanted."""
        below = self.kept.classes_below + self.new.classes_below
        return not (self.gone.rows or below or any(self.signatures.values())) and all(self.models)

    def __bool__(self) -> bool:
        return self.holds


def intersect(
    earlier: Any,
    later: Any,
    quasi_identifiers: Sequence[str],
    k: int | None = None,
    *,
    newcomers: int | None = None,
    same_values: bool = False,
    in_order: bool = False,
    text: bool = False,
    decimal: str = ".",
    **fields: Any,
) -> Intersection:
    """Count what somebody can find out who has two releases, the later one with more rows.

    Parameters
    ----------
    earlier, later : data frames
        Both tables as published, with the same columns.
    quasi_identifiers : names
        Rows that are equal in all of them are a class.
    k : int or None
        How many kept rows a class must have that has some, and how many new ones.
    newcomers : int or None
        How many new rows a class must have that has some, if not k.
    same_values : bool
        Whether classes of both releases must have the same values of sensitive attributes in both, as m-invariance
        requires.
    in_order : bool
        Whether the first rows of the later table are those of the earlier one, in the same order, so that rows with
        other quasi-identifiers than before can be followed: somebody who is in both releases is then in the
        intersection of two classes, which is what must have k rows. If not, such rows are gone.
    text, decimal : bool, str
        Whether to infer types from text, and the decimal mark of numbers in it.
    **fields
        What is demanded of sensitive attributes, and how they are read, as in :func:`shoal.verify`. It must hold for
        the kept and the new rows of every class; shares are compared with those of the later table.

    Returns
    -------
    Intersection
        True if no row is gone, and everything that is wanted holds.

    Examples
    --------
    >>> import pyarrow as pa, shoal
    >>> first = pa.table({"age": [30, 30, 41, 41], "ill": [0, 1, 0, 0]})
    >>> second = pa.table({"age": [30, 30, 30, 41, 41], "ill": [0, 1, 1, 0, 0]})
    >>> found = shoal.intersect(first, second, ["age"], k=2)
    >>> found.kept.k, found.new.k, bool(found)
    (2, 1, False)
    """
    for name in fields:
        if name not in WANTED or name in ("k_map", "presence"):
            allowed = ", ".join(one for one in WANTED if one not in ("k_map", "presence"))
            raise OptionError(f"The intersection of two tables has no option {name!r}.", hint=f"there are {allowed}.")
    tables = []
    for native in (earlier, later):
        table = to_arrow(native, "intersect")
        refuse_several_types(apart_in(native, table.column_names))
        tables.append(table)
    names = named(tables[1], quasi_identifiers, "intersect")
    plan = Plan.of(**fields)
    if plan.demanded_of:
        named(tables[1], plan.demanded_of, "intersect")
    rule = Rule(k, k if newcomers is None else newcomers, same_values, in_order=in_order)
    return intersected(tables[0], tables[1], names, plan, rule, text=text, decimal=decimal)


@dataclass(frozen=True)
class Rule:
    """What is wanted of two releases.

    Attributes
    ----------
    k, newcomers : int or None
        How many kept and how many new rows a class must have that has some.
    same_values : bool
        Whether classes of both releases must have the same sensitive values in both.
    parts : bool
        Whether privacy models must hold for the kept and the new rows of a class, and not only for all of them.
    in_order : bool
        Whether the first rows of the later table are those of the earlier one, in the same order.
    """

    k: int | None
    newcomers: int | None
    same_values: bool = False
    parts: bool = True
    in_order: bool = False


def asked(plan: Plan, invariance: int | None) -> Plan:
    """Return the plan with the rule for sensitive values: none has a share above 1 / m in a part of a class."""
    if invariance is None:
        return plan
    share = f"alpha alpha={1 / invariance!r}"
    models = {**plan.models, **{name: (*plan.models.get(name, ()), share) for name in plan.demanded_of}}
    return plan.model_copy(update={"models": models})


def intersected(
    earlier: Any, later: Any, names: Sequence[str], plan: Plan, rule: Rule, *, text: bool = False, decimal: str = "."
) -> Intersection:
    """Return what the intersection of two tables (pyarrow.Table) leaves; see :func:`intersect`.

    Parameters
    ----------
    earlier, later : pyarrow.Table
    names : names of quasi-identifiers
    plan : Plan
        With what is demanded of sensitive attributes.
    rule : Rule
    """
    both = stacked(earlier, later)
    n = earlier.num_rows
    classes = classes_of(both, names)
    before, after = classes[:n], classes[n:]
    if rule.in_order:
        kept, gone = followed(classes_of(both, [name for name in both.column_names if name not in names]), n)
    else:
        kept, gone = matched(classes_of(both, both.column_names), n)
    # Where the same person was before: in the same class, unless their row is followed by its position.
    origin = after.copy()
    if rule.in_order:
        origin[: min(n, len(after))] = before[: len(after)]
    together = refined(after, np.where(kept, origin + 1, 0))[0]
    demanded = plan if rule.parts else Plan.of()
    how: dict[str, Any] = {"text": text, "decimal": decimal}
    signatures = {}
    if rule.same_values:
        from shoal.privacy.demands import attribute_of

        for name in plan.demanded_of or plan.sensitive_attributes:
            values = attribute_of(both, name, plan, **how).codes
            signatures[name] = _changed(before, after, values, np.column_stack([origin, after])[kept])
    return Intersection(
        earlier_rows=n,
        later_rows=later.num_rows,
        # Of equal rows it makes no difference which is which: those of the earlier table stand for the kept ones.
        kept=_part(
            together[kept],
            rule.k,
            _models(earlier, (together[:n] if rule.in_order else before)[~gone], ~gone, demanded, **how),
        ),
        new=_part(after[~kept], rule.newcomers, _models(later, after[~kept], ~kept, demanded, **how)),
        gone=_part(before[gone], None),
        changed=int((origin != after)[kept].sum()),
        signatures=signatures,
    )


def _part(classes: Array, wanted: int | None, models: tuple[Finding, ...] = ()) -> Part:
    sizes = np.bincount(classes)
    sizes = sizes[sizes > 0]
    below = sizes[sizes < (wanted or 0)]
    smallest = int(sizes.min()) if len(sizes) else None
    return Part(len(classes), len(sizes), smallest, wanted, len(below), int(below.sum()), models)


def _models(table: Any, classes: Array, rows: Array, plan: Plan, *, text: bool, decimal: str) -> tuple[Finding, ...]:
    """Return the findings for the demands of a plan on some rows (bool[n]) of a table, with their classes."""
    from shoal.privacy.demands import demands_of, spectra
    from shoal.privacy.findings import finding

    demands = demands_of(table, plan, text=text, decimal=decimal)
    around = next((demand.model for demand in demands if not demand.model.monotone), None)
    if around is not None:
        raise OptionError(f"A model of parts of classes must be about their values alone. Got {around.name}.")
    if not demands or not len(classes):
        return ()
    labels = np.unique(classes, return_inverse=True)[1].astype(np.int64)
    return tuple(
        finding(demand.model, demand.sensitive, demand.model.measure(spectrum), spectrum.sizes, spectrum)
        for demand, spectrum in zip(demands, spectra(labels, demands, np.flatnonzero(rows)), strict=True)
    )


def _changed(before: Array, after: Array, values: Array, moves: Array) -> int:
    """Return the number of moves from a class before to one after whose values differ as sets; -1 is a value too.

    Parameters
    ----------
    before, after : int64[n], int64[n2]
        Classes of both tables.
    values : int64[n + n2]
    moves : int64[p, 2]
        Classes before and after, of people who are in both.
    """
    width = int(values.max()) + 2
    sets: list[dict[int, set[int]]] = []
    for classes, own in ((before, values[: len(before)]), (after, values[len(before) :])):
        pairs = np.unique(classes * width + own + 1)
        owned: dict[int, set[int]] = {}
        for one, value in zip((pairs // width).tolist(), (pairs % width).tolist(), strict=True):
            owned.setdefault(one, set()).add(value)
        sets.append(owned)
    return sum(sets[0][a] != sets[1][b] for a, b in np.unique(moves, axis=0).tolist())


def refuse_several_types(apart: Mapping[str, Any]) -> None:
    """Refuse columns in which values that are one value of Arrow differ for a reader; see `shoal.io.Source`."""
    for name in apart:
        raise DataError(
            f"The column {name!r} must hold values of one type, and one kind of missing value, to be compared with "
            "another release. Got several, which a reader can tell apart.",
            hint="publish it with one type and one kind of missing value.",
        )


def require_intersection(found: Intersection, what: str) -> None:
    """Raise DisclosureError unless no row is gone, and everything that is wanted of two releases holds."""
    hint = "nothing was published."
    if found.gone.rows:
        raise DisclosureError(
            f"{what} must have every row of the earlier release. Got {found.gone.rows:,} that it changes or leaves "
            "out.",
            hint=f"whoever has both could compare them; {hint}",
        )
    for part, which in ((found.kept, "of the earlier release"), (found.new, "that are new")):
        if part.classes_below:
            raise DisclosureError(
                f"{what} must hide everybody among {part.wanted} rows {which}. Got {part.classes_below:,} groups "
                f"below, the smallest of {part.k}.",
                hint=hint,
            )
        for finding in part.models:
            if not finding:
                raise DisclosureError(
                    f"{what} must satisfy {str(finding.model)!r} in {finding.attribute!r} among the rows of each group "
                    f"{which}. Got {finding.groups_below:,} groups that do not, {finding.held:.4g} in the worst.",
                    hint=hint,
                )
    for name, count in found.signatures.items():
        if count:
            raise DisclosureError(
                f"{what} must have the same values of {name!r} in each group of the earlier release as before. Got "
                f"{count:,} groups with others.",
                hint=hint,
            )
