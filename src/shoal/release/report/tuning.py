"""What notebooks show of a tuning: the answer, and the plans that were tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.release.report.render import environment
from shoal.release.tuning.search import in_words
from shoal.release.tuning.yardsticks import YARDSTICKS

if TYPE_CHECKING:
    from shoal.release.tuning.tuning import Tuning


def render_tuning(tuning: Tuning) -> str:
    """Return a part of a page, without scripts or style sheets; it is for the data holder."""
    shown = list(tuning.figures)
    rows = [
        {
            "k": one.plan.k,
            "plan": in_words(one.plan, demands=True),
            "figures": [YARDSTICKS[name].shown(one.figures.get(name)) for name in shown],
            "met": one.met,
            "error": one.error,
            "why": one.why,
            "best": one.met and one.plan == tuning.plan,
        }
        for one in tuning.evidence
    ]
    plan = tuning.nearest
    answer = "no plan could be carried out" if plan is None else f"k = {plan.k}, {in_words(plan, demands=True)}"
    page: str = environment().get_template("tuning.html").render(t=tuning, answer=answer, shown=shown, rows=rows)
    return page
