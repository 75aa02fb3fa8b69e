"""Compares finished releases with the original: the k that holds, what was lost, and what their certificates promise.

Rows that are published alike are a group, whoever made the release and however: by microaggregation, by recoding, or by
another program. The loss is that of a release (`Release.loss`): records are replaced by the means of their groups, on
the coordinates of the original. So it does not depend on whether a group publishes a mean, an interval or a set.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.errors import DisclosureError, OptionError, ShoalError, near_names
from shoal.io import Source, read
from shoal.plan import Plan
from shoal.privacy.audit import audit
from shoal.privacy.classes import classes_of, told_apart, units_of
from shoal.privacy.findings import Finding
from shoal.release.certificate import Certificate, read_certificate
from shoal.release.groups.blocks import Block, attribute_sets
from shoal.release.groups.coordinates import embedded
from shoal.release.job import certificate_beside
from shoal.release.matching import rows_of
from shoal.release.measures.losses import losses
from shoal.release.measures.utility import utility_of
from shoal.release.release import Release
from shoal.release.rows import LeftOut, taken, weights_of
from shoal.release.verification import audit_of, plan_of, require_same_file
from shoal.tables import schema
from shoal.tables.apart import apart_in
from shoal.tables.frames import to_arrow

# Fields of a plan that say nothing about the columns that are compared: they get their defaults.
_NOT_COMPARED = ("sensitive_attributes", "identifiers", "models", "l", "t", "population", "k_map", "presence")
# Fields with an entry for each column, of which those of other columns do not apply.
_BY_COLUMN = ("types", "levels", "hierarchies", "importance", "representatives", "missing_values", *schema.LATER)


class Compared(NamedTuple):
    """A finished release, compared with the original.

    Attributes
    ----------
    name : str
        Its file, or its position among the releases.
    rows : int
    removed : int
        Rows of the original that the release does not have; loss, NCP and Total-IL: see below.
    k : int
        The k that holds for all quasi-identifiers together, counting units if there are any.
    k_in_blocks : int or None
        The k that holds within each block, if columns were grouped separately.
    groups : int
        Groups of rows that are published alike.
    loss : float
        SSE / SST over all quasi-identifiers, as :attr:`shoal.Release.loss`, without the removed rows.
    by_attribute : {name: float}
        The same for each of them.
    models : tuple of Finding
        What its certificate promises of sensitive attributes, and what holds.
    certified : bool
        Whether there is a certificate, and it belongs to this file.
    discernability, average_group_size, certainty_penalty, certainty_penalty_total, total_information_loss
        See :class:`shoal.release.measures.utility.Utility`; all of them include removed rows. The average is divided
        by the k that was wanted, or else by the one that holds.
    notes : tuple of str
        What a reader of the figures must know.
    """

    name: str
    rows: int
    removed: int
    k: int
    k_in_blocks: int | None
    groups: int
    loss: float
    by_attribute: Mapping[str, float]
    models: tuple[Finding, ...]
    certified: bool
    discernability: int
    average_group_size: float
    certainty_penalty: float | None
    certainty_penalty_total: float | None
    total_information_loss: float | None
    notes: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        models = [
            {"attribute": one.attribute, "model": str(one.model), "held": _finite(one.held), "holds": bool(one)}
            for one in self.models
        ]
        return {
            **self._asdict(),
            "by_attribute": dict(self.by_attribute),
            "models": models,
            "notes": list(self.notes),
        }


def _finite(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def listed(releases: Any) -> list[Any]:
    """Return releases as a list; one alone is a list too, and none are refused."""
    listed = list(releases) if isinstance(releases, list | tuple) else [releases]
    if not listed:
        raise OptionError("At least one release must be given to compare. Got none.")
    return listed


class Published(NamedTuple):
    """A finished release, and its certificate if it has one; for a Release, the rows of the original that it has."""

    source: Source
    certificate: Certificate | None = None
    rows: Array | None = None


def source_of(thing: Any, name: str, caller: str = "compare_releases") -> Source:
    """Return a table with the name that messages call it by: a file that is read, or a data frame."""
    if isinstance(thing, Source):
        return thing
    if isinstance(thing, str | PathLike):
        return read(thing)
    table = to_arrow(thing, caller)
    return Source(table, False, "", None, None, name, apart=apart_in(thing, table.column_names))


def published_of(thing: Any, at: int, caller: str = "compare_releases") -> Published:
    """Return a finished release, the `at`-th of several, with its certificate if it has one."""
    if isinstance(thing, Release):
        certificate = Certificate.model_validate_json(json.dumps(thing.certificate))
        source = source_of(thing.table, f"release {at}", caller)
        if thing.text and thing.source is not None:
            source = replace(source, text=True, dialect=thing.source.dialect)
        return Published(source, certificate, thing.kept)
    source = source_of(thing, f"release {at}", caller)
    return Published(source, beside(os.fspath(thing))) if isinstance(thing, str | PathLike) else Published(source)


def beside(path: str, format: str | None = None) -> Certificate | None:
    """Return the certificate beside a file, if there is one."""
    where = certificate_beside(path, format)
    return read_certificate(where) if where is not None and os.path.isfile(where) else None


def compare_finished(
    original: Source, releases: Sequence[Published], plan: Plan, *, key: str | None = None, k: int | None = None
) -> list[Compared]:
    """Compare releases that were read; see :func:`shoal.compare_releases`.

    Parameters
    ----------
    original : Source
    releases : Published
    plan : Plan
        Roles and types. Without quasi-identifiers, those of the certificates are used.
    key : name or None
    k : int or None
    """
    plan = _settled(original, releases, plan, key)
    columns = schema.roles(original.table.column_names, plan)
    reads = schema.read(original.table, columns, plan, text=original.text, decimal=original.decimal)
    whole = _Original(original, plan, reads, weights_of(original.table, plan, original.decimal))
    return [_compared(whole, release, key, k) for release in releases]


class _Original(NamedTuple):
    """The original: its quasi-identifiers with their values, and the weights of its records."""

    source: Source
    plan: Plan
    reads: list[schema.Read]
    weights: Array | None


def _settled(original: Source, releases: Sequence[Published], plan: Plan, key: str | None) -> Plan:
    """Return a plan that names the quasi-identifiers and passes all other columns on."""
    names = original.table.column_names
    if key is not None and key not in names:
        raise OptionError(
            f"The key must be a column of the original. Got {key!r}.", near_names(key, names, f"it has {len(names)}.")
        )
    promised = [release.certificate for release in releases if release.certificate is not None]
    wanted, strata = plan.quasi_identifiers, list(plan.stratum)
    if wanted is None and promised:
        every = {tuple(sorted(certificate.quasi_identifiers)) for certificate in promised}
        if len(every) > 1:
            raise OptionError(
                "The releases must have the same quasi-identifiers. Got certificates that name different ones.",
                "name those to compare (quasi_identifiers, --qi).",
            )
        strata = list(dict.fromkeys([*strata, *promised[0].k.strata]))
        wanted = tuple(name for name in names if name in promised[0].quasi_identifiers and name not in strata)
    taken = {key, plan.weight, plan.unit, *plan.sensitive_attributes, *plan.other, *plan.identifiers, *strata}
    if wanted is None:
        everywhere = [set(release.source.table.column_names) for release in releases]
        wanted = tuple(name for name in names if name not in taken and all(name in one for one in everywhere))
    compared = [*wanted, *(name for pair in plan.places for name in pair), *strata]
    for release in releases:
        for name in compared:
            if name not in release.source.table.column_names:
                raise OptionError(
                    f"Every quasi-identifier must be in every release. Got none {name!r} in {release.source.name}.",
                    "name those to compare (quasi_identifiers, --qi).",
                )
    if not wanted and not plan.places:
        raise OptionError("The original and the releases must have columns in common. Got none to compare.")
    others = [name for name in names if name not in (*compared, plan.weight, plan.unit)]
    update: dict[str, Any] = {name: Plan.model_fields[name].default for name in _NOT_COMPARED}
    for field in _BY_COLUMN:
        given = getattr(plan, field)
        if isinstance(given, Mapping):
            update[field] = {name: value for name, value in given.items() if name not in others}
    update |= {"quasi_identifiers": wanted, "stratum": tuple(strata), "other": tuple(others), "k": 2}
    return plan.model_copy(update=update)


def _compared(whole: _Original, release: Published, key: str | None, k: int | None) -> Compared:
    source, promised = release.source, release.certificate
    notes: list[str] = []
    if promised is not None:
        try:
            require_same_file(source, promised)
        except DisclosureError:
            notes.append("the certificate beside it belongs to another file: nothing was taken from it")
            promised = None
    plan = whole.plan
    shuffled = promised is not None and promised.shuffled
    names = [*(plan.quasi_identifiers or ()), *(name for pair in plan.places for name in pair), *plan.stratum]
    rows = release.rows
    if rows is None or key is not None:
        rows = rows_of(whole.source, source, key, names, shuffled=shuffled, notes=notes)
    reads = whole.reads if rows is None else [taken(one, rows) for one in whole.reads]
    weights = whole.weights if rows is None or whole.weights is None else whole.weights[rows]
    units = _units(whole, rows)
    blocks = _blocks(source, reads, plan, promised)
    removed = whole.source.table.num_rows - source.table.num_rows
    found = audit(source.table, names, None, units=units, apart=source.apart)
    held = found.k if found.k_units is None else found.k_units
    wanted = k or (promised.k.wanted if promised is not None else held)
    lost = losses(embedded(reads, plan), {name: b.labels for b in blocks for name in b.attributes}, weights)
    left_out = None if not removed or rows is None else LeftOut(rows, whole.reads, whole.weights)
    utility = utility_of(reads, blocks, wanted, left_out)
    within = [int(np.bincount(block.labels).min()) for block in blocks]
    return Compared(
        name=source.name,
        rows=source.table.num_rows,
        removed=removed,
        k=held,
        k_in_blocks=min(within) if len(blocks) > 1 else None,
        groups=found.classes,
        loss=lost.total,
        by_attribute=lost.by_attribute,
        models=_models(source, promised, notes),
        certified=promised is not None,
        discernability=utility.discernability,
        average_group_size=utility.average_group_size,
        certainty_penalty=utility.certainty_penalty,
        certainty_penalty_total=utility.certainty_penalty_total,
        total_information_loss=utility.total_information_loss,
        notes=tuple(notes),
    )


def _units(whole: _Original, rows: Array | None) -> Array | None:
    if whole.plan.unit is None:
        return None
    codes = units_of(whole.source.table.column(whole.plan.unit), whole.plan.unit, whole.source.decimal).codes
    return codes if rows is None else codes[rows]


def _blocks(source: Source, reads: Sequence[schema.Read], plan: Plan, promised: Certificate | None) -> list[Block]:
    """Return the groups of rows that are published alike, for each block of columns."""
    attributes = [one.attribute for one in reads]
    if promised is not None and len(promised.k.blocks) > 1 and plan.blocks == "joint":
        # As far as all of the columns are compared.
        with suppress(OptionError):
            plan = plan.model_copy(update={"blocks": promised.k.blocks})
            return _grouped(source, attributes, plan)
        plan = plan.model_copy(update={"blocks": "joint"})
    return _grouped(source, attributes, plan)


def _grouped(source: Source, attributes: Sequence[schema.Attribute], plan: Plan) -> list[Block]:
    blocks = []
    for names in attribute_sets(attributes, plan):
        columns = tuple(name for one in attributes if one.name in names for name in one.columns)
        labels = classes_of(*told_apart(source.table, [*columns, *plan.stratum], source.apart))
        blocks.append(Block(tuple(names), columns, labels, "", ""))
    return blocks


def _models(source: Source, promised: Certificate | None, notes: list[str]) -> tuple[Finding, ...]:
    """Return what a certificate promises of sensitive attributes, counted anew."""
    if promised is None or not promised.models:
        return ()
    try:
        return audit_of(source, promised.quasi_identifiers, None, plan_of(promised)).models
    except ShoalError:
        notes.append("its certificate promises something of a population, which shoal verify checks")
        return ()
