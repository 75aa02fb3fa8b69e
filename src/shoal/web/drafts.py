"""Drafts of plans: the roles and settings of columns as they are clicked together, and the plan that they make.

A draft keeps the settings of a column while it has another role, so that nothing is lost by trying one. The plan gets
those that its role allows.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import OptionError, near_names
from shoal.plan import Plan
from shoal.plan_checks import OF_PRIVACY, WITH_PRIVACY
from shoal.web.faults import Fault

# The fields of a plan that give roles. A column may be a quasi-identifier and sensitive: then it has both.
ROLES: dict[str, tuple[str, ...]] = {
    "quasi-identifier": ("quasi_identifiers",),
    "sensitive": ("sensitive_attributes",),
    "quasi-identifier+sensitive": ("quasi_identifiers", "sensitive_attributes"),
    "identifier": ("identifiers",),
    "other": ("other",),
    "dropped": ("drop",),
    "weight": ("weight",),
    "unit": ("unit",),
    "stratum": ("stratum",),
}
ONE_COLUMN = ("weight", "unit")
# Settings of a column, and the field of the plan in which each is an entry.
SETTINGS = {
    "type": "types",
    "levels": "levels",
    "hierarchy": "hierarchies",
    "importance": "importance",
    "representative": "representatives",
    "digits": "digits",
    "outward": "outward",
    "top": "top_coding",
    "bottom": "bottom_coding",
    "rounding": "rounding",
    "format": "formats",
    "missing_values": "missing_values",
    "models": "models",
    "cell": "cells",
}
CODING = ("top", "bottom", "rounding")
# Those that describe values: of sensitive columns too, if models are demanded of them.
OF_VALUES = ("type", "levels", "hierarchy", "format", "missing_values")
# Fields that belong to another one: what they say means nothing once it changes.
BELONGS = {"method": ("options",), "dp": ("options", "delta")}
_BY_COLUMN = (*(name for names in ROLES.values() for name in names), *SETTINGS.values())


@dataclass(frozen=True)
class Draft:
    """A draft of a plan.

    Attributes
    ----------
    roles : {column: role}
        Of columns whose role is declared.
    settings : {column: {setting: value}}
    fields : {field: value}
        All other fields of the plan.
    """

    roles: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)

    def plan(self) -> Plan:
        """Return the plan of this draft, or refuse it.

        What cannot be part of it waits: fields about groups while there is a private release and the reverse, and a
        population of which nothing is demanded.
        """
        fields = self._all_fields()
        if fields.get("dp") is not None:
            return Plan.of(**{name: value for name, value in fields.items() if name in WITH_PRIVACY})
        waiting = set(OF_PRIVACY)
        if fields.get("k_map") is None and fields.get("presence") is None:
            waiting.add("population")
        return Plan.of(**{name: value for name, value in fields.items() if name not in waiting})

    def plan_of_population(self) -> Plan:
        """Return a plan with nothing but the population of this draft, which may be waiting for a demand."""
        where = self.fields.get("population")
        return Plan.of() if where is None else Plan.of(population=where, k_map=2)

    def _all_fields(self) -> dict[str, Any]:
        """Return the fields of the plan, with those that roles and settings of columns make."""
        fields = dict(self.fields)
        for role, names in ROLES.items():
            named = [column for column, given in self.roles.items() if given == role]
            for name in names if named else ():
                fields[name] = named[0] if name in ONE_COLUMN else [*fields.get(name, ()), *named]
        demanded = any(fields.get(name) is not None for name in ("l", "t")) or any(
            "models" in self.settings.get(column, {}) for column, role in self.roles.items() if role == "sensitive"
        )
        for column, settings in self.settings.items():
            for setting, value in settings.items():
                if self._applies(setting, self.roles.get(column), demanded, fields):
                    name = SETTINGS[setting]
                    before = fields.get(name) or {}
                    if not isinstance(before, Mapping):  # the same markers for all columns, as missing_values may have
                        qi = [one for one, role in self.roles.items() if role.startswith("quasi")]
                        before = dict.fromkeys(qi, before)
                    fields[name] = {**before, column: value}
        return fields

    @staticmethod
    def _applies(setting: str, role: str | None, demanded: bool, fields: Mapping[str, Any]) -> bool:
        known = role is None or role.startswith("quasi-identifier")
        if fields.get("dp") is not None:  # roles do not matter: the domain says what is released
            return setting in ("type", "format")
        if setting == "cell" and fields.get("release") != "strongly-safe":
            return False
        if setting == "models":
            return role == "sensitive"
        if setting in CODING:
            return known or role in ("sensitive", "other")
        return known or (role == "sensitive" and demanded and setting in OF_VALUES)

    @classmethod
    def of(cls, plan: Plan, columns: Sequence[str]) -> Draft:
        """Return the draft of a plan for a table with these columns."""
        given = {name: value for name, value in plain(plan).items() if value is not None}
        roles: dict[str, str] = {}
        for role, names in ROLES.items():
            if len(names) == 1:
                listed = given.pop(names[0], ())
                for column in [listed] if isinstance(listed, str) else listed:
                    both = column in roles and role == "sensitive"
                    roles[column] = "quasi-identifier+sensitive" if both else role
        settings: dict[str, dict[str, Any]] = {}
        for setting, name in SETTINGS.items():
            values = given.pop(name, {})
            if not isinstance(values, dict):
                given[name] = values
                continue
            for column, value in values.items():
                if column in columns:
                    settings.setdefault(column, {})[setting] = value
                else:  # what groups publish may also be given by type
                    given.setdefault(name, {})[column] = value
        for column in {*roles, *settings}:
            require_column(column, columns)
        return cls({name: roles[name] for name in columns if name in roles}, settings, given)

    def changed(self, changes: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Draft:
        """Return the draft with other roles and settings of columns; those that are None get their defaults."""
        roles, settings = dict(self.roles), {name: dict(one) for name, one in self.settings.items()}
        for change in changes:
            column = change["column"]
            require_column(column, columns)
            if "role" in change:
                role = change["role"]
                if role in ONE_COLUMN:  # there is one: the other column gets the role that it would have without
                    roles = {name: given for name, given in roles.items() if given != role}
                if role is None:
                    roles.pop(column, None)
                else:
                    roles[column] = role
            of_column = settings.setdefault(column, {})
            for setting in SETTINGS:
                if setting in change:
                    value = change[setting]
                    if value is None or value == []:
                        of_column.pop(setting, None)
                    else:
                        of_column[setting] = value
        kept = {name: one for name, one in settings.items() if one}
        return Draft({name: roles[name] for name in columns if name in roles}, kept, self.fields)

    def with_fields(self, fields: Mapping[str, Any], columns: Sequence[str]) -> Draft:
        """Return the draft with other fields of the plan; those that are None get their defaults."""
        for name in fields:
            if name not in Plan.model_fields:
                hint = near_names(name, Plan.model_fields, "see shoal.Plan.")
                raise OptionError("A plan must have the fields that are set. Got an unknown one.", hint)
        changed = dict(fields)
        for owner, belonging in BELONGS.items():
            if owner in fields and fields[owner] != self.fields.get(owner):
                changed = dict.fromkeys(belonging) | changed
        merged = {name: value for name, value in {**self.fields, **changed}.items() if value is not None}
        _refuse_foreign({name: value for name, value in fields.items() if value is not None}, merged)
        if any(name in _BY_COLUMN and not _for_all(name, value) for name, value in fields.items()):
            wanted = {name: value for name, value in {**self.plan().job(), **changed}.items() if value is not None}
            anew = Draft.of(Plan.of(**wanted), columns)
            return Draft(anew.roles, anew.settings, {**merged, **anew.fields})
        return Draft(self.roles, self.settings, merged)


def _refuse_foreign(given: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
    """Refuse, in the library's words, what is set for another kind of release than that of the draft."""
    if fields.get("dp") is None:
        Plan.of(**{name: value for name, value in given.items() if name in OF_PRIVACY})
    elif any(name not in WITH_PRIVACY for name in given):
        foreign = {name: value for name, value in given.items() if name not in WITH_PRIVACY}
        Plan.of(**{name: fields[name] for name in ("dp", "epsilon") if name in fields}, **foreign)


