"""Audits published files: by themselves, against their certificates, and against a population."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any, cast

from shoal.errors import DataError, DisclosureError, OptionError
from shoal.io import Source, read
from shoal.plan import Plan
from shoal.privacy.audit import Audit, audit, counted, require_privacy, verify_table
from shoal.privacy.demands import demands_of
from shoal.privacy.models import any_model
from shoal.privacy.population import DeltaPresence, KMap
from shoal.privacy.whole import Whole, whole_of
from shoal.release.certificate import Certificate, read_certificate
from shoal.release.groups.population import IN_MEMORY, people_of, table_of


def verify_file(
    source: str | PathLike[str] | Source,
    certificate: str | PathLike[str] | Certificate,
    *,
    population: Any = None,
    hierarchies: Mapping[str, Any] | None = None,
    levels: Mapping[str, Any] | None = None,
) -> Audit:
    """Repeat the audit of a published file: its hash, its number of rows, k, and privacy models.

    The certificate is all that is needed, except for models that count in a population, which is not published: it must
    be given, with the hierarchies and levels of its quasi-identifiers if they have any.

    Parameters
    ----------
    source : path, address or Source
        The published file; see :func:`shoal.io.read`.
    certificate : path
        The certificate that was written with it.
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
        from shoal.release.private.verification import verify_private

        private = read_private(certificate)
        if private is not None:
            source = source if isinstance(source, Source) else read(source, header=True)
            return cast("Audit", verify_private(source, private))
    promised = certificate if isinstance(certificate, Certificate) else read_certificate(certificate)
    source = source if isinstance(source, Source) else read(source, header=True)  # the certificate has the names
    require_same_file(source, promised)
    plan = plan_of(promised, hierarchies or {}, levels or {}, population is not None)
    blocks, wanted = promised.k.blocks, promised.k.wanted
    for block in blocks:
        names = _present(source, [*block, *promised.k.strata])
        require_privacy(audit(source.table, names, wanted, apart=source.apart), source.name)
    _present(source, list(plan.demanded_of))
    # With several blocks, k is not promised for all quasi-identifiers together.
    together = audit_of(
        source,
        promised.quasi_identifiers,
        wanted if len(blocks) == 1 else None,
        plan,
        table_of(str(population)) if isinstance(population, str | PathLike) else population,
    )
    require_privacy(together, source.name)
    return replace(together, whole=_checked_whole(source, promised))


def _checked_whole(source: Source, promised: Certificate) -> Whole:
    """Count all columns together; refuse those that the certificate does not list, and a lower k than it tells."""
    listed = {column.name for column in promised.columns}
    others = [name for name in source.table.column_names if name not in listed]
    if others:
        raise DisclosureError(
            f"{source.name} must have the columns of its certificate and no others. Got {others[0]!r} as well.",
            hint="verify the table as it was released.",
        )
    found = whole_of(source.table, source.table.column_names, source.apart)
    if found.k < promised.k.held_for_all:
        raise DisclosureError(
            f"In {source.name}, k = {promised.k.held_for_all} must hold for all columns together, as its certificate "
            f"says. Got k = {found.k}.",
            hint="verify the table as it was released.",
        )
    return found


def require_same_file(source: Source, promised: Certificate) -> None:
    """Refuse a file that is not the one of the certificate."""
    output = promised.output
    if output is not None and output.sha256 and source.sha256 and output.sha256 != source.sha256:
        raise DisclosureError(
            f"This certificate belongs to another file: its SHA-256 is not that of {source.name}.",
            hint="verify the file as it was released, or name its quasi-identifiers (--qi) to verify this one.",
        )
    rows = promised.rows if output is None else output.rows
    if rows != source.table.num_rows:
        raise DisclosureError(
            f"This certificate belongs to another table, of {rows} rows. Got {source.name} of {source.table.num_rows}.",
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


def _present(source: Source, names: list[str]) -> list[str]:
    missing = [name for name in names if name not in source.table.column_names]
    if missing:
        raise DataError(f"{source.name} must have the column {missing[0]!r} of its certificate. Got none.")
    return names
