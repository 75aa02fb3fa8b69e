"""Compares methods and forms of release on the same table: loss, time and group sizes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from shoal.errors import OptionError, ShoalError, near_names
from shoal.measure.bounds import gap
from shoal.partitioning.registry import find, find_refinement
from shoal.partitioning.run import partition
from shoal.plan import FORMS, Plan
from shoal.progress import Progress, part, silent
from shoal.release.groups.blocks import Block
from shoal.release.groups.coordinates import Coordinates
from shoal.release.groups.forms import BY_CELLS, NO_PLACE
from shoal.release.groups.grouping import Constraints, settled
from shoal.release.measures.bounds import bound_of
from shoal.release.measures.losses import losses
from shoal.release.measures.utility import utility_of
from shoal.release.preparation import Prepared, prepare
from shoal.release.suppression import Formed, formed

# Runs of fewer seconds are repeated, and the shorter time counts.
SHORT = 1.0
# Time limit of a search that only compiles kernels, in seconds.
WARMING = 0.01


class Trial(NamedTuple):
    """One method at one k, in one form of release.

    Attributes
    ----------
    method : str
    k : int
    chosen : str
        What ``auto`` chose; otherwise the method.
    loss : float or None
        SSE / SST over all quasi-identifiers; None if the method failed.
    gap : float or None
        Upper limit on how far the loss is above the best possible, as a fraction of it; None if unknown.
    seconds : float or None
        Time of partitioning alone, without compiling.
    groups : int or None
    smallest, largest : int or None
    mean : float or None
        Group sizes, over all blocks.
    error : str
        Why the method failed on this table.
    form : str
        Form of the release: "microaggregation", ..
    removed : int or None
        Records that are left out; the loss does not include them.
    discernability, average_group_size, certainty_penalty, certainty_penalty_total, total_information_loss
        See :class:`shoal.release.measures.utility.Utility`; all of them include removed records.
    figures : {name: float or None} or None
        What else was measured of it.
    """

    method: str
    k: int
    chosen: str
    loss: float | None = None
    gap: float | None = None
    seconds: float | None = None
    groups: int | None = None
    smallest: int | None = None
    largest: int | None = None
    mean: float | None = None
    error: str = ""
    form: str = "microaggregation"
    removed: int | None = None
    discernability: int | None = None
    average_group_size: float | None = None
    certainty_penalty: float | None = None
    certainty_penalty_total: float | None = None
    total_information_loss: float | None = None
    figures: Mapping[str, float | None] | None = None

    def plain(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {name: value for name, value in self._asdict().items() if name != "figures" or value is not None}


Measure = Callable[[Formed], Mapping[str, float | None]]


def compare_methods(
    native: Any,
    plan: Plan,
    methods: Sequence[str],
    ks: Sequence[int],
    *,
    forms: Sequence[str] | None = None,
    text: bool = False,
    decimal: str = ".",
    progress: Progress = silent,
    measure: Measure | None = None,
) -> Iterator[Trial]:
    """Compare methods and forms of release on the coordinates that a release would be made from.

    Parameters
    ----------
    native : data frame
    plan : Plan
        Its method, k and form are replaced. Its `cells` are those of a strongly-safe release.
    methods : names
    ks : smallest group sizes
    forms : names or None
        Forms of release; None for that of the plan.
    text : bool
        Whether types are inferred from text, with this `decimal` mark.
    progress : callable
    measure : callable or None
        Returns figures of groups that were formed, for `Trial.figures`. It is called for each form.

    Yields
    ------
    Trial
        For each k, form and method; strongly-safe and full-domain releases have no method. Those that fail contain the
        reason.
    """
    if plan.dp is not None:
        raise OptionError(
            "The plan of compare_methods must have no dp. Got one.",
            hint="shoal.release.private.comparison.compare_private compares private releases.",
        )
    wanted = [known_form(form) for form in dict.fromkeys(forms or [plan.release])]
    steps = len(ks) * sum(1 if form in BY_CELLS else len(methods) for form in wanted)
    done = 0
    for k in ks:
        trials: list[Trial] = []
        best: _Best | None = None
        trials_by_form: dict[str, list[Trial]] = {}
        for form in wanted:
            # Microaggregation and local recoding form the same groups of the same width, unless groups must match a
            # population, or ranges are made wider.
            same = plan.population is None and not plan.outward
            # Figures depend on what is published as well.
            same = same and measure is None
            grouped_as = "local-recoding" if form == "microaggregation" and same else form
            report = part(progress, done / steps, (done + (1 if form in BY_CELLS else len(methods))) / steps)
            done += 1 if form in BY_CELLS else len(methods)
            if form in BY_CELLS:
                trials.append(_trial_by_cells(native, planned(plan, "auto", k, form), text, decimal, measure))
                continue
            if grouped_as not in trials_by_form:
                prepared = prepare(native, planned(plan, plan.method, k, form), text=text, decimal=decimal)
                trials_by_form[grouped_as], candidate = _trials(prepared, methods, report, measure)
                best = min(filter(None, (best, candidate)), key=lambda groups: groups.loss, default=None)
            trials += [trial._replace(form=form) for trial in trials_by_form[grouped_as]]
        bound = None
        if best is not None:
            bound = bound_of(best.coordinates, best.blocks, best.prepared.plan, best.prepared.weights, best.loss)
        for trial in trials:
            yield trial if trial.form in BY_CELLS else trial._replace(gap=_gap(trial.loss, bound))


def known_form(form: str) -> str:
    """Return a form of release, or refuse one that Shoal does not know."""
    if form not in FORMS:
        hint = near_names(form, FORMS, f"one of {', '.join(FORMS)}.")
        raise OptionError(f"A form of release must be one that Shoal knows. Got {form!r}.", hint=hint)
    return form


class _Best(NamedTuple):
    """The groups with the lowest loss, for which the bound is computed."""

    loss: float
    blocks: list[Block]
    prepared: Prepared
    coordinates: Coordinates


def _trials(
    prepared: Prepared, methods: Sequence[str], progress: Progress, measure: Measure | None
) -> tuple[list[Trial], _Best | None]:
    """Return the trials of methods, without their gaps, and the best groups."""
    coordinates = prepared.embedded()
    trials: list[Trial] = []
    best: _Best | None = None
    for at, method in enumerate(methods):
        report = part(progress, at / len(methods), (at + 1) / len(methods))
        trial, groups = _trial(prepared, coordinates, method, report)
        trials.append(trial if measure is None or groups is None else trial._replace(figures=measure(groups)))
        if trial.loss is not None and groups is not None and (best is None or trial.loss < best.loss):
            best = _Best(trial.loss, groups.blocks, groups.prepared, groups.coordinates)
    return trials, best


def _trial_by_cells(native: Any, plan: Plan, text: bool, decimal: str, measure: Measure | None) -> Trial:
    """Return the trial of a form without a method."""
    name = BY_CELLS[plan.release]
    try:
        prepared = prepare(native, plan, text=text, decimal=decimal)
        coordinates = prepared.embedded()
        groups, seconds = _timed(prepared, coordinates, plan, silent)
    except ShoalError as error:
        return Trial(name, plan.k, name, error=str(error), form=plan.release)
    seconds += prepared.watch.seconds.get("partitioning", 0.0)
    trial = _measured(groups, name, seconds)
    return trial if measure is None else trial._replace(figures=measure(groups))


def _gap(loss: float | None, bound: float | None) -> float | None:
    if loss is None or bound is None:
        return None
    relative = gap(loss, bound)
    return relative if isfinite(relative) else None


def planned(plan: Plan, method: str, k: int, form: str) -> Plan:
    """Return the plan with another method, k and form, and without fields that do not apply to them."""
    if form in BY_CELLS:
        demands = ("l", "t", "models", "enforcement", "population", "k_map", "presence", "blocks", "small_strata")
        named = [field for field in NO_PLACE[form] if field not in demands]
        plain = {name: Plan.model_fields[name].default for name in named}
        cells = plan.cells if "suppress" in NO_PLACE[form] else {}
        return plan.model_copy(update={**plain, "k": k, "release": form, "cells": cells})
    options = plan.options if method == plan.method else {}
    timed = method == "auto" or find(method).timed or (plan.refine is not None and find_refinement(plan.refine).timed)
    limit = plan.time_limit if timed else None
    update = {"k": k, "method": method, "options": options, "time_limit": limit, "release": form, "cells": {}}
    if form == "microaggregation" != plan.release:
        update["outward"] = {}  # typical values have no ends
    return plan.model_copy(update=update)


def _trial(
    prepared: Prepared, coordinates: Coordinates, method: str, progress: Progress
) -> tuple[Trial, Formed | None]:
    """Return the trial of one method, without its gap, and its groups."""
    plan = planned(prepared.plan, method, prepared.plan.k, prepared.plan.release)
    try:
        _warm_up(coordinates, plan, prepared.constraints)
        groups, seconds = _timed(prepared, coordinates, plan, progress)
        if seconds < SHORT:
            # The first run may have included loading; a method without random numbers returns the same labels.
            groups, again = _timed(prepared, coordinates, plan, progress)
            seconds = min(seconds, again)
    except ShoalError as error:
        return Trial(method, plan.k, method, error=str(error), form=plan.release), None
    return _measured(groups, method, seconds), groups


def _measured(groups: Formed, method: str, seconds: float) -> Trial:
    """Return the trial of these groups, without its gap."""
    prepared, coordinates, blocks = groups.prepared, groups.coordinates, groups.blocks
    labels = {name: block.labels for block in blocks for name in block.attributes}
    sizes = np.concatenate([np.bincount(block.labels) for block in blocks])
    utility = utility_of(prepared.reads, blocks, prepared.plan.k, prepared.left_out)
    return Trial(
        method,
        prepared.plan.k,
        " / ".join(dict.fromkeys(block.method for block in blocks)),
        loss=losses(coordinates, labels, prepared.weights).total,
        seconds=seconds,
        groups=len(sizes),
        smallest=int(sizes.min()),
        largest=int(sizes.max()),
        mean=float(sizes.mean()),
        form=prepared.plan.release,
        removed=prepared.rows_removed,
        discernability=utility.discernability,
        average_group_size=utility.average_group_size,
        certainty_penalty=utility.certainty_penalty,
        certainty_penalty_total=utility.certainty_penalty_total,
        total_information_loss=utility.total_information_loss,
    )


def _timed(prepared: Prepared, coordinates: Coordinates, plan: Plan, progress: Progress) -> tuple[Formed, float]:
    start = time.perf_counter()
    groups = formed(prepared, coordinates, plan, progress)
    return groups, time.perf_counter() - start


def _warm_up(coordinates: Coordinates, plan: Plan, constraints: Constraints) -> None:
    """Run a method on a few records, so that its kernels are compiled before it is timed."""
    X = coordinates.together()
    n, d = X.shape
    chosen = settled(plan, n, d, constraints).plan
    method, options = chosen.method, chosen.options
    few = np.ascontiguousarray(X[: max(4 * plan.k, 30)])
    if method == "exact":
        return
    timed = find(method).timed or (plan.refine is not None and find_refinement(plan.refine).timed)
    limit = WARMING if timed else None
    # Errors are reported when the method runs on the whole table, block by block.
    with suppress(ShoalError):
        partition(
            few, plan.k, method, refine=plan.refine, time_limit=limit, random_state=0, n_jobs=plan.n_jobs, **options
        )
