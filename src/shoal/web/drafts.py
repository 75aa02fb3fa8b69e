"""Drafts of plans: the roles and settings of columns as they are clicked together, and the plan that they make.

A draft keeps the settings of a column while it has another role, so that nothing is lost by trying one. The plan gets
those that its role allows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import OptionError, near_names
from shoal.plan import Plan
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
}
CODING = ("top", "bottom", "rounding")
# Those that describe values: of sensitive columns too, if models are demanded of them.
OF_VALUES = ("type", "levels", "hierarchy", "format", "missing_values")
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
        """Return the plan of this draft, or refuse it."""
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
                if self._applies(setting, self.roles.get(column), demanded):
                    name = SETTINGS[setting]
                    before = fields.get(name) or {}
                    if not isinstance(before, Mapping):  # the same markers for all columns, as missing_values may have
                        qi = [one for one, role in self.roles.items() if role.startswith("quasi")]
                        before = dict.fromkeys(qi, before)
                    fields[name] = {**before, column: value}
        return Plan.of(**fields)

    @staticmethod
    def _applies(setting: str, role: str | None, demanded: bool) -> bool:
        known = role is None or role.startswith("quasi-identifier")
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
        if any(name in _BY_COLUMN for name in fields):
            merged = {name: value for name, value in {**self.plan().job(), **fields}.items() if value is not None}
            return Draft.of(Plan.of(**merged), columns)
        kept = {name: value for name, value in {**self.fields, **fields}.items() if value is not None}
        return Draft(self.roles, self.settings, kept)


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


def refuse_odd(plan: Plan, paths: bool) -> None:
    """Refuse a plan that JSON cannot hold, that the page cannot carry out, or that names files it must not name."""
    plain(plan)
    if plan.dp is not None:
        raise OptionError(
            "The page makes releases of groups of k records. Got a plan for a differentially private one.",
            "use shoal anonymize --dp.",
        )
    named = [one for one in plan.hierarchies.values() if isinstance(one, str) and not built(one)]
    if not paths and (named or plan.population is not None):
        raise Fault(403, "A plan must not name files of the server here. Got one.", "upload the file instead.")


def built(hierarchy: str) -> bool:
    """Return whether a hierarchy is built from values, and not read from a file."""
    return hierarchy == "prefixes" or hierarchy.startswith(("prefixes:", "widths:"))
