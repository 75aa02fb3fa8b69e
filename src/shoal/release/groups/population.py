"""Reads the population of a release, and merges groups until they match it as demanded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import Array
from shoal.errors import DataError, OptionError, near_names
from shoal.io import read
from shoal.privacy.audit import counted
from shoal.privacy.classes import by_first_row, classes_of
from shoal.release.groups.grouping import merged
from shoal.release.publishing import published
from shoal.tables import frames
from shoal.tables.columns import typed

if TYPE_CHECKING:
    from shoal.plan import Plan
    from shoal.release.groups.blocks import Block
    from shoal.release.groups.coordinates import Coordinates
    from shoal.release.preparation import Prepared

# Stands in plans for a population that is not a file.
IN_MEMORY = "a table in memory"


def people_of(plan: Plan, given: Any = None) -> Any:
    """Return the population as a pyarrow.Table, from the file of the plan or from a data frame.

    The release must publish ranges, because a mean matches nobody.
    """
    if plan.release == "microaggregation":
        raise OptionError(
            "Matches in a population are counted for ranges. Got release='microaggregation', which publishes typical "
            "values.",
            hint="use release='local-recoding' (--release local-recoding), or 'global-recoding'.",
        )
    if plan.stratum or plan.blocks != "joint":
        raise OptionError(
            "Matches in a population are counted for all quasi-identifiers together. Got strata or blocks of them.",
            hint="make the stratum a quasi-identifier, and leave 'blocks' out.",
        )
    if given is not None:
        return frames.to_arrow(given, "the population")
    return table_of(plan.population or "")


def table_of(path: str) -> Any:
    """Return the table of a file; types are inferred if it contains text."""
    source = read(path)
    table = source.table
    for at, name in enumerate(table.column_names if source.text else ()):
        table = table.set_column(at, name, typed(table.column(at), source.decimal, name))
    return table


def check_columns(people: Any, names: list[str]) -> None:
    """Refuse a population without the quasi-identifiers."""
    for name in names:
        if name not in people.column_names:
            hint = near_names(name, people.column_names, f"it has {len(people.column_names)} columns.")
            raise OptionError(f"The population must have the quasi-identifier {name!r}. Got none.", hint=hint)


def kept_to(block: Block, prepared: Prepared, coordinates: Coordinates) -> Block:
    """Return the block after merging groups that do not match the population as demanded."""
    import pyarrow as pa

    names = [name for one in prepared.reads for name in one.attribute.columns]

    def short(labels: Array) -> Array:
        changed, _ = published(
            prepared.table, prepared.reads, [block._replace(labels=labels)], prepared.weights, prepared.plan.trim
        )
        table = pa.table({name: changed[name] for name in names})
        bad = np.zeros(int(labels.max()) + 1, bool)
        how: dict[str, Any] = {"text": prepared.text, "decimal": prepared.decimal}
        for finding in counted(table, prepared.people, names, prepared.plan, **how):
            offending = np.isin(by_first_row(classes_of(table, names))[0], finding.offending)
            # Which groups would fit the people whom none fits is not known: all are merged until everybody fits one.
            bad[labels[offending | bool(finding.unmatched)]] = True
        if len(bad) == 1 and bad[0]:
            raise DataError(
                "The population must match the table as demanded if all records are in one group. It does not.",
                hint="demand less, or check that both tables write values in the same way. With a lower bound of "
                "presence above 0, a row must fit everybody of the population.",
            )
        return bad

    return block._replace(labels=merged(coordinates.together(block.attributes), block.labels, short))
