"""All privacy models by name, and their written form: ``entropy-diversity l=3``."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from typing import Any

from shoal.errors import OptionError, near_names
from shoal.privacy.closeness import NTCloseness, TCloseness
from shoal.privacy.diversity import (
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    PSensitive,
    RecursiveDiversity,
)
from shoal.privacy.frequencies import AlphaFrequency, BetaLikeness, DeltaDisclosure, EnhancedBetaLikeness
from shoal.privacy.model import Model, SensitiveModel
from shoal.privacy.population import DeltaPresence, KMap

_ALL: tuple[type[Model], ...] = (
    KAnonymity,
    DistinctDiversity,
    EntropyDiversity,
    RecursiveDiversity,
    PSensitive,
    AlphaFrequency,
    TCloseness,
    NTCloseness,
    DeltaDisclosure,
    BetaLikeness,
    EnhancedBetaLikeness,
    KMap,
    DeltaPresence,
)
MODELS: dict[str, type[Model]] = {one.name: one for one in _ALL}
"""Every model by name. All but k-map and delta-presence are about a sensitive attribute (:class:`SensitiveModel`)."""


def any_model(spec: str | Model) -> Model:
    """Return the model written as text, such as ``k-map k=5``; see :func:`model`."""
    if isinstance(spec, Model):
        return spec
    words = spec.split() if isinstance(spec, str) else []
    if not words or words[0] not in MODELS:
        got = repr(words[0]) if words else "none" if isinstance(spec, str) else type(spec).__name__
        hint = near_names(words[0] if words else "", MODELS, f"models are {', '.join(MODELS)}.")
        raise OptionError(f"A model must be named first, such as 'distinct-diversity l=3'. Got {got}.", hint=hint)
    kind = MODELS[words[0]]
    known = {field.name: field for field in fields(kind)}
    form = written(kind)
    given: dict[str, Any] = {}
    for word in words[1:]:
        option, mark, value = word.partition("=")
        if not mark or option not in known or option in given:
            hint = near_names(option, known, f"it is written {form!r}.")
            raise OptionError(f"The options of {kind.name} must be {', '.join(known)}, each once. Got {word!r}.", hint)
        given[option] = _parsed(kind.name, known[option], value)
    missing = [name for name, field in known.items() if field.default is MISSING and name not in given]
    if missing:
        raise OptionError(f"The model {kind.name} must have {' and '.join(missing)}. Got {spec!r}.", f"write {form!r}.")
    return kind(**given)


def written(kind: type[Model]) -> str:
    """Return the written form of a model with its required options: ``recursive-diversity c=.. l=..``."""
    return " ".join([kind.name, *(f"{field.name}=.." for field in fields(kind) if field.default is MISSING)])


def model(spec: str | SensitiveModel) -> SensitiveModel:
    """Return the model of a sensitive attribute written as text.

    Parameters
    ----------
    spec : str or SensitiveModel
        ``name option=value ..``, as returned by ``str(model)``. A model is returned unchanged.

    Examples
    --------
    >>> model("recursive-diversity c=3 l=2")
    RecursiveDiversity(c=3.0, l=2)
    """
    found = any_model(spec)
    if not isinstance(found, SensitiveModel):
        raise OptionError(
            f"The model of a sensitive attribute must be about its values. Got {found.name}, about a population.",
            hint="its check needs the table of the population.",
        )
    return found


def _parsed(model: str, field: Field[Any], value: str) -> Any:
    """Return a value as the type of its field. Annotations are strings here."""
    if field.type == "str":
        return value
    try:
        return int(value) if field.type == "int" else float(value)
    except ValueError:
        wanted = "an integer" if field.type == "int" else "a number"
        raise OptionError(f"The {field.name!r} option of {model} must be {wanted}. Got {value!r}.") from None
