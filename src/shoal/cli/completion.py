"""Words with which a shell completes the values of options: names that Shoal knows, not those of columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import get_args

from shoal.options.option import Option

VARIABLE = "_SHOAL_COMPLETE"  # by which a shell asks for completions
AFTER_NAME = "_SHOAL_COMPLETE_AFTER"  # the name before the sign, if it is not among the words


def _methods() -> Iterable[str]:
    from shoal.partitioning.registry import METHODS

    return ("auto", *(method.name for method in METHODS))


def _refinements() -> Iterable[str]:
    from shoal.partitioning.registry import REFINEMENTS

    return (refinement.name for refinement in REFINEMENTS)


def _private_releases() -> Iterable[str]:
    from shoal.dp.registry import releases

    return (release.name for release in releases())


def _models() -> Iterable[str]:
    from shoal.privacy.models import MODELS

    return MODELS


def _representatives() -> Iterable[str]:
    from shoal.tables.representatives import REPRESENTATIVES

    return dict.fromkeys(how for ways in REPRESENTATIVES.values() for how in ways)


def _formats() -> Iterable[str]:
    from shoal.io.formats import FORMATS

    return FORMATS


def _types() -> Iterable[str]:
    from shoal.plan import KINDS

    return (kind for kind in KINDS if kind != "place")  # which is a pair of columns


def _minimised() -> Iterable[str]:
    from shoal.release.tuning.yardsticks import YARDSTICKS

    return (one.name for one in YARDSTICKS.values() if one.better == "lower" and one.source != "model")


def _of_field(field: str) -> Callable[[], Iterable[str]]:
    """Return the words that a field of the plan may have."""

    def words() -> Iterable[str]:
        from shoal.plan import Plan

        return _words(Plan.model_fields[field].annotation)

    return words


def _words(annotation: object) -> list[str]:
    parts = get_args(annotation)
    return [part for part in parts if isinstance(part, str)] + [
        word for part in parts if not isinstance(part, str) for word in _words(part)
    ]


# What may follow each option; `=` where it follows the name of a column.
WORDS: dict[str, Callable[[], Iterable[str]]] = {
    "--method": _methods,
    "--refine": _refinements,
    "--dp": _private_releases,
    "--release": _of_field("release"),
    "--rest": _of_field("rest"),
    "--enforce": _of_field("enforcement"),
    "--missing": _of_field("missing"),
    "--small-strata": _of_field("small_strata"),
    "--bound": _of_field("bound"),
    "--blocks": lambda: ("each", "joint"),
    "--from": _formats,
    "--to": _formats,
    "--minimise": _minimised,
    "--risk": _minimised,
    "--utility": _minimised,
    "name": _methods,
    "--type=": _types,
    "--model=": _models,
    "--representative=": _representatives,
    "--hierarchy=": lambda: ("prefixes", "widths:"),
    "--outward=": lambda: ("month", "year"),
    "--cell=": lambda: ("month", "year", "value", "*"),
}


def completer(option: Option) -> Callable[[list[str], str], list[str]] | None:
    """Return the function that completes the value of an option, or None if only the shell can."""
    words, after_name = WORDS.get(option.name), WORDS.get(f"{option.name}=")
    if words is not None:
        return lambda args, incomplete: [word for word in words() if word.startswith(incomplete)]
    if after_name is None:
        return None

    def complete(args: list[str], incomplete: str) -> list[str]:
        name, sign, begun = incomplete.rpartition("=")
        if not sign and AFTER_NAME not in os.environ:
            return []
        return [f"{name}{sign}{word}" for word in after_name() if word.startswith(begun)]

    return complete


def join_words() -> None:
    """Put together what bash takes apart when it asks for completions: it has ``sex = no`` where ``sex=no`` was typed.

    What is completed is then ``no`` alone, so the name before it is left out.
    """
    if os.environ.get(VARIABLE) != "complete_bash":
        return
    given = os.environ.get("COMP_WORDS", "")
    between = "\n" if "\n" in given else " "
    typed = given.split(between)[: int(os.environ.get("COMP_CWORD") or 0) + 1]
    words: list[str] = []
    for at, word in enumerate(typed):
        if word == "=" and words:
            words[-1] += "="
        elif at > 1 and typed[at - 1] == "=":
            words[-1] += word
        else:
            words.append(word)
    name, sign, begun = words[-1].rpartition("=") if words else ("", "", "")
    if sign and not name.startswith("-"):
        os.environ[AFTER_NAME] = name
        words[-1] = begun
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = between.join(words), str(len(words) - 1)
