"""The fields of a plan as keywords: all the names that they have, and what completion, help and type checkers know.

A field has a line in :class:`Fields`, or in :class:`AllFields` if functions have a parameter of its name. A test
compares them with :class:`shoal.Plan`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

from shoal.errors import OptionError
from shoal.options.table import PLAN

if TYPE_CHECKING:
    from shoal.plan import Form, Kind, Marker, Way

F = TypeVar("F", bound=Callable[..., Any])

# The command line's names of fields, where they differ: --seed is `random_state`.
COMMAND_LINE = {option.key: option.field for option in PLAN if option.key != option.field}

# Names of lists of columns, in place of entries of `types`.
OF_ONE_TYPE = ("nominal", "ordinal", "continuous")
# sdcMicro's names, and the fields that they set.
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

# Words of other programs, and the fields that were probably meant.
MEANT = {
    "algorithm": "method",
    "categorical": "nominal",
    "cluster": "unit",
    "budget": "epsilon",
    "differential_privacy": "dp",
    "factor": "nominal",
    "household": "unit",
    "k_anonymity": "k",
    "l_diversity": "l",
    "numeric": "continuous",
    "numerical": "continuous",
    "person": "unit",
    "strata": "stratum",
    "t_closeness": "t",
    "threads": "n_jobs",
    "timeout": "time_limit",
    "workers": "n_jobs",
}


class Fields(TypedDict, total=False):
    """Fields of a plan, by their own names and by those of the command line and of sdcMicro."""

    other: Sequence[str]
    drop: Sequence[str]
    rest: Literal["qi", "other", "drop"] | None
    l: int | None  # noqa: E741 - the usual name
    t: float | None
    models: Mapping[str, Any]
    enforcement: Way | None
    k_map: int | None
    presence: tuple[float, float] | Sequence[float] | None
    weight: str | None
    unit: str | None
    stratum: Sequence[str]
    places: Sequence[tuple[str, str] | Sequence[str]]
    types: Mapping[str, Kind]
    nominal: Sequence[str]
    ordinal: Sequence[str]
    continuous: Sequence[str]
    levels: Mapping[str, Sequence[Marker]]
    hierarchies: Mapping[str, Any]
    importance: Mapping[str, float]
    representatives: Mapping[str, str]
    trim: float
    digits: Mapping[str, int]
    outward: Mapping[str, int | float | str]
    formats: Mapping[str, str]
    thousands: Literal[",", ".", " ", "'", "\u2019", "\u00a0", "\u202f", "\u2009"] | None
    coordinates: int
    missing: Literal["value", "error", "drop"]
    missing_values: Marker | Sequence[Marker] | Mapping[str, Sequence[Marker]]
    top_coding: Mapping[str, int | float | str]
    bottom_coding: Mapping[str, int | float | str]
    rounding: Mapping[str, int | float]
    release: Form
    suppress: float
    cells: Mapping[str, int | float | str]
    blocks: Literal["joint", "each"] | Sequence[Sequence[str]]
    small_strata: Literal["error", "merge"]
    method: str
    options: Mapping[str, Any]
    refine: str | None
    time_limit: float | None
    bound: Literal["none", "quick", "lp", "regions"]
    random_state: int | None
    n_jobs: int | None
    dp: str | None
    epsilon: float | None
    delta: float
    domain: Any
    engine: Literal["memory", "stream", "spark"] | None
    memory: str | None
    master: str | None
    shuffle: bool
    # The command line's names.
    qi: Sequence[str] | None
    sensitive: Sequence[str] | None
    id: Sequence[str] | None
    model: Mapping[str, Any] | None
    enforce: Way | None
    place: Sequence[tuple[str, str] | Sequence[str]] | None
    type: Mapping[str, Kind] | None
    hierarchy: Mapping[str, Any] | None
    representative: Mapping[str, str] | None
    format: Mapping[str, str] | None
    na: Marker | Sequence[Marker] | Mapping[str, Sequence[Marker]] | None
    top: Mapping[str, int | float | str] | None
    bottom: Mapping[str, int | float | str] | None
    round: Mapping[str, int | float] | None
    cell: Mapping[str, int | float | str] | None
    option: Mapping[str, Any] | None
    seed: int | None
    jobs: int | None
    # sdcMicro's names.
    keyVars: Sequence[str] | None
    numVars: Sequence[str] | None
    sensibleVar: Sequence[str] | None
    weightVar: str | Sequence[str] | None
    hhId: str | Sequence[str] | None
    strataVar: Sequence[str] | None
    excludeVars: Sequence[str] | None
    aggr: int | None


class AllFields(Fields, total=False):
    """All fields of a plan."""

    k: int
    quasi_identifiers: Sequence[str] | None
    sensitive_attributes: Sequence[str]
    identifiers: Sequence[str]
    population: str | None


class OfPrivacy(TypedDict, total=False):
    """Fields that may be given with `dp`, `epsilon` and `domain`."""

    delta: float
    options: Mapping[str, Any]
    identifiers: Sequence[str]
    drop: Sequence[str]
    unit: str | None
    types: Mapping[str, Kind]
    formats: Mapping[str, str]
    thousands: Literal[",", ".", " ", "'", "\u2019", "\u00a0", "\u202f", "\u2009"] | None
    missing_values: Marker | Sequence[Marker] | Mapping[str, Sequence[Marker]]
    n_jobs: int | None


def shows_fields(function: F, defaults: Mapping[str, Any], lists: Iterable[str]) -> F:
    """Let help and completion show the fields of a plan in place of the ``**fields`` of a function.

    Parameters
    ----------
    function : callable
        Its other parameters stay; those that are named like a field show its default.
    defaults : {field: default}
    lists : names of further keywords, which list columns
    """
    own = signature(function)
    named = {name: one for name, one in own.parameters.items() if one.kind is not Parameter.VAR_KEYWORD}
    first = {name: one for name, one in named.items() if one.kind is not Parameter.KEYWORD_ONLY}
    shown = dict.fromkeys(lists, ())
    later = {name: Parameter(name, Parameter.KEYWORD_ONLY, default=one) for name, one in {**defaults, **shown}.items()}
    own_first = {name: named[name].replace(default=defaults[name]) for name in named if name in defaults}
    parameters = first | {name: later[name] for name in later if name not in first} | own_first
    parameters |= {name: one for name, one in named.items() if name not in parameters}
    function.__signature__ = own.replace(parameters=list(parameters.values()))  # type: ignore[attr-defined]
    return function


def with_our_names(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields under our names: not sdcMicro's or the command line's, and lists of columns as types."""
    renamed = {n: value for n, value in fields.items() if n not in (*SDCMICRO, *COMMAND_LINE, *OF_ONE_TYPE)}
    for name, ours in COMMAND_LINE.items():
        if fields.get(name) is not None:
            if renamed.get(ours) is not None:
                raise OptionError(
                    f"A plan must set {ours!r} once. Got {name!r} as well, the command line's name for it."
                )
            renamed[ours] = fields[name]
    for kind in OF_ONE_TYPE:
        types = renamed.get("types") or {}
        if not isinstance(types, dict):
            break  # refused when it is validated
        for name in _listed(fields.get(kind) or (), kind):
            if not isinstance(name, str) or types.get(name, kind) != kind:
                raise OptionError(f"The {kind!r} of a plan must list names of columns that have no other type.")
            types = renamed["types"] = {**types, name: kind}
    for name, ours in SDCMICRO.items():
        if name not in fields or fields[name] is None:
            continue
        value = fields[name]
        if ours in ("k", "weight", "unit"):
            if ours in renamed:
                raise OptionError(f"A plan must set {ours!r} once. Got {name!r} as well, sdcMicro's name for it.")
            renamed[ours] = value[0] if isinstance(value, list | tuple) and len(value) == 1 else value
        else:
            names, given = _listed(value, name), _listed(renamed.get(ours) or (), ours)
            renamed[ours] = given + [one for one in names if one not in given]
    return renamed


def _listed(value: Any, name: str) -> list[Any]:
    if not isinstance(value, str | list | tuple):
        raise OptionError(f"The {name!r} of a plan must be names of columns. Got {type(value).__name__}.")
    return [value] if isinstance(value, str) else list(value)
