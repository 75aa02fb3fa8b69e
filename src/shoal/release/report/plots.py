"""The pictures of a release with matplotlib, from the facts of its report and from nothing else."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from shoal.errors import OptionError, near_names
from shoal.io.formats import needed
from shoal.release.report import drawings
from shoal.release.report.evidence import Evidence, Frequencies, Histogram
from shoal.release.report.render import Facts, bars_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PICTURES = ("all", "loss", "sizes", "columns")
BEFORE, AFTER, SOFT = "#c3cbd3", "#0b6a94", "#5a6877"
ACROSS = 3  # columns of a row of pictures
MOST_LOSSES, MOST_COLUMNS = 40, 24
FEWEST = 5  # bars of categories that there is room for
LETTERS = 26  # of a name
WIDTH, BAR, ROW, HEAD = 10.0, 0.26, 2.1, 0.9  # inches


def figure_of(facts: Facts, what: str = "all") -> Figure:
    """Return a figure with these pictures of a release; see :meth:`shoal.Release.plot`."""
    if what not in PICTURES:
        raise OptionError(
            f"The 'what' of plot must be a picture that there is. Got {what!r}.",
            hint=near_names(what, PICTURES, f"one of {', '.join(PICTURES)}."),
        )
    needed("matplotlib", "plot", "plots")
    losses = sorted(facts.loss_by_attribute, key=lambda pair: -(pair[1] or 0.0))[:MOST_LOSSES]
    evidence = facts.evidence
    drawn = () if evidence is None else evidence.distributions[:MOST_COLUMNS]
    rows = math.ceil(len(drawn) / ACROSS)
    tall = {"top": HEAD + max(1.4, BAR * len(losses)), "columns": HEAD + ROW * rows}
    parts = ["columns"] if what == "columns" else ["top", "columns"] if what == "all" and rows else ["top"]
    wide = WIDTH if what in ("all", "columns") else WIDTH / 2
    figure = _figure((wide, sum(tall[part] for part in parts)))
    areas = figure.subfigures(len(parts), 1, height_ratios=[tall[part] for part in parts], squeeze=False)[:, 0]
    by_part = dict(zip(parts, areas, strict=True))
    if "top" in by_part:
        wanted = ["loss", "sizes"] if what == "all" else [what]
        for name, axes in zip(wanted, by_part["top"].subplots(1, len(wanted), squeeze=False)[0], strict=True):
            if name == "loss":
                _losses(axes, losses, facts)
            else:
                _sizes(axes, evidence)
    if "columns" in by_part and evidence is not None:
        _columns(by_part["columns"], drawn, rows, len(evidence.distributions))
    return figure


def _figure(size: tuple[float, float]) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    class Picture(Figure):
        """A figure that notebooks show, whether or not pyplot was imported."""

        def _repr_png_(self) -> bytes:
            from io import BytesIO

            file = BytesIO()
            self.savefig(file, format="png", dpi=110)
            return file.getvalue()

    figure = Picture(figsize=size, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def _losses(axes: Axes, losses: list[tuple[str, float | None]], facts: Facts) -> None:
    whole = "" if facts.loss is None else f"; all together about {100 * facts.loss:g} %"
    _titled(axes, f"Loss by attribute{whole}")
    places = range(len(losses))
    axes.barh(places, [100 * (loss or 0.0) for _, loss in losses], color=AFTER, height=0.7)
    for place, (_, loss) in zip(places, losses, strict=True):
        words = "not told" if loss is None else f"{100 * loss:g} %"
        axes.annotate(words, (100 * (loss or 0.0), place), (4, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(places, [_name(name) for name, _ in losses], parse_math=False)
    axes.invert_yaxis()
    axes.set_xlim(0, max([10.0, *(115 * (loss or 0.0) for _, loss in losses)]))
    axes.set_xlabel("% of the variation of the attribute", color=SOFT, fontsize=8)


def _sizes(axes: Axes, evidence: Evidence | None) -> None:
    _titled(axes, "Group sizes")
    if evidence is None:
        return
    bars = evidence.sizes.bars
    axes.bar(range(len(bars)), [count for _, _, count in bars], color=AFTER, width=0.76)
    every = math.ceil(len(bars) / 12)
    labels = [f"{low}" if low == high else f"{low}–{high}" for low, high, _ in bars]
    axes.set_xticks(range(0, len(bars), every), labels[::every], rotation=0 if len(bars) < 8 else 45)
    axes.set_xlabel("records", color=SOFT, fontsize=8)
    axes.set_ylabel("groups", color=SOFT, fontsize=8)
    axes.locator_params(axis="y", integer=True)


def _columns(area: Any, drawn: tuple[Histogram | Frequencies, ...], rows: int, all_of_them: int) -> None:
    more = f", the first {len(drawn)} of {all_of_them}" if len(drawn) < all_of_them else ""
    area.suptitle(f"Columns before (grey) and after (blue){more}", x=0.01, ha="left", fontsize=11)
    grid = area.subplots(rows, ACROSS, squeeze=False).ravel()
    for axes, one in zip(grid, drawn, strict=False):
        _titled(axes, _name(one.name))
        if isinstance(one, Histogram):
            _histogram(axes, one)
        else:
            _frequencies(axes, one)
    for axes in grid[len(drawn) :]:
        axes.set_axis_off()


def _histogram(axes: Axes, one: Histogram) -> None:
    axes.set_yticks([])
    if not one.edges or one.edges[0] == one.edges[-1]:
        axes.set_xticks([])
        words = f"only {drawings.tick(one.edges[0], one.kind, 0.0)}" if one.edges else "no published value"
        axes.text(0.5, 0.5, words, ha="center", transform=axes.transAxes, color=SOFT, parse_math=False)
        return
    if one.before:
        axes.stairs(one.before, one.edges, fill=True, color=BEFORE)
    axes.stairs(one.after, one.edges, color=AFTER, linewidth=1.6)
    low, high = one.edges[0], one.edges[-1]
    if one.kind in ("integer", "date"):
        low, high = low + 0.5, high - 0.5
    ticks = (low, (low + high) / 2, high)
    axes.set_xticks(ticks, [drawings.tick(value, one.kind, high - low) for value in ticks])
    axes.set_ylim(bottom=0)


def _frequencies(axes: Axes, one: Frequencies) -> None:
    bars = bars_of(one)
    for place, (_, before, after, _) in enumerate(bars):
        if before is not None:
            axes.barh(place - 0.2, before, color=BEFORE, height=0.38)
        axes.barh(place + 0.2, after, color=AFTER, height=0.38)
    axes.set_yticks(range(len(bars)), [_name(label) for label, *_ in bars], parse_math=False)
    axes.set_ylim(max(FEWEST, len(bars)) - 0.4, -0.6)  # few bars stay thin
    axes.set_xticks([])


def _titled(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=10, parse_math=False)
    axes.tick_params(labelsize=8, length=2)
    axes.spines[["top", "right"]].set_visible(False)


def _name(text: str) -> str:
    """Return a text of the data as it can be drawn: on one line, and not too long."""
    text = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
    return text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"
