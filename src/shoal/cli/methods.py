"""``shoal methods``: all methods, refinements, privacy models and private releases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.text import Text

from shoal.cli import shows
from shoal.cli.command import takes
from shoal.cli.shell import current, reports_errors
from shoal.options.option import Given, Option
from shoal.options.table import TALKING

if TYPE_CHECKING:
    from shoal.dp.registry import PrivateRelease
    from shoal.partitioning.registry import Method, Refinement
    from shoal.privacy.model import Model

EXAMPLES = """
[bold]Examples[/bold]

[cyan]shoal methods[/cyan]

[dim]One method, with its options and its paper:[/dim]

[cyan]shoal methods 'mdav*'[/cyan]

[cyan]shoal methods --json | jq -r '.methods[].name'[/cyan]
"""


@reports_errors
@takes(Option("name", "Show one method in full.", "NAME"), *TALKING)
def methods(given: Given) -> None:
    """List methods, refinements, privacy models and private releases, with their cost and options."""
    from shoal.dp.registry import releases
    from shoal.partitioning.registry import METHODS, REFINEMENTS, find
    from shoal.privacy.models import MODELS, written

    name = given["name"]
    chosen = METHODS if name is None else (find(name),)
    refinements = REFINEMENTS if name is None else ()
    if given["json"]:
        models = () if name is not None else tuple(MODELS.values())
        shows.print_json(
            {
                "methods": [_facts(method) for method in chosen],
                "refinements": [_facts(refinement) for refinement in refinements],
                "models": [
                    {
                        "name": model.name,
                        "summary": _summary(model),
                        "written": written(model),
                        "monotone": model.monotone,
                    }
                    for model in models
                ],
                "private_releases": [_facts(one) for one in (releases() if name is None else ())],
            }
        )
        return
    shell = current()
    if name is not None:
        shell.show(*_in_full(chosen[0]))
        return
    shell.show(Text("Methods (--method)", style="bold"), "", shows.pairs([(m.name, _in_short(m)) for m in chosen]))
    shell.show("", Text("Refinements (--refine)", style="bold"), "")
    shell.show(shows.pairs([(r.name, _in_short(r)) for r in refinements]))
    shell.show("", Text("Privacy models (--model COL=MODEL)", style="bold"), "")
    shell.show(shows.pairs([(model.name, _of_model(model)) for model in MODELS.values()]))
    shell.show("", Text("Differentially private releases (--dp)", style="bold"), "")
    shell.show(shows.pairs([(one.name, _in_short(one)) for one in releases()]))


def _summary(model: type[Model]) -> str:
    """Return the first sentences of the docstring."""
    return " ".join((model.__doc__ or "").partition("\n\n")[0].split())


def _of_model(model: type[Model]) -> Text:
    from shoal.privacy.models import written

    flag = {"k-anonymity": "-k K", "k-map": "--population FILE --k-map K"}.get(model.name)
    flag = "--population FILE --presence LOW,HIGH" if model.name == "delta-presence" else flag
    return Text(_summary(model)).append(f"\n{flag or written(model)}", style="cyan")


def _in_short(one: Method | Refinement | PrivateRelease) -> Text:
    text = Text(one.summary)
    cost = getattr(one, "cost", "")
    if cost:
        text.append(f"\n{cost}", style="dim")
    if one.options:
        options = ", ".join(f"{option.name} ({option.default})" for option in one.options)
        text.append(f"\noptions: {options}", style="cyan")
    return text


def _in_full(method: Method) -> list[Any]:
    rows: list[tuple[str, Any]] = [("paper", method.paper), ("cost", method.cost)]
    traits = [
        words
        for words, holds in (
            ("uses several threads", method.parallel),
            ("for one coordinate only", method.univariate),
            ("uses random numbers: --seed", method.random),
            ("can be stopped at any time: --time-limit", method.timed),
            ("proven to be optimal", method.optimal),
        )
        if holds
    ]
    if traits:
        rows.append(("", "; ".join(traits)))
    for option in method.options:
        words = Text.assemble(f"{option.summary}\n", (f"{option.domain}; default {option.default}", "dim"))
        rows.append((f"--option {option.name}=", words))
    return [Text.assemble((method.name, "bold"), f": {method.summary}"), Padding(shows.pairs(rows), (1, 0, 0, 2))]


def _facts(one: Method | Refinement | PrivateRelease) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": one.name, "summary": one.summary, "paper": one.paper}
    for trait in ("cost", "parallel", "univariate", "random", "timed", "optimal"):
        if hasattr(one, trait):
            facts[trait] = getattr(one, trait)
    facts["reading"] = getattr(one, "reading", "")
    facts["options"] = [
        {"name": option.name, "default": option.default, "allowed": option.domain, "summary": option.summary}
        for option in one.options
    ]
    return facts
