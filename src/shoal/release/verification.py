"""Audits published files: by themselves, against their certificates, and against a population."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, overload

from shoal.errors import DataError, DisclosureError, OptionError
from shoal.io import Source, read
from shoal.plan import Plan
from shoal.privacy.audit import Audit, audit, counted, require_privacy, verify_table
from shoal.privacy.closeness import NTCloseness, TCloseness
from shoal.privacy.demands import demands_of
from shoal.privacy.intersection import Rule, asked, intersected, refuse_several_types, require_intersection
from shoal.privacy.models import any_model
from shoal.privacy.population import DeltaPresence, KMap
from shoal.privacy.whole import Whole, whole_of
from shoal.release.certificate import Certificate, read_certificate
from shoal.release.groups.population import IN_MEMORY, people_of, table_of

if TYPE_CHECKING:
    from shoal.release.private.verification import PrivateAudit


@overload
def verify_file(
    source: str | PathLike[str] | Source,
    certificate: Certificate,
    *,
    population: Any = None,
    hierarchies: Mapping[str, Any] | None = None,
    levels: Mapping[str, Any] | None = None,
    earlier: str | PathLike[str] | Source | None = None,
) -> Audit: ...


@overload
def verify_file(
    source: str | PathLike[str] | Source,
    certificate: str | PathLike[str],
    *,
    population: Any = None,
    hierarchies: Mapping[str, Any] | None = None,
    levels: Mapping[str, Any] | None = None,
    earlier: str | PathLike[str] | Source | None = None,
) -> Audit | PrivateAudit: ...


def verify_file(
    source: str | PathLike[str] | Source,
    certificate: str | PathLike[str] | Certificate,
    *,
    earlier: str | PathLike[str] | Source | None = None,
    population: Any = None,
    hierarchies: Mapping[str, Any] | None = None,
    levels: Mapping[str, Any] | None = None,
) -> Audit | PrivateAudit:
    """Repeat the audit of a published file: its hash, its number of rows, k, and privacy models.

    The certificate is all that is needed, except for models that count in a population, which is not published: it must
    be given, with the hierarchies and levels of its quasi-identifiers if they have any.

    Parameters
    ----------
    source : path, address or Source
        The published file; see :func:`shoal.io.read`.
    certificate : path
        The certificate that was written with it.
    earlier : path, address, Source or None
        If the file is an update: the release that it adds rows to. What both tell together is verified as well.
    population : path, data frame or None
        The population in which k-map or delta-presence were promised.
    hierarchies, levels : {name: ..} or None
        Of quasi-identifiers of the population, as in :class:`shoal.Plan`.

    Returns
    -------
    Audit
        The audit of all quasi-identifiers together. For a differentially private release, a ``PrivateAudit``: what was
        checked, and what cannot be checked on a table.

    Raises
    ------
    DisclosureError
        If the file is not the one that was released, or k or a privacy model does not hold.
    """
    if not isinstance(certificate, Certificate):
        from shoal.release.private.documents import read_private
        from shoal.release.private.verification import refuse_groups, verify_private

        private = read_private(certificate)
        if private is not None:
            given = {"population": population, "hierarchies": hierarchies, "levels": levels, "earlier": earlier}
            refuse_groups([repr(name) for name, value in given.items() if value is not None])
            return verify_private(_opened(source), private)
    promised = certificate if isinstance(certificate, Certificate) else read_certificate(certificate)
    source = _opened(source)
    require_same_file(source, promised)
    plan = plan_of(promised, hierarchies or {}, levels or {}, population is not None)
    blocks, wanted = promised.k.blocks, promised.k.wanted
    for block in blocks:
        names = require_columns(source.table.column_names, [*block, *promised.k.strata], source.name)
        require_privacy(audit(source.table, names, wanted, apart=source.apart), source.name)
    require_columns(source.table.column_names, list(plan.demanded_of), source.name)
    # With several blocks, k is not promised for all quasi-identifiers together.
    together = audit_of(
        source,
        promised.quasi_identifiers,
        wanted if len(blocks) == 1 else None,
        plan,
        table_of(str(population)) if isinstance(population, str | PathLike) else population,
    )
    require_privacy(together, source.name)
    require_told(together, promised, source.name)
    if earlier is not None:
        _check_pair(earlier if isinstance(earlier, Source) else read(earlier, header=True), source, promised, plan)
    return replace(together, whole=_checked_whole(source, promised))


def _opened(source: str | PathLike[str] | Source) -> Source:
    """Return a published file, whose certificate has the names of its columns."""
    if not isinstance(source, Source) and os.path.isdir(source):
        raise DataError(
            "A table that is verified as a whole must be one file. Got a folder.",
            hint="on the command line, shoal verify counts a folder of Parquet or CSV files in pieces.",
        )
    return source if isinstance(source, Source) else read(source, header=True)


def _check_pair(earlier: Source, source: Source, promised: Certificate, plan: Plan) -> None:
    """Raise an error unless an update and the release that it adds rows to hold together what is promised of them."""
    part = promised.earlier
    if part is None:
        raise OptionError("An earlier release must be given for an update only. Got one, and the certificate has none.")
    foreign = part.sha256 and earlier.sha256 and part.sha256 != earlier.sha256
    if foreign or part.rows != earlier.table.num_rows:
        raise DisclosureError(
            f"This certificate is that of an update of another file than {earlier.name}.",
            hint="give the earlier release as it was published.",
        )
    if earlier.text != source.text or earlier.decimal != source.decimal:
        raise DataError("Both releases must be in the same format. Got two different ones.")
    for one in (earlier, source):
        refuse_several_types(one.apart)
    sensitive = [column.name for column in promised.columns if column.role == "sensitive"]
    plan = asked(plan.model_copy(update={"sensitive_attributes": tuple(sensitive)}), part.invariance)
    rule = Rule(promised.k.wanted, part.newcomers, part.invariance is not None, part.parts, part.changed > 0)
    for block in promised.k.blocks:
        how: dict[str, Any] = {"text": source.text, "decimal": source.decimal}
        found = intersected(earlier.table, source.table, [*block, *promised.k.strata], plan, rule, **how)
        require_intersection(found, f"{source.name}, together with {earlier.name},")
        if (found.kept.k or 0) < part.kept or (found.new.k or 0) < part.new:
            raise DisclosureError(
                f"{source.name} must have {part.kept} rows as before and {part.new} new ones in each group that has "
                f"any, as its certificate says. Got {found.kept.k} and {found.new.k}.",
                hint="verify the tables as they were released.",
            )


def _checked_whole(source: Source, promised: Certificate) -> Whole:
    """Count all columns together; refuse those that the certificate does not list, and a lower k than it tells."""
    require_no_others(source.table.column_names, promised, source.name)
    found = whole_of(source.table, source.table.column_names, source.apart)
    require_whole(found, promised, source.name)
    return found


def require_no_others(columns: Sequence[str], promised: Certificate, name: str) -> None:
    """Refuse columns that the certificate does not list."""
    listed = {column.name for column in promised.columns}
    others = [column for column in columns if column not in listed]
    if others:
        raise DisclosureError(
            f"{name} must have the columns of its certificate and no others. Got {others[0]!r} as well.",
            hint="verify the table as it was released.",
        )


def require_whole(found: Whole, promised: Certificate, name: str) -> None:
    """Refuse a lower k of all columns together than the certificate tells."""
    if found.k < promised.k.held_for_all:
        raise DisclosureError(
            f"In {name}, k = {promised.k.held_for_all} must hold for all columns together, as its certificate "
            f"says. Got k = {found.k}.",
            hint="verify the table as it was released.",
        )


# A share by which what is measured may be worse than a certificate tells: formats differ in how they round numbers.
ROUNDED = 1e-3


def require_told(found: Audit, promised: Certificate, name: str) -> None:
    """Refuse less than the certificate tells to hold: of k, and of models, unless they were counted in units.

    How far values are from each other may be another matter in a file: CSV does not keep the order of categories. So
    t-closeness is not compared; what was demanded of it is checked as always.
    """
    if found.k < promised.k.held:
        raise DisclosureError(
            f"In {name}, k = {promised.k.held} must hold, as its certificate says. Got k = {found.k}.",
            hint="verify the table as it was released.",
        )
    if promised.k.held_in_units is not None:
        return
    told = {(one.attribute, one.model): one.held for one in promised.models}
    for one in found.models:
        held = told.get((one.attribute, str(one.model)))
        if held is None or isinstance(one.model, TCloseness | NTCloseness):
            continue
        worse = held - one.held if one.model.rising else one.held - held
        if worse > ROUNDED * max(1.0, abs(held)):
            raise DisclosureError(
                f"In {name}, {str(one.model)!r} must hold in {one.attribute!r} with {held:.4g} in the worst group, as "
                f"its certificate says. Got {one.held:.4g}.",
                hint="verify the table as it was released.",
            )


def require_same_file(source: Source, promised: Certificate) -> None:
    """Refuse a file that is not the one of the certificate."""
    require_same_hash(source.sha256, promised, source.name)
    require_same_rows(source.table.num_rows, promised, source.name)


def require_same_hash(sha256: str | None, promised: Certificate, name: str) -> None:
    """Refuse a file with another SHA-256 than that of the certificate."""
    output = promised.output
    if output is not None and output.sha256 and sha256 and output.sha256 != sha256:
        raise DisclosureError(
            f"This certificate belongs to another file: its SHA-256 is not that of {name}.",
            hint="verify the file as it was released, or name its quasi-identifiers (--qi) to verify this one.",
        )


def require_same_rows(found: int, promised: Certificate, name: str) -> None:
    """Refuse a table with another number of rows than that of the certificate."""
    rows = promised.rows if promised.output is None else promised.output.rows
    if rows != found:
        raise DisclosureError(
            f"This certificate belongs to another table, of {rows} rows. Got {name} of {found}.",
            hint="verify the table as it was released.",
        )


def plan_of(
    promised: Certificate,
    hierarchies: Mapping[str, Any] | None = None,
    levels: Mapping[str, Any] | None = None,
    with_population: bool = False,
) -> Plan:
    """Return the plan of what a certificate promises, as far as it can be checked on the release.

    Raises
    ------
    OptionError
        If it promises something of a population and none is given, or the reverse.
    """
    fields: dict[str, Any] = {"types": {}, "levels": dict(levels or {}), "hierarchies": dict(hierarchies or {})}
    fields |= {"models": {}, "formats": {}, "missing_values": {}}
    of_population = []
    for part in promised.models:
        if part.attribute is None:
            of_population.append(part.model)
        else:
            fields["models"].setdefault(part.attribute, []).append(part.model)
    for name, reading in promised.readings.items():
        plain = reading.model_dump(mode="json", exclude_none=True)
        for key, field in _FIELDS.items():
            if plain.get(key):
                fields[field][name] = plain[key]
        if "thousands" in plain:
            fields["thousands"] = plain["thousands"]
    if of_population and not with_population:
        raise OptionError(
            f"The population must be given to check {of_population[0]!r}, which is counted in it. Got none.",
            hint="pass population (--population FILE). To check k alone, name the quasi-identifiers (--qi) and k (-k).",
        )
    if with_population and not of_population:
        raise OptionError("A population must be given for promises on it only. Got one, and the certificate has none.")
    for text in of_population:
        model = any_model(text)
        if isinstance(model, KMap):
            fields["k_map"] = model.k
        elif isinstance(model, DeltaPresence):
            fields["presence"] = (model.low, model.high)
        else:
            raise OptionError(f"A model of a certificate must name its column. Got none for {model.name}.")
    if of_population:
        fields["population"] = IN_MEMORY
    return Plan.of(**{name: value for name, value in fields.items() if value})


# Keys of a reading in a certificate, and the fields of a plan that they set.
_FIELDS = {
    "type": "types",
    "format": "formats",
    "levels": "levels",
    "hierarchy": "hierarchies",
    "missing_values": "missing_values",
}


def audit_of(source: Source, names: list[str], wanted: int | None, plan: Plan, people: Any = None) -> Audit:
    """Return the audit of a table that was read from a file: of k, counting rows, and of all models of the plan."""
    how: dict[str, Any] = {"text": source.text, "decimal": source.decimal}
    result = audit(source.table, names, wanted, demands=demands_of(source.table, plan, **how), apart=source.apart)
    if plan.population is None:
        return result
    people = people_of(plan) if people is None else people
    models = counted(source.table, people, names, plan, apart=source.apart, **how)
    return replace(result, models=result.models + models)


def verify_source(
    source: Source, quasi_identifiers: list[str] | None, k: int | None, *, population: str | None = None, **fields: Any
) -> Audit:
    """Verify a table that was read from a file; see :func:`shoal.verify`."""
    people = None if population is None else table_of(population)
    how: dict[str, Any] = {"text": source.text, "decimal": source.decimal, "apart": source.apart}
    return verify_table(source.table, quasi_identifiers, k, population=people, **how, **fields)


def require_columns(columns: Sequence[str], names: list[str], file: str) -> list[str]:
    """Return names of columns of a certificate, which a table must have."""
    missing = [name for name in names if name not in columns]
    if missing:
        raise DataError(f"{file} must have the column {missing[0]!r} of its certificate. Got none.")
    return names
