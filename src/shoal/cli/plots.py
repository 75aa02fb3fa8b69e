"""Plots of comparisons: loss and time of methods against k, and the loss of finished releases by attribute."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import OptionError

if TYPE_CHECKING:
    from shoal.release.comparison import Trial
    from shoal.release.finished import Compared

SUFFIXES = (".svg", ".png", ".pdf")
MARKERS = "osD^vPX*<>"


def check(path: str, force: bool, inputs: Iterable[Path]) -> None:
    """Refuse a plot that cannot be drawn or written, or would replace one of the inputs, before any other work."""
    from shoal.io.files import checked_target
    from shoal.io.formats import needed
    from shoal.release.targets import require_other_files

    if Path(path).suffix.lower() not in SUFFIXES:
        raise OptionError(f"A plot must end in one of {', '.join(SUFFIXES)}. Got {Path(path).suffix!r}.")
    require_other_files([Path(path)], inputs)
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
    figure = _figure()
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
        _plain(axes, title)
        axes.set_xlabel("k")
        axes.set_xticks(range(len(ks)), [str(k) for k in ks])
    left.set_ylim(bottom=0)
    right.set_yscale("log")
    figure.legend(*left.get_legend_handles_labels(), loc="outside right center", frameon=False)
    _save(figure, path, force)


def draw_releases(releases: Sequence[Compared], path: str, force: bool) -> None:
    """Draw the loss of finished releases, of all quasi-identifiers and of each."""
    figure = _figure()
    axes = figure.subplots()
    names = list(releases[0].by_attribute)
    width = 0.8 / len(releases)
    for at, release in enumerate(releases):
        losses = [release.loss, *(release.by_attribute[name] for name in names)]
        places = [place - 0.4 + (at + 0.5) * width for place in range(len(losses))]
        label = f"{Path(release.name).name}, k = {release.k}"
        axes.bar(places, [100 * loss for loss in losses], width, label=_literal(label))
    _plain(axes, "loss, %")
    axes.set_xticks(range(len(names) + 1), ["all", *map(_literal, names)], rotation=30 if len(names) > 5 else 0)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center", frameon=False)
    _save(figure, path, force)


def _literal(name: str) -> str:
    """Return a name that is drawn as it is: dollars would begin a formula, and some characters cannot be drawn."""
    return "".join(c if c.isprintable() else "?" for c in name.replace("$", r"\$"))


def _figure() -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _plain(axes: Any, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=10)
    axes.grid(axis="y", color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _save(figure: Any, path: str, force: bool) -> None:
    """Write a drawing that only its owner can read: its lines are exact figures of the original."""
    from shoal.io.files import checked_target, draft

    target = checked_target(Path(path), force)
    with draft(target, mode=0o600) as beside:
        figure.savefig(beside.path, format=target.suffix.lower()[1:], dpi=160)
        beside.publish(force)
