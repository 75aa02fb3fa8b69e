"""Turns demands on sensitive attributes into the arrays that partitioning takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shoal.arrays import Array
from shoal.kernels import rules as _rules
from shoal.partitioning.requirements import Requirements, Tally
from shoal.privacy.closeness import TCloseness
from shoal.privacy.demands import Demand, offending
from shoal.privacy.diversity import (
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    PSensitive,
    RecursiveDiversity,
)
from shoal.privacy.frequencies import AlphaFrequency, BetaLikeness, DeltaDisclosure, EnhancedBetaLikeness
from shoal.privacy.model import TOLERANCE, SensitiveModel
from shoal.privacy.spectrum import Line, Sensitive, Tree, spectrum_of
from shoal.privacy.tally import DemandTally, local
from shoal.tables.sensitive import grounded

RULES: dict[type[SensitiveModel], int] = {
    KAnonymity: _rules.SIZE,
    DistinctDiversity: _rules.DISTINCT,
    PSensitive: _rules.DISTINCT,
    EntropyDiversity: _rules.ENTROPY,
    RecursiveDiversity: _rules.RECURSIVE,
    AlphaFrequency: _rules.ALPHA,
    DeltaDisclosure: _rules.DELTA,
    BetaLikeness: _rules.BETA,
    EnhancedBetaLikeness: _rules.ENHANCED,
}
"""Models whose rules do not depend on distances between values."""


class _Rule(NamedTuple):
    """The rule of one demand; see `Rules` for its fields."""

    kind: int
    extra: float
    codes: Array
    values: int
    nodes: int
    table: Array
    tree: Array
    shift: int = 0


def requirements_of(X: Array, k: int, demands: Sequence[Demand], *, rows: Array | None = None) -> Requirements:
    """Return demands in the form that partitioning takes.

    Parameters
    ----------
    X : float64[n, d]
        Coordinates of one stratum.
    k : int
    demands : sequence of Demand
        At least one, on attributes of the whole table.
    rows : int64[n] or None
        The records of the table in X; None for all.
    """
    alone = local(demands)

    def falls_short(at: Array, labels: Array) -> Array:
        # Coordinates of millions of records are copied only for models that look at the surroundings of a group.
        around = None if alone else X[at]
        few: Array = np.bincount(labels) < k
        return few | offending(labels, demands, at if rows is None else rows[at], around)

    def tally(labels: Array) -> Tally:
        return DemandTally(labels, demands, rows)

    def among(some: Array) -> Requirements:
        return requirements_of(X[some], k, demands, rows=some if rows is None else rows[some])

    return Requirements(rules_of(demands, rows), falls_short, tally, alone, among)


def of_units(units: Array, k: int) -> Demand:
    """Return the demand that every group has at least k units (int64[n], of the whole table)."""
    numbers = np.unique(units, return_inverse=True)[1].astype(np.int64)
    return Demand(DistinctDiversity(k), Sensitive("unit", numbers, int(numbers.max()) + 1))


def rules_of(demands: Sequence[Demand], rows: Array | None = None) -> _rules.Rules | None:
    """Return demands in the form that kernels take, for some records of the table; None if one has no rule.

    The limits are slightly stricter than those of the models, so that rounding cannot make a model refuse what a kernel
    allows.
    """
    candidates = [_rule(demand) for demand in demands]
    rules = [_with_units(rule, demand) for rule, demand in zip(candidates, demands, strict=True) if rule is not None]
    if len(rules) < len(candidates):
        return None
    limits = [_limit(demand) for demand in demands]
    codes = [rule.codes if rows is None else rule.codes[rows] for rule in rules]
    tables, trees = [rule.table for rule in rules], [rule.tree for rule in rules]
    return _rules.Rules(
        codes=np.ascontiguousarray(np.stack(codes), np.int64),
        shifts=np.array([rule.shift for rule in rules]),
        kinds=np.array([rule.kind for rule in rules]),
        limits=np.array(limits, float),
        extras=np.array([rule.extra for rule in rules], float),
        values=np.array([rule.values for rule in rules]),
        nodes=np.array([rule.nodes for rule in rules]),
        starts=np.cumsum([0, *map(len, tables[:-1])]),
        table=np.concatenate(tables),
        links=np.cumsum([0, *map(len, trees[:-1])]),
        tree=np.concatenate(trees),
    )


def _with_units(rule: _Rule, demand: Demand) -> _Rule:
    """Return the rule with the unit of each record in the lowest bits of its code, if units are counted."""
    units = demand.sensitive.units
    if units is None:
        return rule
    shift = max(1, int(units.max()).bit_length())
    return rule._replace(codes=(rule.codes << shift) | units, shift=shift)


def _limit(demand: Demand) -> float:
    model = demand.model
    if isinstance(model, RecursiveDiversity):
        return float(np.nextafter(model.c, 0.0)) if demand.sensitive.units is None else model.c * (1 - 1e-6)
    slack = 0.5 * TOLERANCE * max(1.0, abs(model.required))
    return model.required - slack if model.rising else model.required + slack


def _rule(demand: Demand) -> _Rule | None:
    """Return the rule of one demand, None if there is none."""
    model, sensitive = demand
    everyone = spectrum_of(np.zeros(len(sensitive.codes), np.int64), sensitive)
    whole, absent = everyone.whole, everyone.whole_missing
    extra = float(getattr(model, "l", getattr(model, "beta", 0.0)))
    nothing = np.empty(0), np.empty(0, np.int64)
    if isinstance(model, TCloseness):
        ground = grounded(sensitive.ground, sensitive.values, model.ground)
        if ground is None and len(whole) == 2 and absent == 0:
            # Two values always lie on a line, and changes along a line are judged by two numbers.
            ground = Line(np.array([0.0, 1.0]))
        if isinstance(ground, Line) and len(whole):
            return _on_a_line(sensitive, whole, absent, ground)
        if isinstance(ground, Tree):
            return _in_a_tree(sensitive, whole, absent, ground)
        return _compared(_rules.EQUAL, extra, sensitive, whole, absent)
    rule = RULES.get(type(model))
    if rule is None:
        return None
    if rule in (_rules.DELTA, _rules.BETA, _rules.ENHANCED):
        return _compared(rule, extra, sensitive, whole, absent)
    return _Rule(rule, extra, sensitive.codes, len(whole), 0, *nothing)


def _with_missing(sensitive: Sensitive, whole: Array, absent: float) -> tuple[Array, Array]:
    """Return codes and shares with missing as an additional last value."""
    counts = np.append(whole, absent)
    return np.where(sensitive.codes < 0, len(whole), sensitive.codes), counts / max(1.0, float(counts.sum()))


def _compared(rule: int, extra: float, sensitive: Sensitive, whole: Array, absent: float) -> _Rule:
    codes, shares = _with_missing(sensitive, whole, absent)
    return _Rule(rule, extra, codes, int(np.count_nonzero(shares)), 0, shares, np.empty(0, np.int64))


def _on_a_line(sensitive: Sensitive, whole: Array, absent: float, line: Line) -> _Rule:
    known = float(whole.sum()) or 1.0
    reached = np.cumsum(whole) / known
    areas = np.concatenate(([0.0], np.cumsum(reached[:-1] * np.diff(line.positions))))
    shares = whole / known
    apart = np.abs(line.positions - line.positions[np.searchsorted(reached, 0.5)])
    figures = [absent / max(1.0, float(whole.sum()) + absent), float(shares @ line.positions), float(shares @ apart)]
    table = np.concatenate([line.positions, reached, areas, apart, figures])
    return _Rule(_rules.LINE, 0.0, sensitive.codes, len(whole), 0, table, np.empty(0, np.int64))


def _in_a_tree(sensitive: Sensitive, whole: Array, absent: float, tree: Tree) -> _Rule:
    """Return the rule for values with a hierarchy; missing is an additional node, far from all others."""
    codes, shares = _with_missing(sensitive, whole, absent)
    parents, leaves = np.append(tree.parents, -1), np.append(tree.leaves, len(tree.parents))
    weights = np.append(np.where(tree.parents < 0, 0.0, tree.heights[tree.parents] - tree.heights), 1.0)
    below = np.bincount(leaves, shares, len(parents))
    for node in range(len(parents) - 1, -1, -1):
        if parents[node] >= 0:
            below[parents[node]] += below[node]
    table = np.concatenate([weights, below, [float(weights @ below)]])
    return _Rule(_rules.TREE, 0.0, codes, len(shares), len(parents), table, np.concatenate([parents, leaves]))
