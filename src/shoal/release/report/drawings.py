"""The drawings of a report: small SVG images that use the colours of the page.

They contain no scripts, fonts or references. Colours are classes of templates/style.css, so that drawings follow the
page in dark mode and in print. All texts are escaped.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from datetime import date, timedelta

from markupsafe import Markup, escape

from shoal.release.report.evidence import Axes, Correlations, Histogram, Sizes

__all__ = [
    "change_of",
    "groups_on_axes",
    "heat_map",
    "histogram",
    "quantity",
    "signed",
    "size_bars",
    "span",
    "tick",
    "whole",
]

_DAY = 86_400_000_000  # microseconds
_LEVELS = 20  # shades of a colour in a heat map
Matrix = Sequence[Sequence[float | None]]


# --- numbers as text ---


def whole(count: float) -> str:
    """Return a count with thousands separators."""
    return f"{count:,.0f}"


def quantity(value: float | None, kind: str = "continuous", spread: float | None = None, digits: int = 3) -> str:
    """Return a statistic of an attribute, to three digits of its `spread`, or to fewer."""
    if value is None:
        return "–"
    spread = spread or abs(value)
    if kind in ("date", "datetime"):
        day = 1 if kind == "date" else _DAY
        return _day(value / day, spread / day)
    if value != 0 and not 1e-4 <= abs(value) < 1e9:
        return signed(f"{value:.{digits}g}")
    decimals = digits - 1 - math.floor(math.log10(spread)) if spread else 0
    return signed(f"{round(value, decimals) + 0.0:,.{max(0, decimals)}f}")


def tick(value: float, kind: str, spread: float) -> str:
    """Return the text of a value at an axis, which is shorter than that of a statistic."""
    if kind in ("date", "datetime") or not 1e-4 <= abs(value) < 1e9:
        return quantity(value, kind, spread) if value else "0"
    digits = 1 - math.floor(math.log10(spread)) if spread else 4
    return signed(f"{round(value, min(0, digits) if kind == 'integer' else digits) + 0.0:,.10g}")


def signed(number: str) -> str:
    """Return the text of a number with a minus sign in place of the hyphen."""
    return number.replace("-", "−")


def span(value: float | None, kind: str = "continuous", digits: int = 3) -> str:
    """Return the text of a standard deviation; for dates, it is a length of time."""
    if value is None or kind not in ("date", "datetime"):
        return quantity(value, digits=digits)
    days = value if kind == "date" else value / _DAY
    return f"{days / 365.2425:.1f} years" if days >= 730 else f"{days:.3g} days"


def _day(days: float, spread: float) -> str:
    try:
        day = date(1970, 1, 1) + timedelta(days=round(days))
    except OverflowError:
        return f"day {days:.3g}"
    return day.isoformat()[:7] if spread >= 60 else day.isoformat()


def _drawing(width: float, height: float, title: str, body: list[str], css: str = "") -> Markup:
    return Markup(
        f'<svg class="{css}" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(body)}</svg>"
    )


def _text(x: float, y: float, words: object, css: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{css}">{escape(words)}</text>'


# --- groups ---


def size_bars(sizes: Sizes) -> Markup:
    """Draw the number of groups of each size."""
    width, height, base, top = 860.0, 220.0, 188.0, 22.0
    # If there are few bars, they stay narrow and are centred.
    step = min(64.0, width / len(sizes.bars))
    left = (width - step * len(sizes.bars)) / 2
    most = max(count for _, _, count in sizes.bars)
    every = math.ceil(len(sizes.bars) / 12)
    body = [f'<path class="rule" d="M0 {base}H{width:g}"/>']
    for i, (low, high, count) in enumerate(sizes.bars):
        x, tall = left + i * step, (base - top) * count / most
        label = f"{low}" if low == high else f"{low}–{high}"
        body.append(
            f'<rect class="after-fill" x="{x + step * 0.12:.1f}" y="{base - tall:.1f}" width="{step * 0.76:.1f}" '
            f'height="{max(tall, 0.8 if count else 0):.1f}" rx="1.5"><title>{label} records: {whole(count)} groups'
            f"</title></rect>"
        )
        if i % every == 0:
            body.append(_text(x + step / 2, base + 17, label, "mid"))
            if len(sizes.bars) <= 12:
                body.append(_text(x + step / 2, base - tall - 6, whole(count), "mid strong"))
    title = f"Sizes of {whole(sizes.groups)} groups, from {sizes.smallest} to {sizes.largest} records"
    return _drawing(width, height, title, body, "wide")


def groups_on_axes(axes: Axes, k: int) -> Markup:
    """Draw the means of groups as dots, in three classes of size."""
    width, height, margin = 860.0, 470.0, 28.0
    across = [x for x, _, _ in axes.points]
    upward = [y for _, y, _ in axes.points]
    (x0, x1), (y0, y1) = _ends(across), _ends(upward)
    classes: dict[int, list[str]] = defaultdict(list)
    for x, y, size in axes.points:
        px = margin + (width - 2 * margin) * (x - x0) / (x1 - x0)
        py = height - margin - (height - 2 * margin) * (y - y0) / (y1 - y0)
        # A line of length 0 with round ends is a dot, and takes a third of the characters of a circle.
        classes[min(2, 0 if size == k else 1 if size < 2 * k else 2)].append(f"M{px:.1f} {py:.1f}h0")
    zero_x = margin + (width - 2 * margin) * (0 - x0) / (x1 - x0)
    zero_y = height - margin - (height - 2 * margin) * (0 - y0) / (y1 - y0)
    body = [f'<rect class="frame" x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" rx="6"/>']
    body.append(f'<path class="rule" d="M{zero_x:.1f} 1V{height - 1:g}M1 {zero_y:.1f}H{width - 1:g}"/>')
    thin = " many" if len(axes.points) > 800 else ""
    body += [f'<path class="dots dots{c}{thin}" d="{"".join(dots)}"/>' for c, dots in sorted(classes.items())]
    body.append(_text(width - 10, zero_y - 6, f"axis 1 · {axes.shares[0] * 100:.0f} %", "end"))
    body.append(_text(zero_x + 8, 18, f"axis 2 · {axes.shares[1] * 100:.0f} %"))
    title = f"Means of {whole(len(axes.points))} groups on the first two principal axes"
    return _drawing(width, height, title, body, "wide")


def _ends(values: list[float]) -> tuple[float, float]:
    low, high = min(*values, 0.0), max(*values, 0.0)
    return (low, high) if high > low else (low - 1.0, high + 1.0)


# --- attributes ---


def histogram(drawn: Histogram) -> Markup:
    """Draw the original as an area, if it is told, and the release as a line over it."""
    width, height, base, top = 300.0, 128.0, 106.0, 6.0
    bins = len(drawn.after)
    # The end bins contain all values beyond them, and may be cut off so that the rest remains visible.
    before = drawn.before or ()
    inside = before[1:-1] if bins > 2 else before
    most = max(*inside, *drawn.after, 1)
    step = width / bins

    def steps(counts: Sequence[int]) -> str:
        path = f"M0 {base}"
        for i, count in enumerate(counts):
            path += f"V{base - (base - top) * min(1.0, count / most):.1f}H{(i + 1) * step:.1f}"
        return f"{path}V{base}"

    low, high = drawn.edges[0], drawn.edges[-1]
    if drawn.kind in ("integer", "date") and high > low:
        low, high = low + 0.5, high - 0.5
    spread = high - low
    body = [
        *([f'<path class="before-area" d="{steps(before)}z"/>'] if before else []),
        f'<path class="after-line" d="{steps(drawn.after)}"/>',
        f'<path class="rule" d="M0 {base}H{width:g}"/>',
    ]
    if spread > 0:
        body.append(_text(0, base + 16, tick(low, drawn.kind, spread)))
        if drawn.kind != "integer" or spread > 20:
            body.append(_text(width / 2, base + 16, tick((low + high) / 2, drawn.kind, spread), "mid"))
        body.append(_text(width, base + 16, tick(high, drawn.kind, spread), "end"))
    else:
        body.append(_text(width / 2, base + 16, tick(low, drawn.kind, 0.0), "mid"))
    return _drawing(width, height, f"Distribution of {drawn.name} before and after", body)


def change_of(correlations: Correlations) -> Matrix:
    """Return the change of each correlation."""
    return [
        [None if a is None or b is None else round(b - a, 2) for a, b in zip(before, after, strict=True)]
        for before, after in zip(correlations.before, correlations.after, strict=True)
    ]


def heat_map(names: Sequence[str], matrix: Matrix, title: str) -> Markup:
    """Draw a matrix of numbers from -1 to 1: the stronger the colour, the further from 0."""
    d = len(names)
    size = min(38.0, 250.0 / d)
    letters = min(14.0, max(5.0, size * 0.9))
    left = 104.0 if d <= 30 else 0.0
    top = 20.0 if d <= 30 else 4.0
    shades: dict[int, list[str]] = defaultdict(list)
    body = []
    for i, row in enumerate(matrix):
        for j, value in enumerate(row):
            if value is None or i == j:
                shades[_LEVELS + 1].append(f"M{left + j * size:.1f} {top + i * size:.1f}")
            elif round(value * _LEVELS):
                shades[round(value * _LEVELS)].append(f"M{left + j * size:.1f} {top + i * size:.1f}")
            if d <= 10 and i != j:
                body.append(_text(left + (j + 0.5) * size, top + (i + 0.5) * size + 3, _short(value), "mid cell"))
    cell = f"h{size:.1f}v{size:.1f}h-{size:.1f}z"
    paths = [
        f'<path class="{"none" if s > _LEVELS else "plus" if s > 0 else "minus"}" '
        f'fill-opacity="{0.35 if s > _LEVELS else abs(s) / _LEVELS:g}" d="{cell.join(places)}{cell}"/>'
        for s, places in sorted(shades.items())
    ]
    side = d * size
    frame = f'<rect class="frame" x="{left:g}" y="{top:g}" width="{side:.1f}" height="{side:.1f}"/>'
    labels = []
    if d <= 30:
        for i, name in enumerate(names):
            words = f"{_cut(name)} {i + 1}"
            labels.append(
                f'<text x="{left - 6:.1f}" y="{top + (i + 0.5) * size + letters * 0.3:.1f}" class="end" '
                f'style="font-size:{min(12.0, letters):.1f}px">{escape(words)}</text>'
            )
            labels.append(
                f'<text x="{left + (i + 0.5) * size:.1f}" y="{top - 6:g}" class="mid" '
                f'style="font-size:{min(12.0, letters):.1f}px">{i + 1}</text>'
            )
    return _drawing(left + side + 2, top + side + 2, title, [*paths, frame, *body, *labels])


def _short(value: float | None) -> str:
    return "" if value is None else signed(f"{value + 0.0:.2f}").replace("0.", ".", 1)


def _cut(name: str, letters: int = 16) -> str:
    return name if len(name) <= letters else f"{name[: letters - 1]}…"
