"""The report: one HTML file that shows what was done to a table, why it is safe, and what was lost.

:func:`render` takes :class:`Facts`, which are plain values, and returns text; it does not depend on tables, plans or
releases. The report needs no network, scripts or fonts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from shoal.release.report import drawings
from shoal.release.report.evidence import Evidence, Frequencies, Histogram

if TYPE_CHECKING:
    from jinja2 import Environment

    from shoal.release.report.standing import Standing

__all__ = [
    "Check",
    "ColumnFacts",
    "DemandFacts",
    "Facts",
    "File",
    "Verdict",
    "bars_of",
    "render",
    "render_summary",
    "verdict_of",
]

MOST = 12  # attributes of a summary


@dataclass(frozen=True)
class ColumnFacts:
    """A column of the input, and how it was published."""

    name: str
    role: str  # "quasi-identifier" "sensitive" "other" "weight" "stratum"
    kind: str = ""
    published: str = ""  # "mean", "mode", "interval", ...; "unchanged"; "" for not published
    importance: float | None = None
    note: str = ""  # such as "inferred"


@dataclass(frozen=True)
class Check:
    """One check of the published table."""

    name: str
    passed: bool
    words: str = ""


@dataclass(frozen=True)
class File:
    """A file that was written."""

    name: str
    rows: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class DemandFacts:
    """A demand on a sensitive attribute, what holds, and the worst group."""

    attribute: str
    short: str  # such as "l = 3 (distinct)"
    words: str  # what it ensures, a paragraph
    held: str  # what holds, a sentence
    size: int = 0  # records of the worst group
    bars: tuple[tuple[str, float, float], ...] = ()  # value; table and worst group, as parts of the longest bar
    ordered: bool = False  # whether the bars are parts of an order, lowest first


@dataclass(frozen=True)
class Facts:
    """The content of a report. It may tell no more of the originals than the certificate does."""

    title: str
    created: str  # an ISO time
    version: str  # of Shoal
    rows: int
    k: int  # wanted
    k_held: int  # by records, over all quasi-identifiers together
    n_groups: int
    method: str
    columns: tuple[ColumnFacts, ...]
    checks: tuple[Check, ...]  # of the audit; empty if it has not been run
    why: str = ""  # why this method was chosen, without a full stop
    k_units: int | None = None  # the same by distinct units, if they were counted
    k_all: int | None = None  # by records, over all published columns together
    reach: str = ""  # what this means, in sentences
    k_blocks: int | None = None  # what holds within each block of attributes, if there are several
    loss: float | None = None  # SSE / SST, 0 to 1, rounded; None if it is not told
    gap: str = ""  # how far from the best possible, in a few words
    nearness: str = ""  # the same in sentences
    loss_by_attribute: tuple[tuple[str, float | None], ...] = ()
    utility: tuple[tuple[str, str, str], ...] = ()  # measures of recoding schemes: name, value, explanation
    by_cells: bool = False  # whether records were grouped by cells that do not depend on the data
    by_levels: bool = False  # whether each column publishes one level of its hierarchy
    left_out: int = 0  # columns that are not published
    demands: tuple[DemandFacts, ...] = ()  # on sensitive attributes
    missing_rule: str = ""  # a sentence
    notes: tuple[str, ...] = ()  # sentences on strata, units, weights, blocks, shuffling
    warnings: tuple[str, ...] = ()  # what weakens the protection
    by_clock: bool = False  # whether the clock may have stopped a search
    plan: str = ""  # YAML, without what is withheld
    withheld: tuple[str, ...] = ()  # fields of the plan that are not told
    output: File | None = None
    versions: tuple[tuple[str, str], ...] = ()  # package, version
    evidence: Evidence | None = None
    standing: Standing | None = None  # what is still at risk, and what the release is good for


@dataclass(frozen=True)
class Verdict:
    """What a reader is told first."""

    state: Literal["good", "limited", "bad"]
    head: str
    detail: str


def render(facts: Facts) -> str:
    """Return the report as one HTML page.

    Parameters
    ----------
    facts : Facts
        The content of the report.

    Returns
    -------
    str
        HTML; equal facts give equal text.
    """
    evidence = facts.evidence
    return (
        environment()
        .get_template("report.html")
        .render(
            f=facts,
            e=evidence,
            verdict=verdict_of(facts),
            quasi=[column for column in facts.columns if column.role == "quasi-identifier"],
            sensitive=[column.name for column in facts.columns if column.role == "sensitive" and column.published],
            undemanded=_without_demand(facts),
            unchanged=[column.name for column in facts.columns if column.published == "unchanged"],
            attributes=_attributes(evidence),
            moved=_moved(evidence),
            draw=drawings,
        )
    )


def render_summary(facts: Facts) -> str:
    """Return the main facts as HTML for the output of a notebook: a part of a page, without scripts or style sheets."""
    losses = sorted(facts.loss_by_attribute, key=lambda pair: -(pair[1] or 0.0))
    return (
        environment()
        .get_template("notebook.html")
        .render(f=facts, verdict=verdict_of(facts), losses=losses[:MOST], more=len(losses[MOST:]))
    )


@cache
def environment() -> Environment:
    """Return the templates of pages, with the filters they use."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(whole=drawings.whole, percent=_percent, names=_names, signed=drawings.signed)
    return environment


