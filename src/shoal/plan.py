"""The plan of a release: what Python, the command line and job files all build.

Its fields are the keywords of :func:`shoal.anonymize`, the keys of a job file and, with dashes, the options of the
command line. A plan is frozen; the same plan on the same table gives the same release.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from math import isfinite
from typing import Any, Literal, Unpack, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator

from shoal.errors import OptionError, near_names
from shoal.fields import COMMAND_LINE, MEANT, OF_ONE_TYPE, SDCMICRO, AllFields, F, shows_fields, with_our_names
from shoal.frozen import frozen

Kind = Literal["continuous", "integer", "ordinal", "nominal", "hierarchical", "boolean", "date", "datetime", "place"]
Form = Literal["microaggregation", "local-recoding", "global-recoding", "full-domain", "strongly-safe"]
Way = Literal["best", "repair", "growth", "merge", "k-first", "t-first", "mondrian"]
Marker = str | int | float
Names = tuple[str, ...]

KINDS: tuple[str, ...] = get_args(Kind)
FORMS: tuple[str, ...] = get_args(Form)
# Forms that group records by cells, without a method.
WITHOUT_METHOD = ("full-domain", "strongly-safe")
# Cells that are not numbers.
PERIODS = ("month", "year")
# Fields of differential privacy, and those that may be given with them.
OF_PRIVACY = ("epsilon", "delta", "domain")
WITH_PRIVACY = (
    *("dp", *OF_PRIVACY, "options"),
    *("identifiers", "drop", "unit", "types", "formats", "thousands", "n_jobs"),
)
CELLS = ("value", "*", *PERIODS)


class Plan(BaseModel):
    """What to release, and how.

    Attributes
    ----------
    k : int
        Smallest number of records (of units, if `unit` is given) that share their published quasi-identifiers.
    quasi_identifiers : names or None
        Columns that others may know about a person. None: every column without another role (see `rest`).
    sensitive_attributes, other : names
        Published unchanged. A column may be both a quasi-identifier and sensitive: it is published as a
        quasi-identifier.
    l : int or None
        Smallest number of different values of every sensitive attribute in every group (distinct l-diversity). Neither
        `l` nor `t` applies to a sensitive attribute that is also a quasi-identifier; Shoal warns of this.
    t : float or None
        Largest distance, from 0 to 1, between the distribution of a sensitive attribute in a group and that in the
        whole table (t-closeness). Numbers, dates and levels are compared by their order, values with a hierarchy by
        the height at which they meet, all others as equal or different.
    models : {sensitive attribute: model or models}
        Other privacy models, or models for some attributes only, such as ``{"disease": "entropy-diversity l=3"}``: see
        ``shoal.privacy.models.MODELS``.
    enforcement : str or None
        How groups are made to satisfy `l`, `t` and `models`. "best" tries all that apply and takes the lowest loss;
        "repair" changes the groups of `method`; "growth", "merge", "k-first", "t-first" and "mondrian" form groups of
        their own. None: "best" if the method is "auto", else "repair". With "global-recoding", groups are only merged.
    population : file or None
        A table of people who may be in the released table, with the same quasi-identifiers, for `k_map` and `presence`.
    k_map : int or None
        Smallest number of people in the population that match the published values of a record.
    presence : (low, high) or None
        Allowed range for the share of matching people in the population, in any group, that are in the table.
    identifiers : names
        Dropped.
    drop : names
        Dropped, like identifiers: columns that are not to be published, whatever they hold.
    rest : "qi", "other", "drop" or None
        The role of every column that has no other: a quasi-identifier, published unchanged, or dropped. None: "qi" if
        no quasi-identifiers are named. Otherwise such columns are published unchanged if the wanted k holds for the
        quasi-identifiers together with them; if it does not, the release is refused.
    weight : name or None
        Sampling weights, used in means and losses but not in k. Published unchanged.
    unit : name or None
        The person or household that a row belongs to: k counts different units. Dropped.
    stratum : names
        Groups never cross strata. Published unchanged, and counted among what others may know.
    places : pairs of names
        Latitude and longitude in degrees, treated as one attribute.
    types : {name: kind}
        Types of quasi-identifiers; the others are inferred.
    levels : {name: values}
        Values of ordinal attributes, lowest first.
    hierarchies : {name: hierarchy}
        A file, a :class:`shoal.Hierarchy`, nested lists or mappings, ``{"prefixes": [2, 3]}`` or
        ``{"widths": [5, 10, 20]}``.
    importance : {name: float}
        Factors by which the squared distances of attributes are multiplied.
    representatives : {name or kind: how}
        What a group publishes; see ``shoal.tables.representatives.REPRESENTATIVES``.
    trim : float
        Share of a group that a trimmed mean leaves out at either end, rounded down to whole records.
    digits : {name: int}
        Decimal places of the published values of continuous attributes. Default: as many as the attribute has.
    outward : {name: step}
        For intervals of numbers and dates: their ends are multiples of the step (in days for dates, or "month" or
        "year") instead of values of members: ``[30, 45)`` with the step 5.
    formats : {name: pattern}
        Formats of dates in text, such as ``"%d/%m/%Y"``.
    thousands : str or None
        The mark between thousands of numbers in text, such as ``","`` in 1,234. None: recognised if it cannot be
        anything else.
    coordinates : int
        Largest number of coordinates of a nominal or hierarchical attribute. An attribute that needs more, such as
        thousands of postcodes, is projected onto this number of directions, always the same ones. Its distances are
        then preserved on average, each to within about sqrt(2 / coordinates); a note tells you so. The loss is measured
        in true distances all the same.
    missing : "value", "error" or "drop"
        Whether missing values are treated as values, are refused, or have their rows dropped.
    missing_values : values, or {name: values}
        Values of quasi-identifiers that stand for a missing value. Otherwise, only empty fields are missing.
    top_coding, bottom_coding : {name: number or date}
        Before anything else, values of a column above (below) this one are replaced by it. Dates are written as in
        ``"1990-12-31"``. For quasi-identifiers, and for other columns that are published.
    rounding : {name: step}
        Before anything else, the numbers of a column are rounded to the nearest multiple of the step, halves upwards;
        then come `top_coding` and `bottom_coding`.
    release : str
        "microaggregation" publishes typical values, "local-recoding" ranges and ancestors, "global-recoding" the same
        without ever separating equal records, "full-domain" one level of the hierarchy of each column for all records,
        "strongly-safe" the cell of each record: cells do not depend on the data, and records of cells with fewer than k
        records are removed.
    suppress : float
        Largest share of the records, from 0 to below 1, that may be left out of the release: those whose removal lowers
        the loss of the others most.
    cells : {name: cell}
        Cells of a strongly-safe release. For numbers, a width, with a cell beginning at 0; for dates, a width in days,
        "month" or "year"; for values with a hierarchy, a number of levels to go up. "value" publishes the value itself,
        "*" suppresses it. Default: one level up with a hierarchy, "value" for other categories; cells of numbers and
        dates have no default.
    blocks : "joint", "each" or lists of names
        Which attributes are grouped together. With several blocks, k holds within each block only.
    small_strata : "error" or "merge"
        What to do with strata of fewer than k records.
    method, options, refine : str, {name: value}, str or None
        See :func:`shoal.partition`.
    random_state : int or None
        Seed of a method that uses random numbers. None is 0 for "auto".
    n_jobs : int or None
        Number of threads; all cores by default.
    time_limit : float or None
        Approximate number of seconds that the method "auto", "anytime" or "exact", or the refinement "anytime", may
        take. None: 10 for "auto", and 100 more per million rows; one minute for "anytime"; ten minutes for "exact".
        Privacy models and units take their part of it, at least a fifth. A search that is stopped by the clock may
        give different groups in another run.
    bound : "none", "quick" or "lp"
        How to compute a lower bound on the loss, which limits how far the loss is above the best possible. "quick" is
        rough, and is skipped for tables on which it would take longer than the method may; "lp" is much better for some
        thousands of rows, and takes up to `time_limit` seconds of its own (None: 60). With weights, there is no bound.
    dp : str or None
        A differentially private release in place of groups: see ``shoal.dp.releases()``. It makes new rows from noisy
        answers about the table; `options` are those of this release. None: groups of at least k.
    epsilon : float or None
        The budget of a differentially private release: no output becomes more than exp(epsilon) times as likely by one
        record.
    delta : float
        Probability that is exempt from this, for the releases that need one.
    domain : file, {name: values} or None
        Which columns are released with `dp`, and the values that they can have: see :class:`shoal.dp.Domain`.
    shuffle : bool
        Whether to publish the rows in random order. The order is drawn anew each time and stored nowhere, because it
        could be used to undo the shuffling.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=False, validate_default=True)

    k: int = Field(5, ge=2)
    quasi_identifiers: Names | None = None
    sensitive_attributes: Names = ()
    identifiers: Names = ()
    other: Names = ()
    drop: Names = ()
    rest: Literal["qi", "other", "drop"] | None = None
    l: int | None = Field(None, ge=2)  # noqa: E741 - the usual name
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
    outward: dict[str, int | float | str] = {}
    formats: dict[str, str] = {}
    thousands: Literal[",", ".", " ", "'", "\u2019", "\u00a0", "\u202f", "\u2009"] | None = None
    coordinates: int = Field(128, ge=1)
    missing: Literal["value", "error", "drop"] = "value"
    missing_values: tuple[Marker, ...] | dict[str, tuple[Marker, ...]] = ()
    top_coding: dict[str, int | float | str] = {}
    bottom_coding: dict[str, int | float | str] = {}
    rounding: dict[str, int | float] = {}
    release: Form = "microaggregation"
    suppress: float = Field(0.0, ge=0, lt=1)
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
    dp: str | None = None
    epsilon: float | None = Field(None, gt=0, allow_inf_nan=False)
    delta: float = Field(0.0, ge=0, lt=1)
    domain: str | dict[str, Any] | None = None
    shuffle: bool = False

    @field_validator(
        *("quasi_identifiers", "sensitive_attributes", "identifiers", "other", "drop", "stratum", "missing_values"),
        mode="before",
    )
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        """Turn a single name into a tuple."""
        return (value,) if isinstance(value, str) else value

    @field_validator("models", mode="before")
    @classmethod
    def _as_texts(cls, value: Any) -> Any:
        """Turn models into tuples of their texts."""
        if not isinstance(value, dict):
            return value
        lists = {name: many if isinstance(many, list | tuple) else (many,) for name, many in value.items()}
        return {name: tuple(str(one) for one in many) for name, many in lists.items()}

    @field_validator("presence", mode="before")
    @classmethod
    def _rising(cls, value: Any) -> Any:
        """Return two shares; whatever else was given is refused in one way."""
        if value is None:
            return None
        try:
            low, high = (float(one) for one in value)
            if isinstance(value, list | tuple) and 0 <= low <= high <= 1:
                return low, high
        except (TypeError, ValueError):
            pass
        raise ValueError("must be two shares from 0 to 1, the lower one first")

    @field_validator("levels", "missing_values", mode="before")
    @classmethod
    def _no_truth_values(cls, value: Any) -> Any:
        """Refuse truth values: YAML reads an unquoted yes or no as one, while the column contains the word."""
        lists = value.values() if isinstance(value, dict) else (value,)
        if any(isinstance(one, bool) for many in lists if isinstance(many, list | tuple) for one in many):
            raise ValueError("must be texts and numbers: put yes, no, true and false into quotes")
        return value

    @field_validator("hierarchies", mode="before")
    @classmethod
    def _as_plain_values(cls, value: Any) -> Any:
        """Turn hierarchies into their paths, with the lengths of edges that differ from 1."""
        if not isinstance(value, dict):
            return value
        return {name: one.to_plain() if hasattr(one, "to_plain") else one for name, one in value.items()}

    @field_validator("domain", mode="before")
    @classmethod
    def _as_plain_domain(cls, value: Any) -> Any:
        """Turn a domain into the values that describe it; columns alone are a domain too."""
        plain = value.to_plain() if hasattr(value, "to_plain") else value
        return {"columns": plain} if isinstance(plain, dict) and plain and "columns" not in plain else plain

    @field_validator("*")
    @classmethod
    def _frozen(cls, value: Any) -> Any:
        """Return a copy that nobody can change, as what is certified is what was planned."""
        return frozen(value)

    @field_validator("digits")
    @classmethod
    def _digits(cls, value: dict[str, int]) -> dict[str, int]:
        if any(not 0 <= digits <= 15 for digits in value.values()):
            raise ValueError("must be whole numbers from 0 to 15")
        return value

    @field_validator("cells", "outward", mode="before")
    @classmethod
    def _cells(cls, value: Any, info: ValidationInfo) -> Any:
        words = CELLS if info.field_name == "cells" else PERIODS
        for cell in value.values() if isinstance(value, dict) else ():
            number = isinstance(cell, int | float) and not isinstance(cell, bool) and 0 < cell < float("inf")
            if not number and cell not in words:
                raise ValueError(f"must be numbers above 0, or one of {', '.join(map(repr, words))}")
        return value

    @field_validator("top_coding", "bottom_coding", mode="before")
    @classmethod
    def _limits(cls, value: Any) -> Any:
        """Turn dates, as YAML and TOML have them, into texts; refuse what is neither a number nor a date."""
        if not isinstance(value, dict):
            return value
        limits = {name: one.isoformat() if isinstance(one, date) else one for name, one in value.items()}
        if not all(is_limit(one) for one in limits.values()):
            raise ValueError("must be finite numbers, or dates such as '1990-12-31'")
        return limits

    @field_validator("rounding", mode="before")
    @classmethod
    def _steps(cls, value: Any) -> Any:
        for step in value.values() if isinstance(value, dict) else ():
            if isinstance(step, str) or not is_limit(step) or step <= 0:
                raise ValueError("must be numbers above 0")
        return value

    @field_validator("importance")
    @classmethod
    def _importance(cls, value: dict[str, float]) -> dict[str, float]:
        if any(not 0 <= x < float("inf") for x in value.values()):
            raise ValueError("must be finite numbers of at least 0")
        return value

    @model_validator(mode="after")
    def _one_role_each(self) -> Plan:
        """Refuse columns with two roles, except quasi-identifiers that are also sensitive."""
        seen: dict[str, str] = {}
        first = ("quasi_identifiers", "identifiers", "other", "drop", "weight", "unit", "stratum")
        for role in (*first, "sensitive_attributes"):
            named = getattr(self, role) or ()
            for name in (named,) if isinstance(named, str) else named:
                before = seen.get(name)
                if before is not None and (before, role) != ("quasi_identifiers", "sensitive_attributes"):
                    raise ValueError(f"the column {name!r} is given two roles: {before} and {role}")
                seen[name] = role
        for name in self.models:
            if name in self._known:
                seen[name] = "quasi_identifiers"
            if seen.setdefault(name, "sensitive_attributes") != "sensitive_attributes":
                raise ValueError(f"the column {name!r} has models, so it must be sensitive only, not {seen[name]}")
        for name in (half for pair in self.places for half in pair):
            before = seen.get(name)
            if before not in (None, "quasi_identifiers", "sensitive_attributes"):
                raise ValueError(f"the column {name!r} is given two roles: {before} and places")
            seen[name] = "places"
        return self

    @model_validator(mode="after")
    def _complete_demands(self) -> Plan:
        """Refuse demands without a sensitive attribute, and a population without a demand on it or the reverse."""
        for model in ("l", "t"):
            if getattr(self, model) is not None and not self.demanded_of:
                got = "only some that are both" if self.sensitive_attributes else "none"
                raise OptionError(
                    f"The {model!r} of a plan must be about a sensitive attribute that is not a quasi-identifier. "
                    f"Got {got}.",
                    hint="name it with sensitive_attributes (--sensitive).",
                )
        if self.enforcement is not None and not self.has_demands:
            raise OptionError(
                "The 'enforcement' of a plan must have something to enforce. Got none of l (--l), t (--t) and "
                "models (--model)."
            )
        counted = self.k_map is not None or self.presence is not None
        if counted != (self.population is not None):
            missing = "a population (--population)" if counted else "k_map (--k-map) or presence (--presence)"
            given = "k_map" if self.k_map is not None else "presence" if counted else "population"
            raise OptionError(f"The {given!r} of a plan must come with {missing}. Got none.")
        return self

    @model_validator(mode="after")
    def _private_or_not(self) -> Plan:
        """Refuse fields of differential privacy without it, and with it, fields that are about groups."""
        if self.dp is None:
            given = [name for name in OF_PRIVACY if getattr(self, name) != type(self).model_fields[name].default]
            if given:
                raise OptionError(f"The {given[0]!r} of a plan must come with dp (--dp). Got none.")
            return self
        foreign = [name for name in self.model_fields_set if name not in WITH_PRIVACY]
        for name in sorted(foreign, key=list(type(self).model_fields).index):
            # What was set to its default asks for nothing, but a k is always a promise.
            if name == "k" or getattr(self, name) != type(self).model_fields[name].default:
                raise OptionError(
                    f"The {name!r} of a plan cannot be combined with dp. Got both.",
                    hint="a private release has new rows and no groups: epsilon and domain say what it may tell.",
                )
        if self.epsilon is None:
            raise OptionError("The 'epsilon' of a plan must be given with dp. Got none.", hint="1 is a usual value.")
        return self

    @model_validator(mode="after")
    def _bottom_below_top(self) -> Plan:
        """Refuse a top that is not above the bottom of the same column, and a number beside a date."""
        for name in self.top_coding.keys() & self.bottom_coding.keys():
            low, high = self.bottom_coding[name], self.top_coding[name]
            if isinstance(low, str) != isinstance(high, str):
                raise ValueError(f"the top and the bottom of the column {name!r} must both be numbers or both be dates")
            rising = moment_of(low) < moment_of(high) if isinstance(low, str) else low < float(high)
            if not rising:
                raise ValueError(f"the top of the column {name!r} must be above its bottom")
        return self

    @property
    def coded(self) -> Names:
        """Return the columns with top coding, bottom coding or rounding."""
        return tuple(dict.fromkeys([*self.rounding, *self.top_coding, *self.bottom_coding]))

    @property
    def demanded_of(self) -> Names:
        """Return the sensitive attributes to which `l`, `t` and `models` apply."""
        known = self._known
        return tuple(dict.fromkeys([*(n for n in self.sensitive_attributes if n not in known), *self.models]))

    @property
    def _known(self) -> set[str]:
        """Return the columns that are declared to be quasi-identifiers."""
        return {*(self.quasi_identifiers or ()), *(half for pair in self.places for half in pair)}

    @property
    def has_demands(self) -> bool:
        """Return whether there are demands on sensitive attributes."""
        return self.l is not None or self.t is not None or bool(self.models)

    @classmethod
    def of(cls, **fields: Unpack[AllFields]) -> Plan:
        """Return the plan with these fields, which may have sdcMicro's names or those of the command line.

        ``nominal=[..]``, ``ordinal=[..]`` and ``continuous=[..]`` list columns of these types.

        Raises
        ------
        OptionError
            If a field is unknown or wrong.
        """
        return cls._checked(dict(fields), quoting=True)

    @classmethod
    def of_job(cls, fields: dict[str, Any]) -> Plan:
        """Return the plan with the fields of a job file; errors do not quote what the file holds.

        A file that was named by mistake may hold records.
        """
        return cls._checked(fields, quoting=False)

    @classmethod
    def _checked(cls, fields: dict[str, Any], *, quoting: bool) -> Plan:
        for name in fields:
            if name not in (*cls.model_fields, *COMMAND_LINE, *SDCMICRO, *OF_ONE_TYPE):
                known = (MEANT[name],) if name in MEANT else (*cls.model_fields, *COMMAND_LINE, *OF_ONE_TYPE)
                raise OptionError(
                    f"A plan has no field {name!r}.", hint=near_names(MEANT.get(name, name), known, "see shoal.Plan.")
                )
        try:
            return cls.model_validate(with_our_names(fields))
        except ValidationError as error:
            raise OptionError(*_message_and_hint(error, quoting)) from None
        except RecursionError:
            raise OptionError("A plan must be nested a few levels deep at most. Got far more.") from None

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Plan:
        """Return a copy with other values for some fields, which are not validated."""
        return super().model_copy(update=frozen(update or {}), deep=deep)

    def job(self) -> dict[str, Any]:
        """Return the fields that differ from their defaults, as plain values for JSON, YAML and TOML."""
        changed = self.model_dump(mode="json", exclude_defaults=True)
        return changed if self.dp is not None else {"k": self.k, **changed}

    def to_yaml(self) -> str:
        """Return the plan as a job file."""
        return yaml_of(self.job())


