"""The plan of a release: what Python, the command line and job files all build.

Its fields are the keywords of :func:`shoal.anonymize`, the keys of a job file and, with dashes, the options of the
command line. A plan is frozen; the same plan on the same table gives the same release.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, Unpack, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from shoal import plan_checks as checks
from shoal.errors import OptionError, near_names
from shoal.fields import COMMAND_LINE, MEANT, OF_ONE_TYPE, SDCMICRO, AllFields, F, shows_fields, with_our_names
from shoal.frozen import frozen

Kind = Literal["continuous", "integer", "ordinal", "nominal", "hierarchical", "boolean", "date", "datetime", "place"]
Form = Literal["microaggregation", "local-recoding", "global-recoding", "full-domain", "strongly-safe"]
Way = Literal["best", "repair", "growth", "merge", "k-first", "t-first", "buckets", "mondrian"]
Marker = str | int | float
Names = tuple[str, ...]

KINDS: tuple[str, ...] = get_args(Kind)
FORMS: tuple[str, ...] = get_args(Form)
# Forms that group records by cells, without a method.
WITHOUT_METHOD = ("full-domain", "strongly-safe")
# Fields whose values are names.
NAMED = {"types": KINDS, "release": FORMS}


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
        "repair" changes the groups of `method`; "growth", "merge", "k-first", "t-first", "buckets" and "mondrian" form
        groups of their own. None: "best" if the method is "auto", else "repair". With "global-recoding", groups are
        only merged.
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
    bound : "none", "quick", "lp" or "regions"
        How to compute a lower bound on the loss, which limits how far the loss is above the best possible. "quick" is
        rough, and is skipped for tables on which it would take longer than the method may; "lp" is much better, and
        takes up to `time_limit` seconds of its own (None: 60), on more than 6,000 rows region by region ("regions").
        With weights, there is no bound.
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
    engine : "memory", "stream", "spark" or None
        Where the work is done: in memory; in pieces on this machine, for files larger than memory; on Spark. None: by
        the size of the file. See ``shoal.engines``.
    memory : str or None
        The most memory that "stream" may take, such as ``"2GB"``. None: half of what is free.
    master : str or None
        The address of Spark's master, such as ``"local[4]"``. None: that of the running session, or this machine.
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
    bound: Literal["none", "quick", "lp", "regions"] = "quick"
    random_state: int | None = Field(None, ge=0)
    n_jobs: int | None = -1
    dp: str | None = None
    epsilon: float | None = Field(None, gt=0, allow_inf_nan=False)
    delta: float = Field(0.0, ge=0, lt=1)
    domain: str | dict[str, Any] | None = None
    engine: Literal["memory", "stream", "spark"] | None = None
    memory: str | None = None
    master: str | None = None
    shuffle: bool = False

    _one_or_many = field_validator(
        *("quasi_identifiers", "sensitive_attributes", "identifiers", "other", "drop", "stratum", "missing_values"),
        mode="before",
    )(checks.one_or_many)
    _as_texts = field_validator("models", mode="before")(checks.as_texts)
    _rising = field_validator("presence", mode="before")(checks.rising)
    _no_truth_values = field_validator("levels", "missing_values", mode="before")(checks.no_truth_values)
    _no_truth_value = field_validator("epsilon", "delta", mode="before")(checks.no_truth_value)
    _a_size = field_validator("memory", mode="before")(checks.a_size)
    _as_plain_values = field_validator("hierarchies", mode="before")(checks.as_plain_values)
    _as_plain_domain = field_validator("domain", mode="before")(checks.as_plain_domain)
    _unchangeable = field_validator("*")(checks.unchangeable)
    _digits = field_validator("digits")(checks.digits)
    _levels = field_validator("levels")(checks.levels)
    _cells = field_validator("cells", "outward", mode="before")(checks.cells)
    _limits = field_validator("top_coding", "bottom_coding", mode="before")(checks.limits)
    _steps = field_validator("rounding", mode="before")(checks.steps)
    _factors = field_validator("importance")(checks.factors)
    _one_role_each = model_validator(mode="after")(checks.one_role_each)
    _complete_demands = model_validator(mode="after")(checks.complete_demands)
    _private_or_not = model_validator(mode="after")(checks.private_or_not)
    _bottom_below_top = model_validator(mode="after")(checks.bottom_below_top)

    @property
    def coded(self) -> Names:
        """Return the columns with top coding, bottom coding or rounding."""
        return tuple(dict.fromkeys([*self.rounding, *self.top_coding, *self.bottom_coding]))

    @property
    def demanded_of(self) -> Names:
        """Return the sensitive attributes to which `l`, `t` and `models` apply."""
        known = self.declared
        return tuple(dict.fromkeys([*(n for n in self.sensitive_attributes if n not in known), *self.models]))

    @property
    def declared(self) -> set[str]:
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
            raise OptionError(*checks.message_and_hint(error, NAMED, quoting)) from None
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
