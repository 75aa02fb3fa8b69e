"""The documents of an update: the certificate for everyone, which names the earlier release, and the record."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, cast

from shoal.release.certificate import Certificate, EarlierPart, FiguresPart, base_name, promised
from shoal.release.record import FORMAT as RECORD_FORMAT

if TYPE_CHECKING:
    from shoal.privacy.intersection import Intersection, Part
    from shoal.release.release import Release
    from shoal.release.updates.update import Update


def certificate_of(update: Update) -> dict[str, Any]:
    """Return the certificate as plain values for JSON.

    Its figures are those that anyone can count: no loss, which is known of the new records only.
    """
    audit, plan, found = update.audit, update.plan, update.intersection
    certificate = Certificate(
        **promised(cast("Release", update), update.blocks),
        methods=update.methods,
        figures=FiguresPart(
            **dict.fromkeys(("loss", "lower_bound", "gap", "certainty_penalty", "total_information_loss")),
            by_attribute={one.name: None for one in update.attributes},
            discernability=sum(count * size**2 for size, count in audit.sizes.items()),
            average_group_size=audit.rows / audit.classes / plan.k,
        ),
        earlier=EarlierPart(
            name=None if update.earlier.name is None else base_name(update.earlier.name),
            sha256=update.earlier.sha256,
            rows=found.earlier_rows,
            newcomers=update.rule.newcomers or plan.k,
            kept=min(one.kept.k or 0 for one in update.intersections),
            new=min(one.new.k or 0 for one in update.intersections),
            changed=found.changed,
            parts=update.rule.parts,
            invariance=update.invariance,
        ),
    )
    return certificate.model_dump(mode="json")


def record_of(update: Update) -> dict[str, Any]:
    """Return the record as plain values for JSON: what the next update needs to know, and exact figures."""
    plain = certificate_of(update)
    source, written, earlier = update.newcomers, update.written, update.earlier
    return {
        "format": RECORD_FORMAT,
        "created": update.created,
        "versions": plain["versions"],
        "input": _file(source, update.rows_in),
        "earlier": {"name": earlier.name, "sha256": earlier.sha256, "rows": earlier.table.num_rows},
        "output": _file(written, update.audit.rows),
        "job": update.plan.job(),
        "columns": [{"name": c.name, "role": c.role, "role_inferred": c.inferred} for c in update.columns],
        "quasi_identifiers": update.quasi_identifiers,
        "attributes": [
            # The type is that of the earlier release, as later updates must have it.
            {"columns": list(a.columns), "type": earlier.kinds.get(a.name, a.kind), "published": a.published}
            for a in update.attributes
        ],
        "k": {**plain["k"], "blocks": [list(names) for names in update.blocks]},
        "models": plain["models"],
        "groups": update.audit.classes,
        "group_sizes": plain["group_sizes"],
        "rows": {
            "in": update.rows_in,
            "dropped": update.rows_dropped,
            "removed": update.rows_removed,
            "joined": update.rows_joined,
            "published": update.audit.rows,
        },
        "rule": {
            "newcomers": update.rule.newcomers,
            "invariance": update.invariance,
            "allow_differences": not update.rule.parts,
            "in_order": update.rule.in_order,
        },
        "both_releases": [told(one) for one in update.intersections],
        "loss_of_new_records": update.loss,
        "methods": list(update.methods),
        "warnings": list(update.warnings),
        "seconds": {step: round(seconds, 3) for step, seconds in update.timings.items()},
    }


def told(found: Intersection) -> dict[str, Any]:
    """Return what somebody who has both releases can find out, as plain values."""
    return {
        "k": found.k,
        "kept": _part(found.kept),
        "new": _part(found.new),
        "gone": _part(found.gone),
        "changed": found.changed,
        "changed_values": dict(found.signatures),
        "holds": found.holds,
    }


def _part(part: Part) -> dict[str, Any]:
    return {
        "rows": part.rows,
        "groups": part.classes,
        "k": part.k,
        "wanted": part.wanted,
        "groups_below": part.classes_below,
        "rows_below": part.rows_below,
        "models": [
            {"attribute": one.attribute, "model": str(one.model), "held": one.held if isfinite(one.held) else None}
            for one in part.models
        ],
    }


def _file(thing: Any, rows: int) -> dict[str, Any] | None:
    return None if thing is None else {"name": str(thing.name), "sha256": thing.sha256, "rows": rows}
