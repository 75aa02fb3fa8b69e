"""Carries out a plan with `dp`: reads the declared columns, asks a private release, and hands out the answers alone."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shoal.arrays import Array
from shoal.dp.budget import Budget, Ledger, Neighbours
from shoal.dp.domain import Coded, Domain, template
from shoal.dp.registry import PrivateRelease, find
from shoal.errors import DataError, OptionError, near_names
from shoal.plan import Plan
from shoal.privacy.classes import units_of
from shoal.progress import Progress, part, throttled
from shoal.release.private.table import PrivateTable
from shoal.tables import columns as _columns
from shoal.tables import frames
from shoal.tables.markers import without_markers
from shoal.tables.schema import markers

# Kinds that a domain does not have, and those that a template offers in their place.
KINDS = {"place": "continuous"}
# With less, counts are nothing but noise; with more, there is none.
LEAST_EPSILON, MOST_EPSILON = 1e-6, 1e6


@dataclass(frozen=True)
class Ready:
    """A table that a private release can be made of."""

    native: Any
    plan: Plan
    domain: Domain
    release: PrivateRelease
    coded: Coded
    ledger: Ledger
    rows_in: int
    rows_left_out: int


def check_plan(plan: Plan) -> PrivateRelease:
    """Return the private release of a plan, or refuse it with its options, before a table is read."""
    release = find(str(plan.dp))
    release.checked(plan.options)
    if not LEAST_EPSILON <= (plan.epsilon or 0) <= MOST_EPSILON:
        raise OptionError(
            f"The 'epsilon' of a plan must be from {LEAST_EPSILON:g} to {MOST_EPSILON:g}. Got {plan.epsilon!r}.",
            hint="1 is a usual value.",
        )
    if release.delta and not plan.delta:
        raise OptionError(f"The 'delta' of a plan must be above 0 for {release.name!r}. Got none.")
    if plan.delta and not release.delta:
        raise OptionError(f"The 'delta' of a plan must be 0 for {release.name!r}, which needs none.")
    return release


def domain_of(plan: Plan) -> Domain:
    """Return the declared domain of a plan."""
    if plan.domain is None:
        raise OptionError(
            "The 'domain' of a plan must be declared with dp: bounds and categories taken from the table would tell "
            "about it. Got none.",
            hint="a dry run (--dp .. --domain domain.yaml --dry-run) writes a template to fill in.",
        )
    return Domain.load(plan.domain) if isinstance(plan.domain, str) else Domain.from_plain(plan.domain)


def ready(native: Any, plan: Plan, *, text: bool = False, decimal: str = ".") -> Ready:
    """Read the declared columns of a table in fixed point, or refuse what cannot be released."""
    release, domain = check_plan(plan), domain_of(plan)
    names = frames.names_of(native, "anonymize")
    _check_columns(names, plan, domain, release)
    table = frames.to_arrow(native, "anonymize", [*(n for n in names if n in domain.columns), *_unit(plan)])
    table = marked(table, plan, decimal)
    rows, neighbours = np.arange(table.num_rows), Neighbours(1)
    if plan.unit is not None:
        most = _rows_per_unit(plan, domain, release)
        rows, neighbours = _bounded(table.column(plan.unit), plan.unit, most, decimal), Neighbours(most, plan.unit)
    elif domain.rows_per_unit is not None:
        raise OptionError(
            "The 'rows_per_unit' of a domain must come with a 'unit' (--unit), whose rows they are. Got none.",
            hint="name the column of persons or households, or take it out of the domain.",
        )
    kept = table if len(rows) == table.num_rows else table.take(rows)
    how: dict[str, Any] = {"text": text, "decimal": decimal, "formats": plan.formats, "thousands": plan.thousands}
    coded = domain.encode(kept, **how)
    ledger = Ledger(Budget(plan.epsilon or 0, plan.delta), neighbours)
    return Ready(native, plan, domain, release, coded, ledger, table.num_rows, table.num_rows - len(rows))


def marked(table: Any, plan: Plan, decimal: str = ".") -> Any:
    """Return an Arrow table with nulls in place of values that are declared to mean 'missing'."""
    for at, name in enumerate(table.column_names):
        declared = markers(plan, name)
        if declared:
            table = table.set_column(at, name, without_markers(table.column(name), declared, decimal))
    return table


def _unit(plan: Plan) -> list[str]:
    return [] if plan.unit is None else [plan.unit]


def _check_columns(names: list[str], plan: Plan, domain: Domain, release: PrivateRelease) -> None:
    for field in ("identifiers", "drop", "unit"):
        named = getattr(plan, field) or ()
        for name in (named,) if isinstance(named, str) else named:
            if name not in names:
                raise OptionError(
                    f"The {field!r} of a plan must name columns of the table. Got {name!r}.",
                    hint=near_names(name, names, "look at its header."),
                )
            if name in domain.columns:
                raise OptionError(f"The domain must not have columns of {field!r}. Got {name!r}.")
    if "count" in domain.columns:
        raise OptionError("The domain must not have a column 'count', which private releases may add. Got one.")
    for name, one in domain.columns.items():
        if name not in names:
            raise DataError(
                f"Every column of a domain must be in the table. Got {name!r}.",
                hint=near_names(name, names, "take it out of the domain."),
            )
        if release.kinds and one.kind not in release.kinds:
            raise OptionError(
                f"The private release {release.name!r} takes columns of the kinds {', '.join(release.kinds)}. Got "
                f"{name!r}, which is {one.kind}."
            )


def _rows_per_unit(plan: Plan, domain: Domain, release: PrivateRelease) -> int:
    most = domain.rows_per_unit
    if most is None:
        raise OptionError(
            "The domain must say how many rows a unit has at most ('rows_per_unit'), because a 'unit' is given. Got "
            "none.",
            hint="rows of a unit beyond that number are left out.",
        )
    if most > 1 and not release.units:
        raise OptionError(
            f"The 'rows_per_unit' of the domain must be 1 for {release.name!r}. Got {most}.",
            hint="its guarantee is about single rows.",
        )
    return most


def _bounded(column: Any, name: str, most: int, decimal: str = ".") -> Array:
    """Return int64[m]: rows with at most `most` of every unit, the first ones; no unit decides about another.

    Units that a person reads as one are one, as everywhere: a person whose name is spelt in several ways would have
    more rows than the noise is for.
    """
    codes, missing, _ = units_of(column, name, decimal)
    if missing:
        raise DataError(f"The unit {name!r} must have no missing values. Got {missing}.")
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    first = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    rank = np.arange(len(codes)) - np.maximum.accumulate(np.where(first, np.arange(len(codes)), 0))
    return np.sort(order[rank < most])


def private_release_of(
    native: Any, plan: Plan, *, text: bool = False, decimal: str = ".", progress: Progress | None = None
) -> PrivateTable:
    """Carry out a plan with `dp` on a data frame."""
    return carry_out(ready(native, plan, text=text, decimal=decimal), progress=progress)


def carry_out(prepared: Ready, *, progress: Progress | None = None) -> PrivateTable:
    """Ask the private release, and return the table of its answers."""
    report = throttled(progress)
    start = time.perf_counter()
    plan, release = prepared.plan, prepared.release
    report(0.05)
    made = release.load()(
        prepared.coded, prepared.ledger, report=part(report, 0.05, 0.95), **release.checked(plan.options)
    )
    table = like(prepared.native, made.table())
    report(1.0)
    return PrivateTable(
        frame=table,
        plan=plan,
        release=release,
        domain=prepared.domain,
        ledger=prepared.ledger,
        rows=len(made.positions),
        said=made.said,
        rows_in=prepared.rows_in,
        rows_left_out=prepared.rows_left_out,
        timings={"releasing": time.perf_counter() - start},
    )


def like(native: Any, table: Any) -> Any:
    """Return an Arrow table as a data frame of the same kind as another."""
    import pyarrow as pa

    if isinstance(native, pa.Table):
        return table
    import narwhals as nw

    return nw.from_arrow(table, backend=nw.from_native(native, eager_only=True).implementation).to_native()


def kinds_of(native: Any, plan: Plan, *, text: bool = False, decimal: str = ".") -> dict[str, str]:
    """Return the kind of every column that a template lists: names and kinds, no values."""
    left_out = {*plan.identifiers, *plan.drop, *_unit(plan)}
    names = [name for name in frames.names_of(native, "anonymize") if name not in left_out]
    table = marked(frames.to_arrow(native, "anonymize", names), plan, decimal)
    kinds = {}
    for name in names:
        how: dict[str, Any] = {"text": text, "decimal": decimal, "name": name, "thousands": plan.thousands}
        kind = plan.types.get(name) or _columns.infer(table.column(name), **how)[0]
        kinds[name] = KINDS.get(kind, kind)
    return kinds


def template_for(native: Any, plan: Plan, path: str, *, text: bool = False, decimal: str = ".") -> dict[str, str]:
    """Write a domain to be filled in, and return its kinds; a file that exists is left alone."""
    from shoal.release.files import write_text

    kinds = kinds_of(native, plan, text=text, decimal=decimal)
    write_text(template(kinds), Path(path))
    return kinds
