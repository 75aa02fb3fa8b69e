"""The plan of a release: what Python, the command line and job files all build.

Its fields are the keywords of :func:`shoal.anonymize`, the keys of a job file and, with dashes, the options of the
command line. A plan is frozen; the same plan on the same table gives the same release.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from shoal.errors import OptionError, near_names

Kind = Literal["continuous", "integer", "ordinal", "nominal", "hierarchical", "boolean", "date", "datetime", "place"]
Form = Literal["microaggregation", "local-recoding", "global-recoding", "strongly-safe"]
Way = Literal["best", "repair", "growth", "merge", "k-first", "t-first", "mondrian"]
Marker = str | int | float
Names = tuple[str, ...]

KINDS: tuple[str, ...] = get_args(Kind)
FORMS: tuple[str, ...] = get_args(Form)
# Cells that are no numbers.
CELLS = ("value", "*", "month", "year")

# Names that users of sdcMicro bring along, and the field each of them adds to.
SDCMICRO = {
    "keyVars": "quasi_identifiers",
    "numVars": "quasi_identifiers",
    "sensibleVar": "sensitive_attributes",
    "weightVar": "weight",
    "hhId": "unit",
    "strataVar": "stratum",
    "excludeVars": "identifiers",
    "aggr": "k",
}


class Plan(BaseModel):
    """What is to be released, and how.

    Attributes
    ----------
    k : int
        Least number of records (of units, if `unit` is given) that share their published quasi-identifiers.
    quasi_identifiers : names or None
        What others may know about a person. None: every column without another role.
    sensitive_attributes, other : names
        Passed on as they are. A column may be quasi-identifier and sensitive: it is published as the former.
    l : int or None
        Least number of different values of every sensitive attribute in every group (distinct l-diversity). Of one that
        is a quasi-identifier too, neither this nor `t` says anything, and that is warned of.
    t : float or None
        Greatest distance, from 0 to 1, of the distribution of every sensitive attribute in any group from that in the
        whole table (t-closeness). Numbers, dates and levels are compared by their order, values with a hierarchy by
        the height at which they meet, others as equal or not.
    models : {sensitive attribute: model or models}
        Others, or for some attributes only, such as ``{"disease": "entropy-diversity l=3"}``: see
        ``shoal.privacy.models.MODELS``.
    enforcement : str or None
        How groups come to satisfy `l`, `t` and `models`. "best" tries what fits and takes the lowest loss; "repair"
        mends the groups of `method`; "growth", "merge", "k-first", "t-first" and "mondrian" make groups of their own.
        None: "best" if the method is "auto", else "repair". With "global-recoding", groups are only merged.
    population : file or None
        A table of those who may be in the table, with the same quasi-identifiers, for `k_map` and `presence`.
    k_map : int or None
        Least number of people of the population that match what is published of any record.
    presence : (low, high) or None
        Within which the share of a group's matching people in the population must lie that are in the table.
    identifiers : names
        Dropped.
    weight : name or None
        Sampling weights: they enter means and losses, not k. Passed on.
    unit : name or None
        Whose row it is, a person or a household: k counts different ones. Dropped.
    stratum : names
        Groups never cross strata. Passed on, and counted among what others may know.
    places : pairs of names
        Latitude and longitude in degrees: one attribute.
    types : {name: kind}
        Inferred where not said.
    levels : {name: values}
        Of ordinal attributes, lowest first.
    hierarchies : {name: hierarchy}
        A file, a :class:`shoal.Hierarchy`, nested lists or mappings, ``{"prefixes": [2, 3]}`` or
        ``{"widths": [5, 10, 20]}``.
    importance : {name: float}
        What squared distances of an attribute are multiplied by.
    representatives : {name or kind: how}
        What a group publishes; see ``shoal.tables.representatives.REPRESENTATIVES``.
    trim : float
        Share of a group that a trimmed mean leaves out at either end, rounded down to whole records.
    digits : {name: int}
        Decimal places of what is published of a continuous attribute; as many as it has if not said.
    formats : {name: pattern}
        How dates are written in text, such as ``"%d/%m/%Y"``.
    coordinates : int
        Most coordinates of a nominal or hierarchical attribute. One that would take more, such as thousands of
        postcodes, is projected to so many directions, always the same ones: its distances are then kept on average,
        each to about sqrt(2 / coordinates), and this is said.
    missing : "value", "error" or "drop"
        A missing value is a value; or there must be none; or such rows are dropped.
    missing_values : values, or {name: values}
        What stands for a missing value besides an empty field; nothing else does.
    release : str
        "microaggregation" publishes typical values, "local-recoding" ranges and ancestors, "global-recoding" the same
        without ever separating equal records, "strongly-safe" the cell of each record: cells do not depend on the data,
        and records of cells with fewer than k of them are removed.
    cells : {name: cell}
        Of a strongly-safe release. Of numbers the width, the first cell beginning at 0; of dates the width in days, or
        "month" or "year"; of values with a hierarchy the number of levels to go up. "value" leaves a value as it is,
        "*" says nothing. Where not said: one level up with a hierarchy, "value" for other categories; of numbers and
        dates they must be said.
    blocks : "joint", "each" or lists of names
        Which attributes are grouped together. With more than one block, k holds for each block only.
    small_strata : "error" or "merge"
        What is done about strata of fewer than k records.
    method, options, refine : str, {name: value}, str or None
        See :func:`shoal.partition`.
    random_state : int or None
        Seed of a method that draws at random; of "auto" it is 0 if not said.
    n_jobs : int or None
        Threads; all cores by default.
    time_limit : float or None
        About how many seconds the method "auto", "anytime" or "exact", or the refinement "anytime", may take. None:
        "auto" takes 10 at most, and 100 more for every million rows, "anytime" a minute, "exact" ten; models of privacy
        take more, as much as they need. A search that is ended by the clock may give other groups another time.
    bound : "none", "quick" or "lp"
        How hard to look for a lower bound on the loss, which says how far from the best possible it is at most. "quick"
        is rough, and left out for tables on which it would take longer than the method may; "lp" is far better for some
        thousands of rows, and takes at most `time_limit` seconds of its own (None: 60). There is none with weights.
    shuffle : bool
        Whether rows are published in a random order. It is drawn anew each time and kept nowhere: whoever knew it
        could undo it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=False)

    k: int = Field(5, ge=2)
    quasi_identifiers: Names | None = None
    sensitive_attributes: Names = ()
    identifiers: Names = ()
    other: Names = ()
    l: int | None = Field(None, ge=2)  # noqa: E741 - the name that everybody knows
    t: float | None = Field(None, ge=0, le=1)
    models: dict[str, Names] = {}
    enforcement: Way | None = None
    population: str | None = None
    k_map: int | None = Field(None, ge=2)
    presence: tuple[float, float] | None = None
    weight: str | None = None
    unit: str | None = None
    stratum: Names = ()
    places: tuple[tuple[str, str], ...] = ()
    types: dict[str, Kind] = {}
    levels: dict[str, tuple[Marker, ...]] = {}
    hierarchies: dict[str, str | dict[str, Any] | list[Any]] = {}
    importance: dict[str, float] = {}
    representatives: dict[str, str] = {}
    trim: float = Field(0.2, ge=0, lt=0.5)
    digits: dict[str, int] = {}
    formats: dict[str, str] = {}
    coordinates: int = Field(128, ge=1)
    missing: Literal["value", "error", "drop"] = "value"
    missing_values: tuple[Marker, ...] | dict[str, tuple[Marker, ...]] = ()
    release: Form = "microaggregation"
    cells: dict[str, int | float | str] = {}
    blocks: Literal["joint", "each"] | tuple[Names, ...] = "joint"
    small_strata: Literal["error", "merge"] = "error"
    method: str = "auto"
    options: dict[str, Any] = {}
    refine: str | None = None
    time_limit: float | None = Field(None, gt=0)
    bound: Literal["none", "quick", "lp"] = "quick"
    random_state: int | None = Field(None, ge=0)
    n_jobs: int | None = -1
    shuffle: bool = False

    @field_validator(
        "quasi_identifiers", "sensitive_attributes", "identifiers", "other", "stratum", "missing_values", mode="before"
    )
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        """A single name stands for a list of one."""
        return (value,) if isinstance(value, str) else value

    @field_validator("models", mode="before")
    @classmethod
    def _as_texts(cls, value: Any) -> Any:
        """A model in hand is kept as its text, and one stands for a list of one."""
        if not isinstance(value, dict):
            return value
        lists = {name: many if isinstance(many, list | tuple) else (many,) for name, many in value.items()}
        return {name: tuple(str(one) for one in many) for name, many in lists.items()}

    @field_validator("presence")
    @classmethod
    def _rising(cls, value: tuple[float, float] | None) -> tuple[float, float] | None:
        if value is not None and not 0 <= value[0] <= value[1] <= 1:
            raise ValueError("must be two shares from 0 to 1, the lower one first")
        return value

    @field_validator("levels", "missing_values", mode="before")
    @classmethod
    def _no_truth_values(cls, value: Any) -> Any:
        """Unquoted yes and no are true and false in YAML, which no column holds as written."""
        lists = value.values() if isinstance(value, dict) else (value,)
        if any(isinstance(one, bool) for many in lists if isinstance(many, list | tuple) for one in many):
            raise ValueError("must be texts and numbers: put yes and no, true and false into quotes")
        return value

    @field_validator("hierarchies", mode="before")
    @classmethod
    def _as_plain_values(cls, value: Any) -> Any:
        """A hierarchy in hand is kept as its paths, with the lengths of its edges where they differ from 1."""
        if not isinstance(value, dict):
            return value
        return {name: one.to_plain() if hasattr(one, "to_plain") else one for name, one in value.items()}

    @field_validator("digits")
    @classmethod
    def _digits(cls, value: dict[str, int]) -> dict[str, int]:
        if any(not 0 <= digits <= 15 for digits in value.values()):
            raise ValueError("must be whole numbers from 0 to 15")
        return value

    @field_validator("cells", mode="before")
    @classmethod
    def _cells(cls, value: Any) -> Any:
        for cell in value.values() if isinstance(value, dict) else ():
            number = isinstance(cell, int | float) and not isinstance(cell, bool) and 0 < cell < float("inf")
            if not number and cell not in CELLS:
                raise ValueError(f"must be numbers above 0, or one of {', '.join(map(repr, CELLS))}")
        return value

    @field_validator("importance")
    @classmethod
    def _importance(cls, value: dict[str, float]) -> dict[str, float]:
        if any(not 0 <= x < float("inf") for x in value.values()):
            raise ValueError("must be finite numbers from 0 on")
        return value

    @model_validator(mode="after")
    def _one_role_each(self) -> Plan:
        """A column has one role, but a quasi-identifier may be sensitive too."""
        seen: dict[str, str] = {}
        for role in ("quasi_identifiers", "identifiers", "other", "weight", "unit", "stratum", "sensitive_attributes"):
            named = getattr(self, role) or ()
            for name in (named,) if isinstance(named, str) else named:
                before = seen.get(name)
                if before is not None and (before, role) != ("quasi_identifiers", "sensitive_attributes"):
                    raise ValueError(f"the column {name!r} is given two roles: {before} and {role}")
                seen[name] = role
        for name in self.models:
            if seen.setdefault(name, "sensitive_attributes") != "sensitive_attributes":
                raise ValueError(f"the column {name!r} has models, so it must be sensitive only, not {seen[name]}")
        for name in (half for pair in self.places for half in pair):
            before = seen.get(name)
            if before not in (None, "quasi_identifiers", "sensitive_attributes"):
                raise ValueError(f"the column {name!r} is given two roles: {before} and places")
            seen[name] = "places"
        return self

    @model_validator(mode="after")
    def _about_something(self) -> Plan:
        """What is demanded of sensitive attributes needs one, and what is counted in a population needs that."""
        for model in ("l", "t"):
            if getattr(self, model) is not None and not self.demanded_of:
                raise ValueError(f"{model} is about sensitive attributes that are not quasi-identifiers, and none is")
        if self.enforcement is not None and not self.has_demands:
            raise ValueError("the enforcement is of l, t and models, and none of them is said")
        counted = self.k_map is not None or self.presence is not None
        if counted != (self.population is not None):
            raise ValueError("k_map and presence need a population, and a population needs one of them")
        return self

    @property
    def demanded_of(self) -> Names:
        """Return the sensitive attributes that `l`, `t` and `models` are about."""
        known = self.quasi_identifiers or ()
        return tuple(dict.fromkeys([*(n for n in self.sensitive_attributes if n not in known), *self.models]))

    @property
    def has_demands(self) -> bool:
        """Return whether anything is demanded of sensitive attributes."""
        return self.l is not None or self.t is not None or bool(self.models)

    @classmethod
    def of(cls, **fields: Any) -> Plan:
        """Return the plan with these fields; sdcMicro's names are taken too.

        Raises
        ------
        OptionError
            That says which field is wrong and why.
        """
        fields = _house_names(fields)
        for name in fields:
            if name not in cls.model_fields:
                raise OptionError(
                    f"A plan has no field {name!r}.", hint=near_names(name, cls.model_fields, "see shoal.Plan.")
                )
        try:
            return cls.model_validate(fields)
        except ValidationError as error:
            raise OptionError(*_in_our_words(error)) from None

    def job(self) -> dict[str, Any]:
        """Return the fields that differ from their defaults, as plain values for JSON, YAML and TOML."""
        said = self.model_dump(mode="json", exclude_defaults=True)
        return {"k": self.k, **said}

    def to_yaml(self) -> str:
        """Return the plan as a job file."""
        return yaml_of(self.job())


