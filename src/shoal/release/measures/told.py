"""The figures of a release that certificate and report tell: rounded by one rule, or left out."""

from __future__ import annotations

from collections.abc import Mapping
from math import isinf
from typing import TYPE_CHECKING, NamedTuple

from shoal.release.groups.forms import BY_CELLS
from shoal.release.measures.rounding import told, told_at_least, told_at_most

if TYPE_CHECKING:
    from shoal.release.release import Release

# What groups publish that shows how wide they are.
RANGES = ("interval", "set", "ancestor", "suppression")


class Told(NamedTuple):
    """What may be told of the figures of a release; see :mod:`shoal.release.measures.rounding`.

    Attributes
    ----------
    loss, by_attribute, lower_bound, gap : float or None, {name: float or None}
        Rounded; the bound down and the gap up. None if they are not told, or not known.
    certainty_penalty, total_information_loss : float or None
        Rounded, and only if all quasi-identifiers publish how wide their groups are.
    discernability, average_group_size : int, float
        C_DM and C_AVG of the published table, which anyone can count.
    """

    loss: float | None
    by_attribute: Mapping[str, float | None]
    lower_bound: float | None
    gap: float | None
    certainty_penalty: float | None
    total_information_loss: float | None
    discernability: int
    average_group_size: float


def told_of(release: Release) -> Told:
    """Return what may be told of the figures of a release."""
    losses, audit = release.losses, release.audit
    digits = losses.digits
    gap = release.gap
    # A cell is as wide as the plan says, but its measures are those of its records, and of removed ones.
    shown = release.plan.release not in BY_CELLS and all(
        one.representative in RANGES for one in release.attributes if one.kind != "place"
    )
    of_widths = losses.most if shown else 0
    return Told(
        loss=told(release.loss, digits),
        by_attribute={name: told(loss, losses.digits_by_attribute[name]) for name, loss in losses.by_attribute.items()},
        lower_bound=told_at_least(release.lower_bound, digits),
        gap=None if gap is None or isinf(gap) else told_at_most(gap, digits),
        certainty_penalty=told(release.utility.certainty_penalty, of_widths) if of_widths else None,
        total_information_loss=told(release.utility.total_information_loss, of_widths) if of_widths else None,
        discernability=sum(count * size**2 for size, count in audit.sizes.items()),
        average_group_size=audit.rows / audit.classes / release.plan.k,
    )


def sentences(told: Told, left_out: tuple[str, ...] = ()) -> list[tuple[str, str, str]]:
    """Return each measure of recoding schemes that is told, with its value and a sentence that explains it."""
    apart = f", without {' and '.join(left_out)}" if left_out else ""
    penalties = [
        (
            "NCP",
            told.certainty_penalty,
            "Width of the groups: the share of the range, or of all values, that the group of a record covers, "
            f"averaged over the quasi-identifiers{apart}.",
        ),
        (
            "Total-IL",
            told.total_information_loss,
            "The same, but with a hierarchy it counts levels instead of values; without one, a value is lost if the "
            "group has several.",
        ),
    ]
    shown = [
        (name, f"{100 * value:g}\N{NO-BREAK SPACE}%", words) for name, value, words in penalties if value is not None
    ]
    shown.append(("C_AVG", f"{told.average_group_size:.2f}", "The average group size divided by k; 1 is best."))
    shown.append(
        (
            "C_DM",
            f"{told.discernability:,}",
            "The sum of squared group sizes; comparable for the same table and k only.",
        )
    )
    return shown