def _for_all(field: str, value: Any) -> bool:
    """Return whether a field that may have an entry for each column has values for all of them instead."""
    return field == "missing_values" and value is not None and not isinstance(value, Mapping)


def require_column(name: str, columns: Sequence[str]) -> None:
    """Refuse a name that no column has."""
    if name not in columns:
        hint = near_names(name, columns, "look at the table again.")
        raise OptionError("A column must be one of the table. Got another name.", hint)


def plain(plan: Plan) -> dict[str, Any]:
    """Return a plan as plain values; refuse one that JSON cannot hold."""
    try:
        fields = plan.job()
        json.dumps(fields, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        words = "A plan must hold texts and finite numbers only, nested a few levels deep. Got something else."
        raise OptionError(words) from None
    return fields


# Fields of a plan that are for the command line: the page makes releases in memory.
ENGINES = ("engine", "memory", "master")


def refuse_odd(plan: Plan, paths: bool, uploaded: Collection[str] = ()) -> None:
    """Refuse a plan that JSON cannot hold, for another engine, or that names files where only uploads may be named."""
    plain(plan)
    if plan.engine not in (None, "memory") or plan.memory is not None or plan.master is not None:
        # A master is an address, to which the server would send the data.
        raise OptionError(
            "A release of the page must be made in memory. Got a plan for another engine.",
            "leave out engine, memory and master, or run the job file with shoal anonymize.",
        )
    if not paths and any(name not in uploaded for name in _files_of(plan)):
        raise Fault(403, "A plan must not name files of the server here. Got one.", "upload the file instead.")


def _files_of(plan: Plan) -> list[str]:
    """Return the files that a plan names."""
    named: list[Any] = [plan.population, plan.domain]
    named += [one for one in plan.hierarchies.values() if not (isinstance(one, str) and built(one))]
    if isinstance(plan.domain, Mapping):
        columns = plan.domain.get("columns")
        described = columns.values() if isinstance(columns, Mapping) else ()
        named += [one.get("hierarchy") for one in described if isinstance(one, Mapping)]
    return [one for one in named if isinstance(one, str)]


def built(hierarchy: str) -> bool:
    """Return whether a hierarchy is built from values, and not read from a file."""
    return hierarchy == "prefixes" or hierarchy.startswith(("prefixes:", "widths:"))
