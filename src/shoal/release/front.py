"""Plans and releases by their risk and their cost: which of them no other beats in both, and the map that shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, overload

from shoal.errors import OptionError
from shoal.release.tuning.yardsticks import Yardstick, minimised

if TYPE_CHECKING:
    from markupsafe import Markup

T = TypeVar("T")


class Point(NamedTuple):
    """A place on the map.

    Attributes
    ----------
    name : str
        Of the plan or the release.
    risk, cost : float
        Less is better.
    front : bool
        Whether no other point is at least as good in both and better in one.
    """

    name: str
    risk: float
    cost: float
    front: bool = False


def front_of(points: Iterable[tuple[float, float]]) -> list[bool]:
    """Return for each pair of risk and cost whether no other is at least as low in both and lower in one."""
    places = list(points)
    order = sorted(range(len(places)), key=lambda at: places[at])
    on_front = [False] * len(places)
    lowest, at_risk = float("inf"), None
    for at in order:
        risk, cost = places[at]
        # Of one risk, those with the lowest cost come first: equal ones stand beside each other.
        if cost < lowest or (cost == lowest and risk == at_risk):
            on_front[at], lowest, at_risk = True, cost, risk
    return on_front


class Comparison(Sequence[T], Generic[T]):
    """Plans or releases that were compared, in their order, and their map of risk and cost.

    The figures of the map are for the data holder, as those of `shoal.assess` are. They are measured when they are
    first asked for.

    Parameters
    ----------
    items : sequence
    names : sequence of str
    figures : callable
        Returns the figures of an item, by its position and for these yardsticks.
    risk, utility : str
        The figures that the map has on its axes.
    """

    def __init__(
        self,
        items: Sequence[T],
        names: Sequence[str],
        figures: Callable[[int, Sequence[Yardstick]], Mapping[str, float | None]],
        *,
        risk: str = "linkage",
        utility: str = "loss",
    ) -> None:
        self._items, self._names, self._figures = tuple(items), tuple(names), figures
        self.risk, self.utility = minimised(risk), minimised(utility)
        if self.risk == self.utility:
            raise OptionError(f"The map must have two different figures. Got {self.risk.name!r} for both.")
        self._measured: list[tuple[int, float, float]] | None = None

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        return self._items[at]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self._names)})"

    @property
    def points(self) -> tuple[Point, ...]:
        """Return the places of all items for which both figures are defined."""
        places = self._places()
        flags = front_of((risk, cost) for _, risk, cost in places)
        return tuple(
            Point(self._names[at], risk, cost, flag) for (at, risk, cost), flag in zip(places, flags, strict=True)
        )

    @property
    def front(self) -> tuple[T, ...]:
        """Return the items that no other beats in risk and cost (the Pareto front), lowest cost first."""
        places = self._places()
        flags = front_of((risk, cost) for _, risk, cost in places)
        on_front = [place for place, flag in zip(places, flags, strict=True) if flag]
        return tuple(self._items[at] for at, _, _ in sorted(on_front, key=lambda place: (place[2], place[1], place[0])))

    @property
    def left_out(self) -> tuple[str, ...]:
        """Return the names of items that the map does not show, as a figure is not defined for them."""
        shown = {at for at, _, _ in self._places()}
        return tuple(name for at, name in enumerate(self._names) if at not in shown)

    def _places(self) -> list[tuple[int, float, float]]:
        if self._measured is None:
            self._measured = []
            for at in range(len(self._items)):
                found = self._figures(at, (self.risk, self.utility))
                risk, cost = found.get(self.risk.name), found.get(self.utility.name)
                if risk is not None and cost is not None:
                    self._measured.append((at, risk, cost))
        return self._measured

    def map(self, path: str | PathLike[str] | None = None, *, force: bool = False) -> str:
        """Return the map of risk and cost as a page for the data holder, and write it to `path` if given.

        Only its owner can read the file. The page needs no network, scripts or fonts.

        Parameters
        ----------
        path : path or None
        force : bool
            Whether to overwrite an existing file.
        """
        from shoal.release.report.map import render_map

        page = render_map(self)
        if path is not None:
            from shoal.release.files import write_text

            write_text(page, path, force=force, private=True)
        return page

    def drawing(self) -> Markup:
        """Return the map alone, as an SVG image that uses the colours of a page."""
        from shoal.release.report.map import draw_map

        return draw_map(self.points, self.risk, self.utility)

    def plain(self) -> dict[str, Any]:
        """Return plain values of the map for JSON."""
        return {
            "risk": self.risk.name,
            "utility": self.utility.name,
            "points": [{"name": p.name, "risk": p.risk, "utility": p.cost, "front": p.front} for p in self.points],
        }