def is_limit(value: Any) -> bool:
    """Return whether a value is a finite number or the text of a date."""
    if isinstance(value, str):
        try:
            moment_of(value)
        except ValueError:
            return False
        return True
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def moment_of(text: Any) -> datetime:
    """Return the moment of a date in ISO format; without a time zone, it is in UTC."""
    moment = datetime.fromisoformat(str(text))
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def with_fields(function: F) -> F:
    """Let help and completion show the fields of a plan in place of the ``**fields`` of a function."""
    defaults = {name: field.default for name, field in Plan.model_fields.items()}
    return shows_fields(function, defaults, OF_ONE_TYPE)


with_fields(Plan.of.__func__)  # type: ignore[attr-defined]


def yaml_of(values: Mapping[str, Any]) -> str:
    """Return plain values as YAML."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes no aliases, which job files may not have."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    plain = json.dumps(values, ensure_ascii=False).isprintable()  # PyYAML cannot read back other characters
    options: dict[str, Any] = {"sort_keys": False, "default_flow_style": None, "width": 100}
    text: str = yaml.dump(dict(values), None, Dumper, allow_unicode=plain, **options)
    return text


def _message_and_hint(error: ValidationError, quoting: bool) -> tuple[str, str | None]:
    """Return a message and a hint for the first mistake, quoting what was given or not."""
    first = error.errors(include_url=False)[0]
    ours = first.get("ctx", {}).get("error")
    if isinstance(ours, OptionError):
        return str(ours).removesuffix(f" Hint: {ours.hint}"), ours.hint
    place = [str(part) for part in first["loc"] if not (isinstance(part, str) and "[" in part)]
    field = place[0] if place else ""
    words = first["msg"].removeprefix("Value error, ")
    words = words.replace("Input should be", "must be").rstrip(".")
    words = words.replace("greater than or equal to", "at least").replace("less than or equal to", "at most")
    if not field:
        return f"In this plan, {words}.", "give each column one role." if "two roles" in words else None
    named = f"The {field!r} of a plan" if len(place) == 1 else f"The {field!r} of a plan, at {place[1]!r},"
    got = first.get("input")
    got = f" Got {got!r}." if quoting and isinstance(got, str | int | float) else ""
    known = KINDS if field == "types" else FORMS if field == "release" else ()
    hint = near_names(first.get("input"), known, "").strip() or None
    if quoting and first["type"] == "dict_type" and isinstance(first.get("input"), str):
        # COLUMN=VALUE, as the command line takes it.
        column, sign, value = first["input"].partition("=")
        hint = f"write {field}={{{column!r}: {value!r}}}." if sign else f"write {field}={{'COLUMN': {column!r}}}."
    return f"{named} {words}.{got}", hint
