"""Methods compared on the same table: what each of them loses, how long it takes, and how large its groups are."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from shoal.errors import ShoalError
from shoal.measure.bounds import gap
from shoal.partitioning.registry import find, find_refinement
from shoal.partitioning.run import partition
from shoal.plan import Plan
from shoal.progress import Progress, part, silent
from shoal.release.blocks import Block
from shoal.release.bounds import bound_of
from shoal.release.coordinates import Coordinates
from shoal.release.grouping import Demands, settled
from shoal.release.losses import losses
from shoal.release.preparation import Prepared, prepare

Array = np.ndarray[Any, Any]
# Runs of fewer seconds are made twice, and the shorter one counts.
SHORT = 1.0
# Seconds of a search that is made only to have its kernels ready.
WARMING = 0.01


class Trial(NamedTuple):
    """One method at one k.

    Attributes
    ----------
    method : str
    k : int
    chosen : str
        What ``auto`` stood for; otherwise the method.
    loss : float or None
        SSE / SST over all quasi-identifiers; None if the method cannot be used.
    gap : float or None
        By how much that is above the best possible at most, as a fraction of it; None if nothing is known.
    seconds : float or None
        Of partitioning alone, without compiling.
    groups : int or None
    smallest, largest : int or None
    mean : float or None
        Sizes of groups, of all blocks together.
    error : str
        Why the method cannot be used here.
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


def compare(
    native: Any,
    plan: Plan,
    methods: Sequence[str],
    ks: Sequence[int],
    *,
    text: bool = False,
    decimal: str = ".",
    progress: Progress = silent,
) -> Iterator[Trial]:
    """Try methods on the coordinates that a release would be made from.

    Parameters
    ----------
    native : data frame
    plan : Plan
        Everything but the method and k, which are replaced.
    methods : names
    ks : least group sizes
    text : bool
        Whether types are read out of text, with this `decimal` mark.
    progress : callable

    Yields
    ------
    Trial
        For each k, for each method. A method that cannot be used on this table says why.
    """
    count = len(methods) * len(ks)
    for at, k in enumerate(ks):
        prepared = prepare(native, _planned(plan, plan.method, k), text=text, decimal=decimal)
        coordinates = prepared.embedded()
        trials: list[Trial] = []
        best: tuple[float, list[Block]] | None = None
        for place, method in enumerate(methods, at * len(methods)):
            trial, blocks = _trial(prepared, coordinates, method, part(progress, place / count, (place + 1) / count))
            trials.append(trial)
            if trial.loss is not None and (best is None or trial.loss < best[0]):
                best = trial.loss, blocks
        bound = None
        if best is not None:
            bound = bound_of(coordinates, best[1], prepared.plan, prepared.weights, best[0])
        for trial in trials:
            yield trial._replace(gap=_gap(trial.loss, bound))


def _gap(loss: float | None, bound: float | None) -> float | None:
    if loss is None or bound is None:
        return None
    found = gap(loss, bound)
    return found if isfinite(found) else None


def _planned(plan: Plan, method: str, k: int) -> Plan:
    options = plan.options if method == plan.method else {}
    timed = method == "auto" or find(method).timed or (plan.refine is not None and find_refinement(plan.refine).timed)
    limit = plan.time_limit if timed else None
    return plan.model_copy(update={"k": k, "method": method, "options": options, "time_limit": limit})


def _trial(prepared: Prepared, coordinates: Coordinates, method: str, progress: Progress) -> tuple[Trial, list[Block]]:
    """Return the trial of one method, without its gap, and its groups."""
    plan = _planned(prepared.plan, method, prepared.plan.k)
    try:
        _warm_up(coordinates, plan, prepared.demands)
        blocks, seconds = _timed(prepared, coordinates, plan, progress)
        if seconds < SHORT:
            # The first run may have loaded something; the labels are the same if the method does not draw at random.
            blocks, again = _timed(prepared, coordinates, plan, progress)
            seconds = min(seconds, again)
    except ShoalError as error:
        return Trial(method, plan.k, method, error=str(error)), []
    labels = {name: block.labels for block in blocks for name in block.attributes}
    sizes = np.concatenate([np.bincount(block.labels) for block in blocks])
    trial = Trial(
        method,
        plan.k,
        " / ".join(dict.fromkeys(block.method for block in blocks)),
        loss=losses(coordinates, labels, prepared.weights).total,
        seconds=seconds,
        groups=len(sizes),
        smallest=int(sizes.min()),
        largest=int(sizes.max()),
        mean=float(sizes.mean()),
    )
    return trial, blocks


def _timed(prepared: Prepared, coordinates: Coordinates, plan: Plan, progress: Progress) -> tuple[list[Block], float]:
    start = time.perf_counter()
    blocks = prepared.partitioned(coordinates, plan, progress)
    return blocks, time.perf_counter() - start


def _warm_up(coordinates: Coordinates, plan: Plan, demands: Demands) -> None:
    """Run a method on a few records, so that its kernels are there when time is taken."""
    X = coordinates.together()
    n, d = X.shape
    chosen = settled(plan, n, d, demands)[0]
    method, options = chosen.method, chosen.options
    few = np.ascontiguousarray(X[: max(4 * plan.k, 30)])
    if method == "exact":
        return
    timed = find(method).timed or (plan.refine is not None and find_refinement(plan.refine).timed)
    limit = WARMING if timed else None
    # What is wrong with the method is said when it is run on the whole table, block by block.
    with suppress(ShoalError):
        partition(
            few, plan.k, method, refine=plan.refine, time_limit=limit, random_state=0, n_jobs=plan.n_jobs, **options
        )
