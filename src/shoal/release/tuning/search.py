"""The search for the plan that has what is wanted at the lowest cost, with few plans carried out.

Plans that differ in k alone are a *line*. Along a line, the cost is expected to change in one direction, and so is each
figure that is wanted: linkage falls with k, the loss rises. Where that is so, the first plan of a line that has all
that is wanted is found by halving, and no other is better. It is an expectation and no theorem: all figures of a line
are compared with it, and where one goes against its direction, the plans around are tried until it cannot matter.

Three things are proven, and save runs without any expectation: what k alone ensures (`bounds.surely`), that a plan
loses more than the best one so far, and that it loses more than is wanted (`bounds.LeastLoss`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

from shoal.plan import WITHOUT_METHOD, Plan
from shoal.release.tuning.bounds import SLACK, limit, surely
from shoal.release.tuning.wants import Want
from shoal.release.tuning.yardsticks import Yardstick

if TYPE_CHECKING:
    from shoal.release.release import Release


@dataclass(frozen=True)
class Trial:
    """A plan that was carried out, and what came of it.

    Attributes
    ----------
    plan : Plan
    figures : {name: float or None}
        Those that are wanted, and the one that is minimised; None where one is not defined. Where a limit is proven and
        the figure cannot be measured, as for linkage to ranges, it is the limit.
    seconds : float
    met : bool
        Whether all that is wanted holds.
    missed : tuple of str
        What does not.
    why : str
        Why this plan was tried.
    error : str
        Why there is no release.
    """

    plan: Plan
    figures: Mapping[str, float | None]
    seconds: float
    met: bool
    missed: tuple[str, ...]
    why: str
    error: str = ""


@dataclass
class Outcome:
    """What a search found.

    Attributes
    ----------
    trials : list of Trial
        In the order in which they were tried.
    best : Trial or None
        The one with the lowest cost of those that have all that is wanted.
    release : Release or None
        Its release.
    notes : list of str
        On what the answer rests.
    """

    trials: list[Trial] = field(default_factory=list)
    best: Trial | None = None
    release: Release | None = None
    notes: list[str] = field(default_factory=list)


# Why a plan is tried.
MIDDLE = "in the middle of what is left"
BEFORE = "the plans before it had it here"
PREDICTED = "risks that fall as 1 / k have it here"
NEXT = "next to it"
SURE = "its k alone ensures it"
FIRST = "the cheapest of its kind"
AROUND = "figures around it are out of order"

# Carries out a plan and measures it: returns a trial without `met` and `missed`, and the release.
Run = Callable[[Plan, str], tuple[Trial, "Release | None"]]


class Search:
    """Searches lines of plans.

    Parameters
    ----------
    wants : sequence of Want
    cost : Yardstick
        What is minimised.
    run : callable
    least : callable
        Returns a proven lower bound on the loss of a plan.
    most : int
        How many plans are carried out at most.
    thorough : bool
        Whether every plan is tried that no proof excludes.
    """

    def __init__(
        self,
        wants: Sequence[Want],
        cost: Yardstick,
        run: Run,
        least: Callable[[Plan], float],
        *,
        most: int,
        thorough: bool = False,
    ) -> None:
        self.wants, self.cost, self.most, self.thorough = wants, cost, most, thorough
        self._run, self._least = run, least
        self.outcome = Outcome()
        self._tried: dict[int, dict[int, Trial]] = {}
        self._start: int | None = None  # the k at which the last line had what is wanted

    def search(self, lines: Sequence[Sequence[Plan]]) -> Outcome:
        """Return what was found in lines of plans, each with rising k."""
        for at, line in enumerate(lines):
            # From the end at which the cost is expected to be lowest.
            plans = list(reversed(line)) if self.cost.by_k == "falls" else list(line)
            self._tried[at] = {}
            ordered = self.cost.by_k and all(want.figure.by_k for want in self.wants)
            if self.thorough or not ordered:
                self._each(at, plans, "no proof excludes it" if self.thorough else "no order by k is known")
                continue
            self._halve(at, plans)
            against = self._against(at)
            if against:
                worst = max(against, key=lambda name: against[name])
                self.outcome.notes.append(
                    f"{in_words(plans[0])}: {worst} once changes along k against its direction, so that the plans "
                    "around were tried until they are further off than twice as much"
                )
                self._look_around(at, plans, against)
        if len(self.outcome.trials) >= self.most:
            self.outcome.notes.append(f"the search ended after {self.most} plans")
        return self.outcome

    # --- one line ---

    def _each(self, line: int, plans: Sequence[Plan], why: str) -> None:
        """Try every plan of a line that is not proven to be of no use."""
        for at, plan in enumerate(plans):
            if at not in self._tried[line] and not self._useless(plan):
                self._try(line, at, plan, why)

    def _halve(self, line: int, plans: Sequence[Plan]) -> None:
        """Find the first plan of a line that has what becomes easier along it."""
        easier = [
            want for want in self.wants if (want.figure.by_k == self.cost.by_k) == (want.figure.better == "higher")
        ]
        left, right = -1, len(plans)
        for at, plan in enumerate(plans):
            if easier and all(surely(want, plan) for want in easier):
                right = at
                break
        if not easier:
            right = 0
        sure, near, step = right, self._near(plans, self._start), 1
        why = MIDDLE if near is None else BEFORE
        while right - left > 1:
            at = (left + right) // 2 if near is None else min(max(near, left + 1), right - 1)
            plan = plans[at]
            if self._beaten(plan):
                right, near, why = at, None, MIDDLE
                continue
            trial = None if self._hopeless(plan, easier) else self._try(line, at, plan, why)
            if len(self.outcome.trials) >= self.most:
                return
            if trial is not None and trial.error:
                # A k that is too large for the table, as a rule: towards the smaller ones.
                left, right = (left, at) if plans[0].k <= plan.k else (at, right)
                near, why = None, MIDDLE
                continue
            holds = trial is not None and all(want.holds(trial.figures[want.figure.name]) for want in easier)
            left, right = (left, at) if holds else (at, right)
            guess = None if trial is None else self._predicted(plans, trial, easier)
            if guess is not None:
                near, why = guess, PREDICTED
            elif near is not None:
                near, step, why = (at - step if holds else at + step), 2 * step, NEXT
        if right < len(plans) and right not in self._tried[line] and not self._useless(plans[right]):
            self._try(line, right, plans[right], SURE if right == sure and easier else FIRST)
        found = self._tried[line].get(right)
        if found is not None and found.met:
            self._start = found.plan.k

    @staticmethod
    def _near(plans: Sequence[Plan], k: int | None) -> int | None:
        """Return the plan whose k is nearest."""
        return None if k is None else min(range(len(plans)), key=lambda at: abs(plans[at].k - k))

    def _predicted(self, plans: Sequence[Plan], trial: Trial, easier: Sequence[Want]) -> int | None:
        """Return the plan that probably is the first, if figures fall as 1 / k does."""
        needed = 0.0
        for want in easier:
            value = trial.figures[want.figure.name]
            if surely(want, trial.plan):
                continue
            if want.figure.proof != "1/k" or value is None or not want.number:
                return None
            needed = max(needed, trial.plan.k * value / want.number)
        if not needed or plans[0].k > plans[-1].k:
            return None
        return next((at for at, plan in enumerate(plans) if plan.k >= needed * (1 - SLACK)), len(plans) - 1)

    # --- what is known ---

    def _hopeless(self, plan: Plan, wants: Sequence[Want]) -> bool:
        """Return whether it is proven that a plan loses more than is wanted."""
        return any(want.figure.name == "loss" and self._least(plan) > want.number * (1 + SLACK) for want in wants)

    def _beaten(self, plan: Plan) -> bool:
        """Return whether it is proven that a plan, and every one with a larger k, costs more than the best one."""
        best = self.outcome.best
        if best is None:
            return False
        cost = best.figures[self.cost.name]
        return self.cost.name == "loss" and cost is not None and self._least(plan) > cost * (1 + SLACK)

    def _useless(self, plan: Plan) -> bool:
        return self._beaten(plan) or self._hopeless(plan, self.wants)

    def _against(self, line: int) -> dict[str, float]:
        """Return by how much figures change against the direction that is expected along k, where any does."""
        tried = sorted((trial for trial in self._tried[line].values() if not trial.error), key=lambda one: one.plan.k)
        found = {}
        for one in (*(want.figure for want in self.wants), self.cost):
            values = [trial.figures[one.name] for trial in tried]
            known = [value if one.by_k == "rises" else -value for value in values if value is not None]
            most = max((a - b for a, b in pairwise(known)), default=0.0)
            # What was demanded holds whatever k is.
            if most > 0 and one.source != "model":
                found[one.name] = most
        return found

    def _look_around(self, line: int, plans: Sequence[Plan], against: Mapping[str, float]) -> None:
        """Try the plans on both sides of the first one that has what is wanted, until the disorder cannot matter."""
        has = [at for at, trial in self._tried[line].items() if trial.met]
        first = min(has, default=len(plans) - 1)
        for at in range(first - 1, -1, -1):
            trial = self._tried[line].get(at) or self._look(line, at, plans[at])
            if trial is not None and not trial.met and self._far(trial, against):
                break
        for at in range(first + 1, len(plans)):
            if self._useless(plans[at]):
                break
            trial = self._tried[line].get(at) or self._look(line, at, plans[at])
            best = self.outcome.best
            if trial is None or best is None or trial.error:
                break
            if self._cost(trial) > self._cost(best) + 2 * against.get(self.cost.name, 0.0):
                break

    def _look(self, line: int, at: int, plan: Plan) -> Trial | None:
        return None if self._useless(plan) else self._try(line, at, plan, AROUND)

    def _far(self, trial: Trial, against: Mapping[str, float]) -> bool:
        """Return whether a plan lacks more of something wanted than twice what figures go against their direction."""
        for want in self.wants:
            value = trial.figures[want.figure.name]
            far = value is None or abs(value - want.number) > 2 * against.get(want.figure.name, 0.0)
            if far and not want.holds(value):
                return True
        return bool(trial.error)

    # --- one plan ---

    def _try(self, line: int, at: int, plan: Plan, why: str) -> Trial | None:
        if len(self.outcome.trials) >= self.most:
            return None
        trial, release = self._run(plan, why)
        if not trial.error:
            figures = dict(trial.figures)
            for want in self.wants:
                if figures[want.figure.name] is None:
                    figures[want.figure.name] = limit(want.figure, plan)
            missed = tuple(str(want) for want in self.wants if not want.holds(figures[want.figure.name]))
            defined = figures[self.cost.name] is not None
            trial = Trial(plan, figures, trial.seconds, not missed and defined, missed, why)
        self._tried[line][at] = trial
        self.outcome.trials.append(trial)
        if trial.met and self._cost(trial) < (inf if self.outcome.best is None else self._cost(self.outcome.best)):
            self.outcome.best, self.outcome.release = trial, release
        return trial

    def _cost(self, trial: Trial) -> float:
        value = trial.figures[self.cost.name]
        return inf if value is None else value


def in_words(plan: Plan, *, demands: bool = False) -> str:
    """Return the method and form of a plan in a few words, with its l and t if they are asked for."""
    parts = [named(plan.method, plan.release)]
    if demands:
        parts += [f"{name} = {value:g}" for name, value in (("l", plan.l), ("t", plan.t)) if value is not None]
    return ", ".join(parts)


def named(method: str, form: str) -> str:
    """Return a method with its form, unless that is the usual one; some forms have no method."""
    if form in WITHOUT_METHOD:
        return form
    return method if form == "microaggregation" else f"{method}, {form}"


def nearest(trials: Sequence[Trial], wants: Sequence[Want], cost: Yardstick) -> Trial | None:
    """Return the trial that lacks least of what is wanted; of several, the one with the lowest cost."""

    def lack(trial: Trial) -> tuple[float, float]:
        value = trial.figures[cost.name]
        return sum(want.short_by(trial.figures[want.figure.name]) for want in wants), inf if value is None else value

    return min((trial for trial in trials if not trial.error), key=lack, default=None)
