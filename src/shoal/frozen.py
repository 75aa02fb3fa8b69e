"""Mappings and lists that cannot be changed, for descriptions that others rely on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from shoal.errors import ShoalError


def _refused(self: Any, *_: Any, **__: Any) -> NoReturn:
    raise ShoalError(
        "A plan must not be changed. Got an attempt to change one of its mappings or lists.",
        hint="plan.model_copy(update={..}) returns a changed plan.",
    )


class FrozenDict(dict[Any, Any]):
    """A dict that cannot be changed. It is one still, so that it is written to JSON and YAML like any other."""

    __setitem__ = __delitem__ = __ior__ = _refused
    clear = pop = popitem = setdefault = update = _refused

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)


class FrozenList(list[Any]):
    """A list that cannot be changed."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refused
    append = clear = extend = insert = pop = remove = reverse = sort = _refused

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenList, (list(self),)


def frozen(value: Any) -> Any:
    """Return a copy of plain values in which no mapping and no list can be changed, however deep."""
    if isinstance(value, Mapping):
        return FrozenDict({key: frozen(one) for key, one in value.items()})
    if isinstance(value, list):
        return FrozenList([frozen(one) for one in value])
    return tuple(frozen(one) for one in value) if isinstance(value, tuple) else value
