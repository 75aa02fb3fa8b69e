"""Audits published files that do not fit into memory: by themselves, and against their certificates."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shoal.engines.auditing import audit_batches
from shoal.engines.batches import BATCH_BYTES, Batches, FileBatches
from shoal.engines.sources import open_batches
from shoal.engines.spill import Spill, spill_parent
from shoal.errors import OptionError
from shoal.plan import Plan
from shoal.privacy.audit import Audit, asked_of, names_asked, require_privacy
from shoal.release.certificate import Certificate
from shoal.release.verification import (
    plan_of,
    require_columns,
    require_no_others,
    require_same_hash,
    require_same_rows,
    require_told,
    require_whole,
)

__all__ = ["open_published", "verify_batches", "verify_promised"]


def open_published(where: str | os.PathLike[str], reading: Mapping[str, Any], memory: int) -> Batches:
    """Return a published file that is read in pieces, with its SHA-256."""
    batches = open_batches(where, reading, batch_bytes=min(BATCH_BYTES, max(memory // 32, 2**16)))
    if isinstance(batches, FileBatches) and batches.format in ("csv", "parquet", "arrow"):
        batches.hashed()
    return batches


def verify_batches(
    batches: Batches,
    quasi_identifiers: Sequence[str] | None = None,
    k: int | None = None,
    *,
    memory: int,
    unit: str | None = None,
    population: Any = None,
    **fields: Any,
) -> Audit:
    """Count the k that holds in a table that is read in pieces; see :func:`shoal.verify`.

    Parameters
    ----------
    batches : Batches
        The table as published.
    memory : int
        Bytes that the audit may use.
    **fields
        As for :func:`shoal.verify`. Models that count in a population are refused.
    """
    if population is not None:
        raise OptionError(
            "A population must be compared with a table in memory. Got one for a table that is read in pieces.",
            hint="leave out memory (--memory).",
        )
    plan = asked_of(fields)
    names = names_asked(batches.names, quasi_identifiers, k, unit, plan)
    with Spill(spill_parent()) as spill:
        return audit_batches(batches, names, plan, spill, memory, wanted=k, unit=unit, glances=True)


def verify_promised(
    batches: Batches, promised: Certificate, *, memory: int, k: int | None = None
) -> tuple[Audit, list[bool]]:
    """Repeat the audit of a published file against its certificate; see :func:`shoal.verify_file`.

    Returns
    -------
    Audit
        Of all quasi-identifiers together: with the k that is promised, or with `k` if that is given.
    list of bool
        Whether `k` holds in each block of the certificate.
    """
    name = batches.name
    require_same_hash(batches.sha256, promised, name)
    plan = plan_of(promised)
    blocks, wanted = promised.k.blocks, promised.k.wanted
    every = [require_columns(batches.names, [*block, *promised.k.strata], name) for block in blocks]
    require_columns(batches.names, list(plan.demanded_of), name)
    require_no_others(batches.names, promised, name)
    asked = wanted if k is None else k
    held = []
    with Spill(spill_parent()) as spill:

        def audited(names: Sequence[str], least: int | None, of: Plan, everything: Sequence[str] | None = ()) -> Audit:
            return audit_batches(batches, names, of, spill, memory, wanted=least, everything=everything)

        alone = len(blocks) == 1 and set(every[0]) == set(promised.quasi_identifiers)
        for names in [] if alone else every:
            of_block = audited(names, wanted, Plan.of())
            require_privacy(of_block, name)
            held.append(of_block.k >= asked)
        # With several blocks, k is not promised for all quasi-identifiers together.
        together = audited(promised.quasi_identifiers, wanted if len(blocks) == 1 else None, plan, None)
    require_same_rows(together.rows, promised, name)
    require_privacy(together, name)
    require_told(together, promised, name)
    if together.whole is not None:
        require_whole(together.whole, promised, name)
    if alone:
        held.append(together.k >= asked)
    return (together if k is None else at_least(together, asked)), held


def at_least(found: Audit, k: int) -> Audit:
    """Return an audit as it is for another k: its groups are counted already. Models are left out."""
    below = {size: count for size, count in found.sizes.items() if size < k}
    rows = sum(size * count for size, count in below.items())
    return replace(found, wanted=k, classes_below=sum(below.values()), rows_below=rows, models=(), glances=(), notes=())
