"""The plot of a comparison: loss and time against k, one line per method."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import OptionError

if TYPE_CHECKING:
    from shoal.release.comparison import Trial

SUFFIXES = (".svg", ".png", ".pdf")
MARKERS = "osD^vPX*<>"


def check(path: str, force: bool) -> None:
    """Refuse a plot that cannot be drawn or written, before any other work."""
    from shoal.io.files import checked_target
    from shoal.io.formats import needed

    if Path(path).suffix.lower() not in SUFFIXES:
        raise OptionError(f"A plot must end in one of {', '.join(SUFFIXES)}. Got {Path(path).suffix!r}.")
    checked_target(Path(path), force)
    needed("matplotlib", "plot", "plots")


def _line(trial: Trial, trials: Sequence[Trial]) -> str:
    """Return the name of the line to which a trial belongs."""
    from shoal.plan import WITHOUT_METHOD

    if trial.form in WITHOUT_METHOD or all(other.form == trial.form for other in trials):
        return trial.method
    return f"{trial.method}, {trial.form}"


def draw(trials: Sequence[Trial], path: str, force: bool) -> None:
    """Draw the loss and the time of methods against k."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from shoal.io.files import checked_target, draft

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    methods = list(dict.fromkeys(_line(trial, trials) for trial in trials if not trial.error))
    ks = sorted({trial.k for trial in trials})
    for at, method in enumerate(methods):
        points = sorted((t for t in trials if _line(t, trials) == method and not t.error), key=lambda t: t.k)
        style: dict[str, Any] = {"marker": MARKERS[at % len(MARKERS)], "markersize": 5, "linewidth": 1.4}
        xs = [ks.index(t.k) for t in points]
        left.plot(xs, [100 * (t.loss or 0.0) for t in points], label=method, **style)
        right.plot(xs, [t.seconds for t in points], label=method, **style)
    for axes, title in ((left, "loss, %"), (right, "seconds")):
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_xlabel("k")
        axes.set_xticks(range(len(ks)), [str(k) for k in ks])
        axes.grid(axis="y", color="0.9")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    left.set_ylim(bottom=0)
    right.set_yscale("log")
    figure.legend(*left.get_legend_handles_labels(), loc="outside right center", frameon=False)
    target = checked_target(Path(path), force)
    with draft(target) as beside:
        figure.savefig(beside.path, format=target.suffix.lower()[1:], dpi=160)
        beside.publish(force)
