"""What a plan checks and converts when it is made: its fields one by one, then how they fit together.

Each function is a validator of :class:`shoal.plan.Plan`. A `ValueError` becomes an :class:`shoal.OptionError` that
names the field (`message_and_hint`).
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError, ValidationInfo

from shoal.errors import OptionError, near_names
from shoal.frozen import frozen

if TYPE_CHECKING:
    from shoal.plan import Plan

P = TypeVar("P", bound="Plan")

# Cells that are not numbers.
PERIODS = ("month", "year")
CELLS = ("value", "*", *PERIODS)
# Fields of differential privacy, and those that may be given with them.
OF_PRIVACY = ("epsilon", "delta", "domain")
WITH_PRIVACY = (
    *("dp", *OF_PRIVACY, "options"),
    *("identifiers", "drop", "unit", "types", "formats", "thousands", "missing_values", "n_jobs"),
)
# Mappings and lists within each other, such as those of a hierarchy: what writes a plan cannot go much deeper.
DEEPEST = 100
# Of importance: products with costs stay finite.
LARGEST_FACTOR = 1e100
# Units of sizes of memory.
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
UNITS |= {f"{unit}I": 1024**power for power, unit in enumerate("KMGT", 1)}


# --- fields, before their types are checked ---


def one_or_many(value: Any) -> Any:
    """Turn a single name into a tuple."""
    return (value,) if isinstance(value, str) else value


def as_texts(value: Any) -> Any:
    """Turn models into tuples of their texts."""
    if not isinstance(value, dict):
        return value
    lists = {name: many if isinstance(many, list | tuple) else (many,) for name, many in value.items()}
    return {name: tuple(str(one) for one in many) for name, many in lists.items()}


def rising(value: Any) -> Any:
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


def no_truth_values(value: Any) -> Any:
    """Refuse truth values: YAML reads an unquoted yes or no as one, while the column contains the word."""
    lists = value.values() if isinstance(value, dict) else (value,)
    if any(isinstance(one, bool) for many in lists if isinstance(many, list | tuple) for one in many):
        raise ValueError("must be texts and numbers: put yes, no, true and false into quotes")
    return value


def no_truth_value(value: Any) -> Any:
    """Refuse a truth value, which would be read as 1: a promise is written as a number."""
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value


def a_size(value: Any) -> Any:
    """Refuse what is not a number of bytes."""
    if value is None:
        return None
    if bytes_of(value) is None:
        raise ValueError("must be a size such as '2GB' or '800 MB'")
    return str(value)


def as_plain_values(value: Any) -> Any:
    """Turn hierarchies into their paths, with the lengths of edges that differ from 1."""
    if not isinstance(value, dict):
        return value
    return {name: one.to_plain() if hasattr(one, "to_plain") else one for name, one in value.items()}


def as_plain_domain(value: Any) -> Any:
    """Turn a domain into the values that describe it; columns alone are a domain too."""
    plain = value.to_plain() if hasattr(value, "to_plain") else value
    return {"columns": plain} if isinstance(plain, dict) and plain and "columns" not in plain else plain


def cells(value: Any, info: ValidationInfo) -> Any:
    """Refuse widths that are neither above 0 nor one of the words for them."""
    words = CELLS if info.field_name == "cells" else PERIODS
    for cell in value.values() if isinstance(value, dict) else ():
        number = isinstance(cell, int | float) and not isinstance(cell, bool) and 0 < cell < float("inf")
        if not number and cell not in words:
            raise ValueError(f"must be numbers above 0, or one of {', '.join(map(repr, words))}")
    return value


def limits(value: Any) -> Any:
    """Turn dates, as YAML and TOML have them, into texts; refuse what is neither a number nor a date."""
    if not isinstance(value, dict):
        return value
    plain = {name: one.isoformat() if isinstance(one, date) else one for name, one in value.items()}
    if not all(_is_limit(one) for one in plain.values()):
        raise ValueError("must be finite numbers, or dates such as '1990-12-31'")
    return plain


def steps(value: Any) -> Any:
    """Refuse steps that are not above 0."""
    for step in value.values() if isinstance(value, dict) else ():
        if isinstance(step, str) or not _is_limit(step) or step <= 0:
            raise ValueError("must be numbers above 0")
    return value


def _is_limit(value: Any) -> bool:
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


# --- fields, once they have their types ---


def unchangeable(value: Any) -> Any:
    """Return a copy that nobody can change, as what is certified is what was planned."""
    if not isinstance(value, dict | list | tuple):
        return value
    if _is_deeper(value, DEEPEST):
        raise ValueError(f"must be nested at most {DEEPEST} levels deep")
    return frozen(value)


def _is_deeper(value: Any, most: int) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return most < 0 or any(_is_deeper(one, most - 1) for one in inside)


def digits(value: dict[str, int]) -> dict[str, int]:
    """Refuse numbers of decimal places that no double has."""
    if any(not 0 <= places <= 15 for places in value.values()):
        raise ValueError("must be whole numbers from 0 to 15")
    return value


def levels(value: dict[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """Refuse lists without a level, which would not tell what order is meant."""
    if not all(value.values()):
        raise ValueError("must be one value or more for each column: leave out columns without levels")
    return value


def factors(value: dict[str, float]) -> dict[str, float]:
    """Refuse factors of importance that are negative, or so large that their products with costs are infinite."""
    if any(not 0 <= factor <= LARGEST_FACTOR for factor in value.values()):
        raise ValueError(f"must be numbers from 0 to {LARGEST_FACTOR:g}")
    return value


# --- how the fields fit together ---


def one_role_each(plan: P) -> P:
    """Refuse columns with two roles, except quasi-identifiers that are also sensitive."""
    seen: dict[str, str] = {}
    first = ("quasi_identifiers", "identifiers", "other", "drop", "weight", "unit", "stratum")
    for role in (*first, "sensitive_attributes"):
        named = getattr(plan, role) or ()
        for name in (named,) if isinstance(named, str) else named:
            before = seen.get(name)
            if before is not None and (before, role) != ("quasi_identifiers", "sensitive_attributes"):
                raise ValueError(f"the column {name!r} is given two roles: {before} and {role}")
            seen[name] = role
    for name in plan.models:
        if name in plan.declared:
            seen[name] = "quasi_identifiers"
        if seen.setdefault(name, "sensitive_attributes") != "sensitive_attributes":
            raise ValueError(f"the column {name!r} has models, so it must be sensitive only, not {seen[name]}")
    for name in (half for pair in plan.places for half in pair):
        before = seen.get(name)
        if before not in (None, "quasi_identifiers", "sensitive_attributes"):
            raise ValueError(f"the column {name!r} is given two roles: {before} and places")
        seen[name] = "places"
    return plan


def complete_demands(plan: P) -> P:
    """Refuse demands without a sensitive attribute, and a population without a demand on it or the reverse."""
    for model in ("l", "t"):
        if getattr(plan, model) is not None and not plan.demanded_of:
            got = "only some that are both" if plan.sensitive_attributes else "none"
            raise OptionError(
                f"The {model!r} of a plan must be about a sensitive attribute that is not a quasi-identifier. "
                f"Got {got}.",
                hint="name it with sensitive_attributes (--sensitive).",
            )
    if plan.enforcement is not None and not plan.has_demands:
        raise OptionError(
            "The 'enforcement' of a plan must have something to enforce. Got none of l (--l), t (--t) and "
            "models (--model)."
        )
    counted = plan.k_map is not None or plan.presence is not None
    if counted != (plan.population is not None):
        missing = "a population (--population)" if counted else "k_map (--k-map) or presence (--presence)"
        given = "k_map" if plan.k_map is not None else "presence" if counted else "population"
        raise OptionError(f"The {given!r} of a plan must come with {missing}. Got none.")
    return plan


def private_or_not(plan: P) -> P:
    """Refuse fields of differential privacy without it, and with it, fields that are about groups."""
    defaults = {name: field.default for name, field in type(plan).model_fields.items()}
    if plan.dp is None:
        given = [name for name in OF_PRIVACY if getattr(plan, name) != defaults[name]]
        if given:
            raise OptionError(f"The {given[0]!r} of a plan must come with dp (--dp). Got none.")
        return plan
    foreign = [name for name in plan.model_fields_set if name not in WITH_PRIVACY]
    for name in sorted(foreign, key=list(defaults).index):
        # What was set to its default asks for nothing, but a k is always a promise.
        if name == "k" or getattr(plan, name) != defaults[name]:
            raise OptionError(
                f"The {name!r} of a plan cannot be combined with dp. Got both.",
                hint="a private release has new rows and no groups: epsilon and domain say what it may tell.",
            )
    if plan.epsilon is None:
        raise OptionError("The 'epsilon' of a plan must be given with dp. Got none.", hint="1 is a usual value.")
    return plan


def bottom_below_top(plan: P) -> P:
    """Refuse a top that is not above the bottom of the same column, and a number beside a date."""
    for name in plan.top_coding.keys() & plan.bottom_coding.keys():
        low, high = plan.bottom_coding[name], plan.top_coding[name]
        if isinstance(low, str) != isinstance(high, str):
            raise ValueError(f"the top and the bottom of the column {name!r} must both be numbers or both be dates")
        is_above = moment_of(low) < moment_of(high) if isinstance(low, str) else low < float(high)
        if not is_above:
            raise ValueError(f"the top of the column {name!r} must be above its bottom")
    return plan


# --- what is said ---


def message_and_hint(
    error: ValidationError, known: dict[str, tuple[str, ...]], quoting: bool
) -> tuple[str, str | None]:
    """Return a message and a hint for the first mistake.

    Parameters
    ----------
    error : ValidationError
    known : {field: names}
        The names that some fields accept, to guess what was meant.
    quoting : bool
        Whether to quote what was given.
    """
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
    hint = near_names(first.get("input"), known[field], "").strip() or None if field in known else None
    if quoting and first["type"] == "dict_type" and isinstance(first.get("input"), str):
        # COLUMN=VALUE, as the command line takes it.
        column, sign, value = first["input"].partition("=")
        hint = f"write {field}={{{column!r}: {value!r}}}." if sign else f"write {field}={{'COLUMN': {column!r}}}."
    return f"{named} {words}.{got}", hint


def bytes_of(size: Any) -> int | None:
    """Return the number of bytes of a size such as ``"2GB"``, ``"1.5 GiB"`` or ``"500M"``; None if it is none."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?\s*", str(size).upper())
    if found is None or found[2] not in UNITS:
        return None
    count = int(float(found[1]) * UNITS[found[2]])
    return count if 0 < count < 2**63 else None
