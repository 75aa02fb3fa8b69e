"""The map of risk and cost: an SVG image with the front, and its page for the data holder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

import shoal
from shoal.release.report.drawings import signed
from shoal.release.report.render import environment

if TYPE_CHECKING:
    from shoal.release.front import Comparison, Point
    from shoal.release.tuning.yardsticks import Yardstick

WIDTH, HEIGHT = 860.0, 520.0
LEFT, RIGHT, TOP, BASE = 66.0, 24.0, 42.0, 462.0
# The width of a letter of a name, its height, and how far from its point it stands.
LETTER, LINE, AWAY = 6.4, 14.0, 10.0
TICKS = 6

Box = tuple[float, float, float, float]


def render_map(comparison: Comparison[Any]) -> str:
    """Return the page of a comparison; equal comparisons give equal pages."""
    points = comparison.points
    page: str = (
        environment()
        .get_template("map.html")
        .render(
            version=shoal.__version__,
            drawing=draw_map(points, comparison.risk, comparison.utility),
            points=points,
            left_out=comparison.left_out,
            risk=comparison.risk,
            utility=comparison.utility,
        )
    )
    return page


def draw_map(points: Sequence[Point], risk: Yardstick, utility: Yardstick) -> Markup:
    """Draw points by their cost, to the right, and their risk, upwards; the front is a line of steps."""
    across, upward = _ticks([p.cost for p in points], utility), _ticks([p.risk for p in points], risk)

    def x(cost: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * cost / across[-1]

    def y(chance: float) -> float:
        return BASE - (BASE - TOP) * chance / upward[-1]

    body = [
        *(f'<path class="rule" d="M{x(at):.1f} {TOP:g}V{BASE:g}"/>' for at in across),
        *(f'<path class="rule" d="M{LEFT:g} {y(at):.1f}H{WIDTH - RIGHT:g}"/>' for at in upward),
        *(_text(x(at), BASE + 20, _tick(at, utility), "mid") for at in across[1:]),
        *(_text(LEFT - 8, y(at) + 4, _tick(at, risk), "end") for at in upward),
        _text((LEFT + WIDTH - RIGHT) / 2, BASE + 48, f"{utility.name}: {utility.words} →", "mid strong"),
        _text(4, 18, f"↑ {risk.name}: {risk.words}", "strong"),
    ]
    corners = [(x(cost), y(chance)) for cost, chance in sorted({(p.cost, p.risk) for p in points if p.front})]
    body.append(_steps(corners))
    spots = [(x(p.cost), y(p.risk)) for p in points]
    taken: list[Box] = [(px - 6, py - 6, px + 6, py + 6) for px, py in spots]
    taken += _line_boxes(corners)
    for at, (point, (px, py)) in enumerate(zip(points, spots, strict=True), 1):
        label = f"{at} {point.name}"
        said = f"{label}: {risk.name} {risk.shown(point.risk)}, {utility.name} {utility.shown(point.cost)}"
        css = "map-point front" if point.front else "map-point"
        body.append(f'<circle class="{css}" cx="{px:.1f}" cy="{py:.1f}" r="5.5"><title>{escape(said)}</title></circle>')
        body.append(_label(px, py, label, at, taken))
    title = f"Map of {len(points)} plans by {risk.name} and {utility.name}"
    on_front = [str(at) for at, p in enumerate(points, 1) if p.front]
    words = (
        "Each point is a plan. To the left, less is lost; further down, the risk is lower. The front, drawn as a "
        f"line, has the plans that no other beats in both: {', '.join(on_front)}. The table below has all figures."
    )
    return Markup(
        f'<svg class="wide map" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-labelledby="map-title map-words">'
        f'<title id="map-title">{escape(title)}</title><desc id="map-words">{escape(words)}</desc>{"".join(body)}</svg>'
    )


def _steps(corners: Sequence[tuple[float, float]]) -> str:
    """Return the front: whatever lies above and to the right of it is beaten by one of its points."""
    if not corners:
        return ""
    path = f"M{corners[0][0]:.1f} {TOP:g}" + "".join(f"H{px:.1f}V{py:.1f}" for px, py in corners)
    return f'<path class="map-front" d="{path}H{WIDTH - RIGHT:g}"/>'


def _line_boxes(corners: Sequence[tuple[float, float]]) -> list[Box]:
    """Return where the line of the front is, so that no name stands on it."""
    ends = [*corners[1:], (WIDTH - RIGHT, BASE)] if corners else []
    level = [(px, py - 1, nx, py + 1) for (px, py), (nx, _) in zip(corners, ends, strict=True)]
    upright = [(nx - 1, py, nx + 1, ny) for (_, py), (nx, ny) in zip(corners, ends[:-1], strict=False)]
    return [*level, *upright, *[(px - 1, TOP, px + 1, py) for px, py in corners[:1]]]


def _label(px: float, py: float, label: str, number: int, taken: list[Box]) -> str:
    """Return the name of a point where there is room for it, else its number; narrow pages show numbers only."""
    for words in (label, str(number)):
        wide = LETTER * len(words)
        for left, low in (
            (px + AWAY, py + 4),
            (px - AWAY - wide, py + 4),
            (px - wide / 2, py - AWAY),
            (px - wide / 2, py + AWAY + 10),
            (px + AWAY, py - AWAY),
            (px + AWAY, py + AWAY + 8),
        ):
            box = (left, low - LINE + 3, left + wide, low + 3)
            inside = box[0] > LEFT and box[2] < WIDTH and box[1] > 0 and box[3] < BASE
            if inside and not any(_meet(box, other) for other in taken):
                taken.append(box)
                name = _text(left, low, words, "map-name")
                return name + _text(px + AWAY, py - AWAY, number, "map-number")
    return _text(px + AWAY, py - AWAY, number, "map-number")


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _ticks(values: Sequence[float], figure: Yardstick) -> list[float]:
    """Return round numbers from 0 to above the largest value."""
    most = max([*values, 0.0]) * 1.04 or (1.0 if not figure.share else 0.01)
    rough = most / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * part for part in (1, 2, 2.5, 5, 10) if power * part >= rough * 0.999)
    return [step * at for at in range(math.ceil(most / step) + 1)]


def _tick(value: float, figure: Yardstick) -> str:
    shown = 100 * value if figure.share else value
    return signed(f"{round(shown, 10):,.6g}") + ("\N{NO-BREAK SPACE}%" if figure.share else "")


def _text(x: float, y: float, words: object, css: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{css}">{escape(words)}</text>'
