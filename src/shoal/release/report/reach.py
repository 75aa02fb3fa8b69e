"""What k means, in a sentence each: against whom that of the quasi-identifiers holds, and that of all columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.privacy.whole import Whole


def of_known(k: int) -> str:
    """Return what the k of the quasi-identifiers means."""
    left = "may find the record itself" if k == 1 else f"is left with at least {k} records"
    return f"Anyone who knows a person's quasi-identifiers {left}."


def columns_in_words(count: int) -> str:
    """Return all published columns, in words."""
    few = {1: "the only published column", 2: "both published columns together"}
    return few.get(count, f"all {count} published columns together")


def of_all(whole: Whole, k: int, rows: int) -> str:
    """Return what the k of all published columns means, next to the k of the quasi-identifiers, both in rows."""
    alone = "1 record equals" if whole.unique == 1 else f"{whole.unique:,} of {rows:,} records equal"
    if whole.k >= k:
        return "As many as for the quasi-identifiers alone." if k > 1 else f"{alone} no other."
    least = "the record itself" if whole.k == 1 else f"as few as {whole.k} records"
    unique = f"; {alone} no other" if whole.unique else ""
    return f"Anyone who also knows the other published columns may find {least}{unique}."
