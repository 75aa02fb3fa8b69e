"""What is known of a plan before it is carried out: bounds that are proven, whatever its groups will be."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import ShoalError
from shoal.plan import Plan
from shoal.release.groups.blocks import Block, attribute_sets
from shoal.release.measures.bounds import bound_of
from shoal.release.preparation import prepare
from shoal.release.tuning.wants import Want
from shoal.release.tuning.yardsticks import Yardstick

if TYPE_CHECKING:
    from typing import Any

    from shoal.release.groups.coordinates import Coordinates
    from shoal.release.preparation import Prepared

# Bounds hold up to this relative error.
SLACK = 1e-6


def limit(figure: Yardstick, plan: Plan) -> float | None:
    """Return what a figure is at worst in every release of a plan; None if nothing is proven.

    Every row of a release is like at least k - 1 others in all quasi-identifiers. A link to its group, by any of them,
    is therefore right with a chance of at most 1 / k, and no set of them singles a record out. With several blocks
    this holds within each block only.
    """
    if plan.blocks != "joint" or not figure.proof:
        return None
    return {"1/k": 1 / plan.k, "k": float(plan.k), "0": 0.0}[figure.proof]


def surely(want: Want, plan: Plan) -> bool:
    """Return whether it is proven that every release of a plan has what is wanted.

    What is wanted of privacy models is demanded by the plan, and there is no release without it.
    """
    if want.figure.source == "model":
        return want.sign in ("<=", ">=") or want.figure.name == "l"
    return want.holds(limit(want.figure, plan))


class LeastLoss:
    """Lower bounds on the loss of plans that differ in k, method and form.

    Groups of at least k + 1 records are groups of at least k: the bound of a k holds for all larger ones too.

    Parameters
    ----------
    native : data frame
    text, decimal : bool, str
        Whether types are inferred from text, with this decimal mark.
    population : data frame or None
    """

    def __init__(self, native: Any, text: bool, decimal: str, population: Any) -> None:
        self._native, self._how = native, {"text": text, "decimal": decimal, "population": population}
        self._prepared: dict[str, tuple[Prepared, Coordinates] | None] = {}
        self._bounds: dict[tuple[str, int], float] = {}

    def __call__(self, plan: Plan) -> float:
        """Return a loss that no release of the plan goes below; 0 if none is known.

        There is none where records may be left out, which changes what the loss is a share of, nor with weights.
        """
        if plan.suppress or plan.release == "strongly-safe" or plan.weight is not None:
            return 0.0
        at = plan.release, plan.k
        if at not in self._bounds:
            smaller = (bound for (form, k), bound in self._bounds.items() if form == plan.release and k < plan.k)
            self._bounds[at] = max(self._bound(plan), *smaller, 0.0)
        return self._bounds[at]

    def _bound(self, plan: Plan) -> float:
        form = plan.release
        if form not in self._prepared:
            try:
                prepared = prepare(self._native, plan, **self._how)
                self._prepared[form] = prepared, prepared.embedded()
            except ShoalError:
                self._prepared[form] = None  # the plan will be refused for the same reason
        found = self._prepared[form]
        if found is None:
            return 0.0
        prepared, coordinates = found
        n = prepared.table.num_rows
        if not 2 <= plan.k <= n:
            return 0.0
        sets = attribute_sets(prepared.attributes, plan)
        blocks = [Block(tuple(names), (), np.zeros(n, np.int64), "", "") for names in sets]
        quick = plan.model_copy(update={"bound": "quick"})
        return bound_of(coordinates, blocks, quick, prepared.weights, inf) or 0.0
