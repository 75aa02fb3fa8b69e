"""The page of an assessment: one picture for each question, for the data holder."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from markupsafe import Markup

import shoal
from shoal.release.assessments.asking import NOT_ASKED
from shoal.release.report import drawings
from shoal.release.report.render import environment
from shoal.release.report.standing import Bar

if TYPE_CHECKING:
    from shoal.measure import Subgroups
    from shoal.release.assessments.assessment import Assessment
    from shoal.release.assessments.questions import Figure

# With more columns, a picture of all pairs cannot be read.
MOST_IN_MAP = 30


def render_assessment(assessment: Assessment) -> str:
    """Return the page as one HTML text; equal assessments give equal pages."""
    asked = {
        kind: [(question, _bars(question.figures)) for question in assessment.questions if question.kind == kind]
        for kind in ("risk", "utility")
    }
    return (
        environment()
        .get_template("assessment.html")
        .render(
            a=assessment,
            version=shoal.__version__,
            risk=asked["risk"],
            utility=asked["utility"],
            columns=_columns(assessment),
            left_out=[(name, why) for name, why in assessment.left_out if why != NOT_ASKED],
            relations=_map(assessment),
            subgroups=[(one, _paying(one)) for one in assessment.subgroups],
        )
    )


def _bars(figures: tuple[Figure, ...]) -> list[Bar]:
    """Return the bars of a question: shares of 1, other numbers as shares of the largest."""
    most = max((one.value for one in figures if not one.share and isfinite(one.value)), default=0.0)
    return [_bar(one, 1.0 if one.share else most) for one in figures]


def _bar(one: Figure, whole: float) -> Bar:
    low, high = (_length(end, whole) for end in one.interval) if one.interval is not None else (0.0, 0.0)
    return Bar(one.words, number_of(one), _length(one.value, whole), one.compare, interval_of(one), low, high)


def _length(value: float, whole: float) -> float:
    return min(1.0, max(0.0, value / whole)) if isfinite(value) and whole > 0 else 0.0


def number_of(figure: Figure) -> str:
    """Return a figure as it is shown: shares in per cent, others with three digits."""
    if not isfinite(figure.value):
        return "–"
    if figure.share:
        return _percent(figure.value)
    return drawings.signed(f"{figure.value:.3g}" if abs(figure.value) >= 1e-9 else "0")


def interval_of(figure: Figure) -> str:
    """Return the confidence interval of a figure as it is shown, "" if it has none."""
    if figure.interval is None or not all(map(isfinite, figure.interval)):
        return ""
    low, high = (number_of(figure._replace(value=end)) for end in figure.interval)
    return f"{low} to {high}"


def _percent(share: float) -> str:
    digits = ".3g" if share < 0.9995 else ".4g"
    return f"{100 * share:{digits}}\N{NO-BREAK SPACE}%" if abs(share) >= 1e-9 else "0\N{NO-BREAK SPACE}%"


def _columns(assessment: Assessment) -> list[tuple[str, str, list[Bar]]]:
    """Return pictures of what was lost column by column."""
    lost = assessment.columns
    pictures = []
    for title, words, values, share in (
        ("Distance", "mean distance of published numbers from the original ones (IL1s)", lost.loss, False),
        ("Variance", "variance that is left", lost.variance, True),
        ("Counts", "records that would have to move to make the table of counts equal", lost.counts, True),
    ):
        finite = {name: value for name, value in values.items() if isfinite(value)}
        most = 1.0 if share else max(finite.values(), default=0.0)
        bars = [
            Bar(name, _percent(value) if share else f"{value:.3g}", _length(value, most))
            for name, value in finite.items()
        ]
        if bars:
            pictures.append((title, words, bars))
    return pictures


def _map(assessment: Assessment) -> Markup | None:
    """Return the picture of how relations changed."""
    found = assessment.associations
    if found is None or not 1 < len(found.names) <= MOST_IN_MAP:
        return None
    change = [[round(float(value), 2) for value in row] for row in found.after - found.before]
    return drawings.heat_map(found.names, change, "Change of relations between columns")


def _paying(one: Subgroups) -> list[Bar]:
    finite = [loss for loss in one.losses if isfinite(loss)]
    most = max([*finite, one.whole], default=0.0)
    bars = [
        Bar(value or "all others", f"{loss:.3g}", _length(float(loss), most))
        for value, loss in zip(one.values, one.losses, strict=True)
        if isfinite(loss)
    ]
    return [*bars, Bar("all records", f"{one.whole:.3g}", _length(one.whole, most), compare=True)]
