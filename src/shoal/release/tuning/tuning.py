"""`shoal.tune`: the plan whose release has a wanted risk at the lowest loss, with the evidence for it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from os import PathLike
from typing import TYPE_CHECKING, Any

from shoal.errors import DisclosureWarning, OptionError, ShoalError
from shoal.io import Source
from shoal.partitioning.registry import find as find_method
from shoal.plan import FORMS, WITHOUT_METHOD, Plan
from shoal.progress import Progress, drawn, throttled
from shoal.release.finished import source_of
from shoal.release.preparation import prepare
from shoal.release.run import release_of, shuffled
from shoal.release.tuning.bounds import LeastLoss, surely
from shoal.release.tuning.measuring import measuring_of
from shoal.release.tuning.search import Search, Trial, in_words, nearest
from shoal.release.tuning.wants import Want, demanded, wants_of
from shoal.release.tuning.yardsticks import Yardstick, minimised
from shoal.tables.inputs import count_of

if TYPE_CHECKING:
    from shoal.release.release import Release

# Methods that are tried if none is named: quick ones first, which show where to look.
METHODS = ("mdav", "ona*", "auto")
# Plans that are carried out at most.
MOST = 60


@dataclass(frozen=True, repr=False)
class Tuning:
    """The plan that was found, and every plan that was tried. For the data holder: do not publish it.

    Attributes
    ----------
    want : tuple of str
        What was wanted.
    minimise : str
        The figure that was minimised.
    plan : Plan or None
        The plan that has all that was wanted at the lowest cost; None if none has.
    figures : {name: float}
        Of the plan, or of the nearest one.
    nearest : Plan or None
        The plan that has all that was wanted, or lacks least of it.
    release : Release or None
        The release of the plan.
    evidence : tuple of Trial
        Every plan that was tried: with its figures, its seconds, what it lacks, and why it was tried.
    notes : tuple of str
        On what the answer rests.
    """

    want: tuple[str, ...]
    minimise: str
    plan: Plan | None
    figures: dict[str, float | None]
    nearest: Plan | None
    release: Release | None
    evidence: tuple[Trial, ...]
    notes: tuple[str, ...]

    @property
    def met(self) -> bool:
        """Return whether a plan has all that was wanted."""
        return self.plan is not None

    def __bool__(self) -> bool:
        return self.met

    def __repr__(self) -> str:
        plan = self.nearest
        where = "no plan" if plan is None else f"k = {plan.k}, {in_words(plan, demands=True)}"
        said = where if self.met else f"not met; nearest: {where}"
        listed = ", ".join(f"{name} {value:.3g}" for name, value in self.figures.items() if value is not None)
        return f"Tuning({', '.join(self.want)}: {said}; {listed}; {len(self.evidence)} plans tried)"

    def _repr_html_(self) -> str:
        """Return what notebooks show: the answer, and the plans that were tried."""
        from shoal.release.report.tuning import render_tuning

        return render_tuning(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "want": list(self.want),
            "minimise": self.minimise,
            "met": self.met,
            "plan": None if self.plan is None else self.plan.job(),
            "nearest": None if self.nearest is None else self.nearest.job(),
            "figures": dict(self.figures),
            "evidence": [
                {
                    "plan": one.plan.job(),
                    "figures": dict(one.figures),
                    "seconds": round(one.seconds, 3),
                    "met": one.met,
                    "missed": list(one.missed),
                    "why": one.why,
                    "error": one.error,
                }
                for one in self.evidence
            ],
            "notes": list(self.notes),
        }


def tune(
    table: Any,
    want: str | Sequence[str],
    *,
    minimise: str = "loss",
    k: int | Sequence[int] | None = None,
    method: str | Sequence[str] | None = None,
    plan: Plan | None = None,
    population: Any = None,
    thorough: bool = False,
    most: int = MOST,
    progress: Progress | bool | None = None,
    **fields: Any,
) -> Tuning:
    """Search the plan whose release has what is wanted at the lowest loss.

    Plans that differ in k, method, form and demands are carried out and measured, few of them: what k alone ensures,
    and what must lose more than the best plan so far, is known without a run, and the rest is found by halving, as
    long as figures change in one direction along k. The same call gives the same answer.

    Parameters
    ----------
    table : data frame, path or Source
    want : str or list of str
        Figures, each compared with a number: ``"linkage <= 0.02, l >= 3"``. What is wanted of l, t and other privacy
        models is demanded of every group.
    minimise : str
        The figure that is minimised.
    k : int, several or None
        Those to try. None: from 2 to half of the records, in steps of about a tenth.
    method : name, several or None
        Those to try. None: "mdav", "ona*" and "auto".
    plan : Plan or None
        What to release and how, in place of `fields`; its k is replaced.
    population : data frame or None
        People who may be in the table, for ``k_map`` and ``presence``.
    thorough : bool
        Whether to try every plan that no proof excludes, also where figures change in one direction.
    most : int
        How many plans are carried out at most.
    progress : callable, True or None
    **fields
        Those of :class:`shoal.Plan`, as :func:`shoal.anonymize` takes them. Several values of ``release``, ``l`` or
        ``t`` are tried one after the other.

    Returns
    -------
    Tuning
        With the ``plan``, its ``release`` and the ``evidence``. If no plan has what is wanted, ``met`` is False and
        ``nearest`` is the one that lacks least.

    Raises
    ------
    OptionError
        If a want cannot be understood.
    ShoalError
        If no plan can be carried out at all.

    Examples
    --------
    >>> import pyarrow as pa, shoal
    >>> people = pa.table({"age": [20, 21, 22, 40, 42, 44, 60, 61, 63], "pay": [1, 2, 1, 5, 4, 6, 9, 8, 8]})
    >>> found = shoal.tune(people, "linkage <= 0.34", method="mdav")
    >>> found.plan.k, round(found.figures["linkage"], 3)
    (3, 0.333)
    """
    wants, cost = wants_of(want), minimised(minimise)
    most = count_of(most, "most", "shoal.tune")
    listed = {name: _several(fields.pop(name)) for name in ("release", "l", "t") if fields.get(name) is not None}
    if plan is not None and (fields or listed):
        raise OptionError(f"With a plan, no other fields may be given. Got {next(iter({**fields, **listed}))!r}.")
    named_people = str(population) if isinstance(population, str | PathLike) else ""
    if population is not None:
        from shoal.release.groups.population import IN_MEMORY

        fields["population"] = named_people or IN_MEMORY
    base = Plan.of(**{**fields, **{name: values[0] for name, values in listed.items()}}) if plan is None else plan
    native, source = _native(table)
    people = None if named_people else population
    with drawn(progress, "tune") as report:
        return tuned(
            source,
            base,
            wants,
            cost,
            native=native,
            ks=_several(k),
            methods=_several(method),
            listed=listed,
            population=people,
            thorough=thorough,
            most=most,
            progress=report,
        )


def _several(given: Any) -> list[Any]:
    if given is None:
        return []
    many = isinstance(given, Iterable) and not isinstance(given, str)
    return list(dict.fromkeys(given)) if many else [given]


def _native(table: Any) -> tuple[Any, Source]:
    """Return the table as releases are made from it, and as figures are measured."""
    source = source_of(table, "the original", "shoal.tune")
    return (source.table if isinstance(table, str | PathLike | Source) else table), source


def tuned(
    source: Source,
    base: Plan,
    wants: Sequence[Want],
    cost: Yardstick,
    *,
    native: Any = None,
    ks: Sequence[int] = (),
    methods: Sequence[str] = (),
    listed: dict[str, list[Any]] | None = None,
    population: Any = None,
    thorough: bool = False,
    most: int = MOST,
    progress: Progress | None = None,
) -> Tuning:
    """Tune a table that was read; see :func:`tune`."""
    native = source.table if native is None else native
    how: dict[str, Any] = {"text": source.text, "decimal": source.decimal, "population": population}
    least = LeastLoss(native, source.text, source.decimal, population)
    runner = _Runner(native, source, how, [*(want.figure for want in wants), cost], throttled(progress))
    lines = _lines(native, base, wants, list(ks), list(methods), listed or {}, how)
    runner.expected = min(most, sum(min(len(line), 5) for line in lines))
    outcome = Search(wants, cost, runner, least, most=most, thorough=thorough).search(lines)
    best, release = outcome.best, outcome.release
    if runner.error is not None and all(trial.error for trial in outcome.trials):
        raise runner.error
    close = best or nearest(outcome.trials, wants, cost)
    chosen = None if best is None else best.plan
    if chosen is not None and release is not None and base.shuffle:
        # The rows that were measured: another run of a search may find other groups.
        chosen, release = chosen.model_copy(update={"shuffle": True}), shuffled(release)
    if release is not None:
        for words in release.warnings:
            warnings.warn(words, DisclosureWarning, stacklevel=4)
    notes = [*outcome.notes, *_refused(outcome.trials), *_grounds(lines, best, cost, least, thorough)]
    return Tuning(
        want=tuple(map(str, wants)),
        minimise=cost.name,
        plan=chosen,
        figures={} if close is None else dict(close.figures),
        nearest=chosen or (None if close is None else close.plan),
        release=release,
        evidence=tuple(outcome.trials),
        notes=tuple(notes),
    )


def _refused(trials: Sequence[Trial]) -> list[str]:
    """Return why plans were refused, where some were: that of the smallest k."""
    first = min((trial for trial in trials if trial.error), key=lambda trial: trial.plan.k, default=None)
    return (
        [] if first is None else [f"k = {first.plan.k} was refused: {first.error.partition(' Hint: ')[0].rstrip('.')}"]
    )


def _grounds(
    lines: Sequence[Sequence[Plan]], best: Trial | None, cost: Yardstick, least: LeastLoss, thorough: bool
) -> list[str]:
    """Return on what it rests that no other plan is better."""
    notes = []
    value = None if best is None else best.figures[cost.name]
    if best is not None and value is not None and cost.name == "loss":
        larger = [plan for line in lines for plan in line if plan.release == best.plan.release and plan.k > best.plan.k]
        beaten = [plan.k for plan in sorted(larger, key=lambda plan: plan.k) if least(plan) > value]
        if beaten:
            notes.append(f"from k = {beaten[0]} on, no groups whatever lose as little: that is proven")
    if not thorough:
        notes.append(
            "between the k that were tried, figures are taken to change in the direction in which they do at those; "
            "thorough (--thorough) tries them all"
        )
    return notes


class _Runner:
    """Carries out plans and measures their figures."""

    def __init__(
        self, native: Any, source: Source, how: dict[str, Any], figures: Sequence[Yardstick], report: Progress
    ) -> None:
        self._native, self._source, self._how, self._report = native, source, how, report
        self._figures = list(dict.fromkeys(figures))
        self._done, self.expected = 0, 1
        self.error: ShoalError | None = None

    def __call__(self, plan: Plan, why: str) -> tuple[Trial, Release | None]:
        start = time.perf_counter()
        release, figures, error = None, dict.fromkeys(one.name for one in self._figures), ""
        try:
            release = self.carried_out(plan)
            figures = measuring_of(release, self._source).figures(self._figures)
        except ShoalError as refused:
            self.error, error = self.error or refused, str(refused)
        self._done += 1
        self._report(min(0.99, self._done / self.expected))
        return Trial(plan, figures, time.perf_counter() - start, False, (), why, error), release

    def carried_out(self, plan: Plan) -> Release:
        """Return the release of a plan; its warnings are for later."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DisclosureWarning)
            release = release_of(self._native, plan, **self._how)
        # As `anonymize_file` does: a table that was read is written back as it was.
        return replace(release, source=self._source) if self._native is self._source.table else release