def verdict_of(facts: Facts) -> Verdict:
    """Return whether the demands hold, in two sentences."""
    failed = [check for check in facts.checks if not check.passed]
    by_units = facts.k_units is not None
    held = facts.k_units if facts.k_units is not None else facts.k_held
    if failed or (held < facts.k and (facts.k_blocks is None or facts.k_blocks < facts.k)):
        return Verdict(
            "bad",
            "This table does not satisfy the demands.",
            f"k = {facts.k} was wanted, k = {held} holds, and {len(failed)} of {len(facts.checks)} checks failed. "
            "Do not publish it.",
        )
    if by_units:
        others = f"records of at least {_others(held)}, counting units"
    else:
        others = f"at least {_others(held)}"
    if facts.k_blocks is not None:
        return Verdict(
            "limited" if held < facts.k else "good",
            f"Within each block of attributes, every record shares its published values with at least "
            f"{_others(facts.k_blocks)}.",
            f"For all quasi-identifiers together, only k = {held} holds: someone who knows values of several blocks "
            "may distinguish records that are equal within each block.",
        )
    head = f"Every record shares its published quasi-identifiers with {others}."
    if not facts.checks:
        return Verdict("limited", head, "The method guarantees this. The published table has not been audited.")
    checks = "The check" if len(facts.checks) == 1 else f"All {len(facts.checks)} checks"
    return Verdict(
        "good",
        head,
        f"{checks} of the published table passed; k = {facts.k} was wanted, k = {held} holds. Someone who "
        f"knows all quasi-identifiers of a person can pick the right record with a chance of at most 1 in {held}.",
    )


def _without_demand(facts: Facts) -> list[str]:
    """Return the sensitive columns without demands."""
    demanded = {demand.attribute for demand in facts.demands}
    return [c.name for c in facts.columns if c.role == "sensitive" and c.published and c.name not in demanded]


def _attributes(evidence: Evidence | None) -> list[dict[str, object]]:
    """Return the data of the drawings of distributions."""
    if evidence is None:
        return []
    shown: list[dict[str, object]] = []
    for drawn, figures in zip(evidence.distributions, evidence.figures, strict=True):
        entry: dict[str, object] = {"drawn": drawn, "figures": figures}
        if isinstance(drawn, Histogram):
            entry["picture"] = drawings.histogram(drawn) if drawn.edges else None
        else:
            entry["rows"] = bars_of(drawn)
        shown.append(entry)
    return shown


def bars_of(drawn: Frequencies) -> list[tuple[str, float | None, float, str]]:
    """Return for each bar: label, lengths before and after as shares of the longest bar, and CSS class."""
    before = drawn.before
    rows = [(label, None if before is None else before[i], drawn.after[i], "") for i, label in enumerate(drawn.labels)]
    if any(drawn.pooled):
        rows.append(("other values", None if before is None else drawn.pooled[0], drawn.pooled[1], "quiet"))
    if any(drawn.missing):
        rows.append(("missing", drawn.missing[0], drawn.missing[1], "quiet"))
    most = max([1, *(max(old or 0, new) for _, old, new, _ in rows)])
    return [(label, None if old is None else old / most, new / most, css) for label, old, new, css in rows]


def _moved(evidence: Evidence | None) -> dict[str, object] | None:
    """Return how much correlations changed, on average and for the pairs with the largest changes."""
    if evidence is None or evidence.correlations is None:
        return None
    table = evidence.correlations
    change = drawings.change_of(table)
    pairs = []
    for i, name in enumerate(table.names):
        for j in range(i):
            moved = change[i][j]
            if moved is not None:
                pairs.append((table.names[j], name, table.before[i][j], table.after[i][j], moved))
    if not pairs:
        return None
    pairs.sort(key=lambda pair: -abs(pair[-1]))
    return {"average": sum(abs(pair[-1]) for pair in pairs) / len(pairs), "pairs": pairs[:5], "change": change}


def _others(k: int) -> str:
    return f"{k - 1} other" if k == 2 else f"{k - 1} others"


def _percent(fraction: float | None) -> str:
    """Return a share that was rounded before, in per cent."""
    return "not told" if fraction is None else f"{100 * fraction:g}\N{NO-BREAK SPACE}%"


def _names(names: Sequence[str], most: int = 12) -> str:
    """Return names as an enumeration in a sentence."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