def yaml_of(said: Mapping[str, Any]) -> str:
    """Return plain values as YAML."""
    import yaml

    plain = json.dumps(said, ensure_ascii=False).isprintable()  # PyYAML does not read all that it writes otherwise
    return yaml.safe_dump(dict(said), sort_keys=False, allow_unicode=plain, default_flow_style=None, width=100)


def _house_names(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with sdcMicro's names replaced."""
    found = {name: value for name, value in fields.items() if name not in SDCMICRO}
    for name, ours in SDCMICRO.items():
        if name not in fields or fields[name] is None:
            continue
        value = fields[name]
        if ours in ("k", "weight", "unit"):
            if ours in found:
                raise OptionError(f"The plan says both {ours!r} and {name!r}, sdcMicro's name for it.")
            found[ours] = value[0] if isinstance(value, list | tuple) and len(value) == 1 else value
        else:
            names = [value] if isinstance(value, str) else list(value)
            before = found.get(ours) or ()
            found[ours] = [before] if isinstance(before, str) else list(before)
            found[ours] += [one for one in names if one not in found[ours]]
    return found


def _in_our_words(error: ValidationError) -> tuple[str, str | None]:
    """Return the message and the hint of the first thing that is wrong."""
    first = error.errors(include_url=False)[0]
    place = [str(part) for part in first["loc"] if not (isinstance(part, str) and "[" in part)]
    field = place[0] if place else ""
    words = first["msg"].removeprefix("Value error, ")
    words = words.replace("Input should be", "must be").rstrip(".")
    words = words.replace("greater than or equal to", "at least").replace("less than or equal to", "at most")
    if not field:
        return f"In this plan {words}.", "name each column once."
    named = f"The {field!r} of a plan" if len(place) == 1 else f"The {field!r} of a plan, at {place[1]!r},"
    got = first.get("input")
    got = f" Got {got!r}." if isinstance(got, str | int | float) else ""
    known = KINDS if field == "types" else FORMS if field == "release" else ()
    hint = near_names(first.get("input"), known, f"one of {', '.join(known)}.") if known else None
    return f"{named} {words}.{got}", hint
