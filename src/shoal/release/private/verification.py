"""Verification of a differentially private table: what a reader can check on it, and what nobody can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shoal.dp.domain import Domain
from shoal.dp.released import COUNT
from shoal.errors import DisclosureError, OptionError
from shoal.io import Source
from shoal.release.private.documents import PrivateCertificate

# What is shown may be more than what was paid by this share of it.
ROUNDED = Fraction(1, 100_000)
CANNOT = (
    "That noise was drawn as the ledger says, and once, cannot be seen on any table: it rests on the program that made "
    "it, and on whoever ran it. Neither can it be checked here whether other releases of the same people exist, whose "
    "epsilons add up."
)


@dataclass(frozen=True)
class PrivateAudit:
    """What was checked on a differentially private table.

    Attributes
    ----------
    rows : int
    epsilon, delta : str
        As promised.
    checked : tuple of str
        What holds.
    cannot : str
        What cannot be checked on a table.
    """

    rows: int
    epsilon: str
    delta: str
    checked: tuple[str, ...]
    cannot: str = CANNOT

    def __bool__(self) -> bool:
        return True


def verify_private(source: Source, promised: PrivateCertificate) -> PrivateAudit:
    """Check a published file against its certificate: hash, rows, columns, and that all values are declared ones.

    Raises
    ------
    DisclosureError
        If the file is not the one that was released, or holds values outside of the declared domain.
    """
    checked = []
    output = promised.output
    if output is not None and output.sha256 and source.sha256:
        if output.sha256 != source.sha256:
            raise DisclosureError(
                f"This certificate belongs to another file: its SHA-256 is not that of {source.name}.",
                hint="verify the file as it was released.",
            )
        checked.append("SHA-256 matches the certificate")
    if source.table.num_rows != promised.rows or source.table.column_names != promised.columns:
        raise DisclosureError(
            f"{source.name} must have the rows and columns of its certificate. Got others.",
            hint="verify the table as it was released.",
        )
    checked.append("rows and columns are those of the certificate")
    require_domain(source, Domain.from_plain(promised.domain))
    checked.append("all values are within the declared domain")
    for name in ("epsilon", "delta"):
        budget, spent = Fraction(getattr(promised, name)), Fraction(getattr(promised.spent, name))
        paid = sum((Fraction(getattr(one, name)) for one in promised.ledger), Fraction(0))
        # Entries are rounded up to six digits, so that their sum may be above the total by the last of them.
        if spent > budget or paid * (1 - ROUNDED) > budget:
            raise DisclosureError(f"The ledger in the certificate of {source.name} spends more than its {name}.")
    checked.append("the entries of the ledger add up to no more than the budget")
    return PrivateAudit(source.table.num_rows, promised.epsilon, promised.delta, tuple(checked))


def refuse_groups(given: Sequence[str]) -> None:
    """Refuse what could only be checked on a release of groups."""
    if given:
        raise OptionError(
            f"A differentially private release has no groups to be checked. Got the option {given[0]}.",
            hint="leave it out.",
        )


def require_domain(source: Source, domain: Domain) -> None:
    """Refuse a table with values that its domain does not have."""
    how: dict[str, Any] = {"text": source.text, "decimal": source.decimal}
    for name, one in domain.columns.items():
        if name not in source.table.column_names or not one.holds(source.table.column(name), **how):
            raise DisclosureError(f"The column {name!r} of {source.name} must hold declared values only. Got others.")
    if COUNT in source.table.column_names and COUNT not in domain.columns:
        from shoal.tables.columns import decode

        counts = decode(source.table.column(COUNT), "integer", name=COUNT, **how)[0]
        if not (counts.values >= 0).all():  # type: ignore[union-attr]
            raise DisclosureError(f"The counts of {source.name} must be at least 0. Got others.")