def _lines(
    native: Any,
    base: Plan,
    wants: Sequence[Want],
    ks: list[int],
    methods: list[str],
    listed: dict[str, list[Any]],
    how: dict[str, Any],
) -> list[list[Plan]]:
    """Return the plans to try: lines of plans that differ in k alone."""
    for name in methods:
        if name != "auto":
            find_method(name)
    forms = listed.get("release") or [base.release]
    tried = methods or ([base.method] if base.method != "auto" else list(METHODS))
    if base.refine is not None or base.options:
        tried = methods or [base.method]
    # Refuses columns and types as `anonymize` does, before anything is tried.
    n = prepare(native, _plan(base, 2, tried[0], forms[0], wants, {}), **how).table.num_rows
    lines = []
    for form, l, t in product(forms, listed.get("l") or [base.l], listed.get("t") or [base.t]):  # noqa: E741
        demands = {"l": l, "t": t}
        for name in tried if form not in WITHOUT_METHOD else tried[-1:]:
            plans = [_plan(base, k, name, form, wants, demands) for k in sorted(ks or _ladder(n, base, wants))]
            lines.append(plans)
    return lines


def _ladder(n: int, base: Plan, wants: Sequence[Want]) -> list[int]:
    """Return every k up to 10 and then steps of about a tenth, to half of the records or to what ensures all wants."""
    least = max([2, *(_least(want.number) for want in wants if want.figure.name == "k")])
    most = max(n // 2, 2)
    if wants and all(want.figure.proof or want.figure.source == "model" for want in wants):
        most = next(
            (k for k in range(2, most) if all(surely(want, base.model_copy(update={"k": k})) for want in wants)), most
        )
    rungs, k = {most}, 2
    while k < most:
        rungs.add(k)
        k += max(1, k // 10)
    return sorted({least, *(k for k in rungs if k >= least)})


def _least(number: float) -> int:
    return int(number) + (number > int(number))


def _plan(base: Plan, k: int, method: str, form: str, wants: Sequence[Want], demands: dict[str, Any]) -> Plan:
    """Return the plan with another k, method and form, and with the demands that are wanted."""
    if form not in FORMS:
        from shoal.release.comparison import known_form

        known_form(form)
    given = base.model_dump(mode="json", exclude_unset=True)
    own = {name: value for name, value in demands.items() if value is not None}
    options = base.options if method == base.method else {}
    changed: dict[str, Any] = {"k": k, "method": method, "options": options, "release": form, "shuffle": False, **own}
    if form == "microaggregation" != base.release:
        changed["outward"] = {}  # typical values have no ends
    if form in WITHOUT_METHOD:
        changed["method"] = "auto"
    elif base.random_state is None and method != "auto" and find_method(method).random:
        changed["random_state"] = 0
    return demanded(Plan.of(**{**given, **changed}), wants)
